/* SPDX-License-Identifier: MIT */
/* Values for a person who looks at a window: what the prompt shows.
 *
 *   a vector                one line, its middle left out where it doesn't fit:   [1.0, 2.0, …, 9.0]  # 1000
 *   a matrix, or more       a line for each row, columns aligned at the decimal point
 *   an array of records     a table: a line for each record, a column for each field
 *   a record                one line, or a line for each field
 *   anything else           as `show` writes it, cut where it is long
 *
 * The shape of an array stands behind `#`. Floats in arrays are rounded to some digits. Only what is shown is
 * formatted: a matrix of 10^6 rows takes no longer than one of 100. Texts are in the arena of the output. */
#include "runtime/runtime_internal.h"

enum {
  LEAST_COLUMNS = 20, /* of a line, also where the window has fewer */
  LEAST_LINES = 6,    /* of a matrix */
  CELL = 32,          /* columns of a cell of a table */
  LINES_OF_TEXT = 4,  /* of what is cut as text alone */
  LONGEST = 10        /* elements of an array in a text */
};
static const char dots[] = "…";

typedef struct Viewer {
  Rt *rt;
  View v;
  Str *out;
  Arena *arena;
  bool failed; /* rt.error says why */
} Viewer;

/* ---- Texts ----------------------------------------------------------------------------------------------------- */
static int width(const char *s) { return utf8_width(s, strlen(s)); }

/* At most so many columns of the text. */
static const char *cut(Viewer *x, const char *s, int columns) {
  size_t n = strlen(s), i = 0;
  if (n <= (size_t)columns || width(s) <= columns) return s;
  for (int used = 1; i < n;) {
    int len = utf8_sequence(s + i, n - i, &(uint32_t){0});
    if (len == 0) len = 1;
    used += utf8_width(s + i, (size_t)len);
    if (used > columns) break;
    i += (size_t)len;
  }
  return arena_printf(x->arena, "%.*s%s", (int)i, s, dots);
}

/* In one line of at most so many columns; `element`: of an array. */
static const char *text_of(Viewer *x, const Desc *d, const Slot *v, int columns, bool element) {
  Buf b = {.rt = x->rt};
  Short how = {.limit = (size_t)columns + 1, .longest = LONGEST, .digits = x->v.digits, .element = element};
  if (x->failed || rt_show_short(x->rt, d, v, how, &b) != 0) {
    x->failed = true;
    buf_free(&b);
    return "";
  }
  const char *text = arena_strndup(x->arena, b.data, b.len);
  buf_free(&b);
  return cut(x, text, columns);
}

static void pad(Viewer *x, int n) {
  for (; n > 0; n--) str_addc(x->out, ' ');
}

static int at_least(int n, int least) { return n > least ? n : least; }

/* ---- Columns --------------------------------------------------------------------------------------------------- */
/* Cells one below the other: numbers are aligned at the point, or else at their ends, texts at their beginnings. */
typedef struct Column {
  const char **cells;
  int left, right; /* columns before the point, or of all; from it on */
  bool numbers;
} Column;

/* The length of what stands before the decimal point, the exponent, or the end. */
static int before_point(const char *s) { return (int)strcspn(s, ".e"); }

static void measure(Column *c, const char *cell) {
  int left = c->numbers ? before_point(cell) : width(cell), right = c->numbers ? (int)strlen(cell) - left : 0;
  c->left = at_least(left, c->left);
  c->right = at_least(right, c->right);
}

static void put_cell(Viewer *x, const Column *c, const char *cell, const char *after, bool last) {
  bool text = !c->numbers || cell == dots;
  int left = text ? width(cell) : before_point(cell), right = text ? 0 : (int)strlen(cell) - left;
  if (c->numbers) pad(x, c->left - left);
  str_puts(x->out, cell);
  str_puts(x->out, after);
  if (!last) pad(x, c->numbers ? c->right - right : c->left - left);
}

static bool is_number(const Desc *d) { return d->kind == D_INT || d->kind == D_FLOAT; }

/* Which lines, or elements, of n are shown: the first `head` and the last `tail`. */
typedef struct Cut {
  int64_t n, head, tail;
} Cut;

static Cut cut_lines(const Viewer *x, int64_t n) {
  int64_t most = at_least(x->v.lines - 4, LEAST_LINES);
  if (n <= most) return (Cut){n, n, 0};
  return (Cut){n, most - most / 2, most / 2 - 1};
}

static int shown(Cut c) { return (int)(c.head + c.tail); }

static int64_t line_number(Cut c, int k) { return k < c.head ? k : c.n - c.tail + (k - c.head); }

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
static const char *shape_of(Viewer *x, const ArrayObj *a) {
  Str s = {.arena = x->arena};
  for (int k = 0; k < a->h.desc->rank; k++) str_printf(&s, "%s%lld", k ? " × " : "# ", (long long)a->dims[k]);
  return s.data;
}

static const Slot *element(const ArrayObj *a, const Desc *base, int64_t i) { return a->data + i * base->nslots; }

/* ---- Vectors ----------------------------------------------------------------------------------------------------- */
static const char *element_text(Viewer *x, const Slot *v, const Desc *d) { return text_of(x, d, v, CELL, true); }

static void view_vector(Viewer *x, const ArrayObj *a, const Desc *base) {
  const char *shape = shape_of(x, a);
  int room = at_least(x->v.columns - x->v.used - width(shape) - 4, LEAST_COLUMNS), used = 0;
  int64_t n = a->dims[0], tail = n < 3 ? 0 : 2, head = 0;
  const char **cells = NEW_ARRAY(x->arena, const char *, room + 3); /* each takes more than a column */
  for (; head < n && head < room && !x->failed && used <= room; head++) {
    cells[head] = element_text(x, element(a, base, head), base);
    used += width(cells[head]) + (head ? 2 : 0);
  }
  bool all = head == n && used <= room;
  const char *ends[2] = {"", ""};
  for (int k = 0; k < tail && !all; k++) ends[k] = element_text(x, element(a, base, n - tail + k), base);
  int end = all ? 0 : 4 + width(ends[0]) + width(ends[1]) + (tail ? 3 : 0);
  while (!all && head > 1 && (head > n - tail || used + end > room)) used -= width(cells[--head]) + 2;
  str_addc(x->out, '[');
  for (int64_t i = 0; i < head; i++) str_printf(x->out, "%s%s", i ? ", " : "", cells[i]);
  if (!all && head + tail < n) str_printf(x->out, ", %s", dots);
  for (int k = 0; k < tail && !all; k++) str_printf(x->out, ", %s", ends[k]);
  str_printf(x->out, "]  %s", shape);
}

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */
typedef struct Matrix {
  const ArrayObj *array;
  const Desc *base;
  int rank;
  int64_t columns; /* the last dimension */
  Cut lines;       /* rows, of all matrices */
} Matrix;

static Column matrix_column(Viewer *x, const Matrix *m, int64_t j) {
  int n = shown(m->lines);
  Column c = {.cells = NEW_ARRAY(x->arena, const char *, n + 1), .numbers = is_number(m->base)};
  for (int k = 0; k < n && !x->failed; k++) {
    c.cells[k] = element_text(x, element(m->array, m->base, line_number(m->lines, k) * m->columns + j), m->base);
    measure(&c, c.cells[k]);
  }
  return c;
}

static Column column_of_dots(Viewer *x, int n) {
  Column c = {.cells = NEW_ARRAY(x->arena, const char *, n + 1), .left = 1};
  for (int k = 0; k < n; k++) c.cells[k] = dots;
  return c;
}

/* The columns that fit, with one of dots where some are left out; their number. */
static int matrix_columns(Viewer *x, const Matrix *m, Column *columns) {
  int room = at_least(x->v.columns - 2 - 2 * m->rank, LEAST_COLUMNS), used = 0, n = 0;
  while (n < m->columns && used <= room && !x->failed) {
    columns[n] = matrix_column(x, m, n);
    used += columns[n].left + columns[n].right + 2;
    n++;
  }
  if (n == m->columns && used - 2 <= room) return n;
  Column last = matrix_column(x, m, m->columns - 1);
  used += last.left + last.right + 2 + 3;
  while (n > 1 && (n >= m->columns || used - 2 > room)) n--, used -= columns[n].left + columns[n].right + 2;
  if (n + 1 < m->columns) columns[n++] = column_of_dots(x, shown(m->lines));
  columns[n++] = last;
  return n;
}

/* How many arrays begin with this row, or end before it: it is the first of so many. */
static int brackets_at(const Matrix *m, int64_t row) {
  int n = 1;
  for (int k = m->rank - 2; k >= 0 && row % m->array->dims[k] == 0; k--) row /= m->array->dims[k], n++;
  return n;
}

static void put_row(Viewer *x, const Matrix *m, const Column *columns, int n, int k) {
  int64_t row = line_number(m->lines, k);
  int open = brackets_at(m, row), close = brackets_at(m, row + 1);
  pad(x, 2 + m->rank - open);
  for (int i = 0; i < open; i++) str_addc(x->out, '[');
  for (int j = 0; j < n; j++) put_cell(x, &columns[j], columns[j].cells[k], j + 1 < n ? ", " : "", j + 1 == n);
  for (int i = 0; i < close; i++) str_addc(x->out, ']');
  if (close < m->rank) str_addc(x->out, ',');
}

static void view_matrix(Viewer *x, const ArrayObj *a, const Desc *base) {
  int rank = a->h.desc->rank;
  Matrix m = {.array = a, .base = base, .rank = rank, .columns = a->dims[rank - 1]};
  int64_t rows = 1;
  for (int k = 0; k < rank - 1; k++) rows *= a->dims[k];
  if (rows == 0 || m.columns == 0) {
    str_printf(x->out, "[]  %s", shape_of(x, a));
    return;
  }
  m.lines = cut_lines(x, rows);
  Column *columns = NEW_ARRAY(x->arena, Column, at_least(x->v.columns, LEAST_COLUMNS) + 4);
  int n = matrix_columns(x, &m, columns);
  str_puts(x->out, shape_of(x, a));
  for (int k = 0; k < shown(m.lines) && !x->failed; k++) {
    str_addc(x->out, '\n');
    if (k == m.lines.head) pad(x, 2 + rank), str_printf(x->out, "%s\n", dots);
    put_row(x, &m, columns, n, k);
  }
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static Column table_column(Viewer *x, const ArrayObj *a, const Desc *record, Cut lines, int field) {
  const Desc *d = record->args[field];
  int n = shown(lines), slot = 0;
  for (int k = 0; k < field; k++) slot += record->args[k]->nslots;
  Column c = {.cells = NEW_ARRAY(x->arena, const char *, n + 1), .numbers = is_number(d)};
  for (int k = 0; k < n && !x->failed; k++) {
    c.cells[k] = text_of(x, d, element(a, record, line_number(lines, k)) + slot, CELL, true);
    measure(&c, c.cells[k]);
  }
  int title = width(record->names[field]) - c.left - c.right;
  if (title > 0) c.left += title;
  return c;
}

static void put_titles(Viewer *x, const Column *columns, int n, const char *const *names) {
  for (int j = 0; j < n; j++) {
    int space = columns[j].left + columns[j].right - width(names[j]);
    pad(x, 2 + (columns[j].numbers ? space : 0));
    str_puts(x->out, names[j]);
    if (!columns[j].numbers && j + 1 < n) pad(x, space);
  }
}

static void view_table(Viewer *x, const ArrayObj *a, const Desc *record) {
  Cut lines = cut_lines(x, a->dims[0]);
  Column *columns = NEW_ARRAY(x->arena, Column, record->n + 1);
  int n = 0, used = 0, rows = shown(lines);
  for (; n < record->n && (n == 0 || used < x->v.columns); n++) {
    columns[n] = table_column(x, a, record, lines, n);
    used += columns[n].left + columns[n].right + 2;
  }
  bool all = n == record->n && used <= x->v.columns;
  if (!all && n > 1 && used + 3 > x->v.columns) n--;
  str_printf(x->out, "%s\n", shape_of(x, a));
  put_titles(x, columns, n, record->names);
  if (!all) str_printf(x->out, "  %s", dots);
  for (int k = 0; k < rows && !x->failed; k++) {
    str_addc(x->out, '\n');
    if (k == lines.head) str_printf(x->out, "  %s\n", dots);
    for (int j = 0; j < n; j++) {
      pad(x, 2);
      put_cell(x, &columns[j], columns[j].cells[k], "", j + 1 == n);
    }
  }
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */
static void view_fields(Viewer *x, const Desc *d, const Slot *v) {
  int room = at_least(x->v.columns, LEAST_COLUMNS);
  for (int k = 0; k < d->n && !x->failed; k++) {
    int left = 6 + width(d->names[k]);
    str_printf(x->out, "\n  %s%s = ", k ? " " : "{", d->names[k]);
    str_puts(x->out, text_of(x, d->args[k], v, at_least(room - left - 1, LEAST_COLUMNS), false));
    str_puts(x->out, k + 1 < d->n ? "," : "}");
    v += d->args[k]->nslots;
  }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static void view_array(Viewer *x, const ArrayObj *a, const Desc *d) {
  const Desc *base = d->args[0];
  if (d->rank > 1) view_matrix(x, a, base);
  else if (base->kind == D_TUPLE && base->names && base->n && a->dims[0]) view_table(x, a, base);
  else view_vector(x, a, base);
}

static void view_text(Viewer *x, const Desc *d, const Slot *v) {
  int columns = at_least(x->v.columns, LEAST_COLUMNS), rest = columns - x->v.used;
  const char *text = text_of(x, d, v, LINES_OF_TEXT * columns, false);
  bool fields = d->kind == D_TUPLE && d->names && d->n > 1 && width(text) > rest;
  if (fields) view_fields(x, d, v);
  else str_puts(x->out, text);
}

Status rt_present(Rt *rt, const Desc *type, const Slot *value, View view, Str *out) {
  Viewer x = {.rt = rt, .v = view, .out = out, .arena = out->arena};
  if (type->kind == D_ARRAY) view_array(&x, (const ArrayObj *)value->p, type);
  else view_text(&x, type, value);
  return x.failed;
}
