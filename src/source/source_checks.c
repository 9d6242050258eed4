/* SPDX-License-Identifier: MIT */
/* What may fail without having a value of its own. A check becomes an assertion, unless an operation of the same block
 * checks the same thing when it runs: an index that is used, a division. Statements aren't left out by the compiler, so
 * what is needed for its failure alone is written as one. */
#include "source/source_internal.h"
#include <string.h>

bool sp_is_check(const Node *n) { return n->op == OP_CHECK || (op_flags[n->op] & OPF_V) != 0; }

/* ---- Checks that operations make -------------------------------------------------------------------------------- */
/* Is `n` the length of array a in dimension dim, as far as can be seen? */
static bool is_length(const Node *a, int dim, const Node *n) {
  const Node *x = sp_root_of(a), *len = sp_root_of(n);
  for (int left = LIMIT_SOURCE_LENGTH; left > 0; left--) {
    if (len->op == OP_LEN && len->attr.i == dim && sp_root_of(len->ops[0]) == x) return true;
    if (x->op == OP_ZEROS) return sp_root_of(x->ops[dim]) == len;
    if (x->op == OP_UPDATE) x = sp_root_of(x->ops[0]);
    else return false;
  }
  return false;
}

static bool indexes(const Node *m, const Node *check) {
  const Node *n = sp_root_of(check->ops[1]);
  if (m->op == OP_BYTE)
    return sp_root_of(m->ops[1]) == sp_root_of(check->ops[0]) && n->op == OP_BYTES && n->ops[0] == m->ops[0];
  if (m->op != OP_INDEX && m->op != OP_UPDATE) return false;
  int last = m->op == OP_INDEX ? m->nops : m->nops - 1;
  for (int k = 1; k < last; k++)
    if (sp_root_of(m->ops[k]) == sp_root_of(check->ops[0]) && is_length(m->ops[0], k - 1, check->ops[1])) return true;
  return false;
}

static bool slices(const Node *m, const Node *check) {
  if (m->op != OP_SLICE || m->ops[2]->op != OP_ISUB) return false;
  const Node *count = m->ops[2];
  return sp_root_of(m->ops[1]) == sp_root_of(check->ops[0]) && sp_root_of(count->ops[1]) == sp_root_of(check->ops[0]) &&
         sp_root_of(count->ops[0]) == sp_root_of(check->ops[1]) && is_length(m->ops[0], 0, check->ops[2]);
}

/* Does m, which is evaluated wherever the check is, fail where that does? */
static bool checks_too(const Node *m, const Node *check) {
  const Node *x = sp_root_of(check->ops[0]);
  switch (check->op) {
  case OP_CHECK_INDEX: return indexes(m, check);
  case OP_CHECK_SLICE: return slices(m, check);
  case OP_CHECK_NONZERO: return (m->op == OP_IDIV || m->op == OP_IREM) && sp_root_of(m->ops[1]) == x;
  case OP_CHECK_NAT: return m->op == OP_ZEROS && sp_root_of(m->ops[0]) == x;
  default: return false;
  }
}

/* Is m one of the updates that make the result? Then it is certain to be made. */
static bool makes_result(Block *b, const Node *m) {
  const Node *r = sp_root_of(b->g->result);
  while (r->op == OP_UPDATE && r != m) r = sp_root_of(r->ops[0]);
  return r == m;
}

static bool is_subscript(const Node *n, int k) {
  return ((n->op == OP_INDEX || n->op == OP_BYTE) && k > 0) || (n->op == OP_UPDATE && k > 0 && k < n->nops - 1);
}

/* Does operand k of n, an operation, make the check itself when it runs? */
static bool is_checked_by(const Node *check, const Node *n, int k) {
  switch (check->op) {
  case OP_CHECK_INDEX: return is_subscript(n, k);
  case OP_CHECK_NONZERO: return k == 1 && (n->op == OP_IDIV || n->op == OP_IREM);
  case OP_CHECK_NAT: return n->op == OP_ZEROS;
  default: return n->op == OP_SLICE || n->op == OP_ISUB;
  }
}

/* Does anything need the check but what makes it itself? That may turn out not to be needed, and then it isn't made. */
static bool is_awaited(Block *b, const Node *check, const Node *x, int left) {
  if (b->g->result == x) return true;
  for (const NodeUse *u = uses_first(b->uses, x); u < uses_end(b->uses, x); u++) {
    if (is_checked_by(check, u->user, u->operand)) continue;
    bool alias = u->user->op == OP_AFTER && sp_root_of(u->user) == sp_root_of(check);
    if (!alias || left == 0 || is_awaited(b, check, u->user, left - 1)) return true;
  }
  return false;
}

static bool is_made_elsewhere(Block *b, const Node *check) {
  bool awaited = is_awaited(b, check, check, 4);
  for (int i = 0; i < b->uses->n; i++) {
    const Node *m = b->uses->nodes[i];
    if (checks_too(m, check) && (!awaited || makes_result(b, m))) return true;
  }
  return false;
}

/* ---- Assertions ------------------------------------------------------------------------------------------------- */
static void assert_index(Block *b, const Node *n) {
  const char *size = sp_operand(b, n->ops[1], L_SUM);
  Text i = sp_use(b, n->ops[0]);
  const Node *x = sp_root_of(n->ops[0]);
  if (x->op == OP_INT && x->attr.i >= 0) sp_add_statement(b, "assert (%s < %s)", i.s, size);
  else
    sp_add_statement(b, "assert (0 <= %s && %s < %s)", sp_at_level(b->p, i, L_SUM), sp_at_level(b->p, i, L_SUM), size);
}

static void assert_slice(Block *b, const Node *n) {
  const char *lo = sp_operand(b, n->ops[0], L_SUM), *hi = sp_operand(b, n->ops[1], L_SUM);
  sp_add_statement(b, "assert (0 <= %s && %s <= %s && %s <= %s)", lo, lo, hi, hi, sp_operand(b, n->ops[2], L_SUM));
}

static void assert_size(Block *b, const Node *check) {
  const char *n = sp_operand(b, check->ops[0], L_SUM), *m = sp_operand(b, check->ops[1], L_SUM);
  if (!check->attr.text) sp_add_statement(b, "assert (%s = %s)", n, m);
  else sp_add_statement(b, "if %s <> %s then fail %s", n, m, sp_filled_text(b, check->attr.text, n, m));
}

static void assert_condition(Block *b, const Node *n) {
  const char *c = sp_operand(b, n->ops[0], L_POSTFIX);
  const Node *message = n->ops[1];
  if (message->op == OP_STRING && strcmp(message->attr.text, "assertion failed") == 0)
    sp_add_statement(b, "assert %s", c);
  else sp_add_statement(b, "if not %s then fail %s", c, sp_operand(b, n->ops[1], L_POSTFIX));
}

static void add_assertion(Block *b, const Node *n) {
  switch (n->op) {
  case OP_CHECK: assert_condition(b, n); break;
  case OP_CHECK_INDEX: assert_index(b, n); break;
  case OP_CHECK_SLICE: assert_slice(b, n); break;
  case OP_CHECK_SIZE: assert_size(b, n); break;
  case OP_CHECK_NONZERO: sp_add_statement(b, "assert (%s <> 0)", sp_operand(b, n->ops[0], L_SUM)); break;
  case OP_CHECK_DEPTH:
    sp_add_statement(b, "assert (%s <= %s)", sp_operand(b, n->ops[0], L_SUM), sp_operand(b, n->ops[1], L_SUM));
    break;
  default: sp_add_statement(b, "assert (%s >= 0)", sp_operand(b, n->ops[0], L_SUM));
  }
}

void sp_emit_check(Block *b, Node *n) {
  Node *x = n->ops[0];
  bool made = n->op != OP_CHECK && is_made_elsewhere(b, n), alone = uses_count(b->uses, n) <= 1;
  if (!sp_val_of(b, x) && !sp_is_literal(x)) {
    if (!sp_is_inline(b, x)) sp_ensure(b, x);
    else if (n->op != OP_CHECK && !(made && alone && sp_is_inline(b, n))) sp_define(b, x);
  }
  if (!made) add_assertion(b, n);
  const Val *v = sp_val_of(b, x);
  if (n->op == OP_CHECK) sp_bind(b, n, (Val){.text = {"()", L_ATOM}});
  else if (v) sp_bind(b, n, *v);
  else if (sp_is_literal(x)) sp_bind(b, n, (Val){.text = sp_literal(b->p, x)});
  else sp_bind(b, n, (Val){.text = sp_use(b, x)});
}

/* ---- Waiting ---------------------------------------------------------------------------------------------------- */
bool sp_is_for_failure(Block *b, const Node *n) {
  if ((n->op != OP_SWITCH && n->op != OP_FAIL) || n == b->g->result) return false;
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++)
    if (u->user->op != OP_AFTER || u->operand != 1) return false;
  return true;
}

/* A statement that needs the value. */
static void assert_tautology(Block *b, Node *y) {
  const char *t = sp_operand(b, y, L_SUM);
  switch (y->type->kind) {
  case T_INT: sp_add_statement(b, "assert (%s < 1 || %s >= 1)", t, t); break;
  case T_FLOAT:
    sp_add_statement(b, "assert (%s <= %s || is_nan %s)", t, t, sp_at_level(b->p, sp_use(b, y), L_POSTFIX));
    break;
  case T_BOOL: sp_add_statement(b, "assert (%s || not %s)", t, sp_at_level(b->p, sp_use(b, y), L_POSTFIX)); break;
  case T_ARRAY: sp_add_statement(b, "assert (length %s >= 0)", sp_at_level(b->p, sp_use(b, y), L_POSTFIX)); break;
  case T_UNIT: sp_add_statement(b, "%s", sp_as_statement(b->p, sp_expression(b, y))); break;
  default: sp_no_source(b->p, "waits for a value of type `%s`", sp_type_text(b->p, y->type));
  }
}

void sp_emit_wait(Block *b, Node *y) {
  while (y->op == OP_STOP || y->op == OP_GET) y = y->ops[0];
  if (y->op == OP_PARAM || sp_is_literal(y) || sp_is_check(y) || !(y->flags & (NODE_FAILS | NODE_ENDLESS))) return;
  if (y->op == OP_FAIL) {
    if (!sp_is_done(b, y)) sp_add_statement(b, "%s", sp_use(b, y).s);
  } else if (y->op == OP_AFTER) {
    sp_emit_wait(b, y->ops[0]);
    sp_emit_wait(b, y->ops[1]);
  } else if (y->op == OP_TUPLE) {
    for (int k = 0; k < y->nops; k++) sp_emit_wait(b, y->ops[k]);
  } else if (y->op == OP_SWITCH && sp_is_for_failure(b, y)) {
    if (!sp_is_done(b, y)) sp_emit_branch_effect(b, y);
  } else if (y->op != OP_LOOP && y->op != OP_UPDATE && y->op != OP_INDEX) {
    uint8_t *state = &b->state[uses_position(b->uses, y)];
    if (*state & ST_WAITED) return;
    *state |= ST_WAITED;
    if (y->type->kind != T_UNIT && !sp_val_of(b, y)) sp_define(b, y);
    if (y->type->kind != T_TUPLE) assert_tautology(b, y);
  }
}
