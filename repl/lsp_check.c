/* SPDX-License-Identifier: MIT */
/* Diagnostics of documents.
 *
 * A document that was changed is checked for its types as soon as no message is waiting, and what is found is shown.
 * If it has no error it is then elaborated, which tells what is sure to fail (`atled check`); a message that arrives
 * ends that, and it begins anew later.
 *
 * Findings belong to files: those in a file that the document imports are shown there, unless that file is open and has
 * findings of its own. */
#define _GNU_SOURCE /* asprintf */
#include "lsp.h"
#include "repl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS = 30, MEMORY_LEFT = 256 << 20 };

/* ---- The VM --------------------------------------------------------------------------------------------- */
/* For AtledConfig.module: the text of what a document imports. */
static const char *module_text(void *user, const char *name, size_t *length) {
  Server *s = user;
  json_t *other = json_object_get(s->overlay, name);
  const Document *d = document_of_path(s, name);
  if (s->asking) json_object_set_new(s->asking->imports, name, json_true());
  if (other) {
    *length = json_string_length(other);
    return json_string_value(other);
  }
  if (!d && !text_read(&s->file, name)) return NULL;
  const Text *t = d ? &d->text : &s->file;
  *length = t->length;
  return t->bytes;
}

bool vm_renew(Server *s) {
  if (s->vm && atled_memory_used(s->vm) < s->memory + MEMORY_LEFT) return true;
  atled_free(s->vm);
  AtledConfig *c = &s->config;
  c->diagnostic = NULL;
  c->compiling = NULL;
  c->colour = false;
  c->jit = ATLED_JIT_OFF;
  c->threads = 1;
  c->time_limit = SECONDS;
  c->module = module_text;
  c->user = s;
  s->vm = new_vm(c);
  s->memory = s->vm ? atled_memory_used(s->vm) : 0;
  return s->vm;
}

/* ---- What is found -------------------------------------------------------------------------------------- */
typedef struct Lines {
  int line, column, end_line, end_column;
} Lines;

static json_t *range_of(Text *t, Lines l) {
  size_t start = text_offset_of(t, l.line, l.column);
  return text_range(t, start, l.end_line ? text_offset_of(t, l.end_line, l.end_column) : start);
}

static json_t *range_in_file(Server *s, const char *path, Lines l) {
  Text own = {0};
  Text *t = text_of_path(s, path, &own);
  json_t *range =
      t ? range_of(t, l)
        : json_pack("{s:{s:i,s:i},s:{s:i,s:i}}", "start", "line", 0, "character", 0, "end", "line", 0, "character", 0);
  text_free(&own);
  return range;
}

static json_t *notes_of(Server *s, const AtledDiagnostic *d) {
  json_t *all = json_array();
  for (int i = 0; i < d->note_count; i++) {
    const AtledNote *n = d->notes[i];
    json_t *range = range_in_file(s, n->file, (Lines){n->line, n->column, n->end_line, n->end_column});
    json_array_append_new(all, json_pack("{s:o,s:o}", "location", location(s, n->file, range), "message",
                                         text_json(n->message, strlen(n->message))));
  }
  return all;
}

/* All that is said of it, in lines. */
static json_t *message_of(const AtledDiagnostic *d) {
  char *text = NULL;
  if (asprintf(&text, "%s%s%s%s%s", d->message, d->label ? "\n" : "", d->label ? d->label : "",
               d->hint ? "\nhint: " : "", d->hint ? d->hint : "") < 0)
    return NULL;
  json_t *message = text_json(text, strlen(text));
  free(text);
  return message;
}

static void add_finding(Server *s, const Document *doc, const AtledDiagnostic *d) {
  const char *path = d->file ? d->file : doc->path;
  json_t *list = json_object_get(doc->findings, path);
  json_t *range = range_in_file(s, path, (Lines){d->line ? d->line : 1, d->column, d->end_line, d->end_column});
  json_t *finding = json_pack("{s:o,s:i,s:s,s:s,s:o}", "range", range, "severity", d->severity == ATLED_ERROR ? 1 : 2,
                              "code", d->kind, "source", "atled", "message", message_of(d));
  if (d->note_count) json_object_set_new(finding, "relatedInformation", notes_of(s, d));
  if (d->hint) json_object_set_new(finding, "data", text_json(d->hint, strlen(d->hint)));
  if (!list) {
    list = json_array();
    json_object_set_new(doc->findings, path, list);
  }
  json_array_append_new(list, finding);
}

/* An open file has its own findings. What only another document finds in it is a cycle of imports, unless that document
 * is still to be checked again. */
static bool knows_better(const Document *own, const Document *other) {
  return own && (other->changed || json_object_get(own->findings, own->path));
}

void show_findings(Server *s, const char *path) {
  const Document *own = document_of_path(s, path);
  json_t *all = json_array(), *list, *finding;
  size_t i;
  for (const Document *d = s->documents; d; d = d->next) {
    if (d != own && knows_better(own, d)) continue;
    list = json_object_get(d->findings, path);
    json_array_foreach(list, i, finding) {
      size_t k = 0;
      while (k < json_array_size(all) && !json_equal(json_array_get(all, k), finding)) k++;
      if (k == json_array_size(all)) json_array_append(all, finding);
    }
  }
  char *uri = own ? NULL : uri_of_path(path);
  json_t *params = json_pack("{s:s,s:o}", "uri", own ? own->uri : uri, "diagnostics", all);
  if (own) json_object_set_new(params, "version", json_integer(own->version));
  free(uri);
  stream_send(
      json_pack("{s:s,s:s,s:o}", "jsonrpc", "2.0", "method", "textDocument/publishDiagnostics", "params", params));
}

/* Takes what the VM found in its last call, and shows what has changed by it. */
static void take_findings(Server *s, Document *d) {
  json_t *before = d->findings, *unused;
  const char *path;
  d->findings = json_object();
  for (int i = 0; i < atled_diagnostic_count(s->vm); i++) add_finding(s, d, atled_diagnostic(s->vm, i));
  json_object_foreach(before, path, unused) if (strcmp(path, d->path) != 0 && !json_object_get(d->findings, path))
      show_findings(s, path);
  json_object_foreach(d->findings, path,
                      unused) if (strcmp(path, d->path) != 0 &&
                                  !json_equal(json_object_get(before, path), json_object_get(d->findings, path)))
      show_findings(s, path);
  show_findings(s, d->path);
  json_decref(before);
}

/* ---- Checking ------------------------------------------------------------------------------------------- */
void check_dependents(Server *s, const char *path) {
  for (Document *d = s->documents; d; d = d->next)
    if (json_object_get(d->imports, path)) d->changed = true;
}

/* What elaboration has found stays until it is done again: clients move it with the text, and it would flicker. */
static void check_types(Server *s, Document *d) {
  d->changed = false;
  json_object_clear(d->imports);
  s->asking = d;
  AtledStatus status = atled_check_types(s->vm, d->path, d->text.bytes);
  s->asking = NULL;
  d->unfinished = status == ATLED_OK && !d->library;
  if (d->library || (d->unfinished && d->elaborated)) return;
  d->elaborated = false;
  take_findings(s, d);
}

/* False: a message is waiting, or the end. */
static bool elaborate(Server *s, Document *d) {
  if (!stream_begin_idle(s->vm)) return false;
  AtledStatus status = atled_check(s->vm, d->path, d->text.bytes);
  const AtledDiagnostic *error = atled_error(s->vm);
  bool interrupted = status == ATLED_RUNTIME_ERROR && error && strcmp(error->kind, "interrupt") == 0;
  stream_end_idle(s->vm);
  if (interrupted) return true;
  d->unfinished = false;
  d->elaborated = atled_diagnostic_count(s->vm) > 0;
  if (atled_diagnostic_count(s->vm) || json_object_size(d->findings)) take_findings(s, d);
  return true;
}

bool check_next(Server *s) {
  Document *d = s->documents;
  if (!vm_renew(s)) return false;
  while (d && !d->changed) d = d->next;
  if (d) {
    check_types(s, d);
    return true;
  }
  for (d = s->documents; d && !d->unfinished; d = d->next) {}
  return d && elaborate(s, d);
}
