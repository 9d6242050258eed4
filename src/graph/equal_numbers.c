/* SPDX-License-Identifier: MIT */
/* Integers that are equal because a check says so, like sizes and trip counts: `check_size n m` yields n, and behind
 * it n = m.
 *
 * A number has several forms; each is a sum of multiples of nodes that aren't sums. For example, 2 * h - check_slice
 * h … has the form h. Two numbers are equal if they have a form in common. Sums that wrap do so in both forms. */
#include "graph/graph.h"
#include "ir/world.h"

enum { TERMS = LIMIT_EQUAL_TERMS, FORMS = LIMIT_EQUAL_FORMS };

typedef struct Form {
  Node *of[TERMS];
  uint64_t times[TERMS], constant;
  int n;
} Form;

typedef struct Forms {
  Form at[FORMS];
  int n;
} Forms;

static bool same_form(const Form *a, const Form *b) {
  if (a->n != b->n || a->constant != b->constant) return false;
  for (int i = 0; i < a->n; i++) {
    int k = 0;
    while (k < b->n && b->of[k] != a->of[i]) k++;
    if (k == b->n || b->times[k] != a->times[i]) return false;
  }
  return true;
}

static bool has_form(const Forms *in, const Form *f) {
  for (int i = 0; i < in->n; i++)
    if (same_form(&in->at[i], f)) return true;
  return false;
}

static void add_form(World *w, Forms *to, const Form *f) {
  if (has_form(to, f) || (to->n == FORMS && limit_reached(w->arena, AT_EQUAL_FORMS))) return;
  to->at[to->n++] = *f;
}

/* a + times * b; false if that has too many terms. */
static bool add_times(Form *a, const Form *b, uint64_t times) {
  a->constant += times * b->constant;
  for (int i = 0; i < b->n; i++) {
    int k = 0;
    while (k < a->n && a->of[k] != b->of[i]) k++;
    if (k == TERMS) return false;
    if (k == a->n) {
      a->of[a->n] = b->of[i];
      a->times[a->n++] = 0;
    }
    a->times[k] += times * b->times[i];
    if (a->times[k]) continue;
    a->n--;
    a->of[k] = a->of[a->n];
    a->times[k] = a->times[a->n];
  }
  return true;
}

static void find_forms(World *w, Node *x, Forms *out, int depth);

/* Those of x0 + times * x1. */
static void sum_forms(World *w, const Node *x, uint64_t times, Forms *out, int depth) {
  Forms *a = NEW(w->temp, Forms), *b = NEW(w->temp, Forms);
  find_forms(w, x->ops[0], a, depth + 1);
  find_forms(w, x->ops[1], b, depth + 1);
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n; k++) {
      Form sum = a->at[i];
      if (add_times(&sum, &b->at[k], times)) add_form(w, out, &sum);
    }
}

static void product_forms(World *w, Node *x, uint64_t times, Forms *out, int depth) {
  Forms *a = NEW(w->temp, Forms);
  find_forms(w, x, a, depth + 1);
  for (int i = 0; i < a->n; i++) {
    Form product = {.n = 0};
    if (add_times(&product, &a->at[i], times)) add_form(w, out, &product);
  }
}

static void find_forms(World *w, Node *x, Forms *out, int depth) {
  while (x->op == OP_AFTER || (op_flags[x->op] & OPF_V && x->op != OP_CHECK_SIZE)) x = x->ops[0];
  int before = out->n;
  bool deep = depth > LIMIT_SMALL_SUM && limit_reached(w->arena, AT_SMALL_SUM);
  if (x->op == OP_INT) {
    add_form(w, out, &(Form){.constant = (uint64_t)x->attr.i});
  } else if (x->op == OP_CHECK_SIZE && !deep) {
    find_forms(w, x->ops[0], out, depth + 1);
    find_forms(w, x->ops[1], out, depth + 1);
  } else if ((x->op == OP_IADD || x->op == OP_ISUB) && !deep) {
    sum_forms(w, x, x->op == OP_IADD ? 1 : -(uint64_t)1, out, depth);
  } else if (x->op == OP_IMUL && x->ops[1]->op == OP_INT && !deep) {
    product_forms(w, x->ops[0], (uint64_t)x->ops[1]->attr.i, out, depth);
  }
  if (out->n == before) add_form(w, out, &(Form){.of = {x}, .times = {1}, .n = 1});
}

bool ir_same_number(World *w, Node *a, Node *b) {
  if (a == b) return true;
  Forms *as = NEW(w->temp, Forms), *bs = NEW(w->temp, Forms);
  find_forms(w, a, as, 0);
  find_forms(w, b, bs, 0);
  for (int i = 0; i < as->n; i++)
    if (has_form(bs, &as->at[i])) return true;
  return false;
}
