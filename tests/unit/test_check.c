/* SPDX-License-Identifier: MIT */
/* Tests of src/check: the types of small programs as printed, their
 * diagnostics as `line code`, the annotations elaboration relies on, and, when
 * given directories of programs as arguments, that those type-check.
 *
 * The prelude here is signatures only: the checker never looks at values. */
#include "check.h"
#include "fixture.h"
#include "parser/parser.h"
#include "check/check.h"
#include <stdlib.h>
#include <string.h>

static const char prelude_text[] = "type 'a list = Nil | (::) of 'a * 'a list\n"
                                   "type 'a option = None | Some of 'a\n"
                                   "type ('a, 'e) result = Ok of 'a | Error of 'e\n"
                                   "foreign \"prim!\" print : show 'a => 'a -> unit\n"
                                   "foreign \"prim\" show : show 'a => 'a -> string\n"
                                   "foreign \"prim\" sin : float -> float\n"
                                   "foreign \"prim\" cos : float -> float\n"
                                   "foreign \"prim\" sqrt : float -> float\n"
                                   "foreign \"prim\" exp : float -> float\n"
                                   "foreign \"prim\" log : float -> float\n"
                                   "foreign \"prim\" hypot : float -> float -> float\n"
                                   "foreign \"prim\" abs : scalar 'a => 'a -> 'a\n"
                                   "foreign \"prim\" float : int -> float\n"
                                   "foreign \"prim\" int : float -> int\n"
                                   "foreign \"prim\" pi : float\n"
                                   "foreign \"prim\" nan : float\n"
                                   "foreign \"prim\" not : bool -> bool\n"
                                   "foreign \"prim\" fail : string -> 'a\n"
                                   "foreign \"prim\" ignore : 'a -> unit\n"
                                   "foreign \"prim\" fst : 'a * 'b -> 'a\n"
                                   "foreign \"prim\" snd : 'a * 'b -> 'b\n"
                                   "foreign \"prim\" length : 'a[] -> int\n"
                                   "foreign \"prim\" map : ('a -> 'b) -> 'a[] -> 'b[]\n"
                                   "foreign \"prim\" iter : ('a -> unit) -> 'a[] -> unit\n"
                                   "foreign \"prim\" filter : ('a -> bool) -> 'a[] -> 'a[]\n"
                                   "foreign \"prim\" fold : ('b -> 'a -> 'b) -> 'b -> 'a[] -> 'b\n"
                                   "foreign \"prim\" scan : ('b -> 'a -> 'b) -> 'b -> 'a[] -> 'b[]\n"
                                   "foreign \"prim of pure\" reduce : ('a -> 'a -> 'a) -> 'a -> 'a[] -> 'a\n"
                                   "foreign \"prim\" sum : num 'a => 'a[] -> 'a\n"
                                   "foreign \"prim\" mean : float[] -> float\n"
                                   "foreign \"prim\" norm : float[] -> float\n"
                                   "foreign \"prim\" dot : scalar 'a => 'a[] -> 'a[] -> 'a\n"
                                   "foreign \"prim\" maximum : ord 'a => 'a[] -> 'a\n"
                                   "foreign \"prim\" argmax : ord 'a => 'a[] -> int\n"
                                   "foreign \"prim\" range : int -> int -> int[]\n"
                                   "foreign \"prim\" replicate : int -> 'a -> 'a[]\n"
                                   "foreign \"prim\" reverse : 'a[] -> 'a[]\n"
                                   "foreign \"prim\" sort : ord 'a => 'a[] -> 'a[]\n"
                                   "foreign \"prim\" transpose : 'a[][] -> 'a[][]\n"
                                   "foreign \"prim\" zeros : 'd -> 'r\n"
                                   "foreign \"prim\" reshape : 'd -> 'a -> 'r\n"
                                   "foreign \"prim\" float_of_string : string -> float option\n"
                                   "foreign \"prim\" int_of_string : string -> int option\n"
                                   "foreign \"prim of pure\" par : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b\n"
                                   "foreign \"prim of pure\" pmap : ('a -> 'b) -> 'a[] -> 'b[]\n"
                                   "foreign \"prim\" vjp : diff 'a => diff 'b => ('a -> 'b) -> 'a -> 'b * ('b -> 'a)\n"
                                   "foreign \"prim\" jvp : diff 'a => diff 'b => ('a -> 'b) -> 'a -> 'a -> 'b * 'b\n"
                                   "foreign \"prim\" deriv : diff 'b => (float -> 'b) -> float -> 'b\n"
                                   "foreign \"prim\" hessian : (float[] -> float) -> float[] -> float[][]\n"
                                   "foreign \"prim\" jacfwd : (float[] -> float[]) -> float[] -> float[][]\n"
                                   "foreign \"prim\" jacrev : (float[] -> float[]) -> float[] -> float[][]\n"
                                   "foreign \"prim\" checkpoint : ('a -> 'b) -> 'a -> 'b\n"
                                   "foreign \"prim!\" tell : string -> unit\n"
                                   "let value_and_grad f x = let (y, back) = vjp f x in (y, back 1.0)\n"
                                   "let grad f x = snd (value_and_grad f x)\n"
                                   "let hvp f x v = snd (jvp (grad f) x v)\n"
                                   "let sigmoid x = 1.0 / (1.0 + exp (-x))\n"
                                   "let id x = x\n"
                                   "let twice_log x = log_twice (log x)\n"
                                   "let log_twice x = log (log x)\n"
                                   "let smooth x = log (1.0 + exp x)\n"
                                   "pullback smooth x = (smooth x, fun dy -> dy * sigmoid x)\n"
                                   "let _hidden x = x\n";

static const char list_text[] = "let rec map f l = match l with | Nil -> Nil | x :: r -> f x :: map f r\n"
                                "let rec length l = match l with | Nil -> 0 | _ :: r -> 1 + length r\n"
                                "let sizes ls = map length ls\n";
static const char str_text[] = "foreign \"prim\" join : string -> string[] -> string\n"
                               "foreign \"prim\" split : string -> string -> string[]\n"
                               "foreign \"prim\" trim : string -> string\n"
                               "foreign \"prim\" contains : string -> string -> bool\n"
                               "foreign \"prim\" length : string -> int\n";
static const char regex_text[] = "type matched = {text : string, start : int, groups : string[]}\n"
                                 "foreign \"prim\" test : string -> string -> bool\n"
                                 "foreign \"prim\" find : string -> string -> matched option\n"
                                 "foreign \"prim\" find_all : string -> string -> matched[]\n"
                                 "foreign \"prim\" replace : string -> string -> string -> string\n";
/* Rules that don't stand behind their functions are errors where these are used. */
static const char csv_text[] =
    "let before x = x * 2.0\nlet other x = x + 1.0\npullback before x = (before x, fun d -> d)\n"
    "tangent after x dx = (after x, dx)\nlet after x = x * 2.0\n\n# its own\n\npullback after x = (after x, fun d -> "
    "d)\n"
    "foreign \"prim!\" numbers : string -> float[][]\n"
    "type _t = {a : int}\nlet _t : _t = {a = 1}\nlet use () = _t.a\nlet used (x : _t) = x.a\n"
    "type _u = U of int\nlet _u (x : _u) : _u = x\nlet made = _u (U 1)\n"
    "let _v : _v = {b = 1}\ntype _v = {b : int}\nlet w = _v\n";

/* ---- A checker over these modules ---------------------------------------------------- */
typedef struct World {
  Fixture f;
  Checker *c;
  const char *directory; /* for imports */
  Module *libraries[4];
} World;

static Program *parse(World *w, const char *name, const char *text) {
  return parse_program(w->f.lx, &w->f.arena, &w->f.syms, &w->f.diags,
                       sources_add(&w->f.sources, name, text, strlen(text)));
}

static char *read_text(Arena *a, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = arena_alloc(a, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  text[n] = 0;
  fclose(f);
  return text;
}

static Module *import(void *user, Module *from, Sym path, Span at) {
  World *w = user;
  (void)from;
  char *text = w->directory ? read_text(&w->f.arena, arena_printf(&w->f.arena, "%s/%s", w->directory, path)) : NULL;
  if (!text) {
    diag_error(&w->f.diags, at, "no-file", "there is no file %s", path);
    return NULL;
  }
  Module *m = checker_new_module(w->c, path, path, 0);
  return check_program(w->c, m, parse(w, path, text), &w->f.diags) ? m : NULL;
}

static const char *const library_names[] = {"List", "Str", "Regex", "Csv"};

static Sym library_name(void *user, int i) {
  World *w = user;
  return i < 4 ? sym_of(&w->f.syms, library_names[i]) : NULL;
}

static Module *add_library(World *w, Sym name, const char *text) {
  uint32_t source = sources_add(&w->f.sources, name ? name : "prelude", text, strlen(text));
  return checker_lazy_module(w->c, w->f.lx, name, source,
                             index_items(w->f.lx, &w->f.arena, &w->f.syms, sources_get(&w->f.sources, source)));
}

static Module *library(void *user, Sym name) {
  World *w = user;
  static const char *const texts[] = {list_text, str_text, regex_text, csv_text};
  for (int i = 0; i < 4; i++) {
    if (strcmp(name, library_names[i])) continue;
    if (!w->libraries[i]) w->libraries[i] = add_library(w, name, texts[i]);
    return w->libraries[i];
  }
  return NULL;
}

static void world_init(World *w) {
  memset(w, 0, sizeof *w);
  fixture_open(&w->f);
  w->f.heap.on_oom = &w->f.oom;
  w->c = checker_new(&w->f.arena, &w->f.arena, &w->f.syms, &w->f.sources,
                     (ModuleLoader){w, import, library, library_name});
  checker_set_prelude(w->c, add_library(w, NULL, prelude_text));
}

static void world_free(World *w) { fixture_close(&w->f); }

static void add_diags(World *w, Str *out) {
  for (int i = 0; i < w->f.diags.all.len; i++) {
    const Diag *d = &w->f.diags.all.data[i];
    int line, column;
    span_position(&w->f.sources, d->at, &line, &column);
    str_printf(out, "%d %s\n", line, d->code);
    if (getenv("VERBOSE")) {
      Str text = {.arena = &w->f.arena};
      diag_render(d, &w->f.sources, false, &text);
      fputs(text.data, stderr);
    }
  }
}

/* What the checker says of a program: its types, or its diagnostics. */
static const char *result_of(World *w, const char *text) {
  Module *m = checker_new_module(w->c, NULL, NULL, 0);
  Program *p = parse(w, "test", text);
  Str out = {.arena = &w->f.arena};
  int before = w->f.diags.errors;
  bool ok = check_program(w->c, m, p, &w->f.diags);
  CHECK(ok == (w->f.diags.errors == before));
  add_diags(w, &out);
  if (!w->f.diags.errors) typed_print(w->c, m, p, &out);
  return out.data ? out.data : "";
}

static void expect_result(const char *text, const char *want) {
  World w;
  world_init(&w);
  const char *got = result_of(&w, text);
  if (strcmp(got, want)) fprintf(stderr, "--- program\n%s\n", text);
  CHECK_STR(got, want);
  world_free(&w);
}

/* ---- Types of programs ---------------------------------------------------------------- */
typedef struct Case {
  const char *text, *want;
} Case;

static void run_cases(const Case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) expect_result(cases[i].text, cases[i].want);
}
#define RUN(cases) run_cases(cases, sizeof(cases) / sizeof *(cases))

static void test_arithmetic(void) {
  static const Case cases[] = {
      {"let f x = x * x", "f : num 'a => 'a -> 'a\n"},
      {"let f a b = a + b", "f : num 'a => 'a -> 'a -> 'a\n"},
      {"let f x = 0.5 * x", "f : diff 'a => 'a -> 'a\n"},
      {"let f x = x * 0.5", "f : diff 'a => 'a -> 'a\n"},
      {"let f x = x / 2", "f : num 'a => 'a -> 'a\n"},
      {"let f x = 2 * x", "f : num 'a => 'a -> 'a\n"},
      {"let f x = (x * 2.0, x * 2)", "f : diff 'a => 'a -> 'a * 'a\n"},
      {"let f a b = a * b", "f : mul 'a 'b 'c => 'a -> 'b -> 'c\n"},
      {"let f a b = a / b", "f : div 'a 'b 'a => 'a -> 'b -> 'a\n"},
      {"let f = ( * )", "f : mul 'a 'b 'c => 'a -> 'b -> 'c\n"},
      {"let sgd lr p g = p - lr * g", "sgd : mul 'a 'c 'b => 'a -> 'b -> 'c -> 'b\n"},
      {"let sgd lr p g = p - g * lr", "sgd : mul 'c 'a 'b => 'a -> 'b -> 'c -> 'b\n"},
      {"let f (x, y) = x * y + y * x", "f : mul 'a 'b 'c => 'a * 'b -> 'c\n"},
      {"let f x y z = x * y * z", "f : mul 'a 'b 'e => mul 'e 'c 'd => 'a -> 'b -> 'c -> 'd\n"},
      {"let f a b = a * b\nlet x = f 2.0 [1.0]\nlet y = f [1] 2\nlet z = f 1 2\nlet t = f (1, 2.0) 3",
       "f : mul 'a 'b 'c => 'a -> 'b -> 'c\nx : float[]\ny : int[]\nz : int\nt : int * float\n"},
      {"let f lr p g = p - lr * g\nlet x = f 0.1 (1.0, \"a\") (2.0, \"b\")",
       "f : mul 'a 'c 'b => 'a -> 'b -> 'c -> 'b\nx : float * string\n"},
      {"let f x y = let g z = x * z in g y + g x", "f : num 'a => 'a -> 'a -> 'a\n"},
      {"let f x = let g z = z * z in g x + g x", "f : num 'a => 'a -> 'a\n"},
      {"let f a b = let c = a * b in c : float", "1 syntax\n"},
      {"let f a b = (a * b : float)", "f : float -> float -> float\n"},
      {"let x = 1 + 2\nlet y = 1 + 2.0\nlet z = 2 * 1.5", "x : int\ny : float\nz : float\n"},
      {"let k = 3\nlet p = (fun x -> x, 1)", "k : int\np : ('a -> 'a) * int\n"},
      {"let x = 2.0 * [1.0, 2.0] + [3, 4]", "x : float[]\n"},
      {"let f x n = x ^ n\nlet g x = x ** 2", "f : scalar 'a => 'a -> int -> 'a\ng : float -> float\n"},
      {"let f a b = a % b\nlet g x = -x", "f : int -> int -> int\ng : num 'a => 'a -> 'a\n"},
      {"let f a = reshape [2, 3] a", "f : leaf 'a 'b => 'a[] -> 'b[][]\n"},
      {"let f a = sum (reshape 6 a)", "f : num 'b => leaf 'a 'b => 'a[] -> 'b\n"},
      {"let f a b = a @ b", "f : matmul 'a 'b 'c => 'a -> 'b -> 'c\n"},
      {"let f a (v : float[]) = a @ v", "f : matmul 'a float[] 'b => 'a -> float[] -> 'b\n"},
      {"let f (v : float[]) w = v @ w", "f : matmul float[] 'a 'b => float[] -> 'a -> 'b\n"},
      {"let f a b = (a @ b : float)", "f : float[] -> float[] -> float\n"},
      {"let f a = 1.0 + [1, 2] @ a", "f : float[] -> float\n"},
      {"type 'a tree = Leaf | Node of 'a tree * 'a * 'a tree\nlet f x = 3 * Node (Leaf, x, Leaf)\nlet g = f 2.5",
       "f : num 'a => 'a -> 'a tree\ng : float tree\n"},
      {"let rhs (a, b) (u, v) = (a * u - b * u * v, b * u * v - a * v)\nlet x = rhs (1.0, 2.0) (3.0, 4.0)",
       "rhs : mul 'a 'c 'e => mul 'b 'c 'f => mul 'f 'd 'e => mul 'a 'd 'e => 'a * 'b -> 'c * 'd -> 'e * 'e\nx : float "
       "* float\n"},
      {"let a = 2.0 * 3\nlet f x = 2.0 * float x + x", "2 type-mismatch\n"},
      {"let f = (1, true) * true", "1 constraint\n"},
      {"let f x = \"a\" * x", "1 constraint\n"},
      {"let x = 2.5 * [1, 2, length []]", "1 type-mismatch\n"},
      {"let x = (1.0, 2.0) / (1.0, 2, 3)", "1 type-mismatch\n"},
      {"let x = 2.0 / [1.0]", "1 type-mismatch\n"}};
  RUN(cases);
}

static void test_functions(void) {
  static const Case cases[] = {
      {"let id2 x = x\nlet a = id2 3\nlet b = id2 \"a\"", "id2 : 'a -> 'a\na : int\nb : string\n"},
      {"let compose f g x = f (g x)", "compose : ('a -> 'b) -> ('c -> 'a) -> 'c -> 'b\n"},
      {"let f = sin >> cos", "f : float -> float\n"},
      {"let f = fst >> snd", "f : ('a * 'b) * 'c -> 'b\n"},
      {"let f x = x |> sin |> fun y -> y * x", "f : float -> float\n"},
      {"let f = map fst", "f : ('a * 'b)[] -> 'a[]\n"},
      {"let f = fold (+) 0", "f : scalar 'a => 'a[] -> 'a\n"},
      {"let rec even n = if n = 0 then true else odd (n - 1)\nand odd n = if n = 0 then false else even (n - 1)",
       "even : scalar 'a => 'a -> bool\nodd : scalar 'a => 'a -> bool\n"},
      {"let rec f a l = match l with | Nil -> a | x :: r -> f (a + x) r", "f : num 'a => 'a -> 'a list -> 'a\n"},
      {"let f g = g 1 (g 2.5 3)", "f : scalar 'a => (float -> 'a -> 'a) -> 'a\n"},
      {"let f x = let g y = (x, y) in (g 1, g \"a\")", "f : scalar 'b => 'a -> ('a * 'b) * ('a * string)\n"},
      {"let f x : float = x\nlet g (x : 'a) (y : 'a) = [x, y]", "f : float -> float\ng : 'a -> 'a -> 'a[]\n"},
      {"let e = []\nlet n = None\nlet x = 1 :: Nil", "e : 'a[]\nn : 'a option\nx : int list\n"},
      {"print (length [])\nprint None", "_ : unit\n_ : unit\n"},
      {"let x = reverse []", "1 ambiguous-type\n"},
      {"let (a, b) = (1, 2.0)", "a : int\nb : float\n"},
      {"let x = show 1 ++ \"a\"\nlet y = [1] ++ [2.0]\nlet z = (1 :: Nil) ++ Nil",
       "x : string\ny : float[]\nz : int list\n"},
      {"let f x = x ++ x", "f : concat 'a => 'a -> 'a\n"},
      {"let f x = x ++ x\nlet y = f 1", "2 type-mismatch\n"},
      {"let f x = x x", "1 infinite-type\n"},
      {"let a = fst (1, 2) 3", "1 too-many-arguments\n"},
      {"let a = 3 4", "1 not-a-function\n"},
      {"let rec x = 1 + x", "1 recursive-value\n"},
      {"let p0 x = (x, x)\nlet p1 x = p0 (p0 x)\nlet p2 x = p1 (p1 x)\nlet p3 x = p2 (p2 x)\nlet p4 x = p3 (p3 x)\n"
       "let p5 x = p4 (p4 x)",
       "6 type-too-large\n"},
      {"let f x y =\n  sin x + y\nprint (f 1.0)", "3 constraint\n"},
      {"let f x = if x then 1", "1 missing-else\n"},
      {"let f x = if x then 1 else 2.5", "f : bool -> float\n"},
      {"let f x = if x then 1 else \"a\"", "1 type-mismatch\n"},
      {"let f x =\n  match x with\n  | 0.5 -> 1\n  | \"a\" -> 2\n  | _ -> 3", "4 type-mismatch\n"},
      {"let a = unknown + 1\nlet b = sine 2.0\nlet c = a + b\nlet d = \"a\" + \"b\"",
       "1 unbound-name\n2 unbound-name\n4 constraint\n"},
      {"let f x = (f2 x, 1)\nlet f2 x = x", "1 unbound-name\n"},
      {"test \"t\" = 1 = 1.0\ntest \"u\" = 3.5", "2 type-mismatch\n"},
      {"let a = (1; 2)", "1 discarded-value\na : int\n"}};
  RUN(cases);
}

static void test_open_records(void) {
  static const Case cases[] = {
      {"let total p = p.a + p.b", "total : num 'a => {a : 'a, b : 'a, ..} -> 'a\n"},
      {"let f p = p.w", "f : {w : 'a, ..} -> 'a\n"},
      {"let f {w = v, ..} = v", "f : {w : 'a, ..} -> 'a\n"},
      {"let f {w = v} = v", "f : {w : 'a} -> 'a\n"},
      {"let f p = {p with b = 2.5}", "f : ({b : float, ..} as 'r) -> 'r\n"},
      {"let f p q = (p.b : int) + q.b", "f : {b : int, ..} -> {b : int, ..} -> int\n"},
      {"let f p q = if p.a then p else {q with b = q}", "1 infinite-type\n"},
      {"let f p q = ({p with a = true}, {q with b = p.c})",
       "f : ({a : bool, c : 'a, ..} as 'r) -> ({b : 'a, ..} as 'r1) -> 'r * 'r1\n"},
      {"let f p = p.in_.x", "f : {in_ : {x : 'a, ..}, ..} -> 'a\n"},
      {"let f p = [p.x, p.x, 1.5]", "f : {x : float, ..} -> float[]\n"},
      {"let f lr p = lr * p - p.w * p", "f : mul 'r 'a 'r => mul 'r 'b 'r => 'a -> ({w : 'b, ..} as 'r) -> 'r\n"},
      {"let f p q = (p.x, q.y, p * q)", "f : num 'r => ({x : 'a, y : 'b, ..} as 'r) -> 'r -> 'a * 'b * 'r\n"},
      {"let f p = p.x + (p + 1)", "1 type-mismatch\n"},
      {"let f p = p.x + length p", "1 type-mismatch\n"},
      {"let f p = (abs p).x", "1 not-a-record\n"},
      {"let f p = p ++ p.x", "1 type-mismatch\n"},
      {"let f p = p.x = p", "1 infinite-type\n"},
      {"let f p q = (p.x = q, q.y = [p])", "1 infinite-type\n"},
      {"let f p = p.run p", "1 infinite-type\n"},
      {"let f (p : ({x : 'r, ..} as 'r)) = 1", "1 infinite-type\n"},
      {"let f (p : {a : int, ..}) = p.b + p.a", "f : {a : int, b : int, ..} -> int\n"},
      {"let f (p : {a : int, ..}) (q : {a : int, ..}) = 1.5", "f : {a : int, ..} -> {a : int, ..} -> float\n"},
      {"let f (p : ({a : int, ..} as 'r)) : 'r = p", "f : ({a : int, ..} as 'r) -> 'r\n"},
      {"let f : show 'r => ({a : int, ..} as 'r) -> string = fun p -> show p",
       "f : show 'r => ({a : int, ..} as 'r) -> string\n"},
      {"type t = {a : int, ..}", "1 open-record\n"},
      {"type t = A of {a : int, ..}", "1 open-record\n"},
      {"foreign \"libm.so.6\" sin2 : {a : float, ..} -> float", "1 open-record\n"},
      {"let f x = let g p = p.a + x in g {a = x, b = 1} + g {a = x}", "f : num 'a => 'a -> 'a\n"},
      {"let f p = let g () = p.a in g () + p.b", "f : num 'a => {a : 'a, b : 'a, ..} -> 'a\n"},
      {"let f p = p.a\nlet g = f\nlet h = (f, 1.5)\nlet k = f >> sin",
       "f : {a : 'a, ..} -> 'a\ng : {a : 'a, ..} -> 'a\nh : ({a : 'a, ..} -> 'a) * float\nk : {a : float, ..} -> "
       "float\n"},
      {"let f = id (fun p -> p.a)", "1 ambiguous-type\n"},
      {"let f () = map (fun p -> p.a) []", "1 ambiguous-type\n"},
      {"type t = {a : int, b : int}\nlet f = id (fun p -> p.a)\nlet g () = map (fun p -> p.b) []",
       "f : t -> int\ng : unit -> int[]\n"},
      {"type point = {x : float, y : float}\nlet f p = p.x\nlet h = f {y = 1.0, x = 2.0}",
       "f : {x : 'a, ..} -> 'a\nh : float\n"},
      {"let f p = p.a\nlet g p = f p\nlet h = g {b = 1}", "3 unknown-field\n"},
      {"let f p = p.a + p.c\nlet r = {b = 1}\nlet h () = f r + f r", "3 unknown-field\n"},
      {"let f p = p.a + 1\nlet h = f {a = \"s\"}", "2 type-mismatch\n"},
      {"let rec f p n = if n = 0 then p.a else f {p with a = p.b} (n - 1)",
       "f : scalar 'b => {a : 'a, b : 'a, ..} -> 'b -> 'a\n"},
      {"let rec f p = p.a + g p\nand g p = p.b + 0 * f p",
       "f : num 'a => {a : 'a, b : 'a, ..} -> 'a\ng : num 'a => {a : 'a, b : 'a, ..} -> 'a\n"},
      {"let fit loss p = p - 0.1 * grad loss p\nlet train p = fit (fun p -> p.w * p.w) p",
       "fit : diff 'a => ('a -> float) -> 'a -> 'a\ntrain : ({w : float, ..} as 'r) -> 'r\n"},
      {"let f r = match r with {a = 1, ..} -> 1.5 | {b = true, ..} -> 2.5",
       "1 inexhaustive-match\nf : scalar 'a => {a : 'a, b : bool, ..} -> float\n"},
      {"let f r = match r with {a = true, ..} -> 1.5 | {a = false, ..} -> 2.5 | {b = 1, ..} -> 3.5",
       "1 redundant-case\nf : scalar 'a => {a : bool, b : 'a, ..} -> float\n"},
      {"let f r = match r with {a = None, ..} -> 0.5 | {a = Some x, b} -> x + b",
       "f : {a : float option, b : float} -> float\n"}};
  RUN(cases);
}

static void test_data(void) {
  static const Case cases[] = {
      {"let f p = let q = p in q.w + 1\nlet g p = (p.w : int) + (p : {w : int, v : bool}).w",
       "f : scalar 'a => {w : 'a, ..} -> 'a\ng : {v : bool, w : int} -> int\n"},
      {"let g p = let r = p.w in r + (p : {w : int, v : bool}).w", "g : {v : bool, w : int} -> int\n"},
      {"let p = {x = 1.0}\nprint p.z", "2 unknown-field\n"},
      {"let x = 1\nlet y = sin (x.z)", "2 not-a-record\n"},
      {"let f {w, b} = w + b", "f : num 'a => {b : 'a, w : 'a} -> 'a\n"},
      {"type t = A of int | B\nlet f x = match x with | A n -> n | B -> 0\nlet g x = match x with | A -> 1 | B y -> 2",
       "3 constructor-arity\n3 constructor-arity\n"},
      {"type t = A of t list | B of u\nand u = {t : t}\nlet f x = match x with | A (y :: _) -> y | A Nil -> B {t = x} "
       "| B u -> u.t",
       "f : t -> t\n"},
      {"type t = {x : t}", "1 cycle\n"},
      {"type t = A of 'a", "1 unbound-type\n"},
      {"type t = int list list2", "1 unbound-type\n"},
      {"type t = (int, int) list", "1 type-arity\n"},
      {"type layer = Dense of (float -> float) | Skip\nlet l = Dense (fun x -> (print x; x))\n"
       "let run l x = match l with | Dense f -> f x | Skip -> x\nlet y = run l 1.0\nlet z = par (fun () -> run (Dense "
       "sin) 1.0) (fun () -> 1)\n"
       "let w = par (fun () -> run l 1.0) (fun () -> 1)",
       "6 effect-not-allowed\n"},
      {"let f b = if b then Some (fun x -> x) else None", "f : bool -> ('a -> 'a) option\n"},
      {"let f = (fun x -> x) = (fun x -> x)", "1 constraint\n"},
      {"type t = A of (int -> int)\nlet f = show (A (fun x -> x))", "2 constraint\n"},
      {"let f a i = a[i]\nlet g a = a[.., 1]\nlet h a = a[1..2, 0, ..]",
       "f : 'a[] -> int -> 'a\ng : 'a[][] -> 'a[]\nh : 'a[][][] -> 'a[][]\n"},
      {"let f n xs = [ (i, x) | i < n, x in xs ]", "f : int -> 'a[] -> (int * 'a)[][]\n"},
      {"let f x = x[0.5]", "1 type-mismatch\n"},
      {"let a = [1, \"a\"]", "1 type-mismatch\n"},
      {"let z = zeros [2, 3]\nlet y = zeros 3\nlet r = reshape [3, 2] z\nlet m = map zeros [1, 2]",
       "z : float[][]\ny : float[]\nr : float[][]\nm : float[][]\n"},
      {"let f ds = zeros ds\nlet g = zeros (range 0 2)", "2 array-literal\n"},
      {"let s = $\"{1} {\"a\"} {1.5:.2f}\"\nlet t = $\"{sin}\"", "2 constraint\n"}};
  RUN(cases);
}

static void test_matches(void) {
  static const Case cases[] = {
      {"let f x = match x with | Some 1 -> 1 | None -> 2",
       "1 inexhaustive-match\nf : scalar 'a => scalar 'b => 'a option -> 'b\n"},
      {"let f x = match x with | true -> 1.0 | false -> 2.0 | _ -> 3.0", "1 redundant-case\nf : bool -> float\n"},
      {"let f (Some x) = x", "1 inexhaustive-match\nf : 'a option -> 'a\n"},
      {"let f l = match l with | x :: y :: _ -> x | x :: Nil -> x | Nil -> 0.5", "f : float list -> float\n"},
      {"let f p = match p with | (1 | 2) as x, _ when x > 0 -> x | _ -> 3", "1 syntax\n"},
      {"let f p = match p with | ((1 | 2) as x, true) when x > 0.5 -> x | (_, _) -> 3", "f : float * bool -> float\n"},
      {"let f p = match p with | Ok x | Error x -> x", "f : ('a, 'a) result -> 'a\n"},
      {"let f p = match p with | Ok x | Error y -> 1.0", "1 unbound-name\n1 unbound-name\n"},
      {"let f (x, x) = x", "1 duplicate\n"},
      {"let f a = match a with | [x, y] -> x | [] -> 1.5", "1 inexhaustive-match\nf : float[] -> float\n"}};
  RUN(cases);
}

static void test_effects_and_state(void) {
  static const Case cases[] = {
      {"let f x = let (a, b) = par (fun () -> x * x) (fun () -> 3.0 * x) in a + b", "f : diff 'a => 'a -> 'a\n"},
      {"let f x = par (fun () -> print x) (fun () -> 1)", "1 effect-not-allowed\n"},
      {"let f x = (print x; pmap (fun y -> (tell \"a\"; y)) [1.0])", "1 effect-not-allowed\n"},
      {"let f g x = pmap g x\nlet a = f sin [1.0]\nlet b = f (fun x -> (print x; x)) [1.0]", "3 effect-not-allowed\n"},
      {"let f k xs = let net = map k in (iter print (net xs); pmap (fun x -> net [x]) xs)\nlet a = f sin [1.0]",
       "f : show 'b => ('a -> 'b) -> 'a[] -> 'b[][]\na : float[][]\n"},
      {"let make x = fun y -> x + y\nlet f x = let k = make x in (print (k 1.0); pmap k [2.0])",
       "make : num 'a => 'a -> 'a -> 'a\nf : float -> float[]\n"},
      {"let back = snd (vjp sin 1.0)\nprint (back 1.0)\nlet a = pmap back [1.0]\niter (fun x -> print (back x)) [1.0]",
       "back : float -> float\n_ : unit\na : float[]\n_ : unit\n"},
      {"let f n =\n  let mut s = 0 in\n  for i = 1 to n do s <- s + i done;\n  s", "f : int -> int\n"},
      {"let f n = let mut s = 0 in while s < 1.5 do s += 0.5 done; s", "f : 'a -> float\n"},
      {"let f n =\n  let mut s = 0.0 in\n  let g = fun x -> s + x in g n", "3 captured-mut\n"},
      {"let f n = let x = 1 in x <- 2", "1 not-mutable\n"},
      {"let f n = let mut a = [1] in [ a[i] <- 2 | i < 1 ]", "1 assign-in-comprehension\n"},
      {"let f n = let mut s = 1.0 in [ s * float i | i < n ]", "f : int -> float[]\n"},
      {"type p = {a : float[], b : int}\nlet f (p : p) = let mut q = p in (q.a[0] <- 1; q.b += 1; q)", "f : p -> p\n"}};
  RUN(cases);
}

static void test_derivatives(void) {
  static const Case cases[] = {
      {"let g = grad (fun x -> x * x) 3", "g : float\n"},
      {"let f n = float (n * n)\nprint (grad f 3)", "2 nothing-to-differentiate\n"},
      {"let f x = grad (fun y -> 1.0) (x, 1)", "f : scalar 'b => diff ('a * 'b) => 'a -> 'a * 'b\n"},
      {"let g = grad (fun x -> 1.0) \"s\"", "1 nothing-to-differentiate\n"},
      {"let g = vjp (fun x -> sin) 1.0", "1 nothing-to-differentiate\n"},
      {"let g = grad (fun p -> sum p.w + p.b) {w = [1.0], b = 2.0}", "g : {b : float, w : float[]}\n"},
      {"let h f x = hvp f x x", "h : diff 'a => ('a -> float) -> 'a -> 'a\n"},
      {"let s x = log (1.0 + exp x)\npullback s x = (s x, fun dy -> dy * sigmoid x)\ntangent s x dx = (s x, dx * "
       "sigmoid x)",
       "s : float -> float\n"},
      {"let mul a b = a * b\npullback mul a b = (mul a b, fun d -> (d * b, d * a))\nlet x = mul 2.0 3.0",
       "mul : mul 'a 'b 'c => mul 'c 'b 'a => mul 'c 'a 'b => 'a -> 'b -> 'c\nx : float\n"},
      {"let f x y = x\npullback f x = (x, fun d -> d)", "2 rule-arity\n"},
      {"let f x = sin x\npullback f x = (x, fun d -> (d, d))", "2 type-mismatch\n"},
      {"let f (x : float) = x\npullback f x = (x, fun d -> (print d; d))", "2 effect-not-allowed\n"},
      {"let f (x : float) = x\ntangent f x dx = (print x; (x, dx))", "2 effect-not-allowed\n"},
      {"let f (x : float) = print x; x\npullback f x = (x, fun d -> d)", "2 effect-not-allowed\n"},
      {"let f g (x : float) = g x + 0.0\npullback f g x = (g x, fun d -> (g, g d))",
       "f : (float -> float) -> float -> float\n"},
      {"let f x = sin x\nlet g x = x\npullback f x = (x, fun d -> d)", "3 misplaced-rule\n"},
      {"foreign \"libm.so.6\" j0 : float -> float\npullback j0 x = (j0 x, fun d -> d)\nlet y = j0 1",
       "j0 : float -> float\ny : float\n"},
      {"foreign \"libm.so.6\" j0 : 'a -> float", "1 foreign-type\n"},
      {"foreign \"prim\" sin : float -> float", "1 foreign-type\n"}};
  RUN(cases);
}

static void test_modules(void) {
  static const Case cases[] = {
      {"let a = List.map sin (1 :: Nil)\nlet b = List.sizes Nil\nlet c = length [1]",
       "a : float list\nb : int list\nc : int\n"},
      {"open List\nlet f x = length x\nlet length x = 1.0\nlet g x = length x",
       "f : scalar 'b => 'a list -> 'b\nlength : 'a -> float\ng : 'a -> float\n"},
      {"let a = twice_log 1\nlet b = smooth 2", "a : float\nb : float\n"},
      {"let a = List.mapp\nlet b = Lst.map\nlet c = _hidden 1", "1 unbound-name\n2 unbound-module\n3 unbound-name\n"},
      {"import \"none.atl\" as Model\nlet x = Model.y", "1 no-file\n"},
      {"let f = Csv.other", "f : float -> float\n"},
      {"let f = Csv.before", "3 misplaced-rule\n"},
      {"let f = Csv.after", "4 misplaced-rule\n"},
      {"let f = Csv.use\nlet g = Csv.used\nlet h = Csv.made\nlet w = Csv.w",
       "f : unit -> int\ng : {a : int} -> int\nh : Csv._u\nw : {b : int}\n"},
      {"let m = Regex.find \"a\" \"b\"\nlet t = match m with | Some m -> m.text | None -> \"\"",
       "m : Regex.matched option\nt : string\n"}};
  RUN(cases);
}

/* Items that don't depend on each other may stand in any order, operands too. */
static void test_order(void) {
  static const Case cases[] = {
      {"let f p x = dot p.w x + p.b * (p : {w : float[], b : float}).b",
       "f : {b : float, w : float[]} -> float[] -> float\n"},
      {"let f p x = (p : {w : float[], b : float}).b * p.b + dot x p.w",
       "f : {b : float, w : float[]} -> float[] -> float\n"},
      {"let f a b c = let r = a * b in (r + c, c + 1.0)", "f : float -> float -> float -> float * float\n"},
      {"let f a b c = let r = b * a in (1.0 + c, c + r)", "f : float -> float -> float -> float * float\n"},
      {"let f x y = (x * y, [x], [1, y], [2.5, x * y])", "f : float -> float -> float * float[] * float[] * float[]\n"},
      {"let f x y = ([2.5, x * y], [1, y], [x], x * y)",
       "f : float -> float -> float[] * float[] * float[] * float\n"}};
  RUN(cases);
}

/* ---- What other stages rely on ------------------------------------------------------------ */
static void test_annotations(void) {
  World w;
  world_init(&w);
  Module *m = checker_new_module(w.c, NULL, NULL, 0);
  Program *p = parse(&w, "test", "let rec f n x = if n = 0 then x else f (n - 1) (x * x)\nlet g = (f 2 1.5, f)\n");
  CHECK(check_program(w.c, m, p, &w.f.diags));
  Binding *f = checker_lookup(w.c, m, sym_of(&w.f.syms, "f"));
  CHECK(f && binding_fun(f) && f->kind == BIND_TOP && f->rec && f->ngroup == 1 && f->module == m);
  /* the recursive use is at f's own variables */
  const Expr *inner = binding_fun(f)->args[0]->args[2]->args[0];
  CHECK(inner->binding == f && inner->inst == f->qvars);
  for (int i = 0; i < f->nqvars; i++) CHECK(f->qvars[i]->level == LEVEL_GENERIC);
  const Expr *use = p->items.data[1]->lets[0].value->args[0]->args[0];
  CHECK(use->binding == f && use->inst && use->inst != f->qvars);
  Type *t = checker_parse_type(w.c, m, &w.f.diags, w.f.lx, "int -> float -> float");
  CHECK(t != NULL);
  Type **inst = NEW_ARRAY(&w.f.arena, Type *, f->nqvars);
  CHECK(checker_instantiate_at(w.c, f, t, inst));
  for (int i = 0; i < f->nqvars; i++) CHECK(type_repr(inst[i])->kind != TY_VAR);
  t = checker_parse_type(w.c, m, &w.f.diags, w.f.lx, "int -> string -> string");
  CHECK(!checker_instantiate_at(w.c, f, t, inst) && !w.f.diags.errors);
  CHECK(!checker_parse_type(w.c, m, &w.f.diags, w.f.lx, "int -> flot") && w.f.diags.errors == 1);
  CHECK(type_holds_float(checker_parse_type(w.c, m, &w.f.diags, w.f.lx, "(int * float[]) list")));
  CHECK(!type_holds_float(checker_parse_type(w.c, m, &w.f.diags, w.f.lx, "(int * (float -> float)) list")));
  Sym *names;
  int n = checker_visible_names(w.c, m, &names, &w.f.arena);
  bool found_f = false, found_grad = false, found_hidden = false;
  for (int i = 0; i < n; i++) {
    found_f |= !strcmp(names[i], "f");
    found_grad |= !strcmp(names[i], "grad");
    found_hidden |= !strcmp(names[i], "_hidden");
  }
  CHECK(found_f && found_grad && !found_hidden);
  world_free(&w);
}

static void test_rules_share_variables(void) {
  World w;
  world_init(&w);
  Module *m = checker_new_module(w.c, NULL, NULL, 0);
  Program *p = parse(&w, "test", "let pair x = (x, x)\npullback pair x = (pair x, fun d -> fst d)\n");
  CHECK(check_program(w.c, m, p, &w.f.diags) && m->items.len == 2);
  Binding *b = checker_lookup(w.c, m, sym_of(&w.f.syms, "pair"));
  CHECK(b && b->pullback == p->items.data[1] && b->pullback->binding == b);
  CHECK(type_repr(b->pullback->expr->params[0]->type) == type_repr(type_repr(b->type)->args[0]));
  world_free(&w);
}

static void test_transactions(void) {
  World w;
  world_init(&w);
  Module *m = checker_new_module(w.c, NULL, NULL, 0);
  CHECK(check_program(w.c, m, parse(&w, "1", "let a = 1.5"), &w.f.diags));
  arena_mark(&w.f.arena);
  SAVE(&w.f.arena, w.f.syms);
  SAVE(&w.f.arena, w.f.sources);
  checker_save(w.c, m);
  CHECK(!check_program(w.c, m, parse(&w, "2", "let a = \"s\"\nlet b = 2\ntype t = T\nlet c = nope"), &w.f.diags));
  CHECK(m->items.len == 4);
  arena_roll_back(&w.f.arena);
  diags_init(&w.f.diags, &w.f.arena, &w.f.sources);
  CHECK(m->items.len == 1 && !checker_lookup(w.c, m, sym_of(&w.f.syms, "b")));
  CHECK(type_repr(checker_lookup(w.c, m, sym_of(&w.f.syms, "a"))->type)->kind == TY_FLOAT);
  w.f.diags.errors = 0;
  CHECK(check_program(w.c, m, parse(&w, "3", "let d = a + 1"), &w.f.diags) && m->items.len == 2);
  world_free(&w);
}

/* Long chains take no C stack, and little time. */
static void test_long_chains(void) {
  static const char *const parts[][4] = {{"let f x = ", "x", " + ", "f : num 'a => 'a -> 'a\n"},
                                         {"let f = ", "1.5 :: ", "", "f : float list\n"},
                                         {"let f = ", "\"a\"", " ++ ", "f : string\n"},
                                         {"let f x = ", "let y = x in ", "", "f : 'a -> 'a list\n"},
                                         {"let f x = (", "ignore x; ", "", "f : 'a -> 'b list\n"},
                                         {"let f x = ", "if x then Nil else ", "", "f : bool -> 'a list\n"}};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    World w;
    world_init(&w);
    Str text = {.arena = &w.f.arena};
    str_puts(&text, parts[k][0]);
    bool separated = parts[k][2][0];
    for (int i = 0; i < 10000; i++) str_printf(&text, "%s%s", parts[k][1], i < 9999 ? parts[k][2] : "");
    if (!separated) str_puts(&text, k == 3 ? "y :: Nil" : k == 4 ? "Nil)" : "Nil");
    CHECK_STR(result_of(&w, text.data), parts[k][3]);
    world_free(&w);
  }
}

/* ---- Whole programs ------------------------------------------------------------------- */
/* A program with `# expect: error N` and a compile-time error must have it in line N; others must have none. */
static void check_file(const char *path) {
  World w;
  world_init(&w);
  char *text = read_text(&w.f.arena, path);
  CHECK(text != NULL);
  if (text) {
    w.directory = arena_strndup(&w.f.arena, path, strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) : 0);
    const char *expected = strstr(text, "# expect: error ");
    result_of(&w, text);
    if (w.f.diags.errors) {
      Str out = {.arena = &w.f.arena};
      int line, column;
      Diag *d = &w.f.diags.all.data[0];
      span_position(&w.f.sources, d->at, &line, &column);
      if (!expected || atoi(expected + 16) != line) {
        check_failures++;
        diag_render(d, &w.f.sources, false, &out);
        fprintf(stderr, "%s:\n%s", path, out.data);
      } else {
        diag_render(d, &w.f.sources, false, &out);
        printf("%s", out.data);
      }
    } else if (expected) {
      printf("%s: no error before it runs\n", path);
    }
  }
  world_free(&w);
}

int main(int argc, char **argv) {
  test_arithmetic();
  test_functions();
  test_open_records();
  test_data();
  test_matches();
  test_effects_and_state();
  test_derivatives();
  test_modules();
  test_order();
  test_annotations();
  test_rules_share_variables();
  test_transactions();
  test_long_chains();
  for (int i = 1; i < argc; i++) check_file(argv[i]);
  return check_result();
}
