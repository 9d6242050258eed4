/* SPDX-License-Identifier: MIT */
/* Folders of intermediate files, which don't outlive for long who made them. See folder.c. */
#ifndef ATLED_FOLDER_H
#define ATLED_FOLDER_H
#include <stdbool.h>

typedef struct Folder {
  char path[4096]; /* empty: there is none */
  int lock;
} Folder;

/* A new folder in `parent`, closed to others. */
bool folder_make(Folder *f, const char *parent);
/* The one of this name in `parent`, which is made if it isn't there. False: somebody else has it. True, with an empty
 * path, where that can't be known. */
bool folder_claim(Folder *f, const char *parent, const char *name);
/* Unlocks it, for another process that is to have it. */
void folder_leave(Folder *f);
/* Takes over one that another process leaves about now; false if that doesn't come to it. */
bool folder_adopt(Folder *f, const char *path);
/* Removes it with all that is in it; nothing if there is none. */
void folder_remove(Folder *f);
/* Removes those in `parent` whose makers are gone. */
void folder_sweep(const char *parent);
#endif
