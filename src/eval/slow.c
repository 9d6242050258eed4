/* SPDX-License-Identifier: MIT */
/* The instructions that do more than a scalar operation: checks, objects, accumulators, runtime primitives. Each
 * works on the registers of the current frame and gives a status; the dispatch loop does the rest. None of them
 * changes a register when it fails. */
#include "eval/eval_internal.h"
#include <string.h>

enum { MAX_DIMS = 64, FEW = 32 };

static void gather_dims(const LInstr *in, const Slot *r, int64_t dims[MAX_DIMS]) {
  for (int k = 0; k < in->nargs && k < MAX_DIMS; k++) dims[k] = r[in->args[k]].i;
}

static void gather(const int32_t *regs, int n, const Slot *r, Slot *out) {
  for (int k = 0; k < n; k++) out[k] = r[regs[k]];
}

static void scatter(const int32_t *regs, int n, Slot *r, const Slot *from) {
  for (int k = 0; k < n; k++) r[regs[k]] = from[k];
}

static Status put(Slot *r, const LInstr *in, void *object) {
  if (!object) return 1;
  r[in->dst].p = object;
  return 0;
}

static Status check(Rt *rt, const LInstr *in, const Slot *r) {
  int64_t a = r[in->a].i, b = in->b >= 0 ? r[in->b].i : 0, c = in->c >= 0 ? r[in->c].i : 0;
  switch (in->op) {
  case LOP_CHECK_INDEX: return a >= 0 && a < b ? 0 : rt_fail_index(rt, a, b, in->site);
  case LOP_CHECK_SLICE: return 0 <= a && a <= b && b <= c ? 0 : rt_fail_slice(rt, a, b, c, in->site);
  case LOP_CHECK_SIZE: return a == b ? 0 : rt_fail_size(rt, a, b, in->site);
  case LOP_CHECK_ROW: return a == b ? 0 : rt_fail_irregular(rt, a, b, in->site);
  case LOP_CHECK_NONZERO: return a ? 0 : rt_fail_nonzero(rt, in->site);
  case LOP_CHECK_DEPTH: return a <= b ? 0 : rt_fail_depth(rt, b, in->site);
  case LOP_CHECK_NAT: return a >= 0 ? 0 : rt_fail_nat(rt, a, in->imm.text, in->site);
  case LOP_ASSERT: return a ? 0 : rt_fail_user(rt, r[in->b].p, ERR_ASSERT, in->site);
  default: return rt_fail_user(rt, r[in->a].p, (int32_t)in->imm.i, in->site);
  }
}

/* A primitive; its slots go by arrays, on the evaluator's stack where they are many. */
static Status primitive(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
  Slot few[FEW], *args = few;
  int n = in->nargs + in->nres;
  if (n > FEW && !(args = stack_push(rt, (size_t)(n + 1) / 2 * 2 * sizeof(Slot)))) return 1;
  Slot *res = args + in->nargs;
  gather(in->args, in->nargs, r, args);
  Status status = rt_prims[in->sub](rt, in->imm.i >= 0 ? m->descs[in->imm.i] : NULL, args, res, in->site);
  if (!status) scatter(in->res, in->nres, r, res);
  if (args != few) stack_pop(rt, args);
  return status;
}

static Status foreign(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
  const LForeign *l = &m->code->foreigns[in->imm.i];
  Foreign *f = m->foreigns[in->imm.i];
  if (!f &&
      !(m->foreigns[in->imm.i] = f = foreign_new(rt, l->library, l->symbol, l->kinds, l->nargs, l->result, in->site)))
    return 1;
  Slot args[64];
  gather(in->args, in->nargs, r, args);
  foreign_call(f, args, &r[in->res[0]]);
  return 0;
}

static Status object(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
  int64_t dims[MAX_DIMS];
  switch (in->op) {
  case LOP_NEW_ARRAY:
    gather_dims(in, r, dims);
    return put(r, in, rt_new_array(rt, m->descs[in->imm.i], dims, in->b == 1));
  case LOP_GROW: return put(r, in, rt_grow(rt, (ArrayObj *)r[in->dst].p, r[in->a].i, r[in->b].i));
  case LOP_VIEW:
    gather_dims(in, r, dims);
    return put(r, in, rt_view(rt, m->descs[in->imm.i], (ArrayObj *)r[in->a].p, r[in->b].i, dims));
  case LOP_UNIQUE: return put(r, in, rt_unique(rt, (ArrayObj *)r[in->a].p));
  case LOP_COPY: return put(r, in, rt_copy(rt, (const ArrayObj *)r[in->a].p));
  case LOP_NEW_BOX: {
    BoxObj *b = rt_new_box(rt, m->descs[in->imm.i], in->b);
    if (b) gather(in->args, in->nargs, r, b->fields);
    return put(r, in, b);
  }
  case LOP_NEW_CLOSURE: {
    ClosureObj *c = rt_new_closure(rt, m->funcs[in->imm.i]);
    if (c) gather(in->args, in->nargs, r, c->caps);
    return put(r, in, c);
  }
  default: {
    EnvObj *e = rt_new_env(rt, m->funcs[in->imm.i]);
    if (e) gather(in->args, in->nargs, r, e->caps);
    return put(r, in, e);
  }
  }
}

static Status bag_entry(Rt *rt, const Desc *desc, const LInstr *in, Slot *r, const int64_t *dims) {
  Slot few[FEW], *v = few;
  int64_t i = r[in->a].i;
  if (in->nres > FEW && !(v = stack_push(rt, (size_t)(in->nres + 1) / 2 * 2 * sizeof(Slot)))) return 1;
  gather(in->res, in->nres, r, v);
  Status status;
  switch (in->op) {
  case LOP_ACC_AT: status = rt_acc_at(rt, desc, &r[in->dst].p, dims, i, v); break;
  case LOP_BAG_SET: status = rt_bag_set(rt, desc, &r[in->dst].p, dims, i, v); break;
  case LOP_BAG_GET: status = rt_bag_get(rt, desc, r[in->b].p, i, v); break;
  default: status = rt_bag_take(rt, desc, &r[in->dst].p, dims, i, v); break;
  }
  if (!status && (in->op == LOP_BAG_GET || in->op == LOP_BAG_TAKE)) scatter(in->res, in->nres, r, v);
  if (v != few) stack_pop(rt, v);
  return status;
}

static Status bag(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
  int64_t dims[MAX_DIMS];
  const Desc *desc = m->descs[in->imm.i];
  gather_dims(in, r, dims);
  Obj *out;
  Status status;
  switch (in->op) {
  case LOP_ACC_SUB: return rt_acc_sub(rt, desc, &r[in->dst].p, dims, r[in->a].i, r[in->b].i, r[in->c].p);
  case LOP_BAG_SET_SUB: return rt_bag_set_sub(rt, desc, &r[in->dst].p, dims, r[in->a].i, r[in->b].i, r[in->c].p);
  case LOP_BAG_SUB: status = rt_bag_sub(rt, desc, r[in->c].p, r[in->a].i, r[in->b].i, dims, &out); break;
  case LOP_BAG_TAKE_SUB:
    status =
        rt_bag_take_sub(rt, desc, &r[in->dst].p, dims, r[in->a].i, r[in->b].i, dims + m->descs[in->sub]->rank, &out);
    if (!status) r[in->res[0]].p = out;
    return status;
  case LOP_BAG_FILL: status = rt_bag_fill(rt, desc, r[in->a].p, dims, &out); break;
  case LOP_CADD: status = rt_cadd(rt, desc, r[in->a].p, r[in->b].p, in->nargs ? dims : NULL, &out); break;
  default: return bag_entry(rt, desc, in, r, dims);
  }
  if (!status) r[in->dst].p = out;
  return status;
}

static Status open_box(Rt *rt, const LInstr *in, Slot *r) {
  BoxObj *b = (BoxObj *)r[in->a].p;
  for (int k = 0; k < in->nres; k++)
    if (in->res[k] >= 0) r[in->res[k]] = b->fields[k];
  rt_open_box(rt, b);
  return 0;
}

Status eval_slow(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
  switch (in->op) {
  case LOP_CHECK_SLICE:
  case LOP_CHECK_SIZE:
  case LOP_CHECK_ROW:
  case LOP_CHECK_NONZERO:
  case LOP_CHECK_DEPTH:
  case LOP_CHECK_NAT:
  case LOP_ASSERT:
  case LOP_FAIL:
  case LOP_CHECK_INDEX: return check(rt, in, r);
  case LOP_RT: return primitive(rt, m, in, r);
  case LOP_FOREIGN: return foreign(rt, m, in, r);
  case LOP_OPEN: return open_box(rt, in, r);
  case LOP_NEW_ARRAY:
  case LOP_GROW:
  case LOP_VIEW:
  case LOP_UNIQUE:
  case LOP_COPY:
  case LOP_NEW_BOX:
  case LOP_NEW_CLOSURE:
  case LOP_NEW_ENV: return object(rt, m, in, r);
  default: return bag(rt, m, in, r);
  }
}
