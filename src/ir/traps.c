/* SPDX-License-Identifier: MIT */
/* Traps: nodes that end the program where an operation makes a NaN (TRAP_NAN), or an infinity too (TRAP_INF), of
 * operands that are none. Elaboration wraps each float operation in one if World.traps says so; without that there is
 * no such node, and no other part of the compiler behaves differently.
 *
 *   x / y   →   trap_nan "/" (/ x y) x y @site
 *
 * A trap yields its first operand. It may fail and has a place, so no pass merges it with one of another place, or
 * computes it where the program wouldn't. Differentiation is the identity on it, and wraps what the rule of the
 * operation yields (ad/rules.c):
 *
 *   "/"    operands x, y               the operation itself
 *   "</"   operands x, y, cotangent    its derivative in reverse mode
 *   ">/"   operands x, y, tangents     its derivative in forward mode: as many tangents as operands
 *   "{/" and "}/"                      the same, with the operation's value as the last operand
 *   "[/"   operands x, y               the operation itself, in a pullback that the program has as a rule
 *   "]/"   operands x, y               ... in a tangent
 *
 * runtime/trapped.c makes the message of these texts.
 *
 * A study of costs wants to know of each operation where it stands, and no trap (TRAP_PLACES): the operation itself
 * gets the place, which rewriting, inlining and differentiation hand on (ir_placed).
 *
 * A study of a function at a point wants to know what operations are given and yield there (TRAP_POINT): the program
 * runs in the evaluator, which records what traps see instead of failing (Rt.record). Additions and steps have none.
 * Comparisons of floats have one. The text of a derivative says by which operand it is: "</ 2".
 *
 *   x < y   →   0 < trap_nan "?<" (x < y ? 1 : 0) x y @site       "?if <" where it is the condition of an `if`
 *
 *   match x   →   int (trap_nan "?match Nil ::" (float (tag x)) x @site)      of the constructors, in order
 *
 * Differentiation makes "!<" of "?<" where an operand depends on what the derivative is taken by. The others of "?match" may have any type; lowering drops these. */
#include "ir/ir_internal.h"
#include <string.h>

/* Operations that yield neither NaN nor infinity of operands without, and whose derivatives are 0 or the cotangent. */
static bool is_harmless(Op op) {
  switch (op) {
  case OP_FNEG:
  case OP_FMIN:
  case OP_FMAX:
  case OP_SIGN:
  case OP_FLOOR:
  case OP_CEIL:
  case OP_ROUND:
  case OP_TRUNC:
  case OP_FLOAT_OF_INT: return true;
  default: return false;
  }
}

/* Can it yield NaN of operands that aren't? */
static bool makes_nan(Op op) {
  switch (op) {
  case OP_ABS:
  case OP_CBRT:
  case OP_EXP:
  case OP_EXPM1:
  case OP_ATAN:
  case OP_ATAN2:
  case OP_SINH:
  case OP_COSH:
  case OP_TANH:
  case OP_ASINH:
  case OP_HYPOT:
  case OP_ERF:
  case OP_ERFC: return false;
  default: return !is_harmless(op);
  }
}

/* Can it yield an infinity or NaN of finite operands? */
static bool makes_infinity(Op op) {
  return makes_nan(op) || op == OP_EXP || op == OP_EXPM1 || op == OP_SINH || op == OP_COSH || op == OP_HYPOT;
}

bool ir_trap_is_needed(const Node *n) {
  Op op = (Op)n->ops[0]->op;
  if (*n->attr.text == '?') return true;
  if (strcmp(n->attr.text, op_names[op]) != 0) return true;
  return n->op == OP_TRAP_NAN ? makes_nan(op) : makes_infinity(op);
}

Node *ir_recorded(World *w, const char *what, Node *y, Node *a, Node *b, Site site) {
  Node *ops[] = {ir_op3(w, OP_SELECT, y, ir_float(w, 1), ir_float(w, 0)), a, b};
  return ir_op2(w, OP_FLT, ir_float(w, 0), ir_trap(w, OP_TRAP_NAN, sym_of(w->syms, what), ops, 3, site));
}

Sym ir_recorded_text(World *w, Sym text) { return sym_of(w->syms, arena_printf(w->temp, "!%s", text + 1)); }

/* Is its derivative ±1 or, whatever it is given, 0? */
static bool has_fixed_derivative(Op op) {
  return op == OP_FADD || op == OP_FSUB || op == OP_FNEG || op == OP_FLOAT_OF_INT || op == OP_SIGN || op == OP_FLOOR ||
         op == OP_CEIL || op == OP_ROUND || op == OP_TRUNC;
}

/* Has it no trap for its float result? */
static bool is_untrapped(const World *w, Op op) {
  if (w->traps == TRAP_POINT) return has_fixed_derivative(op);
  return (w->traps != TRAP_NANS && w->traps != TRAP_INFINITIES) || is_harmless(op);
}

Node *ir_trapped(World *w, Op op, const char *text, Node *y, Node **xs, int n, Site site) {
  if (w->traps == TRAP_PLACES) return ir_placed(w, y, site);
  bool all = w->traps == TRAP_INFINITIES;
  if (y->type->kind != T_FLOAT || is_untrapped(w, op)) return y;
  Node **ops = NEW_ARRAY(w->arena, Node *, n + 1);
  ops[0] = y;
  for (int k = 0; k < n; k++) {
    if (xs[k]->type->kind != T_FLOAT && xs[k]->type->kind != T_INT) return y;
    ops[1 + k] = xs[k]->type->kind == T_INT ? ir_op1(w, OP_FLOAT_OF_INT, xs[k]) : xs[k];
  }
  return ir_trap(w, all ? OP_TRAP_INF : OP_TRAP_NAN, sym_of(w->syms, text), ops, n + 1, site);
}
