/* SPDX-License-Identifier: MIT */
/* Assembler and linker, run as programs. */
#ifndef ATLED_TOOLS_H
#define ATLED_TOOLS_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Tools {
  char as[1024], ld[1024];
} Tools;
/* Looks for `as` and `ld` on PATH; the name of the first one missing, or NULL. */
const char *tools_find(Tools *t);
/* Makes the shared object `so` of the assembly text dir/m.s, by way of dir/m.o. False: *why, in text[n]. */
bool tools_make(const Tools *t, const char *dir, const char *so, bool libm, char *text, size_t n);
/* The object file alone. */
bool tools_assemble(const Tools *t, const char *dir, const char *object, char *text, size_t n);
/* Runs a program to its end; what it writes goes to dir/log. argv[0] is its path, and `name` what messages call it. */
bool tools_run(const char *name, char *const *argv, const char *dir, char *text, size_t n);
/* The path of a program on PATH. */
bool tools_find_program(const char *name, char *path, size_t n);
#endif
