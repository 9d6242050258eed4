/* SPDX-License-Identifier: MIT */
/* Semantic tokens: what names are, as far as only the checker knows. An editor shows them over the colours of its
 * grammar.
 *
 * Keywords, literals, comments and operators have no tokens, for grammars know them. Places are relative to the token
 * before: lines, and characters of the same line. */
#include "lsp.h"
#include <string.h>

/* The legend: a token's type is the number of its row. */
static const struct {
  const char *what, *type;
} types[] = {{"function", "function"}, {"parameter", "parameter"},    {"value", "variable"},  {"type", "type"},
             {"field", "property"},    {"constructor", "enumMember"}, {"module", "namespace"}};

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

static json_int_t type_number(json_t *name) {
  const char *what = string_in(name, "what");
  for (size_t i = 0; what && i < COUNT(types); i++)
    if (strcmp(types[i].what, what) == 0) return (json_int_t)i;
  return -1;
}

static json_int_t modifier_set(json_t *name) {
  json_int_t set = 0;
  for (size_t i = 0; i < COUNT(modifiers); i++)
    if (json_is_true(json_object_get(name, modifiers[i].flag))) set |= (json_int_t)1 << i;
  return set;
}

static void add_token(json_t *data, Text *t, json_t *name, Place *last) {
  Place start = text_place(t, size_in(name, "start")), end = text_place(t, size_in(name, "end"));
  json_int_t lines = start.line - last->line, type = type_number(name);
  if (type < 0 || start.line != end.line) return;
  const json_int_t token[] = {lines, start.character - (lines ? 0 : last->character), end.character - start.character,
                              type, modifier_set(name)};
  for (size_t i = 0; i < COUNT(token); i++) json_array_append_new(data, json_integer(token[i]));
  *last = start;
}

json_t *semantic_tokens(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *data = json_array(), *range = json_object_get(params, "range"), *name;
  size_t start = d && range ? offset_in(d, range, "start") : 0, i;
  size_t end = d && range ? offset_in(d, range, "end") : d ? d->text.length : 0;
  json_t *names = d ? ask(s, ATLED_ASK_NAMES, d, start, end) : NULL;
  Place last = {0};
  json_array_foreach(names, i, name) add_token(data, &d->text, name, &last);
  json_decref(names);
  return json_pack("{s:o}", "data", data);
}
