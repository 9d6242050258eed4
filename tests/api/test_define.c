/* SPDX-License-Identifier: MIT */
/* Functions of the host: values of all kinds across the border, derivatives by the host's rules, effects, failures,
 * what is refused, and what is left when memory runs out. */
#include "check.h"
#include "new_vm.h"
#include <atled.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
  if (!out) return;
  for (size_t i = 0; i < xs->length; i++) out[i] = xs->as.floats[i] * *(const double *)c->user;
  AtledValue result = *xs;
  result.as.floats = out;
  atled_return(c, result);
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

/* ---- Values of all kinds ----------------------------------------------------------------------------------------- */
/* The record {a, b} of a record {x, n, name, flags} and a list. */
static void mix(AtledCall *c) {
  static const char *const names[] = {"b", "a"};
  const AtledValue *r = &c->args[0], *list = &c->args[1];
  double sum = atled_field(r, "x")->as.number;
  for (size_t i = 0; i < list->length; i++) sum += list->as.items[i].as.number;
  AtledValue name = *atled_field(r, "name"), some = atled_variant("Some", &name);
  AtledValue parts[] = {some, atled_float(sum * (double)atled_field(r, "n")->as.integer)};
  if (!atled_field(r, "flags")->as.bools[1]) parts[0] = atled_variant("None", NULL);
  CHECK(atled_return(c, atled_record(names, parts, 2)) == ATLED_OK);
}

static void swap(AtledCall *c) {
  AtledValue both[] = {c->args[0].as.items[1], c->args[0].as.items[0]};
  CHECK(atled_return(c, atled_tuple(both, 2)) == ATLED_OK);
}

static void negate(AtledCall *c) { atled_return(c, atled_bool(!c->args[0].as.boolean)); }

static void first_of_many(AtledCall *c) {
  CHECK(c->nargs == 12);
  AtledValue all[40];
  for (int i = 0; i < 40; i++) all[i] = i < 12 ? c->args[i] : atled_int(i);
  CHECK(atled_return(c, atled_tuple(all, 40)) == ATLED_OK);
}

static void test_kinds(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  eval(vm, "type mode = {x : float, n : int, name : string, flags : bool[]}");
  define(vm, (AtledHostFunction){
                 .name = "mix", .type = "mode -> float list -> {a : float, b : string option}", .call = mix});
  define(vm, (AtledHostFunction){
                 .name = "swap", .type = "(bool * string[])\n -> string[] * bool", .call = swap, .flags = ATLED_PURE});
  define(vm, (AtledHostFunction){.name = "negate", .type = "bool -> bool", .call = negate, .flags = ATLED_PURE});
  char type[1000] = "";
  for (int i = 0; i < 12; i++) strcat(type, "int -> ");
  for (int i = 0; i < 40; i++) strcat(type, i ? " * int" : "int");
  define(vm, (AtledHostFunction){.name = "many", .type = type, .call = first_of_many});
  eval(vm,
       "let r = {x = 0.5, n = 3, name = \"é\", flags = [false, true]}\n"
       "let got = mix r (1.0 :: 2.0 :: Nil)\n"
       "assert (got = {a = 10.5, b = Some \"é\"})\n"
       "assert ((mix {r with flags = [false, false]} Nil).b = None)\n"
       "assert (swap (true, [\"a\", \"b\"]) = ([\"a\", \"b\"], true))\n"
       "assert (negate (negate true) && not (negate true))\n"
       "let (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, a2, b2, c2, d2, e2, f2, g2, h2, i2, j2, k2,\n"
       "  l2, m2, n2, o2, p2, q2, r2, s2, t2) = many 1 2 3 4 5 6 7 8 9 10 11 12\n"
       "assert (a = 1 && l = 12 && m = 12 && t2 = 39)");
  atled_free(vm);
}

/* ---- Effects ----------------------------------------------------------------------------------------------------- */
static void count(AtledCall *c) { ++*(int *)c->user; /* and gives unit */ }

static void test_effects(AtledJit jit) {
  int calls = 0;
  AtledVM *vm = new_vm(jit);
  AtledHostFunction f = {.name = "note", .type = "float -> unit", .call = count, .user = &calls};
  define(vm, f);
  eval(vm, "let f x = note x; note x; x * 2.0\nlet y = f 1.0\nlet g x = for i = 1 to 5 do note x done");
  CHECK(calls == 2);
  eval(vm, "g 1.0");
  CHECK(calls == 7);
  CHECK(atled_eval(vm, "program", "let z = pmap (fun x -> note x; x) [1.0]") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "program", "let f x = note x; x * x\nlet z = grad (fun x -> f x) 1.0") == ATLED_OK &&
        calls == 8);
  f.name = "measure";
  f.type = "float -> float";
  define(vm, f);
  CHECK(atled_eval(vm, "program", "let z = grad (fun x -> measure x) 1.0") == ATLED_COMPILE_ERROR && calls == 8);
  const AtledDiagnostic *e = atled_error(vm);
  if (e) CHECK_STR(e->message, "the host's function `measure` has an effect, so it has no derivative");
  CHECK(e && e->column == 24);
  f.pullback = &back;
  CHECK(atled_define(vm, &f) == ATLED_BAD_ARGUMENT);
  atled_free(vm);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
/* scaled : float -> int -> {x : float, name : string} -> float * int; x * n * r.x, and n */
static void scaled(AtledCall *c) {
  double n = (double)c->args[1].as.integer;
  AtledValue both[] = {atled_float(c->args[0].as.number * n * atled_field(&c->args[2], "x")->as.number), c->args[1]};
  atled_return(c, atled_tuple(both, 2));
}

static void scaled_pullback(AtledCall *c) {
  static const char *const names[] = {"name", "x"};
  double x = c->args[0].as.number, n = (double)c->args[1].as.integer, y = atled_field(&c->args[2], "x")->as.number;
  double d = c->args[4].as.items[0].as.number;
  AtledValue parts[] = {{0}, atled_float(d * n * x)};
  AtledValue all[] = {atled_float(d * n * y), {0}, atled_record(names, parts, 2)};
  CHECK(c->nargs == 5 && c->args[3].as.items[0].as.number == x * n * y);
  CHECK(atled_return(c, atled_tuple(all, 3)) == ATLED_OK);
}

static void scaled_tangent(AtledCall *c) {
  double x = c->args[0].as.number, n = (double)c->args[1].as.integer, y = atled_field(&c->args[2], "x")->as.number;
  double dx = c->args[3].as.number, dy = atled_field(&c->args[5], "x")->as.number;
  AtledValue both[] = {atled_float(n * (dx * y + x * dy)), {0}};
  CHECK(c->nargs == 6 && atled_return(c, atled_tuple(both, 2)) == ATLED_OK);
}

static void test_rules(AtledJit jit) {
  static const AtledRule pullback = {.call = scaled_pullback}, tangent = {.call = scaled_tangent};
  AtledVM *vm = new_vm(jit);
  define(vm, (AtledHostFunction){.name = "scaled",
                                 .type = "float -> int -> {x : float, name : string} -> float * int",
                                 .call = scaled,
                                 .pullback = &pullback,
                                 .tangent = &tangent,
                                 .flags = ATLED_PURE});
  eval(vm, "let f x = let (y, n) = scaled x 3 {x = x * x, name = \"r\"} in y * float n\n" /* 9 x^3 */
           "let g (x, r) = let (y, _) = scaled x 2 r in y");
  CHECK(number(vm, "f 2.0") == 72);
  CHECK(number(vm, "grad f 2.0") == 108);
  CHECK(number(vm, "deriv f 2.0") == 108);
  CHECK(number(vm, "(snd (grad g (5.0, {x = 7.0, name = \"r\"}))).x") == 10);
  CHECK(number(vm, "fst (grad g (5.0, {x = 7.0, name = \"r\"}))") == 14);
  CHECK(number(vm, "let (_, back) = vjp f 1.0 in back 2.0") == 54);
  CHECK(atled_eval(vm, "program", "let z = hvp f 1.0 1.0") == ATLED_COMPILE_ERROR);
  const AtledDiagnostic *e = atled_error(vm);
  if (e)
    CHECK_STR(e->message,
              "the host gave the pullback of `scaled` no derivative: atled_define takes its pullback and tangent");
  CHECK(atled_eval(vm, "program", "let h = scaled'pullback") == ATLED_COMPILE_ERROR); /* nobody sees the name */
  atled_free(vm);
}

/* ---- What a callback does wrong ---------------------------------------------------------------------------------- */
static void give_user(AtledCall *c) {
  const AtledValue *v = c->user;
  if (v) CHECK(atled_return(c, *v) == ATLED_BAD_ARGUMENT);
}

static void check_wrong(AtledVM *vm, const char *type, const AtledValue *v, const char *message) {
  define(vm, (AtledHostFunction){.name = "bad", .type = type, .call = give_user, .user = (void *)(uintptr_t)v});
  CHECK(atled_eval(vm, "program", "ignore (bad ())") == ATLED_RUNTIME_ERROR);
  const AtledDiagnostic *e = atled_error(vm);
  if (e) CHECK_STR(e->message, message);
  CHECK(e && e->line == 1 && strcmp(e->kind, "host") == 0);
}

static void test_wrong_results(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  int64_t live = atled_live_objects(vm);
  AtledValue v = atled_int(3), texts[] = {atled_string("good"), atled_string("\xff")};
  check_wrong(vm, "unit -> float", NULL, "the host's function `bad` gave no result");
  check_wrong(vm, "unit -> float", &v, "the result of the host's function `bad`: a float is needed, not an int");
  v = atled_floats(NULL, 3);
  check_wrong(vm, "unit -> float[]", &v, "the result of the host's function `bad`: the array's elements are NULL");
  check_wrong(vm, "unit -> float[][]", &v,
              "the result of the host's function `bad`: an array of floats of 2 dimensions is needed, not an array of "
              "floats of 1 dimension");
  v = atled_tuple(texts, 2);
  check_wrong(vm, "unit -> string * string", &v,
              "the result, item 1 of the host's function `bad`: the string isn't UTF-8: byte 0");
  check_wrong(vm, "unit -> string", &v,
              "the result of the host's function `bad`: a string is needed, not a tuple of 2 items");
  v = atled_string(NULL);
  check_wrong(vm, "unit -> string", &v, "the result of the host's function `bad`: the string is NULL");
  v = (AtledValue){0};
  check_wrong(vm, "unit -> int", &v, "the result of the host's function `bad`: an int is needed, not unit");
  CHECK(atled_live_objects(vm) == live);
  atled_free(vm);
}

static void fail_badly(AtledCall *c) {
  atled_fail(c, c->user);
  atled_fail(c, "too late");
  CHECK(atled_return(c, atled_float(1)) == ATLED_BAD_ARGUMENT);
}

static void test_messages(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  char many[3001];
  for (int i = 0; i < 1500; i++) memcpy(many + 2 * i, "é", 2);
  many[3000] = 0;
  const char *const given[] = {"", NULL,
                               "a\xff"
                               "b\xc3",
                               many},
                    *const shown[] = {"the host's function failed", "the host's function failed", "a?b?", NULL};
  for (int i = 0; i < 4; i++) {
    define(vm, (AtledHostFunction){
                   .name = "f", .type = "unit -> float", .call = fail_badly, .user = (void *)(uintptr_t)given[i]});
    CHECK(atled_eval(vm, "program", "print (f ())") == ATLED_RUNTIME_ERROR);
    const char *message = atled_error(vm) ? atled_error(vm)->message : "";
    if (shown[i]) CHECK_STR(message, shown[i]);
    else CHECK(strlen(message) > 1000 && strlen(message) % 2 == 0 && strncmp(message, many, strlen(message)) == 0);
  }
  atled_free(vm);
}

/* ---- Calls from within ------------------------------------------------------------------------------------------- */
typedef struct Inner {
  AtledVM *vm, *other;
  AtledFunction *f;
} Inner;

static void call_back(AtledCall *c) {
  Inner *in = c->user;
  AtledValue x = atled_float(2), y;
  CHECK(atled_call(in->f, &x, 1, &y) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(in->vm)->message, "a callback can't call the VM that runs it");
  CHECK(atled_eval(in->vm, "p", "1") == ATLED_BAD_ARGUMENT);
  CHECK(atled_define(in->vm, &cube_function) == ATLED_BAD_ARGUMENT);
  atled_free(in->vm);
  CHECK(atled_eval(in->other, "p", "let x = 3.0") == ATLED_OK);
  atled_return(c, atled_float(number(in->other, "x")));
}

static void interrupt(AtledCall *c) {
  atled_interrupt(c->user);
  atled_return(c, atled_float(1));
}

static void spend(AtledCall *c) {
  struct timespec t = {.tv_nsec = 500000000};
  nanosleep(&t, NULL);
  atled_return(c, atled_float(1));
}

static void test_inside(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = 30;
  Inner in = {.vm = atled_new(&config), .other = new_vm(jit)};
  define(in.vm, (AtledHostFunction){.name = "inside", .type = "unit -> float", .call = call_back, .user = &in});
  define(in.vm, (AtledHostFunction){.name = "stop", .type = "unit -> float", .call = interrupt, .user = in.vm});
  CHECK(atled_get(in.vm, "fun x -> x * 2.0", "float -> float", &in.f) == ATLED_OK);
  CHECK(number(in.vm, "inside ()") == 3);
  CHECK(atled_eval(in.vm, "p", "let y = stop ()") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(in.vm)->kind, "interrupt");
  CHECK(number(in.vm, "inside ()") == 3);
  atled_release(in.f);
  atled_free(in.vm);
  atled_free(in.other);
  config.time_limit = 0.05;
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  define(vm, (AtledHostFunction){.name = "spend", .type = "unit -> float", .call = spend});
  CHECK(atled_eval(vm, "p", "let y = attempt (fun () -> spend ())") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "time");
  atled_free(vm);
}

static void deep(AtledCall *c) {
  char room[50000];
  memset(room, 1, sizeof room);
  atled_return(c, atled_float(room[c->args[0].as.number > 0] - 1));
}

/* Where the recursion is deepest, there is still stack for the callback, or an error. */
static void test_stack(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.stack_size = 4 << 20;
  AtledVM *vm = atled_new(&config);
  define(vm, (AtledHostFunction){.name = "deep", .type = "float -> float", .call = deep, .flags = ATLED_PURE});
  eval(vm, "let rec f n = if n = 0 then deep 1.0 else deep (deep (f (n - 1)) + float n)");
  CHECK(number(vm, "f 100") == 0);
  CHECK(atled_eval(vm, "p", "print (f 100000000)") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "stack");
  atled_free(vm);
}

/* ---- Definitions again ------------------------------------------------------------------------------------------- */
static void test_again(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledHostFunction f = cube_function;
  define(vm, f);
  eval(vm, "let old x = cube x\nlet held = cube");
  AtledFunction *h;
  CHECK(atled_get(vm, "cube", "float -> float", &h) == ATLED_OK);
  f.call = picky;
  f.pullback = f.tangent = NULL;
  define(vm, f);
  double x = 4, y = 0;
  CHECK(atled_call_double(h, &x, 1, &y) == ATLED_OK && y == 64);
  CHECK(number(vm, "old 4.0") == 64 && number(vm, "grad old 4.0") == 48 && number(vm, "held 4.0") == 64);
  CHECK(number(vm, "cube 4.0") == 2);
  eval(vm, "let cube x = x + 1.0");
  CHECK(number(vm, "cube 4.0") == 5 && number(vm, "old 4.0") == 64);
  atled_release(h);
  /* Names of the library are hidden, too. */
  f.name = "sin";
  define(vm, f);
  CHECK(number(vm, "sin 4.0") == 2);
  atled_free(vm);
}

static void check_refused(AtledVM *vm, AtledHostFunction f, AtledStatus status, const char *message) {
  CHECK(atled_define(vm, &f) == status);
  const AtledDiagnostic *e = atled_error(vm);
  if (e) CHECK_STR(e->message, message);
  CHECK(e != NULL);
}

static void test_refused(void) {
  static const AtledRule none = {0}, endless = {.call = cube_pullback, .pullback = &endless};
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledHostFunction f = {.name = "f", .type = "float -> float", .call = cube, .flags = ATLED_PURE}, g = f;
  g.name = "let";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "a function can't be named `let`");
  g.name = "M.N.f";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "a function can't be named `M.N.f`");
  g.name = "M. f";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "a function can't be named `M. f`");
  g.name = "List.f";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "`List` is a module of the library");
  g = f;
  g.type = "float";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "`f` is to be a function, and its type `float` isn't that of one");
  g.type = "'a -> float";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "the type of a host's function has no type variables, as `'a -> float` has");
  g.type = "nothing -> float";
  check_refused(vm, g, ATLED_COMPILE_ERROR, "there is no type `nothing`");
  g.type = "(float -> float) -> float";
  check_refused(vm, g, ATLED_BAD_ARGUMENT,
                "`f` can't have this type: what crosses to a host has no functions in it, and arrays of at most 8 "
                "dimensions");
  g.type = "float[][][][][][][][][] -> float";
  check_refused(vm, g, ATLED_BAD_ARGUMENT,
                "`f` can't have this type: what crosses to a host has no functions in it, and arrays of at most 8 "
                "dimensions");
  CHECK(atled_eval(vm, "p", "print f") == ATLED_COMPILE_ERROR);
  g = f;
  g.call = NULL;
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "the callback of `f` is NULL");
  g = f;
  g.pullback = &none;
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "the callback of `f'pullback` is NULL");
  g.pullback = &endless;
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "the rules of `f` are nested deeper than 4");
  g = f;
  g.doc = "\xff";
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "the documentation of `f` isn't lines of UTF-8");
  g.doc = "it ends\n";
  g.flags = 1024;
  check_refused(vm, g, ATLED_BAD_ARGUMENT, "`f` has flags that aren't known: 1024");
  CHECK(atled_eval(vm, "p", "foreign \"host:0\" f : int -> int") == ATLED_COMPILE_ERROR);
  atled_free(vm);
}

/* ---- Sandboxes --------------------------------------------------------------------------------------------------- */
static void test_sandbox(void) {
  AtledConfig config;
  atled_sandbox_init(&config);
  AtledVM *vm = atled_new(&config);
  CHECK(vm != NULL);
  define(vm, cube_function);
  CHECK(number(vm, "grad cube 2.0") == 12);
  CHECK(atled_eval(vm, "p", "foreign \"host:1\" f : float -> float") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "p", "foreign \"libm.so.6\" f : float -> float") == ATLED_COMPILE_ERROR);
  atled_free(vm);
}

/* ---- Values of the host's ---------------------------------------------------------------------------------------- */
typedef struct Sim {
  double state;
  int *ended;
} Sim;

static void end_sim(void *pointer) {
  Sim *s = pointer;
  ++*s->ended;
  free(s);
}

static void open_sim(AtledCall *c) {
  Sim *s = malloc(sizeof *s);
  if (!s) abort();
  *s = (Sim){c->args[0].as.number, c->user};
  AtledValue v = atled_opaque(c, "sim", s, end_sim);
  if (c->args[0].as.number >= 0) atled_return(c, v);
}

static void sim_state(AtledCall *c) {
  CHECK(!atled_opaque_get(&c->args[0], "other") && !atled_opaque_get(NULL, "sim") &&
        !atled_opaque_get(&c->args[0], NULL));
  const Sim *s = atled_opaque_get(&c->args[0], "sim");
  if (s) atled_return(c, atled_float(s->state));
  else atled_fail(c, "no simulator");
}

static void define_sims(AtledVM *vm, int *ended) {
  CHECK(atled_define_type(vm, "sim") == ATLED_OK && atled_define_type(vm, "other") == ATLED_OK);
  show_error(vm);
  define(vm, (AtledHostFunction){.name = "open_sim", .type = "float -> sim", .call = open_sim, .user = ended});
  define(vm, (AtledHostFunction){
                 .name = "state", .type = "sim -> float", .call = sim_state, .flags = ATLED_PURE | ATLED_THREAD_SAFE});
}

static void test_opaque(AtledJit jit) {
  int ended = 0;
  AtledVM *vm = new_vm(jit);
  define_sims(vm, &ended);
  eval(vm, "let s = open_sim 2.0\nlet r = {s = s, n = 1}\nlet l = s :: open_sim 3.0 :: Nil\nlet a = [s, open_sim 4.0]\n"
           "let f x = x * state r.s\nlet total sims = sum [ state s | s in sims ]\nlet same = s = r.s && s <> a[1]");
  CHECK(ended == 0);
  CHECK(number(vm, "f 3.0") == 6 && number(vm, "total a") == 6);
  CHECK(number(vm, "match l with _ :: b :: _ -> state b | _ -> 0.0") == 3);
  CHECK(number(vm, "if same then 1.0 else 0.0") == 1);
  eval(vm, "assert (show s = \"<sim>\" && show r = \"{n = 1, s = <sim>}\")\nassert (compare s s = 0)");
  CHECK(number(vm, "grad (fun (x, s) -> x * x * stop_gradient (state s)) (3.0, s) |> fst") == 12);
  CHECK(number(vm, "let mut t = open_sim 5.0 in for i = 1 to 4 do t <- open_sim (float i) done; state t") == 4);
  CHECK(ended == 5); /* four within the loop, and the last */
  eval(vm, "let gone = state (open_sim 7.0)");
  CHECK(ended == 6);
  /* In handles and back. */
  AtledFunction *make, *use;
  AtledValue x = atled_float(8), sim, y;
  CHECK(atled_get(vm, "open_sim", "float -> sim", &make) == ATLED_OK);
  CHECK(atled_get(vm, "state", "sim -> float", &use) == ATLED_OK);
  CHECK(atled_call(make, &x, 1, &sim) == ATLED_OK && sim.kind == ATLED_OPAQUE);
  const Sim *s = atled_opaque_get(&sim, "sim");
  CHECK(s && s->state == 8 && s == sim.as.data);
  CHECK_STR(sim.name, "sim");
  CHECK(atled_call(use, &sim, 1, &y) == ATLED_OK && y.as.number == 8);
  CHECK(atled_call(use, &x, 1, &y) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "argument 1: a value of the host's type `sim` is needed, not a float");
  AtledValue forged = {.kind = ATLED_OPAQUE, .name = "sim"};
  CHECK(atled_call(use, &forged, 1, &y) == ATLED_BAD_ARGUMENT && !atled_opaque_get(&forged, "sim"));
  x = atled_float(-1);
  CHECK(atled_call(make, &x, 1, &sim) == ATLED_RUNTIME_ERROR && ended == 7); /* never returned */
  atled_release(use);
  atled_release(make);
  CHECK(ended == 8);
  CHECK(atled_eval(vm, "p", "let x = open_sim 1.0 + 1") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "p", "let f (x : other) = state x") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "p", "type own") == ATLED_INCOMPLETE || atled_eval(vm, "p", "type own\n") != ATLED_OK);
  CHECK(atled_define_type(vm, "let") == ATLED_BAD_ARGUMENT && atled_define_type(vm, NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_define_type(NULL, "t") == ATLED_BAD_ARGUMENT && atled_opaque(NULL, "sim", NULL, NULL).kind == ATLED_UNIT);
  eval(vm, "let kept = open_sim 9.0");
  atled_free(vm);
  CHECK(ended == 12); /* s, of l, of a, kept */
}

static void make_wrong(AtledCall *c) {
  Sim *s = malloc(sizeof *s);
  if (!s) abort();
  *s = (Sim){0, c->user};
  CHECK(atled_return(c, atled_opaque(c, "other", s, end_sim)) == ATLED_BAD_ARGUMENT);
}

static void test_wrong_type(void) {
  int ended = 0;
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  define_sims(vm, &ended);
  define(vm, (AtledHostFunction){.name = "wrong", .type = "unit -> sim", .call = make_wrong, .user = &ended});
  CHECK(atled_eval(vm, "p", "let s = wrong ()") == ATLED_RUNTIME_ERROR && ended == 1);
  CHECK_STR(atled_error(vm)->message, "the result of the host's function `wrong`: a value of the host's type `sim` is "
                                      "needed, not one of the type `other`");
  atled_free(vm);
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
static const char *sources(void *user, const char *name, size_t *length) {
  const char *source = "let area x = Geo.cube x * 2.0";
  (void)user;
  (void)name;
  *length = strlen(source);
  return source;
}

/* All of the program knows the module: main, what it imports. */
static void test_modules(void) {
  int ended = 0;
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.module = sources;
  AtledVM *vm = atled_new(&config);
  AtledHostFunction f = cube_function, g = {.name = "Geo.nothing", .type = "nothing -> float", .call = cube};
  CHECK(atled_define(vm, &g) == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "p", "open Geo") == ATLED_COMPILE_ERROR); /* nothing is left */
  f.name = "Geo.cube";
  define(vm, f);
  CHECK(atled_define_type(vm, "Geo.sim") == ATLED_OK);
  define(vm, (AtledHostFunction){.name = "Geo.open_sim", .type = "float -> sim", .call = open_sim, .user = &ended});
  define(vm, (AtledHostFunction){.name = "state", .type = "Geo.sim -> float", .call = sim_state, .flags = ATLED_PURE});
  eval(vm, "import \"m.atl\" as M\nlet x = M.area 2.0\nlet s = Geo.open_sim 4.0\nlet f (s : Geo.sim) = state s");
  CHECK(number(vm, "x") == 16 && number(vm, "grad M.area 2.0") == 24 && number(vm, "f s") == 4);
  eval(vm, "open Geo\nlet y = cube 3.0");
  CHECK(number(vm, "y") == 27);
  CHECK(atled_eval(vm, "p", "let g = Geo.cube'pullback") == ATLED_COMPILE_ERROR);
  const char *doc;
  CHECK(atled_doc(vm, "Geo.cube", &doc) == ATLED_OK);
  CHECK_STR(doc, "Geo.cube : float -> float\nThe third power.\nOf a float.\n");
  const char *const *words;
  size_t start;
  CHECK(atled_complete(vm, "1.0 + Geo.cu", &start, &words) == 1 && start == 10);
  CHECK_STR(words[0], "cube");
  CHECK(atled_complete(vm, "1.0 + Ge", &start, &words) == 1 && start == 6);
  CHECK_STR(words[0], "Geo.");
  int n = atled_complete(vm, "", &start, &words);
  CHECK(n > 100);
  for (int i = 0; i < n; i++) CHECK(words[i][0] != ':'); /* `::` is no word */
  atled_free(vm);
  CHECK(ended == 1);
}

/* ---- Native pointers --------------------------------------------------------------------------------------------- */
typedef struct Job {
  AtledFunction *f;
  AtledNative p;
  bool gradient;
  int wrong;
} Job;

static void *work(void *arg) {
  Job *j = arg;
  for (int i = 0; i < 2000; i++) {
    double x[3] = {1 + i % 7, 2, 0.5}, g[3], expected = 0;
    for (int k = 0; k < 3; k++) expected += x[k] * x[k] * x[k];
    double y = j->gradient ? j->p.gradient(j->f, x, 3, g) : j->p.value(j->f, x, 3);
    j->wrong += !close_to(y, expected);
    for (int k = 0; k < 3 && j->gradient; k++) j->wrong += !close_to(g[k], 3 * x[k] * x[k]);
  }
  return NULL;
}

static void test_native(void) {
  enum { THREADS = 4 };
  int ended = 0;
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  AtledHostFunction f = cube_function;
  define(vm, f);
  eval(vm, "let loss xs = sum [ cube x | x in xs ]");
  Job j = {.gradient = true};
  CHECK(atled_get(vm, "value_and_grad loss", "float[] -> float * float[]", &j.f) == ATLED_OK);
  CHECK(atled_native(j.f, ATLED_GRADIENT, &j.p) == ATLED_BAD_ARGUMENT);
  CHECK(strstr(atled_error(vm)->message, "calls a function of the host's that isn't ATLED_THREAD_SAFE (`cube") != NULL);
  atled_release(j.f);
  f.flags |= ATLED_THREAD_SAFE;
  define(vm, f);
  eval(vm, "let loss xs = sum [ cube x | x in xs ]");
  CHECK(atled_get(vm, "value_and_grad loss", "float[] -> float * float[]", &j.f) == ATLED_OK);
  CHECK(atled_native(j.f, ATLED_GRADIENT, &j.p) == ATLED_OK);
  show_error(vm);
  Job jobs[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = j;
    CHECK(pthread_create(&threads[i], NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < 20; i++) { /* meanwhile the VM defines more */
    f.name = i % 2 ? "a" : "b";
    define(vm, f);
    CHECK(number(vm, i % 2 ? "a 2.0" : "b 2.0") == 8);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(jobs[i].wrong == 0);
  }
  atled_release(j.f);
  /* Failures, and values of the host's that the function refers to. */
  define_sims(vm, &ended);
  define(vm, (AtledHostFunction){
                 .name = "root", .type = "float -> float", .call = picky, .flags = ATLED_PURE | ATLED_THREAD_SAFE});
  eval(vm, "let s = open_sim 3.0\nlet f x = root x * state s");
  AtledFunction *h;
  AtledNative p;
  CHECK(atled_get(vm, "f", "float -> float", &h) == ATLED_OK && atled_native(h, ATLED_VALUE, &p) == ATLED_OK);
  show_error(vm);
  double x = 4, bad = -4;
  CHECK(p.value(h, &x, 1) == 6 && isnan(p.value(h, &bad, 1)));
  const AtledDiagnostic *e = atled_native_error(h);
  CHECK(e && strcmp(e->kind, "host") == 0 && strcmp(e->message, "no root of a negative number") == 0);
  eval(vm, "let s = 1");
  CHECK(p.value(h, &x, 1) == 6);
  atled_release(h);
  atled_free(vm);
  CHECK(ended == 1);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
static size_t held;
static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  void *p = NULL;
  if (new_size == 0) free(block);
  else p = realloc(block, new_size);
  if (p || new_size == 0) held += new_size - old_size;
  return p;
}

enum { MEMORY_STEPS = 6 };
static AtledStatus memory_step(AtledVM *vm, int k, int *ended, AtledFunction **f) {
  static const double factor = 2;
  AtledHostFunction g = {
      .name = "scale", .type = "float[] -> float[]", .call = scale, .user = (void *)(uintptr_t)&factor};
  AtledHostFunction open = {.name = "open_sim", .type = "float -> sim", .call = open_sim, .user = ended};
  AtledValue x = atled_float(1.5), y;
  switch (k) {
  case 0: return atled_define(vm, &cube_function);
  case 1: return atled_define(vm, &g);
  case 2: return atled_define_type(vm, "sim");
  case 3: return atled_define(vm, &open);
  case 4:
    return atled_get(vm, "fun x -> let s = [open_sim x, open_sim 1.0] in (grad cube x, scale [x, x], s)",
                     "float -> float * float[] * sim[]", f);
  default: return atled_call(*f, &x, 1, &y);
  }
}

/* The n-th allocation fails; what failed is done again. False: there were fewer. */
static bool run_without(AtledJit jit, int64_t n) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.allocate = allocate;
  held = 0;
  int ended = 0;
  bool failed = false;
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  atled_fail_allocation(vm, n);
  for (int k = 0; k < MEMORY_STEPS; k++) {
    AtledStatus status = memory_step(vm, k, &ended, &f);
    if (status == ATLED_NO_MEMORY) {
      failed = true;
      atled_fail_allocation(vm, 0);
      status = memory_step(vm, k, &ended, &f);
    }
    CHECK(status == ATLED_OK);
    show_error(vm);
  }
  atled_fail_allocation(vm, 0);
  atled_release(f);
  atled_free(vm);
  CHECK(held == 0 && ended >= 2 && (failed || ended == 2));
  return failed;
}

static void test_memory(bool all) {
  int64_t n = 1, stride = all ? 1 : 7;
  while (run_without(ATLED_JIT_OFF, n)) n += stride;
  printf("allocations: %lld\n", (long long)n);
}

int main(int argc, char **argv) {
  static const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS, ATLED_JIT_AUTO};
  for (int i = 0; i < 3; i++) {
    test_derivatives(modes[i]);
    test_arrays(modes[i]);
    test_failure(modes[i]);
    test_kinds(modes[i]);
    test_effects(modes[i]);
    test_rules(modes[i]);
    test_wrong_results(modes[i]);
    test_inside(modes[i]);
    test_stack(modes[i]);
    test_again(modes[i]);
    test_opaque(modes[i]);
  }
  test_messages();
  test_refused();
  test_modules();
  test_sandbox();
  test_wrong_type();
  test_native();
  test_memory(argc > 1 && strcmp(argv[1], "all") == 0);
  return check_result();
}
