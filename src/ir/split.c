/* SPDX-License-Identifier: MIT */
/* Stages: cutting a graph in two, so that its second part can run later.
 *
 * What the second stage reads of the first are the nodes on the border between the two: they are the
 * residuals. Not stored are constants, and cheap nodes over what is available anyway (`known` parameters;
 * of others perhaps the lengths; and parameters that are residuals themselves): the second stage computes
 * those again. Checks are made again with them: the first stage that made them may be dead where only the
 * second one's results are wanted. */
#include "ir/surgery.h"

enum { CHEAP = 12, NEVER = 1 << 20 };

typedef struct Cut {
  World *w;
  Node **nodes;
  int n, early;
  Map pos;
  const Known *known;  /* parameters */
  bool *stored;        /* parameters that are residuals */
  int *cost;           /* of computing a node of the first stage again */
  bool *want, *border; /* what the second stage reads, and which of it are residuals */
} Cut;

static int at(const Cut *c, const Node *x) { return (int)(uintptr_t)map_get(&c->pos, x) - 1; }
static bool is_early(const Cut *c, const Node *x) { return x->nparams <= (uint32_t)c->early; }
static bool is_check(const Node *n) { return n->op >= OP_CHECK_INDEX && n->op <= OP_CHECK_NAT; }

static Known known_of(const Cut *c, const Node *param) {
  return c->known ? c->known[param->attr.i] : KNOWN_NOT;
}

/* Operands that are read where n is made. The length of a parameter may be known where its elements are
 * not. */
static int reads(const Cut *c, const Node *n) {
  bool length = n->op == OP_LEN && n->ops[0]->op == OP_PARAM && is_early(c, n) && known_of(c, n->ops[0]);
  return length ? 0 : n->nops;
}

static bool is_cheap_op(const Node *n) {
  if (n->op >= OP_IADD && n->op <= OP_ILE && n->op != OP_IPOW) return true;
  if (n->op >= OP_FADD && n->op <= OP_FNEG) return true;
  if (n->op >= OP_FEQ && n->op <= OP_SIGN) return true;
  switch (n->op) {
  case OP_TAG: case OP_LEN: case OP_GET: case OP_UNINJ: case OP_TUPLE: case OP_CLOSURE_CAP: case OP_CLOSURE_ID:
  case OP_SELECT: case OP_NOT: case OP_AND: case OP_OR: case OP_BEQ:
  case OP_FLOAT_OF_INT: case OP_INT_OF_FLOAT: case OP_IS_NAN:
    return true;
  case OP_INDEX: return n->type->kind != T_ARRAY;
  case OP_CADD: return n->type->kind == T_FLOAT;
  default: return is_check(n);
  }
}

static void compute_costs(Cut *c) {
  for (int i = 0; i < c->n; i++) {
    const Node *n = c->nodes[i];
    int cost = 0;
    if (!is_early(c, n)) cost = NEVER;
    else if (n->op == OP_PARAM) cost = known_of(c, n) == KNOWN_VALUE || c->stored[n->attr.i] ? 0 : NEVER;
    else if (!(op_flags[n->op] & OPF_K) && n->op != OP_GLOBAL) {
      cost = is_cheap_op(n) ? 1 : NEVER;
      for (int k = 0; k < reads(c, n) && cost < NEVER; k++) cost += c->cost[at(c, n->ops[k])];
    }
    c->cost[i] = cost > CHEAP ? NEVER : cost;
  }
}

/* From the result down to the border. A parameter on the border is stored anyway, so what is cheap over it
 * needn't be: true if there are more of those than were known. */
static bool find_border(Cut *c) {
  bool more = false;
  for (int i = 0; i < c->n; i++) c->want[i] = c->border[i] = false;
  c->want[c->n - 1] = true;
  for (int i = c->n - 1; i >= 0; i--) {
    const Node *n = c->nodes[i];
    if (!c->want[i]) continue;
    bool stored = n->op == OP_PARAM && is_early(c, n) && c->stored[n->attr.i];
    c->border[i] = stored || (is_early(c, n) && c->cost[i] == NEVER);
    for (int k = 0; !c->border[i] && k < reads(c, n); k++) c->want[at(c, n->ops[k])] = true;
    if (c->border[i] && n->op == OP_PARAM && !stored) more = c->stored[n->attr.i] = true;
  }
  return more;
}

static Node *rewrite(const Cut *c, Node **val, int i) {
  Node *n = c->nodes[i];
  Node **ops = NEW_ARRAY(c->w->arena, Node *, n->nops + 1);
  bool changed = false;
  for (int k = 0; k < reads(c, n); k++) {
    ops[k] = val[at(c, n->ops[k])];
    changed |= ops[k] != n->ops[k];
  }
  return changed ? ir_rebuild(c->w, n, ops, n->graphs) : n;
}

Split ir_split(World *w, Graph *g, int early, const Known *known) {
  Cut cut = {.w = w, .early = early, .known = known};
  cut.n = ir_order(w->arena, g, &cut.nodes);
  map_init(&cut.pos, w->arena);
  for (int i = 0; i < cut.n; i++) map_put(&cut.pos, cut.nodes[i], (void *)(uintptr_t)(i + 1));
  cut.stored = NEW_ARRAY(w->arena, bool, early + 1);
  cut.cost = NEW_ARRAY(w->arena, int, cut.n);
  cut.want = NEW_ARRAY(w->arena, bool, cut.n);
  cut.border = NEW_ARRAY(w->arena, bool, cut.n);
  do compute_costs(&cut);
  while (find_border(&cut));
  Split s = {.res = NEW_ARRAY(w->arena, Node *, cut.n + 1)};
  Vec(IrType *) params = {0};
  for (int i = 0; i < g->nparams; i++) vec_push(w->arena, params, g->params[i]);
  Node **val = NEW_ARRAY(w->arena, Node *, cut.n);
  for (int i = 0; i < cut.n; i++) {
    if (!cut.want[i]) continue;
    if (cut.border[i]) {
      val[i] = ir_param(w, params.len, cut.nodes[i]->type);
      vec_push(w->arena, params, cut.nodes[i]->type);
      s.res[s.nres++] = cut.nodes[i];
    } else val[i] = rewrite(&cut, val, i);
  }
  s.late = ir_graph(w, params.data, params.len, val[cut.n - 1], g->name);
  return s;
}

/* ---- Branches ------------------------------------------------------------------------ */
/* Fields of equal type are shared between arms. Their types are added to `types`. */
typedef Vec(IrType *) Types;
static int *assign_fields(World *w, Types *types, const Split *s) {
  bool *taken = NEW_ARRAY(w->arena, bool, types->len + s->nres + 1);
  int *field = NEW_ARRAY(w->arena, int, s->nres + 1);
  for (int j = 0; j < s->nres; j++) {
    int k = 0;
    while (k < types->len && (taken[k] || types->data[k] != s->res[j]->type)) k++;
    if (k == types->len) vec_push(w->arena, *types, s->res[j]->type);
    taken[k] = true;
    field[j] = k;
  }
  return field;
}

Node *ir_switch_early(World *w, StagedSwitch *s, Node **ys) {
  Types types = {0};
  s->field = NEW_ARRAY(w->arena, int *, s->narms);
  for (int t = 0; t < s->narms; t++) s->field[t] = assign_fields(w, &types, &s->arms[t]);
  Graph **arms = NEW_ARRAY(w->arena, Graph *, s->narms);
  for (int t = 0; t < s->narms; t++) {
    const Split *arm = &s->arms[t];
    Node **xs = NEW_ARRAY(w->arena, Node *, types.len + 1);
    xs[0] = ys[t];
    for (int k = 0; k < types.len; k++) xs[1 + k] = ir_zero(w, types.data[k]);
    for (int j = 0; j < arm->nres; j++) xs[1 + s->field[t][j]] = arm->res[j];
    Node *result = types.len ? ir_record(w, xs, types.len + 1) : ys[t];
    arms[t] = ir_graph(w, arm->late->params, s->ncaps, result, arm->late->name);
  }
  Node *value = ir_switch(w, s->selector, arms, s->narms, s->caps, s->ncaps);
  for (int k = 0; k < types.len; k++) vec_push(w->arena, s->fields, ir_get(w, value, 1 + k));
  return types.len ? ir_get(w, value, 0) : value;
}

/* Parameters of a late arm: those of the split, then the fields. */
Node *ir_switch_late(World *w, const StagedSwitch *s, Node **late, int n) {
  int total = s->ncaps + n, nfields = s->fields.len;
  Node **caps = NEW_ARRAY(w->arena, Node *, total + nfields + 1);
  IrType **types = NEW_ARRAY(w->arena, IrType *, total + nfields + 1);
  for (int i = 0; i < total + nfields; i++) {
    caps[i] = i < s->ncaps ? s->caps[i] : i < total ? late[i - s->ncaps] : s->fields.data[i - total];
    types[i] = caps[i]->type;
  }
  Graph **arms = NEW_ARRAY(w->arena, Graph *, s->narms);
  for (int t = 0; t < s->narms; t++) {
    const Split *arm = &s->arms[t];
    Node **args = NEW_ARRAY(w->arena, Node *, total + arm->nres + 1);
    for (int i = 0; i < total; i++) args[i] = ir_param(w, i, types[i]);
    for (int j = 0; j < arm->nres; j++)
      args[total + j] = ir_param(w, total + s->field[t][j], arm->res[j]->type);
    arms[t] = ir_graph(w, types, total + nfields, ir_instantiate(w, arm->late, args, 0), NULL);
  }
  return ir_switch(w, s->selector, arms, s->narms, caps, total + nfields);
}

/* ---- Functions ------------------------------------------------------------------------- */
static void declare_stages(World *w, StagedFunc *t, IrType *residuals) {
  const Func *f = t->of;
  IrType **ps = NEW_ARRAY(w->arena, IrType *, t->n + 1);
  ps[0] = residuals;
  for (int i = 0; i < t->n; i++) ps[1 + i] = t->params[i];
  t->early = ir_func(w, f->name, f->params, f->nparams, ir_pair_type(w, f->result, residuals));
  t->late = ir_func(w, f->name, ps, 1 + t->n, t->result);
  t->early->span = t->late->span = f->span;
  t->early->recursive = t->late->recursive = f->recursive;
}

StagedFunc *ir_stage_func(World *w, const Func *f, IrType **late, int n, IrType *result) {
  StagedFunc *t = NEW(w->arena, StagedFunc);
  *t = (StagedFunc){.of = f, .params = late, .result = result, .n = n};
  if (!f->recursive) return t;
  IrType *box = ir_variant_type(w, sym_of(w->syms, "tape"), t, NULL, 0);
  box->nctors = 1;
  box->ctors = NEW_ARRAY(w->arena, IrCtor, 1);
  box->ctors[0] = (IrCtor){sym_of(w->syms, "Tape"), ir_type(w, T_UNIT)}; /* until its payload is known */
  declare_stages(w, t, box);
  return t;
}

void ir_stage_func_finish(World *w, StagedFunc *t, Node *y, const Split *s) {
  int early = t->of->nparams;
  Node *record = ir_record(w, s->res, s->nres), *residuals = record, *in;
  if (!t->late) {
    declare_stages(w, t, record->type);
    in = ir_param(w, 0, record->type);
  } else {
    IrType *box = t->late->params[0];
    box->ctors[0].payload = record->type;
    residuals = ir_inj(w, box, 0, record);
    in = ir_uninj(w, ir_param(w, 0, box), 0);
  }
  ir_func_finish(w, t->early, ir_pair(w, y, residuals));
  Node **args = NEW_ARRAY(w->arena, Node *, s->late->nparams);
  for (int i = 0; i < early; i++) args[i] = ir_zero(w, s->late->params[i]); /* never read */
  for (int i = 0; i < t->n; i++) args[early + i] = ir_param(w, 1 + i, t->params[i]);
  for (int j = 0; j < s->nres; j++) args[early + t->n + j] = ir_get(w, in, j);
  ir_func_finish(w, t->late, ir_instantiate(w, s->late, args, 0));
}
