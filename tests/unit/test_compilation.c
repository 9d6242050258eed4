/* SPDX-License-Identifier: MIT */
/* What is under way while an entry is compiled ends with it: after an entry that failed, wherever it did, the world has
 * no compilation, and all that it, the checker and elaboration hold is what it was. */
#include "api/vm.h"
#include "check/check_internal.h"
#include "elab/elab_internal.h"
#include "ir/world.h"
#include "check.h"
#include <string.h>

/* All of a world but the numbers of walks, and what the stages before it remember. */
typedef struct Snapshot {
  char world[offsetof(World, walk)], tables[offsetof(Tables, pool_walk)], checker[sizeof(Checker)], elab[sizeof(Elab)];
} Snapshot;

static Snapshot look(const AtledVM *vm) {
  Snapshot s;
  memcpy(s.world, vm->world, sizeof s.world);
  memcpy(s.tables, vm->world->tables, sizeof s.tables);
  memcpy(s.checker, vm->checker, sizeof s.checker);
  memcpy(s.elab, vm->elab, sizeof s.elab);
  return s;
}

/* Of an entry with results the rest stands until the next one begins. */
static bool same(AtledVM *vm, const Snapshot *before) {
  CHECK(atled_eval(vm, "empty", "") == ATLED_OK);
  Snapshot now = look(vm);
  return memcmp(now.world, before->world, sizeof now.world) == 0 &&
         memcmp(now.tables, before->tables, sizeof now.tables) == 0 &&
         memcmp(now.checker, before->checker, sizeof now.checker) == 0 &&
         memcmp(now.elab, before->elab, sizeof now.elab) == 0;
}

static bool idle(const AtledVM *vm) { return !vm->world->compilation && !vm->world->temp; }

static AtledVM *open_vm(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  return atled_new(&config);
}

static const char *const definitions = "let rec pow x n = if n = 0 then 1.0 else x * pow x (n - 1)\n"
                                       "let fs = [ (fun x -> x * float i) | i < 3 ]\n";

/* It goes through inlining, specialisation, unrolling, derivatives of unknown functions, and rules. */
static const char *const works = "grad (fun x -> fold (fun s f -> s + f (sin x) * tanh s) (pow x 5) fs) 0.5\n"
                                 "grad (grad (fun x -> exp (x * pow x 3))) 1.1\n";

static const struct {
  const char *source;
  AtledStatus status;
} failing[] = {
    {"let f x = (x + \n", ATLED_INCOMPLETE},
    {"let f x = x + \"a\" * 2.0\n", ATLED_COMPILE_ERROR},
    {"let rec f x n = if n = 0 then 0 else f (x, x) (n - 1)\nf 1 2\n", ATLED_COMPILE_ERROR},
    {"let f g (x : float) = g x\npullback f g x = (f g x, fun d -> (g, d))\n"
     "let noisy (x : float) = print x; x\nf noisy (pow 1.0 3)\n",
     ATLED_COMPILE_ERROR},
    {"grad (fun x -> fold (fun s f -> s + f x) (pow x 4) fs * [x][3]) 0.5\n", ATLED_RUNTIME_ERROR},
    {"fail \"no\"\n", ATLED_RUNTIME_ERROR},
};

static void errors_leave_nothing(void) {
  AtledVM *vm = open_vm();
  CHECK(atled_eval(vm, "a", definitions) == ATLED_OK);
  Snapshot before = look(vm);
  for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
    CHECK(atled_eval(vm, "b", failing[i].source) == failing[i].status);
    CHECK(idle(vm) && same(vm, &before));
  }
  atled_interrupt(vm);
  CHECK(atled_eval(vm, "c", works) == ATLED_RUNTIME_ERROR);
  atled_clear_interrupt(vm);
  CHECK(idle(vm) && same(vm, &before));
  CHECK(atled_eval(vm, "d", works) == ATLED_OK && idle(vm));
  atled_free(vm);
}

/* Wherever memory runs out, and in an entry with a mark of its own, too. */
static void running_out_leaves_nothing(const char *source) {
  AtledVM *vm = open_vm();
  CHECK(atled_eval(vm, "a", definitions) == ATLED_OK);
  Snapshot before = look(vm);
  int failed = 0;
  for (int n = 1;; n += 1 + n / 16) {
    atled_fail_allocation(vm, n);
    if (atled_eval(vm, "b", source) != ATLED_NO_MEMORY) break;
    atled_fail_allocation(vm, 0);
    failed++;
    CHECK(idle(vm) && same(vm, &before));
  }
  atled_fail_allocation(vm, 0);
  CHECK(failed > 20 && idle(vm));
  atled_free(vm);
}

/* What holds for a part of a compilation is put back by the function that runs the part. */
static Graph *asks(World *w, Graph *g, void *unused) {
  (void)unused;
  CHECK(compilation(w)->inline_rules);
  return g;
}

static Node *is_renewed(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  const Compilation *c = compilation(user);
  CHECK(c->rewriter == r && c->renormalise);
  return frame || !ops || !graphs ? NULL : n;
}

static void parts_put_back(void) {
  Heap heap;
  Arena arena;
  SymTable syms;
  heap_init(&heap);
  arena_init(&arena, &heap);
  symtable_init(&syms, &arena);
  World *w = world_new(&arena, &syms, false, false);
  compilation_begin(w);
  Graph *g = ir_graph(w, NULL, 0, ir_float(w, 1.5), NULL);
  CHECK(ir_without_rules(w, g, asks, NULL) == g && !compilation(w)->inline_rules);
  CHECK(ir_rewrite(w, g, (RewritePass){.user = w, .node = is_renewed, .renormalise = true}) == g);
  CHECK(!compilation(w)->rewriter && !compilation(w)->renormalise);
  const Compilation *outer = compilation(w);
  compilation_begin(w);
  CHECK(compilation(w) != outer && w->temp == &compilation(w)->arena);
  compilation_end(w);
  CHECK(compilation(w) == outer && w->temp == &outer->arena);
  compilation_end(w);
  compilation_end(w);
  CHECK(!compilation(w) && !w->temp);
  arena_free(&arena);
  CHECK(heap.bytes == 0);
}

/* A derivative that takes too many nodes is rolled back by itself (opt.c). The names that it interned go, and the table
 * of symbols is the one that was there before, also if it had grown. */
static void symbols_are_rolled_back(void) {
  AtledVM *vm = open_vm();
  SymTable before = vm->syms;
  arena_mark(&vm->arena);
  world_save(vm->world);
  char name[32];
  for (size_t i = 0; i <= before.cap; i++) {
    snprintf(name, sizeof name, "symbol %zu", i);
    sym_of(&vm->syms, name);
  }
  CHECK(vm->syms.cap > before.cap);
  arena_roll_back(&vm->arena);
  CHECK(vm->syms.slots == before.slots && vm->syms.count == before.count && vm->syms.cap == before.cap);
  atled_free(vm);
}

int main(void) {
  symbols_are_rolled_back();
  errors_leave_nothing();
  running_out_leaves_nothing(works);
  running_out_leaves_nothing("let y = grad (fun x -> sin (pow x 4)) 0.5\n");
  parts_put_back();
  return check_result();
}
