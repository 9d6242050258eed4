/* SPDX-License-Identifier: MIT */
/* The way of a module to machine code:
 *
 *   jit_compile ── key ── cache? ──────────────────────────────┐
 *        └─ translate: emit.c in the guard's bracket → m.s     │   (here, or in a child process: worker.c)
 *             └─ tools.c: as, ld → shared object → cache ── attach: dlopen, entries
 *
 * The key is the module's own hash mixed with whatever else shapes the code: options,
 * CPU level, the table of runtime functions, and the build of Atled itself (a new
 * emitter must not meet old code). The version of libgccjit is left out on purpose:
 * to ask for it the library would have to be loaded, which costs more than a cached
 * module does, and code made by an older one stays right.
 *
 * Costs: GCC is superlinear in the length of a function, so the options step down with
 * size (see set_options). Memory that runs out inside a translation comes back here
 * by longjmp; no counted value is live there. */
#define _GNU_SOURCE /* dladdr */
#include "jit/jit.h"
#include "jit/toolchain/cache.h"
#include "jit/emit.h"
#include "jit/toolchain/tools.h"
#include "jit/toolchain/worker.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct Jit {
  Heap *heap;
  JitOptions options;
  char dump_dir[1024];
  Cache cache;
  Tools tools;
  enum { UNCHECKED, AVAILABLE, MISSING } state;
  char missing[512]; /* why */
  char why[512];
  JitForeign lost;
  bool no_memory; /* the last translation lacked memory */
  JitStats stats;
};

/* Sizes in LIR instructions of the longest function, and of a module, from which cheaper passes are chosen. */
enum { LONG_FUNCTION = 1500, HUGE_FUNCTION = 8000, HUGE_MODULE = 20000, PATH_SIZE = 4096 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void tell(Jit *j, const char *text) {
  if (j->options.message) j->options.message(j->options.user, text);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */
JitOptions jit_default_options(void) { return (JitOptions){.opt_level = 3}; }

Jit *jit_new(Heap *heap, JitOptions options) {
  Jit *j = heap_realloc(heap, NULL, 0, sizeof *j);
  if (!j) return NULL;
  memset(j, 0, sizeof *j);
  j->heap = heap;
  j->options = options;
  if (options.dump_dir && strlen(options.dump_dir) < sizeof j->dump_dir) strcpy(j->dump_dir, options.dump_dir);
  cache_init(&j->cache, heap, options.cache_dir, options.cache_limit);
  j->options.cache_dir = j->options.dump_dir = NULL;
  return j;
}

void jit_free(Jit *j) {
  if (j) heap_realloc(j->heap, j, sizeof *j, 0);
}

JitStats jit_stats(const Jit *j) { return j->stats; }

bool jit_lost_memory(const Jit *j) { return j->no_memory; }

const JitForeign *jit_lost_foreign(const Jit *j) { return j->lost.symbol ? &j->lost : NULL; }

bool jit_available(Jit *j, const char **why) {
  if (j->state == UNCHECKED) {
    const char *lacking = tools_find(&j->tools), *text = "";
    Guard *g = NULL;
    if (lacking)
      snprintf(j->missing, sizeof j->missing,
               "the program `%s` isn't on PATH (on Debian and Ubuntu it is in the package binutils)", lacking);
    else if (!(g = guard_enter(&text))) snprintf(j->missing, sizeof j->missing, "%s", text);
    if (g) guard_leave(g);
    j->state = j->missing[0] ? MISSING : AVAILABLE;
    if (j->missing[0]) tell(j, j->missing);
  }
  *why = j->state == MISSING ? j->missing : NULL;
  return j->state == AVAILABLE;
}

/* ---- Key --------------------------------------------------------------------------------------------------------- */
/* The x86-64 level of this CPU, 0 on others: GCC's option -march=native is refused by the library. */
static int cpu_level(void) {
#if defined __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) return 2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512cd"))
    return 3;
  return 4;
#else
  return 0;
#endif
}

bool jit_fuses(void) {
#if defined __aarch64__
  return true;
#else
  return cpu_level() >= 3;
#endif
}

/* Identity of the file that holds this code. */
static uint64_t build_identity(void) {
  Dl_info info;
  struct stat st;
  uint64_t (*self)(void) = build_identity;
  void *address;
  memcpy(&address, &self, sizeof address);
  bool known = dladdr(address, &info) && info.dli_fname && stat(info.dli_fname, &st) == 0;
  if (!known && stat("/proc/self/exe", &st) != 0) return 0;
  uint64_t parts[] = {(uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};
  return hash_bytes(parts, sizeof parts, 0);
}

static bool is_strict(const Jit *j, const LModule *m) { return j->options.strict || m->strict; }

static uint64_t cache_key(const Jit *j, const LModule *m) {
  uint64_t h = hash_mix(m->hash, (uint64_t)m->nfuncs);
  h = hash_mix(h, (uint64_t)j->options.opt_level * 2 + is_strict(j, m));
  h = hash_mix(h, (uint64_t)cpu_level());
  h = hash_mix(h, rt_table_version());
  return hash_mix(h, build_identity());
}

/* ---- Translation ------------------------------------------------------------------------------------------------- */
/* What has to be put away however a translation ends. */
typedef struct Work {
  Jit *j;
  const LModule *m;
  uint64_t key;
  Heap *heap; /* the VM's, or a worker's own */
  Guard *guard;
  Arena arena;
  Emit e;
  char dir[64]; /* of intermediate files */
  bool libm;
  bool fresh; /* the library compiles nothing but this before it ends with its process */
  bool ok;
} Work;

/* What a worker tells of its translation. */
typedef struct Reply {
  bool ok, libm, no_memory;
  char why[sizeof((Jit *)0)->why];
} Reply;

static void set_options(const Work *w) {
  const GccApi *g = w->e.g;
  gcc_jit_context *ctx = w->e.ctx;
  int longest = 0, total = 0;
  bool loops = false;
  for (int k = 0; k < w->m->nfuncs; k++) {
    const LFunc *f = w->m->funcs[k];
    if (f->ncode > longest) longest = f->ncode;
    total += f->ncode;
    for (int c = 0; c < f->ncode && !loops; c++) loops = f->code[c].op == LOP_LOOP_HEAD;
  }
  int level = w->j->options.opt_level, most = 3;
  if (!loops) most = 2; /* what the third level adds is for loops, and it costs a third of the time */
  if (longest > HUGE_FUNCTION || total > HUGE_MODULE) most = 1;
  if (level > most) level = most;
  g->context_set_int_option(ctx, GO_OPTIMIZATION_LEVEL, level);
  g->context_set_bool_print_errors_to_stderr(ctx, 0);
  /* The interprocedural passes of GCC 12 crash in a later compile of the same process, on what an earlier one left
   * behind; our own optimiser specialises functions anyway. */
  static const char *const always[] = {"-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
                                       "-ffp-contract=off", "-fno-asynchronous-unwind-tables", "-fno-ipa-cp",
                                       "-fno-ipa-sra",
                                       /* it makes endless loops of recursions that shall overflow the stack */
                                       "-fno-optimize-sibling-calls"};
  for (size_t k = 0; k < sizeof always / sizeof *always; k++) g->context_add_command_line_option(ctx, always[k]);
  /* So do the summaries of what functions touch, but they are worth having. */
  if (!w->fresh) g->context_add_command_line_option(ctx, "-fno-ipa-modref");
  if (is_strict(w->j, w->m)) {
    /* GCC's own value of a function of a constant may differ from the C library's in the last bit. */
    g->context_add_command_line_option(ctx, "-frounding-math");
  }
  static const char *const levels[] = {NULL, NULL, "-march=x86-64-v2", "-march=x86-64-v3", "-march=x86-64-v4"};
  const char *march = levels[cpu_level()];
  if (march) g->context_add_command_line_option(ctx, march);
  if (longest > LONG_FUNCTION) g->context_add_command_line_option(ctx, "-fira-algorithm=priority");
}

static bool refuse(Jit *j, const char *text) {
  snprintf(j->why, sizeof j->why, "%s", text);
  return false;
}

static bool refuse_memory(Jit *j) {
  j->no_memory = true;
  return refuse(j, "out of memory");
}

static void dump_path(const Work *w, const char *ending, char *path) {
  snprintf(path, PATH_SIZE, "%s/%016llx.%s", w->j->dump_dir, (unsigned long long)w->key, ending);
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
  char block[8192];
  for (size_t n; out && (n = fread(block, 1, sizeof block, in)) > 0;) fwrite(block, 1, n, out);
  if (out) fclose(out);
  if (in) fclose(in);
}

/* In the bracket: the module to assembly text in w->dir. */
static bool translate_guarded(Work *w) {
  char assembly[128], path[PATH_SIZE];
  w->e.g = guard_api(w->guard);
  w->e.ctx = w->e.g->context_acquire();
  if (!w->e.ctx) return refuse(w->j, "libgccjit gives no context");
  set_options(w);
  w->e.arena = &w->arena;
  w->e.m = w->m;
  w->e.strict = is_strict(w->j, w->m);
  w->e.fuses = jit_fuses();
  bool emitted = emit_module(&w->e);
  const char *error = w->e.error ? w->e.error : w->e.g->context_get_first_error(w->e.ctx);
  if (!emitted || error) return refuse(w->j, error ? error : "the module can't be translated");
  if (w->j->dump_dir[0]) {
    dump_path(w, "c", path);
    w->e.g->context_dump_to_file(w->e.ctx, path, 0);
    dump_path(w, "repro.c", path);
    w->e.g->context_dump_reproducer_to_file(w->e.ctx, path);
  }
  snprintf(assembly, sizeof assembly, "%s/m.s", w->dir);
  w->e.g->context_compile_to_file(w->e.ctx, GK_ASSEMBLER, assembly);
  error = w->e.g->context_get_first_error(w->e.ctx);
  if (error) return refuse(w->j, error);
  if (access(assembly, R_OK) != 0)
    return refuse(w->j, "libgccjit made no code: is the folder of temporary files full?");
  if (w->j->dump_dir[0]) {
    dump_path(w, "s", path);
    copy_file(assembly, path);
  }
  w->libm = w->e.uses_libm;
  return true;
}

static void translate_task(void *work) {
  Work *w = work;
  w->ok = translate_guarded(w);
}

/* With the guard held. Memory that runs out within ends up at the setjmp; *w is not a local of this function. */
static bool translate(Work *w) {
  jmp_buf here, *volatile outer = w->heap->on_oom;
  volatile bool usable = true;
  arena_init(&w->arena, w->heap);
  if (setjmp(here) == 0) {
    w->heap->on_oom = &here;
    usable = guard_run(w->guard, translate_task, w);
  } else {
    refuse_memory(w->j);
  }
  w->heap->on_oom = outer;
  if (!usable) {
    const char *error = w->e.ctx ? w->e.g->context_get_first_error(w->e.ctx) : NULL;
    w->ok = refuse(w->j, error ? error : "libgccjit gave up, probably for want of memory");
  } else if (w->e.ctx) w->e.g->context_release(w->e.ctx);
  arena_free(&w->arena);
  return w->ok;
}

/* In the child. The host's allocator may have been at work in another thread when it was made. */
static void translate_and_reply(void *work, void *reply) {
  Work *w = work;
  Reply *r = reply;
  Heap own = *w->j->heap;
  own.fn = NULL;
  own.reclaim = NULL;
  w->heap = &own;
  w->fresh = !guard_used(w->guard);
  r->ok = translate(w);
  r->libm = w->libm;
  r->no_memory = w->j->no_memory;
  strcpy(r->why, w->j->why);
}

/* Of what GCC takes until memory is gone nothing comes back but with the end of its process. */
static bool memory_is_limited(void) {
  struct rlimit space, data;
  return (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) ||
         (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

static bool read_reply(Work *w, Worker *worker, Reply *r) {
  if (!worker_finish(worker, r, sizeof *r)) return refuse(w->j, "the compiler's process ended without a result");
  w->libm = r->libm;
  w->j->no_memory = r->no_memory;
  return r->ok || refuse(w->j, r->why);
}

/* A child is made while no other thread compiles, so that it has libgccjit whole; it takes no lock then. */
static bool translate_somewhere(Work *w) {
  Reply r = {0};
  Worker worker;
  const char *why = "";
  w->guard = guard_enter(&why);
  if (!w->guard) return refuse(w->j, why);
  bool wanted = w->j->options.worker;
  bool started = (wanted || memory_is_limited()) && worker_start(&worker, translate_and_reply, w, &r, sizeof r);
  bool ok = !wanted && !started && translate(w);
  guard_leave(w->guard);
  if (started) return read_reply(w, &worker, &r);
  return wanted ? refuse(w->j, "no process for the compiler can be started") : ok;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
static void *foreign_address(Jit *j, Sym library, Sym symbol) {
  void *dl = library && *library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
  void *address = library && *library && !dl ? NULL : dlsym(dl, symbol);
  if (!address) {
    const char *reason = library && *library && !dl ? dlerror() : NULL;
    snprintf(j->why, sizeof j->why, "%s", reason ? reason : "a C function can't be found");
    j->lost = (JitForeign){library ? library : "", symbol, reason ? j->why : NULL};
  }
  return address;
}

/* Fills the object's table of foreign addresses. They are the same for every module that shares the object. */
static bool resolve_foreigns(Jit *j, const LModule *m, void *dl) {
  void **table = dlsym(dl, JIT_FOREIGNS);
  for (int k = 0; k < m->nforeigns; k++) {
    void *address = foreign_address(j, m->foreigns[k].library, m->foreigns[k].symbol);
    if (!table || !address) return false;
    table[k] = address;
  }
  return true;
}

typedef Status (*Entry)(Mod *m, const Slot *args, Slot *res);

/* Are all entries there? If so and `set`, the functions get them. */
static bool walk_entries(Mod *m, void *dl, bool set) {
  for (int k = 0; k < m->nfuncs; k++) {
    RtFunc *f = m->funcs[k];
    if (!f || !f->code || !f->code->is_entry) continue;
    char name[40];
    snprintf(name, sizeof name, JIT_ENTRY, f->code->index);
    void *address = dlsym(dl, name);
    if (!address) return false;
    Entry entry;
    memcpy(&entry, &address, sizeof entry);
    if (set) f->entry = entry;
  }
  return true;
}

/* Loads the object and connects it with the module. */
static bool attach(Jit *j, Mod *m, const char *path) {
  void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!dl) {
    const char *error = dlerror();
    return refuse(j, error ? error : "the compiled module can't be loaded");
  }
  if (!walk_entries(m, dl, false)) {
    refuse(j, "the compiled module lacks an entry");
    dlclose(dl);
    return false;
  }
  if (!resolve_foreigns(j, m->code, dl)) {
    dlclose(dl);
    return false;
  }
  m->table = &rt_table;
  m->dl = dl;
  return walk_entries(m, dl, true);
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */
/* The shared object goes to the cache, or, without one, to a file that lives until it is loaded. */
static bool build_and_attach(Work *w, Mod *m) {
  Jit *j = w->j;
  char so[PATH_SIZE], folder[64] = "";
  bool cached = cache_new_file(&j->cache, so, sizeof so);
  if (!cached) { /* not in the folder of intermediate files: memory is often mounted without execution */
    strcpy(folder, "/tmp/atled-XXXXXX");
    if (!mkdtemp(folder)) return refuse(j, "no folder for the compiled module can be made in /tmp");
    snprintf(so, sizeof so, "%s/m.so", folder);
  }
  bool ok = tools_make(&j->tools, w->dir, so, w->libm, j->why, sizeof j->why);
  if (!ok) unlink(so);
  else if (cached && !cache_store(&j->cache, w->key, so, sizeof so)) ok = refuse(j, "the cache can't be written");
  if (ok) ok = attach(j, m, so);
  if (!cached) {
    unlink(so);
    rmdir(folder);
  }
  return ok;
}

static bool compile(Jit *j, Mod *m, uint64_t key) {
  Work *w = heap_realloc(j->heap, NULL, 0, sizeof *w);
  if (!w) return refuse_memory(j);
  memset(w, 0, sizeof *w);
  w->j = j;
  w->m = m->code;
  w->key = key;
  w->heap = j->heap;
  snprintf(w->dir, sizeof w->dir, "%.40s/atled-XXXXXX", guard_temporary_folder());
  bool ok;
  if (!mkdtemp(w->dir)) {
    ok = refuse(j, "no folder for temporary files can be made");
  } else {
    char assembly[128];
    ok = translate_somewhere(w) && build_and_attach(w, m);
    snprintf(assembly, sizeof assembly, "%s/m.s", w->dir);
    unlink(assembly);
    rmdir(w->dir);
  }
  heap_realloc(j->heap, w, sizeof *w, 0);
  return ok;
}

static bool load_cached(Jit *j, Mod *m, uint64_t key) {
  char path[PATH_SIZE];
  double start = now_ms();
  if (!cache_find(&j->cache, key, path, sizeof path)) return false;
  if (attach(j, m, path)) {
    j->stats.cache_hits++;
    j->stats.load_ms += now_ms() - start;
    return true;
  }
  cache_forget(&j->cache, key);
  return false;
}

bool jit_load_cached(Jit *j, Mod *m) { return load_cached(j, m, cache_key(j, m->code)); }

bool jit_compile(Jit *j, Mod *m, const char **why) {
  double start = now_ms();
  uint64_t key = cache_key(j, m->code);
  j->lost = (JitForeign){0};
  j->no_memory = false;
  if (load_cached(j, m, key)) return true;
  if (!jit_available(j, why)) return false;
  bool ok = compile(j, m, key);
  j->stats.compile_ms += now_ms() - start;
  if (ok) {
    j->stats.compiles++;
    return true;
  }
  j->stats.failures++;
  *why = j->why;
  return false;
}

void jit_unload(Mod *m) {
  if (!m->dl) return;
  for (int k = 0; k < m->nfuncs; k++)
    if (m->funcs[k]) m->funcs[k]->entry = NULL;
  dlclose(m->dl);
  m->dl = NULL;
}
