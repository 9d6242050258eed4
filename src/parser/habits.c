/* SPDX-License-Identifier: MIT */
/* Hints for those who know another language: words (habits.def), and symbols met in an unfit place. */
#include "parser/parser_internal.h"
#include <string.h>

typedef struct Habit {
  const char *word, *hint;
  bool keyword;
} Habit;

static const Habit habits[] = {
#define HABIT(word, hint)             {word, hint, false},
#define KEYWORD_ELSEWHERE(word, hint) {word, hint, true},
#include "parser/habits.def"
#undef KEYWORD_ELSEWHERE
#undef HABIT
};

static const Habit *find_habit(const char *word) {
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (strcmp(habits[i].word, word) == 0) return &habits[i];
  return NULL;
}

const char *habit_of_word(const char *word) {
  const Habit *h = find_habit(word);
  return h ? h->hint : NULL;
}

/* The hint for the nearest keyword of another language up to the current token, within the item. */
static const char *word_hint(const Parser *p) {
  int last = p->pos < p->item_end ? p->pos : p->item_end - 1;
  for (int i = last; i >= 0 && !(i < last && p->tokens[i + 1].column0); i--) {
    const Token *t = &p->tokens[i];
    const Habit *h = t->kind == TOK_IDENT ? find_habit(t->text) : NULL;
    if (h && h->keyword) return h->hint;
  }
  return NULL;
}

static const Token *token_before(const Parser *p, int n) { return p->pos >= n ? &p->tokens[p->pos - n] : NULL; }

/* Whether the tokens n and n - 1 places back are of this kind and touch. */
static bool doubled(const Parser *p, TokenKind kind) {
  const Token *a = token_before(p, 1);
  return a && a->kind == kind && a->end == p->tok->start && at(p, kind);
}

static const char comment_hint[] = "a comment is written (* … *), or begins with `#`";

/* Whether the current `->` follows that of a case before it. */
static bool after_case(const Parser *p) {
  bool within = false;
  int before = p->pos - 1;
  while (before >= 0 && p->tokens[before].kind != TOK_ARROW && p->tokens[before].kind != TOK_FUN &&
         !p->tokens[before].column0)
    before--;
  if (before < 0 || p->tokens[before].kind != TOK_ARROW) return false;
  for (int i = before; i >= 0 && !within; i--) {
    if (p->tokens[i].kind == TOK_FUN) return false;
    within = p->tokens[i].kind == TOK_WITH;
  }
  return within;
}

/* Are the innermost brackets that are open those of an index? */
static bool in_index(const Parser *p) {
  int depth = 0;
  for (int i = p->pos - 1; i > 0 && !p->tokens[i].column0; i--) {
    const Token *t = &p->tokens[i], *before = t - 1;
    bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
    depth += t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE;
    if (opens && depth-- == 0) return t->kind == TOK_LBRACKET && before->end == t->start;
  }
  return false;
}

/* Does the line have a `?` before the current token? */
static bool after_question(const Parser *p) {
  uint32_t start = p->tok->start, at = start;
  while (at > 0 && p->text[at - 1] != '\n') at--;
  return memchr(p->text + at, '?', start - at) != NULL;
}

static const char *colon_hint(const Parser *p) {
  if (peek_kind(p, 1) == TOK_EQ) return "assignment is written `<-`";
  if (in_index(p)) return "a slice is written a[lo..hi], a column m[.., j]";
  if (after_question(p)) return "a choice is written: if c then a else b";
  if (peek_kind(p, 1) == TOK_INT) return "`range a b` is the array of a to b - 1";
  return "an annotation stands in parentheses: (e : t)";
}

static const char *symbol_hint(const Parser *p) {
  TokenKind next = peek_kind(p, 1);
  switch (p->tok->kind) {
  case TOK_EQEQ: return "equality and definition are both written `=`";
  case TOK_BANGEQ: return "inequality is written `<>`";
  case TOK_COMMA: return "a tuple stands in parentheses: (a, b)";
  case TOK_COLON: return colon_hint(p);
  case TOK_SEMI: return "items need no `;;`, a token in column 0 starts the next one";
  case TOK_FUN: return "a function as an argument stands in parentheses: (fun x -> …)";
  case TOK_ARROW:
  case TOK_FATARROW:
    return after_case(p) ? "each case but the first begins with `|`" : "a function is written `fun x -> …`";
  case TOK_AND: return habit_of_word("and");
  case TOK_BAR: return "the logical or is written `||`; a match inside another one stands in parentheses";
  case TOK_IF: return "a choice is written: if c then a else b";
  case TOK_ELSE: return "`else` belongs to an `if`; a branch with `;` stands in parentheses";
  case TOK_TYVAR: return "a string stands in double quotes";
  case TOK_SLASH:
    if (next == TOK_STAR) return comment_hint;
    return doubled(p, TOK_SLASH) || next == TOK_SLASH ? "a comment begins with `#`; `/` between ints drops the fraction"
                                                      : NULL;
  default: return NULL;
  }
}

const char *habit_hint(const Parser *p) {
  const char *hint = word_hint(p);
  if (!hint) hint = symbol_hint(p);
  if (hint || !at(p, TOK_EOF)) return hint;
  const Token *last = token_before(p, 1);
  bool open_let = last && last->kind == TOK_IN;
  if (p->item_end == p->ntokens) return open_let ? "the value of the whole follows `in`: let x = e in x + 1" : NULL;
  return "a line that belongs to the item above has to be indented";
}

/* `i++` and `i--`, or an operator that lacks its right side. */
const char *operand_hint(const Parser *p) {
  const Token *last = token_before(p, 1), *before = token_before(p, 2);
  BinOp op;
  if (!last || !operator_of(last->kind, &op)) return NULL;
  if (at(p, TOK_TYVAR)) return symbol_hint(p);
  if (at(p, TOK_EOF) && last->kind == TOK_EQ && p->item_end != p->ntokens) return habit_hint(p);
  bool twice = last->kind == TOK_MINUS && before && before->kind == TOK_MINUS && before->end == last->start;
  if (last->kind == TOK_CONCAT) return "`++` joins arrays, lists or strings; a variable is counted up by `i += 1`";
  if (twice) return "a variable is counted down by `i -= 1`";
  if (at(p, TOK_SLASH) && last->kind == TOK_SLASH) return symbol_hint(p);
  if (at(p, TOK_STAR) && last->kind == TOK_SLASH) return comment_hint;
  return arena_printf(p->arena, "`%s` needs an operand on its right", token_text(last->kind));
}

static int column(const Parser *p, uint32_t offset) {
  int n = 0;
  while (offset > 0 && p->text[offset - 1] != '\n') offset--, n++;
  return n;
}

/* A line that starts no further right than the `let` before it looks like the body of that `let`. */
bool step_to_line_of_body(Parser *p, Span let) {
  int let_column = column(p, let.start), found = 0;
  for (int i = p->pos < p->item_end ? p->pos : p->item_end - 1; i > 0 && p->tokens[i].start > let.start; i--) {
    const Token *t = &p->tokens[i];
    bool first = memchr(p->text + t[-1].end, '\n', t->start - t[-1].end) != NULL;
    bool starts = starts_atom(t->kind) || t->kind == TOK_LET || t->kind == TOK_IF || t->kind == TOK_MATCH ||
                  t->kind == TOK_FOR || t->kind == TOK_WHILE || t->kind == TOK_FUN;
    if (first && starts && column(p, t->start) <= let_column) found = i;
  }
  if (!found) return false;
  p->pos = found;
  p->tok = &p->tokens[found];
  return true;
}
