/* SPDX-License-Identifier: MIT */
/* The way of a module to machine code:
 *
 *   jit_compile ── key ── cache? ──────────────────────────────┐
 *        └─ translate.c, in the compiler's process or in this one: shared object → cache ── attach: dlopen, entries
 *
 * The key is the module's own hash mixed with whatever else shapes the code: options,
 * CPU level, the table of runtime functions, and the build of Atled itself (a new
 * emitter must not meet old code). The version of libgccjit is left out on purpose:
 * to ask for it the library would have to be loaded, which costs more than a cached
 * module does, and code made by an older one stays right. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "jit/jit_internal.h"
#include "jit/emit.h"
#include "jit/toolchain/turns.h"
#include "lir/image.h"
#include "support/phases.h"
#include "support/quiet.h"
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

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
  char path[PATH_SIZE]; /* the compiler's process has another working directory */
  if (options.dump_dir && realpath(options.dump_dir, path) && strlen(path) < sizeof j->dump_dir)
    strcpy(j->dump_dir, path);
  j->compiler.version = translate_version();
  for (int k = 0; k < JIT_REQUESTS; k++) j->requests[k].compiler.version = translate_version();
  j->process = getpid();
  cache_init(&j->cache, heap, options.cache_dir, options.cache_limit);
  j->options.cache_dir = j->options.dump_dir = NULL;
  return j;
}

static void free_job(Jit *j, JitJob *job) {
  folder_remove(&job->folder);
  turn_end(&job->claim);
  if (job->order) jit_free_order(j, job->order);
  compiler_stop(&job->compiler, false);
  heap_realloc(j->heap, job, sizeof *job, 0);
}

static bool is_under_way(const JitJob *job) { return job->order && job->compiler.order == job->order; }

/* What is under way is still made, for the cache. */
static void free_jobs(Jit *j) {
  for (JitJob *job = j->left, *next; job; job = next) {
    next = job->next;
    if (is_under_way(job) && compiler_stop(&job->compiler, job->order->cache_dir[0])) folder_leave(&job->folder);
    free_job(j, job);
  }
  j->left = NULL;
}

void jit_own(Jit *j) {
  if (j->process == getpid()) return;
  j->process = getpid();
  compiler_forget(&j->compiler);
  for (int k = 0; k < JIT_REQUESTS; k++) {
    JitRequest *a = &j->requests[k];
    compiler_forget(&a->compiler);
    folder_leave(&a->folder);
    folder_leave(&a->claim);
    if (a->order) jit_free_order(j, a->order);
    a->order = NULL;
    a->elsewhere = false;
  }
  for (JitJob *job = j->left; job; job = job->next) {
    compiler_forget(&job->compiler);
    folder_leave(&job->folder);
    folder_leave(&job->claim);
  }
  free_jobs(j);
}

void jit_free(Jit *j) {
  if (!j) return;
  jit_own(j);
  for (int k = 0; k < JIT_REQUESTS; k++) {
    jit_forget_asked(j, k, true);
    compiler_stop(&j->requests[k].compiler, false);
  }
  free_jobs(j);
  compiler_stop(&j->compiler, false);
  heap_realloc(j->heap, j, sizeof *j, 0);
}

JitStats jit_stats(const Jit *j) {
  JitStats s = j->stats;
  Usage used = j->compiler.used;
  for (int k = 0; k < JIT_REQUESTS; k++) compiler_add_usage(&used, &j->requests[k].compiler.used);
  s.process_seconds = used.seconds;
  s.process_memory = used.memory;
  s.process_orders = used.orders;
  return s;
}

const char *jit_why(const Jit *j) { return j->why; }
const char *jit_keeps_nothing(const Jit *j) { return j->stats.compiles && j->cache.why[0] ? j->cache.why : NULL; }

bool jit_lost_memory(const Jit *j) { return j->no_memory; }

/* Of what GCC takes until memory is gone nothing comes back but with the end of its process: where the system limits
 * this process's memory, it is kept out of it if that can be. */
bool jit_wants_process(const Jit *j) {
  struct rlimit space, data;
  return !j->options.in_process || (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) ||
         (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

void jit_lack(Jit *j, const char *why) {
  if (why != j->missing) snprintf(j->missing, sizeof j->missing, "%s", why);
  j->state = MISSING;
  tell(j, j->missing);
}

bool jit_available(Jit *j, const char **why) {
  if (j->state == UNCHECKED) {
    const char *lacking = tools_find(&j->tools), *text = "";
    Guard *g = NULL;
    if (lacking)
      snprintf(j->missing, sizeof j->missing,
               "the program `%s` isn't on PATH (on Debian and Ubuntu it is in the package binutils)", lacking);
    else if (!jit_wants_process(j) && !(g = guard_enter(&text))) snprintf(j->missing, sizeof j->missing, "%s", text);
    if (g) guard_leave(g);
    j->state = AVAILABLE;
    if (j->missing[0]) jit_lack(j, j->missing);
  }
  *why = j->state == MISSING ? j->missing : NULL;
  return j->state == AVAILABLE;
}

/* ---- Key --------------------------------------------------------------------------------------------------------- */
typedef struct Holder {
  uintptr_t address;
  const char *path; /* NULL: not found; "": the program itself */
} Holder;

/* Of dl_iterate_phdr: dladdr would look through the names of all that the file has. */
static int is_holder(struct dl_phdr_info *info, size_t size, void *user) {
  Holder *h = user;
  (void)size;
  for (int k = 0; k < info->dlpi_phnum && !h->path; k++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[k];
    if (part->p_type == PT_LOAD && h->address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
      h->path = info->dlpi_name ? info->dlpi_name : "";
  }
  return h->path != NULL;
}

uint64_t jit_build_of(uintptr_t address) {
  Holder h = {.address = address};
  struct stat st;
  dl_iterate_phdr(is_holder, &h);
  if (stat(h.path && *h.path ? h.path : "/proc/self/exe", &st) != 0) return 0;
  uint64_t parts[] = {(uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};
  return hash_bytes(parts, sizeof parts, 0);
}

/* Identity of the file that holds this code. */
static uint64_t build_identity(Jit *j) {
  if (!j->build) j->build = jit_build_of((uintptr_t)build_identity);
  return j->build;
}

static bool is_strict(const Jit *j, const LModule *m) { return j->options.strict || m->strict; }

uint64_t jit_key(Jit *j, const LModule *m, uint64_t hash) {
  uint64_t h = hash_mix(hash, (uint64_t)m->nfuncs);
  h = hash_mix(h, (uint64_t)(j->options.opt_level * 4 + j->options.no_lanes * 2) + is_strict(j, m));
  h = hash_mix(h, (uint64_t)jit_cpu(j->options.cpu));
  h = hash_mix(h, rt_table_version());
  return hash_mix(h, build_identity(j));
}

uint64_t jit_version(Jit *j) {
  static const LModule none;
  return jit_key(j, &none, 0);
}

bool jit_refuse(Jit *j, const char *text) {
  snprintf(j->why, sizeof j->why, "%s", text);
  return false;
}

static bool refuse_memory(Jit *j) {
  j->no_memory = true;
  return jit_refuse(j, "out of memory");
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
static void *find_symbol(void *dl, const char *pattern, int index) {
  char name[40];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(name, sizeof name, pattern, index);
#pragma GCC diagnostic pop
  return dlsym(dl, name);
}

void *jit_direct(void *dl, int index) { return find_symbol(dl, JIT_DIRECT, index); }

JitEntry jit_entry(void *dl, int index) {
  void *address = find_symbol(dl, JIT_ENTRY, index);
  JitEntry entry;
  memcpy(&entry, &address, sizeof entry);
  return entry;
}

JitPointer jit_pointer(const Mod *m, int index) {
  void *address = find_symbol(m->dl, JIT_POINTER, index);
  JitPointer code;
  memcpy(&code, &address, sizeof code);
  return code;
}

void *jit_open(Jit *j, const char *path) {
  void *dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!dl) {
    const char *error = dlerror();
    jit_refuse(j, error ? error : "the compiled module can't be loaded");
  }
  return dl;
}

/* Are all entries there? If so and `set`, the functions get them. */
static bool walk_entries(Mod *m, void *dl, bool set) {
  for (int k = 0; k < m->nfuncs; k++) {
    RtFunc *f = m->funcs[k];
    if (!f || !f->code || !f->code->is_entry) continue;
    JitEntry entry = jit_entry(dl, f->code->index);
    if (!entry) return false;
    if (!set) continue;
    f->native = m;
    __atomic_store_n(&f->entry, entry, __ATOMIC_RELEASE);
  }
  return true;
}

/* Loads the object and connects it with the module. */
static bool attach(Jit *j, Mod *m, const char *path) {
  void *dl = jit_open(j, path);
  if (!dl) return false;
  if (!walk_entries(m, dl, false)) {
    dlclose(dl);
    return jit_refuse(j, "the compiled module lacks an entry");
  }
  m->table = &rt_table;
  m->dl = dl;
  return walk_entries(m, dl, true);
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */
typedef struct Wait {
  const Jit *j;
  const Rt *rt;
  double since;
} Wait;

/* True if the wait for the compiler's process is to end. Those who wait ask again and again while the process works. */
static bool must_stop(void *wait) {
  const Wait *w = wait;
  const JitOptions *o = &w->j->options;
  return o->stop ? o->stop(o->user, (now_ms() - w->since) / 1e3) : rt_interrupted(w->rt) == RT_INTERRUPTED;
}

void jit_explain(Jit *j, CompilerEnd end) {
  if (end == COMPILER_LOST) jit_refuse(j, "the compiler's process ended without a result");
  if (end == COMPILER_REFUSED) jit_refuse(j, "the compiler's process doesn't start");
  if (end == COMPILER_NONE) jit_refuse(j, "there is no program atled-compiler of this version");
  if (end == COMPILER_STOPPED) jit_refuse(j, "interrupted");
  j->swept &= end != COMPILER_LOST;
}

/* What the compiler is at. It goes on where the caller's time is up, but not where somebody interrupts it. */
static CompilerEnd await(Jit *j, Compiler *c, Result *result, Wait *wait) {
  CompilerEnd end = compiler_wait(c, result, must_stop, wait);
  bool goes_on = end == COMPILER_STOPPED && rt_interrupted(wait->rt) != RT_INTERRUPTED && compiler_leave(c);
  if (end == COMPILER_STOPPED && !goes_on) compiler_stop(c, false);
  jit_explain(j, end);
  return end;
}

/* By the compiler's process; false if there can't be one. */
static bool order_elsewhere(Jit *j, const Mod *m, Order *order, Result *result, Wait *wait) {
  const LModule *code = m->code;
  Arena arena;
  Str image = {.arena = &arena};
  jmp_buf here, *volatile outer = j->heap->on_oom;
  volatile CompilerEnd end = COMPILER_REPLIED;
  arena_init(&arena, j->heap);
  if (setjmp(here) == 0) {
    j->heap->on_oom = &here;
    if (!code->image) image_write(code, &image); /* made by hand */
    order->size = code->image ? code->image_size : image.len;
    end = compiler_begin(&j->compiler, order, code->image ? code->image : image.data);
    if (end == COMPILER_WORKING) end = await(j, &j->compiler, result, wait);
    else jit_explain(j, end);
  } else {
    refuse_memory(j);
  }
  j->heap->on_oom = outer;
  arena_free(&arena);
  if (end == COMPILER_REPLIED && !result->ok && !j->no_memory) jit_refuse(j, result->why);
  return end != COMPILER_NONE;
}

bool jit_carry_out_here(Jit *j, const LModule *m, const Order *order) {
  Result result = {0};
  Folder folder;
  if (j->options.never_here) {
    jit_lack(j, "there is no program atled-compiler of this version");
    return jit_refuse(j, j->missing);
  }
  if (!folder_make(&folder, guard_temporary_folder()))
    return jit_refuse(j, "no folder for temporary files can be made");
  Quiet q;
  quiet_begin(&q);
  bool ok = translate_module(order, m, &j->tools, folder.path, false, j->heap, &result);
  quiet_end(&q, false);
  folder_remove(&folder);
  j->no_memory = result.no_memory;
  return ok || jit_refuse(j, result.why);
}

static bool carry_out(Jit *j, Mod *m, Order *order, Wait *wait) {
  Result result = {0};
  if (!jit_wants_process(j) || !order_elsewhere(j, m, order, &result, wait))
    return jit_carry_out_here(j, m->code, order);
  if (result.missing) jit_lack(j, result.why);
  return result.ok;
}

/* For objects that are made; not the folder of intermediate files: memory is often mounted without execution. */
static const char *workplace(Jit *j, char *path, size_t n) {
  return cache_workplace(&j->cache, path, n) ? path : "/tmp";
}

Order *jit_new_order(Jit *j, const LModule *m, uint64_t key, Folder *folder) {
  Order *order = heap_realloc(j->heap, NULL, 0, sizeof *order);
  *folder = (Folder){0};
  if (!order) {
    refuse_memory(j);
    return NULL;
  }
  *order = (Order){.key = key,
                   .memory = j->options.memory,
                   .seconds = j->options.seconds,
                   .opt_level = j->options.opt_level,
                   .lanes = !j->options.no_lanes,
                   .cpu = jit_cpu(j->options.cpu),
                   .cache_limit = j->cache.limit,
                   .strict = is_strict(j, m)};
  strcpy(order->dump_dir, j->dump_dir);
  strcpy(order->cache_dir, j->cache.dir);
  char path[PATH_SIZE];
  const char *parent = workplace(j, path, sizeof path);
  if (!j->swept) folder_sweep(guard_temporary_folder());
  if (!j->swept) folder_sweep(parent);
  j->swept = true;
  if (folder_make(folder, parent) &&
      (size_t)snprintf(order->so, sizeof order->so, "%s/m.so", folder->path) < sizeof order->so)
    return order;
  snprintf(j->why, sizeof j->why, "no folder for the compiled module can be made in %.200s", parent);
  jit_free_order(j, order);
  return NULL;
}

void jit_free_order(Jit *j, Order *order) { heap_realloc(j->heap, order, sizeof *order, 0); }

void jit_keep(Jit *j, const Order *order) {
  Quiet q;
  quiet_begin(&q);
  if (j->cache.dir[0]) cache_store(&j->cache, order->key, order->so);
  quiet_end(&q, false);
}

static bool write_block(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wbe");
  bool ok = f && fwrite(bytes, 1, n, f) == n;
  return f && fclose(f) == 0 && ok;
}

void jit_keep_block(Jit *j, uint64_t key, const void *bytes, size_t n) {
  char parent[PATH_SIZE], path[sizeof parent + 8];
  Folder folder;
  if (!cache_workplace(&j->cache, parent, sizeof parent) || !folder_make(&folder, parent)) return;
  snprintf(path, sizeof path, "%s/block", folder.path);
  Quiet q;
  quiet_begin(&q);
  if (write_block(path, bytes, n)) cache_store(&j->cache, key, path);
  quiet_end(&q, false);
  folder_remove(&folder);
}

size_t jit_block_room(const Jit *j, uint64_t key) { return cache_room(&j->cache, key); }

size_t jit_read_block(const Jit *j, uint64_t key, void *to, size_t room) {
  return cache_read(&j->cache, key, to, room);
}

static bool find_cached(Jit *j, Mod *m, uint64_t key) {
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

static bool load_cached(Jit *j, Mod *m, uint64_t key) {
  Phase before = phase_enter(j->heap, PHASE_LOAD);
  bool found = find_cached(j, m, key);
  phase_leave(j->heap, before);
  return found;
}

/* ---- Jobs --------------------------------------------------------------------------------------------------------
 * A call that may not take as long as the compile leaves it to the compiler's process, and the next one that wants the
 * same goes on waiting: so a limit that is too short for a compile isn't one that nothing ever comes from. Other code
 * doesn't wait for it: it is compiled by another process beside, of which there are BESIDE at most. */
enum { BESIDE = 4 };

/* The job's object is there. */
static bool use(Jit *j, Mod *m, const JitJob *job) {
  bool ok = attach(j, m, job->order->so);
  if (ok) jit_keep(j, job->order);
  return ok;
}

/* Makes the code. Who left it is to keep the job. */
static bool compile(Jit *j, Mod *m, JitJob *job, Wait *wait) {
  job->order = jit_new_order(j, m->code, job->key, &job->folder);
  return job->order && carry_out(j, m, job->order, wait) && use(j, m, job);
}

static bool in_turn(Jit *j, Mod *m, JitJob *job, Wait *wait) {
  enum { PATIENCE = 3600 };
  double patience = j->options.seconds > 0 ? j->options.seconds : PATIENCE;
  Turn turn = turn_take(&j->cache, job->key, &job->claim, patience, must_stop, wait);
  if (turn == TURN_STOPPED) return jit_refuse(j, "interrupted");
  if (turn == TURN_THERE && load_cached(j, m, job->key)) return true;
  bool ok = compile(j, m, job, wait);
  j->stats.compiles += ok;
  return ok;
}

/* The job gets the compiler that is at it. */
static void leave(Jit *j, JitJob *job) {
  job->compiler = j->compiler;
  job->compiler.used = (Usage){0};
  j->compiler = (Compiler){.version = j->compiler.version, .used = j->compiler.used};
  job->next = j->left;
  j->left = job;
}

/* Of many processes that want the same code one makes it. */
static bool new_job(Jit *j, Mod *m, uint64_t key, Wait *wait) {
  JitJob *job = heap_realloc(j->heap, NULL, 0, sizeof *job);
  if (!job) return refuse_memory(j);
  *job = (JitJob){.key = key};
  bool ok = in_turn(j, m, job, wait);
  if (job->order && j->compiler.order == job->order) leave(j, job);
  else free_job(j, job);
  return ok;
}

static void take_off(Jit *j, JitJob *job) {
  JitJob **link = &j->left;
  while (*link != job) link = &(*link)->next;
  *link = job->next;
}

/* The compiler of a job that is done may have another one. */
static void give_back(Jit *j, JitJob *job) {
  compiler_add_usage(&j->compiler.used, &job->compiler.used);
  Usage used = j->compiler.used;
  if (!j->compiler.socket) {
    j->compiler = job->compiler;
    j->compiler.used = used;
    job->compiler = (Compiler){0};
  }
  compiler_stop(&job->compiler, false);
  turn_end(&job->claim);
}

/* Waits for the job. False: it is still under way, or it failed and is gone. */
static bool end_job(Jit *j, JitJob *job, Wait *wait) {
  Result result = {0};
  if (!is_under_way(job)) return true;
  CompilerEnd end = await(j, &job->compiler, &result, wait);
  if (is_under_way(job)) return false;
  give_back(j, job);
  if (end == COMPILER_REPLIED && result.ok) return true;
  if (end == COMPILER_REPLIED) jit_refuse(j, result.why);
  if (result.missing) jit_lack(j, result.why);
  take_off(j, job);
  free_job(j, job);
  return false;
}

/* The job that makes the code, or the oldest of those under way if there are too many to begin another one. */
static JitJob *job_to_wait_for(const Jit *j, uint64_t key) {
  int n = 0;
  JitJob *oldest = NULL;
  for (JitJob *job = j->left; job; job = job->next) {
    if (job->key == key) return job;
    if (is_under_way(job)) n++, oldest = job;
  }
  return n < BESIDE ? NULL : oldest;
}

static bool compile_in_turn(Jit *j, Mod *m, uint64_t key) {
  Wait wait = {j, m->rt, now_ms()};
  JitJob *job;
  while ((job = job_to_wait_for(j, key)) && job->key != key)
    if (!end_job(j, job, &wait) && must_stop(&wait)) return jit_refuse(j, "interrupted");
  if (!job) return new_job(j, m, key, &wait);
  if (!end_job(j, job, &wait)) return false;
  bool ok = use(j, m, job);
  j->stats.compiles += ok;
  take_off(j, job);
  free_job(j, job);
  return ok;
}

bool jit_compile(Jit *j, Mod *m, const char **why) {
  double start = now_ms();
  uint64_t key = jit_key(j, m->code, m->code->hash);
  j->no_memory = false;
  jit_own(j);
  if (load_cached(j, m, key)) return true;
  if (!jit_available(j, why)) return false;
  Phase before = phase_enter(j->heap, PHASE_COMPILE);
  bool ok = compile_in_turn(j, m, key);
  phase_leave(j->heap, before);
  j->stats.compile_ms += now_ms() - start;
  if (ok) return true;
  j->stats.failures++;
  *why = j->why;
  return false;
}

/* Makes it in the order's own folder, from which it is moved. */
static bool build(Jit *j, Mod *m, const char *prefix, const char *object) {
  Wait wait = {j, m->rt, now_ms()};
  Folder folder;
  Order *order = jit_new_order(j, m->code, m->code->hash, &folder);
  if (!order) return false;
  snprintf(order->prefix, sizeof order->prefix, "%s", prefix);
  snprintf(order->so, sizeof order->so, "%s", object);
  order->cache_dir[0] = 0;
  bool ok = carry_out(j, m, order, &wait);
  if (j->compiler.order == order) compiler_stop(&j->compiler, false); /* the time was up: nobody asks for it again */
  folder_remove(&folder);
  jit_free_order(j, order);
  return ok;
}

bool jit_build(Jit *j, Mod *m, const char *prefix, const char *object, const char **why) {
  double start = now_ms();
  j->no_memory = false;
  jit_own(j);
  if (!jit_available(j, why)) return false;
  Phase before = phase_enter(j->heap, PHASE_COMPILE);
  bool ok = build(j, m, prefix, object);
  phase_leave(j->heap, before);
  j->stats.compile_ms += now_ms() - start;
  *why = ok ? NULL : j->why;
  return ok;
}

void jit_unload(Mod *m) {
  jit_unload_fragments(m);
  for (int k = 0; k < m->nfuncs; k++)
    if (m->funcs[k]) m->funcs[k]->entry = NULL, m->funcs[k]->direct = NULL;
  if (m->dl) dlclose(m->dl);
  m->dl = NULL;
}
