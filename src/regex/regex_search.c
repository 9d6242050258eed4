/* SPDX-License-Identifier: MIT */
/* Automata as arrays of numbers, for loops of the IR (stdlib/Regex.atl). */
#include "regex/regex_internal.h"

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

int regex_find_table(const RegexAutomaton *a, int64_t *t) {
  int n = FIND_COLUMNS + a->nclasses * a->nstates;
  if (n > LIMIT_REGEX_TABLE) return 0;
  for (int byte = 0; byte < 256; byte++) {
    t[FIND_BYTE + byte] = FIND_COLUMNS + a->column[byte];
    t[FIND_BEHIND + byte] = a->start[regex_side_of(byte)];
  }
  t[FIND_FINAL_NEWLINE] = FIND_COLUMNS + a->final_newline;
  t[FIND_EDGE] = FIND_COLUMNS + a->edge;
  t[FIND_BEHIND_EDGE] = a->start[SIDE_EDGE];
  t[FIND_BEHIND_FINAL] = a->start[SIDE_FINAL];
  t[FIND_UNMATCHED] = a->matched;
  t[FIND_IDLE] = a->fresh ? a->idle : -1;
  for (int k = 0; k < n - FIND_COLUMNS; k++) {
    int state = k % a->nstates;
    t[FIND_COLUMNS + k] = state < REGEX_FIRST ? state : a->next[k];
  }
  return n;
}
