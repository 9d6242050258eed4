/* SPDX-License-Identifier: MIT */
/* The texts of rights.def. */
#include "support/rights.h"
#include <stddef.h>

static const struct {
  unsigned bit;
  const char *does, *hint;
} rows[] = {
#define RIGHT(NAME, bit, does, option)                                                                                 \
  {1u << (bit), does, "a host grants it by ATLED_RIGHT_" #NAME " in its AtledConfig, the command by " option},
#include "support/rights.def"
#undef RIGHT
};

static size_t lowest(unsigned rights) {
  size_t k = 0;
  while (k + 1 < sizeof rows / sizeof *rows && !(rows[k].bit & rights)) k++;
  return k;
}

const char *right_does(unsigned rights) { return rows[lowest(rights)].does; }
const char *right_grant_hint(unsigned rights) { return rows[lowest(rights)].hint; }
