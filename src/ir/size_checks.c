/* SPDX-License-Identifier: MIT */
/* A branch that fails unless two ints are equal is a check of sizes with a message of its own:
 *
 *   if n = m then n else fail $"lengths {n} and {m}"   →   check_size n m "lengths %n and %m"
 *
 * So the numbers are known to be the same behind it, as behind the library's own checks: loops over either length are
 * joined, indices need no checks, and the check leaves loops. The message is a text in which `%n` and `%m` stand for
 * the two numbers; one made of anything else stays a branch. */
#include "ir/ir_internal.h"
#include <string.h>

/* The message of an arm whose captures are caps, for a check of n and m. */
typedef struct Message {
  Node *n, *m, **caps;
  Str text;
} Message;

static bool add_constant(Message *s, Sym text) {
  if (strlen(text) != sym_len(text)) return false;
  for (const char *c = text; *c; c++) {
    if (*c == '%') str_addc(&s->text, '%');
    str_addc(&s->text, *c);
  }
  return true;
}

static bool add_number(Message *s, const Node *x) {
  const Node *of = x->op == OP_PARAM ? s->caps[x->attr.i] : NULL;
  if (!of || (of != s->n && of != s->m)) return false;
  str_puts(&s->text, of == s->n ? "%n" : "%m");
  return true;
}

static bool add_part(Message *s, const Node *x) {
  if (s->text.len > LIMIT_CHECK_MESSAGE) return false;
  if (x->op == OP_STRING) return add_constant(s, x->attr.text);
  if (x->op != OP_RT) return false;
  if (strcmp(x->attr.rt->name, "display") == 0) return add_number(s, x->ops[0]);
  if (strcmp(x->attr.rt->name, "concat_strings") != 0 || x->ops[0]->op != OP_ARRAY) return false;
  const Node *parts = x->ops[0];
  for (int k = 0; k < parts->nops; k++)
    if (!add_part(s, parts->ops[k])) return false;
  return true;
}

/* n = m where the arm that is taken then yields one of them: that one is the first. */
static void order_operands(Message *s, const Node *yielded) {
  bool second = yielded->op == OP_PARAM && s->caps[yielded->attr.i] == s->m;
  if (!second && s->n->op != OP_INT) return;
  Node *n = s->n;
  s->n = s->m;
  s->m = n;
}

bool ir_is_size_check(World *w, const Node *selector, Graph **arms, int narms, Node **caps, SizeCheck *out) {
  if ((selector->op != OP_IEQ && selector->op != OP_INE) || narms != 2) return false;
  const Node *fails = arms[selector->op == OP_INE]->result;
  Node *other = arms[selector->op == OP_IEQ]->result;
  if (fails->op != OP_FAIL || fails->attr.i != FAIL_USER || (other->op != OP_PARAM && !ir_is_constant(other)))
    return false;
  Message s = {.n = selector->ops[0], .m = selector->ops[1], .caps = caps, .text.arena = w->temp};
  order_operands(&s, other);
  if (!add_part(&s, fails->ops[0]) || s.text.len > LIMIT_CHECK_MESSAGE) return false;
  Sym message = sym_of(w->syms, s.text.data ? s.text.data : "");
  *out = (SizeCheck){s.n, s.m, other->op == OP_PARAM ? caps[other->attr.i] : other, message, fails->site};
  return true;
}
