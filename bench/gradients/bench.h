/* SPDX-License-Identifier: MIT */
/* What the C versions share: arguments, data files, printing of figures, and timing as Bench.time does it.
 *
 * Programs are called as their Atled versions are: a task (check, primal or gradient), then the case. Kernels are plain
 * loops, forward and backward pass in one function, and are called through pointers, so that nothing of them moves. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void Kernel(void *problem);

static inline double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double *floats(long n) {
  double *p = calloc((size_t)(n > 0 ? n : 1), sizeof *p);
  if (!p) exit(1);
  return p;
}

static double seconds_of(Kernel *volatile kernel, void *problem, long count) {
  double start = cpu_seconds();
  for (long k = 0; k < count; k++) kernel(problem);
  return cpu_seconds() - start;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const char *what, Kernel *kernel, void *problem) {
  enum { FEWEST = 5, MOST = 1000 };
  double seconds[MOST], spent = 0;
  long count = 1, batches = 0;
  seconds_of(kernel, problem, 1);
  while (seconds_of(kernel, problem, count) < 2e-5) count *= 2;
  while (batches < FEWEST || (spent < 0.3 && batches < MOST)) {
    double s = seconds_of(kernel, problem, count);
    spent += s;
    seconds[batches++] = s / (double)count;
  }
  qsort(seconds, (size_t)batches, sizeof *seconds, by_value);
  printf("seconds %s: %.9g %.9g %ld\n", what, seconds[0], 0.5 * (seconds[(batches - 1) / 2] + seconds[batches / 2]),
         batches * count);
}

static inline void figure(const char *name, double value) { printf("figure %s: %.17g\n", name, value); }

/* After the figures: what the first argument asks for. */
static inline void finish(char **argv, Kernel *primal, Kernel *gradient, void *problem) {
  if (!strcmp(argv[1], "primal")) measure("primal", primal, problem);
  if (!strcmp(argv[1], "gradient")) measure("gradient", gradient, problem);
  FILE *f = fopen("/proc/self/status", "r");
  for (char line[256]; f && fgets(line, sizeof line, f);)
    if (!strncmp(line, "VmHWM:", 6)) fputs(line, stdout);
}

static inline FILE *open_data(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f) exit(1);
  return f;
}

static inline void read_numbers(FILE *f, double *to, long n) {
  for (long k = 0; k < n; k++)
    if (fscanf(f, " %lf", &to[k]) != 1) exit(1);
}

static inline double *numbers_of(FILE *f, long n) {
  double *p = floats(n);
  read_numbers(f, p, n);
  return p;
}

static inline int size_of(FILE *f) {
  double x;
  read_numbers(f, &x, 1);
  return (int)x;
}

static inline int argument(int argc, char **argv, int k, int otherwise) { return argc > k ? atoi(argv[k]) : otherwise; }

static inline double along_ones(const double *g, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += g[i];
  return s;
}

static inline double along_cosines(const double *g, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += cos((double)i) * g[i];
  return s;
}
