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
