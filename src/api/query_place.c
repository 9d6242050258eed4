/* SPDX-License-Identifier: MIT */
/* What stands at a place of a source: the name there, or else the innermost expression or pattern, with its type and
 * documentation. Behind a name's last letter is still at the name. */
#include "api/query.h"
#include <string.h>

typedef struct Search {
  AtledVM *vm;
  uint32_t source, at;
  bool found;
  NamePlace name;
  const char *what; /* of the innermost node; NULL: there is none */
  Span span;
  Type *type;
} Search;

static bool holds(Span s, uint32_t source, uint32_t at) { return s.source == source && s.start <= at && at < s.end; }

static void look_at_name(void *user, const NamePlace *p) {
  Search *s = user;
  if (s->found && holds(s->name.at, s->source, s->at)) return; /* nearer than one that ends here */
  if (!holds(p->at, s->source, s->at) && p->at.end != s->at) return;
  s->name = *p;
  s->found = true;
}

static void look_at_node(void *user, AstNode n) {
  Search *s = user;
  Span at = n.kind == AST_EXPR ? n.expr->span : n.kind == AST_PAT ? n.pat->span : (Span){0};
  Type *type = n.kind == AST_EXPR ? n.expr->type : n.kind == AST_PAT ? n.pat->type : NULL;
  if (!type || type_repr(type)->kind == TY_ERROR || !holds(at, s->source, s->at)) return;
  if (s->what && at.end - at.start > s->span.end - s->span.start) return;
  s->what = n.kind == AST_EXPR ? "expression" : "pattern";
  s->span = at;
  s->type = type;
}

/* From quote to quote. */
static Span path_of_import(const Search *s, const Item *item) {
  const char *text = sources_get(&s->vm->sources, item->span.source)->text;
  const char *first = memchr(text + item->span.start, '"', item->span.end - item->span.start);
  const char *last = first ? memchr(first + 1, '"', (size_t)(text + item->span.end - first - 1)) : NULL;
  if (!last) return (Span){0};
  return (Span){item->span.source, (uint32_t)(first - text), (uint32_t)(last + 1 - text)};
}

/* The path of an import stands for its module. */
static void look_at_import(Search *s, const Item *item) {
  Span path = item->kind == I_IMPORT ? path_of_import(s, item) : (Span){0};
  if (!holds(path, s->source, s->at)) return;
  s->found = true;
  s->name = (NamePlace){.what = NAME_MODULE,
                        .name = item->name.name,
                        .at = path,
                        .target = item->name.span,
                        .module = name_module(s->vm, item->name.name)};
}

bool ask_name(Ask *a, NamePlace *out) {
  Search s = {.vm = a->vm, .source = a->plan.program->source, .at = (uint32_t)a->query.at};
  name_places(a->vm, a->plan.program, look_at_name, &s);
  for (int i = 0; i < a->plan.program->items.len && !s.found; i++) look_at_import(&s, a->plan.program->items.data[i]);
  *out = s.name;
  return s.found;
}

/* ---- Texts --------------------------------------------------------------------------------------------- */
static const char *type_of(AtledVM *vm, Type *t) {
  Str text = {.arena = &vm->scratch};
  if (!t || type_repr(t)->kind == TY_ERROR) return NULL;
  type_print(vm->checker, vm->main, t, &text);
  return text.data;
}

static const char *binding_type(AtledVM *vm, const Binding *b) {
  Str text = {.arena = &vm->scratch};
  if (type_repr(b->type)->kind == TY_ERROR) return NULL;
  binding_type_print(vm->checker, vm->main, b, &text);
  return text.data;
}

static void add_value(Ask *a, const NamePlace *p) {
  const Binding *b = p->binding;
  if (!b) return;
  const char *type = binding_type(a->vm, b), *here = type_of(a->vm, p->type);
  json_text(&a->out, "type", type);
  json_flag(&a->out, "foreign", b->kind == BIND_FOREIGN);
  if (type && here && b->nqvars && strcmp(type, here) != 0) json_text(&a->out, "here", here);
  json_text(&a->out, "doc",
            b->item && b->item->doc ? b->item->doc
            : b->item               ? names_comment_above(a->vm, b->span)
                                    : NULL);
}

/* The name of the library's module that has the source; "prelude" of what needs no module. */
static const char *library_module(AtledVM *vm, uint32_t source) {
  ModuleLoader loader = modules_loader(vm);
  Sym name;
  for (int i = 0; (name = loader.library_name(loader.user, i)); i++) {
    const Module *m = map_get(&vm->libraries, name);
    if (m && m->source == source) return name;
  }
  return "prelude";
}

/* The file and the place of the definition; of a module all of its file. */
static void add_definition(Ask *a, const NamePlace *p) {
  Span at = p->target;
  if (p->what == NAME_MODULE && p->module && !p->module->failed) at = (Span){p->module->source, 0, 0};
  if (!at.source) return;
  const Source *s = sources_get(&a->vm->sources, at.source);
  json_next(&a->out, "definition");
  str_addc(&a->out, '{');
  json_text(&a->out, s->library ? "module" : "file", s->library ? library_module(a->vm, at.source) : s->name);
  json_number(&a->out, "start", at.start);
  json_number(&a->out, "end", at.end);
  str_addc(&a->out, '}');
}

static void add_name(Ask *a, const NamePlace *p) {
  AtledVM *vm = a->vm;
  json_text(&a->out, "name", p->name);
  switch (p->what) {
  case NAME_VALUE: add_value(a, p); break;
  case NAME_CONSTRUCTOR:
    if (p->ctor) json_text(&a->out, "type", type_of(vm, checker_constructor_type(vm->checker, p->ctor)));
    if (p->target.source) json_text(&a->out, "doc", names_comment_above(vm, p->target));
    break;
  case NAME_TYPE:
    if (!p->target.source) break;
    json_text(&a->out, "source", names_definition(vm, p->target));
    json_text(&a->out, "doc", names_comment_above(vm, p->target));
    break;
  case NAME_FIELD: json_text(&a->out, "type", type_of(vm, p->type)); break;
  case NAME_MODULE:
    if (p->module && !p->module->failed) json_text(&a->out, "doc", names_comment_of(vm, p->module));
    break;
  }
  add_definition(a, p);
}

static void begin(Ask *a, Span at, const char *what) {
  str_addc(&a->out, '{');
  json_number(&a->out, "start", at.start);
  json_number(&a->out, "end", at.end);
  json_text(&a->out, "what", what);
}

void ask_place(Ask *a) {
  AtledVM *vm = a->vm;
  const Program *p = a->plan.program;
  Search s = {.vm = vm, .source = p->source, .at = (uint32_t)a->query.at};
  NamePlace name;
  bool named = ask_name(a, &name);
  for (int i = 0; i < p->items.len && !named; i++)
    if (holds(p->items.data[i]->span, s.source, s.at)) ast_walk(p->items.data[i], &vm->scratch, look_at_node, &s);
  if (named) {
    begin(a, name.at, name_whats[name.what]);
    add_name(a, &name);
  } else if (s.what) {
    begin(a, s.span, s.what);
    json_text(&a->out, "type", type_of(vm, s.type));
  } else {
    str_puts(&a->out, "null");
    return;
  }
  str_addc(&a->out, '}');
}
