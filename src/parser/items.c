/* SPDX-License-Identifier: MIT */
/* Top-level items. Eight words are keywords only here, before a name or string.
 *
 *   item = let_head | "type" type_decl { "and" type_decl } | expr
 *        | "import" string "as" Module | "open" Module
 *        | "foreign" string name ":" foreign_type | ( "test" | "bench" ) string "=" expr
 *        | ( "pullback" | "tangent" ) name params "=" expr
 *        | "rule" name [ params ] ":" binary "=" expr [ "when" known { "&&" known } ]
 *   known = "known" name */
#include "parser/parser_internal.h"
#include <string.h>

static Item *new_item(Parser *p, ItemKind kind) {
  Item *item = NEW(p->arena, Item);
  item->kind = kind;
  item->span = token_span(p);
  if (p->tok->doc) item->doc = arena_strndup(p->arena, p->tok->doc, strlen(p->tok->doc));
  return item;
}

/* Steps over the word that the item begins with, a keyword only there. */
static void take_word(Parser *p) {
  advance(p);
  set_role(p, p->pos - 1, ROLE_KEYWORD);
}

static Sym expect_string(Parser *p, const char *what, const char *hint) {
  if (!at(p, TOK_STRING)) fail_expected(p, what, hint, NO_SPAN, NULL);
  Sym text = p->tok->text;
  advance(p);
  return text;
}

static Name expect_module(Parser *p) {
  if (!at(p, TOK_UPPER))
    fail_expected(p, "the name of a module",
                  at(p, TOK_STRING) ? "a file is named first: import \"file.atl\" as File"
                                    : "names of modules begin with a capital",
                  NO_SPAN, NULL);
  Name name = {.name = p->tok->text, .span = token_span(p)};
  advance(p);
  return name;
}

static Name expect_function(Parser *p) {
  Name name = {0};
  name.name = expect_ident(p, "the name of a function", &name.span);
  return name;
}

/* import = "import" string "as" Module */
static Item *parse_import(Parser *p) {
  Item *item = new_item(p, I_IMPORT);
  take_word(p);
  item->text = expect_string(p, "the path of a module as a string", habit_of_word("import"));
  expect(p, TOK_AS, "an import is written: import \"model.atl\" as Model");
  item->name = expect_module(p);
  return item;
}

/* open = "open" Module */
static Item *parse_open(Parser *p) {
  Item *item = new_item(p, I_OPEN);
  take_word(p);
  item->name = expect_module(p);
  return item;
}

/* foreign = "foreign" string name ":" foreign_type */
static Item *parse_foreign(Parser *p) {
  Item *item = new_item(p, I_FOREIGN);
  take_word(p);
  item->text = expect_string(p, "the name of a library as a string", "as in: foreign \"m\" cbrt : float -> float");
  item->name = expect_function(p);
  expect(p, TOK_COLON, "a foreign function needs its type");
  item->annot = parse_foreign_type(p, &item->expr);
  return item;
}

/* test = "test" string "=" expr */
static Item *parse_test(Parser *p) {
  Item *item = new_item(p, I_TEST);
  take_word(p);
  int first = p->pos;
  item->text = expect_string(p, "the name of the test as a string", "a test is written: test \"name\" = condition");
  expect(p, TOK_EQ, "a test is written: test \"name\" = condition");
  item->expr = parse_expr(p);
  note(p, CONSTRUCT_BINDING, first);
  return item;
}

/* bench = "bench" string "=" expr */
static Item *parse_bench(Parser *p) {
  Item *item = new_item(p, I_BENCH);
  take_word(p);
  int first = p->pos;
  item->text = p->tok->text;
  advance(p);
  advance(p);
  item->expr = parse_expr(p);
  note(p, CONSTRUCT_BINDING, first);
  return item;
}

/* rule = ( "pullback" | "tangent" ) name params "=" expr */
static Item *parse_derivative_rule(Parser *p, ItemKind kind) {
  Item *item = new_item(p, kind);
  take_word(p);
  int first = p->pos;
  item->name = expect_function(p);
  item->expr = parse_rule(p, item->name.span);
  note(p, CONSTRUCT_BINDING, first);
  return item;
}

static void expect_known(Parser *p) {
  if (!at(p, TOK_IDENT) || strcmp(p->tok->text, "known") != 0)
    fail_expected(p, "`known`", "a condition is written: when known x && known y", NO_SPAN, NULL);
  advance(p);
}

/* [ "when" known { "&&" known } ] */
static void parse_conditions(Parser *p, Item *item) {
  if (!accept(p, TOK_WHEN)) return;
  Vec(Name) names = {0};
  do {
    expect_known(p);
    Name name = {0};
    name.name = expect_ident(p, "a parameter of the rule", &name.span);
    vec_push(p->temp, names, name);
  } while (accept(p, TOK_ANDAND));
  item->known = LIST_KEEP(p, names);
  item->nknown = names.len;
}

/* The equation from token `first` on as a second tree, for its test: what the checker notes on one isn't on the
 * other. */
static Expr *parse_again(Parser *p, int first, Span start) {
  Constructs *constructs = p->constructs;
  p->constructs = NULL;
  set_pos(p, first);
  Expr *again = parse_equation(p, start);
  p->constructs = constructs;
  return again;
}

/* rule = "rule" name [ params ] ":" binary "=" expr conditions */
static Item *parse_rewrite_rule(Parser *p) {
  Item *item = new_item(p, I_RULE);
  take_word(p);
  int first = p->pos;
  item->name = (Name){.name = p->tok->text, .span = token_span(p)}; /* an identifier: rules are known by that */
  advance(p);
  int equation = p->pos;
  item->expr = parse_equation(p, item->name.span);
  item->again = parse_again(p, equation, item->name.span);
  parse_conditions(p, item);
  note(p, CONSTRUCT_BINDING, first);
  return item;
}

/* types = "type" type_decl { "and" type_decl } */
static Item *parse_types(Parser *p) {
  Item *item = new_item(p, I_TYPE);
  advance(p);
  Vec(TypeDecl) decls = {0};
  do {
    TypeDecl d = {0};
    int first = p->pos;
    parse_type_decl(p, &d);
    note(p, CONSTRUCT_DECLARATION, first);
    vec_push(p->temp, decls, d);
  } while (accept(p, TOK_AND));
  item->types = LIST_KEEP(p, decls);
  item->ntypes = decls.len;
  return item;
}

/* let = let_head (a definition) | let_head "in" expr (an expression) */
static Item *parse_let_item(Parser *p) {
  Item *item = new_item(p, I_LET);
  int first = p->pos;
  Expr *let = parse_let_head(p);
  if (accept(p, TOK_IN)) {
    item->kind = I_EXPR;
    item->expr = let;
    let->args[0] = parse_expr(p);
    note(p, CONSTRUCT_BLOCK, first);
    let->span = span_to_here(p, let->span);
    return item;
  }
  item->rec = let->rec;
  item->lets = let->lets;
  item->nlets = let->nlets;
  for (int i = 0; i < item->nlets; i++)
    if (item->lets[i].mut)
      report(p, item->lets[i].pat->span, "syntax", "a `mut` variable is local to an expression",
             "at top level only values are defined; write `let mut x = e in …`");
  return item;
}

static Item *parse_expr_item(Parser *p) {
  Item *item = new_item(p, I_EXPR);
  item->expr = parse_expr(p);
  return item;
}

static bool at_word(const Parser *p, const char *word) { return strcmp(p->tok->text, word) == 0; }

static Item *parse_by_first_word(Parser *p) {
  if (at(p, TOK_LET)) return parse_let_item(p);
  if (at(p, TOK_TYPE)) return parse_types(p);
  TokenKind next = peek_kind(p, 1);
  bool named = next == TOK_IDENT || next == TOK_UPPER || next == TOK_STRING;
  if (!at(p, TOK_IDENT) || !named) return parse_expr_item(p);
  if (at_word(p, "import")) return parse_import(p);
  if (at_word(p, "open")) return parse_open(p);
  if (at_word(p, "foreign")) return parse_foreign(p);
  if (at_word(p, "test")) return parse_test(p);
  if (at_word(p, "bench") && next == TOK_STRING && peek_kind(p, 2) == TOK_EQ) return parse_bench(p);
  if (at_word(p, "pullback")) return parse_derivative_rule(p, I_PULLBACK);
  if (at_word(p, "tangent")) return parse_derivative_rule(p, I_TANGENT);
  if (at_word(p, "rule") && next == TOK_IDENT) return parse_rewrite_rule(p);
  return parse_expr_item(p);
}

/* Hints for what may not follow a whole item. */
static const char *leftover_hint(const Parser *p) {
  switch (p->tok->kind) {
  case TOK_THEN: return habit_of_word("elif");
  case TOK_EQ: return "a definition begins with `let`";
  case TOK_IN: return "`in` belongs to a `let` before it";
  case TOK_RPAREN:
  case TOK_RBRACKET:
  case TOK_RBRACE: return "no bracket is open here";
  default: return NULL;
  }
}

Item *parse_item(Parser *p) {
  Item *item = parse_by_first_word(p);
  if (!at(p, TOK_EOF)) {
    bool variant = item->kind == I_TYPE && (at(p, TOK_BAR) || at(p, TOK_OF));
    fail_expected(p, "the end of the item", variant ? "constructors begin with a capital" : leftover_hint(p), NO_SPAN,
                  NULL);
  }
  item->span = span_to_here(p, item->span);
  return item;
}
