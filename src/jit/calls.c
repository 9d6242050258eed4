/* SPDX-License-Identifier: MIT */
/* Calls inside a module: how a function gives back its result, how it notices that the stack is used up, and how that
 * error travels.
 *
 * A recursive function compares its frame's address with a limit, before the first call on each path (on entry if it has
 * loops); an interrupt moves that limit up. Where this is all that can fail in it, and in what it calls, testing a status after each call would
 * be most of its cost. Such functions (CONV_UNWIND) return a bare number: once the error is raised the runtime moves
 * the limit up, so that every further entry returns 0 at once, and the calls under way end by
 * themselves, since nothing in them repeats or fails and no number that they make is used as an address. Whoever calls one
 * from outside asks afterwards whether this happened. */
#include "jit/emit.h"

bool func_fallible(const LFunc *f) { return !f->symbol && (f->may_fail || f->recursive); }

/* ---- Conventions ---- */
/* Fails only in entries of functions that unwind, as far as is known yet. */
static bool only_unwinds(const Emit *e, const LFunc *f) {
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
    e->funcs[k].conv = !func_fallible(f) ? (one ? CONV_VALUE : CONV_VOID) : number ? CONV_UNWIND : one ? CONV_PAIR : CONV_STATUS;
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

/* ---- Entry ---- */
/* The site that a stack overflow is reported at: a call of a module's function in this one. */
static uint32_t recursion_site(const LFunc *f) {
  for (int c = 0; c < f->ncode; c++)
    if (f->code[c].op == LOP_CALL) return f->code[c].site;
  return 0;
}

/* Works out for each instruction whether a check of the stack stands before it: true at a label only if on all ways to it. */
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
    if (i->op == LOP_JUMP || i->op == LOP_BRANCH) at_label[i->imm.i] &= checked;
    for (int t = 0; i->op == LOP_SWITCH && t < i->nargs; t++) at_label[i->args[t]] &= checked;
    if (i->op == LOP_JUMP || i->op == LOP_SWITCH || i->op == LOP_RETURN || i->op == LOP_FAIL) checked = true;
  }
}

const bool *plan_stack_checks(const Emit *e, const LFunc *f, bool *on_entry) {
  /* Recursion also runs through closures, so whatever has an entry counts as recursive. */
  bool recursive = f->recursive || (f->is_entry && func_fallible(f)), loops = false;
  bool *late = NEW_ARRAY(e->arena, bool, f->ncode + 1);
  for (int c = 0; c < f->ncode; c++) loops |= f->code[c].op == LOP_LOOP_HEAD;
  *on_entry = recursive && loops;
  if (recursive && !loops) flow_checks(e, f, late);
  return late;
}

/* Stack left and no interrupt? One comparison tests both; the runtime tells them apart. */
void check_stack(Fn *k) {
  Emit *e = k->e;
  const GccApi *g = e->g;
  gcc_jit_function *frame = g->context_get_builtin_function(e->ctx, "__builtin_frame_address");
  Rv *rt = load_rt(e, k->mod), *here = cast(e, call(e, frame, 1, (Rv *[]){k_u32(e, 0)}), e->t_ptr);
  Rv *limit = load(e, rt, offsetof(Rt, entry_limit), e->t_u64);
  Block *cold = branch_unless(k, compare(e, GC_GE, g->context_new_bitcast(e->ctx, NULL, here, e->t_u64), limit)), *on = k->cur;
  k->cur = cold;
  Rv *status = k->info->conv == CONV_UNWIND
                   ? CALL_TABLE(e, k->mod, rt_unwind, rt, here, k_u32(e, recursion_site(k->f)))
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
void emit_call(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  const LFunc *callee = e->m->funcs[i->imm.i];
  const FuncInfo *info = &e->funcs[i->imm.i];
  Rv **args = NEW_ARRAY(e->arena, Rv *, i->nargs + 2);
  int n = 0;
  args[n++] = k->mod;
  for (int a = 0; a < i->nargs; a++) args[n++] = reg(k, i->args[a]);
  bool through_memory = (info->conv == CONV_VOID || info->conv == CONV_STATUS) && callee->nresults > 0;
  if (through_memory) args[n++] = results_buffer(k);
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
    check_status(k, i, rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_status[s])), true);
    assign_reg(k, i->res[0], rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_value[s])));
    break;
  }
  case CONV_VOID:
    evaluate(k, result);
    take_results(k, i);
    break;
  case CONV_STATUS:
    check_status(k, i, result, true);
    take_results(k, i);
    break;
  }
}
