/* SPDX-License-Identifier: MIT */
/* Runs the rows of passes.def. passes.h says what a run is. */
#include "opt/passes.h"
#include "opt/opt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Row {
  PassStage stage;
  const char *name, *does;
  Graph *(*plain)(World *w, Graph *g);
  Graph *(*given)(World *w, Graph *g, bool last);
  bool last;
  Graph *(*round)(World *w, Graph *g, int round, bool *changed);
} Row;

#define PLAIN(f)    .plain = f
#define GIVEN(f, x) .given = f, .last = x
#define ROUND(f)    .round = f
static const Row rows[] = {
#define PASS(in, pass, call, needed_by, text) {.stage = STAGE_##in, .name = #pass, .does = text, call},
#include "opt/passes.def"
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)PASS_BITS, "PassWatch.off has a bit for each run");

int passes_count(void) { return ROWS; }

int passes_first_after(void) {
  int k = 0;
  while (rows[k].stage == STAGE_BEFORE) k++;
  return k;
}

PassRun passes_get(int run) {
  PassRun r = {.name = rows[run].name, .stage = rows[run].stage, .does = rows[run].does};
  int all = 0;
  for (int k = 0; k < ROWS; k++) {
    if (strcmp(rows[k].name, r.name) != 0) continue;
    all++;
    if (k <= run) r.occurrence++;
  }
  if (all == 1) r.occurrence = 0;
  return r;
}

void passes_name(int run, char name[static 32]) {
  PassRun r = passes_get(run);
  if (r.occurrence) snprintf(name, 32, "%s.%d", r.name, r.occurrence);
  else snprintf(name, 32, "%s", r.name);
}

/* The run of this name, as "fuse.2"; -1: there is none. */
static int run_named(const char *name) {
  size_t n = strcspn(name, ".");
  int left = name[n] ? atoi(name + n + 1) : 1;
  for (int k = 0; k < ROWS; k++)
    if (strlen(rows[k].name) == n && memcmp(rows[k].name, name, n) == 0 && --left == 0) return k;
  return -1;
}

/* The runs of "fuse.2", or all of "fuse", as bits; 0: there is none. */
static uint64_t runs_of(const char *name) {
  uint64_t bits = 0;
  for (int k = 0; k < ROWS; k++)
    if (strcmp(rows[k].name, name) == 0) bits |= (uint64_t)1 << k;
  int one = strchr(name, '.') ? run_named(name) : -1;
  return one < 0 ? bits : (uint64_t)1 << one;
}

static bool read_word(const char *word, PassWatch *p) {
  char *end;
  if (strncmp(word, "stop=", 5) == 0) {
    p->left = strtoll(word + 5, &end, 10);
    return end != word + 5 && !*end && p->left >= 0;
  }
  uint64_t runs = *word == '-' ? runs_of(word + 1) : 0;
  p->off |= runs;
  return runs != 0;
}

bool passes_read(const char *text, PassWatch *p) {
  PassWatch none;
  if (!p) p = &none;
  p->off = 0, p->left = -1;
  while (*text) {
    char word[64];
    size_t n = strcspn(text, ",");
    if (n >= sizeof word) return false;
    memcpy(word, text, n);
    word[n] = '\0';
    if (!read_word(word, p)) return false;
    text += n + (text[n] == ',');
  }
  return true;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_left_out(PassWatch *p, int k) {
  if (p->off >> k & 1 || p->left == 0) return true;
  p->left -= p->left > 0;
  return false;
}

static Graph *run_row(World *w, Graph *g, int k, int round, bool *changed) {
  const Row *r = &rows[k];
  if (r->plain) return r->plain(w, g);
  if (r->given) return r->given(w, g, r->last);
  bool one = false;
  g = r->round(w, g, round, &one);
  *changed |= one;
  return g;
}

static Graph *run_and_mark(World *w, Graph *g, int k, int round, bool *changed) {
  g = run_row(w, g, k, round, changed);
  ir_mark_recursive(w, g);
  return g;
}

static Graph *run(World *w, Graph *g, int k, int round, bool *changed) {
  PassWatch *p = w->watch;
  if (!p) return run_and_mark(w, g, k, round, changed);
  if (is_left_out(p, k)) return g;
  double start = p->timed ? now() : 0;
  g = run_and_mark(w, g, k, round, changed);
  if (p->timed) p->seconds[k] += now() - start, p->count[k]++;
  if (p->after) p->after(p->user, w, k, g);
  return g;
}

Graph *passes_run(World *w, Graph *g, PassStage stage, int from) {
  for (int k = from, end; k < ROWS; k = end) {
    for (end = k + 1; rows[k].round && end < ROWS && rows[end].round;) end++;
    bool changed = rows[k].stage == stage;
    for (int round = 0; changed; round++) {
      changed = false;
      for (int i = k; i < end; i++) g = run(w, g, i, round, &changed);
    }
  }
  return g;
}
