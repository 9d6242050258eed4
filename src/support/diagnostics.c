/* SPDX-License-Identifier: MIT */
/* Errors and warnings: collecting them, and writing them for a terminal.
 *
 * Every stage adds to one Diags and goes on; the driver renders what came
 * together. Rendering never trusts the source text: control characters and
 * invalid bytes are shown as one replacement character each, so an underline
 * stays below what it means, and a long line is cut around the place.
 * At the end, spelling suggestions (Damerau–Levenshtein with adjacent
 * transpositions, the "optimal string alignment" variant). */
#include "support/support.h"
#include <string.h>

enum {
  SHOWN_COLUMNS = 110, /* of a source line */
  LEFT_CONTEXT = 40    /* columns kept before the place when a line is cut */
};

void diags_init(Diags *d, Arena *a, Sources *s) {
  memset(d, 0, sizeof *d);
  d->arena = a;
  d->sources = s;
}

bool diags_full(const Diags *d) { return d->errors >= LIMIT_ERRORS; }

static bool same_span(Span a, Span b) { return a.source == b.source && a.start == b.start && a.end == b.end; }

/* An error is dropped where another stands already, a warning only where the same one does. */
static bool is_duplicate(const Diags *d, const Diag *new) {
  for (int i = 0; i < d->all.len; i++) {
    const Diag *old = &d->all.data[i];
    if (!new->at.source || old->severity != new->severity || !same_span(old->at, new->at)) continue;
    if (new->severity == SEV_ERROR || strcmp(old->code, new->code) == 0) return true;
  }
  return false;
}

static Diag *add(Diags *d, Severity severity, Span at, const char *code, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  size_t room = n < 0 ? 0 : n > LIMIT_MESSAGE ? LIMIT_MESSAGE : (size_t)n;
  char *text = arena_alloc(d->arena, room + sizeof "…");
  vsnprintf(text, room + 1, fmt, ap);
  if (n > LIMIT_MESSAGE) { /* a long name or type is cut at a whole character */
    while (room && ((unsigned char)text[room - 1] & 0xc0) == 0x80) room--;
    if (room && (unsigned char)text[room - 1] >= 0xc0) room--;
    strcpy(text + room, "…");
  }
  Diag diag = {.severity = severity, .code = code, .at = at, .message = text};
  bool full = severity == SEV_ERROR && diags_full(d);
  if (full || is_duplicate(d, &diag)) { /* the caller may still set fields of what it gets */
    Diag *unused = NEW(d->arena, Diag);
    *unused = diag;
    return unused;
  }
  if (severity == SEV_ERROR) d->errors++;
  vec_push(d->arena, d->all, diag);
  return &d->all.data[d->all.len - 1];
}

Diag *diag_error(Diags *d, Span at, const char *code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  Diag *diag = add(d, SEV_ERROR, at, code, fmt, ap);
  va_end(ap);
  return diag;
}

Diag *diag_warning(Diags *d, Span at, const char *code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  Diag *diag = add(d, SEV_WARNING, at, code, fmt, ap);
  va_end(ap);
  return diag;
}

/* ---- Rendering ------------------------------------------------------------- */

typedef struct Painter {
  Str *out;
  bool colour;
} Painter;

static void paint(Painter p, const char *ansi) {
  if (p.colour) str_puts(p.out, ansi);
}

/* The bytes of one character as shown: length in the source, columns, and whether it is shown as itself. */
static size_t next_char(const char *s, size_t n, int *columns, bool *plain) {
  uint32_t c = 0;
  int len = utf8_sequence(s, n, &c);
  *plain = len && c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
  *columns = *plain ? utf8_width(s, (size_t)len) : 1;
  return len ? (size_t)len : 1;
}

static int columns_of(const char *s, size_t n) {
  int total = 0, columns;
  bool plain;
  for (size_t i = 0; i < n; total += columns) i += next_char(s + i, n - i, &columns, &plain);
  return total;
}

static void show_text(Str *out, const char *s, size_t n) {
  for (size_t i = 0; i < n;) {
    int columns;
    bool plain;
    size_t len = next_char(s + i, n - i, &columns, &plain);
    if (plain) str_add(out, s + i, len);
    else str_puts(out, s[i] == '\t' ? " " : "\xef\xbf\xbd");
    i += len;
  }
}

/* Skips characters from `from` until at most `columns` are left before `to`. */
static size_t cut_left(const char *text, size_t from, size_t to, int columns) {
  int total = columns_of(text + from, to - from), c;
  bool plain;
  while (total > columns && from < to) {
    from += next_char(text + from, to - from, &c, &plain);
    total -= c;
  }
  return from;
}

/* The end of what fits into `columns` from `from` on. */
static size_t cut_right(const char *text, size_t from, size_t to, int columns) {
  size_t i = from;
  int total = 0, c;
  bool plain;
  while (i < to) {
    size_t len = next_char(text + i, to - i, &c, &plain);
    if ((total += c) > columns) break;
    i += len;
  }
  return i;
}

static void repeat(Str *out, char c, int n) {
  for (int i = 0; i < n; i++) str_addc(out, c);
}

static void show_mark(Painter p, int before, int width, char mark, const char *ansi) {
  repeat(p.out, ' ', before);
  paint(p, ansi);
  repeat(p.out, mark, width > 0 ? width : 1);
}

static void show_underline(Painter p, int before, int width, char mark, const char *ansi, const char *label) {
  show_mark(p, before, width, mark, ansi);
  if (label) {
    str_addc(p.out, ' ');
    show_text(p.out, label, strlen(label));
  }
  paint(p, "\033[0m");
  str_addc(p.out, '\n');
}

/* The line of a place without its end, and what of the place is in it. */
typedef struct Line {
  const char *text;
  size_t start, end, from, to; /* bytes of the source */
  int number;
} Line;

static Line line_of(const Sources *s, Span at) {
  const Source *src = sources_get(s, at.source);
  Line l = {.text = src->text};
  int column;
  span_position(s, at, &l.number, &column);
  l.start = src->lines[l.number - 1];
  l.end = l.number < src->nlines ? src->lines[l.number] - 1 : src->len;
  if (l.end > l.start && src->text[l.end - 1] == '\r') l.end--;
  l.from = at.start < l.end ? at.start : l.end;
  l.to = at.end < l.end ? at.end : l.end;
  if (l.to < l.from) l.to = l.from;
  return l;
}

/* One source line with its number, and below it the underline and label. */
static void show_place(Painter p, const Sources *s, Span at, char mark, const char *ansi, const char *label) {
  Line l = line_of(s, at);
  size_t shown = l.start, shown_end = l.end;
  if (columns_of(l.text + l.start, l.end - l.start) > SHOWN_COLUMNS) {
    shown = cut_left(l.text, l.start, l.from, LEFT_CONTEXT);
    shown_end = cut_right(l.text, shown, l.end, SHOWN_COLUMNS);
    if (l.to > shown_end) l.to = shown_end;
  }
  paint(p, "\033[34m");
  str_printf(p.out, "%4d | ", l.number);
  paint(p, "\033[0m");
  if (shown > l.start) str_puts(p.out, "…");
  show_text(p.out, l.text + shown, shown_end - shown);
  if (shown_end < l.end) str_puts(p.out, "…");
  paint(p, "\033[34m");
  str_puts(p.out, "\n     | ");
  paint(p, "\033[0m");
  show_underline(p, columns_of(l.text + shown, l.from - shown) + (shown > l.start),
                 columns_of(l.text + l.from, l.to - l.from), mark, ansi, label);
}

static void show_location(Painter p, const Sources *s, Span at) {
  int line, column;
  span_position(s, at, &line, &column);
  paint(p, "\033[1m");
  str_printf(p.out, "%s:%d:%d: ", sources_get(s, at.source)->name, line, column);
  paint(p, "\033[0m");
}

static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};

static void show_message(Painter p, const Diag *d) {
  static const char *const names[] = {"error", "warning", "note"};
  paint(p, colours[d->severity]);
  str_printf(p.out, "%s: ", names[d->severity]);
  paint(p, "\033[0m");
  paint(p, "\033[1m");
  show_text(p.out, d->message, strlen(d->message));
  paint(p, "\033[0m");
  str_addc(p.out, '\n');
}

static void show_note(Painter p, const Sources *s, Span at, const char *label) {
  if (!at.source) return;
  show_location(p, s, at);
  paint(p, colours[SEV_NOTE]);
  str_puts(p.out, "note: ");
  paint(p, "\033[0m");
  str_puts(p.out, label ? label : "see also");
  str_addc(p.out, '\n');
  show_place(p, s, at, '-', colours[SEV_NOTE], NULL);
}

static void show_rest(Painter p, const Diag *d, const Sources *s) {
  show_note(p, s, d->also, d->also_label);
  show_note(p, s, d->third, d->third_label);
  if (d->hint) {
    paint(p, colours[SEV_NOTE]);
    str_puts(p.out, "hint: ");
    paint(p, "\033[0m");
    str_puts(p.out, d->hint);
    str_addc(p.out, '\n');
  }
}

void diag_render(const Diag *d, const Sources *s, bool colour, Str *out) {
  Painter p = {out, colour};
  if (d->at.source) show_location(p, s, d->at);
  show_message(p, d);
  if (d->at.source) show_place(p, s, d->at, '^', colours[d->severity], d->label);
  show_rest(p, d, s);
}

/* Is the other place in the same line, before this one? */
static bool both_in_line(const Diag *d, const Line *at, const Line *also) {
  return d->also.source == d->at.source && also->number == at->number && also->to < at->from;
}

void diag_render_below(const Diag *d, const Sources *s, bool colour, Str *out) {
  Painter p = {out, colour};
  Line l = line_of(s, d->at), other = d->also.source ? line_of(s, d->also) : (Line){0};
  Diag rest = *d;
  size_t done = l.start;
  if (both_in_line(d, &l, &other)) {
    int width = columns_of(l.text + other.from, other.to - other.from);
    show_mark(p, columns_of(l.text + l.start, other.from - l.start), width, '-', colours[SEV_NOTE]);
    done = other.to > other.from ? other.to : other.from + 1;
    rest.also.source = 0;
  }
  show_underline(p, columns_of(l.text + done, l.from - done), columns_of(l.text + l.from, l.to - l.from), '^',
                 colours[d->severity], d->label);
  show_message(p, d);
  if (d->also.source && !rest.also.source) {
    paint(p, colours[SEV_NOTE]);
    str_puts(out, "note: ");
    paint(p, "\033[0m");
    str_printf(out, "at `-`: %s\n", d->also_label ? d->also_label : "see also");
  }
  show_rest(p, &rest, s);
}

/* ---- Spelling ---------------------------------------------------------------- */

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

static int edit_distance(const char *a, int n, const char *b, int m) {
  int rows[3][LIMIT_NAME + 1]; /* of i - 2, i - 1 and i, in turn */
  for (int j = 0; j <= m; j++) rows[0][j] = j;
  for (int i = 1; i <= n; i++) {
    int *before = rows[(i + 1) % 3], *last = rows[(i - 1) % 3], *row = rows[i % 3];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      bool same = a[i - 1] == b[j - 1];
      row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
  }
  return rows[n % 3][m];
}

Sym nearest_name(Sym wanted, const Sym *candidates, int n) {
  int len = (int)sym_len(wanted);
  if (len > LIMIT_NAME) return NULL;
  int best_distance = len / 3 + 1;
  Sym best = NULL;
  for (int i = 0; i < n; i++) {
    int m = (int)sym_len(candidates[i]);
    int gap = m > len ? m - len : len - m;
    if (m > LIMIT_NAME || gap > best_distance || candidates[i] == wanted) continue;
    int distance = edit_distance(wanted, len, candidates[i], m);
    bool same_start = best && distance == best_distance && candidates[i][0] == wanted[0] && best[0] != wanted[0];
    if (distance < best_distance || same_start) {
      best_distance = distance;
      best = candidates[i];
    }
  }
  return best;
}
