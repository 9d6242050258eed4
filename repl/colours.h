/* SPDX-License-Identifier: MIT */
/* Colours on the terminal: whether there are any, and those of an entry's text. */
#ifndef ATLED_COLOURS_H
#define ATLED_COLOURS_H
#include "atled.h"

/* Does the file descriptor have colours? As `--color` says; else a terminal that isn't dumb has, unless NO_COLOR is
 * set. */
bool colours_of(int fd);
typedef enum ColourMode { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourMode;
void colours_choose(ColourMode mode); /* `--color` */

/* The screen lines that the text takes, whose lines each begin behind `before` columns, in a window of so many columns:
 * at least those. -1: that can't be known, as with control characters or invalid UTF-8. */
int screen_lines(const char *text, int before, int columns);
/* The text with the colours of its parts, to be freed: `first` before the first line, `next` before each other one.
 * NULL when there is no memory. */
char *coloured_text(AtledVM *vm, const char *text, const char *first, const char *next);
#endif
