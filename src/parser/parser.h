/* SPDX-License-Identifier: MIT */
/* From source text to items. */
#ifndef ATLED_PARSER_H
#define ATLED_PARSER_H
#include "lexer/lexer.h"
#include "parser/ast.h"

/* Parses the whole source. Errors go to `diags`, several per run: after one, parsing goes on at the next item. Items
 * with errors are left out; the list of the others lives as long as diagnostics do. diags->incomplete is set when the
 * only thing wrong is that the text ends too early. */
Program *parse_program(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source);
/* Splits a library source into items without parsing them: for each column-0 item its byte range and the names
 * it defines (let, foreign, type and its constructors), so that items can be parsed when first named. An item
 * begins with the comment lines directly above it. `pullback f` and `tangent f` go under the name f: load all
 * items of a name. */
typedef struct ItemRange {
  uint32_t start, end;
  Sym *names;
  int nnames;
  bool type; /* an item `type …` */
} ItemRange;
int split_items(Lexer *lx, Arena *arena, SymTable *syms, const Source *src, ItemRange **out);

/* ---- index_items.c ---- */
/* The items of a library source, and the names that they define: what a module of the library is before any of its
 * items is read. For the modules of stdlib it is made when Atled is built (cmake/embed_library.c), so it holds no
 * pointers but to its own arrays, which then are constants. */
typedef enum IndexSpace {
  INDEX_VALUE, /* values and constructors */
  INDEX_TYPE,  /* types, whose names values may have, too */
  INDEX_RULE   /* the last rule of a function that doesn't stand behind it, which is an error */
} IndexSpace;
typedef struct IndexItem {
  uint32_t start, end; /* in the source, rules of the item's function included */
} IndexItem;
typedef struct IndexName {
  uint32_t text;    /* where it begins in `pool`, NUL-terminated */
  uint16_t item;    /* its number */
  uint8_t space;    /* IndexSpace */
  bool is_exported; /* not a rule, and of an item whose first name doesn't begin with `_` */
} IndexName;
typedef struct ItemIndex {
  const IndexItem *items;
  int nitems;
  const IndexName *names; /* in the order of the source */
  int nnames;
  const uint16_t *sorted; /* numbers of names in the order of spaces, then of bytes; of equal ones the last alone */
  int nsorted;
  const char *pool; /* the names one after the other, in the order of the source */
} ItemIndex;
/* Makes it in the arena, of at most 65,535 items and names. */
ItemIndex *index_items(Lexer *lx, Arena *arena, SymTable *syms, const Source *src);
/* The number of the item that defines the name; -1: none does. */
int index_find(const ItemIndex *index, IndexSpace space, const char *name);
/* Parses bytes [start, end) of a source, which hold whole items. */
Program *parse_range(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start,
                     uint32_t end);
/* What the formatter needs of a source, and the tree doesn't tell: the tree has no comments, and other nodes than the
 * text where that is an abbreviation (sugar.c). */
typedef enum ConstructKind {
  CONSTRUCT_ITEM,
  CONSTRUCT_DECLARATION,   /* of one type: params name = … */
  CONSTRUCT_LET,           /* let … and …, up to before `in` */
  CONSTRUCT_BINDING,       /* params = value; also of a rule, a test and a benchmark */
  CONSTRUCT_BLOCK,         /* heads `let … in`, `fun … ->`, and statements between `;` */
  CONSTRUCT_CHAIN,         /* operands and an operator of one level */
  CONSTRUCT_NEGATION,      /* - operand */
  CONSTRUCT_APPLICATION,   /* function and arguments */
  CONSTRUCT_INDEX,         /* [ … ] directly behind an array or a type */
  CONSTRUCT_GROUP,         /* any other brackets with what is in them */
  CONSTRUCT_COMPREHENSION, /* [ head | generators ] */
  CONSTRUCT_FIELD,         /* name = value */
  CONSTRUCT_STRING,        /* $"…{…}…" */
  CONSTRUCT_IF,            /* if … then … else if … else … */
  CONSTRUCT_MATCH,
  CONSTRUCT_CASE, /* pattern when … -> value */
  CONSTRUCT_LOOP,
  CONSTRUCT_PATTERN, /* with `::`, `|` or `as` */
  CONSTRUCT_TYPE     /* with `->` or `*` */
} ConstructKind;
typedef struct Construct {
  ConstructKind kind;
  int level;      /* CHAIN: of its operators, larger binds stronger */
  int first, end; /* tokens [first, end) */
} Construct;
typedef Vec(Construct) Constructs;
typedef struct Structure {
  Tokens tokens; /* without the TOK_EOF */
  Comments comments;
  Constructs constructs; /* each when it ends, so what is in it stands before it; of one token there need be none */
} Structure;
/* Parses the whole source for its structure, which lives as long as the arena. */
void parse_structure(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, Structure *out);
/* Parses the whole source for its tokens alone, which end with TOK_EOF, have their roles, and live until the lexer is
 * used again. */
Tokens parse_tokens(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source);
/* What to write instead of a word of other languages, or NULL. */
const char *habit_of_word(const char *word);
/* ---- walk_tree.c ---- */
typedef enum AstKind { AST_EXPR, AST_PAT, AST_TYPE, AST_LET } AstKind;
typedef struct AstNode {
  AstKind kind;
  union {
    Expr *expr;
    Pat *pat;
    TypeExpr *type;
    LetBinding *let; /* what of a binding is no expression: whether its name has an annotation */
  };
} AstNode;
typedef void (*AstFn)(void *user, AstNode node);
/* Calls fn for each node of the item, a node before its parts, and these in the order of the source. Needs no stack:
 * what is still to be done is in `temp`. */
void ast_walk(const Item *item, Arena *temp, AstFn fn, void *user);
void ast_print(const Program *p, Str *out); /* S-expressions, for `atled ir --stage=parsed` */
#endif
