/* SPDX-License-Identifier: MIT */
/* Where entries end, and what they consist of. */
#ifndef ATLED_ENTRY_H
#define ATLED_ENTRY_H
#include "atled.h"

/* Is the text a whole entry when Enter is pressed? Its last line has no end. `typed`: Enter has ended the lines above,
 * one by one; else they came together, from the history or pasted. */
bool entry_ends(AtledVM *vm, const char *text, bool typed);
/* Does the last line stand in column 0 though what is above it isn't finished? Then it belongs to that, and is to be
 * indented by a blank: in column 0 it would begin an item. */
bool entry_lacks_indent(AtledVM *vm, const char *text);
bool entry_is_blank(const char *text);
bool entry_is_rule(const char *text); /* does it begin with `pullback` or `tangent`? */
bool entry_is_definition(const char *text);
const char *entry_last_line(const char *text);

/* An entry as it is evaluated: item by item, in order. */
typedef struct Pieces {
  char **texts; /* each with the ends of the lines that stand above it: so it has its places */
  int n;
} Pieces;
/* Rules stay with their functions. `typed`: Enter has ended the lines one by one; if the last of them began an item
 * that isn't finished, *rest is that (to be freed), and it is no piece; else NULL. No pieces: there is no memory. */
Pieces entry_split(AtledVM *vm, const char *text, bool typed, char **rest);
void entry_free(Pieces p);
#endif
