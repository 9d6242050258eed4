/* SPDX-License-Identifier: MIT */
/* The evaluator: runs lowered code, one of its two back ends. */
#ifndef ATLED_EVAL_H
#define ATLED_EVAL_H
#include "lir/fragment.h"

/* Runs f: Rt.evaluate. Arguments are taken as f->taken says, results owned; 0, RT_TAIL, or non-zero with the error in
 * rt->error. */
Status eval_function(Rt *rt, RtFunc *f, const Slot *args, Slot *res);
/* ---- tier_up.c: machine code beside the evaluator ---------------------------------------------------------------- */
/* A function of a module, or the loop in it whose LABEL is instruction `head`; -1: the function. */
typedef struct EvalHot {
  Mod *mod;
  int func, head;
  int size;  /* instructions, with those of what it has called; more than EVAL_SIZES: that or more */
  int ticks; /* it was under way at so many */
  int depth; /* calls of closures around it, which no fragment takes along */
} EvalHot;
enum { EVAL_SIZES = 1000 };
/* What runs most and hasn't been asked for, seen from the frame that Rt.tick gets, the outermost first; tick: its
 * number. How many, of at most `max`. */
int eval_hottest(const void *frame, int32_t tick, EvalHot *hot, int max);
/* Flags for the module's functions: this one has been called. */
void eval_called(const Mod *m, bool *called);
/* From now on it isn't hot any more. False: there is no such loop. */
bool eval_asked(Mod *m, int func, int head);
/* The head of loop k of the function; -1: it has no such one. */
int eval_loop_head(Mod *m, int func, int k);
/* The function has got machine code: RtFunc.entry. */
void eval_attach_function(Mod *m, int func);
/* The loop has got machine code, `entry`, to be called with `native`. False: out of memory, or it had some. */
bool eval_attach_loop(Mod *m, const LFragmentRoot *root, Status (*entry)(Mod *, const Slot *, Slot *), Mod *native);
/* Gives the functions of a module, as a thread of the VM's pool sees it, the machine code that they have got since.
 * Called by that thread. */
void eval_follow(Mod *peer);
/* Was machine code asked for, of the function or of the loop in it with that head? */
bool eval_is_asked(const Mod *m, int func, int head);
/* Gives back the evaluator's stack; nothing may be running. */
void eval_destroy(Rt *rt);
/* Drops the evaluator's form of the module's functions; none may be running. */
void eval_forget(Mod *m);
#endif
