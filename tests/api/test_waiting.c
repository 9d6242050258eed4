/* SPDX-License-Identifier: MIT */
/* A host in whose surroundings something never comes: files that are FIFOs, pipes that nobody reads or writes, and the
 * thread of the clock in a child that was forked. No call waits for ever; limits and interrupts end it, and no signal
 * ends the host. */
#define _GNU_SOURCE
#include "check.h"
#include <atled.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static AtledVM *make(AtledJit jit, double time_limit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = time_limit;
  return atled_new(&config);
}

/* Did the call end by an error of this kind? */
static bool failed(const AtledVM *vm, AtledStatus status, const char *kind) {
  const AtledDiagnostic *d = atled_error(vm);
  bool ok = status != ATLED_OK && d && strcmp(d->kind, kind) == 0;
  if (!ok) fprintf(stderr, "%s expected, not status %d: %s\n", kind, status, d ? d->rendered : "");
  return ok;
}

/* The status of a child that does that, -1 if a signal ended it. */
static int in_child(int (*does)(void *arg), void *arg) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(does(arg));
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */
static const char endless[] = "let mut n = 0 in while n >= 0 do n <- (n + 1) % 7 done";

/* Compiling may take longer than the limit. */
static bool evaluates(AtledVM *vm) {
  AtledStatus status = ATLED_RUNTIME_ERROR;
  for (int k = 0; k < 50 && status != ATLED_OK; k++) status = atled_eval(vm, "t", "1 + 1");
  return status == ATLED_OK;
}

static int use_and_free(void *arg) {
  AtledVM *vm = arg;
  bool ok = evaluates(vm) && failed(vm, atled_eval(vm, "t", endless), "time") && evaluates(vm);
  atled_free(vm);
  return !ok;
}

static int only_free(void *arg) {
  atled_free(arg);
  return 0;
}

static int use_in_grandchild(void *arg) { return in_child(use_and_free, arg); }

static void test_fork(AtledJit jit) {
  AtledVM *vm = make(jit, 0.3);
  CHECK(evaluates(vm)); /* there is a clock now */
  for (int k = 0; k < 20; k++) CHECK(in_child(only_free, vm) == 0);
  CHECK(in_child(use_and_free, vm) == 0);
  CHECK(in_child(use_in_grandchild, vm) == 0);
  CHECK(use_and_free(vm) == 0);
}

/* ---- FIFOs in place of files ------------------------------------------------------------------------------------- */
static char folder[] = "/tmp/atled-test-XXXXXX", fifo[64];

static bool make_fifo(const char *path) { return unlink(path), mkfifo(path, 0600) == 0; }

/* Nothing but a regular file is read, a device neither. */
static void test_sources(void) {
  AtledVM *vm = make(ATLED_JIT_OFF, 0);
  char text[200];
  const char *const paths[] = {fifo, "/dev/zero", "/dev/null", folder};
  for (int k = 0; k < 4; k++) {
    CHECK(failed(vm, atled_eval_file(vm, paths[k]), "bad-argument"));
    snprintf(text, sizeof text, "import \"%s\" as M", paths[k]);
    CHECK(failed(vm, atled_eval(vm, "t", text), "import-file"));
    CHECK(strstr(atled_error(vm)->message, k < 3 ? "it isn't a regular file" : "Is a directory"));
    snprintf(text, sizeof text, "foreign \"%s\" f : float -> float\nf 1.0", paths[k]);
    CHECK(failed(vm, atled_eval(vm, "t", text), "foreign"));
  }
  atled_free(vm);
}

/* A file that is a FIFO isn't the program's to wait for where there is a limit. */
static void test_files(void) {
  AtledVM *vm = make(ATLED_JIT_OFF, 0.2);
  char text[200];
  snprintf(text, sizeof text, "read_file \"%s\"", fifo);
  CHECK(failed(vm, atled_eval(vm, "t", text), "time"));
  snprintf(text, sizeof text, "write_file \"%s\" \"a\"", fifo);
  CHECK(failed(vm, atled_eval(vm, "t", text), "time"));
  atled_free(vm);
}

/* In place of each file of the cache. */
static int replace_cache(void) {
  DIR *d = opendir(folder);
  int n = 0;
  char path[400];
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_type != DT_REG) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    n += make_fifo(path);
  }
  if (d) closedir(d);
  return n;
}

static bool compiles(AtledJit jit) {
  AtledVM *vm = make(jit, 0);
  bool ok = atled_eval(vm, "t", "assert (sum [ sin (float i) | i < 2000000 ] < 3.0)") == ATLED_OK;
  AtledCache cache;
  ok = ok && atled_cache(vm, &cache) == ATLED_OK;
  if (!ok) fprintf(stderr, "%s", atled_error(vm)->rendered);
  atled_free(vm);
  return ok;
}

static void test_cache(void) {
  CHECK(compiles(ATLED_JIT_ALWAYS) && compiles(ATLED_JIT_AUTO));
  CHECK(replace_cache() >= 2); /* an entry and `size` */
  CHECK(compiles(ATLED_JIT_AUTO) && compiles(ATLED_JIT_ALWAYS));
  CHECK(replace_cache() >= 2); /* regular ones again */
}

/* ---- Output -------------------------------------------------------------------------------------------------------
 * Each in a child, whose standard streams are what they are to be, and where signals have their usual effect. */
static const char printing[] = "let mut n = 0 in while n >= 0 do n <- n + 1; print n done",
                  complaining[] = "let mut n = 0 in while n >= 0 do n <- n + 1; eprint n done",
                  long_text[] = "print (Str.join \"long\" (replicate 1000000 \"\"))";
static const char *const outputs[] = {printing, complaining, long_text};

typedef struct Output {
  AtledJit jit;
  const char *source, *kind;
  bool reader;       /* there is one, which reads nothing; else there is none */
  bool buffered;     /* by more than a pipe takes at once */
  bool interrupted;  /* by a signal's handler, instead of the clock */
  rlim_t file_limit; /* into a file, not a pipe; 0: none */
} Output;

static AtledVM *signalled;
static void on_alarm(int unused) {
  (void)unused;
  atled_interrupt(signalled);
}

static void redirect(const Output *o) {
  int ends[2];
  static char buffer[1 << 20];
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  if (o->file_limit) {
    char path[] = "/tmp/atled-test-XXXXXX";
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){o->file_limit, o->file_limit});
    ends[1] = mkstemp(path);
    unlink(path);
  } else if (pipe(ends) == 0 && !o->reader) {
    close(ends[0]);
  }
  dup2(ends[1], STDOUT_FILENO);
  if (strcmp(o->source, complaining) == 0) dup2(ends[1], STDERR_FILENO);
  if (o->buffered) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

/* The signal isn't left behind, nor blocked. */
static bool signals_are_usual(void) {
  sigset_t pending, mask;
  sigpending(&pending);
  sigprocmask(SIG_BLOCK, NULL, &mask);
  return !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ) && !sigismember(&mask, SIGPIPE) &&
         !sigismember(&mask, SIGXFSZ);
}

static int run_output(void *arg) {
  const Output *o = arg;
  redirect(o);
  AtledVM *vm = make(o->jit, strcmp(o->kind, "time") == 0 ? 0.3 : 0);
  if (o->interrupted) {
    signalled = vm;
    signal(SIGALRM, on_alarm);
    alarm(1);
  }
  AtledStatus status = atled_eval(vm, "t", o->source);
  int right = status == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, o->kind) == 0;
  return right && signals_are_usual() && evaluates(vm) ? 42 : 1;
}

/* in_child calls _exit: what is left in stdout's buffer isn't written. */
static bool stops(Output o) {
  bool ok = in_child(run_output, &o) == 42;
  if (!ok) fprintf(stderr, "%s, limit %d, %d %d %d\n", o.source, (int)o.file_limit, o.jit, o.reader, o.interrupted);
  return ok;
}

static void test_output(AtledJit jit) {
  for (int k = 0; k < 3; k++) {
    const char *source = outputs[k];
    CHECK(stops((Output){.jit = jit, .source = source, .kind = "time", .reader = true}));
    CHECK(stops((Output){.jit = jit, .source = source, .kind = "time", .reader = true, .buffered = true}));
    CHECK(stops((Output){.jit = jit, .source = source, .kind = "interrupt", .reader = true, .interrupted = true}));
    CHECK(stops((Output){.jit = jit, .source = source, .kind = "output"}));
    CHECK(stops((Output){.jit = jit, .source = source, .kind = "output", .file_limit = 10000}));
  }
}

static int write_files(void *unused) {
  (void)unused;
  signal(SIGXFSZ, SIG_DFL);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
  AtledVM *vm = make(ATLED_JIT_OFF, 0);
  char text[300];
  snprintf(text, sizeof text, "write_file \"%s/large\" (Str.join \"long\" (replicate 10000 \"\"))", folder);
  bool ok = failed(vm, atled_eval(vm, "t", text), "io") && signals_are_usual();
  atled_free(vm);
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  for (int k = 0; k < 2; k++) { /* nothing that is compiled can be written */
    config.jit_in_process = k;
    vm = atled_new(&config);
    snprintf(text, sizeof text, "length args + %d", 1234567 + k);
    ok = ok && failed(vm, atled_eval(vm, "t", text), "io") && signals_are_usual();
    atled_free(vm);
  }
  return ok ? 42 : 1;
}

int main(void) {
  const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_ALWAYS, ATLED_JIT_AUTO};
  alarm(300); /* what hangs fails */
  for (int k = 0; k < 3; k++) test_fork(modes[k]);
  snprintf(fifo, sizeof fifo, "%s/fifo", mkdtemp(folder));
  CHECK(make_fifo(fifo) && setenv("ATLED_CACHE", folder, 1) == 0);
  test_sources();
  test_files();
  test_cache();
  CHECK(in_child(write_files, NULL) == 42);
  test_output(ATLED_JIT_OFF);
  test_output(ATLED_JIT_ALWAYS);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0 && now() > 0);
  return check_result();
}
