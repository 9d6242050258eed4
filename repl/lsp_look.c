/* SPDX-License-Identifier: MIT */
/* Requests that look at a document: hover, definition, references, highlights, outline, types beside names. */
#define _GNU_SOURCE
#include "lsp.h"
#include <stdlib.h>
#include <string.h>

/* ---- Hover ---------------------------------------------------------------------------------------------- */
/* `name : type`, or a type's declaration, as a block of the language; then its use here, and its comment. */
static json_t *hover_text(json_t *a) {
  const char *name = string_in(a, "name"), *type = string_in(a, "type"), *source = string_in(a, "source");
  const char *here = string_in(a, "here"), *doc = string_in(a, "doc"), *what = string_in(a, "what");
  bool module = what && strcmp(what, "module") == 0, builtin = what && strcmp(what, "type") == 0;
  json_t *code = source    ? json_sprintf("```atled\n%s```", source)
                 : type    ? json_sprintf("```atled\n%s%s%s\n```", name ? name : "", name ? " : " : "", type)
                 : module  ? json_sprintf("module `%s`", name)
                 : builtin ? json_sprintf("```atled\ntype %s\n```", name)
                           : NULL;
  if (!code) return NULL;
  json_t *text = json_sprintf("%s%s%s%s%s%s", json_string_value(code), here ? "\n\nhere: `" : "", here ? here : "",
                              here ? "`" : "", doc ? "\n\n" : "", doc ? doc : "");
  json_decref(code);
  return text;
}

json_t *hover(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *a = d ? ask(s, ATLED_ASK_PLACE, d, place_of(d, params), 0) : NULL, *text = hover_text(a), *result = NULL;
  if (text)
    result = json_pack("{s:{s:s,s:o},s:o}", "contents", "kind", "markdown", "value", text, "range",
                       text_range(&d->text, size_in(a, "start"), size_in(a, "end")));
  json_decref(a);
  return result;
}

/* ---- Definition ----------------------------------------------------------------------------------------- */
static json_t *place_in_file(Server *s, const char *path, size_t at, size_t end) {
  Text own = {0};
  Text *t = text_of_path(s, path, &own);
  json_t *result = t ? location(s, path, text_range(t, at, end)) : NULL;
  text_free(&own);
  return result;
}

static json_t *place_in_library(Server *s, json_t *a) {
  json_t *d = json_object_get(a, "definition");
  const char *module = string_in(d, "module");
  char *path = module ? library_file(s, module) : NULL;
  json_t *result = path     ? place_in_file(s, path, size_in(d, "start"), size_in(d, "end"))
                   : module ? failure(REQUEST_FAILED, "the library's text can't be written to the cache's folder")
                            : NULL;
  free(path);
  return result;
}

json_t *definition(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *a = d ? ask(s, ATLED_ASK_PLACE, d, place_of(d, params), 0) : NULL;
  const char *path;
  size_t at, end;
  bool own = definition_of(a, &path, &at, &end);
  json_t *result = own ? place_in_file(s, path, at, end) : place_in_library(s, a);
  json_decref(a);
  return result;
}

/* ---- References ----------------------------------------------------------------------------------------- */
static void add_uses(const Server *s, json_t *all, Text *t, const char *path, json_t *uses, bool definitions) {
  json_t *use;
  size_t i;
  json_array_foreach(uses, i, use) if (definitions || !json_object_get(use, "defines"))
      json_array_append_new(all, location(s, path, text_range(t, size_in(use, "start"), size_in(use, "end"))));
}

/* In one file, if the name stands there at all. */
static void add_uses_in(Server *s, json_t *all, const char *in, json_t *place, bool definitions) {
  const char *path, *name = string_in(place, "name");
  size_t at, end;
  Text own = {0};
  Text *t = text_of_path(s, in, &own);
  json_t *uses = NULL;
  if (t && name && strstr(t->bytes, name) && definition_of(place, &path, &at, &end))
    uses = ask_uses_of(s, in, t->bytes, path, at);
  add_uses(s, all, t, in, uses, definitions);
  json_decref(uses);
  text_free(&own);
}

json_t *references(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *a = d ? ask(s, ATLED_ASK_PLACE, d, place_of(d, params), 0) : NULL, *all = json_array(), *unused;
  bool definitions = json_is_true(json_object_get(json_object_get(params, "context"), "includeDeclaration"));
  const char *path, *file, *what = string_in(a, "what");
  size_t at, end;
  bool module = what && strcmp(what, "module") == 0;
  if (a && !module && definition_of(a, &file, &at, &end)) {
    json_t *paths = files_around(s, file);
    json_object_foreach(paths, path, unused) add_uses_in(s, all, path, a, definitions);
    json_decref(paths);
  } else if (a) {
    json_t *uses = ask(s, ATLED_ASK_USES, d, place_of(d, params), 0);
    add_uses(s, all, &d->text, d->path, uses, definitions);
    json_decref(uses);
  }
  json_decref(a);
  return all;
}

json_t *highlights(Server *s, json_t *params) {
  enum { READ = 2, WRITE = 3 };
  Document *d = document_of(s, params);
  json_t *uses = d ? ask(s, ATLED_ASK_USES, d, place_of(d, params), 0) : NULL, *all = json_array(), *use;
  size_t i;
  json_array_foreach(uses, i, use) json_array_append_new(
      all, json_pack("{s:o,s:i}", "range", text_range(&d->text, size_in(use, "start"), size_in(use, "end")), "kind",
                     json_object_get(use, "defines") ? WRITE : READ));
  json_decref(uses);
  return all;
}

/* ---- Outline -------------------------------------------------------------------------------------------- */
static int symbol_kind(const char *what) {
  static const struct {
    const char *what;
    int kind;
  } kinds[] = {{"function", 12}, {"value", 13}, {"type", 10}, {"constructor", 22},
               {"module", 2},    {"test", 24},  {"bench", 24}};
  for (size_t i = 0; what && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].what, what) == 0) return kinds[i].kind;
  return 13;
}

static json_t *symbols(Document *d, json_t *definitions) {
  json_t *all = json_array(), *item;
  size_t i;
  json_array_foreach(definitions, i, item) {
    json_t *symbol = json_pack("{s:O,s:i,s:o,s:o}", "name", json_object_get(item, "name"), "kind",
                               symbol_kind(string_in(item, "what")), "range",
                               text_range(&d->text, size_in(item, "start"), size_in(item, "end")), "selectionRange",
                               text_range(&d->text, size_in(item, "name_start"), size_in(item, "name_end")));
    json_t *type = json_object_get(item, "type"), *parts = json_object_get(item, "parts");
    if (type) json_object_set(symbol, "detail", type);
    if (json_array_size(parts)) json_object_set_new(symbol, "children", symbols(d, parts));
    json_array_append_new(all, symbol);
  }
  return all;
}

json_t *outline(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *a = d ? ask(s, ATLED_ASK_OUTLINE, d, 0, 0) : NULL, *all = d ? symbols(d, a) : json_array();
  json_decref(a);
  return all;
}

/* ---- Symbols of all files ------------------------------------------------------------------------------- */
enum { MOST_SYMBOLS = 500 };

/* Those of one file whose names have the query in them, capital letters or small. */
static void add_symbols(const Server *s, json_t *all, Text *t, const char *path, json_t *definitions,
                        const char *query) {
  json_t *item;
  size_t i;
  json_array_foreach(definitions, i, item) {
    const char *name = string_in(item, "name");
    if (json_array_size(all) < MOST_SYMBOLS && name && strcasestr(name, query)) {
      json_t *range = text_range(t, size_in(item, "name_start"), size_in(item, "name_end"));
      json_array_append_new(all, json_pack("{s:s,s:i,s:o}", "name", name, "kind", symbol_kind(string_in(item, "what")),
                                           "location", location(s, path, range)));
    }
    add_symbols(s, all, t, path, json_object_get(item, "parts"), query);
  }
}

json_t *all_symbols(Server *s, json_t *params) {
  const char *query = string_in(params, "query"), *path;
  const char *start = s->documents ? s->documents->path : s->folder ? s->folder : "";
  json_t *all = json_array(), *paths = files_around(s, start), *unused;
  json_object_foreach(paths, path, unused) {
    Text own = {0};
    Text *t = text_of_path(s, path, &own);
    json_t *definitions = t ? ask_outline_of(s, path, t->bytes) : NULL;
    if (t) add_symbols(s, all, t, path, definitions, query ? query : "");
    json_decref(definitions);
    text_free(&own);
  }
  json_decref(paths);
  return all;
}

/* ---- Types beside names --------------------------------------------------------------------------------- */
enum { LONGEST_TYPE = 60 };

json_t *inlays(Server *s, json_t *params) {
  enum { TYPE = 1 };
  Document *d = document_of(s, params);
  json_t *all = json_array(), *range = json_object_get(params, "range"), *item;
  if (!d) return all;
  json_t *a = ask(s, ATLED_ASK_TYPES, d, offset_in(d, range, "start"), offset_in(d, range, "end"));
  size_t i;
  json_array_foreach(a, i, item) {
    const char *type = string_in(item, "type");
    if (!type || strlen(type) > LONGEST_TYPE) continue;
    json_t *place = text_position(&d->text, size_in(item, "at"));
    json_array_append_new(
        all, json_pack("{s:o,s:o,s:i}", "position", place, "label", json_sprintf(": %s", type), "kind", TYPE));
  }
  json_decref(a);
  return all;
}
