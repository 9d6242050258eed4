/* SPDX-License-Identifier: MIT */
/* Hashes of values: equal values have one hash, on every machine and in every run. -0.0 and 0.0 are equal, and so are
 * all NaNs, as they are to the order of sorting.
 *
 * The walk keeps its own stack of frames, as that of comparisons does (compare.c): a list takes constant space, a tree
 * its depth. Scalars are mixed into one word in the order in which they are met; constructors, lengths of arrays and
 * of strings are scalars, too. The mixing function is the finaliser of MurmurHash3 (A. Appleby, public domain),
 * a bijection of 64 bits. */
#include "runtime/runtime_internal.h"
#include <math.h>
#include <string.h>

typedef struct Frame {
  const Desc *d;
  const Slot *at;
  int64_t i, n;
  bool tuple; /* d's components; else n values of type d */
} Frame;

enum { LOCAL_FRAMES = 32 };
typedef struct Hasher {
  Rt *rt;
  uint64_t hash;
  Frame *frames, local[LOCAL_FRAMES];
  int64_t len, cap;
} Hasher;

static uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33;
}

static void add(Hasher *h, uint64_t x) { h->hash = mixed((h->hash ^ x) + 0x9e3779b97f4a7c15U); }

static void add_float(Hasher *h, double x) {
  uint64_t bits;
  if (x == 0) x = 0; /* not -0.0 */
  memcpy(&bits, &x, sizeof bits);
  add(h, isnan(x) ? 0x7ff8000000000000U : bits);
}

static Status add_string(Hasher *h, const StringObj *s) {
  size_t n = (size_t)s->len, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word = 0;
    for (int k = 0; k < 8; k++) word |= (uint64_t)(unsigned char)s->bytes[i + (size_t)k] << 8 * k;
    add(h, word);
    if (rt_look_at(h->rt, (int64_t)(i / 8))) return 1;
  }
  uint64_t rest = n; /* the length tells what is left from zeros */
  for (int k = 0; i < n; i++, k++) rest = rest << 8 | (unsigned char)s->bytes[i];
  add(h, rest);
  return 0;
}

static Status push(Hasher *h, const Desc *d, const Slot *at, int64_t n, bool tuple) {
  if (n == 0) return 0;
  if (h->len == h->cap) {
    size_t size = (size_t)h->cap * sizeof(Frame);
    bool local = h->frames == h->local;
    Frame *grown = heap_realloc(h->rt->heap, local ? NULL : h->frames, local ? 0 : size, 2 * size);
    if (!grown) return rt_out_of_memory(h->rt);
    if (local) memcpy(grown, h->local, size);
    h->frames = grown;
    h->cap *= 2;
  }
  h->frames[h->len++] = (Frame){d, at, 0, n, tuple};
  return 0;
}

/* Inner lengths of an array without rows mean nothing. */
static Status push_array(Hasher *h, const ArrayObj *a, const Desc *d) {
  int64_t n = 1;
  for (int k = 0; k < d->rank && n; k++) {
    add(h, (uint64_t)a->dims[k]);
    n *= a->dims[k];
  }
  return push(h, d->args[0], a->data, n, false);
}

/* Mixes one value in, or pushes what is in it. */
static Status step(Hasher *h, const Desc *d, const Slot *a) {
  switch (d->kind) {
  case D_INT:
  case D_BOOL: add(h, (uint64_t)a->i); return 0;
  case D_FLOAT: add_float(h, a->f); return 0;
  case D_STRING: return add_string(h, slot_string(a));
  case D_TUPLE: return push(h, d, a, d->n, true);
  case D_VARIANT: {
    int64_t tag = rt_tag(a->p);
    add(h, (uint64_t)tag);
    return rt_is_object(a->p) ? push(h, d->args[tag], ((BoxObj *)a->p)->fields, 1, false) : 0;
  }
  case D_ARRAY: return push_array(h, slot_array(a), d);
  case D_OPAQUE: add(h, slot_opaque(a)); return 0;
  case D_UNIT:
  case D_FUN:
  case D_BAG:
  case D_ENV: return 0;
  }
  return 0;
}

/* The next value of the top frame, which is popped with its last one. */
static const Slot *next(Hasher *h, const Desc **d) {
  Frame *f = &h->frames[h->len - 1];
  const Slot *at = f->at;
  *d = f->tuple ? f->d->args[f->i] : f->d;
  f->at += (*d)->nslots;
  if (++f->i == f->n) h->len--;
  return at;
}

Status rt_hash_value(Rt *rt, const Desc *d, const Slot *a, uint64_t *hash) {
  Hasher h; /* not initialised as a whole: most values need few frames or none */
  h.rt = rt;
  h.hash = 0;
  h.len = 0;
  h.cap = LOCAL_FRAMES;
  h.frames = h.local;
  Status status = step(&h, d, a);
  while (status == 0 && h.len && !(status = rt_look(rt))) {
    const Desc *inner;
    const Slot *at = next(&h, &inner);
    status = step(&h, inner, at);
  }
  if (h.frames != h.local) heap_realloc(rt->heap, h.frames, (size_t)h.cap * sizeof(Frame), 0);
  *hash = h.hash;
  return status;
}
