/* SPDX-License-Identifier: MIT */
/* Objects that several threads can reach.
 *
 * Before a closure is offered to other threads, what can be reached from it and from elsewhere is marked: its count n
 * becomes -n. From then on the count is changed atomically, by whatever thread retains or releases it (objects.c).
 *
 *   closure (1) ── tape (1) ── box (1)        handed over as they are: their only references are the ones shown
 *       └────────── data (3) ── array (1)     marked: others refer to `data`, and so reach `array`
 *
 * An object that the closure alone holds, by a count of one on the whole way, isn't touched by this thread until the
 * arm has ended. Marking stops at what is marked: all that can be reached from a marked object is marked, too, since an
 * object of which something else holds a reference is never changed. So an object is marked once, and once more after
 * it was found to be held by one thread alone (rt_unshare).
 *
 * The worklist has objects whose references are still to be looked at. It takes no more than a word for each object,
 * and for lists and balanced trees few. */
#include "runtime/runtime_internal.h"

typedef struct Marker {
  Rt *rt;
  Obj **items;
  int64_t n, cap;
} Marker;

/* References: `rows` rows of `n` slots, of which those of kind SLOT_PTR count, `stride` slots from row to row; and one
 * more object, or NULL. */
typedef struct References {
  const Slot *slots;
  const uint8_t *kinds;
  int64_t rows, n, stride;
  Obj *other;
} References;

static References rows_of(const Slot *slots, const Desc *elem, int64_t rows, int64_t skipped) {
  return (References){slots + skipped, elem->slots, rows, elem->nslots, elem->nslots + skipped, NULL};
}

static References references_of(Obj *o) {
  switch (o->desc->kind) {
  case D_ARRAY: {
    ArrayObj *a = (ArrayObj *)o;
    const Desc *elem = o->desc->args[0];
    if (a->owner || !o->desc->pointers || !elem->nslots) return (References){.other = a->owner};
    return rows_of(a->data, elem, a->cap / elem->nslots, 0);
  }
  case D_BAG: {
    LogObj *l = (LogObj *)o;
    return o->desc->pointers ? rows_of(l->entries, o->desc->args[0], l->len, 1) : (References){0};
  }
  case D_VARIANT: return rows_of(((BoxObj *)o)->fields, o->desc->args[o->tag], 1, 0);
  case D_FUN: {
    const RtFunc *f = ((ClosureObj *)o)->fn;
    return (References){((ClosureObj *)o)->caps, f->param_kinds + (f->nparams - f->ncaps), 1, f->ncaps, 0, NULL};
  }
  case D_ENV: {
    const RtFunc *f = ((EnvObj *)o)->fn;
    return (References){((EnvObj *)o)->caps, f->acc_kinds, 1, f->nacc, 0, NULL};
  }
  case D_OPAQUE: return (References){.other = ((OpaqueObj *)o)->owner};
  default: return (References){0};
  }
}

/* Other threads may be changing the count of a marked object. */
static bool is_marked(const Obj *p) { return __atomic_load_n(&p->rc, __ATOMIC_RELAXED) <= 0; }

static bool push(Marker *m, Obj *p) {
  __builtin_prefetch(p->desc);
  if (m->n == m->cap && !rt_reserve(m->rt, &m->items, &m->cap, m->n + 1, sizeof *m->items)) return false;
  m->items[m->n++] = p;
  return true;
}

/* From an object that is marked, or that the closure alone holds. */
static bool look_at(Marker *m, Obj *p, bool from_marked) {
  if (!rt_is_object(p) || is_marked(p)) return true;
  if (from_marked || p->rc > 1) p->rc = -p->rc;
  return push(m, p);
}

/* The first reference is the next to be looked at. */
static bool look_at_all(Marker *m, const References *r, bool from_marked) {
  for (int64_t i = r->rows - 1; i >= 0; i--)
    for (int64_t k = r->n - 1; k >= 0; k--)
      if (r->kinds[k] == SLOT_PTR && !look_at(m, r->slots[i * r->stride + k].p, from_marked)) return false;
  return look_at(m, r->other, from_marked);
}

static bool share(Rt *rt, Obj *p, bool all) {
  Marker m = {.rt = rt};
  bool fine = look_at(&m, p, all);
  while (fine && m.n > 0) {
    Obj *o = m.items[--m.n];
    References r = references_of(o);
    fine = look_at_all(&m, &r, is_marked(o));
  }
  heap_realloc(rt->heap, m.items, (size_t)m.cap * sizeof *m.items, 0);
  return fine;
}

bool rt_share(Rt *rt, Obj *p) { return share(rt, p, true); }
bool rt_hand_over(Rt *rt, Obj *p) { return share(rt, p, false); }
