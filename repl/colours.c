/* SPDX-License-Identifier: MIT */
/* Colours: what stands on the terminal in which one. The library says what the parts of a text are (atled_parts). */
#define _GNU_SOURCE /* wcwidth */
#include "colours.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { TAB = 8, COLOUR_BYTES = 8 /* at most, of each sequence */ };
static const char reset[] = "\033[0m";
static const char *const colours[] = {
    [ATLED_PART_KEYWORD] = "\033[1;34m", [ATLED_PART_STRING] = "\033[32m", [ATLED_PART_NUMBER] = "\033[33m",
    [ATLED_PART_COMMENT] = "\033[90m",   [ATLED_PART_TYPE] = "\033[36m",   [ATLED_PART_ERROR] = "\033[4;31m",
};
static ColourMode chosen;

void colours_choose(ColourMode mode) { chosen = mode; }

bool colours_of(int fd) {
  const char *terminal = getenv("TERM"), *none = getenv("NO_COLOR");
  if (chosen != COLOUR_AUTO) return chosen == COLOUR_ALWAYS;
  return isatty(fd) && !(none && *none) && terminal && strcmp(terminal, "dumb") != 0;
}

/* ---- Widths ------------------------------------------------------------------------------------- */
/* Columns of the character at *s, which is stepped over, if it stands in that column; -1: none, or not known. */
static int width_of(const char **s, size_t left, int column) {
  wchar_t c;
  mbstate_t state = {0};
  size_t n = mbrtowc(&c, *s, left, &state);
  if (n == 0 || n > left) return -1;
  *s += n;
  return c == L'\t' ? TAB - column % TAB : wcwidth(c);
}

int screen_lines(const char *text, int before, int columns) {
  const char *end = text + strlen(text);
  int lines = 1, column = before;
  while (text < end) {
    if (*text == '\n') {
      text++, lines++, column = before;
      continue;
    }
    int width = width_of(&text, (size_t)(end - text), column);
    if (width < 0 || width > columns) return -1;
    if (column + width >= columns) lines++, column = column + width > columns ? width : 0;
    else column += width;
  }
  return lines;
}

/* ---- Entries -------------------------------------------------------------------------------------- */
typedef struct Out {
  char *text;
  size_t n;
} Out;

static void put(Out *o, const char *text) {
  size_t n = strlen(text);
  memcpy(o->text + o->n, text, n);
  o->n += n;
}

/* Bytes of the text in one colour, or none: a prompt within has its own. */
static void put_part(Out *o, const char *text, size_t n, const char *colour, const char *next) {
  if (colour) put(o, colour);
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\n' && colour) put(o, reset);
    o->text[o->n++] = text[i];
    if (text[i] == '\n') put(o, next);
    if (text[i] == '\n' && colour) put(o, colour);
  }
  if (colour) put(o, reset);
}

static size_t lines_in(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

char *coloured_text(AtledVM *vm, const char *text, const char *first, const char *next) {
  const AtledPart *parts;
  int nparts;
  size_t n = strlen(text), done = 0;
  if (atled_parts(vm, text, &parts, &nparts) != ATLED_OK) nparts = 0;
  size_t sequences = 2 * ((size_t)nparts + lines_in(text)) * COLOUR_BYTES;
  Out o = {.text = malloc(n + strlen(first) + lines_in(text) * strlen(next) + sequences + 1)};
  if (!o.text) return NULL;
  put(&o, first);
  for (int i = 0; i < nparts; i++) {
    put_part(&o, text + done, parts[i].start - done, NULL, next);
    put_part(&o, text + parts[i].start, parts[i].end - parts[i].start, colours[parts[i].kind], next);
    done = parts[i].end;
  }
  put_part(&o, text + done, n - done, NULL, next);
  o.text[o.n] = '\0';
  return o.text;
}
