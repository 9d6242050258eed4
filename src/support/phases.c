/* SPDX-License-Identifier: MIT */
/* The clock of phases: the time since the last change is added to the phase that ends. */
#include "support/phases.h"
#include <time.h>

const char *phase_name(Phase p) {
  static const char *const names[] = {
#define P(id, name) name,
      PHASES(P)
#undef P
  };
  return names[p];
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The heap's peak is that of the phase. */
static void begin(Heap *h, Phase to) {
  h->phases->now = to;
  __atomic_store_n(&h->peak, heap_bytes(h), __ATOMIC_RELAXED);
  h->phases->since = now();
}

static void end(Heap *h) {
  PhaseTotal *t = &h->phases->all[h->phases->now];
  t->seconds += now() - h->phases->since;
  size_t peak = __atomic_load_n(&h->peak, __ATOMIC_RELAXED);
  if (peak > t->memory) t->memory = peak;
}

void phases_begin(Heap *h) {
  if (!h->phases) return;
  h->phases->all[PHASE_OTHER].count++;
  begin(h, PHASE_OTHER);
}

void phases_end(Heap *h) {
  if (h->phases) end(h);
}

Phase phase_switch(Heap *h, Phase to) {
  Phase before = h->phases->now;
  end(h);
  begin(h, to);
  return before;
}
