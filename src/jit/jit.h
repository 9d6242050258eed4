/* SPDX-License-Identifier: MIT */
/* Machine code for lowered modules, by way of libgccjit and a cache of shared objects on disk.
 *
 * Compiled code is a shared object without addresses of this process: everything is reached through the Mod that is
 * its first argument. So an object serves any VM, and any later run. When no code can be made (the library or the
 * tools are missing, memory is gone) the caller is told why and goes on with the evaluator. */
#ifndef ATLED_JIT_H
#define ATLED_JIT_H
#include "lir/fragment.h"

typedef struct Jit Jit;
typedef struct JitOptions {
  /* NULL: $ATLED_CACHE (empty: none), else $XDG_CACHE_HOME/atled, else ~/.cache/atled. "": none */
  const char *cache_dir;
  uint64_t cache_limit; /* bytes on disk; 0: the default, 256 MB */
  int opt_level;        /* 0 … 3 */
  int cpu;              /* x86-64 level; 0: this CPU's */
  bool no_lanes;        /* loops run one iteration at a time */
  bool strict;          /* GCC rounds nothing itself; a strict module is compiled so in any case */
  bool in_process;      /* GCC runs in this process, not in one of its own */
  bool never_here;      /* where there is no process of its own, GCC doesn't run */
  size_t memory;        /* bytes of address space that a process of its own may have; 0: no limit */
  double seconds;       /* that it may take for a module; 0: no limit */
  const char *dump_dir; /* each compiled module's C-like text and assembly go there; NULL: nowhere */
  /* Asked again and again while the compiler's process works, for so many seconds now: true ends it. NULL: it asks for
   * interrupts itself */
  bool (*stop)(void *user, double seconds);
  void (*message)(void *user, const char *text); /* what a user may want to know, a line each; NULL: not told */
  void *user;
} JitOptions;
typedef struct JitStats {
  int64_t compiles, cache_hits, failures;
  double compile_ms, load_ms; /* totals */
  /* of the compiler's process: CPU time, the most memory at once, in bytes, modules */
  double process_seconds;
  uint64_t process_memory;
  int64_t process_orders;
} JitStats;

JitOptions jit_default_options(void); /* level 3 */
/* Copies the options. NULL: out of memory. Nothing is loaded or looked for yet. */
Jit *jit_new(Heap *heap, JitOptions options);
void jit_free(Jit *j);
/* Can modules be compiled? Checked once. *why is valid as long as j. */
bool jit_available(Jit *j, const char **why);
/* Gives m machine code: m->table, m->dl and RtFunc.entry of m's functions. On false the module is as before, and *why
 * says why (valid until the next call on j). Where options.stop ends the waiting, and nobody interrupts, the compile
 * goes on, and the next call for the same code waits for that one. Thread-safe for different j. */
bool jit_compile(Jit *j, Mod *m, const char **why);
/* Did the last jit_compile fail for want of memory? Then it may be tried again. */
bool jit_lost_memory(const Jit *j);
/* Why what was compiled isn't kept on disk, though it should be; NULL if it is. */
const char *jit_keeps_nothing(const Jit *j);
/* Why the last thing failed; a text that stays until the next call. */
const char *jit_why(const Jit *j);
/* Drops the machine code of m and of its fragments: no call of it may be running. */
void jit_unload(Mod *m);

/* ---- abi.c: code that hosts call by pointers --------------------------------------------------------------------- */
/* What such code is called with last, and refers to. */
typedef struct JitPin JitPin;
typedef double (*JitPointer)(void *self, const double *x, size_t n, double *g, const JitPin *pin);
struct JitPin {
  JitPointer code;      /* jit_pointer's, or `other` */
  JitPointer other;     /* the same in any case: called where n isn't the number of parameters, or g is NULL */
  Mod *mod;             /* the module, for code that neither allocates nor fails */
  const Slot *captures; /* of the function */
};
/* Of function `index` of the module, whose is_pointer is set. It computes the function of the numbers x[0..n), puts all
 * results but the first, if there are any, into g, and returns that. NULL: it has none, since it may allocate or fail,
 * or since not all its parameters and results are floats. */
JitPointer jit_pointer(const Mod *m, int index);

/* ---- fragments.c: machine code of parts of a module, made in the background -------------------------------------- */
typedef enum JitAnswer { JIT_READY, JIT_WORKING, JIT_FAILED } JitAnswer;
/* As many fragments may be asked for at the same time; the requests are numbered. */
enum { JIT_REQUESTS = 2 };
/* Asks for machine code of the fragment, which stays where it is, with its image, while the answer is WORKING: then the
 * compiler's process is at it, or another one makes the same, and nothing waits for that. Where there is no such
 * process it is made here and now. */
JitAnswer jit_ask(Jit *j, int request, const LFragment *p, const void *image, size_t n);
/* The same from the cache alone: READY or FAILED. */
JitAnswer jit_ask_cached(Jit *j, int request, const LFragment *p, const void *image);
/* How far the one asked for is. */
JitAnswer jit_look(Jit *j, int request);
/* Forgets the one asked for. `finish`: it is still made, for the cache, even if this process ends. */
void jit_forget_asked(Jit *j, int request, bool finish);
/* Gives m the code that is ready, and forgets it: function roots of the fragment get their entries, loops' are left in
 * entries[root], to be called with *native. On false the module is as before. */
typedef Status (*JitEntry)(Mod *native, const Slot *args, Slot *res);
bool jit_attach_fragment(Jit *j, int request, Mod *m, const LFragment *p, JitEntry *entries, Mod **native);
/* mod_join for the code that m has got. */
bool jit_join_fragments(Mod *m, Pool *p);
void jit_unload_fragments(Mod *m);
/* Numbers that the host keeps in the cache beside the code of this module. Reading gives a new block of *n, or NULL. */
void jit_keep_notes(Jit *j, const LModule *m, const int32_t *notes, size_t n);
int32_t *jit_read_notes(Jit *j, const LModule *m, size_t *n);
/* ---- Blocks of bytes, kept in the cache beside machine code ------------------------------------------------------ */
/* Keeps n bytes, more than 0, if that can be. */
void jit_keep_block(Jit *j, uint64_t key, const void *bytes, size_t n);
/* The room that jit_read_block needs; 0: there are none. */
size_t jit_block_room(const Jit *j, uint64_t key);
/* Their number, in to[room]; 0: they aren't there, or aren't whole. */
size_t jit_read_block(const Jit *j, uint64_t key, void *to, size_t room);
/* Of all that shapes code besides its module: options, processor, this build. */
uint64_t jit_version(Jit *j);
/* Identity of the file, a library or the program, whose code or data lie at this address. */
uint64_t jit_build_of(uintptr_t address);
/* The x86-64 level that code is compiled for: the wanted one, or, where that is 0, this CPU's. */
int jit_cpu(int wanted);
/* Have CPUs of this level, as code is compiled for them, an operation for a * b + c? */
bool jit_fuses(int cpu);
/* Code for another program: compiles m into the object file, for linking with libatled_rt.a. Its exported names begin
 * with `prefix`; it reaches m's tables by its first argument, and the runtime by names. */
bool jit_build(Jit *j, Mod *m, const char *prefix, const char *object, const char **why);
JitStats jit_stats(const Jit *j);
#endif
