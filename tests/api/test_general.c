/* SPDX-License-Identifier: MIT */
/* The general form of native pointers: scalars, arrays, records, results in the host's buffers, errors, time limits. */
#include "check.h"
#include <atled.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int32_t (*General)(AtledFunction *self, const AtledNativeArg *args, size_t nargs, AtledNativeResult *results,
                           size_t nresults);
#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define CALL(f, p) (p)(f, args, COUNT(args), results, COUNT(results))

static int64_t granted; /* blocks of the VM's allocator, by all threads */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  if (new_size > old_size) __atomic_add_fetch(&granted, 1, __ATOMIC_RELAXED);
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}

static AtledVM *new_vm(double time_limit) {
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = allocate;
  config.time_limit = time_limit;
  AtledVM *vm = atled_new(&config);
  CHECK(vm != NULL);
  return vm;
}

static void succeed(AtledVM *vm, AtledStatus status) {
  CHECK(status == ATLED_OK);
  if (status != ATLED_OK && atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
}

static AtledFunction *look_up(AtledVM *vm, const char *expression, const char *type, General *p) {
  AtledFunction *f = NULL;
  AtledNative native = {0};
  succeed(vm, atled_get(vm, expression, type, &f));
  succeed(vm, atled_native(f, ATLED_GENERAL, &native));
  *p = native.general;
  return f;
}

static void check_error(const AtledFunction *f, int32_t status, int32_t expected, const char *kind,
                        const char *message) {
  const AtledDiagnostic *e = atled_native_error(f);
  CHECK(status == expected && e);
  if (!e) return;
  CHECK_STR(e->kind, kind);
  if (message) CHECK_STR(e->message, message);
}

/* ---- Scalars and records ----------------------------------------------------------------------------------------- */
static void test_scalars(void) {
  AtledVM *vm = new_vm(0);
  succeed(vm, atled_eval(vm, "model", "type p = {z : float, a : int, m : bool * float}"));
  General p;
  AtledFunction *f = look_up(vm, "fun k r -> ({r with a = r.a * k, m = (not (fst r.m), snd r.m + r.z)}, k > 2)",
                             "int -> p -> p * bool", &p);
  /* k; a, m.0, m.1, z */
  AtledNativeArg args[] = {
      {.as.integer = 3}, {.as.integer = 5}, {.as.integer = 7}, {.as.number = 0.5}, {.as.number = 2}};
  AtledNativeResult results[5];
  memset(results, -1, sizeof results);
  CHECK(CALL(f, p) == ATLED_OK);
  CHECK(results[0].as.integer == 15 && results[1].as.integer == 0 && results[2].as.number == 2.5);
  CHECK(results[3].as.number == 2 && results[4].as.integer == 1);
  args[2].as.integer = 0;
  CHECK(CALL(f, p) == ATLED_OK && results[1].as.integer == 1);
  check_error(f, p(f, args, 4, results, 5), ATLED_BAD_ARGUMENT, "shape",
              "the function has 5 arguments and 5 results, not 4 and 5");
  check_error(f, p(f, args, 5, results, 6), ATLED_BAD_ARGUMENT, "shape", NULL);
  check_error(f, p(f, NULL, 5, results, 5), ATLED_BAD_ARGUMENT, "shape", "the array of arguments or results is NULL");
  check_error(f, p(f, args, 5, NULL, 5), ATLED_BAD_ARGUMENT, "shape", NULL);
  CHECK(results[0].as.integer == 15); /* failures leave results */
  AtledFunction *none = look_up(vm, "fun () -> 1.5", "unit -> float", &p);
  CHECK(p(none, NULL, 0, results, 1) == ATLED_OK && results[0].as.number == 1.5);
  atled_release(none);
  atled_release(f);
  atled_free(vm);
}

/* One handle has several pointers. */
static void test_forms(void) {
  AtledVM *vm = new_vm(0);
  General p;
  AtledFunction *f = look_up(vm, "fun x -> x * x", "float -> float", &p);
  AtledNative native;
  succeed(vm, atled_native(f, ATLED_VALUE, &native));
  AtledNativeArg args[] = {{.as.number = 3}};
  AtledNativeResult results[1];
  CHECK(CALL(f, p) == ATLED_OK && results[0].as.number == 9 && native.value(f, &args[0].as.number, 1) == 9);
  succeed(vm, atled_replace(f, "fun x -> -x"));
  CHECK(CALL(f, p) == ATLED_OK && results[0].as.number == -3 && native.value(f, &args[0].as.number, 1) == -3);
  atled_release(f);
  atled_free(vm);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
static void test_arrays(void) {
  AtledVM *vm = new_vm(0);
  General p;
  AtledFunction *f =
      look_up(vm, "fun m v -> (m @ v, transpose m, length v)", "float[][] -> float[] -> float[] * float[][] * int", &p);
  double m[2][3] = {{1, 2, 3}, {4, 5, 6}}, v[3] = {1, 10, 100}, w[2], t[3][2];
  int64_t two_three[] = {2, 3}, three_two[] = {3, 2}, two = 2, three = 3, less = -1, huge[] = {1 << 30, 1 << 30};
  AtledNativeArg args[] = {{.as.data = m, .dims = two_three}, {.as.data = v, .dims = &three}};
  AtledNativeResult results[] = {{.as.data = w, .dims = &two}, {.as.data = t, .dims = three_two}, {.as.integer = 0}};
  CHECK(CALL(f, p) == ATLED_OK && w[0] == 321 && w[1] == 654 && results[2].as.integer == 3);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) CHECK(t[i][j] == m[j][i]);
  w[0] = 7;
  results[1].dims = two_three;
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape",
              "result 2: a buffer of 3 x 2 elements is needed, not of 2 x 3");
  results[1].dims = NULL;
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape", "result 2: the dimensions are NULL");
  CHECK(w[0] == 7);
  results[1].as.data = NULL; /* not wanted */
  CHECK(CALL(f, p) == ATLED_OK && w[0] == 321);
  args[1].dims = &two;
  check_error(f, CALL(f, p), ATLED_RUNTIME_ERROR, "shape", NULL);
  args[1].dims = NULL;
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape", "argument 2: the dimensions are NULL");
  args[1].dims = &less;
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape", "argument 2: a dimension is negative");
  args[1] = (AtledNativeArg){.dims = &three};
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape", "argument 2: the array is NULL");
  args[0].dims = huge;
  check_error(f, CALL(f, p), ATLED_BAD_ARGUMENT, "shape", "argument 1: an array of so many elements is too large");
  CHECK(atled_native_error(f) == NULL);
  atled_release(f);
  atled_free(vm);
}

/* A C structure is a record, if its members are in alphabetical order. */
typedef struct Body {
  double mass;
  double position[2];
} Body;
typedef struct Pair {
  int64_t count;
  double weight;
} Pair;

static void test_elements(void) {
  AtledVM *vm = new_vm(0);
  General p;
  succeed(vm, atled_eval(vm, "model",
                         "type body = {position : float * float, mass : float}\n"
                         "type pair = {weight : float, count : int}"));
  AtledFunction *f =
      look_up(vm,
              "fun bodies xs -> ([ (let b = bodies[i] in {weight = b.mass * fst b.position, count = xs[i] + "
              "int (snd b.position)}) | i < length xs ], [ -x | x in xs ])",
              "body[] -> int[] -> pair[] * int[]", &p);
  Body bodies[] = {{2, {3, 4}}, {5, {6, 7}}};
  int64_t ints[] = {10, -20}, two = 2, negated[2];
  Pair pairs[2] = {{0}};
  AtledNativeArg args[] = {{.as.data = bodies, .dims = &two}, {.as.data = ints, .dims = &two}};
  AtledNativeResult results[] = {{.as.data = pairs, .dims = &two}, {.as.data = negated, .dims = &two}};
  CHECK(CALL(f, p) == ATLED_OK);
  CHECK(pairs[0].weight == 6 && pairs[0].count == 14 && pairs[1].weight == 30 && pairs[1].count == -13);
  CHECK(negated[0] == -10 && negated[1] == 20);
  atled_release(f);
  atled_free(vm);
}

/* Buffers that are arguments, where results hand arguments on. */
static void test_in_place(void) {
  AtledVM *vm = new_vm(0);
  General p, q, r;
  AtledFunction *step = look_up(vm, "fun w -> (let mut v = w in v[0] <- v[0] + 1.0; v)", "float[] -> float[]", &p);
  AtledFunction *swap = look_up(vm, "fun a b -> (b, a)", "float[] -> float[] -> float[] * float[]", &q);
  AtledFunction *parts = look_up(vm, "fun a -> (a[2..4], a[0..2])", "float[] -> float[] * float[]", &r);
  double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  int64_t four = 4, two = 2;
  {
    AtledNativeArg args[] = {{.as.data = a, .dims = &four}};
    AtledNativeResult results[] = {{.as.data = a, .dims = &four}};
    for (int k = 0; k < 5; k++) CHECK(CALL(step, p) == ATLED_OK);
    CHECK(a[0] == 6 && a[3] == 4);
  }
  {
    AtledNativeArg args[] = {{.as.data = a, .dims = &four}, {.as.data = b, .dims = &four}};
    AtledNativeResult results[] = {{.as.data = a, .dims = &four}, {.as.data = b, .dims = &four}};
    CHECK(CALL(swap, q) == ATLED_OK && a[0] == 5 && a[3] == 8 && b[0] == 6 && b[3] == 4);
  }
  {
    AtledNativeArg args[] = {{.as.data = a, .dims = &four}};
    AtledNativeResult results[] = {{.as.data = a, .dims = &two}, {.as.data = a + 2, .dims = &two}};
    CHECK(CALL(parts, r) == ATLED_OK && a[0] == 7 && a[1] == 8 && a[2] == 5 && a[3] == 6);
  }
  atled_release(parts);
  atled_release(swap);
  atled_release(step);
  atled_free(vm);
}

/* The host's allocator isn't called once a thread's calls have warmed up, with a time limit or without. */
static void test_memory(double time_limit) {
  AtledVM *vm = new_vm(time_limit);
  General p;
  AtledFunction *f = look_up(vm, "fun w x -> (let y = map tanh (w @ x) in (y, [ a * a | a in y ], sum y))",
                             "float[][] -> float[] -> float[] * float[] * float", &p);
  double w[20][20], x[20], y[20], z[20];
  int64_t square[] = {20, 20}, n = 20, before = 0;
  for (int i = 0; i < 400; i++) w[i / 20][i % 20] = i % 20 == i / 20, x[i % 20] = 0.1 * (i % 20);
  AtledNativeArg args[] = {{.as.data = w, .dims = square}, {.as.data = x, .dims = &n}};
  AtledNativeResult results[] = {{.as.data = y, .dims = &n}, {.as.data = z, .dims = &n}, {.as.integer = 0}};
  for (int k = 0; k < 2000; k++) {
    CHECK(CALL(f, p) == ATLED_OK);
    if (k == 100) before = granted;
  }
#if !defined __SANITIZE_ADDRESS__ /* whose builds give no block twice */
  CHECK(granted == before);
#endif
  for (int i = 0; i < 20; i++) CHECK(fabs(y[i] - tanh(x[i])) < 1e-14 && fabs(z[i] - y[i] * y[i]) < 1e-14);
  atled_release(f);
  atled_free(vm);
}

/* ---- What is refused --------------------------------------------------------------------------------------------- */
static void refused(AtledVM *vm, const char *expression, const char *type, const char *message) {
  AtledFunction *f;
  AtledNative p;
  succeed(vm, atled_get(vm, expression, type, &f));
  CHECK(atled_native(f, ATLED_GENERAL, &p) == ATLED_BAD_ARGUMENT && !p.general);
  CHECK(atled_error(vm) && strstr(atled_error(vm)->message, message));
  if (atled_error(vm) && !strstr(atled_error(vm)->message, message)) fputs(atled_error(vm)->rendered, stderr);
  atled_release(f);
}

static void test_refused(void) {
  AtledVM *vm = new_vm(0);
  refused(vm, "fun s -> 1.0", "string -> float", "`string -> float` has something else");
  refused(vm, "fun x -> [ x > 0.0 ]", "float -> bool[]", "has something else");
  refused(vm, "fun g -> g 1.0", "(float -> float) -> float", "has something else");
  refused(vm, "fun x -> Some x", "float -> float option", "has something else");
  refused(vm, "fun xs -> [ [ \"a\" ] | x in xs ]", "float[] -> string[][]", "has something else");
  refused(vm, "fun x -> let () = print x in x", "int -> int", "has an effect (`print`)");
  refused(vm, "fun n -> Str.length (show n)", "int -> int", "works on text");
  refused(vm, "2", "int", "a value has no native pointer");
  atled_free(vm);
}

/* ---- Errors and limits ------------------------------------------------------------------------------------------- */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const double LIMIT = 0.4;
typedef struct Spin {
  AtledFunction *f;
  General p;
  bool right;
} Spin;

/* One call: does it give n, or end when its time is over, and not much later? */
static bool ends_rightly(const Spin *s, int64_t n) {
  AtledNativeArg args[] = {{.as.integer = n}};
  AtledNativeResult results[1] = {{.as.integer = 0}};
  double start = seconds();
  int32_t status = CALL(s->f, s->p);
  double took = seconds() - start;
  const AtledDiagnostic *e = atled_native_error(s->f);
  if (status == ATLED_OK) return !e && results[0].as.integer == n;
  return status == ATLED_RUNTIME_ERROR && e && strcmp(e->kind, "time") == 0 && took >= LIMIT * 0.99 &&
         took < LIMIT + 10;
}

/* Calls that end by themselves, unless the system is that slow, and calls that only the limit ends, in turn. */
static void *spin(void *arg) {
  Spin *s = arg;
  s->right = true;
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 100; i++) s->right &= ends_rightly(s, 1000);
    s->right &= ends_rightly(s, -1);
  }
  return NULL;
}

/* Without a limit: what is compiled then is in the cache. */
static void compile(const char *source) {
  AtledVM *vm = new_vm(0);
  General p;
  succeed(vm, atled_eval(vm, "model", source));
  atled_release(look_up(vm, "spin", "int -> int", &p));
  atled_free(vm);
}

static void test_time_limit(const char *source) {
  enum { THREADS = 4 };
  AtledVM *vm = new_vm(LIMIT);
  Spin all[THREADS];
  pthread_t threads[THREADS];
  compile(source);
  while (atled_eval(vm, "model", source) != ATLED_OK) CHECK(strcmp(atled_error(vm)->kind, "time") == 0);
  for (int k = 0; k < THREADS; k++) {
    AtledNative native;
    while (atled_get(vm, "spin", "int -> int", &all[k].f) != ATLED_OK) {}
    while (atled_native(all[k].f, ATLED_GENERAL, &native) != ATLED_OK)
      CHECK(strcmp(atled_error(vm)->kind, "time") == 0);
    all[k].p = native.general;
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_create(&threads[k], NULL, spin, &all[k]) == 0);
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(threads[k], NULL) == 0 && all[k].right);
  for (int k = 0; k < THREADS; k++) atled_release(all[k].f);
  atled_free(vm);
}

static void test_errors(void) {
  AtledVM *vm = new_vm(0);
  General p;
  succeed(vm, atled_eval(vm, "model.atl",
                         "let rec deep n = if n = 0 then 0 else 1 + deep (n - 1)\n"
                         "let pick xs i = xs[i]"));
  AtledFunction *f = look_up(vm, "deep", "int -> int", &p);
  AtledNativeArg args[] = {{.as.integer = 100000000}, {.as.integer = 0}};
  AtledNativeResult results[1] = {{.as.integer = 77}};
  check_error(f, p(f, args, 1, results, 1), ATLED_RUNTIME_ERROR, "stack", NULL);
  CHECK(results[0].as.integer == 77);
  args[0].as.integer = 10;
  CHECK(p(f, args, 1, results, 1) == ATLED_OK && results[0].as.integer == 10);
  atled_release(f);
  f = look_up(vm, "pick", "float[] -> int -> float", &p);
  double x = 1.5;
  int64_t one = 1;
  args[0] = (AtledNativeArg){.as.data = &x, .dims = &one};
  args[1].as.integer = 4;
  check_error(f, CALL(f, p), ATLED_RUNTIME_ERROR, "index", "index 4 is out of bounds for an array of length 1");
  args[1].as.integer = 0;
  CHECK(CALL(f, p) == ATLED_OK && results[0].as.number == 1.5 && !atled_native_error(f));
  atled_release(f);
  atled_free(vm);
}

int main(void) {
  char cache[] = "/tmp/atled-general-XXXXXX", command[128];
  if (!mkdtemp(cache)) return 1;
  setenv("ATLED_CACHE", cache, 1);
  alarm(380); /* what hangs fails */
  test_scalars();
  test_forms();
  test_arrays();
  test_elements();
  test_in_place();
  test_memory(0);
  test_memory(10);
  test_refused();
  test_errors();
  test_time_limit("let spin n =\n  let mut k = 0 in\n  while not (k = n) do k <- if n < 0 then (k * 3 + 1) % 1000 else "
                  "k + 1 done;\n"
                  "  k");
  test_time_limit("let rec go k n = if k = n then k else go (if n < 0 then (k * 3 + 1) % 1000 else k + 1) n\n"
                  "let spin n = go 0 n");
  snprintf(command, sizeof command, "rm -rf %s", cache);
  if (system(command) != 0) return 1;
  return check_result();
}
