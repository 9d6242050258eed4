/* SPDX-License-Identifier: MIT */
/* The compiler's process, as hosts of all kinds meet it: those that collect their children, ignore them, or fork; and
 * what becomes of it, and of the host, when one of the two is killed, when it may take too little memory or time, and
 * when there is none. This process adopts orphans, so it sees whatever is left. */
#define _GNU_SOURCE
#include "check.h"
#include <atled.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
/* Two calls of a function whose compile takes seconds: that of a single one would be folded. */
static char slow[400000];

static void write_slow(void) {
  char *p = slow + sprintf(slow, "let f x =\n  let y = x in\n");
  for (int k = 0; k < 1500; k++)
    p += sprintf(p, "  let y = if y > %d.0 then y * cos (y + x) else exp (0.0 - y * y) + y / %d.0 in\n", k, k + 2);
  sprintf(p, "  y\nassert (f 0.5 + f 0.25 < 20.0)\n");
}

static AtledVM *make(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.stack_size = (size_t)16 << 20;
  return atled_new(&config);
}

/* Compiles something small that nobody has compiled before. */
static bool small(AtledVM *vm) {
  static int number;
  AtledFunction *f = NULL;
  char text[100];
  double x = 2, y = 0;
  snprintf(text, sizeof text, "grad (fun x -> %d.0 * x * x)", ++number);
  bool ok = atled_get(vm, text, "float -> float", &f) == ATLED_OK && atled_call_double(f, &x, 1, &y) == ATLED_OK;
  atled_release(f);
  if (!ok && atled_error(vm)) fprintf(stderr, "%s", atled_error(vm)->rendered);
  return ok && y == 4.0 * number;
}

/* The same under a time limit, which a busy machine may need again and again. */
static bool small_at_last(AtledVM *vm) {
  bool ok = false;
  for (int k = 0; k < 100 && !ok; k++) ok = small(vm);
  return ok;
}

static bool complains(AtledVM *vm, const char *of) {
  const AtledDiagnostic *e = atled_error(vm);
  bool ok = e && strstr(e->message, of);
  if (!ok) fprintf(stderr, "\"%s\" expected, not: %s\n", of, e ? e->message : "nothing");
  return ok;
}

/* ---- Processes and files ----------------------------------------------------------------------------------------- */
/* The processes of the program that are children of one of these. */
static int children(const pid_t *parents, int nparents, pid_t *pids, int most) {
  DIR *d = opendir("/proc");
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[300], line[300], name[64], state;
    int pid, parent;
    snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
    FILE *f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
    bool read =
        f && fgets(line, sizeof line, f) && sscanf(line, "%d (%63[^)]) %c %d", &pid, name, &state, &parent) == 4;
    if (f) fclose(f);
    if (!read || state == 'Z' || strncmp(name, "atled-compiler", 14) != 0) continue;
    for (int k = 0; k < nparents; k++)
      if (parents[k] == parent && n < most) pids[n++] = pid;
  }
  if (d) closedir(d);
  return n;
}

/* The compilers that this process has adopted; or (`inner`) what they have started. */
static int compilers(pid_t *pids, int most, bool inner) {
  pid_t self = getpid(), outer[64];
  if (!inner) return children(&self, 1, pids, most);
  return children(outer, children(&self, 1, outer, 64), pids, most);
}

/* Does one compiler wait, soon? The process of its last order ends after the host has had the result. */
static bool is_idle(void) {
  pid_t pids[8];
  double end = now() + 60;
  while (compilers(pids, 8, true) > 0 && now() < end) usleep(1000);
  return compilers(pids, 8, false) == 1 && compilers(pids, 8, true) == 0;
}

/* Reaps what was adopted; is all gone soon? On a machine that has nothing else to do that takes milliseconds, but a
 * process that is killed or ends by itself must be run for that. */
static bool all_gone(void) {
  double end = now() + 60;
  for (;;) {
    pid_t p = waitpid(-1, NULL, WNOHANG);
    if (p == -1) return errno == ECHILD;
    if (p == 0 && now() > end) return false;
    if (p == 0) usleep(1000);
  }
}

static bool is_unlocked(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY);
  bool free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return free;
}

/* Folders of intermediate files that nobody has locked: of this process's compilers, or of others, which come and
 * go. */
enum { NAME = 300, MOST = 64 };
static int abandoned(char names[][NAME]) {
  DIR *d = opendir("/dev/shm");
  int n = 0;
  for (struct dirent *e; d && n < MOST && (e = readdir(d));) {
    snprintf(names[n], NAME, "/dev/shm/%s", e->d_name);
    n += strncmp(e->d_name, "atled-work-", 11) == 0 && is_unlocked(names[n]);
  }
  if (d) closedir(d);
  return n;
}

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */
static void test_reuse(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pid_t first[2], second[2];
  CHECK(small(vm) && compilers(first, 2, false) == 1);
  CHECK(small(vm) && compilers(second, 2, false) == 1 && first[0] == second[0]);
  atled_free(vm);
  CHECK(all_gone());
}

static void test_collectors(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  signal(SIGCHLD, SIG_IGN);
  CHECK(small(vm));
  signal(SIGCHLD, SIG_DFL);
  CHECK(small(vm));
  atled_free(vm);
  CHECK(all_gone());
}

/* The child goes on with the VM, whose compiler is the parent's, and perhaps at work for it: with one of its own. */
static void test_fork_of_vm(AtledJit jit, bool busy) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.time_limit = busy ? 0.5 : 0;
  AtledVM *vm = atled_new(&config);
  int status = -1;
  if (busy) CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, "time limit"));
  else CHECK(small(vm));
  pid_t child = fork();
  if (child == 0) {
    bool ok = true;
    if (busy) ok = small_at_last(vm);
    if (!busy) ok = small(vm) && atled_eval(vm, "t", "assert (sum [ sin (float i) | i < 3000000 ] < 3.0)") == ATLED_OK;
    atled_free(vm);
    _exit(!ok);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  for (int k = 0; k < 1000 && busy; k++) busy = atled_eval(vm, "slow", slow) != ATLED_OK;
  CHECK(!busy && small_at_last(vm));
  atled_free(vm);
  CHECK(all_gone());
}

/* Two processes with one VM each, which were one when it started its compiler. */
static void test_fork(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  CHECK(small(vm));
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    AtledVM *own = make(ATLED_JIT_ALWAYS);
    bool ok = small(own);
    atled_free(own);
    _exit(!ok);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(small(vm));
  atled_free(vm);
  CHECK(all_gone());
}

static void test_in_process(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.jit_in_process = true;
  AtledVM *vm = atled_new(&config);
  pid_t pids[2];
  CHECK(small(vm) && small(vm) && compilers(pids, 2, false) == 0);
  atled_free(vm);
  CHECK(all_gone());
}

/* Other programs in its place: the error is one of compiling, with its reason, and comes soon. One that doesn't exist
 * is ignored, as the warning says, and the usual one is used. */
static void test_other_programs(void) {
  static const char *const reasons[][2] = {
      {"/bin/true", "can't compile: the compiler's process ended without a result"},
      {"/bin/false", "can't compile: the compiler's process doesn't start"},
      {"/bin/cat", "can't compile: the compiler's process doesn't start"}};
  for (int k = 0; k < 3; k++) {
    setenv("ATLED_COMPILER", reasons[k][0], 1);
    AtledVM *vm = make(ATLED_JIT_ALWAYS);
    CHECK(!small(vm) && complains(vm, reasons[k][1]));
    atled_free(vm);
    CHECK(all_gone());
  }
  setenv("ATLED_COMPILER", "/nowhere", 1);
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pid_t pids[2];
  CHECK(small(vm) && compilers(pids, 2, false) == 1);
  atled_free(vm);
  unsetenv("ATLED_COMPILER");
  CHECK(all_gone());
}

/* A program that neither ends nor answers is ended. Limits and interrupts hold meanwhile, and no call of mode auto
 * waits for it. */
static void test_silent_program(void) {
  char path[] = "/tmp/atled-silent-XXXXXX";
  int fd = mkstemp(path);
  static const char script[] = "#!/bin/sh\nexec sleep 1000\n";
  CHECK(fd >= 0 && write(fd, script, sizeof script - 1) == sizeof script - 1 && fchmod(fd, 0700) == 0);
  close(fd);
  setenv("ATLED_COMPILER", path, 1);
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.time_limit = 0.3;
  AtledVM *vm = atled_new(&config);
  double begin = now();
  CHECK(atled_eval(vm, "t", "length args + 1") == ATLED_RUNTIME_ERROR && complains(vm, "time limit"));
  atled_free(vm);
  CHECK(all_gone());
  vm = make(ATLED_JIT_AUTO);
  CHECK(atled_eval(vm, "t", "assert (sum [ sin (float i) | i < 3000000 ] < 3.0)") == ATLED_OK);
  atled_free(vm);
  CHECK(all_gone() && now() < begin + 15);
  vm = make(ATLED_JIT_ALWAYS);
  CHECK(!small(vm) && complains(vm, "the compiler's process doesn't start"));
  atled_free(vm);
  unsetenv("ATLED_COMPILER");
  unlink(path);
  CHECK(all_gone());
}

/* Is nothing there that this process would have to reap? Nor soon. */
static bool no_zombies(void) {
  siginfo_t info = {0};
  usleep(100000);
  return (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) || errno == ECHILD;
}

/* As process 1 of a container, which gets all orphans: compiles, some of them stopped, leave no zombies. */
static void be_process_1(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.time_limit = 0.4;
  AtledVM *vm = atled_new(&config);
  CHECK(getpid() == 1 && small_at_last(vm) && small_at_last(vm) && no_zombies());
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, "time limit"));
  CHECK(small_at_last(vm) && no_zombies());
  atled_free(vm);
  CHECK(no_zombies() && all_gone());
  setenv("ATLED_COMPILER", "/bin/true", 1);
  vm = make(ATLED_JIT_ALWAYS);
  CHECK(!small(vm) && no_zombies());
  atled_free(vm);
}

static void test_process_1(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(0); /* it may not */
    pid_t first = fork();
    if (first == 0) {
      be_process_1();
      _exit(check_failures != 0);
    }
    _exit(waitpid(first, &status, 0) != first || status != 0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(all_gone());
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */
/* Kills processes of the program until told to end: the one that compiles, or the one that waits for it. */
typedef struct Killer {
  bool inner;
  AtledVM *interrupted; /* or interrupts this VM */
  int killed;
} Killer;

static void *kill_compiler(void *arg) {
  Killer *k = arg;
  pid_t pids[8];
  for (int look = 0; look < 20000 && !k->killed; look++) {
    int n = compilers(pids, 8, true);
    if (n > 0) {
      usleep(50000); /* into the middle of it */
      n = compilers(pids, 8, k->inner);
    }
    if (n > 0 && k->interrupted) atled_interrupt(k->interrupted);
    for (int i = 0; i < n && !k->interrupted; i++) kill(pids[i], SIGKILL);
    k->killed = n;
    usleep(500);
  }
  return NULL;
}

static void test_killed(bool inner, const char *message) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pthread_t thread;
  Killer k = {.inner = inner};
  CHECK(pthread_create(&thread, NULL, kill_compiler, &k) == 0);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, message));
  pthread_join(thread, NULL);
  CHECK(k.killed > 0 && small(vm)); /* by another one */
  atled_free(vm);
  CHECK(all_gone());
}

static void test_interrupted(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pthread_t thread;
  Killer k = {.interrupted = vm};
  CHECK(pthread_create(&thread, NULL, kill_compiler, &k) == 0);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "interrupt") == 0);
  pthread_join(thread, NULL);
  CHECK(all_gone());
  CHECK(small(vm));
  atled_free(vm);
  CHECK(all_gone());
}

/* A host that is killed while it has something compiled. */
static void test_killed_host(void) {
  int status;
  pid_t pids[8], host = fork();
  if (host == 0) {
    AtledVM *vm = make(ATLED_JIT_ALWAYS);
    atled_eval(vm, "slow", slow);
    _exit(1);
  }
  double end = now() + 60;
  while (compilers(pids, 8, true) == 0 && now() < end) usleep(1000);
  usleep(50000);
  CHECK(kill(host, SIGKILL) == 0 && waitpid(host, &status, 0) == host);
  CHECK(all_gone());
}

/* And one that is killed while its compiler waits for more. */
static void test_killed_idle_host(void) {
  int ends[2], status;
  char ready;
  CHECK(pipe(ends) == 0);
  pid_t host = fork();
  if (host == 0) {
    AtledVM *vm = make(ATLED_JIT_ALWAYS);
    if (!small(vm) || write(ends[1], "r", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  CHECK(read(ends[0], &ready, 1) == 1 && is_idle());
  close(ends[0]);
  CHECK(kill(host, SIGKILL) == 0 && waitpid(host, &status, 0) == host);
  CHECK(all_gone());
}

/* Without orders it ends after ten seconds, and the next compile starts another one. */
static void test_idle(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pid_t first[2], second[2];
  double begin = now();
  CHECK(small(vm) && compilers(first, 2, false) == 1);
  while (now() < begin + 60 && waitpid(-1, NULL, WNOHANG) == 0) usleep(50000);
  double waited = now() - begin;
  CHECK(waited > 9 && waited < 60 && all_gone());
  CHECK(small(vm) && compilers(second, 2, false) == 1 && first[0] != second[0]);
  atled_free(vm);
  CHECK(all_gone());
}

/* The files of compilers that were killed are there until the next one starts. */
static void test_abandoned_files(void) {
  AtledVM *vm = make(ATLED_JIT_ALWAYS);
  pthread_t thread;
  Killer k = {.inner = false};
  CHECK(pthread_create(&thread, NULL, kill_compiler, &k) == 0);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR);
  pthread_join(thread, NULL);
  CHECK(all_gone());
  static char names[MOST][NAME];
  int n = abandoned(names);
  atled_free(vm);
  vm = make(ATLED_JIT_ALWAYS); /* a new one looks for them */
  CHECK(small(vm));
  for (int i = 0; i < n; i++) CHECK(access(names[i], F_OK) != 0 || !is_unlocked(names[i]));
  atled_free(vm);
  CHECK(all_gone());
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */
static void test_limits(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.jit_time = 0.2;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, "longer than 0.2 seconds"));
  atled_free(vm);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  config.jit_time = 0;
  config.jit_memory = (size_t)90 << 20;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, "memory"));
  CHECK(small(vm));
  atled_free(vm);
  config.jit = ATLED_JIT_AUTO; /* goes on in the evaluator, and says so */
  config.jit_memory = (size_t)40 << 20;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "long", "assert (sum [ sin (float i) | i < 3000000 ] < 3.0)") == ATLED_OK);
  CHECK(atled_diagnostic_count(vm) == 1 && strcmp(atled_diagnostic(vm, 0)->kind, "no-compiler") == 0);
  atled_free(vm);
#endif
  CHECK(all_gone());
}

/* Seconds that `slow` takes until it is compiled: it is evaluated instead. */
static double time_before_compile(void) {
  AtledVM *vm = make(ATLED_JIT_OFF);
  double start = now();
  CHECK(atled_eval(vm, "slow", slow) == ATLED_OK);
  double end = now();
  atled_free(vm);
  return end - start;
}

/* The time limit of a call holds for compiles that it needs, too. They continue after it, and later calls need the
 * same, whatever else was evaluated: so one of them ends in time. The limit leaves time to come to the compile. */
static void test_time_limit(void) {
  enum { CALLS = 1000 };
  AtledConfig config;
  atled_config_init(&config);
  config.time_limit = 0.2 + 2 * time_before_compile();
  config.jit = ATLED_JIT_ALWAYS;
  AtledVM *vm = atled_new(&config);
  char *other = malloc(strlen(slow) + 1);
  strcpy(other, slow);
  *strstr(other, "1.0") = '3'; /* `if y > 1.0` */
  bool done[2] = {false, false};
  int calls = 0;
  for (; calls < CALLS && !(done[0] && done[1]); calls++) {
    AtledStatus status = atled_eval(vm, "slow", calls % 2 ? other : slow);
    done[calls % 2] |= status == ATLED_OK;
    CHECK(status == ATLED_OK || (status == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "time") == 0));
    CHECK(status != ATLED_OK || calls > 1);
  }
  CHECK(calls < CALLS);
  atled_free(vm);
  CHECK(all_gone());
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "time") == 0);
  atled_free(vm); /* while it is compiled */
  CHECK(all_gone());
  free(other);
}

/* Other code doesn't wait for a compile that outlasted the limit. */
static void test_beside(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.time_limit = 1.5;
  config.jit = ATLED_JIT_ALWAYS;
  AtledVM *vm = atled_new(&config);
  config.time_limit = 0;
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && complains(vm, "time limit"));
  CHECK(small_at_last(vm) && small_at_last(vm)); /* while the other one goes on */
  atled_free(vm);
  CHECK(all_gone());
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */
typedef struct Progress {
  double last;
  int calls, ends;
  bool grows;
  AtledVM *vm; /* to interrupt */
} Progress;

static void note(void *user, double seconds) {
  Progress *p = user;
  p->calls += seconds >= 0;
  p->ends += seconds == -1;
  if (seconds >= 0) p->grows &= seconds >= p->last;
  p->last = seconds;
  if (seconds > 0.3 && p->vm) atled_interrupt(p->vm); /* which may be called here as well */
}

static void test_progress(void) {
  Progress p = {.grows = true};
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.compiling = note;
  config.user = &p;
  AtledVM *vm = atled_new(&config);
  CHECK(small(vm) && p.ends > 0 && p.calls >= p.ends && p.grows && p.last == -1);
  p = (Progress){.grows = true, .vm = vm};
  CHECK(atled_eval(vm, "slow", slow) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "interrupt") == 0);
  CHECK(p.ends == 1 && p.calls > 2 && p.grows && p.last == -1);
  atled_free(vm);
  config.jit = ATLED_JIT_OFF;
  p.calls = p.ends = 0;
  vm = atled_new(&config);
  CHECK(small(vm) && p.calls == 0 && p.ends == 0);
  atled_free(vm);
  CHECK(all_gone());
}

int main(void) {
  setenv("ATLED_CACHE", "", 1);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  write_slow();
  test_reuse();
  test_collectors();
  test_fork();
  test_fork_of_vm(ATLED_JIT_ALWAYS, false);
  test_fork_of_vm(ATLED_JIT_AUTO, false);
  test_fork_of_vm(ATLED_JIT_ALWAYS, true);
  test_in_process();
  test_other_programs();
  test_silent_program();
  test_beside();
  test_process_1();
  test_killed(true, "killed for want of memory");
  test_killed(false, "ended without a result");
  test_interrupted();
  test_killed_host();
  test_killed_idle_host();
  test_idle();
  test_abandoned_files();
  test_limits();
  test_time_limit();
  test_progress();
  return check_result();
}
