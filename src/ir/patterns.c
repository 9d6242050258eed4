/* SPDX-License-Identifier: MIT */
/* Automata of constant patterns as constant arrays, over which the library (stdlib/Regex.atl) has loops:
 *
 *   rt regex_tables "a+b"  →  tuple true (data …) (data …) (data …)
 *                             where the pattern has an automaton that is small enough
 *   rt regex_tables p      →  tuple false (data []) (data []) (data [])
 *                             of any other; of one that isn't constant, once derivatives are taken: until then
 *                             inlining may make it known
 *
 * The arrays say whether there is a match, where it ends and where it starts (regex_tables.h); the last one is empty
 * where the start needn't be looked for. */
#include "ir/ir_internal.h"
#include "regex/regex_tables.h"
#include <string.h>

typedef struct Numbers {
  int64_t *t;
  int n;
} Numbers;
enum { SEARCH, FORWARD, BACKWARD, NTABLES };

/* Fills the tables of a pattern, each of which has room for the largest one. Matches with groups aren't found by
 * tables. */
static void fill_tables(World *w, Sym pattern, Numbers *all) {
  size_t length = sym_len(pattern);
  int groups = length > LIMIT_REGEX_NODES ? -1 : regex_groups(pattern, length);
  RegexVerdict why;
  if (groups < 0) return;
  RegexTables *tables = regex_tables(w->arena->heap, pattern, length, &why);
  if (why == REGEX_NO_MEMORY) heap_out_of_memory(w->arena->heap);
  if (!tables) return;
  all[SEARCH].n = regex_search_table(tables, all[SEARCH].t);
  if (all[SEARCH].n && !groups) all[FORWARD].n = regex_find_table(&tables->forward, all[FORWARD].t);
  bool backward = all[FORWARD].n && !tables->forward.starts_known;
  if (backward) all[BACKWARD].n = regex_find_table(&tables->backward, all[BACKWARD].t);
  if (backward && !all[BACKWARD].n) all[FORWARD].n = 0;
  regex_tables_free(w->arena->heap, tables);
}

static Node *constant(World *w, IrType *type, const Numbers *x) {
  int64_t *dims = NEW_ARRAY(w->arena, int64_t, 1), *slots = NEW_ARRAY(w->arena, int64_t, x->n + 1);
  dims[0] = x->n;
  if (x->n) memcpy(slots, x->t, sizeof *slots * (size_t)x->n);
  return ir_data_of(w, type, (ArrayData){.dims = dims, .slots = slots, .nslots = x->n}, NULL, 0);
}

static Node *answer(World *w, IrType *type, const Numbers *all) {
  Node *parts[1 + NTABLES] = {ir_bool(w, all[SEARCH].n > 0)};
  for (int k = 0; k < NTABLES; k++) parts[1 + k] = constant(w, type->args[1 + k], &all[k]);
  return ir_tuple(w, type, parts);
}

Node *ir_known_tables(World *w, IrType *type, const Node *pattern) {
  Compilation *c = compilation(w);
  Numbers all[NTABLES] = {{0}};
  if (pattern->op != OP_STRING) return c->inline_rules ? answer(w, type, all) : NULL;
  Node *known = map_get(&c->patterns, pattern->attr.text);
  if (known) return known;
  for (int k = 0; k < NTABLES; k++) all[k].t = NEW_ARRAY(w->temp, int64_t, LIMIT_REGEX_TABLE);
  fill_tables(w, pattern->attr.text, all);
  known = answer(w, type, all);
  map_put(&c->patterns, pattern->attr.text, known);
  return known;
}
