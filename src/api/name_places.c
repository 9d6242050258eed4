/* SPDX-License-Identifier: MIT */
/* Where names stand in a program that was checked, and where what they mean is defined.
 *
 * The checker has noted on the tree what each name means: a binding, a constructor, a type's declaration. A definition
 * is known by the place of its name, so uses in different files are compared by that. Nodes that the parser made of
 * abbreviations have names that don't stand in the text at their places: they are passed over. */
#include "api/query.h"
#include <string.h>

const char *const name_whats[] = {[NAME_VALUE] = "value",
                                  [NAME_CONSTRUCTOR] = "constructor",
                                  [NAME_TYPE] = "type",
                                  [NAME_FIELD] = "field",
                                  [NAME_MODULE] = "module"};

typedef struct Finder {
  AtledVM *vm;
  const Program *program;
  Map imports;    /* Sym -> Item */
  Map parameters; /* Binding -> itself, of those that the walk has met */
  NamePlaceFn fn;
  void *user;
} Finder;

bool name_stands(AtledVM *vm, Span at, Sym name) {
  if (!at.source) return false;
  const Source *s = sources_get(&vm->sources, at.source);
  size_t n = sym_len(name);
  return at.start + n <= s->len && memcmp(s->text + at.start, name, n) == 0;
}

bool same_target(Span a, Span b) { return a.source && a.source == b.source && a.start == b.start; }

Module *name_module(AtledVM *vm, Sym name) {
  ModuleLoader loader = modules_loader(vm);
  Module *m = map_get(&vm->main->modules, name);
  return m ? m : loader.library(loader.user, name);
}

static Span first_of(Span at, Sym name) {
  at.end = at.start + (uint32_t)sym_len(name);
  return at;
}

static Span last_of(Span at, Sym name) {
  uint32_t n = (uint32_t)sym_len(name);
  at.start = at.end - at.start > n ? at.end - n : at.start;
  return at;
}

static void give(const Finder *f, NamePlace p) {
  if (!p.at.source || p.at.source != f->program->source || !name_stands(f->vm, p.at, p.name)) return;
  if (p.at.end - p.at.start != sym_len(p.name)) return;
  if (p.target.source && p.what != NAME_FIELD && !name_stands(f->vm, p.target, p.name)) return;
  f->fn(f->user, &p);
}

static void give_module(const Finder *f, Sym name, Span at) {
  const Item *import = map_get(&f->imports, name);
  NamePlace p = {.what = NAME_MODULE, .name = name, .at = at, .module = name_module(f->vm, name)};
  if (import) p.target = import->name.span;
  give(f, p);
}

/* The module of `Module.name`, if there is one. */
static void give_qualifier(const Finder *f, const Name *n) {
  if (n->module) give_module(f, n->module, first_of(n->span, n->module));
}

/* The walk comes to a function before its parameters and its body. */
static void note_parameters(Finder *f, const Pat *p) {
  if (p->binding) map_put(&f->parameters, p->binding, p->binding);
  for (int i = 0; i < p->nargs; i++) note_parameters(f, p->args[i]);
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */
static void give_expr(Finder *f, const Expr *e) {
  switch (e->kind) {
  case E_VAR:
    give_qualifier(f, &e->name);
    give(f, (NamePlace){.what = NAME_VALUE,
                        .name = e->name.name,
                        .at = last_of(e->name.span, e->name.name),
                        .target = e->binding ? first_of(e->binding->span, e->name.name) : (Span){0},
                        .field = e->field,
                        .parameter = e->binding && map_get(&f->parameters, e->binding),
                        .type = e->type,
                        .binding = e->binding});
    return;
  case E_FUN:
    for (int i = 0; i < e->nparams; i++) note_parameters(f, e->params[i]);
    return;
  case E_CTOR:
    give_qualifier(f, &e->name);
    give(f, (NamePlace){.what = NAME_CONSTRUCTOR,
                        .name = e->name.name,
                        .at = last_of(e->name.span, e->name.name),
                        .target = e->ctor ? first_of(e->ctor->span, e->name.name) : (Span){0},
                        .type = e->type,
                        .ctor = e->ctor});
    return;
  case E_FIELD: {
    NamePlace p = {.what = NAME_FIELD, .name = e->text, .at = last_of(e->op_span, e->text), .type = e->type};
    if (e->args[0]->type) type_declared_at(type_repr(e->args[0]->type), &p.target);
    give(f, p);
    return;
  }
  default: return;
  }
}

static void give_pat(const Finder *f, const Pat *p) {
  if (p->kind == P_CTOR) {
    give_qualifier(f, &p->name);
    give(f, (NamePlace){.what = NAME_CONSTRUCTOR,
                        .name = p->name.name,
                        .at = last_of(p->name.span, p->name.name),
                        .target = p->ctor ? first_of(p->ctor->span, p->name.name) : (Span){0},
                        .type = p->type,
                        .ctor = p->ctor});
  } else if (p->kind == P_VAR || p->kind == P_AS) {
    Span at = p->name.span.source ? p->name.span : p->span;
    give(f, (NamePlace){.what = NAME_VALUE,
                        .name = p->name.name,
                        .at = at,
                        .target = p->binding ? first_of(p->binding->span, p->name.name) : at,
                        .field = p->field,
                        .parameter = p->binding && map_get(&f->parameters, p->binding),
                        .binding = p->binding});
  }
}

static void give_type(const Finder *f, const TypeExpr *t) {
  if (t->kind != TE_NAME) return;
  give_qualifier(f, &t->name);
  give(f,
       (NamePlace){
           .what = NAME_TYPE, .name = t->name.name, .at = last_of(t->name.span, t->name.name), .target = t->declared});
}

static void give_node(void *user, AstNode n) {
  Finder *f = user;
  if (n.kind == AST_EXPR) give_expr(f, n.expr);
  else if (n.kind == AST_PAT) give_pat(f, n.pat);
  else if (n.kind == AST_TYPE) give_type(f, n.type);
}

/* ---- Items --------------------------------------------------------------------------------------------- */
static void give_declarations(const Finder *f, const Item *item) {
  for (int i = 0; i < item->ntypes; i++) {
    const TypeDecl *t = &item->types[i];
    give(f, (NamePlace){.what = NAME_TYPE, .name = t->name, .at = t->name_span, .target = t->name_span});
    for (int k = 0; k < t->nctors; k++) {
      Span at = first_of(t->ctors[k].span, t->ctors[k].name);
      const Ctor *c = map_get(&f->vm->main->ctors, t->ctors[k].name);
      bool latest = c && same_target(first_of(c->span, t->ctors[k].name), at);
      give(f,
           (NamePlace){
               .what = NAME_CONSTRUCTOR, .name = t->ctors[k].name, .at = at, .target = at, .ctor = latest ? c : NULL});
    }
  }
}

static void give_function(const Finder *f, const Item *item) {
  const Binding *b = item->binding;
  give(f, (NamePlace){.what = NAME_VALUE,
                      .name = item->name.name,
                      .at = item->name.span,
                      .target = b                         ? first_of(b->span, item->name.name)
                                : item->kind == I_FOREIGN ? item->name.span
                                                          : (Span){0},
                      .binding = b});
}

static void give_item(const Finder *f, const Item *item) {
  switch (item->kind) {
  case I_TYPE: give_declarations(f, item); break;
  case I_IMPORT:
  case I_OPEN: give_module(f, item->name.name, item->name.span); break;
  case I_FOREIGN:
  case I_PULLBACK:
  case I_TANGENT: give_function(f, item); break;
  default: break;
  }
}

void name_places(AtledVM *vm, const Program *p, NamePlaceFn fn, void *user) {
  Finder f = {.vm = vm, .program = p, .fn = fn, .user = user};
  map_init(&f.imports, &vm->scratch);
  map_init(&f.parameters, &vm->scratch);
  for (int i = 0; i < p->items.len; i++) {
    Item *item = p->items.data[i];
    if (item->kind == I_IMPORT) map_put(&f.imports, item->name.name, item);
  }
  for (int i = 0; i < p->items.len; i++) {
    give_item(&f, p->items.data[i]);
    if (p->items.data[i]->kind != I_IMPORT && p->items.data[i]->kind != I_OPEN)
      ast_walk(p->items.data[i], &vm->scratch, give_node, &f);
  }
}
