/* SPDX-License-Identifier: MIT */
/* Structural equality, order and closeness of two values of one type, and sorting by it.
 *
 * The walk keeps its own stack of frames: a frame is a run of values of one type (array elements, a payload) or the
 * components of a tuple. A frame that is used up is popped before what its last value holds is pushed, so a
 * list takes constant space, and a tree its depth.
 *
 * Order is lexicographic. Of two arrays of different shape the first elements that both have decide, then the
 * length in which they differ. To the comparison operators a NaN that is met makes the whole unordered; the order of
 * sorting is total: NaN is equal to itself and above all numbers. */
#include "runtime/runtime_internal.h"
#include <math.h>
#include <string.h>

typedef struct Frame {
  const Desc *d;
  const Slot *a, *b;
  int64_t i, n;
  bool tuple; /* d's components; else n values of type d */
  int tie;    /* the answer if all are alike */
} Frame;

enum { LOCAL_FRAMES = 32 };
typedef struct Walk {
  Rt *rt;
  CompareMode mode;
  Frame *frames, local[LOCAL_FRAMES];
  int64_t len, cap;
} Walk;

static Status push(Walk *w, Frame f) {
  if (w->len == w->cap) {
    int64_t cap = 2 * w->cap;
    size_t size = (size_t)w->cap * sizeof(Frame);
    bool local = w->frames == w->local;
    Frame *grown = heap_realloc(w->rt->heap, local ? NULL : w->frames, local ? 0 : size, 2 * size);
    if (!grown) return rt_out_of_memory(w->rt);
    if (local) memcpy(grown, w->local, size);
    w->frames = grown;
    w->cap = cap;
  }
  w->frames[w->len++] = f;
  return 0;
}

static bool is_order(CompareMode mode) { return mode == MODE_COMPARE || mode == MODE_ORDER; }

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int order_floats(CompareMode mode, double a, double b) {
  if (mode == MODE_CLOSE && a != b) {
    double scale = fmax(fabs(a), fabs(b));
    return isfinite(scale) && fabs(a - b) <= 1e-9 * scale ? 0 : 2;
  }
  if (a == b || a < b || a > b) return (a > b) - (a < b);
  return mode == MODE_ORDER ? (isnan(a) != 0) - (isnan(b) != 0) : 2;
}

static int order_strings(const StringObj *a, const StringObj *b) {
  size_t n = (size_t)(a->len < b->len ? a->len : b->len);
  int c = memcmp(a->bytes, b->bytes, n);
  return c ? (c > 0) - (c < 0) : order(a->len, b->len);
}

/* The elements to be compared and what the shapes say if they are alike. Inner lengths of an array without rows mean
 * nothing. Of several lengths that differ the innermost is met first. */
static Frame array_frame(const ArrayObj *a, const ArrayObj *b, const Desc *d) {
  Frame f = {.d = d->args[0], .a = a->data, .b = b->data, .n = 1};
  for (int k = 0; k < d->rank && f.n; k++) {
    int64_t na = a->dims[k], nb = b->dims[k], least = na < nb ? na : nb;
    if (na != nb) {
      f.n = 1; /* only the first row of the outer dimensions is reached */
      f.tie = order(na, nb);
    }
    f.n *= least;
  }
  return f;
}

/* By the host's pointers. */
static int order_opaques(const Slot *a, const Slot *b) {
  uintptr_t p = slot_opaque(a), q = slot_opaque(b);
  return (p > q) - (p < q);
}

/* Compares one value; 0 if alike as far as is known: what is inside was pushed. */
static int step(Walk *w, const Desc *d, const Slot *a, const Slot *b, Status *status) {
  switch (d->kind) {
  case D_INT:
  case D_BOOL: return order(a->i, b->i);
  case D_FLOAT: return order_floats(w->mode, a->f, b->f);
  case D_STRING: return order_strings(slot_string(a), slot_string(b));
  case D_UNIT: return 0;
  case D_TUPLE: *status = push(w, (Frame){d, a, b, 0, d->n, true, 0}); return 0;
  case D_VARIANT: {
    int64_t ta = rt_tag(a->p), tb = rt_tag(b->p);
    if (ta != tb) return order(ta, tb);
    if (!rt_is_object(a->p)) return 0;
    *status = push(w, (Frame){d->args[ta], ((BoxObj *)a->p)->fields, ((BoxObj *)b->p)->fields, 0, 1, false, 0});
    return 0;
  }
  case D_ARRAY: {
    Frame f = array_frame(slot_array(a), slot_array(b), d);
    if (f.tie && !is_order(w->mode)) return f.tie;
    *status = push(w, f);
    return 0;
  }
  case D_OPAQUE: return order_opaques(a, b);
  case D_FUN:
  case D_BAG:
  case D_ENV: return a->p != b->p;
  }
  return 0;
}

/* The next value of the top frame, which is popped with its last one. */
static void next(Walk *w, const Desc **d, const Slot **a, const Slot **b) {
  Frame *f = &w->frames[w->len - 1];
  *a = f->a;
  *b = f->b;
  *d = f->tuple ? f->d->args[f->i] : f->d;
  f->a += (*d)->nslots;
  f->b += (*d)->nslots;
  f->i++;
  if (f->i == f->n && f->tie == 0) w->len--;
}

Status rt_compare_values(Rt *rt, CompareMode mode, const Desc *d, const Slot *a, const Slot *b, int *result) {
  Walk w; /* not initialised as a whole: most values need few frames or none */
  w.rt = rt;
  w.mode = mode;
  w.len = 0;
  w.cap = LOCAL_FRAMES;
  w.frames = w.local;
  Status status = 0;
  int c = step(&w, d, a, b, &status);
  while (c == 0 && status == 0 && w.len && !(status = rt_look(rt))) {
    Frame *f = &w.frames[w.len - 1];
    if (f->i == f->n) {
      c = f->tie;
      w.len--;
      continue;
    }
    const Desc *vd;
    const Slot *va, *vb;
    next(&w, &vd, &va, &vb);
    c = step(&w, vd, va, vb, &status);
  }
  if (w.frames != w.local) heap_realloc(rt->heap, w.frames, (size_t)w.cap * sizeof(Frame), 0);
  *result = is_order(mode) ? c : c == 0;
  return status;
}

/* ---- Sorting ----------------------------------------------------------------------------------------------------- */
typedef struct Sorter {
  Rt *rt;
  const Desc *elem;
  const Slot *data;
  Status status;
} Sorter;

/* Whether element i must stand before element j. */
static bool before(Sorter *s, int64_t i, int64_t j) {
  const Slot *a = s->data + i * s->elem->nslots, *b = s->data + j * s->elem->nslots;
  if (s->elem->kind == D_FLOAT) return a->f < b->f || (isnan(b->f) && !isnan(a->f));
  if (s->elem->kind == D_INT) return a->i < b->i;
  int c = 0;
  if (s->status == 0) s->status = rt_compare_values(s->rt, MODE_ORDER, s->elem, a, b, &c);
  return c < 0;
}

/* Bottom-up merge sort of n indices; the result is in `x` unless s->status says otherwise. */
static void merge_sort(Sorter *s, Slot *x, Slot *scratch, int64_t n) {
  Slot *from = x, *to = scratch;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t lo = 0; lo < n; lo += 2 * width) {
      int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
      int64_t i = lo, j = mid;
      for (int64_t k = lo; k < hi; k++) {
        if (k % RT_STRIDE == 0 && (s->status || (s->status = rt_look(s->rt)))) return;
        bool right = i == mid || (j < hi && before(s, from[j].i, from[i].i));
        to[k] = right ? from[j++] : from[i++];
      }
    }
    Slot *t = from;
    from = to;
    to = t;
  }
  if (from != x && n) memcpy(x, from, (size_t)n * sizeof *x);
}

/* The elements of a matrix are its rows: they are compared as arrays, through views made for it. */
static Status row_views(Rt *rt, const ArrayObj *a, const Desc *row, int64_t n, ArrayObj *views) {
  int64_t width = a->h.desc->args[0]->nslots;
  for (int k = 1; k < a->h.desc->rank; k++) width *= a->dims[k];
  for (int64_t i = 0; i < n; i++) {
    ArrayObj *v = rt_view(rt, row, (ArrayObj *)a, i * width, a->dims + 1);
    if (!v || rt_look(rt)) {
      if (v) rt_release(rt, &v->h);
      return 1;
    }
    views->data[i].p = &v->h;
  }
  return 0;
}

/* Of a tuple with one component that has a value that is it: it has the same slot, and compares faster. */
static const Desc *compared(const Desc *d) {
  while (d->kind == D_TUPLE) {
    const Desc *only = NULL;
    for (int k = 0; k < d->n; k++)
      if (d->args[k]->nslots == d->nslots) only = d->args[k];
    if (!only || d->nslots == 0) break;
    d = only;
  }
  return d;
}

static Status sort_into(Rt *rt, Sorter *s, int64_t n, ArrayObj **out) {
  ArrayObj *order_array = rt_new_array(rt, rt->desc_int_array, &n, false);
  ArrayObj *scratch = order_array ? rt_new_array(rt, rt->desc_int_array, &n, false) : NULL;
  if (scratch) {
    for (int64_t i = 0; i < n && !(s->status = rt_look_at(rt, i)); i++) order_array->data[i].i = i;
    if (s->status == 0) merge_sort(s, order_array->data, scratch->data, n);
    rt_release(rt, &scratch->h);
    if (s->status == 0) {
      *out = order_array;
      return 0;
    }
  }
  if (order_array) rt_release(rt, &order_array->h);
  return 1;
}

Status rt_argsort(Rt *rt, const Desc *array, const ArrayObj *a, ArrayObj **out) {
  int64_t n = a->dims[0];
  if (array->rank == 1) {
    Sorter s = {rt, compared(array->args[0]), a->data, 0};
    return sort_into(rt, &s, n, out);
  }
  Desc row = *array;
  row.rank--;
  const Desc *element = &row;
  Desc rows = {
      .kind = D_ARRAY, .nslots = 1, .slots = array->slots, .n = 1, .args = &element, .rank = 1, .pointers = true};
  ArrayObj *views = rt_new_array(rt, &rows, &n, true);
  if (!views) return 1;
  Status status = row_views(rt, a, &row, n, views);
  Sorter s = {rt, &row, views->data, 0};
  if (status == 0) status = sort_into(rt, &s, n, out);
  rt_release(rt, &views->h);
  return status;
}
