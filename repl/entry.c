/* SPDX-License-Identifier: MIT */
/* Where entries end. A first line that parses is one. What isn't finished goes on. An entry of several lines ends by an
 * empty line, or by a line in column 0 that begins an item (R1.7, R1.8 of the reference): that one is the next entry.
 * Lines that came together, from the history or pasted, are an entry as soon as they parse. An error in the syntax
 * that no further line can mend ends an entry, too. */
#include "entry.h"
#include <stdlib.h>
#include <string.h>

bool entry_is_blank(const char *text) { return text[strspn(text, " \t\n")] == '\0'; }

const char *entry_last_line(const char *text) {
  const char *end = strrchr(text, '\n');
  return end ? end + 1 : text;
}

/* The first word that is no comment. */
static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  while (*text == '#' || *text == '\n') text += *text == '#' ? strcspn(text, "\n") : 1;
  return strncmp(text, word, n) == 0 && strchr(" \t\n", text[n]);
}

bool entry_is_rule(const char *text) { return begins_with(text, "pullback") || begins_with(text, "tangent"); }

bool entry_is_definition(const char *text) { return begins_with(text, "let") || begins_with(text, "foreign"); }

static int count_items(AtledVM *vm, const char *text, AtledStatus *status) {
  const size_t *starts;
  int n;
  *status = atled_items(vm, text, &starts, &n);
  return n;
}

/* `if c then 1` parses, and is wrong unless an `else` comes. */
static bool lacks_else(AtledVM *vm, const char *text) {
  if (!strstr(text, "then") || atled_check(vm, "entry", text) == ATLED_OK) return false;
  const AtledDiagnostic *d = atled_error(vm);
  return d && strcmp(d->kind, "missing-else") == 0;
}

bool entry_ends(AtledVM *vm, const char *text, bool typed) {
  const char *last = entry_last_line(text);
  AtledStatus status;
  if (entry_is_blank(text) || text[0] == ':' || (last > text && entry_is_blank(last))) return true;
  int items = count_items(vm, text, &status);
  if (status == ATLED_INCOMPLETE) return typed && items > 1;
  if (last > text && typed) return status != ATLED_OK || items > 1;
  return status != ATLED_OK || !lacks_else(vm, text);
}

bool entry_lacks_indent(AtledVM *vm, const char *text) {
  const char *last = entry_last_line(text);
  if (last == text || strchr(" \t", *last)) return false;
  char *above = strndup(text, (size_t)(last - text));
  AtledStatus status = ATLED_OK;
  if (above) count_items(vm, above, &status);
  free(above);
  return status == ATLED_INCOMPLETE;
}

/* ---- Pieces ------------------------------------------------------------------------------------- */
/* From the line of `start` on, behind as many ends of lines as stand above it. */
static char *piece(const char *text, size_t start, size_t end) {
  size_t lines = 0;
  for (size_t i = 0; i < start; i++) lines += text[i] == '\n';
  char *out = malloc(lines + end - start + 1);
  if (!out) return NULL;
  memset(out, '\n', lines);
  memcpy(out + lines, text + start, end - start);
  out[lines + end - start] = '\0';
  return out;
}

void entry_free(Pieces p) {
  for (int i = 0; i < p.n; i++) free(p.texts[i]);
  free(p.texts);
}

/* Where items begin that are evaluated by themselves, copied; the end of the text behind them. */
static size_t *find_starts(AtledVM *vm, const char *text, int *n) {
  const size_t *starts;
  int all, kept = 1;
  atled_items(vm, text, &starts, &all);
  size_t *own = malloc(((size_t)all + 2) * sizeof *own);
  if (!own) return NULL;
  own[0] = 0;
  for (int i = 1; i < all; i++)
    if (!entry_is_rule(text + starts[i])) own[kept++] = starts[i];
  own[kept] = strlen(text);
  *n = kept;
  return own;
}

Pieces entry_split(AtledVM *vm, const char *text, bool typed, char **rest) {
  int n = 0;
  size_t *starts = find_starts(vm, text, &n);
  Pieces p = {.texts = starts ? calloc((size_t)n, sizeof *p.texts) : NULL};
  AtledStatus status = ATLED_OK;
  *rest = NULL;
  if (p.texts && typed && n > 1 && !entry_is_blank(entry_last_line(text))) {
    count_items(vm, text + starts[n - 1], &status);
    if (status == ATLED_INCOMPLETE) *rest = strdup(text + starts[--n]);
  }
  for (; p.texts && p.n < n; p.n++)
    if (!(p.texts[p.n] = piece(text, starts[p.n], starts[p.n + 1]))) break;
  free(starts);
  return p;
}
