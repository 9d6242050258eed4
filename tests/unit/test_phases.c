/* SPDX-License-Identifier: MIT */
/* Tests of the clock of phases: each moment belongs to one phase, the innermost; the heap's peak is that of the phase;
 * and between calls, or without a clock, nothing is counted. */
#include "check.h"
#include "support/phases.h"
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Works for that long; how long it was. */
static double work(double seconds) {
  double start = now();
  while (now() < start + seconds) {}
  return now() - start;
}

static void hold(Heap *h, size_t n) {
  void *p = heap_realloc(h, NULL, 0, n);
  CHECK(p);
  heap_realloc(h, p, n, 0);
}

static double sum(const Phases *p) {
  double all = 0;
  for (int k = 0; k < PHASE_COUNT; k++) all += p->all[k].seconds;
  return all;
}

static void test_nested(void) {
  Heap h;
  Phases p = {0};
  heap_init(&h);
  h.phases = &p;
  double start = now(), inner = 0, outer = 0, other = 0;
  phases_begin(&h);
  other += work(0.002);
  Phase a = phase_enter(&h, PHASE_CHECK);
  outer += work(0.003);
  hold(&h, 1000);
  for (int k = 0; k < 3; k++) {
    Phase b = phase_enter(&h, PHASE_ELABORATE);
    CHECK(b == PHASE_CHECK);
    inner += work(0.004);
    if (k == 1) hold(&h, 1000000);
    phase_leave(&h, b);
    CHECK(p.now == PHASE_CHECK);
  }
  hold(&h, 2000);
  phase_leave(&h, a);
  hold(&h, 10);
  phases_end(&h);
  double all = now() - start;
  CHECK(p.all[PHASE_CHECK].seconds >= outer && p.all[PHASE_ELABORATE].seconds >= inner);
  CHECK(p.all[PHASE_OTHER].seconds >= other && sum(&p) <= all);
  CHECK(p.all[PHASE_CHECK].count == 1 && p.all[PHASE_ELABORATE].count == 3 && p.all[PHASE_OTHER].count == 1);
  CHECK(p.all[PHASE_CHECK].memory == 2000 && p.all[PHASE_ELABORATE].memory == 1000000);
  CHECK(p.all[PHASE_OTHER].memory == 10 && p.all[PHASE_RUN].memory == 0 && p.all[PHASE_RUN].seconds == 0);
}

/* A jump out of a phase, and time between calls. */
static void test_left(void) {
  Heap h;
  Phases p = {0};
  heap_init(&h);
  h.phases = &p;
  phases_begin(&h);
  phase_enter(&h, PHASE_LOWER);
  phases_end(&h);
  double before = sum(&p);
  work(0.002);
  CHECK(sum(&p) == before);
  phases_begin(&h);
  CHECK(p.now == PHASE_OTHER);
  phases_end(&h);
  CHECK(p.all[PHASE_LOWER].seconds < 0.002 && p.all[PHASE_OTHER].count == 2);
}

static void test_off(void) {
  Heap h;
  heap_init(&h);
  phases_begin(&h);
  phase_leave(&h, phase_enter(&h, PHASE_RUN));
  phases_end(&h);
  CHECK(!h.phases && h.peak == 0);
}

int main(void) {
  test_nested();
  test_left();
  test_off();
  CHECK_STR(phase_name(PHASE_READ), "read");
  CHECK_STR(phase_name(PHASE_OTHER), "other");
  return check_result();
}
