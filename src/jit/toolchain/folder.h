/* SPDX-License-Identifier: MIT */
/* Folders of intermediate files, which don't outlive for long who made them. See folder.c. */
#ifndef ATLED_FOLDER_H
#define ATLED_FOLDER_H
#include <stdbool.h>

typedef struct Folder {
  char path[256]; /* empty: there is none */
  int lock;
} Folder;

/* A new folder in `parent`, closed to others. */
bool folder_make(Folder *f, const char *parent);
/* Removes it with all that is in it; nothing if there is none. */
void folder_remove(Folder *f);
/* Removes those in `parent` whose makers are gone. */
void folder_sweep(const char *parent);
#endif
