/* SPDX-License-Identifier: MIT */
/* The parser's driver: cuts the tokens into items by the layout rule, parses
 * each, and goes on after errors. Also the helpers that all parts use.
 *
 * Layout is decided here and nowhere else. An item's tokens are fixed before it
 * is parsed; at its end the parser sees an EOF token placed right behind the
 * last one. So an error never runs into the next item, and a forgotten bracket
 * is reported in the item that lacks it. The grammar is in expr.c, atom.c,
 * pattern.c, type_expr.c and items.c. */
#include "parser/parser_internal.h"
#include "support/phases.h"
#include <string.h>

/* ---- Tokens ----------------------------------------------------------------- */

void set_pos(Parser *p, int pos) {
  p->pos = pos;
  p->tok = pos < p->item_end ? &p->tokens[pos] : &p->end;
}

void advance(Parser *p) {
  if (p->pos < p->item_end) set_pos(p, p->pos + 1);
}

TokenKind peek_kind(const Parser *p, int n) { return p->pos + n < p->item_end ? p->tokens[p->pos + n].kind : TOK_EOF; }

Span token_span(const Parser *p) { return (Span){p->source, p->tok->start, p->tok->end}; }

Span span_to_here(const Parser *p, Span from) {
  if (p->pos > 0 && p->tokens[p->pos - 1].end > from.end) from.end = p->tokens[p->pos - 1].end;
  return from;
}

void set_role(Parser *p, int first, TokenRole role) {
  for (int i = first; i < p->pos; i++) p->tokens[i].role = role;
}

bool accept(Parser *p, TokenKind kind) {
  if (!at(p, kind)) return false;
  advance(p);
  return true;
}

Span expect(Parser *p, TokenKind kind, const char *hint) {
  Span span = token_span(p);
  if (!accept(p, kind)) {
    const char *what = token_text(kind);
    fail_expected(p, token_is_fixed(kind) ? arena_printf(p->arena, "`%s`", what) : what, hint, NO_SPAN, NULL);
  }
  return span;
}

static bool at_real_end(const Parser *p) { return at(p, TOK_EOF) && p->item_end == p->ntokens; }

void expect_close(Parser *p, TokenKind kind, Span open, const char *hint) {
  if (accept(p, kind)) return;
  if (!hint && at(p, TOK_EOF) && !at_real_end(p))
    hint = "the next item begins in column 0: is a bracket open before it?";
  fail_expected(p, arena_printf(p->arena, "`%s`", token_text(kind)), hint, open, "to close this bracket");
}

/* ---- Errors ------------------------------------------------------------------- */

/* The current token as a message shows it. */
static const char *found(const Parser *p) {
  const Token *t = p->tok;
  if (t->kind == TOK_EOF) return at_real_end(p) ? "the end of the input" : "the end of the item";
  bool own_text = token_is_fixed(t->kind) || t->kind == TOK_IDENT || t->kind == TOK_UPPER || t->kind == TOK_INT ||
                  t->kind == TOK_FLOAT || t->kind == TOK_TYVAR;
  if (!own_text) return token_text(t->kind);
  return arena_printf(p->arena, "`%.*s`", (int)(t->end - t->start), p->text + t->start);
}

static _Noreturn void abandon_item(Parser *p) {
  p->failed = true;
  longjmp(p->recover, 1);
}

_Noreturn void fail_expected(Parser *p, const char *what, const char *hint, Span also, const char *also_label) {
  if (at_real_end(p)) {
    if (p->cut_off) abandon_item(p);
    p->diags->incomplete = true;
  }
  Diag *d = diag_error(p->diags, token_span(p), "syntax", "expected %s, found %s", what, found(p));
  d->hint = hint ? hint : habit_hint(p);
  d->also = also;
  d->also_label = also_label;
  abandon_item(p);
}

void report(Parser *p, Span at, const char *code, const char *message, const char *hint) {
  diag_error(p->diags, at, code, "%s", message)->hint = hint;
  p->failed = true;
}

_Noreturn void fail_at(Parser *p, Span at, const char *code, const char *message, const char *hint) {
  report(p, at, code, message, hint);
  abandon_item(p);
}

void enter(Parser *p) {
  if (++p->depth > p->deepest)
    fail_at(p, token_span(p), "nesting", "this is nested too deeply", "name inner parts with `let`");
}

/* ---- Constructs ------------------------------------------------------------------- */

static void add_construct(Parser *p, ConstructKind kind, int level, int first) {
  vec_push(p->temp, *p->constructs, ((Construct){kind, level, first, p->pos}));
}

void note(Parser *p, ConstructKind kind, int first) {
  if (p->constructs) add_construct(p, kind, 0, first);
}

/* The token that begins at the byte. */
static int token_at(const Parser *p, uint32_t start) {
  int low = 0, high = p->ntokens - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (p->tokens[middle].start < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

void note_operation(Parser *p, ConstructKind kind, int level, uint32_t start) {
  if (p->constructs) add_construct(p, kind, level, token_at(p, start));
}

/* ---- Lists and names ------------------------------------------------------------ */

void scratch_push(Parser *p, void *node) { vec_push(p->temp, p->scratch, node); }

void *scratch_take(Parser *p, int mark, int *n) {
  *n = p->scratch.len - mark;
  p->scratch.len = mark;
  return list_keep(p, p->scratch.data + mark, *n, sizeof(void *));
}

void *scratch_flatten(Parser *p, int mark, size_t size, int *n) {
  *n = p->scratch.len - mark;
  p->scratch.len = mark;
  char *out = arena_alloc(p->arena, size * (size_t)*n);
  for (int i = 0; i < *n; i++) memcpy(out + size * (size_t)i, p->scratch.data[mark + i], size);
  return out;
}

void *list_keep(Parser *p, const void *list, int n, size_t size) {
  if (n == 0) return NULL;
  return memcpy(arena_alloc(p->arena, size * (size_t)n), list, size * (size_t)n);
}

Sym expect_ident(Parser *p, const char *what, Span *span) {
  if (!at(p, TOK_IDENT)) fail_expected(p, what, NULL, NO_SPAN, NULL);
  Sym name = p->tok->text;
  if (span) *span = token_span(p);
  advance(p);
  return name;
}

/* name = [ Module "." ] ( ident | Ctor ) */
Name parse_name(Parser *p, const char *what) {
  Name name = {.name = p->tok->text, .span = token_span(p)};
  if (!at(p, TOK_IDENT) && !at(p, TOK_UPPER)) fail_expected(p, what, NULL, NO_SPAN, NULL);
  bool capital = at(p, TOK_UPPER);
  advance(p);
  TokenKind next = peek_kind(p, 1);
  if (!capital || !at(p, TOK_DOT) || (next != TOK_IDENT && next != TOK_UPPER)) return name;
  advance(p);
  name.module = name.name;
  name.name = p->tok->text;
  advance(p);
  name.span = span_to_here(p, name.span);
  return name;
}

/* ---- Items -------------------------------------------------------------------- */

/* Whether a token in column 0 begins an item; others continue the one above. */
static bool starts_item(TokenKind kind) {
  switch (kind) {
  case TOK_LET:
  case TOK_TYPE:
  case TOK_FUN:
  case TOK_IF:
  case TOK_MATCH:
  case TOK_FOR:
  case TOK_WHILE:
  case TOK_UNDERSCORE:
  case TOK_EOF: return true;
  default: return starts_atom(kind);
  }
}

static int find_item_end(const Parser *p) {
  int i = p->pos + 1;
  while (i < p->ntokens && !(p->tokens[i].column0 && starts_item(p->tokens[i].kind))) i++;
  return i;
}

static void begin_item(Parser *p) {
  p->item_end = find_item_end(p);
  uint32_t end = p->tokens[p->item_end - 1].end;
  p->end = (Token){.kind = TOK_EOF, .start = end, .end = end};
  p->depth = 0;
  p->failed = false;
  p->scratch.len = 0;
  p->operands.len = 0;
  p->breaks.len = 0;
  p->operators.len = 0;
  set_pos(p, p->pos);
}

static void parse_items(Parser *p, Program *program) {
  while (p->pos < p->ntokens) {
    begin_item(p);
    if (setjmp(p->recover) == 0) {
      int first = p->pos;
      Item *item = parse_item(p);
      note(p, CONSTRUCT_ITEM, first);
      refuse_breaks(p, 0, "`break` stands in no loop");
      if (!p->failed) vec_push(p->diags->arena, program->items, item);
    }
    p->pos = p->item_end;
  }
}

/* Parses bytes [start, end) into *program, whose source is known. The tokens, and the comments and constructs of
 * *structure, live until the lexer is used again; NULL: nobody asks for these. */
static Tokens parse_into(Program *program, Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t start,
                         uint32_t end, Structure *structure) {
  Phase before = phase_enter(arena->heap, PHASE_PARSE);
  int errors = diags->errors;
  bool incomplete = diags->incomplete;
  diags->incomplete = false;
  Arena *temp = lexer_temp(lx);
  Comments *comments = structure ? &structure->comments : NULL;
  Tokens tokens = lex_with_comments(lx, temp, syms, diags, program->source, start, end, comments);
  Parser *p = NEW(temp, Parser);
  p->arena = arena;
  p->temp = temp;
  p->syms = syms;
  p->diags = diags;
  p->source = program->source;
  const Source *read = sources_get(diags->sources, p->source);
  p->text = read->text;
  p->deepest = read->library ? LIMIT_NESTING : lexer_nesting(lx);
  p->tokens = tokens.data;
  p->ntokens = tokens.len - 1;
  p->cut_off = diags->incomplete;
  if (structure) p->constructs = &structure->constructs;
  parse_items(p, program);
  if (diags->errors > errors + 1) diags->incomplete = false;
  diags->incomplete |= incomplete;
  phase_leave(arena->heap, before);
  return tokens;
}

Program *parse_range(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start,
                     uint32_t end) {
  Program *program = NEW(diags->arena, Program);
  program->source = source;
  parse_into(program, lx, arena, syms, diags, start, end, NULL);
  lexer_temp(lx);
  return program;
}

Tokens parse_tokens(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source) {
  Program program = {.source = source};
  return parse_into(&program, lx, arena, syms, diags, 0, (uint32_t)sources_get(diags->sources, source)->len, NULL);
}

/* Copies a list to the arena. */
#define KEEP(arena, v)                                                                                                 \
  ((v).data = memcpy(arena_alloc((arena), sizeof *(v).data * (size_t)(v).len + 1),                                     \
                     (v).data ? (const void *)(v).data : "", sizeof *(v).data * (size_t)(v).len),                      \
   (v).cap = (v).len)

void parse_structure(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, Structure *out) {
  Program program = {.source = source};
  uint32_t end = (uint32_t)sources_get(diags->sources, source)->len;
  *out = (Structure){0};
  Tokens t = parse_into(&program, lx, arena, syms, diags, 0, end, out);
  out->tokens.len = t.len - 1;
  out->tokens.data = memcpy(NEW_ARRAY(arena, Token, t.len), t.data, sizeof *t.data * (size_t)t.len);
  KEEP(arena, out->comments);
  KEEP(arena, out->constructs);
  lexer_temp(lx);
}

Program *parse_program(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source) {
  uint32_t end = (uint32_t)sources_get(diags->sources, source)->len;
  return parse_range(lx, arena, syms, diags, source, 0, end);
}
