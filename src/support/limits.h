/* SPDX-License-Identifier: MIT */
/* The limits of limits.def: LIMIT_NAME is the value, AT_NAME the row. How often one gave something up is counted for
 * the compilation under way, which is reached through the heap; without one nobody counts. */
#ifndef ATLED_LIMITS_H
#define ATLED_LIMITS_H
#include <stdbool.h>
#include <stdint.h>

enum {
#define LIMIT(name, value, where, given_up, how) LIMIT_##name = (value),
#define BIG(name, value, where, given_up, how)
#include "support/limits.def"
};
#define LIMIT(name, value, where, given_up, how)
#define BIG(name, value, where, given_up, how) static const int64_t LIMIT_##name = (value);
#include "support/limits.def"

typedef enum Limit {
#define LIMIT(name, value, where, given_up, how) AT_##name,
#include "support/limits.def"
  LIMIT_COUNT
} Limit;

typedef struct LimitInfo {
  const char *name; /* in capitals */
  int64_t value;
  const char *where, *given_up, *how; /* how: "COUNTED", "ERROR" or "SHOWN" */
} LimitInfo;
extern const LimitInfo limit_infos[LIMIT_COUNT];
#endif
