/* SPDX-License-Identifier: MIT */
/* Tests of src/types: the types of small programs as printed, their
 * diagnostics as `line code`, the annotations elaboration relies on, and, when
 * given directories of programs as arguments, that those type-check.
 *
 * The prelude here is signatures only: the checker never looks at values. */
#include "check.h"
#include "parser/parser.h"
#include "types/types.h"
#include <stdlib.h>
#include <string.h>

static const char prelude_text[] =
    "type 'a list = Nil | (::) of 'a * 'a list\n"
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
    "foreign \"prim\" float : scalar 'a => 'a -> float\n"
    "foreign \"prim\" int : scalar 'a => 'a -> int\n"
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
    "foreign \"prim\" reduce : ('a -> 'a -> 'a) -> 'a -> 'a[] -> 'a\n"
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
    "foreign \"prim\" par : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b\n"
    "foreign \"prim\" pmap : ('a -> 'b) -> 'a[] -> 'b[]\n"
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
static const char regex_text[] =
    "type matched = {text : string, start : int, groups : string[]}\n"
    "foreign \"prim\" test : string -> string -> bool\n"
    "foreign \"prim\" find : string -> string -> matched option\n"
    "foreign \"prim\" find_all : string -> string -> matched[]\n"
    "foreign \"prim\" replace : string -> string -> string -> string\n";
static const char csv_text[] = "foreign \"prim!\" numbers : string -> float[][]\n";

/* ---- A checker over these modules ---------------------------------------------------- */
typedef struct World {
  Heap heap;
  Arena arena;
  jmp_buf oom;
  SymTable syms;
  Sources sources;
  Diags diags;
  Lexer *lx;
  Checker *c;
  const char *directory; /* for imports */
  Module *libraries[4];
} World;

static Program *parse(World *w, const char *name, const char *text) {
  return parse_program(w->lx, &w->arena, &w->syms, &w->diags, sources_add(&w->sources, name, text, strlen(text)));
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
  char *text = w->directory ? read_text(&w->arena, arena_printf(&w->arena, "%s/%s", w->directory, path)) : NULL;
  if (!text) {
    diag_error(&w->diags, at, "no-file", "there is no file %s", path);
    return NULL;
  }
  Module *m = checker_new_module(w->c, path, path, 0);
  return check_program(w->c, m, parse(w, path, text), &w->diags, false) ? m : NULL;
}

static Module *library(void *user, Sym name) {
  World *w = user;
  static const char *const names[] = {"List", "Str", "Regex", "Csv"};
  static const char *const texts[] = {list_text, str_text, regex_text, csv_text};
  for (int i = 0; i < 4; i++) {
    if (strcmp(name, names[i])) continue;
    if (!w->libraries[i])
      w->libraries[i] = checker_lazy_module(w->c, w->lx, name, sources_add(&w->sources, name, texts[i], strlen(texts[i])));
    return w->libraries[i];
  }
  return NULL;
}

static void world_init(World *w) {
  memset(w, 0, sizeof *w);
  heap_init(&w->heap);
  w->heap.on_oom = &w->oom;
  arena_init(&w->arena, &w->heap);
  symtable_init(&w->syms, &w->arena);
  sources_init(&w->sources, &w->arena);
  diags_init(&w->diags, &w->arena, &w->sources);
  w->lx = lexer_new(&w->heap);
  w->c = checker_new(&w->arena, &w->syms, &w->sources, (ModuleLoader){w, import, library});
  uint32_t source = sources_add(&w->sources, "prelude", prelude_text, strlen(prelude_text));
  checker_set_prelude(w->c, checker_lazy_module(w->c, w->lx, NULL, source));
}

static void world_free(World *w) {
  lexer_free(w->lx);
  arena_free(&w->arena);
  CHECK(w->heap.bytes == 0);
}

static void add_diags(World *w, Str *out) {
  for (int i = 0; i < w->diags.all.len; i++) {
    const Diag *d = &w->diags.all.data[i];
    int line, column;
    span_position(&w->sources, d->at, &line, &column);
    str_printf(out, "%d %s\n", line, d->code);
    if (getenv("VERBOSE")) {
      Str text = {.arena = &w->arena};
      diag_render(d, &w->sources, false, &text);
      fputs(text.data, stderr);
    }
  }
}

/* What the checker says of a program: its types, or its diagnostics. */
static const char *result_of(World *w, const char *text) {
  Module *m = checker_new_module(w->c, NULL, NULL, 0);
  Program *p = parse(w, "test", text);
  Str out = {.arena = &w->arena};
  bool ok = check_program(w->c, m, p, &w->diags, false);
  CHECK(ok == !w->diags.errors);
  add_diags(w, &out);
  if (!w->diags.errors) typed_print(m, p, &out);
  return out.data ? out.data : "";
}

__attribute__((unused)) static void expect_result(const char *text, const char *want) {
  World w;
  world_init(&w);
  const char *got = result_of(&w, text);
  if (strcmp(got, want)) fprintf(stderr, "--- program\n%s\n", text);
  CHECK_STR(got, want);
  world_free(&w);
}

/* ---- Whole programs ------------------------------------------------------------------- */
/* A program with `# expect: error N` and a compile-time error must have it in line N; others must have none. */
static void check_file(const char *path) {
  World w;
  world_init(&w);
  char *text = read_text(&w.arena, path);
  CHECK(text != NULL);
  if (text) {
    w.directory = arena_strndup(&w.arena, path, strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) : 0);
    const char *expected = strstr(text, "# expect: error ");
    result_of(&w, text);
    if (w.diags.errors) {
      Str out = {.arena = &w.arena};
      int line, column;
      Diag *d = &w.diags.all.data[0];
      span_position(&w.sources, d->at, &line, &column);
      if (!expected || atoi(expected + 16) != line) {
        check_failures++;
        diag_render(d, &w.sources, false, &out);
        fprintf(stderr, "%s:\n%s", path, out.data);
      } else {
        diag_render(d, &w.sources, false, &out);
        printf("%s", out.data);
      }
    } else if (expected) {
      printf("%s: no error before it runs\n", path);
    }
  }
  world_free(&w);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) check_file(argv[i]);
  return check_result();
}
