/* SPDX-License-Identifier: MIT */
/* Which process makes a cache entry: the one that holds a lock on a folder with the entry's name among those for new
 * objects. A lock ends with the process that holds it, however that ends; then the next process takes over.
 *
 * Locks only save work. Objects are made in separate places and renamed into place, so an entry is whole even if two
 * processes make it. Waiting is polling. */
#include "jit/toolchain/turns.h"
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_US = 10000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Turn turn_take(Cache *c, uint64_t key, Folder *claim, double seconds, bool (*stop)(void *user), void *user) {
  char parent[4096], name[20];
  *claim = (Folder){0};
  if (!cache_workplace(c, parent, sizeof parent)) return TURN_MINE;
  snprintf(name, sizeof name, "%016llx", (unsigned long long)key);
  for (double end = now() + seconds;; usleep(LOOK_US)) {
    char entry[4096];
    bool mine = folder_claim(claim, parent, name);
    if (cache_find(c, key, entry, sizeof entry)) {
      turn_end(claim);
      return TURN_THERE;
    }
    if (mine) return TURN_MINE;
    if (now() >= end) return TURN_TAKEN;
    if (stop(user)) return TURN_STOPPED;
  }
}

void turn_end(Folder *claim) { folder_remove(claim); }
