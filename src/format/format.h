/* SPDX-License-Identifier: MIT */
/* The formatter: the same tokens and comments, laid out in the project's one style. */
#ifndef ATLED_FORMAT_H
#define ATLED_FORMAT_H
#include "parser/parser.h"

/* The source, formatted: a text in the arena, and its length in *len. NULL where diags has errors: of the syntax, or,
 * with the code "format", because the formatted text wouldn't be the same program. */
const char *format_source(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, size_t *len);
#endif
