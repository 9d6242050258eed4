/* SPDX-License-Identifier: MIT */
/* Modules to shared objects, in whatever process. See translate.c. */
#ifndef ATLED_TRANSLATE_H
#define ATLED_TRANSLATE_H
#include "jit/toolchain/compiler.h"
#include "jit/toolchain/tools.h"
#include "lir/lir.h"

/* Carries out the order; intermediate files go to the folder. `last`: this process compiles nothing else. False:
 * result->why says why. */
bool translate_module(const Order *order, const LModule *m, const Tools *tools, const char *folder, bool last,
                      Heap *heap, Result *result);
/* Of orders and results: programs of different builds don't work together. */
uint64_t translate_version(void);
#endif
