/* SPDX-License-Identifier: MIT */
/* Tests of elaboration (src/elab): small programs are elaborated, every graph that comes out is verified, and
 * what the programs print is read off the graphs. The IR folds constants as it is made, so a program without input
 * is often a list of `print constant` by then: `printed` gives those operands, and `%` for what is still computed. */
#include "check.h"
#include "fixture.h"
#include "parser/parser.h"
#include "elab/elab.h"
#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

static const char prelude_text[] = "type 'a list = Nil | (::) of 'a * 'a list\n"
                                   "type 'a option = None | Some of 'a\n"
                                   "foreign \"prim!\" print : show 'a => 'a -> unit\n"
                                   "foreign \"prim\" show : show 'a => 'a -> string\n"
                                   "foreign \"prim\" exp : float -> float\n"
                                   "pullback exp x = (exp x, fun d -> d * exp x)\n"
                                   "foreign \"prim\" sin : float -> float\n"
                                   "pullback sin x = (sin x, fun d -> d * cos x)\n"
                                   "foreign \"prim\" cos : float -> float\n"
                                   "pullback cos x = (cos x, fun d -> d * -(sin x))\n"
                                   "foreign \"prim\" sqrt : float -> float\n"
                                   "pullback sqrt x = let y = sqrt x in (y, fun d -> 0.5 * d / y)\n"
                                   "foreign \"prim\" assert : bool -> unit\n"
                                   "foreign \"prim\" fail : string -> 'a\n"
                                   "foreign \"prim\" length : 'a[] -> int\n"
                                   "foreign \"prim\" tabulate : int -> (int -> 'a) -> 'a[]\n"
                                   "foreign \"prim\" vjp : diff 'a => diff 'b => ('a -> 'b) -> 'a -> 'b * ('b -> 'a)\n"
                                   "foreign \"prim\" min : scalar 'a => 'a -> 'a -> 'a\n"
                                   "foreign \"prim\" floats : diff 'a => 'a -> float[]\n"
                                   "foreign \"prim\" with_floats : diff 'a => 'a -> float[] -> 'a\n"
                                   "foreign \"prim\" inner : diff 'a => 'a -> 'a -> float\n"
                                   "foreign \"prim\" zeros : 'dims -> 'a\n"
                                   "foreign \"prim\" no_such_row : int -> int\n"
                                   "foreign \"prim\" matrix_product : int -> int\n"
                                   "let id x = x\n"
                                   "let iter f xs = for i = 0 to length xs - 1 do f xs[i] done\n";

/* ---- A compiler up to the graphs --------------------------------------------------- */
typedef struct Bench {
  Fixture f;
  Checker *checker;
  World *w;
  Elab *elab;
  Module *module;
} Bench;

static Module *no_import(void *user, Module *from, Sym path, Span at) {
  (void)user, (void)from, (void)path, (void)at;
  return NULL;
}

static Module *no_library(void *user, Sym name) {
  (void)user, (void)name;
  return NULL;
}

static Sym no_library_name(void *user, int i) {
  (void)user, (void)i;
  return NULL;
}

static void bench_init(Bench *b) {
  memset(b, 0, sizeof *b);
  fixture_open(&b->f);
  b->f.heap.on_oom = &b->f.oom;
  b->checker = checker_new(&b->f.arena, &b->f.arena, &b->f.syms, &b->f.sources,
                           (ModuleLoader){b, no_import, no_library, no_library_name});
  uint32_t source = sources_add(&b->f.sources, "prelude", prelude_text, strlen(prelude_text));
  const ItemIndex *index = index_items(b->f.lx, &b->f.arena, &b->f.syms, sources_get(&b->f.sources, source));
  Module *prelude = checker_lazy_module(b->checker, b->f.lx, NULL, source, index);
  checker_set_prelude(b->checker, prelude);
  b->w = world_new(&b->f.arena, &b->f.syms, false, false);
  compilation_begin(b->w);
  b->elab = elab_new(&b->f.arena, b->w, &b->f.syms, &b->f.sources);
  elab_set_prelude(b->elab, b->checker, prelude);
  b->module = checker_new_module(b->checker, NULL, NULL, 0);
}

static void bench_free(Bench *b) {
  compilation_end(b->w);
  fixture_close(&b->f);
}

static bool check_text(Bench *b, const char *text) {
  uint32_t source = sources_add(&b->f.sources, "test", text, strlen(text));
  Program *p = parse_program(b->f.lx, &b->f.arena, &b->f.syms, &b->f.diags, source);
  return check_program(b->checker, b->module, p, &b->f.diags);
}

typedef struct Verification {
  Bench *b;
  const char *wrong;
} Verification;

static void verify_one(void *user, Graph *g) {
  Verification *v = user;
  const char *wrong = ir_verify(v->b->w, g);
  if (wrong && !v->wrong) v->wrong = wrong;
}

static void verify(Bench *b, Graph *g) {
  Verification v = {b, NULL};
  verify_one(&v, g);
  ir_walk_rules(b->w, g, verify_one, &v);
  CHECK_STR(v.wrong ? v.wrong : "fine", "fine");
}

/* The graphs of the program's items, as text. */
static const char *graphs(Bench *b, const char *text) {
  Str out = {.arena = &b->f.arena};
  bool ok = check_text(b, text);
  for (int i = 0; ok && i < b->module->items.len; i++) {
    ElabItem item;
    ok = elab_item(b->elab, b->module, b->module->items.data[i], &b->f.diags, &item);
    if (!ok || !item.graph) continue;
    verify(b, item.graph);
    CHECK(item.graph->nparams == item.effect);
    ir_print(b->w, item.graph, &out);
  }
  for (int i = 0; i < b->f.diags.all.len; i++) str_printf(&out, "%s\n", b->f.diags.all.data[i].code);
  return out.data ? out.data : "";
}

/* The first operand, which stands behind the type. */
static void add_operand(Str *out, const char *s) {
  s = strstr(s, "> ") + 2;
  if (out->len) str_addc(out, ' ');
  if (*s == '%') str_addc(out, '%');
  else str_add(out, s, strcspn(s, " \n"));
}

static void expect_printed(const char *text, const char *want) {
  Bench b;
  bench_init(&b);
  Str out = {.arena = &b.f.arena};
  const char *got = graphs(&b, text), *call = "rt print ";
  for (const char *s = strstr(got, call); s; s = strstr(s + 1, call)) add_operand(&out, s + strlen(call));
  if (strcmp(out.data ? out.data : "", want)) fprintf(stderr, "--- program\n%.600s\n%.2000s\n", text, got);
  CHECK_STR(out.data ? out.data : "", want);
  bench_free(&b);
}

/* `part` stands somewhere in the graphs, or (count 0) nowhere; at least `count` times. */
static void expect_part(const char *text, const char *part, int count) {
  Bench b;
  bench_init(&b);
  const char *got = graphs(&b, text);
  int n = 0;
  for (const char *s = strstr(got, part); s; s = strstr(s + 1, part)) n++;
  if (count ? n < count : n) fprintf(stderr, "--- program\n%.600s\n--- graphs\n%.2000s\n", text, got);
  CHECK(count ? n >= count : !n);
  bench_free(&b);
}

/* ---- The tests ----------------------------------------------------------------------- */
static void test_functions(void) {
  expect_printed("let sq x = x * x\nprint (sq 3)\nprint (sq 1.5)", "9 2.25");
  expect_printed("let add a b = a + b\nlet inc = add 1\nlet twice f x = f (f x)\nprint (twice inc 5)", "7");
  expect_printed("print ((( + ) 2) 3)\nprint (2 |> fun x -> x * 10)\nprint ((id >> id) 4)", "5 20 4");
  expect_printed("let h x = let pair y = (x, y) in let (_, a) = pair 1 in let (_, b) = pair 2.5 in b + (if a = 1 then "
                 "0.5 else 0.0)\nprint (h 0)",
                 "3.0");
  expect_printed("let rec fact n = if n = 0 then 1 else n * fact (n - 1)\nprint (fact 5)", "120");
  expect_printed("let f n = let rec go i acc = if i = n then acc else go (i + 1) (acc + i) in go 0 0\nprint (f 5)",
                 "10");
  expect_part("let rec even n = if n = 0 then true else odd (n - 1) and odd n = if n = 0 then false else even (n - 1)\n"
              "let x = even (length [1])",
              "call", 0);
}

static void test_polymorphic_recursion_of_data(void) {
  expect_part("type 'a nest = End | More of 'a * ('a * 'a) nest\nlet e : int nest = End\nprint (length [e])",
              "type-too-large", 1);
}

static void test_matching(void) {
  const char *first =
      "let f l = match l with | (x, 0) :: _ | (0, x) :: _ -> x * x + 1 | (a, b) :: _ when a > b -> a | _ -> -1\n";
  char text[600];
  snprintf(text, sizeof text,
           "%sprint (f ((3, 0) :: Nil)); print (f ((0, 2) :: Nil)); print (f ((5, 2) :: Nil)); print (f Nil)", first);
  expect_printed(text, "10 5 5 -1");
  expect_printed("let f a = match a with | [] -> 0 | [x] -> x | [x, y] -> x * y | _ -> 9\n"
                 "print (f [2, 3]); print (f [7]); print (f [1, 1, 1])",
                 "6 7 9");
  expect_printed("let f x = match x with | 0 | 1 -> 10 | -1 -> 20 | n -> n\nprint (f 1); print (f (-1)); print (f 5)",
                 "10 20 5");
  expect_printed("let {w, v = (a, _)} = {w = 1, v = (2, 3)}\nprint (let (Some y) = Some 4 in y)", "4");
  expect_printed("let f x = match x with | 3 -> 30 | 5 -> 50 | 4 -> 40 | 9 -> 90 | _ -> -1\n"
                 "print (f 3); print (f 9); print (f 6); print (f 2); print (f 100)",
                 "30 90 -1 -1 -1");
  /* a body that two leaves reach is there once */
  expect_part("let f a b = match (a, b) with | (Some x, _) | (_, Some x) -> exp (exp x) | _ -> 0.0\n"
              "print (f (if length [1] = 2 then None else Some 1.0) (Some 2.0))",
              "no case", 0);
}

static void test_mutation(void) {
  expect_printed(
      "let f n = let mut s = 0 in for i = 1 to n do if i % 2 = 0 then s += i else s <- s + 100 done; s\nprint (f 2)",
      "%");
  expect_printed("let mutate x = let mut p = {a = x, b = (1, 2.0)} in p.a <- p.a + 1; p.b <- (5, 0.5); (if p.a > 3 "
                 "then p.a *= 10); p.a\n"
                 "print (mutate 1); print (mutate 3)",
                 "2 40");
  expect_printed(
      "let f x = let mut y = x in let z = (if x > 1 then (y <- 7; 1) else 2) in y * 10 + z\nprint (f 1); print (f 2)",
      "12 71");
  expect_printed("let f () = let mut a = [1, 2, 3] in a[1] <- 9; a\nprint (length (f ()))", "3");
  expect_part(
      "let f n = let mut a = [ 0 | i < n ] in for i = 0 to n - 1 do a[i] <- i done; a\nlet x = f (length [1, 2])",
      "update", 1);
}

static void test_checks_stay(void) {
  expect_part("let f x = assert (x > 0); x + 1\nprint (f (length [1] - 1))", "assertion failed", 1);
  expect_part("let f n = let mut s = 0 in for i = 0 to n do assert (i < 5); s <- s + 1 done; 7\nprint (f 9)",
              "assertion failed", 1);
  expect_part("let f x = (if x > 3 then fail \"big\"); print x\nf (length [1] + 9)", "fail user \"big\"", 1);
  expect_part("let n = length [1, 2]\nlet f x = (if x > 3 then fail \"big\"); print x\nf n", "fail", 1);
  expect_part("let f x = assert (x > 0); print x\nlet n = 5\nf n\nlet m = length [n, n]\nf m", "check", 1);
}

static void test_effects(void) {
  expect_printed("let hello () = print 1; print 2\nhello (); hello ()", "1 2 1 2");
  expect_printed("let f x = print x; x + 1\nprint (f 1 + f 10)", "1 10 13");
  expect_printed("iter print [4]\n(fun x -> print x) 5", "% 5");
  expect_part("let a = [ (print i; i) | i < 3 ]", "token", 1);
  expect_part("let a = [ i * 2 | i < length [1, 2] ]\nlet b = tabulate 3 (fun i -> a[i])", "token", 0);
  expect_printed("let q = print\nq 3\nlet apply f x = f x\napply print 4\nprint (apply id 5)", "3 4 5");
}

static void test_structures(void) {
  expect_printed(
      "let (a, (b, c)) = (1.0, (2, \"s\")) - 0.5 * (2.0, (3, \"t\"))\nprint (let (x, _) = (1, 2) + (3, 4) in x)", "4");
  expect_printed("let f (x : float) = -{n = 3, v = x}\nprint (f 2.0).n; print (f 2.0).v", "3 -2.0");
  expect_part("let a = [1.0, 2.0]\nlet b = a + a\nlet c = b * 2.0", "loop", 2);
  expect_part("let l = 1.0 :: 2.0 :: Nil\nprint (l + (3.0 :: Nil))", "call", 1);
  expect_printed("print (7 / 2); print (-7 % 3); print (2 ^ 10); print (min 3 2); print (1.0 <= 2.0); print (2 > 3)",
                 "3 -1 % 2 true false");
  expect_printed("print (inner (1.0, 2.0) (3.0, 4.0))", "11.0");
  expect_part("let m : float[][] = zeros [2, 3]", "zeros 2 3", 1);
  expect_part(
      "let a = [[1.0, 2.0], [3.0, 4.0]]\nlet b = a @ a\nlet c = a @ [1.0, 2.0]\nlet d = a[.., 1]\nlet e = a[0..1, 0]",
      "check_size", 1);
}

static void test_strings(void) {
  expect_part("print $\"a {1.5:.2f} b {3} {\"c\"}\"", "format_float", 1);
  expect_part("let s = \"a\"\nprint (match s with | \"b\" -> 1 | _ -> 2)", "equal", 1);
}

static void test_hosts(void) {
  Bench b;
  bench_init(&b);
  graphs(&b, "let f (x : float) (y : float) = x * y + 1.0\nlet g = f 2.0\nlet k = length [1]\nlet say x = print x");
  Binding *f = checker_lookup(b.checker, b.module, sym_of(&b.f.syms, "f"));
  Func *fn = elab_function(b.elab, f, NULL, 0, &b.f.diags);
  CHECK(fn && fn->nparams == 2);
  fn = elab_function(b.elab, f, NULL, 1, &b.f.diags);
  CHECK(fn && fn->nparams == 1 && fn->result->kind == T_FUN);
  CHECK(!elab_function(b.elab, f, NULL, 3, &b.f.diags));
  Graph *g = elab_value(b.elab, checker_lookup(b.checker, b.module, sym_of(&b.f.syms, "g")), NULL, &b.f.diags);
  CHECK(g && g->result->type->kind == T_FUN);
  CHECK(elab_global(checker_lookup(b.checker, b.module, sym_of(&b.f.syms, "k"))) >= 0);
  CHECK(!b.f.diags.errors);
  bench_free(&b);
}

static void test_rules(void) {
  Bench b;
  bench_init(&b);
  graphs(&b, "let soft x = exp x\npullback soft x = (soft x, fun d -> d * exp x)\nlet cube x = x * x * x\n"
             "tangent cube x dx = (cube x, 3.0 * x * x * dx)\nlet y = soft (cube 2.0)");
  Func *soft =
      elab_function(b.elab, checker_lookup(b.checker, b.module, sym_of(&b.f.syms, "soft")), NULL, 0, &b.f.diags);
  CHECK(soft && soft->opaque && soft->pullback && soft->pullback->nparams == 1);
  CHECK(soft->pullback->result->kind == T_TUPLE && soft->pullback->result->args[1]->kind == T_FUN);
  bench_free(&b);
}

/* Which of exp, sin, cos and sqrt have got a rule for the derivatives that the program's last item takes: e s c r. */
static void expect_rules(const char *text, const char *want) {
  static const Op ops[] = {OP_EXP, OP_SIN, OP_COS, OP_SQRT};
  Bench b;
  bench_init(&b);
  ElabItem item = {0};
  CHECK(check_text(&b, text));
  Pool *pool = NULL;
  for (int i = 0; i < b.module->items.len; i++) {
    CHECK(elab_item(b.elab, b.module, b.module->items.data[i], &b.f.diags, &item));
    if (item.graph) pool = ir_pool(b.w, item.graph, item.globals, item.nglobals);
  }
  Func *const *rules = elab_rules(b.elab, item.graph, pool);
  char found[5] = "";
  int n = 0;
  for (size_t i = 0; i < 4; i++) {
    const Func *rule = rules[ops[i]];
    CHECK(!rule || (rule->pullback && rule->pullback->graph && rule->opaque && !rule->tangent));
    if (rule) found[n++] = "escr"[i];
  }
  CHECK_STR(found, want);
  bench_free(&b);
}

static void test_scalar_rules(void) {
  expect_rules("let y = sin 0.5", "");
  expect_rules("let f x = sin x\nlet g (x : float) = let (y, back) = vjp f x in back (sqrt y)\nlet y = g (exp 1.0)",
               "s");
  expect_rules("let d f (x : float) = let (y, back) = vjp f x in back 1.0\nlet y = d (d sin) 0.5", "sc");
  expect_rules("let d f (x : float) = let (y, back) = vjp f x in back 1.0\n"
               "let y = d (fun x -> let (y, _) = vjp exp x in y) 0.5",
               "e");
  /* what a value of an earlier item may be */
  expect_rules("let fs = [exp, sqrt]\nlet d f (x : float) = let (y, back) = vjp f x in back 1.0\nlet y = d fs[1] 0.5",
               "er");
  expect_rules("let fs = [cos]\nlet d f (x : float) = let (y, back) = vjp f x in back 1.0\nlet y = d fs[0] 0.5", "sc");
}

static char *repeat(const char *before, const char *each, int n, const char *after) {
  size_t k = strlen(each), len = strlen(before) + k * (size_t)n + strlen(after) + 1;
  char *s = malloc(len), *p = s + sprintf(s, "%s", before);
  for (int i = 0; i < n; i++, p += k) memcpy(p, each, k + 1);
  strcpy(p, after);
  return s;
}

/* What the program's only error says. */
static void says(const char *text, const char *message) {
  Bench b;
  bench_init(&b);
  graphs(&b, text);
  CHECK(b.f.diags.all.len == 1);
  const Diag *d = &b.f.diags.all.data[0];
  CHECK_STR(d->message, message);
  CHECK_STR(sources_get(&b.f.sources, d->at.source)->name, "prelude");
  bench_free(&b);
}

/* A binding of the library without its row in rt.def, or of another type: called, and as a value. */
static void test_unknown_primitives(void) {
  const char *none = "there is no primitive `no_such_row`: src/prims/rt.def has no such row";
  says("print (no_such_row 1)", none);
  says("iter no_such_row [1]", none);
  says("print (matrix_product 1)", "the primitive `matrix_product` has another type: the row of src/prims/rt.def says "
                                   "bool -> bool -> float[][] -> float[][] -> float[][]");
}

static void test_long_chains(void) {
  char *s = repeat("let f x =\n  let mut s = x in ", "s <- s + 1; ", 10000, "s\nprint (f 3)");
  expect_printed(s, "10003");
  free(s);
  s = repeat("let l = ", "1 :: ", 10000, "Nil\nprint 1");
  expect_printed(s, "1");
  free(s);
  s = repeat("let f x =\n  ", "let y = x in ", 10000, "y\nprint (f 3)");
  expect_printed(s, "3");
  free(s);
}

int main(void) {
  test_functions();
  test_polymorphic_recursion_of_data();
  test_matching();
  test_mutation();
  test_checks_stay();
  test_effects();
  test_structures();
  test_strings();
  test_hosts();
  test_rules();
  test_scalar_rules();
  test_unknown_primitives();
  test_long_chains();
  return check_result();
}
