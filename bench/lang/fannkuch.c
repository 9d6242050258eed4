/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdint.h>

static int64_t flips(int n, const int64_t *p) {
  int64_t a[16], count = 0;
  for (int i = 0; i < n; i++) a[i] = p[i];
  for (int64_t first = a[0]; first != 0; first = a[0]) {
    for (int64_t lo = 0, hi = first; lo < hi; lo++, hi--) {
      int64_t t = a[lo];
      a[lo] = a[hi];
      a[hi] = t;
    }
    count++;
  }
  return count;
}

static void fannkuch(int n, int64_t *best, int64_t *checksum) {
  int64_t perm[16], left[16];
  *best = *checksum = 0;
  for (int i = 0; i < n; i++) perm[i] = i, left[i] = 0;
  int r = n, even = 1;
  for (;;) {
    for (; r != 1; r--) left[r - 1] = r;
    int64_t count = flips(n, perm);
    if (count > *best) *best = count;
    *checksum += even ? count : -count;
    even = !even;
    for (;; r++) {
      if (r == n) return;
      int64_t first = perm[0];
      for (int i = 0; i < r; i++) perm[i] = perm[i + 1];
      perm[r] = first;
      if (--left[r] > 0) break;
    }
  }
}

int main(int argc, char **argv) {
  (void)argv;
  int64_t best = 0, checksum = 0;
  volatile int n = 8 + argc;
  BENCH(fannkuch(n, &best, &checksum));
  printf("result: %ld\nresult: %ld\n", (long)best, (long)checksum);
}
