/* SPDX-License-Identifier: MIT */
/* Calls of functions that were built ahead of time: part of libatled_rt.a, and so of each such library.
 *
 * A thread has a context of its own, made at its first call: an Rt, a copy of each Mod, and the last error's message.
 * It goes when the thread ends, or the library is unloaded. Arrays of the caller get headers whose counts are immortal,
 * so code reads the caller's elements where they are and never changes them. Results are copied to the caller's
 * buffers when all of them are there, so a buffer may be an argument, too. */
#include "built/built.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

/* Recursion may use so much of the caller's stack below its frame; functions of the runtime use the rest of 256 KB. The
 * limit stays the same for calls whose frames are at most SLACK apart. */
enum { RECURSION = 176 << 10, SLACK = 16 << 10 };

typedef struct Context Context;
struct Context {
  Rt rt;
  Heap heap;
  Mod *mods;
  Slot *slots;
  char *headers;
  char message[1536];
  int32_t busy;          /* a call is under way */
  Context *next, **link; /* among all contexts */
};

/* All that is mutable in the library. */
static struct {
  pthread_once_t once;
  pthread_mutex_t lock; /* of `all` */
  pthread_key_t key;
  bool usable;
  int32_t lost; /* a context couldn't be made */
  Context *all;
  const BuiltLibrary *library;
  Functions functions; /* never closed: threads that go on at the end may call them */
  bool complete;       /* they are open, else why not */
  char why[512];
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The processor ----------------------------------------------------------------------------------------------- */
#if defined __x86_64__
static uint32_t saved_registers(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static bool has(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

/* The x86-64 level that processor and system support. */
static int find_level(void) {
  enum { LAHF = 1, LZCNT = 1 << 5, AVX_STATE = 6, AVX512_STATE = 0xe6 };
  uint32_t a, b, c, d, b7, c81, saved;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
  if (!__get_cpuid(0x80000001, &a, &b, &c81, &d)) return 1;
  if (!has(c, bit_SSE3 | bit_SSSE3 | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT | bit_CMPXCHG16B) || !has(c81, LAHF))
    return 1;
  saved = has(c, bit_OSXSAVE) ? saved_registers() : 0;
  if (!has(saved, AVX_STATE) || !has(c, bit_AVX | bit_FMA | bit_MOVBE | bit_F16C) || !has(c81, LZCNT)) return 2;
  uint32_t c7;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d) || !has(b7, bit_AVX2 | bit_BMI | bit_BMI2)) return 2;
  bool fourth =
      has(saved, AVX512_STATE) && has(b7, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
  return fourth ? 4 : 3;
}
#else
static int find_level(void) { return 0; }
#endif

static bool cpu_suffices(const BuiltLibrary *l) {
  static int32_t found; /* 1 + the level */
  int32_t level = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (!level) __atomic_store_n(&found, level = 1 + find_level(), __ATOMIC_RELAXED);
  return level > l->cpu;
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */
static void free_context(Context *c) {
  rt_clear_error(&c->rt);
  rt_blocks_free(&c->rt);
  free(c->mods);
  free(c->slots);
  free(c->headers);
  free(c);
}

/* When a thread ends. */
static void leave_thread(void *context) {
  Context *c = context;
  pthread_mutex_lock(&state.lock);
  *c->link = c->next;
  if (c->next) c->next->link = c->link;
  pthread_mutex_unlock(&state.lock);
  free_context(c);
}

static void open_functions(const BuiltLibrary *l) {
  functions_init(&state.functions, l->functions ? (FunctionFamily)(l->functions - 1) : FUNCTIONS_LIBM,
                 functions_width(l->cpu));
  state.complete = functions_open(&state.functions, state.why, sizeof state.why);
}

/* Once, by the first call. */
static void begin(void) {
  open_functions(__atomic_load_n(&state.library, __ATOMIC_ACQUIRE));
  if (pthread_key_create(&state.key, leave_thread) == 0) __atomic_store_n(&state.usable, true, __ATOMIC_RELEASE);
}

/* When the library is unloaded, or the program ends: then other threads may still be at it, and keep what they use. */
static __attribute__((destructor)) void end(void) {
  bool usable = __atomic_exchange_n(&state.usable, false, __ATOMIC_ACQ_REL);
  if (usable) pthread_key_delete(state.key);
  for (Context *c = state.all, *next; c; c = next) {
    next = c->next;
    if (!__atomic_load_n(&c->busy, __ATOMIC_ACQUIRE)) free_context(c);
  }
  state.all = NULL;
}

static Status no_evaluator(Rt *rt, RtFunc *f, const Slot *args, Slot *res) {
  (void)f, (void)args, (void)res;
  return rt_error(rt, ERR_RULE, 0, "a function that is called has no machine code");
}

static bool fill(Context *c, const BuiltLibrary *l) {
  heap_init(&c->heap);
  rt_init(&c->rt, &c->heap);
  c->mods = malloc(sizeof *c->mods * (size_t)l->nmods);
  c->slots = malloc(sizeof *c->slots * (size_t)(l->slots + 1));
  c->headers = malloc((size_t)l->headers + 1);
  if (!c->mods || !c->slots || !c->headers) return false;
  for (int64_t k = 0; k < l->nmods; k++) {
    c->mods[k] = l->mods[k];
    c->mods[k].rt = &c->rt;
  }
  c->rt.evaluate = no_evaluator;
  c->rt.mods = c->mods;
  c->rt.strict = l->strict;
  c->rt.functions = &state.functions;
  return true;
}

static Context *add_context(const BuiltLibrary *l) {
  Context *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  if (!fill(c, l) || pthread_setspecific(state.key, c) != 0) {
    free_context(c);
    return NULL;
  }
  pthread_mutex_lock(&state.lock);
  c->next = state.all;
  c->link = &state.all;
  if (c->next) c->next->link = &c->next;
  state.all = c;
  pthread_mutex_unlock(&state.lock);
  return c;
}

/* Is the library ready for calls? */
static bool is_usable(const BuiltLibrary *l) {
  if (__atomic_load_n(&state.usable, __ATOMIC_ACQUIRE)) return true;
  __atomic_store_n(&state.library, l, __ATOMIC_RELEASE);
  pthread_once(&state.once, begin);
  return __atomic_load_n(&state.usable, __ATOMIC_ACQUIRE);
}

/* The thread's; NULL: out of memory. */
static Context *context_of_thread(const BuiltLibrary *l) {
  Context *c = pthread_getspecific(state.key);
  return c ? c : add_context(l);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
static const BuiltPlace *place_of(const BuiltLibrary *l, uint32_t site) {
  int64_t low = 0, high = l->nplaces;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (l->places[middle].site < site) low = middle + 1;
    else high = middle;
  }
  return low < l->nplaces && l->places[low].site == site ? &l->places[low] : NULL;
}

/* The innermost place that is the program's own. */
static const BuiltPlace *place_of_error(const BuiltLibrary *l, const RtError *e) {
  const BuiltPlace *at = place_of(l, e->site);
  for (int k = 0; k < e->ntrace && !at; k++) at = place_of(l, e->trace[k]);
  return at;
}

static int32_t fail(Context *c, const BuiltFunction *f, BuiltStatus status) {
  const RtError *e = &c->rt.error;
  const BuiltPlace *at = place_of_error(f->library, e);
  if (e->kind == ERR_MEMORY) status = BUILT_NO_MEMORY;
  if (at)
    snprintf(c->message, sizeof c->message, "%s: %s:%u:%u: %s", f->name, f->library->files[at->file], at->line,
             at->column, e->message);
  else snprintf(c->message, sizeof c->message, "%s: %s", f->name, e->message);
  rt_clear_error(&c->rt);
  return (int32_t)status;
}

const char *built_error(const BuiltLibrary *l) {
  if (!cpu_suffices(l)) return "this processor lacks instructions that the library was built with";
  if (is_usable(l) && !state.complete) return state.why;
  Context *c = __atomic_load_n(&state.usable, __ATOMIC_ACQUIRE) ? pthread_getspecific(state.key) : NULL;
  if (c) return c->message;
  return __atomic_load_n(&state.lost, __ATOMIC_RELAXED) ? "out of memory" : "";
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
/* Of `rank` sizes; -1: too many elements. */
static int64_t count_elements(const Slot *sizes, int rank) {
  int64_t n = 1;
  for (int k = 0; k < rank; k++)
    if (sizes[k].i < 0 || __builtin_mul_overflow(n, sizes[k].i, &n) || n > LIMIT_ELEMENTS) return -1;
  return n;
}

/* A header over the caller's elements. */
static Status put_array(Context *c, const BuiltPart *p, const Slot *passed, ArrayObj *a, Slot *to) {
  int64_t n = count_elements(passed + 1, p->rank);
  if (n < 0) return rt_error(&c->rt, ERR_SHAPE, 0, "`%s` has too many elements", p->name);
  if (n > 0 && !passed->raw) return rt_error(&c->rt, ERR_SHAPE, 0, "`%s` is NULL", p->name);
  *a = (ArrayObj){.h = {.rc = RT_IMMORTAL, .desc = p->desc}, .data = passed->raw};
  for (int k = 0; k < p->rank; k++) a->dims[k] = passed[1 + k].i;
  to->p = &a->h;
  return 0;
}

/* Puts the arguments to c->slots. What the results are to have follows; NULL after an error. */
static const Slot *put_arguments(Context *c, const BuiltFunction *f, const Slot *passed) {
  char *header = c->headers;
  for (int64_t k = 0; k < f->nparams; k++) {
    const BuiltPart *p = &f->params[k];
    Slot *to = &c->slots[k];
    if (p->kind == BUILT_ARRAY) {
      if (put_array(c, p, passed, (ArrayObj *)(void *)header, to)) return NULL;
      header += sizeof(ArrayObj) + sizeof(int64_t) * (size_t)p->rank;
      passed += p->rank;
    } else if (p->kind == BUILT_BOOL) {
      to->i = (int32_t)passed->i != 0;
    } else {
      *to = *passed;
    }
    passed++;
  }
  for (int64_t k = 0; k < f->ncaptures; k++) c->slots[f->nparams + k] = f->captures[k];
  return passed;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
static int passed_for(const BuiltPart *p) { return p->kind == BUILT_ARRAY && p->like < 0 ? 3 : 1; }

static size_t bytes_of(const ArrayObj *a) {
  size_t n = sizeof(Slot) * (size_t)a->h.desc->args[0]->nslots;
  for (int k = 0; k < a->h.desc->rank; k++) n *= (size_t)a->dims[k];
  return n;
}

static Status check_like(Context *c, const BuiltFunction *f, const BuiltPart *p, const ArrayObj *a) {
  const ArrayObj *like = (const ArrayObj *)(const void *)c->slots[p->like].p;
  for (int k = 0; k < p->rank; k++)
    if (a->dims[k] != like->dims[k])
      return rt_error(&c->rt, ERR_SHAPE, 0, "`%s` has size %lld, and `%s` has size %lld", p->name,
                      (long long)a->dims[k], f->params[p->like].name, (long long)like->dims[k]);
  return 0;
}

/* Tells the array's sizes; an error if it doesn't fit. */
static Status check_room(Context *c, const BuiltPart *p, const ArrayObj *a, const Slot *passed) {
  size_t *dims = passed[2].raw;
  int64_t n = 1;
  for (int k = 0; k < p->rank; k++) {
    if (dims) dims[k] = (size_t)a->dims[k];
    n *= a->dims[k];
  }
  if (!passed->raw || (uint64_t)n <= (uint64_t)passed[1].i) return 0;
  return rt_error(&c->rt, ERR_SHAPE, 0, "`%s` needs room for %lld elements, not %llu", p->name, (long long)n,
                  (unsigned long long)passed[1].i);
}

static BuiltStatus check_results(Context *c, const BuiltFunction *f, const Slot *results, const Slot *passed) {
  BuiltStatus status = BUILT_OK;
  for (int64_t k = 0; k < f->nresults; k++) {
    const BuiltPart *p = &f->results[k];
    const ArrayObj *a = (const ArrayObj *)(const void *)results[k].p;
    if (p->kind == BUILT_ARRAY && p->like >= 0 && check_like(c, f, p, a)) status = BUILT_FAILED;
    if (p->kind == BUILT_ARRAY && p->like < 0 && check_room(c, p, a, passed) && !status) status = BUILT_BAD_ROOM;
    passed += passed_for(p);
  }
  return status;
}

static void write_result(const BuiltPart *p, Slot result, void *to) {
  if (p->kind == BUILT_BOOL) {
    int value = result.i != 0;
    memcpy(to, &value, sizeof value);
  } else if (p->kind != BUILT_ARRAY) {
    memcpy(to, &result, sizeof result);
  } else {
    const ArrayObj *a = (const ArrayObj *)(const void *)result.p;
    size_t n = bytes_of(a);
    if (n) memmove(to, a->data, n);
  }
}

/* Do the elements lie in an array of the caller's? */
static bool is_callers(const Context *c, const BuiltFunction *f, const ArrayObj *a) {
  for (int64_t k = 0; k < f->nparams; k++) {
    const ArrayObj *p = (const ArrayObj *)(const void *)c->slots[k].p;
    if (f->params[k].kind == BUILT_ARRAY && (uintptr_t)a->data - (uintptr_t)p->data < bytes_of(p)) return true;
  }
  return false;
}

/* A result that is a part of an argument is copied before other results, which may overwrite that, are written. */
static Status copy_callers(Context *c, const BuiltFunction *f, Slot *results) {
  for (int64_t k = 0; f->nresults > 1 && k < f->nresults; k++) {
    ArrayObj *a = (ArrayObj *)(void *)results[k].p;
    if (f->results[k].kind != BUILT_ARRAY || !is_callers(c, f, a)) continue;
    ArrayObj *copy = rt_copy(&c->rt, a);
    if (!copy) return 1;
    rt_release(&c->rt, &a->h);
    results[k].p = &copy->h;
  }
  return 0;
}

/* Writes all results, or none, and gives them up. */
static int32_t give_results(Context *c, const BuiltFunction *f, Slot *results, const Slot *passed) {
  BuiltStatus status = check_results(c, f, results, passed);
  if (!status && copy_callers(c, f, results)) status = BUILT_FAILED;
  for (int64_t k = 0; k < f->nresults; k++) {
    const BuiltPart *p = &f->results[k];
    if (!status && passed->raw) write_result(p, results[k], passed->raw);
    passed += passed_for(p);
  }
  for (int64_t k = 0; k < f->nresults; k++)
    if (f->results[k].kind == BUILT_ARRAY) rt_release(&c->rt, results[k].p);
  return status ? fail(c, f, status) : BUILT_OK;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static int32_t run(Context *c, const BuiltFunction *f, const Slot *passed) {
  const Slot *wanted = put_arguments(c, f, passed);
  if (!wanted) return fail(c, f, BUILT_BAD_ARGUMENT);
  Slot *results = c->slots + f->nparams + f->ncaptures;
  char *limit = (char *)__builtin_frame_address(0) - RECURSION;
  if ((uintptr_t)limit + SLACK - (uintptr_t)c->rt.stack_limit > 2 * SLACK) rt_set_stack_limit(&c->rt, limit);
  Status status = f->entry(&c->mods[f->module], c->slots, results);
  if (status == RT_TAIL) status = rt_make_call(&c->rt, results);
  return status ? fail(c, f, BUILT_FAILED) : give_results(c, f, results, wanted);
}

int32_t built_call(const BuiltFunction *f, const Slot *passed) {
  if (!cpu_suffices(f->library)) return BUILT_WRONG_CPU;
  bool usable = is_usable(f->library);
  if (usable && !state.complete) return BUILT_NO_FUNCTIONS;
  Context *c = usable ? context_of_thread(f->library) : NULL;
  if (!c) {
    __atomic_store_n(&state.lost, 1, __ATOMIC_RELAXED);
    return BUILT_NO_MEMORY;
  }
  __atomic_store_n(&c->busy, 1, __ATOMIC_RELAXED);
  int32_t status = run(c, f, passed);
  __atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE);
  return status;
}
