/* SPDX-License-Identifier: MIT */
/* The bracket around libgccjit, and the only file that includes its header.
 *
 * The library is GCC as a shared object. It has process-wide state, so one compilation runs at a time in the whole
 * process. Therefore there is a static mutex here, the only one of the program, in one struct with what it protects.
 * The library is loaded by dlopen at the first compilation: linking to it would cost each start 2 ms, and programs
 * run without it.
 *
 * GCC was written as a program that owns its process. It sets signal handlers, the locale and the limit of the
 * stack, and reads the environment. When memory is exhausted, or it finds an internal error, it ends the process.
 * Restoring all that afterwards isn't enough: other threads would see it meanwhile, and a child of fork could wait
 * for ever for a lock of the C library. So these imports of the library are replaced by the functions below
 * (imports.c): they do nothing, or leave the compilation by a jump. After such a jump the library is never entered
 * again.
 *
 * Only assembly text is requested from it; the caller runs `as` and `ld`. The library's own driver would end the
 * process if a tool were missing, installs signal handlers, and is slower. */
#define _GNU_SOURCE
#include "jit/toolchain/guard.h"
#include "jit/toolchain/imports.h"
#include <dlfcn.h>
#include <libgccjit.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define G(result, name, params)                                                                                        \
  _Static_assert(__builtin_types_compatible_p(__typeof__(((GccApi *)0)->name), __typeof__(&gcc_jit_##name)),           \
                 #name " differs from libgccjit.h");
GCC_API(G)
#undef G
#define C(ours, theirs, value) _Static_assert((int)ours == (int)theirs, #theirs " differs from libgccjit.h");
GCC_CONSTANTS(C)
#undef C

struct Guard {
  pthread_mutex_t lock;
  pid_t holder; /* the process that holds it; 0: nobody does */
  GccApi api;
  bool loaded;
  bool used;           /* there was a compile */
  bool broken;         /* it ended itself in the middle of one */
  jmp_buf *end;        /* where a compile that ends itself goes on */
  char temporary[256]; /* the folder of its temporary files */
};
static struct Guard guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- What it gets in place of the C library's functions ---------------------------------------------------------- */
static _Noreturn void end_compile(void) {
  if (guard.end) longjmp(*guard.end, 1);
  abort();
}

static _Noreturn void end_process(int status) {
  (void)status;
  end_compile();
}

/* It asks for its folder of temporary files; whatever else it asks for are wishes of people who call compilers. */
static char *get_variable(const char *name) { return strcmp(name, "TMPDIR") == 0 ? guard.temporary : NULL; }

static int set_variable(const char *name, const char *value, int replace) {
  (void)name, (void)value, (void)replace;
  return 0;
}

static int put_variable(char *text) {
  (void)text;
  return 0;
}

static int unset_variable(const char *name) {
  (void)name;
  return 0;
}

static char *set_locale(int category, const char *name) {
  static char c[] = "C";
  (void)category, (void)name;
  return c;
}

static char *set_domain(const char *name) {
  (void)name;
  return NULL;
}

static char *bind_domain(const char *name, const char *folder) {
  (void)name, (void)folder;
  return NULL;
}

static char *translate(const char *text) { return (char *)text; }

static char *translate_in(const char *domain, const char *text) {
  (void)domain;
  return (char *)text;
}

static char *translate_number(const char *one, const char *many, unsigned long n) {
  return (char *)(n == 1 ? one : many);
}

static void (*handle_signal(int number, void (*handler)(int)))(int) {
  (void)number, (void)handler;
  return SIG_DFL;
}

static int set_limit(int resource, const struct rlimit *limit) {
  (void)resource, (void)limit;
  return 0;
}

static void print_reason(const char *text) { (void)text; }

/* Standard error is the host's. */
__attribute__((format(printf, 2, 0))) static int print_list_to(FILE *file, const char *format, va_list ap) {
  return file == stderr ? 0 : vfprintf(file, format, ap);
}

__attribute__((format(printf, 2, 3))) static int print_to(FILE *file, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = print_list_to(file, format, ap);
  va_end(ap);
  return n;
}

static int put_text(const char *text, FILE *file) { return file == stderr ? 0 : fputs_unlocked(text, file); }
static int put_byte(int byte, FILE *file) { return file == stderr ? byte : putc_unlocked(byte, file); }
static size_t put_items(const void *items, size_t size, size_t n, FILE *file) {
  return file == stderr ? n : fwrite_unlocked(items, size, n, file);
}

/* A pointer to a function as one to data: what slots hold. */
typedef union Code {
  void (*function)(void);
  void *data;
} Code;
#define INSTEAD(name, function)                                                                                        \
  { #name, (Code){(void (*)(void))(function) }.data }

static bool redirect(void *library) {
  const Import rows[] = {
      INSTEAD(exit, end_process),
      INSTEAD(_exit, end_process),
      INSTEAD(abort, end_compile),
      INSTEAD(getenv, get_variable),
      INSTEAD(setenv, set_variable),
      INSTEAD(putenv, put_variable),
      INSTEAD(unsetenv, unset_variable),
      INSTEAD(setlocale, set_locale),
      INSTEAD(textdomain, set_domain),
      INSTEAD(bindtextdomain, bind_domain),
      INSTEAD(gettext, translate),
      INSTEAD(dgettext, translate_in),
      INSTEAD(ngettext, translate_number),
      INSTEAD(signal, handle_signal),
      INSTEAD(setrlimit, set_limit),
      INSTEAD(perror, print_reason),
      INSTEAD(fprintf, print_to),
      INSTEAD(vfprintf, print_list_to),
      INSTEAD(fputs, put_text),
      INSTEAD(fputs_unlocked, put_text),
      INSTEAD(fputc, put_byte),
      INSTEAD(fputc_unlocked, put_byte),
      INSTEAD(putc, put_byte),
      INSTEAD(fwrite, put_items),
      INSTEAD(fwrite_unlocked, put_items),
  };
  return imports_redirect(library, rows, sizeof rows / sizeof *rows);
}

/* Fills the function table. The handle is never closed: GCC can't be unloaded. */
static bool load(const char **why) {
  void *dl = dlopen("libgccjit.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!dl) {
    *why = "libgccjit.so.0 can't be loaded (on Debian and Ubuntu it is in the package libgccjit0)";
    return false;
  }
  static const struct {
    const char *name;
    size_t offset;
  } rows[] = {
#define G(result, name, params) {"gcc_jit_" #name, offsetof(GccApi, name)},
      GCC_API(G)
#undef G
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *f = dlsym(dl, rows[i].name);
    if (!f) {
      dlclose(dl);
      *why = "libgccjit.so.0 is too old: version 12 or later is needed";
      return false;
    }
    memcpy((char *)&guard.api + rows[i].offset, &f, sizeof f);
  }
  if (redirect(dl)) return true;
  dlclose(dl);
  *why = "libgccjit.so.0 can't be kept apart from the rest of the process on this system";
  return false;
}

const char *guard_temporary_folder(void) {
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char *dir = secure_getenv("TMPDIR");
  return dir && *dir ? dir : "/tmp";
}

/* Another thread of the parent held the lock when this process was forked: nobody unlocks it here. */
static bool is_lost(void) {
  pid_t holder = __atomic_load_n(&guard.holder, __ATOMIC_SEQ_CST);
  return holder && holder != getpid();
}

static void unlock(void) {
  __atomic_store_n(&guard.holder, 0, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&guard.lock);
}

Guard *guard_enter(const char **why) {
  if (is_lost()) {
    *why = "libgccjit can't be used: this process was forked while another thread compiled";
    return NULL;
  }
  pthread_mutex_lock(&guard.lock);
  __atomic_store_n(&guard.holder, getpid(), __ATOMIC_SEQ_CST);
  if (!guard.loaded) guard.loaded = load(why);
  if (guard.broken) *why = "libgccjit can't be used any more: it gave up in an earlier compile";
  if (guard.loaded && !guard.broken) return &guard;
  unlock();
  return NULL;
}

const GccApi *guard_api(const Guard *g) { return &g->api; }

bool guard_used(const Guard *g) { return g->used; }

bool guard_run(Guard *g, const char *folder, void (*task)(void *data), void *data) {
  jmp_buf here;
  snprintf(g->temporary, sizeof g->temporary, "%s", folder);
  g->end = &here;
  g->used = true;
  if (setjmp(here) == 0) task(data);
  else g->broken = true;
  g->end = NULL;
  return !g->broken;
}

void guard_leave(Guard *g) {
  (void)g;
  unlock();
}
