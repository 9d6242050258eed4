/* SPDX-License-Identifier: MIT */
/* From a module to a shared object: emit.c in the guard's bracket makes assembly text, tools.c an object of it. It
 * happens in this process or in the compiler's; neither a VM nor a cache is known here.
 *
 * Costs: GCC is superlinear in the length of a function, so the options step down with size (see set_options). Memory
 * that runs out inside a translation comes back here by longjmp; no counted value is live there. */
#include "jit/translate.h"
#include "jit/jit.h"
#include "jit/emit.h"
#include "jit/toolchain/folder.h"
#include "jit/toolchain/guard.h"
#if defined __x86_64__
#include "support/cpu.h"
#endif
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sizes in LIR instructions of the longest function, and of a module, from which cheaper passes are chosen. */

typedef struct Work {
  const Order *order;
  const LModule *m;
  Result *result;
  Heap *heap;
  Guard *guard;
  Arena arena;
  Emit e;
  const char *dir; /* of intermediate files */
  bool libm;
  bool fresh; /* the library has compiled nothing in this process, and will compile nothing else */
  bool ok;
} Work;

/* The x86-64 level of this CPU, 0 on others: GCC's option -march=native is refused by the library. */
static int cpu_level(void) {
#if defined __x86_64__
  if (!CPU_HAS(SSE4_2, "sse4.2") || !CPU_HAS(POPCNT, "popcnt")) return 1;
  if (!CPU_HAS(AVX2, "avx2") || !CPU_HAS(FMA, "fma") || !CPU_HAS(BMI2, "bmi2")) return 2;
  if (!CPU_HAS(AVX512F, "avx512f") || !CPU_HAS(AVX512BW, "avx512bw") || !CPU_HAS(AVX512DQ, "avx512dq") ||
      !CPU_HAS(AVX512VL, "avx512vl") || !CPU_HAS(AVX512CD, "avx512cd"))
    return 3;
  return 4;
#else
  return 0;
#endif
}

int jit_cpu(int wanted) { return wanted ? wanted : cpu_level(); }

bool jit_fuses(int cpu) {
#if defined __aarch64__
  (void)cpu;
  return true;
#else
  return cpu >= 3;
#endif
}

uint64_t translate_version(void) {
  static const char version[] = ATLED_VERSION;
  uint64_t sizes =
      (uint64_t)COMPILER_PROTOCOL << 48 | (uint64_t)LOP_COUNT << 32 | sizeof(LModule) << 16 | sizeof(Order);
  return hash_mix(hash_bytes(version, sizeof version, sizes), rt_table_version());
}

static bool is_strict(const Work *w) { return w->order->strict || w->m->strict; }

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
  int level = w->order->opt_level, most = 3;
  /* What the third level adds is for loops and recursion, and costs a third of the time: not for what may be cold. */
  if (!loops && !w->m->fragment) most = 2;
  if (longest > LIMIT_HUGE_FUNCTION || total > LIMIT_HUGE_MODULE) most = 1;
  if (level > most) level = most;
  g->context_set_int_option(ctx, GO_OPTIMIZATION_LEVEL, level);
  g->context_set_bool_print_errors_to_stderr(ctx, 0);
  /* The interprocedural passes of GCC 12 crash in a later compile of the same process, on what an earlier one left
   * behind; our own optimiser specialises functions anyway. */
  /* -w: libgccjit takes a warning, as about a loop in code that is never reached, for an error. */
  static const char *const always[] = {"-w", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
                                       "-ffp-contract=off", "-fno-asynchronous-unwind-tables", "-fno-ipa-cp",
                                       "-fno-ipa-sra", "-mprefer-vector-width=256",
                                       /* takes a twentieth of the time, and gives nothing where cores reorder */
                                       "-fno-schedule-insns2",
                                       /* it makes endless loops of recursions that shall overflow the stack */
                                       "-fno-optimize-sibling-calls",
                                       /* GCC 12 leaves terms out where a loop has two sums in order of what it selects;
                                        * what pays has lanes, and no benchmark is slower */
                                       "-fno-tree-loop-vectorize"};
  for (size_t k = 0; k < sizeof always / sizeof *always; k++) g->context_add_command_line_option(ctx, always[k]);
  /* So do the summaries of what functions touch, but they are worth having. */
  if (!w->fresh) g->context_add_command_line_option(ctx, "-fno-ipa-modref");
  if (is_strict(w)) {
    /* Nothing that is rounded is computed when it is compiled. */
    g->context_add_command_line_option(ctx, "-frounding-math");
  }
  static const char *const levels[] = {NULL, NULL, "-march=x86-64-v2", "-march=x86-64-v3", "-march=x86-64-v4"};
  const char *march = levels[w->order->cpu];
  if (march) g->context_add_command_line_option(ctx, march);
  /* What nothing calls the linker leaves out. */
  if (w->order->prefix[0]) g->context_add_command_line_option(ctx, "-ffunction-sections");
  /* Simpler register allocation, and passes left out that take time or duplicate code: a quarter of the time for no
   * speed. In short functions they cost little, and some loops do gain. */
  static const char *const long_function[] = {"-fira-algorithm=priority",
                                              "-fno-gcse",
                                              "-fno-gcse-after-reload",
                                              "-fno-tree-vrp",
                                              "-fno-split-paths",
                                              "-fno-unswitch-loops",
                                              "-fno-split-loops",
                                              "-fno-peel-loops",
                                              "-fno-version-loops-for-strides"};
  for (size_t k = 0; longest > LIMIT_LONG_FUNCTION && k < sizeof long_function / sizeof *long_function; k++)
    g->context_add_command_line_option(ctx, long_function[k]);
}

static bool refuse(Work *w, const char *text) {
  snprintf(w->result->why, sizeof w->result->why, "%s", text);
  return false;
}

static bool refuse_memory(Work *w) {
  w->result->no_memory = true;
  return refuse(w, "out of memory");
}

static void dump_path(const Work *w, const char *ending, char *path) {
  snprintf(path, FILE_NAME_SIZE, "%s/%016llx.%s", w->order->dump_dir, (unsigned long long)w->order->key, ending);
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rbe"), *out = in ? fopen(to, "wbe") : NULL;
  char block[8192];
  for (size_t n; out && (n = fread(block, 1, sizeof block, in)) > 0;) fwrite(block, 1, n, out);
  if (out) fclose(out);
  if (in) fclose(in);
}

/* In the bracket: the module to assembly text in w->dir. */
static bool translate_guarded(Work *w) {
  char assembly[FILE_NAME_SIZE], path[FILE_NAME_SIZE];
  w->e.g = guard_api(w->guard);
  w->e.ctx = w->e.g->context_acquire();
  if (!w->e.ctx) return refuse(w, "libgccjit gives no context");
  set_options(w);
  w->e.arena = &w->arena;
  w->e.m = w->m;
  w->e.fuses = jit_fuses(w->order->cpu);
  w->e.width = w->order->lanes ? functions_width(w->order->cpu) : 0;
  w->e.prefix = w->order->prefix[0] ? w->order->prefix : NULL;
  bool emitted = emit_module(&w->e);
  if (emitted) emit_pointers(&w->e);
  const char *error = w->e.error ? w->e.error : w->e.g->context_get_first_error(w->e.ctx);
  if (!emitted || error) return refuse(w, error ? error : "the module can't be translated");
  if (w->order->dump_dir[0]) {
    dump_path(w, "c", path);
    w->e.g->context_dump_to_file(w->e.ctx, path, 0);
    dump_path(w, "repro.c", path);
    w->e.g->context_dump_reproducer_to_file(w->e.ctx, path);
  }
  snprintf(assembly, sizeof assembly, "%s/m.s", w->dir);
  w->e.g->context_compile_to_file(w->e.ctx, GK_ASSEMBLER, assembly);
  error = w->e.g->context_get_first_error(w->e.ctx);
  if (error) return refuse(w, error);
  if (access(assembly, R_OK) != 0) return refuse(w, "libgccjit made no code: is the folder of temporary files full?");
  if (w->order->dump_dir[0]) {
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
    usable = guard_run(w->guard, w->fresh ? w->dir : guard_temporary_folder(), translate_task, w);
  } else {
    refuse_memory(w);
  }
  w->heap->on_oom = outer;
  if (!usable) {
    const char *error = w->e.ctx ? w->e.g->context_get_first_error(w->e.ctx) : NULL;
    w->ok = refuse(w, error ? error : "libgccjit gave up, probably for want of memory");
  } else if (w->e.ctx) w->e.g->context_release(w->e.ctx);
  arena_free(&w->arena);
  return w->ok;
}

bool translate_module(const Order *order, const LModule *m, const Tools *tools, const char *folder, bool last,
                      Heap *heap, Result *result) {
  *result = (Result){0};
  Work *w = heap_realloc(heap, NULL, 0, sizeof *w);
  if (!w) {
    result->no_memory = true;
    snprintf(result->why, sizeof result->why, "out of memory");
    return false;
  }
  *w = (Work){.order = order, .m = m, .result = result, .heap = heap, .dir = folder};
  const char *why = "";
  bool ok = false;
  if ((w->guard = guard_enter(&why))) {
    w->fresh = last && !guard_used(w->guard);
    ok = translate(w);
    guard_leave(w->guard);
  } else {
    result->missing = true;
    refuse(w, why);
  }
  bool object = order->prefix[0];
  if (ok && object) ok = tools_assemble(tools, folder, order->so, result->why, sizeof result->why);
  if (ok && !object) ok = tools_make(tools, folder, order->so, w->libm, result->why, sizeof result->why);
  result->ok = ok;
  heap_realloc(heap, w, sizeof *w, 0);
  return result->ok;
}
