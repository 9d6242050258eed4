/* SPDX-License-Identifier: MIT */
/* Reverse mode of branches and loops.
 *
 * A branch: each arm is split; what its backward pass needs and can't cheaply compute again is returned by the forward
 * branch in fields shared by the arms (an arm that isn't taken leaves them zero), and the backward branch switches on
 * the same selector. A loop: the backward loop runs the other way, carries the cotangents of the carried values, adds
 * into the accumulators of the captures, and reads tapes as slices; or, where iterations are independent and nothing
 * hinders it, runs the body again and needs no tape. */
#include "ad/ad_internal.h"

/* ---- Branches ------------------------------------------------------------------------ */
typedef struct SwitchMemo {
  Combined **arms;
  Split *splits;
  int **field;          /* residual j of arm t is field[t][j] */
  Vec(IrType *) types;  /* of the fields */
  Node *value;          /* the forward branch: (y, fields…) or y */
} SwitchMemo;

/* Fields of equal type are shared between arms. */
static void assign_fields(World *w, SwitchMemo *m, int t) {
  Split *s = &m->splits[t];
  bool *taken = NEW_ARRAY(w->arena, bool, m->types.len + s->nres + 1);
  m->field[t] = NEW_ARRAY(w->arena, int, s->nres + 1);
  for (int j = 0; j < s->nres; j++) {
    int k = 0;
    while (k < m->types.len && (taken[k] || m->types.data[k] != s->res[j]->type)) k++;
    if (k == m->types.len) vec_push(w->arena, m->types, s->res[j]->type);
    taken[k] = true;
    m->field[t][j] = k;
  }
}

static Graph *forward_arm(World *w, SwitchMemo *m, Graph *arm, int t) {
  int nf = m->types.len;
  Node **xs = NEW_ARRAY(w->arena, Node *, nf + 1);
  xs[0] = m->arms[t]->y;
  for (int k = 0; k < nf; k++) xs[1 + k] = ir_zero(w, m->types.data[k]);
  for (int j = 0; j < m->splits[t].nres; j++) xs[1 + m->field[t][j]] = m->splits[t].res[j];
  return ir_graph(w, arm->params, arm->nparams, nf ? ad_tuple(w, xs, nf + 1) : xs[0], arm->name);
}

void ad_switch_forward(Reverse *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at];
  int ncaps = n->nops - 1, narms = n->ngraphs;
  SwitchMemo *m = NEW(w->arena, SwitchMemo);
  m->arms = NEW_ARRAY(w->arena, Combined *, narms);
  m->splits = NEW_ARRAY(w->arena, Split, narms);
  m->field = NEW_ARRAY(w->arena, int *, narms);
  bool *act = NEW_ARRAY(w->arena, bool, ncaps + 1), *unstable = NEW_ARRAY(w->arena, bool, ncaps + 1);
  uint8_t *known = NEW_ARRAY(w->arena, uint8_t, ncaps + 1);
  Node **ops = NEW_ARRAY(w->arena, Node *, n->nops);
  for (int i = 0; i < n->nops; i++) ops[i] = ad_fwd(r, n->ops[i]);
  for (int i = 0; i < ncaps; i++) {
    act[i] = ad_active(r, n->ops[i + 1]);
    unstable[i] = ad_unstable(r, n->ops[i + 1]);
    known[i] = unstable[i] ? KNOWN_SHAPE : KNOWN_VALUE;
  }
  for (int t = 0; t < narms; t++) {
    m->arms[t] = ad_combine(w, n->graphs[t], act, unstable, r->rerun);
    m->splits[t] = ad_split(w, m->arms[t], m->arms[t]->accs, known);
    assign_fields(w, m, t);
  }
  Graph **arms = NEW_ARRAY(w->arena, Graph *, narms);
  for (int t = 0; t < narms; t++) arms[t] = forward_arm(w, m, n->graphs[t], t);
  m->value = ir_switch(w, ops[0], arms, narms, ops + 1, ncaps);
  r->fwd[at] = m->types.len ? ir_get(w, m->value, 0) : m->value;
  r->memo[at] = m;
}

/* Parameters of a backward arm: captures, D, accumulators, fields. */
static Graph *backward_arm(World *w, SwitchMemo *m, int t, IrType **types, int ntypes) {
  Combined *c = m->arms[t];
  int total = c->p + 1 + c->nacc;
  Split *s = &m->splits[t];
  Node **args = NEW_ARRAY(w->arena, Node *, total + s->nres + 1);
  for (int i = 0; i < total; i++) args[i] = ir_param(w, i, types[i]);
  for (int j = 0; j < s->nres; j++) args[total + j] = ir_param(w, total + m->field[t][j], s->res[j]->type);
  Node *accs = ad_tuple(w, s->back, c->nacc);
  return ir_graph(w, types, ntypes, ir_substitute(w, accs, args, total + s->nres, 0), NULL);
}

void ad_switch_backward(Reverse *r, int at, Node *d) {
  World *w = r->w;
  Node *n = r->nodes[at];
  SwitchMemo *m = r->memo[at];
  int nacc = m->arms[0]->nacc, nf = m->types.len;
  if (!nacc) return;
  Vec(Node *) caps = {0};
  Vec(IrType *) types = {0};
  for (int i = 1; i < n->nops; i++) vec_push(w->arena, caps, ad_fwd(r, n->ops[i]));
  vec_push(w->arena, caps, d);
  for (int i = 1; i < n->nops; i++)
    if (ad_active(r, n->ops[i])) vec_push(w->arena, caps, ad_region_acc(r, n->ops[i]));
  for (int k = 0; k < nf; k++) vec_push(w->arena, caps, ir_get(w, m->value, 1 + k));
  for (int i = 0; i < caps.len; i++) vec_push(w->arena, types, caps.data[i]->type);
  Graph **arms = NEW_ARRAY(w->arena, Graph *, n->ngraphs);
  for (int t = 0; t < n->ngraphs; t++) arms[t] = backward_arm(w, m, t, types.data, types.len);
  Node *accs = ir_switch(w, ad_fwd(r, n->ops[0]), arms, n->ngraphs, caps.data, caps.len);
  for (int i = 1, k = 0; i < n->nops; i++)
    if (ad_active(r, n->ops[i])) ad_region_done(r, n->ops[i], ir_get(w, accs, k++));
}

/* ---- Loops ------------------------------------------------------------------------------- */
typedef struct LoopMemo {
  Combined *c;
  bool rerun;
  Split split;
  Node *value;          /* the forward loop, with tapes */
  int first_tape;       /* its component with the first tape */
} LoopMemo;

bool ad_result_active(World *w, Graph *g, const bool *active, int k) {
  Node **nodes;
  int n = ir_order(w->arena, g, &nodes);
  Map act;
  map_init(&act, w->arena);
  for (int i = 0; i < n; i++) {
    Node *x = nodes[i];
    bool a = x->op == OP_PARAM && active[x->attr.i];
    for (int j = 0; j < x->nops; j++) a |= map_get(&act, x->ops[j]) != NULL;
    if (a && x->op != OP_STOP && ad_has_slot(w, x->type)) map_put(&act, x, x);
  }
  const Node *res = g->result->op == OP_TUPLE ? g->result->ops[k] : g->result;
  return map_get(&act, res) && ad_has_slot(w, g->result->type->args[k]);
}

bool *ad_body_activity(World *w, Graph *body, const LoopInfo *l, const bool *operands) {
  bool *act = NEW_ARRAY(w->arena, bool, body->nparams + 1);
  for (int i = 1; i < body->nparams; i++) act[i] = operands[i - 1] && ad_has_slot(w, body->params[i]);
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < l->ncarried + l->naccs; k++)
      if (!act[1 + k] && ad_result_active(w, body, act, k)) more = act[1 + k] = true;
  }
  return act;
}

/* Operands of the loop in the order of the body's parameters after i. */
static Node **loop_operands(const Node *n) { return n->ops + !n->loop->has_cond; }

static bool may_rerun(Reverse *r, const Node *n, const bool *unstable) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  if (!r->rerun || l->ncarried || l->has_cond || (b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD))) return false;
  for (int i = 1 + l->naccs; i < b->nparams; i++)
    if (unstable[i]) return false;
  return true;
}

/* Rows of an array are of one length; what may differ from iteration to iteration goes into a tuple of one. */
static bool needs_wrap(const IrType *t) { return t->kind == T_ARRAY; }
static Node *wrap(World *w, Node *x) { return needs_wrap(x->type) ? ad_tuple(w, &x, 1) : x; }

static Node *taping_loop(Reverse *r, const Node *n, LoopMemo *m, Node **ops) {
  World *w = r->w;
  const LoopInfo *l = n->loop;
  Graph *b = n->graphs[0];
  int slots = l->ncarried + l->naccs + l->nstacked, nres = m->split.nres;
  Node **xs = NEW_ARRAY(w->arena, Node *, slots + nres + 1);
  for (int k = 0; k < slots; k++) xs[k] = ir_get(w, m->c->y, k);
  for (int j = 0; j < nres; j++) xs[slots + j] = wrap(w, m->split.res[j]);
  Graph *body = ir_graph(w, b->params, b->nparams, ad_tuple(w, xs, slots + nres), b->name);
  LoopInfo info = *l;
  info.nstacked += nres;
  bool counted = !l->has_cond;
  m->first_tape = slots;
  return ir_loop(w, &info, counted ? ops[0] : NULL, ops + counted, body, counted ? NULL : n->graphs[1], n->site);
}

void ad_loop_forward(Reverse *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at];
  const LoopInfo *l = n->loop;
  Graph *b = n->graphs[0];
  LoopMemo *m = NEW(w->arena, LoopMemo);
  Node **operands = loop_operands(n), **ops = NEW_ARRAY(w->arena, Node *, n->nops + 1);
  bool *have = NEW_ARRAY(w->arena, bool, b->nparams + 1), *unstable = NEW_ARRAY(w->arena, bool, b->nparams + 1);
  uint8_t *known = NEW_ARRAY(w->arena, uint8_t, b->nparams + 1);
  int slots = l->ncarried + l->naccs;
  for (int i = 0; i < n->nops; i++) ops[i] = ad_fwd(r, n->ops[i]);
  known[0] = KNOWN_VALUE;
  for (int i = 0; i + 1 < b->nparams; i++) {
    have[i] = ad_active(r, operands[i]);
    unstable[1 + i] = i < slots || ad_unstable(r, operands[i]);
    known[1 + i] = !unstable[1 + i] ? KNOWN_VALUE : i >= slots || ir_keeps_shape(l, b, i) ? KNOWN_SHAPE : KNOWN_NOT;
  }
  m->rerun = may_rerun(r, n, unstable);
  m->c = ad_combine(w, b, ad_body_activity(w, b, l, have), unstable, r->rerun && !m->rerun);
  r->memo[at] = m;
  if (m->rerun) {
    m->value = r->fwd[at] = ir_rebuild(w, n, ops, n->graphs);
    return;
  }
  m->split = ad_split(w, m->c, m->c->accs, known);
  m->value = taping_loop(r, n, m, ops);
  Node **out = NEW_ARRAY(w->arena, Node *, n->type->n);
  for (int k = 0; k < n->type->n - 1; k++) out[k] = ir_get(w, m->value, k);
  out[n->type->n - 1] = ir_get(w, m->value, m->value->type->n - 1);
  r->fwd[at] = ir_tuple(w, n->type, out);
}

/* The backward loop under construction. */
typedef struct BackLoop {
  Reverse *r;
  World *w;
  const Node *n;        /* the primal loop */
  const LoopInfo *l;
  LoopMemo *m;
  Node *d;              /* cotangent of its value */
  bool *act;            /* of the body's parameters */
  bool *through;        /* accumulators whose cotangent is one invariant value */
  LoopInfo info;
  Vec(Node *) carried, accs, sliced, stacked_out;
  Region *in, *out;
  Node **args;          /* for the combined form's parameters and residuals */
  int first_acc;        /* position of the first accumulator in the combined form's parameters */
} BackLoop;

/* Is an accumulator only passed on? Then its cotangent, before as after, is that of the result. */
static bool is_passed_on(BackLoop *b, int k) {
  Combined *c = b->m->c;
  int total = c->p + 1 + c->nacc, which = 0;
  for (int i = 1; i < 1 + k; i++) which += b->act[i];
  Node **args = NEW_ARRAY(b->w->arena, Node *, total);
  for (int i = 0; i < c->p; i++) args[i] = ir_param(b->w, i, c->g->params[i]);
  args[c->p] = ir_param(b->w, c->p, ad_cotangent(b->w, c->g->result->type));
  for (int i = 0; i < c->nacc; i++) args[c->p + 1 + i] = i == which ? ir_zero(b->w, c->accs[i]->type) : ir_param(b->w, c->p + 1 + i, c->accs[i]->type);
  return ir_substitute(b->w, c->accs[which], args, total, 0) == ir_get(b->w, args[c->p], k);
}

static Node *import(BackLoop *b, Node *x) { return region_import(b->in, b->out, x); }

/* Own parameters in the order the loop wants them: carried, accumulators, slices. */
static Node *own_param(BackLoop *b, IrType *t) { return region_param(b->in, t); }

static Node *cot_of(BackLoop *b, int k) { return ir_get(b->w, b->d, k); }

static void carried_params(BackLoop *b, Node **dcomp) {
  for (int k = 0; k < b->l->ncarried + b->l->naccs; k++) {
    Node *start = cot_of(b, k);
    dcomp[k] = start;
    if (!b->act[1 + k]) continue;
    b->through[k] = k >= b->l->ncarried && is_passed_on(b, k);
    if (b->through[k]) continue;
    vec_push(b->w->arena, b->carried, start);
    dcomp[k] = own_param(b, start->type);
  }
  b->info.ncarried = b->carried.len;
}

static void capture_params(BackLoop *b) {
  int first = 1 + b->l->ncarried + b->l->naccs + b->l->nsliced, at = b->first_acc;
  for (int i = 1; i < first; i++) at += b->act[i];
  Node **operands = loop_operands(b->n);
  for (int i = first; i < b->m->c->p; i++) {
    if (!b->act[i]) continue;
    Node *acc = ad_region_acc(b->r, operands[i - 1]);
    vec_push(b->w->arena, b->accs, acc);
    b->args[at++] = own_param(b, acc->type);
  }
  b->info.naccs = b->accs.len;
}

static Node *slice_param(BackLoop *b, Node *array) {
  vec_push(b->w->arena, b->sliced, array);
  return own_param(b, array->type->args[0]);
}

static void slice_params(BackLoop *b, Node **dcomp) {
  World *w = b->w;
  int first = 1 + b->l->ncarried + b->l->naccs, slots = first - 1;
  Node **operands = loop_operands(b->n);
  for (int i = 0; i < b->l->nsliced; i++) b->args[first + i] = slice_param(b, ad_fwd(b->r, operands[slots + i]));
  for (int j = 0; j < b->m->split.nres && !b->m->rerun; j++) {
    Node *e = slice_param(b, ir_get(w, b->m->value, b->m->first_tape + j));
    b->args[b->m->c->p + 1 + b->m->c->nacc + j] = needs_wrap(b->m->split.res[j]->type) ? ir_get(w, e, 0) : e;
  }
  for (int i = 0; i < b->l->nstacked; i++) {
    Node *bag = cot_of(b, slots + i);
    IrType *elem = ad_cotangent(w, b->m->c->g->result->type->args[slots + i]);
    dcomp[slots + i] = ir_zero(w, elem);
    if (bag->op == OP_ZERO || bag->op == OP_UNIT) continue;
    int nd;
    Node *array = ir_get(w, ad_fwd(b->r, b->n), slots + i), **dims = ad_dims(w, array, array->type, &nd);
    Node *e = slice_param(b, ad_fill(w, bag, dims, nd));
    dcomp[slots + i] = e->type == elem ? e : ir_make(w, OP_TO_BAG, elem, &e, 1);
  }
  b->info.nsliced = b->sliced.len;
}

static void import_params(BackLoop *b, Node **dcomp) {
  World *w = b->w;
  Combined *c = b->m->c;
  int slots = b->l->ncarried + b->l->naccs, first_cap = 1 + slots + b->l->nsliced;
  Node **operands = loop_operands(b->n);
  for (int k = 0; k < slots; k++) {
    bool shape = ir_keeps_shape(b->l, c->g, k); /* only the length is read, if that: all else is a residual */
    b->args[1 + k] = shape ? import(b, ad_fwd(b->r, operands[k])) : ir_zero(w, c->g->params[1 + k]);
    if (!b->act[1 + k] || b->through[k]) dcomp[k] = import(b, dcomp[k]);
  }
  for (int i = first_cap; i < c->p; i++) b->args[i] = import(b, ad_fwd(b->r, operands[i - 1]));
  b->args[c->p] = ir_tuple(w, ad_cotangent(w, c->g->result->type), dcomp);
  int at = b->first_acc;
  for (int i = 1; i < first_cap; i++)
    if (b->act[i]) b->args[at++] = ir_zero(w, ad_cotangent(w, c->g->params[i]));
}

/* A row's cotangent as an element to be stacked: rows of a dense array are filled. */
static Node *stackable(BackLoop *b, Node *cot, Node *row) {
  if (cot->type->kind != T_BAG) return cot;
  int nd;
  Node **dims = ad_dims(b->w, row, row->type, &nd);
  return ad_fill(b->w, cot, dims, nd);
}

static Graph *backward_body(BackLoop *b) {
  World *w = b->w;
  Combined *c = b->m->c;
  Node **accs = b->m->rerun ? c->accs : b->m->split.back;
  int slots = b->l->ncarried + b->l->naccs, total = c->p + 1 + c->nacc + (b->m->rerun ? 0 : b->m->split.nres);
  Node *all = ir_substitute(w, ad_tuple(w, accs, c->nacc), b->args, total, 0);
  Vec(Node *) carried = {0}, added = {0}, stacked = {0};
  for (int i = 1, k = 0; i < c->p; i++) {
    if (!b->act[i]) continue;
    Node *x = ir_get(w, all, k++);
    if (i <= slots) {
      if (!b->through[i - 1]) vec_push(w->arena, carried, x);
    } else if (i <= slots + b->l->nsliced) vec_push(w->arena, stacked, stackable(b, x, b->args[i]));
    else vec_push(w->arena, added, x);
  }
  b->info.nstacked = stacked.len;
  for (int i = 0; i < added.len; i++) vec_push(w->arena, carried, added.data[i]);
  for (int i = 0; i < stacked.len; i++) vec_push(w->arena, carried, stacked.data[i]);
  return region_close(b->in, ad_tuple(w, carried.data, carried.len), c->g->name);
}

static Node *backward_loop(BackLoop *b) {
  World *w = b->w;
  b->in = region_open(w, b->out = region_open(w, NULL));
  b->args[0] = own_param(b, ir_type(w, T_INT));
  Node **dcomp = NEW_ARRAY(w->arena, Node *, b->d->type->n);
  carried_params(b, dcomp);
  capture_params(b);
  slice_params(b, dcomp);
  import_params(b, dcomp);
  Graph *body = backward_body(b);
  Vec(Node *) ops = {0};
  for (int i = 0; i < b->carried.len; i++) vec_push(w->arena, ops, b->carried.data[i]);
  for (int i = 0; i < b->accs.len; i++) vec_push(w->arena, ops, b->accs.data[i]);
  for (int i = 0; i < b->sliced.len; i++) vec_push(w->arena, ops, b->sliced.data[i]);
  for (int i = 0; i < b->in->ncaps; i++) vec_push(w->arena, ops, b->in->caps.data[i]);
  b->info.ncaps = b->in->ncaps;
  b->info.down = !b->l->down;
  Node *trips = ir_get(w, ad_fwd(b->r, b->n), b->n->type->n - 1);
  return ir_loop(w, &b->info, b->l->has_cond ? trips : ad_fwd(b->r, b->n->ops[0]), ops.data, body, NULL, b->n->site);
}

/* Moved accumulators first, then what is added to other operands. */
static void hand_out(BackLoop *b, Node *loop) {
  Reverse *r = b->r;
  int slots = b->l->ncarried + b->l->naccs, first_cap = 1 + slots + b->l->nsliced;
  Node **operands = loop_operands(b->n);
  int at = b->info.ncarried;
  for (int i = first_cap; i < b->m->c->p; i++)
    if (b->act[i]) ad_region_done(r, operands[i - 1], ir_get(b->w, loop, at++));
  for (int k = 0, j = 0; k < slots; k++) {
    if (!b->act[1 + k]) continue;
    ad_add(r, operands[k], b->through[k] ? cot_of(b, k) : ir_get(b->w, loop, j++));
  }
  for (int i = 0; i < b->l->nsliced; i++) {
    if (!b->act[1 + slots + i]) continue;
    Node *x = ir_get(b->w, loop, at++);
    ad_add(r, operands[slots + i], ir_make(b->w, OP_TO_BAG, ad_cotangent(b->w, operands[slots + i]->type), &x, 1));
  }
}

void ad_loop_backward(Reverse *r, int at, Node *d) {
  LoopMemo *m = r->memo[at];
  BackLoop b = {.r = r, .w = r->w, .n = r->nodes[at], .l = r->nodes[at]->loop, .m = m, .d = d, .act = m->c->active};
  b.through = NEW_ARRAY(r->w->arena, bool, b.l->ncarried + b.l->naccs + 1);
  b.first_acc = m->c->p + 1;
  b.args = NEW_ARRAY(r->w->arena, Node *, m->c->p + 1 + m->c->nacc + m->split.nres + 1);
  if (m->c->nacc) hand_out(&b, backward_loop(&b));
}
