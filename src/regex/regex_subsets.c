/* SPDX-License-Identifier: MIT */
/* The automaton of a program, by the construction of ordered subsets.
 *
 * A state is the list of the steps at which reading may go on, in the order of their priority, and what stands behind,
 * where an assertion asks for that. The next symbol is needed to tell whether an assertion holds and so whether a match
 * ends here: the state to which the symbol leads says so (`matched`). Forward, what has less priority than a match is
 * dropped; so the last match that is met is the one that backtracking finds first. Backward, all matches count, and the
 * last one met is the longest.
 *
 *   a|ab, forward:  {1 a, 3 a, skip}  --a-->  {MATCH, 4 b, skip} = {MATCH}  --any-->  {} matched
 *
 * Symbols are joined to classes that no set and no assertion tells apart; states of which the same follows are made one
 * (Moore's algorithm). */
#include "regex/regex_internal.h"
#include <string.h>

typedef struct Maker {
  RegexWork *w;
  const Program *p;
  Subsets *s;
  bool backward;
} Maker;

/* ---- Classes of symbols ------------------------------------------------------------------------------------------ */
static bool reads(const RegexWork *w, const Step *step, int symbol) {
  return symbol != EDGE && set_has(&w->sets[step->of], symbol == FINAL_NEWLINE ? '\n' : symbol);
}

/* Splits each class into those that are `in` and those that aren't. */
static void split_classes(Subsets *s, const bool *in) {
  int twin[NSYMBOLS], n = s->nclasses;
  bool first[NSYMBOLS], mixed[NSYMBOLS] = {0};
  for (int c = 0; c < n; c++) twin[c] = -1;
  bool met[NSYMBOLS] = {0};
  for (int i = 0; i < NSYMBOLS; i++) {
    int c = s->class_of[i];
    if (!met[c]) met[c] = true, first[c] = in[i];
    else mixed[c] |= first[c] != in[i];
  }
  for (int i = 0; i < NSYMBOLS; i++) {
    int c = s->class_of[i];
    if (!mixed[c] || in[i] == first[c]) continue;
    if (twin[c] < 0) twin[c] = s->nclasses++;
    s->class_of[i] = twin[c];
  }
}

static void find_classes(Maker *m) {
  Subsets *s = m->s;
  bool in[NSYMBOLS];
  memset(s->class_of, 0, sizeof s->class_of);
  s->nclasses = 1;
  for (int side = 0; side < NSIDES; side++) {
    bool edge = side == SIDE_EDGE || side == SIDE_FINAL;
    if (!edge && side != SIDE_HIGH && !m->p->has_boundaries) continue;
    for (int i = 0; i < NSYMBOLS; i++) in[i] = (int)regex_side_of(i) == side;
    split_classes(s, in);
  }
  for (int k = 0; k < m->w->nsets; k++) {
    for (int i = 0; i < NSYMBOLS; i++) in[i] = i < 256 && set_has(&m->w->sets[k], i);
    split_classes(s, in);
  }
  for (int i = 0; i < NSYMBOLS; i++) s->symbol_of[s->class_of[i]] = i;
}

/* ---- Assertions -------------------------------------------------------------------------------------------------- */
typedef enum Truth { NO, YES, UNKNOWN, BAIL } Truth;

static Truth boundary(RegexSide left, RegexSide right, bool wanted) {
  if (left == SIDE_HIGH || right == SIDE_HIGH) return BAIL;
  return ((left == SIDE_WORD) != (right == SIDE_WORD)) == wanted ? YES : NO;
}

/* Does the assertion hold between these sides? `next` may be NSIDES: the symbol isn't known. */
static Truth holds(const Maker *m, RegexAssertion what, RegexSide behind, RegexSide next) {
  RegexSide left = m->backward ? next : behind, right = m->backward ? behind : next;
  switch (what) {
  case AT_BEGIN: return left == NSIDES ? UNKNOWN : left == SIDE_EDGE ? YES : NO;
  case AT_LINE_END: return right == NSIDES ? UNKNOWN : right == SIDE_EDGE || right == SIDE_FINAL ? YES : NO;
  case AT_END: return right == NSIDES ? UNKNOWN : right == SIDE_EDGE ? YES : NO;
  case AT_BOUNDARY:
  case AT_NO_BOUNDARY: return next == NSIDES ? UNKNOWN : boundary(left, right, what == AT_BOUNDARY);
  }
  return NO;
}

/* ---- Lists of steps ---------------------------------------------------------------------------------------------- */
typedef struct List {
  uint16_t *items;
  int n, limit;
  bool matched, cut, bails;
} List;

/* Was the step met with these loops open? From now on it was. A loop is open where an iteration of it has begun that
 * has read nothing yet. */
static bool was_met(Subsets *s, int step, uint32_t open) {
  if (s->seen[step] != s->stamp) s->open[step] = 0;
  s->seen[step] = s->stamp;
  bool met = s->open[step] >> open & 1;
  s->open[step] |= (uint32_t)1 << open;
  return met;
}

/* A step is listed once: what comes after reading doesn't depend on open loops. */
static void list_step(Maker *m, List *l, int at) {
  uint32_t open = m->s->open[at];
  bool listed = (open & (open - 1)) != 0; /* it was met before, with other loops open */
  if (listed) return;
  if (l->n == l->limit) regex_hindered(m->w, REGEX_TOO_LARGE);
  else l->items[l->n++] = (uint16_t)at;
  if (m->p->steps[at].kind == STEP_MATCH) l->matched = true, l->cut = !m->backward;
}

static void follow(Maker *m, List *l, int at, uint32_t open, RegexSide behind, RegexSide next);

/* A loop step has two successors, body and exit. Follows the one of higher priority and returns the other one; *open
 * becomes the set of open loops there. If the loop is open, its iteration has read no byte: then the exit is the only
 * successor, and is returned. */
static int follow_loop(Maker *m, List *l, const Step *step, uint32_t *open, RegexSide behind, RegexSide next) {
  uint32_t bit = (uint32_t)1 << (step->of >> 1) >> 1, inside = *open | bit, outside = *open & ~bit;
  bool lazy = step->of & LAZY, left = *open & bit;
  if (!left) follow(m, l, step->x, lazy ? outside : inside, behind, next);
  *open = lazy && !left ? inside : outside;
  return left && lazy ? step->x : step->y;
}

/* Step `at` and those that follow it without reading, in order. What depends on an unknown symbol is kept. */
static void follow(Maker *m, List *l, int at, uint32_t open, RegexSide behind, RegexSide next) {
  while (!l->cut && !was_met(m->s, at, open)) {
    const Step *step = &m->p->steps[at];
    Truth truth = step->kind == STEP_ASSERT ? holds(m, (RegexAssertion)step->of, behind, next) : NO;
    if (step->kind == STEP_SPLIT) {
      follow(m, l, step->x, open, behind, next);
      at = step->y;
    } else if (step->kind == STEP_LOOP) {
      at = follow_loop(m, l, step, &open, behind, next);
    } else if (truth == YES || truth == BAIL) {
      l->bails |= truth == BAIL;
      at = step->x;
    } else if (step->kind != STEP_ASSERT || truth == UNKNOWN) {
      list_step(m, l, at);
      return;
    } else return;
  }
}

static void sort(uint16_t *items, int n) {
  for (int i = 1; i < n; i++) {
    uint16_t x = items[i];
    int k = i;
    for (; k > 0 && items[k - 1] > x; k--) items[k] = items[k - 1];
    items[k] = x;
  }
}

/* ---- States ------------------------------------------------------------------------------------------------------ */
static bool same_state(const Subsets *s, const RawState *a, const RawState *b) {
  return a->n == b->n && a->side == b->side && a->matched == b->matched &&
         !memcmp(s->items + a->first, s->items + b->first, sizeof *s->items * (size_t)a->n);
}

static uint32_t hash_of(const Subsets *s, const RawState *a) {
  uint32_t h = 2u * a->side + a->matched;
  for (int i = 0; i < a->n; i++) h = (h ^ s->items[a->first + i]) * 0x9e3779b1u + (h >> 15);
  return h ^ h >> 16;
}

static bool asks(const Maker *m, const RawState *a) {
  for (int i = 0; i < a->n; i++)
    if (m->p->steps[m->s->items[a->first + i]].kind == STEP_ASSERT) return true;
  return false;
}

/* The number of the state of the items behind the last state's, which is new or was met before. */
static int intern(Maker *m, int n, RegexSide behind, bool matched) {
  Subsets *s = m->s;
  RawState a = {s->nitems, n, (uint8_t)behind, matched, false};
  if (m->backward) sort(s->items + a.first, n);
  if (!asks(m, &a)) a.side = SIDE_OTHER;
  uint32_t mask = 4 * LIMIT_REGEX_RAW - 1, h = hash_of(s, &a) & mask;
  for (; s->table[h]; h = (h + 1) & mask)
    if (same_state(s, &s->states[s->table[h] - 1], &a)) return s->table[h] - 1;
  if (s->nstates == LIMIT_REGEX_RAW) return regex_hindered(m->w, REGEX_TOO_LARGE);
  s->states[s->nstates] = a;
  s->table[h] = (int16_t)(s->nstates + 1);
  s->nitems += n;
  return s->nstates++;
}

static List list_behind(Maker *m) {
  m->s->stamp++;
  return (List){m->s->items + m->s->nitems, 0, LIMIT_REGEX_ITEMS - m->s->nitems, false, false, false};
}

static void start_states(Maker *m) {
  for (int side = 0; side < NSIDES; side++) {
    List l = list_behind(m);
    follow(m, &l, m->p->start, 0, (RegexSide)side, NSIDES);
    m->s->start[side] = intern(m, l.n, (RegexSide)side, false);
  }
}

/* The state to which a symbol leads from state `from`. */
static int step_to(Maker *m, int from, int symbol) {
  Subsets *s = m->s;
  RawState a = s->states[from];
  RegexSide next = regex_side_of(symbol);
  List now = {s->opened, 0, LIMIT_REGEX_PROGRAM, false, false, false};
  s->stamp++;
  for (int i = 0; i < a.n; i++) follow(m, &now, s->items[a.first + i], 0, (RegexSide)a.side, next);
  if (now.bails) return REGEX_BAIL;
  List then = list_behind(m);
  bool begun = false;
  for (int i = 0; i < now.n; i++) {
    const Step *step = &m->p->steps[now.items[i]];
    if (step->kind != STEP_SET) continue;
    if (next == SIDE_HIGH && m->w->sets[step->of].bails) return REGEX_BAIL;
    if (!reads(m->w, step, symbol)) continue;
    begun |= now.items[i] != m->p->skip;
    follow(m, &then, step->x, 0, next, NSIDES);
  }
  int to = intern(m, then.n, next, now.matched);
  s->states[to].begun |= begun;
  return to;
}

static void all_states(Maker *m) {
  Subsets *s = m->s;
  s->nstates = s->nitems = 0;
  memset(s->table, 0, sizeof s->table);
  intern(m, 0, SIDE_OTHER, false);
  s->states[s->nstates++] = (RawState){0}; /* REGEX_BAIL, which no list equals */
  start_states(m);
  for (int i = 0; i < s->nstates && m->w->verdict == REGEX_MADE; i++) {
    if ((i + 1) * s->nclasses > LIMIT_REGEX_ENTRIES) regex_hindered(m->w, REGEX_TOO_LARGE);
    for (int c = 0; c < s->nclasses && m->w->verdict == REGEX_MADE; c++)
      s->next[i * s->nclasses + c] = (uint16_t)(i == REGEX_BAIL ? i : step_to(m, i, s->symbol_of[c]));
  }
}

/* ---- Minimisation ------------------------------------------------------------------------------------------------ */
/* Blocks of states that nothing tells apart so far, in `block`; their number. */
typedef struct Blocks {
  uint16_t block[LIMIT_REGEX_RAW], refined[LIMIT_REGEX_RAW], leader[LIMIT_REGEX_RAW];
  int n;
} Blocks;

static bool leads_alike(const Subsets *s, const Blocks *b, int x, int y) {
  if (b->block[x] != b->block[y]) return false;
  for (int c = 0; c < s->nclasses; c++)
    if (b->block[s->next[x * s->nclasses + c]] != b->block[s->next[y * s->nclasses + c]]) return false;
  return true;
}

/* A table of the blocks' leaders by what they lead to; *refined gets more blocks than before, or as many. */
static int refine(Subsets *s, Blocks *b) {
  int n = 0;
  memset(s->table, 0, sizeof s->table);
  uint32_t mask = 4 * LIMIT_REGEX_RAW - 1;
  for (int x = 0; x < s->nstates; x++) {
    uint32_t h = b->block[x];
    for (int c = 0; c < s->nclasses; c++) h = (h ^ b->block[s->next[x * s->nclasses + c]]) * 0x9e3779b1u + (h >> 15);
    for (h &= mask; s->table[h] && !leads_alike(s, b, b->leader[s->table[h] - 1], x);) h = (h + 1) & mask;
    if (!s->table[h]) {
      b->leader[n] = (uint16_t)x;
      s->table[h] = (int16_t)++n;
    }
    b->refined[x] = (uint16_t)(s->table[h] - 1);
  }
  memcpy(b->block, b->refined, sizeof b->block);
  return n;
}

/* Dead and bailing states keep their numbers; those that tell of a match come next, then the idle state. */
static void renumber(const Subsets *s, const Blocks *b, RegexAutomaton *out, uint8_t *number) {
  bool numbered[LIMIT_REGEX_RAW] = {0};
  int at = REGEX_FIRST, idle = b->block[s->start[SIDE_OTHER]];
  number[b->block[REGEX_DEAD]] = REGEX_DEAD;
  number[b->block[REGEX_BAIL]] = REGEX_BAIL;
  numbered[b->block[REGEX_DEAD]] = numbered[b->block[REGEX_BAIL]] = true;
  for (int matched = 1; matched >= 0; matched--) {
    for (int x = 0; x < s->nstates; x++) {
      int block = b->block[x];
      if (s->states[x].matched != matched || numbered[block]) continue;
      numbered[block] = true;
      number[block] = (uint8_t)at++;
    }
    if (!matched) continue;
    out->matched = at;
    if (numbered[idle]) continue;
    numbered[idle] = true;
    number[idle] = (uint8_t)at++;
  }
  out->idle = number[idle];
}

/* Is no match under way in any of the states that are idle? */
static bool is_fresh(const Subsets *s, const Blocks *b) {
  for (int x = 0; x < s->nstates; x++)
    if (b->block[x] == b->block[s->start[SIDE_OTHER]] && s->states[x].begun) return false;
  return true;
}

/* ---- The automaton ----------------------------------------------------------------------------------------------- */
static void fill_idle(RegexAutomaton *a) {
  int leaving = 0;
  for (int i = 0; i < 256; i++) {
    a->loops[i] = a->next[a->column[i] + a->idle] == a->idle;
    if (a->loops[i]) continue;
    if (leaving < REGEX_RARE) a->rare[leaving] = (uint8_t)i;
    leaving++;
  }
  a->nrare = leaving <= REGEX_RARE ? leaving : 0;
  for (int k = a->nrare; k && k < REGEX_RARE; k++) a->rare[k] = a->rare[0];
}

static void fill(const Subsets *s, const Blocks *b, const uint8_t *number, RegexAutomaton *out) {
  int n = out->nstates;
  for (int x = 0; x < s->nstates; x++)
    for (int c = 0; c < s->nclasses; c++)
      out->next[c * n + number[b->block[x]]] = number[b->block[s->next[x * s->nclasses + c]]];
  for (int side = 0; side < NSIDES; side++) out->start[side] = number[b->block[s->start[side]]];
  for (int i = 0; i < 256; i++) out->column[i] = (uint16_t)(s->class_of[i] * n);
  out->final_newline = (uint16_t)(s->class_of[FINAL_NEWLINE] * n);
  out->edge = (uint16_t)(s->class_of[EDGE] * n);
  out->fresh = is_fresh(s, b);
  fill_idle(out);
}

/* Where two bytes lead; REGEX_DEAD where they have to be read one by one: the automaton ends, or a match would be lost
 * from sight, or the place where one starts. */
static uint8_t after_two(const RegexAutomaton *a, int first, int second, int state) {
  int middle = a->next[first * a->nstates + state], end = a->next[second * a->nstates + middle];
  bool lost = middle < REGEX_FIRST || end < REGEX_FIRST || (middle < a->matched && end >= a->matched);
  bool starts = a->starts_known && middle == a->idle && end != a->idle;
  return (uint8_t)(lost || starts ? REGEX_DEAD : end);
}

static size_t size_of_pairs(const RegexAutomaton *a) {
  return (size_t)a->nclasses * (size_t)a->nclasses * (size_t)a->nstates;
}

/* Pairs only make it faster: where there is no memory for them there are none. */
static void fill_pairs(Heap *heap, RegexAutomaton *a) {
  size_t size = size_of_pairs(a);
  a->pairs = size <= LIMIT_REGEX_PAIRS ? heap_realloc(heap, NULL, 0, size) : NULL;
  if (!a->pairs) return;
  for (int i = 0; i < 256; i++) a->pair_column[i] = (uint16_t)(a->column[i] * a->nclasses);
  uint8_t *out = a->pairs;
  for (int first = 0; first < a->nclasses; first++)
    for (int second = 0; second < a->nclasses; second++)
      for (int state = 0; state < a->nstates; state++) *out++ = after_two(a, first, second, state);
}

/* Where no match is under way, that is told apart: see RegexAutomaton.fresh. */
static uint16_t first_block(const Subsets *s, int x) {
  enum { PLAIN, MATCHED, BAILING, FRESH };
  if (x == REGEX_DEAD || x == REGEX_BAIL) return x == REGEX_BAIL ? BAILING : PLAIN;
  return s->states[x].matched ? MATCHED : s->states[x].begun ? PLAIN : FRESH;
}

static void minimise(RegexWork *w, RegexAutomaton *out) {
  Subsets *s = &w->subsets;
  Blocks b;
  uint8_t number[LIMIT_REGEX_RAW];
  for (int x = 0; x < s->nstates; x++) b.block[x] = first_block(s, x);
  b.n = 0;
  for (int n = refine(s, &b); n > b.n; n = refine(s, &b)) b.n = n;
  *out = (RegexAutomaton){.nstates = b.n, .nclasses = s->nclasses};
  if (b.n > LIMIT_REGEX_STATES || b.n * s->nclasses > UINT16_MAX) {
    regex_hindered(w, REGEX_TOO_LARGE);
    return;
  }
  out->next = heap_realloc(w->heap, NULL, 0, (size_t)(b.n * s->nclasses));
  if (!out->next) {
    regex_hindered(w, REGEX_NO_MEMORY);
    return;
  }
  renumber(s, &b, out, number);
  fill(s, &b, number, out);
}

static void determinise(RegexWork *w, bool backward, RegexAutomaton *out) {
  if (w->verdict != REGEX_MADE) return;
  Maker m = {w, &w->program, &w->subsets, backward};
  find_classes(&m);
  all_states(&m);
  if (w->verdict == REGEX_MADE) minimise(w, out);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void free_automaton(Heap *heap, RegexAutomaton *a) {
  if (a->pairs) heap_realloc(heap, a->pairs, size_of_pairs(a), 0);
  if (a->next) heap_realloc(heap, a->next, (size_t)(a->nstates * a->nclasses), 0);
}

void regex_tables_free(Heap *heap, RegexTables *t) {
  if (!t) return;
  free_automaton(heap, &t->forward);
  free_automaton(heap, &t->backward);
  heap_realloc(heap, t, sizeof *t, 0);
}

/* Asks that of the automaton without the step that begins a match at each place. It may be too large, too: then starts
 * aren't known. */
static bool starts_known(RegexWork *w, const RegexAutomaton *search) {
  RegexAutomaton anchored = {0};
  if (w->verdict != REGEX_MADE) return false;
  w->program.start = w->program.steps[w->program.start].x;
  determinise(w, false, &anchored);
  bool known = w->verdict == REGEX_MADE && regex_starts_known(search, &anchored);
  if (w->verdict == REGEX_TOO_LARGE) w->verdict = REGEX_MADE;
  free_automaton(w->heap, &anchored);
  return known;
}

static void make_tables(RegexWork *w, const char *pattern, size_t length, RegexTables *t) {
  regex_parse(w, pattern, length);
  regex_compile(w, false);
  determinise(w, false, &t->forward);
  t->forward.starts_known = starts_known(w, &t->forward);
  if (!t->forward.starts_known) {
    regex_compile(w, true);
    determinise(w, true, &t->backward);
  }
  if (w->verdict == REGEX_MADE) fill_pairs(w->heap, &t->forward);
}

RegexTables *regex_tables(Heap *heap, const char *pattern, size_t length, RegexVerdict *why) {
  RegexWork *w = heap_realloc(heap, NULL, 0, sizeof *w);
  RegexTables *t = heap_realloc(heap, NULL, 0, sizeof *t);
  *why = REGEX_NO_MEMORY;
  if (w && t) {
    memset(t, 0, sizeof *t);
    memset(w, 0, sizeof *w);
    w->heap = heap;
    make_tables(w, pattern, length, t);
    *why = w->verdict;
  }
  heap_realloc(heap, w, sizeof *w, 0);
  if (*why == REGEX_MADE) return t;
  if (w && t) regex_tables_free(heap, t);
  else heap_realloc(heap, t, sizeof *t, 0);
  return NULL;
}
