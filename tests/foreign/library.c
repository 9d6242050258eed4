/* SPDX-License-Identifier: MIT */
/* C functions for program.atl, of all types that cross. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static int64_t count;
int64_t next(void) { return ++count; }
void reset(int64_t to) { count = to; }
double total(const double *x, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += x[i];
  return s;
}
int64_t itotal(const int64_t *x, int64_t n, int64_t k) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; i++) s += k * x[i];
  return s;
}
int64_t text_length(const char *s) { return (int64_t)strlen(s); }
const char *greeting(const char *name) {
  static char b[100];
  snprintf(b, sizeof b, "hello %s", name);
  return b;
}
const char *nothing(void) { return NULL; }
const char *bad(void) { return "a\xff"; }
bool both(bool a, bool b) { return a && b; }
bool positive(double x) { return x > 0; }
double mixed(const char *s, const double *x, int64_t n, int64_t k, double f, bool b) {
  return (double)strlen(s) + x[n - 1] + (double)k + f + b;
}
double twice(double x) { return 2 * x; }
