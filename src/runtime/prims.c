/* SPDX-License-Identifier: MIT */
/* The table of primitives, one entry for each row of src/prims/rt.def, and those that are too small for a file of
 * their own. A primitive borrows its arguments, and leaves its results alone if it fails. */
#include "runtime/runtime_internal.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static Status show(Rt *rt, const Desc *type, const Slot *args, bool bare, Slot *res) {
  Buf b = {.rt = rt};
  rt_show_to(rt, type, args, bare, &b);
  return buf_string(&b, &res->p);
}

PRIM(prim_show) {
  PRIM_UNUSED;
  return show(rt, type, args, false, res);
}

PRIM(prim_display) {
  PRIM_UNUSED;
  return show(rt, type, args, true, res);
}

static Status compare(Rt *rt, CompareMode mode, const Desc *type, const Slot *args, Slot *res) {
  int result;
  if (rt_compare_values(rt, mode, type, args, args + type->nslots, &result)) return 1;
  res->i = result;
  return 0;
}

PRIM(prim_equal) {
  PRIM_UNUSED;
  return compare(rt, MODE_EQUAL, type, args, res);
}

PRIM(prim_compare) {
  PRIM_UNUSED;
  return compare(rt, MODE_COMPARE, type, args, res);
}

PRIM(prim_order) {
  PRIM_UNUSED;
  return compare(rt, MODE_ORDER, type, args, res);
}

PRIM(prim_hash) {
  PRIM_UNUSED;
  uint64_t hash;
  if (rt_hash_value(rt, type, args, &hash)) return 1;
  res->i = (int64_t)hash;
  return 0;
}

PRIM(prim_close) {
  PRIM_UNUSED;
  return compare(rt, MODE_CLOSE, type, args, res);
}

/* By halving. */
PRIM(prim_position) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[type->nslots]);
  int64_t lo = 0, hi = a->dims[0];
  while (lo < hi) {
    int64_t mid = lo + (hi - lo) / 2;
    int order;
    if (rt_compare_values(rt, MODE_COMPARE, type, args, a->data + mid * type->nslots, &order)) return 1;
    if (order < 0) hi = mid;
    else if (order > 0) lo = mid + 1;
    else lo = mid, hi = -1;
  }
  res->i = hi < 0 ? lo : a->dims[0];
  return 0;
}

/* The type is the array's or its element's: a matrix's rows count as elements. */
PRIM(prim_argsort) {
  PRIM_UNUSED;
  ArrayObj *a = slot_array(&args[0]), *order;
  if (rt_argsort(rt, a->h.desc, a, &order)) return 1;
  res->p = &order->h;
  return 0;
}

PRIM(prim_args) {
  PRIM_UNUSED;
  ArrayObj *a = rt_new_strings(rt, rt->nargs);
  for (int i = 0; a && i < rt->nargs; i++) {
    a->data[i].p = rt_new_string(rt, rt->args[i], strlen(rt->args[i]));
    if (!a->data[i].p) {
      rt_release(rt, &a->h);
      a = NULL;
    }
  }
  if (!a) return 1;
  res->p = &a->h;
  return 0;
}

PRIM(prim_env) {
  PRIM_UNUSED;
  const char *value = getenv(slot_string(&args[0])->bytes);
  bool usable = value && utf8_valid(value, strlen(value), NULL);
  Obj *s = rt_new_string(rt, usable ? value : "", usable ? strlen(value) : 0);
  if (!s) return 1;
  res[0].i = usable;
  res[1].p = s;
  return 0;
}

/* COLUMNS, if that is a number, as in other programs; else what the terminal says. 80 for a program that may not see
 * the terminal: how a status line is cut would tell. */
int rt_terminal_columns(const Rt *rt) {
  if (!(rt->rights & RIGHT_ENVIRONMENT)) return 80;
  const char *set = getenv("COLUMNS");
  struct winsize size = {0};
  long columns = set ? strtol(set, NULL, 10) : 0;
  for (int fd = STDOUT_FILENO; columns <= 0 && fd <= STDERR_FILENO; fd++)
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns > 0 && columns < LIMIT_TERMINAL ? (int)columns : 80;
}

PRIM(prim_terminal_width) {
  PRIM_UNUSED;
  res->i = rt_terminal_columns(rt);
  return 0;
}

PRIM(prim_time) {
  PRIM_UNUSED;
  res->f = rt_now();
  return 0;
}

/* In short waits, between which it looks for interrupts. */
PRIM(prim_sleep) {
  PRIM_UNUSED;
  double end = rt_now() + args[0].f, left;
  Status status = 0;
  while (!status && (left = end - rt_now()) > 0) {
    double wait = left < 0.01 ? left : 0.01;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * wait)}, NULL);
    status = rt_look(rt);
  }
  return status;
}

PRIM(prim_date) {
  PRIM_UNUSED;
  char text[64];
  struct tm tm;
  time_t now = time(NULL);
  size_t n = gmtime_r(&now, &tm) ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) : 0;
  res->p = rt_new_string(rt, text, n);
  return res->p ? 0 : 1;
}

PRIM(prim_nanoseconds) {
  PRIM_UNUSED;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  res->i = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
  return 0;
}

PRIM(prim_cpu_time) {
  PRIM_UNUSED;
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  res->f = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  return 0;
}

PRIM(prim_arrays_made) {
  PRIM_UNUSED;
  res->i = rt->arrays_made;
  return 0;
}

PRIM(prim_evaluated) {
  PRIM_UNUSED;
  res->i = rt->ticks;
  return 0;
}

PRIM(prim_compiling) {
  PRIM_UNUSED;
  res->i = rt->compiling;
  if (rt->budget > 0) rt->budget -= rt->budget; /* the slice is used up */
  return 0;
}

PRIM(prim_opaque) {
  PRIM_UNUSED;
  memcpy(res, args, sizeof *res * (size_t)type->nslots);
  rt_retain_slots(type->slots, type->nslots, res);
  return 0;
}

/* A primitive whose row names a right is reached by both tiers only through a function that asks for it. */
#define RT(NAME, function, name, of, flags, right)                                                                     \
  static PRIM(guarded_##NAME) {                                                                                        \
    if (!(rt_rights(rt) & RIGHT_##right)) return rt_deny(rt, RIGHT_##right, name, site);                               \
    return function(rt, type, args, res, site);                                                                        \
  }
#include "prims/rt.def"
#undef RT

const RtPrimFn rt_prims[RTP_COUNT] = {
#define RT(NAME, function, name, of, flags, right)                                                                     \
  [RTP_##NAME] = RIGHT_##right == RIGHT_NONE ? function : guarded_##NAME,
#include "prims/rt.def"
#undef RT
};
