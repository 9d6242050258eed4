/* SPDX-License-Identifier: MIT */
/* What the environment's variables set. See settings.c. */
#ifndef ATLED_SETTINGS_H
#define ATLED_SETTINGS_H
#include "api/vm.h"

/* The VM's own copy of a host's config; fields that the host doesn't know, and NULL, mean the defaults. False: see
 * atled_new. */
bool settings_config(AtledConfig *own, const AtledConfig *host);
/* Warns of those that make no sense, once for each VM. */
void settings_check(AtledVM *vm);
/* The number of the test option ATLED_COIN, whose tosses decide where code runs; -1: it isn't set. */
bool settings_rules(void); /* are rewrite rules applied? */
int64_t settings_coin(void);
uint64_t settings_steal(void); /* Rt.steal, by ATLED_STEAL */
/* Reads ATLED_PASSES, which runs of the optimiser are left out. False: it isn't set. */
bool settings_passes(PassWatch *watch);
/* For the VM's Jit; strings are the environment's. */
JitOptions settings_jit(AtledVM *vm);
/* For cache_init. */
const char *settings_cache_folder(const AtledVM *vm);
uint64_t settings_cache_limit(const AtledVM *vm);
#endif
