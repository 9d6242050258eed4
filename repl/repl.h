/* SPDX-License-Identifier: MIT */
/* What the files of the program share. */
#ifndef ATLED_REPL_H
#define ATLED_REPL_H
#include "atled.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The interactive prompt on standard input; jit, trap: the VM's modes.
 * ATLED_OK, or ATLED_EXIT where an entry ended it. */
AtledStatus repl_run(AtledVM *vm, AtledJit jit, AtledTrap trap);
/* The VM that an interrupt from the terminal stops; NULL for none. */
void interrupt_target(AtledVM *vm);
/* Was there an interrupt since the last VM became its target? */
bool interrupt_seen(void);
/* Signals that end the process let the program that runs write what it has printed; then signals_end ends it. */
void signals_start(void);
void signals_end(void);
/* A program that was started, which such signals end too; 0: there is none. */
void signals_child(pid_t child);
bool ending_seen(void); /* was there one? */
/* ---- progress.c ---- */
/* For the prompt: says on a terminal what takes long, while interrupt_target has a VM. */
void progress_start(void);
void progress_switch(bool on);
void progress_run(bool running);
void progress_compiling(void *user, double seconds); /* for AtledConfig */
/* Before a program's output is written to the terminal. */
void progress_output(const char *text, size_t n);
/* Makes standard output the stream of output.c; before anything is written or opened. */
void output_start(void);
/* A program's streams, for AtledConfig. */
bool output_write(void *user, AtledStream stream, const char *text, size_t n);
bool output_flush(void *user);
ptrdiff_t input_read(void *user, char *to, size_t size);
/* All of standard input, or a line of it with its end, zero-terminated, to be freed; empty at the end; NULL with
 * errno. */
char *input_take(bool line, size_t *len);
/* Standard output itself, for who asks it about its terminal. */
FILE *output_terminal(void);
/* Has a program written something, to either stream, since the last output_forget? */
bool output_seen(void);
void output_forget(void);
/* Could something not be written? It was said, unless a reader was gone. */
bool output_failed(void);
/* Writes what is still to be written. False if output failed; where a reader was gone the process ends. */
bool output_end(void);
/* ---- main.c ---- */
AtledVM *new_vm(const AtledConfig *config); /* NULL after a message */
int exit_status(const AtledVM *vm, AtledStatus status);
void print_errors(const AtledVM *vm, AtledStatus status); /* of the call with this status, but for failed tests */
/* Frees the VM. The exit status that its last call means. */
int end_vm(AtledVM *vm, AtledStatus status);
int no_input(const char *path);           /* says that the file can't be read, by errno; the exit status */
const char *shown_name(const char *path); /* as messages call it */
/* All of a file ("-": standard input), zero-terminated, to be freed; NULL with errno set. */
char *slurp(const char *path);
/* Bytes of the UTF-8 sequence at s, 0 where there is none: overlong ones and surrogates are none. */
int sequence_length(const unsigned char *s);
/* Zero bytes of input would end a string early: writes each as C0 80, as atled_eval takes it. Frees `text`, or gives it
 * back when it has none; NULL when there is no memory. */
char *escape_zeros(char *text, size_t len);
#endif
