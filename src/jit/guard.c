/* SPDX-License-Identifier: MIT */
/* The bracket around libgccjit, and the only file that includes its header.
 *
 * The library is GCC as a shared object. It has process-wide state, so one compile
 * runs at a time in the whole process: that is why there is a static mutex here,
 * the only one of the program, with what it protects in the same struct. It is
 * loaded by dlopen at the first compile: linking to it would cost every start 2 ms,
 * and programs run without it. A compile may change signal handlers, the locale and
 * the stack limit of the process; guard_enter saves them, guard_leave puts them back.
 *
 * Only assembly text is ever asked of it (the caller runs `as` and `ld`): the
 * library's own driver would end the process if a tool were missing, installs
 * signal handlers, and is slower. */
#include "jit/guard.h"
#include <dlfcn.h>
#include <libgccjit.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
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

static const int saved_signals[] = {SIGINT,  SIGHUP, SIGTERM, SIGPIPE, SIGSEGV, SIGILL,
                                    SIGBUS, SIGABRT, SIGFPE,  SIGCHLD, SIGALRM, SIGUSR1};
enum { NSIGNALS = sizeof saved_signals / sizeof *saved_signals };

struct Guard {
  pthread_mutex_t lock;
  GccApi api;
  bool loaded;
  struct sigaction actions[NSIGNALS];
  struct rlimit stack;
  char locale[512];
  char *tmpdir; /* the host's TMPDIR, while another is set */
  bool tmpdir_changed;
};
static struct Guard guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Fills the function table. The handle is never closed: GCC can't be unloaded. */
static bool load(const char **why) {
  void *dl = dlopen("libgccjit.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!dl) {
    *why = "libgccjit.so.0 can't be loaded (on Debian and Ubuntu it is in the package libgccjit0)";
    return false;
  }
  static const struct { const char *name; size_t offset; } rows[] = {
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
  return true;
}

const char *guard_temporary_folder(void) {
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char *dir = getenv("TMPDIR");
  return dir && *dir ? dir : "/tmp";
}

Guard *guard_enter(const char **why) {
  pthread_mutex_lock(&guard.lock);
  if (!guard.loaded && !(guard.loaded = load(why))) {
    pthread_mutex_unlock(&guard.lock);
    return NULL;
  }
  for (int i = 0; i < NSIGNALS; i++) sigaction(saved_signals[i], NULL, &guard.actions[i]);
  getrlimit(RLIMIT_STACK, &guard.stack);
  const char *locale = setlocale(LC_ALL, NULL);
  guard.locale[0] = 0;
  if (locale && strlen(locale) < sizeof guard.locale) strcpy(guard.locale, locale);
  /* GCC asks for its temporary folder by this variable. */
  const char *dir = getenv("TMPDIR"), *better = guard_temporary_folder();
  guard.tmpdir_changed = !dir || strcmp(dir, better) != 0;
  if (guard.tmpdir_changed) {
    guard.tmpdir = dir ? strdup(dir) : NULL;
    setenv("TMPDIR", better, 1);
  }
  return &guard;
}

const GccApi *guard_api(const Guard *g) { return &g->api; }

void guard_leave(Guard *g) {
  if (g->tmpdir_changed) {
    if (g->tmpdir) setenv("TMPDIR", g->tmpdir, 1);
    else unsetenv("TMPDIR");
    free(g->tmpdir);
    g->tmpdir = NULL;
  }
  if (g->locale[0]) setlocale(LC_ALL, g->locale);
  setrlimit(RLIMIT_STACK, &g->stack);
  for (int i = 0; i < NSIGNALS; i++) sigaction(saved_signals[i], &g->actions[i], NULL);
  pthread_mutex_unlock(&g->lock);
}
