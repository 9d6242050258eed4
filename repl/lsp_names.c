/* SPDX-License-Identifier: MIT */
/* Semantic tokens: what the names of a document are, as only the checker knows it; for clients without a grammar also
 * its keywords, literals, comments and operators.
 *
 * A client that shows tokens over those of its grammar (augmentsSyntaxTokens) gets names alone: it knows the rest, and
 * more of it, as escapes in strings. Places are relative to the token before: lines, and characters of the same line.
 * What goes over several lines is a token on each. */
#include "lsp.h"
#include <string.h>

/* The legend: a token's type is the number of its row; what names it is of, if of any. */
static const struct {
  const char *what, *type;
} types[] = {{"function", "function"}, {"parameter", "parameter"}, {"value", "variable"},
             {"type", "type"},         {"field", "property"},      {"constructor", "enumMember"},
             {"module", "namespace"},  {NULL, "keyword"},          {NULL, "string"},
             {NULL, "number"},         {NULL, "comment"},          {NULL, "operator"}};
static const char *const part_types[] = {[ATLED_PART_KEYWORD] = "keyword",
                                         [ATLED_PART_STRING] = "string",
                                         [ATLED_PART_NUMBER] = "number",
                                         [ATLED_PART_COMMENT] = "comment",
                                         [ATLED_PART_TYPE] = "type"};

/* Of a modifier, bit i of the token's set. `mutable` isn't one of the protocol's own. */
static const struct {
  const char *flag, *modifier;
} modifiers[] = {{"defines", "declaration"}, {"library", "defaultLibrary"}, {"mutable", "mutable"}};

#define COUNT(table) (sizeof(table) / sizeof *(table))

json_t *semantic_legend(void) {
  json_t *names = json_array(), *flags = json_array();
  for (size_t i = 0; i < COUNT(types); i++) json_array_append_new(names, json_string(types[i].type));
  for (size_t i = 0; i < COUNT(modifiers); i++) json_array_append_new(flags, json_string(modifiers[i].modifier));
  return json_pack("{s:o,s:o}", "tokenTypes", names, "tokenModifiers", flags);
}

static json_int_t type_of_name(json_t *name) {
  const char *what = string_in(name, "what");
  for (size_t i = 0; what && i < COUNT(types); i++)
    if (types[i].what && strcmp(types[i].what, what) == 0) return (json_int_t)i;
  return -1;
}

static json_int_t type_number(const char *type) {
  for (size_t i = 0; type && i < COUNT(types); i++)
    if (strcmp(types[i].type, type) == 0) return (json_int_t)i;
  return -1;
}

static json_int_t modifier_set(json_t *name) {
  json_int_t set = 0;
  for (size_t i = 0; i < COUNT(modifiers); i++)
    if (json_is_true(json_object_get(name, modifiers[i].flag))) set |= (json_int_t)1 << i;
  return set;
}

/* ---- Tokens ----------------------------------------------------------------------------------------------------- */
typedef struct Writer {
  json_t *data;
  Text *text;
  Place last;
  size_t done; /* bytes of the text */
  const AtledPart *parts;
  int nparts, part; /* the first that isn't done */
} Writer;

/* A token on one line. */
static void add_token(Writer *w, size_t from, size_t to, json_int_t type, json_int_t set) {
  Place start = text_place(w->text, from), end = text_place(w->text, to);
  json_int_t lines = start.line - w->last.line;
  const json_int_t token[] = {lines, start.character - (lines ? 0 : w->last.character), end.character - start.character,
                              type, set};
  for (size_t i = 0; i < COUNT(token); i++) json_array_append_new(w->data, json_integer(token[i]));
  w->last = start;
}

static void add_lines(Writer *w, size_t from, size_t to, json_int_t type, json_int_t set) {
  while (type >= 0 && from < to) {
    size_t end = from + strcspn(w->text->bytes + from, "\r\n");
    if (end > to) end = to;
    if (end > from) add_token(w, from, end, type, set);
    from = end + strspn(w->text->bytes + end, "\r\n");
  }
}

/* Between parts stand names, brackets and operators. */
static void add_operators(Writer *w, size_t from, size_t to) {
  static const char signs[] = "+-*/<>=|&^%@~!:";
  const char *s = w->text->bytes;
  while (from < to) {
    size_t n = s[from] ? strspn(s + from, signs) : 0;
    if (from + n > to) n = to - from;
    add_lines(w, from, from + n, type_number("operator"), 0);
    from += n ? n : 1;
  }
}

/* What stands before byte `to` and isn't done, no name. */
static void add_parts(Writer *w, size_t to) {
  while (w->done < to && w->parts) {
    const AtledPart *p = w->part < w->nparts ? &w->parts[w->part] : NULL;
    size_t start = p && p->start < to ? p->start : to, end = p && p->end < to ? p->end : to;
    add_operators(w, w->done, start);
    if (start < w->done) start = w->done;
    if (p && (size_t)p->kind < COUNT(part_types)) add_lines(w, start, end, type_number(part_types[p->kind]), 0);
    if (end > w->done) w->done = end;
    if (p && p->end <= to) w->part++;
  }
}

static void add_name(Writer *w, json_t *name) {
  size_t start = size_in(name, "start"), end = size_in(name, "end");
  add_parts(w, start);
  add_lines(w, start, end, type_of_name(name), modifier_set(name));
  if (end > w->done) w->done = end;
}

/* The parts of a document's text; they are the VM's until it is called again. */
static void take_parts(Server *s, const Document *d, Writer *w) {
  if (s->augments || stream_cancelled()) return;
  if (atled_parts(s->vm, d->text.bytes, &w->parts, &w->nparts) != ATLED_OK) w->parts = NULL;
}

static void write_tokens(Server *s, Document *d, json_t *range, json_t *data) {
  json_t *name;
  size_t start = range ? offset_in(d, range, "start") : 0, i;
  size_t end = range ? offset_in(d, range, "end") : d->text.length;
  json_t *names = ask(s, ATLED_ASK_NAMES, d, start, end);
  Writer w = {.data = data, .text = &d->text, .done = start};
  take_parts(s, d, &w);
  json_array_foreach(names, i, name) add_name(&w, name);
  add_parts(&w, end);
  json_decref(names);
}

json_t *semantic_tokens(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *data = json_array();
  if (d) write_tokens(s, d, json_object_get(params, "range"), data);
  return json_pack("{s:o}", "data", data);
}
