/* SPDX-License-Identifier: MIT */
/* Machine code that allocates variants (boxes), closures and environments, and that moves the fields out of a box.
 *
 * Blocks come from the list of free ones of their size, and go back there, in line; the runtime does what is rarer
 * (runtime/blocks.c). A box that was emptied is filled again without either. */
#include "jit/emit.h"

/* ---- Made -------------------------------------------------------------------------------------------------------- */
static void fill_fields(Fn *k, const LInstr *i, size_t offset) {
  for (int a = 0; a < i->nargs; a++) {
    Type *t = type_of_kind(k->e, k->f->regs[i->args[a]].kind);
    assign(k, place(k->e, rv(k->e, k->made), offset + (size_t)a * sizeof(Slot), t), reg(k, i->args[a]));
  }
}

/* What NEW_BOX, NEW_CLOSURE and NEW_ENV differ in. */
typedef struct NewObject {
  Rv *rt;
  Rv *made; /* the runtime's way: a call */
  Rv *desc; /* of the object */
  Rv *fn;   /* its function; NULL: none */
  int32_t tag;
  int nslots;
  size_t fields; /* where its slots begin */
} NewObject;

static NewObject new_object(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = rt_of(k);
  if (lir_ops[i->op].imm == LIMM_DESC) {
    Rv *desc = load_desc(e, k->mod, i->imm.i);
    Rv *made = CALL_TABLE(e, k->mod, rt_new_box, rt, desc, k_i64(e, i->b));
    return (NewObject){rt, made, desc, NULL, i->b, e->m->descs[i->imm.i]->args[i->b]->nslots, offsetof(BoxObj, fields)};
  }
  const LFunc *f = e->m->funcs[i->imm.i];
  Rv *fn = load_func(e, k->mod, i->imm.i);
  if (i->op == LOP_NEW_CLOSURE) {
    Rv *desc = load(e, rt, offsetof(Rt, desc_closure), e->t_ptr);
    return (NewObject){
        rt, CALL_TABLE(e, k->mod, rt_new_closure, rt, fn), desc, fn, 0, f->ncaps, offsetof(ClosureObj, caps)};
  }
  Rv *desc = load(e, rt, offsetof(Rt, desc_env), e->t_ptr);
  return (NewObject){rt, CALL_TABLE(e, k->mod, rt_new_env, rt, fn), desc, fn, 0, f->nacc, offsetof(EnvObj, caps)};
}

/* Takes k->made, the first free block of its class, off the list, and fills in the header. */
static void take_block(Fn *k, const NewObject *o, Lv *list) {
  Emit *e = k->e;
  Rv *p = rv(e, k->made);
  assign(k, list, load(e, p, 0, e->t_ptr));
  Lv *live = place(e, o->rt, offsetof(Rt, live), e->t_i64);
  assign(k, live, binary(e, GB_PLUS, e->t_i64, rv(e, live), k_i64(e, 1)));
  assign(k, place(e, p, offsetof(Obj, rc), e->t_i32), k_i32(e, 1));
  assign(k, place(e, p, offsetof(Obj, tag), e->t_i32), k_i32(e, o->tag));
  assign(k, place(e, p, offsetof(Obj, desc), e->t_ptr), o->desc);
  if (o->fn) assign(k, place(e, p, offsetof(ClosureObj, fn), e->t_ptr), o->fn);
}

/* k->made = the object. Where the list of free blocks of its size isn't empty, it is made here; else the runtime makes
 * it. */
static void make_object(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  NewObject o = new_object(k, i);
  size_t size = o.fields + (size_t)o.nslots * sizeof(Slot);
  if (size > RT_BLOCK_GRAIN * RT_BLOCK_CLASSES || i->nargs != o.nslots) {
    assign(k, k->made, o.made);
    check_status(k, i, compare(e, GC_EQ, rv(e, k->made), k_null(e)), true);
    return;
  }
  size_t offset = offsetof(Rt, free_list) + (size_t)rt_block_class(size) * sizeof(Obj *);
  Lv *list = place(e, o.rt, offset, e->t_ptr);
  assign(k, k->made, rv(e, list));
  Block *empty = branch_unless(k, compare(e, GC_NE, rv(e, k->made), k_null(e))), *made = new_block(k);
  take_block(k, &o, list);
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = empty;
  assign(k, k->made, o.made);
  check_status(k, i, compare(e, GC_EQ, rv(e, k->made), k_null(e)), true);
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = made;
}

static size_t first_slot(const LInstr *i) {
  if (i->op == LOP_NEW_CLOSURE) return offsetof(ClosureObj, caps);
  return i->op == LOP_NEW_ENV ? offsetof(EnvObj, caps) : offsetof(BoxObj, fields);
}

/* NEW_BOX, NEW_CLOSURE, NEW_ENV: an object with its slots taken from registers. */
void emit_new(Fn *k, const LInstr *i) {
  make_object(k, i);
  fill_fields(k, i, first_slot(i));
  assign_reg(k, i->dst, rv(k->e, k->made));
}

/* A box with its fields in the block of an emptied one; else a new one. */
void emit_refill(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *emptied = reg(k, i->a);
  Block *none = branch_unless(k, compare(e, GC_NE, emptied, k_null(e))), *made = new_block(k);
  assign(k, k->made, emptied);
  assign(k, place(e, emptied, offsetof(Obj, tag), e->t_i32), k_i32(e, i->b));
  assign(k, place(e, emptied, offsetof(Obj, desc), e->t_ptr), load_desc(e, k->mod, i->imm.i));
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = none;
  make_object(k, i);
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = made;
  fill_fields(k, i, offsetof(BoxObj, fields));
  assign_reg(k, i->dst, rv(e, k->made));
}

/* ---- Taken apart ------------------------------------------------------------------------------------------------- */
/* Is the block part of the page from which this thread takes blocks of its size at the moment? */
static Rv *in_current_page(Fn *k, Rv *rt, Rv *block) {
  Emit *e = k->e;
  Rv *bits = e->g->context_new_bitcast(e->ctx, NULL, block, e->t_u64);
  Rv *page = binary(e, GB_AND, e->t_u64, bits, cast(e, k_i64(e, -(int64_t)RT_PAGE_BYTES), e->t_u64));
  page = e->g->context_new_bitcast(e->ctx, NULL, page, e->t_ptr);
  return compare(e, GC_EQ, load(e, page, offsetof(BlockPage, current), e->t_ptr), rt);
}

/* A box whose fields have been read is freed if nobody else holds it. That is done here if its page is the current
 * one. */
static void free_opened(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  size_t size = offsetof(BoxObj, fields) + (size_t)i->nres * sizeof(Slot);
  Rv *box = reg(k, i->a), *rt = rt_of(k), *slow = CALL_TABLE(e, k->mod, rt_open_box, rt, box);
  if (!RT_RECYCLE || size > RT_BLOCK_GRAIN * RT_BLOCK_CLASSES) {
    evaluate(k, slow);
    return;
  }
  Block *unique = new_block(k), *here = new_block(k), *other = new_block(k), *done = new_block(k);
  Rv *alone = compare(e, GC_EQ, load(e, box, offsetof(Obj, rc), e->t_i32), k_i32(e, 1));
  e->g->block_end_with_conditional(k->cur, NULL, alone, unique, other);
  e->g->block_end_with_conditional(unique, NULL, in_current_page(k, rt, box), here, other);
  k->cur = here;
  Lv *list = place(e, rt, offsetof(Rt, free_list) + (size_t)rt_block_class(size) * sizeof(Obj *), e->t_ptr);
  Lv *live = place(e, rt, offsetof(Rt, live), e->t_i64);
  assign(k, place(e, box, 0, e->t_ptr), rv(e, list));
  assign(k, list, box);
  assign(k, live, binary(e, GB_MINUS, e->t_i64, rv(e, live), k_i64(e, 1)));
  e->g->block_end_with_jump(here, NULL, done);
  e->g->block_add_eval(other, NULL, slow);
  e->g->block_end_with_jump(other, NULL, done);
  k->cur = done;
}

/* What is referred to is fetched from memory: one of several mostly waits for the others. */
static void read_fields(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  for (int r = 0; r < i->nres; r++) {
    if (i->res[r] < 0) continue;
    Type *t = type_of_kind(e, k->f->regs[i->res[r]].kind);
    assign_reg(k, i->res[r], load(e, reg(k, i->a), offsetof(BoxObj, fields) + (size_t)r * sizeof(Slot), t));
    if (t == e->t_ptr) evaluate(k, fetch_ahead(e, reg(k, i->res[r])));
  }
}

void emit_open(Fn *k, const LInstr *i) {
  read_fields(k, i);
  free_opened(k, i);
}

/* The same, but a box that nobody else holds stays, and refers to nothing. */
void emit_empty(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *box = reg(k, i->a);
  read_fields(k, i);
  Rv *alone = compare(e, GC_EQ, load(e, box, offsetof(Obj, rc), e->t_i32), k_i32(e, 1));
  Block *shared = branch_unless(k, alone), *done = new_block(k);
  for (int r = 0; r < i->nres; r++)
    if (i->res[r] >= 0 && k->f->regs[i->res[r]].kind == R_PTR)
      assign(k, place(e, box, offsetof(BoxObj, fields) + (size_t)r * sizeof(Slot), e->t_ptr), k_null(e));
  assign_reg(k, i->dst, box);
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = shared;
  assign_reg(k, i->dst, CALL_TABLE(e, k->mod, rt_empty_box, rt_of(k), box));
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = done;
}
