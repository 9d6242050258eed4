/* SPDX-License-Identifier: MIT */
/* Structures of a host that was compiled with another version of atled.h.
 *
 * Fields are added at the end alone, so two versions of a structure agree on the bytes of the shorter one. Macros of
 * atled.h pass the host's size. The functions behind them work on a structure of their own and copy it by the functions
 * below. A field that the library doesn't know may be a limit on which the host relies: it is refused, not ignored. */
#include "api/structs.h"
#include <string.h>

static size_t shorter(size_t a, size_t b) { return a < b ? a : b; }

static bool is_zero(const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (bytes[i]) return false;
  return true;
}

void struct_give(void *host, size_t room, const void *ours, size_t size) {
  size_t both = shorter(room, size);
  memcpy(host, ours, both);
  memset((char *)host + both, 0, room - both);
}

bool struct_take(void *ours, size_t size, const void *host, size_t given) {
  size_t both = shorter(given, size);
  if (!is_zero((const char *)host + both, given - both)) return false;
  memcpy(ours, host, both);
  return true;
}
