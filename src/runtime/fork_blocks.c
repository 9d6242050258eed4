/* SPDX-License-Identifier: MIT */
/* A loop in blocks of iterations that threads run at once. A closure runs the iterations from some index on:
 *
 *   fork_blocks 10 4 1 false f   →   f (0, 3)   f (3, 3)   f (6, 3)   f (9, 1)
 *                                  └────┬────┘           └────┬───┘
 *                                      join                 join           each of both a fork
 *                                        └────────┬──────────┘
 *                                               join
 *
 * What f yields is what a loop yields: accumulators, arrays with an element for each iteration, and the number of
 * iterations. Accumulators are numbers or arrays of numbers, which begin with zeros in each block and are added up in
 * the order of this tree, or numbers of which the greatest or least counts. The other arrays, whose elements hold no
 * objects, are put into those of all iterations as soon as the block ends. So a thread has no more than the
 * accumulators of the joins that are left on its way up, and what is made depends on the number of blocks alone. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
#include "support/joins.h"

typedef struct Blocks {
  Obj *closure;
  const Desc *type; /* of what the loop yields: a tuple of fields of one slot */
  int64_t trips, length;
  bool down; /* the first block is that of the highest indices */
  Join joins[JOINS];
  int naccs, nfields;
  Slot *partial;    /* nfields of each block; those of a range of blocks are its first one's */
  ArrayObj **whole; /* by field; NULL: not made yet */
} Blocks;

/* Blocks from `first` on. */
typedef struct Range {
  Arm arm;
  Blocks *b;
  int64_t first, count;
} Range;

static Slot *partial_of(const Blocks *b, int64_t block) { return b->partial + block * b->nfields; }

/* ---- Results ----------------------------------------------------------------------------------------------------- */
static int64_t elements_of(const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k];
  return n;
}

static ArrayObj *new_whole(Rt *rt, const Blocks *b, const ArrayObj *part) {
  int64_t dims[LIMIT_RANK];
  for (int k = 0; k < part->h.desc->rank; k++) dims[k] = k ? part->dims[k] : b->trips;
  return rt_new_array(rt, part->h.desc, dims, false);
}

/* The array of all iterations that `part` belongs to: made with the first of them. */
static ArrayObj *whole_of(Rt *rt, const Blocks *b, int field, const ArrayObj *part) {
  rt_lock_shared(rt);
  ArrayObj *a = b->whole[field];
  if (!a) a = b->whole[field] = new_whole(rt, b, part);
  rt_unlock_shared(rt);
  return a;
}

/* Takes the array of a block's iterations, `from` on. */
static Status put(Rt *rt, const Blocks *b, int field, int64_t from, Slot *result) {
  ArrayObj *part = slot_array(result), *whole = whole_of(rt, b, field, part);
  if (!whole) return 1;
  int64_t row = whole->h.desc->args[0]->nslots;
  for (int k = 1; k < whole->h.desc->rank; k++) row *= whole->dims[k];
  memcpy(whole->data + from * row, part->data, (size_t)(part->dims[0] * row) * sizeof(Slot));
  rt_release(rt, &part->h);
  result->p = NULL;
  return 0;
}

static void drop(Rt *rt, const Blocks *b, Slot *results) { rt_release_slots(rt, b->type->slots, b->nfields, results); }

static Status add_arrays(Rt *rt, Slot *to, const Slot *from) {
  ArrayObj *sum = rt_unique(rt, slot_array(to));
  to->p = sum ? &sum->h : NULL;
  if (!sum) return 1;
  const ArrayObj *more = (const ArrayObj *)(const void *)from->p;
  double *x = &sum->data->f;
  const double *y = &more->data->f;
  int64_t n = elements_of(sum);
  for (int64_t i = 0; i < n; i++) x[i] += y[i];
  return 0;
}

static void join_floats(Join join, double *to, double from) {
  *to = join == JOIN_SUM ? *to + from : join == JOIN_MAX ? rt_fmax(*to, from) : rt_fmin(*to, from);
}

static void join_ints(Join join, int64_t *to, int64_t from) {
  if (join == JOIN_SUM) *to = (int64_t)((uint64_t)*to + (uint64_t)from);
  else if (join == JOIN_MAX ? from > *to : from < *to) *to = from;
}

/* Puts the results of a later block to those of an earlier one, both of which it takes. */
static Status put_together(Rt *rt, const Blocks *b, Slot *to, Slot *from) {
  Status failed = 0;
  for (int k = 0; k < b->naccs && !failed; k++) {
    if (b->type->slots[k] == SLOT_PTR) failed = add_arrays(rt, &to[k], &from[k]);
    else if (b->type->slots[k] == SLOT_FLOAT) join_floats(b->joins[k], &to[k].f, from[k].f);
    else join_ints(b->joins[k], &to[k].i, from[k].i);
  }
  to[b->nfields - 1].i += from[b->nfields - 1].i;
  drop(rt, b, from);
  if (failed) drop(rt, b, to);
  return failed;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
static Status run_block(Rt *rt, const Blocks *b, int64_t block) {
  int64_t before = block * b->length, left = b->trips - before;
  int64_t count = left < b->length ? left : b->length, from = b->down ? left - count : before;
  const Slot args[] = {{.i = from}, {.i = count}};
  Slot *results = partial_of(b, block);
  if (rt_apply(rt, b->closure, args, 2, results)) return 1;
  for (int k = b->naccs; k < b->nfields - 1; k++)
    if (put(rt, b, k, from, &results[k])) {
      drop(rt, b, results);
      return 1;
    }
  return 0;
}

static Status run_range(Rt *rt, const Arm *arm) {
  const Range *r = (const Range *)(const void *)arm;
  if (r->count == 1) return run_block(rt, r->b, r->first);
  Range half[2] = {*r, *r};
  half[0].count = r->count / 2;
  half[1].first += half[0].count;
  half[1].count -= half[0].count;
  half[1].arm.results = partial_of(r->b, half[1].first);
  if (rt_fork(rt, (const Arm *const[]){&half[0].arm, &half[1].arm})) return 1;
  return put_together(rt, r->b, half[0].arm.results, half[1].arm.results);
}

static Status run_all(Rt *rt, Blocks *b, Slot *res) {
  const Range all = {{run_range, b->closure, b->type, b->partial}, b, 0, (b->trips - 1) / b->length + 1};
  if (run_range(rt, &all.arm)) {
    for (int k = 0; k < b->nfields; k++)
      if (b->whole[k]) rt_release(rt, &b->whole[k]->h);
    return 1;
  }
  for (int k = 0; k < b->nfields; k++) {
    res[k] = b->partial[k];
    if (b->whole[k]) res[k].p = &b->whole[k]->h;
  }
  return 0;
}

/* A power of two: so digits don't change with the last operation that is counted as work, and halves are halves. */
static int64_t number_of_blocks(int64_t trips, int64_t wanted) {
  int64_t n = 1;
  while (n <= wanted / 2 && n <= trips / 2) n *= 2;
  return n;
}

/* type: of what the loop yields. */
PRIM(prim_fork_blocks) {
  PRIM_UNUSED;
  int64_t trips = args[0].i, blocks = number_of_blocks(trips, args[1].i);
  if (blocks < 2) return rt_apply(rt, args[4].p, (const Slot[]){{.i = 0}, {.i = trips}}, 2, res);
  Blocks b = {.closure = args[4].p, .type = type, .trips = trips, .down = args[3].i != 0};
  for (int64_t rest = args[2].i; rest; rest >>= JOIN_BITS) b.joins[b.naccs++] = (Join)(rest & ((1 << JOIN_BITS) - 1));
  b.nfields = type->nslots;
  b.length = (trips - 1) / blocks + 1;
  size_t slots = (size_t)(blocks + 1) * (size_t)b.nfields * sizeof(Slot);
  b.partial = heap_realloc(rt->heap, NULL, 0, slots);
  if (!b.partial) return rt_out_of_memory(rt);
  memset(b.partial, 0, slots);
  b.whole = (ArrayObj **)(void *)(b.partial + blocks * b.nfields);
  Status status = run_all(rt, &b, res);
  heap_realloc(rt->heap, b.partial, slots, 0);
  return status;
}
