/* SPDX-License-Identifier: MIT */
/* Copies of values that any thread may read: what native pointers refer to.
 *
 * Counts aren't atomic, so no count may be written by two threads. A copy's count is RT_IMMORTAL, which retaining and
 * releasing leave alone. Arrays of numbers aren't copied: the copy is a view, and the reference that it holds keeps the
 * program from changing the elements in place. So it is with values of the host's, which are finalised once.
 *
 * Slots may be frozen twice, as those of a global that two modules name: a copy is its own copy.
 *
 * Copying is breadth first, without recursion: `objects` is the worklist as well. An object's fields refer to the
 * originals until it is its turn. Freeing sets all fields to NULL first, so order doesn't matter. */
#include "api/native.h"
#include <string.h>

void freezer_init(Freezer *z, AtledVM *vm, Arena *arena, RtFunc *(*function)(void *user, const RtFunc *f), void *user) {
  *z = (Freezer){.vm = vm, .arena = arena, .function = function, .user = user};
  map_init(&z->copies, arena);
}

/* ---- What an object refers to ------------------------------------------------------------------------------------ */
typedef struct Fields {
  const uint8_t *kinds; /* of n slots, which repeat `times` times */
  int n;
  int64_t times;
  Slot *slots;
} Fields;

static int64_t length_of(const ArrayObj *a) {
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k];
  return n;
}

static Fields fields_of(Obj *o) {
  switch (o->desc->kind) {
  case D_VARIANT: {
    const Desc *payload = o->desc->args[o->tag];
    return (Fields){payload->slots, payload->nslots, 1, ((BoxObj *)o)->fields};
  }
  case D_FUN: {
    ClosureObj *c = (ClosureObj *)o;
    return (Fields){c->fn->param_kinds + (c->fn->nparams - c->fn->ncaps), c->fn->ncaps, 1, c->caps};
  }
  case D_ARRAY: {
    ArrayObj *a = (ArrayObj *)o;
    const Desc *elem = o->desc->args[0];
    if (o->desc->pointers) return (Fields){elem->slots, elem->nslots, length_of(a), a->data};
    break;
  }
  default: break;
  }
  return (Fields){0};
}

/* ---- Copying ----------------------------------------------------------------------------------------------------- */
static Obj *copy_array(Rt *rt, ArrayObj *a) {
  const Desc *d = a->h.desc;
  if (!d->pointers) {
    ArrayObj *view = rt_view(rt, d, a, 0, a->dims);
    return view ? &view->h : NULL;
  }
  ArrayObj *copy = rt_new_array(rt, d, a->dims, true);
  size_t size = sizeof(Slot) * (size_t)d->args[0]->nslots * (size_t)length_of(a);
  if (copy && size) memcpy(copy->data, a->data, size);
  return copy ? &copy->h : NULL;
}

/* A copy whose fields are the original's, uncounted. */
static Obj *copy_object(Freezer *z, Obj *o) {
  Rt *rt = &z->vm->rt;
  switch (o->desc->kind) {
  case D_STRING: return rt_new_string(rt, ((StringObj *)o)->bytes, (size_t)((StringObj *)o)->len);
  case D_ARRAY: return copy_array(rt, (ArrayObj *)o);
  case D_VARIANT: {
    BoxObj *from = (BoxObj *)o, *to = rt_new_box(rt, o->desc, o->tag);
    if (to) memcpy(to->fields, from->fields, sizeof(Slot) * (size_t)o->desc->args[o->tag]->nslots);
    return to ? &to->h : NULL;
  }
  case D_FUN: {
    ClosureObj *from = (ClosureObj *)o;
    RtFunc *fn = z->function(z->user, from->fn);
    ClosureObj *to = fn ? rt_new_closure(rt, fn) : NULL;
    if (to) memcpy(to->caps, from->caps, sizeof(Slot) * (size_t)fn->ncaps);
    return to ? &to->h : NULL;
  }
  case D_OPAQUE: {
    OpaqueObj *to = rt_new_opaque(rt, o->desc, ((OpaqueObj *)o)->pointer, NULL);
    if (to) rt_retain(to->owner = o);
    return to ? &to->h : NULL;
  }
  default: rt_error(rt, ERR_RULE, 0, "a native pointer can't refer to an accumulator"); return NULL;
  }
}

static bool freeze_slot(Freezer *z, Slot *s) {
  if (!rt_is_object(s->p)) return true;
  Obj *known = map_get(&z->copies, s->p);
  if (!known) {
    vec_push(z->arena, z->objects, NULL); /* before there is something that a jump would lose */
    known = z->objects.data[z->objects.len - 1] = copy_object(z, s->p);
    if (!known) return false;
    known->rc = RT_IMMORTAL;
    z->vm->rt.live--;
    map_put(&z->copies, s->p, known);
    map_put(&z->copies, known, known);
  }
  s->p = known;
  return true;
}

static bool freeze_fields(Freezer *z, Fields f) {
  for (int64_t i = 0; i < f.times; i++) {
    heap_look_at(&z->vm->heap, (uint32_t)i);
    for (int k = 0; k < f.n; k++)
      if (f.kinds[k] == SLOT_PTR && !freeze_slot(z, &f.slots[i * f.n + k])) return false;
  }
  return true;
}

bool freeze(Freezer *z, const uint8_t *kinds, int n, Slot *slots) {
  if (!freeze_fields(z, (Fields){kinds, n, 1, slots})) return false;
  for (; z->done < z->objects.len; z->done++) {
    heap_look_at(&z->vm->heap, (uint32_t)z->done);
    if (!freeze_fields(z, fields_of(z->objects.data[z->done]))) return false;
  }
  return true;
}

void freezer_free(Freezer *z) {
  for (int i = 0; i < z->objects.len; i++) {
    if (!z->objects.data[i]) continue;
    Fields f = fields_of(z->objects.data[i]);
    if (f.n) memset(f.slots, 0, sizeof(Slot) * (size_t)f.n * (size_t)f.times);
  }
  for (int i = 0; i < z->objects.len; i++) {
    Obj *o = z->objects.data[i];
    if (!o) continue;
    o->rc = 1;
    z->vm->rt.live++;
    rt_release(&z->vm->rt, o);
  }
  z->objects.len = 0;
}
