/* SPDX-License-Identifier: MIT */
/* The clock, and how results are printed, for the C versions. */
#include <stdio.h>
#include <time.h>

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the statement three times and prints the least time. */
#define BENCH(statement)                             \
  do {                                               \
    double best_ = 1e99;                             \
    for (int k_ = 0; k_ < 3; k_++) {                 \
      double start_ = now();                         \
      statement;                                     \
      double t_ = now() - start_;                    \
      if (t_ < best_) best_ = t_;                    \
    }                                                \
    printf("seconds: %.9f\n", best_);                \
  } while (0)
