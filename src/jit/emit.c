/* SPDX-License-Identifier: MIT */
/* LIR module to libgccjit: functions, frames, error exits, entry thunks.
 *
 * Reading order: emit_module declares a C function per LIR function (see Convention in emit.h), defines each (define),
 * and makes an exported thunk for each entry: int32 atled_entry_<k>(Mod *, const Slot *args, Slot *res), which is what
 * RtFunc.entry points to. Functions of a fragment that have no code there are called through the runtime. In a function
 * every register is one local; labels are blocks. Owned pointer registers start as NULL. Error exits jump into chains
 * of clean-up blocks, which exits share: cleanup_block. Which registers may hold references there is flow.c's to
 * tell. */
#include "jit/emit.h"
#include <string.h>

/* ---- Error exits ------------------------------------------------------------------------------------------------ */
static Rv *nothing(const Emit *e, SlotKind s) {
  return s == SLOT_FLOAT ? k_f64(e, 0) : s == SLOT_INT ? k_i64(e, 0) : k_null(e);
}

void end_with_status(Fn *k, Block *b, Status status) {
  Emit *e = k->e;
  switch (k->info->conv) {
  case CONV_PAIR: {
    SlotKind s = slot_kind(k->f->result_kinds[0]);
    Lv *pair = k->pair[s];
    e->g->block_add_assignment(b, NULL, e->g->lvalue_access_field(pair, NULL, e->pair_status[s]), k_i64(e, status));
    e->g->block_add_assignment(b, NULL, e->g->lvalue_access_field(pair, NULL, e->pair_value[s]), nothing(e, s));
    e->g->block_end_with_return(b, NULL, rv(e, pair));
    break;
  }
  case CONV_TWO: {
    if (!func_fallible(k->f)) fail_emit(e, "function %s holds an instruction that may fail, unforeseen", k->f->name);
    Lv *two = e->g->function_new_local(k->fn, NULL, type_of_two(e, k->f), "nothing");
    set_two_failed(e, b, k->mod, status);
    for (int r = 0; r < 2; r++)
      e->g->block_add_assignment(b, NULL, result_of_two(e, k->f, two, r), nothing(e, slot_kind(k->f->result_kinds[r])));
    e->g->block_end_with_return(b, NULL, rv(e, two));
    break;
  }
  case CONV_STATUS: e->g->block_end_with_return(b, NULL, k_i32(e, status)); break;
  case CONV_UNWIND: e->g->block_end_with_return(b, NULL, nothing(e, slot_kind(k->f->result_kinds[0]))); break;
  default:
    fail_emit(e, "function %s is marked as never failing but holds an instruction that may", k->f->name);
    e->g->block_end_with_jump(b, NULL, b);
    break;
  }
}

static const void *cleanup_key(const Fn *k, const uint64_t *set) {
  return (const void *)(uintptr_t)(hash_bytes(set, sizeof(uint64_t) * (size_t)k->flow.words, 1) | 1);
}

/* The clean-up of exactly this set; NULL if there is none yet. */
static Block *known_cleanup(const Fn *k, const uint64_t *set) {
  size_t size = sizeof(uint64_t) * (size_t)k->flow.words;
  for (const Cleanup *c = map_get(&k->cleanups, cleanup_key(k, set)); c; c = c->next)
    if (memcmp(c->set, set, size) == 0) return c->block;
  return NULL;
}

static Block *new_cleanup(Fn *k, const uint64_t *set) {
  const void *key = cleanup_key(k, set);
  Cleanup *c = NEW(k->e->arena, Cleanup);
  *c = (Cleanup){NEW_ARRAY(k->e->arena, uint64_t, k->flow.words + 1), new_block(k), map_get(&k->cleanups, key)};
  memcpy(c->set, set, sizeof(uint64_t) * (size_t)k->flow.words);
  map_put(&k->cleanups, key, c);
  return c->block;
}

/* The last register of the set, which leaves it; -1: it is empty. */
static int take_last(const Fn *k, uint64_t *set) {
  for (int word = k->flow.words - 1; word >= 0; word--) {
    if (!set[word]) continue;
    int bit = 63 - __builtin_clzll(set[word]);
    set[word] &= ~((uint64_t)1 << bit);
    return k->flow.reg_of[64 * word + bit];
  }
  return -1;
}

/* The block that releases the registers of the set, which is used up, and leaves: the last one, and then it goes on
 * to the block for the others. Registers are mostly filled and emptied like a stack, so a function needs hardly more
 * blocks than it has registers, each with one release. */
static Block *cleanup_block(Fn *k, uint64_t *set) {
  Emit *e = k->e;
  Block *first = NULL, *last = NULL;
  for (;;) {
    Block *known = known_cleanup(k, set), *b = known ? known : new_cleanup(k, set);
    if (last) e->g->block_end_with_jump(last, NULL, b);
    else first = b;
    if (known) return first;
    int held = take_last(k, set);
    if (held < 0) {
      end_with_status(k, b, 1);
      return first;
    }
    e->g->block_add_eval(b, NULL, CALL_TABLE(e, k->mod, rt_release, load_rt(e, k->mod), reg(k, held)));
    last = b;
  }
}

void leave_failed(Fn *k, Block *b, const LInstr *i) {
  uint64_t *set = NEW_ARRAY(k->e->arena, uint64_t, k->flow.words + 1);
  flow_on_failure(&k->flow, i, set);
  k->e->g->block_end_with_jump(b, NULL, cleanup_block(k, set));
}

void check_status(Fn *k, const LInstr *i, Rv *status, bool trace) {
  Emit *e = k->e;
  Block *no = branch_unless(k, compare(e, GC_EQ, cast(e, status, e->t_i64), k_i64(e, 0)));
  if (trace) e->g->block_add_eval(no, NULL, CALL_TABLE(e, k->mod, rt_trace, load_rt(e, k->mod), k_site(k, i->site)));
  leave_failed(k, no, i);
}

/* ---- Buffers of slots -------------------------------------------------------------------------------------------- */
Rv *pass_slots(Fn *k, const int32_t *regs, int n) {
  Emit *e = k->e;
  Rv *base = address(e, k->args);
  for (int a = 0; a < n; a++)
    assign(k, slot_at(e, base, k_i64(e, a), type_of_kind(e, k->f->regs[regs[a]].kind)), reg(k, regs[a]));
  return base;
}

Rv *results_buffer(Fn *k) { return address(k->e, k->res); }

void take_results(Fn *k, const LInstr *i) {
  Emit *e = k->e;
  for (int r = 0; r < i->nres; r++)
    if (i->res[r] >= 0) {
      Type *t = type_of_kind(e, k->f->regs[i->res[r]].kind);
      assign(k, k->regs[i->res[r]], rv(e, slot_at(e, results_buffer(k), k_i64(e, r), t)));
    }
}

static Lv *slot_buffer(Fn *k, int n, const char *name) {
  Emit *e = k->e;
  Type *t = e->g->context_new_array_type(e->ctx, NULL, e->t_i64, n > 0 ? n : 1);
  return e->g->function_new_local(k->fn, NULL, t, name);
}

/* Does the instruction pass its arguments, or get its results, through the buffers of slots? Frames of deep recursions
 * should be small. */
static bool uses_argument_slots(const Emit *e, const LInstr *i) {
  switch (i->op) {
  case LOP_CALL:
  case LOP_SWITCH:
  case LOP_RETURN:
  case LOP_NEW_BOX:
  case LOP_REFILL:
  case LOP_NEW_CLOSURE:
  case LOP_NEW_ENV: return false;
  case LOP_FOREIGN: return !takes_only_numbers(&e->m->foreigns[i->imm.i]);
  case LOP_ACC_AT: return !acc_in_registers(e, i);
  default: return true;
  }
}
static bool uses_result_slots(const Emit *e, const LInstr *i) {
  if (i->op == LOP_ACC_AT) return !acc_in_registers(e, i);
  if (i->op == LOP_CALL) return e->funcs[i->imm.i].leaves || results_through_memory(e, e->m->funcs[i->imm.i]);
  if (i->op == LOP_FOREIGN) return !takes_only_numbers(&e->m->foreigns[i->imm.i]);
  return i->op != LOP_OPEN && i->op != LOP_EMPTY;
}

/* Locals for the registers that aren't parameters, and for what instructions need besides. */
static void make_frame(Fn *k) {
  Emit *e = k->e;
  const LFunc *f = k->f;
  int most_args = 1, most_results = 1;
  for (int c = 0; c < f->ncode; c++) {
    const LInstr *i = &f->code[c];
    if (uses_argument_slots(e, i) && i->nargs > most_args) most_args = i->nargs;
    if (uses_result_slots(e, i) && i->nres > most_results) most_results = i->nres;
  }
  for (int r = f->nparams; r < f->nregs; r++) {
    char name[16];
    snprintf(name, sizeof name, "r%d", r);
    k->regs[r] = e->g->function_new_local(k->fn, NULL, type_of_kind(e, f->regs[r].kind), name);
    if (f->regs[r].kind == R_PTR) assign(k, k->regs[r], k_null(e));
  }
  open_partial_sums(k);
  if (k->lanes) find_lane_loops(k);
  if (has_loops(f)) k->rt = load_rt_once(k);
  k->args = slot_buffer(k, most_args, "args");
  k->res = slot_buffer(k, most_results, "results");
  k->status = e->g->function_new_local(k->fn, NULL, e->t_i32, "status");
  k->pointer = e->g->function_new_local(k->fn, NULL, e->t_ptr, "pointer");
  k->made = e->g->function_new_local(k->fn, NULL, e->t_ptr, "made");
  for (int s = 0; s < 3; s++) k->pair[s] = e->g->function_new_local(k->fn, NULL, e->pair[s], "pair");
  for (int l = 0; l < f->nlabels; l++)
    if (k->flow.at_label[l]) k->labels[l] = new_block(k);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static Type *result_type(const Emit *e, const LFunc *f, Convention conv) {
  switch (conv) {
  case CONV_VALUE:
  case CONV_UNWIND: return type_of_kind(e, f->result_kinds[0]);
  case CONV_PAIR: return e->pair[slot_kind(f->result_kinds[0])];
  case CONV_TWO: return type_of_two(e, f);
  case CONV_VOID: return e->t_void;
  default: return e->t_i32;
  }
}

/* The function's parameters: module, registers, results if they go through memory. How many. */
static int make_params(const Emit *e, const LFunc *f, gcc_jit_param **params) {
  int n = 0;
  params[n++] = e->g->context_new_param(e->ctx, NULL, e->t_ptr, "mod");
  for (int r = 0; r < f->nparams; r++)
    params[n++] = e->g->context_new_param(e->ctx, NULL, type_of_kind(e, f->regs[r].kind), "p");
  if (results_through_memory(e, f)) params[n++] = e->g->context_new_param(e->ctx, NULL, e->t_ptr, "out");
  return n;
}

/* Declares function f and leaves its parameters in params. */
static void declare(Emit *e, const LFunc *f, gcc_jit_param **params) {
  FuncInfo *info = &e->funcs[f->index];
  int n = make_params(e, f, params);
  char name[32];
  snprintf(name, sizeof name, "f%d", f->index);
  info->fn = e->g->context_new_function(e->ctx, NULL, GF_INTERNAL, result_type(e, f, info->conv), name, n, params, 0);
}

static void open_function(Fn *k, gcc_jit_param **params) {
  Emit *e = k->e;
  const LFunc *f = k->f;
  k->mod = e->g->param_as_rvalue(params[0]);
  if (results_through_memory(e, f)) k->out = e->g->param_as_rvalue(params[f->nparams + 1]);
  k->regs = NEW_ARRAY(e->arena, Lv *, f->nregs + 1);
  for (int r = 0; r < f->nparams; r++) k->regs[r] = e->g->param_as_lvalue(params[r + 1]);
  k->cur = new_block(k);
}

static void define(Emit *e, const LFunc *f, gcc_jit_param **params) {
  Fn k = {.e = e, .f = f, .info = &e->funcs[f->index], .fn = e->funcs[f->index].fn};
  open_function(&k, params);
  k.products = plan_products(e->arena, f);
  k.sums = plan_sums(e->arena, f);
  k.labels = NEW_ARRAY(e->arena, Block *, f->nlabels + 1);
  map_init(&k.cleanups, e->arena);
  map_init(&k.waves, e->arena);
  map_init(&k.partial, e->arena);
  map_init(&k.wide_sums, e->arena);
  map_init(&k.vector_sums, e->arena);
  map_init(&k.lane_loops, e->arena);
  if (e->width && has_loops(f)) k.lanes = lanes_facts(e->arena, e->m, f);
  flow_init(&k.flow, e->arena, e->m, f);
  for (bool again = true; again;) {
    again = false;
    flow_restart(&k.flow);
    for (int c = 0; c < f->ncode; c++) again |= flow_step(&k.flow, &f->code[c]);
  }
  flow_restart(&k.flow);
  make_frame(&k);
  bool on_entry;
  const bool *late = plan_stack_checks(e, f, &on_entry);
  if (on_entry) check_stack(&k);
  for (int c = 0; c < f->ncode; c++) {
    const LInstr *i = &f->code[c];
    bool here = k.flow.reachable || (i->op == LOP_LABEL && k.flow.at_label[i->imm.i]);
    if (here && late[c]) check_stack(&k);
    if (here) emit_instr(&k, i);
    flow_step(&k.flow, i);
    int done = here && i->op == LOP_LABEL && k.lanes ? emit_lanes(&k, c) : c;
    while (c < done) flow_step(&k.flow, &f->code[++c]);
    if (e->error) return;
  }
  if (k.cur) fail_emit(e, "function %s has no return at its end", f->name);
}

/* How a function of a fragment is called from other fragments, which know nothing of its code: as one that may fail. */
static Convention direct_convention(const LFunc *f) {
  return f->nresults == 2 ? CONV_TWO : f->nresults == 1 ? CONV_PAIR : CONV_STATUS;
}

static Type *direct_type(const Emit *e, const LFunc *f) {
  Type **types = NEW_ARRAY(e->arena, Type *, f->nparams + 2);
  int n = 0;
  types[n++] = e->t_ptr;
  for (int r = 0; r < f->nparams; r++) types[n++] = type_of_kind(e, f->regs[r].kind);
  if (results_through_memory(e, f)) types[n++] = e->t_ptr;
  return e->g->context_new_function_ptr_type(e->ctx, NULL, result_type(e, f, direct_convention(f)), n, types, 0);
}

/* Calls it by its machine code if it has some, else goes on. */
static void try_directly(Fn *k, Rv *func) {
  Emit *e = k->e;
  int n = 0;
  Rv **args = NEW_ARRAY(e->arena, Rv *, k->f->nparams + 2);
  Rv *code = load(e, func, offsetof(RtFunc, direct), direct_type(e, k->f));
  Block *no = branch_unless(k, compare(e, GC_NE, load(e, func, offsetof(RtFunc, direct), e->t_ptr), k_null(e)));
  Rv *native = load(e, func, offsetof(RtFunc, native), e->t_ptr),
     *peers = load(e, native, offsetof(Mod, peers), e->t_ptr);
  Rv *worker = cast(e, load(e, load_rt(e, k->mod), offsetof(Rt, worker), e->t_i32), e->t_i64);
  args[n++] = rv(e, slot_at(e, peers, worker, e->t_ptr));
  for (int r = 0; r < k->f->nparams; r++) args[n++] = reg(k, r);
  if (k->out) args[n++] = k->out;
  e->g->block_end_with_return(k->cur, NULL, e->g->context_new_call_through_ptr(e->ctx, NULL, code, n, args));
  k->cur = no;
}

/* Outside of the fragment: whoever has its code, the runtime finds it. */
static void define_outside(Emit *e, const LFunc *outside, gcc_jit_param **params) {
  LFunc *f = NEW(e->arena, LFunc);
  *f = *outside;
  f->nregs = f->nparams + f->nresults;
  f->regs = NEW_ARRAY(e->arena, LReg, f->nregs + 1);
  memcpy(f->regs, outside->regs, sizeof *f->regs * (size_t)f->nparams);
  for (int r = 0; r < f->nresults; r++) f->regs[f->nparams + r].kind = f->result_kinds[r];
  int32_t *regs = NEW_ARRAY(e->arena, int32_t, f->nregs + 1);
  for (int r = 0; r < f->nregs; r++) regs[r] = r;
  LInstr end = {.op = LOP_RETURN, .args = regs + f->nparams, .nargs = f->nresults};
  LInstr taken = {.op = LOP_CALL, .res = end.args, .nres = f->nresults};
  Fn k = {.e = e, .f = f, .info = &e->funcs[f->index], .fn = e->funcs[f->index].fn};
  open_function(&k, params);
  Rv *func = load_func(e, k.mod, f->index);
  try_directly(&k, func);
  flow_init(&k.flow, e->arena, e->m, f);
  make_frame(&k);
  k.args = slot_buffer(&k, f->nparams, "args");
  k.res = slot_buffer(&k, f->nresults, "results");
  Rv *slots = pass_slots(&k, regs, f->nparams);
  assign(&k, k.status, CALL_TABLE(e, k.mod, rt_enter, load_rt(e, k.mod), func, slots, results_buffer(&k)));
  Block *no = branch_unless(&k, compare(e, GC_EQ, rv(e, k.status), k_i32(e, 0)));
  Block *left = new_block(&k), *failed = new_block(&k);
  e->g->block_end_with_conditional(no, NULL, compare(e, GC_EQ, rv(e, k.status), k_i32(e, RT_TAIL)), left, failed);
  end_with_status(&k, left, RT_TAIL);
  end_with_status(&k, failed, 1);
  take_results(&k, &taken);
  emit_instr(&k, &end);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
static void define_entry(Emit *e, const LFunc *f) {
  const GccApi *g = e->g;
  const FuncInfo *info = &e->funcs[f->index];
  gcc_jit_param *params[3];
  static const char *const names[] = {"mod", "args", "results"};
  for (int p = 0; p < 3; p++) params[p] = g->context_new_param(e->ctx, NULL, e->t_ptr, names[p]);
  char name[EXPORT_SIZE];
  EXPORT_NAME(e, name, JIT_ENTRY, f->index);
  gcc_jit_function *fn = g->context_new_function(e->ctx, NULL, GF_EXPORTED, e->t_i32, name, 3, params, 0);
  Block *b = g->function_new_block(fn, NULL);
  Rv **args = NEW_ARRAY(e->arena, Rv *, f->nparams + 2), *slots = g->param_as_rvalue(params[1]);
  Rv *out = g->param_as_rvalue(params[2]);
  int n = 0;
  args[n++] = g->param_as_rvalue(params[0]);
  for (int r = 0; r < f->nparams; r++)
    args[n++] = load(e, slots, (size_t)r * sizeof(Slot), type_of_kind(e, f->regs[r].kind));
  if (results_through_memory(e, f)) args[n++] = out;
  Rv *result = call(e, info->fn, n, args);
  switch (info->conv) {
  case CONV_VALUE:
  case CONV_UNWIND:
    g->block_add_assignment(b, NULL, place(e, out, 0, type_of_kind(e, f->result_kinds[0])), result);
    g->block_end_with_return(b, NULL, info->conv == CONV_UNWIND ? end_unwinding(e, args[0]) : k_i32(e, 0));
    break;
  case CONV_VOID:
    g->block_add_eval(b, NULL, result);
    g->block_end_with_return(b, NULL, k_i32(e, 0));
    break;
  case CONV_STATUS: g->block_end_with_return(b, NULL, result); break;
  case CONV_TWO: {
    Lv *two = g->function_new_local(fn, NULL, type_of_two(e, f), "two");
    Lv *status = g->function_new_local(fn, NULL, e->t_i32, "status");
    g->block_add_assignment(b, NULL, two, result);
    for (int r = 0; r < 2; r++)
      g->block_add_assignment(b, NULL, place(e, out, (size_t)r * sizeof(Slot), type_of_kind(e, f->result_kinds[r])),
                              rv(e, result_of_two(e, f, two, r)));
    g->block_add_assignment(b, NULL, status, two_failed(e, args[0]));
    set_two_failed(e, b, args[0], 0);
    g->block_end_with_return(b, NULL, rv(e, status));
    break;
  }
  case CONV_PAIR: {
    SlotKind s = slot_kind(f->result_kinds[0]);
    Lv *pair = g->function_new_local(fn, NULL, e->pair[s], "pair");
    g->block_add_assignment(b, NULL, pair, result);
    Rv *value = rv(e, g->lvalue_access_field(pair, NULL, e->pair_value[s]));
    g->block_add_assignment(b, NULL, place(e, out, 0, type_of_kind(e, f->result_kinds[0])), value);
    g->block_end_with_return(b, NULL, cast(e, rv(e, g->lvalue_access_field(pair, NULL, e->pair_status[s])), e->t_i32));
    break;
  }
  }
}

/* With the status of a call that succeeded, or that an error raised in the function's entry ends. */
static void give_pair(Emit *e, gcc_jit_function *fn, Block *b, Rv *status, Rv *value, SlotKind s) {
  Lv *pair = e->g->function_new_local(fn, NULL, e->pair[s], "pair");
  e->g->block_add_assignment(b, NULL, e->g->lvalue_access_field(pair, NULL, e->pair_value[s]), value);
  e->g->block_add_assignment(b, NULL, e->g->lvalue_access_field(pair, NULL, e->pair_status[s]), status);
  e->g->block_end_with_return(b, NULL, rv(e, pair));
}

/* What other fragments call. */
static void define_direct(Emit *e, const LFunc *f) {
  const GccApi *g = e->g;
  const FuncInfo *info = &e->funcs[f->index];
  gcc_jit_param **params = NEW_ARRAY(e->arena, gcc_jit_param *, f->nparams + 2);
  int n = make_params(e, f, params);
  char name[EXPORT_SIZE];
  EXPORT_NAME(e, name, JIT_DIRECT, f->index);
  Type *type = result_type(e, f, direct_convention(f));
  gcc_jit_function *fn = g->context_new_function(e->ctx, NULL, GF_EXPORTED, type, name, n, params, 0);
  Block *b = g->function_new_block(fn, NULL);
  Rv **args = NEW_ARRAY(e->arena, Rv *, n), *result;
  for (int k = 0; k < n; k++) args[k] = g->param_as_rvalue(params[k]);
  result = call(e, info->fn, n, args);
  switch (info->conv) {
  case CONV_VALUE: give_pair(e, fn, b, k_i64(e, 0), result, slot_kind(f->result_kinds[0])); break;
  case CONV_UNWIND: {
    Lv *value = g->function_new_local(fn, NULL, type_of_kind(e, f->result_kinds[0]), "value");
    Block *fine = g->function_new_block(fn, NULL), *ended = g->function_new_block(fn, NULL);
    g->block_add_assignment(b, NULL, value, result);
    Rv *flag = load(e, load_rt(e, args[0]), offsetof(Rt, unwinding), e->t_i32);
    g->block_end_with_conditional(b, NULL, likely(e, compare(e, GC_EQ, flag, k_i32(e, 0)), true), fine, ended);
    give_pair(e, fn, fine, k_i64(e, 0), rv(e, value), slot_kind(f->result_kinds[0]));
    give_pair(e, fn, ended, cast(e, end_unwinding(e, args[0]), e->t_i64), rv(e, value), slot_kind(f->result_kinds[0]));
    break;
  }
  case CONV_VOID:
    g->block_add_eval(b, NULL, result);
    g->block_end_with_return(b, NULL, k_i32(e, 0));
    break;
  case CONV_PAIR:
  case CONV_TWO:
  case CONV_STATUS: g->block_end_with_return(b, NULL, result); break;
  }
}

static void declare_foreigns(Emit *e) {
  if (!e->m->nforeigns) return;
  Type *table = e->g->context_new_array_type(e->ctx, NULL, e->t_ptr, e->m->nforeigns);
  e->foreigns = e->g->context_new_global(e->ctx, NULL, GG_EXPORTED, table, JIT_FOREIGNS);
}

bool emit_module(Emit *e) {
  const LModule *m = e->m;
  build_init(e);
  e->funcs = NEW_ARRAY(e->arena, FuncInfo, m->nfuncs + 1);
  declare_foreigns(e);
  choose_conventions(e);
  find_left_calls(e);
  gcc_jit_param ***params = NEW_ARRAY(e->arena, gcc_jit_param **, m->nfuncs + 1);
  for (int k = 0; k < m->nfuncs; k++) {
    params[k] = NEW_ARRAY(e->arena, gcc_jit_param *, m->funcs[k]->nparams + 2);
    declare(e, m->funcs[k], params[k]);
  }
  for (int k = 0; k < m->nfuncs && !e->error; k++) {
    if (m->funcs[k]->ncode) define(e, m->funcs[k], params[k]);
    else define_outside(e, m->funcs[k], params[k]);
    if (!e->error && m->funcs[k]->is_entry) define_entry(e, m->funcs[k]);
    if (!e->error && m->funcs[k]->is_root) define_direct(e, m->funcs[k]);
  }
  return !e->error;
}
