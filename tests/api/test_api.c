/* SPDX-License-Identifier: MIT */
/* The public API as a host uses it: evaluation, errors as values, handles, values across the border, limits,
 * interrupts, and that nothing is leaked by any of it. */
#include "check.h"
#include <atled.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Output {
  char text[4096];
  size_t len;
  int diagnostics;
} Output;

static void collect(void *user, const char *text, size_t n) {
  Output *o = user;
  if (o->len + n >= sizeof o->text) return;
  memcpy(o->text + o->len, text, n);
  o->text[o->len += n] = '\0';
}

static void count(void *user, const AtledDiagnostic *d) {
  Output *o = user;
  o->diagnostics += d->rendered != NULL;
}

static AtledVM *make(AtledJit jit, Output *out) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.write = collect;
  config.diagnostic = count;
  config.user = out;
  memset(out, 0, sizeof *out);
  return atled_new(&config);
}

static void test_evaluation(AtledJit jit) {
  Output out;
  AtledVM *vm = make(jit, &out);
  CHECK(vm != NULL);
  CHECK(atled_eval(vm, "a", "let x = 20\nlet f y = x + y") == ATLED_OK);
  CHECK(atled_error(vm) == NULL);
  CHECK(atled_eval(vm, "b", "print (f 1)\nf 2") == ATLED_OK);
  CHECK_STR(out.text, "21\n");
  AtledResult r;
  CHECK(atled_result_count(vm) == 2);
  CHECK(atled_result(vm, 1, &r) && !r.name);
  CHECK_STR(r.value, "22");
  CHECK_STR(r.type, "int");
  CHECK(!atled_result(vm, 2, &r));
  atled_free(vm);
}

static void test_errors(AtledJit jit) {
  Output out;
  AtledVM *vm = make(jit, &out);
  CHECK(atled_eval(vm, "first.atl", "let a = [1, 2, 3]\nlet f i = a[i]") == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  CHECK(atled_eval(vm, "bad.atl", "let y = 1\nlet z = y + true\nlet w = nothing") == ATLED_COMPILE_ERROR);
  const AtledDiagnostic *e = atled_error(vm);
  CHECK(e && e->severity == ATLED_ERROR && e->line == 2 && atled_diagnostic_count(vm) >= 2);
  CHECK_STR(e->file, "bad.atl");
  CHECK(out.diagnostics == atled_diagnostic_count(vm));
  CHECK(atled_eval(vm, "q", "y") == ATLED_COMPILE_ERROR);
  CHECK(atled_eval(vm, "run.atl", "let before = 5\nprint (f 7)\nlet after = 6") == ATLED_RUNTIME_ERROR);
  e = atled_error(vm);
  CHECK_STR(e->kind, "index");
  CHECK_STR(e->file, "first.atl");
  CHECK(e->line == 2 && strstr(e->message, "7") && strstr(e->rendered, "run.atl:2"));
  CHECK(atled_eval(vm, "q", "print before") == ATLED_OK);
  CHECK(atled_eval(vm, "q", "print after") == ATLED_COMPILE_ERROR);
  CHECK(atled_live_objects(vm) == live);
  CHECK(atled_eval(vm, "q", "let f x = (") == ATLED_INCOMPLETE);
  CHECK(atled_eval(vm, "q", "f 2") == ATLED_OK && atled_error(vm) == NULL);
  CHECK(atled_eval_file(vm, "/nowhere/at/all.atl") == ATLED_BAD_ARGUMENT);
  atled_free(vm);
}

static void test_numbers(AtledJit jit) {
  Output out;
  AtledVM *vm = make(jit, &out);
  CHECK(atled_eval(vm, "m", "let f x = sin x + x * x\nlet g x y = x * y + 1.0") == ATLED_OK);
  AtledFunction *f, *df, *g;
  CHECK(atled_get(vm, "f", "float -> float", &f) == ATLED_OK);
  CHECK(atled_get(vm, "grad f", "float -> float", &df) == ATLED_OK);
  CHECK(atled_get(vm, "g", "float -> float -> float", &g) == ATLED_OK);
  double x = 0.5, xy[] = {3, 4}, y;
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && fabs(y - (sin(0.5) + 0.25)) < 1e-14);
  CHECK(atled_call_double(df, &x, 1, &y) == ATLED_OK && fabs(y - (cos(0.5) + 1)) < 1e-14);
  CHECK(atled_arity(g) == 2 && atled_call_double(g, xy, 2, &y) == ATLED_OK && y == 13);
  CHECK(atled_call_double(g, xy, 1, &y) == ATLED_BAD_ARGUMENT && atled_error(vm) != NULL);
  CHECK(atled_get(vm, "f", "float -> string", &(AtledFunction *){NULL}) == ATLED_COMPILE_ERROR);
  CHECK(atled_get(vm, "missing", "float", &(AtledFunction *){NULL}) == ATLED_COMPILE_ERROR);
  /* More than one expression, or less: its type would be another one than was asked for. */
  static const char *const pieces[] = {"1.0, 2.0", "1.0) + (2.0", "1.0)\nlet q = (3.0"};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    CHECK(atled_get(vm, pieces[i], "float", &(AtledFunction *){NULL}) == ATLED_BAD_ARGUMENT);
  CHECK(atled_get(vm, "sin, cos", "float -> float", &(AtledFunction *){NULL}) == ATLED_COMPILE_ERROR);
  atled_release(f);
  atled_release(df);
  atled_release(g);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

static void test_values(AtledJit jit) {
  Output out;
  AtledVM *vm = make(jit, &out);
  int64_t live = atled_live_objects(vm);
  AtledFunction *f;
  AtledValue r;
  CHECK(atled_get(vm, "grad (fun v -> dot v v)", "float[] -> float[]", &f) == ATLED_OK);
  double data[] = {1, 2, 3};
  AtledValue v = atled_floats(data, 3);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.kind == ATLED_ARRAY && r.element == ATLED_FLOAT && r.length == 3);
  CHECK(r.as.floats[0] == 2 && r.as.floats[1] == 4 && r.as.floats[2] == 6);
  CHECK(data[0] == 1 && data[2] == 3);
  AtledValue wrong = atled_int(1);
  CHECK(atled_call(f, &wrong, 1, &r) == ATLED_BAD_ARGUMENT);
  atled_release(f);

  CHECK(atled_get(vm, "fun (a : float[][]) i -> let mut b = a in (b[0, 0] <- 9.0; (b, a[i]))",
                  "float[][] -> int -> float[][] * float[]", &f) == ATLED_OK);
  double grid[] = {1, 2, 3, 4};
  AtledValue args[] = {atled_matrix(grid, 2, 2), atled_int(1)};
  CHECK(atled_call(f, args, 2, &r) == ATLED_OK && r.kind == ATLED_TUPLE && r.length == 2);
  CHECK(r.as.items[0].as.floats[0] == 9 && r.as.items[0].rank == 2 && r.as.items[1].as.floats[0] == 3);
  CHECK(grid[0] == 1);
  args[1] = atled_int(2);
  CHECK(atled_call(f, args, 2, &r) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "index");
  atled_release(f);

  CHECK(atled_get(vm, "fun p s -> {p with name = p.name ++ s}",
                  "{name : string, ok : bool} -> string -> {name : string, ok : bool}", &f) == ATLED_OK);
  AtledValue fields[] = {atled_string("a"), atled_bool(true)};
  AtledValue record[] = {atled_tuple(fields, 2), atled_string("∇")};
  CHECK(atled_call(f, record, 2, &r) == ATLED_OK);
  CHECK_STR(r.as.items[0].as.string, "a∇");
  CHECK(r.as.items[1].as.boolean);
  atled_release(f);

  CHECK(atled_get(vm, "Some [1, 2]", "int[] option", &f) == ATLED_OK && atled_arity(f) == 0);
  CHECK(atled_call(f, NULL, 0, &r) == ATLED_OK && r.kind == ATLED_VARIANT);
  CHECK_STR(r.name, "Some");
  CHECK(r.as.items->kind == ATLED_ARRAY && r.as.items->as.ints[1] == 2);
  atled_release(f);
  CHECK(atled_live_objects(vm) == live);
  atled_free(vm);
}

static void *interrupt_later(void *vm) {
  usleep(200000);
  atled_interrupt(vm);
  return NULL;
}

/* On a small stack: closures that call unknown closures last, which may own what they pass, or call others first. */
static void test_tail_calls(AtledJit jit) {
  static const struct {
    const char *source;
    double value;
  } programs[] = {
      {"let rec count n k = if n = 0 then k 0 else count (n - 1) (fun r -> if r < 0 then k r else k (r + 1))\n"
       "float (count 300000 (fun x -> x))",
       300000},
      {"let rec count n k = if n = 0 then k (0, 1.0) else count (n - 1) (fun (r, x) -> if r < 0 then k (r, x) else k "
       "(r + 1, x))\n"
       "float (fst (count 300000 (fun x -> x)))",
       300000},
      {"let rec count n k = if n = 0 then k [0.0] else count (n - 1) (fun a -> if a[0] < 0.0 then k a else k [a[0] + "
       "1.0])\n"
       "(count 300000 (fun x -> x))[0]",
       300000},
      {"let rec count n k = if n = 0 then k (1, 2, [0]) else count (n - 1) (fun (r, s, a) -> if r < 0 then k (r, s, a) "
       "else k (s, r, [a[0] + r]))\n"
       "float (let (r, s, a) = count 300000 (fun x -> x) in a[0])",
       450000},
      {"type p = P of (p[] -> int -> string -> string)\n"
       "let jump ps n s = match ps[n % 2] with P f -> f ps n s\n"
       "let even ps n s = if n <= 0 then s else jump ps (n - 1) (if n % 1000 = 0 then s ++ \"x\" else s)\n"
       "let odd ps n s = if n <= 0 then s else jump ps (n - 3) s\n"
       "let ps = [P even, P odd]\nfloat (Str.length (jump ps 300000 \"\"))",
       300},
      {"let rec add k n = if n = 0 then k else let f = fun x -> k (x + 1) in add f (n - 1)\n"
       "let ks = [ add (fun x -> x * i) 300000 | i < 2 ]\nlet use g = g 1\nfloat (use ks[1] + ks[0] 2)",
       300001},
      {"type k = K of (int -> k -> int)\n"
       "let rec go i = K (fun n next -> if n = 0 then i else match next with K f -> f (n - 1) (go (n % 7)))\n"
       "let start n = match go 3 with K f -> f n (go 2)\nfloat (start 300000)",
       2},
      {"let rec count n k = if n = 0 then k [0.0] else count (n - 1) (fun a -> if n = 150000 then fail \"half way\" "
       "else k a)\n"
       "(count 300000 (fun x -> x))[0]",
       NAN},
  };
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.stack_size = (size_t)1 << 20;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    AtledVM *vm = atled_new(&config);
    AtledFunction *h = NULL;
    char source[1000];
    const char *last = strrchr(programs[k].source, '\n') + 1;
    snprintf(source, sizeof source, "%.*slet run n = if n > 0 then %s else 0.0", (int)(last - programs[k].source),
             programs[k].source, last);
    CHECK(atled_eval(vm, "t", source) == ATLED_OK && atled_get(vm, "run", "int -> float", &h) == ATLED_OK);
    int64_t live = atled_live_objects(vm);
    AtledValue one = atled_int(1), r = {0};
    AtledStatus status = h ? atled_call(h, &one, 1, &r) : ATLED_RUNTIME_ERROR;
    if (isnan(programs[k].value)) {
      CHECK(status == ATLED_RUNTIME_ERROR);
      CHECK_STR(atled_error(vm)->message, "half way");
    } else {
      CHECK(status == ATLED_OK && r.as.number == programs[k].value);
      if (status != ATLED_OK) printf("%s\n%s\n", programs[k].source, atled_error(vm)->message);
    }
    CHECK(atled_live_objects(vm) == live);
    atled_release(h);
    atled_free(vm);
  }
}

/* What doesn't end has no value, however much algebra knows of it. */
static void test_endless(AtledJit jit) {
  static const char *const programs[] = {
      "let rec loop x = loop (x + 1)\n1.0 + loop 0",
      "let rec loop (a : float[]) : float[] = loop a\nlength (loop [1.0])",
      "let rec spin n = spin (n + 1)\nlet f x = spin 0; x\nf 1",
      "let f x = let mut s = x in while true do s <- s * 1.0 done; s\nf 2.0",
      "let f x = let mut s = x in while true do s <- s * 1.0 done; s\ngrad f 2.0",
      "let f x = let mut s = x in while true do s <- s * 1.0 done; s\njvp f 2.0 1.0",
      "let f x = let mut s = x in while true do s <- s * 1.0 done; s\ngrad (grad f) 2.0",
      "let f x = let mut s = x in while true do s <- s * 1.0 done; s\n[ snd (vjp f x) 1.0 | x in [1.0, 2.0] ]",
      "let rec loop x = loop (x + 1)\ngrad (fun x -> 1.0 + loop 0) 2.0",
      "let rec loop x = loop (x + 1)\njvp (fun x -> 1.0 + loop 0) 2.0 1.0",
      "let f (x : float) = let mut k = 1 in while k <> 0 do k <- 1 + k * 2 done; x\nf 2.0",
      "let f (x : float) = let mut k = 1 in while k <> 0 do k <- 1 + k * 2 done; x\ngrad f 2.0",
      "while true do () done",
      "let f b = let mut k = 0 in while k <= b do k += 1 done; k\nf 9223372036854775807",
      "let f b = let mut k = 0 in while k >= b do k -= 1 done; k\nf (-9223372036854775808)",
      "let f a b = let mut k = a in while k < b do k += 1 done; k\nf (-5) 9223372036854775807",
      "let f b = let mut s = 0 in for i = -5 to b do s += 2 done; s\nf 9223372036854775807",
      "let rec odd n = if n % 2 = 1 then 0 else odd (n + 2)\n0 * odd 0",
      "let rec odd n = if n % 2 = 1 then 0 else odd (n + 2)\nif odd 0 = 7 then 3 else 3",
  };
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = 0.1;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    AtledVM *vm = atled_new(&config);
    bool ended = atled_eval(vm, "t", programs[k]) == ATLED_OK;
    if (ended) printf("this ended: %s\n", programs[k]);
    CHECK(!ended);
    if (!ended) CHECK_STR(atled_error(vm)->kind, "time");
    atled_free(vm);
  }
}

static void test_limits(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = 0.3;
  AtledVM *vm = atled_new(&config);
  const char *forever = "let rec spin n = if n < 0 then n else spin (n + 1 - n % 2)\nspin 1";
  CHECK(atled_eval(vm, "t", forever) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "time");
  CHECK(atled_eval(vm, "t", "let rec deep n = 1 + deep (n + 1)\ndeep 0") == ATLED_RUNTIME_ERROR);
  atled_free(vm);
  test_endless(jit);
  test_tail_calls(jit);

  config.time_limit = 0;
  vm = atled_new(&config);
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_later, vm);
  CHECK(atled_eval(vm, "t", forever) == ATLED_RUNTIME_ERROR);
  pthread_join(thread, NULL);
  CHECK_STR(atled_error(vm)->kind, "interrupt");
  CHECK(atled_eval(vm, "t", "1") == ATLED_OK);
  atled_free(vm);

  config.memory_limit = (size_t)64 << 20;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", "let a = zeros 100000000") == ATLED_NO_MEMORY);
  CHECK_STR(atled_error(vm)->kind, "memory");
  CHECK(atled_eval(vm, "t", "let b = zeros 1000") == ATLED_OK);
  atled_free(vm);
}

/* What the runtime does in one call sees the limit too: a pipe that nobody writes to. */
static void test_waiting(AtledJit jit) {
  char folder[] = "/tmp/atled-test-XXXXXX", program[100], fifo[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(fifo, sizeof fifo, "%s/pipe", folder);
  snprintf(program, sizeof program, "print (read_file \"%s\")", fifo);
  CHECK(mkfifo(fifo, 0600) == 0);
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = 0.3;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "wait", program) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "time");
  atled_free(vm);
  unlink(fifo);
  rmdir(folder);
}

static size_t held;
static void *counting(void *user, void *p, size_t old_size, size_t new_size) {
  (void)user;
  if (new_size == 0) {
    held -= old_size;
    free(p);
    return NULL;
  }
  void *q = realloc(p, new_size);
  if (q) held += new_size - (p ? old_size : 0);
  return q;
}

/* Closures, data, recursion, loops and derivatives, natively: nothing is left to the evaluator, and it is there when
 * wanted. */
static void test_who_runs(AtledJit jit) {
  static const char program[] = "let fs = [ (fun x -> x * x), sin, (fun x -> if x > 0.0 then x else -x) ]\n"
                                "let rec total l = match l with | Nil -> 0.0 | x :: r -> x + total r\n"
                                "let f x = sum [ g x | g in fs ] + total (x :: 2.0 :: Nil)\n"
                                "let y = fold (fun s i -> s + grad f (float i)) 0.0 (range 0 9)\n"
                                "let (v, back) = vjp f 2.0\n"
                                "let z = back 1.0 + back 2.0\n"
                                "print (sort_by (fun a -> -a) [ y, z, v ])";
  Output out;
  AtledVM *vm = make(jit, &out);
  CHECK(atled_eval(vm, "who", program) == ATLED_OK);
  if (jit == ATLED_JIT_ALWAYS) CHECK(atled_evaluator_calls(vm) == 0);
  if (jit == ATLED_JIT_OFF) CHECK(atled_evaluator_calls(vm) > 0); /* `auto` may find its code in the cache */
  atled_free(vm);
}

/* A million cells, on a stack that holds a few ten thousand calls: tail calls, also modulo a constructor. */
static void test_constant_stack(AtledJit jit) {
  static const char program[] =
      "type tree = Leaf | Node of tree * int * tree\n"
      "let rec upto n l = if n = 0 then l else upto (n - 1) (n :: l)\n"
      "let rec map f l = match l with Nil -> Nil | x :: r -> f x :: map f r\n"
      "let rec total s l = match l with Nil -> s | x :: r -> total (s + x) r\n"
      "let rec twice l = match l with Nil -> Nil | x :: r -> x :: x :: twice r\n"
      "let rec odd l = match l with Nil -> Nil | x :: r -> x :: even r\n"
      "and even l = match l with Nil -> Nil | _ :: r -> odd r\n"
      "let rec spine n = if n = 0 then Leaf else Node (Leaf, n, spine (n - 1))\n"
      "let rec double t = match t with Leaf -> Leaf | Node (l, x, r) -> Node (double l, 2 * x, double r)\n"
      "let rec last t x = match t with Leaf -> x | Node (_, y, r) -> last r y\n"
      "let rec broken l = match l with Nil -> fail \"end\" | x :: r -> x :: broken r\n"
      "let l = upto 1000000 Nil\n"
      "let sums = (total 0 (map (fun x -> 2 * x) l), total 0 (twice l), total 0 (odd l), last (double (spine 1000000)) "
      "0)\n";
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.stack_size = (size_t)8 << 20;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "cells", program) == ATLED_OK);
  int64_t live = atled_live_objects(vm);
  CHECK(atled_eval(vm, "check", "if sums <> (1000001000000, 1000001000000, 250000000000, 2) then fail \"sums\"") ==
        ATLED_OK);
  CHECK(atled_eval(vm, "broken", "broken l") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "fail");
  CHECK(atled_live_objects(vm) == live);
  atled_free(vm);
}

static void test_allocator(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = counting;
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && held > 0);
  CHECK(atled_eval(vm, "a", "let xs = [ show i | i < 10 ]\nlet m = (1, \"x\") :: Nil") == ATLED_OK);
  CHECK(atled_memory_used(vm) > 0);
  atled_free(vm);
  CHECK(held == 0);
}

/* The kinds of the parts, a letter below each byte. */
static void test_parts(void) {
  static const char *const texts[][2] = {
      {"let f (x : 'a Map.t) = $\"n {x:.2f}!\" # c", "kkk        tt ttttt    sssss sssssss ccc"},
      {"test \"a\" = true (* c *)\nopen M", "kkkk sss   kkkk ccccccc kkkk  "},
      {"type key = A of num 'a => int[]", "kkkk ttt     kk ttt ee         "},
      {"0x1f + 2) + 1.5", "nnnn   ne   nnn"},
      {"import + open \"abc", "              e   "},
      {"\xff# no text", "eccccccccc"},
      {"", ""}};
  AtledVM *vm = atled_new(NULL);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char seen[64] = "";
    const AtledPart *parts;
    int n;
    memset(seen, ' ', strlen(texts[i][0]));
    CHECK(atled_parts(vm, texts[i][0], &parts, &n) == ATLED_OK && atled_diagnostic_count(vm) == 0);
    for (int k = 0; k < n; k++) memset(seen + parts[k].start, "ksncte"[parts[k].kind], parts[k].end - parts[k].start);
    CHECK_STR(seen, texts[i][1]);
  }
  atled_free(vm);
}

/* What a source defines, without running it or leaving anything behind. */
static void test_definitions(void) {
  AtledVM *vm = atled_new(NULL);
  const AtledDefinition *const *d;
  int n;
  const char *source = "# Twice.\nlet twice (x : float) = x + x\nlet n = 1\ntype t = A | B of int\nand r = {k : t}\n"
                       "let _p a (b, c) = fail \"run\"\nlet n : int = fail \"run\"";
  static const char *const expected[] = {"source t.atl 1",    "value twice 2 float -> float",   "type t 4",
                                         "constructor A 4 t", "constructor B 4 int -> t",       "type r 5",
                                         "field k 5 t",       "value _p 6 'a -> 'b * 'c -> 'd", "value n 7 int"};
  CHECK(atled_definitions(vm, "t.atl", source, &d, &n) == ATLED_OK && n == 9);
  for (int i = 0; i < n && i < 9; i++) {
    char text[100];
    snprintf(text, sizeof text, "%s %s %d%s%s", d[i]->kind, d[i]->name, d[i]->line, d[i]->type ? " " : "",
             d[i]->type ? d[i]->type : "");
    CHECK_STR(text, expected[i]);
  }
  CHECK_STR(d[1]->doc, "Twice.\n");
  CHECK_STR(d[1]->parameters[0], "x");
  CHECK_STR(d[7]->parameters[1], "(b, c)");
  CHECK(d[1]->parameter_count == 1 && d[7]->parameter_count == 2 && !d[2]->doc);
  CHECK_STR(d[0]->source, source);
  CHECK(atled_eval(vm, "t", "twice 1.0") == ATLED_COMPILE_ERROR);
  CHECK(atled_definitions(vm, "t", "let x = 1 + true", &d, &n) == ATLED_COMPILE_ERROR && n == 0 && atled_error(vm));
  CHECK(atled_definitions(vm, "t", "let x =", &d, &n) == ATLED_INCOMPLETE);
  CHECK(atled_definitions(vm, "Linalg", NULL, &d, &n) == ATLED_OK && n > 20);
  CHECK(atled_definitions(vm, "prelude", NULL, &d, &n) == ATLED_OK && n > 100);
  CHECK(atled_definitions(vm, "Nowhere", NULL, &d, &n) == ATLED_BAD_ARGUMENT);
  atled_free(vm);
}

static const char *asked_at(AtledVM *vm, AtledQuestion question, const char *source, size_t at) {
  AtledQuery q = {question, "q.atl", source, at, strlen(source), NULL};
  const char *json;
  CHECK(atled_query(vm, &q, &json) == ATLED_OK);
  CHECK(atled_diagnostic_count(vm) == 0 && !atled_error(vm));
  return json ? json : "";
}

/* The answer about the first place where `where` stands. */
static const char *asked(AtledVM *vm, AtledQuestion question, const char *source, const char *where) {
  return asked_at(vm, question, source, (size_t)(strstr(source, where) - source));
}

/* Types only: nothing is elaborated. Types of a source that was checked aren't known afterwards. */
static void test_check_types(void) {
  AtledVM *vm = atled_new(NULL);
  CHECK(atled_check_types(vm, "t", "let x = [1, 2][3]") == ATLED_OK);
  CHECK(atled_check(vm, "t", "let x = [1, 2][3]") == ATLED_COMPILE_ERROR);
  CHECK(atled_check_types(vm, "t", "let x = 1 + true") == ATLED_COMPILE_ERROR && atled_diagnostic_count(vm) == 1);
  CHECK(atled_check_types(vm, "t", "let x =") == ATLED_INCOMPLETE);
  CHECK(atled_check_types(vm, "t", "type t = A | B\nlet f x = Stats.mean x") == ATLED_OK);
  CHECK(atled_check_types(vm, "t", "let g (x : t) = A") == ATLED_COMPILE_ERROR);
  CHECK(atled_check(vm, "t", "type u = C\nopen Stats\nlet f x = median x") == ATLED_OK);
  CHECK(atled_check(vm, "t", "let g (x : u) = C") == ATLED_COMPILE_ERROR);
  CHECK(atled_check(vm, "t", "let g = median") == ATLED_COMPILE_ERROR);
  atled_free(vm);
}

/* Questions about a source, of which two items have errors; the names of tokens are found by hand. */
static void test_queries(void) {
  AtledVM *vm = atled_new(NULL);
  const char *source = "# Twice.\nlet twice x = x + x\ntype t = A | B of int\nlet bad = 1 + true\n"
                       "let f {a, ..} = twice a\nlet broken = )\nlet y = (twice 1.5, B 2)\n";
  CHECK_STR(asked(vm, ATLED_ASK_PLACE, source, "twice 1.5"),
            "{\"start\":118,\"end\":123,\"what\":\"value\",\"name\":\"twice\",\"type\":\"num 'a => 'a -> 'a\","
            "\"here\":\"float -> float\",\"doc\":\"Twice.\","
            "\"definition\":{\"file\":\"q.atl\",\"start\":13,\"end\":18}}");
  CHECK_STR(asked(vm, ATLED_ASK_PLACE, source, "B 2"),
            "{\"start\":129,\"end\":130,\"what\":\"constructor\",\"name\":\"B\",\"type\":\"int -> t\","
            "\"definition\":{\"file\":\"q.atl\",\"start\":42,\"end\":43}}");
  CHECK_STR(asked(vm, ATLED_ASK_PLACE, source, "(twice"),
            "{\"start\":117,\"end\":133,\"what\":\"expression\",\"type\":\"float * t\"}");
  CHECK_STR(asked(vm, ATLED_ASK_PLACE, source, "broken"), "null");
  CHECK_STR(asked(vm, ATLED_ASK_USES, source, "twice x"),
            "[{\"start\":13,\"end\":18,\"defines\":true},{\"start\":86,\"end\":91},{\"start\":118,\"end\":123}]");
  CHECK_STR(asked(vm, ATLED_ASK_USES, source, "a, .."),
            "[{\"start\":77,\"end\":78,\"defines\":true,\"field\":true},{\"start\":92,\"end\":93}]");
  CHECK_STR(asked(vm, ATLED_ASK_OUTLINE, "type t = A\nlet f x = true\n", "type"),
            "[{\"name\":\"t\",\"what\":\"type\",\"start\":5,\"end\":10,\"name_start\":5,\"name_end\":6,"
            "\"parts\":[{\"name\":\"A\",\"what\":\"constructor\",\"start\":9,\"end\":10,\"name_start\":9,"
            "\"name_end\":10}]},{\"name\":\"f\",\"what\":\"function\",\"start\":11,\"end\":25,\"name_start\":15,"
            "\"name_end\":16,\"type\":\"'a -> bool\"}]");
  CHECK_STR(asked(vm, ATLED_ASK_TYPES, source, "#"),
            "[{\"at\":58,\"type\":\"int\"},{\"at\":114,\"type\":\"float * t\"}]");
  CHECK_STR(asked(vm, ATLED_ASK_NAMES, source, "y = ("),
            "[{\"start\":113,\"end\":114,\"what\":\"value\",\"defines\":true},"
            "{\"start\":118,\"end\":123,\"what\":\"function\"},{\"start\":129,\"end\":130,\"what\":\"constructor\"}]");
  atled_free(vm);
}

/* The answer at the place of the question mark, which isn't part of the source. */
static void check_asked_at(AtledVM *vm, AtledQuestion question, const char *marked, const char *expected) {
  char source[200];
  size_t at = strcspn(marked, "?");
  snprintf(source, sizeof source, "%.*s%s", (int)at, marked, marked + at + 1);
  CHECK_STR(asked_at(vm, question, source, at), expected);
}

/* Items that somebody is typing. */
static void test_unfinished(void) {
  AtledVM *vm = atled_new(NULL);
  check_asked_at(vm, ATLED_ASK_WORDS, "let apple = 1\nlet f appx = (if app? then\nlet appz = 2\n",
                 "{\"start\":31,\"words\":[{\"name\":\"appx\",\"what\":\"local\",\"type\":\"'a\"},"
                 "{\"name\":\"apple\",\"what\":\"value\",\"type\":\"int\"},"
                 "{\"name\":\"append_file\",\"what\":\"value\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "let p = {xa = 1, b = true}\nlet q = p.x?",
                 "{\"start\":37,\"words\":[{\"name\":\"xa\",\"what\":\"field\",\"type\":\"int\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "let f (p : {xa : int, b : bool}) = {p with b = true, x?",
                 "{\"start\":53,\"words\":[{\"name\":\"xa\",\"what\":\"field\",\"type\":\"int\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "type shade = Dark\nlet f (x : sha?",
                 "{\"start\":29,\"words\":[{\"name\":\"shade\",\"what\":\"type\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "print (Stats.medi?)",
                 "{\"start\":13,\"words\":[{\"name\":\"median\",\"what\":\"value\",\"module\":\"Stats\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "let f whole =\n  match 1 with\n  | n when let k = $\"{who?",
                 "{\"start\":51,\"words\":[{\"name\":\"whole\",\"what\":\"local\",\"type\":\"'a\"}]}");
  check_asked_at(vm, ATLED_ASK_WORDS, "# map in a comm?", "{\"start\":11,\"words\":[]}");
  check_asked_at(vm, ATLED_ASK_CALL, "let f (x : float) y = x + y\nlet g = f 1.0 (2.0 +?",
                 "{\"function\":\"f\",\"parameters\":[\"x : float\",\"y : float\"],\"result\":\"float\",\"active\":1,"
                 "\"type\":\"float -> float -> float\"}");
  check_asked_at(vm, ATLED_ASK_CALL, "let f x = x\nlet g = ?", "null");
  atled_free(vm);
}

/* Names, types and imports aren't looked at; an error of the syntax gives no text, and the VM goes on. */
static void test_format(void) {
  AtledVM *vm = atled_new(NULL);
  const char *text;
  CHECK(atled_format(vm, "a", "open  None   # words\nlet x=1+true", &text) == ATLED_OK);
  CHECK_STR(text, "open None    # words\nlet x = 1 + true\n");
  CHECK(atled_format(vm, "b", "let x = 1\nlet  y = )", &text) == ATLED_COMPILE_ERROR && !text);
  CHECK(atled_diagnostic_count(vm) == 1 && atled_diagnostic(vm, 0)->line == 2);
  CHECK_STR(atled_diagnostic(vm, 0)->file, "b");
  CHECK(atled_format(vm, NULL, "", &text) == ATLED_OK);
  CHECK_STR(text, "");
  CHECK(atled_eval(vm, "c", "let x = 1") == ATLED_OK && atled_format(vm, "c", "print   x", &text) == ATLED_OK);
  CHECK_STR(text, "print x\n");
  atled_free(vm);
}

int main(void) {
  CHECK(strlen(atled_version()) >= 5);
  for (int jit = ATLED_JIT_AUTO; jit <= ATLED_JIT_ALWAYS; jit++) {
    test_evaluation((AtledJit)jit);
    test_errors((AtledJit)jit);
    test_numbers((AtledJit)jit);
    test_values((AtledJit)jit);
    test_limits((AtledJit)jit);
    test_waiting((AtledJit)jit);
    test_who_runs((AtledJit)jit);
    test_constant_stack((AtledJit)jit);
  }
  test_allocator();
  test_parts();
  test_definitions();
  test_check_types();
  test_queries();
  test_unfinished();
  test_format();
  return check_result();
}
