/* SPDX-License-Identifier: MIT */
/* Results that outlive the handle's next call.
 *
 * A kept result has references of its own to what the result's slots hold, and the trees that the host's values point
 * to. The handle goes on to hold the slots: a value of them may still be an argument, and isn't changed, since two hold
 * it. */
#include "api/handles.h"
#include <string.h>

struct AtledKept {
  AtledVM *vm;
  Unit *unit; /* whose constants the slots may refer to */
  const Desc *desc;
  Arena trees;
  Slot slots[];
};

static size_t size_of(const Desc *d) { return sizeof(AtledKept) + sizeof(Slot) * (size_t)d->nslots; }

static AtledStatus refuse_keep(AtledVM *vm, void *why) { return report_bad_argument(vm, "%s", (const char *)why); }

static AtledStatus refuse(AtledVM *vm, const char *why) {
  return vm_call_unlimited(vm, refuse_keep, (void *)(uintptr_t)why);
}

AtledStatus atled_keep(AtledFunction *f, AtledKept **out) {
  if (!f) return ATLED_BAD_ARGUMENT;
  AtledVM *vm = f->vm;
  Outcome *o = f->last;
  if (out) *out = NULL;
  if (vm->closing) return ATLED_BAD_ARGUMENT;
  if (vm->running) return vm_refuse(vm);
  if (!out) return vm_reject_null(vm, "the place for the kept result");
  if (!o->filled) return refuse(vm, "there is no result to keep: the handle wasn't called");
  if (o->lost) return refuse(vm, "the result was given up in a call that failed");
  if (o->kept) return refuse(vm, "the result is kept already");
  AtledKept *kept = heap_realloc(&vm->heap, NULL, 0, size_of(f->result));
  if (!kept) return handle_no_memory(vm);
  *kept = (AtledKept){.vm = vm, .unit = o->unit ? o->unit : f->unit, .desc = f->result, .trees = o->trees};
  run_unit_hold(kept->unit);
  memcpy(kept->slots, o->slots, sizeof(Slot) * (size_t)f->result->nslots);
  for (int i = 0; i < f->result->nslots; i++)
    if (f->result->slots[i] == SLOT_PTR) rt_retain(kept->slots[i].p);
  arena_init(&o->trees, &vm->heap);
  memset(&o->blocks, 0, sizeof o->blocks);
  o->kept = true;
  vm->handles++;
  *out = kept;
  return ATLED_OK;
}

void atled_drop(AtledKept *kept) {
  if (!kept || kept->vm->running) return;
  AtledVM *vm = kept->vm;
  run_release_slots(vm, kept->desc, kept->slots);
  run_unit_drop(vm, kept->unit);
  arena_free(&kept->trees);
  heap_realloc(&vm->heap, kept, size_of(kept->desc), 0);
  vm->handles--;
  if (vm->closing) atled_free(vm);
}
