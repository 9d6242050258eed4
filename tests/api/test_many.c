/* SPDX-License-Identifier: MIT */
/* One call over many sets of arguments: arrays of structures and structures of arrays, what sets share, values of every
 * kind, results in the host's buffers, the set that fails, and what is said of sets that don't fit. */
#include "check.h"
#include <atled.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const model = "type params = {beta : float, gamma : float, steps : int}\n"
                                 "type shape = Dot | Circle of float | Box of {w : float, h : float}\n"
                                 "let value p = p.beta * p.beta + 3.0 * p.gamma + float p.steps\n"
                                 "let area s = match s with Dot -> 0.0 | Circle r -> 3.0 * r * r | Box b -> b.w * b.h\n"
                                 "let picky k = if k = 7 then fail \"seven\" else float k\n"
                                 "let rec spin k = if k = 3 then spin k else k\n"
                                 "let scaled k (w : float[]) = [ k * x | x in w ]\n";

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "model", model) == ATLED_OK);
  return vm;
}

static AtledFunction *get(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, type, &f) == ATLED_OK);
  if (!f) fprintf(stderr, "%s: %s\n", expression, atled_error(vm)->message);
  return f;
}

static void end(AtledVM *vm, AtledFunction *f) {
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

static AtledValue column(AtledKind element, const void *data, int64_t n, const int64_t *stride) {
  return atled_array(element, data, 1, &n, stride);
}

/* ---- What goes in ------------------------------------------------------------------------------------ */
static void test_scalars(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "fun x k b -> if b then x + float k else x * 2.0", "float -> int -> bool -> float");
  double x[] = {1, 2, 3}, y[3];
  int64_t k[] = {10, 20, 30};
  bool b[] = {true, false, true};
  size_t done = 99;
  AtledValue args[] = {column(ATLED_FLOAT, x, 3, NULL), column(ATLED_INT, k, 3, NULL), column(ATLED_BOOL, b, 3, NULL)};
  AtledValue into = column(ATLED_FLOAT, y, 3, NULL);
  CHECK(atled_call_many(f, args, 3, 3, &into, &done) == ATLED_OK && done == 3);
  CHECK(y[0] == 11 && y[1] == 4 && y[2] == 33);
  args[1] = atled_int(100); /* the same for all */
  CHECK(atled_call_many(f, args, 3, 3, &into, NULL) == ATLED_OK && y[0] == 101 && y[1] == 4 && y[2] == 103);
  CHECK(atled_call_many(f, args, 3, 3, NULL, &done) == ATLED_OK && done == 3);
  args[0] = column(ATLED_FLOAT, NULL, 0, NULL);
  args[2] = atled_bool(true);
  into = column(ATLED_FLOAT, NULL, 0, NULL);
  CHECK(atled_call_many(f, args, 3, 0, &into, &done) == ATLED_OK && done == 0);
  end(vm, f);
}

/* The host's structures as they lie, in and out: the gradient of each goes to a structure. */
typedef struct Params {
  char name[3];
  double gamma;
  int64_t steps;
  double beta;
} Params;

static AtledValue params_of(Params *first, AtledValue items[3], const int64_t *n, const int64_t *stride) {
  static const char *const names[] = {"gamma", "steps", "beta"};
  items[0] = atled_array(ATLED_FLOAT, &first->gamma, 1, n, stride);
  items[1] = atled_array(ATLED_INT, &first->steps, 1, n, stride);
  items[2] = atled_array(ATLED_FLOAT, &first->beta, 1, n, stride);
  return atled_record(names, items, 3);
}

static void test_structures(AtledJit jit) {
  enum { N = 1000 };
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "value_and_grad value", "params -> float * params");
  static Params all[N], slopes[N];
  static double values[N];
  for (int i = 0; i < N; i++) all[i] = (Params){{0}, i, 2 * i, 0.5 * i};
  int64_t n = N, stride = sizeof(Params);
  AtledValue in[3], out[3], p = params_of(all, in, &n, &stride);
  AtledValue parts[] = {column(ATLED_FLOAT, values, N, NULL), params_of(slopes, out, &n, &stride)};
  AtledValue into = atled_tuple(parts, 2);
  CHECK(atled_call_many(f, &p, 1, N, &into, NULL) == ATLED_OK);
  int wrong = 0;
  for (int i = 0; i < N; i++)
    wrong += values[i] != 0.25 * i * i + 3.0 * i + 2 * i || slopes[i].beta != i || slopes[i].gamma != 3.0;
  CHECK(wrong == 0 && slopes[5].name[0] == 0 && all[5].steps == 10);
  /* The same by the fields' alphabetical order. */
  AtledValue ordered[] = {in[2], in[0], in[1]};
  p = atled_tuple(ordered, 3);
  values[7] = 0.0;
  CHECK(atled_call_many(f, &p, 1, N, &into, NULL) == ATLED_OK && values[7] == 12.25 + 21.0 + 14.0);
  atled_release(f);
  /* A tuple in a tuple, of which sets share a part. */
  f = get(vm, "fun ((a, b), c) -> a + 10.0 * b + 100.0 * c", "(float * float) * float -> float");
  AtledValue inner[] = {in[0], atled_float(1.0)}, outer[] = {atled_tuple(inner, 2), in[2]};
  p = atled_tuple(outer, 2);
  CHECK(atled_call_many(f, &p, 1, N, &parts[0], NULL) == ATLED_OK && values[6] == 6.0 + 10.0 + 300.0);
  end(vm, f);
}

static void test_arrays(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "scaled", "float -> float[] -> float[]");
  double k[] = {1, 10, 100}, w[3][2] = {{1, 2}, {3, 4}, {5, 6}}, y[3][2];
  int64_t dims[] = {3, 2}, back[] = {-(int64_t)sizeof *w, sizeof **w}, columns[] = {sizeof **w, sizeof *w};
  AtledValue args[] = {column(ATLED_FLOAT, k, 3, NULL), atled_matrix(w[0], 3, 2)}, into = atled_matrix(y[0], 3, 2);
  CHECK(atled_call_many(f, args, 2, 3, &into, NULL) == ATLED_OK);
  CHECK(y[0][1] == 2 && y[1][0] == 30 && y[2][1] == 600);
  args[1] = atled_array(ATLED_FLOAT, w[2], 2, dims, back);
  CHECK(atled_call_many(f, args, 2, 3, &into, NULL) == ATLED_OK);
  CHECK(y[0][1] == 6 && y[1][0] == 30 && y[2][1] == 200);
  args[1] = atled_floats(w[1], 2); /* the same for all, and results by column */
  double z[2][3];
  into = atled_array(ATLED_FLOAT, z[0], 2, dims, (int64_t[]){sizeof **z, sizeof *z});
  CHECK(atled_call_many(f, args, 2, 3, &into, NULL) == ATLED_OK && z[0][2] == 300 && z[1][0] == 4 && z[1][1] == 40);
  double square[2][2] = {{1, 2}, {3, 4}}; /* rows that don't lie together */
  int64_t two[] = {2, 2};
  args[0] = atled_float(2.0);
  args[1] = atled_array(ATLED_FLOAT, square[0], 2, two, columns);
  into = atled_matrix(y[0], 2, 2);
  CHECK(atled_call_many(f, args, 2, 2, &into, NULL) == ATLED_OK && y[0][0] == 2 && y[0][1] == 6 && y[1][1] == 8);
  end(vm, f);
}

/* A part of the handle's last result, by rows, and each row as its own result. */
static void test_last_result(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "fun (w : float[]) -> [ x + 1.0 | x in w ]", NULL);
  double start[6] = {0, 1, 2, 3, 4, 5}, y[6];
  AtledValue w = atled_floats(start, 6), last;
  CHECK(atled_call(f, &w, 1, &last) == ATLED_OK);
  AtledValue rows = atled_matrix(last.as.floats, 3, 2), into = atled_matrix(y, 3, 2);
  CHECK(atled_call_many(f, &rows, 1, 3, &into, NULL) == ATLED_OK && y[0] == 2 && y[2] == 4 && y[5] == 7);
  CHECK(last.as.floats[0] == 1 && last.as.floats[5] == 6);
  rows = atled_matrix(last.as.floats, 1, 6);
  into = atled_matrix(y, 1, 6);
  CHECK(atled_call_many(f, &rows, 1, 1, &into, NULL) == ATLED_OK && y[0] == 2 && y[5] == 7);
  atled_release(f);
  f = get(vm, "fun (w : float[]) -> (w, w[1..])", NULL); /* the result holds the argument */
  double whole[3][2], rest[3][1];
  AtledValue parts[] = {atled_matrix(whole[0], 3, 2), atled_matrix(rest[0], 3, 1)};
  into = atled_tuple(parts, 2);
  rows = atled_matrix(start, 3, 2);
  CHECK(atled_call_many(f, &rows, 1, 3, &into, NULL) == ATLED_OK && whole[1][0] == 2 && rest[2][0] == 5);
  end(vm, f);
}

static void test_other_values(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  double y[3], x[] = {1, 2, 3};
  AtledValue into = column(ATLED_FLOAT, y, 3, NULL), sides[] = {atled_float(3.0), atled_float(4.0)};
  const char *names[] = {"w", "h"};
  AtledValue radius = atled_float(2.0), box = atled_record(names, sides, 2);
  AtledValue shapes[] = {atled_variant("Dot", NULL), atled_variant("Circle", &radius), atled_variant("Box", &box)};
  AtledFunction *f = get(vm, "area", NULL);
  AtledValue arg = column(ATLED_VARIANT, shapes, 3, NULL);
  CHECK(atled_call_many(f, &arg, 1, 3, &into, NULL) == ATLED_OK && y[0] == 0 && y[1] == 12 && y[2] == 12);
  CHECK(atled_call_many(f, &shapes[1], 1, 3, &into, NULL) == ATLED_OK && y[0] == 12);
  atled_release(f);
  f = get(vm, "fun (s : string) (w : float[]) -> float (Str.length s) + sum w", NULL);
  AtledText texts[] = {{"abc", 3}, {NULL, 0}, {"de", 2}};
  AtledValue ragged[] = {atled_floats(x, 3), atled_floats(x, 0), atled_floats(x, 1)};
  AtledValue args[] = {column(ATLED_STRING, texts, 3, NULL), column(ATLED_ARRAY, ragged, 3, NULL)};
  CHECK(atled_call_many(f, args, 2, 3, &into, NULL) == ATLED_OK && y[0] == 9 && y[1] == 0 && y[2] == 3);
  texts[1].length = 1;
  size_t done;
  CHECK(atled_call_many(f, args, 2, 3, &into, &done) == ATLED_BAD_ARGUMENT && done == 1);
  CHECK_STR(atled_error(vm)->message, "set 1, argument 1: the string is NULL");
  atled_release(f);
  f = get(vm, "fun (p : float * string) (l : float list) -> fst p + List.sum l", NULL);
  AtledValue pair[2][2] = {{atled_float(1.0), atled_string("a")}, {atled_float(2.0), atled_string("b")}};
  AtledValue pairs[] = {atled_tuple(pair[0], 2), atled_tuple(pair[1], 2)};
  AtledValue lists[] = {atled_list(sides, 2), atled_list(NULL, 0)};
  AtledValue both[] = {column(ATLED_TUPLE, pairs, 2, NULL), column(ATLED_LIST, lists, 2, NULL)};
  into = column(ATLED_FLOAT, y, 2, NULL);
  CHECK(atled_call_many(f, both, 2, 2, &into, NULL) == ATLED_OK && y[0] == 8 && y[1] == 2);
  end(vm, f);
}

/* ---- What fails ---------------------------------------------------------------------------------------- */
static void test_failing_set(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "picky", "int -> float");
  int64_t k[10];
  double y[10] = {0};
  for (int i = 0; i < 10; i++) k[i] = i;
  size_t done = 0;
  AtledValue arg = column(ATLED_INT, k, 10, NULL), into = column(ATLED_FLOAT, y, 10, NULL), r;
  CHECK(atled_call(f, &(AtledValue){.kind = ATLED_INT, .as.integer = 4}, 1, &r) == ATLED_OK);
  CHECK(atled_call_many(f, &arg, 1, 10, &into, &done) == ATLED_RUNTIME_ERROR && done == 7 && y[6] == 6);
  CHECK_STR(atled_error(vm)->message, "seven");
  CHECK(atled_call_many(f, &arg, 1, 7, &(AtledValue){0}, &done) == ATLED_BAD_ARGUMENT && done == 0);
  AtledKept *kept;
  CHECK(atled_keep(f, &kept) == ATLED_OK && r.as.number == 4); /* the last result is what it was */
  atled_drop(kept);
  atled_release(f);
  f = get(vm, "fun (n : int) -> [ float i | i < n ]", NULL);
  double rows[3][2] = {{9, 9}, {9, 9}, {9, 9}};
  k[0] = k[1] = 2;
  k[2] = 3;
  arg = column(ATLED_INT, k, 3, NULL);
  into = atled_matrix(rows[0], 3, 2);
  CHECK(atled_call_many(f, &arg, 1, 3, &into, &done) == ATLED_BAD_ARGUMENT && done == 2);
  CHECK_STR(atled_error(vm)->message, "set 2, the result: a buffer of 3 elements is needed, not of 2");
  CHECK(rows[1][1] == 1 && rows[2][0] == 9);
  end(vm, f);
}

static void test_limits(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = jit == ATLED_JIT_ALWAYS ? 5.0 : 0.2; /* it counts what GCC takes */
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "model", model) == ATLED_OK);
  AtledFunction *f = get(vm, "spin", "int -> int");
  int64_t k[] = {0, 1, 2, 3}, y[4];
  size_t done;
  AtledValue arg = column(ATLED_INT, k, 4, NULL), into = column(ATLED_INT, y, 4, NULL);
  CHECK(atled_call_many(f, &arg, 1, 4, &into, &done) == ATLED_RUNTIME_ERROR && done == 3 && y[2] == 2);
  CHECK_STR(atled_error(vm)->kind, "time");
  arg = column(ATLED_INT, k, 3, NULL);
  into = column(ATLED_INT, y, 3, NULL);
  atled_interrupt(vm);
  CHECK(atled_call_many(f, &arg, 1, 3, &into, &done) == ATLED_RUNTIME_ERROR && done == 0);
  CHECK_STR(atled_error(vm)->kind, "interrupt");
  CHECK(atled_call_many(f, &arg, 1, 3, &into, &done) == ATLED_OK && done == 3);
  end(vm, f);
}

static const char *message_of(AtledFunction *f, AtledVM *vm, const AtledValue *args, int nargs, size_t n,
                              const AtledValue *into) {
  CHECK(atled_call_many(f, args, nargs, n, into, NULL) == ATLED_BAD_ARGUMENT);
  return atled_error(vm) ? atled_error(vm)->message : "";
}

static void test_misfits(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "value", "params -> float");
  double x[6] = {0}, y[6];
  int64_t n = 2, minus = -1, stride = sizeof(Params);
  Params all[2] = {{{0}, 0, 0, 0}};
  AtledValue items[3], p = params_of(all, items, &n, &stride), into = column(ATLED_FLOAT, y, 2, NULL);
  CHECK_STR(message_of(f, vm, &p, 1, 3, &into), "argument 1, field `beta`: 3 sets are needed, not 2");
  CHECK_STR(message_of(f, vm, &p, 2, 2, &into), "the function takes 1 argument, not 2");
  CHECK_STR(message_of(f, vm, NULL, 1, 2, &into), "the array of arguments is NULL");
  AtledValue odd = atled_float(1.0);
  CHECK_STR(message_of(f, vm, &odd, 1, 2, &into),
            "argument 1: a record of `beta`, `gamma`, `steps` is needed, not a float");
  CHECK_STR(message_of(f, vm, &p, 1, 2, &odd),
            "the result: a buffer of 1 dimension is needed, whose first one is that of the sets");
  odd = atled_matrix(y, 2, 1);
  CHECK_STR(message_of(f, vm, &p, 1, 2, &odd),
            "the result: a buffer of 1 dimension is needed, whose first one is that of the sets");
  odd = column(ATLED_FLOAT, NULL, 2, NULL);
  CHECK_STR(message_of(f, vm, &p, 1, 2, &odd), "the result: the array's elements are NULL");
  items[0] = atled_array(ATLED_FLOAT, x, 1, &minus, NULL);
  CHECK_STR(message_of(f, vm, &p, 1, 2, &into),
            "argument 1, field `gamma`: the array's dimensions are negative or too large");
  items[0] = atled_array(ATLED_INT, x, 1, &n, NULL);
  CHECK_STR(message_of(f, vm, &p, 1, 2, &into),
            "argument 1, field `gamma`: a float is needed, not an array of ints of 1 dimension");
  items[0] = atled_float(1.0);
  CHECK_STR(message_of(f, vm, &p, 1, SIZE_MAX, &into), "there are too many sets");
  CHECK(atled_call_many(NULL, &p, 1, 2, &into, NULL) == ATLED_BAD_ARGUMENT);
  atled_release(f);
  f = get(vm, "3.0", NULL);
  CHECK_STR(message_of(f, vm, NULL, 0, 2, &into), "this is no function, and has no sets of arguments");
  atled_release(f);
  f = get(vm, "fun (x : float) -> show x", NULL);
  odd = column(ATLED_FLOAT, x, 2, NULL);
  CHECK_STR(message_of(f, vm, &odd, 1, 2, &into),
            "the result: there are no buffers for a part of this type: atled_call gives it");
  CHECK(atled_call_many(f, &odd, 1, 2, NULL, NULL) == ATLED_OK);
  atled_release(f);
  f = get(vm, "fun (w : float[]) -> sum w", NULL);
  odd = atled_array(ATLED_BOOL, x, 2, (int64_t[]){2, 3}, NULL);
  CHECK_STR(message_of(f, vm, &odd, 1, 2, &into),
            "set 0, argument 1: an array of floats of 1 dimension is needed, not an array of bools of 1 dimension");
  end(vm, f);
}

/* Each allocation fails once: the VM stays usable, and nothing leaks. */
static void test_memory(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "fun (s : string) (w : float[]) -> [ x + float (Str.length s) | x in w ]", NULL);
  double w[2][2] = {{1, 2}, {3, 4}}, y[2][2];
  AtledText texts[] = {{"abc", 3}, {"d", 1}};
  AtledValue args[] = {column(ATLED_STRING, texts, 2, NULL), atled_matrix(w[0], 2, 2)}, into = atled_matrix(y[0], 2, 2);
  CHECK(atled_call_many(f, args, 2, 2, &into, NULL) == ATLED_OK);
  int failed = 0;
  AtledStatus status;
  do {
    atled_fail_allocation(vm, failed + 1);
    size_t done = 9;
    status = atled_call_many(f, args, 2, 2, &into, &done);
    CHECK(status == ATLED_OK || (status == ATLED_NO_MEMORY && done < 2));
    atled_fail_allocation(vm, 0);
    CHECK(atled_call_many(f, args, 2, 2, &into, NULL) == ATLED_OK && y[0][0] == 4 && y[1][1] == 5);
  } while (status != ATLED_OK && ++failed < 1000);
  CHECK(failed > 0 && failed < 1000);
  end(vm, f);
}

int main(void) {
  const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS, ATLED_JIT_AUTO};
  for (int m = 0; m < 3; m++) {
    test_scalars(modes[m]);
    test_structures(modes[m]);
    test_arrays(modes[m]);
    test_last_result(modes[m]);
    test_other_values(modes[m]);
    test_failing_set(modes[m]);
    test_limits(modes[m]);
    test_misfits(modes[m]);
    test_memory(modes[m]);
  }
  return check_result();
}
