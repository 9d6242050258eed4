/* SPDX-License-Identifier: MIT */
/* Patterns whose matches start where the forward automaton left its idle state, so that none has to be read backward:
 * `[0-9]+`, `, *`, `[a-z]+@`, but not `ab`: in `aab` the automaton isn't idle between the two a.
 *
 * Two automata read the same symbols from such a place on: the one that searches, and one for matches that start at the
 * place itself. Pairs of their states are followed until the search is idle again or ends. If the second one tells of a
 * match whenever the first does for the first time, the leftmost match starts there: no match under way is older. */
#include "regex/regex_internal.h"
#include <string.h>

typedef struct Walk {
  const RegexAutomaton *search, *anchored;
  uint64_t seen[256 * 256 / 64];
  uint16_t pairs[LIMIT_REGEX_STARTS]; /* that were reached: 256 search + anchored */
  int n;
  bool failed;
} Walk;

static void add_pair(Walk *w, int search, int anchored) {
  unsigned pair = (unsigned)(256 * search + anchored);
  if (w->seen[pair >> 6] >> (pair & 63) & 1) return;
  w->seen[pair >> 6] |= (uint64_t)1 << (pair & 63);
  if (w->n == LIMIT_REGEX_STARTS) w->failed = true;
  else w->pairs[w->n++] = (uint16_t)pair;
}

static int step(const RegexAutomaton *a, int class, int state) { return a->next[class * a->nstates + state]; }
static bool tells_match(const RegexAutomaton *a, int state) { return state >= REGEX_FIRST && state < a->matched; }

static void follow_pair(Walk *w, int search, int anchored) {
  for (int c = 0; c < w->search->nclasses; c++) {
    int s = step(w->search, c, search), a = step(w->anchored, c, anchored);
    if (s < REGEX_FIRST || tells_match(w->anchored, a)) continue;
    w->failed |= tells_match(w->search, s);
    if (s != w->search->idle) add_pair(w, s, a);
  }
}

/* Can the search be idle behind bytes of a side? */
static bool idle_behind(const RegexAutomaton *a, int side) {
  for (int byte = 0; byte < 256; byte++) {
    if ((int)regex_side_of(byte) != side) continue;
    for (int state = REGEX_FIRST; state < a->nstates; state++)
      if (a->next[a->column[byte] + state] == a->idle) return true;
  }
  return false;
}

bool regex_starts_known(const RegexAutomaton *search, const RegexAutomaton *anchored) {
  Walk w = {.search = search, .anchored = anchored};
  if (!search->fresh || search->nclasses != anchored->nclasses) return false;
  for (int side = 0; side < NSIDES; side++) {
    add_pair(&w, search->start[side], anchored->start[side]);
    if (idle_behind(search, side)) add_pair(&w, search->idle, anchored->start[side]);
  }
  for (int i = 0; i < w.n && !w.failed; i++) follow_pair(&w, w.pairs[i] >> 8, w.pairs[i] & 255);
  return !w.failed;
}
