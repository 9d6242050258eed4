/* SPDX-License-Identifier: MIT */
/* The interface of check.h: checkers, modules, programs, and what hosts ask. */
#include "check/check_internal.h"
#include "support/rights.h"
#include "support/phases.h"
#include <string.h>

static Type *constant(Arena *a, TypeKind kind) {
  Type *t = NEW(a, Type);
  t->kind = kind;
  return t;
}

Checker *checker_new(Arena *arena, Arena *temp, SymTable *syms, Sources *sources, ModuleLoader loader) {
  Checker *c = NEW(arena, Checker);
  c->arena = arena;
  c->temp = temp;
  c->syms = syms;
  c->sources = sources;
  c->loader = loader;
  c->rights.granted = RIGHTS_ALL;
  c->t_int = constant(arena, TY_INT);
  c->t_float = constant(arena, TY_FLOAT);
  c->t_bool = constant(arena, TY_BOOL);
  c->t_string = constant(arena, TY_STRING);
  c->t_unit = constant(arena, TY_UNIT);
  c->t_pure = constant(arena, TY_PURE);
  c->t_effect = constant(arena, TY_EFFECT);
  c->t_error = constant(arena, TY_ERROR);
  map_init(&c->data_leaves, arena);
  diags_init(&c->own_diags, arena, sources);
  c->diags = &c->own_diags;
  return c;
}

void checker_save(Checker *c, Module *m) {
  SAVE(c->arena, *c);
  SAVE(c->arena, *m);
}

int checker_items_read(const Checker *c) { return c->items_read; }

void checker_test_rules(Checker *c, bool on) { c->tests_rules = on; }

void checker_set_prelude(Checker *c, Module *prelude) { c->prelude = prelude; }
void checker_set_rights(Checker *c, RightsGiven rights) { c->rights = rights; }

Module *checker_new_module(Checker *c, Sym name, const char *path, uint32_t source) {
  Module *m = NEW(c->arena, Module);
  m->name = name;
  m->path = path;
  m->source = source;
  map_init(&m->values, c->arena);
  map_init(&m->types, c->arena);
  map_init(&m->ctors, c->arena);
  map_init(&m->modules, c->arena);
  return m;
}

/* ---- Library modules --------------------------------------------------------------- */
Module *checker_lazy_module(Checker *c, Lexer *lx, Sym name, uint32_t source, const ItemIndex *index) {
  Module *m = checker_new_module(c, name, NULL, source);
  Lazy *lazy = NEW(c->arena, Lazy);
  *lazy = (Lazy){lx, index, NEW_ARRAY(c->arena, LazyItem, index->nitems)};
  m->library = true;
  m->lazy = lazy;
  return m;
}

/* ---- Programs ------------------------------------------------------------------------ */
bool check_program(Checker *c, Module *m, Program *p, Diags *diags) {
  State saved = c->s;
  Diags *outer = c->diags;
  Span at = c->at;
  int errors = diags->errors;
  Phase before = phase_enter(c->arena->heap, PHASE_CHECK);
  c->diags = diags;
  tc_state_begin(c, m, NULL);
  for (int i = 0; i < p->items.len && !diags_full(diags);) i = tc_check_items(c, m, p->items.data, i, p->items.len);
  c->diags = outer;
  c->s = saved;
  c->at = at;
  phase_leave(c->arena->heap, before);
  return diags->errors == errors;
}

/* ---- Hosts ------------------------------------------------------------------------------ */
Binding *checker_lookup(Checker *c, Module *m, Sym name) {
  State saved = c->s;
  tc_state_begin(c, m, NULL);
  Binding *b = tc_module_value(c, m, name);
  c->s = saved;
  return b;
}

typedef struct NameSet {
  Arena *arena;
  Map seen;
  Vec(Sym) names;
} NameSet;

static void add_name(NameSet *s, Sym name, bool private) {
  if (map_get(&s->seen, name) || (name[0] == '_' && !private)) return;
  map_put(&s->seen, name, s);
  vec_push(s->arena, s->names, name);
}

static void add_map(NameSet *s, const Map *m, bool private) {
  for (size_t i = 0; i < m->cap; i++)
    if (m->keys[i] && m->vals[i]) add_name(s, (Sym)m->keys[i], private);
}

/* Constructors are as private as their type. */
static void add_constructors(NameSet *s, const Map *m, bool private) {
  for (size_t i = 0; i < m->cap; i++) {
    const Ctor *k = m->vals[i];
    if (k && (private || k->data->name[0] != '_')) add_name(s, k->name, private);
  }
}

static void add_module(Checker *c, NameSet *s, const Module *m, bool private) {
  add_map(s, &m->values, private);
  add_constructors(s, &m->ctors, private);
  Sym *names;
  int n = tc_indexed_names(c, m, &names, s->arena);
  for (int i = 0; i < n; i++) add_name(s, names[i], private);
}

int checker_visible_names(Checker *c, Module *m, Sym **out, Arena *a) {
  NameSet s = {.arena = a};
  map_init(&s.seen, a);
  add_module(c, &s, m, true);
  add_map(&s, &m->modules, true);
  for (int i = 0; i < m->opened.len; i++) add_module(c, &s, m->opened.data[i], false);
  if (c->prelude && c->prelude != m) add_module(c, &s, c->prelude, false);
  *out = s.names.data;
  return s.names.len;
}

int checker_module_names(Checker *c, const Module *m, Sym **out, Arena *a) {
  NameSet s = {.arena = a};
  map_init(&s.seen, a);
  add_module(c, &s, m, false);
  *out = s.names.data;
  return s.names.len;
}

Type *checker_parse_type(Checker *c, Module *m, Diags *diags, Lexer *lx, const char *text) {
  const char *item = arena_printf(c->temp, "foreign \"host\" f :\n %s", text);
  uint32_t source = sources_add(c->sources, "<type>", item, strlen(item));
  int errors = diags->errors;
  Program *p = parse_program(lx, c->temp, c->syms, diags, source);
  if (diags->errors > errors) return NULL;
  if (p->items.len != 1) {
    diag_error(diags, p->items.data[1]->span, "type", "a type is needed, and nothing after it");
    return NULL;
  }
  if (p->items.data[0]->expr) {
    diag_error(diags, p->items.data[0]->annot->span, "type", "only a C function's array has its length here");
    return NULL;
  }
  State saved = c->s;
  Diags *outer = c->diags;
  c->diags = diags;
  tc_state_begin(c, m, NULL);
  c->s.level = 1;
  Type *t = tc_resolve_annotation(c, p->items.data[0]->annot);
  c->diags = outer;
  c->s = saved;
  return diags->errors > errors ? NULL : t;
}

Type *checker_constructor_type(Checker *c, const Ctor *k) {
  Type *data = type_new(c, TY_DATA, k->data->nparams);
  data->data = k->data;
  for (int i = 0; i < k->data->nparams; i++) data->args[i] = k->data->params[i];
  if (!k->arg) return data;
  Type *f = type_new(c, TY_FUN, 3);
  f->args[0] = k->arg;
  f->args[1] = data;
  f->args[2] = c->t_pure;
  return f;
}

bool checker_declared(Checker *c, Module *m, Sym name, Declared *out) {
  State saved = c->s;
  tc_state_begin(c, m, NULL);
  const TypeName *t = tc_find_type(c, (Name){.name = name});
  const Ctor *k = t ? NULL : tc_find_ctor(c, m, name);
  if (t) *out = (Declared){.span = t->span};
  if (k) *out = (Declared){.span = k->span, .constructor = checker_constructor_type(c, k)};
  c->s = saved;
  return t || k;
}

void checker_set_hole(Checker *c, Hole *hole) { c->hole = hole; }

bool type_declared_at(const Type *t, Span *name) {
  if (t->kind == TY_RECORD && t->alias) *name = t->alias->name->name_span;
  else if (t->kind == TY_DATA) *name = t->data->name_span;
  else return false;
  return name->source != 0;
}

/* Effects stay open: each use of a function may have its own. */
void checker_make_rigid(Checker *c, Type *t) {
  t = type_repr(t);
  if (t->kind == TY_VAR && !(t->classes & CLASS_EFFECT)) t->level = LEVEL_GENERIC;
  for (int i = 0; t->kind != TY_VAR && i < t->n; i++) checker_make_rigid(c, t->args[i]);
}

static void open_effects(Type *t) {
  if (t->kind == TY_VAR && t->classes & CLASS_EFFECT) t->link = NULL;
  for (int i = 0; t->kind != TY_VAR && i < t->n; i++) open_effects(t->args[i]);
}

bool checker_fits(Checker *c, Binding *b, Type *t) {
  bool fits = checker_instantiate_at(c, b, t, NEW_ARRAY(c->temp, Type *, b->nqvars + 1));
  open_effects(t);
  return fits;
}

bool checker_instantiate_at(Checker *c, Binding *b, Type *t, Type **inst) {
  State saved = c->s;
  Diags *outer = c->diags, own;
  diags_init(&own, c->temp, c->sources);
  c->diags = &own;
  tc_state_begin(c, b->module ? b->module : c->prelude, NULL);
  Marks m = tc_enter_level(c);
  Type **fresh;
  bool ok = tc_unify(c, tc_instantiate(c, b, b->span, &fresh), t);
  tc_leave_level(c, m, NULL, 0, GEN_NONE);
  for (int i = 0; i < b->nqvars; i++) {
    inst[i] = type_repr(fresh[i]);
    if (inst[i]->kind == TY_VAR) inst[i] = inst[i]->classes & CLASS_EFFECT ? c->t_pure : c->t_unit; /* one of t */
  }
  ok = ok && !own.errors;
  c->diags = outer;
  c->s = saved;
  return ok;
}
