/* SPDX-License-Identifier: MIT */
/* Writes the text: tokens where they were placed, and the comments of the gaps.
 *
 * A comment stays where it is among tokens and lines: behind the token before it, on lines of its own, or before the
 * next token. One on lines of its own is indented as the next token is. Where that closes something (`done`, `)`, `|`,
 * the end of an item) and the source has the comment further right, it is indented as what it stands in.
 *
 * A comment at the end of a line keeps its column. If the code reaches it, it moves right, and those in the same
 * column on the lines around move along. Where the line isn't one of the source's any more, two spaces part them. */
#include "format/format_internal.h"
#include <string.h>

enum { FAR = 2 }; /* columns between code and a comment whose column isn't kept */

/* ---- Columns ---------------------------------------------------------------------- */

int column_behind(const char *text, uint32_t start, uint32_t end, int column) {
  for (uint32_t i = end; i > start; i--)
    if (text[i - 1] == '\n') return utf8_width(text + i, end - i);
  return column + utf8_width(text + start, end - start);
}

/* The column of a byte in the source. */
static int source_column(const Formatter *f, uint32_t at) {
  uint32_t start = at;
  while (start > f->text_start && f->text[start - 1] != '\n') start--;
  return utf8_width(f->text + start, at - start);
}

/* The first token of the line of the source that holds token i. */
static int source_line_begins(const Formatter *f, int i) {
  while (i > 0) {
    const Gap *gap = &f->gaps[i];
    uint32_t behind = f->tokens[i - 1].end;
    if (memchr(f->text + behind, '\n', f->tokens[i].start - behind) || gap->item) return i;
    i--;
  }
  return i;
}

int comments_above(const Formatter *f, int i) {
  const Gap *gap = &f->gaps[i];
  int k = gap->ncomments;
  if (gap->newlines && gap->ncomments) return k;
  while (k > 0) {
    const Remark *c = &f->comments[gap->comment + k - 1];
    if (c->newlines || !c->block) return c->newlines ? k - 1 : k;
    k--;
  }
  return 0;
}

/* ---- Writing ---------------------------------------------------------------------- */

typedef struct Tail { /* a comment at the end of a line */
  size_t at;          /* in the text, where spaces are to come */
  int line, end;      /* its line, and where the code on it ends */
  int column, gap;    /* in the source, with the columns before it; -1: it isn't kept */
} Tail;

typedef struct Writer {
  Formatter *f;
  Str *out;
  int line;  /* of the text */
  int begin; /* the first token on it */
  Vec(Tail) tails;
} Writer;

/* Writes a token or comment, without blanks at the ends of a comment's lines. */
static void add_text(Writer *w, uint32_t start, uint32_t end, bool comment) {
  const char *text = w->f->text;
  while (start < end) {
    const char *found = memchr(text + start, '\n', end - start);
    uint32_t stop = found ? (uint32_t)(found - text) : end, last = stop;
    while (comment && last > start && strchr(" \t\r\f", text[last - 1])) last--;
    str_add(w->out, text + start, last - start);
    if (found) str_addc(w->out, '\n'), w->line++;
    start = stop + (found != NULL);
  }
}

static void add_spaces(Str *out, int n) {
  for (int i = 0; i < n; i++) str_addc(out, ' ');
}

static void begin_line(Writer *w, bool blank, int indent) {
  if (w->out->len) {
    for (int k = 0; k < 1 + blank; k++) str_addc(w->out, '\n'), w->line++;
  }
  add_spaces(w->out, indent);
}

/* Does token i end what stands before it, so that a comment before it may belong to that? */
static bool is_closing(const Formatter *f, int i) {
  switch (kind_at(f, i)) {
  case TOK_DONE:
  case TOK_ELSE:
  case TOK_BAR:
  case TOK_AND:
  case TOK_RPAREN:
  case TOK_RBRACKET:
  case TOK_RBRACE: return true;
  default: return f->gaps[i].item;
  }
}

/* Where a comment on a line of its own begins that stands before token i. */
static int comment_indent(const Formatter *f, int i, const Remark *c) {
  int indent = i < f->n ? indent_at(f, i) : 0, column = source_column(f, c->start);
  if (!is_closing(f, i)) return indent;
  if (!f->gaps[i].item) {
    bool inside = column > source_column(f, f->tokens[i].start) && f->gaps[i].newlines;
    return inside ? indent + INDENT : indent;
  }
  if (column == 0 || i == 0) return 0;
  int begin = i - 1;
  while (begin > 0 && !f->gaps[begin].broken) begin--;
  bool as_line = column >= source_column(f, f->tokens[begin].start);
  return as_line && f->columns[begin] > INDENT ? f->columns[begin] : INDENT;
}

static void add_tail(Writer *w, int i, const Remark *c) {
  bool same_line = source_line_begins(w->f, i - 1) == w->begin;
  int column = source_column(w->f, c->start), gap = column - source_column(w->f, w->f->tokens[i - 1].end);
  Tail t = {w->out->len, w->line, w->f->ends[i - 1], same_line ? column : -1, gap < 1 ? 1 : gap};
  vec_push(w->f->arena, w->tails, t);
}

/* The comments of gap i from the k-th on that are written on lines before the token's. */
static void add_comments_above(Writer *w, int i, int above) {
  const Gap *gap = &w->f->gaps[i];
  for (int k = 0; k < above; k++) {
    const Remark *c = &w->f->comments[gap->comment + k];
    if (c->newlines && !(i == 0 && k == 0)) begin_line(w, c->newlines > 1, comment_indent(w->f, i, c));
    else if (k == 0 && i > 0 && (above == 1 || w->f->comments[gap->comment + 1].newlines)) add_tail(w, i, c);
    else if (k > 0 || i > 0) str_addc(w->out, ' ');
    add_text(w, c->start, c->end, true);
  }
}

static void add_gap(Writer *w, int i) {
  const Formatter *f = w->f;
  const Gap *gap = &f->gaps[i];
  int above = gap->broken ? comments_above(f, i) : 0;
  add_comments_above(w, i, above);
  if (i == f->n) return;
  const Remark *next = above < gap->ncomments ? &f->comments[gap->comment + above] : NULL;
  if (gap->broken) begin_line(w, next ? next->newlines > 1 : gap->blank, indent_at(f, i)), w->begin = i;
  else if (i > 0 && (gap->ncomments || space_before(f, i))) str_addc(w->out, ' ');
  for (int k = above; k < gap->ncomments; k++) {
    const Remark *c = &f->comments[gap->comment + k];
    add_text(w, c->start, c->end, true);
    str_addc(w->out, ' ');
  }
}

/* ---- Comments at the ends of lines ------------------------------------------------ */

/* The column of the comments first to end - 1, which stand in one column on lines one below the other. */
static int tail_column(const Tail *tails, int first, int end) {
  int column = tails[first].column, furthest = 0, gap = FAR;
  for (int k = first; k < end; k++) {
    if (tails[k].end > furthest) furthest = tails[k].end;
    if (tails[k].gap < gap) gap = tails[k].gap;
  }
  return furthest + 1 > column ? furthest + gap : column;
}

static void insert_spaces(const Writer *w, Str *out) {
  size_t done = 0;
  for (int k = 0; k < w->tails.len;) {
    const Tail *t = w->tails.data;
    int end = k + 1;
    while (end < w->tails.len && t[k].column >= 0 && t[end].column == t[k].column && t[end].line == t[end - 1].line + 1)
      end++;
    int column = t[k].column < 0 ? t[k].end + FAR : tail_column(t, k, end);
    for (; k < end; k++) {
      str_add(out, w->out->data + done, t[k].at - done);
      add_spaces(out, column - t[k].end);
      done = t[k].at;
    }
  }
  str_add(out, w->out->data + done, w->out->len - done);
}

void write_text(Formatter *f, Str *out) {
  Str text = {.arena = f->arena};
  Writer w = {.f = f, .out = &text};
  for (int i = 0; i <= f->n; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    add_gap(&w, i);
    if (i < f->n) add_text(&w, f->tokens[i].start, f->tokens[i].end, false);
  }
  if (text.len == 0) return;
  insert_spaces(&w, out);
  str_addc(out, '\n');
}
