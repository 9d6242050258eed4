/* SPDX-License-Identifier: MIT */
/* Updates of arrays. A node UPDATE yields a new array, and in the source an element of a `mut` variable is
 * assigned. The variable of the old array is used if nobody needs that any more: whoever reads it is defined
 * before, unless it also needs the new one (`settle_readers`). Else the array gets a second variable, which is
 * right too: arrays are values. */
#include "source/source_internal.h"

bool sp_is_updated(Block *b, const Node *n) {
  if (n->type->kind != T_ARRAY && n->type->kind != T_BAG) return false;
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++) {
    const Node *user = u->user;
    bool changes = user->op == OP_UPDATE || user->op == OP_ACC_AT || user->op == OP_CUPDATE || user->op == OP_TAKE;
    if (changes && u->operand == 0) return true;
    if (user->op == OP_AFTER && u->operand == 0 && sp_is_updated(b, user)) return true;
    bool slot = user->op == OP_LOOP && u->operand >= loop_first(user->loop);
    if (slot && u->operand < loop_first(user->loop) + loop_slots(user->loop)) return true;
  }
  return false;
}

/* Does x depend on `on`, a node of the same block? */
static bool depends(Block *b, Node *x, const Node *on) {
  const bool *all = uses_dependents(b->uses, on, NULL);
  int at = uses_position(b->uses, x);
  return at >= 0 && all[at];
}

/* Defines who reads x and isn't u, before u changes it. False: some of them read it afterwards. */
static bool settle_readers(Block *b, const Node *x, Node *u) {
  if (x == b->g->result) return false;
  for (const NodeUse *use = uses_first(b->uses, x); use < uses_end(b->uses, x); use++) {
    Node *r = use->user;
    if (r == u || sp_is_literal(r)) continue;
    bool alias = sp_root_of(r) == sp_root_of(x) && r != x;
    if (alias) {
      if (!settle_readers(b, r, u)) return false;
      continue;
    }
    if (sp_is_done(b, r)) continue;
    if (r == b->g->result || depends(b, r, u)) return false;
    if (depends(b, u, r)) continue;
    for (int k = 0; k < r->nops; k++) sp_ensure(b, r->ops[k]);
    if (sp_is_done(b, r)) continue;
    bool changes = r->op == OP_UPDATE || r->op == OP_ACC_AT || r->op == OP_CUPDATE || r->op == OP_TAKE;
    if (r->op == OP_LOOP || changes || sp_is_check(r)) sp_ensure(b, r);
    else sp_define(b, r);
    if (!sp_is_done(b, r) || b->p->why) return false;
  }
  return true;
}

static int occurrences(const Node *u, const Node *x) {
  int n = 0;
  for (int k = 0; k < u->nops; k++) n += sp_root_of(u->ops[k]) == sp_root_of(x);
  return n;
}

Var *sp_take_var(Block *b, Node *u, int k, const char *base) {
  Node *x = u->ops[k];
  const Val *v = sp_val_of(b, x);
  if (v && v->var && v->var->home == b && v->var->version == sp_root_of(x) && occurrences(u, x) == 1 &&
      settle_readers(b, sp_root_of(x), u))
    return v->var;
  Var *var = NEW(b->p->arena, Var);
  Text t = sp_use(b, x);
  *var = (Var){sp_declare(b, base), b, NULL};
  sp_add_mut(b, var->name, t);
  return var;
}

void sp_emit_update(Block *b, Node *u) {
  Printer *p = b->p;
  uint8_t *state = &b->state[uses_position(b->uses, u)];
  *state |= ST_ACTIVE;
  Node *last = u->ops[u->nops - 1];
  if (!sp_is_inline(b, last)) sp_ensure(b, last);
  const char *hint = map_get(&p->hints, u);
  Var *var = sp_take_var(b, u, 0, hint ? hint : sp_name_for(b, u));
  Str at = {.arena = p->arena};
  for (int k = 1; k < u->nops - 1; k++) str_printf(&at, "%s%s", k > 1 ? ", " : "", sp_operand(b, u->ops[k], L_IF));
  sp_add_statement(b, "%s[%s] <- %s", var->name, at.data, sp_as_statement(p, sp_use(b, last)));
  var->version = u;
  sp_bind(b, u, (Val){.text = {var->name, L_ATOM}, .var = var});
}
