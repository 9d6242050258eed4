/* SPDX-License-Identifier: MIT */
/* Which definitions use a version of a file that has been edited since.
 *
 * The next import of an edited file reads it again. Definitions that were made with the old version go on using
 * that. So each definition's set of file modules is kept, including those that it uses by way of other definitions.
 * Definitions that use an old version are reported when the file is read again, and whenever one of them is used
 * later. */
#include "api/pipeline.h"
#include <string.h>

typedef struct Walk {
  AtledVM *vm;
  UseList found;  /* modules that the item uses; their names are NULL */
  Vec(Sym) stale; /* names of older definitions that use a module which was edited since */
} Walk;

static void add_module(Walk *w, const Module *m) {
  for (int i = 0; i < w->found.len; i++)
    if (w->found.data[i].module == m) return;
  vec_push(&w->vm->scratch, w->found, ((Use){.module = m}));
}

static void add_stale(Walk *w, Sym name) {
  for (int i = 0; i < w->stale.len; i++)
    if (w->stale.data[i] == name) return;
  vec_push(&w->vm->scratch, w->stale, name);
}

/* Uses of a name stand together, the latest definition's first. */
static const Use *first_use(const AtledVM *vm, Sym name) {
  const Use *u = vm->uses;
  while (u && u->name != name) u = u->before;
  return u;
}

static void use_binding(Walk *w, const Binding *b) {
  const Module *m = b ? b->module : NULL;
  if (!m) return;
  if (m != w->vm->main) {
    if (m->path && !m->library) add_module(w, m);
    return;
  }
  for (const Use *u = first_use(w->vm, b->name); u && u->name == b->name && u->module; u = u->before) {
    add_module(w, u->module);
    if (u->module->replaced) add_stale(w, b->name);
  }
}

/* Nested as deep as the parser lets it be. */
static void walk(Walk *w, const Expr *e) {
  if (!e) return;
  if (e->kind == E_VAR || e->kind == E_ASSIGN) use_binding(w, e->binding);
  for (int i = 0; i < e->nargs; i++) walk(w, e->args[i]);
  for (int i = 0; e->kind == E_LET && i < e->nlets; i++) walk(w, e->lets[i].value);
  for (int i = 0; e->kind == E_MATCH && i < e->ncases; i++) {
    walk(w, e->cases[i].guard);
    walk(w, e->cases[i].body);
  }
  for (int i = 0; e->kind == E_COMPREHENSION && i < e->ngens; i++) walk(w, e->gens[i].bound);
  for (int i = 0; e->kind == E_INDEX && i < e->nsubs; i++) {
    walk(w, e->subs[i].lo);
    walk(w, e->subs[i].hi);
  }
  for (int i = 0; e->kind == E_INTERP && i < e->nparts; i++) walk(w, e->parts[i].hole);
}

static void walk_item(Walk *w, const Item *item) {
  w->found.len = 0;
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++) walk(w, item->lets[i].value);
  bool is_plain = item->kind == I_EXPR || item->kind == I_PULLBACK || item->kind == I_TANGENT || item->kind == I_RULE;
  if (is_plain || (item->kind == I_FOREIGN && item->expr)) walk(w, item->expr);
  if (item->kind == I_TEST || item->kind == I_BENCH) walk(w, item->run ? item->run : item->expr);
}

typedef struct NameUses {
  Walk *walk;
  UseList *out;
} NameUses;

/* A definition without modules has a row too: the name's older ones don't count any more. */
static void add_name(void *user, const Pat *p) {
  const NameUses *u = user;
  AtledVM *vm = u->walk->vm;
  const char *name = arena_strndup(&vm->scratch, p->binding->name, strlen(p->binding->name));
  Use none = {.name = name};
  if (!u->walk->found.len) vec_push(&vm->scratch, *u->out, none);
  for (int i = 0; i < u->walk->found.len; i++) {
    Use use = {.name = name, .module = u->walk->found.data[i].module};
    vec_push(&vm->scratch, *u->out, use);
  }
}

/* "`f`, `g` and `h`", the oldest first. */
static const char *list(AtledVM *vm, Sym const *names, int n) {
  Str s = {.arena = &vm->scratch};
  for (int i = n - 1; i >= 0; i--) str_printf(&s, "%s`%s`", i == n - 1 ? "" : i ? ", " : " and ", names[i]);
  return s.data;
}

UseList uses_of(AtledVM *vm, const Plan *plan) {
  UseList out = {0};
  Walk w = {.vm = vm};
  if (!vm->modules.len && !vm->uses) return out;
  for (int i = plan->first_item; i < vm->main->items.len; i++) {
    walk_item(&w, vm->main->items.data[i]);
    plan_each_variable(vm->main->items.data[i], add_name, &(NameUses){&w, &out});
  }
  if (w.stale.len)
    report_warning(vm, "edited", "made with a file that was edited since: %s; evaluate the definition again",
                   list(vm, w.stale.data, w.stale.len));
  return out;
}

/* Does the name still mean a definition that uses an edited module? */
static bool is_stale(const AtledVM *vm, const Use *u) {
  return u->module && u->module->replaced && first_use(vm, u->name)->module && map_get(&vm->main->values, u->name);
}

static bool read_something_again(const AtledVM *vm) {
  for (int i = 0; i < vm->modules.len; i++)
    if (vm->modules.data[i]->replaced && vm->modules.data[i]->looked_at == vm->arena.epoch) return true;
  return false;
}

void uses_keep(AtledVM *vm, const UseList *uses) {
  for (int i = 0; i < uses->len; i++) {
    Use *u = NEW(&vm->arena, Use);
    *u = uses->data[i];
    u->name = sym_of(&vm->syms, u->name);
    u->before = vm->uses;
    vm->uses = u;
  }
  if (!vm->uses || !read_something_again(vm)) return;
  Walk w = {.vm = vm};
  for (const Use *u = vm->uses; u; u = u->before)
    if (is_stale(vm, u) && first_use(vm, u->name) == u) add_stale(&w, u->name);
  if (w.stale.len)
    report_warning(vm, "edited", "still as before the file was edited: %s; evaluate the definitions again",
                   list(vm, w.stale.data, w.stale.len));
}
