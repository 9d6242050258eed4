/* SPDX-License-Identifier: MIT */
/* When a call has to end: its time is over, or somebody called atled_interrupt. Running code looks at rt.interrupt,
 * which the clock's thread sets (clock.c); the compiler looks when its arenas add a block (Heap.alarm), and the wait
 * for GCC asks alarm_while_compiling. */
#include "api/vm.h"

static bool is_late(const AtledVM *vm) { return vm->rt.deadline > 0 && clock_now() > vm->rt.deadline; }

bool alarm_rings(const AtledVM *vm) { return rt_interrupted(&vm->rt) == RT_INTERRUPTED || is_late(vm); }

bool alarm_while_compiling(void *user, double seconds) {
  const AtledVM *vm = user;
  if (vm->config.compiling) vm->config.compiling(vm->config.user, seconds);
  return alarm_rings(vm);
}

/* Without a clock (no thread to be had) machine code doesn't see the deadline; the compiler and the evaluator do. */
static void start_clock(AtledVM *vm) {
  vm->rt.deadline = clock_now() + vm->config.time_limit;
  if (!vm->clock) vm->clock = clock_new();
  vm->clock_runs = vm->clock && clock_start(vm->clock, &vm->rt, vm->rt.deadline);
}

/* ---- Limits of compilations -------------------------------------------------------------------------------------- */
static bool has_compile_time(const AtledConfig *c) { return c->compile_time > 0; } /* it may be no number */

static bool has_compile_limits(const AtledConfig *c) {
  return has_compile_time(c) || c->node_limit || c->compile_memory;
}

static uint32_t nodes_made(const AtledVM *vm) { return vm->world ? vm->world->next_id : 0; }

/* The limit that the compilation exceeds; NULL. The time is looked at now and then: it costs more than the others. */
static const char *exceeded_limit(AtledVM *vm) {
  enum { SELDOM = 64 };
  const AtledConfig *c = &vm->config;
  CompileLimits *l = &vm->compiling;
  size_t bytes = heap_bytes(&vm->heap);
  if (c->node_limit && (uint32_t)(nodes_made(vm) - l->nodes) > c->node_limit) return "node_limit";
  if (c->compile_memory && bytes > l->bytes && bytes - l->bytes > c->compile_memory) return "compile_memory";
  bool looks = has_compile_time(c) && l->looks++ % SELDOM == 0;
  return looks && clock_now() - l->since > c->compile_time ? "compile_time" : NULL;
}

AtledStatus alarm_report_limit(AtledVM *vm) {
  const char *limit = vm->compiling.exceeded;
  vm->compiling.exceeded = NULL;
  if (!limit) return ATLED_OK;
  return report_error(vm, ATLED_COMPILE_ERROR, "compile-limit", "compiling this takes more than the host allows (%s)",
                      limit);
}

/* ---- The alarm --------------------------------------------------------------------------------------------------- */
/* Heap.stops. */
static bool stops(void *user) {
  AtledVM *vm = user;
  if (alarm_rings(vm)) return true;
  if (has_compile_limits(&vm->config)) vm->compiling.exceeded = exceeded_limit(vm);
  return vm->compiling.exceeded != NULL;
}

void alarm_watch(AtledVM *vm) {
  static const int32_t always = 1;
  bool limits = has_compile_limits(&vm->config), late = vm->rt.deadline > 0 && !vm->clock_runs;
  vm->compiling = (CompileLimits){.bytes = heap_bytes(&vm->heap), .nodes = nodes_made(vm)};
  if (has_compile_time(&vm->config)) vm->compiling.since = clock_now();
  vm->heap.stops = stops;
  vm->heap.stops_user = vm;
  vm->heap.alarm = limits || late ? &always : &vm->rt.interrupt;
}

void alarm_set(AtledVM *vm) {
  vm->rt.deadline = 0;
  if (vm->config.time_limit > 0) start_clock(vm); /* it may be no number */
}

void alarm_off(AtledVM *vm) {
  vm->heap.alarm = NULL;
  vm->compiling.exceeded = NULL;
  vm->rt.deadline = 0;
  if (vm->clock) clock_stop(vm->clock);
}
