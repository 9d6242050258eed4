/* SPDX-License-Identifier: MIT */
/* Questions to the library about documents and files, and answers as JSON. */
#define _GNU_SOURCE
#include "lsp.h"
#include <fts.h>
#include <stdlib.h>
#include <string.h>

/* A workspace may be all of a home folder. */
enum { MOST_FILES = 2000, MOST_LOOKED_AT = 50000, DEEPEST = 8 };

size_t size_in(json_t *object, const char *name) {
  json_int_t n = json_integer_value(json_object_get(object, name));
  return n > 0 ? (size_t)n : 0;
}

const char *string_in(json_t *object, const char *name) { return json_string_value(json_object_get(object, name)); }

static json_t *ask_query(Server *s, const AtledQuery *q) {
  const char *text;
  if (!q->source || stream_cancelled() || atled_query(s->vm, q, &text) != ATLED_OK) return NULL;
  return json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

json_t *ask(Server *s, AtledQuestion question, Document *d, size_t at, size_t to) {
  return ask_query(s, &(AtledQuery){question, d->path, d->text.bytes, at, to, NULL});
}

json_t *ask_uses_of(Server *s, const char *path, const char *text, const char *file, size_t at) {
  return ask_query(s, &(AtledQuery){ATLED_ASK_USES, path, text, at, 0, file});
}

json_t *ask_outline_of(Server *s, const char *path, const char *text) {
  return ask_query(s, &(AtledQuery){ATLED_ASK_OUTLINE, path, text, 0, 0, NULL});
}

Text *text_of_path(Server *s, const char *path, Text *own) {
  Document *d = document_of_path(s, path);
  if (d) return &d->text;
  return text_read(own, path) ? own : NULL;
}

bool definition_of(json_t *answer, const char **path, size_t *at, size_t *end) {
  json_t *d = json_object_get(answer, "definition");
  *path = string_in(d, "file");
  *at = size_in(d, "start");
  *end = size_in(d, "end");
  return *path;
}

char *uri_of_file(const Server *s, const char *path) {
  const Document *d = document_of_path(s, path);
  return d ? strdup(d->uri) : uri_of_path(path);
}

json_t *location(const Server *s, const char *path, json_t *range) {
  char *uri = uri_of_file(s, path);
  json_t *l = json_pack("{s:s,s:o}", "uri", uri ? uri : "", "range", range);
  free(uri);
  return l;
}

/* ---- Files ---------------------------------------------------------------------------------------------- */
static bool is_program(const FTSENT *e) {
  return e->fts_info == FTS_F && e->fts_namelen > 4 && strcmp(e->fts_name + e->fts_namelen - 4, ".atl") == 0;
}

static void add_programs(json_t *paths, const char *folder) {
  char *copy = strdup(folder), *roots[] = {copy, NULL};
  FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
  for (int n = 0; walk && n < MOST_LOOKED_AT && json_object_size(paths) < MOST_FILES; n++) {
    FTSENT *e = fts_read(walk);
    if (!e) break;
    bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';
    if (e->fts_info == FTS_D && (hidden || e->fts_level > DEEPEST)) fts_set(walk, e, FTS_SKIP);
    if (!hidden && is_program(e)) json_object_set_new(paths, e->fts_path, json_true());
  }
  if (walk) fts_close(walk);
  free(copy);
}

json_t *files_around(Server *s, const char *path) {
  json_t *paths = json_object();
  const char *slash = strrchr(path, '/');
  for (const Document *d = s->documents; d; d = d->next) json_object_set_new(paths, d->path, json_true());
  char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
  if (folder) add_programs(paths, folder);
  if (s->folder && *s->folder == '/' && s->folder[1]) add_programs(paths, s->folder);
  json_object_set_new(paths, path, json_true());
  free(folder);
  return paths;
}
