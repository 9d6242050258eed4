/* SPDX-License-Identifier: MIT */
/* What jit.c, which has whole modules compiled, and fragments.c share. */
#ifndef ATLED_JIT_INTERNAL_H
#define ATLED_JIT_INTERNAL_H
#include "jit/jit.h"
#include "jit/toolchain/cache.h"
#include "jit/toolchain/turns.h"
#include "jit/translate.h"

/* The compile of a module. */
typedef struct JitJob JitJob;
struct JitJob {
  uint64_t key;
  Order *order;
  Folder folder, claim; /* of its object; its turn */
  Compiler compiler;    /* that is at it; else none */
  JitJob *next;
};

/* A request for a fragment. */
typedef struct JitRequest {
  Compiler compiler;
  Order *order;         /* NULL: nothing is asked for */
  Folder folder, claim; /* of its object, unless that is the cache's; its turn */
  const LFragment *fragment;
  const void *image;
  size_t size;
  unsigned looks; /* for what another process makes */
  bool elsewhere; /* it does */
} JitRequest;

struct Jit {
  Heap *heap;
  JitOptions options;
  char dump_dir[1024];
  Cache cache;
  uint64_t build; /* identity of the file that holds this code; 0: not known yet */
  Tools tools;
  Compiler compiler;
  bool swept; /* what earlier processes left behind was removed */
  enum { UNCHECKED, AVAILABLE, MISSING } state;
  char missing[512]; /* why */
  char why[512];
  bool no_memory; /* the last translation lacked memory */
  JitStats stats;
  JitJob *left;  /* by calls whose time was up, latest first: under way, or done */
  pid_t process; /* whose compilers and folders these are */
  JitRequest requests[JIT_REQUESTS];
};

/* At the begin of all that has to do with compilers and folders: in a child that was forked what is the parent's is
 * forgotten. A fragment that was asked for has no order then, and is asked for again. */
void jit_own(Jit *j);
bool jit_refuse(Jit *j, const char *text); /* false; j->why is the text */
/* Does GCC run in a process of its own? */
bool jit_wants_process(const Jit *j);
/* There will be no machine code. */
void jit_lack(Jit *j, const char *why);
/* The cache key of machine code: of the module with this hash, the options, the processor and this build. */
uint64_t jit_key(Jit *j, const LModule *m, uint64_t hash);
/* A new order for the module, with a place for its object, in *folder if there is no cache. NULL: j->why says why. */
Order *jit_new_order(Jit *j, const LModule *m, uint64_t key, Folder *folder);
void jit_free_order(Jit *j, Order *order);
/* In this process. */
bool jit_carry_out_here(Jit *j, const LModule *m, const Order *order);
/* Why the process gave no result. */
void jit_explain(Jit *j, CompilerEnd end);
/* Opens the object. NULL: j->why says why. */
void *jit_open(Jit *j, const char *path);
void jit_keep(Jit *j, const Order *order); /* its object, in the cache; it may be somewhere else then */
JitEntry jit_entry(void *dl, int index);   /* NULL: it has none for function `index` */
void *jit_direct(void *dl, int index);     /* the same */
#endif
