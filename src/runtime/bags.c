/* SPDX-License-Identifier: MIT */
/* Bags: accumulators for arrays, which collect contributions to their elements; and the sum of two accumulators of
 * any type (src/ir/accumulators.c says which types there are).
 *
 * A bag is null, a log of (index, entry), or a dense array. A log that would have more entries than the array has
 * elements becomes dense; two logs are joined by appending the shorter; two dense ones are added into one that
 * nobody else holds. So every operation is paid for by the contributions that were made, and a bag of n elements
 * costs n only after n contributions, or if n is a small constant.
 *
 * Value semantics hold throughout: an object with other references is copied before it is changed; what comes from
 * an unshared operand is moved, leaving NULL behind, so that the operand stays a valid object whatever happens
 * later.
 *
 * Entries may hold pointers to further accumulators, to any depth (lists, trees). Adding them is a worklist,
 * `Adder`: its items are (slot, accumulator to be added to it). merge() does one step: it adds two objects at the
 * top level and puts the pointers inside on the list. merge() never releases its operands, so a caller that still
 * owns them after a failure can. */
#include "runtime/runtime_internal.h"
#include <string.h>

typedef struct Item {
  Slot *dst;
  const Desc *desc;
  Obj *b;
} Item;
typedef struct Linked {
  Obj *p;
  bool linked;
} Linked;
typedef struct Adder {
  Rt *rt;
  Item *items;
  int64_t len, cap;
  Linked *roots; /* operands that are the caller's until everything has succeeded */
  int64_t nroots, roots_cap;
} Adder;

static Status merge(Adder *w, const Desc *desc, Obj *a, Obj *b, const int64_t *dims, Obj **out);

static bool is_log(const Obj *p) { return p->desc->kind == D_BAG; }

static Status push(Adder *w, Item it) {
  if (!rt_reserve(w->rt, &w->items, &w->cap, w->len + 1, sizeof *w->items)) return 1;
  w->items[w->len++] = it;
  return 0;
}

/* One pointer of add_value. */
static Status add_pointer(Adder *w, const Desc *d, Slot *dst, Slot *src, bool move) {
  Obj *b = src->p;
  if (!b) return 0;
  if (!dst->p) dst->p = b;
  else if (push(w, (Item){dst, d, b})) return 1;
  if (move) src->p = NULL;
  else rt_retain(b);
  return 0;
}

/* dst += src over the slots of a value of type d. From unshared operands (move) pointers are taken, else retained. */
static Status add_value(Adder *w, const Desc *d, Slot *dst, Slot *src, bool move) {
  for (int k = 0; k < d->nslots; k++) {
    if (d->slots[k] == SLOT_FLOAT) dst[k].f += src[k].f;
    if (d->slots[k] == SLOT_PTR && add_pointer(w, d->slot_descs[k], dst + k, src + k, move)) return 1;
  }
  return 0;
}

/* Can box b be added to box a by taking it apart? */
static bool consumable(Obj *a, Obj *b) {
  return rt_is_object(a) && rt_is_object(b) && rt_alone(a) && rt_alone(b) && a->tag == b->tag;
}

/* add_item for boxes of floats and a link to the next box, as lists have: a tight loop along the links, RT_STRIDE
 * boxes at most. Is all added? */
static bool add_chain(Rt *rt, const Desc *payload, Item *it) {
  int n = payload->nslots, link = payload->link;
  size_t size = sizeof(BoxObj) + (size_t)n * sizeof(Slot);
  int32_t tag = it->b->tag;
  for (int turn = 0; turn < RT_STRIDE && consumable(it->dst->p, it->b) && it->b->tag == tag; turn++) {
    BoxObj *a = (BoxObj *)it->dst->p, *b = (BoxObj *)it->b;
    Slot *dst = &a->fields[link];
    Obj *next = b->fields[link].p;
    for (int k = 0; k < link; k++) a->fields[k].f += b->fields[k].f;
    for (int k = link + 1; k < n; k++) a->fields[k].f += b->fields[k].f;
    rt->live--;
    rt_block_free(rt, b, size);
    if (!next) return true;
    if (!dst->p) {
      dst->p = next;
      return true;
    }
    it->dst = dst;
    it->b = next;
  }
  return false;
}

/* add_item for two boxes that can be added by taking b apart: it becomes what is left of b. */
static Status add_box(Adder *w, const Desc *payload, Item *it) {
  BoxObj *a = (BoxObj *)it->dst->p, *b = (BoxObj *)it->b;
  Item next = {0};
  for (int k = payload->nslots; k-- > 0;) {
    Slot *dst = &a->fields[k], *src = &b->fields[k];
    if (payload->slots[k] == SLOT_FLOAT) dst->f += src->f;
    if (payload->slots[k] != SLOT_PTR || !src->p) continue;
    if (!dst->p) {
      dst->p = src->p;
    } else {
      if (next.b && push(w, next)) {
        rt_release(w->rt, next.b);
        return 1;
      }
      next = (Item){dst, payload->slot_descs[k], src->p};
    }
    src->p = NULL;
  }
  rt_open_box(w->rt, b);
  *it = next;
  return 0;
}

/* Adds it->b to what is at it->dst and takes it, except after a failure: then it->b is what is left. Boxes that
 * nobody else holds are added in place, one pointer of theirs being gone on with at once: sums of spines, which is
 * what walks over lists and trees make, cost a few instructions per box. */
static Status add_item(Adder *w, Item *it) {
  while (it->desc->kind == D_VARIANT && consumable(it->dst->p, it->b)) {
    const Desc *payload = it->desc->args[it->b->tag];
    if (rt_look(w->rt)) return 1;
    if (payload->link >= 0 && payload->slot_descs[payload->link] == it->desc) {
      if (add_chain(w->rt, payload, it)) return 0;
    } else {
      if (add_box(w, payload, it)) return 1;
      if (!it->b) return 0;
    }
  }
  Obj *a = it->dst->p, *sum;
  if (merge(w, it->desc, a, it->b, NULL, &sum)) return 1;
  it->dst->p = sum;
  if (sum != a) rt_release(w->rt, a);
  if (sum != it->b) rt_release(w->rt, it->b);
  return 0;
}

/* Works off the list. After a failure the rest is released. */
static Status finish(Adder *w, Status status) {
  while (w->len) {
    Item it = w->items[--w->len];
    if (status == 0 && rt_look(w->rt) == 0 && add_item(w, &it) == 0) continue;
    status = 1;
    rt_release(w->rt, it.b);
  }
  for (int64_t k = 0; k < w->nroots; k++) {
    Linked *r = &w->roots[k];
    if (status == 0 && !r->linked) rt_release(w->rt, r->p);
    if (status != 0 && r->linked) rt_retain(r->p);
  }
  heap_realloc(w->rt->heap, w->items, (size_t)w->cap * sizeof *w->items, 0);
  heap_realloc(w->rt->heap, w->roots, (size_t)w->roots_cap * sizeof *w->roots, 0);
  return status;
}

/* As add_value with move, but the pointers stay the caller's if anything fails later. */
static Status add_taken(Adder *w, const Desc *d, Slot *dst, const Slot *src) {
  for (int k = 0; k < d->nslots; k++) {
    if (d->slots[k] == SLOT_FLOAT) dst[k].f += src[k].f;
    if (d->slots[k] != SLOT_PTR || !src[k].p) continue;
    if (!rt_reserve(w->rt, &w->roots, &w->roots_cap, w->nroots + 1, sizeof *w->roots)) return 1;
    Obj *a = dst[k].p, *sum = src[k].p;
    if (a) {
      if (merge(w, d->slot_descs[k], a, src[k].p, NULL, &sum)) return 1;
      if (sum != a) rt_release(w->rt, a);
    }
    dst[k].p = sum;
    w->roots[w->nroots++] = (Linked){src[k].p, sum == src[k].p};
  }
  return 0;
}

/* ---- Logs and dense bags ----------------------------------------------------------------------------------------- */
static int64_t stride_of(const Desc *desc) { return 1 + desc->args[0]->nslots; }

static LogObj *new_log(Rt *rt, const Desc *desc, int64_t n, int64_t cap) {
  int64_t stride = stride_of(desc);
  LogObj *l = rt_block_new(rt, sizeof *l);
  if (!l) return NULL;
  size_t size = (size_t)(cap * stride) * sizeof(Slot);
  Slot *entries = heap_realloc(rt->heap, NULL, 0, size);
  if (!entries && size) {
    rt_block_free(rt, l, sizeof *l);
    rt_out_of_memory(rt);
    return NULL;
  }
  *l = (LogObj){.h = {.rc = 1, .tag = RT_LOG, .desc = desc}, .n = n, .cap = cap, .entries = entries};
  rt->live++;
  return l;
}

/* The next entry of a log, index set, slots zero; NULL after rt_error. */
static Slot *log_append(Rt *rt, LogObj *l, int64_t i) {
  int64_t stride = stride_of(l->h.desc);
  if (!rt_reserve(rt, &l->entries, &l->cap, l->len + 1, (size_t)stride * sizeof(Slot))) return NULL;
  Slot *e = l->entries + l->len++ * stride;
  e[0].i = i;
  memset(e + 1, 0, (size_t)(stride - 1) * sizeof(Slot));
  return e + 1;
}

/* The entries of another log of floats, renumbered from `offset`. */
static Status append_floats(Rt *rt, LogObj *l, const LogObj *more, int64_t offset) {
  if (!rt_reserve(rt, &l->entries, &l->cap, l->len + more->len, 2 * sizeof(Slot))) return 1;
  Slot *to = l->entries + 2 * l->len;
  for (int64_t k = 0; k < more->len; k++) {
    if (rt_look_at(rt, k)) return 1;
    to[2 * k].i = more->entries[2 * k].i + offset;
    to[2 * k + 1].f = 0 + more->entries[2 * k + 1].f;
  }
  l->len += more->len;
  return 0;
}

/* The entries of a log with indices in [from, from + count), renumbered from `to`, retained. */
static LogObj *copy_log(Rt *rt, const Desc *desc, const LogObj *l, int64_t from, int64_t count, int64_t to, int64_t n) {
  const Desc *elem = l->h.desc->args[0];
  LogObj *copy = new_log(rt, desc, n, l->len);
  if (!copy) return NULL;
  int64_t stride = stride_of(l->h.desc);
  for (int64_t k = 0; k < l->len; k++) {
    const Slot *e = l->entries + k * stride;
    if (rt_look_at(rt, k)) {
      rt_release(rt, &copy->h);
      return NULL;
    }
    if (e[0].i < from || e[0].i - from >= count) continue;
    Slot *c = copy->entries + copy->len++ * stride;
    memcpy(c, e, (size_t)stride * sizeof(Slot));
    c[0].i = e[0].i - from + to;
    rt_retain_slots(elem->slots, elem->nslots, c + 1);
  }
  return copy;
}

static Status add_log_to_dense(Adder *w, ArrayObj *a, LogObj *l, int64_t offset, bool move) {
  const Desc *elem = l->h.desc->args[0];
  int64_t stride = stride_of(l->h.desc);
  for (int64_t k = 0; k < l->len; k++) {
    Slot *e = l->entries + k * stride;
    if (elem->kind == D_FLOAT && k % RT_STRIDE) a->data[e[0].i + offset].f += e[1].f;
    else if (rt_look_at(w->rt, k) || add_value(w, elem, a->data + (e[0].i + offset) * elem->nslots, e + 1, move))
      return 1;
  }
  return 0;
}

static Status add_dense(Adder *w, const Desc *elem, Slot *dst, Slot *src, int64_t count, bool move) {
  int64_t slots = count * elem->nslots;
  if (elem->kind == D_FLOAT) {
    for (int64_t from = 0, to; from < slots; from = to) {
      if (rt_look(w->rt)) return 1;
      to = slots - from < RT_STRIDE ? slots : from + RT_STRIDE;
      for (int64_t k = from; k < to; k++) dst[k].f += src[k].f;
    }
    return 0;
  }
  for (int64_t k = 0; k < count; k++)
    if (rt_look_at(w->rt, k) || add_value(w, elem, dst + k * elem->nslots, src + k * elem->nslots, move)) return 1;
  return 0;
}

/* A dense array of the log's entries. The log stays, its pointers moved out if it is unshared. */
static ArrayObj *densify(Adder *w, const Desc *desc, LogObj *l, const int64_t *dims) {
  ArrayObj *a = rt_new_array(w->rt, desc, dims, true);
  if (!a) return NULL;
  if (add_log_to_dense(w, a, l, 0, rt_alone(&l->h))) {
    finish(w, 1);
    *w = (Adder){.rt = w->rt};
    rt_release(w->rt, &a->h);
    return NULL;
  }
  return a;
}

static void replace(Rt *rt, Obj **bag, Obj *by) {
  Obj *old = *bag;
  *bag = by;
  if (old != by) rt_release(rt, old);
}

/* Makes *bag a dense array that nobody else holds. */
static Status own_dense(Adder *w, const Desc *desc, Obj **bag, const int64_t *dims) {
  ArrayObj *a;
  if (!*bag) a = rt_new_array(w->rt, desc, dims, true);
  else if (is_log(*bag)) a = densify(w, desc, (LogObj *)*bag, dims);
  else {
    a = rt_unique(w->rt, (ArrayObj *)*bag);
    if (!a) return 1;
    *bag = &a->h;
    return 0;
  }
  if (!a) return 1;
  replace(w->rt, bag, &a->h);
  return 0;
}

static int64_t product(const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++) n *= dims[k];
  return n;
}

/* Zeros that cost no more than a log does. */
enum { SMALL_BAG = 64 };

/* Makes *bag fit for `more` entries in place: an unshared log, or an unshared dense array if the log would be too
 * long, or the array is small. */
/* Does a log of so many entries take more memory than a dense array of n elements? */
static bool is_long(const Desc *desc, int64_t entries, int64_t n) {
  return entries > n || entries * stride_of(desc) > n * desc->args[0]->nslots;
}

static Status own_for(Adder *w, const Desc *desc, Obj **bag, const int64_t *dims, int64_t more) {
  int64_t n = product(dims, desc->rank);
  LogObj *l = (LogObj *)*bag;
  bool small = !l && n * desc->args[0]->nslots <= SMALL_BAG;
  if (small || (l && !is_log(*bag))) return own_dense(w, desc, bag, dims);
  if (is_long(desc, (l ? l->len : 0) + more, n)) return own_dense(w, desc, bag, dims);
  if (!l) l = new_log(w->rt, desc, n, more < 4 ? 4 : more);
  else if (!rt_alone(&l->h)) l = copy_log(w->rt, desc, l, 0, n, 0, n);
  if (!l) return 1;
  replace(w->rt, bag, &l->h);
  return 0;
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */
/* Does a + b give the same digits as b + a? What holds bags of arrays doesn't: their entries of one index are added in
 * the order in which they come. */
static bool commutes(const Desc *d) {
  for (int k = 0; k < d->nslots; k++)
    if (d->slots[k] == SLOT_PTR) return false;
  return true;
}

static Status merge_boxes(Adder *w, const Desc *desc, BoxObj *a, BoxObj *b, Obj **out) {
  const Desc *payload = desc->args[a->h.tag];
  BoxObj *sum = a;
  if (!rt_alone(&a->h)) {
    if (rt_alone(&b->h) && commutes(payload)) { /* use the one that may be changed */
      BoxObj *t = a;
      a = b;
      b = t;
      sum = a;
    } else {
      sum = rt_new_box(w->rt, desc, a->h.tag);
      if (!sum) return 1;
      memcpy(sum->fields, a->fields, (size_t)payload->nslots * sizeof(Slot));
      rt_retain_slots(payload->slots, payload->nslots, sum->fields);
    }
  }
  *out = &sum->h;
  return add_value(w, payload, sum->fields, b->fields, rt_alone(&b->h));
}

static Status merge_envs(Adder *w, EnvObj *a, EnvObj *b, Obj **out) {
  RtFunc *fn = a->fn;
  EnvObj *sum = a;
  if (!rt_alone(&a->h)) {
    sum = rt_new_env(w->rt, fn);
    if (!sum) return 1;
    memcpy(sum->caps, a->caps, (size_t)fn->nacc * sizeof(Slot));
    rt_retain_slots(fn->acc_kinds, fn->nacc, sum->caps);
  }
  *out = &sum->h;
  bool move = rt_alone(&b->h);
  for (int k = 0; k < fn->nacc; k++) {
    if (fn->acc_kinds[k] == SLOT_FLOAT) sum->caps[k].f += b->caps[k].f;
    if (fn->acc_kinds[k] != SLOT_PTR) continue;
    if (add_value(w, fn->acc_descs[k], &sum->caps[k], &b->caps[k], move)) return 1;
  }
  return 0;
}

static Status merge_logs(Adder *w, const Desc *desc, LogObj *a, LogObj *b, const int64_t *dims, Obj **out) {
  if (b->len > a->len) {
    LogObj *t = a;
    a = b;
    b = t;
  }
  int64_t n = a->n, stride = stride_of(desc);
  if (desc->rank == 1 && !dims) dims = &n;
  const Desc *elem = desc->args[0];
  bool move = rt_alone(&b->h) && a != b;
  if (dims && is_long(desc, a->len + b->len, n)) {
    ArrayObj *sum = densify(w, desc, a, dims);
    if (!sum) return 1;
    *out = &sum->h;
    return add_log_to_dense(w, sum, b, 0, move);
  }
  LogObj *sum = a;
  if (!rt_alone(&a->h) && !(sum = copy_log(w->rt, desc, a, 0, n, 0, n))) return 1;
  *out = &sum->h;
  if (!rt_reserve(w->rt, &sum->entries, &sum->cap, sum->len + b->len, (size_t)stride * sizeof(Slot))) return 1;
  for (int64_t k = 0; k < b->len; k++) {
    Slot *e = b->entries + k * stride, *s = sum->entries + sum->len++ * stride;
    memcpy(s, e, (size_t)stride * sizeof(Slot));
    if (!move) rt_retain_slots(elem->slots, elem->nslots, s + 1);
  }
  if (move) {
    b->len = 0;
    rt_log_drop_table(w->rt, b);
  }
  return 0;
}

static Status merge_bags(Adder *w, const Desc *desc, Obj *a, Obj *b, const int64_t *dims, Obj **out) {
  if (is_log(a) && is_log(b)) return merge_logs(w, desc, (LogObj *)a, (LogObj *)b, dims, out);
  const ArrayObj *whole = (const ArrayObj *)(is_log(a) ? b : a);
  bool prefer_b = (!rt_alone(a) || whole->owner) && rt_alone(b) && commutes(desc->args[0]);
  if (is_log(a) || (!is_log(b) && prefer_b && !((ArrayObj *)b)->owner)) {
    Obj *t = a;
    a = b;
    b = t;
  }
  bool move = rt_alone(b) && (is_log(b) || !((ArrayObj *)b)->owner);
  Obj *target = a;
  if (!rt_alone(a) || ((ArrayObj *)a)->owner) {
    rt_retain(a); /* rt_unique takes a reference, but the operand stays the caller's */
    ArrayObj *copy = rt_unique(w->rt, (ArrayObj *)a);
    if (!copy) {
      rt_release(w->rt, a);
      return 1;
    }
    target = &copy->h;
  }
  ArrayObj *sum = (ArrayObj *)target;
  *out = target;
  if (is_log(b)) return add_log_to_dense(w, sum, (LogObj *)b, 0, move);
  int64_t n = rt_array_length(sum), m = rt_array_length((ArrayObj *)b);
  return add_dense(w, desc->args[0], sum->data, ((ArrayObj *)b)->data, n < m ? n : m, move);
}

/* *out = a + b at the top level; what is inside goes onto the list. Neither operand is released; pointers are moved
 * out of one that is unshared. *out may be a, b or a new object; after a failure there is nothing in it to free. */
static Status merge(Adder *w, const Desc *desc, Obj *a, Obj *b, const int64_t *dims, Obj **out) {
  *out = a;
  if (!rt_is_object(a) || !rt_is_object(b)) return 0; /* constructors without a payload */
  Status status = 0;
  switch (desc->kind) {
  case D_VARIANT:
    if (a->tag != b->tag)
      return rt_error(w->rt, ERR_SHAPE, 0, "different shapes: %s and %s", desc->names[rt_tag(a)],
                      desc->names[rt_tag(b)]);
    status = merge_boxes(w, desc, (BoxObj *)a, (BoxObj *)b, out);
    break;
  case D_ENV: status = merge_envs(w, (EnvObj *)a, (EnvObj *)b, out); break;
  case D_BAG:
  case D_ARRAY: status = merge_bags(w, desc, a, b, dims, out); break;
  case D_INT:
  case D_FLOAT:
  case D_BOOL:
  case D_STRING:
  case D_UNIT:
  case D_TUPLE:
  case D_FUN:
  case D_OPAQUE: break;
  }
  if (status && *out != a && *out != b) {
    /* Items on the list may point into it: they go first. */
    finish(w, 1);
    *w = (Adder){.rt = w->rt};
    rt_release(w->rt, *out);
  }
  return status;
}

Status rt_cadd(Rt *rt, const Desc *desc, Obj *a, Obj *b, const int64_t *dims, Obj **out) {
  if (!a || !b) {
    *out = a ? a : b;
    return 0;
  }
  Adder w = {.rt = rt};
  Obj *sum;
  if (merge(&w, desc, a, b, dims, &sum)) return finish(&w, 1);
  if (finish(&w, 0)) {
    if (sum != a && sum != b) rt_release(rt, sum);
    return 1;
  }
  if (sum != a) rt_release(rt, a);
  if (sum != b) rt_release(rt, b);
  *out = sum;
  return 0;
}

/* ---- The operations on bags -------------------------------------------------------------------------------------- */
Status rt_acc_at(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, const Slot *v) {
  const Desc *elem = desc->args[0];
  Obj *b = *bag;
  if (b && !is_log(b) && rt_alone(b) && elem->kind == D_FLOAT && !((ArrayObj *)b)->owner) {
    ((ArrayObj *)b)->data[i].f += v->f;
    return 0;
  }
  Adder w = {.rt = rt};
  if (own_for(&w, desc, bag, dims, 1)) return finish(&w, 1);
  Slot *dst;
  if (is_log(*bag)) dst = log_append(rt, (LogObj *)*bag, i);
  else dst = ((ArrayObj *)*bag)->data + i * elem->nslots;
  return finish(&w, dst ? add_taken(&w, elem, dst, v) : 1);
}

RtPair rt_acc_float(Rt *rt, const Desc *desc, Obj *bag, int64_t n, int64_t i, double v) {
  Slot value = {.f = v};
  Status status = rt_acc_at(rt, desc, &bag, &n, i, &value);
  return (RtPair){status, bag};
}

/* A dense bag of floats that is zero but for a part. */
static Obj *zeros_around(Rt *rt, const Desc *desc, const int64_t *dims, int64_t offset, int64_t count,
                         const Slot *part) {
  ArrayObj *a = rt_new_array(rt, desc, dims, false);
  if (!a) return NULL;
  int64_t end = offset + count, n = product(dims, desc->rank);
  if (offset) memset(a->data, 0, (size_t)offset * sizeof(Slot));
  for (int64_t from = 0, to; from < count; from = to) {
    to = count - from < RT_STRIDE ? count : from + RT_STRIDE;
    for (int64_t k = from; k < to; k++) a->data[offset + k].f = 0 + part[k].f;
    if (!rt_look(rt)) continue;
    rt_release(rt, &a->h);
    return NULL;
  }
  if (end < n) memset(a->data + end, 0, (size_t)(n - end) * sizeof(Slot));
  return &a->h;
}

Status rt_acc_sub(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count, Obj *sub) {
  if (!sub) return 0;
  const Desc *elem = desc->args[0];
  int64_t n = product(dims, desc->rank);
  if (!is_log(sub)) { /* a shift knows only a bound */
    int64_t have = product(((ArrayObj *)sub)->dims, sub->desc->rank);
    if (have < count) count = have;
  }
  if (!*bag && offset == 0 && count == n && !is_log(sub)) {
    *bag = sub;
    return 0;
  }
  if (!*bag && !is_log(sub) && elem->kind == D_FLOAT && count >= n / 4) {
    if (!(*bag = zeros_around(rt, desc, dims, offset, count, ((ArrayObj *)sub)->data))) return 1;
    rt_release(rt, sub);
    return 0;
  }
  Adder w = {.rt = rt};
  bool log = is_log(sub), move = rt_alone(sub) && (log || !((ArrayObj *)sub)->owner);
  int64_t more = log ? ((LogObj *)sub)->len : count;
  /* A log of a part that is large beside the whole costs more than the whole. */
  if (own_for(&w, desc, bag, dims, log || more < n / 4 ? more : n + 1)) return finish(&w, 1);
  Status status = 0;
  if (!is_log(*bag)) {
    ArrayObj *a = (ArrayObj *)*bag;
    if (log) status = add_log_to_dense(&w, a, (LogObj *)sub, offset, move);
    else status = add_dense(&w, elem, a->data + offset * elem->nslots, ((ArrayObj *)sub)->data, count, move);
  } else if (log && elem->kind == D_FLOAT) {
    status = append_floats(rt, (LogObj *)*bag, (LogObj *)sub, offset);
  } else {
    for (int64_t k = 0; k < more && !status && !(status = rt_look_at(rt, k)); k++) {
      Slot *e = log ? ((LogObj *)sub)->entries + k * stride_of(desc) : NULL;
      Slot *src = log ? e + 1 : ((ArrayObj *)sub)->data + k * elem->nslots;
      Slot *dst = log_append(rt, (LogObj *)*bag, offset + (log ? e[0].i : k));
      status = dst ? add_value(&w, elem, dst, src, move) : 1;
    }
  }
  status = finish(&w, status);
  if (status == 0) rt_release(rt, sub);
  return status;
}

Status rt_bag_get(Rt *rt, const Desc *desc, Obj *bag, int64_t i, Slot *out) {
  const Desc *elem = desc->args[0];
  memset(out, 0, (size_t)elem->nslots * sizeof(Slot));
  if (!bag) return 0;
  if (!is_log(bag)) {
    const Slot *e = ((const ArrayObj *)bag)->data + i * elem->nslots;
    memcpy(out, e, (size_t)elem->nslots * sizeof(Slot));
    rt_retain_slots(elem->slots, elem->nslots, out);
    return 0;
  }
  LogObj *l = (LogObj *)bag;
  if (rt_log_enter(rt, l)) {
    const Slot *e = rt_log_entry(l, i);
    if (e) memcpy(out, e, (size_t)elem->nslots * sizeof(Slot));
    return rt_look(rt);
  }
  Adder w = {.rt = rt};
  Status status = 0;
  for (int64_t k = 0; k < l->len && !status && !(status = rt_look_at(rt, k)); k++) {
    Slot *e = l->entries + k * stride_of(desc);
    if (e[0].i == i) status = add_value(&w, elem, out, e + 1, false);
  }
  status = finish(&w, status);
  if (status) rt_release_slots(rt, elem->slots, elem->nslots, out);
  return status;
}

/* A part of a log: found by its entries, or by what the part has, whichever are fewer. */
static LogObj *part_of_log(Rt *rt, const Desc *desc, LogObj *l, int64_t offset, int64_t count) {
  if (count >= l->len || !rt_log_enter(rt, l)) return copy_log(rt, desc, l, offset, count, 0, count);
  LogObj *part = new_log(rt, desc, count, 4);
  int64_t nslots = desc->args[0]->nslots;
  for (int64_t i = 0; part && i < count; i++) {
    const Slot *e = rt_log_entry(l, offset + i);
    Slot *to = e ? log_append(rt, part, i) : NULL;
    if (to) memcpy(to, e, (size_t)nslots * sizeof(Slot));
    if ((!e || to) && !rt_look_at(rt, i)) continue;
    rt_release(rt, &part->h);
    return NULL;
  }
  return part;
}

Status rt_bag_sub(Rt *rt, const Desc *sub_desc, Obj *bag, int64_t offset, int64_t count, const int64_t *sub_dims,
                  Obj **out) {
  Obj *part = NULL;
  if (bag && is_log(bag)) {
    LogObj *l = part_of_log(rt, sub_desc, (LogObj *)bag, offset, count);
    if (!l) return 1;
    part = &l->h;
    if (l->len == 0) {
      rt_release(rt, part);
      part = NULL;
    }
  } else if (bag) {
    ArrayObj *a = (ArrayObj *)bag;
    ArrayObj *v = rt_view(rt, sub_desc, a, offset * sub_desc->args[0]->nslots, sub_dims);
    if (!v) return 1;
    part = &v->h;
  }
  *out = part;
  return 0;
}

Status rt_bag_take(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, Slot *out) {
  const Desc *elem = desc->args[0];
  size_t size = (size_t)elem->nslots * sizeof(Slot);
  if (!*bag) {
    memset(out, 0, size);
    return 0;
  }
  Adder w = {.rt = rt};
  if (finish(&w, own_dense(&w, desc, bag, dims))) return 1;
  Slot *e = ((ArrayObj *)*bag)->data + i * elem->nslots;
  memcpy(out, e, size);
  memset(e, 0, size);
  return 0;
}

Status rt_bag_take_sub(Rt *rt, const Desc *sub_desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count,
                       const int64_t *sub_dims, Obj **out) {
  if (!*bag) {
    *out = NULL;
    return 0;
  }
  Adder w = {.rt = rt};
  if (finish(&w, own_dense(&w, (*bag)->desc, bag, dims))) return 1;
  ArrayObj *part = rt_new_array(rt, sub_desc, sub_dims, false);
  if (!part) return 1;
  int64_t nslots = sub_desc->args[0]->nslots;
  size_t size = (size_t)(count * nslots) * sizeof(Slot);
  Slot *from = ((ArrayObj *)*bag)->data + offset * nslots;
  if (size) {
    memcpy(part->data, from, size);
    memset(from, 0, size);
  }
  *out = &part->h;
  return 0;
}

static bool all_zero(const Slot *v, int n) {
  for (int k = 0; k < n; k++)
    if (v[k].i) return false;
  return true;
}

Status rt_bag_set(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, const Slot *v) {
  const Desc *elem = desc->args[0];
  if (!*bag && all_zero(v, elem->nslots)) return 0;
  Adder w = {.rt = rt};
  /* The first entry of a null bag needs no array yet. */
  if (finish(&w, *bag ? own_dense(&w, desc, bag, dims) : own_for(&w, desc, bag, dims, 1))) return 1;
  Slot *e = is_log(*bag) ? log_append(rt, (LogObj *)*bag, i) : ((ArrayObj *)*bag)->data + i * elem->nslots;
  if (!e) return 1;
  rt_release_slots(rt, elem->slots, elem->nslots, e);
  memcpy(e, v, (size_t)elem->nslots * sizeof(Slot));
  return 0;
}

Status rt_bag_set_sub(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count,
                      Obj *sub) {
  if (!*bag) return rt_acc_sub(rt, desc, bag, dims, offset, count, sub);
  const Desc *elem = desc->args[0];
  Adder w = {.rt = rt};
  if (finish(&w, own_dense(&w, desc, bag, dims))) return 1;
  Slot *to = ((ArrayObj *)*bag)->data + offset * elem->nslots;
  if (elem->nslots)
    for (int64_t k = 0; k < count; k++) {
      if (rt_look_at(rt, k)) return 1;
      Slot *e = to + k * elem->nslots;
      rt_release_slots(rt, elem->slots, elem->nslots, e);
      memset(e, 0, (size_t)elem->nslots * sizeof(Slot));
    }
  return rt_acc_sub(rt, desc, bag, dims, offset, count, sub);
}

Status rt_bag_fill(Rt *rt, const Desc *array, Obj *bag, const int64_t *dims, Obj **out) {
  Adder w = {.rt = rt};
  if (bag && !is_log(bag)) {
    const ArrayObj *a = (const ArrayObj *)bag;
    if (a->h.desc->rank == array->rank && memcmp(a->dims, dims, (size_t)array->rank * sizeof *dims) == 0) {
      *out = bag;
      return 0;
    }
    ArrayObj *v = rt_view(rt, array, (ArrayObj *)bag, 0, dims);
    if (!v) return 1;
    rt_release(rt, bag);
    *out = &v->h;
    return 0;
  }
  Obj *whole = bag;
  if (bag) rt_retain(bag);
  Status status = finish(&w, own_dense(&w, array, &whole, dims));
  if (status) rt_release(rt, whole);
  else {
    *out = whole;
    rt_release(rt, bag);
  }
  return status;
}
