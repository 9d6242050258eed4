/* SPDX-License-Identifier: MIT */
/* What passes make of graphs. A file of tests/ir/PASS holds two texts (ir_print.c says how they read), what there is
 * before the pass and, behind a line `becomes`, what it makes of that; or, behind a line `stays`, nothing: the pass has
 * nothing to do there. Types and places that one text declares serve for both. The texts are compared as they are
 * printed, so numbers of nodes and the order of what doesn't depend on each other don't count.
 *
 * usage: test_passes FILE… */
#include "ad/ad.h"
#include "check.h"
#include "graph/graph.h"
#include "opt/opt.h"
#include <stdlib.h>
#include <string.h>

/* ---- Passes: the rows of passes.def, and parts of others --------------------------------------------------------- */
static Graph *simplify_with_rules(World *w, Graph *g, void *unused) {
  (void)unused;
  return opt_simplify(w, g);
}

static Graph *simplify_last(World *w, Graph *g) { return ir_without_rules(w, g, simplify_with_rules, NULL); }

/* Of programs without scalar functions, whose rules come from the library. */
static Graph *expand(World *w, Graph *g) {
  static Func *const no_rules[OP_COUNT];
  return ad_expand(w, g, no_rules);
}

static Graph *dense(World *w, Graph *g) {
  for (bool changed = true; changed;) g = opt_dense(w, g, 0, &changed);
  return g;
}

/* g cut in two stages, its last parameter late: what the first one makes and the second reads, and a call of that. */
static Graph *split_at(World *w, Graph *g, Known known) {
  int early = g->nparams - 1;
  Known *of = NEW_ARRAY(w->arena, Known, early + 1);
  for (int k = 0; k < early; k++) of[k] = known;
  Split s = ir_split(w, g, early, of);
  Func *late = ir_func(w, sym_of(w->syms, "late"), s.late->params, s.late->nparams, s.late->result->type);
  late->opaque = true; /* so the call stays one */
  ir_func_finish(w, late, s.late->result);
  Node **args = NEW_ARRAY(w->arena, Node *, s.late->nparams);
  for (int k = 0; k < g->nparams; k++) args[k] = ir_param(w, k, g->params[k]);
  for (int k = 0; k < s.nres; k++) args[g->nparams + k] = s.res[k];
  return ir_graph(w, g->params, g->nparams, ir_call(w, late, args, 0), g->name);
}

static Graph *split(World *w, Graph *g) { return split_at(w, g, KNOWN_NOT); }
static Graph *split_known(World *w, Graph *g) { return split_at(w, g, KNOWN_VALUE); }
static Graph *split_rounded(World *w, Graph *g) { return split_at(w, g, KNOWN_ROUNDED); }

typedef struct Pass {
  const char *name;
  Graph *(*plain)(World *w, Graph *g);
  Graph *(*given)(World *w, Graph *g, bool last);
  bool last; /* its folder has `_last` behind the name */
  Graph *(*round)(World *w, Graph *g, int round, bool *changed);
} Pass;

/* What isn't run as the pipeline does it comes first. */
#define PLAIN(f)    .plain = f
#define GIVEN(f, x) .given = f, .last = x
#define ROUND(f)    .round = f
static const Pass passes[] = {
    {"simplify_last", .plain = simplify_last}, {"split", .plain = split},   {"split_known", .plain = split_known},
    {"split_rounded", .plain = split_rounded}, {"expand", .plain = expand}, {"dense", .plain = dense},
    {"split_loops", .plain = opt_peel}, /* the same pass: of loops that peel.c leaves whole */
#define PASS(stage, name, call, needed_by, does) {#name, call},
#include "opt/passes.def"
};
#undef PASS

static Graph *run(World *w, const Pass *p, Graph *g) {
  bool changed;
  if (p->given) return p->given(w, g, p->last);
  return p->round ? p->round(w, g, 0, &changed) : p->plain(w, g);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */
/* Makes the lines from `from` to `to` empty, but for those of types and places. */
static void blank(char *from, const char *to) {
  while (from < to) {
    size_t n = strcspn(from, "\n");
    if (strncmp(from, "type ", 5) != 0 && strncmp(from, "site ", 5) != 0) memset(from, ' ', n);
    from += n + (from[n] == '\n');
  }
}

/* The graph of the text, if that is right. */
static Graph *read_graph(World *w, const char *path, const char *text) {
  const char *wrong;
  Graph *g = ir_read(w, text, &wrong);
  if (g) wrong = ir_verify(w, g);
  if (wrong) fprintf(stderr, "%s: %s\n", path, wrong);
  CHECK(!wrong);
  return wrong ? NULL : g;
}

static const char *print(World *w, const Graph *g) {
  Str out = {.arena = w->arena};
  ir_print(w, g, &out);
  return out.data;
}

static void compare(World *w, const char *path, const Graph *got, const Graph *want) {
  const char *text = print(w, got), *wanted = print(w, want);
  if (strcmp(text, wanted) != 0) fprintf(stderr, "%s\n--- got\n%s\n--- want\n%s\n", path, text, wanted);
  CHECK(strcmp(text, wanted) == 0);
}

static void run_pass(World *w, const char *path, int pass, const char *text) {
  char *before = arena_strndup(w->arena, text, strlen(text)), *after = arena_strndup(w->arena, text, strlen(text));
  char *becomes = strstr(before, "\nbecomes\n"), *stays = strstr(before, "\nstays\n");
  CHECK(!becomes != !stays);
  if (!becomes == !stays) return;
  char *line = (becomes ? becomes : stays) + 1;
  blank(line, before + strlen(before));
  blank(after, after + (line - before) + strlen(becomes ? "becomes\n" : "stays\n"));
  Graph *g = read_graph(w, path, before);
  if (!g) return;
  Graph *made = run(w, &passes[pass], g);
  const char *wrong = ir_verify(w, made);
  if (wrong) fprintf(stderr, "%s: after the pass: %s\n", path, wrong);
  CHECK(!wrong);
  const Graph *want = becomes ? read_graph(w, path, after) : g;
  if (want) compare(w, path, made, want);
}

/* By the file's folder. */
static int pass_of(const char *path) {
  for (int i = 0; i < (int)(sizeof passes / sizeof *passes); i++) {
    char folder[40];
    snprintf(folder, sizeof folder, "/ir/%s%s/", passes[i].name, passes[i].last ? "_last" : "");
    if (strstr(path, folder)) return i;
  }
  return -1;
}

static void test_file(const char *path) {
  static char text[1 << 16];
  Heap heap;
  Arena arena;
  SymTable syms;
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  int pass = pass_of(path);
  if (f) fclose(f);
  text[n] = 0;
  CHECK(n > 0 && pass >= 0);
  heap_init(&heap);
  arena_init(&arena, &heap);
  symtable_init(&syms, &arena);
  World *w = world_new(&arena, &syms, false, true);
  w->asserts_proofs = false; /* texts are those of ordinary builds */
  compilation_begin(w);
  if (n > 0 && pass >= 0) run_pass(w, path, pass, text);
  compilation_end(w);
  arena_free(&arena);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) test_file(argv[i]);
  return check_result();
}
