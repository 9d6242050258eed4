/* SPDX-License-Identifier: MIT */
/* If-conversion of the zero guard. Where the cotangent d is 0, a product with d in a derivative is 0, too, even if a
 * partial derivative isn't finite there. The derivative rules guard the product (ad_unless_zero in ad/rules.c). This
 * pass guards its factors instead:
 *
 *   select (d = 0 and is_nan (d * u / v)) 0 (d * u / v)   →   d * (select (d = 0) 0 u) / (select (d = 0) 1 v)
 *
 * The selects depend on d, u and v alone, so a processor can execute them before the product. C compilers turn the
 * select on the left into a branch around product and quotient. A factor needs no select if it is known to be finite or
 * NaN, and d to be NaN wherever the factor is: as the factor exp (cos x) in the derivative of sin (exp (cos x)), where
 * d = cos (exp (cos x)). The result may differ in the sign of a zero, so strict mode leaves the guards as they are. The
 * pass runs after differentiation, and before inlining, which counts nodes. */
#include "opt/opt.h"
#include <math.h>
#include <string.h>

typedef struct Guard {
  World *w;
  Node *d, *zero; /* the cotangent, and whether it is 0 */
} Guard;

static bool is_wave(const Node *x) { return x->op == OP_SIN || x->op == OP_COS; }

/* Is x a function or sum of one number, NaN only where that is? */
static bool is_step(const Node *x) {
  if (x->op == OP_FADD || x->op == OP_FMUL) return x->ops[1]->op == OP_FLOAT;
  return x->op == OP_FNEG || x->op == OP_EXP || x->op == OP_SINH || x->op == OP_COSH;
}

/* What |x| doesn't exceed unless x is NaN: known of steps from a sine or cosine. */
static double bound(const Guard *g, const Node *x, int depth) {
  if (is_wave(x)) return 1;
  if (!is_step(x) || (depth == LIMIT_GUARDED && limit_reached(g->w->arena, AT_GUARDED))) return INFINITY;
  double b = bound(g, x->ops[0], depth + 1);
  switch (x->op) {
  case OP_FNEG: return b;
  case OP_FADD: return b + fabs(x->ops[1]->attr.f);
  case OP_FMUL: return b * fabs(x->ops[1]->attr.f);
  default: return exp(b) * 1.001;
  }
}

/* Is d NaN where x is? Where a sine is, the cosine is too. Finds x, or what it is made of by steps, in d, beneath what
 * is NaN where an operand is. */
static bool is_lost_with(const Guard *g, const Node *d, const Node *x, int depth) {
  for (const Node *s = x;; s = s->ops[0]) {
    if (d == s || (is_wave(d) && is_wave(s) && d->ops[0] == s->ops[0])) return true;
    if (!is_step(s)) break;
  }
  if (!(op_flags[d->op] & OPF_R) && strcmp(op_signatures[d->op], "f:f") != 0) return false;
  if (depth == LIMIT_GUARDED && limit_reached(g->w->arena, AT_GUARDED)) return false;
  for (int k = 0; k < d->nops; k++)
    if (is_lost_with(g, d->ops[k], x, depth + 1)) return true;
  return false;
}

static bool is_harmless(const Guard *g, const Node *x) {
  if (x->op == OP_FLOAT) return x->attr.f != 0 && isfinite(x->attr.f);
  return bound(g, x, 0) < HUGE_VAL && is_lost_with(g, g->d, x, 0);
}

/* Where d is 0: a factor or divisor that leaves it so. */
static Node *unless_zero(const Guard *g, double instead, Node *x) {
  if ((instead == 0 || x->op == OP_FLOAT) && is_harmless(g, x)) return x;
  return ir_op3(g->w, OP_SELECT, g->zero, ir_float(g->w, instead), x);
}

/* Is x d, or d guarded by another cotangent? */
static bool is_cotangent(const Guard *g, const Node *x) {
  if (x->op == OP_SELECT && x->ops[1]->op == OP_FLOAT && x->ops[1]->attr.f == 0) x = x->ops[2];
  return x == g->d;
}

/* x, a product or quotient of d and others, with factors and divisors that leave it 0 where d is; NULL if it isn't. */
static Node *guarded(const Guard *g, Node *x, int depth) {
  if (is_cotangent(g, x)) return x;
  if (x->op != OP_FNEG && x->op != OP_FMUL && x->op != OP_FDIV) return NULL;
  if (depth == LIMIT_GUARDED && limit_reached(g->w->arena, AT_GUARDED)) return NULL;
  for (int k = 0; k < (x->op == OP_FMUL ? 2 : 1); k++) {
    Node *inner = guarded(g, x->ops[k], depth + 1);
    if (!inner) continue;
    if (x->op == OP_FNEG) return ir_op1(g->w, OP_FNEG, inner);
    return ir_op2(g->w, (Op)x->op, inner, unless_zero(g, x->op == OP_FDIV, x->ops[1 - k]));
  }
  return NULL;
}

/* d if x is d = 0; NULL. */
static Node *compared(const Node *x) {
  if (x->op != OP_FEQ) return NULL;
  for (int k = 0; k < 2; k++)
    if (x->ops[k]->op == OP_FLOAT && x->ops[k]->attr.f == 0) return x->ops[1 - k];
  return NULL;
}

static Node *guard(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  World *w = user;
  if (n->op != OP_SELECT || n->type->kind != T_FLOAT) return NULL;
  Node *s = rewrite_node(r, n, ops, graphs);
  if (s->op != OP_SELECT || s->ops[0]->op != OP_AND || s->ops[1]->op != OP_FLOAT || s->ops[1]->attr.f != 0) return s;
  for (int k = 0; k < 2; k++) {
    Node *zero = s->ops[0]->ops[k], *lost = s->ops[0]->ops[1 - k], *d = compared(zero);
    if (!d || lost->op != OP_IS_NAN || lost->ops[0] != s->ops[2]) continue;
    Node *x = guarded(&(Guard){w, d, zero}, s->ops[2], 0);
    if (x) return x;
  }
  return s;
}

Graph *opt_if_convert(World *w, Graph *g) {
  return w->strict ? g : ir_rewrite(w, g, (RewritePass){.user = w, .node = guard});
}
