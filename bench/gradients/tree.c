/* SPDX-License-Identifier: MIT */
/* tree.atl by hand: the forward pass makes the gradient's tree and keeps the values of subtrees in it. Its nodes come from one
 * block that is used again, so no node is allocated or freed by itself. */
#include "bench.h"
#include <stdbool.h>

typedef struct Node {
  struct Node *l, *r; /* NULL for leaves */
  double x;
} Node;
typedef struct Problem {
  Node *tree, *gradient, *block, *next;
  double value;
} Problem;

static Node *node(Problem *p, Node *l, double x, Node *r) {
  *p->next = (Node){l, r, x};
  return p->next++;
}

static Node *build(Problem *p, int depth, long k) {
  double x = 0.4 + 0.1 * sin((double)k);
  if (!depth) return node(p, NULL, x, NULL);
  Node *l = build(p, depth - 1, 2 * k), *r = build(p, depth - 1, 2 * k + 1);
  return node(p, l, x, r);
}

#ifdef PERTURBED
static const double more = 0.1;
#else
static const double more = 0;
#endif

static double value(const Node *t) {
  if (!t->l) return t->x;
  double a = value(t->l);
  return t->x + 0.5 * a * value(t->r) + more * a;
}

/* A tree like t that holds the values of its subtrees. */
static Node *values(Problem *p, const Node *t) {
  if (!t->l) return node(p, NULL, t->x, NULL);
  Node *l = values(p, t->l), *r = values(p, t->r);
  return node(p, l, t->x + 0.5 * l->x * r->x + more * l->x, r);
}

/* Makes of g, values of subtrees, the derivatives by t's numbers; d is that by t's value. */
static void backward(Node *g, double d) {
  g->x = d;
  if (!g->l) return;
  double a = 0.5 * d * g->l->x, b = 0.5 * d * g->r->x;
  backward(g->l, b + more * d);
  backward(g->r, a);
}

static void primal(void *problem) {
  Problem *p = problem;
  p->value = value(p->tree);
}

static void gradient(void *problem) {
  Problem *p = problem;
  p->next = p->block;
  p->gradient = values(p, p->tree);
  p->value = p->gradient->x;
  backward(p->gradient, 1);
}

static double total(const Node *t, bool cosines, long k) {
  double s = (cosines ? cos((double)k) : 1) * t->x;
  return t->l ? s + total(t->l, cosines, 2 * k) + total(t->r, cosines, 2 * k + 1) : s;
}

int main(int argc, char **argv) {
  int depth = argument(argc, argv, 2, 18);
  size_t bytes = sizeof(Node) << (depth + 1);
  Problem p = {.next = malloc(bytes)};
  p.block = malloc(bytes);
  if (!p.next || !p.block) return 1;
  p.tree = build(&p, depth, 1);
  gradient(&p);
  figure("value", p.value);
  figure("D.1", total(p.gradient, false, 1));
  figure("D.c", total(p.gradient, true, 1));
  finish(argv, primal, gradient, &p);
}
