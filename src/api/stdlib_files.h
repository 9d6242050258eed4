/* SPDX-License-Identifier: MIT */
/* The sources of stdlib/, made part of the library when it is built, by cmake/embed_library.c. */
#ifndef ATLED_STDLIB_FILES_H
#define ATLED_STDLIB_FILES_H
#include "parser/parser.h"
typedef struct StdlibFile {
  const char *name; /* of the file, without ".atl" */
  const char *path; /* as messages show it: with it */
  const char *text;
  size_t len;
  const uint32_t *lines; /* offsets of line starts */
  int nlines;
  ItemIndex index;
} StdlibFile;
extern const StdlibFile stdlib_files[]; /* ends with name NULL */
#endif
