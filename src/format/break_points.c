/* SPDX-License-Identifier: MIT */
/* Where lines may be broken, and which line breaks of the source stay.
 *
 * break_at has the rules, one function for each sort of construct. A line break of the source stays where its gap
 * allows one; the others move to the nearest place that does, from behind an operator to before it and from before a
 * comma to behind it, or go. Where a `match`, an `if`, a loop or a row of definitions isn't on one line, each of its
 * parts begins one. The line breaks around comments stay, whatever the rules say. What stays depends on nothing but the
 * tokens and on which gaps are broken, so that a second run changes nothing. */
#include "format/format_internal.h"

static const Break never = {BREAK_NEVER, 0};

static Break fill(int rank) { return (Break){BREAK_FILL, rank}; }
static Break all(int rank) { return (Break){BREAK_ALL, rank}; }
static Break kept(bool yes) { return yes ? (Break){BREAK_KEPT, 0} : never; }

/* ---- Operators ------------------------------------------------------------------ */

static bool is_assignment(TokenKind kind) {
  return kind == TOK_LARROW || kind == TOK_PLUS_EQ || kind == TOK_MINUS_EQ || kind == TOK_STAR_EQ ||
         kind == TOK_SLASH_EQ;
}

/* One on each line: what is done one after the other, and conditions. */
static bool stands_alone(TokenKind kind) {
  return kind == TOK_PIPE || kind == TOK_COMPOSE || kind == TOK_ANDAND || kind == TOK_OROR;
}

/* Before the operator; behind an assignment. */
static Break in_chain(const Formatter *f, int node, int i) {
  TokenKind kind = kind_at(f, i);
  if (is_operator(f, node, i - 1)) return is_assignment(kind_at(f, i - 1)) ? fill(0) : never;
  if (!is_operator(f, node, i) || is_assignment(kind)) return never;
  return stands_alone(kind) ? all(0) : fill(0);
}

/* ---- Brackets ------------------------------------------------------------------- */

static Break in_brackets(const Formatter *f, int node, int i) {
  const Node *n = &f->nodes[node];
  bool opening = i == n->first + 1, closing = i == n->end - 1;
  if (opening && closing) return never;
  if (closing) return kept(f->gaps[n->first + 1].broken && n->kind != CONSTRUCT_INDEX);
  if (opening) return kept(n->kind != CONSTRUCT_INDEX);
  if (n->kind == CONSTRUCT_COMPREHENSION) {
    if (is_own(f, node, i, TOK_BAR)) return fill(0);
    return is_own(f, node, i - 1, TOK_COMMA) ? fill(1) : never;
  }
  if (is_own(f, node, i - 1, TOK_WITH)) return fill(0);
  return is_own(f, node, i - 1, TOK_COMMA) ? fill(0) : never;
}

/* ---- Constructs with words ------------------------------------------------------ */

/* Before `else`, and behind it and `then`. */
static Break in_if(const Formatter *f, int node, int i) {
  if (is_own(f, node, i, TOK_ELSE)) return all(0);
  if (is_own(f, node, i - 1, TOK_THEN)) return fill(1);
  return is_own(f, node, i - 1, TOK_ELSE) && !is_own(f, node, i, TOK_IF) ? fill(1) : never;
}

/* Before each case: at its bar, or behind `with`. */
static Break in_match(const Formatter *f, int node, int i) {
  bool case_begins = is_own(f, node, i, TOK_BAR) || is_own(f, node, i - 1, TOK_WITH);
  return case_begins ? all(0) : never;
}

static Break in_case(const Formatter *f, int node, int i) {
  if (is_own(f, node, i - 1, TOK_ARROW)) return fill(0);
  return is_own(f, node, i, TOK_WHEN) ? fill(1) : never;
}

/* Behind `=`, and before parameters. */
static Break in_binding(const Formatter *f, int node, int i) {
  if (is_own(f, node, i - 1, TOK_EQ)) return fill(0);
  bool param = i - 1 > f->nodes[node].first && kind_at(f, i) != TOK_COLON && kind_at(f, i) != TOK_EQ;
  return param && space_before(f, i) && kind_at(f, i - 1) != TOK_MUT && kind_at(f, i - 1) != TOK_COLON ? fill(1)
                                                                                                       : never;
}

/* Behind `in`, `;` and the arrow of a function. */
static Break in_block(const Formatter *f, int node, int i) {
  if (is_own(f, node, i - 1, TOK_IN) || is_own(f, node, i - 1, TOK_SEMI)) return all(0);
  return is_own(f, node, i - 1, TOK_ARROW) && kind_at(f, i) != TOK_FUN ? all(0) : never;
}

static Break in_loop(const Formatter *f, int node, int i) {
  return is_own(f, node, i - 1, TOK_DO) || is_own(f, node, i, TOK_DONE) ? all(0) : never;
}

/* ---- Types and patterns --------------------------------------------------------- */

static Break in_type(const Formatter *f, int node, int i) {
  if (is_own(f, node, i - 1, TOK_ARROW)) return fill(0);
  return is_own(f, node, i, TOK_STAR) ? fill(1) : never;
}

static Break in_declaration(const Formatter *f, int node, int i) {
  if (is_own(f, node, i, TOK_BAR) && !is_own(f, node, i - 1, TOK_EQ)) return fill(0);
  return is_own(f, node, i - 1, TOK_EQ) ? fill(1) : never;
}

static Break in_pattern(const Formatter *f, int node, int i) {
  if (is_own(f, node, i, TOK_BAR)) return fill(0);
  return is_own(f, node, i, TOK_CONS) ? fill(1) : never;
}

/* Before `and`, and behind the `:` of a foreign function. */
static Break in_item(const Formatter *f, int node, int i) {
  if (is_own(f, node, i, TOK_AND)) return all(0);
  return is_own(f, node, i - 1, TOK_COLON) ? fill(0) : never;
}

static Break by_node(const Formatter *f, int node, int i) {
  switch (f->nodes[node].kind) {
  case CONSTRUCT_ITEM:
  case CONSTRUCT_LET: return in_item(f, node, i);
  case CONSTRUCT_DECLARATION: return in_declaration(f, node, i);
  case CONSTRUCT_BINDING: return in_binding(f, node, i);
  case CONSTRUCT_BLOCK: return in_block(f, node, i);
  case CONSTRUCT_CHAIN: return in_chain(f, node, i);
  case CONSTRUCT_APPLICATION: return space_before(f, i) ? fill(0) : never;
  case CONSTRUCT_INDEX:
  case CONSTRUCT_GROUP:
  case CONSTRUCT_COMPREHENSION: return in_brackets(f, node, i);
  case CONSTRUCT_FIELD: return is_own(f, node, i - 1, TOK_EQ) ? fill(0) : never;
  case CONSTRUCT_IF: return in_if(f, node, i);
  case CONSTRUCT_MATCH: return in_match(f, node, i);
  case CONSTRUCT_CASE: return in_case(f, node, i);
  case CONSTRUCT_LOOP: return in_loop(f, node, i);
  case CONSTRUCT_PATTERN: return in_pattern(f, node, i);
  case CONSTRUCT_TYPE: return in_type(f, node, i);
  case CONSTRUCT_NEGATION:
  case CONSTRUCT_STRING: return never;
  }
  return never;
}

Break break_at(const Formatter *f, int i) {
  int node = f->gaps[i].node;
  if (node == NO_NODE) return never;
  Break b = by_node(f, node, i);
  if (b.kind > BREAK_KEPT && f->nodes[node].in_string) b.kind = BREAK_KEPT;
  return b;
}

/* ---- The source's line breaks --------------------------------------------------- */

static bool allowed(const Formatter *f, int i) { return i > 0 && i < f->n && break_at(f, i).kind != BREAK_NEVER; }

/* Does a comment of the gap begin or end a line? */
static bool comments_break(const Formatter *f, const Gap *gap) {
  for (int c = gap->comment; c < gap->comment + gap->ncomments; c++)
    if (f->comments[c].newlines || !f->comments[c].block) return true;
  return gap->ncomments > 0 && gap->newlines > 0;
}

/* Empty lines stay between what is written one below the other. */
static bool keeps_blank(const Formatter *f, int i) {
  const Gap *gap = &f->gaps[i];
  if (gap->newlines < 2 || i == f->n) return false;
  if (gap->item || gap->ncomments) return true;
  return is_own(f, gap->node, i - 1, TOK_IN) || kind_at(f, i - 1) == TOK_SEMI || kind_at(f, i - 1) == TOK_COMMA ||
         kind_at(f, i) == TOK_BAR || kind_at(f, i) == TOK_AND;
}

/* Moves a line break that its gap doesn't allow. */
static void move_break(Formatter *f, int i) {
  int node = f->gaps[i].node;
  bool behind_operator = node != NO_NODE && f->nodes[node].kind == CONSTRUCT_CHAIN && is_operator(f, node, i - 1);
  if (behind_operator && allowed(f, i - 1)) f->gaps[i - 1].broken = true;
  else if (!behind_operator && allowed(f, i + 1) && f->gaps[i + 1].newlines == 0) f->gaps[i + 1].newlines = 1;
}

/* Is gap i one that is broken where its node isn't on one line: before a case, `else`, `done` or `and`, behind `do` and
 * `in`? */
static bool goes_with_node(const Formatter *f, int i) {
  int node = f->gaps[i].node;
  if (node == NO_NODE || break_at(f, i).kind != BREAK_ALL) return false;
  switch (f->nodes[node].kind) {
  case CONSTRUCT_ITEM:
  case CONSTRUCT_LET:
  case CONSTRUCT_IF:
  case CONSTRUCT_MATCH:
  case CONSTRUCT_LOOP: return true;
  case CONSTRUCT_BLOCK: return kind_at(f, i - 1) == TOK_IN;
  default: return false;
  }
}

/* broken: how many of the gaps before each are broken. */
static bool is_on_one_line(const Formatter *f, int node, const int *broken) {
  return broken[f->nodes[node].end] == broken[f->nodes[node].first + 1];
}

/* Does a row of definitions begin here that isn't on one line, as the value of a binding, a case or a branch? */
static bool begins_definitions(const Formatter *f, int i, const int *broken) {
  int outer = f->gaps[i].node, node = f->first_node[i];
  if (kind_at(f, i) != TOK_LET || outer == NO_NODE || !allowed(f, i)) return false;
  ConstructKind kind = f->nodes[outer].kind;
  if (kind != CONSTRUCT_BINDING && kind != CONSTRUCT_CASE && kind != CONSTRUCT_IF) return false;
  while (node != NO_NODE && f->nodes[node].kind != CONSTRUCT_BLOCK) node = f->nodes[node].next;
  return node != NO_NODE && !is_on_one_line(f, node, broken);
}

/* A construct that isn't on one line has each of its parts on one of its own. */
static void break_together(Formatter *f) {
  int *broken = NEW_ARRAY(f->arena, int, f->n + 2);
  broken[0] = 0;
  for (int i = 0; i <= f->n; i++) broken[i + 1] = broken[i] + f->gaps[i].broken;
  for (int i = 0; i < f->n; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    bool parted = goes_with_node(f, i) && !is_on_one_line(f, f->gaps[i].node, broken);
    if (parted || begins_definitions(f, i, broken)) f->gaps[i].broken = true;
  }
}

void breaks_of_source(Formatter *f) {
  for (int i = 0; i <= f->n; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    Gap *gap = &f->gaps[i];
    bool comments = comments_break(f, gap);
    if (gap->item || comments) gap->broken = true;
    else if (gap->newlines && allowed(f, i)) gap->broken = true;
    else if (gap->newlines) move_break(f, i);
    gap->blank = gap->broken && keeps_blank(f, i);
  }
  break_together(f);
}
