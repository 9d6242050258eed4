/* SPDX-License-Identifier: MIT */
/* What an accumulator was before something was added to it: followed through additions, branches, loops and calls back
 * to an array or a parameter, whose dimensions it has, and all of which it still holds.
 *
 * Of a recursive function each result has a root among the parameters if it has one on each way, where that of a call
 * of itself is first taken to be any, and then what was found, until that is true. */
#include "opt/opt.h"
#include "graph/graph.h"

enum { NONE = -1, ANY = -2 };
typedef struct Search {
  World *w;
  const Func *within; /* whose results are followed; NULL: none's */
  const int *params;  /* their roots, as far as is known */
} Search;

static Node *root_of(const Search *s, Node *bag, int depth);

/* `part` of `whole`, a chain of GETs, of another value. */
static Node *same_part(World *w, const Node *part, const Node *whole, Node *of) {
  return part == whole ? of : ir_get(w, same_part(w, part->ops[0], whole, of), (int)part->attr.i);
}

static bool is_any(const Node *root) { return root && root->op == OP_UNIT; }

/* The capture of branch n that its part `bag` comes from by additions in all arms; NONE if there is none. */
static int arms_root(const Search *s, const Node *n, const Node *bag, int depth) {
  int which = NONE;
  for (int i = 0; i < n->ngraphs; i++) {
    const Node *root = root_of(s, same_part(s->w, bag, n, n->graphs[i]->result), depth + 1);
    if (is_any(root)) continue;
    if (!root || root->op != OP_PARAM || (which != NONE && root->attr.i != which)) return NONE;
    which = (int)root->attr.i;
  }
  return which;
}

static bool same_params(const int *a, const int *b, int n) {
  for (int k = 0; k < n; k++)
    if (a[k] != b[k]) return false;
  return true;
}

/* For each result of f the parameter that it comes from. */
static int *roots_of_results(World *w, const Func *f) {
  int n = f->result->n, *old = NEW_ARRAY(w->arena, int, n + 1), *now = NEW_ARRAY(w->arena, int, n + 1);
  for (int k = 0; k < n; k++) now[k] = ANY;
  while (!same_params(old, now, n)) {
    Search s = {w, f, old};
    for (int k = 0; k < n; k++) old[k] = now[k];
    for (int k = 0; k < n; k++) {
      bool bag = f->result->args[k]->kind == T_BAG && old[k] != NONE;
      const Node *root = bag ? root_of(&s, ir_get(w, f->graph->result, k), 0) : NULL;
      int found = root && root->op == OP_PARAM && root->type->kind == T_BAG ? (int)root->attr.i : NONE;
      now[k] = old[k] == ANY || old[k] == found ? found : NONE;
    }
  }
  return now;
}

static int call_root(const Search *s, const Func *f, int k) {
  if (!f->graph || f->result->kind != T_TUPLE) return NONE;
  if (s->within == f) return s->params[k];
  void **known = ir_memo(s->w, f, "roots of results", NULL, 0);
  if (!*known) {
    int *none = NEW_ARRAY(s->w->arena, int, f->result->n + 1); /* for functions that f calls, and that call f */
    *known = none;
    for (int i = 0; i < f->result->n; i++) none[i] = NONE;
    *known = roots_of_results(s->w, f);
  }
  return ((const int *)*known)[k];
}

static Node *root_through_loop(const Search *s, Node *loop, int k, int depth) {
  if (k >= loop_slots(loop->loop)) return NULL;
  const Node *root = root_of(s, ir_get(s->w, loop->graphs[0]->result, k), depth + 1);
  if (!root || root->op != OP_PARAM || root->attr.i != 1 + k) return NULL;
  return root_of(s, loop->ops[k + loop_first(loop->loop)], depth + 1);
}

static Node *root_of_part(const Search *s, Node *bag, int depth) {
  Node *whole = bag;
  while (whole->op == OP_GET) whole = whole->ops[0];
  bool component = bag->op == OP_GET && bag->ops[0] == whole;
  switch (whole->op) {
  case OP_TAKE: return component && bag->attr.i == 0 ? root_of(s, whole->ops[0], depth + 1) : NULL;
  case OP_SWITCH: {
    int capture = arms_root(s, whole, bag, depth);
    return capture >= 0 ? root_of(s, whole->ops[1 + capture], depth + 1) : NULL;
  }
  case OP_CALL: {
    int param = component ? call_root(s, whole->attr.func, (int)bag->attr.i) : NONE;
    return param == ANY ? ir_unit(s->w) : param == NONE ? NULL : root_of(s, whole->ops[param], depth + 1);
  }
  case OP_LOOP: return component ? root_through_loop(s, whole, (int)bag->attr.i, depth) : NULL;
  default: return NULL;
  }
}

static Node *root_of(const Search *s, Node *bag, int depth) {
  if (depth > LIMIT_BAG_CHAIN && limit_reached(s->w->arena, AT_BAG_CHAIN)) return NULL;
  switch (bag->op) {
  case OP_PARAM: return bag;
  case OP_TO_BAG: return bag->ops[0];
  case OP_ACC_AT:
  case OP_CUPDATE: return root_of(s, bag->ops[0], depth + 1);
  case OP_CADD: { /* a parameter rather than what was made here */
    Node *first = root_of(s, bag->ops[0], depth + 1);
    if (first && first->op == OP_PARAM) return first;
    Node *second = root_of(s, bag->ops[1], depth + 1);
    return second ? second : first;
  }
  default: return root_of_part(s, bag, depth);
  }
}

bool opt_holds_bag(const IrType *t) {
  bool any = t->kind == T_BAG;
  for (int k = 0; t->kind == T_TUPLE && k < t->n; k++) any |= opt_holds_bag(t->args[k]);
  return any;
}

/* Entries that hold bags have sizes of their own, which are others behind a TAKE or CUPDATE: in the array that this
 * belongs to the element was another one. */
static bool keeps_shapes(World *w, Node *bag, int depth) {
  Node *whole = bag->op == OP_GET ? bag->ops[0] : bag;
  int rank = ir_rank(bag->type), k = bag == whole ? -1 : (int)bag->attr.i;
  bool replaced = !opt_holds_bag(ir_base(bag->type));
  if (depth > LIMIT_BAG_CHAIN) return !limit_reached(w->arena, AT_BAG_CHAIN);
  switch (whole->op) {
  case OP_ZERO:
  case OP_PARAM:
  case OP_TO_BAG: return k < 0;
  case OP_ACC_AT: return whole->nops == 2 + 2 * rank && keeps_shapes(w, whole->ops[0], depth + 1);
  case OP_CUPDATE: return replaced && whole->nops == 2 + 2 * rank && keeps_shapes(w, whole->ops[0], depth + 1);
  case OP_TAKE: return replaced && !k && whole->nops == 1 + 2 * rank && keeps_shapes(w, whole->ops[0], depth + 1);
  case OP_LOOP:
    if (whole->loop->has_cond || k >= loop_slots(whole->loop)) return false;
    return keeps_shapes(w, ir_get(w, whole->graphs[0]->result, k), depth + 1) &&
           keeps_shapes(w, whole->ops[k + loop_first(whole->loop)], depth + 1);
  case OP_SWITCH:
    for (int a = 0; a < whole->ngraphs; a++) {
      Node *x = whole->graphs[a]->result;
      if (!keeps_shapes(w, k < 0 ? x : ir_get(w, x, k), depth + 1)) return false;
    }
    return true;
  default: return false;
  }
}

bool opt_bag_keeps_shapes(World *w, Node *bag) { return keeps_shapes(w, bag, 0); }

Node *opt_provenance(World *w, Node *bag) { return root_of(&(Search){.w = w}, bag, 0); }
int opt_branch_provenance(World *w, const Node *branch, const Node *bag) {
  return arms_root(&(Search){.w = w}, branch, bag, 0);
}
int opt_call_provenance(World *w, const Func *f, int k) { return call_root(&(Search){.w = w}, f, k); }
