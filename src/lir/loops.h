/* SPDX-License-Identifier: MIT */
/* Loops and live registers of lowered functions. See loops.c. */
#ifndef ATLED_LOOPS_H
#define ATLED_LOOPS_H
#include "lir/lir.h"

/* Which instructions belong to the natural loop whose head is the LABEL at index `head`: a flag for each instruction
 * of f, or NULL if no jump leads back to it from where it must have been passed. */
const bool *loop_body(Arena *a, const LFunc *f, int head);

/* The registers, as a bit set of loop_words(f) words, whose values may be read from instruction i on; for each i with
 * wanted[i], NULL for others. */
const uint64_t *const *loop_live(Arena *a, const LModule *m, const LFunc *f, const bool *wanted);
static inline int loop_words(const LFunc *f) { return (f->nregs + 63) / 64; }
#endif
