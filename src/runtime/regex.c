/* SPDX-License-Identifier: MIT */
/* Regular expressions: automata (src/regex) and PCRE2 with its JIT, over UTF-8.
 *
 * Compiled patterns are kept in a list, most recently used first, of at most CACHE_MAX entries, each with room for the
 * data of a match: none starts while another one's data is needed. A match has limits on steps and memory, so that a
 * pattern that would take exponential time ends in an error. The library's memory comes from the VM's heap: each block
 * is preceded by its size.
 *
 * Making an automaton or machine code of a pattern takes longer than a short text does without. So a pattern is
 * interpreted until it has seen SHORT bytes, or takes more than FEW_STEPS for a match, which is begun again then:
 * whether a match exceeds the limits doesn't depend on what was matched before. Then the automaton finds the match, in
 * time linear in the text; what groups matched PCRE2 tells, from where the match starts. PCRE2 also finds what the
 * automaton leaves to it: matches of patterns that have none, texts in which it meets what it doesn't know, and those
 * that mayn't be empty.
 *
 * The limit on steps is one for each place where a match may start, of which a long text has many. So a text is
 * searched by windows of such places, few at first and more while that is fast, and interrupts are looked for in
 * between. Patterns that say something of the search itself (`\\G`, verbs as `(*COMMIT)`) see no windows: they call
 * back at each of their items, which is slower. */
#define _GNU_SOURCE           /* memmem, mempcpy */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex_tables.h"
#include "runtime/runtime_internal.h"
#include <pcre2.h>
#include <string.h>

_Static_assert(sizeof(PCRE2_SIZE) == sizeof(Slot) && PCRE2_UNSET == (PCRE2_SIZE)-1,
               "offsets are numbers of the program");
enum { CACHE_MAX = 64, PREFIX = 16, SHORT = 4096, FEW_STEPS = 10000, AT_ONCE = 1 << 18 };
/* Beside PCRE2's results: the automaton doesn't know; the match is begun again. */
enum { LEFT_TO_PCRE2 = -1000, AGAIN = -1001 };

typedef enum Engine { NOT_COMPILED, MACHINE_CODE, INTERPRETER } Engine;

typedef struct Pattern {
  struct Pattern *next;
  Obj *text;
  pcre2_code *code;
  pcre2_match_data *data;
  bool windows;
  bool demanding; /* it isn't only interpreted any more */
  bool tabulated; /* its tables were asked for */
  Engine engine;
  RegexTables *tables; /* NULL: there are none */
  size_t seen;         /* bytes of texts, so far */
} Pattern;

typedef struct Regexes {
  Pattern *first;
  int count;
  pcre2_general_context *general;
  pcre2_compile_context *compile;
  pcre2_match_context *match;
  pcre2_jit_stack *stack;
} Regexes;

static void *take(PCRE2_SIZE n, void *heap) {
  char *p = heap_realloc(heap, NULL, 0, n + PREFIX);
  if (!p) return NULL;
  memcpy(p, &n, sizeof n);
  return p + PREFIX;
}

static void give_back(void *p, void *heap) {
  if (!p) return;
  PCRE2_SIZE n;
  memcpy(&n, (char *)p - PREFIX, sizeof n);
  heap_realloc(heap, (char *)p - PREFIX, n + PREFIX, 0);
}

static void free_pattern(Rt *rt, Pattern *p) {
  regex_tables_free(rt->heap, p->tables);
  pcre2_match_data_free(p->data);
  pcre2_code_free(p->code);
  rt->live++; /* it was taken out of the count when it was cached */
  rt_release(rt, p->text);
  heap_realloc(rt->heap, p, sizeof *p, 0);
}

void rt_regexes_free(Rt *rt) {
  Regexes *r = rt->regexes;
  if (!r) return;
  for (Pattern *p = r->first, *next; p; p = next) {
    next = p->next;
    free_pattern(rt, p);
  }
  pcre2_jit_stack_free(r->stack);
  pcre2_match_context_free(r->match);
  pcre2_compile_context_free(r->compile);
  pcre2_general_context_free(r->general);
  heap_realloc(rt->heap, r, sizeof *r, 0);
  rt->regexes = NULL;
}

static int look_back(pcre2_callout_block *block, void *rt) {
  (void)block;
  return rt_interrupted(rt) && rt_poll(rt) ? PCRE2_ERROR_CALLOUT : 0;
}

static Regexes *regexes(Rt *rt) {
  if (rt->regexes) return rt->regexes;
  Regexes *r = heap_realloc(rt->heap, NULL, 0, sizeof *r);
  if (!r) {
    rt_out_of_memory(rt);
    return NULL;
  }
  memset(r, 0, sizeof *r);
  rt->regexes = r;
  r->general = pcre2_general_context_create(take, give_back, rt->heap);
  r->compile = r->general ? pcre2_compile_context_create(r->general) : NULL;
  r->match = r->general ? pcre2_match_context_create(r->general) : NULL;
  if (!r->compile || !r->match) {
    rt_regexes_free(rt);
    rt_out_of_memory(rt);
    return NULL;
  }
  r->stack = pcre2_jit_stack_create(32 * 1024, 1024 * 1024, r->general);
  if (r->stack) pcre2_jit_stack_assign(r->match, NULL, r->stack);
  pcre2_set_newline(r->compile, PCRE2_NEWLINE_LF); /* whatever the library was built with */
  pcre2_set_heap_limit(r->match, LIMIT_REGEX_KB);
  pcre2_set_callout(r->match, look_back, rt);
  return r;
}

/* Says what is wrong with a pattern, where in it, and where it stands in the message. */
static void report_pattern(Rt *rt, const StringObj *re, int error, size_t offset, uint32_t site) {
  static const char before[] = "bad pattern \"";
  char why[200];
  size_t characters = 0;
  for (size_t i = 0; i < offset && i < (size_t)re->len; i++) characters += (re->bytes[i] & 0xc0) != 0x80;
  pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
  rt_error(rt, ERR_REGEX, site, "%s%s\" at offset %zu: %s", before, re->bytes, characters, why);
  int start = (int)sizeof before - 1;
  bool whole = (size_t)re->len + sizeof before < sizeof rt->error.message && !memchr(re->bytes, 0, (size_t)re->len);
  if (whole) rt->error.quote.length = (int)re->len;
  rt->error.quote.start = start;
  rt->error.quote.at = (int)offset;
}

static bool has(const StringObj *s, const char *part) {
  return memmem(s->bytes, (size_t)s->len, part, strlen(part)) != NULL;
}

static Pattern *compile(Rt *rt, Regexes *r, const StringObj *re, uint32_t site) {
  int error;
  PCRE2_SIZE offset;
  bool windows = !has(re, "\\G") && !has(re, "(*");
  uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | (windows ? PCRE2_USE_OFFSET_LIMIT : PCRE2_AUTO_CALLOUT);
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)re->bytes, (PCRE2_SIZE)re->len, options, &error, &offset, r->compile);
  if (!code) {
    if (error == PCRE2_ERROR_HEAPLIMIT || error == 121) rt_out_of_memory(rt);
    else report_pattern(rt, re, error, offset, site);
    return NULL;
  }
  Pattern *p = heap_realloc(rt->heap, NULL, 0, sizeof *p);
  Obj *text = p ? rt_new_string(rt, re->bytes, (size_t)re->len) : NULL;
  pcre2_match_data *data = text ? pcre2_match_data_create_from_pattern(code, r->general) : NULL;
  if (!data) {
    rt_release(rt, text);
    heap_realloc(rt->heap, p, sizeof *p, 0);
    pcre2_code_free(code);
    rt_out_of_memory(rt);
    return NULL;
  }
  rt->live--; /* the cache's, not the program's */
  *p = (Pattern){.next = r->first, .text = text, .code = code, .data = data, .windows = windows};
  r->first = p;
  r->count++;
  return p;
}

static void drop_oldest(Rt *rt, Regexes *r) {
  Pattern **at = &r->first;
  while ((*at)->next) at = &(*at)->next;
  free_pattern(rt, *at);
  *at = NULL;
  r->count--;
}

static bool is_text_of(const Pattern *p, const StringObj *re) {
  const StringObj *text = (const StringObj *)p->text;
  return text->len == re->len && !memcmp(text->bytes, re->bytes, (size_t)re->len);
}

/* The compiled pattern, from the cache or made; NULL after rt_error. */
static Pattern *pattern(Rt *rt, const StringObj *re, uint32_t site) {
  Regexes *r = regexes(rt);
  if (!r) return NULL;
  for (Pattern **at = &r->first; *at; at = &(*at)->next) {
    Pattern *p = *at;
    if (!is_text_of(p, re)) continue;
    *at = p->next;
    p->next = r->first;
    r->first = p;
    return p;
  }
  if (r->count >= CACHE_MAX) drop_oldest(rt, r);
  return compile(rt, r, re, site);
}

Status rt_try_pattern(Rt *rt, const char *text, size_t length) {
  Obj *re = rt_new_string(rt, text, length);
  bool good = re && pattern(rt, (const StringObj *)re, 0);
  rt_release(rt, re);
  return good ? 0 : 1;
}

typedef struct Match {
  Rt *rt;
  Pattern *pattern;
  pcre2_match_data *data; /* the pattern's */
  const StringObj *s;
  uint32_t site;
  bool groups; /* are those asked for that the pattern has? */
} Match;

static Status match_open(Match *m, Rt *rt, const Slot *re, const Slot *s, bool groups, uint32_t site) {
  *m = (Match){.rt = rt, .s = slot_string(s), .site = site, .groups = groups};
  m->pattern = pattern(rt, slot_string(re), site);
  if (!m->pattern) return 1;
  m->data = m->pattern->data;
  return 0;
}

/* The first place of a character at or behind byte i. */
static size_t character_at(const StringObj *s, size_t i) {
  while (i < (size_t)s->len && ((unsigned char)s->bytes[i] & 0xc0) == 0x80) i++;
  return i;
}

static int interpret(const Match *m, size_t from, uint32_t options, uint32_t steps) {
  const Regexes *r = m->rt->regexes;
  pcre2_set_match_limit(r->match, steps);
  return pcre2_match(m->pattern->code, (PCRE2_SPTR)m->s->bytes, (size_t)m->s->len, from, options, m->data, r->match);
}

static bool exceeds_limits(int result) {
  return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
         result == PCRE2_ERROR_DEPTHLIMIT;
}

/* Machine code of a pattern knows no anchor. */
static int match_once(Match *m, size_t from, uint32_t options) {
  const Regexes *r = m->rt->regexes;
  Pattern *p = m->pattern;
  if (options & PCRE2_ANCHORED) return interpret(m, from, options, LIMIT_REGEX_STEPS);
  if (!p->demanding) {
    int result = interpret(m, from, options, FEW_STEPS);
    p->demanding = exceeds_limits(result);
    return p->demanding ? AGAIN : result;
  }
  if (p->engine == NOT_COMPILED)
    p->engine = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0 ? MACHINE_CODE : INTERPRETER;
  if (p->engine == INTERPRETER) return interpret(m, from, options, LIMIT_REGEX_STEPS);
  pcre2_set_match_limit(r->match, LIMIT_REGEX_STEPS);
  return pcre2_jit_match(p->code, (PCRE2_SPTR)m->s->bytes, (size_t)m->s->len, from, options, m->data, r->match);
}

/* The tables, made when they are first asked for; NULL: there are none. */
static const RegexTables *tables_of(Match *m) {
  Pattern *p = m->pattern;
  const StringObj *re = (const StringObj *)p->text;
  RegexVerdict why;
  if (p->tabulated) return p->tables;
  p->tables = regex_tables(m->rt->heap, re->bytes, (size_t)re->len, &why);
  p->tabulated = why != REGEX_NO_MEMORY;
  return p->tables;
}

/* The first match from byte `from` on, by the automaton: as PCRE2's results are, or LEFT_TO_PCRE2. */
static int run_tables(Match *m, size_t from, bool any) {
  const RegexTables *t = tables_of(m);
  if (!t) return LEFT_TO_PCRE2;
  RegexRun run = regex_begin(t, m->s->bytes, (size_t)m->s->len, from);
  RegexResult result;
  do {
    if (rt_look(m->rt)) return PCRE2_ERROR_CALLOUT;
    result = regex_run(t, &run, AT_ONCE, any);
  } while (result == REGEX_UNDER_WAY);
  if (result == REGEX_BAILED) return LEFT_TO_PCRE2;
  if (result == REGEX_NONE) return PCRE2_ERROR_NOMATCH;
  if (any) return 1;
  if (m->groups && pcre2_get_ovector_count(m->data) > 1) return match_once(m, run.start, PCRE2_NO_UTF_CHECK);
  PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
  at[0] = run.start;
  at[1] = run.end;
  return 1;
}

/* match_once from byte `from` on, by windows where that can be. PCRE2_ERROR_CALLOUT after an interrupt. */
static int search_windows(Match *m, size_t from, uint32_t options) {
  enum { FEWEST = 64, MOST = 4096 };
  static const double FAST = 0.001; /* seconds a window */
  Regexes *r = m->rt->regexes;
  size_t n = (size_t)m->s->len;
  bool windows = m->pattern->windows && !(options & PCRE2_ANCHORED);
  for (size_t width = FEWEST;;) {
    if (rt_look(m->rt)) return PCRE2_ERROR_CALLOUT;
    bool last = !windows || n - from < width;
    pcre2_set_offset_limit(r->match, last ? PCRE2_UNSET : from + width - 1);
    double start = last ? 0 : rt_now();
    int result = match_once(m, from, options);
    if (result != PCRE2_ERROR_NOMATCH || last) return result;
    from = character_at(m->s, from + width);
    if (rt_now() - start > FAST) width = FEWEST;
    else if (width < MOST) width *= 2;
  }
}

/* `any`: whether there is a match, not where. */
static int search(Match *m, size_t from, uint32_t options, bool any) {
  Pattern *p = m->pattern;
  p->seen += (size_t)m->s->len - from;
  p->demanding |= p->seen >= SHORT;
  for (;;) {
    bool tables = p->demanding && !(options & PCRE2_ANCHORED);
    int result = tables ? run_tables(m, from, any) : LEFT_TO_PCRE2;
    if (result == LEFT_TO_PCRE2) result = search_windows(m, from, options);
    if (result != AGAIN) return result;
  }
}

/* Looks from byte `from` on. *found, and the offsets in *at; NULL: whether there is a match is enough. */
static Status match_next(Match *m, int64_t from, bool nonempty, bool *found, PCRE2_SIZE **at) {
  uint32_t options = PCRE2_NO_UTF_CHECK | (nonempty ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0);
  int n = search(m, (size_t)from, options, !at);
  *found = n >= 0;
  if (at) *at = pcre2_get_ovector_pointer(m->data);
  if (n >= 0 || n == PCRE2_ERROR_NOMATCH) return 0;
  if (n == PCRE2_ERROR_CALLOUT) return 1; /* the interrupt's error is set */
  if (n == PCRE2_ERROR_NOMEMORY) return rt_out_of_memory(m->rt);
  char text[200];
  if (exceeds_limits(n)) snprintf(text, sizeof text, "it takes too many steps on this text");
  else pcre2_get_error_message(n, (PCRE2_UCHAR *)text, sizeof text);
  return rt_error(m->rt, ERR_REGEX_LIMIT, m->site, "matching the pattern failed: %s", text);
}

/* All matches of a text in turn. After an empty one the search goes on a character later; with `pieces`, as replace and
 * split have them, a match at the same place that isn't empty comes first. */
typedef struct Matches {
  Match m;
  size_t from; /* behind the text: there are no more */
  bool pieces, was_empty;
} Matches;

static Status matches_open(Matches *a, Rt *rt, const Slot *re, const Slot *s, bool groups, bool pieces, uint32_t site) {
  a->from = 0;
  a->pieces = pieces;
  a->was_empty = false;
  return match_open(&a->m, rt, re, s, groups, site);
}

static bool matches_over(const Matches *a) { return a->from > (size_t)a->m.s->len; }

static void skip_character(Matches *a) {
  const StringObj *s = a->m.s;
  a->from += regex_character(s->bytes, (size_t)s->len, a->from);
  a->was_empty = false;
}

static void go_behind(Matches *a, size_t start, size_t end) {
  a->from = end;
  a->was_empty = start == end;
  if (a->was_empty && !a->pieces) skip_character(a);
}

/* The next match from where the last one ended: *found, and its offsets in *at. Without one there may be further on. */
static Status next_match(Matches *a, bool *found, PCRE2_SIZE **at) {
  if (match_next(&a->m, (int64_t)a->from, a->was_empty, found, at)) return 1;
  if (*found) go_behind(a, (*at)[0], (*at)[1]);
  else if (a->was_empty) skip_character(a);
  else a->from = (size_t)a->m.s->len + 1;
  return 0;
}

/* The next ones at once, by the automaton. *left: it is PCRE2 that finds the next one. */
static Status run_on(Matches *a, const RegexTables *t, RegexSpans *spans, bool *left) {
  const StringObj *s = a->m.s;
  RegexRun run = regex_begin(t, s->bytes, (size_t)s->len, a->from);
  RegexResult result = REGEX_UNDER_WAY;
  while (result == REGEX_UNDER_WAY && spans->n < REGEX_SPANS) {
    if (rt_look(a->m.rt)) return 1;
    result = regex_run_all(t, &run, AT_ONCE, spans);
  }
  *left = result == REGEX_BAILED;
  a->from = result == REGEX_NONE ? (size_t)s->len + 1 : run.from;
  if (result == REGEX_FOUND) go_behind(a, run.start, run.end);
  return 0;
}

/* Fills `spans` with the next matches, without their groups. */
static Status next_spans(Matches *a, RegexSpans *spans) {
  bool left = false, found;
  PCRE2_SIZE *at;
  spans->n = 0;
  spans->ends_at_empty = a->pieces;
  while (spans->n < REGEX_SPANS && !matches_over(a)) {
    const RegexTables *t = a->m.pattern->demanding && !a->was_empty && !left ? tables_of(&a->m) : NULL;
    if (t) {
      if (run_on(a, t, spans, &left)) return 1;
      continue;
    }
    left = false;
    if (next_match(a, &found, &at)) return 1;
    if (!found) continue;
    spans->all[spans->n++] = (RegexSpan){(int64_t)at[0], (int64_t)at[1]};
  }
  return 0;
}

/* Of a short text, by the pattern that was used last, if that has tables. False: it isn't known. */
static bool test_quickly(const Rt *rt, const StringObj *re, const StringObj *s, bool *found) {
  enum { QUICK = 256 };
  const Regexes *r = rt->regexes;
  const Pattern *p = r ? r->first : NULL;
  if (!p || !p->demanding || !p->tables || s->len > QUICK || !is_text_of(p, re)) return false;
  RegexResult result = regex_test(p->tables, s->bytes, (size_t)s->len);
  *found = result == REGEX_FOUND;
  return result != REGEX_BAILED;
}

PRIM(prim_regex_test) {
  PRIM_UNUSED;
  Match m;
  bool found = false;
  Status status = 0;
  if (!test_quickly(rt, slot_string(&args[0]), slot_string(&args[1]), &found)) {
    status = match_open(&m, rt, &args[0], &args[1], false, site);
    if (!status) status = match_next(&m, 0, false, &found, NULL);
  }
  res->i = found;
  return status;
}

/* Of what isn't constant there are none. */
PRIM(prim_regex_tables) {
  PRIM_UNUSED;
  (void)args;
  int64_t none = 0;
  ArrayObj *a = rt_new_array(rt, rt->desc_int_array, &none, false);
  if (!a) return 1;
  res[0].i = false;
  for (int k = 1; k <= 3; k++) {
    res[k].p = &a->h;
    if (k > 1) rt_retain(&a->h);
  }
  return 0;
}

/* Puts n numbers behind those of a growing array, which are rows of so many. False: no memory, and *to is NULL. */
static bool push_rows(Rt *rt, ArrayObj **to, const void *x, size_t n, size_t row) {
  int64_t length = (*to)->dims[0] + (int64_t)(n / row);
  ArrayObj *a = rt_grow(rt, *to, length - 1, (int64_t)row);
  if (a) {
    memcpy(a->data + a->dims[0] * (int64_t)row, x, n * sizeof *a->data);
    a->dims[0] = length;
  } else rt_release(rt, &(*to)->h);
  *to = a;
  return a;
}

/* Adds the offsets of the first `most` matches at most: of each the whole and its groups, -1 for one that is unset. */
static Status add_matches(Matches *a, int64_t most, ArrayObj **to) {
  uint32_t pairs = pcre2_get_ovector_count(a->m.data);
  bool found;
  PCRE2_SIZE *at;
  while (most > 0 && !matches_over(a)) {
    if (next_match(a, &found, &at)) return 1;
    if (!found) break;
    if (!push_rows(a->m.rt, to, at, 2 * pairs, 1)) return 1;
    most--;
  }
  return 0;
}

/* Adds all matches, without their groups. */
static Status add_spans(Matches *a, ArrayObj **to, size_t row) {
  RegexSpans spans;
  while (!matches_over(a)) {
    if (next_spans(a, &spans)) return 1;
    if (spans.n && !push_rows(a->m.rt, to, spans.all, 2 * spans.n, row)) return 1;
  }
  return 0;
}

/* pattern, text, how many matches at most: numbers a match has, all of them */
PRIM(prim_regex_spans) {
  PRIM_UNUSED;
  Matches a;
  int64_t none = 0, most = args[2].i;
  if (matches_open(&a, rt, &args[0], &args[1], true, false, site)) return 1;
  ArrayObj *spans = rt_new_array(rt, rt->desc_int_array, &none, false);
  if (!spans) return 1;
  bool all = most == INT64_MAX && pcre2_get_ovector_count(a.m.data) == 1;
  if (all ? add_spans(&a, &spans, 1) : add_matches(&a, most, &spans)) {
    if (spans) rt_release(rt, &spans->h);
    return 1;
  }
  res[0].i = 2 * (int64_t)pcre2_get_ovector_count(a.m.data);
  res[1].p = &spans->h;
  return 0;
}

/* pattern, text, whether as replace and split have them: the places of all matches */
PRIM(prim_regex_places) {
  PRIM_UNUSED;
  Matches a;
  int64_t none = 0;
  if (matches_open(&a, rt, &args[0], &args[1], false, args[2].i, site)) return 1;
  ArrayObj *places = rt_new_array(rt, rt->desc_int_pairs, &none, false);
  if (!places) return 1;
  if (add_spans(&a, &places, 2)) {
    if (places) rt_release(rt, &places->h);
    return 1;
  }
  res->p = &places->h;
  return 0;
}

/* Adds the template with $0 … $99, ${12} and $$ replaced. */
static Status add_template(Match *m, Buf *out, const StringObj *t, const PCRE2_SIZE *at) {
  uint32_t count = pcre2_get_ovector_count(m->data);
  for (int64_t i = 0; i < t->len && !out->failed; i++) {
    char c = t->bytes[i];
    if (c != '$' || i + 1 == t->len) {
      buf_addc(out, c);
      continue;
    }
    bool braces = t->bytes[i + 1] == '{';
    int64_t k = i + 1 + braces, first = k;
    uint32_t group = 0;
    for (; k < t->len && k - first < 2 && t->bytes[k] >= '0' && t->bytes[k] <= '9'; k++)
      group = 10 * group + (uint32_t)(t->bytes[k] - '0');
    if (k == first || (braces && (k >= t->len || t->bytes[k] != '}'))) {
      buf_addc(out, '$');
      i += t->bytes[i + 1] == '$';
      continue;
    }
    if (group >= count)
      return rt_error(m->rt, ERR_REGEX, m->site, "the template uses $%u, but the pattern's last group is $%u", group,
                      count - 1);
    if (at[2 * group] != PCRE2_UNSET) buf_add(out, m->s->bytes + at[2 * group], at[2 * group + 1] - at[2 * group]);
    i = k - !braces;
  }
  return 0;
}

/* With the text up to byte `to`, from where the last match ended. */
static void copy_up_to(const Matches *a, Buf *out, int64_t *copied, size_t to) {
  buf_add(out, a->m.s->bytes + *copied, to - (size_t)*copied);
}

static Status replace_by_template(Matches *a, const StringObj *template, Buf *out, int64_t *copied) {
  bool found;
  PCRE2_SIZE *at;
  while (!matches_over(a) && !out->failed) {
    if (next_match(a, &found, &at)) return 1;
    if (!found) continue;
    copy_up_to(a, out, copied, at[0]);
    if (add_template(&a->m, out, template, at)) return 1;
    *copied = (int64_t)at[1];
  }
  return 0;
}

static Status replace_by_text(Matches *a, const StringObj *text, Buf *out, int64_t *copied) {
  RegexSpans spans;
  while (!matches_over(a) && !out->failed) {
    if (next_spans(a, &spans)) return 1;
    for (size_t k = 0; k < spans.n; k++) {
      copy_up_to(a, out, copied, (size_t)spans.all[k].start);
      buf_add(out, text->bytes, (size_t)text->len);
      *copied = spans.all[k].end;
    }
  }
  return 0;
}

/* pattern, template, text */
PRIM(prim_regex_replace) {
  PRIM_UNUSED;
  Matches a;
  Buf b = {.rt = rt};
  int64_t copied = 0;
  const StringObj *template = slot_string(&args[1]);
  bool groups = memchr(template->bytes, '$', (size_t) template->len) != NULL;
  Status status = matches_open(&a, rt, &args[0], &args[2], groups, true, site);
  if (!status) buf_reserve(&b, (size_t)a.m.s->len);
  if (!status) status = (groups ? replace_by_template : replace_by_text)(&a, template, &b, &copied);
  if (status) {
    buf_free(&b);
    return 1;
  }
  copy_up_to(&a, &b, &copied, (size_t)a.m.s->len);
  return buf_string(&b, &res->p);
}

/* text, places in it, how many of these, what takes their place */
PRIM(prim_str_spliced) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]), *by = slot_string(&args[3]);
  const RegexSpan *at = (const RegexSpan *)(const void *)slot_array(&args[1])->data;
  int64_t n = args[2].i, copied = 0, size = s->len, added;
  if (__builtin_mul_overflow(n, by->len, &added)) return rt_out_of_memory(rt);
  for (int64_t k = 0; k < n; k++) size -= at[k].end - at[k].start;
  StringObj *r = __builtin_add_overflow(size, added, &size) ? NULL : rt_string_raw(rt, (size_t)size);
  if (!r) return rt_out_of_memory(rt);
  char *to = r->bytes;
  for (int64_t k = 0; k < n; k++) {
    to = mempcpy(to, s->bytes + copied, (size_t)(at[k].start - copied));
    to = mempcpy(to, by->bytes, (size_t)by->len);
    copied = at[k].end;
  }
  memcpy(to, s->bytes + copied, (size_t)(s->len - copied));
  res->p = &r->h;
  return 0;
}
