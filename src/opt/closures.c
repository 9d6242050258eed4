/* SPDX-License-Identifier: MIT */
/* Defunctionalisation: function values that can only be one of a few closures, which are all made in sight, are taken
 * apart: a number that says which closure it is, and what the closures capture. So no object is made for them, and
 * applying one is a branch between known functions.
 *
 * A branch between closures yields what they capture; the closures are made behind it, by a branch that does nothing
 * else (ir_is_known_function), and applying such a branch is choosing between applications. A loop that carries a
 * function value carries its parts instead: what a closure captures that is the same in every iteration isn't
 * carried. Values of a closure that the function isn't at the moment are arbitrary: where another arm sets them,
 * they are what they are there. */
#include "ir/world.h"
#include "graph/graph.h"
#include "opt/opt.h"
#include <string.h>

/* What one closure captures, in the order of its operands: a place among the parts, or, if it never changes, a node
 * of the graph around the loop. */
typedef struct Candidate {
  Graph *graph;
  int ncaps;
  int *field; /* -1: fixed */
  Node **fixed, **seen;
  bool *varies;
} Candidate;

typedef struct Parts {
  World *w;
  IrType *fun;
  Candidate c[LIMIT_CANDIDATES];
  int n;
  SharedFields fields;
} Parts;

static const Candidate *candidate_of(const Parts *p, const Graph *g) {
  for (int i = 0; i < p->n; i++)
    if (p->c[i].graph == g) return &p->c[i];
  return NULL;
}

static Candidate *add_candidate(Parts *p, const Node *closure) {
  for (int i = 0; i < p->n; i++)
    if (p->c[i].graph == closure->graphs[0]) return &p->c[i];
  for (int k = 0; k < closure->nops; k++)
    if (closure->ops[k]->type->kind == T_FUN) return NULL; /* it may be the value itself, a step before */
  if (p->n == LIMIT_CANDIDATES && limit_reached(p->w->arena, AT_CANDIDATES)) return NULL;
  Candidate *c = &p->c[p->n++];
  int n = closure->nops;
  *c = (Candidate){.graph = closure->graphs[0], .ncaps = n};
  c->field = NEW_ARRAY(p->w->temp, int, n + 1);
  c->fixed = NEW_ARRAY(p->w->temp, Node *, n + 1);
  c->seen = NEW_ARRAY(p->w->temp, Node *, n + 1);
  c->varies = NEW_ARRAY(p->w->temp, bool, n + 1);
  return c;
}

/* ---- From parts to a function and back ------------------------------------------------------------------------- */
/* The function with these parts: the number, unless there is one candidate only, then the fields. fixed[c][k] stands
 * for what candidate c has that never changes. */
static Node *join(const Parts *p, Node *const *parts, Node **const *fixed) {
  World *w = p->w;
  BranchBuilder *b = p->n > 1 ? branch_open(w, parts[0]) : NULL;
  Node **in[LIMIT_CANDIDATES];
  for (int i = 0; i < p->n; i++) {
    const Candidate *c = &p->c[i];
    in[i] = NEW_ARRAY(w->arena, Node *, c->ncaps + 1);
    for (int k = 0; k < c->ncaps; k++) {
      Node *x = c->field[k] < 0 ? fixed[i][k] : parts[(p->n > 1) + c->field[k]];
      in[i][k] = b ? branch_add(b, x) : x;
    }
  }
  if (!b) return ir_closure(w, p->c[0].graph, p->fun, in[0], p->c[0].ncaps);
  for (int i = 0; i < p->n; i++) branch_arm(b, ir_closure(w, p->c[i].graph, p->fun, in[i], p->c[i].ncaps), NULL);
  return branch_close(b);
}

/* If x was joined from parts, these; else false. */
static bool parts_of_joined(const Parts *p, const Node *x, Node **parts) {
  Node **fixed[LIMIT_CANDIDATES];
  if (x->op != OP_SWITCH || x->ops[0]->type->kind != T_INT || p->n == 1 || x->ngraphs != p->n) return false;
  parts[0] = x->ops[0];
  for (int i = 0; i < p->n; i++) {
    const Candidate *c = &p->c[i];
    const Node *y = x->graphs[i]->result;
    if (y->op != OP_CLOSURE || y->graphs[0] != c->graph) return false;
    fixed[i] = NEW_ARRAY(p->w->temp, Node *, c->ncaps + 1);
    for (int k = 0; k < c->ncaps; k++) {
      Node *cap = y->ops[k]->op == OP_PARAM ? x->ops[1 + y->ops[k]->attr.i] : y->ops[k];
      if (c->field[k] < 0) fixed[i][k] = cap;
      else parts[1 + c->field[k]] = cap;
    }
  }
  for (int f = 0; f <= p->fields.types.len; f++)
    if (!parts[f]) return false;
  return join(p, parts, fixed) == x;
}

static bool part(const Parts *p, const Node *x, Node **parts);

/* The parts of what a branch chooses. Where an arm leaves a part open, it is what other arms, all alike, make it. */
static bool part_switch(const Parts *p, const Node *x, Node **parts) {
  World *w = p->w;
  int n = (p->n > 1) + p->fields.types.len;
  Node **of = NEW_ARRAY(w->arena, Node *, n * x->ngraphs + 1), **fill = NEW_ARRAY(w->arena, Node *, n + 1);
  bool *mixed = NEW_ARRAY(w->temp, bool, n + 1);
  Node **results = NEW_ARRAY(w->temp, Node *, x->ngraphs);
  for (int t = 0; t < x->ngraphs; t++) {
    if (!part(p, x->graphs[t]->result, of + t * n)) return false;
    for (int f = 0; f < n; f++) {
      Node *y = of[t * n + f];
      if (!y) continue;
      mixed[f] |= (fill[f] && fill[f] != y) || (y->op != OP_PARAM && !ir_is_constant(y));
      fill[f] = y;
    }
  }
  for (int t = 0; t < x->ngraphs; t++) {
    for (int f = 0; f < n; f++)
      if (!of[t * n + f])
        of[t * n + f] = fill[f] && !mixed[f] ? fill[f] : ir_zero(w, fill[f] ? fill[f]->type : ir_type(w, T_UNIT));
    results[t] = ir_record(w, of + t * n, n);
  }
  Node *chosen = ir_switch_yielding(w, x, x->ops, x->graphs, results);
  for (int f = 0; f < n; f++) parts[f] = fill[f] ? ir_get(w, chosen, f) : NULL;
  return true;
}

/* The parts of x; NULL: any value will do. False: x is none of the candidates. */
static bool part(const Parts *p, const Node *x, Node **parts) {
  size_t size = sizeof *parts * (size_t)((p->n > 1) + p->fields.types.len);
  memset(parts, 0, size);
  if (parts_of_joined(p, x, parts)) return true;
  memset(parts, 0, size);
  if (x->op == OP_SWITCH) return part_switch(p, x, parts);
  const Candidate *c = x->op == OP_CLOSURE ? candidate_of(p, x->graphs[0]) : NULL;
  if (!c) return false;
  if (p->n > 1) parts[0] = ir_int(p->w, c - p->c);
  for (int k = 0; k < x->nops; k++)
    if (c->field[k] >= 0) parts[(p->n > 1) + c->field[k]] = x->ops[k];
  return true;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
/* A graph, and what its parameters are outside; the body of the loop has none. */
typedef struct Scope {
  const struct Scope *outer;
  Node **caps;
} Scope;

typedef struct Carried {
  Parts p;
  const LoopInfo *l;
  Node **ops; /* of the loop, without the trip count */
  Graph *body;
  int slot;
} Carried;

/* What x of this scope is outside the loop, if it is there at all. */
static Node *value_outside(const Carried *c, const Scope *s, Node *x, bool in_body) {
  while (x->op == OP_PARAM && s->outer) {
    x = s->caps[x->attr.i];
    s = s->outer;
  }
  if (ir_is_constant(x)) return x;
  if (s->outer) return NULL;
  if (!in_body) return x;
  int k = x->op == OP_PARAM ? (int)x->attr.i - 1 : -1;
  return k >= 0 && loop_part(c->l, k) == LOOP_CAPTURED ? c->ops[k] : NULL;
}

/* Finds the closures that x may be, and which of their captures differ. */
static bool find_candidates(Carried *c, const Scope *s, Node *x, bool in_body) {
  if (x->op == OP_PARAM && s->outer) return find_candidates(c, s->outer, s->caps[x->attr.i], in_body);
  if (x->op == OP_PARAM) return in_body && x->attr.i == 1 + c->slot;
  if (x->op == OP_SWITCH) {
    Scope in = {s, x->ops + 1};
    for (int t = 0; t < x->ngraphs; t++)
      if (!find_candidates(c, &in, x->graphs[t]->result, in_body)) return false;
    return true;
  }
  Candidate *g = x->op == OP_CLOSURE ? add_candidate(&c->p, x) : NULL;
  for (int k = 0; g && k < g->ncaps; k++) {
    Node *y = value_outside(c, s, x->ops[k], in_body);
    g->varies[k] |= !y || (g->seen[k] && g->seen[k] != y);
    g->seen[k] = y;
  }
  return g;
}

/* Gives what varies its place; candidates share places of one type. */
static bool place_fields(Parts *p) {
  for (int i = 0; i < p->n; i++) {
    Candidate *c = &p->c[i];
    share_anew(&p->fields);
    for (int k = 0; k < c->ncaps; k++)
      c->field[k] = c->varies[k] ? share_field(p->w, &p->fields, c->graph->params[1 + p->fun->effect + k]) : -1;
  }
  return p->fields.types.len <= LIMIT_CLOSURE_FIELDS || !limit_reached(p->w->arena, AT_CLOSURE_FIELDS);
}

static IrType *parts_type(const Parts *p) {
  IrType *ts[LIMIT_CLOSURE_FIELDS + 1];
  int n = 0;
  if (p->n > 1) ts[n++] = ir_type(p->w, T_INT);
  for (int f = 0; f < p->fields.types.len; f++) ts[n++] = p->fields.types.data[f];
  return ir_tuple_type(p->w, ts, NULL, n);
}

/* The parts of x as one value, which the normal form of loops takes apart. */
static Node *parts_value(const Parts *p, Node *x) {
  IrType *t = parts_type(p);
  Node **parts = NEW_ARRAY(p->w->arena, Node *, t->n + 1);
  if (!part(p, x, parts)) return NULL;
  for (int k = 0; k < t->n; k++)
    if (!parts[k]) parts[k] = ir_zero(p->w, t->args[k]);
  return ir_tuple(p->w, t, parts);
}

/* The function whose parts are x; `fixed`: what stands for all that never changes, candidate by candidate. */
static Node *joined(const Parts *p, Node *x, Node **fixed) {
  Node *parts[LIMIT_CLOSURE_FIELDS + 1], **of[LIMIT_CANDIDATES];
  for (int k = 0; k < x->type->n; k++) parts[k] = ir_get(p->w, x, k);
  for (int i = 0; i < p->n; i++) {
    const Candidate *c = &p->c[i];
    of[i] = NEW_ARRAY(p->w->temp, Node *, c->ncaps + 1);
    for (int k = 0; k < c->ncaps; k++)
      if (c->field[k] < 0) of[i][k] = *fixed++;
  }
  return join(p, parts, of);
}

/* Loop n, one of whose carried values is a function made in sight; NULL: there is none, or the closures changed as they
 * were rebuilt. */
static Node *carry_parts(Carried *c, const Node *n, Node **ops, Graph **graphs) {
  World *w = c->p.w;
  const Scope top = {0};
  if (!find_candidates(c, &top, c->ops[c->slot], false)) return NULL;
  if (!find_candidates(c, &top, ir_get(w, c->body->result, c->slot), true) || !place_fields(&c->p)) return NULL;
  Node *start = parts_value(&c->p, c->ops[c->slot]);
  if (!start) return NULL;
  LoopEdit *e = edit_loop(w, n, ops, graphs);
  Nodes fixed = {0}, inside = {0};
  e->ops[c->slot] = start;
  edit_inputs(e);
  for (int i = 0; i < c->p.n; i++)
    for (int k = 0; k < c->p.c[i].ncaps; k++)
      if (c->p.c[i].field[k] < 0) {
        vec_push(w->temp, fixed, c->p.c[i].seen[k]);
        vec_push(w->temp, inside, loop_add(e->b, LOOP_CAPTURED, c->p.c[i].seen[k]));
      }
  e->args[1 + c->slot] = joined(&c->p, e->in[c->slot], inside.data);
  edit_body(e, NULL, NULL, 0);
  e->next[c->slot] = parts_value(&c->p, e->next[c->slot]);
  if (!e->next[c->slot]) return NULL;
  edit_close(e);
  e->results[c->slot] = joined(&c->p, e->results[c->slot], fixed.data);
  return edit_value(e);
}

static Node *loop_of_functions(World *w, const Node *n, Node **ops, Graph **graphs) {
  for (int k = 0; k < n->loop->ncarried; k++) {
    if (graphs[0]->params[1 + k]->kind != T_FUN) continue;
    Carried c = {.p = {.w = w, .fun = graphs[0]->params[1 + k]},
                 .l = n->loop,
                 .ops = ops + loop_first(n->loop),
                 .body = graphs[0],
                 .slot = k};
    Node *x = carry_parts(&c, n, ops, graphs);
    if (x) return x;
  }
  return NULL;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
/* What arm t yields as component j, or as the whole. */
static Node *yields(World *w, const Graph *arm, int j) {
  return arm->result->type->kind == T_TUPLE ? ir_get(w, arm->result, j) : arm->result;
}

static bool is_there(const Node *x) { return x->op == OP_PARAM || ir_is_constant(x); }

/* Do all arms yield, as component j, a function that was there before or a closure that they make? */
static bool is_choice(World *w, Graph **arms, int narms, int j) {
  bool known = false;
  for (int t = 0; t < narms; t++) {
    const Node *x = yields(w, arms[t], j);
    bool function = ir_is_known_function(x);
    if (x->type->kind != T_FUN || (!function && x->op != OP_PARAM)) return false;
    known |= function;
  }
  return known;
}

/* A place for each capture that an arm computes, among the fields. */
static int *places(World *w, SharedFields *fields, const Node *closure) {
  int *place = NEW_ARRAY(w->temp, int, closure->nops + 1);
  for (int k = 0; k < closure->nops; k++)
    place[k] = is_there(closure->ops[k]) ? -1 : share_field(w, fields, closure->ops[k]->type);
  return place;
}

typedef struct Choice {
  World *w;
  Graph **arms;
  int narms, ncaps, width;
  SharedFields fields;
  bool *chosen; /* components that are functions to be made behind the branch */
  int ***place; /* [arm][component] of a closure's captures among the fields; NULL: no closure */
} Choice;

static bool plan_choice(Choice *c) {
  World *w = c->w;
  bool any = false;
  for (int j = 0; j < c->width; j++) any |= c->chosen[j] = is_choice(w, c->arms, c->narms, j);
  c->place = NEW_ARRAY(w->temp, int **, c->narms);
  for (int t = 0; t < c->narms && any; t++) {
    share_anew(&c->fields);
    c->place[t] = NEW_ARRAY(w->temp, int *, c->width);
    for (int j = 0; j < c->width; j++) {
      const Node *x = yields(w, c->arms[t], j);
      if (!c->chosen[j] || x->op != OP_CLOSURE) continue;
      c->place[t][j] = places(w, &c->fields, x);
    }
  }
  if (c->fields.types.len > LIMIT_CLOSURE_FIELDS && limit_reached(w->arena, AT_CLOSURE_FIELDS)) return false;
  return any;
}

/* Arm t, with zero for the functions, and the fields. */
static Node *arm_of_fields(const Choice *c, int t) {
  World *w = c->w;
  const Graph *a = c->arms[t];
  Node **out = NEW_ARRAY(w->arena, Node *, c->width + c->fields.types.len + 1);
  for (int f = 0; f < c->fields.types.len; f++) out[c->width + f] = ir_zero(w, c->fields.types.data[f]);
  for (int j = 0; j < c->width; j++) {
    Node *x = yields(w, a, j);
    out[j] = c->chosen[j] ? ir_unit(w) : x;
    for (int k = 0; c->chosen[j] && c->place[t][j] && k < x->nops; k++)
      if (c->place[t][j][k] >= 0) out[c->width + c->place[t][j][k]] = x->ops[k];
  }
  return ir_record(w, out, c->width + c->fields.types.len);
}

/* The function that is component j, over the branch's captures and the fields. */
static Node *function_of(const Choice *c, int j, Node *selector, Node **caps) {
  World *w = c->w;
  BranchBuilder *b = branch_open(w, selector);
  Node **inside = NEW_ARRAY(w->temp, Node *, c->ncaps + c->fields.types.len + 1);
  for (int k = 0; k < c->ncaps + c->fields.types.len; k++) inside[k] = branch_add(b, caps[k]);
  for (int t = 0; t < c->narms; t++) {
    Node *x = yields(w, c->arms[t], j);
    Node **in = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    const int *place = c->place[t][j];
    for (int k = 0; place && k < x->nops; k++) in[k] = place[k] < 0 ? x->ops[k] : inside[c->ncaps + place[k]];
    branch_arm(b, place ? ir_closure(w, x->graphs[0], x->type, in, x->nops) : x, NULL);
  }
  return branch_close(b);
}

static Node *switch_of_functions(World *w, const Node *n, Node **ops, Graph **graphs) {
  IrType *type = n->type;
  bool tuple = type->kind == T_TUPLE;
  if (!tuple && type->kind != T_FUN) return NULL;
  Choice c = {.w = w, .arms = graphs, .narms = n->ngraphs, .ncaps = n->nops - 1, .width = tuple ? type->n : 1};
  c.chosen = NEW_ARRAY(w->temp, bool, c.width + 1);
  if (!plan_choice(&c) || (!tuple && c.fields.types.len == 0)) return NULL;
  Node **results = NEW_ARRAY(w->temp, Node *, n->ngraphs);
  for (int t = 0; t < n->ngraphs; t++) results[t] = arm_of_fields(&c, t);
  Node *rest = ir_switch_yielding(w, n, ops, graphs, results);
  Node **caps = NEW_ARRAY(w->arena, Node *, c.ncaps + c.fields.types.len + 1),
       **out = NEW_ARRAY(w->arena, Node *, c.width + 1);
  for (int k = 0; k < c.ncaps; k++) caps[k] = ops[1 + k];
  for (int f = 0; f < c.fields.types.len; f++) caps[c.ncaps + f] = ir_get(w, rest, c.width + f);
  for (int j = 0; j < c.width; j++) out[j] = c.chosen[j] ? function_of(&c, j, ops[0], caps) : ir_get(w, rest, j);
  return tuple ? ir_tuple(w, type, out) : out[0];
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
static Node *take_apart(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)r;
  (void)frame;
  switch (ir_shape(n)) {
  case IR_BRANCH: return switch_of_functions(user, n, ops, graphs);
  case IR_LOOP: return loop_of_functions(user, n, ops, graphs);
  case IR_STRAIGHT:
  case IR_CALL: return NULL;
  }
  return NULL;
}

Graph *opt_closures(World *w, Graph *g) { return ir_rewrite(w, g, (RewritePass){.user = w, .node = take_apart}); }
