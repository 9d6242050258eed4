/* SPDX-License-Identifier: MIT */
/* What the library of a `foreign` declaration says.
 *
 *   foreign "libm.so.6" f : …    one call at a time among the threads of a VM
 *   foreign "libm.so.6&" f : …   calls of several threads at once
 *   foreign "host:3" f : …       the host's function number 3 (atled_define); only the host's own sources may name it */
#ifndef ATLED_HOST_LIBRARY_H
#define ATLED_HOST_LIBRARY_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LIBRARY "host:"

static inline bool host_library(const char *library) {
  return library && strncmp(library, HOST_LIBRARY, sizeof HOST_LIBRARY - 1) == 0;
}
/* May several threads call its functions at once? */
static inline bool library_of_all_threads(const char *library) {
  size_t n = library ? strlen(library) : 0;
  return n > 0 && library[n - 1] == '&';
}
static inline int host_library_number(const char *library) { return atoi(library + sizeof HOST_LIBRARY - 1); }
#endif
