/* SPDX-License-Identifier: MIT */
/* The evaluator: runs lowered code, one of its two back ends. */
#ifndef ATLED_EVAL_H
#define ATLED_EVAL_H
#include "lir/lir.h"

/* Runs f: Rt.evaluate. Arguments are borrowed, results owned; 0, RT_TAIL, or non-zero with the error in rt->error. */
Status eval_function(Rt *rt, RtFunc *f, const Slot *args, Slot *res);
/* Gives back the evaluator's stack; nothing may be running. */
void eval_destroy(Rt *rt);
/* Drops the evaluator's form of the module's functions; none may be running. */
void eval_forget(Mod *m);
#endif
