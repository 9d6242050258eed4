/* SPDX-License-Identifier: MIT */
/* Functions of the host (atled_define) are bound as C functions are: `foreign "host:3" f : …` is the host's function
 * number 3. Only the host's own sources may name such a library. */
#ifndef ATLED_HOST_LIBRARY_H
#define ATLED_HOST_LIBRARY_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LIBRARY "host:"

static inline bool host_library(const char *library) {
  return library && strncmp(library, HOST_LIBRARY, sizeof HOST_LIBRARY - 1) == 0;
}
static inline int host_library_number(const char *library) { return atoi(library + sizeof HOST_LIBRARY - 1); }
#endif
