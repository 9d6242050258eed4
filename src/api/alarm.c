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

/* Heap.stops. */
static bool stops(void *user) { return alarm_rings(user); }

void alarm_watch(AtledVM *vm) {
  static const int32_t always = 1;
  vm->heap.stops = stops;
  vm->heap.stops_user = vm;
  vm->heap.alarm = vm->rt.deadline > 0 && !vm->clock_runs ? &always : &vm->rt.interrupt;
}

void alarm_set(AtledVM *vm) {
  vm->rt.deadline = 0;
  if (vm->config.time_limit > 0) start_clock(vm); /* it may be no number */
}

void alarm_off(AtledVM *vm) {
  vm->heap.alarm = NULL;
  vm->rt.deadline = 0;
  if (vm->clock) clock_stop(vm->clock);
}
