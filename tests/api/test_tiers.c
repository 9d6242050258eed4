/* SPDX-License-Identifier: MIT */
/* Evaluator and machine code change over at every kind of place: with ATLED_COIN everything has machine code, and
 * chance decides at each call and each head of a loop. Whatever it decides, a program prints the same and fails in the
 * same way at the same place, its effects happen once, no object is left, and no array is copied that would have been
 * updated in place. In mode `auto` a loop changes over while it runs, a function that the host or machine code calls
 * again and again gets machine code whatever it consists of, and a VM is freed while something is compiled. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- What a run does --------------------------------------------------------------------------------------------- */
enum { ARRAY = 100000 * 8, HEADER = 1000 }; /* of the array in the first program */
typedef struct Run {
  char text[1 << 16]; /* what it prints, and its errors */
  size_t length;
  int64_t arrays; /* blocks of its size that were taken */
  int64_t live;   /* objects at the end */
} Run;

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Run *r = user;
  (void)old_size;
  if (new_size >= ARRAY && new_size < ARRAY + HEADER) r->arrays++;
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}

static void add(void *user, const char *text, size_t length) {
  Run *r = user;
  if (r->length + length >= sizeof r->text) return;
  memcpy(r->text + r->length, text, length);
  r->text[r->length += length] = 0;
}

static void complain(void *user, const AtledDiagnostic *d) { add(user, d->rendered, strlen(d->rendered)); }

static AtledVM *make(Run *r, AtledJit jit) {
  AtledConfig config;
  *r = (Run){.length = 0};
  atled_config_init(&config);
  config.allocate = allocate;
  config.write = add;
  config.diagnostic = complain;
  config.user = r;
  config.jit = jit;
  return atled_new(&config);
}

static void run(const char *program, AtledJit jit, Run *r) {
  AtledVM *vm = make(r, jit);
  atled_eval(vm, "program", program);
  atled_eval(vm, "last", "()");
  r->live = atled_live_objects(vm);
  atled_free(vm);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static const char *const programs[] = {
    /* arrays that are owned, through calls and loops within loops */
    "let bump start i =\n  let mut a = start in\n  a[i] <- a[i] + 1.0;\n  a\n"
    "let run n =\n  let mut a = zeros 100000 in\n  for i = 0 to n do\n    a <- bump a (i % 7);\n"
    "    for k = 0 to i % 3 do\n      a[k] <- a[k] * 0.5\n    done\n  done;\n  a\n"
    "let rec walk a i = if i = 0 then a else walk (bump a i) (i - 1)\n"
    "let r = walk (run 300) 300\n"
    "print (r[0], r[1], r[299], length r, sum r)\n",
    /* errors in loops and calls that hold references */
    "let at a i = a[i] + 1.0\n"
    "let f rows n =\n  let mut total = 0.0 in\n  let mut kept = [1.0, 2.0] in\n  for i = 0 to n do\n"
    "    let row = [ x * 2.0 | x in rows[i % 2] ] in\n    kept <- row;\n    total <- total + at row (i / 3) + at kept "
    "0\n"
    "  done;\n  total + sum kept\n"
    "print (f [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] 7)\n"
    "let g n = [ f [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] k | k < n ]\n"
    "print (sum (g 8))\nprint \"on\"\nprint (sum (g 20))\n",
    /* closures, in arrays and called last */
    "let make k = fun n ->\n  let mut s = 0 in\n  for i = 1 to n do\n    s <- s + i % k\n  done;\n  s\n"
    "let fs = [ make (k + 2) | k < 5 ]\n"
    "let rec ping (f : int -> int) n = if n = 0 then f 0 else pong (fun x -> f x + n % 2) (n - 1)\n"
    "and pong (f : int -> int) n = if n = 0 then f 1 else ping (fun x -> f (x + 1)) (n - 1)\n"
    "print [ f 50 | f in fs ]\nprint (ping (fun x -> x) 40)\n"
    "let rec count (k : int -> int) n = if n = 0 then k 0 else count (fun x -> k (x + n)) (n - 1)\n"
    "print (count (fun x -> x) 2000)\n",
    /* trees, lists, strings, and effects in loops */
    "type tree = Leaf | Node of (tree * int * tree)\n"
    "let rec insert t x = match t with Leaf -> Node (Leaf, x, Leaf)\n"
    "  | Node (l, y, r) -> if x < y then Node (insert l x, y, r) else Node (l, y, insert r x)\n"
    "let rec total t = match t with Leaf -> 0 | Node (l, y, r) -> total l + y + total r\n"
    "let build n =\n  let mut t = Leaf in\n  for i = 1 to n do\n    t <- insert t (i * 37 % 101);\n"
    "    if i % 25 = 0 then print $\"{i}: {total t}\"\n  done;\n  t\n"
    "print (total (build 100))\n"
    "let words n =\n  let mut s = \"\" in\n  for i = 1 to n do\n    s <- $\"{s}{i % 10}\"\n  done;\n  s\nprint (words "
    "30)\n",
    /* derivatives, and loops with several exits */
    "let f x =\n  let mut y = x in\n  let mut k = 0 in\n  while y < 100.0 && k < 50 do\n    y <- y * 1.1 + sin x;\n    "
    "k <- k + 1\n"
    "  done;\n  y * float k\n"
    "print (f 1.0, grad f 1.0, grad (grad f) 1.0)\n"
    "let loss (w : float[]) =\n  let mut s = 0.0 in\n  for i = 0 to length w - 1 do\n    s <- s + w[i] * w[i] * (if i "
    "> 0 then w[i - 1] else 1.0)\n"
    "  done;\n  s\n"
    "let train n =\n  let mut w = [ float i * 0.1 | i < 20 ] in\n  for i = 1 to n do\n    w <- w - 0.01 * grad loss "
    "w\n  done;\n  w\n"
    "print (sum (train 50))\n"
    "let rec find a i x = if i >= length a then 0 - 1 else if a[i] > x then i else find a (i + 1) x\n"
    "print (find (train 3) 0 0.7, find (train 3) 0 7.0)\n",
    /* functions whose results come back in every way, numbers, pairs, more, with and without errors, called last */
    "let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)\n"
    "let rec leaf n = if n < 2 then 1.5 else leaf (n - 1) * 0.5 + leaf (n - 2)\n"
    "let rec two n = if n < 2 then (n, 1.0) else\n"
    "  let (a, b) = two (n - 1) in\n"
    "  let (c, d) = two (n - 2) in\n"
    "  (a + c + fib (n % 5), b * 0.5 + d + leaf (n % 4))\n"
    "let rec three (v : float[]) n = if n < 2 then (n, v[n], v) else\n"
    "  let (a, b, w) = three v (n - 1) in\n"
    "  let (c, d, _) = three w (n - 2) in\n"
    "  let (e, f) = two (n % 6) in\n"
    "  (a + c + e, b + d * f, w)\n"
    "let rec first (v : float[]) n = if n < 2 then v[n] else\n"
    "  let (_, y, _) = three v (n % 4) in\n"
    "  first v (n - 1) + first v (n - 2) * y\n"
    "let rec pass (k : int -> float) n = if n < 2 then k n else pass (fun i -> k (i + n % 2)) (n - 1)\n"
    "let rec both (v : float[]) n = if n = 0 then pass (fun i -> first v (i % 2)) 7 else both v (n - 1) + first v (n % "
    "3)\n"
    "print (fib 12, leaf 9, two 9, first [1.0, 2.0] 8)\n"
    "print (three [1.0, 2.0] 7)\n"
    "print (both [0.5, 0.25] 9)\n"
    "print (first [1.0] 6)\n",
};

/* Runs whose code is in as many parts share it in a folder of their own. */
static void test_chance(void) {
  char folder[] = "/tmp/atled-tiers-XXXXXX", command[60];
  CHECK(mkdtemp(folder) != NULL);
  setenv("ATLED_CACHE", folder, 1);
  for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
    static Run want, got;
    run(programs[p], ATLED_JIT_OFF, &want);
    CHECK(want.length > 0);
    for (int seed = 0; seed < 4; seed++) {
      char number[20];
      snprintf(number, sizeof number, "%d", seed * 7 + (int)p);
      setenv("ATLED_COIN", number, 1);
      run(programs[p], ATLED_JIT_AUTO, &got);
      unsetenv("ATLED_COIN");
      CHECK_STR(got.text, want.text);
      CHECK(got.live == want.live && got.arrays == want.arrays);
    }
  }
  setenv("ATLED_CACHE", "", 1);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
}

/* ---- Mode `auto` ------------------------------------------------------------------------------------------------- */
/* A loop that would take the evaluator minutes ends in seconds, in a VM without a cache. */
static void test_change_over(void) {
  static Run r;
  AtledVM *vm = make(&r, ATLED_JIT_AUTO);
  CHECK(atled_eval(vm, "loop",
                   "print \"once\"\nlet f n =\n  let mut s = 0.0 in\n  for i = 1 to n do\n    s <- s * 0.5 + float (i "
                   "% 7)\n  done;\n  s\n"
                   "print (f 400000000)\n") == ATLED_OK);
  CHECK(strncmp(r.text, "once\n", 5) == 0 && strchr(r.text + 5, '.') && !strstr(r.text + 5, "once"));
  atled_free(vm);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Functions that contain no call and no long loop, called by the host: soon the evaluator has nothing to do. */
static void test_host_calls(void) {
  static const struct {
    const char *text;
    double x, y;
  } functions[] = {
      {"fun (x : float) -> x * x", 1.5, 2.25},
      {"grad (fun x -> x * x * x)", 2.0, 12.0},
      {"fun (x : float) -> if x > 1.0 then (if x > 2.0 then 3.0 else 2.0) else 1.0", 1.5, 2.0},
      {"fun x ->\n  let mut s = x in\n  for i = 0 to 20 do\n    s <- s * 0.5 + x\n  done;\n  s", 0.0, 0.0},
      {"fun x ->\n  let mut s = x in\n  for i = 0 to 1000 do\n    s <- s * 0.5 + x\n  done;\n  s", 1.0, 2.0},
      {"fun x -> sum [ x * float i | i < 10 ]", 2.0, 90.0}};
  static Run r;
  enum { MANY = 1000, LONG = 100 };
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    AtledVM *vm = make(&r, ATLED_JIT_AUTO);
    AtledFunction *f = NULL;
    CHECK(atled_get(vm, functions[k].text, "float -> float", &f) == ATLED_OK);
    double end = now() + LONG, y = 0;
    int64_t before = -1;
    while (before != atled_evaluator_calls(vm) && now() < end) {
      before = atled_evaluator_calls(vm);
      for (int i = 0; i < MANY; i++) CHECK(atled_call_double(f, &functions[k].x, 1, &y) == ATLED_OK);
      CHECK(y == functions[k].y);
    }
    CHECK(now() < end);
    atled_release(f);
    atled_free(vm);
    CHECK(r.length == 0);
  }
}

/* Closures that a loop of machine code calls: at last only what the host calls, once, is evaluated. What fails in them
 * fails there too. */
static void test_calls_from_machine_code(void) {
  static Run r;
  enum { LONG = 100 };
  AtledVM *vm = make(&r, ATLED_JIT_AUTO);
  CHECK(atled_eval(vm, "define",
                   "let times n (f : int -> float) =\n  let mut s = 0.0 in\n  let mut i = 0 in\n"
                   "  while i < n do\n    s <- s + f i;\n    i <- i + 1\n  done;\n  s\n"
                   "let small = [ (fun i -> float (i + k)) | k < 2 ]\n"
                   "let long = [ (fun i -> sum [ float ((i + j) % 3) | j < 1000 ] / float k) | k < 2 ]\n"
                   "let failing = [ (fun i -> [1.0, 2.0][i / (100000 - k)]) | k < 2 ]\n") == ATLED_OK);
  static const struct {
    const char *text;
    double y;
  } calls[] = {{"times 100000 small[1]", 5000050000.0},
               {"times 2000 long[1]", 1999999.0},
               {"times 100000 failing[0]", 100000.0}};
  for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
    char text[100];
    AtledFunction *f = NULL;
    double end = now() + LONG;
    int64_t before;
    snprintf(text, sizeof text, "fun n -> %s", calls[k].text);
    CHECK(atled_get(vm, text, "int -> float", &f) == ATLED_OK);
    AtledValue n = atled_int(0), result;
    do {
      before = atled_evaluator_calls(vm);
      CHECK(atled_call(f, &n, 1, &result) == ATLED_OK);
    } while (atled_evaluator_calls(vm) > before + 1 && now() < end);
    CHECK(now() < end && result.as.number == calls[k].y);
    atled_release(f);
  }
  CHECK(atled_eval(vm, "fails", "print (times 200001 failing[0])") == ATLED_RUNTIME_ERROR);
  CHECK(strstr(r.text, "index 2") && strstr(r.text, "length 2"));
  atled_free(vm);
}

/* Freed while a fragment is compiled, or while one is that belongs to code which is gone. */
static void test_freed_meanwhile(void) {
  static Run r;
  for (int k = 1; k <= 40; k += 3) {
    AtledVM *vm = make(&r, ATLED_JIT_AUTO);
    AtledFunction *f = NULL;
    char text[200];
    double n = 100000.0 * k, y = 0;
    snprintf(text, sizeof text, "fun n ->\n  let mut s = %d.0 in\n  while s < n do\n    s <- s + 1.0\n  done;\n  s", k);
    CHECK(atled_get(vm, text, "float -> float", &f) == ATLED_OK);
    CHECK(atled_call_double(f, &n, 1, &y) == ATLED_OK && y == n);
    if (k % 2) atled_release(f);
    CHECK(atled_eval(vm, "more", "print (let mut s = 0.0 in for i = 1 to 1000000 do s <- s + 1.0 done; s)") ==
          ATLED_OK);
    if (k % 2 == 0) atled_release(f);
    CHECK_STR(r.text, "1000000.0\n");
    atled_free(vm);
  }
}

/* What was hot in another thread is still to be compiled when the entry, and its code, is gone. */
static void test_hot_in_a_thread_before(void) {
  for (int k = 0; k < 12; k++) {
    AtledConfig config;
    atled_config_init(&config);
    config.jit = ATLED_JIT_AUTO;
    config.threads = 2;
    AtledVM *vm = atled_new(&config);
    CHECK(atled_eval(vm, "slow", "let slow = [ [ float (i + j) | j < 1200 ] | i < 1200 ]") == ATLED_OK);
    CHECK(atled_eval(vm, "more", "let total = sum (flatten (slow @ slow @ slow @ slow @ slow @ slow))") == ATLED_OK);
    atled_free(vm);
  }
}

int main(void) {
  setenv("ATLED_CACHE", "", 1);
  setenv("ATLED_OPT", "0", 1); /* it compiles each part of each program, and where chance changes over is the same */
  test_chance();
  setenv("ATLED_OPT", "1", 1);
  test_change_over();
  test_host_calls();
  test_calls_from_machine_code();
  test_freed_meanwhile();
  test_hot_in_a_thread_before();
  return check_result();
}
