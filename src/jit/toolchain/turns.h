/* SPDX-License-Identifier: MIT */
/* Processes that want the same entry of the cache: one makes it, the others wait or do without it. See turns.c. */
#ifndef ATLED_TURNS_H
#define ATLED_TURNS_H
#include "jit/toolchain/cache.h"
#include "jit/toolchain/folder.h"

typedef enum Turn {
  TURN_MINE,   /* to make the entry; turn_end follows */
  TURN_THERE,  /* the entry is there */
  TURN_TAKEN,  /* another one makes it */
  TURN_STOPPED /* stop said so */
} Turn;
/* Waits at most so many seconds (0: not at all) while another process makes the entry, then TURN_TAKEN; stop(user) is
 * asked again and again. Without a cache, or where there are no locks, it is everybody's turn. */
Turn turn_take(Cache *c, uint64_t key, Folder *claim, double seconds, bool (*stop)(void *user), void *user);
/* The next one may; also after TURN_MINE alone, whatever became of the entry. */
void turn_end(Folder *claim);
#endif
