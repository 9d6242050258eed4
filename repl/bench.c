/* SPDX-License-Identifier: MIT */
/* `atled bench`: runs the benchmarks of files and prints a line for each, beside a stored run if there is one.
 *
 * A stored run is a text file, a line for each benchmark: median, spread, best (seconds), runs, and its name, between
 * tabs. */
#include "files.h"
#include "repl.h"
#include "times.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *seconds_text(double seconds, char *buffer, size_t n) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  int k = 0;
  while (k < 3 && seconds < units[k].unit) k++;
  snprintf(buffer, n, "%.3g %s", seconds / units[k].unit, units[k].name);
  return buffer;
}

/* ---- Stored runs ----------------------------------------------------------------------------------- */
typedef struct Stored {
  double median, spread;
  const char *name; /* of nname bytes, in the file's text */
  size_t nname;
} Stored;

typedef struct Run {
  const char *stored; /* text of the file to compare with, or NULL */
  FILE *save;         /* or NULL */
  int measured, failed;
} Run;

/* Reads a line; false: it isn't one of a stored run. */
static bool read_stored(const char *line, Stored *out) {
  int at = 0;
  if (sscanf(line, "%lf\t%lf\t%*f\t%*d\t%n", &out->median, &out->spread, &at) != 2 || !at) return false;
  out->name = line + at;
  out->nname = strcspn(out->name, "\n");
  return true;
}

static bool find_stored(const char *text, const char *name, Stored *out) {
  for (const char *line = text; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
    if (read_stored(line, out) && strlen(name) == out->nname && strncmp(name, out->name, out->nname) == 0) return true;
  return false;
}

/* ---- Reports --------------------------------------------------------------------------------------- */
/* Beyond what either run varies by itself, and a twentieth. */
static const char *verdict(const AtledBench *b, const Stored *old) {
  double noise = fmax(0.05 * old->median, b->spread + old->spread);
  return b->median > old->median + noise ? ", slower" : b->median < old->median - noise ? ", faster" : "";
}

static void report_bench(void *user, const AtledBench *b) {
  Run *run = user;
  char median[32], spread[32], before[32];
  Stored old;
  run->measured++;
  if (b->message) {
    run->failed++;
    printf("FAILED %d: \"%s\": %s", b->line, b->name, b->message);
    return;
  }
  printf("%-32s %9s ± %-9s %8lld runs", b->name, seconds_text(b->median, median, sizeof median),
         seconds_text(b->spread, spread, sizeof spread), (long long)b->runs);
  if (run->stored && find_stored(run->stored, b->name, &old))
    printf("   %.2f × %s%s", b->median / old.median, seconds_text(old.median, before, sizeof before), verdict(b, &old));
  putchar('\n');
  fflush(stdout);
  if (run->save)
    fprintf(run->save, "%.6g\t%.6g\t%.6g\t%lld\t%s\n", b->median, b->spread, b->best, (long long)b->runs, b->name);
}

static int bench_file(const Options *o, const char *path, Run *run) {
  char *text = slurp(path);
  if (!text) return no_input(path);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  interrupt_target(vm);
  AtledStatus status = atled_bench(vm, shown_name(path), text, report_bench, run);
  print_errors(vm, status);
  interrupt_target(NULL);
  free(text);
  return end_vm(vm, status);
}

static int refuse_file(const char *what, const char *path) {
  fprintf(stderr, "atled: can't %s `%s`: %s\n", what, path, strerror(errno));
  return *what == 'r' ? EXIT_NO_INPUT : EXIT_OUTPUT;
}

int bench_files(Options *o) {
  Replacement save = {0};
  Run run = {.stored = o->compare ? slurp(o->compare) : NULL};
  int worst = 0;
  if (o->compare && !run.stored) return refuse_file("read", o->compare);
  if (o->save && !(run.save = replacement_begin(&save, o->save))) {
    replacement_end(&save);
    return refuse_file("write", o->save);
  }
  for (int i = 0; i < o->nrest; i++) {
    int status = bench_file(o, o->rest[i], &run);
    if (status > worst) worst = status;
  }
  if (o->save && !replacement_end(&save)) worst = refuse_file("write", o->save);
  if (!run.measured && !worst) puts("no benchmarks: an item of one is written bench \"name\" = expression");
  free((char *)(uintptr_t)run.stored);
  return worst;
}
