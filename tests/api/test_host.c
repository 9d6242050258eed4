/* SPDX-License-Identifier: MIT */
/* A host that gives a handle what it got from it, and one that gives calls what they can't take: NULL, numbers and
 * texts that make no sense, calls from within callbacks, interrupts between calls, questions for the cache and the
 * clock. Each is a clear error or does what the header says; the VM goes on. What only looks, fails or was released
 * takes no memory for ever. */
#include "check.h"
#include <atled.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  return atled_new(&config);
}

static AtledFunction *get(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, type, &f) == ATLED_OK);
  return f;
}

/* ---- Results as arguments ---------------------------------------------------------------- */
enum { N = 1000 };

static void test_step(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *step = get(vm, "map (fun x -> x + 1.0)", "float[] -> float[]");
  double start[N] = {0};
  AtledValue w = atled_floats(start, N);
  for (int i = 0; i < 100; i++) CHECK(atled_call(step, &w, 1, &w) == ATLED_OK);
  CHECK(w.length == N && w.as.floats[0] == 100.0 && w.as.floats[N - 1] == 100.0);
  atled_release(step);
  atled_free(vm);
}

/* The result is the argument itself, a part of it, or a tuple with it. */
static void test_aliases(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  double start[N];
  for (int i = 0; i < N; i++) start[i] = i;
  AtledFunction *same = get(vm, "fun w -> w", "float[] -> float[]"),
                *rest = get(vm, "fun w -> w[1..]", "float[] -> float[]");
  AtledFunction *make = get(vm, "fun n -> [ float i | i < n ]", "int -> float[]");
  AtledValue n = atled_int(N), w;
  CHECK(atled_call(make, &n, 1, &w) == ATLED_OK);
  CHECK(atled_call(same, &w, 1, &w) == ATLED_OK && atled_call(same, &w, 1, &w) == ATLED_OK &&
        w.as.floats[N - 1] == N - 1);
  w = atled_floats(start, N);
  for (int i = 0; i < 10; i++) CHECK(atled_call(rest, &w, 1, &w) == ATLED_OK);
  CHECK(w.length == N - 10 && w.as.floats[0] == 10.0);
  AtledFunction *grow = get(vm, "fun w -> w ++ [1.0]", "float[] -> float[]");
  w = atled_floats(start, 2);
  for (int i = 0; i < 10; i++) {
    CHECK(atled_call(grow, &w, 1, &w) == ATLED_OK);
    w = atled_floats(w.as.floats + 1, w.length - 1);
  }
  CHECK(w.length == 2 && w.as.floats[0] == 1.0);
  AtledFunction *pair = get(vm, "fun (w, k) -> (w * 2.0, k + 1)", "float[] * int -> float[] * int");
  AtledValue items[2] = {atled_floats(start, 3), atled_int(0)}, p = atled_tuple(items, 2);
  for (int i = 0; i < 5; i++) CHECK(atled_call(pair, &p, 1, &p) == ATLED_OK);
  CHECK(p.as.items[0].as.floats[2] == 64.0 && p.as.items[1].as.integer == 5);
  AtledFunction *text = get(vm, "fun s -> s ++ \"x\"", "string -> string");
  AtledValue s = atled_string("a");
  for (int i = 0; i < 3; i++) CHECK(atled_call(text, &s, 1, &s) == ATLED_OK);
  CHECK(s.length == 4 && memcmp(s.as.string, "axxx", 4) == 0);
  AtledFunction *all[] = {same, rest, make, grow, pair, text};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) atled_release(all[i]);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* After an error the last result is still there. */
static void test_kept(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f =
      get(vm, "fun w -> if w[0] > 1.0 then fail \"large\" else map (fun x -> x + 1.0) w", "float[] -> float[]");
  double start[2] = {0.0, 5.0};
  AtledValue w = atled_floats(start, 2), none;
  while (atled_call(f, &w, 1, &w) == ATLED_OK) {}
  CHECK(w.as.floats[0] == 2.0 && w.as.floats[1] == 7.0);
  CHECK(atled_call(f, &w, 1, &none) == ATLED_RUNTIME_ERROR && w.as.floats[1] == 7.0);
  atled_release(f);
  atled_free(vm);
}

/* ---- What can't be taken ------------------------------------------------------------------- */
static void check_rejected(AtledVM *vm, AtledFunction *f, AtledValue v, const char *message) {
  AtledValue out;
  CHECK(atled_call(f, &v, 1, &out) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm) ? atled_error(vm)->message : NULL, message);
}

static void test_arguments(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *vector = get(vm, "fun a -> length a", "float[] -> int"),
                *matrix = get(vm, "fun a -> length a", "float[][] -> int");
  AtledFunction *text = get(vm, "fun s -> s", "string -> string"),
                *pair = get(vm, "fun (a, b) -> a + b", "int * int -> int");
  double x[4] = {1, 2, 3, 4}, y;
  AtledValue v = atled_floats(x, 4), out;
  v.dims[0] = -5;
  check_rejected(vm, vector, v, "argument 1: dimension 0 of the array is -5");
  check_rejected(vm, matrix, atled_matrix(x, (size_t)1 << 32, (size_t)1 << 32),
                 "argument 1: the array's dimensions are too large");
  check_rejected(vm, matrix, atled_matrix(x, (size_t)1 << 47, 0), "argument 1: the array's dimensions are too large");
  check_rejected(vm, vector, atled_floats(x, SIZE_MAX), "argument 1: dimension 0 of the array is -1");
  check_rejected(vm, vector, atled_floats(NULL, 2), "argument 1: the array's elements are NULL");
  v = atled_floats(x, 4);
  v.length = 3;
  check_rejected(vm, vector, v, "argument 1: the array's length is 3, and its dimensions make 4 elements");
  v.kind = (AtledKind)77;
  check_rejected(vm, vector, v, "argument 1: an array of floats of 1 dimension is needed, not something of no kind");
  check_rejected(vm, text, atled_string("a\xff"), "argument 1: the string isn't UTF-8: byte 1");
  check_rejected(vm, text, atled_string("\xed\xa0\x80"), "argument 1: the string isn't UTF-8: byte 0");
  check_rejected(vm, text, atled_string(NULL), "argument 1: the string is NULL");
  check_rejected(vm, pair, atled_tuple(NULL, 2), "argument 1: the items are NULL");
  v = (AtledValue){.kind = ATLED_STRING, .length = 3, .as.string = "a\0b"};
  CHECK(atled_call(text, &v, 1, &out) == ATLED_OK && out.length == 3 && memcmp(out.as.string, "a\0b", 3) == 0);
  v = atled_floats(NULL, 0);
  CHECK(atled_call(vector, &v, 1, &out) == ATLED_OK && out.as.integer == 0);
  CHECK(atled_call(vector, NULL, 1, &out) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call(vector, &v, -1, &out) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call(vector, &v, 1000000, &out) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call(NULL, &v, 1, &out) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call_double(NULL, x, 1, &y) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call_double(vector, NULL, 1, &y) == ATLED_BAD_ARGUMENT);
  AtledFunction *all[] = {vector, matrix, text, pair};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) atled_release(all[i]);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

static void test_look_ups(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f;
  CHECK(atled_get(vm, "fun x -> x", "'a -> 'a", &f) == ATLED_BAD_ARGUMENT && !f);
  CHECK_STR(atled_error(vm)->message, "the type of a look-up has no type variables, as `'a -> 'a` has");
  CHECK(atled_get(vm, "Nil", "'a list", &f) == ATLED_BAD_ARGUMENT && !f);
  CHECK(atled_get(vm, NULL, "int", &f) == ATLED_BAD_ARGUMENT && !f);
  CHECK(atled_get(vm, "1", "int", NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_get(NULL, "1", "int", &f) == ATLED_BAD_ARGUMENT);
  CHECK(atled_get(vm, "1", "int\xff", &f) != ATLED_OK && !f);
  CHECK(atled_get(vm, "1\xff", "int", &f) != ATLED_OK && !f);
  CHECK(atled_get(vm, "map", "(float -> float) -> float[] -> float[]", &f) == ATLED_OK);
  atled_release(f);
  atled_free(vm);
}

static void test_nulls(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  const char *text;
  const char *const *names;
  CHECK(atled_eval(vm, NULL, "1") == ATLED_BAD_ARGUMENT && atled_eval(vm, "a", NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_check(vm, "a", NULL) == ATLED_BAD_ARGUMENT && atled_eval_file(vm, NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_test(vm, "a", NULL, NULL, NULL) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the source is NULL");
  CHECK(atled_bench(vm, NULL, "1", NULL, NULL) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the name of the source is NULL");
  CHECK(atled_ir(vm, "a", NULL, ATLED_STAGE_FINAL, false, NULL, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_ir(vm, "a", "1", ATLED_STAGE_FINAL, false, NULL, NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_run(vm, "a", NULL) == ATLED_BAD_ARGUMENT && atled_run(vm, NULL, "1") == ATLED_BAD_ARGUMENT);
  CHECK(atled_derivative_source(vm, "a", NULL, "f", &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_derivative_source(vm, "a", "", NULL, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_derivative_source(vm, "a", "", "f", NULL) == ATLED_BAD_ARGUMENT);
  CHECK(atled_type(vm, NULL, &text) == ATLED_BAD_ARGUMENT && atled_doc(vm, NULL, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_names(vm, NULL, &names) > 0 && atled_names(vm, "", NULL) == 0);
  CHECK(atled_eval(NULL, "a", "1") == ATLED_BAD_ARGUMENT && !atled_error(NULL) && !atled_result(NULL, 0, NULL));
  CHECK(atled_eval(vm, "\xff\n\x1b", "let = ") != ATLED_OK);
  CHECK(atled_eval(vm, "a", "1\xff") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "a", "1 + 1") == ATLED_OK && !atled_result(vm, 0, NULL) && !atled_result(vm, -1, NULL));
  CHECK(atled_get(vm, "1", "int", NULL) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the place for the handle is NULL");
  atled_config_init(NULL);
  atled_release(NULL);
  atled_free(NULL);
  atled_free(vm);
}

/* A collector of garbage frees in any order. */
static void test_freed_first(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f = get(vm, "fun x -> x * 2.0", "float -> float"), *g = get(vm, "[1.0, 2.0]", "float[]");
  double x = 1.0, y = 0.0;
  atled_free(vm);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_BAD_ARGUMENT && atled_arity(f) == 1);
  atled_release(f);
  CHECK(atled_call(g, NULL, 0, NULL) == ATLED_BAD_ARGUMENT);
  atled_release(g);
}

static int64_t give_too_much(void *user, char *to, size_t n) {
  (void)user;
  (void)to;
  return (int64_t)n + 1;
}

static void test_wrong_config(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.input = give_too_much;
  config.args = (const char *const[]){"a", NULL, "b"};
  config.nargs = 3;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", "assert (args = [\"a\"])") == ATLED_OK);
  CHECK(atled_eval(vm, "t", "read_line ()") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "io");
  atled_free(vm);
}

/* ---- Calls from within callbacks -------------------------------------------------------------- */
typedef struct Inside {
  AtledVM *vm;
  AtledFunction *f;
  int refused;
} Inside;

static void call_back(void *user, const char *text, size_t n) {
  Inside *in = user;
  AtledFunction *f;
  AtledResult r;
  double x = 1.0, y;
  (void)text;
  (void)n;
  in->refused += atled_eval(in->vm, "inner", "1") == ATLED_BAD_ARGUMENT;
  in->refused += atled_get(in->vm, "1", "int", &f) == ATLED_BAD_ARGUMENT;
  in->refused += atled_call_double(in->f, &x, 1, &y) == ATLED_BAD_ARGUMENT;
  in->refused += !atled_result(in->vm, 0, &r);
  atled_release(in->f);
  atled_free(in->vm);
}

static void test_callbacks(void) {
  Inside in = {0};
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.write = call_back;
  config.user = &in;
  config.nargs = 7; /* of which there are none */
  config.time_limit = NAN;
  in.vm = atled_new(&config);
  in.f = get(in.vm, "fun x -> x * 2.0", "float -> float");
  CHECK(atled_eval(in.vm, "outer", "print 1") == ATLED_OK && in.refused == 4);
  double x = 4.0, y = 0.0;
  CHECK(atled_call_double(in.f, &x, 1, &y) == ATLED_OK && y == 8.0);
  atled_release(in.f);
  atled_free(in.vm);
}

/* ---- What leaves nothing ----------------------------------------------------------------- */
/* A round of calls that look, and of sources that don't compile, one in a library module that wasn't named before. */
static void look_around(AtledVM *vm) {
  const char *text;
  AtledFunction *none;
  CHECK(atled_check(vm, "looked", "let b = List.rev (a :: Nil)") == ATLED_OK);
  CHECK(atled_type(vm, "fun x -> a + x", &text) == ATLED_OK && strcmp(text, "int -> int") == 0);
  CHECK(atled_ir(vm, "looked", "print (grad (fun x -> x * x) 3.0)", ATLED_STAGE_FINAL, false, NULL, &text) == ATLED_OK);
  CHECK(strstr(text, "6") != NULL);
  CHECK(atled_ir(vm, "looked", "1", (AtledStage)(ATLED_STAGE_RUN + 1000), false, NULL, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_eval(vm, "incomplete", "let b = (") == ATLED_INCOMPLETE);
  CHECK(atled_get(vm, "a", "string", &none) == ATLED_COMPILE_ERROR && !none);
  CHECK(atled_eval(vm, "wrong", "let a = \"new\"\nlet b = Json.parse a + 1.0") == ATLED_COMPILE_ERROR);
  CHECK_STR(atled_error(vm)->file, "wrong");
  CHECK(atled_error(vm)->line == 2 && strstr(atled_error(vm)->rendered, "let b = Json.parse a + 1.0"));
}

static void test_nothing_left(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledResult result;
  CHECK(atled_eval(vm, "kept", "let a = length args + 7") == ATLED_OK);
  look_around(vm);
  size_t before = atled_memory_used(vm);
  for (int i = 0; i < 50; i++) look_around(vm);
  CHECK(atled_memory_used(vm) == before);
  CHECK(atled_eval(vm, "later", "a + 1") == ATLED_OK && atled_result(vm, 0, &result) && strcmp(result.value, "8") == 0);
  atled_free(vm);
}

static int mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  int n = 0;
  for (int c; maps && (c = fgetc(maps)) != EOF;) n += c == '\n';
  if (maps) fclose(maps);
  return n;
}

/* Machine code goes with its handle. */
static void test_released_code(void) {
  AtledVM *vm = new_vm(ATLED_JIT_ALWAYS);
  int before = 0;
  for (int i = 0; i < 12; i++) {
    char expression[40];
    snprintf(expression, sizeof expression, "fun x -> x + %d.0", i);
    AtledFunction *f = get(vm, expression, "float -> float");
    double x = 1.0, y = 0.0;
    CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y == 1.0 + i);
    atled_release(f);
    if (i == 1) before = mappings();
  }
  CHECK(mappings() < before + 10); /* a shared object has five */
  atled_free(vm);
}

/* ---- Interrupts between calls ------------------------------------------------------------ */
/* However little the next call does, it is the one that is stopped; what it would have defined isn't there. */
static void test_interrupts(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  AtledFunction *f = get(vm, "fun x -> x + 1.0", "float -> float"), *none = NULL;
  double x = 1.0, y = 0.0;
  for (int i = 0; i < 3; i++) {
    atled_interrupt(vm);
    CHECK(atled_call_double(f, &x, 1, &y) == ATLED_RUNTIME_ERROR);
    CHECK_STR(atled_error(vm) ? atled_error(vm)->kind : NULL, "interrupt");
    CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y == 2.0);
  }
  atled_interrupt(vm);
  CHECK(atled_eval(vm, "m", "let a = length args") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "interrupt");
  CHECK(atled_eval(vm, "m", "a") == ATLED_COMPILE_ERROR);
  atled_interrupt(vm);
  CHECK(atled_get(vm, "length args", "int", &none) == ATLED_RUNTIME_ERROR && !none);
  atled_interrupt(vm);
  atled_clear_interrupt(vm);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK);
  atled_release(f);
  atled_free(vm);
}

/* ---- The cache and the clock ------------------------------------------------------------- */
static AtledCache cache_of(AtledVM *vm) {
  AtledCache c = {.folder = "?"};
  CHECK(atled_cache(vm, &c) == ATLED_OK);
  return c;
}

/* The folder is the environment's; its size the host's. */
static void test_cache(void) {
  char folder[] = "/tmp/atled-test-XXXXXX", command[100];
  CHECK(mkdtemp(folder) && setenv("ATLED_CACHE", folder, 1) == 0 && setenv("ATLED_CACHE_SIZE", "5M", 1) == 0);
  AtledConfig config;
  atled_config_init(&config);
  CHECK(config.cache_size == 5 << 20);
  config.jit = ATLED_JIT_ALWAYS;
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = get(vm, "fun x -> x + 12.5", "float -> float");
  double x = 1, y;
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK);
  AtledCache c = cache_of(vm);
  CHECK(c.folder && strcmp(c.folder, folder) == 0 && !c.why && c.entries > 0 && c.bytes > 0 && c.limit == 5 << 20);
  CHECK(c.oldest > 1.7e9 && c.oldest <= c.newest);
  CHECK(atled_clear_cache(vm) == ATLED_OK && cache_of(vm).entries == 0);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y == 13.5); /* it is still there */
  CHECK(atled_cache(vm, NULL) == ATLED_BAD_ARGUMENT && atled_cache(NULL, &c) == ATLED_BAD_ARGUMENT);
  CHECK(atled_clear_cache(NULL) == ATLED_BAD_ARGUMENT);
  atled_release(f);
  atled_free(vm);
  config.cache_size = -1;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", "1 + 13") == ATLED_OK && !cache_of(vm).folder && !cache_of(vm).why);
  atled_free(vm);
  config.cache_size = 0;
  vm = atled_new(&config);
  CHECK(cache_of(vm).limit == 256 << 20 && cache_of(vm).entries == 0);
  atled_free(vm);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0 && unsetenv("ATLED_CACHE_SIZE") == 0 && unsetenv("ATLED_CACHE") == 0);
}

/* The number of a pass's run; -1: there is none. */
static int pass_named(const char *name) {
  AtledPass p;
  for (int k = 0; atled_pass(NULL, k, &p); k++)
    if (strcmp(p.name, name) == 0) return k;
  return -1;
}

static void test_passes(void) {
  const char *text, *graph = "graph f(p0 : float)\n  %1 : float = * p0 1.0\n  return %1\n",
                    *program = "let f x = x + 0.5\n";
  AtledVM *vm = atled_new(NULL);
  AtledPass p;
  int last = pass_named("nested_updates"), contract = pass_named("contract.1");
  CHECK(contract > 0 && last > contract && pass_named("contract") < 0 && pass_named("") < 0);
  CHECK(!atled_pass(vm, -1, &p) && !atled_pass(vm, 1000, &p) && !atled_pass(vm, 0, NULL));
  CHECK(atled_pass(vm, 0, &p) && p.before && p.does[0] && p.count == 0);
  CHECK(atled_pass(vm, last, &p) && !p.before);
  CHECK(atled_ir(vm, "p", program, (AtledStage)(ATLED_STAGE_RUN + last), false, "f", &text) == ATLED_OK);
  CHECK(strstr(text, "0.5") != NULL);
  CHECK(atled_ir(vm, "p", program, ATLED_STAGE_REMARKS, false, NULL, &text) == ATLED_OK && !*text);
  CHECK(atled_ir_text(vm, graph, ATLED_STAGE_BUILT, ATLED_STAGE_FINAL, false, &text) == ATLED_OK);
  CHECK(strstr(text, "return p0") != NULL);
  CHECK(atled_ir_text(vm, graph, ATLED_STAGE_FINAL, ATLED_STAGE_FINAL, false, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_ir_text(vm, graph, ATLED_STAGE_DIFFERENTIATED, ATLED_STAGE_BUILT, false, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_ir_text(vm, graph, ATLED_STAGE_PARSED, ATLED_STAGE_FINAL, false, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_ir_text(vm, "graph f(", ATLED_STAGE_BUILT, ATLED_STAGE_FINAL, false, &text) == ATLED_BAD_ARGUMENT);
  CHECK(atled_error(vm) && strstr(atled_error(vm)->message, "no graph's text"));
  CHECK(atled_ir_text(vm, NULL, ATLED_STAGE_BUILT, ATLED_STAGE_FINAL, false, &text) == ATLED_BAD_ARGUMENT && !*text);
  CHECK(atled_ir_text(vm, graph, ATLED_STAGE_BUILT, ATLED_STAGE_FINAL, false, NULL) == ATLED_BAD_ARGUMENT);
  atled_free(vm);
}

/* Of a phase: its seconds, or -1. */
static double phase(const AtledVM *vm, const char *name, AtledPhase *p) {
  for (int k = 0; atled_phase(vm, k, p); k++)
    if (strcmp(p->name, name) == 0) return p->seconds;
  return -1;
}

static void test_phases(void) {
  AtledPhase p;
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  CHECK(!atled_phase(vm, 0, &p) && !atled_phase(NULL, 0, &p)); /* nothing is measured */
  atled_free(vm);
  config.phases = true;
  vm = atled_new(&config);
  CHECK(atled_phase(vm, 0, &p) && strcmp(p.name, "read") == 0 && p.count == 0 && !p.elsewhere);
  CHECK(!atled_phase(vm, -1, &p) && !atled_phase(vm, 1000, &p) && !atled_phase(vm, 0, NULL));
  AtledPass simplify;
  AtledFunction *f = get(vm, "grad (fun x -> sin x * x)", "float -> float");
  CHECK(atled_pass(vm, 0, &simplify) && simplify.seconds > 0 && simplify.count > 0);
  CHECK(phase(vm, "parse", &p) > 0 && phase(vm, "differentiate", &p) > 0 && p.count > 0 && p.memory > 100000);
  CHECK(phase(vm, "compile", &p) == 0 && p.count == 0 && phase(vm, "compiler", &p) == 0 && p.elsewhere);
  phase(vm, "evaluate", &p);
  int64_t before = p.count;
  double x = 1, y;
  for (int k = 0; k < 5; k++) CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK);
  CHECK(phase(vm, "evaluate", &p) > 0 && p.count == before + 5);
  atled_fail_allocation(vm, 20); /* out of the midst of some phase */
  CHECK(atled_eval(vm, "t", "let f x = x * x\nf 2.0") == ATLED_NO_MEMORY);
  atled_fail_allocation(vm, 0);
  CHECK(atled_eval(vm, "t", "let f x = x * x\nf 2.0") == ATLED_OK && phase(vm, "other", &p) > 0);
  atled_release(f);
  atled_free(vm);
}

int main(void) {
  const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS};
  for (int i = 0; i < 2; i++) {
    test_step(modes[i]);
    test_aliases(modes[i]);
    test_kept(modes[i]);
    test_interrupts(modes[i]);
  }
  test_arguments();
  test_look_ups();
  test_nulls();
  test_freed_first();
  test_wrong_config();
  test_callbacks();
  test_nothing_left();
  test_released_code();
  test_cache();
  test_passes();
  test_phases();
  return check_result();
}
