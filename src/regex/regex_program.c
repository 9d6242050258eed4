/* SPDX-License-Identifier: MIT */
/* The tree of a pattern, compiled to a program: each node before what comes behind it in the direction of reading.
 *
 *   a|bc, forward    0 MATCH  1 SET c → 0  2 SET b → 1  3 SET a → 0  4 SPLIT 3 2   (starts at 4)
 *
 * A repetition without end is a loop. An iteration that reads nothing ends it (regex_subsets.c), which is why loops are
 * steps of their own. Other repetitions are copies.
 *
 * Recursion goes over the tree, which has at most LIMIT_REGEX_NODES nodes. */
#include "regex/regex_internal.h"

typedef struct Compiler {
  RegexWork *w;
  Program *p;
  bool backward;
} Compiler;

static int emit(Compiler *c, StepKind kind, int of, int x, int y) {
  Program *p = c->p;
  p->positions += kind == STEP_SET || kind == STEP_ASSERT;
  if (p->n == LIMIT_REGEX_PROGRAM || p->positions > LIMIT_REGEX_POSITIONS) return regex_hindered(c->w, REGEX_TOO_LARGE);
  p->steps[p->n] = (Step){(uint8_t)kind, (uint8_t)of, (uint16_t)x, (uint16_t)y};
  return p->n++;
}

static int split(Compiler *c, bool lazy, int inside, int behind) {
  return lazy ? emit(c, STEP_SPLIT, 0, behind, inside) : emit(c, STEP_SPLIT, 0, inside, behind);
}

/* One byte from `low` to `high`, then x. */
static int bytes(Compiler *c, int low, int high, int x) {
  ByteSet s = {0};
  for (int b = low; b <= high; b++) set_add(&s, b);
  return emit(c, STEP_SET, regex_set(c->w, &s), x, 0);
}

/* A character outside ASCII in UTF-8, which is valid: 2, 3 or 4 bytes. */
static int high_forward(Compiler *c, int next) {
  int one = bytes(c, 0x80, 0xbf, next), two = bytes(c, 0x80, 0xbf, one), three = bytes(c, 0x80, 0xbf, two);
  int longer = emit(c, STEP_SPLIT, 0, bytes(c, 0xe0, 0xef, two), bytes(c, 0xf0, 0xff, three));
  return emit(c, STEP_SPLIT, 0, bytes(c, 0xc0, 0xdf, one), longer);
}

static int high_backward(Compiler *c, int next) {
  int lead = bytes(c, 0xc0, 0xff, next), more = bytes(c, 0x80, 0xbf, lead), most = bytes(c, 0x80, 0xbf, more);
  int longer = emit(c, STEP_SPLIT, 0, more, most);
  return bytes(c, 0x80, 0xbf, emit(c, STEP_SPLIT, 0, lead, longer));
}

static int compile(Compiler *c, int node, int next);

/* A loop, entered at its first iteration if there must be one. */
static int endless(Compiler *c, const RegexNode *n, int next) {
  int number = c->w->nodes[n->a].nullable ? ++c->p->loops : 0;
  if (number > LIMIT_REGEX_OPEN) return regex_hindered(c->w, REGEX_TOO_LARGE);
  int loop = emit(c, STEP_LOOP, 2 * number + n->lazy, n->lazy ? next : 0, n->lazy ? 0 : next);
  int body = compile(c, n->a, loop);
  Step *s = &c->p->steps[loop];
  *(n->lazy ? &s->y : &s->x) = (uint16_t)body;
  return n->min ? body : loop;
}

/* Up to so many copies. */
static int optional(Compiler *c, const RegexNode *n, int copies, int next) {
  int at = next;
  for (int i = 0; i < copies && c->w->verdict == REGEX_MADE; i++) at = split(c, n->lazy, compile(c, n->a, at), next);
  return at;
}

static int repeat(Compiler *c, const RegexNode *n, int next) {
  if (n->max >= 0 && n->max < n->min) return regex_hindered(c->w, REGEX_NOT_REGULAR);
  int at = n->max < 0 ? endless(c, n, next) : optional(c, n, n->max - n->min, next);
  for (int i = n->max < 0; i < n->min && c->w->verdict == REGEX_MADE; i++) at = compile(c, n->a, at);
  return at;
}

static int compile(Compiler *c, int node, int next) {
  const RegexNode *n = &c->w->nodes[node];
  if (c->w->verdict != REGEX_MADE) return 0;
  switch (n->kind) {
  case NODE_SET: return emit(c, STEP_SET, n->a, next, 0);
  case NODE_HIGH: return c->backward ? high_backward(c, next) : high_forward(c, next);
  case NODE_ASSERT:
    c->p->has_boundaries |= n->a == AT_BOUNDARY || n->a == AT_NO_BOUNDARY;
    return emit(c, STEP_ASSERT, n->a, next, 0);
  case NODE_CONCAT:
    return c->backward ? compile(c, n->b, compile(c, n->a, next)) : compile(c, n->a, compile(c, n->b, next));
  case NODE_OR: {
    int a = compile(c, n->a, next);
    return emit(c, STEP_SPLIT, 0, a, compile(c, n->b, next));
  }
  case NODE_REPEAT: return repeat(c, n, next);
  case NODE_EMPTY: break;
  }
  return next;
}

/* Forward, a match may start at each byte: what none of its positions reads is skipped, with least priority. */
static int search(Compiler *c, int start) {
  int loop = emit(c, STEP_SPLIT, 0, start, 0);
  int skip = bytes(c, 0, 255, loop);
  c->p->steps[loop].y = (uint16_t)skip;
  c->p->skip = skip;
  return loop;
}

void regex_compile(RegexWork *w, bool backward) {
  Compiler c = {w, &w->program, backward};
  c.p->n = c.p->positions = c.p->loops = 0;
  c.p->has_boundaries = false;
  int match = emit(&c, STEP_MATCH, 0, 0, 0), start = compile(&c, w->root, match);
  c.p->start = backward || w->verdict != REGEX_MADE ? start : search(&c, start);
}
