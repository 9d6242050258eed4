/* SPDX-License-Identifier: MIT */
/* Values as source would write them.
 *
 * The walk keeps its own stack of frames, one for each bracket that is open: tuple, record, array (one frame per
 * level of nesting), constructor, list. Each turn of the loop takes the top frame one element further. A list is one
 * frame that walks from cell to cell, so its length costs no space.
 *
 * `Place` says where a value stands, hence when it needs parentheses: negative numbers and constructors with a
 * payload as an argument, non-empty lists as an argument or as the head of a list. */
#include "runtime/runtime_internal.h"
#include <string.h>

typedef enum Place { TOP, LIST_HEAD, ARGUMENT } Place;
typedef enum FrameKind { F_TUPLE, F_ARRAY, F_LIST, F_CLOSE } FrameKind;
typedef struct Frame {
  FrameKind kind;
  const Desc *d;
  const Slot *v; /* next component or element; the list's cell */
  const ArrayObj *array;
  int64_t i, n;
  int level; /* F_ARRAY */
  bool cut, parens;
} Frame;
typedef struct Walk {
  Rt *rt;
  Buf *out;
  const Format *format; /* of the leaves of one kind, or NULL */
  DescKind formatted;
  Frame *frames;
  int64_t len, cap;
} Walk;

enum { EDGE = 3 };

static void push(Walk *w, Frame f) {
  if (!rt_reserve(w->rt, &w->frames, &w->cap, w->len + 1, sizeof f)) w->out->failed = true;
  else w->frames[w->len++] = f;
}

static void show_string(Buf *out, const StringObj *s) {
  buf_addc(out, '"');
  for (int64_t i = 0; i < s->len && !out->failed; i++) {
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
  buf_addc(out, '"');
}

static void show_number(Buf *out, const char *text, int n, Place place) {
  bool parens = place == ARGUMENT && text[0] == '-';
  if (parens) buf_addc(out, '(');
  buf_add(out, text, (size_t)n);
  if (parens) buf_addc(out, ')');
}

/* Counts what an empty dimension keeps from having elements too: it is written as brackets. */
static bool is_long(const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k] ? a->dims[k] : 1;
  return n > LIMIT_ELEMENTS_SHOWN;
}

static void open_array(Walk *w, const ArrayObj *a, const Desc *d, int level, const Slot *v, bool cut) {
  buf_addc(w->out, '[');
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

static void show_formatted(Walk *w, const Slot *v, Place place) {
  Buf b = {.rt = w->rt};
  if (w->formatted == D_FLOAT) rt_format_float(&b, w->format, v->f);
  else rt_format_int(&b, w->format, v->i);
  if (!b.failed) show_number(w->out, b.data, (int)b.len, place);
  w->out->failed |= b.failed;
  buf_free(&b);
}

/* Writes a value, or opens it. */
static void show_value(Walk *w, const Desc *d, const Slot *v, Place place) {
  char text[40];
  if (w->format && d->kind == w->formatted) {
    show_formatted(w, v, place);
    return;
  }
  switch (d->kind) {
  case D_INT: show_number(w->out, text, snprintf(text, sizeof text, "%lld", (long long)v->i), place); return;
  case D_FLOAT: show_number(w->out, text, rt_format_double(v->f, text), place); return;
  case D_BOOL: buf_puts(w->out, v->i ? "true" : "false"); return;
  case D_STRING: show_string(w->out, slot_string(v)); return;
  case D_UNIT: buf_puts(w->out, "()"); return;
  case D_TUPLE:
    buf_addc(w->out, d->names ? '{' : '(');
    push(w, (Frame){.kind = F_TUPLE, .d = d, .v = v, .n = d->n});
    return;
  case D_ARRAY: open_array(w, slot_array(v), d, 0, slot_array(v)->data, is_long(slot_array(v))); return;
  case D_VARIANT:
    if (v->p) open_variant(w, d, v->p, place);
    else buf_puts(w->out, "<null>");
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
  if (f->i) buf_puts(w->out, ", ");
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
    w->len--;
    return;
  }
  const Desc *elem = f->d->args[0];
  int64_t stride = elem->nslots;
  for (int k = f->level + 1; k < f->d->rank; k++) stride *= f->array->dims[k];
  if (f->i) buf_puts(w->out, ", ");
  if (f->cut && f->i == EDGE) {
    buf_puts(w->out, "..., ");
    f->i = f->n - EDGE;
  }
  const Slot *v = f->v + f->i * stride;
  f->i++;
  if (f->level + 1 < f->d->rank) open_array(w, f->array, f->d, f->level + 1, v, f->cut || is_long(f->array));
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

static void step_close(Walk *w, Frame *f) {
  if (f->i == 0) {
    f->i = 1;
    show_value(w, f->d, f->v, ARGUMENT);
    return;
  }
  if (f->parens) buf_addc(w->out, ')');
  w->len--;
}

static Status walk(Walk *w, const Desc *type, const Slot *value) {
  show_value(w, type, value, TOP);
  while (w->len && !w->out->failed) {
    Frame *f = &w->frames[w->len - 1];
    switch (f->kind) {
    case F_TUPLE: step_tuple(w, f); break;
    case F_ARRAY: step_array(w, f); break;
    case F_LIST: step_list(w, f); break;
    case F_CLOSE: step_close(w, f); break;
    }
  }
  heap_realloc(w->rt->heap, w->frames, (size_t)w->cap * sizeof(Frame), 0);
  return w->out->failed;
}

Status rt_show_to(Rt *rt, const Desc *type, const Slot *value, bool bare, Buf *out) {
  if (bare && type->kind == D_STRING) {
    buf_add(out, slot_string(value)->bytes, (size_t)slot_string(value)->len);
    return out->failed;
  }
  Walk w = {.rt = rt, .out = out};
  return walk(&w, type, value);
}

Status rt_show_formatted(Rt *rt, const Desc *type, const Slot *value, DescKind leaves, const Format *f, Buf *out) {
  Walk w = {.rt = rt, .out = out, .format = f, .formatted = leaves};
  return walk(&w, type, value);
}

Status rt_show(Rt *rt, const Desc *type, const Slot *value, bool bare_strings, Str *out) {
  Buf b = {.rt = rt};
  Status status = rt_show_to(rt, type, value, bare_strings, &b);
  if (status == 0 && b.len) str_add(out, b.data, b.len);
  buf_free(&b);
  return status;
}
