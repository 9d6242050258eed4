/* SPDX-License-Identifier: MIT */
/* The definitions of a source, for documentation and outlines: atled_definitions. Nothing is run.
 *
 *   a program           checked; the types are those of its own bindings, and its definitions are taken back
 *   a library's module  its text is parsed for its structure; types come from the module, item by item
 *
 * Of a name that is defined twice the later definition counts. All that the host gets is in the scratch arena. */
#include "api/pipeline.h"
#include <string.h>

typedef Vec(const AtledDefinition *) DefinitionList;

typedef struct DefinitionsCall {
  const char *name, *source; /* source NULL: the library's module of that name */
  DefinitionList found;
} DefinitionsCall;

typedef struct Collector {
  AtledVM *vm;
  Module *module;
  const Source *source;
  const Item *item; /* which is looked at */
  DefinitionList *found;
} Collector;

static const char *copied(AtledVM *vm, const char *text) { return arena_strndup(&vm->scratch, text, strlen(text)); }

static const char *text_of(Collector *c, Span at) {
  return arena_strndup(&c->vm->scratch, c->source->text + at.start, at.end - at.start);
}

/* The comment above the item, each line with its end; or NULL. */
static const char *doc_of(Collector *c) {
  return c->item->doc ? arena_printf(&c->vm->scratch, "%s\n", c->item->doc) : NULL;
}

static AtledDefinition *add(Collector *c, const char *kind, const char *name, Span at) {
  AtledDefinition *d = NEW(&c->vm->scratch, AtledDefinition);
  int column;
  *d = (AtledDefinition){.kind = kind, .name = copied(c->vm, name), .line = 1};
  if (at.source) span_position(&c->vm->sources, at, &d->line, &column);
  vec_push(&c->vm->scratch, *c->found, d);
  return d;
}

/* ---- Values ------------------------------------------------------------------------------------- */
static const char *parameter_text(Collector *c, const Pat *p) {
  if (p->kind == P_ANNOT) p = p->args[0];
  return p->kind == P_VAR ? copied(c->vm, p->name.name) : text_of(c, p->span);
}

static void add_parameters(Collector *c, AtledDefinition *d, const Expr *f) {
  if (!f || f->kind != E_FUN) return;
  const char **texts = NEW_ARRAY(&c->vm->scratch, const char *, f->nparams + 1);
  for (int i = 0; i < f->nparams; i++) texts[i] = parameter_text(c, f->params[i]);
  d->parameters = texts;
  d->parameter_count = f->nparams;
}

/* A value of that name, unless a later definition of the source hides it. */
static void add_value(Collector *c, Name name, const Binding *own, const Expr *function) {
  const Binding *b = checker_lookup(c->vm->checker, c->module, sym_of(&c->vm->syms, name.name));
  if (!b || (own && own != b) || (!own && b->span.start != name.span.start)) return;
  Str type = {.arena = &c->vm->scratch};
  binding_type_print(c->vm->checker, c->module, b, &type);
  AtledDefinition *d = add(c, "value", name.name, b->span);
  d->type = type.data;
  d->doc = doc_of(c);
  d->source = text_of(c, c->item->span);
  add_parameters(c, d, function);
}

static void add_pattern(Collector *c, const Pat *p, const Expr *function) {
  if (p->kind == P_VAR || p->kind == P_AS) {
    Name name = p->name;
    name.span = p->binding ? p->binding->span : p->span;
    add_value(c, name, p->binding, function);
  }
  int n = p->kind == P_OR ? 1 : p->nargs;
  for (int i = 0; i < n; i++) add_pattern(c, p->args[i], NULL);
}

/* ---- Types -------------------------------------------------------------------------------------- */
static void add_constructor(Collector *c, const CtorDecl *k) {
  Declared seen;
  bool known = checker_declared(c->vm->checker, c->module, sym_of(&c->vm->syms, k->name), &seen);
  if (!known || !seen.constructor || seen.span.start != k->span.start) return;
  Str type = {.arena = &c->vm->scratch};
  type_print(c->vm->checker, c->module, seen.constructor, &type);
  add(c, "constructor", k->name, k->span)->type = type.data;
}

static void add_fields(Collector *c, const TypeExpr *record) {
  for (int i = 0; record->kind == TE_RECORD && i < record->nargs; i++)
    add(c, "field", record->fields[i], record->args[i]->span)->type = text_of(c, record->args[i]->span);
}

static void add_type(Collector *c, const TypeDecl *t) {
  Declared seen;
  bool known = checker_declared(c->vm->checker, c->module, sym_of(&c->vm->syms, t->name), &seen);
  if (!known || seen.constructor || seen.span.start != t->span.start) return;
  AtledDefinition *d = add(c, "type", t->name, t->span);
  d->doc = doc_of(c);
  d->source = text_of(c, c->item->span);
  for (int i = 0; i < t->nctors; i++) add_constructor(c, &t->ctors[i]);
  if (t->alias) add_fields(c, t->alias);
}

/* ---- Items -------------------------------------------------------------------------------------- */
static bool is_hidden_import(const Program *p, int number) {
  const char *name = p->items.data[number]->name.name;
  for (int i = number + 1; i < p->items.len; i++)
    if (p->items.data[i]->kind == I_IMPORT && strcmp(p->items.data[i]->name.name, name) == 0) return true;
  return false;
}

static void add_import(Collector *c) {
  const Item *item = c->item;
  const Module *m = map_get(&c->module->modules, sym_of(&c->vm->syms, item->name.name));
  AtledDefinition *d = add(c, "import", item->name.name, item->span);
  d->doc = doc_of(c);
  d->source = text_of(c, item->span);
  d->file = m && m->path ? copied(c->vm, m->path) : NULL;
}

static void add_item(Collector *c, const Program *p, int number) {
  const Item *item = c->item = p->items.data[number];
  switch (item->kind) {
  case I_LET:
    for (int i = 0; i < item->nlets; i++) add_pattern(c, item->lets[i].pat, item->lets[i].value);
    return;
  case I_TYPE:
    for (int i = 0; i < item->ntypes; i++) add_type(c, &item->types[i]);
    return;
  case I_FOREIGN: add_value(c, item->name, item->binding, NULL); return;
  case I_IMPORT:
    if (!is_hidden_import(p, number)) add_import(c);
    return;
  default: return;
  }
}

static void collect(AtledVM *vm, DefinitionsCall *call, Module *m, const Program *p) {
  Collector c = {vm, m, sources_get(&vm->sources, p->source), NULL, &call->found};
  AtledDefinition *all = add(&c, "source", c.source->name, (Span){0});
  all->source = arena_strndup(&vm->scratch, c.source->text, c.source->len);
  for (int i = 0; i < p->items.len; i++) add_item(&c, p, i);
}

/* ---- The call ----------------------------------------------------------------------------------- */
static AtledStatus collect_program(AtledVM *vm, DefinitionsCall *c) {
  Plan plan;
  AtledStatus status = plan_front(vm, c->name, c->source, strlen(c->source), &plan);
  if (status != ATLED_OK) return status;
  collect(vm, c, vm->main, plan.program);
  plan_forget(vm, &plan);
  return ATLED_OK;
}

static AtledStatus collect_library(AtledVM *vm, DefinitionsCall *c) {
  ModuleLoader loader = modules_loader(vm);
  bool is_prelude = strcmp(c->name, "prelude") == 0 && !vm->config.no_stdlib;
  Module *m = is_prelude ? vm->prelude : loader.library(loader.user, sym_of(&vm->syms, c->name));
  if (!m || !m->library) return report_bad_argument(vm, "the library has no module `%s`", c->name);
  const Program *p = parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, m->source);
  if (report_diags(vm)) return ATLED_COMPILE_ERROR;
  collect(vm, c, m, p);
  return ATLED_OK;
}

static AtledStatus definitions_body(AtledVM *vm, void *arg) {
  DefinitionsCall *c = arg;
  return c->source ? collect_program(vm, c) : collect_library(vm, c);
}

AtledStatus atled_definitions(AtledVM *vm, const char *name, const char *source,
                              const AtledDefinition *const **definitions, int *count) {
  if (!definitions || !count) return vm_reject_null(vm, "the place for the definitions");
  *definitions = NULL;
  *count = 0;
  if (!name) return vm_reject_null(vm, "the name of the source");
  DefinitionsCall c = {.name = name, .source = source};
  AtledStatus status = vm_call(vm, definitions_body, &c);
  if (status != ATLED_OK) return status;
  *definitions = c.found.data;
  *count = c.found.len;
  return ATLED_OK;
}
