/* SPDX-License-Identifier: MIT */
/* Native pointers and replaced functions without memory. The n-th allocation fails, for n = 1, 2, …, while a pointer is
 * made, called, and its function replaced. After each failure the handle is what it was, what failed is done again in
 * the same VM, and at the end no memory is left.
 *
 *   api_native_memory          some n: part of the tests
 *   api_native_memory all      all n: `./dev fuzz memory` */
#include "check.h"
#include "failing.h"
#include <atled.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Values of all kinds that a pin freezes. */
static const char *const model =
    "type shape = Circle of float | Square of float * float\n"
    "let table = [ float i | i < 20 ]\n"
    "let shapes = [ if i % 2 = 0 then Circle (float i) else Square (float i, 2.0) | i < 6 ]\n"
    "let area s = match s with | Circle r -> r * r | Square (a, b) -> a * b\n"
    "let make k = fun x -> x * k + sum table\n"
    "let line = make 3.0\n"
    "let loss xs = sum [ x * x | x in xs ] + sum table + sum [ area s | s in shapes ] + line 1.0\n";
enum { LENGTH = 5, REST = 190 + (0 + 2 + 4 + 6 + 16 + 10) + (3 + 190) };

typedef struct Run {
  AtledVM *vm;
  Failing memory;
  Way way;
  AtledFunction *f;
  AtledNative gradient, general;
  double factor; /* of the loss that the handle has */
} Run;

/* Calls by one form; what they give must be right, if they don't fail. */
static AtledStatus call(const Run *r, bool general) {
  double x[LENGTH], g[LENGTH], y = NAN, expected = REST;
  int64_t n = LENGTH;
  for (int i = 0; i < LENGTH; i++) x[i] = i + 1, expected += x[i] * x[i];
  int32_t status = ATLED_OK;
  if (general) {
    AtledNativeArg arg = {.as.data = x, .dims = &n};
    AtledNativeResult results[] = {{.as.number = NAN}, {.as.data = g, .dims = &n}};
    status = r->general.general(r->f, &arg, 1, results, 2);
    y = results[0].as.number;
  } else {
    y = r->gradient.gradient(r->f, x, LENGTH, g);
  }
  const AtledDiagnostic *e = atled_native_error(r->f);
  CHECK(general ? !e == (status == ATLED_OK) : !e == !isnan(y));
  if (e) {
    CHECK_STR(e->kind, "memory");
    CHECK(status == ATLED_OK || status == ATLED_NO_MEMORY);
    return ATLED_NO_MEMORY;
  }
  CHECK(y == r->factor * expected);
  for (int i = 0; i < LENGTH; i++) CHECK(g[i] == r->factor * 2 * x[i]);
  return ATLED_OK;
}

enum { STEPS = 8 };
static AtledStatus step(Run *r, int k) {
  switch (k) {
  case 0: return atled_eval(r->vm, "model", model);
  case 1: return atled_get(r->vm, "value_and_grad loss", "float[] -> float * float[]", &r->f);
  case 2: return atled_native(r->f, ATLED_GRADIENT, &r->gradient);
  case 3: return call(r, false);
  case 4:
    return atled_replace(r->f, "fun xs -> (let (y, g) = value_and_grad loss xs in (2.0 * y, [ 2.0 * d | d in g ]))");
  case 5: return call(r, false);
  case 6: return atled_native(r->f, ATLED_GENERAL, &r->general);
  default: return call(r, true);
  }
}

/* Fails allocation n (0: none). Returns how many were granted after the VM was made. */
static int64_t run(Way way, int64_t n) {
  Run r = {.memory.left = -1, .way = way, .factor = 1};
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = failing_allocate;
  config.user = &r.memory;
  r.vm = atled_new(&config);
  CHECK(r.vm != NULL);
  int64_t before = r.memory.granted;
  failing_at(&r.memory, r.vm, way, n);
  for (int k = 0; k < STEPS; k++) {
    AtledStatus status = step(&r, k);
    if (status == ATLED_NO_MEMORY) {
      failing_at(&r.memory, r.vm, way, 0);
      if (k < 3) CHECK(!r.gradient.gradient);
      else CHECK(call(&r, false) == ATLED_OK);
      status = step(&r, k);
    }
    CHECK(status == ATLED_OK);
    if (status != ATLED_OK)
      fprintf(stderr, "without %s, n = %lld, step %d: %s\n", way_names[way], (long long)n, k,
              atled_error(r.vm) ? atled_error(r.vm)->message : "no error");
    if (k == 4) r.factor = 2;
  }
  failing_at(&r.memory, r.vm, way, 0);
  int64_t granted = r.memory.granted - before;
  atled_release(r.f);
  CHECK(atled_live_objects(r.vm) > 0); /* the model's */
  atled_free(r.vm);
  if (r.memory.bytes != 0) fprintf(stderr, "without %s, n = %lld: memory is left\n", way_names[way], (long long)n);
  CHECK(r.memory.bytes == 0);
  return granted;
}

int main(int argc, char **argv) {
  int64_t stride = argc > 1 && strcmp(argv[1], "all") == 0 ? 1 : 7, runs = 0;
  char cache[] = "/tmp/atled-native-XXXXXX", command[128];
  if (!mkdtemp(cache)) return 1;
  setenv("ATLED_CACHE", cache, 1); /* all is compiled once */
  for (Way way = 0; way < WAYS; way++)
    for (int64_t n = 1 + (int64_t)way, last = run(way, 0); n <= last; n += stride, runs++) run(way, n);
  snprintf(command, sizeof command, "rm -rf %s", cache);
  if (system(command) != 0) return 1;
  printf("%lld runs\n", (long long)runs);
  return check_result();
}
