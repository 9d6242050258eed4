/* SPDX-License-Identifier: MIT */
/* `:cost f x` beside what happens when f, its gradient and its VJP run in the evaluator: operations within 20 % of
 * those that it counts (Rt.operations), the tape within 5 % of the bytes that the pullback keeps alive. */
#include "api/vm.h"
#include "check.h"
#include "cost_programs.h"
#include "runtime/runtime_internal.h"
#include <atled.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS "[ 0.1 + float i / 50.0 | i < 60 ]"
#define MATRIX  "[ 0.1 + float (i + 2 * j) / 50.0 | i < 12, j < 9 ]"
static const Case programs[] = {
    /* scalars */
    {"square", "let f x = x * x", "1.5", NULL},
    {"polynomial", "let f x = 3.0 * x ^ 4 - 2.0 * x ^ 3 + x", "1.5", NULL},
    {"functions", "let f x = exp (sin x) / (1.0 + cosh x)", "0.5", NULL},
    {"division", "let f x = (x + 1.0) / (x * x + 2.0) / (x - 7.0)", "0.5", NULL},
    {"pair", "let f (a, b) = a * b + sin a", "(0.5, 2.0)", NULL},
    {"record", "let f p = p.a * sin p.b + exp (p.a * p.b) / p.b", "{a = 0.5, b = 2.0}", NULL},
    {"shared", "let f x = let y = sin (x * x) in y * y + y / (1.0 + y)", "0.4", NULL},
    {"several lines", "let f x =\n  let a = sin x in\n  let b = a * a + x in\n  let c = exp b in\n  a * b * c", "0.4",
     NULL},
    {"stopped", "let f x = stop_gradient (exp x) * x", "0.4", NULL},
    /* loops over arrays */
    {"sum of squares", "let f xs = sum [ x * x | x in xs ]", NUMBERS, NULL},
    {"dot", "let f xs = dot xs xs", NUMBERS, NULL},
    {"mean of functions", "let f xs = mean (map (fun x -> sin x * exp x) xs)", NUMBERS, NULL},
    {"logsumexp", "let f xs = logsumexp xs", NUMBERS, NULL},
    {"softmax", "let f xs = let s = softmax xs in sum [ s[i] * float i | i < length s ]", NUMBERS, NULL},
    {"differences", "let f xs = sum [ (xs[i + 1] - xs[i]) ^ 2 | i < length xs - 1 ]", NUMBERS, NULL},
    {"two arrays", "let f p = sum [ p.a[i] * sin p.b[i] | i < length p.a ]", "{a = " NUMBERS ", b = " NUMBERS "}",
     NULL},
    {"product", "let f xs = product xs", NUMBERS, NULL},
    {"variance", "let f xs = let m = mean xs in mean [ (x - m) ^ 2 | x in xs ]", NUMBERS, NULL},
    {"norm", "let f xs = norm xs", NUMBERS, NULL},
    {"reverse", "let f xs = dot xs (reverse xs)", NUMBERS, NULL},
    {"gather", "let f xs = sum [ xs[(i * 7) % length xs] * xs[i] | i < length xs ]", NUMBERS, NULL},
    {"slices", "let f xs = let n = length xs in dot xs[..n - 1] xs[1..]", NUMBERS, NULL},
    {"nothing but data", "let ys = " NUMBERS "\nlet f w = sum [ (w * ys[i] - 1.0) ^ 2 | i < length ys ]", "0.7", NULL},
    /* loops that carry values */
    {"recurrence", "let f xs = fold (fun s x -> sin (s * x)) 1.0 xs", NUMBERS, NULL},
    {"two carried", "let f xs = let (a, b) = fold (fun (a, b) x -> (a * x + b, a - 0.5 * b)) (1.0, 0.0) xs in a * b",
     NUMBERS, NULL},
    {"horner", "let f xs = fold (fun s c -> s * 0.9 + c) 0.0 xs", NUMBERS, NULL},
    {"imperative",
     "let f xs =\n  let mut s = 0.0 in\n  for i = 0 to length xs - 1 do\n    s <- s * 0.5 + sin xs[i]\n  done;\n  s",
     NUMBERS, NULL},
    {"counted scalar", "let f x =\n  let mut y = x in\n  for i = 1 to 40 do\n    y <- sin (y * x)\n  done;\n  y", "0.7",
     NULL},
    {"scan", "let f xs = sum (scan (fun s x -> s * 0.5 + x * x) 0.0 xs)", NUMBERS, NULL},
    {"while",
     "let f x =\n  let mut y = x in\n  let mut k = 0 in\n  while k < 25 do\n    y <- y - (y * y - x) / (2.0 * y);\n    "
     "k <- k + 1\n  done;\n  y",
     "2.7", NULL},
    {"while, converging",
     "let f x =\n  let mut y = x in\n  while abs (y * y - x) > 1e-12 do\n    y <- 0.5 * (y + x / y)\n  done;\n  y",
     "2.7", NULL},
    {"updated array",
     "let f xs =\n  let mut a = xs in\n  for i = 1 to length xs - 1 do\n    a[i] <- a[i] * a[i - 1]\n  done;\n  sum a",
     NUMBERS, NULL},
    /* nested loops, matrices */
    {"pairs", "let f xs = sum (flatten [ sin (xs[i] * xs[j]) | i < length xs, j < length xs ])",
     "[ 0.1 + float i / 20.0 | i < 20 ]", NULL},
    {"triangle", "let f xs = sum [ sum [ xs[i] * xs[j] | j < i ] | i < length xs ]",
     "[ 0.1 + float i / 20.0 | i < 20 ]", NULL},
    {"row sums", "let f a = sum [ exp (sum row) | row in a ]", MATRIX, NULL},
    {"frobenius", "let f a = sum (flatten [ a[i, j] * a[i, j] | i < length a, j < length a[0] ])", MATRIX, NULL},
    {"matrix times vector", "let v = [ float i | i < 9 ]\nlet f a = sum (a @ v)", MATRIX, NULL},
    {"vector in matrix", "let a = " MATRIX "\nlet f v = let y = a @ v in dot y y", "[ float i / 9.0 | i < 9 ]", NULL},
    {"matrix product", "let f a = sum (flatten (a @ [ a[i, j] | j < 9, i < length a ]))", MATRIX, NULL},
    {"layer", "let ws = " MATRIX "\nlet f x = sum [ tanh (dot w x) | w in ws ]", "[ float i / 9.0 | i < 9 ]", NULL},
    {"loop in loop",
     "let f xs =\n  let mut s = 0.0 in\n  for i = 0 to length xs - 1 do\n    for j = 0 to 9 do\n      s <- sin (s + "
     "xs[i] * float j)\n    done\n  done;\n  s",
     "[ 0.1 + float i / 20.0 | i < 20 ]", NULL},
    /* branches */
    {"branch", "let f x = if x > 1.0 then sin x * x * x else x", "1.5", NULL},
    {"branch on the index", "let f xs = sum [ if i % 3 = 0 then exp xs[i] * xs[i] else xs[i] | i < length xs ]",
     NUMBERS, NULL},
    {"branch on data", "let f xs = sum [ if x > 0.7 then exp (x * x) * x * x else 0.1 * x | x in xs ]", NUMBERS, NULL},
    {"constructor",
     "type shape = Circle of float | Rect of float * float\nlet area s = match s with | Circle r -> pi * r * r | Rect "
     "(a, b) -> a * b\nlet f s = area s * area s",
     "Rect (2.0, 3.0)", NULL},
    {"huber", "let f xs = sum [ if abs x < 0.5 then 0.5 * x * x else 0.5 * (abs x - 0.25) | x in xs ]", NUMBERS, NULL},
    /* recursion, closures, lists */
    {"power by recursion", "let rec power x k = if k = 0 then 1.0 else x * power x (k - 1)\nlet f x = power x 30",
     "1.01", NULL},
    {"recursion on data",
     "let rec half x k = if x < 0.01 then x * float k else half (0.5 * sin x) (k + 1)\nlet f x = half x 1", "0.9",
     NULL},
    {"closures", "let compose g h = fun x -> g (h x)\nlet f x = let g = compose sin (fun y -> y * x) in compose g g x",
     "0.9", NULL},
    {"list",
     "let rec total xs = match xs with | Nil -> 0.0 | x :: rest -> sin x * exp x + total rest\nlet f xs = total xs",
     "to_list " NUMBERS, NULL},
};

static int64_t counted;

/* ---- What is kept ------------------------------------------------------------------------------------------------ */
typedef struct Kept {
  const void *seen[4096];
  int nseen;
  int64_t bytes;
} Kept;

static bool meet(Kept *k, const void *p) {
  for (int i = 0; i < k->nseen; i++)
    if (k->seen[i] == p) return false;
  CHECK(k->nseen < 4096);
  k->seen[k->nseen++] = p;
  return true;
}

static void add_object(Kept *k, const Obj *p);
static void add_slots(Kept *k, const Desc *d, const Slot *at) {
  for (int i = 0; i < d->nslots; i++)
    if (d->slots[i] == SLOT_PTR) add_object(k, at[i].p);
}

static void add_array(Kept *k, const ArrayObj *a) {
  const Desc *base = a->h.desc->args[0];
  int64_t n = 1;
  for (int i = 0; i < a->h.desc->rank; i++) n *= a->dims[i];
  k->bytes += 8 * n * base->nslots;
  for (int64_t i = 0; i < n && base->kind != D_FLOAT; i++) add_slots(k, base, a->data + i * base->nslots);
}

static void add_object(Kept *k, const Obj *p) {
  if (!p || (uintptr_t)p & 1 || p->rc <= RT_IMMORTAL || !meet(k, p)) return;
  if (p->desc->kind == D_ARRAY) {
    add_array(k, (const ArrayObj *)p);
  } else if (p->desc->kind == D_FUN) {
    const RtFunc *f = ((const ClosureObj *)p)->fn;
    k->bytes += 8 * f->ncaps;
    for (int i = 0; i < f->ncaps; i++)
      if (f->param_kinds[f->nparams - f->ncaps + i] == SLOT_PTR) add_object(k, ((const ClosureObj *)p)->caps[i].p);
  } else if (p->desc->kind == D_VARIANT) {
    const Desc *payload = p->desc->args[p->tag];
    k->bytes += 8 * payload->nslots + 16;
    add_slots(k, payload, ((const BoxObj *)p)->fields);
  }
}

static const Global *global_of(AtledVM *vm, const char *name) {
  for (int k = vm->world->globals.len - 1; k >= 0; k--)
    if (vm->world->globals.data[k].name && strcmp(vm->world->globals.data[k].name, name) == 0)
      return vm->globals.data[k];
  return NULL;
}

/* Bytes that the pullback, the last slot of the pair `tape`, keeps beyond x. */
static int64_t tape_bytes(AtledVM *vm) {
  static Kept k;
  k = (Kept){.nseen = 0};
  const Global *x = global_of(vm, "x"), *tape = global_of(vm, "tape");
  CHECK(tape != NULL);
  if (x) add_slots(&k, x->desc, x->slots);
  k.bytes = 0;
  add_object(&k, tape->slots[tape->desc->nslots - 1].p);
  return k.bytes;
}

/* ---- One program ------------------------------------------------------------------------------------------------- */
static void run(AtledVM *vm, const char *source) {
  if (atled_eval(vm, "<test>", source) == ATLED_OK) return;
  fprintf(stderr, "%s\n%s\n", source, atled_error(vm)->rendered);
  exit(1);
}

static int64_t operations(AtledVM *vm, const char *source) {
  counted = 0;
  vm->rt.operations = &counted;
  run(vm, source);
  vm->rt.operations = NULL;
  return counted;
}

/* The numbers of the last row of the table: operations, bytes, operations, bytes, tape. */
static bool last_row(const char *text, double row[5]) {
  const char *all = strstr(text, "\nall "), *counted_row = strstr(text, "\ncounted ");
  if (counted_row) all = counted_row + strlen("ed ") + 1; /* as long as the other from there */
  return all && sscanf(all + 5, "%lf %lf %lf %lf %lf", &row[0], &row[1], &row[2], &row[3], &row[4]) == 5;
}

static bool near(double said, double found, double share) { return fabs(said - found) <= share * found + 1e-9; }

/* Is it named, with a line, and the sum marked as a part? */
static bool says_not_counted(const char *text, const char *what) {
  char note[200];
  snprintf(note, sizeof note, "\nnot counted: %s (<test>:", what);
  return strstr(text, note) && strstr(text, "\ncounted ");
}

static bool check_case(const Case *p) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  const char *text;
  double row[5] = {0};
  char source[2000];
  CHECK(vm != NULL);
  run(vm, p->defines);
  /* Which of two equal arguments it gets isn't known before it runs, so nothing of them is computed at compile time.
   * `late` is an item of its own: nodes behind an effect of the same item wait for it, and pullbacks then keep lengths
   * that they otherwise compute again. */
  snprintf(source, sizeof source,
           "let late = time () > 0.0\nlet x = (ignore (time ()); %s)\nlet x2 = (ignore (time ()); %s)", p->x, p->x);
  run(vm, source);
  bool fine = atled_study(vm, ATLED_STUDY_COST, "f x", &text) == ATLED_OK;
  if (!fine) printf("%s: %s\n", p->name, atled_error(vm)->message);
  fine = fine && last_row(text, row);
  char *copy = strdup(text);
  double function = (double)operations(vm, "let y = f (if late then x else x2)"),
         gradient = (double)operations(vm, "let g = grad f (if late then x else x2)");
  run(vm, "let tape = vjp f (if late then x else x2)");
  double tape = (double)tape_bytes(vm);
  bool good = fine && near(row[0], function, 0.2) && near(row[2], gradient, 0.2);
  if (p->not_counted) good &= says_not_counted(copy, p->not_counted);
  else good &= near(row[4], tape, 0.05) && !strstr(copy, "not counted") && !strstr(copy, "at most");
  if (!good || getenv("COST_SHOW"))
    printf("%s%s: function %.0f, counted %.0f; gradient %.0f, counted %.0f; tape %.0f, kept %.0f\n%s",
           good ? "" : "WRONG ", p->name, row[0], function, row[2], gradient, row[4], tape, copy);
  free(copy);
  atled_free(vm);
  return good;
}

int main(void) {
  int n = (int)(sizeof programs / sizeof *programs), m = (int)(sizeof programs_of_fields / sizeof *programs_of_fields);
  int wrong = 0;
  CHECK(n == 50);
  for (int i = 0; i < n; i++) wrong += !check_case(&programs[i]);
  for (int i = 0; i < m; i++) wrong += !check_case(&programs_of_fields[i]);
  printf("%d of %d programs as foreseen\n", n + m - wrong, n + m);
  CHECK(wrong == 0);
  return check_result();
}
