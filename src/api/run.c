/* SPDX-License-Identifier: MIT */
/* Lowered modules at run time: globals, units, and how they are run.
 *
 * In mode `always` all of a module is compiled before something of it runs. In mode `auto` it is evaluated, and
 * tiers.c has machine code made of what is hot. */
#include "api/settings.h"
#include "lir/image.h"
#include <stdlib.h>
#include <string.h>

/* ---- Globals ------------------------------------------------------------------ */
Slot *run_global(void *user, int index) {
  AtledVM *vm = user;
  while (vm->globals.len <= index) vec_push(&vm->arena, vm->globals, NULL);
  Global *g = vm->globals.data[index];
  if (!g) {
    g = NEW(&vm->arena, Global);
    g->desc = lower_desc(vm->world, vm->world->globals.data[index].type);
    g->slots = NEW_ARRAY(&vm->arena, Slot, g->desc->nslots + 1);
    vm->globals.data[index] = g;
  }
  return g->slots;
}

/* Facts of a value's arrays, from the slots on; the facts after them. */
static int64_t *learn_dims(const Desc *d, const Slot *s, int64_t *facts) {
  if (d->kind == D_INT || d->kind == D_BOOL) return facts + 1;
  const ArrayObj *a = d->kind == D_ARRAY ? (const ArrayObj *)s->p : NULL;
  if (a) memcpy(facts, a->dims, sizeof *facts * (size_t)d->rank);
  if (d->kind == D_ARRAY) return facts + d->rank;
  for (int k = 0; d->kind == D_TUPLE && k < d->n; s += d->args[k]->nslots, k++)
    facts = learn_dims(d->args[k], s, facts);
  return facts;
}

void run_learn_dims(AtledVM *vm, int global) {
  int64_t *facts = ir_global_facts(vm->world, global);
  const Global *g = vm->globals.data[global];
  if (facts) learn_dims(g->desc, g->slots, facts);
}

void run_release_slots(AtledVM *vm, const Desc *desc, Slot *slots) {
  for (int i = 0; i < desc->nslots; i++) {
    if (desc->slots[i] != SLOT_PTR) continue;
    rt_release(&vm->rt, slots[i].p);
    slots[i].p = NULL;
  }
}

void run_drop_result(AtledVM *vm, Result *r) {
  if (r->owned) run_release_slots(vm, r->desc, r->owned);
  r->owned = NULL;
}

void run_drop_results(AtledVM *vm) {
  for (int i = 0; i < vm->results.len; i++) run_drop_result(vm, &vm->results.data[i]);
  memset(&vm->results, 0, sizeof vm->results);
}

/* ---- Units ----------------------------------------------------------------------- */
/* Copies the module's source places into one block that the unit owns, with the names of their functions behind them.
 * The numbers by which errors name the places go on from those of the unit before. */
static void keep_sites(AtledVM *vm, Unit *u, const LSite *sites, int n) {
  size_t size = sizeof *sites * (size_t)n;
  for (int k = 0; k < n; k++) size += sites[k].function ? strlen(sites[k].function) + 1 : 0;
  u->sites = heap_realloc(&vm->heap, NULL, 0, size);
  if (!u->sites) heap_out_of_memory(&vm->heap);
  u->sites_size = size;
  u->nsites = n;
  memcpy(u->sites, sites, sizeof *sites * (size_t)n);
  char *name = (char *)(u->sites + n);
  for (int k = 0; k < n; k++) {
    if (!sites[k].function) continue;
    u->sites[k].function = strcpy(name, sites[k].function);
    name += strlen(name) + 1;
  }
}

const Unit *run_unit_of_site(const AtledVM *vm, uint32_t site, uint32_t *number) {
  for (const Unit *u = vm->units; u && site; u = u->next) {
    *number = u->mod ? site - u->mod->site_base : 0;
    if (*number > 0 && *number < (uint32_t)u->nsites) return u;
  }
  return NULL;
}

Unit *run_unit_of(const AtledVM *vm, const Mod *m) {
  Unit *u = vm->units;
  while (u && u->mod != m) u = u->next;
  return u;
}

/* The text in a register that is set to one alone. */
static const char *text_in_register(const LModule *m, const LFunc *f, int reg) {
  for (int k = 0; k < f->ncode; k++)
    if (f->code[k].op == LOP_STRING && f->code[k].dst == reg) return m->strings[f->code[k].imm.i].text;
  return "this has no derivative";
}

/* Whether no derivative is taken of what can have none (FAIL_EFFECT): each such place is reported, once. */
static bool all_derivable(AtledVM *vm, const Unit *u, const LModule *m) {
  bool *reported = NEW_ARRAY(&vm->lowering, bool, m->nsites + 1), fine = true;
  for (int f = 0; f < m->nfuncs; f++)
    for (int k = 0; k < m->funcs[f]->ncode; k++) {
      const LInstr *i = &m->funcs[f]->code[k];
      if (i->op != LOP_FAIL || i->imm.i != ERR_EFFECT || reported[i->site]) continue;
      reported[i->site] = true;
      fine = false;
      report_underivable(vm, u, i->site, text_in_register(m, m->funcs[f], i->a));
    }
  return fine;
}

/* Lowers the entries to an image, from which the unit is made: so what lowering needs goes at once. */
static bool lower(AtledVM *vm, LowerEntry *entries, int n, Unit *u, Str *image) {
  const LModule *m = lower_module(vm->world, &vm->lowering, entries, n);
#ifdef ATLED_VERIFY
  const char *wrong = lir_verify(m);
  if (!wrong) { /* what runs is what the text of the code says */
    Str text = {.arena = &vm->lowering};
    lir_print(m, &text);
    m = lir_read(&vm->lowering, text.data);
    wrong = m->error;
  }
  if (wrong) {
    report_error(vm, ATLED_COMPILE_ERROR, "verifier", "lowered code: %s", wrong);
    return false;
  }
#endif
  if (m->error) {
    report_error(vm, ATLED_COMPILE_ERROR, "too-large", "this program can't be compiled: %s", m->error);
    return false;
  }
  image_write(m, image);
  keep_sites(vm, u, m->sites, m->nsites);
  return all_derivable(vm, u, m);
}

/* A unit without code, among those of the VM: whatever happens, it is freed with them. */
static Unit *new_unit(AtledVM *vm) {
  Unit *u = heap_realloc(&vm->heap, NULL, 0, sizeof *u);
  if (!u) heap_out_of_memory(&vm->heap);
  *u = (Unit){.number = ++vm->last_unit, .next = vm->units};
  return vm->units = u;
}

/* Of the code's functions of floats; false: they aren't there, which has been reported. */
static bool open_functions(AtledVM *vm, const LModule *code) {
  char why[512];
  if (!lir_calls_functions(code) || functions_open(&vm->functions, why, sizeof why)) return true;
  report_error(vm, ATLED_COMPILE_ERROR, "no-sleef", "%s", why);
  return false;
}

/* Makes the unit runnable: all globals of its code are there. */
static bool make_ready(AtledVM *vm, Unit *u) {
  if (!open_functions(vm, u->code)) return false;
  for (int k = 0; k < u->code->nglobals; k++) run_global(vm, u->code->globals[k]);
  u->mod = mod_new(&vm->rt, u->code, run_global, vm);
  if (!u->mod) heap_out_of_memory(&vm->heap);
  for (const Unit *before = u->next; before && !u->mod->site_base; before = before->next)
    if (before->mod) u->mod->site_base = before->mod->site_base + (uint32_t)before->nsites;
  return true;
}

Unit *run_unit_of_image(AtledVM *vm, const void *image, size_t n) {
  Unit *u = new_unit(vm);
  const char *why;
  u->code = image_load(&vm->heap, image, n, &why);
  if (!u->code && !why) heap_out_of_memory(&vm->heap);
  if (u->code) return u;
  run_unit_free(vm, u);
  return NULL;
}

bool run_unit_begin(AtledVM *vm, Unit *u, const LSite *sites, int nsites) {
  keep_sites(vm, u, sites, nsites);
  return make_ready(vm, u);
}

Unit *run_unit(AtledVM *vm, LowerEntry *entries, int n) {
  Str image = {.arena = &vm->lowering};
  Unit *u = new_unit(vm);
  const char *why;
  Phase phase = phase_enter(&vm->heap, PHASE_LOWER);
  bool fine = lower(vm, entries, n, u, &image);
  if (fine) {
    u->code = image_load(&vm->heap, image.data, image.len, &why);
    if (!u->code) heap_out_of_memory(&vm->heap);
    for (int k = 0; k < n; k++) entries[k].func = u->code->funcs[entries[k].func->index];
  }
  arena_free(&vm->lowering);
  phase_leave(&vm->heap, phase);
  return fine && make_ready(vm, u) ? u : NULL;
}

/* ---- Places as values ------------------------------------------------------------ */
/* "file:line:column", "" if all of it is the library's. NULL: out of memory. */
static char *write_place(AtledVM *vm, const Unit *u, uint32_t number) {
  char text[1024] = "";
  for (; number && !*text; number = u->sites[number].parent) {
    Span at = u->sites[number].at;
    const Source *source = at.source ? sources_get(&vm->sources, at.source) : NULL;
    if (!source || source->library) continue;
    int line, column;
    span_position(&vm->sources, at, &line, &column);
    snprintf(text, sizeof text, "%s:%d:%d", source->name, line, column);
  }
  char *kept = heap_realloc(&vm->heap, NULL, 0, strlen(text) + 1);
  return kept ? strcpy(kept, text) : NULL;
}

static size_t size_of_places(const Unit *u) { return sizeof *u->places * (size_t)u->nsites; }

const char *run_place(void *user, uint32_t site) {
  AtledVM *vm = user;
  uint32_t number = 0;
  Unit *u = vm->units;
  const Unit *found = run_unit_of_site(vm, site, &number);
  while (u && u != found) u = u->next;
  if (!u) return "";
  if (!u->places) {
    u->places = heap_realloc(&vm->heap, NULL, 0, size_of_places(u));
    if (!u->places) return NULL;
    memset(u->places, 0, size_of_places(u));
  }
  if (!u->places[number]) u->places[number] = write_place(vm, u, number);
  return u->places[number];
}

static void free_places(AtledVM *vm, Unit *u) {
  if (!u->places) return;
  for (int k = 0; k < u->nsites; k++)
    if (u->places[k]) heap_realloc(&vm->heap, u->places[k], strlen(u->places[k]) + 1, 0);
  heap_realloc(&vm->heap, u->places, size_of_places(u), 0);
  u->places = NULL;
}

static void free_code(AtledVM *vm, Unit *u) {
  free_places(vm, u);
  if (u->mod && u->code) {
    tiers_forget(vm, u);
    jit_unload(u->mod);
    eval_forget(u->mod);
    mod_strip(u->mod);
  }
  image_free(&vm->heap, u->code);
  heap_realloc(&vm->heap, u->sites, u->sites_size, 0);
  u->code = NULL;
  u->sites = NULL;
  u->nsites = 0;
  u->sites_size = 0;
}

void run_unit_strip(AtledVM *vm, Unit *u) {
  u->held = u->code->nstrings > 0 || u->code->nboxes > 0;
  free_code(vm, u);
}

void run_unit_free(AtledVM *vm, Unit *u) {
  Unit **link = &vm->units;
  while (*link != u) link = &(*link)->next;
  *link = u->next;
  free_code(vm, u);
  mod_free(u->mod);
  heap_realloc(&vm->heap, u, sizeof *u, 0);
}

void run_unit_hold(Unit *u) {
  u->held = true;
  u->holders++;
}

void run_unit_drop(AtledVM *vm, Unit *u) {
  if (u && --u->holders == 0) run_unit_free(vm, u);
}

void run_free_units_since(AtledVM *vm, int64_t number) {
  for (Unit *u = vm->units, *next; u && u->number > number; u = next) {
    next = u->next;
    if (!u->held) run_unit_free(vm, u);
  }
}

/* ---- Machine code ------------------------------------------------------------------ */
/* What was compiled will be compiled again by the next run. */
static void warn_of_cache(AtledVM *vm) {
  const char *why = vm->warned_no_cache ? NULL : jit_keeps_nothing(vm->jit);
  if (!why) return;
  vm->warned_no_cache = true;
  report_warning(vm, "no-cache", "machine code isn't kept for the next run: %s", why);
}

static bool compile(AtledVM *vm, Mod *m, const char **why) {
  bool ok = jit_compile(vm->jit, m, why);
  if (vm->config.compiling) vm->config.compiling(vm->config.user, -1);
  return ok;
}

Jit *run_jit(AtledVM *vm) {
  if (!vm->jit) vm->jit = jit_new(&vm->heap, settings_jit(vm));
  return vm->jit;
}

bool run_compile_module(AtledVM *vm, Mod *m) {
  const char *why = NULL;
  if (!run_jit(vm)) return rt_out_of_memory(&vm->rt) == 0;
  if (compile(vm, m, &why)) return true;
  if (alarm_rings(vm)) rt_poll(&vm->rt); /* which ended the compiler as well */
  else if (jit_lost_memory(vm->jit)) rt_error(&vm->rt, ERR_MEMORY, 0, "out of memory");
  else rt_error(&vm->rt, ERR_IO, 0, "can't compile: %s", why);
  return false;
}

/* Before something of the unit runs. False: rt.error says why it can't. */
static bool prepare(AtledVM *vm, Unit *u) {
  threads_begin(vm);
  if (vm->config.jit == ATLED_JIT_OFF) return true;
  if (vm->config.jit == ATLED_JIT_AUTO) {
    tiers_begin(vm, u);
    return true;
  }
  return u->native = u->native || run_compile_module(vm, u->mod);
}

bool run_compile(AtledVM *vm, Unit *u) { return vm->config.jit != ATLED_JIT_ALWAYS || prepare(vm, u); }

/* ---- Running ------------------------------------------------------------------------ */
Status run_begin(AtledVM *vm) {
  settings_check(vm);
  vm->heap.alarm = NULL;
  return alarm_rings(vm) ? rt_poll(&vm->rt) : 0;
}

static Status end_run(AtledVM *vm, Status status) {
  tiers_end(vm);
  threads_end(vm);
  if (vm->jit) warn_of_cache(vm);
  if (!rt_end_line(&vm->rt) && status == 0) rt_clear_error(&vm->rt); /* the value is there all the same */
  return status;
}

Status run_function(AtledVM *vm, Unit *u, const LFunc *f, const Slot *args, Slot *res) {
  if (!prepare(vm, u)) return 1;
  return end_run(vm, rt_call(&vm->rt, u->mod->funcs[f->index], args, res));
}

Status run_closure(AtledVM *vm, Unit *u, Obj *closure, Slot *args, const bool *moved, int nargs, Slot *res) {
  if (!prepare(vm, u)) return 1;
  if (moved) return end_run(vm, rt_apply_moving(&vm->rt, closure, args, moved, nargs, res));
  return end_run(vm, rt_apply(&vm->rt, closure, args, nargs, res));
}

/* ---- In the evaluator alone ---------------------------------------------------------- */
/* What that changes in the VM. */
typedef struct Before {
  AtledJit jit;
  struct Pool *pool;
  void (*begin_pool)(void *user);
  bool threads_made;
  int64_t budget;
  void (*tick)(void *ticker, void *frame);
  void *ticker;
  double deadline;
} Before;

typedef struct Steps {
  Rt *rt;
  bool over;
} Steps;

/* Rt.tick when all steps are used up: the time is over, too. */
static void end_steps(void *ticker, void *frame) {
  (void)frame;
  Steps *s = ticker;
  const double long_ago = 1e-9;
  s->over = true;
  s->rt->deadline = long_ago;
  rt_interrupt(s->rt, RT_CLOCK);
}

Status run_evaluated(AtledVM *vm, Unit *u, const LFunc *f, int64_t steps, bool *over, Slot *res) {
  Rt *rt = &vm->rt;
  Before was = {vm->config.jit, rt->pool, rt->begin_pool, vm->threads_made,
                rt->budget,     rt->tick, rt->ticker,     rt->deadline};
  Steps left = {.rt = rt};
  vm->config.jit = ATLED_JIT_OFF;
  rt->pool = NULL;
  rt->begin_pool = NULL;
  vm->threads_made = true;
  rt->budget = steps;
  rt->tick = end_steps;
  rt->ticker = &left;
  Status status = run_function(vm, u, f, NULL, res);
  vm->config.jit = was.jit;
  rt->pool = was.pool;
  rt->begin_pool = was.begin_pool;
  vm->threads_made = was.threads_made;
  rt->budget = was.budget;
  rt->tick = was.tick;
  rt->ticker = was.ticker;
  rt->deadline = was.deadline;
  if (over) *over = left.over && status != 0 && rt->error.kind == ERR_TIME;
  return status;
}
