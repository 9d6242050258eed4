/* SPDX-License-Identifier: MIT */
/* A folder of shared objects, found by key. See cache.c. */
#ifndef ATLED_CACHE_H
#define ATLED_CACHE_H
#include "support/support.h"

typedef struct Cache {
  Heap *heap;
  char dir[3072]; /* empty: there is no cache */
  char why[3400]; /* why nothing is kept, though that is wanted; else empty */
  uint64_t limit;
} Cache;
typedef struct CacheUsage {
  int64_t entries, oldest, newest; /* last uses, nanoseconds since 1970 */
  uint64_t bytes;
} CacheUsage;

/* Chooses and makes the folder; dir as in JitOptions, limit 0: the default. Without a usable one the cache is off. */
void cache_init(Cache *c, Heap *heap, const char *dir, uint64_t limit);
/* Path of the entry if it is there and whole. */
bool cache_find(const Cache *c, uint64_t key, char *path, size_t n);
/* Bytes that cache_read needs for the entry; 0: there is none. */
size_t cache_room(const Cache *c, uint64_t key);
/* Reads the entry: its size if it is whole, and `to` has the room for it, else 0. */
size_t cache_read(const Cache *c, uint64_t key, char *to, size_t room);
/* The folder in which new objects are to be made, for cache_store; false if nothing can be kept. */
bool cache_workplace(Cache *c, char *path, size_t n);
/* Seals the file and moves it into place under its key; it stays where it is if it is too large, or on failure. */
void cache_store(Cache *c, uint64_t key, const char *path);
/* Forgets an entry that turned out not to load. */
void cache_forget(const Cache *c, uint64_t key);
CacheUsage cache_usage(const Cache *c);
/* Removes all entries, and what processes left behind that died while they made some. */
void cache_clear(const Cache *c);
#endif
