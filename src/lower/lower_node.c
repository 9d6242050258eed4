/* SPDX-License-Identifier: MIT */
/* Lowering of one graph and of its nodes one by one.
 *
 * A Frame is one graph being lowered into the current function: the registers of its parameters and of each node.
 * Each node has a Row, a register per slot of its type; tuples and projections only regroup registers and emit
 * nothing. Registers of rows aren't assigned twice, but for loop variables, joins and what is updated in place.
 *
 * Here are products, sums, functions, checks and scalars; the rest is in lower_array.c, lower_control.c and
 * lower_loop.c. */
#include "lower/lower_internal.h"
#include "support/host_library.h"
#include <string.h>

static World *world(Frame *fr) { return fr->fn->m->w; }

Row frame_row(Frame *fr, const Node *x) { return fr->rows[sched_pos(fr->s, x)]; }
int frame_reg(Frame *fr, const Node *x) { return frame_row(fr, x).r[0]; }

bool frame_can_take(Frame *fr, const Node *x, int reg) {
  const RegInfo *info = &fr->fn->info.data[reg];
  return info->pins == 0 && !info->constant && sched_last_use(fr->s, x, fr->pos);
}

int frame_take(Frame *fr, const Node *x) {
  int reg = frame_reg(fr, x);
  if (frame_can_take(fr, x, reg)) return reg;
  int copy = fn_reg(fr->fn, R_PTR);
  fn_move(fr->fn, copy, reg, false);
  return copy;
}

static Row new_row(Frame *fr, const Node *x) {
  const Layout *l = lower_layout(world(fr), x->type);
  return (Row){fn_regs(fr->fn, l), l->n};
}

/* The registers of all operands from `first` on. */
static Row operand_regs(Frame *fr, const Node *x, int first) {
  int n = 0;
  for (int k = first; k < x->nops; k++) n += frame_row(fr, x->ops[k]).n;
  int *r = NEW_ARRAY(fr->fn->m->arena, int, n + 1), at = 0;
  for (int k = first; k < x->nops; k++) {
    Row part = frame_row(fr, x->ops[k]);
    for (int i = 0; i < part.n; i++) r[at++] = part.r[i];
  }
  return (Row){r, n};
}

/* ---- Constants ---- */
static void fill_constant(Frame *fr, const Node *x, LInstr *in) {
  Lower *m = fr->fn->m;
  switch (x->op) {
  case OP_FLOAT:
    in->op = LOP_FLOAT;
    in->imm.f = x->attr.f;
    break;
  case OP_STRING:
    in->op = LOP_STRING;
    in->imm.i = lower_string_index(m, x->attr.text);
    break;
  case OP_DATA:
    in->op = LOP_BOX;
    in->imm.i = lower_box_index(m, x);
    break;
  case OP_GRAPH_ID:
    in->op = LOP_FUNC_ID;
    in->imm.i = lower_graph_func(m, x->graphs[0], true)->index;
    break;
  default: in->op = LOP_INT; in->imm.i = x->attr.i;
  }
}

static void emit_constant(Fn *fn, LInstr in, bool once) {
  if (once) vec_push(fn->m->arena, fn->consts, in);
  else vec_push(fn->m->arena, fn->code, in);
}

Row lower_constant(Frame *fr, const Node *x) {
  Fn *fn = fr->fn;
  bool once = fn->loop_depth > 0;
  const int *known = once ? map_get(&fn->const_rows, x) : NULL;
  int n = lower_slots(world(fr), x->type);
  if (known) return (Row){known, n};
  Row row = new_row(fr, x);
  for (int i = 0; i < n; i++) {
    LInstr in = {.dst = row.r[i], .a = -1, .b = -1, .c = -1};
    if (x->op == OP_GLOBAL) {
      in.op = LOP_GLOBAL;
      in.a = lower_global_index(fn->m, x->attr.global);
      in.b = i;
    } else {
      fill_constant(fr, x, &in);
    }
    emit_constant(fn, in, once);
  }
  if (x->op == OP_DATA) fn->info.data[row.r[0]].shape = x->attr.data->dims;
  if (!once) return row;
  map_put(&fn->const_rows, x, (void *)(uintptr_t)row.r);
  for (int i = 0; i < n; i++) fn->info.data[row.r[i]].constant = true;
  return row;
}

/* ---- Products and sums ---- */
static Row lower_get(Frame *fr, const Node *x) {
  const Node *t = x->ops[0];
  Row whole = frame_row(fr, t);
  int k = (int)x->attr.i;
  return (Row){whole.r + lower_offset(world(fr), t->type, k), lower_slots(world(fr), t->type->args[k])};
}

static Row lower_inj(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int tag = (int)x->attr.i, box = lower_box_index(fn->m, x);
  Row row = new_row(fr, x);
  if (box >= 0) {
    fn_emit(fn, LOP_BOX, row.r[0], -1, -1, -1)->imm.i = box;
    return row;
  }
  Row fields = operand_regs(fr, x, 0);
  if (x->type->kind == T_ENV) {
    int64_t index = lower_graph_func(fn->m, x->graphs[0], true)->index;
    fn_emit(fn, LOP_NEW_ENV, row.r[0], -1, -1, -1)->imm.i = index;
    fn_args(fn, fields.r, fields.n);
  } else if (x->type->nullable && tag == 0) {
    fn_emit(fn, LOP_NULLPTR, row.r[0], -1, -1, -1);
  } else if (fields.n == 0) {
    fn_emit(fn, LOP_IMMEDIATE, row.r[0], -1, -1, -1)->imm.i = tag;
  } else {
    if (tag > LIMIT_TAG) lower_error(fn->m, "a variant of more than %d constructors", LIMIT_TAG);
    int64_t desc = lower_desc_index(fn->m, x->type);
    fn_emit(fn, LOP_NEW_BOX, row.r[0], -1, tag, -1)->imm.i = desc;
    fn_args(fn, fields.r, fields.n);
  }
  return row;
}

/* Fields of the value of x->ops[0]. What the compiler made for a single use is taken apart by it: its memory is free
 * at once. So is what holds an array that is changed next: once out of the box, it isn't shared with it. */
static void read_fields(Frame *fr, const Node *x, LOp op, Row row, int object) {
  Fn *fn = fr->fn;
  const IrType *t = x->ops[0]->type;
  bool apart = t->nullable || t->once || sched_consumed(fn->m, fr->s, x);
  if (op == LOP_FIELD && row.n && apart && frame_can_take(fr, x->ops[0], object)) {
    fn_emit(fn, LOP_OPEN, -1, object, -1, -1);
    fn_results(fn, row.r, row.n);
    return;
  }
  for (int i = 0; i < row.n; i++) fn_emit(fn, op, row.r[i], object, i, -1);
}

/* Accumulators may be null, or of another constructor: then all slots are zero. */
static Row lower_uninj(Frame *fr, Node *x) {
  Fn *fn = fr->fn;
  int v = frame_reg(fr, x->ops[0]);
  Row row = new_row(fr, x);
  bool env = x->ops[0]->type->kind == T_ENV;
  LOp op = env ? LOP_ENV_FIELD : LOP_FIELD;
  if (!env && !x->ops[0]->type->nullable) {
    read_fields(fr, x, op, row, v);
    return row;
  }
  int cond, other = fn_label(fn), end = fn_label(fn);
  if (env) {
    int null = fn_reg(fn, R_INT);
    fn_emit(fn, LOP_IS_NULL, null, v, -1, -1);
    cond = fn_scalar(fn, OP_NOT, null, -1);
  } else {
    int tag = fn_reg(fn, R_INT);
    fn_emit(fn, LOP_TAG, tag, v, -1, -1);
    cond = fn_scalar(fn, OP_IEQ, tag, fn_int(fn, x->attr.i));
  }
  fn_branch(fn, cond, other);
  read_fields(fr, x, op, row, v);
  fn_jump(fn, end);
  fn_place(fn, other);
  fn_zero(fn, x->type, row.r);
  fn_place(fn, end);
  return row;
}

static Row lower_byte(Frame *fr, Node *x) {
  Row row = new_row(fr, x);
  fn_emit(fr->fn, LOP_BYTE, row.r[0], frame_reg(fr, x->ops[0]), frame_reg(fr, x->ops[1]), -1);
  return row;
}

static Row lower_tag(Frame *fr, Node *x) {
  Row row = new_row(fr, x);
  int v = frame_reg(fr, x->ops[0]);
  if (x->ops[0]->type->kind == T_ENV) {
    int null = fn_reg(fr->fn, R_INT);
    fn_emit(fr->fn, LOP_IS_NULL, null, v, -1, -1);
    fn_emit(fr->fn, LOP_SCALAR, row.r[0], null, -1, -1)->sub = OP_NOT;
  } else {
    fn_emit(fr->fn, LOP_TAG, row.r[0], v, -1, -1);
  }
  return row;
}

/* ---- Functions ---- */
/* Parts of arrays that were only read so far become objects. */
static Row captured_regs(Frame *fr, const Node *x) {
  Row all = operand_regs(fr, x, 0);
  int *regs = fn_copy(fr->fn, all.r, all.n);
  for (int k = 0, at = 0; k < x->nops; at += lower_slots(world(fr), x->ops[k++]->type)) {
    if (x->ops[k]->type->kind != T_ARRAY) continue;
    RegInfo part = fr->fn->info.data[regs[at]];
    if (part.base < 0) continue;
    regs[at] = array_part(fr->fn, x->ops[k]->type, false, part.base, part.offset, part.skip, part.first);
  }
  return (Row){regs, all.n};
}

static Row lower_closure(Frame *fr, Node *x) {
  Row row = new_row(fr, x), caps = captured_regs(fr, x);
  int64_t index = lower_graph_func(fr->fn->m, x->graphs[0], true)->index;
  fn_emit(fr->fn, LOP_NEW_CLOSURE, row.r[0], -1, -1, -1)->imm.i = index;
  fn_args(fr->fn, caps.r, caps.n);
  return row;
}

static Row lower_closure_cap(Frame *fr, Node *x) {
  Row row = new_row(fr, x);
  int own = x->ops[0]->type->effect ? 2 : 1, first = 0, f = frame_reg(fr, x->ops[0]);
  for (int k = 0; k < x->attr.i; k++) first += lower_slots(world(fr), x->graphs[0]->params[own + k]);
  for (int i = 0; i < row.n; i++) fn_emit(fr->fn, LOP_CAPTURE, row.r[i], f, first + i, -1);
  return row;
}

static Row lower_apply(Frame *fr, Node *x) {
  Row row = new_row(fr, x), args = operand_regs(fr, x, 1);
  fn_emit(fr->fn, LOP_APPLY, -1, frame_reg(fr, x->ops[0]), -1, -1)->site = x->site;
  fn_args(fr->fn, args.r, args.n);
  fn_results(fr->fn, row.r, row.n);
  return row;
}

static bool gives_c_bool(const Func *f) {
  return !host_library(f->foreign.library) && lower_foreign_result(f)->kind == T_BOOL;
}

/* Of a C function that gives a bool only the lowest byte is defined. */
static int c_bool(Fn *fn, int r) {
  return fn_scalar(fn, OP_INE, fn_scalar(fn, OP_IAND, r, fn_int(fn, 255)), fn_int(fn, 0));
}

static Row lower_call(Frame *fr, Node *x) {
  Lower *m = fr->fn->m;
  Row row = new_row(fr, x), args = operand_regs(fr, x, 0);
  Func *f = x->attr.func;
  bool foreign = f->foreign.symbol && !f->graph;
  if (!foreign && !f->graph) {
    lower_error(m, "call of unfinished function %s", f->name ? f->name : "?");
    return row;
  }
  int64_t index = foreign ? lower_foreign(m, f) : lower_func(m, f)->index;
  LInstr *in = fn_emit(fr->fn, foreign ? LOP_FOREIGN : LOP_CALL, -1, -1, -1, -1);
  in->imm.i = index;
  in->site = x->site;
  fn_args(fr->fn, args.r, args.n);
  fn_results(fr->fn, row.r, row.n);
  if (foreign && gives_c_bool(f)) {
    int *r = NEW_ARRAY(m->arena, int, 1);
    *r = c_bool(fr->fn, row.r[0]);
    row.r = r;
  }
  return row;
}

/* Is its operand a string of the loop that makes its bytes? */
static bool is_filled_text(const Frame *fr, const Node *x) {
  const Node *output = x->ops[0], *loop = output->op == OP_GET ? output->ops[0] : NULL;
  if (ir_rt_id(x->attr.rt) != RTP_STR_OF_BYTES || !loop || loop->op != OP_LOOP) return false;
  int stack = (int)output->attr.i - loop_slots(loop->loop);
  return stack >= 0 && stack < loop->loop->nstacked && frame_text(fr, loop, stack);
}

static Row lower_rt(Frame *fr, Node *x) {
  Row row = new_row(fr, x), args = operand_regs(fr, x, 0);
  int64_t desc = x->type_arg ? lower_desc_index(fr->fn->m, x->type_arg) : -1;
  LInstr *in = fn_emit(fr->fn, LOP_RT, -1, -1, -1, -1);
  in->sub = is_filled_text(fr, x) ? RTP_STR_CHECKED : (uint32_t)ir_rt_id(x->attr.rt);
  in->imm.i = desc;
  in->site = x->site;
  fn_args(fr->fn, args.r, args.n);
  fn_results(fr->fn, row.r, row.n);
  return row;
}

/* ---- Checks and scalars ---- */
static Row lower_check(Frame *fr, Node *x, LOp op) {
  int r[3] = {-1, -1, -1};
  for (int k = 0; k < x->nops; k++) r[k] = frame_reg(fr, x->ops[k]);
  LInstr *in = fn_emit(fr->fn, op, -1, r[0], r[1], r[2]);
  if (op == LOP_CHECK_NAT || op == LOP_CHECK_SIZE) in->imm.text = x->attr.text;
  in->site = x->site;
  return frame_row(fr, x->ops[0]);
}

static Row lower_fail(Frame *fr, Node *x) {
  Row row = new_row(fr, x);
  static const uint8_t kinds[] = {[FAIL_USER] = ERR_FAIL, [FAIL_MATCH] = ERR_MATCH,   [FAIL_SHAPE] = ERR_SHAPE,
                                  [FAIL_RULE] = ERR_RULE, [FAIL_EFFECT] = ERR_EFFECT, [FAIL_NO_RULE] = ERR_RULE};
  LInstr *in = fn_emit(fr->fn, LOP_FAIL, -1, frame_reg(fr, x->ops[0]), -1, -1);
  in->site = x->site;
  in->imm.i = kinds[x->attr.i];
  fn_zero(fr->fn, x->type, row.r); /* never reached; defines the registers */
  return row;
}

static Row lower_scalar(Frame *fr, Node *x) {
  int r[3] = {-1, -1, -1};
  for (int k = 0; k < x->nops && k < 3; k++) r[k] = frame_reg(fr, x->ops[k]);
  Row row = new_row(fr, x);
  if (row.n) fn_emit(fr->fn, LOP_SCALAR, row.r[0], r[0], r[1], r[2])->sub = x->op;
  return row;
}

static Row lower_closure_id(Frame *fr, Node *x) {
  Row row = new_row(fr, x);
  fn_emit(fr->fn, LOP_CLOSURE_ID, row.r[0], frame_reg(fr, x->ops[0]), -1, -1);
  return row;
}

static Row lower_assertion(Frame *fr, Node *x) {
  LInstr *in = fn_emit(fr->fn, LOP_ASSERT, -1, frame_reg(fr, x->ops[0]), frame_reg(fr, x->ops[1]), -1);
  in->site = x->site;
  return (Row){NULL, 0};
}

/* In the arm of a selection that isn't chosen nothing is trapped: y there counts as 0. */
static int guarded(Fn *fn, int y) {
  if (fn->guard < 0) return y;
  int zero = fn_reg(fn, R_FLOAT), chosen = fn_reg(fn, R_FLOAT);
  fn_emit(fn, LOP_FLOAT, zero, -1, -1, -1)->imm.f = 0;
  fn_emit(fn, LOP_SCALAR, chosen, fn->guard, y, zero)->sub = OP_SELECT;
  return chosen;
}

static Row lower_trap(Frame *fr, Node *x) {
  Row row = frame_row(fr, x->ops[0]);
  if (!ir_trap_is_needed(x)) return row;
  bool floats = x->nops < 2 || x->ops[1]->type->kind == T_FLOAT;
  Row all = floats ? operand_regs(fr, x, 0) : row;
  int *args = fn_copy(fr->fn, all.r, all.n);
  args[0] = guarded(fr->fn, args[0]);
  LInstr *in = fn_emit(fr->fn, x->op == OP_TRAP_NAN ? LOP_TRAP_NAN : LOP_TRAP_INF, -1, -1, -1, -1);
  in->imm.text = x->attr.text;
  in->site = x->site;
  fn_args(fr->fn, args, all.n);
  return row;
}

/* Passes have left something that only they can take away. */
static Row lower_nothing(Frame *fr, const Node *x) {
  lower_error(fr->fn->m, "no lowering of %s", op_names[x->op]);
  return new_row(fr, x);
}

static Row lower_any(Frame *fr, Node *x) {
  switch ((Op)x->op) {
#include "ir/scalar_cases.h"
    return lower_scalar(fr, x);
  case OP_PARAM: return fr->params[x->attr.i];
  case OP_INT:
  case OP_FLOAT:
  case OP_BOOL:
  case OP_STRING:
  case OP_DATA:
  case OP_GRAPH_ID:
  case OP_GLOBAL: return lower_constant(fr, x);
  case OP_UNIT: return (Row){NULL, 0};
  case OP_ZERO: {
    Row row = new_row(fr, x);
    fn_zero(fr->fn, x->type, row.r);
    return row;
  }
  case OP_TUPLE: return operand_regs(fr, x, 0);
  case OP_GET: return lower_get(fr, x);
  case OP_AFTER:
  case OP_STOP:
  case OP_TO_BAG: return frame_row(fr, x->ops[0]);
  case OP_INJ: return lower_inj(fr, x);
  case OP_LEN: {
    int dim = fn_dim(fr->fn, frame_reg(fr, x->ops[0]), (int)x->attr.i);
    return (Row){fn_copy(fr->fn, &dim, 1), 1};
  }
  case OP_BYTE: return lower_byte(fr, x);
  case OP_TAG: return lower_tag(fr, x);
  case OP_UNINJ: return lower_uninj(fr, x);
  case OP_CLOSURE: return lower_closure(fr, x);
  case OP_CLOSURE_CAP: return lower_closure_cap(fr, x);
  case OP_CLOSURE_ID: return lower_closure_id(fr, x);
  case OP_APPLY:
  case OP_CHECKPOINT: return lower_apply(fr, x);
  case OP_CALL: return lower_call(fr, x);
  case OP_RT: return lower_rt(fr, x);
  case OP_SWITCH: return lower_switch(fr, x);
  case OP_LOOP: return lower_loop(fr, x);
#define OP(NAME, text, signature, flags)
#define CHECKED(NAME, text, signature, flags)                                                                          \
  case OP_##NAME:                                                                                                      \
    return lower_check(fr, x, LOP_##NAME);
#include "ir/ops.def"
#undef OP
  case OP_CHECK: return lower_assertion(fr, x);
  case OP_TRAP_NAN:
  case OP_TRAP_INF: return lower_trap(fr, x);
  case OP_FAIL: return lower_fail(fr, x);
  case OP_ARRAY: return lower_array(fr, x);
  case OP_INDEX: return lower_index(fr, x);
  case OP_SLICE: return lower_slice(fr, x);
  case OP_UPDATE: return lower_update(fr, x);
  case OP_ZEROS: return lower_zeros(fr, x);
  case OP_RESHAPE: return lower_reshape(fr, x);
  case OP_CADD: return lower_cadd(fr, x);
  case OP_ACC_AT: return lower_bag_put(fr, x, LOP_ACC_AT, LOP_ACC_SUB);
  case OP_CUPDATE: return lower_bag_put(fr, x, LOP_BAG_SET, LOP_BAG_SET_SUB);
  case OP_BAG_GET: return lower_bag_get(fr, x);
  case OP_TAKE: return lower_take(fr, x);
  case OP_BAG_SLICE: return lower_bag_slice(fr, x);
  case OP_SHIFT: return lower_shift(fr, x);
  case OP_FILL: return lower_fill(fr, x);
  case OP_BAG_RESHAPE: return lower_bag_reshape(fr, x);
  case OP_MARK:      /* never lowered */
  case OP_FILL_LIKE: /* opt_fill_entries */
  case OP_VJP:       /* ad_expand */
  case OP_JVP: return lower_nothing(fr, x);
  }
  return (Row){NULL, 0};
}

/* Is data x needed in registers, or only as a part of other data? */
static bool needed(const Frame *fr, const Node *x) {
  if (x == fr->s->g->result) return true;
  FOR_USES (use, fr->s->uses, x)
    if ((use->user->flags & NODE_VARIES) || (use->user->op == OP_TUPLE && needed(fr, use->user))) return true;
  return false;
}

void lower_node(Frame *fr, Node *x) {
  fr->pos = sched_pos(fr->s, x);
  if (!(x->flags & NODE_VARIES) && !needed(fr, x)) {
    if (x->op == OP_INJ) lower_box_index(fr->fn->m, x);
    return;
  }
  Row row = lower_any(fr, x);
  fr->rows[sched_pos(fr->s, x)] = row;
}

void frame_open(Frame *fr, Fn *fn, Graph *g, Row *params) {
  fr->fn = fn;
  fr->s = sched_of(fn->m, g);
  fr->params = params;
  fr->rows = NEW_ARRAY(fn->m->arena, Row, fr->s->n);
  fr->pos = 0;
  fr->dests = NULL;
}

Row lower_graph(Fn *fn, Graph *g, Row *params) {
  Frame fr;
  frame_open(&fr, fn, g, params);
  for (int i = 0; i < fr.s->n; i++) lower_node(&fr, fr.s->order[i]);
  return fr.rows[fr.s->n - 1];
}
