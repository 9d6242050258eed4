/* SPDX-License-Identifier: MIT */
/* Calls of handles whose functions are plain: numbers and bools go in and one comes out, and the machine code neither
 * fails nor takes memory (RtFunc.plain). Such code needs nothing of what handles.c prepares for a call: no stack of the
 * VM, no way back, no clock, no locale. All that is left is to move the arguments into slots.
 *
 * Whatever is out of the ordinary (a wrong kind, an earlier error that is still reported, an interrupt, a rounding mode
 * of the host's) is left to the general call. */
#include "api/environment.h"
#include "api/handles.h"

enum { FEW = 16 }; /* arguments and captures */

static bool is_scalar(AtledKind kind) { return kind == ATLED_FLOAT || kind == ATLED_INT || kind == ATLED_BOOL; }

AtledKind *plain_kinds(AtledFunction *f) {
  AtledKind *kinds = NEW_ARRAY(&f->arena, AtledKind, f->arity + 1);
  bool all = f->arity > 0;
  for (int i = 0; i < f->arity; i++) {
    kinds[i] = value_kind(f->arity > 1 ? f->param->args[i] : f->param);
    all &= is_scalar(kinds[i]);
  }
  kinds[f->arity] = value_kind(f->result);
  return all && is_scalar(kinds[f->arity]) ? kinds : NULL;
}

/* The function's code, if it may be called at once; NULL. */
static const RtFunc *plain_code(const AtledFunction *f, int nargs) {
  const AtledVM *vm = f->vm;
  if (!f->scalars || nargs != f->arity || vm->running || vm->closing || vm->reports.len || vm->out_of_memory)
    return NULL;
  const RtFunc *code = ((const ClosureObj *)(const void *)f->value.p)->fn;
  if (!code->plain || !code->entry || code->nparams > FEW || vm->config.phases) return NULL;
  return rt_interrupted(&vm->rt) || !environment_is_usual(vm->config.flush_subnormals) ? NULL : code;
}

/* Appends the captures to the arguments. */
static void run_code(const AtledFunction *f, const RtFunc *code, Slot *slots, Slot *result) {
  const ClosureObj *c = (const ClosureObj *)(const void *)f->value.p;
  for (int k = 0; k < code->ncaps; k++) slots[code->nparams - code->ncaps + k] = c->caps[k];
  code->entry(code->native, slots, result);
}

bool plain_call(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *result) {
  const RtFunc *code = args && result ? plain_code(f, nargs) : NULL;
  Slot slots[FEW], made;
  if (!code) return false;
  for (int i = 0; i < nargs; i++) {
    if (args[i].kind != f->scalars[i]) return false;
    slots[i].i = args[i].kind == ATLED_BOOL ? args[i].as.boolean : args[i].as.integer;
  }
  run_code(f, code, slots, &made);
  AtledKind kind = f->scalars[nargs];
  *result = (AtledValue){.kind = kind};
  if (kind == ATLED_BOOL) result->as.boolean = made.i != 0;
  else result->as.integer = made.i;
  return true;
}

bool plain_call_floats(AtledFunction *f, const double *args, int nargs, double *result) {
  const RtFunc *code = args && result ? plain_code(f, nargs) : NULL;
  Slot slots[FEW], made;
  if (!code) return false;
  for (int i = 0; i <= nargs; i++)
    if (f->scalars[i] != ATLED_FLOAT) return false;
  for (int i = 0; i < nargs; i++) slots[i].f = args[i];
  run_code(f, code, slots, &made);
  *result = made.f;
  return true;
}
