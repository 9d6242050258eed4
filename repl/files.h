/* SPDX-License-Identifier: MIT */
/* Files that are replaced as a whole, and programs that are started. */
#ifndef ATLED_FILES_H
#define ATLED_FILES_H
#include <stdbool.h>
#include <stdio.h>

/* A file that is written under another name, and takes its own when all of it is there. */
typedef struct Replacement {
  FILE *file;
  char *path, *temporary;
  int error; /* errno of what failed first */
} Replacement;

/* What is to be written into; NULL: replacement_end says why. */
FILE *replacement_begin(Replacement *r, const char *path);
/* False, with errno, if it couldn't be written: then the old file is as it was, and nothing new is left. */
bool replacement_end(Replacement *r);

/* Runs a program and waits for it; signals that end this process end it, too, and those of the terminal are its own.
 * Its exit status; -1 if there is none. */
int child_run(const char *const *words);
#endif
