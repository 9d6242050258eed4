/* SPDX-License-Identifier: MIT */
/* Recursive functions in two stages (graph.h).
 *
 * The first stage computes the value, the second one what depends on later parameters, for instance on a cotangent.
 * The second stage of a recursive function calls itself as the first one does. It gets those parameters again that
 * are cheap functions of the caller's. So the residuals hold only values that aren't, and only those branches make a
 * residual that have such values. */
#include "ir/world.h"
#include "graph/graph.h"

/* ---- Boxes ------------------------------------------------------------------------------ */
/* Constructors of a box. Where a function calls itself more than once, most boxes stand near the ends of the
 * recursion. One whose inner boxes hold nothing doesn't refer to them, and one whose inner boxes are all of that
 * kind holds what is in them. */
enum { WHOLE, NOTHING, LAST, NEAR, CONSTRUCTORS };

/* Positions of the residuals in a box: inner boxes, and the others. */
typedef struct Fields {
  IrType *box, *record;
  Vec(int) inner, own;
} Fields;

static Fields fields_of(World *w, IrType *box, IrType *record) {
  Fields f = {.box = box, .record = record};
  for (int k = 0; k < record->n; k++)
    if (record->args[k] == box) vec_push(w->arena, f.inner, k);
    else vec_push(w->arena, f.own, k);
  return f;
}

static void declare_box(World *w, IrType *box, IrType *record) {
  Fields f = fields_of(w, box, record);
  Sym name = box->ctors[WHOLE].name;
  IrType **ts = NEW_ARRAY(w->arena, IrType *, record->n + 1), *unit = ir_type(w, T_UNIT);
  for (int k = 0; k < f.own.len; k++) ts[k] = record->args[f.own.data[k]];
  IrType *last = ir_tuple_type(w, ts, NULL, f.own.len);
  for (int k = 0; k < f.inner.len; k++) ts[f.own.len + k] = last;
  IrType *near = f.own.len > LIMIT_NEAR_FIELDS ? unit : ir_tuple_type(w, ts, NULL, record->n);
  box->nctors = f.inner.len < 2 ? 1 : CONSTRUCTORS;
  if (box->nctors > 1 && f.own.len > LIMIT_NEAR_FIELDS) limit_reached(w->arena, AT_NEAR_FIELDS);
  box->ctors = NEW_ARRAY(w->arena, IrCtor, CONSTRUCTORS);
  IrType *payloads[CONSTRUCTORS] = {[WHOLE] = record, [NOTHING] = unit, [LAST] = last, [NEAR] = near};
  for (int k = 0; k < CONSTRUCTORS; k++) box->ctors[k] = (IrCtor){.name = name, .payload = payloads[k]};
}

/* Have all inner boxes of these residuals that constructor? Where no box is, since nobody will read it, it holds
 * nothing. */
static Node *all_inner(World *w, const Fields *f, const Node *residuals, int tag) {
  Node *all = ir_bool(w, true);
  for (int k = 0; k < f->inner.len; k++) {
    Node *x = residuals->ops[f->inner.data[k]], *is = ir_bool(w, x->op == OP_ZERO && tag == NOTHING);
    if (x->op == OP_GET && x->ops[0]->op == OP_CALL) is = ir_op2(w, OP_IEQ, ir_tag(w, x), ir_int(w, tag));
    all = ir_op2(w, OP_AND, all, is);
  }
  return all;
}

/* A box of residuals p. */
static Node *boxed(World *w, const Fields *f, Node **p, int tag) {
  int at = 0;
  Node **xs = NEW_ARRAY(w->arena, Node *, f->record->n + 1);
  for (int k = 0; k < f->own.len; k++) xs[at++] = p[f->own.data[k]];
  for (int k = 0; k < f->inner.len && tag == NEAR; k++) xs[at++] = ir_uninj(w, p[f->inner.data[k]], LAST);
  Node *x = tag == WHOLE ? ir_tuple(w, f->record, p) : ir_tuple(w, f->box->ctors[tag].payload, xs);
  return ir_inj(w, f->box, tag, x);
}

/* What box x of constructor WHOLE can be instead. */
static Node *smaller_box(World *w, Node *x) {
  IrType *box = x->type;
  Node *all = x->ops[0];
  if (box->nctors == 1 || all->op != OP_TUPLE) return x;
  if (all == ir_zero(w, all->type)) return ir_inj(w, box, NOTHING, NULL);
  Fields f = fields_of(w, box, all->type);
  Node *last = all_inner(w, &f, all, NOTHING);
  Node *near = f.own.len > LIMIT_NEAR_FIELDS ? ir_bool(w, false) : all_inner(w, &f, all, LAST);
  Node *kind = ir_op3(w, OP_SELECT, near, ir_int(w, 1), ir_int(w, 0));
  BranchBuilder *b = branch_open(w, ir_op3(w, OP_SELECT, last, ir_int(w, 2), kind));
  Node **in = NEW_ARRAY(w->arena, Node *, all->nops + 1);
  for (int k = 0; k < all->nops; k++) in[k] = branch_add(b, all->ops[k]);
  const int tags[3] = {WHOLE, near->op == OP_BOOL ? WHOLE : NEAR, LAST};
  for (int k = 0; k < 3; k++) branch_arm(b, boxed(w, &f, in, tags[k]), NULL);
  return branch_close(b);
}

/* The residuals in box x of this constructor. */
static Node *unboxed(World *w, const Fields *f, Node *x, int tag) {
  if (tag == WHOLE) return ir_uninj(w, x, WHOLE);
  bool near = tag == NEAR && f->own.len <= LIMIT_NEAR_FIELDS;
  if (!near && tag != LAST) return ir_zero(w, f->record);
  Node *fields = ir_uninj(w, x, tag), **xs = NEW_ARRAY(w->arena, Node *, f->record->n);
  int at = 0;
  for (int k = 0; k < f->own.len; k++) xs[f->own.data[k]] = ir_get(w, fields, at++);
  for (int k = 0; k < f->inner.len; k++)
    xs[f->inner.data[k]] = near ? ir_inj(w, f->box, LAST, ir_get(w, fields, at++)) : ir_inj(w, f->box, NOTHING, NULL);
  return ir_tuple(w, f->record, xs);
}

static Node *residuals_in(World *w, Node *x) {
  IrType *box = x->type;
  Fields f = fields_of(w, box, box->ctors[WHOLE].payload);
  if (box->nctors == 1) return unboxed(w, &f, x, WHOLE);
  BranchBuilder *b = branch_open(w, ir_tag(w, x));
  Node *in = branch_add(b, x);
  for (int k = 0; k < CONSTRUCTORS; k++) branch_arm(b, unboxed(w, &f, in, k), NULL);
  return branch_close(b);
}

/* ---- Results of branches ---- */
/* The switch whose results are the fields of x; NULL: they are others, or no arm has constants only. */
static Node *branch_below(const Node *x) {
  const Node *fields = x->ops[0];
  if (x->op != OP_INJ || fields->op != OP_TUPLE || fields->nops == 0) return NULL;
  Node *s = fields->ops[0]->op == OP_GET ? fields->ops[0]->ops[0] : NULL;
  if (!s || s->op != OP_SWITCH) return NULL;
  for (int k = 0; k < fields->nops; k++)
    if (fields->ops[k]->op != OP_GET || fields->ops[k]->ops[0] != s) return NULL;
  for (int t = 0; t < s->ngraphs; t++) {
    const Node *y = s->graphs[t]->result;
    bool constant = y->op == OP_TUPLE;
    for (int k = 0; k < fields->nops && constant; k++) constant = op_flags[y->ops[fields->ops[k]->attr.i]->op] & OPF_K;
    if (constant) return s;
  }
  return NULL;
}

/* `result` over these parameters, with some of its nodes replaced. */
static Node *replaced(World *w, IrType **params, int n, Node *result, const Map *over) {
  Node **args = NEW_ARRAY(w->arena, Node *, n + 1);
  for (int k = 0; k < n; k++) args[k] = ir_param(w, k, params[k]);
  return ir_instantiate_over(w, ir_graph(w, params, n, result, NULL), args, 0, over);
}

/* `result`, over these parameters, reads x, an INJ of results of one branch. If the branch has an arm where all of
 * those are constants, x is made in its arms instead, and so on: what is made of constants is made once and for all. */
static Node *inj_in_arms(World *w, IrType **params, int n, Node *result, Node *x) {
  Node *s = branch_below(x);
  Map over;
  map_init(&over, w->arena);
  if (!s) {
    map_put(&over, x, smaller_box(w, x));
    return replaced(w, params, n, result, &over);
  }
  int width = s->type->n;
  Node **results = NEW_ARRAY(w->temp, Node *, s->ngraphs);
  for (int t = 0; t < s->ngraphs; t++) {
    Graph *a = s->graphs[t];
    Node **ys = NEW_ARRAY(w->arena, Node *, width + 1), **fields = NEW_ARRAY(w->arena, Node *, x->ops[0]->nops);
    for (int k = 0; k < width; k++) ys[k] = ir_get(w, a->result, k);
    for (int k = 0; k < x->ops[0]->nops; k++) fields[k] = ys[x->ops[0]->ops[k]->attr.i];
    ys[width] = ir_inj(w, x->type, (int)x->attr.i, ir_record(w, fields, x->ops[0]->nops));
    results[t] = inj_in_arms(w, a->params, a->nparams, ir_record(w, ys, width + 1), ys[width]);
  }
  Node *all = ir_switch_yielding(w, s, s->ops, s->graphs, results);
  Node **parts = NEW_ARRAY(w->arena, Node *, width);
  for (int k = 0; k < width; k++) parts[k] = ir_get(w, all, k);
  map_put(&over, s, ir_tuple(w, s->type, parts));
  map_put(&over, x, ir_get(w, all, width));
  return replaced(w, params, n, result, &over);
}

/* ---- Functions ------------------------------------------------------------------------- */
static void declare_stages(World *w, StagedFunc *t, IrType *residuals) {
  const Func *f = t->of;
  IrType **ps = NEW_ARRAY(w->arena, IrType *, 1 + f->nparams + t->n);
  int n = 0;
  ps[n++] = residuals;
  for (int i = 0; i < f->nparams; i++)
    if (t->known[i]) ps[n++] = f->params[i];
  for (int i = 0; i < t->n; i++) ps[n++] = t->params[i];
  t->early = ir_func(w, f->name, f->params, f->nparams, ir_pair_type(w, f->result, residuals));
  t->late = ir_func(w, f->name, ps, n, t->result);
  t->early->span = t->late->span = f->span;
  t->early->recursive = t->late->recursive = f->recursive;
}

StagedFunc *ir_stage_func(World *w, const Func *f, const bool *again, IrType **late, int n, IrType *result) {
  StagedFunc *t = NEW(w->arena, StagedFunc);
  *t = (StagedFunc){.of = f, .params = late, .result = result, .n = n};
  t->known = NEW_ARRAY(w->arena, Known, f->nparams + 1);
  if (!f->recursive) return t;
  const bool *derived = ir_derived_params(w, f);
  for (int i = 0; i < f->nparams; i++) t->known[i] = derived[i] && again[i] ? ir_known_param(f, i) : KNOWN_NOT;
  IrType *box = ir_variant_type(w, sym_of(w->syms, "tape"), t, NULL, 0);
  box->nctors = 1;
  box->once = true;
  box->ctors = NEW_ARRAY(w->arena, IrCtor, 1);
  /* until its payload is known */
  box->ctors[WHOLE] = (IrCtor){.name = sym_of(w->syms, "Tape"), .payload = ir_type(w, T_UNIT)};
  declare_stages(w, t, box);
  return t;
}

void ir_stage_func_finish(World *w, StagedFunc *t, Node *y, const Split *s) {
  int early = t->of->nparams, at = 1;
  Node *record = ir_record(w, s->res, s->nres), *in, *both = ir_pair(w, y, record);
  if (!t->late) {
    declare_stages(w, t, record->type);
    in = ir_param(w, 0, record->type);
  } else {
    IrType *box = t->late->params[0];
    declare_box(w, box, record->type);
    if (fields_of(w, box, record->type).own.len == 0) { /* no call keeps anything */
      both = ir_pair(w, y, ir_zero(w, box));
      in = ir_zero(w, record->type);
    } else {
      Node *whole = ir_inj(w, box, WHOLE, record);
      both = inj_in_arms(w, t->of->params, early, ir_pair(w, y, whole), whole);
      in = residuals_in(w, ir_param(w, 0, box));
    }
  }
  ir_func_finish(w, t->early, both);
  Node **args = NEW_ARRAY(w->arena, Node *, s->late->nparams);
  for (int i = 0; i < early; i++) {
    IrType *type = s->late->params[i];
    args[i] = t->known[i] ? ir_param(w, at++, type) : ir_zero(w, type) /* never read */;
  }
  for (int i = 0; i < t->n; i++) args[early + i] = ir_param(w, at++, t->params[i]);
  for (int j = 0; j < s->nres; j++) args[early + t->n + j] = ir_get(w, in, j);
  ir_func_finish(w, t->late, ir_instantiate(w, s->late, args, 0));
}
