/* SPDX-License-Identifier: MIT */
/* After out of memory a VM is as good as a new one. The n-th allocation fails, for n = 1, 2, … until none is left to
 * fail, while a program is evaluated, a function of it looked up and called, and its graphs printed; what failed is
 * done again in the same VM. All that a host sees (statuses, output, results, messages, graphs) must then be as in a
 * VM in which nothing failed, and no memory may be left when the VM is freed.
 *
 *   api_memory_sweep          some n for each program: part of the tests
 *   api_memory_sweep all      all n for all programs: `./dev fuzz memory` */
#include "check.h"
#include "failing.h"
#include "memory_sweep.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Text {
  char *data;
  size_t len, cap;
} Text;

typedef struct Host {
  Failing memory; /* first */
  Text out;
} Host;

static void add(Text *t, const char *s, size_t n) {
  if (t->len + n + 1 > t->cap) {
    t->cap = 2 * (t->len + n + 1);
    t->data = realloc(t->data, t->cap);
    if (!t->data) abort();
  }
  memcpy(t->data + t->len, s, n);
  t->len += n;
  t->data[t->len] = 0;
}

static void put(Text *t, const char *s) {
  if (s) add(t, s, strlen(s));
  add(t, "\n", 1);
}

static void write_out(void *user, const char *text, size_t n) { add(&((Host *)user)->out, text, n); }

/* ---- What a host does ------------------------------------------------------------------ */
typedef struct Run {
  AtledVM *vm;
  Host *host;
  const SweepProgram *program;
  AtledFunction *f;
} Run;

static AtledStatus add_results(Run *r, Text *out) {
  for (int i = 0; i < atled_result_count(r->vm); i++) {
    AtledResult x;
    if (!atled_result(r->vm, i, &x)) return ATLED_NO_MEMORY;
    put(out, x.name);
    put(out, x.type);
    put(out, x.value);
  }
  return ATLED_OK;
}

/* Step k of what is done with the program: its status, and what is seen goes to `out`. */
enum { STEPS = 5 };
static AtledStatus step(Run *r, int k, Text *out) {
  AtledStatus status = ATLED_OK;
  const char *text;
  AtledValue x = atled_float(1.5), y;
  r->host->out.len = 0;
  switch (k) {
  case 0:
    status = atled_eval(r->vm, "program", r->program->source);
    add(out, r->host->out.data ? r->host->out.data : "", r->host->out.len);
    break;
  case 1: return add_results(r, out);
  case 2:
    if (!r->program->get) return ATLED_OK;
    status = atled_get(r->vm, r->program->get, "float -> float", &r->f);
    break;
  case 3:
    if (!r->f) return ATLED_OK;
    status = atled_call(r->f, &x, 1, &y);
    if (status == ATLED_OK) add(out, (char *)&y.as.number, sizeof y.as.number);
    break;
  default:
    status = atled_ir(r->vm, "program", r->program->source, ATLED_STAGE_FINAL, false, NULL, &text);
    if (status == ATLED_OK) put(out, text);
  }
  for (int i = 0; i < atled_diagnostic_count(r->vm); i++) put(out, atled_diagnostic(r->vm, i)->rendered);
  return status;
}

static AtledVM *new_vm(Host *host, AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.allocate = failing_allocate;
  config.write = write_out;
  config.user = host;
  *host = (Host){.memory.left = -1};
  return atled_new(&config);
}

/* Fails allocation n (0: none) on the way; out: what is seen at the end of each step. Returns how many allocations
 * were granted after the VM was made. */
static int64_t run(const SweepProgram *p, AtledJit jit, Way way, int64_t n, Text *out) {
  Host host;
  Run r = {.host = &host, .program = p};
  r.vm = new_vm(&host, jit);
  if (!r.vm) abort();
  int64_t before = host.memory.granted;
  failing_at(&host.memory, r.vm, way, n);
  for (int k = 0; k < STEPS; k++) {
    Text seen = {0};
    int64_t live = atled_live_objects(r.vm);
    AtledStatus status = step(&r, k, &seen);
    if (status == ATLED_NO_MEMORY) {
      failing_at(&host.memory, r.vm, way, 0);
      CHECK(atled_error(r.vm) && strcmp(atled_error(r.vm)->kind, "memory") == 0);
      CHECK(k == 0 || atled_live_objects(r.vm) <= live);
      seen.len = 0;
      status = step(&r, k, &seen);
    }
    char number[32];
    add(out, number, (size_t)snprintf(number, sizeof number, "%d: %d\n", k, (int)status));
    add(out, seen.data ? seen.data : "", seen.len);
    free(seen.data);
  }
  int64_t granted = host.memory.granted - before;
  atled_release(r.f);
  atled_free(r.vm);
  CHECK(host.memory.bytes == 0);
  free(host.out.data);
  return granted;
}

/* ---- The sweep --------------------------------------------------------------------------- */
static int64_t runs, most;

/* n = from, from + stride, … */
static void sweep(const SweepProgram *p, AtledJit jit, Way way, int64_t from, int64_t stride) {
  Text want = {0};
  int64_t last = run(p, jit, way, 0, &want);
  for (int64_t n = from; n <= last; n += stride) {
    Text got = {0};
    run(p, jit, way, n, &got);
    runs++;
    if (last > most) most = last;
    bool same = got.len == want.len && memcmp(got.data, want.data, got.len) == 0;
    if (!same)
      fprintf(stderr, "%s, jit %d, without %s, n = %lld\n--- then\n%s\n--- in a new VM\n%s\n", p->name, (int)jit,
              way_names[way], (long long)n, got.data, want.data);
    CHECK(same);
    free(got.data);
  }
  free(want.data);
}

int main(int argc, char **argv) {
  bool all = argc > 1 && strcmp(argv[1], "all") == 0;
  char cache[] = "/tmp/atled-sweep-XXXXXX";
  if (!mkdtemp(cache)) return 1;
  setenv("ATLED_CACHE", cache, 1); /* each program is compiled once */
  for (int i = 0; i < SWEEP_PROGRAMS; i++) {
    const SweepProgram *p = &sweep_programs[i];
    if (argc > 2 && strcmp(argv[2], p->name) != 0) continue;
    int64_t stride = all ? 1 : 11;
    for (Way way = 0; way < WAYS; way++) {
      sweep(p, ATLED_JIT_OFF, way, 1 + (i + (int)way) % stride, stride);
      if (all || i % 4 == (int)way) sweep(p, ATLED_JIT_ALWAYS, way, 1 + i % stride, 2 * stride);
    }
  }
  setenv("ATLED_CACHE", "", 1); /* now compilers lack memory */
  sweep(&sweep_programs[1], ATLED_JIT_ALWAYS, OWN, all ? 1 : 30, all ? 2 : 25);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", cache);
  if (system(command) != 0) return 1;
  printf("%lld runs, up to %lld allocations\n", (long long)runs, (long long)most);
  return check_result();
}
