/* SPDX-License-Identifier: MIT */
/* The table of limits. */
#include "support/limits.h"

const LimitInfo limit_infos[LIMIT_COUNT] = {
#define LIMIT(name, value, where, given_up, how) [AT_##name] = {#name, (value), where, given_up, #how},
#include "support/limits.def"
};
