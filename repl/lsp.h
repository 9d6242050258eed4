/* SPDX-License-Identifier: MIT */
/* The language server, `atled lsp`: what its files share. A client of atled.h; JSON is Jansson's.
 *
 *   lsp.c            the loop, what each message is, beginning and end
 *   lsp_stream.c     messages on standard input and output; a thread reads them; cancelled requests
 *   lsp_message.c    a message's JSON
 *   lsp_text.c       documents: edits, places in UTF-16, names of files
 *   lsp_check.c      diagnostics: types after each change, what elaboration finds when nothing else is to be done
 *   lsp_ask.c        questions to the library about a place of a document
 *   lsp_library.c    files of the library's modules
 *   lsp_look.c       hover, definition, references, outline, types beside names
 *   lsp_names.c      what names and other parts are, for colours: semantic tokens
 *   lsp_rename.c     renaming in all files
 *   lsp_write.c      completion, signatures, formatting, mending by hints
 */
#ifndef ATLED_LSP_H
#define ATLED_LSP_H
#include "atled.h"
#include <jansson.h>

/* ---- Texts (lsp_text.c) ---- */
/* A text with the beginnings of its lines, which end with \n, \r\n or \r, as the protocol has it. */
typedef struct Place {
  json_int_t line, character; /* from 0, in UTF-16 */
} Place;
typedef struct Text {
  char *bytes; /* UTF-8, zero-terminated; a zero byte in it is C0 80 */
  size_t length;
  size_t *lines;
  size_t nlines; /* 0: not known */
  Place last;    /* that was asked for: lines may be long, and places come in their order */
  size_t last_offset;
} Text;

/* Takes the bytes. NULL: none. */
void text_set(Text *t, char *bytes);
void text_free(Text *t);
size_t text_offset(Text *t, Place p); /* beyond the end of a line, or the text: that end */
Place text_place(Text *t, size_t offset);
/* The byte of a line and a column as the library counts them: from 1, in characters, lines end with \n. */
size_t text_offset_of(const Text *t, int line, int column);
/* Replaces bytes [start, end). False: no memory, nothing has changed. */
bool text_replace(Text *t, size_t start, size_t end, const char *by, size_t n);
json_t *text_range(Text *t, size_t start, size_t end);
json_t *text_position(Text *t, size_t offset);
/* Bytes of a text, or of what the library says of one, as the client has them. */
json_t *text_json(const char *bytes, size_t n);
/* A regular file's text. False: there is none. */
bool text_read(Text *t, const char *path);
/* The path of a URI, normalised; of one that names no file the URI. To be freed. */
char *path_of_uri(const char *uri);
char *uri_of_path(const char *path);

typedef struct Document {
  struct Document *next;
  char *uri, *path;
  Text text;
  json_int_t version;
  bool changed;     /* its types are to be checked */
  bool unfinished;  /* … and it is to be elaborated */
  bool elaborated;  /* some of what is shown was found so */
  bool library;     /* a text of the library's (lsp_library.c) */
  json_t *imports;  /* names of files that its check asked for: an object */
  json_t *findings; /* path -> diagnostics of the protocol, with "hint" as data */
} Document;

typedef struct Server {
  AtledConfig config;
  AtledVM *vm;
  size_t memory; /* that a VM holds when it is new */
  Document *documents;
  Document *asking; /* whose check asks for files, or NULL */
  Text file;        /* the last one that the VM has asked for */
  json_t *overlay;  /* path -> text, instead of what is there: of a renaming that is tried out; or NULL */
  char *folder;     /* of the workspace; NULL: none */
  bool initialised, closing, done;
  bool augments; /* the client shows semantic tokens over those of its grammar */
  int status;    /* of the process */
} Server;

/* ---- lsp_message.c ---- */
typedef enum ErrorCode {
  PARSE_ERROR = -32700,
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  NOT_INITIALISED = -32002,
  INTERNAL_ERROR = -32603,
  REQUEST_FAILED = -32803,
  REQUEST_CANCELLED = -32800
} ErrorCode;
typedef struct Message {
  struct Message *next;
  json_t *json;   /* NULL: what came was none */
  ErrorCode code; /* then: what is wrong */
  char *problem;
  bool cancelled; /* the client doesn't want the answer any more */
} Message;
/* Of the bytes, which are changed. NULL: no memory. */
Message *message_parse(char *text, size_t length);
Message *message_problem(ErrorCode code, const char *problem);
void message_free(Message *m);
/* The id of the request that it cancels; NULL: it cancels none. */
json_t *message_cancels(const Message *m);
bool message_is_request(const Message *m, json_t *id);

/* ---- lsp_stream.c ---- */
bool stream_start(void);
/* The next message, to be freed; NULL: there is none now, or, after waiting, none will come. */
Message *stream_take(bool wait);
bool stream_send(json_t *message); /* takes it; false: it is NULL, or can't be written as text */
/* From now on a message interrupts the VM. False: one is waiting. */
bool stream_begin_idle(AtledVM *vm);
void stream_end_idle(AtledVM *vm);
/* From now on the cancellation of the message interrupts the VM. */
void stream_begin_answer(AtledVM *vm, Message *m);
/* Was it cancelled? */
bool stream_end_answer(AtledVM *vm);
/* Is the answer that is being made not wanted any more? */
bool stream_cancelled(void);

/* ---- lsp.c ---- */
Document *document_of_path(const Server *s, const char *path);
/* Of "textDocument" in params; NULL: it isn't open. */
Document *document_of(const Server *s, json_t *params);
/* The byte of "position" in params; of a "start" or "end" of a range. */
size_t place_of(Document *d, json_t *params);
size_t offset_in(Document *d, json_t *range, const char *end);
void log_problem(const char *message);
/* An answer that is an error. */
json_t *failure(ErrorCode code, const char *message);

/* ---- lsp_check.c ---- */
/* The documents that depend on the file are to be checked again. */
void check_dependents(Server *s, const char *path);
/* Checks one document that was changed, or elaborates one. False: there is nothing to be done. */
bool check_next(Server *s);
/* What is known of the file is shown to the client. */
void show_findings(Server *s, const char *path);
/* A new VM, where the old one holds much memory; false: there is none. */
bool vm_renew(Server *s);

/* ---- lsp_ask.c ---- */
/* The answer to a question about the document; NULL: none. */
json_t *ask(Server *s, AtledQuestion question, Document *d, size_t at, size_t to);
/* Where the definition, whose name begins at that byte of the file, is used in a text. */
json_t *ask_uses_of(Server *s, const char *path, const char *text, const char *file, size_t at);
json_t *ask_outline_of(Server *s, const char *path, const char *text);
/* The text of an open document, or of the file, which is read into *own. NULL: there is none. */
Text *text_of_path(Server *s, const char *path, Text *own);
/* Whose name the definition in the answer is: path and byte. False: the library's, or unknown. */
bool definition_of(json_t *answer, const char **path, size_t *at, size_t *end);
/* Paths of files that may use names of this one: open documents, and programs in the workspace's folder or the file's
 * own. */
json_t *files_around(Server *s, const char *path);
size_t size_in(json_t *object, const char *name);
const char *string_in(json_t *object, const char *name); /* NULL: it has none */
/* With the client's own URI if the file is open. Takes the range. */
json_t *location(const Server *s, const char *path, json_t *range);
/* Likewise; to be freed. */
char *uri_of_file(const Server *s, const char *path);

/* ---- lsp_library.c ---- */
/* The file with the text of a module of the library, to be freed; NULL: it can't be written. */
char *library_file(Server *s, const char *module);
bool is_library_path(const char *path); /* is it of such a file? */

/* ---- Requests: from params to a result, or a failure; NULL: null ---- */
json_t *hover(Server *s, json_t *params);
json_t *definition(Server *s, json_t *params);
json_t *references(Server *s, json_t *params);
json_t *highlights(Server *s, json_t *params);
json_t *outline(Server *s, json_t *params);
json_t *all_symbols(Server *s, json_t *params);
json_t *inlays(Server *s, json_t *params);
json_t *semantic_tokens(Server *s, json_t *params); /* of a "range", or of all */
json_t *semantic_legend(void);
json_t *prepare_rename(Server *s, json_t *params);
json_t *rename_name(Server *s, json_t *params);
json_t *completion(Server *s, json_t *params);
json_t *resolve_completion(Server *s, json_t *params);
json_t *signature(Server *s, json_t *params);
json_t *formatting(Server *s, json_t *params);
json_t *actions(Server *s, json_t *params);
#endif
