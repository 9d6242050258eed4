/* SPDX-License-Identifier: MIT */
/* Products of matrices that a loop makes row by row: the sums of three nested loops, where one factor follows the outer
 * loop and the other one the middle loop, are one matrix product before the nest.
 *
 *   loop i < n: … loop j < m: f (sum of x[i, k] * w[k, j], k < l)
 *   →  p = x w;  loop i < n: … loop j < m: f p[i, j]
 *
 * Where the row is made by the iteration, the loop is cut in two, and the rows become a matrix:
 *
 *   loop i < n: y = g i; … sum of y[k] * w[k, j] …   →   y = loop i < n: g i;  p = y w;  loop i < n: … p[i, j] …
 *
 * The rest may have such sums again: so a network that is applied to each row of a batch becomes products of matrices,
 * layer by layer, and its derivative consists of them too (ad/rules.c). Either matrix may be read transposed.
 *
 * The loop as it was stays in the other arm of a branch. It runs where there is little work, where the matrices would
 * take much memory, and where sizes differ that the products or the iteration's checks need equal: it then fails as it
 * always did. What makes a row mustn't fail, for errors of the rest may come before. */
#include "facts/ir_loop_facts.h"
#include "ir/edit.h"
#include "ir/remarks.h"
#include "ir/world.h"
#include "opt/opt.h"

typedef struct Batch {
  World *w;
  Node *outer;           /* the loop over i: what became of it so far */
  LoopFacts facts;       /* of it, checks aside */
  Nodes conditions;      /* bools around the loop: all must hold */
  Node *work, *elements; /* floats around it: multiplications, elements of rows; NULL: none yet */
} Batch;

/* A factor: element (i, k) or (k, j) of a matrix. */
typedef struct Factor {
  Node *matrix; /* around the loop; NULL: its row i is made by iteration i */
  Node *row;    /* that row, a node of the outer body */
  bool transposed, follows_i, follows_j;
} Factor;

typedef struct Product {
  Node *middle, *inner; /* the loops over j and k */
  LoopFacts in_middle, in_inner;
  Node *n, *m, *l; /* the trip counts, around the nest */
  Factor a, b;     /* the one that follows i, the one that follows j */
  Nodes conditions;
} Product;

static Node *none_below_zero(World *w, Node *n) { return ir_op2(w, OP_IMAX, n, ir_int(w, 0)); }
static Graph *body_of(const Node *loop) { return loop->graphs[0]; }
static Node *operand_of_param(const Node *loop, const Node *p) {
  return loop->ops[loop_first(loop->loop) + (int)p->attr.i - 1];
}
static bool is_capture(const Node *loop, const Node *x) {
  return x->op == OP_PARAM && x->attr.i > 0 && loop_part(loop->loop, (int)x->attr.i - 1) == LOOP_CAPTURED;
}

/* ---- From the nest outwards -------------------------------------------------------------------------------------- */
/* Int x, of the middle loop's body or the inner one's, around the nest; NULL: it isn't the same throughout. */
static Node *middle_number(Batch *t, Product *p, Node *x) {
  x = loop_invariant_number(&p->in_middle, x);
  return x ? loop_invariant_number(&t->facts, x) : NULL;
}

static Node *inner_number(Batch *t, Product *p, Node *x) {
  x = loop_invariant_number(&p->in_inner, x);
  return x ? middle_number(t, p, x) : NULL;
}

static void require(World *w, Nodes *conditions, Node *c) {
  for (int k = 0; k < conditions->len; k++)
    if (conditions->data[k] == c) return;
  vec_push(w->temp, *conditions, c);
}

/* The loop whose index x is, a node of the inner body: 'i', 'j' or 'k'; 0: none. Checks of it are required to hold. */
static char index_of(Batch *t, Product *p, Node *x) {
  Node *limit = NULL;
  if (x->op == OP_CHECK_INDEX) {
    limit = inner_number(t, p, x->ops[1]);
    if (!limit) return 0;
    x = x->ops[0];
  }
  char is = fact_is_param(x, 0) ? 'k' : 0;
  if (!is && is_capture(p->inner, x)) {
    x = operand_of_param(p->inner, x);
    is = fact_is_param(x, 0) ? 'j' : 0;
    if (!is && is_capture(p->middle, x)) is = fact_is_param(operand_of_param(p->middle, x), 0) ? 'i' : 0;
  }
  Node *trips = is == 'i' ? p->n : is == 'j' ? p->m : p->l;
  if (is && limit) require(t->w, &p->conditions, ir_op2(t->w, OP_ILE, trips, limit));
  return is;
}

/* The node of the outer body that x, a capture of the inner loop and of the middle one, is; NULL: it is none. */
static Node *in_outer_body(const Product *p, Node *x) {
  if (!is_capture(p->inner, x)) return NULL;
  x = operand_of_param(p->inner, x);
  return is_capture(p->middle, x) ? operand_of_param(p->middle, x) : NULL;
}

/* Array x of the outer body around the loop; NULL: it differs, or may fail. */
static Node *array_outside(Batch *t, Node *x) { return x->flags & NODE_FAILS ? NULL : loop_invariant(&t->facts, x); }

/* ---- Factors ----------------------------------------------------------------------------------------------------- */
/* x[k], where x is a row: of a matrix around the loop, or made by iteration i. */
static bool find_row(Batch *t, Node *x, Factor *f) {
  const IndexForm *form = loop_index_form(&t->facts, x);
  f->follows_i = true;
  if (x->op == OP_INDEX && x->nops == 2 && fact_is_param(x->ops[1], 0))
    return (f->matrix = array_outside(t, x->ops[0])) != NULL;
  if (!form->reads_index || form->reads_state || x->flags & (NODE_FAILS | NODE_ENDLESS | NODE_AD)) return false;
  f->row = x;
  return true;
}

/* The factor that x, a node of the inner body, is an element of. */
static bool find_factor(Batch *t, Product *p, Node *x, Factor *f) {
  Node *base = x->op == OP_INDEX ? in_outer_body(p, x->ops[0]) : NULL;
  if (!base || base->type->kind != T_ARRAY || ir_rank(base->type) != x->nops - 1) return false;
  char at[2] = {0};
  for (int k = 1; k < x->nops; k++) {
    if (k > 2 || !(at[k - 1] = index_of(t, p, x->ops[k]))) return false;
  }
  if (x->nops == 2) return at[0] == 'k' && find_row(t, base, f);
  f->transposed = at[0] == 'k';
  char other = at[f->transposed];
  if (at[!f->transposed] != 'k' || other == 'k') return false;
  f->follows_i = other == 'i';
  f->follows_j = other == 'j';
  if (f->follows_j) f->transposed = !f->transposed;
  return (f->matrix = array_outside(t, base)) != NULL;
}

/* Requires that the factor is a matrix of that many rows and columns, transposed if it is read so. */
static bool require_size(Batch *t, Product *p, const Factor *f, Node *rows, Node *columns) {
  World *w = t->w;
  if (!f->matrix) {
    Node *length = loop_invariant_number(&t->facts, ir_len(w, f->row, 0));
    if (length) require(w, &p->conditions, ir_op2(w, OP_IEQ, length, columns));
    return length;
  }
  require(w, &p->conditions, ir_op2(w, OP_IEQ, ir_len(w, f->matrix, f->transposed), rows));
  require(w, &p->conditions, ir_op2(w, OP_IEQ, ir_len(w, f->matrix, !f->transposed), columns));
  return true;
}

/* ---- Sums that are elements of a product ------------------------------------------------------------------------- */
/* The product that the inner loop adds up, in free order from zero, and nothing else; NULL. */
static Node *summed_product(const Node *inner) {
  const LoopInfo *l = inner->loop;
  if (l->has_cond || l->ncarried || l->nsliced || l->nstacked || l->naccs != 1) return NULL;
  const Node *start = inner->ops[1], *result = body_of(inner)->result;
  if (start->op != OP_FLOAT || start->attr.f != 0 || result->op != OP_TUPLE) return NULL;
  Node *x = fact_term(result->ops[0], 1);
  return x && x->op == OP_FMUL ? x : NULL;
}

static bool find_factors(Batch *t, Product *p, const Node *x) {
  Factor f[2] = {{0}, {0}};
  for (int k = 0; k < 2; k++)
    if (!find_factor(t, p, x->ops[k], &f[k])) return false;
  if (f[0].follows_i == f[1].follows_i || f[0].follows_j == f[1].follows_j) return false;
  p->a = f[f[1].follows_i];
  p->b = f[f[0].follows_i];
  return require_size(t, p, &p->a, p->n, p->l) && require_size(t, p, &p->b, p->l, p->m);
}

static bool is_product(Batch *t, Product *p) {
  const Node *x = summed_product(p->inner);
  if (!x) return false;
  p->conditions.len = 0;
  p->in_inner = loop_facts_of(t->w, p->inner, true);
  p->n = t->outer->ops[0];
  p->m = loop_invariant_number(&t->facts, p->middle->ops[0]);
  p->l = p->m ? middle_number(t, p, p->inner->ops[0]) : NULL;
  return p->l && find_factors(t, p, x);
}

static bool find_in_middle(Batch *t, Product *p) {
  if (p->middle->op != OP_LOOP || p->middle->loop->has_cond) return false;
  const GraphBody *b = graph_body(t->w, body_of(p->middle));
  p->in_middle = loop_facts_of(t->w, p->middle, true);
  for (int i = 0; i < b->n; i++) {
    p->inner = b->nodes[i];
    if (p->inner->op == OP_LOOP && is_product(t, p)) return true;
  }
  return false;
}

static bool find_product(Batch *t, Product *p) {
  if (t->outer->op != OP_LOOP || t->outer->loop->has_cond) return false;
  const GraphBody *b = graph_body(t->w, body_of(t->outer));
  t->facts = loop_facts_of(t->w, t->outer, true);
  for (int i = 0; i < b->n; i++) {
    p->middle = b->nodes[i];
    if (find_in_middle(t, p)) return true;
  }
  return false;
}

/* ---- The nest without the sums ----------------------------------------------------------------------------------- */
/* The matrix of the rows that the iterations make: the outer loop that makes nothing else. */
static Node *stacked_rows(const Batch *t, Node *row) {
  World *w = t->w;
  LoopEdit *e = edit_loop(w, t->outer, t->outer->ops, t->outer->graphs);
  for (int k = 0; k < loop_slots(t->outer->loop); k++) e->args[1 + k] = ir_zero(w, body_of(t->outer)->params[1 + k]);
  edit_body(e, NEW_ARRAY(w->temp, Node *, t->outer->type->n), &row, 1);
  edit_yield(e);
  int number = loop_stack(e->b, row);
  edit_close(e);
  return loop_stacked(e->b, number);
}

/* The middle loop in the new outer body, with elements of `product` for the sums. */
static Node *middle_without_sum(const Batch *t, const Product *p, const LoopEdit *outer, Node *product) {
  World *w = t->w;
  Graph *body = body_of(t->outer);
  Node *all = ir_record(w, p->middle->ops, p->middle->nops), **ops = NEW_ARRAY(w->temp, Node *, p->middle->nops);
  Graph *operands = ir_graph(w, body->params, body->nparams, all, NULL);
  all = ir_instantiate_over(w, operands, outer->args, 0, &outer->over);
  for (int k = 0; k < p->middle->nops; k++) ops[k] = ir_get(w, all, k);
  LoopEdit *e = edit_loop(w, p->middle, ops, p->middle->graphs);
  edit_inputs(e);
  Node *matrix = loop_add(e->b, LOOP_CAPTURED, product), *i = loop_add(e->b, LOOP_CAPTURED, outer->args[0]);
  Node *trips = ir_substitute(w, p->inner->ops[0], e->args, body_of(p->middle)->nparams, 0);
  Node *values[] = {ir_index(w, matrix, (Node *[]){i, e->args[0]}, 2), none_below_zero(w, trips)};
  map_put(&e->over, p->inner, ir_tuple(w, p->inner->type, values));
  return edit_value(e);
}

static Node *product_of(const Batch *t, const Product *p, Node *rows) {
  World *w = t->w;
  Node *a = rows ? rows : p->a.matrix, *b = p->b.matrix;
  Node *ops[] = {ir_bool(w, p->a.transposed), ir_bool(w, p->b.transposed), a, b};
  IrType *type = ir_array_type(w, ir_array_type(w, ir_type(w, T_FLOAT)));
  return ir_rt(w, ir_rt_find("sums_product"), type, NULL, ops, 4, 0);
}

static void take_out(Batch *t, const Product *p) {
  World *w = t->w;
  Node *rows = p->a.matrix ? NULL : stacked_rows(t, p->a.row), *product = product_of(t, p, rows);
  LoopEdit *e = edit_loop(w, t->outer, t->outer->ops, t->outer->graphs);
  edit_inputs(e);
  if (rows) map_put(&e->over, p->a.row, ir_index(w, loop_add(e->b, LOOP_CAPTURED, rows), e->args, 1));
  Node *there = loop_add(e->b, LOOP_CAPTURED, product);
  map_put(&e->over, p->middle, middle_without_sum(t, p, e, there));
  t->outer = edit_value(e);
}

/* ---- Where it is done -------------------------------------------------------------------------------------------- */
static Node *as_float(World *w, Node *n) { return ir_op1(w, OP_FLOAT_OF_INT, n); }
static Node *plus(World *w, Node *sum, Node *x) { return sum ? ir_op2(w, OP_FADD, sum, x) : x; }

static void count(Batch *t, const Product *p) {
  World *w = t->w;
  Node *n = as_float(w, p->n), *m = as_float(w, p->m), *l = as_float(w, p->l);
  for (int k = 0; k < p->conditions.len; k++) require(w, &t->conditions, p->conditions.data[k]);
  t->work = plus(w, t->work, ir_op2(w, OP_FMUL, ir_op2(w, OP_FMUL, n, m), l));
  t->elements = plus(w, t->elements, ir_op2(w, OP_FMUL, n, ir_op2(w, OP_FADD, m, l)));
}

/* Is c, of the outer body, a check that two sizes are equal which are the same in all iterations? Requires it then. */
static bool is_required(Batch *t, const Node *c) {
  if (c->op != OP_CHECK_SIZE) return false;
  Node *x = loop_invariant_number(&t->facts, c->ops[0]), *y = loop_invariant_number(&t->facts, c->ops[1]);
  if (x && y) require(t->w, &t->conditions, ir_op2(t->w, OP_IEQ, x, y));
  return x && y;
}

/* The loop without such checks. What is read after one may have another in its operands: hence several rounds. */
static void require_checks(Batch *t) {
  World *w = t->w;
  for (bool any = true; any && t->outer->op == OP_LOOP && !t->outer->loop->has_cond;) {
    const GraphBody *b = graph_body(w, body_of(t->outer));
    t->facts = loop_facts_of(w, t->outer, true);
    Map known;
    map_init(&known, w->temp);
    any = false;
    for (int i = 0; i < b->n; i++) {
      if (!is_required(t, b->nodes[i])) continue;
      map_put(&known, b->nodes[i], b->nodes[i]->ops[0]);
      any = true;
    }
    Graph *g = ir_graph_over(w, body_of(t->outer), &known);
    if (any) t->outer = edit_value(edit_loop(w, t->outer, t->outer->ops, &g));
  }
}

/* Takes all sums out that are elements of products; false: there are none. */
static bool take_all_out(Batch *t) {
  require_checks(t);
  Product p = {0};
  while (find_product(t, &p)) {
    count(t, &p);
    take_out(t, &p);
  }
  return t->work;
}

/* Are there some rows, enough multiplications for each element that is written or copied, and not too many of those? */
static Node *all_hold(const Batch *t, Node *rows) {
  World *w = t->w;
  Node *copying = ir_op2(w, OP_FMUL, t->elements, ir_float(w, LIMIT_PRODUCT_WORK));
  Node *all = ir_op2(w, OP_ILE, ir_int(w, LIMIT_PRODUCT_ROWS), rows);
  all = ir_op2(w, OP_AND, all, ir_op2(w, OP_FLE, copying, t->work));
  all = ir_op2(w, OP_AND, all, ir_op2(w, OP_FLE, t->elements, ir_float(w, LIMIT_PRODUCT_ELEMENTS)));
  for (int k = 0; k < t->conditions.len; k++) all = ir_op2(w, OP_AND, all, t->conditions.data[k]);
  return all;
}

static Node *multiply(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  (void)frame;
  World *w = user;
  if (n->op != OP_LOOP || n->loop->has_cond) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs);
  Batch found = {.w = w, .outer = loop};
  if (!take_all_out(&found)) return loop;
  BranchBuilder *b = branch_open(w, all_hold(&found, loop->ops[0]));
  Node **caps = NEW_ARRAY(w->temp, Node *, loop->nops + 1);
  for (int k = 0; k < loop->nops; k++) caps[k] = branch_add(b, loop->ops[k]);
  Node *again = edit_value(edit_loop(w, loop, caps, loop->graphs));
  branch_arm(b, again, NULL);
  Batch made = {.w = w, .outer = again};
  take_all_out(&made);
  branch_arm(b, made.outer, NULL);
  return branch_close(b);
}

Graph *opt_matrix_products(World *w, Graph *g) {
  return w->traps ? g : ir_rewrite(w, g, (RewritePass){.user = w, .node = multiply});
}
