/* SPDX-License-Identifier: MIT */
/* Costs: what is added to them, by line, and what isn't counted. */
#include "facts/cost_internal.h"
#include <string.h>

void cost_note(CostStudy *s, const char *text) {
  for (int i = 0; i < s->notes.len; i++)
    if (s->notes.data[i].line == s->line && strcmp(s->notes.data[i].text, text) == 0) return;
  if (s->notes.len < LIMIT_COST_NOTES) vec_push(s->a, s->notes, ((CostNote){text, s->line}));
}

static CostLine *line_in(const CostStudy *s, Cost *c, int line) {
  for (int i = 0; i < c->lines.len; i++)
    if (c->lines.data[i].line == line) return &c->lines.data[i];
  const Poly *zero = poly_constant(s->a, 0);
  vec_push(s->a, c->lines, ((CostLine){line, zero, zero}));
  return &c->lines.data[c->lines.len - 1];
}

void cost_add_to(const CostStudy *s, Cost *to, int line, const Poly *ops, const Poly *bytes) {
  CostLine *l = line_in(s, to, line);
  l->ops = poly_add(s->a, l->ops, ops);
  l->bytes = poly_add(s->a, l->bytes, bytes);
}

void cost_add_ops(CostStudy *s, double ops) {
  if (ops) cost_add_to(s, s->cost, s->line, poly_constant(s->a, ops), poly_constant(s->a, 0));
}

/* times: NULL: a size that isn't known. */
void cost_add_many(CostStudy *s, double ops, double bytes, const Poly *times) {
  if (!ops && !bytes) return;
  if (times) cost_add_to(s, s->cost, s->line, poly_scale(s->a, times, ops), poly_scale(s->a, times, bytes));
  else cost_note(s, "an array whose size is only known when the program runs");
}

void cost_add(const CostStudy *s, Cost *to, const Cost *c) {
  for (int i = 0; i < c->lines.len; i++)
    cost_add_to(s, to, c->lines.data[i].line, c->lines.data[i].ops, c->lines.data[i].bytes);
  to->at_most |= c->at_most;
}

void cost_add_sum(const CostStudy *s, Cost *to, const Cost *c, int symbol, const Poly *n) {
  for (int i = 0; i < c->lines.len; i++) {
    const CostLine *l = &c->lines.data[i];
    cost_add_to(s, to, l->line, poly_sum(s->a, l->ops, symbol, n), poly_sum(s->a, l->bytes, symbol, n));
  }
  to->at_most |= c->at_most;
}

/* *c becomes the greater of both, line by line. True where they differ. */
bool cost_bound(const CostStudy *s, Cost *c, Cost *other) {
  bool differ = false;
  for (int i = 0; i < other->lines.len; i++) line_in(s, c, other->lines.data[i].line);
  for (int i = 0; i < c->lines.len; i++) {
    CostLine *l = &c->lines.data[i], *o = line_in(s, other, l->line);
    differ |= !poly_same(l->ops, o->ops) || !poly_same(l->bytes, o->bytes);
    l->ops = poly_bound(s->a, l->ops, o->ops);
    l->bytes = poly_bound(s->a, l->bytes, o->bytes);
  }
  c->at_most |= other->at_most || differ;
  return differ;
}
