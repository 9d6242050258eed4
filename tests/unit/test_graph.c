/* SPDX-License-Identifier: MIT */
/* Operations on whole graphs: stages of graphs and branches, loops made operand by operand, calls of
 * unknown functions, types of accumulators, what passes remember. */
#include "ir/ir_internal.h"
#include "graph/graph.h"
#include "check.h"
#include "world.h"

static IrType *F, *I, *B;

static Node *p(int k, IrType *t) { return ir_param(w, k, t); }
static Node *mul(Node *a, Node *b) { return ir_op2(w, OP_FMUL, a, b); }

/* (a, b; d) -> d * sin a * (b * b) - b * d: the sine is costly, the square cheap. */
static Graph *two_stages(void) {
  IrType *ps[3] = {F, F, F};
  Node *d = p(2, F), *b = p(1, F), *x = mul(mul(d, ir_op1(w, OP_SIN, p(0, F))), mul(b, b));
  return ir_graph(w, ps, 3, ir_op2(w, OP_FSUB, x, mul(b, d)), NULL);
}

static void residuals(void) {
  Graph *g = two_stages();
  Split s = ir_split(w, g, 2, NULL);
  CHECK(s.nres == 2 && s.late->nparams == 5);
  bool sine = false, param = false;
  for (int j = 0; j < s.nres; j++) {
    sine |= s.res[j] == ir_op1(w, OP_SIN, p(0, F));
    param |= s.res[j] == p(1, F); /* it is needed; its square is cheap over it */
  }
  CHECK(sine && param);
  /* the two stages together are what was cut */
  Node *args[5] = {ir_zero(w, F), ir_zero(w, F), p(2, F), s.res[0], s.res[1]};
  CHECK(ir_instantiate(w, s.late, args, 0) == g->result);
}

static void known_parameters_are_read(void) {
  Known known[2] = {KNOWN_NOT, KNOWN_VALUE};
  Split s = ir_split(w, two_stages(), 2, known);
  CHECK(s.nres == 1 && s.res[0] == ir_op1(w, OP_SIN, p(0, F)));
  Node *args[4] = {ir_zero(w, F), p(1, F), p(2, F), s.res[0]};
  CHECK(ir_instantiate(w, s.late, args, 0) == two_stages()->result);
}

/* Of an array whose shape alone is known the length is read, an element stored. */
static void known_shapes_are_read(void) {
  IrType *A = ir_array_type(w, F), *ps[2] = {A, F};
  Node *zero = ir_int(w, 0), *a = p(0, A), *e = ir_index(w, a, &zero, 1);
  Node *length = ir_op1(w, OP_FLOAT_OF_INT, ir_len(w, a, 0));
  Graph *g = ir_graph(w, ps, 2, mul(mul(p(1, F), e), length), NULL);
  Known shape = KNOWN_SHAPE, value = KNOWN_VALUE;
  Split s = ir_split(w, g, 1, &shape);
  CHECK(s.nres == 1 && s.res[0] == e);
  CHECK(ir_split(w, g, 1, &value).nres == 0);
  CHECK(ir_split(w, g, 1, NULL).nres == 2);
}

/* if c then d ^ int (sin a) + d * tan a else d * cos a - d * d * exp a: a float field shared, one more,
 * and one for the int. */
static void branch_in_stages(void) {
  IrType *ps[2] = {F, F};
  Node *a = p(0, F), *d = p(1, F), *fs[2] = {ir_op1(w, OP_COS, a), ir_op1(w, OP_EXP, a)};
  Node *power = ir_op2(w, OP_FPOWI, d, ir_op1(w, OP_INT_OF_FLOAT, ir_op1(w, OP_SIN, a)));
  Graph *arms[2] = {ir_graph(w, ps, 2, ir_op2(w, OP_FSUB, mul(d, fs[0]), mul(mul(d, d), fs[1])), NULL),
                    ir_graph(w, ps, 2, ir_op2(w, OP_FADD, power, mul(d, ir_op1(w, OP_TAN, a))), NULL)};
  Split splits[2] = {ir_split(w, arms[0], 1, NULL), ir_split(w, arms[1], 1, NULL)};
  Node *c = p(2, B), *x = p(3, F);
  StagedSwitch s = {.selector = c, .caps = &x, .narms = 2, .ncaps = 1, .arms = splits};
  Node *ys[2] = {ir_float(w, 1), a}, *late = p(4, F);
  Node *y = ir_switch_early(w, &s, ys);
  CHECK(splits[0].nres == 2 && splits[1].nres == 2 && s.fields.len == 3);
  Node *z = ir_switch_late(w, &s, &late, 1);
  IrType *all[5] = {F, F, B, F, F};
  CHECK(!ir_verify(w, ir_graph(w, all, 5, ir_pair(w, y, z), NULL)));
  for (int t = 0; t < 2; t++) { /* on a known selector both stages are the arm */
    Node *args[5] = {a, d, ir_bool(w, t), x, late}, *arm[2] = {x, late};
    CHECK(ir_substitute(w, z, args, 5, 0) == ir_instantiate(w, arms[t], arm, 0));
    CHECK(ir_substitute(w, y, args, 5, 0) == (t ? x : ir_float(w, 1)));
  }
}

/* Calls of both stages are the function they were cut from. */
static void function_in_stages(void) {
  IrType *ps[2] = {F, F};
  Func *f = ir_func(w, "f", ps, 2, F);
  ir_func_finish(w, f, ir_op2(w, OP_FADD, p(0, F), p(1, F)));
  Graph *g = two_stages();
  const bool again[2] = {true, true};
  StagedFunc *t = ir_stage_func(w, f, again, &F, 1, F);
  Split s = ir_split(w, g, 2, NULL);
  ir_stage_func_finish(w, t, f->graph->result, &s);
  CHECK(!ir_verify(w, t->early->graph) && !ir_verify(w, t->late->graph));
  CHECK(t->early->graph->result->type == t->early->result && t->late->graph->result->type == F);
  Node *args[2] = {p(0, F), p(1, F)}, *both = ir_call(w, t->early, args, 0);
  CHECK(ir_get(w, both, 0) == f->graph->result);
  Node *late[2] = {ir_get(w, both, 1), p(2, F)};
  CHECK(ir_call(w, t->late, late, 0) == g->result);
}

/* f x d = d * sin x * f x d, in stages: the residuals of one call hold those of the next. */
static void recursive_function_in_stages(void) {
  Func *f = ir_func(w, "f", &F, 1, F);
  f->recursive = true;
  Node *x = p(0, F), *d = p(1, F);
  ir_func_finish(w, f, ir_call(w, f, &x, 0));
  const bool again = false;
  StagedFunc *t = ir_stage_func(w, f, &again, &F, 1, F);
  CHECK(t->early && t->late && !t->early->graph && t->late->params[0]->kind == T_VARIANT);
  Node *inner = ir_call(w, t->early, &x, 0), *late[2] = {ir_get(w, inner, 1), d};
  IrType *ps[2] = {F, F};
  Node *result = mul(mul(d, ir_op1(w, OP_SIN, x)), ir_call(w, t->late, late, 0));
  Split s = ir_split(w, ir_graph(w, ps, 2, result, NULL), 1, NULL);
  ir_stage_func_finish(w, t, ir_get(w, inner, 0), &s);
  const IrType *box = t->late->params[0], *held = box->ctors[0].payload;
  CHECK(s.nres == 2 && held->n == 2 && (held->args[0] == box || held->args[1] == box));
  CHECK(t->early->graph->result->type == t->early->result && t->late->graph->result->type == F);
  CHECK(!ir_verify(w, t->early->graph) && !ir_verify(w, t->late->graph));
}

/* Parameters that follow from the caller's are given again, and residuals that are constants in an arm make a constant
 * box there: f n x = if n = 0 then x else sin x * f (n - 1) (x * x). */
static void recursion_with_derived_parameters(void) {
  IrType *ps[2] = {I, F}, *all[3] = {I, F, F};
  Node *n = p(0, I), *x = p(1, F), *caps[2] = {n, x}, *y[2], *d = p(2, F);
  Func *f = ir_func(w, "f", ps, 2, F);
  f->recursive = true;
  Node *args[2] = {ir_op2(w, OP_ISUB, n, ir_int(w, 1)), mul(x, x)};
  Graph *arms[2] = {ir_graph(w, ps, 2, mul(ir_op1(w, OP_SIN, x), ir_call(w, f, args, 0)), NULL),
                    ir_graph(w, ps, 2, x, NULL)};
  Node *last = ir_op2(w, OP_IEQ, n, ir_int(w, 0));
  ir_func_finish(w, f, ir_switch(w, last, arms, 2, caps, 2));
  bool *derived = ir_derived_params(w, f);
  CHECK(derived[0] && !derived[1]);
  const bool again[2] = {true, true};
  StagedFunc *t = ir_stage_func(w, f, again, &F, 1, F);
  CHECK(t->late->nparams == 3 && t->late->params[1] == I && t->late->params[2] == F);
  StagedSwitch s = {.selector = last, .caps = caps, .ncaps = 2, .narms = 2, .arms = NEW_ARRAY(w->arena, Split, 2)};
  Node *inner = ir_call(w, t->early, args, 0), *late[3] = {ir_get(w, inner, 1), args[0], d};
  y[0] = mul(ir_op1(w, OP_SIN, x), ir_get(w, inner, 0));
  y[1] = x;
  Node *results[2] = {mul(ir_op1(w, OP_COS, x), ir_call(w, t->late, late, 0)), d};
  for (int k = 0; k < 2; k++) s.arms[k] = ir_split(w, ir_graph(w, all, 3, results[k], NULL), 2, t->known);
  Node *value = ir_switch_early(w, &s, y), *back = ir_switch_late(w, &s, &d, 1);
  Split whole = ir_split(w, ir_graph(w, all, 3, back, NULL), 2, t->known);
  ir_stage_func_finish(w, t, value, &whole);
  CHECK(!ir_verify(w, t->early->graph) && !ir_verify(w, t->late->graph));
  const Node *branch = t->early->graph->result;
  while (branch->op != OP_SWITCH) branch = branch->ops[0];
  const Node *box = ir_get(w, branch->graphs[1]->result, branch->type->n - 1);
  CHECK(box->op == OP_INJ && box->nparams == 0);
}

/* The same loop by its parts in another order, and by LoopInfo: s <- s + a[i] * k, stacking s. */
static void loop_by_operands(void) {
  IrType *A = ir_array_type(w, F), *ps[4] = {I, F, F, F};
  Node *a = p(0, A), *k = p(1, F), *s = p(2, F), *n = ir_len(w, a, 0);
  Node *next = ir_op2(w, OP_FADD, p(1, F), mul(p(2, F), p(3, F)));
  Node *out[2] = {next, p(1, F)}, *in[3] = {s, a, k};
  Graph *body = ir_graph(w, ps, 4, ir_record(w, out, 2), NULL);
  LoopInfo info = {.ncarried = 1, .nsliced = 1, .nstacked = 1, .ncaps = 1};
  Node *want = ir_loop(w, &info, n, in, body, NULL, 0);
  LoopBuilder *b = loop_open(w, false);
  Node *kin = loop_add(b, LOOP_CAPTURED, k), *ain = loop_add(b, LOOP_SLICED, a);
  Node *sin = loop_add(b, LOOP_CARRIED, s);
  loop_next(b, sin, ir_op2(w, OP_FADD, sin, mul(ain, kin)));
  int stacked = loop_stack(b, sin);
  loop_close(b, n, NULL, 0);
  CHECK(loop_result(b, sin) == ir_get(w, want, 0));
  CHECK(loop_stacked(b, stacked) == ir_get(w, want, 1));
  CHECK(loop_trips(b) == ir_get(w, want, 2));
  /* one more result of the same body */
  Node *ops[4] = {n, s, a, k}, *extra = mul(p(2, F), p(2, F)), *array;
  Node *value = ir_loop_stacking(w, want, ops, body->result, &extra, 1, &array);
  CHECK(value->type == want->type && array->type == A);
  IrType *all[3] = {A, F, F};
  CHECK(!ir_verify(w, ir_graph(w, all, 3, ir_pair(w, value, array), NULL)));
  const Node *loop = array->op == OP_GET ? array->ops[0] : array;
  CHECK(loop->op == OP_LOOP && loop->loop->nstacked == 2);
}

/* while s < k: s <- s * 2, counted in an accumulator that the condition can't see. */
static void loop_with_condition(void) {
  LoopBuilder *b = loop_open(w, false);
  Node *acc = loop_add(b, LOOP_ACC, p(0, F)), *k = loop_add(b, LOOP_CAPTURED, p(1, F));
  Node *s = loop_add(b, LOOP_CARRIED, p(2, F));
  loop_next(b, s, mul(s, ir_float(w, 2)));
  loop_next(b, acc, ir_op2(w, OP_CADD, acc, s));
  loop_close(b, NULL, ir_op2(w, OP_FLT, s, k), 0);
  IrType *all[3] = {F, F, F};
  CHECK(!ir_verify(w, ir_graph(w, all, 3, ir_pair(w, loop_result(b, s), loop_result(b, acc)), NULL)));
  const Node *loop = loop_trips(b)->ops[0];
  CHECK(loop->op == OP_LOOP && loop->loop->has_cond && loop->loop->ncarried == 1 && loop->loop->naccs == 1);
  CHECK(loop->graphs[1]->nparams == 3); /* index, s, k */
}

static void unknown_functions(void) {
  IrType *fun = ir_fun_type(w, F, F, false), *ps[2] = {F, F};
  Graph *g = ir_graph(w, ps, 2, mul(p(0, F), ir_op1(w, OP_SIN, p(1, F))), NULL);
  Node *k = p(0, F), *f = ir_closure(w, g, fun, &k, 1);
  /* known: its graph, with its captures */
  Target t = ir_target(w, f, p(1, F), NULL, 0);
  CHECK(t.g == g && t.args[0] == p(1, F) && t.args[1] == k);
  /* unknown: a graph that applies its parameter */
  t = ir_target(w, p(3, fun), p(1, F), NULL, 0);
  CHECK(t.g->nparams == 2 && t.g->result->op == OP_APPLY && t.args[1] == p(3, fun));
  Func *none = ir_dispatcher(w, fun, "unknown", "unfinished");
  CHECK(none->graph->result->op == OP_FAIL);
  IrType *one[1] = {F};
  ir_pool(w, ir_graph(w, one, 1, ir_checkpoint(w, f, k, NULL, 0), NULL), NULL, 0);
  /* applied where it is made, it doesn't escape */
  CHECK(ir_dispatcher(w, fun, "unknown", "unfinished")->graph == none->graph);
  ir_pool(w, ir_graph(w, one, 1, f, NULL), NULL, 0);
  Func *d = ir_dispatcher(w, fun, "unknown", "unfinished");
  CHECK(d != none && d == ir_dispatcher(w, fun, "unknown", "unfinished"));
  CHECK(!ir_verify(w, d->graph));
  const Node *r = d->graph->result;
  CHECK(r->op == OP_SWITCH && r->ops[0]->op == OP_IEQ);
  /* who reads a function from a global has it too; nobody else has */
  int global = w->globals.len;
  vec_push(&arena, w->globals, ((GlobalInfo){"f", fun, NULL, NULL}));
  ir_pool(w, ir_graph(w, one, 1, f, NULL), &global, 1);
  ir_pool(w, ir_graph(w, NULL, 0, ir_global(w, global), NULL), NULL, 0);
  CHECK(ir_dispatcher(w, fun, "unknown", "unfinished")->graph == d->graph);
  ir_pool(w, ir_graph(w, one, 1, k, NULL), NULL, 0);
  CHECK(ir_dispatcher(w, fun, "unknown", "unfinished")->graph == none->graph);
  /* equal graphs may have several identities */
  Graph *a = ir_identified(w, g, g->identity + 1);
  CHECK(a != g && a->result == g->result && a == ir_identified(w, g, g->identity + 1) &&
        g == ir_identified(w, g, g->identity));
}

static void accumulator_types(void) {
  IrType *A = ir_array_type(w, F), *S = ir_type(w, T_STRING), *U = ir_type(w, T_UNIT);
  CHECK(ir_accumulator(w, F) == F && ir_accumulator(w, I) == U);
  CHECK(ir_accumulator(w, ir_array_type(w, I)) == U);
  CHECK(ir_accumulator(w, ir_pair_type(w, A, S)) == ir_pair_type(w, ir_bag_type(w, F), U));
  IrType *list = ir_variant_type(w, "list", "list", NULL, 0);
  list->nctors = 2;
  list->ctors = NEW_ARRAY(&arena, IrCtor, 2);
  list->ctors[0] = (IrCtor){.name = "Nil", .payload = U};
  list->ctors[1] = (IrCtor){.name = "Cons", .payload = ir_pair_type(w, F, list)};
  IrType *c = ir_accumulator(w, list);
  CHECK(c->kind == T_VARIANT && c->nullable && c->nctors == 3);
  CHECK(c->ctors[2].payload == ir_pair_type(w, F, c));
  CHECK(ir_accumulator(w, c) == c);
  IrType *e = ir_accumulator(w, ir_fun_type(w, F, F, false));
  CHECK(e->kind == T_ENV && ir_accumulator(w, e) == e);
}

static void memory(void) {
  void **a = ir_memo(w, F, "a", "12", 2), **b = ir_memo_closures(w, F, "a", "12", 2);
  CHECK(!*a && !*b && a != b);
  *a = *b = w;
  CHECK(ir_memo(w, F, "a", "12", 2) == a && ir_memo_closures(w, F, "a", "12", 2) == b);
  CHECK(!*ir_memo(w, F, "a", "13", 2) && !*ir_memo(w, F, "a", "1", 1));
  CHECK(!*ir_memo(w, F, "b", "12", 2) && !*ir_memo(w, I, "a", "12", 2));
  IrType *fun = ir_fun_type(w, I, I, false);
  Node *f = ir_closure(w, ir_graph(w, &I, 1, ir_op2(w, OP_IADD, p(0, I), ir_int(w, 1)), NULL), fun, NULL, 0);
  ir_pool(w, ir_graph(w, NULL, 0, f, NULL), NULL, 0);
  CHECK(ir_memo(w, F, "a", "12", 2) == a && !*ir_memo_closures(w, F, "a", "12", 2));
}

int main(void) {
  open_world();
  F = ir_type(w, T_FLOAT);
  I = ir_type(w, T_INT);
  B = ir_type(w, T_BOOL);
  residuals();
  known_parameters_are_read();
  known_shapes_are_read();
  branch_in_stages();
  function_in_stages();
  recursive_function_in_stages();
  recursion_with_derived_parameters();
  loop_by_operands();
  loop_with_condition();
  unknown_functions();
  accumulator_types();
  memory();
  return close_world();
}
