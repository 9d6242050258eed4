/* SPDX-License-Identifier: MIT */
/* Renaming a name in all files that use it.
 *
 * The places are those where the library says that the definition is used. Whether the new name can stand there is
 * tried out: with the changed texts in place of the files, the definition must be used at just the changed places, and
 * no file may have an error that it didn't have. So a name that would be captured, capture others or clash is refused,
 * whatever the reason. */
#define _GNU_SOURCE
#include "lsp.h"
#include <stdlib.h>
#include <string.h>

typedef struct Renaming {
  Server *s;
  const char *old, *new;
  const char *file; /* of the definition */
  size_t at;        /* of its name */
  json_t *texts;    /* path -> changed text, for the VM */
  json_t *places;   /* path -> starts in it */
  json_t *edits;    /* URI -> edits */
  size_t number;    /* of the definition among the places in its file */
} Renaming;

/* ---- Names ---------------------------------------------------------------------------------------------- */
static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

static bool is_name(const char *s) {
  if (!((*s >= 'a' && *s <= 'z') || is_capital(*s) || *s == '_' || (unsigned char)*s >= 0x80)) return false;
  for (s++; *s; s++) {
    bool letter = (*s >= 'a' && *s <= 'z') || is_capital(*s) || (*s >= '0' && *s <= '9');
    if (!letter && *s != '_' && *s != '\'' && (unsigned char)*s < 0x80) return false;
  }
  return true;
}

/* Can it be a name of that sort? Keywords can't. */
static bool is_free_word(Server *s, const char *name, bool capital) {
  const size_t *starts;
  int n;
  char *item = NULL;
  if (!is_name(name) || is_capital(*name) != capital) return false;
  if (asprintf(&item, capital ? "type t = %s" : "let %s = 0", name) < 0) return false;
  bool good = strcmp(name, "_") != 0 && atled_items(s->vm, item, &starts, &n) == ATLED_OK;
  free(item);
  return good;
}

/* What stands at the place, if that can be renamed; else NULL, and *why. */
static json_t *renamable(Server *s, Document *d, size_t at, const char **why) {
  json_t *a = d ? ask(s, ATLED_ASK_PLACE, d, at, 0) : NULL;
  const char *what = string_in(a, "what"), *path;
  size_t start, end;
  *why = NULL;
  if (!what || !string_in(a, "name")) *why = "there is no name here";
  else if (strcmp(what, "field") == 0) *why = "a record's field belongs to no one definition";
  else if (strcmp(what, "module") == 0) *why = "modules aren't renamed";
  else if (is_library_path(d->path) || string_in(json_object_get(a, "definition"), "module"))
    *why = "this name is the library's";
  else if (json_is_true(json_object_get(a, "foreign"))) *why = "this name is that of the C function";
  else if (!definition_of(a, &path, &start, &end)) *why = "the definition of this name isn't known";
  if (!*why) return a;
  json_decref(a);
  return NULL;
}

json_t *prepare_rename(Server *s, json_t *params) {
  const char *why;
  Document *d = document_of(s, params);
  json_t *a = renamable(s, d, d ? place_of(d, params) : 0, &why);
  if (!a) return failure(REQUEST_FAILED, why);
  json_t *result = json_pack("{s:o,s:O}", "range", text_range(&d->text, size_in(a, "start"), size_in(a, "end")),
                             "placeholder", json_object_get(a, "name"));
  json_decref(a);
  return result;
}

/* ---- Changes -------------------------------------------------------------------------------------------- */
/* The text with the new name at the uses; the places where it begins then. */
static char *replaced(Renaming *r, const Text *t, json_t *uses, json_t *starts) {
  size_t room = t->length + json_array_size(uses) * (2 * strlen(r->new) + 4) + 1, done = 0, i;
  char *out = malloc(room), *to = out;
  json_t *use;
  json_array_foreach(uses, i, use) {
    size_t start = size_in(use, "start"), end = size_in(use, "end");
    if (!out || start < done || end > t->length) break;
    memcpy(to, t->bytes + done, start - done);
    to += start - done;
    if (json_object_get(use, "field")) to = stpcpy(stpcpy(to, r->old), " = ");
    if (json_object_get(use, "defines") && start == r->at) r->number = i;
    json_array_append_new(starts, json_integer(to - out));
    to = stpcpy(to, r->new);
    done = end;
  }
  if (out) strcpy(to, t->bytes + done);
  return out;
}

static json_t *edits_of(const Renaming *r, Text *t, json_t *uses) {
  json_t *all = json_array(), *use;
  size_t i;
  json_array_foreach(uses, i, use) {
    bool field = json_object_get(use, "field");
    json_t *text = json_sprintf("%s%s%s", field ? r->old : "", field ? " = " : "", r->new);
    json_t *range = text_range(t, size_in(use, "start"), size_in(use, "end"));
    json_array_append_new(all, json_pack("{s:o,s:o}", "range", range, "newText", text));
  }
  return all;
}

/* In the order of the text, each once. */
static int by_start(const void *a, const void *b) {
  size_t x = size_in(*(json_t *const *)a, "start"), y = size_in(*(json_t *const *)b, "start");
  return x < y ? -1 : x > y;
}

static json_t *sorted(json_t *uses) {
  size_t n = json_array_size(uses), last = 0;
  json_t **all = malloc((n + 1) * sizeof *all), *out = json_array();
  for (size_t i = 0; all && i < n; i++) all[i] = json_array_get(uses, i);
  if (all) qsort(all, n, sizeof *all, by_start);
  for (size_t i = 0; all && i < n; i++) {
    if (i && size_in(all[i], "start") == last) continue;
    last = size_in(all[i], "start");
    json_array_append(out, all[i]);
  }
  free(all);
  json_decref(uses);
  return out;
}

static void change_file(Renaming *r, const char *path) {
  Text own = {0};
  Text *t = text_of_path(r->s, path, &own);
  json_t *uses = t && strstr(t->bytes, r->old) ? sorted(ask_uses_of(r->s, path, t->bytes, r->file, r->at)) : NULL;
  if (json_array_size(uses)) {
    json_t *starts = json_array();
    char *text = replaced(r, t, uses, starts);
    char *uri = uri_of_file(r->s, path);
    if (text && uri) {
      json_object_set_new(r->texts, path, json_string_nocheck(text));
      json_object_set_new(r->places, path, json_incref(starts));
      json_object_set_new(r->edits, uri, edits_of(r, t, uses));
    }
    free(uri);
    free(text);
    json_decref(starts);
  }
  json_decref(uses);
  text_free(&own);
}

/* ---- Trying it out -------------------------------------------------------------------------------------- */
static int errors_of(Server *s, const char *path, const char *text) {
  int errors = 0;
  atled_check_types(s->vm, path, text);
  for (int i = 0; i < atled_diagnostic_count(s->vm); i++) errors += atled_diagnostic(s->vm, i)->severity == ATLED_ERROR;
  return errors;
}

static int errors_now(Server *s, const char *path) {
  Text own = {0};
  const Text *t = text_of_path(s, path, &own);
  int errors = t ? errors_of(s, path, t->bytes) : 0;
  text_free(&own);
  return errors;
}

/* Where the definition's name begins after the change. */
static size_t new_start(const Renaming *r) {
  const json_t *starts = json_object_get(r->places, r->file);
  return (size_t)json_integer_value(json_array_get(starts, r->number));
}

static bool same_places(json_t *uses, json_t *starts) {
  json_t *all = sorted(uses), *use;
  size_t i;
  bool same = json_array_size(all) == json_array_size(starts);
  json_array_foreach(all, i, use) same =
      same && size_in(use, "start") == (size_t)json_integer_value(json_array_get(starts, i));
  json_decref(all);
  return same;
}

/* Why it can't be done; NULL: it can. */
static const char *trial(Renaming *r, json_t *files) {
  Server *s = r->s;
  const char *path, *why = NULL;
  json_t *text, *before = json_object();
  size_t at = new_start(r);
  json_object_foreach(r->texts, path, text) json_object_set_new(before, path, json_integer(errors_now(s, path)));
  s->overlay = r->texts;
  json_object_foreach(files, path, text) {
    Text own = {0};
    const Text *t = text_of_path(s, path, &own);
    const char *changed = string_in(r->texts, path), *now = changed ? changed : t ? t->bytes : "";
    bool look = !why && (changed || strstr(now, r->new));
    if (look && !same_places(ask_uses_of(s, path, now, r->file, at), json_object_get(r->places, path)))
      why = "the new name means something else in one of these places";
    if (look && changed && errors_of(s, path, now) > (int)json_integer_value(json_object_get(before, path)))
      why = "the program would have an error with this name";
    text_free(&own);
  }
  s->overlay = NULL;
  json_decref(before);
  return why;
}

static json_t *rename_in_files(Renaming *r) {
  json_t *files = files_around(r->s, r->file), *unused;
  const char *path;
  json_object_foreach(files, path, unused) change_file(r, path);
  const char *why = json_object_size(r->texts) ? trial(r, files) : "this name stands nowhere";
  json_decref(files);
  return why ? failure(REQUEST_FAILED, why) : json_pack("{s:O}", "changes", r->edits);
}

json_t *rename_name(Server *s, json_t *params) {
  const char *why, *new = string_in(params, "newName");
  Document *d = document_of(s, params);
  json_t *a = renamable(s, d, d ? place_of(d, params) : 0, &why);
  if (!a) return failure(REQUEST_FAILED, why);
  Renaming r = {.s = s, .old = string_in(a, "name"), .new = new};
  size_t end;
  json_t *result;
  definition_of(a, &r.file, &r.at, &end);
  if (!new || !is_free_word(s, new, is_capital(*r.old))) {
    result = failure(INVALID_PARAMS, is_capital(*r.old) ? "this can't be the name of a constructor"
                                                        : "this can't be a name: it begins with a small letter, and "
                                                          "is no word of the language");
  } else {
    r.texts = json_object();
    r.places = json_object();
    r.edits = json_object();
    result = rename_in_files(&r);
    json_decref(r.texts);
    json_decref(r.places);
    json_decref(r.edits);
  }
  json_decref(a);
  return result;
}
