/* SPDX-License-Identifier: MIT */
/* Goes through a syntax tree, for who asks what stands where in a source.
 *
 * Trees are deep: a chain of ten thousand `let … in` is one. So nodes that are still to be gone through are a stack of
 * their own; the parts of a node are pushed in the order of the source, then turned round, so that the first is on
 * top. What the parser makes of abbreviations (sugar.c) is gone through like anything else: its names aren't in the
 * text. */
#include "parser/parser.h"

typedef struct Walk {
  Arena *temp;
  Vec(AstNode) todo;
} Walk;

static void push(Walk *w, AstNode n) { vec_push(w->temp, w->todo, n); }

static void push_expr(Walk *w, Expr *e) {
  if (e) push(w, (AstNode){.kind = AST_EXPR, .expr = e});
}

static void push_pat(Walk *w, Pat *p) {
  if (p) push(w, (AstNode){.kind = AST_PAT, .pat = p});
}

static void push_type(Walk *w, TypeExpr *t) {
  if (t) push(w, (AstNode){.kind = AST_TYPE, .type = t});
}

static void push_exprs(Walk *w, Expr *const *all, int n) {
  for (int i = 0; i < n; i++) push_expr(w, all[i]);
}

static void push_lets(Walk *w, LetBinding *lets, int n) {
  for (int i = 0; i < n; i++) {
    push(w, (AstNode){.kind = AST_LET, .let = &lets[i]});
    push_pat(w, lets[i].pat);
    push_type(w, lets[i].result);
    push_expr(w, lets[i].value);
  }
}

/* ---- Parts of a node ----------------------------------------------------------------------------------- */
static void push_match(Walk *w, const Expr *e) {
  push_expr(w, e->args[0]);
  for (int i = 0; i < e->ncases; i++) {
    push_pat(w, e->cases[i].pat);
    push_expr(w, e->cases[i].guard);
    push_expr(w, e->cases[i].body);
  }
}

static void push_comprehension(Walk *w, const Expr *e) {
  push_expr(w, e->args[0]);
  for (int i = 0; i < e->ngens; i++) {
    push_pat(w, e->gens[i].pat);
    push_expr(w, e->gens[i].bound);
  }
}

static void push_index(Walk *w, const Expr *e) {
  push_expr(w, e->args[0]);
  for (int i = 0; i < e->nsubs; i++) {
    push_expr(w, e->subs[i].lo);
    push_expr(w, e->subs[i].hi);
  }
}

static void push_expr_parts(Walk *w, const Expr *e) {
  switch (e->kind) {
  case E_MATCH: push_match(w, e); return;
  case E_COMPREHENSION: push_comprehension(w, e); return;
  case E_INDEX: push_index(w, e); return;
  case E_LET:
    push_lets(w, e->lets, e->nlets);
    push_expr(w, e->args[0]);
    return;
  case E_FUN:
    for (int i = 0; i < e->nparams; i++) push_pat(w, e->params[i]);
    push_expr(w, e->args[0]);
    return;
  case E_FOR:
    push_pat(w, e->var);
    push_exprs(w, e->args, e->nargs);
    return;
  case E_INTERP:
    for (int i = 0; i < e->nparts; i++) push_expr(w, e->parts[i].hole);
    return;
  case E_ANNOT:
    push_expr(w, e->args[0]);
    push_type(w, e->annot);
    return;
  default: push_exprs(w, e->args, e->nargs); return;
  }
}

static void push_parts(Walk *w, AstNode n) {
  switch (n.kind) {
  case AST_EXPR: push_expr_parts(w, n.expr); return;
  case AST_PAT:
    for (int i = 0; i < n.pat->nargs; i++) push_pat(w, n.pat->args[i]);
    if (n.pat->kind == P_ANNOT) push_type(w, n.pat->annot);
    return;
  case AST_TYPE:
    for (int i = 0; i < n.type->nargs; i++) push_type(w, n.type->args[i]);
    return;
  case AST_LET: return; /* its parts stand beside it */
  }
}

/* ---- Items --------------------------------------------------------------------------------------------- */
static void push_types(Walk *w, const Item *item) {
  for (int i = 0; i < item->ntypes; i++) {
    push_type(w, item->types[i].alias);
    for (int k = 0; k < item->types[i].nctors; k++) push_type(w, item->types[i].ctors[k].arg);
  }
}

static void push_item(Walk *w, const Item *item) {
  switch (item->kind) {
  case I_LET: push_lets(w, item->lets, item->nlets); return;
  case I_TYPE: push_types(w, item); return;
  default:
    push_type(w, item->annot);
    push_expr(w, item->expr);
    return;
  }
}

static void reverse_from(Walk *w, int first) {
  for (int i = first, k = w->todo.len - 1; i < k; i++, k--) {
    AstNode n = w->todo.data[i];
    w->todo.data[i] = w->todo.data[k];
    w->todo.data[k] = n;
  }
}

void ast_walk(const Item *item, Arena *temp, AstFn fn, void *user) {
  Walk w = {.temp = temp};
  push_item(&w, item);
  reverse_from(&w, 0);
  for (uint32_t i = 0; w.todo.len; i++) {
    AstNode n = w.todo.data[--w.todo.len];
    heap_look_at(temp->heap, i);
    fn(user, n);
    int first = w.todo.len;
    push_parts(&w, n);
    reverse_from(&w, first);
  }
}
