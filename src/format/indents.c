/* SPDX-License-Identifier: MIT */
/* How far lines are indented.
 *
 * A node's `own` is where its first token would stand if it began a line, whether it does or not. Lines in the node
 * are indented from there: `let x = f a` goes on at 4 columns, since the value on a line of its own would stand at 2.
 * What stands in brackets is aligned with its first token. Where that is on the next line, and in a function that ends
 * the brackets, lines are indented from the one that has the opening bracket:
 *
 *     {x = 1,            fold (fun sum x ->         else (
 *      y = 2}              sum + x) 0 xs              a; b)
 *
 * All depends on the nodes and on which gaps are broken before the line, so that lines are laid out in order. */
#include "format/format_internal.h"

enum { FAR_RIGHT = 24 }; /* what stands further right in brackets isn't aligned */

/* ---- By the sort of node ---------------------------------------------------------- */

static int in_brackets(const Formatter *f, const Node *n, int node, int i) {
  if (i == n->end - 1) return n->base;
  bool opened = f->gaps[n->first + 1].broken;
  if (n->kind == CONSTRUCT_COMPREHENSION && is_own(f, node, i, TOK_BAR) && !opened) return n->column;
  return i == n->first + 1 ? n->line + INDENT : n->content;
}

static int in_chain(const Formatter *f, const Node *n, int node, int i) {
  return n->own + (is_operator(f, node, i) ? 0 : INDENT);
}

static int in_if(const Formatter *f, const Node *n, int node, int i) {
  if (is_own(f, node, i, TOK_ELSE) || is_own(f, node, i, TOK_THEN)) return n->own;
  return n->own + (is_own(f, node, i - 1, TOK_IF) ? 2 * INDENT : INDENT);
}

static int in_match(const Formatter *f, const Node *n, int node, int i) {
  if (is_own(f, node, i, TOK_BAR) || is_own(f, node, i, TOK_WITH)) return n->own;
  return n->own + (is_own(f, node, i - 1, TOK_MATCH) ? 2 * INDENT : INDENT);
}

static int in_loop(const Formatter *f, const Node *n, int node, int i) {
  if (is_own(f, node, i, TOK_DO) || is_own(f, node, i, TOK_DONE)) return n->own;
  return n->own + (is_own(f, node, i - 1, TOK_DO) ? INDENT : 2 * INDENT);
}

/* The bars of a case's pattern stand below that of the case. */
static int in_pattern(const Formatter *f, const Node *n, int node, int i) {
  bool of_case = n->parent != NO_NODE && f->nodes[n->parent].kind == CONSTRUCT_CASE;
  if (!is_own(f, node, i, TOK_BAR)) return n->own + INDENT;
  return of_case ? n->own - INDENT : n->own;
}

static int in_node(const Formatter *f, int node, int i) {
  const Node *n = &f->nodes[node];
  switch (n->kind) {
  case CONSTRUCT_ITEM: return n->own + (is_own(f, node, i - 1, TOK_COLON) ? INDENT : 0);
  case CONSTRUCT_LET: return n->own;
  case CONSTRUCT_BINDING: return n->own + (is_own(f, node, i - 1, TOK_EQ) ? INDENT : 2 * INDENT);
  case CONSTRUCT_BLOCK: return n->own + INDENT * f->gaps[i].step;
  case CONSTRUCT_CHAIN: return in_chain(f, n, node, i);
  case CONSTRUCT_INDEX:
  case CONSTRUCT_GROUP:
  case CONSTRUCT_COMPREHENSION: return in_brackets(f, n, node, i);
  case CONSTRUCT_IF: return in_if(f, n, node, i);
  case CONSTRUCT_MATCH: return in_match(f, n, node, i);
  case CONSTRUCT_CASE: return is_own(f, node, i - 1, TOK_ARROW) ? n->own : n->own + INDENT;
  case CONSTRUCT_LOOP: return in_loop(f, n, node, i);
  case CONSTRUCT_PATTERN: return in_pattern(f, n, node, i);
  case CONSTRUCT_TYPE: return n->own + (is_own(f, node, i, TOK_STAR) ? INDENT : 0);
  case CONSTRUCT_DECLARATION:
  case CONSTRUCT_NEGATION:
  case CONSTRUCT_APPLICATION:
  case CONSTRUCT_FIELD:
  case CONSTRUCT_STRING: return n->own + INDENT;
  }
  return n->own;
}

/* These go on with an item from column 0, too (R1.8), and stand there where it begins with their construct. */
static bool may_stand_in_column_0(TokenKind kind) {
  return kind == TOK_AND || kind == TOK_ELSE || kind == TOK_DONE || kind == TOK_BAR || kind == TOK_RPAREN ||
         kind == TOK_RBRACKET || kind == TOK_RBRACE;
}

int indent_at(const Formatter *f, int i) {
  const Gap *gap = &f->gaps[i];
  if (gap->item) return 0;
  int indent = in_node(f, gap->node, i);
  return indent <= 0 ? (may_stand_in_column_0(kind_at(f, i)) ? 0 : INDENT) : indent;
}

/* ---- Placing ---------------------------------------------------------------------- */

/* Is what begins with token i, on the line of the brackets around it, a function, and the last thing in them? */
static bool is_last_function(const Formatter *f, const Node *n, int i) {
  if (kind_at(f, i) != TOK_FUN || n->kind != CONSTRUCT_GROUP || f->gaps[i].broken) return false;
  for (int k = f->first_node[i]; k != NO_NODE; k = f->nodes[k].next)
    if (f->nodes[k].kind == CONSTRUCT_BLOCK) return f->nodes[k].end == n->end - 1;
  return false;
}

/* Token i is the first one in the brackets. */
static void place_content(Formatter *f, Node *n, int i, int column) {
  if (f->gaps[i].broken) n->base = n->line, n->content = n->base + INDENT;
  else if (is_last_function(f, n, i)) n->content = n->base;
  else if (column - n->base > FAR_RIGHT) n->content = n->base + INDENT;
  else n->content = f->base = column;
}

static int own_of(const Formatter *f, int node, int i, bool is_content) {
  if (node == NO_NODE) return 0;
  if (is_content) return f->nodes[node].content;
  return is_last_function(f, &f->nodes[node], i) ? f->nodes[node].base : in_node(f, node, i);
}

/* Is the node an application on the line of the `=` whose whole value it is? Then its arguments are indented from the
 * binding. */
static bool is_hanging_value(const Formatter *f, const Node *n) {
  if (n->kind != CONSTRUCT_APPLICATION || n->parent == NO_NODE || f->gaps[n->first].broken) return false;
  const Node *outer = &f->nodes[n->parent];
  return outer->kind == CONSTRUCT_BINDING && outer->end == n->end;
}

static bool is_bar_of_match(const Formatter *f, int i) {
  int node = f->gaps[i].node;
  return node != NO_NODE && f->nodes[node].kind == CONSTRUCT_MATCH && kind_at(f, i) == TOK_BAR;
}

void place_token(Formatter *f, int i, int column) {
  int outer = f->gaps[i].node;
  if (f->gaps[i].broken) f->base = f->line = column + (is_bar_of_match(f, i) ? INDENT : 0);
  Node *brackets = outer != NO_NODE && has_brackets(&f->nodes[outer]) ? &f->nodes[outer] : NULL;
  bool is_content = brackets && i == brackets->first + 1 && i != brackets->end - 1;
  if (is_content) place_content(f, brackets, i, column);
  int own = own_of(f, outer, i, is_content);
  for (int k = f->first_node[i]; k != NO_NODE; k = f->nodes[k].next) {
    Node *n = &f->nodes[k];
    n->own = is_hanging_value(f, n) ? own - INDENT : own;
    n->column = column;
    n->outer_base = f->base;
    bool is_case = outer != NO_NODE && f->nodes[outer].kind == CONSTRUCT_CASE;
    n->base = f->base - (is_case && own == f->base ? INDENT : 0);
    n->line = f->line - (is_case && own == f->line ? INDENT : 0);
  }
  if (brackets && i == brackets->end - 1 && !f->gaps[i].broken) f->base = brackets->outer_base;
}
