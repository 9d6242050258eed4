/* SPDX-License-Identifier: MIT */
/* Another function in a handle's place.
 *
 *   expression ──► a second handle, at the first one's type ──► its pin, if the first has one ──► both are exchanged
 *
 * Until everything is compiled the handle is what it was. Then the two handles exchange all that the VM's thread alone
 * reads, and the pin is swapped atomically, for the threads that call native pointers. The second handle is freed with
 * what it got. The host's last result stays the first one's, and keeps the code whose constants it may refer to. */
#include "api/handles.h"
#include "api/pipeline.h"
#include <string.h>

typedef struct ReplaceCall {
  AtledFunction *f, *made;
  const char *expression;
  Pin *pin;
} ReplaceCall;

static AtledStatus replace_body(AtledVM *vm, void *arg) {
  ReplaceCall *c = arg;
  const AtledFunction *f = c->f, *made = c->made;
  const char *type = f->parts.text;
  AtledStatus status = handle_look_up(c->made, c->expression, type);
  if (status != ATLED_OK) return status;
  if (made->arity != f->arity || made->param != f->param || made->result != f->result)
    return report_bad_argument(vm, "a type in `%s` isn't what it was when the handle was looked up", type);
  return f->native.now ? native_pin(c->made, &c->pin) : ATLED_OK;
}

/* ---- The exchange ------------------------------------------------------------------------------------------------ */
/* After the handle at `was` was copied to f. */
static void move_outcomes(AtledFunction *f, const AtledFunction *was) {
  f->last = f->outcomes + (f->last - was->outcomes);
  f->next = f->outcomes + (f->next - was->outcomes);
}

/* All but what other threads read. */
static void exchange(AtledFunction *f, AtledFunction *g) {
  enum { OWN = offsetof(AtledFunction, vm) };
  AtledFunction copy;
  memcpy((char *)&copy + OWN, (char *)f + OWN, sizeof *f - OWN);
  memcpy((char *)f + OWN, (char *)g + OWN, sizeof *f - OWN);
  memcpy((char *)g + OWN, (char *)&copy + OWN, sizeof *f - OWN);
  move_outcomes(f, g);
  move_outcomes(g, f);
}

/* The host's last result becomes `to`, with the slots that this has. */
static void move_result(AtledFunction *from, Outcome *o, Outcome *to) {
  Slot *slots = to->slots;
  memcpy(slots, o->slots, sizeof *slots * (size_t)from->result->nslots);
  if (!o->unit) run_unit_hold(o->unit = from->unit);
  *to = *o;
  to->slots = slots;
  *o = (Outcome){.slots = o->slots};
  arena_init(&o->trees, &from->vm->heap);
}

/* Of a value without arguments the host sees the new one at its next call: until then the last result is f->next. */
static void replace(AtledFunction *f, AtledFunction *made) {
  exchange(f, made);
  if (f->arity) {
    if (made->last->filled) move_result(made, made->last, f->last);
  } else {
    move_result(made, made->next->filled ? made->next : made->last, f->next);
  }
}

AtledStatus atled_replace(AtledFunction *f, const char *expression) {
  if (!f || f->vm->closing) return ATLED_BAD_ARGUMENT;
  AtledVM *vm = f->vm;
  if (vm->running) return vm_refuse(vm);
  if (!expression) return vm_reject_null(vm, "the expression");
  ReplaceCall c = {.f = f, .made = handle_new(vm), .expression = expression};
  if (!c.made) return handle_no_memory(vm);
  AtledStatus status = vm_call(vm, replace_body, &c);
  if (status == ATLED_OK) {
    replace(f, c.made);
    native_replace(&f->native, c.pin);
  } else {
    pin_free(c.pin);
  }
  handle_free(c.made);
  return status;
}
