/* SPDX-License-Identifier: MIT */
/* Arrays: one block holds the header, padded to a multiple of 64 bytes, and then the slots of all elements, so that
 * data is aligned to 64. A view has its own small header and refers to the block's owner, never to another view;
 * its elements belong to the owner.
 *
 * The slots of an array whose elements hold pointers are NULL from the start, over the whole capacity: release can
 * then visit all of them whatever the dimensions say, which matters while a stack grows. */
#include "runtime/runtime_internal.h"
#include <string.h>

int64_t rt_array_length(const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k];
  return n;
}

static size_t header_bytes(int rank) { return (sizeof(ArrayObj) + (size_t)rank * sizeof(int64_t) + 63) & ~(size_t)63; }

/* The array in this block, with room for `slots`, its dimensions not set. */
static inline ArrayObj *array_in(Rt *rt, void *block, const Desc *desc, size_t head, size_t bytes, int64_t slots) {
  ArrayObj *a = block;
  a->h = (Obj){.rc = 1, .desc = desc};
  a->data = (Slot *)(void *)((char *)a + head);
  a->owner = NULL;
  a->bytes = bytes;
  a->cap = slots;
  rt->live++;
  return a;
}

/* The same in a new block; NULL without an error, if there is none. */
static ArrayObj *new_block(Rt *rt, const Desc *desc, int64_t slots, bool zero) {
  size_t head = header_bytes(desc->rank);
  if ((uint64_t)slots > (SIZE_MAX / 2 - head) / sizeof(Slot)) return NULL;
  size_t bytes = (head + (size_t)slots * sizeof(Slot) + 63) & ~(size_t)63;
  void *block = rt_array_block_new(rt, bytes, zero || desc->pointers);
  return block ? array_in(rt, block, desc, head, bytes, slots) : NULL;
}

static __attribute__((noinline)) ArrayObj *too_large(Rt *rt, const Desc *desc, const int64_t *dims) {
  char text[200];
  int at = 0;
  for (int k = 0; k < desc->rank && at < 160; k++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", k ? " x " : "", (long long)dims[k]);
  rt_error(rt, ERR_MEMORY, 0, "out of memory for an array of %s elements", text);
  return NULL;
}

/* Bounds what an array may have: slots times the product of the dimensions that aren't 0. So no product of
 * dimensions of any array, view or part wraps, whichever of them are left out, and nothing that computes with them
 * has to look. */
static bool fits(const Desc *desc, const int64_t *dims) {
  int64_t slots = desc->args[0]->nslots ? desc->args[0]->nslots : 1;
  for (int k = 0; k < desc->rank; k++)
    if (dims[k] && (__builtin_mul_overflow(slots, dims[k], &slots) || slots > LIMIT_ELEMENTS)) return false;
  return true;
}

/* An array of any kind and size. */
static __attribute__((noinline)) ArrayObj *general_array(Rt *rt, const Desc *desc, const int64_t *dims, bool zero) {
  desc = rt_dense_desc(desc);
  int64_t slots = desc->args[0]->nslots;
  for (int k = 0; k < desc->rank; k++) {
    if (dims[k] < 0) {
      rt_error(rt, ERR_RANGE, 0, "an array can't have length %lld", (long long)dims[k]);
      return NULL;
    }
  }
  bool possible = fits(desc, dims);
  for (int k = 0; possible && k < desc->rank; k++) slots *= dims[k];
  ArrayObj *a = possible ? new_block(rt, desc, slots, zero) : NULL;
  if (!a) return too_large(rt, desc, dims);
  memcpy(a->dims, dims, (size_t)desc->rank * sizeof *dims);
  return a;
}

/* Most are short vectors, which a block that is kept takes: they call nothing. */
ArrayObj *rt_new_array(Rt *rt, const Desc *desc, const int64_t *dims, bool zero) {
  enum { HEAD = 64, MOST = (RT_LISTED_ARRAY - HEAD) / sizeof(Slot) };
  _Static_assert(sizeof(ArrayObj) + sizeof(int64_t) <= HEAD, "header_bytes(1)");
  bool vector = desc->kind == D_ARRAY && desc->rank == 1 && desc->args[0]->nslots == 1;
  if (!vector || (uint64_t)dims[0] > MOST) return general_array(rt, desc, dims, zero);
  size_t bytes = (HEAD + (size_t)dims[0] * sizeof(Slot) + 63) & ~(size_t)63;
  void *block = rt_recycled_array(rt, bytes);
  if (!block) return general_array(rt, desc, dims, zero);
  if (zero || desc->pointers) memset(block, 0, bytes);
  rt->arrays_made++;
  rt->array_bytes += (int64_t)bytes;
  ArrayObj *a = array_in(rt, block, desc, HEAD, bytes, dims[0]);
  a->dims[0] = dims[0];
  return a;
}

static __attribute__((noinline)) ArrayObj *zeroed_gift(ArrayObj *gift) {
  if (gift->dims[0]) memset(gift->data, 0, (size_t)gift->dims[0] * sizeof(Slot));
  return gift;
}

/* Inlined it would take more registers than the gift needs. */
static __attribute__((noinline)) ArrayObj *no_gift(Rt *rt, const Desc *desc, const int64_t *dims, bool zero) {
  return rt_new_array(rt, desc, dims, zero);
}

ArrayObj *rt_new_array_or_gift(Rt *rt, const Desc *desc, const int64_t *dims, bool zero) {
  ArrayObj *gift = rt->gift;
  if (!gift || desc != gift->h.desc || dims[0] != gift->dims[0]) return no_gift(rt, desc, dims, zero);
  rt->gift = NULL;
  return __builtin_expect(zero, 0) ? zeroed_gift(gift) : gift;
}

/* A block of up to twice the size does: arrays that get longer, or are of any length, find one mostly. */
static bool has_room(const ArrayObj *a, const Desc *desc, const int64_t *dims, int64_t *slots) {
  *slots = desc->args[0]->nslots;
  for (int k = 0; k < desc->rank; k++)
    if (dims[k] < 0) return false;
  if (!fits(desc, dims)) return false;
  for (int k = 0; k < desc->rank; k++) *slots *= dims[k];
  return *slots <= a->cap && *slots >= a->cap / 2;
}

ArrayObj *rt_renew(Rt *rt, const Desc *desc, ArrayObj *spare, const int64_t *dims, bool zero) {
  if (!spare) return rt_new_array(rt, desc, dims, zero);
  int64_t slots;
  if (!has_room(spare, desc, dims, &slots)) {
    rt_release(rt, &spare->h);
    return rt_new_array(rt, desc, dims, zero);
  }
  memcpy(spare->dims, dims, (size_t)desc->rank * sizeof *dims);
  rt->array_bytes += slots * (int64_t)sizeof(Slot);
  if (zero && slots) memset(spare->data, 0, (size_t)slots * sizeof(Slot));
  return spare;
}

Obj *rt_keep(Rt *rt, const Desc *desc, Obj *spare, Obj *a) {
  if (!spare && rt_is_object(a) && rt_alone(a) && a->desc == desc) {
    const ArrayObj *array = (const ArrayObj *)a;
    if (!array->owner && array->bytes <= RT_KEPT_SPARE) return a;
  }
  rt_release(rt, a);
  return spare;
}

ArrayObj *rt_view(Rt *rt, const Desc *desc, ArrayObj *a, int64_t slot_offset, const int64_t *dims) {
  desc = rt_dense_desc(desc);
  if (!fits(desc, dims)) return too_large(rt, desc, dims); /* a reshaped empty array may have any */
  size_t bytes = sizeof(ArrayObj) + (size_t)desc->rank * sizeof(int64_t);
  ArrayObj *v = rt_block_new(rt, bytes);
  if (!v) return NULL;
  v->h = (Obj){.rc = 1, .desc = desc};
  v->data = a->data + slot_offset;
  v->owner = a->owner ? a->owner : &a->h;
  v->bytes = bytes;
  v->cap = 0;
  memcpy(v->dims, dims, (size_t)desc->rank * sizeof *dims);
  rt_retain(v->owner);
  rt->live++;
  return v;
}

static __attribute__((noinline)) ArrayObj *copy_elements(Rt *rt, const ArrayObj *a) {
  const Desc *elem = a->h.desc->args[0];
  int64_t n = rt_array_length(a), slots = n * elem->nslots;
  ArrayObj *copy = new_block(rt, rt_dense_desc(a->h.desc), slots, false);
  if (!copy) return too_large(rt, a->h.desc, a->dims);
  memcpy(copy->dims, a->dims, (size_t)a->h.desc->rank * sizeof *a->dims);
  if (slots) memcpy(copy->data, a->data, (size_t)slots * sizeof(Slot));
  if (a->h.desc->pointers)
    for (int64_t i = 0; i < slots; i += elem->nslots) rt_retain_slots(elem->slots, elem->nslots, copy->data + i);
  return copy;
}

/* A small vector or matrix of numbers is copied in pieces of the block's alignment, with its header. Not so one
 * whose elements are elsewhere: a view's, or the host's. */
ArrayObj *rt_copy(Rt *rt, const ArrayObj *a) {
  enum { PIECE = 64, HEAD = PIECE };
  const char *from = (const char *)a;
  size_t bytes = a->bytes;
  bool small = !a->owner && bytes <= RT_SMALL_ARRAY && !a->h.desc->pointers && (const char *)a->data == from + HEAD;
  char *copy = small ? rt_recycled_array(rt, bytes) : NULL;
  if (!copy) return copy_elements(rt, a);
  for (size_t at = 0; at < bytes; at += PIECE) memcpy(copy + at, from + at, PIECE);
  ArrayObj *made = (ArrayObj *)(void *)copy;
  made->h.rc = 1;
  made->data = (Slot *)(void *)(copy + HEAD);
  rt->live++;
  return made;
}

ArrayObj *rt_unique(Rt *rt, ArrayObj *a) {
  if (rt_alone(&a->h) && !a->owner) return a;
  ArrayObj *copy = rt_copy(rt, a);
  if (copy) rt_release(rt, &a->h);
  return copy;
}

ArrayObj *rt_grow(Rt *rt, ArrayObj *a, int64_t i, int64_t row_slots) {
  int64_t need;
  if (__builtin_mul_overflow(i + 1, row_slots, &need)) need = INT64_MAX;
  if (need <= a->cap) return a;
  int64_t cap = need < INT64_MAX / 2 && 2 * a->cap > need ? 2 * a->cap : need < 8 ? 8 : need;
  ArrayObj *b = new_block(rt, a->h.desc, cap, false);
  if (!b) {
    rt_error(rt, ERR_MEMORY, 0, "out of memory for an array of %lld rows", (long long)i + 1);
    return NULL;
  }
  memcpy(b->dims, a->dims, (size_t)a->h.desc->rank * sizeof *a->dims);
  if (a->cap) memcpy(b->data, a->data, (size_t)a->cap * sizeof(Slot));
  /* The elements moved: the old block goes without them. */
  rt->live--;
  rt_array_block_free(rt, a, a->bytes);
  return b;
}

ArrayObj *rt_new_strings(Rt *rt, int64_t n) { return rt_new_array(rt, rt->desc_string_array, &n, true); }
