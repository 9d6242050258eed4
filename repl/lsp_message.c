/* SPDX-License-Identifier: MIT */
/* A message of the language server: from bytes to JSON, and which request a cancellation is about.
 *
 * The thread that reads makes the JSON, so that it knows at once of a request that is cancelled. */
#define _GNU_SOURCE
#include "lsp.h"
#include "repl.h"
#include <stdlib.h>
#include <string.h>

/* ---- Characters ----------------------------------------------------------------------------------------- */
static const char first_half[] = "89abAB", second_half[] = "cdefCDEF";

/* Is it the escape of such a half of a pair? */
static bool is_half(const char *s, const char *digits) {
  return s[0] == '\\' && s[1] == 'u' && (s[2] | 32) == 'd' && s[3] && strchr(digits, s[3]) && s[4] && s[5];
}

/* Bytes that are no UTF-8, and halves of UTF-16 pairs that stand alone, which Jansson refuses: a client's text may have
 * them, and must not be lost. Each becomes one character, so that places stay what they are. */
static void mend(char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    int n = sequence_length((const unsigned char *)text + i);
    if (!n) text[i++] = '?';
    else if (text[i] != '\\') i += (size_t)n;
    else if (is_half(text + i, first_half) && is_half(text + i + 6, second_half)) i += 12;
    else if (is_half(text + i, first_half) || is_half(text + i, second_half)) memcpy(text + i, "\\ufffd", 6), i += 6;
    else i += text[i + 1] ? 2 : 1;
  }
}

/* ---- Messages ------------------------------------------------------------------------------------------- */
static Message *message_new(void) { return calloc(1, sizeof(Message)); }

Message *message_problem(ErrorCode code, const char *problem) {
  Message *m = message_new();
  if (!m) return NULL;
  m->code = code;
  m->problem = strdup(problem);
  return m;
}

Message *message_parse(char *text, size_t length) {
  json_error_t error;
  mend(text, length);
  json_t *json = json_loadb(text, length, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
  if (!json) return message_problem(PARSE_ERROR, error.text);
  Message *m = message_new();
  if (m) m->json = json;
  else json_decref(json);
  return m;
}

void message_free(Message *m) {
  if (!m) return;
  json_decref(m->json);
  free(m->problem);
  free(m);
}

json_t *message_cancels(const Message *m) {
  const char *method = string_in(m->json, "method");
  bool cancels = method && strcmp(method, "$/cancelRequest") == 0;
  return cancels ? json_object_get(json_object_get(m->json, "params"), "id") : NULL;
}

bool message_is_request(const Message *m, json_t *id) {
  return string_in(m->json, "method") && json_equal(json_object_get(m->json, "id"), id);
}
