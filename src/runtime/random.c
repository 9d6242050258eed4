/* SPDX-License-Identifier: MIT */
/* Threefry-2x64 with 20 rounds: a random word as a function of a key and a counter, the same on every machine.
 * Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (2011). The word that RANDOM_BITS gives
 * is the first of the block whose key and counter have zero second halves. */
#include "runtime/runtime_internal.h"

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

uint64_t rt_threefry(uint64_t key0, uint64_t key1, uint64_t counter0, uint64_t counter1, uint64_t *second) {
  static const int rotations[8] = {16, 42, 12, 31, 16, 32, 24, 21};
  uint64_t key[3] = {key0, key1, 0x1bd11bdaa9fc1a22u ^ key0 ^ key1};
  uint64_t x0 = counter0 + key[0], x1 = counter1 + key[1];
  for (int round = 0; round < 20; round++) {
    x0 += x1;
    x1 = rotate(x1, rotations[round % 8]) ^ x0;
    if (round % 4 != 3) continue;
    int inject = round / 4 + 1;
    x0 += key[inject % 3];
    x1 += key[(inject + 1) % 3] + (uint64_t)inject;
  }
  if (second) *second = x1;
  return x0;
}

PRIM(prim_random_bits) {
  PRIM_UNUSED;
  res->i = (int64_t)rt_threefry((uint64_t)args[0].i, 0, (uint64_t)args[1].i, 0, NULL);
  return 0;
}
