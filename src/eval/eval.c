/* SPDX-License-Identifier: MIT */
/* The evaluator: runs lowered code directly, with the results that machine code has.
 *
 * run() is one activation: it pushes a frame for its function and dispatches through computed gotos until that frame
 * returns. Calls between evaluated functions push frames on the heap stack (frames.c) and don't recurse in C; only
 * machine code and closures of it are called through C, and may enter eval_function again.
 *
 *   decode.c   LFunc -> DInstr, on first call     frames.c   frames
 *   slow.c     checks, objects, bags, primitives
 *   tier_up.c      what is worth machine code, and loops that have some
 *
 * Machine code may be attached at any time. Calls look for it (DFunc.native), and ENTER stands at the head of a loop
 * that has some: it runs on the registers of the frame and leaves them as the loop would. In mode `auto` whatever is
 * begun takes its cost off the budget: an entry from C, a call, a turn of a loop. Where nothing is left of it, Rt.tick
 * is called, which attaches what is ready.
 *
 * A call that comes last replaces the frame. What the callee borrows may then have no owner: the closure and
 * arguments that the caller would release after the call, and what a frame that came about so holds. The new frame
 * holds references to those (Frame.nheld).
 *
 * After an error each frame releases the registers it owns, and its caller adds the place of the call to the trace.
 * A call takes its owned arguments even when it fails, so the caller forgets those it had moved into it. */
#include "eval/eval_internal.h"
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpedantic" /* labels as values: the dispatch table */

/* C_CALL: what a call that goes through C costs, in instructions. */
enum { TAIL_ARGS = 64, TAIL_RESULTS = 32, POLL_CLOCK = 1024, FEW = 32, C_CALL = 16 };

static int64_t divide(int64_t a, int64_t b) { return b == -1 ? (int64_t)(0 - (uint64_t)a) : b ? a / b : 0; }
static int64_t remainder_of(int64_t a, int64_t b) { return b == -1 || b == 0 ? 0 : a % b; }

static int64_t subtract_saturating(int64_t a, int64_t b) {
  int64_t d;
  return __builtin_sub_overflow(a, b, &d) ? (b < 0 ? INT64_MAX : INT64_MIN) : d;
}

static size_t frame_bytes(const DFunc *d) {
  return (sizeof(Frame) + (size_t)d->f->nregs * sizeof(Slot) + 15) & ~(size_t)15;
}

/* A frame whose registers beyond the parameters are NULL, with room for references to hold. */
static inline Frame *push_frame(Rt *rt, Mod *m, DFunc *d, Frame *caller, int nheld) {
  Frame *f = stack_push(rt, frame_bytes(d) + (size_t)(nheld + 1) / 2 * 2 * sizeof(Slot));
  if (!f) return NULL;
  f->caller = caller;
  f->nheld = nheld;
  f->pc = NULL;
  f->fn = d;
  f->mod = m;
  for (int k = d->f->nparams; k < d->f->nregs; k++) f->regs[k].i = 0;
  return f;
}

/* A closure borrows its arguments: parameters that the code owns get references of their own. */
static void retain_params(const DFunc *d, const Slot *args) {
  for (int k = 0; k < d->nowned_params; k++) rt_retain(args[d->owned[k]].p);
}

/* After a failed call: the arguments it took are gone from the caller's registers. */
static void forget_taken(Frame *f, const LInstr *call) {
  if (call->op != LOP_CALL) return;
  const LFunc *callee = f->mod->code->funcs[call->imm.i];
  for (int k = 0; k < call->nargs; k++)
    if (callee->regs[k].owned && callee->regs[k].kind == R_PTR && lir_moves_argument(f->fn->f, call, call->args[k]))
      f->regs[call->args[k]].p = NULL;
}

/* What the frame holds, and its owned registers: those that were moved are NULL. */
static void release_held(Rt *rt, Frame *f) {
  rt_release_many(rt, f->regs + f->fn->f->nregs, f->nheld);
  f->nheld = 0;
}

static void release_owned(Rt *rt, Frame *f) {
  for (int k = 0; k < f->fn->nowned; k++) rt_release(rt, f->regs[f->fn->owned[k]].p);
  if (f->nheld) release_held(rt, f);
}

/* References for the frame that replaces f, whose call comes last: to the closure, if it is one, and to what is
 * passed and borrowed. Then f lets go of all. Returns how many; none are needed where f owns nothing. */
static int hand_over(Rt *rt, Frame *f, const LInstr *call, Obj *closure, const DFunc *callee, const Slot *passed,
                     Slot *held) {
  int n = 0;
  bool owns = f->nheld > 0;
  for (const LInstr *i = call + 1; i->op != LOP_RETURN; i++) owns |= i->op == LOP_RELEASE;
  if (!owns) return 0;
  if (closure) held[n++].p = closure;
  for (int k = 0; k < call->nargs; k++)
    if (callee->f->regs[k].kind == R_PTR && !callee->f->regs[k].owned) held[n++].p = passed[k].p;
  for (int k = 0; k < n; k++) rt_retain(held[k].p);
  if (call->op == LOP_APPLY) release_owned(rt, f);
  else release_held(rt, f);
  return n;
}

/* Pops the failed frame f and its callers up to the entry of this activation. */
static void unwind(Rt *rt, Frame *f) {
  for (;;) {
    release_owned(rt, f);
    Frame *caller = f->caller;
    stack_pop(rt, f);
    if (!caller) return;
    rt_trace(rt, mod_site(caller->mod, caller->pc->src->site));
    forget_taken(caller, caller->pc->src);
    f = caller;
  }
}

/* Calls a closure's machine code from registers. */
static Status call_out(Rt *rt, Obj *closure, const LInstr *in, Slot *r) {
  Slot few[FEW], *args = few;
  int n = in->nargs + in->nres;
  if (n > FEW && !(args = stack_push(rt, (size_t)(n + 1) / 2 * 2 * sizeof(Slot)))) return 1;
  for (int k = 0; k < in->nargs; k++) args[k] = r[in->args[k]];
  Slot *res = args + in->nargs;
  Status status = rt_apply(rt, closure, args, in->nargs, res);
  for (int k = 0; k < in->nres && !status; k++) r[in->res[k]] = res[k];
  if (args != few) stack_pop(rt, args);
  return status;
}

/* Calls a function's machine code from registers. An error leaves it as it was called: without the references that
 * the function takes. */
static Status call_native(Rt *rt, RtFunc *f, const LInstr *in, Slot *r) {
  Slot few[FEW], *args = few;
  int n = in->nargs + in->nres;
  if (n > FEW && !(args = stack_push(rt, (size_t)(n + 1) / 2 * 2 * sizeof(Slot)))) {
    for (int k = 0; k < in->nargs; k++)
      if (f->taken[k]) rt_release(rt, r[in->args[k]].p);
    return 1;
  }
  for (int k = 0; k < in->nargs; k++) args[k] = r[in->args[k]];
  Slot *res = args + in->nargs;
  Status status = rt_enter(rt, f, args, res);
  if (status == RT_TAIL) status = rt_make_call(rt, res);
  for (int k = 0; k < in->nres && !status; k++) r[in->res[k]] = res[k];
  if (args != few) stack_pop(rt, args);
  return status;
}

/* The budget is used up, in frame f, whose pc is set. */
static void tick(Rt *rt, Frame *f) {
  rt->budget = -1;
  if (rt->tick) rt->tick(rt->ticker, f);
}

/* Tick, interrupt and clock, in frame f, whose pc is set. */
static Status check_limits(Rt *rt, Frame *f, unsigned *polls) {
  if (rt->budget == 0) tick(rt, f);
  if (rt_interrupted(rt) || (rt->deadline > 0 && ++*polls % POLL_CLOCK == 0)) return rt_poll(rt);
  return 0;
}

/* Where nobody looks for interrupts. */
static inline void pay(Rt *rt, Frame *f, const DInstr *pc, int64_t cost) {
  if (rt->budget < 0) return;
  rt->budget = rt->budget > cost ? rt->budget - cost : 0;
  if (rt->budget > 0) return;
  f->pc = pc;
  tick(rt, f);
}

/* For the instruction, and what it calls, or NULL. Are the limits to be checked? */
static inline bool spend(Rt *rt, const DInstr *pc, const DFunc *callee) {
  if (rt->budget >= 0) {
    int64_t cost = pc->c + (callee ? callee->cost : 0);
    rt->budget = rt->budget > cost ? rt->budget - cost : 0;
    if (rt->budget == 0) return true;
  }
  return rt_interrupted(rt) || rt->deadline > 0;
}

/* Scalar operations that aren't functions of the C library or SLEEF:
 * X(NAME, the field written, expression in A, B, C of the operands' registers). */
/* clang-format off */
#define SCALARS(X)                                                                                                      \
  X(IADD, i, (int64_t)((uint64_t)A.i + (uint64_t)B.i)) X(ISUB, i, (int64_t)((uint64_t)A.i - (uint64_t)B.i))             \
  X(ISUBS, i, subtract_saturating(A.i, B.i)) X(IMUL, i, (int64_t)((uint64_t)A.i * (uint64_t)B.i))                        \
  X(IDIV, i, divide(A.i, B.i)) X(IREM, i, remainder_of(A.i, B.i))  \
  X(BYTES, i, ((const StringObj *)A.p)->len) X(NATIVE, i, 0) X(INEG, i, (int64_t)(0 - (uint64_t)A.i)) X(IPOW, i, rt_ipow(A.i, B.i))                                                \
  X(IMIN, i, A.i < B.i ? A.i : B.i) X(IMAX, i, A.i > B.i ? A.i : B.i)                                                   \
  X(IAND, i, A.i & B.i) X(IOR, i, A.i | B.i) X(IXOR, i, A.i ^ B.i)                                                      \
  X(ISHL, i, (int64_t)((uint64_t)A.i << (B.i & 63))) X(ISHR, i, (int64_t)((uint64_t)A.i >> (B.i & 63)))                 \
  X(IEQ, i, A.i == B.i) X(INE, i, A.i != B.i) X(ILT, i, A.i < B.i) X(ILE, i, A.i <= B.i)                                \
  X(FADD, f, A.f + B.f) X(FSUB, f, A.f - B.f) X(FMA, f, fma(A.f, B.f, C.f))                                              \
  X(FMUL, f, A.f * B.f) X(FDIV, f, A.f / B.f) X(FNEG, f, -A.f)              \
  X(FPOWI, f, rt_powi(rt->functions, A.f, B.i)) X(FMIN, f, rt_fmin(A.f, B.f)) X(FMAX, f, rt_fmax(A.f, B.f)) \
  X(FEQ, i, A.f == B.f) X(FNE, i, A.f != B.f) X(FLT, i, A.f < B.f) X(FLE, i, A.f <= B.f)                                \
  X(SIGN, f, rt_sign(A.f))                                   \
  X(DIGAMMA, f, rt_digamma(A.f)) X(TRIGAMMA, f, rt_trigamma(A.f)) X(IS_NAN, i, A.f != A.f)                              \
  X(FLOAT_OF_INT, f, (double)A.i) X(INT_OF_FLOAT, i, rt_int_of_float(A.f))                                              \
  X(NOT, i, !A.i) X(AND, i, A.i & B.i) X(OR, i, A.i | B.i) X(BEQ, i, A.i == B.i) X(SELECT, i, A.i ? B.i : C.i)          \
  X(TAG, i, rt_tag(A.p)) X(CLOSURE_ID, i, (int64_t)((ClosureObj *)A.p)->fn->id)
/* clang-format on */

/* The tree of additions over the instruction's partial sums. */
static double sum_of_lanes(const Slot *r, const LInstr *in) {
  double sums[LIMIT_LANES];
  for (int k = 0; k < in->nargs; k++) sums[k] = r[in->args[k]].f;
  for (int n = in->nargs / 2; n > 0; n /= 2)
    for (int k = 0; k < n; k++) sums[k] += sums[k + n];
  return sums[0];
}

/* Runs function `index` of m with the arguments as they are: owned parameters are taken. */
static Status run(Rt *rt, Mod *m, int index, const Slot *entry_args, Slot *entry_res) {
  static const void *const scalars[OP_COUNT] = {
#define OP(name, text, signature, flags)
#define SCALAR(name, text, signature, flags) [OP_##name] = &&scalar_##name,
#include "ir/ops.def"
#undef OP
      [OP_TAG] = &&scalar_TAG, [OP_CLOSURE_ID] = &&scalar_CLOSURE_ID};
#define L(name, operands, imm, sub, fails, flow, simple, evaluator) [LOP_##name] = LABEL_##evaluator(name),
#define LABEL_OWN(name)                                             &&op_##name
#define LABEL_BOTH(name)                                            &&op_##name
#define LABEL_SLOW(name)                                            &&op_slow
#define LABEL_SCALAR(name)                                          NULL
#define LABEL_GONE(name)                                            NULL
  static const void *const ops[LOP_COUNT] = {
#include "lir/lir.def"
  };
#undef L
  static const Handlers handlers = {ops, scalars, &&tail_CALL, &&tail_APPLY, &&op_BACK, &&op_ENTER, &&counted};
  if (!m) { /* eval_handlers */
    entry_res->raw = (void *)(uintptr_t)&handlers;
    return 0;
  }

  Frame *fr = NULL, *caller = NULL;
  const DInstr *pc = NULL;
  Slot *r = NULL, passed[TAIL_ARGS], held[TAIL_ARGS + 1];
  int nheld = 0;
  DFunc *callee = m->decoded[index];
  ClosureObj *closure;
  unsigned polls = 0;

/* clang-format off */
#define GO goto *pc->go
#define NEXT do { pc++; GO; } while (0)
#define DST r[pc->dst]
#define A r[pc->a]
#define B r[pc->b]
#define C r[pc->c]
  if (!callee && !(callee = eval_decode(m, index, &handlers))) goto entry_failed;
  callee->heat.begun++;
  fr = push_frame(rt, m, callee, NULL, 0);
  if (!fr) goto entry_failed;
  if (callee->f->nparams) memcpy(fr->regs, entry_args, (size_t)callee->f->nparams * sizeof(Slot));
  r = fr->regs;
  pc = callee->code;
  pay(rt, fr, pc, callee->cost + C_CALL);
  GO;

#define X(NAME, field, e) scalar_##NAME: DST.field = (e); NEXT;
  SCALARS(X)
#undef X
#define OP(NAME, text, signature, flags)
#define SCALAR(NAME, text, signature, flags)
#define FLOAT1(NAME, text, function, flags) scalar_##NAME: DST.f = function(A.f); NEXT;
#define FUNCTION(NAME, text, signature, flags)
#include "ir/ops.def"
#undef OP
#define WAVE(NAME, libm, member) scalar_##NAME: DST.f = functions_##NAME(rt->functions, A.f); NEXT;
#define FUNCTION1(NAME, libm, sleef, accuracy, lost) WAVE(NAME, libm, )
#define FUNCTION2(NAME, libm, sleef, accuracy, lost) scalar_##NAME: DST.f = functions_##NAME(rt->functions, A.f, B.f); NEXT;
#include "support/functions.def"
op_MOVE: DST = A; NEXT;
op_INT: op_FLOAT: DST.i = pc->imm.i; NEXT;
op_STRING: DST.p = m->strings[pc->imm.i]; NEXT;
op_BOX: DST.p = m->boxes[pc->imm.i]; NEXT;
op_NULLPTR: DST.p = NULL; NEXT;
op_IMMEDIATE: DST.p = rt_immediate(pc->imm.i); NEXT;
op_GLOBAL: DST = m->globals[pc->a][pc->b]; NEXT;
op_JUMP: pc = pc->imm.to; GO;
/* clang-format on */
op_LANE_OPEN:
  for (int k = 1; k < pc->src->nres; k++) r[pc->src->res[k]].f = -0.0;
  r[pc->src->res[0]] = A;
  NEXT;
op_LANE_ADD : {
  double *sum = &r[pc->src->res[A.i & (pc->src->nres - 1)]].f;
  *sum = pc->c < 0 ? *sum + B.f : fma(B.f, C.f, *sum);
  NEXT;
}
op_LANE_SUM:
  DST.f = sum_of_lanes(r, pc->src);
  NEXT;
op_BACK:
  if (rt->budget >= 0) {
    fr->fn->loops[pc->a].heat.begun++;
    pay(rt, fr, pc, pc->c);
  }
  pc = pc->imm.to;
  GO;
op_BRANCH:
  if (A.i) NEXT;
  pc = pc->imm.to;
  GO;
op_SWITCH : {
  uint64_t last = (uint64_t)pc->src->nargs - 1, k = (uint64_t)A.i;
  pc = pc->imm.table[k < last ? k : last];
  GO;
}
op_POLL:
  ++*pc->imm.turns;
  if (spend(rt, pc, NULL)) {
    fr->pc = pc;
    if (check_limits(rt, fr, &polls)) goto failed;
  }
  NEXT;
op_ENTER : {
  struct LoopCode *loop = pc->imm.loop;
  fr->pc = pc;
  if (!rt_flip(rt)) {
    pc = loop_evaluated(loop);
    GO;
  }
  pay(rt, fr, pc, C_CALL);
  const DInstr *next = loop_enter(rt, loop, r);
  if (!next) goto failed;
  pc = next;
  GO;
}
op_CHECK_INDEX:
  if ((uint64_t)A.i < (uint64_t)B.i && B.i >= 0) NEXT;
  goto op_slow;
op_PUT_BYTE:
  if ((uint64_t)C.i > 255) goto op_slow;
  ((StringObj *)A.p)->bytes[B.i] = (char)C.i;
  NEXT;
op_RETAIN:
  rt_retain(A.p);
  NEXT;
op_RELEASE : {
  Obj *p = A.p;
  A.p = NULL;
  rt_release(rt, p);
  NEXT;
}
op_GROW : {
  ArrayObj *a = (ArrayObj *)DST.p;
  int64_t need;
  if (!__builtin_mul_overflow(A.i + 1, B.i, &need) && need <= a->cap) NEXT;
  goto op_slow;
}
/* clang-format off */
op_SET_DIM: ((ArrayObj *)A.p)->dims[pc->imm.i] = B.i; NEXT;
op_DIM: DST.i = ((const ArrayObj *)A.p)->dims[pc->imm.i]; NEXT;
op_BYTE: DST.i = (unsigned char)((const StringObj *)A.p)->bytes[B.i]; NEXT;
op_DATA: DST.raw = ((const ArrayObj *)A.p)->data; NEXT;
op_LOAD: DST = ((const Slot *)A.raw)[(pc->b >= 0 ? B.i * pc->imm.i : 0) + pc->c]; NEXT;
op_STORE: ((Slot *)A.raw)[(pc->b >= 0 ? B.i * pc->imm.i : 0) + pc->c] = DST; NEXT;
op_FIELD: DST = ((const BoxObj *)A.p)->fields[pc->b]; NEXT;
op_FIELD_AT: DST.raw = ((BoxObj *)A.p)->fields + pc->b; NEXT;
op_CAPTURE: DST = ((const ClosureObj *)A.p)->caps[pc->b]; NEXT;
op_FUNC_ID: DST.i = (int64_t)m->funcs[pc->imm.i]->id; NEXT;
op_ENV_FIELD: DST = ((const EnvObj *)A.p)->caps[pc->b]; NEXT;
op_IS_NULL: DST.i = A.p == NULL; NEXT;
op_TAG: goto scalar_TAG;
op_CLOSURE_ID: goto scalar_CLOSURE_ID;
/* clang-format on */
counted:
  *rt->operations += eval_operations(pc->src, r);
  goto *eval_handler(&handlers, pc->src);
op_slow:
  fr->pc = pc;
  if (eval_slow(rt, m, pc->src, r)) goto failed;
  NEXT;

op_CALL : {
  const LInstr *in = pc->src;
  fr->pc = pc;
  callee = m->decoded[in->imm.i];
  if (!callee && !(callee = eval_decode(m, (int)in->imm.i, &handlers))) goto call_failed;
  callee->heat.begun++;
  if (spend(rt, pc, callee) && check_limits(rt, fr, &polls)) goto call_failed;
  if (callee->native && rt_flip(rt)) {
    if (call_native(rt, m->funcs[in->imm.i], in, r)) {
      rt_trace(rt, mod_site(m, in->site));
      forget_taken(fr, in);
      goto failed;
    }
    NEXT;
  }
  Frame *f = push_frame(rt, m, callee, fr, 0);
  if (!f) goto call_failed;
  for (int k = 0; k < in->nargs; k++) f->regs[k] = r[in->args[k]];
  fr = f;
  r = f->regs;
  pc = callee->code;
  GO;
}
call_failed : { /* before it began: the call takes its owned arguments nonetheless */
  const LInstr *in = pc->src;
  const LFunc *f = m->code->funcs[in->imm.i];
  for (int k = 0; k < in->nargs; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) rt_release(rt, r[in->args[k]].p);
  forget_taken(fr, in);
  goto failed;
}
op_APPLY : {
  const LInstr *in = pc->src;
  fr->pc = pc;
  closure = (ClosureObj *)A.p;
  RtFunc *fn = closure->fn;
  if (__atomic_load_n(&fn->entry, __ATOMIC_RELAXED) && rt_flip(rt)) {
    if (call_out(rt, &closure->h, in, r)) {
      rt_trace(rt, mod_site(m, in->site));
      goto failed;
    }
    NEXT;
  }
  Mod *there = mod_here(rt, fn->mod);
  callee = there->decoded[fn->code->index];
  if (!callee && !(callee = eval_decode(there, fn->code->index, &handlers))) goto failed;
  callee->heat.begun++;
  if (spend(rt, pc, callee) && check_limits(rt, fr, &polls)) goto failed;
  Frame *f = push_frame(rt, there, callee, fr, 0);
  if (!f) goto failed;
  for (int k = 0; k < in->nargs; k++) f->regs[k] = r[in->args[k]];
  for (int k = 0; k < fn->ncaps; k++) f->regs[in->nargs + k] = closure->caps[k];
  retain_params(callee, f->regs);
  m = there;
  fr = f;
  r = f->regs;
  pc = callee->code;
  GO;
}
tail_CALL : {
  const LInstr *in = pc->src;
  if (in->nargs > TAIL_ARGS) goto op_CALL;
  fr->pc = pc;
  callee = m->decoded[in->imm.i];
  if (!callee && !(callee = eval_decode(m, (int)in->imm.i, &handlers))) goto call_failed;
  callee->heat.begun++;
  if (spend(rt, pc, callee) && check_limits(rt, fr, &polls)) goto call_failed;
  if (callee->native && in->nres <= TAIL_RESULTS && rt_flip(rt)) goto tail_native;
  for (int k = 0; k < in->nargs; k++) passed[k] = r[in->args[k]];
  nheld = hand_over(rt, fr, in, NULL, callee, passed, held);
  goto replace_frame;
}
tail_APPLY : {
  const LInstr *in = pc->src;
  closure = (ClosureObj *)A.p;
  RtFunc *fn = closure->fn;
  if (in->nargs + fn->ncaps > TAIL_ARGS) goto op_APPLY;
  fr->pc = pc;
  if (__atomic_load_n(&fn->entry, __ATOMIC_RELAXED) && rt_flip(rt)) {
    if (in->nargs > LIMIT_TAIL_ARGUMENTS || in->nres > TAIL_RESULTS) goto op_APPLY;
    goto leave_call;
  }
  Mod *there = mod_here(rt, fn->mod);
  callee = there->decoded[fn->code->index];
  if (!callee && !(callee = eval_decode(there, fn->code->index, &handlers))) goto failed;
  callee->heat.begun++;
  if (spend(rt, pc, callee) && check_limits(rt, fr, &polls)) goto failed;
  for (int k = 0; k < in->nargs; k++) passed[k] = r[in->args[k]];
  for (int k = 0; k < fn->ncaps; k++) passed[in->nargs + k] = closure->caps[k];
  retain_params(callee, passed);
  nheld = hand_over(rt, fr, in, &closure->h, callee, passed, held);
  m = there;
  goto replace_frame;
}
replace_frame : { /* the frame owns nothing any more: the callee's takes its place */
  Frame *f;
  caller = fr->caller;
  stack_pop(rt, fr);
  f = push_frame(rt, m, callee, caller, nheld);
  if (!f) {
    for (int k = 0; k < callee->nowned_params; k++) rt_release(rt, passed[callee->owned[k]].p);
    rt_release_many(rt, held, nheld);
    goto replaced_failed;
  }
  if (nheld) memcpy(f->regs + callee->f->nregs, held, (size_t)nheld * sizeof(Slot));
  if (callee->f->nparams) memcpy(f->regs, passed, (size_t)callee->f->nparams * sizeof(Slot));
  fr = f;
  r = f->regs;
  pc = callee->code;
  GO;
}
tail_native : { /* which may leave a call, in which this frame has no part */
  const LInstr *in = pc->src;
  for (int k = 0; k < in->nargs; k++) passed[k] = r[in->args[k]];
  Status status = rt_enter(rt, m->funcs[in->imm.i], passed, held);
  if (status == RT_TAIL) {
    forget_taken(fr, in);
    goto call_left;
  }
  if (status) {
    rt_trace(rt, mod_site(m, in->site));
    forget_taken(fr, in);
    goto failed;
  }
  for (int k = 0; k < in->nres; k++) r[in->res[k]] = held[k];
  NEXT;
}
leave_call: /* machine code: whoever called this frame calls it */
  for (int k = 0; k < pc->src->nargs; k++) passed[k] = r[pc->src->args[k]];
  rt_leave_call(rt, &closure->h, passed, pc->src->nargs);
call_left : {
  release_owned(rt, fr);
  caller = fr->caller;
  stack_pop(rt, fr);
  if (!caller) return RT_TAIL;
  if (rt_make_call(rt, passed)) goto replaced_failed;
  fr = caller;
  r = fr->regs;
  m = fr->mod;
  pc = fr->pc;
  for (int k = 0; k < pc->src->nres; k++) r[pc->src->res[k]] = passed[k];
  NEXT;
}
op_RETURN : {
  const LInstr *in = pc->src;
  caller = fr->caller;
  if (fr->nheld) release_held(rt, fr);
  if (!caller) {
    for (int k = 0; k < in->nargs; k++) entry_res[k] = r[in->args[k]];
    stack_pop(rt, fr);
    return 0;
  }
  pc = caller->pc;
  const int32_t *to = pc->src->res;
  for (int k = 0; k < in->nargs; k++) caller->regs[to[k]] = r[in->args[k]];
  stack_pop(rt, fr);
  fr = caller;
  r = fr->regs;
  m = fr->mod;
  NEXT;
}
failed:
  if (!rt->error.site) rt->error.site = mod_site(m, pc->src->site);
  unwind(rt, fr);
  return 1;
replaced_failed:
  if (!caller) return 1;
  rt_trace(rt, mod_site(caller->mod, caller->pc->src->site));
  forget_taken(caller, caller->pc->src);
  unwind(rt, caller);
  return 1;
entry_failed : {
  const LFunc *f = m->code->funcs[index];
  for (int k = 0; k < f->nparams; k++)
    if (f->regs[k].owned && f->regs[k].kind == R_PTR) rt_release(rt, entry_args[k].p);
  return 1;
}
#undef GO
#undef NEXT
#undef DST
#undef A
#undef B
#undef C
}

Status eval_function(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  char here;
  if (!rt->stack_limit || &here >= rt->stack_limit) return run(rt, mod_here(rt, f->mod), f->code->index, args, res);
  for (int k = 0; k < f->nparams; k++)
    if (f->taken[k]) rt_release(rt, args[k].p);
  return rt_fail_stack(rt, 0);
}

const Handlers *eval_handlers(void) {
  Slot handlers;
  run(NULL, NULL, 0, NULL, &handlers);
  return handlers.raw;
}
