/* SPDX-License-Identifier: MIT */
/* One LIR instruction after the other: checks, calls, arrays; emit_objects.c has what is made of slots, emit_bags.c
 * the bags.
 *
 * emit_instr is the dispatch; the groups stand above it. Whatever can fail ends the
 * current block with a conditional jump to a cold block that raises the error and
 * joins a clean-up block (leave_failed), and goes on in a new one. Operands are
 * registers; rvalues made of them are cheap and have no effect, so they may be
 * used twice. The runtime takes and gives values through two buffers of slots in
 * the frame, one for arguments and one for results. */
#include "jit/emit.h"
#include "support/host_library.h"

/* ---- Checks ---------------------------------------------------------------------------------------------------- */
/* In the block that branch_unless made current for failure: evaluates the raising call and leaves. */
static void raise_error(Fn *k, Block *b, const LInstr *i, Rv *raising) {
  k->e->g->block_add_eval(b, NULL, raising);
  leave_failed(k, b, i);
}

/* Goes on if `holds`, else raises the error. */
static void emit_check(Fn *k, const LInstr *i, Rv *holds, Rv *raising) {
  raise_error(k, branch_unless(k, holds), i, raising);
}

/* One unsigned comparison does for both ends, as no length is negative. */
static void emit_check_index(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *n = reg(k, i->b), *inside = compare(e, GC_LT, cast(e, a, e->t_u64), cast(e, n, e->t_u64));
  emit_check(k, i, inside, CALL_TABLE(e, k->mod, rt_fail_index, load_rt(e, k->mod), a, n, k_site(k, i->site)));
}

static Lv *byte_at(const Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *bytes = address(e, place(e, reg(k, i->a), offsetof(StringObj, bytes), e->t_u8));
  return slot_at(e, bytes, reg(k, i->b), e->t_u8);
}

static void emit_put_byte(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *x = reg(k, i->c), *fits = compare(e, GC_LE, cast(e, x, e->t_u64), cast(e, k_i64(e, 255), e->t_u64));
  emit_check(k, i, fits, CALL_TABLE(e, k->mod, rt_fail_byte, load_rt(e, k->mod), x, k_site(k, i->site)));
  assign(k, byte_at(k, i), cast(e, x, e->t_u8));
}

static void emit_check_slice(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *lo = reg(k, i->a), *hi = reg(k, i->b), *n = reg(k, i->c);
  Rv *inside = compare(e, GC_LE, cast(e, hi, e->t_u64), cast(e, n, e->t_u64));
  Rv *ordered = compare(e, GC_LE, cast(e, lo, e->t_u64), cast(e, hi, e->t_u64));
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_slice, load_rt(e, k->mod), lo, hi, n, k_site(k, i->site));
  emit_check(k, i, binary(e, GB_LOGICAL_AND, e->t_bool, inside, ordered), raising);
}

/* The text of an instruction, or NULL. */
static Rv *immediate_text(Emit *e, const LInstr *i) {
  return i->imm.text ? cast(e, e->g->context_new_string_literal(e->ctx, i->imm.text), e->t_ptr) : k_null(e);
}

static void emit_check_size(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *b = reg(k, i->b), *message = immediate_text(e, i);
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_size, load_rt(e, k->mod), a, b, message, k_site(k, i->site));
  emit_check(k, i, compare(e, GC_EQ, a, b), raising);
}

static void emit_check_row(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *b = reg(k, i->b);
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_irregular, load_rt(e, k->mod), a, b, k_site(k, i->site));
  emit_check(k, i, compare(e, GC_EQ, a, b), raising);
}

static void emit_check_nonzero(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_nonzero, load_rt(e, k->mod), k_site(k, i->site));
  emit_check(k, i, compare(e, GC_NE, reg(k, i->a), k_i64(e, 0)), raising);
}

static void emit_check_depth(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *limit = reg(k, i->b);
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_depth, load_rt(e, k->mod), limit, k_site(k, i->site));
  emit_check(k, i, compare(e, GC_LE, reg(k, i->a), limit), raising);
}

static void emit_check_nat(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *what = immediate_text(e, i);
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_nat, load_rt(e, k->mod), a, what, k_site(k, i->site));
  emit_check(k, i, compare(e, GC_GE, a, k_i64(e, 0)), raising);
}

/* Is the number finite, or at least no NaN? The runtime looks at the operands of one that isn't. */
static void emit_trap(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  bool nan = i->op == LOP_TRAP_NAN;
  Rv *y = reg(k, i->args[0]), *zero = k_f64(e, 0);
  Rv *good = nan ? compare(e, GC_EQ, y, y) : compare(e, GC_EQ, binary(e, GB_MINUS, e->t_f64, y, y), zero);
  Block *slow = branch_unless(k, good), *on = k->cur;
  k->cur = slow;
  Rv *text = cast(e, e->g->context_new_string_literal(e->ctx, i->imm.text), e->t_ptr);
  Rv *rt = load_rt(e, k->mod), *args = pass_slots(k, i->args, i->nargs), *n = k_i32(e, i->nargs);
  Rv *status = nan ? CALL_TABLE(e, k->mod, rt_trap_nan, rt, text, args, n, k_site(k, i->site))
                   : CALL_TABLE(e, k->mod, rt_trap_inf, rt, text, args, n, k_site(k, i->site));
  check_status(k, i, status, false);
  e->g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
}

static void emit_assert(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *kind = k_i32(e, ERR_ASSERT);
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_user, load_rt(e, k->mod), reg(k, i->b), kind, k_site(k, i->site));
  emit_check(k, i, compare(e, GC_NE, reg(k, i->a), k_i64(e, 0)), raising);
}

static void emit_fail(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *raising = CALL_TABLE(e, k->mod, rt_fail_user, load_rt(e, k->mod), reg(k, i->a), k_i32(e, (int)i->imm.i),
                           k_site(k, i->site));
  raise_error(k, k->cur, i, raising);
  k->cur = NULL;
}

/* Nonzero if there is an interrupt. libgccjit drops `volatile` from what a pointer points to, so an asm does the
 * comparison, which can't leave the loop then and takes no register, or else gives the pointer. */
static Rv *interrupt_flag(Fn *k) {
  Emit *e = k->e;
  const GccApi *g = e->g;
#if defined __x86_64__
  char text[40];
  snprintf(text, sizeof text, "cmpl $0, %d(%%1)", (int)offsetof(Rt, interrupt));
  Lv *out = g->function_new_local(k->fn, NULL, e->t_i32, "interrupted");
  const char *constraints[] = {"=@ccne", "r"};
#else
  const char *text = "", *constraints[] = {"=r", "0"};
  Lv *out = g->function_new_local(k->fn, NULL, e->t_ptr, "polled");
#endif
  gcc_jit_extended_asm *opaque = g->block_add_extended_asm(k->cur, NULL, text);
  g->extended_asm_set_volatile_flag(opaque, 1);
  g->extended_asm_add_output_operand(opaque, NULL, constraints[0], out);
  g->extended_asm_add_input_operand(opaque, NULL, constraints[1], rt_of(k));
#if defined __x86_64__
  return rv(e, out);
#else
  return load(e, rv(e, out), offsetof(Rt, interrupt), e->t_i32);
#endif
}

/* The flag is read at every back edge; the runtime looks closer only if it is set. */
static void emit_poll(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Block *slow = branch_unless(k, compare(e, GC_EQ, interrupt_flag(k), k_i32(e, 0))), *on = k->cur;
  k->cur = slow;
  check_status(k, i, CALL_TABLE(e, k->mod, rt_poll, load_rt(e, k->mod)), true);
  e->g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
}

/* ---- Control ----------------------------------------------------------------------------------------------------- */
static void emit_branch(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Block *next = new_block(k);
  Rv *condition = compare(e, GC_NE, reg(k, i->a), k_i64(e, 0));
  e->g->block_end_with_conditional(k->cur, NULL, condition, next, k->labels[i->imm.i]);
  k->cur = next;
}

static void emit_switch(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  gcc_jit_case **cases = NEW_ARRAY(e->arena, gcc_jit_case *, i->nargs);
  for (int c = 0; c < i->nargs - 1; c++)
    cases[c] = e->g->context_new_case(e->ctx, k_i64(e, c), k_i64(e, c), k->labels[i->args[c]]);
  Block *last = k->labels[i->args[i->nargs - 1]];
  e->g->block_end_with_switch(k->cur, NULL, reg(k, i->a), last, i->nargs - 1, cases);
  k->cur = NULL;
}

static void emit_return(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  const GccApi *g = e->g;
  if (k->leaving == i) {
    end_with_status(k, k->cur, RT_TAIL);
    k->cur = NULL;
    return;
  }
  switch (k->info->conv) {
  case CONV_VALUE:
  case CONV_UNWIND: g->block_end_with_return(k->cur, NULL, reg(k, i->args[0])); break;
  case CONV_PAIR: {
    SlotKind s = slot_kind(k->f->result_kinds[0]);
    assign(k, g->lvalue_access_field(k->pair[s], NULL, e->pair_status[s]), k_i64(e, 0));
    assign(k, g->lvalue_access_field(k->pair[s], NULL, e->pair_value[s]), reg(k, i->args[0]));
    g->block_end_with_return(k->cur, NULL, rv(e, k->pair[s]));
    break;
  }
  case CONV_TWO: {
    Lv *two = g->function_new_local(k->fn, NULL, type_of_two(e, k->f), "two");
    for (int r = 0; r < 2; r++) assign(k, result_of_two(e, k->f, two, r), reg(k, i->args[r]));
    g->block_end_with_return(k->cur, NULL, rv(e, two));
    break;
  }
  default:
    for (int r = 0; r < i->nargs; r++)
      assign(k, slot_at(e, k->out, k_i64(e, r), type_of_kind(e, k->f->result_kinds[r])), reg(k, i->args[r]));
    if (k->info->conv == CONV_VOID) g->block_end_with_void_return(k->cur, NULL);
    else g->block_end_with_return(k->cur, NULL, k_i32(e, 0));
    break;
  }
  k->cur = NULL;
}

/* ---- Calls of what isn't in the module ---- */
bool takes_only_numbers(const LForeign *f) {
  if (host_library(f->library) || f->sized) return false;
  for (int k = 0; k < f->nargs; k++)
    if (f->kinds[k] == R_PTR) return false;
  return f->result == R_INT || f->result == R_FLOAT;
}

/* The address of a C function that isn't known yet: found by the runtime, at the first call. */
static void find_foreign(Fn *k, const LInstr *i, Lv *row) {
  Emit *e = k->e;
  Block *lost = new_block(k), *known = new_block(k);
  e->g->block_end_with_conditional(k->cur, NULL, compare(e, GC_EQ, rv(e, row), k_null(e)), lost, known);
  k->cur = lost;
  Rv *found = CALL_TABLE(e, k->mod, rt_foreign_address, k->mod, k_i64(e, i->imm.i), k_site(k, i->site));
  assign(k, row, found);
  check_status(k, i, compare(e, GC_EQ, rv(e, row), k_null(e)), false);
  e->g->block_end_with_jump(k->cur, NULL, known);
  k->cur = known;
}

/* Emits a call under the lock of the pool: the lock, if there is one. */
static Lv *enter_foreign(Fn *k) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod);
  Lv *lock = e->g->function_new_local(k->fn, NULL, e->t_ptr, "lock");
  assign(k, lock, load(e, rt, offsetof(Rt, foreign_lock), e->t_ptr));
  Block *locked = branch_unless(k, compare(e, GC_EQ, rv(e, lock), k_null(e))), *on = k->cur;
  k->cur = locked;
  assign(k, lock, CALL_TABLE(e, k->mod, rt_enter_foreign, rt));
  e->g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
  return lock;
}

static void leave_foreign(Fn *k, Lv *lock) {
  Emit *e = k->e;
  Block *locked = branch_unless(k, compare(e, GC_EQ, rv(e, lock), k_null(e))), *on = k->cur;
  k->cur = locked;
  e->g->block_add_eval(k->cur, NULL, CALL_TABLE(e, k->mod, rt_leave_foreign, load_rt(e, k->mod), rv(e, lock)));
  e->g->block_end_with_jump(k->cur, NULL, on);
  k->cur = on;
}

static void call_foreign(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  const LForeign *f = &e->m->foreigns[i->imm.i];
  if (!takes_only_numbers(f)) {
    Rv *slots = pass_slots(k, i->args, i->nargs);
    Rv *status = CALL_TABLE(e, k->mod, rt_foreign_call, k->mod, k_i64(e, i->imm.i), slots, results_buffer(k),
                            k_site(k, i->site));
    check_status(k, i, status, false);
    take_results(k, i);
    return;
  }
  Type **types = NEW_ARRAY(e->arena, Type *, i->nargs + 1);
  Rv **args = NEW_ARRAY(e->arena, Rv *, i->nargs + 1);
  for (int a = 0; a < i->nargs; a++) {
    types[a] = type_of_kind(e, f->kinds[a]);
    args[a] = reg(k, i->args[a]);
  }
  Type *pointer = e->g->context_new_function_ptr_type(e->ctx, NULL, type_of_kind(e, f->result), i->nargs, types, 0);
  Lv *row = e->g->context_new_array_access(e->ctx, NULL, rv(e, e->foreigns), k_i64(e, i->imm.i));
  find_foreign(k, i, row);
  Lv *lock = library_of_all_threads(f->library) ? NULL : enter_foreign(k);
  Rv *target = cast(e, rv(e, row), pointer);
  assign_reg(k, i->res[0], e->g->context_new_call_through_ptr(e->ctx, NULL, target, i->nargs, args));
  if (lock) leave_foreign(k, lock);
}

static void emit_apply(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  if (emit_left_apply(k, i)) return;
  Rv *args = pass_slots(k, i->args, i->nargs), *rt = load_rt(e, k->mod);
  Rv *status = CALL_TABLE(e, k->mod, rt_apply, rt, reg(k, i->a), args, k_i32(e, i->nargs), results_buffer(k));
  check_status(k, i, status, true);
  take_results(k, i);
}

static void emit_rt(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *slots = pass_slots(k, i->args, i->nargs);
  Rv *args[] = {load_rt(e, k->mod), load_desc(e, k->mod, i->imm.i), slots, results_buffer(k), k_site(k, i->site)};
  check_status(k, i, call_prim(e, k->mod, i->sub, 5, args), false);
  take_results(k, i);
}

/* ---- Objects ---------------------------------------------------------------------------------------------------- */
/* dst = a pointer the runtime made; NULL is failure. dst is left as it was then. */
static void assign_made(Fn *k, const LInstr *i, Rv *made) {
  Emit *e = k->e;
  assign(k, k->made, made);
  Rv *value = rv(e, k->made);
  check_status(k, i, compare(e, GC_EQ, value, k_null(e)), true);
  assign_reg(k, i->dst, value);
}

static Type *dst_type(const Fn *k, const LInstr *i) { return type_of_kind(k->e, k->f->regs[i->dst].kind); }
/* The place of slot i->b of the object in register a. */
static Lv *field_of(const Fn *k, const LInstr *i, size_t fields) {
  return place(k->e, reg(k, i->a), fields + (size_t)i->b * sizeof(Slot), dst_type(k, i));
}

static void emit_closure_id(Fn *k, const LInstr *i) {
  Rv *fn = load(k->e, reg(k, i->a), offsetof(ClosureObj, fn), k->e->t_ptr);
  assign_reg(k, i->dst, load(k->e, fn, offsetof(RtFunc, id), k->e->t_i64));
}

static void emit_global(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *globals = load(e, k->mod, offsetof(Mod, globals), e->t_ptr);
  Rv *slots = load(e, globals, (size_t)i->a * sizeof(Slot *), e->t_ptr);
  assign_reg(k, i->dst, load(e, slots, (size_t)i->b * sizeof(Slot), dst_type(k, i)));
}

/* Object imm.i of a table of the module. */
static void emit_constant(Fn *k, const LInstr *i, size_t table) {
  Emit *e = k->e;
  Rv *objects = load(e, k->mod, table, e->t_ptr);
  assign_reg(k, i->dst, load(e, objects, (size_t)i->imm.i * sizeof(Obj *), e->t_ptr));
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
static Lv *element(const Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *index = k_i64(e, i->c);
  if (i->b >= 0) {
    Rv *row = reg(k, i->b);
    if (i->imm.i != 1) row = binary(e, GB_MULT, e->t_i64, row, k_i64(e, i->imm.i));
    index = i->c ? binary(e, GB_PLUS, e->t_i64, row, index) : row;
  }
  return slot_at(e, reg(k, i->a), index, dst_type(k, i));
}

static Lv *dimension(const Fn *k, const LInstr *i) {
  return place(k->e, reg(k, i->a), offsetof(ArrayObj, dims) + (size_t)i->imm.i * sizeof(int64_t), k->e->t_i64);
}

static void emit_new_array(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod), *zero = cast(e, k_i32(e, i->b == 1), e->t_bool);
  Rv *dims = pass_slots(k, i->args, i->nargs);
  assign_made(k, i, CALL_TABLE(e, k->mod, rt_new_array, rt, load_desc(e, k->mod, i->imm.i), dims, zero));
}

/* Ends the current block: on in a new one if the condition holds, else at `no`. */
static void go_on_if(Fn *k, Rv *condition, Block *no) {
  Block *yes = new_block(k);
  k->e->g->block_end_with_conditional(k->cur, NULL, condition, yes, no);
  k->cur = yes;
}

/* Zeros for all elements of a spare, whose dimensions are those of i. */
static void clear(Fn *k, const LInstr *i, Rv *spare) {
  Emit *e = k->e;
  Rv *bytes = k_i64(e, e->m->descs[i->imm.i]->args[0]->nslots * (int64_t)sizeof(Slot));
  for (int d = 0; d < i->nargs; d++) bytes = binary(e, GB_MULT, e->t_i64, bytes, reg(k, i->args[d]));
  Rv *args[] = {load(e, spare, offsetof(ArrayObj, data), e->t_ptr), k_i32(e, 0),
                cast(e, bytes, e->g->context_get_type(e->ctx, GT_SIZE))};
  evaluate(k, call(e, e->g->context_get_builtin_function(e->ctx, "memset"), 3, args));
}

/* A spare of the same dimensions is taken here; the runtime sees to others. */
static void emit_renew(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = rt_of(k), *spare = reg(k, i->dst), *zero = cast(e, k_i32(e, i->b == 1), e->t_bool);
  Block *other = new_block(k), *made = new_block(k);
  go_on_if(k, compare(e, GC_NE, spare, k_null(e)), other);
  for (int d = 0; d < i->nargs; d++) {
    Rv *has = load(e, spare, offsetof(ArrayObj, dims) + (size_t)d * sizeof(int64_t), e->t_i64);
    go_on_if(k, compare(e, GC_EQ, has, reg(k, i->args[d])), other);
  }
  if (i->b == 1) clear(k, i, spare);
  assign(k, k->made, spare);
  assign_reg(k, i->dst, k_null(e));
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = other;
  Rv *dims = pass_slots(k, i->args, i->nargs);
  assign(k, k->made, CALL_TABLE(e, k->mod, rt_renew, rt, load_desc(e, k->mod, i->imm.i), spare, dims, zero));
  assign_reg(k, i->dst, k_null(e));
  check_status(k, i, compare(e, GC_EQ, rv(e, k->made), k_null(e)), true);
  e->g->block_end_with_jump(k->cur, NULL, made);
  k->cur = made;
  assign_reg(k, i->res[0], rv(e, k->made));
}

/* What rt_keep does. */
static void emit_keep(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *a = reg(k, i->a), *desc = load_desc(e, k->mod, i->imm.i);
  Block *other = new_block(k), *done = new_block(k);
  go_on_if(k, compare(e, GC_EQ, reg(k, i->dst), k_null(e)), other);
  go_on_if(k, compare(e, GC_NE, a, k_null(e)), other);
  go_on_if(k, compare(e, GC_EQ, load(e, a, offsetof(Obj, rc), e->t_i32), k_i32(e, 1)), other);
  go_on_if(k, compare(e, GC_EQ, load(e, a, offsetof(Obj, desc), e->t_ptr), desc), other);
  go_on_if(k, compare(e, GC_EQ, load(e, a, offsetof(ArrayObj, owner), e->t_ptr), k_null(e)), other);
  go_on_if(k, compare(e, GC_LE, load(e, a, offsetof(ArrayObj, bytes), e->t_i64), k_i64(e, RT_KEPT_SPARE)), other);
  assign_reg(k, i->dst, a);
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = other;
  evaluate(k, call_helper(e, H_RELEASE, k->mod, a));
  e->g->block_end_with_jump(k->cur, NULL, done);
  k->cur = done;
  assign_reg(k, i->a, k_null(e));
}

static void emit_view(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod), *dims = pass_slots(k, i->args, i->nargs), *desc = load_desc(e, k->mod, i->imm.i);
  assign_made(k, i, CALL_TABLE(e, k->mod, rt_view, rt, desc, reg(k, i->a), reg(k, i->b), dims));
}

static void emit_grow(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  Rv *rt = load_rt(e, k->mod);
  assign_made(k, i, CALL_TABLE(e, k->mod, rt_grow, rt, reg(k, i->dst), reg(k, i->a), reg(k, i->b)));
}

/* ---- Dispatch ---------------------------------------------------------------------------------------------------- */
void emit_instr(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  switch (i->op) {
  case LOP_SCALAR: emit_scalar(k, i); break;
  case LOP_MOVE: assign_reg(k, i->dst, reg(k, i->a)); break;
  case LOP_INT: assign_reg(k, i->dst, k_i64(e, i->imm.i)); break;
  case LOP_FLOAT: assign_reg(k, i->dst, k_f64(e, i->imm.f)); break;
  case LOP_STRING: emit_constant(k, i, offsetof(Mod, strings)); break;
  case LOP_BOX: emit_constant(k, i, offsetof(Mod, boxes)); break;
  case LOP_NULLPTR: assign_reg(k, i->dst, k_null(e)); break;
  case LOP_IMMEDIATE:
    assign_reg(k, i->dst, e->g->context_new_bitcast(e->ctx, NULL, k_i64(e, i->imm.i * 2 + 1), e->t_ptr));
    break;
  case LOP_GLOBAL: emit_global(k, i); break;
  case LOP_LABEL:
    if (k->cur) e->g->block_end_with_jump(k->cur, NULL, k->labels[i->imm.i]);
    k->cur = k->labels[i->imm.i];
    break;
  case LOP_JUMP:
    e->g->block_end_with_jump(k->cur, NULL, k->labels[i->imm.i]);
    k->cur = NULL;
    break;
  case LOP_BRANCH: emit_branch(k, i); break;
  case LOP_SWITCH: emit_switch(k, i); break;
  case LOP_LOOP_HEAD: break;
  case LOP_LANE_OPEN: emit_lane_open(k, i); break;
  case LOP_LANE_ADD: emit_lane_add(k, i); break;
  case LOP_LANE_SUM: emit_lane_sum(k, i); break;
  case LOP_POLL: emit_poll(k, i); break;
  case LOP_CHECK_INDEX: emit_check_index(k, i); break;
  case LOP_PUT_BYTE: emit_put_byte(k, i); break;
  case LOP_CHECK_SLICE: emit_check_slice(k, i); break;
  case LOP_CHECK_SIZE: emit_check_size(k, i); break;
  case LOP_CHECK_ROW: emit_check_row(k, i); break;
  case LOP_CHECK_NONZERO: emit_check_nonzero(k, i); break;
  case LOP_CHECK_DEPTH: emit_check_depth(k, i); break;
  case LOP_CHECK_NAT: emit_check_nat(k, i); break;
  case LOP_TRAP_NAN:
  case LOP_TRAP_INF: emit_trap(k, i); break;
  case LOP_ASSERT: emit_assert(k, i); break;
  case LOP_FAIL: emit_fail(k, i); break;
  case LOP_CALL: emit_call(k, i); break;
  case LOP_FOREIGN: call_foreign(k, i); break;
  case LOP_APPLY: emit_apply(k, i); break;
  case LOP_RT: emit_rt(k, i); break;
  case LOP_RETAIN: evaluate(k, call_helper(e, H_RETAIN, k->mod, reg(k, i->a))); break;
  case LOP_RELEASE:
    evaluate(k, call_helper(e, H_RELEASE, k->mod, reg(k, i->a)));
    assign_reg(k, i->a, k_null(e));
    break;
  case LOP_NEW_ARRAY: emit_new_array(k, i); break;
  case LOP_RENEW: emit_renew(k, i); break;
  case LOP_KEEP: emit_keep(k, i); break;
  case LOP_VIEW: emit_view(k, i); break;
  case LOP_GROW: emit_grow(k, i); break;
  case LOP_UNIQUE: assign_made(k, i, call_helper(e, H_UNIQUE, k->mod, reg(k, i->a))); break;
  case LOP_COPY: assign_made(k, i, CALL_TABLE(e, k->mod, rt_copy, load_rt(e, k->mod), reg(k, i->a))); break;
  case LOP_SET_DIM: assign(k, dimension(k, i), reg(k, i->b)); break;
  case LOP_DIM: assign_reg(k, i->dst, rv(e, dimension(k, i))); break;
  case LOP_DATA: assign_reg(k, i->dst, load(e, reg(k, i->a), offsetof(ArrayObj, data), e->t_ptr)); break;
  case LOP_BYTE: assign_reg(k, i->dst, cast(e, rv(e, byte_at(k, i)), e->t_i64)); break;
  case LOP_LOAD: assign_reg(k, i->dst, rv(e, element(k, i))); break;
  case LOP_STORE: assign(k, element(k, i), reg(k, i->dst)); break;
  case LOP_NEW_BOX:
  case LOP_NEW_CLOSURE:
  case LOP_NEW_ENV: emit_new(k, i); break;
  case LOP_REFILL: emit_refill(k, i); break;
  case LOP_TAG: assign_reg(k, i->dst, call_helper(e, H_TAG, reg(k, i->a), NULL)); break;
  case LOP_FIELD:
    assign_reg(k, i->dst, rv(e, field_of(k, i, offsetof(BoxObj, fields))));
    if (i->c == 1) evaluate(k, fetch_ahead(e, reg(k, i->dst)));
    break;
  case LOP_FIELD_AT:
    assign_reg(k, i->dst, cast(e, address(e, field_of(k, i, offsetof(BoxObj, fields))), e->t_ptr));
    break;
  case LOP_OPEN: emit_open(k, i); break;
  case LOP_EMPTY: emit_empty(k, i); break;
  case LOP_CAPTURE: assign_reg(k, i->dst, rv(e, field_of(k, i, offsetof(ClosureObj, caps)))); break;
  case LOP_ENV_FIELD: assign_reg(k, i->dst, rv(e, field_of(k, i, offsetof(EnvObj, caps)))); break;
  case LOP_CLOSURE_ID: emit_closure_id(k, i); break;
  case LOP_FUNC_ID: assign_reg(k, i->dst, load_func_id(e, k->mod, i->imm.i)); break;
  case LOP_ACC_AT: emit_acc_at(k, i); break;
  case LOP_ACC_SUB: emit_acc_sub(k, i); break;
  case LOP_BAG_SET: emit_bag_set(k, i); break;
  case LOP_BAG_SET_SUB: emit_bag_set_sub(k, i); break;
  case LOP_BAG_TAKE: emit_bag_take(k, i); break;
  case LOP_BAG_TAKE_SUB: emit_bag_take_sub(k, i); break;
  case LOP_BAG_GET: emit_bag_get(k, i); break;
  case LOP_BAG_SUB: emit_bag_sub(k, i); break;
  case LOP_BAG_FILL: emit_bag_fill(k, i); break;
  case LOP_CADD: emit_cadd(k, i); break;
  case LOP_IS_NULL: assign_reg(k, i->dst, compare(e, GC_EQ, reg(k, i->a), k_null(e))); break;
  case LOP_RETURN: emit_return(k, i); break;
  case LOP_COUNT: break;
  }
}
