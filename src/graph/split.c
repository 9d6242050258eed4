/* SPDX-License-Identifier: MIT */
/* Binding-time splitting: cutting a graph in two stages, so that the second can run later. If x comes early and d late,
 *
 *   sin x * exp (x + 1) * d   →   first: r = sin x * exp (x + 1)        second: r * d
 *   cos (a[i] + 1) * d        →   first: r = cos (a[i] + 1)             second: r * d
 *   (x + 1) * d               →   nothing is stored: x + 1 is cheap     second: (x + 1) * d
 *
 * What the second stage reads of the first are the nodes on the border between the two: they are the residuals. Not
 * stored are constants, and cheap nodes over what is available anyway (`known` parameters; of others perhaps the
 * lengths; and residuals): the second stage computes those again. A closure is made again over its captures, since a
 * function read from a residual is unknown: its calls couldn't be inlined or differentiated. Checks are made
 * again with them: the first stage that made them may be dead where only the second one's results are wanted. Nor is
 * anything computed again that decides something and doesn't come out the same to the last bit (exact.c): whole
 * numbers and bools that come of floats which were rounded are residuals then. */
#include "graph/graph.h"

enum { NEVER = 1 << 20 };

typedef struct Cut {
  World *w;
  Node **nodes;
  int n, early;
  Map pos;
  const Known *known;  /* parameters */
  bool *stored;        /* parameters that are residuals */
  int *cost;           /* of computing a node of the first stage again */
  bool *fixed;         /* whole numbers that are the same in all runs */
  bool *rounded;       /* floats that may then differ in the last bit */
  bool *chosen;        /* whole numbers and bools that then may differ, since they come of such floats */
  bool exact;          /* such numbers aren't computed again at all */
  bool *want, *border; /* what the second stage reads, and which of it are residuals */
  bool *there;         /* early nodes that it has anyway, for other reasons */
  bool *need;          /* what decides something there */
} Cut;

static int at(const Cut *c, const Node *x) { return (int)(uintptr_t)map_get(&c->pos, x) - 1; }
static bool is_early(const Cut *c, const Node *x) { return x->nparams <= (uint32_t)c->early; }

static Known known_of(const Cut *c, const Node *param) { return c->known ? c->known[param->attr.i] : KNOWN_NOT; }

/* Operands that are read where n is made. The length of a parameter may be known where its elements are
 * not. */
static int reads(const Cut *c, const Node *n) {
  bool length = n->op == OP_LEN && n->ops[0]->op == OP_PARAM && is_early(c, n) && known_of(c, n->ops[0]);
  return length ? 0 : n->nops;
}

static bool is_cheap_op(const Node *n) {
  if (n->op == OP_INDEX) return n->type->kind != T_ARRAY;
  if (n->op == OP_CADD) return n->type->kind == T_FLOAT;
  if (n->op == OP_AFTER || n->op == OP_CHECK || ir_is_trap(n)) return true;
  if (n->op == OP_ZEROS || n->op == OP_TO_BAG) return true; /* zeros that were kept would be copied */
  return op_flags[n->op] & OPF_Q;
}

/* Whole numbers that come of a rounded float count as what decides, not what is computed with them. */
static void find_rounded(Cut *c, int i) {
  const Node *n = c->nodes[i];
  bool rounded = ir_rounds(n), number = n->type->kind == T_FLOAT || n->type->kind == T_TUPLE;
  if (n->op == OP_PARAM) rounded = is_early(c, n) && known_of(c, n) == KNOWN_ROUNDED && !c->stored[n->attr.i];
  for (int k = 0; k < reads(c, n); k++) rounded |= c->rounded[at(c, n->ops[k])];
  c->rounded[i] = number && rounded;
  c->chosen[i] = !number && rounded;
}

static void find_fixed(Cut *c, int i) {
  const Node *n = c->nodes[i];
  c->fixed[i] = n->op == OP_PARAM ? is_early(c, n) && known_of(c, n) == KNOWN_FIXED : n->type->kind != T_FLOAT;
  for (int k = 0; k < reads(c, n); k++) c->fixed[i] &= c->fixed[at(c, n->ops[k])];
}

/* What is fixed is computed once for many runs of the second stage, or as good as that. */
static bool is_cheap(const Cut *c, int cost, bool fixed) {
  if (cost <= (fixed ? LIMIT_RECOMPUTED_FIXED : LIMIT_RECOMPUTED)) return true;
  if (cost < NEVER) limit_reached(c->w->arena, fixed ? AT_RECOMPUTED_FIXED : AT_RECOMPUTED);
  return false;
}

static int cost_of(const Cut *c, int i) { return c->there[i] ? 0 : c->cost[i]; }

static void compute_costs(Cut *c) {
  for (int i = 0; i < c->n; i++) {
    const Node *n = c->nodes[i];
    int cost = 0;
    find_rounded(c, i);
    find_fixed(c, i);
    if (!is_early(c, n) || (c->exact && c->chosen[i])) cost = NEVER;
    else if (n->op == OP_PARAM) cost = known_of(c, n) >= KNOWN_ROUNDED || c->stored[n->attr.i] ? 0 : NEVER;
    else if (!ir_is_constant(n) && n->op != OP_GLOBAL) {
      bool trap = ir_is_trap(n); /* what it reads besides is read by the operation */
      cost = is_cheap_op(n) ? !trap : NEVER;
      for (int k = 0; k < (trap ? 1 : reads(c, n)) && cost < NEVER; k++) cost += cost_of(c, at(c, n->ops[k]));
    }
    c->cost[i] = is_cheap(c, cost, c->fixed[i]) ? cost : NEVER;
    if (is_early(c, n) && c->cost[i] == NEVER && n->op != OP_PARAM) c->rounded[i] = false; /* it is stored */
  }
}

/* What node i, which the second stage computes, reads, and what of it decides something. */
static void want_operands(Cut *c, int i, bool *decisive) {
  const Node *n = c->nodes[i];
  ir_decisive(c->w, n, c->need[i], decisive);
  for (int k = 0; k < reads(c, n); k++) {
    int x = at(c, n->ops[k]);
    c->want[x] = true;
    c->need[x] |= decisive[k];
  }
}

static int most_operands(const Cut *c) {
  int most = 0;
  for (int i = 0; i < c->n; i++)
    if (c->nodes[i]->nops > most) most = c->nodes[i]->nops;
  return most;
}

/* From the result down to the border. What the second stage has anyway, stored or computed again, makes what is cheap
 * over it cheaper, and that was had before stays: true if there is more of it than was known. */
static bool find_border(Cut *c) {
  bool more = false, *decisive = NEW_ARRAY(c->w->temp, bool, most_operands(c) + 1);
  for (int i = 0; i < c->n; i++) c->want[i] = c->border[i] = c->need[i] = false;
  c->want[c->n - 1] = true;
  for (int i = c->n - 1; i >= 0; i--) {
    const Node *n = c->nodes[i];
    if (!c->want[i]) continue;
    bool stored = n->op == OP_PARAM && is_early(c, n) && c->stored[n->attr.i];
    bool differs = c->need[i] && (c->rounded[i] || c->chosen[i]);
    bool again = n->op != OP_CLOSURE && (c->cost[i] == NEVER || differs);
    c->border[i] = stored || (is_early(c, n) && again);
    if (!c->border[i]) want_operands(c, i, decisive);
    if (c->border[i] && n->op == OP_PARAM && !stored) c->stored[n->attr.i] = true;
    more |= is_early(c, n) && !c->there[i];
    c->there[i] = is_early(c, n);
  }
  return more;
}

static Cut cut_of(World *w, Graph *g, int early, const Known *known) {
  Cut c = {.w = w, .early = early, .known = known};
  c.n = ir_order(w->arena, g, &c.nodes);
  map_init(&c.pos, w->arena);
  for (int i = 0; i < c.n; i++) map_put(&c.pos, c.nodes[i], (void *)(uintptr_t)(i + 1));
  c.stored = NEW_ARRAY(w->arena, bool, early + 1);
  c.cost = NEW_ARRAY(w->arena, int, c.n);
  c.fixed = NEW_ARRAY(w->arena, bool, c.n);
  c.rounded = NEW_ARRAY(w->arena, bool, c.n);
  c.chosen = NEW_ARRAY(w->arena, bool, c.n);
  c.need = NEW_ARRAY(w->arena, bool, c.n);
  c.want = NEW_ARRAY(w->arena, bool, c.n);
  c.border = NEW_ARRAY(w->arena, bool, c.n);
  c.there = NEW_ARRAY(w->arena, bool, c.n);
  return c;
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
  Cut cut = cut_of(w, g, early, known);
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

/* ---- Recursion ------------------------------------------------------------------------- */
/* A graph in f, and what its parameters are there: known, and perhaps parameter `origin` of f itself (else -1). */
typedef struct Scope {
  Graph *g;
  Known *known;
  int *origin;
} Scope;
typedef struct Derived {
  World *w;
  const Func *f;
  bool *keep, changed;
} Derived;

static void check_graph(Derived *d, Scope s);

static Known known_as(const Cut *c, const Node *x) {
  int i = at(c, x);
  return c->cost[i] == NEVER ? KNOWN_NOT : c->rounded[i] ? KNOWN_ROUNDED : KNOWN_VALUE;
}

/* A nested graph whose parameters from `own` on are the operands `caps`; before them parameter 0 is known where
 * `index`. */
static void check_nested(Derived *d, const Cut *c, const Scope *outer, Graph *g, int own, bool index, Node **caps) {
  World *w = d->w;
  Scope s = {g, NEW_ARRAY(w->arena, Known, g->nparams + 1), NEW_ARRAY(w->arena, int, g->nparams + 1)};
  for (int i = 0; i < g->nparams; i++) {
    const Node *x = i < own ? NULL : caps[i - own];
    s.known[i] = x ? known_as(c, x) : index && i == 0 ? KNOWN_VALUE : KNOWN_NOT;
    s.origin[i] = x && x->op == OP_PARAM ? outer->origin[x->attr.i] : -1;
  }
  check_graph(d, s);
}

/* A number is derived only if it is handed on as it is: others are as short to store as to compute again. */
static void check_call(Derived *d, const Cut *c, const Scope *s, const Node *call) {
  for (int k = 0; k < call->nops; k++) {
    const Node *x = call->ops[k];
    bool same = x->op == OP_PARAM && s->origin[x->attr.i] == k, number = x->type->kind == T_FLOAT;
    if (!d->keep[k] || same || (!number && c->cost[at(c, x)] < NEVER)) continue;
    d->keep[k] = false;
    d->changed = true;
  }
}

static void check_graph(Derived *d, Scope s) {
  Cut c = cut_of(d->w, s.g, s.g->nparams, s.known);
  c.exact = true;
  compute_costs(&c);
  for (int i = 0; i < c.n; i++) {
    const Node *n = c.nodes[i];
    if (n->op == OP_CALL && n->attr.func == d->f) check_call(d, &c, &s, n);
    for (int k = 0; k < n->ngraphs; k++) {
      Graph *g = n->graphs[k];
      int caps = n->op == OP_LOOP ? n->loop->ncaps : n->op == OP_SWITCH ? g->nparams : 0;
      check_nested(d, &c, &s, g, g->nparams - caps, n->op == OP_LOOP, n->ops + n->nops - caps);
    }
  }
}

/* Whoever calls f's second stage may have computed a float again. */
Known ir_known_param(const Func *f, int k) { return f->params[k]->kind == T_FLOAT ? KNOWN_ROUNDED : KNOWN_VALUE; }

bool *ir_derived_params(World *w, const Func *f) {
  Derived d = {w, f, NEW_ARRAY(w->arena, bool, f->nparams + 1), true};
  Scope s = {f->graph, NEW_ARRAY(w->arena, Known, f->nparams + 1), NEW_ARRAY(w->arena, int, f->nparams + 1)};
  for (int k = 0; k < f->nparams; k++) {
    d.keep[k] = f->params[k]->kind != T_TOKEN;
    s.origin[k] = k;
  }
  while (d.changed) {
    d.changed = false;
    for (int k = 0; k < f->nparams; k++) s.known[k] = d.keep[k] ? ir_known_param(f, k) : KNOWN_NOT;
    check_graph(&d, s);
  }
  return d.keep;
}

/* ---- Loops ------------------------------------------------------------------------------ */
Known *ir_delayed(World *w, const LoopInfo *l, const Graph *body, const Known *known) {
  Known *delayed = NEW_ARRAY(w->arena, Known, l->ncarried + 1);
  for (int k = 0; k < l->ncarried && !l->down; k++) {
    Node *next = ir_get(w, body->result, k);
    IrKind kind = next->type->kind;
    if (kind != T_FLOAT && kind != T_INT && kind != T_BOOL) continue;
    Cut c = cut_of(w, ir_graph(w, body->params, body->nparams, next, NULL), body->nparams, known);
    c.exact = true;
    compute_costs(&c);
    delayed[k] = known_as(&c, next);
  }
  return delayed;
}

Node *ir_delayed_value(World *w, const Node *loop, int k, Node *i, Node **ops) {
  Graph *body = loop->graphs[0];
  int n = body->nparams;
  BranchBuilder *b = branch_open(w, ir_op2(w, OP_IEQ, i, ir_int(w, 0)));
  Node **args = NEW_ARRAY(w->arena, Node *, n + 1), *start = NULL;
  for (int j = 0; j < n; j++) {
    args[j] = branch_add(b, j ? ops[j - 1] : i);
    if (j == 1 + k) start = args[j];
    if (j == 0) args[0] = ir_op2(w, OP_IADD, args[0], ir_int(w, -1));
    else if (loop_part(loop->loop, j - 1) == LOOP_SLICED) args[j] = ir_index(w, args[j], args, 1);
  }
  branch_arm(b, ir_substitute(w, ir_get(w, body->result, k), args, n, 0), NULL);
  branch_arm(b, start, NULL);
  return branch_close(b);
}

/* ---- Branches ------------------------------------------------------------------------ */
int share_field(World *w, SharedFields *f, IrType *t) {
  int k = 0;
  while (k < f->types.len && (f->taken.data[k] || f->types.data[k] != t)) k++;
  if (k == f->types.len) {
    vec_push(w->temp, f->types, t);
    vec_push(w->temp, f->taken, false);
  }
  f->taken.data[k] = true;
  return k;
}

void share_anew(SharedFields *f) {
  for (int k = 0; k < f->taken.len; k++) f->taken.data[k] = false;
}

static int *assign_fields(World *w, SharedFields *f, const Split *s) {
  int *field = NEW_ARRAY(w->arena, int, s->nres + 1);
  share_anew(f);
  for (int j = 0; j < s->nres; j++) field[j] = share_field(w, f, s->res[j]->type);
  return field;
}

Node *ir_switch_early(World *w, StagedSwitch *s, Node **ys) {
  SharedFields f = {0};
  s->field = NEW_ARRAY(w->arena, int *, s->narms);
  for (int t = 0; t < s->narms; t++) s->field[t] = assign_fields(w, &f, &s->arms[t]);
  BranchBuilder *b = branch_open(w, s->selector);
  for (int i = 0; i < s->ncaps; i++) branch_add(b, s->caps[i]);
  Node **xs = NEW_ARRAY(w->temp, Node *, f.types.len + 1);
  for (int t = 0; t < s->narms; t++) {
    const Split *arm = &s->arms[t];
    xs[0] = ys[t];
    for (int k = 0; k < f.types.len; k++) xs[1 + k] = ir_zero(w, f.types.data[k]);
    for (int j = 0; j < arm->nres; j++) xs[1 + s->field[t][j]] = arm->res[j];
    branch_arm(b, f.types.len ? ir_record(w, xs, f.types.len + 1) : ys[t], arm->late->name);
  }
  Node *value = branch_close(b);
  for (int k = 0; k < f.types.len; k++) vec_push(w->arena, s->fields, ir_get(w, value, 1 + k));
  return f.types.len ? ir_get(w, value, 0) : value;
}

/* Parameters of a late arm: those of the split, then the fields. */
Node *ir_switch_late(World *w, const StagedSwitch *s, Node **late, int n) {
  int total = s->ncaps + n, nfields = s->fields.len;
  BranchBuilder *b = branch_open(w, s->selector);
  Node **in = NEW_ARRAY(w->temp, Node *, total + nfields + 1);
  for (int i = 0; i < total + nfields; i++)
    in[i] = branch_add(b, i < s->ncaps ? s->caps[i] : i < total ? late[i - s->ncaps] : s->fields.data[i - total]);
  for (int t = 0; t < s->narms; t++) {
    const Split *arm = &s->arms[t];
    Node **args = NEW_ARRAY(w->temp, Node *, total + arm->nres + 1);
    for (int i = 0; i < total; i++) args[i] = in[i];
    for (int j = 0; j < arm->nres; j++) args[total + j] = in[total + s->field[t][j]];
    branch_arm(b, ir_instantiate(w, arm->late, args, 0), NULL);
  }
  return branch_close(b);
}
