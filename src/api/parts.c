/* SPDX-License-Identifier: MIT */
/* What the parts of a source are, for their colours: each byte gets a kind, from its token, from the comment that
 * stands between two tokens, or from an error of the syntax that is underlined there; runs of one kind are a part. */
#include "api/vm.h"
#include <string.h>

enum { PLAIN = ATLED_PART_ERROR + 1 };

typedef struct PartsCall {
  const char *source;
  const AtledPart **parts;
  int *count;
} PartsCall;

static int kind_of(const Token *t) {
  if (t->role == ROLE_KEYWORD) return ATLED_PART_KEYWORD;
  if (t->role == ROLE_TYPE) return ATLED_PART_TYPE;
  switch (t->kind) {
  case TOK_RAW_STRING:
  case TOK_STRING:
  case TOK_INTERP_BEGIN:
  case TOK_INTERP_MID:
  case TOK_INTERP_FORMAT:
  case TOK_INTERP_END: return ATLED_PART_STRING;
  case TOK_INT:
  case TOK_FLOAT: return ATLED_PART_NUMBER;
  case TOK_TYVAR: return ATLED_PART_TYPE;
  default: return token_is_keyword(t->kind) ? ATLED_PART_KEYWORD : PLAIN;
  }
}

static void paint(unsigned char *kinds, size_t start, size_t end, int kind) {
  if (end > start) memset(kinds + start, kind, end - start);
}

/* Between two tokens stand blanks and comments, and what the lexer complained of. */
static void paint_comments(unsigned char *kinds, const char *text, size_t start, size_t end) {
  while (start < end && text[start] != '#' && !(text[start] == '(' && text[start + 1] == '*')) start++;
  while (end > start && strchr(" \t\r\n", text[end - 1])) end--;
  paint(kinds, start, end, ATLED_PART_COMMENT);
}

static void paint_source(unsigned char *kinds, AtledVM *vm, uint32_t id) {
  const Source *source = sources_get(&vm->sources, id);
  Tokens tokens = parse_tokens(vm->lexer, &vm->scratch, &vm->syms, &vm->diags, id);
  size_t done = 0;
  for (int i = 0; i < tokens.len; i++) {
    const Token *t = &tokens.data[i];
    size_t end = t->kind == TOK_EOF ? source->len : t->end;
    paint_comments(kinds, source->text, done, t->kind == TOK_EOF ? source->len : t->start);
    if (t->kind != TOK_EOF) paint(kinds, t->start, end, kind_of(t));
    done = end;
  }
  for (int i = 0; i < vm->diags.all.len; i++) {
    const Diag *d = &vm->diags.all.data[i];
    if (d->severity == SEV_ERROR && d->at.source == id) paint(kinds, d->at.start, d->at.end, ATLED_PART_ERROR);
  }
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
}

static AtledStatus parts_body(AtledVM *vm, void *arg) {
  PartsCall *c = arg;
  size_t n = strlen(c->source);
  uint32_t id = sources_add(&vm->sources, "<parts>", c->source, n);
  unsigned char *kinds = arena_alloc(&vm->scratch, n + 1);
  memset(kinds, PLAIN, n + 1);
  paint_source(kinds, vm, id);
  Vec(AtledPart) parts = {0};
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && kinds[end] == kinds[start];) end++;
    AtledPart part = {.kind = (AtledPartKind)kinds[start], .start = start, .end = end};
    if (kinds[start] != PLAIN) vec_push(&vm->scratch, parts, part);
  }
  *c->parts = parts.data;
  *c->count = parts.len;
  return ATLED_OK;
}

AtledStatus atled_parts(AtledVM *vm, const char *source, const AtledPart **parts, int *count) {
  if (!source || !parts || !count) return vm_reject_null(vm, source ? "the place for the parts" : "the source");
  PartsCall c = {source, parts, count};
  *parts = NULL;
  *count = 0;
  return vm_call(vm, parts_body, &c);
}
