/* SPDX-License-Identifier: MIT */
/* The text form of graphs. Each graph of each stage of the programs given is printed; what a world that knows nothing
 * of it reads from the text is sound and prints as the same text. Wrong texts are refused with their place, and
 * whatever a text is cut down or changed to, it is read to an end.
 *
 * usage: test_ir_text PROGRAM… */
#include "check.h"
#include "corpus.h"
#include <stdlib.h>
#include <string.h>

static Heap heap;

typedef struct Reading {
  Arena arena;
  SymTable syms;
  World *w;
  const char *wrong; /* NULL: nothing */
  Graph *g;
} Reading;

/* What is read from a text in a new world, and verified. */
static Reading *read_text(const char *text) {
  Reading *r = malloc(sizeof *r);
  arena_init(&r->arena, &heap);
  symtable_init(&r->syms, &r->arena);
  r->w = world_new(&r->arena, &r->syms, false, false);
  compilation_begin(r->w);
  r->g = ir_read(r->w, text, &r->wrong);
  if (r->g) r->wrong = ir_verify(r->w, r->g);
  return r;
}

static const char *print(Reading *r) {
  Str out = {.arena = &r->arena};
  ir_print(r->w, r->g, &out);
  return out.data;
}

static void forget(Reading *r) {
  compilation_end(r->w);
  arena_free(&r->arena);
  free(r);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static void there_and_back(AtledVM *vm, const char *path, const Graph *g) {
  Str text = {.arena = &vm->scratch};
  ir_print(vm->world, g, &text);
  Reading *r = read_text(text.data);
  CHECK_STR(r->wrong ? r->wrong : "fine", "fine");
  if (!r->wrong) {
    bool same = strcmp(print(r), text.data) == 0;
    if (!same) fprintf(stderr, "%s: another graph is read\n--- from\n%s\n--- as\n%s\n", path, text.data, print(r));
    CHECK(same);
  }
  forget(r);
}

static AtledStatus each_stage(AtledVM *vm, void *arg) {
  const Piece *p = arg;
  Plan plan;
  AtledStatus status = plan_front(vm, p->path, p->text, p->n, &plan);
  if (status == ATLED_OK) status = plan_elaborate(vm, &plan, true);
  OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan.steps.len + 1);
  if (status == ATLED_OK) status = plan_optimise(vm, &plan, stages);
  for (int i = 0; status == ATLED_OK && i < plan.steps.len; i++) {
    const OptStages *s = &stages[i];
    there_and_back(vm, p->path, s->built);
    there_and_back(vm, p->path, s->optimised);
    there_and_back(vm, p->path, s->differentiated);
    there_and_back(vm, p->path, s->final);
  }
  return status;
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */
/* Some of all that there is, as it is printed. */
static const char everything[] = "graph all(p0 : float[], p1 : int, p2 : (int -> float), p3 : (int list), p4 : "
                                 "(string, int) \"the map\") identity=1\n"
                                 "  %1 : int = check_nat \"a size\" p1 @1\n"
                                 "  %2 : int = call f %1\n"
                                 "  %3 : int = len 0 p0 @1\n"
                                 "  %4 : (float * float[] * int) = loop accs 1 sliced 1 stacked 1 %3 -0.0 p0 0.1 @2\n"
                                 "    graph body(p0 : int, p1 : float, p2 : float, p3 : float)\n"
                                 "      %1 : float = * p2 p3\n"
                                 "      %2 : float = trap_nan \"*\" %1 p2 p3 @3\n"
                                 "      %3 : float = +. p1 %2\n"
                                 "      %4 : (float * float) = tuple %3 nan:7ff8000000000001\n"
                                 "      return %4\n"
                                 "  %5 : float = get 0 %4\n"
                                 "  %6 : float = switch %2 %5\n"
                                 "    graph (p0 : float)\n"
                                 "      return p0\n"
                                 "    graph \"+\"(p0 : float)\n"
                                 "      %1 : float = fail match \"no case\" @4\n"
                                 "      return %1\n"
                                 "  %7 : {b : bool, \"int\" : {x : float bag}} = global \"a global\"\n"
                                 "  %8 : string = rt show <{b : bool, \"int\" : {x : float bag}}> %7\n"
                                 "  %9 : float = after wait %6 %8\n"
                                 "  %10 : string[][] = data 1x2: _ _ \"a\\\"\\x0a\" \"\"\n"
                                 "  %11 : (int * float)[] = data 2: 1 1.0 2 -inf\n"
                                 "  %12 : (float * string[][] * (int * float)[]) = tuple %9 %10 %11\n"
                                 "  %13 : int = bytes %8\n"
                                 "  %14 : int = byte %8 %3\n"
                                 "  %15 : ((float * string[][] * (int * float)[]) * int * int) = tuple %12 %13 %14\n"
                                 "  return %15\n"
                                 "\n"
                                 "function f recursive pullback f~2 tangent _ : (int) -> int\n"
                                 "graph f(p0 : int)\n"
                                 "  %1 : int = call f p0 @2\n"
                                 "  return %1\n"
                                 "\n"
                                 "function f~2 foreign \"m\" \"sin\" : (float) -> float\n"
                                 "\n"
                                 "function _ : (tree', tree list~2) -> (unit =>! (tree -> tree) env)\n"
                                 "\n"
                                 "type int list = Nil | Cons cons of (int * int list)\n"
                                 "type (string, int) \"the map\" = \"Empty tree\"\n"
                                 "type tree' = accumulator of tree\n"
                                 "type tree = once Leaf of float | Node of (tree * tree[])\n"
                                 "type tree list~2 = Other\n"
                                 "site 1 = 1:7-9 in all definition 1\n"
                                 "site 2 = 2:100-200 definition 2 from @1\n"
                                 "site 3 = 1:0-4 in \"+\"\n"
                                 "site 4 = 1:0-5 in \"+\"\n";

static void test_everything(void) {
  Reading *r = read_text(everything);
  CHECK_STR(r->wrong ? r->wrong : "fine", "fine");
  if (r->g) CHECK_STR(print(r), everything);
  forget(r);
}

/* What nobody refers to, comments, and the order of rows are no part of it. */
static void test_free_form(void) {
  Reading *r = read_text("# the identity, and\n"
                         "graph(p0 : t)\n"
                         "# a comment\n"
                         "\n"
                         "  %7 : unit  =  check true \"never\" @9\n"
                         "  %3 : t = after p0 %7\n"
                         "  return %3\n"
                         "type t = A\n"
                         "function unused : (t) -> t\n");
  CHECK_STR(r->wrong ? r->wrong : "fine", "fine");
  if (r->g)
    CHECK_STR(print(r), "graph (p0 : t)\n"
                        "  %1 : unit = check true \"never\" @1\n"
                        "  %2 : t = after p0 %1\n"
                        "  return %2\n"
                        "\n"
                        "type t = A\n"
                        "site 1 = 1:9-9 definition 1\n");
  forget(r);
}

#define HEAD "graph (p0 : int)\n"
#define END  "  return p0\n"
static void test_wrong_texts(void) {
  static const struct {
    const char *text, *wrong;
  } texts[] = {
      {"", "line 1:1: expected a graph"},
      {"grape ()\n", "line 1:1: expected site"},
      {HEAD "  %1 : int = +j p0 1\n" END, "line 2:14: no operation +j"},
      {HEAD "  %1 : int = param\n" END, "line 2:14: no operation param"},
      {HEAD "  %1 : int = +i p0 p1\n" END, "line 2:21: there is no parameter 1"},
      {HEAD "  %1 : int = +i p0 %2\n" END, "line 2:21: there is no node 2 before this one"},
      {HEAD "  %1 : int = +i p0 *\n" END, "line 2:20: expected an operand"},
      {HEAD "  %1 : int = +i p0 1\n  %1 : int = +i p0 2\n" END, "line 3:4: another number expected"},
      {HEAD, "line 2:1: expected return"},
      {HEAD "  return p0 p0\n", "line 2:13: the end of the line expected"},
      {HEAD END END, "line 3:3: expected a row, without indentation"},
      {HEAD END HEAD END, "line 3:1: a second graph"},
      {"graph (p0 : tree)\n" END, "line 1:13: type tree isn't declared"},
      {"graph (p1 : int)\n" END, "line 1:8: expected p0"},
      {"graph (p0 : int\n" END, "line 1:16: expected ,"},
      {HEAD END "type int = A\n", "line 3:6: this type needs no declaration"},
      {HEAD END "type t = A of\n", "line 3:14: expected a name"},
      {HEAD "  %1 : int = call g p0\n" END, "line 2:19: there is no such function"},
      {HEAD END "function g : (int) -> int\n" HEAD "  return 1.5\n",
       "line 5:13: the graph isn't of its function's type"},
      {HEAD END "function g pullback g : (int) -> int\n", "line 3:21: a function that is a rule of itself"},
      {HEAD "  %1 : int[] = data 3: 1 2\n" END, "line 2:27: expected a number"},
      {HEAD "  %1 : int[] = data 99999999999: 1\n" END, "line 2:21: no such constant array can be"},
      {HEAD "  %1 : int = check_nat p0 @1\n" END "site 1 = 1:2-3 from @1\n",
       "line 4:22: a place that was inlined at itself"},
      {HEAD "  %1 : int = check_nat \"n p0\n" END, "line 2:24: a text without end"},
      {HEAD "  %1 : int = rt no_such p0\n" END, "line 2:17: no such primitive"},
      {HEAD "  %1 : float = +i p0 1\n  return %1\n", "node +i: its value has another type"},
      {HEAD "  %1 : float = trap_nan \"/\"\n  return %1\n", "node trap_nan: a trap of nothing"},
      {HEAD "  %1 : float = trap_inf \"/\" 0.5 p0\n  return %1\n", "node trap_inf: a trap of what is no float"},
      {HEAD "  %1 : (int * int) = loop carried 1 p0 p0\n  return %1\n", "node loop: another number of nested graphs"},
      {HEAD "  %1 : int = get 1 p0\n  return %1\n", "node get: get of no tuple"},
      {HEAD "  %1 : int = switch p0 p0\n    graph (p0 : float)\n      return 1\n  return %1\n",
       "node switch: capture has another type"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    Reading *r = read_text(texts[i].text);
    char found[100] = "fine";
    if (r->wrong) snprintf(found, sizeof found, "%.*s", (int)strcspn(r->wrong, "\n"), r->wrong);
    found[strcspn(found, "\n")] = 0;
    if (strstr(found, " in") == found + strlen(found) - 3) found[strlen(found) - 3] = 0; /* and then the graph */
    CHECK_STR(found, texts[i].wrong);
    forget(r);
  }
}

/* Whatever a text is cut down or changed to, it is read to an end, and what is sound can be printed. */
static void test_damaged_texts(void) {
  char text[sizeof everything];
  for (size_t n = 0; n < sizeof everything - 1; n++)
    for (int how = 0; how < 3; how++) {
      memcpy(text, everything, sizeof text);
      text[n] = how == 0 ? 0 : how == 1 ? text[n] ^ 1 : ' ';
      Reading *r = read_text(text);
      CHECK(r->wrong || print(r));
      forget(r);
    }
}

int main(int argc, char **argv) {
  heap_init(&heap);
  test_everything();
  test_free_form();
  test_wrong_texts();
  test_damaged_texts();
  int read = 0;
  for (int i = 1; i < argc; i++) read += each_program(argv[i], each_stage);
  printf("%d of %d files\n", read, argc - 1);
  CHECK(read >= (argc - 1) * 9 / 10); /* some are wrong on purpose */
  CHECK(heap.bytes == 0);
  return check_result();
}
