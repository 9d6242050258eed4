/* SPDX-License-Identifier: MIT */
/* Requests that help to write: completion, signatures, the formatter, and mending what a diagnostic's hint names. */
#define _GNU_SOURCE
#include "lsp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Completion ----------------------------------------------------------------------------------------- */
static int item_kind(const char *what) {
  static const struct {
    const char *what;
    int kind;
  } kinds[] = {{"function", 3}, {"value", 6},  {"local", 6},    {"constructor", 4},
               {"type", 22},    {"module", 9}, {"keyword", 14}, {"field", 5}};
  for (size_t i = 0; what && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].what, what) == 0) return kinds[i].kind;
  return 6;
}

/* What is nearer comes first. */
static char rank(const char *what, json_t *word) {
  if (!what || strcmp(what, "local") == 0 || strcmp(what, "field") == 0) return '0';
  if (strcmp(what, "keyword") == 0) return '3';
  return json_object_get(word, "type") ? '1' : '2';
}

static json_t *completion_item(Document *d, json_t *word, size_t start, size_t end) {
  const char *name = string_in(word, "name"), *what = string_in(word, "what"), *module = string_in(word, "module");
  json_t *type = json_object_get(word, "type"), *doc = json_object_get(word, "doc");
  json_t *item = json_pack("{s:s,s:i,s:o,s:{s:o,s:s}}", "label", name ? name : "", "kind", item_kind(what), "sortText",
                           json_sprintf("%c%s", rank(what, word), name ? name : ""), "textEdit", "range",
                           text_range(&d->text, start, end), "newText", name ? name : "");
  if (type) json_object_set(item, "detail", type);
  if (doc) json_object_set_new(item, "documentation", json_pack("{s:s,s:O}", "kind", "markdown", "value", doc));
  if (!type && what && strcmp(what, "keyword") != 0)
    json_object_set_new(item, "data", json_sprintf("%s%s%s", module ? module : "", module ? "." : "", name));
  return item;
}

json_t *completion(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *items = json_array(), *word;
  size_t at = d ? place_of(d, params) : 0, i;
  json_t *a = d ? ask(s, ATLED_ASK_WORDS, d, at, 0) : NULL;
  json_array_foreach(json_object_get(a, "words"), i, word)
      json_array_append_new(items, completion_item(d, word, size_in(a, "start"), at));
  json_decref(a);
  return json_pack("{s:b,s:o}", "isIncomplete", 0, "items", items);
}

/* Type and documentation of a name of the library, which are read only now. */
json_t *resolve_completion(Server *s, json_t *item) {
  const char *name = string_in(item, "data");
  AtledAbout about;
  if (!name || atled_about(s->vm, name, &about) != ATLED_OK) return json_incref(item);
  json_t *full = json_copy(item);
  if (about.type) json_object_set_new(full, "detail", json_string(about.type));
  if (about.doc)
    json_object_set_new(full, "documentation", json_pack("{s:s,s:s}", "kind", "markdown", "value", about.doc));
  return full;
}

/* ---- Signatures ----------------------------------------------------------------------------------------- */
static size_t units(const char *text) {
  Text t = {.bytes = (char *)(uintptr_t)text, .length = strlen(text)};
  Place end = text_place(&t, t.length);
  free(t.lines);
  return (size_t)end.character;
}

/* f (x : float) (n : int) : float, and where each parameter stands in it. */
static json_t *label_of(json_t *call, json_t *parameters) {
  json_t *label = json_string(string_in(call, "function")), *one;
  size_t i;
  json_array_foreach(json_object_get(call, "parameters"), i, one) {
    const char *text = json_string_value(one);
    size_t start = units(json_string_value(label)) + 2;
    json_t *longer = json_sprintf("%s (%s)", json_string_value(label), text);
    json_decref(label);
    label = longer;
    json_array_append_new(parameters,
                          json_pack("{s:[I,I]}", "label", (json_int_t)start, (json_int_t)(start + units(text))));
  }
  const char *result = string_in(call, "result");
  json_t *whole = json_sprintf("%s : %s", json_string_value(label), result ? result : "");
  json_decref(label);
  return whole;
}

json_t *signature(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *a = d ? ask(s, ATLED_ASK_CALL, d, place_of(d, params), 0) : NULL;
  if (!json_is_object(a)) {
    json_decref(a);
    return NULL;
  }
  json_t *parameters = json_array(), *label = label_of(a, parameters), *doc = json_object_get(a, "doc");
  json_int_t active = json_integer_value(json_object_get(a, "active"));
  json_t *one = json_pack("{s:o,s:o}", "label", label, "parameters", parameters);
  if (doc) json_object_set_new(one, "documentation", json_pack("{s:s,s:O}", "kind", "markdown", "value", doc));
  json_decref(a);
  return json_pack("{s:[o],s:i,s:I}", "signatures", one, "activeSignature", 0, "activeParameter", active);
}

/* ---- Formatting ----------------------------------------------------------------------------------------- */
/* The part that differs, in whole lines, so that a client's cursor stays where it is. */
static json_t *difference(Text *t, const char *to) {
  size_t n = strlen(to), start = 0, end = 0, line = 0;
  while (start < t->length && start < n && t->bytes[start] == to[start]) {
    start++;
    if (t->bytes[start - 1] == '\n') line = start;
  }
  start = line;
  while (end < t->length - start && end < n - start && t->bytes[t->length - 1 - end] == to[n - 1 - end]) end++;
  while (end && t->bytes[t->length - end - 1] != '\n') end--;
  return json_pack("[{s:o,s:o}]", "range", text_range(t, start, t->length - end), "newText",
                   json_stringn(to + start, n - start - end));
}

/* A file with errors stays as it is. */
json_t *formatting(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  const char *text;
  if (!d) return failure(INVALID_PARAMS, "the document isn't open");
  if (atled_format(s->vm, d->path, d->text.bytes, &text) != ATLED_OK) return NULL;
  return strcmp(text, d->text.bytes) == 0 ? json_array() : difference(&d->text, text);
}

/* ---- Mending -------------------------------------------------------------------------------------------- */
typedef struct Mend {
  Document *d;
  json_t *finding, *actions;
  size_t start, end; /* of what is to be replaced */
} Mend;

static void add_action(const Mend *m, const char *by, size_t n, bool preferred) {
  json_t *edit =
      json_pack("[{s:o,s:o}]", "range", text_range(&m->d->text, m->start, m->end), "newText", json_stringn(by, n));
  json_t *title =
      m->start == m->end ? json_sprintf("Insert `%.*s`", (int)n, by) : json_sprintf("Replace by `%.*s`", (int)n, by);
  json_array_append_new(m->actions,
                        json_pack("{s:o,s:s,s:b,s:[O],s:{s:{s:o}}}", "title", title, "kind", "quickfix", "isPreferred",
                                  (int)preferred, "diagnostics", m->finding, "edit", "changes", m->d->uri, edit));
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* A field that is underlined with its record: the field alone. */
static void keep_record(Mend *m) {
  const char *s = m->d->text.bytes;
  if (s[m->start] >= 'A' && s[m->start] <= 'Z') return; /* of a module */
  for (size_t i = m->start; i < m->end; i++)
    if (s[i] == '.') m->start = i + 1;
}

/* Each text in backquotes of the hint instead of what is underlined. */
static void replace_by_quoted(Mend *m, const char *hint) {
  bool only = true;
  keep_record(m);
  for (const char *from = hint; (from = strchr(from, '`'));) {
    const char *to = strchr(++from, '`');
    if (!to) return;
    add_action(m, from, (size_t)(to - from), only);
    only = false;
    from = to + 1;
  }
}

/* Is what is underlined one name, perhaps of a module, or of a field behind its point? */
static bool is_word(const Mend *m) {
  static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'.";
  for (size_t i = m->start; i < m->end; i++)
    if (!strchr(word, m->d->text.bytes[i]) && (unsigned char)m->d->text.bytes[i] < 0x80) return false;
  return m->end > m->start;
}

static void insert(Mend *m, size_t at, const char *text) {
  m->start = m->end = at;
  add_action(m, text, strlen(text), true);
}

/* Where `rec` is missing: behind the nearest `let` before the use. */
static size_t behind_let(const Mend *m, const char *name, size_t n) {
  for (size_t at = m->start; at >= 4; at--)
    if (begins(m->d->text.bytes + at - 4, "let ") && strncmp(m->d->text.bytes + at, name, n) == 0) return at;
  return 0;
}

static void mend(Mend *m, const char *hint) {
  static const char recursive[] = "a function that calls itself is defined by: let rec ";
  if (begins(hint, recursive)) {
    const char *name = hint + sizeof recursive - 1;
    size_t at = behind_let(m, name, strcspn(name, " "));
    if (at) insert(m, at, "rec ");
  } else if (begins(hint, "a definition begins with `let`:")) {
    insert(m, m->start, "let ");
  } else if (begins(hint, "equality is written `=`")) {
    add_action(m, "=", 1, true);
  } else if (begins(hint, "inequality is written `<>`")) {
    add_action(m, "<>", 2, true);
  } else if (is_word(m) && (begins(hint, "did you mean ") || strstr(hint, "` is known without a module"))) {
    replace_by_quoted(m, hint);
  }
}

json_t *actions(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *all = json_array(), *wanted = json_object_get(params, "range"), *finding;
  size_t i;
  if (!d) return all;
  size_t first = offset_in(d, wanted, "start"), last = offset_in(d, wanted, "end");
  json_array_foreach(json_object_get(d->findings, d->path), i, finding) {
    json_t *range = json_object_get(finding, "range");
    Mend m = {d, finding, all, offset_in(d, range, "start"), offset_in(d, range, "end")};
    if (m.start <= last && m.end >= first && string_in(finding, "data")) mend(&m, string_in(finding, "data"));
  }
  return all;
}
