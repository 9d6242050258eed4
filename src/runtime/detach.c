/* SPDX-License-Identifier: MIT */
/* Values without views: an array that is a view of a part of another one becomes an array of its own, and the block of
 * the other one is no longer shared. Payloads of variants are made anew where they hold a view, LIMIT_DETACHED deep;
 * elements of arrays are left as they are. All else is the value itself, so that detaching what holds no view costs a
 * look at it. Derivatives detach what they keep on a tape (ad/copy_views.c). */
#include "runtime/runtime_internal.h"
#include <string.h>

static const Desc *payload_of(const Obj *box) { return box->desc->args[box->tag]; }

static bool holds_view(const Obj *p, int depth) {
  if (!rt_is_object(p)) return false;
  if (p->desc->kind == D_ARRAY) return ((const ArrayObj *)p)->owner != NULL;
  if (p->desc->kind != D_VARIANT || !depth) return false;
  const Desc *payload = payload_of(p);
  bool any = false;
  for (int k = 0; k < payload->nslots && !any; k++)
    any = payload->slots[k] == SLOT_PTR && holds_view(((const BoxObj *)p)->fields[k].p, depth - 1);
  return any;
}

static bool detach(Rt *rt, Obj *p, int depth, Obj **out);

static bool detach_box(Rt *rt, const BoxObj *box, int depth, Obj **out) {
  const Desc *payload = payload_of(&box->h);
  BoxObj *made = rt_new_box(rt, box->h.desc, box->h.tag);
  if (!made) return false;
  memcpy(made->fields, box->fields, sizeof(Slot) * (size_t)payload->nslots);
  rt_retain_slots(payload->slots, payload->nslots, made->fields);
  *out = &made->h;
  for (int k = 0; k < payload->nslots; k++) {
    Obj *own;
    if (payload->slots[k] != SLOT_PTR) continue;
    if (!detach(rt, box->fields[k].p, depth - 1, &own)) {
      rt_release(rt, &made->h);
      return false;
    }
    rt_release(rt, made->fields[k].p);
    made->fields[k].p = own;
  }
  return true;
}

/* What p is without views, held once more; false: out of memory. */
static bool detach(Rt *rt, Obj *p, int depth, Obj **out) {
  *out = p;
  if (!holds_view(p, depth)) {
    rt_retain(p);
    return true;
  }
  if (p->desc->kind == D_VARIANT) return detach_box(rt, (const BoxObj *)p, depth, out);
  ArrayObj *copy = rt_copy(rt, (const ArrayObj *)p);
  *out = copy ? &copy->h : NULL;
  return copy != NULL;
}

PRIM(prim_detached) {
  PRIM_UNUSED;
  memcpy(res, args, sizeof *res * (size_t)type->nslots);
  for (int k = 0; k < type->nslots; k++) {
    if (type->slots[k] != SLOT_PTR || detach(rt, args[k].p, LIMIT_DETACHED, &res[k].p)) continue;
    while (k-- > 0)
      if (type->slots[k] == SLOT_PTR) rt_release(rt, res[k].p);
    return 1;
  }
  return 0;
}
