/* SPDX-License-Identifier: MIT */
/* What the VM wants to know of the optimiser's runs (opt/passes.h): their time, the graphs after one of them, and, in
 * builds for testing, whether each leaves a well-formed graph. Nobody watches where none of it is wanted. */
#include "api/pipeline.h"
#include "api/settings.h"
#include <stdio.h>
#include <string.h>

/* The first complaint is kept: later ones follow from it. */
static void verify_run(Watched *v, World *w, int run, Graph *g) {
  const char *wrong = v->verify && !v->wrong[0] ? ir_verify(w, g) : NULL;
  if (!wrong) return;
  char name[32];
  passes_name(run, name);
  snprintf(v->wrong, sizeof v->wrong, "after %s: %s", name, wrong);
}

static void after_run(void *user, World *w, int run, Graph *g) {
  Watched *v = user;
  verify_run(v, w, run, g);
  if (v->graphs && run == v->shown) map_put(v->graphs, v->watch.entry, g);
}

void watch_begin(AtledVM *vm) {
  Watched *v = &vm->watched;
  *v = (Watched){.watch = {.left = -1, .timed = vm->config.phases, .after = after_run, .user = v}, .shown = -1};
  bool chosen = settings_passes(&v->watch);
#ifdef ATLED_VERIFY
  v->verify = true;
#endif
  if (v->verify || v->watch.timed || chosen) vm->world->watch = &v->watch;
}

void watch_show(AtledVM *vm, int run) {
  Watched *v = &vm->watched;
  v->shown = run;
  v->graphs = NEW(&vm->scratch, Map);
  map_init(v->graphs, &vm->scratch);
  v->before = vm->world->watch;
  vm->world->watch = &v->watch;
}

Graph *watch_shown(const AtledVM *vm, const OptStages *s) {
  return vm->watched.graphs ? map_get(vm->watched.graphs, s) : NULL;
}

void watch_end_show(AtledVM *vm) {
  Watched *v = &vm->watched;
  if (v->graphs) vm->world->watch = v->before;
  v->shown = -1;
  v->graphs = NULL;
}
