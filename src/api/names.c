/* SPDX-License-Identifier: MIT */
/* What names mean, and how to find them: by a part of the name, or by a type. */
#include "api/query.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Looking up ------------------------------------------------------------------------------------------ */
static Module *find_module(AtledVM *vm, Sym name) {
  ModuleLoader loader = modules_loader(vm);
  Module *m = map_get(&vm->main->modules, name);
  return m ? m : loader.library(loader.user, name);
}

/* Splits "Module.name"; the main module where there is no point. NULL: no such module. */
static Module *split(AtledVM *vm, const char *what, Sym *name) {
  const char *dot = strrchr(what, '.');
  Module *m = dot && dot > what ? find_module(vm, sym_intern(&vm->syms, what, (size_t)(dot - what))) : vm->main;
  *name = sym_of(&vm->syms, dot && dot > what ? dot + 1 : what);
  return m;
}

Binding *names_value(AtledVM *vm, const char *what) {
  Sym name;
  Module *m = split(vm, what, &name);
  return m ? checker_lookup(vm->checker, m, name) : NULL;
}

/* ---- Texts of definitions -------------------------------------------------------------------------------- */
static size_t line_start(const char *text, size_t at) {
  while (at && text[at - 1] != '\n') at--;
  return at;
}

static size_t next_line(const char *text, size_t at) {
  return at + strcspn(text + at, "\n") + (strchr(text + at, '\n') != NULL);
}

static bool begins_with(const char *line, const char *word) { return strncmp(line, word, strlen(word)) == 0; }

/* A line that belongs to the definition above it. */
static bool goes_on(const char *line) {
  return (*line && strchr(" \t|)]}", *line)) || begins_with(line, "and ") || begins_with(line, "in ") ||
         begins_with(line, "then ") || begins_with(line, "else ");
}

static bool is_rule(const char *line) { return begins_with(line, "pullback ") || begins_with(line, "tangent "); }

/* The lines of the definition at that place, its rules with it. */
static const char *definition(AtledVM *vm, const Source *s, size_t at) {
  size_t start = line_start(s->text, at), end = next_line(s->text, at), last = end;
  while (start && goes_on(s->text + start)) start = line_start(s->text, start - 1);
  for (; end < s->len; end = next_line(s->text, end)) {
    const char *line = s->text + end;
    bool blank = line[strspn(line, " \t")] == '\n';
    if (!blank && !goes_on(line) && !is_rule(line)) break;
    if (!blank) last = next_line(s->text, end);
  }
  Str out = {.arena = &vm->scratch};
  str_printf(&out, "%.*s", (int)(last - start), s->text + start);
  if (!out.len || out.data[out.len - 1] != '\n') str_addc(&out, '\n');
  return out.data;
}

static void add_comment(Str *out, const char *line) {
  line += 1 + (line[1] == ' ');
  str_printf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
}

/* The comment lines right above the line at that place. */
static const char *comment_above(AtledVM *vm, const char *text, size_t at) {
  size_t end = line_start(text, at), start = end;
  while (start && text[line_start(text, start - 1)] == '#') start = line_start(text, start - 1);
  Str out = {.arena = &vm->scratch};
  for (; start < end; start = next_line(text, start)) add_comment(&out, text + start);
  return out.data;
}

/* The comment at the beginning of a file, without its licence. */
static const char *comment_at_head(AtledVM *vm, const Source *s) {
  Str out = {.arena = &vm->scratch};
  for (size_t at = 0; at < s->len && s->text[at] == '#'; at = next_line(s->text, at))
    if (!begins_with(s->text + at, "# SPDX") && !begins_with(s->text + at, "#!")) add_comment(&out, s->text + at);
  return out.data;
}

const char *names_definition(AtledVM *vm, Span at) {
  return definition(vm, sources_get(&vm->sources, at.source), at.start);
}

const char *names_comment_above(AtledVM *vm, Span at) {
  return comment_above(vm, sources_get(&vm->sources, at.source)->text, at.start);
}

const char *names_comment_of(AtledVM *vm, const Module *m) {
  return comment_at_head(vm, sources_get(&vm->sources, m->source));
}

/* ---- About a name ---------------------------------------------------------------------------------------- */
typedef struct AboutCall {
  const char *what;
  AtledAbout *out;
} AboutCall;

static void set_place(AtledVM *vm, AtledAbout *out, Span at) {
  const Source *s = at.source ? sources_get(&vm->sources, at.source) : NULL;
  int column;
  if (!s || at.start > s->len) return;
  out->file = arena_strndup(&vm->scratch, s->name, strlen(s->name));
  span_position(&vm->sources, at, &out->line, &column);
  out->source = definition(vm, s, at.start);
  if (!out->doc) out->doc = comment_above(vm, s->text, at.start);
}

static void about_value(AtledVM *vm, const Binding *b, AtledAbout *out) {
  Str type = {.arena = &vm->scratch};
  binding_type_print(vm->checker, vm->main, b, &type);
  const char *doc = b->item ? b->item->doc : NULL;
  bool ended = doc && *doc && doc[strlen(doc) - 1] == '\n';
  *out = (AtledAbout){.kind = "value", .type = type.data};
  if (doc) out->doc = arena_printf(&vm->scratch, ended ? "%s" : "%s\n", doc);
  set_place(vm, out, b->span);
}

static void about_module(AtledVM *vm, const Module *m, AtledAbout *out) {
  const Source *s = sources_get(&vm->sources, m->source);
  *out = (AtledAbout){.kind = "module", .file = arena_strndup(&vm->scratch, s->name, strlen(s->name))};
  out->doc = comment_at_head(vm, s);
}

static AtledStatus about_body(AtledVM *vm, void *arg) {
  AboutCall *c = arg;
  Sym name;
  Module *m = split(vm, c->what, &name);
  const Binding *b = m && *name ? checker_lookup(vm->checker, m, name) : NULL;
  Declared d;
  bool declared = m && *name && checker_declared(vm->checker, m, name, &d);
  bool own = declared && !sources_get(&vm->sources, d.span.source)->library; /* it is nearer than a library's value */
  if (b && !(own && b->module && b->module->library)) {
    about_value(vm, b, c->out);
  } else if (declared) {
    Str type = {.arena = &vm->scratch};
    if (d.constructor) type_print(vm->checker, vm->main, d.constructor, &type);
    *c->out = (AtledAbout){.kind = d.constructor ? "constructor" : "type", .type = type.data};
    set_place(vm, c->out, d.span);
  } else if (!strchr(c->what, '.') && (m = find_module(vm, sym_of(&vm->syms, c->what)))) {
    about_module(vm, m, c->out);
  } else {
    return report_bad_argument(vm, "nothing is named `%s`", c->what);
  }
  return ATLED_OK;
}

AtledStatus atled_about_sized(AtledVM *vm, const char *name, AtledAbout *out, size_t size) {
  static const AtledAbout nothing;
  if (!out) return vm_reject_null(vm, "the place for what is known");
  struct_give(out, size, &nothing, sizeof nothing);
  if (!name) return vm_reject_null(vm, "the name");
  AtledAbout about = nothing;
  AboutCall c = {name, &about};
  AtledStatus status = vm_call(vm, about_body, &c);
  if (status == ATLED_OK) struct_give(out, size, &about, sizeof about);
  return status;
}

static bool type_holds(Type *t, const Type *part) {
  t = type_repr(t);
  if (t == part) return true;
  for (int i = 0; t->kind != TY_VAR && i < t->n; i++)
    if (type_holds(t->args[i], part)) return true;
  return false;
}

/* ---- Search ---------------------------------------------------------------------------------------------- */
typedef struct SearchCall {
  AtledVM *vm;
  const char *query;
  Type *type; /* of the query; NULL: a part of a name is looked for */
  bool docs;  /* in comments */
  Vec(const char *) exact, others;
} SearchCall;

static bool is_part_of_name(const char *s) {
  return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")];
}

static bool is_builtin_type(const char *s) {
  return !strcmp(s, "int") || !strcmp(s, "float") || !strcmp(s, "bool") || !strcmp(s, "string") || !strcmp(s, "unit");
}

/* Has the binding just that type, but for names of variables? */
static bool has_type(SearchCall *c, const Binding *b) {
  Str type = {.arena = &c->vm->scratch}, query = {.arena = &c->vm->scratch};
  binding_type_print(c->vm->checker, NULL, b, &type);
  type_print(c->vm->checker, NULL, c->type, &query);
  return strcmp(type.data, query.data) == 0;
}

/* A function whose result may be anything, whatever it is given (`fail`), or hangs on what its type doesn't say
 * (`zeros`), fits everywhere. */
static bool gives_anything(Type *t) {
  Type *result = type_repr(t);
  while (result->kind == TY_FUN) result = type_repr(result->args[1]);
  bool anything = result->kind == TY_VAR;
  for (t = type_repr(t); anything && t->kind == TY_FUN; t = type_repr(t->args[1]))
    anything = !type_holds(t->args[0], result);
  return anything;
}

/* Whether the query stands in the text; capital letters and small ones are the same. */
static bool has_query(const SearchCall *c, const char *text) {
  size_t n = strlen(c->query);
  for (; strlen(text) >= n; text++) {
    size_t i = 0;
    while (i < n && tolower((unsigned char)text[i]) == tolower((unsigned char)c->query[i])) i++;
    if (i == n) return true;
  }
  return false;
}

/* Whether the name, in full and by itself, or its documentation has the query in it. */
static bool is_named_so(SearchCall *c, Module *m, const char *full, Sym name) {
  if (!c->docs) return has_query(c, strchr(c->query, '.') ? full : name);
  Binding *b = checker_lookup(c->vm->checker, m, name);
  return b && b->item && b->item->doc && has_query(c, b->item->doc);
}

static void try_name(SearchCall *c, Module *m, Sym module, Sym name) {
  AtledVM *vm = c->vm;
  const char *full = arena_printf(&vm->scratch, "%s%s%s", module ? module : "", module ? "." : "", name);
  if (!c->type) {
    if (is_named_so(c, m, full, name)) vec_push(&vm->scratch, c->others, full);
    return;
  }
  Binding *b = checker_lookup(vm->checker, m, name);
  if (!b || gives_anything(b->type) || !checker_fits(vm->checker, b, c->type)) return;
  if (has_type(c, b)) vec_push(&vm->scratch, c->exact, full);
  else vec_push(&vm->scratch, c->others, full);
}

static void search_module(SearchCall *c, Module *m, Sym name) {
  Sym *all;
  int n = checker_module_names(c->vm->checker, m, &all, &c->vm->scratch);
  if (!c->type && !c->docs && has_query(c, name))
    vec_push(&c->vm->scratch, c->exact, arena_strndup(&c->vm->scratch, name, strlen(name)));
  for (int i = 0; i < n; i++) try_name(c, m, name, all[i]);
}

static void search_all(SearchCall *c) {
  AtledVM *vm = c->vm;
  ModuleLoader loader = modules_loader(vm);
  Sym *all, name;
  int n = checker_visible_names(vm->checker, vm->main, &all, &vm->scratch);
  for (int i = 0; i < n; i++)
    if (!map_get(&vm->main->modules, all[i])) try_name(c, vm->main, NULL, all[i]);
  for (size_t i = 0; i < vm->main->modules.cap; i++)
    if (vm->main->modules.keys[i] && vm->main->modules.vals[i])
      search_module(c, vm->main->modules.vals[i], (Sym)vm->main->modules.keys[i]);
  for (int i = 0; (name = loader.library_name(loader.user, i)); i++)
    if (!map_get(&vm->main->modules, name)) search_module(c, loader.library(loader.user, name), name);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static AtledStatus search_body(AtledVM *vm, void *arg) {
  SearchCall *c = arg;
  c->vm = vm;
  if (!is_part_of_name(c->query) || is_builtin_type(c->query)) {
    c->type = checker_parse_type(vm->checker, vm->main, &vm->diags, vm->lexer, c->query);
    if (report_diags(vm) || !c->type) return ATLED_COMPILE_ERROR;
    checker_make_rigid(vm->checker, c->type);
  }
  search_all(c);
  c->docs = !c->type && c->exact.len + c->others.len == 0;
  if (c->docs) search_all(c);
  qsort(c->exact.data, (size_t)c->exact.len, sizeof *c->exact.data, by_text);
  qsort(c->others.data, (size_t)c->others.len, sizeof *c->others.data, by_text);
  for (int i = 0; i < c->others.len; i++) vec_push(&vm->scratch, c->exact, c->others.data[i]);
  return ATLED_OK;
}

AtledStatus atled_search(AtledVM *vm, const char *query, const char *const **names, int *count) {
  if (!names || !count) return vm_reject_null(vm, "the place for the names");
  *names = NULL;
  *count = 0;
  if (!query) return vm_reject_null(vm, "what is searched for");
  SearchCall c = {.query = query};
  AtledStatus status = vm_call(vm, search_body, &c);
  if (status != ATLED_OK) return status;
  *names = c.exact.data;
  *count = c.exact.len;
  return ATLED_OK;
}
