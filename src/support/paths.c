/* SPDX-License-Identifier: MIT */
/* Paths as texts. Nothing here looks at the file system, so nothing here decides what may be opened. */
#include "support/paths.h"
#include <stddef.h>
#include <string.h>

/* The end of the path after its last component, which starts behind `start`, is removed. */
static size_t without_last(const char *path, size_t start, size_t n) {
  while (n > start && path[n - 1] != '/') n--;
  return n > start ? n - 1 : start;
}

bool path_normalise(char *path) {
  size_t start = *path == '/', n = start;
  for (const char *at = path; *at;) {
    size_t skipped = strspn(at, "/"), len = strcspn(at + skipped, "/");
    const char *part = at + skipped;
    at = part + len;
    if (len == 0 || (len == 1 && *part == '.')) continue;
    if (len == 2 && part[0] == '.' && part[1] == '.') {
      if (n == start && !start) return false;
      n = without_last(path, start, n);
      continue;
    }
    if (n > start) path[n++] = '/';
    memmove(path + n, part, len);
    n += len;
  }
  path[n] = '\0';
  return true;
}

const char *path_below(const char *folder, const char *path) {
  size_t n = strlen(folder);
  if (n == 1) n = 0; /* the root */
  if (strncmp(folder, path, n) != 0) return NULL;
  if (path[n] == '\0') return path + n;
  return path[n] == '/' ? path + n + 1 : NULL;
}
