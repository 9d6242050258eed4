/* SPDX-License-Identifier: MIT */
/* Hints for those who know another language: words (habits.def), and symbols met in an unfit place. */
#include "parser/parser_internal.h"
#include <string.h>

const char *habit_of_word(const char *word) {
  static const struct {
    const char *word, *hint;
  } habits[] = {
#define HABIT(word, hint) {word, hint},
#include "parser/habits.def"
#undef HABIT
  };
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (strcmp(habits[i].word, word) == 0) return habits[i].hint;
  return NULL;
}

/* The hint for the word nearest before the current token, or for the token itself, within the item. */
static const char *word_hint(const Parser *p) {
  int last = p->pos < p->item_end ? p->pos : p->item_end - 1;
  for (int i = last; i >= 0 && !(i < last && p->tokens[i + 1].column0); i--) {
    const Token *t = &p->tokens[i];
    const char *hint = t->kind == TOK_IDENT || t->kind == TOK_UPPER ? habit_of_word(t->text) : NULL;
    if (hint) return hint;
  }
  return NULL;
}

static const Token *token_before(const Parser *p, int n) { return p->pos >= n ? &p->tokens[p->pos - n] : NULL; }

/* Whether the tokens n and n - 1 places back are of this kind and touch. */
static bool doubled(const Parser *p, TokenKind kind) {
  const Token *a = token_before(p, 1);
  return a && a->kind == kind && a->end == p->tok->start && at(p, kind);
}

static const char *symbol_hint(const Parser *p) {
  TokenKind next = peek_kind(p, 1);
  switch (p->tok->kind) {
  case TOK_EQEQ: return "equality and definition are both written `=`";
  case TOK_BANGEQ: return "inequality is written `<>`";
  case TOK_COMMA: return "a tuple stands in parentheses: (a, b)";
  case TOK_COLON: return next == TOK_EQ ? "assignment is written `<-`" : "an annotation stands in parentheses: (e : t)";
  case TOK_SEMI: return "items need no `;;`, a token in column 0 starts the next one";
  case TOK_FUN: return "a function as an argument stands in parentheses: (fun x -> …)";
  case TOK_ARROW: case TOK_FATARROW: return "a function is written `fun x -> …`";
  case TOK_AND: return habit_of_word("and");
  case TOK_BAR: return "the logical or is written `||`; a match inside another one stands in parentheses";
  case TOK_TYVAR: return "a string stands in double quotes";
  case TOK_SLASH:
    if (next == TOK_STAR) return "a comment is written (* … *), or begins with `#`";
    return doubled(p, TOK_SLASH) || next == TOK_SLASH ? "a comment begins with `#`; `/` between ints drops the fraction" : NULL;
  default: return NULL;
  }
}

const char *habit_hint(const Parser *p) {
  const char *hint = symbol_hint(p);
  if (!hint) hint = word_hint(p);
  if (hint || !at(p, TOK_EOF) || p->item_end == p->ntokens) return hint;
  return "a line that belongs to the item above has to be indented";
}

/* `i++` and `i--`, or an operator that lacks its right side. */
const char *operand_hint(const Parser *p) {
  const Token *last = token_before(p, 1), *before = token_before(p, 2);
  BinOp op;
  if (!last || !operator_of(last->kind, &op)) return NULL;
  bool twice = last->kind == TOK_MINUS && before && before->kind == TOK_MINUS && before->end == last->start;
  if (last->kind == TOK_CONCAT) return "`++` joins arrays, lists or strings; a variable is counted up by `i += 1`";
  if (twice) return "a variable is counted down by `i -= 1`";
  if (at(p, TOK_SLASH) || last->kind == TOK_SLASH) return symbol_hint(p);
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
