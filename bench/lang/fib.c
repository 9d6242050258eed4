/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <stdint.h>

static int64_t fib(int64_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

int main(int argc, char **argv) {
  (void)argv;
  int64_t r = 0;
  volatile int64_t n = 34 + argc;
  BENCH(r = fib(n));
  printf("result: %ld\n", (long)r);
}
