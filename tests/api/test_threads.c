/* SPDX-License-Identifier: MIT */
/* Eight threads, each with VMs that compile, half of them in the process and half in one of their own, while others of
 * the host's threads start programs and read the environment. One VM of each thread is a sandbox. Values are right,
 * nothing waits for ever, the process is as it was at every moment, and no child is left.
 *
 * usage: api_threads [ROUNDS] */
#include "check.h"
#include <atled.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { THREADS = 8, BYSTANDERS = 2, VMS = 3 };

/* ---- Threads that compile ---------------------------------------------------------------------------------------- */
typedef struct Job {
  int number, round, wrong;
  pthread_t thread;
} Job;

static bool use_vm(const Job *job, int k) {
  AtledConfig config;
  bool confined = k == 1;
  if (confined) atled_sandbox_init(&config);
  else atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.jit_in_process = job->number % 2;
  config.stack_size = (size_t)64 << 20;
  config.time_limit = 300; /* a thread of the VM's own, which watches the clock */
  AtledVM *vm = atled_new(&config);
  char expression[200];
  int factor = 1 + k + VMS * (job->number + THREADS * job->round); /* nobody else compiles the same */
  snprintf(expression, sizeof expression, "grad (fun x -> %d.0 * x * x + sum [ x * float i | i < 3 ])", factor);
  AtledFunction *f = NULL;
  double x = 2, slope = 0;
  bool ok = vm && atled_get(vm, expression, "float -> float", &f) == ATLED_OK &&
            atled_call_double(f, &x, 1, &slope) == ATLED_OK && slope == 4.0 * factor + 3;
  if (!ok)
    fprintf(stderr, "thread %d: %s\n", job->number,
            vm && atled_error(vm) ? atled_error(vm)->rendered : "a wrong value");
  atled_release(f);
  bool denied = vm && atled_eval(vm, "read", "let read () = read_file \"/etc/passwd\"") == ATLED_COMPILE_ERROR;
  atled_free(vm);
  return ok && denied == confined;
}

/* A VM that is stopped from another thread. */
static void *interrupt(void *vm) {
  usleep(1000);
  atled_interrupt(vm);
  return NULL;
}

static bool stop_vm(const Job *job) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = job->number % 4 < 2 ? ATLED_JIT_ALWAYS : ATLED_JIT_OFF;
  config.jit_in_process = job->number % 2;
  config.stack_size = (size_t)64 << 20;
  AtledVM *vm = atled_new(&config);
  pthread_t other;
  bool ok = vm && pthread_create(&other, NULL, interrupt, vm) == 0;
  ok = ok && atled_eval(vm, "endless", "let rec spin n = if n < 0 then n else spin (n + 1 - n % 2)\nspin 1") ==
                 ATLED_RUNTIME_ERROR;
  pthread_join(other, NULL);
  ok = ok && strcmp(atled_error(vm)->kind, "interrupt") == 0;
  atled_free(vm);
  return ok;
}

static void *compile(void *arg) {
  Job *job = arg;
  for (int k = 0; k < VMS; k++) job->wrong += !use_vm(job, k);
  job->wrong += !stop_vm(job);
  return NULL;
}

/* ---- The rest of the host ---------------------------------------------------------------------------------------- */
static void handler(int number) { (void)number; }
static bool done; /* read and written atomically */

static bool run_program(void) {
  char *argv[] = {"/bin/true", NULL};
  pid_t pid;
  int status = -1;
  return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Is the process as the host made it? */
static bool unchanged(rlim_t stack) {
  struct sigaction now;
  struct rlimit limit;
  sigaction(SIGINT, NULL, &now);
  getrlimit(RLIMIT_STACK, &limit);
  const char *folder = getenv("TMPDIR");
  return now.sa_handler == handler && limit.rlim_cur == stack && folder && strcmp(folder, "/tmp") == 0 &&
         strcmp(setlocale(LC_ALL, NULL), "C") == 0;
}

static void *stand_by(void *arg) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  for (int k = 0; !__atomic_load_n(&done, __ATOMIC_ACQUIRE); k++) {
    if (!unchanged(limit.rlim_cur) || (k % 64 == 0 && !run_program())) ++*(int *)arg;
    usleep(200);
  }
  return NULL;
}

static void run_round(int round) {
  Job jobs[THREADS];
  pthread_t bystanders[BYSTANDERS];
  int changes[BYSTANDERS] = {0};
  __atomic_store_n(&done, false, __ATOMIC_RELEASE);
  for (int i = 0; i < BYSTANDERS; i++) CHECK(pthread_create(&bystanders[i], NULL, stand_by, &changes[i]) == 0);
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (Job){.number = i, .round = round};
    CHECK(pthread_create(&jobs[i].thread, NULL, compile, &jobs[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(jobs[i].thread, NULL);
    CHECK(jobs[i].wrong == 0);
  }
  __atomic_store_n(&done, true, __ATOMIC_RELEASE);
  for (int i = 0; i < BYSTANDERS; i++) {
    pthread_join(bystanders[i], NULL);
    CHECK(changes[i] == 0);
  }
  /* this process adopts what its children leave behind: the compilers of VMs that are gone have a second */
  int looks = 0;
  while (waitpid(-1, NULL, WNOHANG) >= 0 && ++looks < 1000) usleep(1000);
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 2;
  signal(SIGINT, handler);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setenv("TMPDIR", "/tmp", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("ATLED_CACHE", "", 1);
  for (int i = 0; i < rounds; i++) run_round(i);
  return check_result();
}
