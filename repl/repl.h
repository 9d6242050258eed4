/* SPDX-License-Identifier: MIT */
/* What the files of the program share. */
#ifndef ATLED_REPL_H
#define ATLED_REPL_H
#include "atled.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The interactive prompt on standard input; the exit status. */
int repl_run(AtledVM *vm);
/* The VM that an interrupt from the terminal stops; NULL for none. */
void interrupt_target(AtledVM *vm);
/* Was there an interrupt since the last VM became its target? */
bool interrupt_seen(void);
/* Ends what the VM is running, if there is one. */
void stop_program(void);
/* Makes standard output the stream of output.c; before anything is written or opened. */
void output_start(void);
/* Standard output itself, for who asks it about its terminal. */
FILE *output_terminal(void);
/* Could something not be written? It was said, and the program that ran was stopped. */
bool output_failed(void);
/* Writes what is still to be written; false if output failed. */
bool output_end(void);
/* All of a file ("-": standard input), zero-terminated, to be freed; NULL with errno set. */
char *slurp(const char *path);
/* Zero bytes of input would end a string early: writes each as C0 80, as atled_eval takes it. Frees `text`, or gives it
 * back when it has none; NULL when there is no memory. */
char *escape_zeros(char *text, size_t len);
#endif
