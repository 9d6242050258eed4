/* SPDX-License-Identifier: MIT */
/* Replaces functions that a loaded shared object imports. */
#ifndef ATLED_IMPORTS_H
#define ATLED_IMPORTS_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Import {
  const char *name;
  void *instead; /* what the object calls from then on under this name */
} Import;

/* Redirects the imports of the object with this handle of dlopen's, which was loaded with RTLD_NOW. Others that import
 * the same names aren't touched. False where objects of this kind aren't known: nothing is changed then. */
bool imports_redirect(void *handle, const Import *rows, size_t n);
#endif
