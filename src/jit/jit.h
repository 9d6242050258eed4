/* SPDX-License-Identifier: MIT */
/* Machine code for lowered modules, by way of libgccjit and a cache of shared objects on disk.
 *
 * Compiled code is a shared object without addresses of this process: everything is reached through the Mod that is
 * its first argument. So an object serves any VM, and any later run. When no code can be made (the library or the
 * tools are missing, memory is gone) the caller is told why and goes on with the evaluator. */
#ifndef ATLED_JIT_H
#define ATLED_JIT_H
#include "lir/lir.h"

typedef struct Jit Jit;
typedef struct JitOptions {
  /* NULL: $ATLED_CACHE (empty: none), else $XDG_CACHE_HOME/atled, else ~/.cache/atled. "": none */
  const char *cache_dir;
  size_t cache_limit;   /* bytes on disk; 0: the default, 256 MiB */
  int opt_level;        /* 0 … 3 */
  bool strict;          /* functions are the C library's; a strict module is compiled so in any case */
  bool in_process;      /* GCC runs in this process, not in one of its own */
  size_t memory;        /* bytes of address space that a process of its own may have; 0: no limit */
  double seconds;       /* that it may take for a module; 0: no limit */
  const char *dump_dir; /* each compiled module's C-like text and assembly go there; NULL: nowhere */
  void (*message)(void *user, const char *text); /* what a user may want to know, a line each; NULL: not told */
  void *user;
} JitOptions;
typedef struct JitStats {
  int64_t compiles, cache_hits, failures;
  double compile_ms, load_ms; /* totals */
} JitStats;

JitOptions jit_default_options(void); /* level 3 */
/* Copies the options. NULL: out of memory. Nothing is loaded or looked for yet. */
Jit *jit_new(Heap *heap, JitOptions options);
void jit_free(Jit *j);
/* Can modules be compiled? Checked once. *why is valid as long as j. */
bool jit_available(Jit *j, const char **why);
/* Gives m machine code: m->table, m->dl and RtFunc.entry of m's functions. On false the module is as before, and *why
 * says why (valid until the next call on j). Thread-safe for different j. */
bool jit_compile(Jit *j, Mod *m, const char **why);
/* The C function for want of which the last jit_compile failed, or NULL. `why` its library can't be loaded, NULL if
 * it can. */
typedef struct JitForeign {
  const char *library, *symbol, *why;
} JitForeign;
const JitForeign *jit_lost_foreign(const Jit *j);
/* Did the last jit_compile fail for want of memory? Then it may be tried again. */
bool jit_lost_memory(const Jit *j);
/* The same from the cache alone: false, without a reason, when there is no code for m in it. */
bool jit_load_cached(Jit *j, Mod *m);
/* Drops the machine code of m: no call of it may be running. */
void jit_unload(Mod *m);
/* Has this CPU, as code is compiled for it, an operation for a * b + c? */
bool jit_fuses(void);
JitStats jit_stats(const Jit *j);
#endif
