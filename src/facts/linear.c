/* SPDX-License-Identifier: MIT */
/* Integers as linear forms over atoms, and proofs that a form is not negative.
 *
 * Machine integers wrap: a sum becomes a form only where it is proved not to, and is an atom of its own otherwise.
 *
 * A proof eliminates one atom after the other, the innermost first, by facts in which it stands with the same sign
 * (Fourier and Motzkin), or by cases where the atom is a maximum, a choice or the result of a branch. Steps are
 * limited, so that an answer may be missed, and never costs much. */
#include "facts/ranges.h"
#include <string.h>

/* ---- Forms ---------------------------------------------------------------------------------- */
Lin lin_int(Wide c) { return (Lin){.c = c}; }
Lin lin_atom(Atom *a) { return (Lin){.n = 1, .t = {{a, 1}}}; }

static void add_term(Lin *e, Atom *a, int64_t coef) {
  int k = 0;
  while (k < e->n && e->t[k].atom != a) k++;
  if (k == e->n) {
    if (e->n == LIMIT_FORM_TERMS) {
      e->bad = true;
      return;
    }
    e->t[e->n++] = (Term){a, 0};
  }
  e->t[k].coef += coef;
  if (e->t[k].coef > LIMIT_COEFFICIENT || e->t[k].coef < -LIMIT_COEFFICIENT) e->bad = true;
  if (e->t[k].coef == 0) e->t[k] = e->t[--e->n];
}

Lin lin_add(const Lin *a, const Lin *b, int64_t factor) {
  Lin e = *a;
  Wide c;
  e.bad = a->bad || b->bad || __builtin_mul_overflow(b->c, (Wide)factor, &c) || __builtin_add_overflow(a->c, c, &e.c);
  for (int k = 0; k < b->n && !e.bad; k++) add_term(&e, b->t[k].atom, b->t[k].coef * factor);
  return e;
}

int64_t lin_coefficient(const Lin *e, const Atom *a) {
  for (int k = 0; k < e->n; k++)
    if (e->t[k].atom == a) return e->t[k].coef;
  return 0;
}

Atom *atom_of(Ranges *p, Frame *f, Node *x) {
  Atom *a = map_get(&f->atoms, x);
  if (a) return a;
  a = NEW(p->w->temp, Atom);
  *a = (Atom){f, x};
  map_put(&f->atoms, x, a);
  return a;
}

const Guard *guard_add(Ranges *p, const Guard *list, Frame *f, Node *n) {
  for (const Guard *g = list; g; g = g->next)
    if (g->frame == f && g->node == n) return list;
  Guard *g = NEW(p->w->temp, Guard);
  *g = (Guard){f, n, list};
  return g;
}

const Guard *guards_join(Ranges *p, const Guard *a, const Guard *b) {
  if (!a) return b;
  for (; b; b = b->next) a = guard_add(p, a, b->frame, b->node);
  return a;
}

/* ---- Nodes as forms ---------------------------------------------------------------------------- */
/* q: a node that is ordered after checks, which are known to have been passed; or NULL. */
static bool in_range(Ranges *p, Frame *f, const Node *q, const Lin *e, const Guard **guards) {
  if (e->bad) return false;
  if (e->n == 0) return true;
  Lin top = lin_int(INT64_MAX), bottom = lin_int(INT64_MIN);
  return prove(p, f, q, lin_add(&top, e, -1), q, guards) && prove(p, f, q, lin_add(e, &bottom, -1), q, guards);
}

static bool combination(Ranges *p, Frame *f, const Node *q, const Node *x, Linear *out) {
  int64_t by = x->op == OP_ISUB || x->op == OP_ISUBS ? -1 : 1;
  Node *a = x->ops[0], *b = x->nops > 1 ? x->ops[1] : NULL;
  Lin e;
  if (x->op == OP_INEG || x->op == OP_IMUL) {
    if (b && (b->op != OP_INT || b->attr.i > LIMIT_COEFFICIENT || b->attr.i < -LIMIT_COEFFICIENT)) return false;
    Linear *la = linear(p, f, a);
    Lin zero = lin_int(0);
    e = lin_add(&zero, &la->lin, b ? b->attr.i : -1);
    out->guards = la->guards;
  } else {
    Linear *la = linear(p, f, a), *lb = linear(p, f, b);
    e = lin_add(&la->lin, &lb->lin, by);
    out->guards = guards_join(p, la->guards, lb->guards);
  }
  if (!in_range(p, f, q, &e, &out->guards)) return false;
  out->lin = e;
  return true;
}

/* max x c is x where that is never less. */
static bool maximum(Ranges *p, Frame *f, Node *x, Linear *out) {
  Linear *a = linear(p, f, x->ops[0]);
  if (x->ops[1]->op != OP_INT) return false;
  Lin least = lin_int(x->ops[1]->attr.i);
  *out = *a;
  return prove(p, f, NULL, lin_add(&a->lin, &least, -1), false, &out->guards);
}

/* The length of an array from around is a number from around, and so is that of one that a loop carries, if it stays
 * as it was at the start. */
static Linear *length(Ranges *p, Frame *f, Node *x) {
  Node *a = x->ops[0], *outer;
  Frame *of;
  if (a->op != OP_PARAM) return NULL;
  int64_t dim = x->attr.i;
  if (frame_resolve(p, f, a, &of, &outer)) return linear(p, of, ir_len(p->w, outer, (int)dim));
  int64_t k = a->attr.i - 1;
  if (f->kind == FRAME_HEAD) {
    const LoopInfo *state = f->at->loop;
    Node *same = ir_carried_length(p->w, state, f->at->ops + loop_first(state), f->at->graphs[0], (int)k, (int)dim);
    return same ? linear(p, f->outer, same) : NULL;
  }
  const LoopInfo *l = f->kind == FRAME_BODY ? f->at->loop : NULL;
  if (!l || k < loop_slots(l) || k >= loop_captures(l)) return NULL;
  outer = f->at->ops[k + loop_first(l)]; /* a row */
  return linear(p, f->outer, ir_len(p->w, outer, (int)dim + 1));
}

/* A sum that is used after a check that it doesn't overflow. */
static bool checked_sum(Ranges *p, Frame *f, const Node *after, Linear *out) {
  Node *x = after->ops[0];
  if (x->op != OP_IADD || x->ops[1]->op == OP_INT) return false;
  const Lin *known = &linear(p, f, x)->lin;
  return known->n == 1 && known->t[0].atom->node == x && combination(p, f, after, x, out);
}

Linear *linear(Ranges *p, Frame *f, Node *x) {
  Frame *of;
  Node *outer;
  if (x->op == OP_PARAM && frame_resolve(p, f, x, &of, &outer)) return linear(p, of, outer);
  Linear *known = map_get(&f->linears, x);
  if (known) return known;
  Linear *r = NEW(p->w->temp, Linear), found = {0};
  r->lin = lin_atom(atom_of(p, f, x));
  map_put(&f->linears, x, r); /* what asks for it meanwhile gets the atom */
  switch (x->op) {
  case OP_INT: r->lin = lin_int(x->attr.i); break;
  case OP_IADD:
  case OP_ISUB:
  case OP_ISUBS:
  case OP_IMUL:
  case OP_INEG:
    if (combination(p, f, NULL, x, &found)) *r = found;
    break;
  case OP_IMAX:
    if (maximum(p, f, x, &found)) *r = found;
    break;
#include "ir/check_cases.h"
    *r = *linear(p, f, x->ops[0]);
    break;
  case OP_AFTER: *r = checked_sum(p, f, x, &found) ? found : *linear(p, f, x->ops[0]); break;
  case OP_LEN: {
    Linear *len = length(p, f, x);
    if (len) *r = *len;
    break;
  }
  default: break;
  }
  return r;
}

/* ---- Proofs ------------------------------------------------------------------------------------- */
typedef struct Goal {
  Frame *f; /* where it shall hold: `home`, or an arm that is taken in the case looked at */
  Frame *home;
  const Node *q; /* see prove */
  bool use_late;
  const Guard *guards; /* what the steps so far rest on */
  const Guard **found; /* what a finished proof rests on is written here */
} Goal;

static bool search(Ranges *p, Goal g, const Lin *e, int depth);

/* What remains to be shown when the fact has been used up to eliminate the atom. */
static bool by_fact(Ranges *p, Goal g, const Lin *e, Term t, const Lin *fact, const Guard *guards, int depth) {
  int64_t have = lin_coefficient(fact, t.atom), by = t.coef < 0 ? t.coef : -t.coef;
  if (fact->bad || have == 0 || (have > 0) != (t.coef > 0)) return false;
  Lin rest;
  if (have == 1 || have == -1) {
    rest = lin_add(e, fact, by);
  } else {
    Lin zero = lin_int(0), scaled = lin_add(&zero, e, have < 0 ? -have : have);
    rest = lin_add(&scaled, fact, by);
  }
  g.guards = guards_join(p, g.guards, guards);
  return search(p, g, &rest, depth - 1);
}

/* atom >= low (sign 1) or atom <= high (sign -1): sign * (atom - bound) >= 0. */
static bool by_bound(Ranges *p, Goal g, const Lin *e, Term t, const Lin *bound, const Guard *guards, int depth) {
  Lin a = lin_atom(t.atom), zero = lin_int(0), fact = lin_add(&a, bound, -1);
  if (t.coef < 0) fact = lin_add(&zero, &fact, -1);
  return by_fact(p, g, e, t, &fact, guards, depth);
}

static bool by_constant(Ranges *p, Goal g, const Lin *e, Term t, Wide bound, int depth) {
  Lin c = lin_int(bound);
  return by_bound(p, g, e, t, &c, NULL, depth);
}

static bool by_node(Ranges *p, Goal g, const Lin *e, Term t, Frame *f, Node *bound, int depth) {
  Linear *l = linear(p, f, bound);
  return by_bound(p, g, e, t, &l->lin, l->guards, depth);
}

/* Is an int of f at least c? If so, *g rests on what that does, too. */
static bool at_least(Ranges *p, Goal *g, Frame *f, Node *x, int64_t c) {
  Linear *l = linear(p, f, x);
  Lin low = lin_int(c), e = lin_add(&l->lin, &low, -1);
  Goal there = *g;
  there.f = f;
  if (!search(p, there, &e, LIMIT_PROOF_DEPTH / 2)) return false;
  g->guards = guards_join(p, *g->found, l->guards);
  return true;
}

static bool by_remainder(Ranges *p, Goal g, const Lin *e, Term t, int depth) {
  Frame *f = t.atom->frame;
  Node *x = t.atom->node->ops[0], *y = t.atom->node->ops[1];
  if (t.coef > 0) return at_least(p, &g, f, x, 0) && by_constant(p, g, e, t, 0, depth);
  if (!at_least(p, &g, f, y, 1)) return false;
  Linear *l = linear(p, f, y);
  Lin one = lin_int(1), most = lin_add(&l->lin, &one, -1);
  return by_bound(p, g, e, t, &most, l->guards, depth);
}

/* Division by a positive constant of what isn't negative: 0 <= q and d q <= x <= d q + d - 1. */
static bool by_quotient(Ranges *p, Goal g, const Lin *e, Term t, int depth) {
  Frame *f = t.atom->frame;
  Node *x = t.atom->node->ops[0], *d = t.atom->node->ops[1];
  if (d->op != OP_INT || d->attr.i <= 0 || d->attr.i > LIMIT_COEFFICIENT || !at_least(p, &g, f, x, 0)) return false;
  Linear *l = linear(p, f, x);
  Lin q = lin_atom(t.atom), over = lin_add(&l->lin, &q, -d->attr.i), most = lin_int(d->attr.i - 1);
  Lin under = lin_add(&most, &over, -1);
  if (t.coef < 0) return by_fact(p, g, e, t, &over, l->guards, depth);
  return by_constant(p, g, e, t, 0, depth) || by_fact(p, g, e, t, &under, l->guards, depth);
}

/* In each arm the goal must hold of what the arm yields. */
static bool by_arms(Ranges *p, Goal g, const Lin *e, Term t, Node *s, int component, int depth) {
  Frame **arms = frame_children(p, t.atom->frame, s);
  if (!arms) return false;
  for (int k = 0; k < s->ngraphs; k++) {
    Node *r = arms[k]->g->result;
    if (component >= 0) r = ir_get(p->w, r, component);
    Linear *l = linear(p, arms[k], r);
    Lin a = lin_atom(t.atom), rest = lin_add(e, &a, -t.coef);
    rest = lin_add(&rest, &l->lin, t.coef);
    g.f = arms[k];
    g.guards = guards_join(p, g.guards, l->guards);
    if (!search(p, g, &rest, depth - 1)) return false;
    g.guards = *g.found;
  }
  *g.found = NULL;
  for (const Guard *made = g.guards; made; made = made->next) { /* what an arm has evaluated, the switch has */
    bool inside = made->frame->depth > t.atom->frame->depth && frame_inside(made->frame, t.atom->frame, s);
    *g.found = inside ? guard_add(p, *g.found, t.atom->frame, s) : guard_add(p, *g.found, made->frame, made->node);
  }
  return true;
}

/* The atom is one of its operands from `first` on. */
static bool by_both(Ranges *p, Goal g, const Lin *e, Term t, int first, int depth) {
  Frame *f = t.atom->frame;
  Node **ops = t.atom->node->ops + first;
  if (!by_node(p, g, e, t, f, ops[1], depth)) return false;
  g.guards = *g.found;
  return by_node(p, g, e, t, f, ops[0], depth);
}

/* By what the atom is. */
static bool by_definition(Ranges *p, Goal g, const Lin *e, Term t, int depth) {
  Frame *f = t.atom->frame;
  Node *x = t.atom->node;
  bool low = t.coef > 0;
  switch (x->op) {
  case OP_BYTE: return by_constant(p, g, e, t, low ? 0 : 255, depth);
  case OP_BYTES:
  case OP_LEN: return by_constant(p, g, e, t, low ? 0 : LIMIT_ELEMENTS, depth);
  case OP_TAG: return low && by_constant(p, g, e, t, 0, depth);
  case OP_IMAX:
  case OP_IMIN:
    if (low != (x->op == OP_IMAX)) return by_both(p, g, e, t, 0, depth);
    return by_node(p, g, e, t, f, x->ops[1], depth) || by_node(p, g, e, t, f, x->ops[0], depth);
  case OP_SELECT: return by_both(p, g, e, t, 1, depth);
  case OP_IREM: return by_remainder(p, g, e, t, depth);
  case OP_IDIV: return by_quotient(p, g, e, t, depth);
  case OP_IAND:
    if (x->ops[1]->op != OP_INT || x->ops[1]->attr.i < 0) return false;
    return by_constant(p, g, e, t, low ? 0 : x->ops[1]->attr.i, depth);
  case OP_ISHR: return low && x->ops[1]->op == OP_INT && (x->ops[1]->attr.i & 63) && by_constant(p, g, e, t, 0, depth);
  case OP_SWITCH: return by_arms(p, g, e, t, x, -1, depth);
  case OP_GET: return x->ops[0]->op == OP_SWITCH && by_arms(p, g, e, t, x->ops[0], (int)x->attr.i, depth);
  default: return false;
  }
}

static bool encloses(const Frame *outer, const Frame *f) {
  while (f->depth > outer->depth) f = f->up;
  return f == outer;
}

/* The node of frame f that the home of the goal is in, or the one it is for; NULL if f has been evaluated. */
static const Node *place_in(Goal g, const Frame *f) {
  if (g.home == f) return g.q;
  if (!encloses(f, g.home)) return NULL;
  const Frame *in = g.home;
  while (in->up != f) in = in->up;
  return in->at;
}

static bool by_facts_of(Ranges *p, Goal g, Frame *f, const Lin *e, Term t, int depth) {
  for (int k = 0; k < f->facts.len; k++)
    if (by_fact(p, g, e, t, &f->facts.data[k].lin, f->facts.data[k].guards, depth)) return true;
  if (!g.use_late || f->kind == FRAME_HEAD) return false;
  frame_late_facts(p, f);
  const Node *place = place_in(g, f);
  for (int k = 0; k < f->late.len; k++) {
    const Fact *x = &f->late.data[k];
    int64_t have = lin_coefficient(&x->lin, t.atom);
    if (have == 0 || (have > 0) != (t.coef > 0)) continue;
    if (x->after == place || (place && frame_depends(p, f, x->after, place))) continue;
    Lin fact = x->lin; /* more facts may be added meanwhile */
    if (by_fact(p, g, e, t, &fact, guard_add(p, x->guards, f, x->after), depth)) return true;
  }
  return false;
}

static bool by_facts(Ranges *p, Goal g, const Lin *e, Term t, int depth) {
  for (Frame *f = g.f; f; f = f->up)
    if (by_facts_of(p, g, f, e, t, depth)) return true;
  for (Frame *f = g.home; f && !encloses(f, g.f); f = f->up)
    if (by_facts_of(p, g, f, e, t, depth)) return true;
  return false;
}

static bool has_cases(const Node *x) {
  if (x->op == OP_GET) x = x->ops[0];
  return x->op == OP_SWITCH || x->op == OP_SELECT || x->op == OP_IMAX || x->op == OP_IMIN;
}

/* Innermost first; among equals what has cases, to be told apart before facts are chosen; then the one made last. */
static bool goes_before(const Atom *a, const Atom *b) {
  if (a->frame->depth != b->frame->depth) return a->frame->depth > b->frame->depth;
  if (has_cases(a->node) != has_cases(b->node)) return has_cases(a->node);
  return a->node->id > b->node->id;
}

static Term next_term(const Lin *e) {
  Term best = e->t[0];
  for (int k = 1; k < e->n; k++)
    if (goes_before(e->t[k].atom, best.atom)) best = e->t[k];
  return best;
}

/* One step more: of those left in the proof, and in all. */
static bool exhausted(Ranges *p) {
  heap_look(p->w->arena->heap);
  if (--p->steps == -1) limit_reached(p->w->arena, AT_PROOF_STEPS);
  if (p->steps < 0) return true;
  if (--p->fuel == -1) limit_reached(p->w->arena, AT_PROOF_FUEL);
  return p->fuel < 0;
}

static bool search(Ranges *p, Goal g, const Lin *e, int depth) {
  if (e->bad) return false;
  if (e->n == 0) {
    *g.found = g.guards;
    return e->c >= 0;
  }
  if (depth <= 0 || exhausted(p)) return false;
  Term t = next_term(e);
  if (by_facts(p, g, e, t, depth) || by_definition(p, g, e, t, depth)) return true;
  bool huge = e->c >= INT64_MAX / 2; /* a goal of in_range */
  return huge && by_constant(p, g, e, t, t.coef > 0 ? INT64_MIN : INT64_MAX, depth);
}

bool prove(Ranges *p, Frame *f, const Node *q, Lin e, bool use_late, const Guard **guards) {
  int outer_steps = p->steps;
  const Guard *found = NULL;
  Goal g = {.f = f, .home = f, .q = q, .use_late = use_late, .guards = *guards, .found = &found};
  bool ok = false;
  for (int depth = 2; depth <= LIMIT_PROOF_DEPTH && !ok; depth *= 2) { /* short proofs first: they rest on least */
    p->steps = LIMIT_PROOF_STEPS;
    ok = search(p, g, &e, depth);
  }
  p->steps = outer_steps;
  if (ok) *guards = found;
  return ok;
}
