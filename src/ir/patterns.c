/* SPDX-License-Identifier: MIT */
/* Automata of constant patterns as constant arrays, over which the library (stdlib/Regex.atl) has loops:
 *
 *   rt regex_tables "a+b"  →  tuple true (data …)      where the pattern has an automaton that is small enough
 *   rt regex_tables p      →  tuple false (data [])    of any other; of one that isn't constant, once derivatives are
 *                                                      taken: until then inlining may make it known
 *
 * The array: the columns of bytes, [0, 256), and of pairs by their first byte, [256, 512); the columns of the final newline
 * and of the edge of the text; the state at the start of a text; the first state that says nothing of a match; and the
 * tables, in which t[column of a byte + state] and t[column of the first of two + column of the second + state] are the
 * next state. State 0 is dead, 1 leaves the text to PCRE2, further ones say that there is a match: these lead to
 * themselves. */
#include "ir/ir_internal.h"
#include "regex/regex_tables.h"
#include <string.h>

enum { SECOND, FIRST = 256, FINAL_NEWLINE = 512, EDGE, START, UNMATCHED, COLUMNS };

static void fill_columns(const RegexAutomaton *a, int64_t *t, int pairs) {
  for (int byte = 0; byte < 256; byte++) {
    t[SECOND + byte] = COLUMNS + a->column[byte];
    t[FIRST + byte] = pairs - COLUMNS + a->column[byte] * a->nclasses;
  }
  t[FINAL_NEWLINE] = COLUMNS + a->final_newline;
  t[EDGE] = COLUMNS + a->edge;
  t[START] = a->start[SIDE_EDGE];
  t[UNMATCHED] = a->matched;
}

static int next_of(const RegexAutomaton *a, int class, int state) {
  return state < a->matched ? state : a->next[class * a->nstates + state];
}

/* Fills the table of an automaton; how many numbers it has. 0: too many. */
static int fill_table(const RegexAutomaton *a, int64_t *t) {
  int pairs = COLUMNS + a->nclasses * a->nstates, n = pairs + a->nclasses * a->nclasses * a->nstates;
  if (n > LIMIT_REGEX_TABLE) return 0;
  fill_columns(a, t, pairs);
  int64_t *single = t + COLUMNS, *both = t + pairs;
  for (int first = 0; first < a->nclasses; first++) {
    for (int state = 0; state < a->nstates; state++) *single++ = next_of(a, first, state);
    for (int second = 0; second < a->nclasses; second++)
      for (int state = 0; state < a->nstates; state++) *both++ = next_of(a, second, next_of(a, first, state));
  }
  return n;
}

/* What is known of a pattern: its table's numbers, 0 where it has none. `t` has room for the largest one. */
static int table_of(World *w, Sym pattern, int64_t *t) {
  size_t length = sym_len(pattern);
  RegexVerdict why;
  if (length > LIMIT_REGEX_NODES || !regex_accepts(pattern, length)) return 0;
  RegexTables *tables = regex_tables(w->arena->heap, pattern, length, &why);
  if (why == REGEX_NO_MEMORY) heap_out_of_memory(w->arena->heap);
  if (!tables) return 0;
  int n = fill_table(&tables->forward, t);
  regex_tables_free(w->arena->heap, tables);
  return n;
}

static Node *answer(World *w, IrType *type, const int64_t *t, int n) {
  int64_t *dims = NEW_ARRAY(w->arena, int64_t, 1), *slots = NEW_ARRAY(w->arena, int64_t, n + 1);
  dims[0] = n;
  if (n) memcpy(slots, t, sizeof *t * (size_t)n);
  Node *table = ir_data_of(w, type->args[1], (ArrayData){.dims = dims, .slots = slots, .nslots = n}, NULL, 0);
  Node *parts[] = {ir_bool(w, n > 0), table};
  return ir_tuple(w, type, parts);
}

Node *ir_known_tables(World *w, IrType *type, const Node *pattern) {
  Compilation *c = compilation(w);
  if (pattern->op != OP_STRING) return c->inline_rules ? answer(w, type, NULL, 0) : NULL;
  Node *known = map_get(&c->patterns, pattern->attr.text);
  if (known) return known;
  int64_t *t = NEW_ARRAY(w->temp, int64_t, LIMIT_REGEX_TABLE);
  known = answer(w, type, t, table_of(w, pattern->attr.text, t));
  map_put(&c->patterns, pattern->attr.text, known);
  return known;
}
