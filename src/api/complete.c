/* SPDX-License-Identifier: MIT */
/* What a prompt asks about a text that isn't finished: whether it may go on, where its items begin, and what its last
 * word may become.
 *
 *   na          visible names, constructors and modules that begin so
 *   Stats.me    members of the module: of a library module all that its source defines, without reading the items
 *   p.w[0].b    fields of the record, if each name before it is known: the first one is a value of the program, `[…]`
 *               is an element, and types of records say what the fields are */
#include "api/query.h"
#include <stdlib.h>
#include <string.h>

/* ---- Items ------------------------------------------------------------------------------------------------------ */
typedef struct ItemsCall {
  const char *source;
  const size_t **starts;
  int *count;
} ItemsCall;

static AtledStatus items_body(AtledVM *vm, void *arg) {
  ItemsCall *c = arg;
  uint32_t id = sources_add(&vm->sources, "<entry>", c->source, strlen(c->source));
  ItemRange *ranges;
  int n = split_items(vm->lexer, &vm->scratch, &vm->syms, sources_get(&vm->sources, id), &ranges);
  size_t *starts = NEW_ARRAY(&vm->scratch, size_t, n + 1);
  for (int i = 0; i < n; i++) starts[i] = ranges[i].start;
  *c->starts = starts;
  *c->count = n;
  parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, id);
  bool incomplete = vm->diags.incomplete;
  if (!report_diags(vm)) return ATLED_OK;
  return incomplete ? ATLED_INCOMPLETE : ATLED_COMPILE_ERROR;
}

AtledStatus atled_items(AtledVM *vm, const char *source, const size_t **starts, int *count) {
  if (!source || !starts || !count) return vm_reject_null(vm, source ? "the place for the items" : "the source");
  ItemsCall c = {source, starts, count};
  *starts = NULL;
  *count = 0;
  return vm_call(vm, items_body, &c);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */
typedef struct WordsCall {
  AtledVM *vm;
  const char *text;
  size_t start; /* of the last word */
  Vec(const char *) words;
} WordsCall;

static bool is_capital(const char *s) { return *s >= 'A' && *s <= 'Z'; }

static size_t word_start(const char *text, size_t end) {
  while (end && is_word_byte(text[end - 1])) end--;
  return end;
}

static void offer(WordsCall *c, const char *word, const char *after) {
  const char *have = c->text + c->start;
  if (strncmp(word, have, strlen(have)) != 0) return;
  vec_push(&c->vm->scratch, c->words, arena_printf(&c->vm->scratch, "%s%s", word, after));
}

static Module *module_of(AtledVM *vm, Sym name) {
  ModuleLoader loader = modules_loader(vm);
  Module *m = map_get(&vm->main->modules, name);
  return m ? m : loader.library(loader.user, name);
}

static void offer_visible(WordsCall *c) {
  AtledVM *vm = c->vm;
  ModuleLoader loader = modules_loader(vm);
  Sym *all, name;
  int n = checker_visible_names(vm->checker, vm->main, &all, &vm->scratch);
  for (int i = 0; i < n; i++)
    if (!map_get(&vm->main->modules, all[i]) && is_word_byte(all[i][0])) offer(c, all[i], "");
  for (size_t i = 0; i < vm->main->modules.cap; i++)
    if (vm->main->modules.keys[i] && vm->main->modules.vals[i]) offer(c, (Sym)vm->main->modules.keys[i], ".");
  for (int i = 0; (name = loader.library_name(loader.user, i)); i++)
    if (!map_get(&vm->main->modules, name)) offer(c, name, ".");
}

static void offer_members(WordsCall *c, const Module *m) {
  Sym *all;
  int n = checker_module_names(c->vm->checker, m, &all, &c->vm->scratch);
  for (int i = 0; i < n; i++) offer(c, all[i], "");
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */
/* Where the path begins that ends before byte `end`: names, points, and indices in brackets. */
static size_t path_start(const char *text, size_t end) {
  int depth = 0;
  while (end) {
    char b = text[end - 1];
    if (b == ']') depth++;
    else if (b == '[' && depth == 0) break;
    else if (b == '[') depth--;
    else if (depth == 0 && !is_word_byte(b) && b != '.') break;
    end--;
  }
  return end;
}

static Type *field_type(Type *t, const char *name, size_t n) {
  t = type_repr(t);
  for (int i = 0; t->kind == TY_RECORD && i < t->n; i++)
    if (strlen(t->names[i]) == n && memcmp(t->names[i], name, n) == 0) return t->args[i];
  return NULL;
}

static Type *element_type(Type *t) {
  t = type_repr(t);
  return t->kind == TY_ARRAY ? t->args[0] : NULL;
}

/* Behind the bracket that closes the one at s, or `end`. */
static const char *skip_index(const char *s, const char *end) {
  int depth = 0;
  for (; s < end; s++) {
    depth += *s == '[' ? 1 : *s == ']' ? -1 : 0;
    if (depth == 0) return s + 1;
  }
  return end;
}

/* The type of what the names from s on mean, up to `end`; NULL: it isn't known. */
static Type *path_type(AtledVM *vm, Module *m, const char *s, const char *end) {
  Type *t = NULL;
  for (bool first = true; s < end; first = false) {
    size_t n = 0;
    while (s + n < end && is_word_byte(s[n])) n++;
    if (first) {
      Binding *b = n ? checker_lookup(vm->checker, m, sym_intern(&vm->syms, s, n)) : NULL;
      t = b ? b->type : NULL;
    } else if (*s == '[') {
      n = (size_t)(skip_index(s, end) - s);
      t = element_type(t);
    } else if (*s == '.') {
      for (s++, n = 0; s + n < end && is_word_byte(s[n]);) n++;
      t = field_type(t, s, n);
    } else {
      return NULL;
    }
    if (!t) return NULL;
    s += n;
  }
  return t;
}

/* After a point: members of a module, or fields of a value. */
static void offer_parts(WordsCall *c) {
  AtledVM *vm = c->vm;
  const char *end = c->text + c->start - 1, *s = c->text + path_start(c->text, c->start - 1);
  Module *m = vm->main;
  if (is_capital(s)) {
    const char *stop = s;
    while (stop < end && is_word_byte(*stop)) stop++;
    m = module_of(vm, sym_intern(&vm->syms, s, (size_t)(stop - s)));
    if (m && stop == end) offer_members(c, m);
    if (!m || stop == end) return;
    s = stop + 1;
  }
  Type *t = path_type(vm, m, s, end);
  if (t) t = type_repr(t);
  for (int i = 0; t && t->kind == TY_RECORD && i < t->n; i++) offer(c, t->names[i], "");
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static AtledStatus words_body(AtledVM *vm, void *arg) {
  WordsCall *c = arg;
  (void)vm;
  if (c->start && c->text[c->start - 1] == '.') offer_parts(c);
  else offer_visible(c);
  if (c->words.len) qsort(c->words.data, (size_t)c->words.len, sizeof *c->words.data, by_text);
  return ATLED_OK;
}

int atled_complete(AtledVM *vm, const char *text, size_t *start, const char *const **words) {
  if (start) *start = 0;
  if (words) *words = NULL;
  if (!vm || !text || !start || !words) return 0;
  WordsCall c = {.vm = vm, .text = text, .start = word_start(text, strlen(text))};
  if (vm_call(vm, words_body, &c) != ATLED_OK) return 0;
  *start = c.start;
  *words = c.words.data;
  return c.words.len;
}
