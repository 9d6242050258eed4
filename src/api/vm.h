/* SPDX-License-Identifier: MIT */
/* The VM object behind atled.h, shared by the files of this folder.
 *
 *   vm.c       making and freeing VMs; entering and leaving them
 *   machine_stack.c  the VM's machine stack
 *   structs.c  structures of hosts with an older or newer header
 *   settings.c what the environment's variables set
 *   environment.c  the thread's floating-point environment and locale
 *   alarm.c    when a call has to end
 *   clock.c    the thread that looks at the time
 *   report.c   diagnostics and run-time errors as the host sees them
 *   modules.c  imports and the embedded standard library
 *   granted.c  what the program may do
 *   evaluate.c source text to values
 *   pipeline.c source text to optimised graphs
 *   program.c  whole programs, kept as they were lowered
 *   reported_items.c  tests and benchmarks
 *   batches.c  what becomes of its steps, a batch at a time
 *   keep.c     what stays of definitions
 *   run.c      lowered modules: evaluator, machine code, globals
 *   static_values.c  values of `static`, for the compiler
 *   tiers.c    machine code while a module is evaluated
 *   handles.c  functions of the host's, and the values that cross the border: handles.h lists the files
 *   hosts.c    functions of the host's: definitions; host_calls.c: their calls
 *   native.c   functions of machine code for hosts: general.c those of any numbers, pins.c what they refer to, freeze.c
 *              values in that, callers.c who is in which, contexts.c the state of a call
 *   undo.c     what names meant before an entry; stale_uses.c: definitions made with files that were edited since
 *   names.c    what names mean, and search; complete.c: how words may go on
 *   inspect.c  types, documentation, names; stages.c: the program after a stage of the compiler
 *   definitions.c  what a source defines
 *   watch.c    what the VM wants to know of the optimiser's runs
 *   complete.c what a prompt asks about a text that isn't finished */
#ifndef ATLED_VM_H
#define ATLED_VM_H
#include "api/clock.h"
#include "api/environment.h"
#include "api/machine_stack.h"
#include "api/structs.h"
#include "atled.h"
#include "ir/ir.h"
#include "jit/jit.h"
#include "eval/eval.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "opt/passes.h"
#include "parser/parser.h"
#include "runtime/runtime.h"
#include "support/phases.h"
#include "elab/elab.h"
#include "check/check.h"

/* A top-level value: its slots, at an address that doesn't move. */
typedef struct Global {
  const Desc *desc;
  Slot *slots;
  bool set;
} Global;

/* What was hot in a module, in this run and earlier ones, for the next: see tiers.c. */
typedef struct Notes {
  int32_t *data;
  size_t len, cap;
  bool news; /* not kept yet */
} Notes;

/* A lowered module that can be run: the entries of a script, or a host's function. */
typedef struct Unit {
  LModule *code; /* of an image */
  LSite *sites;  /* of the code; their numbers in errors begin at mod->site_base */
  char **places; /* of each site, what run_place was asked for; else NULL */
  int nsites;
  size_t sites_size;
  bool held;   /* by a handle or a result of one, or for its constants */
  int holders; /* handles and results; the last one frees it */
  Mod *mod;
  bool native; /* all of it is machine code */
  bool begun;  /* something of it has run */
  Notes notes;
  int64_t number; /* in the order in which they are made */
  struct Unit *next;
} Unit;

/* What names meant before an entry defined them. */
typedef struct UndoName {
  Map *map; /* of the main module */
  Sym name;
  void *old; /* NULL: there was none */
} UndoName;
typedef struct Undo {
  struct Undo *before; /* of the entry before, or NULL */
  void *latest_type;   /* Module.latest_type */
  int opened;          /* modules that were open */
  int n;
  UndoName names[];
} Undo;

/* A definition of the main program that was made with a module of a file, or without any (NULL). */
typedef struct Use {
  struct Use *before; /* an older definition, or NULL */
  Sym name;
  const Module *module;
} Use;

/* What an import of a file has led to. */
typedef struct Imported {
  const char *path, *real; /* as it is opened; its one spelling */
  uint32_t source;
} Imported;

typedef struct Result {
  Sym name; /* NULL: an expression's value */
  const Binding *binding;
  Type *type;
  const char *shown; /* an expression's type as it is shown, if not so */
  const Desc *desc;  /* NULL: nothing to show (a polymorphic function) */
  const Slot *slots;
  Slot *owned;        /* an expression's value is released with the result */
  uint32_t since;     /* the arena's epoch when it was made */
  uint32_t evaluated; /* of a constant: the same when it was evaluated to be shown, else 0 */
} Result;

/* To where the VM was at a mark of its arena: what isn't on that. */
typedef struct WayBack {
  uint32_t epoch; /* of the arena's mark; 0: there is none */
  int64_t unit;   /* the latest then */
  int nglobals;   /* the world's */
  int learnt;     /* library items read, functions made */
#ifdef ATLED_VERIFY
  ArenaCopy *copy;
  uint32_t walks[2]; /* the world's */
#endif
} WayBack;

/* What is wanted of the optimiser's runs: watch.c. */
typedef struct Watched {
  PassWatch watch, *before; /* before: World.watch, while the graphs after a run are collected */
  int shown;                /* the run whose graphs are; -1: none is */
  Map *graphs;              /* OptStages -> its graph */
  bool verify;              /* the verifier checks each graph that a run makes */
  char wrong[256];          /* the first complaint; "": none */
} Watched;

typedef Vec(Result) ResultList;
typedef Vec(AtledDiagnostic) ReportList;

/* A fragment that is being compiled. */
typedef struct TierRequest {
  Mod *mod;            /* whose; NULL: of one that is gone, or nothing is compiled */
  LFragment *fragment; /* NULL: nothing is */
  Arena arena;         /* of it and its image */
} TierRequest;

enum { TIER_CANDIDATES = 16 };
/* What mode `auto` has in mind: tiers.c. */
typedef struct Tiers {
  int32_t tick;  /* ticks so far */
  int32_t quiet; /* ... before which nothing more is asked for */
  int64_t coin;  /* of ATLED_COIN; -1: none */
  bool off;      /* no machine code can be made */
  bool begun;    /* what is read once has been */
  TierRequest requests[JIT_REQUESTS];
  int32_t attached;  /* how often machine code was; read by other threads */
  int32_t nproposed; /* what is hot in other threads, under rt_lock_shared */
  EvalHot proposed[TIER_CANDIDATES];
  char why[512]; /* what the user is to be warned of */
} Tiers;

/* What a compilation began with, and the limit of the config that it has exceeded. */
typedef struct CompileLimits {
  double since;
  size_t bytes;
  uint32_t nodes, looks;
  const char *exceeded; /* what the error says; NULL: none */
} CompileLimits;

typedef struct HostFunction HostFunction; /* hosts.h */

struct AtledVM {
  Heap heap;
  Phases phases; /* unused if nobody wants to know */
  AtledConfig config;
  VmStack *stack;
  locale_t locale; /* "C" */
  Clock *clock;    /* NULL until a time limit needs it */
  bool clock_runs; /* it rings at rt.deadline */
  CompileLimits compiling;
  Arena arena;    /* definitions: as long as the VM */
  Arena scratch;  /* one call's diagnostics and texts */
  Arena lowering; /* what lowering needs */
  SymTable syms;
  Sources sources;
  SourceLoans loans; /* to handles */
  Diags diags;
  Lexer *lexer;
  Checker *checker;
  Module *prelude, *main;
  World *world;
  Elab *elab;
  Rt rt;
  Functions functions;
  Jit *jit;
  Tiers tiers;
  Watched watched;
  bool threads_made;         /* rt.begin_pool was set */
  Vec(HostFunction *) hosts; /* by number: hosts.c */
  Vec(Global *) globals;     /* by index in world->globals */
  Unit *units;
  int64_t last_unit;       /* its number */
  WayBack way;             /* which is taken when the next entry begins: the last one defined nothing */
  WayBack inner;           /* to where the entry that runs had checked its definitions */
  WayBack batch;           /* to where the batch of steps began that is compiled: see batches.c */
  WayBack *entry;          /* to where it began */
  bool defined;            /* the entry that runs has defined something */
  Map libraries;           /* Sym -> Module: those named so far, and modules of the host's functions */
  Vec(Module *) modules;   /* imported files */
  Vec(Module *) loading;   /* those being checked, outermost first */
  Vec(Module *) fresh;     /* checked, not run yet, in order */
  Undo *undo;              /* the last entry's that defined something, or NULL */
  Use *uses;               /* the latest, or NULL */
  Vec(const char *) files; /* imported by this call, or tried to be */
  Vec(Imported) imported;  /* the same, each time */
  ResultList results;
  ReportList reports;
  int first_error;           /* in reports, or -1 */
  AtledDiagnostic no_memory; /* stands ready */
  bool out_of_memory;        /* the last call met the limit */
  bool warned_no_jit;
  bool warned_no_cache;
  bool checked_settings;
  int handles;             /* that aren't released */
  bool closing;            /* the host has freed the VM, which waits for them */
  struct Callers *callers; /* of native pointers; NULL until there are some. Other threads read it */
  bool running;
  size_t written;          /* bytes of output in this call */
  AtledDiagnostic no_call; /* stands ready */
  bool refused;            /* a callback of the call that runs has called the VM */
};

/* ---- vm.c ---- */
/* Runs body(vm, arg) as one call into the VM: on its stack, under the time limit, with out-of-memory caught, earlier
 * reports dropped. The body's status is the result, unless memory or time ran out or somebody interrupted. What it
 * makes goes at its end, or, where it has results,
 * when the next such call begins; texts in the scratch arena stay so long too. Unless it sets vm->defined. */
AtledStatus vm_call(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg);
/* Within a call: marks the place, and goes back there, or stays. One such mark at a time. */
void vm_mark(AtledVM *vm);
bool vm_has_learnt(const AtledVM *vm, const WayBack *way); /* since: what later entries can use */
bool vm_roll_back(AtledVM *vm);                            /* results stay. False after a report: see roll_back */
void vm_commit(AtledVM *vm);
/* The same once more within: for a batch of steps. Goes back, but for the unit, or stays; nothing where there is no
 * mark. */
void vm_mark_batch(AtledVM *vm);
bool vm_forget_batch(AtledVM *vm, Unit *u); /* false after a report */
void vm_keep_batch(AtledVM *vm);
/* Goes back to where the entry began, as if nothing had been done of it yet; results stay. False after a report. */
bool vm_begin_again(AtledVM *vm);
/* Refuses a call from within a callback, before anything of the VM is touched; atled_error says so until the outer call
 * ends. */
AtledStatus vm_refuse(AtledVM *vm);
/* Ends a call for which the host gave NULL for `what`. */
AtledStatus vm_reject_null(AtledVM *vm, const char *what);
/* The same without time limit and interrupts, for what is as good as done. */
AtledStatus vm_call_unlimited(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg);
/* As vm_call, without dropping reports and results. */
AtledStatus vm_call_keeping(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg);
/* The same for calls of functions, which compile nothing: without a way back; the body sets limits, if any. */
AtledStatus vm_call_quick(AtledVM *vm, AtledStatus (*body)(AtledVM *vm, void *arg), void *arg);

/* ---- static_values.c ---- */
void static_values_begin(AtledVM *vm); /* from now on the compiler computes values of `static` */

/* ---- report.c ---- */
void report_reset(AtledVM *vm);
/* Drops the reports alone. */
void report_forget(AtledVM *vm);
/* Hands what is in vm->diags to the host and empties it. True when there was an error. */
bool report_diags(AtledVM *vm);
/* A derivative is taken of what has none, at this place of the unit. */
void report_underivable(AtledVM *vm, const Unit *u, uint32_t site, const char *message);
extern const char report_underivable_hint[];
/* The place of the text that the error quotes, if it is a literal of the call; else the call. */
Span report_quoted_place(AtledVM *vm, const RtError *e, Span call);
const char *report_kind(ErrorKind kind); /* AtledDiagnostic.kind of it */
/* The error in rt: adds it to the reports and clears it. item: that runs, or no place. */
AtledStatus report_runtime_error(AtledVM *vm, Span item);
AtledStatus report_bad_argument(AtledVM *vm, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
AtledStatus report_error(AtledVM *vm, AtledStatus status, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void report_warning(AtledVM *vm, const char *kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- granted.c ---- */
/* Gives the program the rights of the config. */
void rights_begin(AtledVM *vm);

/* ---- modules.c ---- */
ModuleLoader modules_loader(AtledVM *vm);
bool modules_load_prelude(AtledVM *vm);
/* Does the import lead to the same file now, with this text? */
bool modules_are_same(AtledVM *vm, const Imported *i, const char *text, size_t len);
/* Adds the source of the library's file of this path; 0: there is none. */
uint32_t modules_add_library_source(AtledVM *vm, const char *path);
/* The next import reads the file again. */
void modules_forget(AtledVM *vm, const Module *m);
/* False: a source of so many bytes is beyond the host's limit. */
bool modules_may_read(const AtledVM *vm, size_t len);
/* The bytes of a regular file that the host names, in the scratch arena, zero-terminated; NULL with errno set. Of a
 * file beyond the host's limit perhaps not all, but more than the limit. */
char *modules_read_file(AtledVM *vm, const char *path, size_t *len);
const char *modules_read_error(void); /* why that gave NULL */

/* ---- names.c ---- */
Binding *names_value(AtledVM *vm, const char *what); /* of `f` or `Module.f`; NULL if there is none */

/* ---- run.c ---- */
Slot *run_global(void *vm, int index);       /* address of a global's slots */
void run_learn_dims(AtledVM *vm, int index); /* tells the world the dimensions of arrays in its value */
/* The unit that has this site in its code, and the site's number there; NULL if there is none. */
const Unit *run_unit_of_site(const AtledVM *vm, uint32_t site, uint32_t *number);
/* For Rt.place, of user's VM. A place is kept: what fails again and again is looked up once. */
const char *run_place(void *user, uint32_t site);
Unit *run_unit_of(const AtledVM *vm, const Mod *m); /* NULL if it is gone */
/* Lowers entries into one module and makes it runnable. NULL after an error report. */
Unit *run_unit(AtledVM *vm, LowerEntry *entries, int n);
/* The unit of a module's image, without sites, to be followed by run_unit_begin, when its globals are there. NULL: that
 * is no image. */
Unit *run_unit_of_image(AtledVM *vm, const void *image, size_t n);
bool run_unit_begin(AtledVM *vm, Unit *u, const LSite *sites, int nsites); /* false after an error report */
/* No value of it is left. */
void run_unit_free(AtledVM *vm, Unit *u);
void run_unit_hold(Unit *u);
void run_unit_drop(AtledVM *vm, Unit *u); /* the end of that; NULL is allowed */
/* Machine code for all of the unit, if nothing of it may run without. False: rt.error says why there is none. */
bool run_compile(AtledVM *vm, Unit *u);
/* Machine code for all of the module. False: rt.error says why there is none. */
bool run_compile_module(AtledVM *vm, Mod *m);
/* Its code isn't needed any more: of the unit its constants stay, to which values may refer, or nothing. */
void run_unit_strip(AtledVM *vm, Unit *u);
void run_free_units_since(AtledVM *vm, int64_t number); /* those with greater numbers that no handle holds */
/* Runs a function of the unit; args are borrowed, results owned by the caller. 0, or rt.error is set. */
Status run_function(AtledVM *vm, Unit *u, const LFunc *f, const Slot *args, Slot *res);
/* The same in the evaluator and by this thread alone. steps: instructions after which it ends with an error, and *over
 * is set; < 0: it has no end, and over may be NULL. */
Status run_evaluated(AtledVM *vm, Unit *u, const LFunc *f, int64_t steps, bool *over, Slot *res);
/* run_function for a closure; moved: as for rt_apply_moving, or NULL. */
Status run_closure(AtledVM *vm, Unit *u, Obj *closure, Slot *args, const bool *moved, int nargs, Slot *res);
Jit *run_jit(AtledVM *vm); /* made when it is needed first; NULL: out of memory */
void run_release_slots(AtledVM *vm, const Desc *desc, Slot *slots);
void run_drop_result(AtledVM *vm, Result *r); /* the value that it owns, if it does */
void run_drop_results(AtledVM *vm);
/* Called before code runs: ends alarm_watch, since running code polls for interrupts itself. 0, or rt.error is set: it
 * may not begin. */
Status run_begin(AtledVM *vm);

/* ---- alarm.c ---- */
/* The time limit counts from here on. */
void alarm_set(AtledVM *vm);
/* What the compiler does from here on ends by heap.on_oom when the time is over or somebody interrupts, which rt_poll
 * then raises as an error, and when it exceeds a limit of compilations. Nothing counted may be live, as for memory. */
void alarm_watch(AtledVM *vm);
/* The end of both. */
void alarm_off(AtledVM *vm);
/* The error of a compilation that was ended by a limit of its own, once; ATLED_OK: there was none. */
AtledStatus alarm_report_limit(AtledVM *vm);
bool alarm_rings(const AtledVM *vm);                  /* must the call end? */
bool alarm_while_compiling(void *vm, double seconds); /* for JitOptions: the same; tells the host how long GCC took */

/* ---- watch.c ---- */
void watch_begin(AtledVM *vm);
/* From here on, to watch_end_show: the graphs after a run are collected. That of an entry; NULL: it didn't run. */
void watch_show(AtledVM *vm, int run);
void watch_end_show(AtledVM *vm);
Graph *watch_shown(const AtledVM *vm, const OptStages *s);

/* ---- threads.c ---- */
void threads_begin(AtledVM *vm); /* something is about to run */
void threads_end(AtledVM *vm);   /* it has */
void threads_free(AtledVM *vm);  /* ends the threads; the VM has no objects any more */

/* ---- tiers.c ---- */
void tiers_begin(AtledVM *vm, Unit *u);            /* something of the unit is about to run */
void tiers_tick_worker(void *worker, void *frame); /* Rt.tick of other threads of the VM; worker: their Rt */
void tiers_end(AtledVM *vm);                       /* it has: what is to be said is said */
void tiers_forget(AtledVM *vm, Unit *u);           /* its code goes */

#endif
