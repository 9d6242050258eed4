/* SPDX-License-Identifier: MIT */
/* The worker is made by fork: it finds the task's data where they are, and needs no program on disk. Its answer
 * comes through a pipe, whose end also tells when it died.
 *
 * A parent that is killed can't end its child. So the child looks at its parent's number now and then: it is another
 * one when the parent is gone. (The signal that Linux sends at a parent's death comes already when the thread ends
 * that made the child.) */
#define _GNU_SOURCE /* pipe2 */
#include "jit/toolchain/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 250 };

/* What a terminal or a host sends to stop work: in the child it does just that, whatever the host set up. */
static void die_by_signals(void) {
  static const int numbers[] = {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGQUIT, SIGALRM};
  sigset_t none;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- The child notices when its parent is gone ------------------------------------------------------------------- */
static void look_for_parent(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  if (getppid() != info->si_value.sival_int) _exit(1);
}

/* `parent` as the parent sees itself. In a name space of its own the child sees 0, always. */
static void die_with(pid_t parent) {
  struct sigaction action = {.sa_sigaction = look_for_parent, .sa_flags = SA_SIGINFO | SA_RESTART};
  pid_t seen = getppid();
  if (seen != parent && seen != 0) _exit(1);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM, .sigev_value.sival_int = seen};
  struct itimerspec often = {{0, LOOK_MS * 1000000}, {0, LOOK_MS * 1000000}};
  timer_t timer;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, NULL);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, NULL);
}

/* ---- The pipe ---------------------------------------------------------------------------------------------------- */
static bool write_all(int fd, const char *bytes, size_t n) {
  for (ssize_t done; n > 0; bytes += done, n -= (size_t)done) {
    do done = write(fd, bytes, n);
    while (done < 0 && errno == EINTR);
    if (done < 0) return false;
  }
  return true;
}

/* Waits until there is something to read, or the writer is dead, which its end of the pipe doesn't tell if another
 * child of the host's has a copy of it. */
static bool readable(Worker *w) {
  for (;;) {
    struct pollfd p = {.fd = w->answer, .events = POLLIN};
    int n = poll(&p, 1, w->child > 0 ? LOOK_MS : 0);
    if (n > 0) return true;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || w->child <= 0) return false;
    pid_t dead = waitpid(w->child, NULL, WNOHANG);
    if (dead > 0) w->child = 0; /* one more look: it may have answered before */
  }
}

static bool read_all(Worker *w, char *bytes, size_t n) {
  for (ssize_t done; n > 0; bytes += done, n -= (size_t)done) {
    if (!readable(w)) return false;
    do done = read(w->answer, bytes, n);
    while (done < 0 && errno == EINTR);
    if (done <= 0) return false;
  }
  return true;
}

bool worker_start(Worker *w, void (*task)(void *data, void *reply), void *data, void *reply, size_t size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  pid_t self = getpid();
  w->child = fork();
  if (w->child == 0) {
    die_by_signals();
    die_with(self);
    close(ends[0]);
    task(data, reply);
    _exit(!write_all(ends[1], reply, size));
  }
  close(ends[1]);
  w->answer = ends[0];
  if (w->child < 0) close(ends[0]);
  return w->child > 0;
}

bool worker_finish(Worker *w, void *reply, size_t size) {
  bool answered = read_all(w, reply, size);
  close(w->answer);
  /* a host that waits for all its children may have been there first */
  while (w->child > 0 && waitpid(w->child, NULL, 0) < 0 && errno == EINTR) {}
  return answered;
}
