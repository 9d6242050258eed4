/* SPDX-License-Identifier: MIT */
/* The outline of a source: which construct each token and each gap belongs to.
 *
 *   structure of the parser → nodes, gaps and comments
 *
 * Constructs come in the order in which they end, inner ones first. From the last to the first they are a tree in
 * preorder, children from right to left, so a stack suffices to find parents. `a + b + c` is two constructs of one
 * level, one within the other; they become one node. So nodes are nested no deeper than the parser allows, however
 * long a program's chains are. A second pass, over tokens, finds the innermost node of each token and gap. */
#include "format/format_internal.h"
#include <string.h>

/* ---- Nodes ---------------------------------------------------------------------- */

typedef struct Open {
  int first, end, node;
} Open;

/* Is c a part of the chain that is open, at its beginning or its end, and of its level? */
static bool goes_on(const Formatter *f, const Open *open, const Construct *c) {
  const Node *node = &f->nodes[open->node];
  return c->kind == CONSTRUCT_CHAIN && node->kind == CONSTRUCT_CHAIN && node->level == c->level &&
         (c->first == open->first || c->end == open->end);
}

static int add_node(Formatter *f, const Construct *c, int parent) {
  Node *node = &f->nodes[f->nnodes];
  *node =
      (Node){.kind = c->kind, .level = c->level, .first = c->first, .end = c->end, .parent = parent, .next = NO_NODE};
  if (parent != NO_NODE) {
    const Node *outer = &f->nodes[parent];
    node->depth = outer->depth + 1;
    node->in_string = outer->in_string || outer->kind == CONSTRUCT_STRING;
  }
  return f->nnodes++;
}

static void make_nodes(Formatter *f, const Constructs *constructs) {
  Vec(Open) stack = {0};
  f->nodes = NEW_ARRAY(f->arena, Node, constructs->len + 1);
  for (int k = constructs->len - 1; k >= 0; k--) {
    const Construct *c = &constructs->data[k];
    heap_look_at(f->heap, (uint32_t)k);
    while (stack.len && (c->first < stack.data[stack.len - 1].first || c->end > stack.data[stack.len - 1].end))
      stack.len--;
    const Open *open = stack.len ? &stack.data[stack.len - 1] : NULL;
    int node = open && goes_on(f, open, c) ? open->node : add_node(f, c, open ? open->node : NO_NODE);
    vec_push(f->arena, stack, ((Open){c->first, c->end, node}));
  }
}

/* ---- Tokens --------------------------------------------------------------------- */

/* Lists the nodes that begin at each token, outer ones first. */
static void find_first_nodes(Formatter *f) {
  for (int i = 0; i < f->n; i++) f->first_node[i] = NO_NODE;
  for (int k = f->nnodes - 1; k >= 0; k--) {
    f->nodes[k].next = f->first_node[f->nodes[k].first];
    f->first_node[f->nodes[k].first] = k;
  }
}

static bool ends_head(const Formatter *f, int node, int i) {
  return node != NO_NODE && f->nodes[node].kind == CONSTRUCT_BLOCK && is_own(f, node, i, TOK_ARROW) &&
         kind_at(f, i + 1) != TOK_FUN;
}

static void find_owners(Formatter *f) {
  int node = NO_NODE;
  int *steps = NEW_ARRAY(f->arena, int, f->nnodes + 1);
  memset(steps, 0, sizeof *steps * (size_t)(f->nnodes + 1));
  for (int i = 0; i < f->n; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    while (node != NO_NODE && f->nodes[node].end <= i) node = f->nodes[node].parent;
    if (ends_head(f, node, i - 1)) steps[node]++;
    f->gaps[i].node = node;
    f->gaps[i].step = node == NO_NODE ? 0 : steps[node];
    f->gaps[i].item = node == NO_NODE;
    for (int k = f->first_node[i]; k != NO_NODE; k = f->nodes[k].next) node = k;
    f->owner[i] = node;
  }
  f->gaps[f->n].node = NO_NODE;
  f->gaps[f->n].item = true;
}

bool is_operator(const Formatter *f, int node, int i) {
  if (i < 0 || i >= f->n || f->owner[i] != node || i == f->nodes[node].first) return false;
  switch (f->tokens[i].kind) {
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_STRING:
  case TOK_TRUE:
  case TOK_FALSE:
  case TOK_IDENT:
  case TOK_UPPER:
  case TOK_DOT:
  case TOK_LPAREN:
  case TOK_RPAREN:
  case TOK_BREAK: return false;
  default: return true;
  }
}

/* ---- Gaps ----------------------------------------------------------------------- */

/* Line ends in [start, end): 0, 1, or 2 for more. */
static int newlines_in(const char *text, uint32_t start, uint32_t end) {
  int n = 0;
  for (uint32_t i = start; i < end && n < 2; i++) n += text[i] == '\n';
  return n;
}

static void make_gaps(Formatter *f, const Comments *comments) {
  uint32_t behind = f->text_start;
  for (int i = 0, c = 0; i <= f->n; i++) {
    heap_look_at(f->heap, (uint32_t)i);
    uint32_t start = i < f->n ? f->tokens[i].start : UINT32_MAX;
    Gap *gap = &f->gaps[i];
    *gap = (Gap){.comment = c};
    for (; c < comments->len && comments->data[c].start < start; c++) {
      const Comment *from = &comments->data[c];
      f->comments[c] =
          (Remark){from->start, from->end, newlines_in(f->text, behind, from->start), f->text[from->start] == '('};
      behind = from->end;
      gap->ncomments++;
    }
    gap->newlines = i < f->n ? (uint8_t)newlines_in(f->text, behind, start) : 1;
    if (i < f->n) behind = f->tokens[i].end;
  }
}

void outline_make(Formatter *f, const Structure *structure) {
  size_t n = (size_t)structure->tokens.len;
  f->tokens = structure->tokens.data;
  f->n = structure->tokens.len;
  f->ncomments = structure->comments.len;
  f->comments = NEW_ARRAY(f->arena, Remark, f->ncomments + 1);
  f->gaps = NEW_ARRAY(f->arena, Gap, n + 1);
  f->first_node = NEW_ARRAY(f->arena, int, n + 1);
  f->owner = NEW_ARRAY(f->arena, int, n + 1);
  f->columns = NEW_ARRAY(f->arena, int, n + 1);
  f->ends = NEW_ARRAY(f->arena, int, n + 1);
  make_nodes(f, &structure->constructs);
  find_first_nodes(f);
  make_gaps(f, &structure->comments);
  find_owners(f);
}
