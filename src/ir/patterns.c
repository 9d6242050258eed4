/* SPDX-License-Identifier: MIT */
/* Automata of constant patterns as constant arrays, over which the library (stdlib/Regex.atl) has loops:
 *
 *   rt regex_tables "a+b"  →  tuple true (data …)      where the pattern has an automaton that is small enough
 *   rt regex_tables p      →  tuple false (data [])    of any other; of one that isn't constant, once derivatives are
 *                                                      taken: until then inlining may make it known
 * regex_tables.h says what is in the array. */
#include "ir/ir_internal.h"
#include "regex/regex_tables.h"
#include <string.h>

/* What is known of a pattern: its table's numbers, 0 where it has none. `t` has room for the largest one. */
static int table_of(World *w, Sym pattern, int64_t *t) {
  size_t length = sym_len(pattern);
  RegexVerdict why;
  if (length > LIMIT_REGEX_NODES || !regex_accepts(pattern, length)) return 0;
  RegexTables *tables = regex_tables(w->arena->heap, pattern, length, &why);
  if (why == REGEX_NO_MEMORY) heap_out_of_memory(w->arena->heap);
  if (!tables) return 0;
  int n = regex_search_table(tables, t);
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
