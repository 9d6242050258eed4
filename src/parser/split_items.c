/* SPDX-License-Identifier: MIT */
/* Splitting a library source into items without parsing it, so that a program
 * that uses three functions of a module pays for three.
 *
 * One pass over the bytes finds where items begin: at a byte in column 0 that
 * can start one, outside strings and block comments. It follows the layout rule
 * of parser.c. The comment lines directly above belong to the item. What an
 * item defines is read off its first words; only types, patterns and `and`
 * groups are looked at as tokens. A rule (`pullback`, `tangent`) goes under the
 * name of its function, so whoever loads all items of a name gets it too. */
#define _GNU_SOURCE
#include "parser/parser.h"
#include "support/phases.h"
#include <string.h>

typedef struct Splitter {
  Lexer *lx;
  Arena *arena;
  SymTable *syms;
  const Source *src;
  Vec(ItemRange) items;
  Vec(Sym) names;
} Splitter;

static bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '\'' ||
         (unsigned char)c >= 0x80;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

static uint32_t word_end(const char *s, uint32_t i) {
  while (is_word_byte(s[i])) i++;
  return i;
}

static bool word_is(const char *s, uint32_t start, uint32_t end, const char *word) {
  return strlen(word) == end - start && memcmp(s + start, word, end - start) == 0;
}

/* ---- Where items begin -------------------------------------------------------- */

/* Whether the byte at i, which is in column 0, begins an item. */
static bool begins_item(const char *s, uint32_t i) {
  static const char *const continuing[] = {"and", "in", "then", "else",   "with", "done", "when",
                                           "as",  "of", "to",   "downto", "do",   "rec",  "mut"};
  if (!is_word_byte(s[i])) return s[i] && strchr("([{\"$", s[i]) && !(s[i] == '(' && s[i + 1] == '*');
  if (s[i] == '\'') return false;
  uint32_t end = word_end(s, i);
  for (size_t k = 0; k < sizeof continuing / sizeof *continuing; k++)
    if (word_is(s, i, end, continuing[k])) return false;
  return true;
}

static uint32_t skip_string(const Source *src, uint32_t i, bool raw) {
  for (i++; i < src->len && src->text[i] != '"'; i++)
    if (src->text[i] == '\\' && !raw) i++;
  return i + 1;
}

static uint32_t skip_comment(const Source *src, uint32_t i) {
  int depth = 1;
  for (i += 2; i < src->len && depth > 0; i++) {
    if (src->text[i] == '(' && src->text[i + 1] == '*') depth++, i++;
    else if (src->text[i] == '*' && src->text[i + 1] == ')') depth--, i++;
  }
  return i;
}

static uint32_t skip_line(const Source *src, uint32_t i) {
  const char *end = memchr(src->text + i, '\n', src->len - i);
  return end ? (uint32_t)(end - src->text) : (uint32_t)src->len;
}

/* The start of the comment lines directly above the line at `at`, not before `least`. */
static uint32_t with_comments(const char *s, uint32_t at, uint32_t least) {
  while (at > least + 1) {
    uint32_t line = at - 1;
    while (line > least && s[line - 1] != '\n') line--;
    if (s[line] != '#') break;
    at = line;
  }
  return at;
}

static void begin_at(Splitter *sp, uint32_t at) {
  uint32_t least = sp->items.len ? sp->items.data[sp->items.len - 1].start : 0;
  uint32_t start = with_comments(sp->src->text, at, least);
  if (sp->items.len) sp->items.data[sp->items.len - 1].end = start;
  vec_push(sp->arena, sp->items, ((ItemRange){.start = start, .end = (uint32_t)sp->src->len}));
}

static void find_items(Splitter *sp) {
  const Source *src = sp->src;
  const char *s = src->text;
  bool line_start = true;
  for (uint32_t i = 0; i < src->len;) {
    if (line_start && begins_item(s, i)) begin_at(sp, i);
    line_start = s[i] == '\n';
    if (s[i] == '"') i = skip_string(src, i, i > 0 && s[i - 1] == 'r' && (i == 1 || !is_word_byte(s[i - 2])));
    else if (s[i] == '#') i = skip_line(src, i);
    else if (s[i] == '(' && s[i + 1] == '*') i = skip_comment(src, i);
    else if (s[i] == '\n') i++;
    else i += 1 + (uint32_t)strcspn(s + i + 1, "\n\"#(");
  }
}

/* ---- What they define --------------------------------------------------------- */

static void add_name(Splitter *sp, Sym name) { vec_push(sp->arena, sp->names, name); }

static uint32_t skip_blanks(const char *s, uint32_t i) {
  while (is_blank(s[i])) i++;
  return i;
}

/* The tokens of a range; errors in it come up when it is parsed. */
static Tokens tokens_of(Splitter *sp, uint32_t start, uint32_t end) {
  Sources sources;
  Diags unseen;
  sources_init(&sources, sp->arena);
  vec_push(sp->arena, sources.all, (Source *)(uintptr_t)sp->src);
  diags_init(&unseen, sp->arena, &sources);
  return lex(sp->lx, sp->arena, sp->syms, &unseen, 1, start, end);
}

static int bracket_change(TokenKind kind) {
  switch (kind) {
  case TOK_LPAREN:
  case TOK_LBRACKET:
  case TOK_LBRACE: return 1;
  case TOK_RPAREN:
  case TOK_RBRACKET:
  case TOK_RBRACE: return -1;
  default: return 0;
  }
}

/* Names that a binding's left side introduces: tokens from i up to its `=`. Returns where that is. */
static int binding_names(Splitter *sp, Tokens t, int i) {
  while (t.data[i].kind == TOK_REC || t.data[i].kind == TOK_MUT) i++;
  TokenKind next = t.data[i].kind == TOK_IDENT ? t.data[i + 1].kind : TOK_EOF;
  bool pattern = next == TOK_EOF || next == TOK_CONS || next == TOK_AS || next == TOK_BAR;
  if (!pattern) add_name(sp, t.data[i].text);
  for (int depth = 0; t.data[i].kind != TOK_EOF && (depth > 0 || t.data[i].kind != TOK_EQ); i++) {
    depth += bracket_change(t.data[i].kind);
    bool field = t.data[i].kind == TOK_IDENT && t.data[i + 1].kind == TOK_EQ && depth > 0;
    if (pattern && t.data[i].kind == TOK_IDENT && !field) add_name(sp, t.data[i].text);
  }
  return i;
}

/* `let` groups by tokens: an `and` counts where no inner `let` is open. */
static void let_names(Splitter *sp, Tokens t) {
  int i = binding_names(sp, t, 1), brackets = 0, open_lets = 0;
  while (t.data[i].kind != TOK_EOF) {
    TokenKind kind = t.data[i].kind;
    brackets += bracket_change(kind);
    if (brackets == 0 && kind == TOK_LET) open_lets++;
    if (brackets == 0 && kind == TOK_IN && open_lets > 0) open_lets--;
    if (brackets == 0 && open_lets == 0 && kind == TOK_AND) i = binding_names(sp, t, i + 1);
    else i++;
  }
}

static void type_names(Splitter *sp, Tokens t) {
  bool wants_name = true;
  for (int i = 1, depth = 0; t.data[i].kind != TOK_EOF; i++) {
    TokenKind kind = t.data[i].kind;
    depth += bracket_change(kind);
    if (depth == 0 && kind == TOK_AND) wants_name = true;
    if (depth == 0 && kind == TOK_IDENT && wants_name) {
      add_name(sp, t.data[i].text);
      wants_name = false;
    }
    bool first = t.data[i - 1].kind == TOK_EQ || t.data[i - 1].kind == TOK_BAR;
    if (depth == 0 && kind == TOK_UPPER && first && t.data[i + 1].kind != TOK_DOT) add_name(sp, t.data[i].text);
    if (kind == TOK_CONS) add_name(sp, sym_of(sp->syms, "::"));
  }
}

/* The one name of a plain `let [rec] name`, or NULL when the item needs a closer look. */
static Sym plain_let_name(Splitter *sp, uint32_t i, uint32_t end) {
  const char *s = sp->src->text;
  if (memmem(s + i, end - i, "and", 3)) return NULL;
  i = skip_blanks(s, i);
  uint32_t stop = word_end(s, i);
  if (word_is(s, i, stop, "rec")) {
    i = skip_blanks(s, stop);
    stop = word_end(s, i);
  }
  uint32_t next = skip_blanks(s, stop);
  bool name = stop > i && s[i] != '\'' && !(s[i] >= '0' && s[i] <= 'Z') && !word_is(s, i, stop, "mut") &&
              !(s[i] == '_' && stop == i + 1);
  bool pattern = (s[next] == ':' && s[next + 1] == ':') || s[next] == '|' || strncmp(s + next, "as ", 3) == 0;
  return name && !pattern ? sym_intern(sp->syms, s + i, stop - i) : NULL;
}

/* The name after a word and perhaps a string: foreign "lib" name, pullback name. */
static void word_names(Splitter *sp, uint32_t i) {
  const char *s = sp->src->text;
  i = skip_blanks(s, i);
  if (s[i] == '"') i = skip_blanks(s, skip_string(sp->src, i, false));
  uint32_t end = word_end(s, i);
  if (end > i) add_name(sp, sym_intern(sp->syms, s + i, end - i));
}

static void find_names(Splitter *sp, ItemRange *item) {
  const char *s = sp->src->text;
  uint32_t i = item->start;
  while (s[i] == '#') i = skip_line(sp->src, i) + 1;
  uint32_t end = word_end(s, i);
  sp->names.len = 0;
  if (word_is(s, i, end, "let")) {
    Sym name = plain_let_name(sp, end, item->end);
    if (name) add_name(sp, name);
    else let_names(sp, tokens_of(sp, i, item->end));
  } else if (word_is(s, i, end, "type")) {
    item->type = true;
    type_names(sp, tokens_of(sp, i, item->end));
  } else if (word_is(s, i, end, "foreign") || word_is(s, i, end, "pullback") || word_is(s, i, end, "tangent")) {
    word_names(sp, end);
  }
  item->nnames = sp->names.len;
  item->names = NEW_ARRAY(sp->arena, Sym, item->nnames);
  for (int k = 0; k < item->nnames; k++) item->names[k] = sp->names.data[k];
}

int split_items(Lexer *lx, Arena *arena, SymTable *syms, const Source *src, ItemRange **out) {
  Splitter sp = {.lx = lx, .arena = arena, .syms = syms, .src = src};
  Phase before = phase_enter(arena->heap, PHASE_PARSE);
  find_items(&sp);
  for (int i = 0; i < sp.items.len; i++) find_names(&sp, &sp.items.data[i]);
  phase_leave(arena->heap, before);
  *out = sp.items.data;
  return sp.items.len;
}
