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
/* Parses the whole source for its tokens alone, which end with TOK_EOF, have their roles, and live until the lexer is
 * used again. */
Tokens parse_tokens(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source);
/* What to write instead of a word of other languages, or NULL. */
const char *habit_of_word(const char *word);
void ast_print(const Program *p, Str *out); /* S-expressions, for `atled ir --stage=parsed` */
#endif
