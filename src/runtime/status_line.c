/* SPDX-License-Identifier: MIT */
/* The status line: a program's report of its progress on standard error. On a terminal each report replaces the one
 * before; elsewhere each is a line. All other output, reading, and the end of the run end the status line. */
#include "runtime/runtime_internal.h"
#include <string.h>

static bool on_terminal(const Rt *rt) { return rt->write && rt->terminal && rt->terminal(rt->user); }

bool rt_end_line(Rt *rt) {
  if (!rt->line.under_way) return true;
  rt->line.under_way = false;
  return rt->write(rt->user, RT_ERR, "\n", 1);
}

/* As much of the text as fits into so many columns, on one line. Returns the columns that it takes. */
static int add_cut(Buf *b, const char *text, size_t n, int columns) {
  int used = 0;
  for (size_t i = 0, size; i < n; i += size) {
    bool control = (unsigned char)text[i] < ' ' || text[i] == 127;
    size = (size_t)utf8_sequence(text + i, n - i, NULL);
    if (!size) size = 1;
    int width = control ? 1 : utf8_width(text + i, size);
    if (used + width > columns) break;
    buf_add(b, control ? " " : text + i, size);
    used += width;
  }
  return used;
}

/* From the beginning of the terminal's line; blanks go over what is left of the text before. One column stays free, so
 * that the cursor does, too. */
static void add_update(Buf *b, const StringObj *text) {
  RtLine *line = &b->rt->line;
  int columns = rt_terminal_columns(b->rt), before = line->under_way ? line->columns : 0;
  if (!line->under_way && line->output_begun) buf_addc(b, '\n');
  buf_addc(b, '\r');
  line->columns = add_cut(b, text->bytes, (size_t)text->len, columns > 1 ? columns - 1 : 1);
  for (int i = line->columns; i < before && i < columns - 1; i++) buf_addc(b, ' ');
  line->under_way = true;
}

PRIM(prim_update_line) {
  PRIM_UNUSED;
  const StringObj *text = slot_string(&args[0]);
  Buf b = {.rt = rt};
  if (on_terminal(rt)) {
    add_update(&b, text);
  } else {
    buf_add(&b, text->bytes, (size_t)text->len);
    buf_addc(&b, '\n');
  }
  Status status = b.failed ? 1 : rt_put_error(rt, b.data, b.len, site);
  buf_free(&b);
  return status;
}

PRIM(prim_errors_on_terminal) {
  PRIM_UNUSED;
  res->i = on_terminal(rt);
  return 0;
}
