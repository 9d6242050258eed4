/* SPDX-License-Identifier: MIT */
/* C functions for program.atl, of all types that cross, and for programs with threads. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
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
/* How many calls of it were under way at once, so far; gives them time to be. */
double most_at_once(double x) {
  static int now, most;
  int here = __atomic_add_fetch(&now, 1, __ATOMIC_SEQ_CST);
  while (here > __atomic_load_n(&most, __ATOMIC_SEQ_CST)) __atomic_store_n(&most, here, __ATOMIC_SEQ_CST);
  for (int k = 0; k < 20; k++) sched_yield();
  __atomic_sub_fetch(&now, 1, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&most, __ATOMIC_SEQ_CST) + 0 * x;
}
/* 1 once two calls of it are under way at once; 0 if that doesn't come about within seconds. */
double meet(double x) {
  static int here;
  time_t end = time(NULL) + 30;
  __atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < 2 && time(NULL) < end) sched_yield();
  return (__atomic_load_n(&here, __ATOMIC_SEQ_CST) >= 2) + 0 * x;
}
double twice(double x) { return 2 * x; }
/* Arrays that are filled: behind the arguments, zeroed, with their length. */
void repeated(const double *x, int64_t nx, int64_t n, double *out, int64_t nout) {
  for (int64_t i = 0; i < nout; i++) out[i] = (double)n + x[i % nx];
}
void triangle(int64_t n, int64_t *out, int64_t nout) {
  for (int64_t i = 0, k = 0; i < n; i++)
    for (int64_t j = 0; j <= i && k < nout; j++) out[k++] = i;
}
void half_filled(const char *s, bool b, double *out, int64_t nout) {
  for (int64_t i = 0; i < nout / 2; i++) out[i] = b ? (double)strlen(s) : -1;
}
void numbered(int64_t *out, int64_t nout) {
  for (int64_t i = 0; i < nout; i++) out[i] = ++count;
}
void scaled(const double *x, int64_t n, double k, double *out, int64_t nout) {
  for (int64_t i = 0; i < nout && i < n; i++) out[i] = k * x[i];
}
