/* SPDX-License-Identifier: MIT */
/* A folder of shared objects, found by key. See cache.c. */
#ifndef ATLED_CACHE_H
#define ATLED_CACHE_H
#include "support/support.h"

typedef struct Cache {
  Heap *heap;
  char dir[3072]; /* empty: there is no cache */
  size_t limit;
  unsigned stores;
} Cache;

/* Chooses and makes the folder; dir as in JitOptions. Without a usable one the cache is off. */
void cache_init(Cache *c, Heap *heap, const char *dir, size_t limit);
/* Path of the entry if it is there and whole. */
bool cache_find(const Cache *c, uint64_t key, char *path, size_t n);
/* A name in the folder for a new object, to be written and then handed to cache_store. */
bool cache_new_file(const Cache *c, char *path, size_t n);
/* Seals the file and puts it in place under its key; path becomes the final one. False: the file is gone. */
bool cache_store(Cache *c, uint64_t key, char *path, size_t n);
/* Forgets an entry that turned out not to load. */
void cache_forget(const Cache *c, uint64_t key);
#endif
