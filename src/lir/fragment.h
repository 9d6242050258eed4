/* SPDX-License-Identifier: MIT */
/* Fragments: parts of a module that are compiled by themselves. See fragment.c. */
#ifndef ATLED_PIECE_H
#define ATLED_PIECE_H
#include "lir/lir.h"

/* How a loop's fragment is entered from a frame of its function: with the values of registers `in`, and left with those
 * of `out`. */
typedef struct LFragmentLoop {
  int32_t *in, *out;
  int nin, nout;
  int32_t *taken; /* owned registers whose references the fragment takes: the frame forgets them */
  int ntaken;
  int *exits; /* instructions of the function where it goes on, by the number that is the first result */
  int nexits;
} LFragmentLoop;

/* What others call or enter: a function of the module, or the loop in it whose LABEL is instruction `head`; -1: the
 * function. */
typedef struct LFragmentRoot {
  int func, head;
  LFragmentLoop loop;
} LFragmentRoot;

typedef struct LFragment {
  LModule *module; /* root k is its function k; functions without code are outside of the fragment */
  const LModule *whole;
  LFragmentRoot *roots;
  int nroots;
  /* of each row of the module's tables the one in the whole's; sites from 1 on */
  int *descs, *funcs, *strings, *boxes, *globals, *foreigns, *sites;
} LFragment;

/* The fragment with these roots, and with those functions that they call, directly or by way of others, for which
 * called[index] holds. NULL if a root is no loop that can be entered at its head alone. */
LFragment *fragment_make(Arena *a, const LModule *whole, const LFragmentRoot *roots, int nroots, const bool *called);
#endif
