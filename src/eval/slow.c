/* SPDX-License-Identifier: MIT */
/* The instructions that do more than a scalar operation: checks, objects, accumulators, runtime primitives. Each
 * works on the registers of the current frame and gives a status; the dispatch loop does the rest. None of them
 * changes a register when it fails. */
#include "eval/eval_internal.h"
#include <math.h>
#include <string.h>

enum { MAX_DIMS = 4 * LIMIT_RANK, FEW = 32 };

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

/* The function of an operation whose row in lir.def says SLOW or BOTH. */
#define SLOW(name)                                                                                                     \
  static Status slow_##name(__attribute__((unused)) Rt *rt, __attribute__((unused)) Mod *m, const LInstr *in,          \
                            __attribute__((unused)) Slot *r)

/* ---- Checks ------------------------------------------------------------------------------------------------------ */
SLOW(CHECK_INDEX) {
  int64_t a = r[in->a].i, n = r[in->b].i;
  return a >= 0 && a < n ? 0 : rt_fail_index(rt, a, n, mod_site(m, in->site));
}

SLOW(PUT_BYTE) { return rt_fail_byte(rt, r[in->c].i, mod_site(m, in->site)); }

SLOW(CHECK_SLICE) {
  int64_t lo = r[in->a].i, hi = r[in->b].i, n = r[in->c].i;
  return 0 <= lo && lo <= hi && hi <= n ? 0 : rt_fail_slice(rt, lo, hi, n, mod_site(m, in->site));
}

SLOW(CHECK_SIZE) {
  return r[in->a].i == r[in->b].i ? 0 : rt_fail_size(rt, r[in->a].i, r[in->b].i, in->imm.text, mod_site(m, in->site));
}
SLOW(CHECK_ROW) {
  return r[in->a].i == r[in->b].i ? 0 : rt_fail_irregular(rt, r[in->a].i, r[in->b].i, mod_site(m, in->site));
}
SLOW(CHECK_NONZERO) { return r[in->a].i ? 0 : rt_fail_nonzero(rt, mod_site(m, in->site)); }
SLOW(CHECK_DEPTH) { return r[in->a].i <= r[in->b].i ? 0 : rt_fail_depth(rt, r[in->b].i, mod_site(m, in->site)); }
SLOW(CHECK_NAT) { return r[in->a].i >= 0 ? 0 : rt_fail_nat(rt, r[in->a].i, in->imm.text, mod_site(m, in->site)); }
/* What stands in the registers of a trap: of more operands the first ones. */
static int trap_args(const LInstr *in, const Slot *r, Slot out[FEW]) {
  int n = in->nargs < FEW ? in->nargs : FEW;
  gather(in->args, n, r, out);
  return n;
}

SLOW(TRAP_NAN) {
  Slot args[FEW];
  if (!isnan(r[in->args[0]].f) && !rt->record) return 0;
  int n = trap_args(in, r, args);
  if (rt->record) {
    rt->record(rt->recorder, in->imm.text, args, n, mod_site(m, in->site));
    return 0;
  }
  return rt_trap_nan(rt, in->imm.text, args, n, mod_site(m, in->site));
}

SLOW(TRAP_INF) {
  Slot args[FEW];
  if (isfinite(r[in->args[0]].f)) return 0;
  int n = trap_args(in, r, args);
  return rt_trap_inf(rt, in->imm.text, args, n, mod_site(m, in->site));
}
SLOW(ASSERT) { return r[in->a].i ? 0 : rt_fail_user(rt, r[in->b].p, ERR_ASSERT, mod_site(m, in->site)); }
SLOW(FAIL) { return rt_fail_user(rt, r[in->a].p, (int32_t)in->imm.i, mod_site(m, in->site)); }

/* ---- Primitives and C functions ---------------------------------------------------------------------------------- */
/* Its slots go by arrays, on the evaluator's stack where they are many. */
SLOW(RT) {
  Slot few[FEW], *args = few;
  int n = in->nargs + in->nres;
  if (n > FEW && !(args = stack_push(rt, (size_t)(n + 1) / 2 * 2 * sizeof(Slot)))) return 1;
  Slot *res = args + in->nargs;
  gather(in->args, in->nargs, r, args);
  Status status = rt_prims[in->sub](rt, in->imm.i >= 0 ? m->descs[in->imm.i] : NULL, args, res, mod_site(m, in->site));
  if (!status) scatter(in->res, in->nres, r, res);
  if (args != few) stack_pop(rt, args);
  return status;
}

SLOW(FOREIGN) {
  Slot few[FEW], *args = few;
  int n = in->nargs + in->nres;
  if (n > FEW && !(args = stack_push(rt, (size_t)(n + 1) / 2 * 2 * sizeof(Slot)))) return 1;
  Slot *res = args + in->nargs;
  gather(in->args, in->nargs, r, args);
  Status status = rt_foreign_call(m, in->imm.i, args, res, mod_site(m, in->site));
  if (!status) scatter(in->res, in->nres, r, res);
  if (args != few) stack_pop(rt, args);
  return status;
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */
SLOW(NEW_ARRAY) {
  int64_t dims[MAX_DIMS];
  gather_dims(in, r, dims);
  return put(r, in, rt_new_array(rt, m->descs[in->imm.i], dims, in->b == 1));
}

SLOW(RENEW) {
  int64_t dims[MAX_DIMS];
  gather_dims(in, r, dims);
  ArrayObj *spare = (ArrayObj *)r[in->dst].p;
  r[in->dst].p = NULL;
  ArrayObj *made = rt_renew(rt, m->descs[in->imm.i], spare, dims, in->b == 1);
  if (!made) return 1;
  r[in->res[0]].p = &made->h;
  return 0;
}

SLOW(KEEP) {
  Obj *a = r[in->a].p;
  r[in->a].p = NULL;
  r[in->dst].p = rt_keep(rt, m->descs[in->imm.i], r[in->dst].p, a);
  return 0;
}

SLOW(VIEW) {
  int64_t dims[MAX_DIMS];
  gather_dims(in, r, dims);
  return put(r, in, rt_view(rt, m->descs[in->imm.i], (ArrayObj *)r[in->a].p, r[in->b].i, dims));
}

SLOW(GROW) { return put(r, in, rt_grow(rt, (ArrayObj *)r[in->dst].p, r[in->a].i, r[in->b].i)); }
SLOW(UNIQUE) { return put(r, in, rt_unique(rt, (ArrayObj *)r[in->a].p)); }
SLOW(COPY) { return put(r, in, rt_copy(rt, (const ArrayObj *)r[in->a].p)); }

SLOW(NEW_BOX) {
  BoxObj *b = rt_new_box(rt, m->descs[in->imm.i], in->b);
  if (b) gather(in->args, in->nargs, r, b->fields);
  return put(r, in, b);
}

SLOW(REFILL) {
  BoxObj *b = (BoxObj *)r[in->a].p;
  if (b) rt_retag_box(b, m->descs[in->imm.i], in->b);
  else b = rt_new_box(rt, m->descs[in->imm.i], in->b);
  if (b) gather(in->args, in->nargs, r, b->fields);
  return put(r, in, b);
}

SLOW(NEW_CLOSURE) {
  ClosureObj *c = rt_new_closure(rt, m->funcs[in->imm.i]);
  if (c) gather(in->args, in->nargs, r, c->caps);
  return put(r, in, c);
}

SLOW(NEW_ENV) {
  EnvObj *e = rt_new_env(rt, m->funcs[in->imm.i]);
  if (e) gather(in->args, in->nargs, r, e->caps);
  return put(r, in, e);
}

SLOW(OPEN) {
  BoxObj *b = (BoxObj *)r[in->a].p;
  scatter(in->res, in->nres, r, b->fields);
  rt_open_box(rt, b);
  return 0;
}

SLOW(EMPTY) {
  BoxObj *b = (BoxObj *)r[in->a].p;
  scatter(in->res, in->nres, r, b->fields);
  b = rt_empty_box(rt, b);
  r[in->dst].p = b ? &b->h : NULL;
  return 0;
}

/* ---- Accumulators ------------------------------------------------------------------------------------------------ */
/* What an entry of a bag is: its slots, on the evaluator's stack where they are many. */
typedef struct Entry {
  Slot few[FEW], *v;
  int64_t dims[MAX_DIMS];
} Entry;

static bool open_entry(Rt *rt, const LInstr *in, const Slot *r, Entry *e) {
  e->v = e->few;
  if (in->nres > FEW && !(e->v = stack_push(rt, (size_t)(in->nres + 1) / 2 * 2 * sizeof(Slot)))) return false;
  gather_dims(in, r, e->dims);
  gather(in->res, in->nres, r, e->v);
  return true;
}

static Status close_entry(Rt *rt, const LInstr *in, Slot *r, Entry *e, Status status) {
  if (!status && lir_defines_results(in->op)) scatter(in->res, in->nres, r, e->v);
  if (e->v != e->few) stack_pop(rt, e->v);
  return status;
}

SLOW(ACC_AT) {
  Entry e;
  if (!open_entry(rt, in, r, &e)) return 1;
  Status status = rt_acc_at(rt, m->descs[in->imm.i], &r[in->dst].p, e.dims, r[in->a].i, e.v);
  return close_entry(rt, in, r, &e, status);
}

SLOW(BAG_SET) {
  Entry e;
  if (!open_entry(rt, in, r, &e)) return 1;
  Status status = rt_bag_set(rt, m->descs[in->imm.i], &r[in->dst].p, e.dims, r[in->a].i, e.v);
  return close_entry(rt, in, r, &e, status);
}

SLOW(BAG_GET) {
  Entry e;
  if (!open_entry(rt, in, r, &e)) return 1;
  Status status = rt_bag_get(rt, m->descs[in->imm.i], r[in->b].p, r[in->a].i, e.v);
  return close_entry(rt, in, r, &e, status);
}

SLOW(BAG_TAKE) {
  Entry e;
  if (!open_entry(rt, in, r, &e)) return 1;
  Status status = rt_bag_take(rt, m->descs[in->imm.i], &r[in->dst].p, e.dims, r[in->a].i, e.v);
  return close_entry(rt, in, r, &e, status);
}

SLOW(ACC_SUB) {
  int64_t dims[MAX_DIMS];
  gather_dims(in, r, dims);
  return rt_acc_sub(rt, m->descs[in->imm.i], &r[in->dst].p, dims, r[in->a].i, r[in->b].i, r[in->c].p);
}

SLOW(BAG_SET_SUB) {
  int64_t dims[MAX_DIMS];
  gather_dims(in, r, dims);
  return rt_bag_set_sub(rt, m->descs[in->imm.i], &r[in->dst].p, dims, r[in->a].i, r[in->b].i, r[in->c].p);
}

SLOW(BAG_SUB) {
  int64_t dims[MAX_DIMS];
  Obj *out;
  gather_dims(in, r, dims);
  Status status = rt_bag_sub(rt, m->descs[in->imm.i], r[in->c].p, r[in->a].i, r[in->b].i, dims, &out);
  if (!status) r[in->dst].p = out;
  return status;
}

SLOW(BAG_TAKE_SUB) {
  int64_t dims[MAX_DIMS], *rest = dims + m->descs[in->sub]->rank;
  Obj *out;
  gather_dims(in, r, dims);
  Status status = rt_bag_take_sub(rt, m->descs[in->imm.i], &r[in->dst].p, dims, r[in->a].i, r[in->b].i, rest, &out);
  if (!status) r[in->res[0]].p = out;
  return status;
}

SLOW(BAG_FILL) {
  int64_t dims[MAX_DIMS];
  Obj *out;
  gather_dims(in, r, dims);
  Status status = rt_bag_fill(rt, m->descs[in->imm.i], r[in->a].p, dims, &out);
  if (!status) r[in->dst].p = out;
  return status;
}

SLOW(CADD) {
  Obj *out;
  Status status = rt_cadd(rt, m->descs[in->imm.i], r[in->a].p, r[in->b].p, NULL, &out);
  if (!status) r[in->dst].p = out;
  return status;
}

/* ---- Dispatch ---------------------------------------------------------------------------------------------------- */
Status eval_slow(Rt *rt, Mod *m, const LInstr *in, Slot *r) {
#define L(name, operands, imm, sub, fails, flow, simple, evaluator) FUNCTION_##evaluator(name)
#define FUNCTION_SLOW(name)                                         [LOP_##name] = slow_##name,
#define FUNCTION_BOTH(name)                                         [LOP_##name] = slow_##name,
#define FUNCTION_OWN(name)
#define FUNCTION_SCALAR(name)
#define FUNCTION_GONE(name)
  static Status (*const functions[LOP_COUNT])(Rt *, Mod *, const LInstr *, Slot *) = {
#include "lir/lir.def"
  };
#undef L
  return functions[in->op](rt, m, in, r);
}
