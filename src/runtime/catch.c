/* SPDX-License-Identifier: MIT */
/* `attempt`: calls a function and makes a value of how that ends. An error is only what it was raised as until then, a
 * site and a message; so what becomes an Error costs no more than its two strings, of which the place is kept by who
 * knows sources (Rt.place). Interrupts, limits, `exit` and output that isn't taken pass through; so does a rule that is
 * missing, which is an error of a derivative alone, and what a trap found. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"

enum { OK, ERROR }; /* constructors of `result` */

static bool passes_through(ErrorKind kind) {
  switch (kind) {
  case ERR_MEMORY:
  case ERR_INTERRUPT:
  case ERR_TIME:
  case ERR_RULE:
  case ERR_EFFECT:
  case ERR_OUTPUT:
  case ERR_OUTPUT_LIMIT:
  case ERR_NAN:
  case ERR_INFINITY:
  case ERR_STOPPED:
  case ERR_ELSEWHERE:
  case ERR_EXIT: return true;
  default: return false;
  }
}

/* The innermost place in the program, "" if there is none. NULL: out of memory. */
static Obj *place_of(Rt *rt) {
  const RtError *e = &rt->error;
  rt_lock_shared(rt);
  const char *place = rt->place ? rt->place(rt->user, e->site) : "";
  for (int k = 0; rt->place && place && !*place && k < e->ntrace; k++) place = rt->place(rt->user, e->trace[k]);
  rt_unlock_shared(rt);
  return place ? rt_new_string(rt, place, strlen(place)) : NULL;
}

static Obj *message_of(Rt *rt) {
  const RtError *e = &rt->error;
  if (!e->text) return rt_new_string(rt, e->message, strlen(e->message));
  rt_retain(e->text);
  return e->text;
}

/* The error that rt holds as a value; then it holds none, unless memory runs out. */
static Status caught(Rt *rt, const Desc *result, Slot *res) {
  Obj *message = message_of(rt), *place = message ? place_of(rt) : NULL;
  BoxObj *b = place ? rt_new_box(rt, result, ERROR) : NULL;
  rt_clear_error(rt);
  if (!b) {
    rt_release(rt, message);
    rt_release(rt, place);
    return rt_out_of_memory(rt);
  }
  b->fields[0].p = message; /* fields are in alphabetical order */
  b->fields[1].p = place;
  res->p = &b->h;
  return 0;
}

/* type: of the result. */
PRIM(prim_attempt) {
  PRIM_UNUSED;
  int n = type->args[OK]->nslots;
  BoxObj *b = n ? rt_new_box(rt, type, OK) : NULL;
  if (n && !b) return 1;
  Status status = rt_apply(rt, args[0].p, NULL, 0, b ? b->fields : NULL);
  if (!status) {
    res->p = b ? &b->h : rt_immediate(OK);
    return 0;
  }
  if (b) {
    memset(b->fields, 0, sizeof *b->fields * (size_t)n);
    rt_release(rt, &b->h);
  }
  return passes_through(rt->error.kind) ? 1 : caught(rt, type, res);
}
