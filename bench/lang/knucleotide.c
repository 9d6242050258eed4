/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2000000, SIZE = 4194304 };
static char text[N];

static void fill_text(void) {
  int64_t seed = 42;
  for (int i = 0; i < N; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    text[i] = "acgt"[seed / 65536 % 4];
  }
}

static int64_t code(char b) { return b >> 1 & 3; }

static int64_t most(const int64_t *n, int64_t size) {
  int64_t best = n[0];
  for (int64_t i = 1; i < size; i++)
    if (n[i] > best) best = n[i];
  return best;
}

static int64_t most_of(int k) {
  int64_t size = (int64_t)1 << (2 * k), word = 0, *n = calloc((size_t)size, sizeof *n);
  for (int i = 0; i < N; i++) {
    word = (4 * word + code(text[i])) & (size - 1);
    if (i >= k - 1) n[word]++;
  }
  int64_t best = most(n, size);
  free(n);
  return best;
}

static int64_t distinct(int k, int64_t *best) {
  int64_t mask = ((int64_t)1 << (2 * k)) - 1, word = 0, found = 0;
  int64_t *keys = malloc(SIZE * sizeof *keys), *n = calloc(SIZE, sizeof *n);
  memset(keys, 0xff, SIZE * sizeof *keys);
  for (int i = 0; i < N; i++) {
    word = (4 * word + code(text[i])) & mask;
    if (i < k - 1) continue;
    int64_t at = (int64_t)((uint64_t)(word * 2654435761) >> 8) & (SIZE - 1);
    while (keys[at] != word && keys[at] >= 0) at = (at + 1) & (SIZE - 1);
    keys[at] = word;
    n[at]++;
  }
  for (int i = 0; i < SIZE; i++) found += keys[i] >= 0;
  *best = most(n, SIZE);
  free(keys);
  free(n);
  return found;
}

int main(void) {
  static const int lengths[] = {1, 2, 3, 4, 6};
  double best[2] = {1e99, 1e99};
  int64_t r[4] = {0};
  fill_text();
  for (int round = 0; round < 10; round++) {
    double start = now();
    r[0] = 0;
    for (int k = 0; k < 5; k++) r[0] += most_of(lengths[k]);
    r[1] = most_of(8);
    double middle = now();
    r[2] = distinct(12, &r[3]);
    double end = now();
    if (middle - start < best[0]) best[0] = middle - start;
    if (end - middle < best[1]) best[1] = end - middle;
  }
  for (int k = 0; k < 4; k++) printf("result: %ld\n", (long)r[k]);
  printf("seconds short: %.9f\nseconds long: %.9f\n", best[0], best[1]);
}
