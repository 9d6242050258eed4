/* SPDX-License-Identifier: MIT */
/* Native pointers: values and gradients against formulas, what is refused, errors, threads that call while others do,
 * and what stays when they are gone.
 *
 * usage: api_native [CALLS] */
#include "check.h"
#include "new_vm.h"
#include <atled.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void define(AtledVM *vm, const char *source) {
  CHECK(atled_eval(vm, "model.atl", source) == ATLED_OK);
  if (atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
}

static AtledFunction *look_up(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, type, &f) == ATLED_OK);
  if (atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
  return f;
}

static AtledNative pointer_of(AtledVM *vm, AtledFunction *f, AtledForm form) {
  AtledNative p;
  CHECK(atled_native(f, form, &p) == ATLED_OK);
  if (atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
  return p;
}

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-12 * (1 + fabs(b)); }

/* ---- Values and gradients ---------------------------------------------------------------------------------------- */
static void test_scalars(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  define(vm, "let loss (x, y, z) = x * y + y * y * z");
  AtledFunction *f = look_up(vm, "fun x y z -> loss (x, y, z)", "float -> float -> float -> float");
  AtledFunction *df = look_up(vm, "value_and_grad loss", "float * float * float -> float * (float * float * float)");
  AtledNative value = pointer_of(vm, f, ATLED_VALUE), gradient = pointer_of(vm, df, ATLED_GRADIENT);
  for (int k = 0; k < 10; k++) {
    double x[] = {1.5 + k, -2, 3}, g[3] = {0};
    double expected = x[0] * x[1] + x[1] * x[1] * x[2];
    CHECK(close_to(value.value(f, x, 3), expected));
    CHECK(close_to(gradient.gradient(df, x, 3, g), expected));
    CHECK(close_to(g[0], x[1]) && close_to(g[1], x[0] + 2 * x[1] * x[2]) && close_to(g[2], x[1] * x[1]));
    CHECK(close_to(gradient.gradient(df, x, 3, NULL), expected));
    CHECK(close_to(gradient.gradient(df, x, 3, x), expected) && close_to(x[2], 4)); /* the results may replace x */
  }
  CHECK(atled_native_error(f) == NULL);
  double x[] = {1, 2, 3, 4};
  CHECK(isnan(value.value(f, x, 4)));
  const AtledDiagnostic *e = atled_native_error(f);
  CHECK(e && strcmp(e->kind, "shape") == 0);
  if (e) CHECK_STR(e->message, "the function takes 3 numbers, not 4");
  CHECK(atled_native_error(f) == NULL);
  atled_release(f);
  atled_release(df);
  atled_free(vm);
}

static void test_arrays(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "let loss xs = sum [ (xs[i] - 1.0) ^ 2 * float (i + 1) | i < length xs ]");
  AtledFunction *f = look_up(vm, "loss", "float[] -> float");
  AtledFunction *df = look_up(vm, "value_and_grad loss", "float[] -> float * float[]");
  AtledNative value = pointer_of(vm, f, ATLED_VALUE), gradient = pointer_of(vm, df, ATLED_GRADIENT);
  size_t before = 0;
  for (size_t n = 0; n < 200; n++) {
    double x[200], g[200], expected = 0;
    for (size_t i = 0; i < n; i++) {
      x[i] = 0.1 * (double)i;
      expected += (x[i] - 1) * (x[i] - 1) * (double)(i + 1);
    }
    CHECK(close_to(value.value(f, x, n), expected) && close_to(gradient.gradient(df, x, n, g), expected));
    for (size_t i = 0; i < n; i++) CHECK(close_to(g[i], 2 * (x[i] - 1) * (double)(i + 1)));
    if (n == 199) before = atled_memory_used(vm);
  }
  double x[199] = {0}, g[199];
  for (int k = 0; k < 1000; k++) gradient.gradient(df, x, 199, g);
  CHECK(atled_memory_used(vm) == before);
  atled_release(df);
  atled_release(f);
  atled_free(vm);
}

/* Captures and globals of all kinds are the values that they were. */
static void test_captured(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "type shape = Circle of float | Square of float * float\n"
             "let scale = [ float i | i < 100 ]\n"
             "let shapes = [ if i % 2 = 0 then Circle (float i) else Square (float i, 2.0) | i < 10 ]\n"
             "let area s = match s with | Circle r -> r * r | Square (a, b) -> a * b\n"
             "let make k = fun x -> x * k + sum scale\n"
             "let model = make (float (length shapes))\n"
             "let total x = x * sum [ area s | s in shapes ] + model x");
  AtledFunction *f = look_up(vm, "total", "float -> float");
  AtledNative p = pointer_of(vm, f, ATLED_VALUE);
  double x = 2, expected = 2 * (0 + 2 + 4 + 6 + 16 + 10 + 36 + 14 + 64 + 18) + 20 + 4950;
  CHECK(p.value(f, &x, 1) == expected);
  define(vm, "let scale = [ 1.0 ]\nlet model = fun x -> x\nlet total x = x");
  for (int k = 0; k < 100; k++) CHECK(p.value(f, &x, 1) == expected);
  AtledFunction *g = look_up(vm, "total", "float -> float");
  p = pointer_of(vm, g, ATLED_VALUE);
  CHECK(p.value(g, &x, 1) == 2);
  int64_t live = atled_live_objects(vm);
  atled_release(f);
  CHECK(atled_live_objects(vm) < live);
  atled_release(g);
  atled_free(vm);
}

/* Two modules, that of the handle and that of a closure, have a global that holds closures. */
static void test_shared_global(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "let adders = [ (fun x -> x + float i) | i < 3 ]");
  define(vm, "let all = (fun x -> fold (fun s g -> g s) x adders)\nlet pick b = if b then all else (fun x -> x)\n"
             "let chosen = [ pick true, pick false ]");
  AtledFunction *f = look_up(vm, "fun x -> fold (fun s g -> g s) x adders + chosen[0] x", "float -> float");
  AtledNative p = pointer_of(vm, f, ATLED_VALUE);
  double x = 10;
  CHECK(p.value(f, &x, 1) == 13 + 13);
  atled_release(f);
  atled_free(vm);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
static void check_error(const AtledFunction *f, double y, const char *kind, const char *message, int line) {
  const AtledDiagnostic *e = atled_native_error(f);
  CHECK(isnan(y) && e);
  if (!e) return;
  CHECK_STR(e->kind, kind);
  if (message) CHECK_STR(e->message, message);
  CHECK(e->line == line);
  if (line) CHECK_STR(e->file, "model.atl");
}

static void test_errors(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "let pick xs = xs[3]\n"
             "let rec deep x = if x < 0.0 then 0.0 else 1.0 + deep (x + 1.0)\n"
             "let own xs = if xs[0] > 1.0 then fail (\"too \" ++ show xs[0]) else xs[0]\n"
             "let caught xs = match attempt (fun () -> pick xs) with | Ok x -> x | Error e -> -1.0");
  AtledFunction *pick = look_up(vm, "pick", "float[] -> float"), *deep = look_up(vm, "deep", "float -> float");
  AtledFunction *own = look_up(vm, "own", "float[] -> float");
  AtledNative p = pointer_of(vm, pick, ATLED_VALUE), d = pointer_of(vm, deep, ATLED_VALUE);
  AtledNative o = pointer_of(vm, own, ATLED_VALUE);
  double x[] = {1, 2, 3, 4};
  for (int k = 0; k < 3; k++) {
    check_error(pick, p.value(pick, x, 3), "index", "index 3 is out of bounds for an array of length 3", 1);
    CHECK(p.value(pick, x, 4) == 4 && !atled_native_error(pick));
    check_error(deep, d.value(deep, x, 1), "stack", NULL, 2);
    check_error(own, o.value(own, x + 1, 1), "fail", "too 2.0", 3);
    check_error(own, o.value(own, NULL, 1), "shape", "the array of numbers is NULL", 0);
    CHECK(o.value(own, x, 1) == 1);
  }
  AtledFunction *length = look_up(vm, "fun xs -> (1.0, [ 1.0 ])", "float[] -> float * float[]");
  AtledNative g = pointer_of(vm, length, ATLED_GRADIENT);
  double out[2] = {7, 8};
  check_error(length, g.gradient(length, x, 2, out), "shape", "the second result has length 1, and x has length 2", 0);
  CHECK(g.gradient(length, x, 1, out) == 1 && out[0] == 1);
  AtledFunction *all[] = {pick, deep, own, length};
  for (size_t k = 0; k < 4; k++) atled_release(all[k]);
  atled_free(vm);
}

static void refused(AtledVM *vm, const char *expression, const char *type, AtledForm form, const char *message) {
  AtledFunction *f = look_up(vm, expression, type);
  AtledNative p;
  CHECK(atled_native(f, form, &p) == ATLED_BAD_ARGUMENT && !p.value);
  if (!atled_error(vm) || !strstr(atled_error(vm)->message, message))
    fprintf(stderr, "%s: %s\n", expression, atled_error(vm) ? atled_error(vm)->message : "no error");
  CHECK(atled_error(vm) && strstr(atled_error(vm)->message, message));
  atled_release(f);
}

static void test_refused(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "foreign \"libm.so.6\" cbrt : float -> float");
  refused(vm, "fun x -> x", "int -> int", ATLED_VALUE, "to a float");
  refused(vm, "fun x -> x", "float[] -> float[]", ATLED_VALUE, "to a float");
  refused(vm, "fun x -> 1.0", "float[][] -> float", ATLED_VALUE, "to a float");
  refused(vm, "fun x -> (x, x, x)", "float -> float * float * float", ATLED_GRADIENT, "as many");
  refused(vm, "fun x -> x", "float -> float", ATLED_GRADIENT, "as many");
  refused(vm, "fun x -> x", "float -> float", (AtledForm)9, "no form 9");
  refused(vm, "1.0", "float", ATLED_VALUE, "a value has no");
  refused(vm, "fun x -> let () = print x in x", "float -> float", ATLED_VALUE, "has an effect (`print`)");
  refused(vm, "fun x -> float (Str.length (show x))", "float -> float", ATLED_VALUE, "works on text");
  refused(vm, "fun x -> cbrt x", "float -> float", ATLED_VALUE, "calls a C function (`cbrt`)");
  atled_set_jit(vm, ATLED_JIT_OFF);
  refused(vm, "fun x -> x", "float -> float", ATLED_VALUE, "ATLED_JIT_OFF");
  AtledNative p;
  CHECK(atled_native(NULL, ATLED_VALUE, &p) == ATLED_BAD_ARGUMENT && atled_native_error(NULL) == NULL);
  AtledFunction *f = look_up(vm, "fun x -> x", "float -> float");
  CHECK(atled_native(f, ATLED_VALUE, NULL) == ATLED_BAD_ARGUMENT && atled_error(vm));
  CHECK(atled_native_error(f) == NULL);
  atled_release(f);
  atled_free(vm);
}

/* ---- Surroundings ------------------------------------------------------------------------------------------------ */
static void test_surroundings(void) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  AtledFunction *f = look_up(vm, "fun x -> 1.0 / x", "float -> float");
  AtledNative p = pointer_of(vm, f, ATLED_VALUE);
  double three = 3, usual = p.value(f, &three, 1);
  CHECK(fesetround(FE_UPWARD) == 0);
  double upward = p.value(f, &three, 1);
  CHECK(fegetround() == FE_UPWARD && upward > usual); /* 1/3 is rounded down to nearest */
  fesetround(FE_TONEAREST);
  CHECK(atled_call_double(f, &three, 1, &upward) == ATLED_OK && upward == usual);
  atled_release(f);
  atled_free(vm);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */
enum { THREADS = 8 };
typedef struct Team {
  AtledFunction *f, *bad;
  double (*gradient)(AtledFunction *self, const double *x, size_t n, double *g);
  double (*value)(AtledFunction *self, const double *x, size_t n);
  int calls, wrong;
} Team;

/* Each with numbers of its own, and every tenth call fails. */
static void *call_often(void *arg) {
  Team *team = arg;
  double mine = (double)(uintptr_t)pthread_self() * 0x1p-40;
  int wrong = 0;
  for (int k = 0; k < team->calls; k++) {
    double x[3] = {mine, k, 1}, g[3];
    double y = team->gradient(team->f, x, 3, g);
    /* x · x + sum of the table */
    wrong += !close_to(y, mine * mine + (double)k * k + 1 + 4950) || !close_to(g[0], 2 * mine) || g[1] != 2 * k;
    if (k % 10) continue;
    size_t n = (size_t)(k / 10 % 3);
    y = team->value(team->bad, x, n);
    const AtledDiagnostic *e = atled_native_error(team->bad);
    char expected[100];
    snprintf(expected, sizeof expected, "index 7 is out of bounds for an array of length %zu", n);
    if (n == 0) snprintf(expected, sizeof expected, "index 7 is out of bounds for an empty array");
    wrong += !isnan(y) || !e || strcmp(e->message, expected) != 0;
  }
  __atomic_add_fetch(&team->wrong, wrong, __ATOMIC_RELAXED);
  return NULL;
}

/* Eight threads with one pointer that reads a global array, while this one uses the VM. */
static void test_threads(int calls) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, "let table = [ float i | i < 100 ]\n"
             "let loss xs = sum [ x * x | x in xs ] + sum table\n"
             "let pick xs = xs[7]");
  Team team = {.f = look_up(vm, "value_and_grad loss", "float[] -> float * float[]"),
               .bad = look_up(vm, "pick", "float[] -> float"),
               .calls = calls};
  team.gradient = pointer_of(vm, team.f, ATLED_GRADIENT).gradient;
  team.value = pointer_of(vm, team.bad, ATLED_VALUE).value;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, call_often, &team) == 0);
  for (int k = 0; k < 20; k++)
    define(vm, "let table = [ sum table + x | x in table ]\nlet xs = [ x * 0.5 | x in table ]");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(team.wrong == 0);
  atled_release(team.f);
  atled_release(team.bad);
  atled_free(vm);
}

/* More threads than have a place of their own, at the same time. */
static void test_many_threads(void) {
  enum { MANY = 100 };
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm,
         "let table = [ float i | i < 100 ]\nlet loss xs = sum [ x * x | x in xs ] + sum table\nlet pick xs = xs[7]");
  Team team = {.f = look_up(vm, "value_and_grad loss", "float[] -> float * float[]"),
               .bad = look_up(vm, "pick", "float[] -> float"),
               .calls = 200};
  team.gradient = pointer_of(vm, team.f, ATLED_GRADIENT).gradient;
  team.value = pointer_of(vm, team.bad, ATLED_VALUE).value;
  pthread_t threads[MANY];
  for (int i = 0; i < MANY; i++) CHECK(pthread_create(&threads[i], NULL, call_often, &team) == 0);
  for (int i = 0; i < MANY; i++) pthread_join(threads[i], NULL);
  CHECK(team.wrong == 0);
  atled_release(team.f);
  atled_release(team.bad);
  atled_free(vm);
}

/* ---- Interrupts -------------------------------------------------------------------------------------------------- */
typedef struct Endless {
  AtledFunction *f;
  AtledNative p;
  bool stopped;
} Endless;

static void *run_endless(void *arg) {
  Endless *e = arg;
  double x = 1, y = e->p.value(e->f, &x, 1);
  const AtledDiagnostic *d = atled_native_error(e->f);
  __atomic_store_n(&e->stopped, isnan(y) && d && strcmp(d->kind, "interrupt") == 0, __ATOMIC_RELEASE);
  return NULL;
}

static void test_interrupt(const char *source) {
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  define(vm, source);
  Endless all[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    all[i] = (Endless){.f = look_up(vm, "spin", "float -> float")};
    all[i].p = pointer_of(vm, all[i].f, ATLED_VALUE);
    CHECK(pthread_create(&threads[i], NULL, run_endless, &all[i]) == 0);
  }
  for (int i = 0; i < 2; i++)
    while (!__atomic_load_n(&all[i].stopped, __ATOMIC_ACQUIRE)) {
      usleep(1000);
      atled_interrupt(vm);
    }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  atled_clear_interrupt(vm);
  double x = -1;
  CHECK(all[0].p.value(all[0].f, &x, 1) == -1 || isnan(all[0].p.value(all[0].f, &x, 1)));
  for (int i = 0; i < 2; i++) atled_release(all[i].f);
  atled_free(vm);
}

int main(int argc, char **argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 2000;
  alarm(380); /* what hangs fails */
  test_scalars(ATLED_JIT_AUTO);
  test_scalars(ATLED_JIT_ALWAYS);
  test_arrays();
  test_captured();
  test_shared_global();
  test_errors();
  test_refused();
  test_surroundings();
  test_threads(calls);
  test_many_threads();
  test_interrupt("let spin x =\n  let mut y = x in\n  while y > 0.0 do y <- y + 1.0 - y * 0.5 done;\n  y");
  test_interrupt("let rec spin x = if x < 0.0 then x else spin (x + 1.0 - 0.5 * x)");
  return check_result();
}
