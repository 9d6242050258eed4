/* SPDX-License-Identifier: MIT */
/* Trampolined tail calls: calls of closures in tail position take no stack.
 *
 * The function stores the call in the VM (rt_leave_call), releases what it owns and returns the status RT_TAIL
 * instead of results. Its caller returns RT_TAIL, too, if its own call was in tail position. Otherwise it makes the
 * stored call by rt_make_call; so does the runtime where it called the function. Only functions that may make such a
 * call, directly or by another tail call, have that status (FuncInfo.leaves). It is tested behind the test for
 * failure, so other calls cost what they did. */
#include "jit/emit.h"

/* The RETURN of what the call yields, with nothing but releases before it; NULL if the call isn't the last thing
 * done. */
static const LInstr *return_of(const LFunc *f, const LInstr *call) {
  const LInstr *in = call + 1, *end = f->code + f->ncode;
  while (in < end && (in->op == LOP_RELEASE || in->op == LOP_NULLPTR)) in++;
  if (in == end || in->op != LOP_RETURN || in->nargs != call->nres) return NULL;
  for (int k = 0; k < call->nres; k++)
    if (in->args[k] != call->res[k]) return NULL;
  return in;
}

static bool leaves_call(const Emit *e, const LFunc *f, const LInstr *i) {
  if (i->op == LOP_CALL) return e->funcs[i->imm.i].leaves && return_of(f, i);
  return i->op == LOP_APPLY && i->nargs <= LIMIT_TAIL_ARGUMENTS && return_of(f, i);
}

void find_left_calls(Emit *e) {
  for (int k = 0; k < e->m->nfuncs; k++) e->funcs[k].leaves = !e->m->funcs[k]->ncode; /* nobody knows */
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < e->m->nfuncs; k++) {
      const LFunc *f = e->m->funcs[k];
      for (int c = 0; c < f->ncode && !e->funcs[k].leaves; c++)
        changed |= e->funcs[k].leaves = leaves_call(e, f, &f->code[c]);
    }
  }
}

/* ---- In the function that leaves a call ---- */
bool emit_left_apply(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  if (!leaves_call(e, k->f, i)) return false;
  Rv *args = pass_slots(k, i->args, i->nargs), *rt = load_rt(e, k->mod);
  evaluate(k, CALL_TABLE(e, k->mod, rt_leave_call, rt, reg(k, i->a), args, k_i32(e, i->nargs)));
  k->leaving = return_of(k->f, i);
  return true;
}

/* The call that came last left one: block b hands that on. */
static void leave_too(Fn *k, Block *b, const LInstr *call) {
  for (const LInstr *i = call + 1; i->op != LOP_RETURN; i++)
    if (i->op == LOP_RELEASE) k->e->g->block_add_eval(b, NULL, call_helper(k->e, H_RELEASE, k->mod, reg(k, i->a)));
  end_with_status(k, b, RT_TAIL);
}

/* ---- In its callers ---- */
/* The status of a call that didn't succeed. */
static Rv *status_of(const Fn *k, const LFunc *callee) {
  const Emit *e = k->e;
  switch (e->funcs[callee->index].conv) {
  case CONV_TWO: return two_failed(e, k->mod);
  case CONV_PAIR: {
    SlotKind s = slot_kind(callee->result_kinds[0]);
    return cast(e, rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_status[s])), e->t_i32);
  }
  default: return rv(e, k->status);
  }
}

void emit_left_call(Fn *k, const LInstr *i, Block *cold, Block *failed) {
  Emit *e = k->e;
  const LFunc *callee = e->m->funcs[i->imm.i];
  Block *on = new_block(k), *left = new_block(k);
  e->g->block_end_with_jump(k->cur, NULL, on);
  e->g->block_end_with_conditional(cold, NULL, compare(e, GC_EQ, status_of(k, callee), k_i32(e, RT_TAIL)), left,
                                   failed);
  if (leaves_call(e, k->f, i)) {
    leave_too(k, left, i);
  } else {
    k->cur = left;
    if (e->funcs[callee->index].conv == CONV_TWO) set_two_failed(e, left, k->mod, 0);
    check_status(k, i, CALL_TABLE(e, k->mod, rt_make_call, load_rt(e, k->mod), results_buffer(k)), true);
    take_results(k, i);
    e->g->block_end_with_jump(k->cur, NULL, on);
  }
  k->cur = on;
}
