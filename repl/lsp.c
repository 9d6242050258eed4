/* SPDX-License-Identifier: MIT */
/* The language server: `atled lsp`, on standard input and output (Language Server Protocol 3.17).
 *
 * Messages are handled one by one, in their order. When none is waiting, documents that were changed are checked, and
 * those without an error elaborated, until the next message comes. A document's text is what the client said; the
 * library sees open documents instead of files. Nothing is run.
 *
 * A message that makes no sense gets an error, and the server goes on; the end of the input ends it. */
#define _GNU_SOURCE
#include "lsp.h"
#include "options.h"
#include "repl.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Documents ------------------------------------------------------------------------------------------ */
static Document *document_of_uri(const Server *s, const char *uri) {
  Document *d = s->documents;
  while (d && strcmp(d->uri, uri) != 0) d = d->next;
  return d;
}

Document *document_of_path(const Server *s, const char *path) {
  Document *d = s->documents;
  while (d && strcmp(d->path, path) != 0) d = d->next;
  return d;
}

Document *document_of(const Server *s, json_t *params) {
  const char *uri = string_in(json_object_get(params, "textDocument"), "uri");
  return uri ? document_of_uri(s, uri) : NULL;
}

static Place place_in(json_t *position) {
  return (Place){json_integer_value(json_object_get(position, "line")),
                 json_integer_value(json_object_get(position, "character"))};
}

size_t offset_in(Document *d, json_t *range, const char *end) {
  return text_offset(&d->text, place_in(json_object_get(range, end)));
}

size_t place_of(Document *d, json_t *params) { return offset_in(d, params, "position"); }

static void document_free(Document *d) {
  free(d->uri);
  free(d->path);
  text_free(&d->text);
  json_decref(d->imports);
  json_decref(d->findings);
  free(d);
}

/* A text of the protocol as the library takes it; NULL: it is none. */
static char *text_in(json_t *value) {
  size_t n = json_string_length(value);
  char *copy = json_is_string(value) ? malloc(n + 1) : NULL;
  if (!copy) return NULL;
  memcpy(copy, json_string_value(value), n + 1);
  return escape_zeros(copy, n);
}

static void changed(Server *s, Document *d) {
  d->changed = true;
  check_dependents(s, d->path);
}

static void open_document(Server *s, json_t *params) {
  json_t *item = json_object_get(params, "textDocument");
  const char *uri = string_in(item, "uri");
  char *text = text_in(json_object_get(item, "text"));
  Document *d = uri ? document_of_uri(s, uri) : NULL;
  bool known = d;
  if (!d) d = uri && text ? calloc(1, sizeof *d) : NULL;
  if (d && !known) {
    d->uri = strdup(uri);
    d->path = path_of_uri(uri);
    d->imports = json_object();
    d->findings = json_object();
    d->library = d->path && is_library_path(d->path);
    d->next = s->documents;
  }
  if (!d || !text || !d->uri || !d->path) {
    log_problem("didOpen without a document");
    free(text);
    if (d && !known) document_free(d);
    return;
  }
  if (!known) s->documents = d;
  text_set(&d->text, text);
  d->version = json_integer_value(json_object_get(item, "version"));
  changed(s, d);
}

static void change_range(Document *d, json_t *range, const char *text) {
  size_t start = offset_in(d, range, "start"), end = offset_in(d, range, "end");
  if (start > end) {
    size_t other = start;
    start = end;
    end = other;
  }
  if (!text_replace(&d->text, start, end, text, strlen(text))) log_problem("out of memory: a change is lost");
}

static void change_document(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  json_t *changes = json_object_get(params, "contentChanges"), *change;
  size_t i;
  if (!d) {
    log_problem("didChange of a document that isn't open");
    return;
  }
  json_array_foreach(changes, i, change) {
    char *text = text_in(json_object_get(change, "text"));
    json_t *range = json_object_get(change, "range");
    if (!text) log_problem("a change without its text");
    else if (json_is_object(range)) change_range(d, range, text);
    else text_set(&d->text, text), text = NULL;
    free(text);
  }
  json_t *version = json_object_get(json_object_get(params, "textDocument"), "version");
  if (json_is_integer(version)) d->version = json_integer_value(version);
  changed(s, d);
}

static void close_document(Server *s, json_t *params) {
  Document *d = document_of(s, params);
  if (!d) return;
  for (Document **at = &s->documents; *at; at = &(*at)->next)
    if (*at == d) {
      *at = d->next;
      break;
    }
  const char *path;
  json_t *unused;
  json_object_foreach(d->findings, path, unused) show_findings(s, path);
  show_findings(s, d->path);
  check_dependents(s, d->path);
  document_free(d);
}

/* A file that a client has written, or that was changed elsewhere. */
static void files_changed(Server *s, json_t *params) {
  json_t *event;
  size_t i;
  json_array_foreach(json_object_get(params, "changes"), i, event) {
    const char *uri = string_in(event, "uri");
    char *path = uri ? path_of_uri(uri) : NULL;
    if (path) check_dependents(s, path);
    free(path);
  }
}

/* Files that aren't open may have changed with it, or been written by something else. */
static void saved_document(Server *s, json_t *params) {
  (void)params;
  for (Document *d = s->documents; d; d = d->next) d->changed = true;
}

/* ---- Messages to the client ----------------------------------------------------------------------------- */
void log_problem(const char *message) {
  enum { WARNING = 2 };
  stream_send(json_pack("{s:s,s:s,s:{s:i,s:s}}", "jsonrpc", "2.0", "method", "window/logMessage", "params", "type",
                        WARNING, "message", message));
}

json_t *failure(ErrorCode code, const char *message) {
  return json_pack("{s:{s:i,s:s}}", "error", "code", (int)code, "message", message);
}

/* Sends a result, or a failure. Takes it. */
static void reply(json_t *id, json_t *result) {
  json_t *answer = json_pack("{s:s,s:O}", "jsonrpc", "2.0", "id", id);
  json_t *error = json_object_get(result, "error");
  if (error) json_object_set(answer, "error", error);
  else json_object_set(answer, "result", result ? result : json_null());
  json_decref(result);
  if (stream_send(answer)) return;
  stream_send(json_pack("{s:s,s:O,s:{s:i,s:s}}", "jsonrpc", "2.0", "id", id, "error", "code", INTERNAL_ERROR, "message",
                        "the answer can't be written"));
}

/* ---- Beginning and end ---------------------------------------------------------------------------------- */
static json_t *capabilities(void) {
  enum { INCREMENTAL = 2 };
  return json_pack(
      "{s:s, s:{s:b,s:i,s:{s:b}}, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:{s:b}, s:{s:[s],s:b}, s:{s:[s,s,s]}, "
      "s:{s:[s]}, s:{s:o,s:b,s:b}}",
      "positionEncoding", "utf-16", "textDocumentSync", "openClose", 1, "change", INCREMENTAL, "save", "includeText", 0,
      "hoverProvider", 1, "definitionProvider", 1, "referencesProvider", 1, "documentHighlightProvider", 1,
      "documentSymbolProvider", 1, "workspaceSymbolProvider", 1, "documentFormattingProvider", 1, "inlayHintProvider",
      1, "renameProvider", "prepareProvider", 1, "completionProvider", "triggerCharacters", ".", "resolveProvider", 1,
      "signatureHelpProvider", "triggerCharacters", " ", "(", ",", "codeActionProvider", "codeActionKinds", "quickfix",
      "semanticTokensProvider", "legend", semantic_legend(), "range", 1, "full", 1);
}

static json_t *initialise(Server *s, json_t *params) {
  if (s->initialised) return failure(INVALID_REQUEST, "the server is initialised already");
  json_t *folder = json_array_get(json_object_get(params, "workspaceFolders"), 0);
  const char *uri = folder ? string_in(folder, "uri") : string_in(params, "rootUri");
  s->folder = uri ? path_of_uri(uri) : NULL;
  json_t *tokens =
      json_object_get(json_object_get(json_object_get(params, "capabilities"), "textDocument"), "semanticTokens");
  s->augments = json_is_true(json_object_get(tokens, "augmentsSyntaxTokens"));
  s->initialised = true;
  return json_pack("{s:o,s:{s:s,s:s}}", "capabilities", capabilities(), "serverInfo", "name", "atled", "version",
                   atled_version());
}

/* What the server has as a document's text: for tests. */
static json_t *document_text(Server *s, json_t *params) {
  const Document *d = document_of(s, params);
  return d ? text_json(d->text.bytes, d->text.length) : NULL;
}

static json_t *shut_down(Server *s, json_t *params) {
  (void)params;
  s->closing = true;
  return NULL;
}

static void end(Server *s, json_t *params) {
  (void)params;
  s->done = true;
  s->status = s->closing ? 0 : 1;
}

static void nothing(Server *s, json_t *params) {
  (void)s;
  (void)params;
}

/* ---- What messages are ---------------------------------------------------------------------------------- */
static const struct {
  const char *method;
  json_t *(*answer)(Server *s, json_t *params);
} requests[] = {{"initialize", initialise},
                {"shutdown", shut_down},
                {"atled/documentText", document_text},
                {"textDocument/hover", hover},
                {"textDocument/definition", definition},
                {"textDocument/references", references},
                {"textDocument/documentHighlight", highlights},
                {"textDocument/documentSymbol", outline},
                {"workspace/symbol", all_symbols},
                {"textDocument/inlayHint", inlays},
                {"textDocument/semanticTokens/full", semantic_tokens},
                {"textDocument/semanticTokens/range", semantic_tokens},
                {"textDocument/prepareRename", prepare_rename},
                {"textDocument/rename", rename_name},
                {"textDocument/completion", completion},
                {"completionItem/resolve", resolve_completion},
                {"textDocument/signatureHelp", signature},
                {"textDocument/formatting", formatting},
                {"textDocument/codeAction", actions}};

static const struct {
  const char *method;
  void (*handle)(Server *s, json_t *params);
} notifications[] = {{"exit", end},
                     {"textDocument/didOpen", open_document},
                     {"textDocument/didChange", change_document},
                     {"textDocument/didClose", close_document},
                     {"workspace/didChangeWatchedFiles", files_changed},
                     {"initialized", nothing},
                     {"textDocument/didSave", saved_document}};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static json_t *answer(Server *s, const char *method, json_t *params) {
  bool begins = strcmp(method, "initialize") == 0;
  if (!s->initialised && !begins) return failure(NOT_INITIALISED, "the server isn't initialised");
  if (s->closing) return failure(INVALID_REQUEST, "the server is shut down");
  for (size_t i = 0; i < COUNT(requests); i++)
    if (strcmp(requests[i].method, method) == 0) return requests[i].answer(s, params);
  return failure(METHOD_NOT_FOUND, "there is no such method");
}

static void notice(Server *s, const char *method, json_t *params) {
  bool ends = strcmp(method, "exit") == 0;
  if ((!s->initialised || s->closing) && !ends) return;
  for (size_t i = 0; i < COUNT(notifications); i++)
    if (strcmp(notifications[i].method, method) == 0) notifications[i].handle(s, params);
}

/* ---- Messages ------------------------------------------------------------------------------------------- */
static bool is_id(json_t *id) { return json_is_integer(id) || json_is_string(id) || json_is_null(id); }

/* A request that was cancelled before it is answered isn't begun; one that is cancelled meanwhile ends early. */
static void request(Server *s, Message *m, json_t *id, const char *method, json_t *params) {
  stream_begin_answer(s->vm, m);
  json_t *result = stream_cancelled() ? NULL : answer(s, method, params);
  if (stream_end_answer(s->vm)) {
    json_decref(result);
    result = failure(REQUEST_CANCELLED, "the request was cancelled");
  }
  reply(id, result);
}

static void handle(Server *s, Message *m) {
  json_t *id = json_object_get(m->json, "id");
  const char *method = string_in(m->json, "method");
  json_t *params = json_object_get(m->json, "params");
  if (!m->json) reply(json_null(), failure(m->code, m->problem));
  else if (method && !id) notice(s, method, params);
  else if (method && is_id(id)) request(s, m, id, method, params);
  else if (json_is_object(m->json) && !method && id) return; /* an answer: the server asks nothing */
  else reply(json_null(), failure(INVALID_REQUEST, "this is no request"));
}

/* ---- All of it ------------------------------------------------------------------------------------------ */
static void serve(Server *s) {
  while (!s->done) {
    Message *m = stream_take(false);
    if (!m && check_next(s)) continue;
    if (!m) m = stream_take(true);
    if (!m) return;
    handle(s, m);
    message_free(m);
  }
}

static void server_free(Server *s) {
  while (s->documents) {
    Document *d = s->documents;
    s->documents = d->next;
    document_free(d);
  }
  text_free(&s->file);
  free(s->folder);
  atled_free(s->vm);
}

/* Checks take and give back the same memory again and again: for pages that the system has to clear each time they
 * would need half their time. */
static void keep_memory(void) {
#ifdef __GLIBC__
  enum { KEPT = 96 << 20 };
  mallopt(M_MMAP_THRESHOLD, KEPT);
  mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

int language_server(const Options *o) {
  Server s = {.config = o->config, .status = 1};
  keep_memory();
  if (!vm_renew(&s) || !stream_start()) {
    fputs("atled: the language server can't start\n", stderr);
    server_free(&s);
    return EXIT_SOFTWARE;
  }
  serve(&s);
  server_free(&s);
  return s.status;
}
