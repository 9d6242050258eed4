/* SPDX-License-Identifier: MIT */
#include "bench.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000000 };
static unsigned char complement[256];

static void fill_table(void) {
  static const char from[] = "ACMRWSVHN", to[] = "TGKYWSBDN";
  for (int i = 0; i < 256; i++) complement[i] = (unsigned char)i;
  for (int i = 0; from[i]; i++) {
    complement[(int)from[i]] = complement[tolower(from[i])] = (unsigned char)to[i];
    complement[(int)to[i]] = complement[tolower(to[i])] = (unsigned char)from[i];
  }
}

static long below(long i, long n) { return ((i * 3877 + 29573) % 139968 * 3877 + 29573) % 139968 * n / 139968; }

static char *without_ends(const char *text, size_t *n) {
  char *letters = malloc(*n + 1), *at = letters;
  const char *end = text + *n, *line = text;
  for (const char *stop; (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
    memcpy(at, line, (size_t)(stop - line));
    at += stop - line;
  }
  memcpy(at, line, (size_t)(end - line));
  *n = (size_t)(at + (end - line) - letters);
  return letters;
}

static char *reverse_complement(const char *text, size_t size, size_t *length) {
  size_t n = size;
  char *letters = without_ends(text, &n), *reversed = malloc(n + 1), *out = malloc(n + n / 60 + 1), *at = out;
  for (size_t i = 0; i < n; i++) reversed[i] = (char)complement[(unsigned char)letters[n - 1 - i]];
  for (size_t i = 0; i < n; i += 60) {
    size_t some = n - i < 60 ? n - i : 60;
    if (i) *at++ = '\n';
    memcpy(at, reversed + i, some);
    at += some;
  }
  *length = (size_t)(at - out);
  free(letters);
  free(reversed);
  return out;
}

int main(void) {
  static char text[N];
  double best = 1e99;
  char *out = NULL;
  size_t n = 0;
  fill_table();
  for (long i = 0; i < N; i++) text[i] = i % 61 == 60 ? '\n' : "acgt"[below(i, 4)];
  for (int k = 0; k < 100; k++) {
    double start = now();
    free(out);
    out = reverse_complement(text, N, &n);
    double t = now() - start;
    if (t < best) best = t;
  }
  long sum = 0;
  for (size_t i = 0; i < n; i++) sum += (long)(i % 1000) * out[i];
  printf("result: %zu\nresult: %ld\nseconds: %.9f\n", n, sum, best);
}
