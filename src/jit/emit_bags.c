/* SPDX-License-Identifier: MIT */
/* Instructions on bags, and the sum of accumulators: calls of the runtime (runtime/bags.c), but for the commonest
 * cases: a sum with one term only, and an addition to an element of a dense bag of floats that nobody else refers
 * to.
 *
 * The runtime gets the address of a copy of the bag register, which then replaces the register. */
#include "jit/emit.h"

static Rv *bag_address(Fn *k, int bag) {
  if (bag >= 0) assign(k, k->pointer, reg(k, bag));
  return address(k->e, k->pointer);
}

/* The new value of the bag register is taken over before the status is looked at. */
static void finish_bag(Fn *k, const LInstr *i, Rv *status) {
  assign(k, k->status, status);
  assign_reg(k, i->dst, rv(k->e, k->pointer));
  check_status(k, i, rv(k->e, k->status), true);
}

static void finish_pointer(Fn *k, const LInstr *i, int dst, Rv *status) {
  check_status(k, i, status, true);
  assign_reg(k, dst, rv(k->e, k->pointer));
}

static Rv *values_of(Fn *k, const LInstr *i) {
  for (int r = 0; r < i->nres; r++) {
    Type *t = type_of_kind(k->e, k->f->regs[i->res[r]].kind);
    assign(k, slot_at(k->e, results_buffer(k), k_i64(k->e, r), t), reg(k, i->res[r]));
  }
  return results_buffer(k);
}

/* ---- Contributions to elements ---- */
/* Are the elements of the bag nothing but floats? */
static bool holds_floats(const Desc *bag) {
  for (int s = 0; s < bag->args[0]->nslots; s++)
    if (bag->args[0]->slots[s] != SLOT_FLOAT) return false;
  return true;
}

/* The fast path of an addition to a bag. Tests whether the bag is dense, unshared and no view of another one: its first
 * word is a count of one and tag 0, and it has no owner. Then the contribution is added to its elements, and control
 * goes to `done`. Returns the block that the tests branch to for all other bags, which the caller fills. */
static Block *add_in_place(Fn *k, const LInstr *i, Block *done) {
  Emit *e = k->e;
  _Static_assert(offsetof(Obj, tag) == offsetof(Obj, rc) + 4 && RT_OWN == 0, "one word holds the count and the tag");
  Rv *bag = reg(k, i->dst), *owner = load(e, bag, offsetof(ArrayObj, owner), e->t_ptr);
  Block *other = new_block(k), *object = new_block(k), *own = new_block(k), *add = new_block(k);
  e->g->block_end_with_conditional(k->cur, NULL, likely(e, compare(e, GC_NE, bag, k_null(e)), true), object, other);
  Rv *alone = compare(e, GC_EQ, load(e, bag, offsetof(Obj, rc), e->t_i64), k_i64(e, 1));
  e->g->block_end_with_conditional(object, NULL, likely(e, alone, true), own, other);
  e->g->block_end_with_conditional(own, NULL, likely(e, compare(e, GC_EQ, owner, k_null(e)), true), add, other);
  k->cur = add;
  Rv *data = load(e, bag, offsetof(ArrayObj, data), e->t_ptr);
  for (int s = 0; s < i->nres; s++) {
    Rv *at = binary(e, GB_MULT, e->t_i64, reg(k, i->a), k_i64(e, i->nres));
    Lv *element = slot_at(e, data, binary(e, GB_PLUS, e->t_i64, at, k_i64(e, s)), e->t_f64);
    assign(k, element, binary(e, GB_PLUS, e->t_f64, rv(e, element), reg(k, i->res[s])));
  }
  e->g->block_end_with_jump(add, NULL, done);
  return other;
}

/* One float for an array of rank 1 goes to the runtime in registers: frames of deep recursions should be small. */
bool acc_in_registers(const Emit *e, const LInstr *i) {
  const Desc *bag = e->m->descs[i->imm.i];
  return bag->args[0]->kind == D_FLOAT && i->nargs == 1;
}

static void add_float(Fn *k, const LInstr *i, Rv *rt, Rv *desc) {
  Emit *e = k->e;
  SlotKind s = SLOT_PTR;
  Rv *sum = CALL_TABLE(e, k->mod, rt_acc_float, rt, desc, reg(k, i->dst), reg(k, i->args[0]), reg(k, i->a),
                       reg(k, i->res[0]));
  assign(k, k->pair[s], sum);
  assign_reg(k, i->dst, rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_value[s])));
  check_status(k, i, rv(e, e->g->lvalue_access_field(k->pair[s], NULL, e->pair_status[s])), true);
}

void emit_acc_at(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *m = k->mod, *rt = load_rt(e, m), *desc = load_desc(e, m, i->imm.i);
  Block *done = new_block(k);
  if (holds_floats(e->m->descs[i->imm.i])) k->cur = add_in_place(k, i, done);
  if (acc_in_registers(e, i)) {
    add_float(k, i, rt, desc);
  } else {
    Rv *dims = pass_slots(k, i->args, i->nargs), *bag = bag_address(k, i->dst);
    finish_bag(k, i, CALL_TABLE(e, m, rt_acc_at, rt, desc, bag, dims, reg(k, i->a), values_of(k, i)));
  }
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = done;
}

/* The arguments that all updates of a bag begin with. */
typedef struct Update {
  Rv *rt, *desc, *bag, *dims;
} Update;

static Update open_update(Fn *k, const LInstr *i) {
  Rv *rt = load_rt(k->e, k->mod), *dims = pass_slots(k, i->args, i->nargs), *desc = load_desc(k->e, k->mod, i->imm.i);
  return (Update){rt, desc, bag_address(k, i->dst), dims};
}

void emit_bag_set(Fn *k, const LInstr *i) {
  Update u = open_update(k, i);
  Rv *at = reg(k, i->a), *values = values_of(k, i);
  finish_bag(k, i, CALL_TABLE(k->e, k->mod, rt_bag_set, u.rt, u.desc, u.bag, u.dims, at, values));
}

void emit_acc_sub(Fn *k, const LInstr *i) {
  Update u = open_update(k, i);
  Rv *at = reg(k, i->a), *n = reg(k, i->b), *part = reg(k, i->c);
  finish_bag(k, i, CALL_TABLE(k->e, k->mod, rt_acc_sub, u.rt, u.desc, u.bag, u.dims, at, n, part));
}

void emit_bag_set_sub(Fn *k, const LInstr *i) {
  Update u = open_update(k, i);
  Rv *at = reg(k, i->a), *n = reg(k, i->b), *part = reg(k, i->c);
  finish_bag(k, i, CALL_TABLE(k->e, k->mod, rt_bag_set_sub, u.rt, u.desc, u.bag, u.dims, at, n, part));
}

void emit_bag_take(Fn *k, const LInstr *i) {
  Update u = open_update(k, i);
  Rv *at = reg(k, i->a), *out = results_buffer(k);
  finish_bag(k, i, CALL_TABLE(k->e, k->mod, rt_bag_take, u.rt, u.desc, u.bag, u.dims, at, out));
  take_results(k, i);
}

/* Its arguments are the dimensions of the whole, then those of the part, which is one rank or more lower. */
void emit_bag_take_sub(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *m = k->mod, *rt = load_rt(e, m), *dims = pass_slots(k, i->args, i->nargs);
  int rank = e->m->descs[i->sub]->rank;
  Rv *sub_dims = address(e, slot_at(e, dims, k_i64(e, rank), e->t_i64)), *out = results_buffer(k);
  Rv *status = CALL_TABLE(e, m, rt_bag_take_sub, rt, load_desc(e, m, i->imm.i), bag_address(k, i->dst), dims,
                          reg(k, i->a), reg(k, i->b), sub_dims, out);
  finish_bag(k, i, status);
  take_results(k, i);
}

void emit_bag_get(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod), *desc = load_desc(e, k->mod, i->imm.i), *out = results_buffer(k);
  check_status(k, i, CALL_TABLE(e, k->mod, rt_bag_get, rt, desc, reg(k, i->b), reg(k, i->a), out), true);
  take_results(k, i);
}

void emit_bag_sub(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod), *desc = load_desc(e, k->mod, i->imm.i), *dims = pass_slots(k, i->args, i->nargs);
  Rv *bag = reg(k, i->c), *at = reg(k, i->a), *n = reg(k, i->b), *out = bag_address(k, -1);
  finish_pointer(k, i, i->dst, CALL_TABLE(e, k->mod, rt_bag_sub, rt, desc, bag, at, n, dims, out));
}

void emit_bag_fill(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod), *desc = load_desc(e, k->mod, i->imm.i), *dims = pass_slots(k, i->args, i->nargs);
  Rv *out = bag_address(k, -1);
  finish_pointer(k, i, i->dst, CALL_TABLE(e, k->mod, rt_bag_fill, rt, desc, reg(k, i->a), dims, out));
}

/* Most sums have one term only. */
void emit_cadd(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *b = reg(k, i->b), *none = k_null(e);
  Block *second = new_block(k), *both = new_block(k), *maybe = new_block(k), *done = new_block(k);
  assign(k, k->made, a);
  e->g->block_end_with_conditional(k->cur, NULL, compare(e, GC_NE, b, none), maybe, done);
  e->g->block_end_with_conditional(maybe, NULL, compare(e, GC_EQ, a, none), second, both);
  k->cur = second;
  assign(k, k->made, b);
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = both;
  Rv *desc = load_desc(e, k->mod, i->imm.i);
  Rv *sum = CALL_TABLE(e, k->mod, rt_cadd, load_rt(e, k->mod), desc, a, b, none, bag_address(k, -1));
  check_status(k, i, sum, true);
  assign(k, k->made, rv(e, k->pointer));
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = done;
  assign_reg(k, i->dst, rv(e, k->made));
}
