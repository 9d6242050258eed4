/* SPDX-License-Identifier: MIT */
/* Paths as texts. */
#ifndef ATLED_PATHS_H
#define ATLED_PATHS_H
#include <stdbool.h>

/* Removes empty components, `.`, and `..` with the component before it, in place: "a/./b/../c" → "a/c". At the root
 * `..` is the root itself. Returns false if a relative path leads above its start. An empty relative path stands for
 * its start. */
bool path_normalise(char *path);
/* What of a normalised absolute path stands below the folder, of which the same holds: "" for the folder itself. NULL:
 * it isn't below. */
const char *path_below(const char *folder, const char *path);
#endif
