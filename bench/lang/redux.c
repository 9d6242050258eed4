/* SPDX-License-Identifier: MIT */
/* redux.atl with pcre2_jit_match. */
// link: -lpcre2-8
#include "bench.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct Text {
  char *bytes;
  size_t n;
} Text;
typedef struct Pattern {
  pcre2_code *code;
  pcre2_match_data *data;
  PCRE2_SIZE *at;
} Pattern;
static const char *const variants[] = {"agggtaaa|tttaccct",         "[cgt]gggtaaa|tttaccc[acg]", "a[act]ggtaaa|tttacc[agt]t",
                                       "ag[act]gtaaa|tttac[agt]ct", "agg[act]taaa|ttta[agt]cct", "aggg[acg]aaa|ttt[cgt]ccc",
                                       "agggt[cgt]aa|tt[acg]accct", "agggta[cgt]a|t[acg]taccct", "agggtaa[cgt]|[acg]ttaccct"};
static const char *const replacements[][2] = {
    {"tHa[Nt]", "<4>"}, {"aND|caN|Ha[DS]|WaS", "<3>"}, {"a[NSt]|BY", "<2>"}, {"\\|[^|][^|]*\\|", "|"}, {"\\|[^|][^|]*\\|", "-"}};

static int below(long i, long k, long n) {
  long x = ((i * 7919 + k * 104729) % 139968 * 3877 + 29573) % 139968;
  return (int)((x * 3877 + 29573) % 139968 * n / 139968);
}

static Text make_text(void) {
  Text t = {malloc(9000 * 64), 0};
  for (int i = 0; i < 9000; i++) {
    if (i % 1000 == 0) t.n += (size_t)sprintf(t.bytes + t.n, ">sequence %d", i);
    else
      for (int k = 0; k < 60; k++) t.bytes[t.n++] = "acgt"[below(i, k, 4)];
    t.bytes[t.n++] = '\n';
  }
  return t;
}

static Pattern compile(const char *text) {
  int error;
  PCRE2_SIZE offset;
  Pattern p;
  p.code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, &error, &offset, NULL);
  pcre2_jit_compile(p.code, PCRE2_JIT_COMPLETE);
  p.data = pcre2_match_data_create_from_pattern(p.code, NULL);
  p.at = pcre2_get_ovector_pointer(p.data);
  return p;
}

static void forget(Pattern p) {
  pcre2_match_data_free(p.data);
  pcre2_code_free(p.code);
}

static bool next(Pattern p, Text t, size_t from) {
  return pcre2_jit_match(p.code, (PCRE2_SPTR)t.bytes, t.n, from, 0, p.data, NULL) > 0;
}

static int count(const char *pattern, Text t) {
  Pattern p = compile(pattern);
  int n = 0;
  for (size_t from = 0; next(p, t, from); from = p.at[1]) n++;
  forget(p);
  return n;
}

static void add(Text *t, const char *s, size_t n) {
  memcpy(t->bytes + t->n, s, n);
  t->n += n;
}

/* The text with each match of the pattern replaced. A replacement is at most twice as long as its match, so a buffer of
 * twice the size holds the result. */
static Text replace(const char *pattern, const char *by, Text t) {
  Pattern p = compile(pattern);
  Text out = {malloc(2 * t.n + 1), 0};
  size_t from = 0;
  for (; next(p, t, from); from = p.at[1]) {
    add(&out, t.bytes + from, p.at[0] - from);
    add(&out, by, strlen(by));
  }
  add(&out, t.bytes + from, t.n - from);
  forget(p);
  return out;
}

static Text replaced(Text dna) {
  Text r = replace(replacements[0][0], replacements[0][1], dna);
  for (int k = 1; k < 5; k++) {
    Text longer = replace(replacements[k][0], replacements[k][1], r);
    free(r.bytes);
    r = longer;
  }
  return r;
}

static double least(double a, double b) { return a < b ? a : b; }

int main(void) {
  Text text = make_text();
  double clean = 1e99, counting = 1e99, replacing = 1e99;
  size_t size = 0;
  int n = 0;
  for (int round = 0; round < 5; round++) {
    double t0 = now();
    Text dna = replace(">.*\n|\n", "", text);
    double t1 = now();
    n = 0;
    for (int k = 0; k < 9; k++) n += count(variants[k], dna);
    double t2 = now();
    Text r = replaced(dna);
    double t3 = now();
    clean = least(clean, t1 - t0), counting = least(counting, t2 - t1), replacing = least(replacing, t3 - t2);
    size = r.n;
    free(r.bytes);
    free(dna.bytes);
  }
  printf("result: %d\nresult: %zu\n", n, size);
  printf("seconds clean: %.9f\nseconds count: %.9f\nseconds replace: %.9f\n", clean, counting, replacing);
}
