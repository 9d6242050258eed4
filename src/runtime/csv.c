/* SPDX-License-Identifier: MIT */
/* Comma-separated values as RFC 4180 has them: cells may stand in double quotes, a quote inside is doubled, lines
 * end in \n or \r\n. Lines that are empty are skipped. All rows must be as long as the first. The separator may be any
 * ASCII character; lines that begin with a given text, and so many lines at the beginning, may be left out.
 *
 * A Scanner goes through the text cell by cell. The file is read twice: once to count rows and columns, once to fill
 * the matrix. */
#include "runtime/runtime_internal.h"
#include <string.h>

typedef struct Scanner {
  Rt *rt;
  const char *name;
  uint32_t site;
  char separator;
  const char *comment; /* "" if there are none */
  int64_t skipped;     /* lines at the beginning that don't count */
  const char *p, *end;
  int64_t line;                  /* at p */
  int64_t row, column, row_line; /* of the cell just read, all from 1, and the line in which its row begins */
  bool row_ended;
  Buf cell;
} Scanner;

static Status skip_line(Scanner *s) {
  for (; s->p < s->end && *s->p != '\n'; s->p++)
    if (rt_look_at(s->rt, s->end - s->p)) return 1;
  if (s->p < s->end) s->line += *s->p++ == '\n';
  return 0;
}

static bool at_comment(const Scanner *s) {
  size_t n = strlen(s->comment);
  return n && n <= (size_t)(s->end - s->p) && memcmp(s->p, s->comment, n) == 0;
}

/* Goes to the next line that isn't empty and no comment. */
static Status skip_empty_lines(Scanner *s) {
  for (; s->p < s->end; s->p++) {
    while (at_comment(s))
      if (skip_line(s)) return 1;
    if (s->p == s->end || (*s->p != '\n' && *s->p != '\r')) return 0;
    if (rt_look_at(s->rt, s->end - s->p)) return 1;
    s->line += *s->p == '\n';
  }
  return 0;
}

static Status quoted_cell(Scanner *s) {
  int64_t opened = s->line;
  for (s->p++;; s->p++) {
    if (s->p == s->end)
      return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": the quote opened in line %lld is never closed", s->name,
                      (long long)opened);
    if (*s->p == '"') {
      s->p++;
      if (s->p == s->end || *s->p != '"') return 0;
    }
    s->line += *s->p == '\n';
    buf_addc(&s->cell, *s->p);
    if (s->cell.failed) return 1;
  }
}

/* Reads the next cell into s->cell; *more is false at the end of the text. */
static Status next_cell(Scanner *s, bool *more) {
  s->cell.len = 0;
  if (rt_look(s->rt)) return 1;
  if (s->row_ended) {
    if (skip_empty_lines(s)) return 1;
    if ((*more = s->p < s->end)) {
      s->row++;
      s->row_line = s->line;
      s->column = 0;
    } else {
      return 0;
    }
  }
  *more = true;
  s->column++;
  if (s->p < s->end && *s->p == '"' && quoted_cell(s)) return 1;
  const char *start = s->p;
  for (; s->p < s->end && *s->p != s->separator && *s->p != '\n'; s->p++)
    if (rt_look_at(s->rt, s->end - s->p)) return 1;
  size_t n = (size_t)(s->p - start);
  if (n && (s->p == s->end || *s->p == '\n') && start[n - 1] == '\r') n--;
  buf_add(&s->cell, start, n);
  s->row_ended = s->p == s->end || *s->p == '\n';
  if (s->p < s->end) s->line += *s->p++ == '\n';
  return s->cell.failed;
}

static Status rewind_scanner(Scanner *s, const Buf *text) {
  s->p = text->data ? text->data : "";
  s->end = s->p + text->len;
  if (text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0) s->p += 3;
  s->line = 1;
  s->row = s->column = 0;
  s->row_ended = true;
  for (int64_t i = 0; i < s->skipped && s->p < s->end; i++)
    if (skip_line(s)) return 1;
  return 0;
}

/* Counts rows and columns; *header: a cell of the first row isn't a number. */
static Status measure(Scanner *s, int64_t dims[2], bool *header) {
  bool more;
  dims[0] = dims[1] = 0;
  *header = false;
  for (;;) {
    if (next_cell(s, &more)) return 1;
    if (!more) return 0;
    dims[0] = s->row;
    double x;
    if (s->row == 1) {
      dims[1] = s->column;
      *header |= !rt_parse_float(s->cell.data ? s->cell.data : "", s->cell.len, &x);
    } else if (s->column > dims[1] || (s->row_ended && s->column < dims[1])) {
      if (s->column > dims[1])
        return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": line %lld has too many cells: the first row has %lld",
                        s->name, (long long)s->row_line, (long long)dims[1]);
      return rt_error(s->rt, ERR_CSV, s->site,
                      "\"%s\": line %lld has too few cells: %lld, where the first row has %lld", s->name,
                      (long long)s->row_line, (long long)s->column, (long long)dims[1]);
    }
  }
}

static Status fill_numbers(Scanner *s, ArrayObj *a, bool header) {
  bool more;
  for (Slot *to = a->data;;) {
    if (next_cell(s, &more)) return 1;
    if (!more) return 0;
    if (header && s->row == 1) continue;
    const char *cell = s->cell.data ? s->cell.data : "";
    if (!rt_parse_float(cell, s->cell.len, &to->f))
      return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": line %lld, column %lld: \"%.*s\" is not a number", s->name,
                      (long long)s->row_line, (long long)s->column,
                      (int)(s->cell.len < LIMIT_CELL_SHOWN ? s->cell.len : LIMIT_CELL_SHOWN), cell);
    to++;
  }
}

static Status fill_strings(Scanner *s, ArrayObj *cells, ArrayObj *lines) {
  bool more;
  for (Slot *to = cells->data;; to++) {
    if (next_cell(s, &more)) return 1;
    if (!more) return 0;
    if (!(to->p = rt_new_string(s->rt, s->cell.data, s->cell.len))) return 1;
    lines->data[s->row - 1].i = s->row_line;
  }
}

/* Reads the text, and measures it. */
static Status open_text(Scanner *s, const StringObj *path, Buf *text, int64_t dims[2], bool *header) {
  return rt_read_text(s->rt, path, text, s->site) || rewind_scanner(s, text) || measure(s, dims, header);
}

PRIM(prim_csv_read) {
  PRIM_UNUSED;
  const StringObj *path = slot_string(&args[0]);
  Buf text = {.rt = rt};
  Scanner s = {.rt = rt,
               .name = path->bytes,
               .site = site,
               .separator = slot_string(&args[1])->bytes[0],
               .comment = slot_string(&args[2])->bytes,
               .skipped = args[3].i,
               .cell = {.rt = rt}};
  ArrayObj *cells = NULL, *lines = NULL;
  int64_t dims[2];
  bool header;
  Status status = open_text(&s, path, &text, dims, &header);
  if (!status) {
    cells = rt_new_array(rt, rt->desc_string_matrix, dims, true);
    lines = cells ? rt_new_array(rt, rt->desc_int_array, dims, false) : NULL;
    status = !lines || rewind_scanner(&s, &text) || fill_strings(&s, cells, lines);
  }
  buf_free(&s.cell);
  buf_free(&text);
  if (status) {
    rt_release(rt, cells ? &cells->h : NULL);
    rt_release(rt, lines ? &lines->h : NULL);
    return 1;
  }
  res[0].p = &cells->h;
  res[1].p = &lines->h;
  return 0;
}

PRIM(prim_csv_numbers) {
  PRIM_UNUSED;
  const StringObj *path = slot_string(&args[0]);
  Buf text = {.rt = rt};
  Scanner s = {.rt = rt, .name = path->bytes, .site = site, .separator = ',', .comment = "", .cell = {.rt = rt}};
  ArrayObj *a = NULL;
  int64_t dims[2];
  bool header;
  Status status = open_text(&s, path, &text, dims, &header);
  if (!status) {
    if (header) dims[0]--;
    a = rt_new_array(rt, rt->desc_float_matrix, dims, true);
    status = !a || rewind_scanner(&s, &text) || fill_numbers(&s, a, header);
  }
  buf_free(&s.cell);
  buf_free(&text);
  if (status) rt_release(rt, a ? &a->h : NULL);
  else res->p = &a->h;
  return status;
}
