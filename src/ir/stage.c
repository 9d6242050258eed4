/* SPDX-License-Identifier: MIT */
/* Functions in two stages (surgery.h). The second stage of a recursive function is called like the first, so it gets again
 * what follows from the parameters: the residuals hold only what doesn't, and are made in the branches that have any. */
#include "ir/ir_internal.h"
#include "ir/surgery.h"

/* ---- Boxes ------------------------------------------------------------------------------ */
/* Constructors of a box. Where a function calls itself more than once, many boxes are those of the last calls but one: whose
 * inner boxes are all those of calls without residuals. They don't hold those. */
enum { WHOLE, NOTHING, LAST };

static bool is_inner(const IrType *box, const IrType *field) { return field == box; }

/* The constructors, given the residuals' types. */
static void declare_box(World *w, IrType *box, IrType *record) {
  Vec(IrType *) rest = {0};
  for (int k = 0; k < record->n; k++)
    if (!is_inner(box, record->args[k])) vec_push(w->arena, rest, record->args[k]);
  bool small = record->n - rest.len > 1;
  Sym name = box->ctors[WHOLE].name;
  box->nctors = small ? 3 : 1;
  box->ctors = NEW_ARRAY(w->arena, IrCtor, box->nctors);
  box->ctors[WHOLE] = (IrCtor){name, record};
  if (!small) return;
  box->ctors[NOTHING] = (IrCtor){sym_of(w->syms, "Nothing"), ir_type(w, T_UNIT)};
  box->ctors[LAST] = (IrCtor){sym_of(w->syms, "Last"), ir_tuple_type(w, rest.data, NULL, rest.len)};
}

/* Is inner box x, of a box that holds something, none? Where no box is there, one that nobody reads, no constructor is either. */
static Node *is_none(World *w, Node *x) {
  if (x->op == OP_ZERO) return ir_bool(w, true);
  bool made = x->op == OP_GET && x->ops[0]->op == OP_CALL;
  return made ? ir_op2(w, OP_IEQ, ir_tag(w, x), ir_int(w, NOTHING)) : ir_bool(w, false);
}

/* The box x, of whole residuals, as small as it can be. */
static Node *smallest_box(World *w, Node *x) {
  IrType *box = x->type;
  if (box->nctors == 1 || x->ops[0]->op != OP_TUPLE) return x;
  Node *record = x->ops[0], *last = ir_bool(w, true);
  if (record == ir_zero(w, record->type)) return ir_inj(w, box, NOTHING, NULL);
  int n = record->nops;
  Vec(Node *) rest = {0};
  for (int k = 0; k < n; k++) {
    Node *p = ir_param(w, k, record->ops[k]->type);
    if (!is_inner(box, p->type)) vec_push(w->arena, rest, p);
    else last = ir_op2(w, OP_AND, last, is_none(w, record->ops[k]));
  }
  Node **all = NEW_ARRAY(w->arena, Node *, n);
  for (int k = 0; k < n; k++) all[k] = ir_param(w, k, record->ops[k]->type);
  Graph *arms[2] = {ir_graph(w, record->type->args, n, ir_inj(w, box, WHOLE, ir_record(w, all, n)), NULL),
                    ir_graph(w, record->type->args, n, ir_inj(w, box, LAST, ir_record(w, rest.data, rest.len)), NULL)};
  return ir_switch(w, last, arms, 2, record->ops, n);
}

/* The residuals in box x. */
static Node *residuals_in(World *w, Node *x) {
  IrType *box = x->type, *record = box->ctors[WHOLE].payload;
  if (box->nctors == 1) return ir_uninj(w, x, WHOLE);
  Node *p = ir_param(w, 0, box), *last = ir_uninj(w, p, LAST), **fields = NEW_ARRAY(w->arena, Node *, record->n);
  for (int k = 0, j = 0; k < record->n; k++)
    fields[k] = is_inner(box, record->args[k]) ? ir_inj(w, box, NOTHING, NULL) : ir_get(w, last, j++);
  Graph *arms[3] = {ir_graph(w, &box, 1, ir_uninj(w, p, WHOLE), NULL), ir_graph(w, &box, 1, ir_zero(w, record), NULL),
                    ir_graph(w, &box, 1, ir_tuple(w, record, fields), NULL)};
  return ir_switch(w, ir_tag(w, x), arms, 3, &x, 1);
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

/* `result`, over these parameters, reads x, an INJ of results of one branch. If the branch has an arm where all of those are
 * constants, x is made in its arms instead, and so on: what is made of constants is made once and for all. */
static Node *inj_in_arms(World *w, IrType **params, int n, Node *result, Node *x) {
  Node *s = branch_below(x);
  Map over;
  map_init(&over, w->arena);
  if (!s) {
    map_put(&over, x, smallest_box(w, x));
    return replaced(w, params, n, result, &over);
  }
  int width = s->type->n;
  Graph **arms = NEW_ARRAY(w->arena, Graph *, s->ngraphs);
  for (int t = 0; t < s->ngraphs; t++) {
    Graph *a = s->graphs[t];
    Node **ys = NEW_ARRAY(w->arena, Node *, width + 1), **fields = NEW_ARRAY(w->arena, Node *, x->ops[0]->nops);
    for (int k = 0; k < width; k++) ys[k] = ir_get(w, a->result, k);
    for (int k = 0; k < x->ops[0]->nops; k++) fields[k] = ys[x->ops[0]->ops[k]->attr.i];
    ys[width] = ir_inj(w, x->type, (int)x->attr.i, ir_record(w, fields, x->ops[0]->nops));
    Node *y = inj_in_arms(w, a->params, a->nparams, ir_record(w, ys, width + 1), ys[width]);
    arms[t] = ir_graph(w, a->params, a->nparams, y, a->name);
  }
  Node *all = ir_switch(w, s->ops[0], arms, s->ngraphs, s->ops + 1, s->nops - 1);
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
  for (int i = 0; i < f->nparams; i++) t->known[i] = derived[i] && again[i] ? KNOWN_VALUE : KNOWN_NOT;
  IrType *box = ir_variant_type(w, sym_of(w->syms, "tape"), t, NULL, 0);
  box->nctors = 1;
  box->once = true;
  box->ctors = NEW_ARRAY(w->arena, IrCtor, 1);
  box->ctors[WHOLE] = (IrCtor){sym_of(w->syms, "Tape"), ir_type(w, T_UNIT)}; /* until its payload is known */
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
    Node *boxed = ir_inj(w, box, WHOLE, record);
    both = inj_in_arms(w, t->of->params, early, ir_pair(w, y, boxed), boxed);
    in = residuals_in(w, ir_param(w, 0, box));
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
