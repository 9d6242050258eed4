/* SPDX-License-Identifier: MIT */
/* What the files of the parser share: the state of a run, moving over tokens,
 * reporting, and the entry of each part of the grammar.
 *
 * The parser is recursive descent with one token of lookahead (two where a
 * name may begin several things). An error leaves the item by longjmp, and
 * parsing goes on at the next item; nothing needs cleaning up, since all memory
 * is the arena's. Only the scratch stacks and the depth are set back. */
#ifndef ATLED_PARSER_INTERNAL_H
#define ATLED_PARSER_INTERNAL_H
#include "parser/parser.h"

typedef struct Operator {
  TokenKind kind;
  int level;   /* binding strength, see expr.c */
  bool prefix; /* the unary minus */
  Span span;
} Operator;

typedef struct Parser {
  Arena *arena, *temp; /* of the tree; of the parse */
  SymTable *syms;
  Diags *diags;
  uint32_t source;
  const char *text;
  Token *tokens;
  int ntokens; /* without the EOF at the end */
  int pos;
  int item_end;     /* index of the first token behind the current item */
  const Token *tok; /* the current token; &end at the end of the item */
  Token end;
  int depth, deepest;
  bool failed;  /* an error was found in the current item */
  bool cut_off; /* the lexer met an open string or comment: errors at the end only follow from it */
  jmp_buf recover;
  Vec(void *) scratch;  /* lists under construction, used as a stack */
  Vec(Expr *) operands; /* of parse_binary */
  Vec(Expr *) breaks;   /* that no loop has yet */
  Vec(Operator) operators;
  Constructs *constructs; /* where they are noted; NULL: nobody asks */
} Parser;

/* ---- Tokens (parser.c) ---- */
void advance(Parser *p);
void set_pos(Parser *p, int pos); /* makes the token at `pos` the current one */
/* The kind of the token n places ahead, TOK_EOF beyond the item. */
TokenKind peek_kind(const Parser *p, int n);
Span token_span(const Parser *p);
/* From the start of `from` to the end of the token before the current one. */
Span span_to_here(const Parser *p, Span from);
static inline bool at(const Parser *p, TokenKind kind) { return p->tok->kind == kind; }
/* The tokens from `first` up to before the current one have this role. */
void set_role(Parser *p, int first, TokenRole role);
/* Steps over a token of the kind if there is one. */
bool accept(Parser *p, TokenKind kind);
/* Steps over a token of the kind, else an error with the hint (or NULL); returns its span. */
Span expect(Parser *p, TokenKind kind, const char *hint);
/* The closing bracket of the one opened at `open`. */
void expect_close(Parser *p, TokenKind kind, Span open, const char *hint);

/* ---- Errors (parser.c) ---- */
#define NO_SPAN ((Span){0, 0, 0})
/* "expected <what>, found <the current token>"; ends the item. */
_Noreturn void fail_expected(Parser *p, const char *what, const char *hint, Span also, const char *also_label);
/* Any other error that ends the item. */
_Noreturn void fail_at(Parser *p, Span at, const char *code, const char *message, const char *hint);
/* An error after which the item can be read on. */
void report(Parser *p, Span at, const char *code, const char *message, const char *hint);
void enter(Parser *p); /* one level deeper; an error beyond p->deepest */
static inline void leave(Parser *p) { p->depth--; }

/* ---- Hints (habits.c) ---- */
/* For what is met in an unfit place, whatever was expected there; or NULL. */
const char *habit_hint(const Parser *p);
/* For an operator before the current token that has no right operand; NULL when there is none. */
const char *operand_hint(const Parser *p);
/* Goes back to the first token that looks like the body of a `let` whose `in` is missing, if there is one. */
bool step_to_line_of_body(Parser *p, Span let);

/* ---- Constructs (parser.c) ---- */
/* The tokens from `first` up to before the current one are a construct of the kind. */
void note(Parser *p, ConstructKind kind, int first);
void note_operation(Parser *p, ConstructKind kind, int level, uint32_t start); /* start: byte at which it begins */

/* ---- Lists (parser.c) ---- */
static inline int scratch_mark(const Parser *p) { return p->scratch.len; }
void scratch_push(Parser *p, void *node);
/* Pops everything above the mark into an array of pointers. */
void *scratch_take(Parser *p, int mark, int *n);
/* The same for nodes of that size made in p->temp: they themselves stand side by side, at least one. */
void *scratch_flatten(Parser *p, int mark, size_t size, int *n);
/* A list made in p->temp as part of the tree; NULL if it is empty. */
void *list_keep(Parser *p, const void *list, int n, size_t size);
#define LIST_KEEP(p, v) list_keep((p), (v).data, (v).len, sizeof *(v).data)

/* ---- Names (parser.c) ---- */
/* name = [ Module "." ] ident ; the current token begins one */
Name parse_name(Parser *p, const char *what);
Sym expect_ident(Parser *p, const char *what, Span *span);

/* ---- Grammar ---- */
Expr *parse_expr(Parser *p);   /* expr.c: over `;` too */
Expr *parse_binary(Parser *p); /* expr.c: all but `;` */
Expr *parse_atom(Parser *p);   /* atom.c */
bool starts_atom(TokenKind kind);
Expr *new_expr(Parser *p, ExprKind kind, Span span);
Expr *new_node(Parser *p, ExprKind kind, Span span, int nargs); /* with room for args */
bool operator_of(TokenKind kind, BinOp *op);                    /* expr.c: operators that are functions */
/* expr.c: "let" … up to before `in` or the end: an E_LET whose body is missing */
Expr *parse_let_head(Parser *p);
/* expr.c: params "=" expr, as an E_FUN */
Expr *parse_rule(Parser *p, Span start);
/* Of a rewrite rule: [ params ] ":" binary "=" expr. Both sides, an E_TUPLE, in an E_FUN if there are parameters. */
Expr *parse_equation(Parser *p, Span start);
Expr *make_fun(Parser *p, Pat **params, int nparams, Expr *body, Span start); /* expr.c */
/* sugar.c */
Expr *parse_break(Parser *p);
Expr *loop_of_breaks(Parser *p, Expr *loop, int mark);
Expr *loop_over_elements(Parser *p, Pat *pat, Expr *xs, Expr *body, int mark, Span at);
Expr *static_value(Parser *p, Expr *e, Span at); /* `static (e)`, of which `static` stands at `at` */
void refuse_breaks(Parser *p, int mark, const char *message);
Pat *parse_pattern(Parser *p);      /* pattern.c: with `|` and `as` */
Pat *parse_atom_pattern(Parser *p); /* pattern.c: one parameter */
bool starts_atom_pattern(TokenKind kind);
Pat *new_var_pat(Parser *p, Sym name, Span span);
Pat *new_wild_pat(Parser *p, Span span);
TypeExpr *parse_type(Parser *p); /* type_expr.c: with constraints */
/* type_expr.c: parameters may have names; *size: the result's length, an E_FUN over all parameters, or NULL */
TypeExpr *parse_foreign_type(Parser *p, Expr **size);
void parse_type_decl(Parser *p, TypeDecl *d); /* type_expr.c */
Item *parse_item(Parser *p);                  /* items.c */
#endif
