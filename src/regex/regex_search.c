/* SPDX-License-Identifier: MIT */
/* The forward automaton as one array of numbers, for loops that ask only whether there is a match. */
#include "regex/regex_tables.h"
#include "support/limits.h"

static void fill_columns(const RegexAutomaton *a, int64_t *t, int pairs) {
  for (int byte = 0; byte < 256; byte++) {
    t[SEARCH_SECOND + byte] = SEARCH_COLUMNS + a->column[byte];
    t[SEARCH_FIRST + byte] = pairs - SEARCH_COLUMNS + a->column[byte] * a->nclasses;
  }
  t[SEARCH_FINAL_NEWLINE] = SEARCH_COLUMNS + a->final_newline;
  t[SEARCH_EDGE] = SEARCH_COLUMNS + a->edge;
  t[SEARCH_START] = a->start[SIDE_EDGE];
  t[SEARCH_UNMATCHED] = a->matched;
}

static int next_of(const RegexAutomaton *a, int class, int state) {
  return state < a->matched ? state : a->next[class * a->nstates + state];
}

int regex_search_table(const RegexTables *tables, int64_t *t) {
  const RegexAutomaton *a = &tables->forward;
  int pairs = SEARCH_COLUMNS + a->nclasses * a->nstates, n = pairs + a->nclasses * a->nclasses * a->nstates;
  if (n > LIMIT_REGEX_TABLE) return 0;
  fill_columns(a, t, pairs);
  int64_t *single = t + SEARCH_COLUMNS, *both = t + pairs;
  for (int first = 0; first < a->nclasses; first++) {
    for (int state = 0; state < a->nstates; state++) *single++ = next_of(a, first, state);
    for (int second = 0; second < a->nclasses; second++)
      for (int state = 0; state < a->nstates; state++) *both++ = next_of(a, second, next_of(a, first, state));
  }
  return n;
}
