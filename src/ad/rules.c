/* SPDX-License-Identifier: MIT */
/* Derivative rules of single operations y = op(x, …), in both modes:
 *
 *   forward mode   ẏ = Σ ∂y/∂x * ẋ          the tangent of the node from those of its operands
 *   reverse mode   x̄ += d * ∂y/∂x           what the node's cotangent d adds to its operands' cotangents
 *
 * Scalar functions have their rules in the library (stdlib/prelude.atl). Every other operation is linear in the
 * operands that can be differentiated, given its indices and sizes. So its tangent is an operation of the same kind on
 * tangents, and its adjoint, the transpose, is another operation of the IR: reading an element becomes adding at a
 * place,
 *
 *   y = index a i   →   ẏ = bag_get ȧ i    and    ā = acc_at ā i d */
#include "ad/ad_internal.h"
#include "support/host_library.h"
#include <string.h>

static Node *no_rule(World *w, IrType *t, const char *what, Site site) {
  return ir_fail(w, FAIL_NO_RULE, t, ir_text(w, arena_printf(w->arena, "%s has no derivative rule", what)), site);
}

static bool has_effect(const Func *f) { return f->nparams > 0 && f->params[f->nparams - 1]->kind == T_TOKEN; }

/* A function of the host's as messages call it: `f`, and a rule f'pullback of it "the pullback of `f`". */
static const char *host_name(World *w, const char *symbol) {
  static const char *const rules[] = {"pullback", "tangent"};
  const char *prime = strrchr(symbol, '\'');
  for (int k = 0; prime && prime > symbol && k < 2; k++) {
    if (strcmp(prime + 1, rules[k]) != 0) continue;
    const char *of = host_name(w, arena_strndup(w->arena, symbol, (size_t)(prime - symbol)));
    return arena_printf(w->arena, "the %s of %s", rules[k], of);
  }
  return arena_printf(w->arena, "`%s`", symbol);
}

/* What the program can do nothing about is an error before it runs, unless nothing is left of it when all is
 * optimised: of a C function with an effect, which can't be given a rule, and of a function of the host's. */
static Node *no_foreign_rule(World *w, IrType *t, const Func *f, Site site) {
  bool host = host_library(f->foreign.library);
  if (!host && !has_effect(f)) return no_rule(w, t, f->name ? f->name : "a foreign function", site);
  const char *text = "a C function with an effect has no derivative";
  if (host)
    text = arena_printf(w->arena,
                        has_effect(f) ? "the host's function %s has an effect, so it has no derivative"
                                      : "the host gave %s no derivative: atled_define takes its pullback and tangent",
                        host_name(w, f->foreign.symbol));
  return ir_fail(w, FAIL_EFFECT, t, ir_text(w, text), site);
}

Node *ad_no_graph(World *w, IrType *t, const Func *f, Site site) {
  if (f->foreign.symbol) return no_foreign_rule(w, t, f, site);
  Node *why = ir_text(w, "this function can't be differentiated: it takes derivatives of itself; how often has to be "
                         "known: match n with 1 -> deriv f x | 2 -> deriv (deriv f) x | …");
  return ir_fail(w, FAIL_RULE, t, why, site);
}

/* ---- Scalar operations ------------------------------------------------------------------ */
/* x, but 0 where it is the NaN that a zero cotangent makes of a partial which is infinite. The cotangent alone
 * doesn't decide: x has to keep its own derivative by d where d is 0. */
Node *ad_unless_zero(World *w, Node *d, Node *x) {
  if (d->op == OP_FLOAT && d->attr.f != 0) return x;
  Node *lost = ir_op2(w, OP_AND, ir_op2(w, OP_FEQ, d, ir_float(w, 0)), ir_op1(w, OP_IS_NAN, x));
  return ir_op3(w, OP_SELECT, lost, ir_float(w, 0), x);
}

/* The product that n guards in this way, perhaps negated; NULL. */
static const Node *guarded_product(const Node *n) {
  if (n->op != OP_SELECT || n->ops[0]->op != OP_AND || n->ops[1]->op != OP_FLOAT || n->ops[1]->attr.f != 0) return NULL;
  const Node *x = n->ops[2], *product = x->op == OP_FNEG ? x->ops[0] : x, *lost = NULL;
  for (int k = 0; k < 2; k++)
    if (n->ops[0]->ops[k]->op == OP_IS_NAN) lost = n->ops[0]->ops[k]->ops[0];
  return lost == x && product->op == OP_FMUL ? product : NULL;
}

static void divide_rule(World *w, Node **args, Node *value, Node *d, Node **out) {
  bool safe = args[1]->op == OP_FLOAT && args[1]->attr.f != 0;
  Node *q = ir_op2(w, OP_FDIV, d, args[1]), *by_divisor = ir_op1(w, OP_FNEG, ir_op2(w, OP_FMUL, q, value));
  out[0] = safe ? q : ad_unless_zero(w, d, q);
  out[1] = safe ? by_divisor : ad_unless_zero(w, d, by_divisor);
}

static void library_rule(World *w, const Node *n, Node **args, Node *d, Node **out) {
  const Func *rule = compilation(w)->differentiation->rules[n->op];
  Site at = w->traps == TRAP_PLACES ? n->site : 0;
  Node *both = rule ? ir_instantiate(w, rule->pullback->graph, args, at) : NULL;
  Node *cot = rule ? ir_apply(w, ir_get(w, both, 1), d, NULL, at) : NULL;
  for (int i = 0; i < n->nops; i++)
    if (args[i]->type->kind != T_FLOAT) continue;
    else if (!rule) out[i] = no_rule(w, args[i]->type, op_names[n->op], n->site);
    else out[i] = n->nops == 1 ? cot : ir_get(w, cot, i);
}

/* out[i] = d * d node / d operand i, NULL where that is nothing. */
static void scalar_rule(World *w, const Node *n, Node **args, Node *value, Node *d, Node **out) {
  out[0] = out[1] = out[2] = NULL;
  switch (n->op) {
  case OP_FADD: out[0] = out[1] = d; return;
  case OP_FSUB:
    out[0] = d;
    out[1] = ir_op1(w, OP_FNEG, d);
    return;
  case OP_FNEG: out[0] = ir_op1(w, OP_FNEG, d); return;
  case OP_FMUL:
  case OP_FMA:
    out[0] = ir_op2(w, OP_FMUL, d, args[1]);
    out[1] = ir_op2(w, OP_FMUL, d, args[0]);
    if (n->op == OP_FMA) out[2] = d;
    return;
  case OP_FDIV: divide_rule(w, args, value, d, out); return;
  case OP_SELECT:
    if (n->type->kind != T_FLOAT) return;
    out[1] = ir_op3(w, OP_SELECT, args[0], d, ir_float(w, 0));
    out[2] = ir_op3(w, OP_SELECT, args[0], ir_float(w, 0), d);
    return;
  default: library_rule(w, n, args, d, out);
  }
}

/* 0 where the guard of n, a guarded product, says so, else x, negated as the product is. */
static Node *guard(const Diff *r, const Node *n, const Node *product, Node *x) {
  if (n->ops[2] != product) x = ir_op1(r->w, OP_FNEG, x);
  return ir_op3(r->w, OP_SELECT, ad_fwd(r, n->ops[0]), ir_float(r->w, 0), x);
}

/* ---- Traps: what the derivative of a trapped operation yields is trapped, too ------------- */
/* The name of the operation in a trap's text, with this mark; that of a derivative stays, for its own derivatives. */
static const char *trap_text(World *w, char mark, const char *what) {
  return strchr("<>{}[]", *what) ? what : arena_printf(w->temp, "%c%s", mark, what);
}

Node *ad_trapped(World *w, const char *what, Node *x, Node **xs, int n, Node *d, Node **ds, Node *value, Site site) {
  Node **all = NEW_ARRAY(w->temp, Node *, 2 * n + 2);
  if (!w->traps) return x;
  for (int k = 0; k < n; k++) {
    all[k] = xs[k];
    all[n + k] = !d && ds[k]->type->kind == T_FLOAT ? ds[k] : ir_float(w, 0);
  }
  if (d) all[n] = d;
  int count = d ? n + 1 : 2 * n;
  if (value) all[count++] = value;
  return ir_trapped(w, OP_FMUL, trap_text(w, (value ? "{}" : "<>")[!d], what), x, all, count, site);
}

/* May its derivative be made of its value? That is an operand of the derivative's trap then, so its own is first. */
static bool derives_from_value(const Node *n) { return n->op != OP_FADD && n->op != OP_FSUB && n->op != OP_FMUL; }

/* The trap of operation n, in reverse mode; NULL: it has none. */
static const Node *trap_of(const Diff *r, const Node *n) { return r->w->traps ? map_get(&r->traps, n) : NULL; }

/* d, what several uses add to the cotangent of the value that the trap is for: each addition is trapped. */
static Node *trapped_sum(World *w, const Node *trap, Node *d) {
  Nodes terms = {0};
  if (!trap || d->type->kind != T_FLOAT) return d;
  for (; d->op == OP_CADD; d = d->ops[0]) vec_push(w->temp, terms, d->ops[1]);
  for (int k = terms.len - 1; k >= 0; k--) {
    Node *ops[] = {ir_float(w, 0), d, terms.data[k]};
    d = ir_trapped(w, OP_FADD, "<+", ir_op2(w, OP_CADD, d, terms.data[k]), ops, 3, trap->site);
  }
  return d;
}

/* Which operand of the source's operation this one of node n is: a product's may have changed places, and x ^ 2 is
 * x * x; -1: one that was met before. */
static int source_operand(const Node *trap, const Node *n, int operand) {
  const Node *x = n->ops[operand];
  int count = trap->nops - 1;
  if (operand < count && trap->ops[1 + operand] == x) return operand;
  for (int k = 0; k < operand; k++)
    if (n->ops[k] == x) return -1;
  for (int k = 0; k < count; k++)
    if (trap->ops[1 + k] == x) return k;
  return operand;
}

/* The text of the trap, which in a study of a point says of which operand it is. */
static const char *operand_text(World *w, const Node *trap, const Node *n, int operand) {
  if (w->traps != TRAP_POINT || n->nops < 2) return trap->attr.text;
  return arena_printf(w->temp, "%s %d", trap->attr.text, operand + 1);
}

/* x, which operation n with cotangent d adds to that of an operand of `of`: n, or the product that it guards. */
static Node *trapped_cotangent(const Diff *r, const Node *trap, const Node *n, const Node *of, int operand, Node *x,
                               Node *d) {
  int source = trap ? source_operand(trap, of, operand) : -1;
  if (!trap || (source < 0 && r->w->traps == TRAP_POINT)) return ir_placed(r->w, x, n->site);
  Node **ops = ad_fwd_all(r, trap->ops, trap->nops), *value = derives_from_value(n) ? ad_fwd(r, trap) : NULL;
  const char *text = operand_text(r->w, trap, of, source);
  return ad_trapped(r->w, text, x, ops + 1, trap->nops - 1, d, NULL, value, trap->site);
}

/* The tangent x of what trap n yields. */
static Node *trapped_tangent(const Diff *f, int at, Node *x) {
  const Node *n = f->nodes[at];
  Node **ops = ad_fwd_all(f, n->ops, n->nops), **ds = NEW_ARRAY(f->w->temp, Node *, n->nops + 1);
  for (int k = 1; k < n->nops; k++) ds[k] = ad_cot(f, n->ops[k]);
  Node *value = derives_from_value(n->ops[0]) ? f->fwd[at] : NULL;
  return ad_trapped(f->w, n->attr.text, x, ops + 1, n->nops - 1, NULL, ds + 1, value, n->site);
}

/* The rule of a scalar operation is multiplication by its partial derivatives. Reverse mode: x̄ += d * ∂n/∂x for each
 * operand x. Forward mode: ṅ = Σ ẋ * ∂n/∂x. The derivatives of a guarded product are guarded products, too. In forward
 * mode a quotient that is 0 since its divisor is infinite stays 0: an infinite tangent of that makes no NaN of it. */
static Node *scalar(Diff *r, const Node *n, int at, Node *d) {
  World *w = r->w;
  const Node *product = guarded_product(n), *of = product ? product : n;
  Node *sum = NULL, *out[3] = {0}, **args = ad_fwd_all(r, of->ops, of->nops);
  const Node *trap = d ? trap_of(r, n) : NULL;
  Node *value = trap ? ad_fwd(r, trap) : r->fwd[at], *whole = d ? trapped_sum(w, trap, d) : NULL;
  d = whole;
  if (product && d) d = guard(r, n, product, d);
  for (int i = 0; i < of->nops; i++) {
    Node *x = of->ops[i], *dx = d ? d : ad_cot(r, x);
    if (!ad_active(r, x) || (!d && ad_is_zero(dx))) continue;
    if (product) out[i] = ad_unless_zero(w, dx, ir_op2(w, OP_FMUL, dx, args[1 - i]));
    else if (!d || !out[i]) scalar_rule(w, n, args, value, dx, out);
    if (!d && n->op == OP_FDIV && i == 1) out[i] = ad_unless_zero(w, r->fwd[at], out[i]);
    if (d && out[i]) ad_add(r, x, trapped_cotangent(r, trap, n, of, i, out[i], whole));
    if (!d && out[i]) sum = sum ? ir_op2(w, OP_CADD, sum, out[i]) : out[i];
  }
  if (sum) sum = ir_placed(w, sum, n->site);
  return sum && product ? guard(r, n, product, sum) : sum;
}

/* ---- Arrays and bags -------------------------------------------------------------------- */
/* The entry that is put into the array or bag, or NULL. */
static Node *entry_put(const Node *n) {
  return n->op == OP_UPDATE || n->op == OP_CUPDATE || n->op == OP_ACC_AT ? n->ops[n->nops - 1] : NULL;
}

/* The dimensions and indices it reads. Operations on arrays know the dimensions from the array. */
static Nodes places(Diff *r, const Node *n) {
  Nodes out = {0};
  Node *base = ad_fwd(r, n->ops[0]), **dims = ir_dims(r->w, base);
  int rank = base->type->kind == T_ARRAY ? ir_rank(base->type) : 0;
  for (int i = 0; i < rank; i++) vec_push(r->w->arena, out, dims[i]);
  for (int i = 1; i < n->nops - (entry_put(n) != NULL); i++) vec_push(r->w->arena, out, ad_fwd(r, n->ops[i]));
  return out;
}

static void linear_backward(Diff *r, const Node *n, Op adjoint, Node *d) {
  World *w = r->w;
  Node *base = n->ops[0], *v = entry_put(n);
  IrType *t = ad_cotangent(w, base->type), *entry = v ? ad_cotangent(w, v->type) : NULL;
  Nodes at = places(r, n);
  int rank = ir_rank(base->type);
  switch (adjoint) {
  case OP_ACC_AT: ad_put(r, base, ir_bag(w, OP_ACC_AT, t, ad_take(r, base), at.data, at.len, d)); return;
  case OP_CUPDATE: d = ir_bag(w, OP_CUPDATE, t, ir_get(w, d, 0), at.data, at.len, ir_get(w, d, 1)); break;
  case OP_BAG_GET: ad_add(r, v, ir_bag(w, OP_BAG_GET, entry, d, at.data, at.len, NULL)); break;
  case OP_TAKE: {
    Node *both = ir_bag(w, OP_TAKE, ir_pair_type(w, t, entry), d, at.data, at.len, NULL);
    /* A number is read by itself: where it is added to again, nothing needs taking. */
    bool number = entry->kind == T_FLOAT;
    ad_add(r, v, number ? ir_bag(w, OP_BAG_GET, entry, d, at.data, at.len, NULL) : ir_get(w, both, 1));
    d = ir_get(w, both, 0);
    break;
  }
  case OP_BAG_RESHAPE: d = ir_bag_reshape(w, t, d, at.data + rank, at.len - rank, at.data, rank); break;
  case OP_TO_BAG: d = ir_to_bag(w, ir_bag(w, n->op, n->type, d, at.data, at.len, NULL)); break;
  case OP_FILL: break;
  default: d = ir_bag(w, adjoint, t, d, at.data, at.len, NULL);
  }
  ad_add(r, base, d);
}

static Node *linear_tangent(Diff *f, const Node *n, Op op) {
  World *w = f->w;
  Node *base = ad_cot(f, n->ops[0]), *v = entry_put(n);
  IrType *t = ad_cotangent(w, n->type);
  Nodes at = places(f, n);
  int rank = ir_rank(n->ops[0]->type);
  if (op == OP_TO_BAG) return base;
  if (op == OP_FILL || op == OP_FILL_LIKE) return ir_to_bag(w, ir_bag(w, op, n->type, base, at.data, at.len, NULL));
  if (op == OP_BAG_RESHAPE) return ir_bag_reshape(w, t, base, at.data, rank, at.data + rank, at.len - rank);
  return ir_bag(w, op, t, base, at.data, at.len, v ? ad_cot(f, v) : NULL);
}

/* An operation that is linear in arrays and accumulators: `on_bags` is the same on their tangents, `adjoint` the
 * transpose of that. */
static Node *linear(Diff *r, const Node *n, Op on_bags, Op adjoint, Node *d) {
  if (!d) return linear_tangent(r, n, on_bags);
  linear_backward(r, n, adjoint, d);
  return NULL;
}

static Node *array_tangent(Diff *f, const Node *n) {
  Node **xs = NEW_ARRAY(f->w->arena, Node *, n->nops + 1);
  for (int i = 0; i < n->nops; i++) xs[i] = ir_fill(f->w, ad_cot(f, n->ops[i]), ad_fwd(f, n->ops[i]));
  return ir_to_bag(f->w, ir_array(f->w, xs[0]->type, xs, n->nops, n->site));
}

/* ---- Products, sums, closures --------------------------------------------------------------- */
/* Operation op on the cotangent x, where n is INJ or UNINJ of a value and op is the same (forward mode) or the other
 * one (its adjoint). Cotangents of a variant have a null before its constructors, and none for keys. */
static Node *sum_op(World *w, Op op, const Node *n, IrType *t, Node *x) {
  if (n->ngraphs) return ir_env(w, op, t, n->graphs[0], x);
  const IrType *variant = n->op == OP_INJ ? n->type : n->ops[0]->type;
  const IrCtor *c = &variant->ctors[n->attr.i];
  int tag = (int)n->attr.i + !variant->nullable;
  return op == OP_INJ ? ir_inj(w, t, tag, ir_without_keys(w, c, x)) : ir_with_keys(w, c, ir_uninj(w, x, tag));
}

/* The identity, with an effect: of its derivatives everything may be known. */
static bool is_opaque(const Node *n) { return !strcmp(n->attr.rt->name, "opaque"); }
/* The identity, of memory of its own. */
static bool is_detached(const Node *n) { return !strcmp(n->attr.rt->name, "detached"); }

/* ---- Products of matrices ------------------------------------------------------------------- */
static bool is_product(const Node *n) { return !strcmp(n->attr.rt->name, "sums_product"); }

/* a b, transposed as said. */
static Node *product(World *w, bool ta, Node *a, bool tb, Node *b, IrType *t) {
  Node *ops[] = {ir_bool(w, ta), ir_bool(w, tb), a, b};
  return ir_rt(w, ir_rt_find("sums_product"), t, NULL, ops, 4, 0);
}

static Node *product_tangent(Diff *f, const Node *n, bool ta, Node *a, bool tb, Node *b) {
  World *w = f->w;
  Node *da = ir_fill(w, ad_cot(f, n->ops[2]), a), *db = ir_fill(w, ad_cot(f, n->ops[3]), b);
  Node *of_a = ir_to_bag(w, product(w, ta, da, tb, b, n->type)),
       *of_b = ir_to_bag(w, product(w, ta, a, tb, db, n->type));
  if (!ad_active(f, n->ops[2])) return of_b;
  return ad_active(f, n->ops[3]) ? ir_op2(w, OP_CADD, of_a, of_b) : of_a;
}

/* Of node n, a product of which it is known what is transposed. */
static Node *product_rule(Diff *r, const Node *n, Node *d) {
  World *w = r->w;
  IrType *t = n->type;
  bool ta = n->ops[0]->attr.i, tb = n->ops[1]->attr.i;
  Node *a = ad_fwd(r, n->ops[2]), *b = ad_fwd(r, n->ops[3]);
  if (!d) return product_tangent(r, n, ta, a, tb, b);
  d = ir_fill(w, d, ad_fwd(r, n));
  ad_add(r, n->ops[2], ir_to_bag(w, ta ? product(w, tb, b, true, d, t) : product(w, false, d, !tb, b, t)));
  ad_add(r, n->ops[3], ir_to_bag(w, tb ? product(w, true, d, ta, a, t) : product(w, !ta, a, false, d, t)));
  return NULL;
}

/* x̄ += c. Returns NULL, as a rule does in reverse mode. */
static Node *give(Diff *r, const Node *x, Node *c) {
  ad_add(r, x, c);
  return NULL;
}

/* The rule of an operation in both modes. Forward mode, where d is NULL: returns the node's tangent, NULL for zero.
 * Reverse mode: adds to the operands' cotangents what the transpose makes of d, the node's cotangent. */
static Node *rule(Diff *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  Node *x = n->nops ? n->ops[0] : NULL, **ts = NEW_ARRAY(w->arena, Node *, n->nops + 1);
  IrType *t = ad_cotangent(w, n->type), *of_x = x ? ad_cotangent(w, x->type) : NULL;
  for (int i = 0; !d && i < n->nops; i++) ts[i] = ad_cot(r, n->ops[i]);
  switch ((Op)n->op) {
  case OP_LEN:
  case OP_BYTE:
  case OP_TAG:
  case OP_CLOSURE_ID:
#include "ir/check_cases.h"
#include "ir/scalar_cases.h"
    return n->type->kind == T_FLOAT ? scalar(r, n, at, d) : NULL;
  case OP_INDEX:
  case OP_BAG_GET: return linear(r, n, OP_BAG_GET, OP_ACC_AT, d);
  case OP_ACC_AT: return linear(r, n, OP_ACC_AT, OP_BAG_GET, d);
  case OP_SLICE:
  case OP_BAG_SLICE: return linear(r, n, OP_BAG_SLICE, OP_SHIFT, d);
  case OP_SHIFT: return linear(r, n, OP_SHIFT, OP_BAG_SLICE, d);
  case OP_UPDATE:
  case OP_CUPDATE: return linear(r, n, OP_CUPDATE, OP_TAKE, d);
  case OP_TAKE: return linear(r, n, OP_TAKE, OP_CUPDATE, d);
  case OP_RESHAPE:
  case OP_BAG_RESHAPE: return linear(r, n, OP_BAG_RESHAPE, OP_BAG_RESHAPE, d);
  case OP_FILL:
  case OP_FILL_LIKE: return linear(r, n, (Op)n->op, OP_TO_BAG, d);
  case OP_TO_BAG: return linear(r, n, OP_TO_BAG, OP_FILL, d);
  case OP_ARRAY:
    if (!d) return array_tangent(r, n);
    for (int i = 0; i < n->nops; i++) ad_add(r, n->ops[i], ir_bag_get(w, d, ad_fwd(r, n), ir_int(w, i)));
    return NULL;
  case OP_CADD:
    if (!d) return ir_op2(w, OP_CADD, ts[0], ts[1]);
    ad_add(r, x, d);
    return give(r, n->ops[1], d);
  case OP_TRAP_NAN:
  case OP_TRAP_INF: return d ? give(r, x, d) : trapped_tangent(r, at, ts[0]);
  case OP_AFTER:
    if (!d) return ir_waiting(w, ts[0], ad_fwd(r, n->ops[1]));
    return give(r, x, ir_waiting(w, d, ad_fwd(r, n->ops[1])));
  case OP_CLOSURE:
    if (!d) return ir_env(w, OP_INJ, t, n->graphs[0], ir_record(w, ts, n->nops));
    if (x) d = ir_env(w, OP_UNINJ, ir_env_payload(w, n->graphs[0], n->type), n->graphs[0], d);
    /* fall through */
  case OP_TUPLE:
    if (!d) return ir_tuple(w, t, ts);
    for (int i = 0; i < n->nops; i++) ad_add(r, n->ops[i], ir_get(w, d, i));
    return NULL;
  case OP_CLOSURE_CAP: {
    IrType *payload = ir_env_payload(w, n->graphs[0], x->type);
    if (!d) return ir_get(w, ir_env(w, OP_UNINJ, payload, n->graphs[0], ts[0]), (int)n->attr.i);
    return give(r, x, ir_env(w, OP_INJ, of_x, n->graphs[0], ir_only(w, payload, (int)n->attr.i, d)));
  }
  case OP_GET: return d ? give(r, x, ir_only(w, of_x, (int)n->attr.i, d)) : ir_get(w, ts[0], (int)n->attr.i);
  case OP_INJ: return d ? give(r, x, sum_op(w, OP_UNINJ, n, of_x, d)) : sum_op(w, OP_INJ, n, t, ts[0]);
  case OP_UNINJ: return d ? give(r, x, sum_op(w, OP_INJ, n, of_x, d)) : sum_op(w, OP_UNINJ, n, t, ts[0]);
  case OP_RT:
    if (is_opaque(n)) return d ? give(r, x, ir_get(w, d, 0)) : ir_only(w, t, 0, ts[0]);
    if (is_detached(n) || ir_is_static(n)) return d ? give(r, x, d) : ts[0];
    if (is_product(n)) return product_rule(r, n, d);
    if (!d) return no_rule(w, t, n->attr.rt->name, n->site);
    for (int i = 0; i < n->nops; i++)
      ad_add(r, n->ops[i], no_rule(w, ad_cotangent(w, n->ops[i]->type), n->attr.rt->name, n->site));
    return NULL;
  /* Leaves, what depends on nothing continuously, and constructs. */
  case OP_PARAM:
#include "ir/leaf_cases.h"
  case OP_GLOBAL:
  case OP_GRAPH_ID:
  case OP_STOP:
  case OP_MARK:
  case OP_ZEROS:
  case OP_CHECK:
  case OP_FAIL:
  case OP_APPLY:
  case OP_CALL:
  case OP_SWITCH:
  case OP_LOOP:
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: return NULL;
  }
  return NULL;
}

void ad_rule_backward(Diff *r, int at, Node *d) { rule(r, at, d); }

void ad_rule_tangent(Diff *f, int at) {
  ad_keep(f, at);
  f->cot[at] = rule(f, at, NULL);
}
