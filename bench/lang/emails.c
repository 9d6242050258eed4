/* SPDX-License-Identifier: MIT */
/* emails.atl with pcre2_jit_match. */
// link: -lpcre2-8
#include "bench.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

enum { COUNT = 10665 };
static const char email[] = "^[a-zA-Z0-9](?:[a-zA-Z0-9]*[_\\-]+[a-zA-Z0-9])*[a-zA-Z0-9]*@[a-zA-Z0-9](?:[a-zA-Z0-9]*[_\\-]+[a-zA-Z0-9])*"
                            "[a-zA-Z0-9]*\\.(?:(?:[a-zA-Z0-9]*[_\\-]+[a-zA-Z0-9])*[a-zA-Z0-9]+\\.)*[a-zA-Z][a-zA-Z]*$";
static const char *const words[] = {"time",  "year",   "people", "way",    "day",     "man",   "thing",   "woman",   "life", "child",
                                    "world", "school", "state",  "family", "student", "group", "country", "problem", "hand", "part"};
static char texts[COUNT][128];
static size_t lengths[COUNT];

static int below(long i, long k, long n) {
  long x = ((i * 7919 + k * 104729) % 139968 * 3877 + 29573) % 139968;
  return (int)((x * 3877 + 29573) % 139968 * n / 139968);
}

static char *letters(char *at, int i, int k, int n) {
  for (int j = 0; j < n; j++) *at++ = (char)(97 + below(i, k + j, 26));
  return at;
}

static char *piece(char *at, int random, int i, int k) {
  return random ? letters(at, i, k + 1, 2 + below(i, k, 10)) : stpcpy(at, words[below(i, k, 20)]);
}

static char *pieces(char *at, int random, char separator, int i, int k, int n) {
  for (int j = 0; j < n; j++) {
    if (j) *at++ = separator;
    at = piece(at, random, i, k + 20 * j);
  }
  return at;
}

static size_t address(char *text, int random, int i) {
  char *at = pieces(text, random, below(i, 0, 2) == 0 ? '_' : '-', i, 100, 1 + below(i, 1, 3));
  *at++ = '@';
  at = pieces(at, random, '-', i, 200, 1 + below(i, 2, 2));
  at = stpcpy(at, below(i, 3, 24) == 0 ? ".." : ".");
  return (size_t)(letters(at, i, 300, 2 + below(i, 4, 2)) - text);
}

static void measure(const char *name, int random, const pcre2_code *code, pcre2_match_data *data) {
  for (int i = 0; i < COUNT; i++) lengths[i] = address(texts[i], random, i);
  double best = 1e99;
  int n = 0;
  for (int k = 0; k < 2000; k++) {
    double start = now();
    n = 0;
    for (int i = 0; i < COUNT; i++)
      n += pcre2_jit_match(code, (PCRE2_SPTR)texts[i], lengths[i], 0, PCRE2_NO_UTF_CHECK, data, NULL) > 0;
    double t = now() - start;
    if (t < best) best = t;
  }
  printf("result: %d\nseconds %s: %.9f\n", n, name, best);
}

int main(void) {
  int error;
  PCRE2_SIZE offset;
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)email, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &offset, NULL);
  pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  measure("letters", 1, code, data);
  measure("words", 0, code, data);
}
