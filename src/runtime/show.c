/* SPDX-License-Identifier: MIT */
/* Values as source would write them.
 *
 * The walk keeps its own stack of frames, one for each bracket that is open: tuple, record, array (one frame per
 * level of nesting), constructor, list. Each turn of the loop takes the top frame one element further. A list is one
 * frame that walks from cell to cell, so its length costs no space. A tree that is shown as an array is a frame with
 * the places of all that it holds.
 *
 * `Place` says where a value stands, hence when it needs parentheses: negative numbers and constructors with a
 * payload as an argument, non-empty lists as an argument or as the head of a list.
 *
 * For a person (view.c) the same walk is cut short: arrays after fewer elements, their floats after some digits, and
 * all of it after some bytes. */
#include "runtime/runtime_internal.h"
#include <stdlib.h>
#include <string.h>

typedef enum Place { TOP, LIST_HEAD, ARGUMENT } Place;
typedef enum FrameKind { F_TUPLE, F_ARRAY, F_LIST, F_CLOSE, F_TREE } FrameKind;
typedef struct Frame {
  FrameKind kind;
  const Desc *d;
  const Slot *v; /* next component or element; the list's cell */
  const ArrayObj *array;
  int64_t i, n;
  int first; /* F_TUPLE: the component that it begins with */
  int level; /* F_ARRAY */
  bool cut, parens;
  TreeEntries entries; /* F_TREE */
} Frame;
typedef struct Walk {
  Rt *rt;
  Buf *out;
  const Format *format; /* of the leaves of one kind, or NULL */
  DescKind formatted;
  Frame *frames;
  int64_t len, cap;
  int64_t longest;  /* elements of an array that isn't cut */
  const char *dots; /* for those that are left out */
  int digits;       /* of floats within arrays; 0: all */
  int arrays;       /* that are open */
} Walk;

enum { EDGE = 3 };

static void push(Walk *w, Frame f) {
  if (!rt_reserve(w->rt, &w->frames, &w->cap, w->len + 1, sizeof f)) w->out->failed = true;
  else w->frames[w->len++] = f;
}

static void show_bytes(Buf *out, const StringObj *s, int64_t n) {
  for (int64_t i = 0; i < n && !out->failed; i++) {
    unsigned char c = (unsigned char)s->bytes[i];
    const char *escape = c == '"'    ? "\\\""
                         : c == '\\' ? "\\\\"
                         : c == '\n' ? "\\n"
                         : c == '\t' ? "\\t"
                         : c == '\r' ? "\\r"
                                     : NULL;
    char hex[8];
    if (escape) buf_puts(out, escape);
    else if (c < 0x20 || c == 0x7f) buf_add(out, hex, (size_t)snprintf(hex, sizeof hex, "\\x%02x", c));
    else buf_addc(out, (char)c);
  }
}

static void show_string(Buf *out, const StringObj *s) {
  buf_addc(out, '"');
  show_bytes(out, s, s->len);
  buf_addc(out, '"');
}

/* Of a long string; whole characters. */
static void show_start(Buf *out, const StringObj *s, size_t bytes) {
  while (bytes && ((unsigned char)s->bytes[bytes] & 0xc0) == 0x80) bytes--;
  buf_addc(out, '"');
  show_bytes(out, s, (int64_t)bytes);
  buf_puts(out, "…\"");
}

static void show_number(Buf *out, const char *text, int n, Place place) {
  bool parens = place == ARGUMENT && text[0] == '-';
  if (parens) buf_addc(out, '(');
  buf_add(out, text, (size_t)n);
  if (parens) buf_addc(out, ')');
}

/* Rounded to so many digits (0: all): as repr, or with an exponent where an integer would have more digits. */
static int format_digits(double x, int digits, char out[40]) {
  char rounded[64];
  if (digits <= 0 || digits > 16 || x - x != 0.0) return rt_format_double(x, out);
  snprintf(rounded, sizeof rounded, "%.*e", digits - 1, x);
  double y = strtod(rounded, NULL);
  if (-1e-4 < y && y < 1e-4) return rt_format_double(y, out); /* which has an exponent there */
  char *exponent = strchr(rounded, 'e');
  if (strtol(exponent + 1, NULL, 10) < digits) return rt_format_double(y, out);
  char *end = exponent;
  while (end[-1] == '0' && strchr(rounded, '.')) end--;
  if (end[-1] == '.') end--;
  return snprintf(out, 40, "%.*s%s", (int)(end - rounded), rounded, exponent);
}

/* Counts what an empty dimension keeps from having elements too: it is written as brackets. */
static bool is_long(const Walk *w, const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k] ? a->dims[k] : 1;
  return n > w->longest;
}

static void open_array(Walk *w, const ArrayObj *a, const Desc *d, int level, const Slot *v, bool cut) {
  buf_addc(w->out, '[');
  w->arrays++;
  push(w, (Frame){.kind = F_ARRAY,
                  .d = d,
                  .array = a,
                  .v = v,
                  .n = a->dims[level],
                  .level = level,
                  .cut = cut && a->dims[level] > 2 * EDGE});
}

static void open_variant(Walk *w, const Desc *d, const Obj *p, Place place) {
  int64_t tag = rt_tag(p);
  const Desc *payload = d->args[tag];
  if (!rt_is_object(p)) {
    buf_puts(w->out, d->names[tag]);
    return;
  }
  bool cons = d->cons == 1 + tag, parens = cons ? place != TOP : place == ARGUMENT;
  if (parens) buf_addc(w->out, '(');
  if (cons) {
    push(w, (Frame){.kind = F_LIST, .d = d, .v = ((const BoxObj *)p)->fields, .n = 1, .parens = parens});
    return;
  }
  buf_puts(w->out, d->names[tag]);
  buf_addc(w->out, ' ');
  push(w, (Frame){.kind = F_CLOSE, .d = payload, .v = ((const BoxObj *)p)->fields, .n = 1, .parens = parens});
}

static void open_tree(Walk *w, const Desc *d, const Obj *root, Place place) {
  Frame f = {.kind = F_TREE, .d = d, .parens = place == ARGUMENT};
  if (rt_tree_entries(w->rt, d, root, &f.entries)) {
    w->out->failed = true;
    return;
  }
  f.n = f.entries.n;
  f.cut = f.n > LIMIT_ELEMENTS_SHOWN;
  if (f.parens) buf_addc(w->out, '(');
  buf_puts(w->out, d->shown_as);
  buf_puts(w->out, " [");
  int64_t before = w->len;
  push(w, f);
  if (w->len == before) rt_tree_entries_free(w->rt, &f.entries);
}

static void show_formatted(Walk *w, const Slot *v, Place place) {
  Buf b = {.rt = w->rt};
  if (w->formatted == D_FLOAT) rt_format_float(&b, w->format, v->f);
  else rt_format_int(&b, w->format, v->i);
  if (!b.failed) show_number(w->out, b.data, (int)b.len, place);
  w->out->failed |= b.failed;
  buf_free(&b);
}

/* Writes a value without parts. Of one with parts, writes what comes before them and pushes a frame for the parts. */
static void show_value(Walk *w, const Desc *d, const Slot *v, Place place) {
  char text[40];
  if (w->format && d->kind == w->formatted) {
    show_formatted(w, v, place);
    return;
  }
  switch (d->kind) {
  case D_INT: show_number(w->out, text, snprintf(text, sizeof text, "%lld", (long long)v->i), place); return;
  case D_FLOAT: show_number(w->out, text, format_digits(v->f, w->arrays ? w->digits : 0, text), place); return;
  case D_BOOL: buf_puts(w->out, v->i ? "true" : "false"); return;
  case D_STRING: show_string(w->out, slot_string(v)); return;
  case D_UNIT: buf_puts(w->out, "()"); return;
  case D_TUPLE:
    buf_addc(w->out, d->names ? '{' : '(');
    push(w, (Frame){.kind = F_TUPLE, .d = d, .v = v, .n = d->n});
    return;
  case D_ARRAY: open_array(w, slot_array(v), d, 0, slot_array(v)->data, is_long(w, slot_array(v))); return;
  case D_VARIANT:
    if (v->p && d->shown_as) open_tree(w, d, v->p, place);
    else if (v->p) open_variant(w, d, v->p, place);
    else buf_puts(w->out, "<null>");
    return;
  case D_OPAQUE:
    buf_addc(w->out, '<');
    buf_puts(w->out, d->name);
    buf_addc(w->out, '>');
    return;
  case D_FUN:
  case D_BAG:
  case D_ENV: buf_puts(w->out, "<fun>"); return;
  }
}

static void step_tuple(Walk *w, Frame *f) {
  if (f->i == f->n) {
    buf_addc(w->out, f->d->names ? '}' : ')');
    w->len--;
    return;
  }
  const Desc *d = f->d->args[f->i];
  const Slot *v = f->v;
  if (f->i > f->first) buf_puts(w->out, ", ");
  if (f->d->names) {
    buf_puts(w->out, f->d->names[f->i]);
    buf_puts(w->out, " = ");
  }
  f->v += d->nslots;
  f->i++;
  show_value(w, d, v, TOP);
}

static void step_array(Walk *w, Frame *f) {
  if (f->i == f->n) {
    buf_addc(w->out, ']');
    w->arrays--;
    w->len--;
    return;
  }
  const Desc *elem = f->d->args[0];
  int64_t stride = elem->nslots;
  for (int k = f->level + 1; k < f->d->rank; k++) stride *= f->array->dims[k];
  if (f->i) buf_puts(w->out, ", ");
  if (f->cut && f->i == EDGE) {
    buf_puts(w->out, w->dots);
    f->i = f->n - EDGE;
  }
  const Slot *v = f->v + f->i * stride;
  f->i++;
  if (f->level + 1 < f->d->rank) open_array(w, f->array, f->d, f->level + 1, v, f->cut || is_long(w, f->array));
  else show_value(w, elem, v, TOP);
}

/* At a cell: its head was not yet shown (i = 0), or it was (1), or so was all that follows (2). */
static void step_list(Walk *w, Frame *f) {
  const Desc *list = f->d, *head = list->args[list->cons - 1]->args[0];
  const Slot *cell = f->v;
  if (f->i == 0) {
    f->i = 1;
    show_value(w, head, cell, LIST_HEAD);
    return;
  }
  if (f->i == 2) {
    if (f->parens) buf_addc(w->out, ')');
    w->len--;
    return;
  }
  const Obj *tail = cell[head->nslots].p;
  buf_puts(w->out, " :: ");
  if (rt_is_object(tail) && rt_tag(tail) == list->cons - 1) {
    f->v = ((const BoxObj *)tail)->fields;
    f->i = 0;
    return;
  }
  f->i = 2;
  show_value(w, list, &cell[head->nslots], TOP);
}

static void step_tree(Walk *w, Frame *f) {
  if (f->i == f->n) {
    buf_puts(w->out, f->parens ? "])" : "]");
    rt_tree_entries_free(w->rt, &f->entries);
    w->len--;
    return;
  }
  if (f->i) buf_puts(w->out, ", ");
  if (f->cut && f->i == EDGE) {
    buf_puts(w->out, "..., ");
    f->i = f->n - EDGE;
  }
  TreeEntry e = rt_tree_entry(f->d);
  const Slot *v = f->entries.at[f->i++];
  if (e.end == e.first + 1) {
    show_value(w, e.payload->args[e.first], v, TOP);
    return;
  }
  buf_addc(w->out, '(');
  push(w, (Frame){.kind = F_TUPLE, .d = e.payload, .v = v, .first = e.first, .i = e.first, .n = e.end});
}

static void step_close(Walk *w, Frame *f) {
  if (f->i == 0) {
    f->i = 1;
    show_value(w, f->d, f->v, ARGUMENT);
    return;
  }
  if (f->parens) buf_addc(w->out, ')');
  w->len--;
}

/* The rest of an opened value, or of `limit` bytes. */
static void walk_on(Walk *w, size_t limit) {
  while (w->len && !w->out->failed && w->out->len < limit) {
    Frame *f = &w->frames[w->len - 1];
    switch (f->kind) {
    case F_TUPLE: step_tuple(w, f); break;
    case F_ARRAY: step_array(w, f); break;
    case F_LIST: step_list(w, f); break;
    case F_CLOSE: step_close(w, f); break;
    case F_TREE: step_tree(w, f); break;
    }
  }
  if (w->len) buf_puts(w->out, "…");
  for (int64_t k = 0; k < w->len; k++)
    if (w->frames[k].kind == F_TREE) rt_tree_entries_free(w->rt, &w->frames[k].entries);
  heap_realloc(w->rt->heap, w->frames, (size_t)w->cap * sizeof(Frame), 0);
}

Status rt_show_to(Rt *rt, const Desc *type, const Slot *value, bool bare, Buf *out) {
  if (bare && type->kind == D_STRING) {
    buf_add(out, slot_string(value)->bytes, (size_t)slot_string(value)->len);
    return out->failed;
  }
  Walk w = {.rt = rt, .out = out, .longest = LIMIT_ELEMENTS_SHOWN, .dots = "..., "};
  show_value(&w, type, value, TOP);
  walk_on(&w, SIZE_MAX);
  return out->failed;
}

Status rt_show_short(Rt *rt, const Desc *type, const Slot *value, Short how, Buf *out) {
  Walk w = {.rt = rt, .out = out, .longest = how.longest, .dots = "…, ", .digits = how.digits, .arrays = how.element};
  if (type->kind == D_STRING && (size_t)slot_string(value)->len > how.limit) {
    show_start(out, slot_string(value), how.limit);
    return out->failed;
  }
  show_value(&w, type, value, TOP);
  walk_on(&w, out->len + how.limit);
  return out->failed;
}

Status rt_show_formatted(Rt *rt, const Desc *type, const Slot *value, DescKind leaves, const Format *f, Buf *out) {
  Walk w = {.rt = rt, .out = out, .format = f, .formatted = leaves, .longest = LIMIT_ELEMENTS_SHOWN, .dots = "..., "};
  show_value(&w, type, value, TOP);
  walk_on(&w, SIZE_MAX);
  return out->failed;
}

Status rt_show(Rt *rt, const Desc *type, const Slot *value, bool bare_strings, Str *out) {
  Buf b = {.rt = rt};
  Status status = rt_show_to(rt, type, value, bare_strings, &b);
  if (status == 0 && b.len) str_add(out, b.data, b.len);
  buf_free(&b);
  return status;
}
