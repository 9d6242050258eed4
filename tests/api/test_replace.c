/* SPDX-License-Identifier: MIT */
/* Other functions in handles' places: what calls and native pointers give then, what stays after errors, threads that
 * call one pointer meanwhile, and what many replacements leave.
 *
 * usage: api_replace [REPLACEMENTS [GROWTH]]     while threads call; without threads (1,000 and 10,000, say) */
#include "check.h"
#include "new_vm.h"
#include "growth.h"
#include <atled.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void succeed(AtledVM *vm, AtledStatus status) {
  CHECK(status == ATLED_OK);
  if (status != ATLED_OK && atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
}

static void define(AtledVM *vm, const char *source) { succeed(vm, atled_eval(vm, "model.atl", source)); }

static AtledFunction *look_up(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  succeed(vm, atled_get(vm, expression, type, &f));
  return f;
}

static double call(AtledVM *vm, AtledFunction *f, double x) {
  double y = NAN;
  succeed(vm, atled_call_double(f, &x, 1, &y));
  return y;
}

static void fails(AtledVM *vm, AtledFunction *f, const char *expression, const char *kind, const char *message) {
  CHECK(atled_replace(f, expression) != ATLED_OK);
  const AtledDiagnostic *e = atled_error(vm);
  CHECK(e != NULL);
  if (!e) return;
  CHECK_STR(e->kind, kind);
  if (!strstr(e->message, message)) fprintf(stderr, "%s: %s\n", expression, e->message);
  CHECK(strstr(e->message, message) != NULL);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */
static void test_handle(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  define(vm, "# Twice.\nlet double x = 2.0 * x");
  AtledFunction *f = look_up(vm, "double", "float -> float");
  const AtledSignature *s;
  CHECK(call(vm, f, 3) == 6);
  define(vm, "# Threefold.\nlet double times = 3.0 * times");
  CHECK(call(vm, f, 3) == 6);
  succeed(vm, atled_replace(f, "double"));
  CHECK(call(vm, f, 3) == 9);
  succeed(vm, atled_signature(f, &s));
  CHECK_STR(s->doc, "Threefold.");
  CHECK_STR(s->parameters[0].name, "times");
  fails(vm, f, "fun x -> x +", "syntax", "");
  fails(vm, f, "fun x -> length x", "type-mismatch", "");
  fails(vm, f, "no_such_name", "unbound-name", "no_such_name");
  fails(vm, f, "let k = [1.0][3] in fun x -> k", "index", "index 3");
  CHECK(call(vm, f, 3) == 9);
  CHECK(atled_replace(f, NULL) == ATLED_BAD_ARGUMENT && atled_error(vm));
  CHECK(atled_replace(NULL, "double") == ATLED_BAD_ARGUMENT);
  succeed(vm, atled_replace(f, "grad double"));
  CHECK(call(vm, f, 3) == 3);
  atled_release(f);
  atled_free(vm);
}

/* An error of the new function is shown in its own source. */
static void test_places(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f = look_up(vm, "fun xs -> xs[0]", "float[] -> float");
  succeed(vm, atled_replace(f, "fun xs ->\n  xs[7]"));
  AtledValue xs = atled_floats(NULL, 0), y;
  CHECK(atled_call(f, &xs, 1, &y) == ATLED_RUNTIME_ERROR);
  CHECK(atled_error(vm)->line == 2 && strstr(atled_error(vm)->rendered, "xs[7]"));
  atled_release(f);
  atled_free(vm);
}

/* A type that isn't given is the first function's. */
static void test_types(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  define(vm, "type tree = Leaf of float | Node of (tree * tree)\ntype point = {x : float}\n"
             "let rec total t = match t with Leaf x -> x | Node (a, b) -> total a + total b\nlet get p = p.x");
  AtledFunction *f = look_up(vm, "total", NULL), *g = look_up(vm, "get", "point -> float");
  succeed(vm, atled_replace(f, "fun t -> 2.0 * total t"));
  AtledValue one = atled_float(1.5), leaf = atled_variant("Leaf", &one), y;
  succeed(vm, atled_call(f, &leaf, 1, &y));
  CHECK(y.as.number == 3);
  define(vm, "type point = {x : float, y : float}\nlet get p = p.y");
  fails(vm, g, "get", "bad-argument", "a type in `point -> float` isn't what it was");
  const char *x = "x";
  AtledValue point = atled_record(&x, &one, 1);
  succeed(vm, atled_call(g, &point, 1, &y));
  CHECK(y.as.number == 1.5);
  atled_release(f);
  atled_release(g);
  atled_free(vm);
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
/* Constants of a function that is gone, in its last result and in kept ones. */
static void test_results(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = look_up(vm, "fun n -> (\"the first\", [ 1.5, n ])", "float -> string * float[]");
  AtledValue n = atled_float(1), first, second, third;
  AtledKept *kept, *later;
  succeed(vm, atled_call(f, &n, 1, &first));
  succeed(vm, atled_replace(f, "fun n -> (\"the second\", [ 2.5, n ])"));
  succeed(vm, atled_replace(f, "fun n -> (\"the third\", [ 3.5, n ])"));
  CHECK_STR(first.as.items[0].as.string, "the first");
  succeed(vm, atled_keep(f, &kept));
  succeed(vm, atled_call(f, &n, 1, &third));
  CHECK_STR(third.as.items[0].as.string, "the third");
  succeed(vm, atled_replace(f, "fun n -> (\"the fourth\", [ n ])"));
  succeed(vm, atled_call(f, &n, 1, &second));
  succeed(vm, atled_keep(f, &later));
  CHECK_STR(second.as.items[0].as.string, "the fourth");
  CHECK_STR(first.as.items[0].as.string, "the first");
  atled_release(f);
  CHECK_STR(second.as.items[0].as.string, "the fourth");
  CHECK(first.as.items[1].as.floats[0] == 1.5);
  atled_drop(later);
  atled_drop(kept);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* The last result becomes an argument, and is updated in place. */
static void test_step(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *step = look_up(vm, "fun w -> (let mut v = w in v[0] <- v[0] + 1.0; v)", "float[] -> float[]");
  double start[2] = {0, 5};
  AtledValue w = atled_floats(start, 2);
  for (int k = 0; k < 10; k++) {
    succeed(vm, atled_call(step, &w, 1, &w));
    succeed(vm, atled_replace(step, k % 2 ? "fun w -> (let mut v = w in v[0] <- v[0] + 1.0; v)"
                                          : "fun w -> (let mut v = w in v[0] <- v[0] + 10.0; v)"));
  }
  CHECK(w.as.floats[0] == 5 * 1 + 5 * 10 && w.as.floats[1] == 5);
  atled_release(step);
  atled_free(vm);
}

/* A handle without arguments: the host's value is the old one until the next call. */
static void test_value(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f = look_up(vm, "\"one\"", "string");
  AtledValue v, w;
  succeed(vm, atled_call(f, NULL, 0, &v));
  succeed(vm, atled_replace(f, "\"two\""));
  succeed(vm, atled_replace(f, "\"three\""));
  CHECK_STR(v.as.string, "one");
  succeed(vm, atled_call(f, NULL, 0, &w));
  CHECK_STR(w.as.string, "three");
  succeed(vm, atled_replace(f, "\"four\" ++ \"!\""));
  CHECK_STR(w.as.string, "three");
  succeed(vm, atled_call(f, NULL, 0, &v));
  CHECK_STR(v.as.string, "four!");
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- Native pointers --------------------------------------------------------------------------------------------- */
static void test_native(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  AtledFunction *f = look_up(vm, "fun x -> x * x", "float -> float");
  AtledNative p;
  succeed(vm, atled_native(f, ATLED_VALUE, &p));
  double x = 3;
  CHECK(p.value(f, &x, 1) == 9);
  succeed(vm, atled_replace(f, "fun x -> [ x, 7.0 ][int x % 2]"));
  CHECK(p.value(f, &x, 1) == 7 && call(vm, f, 3) == 7);
  fails(vm, f, "fun x -> let () = print x in x", "bad-argument", "has an effect (`print`)");
  fails(vm, f, "fun x -> (x, x)", "type-mismatch", "");
  CHECK(p.value(f, &x, 1) == 7 && call(vm, f, 3) == 7);
  atled_set_jit(vm, ATLED_JIT_OFF);
  fails(vm, f, "fun x -> x", "bad-argument", "ATLED_JIT_OFF");
  CHECK(p.value(f, &x, 1) == 7);
  atled_release(f);
  atled_free(vm);
}

enum { THREADS = 8, LENGTH = 16 };
/* Two versions of a script: what they give for xs differs in value and gradient. */
static const char *const versions[] = {
    "let table = [ float i | i < 100 ]\nlet loss xs = sum [ x * x | x in xs ] + sum table",
    "let table = [ 1.0 | i < 50 ]\nlet loss xs = sum [ 3.0 * x | x in xs ] + sum table"};
typedef struct Team {
  AtledFunction *f;
  double (*gradient)(AtledFunction *self, const double *x, size_t n, double *g);
  int64_t calls, wrong, seen[2];
  bool end;
} Team;

/* Which version gave these; -1: neither. The numbers are exact. */
static int version_of(double x, double y, const double *g) {
  bool first = y == LENGTH * x * x + 4950, second = y == LENGTH * 3 * x + 50;
  for (int i = 0; i < LENGTH; i++) first &= g[i] == 2 * x, second &= g[i] == 3;
  return first ? 0 : second ? 1 : -1;
}

static void *call_often(void *arg) {
  Team *team = arg;
  for (int k = 0; !__atomic_load_n(&team->end, __ATOMIC_ACQUIRE); k++) {
    double x[LENGTH], g[LENGTH];
    for (int i = 0; i < LENGTH; i++) x[i] = k % 1000;
    double y = team->gradient(team->f, x, LENGTH, g);
    int version = version_of(x[0], y, g);
    __atomic_add_fetch(version < 0 ? &team->wrong : &team->seen[version], 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&team->calls, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void test_threads(int replacements) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, versions[0]);
  Team team = {.f = look_up(vm, "value_and_grad loss", "float[] -> float * float[]")};
  AtledNative p;
  succeed(vm, atled_native(team.f, ATLED_GRADIENT, &p));
  team.gradient = p.gradient;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, call_often, &team) == 0);
  for (int k = 1; k <= replacements; k++) {
    define(vm, versions[k % 2]);
    succeed(vm, atled_replace(team.f, "value_and_grad loss"));
    double x[LENGTH] = {0}, g[LENGTH];
    CHECK(version_of(0, p.gradient(team.f, x, LENGTH, g), g) == k % 2); /* after the return it is the new one */
  }
  while (__atomic_load_n(&team.calls, __ATOMIC_RELAXED) < 1000) usleep(1000);
  __atomic_store_n(&team.end, true, __ATOMIC_RELEASE);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("%lld calls, %lld of the first version, %lld of the second\n", (long long)team.calls, (long long)team.seen[0],
         (long long)team.seen[1]);
  CHECK(team.wrong == 0 && team.seen[0] > 0 && team.seen[1] > 0);
  atled_release(team.f);
  atled_free(vm);
}

/* A call that is under way, of an old function, ends as one of that. */
typedef struct Slow {
  AtledFunction *f;
  double (*value)(AtledFunction *self, const double *x, size_t n);
  double y;
  bool begun;
} Slow;

static void *call_slowly(void *arg) {
  Slow *s = arg;
  double x = 3e7;
  __atomic_store_n(&s->begun, true, __ATOMIC_RELEASE);
  s->y = s->value(s->f, &x, 1);
  return NULL;
}

static void test_under_way(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  const char *count = "fun n -> (let mut k = 0.0 in while k < n do k <- k + 1.0 - 0.0 * sin k done; k)";
  Slow s = {.f = look_up(vm, count, "float -> float")};
  AtledNative p;
  succeed(vm, atled_native(s.f, ATLED_VALUE, &p));
  s.value = p.value;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, call_slowly, &s) == 0);
  while (!__atomic_load_n(&s.begun, __ATOMIC_ACQUIRE)) usleep(100);
  usleep(10000);
  double x = 3;
  for (int k = 0; k < 5; k++) {
    succeed(vm, atled_replace(s.f, "fun n -> -n"));
    CHECK(p.value(s.f, &x, 1) == -3);
  }
  pthread_join(thread, NULL);
  CHECK(s.y == 3e7);
  atled_release(s.f);
  atled_free(vm);
}

/* ---- Growth ------------------------------------------------------------------------------------------------------ */
typedef struct Replaced {
  AtledVM *vm;
  AtledFunction *f;
  AtledNative p;
  bool native;
} Replaced;

static void replace_once(void *arg, int i) {
  Replaced *r = arg;
  succeed(r->vm, atled_replace(r->f, i % 2 ? "fun x -> sum (x * table)" : "fun x -> sum [ k - x | k in table ]"));
  double x = 2, y = r->native ? r->p.value(r->f, &x, 1) : call(r->vm, r->f, x);
  CHECK(y == (i % 2 ? 12 : 0));
}

static void fail_once(void *arg, int i) {
  Replaced *r = arg;
  CHECK(atled_replace(r->f, i % 3 == 0 ? "fun x -> y" : i % 3 == 1 ? "fun x -> (" : "fun x -> \"\"") != ATLED_OK);
}

static void test_growth(int n, bool native, bool show) {
  Replaced r = {.vm = new_vm(native ? ATLED_JIT_AUTO : ATLED_JIT_OFF), .native = native};
  define(r.vm, "let table = [ 1.0, 2.0, 3.0 ]");
  r.f = look_up(r.vm, "fun x -> x", "float -> float");
  if (native) succeed(r.vm, atled_native(r.f, ATLED_VALUE, &r.p));
  int64_t live = atled_live_objects(r.vm);
  check_growth(native ? "native replacement" : "replacement", replace_once, &r, n, show);
  check_growth("failed replacement", fail_once, &r, n, show);
  CHECK(atled_live_objects(r.vm) <= live + 4);
  atled_release(r.f);
  atled_free(r.vm);
}

int main(int argc, char **argv) {
  int replacements = argc > 1 ? atoi(argv[1]) : 200, growth = argc > 2 ? atoi(argv[2]) : 500;
  char cache[] = "/tmp/atled-replace-XXXXXX", command[128];
  if (!mkdtemp(cache)) return 1;
  setenv("ATLED_CACHE", cache, 1); /* each version is compiled once */
  alarm(argc > 1 ? 7200 : 380);    /* what hangs fails */
  for (AtledJit jit = ATLED_JIT_AUTO; jit <= ATLED_JIT_ALWAYS; jit++) {
    test_handle(jit);
    test_results(jit);
    test_step(jit);
  }
  test_places();
  test_types();
  test_value();
  test_native();
  test_under_way();
  test_threads(replacements);
  test_growth(growth, false, argc > 2);
  test_growth(growth, true, argc > 2);
  snprintf(command, sizeof command, "rm -rf %s", cache);
  if (system(command) != 0) return 1;
  return check_result();
}
