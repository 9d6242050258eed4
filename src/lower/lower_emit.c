/* SPDX-License-Identifier: MIT */
/* Emitting instructions: registers, labels, moves, constants, and what is known about array registers.
 *
 * Of an array register lowering remembers where its data pointer and dimensions are, so that they are read once and
 * stand outside of loops; and whether the array is fresh, that is, certainly unshared. What was learnt inside an arm
 * or a loop holds only there: fn_scope and fn_leave bracket such stretches. A register that a loop or a join assigns
 * anew gets its remembered registers reloaded by the assignment (fn_move).
 *
 * A register may also be virtual: part of another array, known by an offset, which never exists as an object. */
#include "lower/lower_internal.h"
#include <string.h>

int fn_reg(Fn *fn, LRegKind kind) {
  vec_push(fn->m->arena, fn->regs, ((LReg){(uint8_t)kind, false}));
  vec_push(fn->m->arena, fn->info, ((RegInfo){.data = -1, .base = -1, .offset = -1, .first = -1}));
  return fn->regs.len - 1;
}

void fn_publish_regs(Fn *fn) {
  fn->f->regs = fn->regs.data;
  fn->f->nregs = fn->regs.len;
}

int *fn_regs(Fn *fn, const Layout *l) {
  int *r = NEW_ARRAY(fn->m->arena, int, l->n + 1);
  for (int i = 0; i < l->n; i++) r[i] = fn_reg(fn, l->kinds[i]);
  return r;
}

int *fn_copy(Fn *fn, const int *r, int n) {
  int *c = NEW_ARRAY(fn->m->arena, int, n + 1);
  if (n) memcpy(c, r, sizeof(int) * (size_t)n);
  return c;
}

static void shared(Fn *fn, int reg) {
  if (reg >= 0) fn->info.data[reg].fresh = false;
}

LInstr *fn_emit(Fn *fn, LOp op, int dst, int a, int b, int c) {
  LInstr in = {.op = op, .dst = dst, .a = a, .b = b, .c = c};
  vec_push(fn->m->arena, fn->code, in);
  const int fields[] = {dst, a, b, c};
  for (LOperand k = LOPERAND_DST; k <= LOPERAND_C; k++)
    if (lir_use(op, k) == 't' || lir_use(op, k) == 'k') shared(fn, fields[k]);
  if (op == LOP_NEW_ARRAY || op == LOP_UNIQUE || op == LOP_COPY) fn->info.data[dst].fresh = true;
  return &fn->code.data[fn->code.len - 1];
}

void fn_args(Fn *fn, const int *r, int n) {
  LInstr *in = &fn->code.data[fn->code.len - 1];
  in->args = NEW_ARRAY(fn->m->arena, int32_t, n + 1);
  in->nargs = n;
  for (int i = 0; i < n; i++) {
    in->args[i] = r[i];
    if (lir_holds(in->op, LOPERAND_ARGS) != 'l') shared(fn, r[i]);
  }
}

void fn_results(Fn *fn, const int *r, int n) {
  LInstr *in = &fn->code.data[fn->code.len - 1];
  in->res = NEW_ARRAY(fn->m->arena, int32_t, n + 1);
  in->nres = n;
  for (int i = 0; i < n; i++) {
    in->res[i] = r[i];
    shared(fn, r[i]);
  }
}

/* Constants in loops are defined once, at function entry. */
int fn_int(Fn *fn, int64_t v) {
  const void *key = (const void *)((uintptr_t)v * 2 + 1);
  bool once = fn->loop_depth > 0 && v >= 0 && v < INT32_MAX;
  if (once && map_get(&fn->const_rows, key)) return (int)(uintptr_t)map_get(&fn->const_rows, key) - 1;
  int r = fn_reg(fn, R_INT);
  if (once) {
    LInstr in = {.op = LOP_INT, .dst = r, .a = -1, .b = -1, .c = -1, .imm.i = v};
    vec_push(fn->m->arena, fn->consts, in);
    map_put(&fn->const_rows, key, (void *)(uintptr_t)(r + 1));
  } else {
    fn_emit(fn, LOP_INT, r, -1, -1, -1)->imm.i = v;
  }
  return r;
}

int fn_scalar(Fn *fn, Op op, int a, int b) {
  int r = fn_reg(fn, op == OP_FADD ? R_FLOAT : R_INT);
  fn_emit(fn, LOP_SCALAR, r, a, b, -1)->sub = (uint16_t)op;
  return r;
}

int fn_mul(Fn *fn, int a, int b) {
  if (a < 0) return b;
  return b < 0 ? a : fn_scalar(fn, OP_IMUL, a, b);
}

int fn_add(Fn *fn, int a, int b) {
  if (a < 0) return b;
  return b < 0 ? a : fn_scalar(fn, OP_IADD, a, b);
}

int fn_label(Fn *fn) { return fn->nlabels++; }
void fn_place(Fn *fn, int label) { fn_emit(fn, LOP_LABEL, -1, -1, -1, -1)->imm.i = label; }
void fn_jump(Fn *fn, int label) { fn_emit(fn, LOP_JUMP, -1, -1, -1, -1)->imm.i = label; }
void fn_branch(Fn *fn, int cond, int label) { fn_emit(fn, LOP_BRANCH, -1, cond, -1, -1)->imm.i = label; }

/* ---- What is known of arrays ---- */
int fn_scope(Fn *fn) { return fn->undo.len; }

void fn_leave(Fn *fn, int scope) {
  while (fn->undo.len > scope) {
    CacheUndo u = fn->undo.data[--fn->undo.len];
    RegInfo *info = &fn->info.data[u.reg];
    if (u.dim < 0) info->data = -1;
    else info->dims[u.dim] = -1;
  }
}

/* Reads something of an array where it is known from then on. */
static void remember(Fn *fn, LInstr in, int dim) {
  if (fn->info.data[in.a].constant) {
    vec_push(fn->m->arena, fn->consts, in);
    return;
  }
  vec_push(fn->m->arena, fn->code, in);
  vec_push(fn->m->arena, fn->undo, ((CacheUndo){in.a, dim}));
}

int fn_data(Fn *fn, int array) {
  if (fn->info.data[array].base >= 0) array = fn->info.data[array].base;
  if (fn->info.data[array].data >= 0) return fn->info.data[array].data;
  int r = fn_reg(fn, R_RAW);
  fn->info.data[array].data = r;
  remember(fn, (LInstr){.op = LOP_DATA, .dst = r, .a = array, .b = -1, .c = -1}, -1);
  return r;
}

int fn_dim(Fn *fn, int array, int k) {
  RegInfo *info = &fn->info.data[array];
  if (info->base >= 0) {
    if (k == 0 && info->first >= 0) return info->first;
    return fn_dim(fn, info->base, info->skip + k);
  }
  if (k >= LIMIT_RANK) {
    lower_error(fn->m, "an array of more than %d dimensions", LIMIT_RANK);
    return 0;
  }
  if (!info->dims) {
    info->dims = NEW_ARRAY(fn->m->arena, int, LIMIT_RANK);
    for (int i = 0; i < LIMIT_RANK; i++) info->dims[i] = -1;
  }
  if (info->dims[k] >= 0) return info->dims[k];
  if (info->shape) {
    int known = fn_int(fn, info->shape[k]);
    fn->info.data[array].dims[k] = known;
    vec_push(fn->m->arena, fn->undo, ((CacheUndo){array, k}));
    return known;
  }
  int r = fn_reg(fn, R_INT);
  fn->info.data[array].dims[k] = r;
  remember(fn, (LInstr){.op = LOP_DIM, .dst = r, .a = array, .b = -1, .c = -1, .imm.i = k}, k);
  return r;
}

/* ---- Moves ---- */
static void reload(Fn *fn, int array) {
  RegInfo *info = &fn->info.data[array];
  int data = info->data, *dims = info->dims;
  if (data >= 0) fn_emit(fn, LOP_DATA, data, array, -1, -1);
  for (int k = 0; dims && k < LIMIT_RANK; k++)
    if (dims[k] >= 0) fn_emit(fn, LOP_DIM, dims[k], array, -1, -1)->imm.i = k;
}

void fn_move(Fn *fn, int dst, int src, bool reloads) {
  if (dst == src) return;
  fn_emit(fn, LOP_MOVE, dst, src, -1, -1);
  fn->info.data[dst].fresh = false;
  if (reloads && fn->regs.data[dst].kind == R_PTR) reload(fn, dst);
}

/* How many moves still read register r. */
static int readers(const int *src, const bool *done, int n, int r) {
  int k = 0;
  for (int i = 0; i < n; i++) k += !done[i] && src[i] == r;
  return k;
}

void fn_parallel_move(Fn *fn, const int *dst, const int *src_in, int n, bool reloads) {
  int *src = fn_copy(fn, src_in, n), left = 0;
  bool *done = NEW_ARRAY(fn->m->arena, bool, n + 1);
  for (int i = 0; i < n; i++) left += !(done[i] = dst[i] == src[i]);
  while (left > 0) {
    bool progress = false;
    for (int i = 0; i < n; i++) {
      if (done[i] || readers(src, done, n, dst[i])) continue;
      fn_move(fn, dst[i], src[i], reloads);
      done[i] = progress = true;
      left--;
    }
    if (progress) continue;
    int i = 0;
    while (done[i]) i++;
    int t = fn_reg(fn, fn->regs.data[dst[i]].kind), r = dst[i];
    fn_emit(fn, LOP_MOVE, t, r, -1, -1);
    for (int k = 0; k < n; k++)
      if (!done[k] && src[k] == r) src[k] = t;
  }
}

/* dst = the zero of type t, slot by slot. An array is never NULL: its data is read ahead of the tests that tell whether
 * it means anything. */
void fn_zero(Fn *fn, IrType *t, const int *dst) {
  switch (t->kind) {
  case T_UNIT:
  case T_TOKEN: break;
  case T_TUPLE:
    for (int i = 0; i < t->n; i++) {
      fn_zero(fn, t->args[i], dst);
      dst += lower_slots(fn->m->w, t->args[i]);
    }
    break;
  case T_INT:
  case T_BOOL: fn_emit(fn, LOP_INT, dst[0], -1, -1, -1)->imm.i = 0; break;
  case T_FLOAT: fn_emit(fn, LOP_FLOAT, dst[0], -1, -1, -1)->imm.f = 0; break;
  case T_STRING: {
    int64_t index = lower_string_index(fn->m, sym_of(fn->m->w->syms, ""));
    fn_emit(fn, LOP_STRING, dst[0], -1, -1, -1)->imm.i = index;
    break;
  }
  case T_ARRAY: {
    int64_t empty = lower_empty_array_index(fn->m, t);
    fn_emit(fn, LOP_BOX, dst[0], -1, -1, -1)->imm.i = empty;
    break;
  }
  default: fn_emit(fn, LOP_NULLPTR, dst[0], -1, -1, -1);
  }
}
