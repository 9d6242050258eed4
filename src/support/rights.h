/* SPDX-License-Identifier: MIT */
/* Rights: the rows of rights.def as bits. A set of rights is the sum of its bits. */
#ifndef ATLED_RIGHTS_H
#define ATLED_RIGHTS_H

typedef enum Right {
  RIGHT_NONE = 0,
#define RIGHT(NAME, bit, does, option) RIGHT_##NAME = 1 << (bit),
#include "support/rights.def"
#undef RIGHT
  RIGHTS_ALL = 0
#define RIGHT(NAME, bit, does, option) | 1 << (bit)
#include "support/rights.def"
#undef RIGHT
} Right;

/* What the lowest right of the set allows: "read files". The set isn't empty. */
const char *right_does(unsigned rights);
/* How a host, and the command's user, grants the lowest right of the set: a hint of a message. */
const char *right_grant_hint(unsigned rights);
#endif
