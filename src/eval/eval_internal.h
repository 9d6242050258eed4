/* SPDX-License-Identifier: MIT */
/* What the files of the evaluator share: the decoded form of a function, the frame stack, and the instructions that
 * the dispatch loop leaves to functions. */
#ifndef ATLED_EVAL_INTERNAL_H
#define ATLED_EVAL_INTERNAL_H
#include "eval/eval.h"
#include "runtime/runtime.h"

/* A decoded instruction: LABEL and LOOP_HEAD are gone, labels have become addresses. */
typedef struct DInstr DInstr;
struct DInstr {
  const void *go;       /* where the dispatch loop continues */
  int32_t dst, a, b, c; /* c of CALL, APPLY and POLL: what they take off the budget */
  union {
    int64_t i;
    double f;
    const DInstr *to;
    const DInstr **table;
  } imm;
  const LInstr *src;
};

typedef struct Foreign Foreign;
typedef struct DFunc {
  const LFunc *f;
  DInstr *code;
  const DInstr **targets; /* of all SWITCHes */
  int ncode, ntargets;
  int32_t *owned; /* registers to release after an error */
  int nowned, nowned_params;
} DFunc;

/* ---- decode.c ---- */
typedef struct Handlers {
  const void *const *op, *const *scalar;
  const void *tail_call, *tail_apply, *back;
} Handlers;
/* The decoded form of function `index`, made on first use; NULL after rt_error. */
DFunc *eval_decode(Mod *m, int index, const Handlers *h);

/* ---- frames.c: frames on heap segments that never move ---- */
typedef struct Segment Segment;
typedef struct Frame Frame;
struct Frame {
  Frame *caller;    /* NULL: the entry of this activation */
  const DInstr *pc; /* the call it is in */
  DFunc *fn;
  Mod *mod;
  int nheld; /* references behind the registers, kept while this frame is there */
  Slot regs[];
};
void *stack_push(Rt *rt, size_t bytes); /* NULL after rt_error */
void stack_pop(Rt *rt, void *p);

/* ---- slow.c: everything but scalars, moves, jumps and calls ---- */
Status eval_slow(Rt *rt, Mod *m, const LInstr *in, Slot *r);

/* ---- foreign.c ---- */
Foreign *foreign_new(Rt *rt, Sym library, Sym symbol, const uint8_t *kinds, int n, uint8_t result, uint32_t site);
void foreign_free(Rt *rt, Foreign *f);
void foreign_call(const Foreign *f, const Slot *args, Slot *res);
#endif
