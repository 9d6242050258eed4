/* SPDX-License-Identifier: MIT */
/* What the files of the evaluator share: the decoded form of a function, the stack of frames, and the instructions
 * that are functions instead of labels of the dispatch loop. */
#ifndef ATLED_EVAL_INTERNAL_H
#define ATLED_EVAL_INTERNAL_H
#include "eval/eval.h"
#include "runtime/runtime.h"

/* A decoded instruction: LABEL and LOOP_HEAD are gone, labels have become addresses. */
typedef struct DInstr DInstr;
struct DInstr {
  const void *go;       /* where the dispatch loop continues */
  int32_t dst, a, b, c; /* c of CALL, APPLY, POLL and BACK: what they take off the budget; a of BACK: its loop */
  union {
    int64_t i;
    double f;
    const DInstr *to;
    const DInstr **table;
    int64_t *turns;        /* POLL: to count the turns of its loop */
    struct LoopCode *loop; /* ENTER, at the head of a loop that has machine code */
  } imm;
  const LInstr *src;
};

/* How often something was begun, and at how many ticks of the clock it was under way. */
typedef struct Heat {
  int64_t begun, seen; /* seen: begun when it was under way at a tick first */
  int32_t ticks, last;
  int32_t size; /* instructions that would be compiled, counted when it is hot first; 0: not yet */
  bool asked;   /* machine code was asked for */
} Heat;

/* A loop, from its LABEL to the last jump back there: enough to tell what is under way. */
typedef struct DLoop {
  int head, end; /* instructions */
  DInstr *at;    /* the first one after the head */
  bool polled;   /* each turn meets a POLL */
  Heat heat;
  struct LoopCode *code; /* NULL: none */
} DLoop;

typedef struct DFunc {
  const LFunc *f;
  DInstr *code;
  const DInstr **targets; /* of all SWITCHes */
  int ncode, ntargets;
  int32_t *owned; /* registers to release after an error */
  int nowned, nowned_params;
  bool native; /* has machine code */
  int cost;    /* what a call of it takes off the budget: all that nothing in it pays for */
  Heat heat;
  DLoop *loops; /* inner ones after those around them */
  int nloops;
} DFunc;

/* ---- decode.c ---- */
typedef struct Handlers {
  const void *const *op, *const *scalar;
  const void *tail_call, *tail_apply, *back, *enter, *counted;
} Handlers;
/* Where the dispatch loop goes for it; NULL: nowhere, it is dropped. */
static inline const void *eval_handler(const Handlers *h, const LInstr *in) {
  return lir_ops[in->op].sub == LSUB_OP ? h->scalar[in->sub] : h->op[in->op];
}
/* The decoded form of function `index`, made on first use; NULL after rt_error. */
DFunc *eval_decode(Mod *m, int index, const Handlers *h);
/* Gives a worker's form of the function, if there is one, the machine code of loops that the VM's own form has. */
void eval_follow_function(Mod *peer, int func);
const Handlers *eval_handlers(void); /* of the dispatch loop */

/* ---- tier_up.c: loops as machine code ---- */
void loop_code_free(Rt *rt, struct LoopCode *l);
/* Runs the loop's machine code on the registers r of the frame that came to its head. Where it goes on; NULL after an
 * error. */
const DInstr *loop_enter(Rt *rt, const struct LoopCode *l, Slot *r);
/* Where it is evaluated from its head on. */
const DInstr *loop_evaluated(const struct LoopCode *l);

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

/* ---- count.c ---- */
/* Are there operations to count in it? None of these are jumps or calls. */
bool eval_is_counted(const LFunc *f, const LInstr *in);
/* How many, of the registers that it is about to read. */
int64_t eval_operations(const LInstr *in, const Slot *r);

/* ---- slow.c: everything but scalars, moves, jumps and calls ---- */
Status eval_slow(Rt *rt, Mod *m, const LInstr *in, Slot *r);

#endif
