/* SPDX-License-Identifier: MIT */
/* Tests of src/parser: the tree of each construct (as ast_print shows it),
 * layout, recovery and messages, deep and long input, lazy splitting, and
 * every allocation failing in turn. */
#define _GNU_SOURCE
#include "check.h"
#include "fixture.h"
#include "parser/parser.h"
#include <stdlib.h>
#include <string.h>

static Program *parse(Fixture *f, const char *text) {
  fixture_begin(f);
  uint32_t id = sources_add(&f->sources, "t.atl", text, strlen(text));
  return parse_program(f->lx, &f->arena, &f->syms, &f->diags, id);
}

/* The tree without its last line break, or the first error as "line:column message". */
static const char *tree(Fixture *f, const char *text) {
  Program *p = parse(f, text);
  Str out = {.arena = &f->arena};
  if (f->diags.errors) {
    int line, column;
    span_position(&f->sources, f->diags.all.data[0].at, &line, &column);
    str_printf(&out, "%d:%d %s", line, column, f->diags.all.data[0].message);
    return out.data;
  }
  ast_print(p, &out);
  if (out.len) out.data[out.len - 1] = 0;
  return out.data ? out.data : "";
}

typedef struct Case {
  const char *text, *want;
} Case;

static void run_cases(Fixture *f, const Case *cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    CHECK_STR(tree(f, cases[i].text), cases[i].want);
    arena_free(&f->arena);
  }
}
#define RUN(f, cases) run_cases((f), (cases), sizeof(cases) / sizeof *(cases))

static void test_operators(Fixture *f) {
  static const Case cases[] = {
      {"a + b * c - d", "(do (- (+ a (* b c)) d))"},
      {"-x ^ 2 + 2 * -x", "(do (+ (negate (^ x 2)) (* 2 (negate x))))"},
      {"2 ^ -1 * 3", "(do (* (^ 2 (negate 1)) 3))"},
      {"a ^ b ** c", "(do (^ a (** b c)))"},
      {"f <| g <| x |> h >> k", "(do (<| f (<| g (>> (|> x h) k))))"},
      {"a || b && c = d :: e ++ g", "(do (|| a (&& b (= c (:: d (++ e g))))))"},
      {"a :: b :: c", "(do (:: a (:: b c)))"},
      {"a % b @ c / d", "(do (/ (@ (% a b) c) d))"},
      {"a ~= b", "(do (~= a b))"},
      {"f -1", "(do (- f 1))"},
      {"f (-1) x", "(do (apply f (negate 1) x))"},
      {"f x.y z.w[1].v", "(do (apply f (field .y x) (field .v (index (field .w z) 1))))"},
      {"f [1] a[1]", "(do (apply f (array 1) (index a 1)))"},
      {"f(x) (y, z)", "(do (apply f x (tuple y z)))"},
      {"(+) ( * ) (::) (&&)", "(do (apply (operator +) (operator *) (operator ::) (fun ( a b) (&& a b))))"},
      {"a[i, j] a[1..] a[..j] a[..] a[.., j] a[i..j]", "(do (apply (index a i j) (index a (.. 1 _)) (index a (.. _ j)) "
                                                       "(index a (.. _ _)) (index a (.. _ _) j) (index a (.. i j))))"},
      {"a < b < c", "1:7 comparisons don't chain"},
      {"a == b", "1:3 there is no operator `==`"},
      {"a + |> b", "1:5 expected an expression, found `|>`"},
  };
  RUN(f, cases);
}

static void test_expressions(Fixture *f) {
  static const Case cases[] = {
      {"(let x = 1 in x; y)", "(do (let ( x 1) (seq x y)))"},
      {"(fun x (y, _) -> x; y)", "(do (fun ( x (tuple y _)) (seq x y)))"},
      {"xs |> fun x -> x + 1; 2", "(do (|> xs (fun ( x) (seq (+ x 1) 2))))"},
      {"if a then b else c + 1; d", "(do (seq (if a b (+ c 1)) d))"},
      {"if a then b", "(do (if a b))"},
      {"if a then s <- 1; c", "(do (seq (if a (<- s 1)) c))"},
      {"if a then b else if c then d else e", "(do (if a b (if c d e)))"},
      {"match x with | A -> 1; 2 | B y when y > 0 -> 3", "(do (match x ( A (seq 1 2)) ( (B y) when (> y 0) 3)))"},
      {"match x with A -> match y with B -> 1 | C -> 2", "(do (match x ( A (match y ( B 1) ( C 2)))))"},
      {"let mut s = 0.0 in s += 1.0; a.b[i] <- s",
       "(do (let (mut s 0.) (seq (+= s 1.) (<- (index (field .b a) i) s))))"},
      {"for i = 0 to n - 1 do f i; done", "(do (for i 0 (- n 1) (apply f i)))"},
      {"for i = n downto 0 do f i done; ()", "(do (seq (for down i n 0 (apply f i)) ()))"},
      {"while a < b do f (); g () done", "(do (while (< a b) (seq (apply f ()) (apply g ()))))"},
      {"{w = 1, b = x |> f}", "(do (record w: 1 b: (|> x f)))"},
      {"{p.q with b = 0.0, c = 1}", "(do (with (field .q p) b: 0. c: 1))"},
      {"[e | i < n, j < i, (a, b) in xs]", "(do (comprehension (< i n) (< j i) (in (tuple a b) xs) e))"},
      {"[] [1, 2]", "(do (apply (array) (array 1 2)))"},
      {"(x : float[]) ((), true)", "(do (apply (: x (array float)) (tuple () true)))"},
      {"M.f (M.C 1) C", "(do (apply M.f (apply M.C 1) C))"},
      {"$\"a{x:.2f}b{$\"{y}\"}\"", "(do (interp \"a\" { x :.2f} \"b\" { (interp { y})}))"},
      {"let rec f x = g x and g y = f y in f",
       "(do (let rec ( f (fun ( x) (apply g x))) ( g (fun ( y) (apply f y))) f))"},
      {"[1; 2]", "1:3 expected `]`, found `;`"},
      {"f x <- 1", "1:1 this can't be assigned to"},
      {"M.x <- 1", "1:1 this can't be assigned to"},
      {"(x; y", "1:6 expected `)`, found the end of the input"},
      {"{x = 1, y: 2}", "1:10 expected `}`, found `:`"},
      {"$\"a {} b\"", "1:6 expected an expression, found the end of an interpolated string"},
  };
  RUN(f, cases);
}

static void test_patterns_and_types(Fixture *f) {
  static const Case cases[] = {
      {"match x with -1 | 2.5 | \"s\" | true | () as y -> 1",
       "(do (match x ( (as y (| (| (| (| -1 2.5) \"s\") true) ())) 1)))"},
      {"match x with a :: Some -2 :: _ -> 1", "(do (match x ( (:: (tuple a (:: (tuple (Some -2) _)))) 1)))"},
      {"let {w, b = (p : int), ..} = [a, _]", "1:34 expected an expression, found `_`"},
      {"let {w, b = (p : int), ..} = q", "(let ( (record w: w b: (: p int) ..) q))"},
      {"match x with [] -> 1 | [a, b] -> 2 | M.C (a, b) -> 3",
       "(do (match x ( (array) 1) ( (array a b) 2) ( (M.C (tuple a b)) 3)))"},
      {"match x with Node l r -> 1", "1:21 expected `->`, found `r`"},
      {"let f (x : 'a list[]) : int -> float * 'b = x",
       "(let ( f : (-> int (* float 'b)) (fun ( (: x (array (list 'a)))) x)))"},
      {"let x : (int, 'a) result = y", "(let ( x : (result int 'a) y))"},
      {"foreign \"m\" f : num 'a => ord 'b => 'a -> {x : M.t, y : 'b}",
       "(foreign \"m\" f ((num 'a) (ord 'b) -> 'a (record x: M.t y: 'b)))"},
      {"type ('a, 'b) t = | A | B of 'a * 'b and 'a u = 'a t[]",
       "(type (t 'a 'b | A | B (* 'a 'b)) (u 'a = (array (t 'a))))"},
      {"type t = M.t", "(type (t = M.t))"},
      {"type 'a l = Nil | (::) of 'a * 'a l", "(type (l 'a | Nil | :: (* 'a (l 'a))))"},
      {"type t = (int * int)", "(type (t = (* int int)))"},
      {"let x : (int, int) = y", "1:20 expected the name of a type that takes these arguments, found `=`"},
  };
  RUN(f, cases);
}

static void test_items(Fixture *f) {
  static const Case cases[] = {
      {"import \"m.atl\" as M\nopen M", "(import \"m.atl\" M)\n(open M)"},
      {"test \"n\" = a ~= b", "(test \"n\" (~= a b))"},
      {"test\nopen + 1\ntangent", "(do test)\n(do (+ open 1))\n(do tangent)"},
      {"pullback f x y = (x, y)", "(pullback f (fun ( x y) (tuple x y)))"},
      {"tangent f x dx = dx", "(tangent f (fun ( x dx) dx))"},
      {"let x = 1 in x; y", "(do (let ( x 1) (seq x y)))"},
      {"let (a, b) = p\nlet () = q", "(let ( (tuple a b) p))\n(let ( () q))"},
      {"let mut x = 1", "1:9 a `mut` variable is local to an expression"},
      {"let x = 1;;", "1:10 expected the end of the item, found `;`"},
      {"x : int", "1:3 expected the end of the item, found `:`"},
  };
  RUN(f, cases);
}

static void test_layout(Fixture *f) {
  static const Case cases[] = {
      {"let f x =\n  x\nf 1", "(let ( f (fun ( x) x)))\n(do (apply f 1))"},
      {"f\n(a)", "(do f)\n(do a)"},
      {"f\n[a]\n{x = 1}", "(do f)\n(do (array a))\n(do (record x: 1))"},
      {"a\n- b\n+ c\n|> d", "(do (|> (+ (- a b) c) d))"},
      {"let x = [\n  1,\n  2\n]\ny", "(let ( x (array 1 2)))\n(do y)"},
      {"let rec f x = g x\nand g x = f x", "(let rec ( f (fun ( x) (apply g x))) ( g (fun ( x) (apply f x))))"},
      {"if a\nthen b\nelse c", "(do (if a b c))"},
      {"let x = 1\nin x", "(do (let ( x 1) x))"},
      {"match x\nwith\n| A -> 1\n| B -> 2", "(do (match x ( A 1) ( B 2)))"},
      {"let f x =\n# far left\n  x (* here\ntoo *) y", "(let ( f (fun ( x) (apply x y))))"},
      {"", ""},
      {"# only\n(* comments *)", ""},
  };
  RUN(f, cases);
  Program *p = parse(f, "# One.\n# Two.\nlet x = 1\nlet y = 2");
  CHECK_STR(p->items.data[0]->doc, "One.\nTwo.");
  CHECK(p->items.data[1]->doc == NULL);
  arena_free(&f->arena);
}

static void test_recovery(Fixture *f) {
  Program *p = parse(f, "let x = 1\nlet f = (x + )\nlet y = 2\nlet g = [1; 2]\nlet h = (3\nlet z = 3");
  CHECK(f->diags.errors == 3 && p->items.len == 3 && !f->diags.incomplete);
  int line, column;
  span_position(&f->sources, f->diags.all.data[0].at, &line, &column);
  CHECK(line == 2 && column == 14);
  Diag *open = &f->diags.all.data[2];
  span_position(&f->sources, open->at, &line, &column);
  CHECK(line == 5 && column == 11 && open->also.start == open->at.start - 2);
  arena_free(&f->arena);
  static const char *const incomplete[] = {
      "let f x =", "(1 +",  "match x with", "if a then", "let x = 1 in", "[1, 2", "let f x =\n  let y = 1",
      "type t =",  "\"abc", "(* abc",       "$\"a {x",   "x |>"};
  for (size_t i = 0; i < sizeof incomplete / sizeof *incomplete; i++) {
    parse(f, incomplete[i]);
    CHECK(f->diags.errors == 1 && f->diags.incomplete);
    arena_free(&f->arena);
  }
  static const char *const complete[] = {"let x = 1",   "(1 + )",  "let x = (\nlet y = (",
                                         "if a then b", "let = 3", "f x"};
  for (size_t i = 0; i < sizeof complete / sizeof *complete; i++) {
    parse(f, complete[i]);
    CHECK(!f->diags.incomplete);
    arena_free(&f->arena);
  }
}

/* prefix, n times part, suffix */
static char *repeated(const char *prefix, const char *part, int n, const char *suffix) {
  size_t len = strlen(part);
  char *text = malloc(strlen(prefix) + len * (size_t)n + strlen(suffix) + 1);
  char *s = stpcpy(text, prefix);
  for (int i = 0; i < n; i++) s = stpcpy(s, part);
  strcpy(s, suffix);
  return text;
}

static int errors_of(Fixture *f, char *text) {
  Program *p = parse(f, text);
  Str out = {.arena = &f->arena};
  ast_print(p, &out);
  int errors = f->diags.errors;
  if (errors) CHECK_STR(f->diags.all.data[0].code, "nesting");
  CHECK(errors == 1 ? p->items.len == 0 : p->items.len == 1);
  arena_free(&f->arena);
  free(text);
  return errors;
}

static void test_long_chains(Fixture *f) {
  static const char *const chains[][3] = {{"let x = ", "1 :: ", "Nil"},
                                          {"let x = ", "a; ", "b"},
                                          {"let x = ", "1 + ", "b"},
                                          {"let x = ", "a ++ ", "b"},
                                          {"let x = ", "let a = 1 in\n ", "b"},
                                          {"let x = ", "if a then b else ", "c"},
                                          {"let x = f", " a", ""},
                                          {"let x = ", "fun x -> ", "x"},
                                          {"let x = ", "- ", "x"},
                                          {"let x : ", "int -> ", "int = 1"},
                                          {"match x with ", "1 | ", "2 -> 1"},
                                          {"match x with ", "a :: ", "b -> 1"},
                                          {"a", ".b", ""},
                                          {"a", "[1]", ""},
                                          {"let x : int", "[]", " = 1"},
                                          {"match x with ", "| A -> 1 ", ""},
                                          {"[", "1, ", "2]"},
                                          {"a ", "|> f ", ""}};
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
    CHECK(errors_of(f, repeated(chains[i][0], chains[i][1], 100000, chains[i][2])) == 0);
}

static void test_deep_nesting(Fixture *f) {
  static const char *const openers[] = {"(",
                                        "[",
                                        "{a = ",
                                        "f (fun x -> ",
                                        "if ",
                                        "let y = ",
                                        "match x with A -> ",
                                        "a[",
                                        "for i = 0 to 1 do ",
                                        "while ",
                                        "x |> fun x -> ",
                                        "[a | x in "};
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++)
    CHECK(errors_of(f, repeated("let x = ", openers[i], 1000000 / (int)strlen(openers[i]), "1")) == 1);
  CHECK(errors_of(f, repeated("let x : ", "(", 100000, "")) == 1);
  CHECK(errors_of(f, repeated("let x : ", "{a : ", 100000, "")) == 1);
  CHECK(errors_of(f, repeated("match x with ", "(", 100000, "")) == 1);
  CHECK(errors_of(f, repeated("match x with ", "{a = ", 100000, "")) == 1);
  char *inner = repeated("let x = ", "(", 1498, "1");
  CHECK(errors_of(f, repeated(inner, ")", 1498, "")) == 0);
  free(inner);
}

static void test_split(Fixture *f) {
  const char *text = "#!/bin/x\n\n# Doc.\nlet f x =\n  let rec a = 1 and b = 2 in\n# inner\n  \"\nlet no\" \n"
                     "let rec g x = 1\nand h y = [y | y in let z = 1 in y]\nlet (p, {q, r = s}) = t\n"
                     "type 'a t = A | (::) of {x : int} and u = M.C\n(* let c\nlet d = 1 *)\nforeign \"prim\" e : int\n"
                     "# rule\npullback f x = 1\nprint 1\nlet i = r\"\\\"\nlet a :: b = j\nimport \"x\" as X\nlet k=1";
  fixture_begin(f);
  uint32_t id = sources_add(&f->sources, "lib", text, strlen(text));
  ItemRange *items;
  int n = split_items(f->lx, &f->arena, &f->syms, sources_get(&f->sources, id), &items);
  Str out = {.arena = &f->arena};
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < items[i].nnames; k++) str_printf(&out, "%s ", items[i].names[k]);
    str_puts(&out, "; ");
  }
  CHECK_STR(out.data, "f ; g h ; p q s ; t A :: u ; e ; f ; ; i ; a b ; ; k ; ");
  Program *p = parse_range(f->lx, &f->arena, &f->syms, &f->diags, id, items[0].start, items[0].end);
  CHECK(f->diags.errors == 0 && p->items.len == 1);
  CHECK_STR(p->items.data[0]->doc, "Doc.");
  p = parse_range(f->lx, &f->arena, &f->syms, &f->diags, id, items[5].start, items[5].end);
  CHECK(f->diags.errors == 0 && p->items.len == 1 && p->items.data[0]->kind == I_PULLBACK);
  CHECK_STR(p->items.data[0]->doc, "rule");
  CHECK(items[n - 1].end == strlen(text));
  arena_free(&f->arena);
}

/* The text of the item that defines the name; "": none does. */
static const char *item_of(Fixture *f, uint32_t source, const ItemIndex *x, IndexSpace space, const char *name) {
  int i = index_find(x, space, name);
  if (i < 0) return "";
  const IndexItem *item = &x->items[i];
  return arena_strndup(&f->arena, sources_get(&f->sources, source)->text + item->start, item->end - item->start);
}

static void test_index(Fixture *f) {
  const char *text = "let b = 1\nforeign \"prim\" f : float -> float\npullback f x = 2\ntangent f x = 3\n"
                     "type b = A | _B\ntype _t = C\nlet _p = 4\nlet g = 5\nlet b = 6\npullback g x = 7\n";
  fixture_begin(f);
  uint32_t id = sources_add(&f->sources, "lib", text, strlen(text));
  const ItemIndex *x = index_items(f->lx, &f->arena, &f->syms, sources_get(&f->sources, id));
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, "f"),
            "foreign \"prim\" f : float -> float\npullback f x = 2\ntangent f x = 3\n");
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, "b"), "let b = 6\n"); /* the last one */
  CHECK_STR(item_of(f, id, x, INDEX_TYPE, "b"), "type b = A | _B\n");
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, "A"), "type b = A | _B\n");
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, "C"), "type _t = C\n");
  CHECK_STR(item_of(f, id, x, INDEX_RULE, "g"), "pullback g x = 7\n");
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, "g"), "let g = 5\n");
  CHECK_STR(item_of(f, id, x, INDEX_RULE, "f"), "");
  CHECK_STR(item_of(f, id, x, INDEX_TYPE, "A"), "");
  CHECK_STR(item_of(f, id, x, INDEX_VALUE, ""), "");
  Str exported = {.arena = &f->arena};
  for (int i = 0; i < x->nnames; i++)
    if (x->names[i].is_exported) str_printf(&exported, "%s ", x->pool + x->names[i].text);
  CHECK_STR(exported.data, "b f b A g b ");
  id = sources_add(&f->sources, "empty", "", 0);
  x = index_items(f->lx, &f->arena, &f->syms, sources_get(&f->sources, id));
  CHECK(x->nitems == 0 && index_find(x, INDEX_VALUE, "b") == -1);
  arena_free(&f->arena);
}

static void test_out_of_memory(Fixture *f) {
  for (volatile int64_t n = 1; n < 10000; n++) {
    jmp_buf env;
    f->heap.on_oom = &env;
    f->heap.fail_at = n;
    size_t before = f->heap.bytes;
    arena_init(&f->arena, &f->heap);
    volatile bool jumped = false;
    if (setjmp(env) == 0) tree(f, "let f x = {a = [x | i < 3], b = $\"{x:g}\"}\nlet y = (1 +");
    else jumped = true;
    arena_free(&f->arena);
    lexer_temp(f->lx);
    CHECK(f->heap.bytes == before);
    if (!jumped) break;
  }
  f->heap.fail_at = -1;
  f->heap.on_oom = NULL;
}

int main(void) {
  Fixture f;
  heap_init(&f.heap);
  f.lx = lexer_new(&f.heap, 0);
  test_operators(&f);
  test_expressions(&f);
  test_patterns_and_types(&f);
  test_items(&f);
  test_layout(&f);
  test_recovery(&f);
  test_long_chains(&f);
  test_deep_nesting(&f);
  test_split(&f);
  test_index(&f);
  test_out_of_memory(&f);
  lexer_free(f.lx);
  CHECK(f.heap.bytes == 0);
  return check_result();
}
