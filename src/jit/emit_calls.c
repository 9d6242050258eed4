/* SPDX-License-Identifier: MIT */
/* Calls inside a module: how a function gives back its result, how it notices that the stack is used up, and how
 * that error travels.
 *
 * A recursive function compares its stack pointer with a limit, before the first call on each path (on entry if it
 * has loops); an interrupt moves that limit up. Where this is all that can fail in it, and in what it calls, testing
 * a status after each call would be most of its cost. Such functions (CONV_UNWIND) return a bare number: once the
 * error is raised the runtime moves the limit up, so that every further entry returns 0 at once, and the calls under
 * way end by themselves, since nothing in them repeats or fails and no number that they make is used as an address.
 * Whoever calls one from outside asks afterwards whether this happened. */
#include "jit/emit.h"

bool func_fallible(const LFunc *f) { return f->may_fail || f->recursive; }

/* ---- Conventions ---- */
/* Fails only in entries of functions that unwind, as far as is known yet. */
static bool only_unwinds(const Emit *e, const LFunc *f) {
  if (!f->ncode) return false;
  for (int c = 0; c < f->ncode; c++) {
    const LInstr *i = &f->code[c];
    if (i->op == LOP_LOOP_HEAD || i->op == LOP_FOREIGN) return false;
    if (i->op == LOP_CALL ? e->funcs[i->imm.i].conv > CONV_UNWIND : lir_fails(e->m, i)) return false;
  }
  return true;
}

/* Starts from all functions whose result fits, and strikes out. */
void choose_conventions(Emit *e) {
  const LModule *m = e->m;
  for (int k = 0; k < m->nfuncs; k++) {
    const LFunc *f = m->funcs[k];
    bool one = f->nresults == 1, number = one && (f->result_kinds[0] == R_INT || f->result_kinds[0] == R_FLOAT);
    if (f->nresults == 2) e->funcs[k].conv = CONV_TWO;
    else if (!func_fallible(f)) e->funcs[k].conv = one ? CONV_VALUE : CONV_VOID;
    else e->funcs[k].conv = number ? CONV_UNWIND : one ? CONV_PAIR : CONV_STATUS;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < m->nfuncs; k++) {
      if (e->funcs[k].conv != CONV_UNWIND || only_unwinds(e, m->funcs[k])) continue;
      e->funcs[k].conv = CONV_PAIR;
      changed = true;
    }
  }
}

bool results_through_memory(const Emit *e, const LFunc *f) {
  Convention conv = e->funcs[f->index].conv;
  return (conv == CONV_VOID || conv == CONV_STATUS) && f->nresults > 0;
}

Type *type_of_two(const Emit *e, const LFunc *f) {
  return e->two[slot_kind(f->result_kinds[0])][slot_kind(f->result_kinds[1])];
}

Lv *result_of_two(const Emit *e, const LFunc *f, Lv *two, int r) {
  gcc_jit_field *field = e->two_value[slot_kind(f->result_kinds[0])][slot_kind(f->result_kinds[1])][r];
  return e->g->lvalue_access_field(two, NULL, field);
}

static Lv *failed_flag(const Emit *e, Rv *mod) { return place(e, load_rt(e, mod), offsetof(Rt, failed), e->t_i32); }
Rv *two_failed(const Emit *e, Rv *mod) { return rv(e, failed_flag(e, mod)); }
void set_two_failed(const Emit *e, Block *b, Rv *mod, Status status) {
  e->g->block_add_assignment(b, NULL, failed_flag(e, mod), k_i32(e, status));
}

/* ---- Entry ---- */
/* The site that a stack overflow is reported at: a call of a module's function in this one. */
static uint32_t recursion_site(const LFunc *f) {
  for (int c = 0; c < f->ncode; c++)
    if (f->code[c].op == LOP_CALL) return f->code[c].site;
  return 0;
}

/* Works out for each instruction whether a check of the stack stands before it: true at a label only if on all ways
 * to it. */
static void flow_checks(const Emit *e, const LFunc *f, bool *late) {
  bool *at_label = NEW_ARRAY(e->arena, bool, f->nlabels + 1);
  bool checked = false;
  for (int l = 0; l < f->nlabels; l++) at_label[l] = true;
  for (int c = 0; c < f->ncode; c++) {
    const LInstr *i = &f->code[c];
    bool calls = i->op == LOP_CALL || i->op == LOP_APPLY;
    late[c] = calls && !checked;
    checked |= calls;
    if (i->op == LOP_LABEL) checked = at_label[i->imm.i] = at_label[i->imm.i] && checked;
    for (int64_t t = 0, label; (label = lir_target(i, (int)t)) >= 0; t++) at_label[label] &= checked;
    LFlow flow = lir_ops[i->op].flow;
    if (flow != LFLOW_NEXT && flow != LFLOW_BRANCH) checked = true;
  }
}

const bool *plan_stack_checks(const Emit *e, const LFunc *f, bool *on_entry) {
  /* Recursion also runs through closures, so whatever has an entry counts as recursive. */
  bool recursive = f->recursive || (f->is_entry && func_fallible(f)), loops = has_loops(f);
  bool *late = NEW_ARRAY(e->arena, bool, f->ncode + 1);
  *on_entry = recursive && loops;
  if (recursive && !loops) flow_checks(e, f, late);
  return late;
}

/* Where the stack ends now. Asking for the frame's address instead would give every recursive function a frame
 * pointer. */
static Rv *stack_pointer(Fn *k) {
  Emit *e = k->e;
  const GccApi *g = e->g;
#if defined(__x86_64__) || defined(__aarch64__)
  Lv *here = g->function_new_local(k->fn, NULL, e->t_ptr, "here");
#if defined(__x86_64__)
  gcc_jit_extended_asm *copy = g->block_add_extended_asm(k->cur, NULL, "mov %%rsp, %0");
#else
  gcc_jit_extended_asm *copy = g->block_add_extended_asm(k->cur, NULL, "mov %0, sp");
#endif
  g->extended_asm_add_output_operand(copy, NULL, "=r", here);
  return rv(e, here);
#else
  gcc_jit_function *frame = g->context_get_builtin_function(e->ctx, "__builtin_frame_address");
  return cast(e, call(e, frame, 1, (Rv *[]){k_u32(e, 0)}), e->t_ptr);
#endif
}

/* Stack left and no interrupt? One comparison tests both; the runtime tells them apart. */
void check_stack(Fn *k) {
  Emit *e = k->e;
  const GccApi *g = e->g;
  Rv *rt = load_rt(e, k->mod), *here = stack_pointer(k);
  Rv *limit = load(e, rt, offsetof(Rt, entry_limit), e->t_u64);
  Block *cold = branch_unless(k, compare(e, GC_GE, g->context_new_bitcast(e->ctx, NULL, here, e->t_u64), limit)),
        *on = k->cur;
  k->cur = cold;
  Rv *status = k->info->conv == CONV_UNWIND
                   ? CALL_TABLE(e, k->mod, rt_unwind, rt, here, k_site(k, recursion_site(k->f)))
                   : CALL_TABLE(e, k->mod, rt_entry, rt, here);
  check_status(k, NULL, status, false);
  g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
}

/* Status after a call of a function that unwinds, from one that doesn't. */
Rv *end_unwinding(Emit *e, Rv *mod) { return CALL_TABLE(e, mod, rt_unwound, load_rt(e, mod)); }

static void leave_if_unwinding(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *flag = load(e, load_rt(e, k->mod), offsetof(Rt, unwinding), e->t_i32);
  Block *no = branch_unless(k, compare(e, GC_EQ, flag, k_i32(e, 0))), *on = k->cur;
  k->cur = no;
  check_status(k, i, end_unwinding(e, k->mod), true);
  e->g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
}

/* ---- Calls ---- */
/* Goes on if the status of a call of the callee is 0. The results are still to be taken: after that, end_call. */
typedef struct CallEnd {
  Block *cold, *failed;
} CallEnd; /* NULL: the callee leaves no calls */
static CallEnd begin_call(Fn *k, const LFunc *callee, Rv *status) {
  Block *no = branch_unless(k, compare(k->e, GC_EQ, cast(k->e, status, k->e->t_i64), k_i64(k->e, 0)));
  return k->e->funcs[callee->index].leaves ? (CallEnd){no, new_block(k)} : (CallEnd){NULL, no};
}

static void end_call(Fn *k, const LInstr *i, CallEnd end) {
  Emit *e = k->e;
  e->g->block_add_eval(end.failed, NULL, CALL_TABLE(e, k->mod, rt_trace, load_rt(e, k->mod), k_site(k, i->site)));
  leave_failed(k, end.failed, i);
  if (end.cold) emit_left_call(k, i, end.cold, end.failed);
}

/* Whoever reports the failure in another way takes the news back. */
static void take_two(Fn *k, const LInstr *i, const LFunc *callee, Rv *result) {
  Emit *e = k->e;
  Lv *two = e->g->function_new_local(k->fn, NULL, type_of_two(e, callee), "two");
  assign(k, two, result);
  bool fallible = func_fallible(callee);
  CallEnd end = {0};
  if (fallible) {
    end = begin_call(k, callee, two_failed(e, k->mod));
    if (k->info->conv != CONV_TWO) set_two_failed(e, end.failed, k->mod, 0);
  }
  for (int r = 0; r < i->nres; r++)
    if (i->res[r] >= 0) assign_reg(k, i->res[r], rv(e, result_of_two(e, callee, two, r)));
  if (fallible) end_call(k, i, end);
}

void emit_call(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  const LFunc *callee = e->m->funcs[i->imm.i];
  const FuncInfo *info = &e->funcs[i->imm.i];
  Rv **args = NEW_ARRAY(e->arena, Rv *, i->nargs + 2);
  int n = 0;
  args[n++] = k->mod;
  for (int a = 0; a < i->nargs; a++) args[n++] = reg(k, i->args[a]);
  if (results_through_memory(e, callee)) args[n++] = results_buffer(k);
  Rv *result = call(e, info->fn, n, args);
  switch (info->conv) {
  case CONV_VALUE: assign_reg(k, i->res[0], result); break;
  case CONV_UNWIND:
    assign_reg(k, i->res[0], result);
    if (k->info->conv != CONV_UNWIND) leave_if_unwinding(k, i);
    break;
  case CONV_PAIR: {
    SlotKind s = slot_kind(callee->result_kinds[0]);
    assign(k, k->pair[s], result);
    CallEnd end = begin_call(k, callee, rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_status[s])));
    assign_reg(k, i->res[0], rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_value[s])));
    end_call(k, i, end);
    break;
  }
  case CONV_TWO: take_two(k, i, callee, result); break;
  case CONV_VOID:
    evaluate(k, result);
    take_results(k, i);
    break;
  case CONV_STATUS: {
    if (info->leaves) {
      assign(k, k->status, result);
      result = rv(e, k->status);
    }
    CallEnd end = begin_call(k, callee, result);
    take_results(k, i);
    end_call(k, i, end);
    break;
  }
  }
}
