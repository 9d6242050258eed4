/* SPDX-License-Identifier: MIT */
/* Keys of maps and sets: a total order of all values of a type, that of sorting, and a hash that agrees with it.
 *
 * In this order NaN stands behind all numbers and is equal to itself, and -0.0 is equal to 0.0. The hash walks the
 * value with a stack of its own, as comparison does: a frame is a run of values of one type, or the components of a
 * tuple. */
#include "runtime/runtime_internal.h"
#include <math.h>
#include <string.h>

PRIM(prim_key_order) {
  PRIM_UNUSED;
  int result;
  if (rt_compare_values(rt, MODE_ORDER, type, args, args + type->nslots, &result)) return 1;
  res->i = result;
  return 0;
}

typedef struct Frame {
  const Desc *d;
  const Slot *v;
  int64_t i, n;
  bool tuple; /* d's components; else n values of type d */
} Frame;

enum { LOCAL_FRAMES = 32 };
typedef struct Walk {
  Rt *rt;
  uint64_t hash;
  Frame *frames, local[LOCAL_FRAMES];
  int64_t len, cap;
} Walk;

static Status push(Walk *w, Frame f) {
  if (f.n == 0) return 0;
  if (w->len == w->cap) {
    bool local = w->frames == w->local;
    size_t size = (size_t)w->cap * sizeof(Frame);
    Frame *grown = heap_realloc(w->rt->heap, local ? NULL : w->frames, local ? 0 : size, 2 * size);
    if (!grown) return rt_out_of_memory(w->rt);
    if (local) memcpy(grown, w->local, size);
    w->frames = grown;
    w->cap *= 2;
  }
  w->frames[w->len++] = f;
  return 0;
}

static uint64_t float_bits(double x) {
  uint64_t bits;
  if (isnan(x)) return 1;
  x += 0.0; /* -0.0 becomes 0.0 */
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static Status step_array(Walk *w, const Desc *d, const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < d->rank; k++) n *= a->dims[k];
  for (int k = 0; k < d->rank; k++) w->hash = hash_mix(w->hash, (uint64_t)(k == 0 || n ? a->dims[k] : 0));
  return push(w, (Frame){d->args[0], a->data, 0, n, false});
}

static Status step(Walk *w, const Desc *d, const Slot *v) {
  switch (d->kind) {
  case D_INT:
  case D_BOOL: w->hash = hash_mix(w->hash, (uint64_t)v->i); return 0;
  case D_FLOAT: w->hash = hash_mix(w->hash, float_bits(v->f)); return 0;
  case D_STRING: w->hash = hash_bytes(slot_string(v)->bytes, (size_t)slot_string(v)->len, w->hash); return 0;
  case D_TUPLE: return push(w, (Frame){d, v, 0, d->n, true});
  case D_ARRAY: return step_array(w, d, slot_array(v));
  case D_VARIANT: {
    int64_t tag = rt_tag(v->p);
    w->hash = hash_mix(w->hash, (uint64_t)tag);
    return rt_is_object(v->p) ? push(w, (Frame){d->args[tag], ((BoxObj *)v->p)->fields, 0, 1, false}) : 0;
  }
  default: return 0;
  }
}

/* The last value of a frame is taken after the frame has gone: a list takes constant space. */
static Status next(Walk *w) {
  Frame *f = &w->frames[w->len - 1];
  const Desc *d = f->tuple ? f->d->args[f->i] : f->d;
  const Slot *v = f->v;
  f->v += d->nslots;
  if (++f->i == f->n) w->len--;
  return step(w, d, v);
}

PRIM(prim_key_hash) {
  PRIM_UNUSED;
  Walk w; /* not cleared: the local frames take longer than most keys */
  w.rt = rt;
  w.hash = 0x6b6579;
  w.frames = w.local;
  w.len = 0;
  w.cap = LOCAL_FRAMES;
  Status status = step(&w, type, args);
  for (int64_t i = 0; status == 0 && w.len; i++) status = rt_look_at(rt, i) ? 1 : next(&w);
  if (w.frames != w.local) heap_realloc(rt->heap, w.frames, (size_t)w.cap * sizeof(Frame), 0);
  if (status == 0) res->i = (int64_t)w.hash;
  return status;
}
