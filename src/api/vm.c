/* SPDX-License-Identifier: MIT */
/* Making and freeing VMs, and the way into them.
 *
 * vm_call is the only door: it switches to the VM's stack and surroundings, sets the jump that
 * arenas take when memory or time is gone or somebody interrupts, and runs the body there. No counted value is
 * live in frames that the jump leaves, so it loses nothing. Nor does it leave
 * anything half made: what compiles is marked at its entry (arena_mark), and after the
 * jump the VM is what it was then. What isn't on the arena, modules of code and
 * values of globals, is released before.
 *
 * The same way back is taken after each entry that defined nothing, an expression, a
 * look-up, a rejected definition: a host may make any number of them. Where there are
 * results to be read it is taken when the next entry begins; until then the mark stands.
 * What such an entry learnt that later ones can use stays: library items that were read,
 * and functions made for types that were there before.
 *
 * Start-up does as little as possible: one table of tokens is compiled, library
 * sources are split and parsed when first named, and the JIT is loaded at the
 * first compile. */
#define _GNU_SOURCE
#include "api/hosts.h"
#include "api/native.h"
#include "api/settings.h"
#include "api/vm.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Life -------------------------------------------------------------------- */
/* Counts what the call writes to both streams; false, with the error, where the host allows no more. */
static bool may_write(AtledVM *vm, size_t n) {
  size_t limit = vm->config.output_limit;
  if (!limit) return true;
  if (n > limit - vm->written) {
    rt_error(&vm->rt, ERR_OUTPUT_LIMIT, 0, "the program writes more than %zu bytes (output_limit)", limit);
    return false;
  }
  vm->written += n;
  return true;
}

/* The runtime's streams: `user` is the VM, the host's functions get what the host handed over. */
static bool write_stream(void *user, RtStream to, const char *text, size_t n) {
  AtledVM *vm = user;
  const AtledConfig *c = &vm->config;
  if (!may_write(vm, n)) return false;
  if (c->output) return c->output(c->user, to == RT_ERR ? ATLED_ERRORS : ATLED_OUTPUT, text, n);
  if (to == RT_ERR) return rt_write_stream(&vm->rt, stderr, text, n) && rt_flush_stream(&vm->rt, stderr);
  if (!c->write) return rt_write_stream(&vm->rt, stdout, text, n);
  c->write(c->user, text, n);
  return true;
}

static bool show_data(void *user, const char *type, const StringObj *data, const StringObj *text) {
  AtledVM *vm = user;
  const AtledConfig *c = &vm->config;
  const AtledDisplay shown = {type, data->bytes, (size_t)data->len, text->bytes, (size_t)text->len};
  return may_write(vm, shown.length + shown.text_length) && c->display(c->user, &shown);
}

static bool errors_on_terminal(void *user) {
  const AtledConfig *c = &((const AtledVM *)user)->config;
  return c->output ? c->errors_on_terminal : isatty(STDERR_FILENO);
}

static bool flush_streams(void *user) {
  AtledVM *vm = user;
  const AtledConfig *c = &vm->config;
  if (c->flush) return c->flush(c->user);
  return c->output || c->write || rt_flush_stream(&vm->rt, stdout);
}

static int64_t read_stream(void *user, char *to, size_t n) {
  const AtledConfig *c = &((AtledVM *)user)->config;
  return c->input(c->user, to, n);
}

static AtledStatus set_up(AtledVM *vm, void *unused) {
  (void)unused;
  report_reset(vm);
  symtable_init(&vm->syms, &vm->arena);
  sources_init(&vm->sources, &vm->arena);
  vm->sources.loans = &vm->loans;
  map_init(&vm->libraries, &vm->arena);
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  vm->lexer = lexer_new(&vm->heap, vm->config.nesting_limit);
  if (!vm->lexer) return ATLED_NO_MEMORY;
  vm->checker = checker_new(&vm->arena, &vm->scratch, &vm->syms, &vm->sources, modules_loader(vm));
  rights_begin(vm);
  bool strict = vm->config.strict;
  vm->world = world_new(&vm->arena, &vm->syms, strict, vm->functions.family == FUNCTIONS_FUSED);
  vm->world->functions = &vm->functions;
  vm->world->no_rules = !settings_rules();
  static_values_begin(vm);
  watch_begin(vm);
  vm->elab = elab_new(&vm->arena, vm->world, &vm->syms, &vm->sources);
  if (!modules_load_prelude(vm)) return ATLED_NO_MEMORY;
  elab_set_prelude(vm->elab, vm->checker, vm->prelude);
  vm->main = checker_new_module(vm->checker, NULL, "", 0);
  return ATLED_OK;
}

/* Rt.host */
static const RtHost *find_host(void *user, int number) {
  const AtledVM *vm = user;
  return number >= 0 && number < vm->hosts.len ? &vm->hosts.data[number]->run : NULL;
}

AtledVM *atled_new(const AtledConfig *config) {
  AtledConfig own;
  if (!settings_config(&own, config)) return NULL;
  config = &own;
  AtledVM *vm = config->allocate ? config->allocate(config->user, NULL, 0, sizeof *vm) : malloc(sizeof *vm);
  if (!vm) return NULL;
  memset(vm, 0, sizeof *vm);
  vm->config = *config;
  vm->first_error = -1;
  heap_init(&vm->heap);
  vm->heap.fn = config->allocate;
  vm->heap.user = config->user;
  vm->heap.limit = config->memory_limit;
  arena_init(&vm->arena, &vm->heap);
  arena_init(&vm->scratch, &vm->heap);
  arena_init(&vm->lowering, &vm->heap);
  vm->loans.heap = &vm->heap;
  rt_init(&vm->rt, &vm->heap);
  if (config->phases) vm->heap.phases = &vm->phases;
  vm->rt.evaluate = eval_function;
  vm->rt.write = write_stream;
  vm->rt.flush = flush_streams;
  vm->rt.display = config->display ? show_data : NULL;
  vm->rt.terminal = errors_on_terminal;
  vm->rt.read = config->input ? read_stream : NULL;
  vm->rt.place = run_place;
  vm->rt.host = find_host;
  vm->rt.user = vm;
  vm->rt.strict = config->strict;
  bool fuses = jit_fuses(jit_cpu(config->cpu));
  functions_init(&vm->functions,
                 config->strict ? FUNCTIONS_LIBM
                 : fuses        ? FUNCTIONS_FUSED
                                : FUNCTIONS_PLAIN,
                 functions_width(jit_cpu(config->cpu)));
  vm->rt.functions = &vm->functions;
  vm->rt.steal = settings_steal();
  vm->rt.args = config->args;
  while (config->args && vm->rt.nargs < config->nargs && config->args[vm->rt.nargs]) vm->rt.nargs++;
  vm->no_memory = (AtledDiagnostic){
      .severity = ATLED_ERROR, .kind = "memory", .message = "out of memory", .rendered = "error: out of memory\n"};
  vm->no_call = (AtledDiagnostic){.severity = ATLED_ERROR,
                                  .kind = "bad-argument",
                                  .message = "a callback can't call the VM that runs it",
                                  .rendered = "error: a callback can't call the VM that runs it\n"};
  if (config->stack_size)
    vm->rt.eval_stack_limit = config->stack_size < STACK_SMALLEST ? STACK_SMALLEST : config->stack_size;
  vm->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  vm->stack = stack_new(config->stack_size ? config->stack_size : (size_t)LIMIT_STACK_BYTES);
  if (vm->stack) rt_set_stack_limit(&vm->rt, stack_limit(vm->stack));
  if (!vm->stack || !vm->locale || vm_call_quick(vm, set_up, NULL) != ATLED_OK) {
    atled_free(vm);
    return NULL;
  }
  return vm;
}

/* ---- The way back ---------------------------------------------------------------- */
static void save_vm(AtledVM *vm) {
  Arena *a = &vm->arena;
  SAVE(a, vm->sources);
  SAVE(a, vm->hosts);
  SAVE(a, vm->globals);
  SAVE(a, vm->libraries);
  SAVE(a, vm->modules);
  SAVE(a, vm->loading);
  SAVE(a, vm->fresh);
  SAVE(a, vm->undo);
  SAVE(a, vm->uses);
  world_save(vm->world);
  checker_save(vm->checker, vm->main);
  elab_save(vm->elab);
}

static int learnt(const AtledVM *vm) { return checker_items_read(vm->checker) + elab_functions_made(vm->elab); }

static void forget_way(WayBack *way) {
#ifdef ATLED_VERIFY
  arena_copy_free(way->copy);
#endif
  *way = (WayBack){0};
}

/* An attempt that memory or a limit ended in here may have left a copy in `way`. */
static void mark(AtledVM *vm, WayBack *way) {
  forget_way(way);
  *way = (WayBack){.unit = vm->last_unit, .nglobals = vm->world->globals.len, .learnt = learnt(vm)};
#ifdef ATLED_VERIFY
  world_forget_walks(vm->world, way->walks);
  uint32_t none[2] = {way->walks[0], way->walks[1]};
  world_forget_walks(vm->world, none);
  way->copy = arena_copy(&vm->arena);
#endif
  arena_mark(&vm->arena);
  way->epoch = vm->arena.epoch;
  save_vm(vm);
}

/* Results since may be of types that go; those of earlier entries stay, constants among them that were evaluated
 * since. */
static void drop_results_since(AtledVM *vm, uint32_t epoch) {
  int kept = 0;
  for (int i = 0; i < vm->results.len; i++) {
    Result *r = &vm->results.data[i];
    if (r->since >= epoch || r->evaluated >= epoch) run_drop_result(vm, r);
    if (r->since >= epoch) continue;
    if (r->evaluated >= epoch) r->desc = NULL, r->slots = NULL, r->evaluated = 0;
    vm->results.data[kept++] = *r;
  }
  vm->results.len = kept;
}

#ifdef ATLED_VERIFY
/* Did the way back lead to where it began? */
static bool verify_roll_back(AtledVM *vm, WayBack *way) {
  world_forget_walks(vm->world, way->walks);
  const void *wrong = arena_difference(&vm->arena, way->copy);
  world_forget_walks(vm->world, way->walks);
  if (!wrong) return true;
  report_error(vm, ATLED_COMPILE_ERROR, "verifier", "a word at %p isn't as it was", wrong);
  return false;
}
#else
static bool verify_roll_back(AtledVM *vm, WayBack *way) {
  (void)vm;
  (void)way;
  return true;
}
#endif

/* False, with a report, in builds for testing where something isn't as it was. */
static bool roll_back(AtledVM *vm, WayBack *way) {
  drop_results_since(vm, way->epoch);
  for (int i = way->nglobals; i < vm->globals.len; i++) {
    const Global *g = vm->globals.data[i];
    if (g && g->set) run_release_slots(vm, g->desc, g->slots);
  }
  rt_clear_error(&vm->rt); /* its text may be a string of such a unit */
  run_free_units_since(vm, way->unit);
  while (arena_marked(&vm->arena) >= way->epoch) arena_roll_back(&vm->arena);
  bool good = verify_roll_back(vm, way);
  if (vm->batch.epoch >= way->epoch && way != &vm->batch) forget_way(&vm->batch);
  if (vm->inner.epoch >= way->epoch && way != &vm->inner) forget_way(&vm->inner);
  forget_way(way);
  return good;
}

static void begin_compilation(AtledVM *vm, WayBack *way) {
  vm->world->traps = (Trap)vm->config.trap;
  mark(vm, way);
  compilation_begin(vm->world);
}

void vm_mark(AtledVM *vm) { begin_compilation(vm, &vm->inner); }

bool vm_has_learnt(const AtledVM *vm, const WayBack *way) { return learnt(vm) != way->learnt; }

bool vm_roll_back(AtledVM *vm) {
  compilation_end(vm->world);
  return roll_back(vm, &vm->inner);
}

void vm_commit(AtledVM *vm) {
  compilation_end(vm->world);
  arena_commit(&vm->arena);
  forget_way(&vm->inner);
}

void vm_mark_batch(AtledVM *vm) { begin_compilation(vm, &vm->batch); }

void vm_keep_batch(AtledVM *vm) {
  if (!vm->batch.epoch) return;
  compilation_end(vm->world);
  arena_commit(&vm->arena);
  forget_way(&vm->batch);
}

bool vm_forget_batch(AtledVM *vm, Unit *u) {
  if (!vm->batch.epoch) return true;
  if (vm->world->globals.len != vm->batch.nglobals) {
    vm_keep_batch(vm);
    return true;
  }
  compilation_end(vm->world);
  u->held = true;
  bool good = roll_back(vm, &vm->batch);
  u->held = false;
  return good;
}

/* Of an error there may be two, one in the other. */
static void end_compilations(AtledVM *vm) {
  while (vm->world && vm->world->compilation) compilation_end(vm->world);
}

bool vm_begin_again(AtledVM *vm) {
  end_compilations(vm);
  if (!roll_back(vm, vm->entry)) return false;
  begin_compilation(vm, vm->entry);
  return true;
}

/* ---- The end ---------------------------------------------------------------------- */
static void release_globals(AtledVM *vm) {
  for (int i = 0; i < vm->globals.len; i++) {
    Global *g = vm->globals.data[i];
    if (g && g->set) run_release_slots(vm, g->desc, g->slots);
  }
}

void atled_free(AtledVM *vm) {
  if (!vm || vm->running) return;
  vm->closing = vm->handles > 0;
  if (vm->closing) return;
  clock_free(vm->clock);
  callers_free(vm->callers);
  run_drop_results(vm);
  release_globals(vm);
  while (vm->units) run_unit_free(vm, vm->units);
  if (vm->jit) jit_free(vm->jit);
  for (int k = 0; k < JIT_REQUESTS; k++)
    if (vm->tiers.begun) arena_free(&vm->tiers.requests[k].arena);
  forget_way(&vm->way);
  forget_way(&vm->inner);
  forget_way(&vm->batch);
  threads_free(vm);
  eval_destroy(&vm->rt);
  rt_destroy(&vm->rt);
  functions_close(&vm->functions);
  if (vm->lexer) lexer_free(vm->lexer);
  arena_free(&vm->lowering);
  sources_loans_free(&vm->loans);
  arena_free(&vm->scratch);
  arena_free(&vm->arena);
  stack_free(vm->stack);
  if (vm->locale) freelocale(vm->locale);
  AtledAllocate allocate = vm->config.allocate;
  if (allocate) allocate(vm->config.user, vm, sizeof *vm, 0);
  else free(vm);
}

/* ---- Calls ------------------------------------------------------------------------ */
typedef enum CallKind {
  CALL_QUICK,     /* compiles nothing: without a way back; its body sets limits */
  CALL_UNLIMITED, /* as CALL_ENTRY, without limits */
  CALL_KEEPING,   /* earlier reports and results stay */
  CALL_ENTRY
} CallKind;
static bool is_limited(CallKind k) { return k >= CALL_KEEPING; }

typedef struct Call {
  AtledVM *vm;
  AtledStatus (*body)(AtledVM *vm, void *arg);
  void *arg;
  CallKind kind;
  WayBack way;  /* epoch 0: no mark was made */
  bool stopped; /* by the time limit or an interrupt, which is being reported */
  AtledStatus status;
} Call;

static AtledStatus report_no_memory(AtledVM *vm) {
  vm->out_of_memory = true;
  if (vm->config.diagnostic) vm->config.diagnostic(vm->config.user, &vm->no_memory);
  return ATLED_NO_MEMORY;
}

/* Comes here again when memory for the report of a stop is gone. */
static void after_jump(Call *c) {
  AtledVM *vm = c->vm;
  bool good = true;
  vm->heap.alarm = NULL;
  end_compilations(vm);
  arena_free(&vm->lowering);
  if (c->way.epoch) good = roll_back(vm, &c->way);
  else forget_way(&c->way);
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  rt_clear_error(&vm->rt);
  c->stopped = !c->stopped && is_limited(c->kind) && rt_poll(&vm->rt);
  if (!good) c->status = ATLED_COMPILE_ERROR;
  else if (c->stopped) c->status = report_runtime_error(vm, (Span){0});
  else c->status = alarm_report_limit(vm);
  if (c->status == ATLED_OK) c->status = report_no_memory(vm);
}

/* What the entry before defined nothing with goes. */
static bool begin_entry(AtledVM *vm) {
  report_reset(vm);
  if (!vm->way.epoch) return true;
  return roll_back(vm, &vm->way);
}

static void end_marked(Call *c) {
  AtledVM *vm = c->vm;
  bool keep = vm->defined || (c->status == ATLED_OK && learnt(vm) != c->way.learnt);
  if (keep || vm->way.epoch) {
    arena_commit(&vm->arena);
    forget_way(&c->way);
  } else if (vm->results.len) {
    vm->way = c->way;
  } else if (!roll_back(vm, &c->way)) {
    c->status = ATLED_COMPILE_ERROR;
  }
}

static void run_call(Call *c) {
  AtledVM *vm = c->vm;
  if (c->kind == CALL_QUICK) {
    c->status = c->body(vm, c->arg);
    return;
  }
  c->status = ATLED_COMPILE_ERROR;
  if (c->kind != CALL_KEEPING && !begin_entry(vm)) return;
  vm->entry = &c->way;
  begin_compilation(vm, vm->entry);
  vm->defined = false;
  if (is_limited(c->kind)) {
    alarm_set(vm);
    alarm_watch(vm);
    heap_look(&vm->heap);
  }
  c->status = c->body(vm, c->arg);
  vm->heap.alarm = NULL;
  end_compilations(vm);
  end_marked(c);
}

/* Whatever fails without a report of its own gets one: a host prints the message of each failing call. */
static void ensure_error(const Call *c) {
  AtledVM *vm = c->vm;
  if (c->status == ATLED_OK || c->status == ATLED_EXIT || vm->first_error >= 0) return;
  if (c->status == ATLED_NO_MEMORY) vm->out_of_memory = true;
  else report_error(vm, c->status, "internal", "the call failed, and no part of it says why");
}

static void on_vm_stack(void *arg) {
  Call *c = arg;
  jmp_buf oom;
  c->vm->heap.on_oom = &oom;
  if (setjmp(oom)) {
    after_jump(c);
  } else {
    run_call(c);
    ensure_error(c);
  }
  c->vm->heap.on_oom = NULL;
}

AtledStatus vm_refuse(AtledVM *vm) {
  vm->refused = true;
  return ATLED_BAD_ARGUMENT;
}

static AtledStatus call(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg, CallKind kind) {
  if (!vm) return ATLED_BAD_ARGUMENT;
  if (vm->running) return vm_refuse(vm);
  Call c = {.vm = vm, .body = body, .arg = arg, .kind = kind};
  Environment host;
  vm->running = true;
  vm->written = 0;
  phases_begin(&vm->heap);
  environment_enter(&host, vm->locale, vm->config.flush_subnormals);
  stack_run(vm->stack, on_vm_stack, &c);
  environment_leave(&host);
  phases_end(&vm->heap);
  vm->running = vm->refused = false;
  alarm_off(vm);
  if (c.status != ATLED_OK) stack_trim(vm->stack);
  return c.status;
}

AtledStatus vm_call_quick(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg) {
  return call(vm, body, arg, CALL_QUICK);
}

AtledStatus vm_call_keeping(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg) {
  return call(vm, body, arg, CALL_KEEPING);
}

AtledStatus vm_call(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg) {
  return call(vm, body, arg, CALL_ENTRY);
}

AtledStatus vm_call_unlimited(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg) {
  return call(vm, body, arg, CALL_UNLIMITED);
}

static AtledStatus reject_null(AtledVM *vm, void *what) {
  return report_bad_argument(vm, "%s is NULL", (const char *)what);
}

AtledStatus vm_reject_null(AtledVM *vm, const char *what) {
  return vm_call_unlimited(vm, reject_null, (void *)(uintptr_t)what);
}

static AtledStatus set_mode(AtledVM *vm, void *mode) {
  AtledJit jit = *(const AtledJit *)mode;
  if ((unsigned)jit > ATLED_JIT_ALWAYS) return report_bad_argument(vm, "there is no mode %d", (int)jit);
  vm->config.jit = jit;
  return ATLED_OK;
}

static AtledStatus set_trap(AtledVM *vm, void *what) {
  AtledTrap trap = *(const AtledTrap *)what;
  if ((unsigned)trap > ATLED_TRAP_INFINITY) return report_bad_argument(vm, "there is no trap %d", (int)trap);
  vm->config.trap = trap;
  return ATLED_OK;
}

static AtledStatus set_colour(AtledVM *vm, void *colour) {
  vm->config.colour = *(const bool *)colour;
  return ATLED_OK;
}

/* ---- Small things ------------------------------------------------------------------- */
void atled_interrupt(AtledVM *vm) {
  if (!vm) return;
  rt_interrupt(&vm->rt, RT_INTERRUPTED);
  Callers *callers = __atomic_load_n(&vm->callers, __ATOMIC_ACQUIRE);
  if (callers) contexts_interrupt(callers);
}
void atled_clear_interrupt(AtledVM *vm) {
  if (vm) rt_clear_interrupt(&vm->rt);
}
AtledStatus atled_set_colour(AtledVM *vm, bool colour) { return vm_call_unlimited(vm, set_colour, &colour); }
AtledStatus atled_set_trap(AtledVM *vm, AtledTrap trap) { return vm_call_unlimited(vm, set_trap, &trap); }
AtledStatus atled_set_jit(AtledVM *vm, AtledJit jit) { return vm_call_unlimited(vm, set_mode, &jit); }
int atled_exit_status(const AtledVM *vm) { return vm ? vm->rt.exit_status : 0; }
int64_t atled_live_objects(const AtledVM *vm) { return vm ? vm->rt.live : 0; }
int64_t atled_evaluator_calls(const AtledVM *vm) { return vm ? vm->rt.evaluations : 0; }
size_t atled_memory_used(const AtledVM *vm) { return vm ? heap_bytes(&vm->heap) : 0; }
void atled_fail_allocation(AtledVM *vm, int64_t n) {
  if (vm) vm->heap.fail_at = n > 0 ? n : -1;
}
const char *atled_version(void) { return ATLED_VERSION; }
int atled_version_number(void) { return ATLED_VERSION_NUMBER; }
