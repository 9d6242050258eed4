/* SPDX-License-Identifier: MIT */
/* Lowering of arrays and bags.
 *
 * An array of rank r is one block of base elements in row-major order. A position in it is counted in base elements
 * ("flat"), a register or -1 for 0; LOAD and STORE multiply by the slots of a base element. A part of an array that is
 * only read is no object: it is a virtual register (array_part). An update stores in place when the
 * array is known to be fresh and this is its last use, and else after UNIQUE, which copies if it must.
 *
 * Bags live in the runtime; their instructions get the dimensions of the whole and a flat position. */
#include "lower/lower_internal.h"
#include <string.h>

static World *world(Frame *fr) { return fr->fn->m->w; }
static const Layout *base_layout(Fn *fn, IrType *t) { return lower_layout(fn->m->w, ir_base(t)); }

static int new_reg(Frame *fr, const Node *x) { return fn_reg(fr->fn, lower_layout(world(fr), x->type)->kinds[0]); }
static Row one(Fn *fn, int reg) { return (Row){fn_copy(fn, &reg, 1), 1}; }

/* An instruction over an array or bag of type t with these dimensions; valid until the next one. */
static LInstr *emit_sized(Fn *fn, LOp op, int dst, int a, int b, int c, IrType *t, const int *dims, int rank) {
  int64_t desc = lower_desc_index(fn->m, t);
  fn_emit(fn, op, dst, a, b, c)->imm.i = desc;
  fn_args(fn, dims, rank);
  return &fn->code.data[fn->code.len - 1];
}

/* ---- Positions ---- */
int array_row_size(Fn *fn, int array, int from, int rank) {
  int n = -1;
  for (int k = from; k < rank; k++) n = fn_mul(fn, n, fn_dim(fn, array, k));
  return n;
}

/* Flat position of a[is…] for n <= rank indices. */
static int flat_index(Frame *fr, int array, Node **is, int n, int rank) {
  int at = frame_reg(fr, is[0]);
  for (int k = 1; k < rank; k++) {
    at = fn_mul(fr->fn, at, fn_dim(fr->fn, array, k));
    if (k < n) at = fn_add(fr->fn, at, frame_reg(fr, is[k]));
  }
  return at;
}

/* The data of `array` and, in *flat, the position there of its own position *flat. */
static int locate(Fn *fn, int array, int *flat) {
  *flat = fn_add(fn, *flat, fn->info.data[array].base >= 0 ? fn->info.data[array].offset : -1);
  return fn_data(fn, array);
}

int *array_load(Fn *fn, int array, int flat, const Layout *base) {
  int data = locate(fn, array, &flat), *row = fn_regs(fn, base);
  for (int s = 0; s < base->n; s++) fn_emit(fn, LOP_LOAD, row[s], data, flat, s)->imm.i = base->n;
  return row;
}

void array_store(Fn *fn, int data, int flat, const int *row, const Layout *base) {
  for (int s = 0; s < base->n; s++) fn_emit(fn, LOP_STORE, row[s], data, flat, s)->imm.i = base->n;
}

/* As array_store into elements that hold values already, but for the slots that keep theirs: sub 1 makes LOAD take the
 * reference over. */
static void array_replace(Fn *fn, int data, int flat, const int *row, const Layout *base, const bool *kept) {
  for (int s = 0; s < base->n; s++) {
    if (base->kinds[s] != R_PTR || (kept && kept[s])) continue;
    LInstr *in = fn_emit(fn, LOP_LOAD, fn_reg(fn, R_PTR), data, flat, s);
    in->imm.i = base->n;
    in->sub = 1;
  }
  for (int s = 0; s < base->n; s++)
    if (!kept || !kept[s]) fn_emit(fn, LOP_STORE, row[s], data, flat, s)->imm.i = base->n;
}

/* A copying loop: for i < count. It looks for interrupts between chunks of iterations. */
typedef struct Count {
  int i, count, limit;
  int chunk, head, end;
} Count;
enum { COPY_TURNS = 1 << 16 };

static Count open_count(Fn *fn, int count) {
  Count c = {fn_reg(fn, R_INT), count, fn_reg(fn, R_INT), fn_label(fn), fn_label(fn), fn_label(fn)};
  fn_emit(fn, LOP_INT, c.i, -1, -1, -1)->imm.i = 0;
  fn->loop_depth++;
  fn_place(fn, c.chunk);
  int far = fn_scalar(fn, OP_IADD, c.i, fn_int(fn, COPY_TURNS));
  fn_emit(fn, LOP_SCALAR, c.limit, far, count, -1)->sub = OP_IMIN;
  fn_place(fn, c.head);
  fn_emit(fn, LOP_LOOP_HEAD, -1, -1, 1, -1);
  fn_branch(fn, fn_scalar(fn, OP_ILT, c.i, c.limit), c.end);
  return c;
}

static void close_count(Fn *fn, const Count *c) {
  int done = fn_label(fn);
  fn_emit(fn, LOP_SCALAR, c->i, c->i, fn_int(fn, 1), -1)->sub = OP_IADD;
  fn_jump(fn, c->head);
  fn_place(fn, c->end);
  fn_branch(fn, fn_scalar(fn, OP_ILT, c->i, c->count), done);
  fn_emit(fn, LOP_POLL, -1, -1, -1, -1);
  fn_jump(fn, c->chunk);
  fn_place(fn, done);
  fn->loop_depth--;
}

static void copy_elements(Fn *fn, int dst_data, int dst_at, int src_data, int src_at, int count, const Layout *base,
                          bool replace) {
  if (count < 0) count = fn_int(fn, 1);
  Count c = open_count(fn, count);
  int *row = fn_regs(fn, base), from = fn_add(fn, src_at, c.i), to = fn_add(fn, dst_at, c.i);
  for (int s = 0; s < base->n; s++) fn_emit(fn, LOP_LOAD, row[s], src_data, from, s)->imm.i = base->n;
  if (replace) array_replace(fn, dst_data, to, row, base, NULL);
  else array_store(fn, dst_data, to, row, base);
  close_count(fn, &c);
}

void array_copy(Fn *fn, int dst_data, int dst_at, int src_data, int src_at, int count, const Layout *base) {
  copy_elements(fn, dst_data, dst_at, src_data, src_at, count, base, false);
}

/* ---- Parts ---- */
static int virtual_part(Fn *fn, int array, int offset, int skip, int first) {
  RegInfo whole = fn->info.data[array];
  int r = fn_reg(fn, R_INT);
  RegInfo *part = &fn->info.data[r];
  *part = (RegInfo){.data = -1, .base = array, .offset = offset, .skip = skip, .first = first};
  if (whole.base < 0) return r;
  part->base = whole.base;
  part->skip = whole.skip + skip;
  if (skip == 0 && first < 0) part->first = whole.first;
  int sum = fn_add(fn, whole.offset, offset);
  fn->info.data[r].offset = sum;
  return r;
}

int array_part(Fn *fn, IrType *t, bool is_virtual, int array, int offset, int skip, int first) {
  if (is_virtual) return virtual_part(fn, array, offset, skip, first);
  int rank = ir_rank(t), *dims = NEW_ARRAY(fn->m->arena, int, rank);
  for (int k = 0; k < rank; k++) dims[k] = k == 0 && first >= 0 ? first : fn_dim(fn, array, skip + k);
  int slots = base_layout(fn, t)->n;
  if (offset < 0) offset = fn_int(fn, 0);
  else if (slots != 1) offset = fn_scalar(fn, OP_IMUL, offset, fn_int(fn, slots));
  int r = fn_reg(fn, R_PTR);
  emit_sized(fn, LOP_VIEW, r, array, offset, -1, t, dims, rank);
  return r;
}

static bool stays_virtual(Frame *fr, const Node *x) { return sched_readonly(fr->fn->m, fr->s, x, 0); }

static Row make_part(Frame *fr, const Node *x, int array, int offset, int skip, int first) {
  Fn *fn = fr->fn;
  bool fresh = fn->info.data[array].fresh;
  int part = array_part(fn, x->type, stays_virtual(fr, x), array, offset, skip, first);
  if (!fr->s->copied[fr->pos]) return one(fn, part);
  int copy = fn_reg(fn, R_PTR);
  fn_emit(fn, LOP_COPY, copy, part, -1, -1);
  fn->info.data[array].fresh = fresh; /* the view is gone */
  return one(fn, copy);
}

Row lower_index(Frame *fr, Node *x) {
  Node *a = x->ops[0];
  int array = frame_reg(fr, a), rank = ir_rank(a->type), n = x->nops - 1;
  int flat = flat_index(fr, array, x->ops + 1, n, rank);
  if (n < rank) return make_part(fr, x, array, flat, n, -1);
  const Layout *base = base_layout(fr->fn, a->type);
  return (Row){array_load(fr->fn, array, flat, base), base->n};
}

Row lower_slice(Frame *fr, Node *x) {
  int array = frame_reg(fr, x->ops[0]), rank = ir_rank(x->type);
  int offset = fn_mul(fr->fn, frame_reg(fr, x->ops[1]), array_row_size(fr->fn, array, 1, rank));
  return make_part(fr, x, array, offset, 0, frame_reg(fr, x->ops[2]));
}

Row lower_reshape(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int array = frame_reg(fr, x->ops[0]), rank = ir_rank(x->type), count = -1;
  int *dims = NEW_ARRAY(fn->m->arena, int, rank);
  for (int k = 0; k < rank; k++) {
    dims[k] = frame_reg(fr, x->ops[1 + k]);
    count = fn_mul(fn, count, dims[k]);
  }
  int have = array_row_size(fn, array, 0, ir_rank(x->ops[0]->type));
  fn_emit(fn, LOP_CHECK_SIZE, -1, have, count, -1)->site = x->site;
  int zero = fn_int(fn, 0), r = fn_reg(fn, R_PTR);
  emit_sized(fn, LOP_VIEW, r, array, zero, -1, x->type, dims, rank)->site = x->site;
  return one(fn, r);
}

/* ---- Making and updating ---- */
static int new_array(Frame *fr, const Node *x, const int *dims, bool zero) {
  int r = fn_reg(fr->fn, R_PTR);
  emit_sized(fr->fn, LOP_NEW_ARRAY, r, -1, zero, -1, x->type, dims, ir_rank(x->type))->site = x->site;
  return r;
}

/* A literal of rows: they must agree in their dimensions. */
static void store_rows(Frame *fr, Node *x, int array, int row_size) {
  Fn *fn = fr->fn;
  int rank = ir_rank(x->type), data = fn_data(fn, array), first = frame_reg(fr, x->ops[0]);
  for (int i = 0; i < x->nops; i++) {
    int row = frame_reg(fr, x->ops[i]), from = -1;
    for (int k = 0; i && k < rank - 1; k++)
      fn_emit(fn, LOP_CHECK_ROW, -1, fn_dim(fn, first, k), fn_dim(fn, row, k), -1)->site = x->site;
    int src = locate(fn, row, &from);
    int at = fn_mul(fn, fn_int(fn, i), row_size);
    array_copy(fn, data, at, src, from, row_size, base_layout(fn, x->type));
  }
}

/* A literal that is a row of what an enclosing loop stacks. If it has rows itself, they have been written. */
static Row literal_row(Frame *fr, const Node *x, const Dest *d) {
  Fn *fn = fr->fn;
  for (int i = 0; x->type->args[0]->kind != T_ARRAY && i < x->nops; i++) {
    int at = i ? fn_add(fn, d->at, fn_int(fn, i)) : d->at;
    array_store(fn, d->data, at, frame_row(fr, x->ops[i]).r, base_layout(fn, x->type));
  }
  return one(fn, fn_reg(fn, R_PTR)); /* nobody reads it */
}

Row lower_array(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  const Dest *dest = frame_dest(fr, x, 0);
  if (dest) return literal_row(fr, x, dest);
  int rank = ir_rank(x->type), *dims = NEW_ARRAY(fn->m->arena, int, rank);
  dims[0] = fn_int(fn, x->nops);
  for (int k = 1; k < rank; k++) dims[k] = x->nops ? fn_dim(fn, frame_reg(fr, x->ops[0]), k - 1) : dims[0];
  int array = new_array(fr, x, dims, rank > 1);
  if (rank > 1 && x->nops) {
    store_rows(fr, x, array, array_row_size(fn, array, 1, rank));
  } else if (x->nops) {
    int data = fn_data(fn, array);
    for (int i = 0; i < x->nops; i++) {
      int at = i ? fn_int(fn, i) : -1;
      array_store(fn, data, at, frame_row(fr, x->ops[i]).r, base_layout(fn, x->type));
    }
  }
  return one(fn, array);
}

Row lower_zeros(Frame *fr, Node *x) {
  int rank = ir_rank(x->type), *dims = NEW_ARRAY(fr->fn->m->arena, int, rank);
  for (int k = 0; k < rank; k++) dims[k] = frame_reg(fr, x->ops[k]);
  return one(fr->fn, new_array(fr, x, dims, true));
}

/* UNIQUE never redefines a register in place: what is remembered of the old array stays true of the old one. */
static int own_array(Frame *fr, const Node *a) {
  int reg = frame_reg(fr, a);
  if (fr->fn->info.data[reg].fresh && frame_can_take(fr, a, reg)) return reg;
  int r = fn_reg(fr->fn, R_PTR);
  fn_emit(fr->fn, LOP_UNIQUE, r, reg, -1, -1);
  return r;
}

/* Components of tuples, outermost first. */
typedef struct Path {
  const struct Path *up;
  int k;
} Path;

/* Is v the component at this path of the element that update x writes? */
static bool is_old_component(const Node *v, const Path *path, const Node *x) {
  for (; path->up; path = path->up, v = v->ops[0])
    if (v->op != OP_GET || v->attr.i != path->k) return false;
  return v->op == OP_INDEX && v->nops == x->nops - 1 && memcmp(v->ops, x->ops, (size_t)v->nops * sizeof *v->ops) == 0;
}

/* Which slots of the element keep their value: `a[i].x <- v` stores x alone. */
static void find_kept(Fn *fn, const Node *v, const Path *path, const Node *x, bool *kept) {
  if (v->op == OP_TUPLE) {
    for (int k = 0; k < v->nops; k++)
      find_kept(fn, v->ops[k], &(Path){path, k}, x, kept + lower_offset(fn->m->w, v->type, k));
    return;
  }
  bool old = is_old_component(v, path, x);
  for (int s = 0; s < lower_slots(fn->m->w, v->type); s++) kept[s] = old;
}

/* Is v written where an element was taken from (take b is).0? */
static bool is_put_back(const Node *x) {
  const Node *a = x->ops[0], *t = a->op == OP_GET ? a->ops[0] : NULL;
  if (!t || t->op != OP_TAKE || t->nops != x->nops - 1) return false;
  return memcmp(t->ops + 1, x->ops + 1, (size_t)(t->nops - 1) * sizeof *t->ops) == 0;
}

Row lower_update(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Node *a = x->ops[0], *v = x->ops[x->nops - 1];
  const Layout *base = base_layout(fn, x->type);
  int n = x->nops - 2, rank = ir_rank(x->type), array = own_array(fr, a);
  int flat = flat_index(fr, array, x->ops + 1, n, rank);
  int data = fn_data(fn, array);
  if (n == rank && is_put_back(x)) {
    array_store(fn, data, flat, frame_row(fr, v).r, base);
    return one(fn, array);
  }
  if (n == rank) {
    bool *kept = NEW_ARRAY(fn->m->arena, bool, base->n + 1);
    find_kept(fn, v, &(Path){NULL, 0}, x, kept);
    array_replace(fn, data, flat, frame_row(fr, v).r, base, kept);
    return one(fn, array);
  }
  int row = frame_reg(fr, v), from = -1;
  for (int k = n; k < rank; k++)
    fn_emit(fn, LOP_CHECK_ROW, -1, fn_dim(fn, array, k), fn_dim(fn, row, k - n), -1)->site = x->site;
  int src = locate(fn, row, &from);
  copy_elements(fn, data, flat, src, from, array_row_size(fn, array, n, rank), base, true);
  return one(fn, array);
}

/* ---- Bags ---- */
typedef struct BagAt {
  int rank, n; /* of the whole; indices given */
  int *dims;
  int flat, count; /* position of the first base element, how many; count -1: one */
} BagAt;

/* Operands from `first` on: the dimensions of the whole, then n indices. */
static BagAt bag_at(Frame *fr, Node *x, int first, int rank, int n) {
  BagAt b = {rank, n, NEW_ARRAY(fr->fn->m->arena, int, 2 * rank + 1), -1, -1};
  for (int k = 0; k < rank; k++) b.dims[k] = frame_reg(fr, x->ops[first + k]);
  for (int k = 0; k < n; k++) {
    if (k) b.flat = fn_mul(fr->fn, b.flat, b.dims[k]);
    int i = frame_reg(fr, x->ops[first + rank + k]);
    b.flat = k ? fn_add(fr->fn, b.flat, i) : i;
  }
  for (int k = n; k < rank; k++) {
    b.flat = fn_mul(fr->fn, b.flat, b.dims[k]);
    b.count = fn_mul(fr->fn, b.count, b.dims[k]);
  }
  return b;
}

static int count_reg(Fn *fn, int count) { return count < 0 ? fn_int(fn, 1) : count; }

/* ACC_AT and CUPDATE: bag, dims…, i…, v. */
Row lower_bag_put(Frame *fr, Node *x, LOp at, LOp sub) {
  Fn *fn = fr->fn;
  int rank = ir_rank(x->type), n = x->nops - 2 - rank;
  BagAt b = bag_at(fr, x, 1, rank, n);
  Row v = frame_row(fr, x->ops[x->nops - 1]);
  bool part = n < rank;
  int count = part ? count_reg(fn, b.count) : -1, bag = frame_take(fr, x->ops[0]);
  emit_sized(fn, part ? sub : at, bag, b.flat, count, part ? v.r[0] : -1, x->type, b.dims, rank);
  if (!part) fn_results(fn, v.r, v.n);
  return one(fn, bag);
}

Row lower_bag_get(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Node *bag = x->ops[0];
  int rank = ir_rank(bag->type), n = x->nops - 1 - rank;
  BagAt b = bag_at(fr, x, 1, rank, n);
  const Layout *l = lower_layout(world(fr), x->type);
  int *row = fn_regs(fn, l);
  if (n == rank) {
    emit_sized(fn, LOP_BAG_GET, -1, b.flat, frame_reg(fr, bag), -1, bag->type, b.dims, rank);
    fn_results(fn, row, l->n);
  } else {
    int count = count_reg(fn, b.count);
    emit_sized(fn, LOP_BAG_SUB, row[0], b.flat, count, frame_reg(fr, bag), x->type, b.dims + n, rank - n);
  }
  return (Row){row, l->n};
}

static Row take_entry(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Node *whole = x->ops[0];
  IrType *entry = x->type->args[1];
  int rank = ir_rank(whole->type), n = x->nops - 1 - rank;
  BagAt b = bag_at(fr, x, 1, rank, n);
  int64_t desc = lower_desc_index(fn->m, whole->type);
  int count = n < rank ? count_reg(fn, b.count) : -1, bag = frame_take(fr, whole);
  const Layout *l = lower_layout(world(fr), entry);
  int *res = fn_regs(fn, l), *row = NEW_ARRAY(fn->m->arena, int, l->n + 1);
  for (int k = n; n < rank && k < rank; k++) b.dims[rank + k - n] = b.dims[k];
  if (n == rank) {
    fn_emit(fn, LOP_BAG_TAKE, bag, b.flat, -1, -1)->imm.i = desc;
  } else {
    int64_t part = lower_desc_index(fn->m, entry);
    LInstr *in = fn_emit(fn, LOP_BAG_TAKE_SUB, bag, b.flat, count, -1);
    in->imm.i = part;
    in->sub = (uint32_t)desc;
  }
  fn_results(fn, res, l->n);
  fn_args(fn, b.dims, n == rank ? rank : 2 * rank - n);
  row[0] = bag;
  for (int i = 0; i < l->n; i++) row[1 + i] = res[i];
  return (Row){row, l->n + 1};
}

/* An array without one element, and that element: what is counted is taken out of it, and null is left there. */
static Row take_element(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  Node *a = x->ops[0];
  const Layout *base = base_layout(fn, a->type);
  int array = own_array(fr, a), flat = flat_index(fr, array, x->ops + 1, x->nops - 1, ir_rank(a->type));
  int data = fn_data(fn, array), *row = NEW_ARRAY(fn->m->arena, int, base->n + 1);
  row[0] = array;
  for (int s = 0; s < base->n; s++) {
    LInstr *in = fn_emit(fn, LOP_LOAD, row[1 + s] = fn_reg(fn, base->kinds[s]), data, flat, s);
    in->imm.i = base->n;
    in->sub = base->kinds[s] == R_PTR;
  }
  for (int s = 0; s < base->n; s++) {
    if (base->kinds[s] != R_PTR) continue;
    int null = fn_reg(fn, R_PTR);
    fn_emit(fn, LOP_NULLPTR, null, -1, -1, -1);
    fn_emit(fn, LOP_STORE, null, data, flat, s)->imm.i = base->n;
  }
  return (Row){row, base->n + 1};
}

Row lower_bag_slice(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int rank = ir_rank(x->type);
  BagAt b = bag_at(fr, x, 1, rank, 0);
  int row_size = -1;
  for (int k = 1; k < rank; k++) row_size = fn_mul(fn, row_size, b.dims[k]);
  int lo = fn_mul(fn, frame_reg(fr, x->ops[1 + rank]), row_size);
  b.dims[0] = frame_reg(fr, x->ops[2 + rank]);
  int count = fn_mul(fn, b.dims[0], row_size), r = new_reg(fr, x);
  emit_sized(fn, LOP_BAG_SUB, r, lo, count, frame_reg(fr, x->ops[0]), x->type, b.dims, rank);
  return one(fn, r);
}

/* A null bag to which the part is added. */
Row lower_shift(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int rank = ir_rank(x->type), row_size = -1;
  BagAt b = bag_at(fr, x, 1, rank, 0);
  for (int k = 1; k < rank; k++) row_size = fn_mul(fn, row_size, b.dims[k]);
  int lo = frame_reg(fr, x->ops[1 + rank]), offset = fn_mul(fn, lo, row_size);
  int count = fn_mul(fn, frame_reg(fr, x->ops[2 + rank]), row_size), r = new_reg(fr, x);
  fn_emit(fn, LOP_NULLPTR, r, -1, -1, -1);
  emit_sized(fn, LOP_ACC_SUB, r, offset, count, frame_reg(fr, x->ops[0]), x->type, b.dims, rank);
  return one(fn, r);
}

Row lower_fill(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int rank = ir_rank(x->type), r = new_reg(fr, x), *dims = NEW_ARRAY(fn->m->arena, int, rank);
  for (int k = 0; k < rank; k++) dims[k] = frame_reg(fr, x->ops[1 + k]);
  emit_sized(fn, LOP_BAG_FILL, r, frame_reg(fr, x->ops[0]), -1, -1, x->type, dims, rank);
  return one(fn, r);
}

/* Bag, old dimensions…, new dimensions…: all its elements as a bag of the new ones. */
Row lower_bag_reshape(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int old = (int)x->attr.i, rank = x->nops - 1 - old, count = -1;
  int *dims = NEW_ARRAY(fn->m->arena, int, rank);
  for (int k = 0; k < rank; k++) {
    dims[k] = frame_reg(fr, x->ops[1 + old + k]);
    count = fn_mul(fn, count, dims[k]);
  }
  int zero = fn_int(fn, 0), r = new_reg(fr, x);
  emit_sized(fn, LOP_BAG_SUB, r, zero, count, frame_reg(fr, x->ops[0]), x->type, dims, rank);
  return one(fn, r);
}

/* Sum of two accumulators, slot by slot. Integers and the like carry nothing. */
static void add_accumulators(Fn *fn, IrType *t, const int *a, const int *b, int *out) {
  switch (t->kind) {
  case T_TUPLE:
    for (int i = 0, at = 0; i < t->n; i++) {
      add_accumulators(fn, t->args[i], a + at, b + at, out + at);
      at += lower_slots(fn->m->w, t->args[i]);
    }
    break;
  case T_FLOAT: out[0] = fn_scalar(fn, OP_FADD, a[0], b[0]); break;
  case T_BAG:
  case T_VARIANT:
  case T_ENV: {
    int64_t desc = lower_desc_index(fn->m, t);
    out[0] = fn_reg(fn, R_PTR);
    fn_emit(fn, LOP_CADD, out[0], a[0], b[0], -1)->imm.i = desc;
    break;
  }
  default:
    if (lower_slots(fn->m->w, t)) out[0] = a[0];
  }
}

Row lower_cadd(Frame *fr, Node *x) {
  int n = lower_slots(world(fr), x->type), *out = NEW_ARRAY(fr->fn->m->arena, int, n + 1);
  add_accumulators(fr->fn, x->type, frame_row(fr, x->ops[0]).r, frame_row(fr, x->ops[1]).r, out);
  return (Row){out, n};
}

Row lower_take(Frame *fr, Node *x) { return x->ops[0]->type->kind == T_BAG ? take_entry(fr, x) : take_element(fr, x); }
