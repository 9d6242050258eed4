/* SPDX-License-Identifier: MIT */
/* How a word may go on, and the call around it, in a source that somebody is typing: unfinished.c makes it one that
 * parses, with a word that no program has at the place. Where the checker looks that up it notes what is in scope. */
#include "api/query.h"
#include <string.h>

/* Checks the source with the word in it. *words: what was found there. */
static AtledStatus look(Ask *a, Words *w) {
  AtledVM *vm = a->vm;
  const char *text = unfinished_source(vm, a->query.source, a->query.at, &w->start);
  if (!text) return ATLED_BAD_ARGUMENT;
  w->hole.name = sym_of(&vm->syms, unfinished_word);
  checker_set_hole(vm->checker, &w->hole);
  AtledStatus status = plan_look(vm, a->query.name, text, strlen(text), &a->plan);
  checker_set_hole(vm->checker, NULL);
  return status;
}

const Item *item_at(const Ask *a, size_t at) {
  const Program *p = a->plan.program;
  for (int i = 0; i < p->items.len; i++)
    if (p->items.data[i]->span.start <= at && at < p->items.data[i]->span.end) return p->items.data[i];
  return NULL;
}

/* ---- Words --------------------------------------------------------------------------------------------- */
static void offer(Words *w, const char *name, const char *what, const Binding *b, const char *module) {
  Ask *a = w->ask;
  Sym key = sym_of(&a->vm->syms, name);
  if (strncmp(name, w->prefix, w->n) != 0 || map_get(&w->seen, key) || key == w->hole.name) return;
  map_put(&w->seen, key, w);
  json_next(&a->out, NULL);
  str_addc(&a->out, '{');
  json_text(&a->out, "name", name);
  json_text(&a->out, "what", what);
  if (b && type_repr(b->type)->kind != TY_ERROR) {
    Str type = {.arena = &a->vm->scratch};
    binding_type_print(a->vm->checker, a->vm->main, b, &type);
    json_text(&a->out, "type", type.data);
  }
  json_text(&a->out, "module", module);
  json_text(&a->out, "doc", b && b->item ? b->item->doc : NULL);
  str_addc(&a->out, '}');
}

static bool is_capital(const char *s) { return *s >= 'A' && *s <= 'Z'; }

static const char *what_of(const char *name, const Binding *b) {
  if (is_capital(name)) return "constructor";
  return b && type_repr(b->type)->kind == TY_FUN ? "function" : "value";
}

/* Of the program's own names only those of items before that of the word are visible there. */
static bool is_later(const Words *w, const Binding *b) {
  const Item *item = item_at(w->ask, w->start);
  return b->span.source == w->ask->plan.program->source && b->span.start >= (item ? item->span.start : w->start);
}

static const char *const known_types[] = {"int", "float", "bool", "string", "unit", "list", "option", "result"};

/* The prelude's index has types, too: those have names that no value of it has. */
static bool is_type_alone(const char *name) {
  for (size_t i = 5; i < sizeof known_types / sizeof *known_types; i++)
    if (strcmp(known_types[i], name) == 0) return true;
  return false;
}

static void offer_visible(Words *w) {
  AtledVM *vm = w->ask->vm;
  Sym *all;
  int n = checker_visible_names(vm->checker, vm->main, &all, &vm->scratch);
  for (int i = 0; i < n; i++) {
    const Binding *b = map_get(&vm->main->values, all[i]);
    if (map_get(&vm->main->modules, all[i]) || (!b && is_type_alone(all[i])) || !is_word_byte(all[i][0])) continue;
    if (!b || !is_later(w, b)) offer(w, all[i], what_of(all[i], b), b, NULL);
  }
}

static void offer_modules(Words *w) {
  AtledVM *vm = w->ask->vm;
  ModuleLoader loader = modules_loader(vm);
  const Map *own = &vm->main->modules;
  Sym name;
  for (size_t i = 0; i < own->cap; i++)
    if (own->keys[i] && own->vals[i]) offer(w, (Sym)own->keys[i], "module", NULL, NULL);
  for (int i = 0; (name = loader.library_name(loader.user, i)); i++) offer(w, name, "module", NULL, NULL);
}

static void offer_members(Words *w, Sym module) {
  AtledVM *vm = w->ask->vm;
  Module *m = name_module(vm, module);
  Sym *all;
  int n = m ? checker_module_names(vm->checker, m, &all, &vm->scratch) : 0;
  for (int i = 0; i < n; i++) {
    const Binding *b = map_get(&m->values, all[i]);
    offer(w, all[i], what_of(all[i], b), b, module);
  }
  for (size_t i = 0; m && w->hole.of_type && i < m->types.cap; i++)
    if (m->types.keys[i] && m->types.vals[i]) offer(w, (Sym)m->types.keys[i], "type", NULL, module);
}

static void offer_types_of(Words *w, const Module *m) {
  for (size_t i = 0; i < m->types.cap; i++) {
    Sym name = (Sym)m->types.keys[i];
    if (name && m->types.vals[i] && (name[0] != '_' || m == w->ask->vm->main)) offer(w, name, "type", NULL, NULL);
  }
}

static void offer_types(Words *w) {
  const Module *main = w->ask->vm->main;
  offer_types_of(w, main);
  for (int i = 0; i < main->opened.len; i++) offer_types_of(w, main->opened.data[i]);
  for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++) offer(w, known_types[i], "type", NULL, NULL);
  offer_modules(w);
}

static void offer_keywords(Words *w) {
  static const char *const of_items[] = {"type",  "import",   "open",    "foreign", "test",
                                         "bench", "pullback", "tangent", "rule"};
  for (int k = 0; k < TOK_COUNT; k++)
    if (token_is_keyword((TokenKind)k)) offer(w, token_text((TokenKind)k), "keyword", NULL, NULL);
  const char *source = w->ask->query.source;
  bool begins = w->start == 0 || source[w->start - 1] == '\n';
  for (size_t i = 0; begins && i < sizeof of_items / sizeof *of_items; i++)
    offer(w, of_items[i], "keyword", NULL, NULL);
}

/* Is the word that of a module to be opened? */
static bool is_opened(const Words *w) {
  const char *s = w->ask->query.source;
  return w->start >= 5 && memcmp(s + w->start - 5, "open ", 5) == 0 && (w->start == 5 || s[w->start - 6] == '\n');
}

static void offer_all(Words *w) {
  find_fields(w);
  if (is_opened(w)) offer_modules(w);
  else if (w->record) offer_fields(w);
  else if (w->hole.met && w->hole.module) offer_members(w, w->hole.module);
  else if (w->hole.met && w->hole.of_type) offer_types(w);
  else {
    if (w->written) offer_other_fields(w);
    for (int i = 0; i < w->hole.locals.len; i++)
      offer(w, w->hole.locals.data[i]->name, "local", w->hole.locals.data[i], NULL);
    offer_visible(w);
    offer_modules(w);
    offer_keywords(w);
  }
}

AtledStatus ask_words(Ask *a) {
  Words w = {.ask = a};
  AtledStatus status = look(a, &w);
  if (status != ATLED_OK && status != ATLED_BAD_ARGUMENT) return status;
  w.prefix = a->query.source + w.start;
  w.n = a->query.at - w.start;
  bool number = w.n && w.prefix[0] >= '0' && w.prefix[0] <= '9';
  map_init(&w.seen, &a->vm->scratch);
  str_addc(&a->out, '{');
  json_number(&a->out, "start", w.start);
  json_next(&a->out, "words");
  str_addc(&a->out, '[');
  if (status == ATLED_OK && !number) offer_all(&w);
  str_puts(&a->out, "]}");
  if (status == ATLED_OK) plan_forget(a->vm, &a->plan);
  return ATLED_OK;
}

/* ---- Calls --------------------------------------------------------------------------------------------- */
typedef struct CallSearch {
  uint32_t at;
  const Expr *call; /* the innermost; NULL: there is none */
  int active;
} CallSearch;

static void look_at_call(void *user, AstNode n) {
  CallSearch *s = user;
  const Expr *e = n.kind == AST_EXPR && n.expr->kind == E_APPLY ? n.expr : NULL;
  if (!e || s->at < e->span.start || s->at > e->span.end) return;
  for (int i = 1; i < e->nargs; i++) {
    if (s->at < e->args[i]->span.start || s->at > e->args[i]->span.end) continue;
    s->call = e;
    s->active = i - 1;
    return;
  }
}

static const char *skip_constraints(const char *type) {
  for (const char *next; (next = strstr(type, " => "));) type = next + 4;
  return type;
}

/* The end of the parameter that the type begins with; its own end if there is none. */
static const char *end_of_parameter(const char *type) {
  int depth = 0;
  for (; *type; type++) {
    depth += strchr("([{", *type) ? 1 : strchr(")]}", *type) ? -1 : 0;
    if (depth == 0 && strncmp(type, " -> ", 4) == 0) return type;
  }
  return type;
}

static const char *parameter_name(Ask *a, const Expr *f, int i) {
  const Binding *b = f->kind == E_VAR ? f->binding : NULL;
  const Expr *fun = b ? binding_fun(b) : NULL;
  if (!fun || i >= fun->nparams) return NULL;
  const Pat *p = fun->params[i]->kind == P_ANNOT ? fun->params[i]->args[0] : fun->params[i];
  if (p->kind == P_VAR) return p->name.name;
  const char *text = sources_get(&a->vm->sources, p->span.source)->text;
  return p->span.source ? arena_strndup(&a->vm->scratch, text + p->span.start, p->span.end - p->span.start) : NULL;
}

static void add_parameters(Ask *a, const Expr *f, const char *type) {
  Str *out = &a->out;
  json_next(out, "parameters");
  str_addc(out, '[');
  int i = 0;
  for (const char *end; *(end = end_of_parameter(type)); type = end + 4, i++) {
    const char *name = parameter_name(a, f, i);
    Str text = {.arena = &a->vm->scratch};
    if (name) str_printf(&text, "%s : ", name);
    str_add(&text, type, (size_t)(end - type));
    json_next(out, NULL);
    json_string(out, text.data, text.len);
  }
  str_addc(out, ']');
  json_text(out, "result", type);
}

static const char *name_of(const Expr *f) {
  return f->kind == E_VAR || f->kind == E_CTOR ? f->name.name : f->kind == E_FIELD ? f->text : "fun";
}

static void add_call(Ask *a, const CallSearch *s) {
  AtledVM *vm = a->vm;
  const Expr *f = s->call->args[0];
  const Binding *b = f->kind == E_VAR ? f->binding : NULL;
  Str type = {.arena = &vm->scratch};
  if (b) binding_type_print(vm->checker, vm->main, b, &type);
  else type_print(vm->checker, vm->main, f->type, &type);
  str_addc(&a->out, '{');
  json_text(&a->out, "function", name_of(f));
  add_parameters(a, f, skip_constraints(type.data));
  json_number(&a->out, "active", (size_t)s->active);
  json_text(&a->out, "type", type.data);
  json_text(&a->out, "doc", b && b->item ? b->item->doc : NULL);
  str_addc(&a->out, '}');
}

AtledStatus ask_call(Ask *a) {
  Words w = {.ask = a};
  AtledStatus status = look(a, &w);
  if (status != ATLED_OK && status != ATLED_BAD_ARGUMENT) return status;
  CallSearch s = {.at = (uint32_t)w.start};
  const Item *item = status == ATLED_OK ? item_at(a, w.start) : NULL;
  if (item) ast_walk(item, &a->vm->scratch, look_at_call, &s);
  const Type *type = s.call && s.call->args[0]->type ? type_repr(s.call->args[0]->type) : NULL;
  if (type && type->kind == TY_FUN) add_call(a, &s);
  else str_puts(&a->out, "null");
  if (status == ATLED_OK) plan_forget(a->vm, &a->plan);
  return ATLED_OK;
}
