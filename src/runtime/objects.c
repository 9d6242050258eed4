/* SPDX-License-Identifier: MIT */
/* Objects: counts, and the state of a VM's run time. Their memory comes from blocks.c.
 *
 * Release is a loop over a worklist that needs no memory: an object whose count fell to zero isn't reachable from
 * anywhere else, so the word of its count and tag holds the tag and the link to the next object to be freed. A list of
 * ten million cells is freed in constant space.
 *
 * Which slots of an object are pointers is read from its descriptor (box, array, log) or its function (closure,
 * environment). Arrays are in arrays.c. */
#include "runtime/runtime_internal.h"
#include "support/phases.h"
#include <string.h>
#include <time.h>

static const uint8_t kinds[] = {SLOT_INT, SLOT_FLOAT, SLOT_PTR}, two_ints[] = {SLOT_INT, SLOT_INT};
#define KIND(k) (uint8_t *)(kinds + (k)) /* a Desc's rows are only ever read */
static const Desc desc_string = {.kind = D_STRING, .nslots = 1, .slots = KIND(SLOT_PTR), .name = "string"};
static const Desc desc_float = {.kind = D_FLOAT, .nslots = 1, .slots = KIND(SLOT_FLOAT), .name = "float"};
static const Desc desc_int = {.kind = D_INT, .nslots = 1, .slots = KIND(SLOT_INT), .name = "int"};
static const Desc desc_closure = {.kind = D_FUN, .nslots = 1, .slots = KIND(SLOT_PTR), .name = "function"};
static const Desc desc_env = {.kind = D_ENV, .nslots = 1, .slots = KIND(SLOT_PTR), .name = "environment"};
static const Desc *const pair_args[] = {&desc_int, &desc_int};
static const Desc desc_pair = {
    .kind = D_TUPLE, .nslots = 2, .slots = (uint8_t *)two_ints, .link = -1, .n = 2, .args = (const Desc **)pair_args};
static const Desc *const string_arg[] = {&desc_string}, *const float_arg[] = {&desc_float},
                         *const int_arg[] = {&desc_int}, *const pair_arg[] = {&desc_pair};
#define ARRAY_DESC(elem, r, ptrs)                                                                                      \
  {                                                                                                                    \
    .kind = D_ARRAY, .nslots = 1, .slots = KIND(SLOT_PTR), .n = 1, .args = (const Desc **)elem, .rank = r,             \
    .pointers = ptrs                                                                                                   \
  }
static const Desc desc_strings = ARRAY_DESC(string_arg, 1, true), desc_floats = ARRAY_DESC(float_arg, 1, false),
                  desc_ints = ARRAY_DESC(int_arg, 1, false), desc_matrix = ARRAY_DESC(float_arg, 2, false),
                  desc_string_matrix = ARRAY_DESC(string_arg, 2, true), desc_pairs = ARRAY_DESC(pair_arg, 1, false);

/* ---- VM state ---------------------------------------------------------------------------------------------------- */
void rt_init(Rt *rt, Heap *heap) {
  memset(rt, 0, sizeof *rt);
  rt->heap = heap;
  rt_keep_blocks(rt);
  rt->budget = -1;
  rt->rights = RIGHTS_ALL;
  rt->functions = &functions_of_libm;
  rt->eval_stack_limit = (size_t)LIMIT_STACK_BYTES;
  rt->desc_closure = &desc_closure;
  rt->desc_env = &desc_env;
  rt->desc_string = &desc_string;
  rt->desc_string_array = &desc_strings;
  rt->desc_float_array = &desc_floats;
  rt->desc_int_array = &desc_ints;
  rt->desc_float_matrix = &desc_matrix;
  rt->desc_string_matrix = &desc_string_matrix;
  rt->desc_int_pairs = &desc_pairs;
}

void rt_destroy(Rt *rt) {
  heap_realloc(rt->heap, rt->input.data, rt->input.cap, 0);
  rt_regexes_free(rt);
  rt_descs_free(rt);
  rt_blocks_free(rt);
}

double rt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Worklists --------------------------------------------------------------------------------------------------- */
bool rt_reserve(Rt *rt, void *array_pointer, int64_t *cap, int64_t need, size_t item) {
  if (need <= *cap) return true;
  int64_t grown = *cap ? 2 * *cap : 16;
  if (grown < need) grown = need;
  void *p;
  memcpy(&p, array_pointer, sizeof p);
  p = heap_realloc(rt->heap, p, (size_t)*cap * item, (size_t)grown * item);
  if (!p) {
    rt_out_of_memory(rt);
    return false;
  }
  memcpy(array_pointer, &p, sizeof p);
  *cap = grown;
  return true;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */
static void *new_object(Rt *rt, size_t size, const Desc *desc) {
  Obj *o = rt_block_new(rt, size);
  if (!o) return NULL;
  *o = (Obj){.rc = 1, .desc = desc};
  rt->live++;
  return o;
}

/* Of a string of so many bytes; a long one keeps a place behind them. */
enum { LONG_STRING = 64 };
static size_t place_offset(size_t n) { return (sizeof(StringObj) + n + 1 + 7) & ~(size_t)7; }
static size_t string_size(size_t n) {
  return n < LONG_STRING ? sizeof(StringObj) + n + 1 : place_offset(n) + sizeof(TextPlace);
}

TextPlace *rt_string_place(StringObj *s) {
  return s->len < LONG_STRING ? NULL : (TextPlace *)(void *)((char *)s + place_offset((size_t)s->len));
}

StringObj *rt_string_raw(Rt *rt, size_t n) {
  if (n > SIZE_MAX / 2) {
    rt_out_of_memory(rt);
    return NULL;
  }
  StringObj *s = new_object(rt, string_size(n), &desc_string);
  if (!s) return NULL;
  s->len = (int64_t)n;
  s->points = -1;
  s->bytes[n] = 0;
  TextPlace *place = rt_string_place(s);
  if (place) *place = (TextPlace){0, 0};
  return s;
}

Obj *rt_new_string(Rt *rt, const char *text, size_t n) {
  StringObj *s = rt_string_raw(rt, n);
  if (!s) return NULL;
  if (n) memcpy(s->bytes, text, n);
  return &s->h;
}

const Desc rt_desc_of_no_type = {.kind = D_OPAQUE, .nslots = 1, .slots = KIND(SLOT_PTR), .name = "opaque"};

OpaqueObj *rt_new_opaque(Rt *rt, const Desc *desc, void *pointer, void (*finalise)(void *pointer)) {
  OpaqueObj *x = new_object(rt, sizeof *x, desc ? desc : &rt_desc_of_no_type);
  if (!x) return NULL;
  x->pointer = pointer;
  x->finalise = finalise;
  x->owner = NULL;
  return x;
}

BoxObj *rt_new_box(Rt *rt, const Desc *variant, int64_t tag) {
  size_t n = (size_t)variant->args[tag]->nslots;
  BoxObj *b = new_object(rt, sizeof *b + n * sizeof(Slot), variant);
  if (!b) return NULL;
  b->h.tag = (int32_t)tag;
  memset(b->fields, 0, n * sizeof(Slot));
  return b;
}

ClosureObj *rt_new_closure(Rt *rt, RtFunc *fn) {
  ClosureObj *c = new_object(rt, sizeof *c + (size_t)fn->ncaps * sizeof(Slot), &desc_closure);
  if (!c) return NULL;
  c->fn = fn;
  memset(c->caps, 0, (size_t)fn->ncaps * sizeof(Slot));
  return c;
}

EnvObj *rt_new_env(Rt *rt, RtFunc *fn) {
  EnvObj *e = new_object(rt, sizeof *e + (size_t)fn->nacc * sizeof(Slot), &desc_env);
  if (!e) return NULL;
  e->fn = fn;
  memset(e->caps, 0, (size_t)fn->nacc * sizeof(Slot));
  return e;
}

/* ---- Counting ---------------------------------------------------------------------------------------------------- */
void rt_retain(Obj *p) {
  if (!rt_is_object(p)) return;
  int32_t count = __atomic_load_n(&p->rc, __ATOMIC_RELAXED);
  if (count > 0) p->rc = (int32_t)((uint32_t)count + 1);
  else if (count > RT_IMMORTAL) __atomic_sub_fetch(&p->rc, 1, __ATOMIC_RELAXED);
}

/* The other threads' last accesses come before this one's. */
bool rt_unshare(Obj *p) {
  if (__atomic_load_n(&p->rc, __ATOMIC_ACQUIRE) != -1) return false;
  p->rc = 1;
  return true;
}

/* Gives up a reference that isn't to be the last of an object of one thread. Was it the last of a shared one? */
static bool give_up_shared(Obj *p) {
  int32_t count = __atomic_load_n(&p->rc, __ATOMIC_RELAXED);
  if (count > 0) p->rc = count - 1;
  return count < 0 && count > RT_IMMORTAL && __atomic_add_fetch(&p->rc, 1, __ATOMIC_ACQ_REL) == 0;
}

_Static_assert(sizeof(Obj *) == 8 && LIMIT_TAG == UINT16_MAX, "an address of 48 bits and a tag share a word");

/* What is being released: objects without references, linked; and a few references, oldest first, that are yet to be
 * given up: their objects come from memory in the meantime. */
enum { PENDING = 16 };
typedef struct Work {
  Obj *dead;
  unsigned first, n;
  Obj *pending[PENDING];
} Work;

/* Gives one reference up; an object that lost its last one joins the worklist. */
static inline void give_up(Work *work, Obj *p) {
  if (!rt_alone(p) && !give_up_shared(p)) return;
  uint64_t word = (uint64_t)(uintptr_t)work->dead << 16 | (uint16_t)p->tag;
  memcpy(p, &word, sizeof word);
  work->dead = p;
}

static inline void give_up_oldest(Work *work) {
  Obj *p = work->pending[work->first % PENDING];
  work->first++;
  work->n--;
  give_up(work, p);
}

static inline void drop(Obj *p, Work *work) {
  if (!rt_is_object(p)) return;
  __builtin_prefetch(p, 1);
  if (work->n == PENDING) give_up_oldest(work);
  work->pending[(work->first + work->n++) % PENDING] = p;
}

/* Takes an object off the worklist; NULL if there is none. */
static inline Obj *next_dead(Work *work, int *tag) {
  while (!work->dead) {
    if (!work->n) return NULL;
    give_up_oldest(work);
  }
  Obj *p = work->dead;
  uint64_t word;
  memcpy(&word, p, sizeof word);
  work->dead = (Obj *)(uintptr_t)(word >> 16);
  *tag = (uint16_t)word;
  return p;
}

static void drop_slots(const uint8_t *kind, int n, const Slot *s, Work *work) {
  for (int k = 0; k < n; k++)
    if (kind[k] == SLOT_PTR) drop(s[k].p, work);
}

static void free_array(Rt *rt, ArrayObj *a, Work *work) {
  const Desc *elem = a->h.desc->args[0];
  if (a->owner) {
    drop(a->owner, work);
    rt_block_free(rt, a, a->bytes);
    return;
  }
  /* The whole capacity: slots that were never filled are NULL. */
  if (a->h.desc->pointers && elem->nslots)
    for (int64_t i = 0; i + elem->nslots <= a->cap; i += elem->nslots)
      drop_slots(elem->slots, elem->nslots, a->data + i, work);
  rt_array_block_free(rt, a, a->bytes);
}

static void free_log(Rt *rt, LogObj *l, Work *work) {
  const Desc *elem = l->h.desc->args[0];
  int64_t stride = 1 + elem->nslots;
  if (l->h.desc->pointers)
    for (int64_t i = 0; i < l->len; i++) drop_slots(elem->slots, elem->nslots, l->entries + i * stride + 1, work);
  heap_realloc(rt->heap, l->entries, (size_t)(l->cap * stride) * sizeof(Slot), 0);
  rt_log_drop_table(rt, l);
  rt_block_free(rt, l, sizeof *l);
}

/* Frees an object after dropping what it refers to. */
static void free_object(Rt *rt, Obj *o, int tag, Work *work) {
  rt->live--;
  switch (o->desc->kind) {
  case D_STRING: rt_block_free(rt, o, string_size((size_t)((StringObj *)o)->len)); break;
  case D_ARRAY: free_array(rt, (ArrayObj *)o, work); break;
  case D_BAG: free_log(rt, (LogObj *)o, work); break;
  case D_VARIANT: {
    BoxObj *b = (BoxObj *)o;
    const Desc *payload = o->desc->args[tag];
    drop_slots(payload->slots, payload->nslots, b->fields, work);
    rt_block_free(rt, b, sizeof *b + (size_t)payload->nslots * sizeof(Slot));
    break;
  }
  case D_FUN: {
    ClosureObj *c = (ClosureObj *)o;
    drop_slots(c->fn->param_kinds + (c->fn->nparams - c->fn->ncaps), c->fn->ncaps, c->caps, work);
    rt_block_free(rt, c, sizeof *c + (size_t)c->fn->ncaps * sizeof(Slot));
    break;
  }
  case D_ENV: {
    EnvObj *e = (EnvObj *)o;
    drop_slots(e->fn->acc_kinds, e->fn->nacc, e->caps, work);
    rt_block_free(rt, e, sizeof *e + (size_t)e->fn->nacc * sizeof(Slot));
    break;
  }
  case D_OPAQUE: {
    OpaqueObj *x = (OpaqueObj *)o;
    if (x->finalise) x->finalise(x->pointer);
    drop(x->owner, work);
    rt_block_free(rt, x, sizeof *x);
    break;
  }
  case D_INT:
  case D_FLOAT:
  case D_BOOL:
  case D_UNIT:
  case D_TUPLE: break; /* never objects */
  }
}

/* An array of numbers, which refers to nothing else. */
static inline bool is_plain_array(const Obj *o) {
  return o->desc->kind == D_ARRAY && !o->desc->pointers && !((const ArrayObj *)o)->owner;
}

void rt_release(Rt *rt, Obj *p) {
  if (!rt_is_object(p)) return;
  if (rt_alone(p) && is_plain_array(p)) {
    size_t bytes = ((ArrayObj *)p)->bytes;
    rt->live--;
    if (!rt_recycle_array(rt, p, bytes)) rt_array_block_free(rt, p, bytes);
    return;
  }
  Work work;
  work.dead = NULL;
  work.first = work.n = 0;
  give_up(&work, p);
  int tag;
  for (Obj *o; (o = next_dead(&work, &tag));) free_object(rt, o, tag, &work);
}

void rt_open_box(Rt *rt, BoxObj *b) {
  const Desc *payload = b->h.desc->args[b->h.tag];
  if (!rt_alone(&b->h)) {
    rt_retain_slots(payload->slots, payload->nslots, b->fields);
    rt_release(rt, &b->h);
    return;
  }
  rt->live--;
  rt_block_free(rt, b, sizeof *b + (size_t)payload->nslots * sizeof(Slot));
}

BoxObj *rt_empty_box(Rt *rt, BoxObj *b) {
  const Desc *payload = b->h.desc->args[b->h.tag];
  if (!rt_alone(&b->h)) {
    rt_retain_slots(payload->slots, payload->nslots, b->fields);
    rt_release(rt, &b->h);
    return NULL;
  }
  for (int k = 0; k < payload->nslots; k++)
    if (payload->slots[k] == SLOT_PTR) b->fields[k].p = NULL;
  return b;
}

void rt_retain_slots(const uint8_t *kind, int n, const Slot *s) {
  for (int k = 0; k < n; k++)
    if (kind[k] == SLOT_PTR) rt_retain(s[k].p);
}

void rt_release_slots(Rt *rt, const uint8_t *kind, int n, Slot *s) {
  for (int k = 0; k < n; k++)
    if (kind[k] == SLOT_PTR) {
      Obj *p = s[k].p;
      s[k].p = NULL;
      rt_release(rt, p);
    }
}

void rt_release_many(Rt *rt, const Slot *s, int n) {
  for (int k = 0; k < n; k++) rt_release(rt, s[k].p);
}

/* ---- Byte buffers ------------------------------------------------------------------------------------------------ */
void buf_reserve(Buf *b, size_t n) {
  if (b->failed || b->cap - b->len >= n) return;
  size_t cap = b->cap ? 2 * b->cap : 64;
  while (cap < b->len + n) cap *= 2;
  char *data = heap_realloc(b->rt->heap, b->data, b->cap, cap);
  if (data) {
    b->data = data;
    b->cap = cap;
  } else {
    b->failed = true;
    rt_out_of_memory(b->rt);
  }
}

void buf_add(Buf *b, const char *s, size_t n) {
  if (b->failed || n == 0) return;
  if (rt_look(b->rt)) b->failed = true;
  else buf_reserve(b, n);
  if (b->failed) return;
  memcpy(b->data + b->len, s, n);
  b->len += n;
}

void buf_puts(Buf *b, const char *z) { buf_add(b, z, strlen(z)); }

void buf_addc(Buf *b, char c) { buf_add(b, &c, 1); }

void buf_free(Buf *b) {
  heap_realloc(b->rt->heap, b->data, b->cap, 0);
  b->data = NULL;
  b->len = b->cap = 0;
}

Status buf_string(Buf *b, Obj **out) {
  Obj *s = b->failed ? NULL : rt_new_string(b->rt, b->data, b->len);
  buf_free(b);
  if (!s) return 1;
  *out = s;
  return 0;
}

/* ---- Calls -----------------------------------------------------------------------------------------
 * A closure that is called last takes no stack: the caller leaves the call to its own caller (RT_TAIL), and so on up
 * to here, where calls are made that aren't last. */
/* What the function's machine code refers to in this Rt. */
static inline Mod *native_of(const Rt *rt, const RtFunc *f) {
  return __builtin_expect(rt->mods != NULL, 0) ? &rt->mods[f->native->number] : mod_here(rt, f->native);
}

static Status __attribute__((noinline)) enter_measured(Rt *rt, RtFunc *f, bool native, const Slot *args, Slot *res) {
  Phase before = rt->heap->phases->now, phase = native ? PHASE_RUN : PHASE_EVALUATE;
  if (before != phase) phase_enter(rt->heap, phase);
  Status status = native ? f->entry(native_of(rt, f), args, res) : rt->evaluate(rt, f, args, res);
  if (before != phase) phase_leave(rt->heap, before);
  return status;
}

Status rt_enter(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  bool native = __atomic_load_n(&f->entry, __ATOMIC_ACQUIRE) && rt_flip(rt);
  rt->evaluations += !native;
  if (rt->heap->phases) return enter_measured(rt, f, native, args, res);
  return native ? f->entry(native_of(rt, f), args, res) : rt->evaluate(rt, f, args, res);
}

/* What the code takes gets references of its own. */
static Status enter(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  for (int k = 0; k < f->nparams; k++)
    if (f->taken[k]) rt_retain(args[k].p);
  return rt_enter(rt, f, args, res);
}

/* What the caller moves goes to the code as it is; other references that the code takes are new ones. */
static void hand_over(const RtFunc *f, const Slot *all, Slot *args, const bool *moved, int nargs) {
  for (int k = 0; k < f->nparams; k++) {
    if (!f->taken[k]) continue;
    if (k < nargs && moved[k]) args[k].p = NULL;
    else rt_retain(all[k].p);
  }
}

/* moved NULL: all arguments are borrowed. */
static Status enter_closure(Rt *rt, const ClosureObj *c, Slot *args, const bool *moved, int nargs, Slot *res) {
  Slot few[24], *all = few;
  size_t n = (size_t)nargs + (size_t)c->fn->ncaps, size = n * sizeof(Slot);
  if (n > sizeof few / sizeof *few && !(all = rt_block_new(rt, size))) return 1;
  if (nargs) memcpy(all, args, (size_t)nargs * sizeof(Slot));
  if (c->fn->ncaps) memcpy(all + nargs, c->caps, (size_t)c->fn->ncaps * sizeof(Slot));
  Status status;
  if (moved) {
    hand_over(c->fn, all, args, moved, nargs);
    status = rt_enter(rt, c->fn, all, res);
  } else {
    status = enter(rt, c->fn, all, res);
  }
  if (all != few) rt_block_free(rt, all, size);
  return status;
}

void rt_leave_call(Rt *rt, Obj *closure, const Slot *args, int nargs) {
  const RtFunc *f = ((ClosureObj *)closure)->fn;
  rt_retain(closure);
  rt_retain_slots(f->param_kinds, nargs, args);
  rt->tail.closure = closure;
  rt->tail.nargs = nargs;
  if (nargs) memcpy(rt->tail.args, args, (size_t)nargs * sizeof(Slot));
}

Status rt_make_call(Rt *rt, Slot *res) {
  Status status;
  do {
    ClosureObj *c = (ClosureObj *)rt->tail.closure;
    Slot args[LIMIT_TAIL_ARGUMENTS];
    int nargs = rt->tail.nargs;
    if (nargs) memcpy(args, rt->tail.args, (size_t)nargs * sizeof(Slot));
    rt->tail.closure = NULL;
    status = rt->interrupt ? rt_poll(rt) : 0;
    if (!status) status = enter_closure(rt, c, args, NULL, nargs, res);
    rt_release_slots(rt, c->fn->param_kinds, nargs, args);
    rt_release(rt, &c->h);
  } while (status == RT_TAIL);
  return status;
}

Status rt_call(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  Status status = enter(rt, f, args, res);
  return status == RT_TAIL ? rt_make_call(rt, res) : status;
}

Status rt_apply(Rt *rt, Obj *closure, const Slot *args, int nargs, Slot *res) {
  Status status = enter_closure(rt, (ClosureObj *)closure, (Slot *)(uintptr_t)args, NULL, nargs, res);
  return status == RT_TAIL ? rt_make_call(rt, res) : status;
}

Status rt_apply_moving(Rt *rt, Obj *closure, Slot *args, const bool *moved, int nargs, Slot *res) {
  Status status = enter_closure(rt, (ClosureObj *)closure, args, moved, nargs, res);
  return status == RT_TAIL ? rt_make_call(rt, res) : status;
}

bool rt_takes(const Obj *closure, int k) { return ((const ClosureObj *)closure)->fn->taken[k]; }

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
void *rt_zeroed(Rt *rt, size_t n, size_t size) {
  void *p = heap_realloc(rt->heap, NULL, 0, n && size ? n * size : 1);
  if (p) memset(p, 0, n * size);
  else rt_out_of_memory(rt);
  return p;
}

void rt_give_back(Rt *rt, void *p, size_t n, size_t size) {
  if (p) heap_realloc(rt->heap, p, n && size ? n * size : 1, 0);
}
