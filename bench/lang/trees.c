/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdint.h>
#include <stdlib.h>

typedef struct Tree { struct Tree *left, *right; } Tree;

static Tree *make(int64_t d) {
  Tree *t = malloc(sizeof *t);
  t->left = d == 0 ? NULL : make(d - 1);
  t->right = d == 0 ? NULL : make(d - 1);
  return t;
}

static int64_t count(const Tree *t) { return t ? 1 + count(t->left) + count(t->right) : 0; }

static void drop(Tree *t) {
  if (!t) return;
  drop(t->left);
  drop(t->right);
  free(t);
}

static int64_t trees(int64_t depth) {
  Tree *long_lived = make(depth), *latest = NULL;
  int64_t total = 0;
  for (int64_t d = 4; d <= depth; d += 4) {
    int64_t rounds = (int64_t)1 << (depth - d + 4);
    for (int64_t k = 1; k <= rounds; k++) {
      drop(latest);
      latest = make(d);
      total += count(latest);
    }
  }
  total += count(latest) + count(long_lived);
  drop(latest);
  drop(long_lived);
  return total;
}

int main(int argc, char **argv) {
  (void)argv;
  int64_t r = 0;
  BENCH(r = trees(15 + argc));
  printf("result: %ld\n", (long)r);
}
