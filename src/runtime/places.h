/* SPDX-License-Identifier: MIT */
/* Where a program's path leads, and whether it may go there. See places.c. */
#ifndef ATLED_PLACES_H
#define ATLED_PLACES_H
#include "runtime/runtime.h"
#include <limits.h>
#include <sys/stat.h>

/* A file or folder: its name in a folder that is open. */
typedef struct Place {
  int folder;       /* AT_FDCWD: the name is a path as the process sees it */
  const char *name; /* in `path`, or the program's own */
  bool confined;    /* `folder` is one that was granted, or below one; the name has no `/` */
  char path[PATH_MAX];
} Place;
typedef enum PlaceFound { PLACE_FOUND, PLACE_DENIED, PLACE_FAILED /* errno says why */ } PlaceFound;

/* The place of a path for which the program needs the right READ, WRITE or IMPORT. When found it is closed by
 * place_close. `path` has to stay as long. */
PlaceFound place_find(const Rt *rt, Right right, const char *path, Place *out);
void place_close(const Place *p);
/* May the program use this path at all? By its text alone. */
bool place_granted(const Rt *rt, Right right, const char *path);
/* Opens what is there, without waiting for the other end of a pipe; a confined place only if it is a regular file or,
 * with O_DIRECTORY, a folder. Returns a descriptor; -1 with errno, which is 0 for a file that isn't regular. */
int place_open(const Place *p, int flags);
/* As stat. Of a confined place: as lstat. */
bool place_stat(const Place *p, struct stat *st);
/* As strerror, and for 0 what place_open means by that. */
const char *place_reason(int error, char *buffer, size_t n);
/* Makes the path absolute and normalises it, in out[PATH_MAX]. False with errno: it is too long, or the working
 * directory has no path. */
bool place_absolute(const char *path, char *out);
#endif
