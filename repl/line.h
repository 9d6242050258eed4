/* SPDX-License-Identifier: MIT */
/* Reading entries. */
#ifndef ATLED_LINE_H
#define ATLED_LINE_H
#include "atled.h"

/* Before the first entry. `terminal`: entries are edited; else they come line by line from standard input. */
void line_begin(AtledVM *vm, bool terminal);
typedef struct Entry {
  char *text;       /* to be freed; NULL: there are no more, or it was interrupted */
  bool interrupted; /* it was given up */
  bool typed;       /* its lines were ended by Enter, one by one */
} Entry;
/* Prompts for an entry that begins with `start` (which it frees, NULL: with nothing) and reads it. `colour`: on a
 * terminal it stands there in colours afterwards. */
Entry line_read(char *start, bool colour);
/* Columns of the prompt. */
enum { LINE_PROMPT_COLUMNS = 2 };
#endif
