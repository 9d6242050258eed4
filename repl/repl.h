/* SPDX-License-Identifier: MIT */
/* What the files of the program share. */
#ifndef ATLED_REPL_H
#define ATLED_REPL_H
#include "atled.h"
#include <stddef.h>

/* The interactive prompt on standard input; the exit status. */
int repl_run(AtledVM *vm);
/* The VM that an interrupt from the terminal stops; NULL for none. */
void interrupt_target(AtledVM *vm);
/* All of a file ("-": standard input), zero-terminated, to be freed; NULL with errno set. */
char *slurp(const char *path);
/* Zero bytes of input would end a string early: writes each as C0 80, as atled_eval takes it. Frees `text`, or gives it
 * back when it has none; NULL when there is no memory. */
char *escape_zeros(char *text, size_t len);
#endif
