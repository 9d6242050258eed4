/* SPDX-License-Identifier: MIT */
/* Automata of random patterns against PCRE2 on random texts: whether there is a match, its start and its end; and their
 * arrays for loops of the IR.
 *
 * usage: test_regex [N [SEED]]
 * N pairs of a pattern and a text (default 60,000). Printed are the shares of patterns without an automaton and of
 * texts that are left to PCRE2, and how many states the automata have. */
#include "check.h"
#include "regex/regex_tables.h"
#include "support/limits.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 8, MOST_TEXT = 40, MOST_PATTERN = 400 };

/* ---- Random patterns and texts ----------------------------------------------------------------------------------- */
static uint64_t random_state;
static unsigned below(unsigned n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)((random_state * 0x2545f4914f6cdd1du >> 33) % n);
}

typedef struct Text {
  char bytes[MOST_PATTERN];
  size_t n;
} Text;

static void add(Text *t, const char *s) {
  size_t n = strlen(s);
  if (t->n + n + 1 >= sizeof t->bytes) return;
  memcpy(t->bytes + t->n, s, n);
  t->n += n;
}

#define ONE_OF(list) list[below(sizeof list / sizeof *list)]
static const char *const letters[] = {"a", "b", "a", "b", "c", "k", "S", "_", " ", "1", "\n", "é", "ſ", "ab", "ba"};

static void pattern(Text *t, int depth);

static void atom(Text *t, int depth) {
  static const char *const classes[] = {".",
                                        "[ab]",
                                        "[^a]",
                                        "[a-c_]",
                                        "\\d",
                                        "\\w",
                                        "\\s",
                                        "\\W",
                                        "\\S",
                                        "\\D",
                                        "[^b\\n]",
                                        "[\\w-]",
                                        "[^\\d]",
                                        "[[:alpha:]]",
                                        "[[:^space:]b]",
                                        "[]a]",
                                        "[a-]",
                                        "[^\\s\\w]",
                                        "[\\x41-\\x{43}]",
                                        "\\N",
                                        "[[:punct:]]"};
  static const char *const asserted[] = {"^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "$", "^"};
  static const char *const escaped[] = {"\\.", "\\n", "\\x61", "\\x{e9}", "\\t", "\\\\", "\\-", "\\e"};
  static const char *const groups[] = {"(", "(?:", "(?:", "(?i:", "(?s:", "(?<n>", "(?-i:"};
  static const char *const strange[] = {"\\1",    "(?=a)", "(?!b)", "(?<=a)", "\\p{L}", "\\R", "\\K",
                                        "(?>a*)", "\\X",   "(?i)",  "(?s)",   "[é-ü]",  "\\h"};
  unsigned which = below(40);
  if (which < 16 || depth <= 0) add(t, ONE_OF(letters));
  else if (which < 25) add(t, ONE_OF(classes));
  else if (which < 28) add(t, ONE_OF(asserted));
  else if (which < 30) add(t, ONE_OF(escaped));
  else if (which < 39 || below(4)) {
    add(t, ONE_OF(groups));
    pattern(t, depth - 1);
    add(t, ")");
  } else add(t, ONE_OF(strange));
}

static void pattern(Text *t, int depth) {
  static const char *const repeats[] = {"*",   "+",     "?",      "*?",   "+?",    "??",
                                        "{2}", "{1,3}", "{0,2}?", "{2,}", "{0,}?", "{3}?"};
  unsigned pieces = below(4) + (depth > 1);
  for (unsigned i = 0; i < pieces; i++) {
    atom(t, depth);
    if (!below(3)) add(t, ONE_OF(repeats));
    if (!below(6)) add(t, "|");
  }
}

static void text(Text *t) {
  unsigned n = below(4) ? below(8) : below(MOST_TEXT);
  t->n = 0;
  bool ascii = below(2);
  for (unsigned i = 0; i < n; i++) {
    const char *s = ONE_OF(letters);
    if (ascii && s[0] & 0x80) s = "b";
    add(t, s);
    if (!below(40)) t->bytes[t->n++] = 0;
  }
  if (!below(4)) add(t, "\n");
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */
typedef struct Figures {
  long patterns, regular, known, small, states, most, texts, searched, bailed, found, different;
} Figures;

static void show(const char *what, const Text *t) {
  printf("%s \"", what);
  for (size_t i = 0; i < t->n; i++) printf(t->bytes[i] < 32 && t->bytes[i] >= 0 ? "\\x%02x" : "%c", t->bytes[i]);
  printf("\"\n");
}

static size_t character_start(const Text *t, size_t at) {
  while (at < t->n && ((unsigned char)t->bytes[at] & 0xc0) == 0x80) at++;
  return at;
}

static RegexResult whole_run(const RegexTables *t, RegexRun *r, bool any) {
  RegexResult result;
  size_t bytes = 1 + below(50);
  while ((result = regex_run(t, r, bytes, any)) == REGEX_UNDER_WAY) continue;
  return result;
}

/* As the loop of stdlib/Regex.atl does. */
static RegexResult search(const int64_t *t, const Text *text) {
  const unsigned char *s = (const unsigned char *)text->bytes;
  size_t size = text->n, n = size - (size && s[size - 1] == '\n'), i = 1;
  int64_t state = t[SEARCH_START];
  for (; i < n && state >= t[SEARCH_UNMATCHED]; i += 2)
    state = t[t[SEARCH_FIRST + s[i - 1]] + t[SEARCH_SECOND + s[i]] + state];
  if (i == n) state = t[t[SEARCH_SECOND + s[n - 1]] + state];
  if (n < size) state = t[t[SEARCH_FINAL_NEWLINE] + state];
  state = t[t[SEARCH_EDGE] + state];
  return state == REGEX_BAIL                                   ? REGEX_BAILED
         : state >= REGEX_FIRST && state < t[SEARCH_UNMATCHED] ? REGEX_FOUND
                                                               : REGEX_NONE;
}

static bool tells_match(const int64_t *t, int64_t state) { return state >= REGEX_FIRST && state < t[FIND_UNMATCHED]; }

typedef struct Found {
  RegexResult result;
  size_t start, end;
} Found;

/* Backwards from the end that is found, down to where a match can begin. */
static Found find_start(const int64_t *t, const Text *text, size_t n, size_t end, size_t begun) {
  const unsigned char *s = (const unsigned char *)text->bytes;
  int64_t state = t[end == text->n ? FIND_BEHIND_EDGE : end == n ? FIND_BEHIND_FINAL : FIND_BEHIND + s[end]];
  Found f = {REGEX_FOUND, end, end};
  for (size_t i = end + 1; i-- > begun && state >= REGEX_FIRST;) {
    state = t[t[i == 0 ? FIND_EDGE : i > n ? FIND_FINAL_NEWLINE : FIND_BYTE + s[i - 1]] + state];
    if (tells_match(t, state)) f.start = i;
  }
  if (state == REGEX_BAIL) f.result = REGEX_BAILED;
  return f;
}

typedef struct Arrays {
  bool starts_known;
  int64_t search[LIMIT_REGEX_TABLE], forward[LIMIT_REGEX_TABLE], backward[LIMIT_REGEX_TABLE];
} Arrays;

/* As the loops of stdlib/Regex.atl do. */
static Found find(const Arrays *arrays, const Text *text) {
  const int64_t *forward = arrays->forward;
  const unsigned char *s = (const unsigned char *)text->bytes;
  size_t size = text->n, n = size - (size && s[size - 1] == '\n'), end = SIZE_MAX, begun = 0;
  int64_t state = forward[FIND_BEHIND_EDGE];
  for (size_t i = 0; i < n && state >= REGEX_FIRST; i++) {
    state = forward[forward[FIND_BYTE + s[i]] + state];
    if (tells_match(forward, state)) end = i;
    if (state == forward[FIND_IDLE] && end == SIZE_MAX) begun = i + 1;
  }
  if (n < size) state = forward[forward[FIND_FINAL_NEWLINE] + state];
  if (n < size && tells_match(forward, state)) end = n;
  if (n < size && state == forward[FIND_IDLE] && end == SIZE_MAX) begun = size;
  state = forward[forward[FIND_EDGE] + state];
  if (tells_match(forward, state)) end = size;
  if (state == REGEX_BAIL) return (Found){.result = REGEX_BAILED};
  if (end == SIZE_MAX) return (Found){.result = REGEX_NONE};
  if (arrays->starts_known) return (Found){REGEX_FOUND, begun, end};
  return find_start(arrays->backward, text, n, end, begun);
}

static bool make_arrays(const RegexTables *tables, Arrays *a) {
  a->starts_known = tables->forward.starts_known;
  return regex_search_table(tables, a->search) && regex_find_table(&tables->forward, a->forward) &&
         (a->starts_known || regex_find_table(&tables->backward, a->backward));
}

/* All matches, one after the other; after an empty one the search goes on a character later. False: PCRE2 gave up. */
static bool all_by_pcre2(const pcre2_code *code, pcre2_match_data *data, const Text *t, RegexSpans *all) {
  const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
  int found = 0;
  for (size_t from = 0; from <= t->n;) {
    found = pcre2_match(code, (PCRE2_SPTR)t->bytes, t->n, from, 0, data, NULL);
    if (found < 0) break;
    all->all[all->n++] = (RegexSpan){(int64_t)at[0], (int64_t)at[1]};
    from = at[1] + (at[0] == at[1] ? regex_character(t->bytes, t->n, at[1]) : 0);
  }
  return found >= 0 || found == PCRE2_ERROR_NOMATCH;
}

/* Do the runs that find all matches find the same? Those that the automaton leaves to PCRE2 are taken as they are. */
static bool all_alike(const pcre2_code *code, pcre2_match_data *data, const RegexTables *tables, const Text *t) {
  RegexSpans want = {.n = 0}, got = {.n = 0, .ends_at_empty = below(2)};
  if (!all_by_pcre2(code, data, t, &want)) return true;
  RegexRun run = regex_begin(tables, t->bytes, t->n, 0);
  for (RegexResult result = REGEX_UNDER_WAY; result != REGEX_NONE;) {
    size_t next = SIZE_MAX;
    result = regex_run_all(tables, &run, below(50), &got);
    if (result == REGEX_FOUND) next = run.end + regex_character(t->bytes, t->n, run.end);
    if (result == REGEX_BAILED) {
      if (got.n == want.n) break;
      RegexSpan left = got.all[got.n] = want.all[got.n];
      got.n++;
      next = (size_t)left.end;
      if (left.start == left.end) next += regex_character(t->bytes, t->n, next);
    }
    if (next != SIZE_MAX && next > t->n) break;
    if (next != SIZE_MAX) run = regex_begin(tables, t->bytes, t->n, next);
  }
  return got.n == want.n && !memcmp(got.all, want.all, got.n * sizeof *got.all);
}

static void compare(const pcre2_code *code, pcre2_match_data *data, const RegexTables *tables, const Arrays *arrays,
                    const Text *p, const Text *t, Figures *f) {
  size_t from = below(3) ? 0 : character_start(t, below((unsigned)t->n + 1));
  int n = pcre2_match(code, (PCRE2_SPTR)t->bytes, t->n, from, 0, data, NULL);
  if (n < 0 && n != PCRE2_ERROR_NOMATCH) return;
  const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
  RegexRun run = regex_begin(tables, t->bytes, t->n, from), test = run;
  RegexResult found = whole_run(tables, &run, false), any = whole_run(tables, &test, true);
  f->texts++;
  f->bailed += found == REGEX_BAILED;
  f->found += n >= 0;
  bool same = (found == REGEX_FOUND) == (n >= 0) && (n < 0 || (run.start == at[0] && run.end == at[1]));
  RegexResult quick = from ? any : regex_test(tables, t->bytes, t->n);
  bool tested = any == REGEX_BAILED || ((any == REGEX_FOUND) == (n >= 0) && any == quick);
  if (arrays && from == 0) {
    RegexResult searched = search(arrays->search, t);
    Found where = find(arrays, t);
    bool right =
        n >= 0 ? where.result == REGEX_FOUND && where.start == at[0] && where.end == at[1] : where.result == REGEX_NONE;
    tested &= searched == REGEX_BAILED || (searched == REGEX_FOUND) == (n >= 0);
    tested &= where.result == REGEX_BAILED || right;
    f->searched += searched != REGEX_BAILED && where.result != REGEX_BAILED;
  }
  PCRE2_SIZE start = at[0], end = at[1];
  bool all = all_alike(code, data, tables, t);
  if ((found == REGEX_BAILED || same) && tested && all) return;
  if (++f->different > 10) return;
  show("pattern", p);
  show("text", t);
  printf("from %zu: PCRE2 %d at %zu..%zu, automaton %d at %zu..%zu, any %d, all matches %s\n", from, n,
         n >= 0 ? start : 0, n >= 0 ? end : 0, (int)found, run.start, run.end, (int)any, all ? "alike" : "differ");
}

static void one_pattern(Heap *heap, Figures *f) {
  Text p = {.n = 0}, t;
  int error;
  PCRE2_SIZE offset;
  if (!below(8)) add(&p, below(2) ? "(?i)" : "(?s)");
  pattern(&p, 3);
  if (!below(4)) add(&p, "$");
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)p.bytes, p.n, PCRE2_UTF | PCRE2_UCP, &error, &offset, NULL);
  if (!code) return;
  RegexVerdict why;
  RegexTables *tables = regex_tables(heap, p.bytes, p.n, &why);
  pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
  f->patterns++;
  f->regular += tables != NULL;
  Arrays arrays;
  bool small = tables && make_arrays(tables, &arrays);
  f->small += small;
  for (int i = 0; tables && i < TEXTS; i++) {
    text(&t);
    compare(code, data, tables, small ? &arrays : NULL, &p, &t, f);
  }
  if (tables) {
    f->states += tables->forward.nstates;
    f->known += tables->forward.starts_known;
    if (tables->forward.nstates > f->most) f->most = tables->forward.nstates;
  }
  regex_tables_free(heap, tables);
  pcre2_match_data_free(data);
  pcre2_code_free(code);
}

/* Patterns of which the number of states is known. */
static void known_sizes(Heap *heap) {
  static const struct {
    const char *pattern;
    int states; /* 0: not regular; -1: too large */
  } known[] = {{"\\p{L}", 0},          {"(a)\\1", 0}, {"a++", 0}, {"(?=a)", 0}, {"[a-z]{500}[b-d]{600}", -1},
               {"(?:a{100}){100}", -1}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    RegexVerdict why;
    RegexTables *t = regex_tables(heap, known[i].pattern, strlen(known[i].pattern), &why);
    CHECK(!t && why == (known[i].states ? REGEX_TOO_LARGE : REGEX_NOT_REGULAR));
    regex_tables_free(heap, t);
  }
}

int main(int argc, char **argv) {
  Heap heap;
  heap_init(&heap);
  Figures f = {0};
  long n = argc > 1 ? atol(argv[1]) : 60000;
  random_state = 88172645463325252u + (argc > 2 ? (uint64_t)atol(argv[2]) : 0);
  while (f.texts < n) one_pattern(&heap, &f);
  known_sizes(&heap);
  printf("%ld patterns, %.1f %% without an automaton; states: %.1f on average, %ld at most\n", f.patterns,
         100.0 * (double)(f.patterns - f.regular) / (double)f.patterns, (double)f.states / (double)f.regular, f.most);
  printf("%ld texts, %.1f %% left to PCRE2, %.1f %% with a match: %ld differ\n", f.texts,
         100.0 * (double)f.bailed / (double)f.texts, 100.0 * (double)f.found / (double)f.texts, f.different);
  printf("%.1f %% of the automata know where matches start\n", 100.0 * (double)f.known / (double)f.regular);
  printf("%.1f %% of the automata have arrays, which decided %ld texts\n", 100.0 * (double)f.small / (double)f.regular,
         f.searched);
  CHECK(f.different == 0 && f.searched > n / 3);
  CHECK(heap_bytes(&heap) == 0);
  return check_result();
}
