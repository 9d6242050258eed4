/* SPDX-License-Identifier: MIT */
/* Conversion between cotangents, which are accumulators (ir/accumulators.c), and the public values that users see,
 * which have the types of what is differentiated. A conversion is code: a loop over an array, a recursive function for
 * a variant type.
 *
 *   public value   →   cotangent       ȳ that a pullback is given, a direction of jvp, what a user's rule returns
 *   cotangent      →   public value    x̄ that a pullback returns, ȳ for a user's rule
 *
 * To users the derivative of a function is that function. What they get from a pullback is a carrier: a closure that
 * does what the function does, and also holds the derivative of its environment. A rule of their own that is given a
 * function hands the carrier on, and so says what becomes of what the function captured. Carriers stand where the
 * type has a function outside arrays and variants; in those nothing is carried. */
#include "ad/ad_internal.h"
#include "ir/world.h"

/* ---- Carriers --------------------------------------------------------------------------- */
/* The graph of the carriers for this type of function. It has an identity, so its captures stay as they are: the
 * function, and the derivative. */
static Graph *carrier(World *w, IrType *fun) {
  void **known = ir_memo(w, fun, "carrier", NULL, 0);
  if (*known) return *known;
  int own = 1 + fun->effect;
  IrType *ps[4] = {fun->args[0], ir_type(w, T_TOKEN)};
  ps[own] = fun;
  ps[own + 1] = ad_cotangent(w, fun);
  Node *token = fun->effect ? ir_param(w, 1, ps[1]) : NULL;
  Node *y = ir_apply(w, ir_param(w, own, fun), ir_param(w, 0, ps[0]), token, 0);
  Graph *g = *known = ir_graph(w, ps, own + 2, y, NULL);
  ir_identify(w, g);
  return g;
}

Node *ad_is_carrier(World *w, Node *f) {
  return ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, f), ir_graph_id(w, carrier(w, f->type)));
}

/* c ? yes : no. yes and no are over parameters 0 and 1, for which the functions f and like are given. */
static Node *choose(World *w, Node *c, Node *f, Node *like, Node *yes, Node *no) {
  BranchBuilder *b = branch_open(w, c);
  branch_add(b, f);
  branch_add(b, like);
  branch_arm(b, no, NULL);
  branch_arm(b, yes, NULL);
  return branch_close(b);
}

/* What f carries if it is a carrier of `like`, else `no`: over parameters 0 and 1. */
static Node *carried_of(World *w, IrType *t, Node *no) {
  Node *f = ir_param(w, 0, t), *like = ir_param(w, 1, t), *kept = ir_closure_cap(w, f, carrier(w, t), 0);
  Node *same = ir_op2(w, OP_IEQ, ir_op1(w, OP_CLOSURE_ID, kept), ir_op1(w, OP_CLOSURE_ID, like));
  Node *yes = choose(w, same, f, like, ir_closure_cap(w, f, carrier(w, t), 1), no);
  return choose(w, ad_is_carrier(w, f), f, like, yes, no);
}

Node *ad_lost_function(World *w) {
  return ir_text(w, "the function given to a function with a derivative rule depends on what is being "
                    "differentiated, and the rule gives it no derivative");
}

/* The derivative of the function `like` that a user gives: what it carries. Where `like` is a carrier itself, the
 * derivative is one of the same function, and says how what `like` carries changes. Any other function says nothing. */
static Node *from_carrier(World *w, IrType *t, Node *f, Node *like, Site site) {
  void **known = ir_memo(w, t, "carried", NULL, 0);
  if (!*known) {
    IrType *c = ad_cotangent(w, t), *ps[2] = {t, t};
    Node *pf = ir_param(w, 0, t), *pl = ir_param(w, 1, t), *zero = ir_zero(w, c);
    Node *kept[2] = {pf, ir_closure_cap(w, pl, carrier(w, t), 0)};
    Node *of_kept = ir_substitute(w, carried_of(w, t, zero), kept, 2, 0);
    Node *second = ir_env(w, OP_INJ, c, carrier(w, t), ir_pair(w, zero, of_kept));
    Func *from = *known = ir_func(w, sym_of(w->syms, "carried"), ps, 2, c);
    ir_func_finish(w, from, carried_of(w, t, choose(w, ad_is_carrier(w, pl), pf, pl, second, zero)));
  }
  return ir_call(w, *known, (Node *[]){f, like}, site);
}

/* ---- Conversions ------------------------------------------------------------------------ */
/* A conversion of values of type t: of the public value x to a cotangent, or of x and its cotangent y to a public
 * value. Tuples are converted component by component; `leaf` converts what is no tuple.
 *
 *                 x                y
 *   to a          public value     what x must have the shape of, or NULL
 *   cotangent
 *   public        primal value     cotangent of it
 *   general       primal value     a float: seed of the floats that replace those of x. Its fractions, for multiples of
 *                                  the golden ratio, have nothing in common */
typedef struct Conversion {
  World *w;
  bool public; /* to public values, these made of seeds too */
  Node *(*leaf)(const struct Conversion *c, IrType *t, Node *x, Node *y);
  Site site;
  bool general;
} Conversion;

static Node *next_seed(World *w, Node *seed, Node *k) {
  return ir_op2(w, OP_FADD, seed, ir_op2(w, OP_FMUL, k, ir_float(w, 0.6180339887498949)));
}

/* Of y what belongs to component k of the tuple x. */
static Node *component(const Conversion *c, Node *y, int k) {
  if (c->general) return next_seed(c->w, y, ir_float(c->w, k + 1));
  return y ? ir_get(c->w, y, k) : NULL;
}

/* Of y, which stands in the body of a loop, what belongs to element i of the array x. */
static Node *element(const Conversion *c, Node *y, Node *i) {
  World *w = c->w;
  if (!c->general) return y ? ir_index(w, y, &i, 1) : NULL;
  Node *start = ir_op2(w, OP_FMUL, y, ir_float(w, 1.3247179572447460));
  return next_seed(w, start, ir_op1(w, OP_FLOAT_OF_INT, i));
}

static Node *convert(const Conversion *c, IrType *t, Node *x, Node *y) {
  World *w = c->w;
  if (!ad_has_slot(w, t)) return c->public ? x : ir_unit(w);
  if (t->kind != T_TUPLE) return c->leaf(c, t, x, y);
  Node **xs = NEW_ARRAY(w->arena, Node *, t->n);
  for (int i = 0; i < t->n; i++) xs[i] = convert(c, t->args[i], ir_get(w, x, i), component(c, y, i));
  return ir_tuple(w, c->public ? t : ad_cotangent(w, t), xs);
}

static Node *convert_array(const Conversion *c, IrType *t, Node *x, Node *y) {
  World *w = c->w;
  for (int i = 0; !c->public && y && i < ir_rank(t); i++)
    x = ir_op2(w, OP_AFTER, x, ir_check(w, OP_CHECK_SIZE, ir_len(w, x, i), ir_len(w, y, i), NULL, c->site));
  IrType *base = ir_base(t);
  bool same = ad_cotangent(w, base) == base;
  if (same && !c->general) return c->public ? ir_fill(w, y, x) : ir_to_bag(w, x);
  if (c->public && y->type->kind == T_BAG) y = ir_fill_like(w, y, x);
  if (c->public && y->type == t) return y;
  LoopBuilder *b = loop_open(w, false);
  Node *i = loop_index(b), *xs = loop_add(b, LOOP_CAPTURED, x), *e = ir_index(w, xs, &i, 1);
  Node *out = convert(c, t->args[0], e, element(c, y ? loop_add(b, LOOP_CAPTURED, y) : NULL, i));
  loop_stack_sized(b, c->public ? out : ir_fill(w, out, e));
  loop_close(b, ir_len(w, x, 0), NULL, 0);
  return c->public ? loop_stacked(b, 0) : ir_to_bag(w, loop_stacked(b, 0));
}

/* The check that `like` is of constructor k, as x is, the value given for its derivative. */
static Node *same_constructor(World *w, IrType *t, Node *x, Node *like, int k) {
  const char *text = "different shapes: a derivative with %s for a value without";
  Node *same = ir_op2(w, OP_IEQ, ir_tag(w, like), ir_int(w, k));
  if (ir_missing_key(w, x, k, like)) {
    BranchBuilder *b = branch_open(w, same);
    Node *inner = branch_add(b, x), *other = branch_add(b, like);
    Node *message = ir_missing_key(w, inner, k, other);
    branch_arm(b, ir_fail(w, FAIL_SHAPE, ir_type(w, T_UNIT), message, 0), NULL);
    branch_arm(b, ir_unit(w), NULL);
    return branch_close(b);
  }
  return ir_assert(w, same, ir_text(w, arena_printf(w->arena, text, t->ctors[k].name)), 0);
}

/* Of constructor k: keys are carried over, or have no cotangent. */
static Node *convert_payload(const Conversion *c, const IrCtor *k, Node *x, Node *y) {
  World *w = c->w;
  if (!k->keys) return convert(c, k->payload, x, y);
  Node **xs = NEW_ARRAY(w->arena, Node *, x->type->n);
  for (int i = 0; i < x->type->n; i++) {
    Node *part = ir_get(w, x, i);
    if (k->keys[i]) xs[i] = c->public ? part : ir_unit(w);
    else xs[i] = convert(c, part->type, part, component(c, y, i));
  }
  return ir_tuple(w, c->public ? x->type : ir_payload_accumulator(w, k), xs);
}

/* The check that the keys of the payload x are those of y, whose derivative it is. */
static Node *same_keys(World *w, const IrCtor *k, Node *x, Node *y, Node *check) {
  bool tuple = x->type->kind == T_TUPLE;
  for (int i = 0; k->keys && i < (tuple ? x->type->n : 1); i++)
    if (k->keys[i] == KEY) {
      Node *a = tuple ? ir_get(w, x, i) : x, *b = tuple ? ir_get(w, y, i) : y;
      check = ir_op2(w, OP_AFTER, check, ir_same_key(w, a, b, 0));
    }
  return check;
}

static Node *convert_arm(const Conversion *c, IrType *t, Node **caps, int ncaps, int k) {
  World *w = c->w;
  const IrCtor *ctor = &t->ctors[k];
  bool shaped = ncaps == 2 && !c->public;
  IrType *to = c->public ? t : ad_cotangent(w, t);
  Node *check = shaped ? same_constructor(w, t, caps[0], caps[1], k) : ir_unit(w);
  Node *x = ir_op2(w, OP_AFTER, caps[0], check), *y = NULL;
  if (ncaps == 2) y = ir_op2(w, OP_AFTER, caps[1], check);
  if (shaped && ctor->keys) {
    check = same_keys(w, ctor, ir_uninj(w, x, k), ir_uninj(w, y, k), check);
    x = ir_op2(w, OP_AFTER, x, check);
  }
  if (ir_payload_accumulator(w, ctor)->kind == T_UNIT)
    return c->public ? x : ir_op2(w, OP_AFTER, ir_zero(w, to), check);
  if (y && !c->general) y = ir_uninj(w, y, k + c->public);
  return ir_inj(w, to, k + !c->public, convert_payload(c, ctor, ir_uninj(w, x, k), y));
}

/* One function for each variant type, direction, and whether there is y. */
static Node *convert_variant(const Conversion *c, IrType *t, Node *x, Node *y) {
  World *w = c->w;
  const char *name = c->general ? "general" : c->public ? "public" : y ? "shaped cotangent" : "cotangent";
  int n = y ? 2 : 1;
  if (!t->nctors) return c->public ? x : ir_zero(w, ad_cotangent(w, t)); /* a value of the host's */
  IrType *cot = ad_cotangent(w, t), *ps[2] = {t, c->general ? y->type : c->public ? cot : t};
  void **known = ir_memo(w, t, name, NULL, 0);
  if (!*known) {
    Func *f = *known = ir_func(w, sym_of(w->syms, name), ps, n, c->public ? t : cot);
    f->recursive = true;
    Node *args[2] = {ir_param(w, 0, t), ir_param(w, 1, ps[1])}; /* in the arms, too */
    BranchBuilder *b = branch_open(w, ir_tag(w, args[0]));
    branch_add_all(b, args, n);
    Conversion in = {w, c->public, c->leaf, 0, c->general}; /* its place is that of the call */
    for (int k = 0; k < t->nctors; k++) branch_arm(b, convert_arm(&in, t, args, n, k), NULL);
    ir_func_finish(w, f, branch_close(b));
  }
  return ir_call(w, *known, (Node *[]){x, y}, c->site);
}

/* In arrays and variants: the derivative of a function is that function. */
static Node *inner_leaf(const Conversion *c, IrType *t, Node *x, Node *y) {
  if (t->kind == T_ARRAY) return convert_array(c, t, x, y);
  if (t->kind == T_VARIANT && !t->nullable) return convert_variant(c, t, x, y);
  if (t->kind == T_FUN) return c->public ? x : ir_zero(c->w, ad_cotangent(c->w, t));
  return c->public ? y : x;
}

static Node *deep(const Conversion *c, IrType *t, Node *x, Node *y) {
  Conversion in = {c->w, c->public, inner_leaf, c->site, false};
  return convert(&in, t, x, y);
}

static Node *leaf(const Conversion *c, IrType *t, Node *x, Node *y) {
  if (t->kind != T_FUN || !y) return deep(c, t, x, y);
  if (c->public) return ir_closure(c->w, carrier(c->w, t), t, (Node *[]){x, y}, 2);
  return from_carrier(c->w, t, x, y, c->site);
}

static Node *rule_leaf(const Conversion *c, IrType *t, Node *x, Node *y) {
  if (t->kind != T_FUN) return deep(c, t, x, y);
  Node *lost = ir_fail(c->w, FAIL_RULE, ad_cotangent(c->w, t), ad_lost_function(c->w), c->site);
  return ir_substitute(c->w, carried_of(c->w, t, lost), (Node *[]){x, y}, 2, 0);
}

static Node *start_leaf(const Conversion *c, IrType *t, Node *x, Node *y) {
  (void)y;
  Node *zero = ir_zero(c->w, ad_cotangent(c->w, t));
  return t->kind == T_ARRAY && ir_is_plain(ir_base(zero->type)) ? ir_to_bag(c->w, ir_fill(c->w, zero, x)) : zero;
}

static Node *uncarried_leaf(const Conversion *c, IrType *t, Node *cot, Node *y) {
  (void)y;
  if (t->kind != T_FUN) return cot;
  Graph *g = carrier(c->w, t);
  return ir_get(c->w, ir_env(c->w, OP_UNINJ, ir_env_payload(c->w, g, t), g, cot), 1);
}

Node *ad_to_cotangent(World *w, IrType *t, Node *x, Node *like, Site site) {
  return convert(&(Conversion){w, false, leaf, site, false}, t, x, like);
}
Node *ad_from_rule(World *w, IrType *t, Node *x, Node *like, Site site) {
  return convert(&(Conversion){w, false, rule_leaf, site, false}, t, x, like);
}
Node *ad_to_public(World *w, IrType *t, Node *x, Node *cot) {
  return convert(&(Conversion){w, true, leaf, 0, false}, t, x, cot);
}
Node *ad_start(World *w, IrType *t, Node *x) {
  return convert(&(Conversion){w, false, start_leaf, 0, false}, t, x, NULL);
}
Node *ad_uncarried(World *w, IrType *t, Node *cot) {
  return convert(&(Conversion){w, false, uncarried_leaf, 0, false}, t, cot, NULL);
}
Node *ad_zero_public(World *w, IrType *t, Node *x) { return ad_to_public(w, t, x, ir_zero(w, ad_cotangent(w, t))); }

/* ---- A point in general position ------------------------------------------------------------ */
static Node *general_leaf(const Conversion *c, IrType *t, Node *x, Node *at) {
  World *w = c->w;
  if (t->kind == T_FLOAT) return ir_op2(w, OP_FADD, ir_float(w, 0.5), ir_op2(w, OP_FSUB, at, ir_op1(w, OP_FLOOR, at)));
  if (t->kind == T_ARRAY) return convert_array(c, t, x, at);
  return t->kind == T_VARIANT && !t->nullable ? convert_variant(c, t, x, at) : ad_zero_public(w, t, x);
}

Node *ad_general_public(World *w, IrType *t, Node *x) {
  return convert(&(Conversion){w, true, general_leaf, 0, true}, t, x, ir_float(w, 0.25));
}
