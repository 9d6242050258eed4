/* SPDX-License-Identifier: MIT */
/* Which fields may stand for a word that somebody is typing: those of a value before a point, or of a record that is
 * being written.
 *
 * The type of a value says them; of a parameter it is often open, and then the fields are likely that such values have
 * elsewhere in the program. */
#include "api/query.h"
#include <string.h>

static void offer_field(Words *w, Sym name, const char *type) {
  if (strncmp(name, w->prefix, w->n) != 0 || map_get(&w->seen, name)) return;
  map_put(&w->seen, name, w);
  json_next(&w->ask->out, NULL);
  str_addc(&w->ask->out, '{');
  json_text(&w->ask->out, "name", name);
  json_text(&w->ask->out, "what", "field");
  json_text(&w->ask->out, "type", type);
  str_addc(&w->ask->out, '}');
}

/* The fields of the value before the point, or before `with`. */
static void offer_known(Words *w) {
  AtledVM *vm = w->ask->vm;
  Type *t = w->record->type ? type_repr(w->record->type) : NULL;
  for (int i = 0; t && t->kind == TY_RECORD && i < t->n; i++) {
    Str type = {.arena = &vm->scratch};
    type_print(vm->checker, vm->main, t->args[i], &type);
    offer_field(w, t->names[i], type.data);
  }
}

static bool has_field(const Sym *fields, int n, Sym field) {
  for (int i = 0; i < n; i++)
    if (fields[i] == field) return true;
  return false;
}

/* Has a record all fields that are written? */
static bool fits_record(const Words *w, const Sym *fields, int n) {
  for (int i = 0; i < w->nwritten; i++)
    if (w->written[i] != w->hole.name && !has_field(fields, n, w->written[i])) return false;
  return true;
}

/* Its other fields. */
static void offer_rest(Words *w, const TypeExpr *t) {
  if (!t || t->kind != TE_RECORD || !fits_record(w, t->fields, t->nargs)) return;
  for (int i = 0; i < t->nargs; i++) {
    Span at = t->args[i]->span;
    const char *text = sources_get(&w->ask->vm->sources, at.source)->text;
    if (!has_field(w->written, w->nwritten, t->fields[i]))
      offer_field(w, t->fields[i], arena_strndup(&w->ask->vm->scratch, text + at.start, at.end - at.start));
  }
}

static void offer_rest_of(Words *w, Item *const *items, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; items[i]->kind == I_TYPE && k < items[i]->ntypes; k++) offer_rest(w, items[i]->types[k].alias);
}

void offer_other_fields(Words *w) {
  const Program *p = w->ask->plan.program;
  const Map *imports = &w->ask->vm->main->modules;
  offer_rest_of(w, p->items.data, p->items.len);
  for (size_t i = 0; i < imports->cap; i++) {
    const Module *m = imports->keys[i] ? imports->vals[i] : NULL;
    if (m) offer_rest_of(w, m->items.data, m->items.len);
  }
}

/* ---- Fields of a value whose type isn't known ----------------------------------------------------------- */
typedef struct FieldUses {
  Words *words;
  Vec(Sym) fields; /* that are used of the same variable */
} FieldUses;

static void find_use(void *user, AstNode n) {
  FieldUses *u = user;
  const Expr *of = u->words->record;
  if (n.kind != AST_EXPR || n.expr->kind != E_FIELD || n.expr->args[0]->kind != E_VAR || of->kind != E_VAR) return;
  Sym field = n.expr->text;
  if (!of->binding || n.expr->args[0]->binding != of->binding || field == u->words->hole.name) return;
  if (!has_field(u->fields.data, u->fields.len, field)) vec_push(&u->words->ask->vm->scratch, u->fields, field);
}

static void offer_made(void *user, AstNode n) {
  Words *w = user;
  const Expr *e = n.expr;
  if (n.kind != AST_EXPR || e->kind != E_RECORD || !fits_record(w, e->fields, e->nargs)) return;
  for (int i = 0; i < e->nargs; i++) offer_field(w, e->fields[i], NULL);
}

/* It is a parameter, say. The fields that it has been used with, and others of records that have all of them: of
 * declared types, and of those that the program makes. */
static void offer_likely(Words *w) {
  const Program *p = w->ask->plan.program;
  const Item *item = item_at(w->ask, w->start);
  Arena *temp = &w->ask->vm->scratch;
  FieldUses u = {.words = w};
  ast_walk(item, temp, find_use, &u);
  w->written = u.fields.data;
  w->nwritten = u.fields.len;
  for (int i = 0; i < u.fields.len; i++) offer_field(w, u.fields.data[i], NULL);
  offer_other_fields(w);
  for (int i = 0; i < p->items.len; i++)
    if (p->items.data[i]->kind == I_LET || p->items.data[i]->kind == I_EXPR)
      ast_walk(p->items.data[i], temp, offer_made, w);
}

static bool is_known(Type *type) {
  TypeKind kind = type ? type_repr(type)->kind : TY_ERROR;
  return kind != TY_VAR && kind != TY_ERROR;
}

/* Notes the fields of a record that is being written if the word is a lone name there. */
static void look_at_fields(Words *w, const Sym *fields, int n) {
  if (!has_field(fields, n, w->hole.name)) return;
  w->written = fields;
  w->nwritten = n;
}

static void find_record(void *user, AstNode n) {
  Words *w = user;
  if (n.kind == AST_PAT && n.pat->kind == P_RECORD) look_at_fields(w, n.pat->fields, n.pat->nargs);
  if (n.kind != AST_EXPR) return;
  const Expr *e = n.expr;
  bool gets = e->kind == E_FIELD && e->text == w->hole.name;
  if (e->kind == E_RECORD) look_at_fields(w, e->fields, e->nargs);
  if (gets || (e->kind == E_WITH && has_field(e->fields, e->nargs - 1, w->hole.name))) w->record = e->args[0];
}

void find_fields(Words *w) {
  const Item *item = item_at(w->ask, w->start);
  if (item) ast_walk(item, &w->ask->vm->scratch, find_record, w);
}

void offer_fields(Words *w) {
  if (is_known(w->record->type)) offer_known(w);
  else offer_likely(w);
}
