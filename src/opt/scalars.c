/* SPDX-License-Identifier: MIT */
/* Arrays of a small known size become scalars, and loops of a small known number of iterations are unrolled.
 *
 *   [ x[i] * y[i] | i < 3 ]                          →  [x[0] * y[0], x[1] * y[1], x[2] * y[2]]
 *   a = [x, y]; if c then f a[0] else g a[1]         →  if c then f x else g y
 *   for a = [x, y]: a' = [a[1], a[0]]                →  for x, y: x' = y, y' = x
 *   if c then [x, y] else [z, y]                     →  [if c then x else z, y]
 *   [x, y][if c then 0 else 1]                       →  if c then x else y
 *
 * An array that is only read at known places is then never made. Before differentiation, so that its derivative is
 * numbers too, and after it, for what that made.
 *
 * A size is known though it was checked: `check_size n 3` is 3, and what reads it waits for the check. It is written
 * `after 3 (check_size n 3)`; so is all that is calculated from it. What was read at such a place may be found without
 * reading: then it waits for the check itself, unless it is made of something that does (waiting).
 *
 * A graph is done again until nothing changes: what one step finds is what the next one knows. */
#include "opt/opt.h"

typedef struct Scalars {
  World *w;
  Rewriter *r;
} Scalars;

/* ---- What is known ----------------------------------------------------------------------------------------------- */
static Node *stripped(Node *x) {
  while (x->op == OP_AFTER) x = x->ops[0];
  return x;
}

/* Does x wait for an effect? What may fail behind it then comes after that, so no loop or branch goes that x has a
 * say in. */
static bool awaits_effect(const Node *x) {
  for (; x->op == OP_AFTER; x = x->ops[0])
    if (x->ops[1]->type->kind == T_TOKEN) return true;
  return false;
}

static bool is_known(Node *x) {
  if (awaits_effect(x)) return false;
  x = stripped(x);
  return x->op == OP_INT || x->op == OP_BOOL;
}

/* Of x an int: is it known, and what is it? */
static bool known_int(Node *x, int64_t *v) {
  if (awaits_effect(x)) return false;
  x = stripped(x);
  if (x->op == OP_INT) *v = x->attr.i;
  return x->op == OP_INT;
}

/* Is y among what x is made of? As far as a short look shows. */
static bool made_of(World *w, Node *x, const Node *y) {
  Nodes found = {0};
  Map seen;
  map_init(&seen, w->temp);
  vec_push(w->temp, found, x);
  for (int i = 0; i < found.len && i < LIMIT_WAITING_LOOK; i++)
    for (int k = 0; k < found.data[i]->nops; k++) {
      Node *z = found.data[i]->ops[k];
      if (z == y) return true;
      if (map_get(&seen, z)) continue;
      map_put(&seen, z, z);
      vec_push(w->temp, found, z);
    }
  return x == y;
}

static Node *after_one(World *w, Node *r, Node *y, Waits waits) {
  if (!(y->flags & (NODE_FAILS | NODE_ENDLESS)) && waits == WAITS_SEEN) return r;
  return made_of(w, r, y) ? r : ir_after(w, r, y, waits);
}

/* r, which stands for something that read x, waits for what x waits for. */
static Node *waiting(World *w, Node *r, Node *x) {
  for (; x->op == OP_AFTER; x = x->ops[0]) r = after_one(w, r, x->ops[1], (Waits)x->attr.i);
  return x->type->kind == T_INT || x->type->kind == T_BOOL ? after_one(w, r, x, WAITS_SEEN) : r;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
static Node *checked(World *w, Node *n, Node **plain) {
  Node *r = ir_check(w, (Op)n->op, plain[0], n->nops > 1 ? plain[1] : NULL, n->nops > 2 ? plain[2] : NULL, n->site);
  if (!(op_flags[r->op] & OPF_V)) { /* it holds */
    for (int k = 0; k < n->nops; k++) r = waiting(w, r, n->ops[k]);
    return r;
  }
  if (plain[0]->op == OP_INT) return ir_op2(w, OP_AFTER, plain[0], n);
  return n->op == OP_CHECK_SIZE && plain[1]->op == OP_INT ? ir_op2(w, OP_AFTER, plain[1], n) : n;
}

/* n, an operation on numbers, some of which may be known. */
static Node *known_number(World *w, Node *n) {
  bool check = (op_flags[n->op] & OPF_V) && n->op != OP_CHECK_NAT, any = false, all = true;
  Node **plain = NEW_ARRAY(w->temp, Node *, n->nops + 1);
  if (!check && (!(op_flags[n->op] & OPF_S) || (op_flags[n->op] & OPF_F) || n->op == OP_LEN)) return n;
  if (n->type->kind != T_INT && n->type->kind != T_BOOL) return n;
  for (int k = 0; k < n->nops; k++) {
    plain[k] = is_known(n->ops[k]) ? stripped(n->ops[k]) : n->ops[k];
    any |= is_known(n->ops[k]);
    all &= is_known(n->ops[k]);
  }
  if (check) return any ? checked(w, n, plain) : n;
  if (!all || n->nops > 2) return n;
  Node *r = ir_make(w, (Op)n->op, n->type, plain, n->nops);
  if (!ir_is_constant(r)) return n;
  for (int k = 0; k < n->nops; k++) r = waiting(w, r, n->ops[k]);
  return r;
}

typedef struct Dims {
  int64_t n[LIMIT_RANK];
} Dims;

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
static int count_of(const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; d++) n *= dims[d];
  return (int)n;
}

/* The dimensions of array x, made of its elements here, of which there are few. */
static bool made_here(World *w, Node *x, int64_t *dims) {
  int rank = ir_rank(x->type);
  x = stripped(x);
  if (x->op != OP_ARRAY || !x->nops || x->nops > LIMIT_SMALL_ARRAY) return false;
  dims[0] = x->nops;
  for (int i = 0; rank > 1 && i < x->nops; i++) {
    int64_t *row = i ? NEW_ARRAY(w->temp, int64_t, rank) : dims + 1;
    if (!made_here(w, x->ops[i], row)) return false;
    for (int d = 1; d < rank; d++)
      if (row[d - 1] != dims[d]) return false;
  }
  return count_of(dims, rank) <= LIMIT_SMALL_ARRAY || !limit_reached(w->arena, AT_SMALL_ARRAY);
}

static bool same_dims(const int64_t *a, const int64_t *b, int rank) {
  for (int d = 0; d < rank; d++)
    if (a[d] != b[d]) return false;
  return true;
}

/* The dimensions of array x, whoever makes it, of which few elements are known to be. */
static bool is_small(World *w, Node *x, int64_t *dims) {
  int64_t count = 1;
  for (int d = 0; d < ir_rank(x->type); d++) {
    if (!known_int(ir_len(w, x, d), &dims[d]) || dims[d] <= 0 || dims[d] > LIMIT_SMALL_ARRAY) return false;
    count *= dims[d];
    if (count > LIMIT_SMALL_ARRAY && limit_reached(w->arena, AT_SMALL_ARRAY)) return false;
  }
  return true;
}

static void add_elements(World *w, Node *x, const int64_t *dims, Nodes *out) {
  Node *n = ir_len(w, x, 0), *made = stripped(x);
  for (int64_t i = 0; i < dims[0]; i++) {
    Node *at = waiting(w, ir_int(w, i), n);
    Node *e = made->op == OP_ARRAY ? waiting(w, made->ops[i], x) : ir_index(w, x, &at, 1);
    if (e->type->kind == T_ARRAY) add_elements(w, e, dims + 1, out);
    else vec_push(w->temp, *out, e);
  }
}

/* The elements of array x, which has these dimensions: a tuple, in row-major order. */
static Node *elements_of(World *w, Node *x, const int64_t *dims) {
  Nodes out = {0};
  add_elements(w, x, dims, &out);
  return ir_record(w, out.data, out.len);
}

/* The array of type t of those from number *at on. */
static Node *rows_of(World *w, IrType *t, Node *elements, const int64_t *dims, int *at) {
  Node **xs = NEW_ARRAY(w->arena, Node *, dims[0]);
  for (int i = 0; i < dims[0]; i++) {
    if (t->args[0]->kind == T_ARRAY) xs[i] = rows_of(w, t->args[0], elements, dims + 1, at);
    else xs[i] = ir_get(w, elements, (*at)++);
  }
  return ir_array(w, t->args[0], xs, (int)dims[0], 0);
}

static Node *array_of(World *w, IrType *t, Node *elements, const int64_t *dims) {
  int at = 0;
  return rows_of(w, t, elements, dims, &at);
}

static Node *element_at(World *w, Node *a, Node *i, int depth);

/* The element at the int that the arm of a branch yields, alone or as component k of a tuple; NULL: it isn't known. */
static Node *element_of_arm(World *w, Node *a, const Node *branch, int arm, int k, int depth) {
  Node *result = branch->graphs[arm]->result;
  if (k >= 0 && result->op != OP_TUPLE) return NULL;
  Node *i = k < 0 ? result : result->ops[k];
  if (i->op == OP_PARAM) i = branch->ops[1 + i->attr.i];
  else if (i->op != OP_INT) return NULL;
  return element_at(w, a, i, depth + 1);
}

/* The element of an array that is made here, at a place that is known or that branches choose from known ones; NULL:
 * it isn't. */
static Node *element_at(World *w, Node *a, Node *i, int depth) {
  int64_t place;
  if (known_int(i, &place)) return place >= 0 && place < a->nops ? a->ops[place] : NULL;
  if (awaits_effect(i) || depth > LIMIT_SMALL_ARRAY) return NULL;
  i = stripped(i);
  if (i->op == OP_CHECK_INDEX) return element_at(w, a, i->ops[0], depth + 1);
  if (i->op == OP_SELECT) {
    Node *yes = element_at(w, a, i->ops[1], depth + 1), *no = yes ? element_at(w, a, i->ops[2], depth + 1) : NULL;
    return no ? ir_op3(w, OP_SELECT, i->ops[0], yes, no) : NULL;
  }
  const Node *branch = i->op == OP_GET ? i->ops[0] : i;
  if (branch->op != OP_SWITCH || branch->ngraphs != 2 || branch->ops[0]->type->kind != T_BOOL) return NULL;
  int k = i->op == OP_GET ? (int)i->attr.i : -1;
  Node *no = element_of_arm(w, a, branch, 0, k, depth), *yes = no ? element_of_arm(w, a, branch, 1, k, depth) : NULL;
  if (!yes) return NULL;
  BranchBuilder *b = branch_open(w, branch->ops[0]);
  Node *otherwise = branch_add(b, no), *then = branch_add(b, yes);
  branch_arm(b, otherwise, NULL);
  branch_arm(b, then, NULL);
  return branch_close(b);
}

/* An element of an array that is made here or constant, at a known place, or at one of several known places. */
static Node *known_element(World *w, Node *n) {
  Node *a = n->ops[0];
  int64_t i;
  if (a->op != OP_ARRAY && a->op != OP_DATA) return n;
  bool chosen =
      a->op == OP_ARRAY && n->nops == 2 && a->nops > 1 && a->nops <= LIMIT_SMALL_ARRAY && !is_known(n->ops[1]);
  Node *one = chosen && ir_is_number(n->type) ? element_at(w, a, n->ops[1], 0) : NULL;
  if (one) return waiting(w, one, n->ops[1]);
  if (a->op == OP_ARRAY && a->nops == 1) i = 0; /* where else */
  else if (!known_int(n->ops[1], &i) || i < 0 || i >= (a->op == OP_ARRAY ? a->nops : a->attr.data->dims[0])) return n;
  Node *e = ir_index(w, a, &(Node *){ir_int(w, i)}, 1);
  return waiting(w, ir_index(w, e, n->ops + 2, n->nops - 2), n->ops[1]);
}

/* An array that is made here, with another element at a known place. */
static Node *known_update(World *w, Node *n) {
  Node *a = stripped(n->ops[0]), **xs = NEW_ARRAY(w->arena, Node *, a->nops + 1);
  int64_t i;
  if (a->op != OP_ARRAY || a->nops > LIMIT_SMALL_ARRAY || !known_int(n->ops[1], &i) || i < 0 || i >= a->nops) return n;
  if (!ir_rows_agree(w, a)) return n;
  for (int k = 0; k < a->nops; k++) xs[k] = a->ops[k];
  Node *v = n->ops[n->nops - 1];
  xs[i] = waiting(w, n->nops == 3 ? v : ir_update(w, xs[i], n->ops + 2, n->nops - 3, v), n->ops[1]);
  return waiting(w, ir_array(w, a->type->args[0], xs, a->nops, a->site), n->ops[0]);
}

static Node *known_slice(World *w, Node *n) {
  Node *a = n->ops[0];
  int64_t lo, count;
  if (a->op != OP_ARRAY || !known_int(n->ops[1], &lo) || !known_int(n->ops[2], &count)) return n;
  if (lo < 0 || count < 0 || lo + count > a->nops || !ir_rows_agree(w, a)) return n;
  if (count == 0 && ir_rank(a->type) > 1) return n; /* rows that aren't there have a size, too */
  Node *part = ir_array(w, a->type->args[0], a->ops + lo, (int)count, a->site);
  return waiting(w, waiting(w, part, n->ops[1]), n->ops[2]);
}

/* ---- Unrolling --------------------------------------------------------------------------------------------------- */
/* Does x take long, or fail by the program's own word, or have an effect? */
static bool hinders_unrolling(const Node *x) {
  bool array = x->op == OP_ARRAY || x->op == OP_ZEROS || x->op == OP_SLICE || x->op == OP_UPDATE;
  bool sum = x->op == OP_CADD && x->type->kind == T_FLOAT, takes_long = op_flags[x->op] & OPF_L && !array && !sum;
  return takes_long || op_flags[x->op] & OPF_A || x->op == OP_FAIL || x->op == OP_CHECK || x->type->kind == T_TOKEN;
}

static bool unrolls(World *w, Node *n, int64_t *trips) {
  if (n->loop->has_cond || !known_int(n->ops[0], trips) || *trips < 0) return false;
  if (*trips > LIMIT_SMALL_ARRAY && limit_reached(w->arena, AT_SMALL_ARRAY)) return false;
  if (ir_reaches(w, n->graphs[0], hinders_unrolling)) return false;
  return *trips * n->graphs[0]->size <= LIMIT_UNROLLED || !limit_reached(w->arena, AT_UNROLLED);
}

/* Of a loop that is known not to run: what its normal form makes of it, which keeps the sizes of rows. */
static Node *without_iterations(World *w, Node *n) {
  Node **ops = NEW_ARRAY(w->temp, Node *, n->nops), **out = NEW_ARRAY(w->temp, Node *, n->type->n);
  for (int k = 0; k < n->nops; k++) ops[k] = k ? n->ops[k] : ir_int(w, 0);
  Node *r = ir_rebuild(w, n, ops, n->graphs);
  for (int k = 0; k < n->type->n; k++) out[k] = waiting(w, ir_get(w, r, k), n->ops[0]);
  return ir_tuple(w, n->type, out);
}

static Node *unrolled(World *w, Node *n, int64_t trips) {
  if (trips == 0) return without_iterations(w, n);
  const LoopInfo *l = n->loop;
  int slots = loop_slots(l), parts = slots + l->nstacked;
  Node **out = NEW_ARRAY(w->arena, Node *, parts + 1), **rows = NEW_ARRAY(w->arena, Node *, l->nstacked * trips + 1);
  Node **inputs = NEW_ARRAY(w->temp, Node *, n->nops);
  for (int k = 0; k + 1 < n->nops; k++) inputs[k] = n->ops[1 + k];
  for (int64_t t = 0; t < trips; t++) {
    int64_t i = l->down ? trips - 1 - t : t;
    Node *r = edit_iteration(w, l, n->graphs[0], inputs, waiting(w, ir_int(w, i), n->ops[0]));
    for (int k = 0; k < slots; k++) inputs[k] = ir_get(w, r, k);
    for (int k = 0; k < l->nstacked; k++) rows[k * trips + i] = ir_get(w, r, slots + k);
  }
  for (int k = 0; k < l->nstacked; k++)
    out[slots + k] = ir_array(w, n->type->args[slots + k]->args[0], rows + k * trips, (int)trips, n->site);
  for (int k = 0; k < slots; k++) out[k] = inputs[k];
  out[parts] = ir_int(w, trips);
  for (int k = 0; k <= parts; k++) out[k] = waiting(w, out[k], n->ops[0]);
  return ir_tuple(w, n->type, out);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
/* What stands in the arms for x, captured outside: known numbers, and arrays that are made here, as their elements. */
static Node *captured(World *w, BranchBuilder *b, Node *x, bool *changed) {
  int64_t dims[LIMIT_RANK];
  bool small = x->type->kind == T_ARRAY && made_here(w, x, dims);
  *changed |= small || (x->op == OP_AFTER && is_known(x));
  if (is_known(x)) return stripped(x);
  if (!small) return branch_add(b, x);
  Node *parts = elements_of(w, x, dims);
  return array_of(w, x->type, branch_add(b, parts), dims);
}

static Node *switch_over_elements(World *w, Node *n) {
  Node *selector = n->ops[0], **args = NEW_ARRAY(w->temp, Node *, n->nops);
  bool changed = false;
  for (int k = 1; k < n->nops; k++)
    if (is_known(n->ops[k])) selector = waiting(w, selector, n->ops[k]);
  BranchBuilder *b = branch_open(w, selector);
  for (int k = 1; k < n->nops; k++) args[k - 1] = captured(w, b, n->ops[k], &changed);
  if (!changed) return n;
  for (int i = 0; i < n->ngraphs; i++) branch_arm(b, ir_instantiate(w, n->graphs[i], args, 0), n->graphs[i]->name);
  return branch_close(b);
}

/* Component k of the result x of an arm; the whole if k is -1. */
static Node *component(World *w, Node *x, int k) { return k < 0 ? x : ir_get(w, x, k); }

/* Do all arms make component k of their result, of these dimensions? */
static bool arms_make(World *w, Node *n, int k, int64_t *dims) {
  const IrType *t = k < 0 ? n->type : n->type->args[k];
  int64_t others[LIMIT_RANK];
  if (t->kind != T_ARRAY) return false;
  for (int i = 0; i < n->ngraphs; i++) {
    if (k >= 0 && n->graphs[i]->result->op != OP_TUPLE) return false;
    if (!made_here(w, component(w, n->graphs[i]->result, k), i ? others : dims)) return false;
    if (i && !same_dims(others, dims, ir_rank(t))) return false;
  }
  return true;
}

static Node *switch_yielding_elements(World *w, Node *n) {
  bool tuple = n->type->kind == T_TUPLE, any = false;
  int count = tuple ? n->type->n : 1;
  bool *small = NEW_ARRAY(w->temp, bool, count);
  Dims *dims = NEW_ARRAY(w->temp, Dims, count);
  for (int k = 0; k < count; k++) any |= small[k] = arms_make(w, n, tuple ? k : -1, dims[k].n);
  if (!any) return n;
  Node **results = NEW_ARRAY(w->temp, Node *, n->ngraphs), **out = NEW_ARRAY(w->arena, Node *, count);
  for (int i = 0; i < n->ngraphs; i++) {
    Nodes xs = {0};
    for (int k = 0; k < count; k++) {
      Node *x = component(w, n->graphs[i]->result, tuple ? k : -1);
      if (small[k]) add_elements(w, x, dims[k].n, &xs);
      else vec_push(w->temp, xs, x);
    }
    results[i] = ir_record(w, xs.data, xs.len);
  }
  Node *s = ir_switch_yielding(w, n, n->ops, n->graphs, results);
  for (int k = 0, at = 0; k < count; k++)
    out[k] = small[k] ? rows_of(w, tuple ? n->type->args[k] : n->type, s, dims[k].n, &at) : ir_get(w, s, at++);
  return tuple ? ir_tuple(w, n->type, out) : out[0];
}

static Node *known_switch(World *w, Node *n) {
  if (is_known(n->ops[0])) return waiting(w, edit_operand(w, n, 0, stripped(n->ops[0])), n->ops[0]);
  Node *r = switch_over_elements(w, n);
  return r == n ? switch_yielding_elements(w, n) : r;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
/* A trial: inputs of a loop are replaced by tuples of their elements. */
typedef struct Trial {
  Node *loop;
  bool *small; /* which ones */
  Dims *dims;
  Graph *body; /* over those */
} Trial;

/* Is input k, captured or carried, an array of few elements? */
static bool has_elements(World *w, Node *n, int k, int64_t *dims) {
  LoopPart part = loop_part(n->loop, k);
  Node *x = n->ops[loop_first(n->loop) + k];
  if (x->type->kind != T_ARRAY) return false;
  return part == LOOP_CAPTURED ? made_here(w, x, dims) : part == LOOP_CARRIED && is_small(w, x, dims);
}

/* The body over tuples for its small arrays, done like any other graph. */
static Graph *tried_body(Scalars *s, const Trial *t) {
  World *w = s->w;
  Graph *body = t->loop->graphs[0];
  int n = body->nparams, first = loop_first(t->loop->loop);
  IrType **types = NEW_ARRAY(w->temp, IrType *, n);
  Node **args = NEW_ARRAY(w->temp, Node *, n);
  for (int k = 0; k < n; k++) {
    bool small = k && t->small[k - 1];
    types[k] = small ? elements_of(w, t->loop->ops[first + k - 1], t->dims[k - 1].n)->type : body->params[k];
    args[k] = ir_param(w, k, types[k]);
    if (small) args[k] = array_of(w, body->params[k], args[k], t->dims[k - 1].n);
  }
  return rewrite_graph(s->r, ir_graph(w, types, n, ir_instantiate(w, body, args, 0), body->name));
}

/* Which input is x a component of? of: what parameters are components of; -1: of none. */
static int component_of(const Node *x, const int *of) {
  while (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_PARAM ? of[x->attr.i] : -1;
}

/* Takes from `small` the inputs of which g, the body or a branch in it, makes arrays again; did it make any? */
static bool drop_made_again(World *w, Graph *g, const int *of, bool *small) {
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  bool any = false;
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    int k = x->op == OP_ARRAY && x->nops ? component_of(x->ops[0], of) : -1;
    bool same = k >= 0;
    for (int j = 1; same && j < x->nops; j++) same = component_of(x->ops[j], of) == k;
    any |= same;
    if (same) small[k] = false;
    if (x->op != OP_SWITCH) continue;
    int *captured_of = NEW_ARRAY(w->temp, int, x->nops);
    for (int j = 1; j < x->nops; j++) captured_of[j - 1] = component_of(x->ops[j], of);
    for (int j = 0; j < x->ngraphs; j++) any |= drop_made_again(w, x->graphs[j], captured_of, small);
  }
  return any;
}

/* Takes from `small` the slots that the body doesn't leave as such arrays; were there any? */
static bool drop_other_slots(World *w, const Trial *t) {
  bool any = false;
  for (int k = 0; k < loop_slots(t->loop->loop); k++) {
    Dims next;
    Node *x = ir_get(w, t->body->result, k);
    if (!t->small[k] || (made_here(w, x, next.n) && same_dims(next.n, t->dims[k].n, ir_rank(x->type)))) continue;
    any = true;
    t->small[k] = false;
  }
  return any;
}

/* The loop of a trial that went well. */
static Node *by_elements(World *w, const Trial *t) {
  const Node *n = t->loop;
  int inputs = loop_inputs(n->loop), slots = loop_slots(n->loop);
  LoopEdit *e = edit_loop(w, n, t->loop->ops, (Graph *[]){t->body, n->loop->has_cond ? n->graphs[1] : NULL});
  for (int k = 0; k < inputs; k++)
    if (t->small[k]) e->ops[k] = elements_of(w, e->ops[k], t->dims[k].n);
  edit_body(e, NULL, NULL, 0);
  for (int k = 0; k < inputs; k++) {
    if (!t->small[k]) continue;
    e->args[1 + k] = array_of(w, n->graphs[0]->params[1 + k], e->in[k], t->dims[k].n); /* in the condition */
    if (k < slots) e->next[k] = elements_of(w, e->next[k], t->dims[k].n);
  }
  edit_close(e);
  for (int k = 0; k < slots; k++)
    if (t->small[k]) e->results[k] = array_of(w, n->type->args[k], e->results[k], t->dims[k].n);
  return edit_value(e);
}

/* Small arrays that a loop carries or captures become scalars, if its body reads them at known places only. */
static Node *loop_over_elements(Scalars *s, Node *n) {
  World *w = s->w;
  int inputs = loop_inputs(n->loop), *of = NEW_ARRAY(w->temp, int, inputs + 1);
  Trial t = {n, NEW_ARRAY(w->temp, bool, inputs + 1), NEW_ARRAY(w->temp, Dims, inputs + 1), NULL};
  for (int k = 0; k < inputs; k++) t.small[k] = has_elements(w, n, k, t.dims[k].n);
  if (*ir_memo(w, n, "arrays stay", NULL, 0)) return n;
  for (;;) {
    bool any = false;
    for (int k = 0; k < inputs; k++) any |= t.small[k];
    if (!any) break;
    t.body = tried_body(s, &t);
    for (int k = 0; k <= inputs; k++) of[k] = k && t.small[k - 1] ? k - 1 : -1;
    bool other = drop_other_slots(w, &t);
    if (!drop_made_again(w, t.body, of, t.small) && !other) return by_elements(w, &t);
  }
  *ir_memo(w, n, "arrays stay", NULL, 0) = n;
  return n;
}

/* ---- Products of matrices ---------------------------------------------------------------------------------------- */
/* The operands of a product of two matrices, neither of which is transposed, or of a call of a function that is one;
 * NULL: n is neither. */
static Node **factors(World *w, Node *n) {
  const Node *r = n->op == OP_RT ? n : n->attr.func->graph ? n->attr.func->graph->result : n;
  if (r->op != OP_RT || r->attr.rt != ir_rt_find("matrix_product") || n->nops != r->nops) return NULL;
  for (int k = 0; r != n && k < r->nops; k++)
    if (r->ops[k] != ir_param(w, k, r->ops[k]->type)) return NULL;
  for (int k = 0; k < 2; k++)
    if (n->ops[k]->op != OP_BOOL || n->ops[k]->attr.i) return NULL;
  return n->ops + 2;
}

/* An element of the product, given the elements of the factors; dims: of the second one. */
static Node *product_at(World *w, Node *a, int row, Node *b, int column, const int64_t *dims) {
  Node *sum = NULL;
  for (int k = 0; k < dims[0]; k++) {
    Node *x = ir_op2(w, OP_FMUL, ir_get(w, a, row + k), ir_get(w, b, column + k * (int)dims[1]));
    sum = sum ? ir_op2(w, w->strict ? OP_FADD : OP_CADD, sum, x) : x;
  }
  return sum;
}

static Node *small_product(World *w, Node *n) {
  Dims a, b;
  Node **ab = factors(w, n);
  if (!ab || !is_small(w, ab[0], a.n) || !is_small(w, ab[1], b.n) || a.n[1] != b.n[0]) return n;
  int64_t dims[] = {a.n[0], b.n[1]};
  if (count_of(dims, 2) > LIMIT_SMALL_ARRAY && limit_reached(w->arena, AT_SMALL_ARRAY)) return n;
  Node *x = elements_of(w, ab[0], a.n), *y = elements_of(w, ab[1], b.n);
  Nodes out = {0};
  for (int i = 0; i < dims[0]; i++)
    for (int j = 0; j < dims[1]; j++) vec_push(w->temp, out, product_at(w, x, i * (int)a.n[1], y, j, b.n));
  return array_of(w, n->type, ir_record(w, out.data, out.len), dims);
}

/* ---- The pass ---------------------------------------------------------------------------------------------------- */
static Node *scalars_node(Scalars *s, Node *n) {
  int64_t trips;
  switch (n->op) {
  case OP_INDEX: return known_element(s->w, n);
  case OP_UPDATE: return known_update(s->w, n);
  case OP_SLICE: return known_slice(s->w, n);
  case OP_SWITCH: return known_switch(s->w, n);
  case OP_LOOP: return unrolls(s->w, n, &trips) ? unrolled(s->w, n, trips) : loop_over_elements(s, n);
  case OP_CALL:
  case OP_RT: return small_product(s->w, n);
  default: return known_number(s->w, n);
  }
}

static Graph *scalars_step(Scalars *s, Graph *g) {
  World *w = s->w;
  Node **nodes;
  int n = ir_order(w->temp, g, &nodes);
  Map val;
  map_init(&val, w->temp);
  for (int i = 0; i < n; i++) {
    Node *x = nodes[i], **ops = NEW_ARRAY(w->temp, Node *, x->nops + 1);
    bool changed = false;
    for (int k = 0; k < x->nops; k++) {
      ops[k] = map_get(&val, x->ops[k]);
      changed |= ops[k] != x->ops[k];
    }
    map_put(&val, x, scalars_node(s, changed ? ir_rebuild(w, x, ops, x->graphs) : x));
  }
  return ir_graph(w, g->params, g->nparams, map_get(&val, g->result), g->name);
}

static Graph *scalars_graph(void *user, Rewriter *r, Graph *g) {
  Scalars s = {user, r};
  for (int round = 0;; round++) {
    const Node *before = g->result;
    g = rewrite_nodes(r, scalars_step(&s, g));
    if (g->result == before || (round >= LIMIT_SCALAR_ROUNDS && limit_reached(s.w->arena, AT_SCALAR_ROUNDS))) return g;
  }
}

Graph *opt_scalars(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .graph = scalars_graph, .general_calls = true});
}
