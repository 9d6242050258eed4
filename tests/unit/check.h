/* SPDX-License-Identifier: MIT */
/* CHECK for the C test programs: a failure is reported with its place and counted, and the run goes on.
 * Each program includes this once and ends with `return check_result();`. */
#ifndef ATLED_TEST_CHECK_H
#define ATLED_TEST_CHECK_H
#include <stdio.h>

static int check_failures, check_count;

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    check_count++;                                                                                                     \
    if (!(condition)) {                                                                                                \
      check_failures++;                                                                                                \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                          \
    }                                                                                                                  \
  } while (0)

/* Equality of strings that shows both. */
#define CHECK_STR(got, want)                                                                                           \
  do {                                                                                                                 \
    const char *got_ = (got), *want_ = (want);                                                                         \
    check_count++;                                                                                                     \
    if (strcmp(got_ ? got_ : "(null)", want_) != 0) {                                                                  \
      check_failures++;                                                                                                \
      fprintf(stderr, "%s:%d: failed: %s\n--- got\n%s\n--- want\n%s\n", __FILE__, __LINE__, #got,                      \
              got_ ? got_ : "(null)", want_);                                                                          \
    }                                                                                                                  \
  } while (0)

static inline int check_result(void) {
  printf("%d checks, %d failed\n", check_count, check_failures);
  return check_failures != 0;
}
#endif
