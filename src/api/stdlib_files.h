/* SPDX-License-Identifier: MIT */
/* The sources of stdlib/, made part of the library at build time. */
#ifndef ATLED_STDLIB_FILES_H
#define ATLED_STDLIB_FILES_H
#include <stddef.h>
typedef struct StdlibFile {
  const char *name; /* of the file, without ".atl" */
  const char *text;
  size_t len;
} StdlibFile;
extern const StdlibFile stdlib_files[]; /* ends with name NULL */
#endif
