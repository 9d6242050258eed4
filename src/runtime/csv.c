/* SPDX-License-Identifier: MIT */
/* Comma-separated values as RFC 4180 has them: cells may stand in double quotes, a quote inside is doubled, lines
 * end in \n or \r\n. Lines that are empty are skipped. All rows must be as long as the first.
 *
 * A Scanner goes through the text cell by cell. The file is read twice: once to count rows and columns, once to fill
 * the matrix. */
#include "runtime/runtime_internal.h"
#include <string.h>

typedef struct Scanner {
  Rt *rt;
  const char *name;
  uint32_t site;
  const char *p, *end;
  int64_t line, row, column; /* of the cell just read: row and column from 1 */
  bool row_ended;
  Buf cell;
} Scanner;

static Status skip_empty_lines(Scanner *s) {
  for (; s->p < s->end && (*s->p == '\n' || *s->p == '\r'); s->p++) {
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
      s->column = 0;
    } else {
      return 0;
    }
  }
  *more = true;
  s->column++;
  if (s->p < s->end && *s->p == '"' && quoted_cell(s)) return 1;
  const char *start = s->p;
  for (; s->p < s->end && *s->p != ',' && *s->p != '\n'; s->p++)
    if (rt_look_at(s->rt, s->end - s->p)) return 1;
  size_t n = (size_t)(s->p - start);
  if (n && (s->p == s->end || *s->p == '\n') && start[n - 1] == '\r') n--;
  buf_add(&s->cell, start, n);
  s->row_ended = s->p == s->end || *s->p == '\n';
  if (s->p < s->end) s->line += *s->p++ == '\n';
  return s->cell.failed;
}

static void rewind_scanner(Scanner *s, const Buf *text) {
  s->p = text->data ? text->data : "";
  s->end = s->p + text->len;
  if (text->len >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0) s->p += 3;
  s->line = 1;
  s->row = s->column = 0;
  s->row_ended = true;
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
        return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": row %lld has too many cells: the first row has %lld", s->name,
                        (long long)s->row, (long long)dims[1]);
      return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": row %lld has too few cells: %lld, where the first row has %lld",
                      s->name, (long long)s->row, (long long)s->column, (long long)dims[1]);
    }
  }
}

static Status fill(Scanner *s, ArrayObj *a, bool numbers, bool header) {
  bool more;
  for (Slot *to = a->data;;) {
    if (next_cell(s, &more)) return 1;
    if (!more) return 0;
    if (numbers && header && s->row == 1) continue;
    if (!numbers) {
      if (!(to->p = rt_new_string(s->rt, s->cell.data, s->cell.len))) return 1;
    } else if (!rt_parse_float(s->cell.data ? s->cell.data : "", s->cell.len, &to->f)) {
      return rt_error(s->rt, ERR_CSV, s->site, "\"%s\": row %lld, column %lld: \"%.*s\" is not a number", s->name,
                      (long long)s->row, (long long)s->column, (int)(s->cell.len < 100 ? s->cell.len : 100),
                      s->cell.data ? s->cell.data : "");
    }
    to++;
  }
}

static Status read_csv(Rt *rt, const Slot *args, bool numbers, Slot *res, uint32_t site) {
  const StringObj *path = slot_string(&args[0]);
  Buf text = {.rt = rt};
  Scanner s = {.rt = rt, .name = path->bytes, .site = site, .cell = {.rt = rt}};
  ArrayObj *a = NULL;
  int64_t dims[2];
  bool header;
  Status status = rt_read_text(rt, path, &text, site);
  if (!status) {
    rewind_scanner(&s, &text);
    status = measure(&s, dims, &header);
  }
  if (!status) {
    if (numbers && header) dims[0]--;
    a = rt_new_array(rt, numbers ? rt->desc_float_matrix : rt->desc_string_matrix, dims, true);
    rewind_scanner(&s, &text);
    status = a ? fill(&s, a, numbers, header) : 1;
  }
  buf_free(&s.cell);
  buf_free(&text);
  if (status) rt_release(rt, a ? &a->h : NULL);
  else res->p = &a->h;
  return status;
}

PRIM(prim_csv_read) {
  PRIM_UNUSED;
  return read_csv(rt, args, false, res, site);
}

PRIM(prim_csv_numbers) {
  PRIM_UNUSED;
  return read_csv(rt, args, true, res, site);
}
