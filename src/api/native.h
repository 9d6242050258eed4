/* SPDX-License-Identifier: MIT */
/* Native pointers: what native.c, general.c, pins.c, freeze.c, callers.c and contexts.c share.
 *
 *   AtledFunction ── Native ── now ──► Pin ── modules, machine code, frozen globals and captures
 *                         └─ callers ──► Callers ── a Caller for each thread, which says in which pin it is
 *                                               └── Contexts: an Rt and a Mod for each module of a pin
 *
 * A pin never changes once it is published. So threads read it without a lock, and the thread of the VM frees it when
 * no caller is in it. */
#ifndef ATLED_NATIVE_H
#define ATLED_NATIVE_H
#include "api/vm.h"
#include "jit/rt_table.h"
#include <pthread.h>

/* ---- freeze.c: copies of values that no count of changes --------------------------------------------------------- */
typedef struct Freezer {
  AtledVM *vm;
  Arena *arena;
  RtFunc *(*function)(void *user, const RtFunc *f); /* what the copy of a closure calls; NULL: an error is raised */
  void *user;
  Map copies;         /* object → its copy; copy → itself */
  Vec(Obj *) objects; /* the copies, in the order in which they were made */
  int done;           /* of these, refer to copies alone */
} Freezer;
void freezer_init(Freezer *z, AtledVM *vm, Arena *arena, RtFunc *(*function)(void *user, const RtFunc *f), void *user);
/* Replaces the pointers among n slots of these kinds by copies, which are immortal; arrays of numbers share their
 * elements with the originals and keep those alive. False: rt.error says why not. May leave by heap.on_oom: what was
 * made until then freezer_free frees. */
bool freeze(Freezer *z, const uint8_t *kinds, int n, Slot *slots);
void freezer_free(Freezer *z);

/* ---- pins.c: code with all that it refers to -------------------------------------------------------------------- */
typedef struct PinPlace {
  const char *file; /* NULL: not the user's */
  int line, column;
} PinPlace;
/* A copy of a module, with machine code. */
typedef struct PinModule {
  const Mod *of;
  LModule *code;
  Mod *mod;
  PinPlace *places; /* by site */
  uint32_t nsites;
} PinModule;
/* A scalar or array of a parameter or result, after tuples and records were flattened: a slot. */
typedef struct Leaf {
  const Desc *desc;
  size_t header; /* of an array: where its header lies among Context.lent */
} Leaf;
typedef struct Pin Pin;
struct Pin {
  JitPin code; /* first: machine code gets its address */
  uint64_t number;
  const char *purpose;
  bool ahead; /* its code goes to another program, which has no functions of this host's */
  AtledVM *vm;
  Arena arena;
  PinModule *modules;
  int nmodules, room;
  uint32_t nsites; /* of all modules */
  Map globals;     /* 1 + index → slots */
  Freezer frozen;
  RtTable table; /* of its machine code */
  Slot closure;
  JitEntry entry; /* of its function, if that has no captures; else NULL */
  const Desc *param, *result;
  size_t nargs;          /* slots; captures aren't counted */
  int nresults;          /* slots */
  Leaf *params, *leaves; /* of all parameters, of all results; NULL: the type hasn't the general form */
  size_t lent;           /* bytes of headers of all parameters */
  bool array;            /* its only parameter, and the second result if there is one, is an array of floats */
  Pin *next;             /* among those that were replaced */
};
/* purpose: what messages say of a function in it, "with a native pointer". NULL: out of memory */
Pin *pin_new(AtledVM *vm, const char *purpose);
/* Within a call: compiles all that the closure may run, and freezes what it refers to. May leave by heap.on_oom; then
 * pin_free frees what was made. Not ATLED_OK: the error is reported. */
AtledStatus pin_fill(Pin *p, Obj *closure);
/* The same for several closures, without compiling: each becomes its frozen copy. */
AtledStatus pin_take(Pin *p, Slot *closures, int n);
/* The slots of a global that one of its modules names. */
const Slot *pin_global(const Pin *p, int index);
/* No caller is in it. NULL is allowed. */
void pin_free(Pin *p);

/* ---- contexts.c: the run-time state of one call at a time ------------------------------------------------------- */
typedef struct Failure {
  AtledDiagnostic diagnostic;
  uint64_t number; /* in the order of failures; 0: there is none, or another call has the context */
  int32_t told;    /* atled_native_error gave it: its thread may still read it */
  char message[1024], file[512], rendered[2048];
} Failure;
typedef struct Context Context;
typedef struct Caller Caller;
struct Context {
  Rt rt;
  Heap heap;
  Mod *mods; /* of the pin */
  Slot *results;
  ArrayObj *in, *out; /* headers over the host's elements in a call with arrays */
  Slot array;         /* `in` */
  Slot *args;         /* of a call of the general form */
  char *lent;         /* headers over the host's elements in it */
  Clock *clock;       /* that ends such a call; NULL: there was none with a time limit */
  int nmods, nresults, nargs;
  size_t lent_bytes;
  uint64_t pin; /* the number of `of`; 0: none */
  const Pin *of;
  int32_t busy;
  Caller *owner;    /* whose calls alone it serves; NULL: anybody's */
  uintptr_t thread; /* that used it last */
  Failure failure;
  Context *next; /* of all of the VM */
};

/* ---- callers.c: which thread is in which pin -------------------------------------------------------------------- */
enum { CALLERS = 64, CALLER_BYTES = 64, CALLER_ENTERS = 1 };
/* A thread's own; only that thread changes `state` and `context`. */
struct Caller {
  /* `thread`: no call is under way; CALLER_ENTERS; the Pin of a call; 0: it is nobody's */
  _Alignas(CALLER_BYTES) uintptr_t state;
  uintptr_t thread;
  Context *context;
};
typedef struct Callers {
  Caller all[CALLERS];
  Heap *heap;         /* the VM's, for its allocator and limit alone */
  Heap contexts_heap; /* of the contexts themselves */
  Context *contexts;  /* all; added to without a lock */
  int64_t visitors;   /* calls under way that have no Caller */
  uint64_t failures;  /* so far */
  int32_t lost;       /* a failure couldn't be kept, for want of memory */
  bool swift;         /* the system can make all threads' writes visible: callers need no fence of their own */
  Pin *replaced;      /* not freed yet; the VM's thread alone uses it */
  uint64_t pins;      /* made so far; the same */
} Callers;
_Static_assert(sizeof(Caller) == CALLER_BYTES, "caller_home computes with it");

/* What native pointers of a handle read: its first member. */
typedef struct Native {
  Pin *now; /* replaced atomically; NULL: the handle has no pointer */
  Callers *callers;
} Native;

#if defined __x86_64__ && !defined __SANITIZE_THREAD__
#define CALLER_BY_ASM 1
#else
#define CALLER_BY_ASM 0
#endif

/* A number that no other living thread has. Read anew each time: keeping it in a register during a call costs more. */
static inline uintptr_t caller_thread(void) {
#if CALLER_BY_ASM
  uintptr_t thread;
  __asm__ volatile("movq %%fs:0, %0" : "=r"(thread));
  return thread;
#else
  return (uintptr_t)pthread_self();
#endif
}

/* Where the thread's Caller is, unless another thread's home is there too. */
static inline Caller *caller_home(Callers *c, uintptr_t thread) {
  enum { ODD = 0x1e3779b1, SHIFT = 46 };
  uintptr_t hash = (uintptr_t)((uint64_t)thread * ODD >> SHIFT);
  return (Caller *)(void *)((char *)c->all + (hash & (uintptr_t)(CALLERS - 1) * CALLER_BYTES));
}

/* In one instruction, which GCC doesn't make of an atomic load. */
static inline bool caller_is_idle(const Caller *c, uintptr_t thread) {
#if CALLER_BY_ASM
  bool same;
  __asm__ volatile("cmpq %2, %1" : "=@cce"(same) : "m"(c->state), "r"(thread));
  return same;
#else
  return __atomic_load_n(&c->state, __ATOMIC_RELAXED) == thread;
#endif
}

/* Begins a call of the thread whose idle Caller this is. The pin isn't freed before caller_leave.
 *
 * The order of the write of CALLER_ENTERS and the read of `now` is what matters. The compiler keeps it; the processor
 * needn't, since callers_forget has all processors' writes made visible between replacing `now` and reading `state`. */
static inline const Pin *caller_enter(Caller *c, Pin *const *now) {
  __atomic_store_n(&c->state, CALLER_ENTERS, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const Pin *p = __atomic_load_n(now, __ATOMIC_ACQUIRE);
  __atomic_store_n(&c->state, (uintptr_t)p, __ATOMIC_RELEASE);
  return p;
}

static inline void caller_leave(Caller *c, uintptr_t thread) { __atomic_store_n(&c->state, thread, __ATOMIC_RELEASE); }

Callers *callers_new(Heap *heap); /* NULL: out of memory */
/* No call is under way. */
void callers_free(Callers *c);
/* The same for any thread. *mine gets the Caller; NULL: the call is a visitor's. */
const Pin *callers_enter(Callers *c, Pin *const *now, Caller **mine);
void callers_leave(Callers *c, Caller *mine);
/* p was replaced, and is freed when nobody is in it; also those replaced before. p may be NULL. */
void callers_forget(Callers *c, Pin *p);

/* The one of the thread's Caller, if that is at home and no call uses it; else NULL. */
static inline Context *context_own(Callers *all, uintptr_t thread) {
  Caller *home = caller_home(all, thread);
  if (__atomic_load_n(&home->thread, __ATOMIC_RELAXED) != thread) return NULL;
  Context *c = home->context;
  return c && !__atomic_load_n(&c->busy, __ATOMIC_RELAXED) ? c : NULL;
}
Context *context_take_slowly(Callers *all, const Pin *p);
/* A context for a call of this pin by this thread, for nobody else until context_give. NULL: out of memory. */
static inline Context *context_take(Callers *all, const Pin *p) {
  Context *c = context_own(all, caller_thread());
  if (!c || c->pin != p->number) return context_take_slowly(all, p);
  __atomic_store_n(&c->busy, 1, __ATOMIC_RELAXED);
  return c;
}
static inline void context_give(Context *c) { __atomic_store_n(&c->busy, 0, __ATOMIC_RELEASE); }
/* Ends all calls that are under way. From any thread or signal handler. */
void contexts_interrupt(Callers *c);
/* Makes the error in c->rt the thread's last one. */
void context_failed(Context *c, const Pin *p);
void contexts_free(Callers *c);

/* ---- Calls in a context ------------------------------------------------------------------------------------------ */
/* A call runs on the caller's stack: recursion in it may use RECURSION bytes below its pointer, and functions of the
 * runtime the rest of 256 KB. The limit stays the same for calls whose frames are at most SLACK apart. */
enum { RECURSION = 176 << 10, SLACK = 16 << 10 };

static inline char *stack_pointer(void) {
#if CALLER_BY_ASM
  char *here;
  __asm__ volatile("movq %%rsp, %0" : "=r"(here));
  return here;
#else
  return __builtin_frame_address(0);
#endif
}

static inline bool stack_limit_is_near(const Rt *rt) {
  return (uintptr_t)stack_pointer() - RECURSION + SLACK - (uintptr_t)rt->stack_limit <= 2 * SLACK;
}

static inline void context_set_stack(Context *c) {
  if (!stack_limit_is_near(&c->rt)) rt_set_stack_limit(&c->rt, stack_pointer() - RECURSION);
}

Status context_apply_rest(Context *c, const Slot *args, Status status);
/* Runs the pin's function; its results are in the context, which must be bound to p. */
static inline Status context_apply(Context *c, const Pin *p, const Slot *args) {
  Status status = p->entry ? p->entry(c->mods, args, c->results) : 1;
  return __builtin_expect(status != 0, 0) ? context_apply_rest(c, args, status) : 0;
}

/* ---- general.c --------------------------------------------------------------------------------------------------- */
/* Does the handle's type have the general form? */
bool general_fits(const AtledFunction *f);
/* What calls of this form need of the type; nothing, if it hasn't the form. May leave by heap.on_oom. */
void general_prepare(Pin *p, const AtledFunction *f);
int32_t general_call(AtledFunction *f, const AtledNativeArg *args, size_t nargs, AtledNativeResult *results,
                     size_t nresults);

/* ---- native.c ---------------------------------------------------------------------------------------------------- */
/* Within a call: a pin of the handle's function. *made is the caller's, whatever happens. */
AtledStatus native_pin(const AtledFunction *f, Pin **made);
/* Calls that begin from here on are of this pin, which the handle takes; NULL, if it has none. */
void native_replace(Native *n, Pin *p);
void native_release(Native *n); /* the handle goes */
#endif
