/* SPDX-License-Identifier: MIT */
/* Reverse mode of branches and loops.
 *
 * A branch: each arm is split; what its backward pass needs and can't cheaply compute again is returned by the forward
 * branch in fields shared by the arms (an arm that isn't taken leaves them zero), and the backward branch switches on
 * the same selector. A loop: the backward loop runs the other way, carries the cotangents of the carried values, adds
 * into the accumulators of the captures, and reads tapes as slices; or, where iterations are independent and nothing
 * hinders it, runs the body again and needs no tape.
 *
 * Both are built with all that they may need; the normal forms of branches and loops drop what they don't. */
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
static int *assign_fields(World *w, SwitchMemo *m, const Split *s) {
  bool *taken = NEW_ARRAY(w->arena, bool, m->types.len + s->nres + 1);
  int *field = NEW_ARRAY(w->arena, int, s->nres + 1);
  for (int j = 0; j < s->nres; j++) {
    int k = 0;
    while (k < m->types.len && (taken[k] || m->types.data[k] != s->res[j]->type)) k++;
    if (k == m->types.len) vec_push(w->arena, m->types, s->res[j]->type);
    taken[k] = true;
    field[j] = k;
  }
  return field;
}

static Graph *forward_arm(World *w, const SwitchMemo *m, Graph *arm, int t) {
  int nf = m->types.len;
  Node **xs = NEW_ARRAY(w->arena, Node *, nf + 1);
  xs[0] = m->arms[t]->y;
  for (int k = 0; k < nf; k++) xs[1 + k] = ir_zero(w, m->types.data[k]);
  for (int j = 0; j < m->splits[t].nres; j++) xs[1 + m->field[t][j]] = m->splits[t].res[j];
  return ir_graph(w, arm->params, arm->nparams, nf ? ir_record(w, xs, nf + 1) : xs[0], arm->name);
}

void ad_switch_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **ops = ad_fwd_all(r, n->ops, n->nops);
  int ncaps = n->nops - 1, narms = n->ngraphs;
  SwitchMemo *m = r->memo[at] = NEW(w->arena, SwitchMemo);
  m->arms = NEW_ARRAY(w->arena, Combined *, narms);
  m->splits = NEW_ARRAY(w->arena, Split, narms);
  m->field = NEW_ARRAY(w->arena, int *, narms);
  bool *act = ad_active_all(r, n->ops + 1, ncaps);
  bool *unstable = NEW_ARRAY(w->arena, bool, ncaps + 1);
  Known *known = NEW_ARRAY(w->arena, Known, ncaps + 1);
  for (int i = 0; i < ncaps; i++) {
    unstable[i] = ad_unstable(r, n->ops[i + 1]);
    known[i] = unstable[i] ? KNOWN_SHAPE : KNOWN_VALUE;
  }
  for (int t = 0; t < narms; t++) {
    m->arms[t] = ad_combine(w, n->graphs[t], act, unstable, r->rerun);
    m->splits[t] = ad_split(w, m->arms[t], known);
    m->field[t] = assign_fields(w, m, &m->splits[t]);
  }
  Graph **arms = NEW_ARRAY(w->arena, Graph *, narms);
  for (int t = 0; t < narms; t++) arms[t] = forward_arm(w, m, n->graphs[t], t);
  m->value = ir_switch(w, ops[0], arms, narms, ops + 1, ncaps);
  r->fwd[at] = m->types.len ? ir_get(w, m->value, 0) : m->value;
}

/* Parameters of a backward arm: those of the combined form, then the fields. */
static Graph *backward_arm(World *w, const SwitchMemo *m, int t, const Nodes *caps) {
  const Split *s = &m->splits[t];
  int total = m->arms[t]->total;
  Node **args = NEW_ARRAY(w->arena, Node *, total + s->nres);
  IrType **types = NEW_ARRAY(w->arena, IrType *, caps->len);
  for (int i = 0; i < caps->len; i++) types[i] = caps->data[i]->type;
  for (int i = 0; i < total; i++) args[i] = ir_param(w, i, types[i]);
  for (int j = 0; j < s->nres; j++) args[total + j] = ir_param(w, total + m->field[t][j], s->res[j]->type);
  return ir_graph(w, types, caps->len, ir_substitute(w, s->back, args, total + s->nres, 0), NULL);
}

void ad_switch_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  Node *n = r->nodes[at];
  SwitchMemo *m = r->memo[at];
  if (!m->arms[0]->nacc) return;
  Nodes caps = {0};
  for (int i = 1; i < n->nops; i++) vec_push(w->arena, caps, ad_fwd(r, n->ops[i]));
  vec_push(w->arena, caps, d);
  ad_region_accs(r, n->ops + 1, n->nops - 1, &caps);
  for (int k = 0; k < m->types.len; k++) vec_push(w->arena, caps, ir_get(w, m->value, 1 + k));
  Graph **arms = NEW_ARRAY(w->arena, Graph *, n->ngraphs);
  for (int t = 0; t < n->ngraphs; t++) arms[t] = backward_arm(w, m, t, &caps);
  Node *accs = ir_switch(w, ad_fwd(r, n->ops[0]), arms, n->ngraphs, caps.data, caps.len);
  ad_region_all_done(r, n->ops + 1, n->nops - 1, accs);
}

/* ---- Loops ------------------------------------------------------------------------------- */
typedef struct LoopMemo {
  Combined *c;
  Split split;          /* without residuals if the body is run again */
  Node *value;          /* the forward loop, the tapes last before the trips */
} LoopMemo;

bool *ad_body_activity(World *w, Graph *body, const LoopInfo *l, const bool *given) {
  bool *act = NEW_ARRAY(w->arena, bool, body->nparams + 1), more = true;
  for (int i = 1; i < body->nparams; i++) act[i] = given[i - 1] && ad_has_slot(w, body->params[i]);
  while (more) {
    more = false;
    Diff *r = ad_begin(w, body, act);
    for (int i = 0; i < r->n; i++)
      if (r->nodes[i]->op != OP_PARAM) ad_visit(r, i);
    for (int k = 0; k < l->ncarried + l->naccs; k++) {
      const Node *x = body->result->op == OP_TUPLE ? body->result->ops[k] : body->result;
      if (!act[1 + k] && ad_active(r, x) && ad_has_slot(w, body->params[1 + k])) more = act[1 + k] = true;
    }
  }
  return act;
}

static bool may_rerun(const Diff *r, const Node *n, const bool *unstable) {
  const LoopInfo *l = n->loop;
  const Graph *b = n->graphs[0];
  if (!r->rerun || l->ncarried || l->has_cond || (b->flags & (NODE_CALLS | NODE_APPLIES | NODE_AD))) return false;
  for (int i = 1 + l->naccs; i < b->nparams; i++)
    if (unstable[i]) return false;
  return true;
}

/* Rows of an array are of one length; what may differ from iteration to iteration goes into a tuple of one. */
static bool needs_wrap(const Node *x) { return x->type->kind == T_ARRAY; }

static Node *taping_loop(World *w, const Node *n, const LoopMemo *m, Node **ops) {
  Graph *b = n->graphs[0];
  int counted = !n->loop->has_cond;
  Nodes out = {0};
  for (int k = 0; k < n->type->n - 1; k++) vec_push(w->arena, out, ir_get(w, m->c->y, k));
  for (int j = 0; j < m->split.nres; j++) {
    Node *x = m->split.res[j];
    vec_push(w->arena, out, needs_wrap(x) ? ir_record(w, &x, 1) : x);
  }
  Graph *body = ir_graph(w, b->params, b->nparams, ir_record(w, out.data, out.len), b->name);
  LoopInfo info = *n->loop;
  info.nstacked += m->split.nres;
  return ir_loop(w, &info, counted ? ops[0] : NULL, ops + counted, body, counted ? NULL : n->graphs[1], n->site);
}

void ad_loop_forward(Diff *r, int at) {
  World *w = r->w;
  Node *n = r->nodes[at], **operands = n->ops + !n->loop->has_cond;
  Graph *b = n->graphs[0];
  LoopMemo *m = r->memo[at] = NEW(w->arena, LoopMemo);
  bool *unstable = NEW_ARRAY(w->arena, bool, b->nparams);
  Known *known = NEW_ARRAY(w->arena, Known, b->nparams);
  known[0] = KNOWN_VALUE;
  for (int i = 1; i < b->nparams; i++) {
    bool state = i <= n->loop->ncarried + n->loop->naccs, shape = !state || ir_keeps_shape(n->loop, b, i - 1);
    unstable[i] = state || ad_unstable(r, operands[i - 1]);
    known[i] = !unstable[i] ? KNOWN_VALUE : shape ? KNOWN_SHAPE : KNOWN_NOT;
  }
  bool *act = ad_body_activity(w, b, n->loop, ad_active_all(r, operands, b->nparams - 1));
  bool again = may_rerun(r, n, unstable);
  m->c = ad_combine(w, b, act, unstable, r->rerun && !again);
  if (again) {
    m->split.back = m->c->accs;
    m->value = r->fwd[at] = ad_rebuild(r, n);
    return;
  }
  m->split = ad_split(w, m->c, known);
  m->value = taping_loop(w, n, m, ad_fwd_all(r, n->ops, n->nops));
  Node **out = NEW_ARRAY(w->arena, Node *, n->type->n);
  for (int k = 0; k < n->type->n - 1; k++) out[k] = ir_get(w, m->value, k);
  out[n->type->n - 1] = ir_get(w, m->value, m->value->type->n - 1);
  r->fwd[at] = ir_tuple(w, n->type, out);
}

/* The backward loop under construction. */
typedef struct BackLoop {
  Diff *r;
  World *w;
  const Node *n;        /* the primal loop */
  const LoopMemo *m;
  Combined *c;
  int slots, first_cap; /* parameters of the primal body: i, `slots` carried and accumulators, slices, captures */
  Node **operands;      /* of the primal loop: one for each but i */
  Nodes in;             /* operands of the new loop */
  Vec(IrType *) types;  /* of the new body's parameters */
  Node **args;          /* for the combined form's parameters and residuals */
  int *place;           /* component of the new loop with the cotangent of a parameter */
} BackLoop;

/* One more operand; what stands for it in the body. */
static Node *operand(BackLoop *b, Node *x, IrType *t) {
  vec_push(b->w->arena, b->in, x);
  vec_push(b->w->arena, b->types, t);
  return ir_param(b->w, b->types.len - 1, t);
}
static Node *slice(BackLoop *b, Node *array) { return operand(b, array, array->type->args[0]); }

/* Carried: cotangents of carried values and accumulators. (That of a mere accumulator never changes.) */
static void carry(BackLoop *b, Node *d, Node **dy) {
  for (int k = 0; k < b->slots; k++) {
    IrType *t = ad_cotangent(b->w, b->c->types[1 + k]);
    dy[k] = b->c->active[1 + k] ? operand(b, ir_get(b->w, d, k), t) : ir_zero(b->w, t);
  }
}

/* Accumulated: cotangents of captures. Those of other parameters start at zero in each iteration. */
static void accumulate(BackLoop *b) {
  Node **acc = b->args + b->c->p + 1;
  for (int i = 1; i < b->c->p; i++) {
    if (!b->c->active[i]) continue;
    IrType *t = ad_cotangent(b->w, b->c->types[i]);
    *acc++ = i < b->first_cap ? ir_zero(b->w, t) : operand(b, ad_region_acc(b->r, b->operands[i - 1]), t);
  }
}

/* Slices: those of the primal loop, tapes, cotangents of stacked results. */
static void read_slices(BackLoop *b, Node *d, Node **dy) {
  World *w = b->w;
  const Split *s = &b->m->split;
  int last = b->n->type->n - 1;
  for (int i = 1 + b->slots; i < b->first_cap; i++) b->args[i] = slice(b, ad_fwd(b->r, b->operands[i - 1]));
  for (int j = 0; j < s->nres; j++) {
    Node *e = slice(b, ir_get(w, b->m->value, last + j));
    b->args[b->c->total + j] = needs_wrap(s->res[j]) ? ir_get(w, e, 0) : e;
  }
  for (int k = b->slots; k < last; k++) {
    Node *bag = ir_get(w, d, k);
    dy[k] = ad_is_zero(bag) ? ir_zero(w, ad_cotangent(w, b->c->g->result->type->args[k]))
                            : ir_to_bag(w, slice(b, ir_fill(w, bag, ir_get(w, ad_fwd(b->r, b->n), k))));
  }
}

/* Captures: those of the primal loop. Of its state at most the shape is read: all else is a residual. */
static void capture(BackLoop *b) {
  for (int i = 1; i < b->c->p; i++) {
    IrType *t = b->c->types[i];
    if (i > b->slots && i < b->first_cap) continue;
    if (i <= b->slots && !ir_keeps_shape(b->n->loop, b->c->g, i - 1)) b->args[i] = ir_zero(b->w, t);
    else b->args[i] = operand(b, ad_fwd(b->r, b->operands[i - 1]), t);
  }
}

/* Returned: new cotangents of the carried values, accumulators of the captures, cotangents of the slices' elements. */
static Graph *backward_body(BackLoop *b) {
  World *w = b->w;
  Node *accs = ir_substitute(w, b->m->split.back, b->args, b->c->total + b->m->split.nres, 0);
  Nodes out = {0};
  int *which = NEW_ARRAY(w->arena, int, b->c->p);
  for (int i = 1, k = 0; i < b->c->p; i++)
    if (b->c->active[i]) which[i] = k++;
  int first[3] = {1, b->first_cap, 1 + b->slots}, end[3] = {1 + b->slots, b->c->p, b->first_cap};
  for (int part = 0; part < 3; part++)
    for (int i = first[part]; i < end[part]; i++) {
      if (!b->c->active[i]) continue;
      Node *x = ir_get(w, accs, which[i]);
      b->place[i] = out.len;
      vec_push(w->arena, out, part == 2 ? ir_fill(w, x, b->args[i]) : x);
    }
  return ir_graph(w, b->types.data, b->types.len, ir_record(w, out.data, out.len), b->c->g->name);
}

/* Moved accumulators first, then what is added to other operands. */
static void hand_out(BackLoop *b, Node *loop) {
  for (int i = b->first_cap; i < b->c->p; i++)
    if (b->c->active[i]) ad_region_done(b->r, b->operands[i - 1], ir_get(b->w, loop, b->place[i]));
  for (int i = 1; i < b->first_cap; i++) {
    if (!b->c->active[i]) continue;
    Node *x = ir_get(b->w, loop, b->place[i]);
    ad_add(b->r, b->operands[i - 1], i <= b->slots ? x : ir_to_bag(b->w, x));
  }
}

void ad_loop_backward(Diff *r, int at, Node *d) {
  World *w = r->w;
  const Node *n = r->nodes[at];
  const LoopInfo *l = n->loop;
  const LoopMemo *m = r->memo[at];
  Combined *c = m->c;
  if (!c->nacc) return;
  BackLoop b = {.r = r, .w = w, .n = n, .m = m, .c = c, .slots = l->ncarried + l->naccs, .operands = n->ops + !l->has_cond};
  b.first_cap = 1 + b.slots + l->nsliced;
  b.args = NEW_ARRAY(w->arena, Node *, c->total + m->split.nres);
  b.place = NEW_ARRAY(w->arena, int, c->p);
  Node **dy = NEW_ARRAY(w->arena, Node *, n->type->n);
  vec_push(w->arena, b.types, ir_type(w, T_INT));
  b.args[0] = ir_param(w, 0, b.types.data[0]);
  LoopInfo info = {.down = !l->down};
  carry(&b, d, dy);
  info.ncarried = b.in.len;
  accumulate(&b);
  info.naccs = b.in.len - info.ncarried;
  read_slices(&b, d, dy);
  info.nsliced = b.in.len - info.ncarried - info.naccs;
  capture(&b);
  info.ncaps = b.in.len - info.ncarried - info.naccs - info.nsliced;
  b.args[c->p] = ir_tuple(w, c->types[c->p], dy);
  Graph *body = backward_body(&b);
  for (int i = 1 + b.slots; i < b.first_cap; i++) info.nstacked += c->active[i];
  Node *trips = l->has_cond ? ir_get(w, ad_fwd(r, n), n->type->n - 1) : ad_fwd(r, n->ops[0]);
  hand_out(&b, ir_loop(w, &info, trips, b.in.data, body, NULL, n->site));
}
