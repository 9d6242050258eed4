/* SPDX-License-Identifier: MIT */
/* After a run-time error of any kind nothing is left over: in both modes, when a host's call fails, when an item of a
 * program fails, and when a derivative fails. While the error arises the program holds a list, a string, a closure,
 * a record, a variant and an array that is updated in place; `bad` is what fails. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Case {
  const char *kind; /* of the error */
  const char *bad;  /* defines bad : float[] -> int -> float, which fails for [1.0, 2.0, 3.0] and 7 */
} Case;

static const Case cases[] = {
    {"index", "let bad xs n = xs[n]"},
    {"index", "let bad xs n = let mut a = xs in a[n - 8] <- 1.0; sum a"},
    {"index", "let bad xs n = fold (fun s i -> s + xs[i]) 0.0 [0, 1, n]"},
    {"index", "let rec walk l xs = match l with i :: rest -> xs[i] * walk rest xs | Nil -> 1.0\n"
              "let bad xs n = walk (0 :: 1 :: n :: 2 :: Nil) xs"},
    {"index", "let bad xs n =\n  let rec go lo hi =\n    if hi - lo = 1 then xs[lo] * xs[lo]\n"
              "    else let mid = (lo + hi) / 2 in sin (go lo mid) * go mid hi in\n  go 0 n"},
    {"index",
     "let bad xs n =\n  let mut g = fun i -> xs[i] in\n  let mut s = 0.0 in\n  for k = 0 to n do\n    s <- s + g (k % "
     "3);\n"
     "    let row = [xs[0], xs[k % 3]] in\n"
     "    if k % 3 = 0 then g <- (fun i -> row[i - 1] * xs[i]) else g <- (fun i -> sin xs[i + k - 1])\n  done;\n  s"},
    {"slice", "let bad xs n = sum xs[1..n]"},
    {"shape", "let bad xs n = sum (xs + [ x | x in xs[1..] ])"},
    {"shape", "let bad xs n = sum (map sum ([xs] @ [xs]))"},
    {"shape", "let pick x = if x > 2.0 then Some x else None\n"
              "let bad xs n = match pick xs[0] + pick xs[2] with Some y -> y | None -> 0.0"},
    {"irregular", "let bad xs n = sum (map sum [ [ x * float j | j < i ] | x in xs, i < n ][1])"},
    {"irregular", "let bad xs n = let m = [xs, xs[..length xs - 1]] in sum (map sum m)"},
    {"division", "let bad xs n = xs[n / (n - 7)]"},
    {"division", "let bad xs n = xs[n % (length xs - 3)]"},
    {"range", "let bad xs n = sum (zeros (n - 9)) + sum xs"},
    {"range", "let bad xs n = float (n ^ (length xs - n)) + sum xs"},
    {"range", "let bad xs n = sum (flatten (reshape [n, n - 9] [ 2.0 * x | x in xs ]))"},
    {"fail", "let bad xs n = fail $\"no good: {xs[0]}\""},
    {"match", "let bad xs n = match to_list xs with a :: b :: Nil -> a * b"},
    {"match",
     "type shape = Dot | Bar of float * string\n"
     "let bad xs n = let (Bar (x, s)) = if n > 5 then Dot else Bar (xs[0], show n) in x + float (Str.length s)"},
    {"shape", "let bad xs n = match to_list xs + to_list xs[1..] with x :: _ -> x | Nil -> 0.0"},
    {"shape", "let bad xs n = let (y, back) = vjp (fun v -> 2.0 * v) xs in sum (back y[1..])"},
    {"shape", "let bad xs n = let (y, dy) = jvp (fun v -> sum (v * v)) xs xs[..n - 5] in y * dy"},
    {"rule", "let at f x = f x\npullback at f x = (f x, fun d -> (f, d))\n"
             "let bad xs n = grad (fun w -> at (fun y -> y * w) xs[1]) xs[0]"},
    {"rule", "foreign \"libm.so.6\" cbrt : float -> float\nlet some = [fun x -> x * x, fun x -> x * cbrt x]\n"
             "let bad xs n = grad some[n - 6] xs[0]"},
    {"fail",
     "let late x = x\npullback late x = (x, fun d -> if x > 2.5 then fail \"too late\" else d)\n"
     "let bad xs n =\n  let f ys =\n    let rec go lo hi =\n      if hi - lo = 1 then sin (late ys[lo % 3])\n"
     "      else let mid = (lo + hi) / 2 in go lo mid * exp (go mid hi) in\n    go 0 (8 * n) in\n  sum (grad f xs)"},
    {"fail", "let bad xs n = maximum xs[3..]"},
    {"fail", "let bad xs n = sum (map2 (fun x y -> x * y) xs xs[1..])"},
    {"fail", "let bad xs n = List.hd (List.filter (fun x -> x > 9.0) (List.of_array xs))"},
    {"fail", "let bad xs n = Option.get (find (fun x -> x > float n) xs)"},
    {"fail", "let bad xs n = match Json.parse \"[1, 2\" with Json.Number x -> x | _ -> sum xs"},
    {"assert", "let bad xs n = assert (sum xs > float n); xs[0]"},
    {"stack", "let rec deep xs n = xs[0] * deep xs (n + 1) * deep xs (n + 2)\nlet bad xs n = deep xs n"},
    {"stack", "let rec more n = if n < 0 then \"\" else show n ++ more (n + 1)\n"
              "let bad xs n = float (Str.length (more n)) + sum xs"},
    {"memory", "let bad xs n = sum [ x * float i | x in xs, i < n * 100000000 ][0]"},
    {"memory", "let rec pile l n = if n < 0 then l else pile (show n :: l) (n + 1)\n"
               "let bad xs n = float (List.length (pile Nil n)) + sum xs"},
    {"io", "let bad xs n = float (Str.length (read_file \"/nowhere/at all\")) + sum xs"},
    {"io", "let bad xs n = write_file \"/nowhere/at all\" (show xs); xs[0]"},
    {"foreign",
     "foreign \"libm.so.6\" no_such_function : float -> float\n"
     "pullback no_such_function x = (no_such_function x, fun d -> d)\nlet bad xs n = no_such_function xs[0]"},
    {"foreign",
     "foreign \"no_such_library.so\" f : float -> float\npullback f x = (f x, fun d -> d)\nlet bad xs n = f xs[0]"},
    {"text", "let bad xs n = float (length (read_lines (folder ++ \"/no text\"))) + sum xs"},
    {"csv", "let bad xs n = (write_file path \"1,2\\n3,x\\n\"; sum (map sum (Csv.numbers path)) + sum xs)"},
    {"csv", "let bad xs n = (write_file path \"1,2\\n3\\n\"; float (length (Csv.read path)) + sum xs)"},
    {"format", "let text x = $\"{x:.2f}\"\nlet bad xs n = float (Str.length (text (show xs)))"},
    {"range", "let bad xs n = float (Str.length (Str.replace \"\" \"a\" (show xs)))"},
    {"slice", "let bad xs n = float (Str.length (Str.sub (show n) 1 n))"},
    {"regex", "let bad xs n = if Regex.test (show n ++ \"(\") \"a\" then 1.0 else sum xs"},
    {"regex", "let bad xs n = float (Str.length (Regex.replace r\"\\d\" \"$3\" (show xs)))"},
    {"regex-limit", "let bad xs n = if Regex.test r\"^(?=a)(a+)+$\" (Str.join \"\" (replicate 30 \"a\") ++ \"b\") then "
                    "1.0 else sum xs"},
    {"interrupt", "let rec spin n = print \"interrupt me\"; if n < 0 then n else spin (n + 1)\n"
                  "let bad xs n = float (spin n) + sum xs"},
    {"time", "let rec spin n = if n < 0 then n else spin (n + 1 - n % 2)\nlet bad xs n = float (spin 1) + sum xs"},
};

static const char *const around =
    "type held = Held of float[] * {name : string, scale : float -> float}\n"
    "let run (xs : float[]) (n : int) =\n"
    "  let l = to_list xs in\n"
    "  let s = $\"text {n}\" in\n"
    "  let k = fun y -> y * float (List.length l) + sum xs in\n"
    "  let v = Held (map k xs, {name = s ++ \"!\", scale = k}) in\n"
    "  let mut a = [ k x | x in xs ] in\n"
    "  for i = 0 to length xs - 1 do a[i] <- a[i] + 1.0 done;\n"
    "  let r = (bad xs n : float) in\n"
    "  a[0] <- r;\n"
    "  match v with\n"
    "  | Held (b, h) -> sum a + float (Str.length h.name) + h.scale r + sum b + List.sum l\n";

static AtledVM *interrupted;

static void interrupt_on_print(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
  atled_interrupt(interrupted);
}

static bool valgrind; /* everything takes some thirty times as long */

static AtledVM *make(AtledJit jit, const Case *c, const char *folder) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.write = interrupt_on_print;
  config.stack_size = (size_t)4 << 20;
  /* Long enough for compiling, since what ends before the program runs has no place in it. */
  if (strcmp(c->kind, "time") == 0) config.time_limit = valgrind ? 2 : 0.05;
  if (strcmp(c->kind, "memory") == 0) config.memory_limit = (size_t)(valgrind ? 16 : 32) << 20;
  AtledVM *vm = interrupted = atled_new(&config);
  char text[4096];
  snprintf(text, sizeof text, "let folder = \"%s\"\nlet path = folder ++ \"/f.csv\"\n%s\n%s", folder, c->bad, around);
  AtledStatus status = atled_eval(vm, "defined.atl", text);
  CHECK(status == ATLED_OK);
  if (status != ATLED_OK) fprintf(stderr, "%s\n%s\n", text, atled_error(vm)->rendered);
  return vm;
}

/* The last call failed as it should, in a place that the user wrote. */
static void check_error(AtledVM *vm, const Case *c, AtledStatus status, const char *way) {
  const AtledDiagnostic *e = atled_error(vm);
  bool memory = strcmp(c->kind, "memory") == 0;
  bool good = status == (memory ? ATLED_NO_MEMORY : ATLED_RUNTIME_ERROR) && e && strcmp(e->kind, c->kind) == 0;
  CHECK(good);
  CHECK(!good || e->line > 0);
  if (!good || e->line <= 0) fprintf(stderr, "%s: %s\n%s\n", way, c->bad, e ? e->rendered : "no error");
}

/* No object is left but those of the definitions, and the VM goes on. */
static void check_rest(AtledVM *vm, const Case *c, int64_t live, const char *way) {
  atled_clear_interrupt(vm);
  CHECK(atled_live_objects(vm) == live);
  if (atled_live_objects(vm) != live)
    fprintf(stderr, "%s: %s\n%lld objects, not %lld\n", way, c->bad, (long long)atled_live_objects(vm),
            (long long)live);
  AtledFunction *f = NULL;
  double y = 0;
  CHECK(atled_get(vm, "fun x -> sum (map (fun y -> y + 1.0) [x, x])", "float -> float", &f) == ATLED_OK);
  CHECK(f && atled_call_double(f, (double[]){2.0}, 1, &y) == ATLED_OK && y == 6.0);
  atled_release(f);
  CHECK(atled_live_objects(vm) == live);
}

/* Whether a call takes seconds to fail under valgrind. */
static bool takes_long(const Case *c) {
  static const char *const kinds[] = {"time", "memory", "regex-limit"};
  bool any = false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) any |= strcmp(c->kind, kinds[k]) == 0;
  return valgrind && any;
}

/* A host's call of the expression fails, twice if that doesn't take long. */
static void check_call(AtledVM *vm, const Case *c, int64_t live, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  AtledStatus status = atled_get(vm, expression, type, &f);
  if (status != ATLED_OK) { /* machine code for a C function that isn't there */
    check_error(vm, c, status, expression);
    check_rest(vm, c, live, expression);
    return;
  }
  double data[] = {1, 2, 3};
  AtledValue args[] = {atled_floats(data, 3), atled_int(7)}, result;
  int times = takes_long(c) ? 1 : 2;
  for (int i = 0; i < times; i++) check_error(vm, c, atled_call(f, args, 2, &result), expression);
  CHECK(data[0] == 1 && data[1] == 2 && data[2] == 3);
  atled_release(f);
  check_rest(vm, c, live, expression);
}

static bool has_effect(const Case *c) {
  return strstr(c->bad, "_file") || strstr(c->bad, "read_") || strstr(c->bad, "print") || strstr(c->bad, "Csv");
}

static void check_case(AtledJit jit, const Case *c, const char *folder) {
  AtledVM *vm = make(jit, c, folder);
  int64_t live = atled_live_objects(vm);
  check_call(vm, c, live, "run", "float[] -> int -> float");
  if (!has_effect(c))
    check_call(vm, c, live, "fun xs n -> let (y, g) = value_and_grad (fun v -> run v n) xs in y * g",
               "float[] -> int -> float[]");
  check_error(vm, c, atled_eval(vm, "item.atl", "let kept = 5\nlet lost = run [1.0, 2.0, 3.0] 7\nlet never = 5"),
              "item");
  CHECK(atled_eval(vm, "q", "kept + 1") == ATLED_OK && atled_eval(vm, "q", "lost") == ATLED_COMPILE_ERROR);
  check_rest(vm, c, live, "item");
  atled_free(vm);
}

/* How many kinds of errors there are among the cases. */
static size_t kinds(void) {
  size_t n = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t first = 0;
    while (strcmp(cases[first].kind, cases[i].kind) != 0) first++;
    n += first == i;
  }
  return n;
}

static void write_bytes(const char *path, const char *bytes) {
  FILE *f = fopen(path, "w");
  CHECK(f && fputs(bytes, f) >= 0);
  if (f) fclose(f);
}

/* With an argument: the evaluator alone (valgrind doesn't follow machine code). */
int main(int argc, char **argv) {
  (void)argv;
  valgrind = argc > 1;
  char folder[] = "/tmp/atled-test-XXXXXX", path[64], no_text[64];
  CHECK(kinds() == 21); /* all that a program can end with */
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/f.csv", folder);
  snprintf(no_text, sizeof no_text, "%s/no text", folder);
  write_bytes(no_text, "good\n\xff\xfe\n");
  setenv("ATLED_OPT", "0", 1); /* what is freed doesn't depend on it, and compiling takes most of the time */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_case(ATLED_JIT_OFF, &cases[i], folder);
    if (argc == 1) check_case(ATLED_JIT_ALWAYS, &cases[i], folder);
  }
  unlink(path);
  unlink(no_text);
  rmdir(folder);
  return check_result();
}
