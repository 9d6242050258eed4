/* SPDX-License-Identifier: MIT */
/* From the steps of a program to modules that can be run, in memory that doesn't grow with the program.
 *
 *   all steps       optimised before derivatives, since later steps use facts about earlier globals
 *   step by step    differentiated and optimised again; once BATCH bytes or BATCH_NODES nodes have been made, a
 *                   module is made of the steps since the last one, and everything else is rolled back
 *
 * Most programs are one batch, of which nothing is rolled back here. A step whose value holds functions needs its
 * graphs later, so a program with such steps is one batch, too. */
#include "api/foreseen.h"

#ifdef ATLED_VERIFY
enum { BATCH = 1 << 20, BATCH_NODES = 4000 }; /* bytes: more programs have several */
#else
enum { BATCH = 32 << 20, BATCH_NODES = 4000 };
#endif

typedef struct Batches {
  AtledVM *vm;
  Plan *plan;
  OptStages *stages;
  LowerEntry *entries;
  Unit **units;
  int first;     /* step of the batch */
  size_t before; /* bytes that the VM held at its begin */
  int64_t nodes; /* of its final graphs */
} Batches;

static bool may_forget(const Batches *b) {
  for (int i = 0; i < b->plan->steps.len; i++)
    if (elab_holds_functions(b->vm->elab, &b->plan->steps.data[i].elab)) return false;
  return true;
}

/* The batch from step `first` on can be rolled back: the places of globals are older. */
static void begin_batch(Batches *b, int first) {
  AtledVM *vm = b->vm;
  b->first = first;
  b->nodes = 0;
  b->before = heap_bytes(&vm->heap);
  for (int k = 0; k < vm->world->globals.len; k++) run_global(vm, k);
  vm_mark_batch(vm);
}

/* One unit of the steps up to `end`. False after a report. */
static bool lower_batch(Batches *b, int end) {
  for (int i = b->first; i < end; i++) b->entries[i] = (LowerEntry){.graph = b->plan->steps.data[i].final};
  Unit *u = run_unit(b->vm, b->entries + b->first, end - b->first);
  for (int i = b->first; i < end; i++) b->units[i] = u;
  return u != NULL;
}

/* Has the batch enough, with step i? A larger module would be compiled with less optimisation (LIMIT_HUGE_MODULE). */
static bool is_full(Batches *b, int i) {
  b->nodes += ir_count(b->vm->world, b->plan->steps.data[i].final).total;
  return heap_bytes(&b->vm->heap) >= b->before + BATCH || b->nodes >= BATCH_NODES;
}

static AtledStatus finish_steps(Batches *b) {
  int n = b->plan->steps.len;
  bool forgets = n > 1 && may_forget(b);
  AtledStatus status = ATLED_OK;
  b->before = heap_bytes(&b->vm->heap);
  for (int i = 0; i < n && status == ATLED_OK; i++) {
    status = plan_finish_step(b->vm, b->plan, b->stages, i);
    if (status == ATLED_OK) check_warn_of_step(b->vm, b->plan, b->stages, i);
    if (status != ATLED_OK || !forgets || i + 1 == n || !is_full(b, i)) continue;
    if (!lower_batch(b, i + 1) || !vm_forget_batch(b->vm, b->units[i])) return ATLED_COMPILE_ERROR;
    begin_batch(b, i + 1);
  }
  report_diags(b->vm);
  if (status == ATLED_OK) status = plan_finish_again(b->vm, b->plan, b->stages, b->first);
  if (status != ATLED_OK) return status;
  return lower_batch(b, n) && vm_forget_batch(b->vm, b->units[n - 1]) ? ATLED_OK : ATLED_COMPILE_ERROR;
}

AtledStatus batches_lower(AtledVM *vm, Plan *plan, LowerEntry *entries, Unit **units) {
  OptStages *stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  Batches b = {.vm = vm, .plan = plan, .stages = stages, .entries = entries, .units = units};
  plan_begin_steps(vm, plan, stages);
  AtledStatus status = finish_steps(&b);
  if (status != ATLED_OK) vm_keep_batch(vm);
  return status;
}
