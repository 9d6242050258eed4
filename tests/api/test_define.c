/* SPDX-License-Identifier: MIT */
/* Functions of the host: values of all kinds across the border, derivatives by the host's rules, effects, failures,
 * what is refused, and what is left when memory runs out. */
#include "check.h"
#include <atled.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  AtledVM *vm = atled_new(&config);
  CHECK(vm != NULL);
  return vm;
}

static void show_error(AtledVM *vm) {
  if (atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
}

static void define(AtledVM *vm, AtledHostFunction f) {
  CHECK(atled_define(vm, &f) == ATLED_OK);
  show_error(vm);
}

static void eval(AtledVM *vm, const char *source) {
  CHECK(atled_eval(vm, "program", source) == ATLED_OK);
  show_error(vm);
}

/* The value of an expression that is a float. */
static double number(AtledVM *vm, const char *expression) {
  AtledFunction *f = NULL;
  AtledValue v = {0};
  CHECK(atled_get(vm, expression, "float", &f) == ATLED_OK);
  show_error(vm);
  if (f) CHECK(atled_call(f, NULL, 0, &v) == ATLED_OK);
  atled_release(f);
  return v.kind == ATLED_FLOAT ? v.as.number : NAN;
}

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-12 * (1 + fabs(b)); }

/* ---- Scalars and arrays ------------------------------------------------------------------------------------------ */
static void cube(AtledCall *c) {
  double x = c->args[0].as.number;
  atled_return(c, atled_float(x * x * x));
}

static void cube_pullback(AtledCall *c) {
  double x = c->args[0].as.number, y = c->args[1].as.number, d = c->args[2].as.number;
  CHECK(c->nargs == 3 && y == x * x * x);
  atled_return(c, atled_float(3 * x * x * d));
}

/* x, y, d and their tangents. */
static void cube_pullback_tangent(AtledCall *c) {
  double x = c->args[0].as.number, d = c->args[2].as.number;
  double dx = c->args[3].as.number, dd = c->args[5].as.number;
  CHECK(c->nargs == 6);
  atled_return(c, atled_float(6 * x * dx * d + 3 * x * x * dd));
}

/* x, y, d, the value, and a cotangent of it. */
static void cube_pullback_pullback(AtledCall *c) {
  double x = c->args[0].as.number, d = c->args[2].as.number, e = c->args[4].as.number;
  CHECK(c->nargs == 5);
  AtledValue all[] = {atled_float(6 * x * d * e), atled_float(0), atled_float(3 * x * x * e)};
  atled_return(c, atled_tuple(all, 3));
}

static void cube_tangent(AtledCall *c) {
  double x = c->args[0].as.number, dx = c->args[1].as.number;
  CHECK(c->nargs == 2);
  atled_return(c, atled_float(3 * x * x * dx));
}

static const AtledRule second_tangent = {.call = cube_pullback_tangent},
                       second_pullback = {.call = cube_pullback_pullback};
static const AtledRule back = {.call = cube_pullback, .pullback = &second_pullback, .tangent = &second_tangent};
static const AtledRule forward = {.call = cube_tangent};
static const AtledHostFunction cube_function = {.name = "cube",
                                                .type = "float -> float",
                                                .doc = "The third power.\nOf a float.",
                                                .call = cube,
                                                .pullback = &back,
                                                .tangent = &forward,
                                                .flags = ATLED_PURE};

static void test_derivatives(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  define(vm, cube_function);
  eval(vm, "let f x = x * cube (2.0 * x)\n" /* 8 x^4 */
           "let walk x = let mut s = x in for i = 1 to 3 do s <- s + cube s * 0.1 done; s");
  CHECK(number(vm, "cube 3.0") == 27);
  CHECK(number(vm, "grad cube 3.0") == 27);
  CHECK(number(vm, "deriv cube 3.0") == 27);
  CHECK(close_to(number(vm, "f 1.5"), 8 * pow(1.5, 4)));
  CHECK(close_to(number(vm, "grad f 1.5"), 32 * pow(1.5, 3)));
  CHECK(close_to(number(vm, "deriv f 1.5"), 32 * pow(1.5, 3)));
  CHECK(close_to(number(vm, "hvp f 1.5 2.0"), 2 * 96 * 1.5 * 1.5));
  CHECK(close_to(number(vm, "grad (grad f) 1.5"), 96 * 1.5 * 1.5));
  double s = 0.5, slope = 1;
  for (int i = 0; i < 3; i++) {
    slope *= 1 + 0.3 * s * s;
    s += 0.1 * s * s * s;
  }
  CHECK(close_to(number(vm, "walk 0.5"), s) && close_to(number(vm, "grad walk 0.5"), slope));
  CHECK(close_to(number(vm, "deriv walk 0.5"), slope));
  CHECK(close_to(number(vm, "sum (pmap (grad cube) [1.0, 2.0])"), 15));
  CHECK(close_to(number(vm, "let (a, b) = par (fun () -> cube 2.0) (fun () -> cube 3.0) in a + b"), 35));
  const char *doc;
  CHECK(atled_doc(vm, "cube", &doc) == ATLED_OK);
  CHECK_STR(doc, "cube : float -> float\nThe third power.\nOf a float.\n");
  atled_free(vm);
}

/* user points to a factor; the result is made in a buffer. */
static void scale(AtledCall *c) {
  const AtledValue *xs = &c->args[0];
  double *out = atled_buffer(c, xs->length);
  for (size_t i = 0; i < xs->length; i++) out[i] = xs->as.floats[i] * *(const double *)c->user;
  AtledValue result = *xs;
  result.as.floats = out;
  CHECK(atled_return(c, result) == ATLED_OK);
}

/* The function is linear, so this is the same of the cotangent. The result is on the stack. */
static void scale_pullback(AtledCall *c) {
  double out[16];
  const AtledValue *d = &c->args[2];
  CHECK(c->nargs == 3 && d->length <= 16);
  for (size_t i = 0; i < d->length; i++) out[i] = d->as.floats[i] * *(const double *)c->user;
  AtledValue result = *d;
  result.as.floats = out;
  CHECK(atled_return(c, result) == ATLED_OK);
}

static void test_arrays(AtledJit jit) {
  static const double factor = 2.5;
  static const AtledRule rule = {.call = scale_pullback};
  AtledVM *vm = new_vm(jit);
  AtledHostFunction f = {.name = "scale",
                         .type = "float[] -> float[]",
                         .call = scale,
                         .user = (void *)(uintptr_t)&factor,
                         .pullback = &rule,
                         .flags = ATLED_PURE};
  define(vm, f);
  f.name = "scale2";
  f.type = "float[][] -> float[][]";
  define(vm, f);
  CHECK(number(vm, "sum (scale [1.0, 2.0, 3.0])") == 15);
  CHECK(number(vm, "(scale2 [[1.0, 2.0], [3.0, 4.0]])[1, 0]") == 7.5);
  CHECK(number(vm, "sum (scale [])") == 0);
  CHECK(number(vm, "(grad (fun xs -> sum (scale xs * xs)) [1.0, 2.0])[1]") == 10);
  CHECK(number(vm, "(grad (fun m -> (scale2 m)[1, 1] * 2.0) [[1.0, 2.0], [3.0, 4.0]])[1, 1]") == 5);
  atled_free(vm);
}

/* ---- Failure ----------------------------------------------------------------------------------------------------- */
static void picky(AtledCall *c) {
  if (c->args[0].as.number < 0) atled_fail(c, "no root of a negative number");
  else atled_return(c, atled_float(sqrt(c->args[0].as.number)));
}

static void test_failure(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  define(vm, (AtledHostFunction){.name = "root", .type = "float -> float", .call = picky, .flags = ATLED_PURE});
  CHECK(number(vm, "root 4.0") == 2);
  CHECK(atled_eval(vm, "program", "let f x = 1.0 + root x\nprint (f (-4.0))") == ATLED_RUNTIME_ERROR);
  const AtledDiagnostic *e = atled_error(vm);
  CHECK(e && e->line == 1 && e->column == 17);
  if (e) CHECK_STR(e->kind, "host");
  if (e) CHECK_STR(e->message, "no root of a negative number");
  eval(vm,
       "let length_of x = match attempt (fun () -> root x) with Ok y -> y | Error e -> float (Str.length e.message)");
  CHECK(number(vm, "length_of (-1.0)") == 28);
  CHECK(atled_eval(vm, "program", "let g x = root x * 2.0\nlet slope = grad g 4.0") == ATLED_COMPILE_ERROR);
  e = atled_error(vm);
  CHECK(e && e->line == 1 && e->column == 11);
  if (e) CHECK_STR(e->message, "the host gave `root` no derivative: atled_define takes its pullback and tangent");
  CHECK(number(vm, "grad (fun x -> x * stop_gradient (root x)) 4.0") == 2);
  atled_free(vm);
}

int main(void) {
  static const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS, ATLED_JIT_AUTO};
  for (int i = 0; i < 3; i++) {
    test_derivatives(modes[i]);
    test_arrays(modes[i]);
    test_failure(modes[i]);
  }
  return check_result();
}
