/* SPDX-License-Identifier: MIT */
/* Places the tokens of each line, and breaks lines that are too wide.
 *
 * A line that is too wide is broken at gaps of the outermost node that has some in it: at all of them where the parts
 * are written one below the other, else before each part that doesn't fit. Then it is placed again, up to its new end,
 * and broken further until it fits or nothing is left to break. Breaks are only added, and only in lines that are too
 * wide: what was formatted has no such lines, or can't be broken further, so it stays as it is. */
#include "format/format_internal.h"
#include <limits.h>

enum {
  SMALL_GAIN = 30, /* brackets that don't fit on the next line either go there if they move by more than this */
  TINY_GAIN = 10,  /* and operands and arguments */
  SHORT_TAIL = 60  /* what may follow a function that begins within a line, in columns */
};

/* ---- Placing ---------------------------------------------------------------------- */

static int place_comments(const Formatter *f, int i, int from, int column) {
  const Gap *gap = &f->gaps[i];
  for (int c = gap->comment + from; c < gap->comment + gap->ncomments; c++)
    column = column_behind(f->text, f->comments[c].start, f->comments[c].end, column) + 1;
  return column;
}

/* Places the tokens from s on, and returns the first one behind the line. *wide: is it too wide? */
static int place_line(Formatter *f, int s, bool *wide) {
  int i = s, column = place_comments(f, s, comments_above(f, s), indent_at(f, s));
  *wide = false;
  do {
    heap_look_at(f->heap, (uint32_t)i);
    const Token *t = &f->tokens[i];
    if (i > s) {
      bool comments = f->gaps[i].ncomments > 0;
      column = comments ? place_comments(f, i, 0, column + 1) : column + space_before(f, i);
    }
    place_token(f, i, column);
    f->columns[i] = column;
    f->ends[i] = column = column_behind(f->text, t->start, t->end, column);
    *wide |= column > COLUMNS;
  } while (++i < f->n && !f->gaps[i].broken);
  return i;
}

/* ---- Parts ------------------------------------------------------------------------ */

/* Where the part ends that begins at gap i: before the next gap of the node and rank, or at the end of the line. */
static int part_end(const Formatter *f, int i, int end) {
  int node = f->gaps[i].node, rank = break_at(f, i).rank;
  int stop = f->nodes[node].end < end ? f->nodes[node].end : end;
  for (int k = i + 1; k < stop; k++) {
    if (f->gaps[k].node != node) continue;
    Break b = break_at(f, k);
    if (b.kind > BREAK_KEPT && b.rank == rank) return k;
  }
  return end;
}

/* The largest column at which a token of [i, end) ends. */
static int widest(const Formatter *f, int i, int end) {
  int most = 0;
  for (; i < end; i++)
    if (f->ends[i] > most) most = f->ends[i];
  return most;
}

/* Is the part from gap i on one token or string, or an argument in brackets? */
static bool is_solid(const Formatter *f, int i, int end) {
  int k = f->first_node[i];
  while (k != NO_NODE && f->nodes[k].depth <= f->nodes[f->gaps[i].node].depth) k = f->nodes[k].next;
  if (k == NO_NODE) return end == i + 1;
  bool argument = f->nodes[f->gaps[i].node].kind == CONSTRUCT_APPLICATION;
  return (argument && has_brackets(&f->nodes[k])) || f->nodes[k].kind == CONSTRUCT_STRING;
}

/* Would the part from gap i on be too wide on a line of its own, too, and hardly be further left? */
static bool is_useless(const Formatter *f, int i, int end) {
  int gain = f->columns[i] - indent_at(f, i);
  if (gain <= 0) return true;
  int node = f->gaps[i].node;
  bool operation = f->nodes[node].kind == CONSTRUCT_CHAIN && is_operator(f, node, i);
  bool inner = operation || f->nodes[node].kind == CONSTRUCT_APPLICATION;
  if (widest(f, i, part_end(f, i, end)) - gain <= COLUMNS) return false;
  return (inner && gain < TINY_GAIN) || (gain < SMALL_GAIN && is_solid(f, i, part_end(f, i, end)));
}

/* ---- Choosing --------------------------------------------------------------------- */

typedef struct Choice {
  int depth, rank, node; /* node NO_NODE: none */
} Choice;

static bool comes_before(const Choice *a, const Choice *b) {
  return a->depth != b->depth ? a->depth < b->depth : a->rank < b->rank;
}

/* The outermost node, behind `after` in that order, at which the line may be broken. Of several the last one that
 * begins within the columns. */
static Choice choose(const Formatter *f, int s, int end, const Choice *after) {
  Choice best = {INT_MAX, 0, NO_NODE};
  for (int i = s + 1; i < end; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    if (f->gaps[i].node == NO_NODE) continue;
    Break b = break_at(f, i);
    Choice c = {f->nodes[f->gaps[i].node].depth, b.rank, f->gaps[i].node};
    if (b.kind <= BREAK_KEPT || !comes_before(after, &c)) continue;
    bool better = comes_before(&c, &best) || (!comes_before(&best, &c) && f->columns[i] <= COLUMNS);
    if (better) best = c;
  }
  return best;
}

/* ---- Breaking --------------------------------------------------------------------- */

/* The gaps of a node that are in the line [s, end) are among those behind the first of these and before the second. */
static int first_gap(const Formatter *f, int node, int s) {
  return f->nodes[node].first > s ? f->nodes[node].first : s;
}
static int last_gap(const Formatter *f, int node, int end) {
  return f->nodes[node].end < end ? f->nodes[node].end : end;
}

static bool break_all(Formatter *f, const Choice *c, int s, int end) {
  bool any = false;
  for (int i = first_gap(f, c->node, s) + 1, stop = last_gap(f, c->node, end); i < stop; i++) {
    if (f->gaps[i].node != c->node || break_at(f, i).rank != c->rank || break_at(f, i).kind != BREAK_ALL) continue;
    any = f->gaps[i].broken = true;
  }
  return any;
}

/* A definition that goes to a line of its own has its body on the next one. */
static void break_definitions(Formatter *f, int i, int end) {
  int node = f->first_node[i];
  while (node != NO_NODE && f->nodes[node].kind != CONSTRUCT_BLOCK) node = f->nodes[node].next;
  if (node == NO_NODE || kind_at(f, i) != TOK_LET) return;
  for (int k = i + 1; k < end; k++)
    if (f->gaps[k].node == node && break_at(f, k).kind == BREAK_ALL) f->gaps[k].broken = true;
}

/* What follows a new break in a list or chain is filled anew: the line breaks behind it go, but for those of comments
 * and before rows in brackets. */
static void refill(Formatter *f, const Choice *c, int i) {
  const Node *n = &f->nodes[c->node];
  if (n->kind != CONSTRUCT_GROUP && n->kind != CONSTRUCT_CHAIN) return;
  for (i++; i < n->end; i++) {
    Gap *gap = &f->gaps[i];
    if (!gap->broken || gap->node != c->node || break_at(f, i).kind != BREAK_FILL || break_at(f, i).rank != c->rank)
      continue;
    if (gap->ncomments || gap->blank || (n->kind == CONSTRUCT_GROUP && opens_brackets(kind_at(f, i)))) return;
    gap->broken = false;
  }
}

static bool break_filled(Formatter *f, const Choice *c, int s, int end) {
  bool any = false;
  int last = 0, moved = 0; /* how far the breaks so far have moved what follows to the left */
  for (int i = first_gap(f, c->node, s) + 1, stop = last_gap(f, c->node, end); i < stop; i++) {
    if (f->gaps[i].node != c->node || break_at(f, i).rank != c->rank || break_at(f, i).kind != BREAK_FILL) continue;
    if (widest(f, i, part_end(f, i, end)) - moved <= COLUMNS || is_useless(f, i, end)) continue;
    moved = f->columns[i] - indent_at(f, i);
    any = f->gaps[i].broken = true;
    last = i;
    break_definitions(f, i, end);
  }
  if (any) refill(f, c, last);
  return any;
}

/* Does a function begin here that is an argument, or the last part of a tuple? */
static bool begins_function(const Formatter *f, const Node *n, int i) {
  if (n->kind == CONSTRUCT_APPLICATION) return kind_at(f, i) == TOK_LPAREN && kind_at(f, i + 1) == TOK_FUN;
  return kind_at(f, i) == TOK_FUN && kind_at(f, i - 1) == TOK_COMMA;
}

/* The only function in the line [s, end) that is a part of the application or tuple; 0: there is none, or another. */
static int only_function(const Formatter *f, int node, int s, int end) {
  int found = 0;
  for (int i = first_gap(f, node, s) + 1, stop = last_gap(f, node, end); i < stop; i++) {
    if (f->gaps[i].node != node || !begins_function(f, &f->nodes[node], i)) continue;
    if (found) return 0;
    found = i;
  }
  return found;
}

/* The gap behind the arrow of the function that begins at gap i of the line; 0: it isn't in the columns. */
static int body_gap(const Formatter *f, int i, int end) {
  for (; i + 1 < end && f->ends[i] <= COLUMNS; i++) {
    int node = f->gaps[i + 1].node;
    bool arrow = node != NO_NODE && f->nodes[node].kind == CONSTRUCT_BLOCK && is_own(f, node, i, TOK_ARROW);
    if (arrow && break_at(f, i + 1).kind == BREAK_ALL) return i + 1;
  }
  return 0;
}

/* How many columns of the line follow the part of the node that begins at gap i. */
static int tail_width(const Formatter *f, int node, int i, int end) {
  int last = i;
  while (last + 1 < end && f->gaps[last + 1].node != node && last + 1 < f->nodes[node].end) last++;
  return f->ends[end - 1] - f->ends[last];
}

/* Breaks an application or tuple behind the arrow of its function, if all before it fits: `iter (fun x ->`. */
static bool break_function(Formatter *f, const Choice *c, int s, int end) {
  ConstructKind kind = f->nodes[c->node].kind;
  if (kind != CONSTRUCT_APPLICATION && kind != CONSTRUCT_GROUP) return false;
  int open = only_function(f, c->node, s, end), body = open ? body_gap(f, open, end) : 0;
  if (!body || tail_width(f, c->node, open, end) > SHORT_TAIL) return false;
  Choice block = {0, 0, f->gaps[body].node};
  return break_all(f, &block, open, end);
}

static bool break_node(Formatter *f, const Choice *c, int s, int end) {
  return break_function(f, c, s, end) || break_all(f, c, s, end) || break_filled(f, c, s, end);
}

/* Breaks at the node, or else at another one of its depth: parts are broken after the whole of which they are. */
static bool break_level(Formatter *f, const Choice *c, int s, int end) {
  if (break_node(f, c, s, end)) return true;
  for (int i = s + 1, last = c->node; i < end; i++) {
    Choice other = {c->depth, c->rank, f->gaps[i].node};
    heap_look_at(f->heap, (uint32_t)i);
    if (other.node == NO_NODE || other.node == last || f->nodes[other.node].depth != c->depth) continue;
    last = other.node;
    if (break_node(f, &other, s, end)) return true;
  }
  return false;
}

static bool break_line(Formatter *f, int s, int end) {
  Choice after = {-1, 0, NO_NODE};
  for (;;) {
    Choice c = choose(f, s, end, &after);
    if (c.node == NO_NODE) return false;
    if (break_level(f, &c, s, end)) return true;
    after = c;
  }
}

int lay_line(Formatter *f, int i) {
  for (;;) {
    bool wide;
    int end = place_line(f, i, &wide);
    if (!wide || !break_line(f, i, end)) return end;
  }
}
