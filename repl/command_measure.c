/* SPDX-License-Identifier: MIT */
/* Commands that take times. */
#include "repl.h"
#include "session.h"
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "12.3 µs" */
static void print_seconds(double s) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  int k = 0;
  while (k < 3 && s < units[k].unit) k++;
  printf("%.3g %s", s / units[k].unit, units[k].name);
}

void command_time(Session *s, const char *rest) {
  if (!*rest) {
    puts("an expression is missing: `:time EXPR`");
    return;
  }
  double start = now();
  s->host.enter(s->host.prompt, rest);
  fputs("time: ", stdout);
  print_seconds(now() - start);
  putchar('\n');
}
