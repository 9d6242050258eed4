/* SPDX-License-Identifier: MIT */
/* The worker is made by fork: it finds the task's data where they are, and needs no program on disk. It is a child's
 * child, and so none of the host's: a host that waits for its children, or counts what they used, never meets it. Its
 * answer comes through a pipe, whose end also tells when it died. */
#include "jit/worker.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a terminal or a host sends to stop work: in the child it does just that, whatever the host set up. */
static void die_by_signals(void) {
  static const int numbers[] = {SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGQUIT, SIGALRM};
  sigset_t none;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool write_all(int fd, const char *bytes, size_t n) {
  for (ssize_t done; n > 0; bytes += done, n -= (size_t)done) {
    do done = write(fd, bytes, n);
    while (done < 0 && errno == EINTR);
    if (done < 0) return false;
  }
  return true;
}

static bool read_all(int fd, char *bytes, size_t n) {
  for (ssize_t done; n > 0; bytes += done, n -= (size_t)done) {
    do done = read(fd, bytes, n);
    while (done < 0 && errno == EINTR);
    if (done <= 0) return false;
  }
  return true;
}

bool worker_run(void (*task)(void *data, void *reply), void *data, void *reply, size_t size, const char **why) {
  int ends[2];
  *why = "no process for the compiler can be started";
  if (pipe(ends) != 0) return false;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  pid_t child = fork();
  if (child == 0) {
    if (fork() != 0) _exit(0);
    die_by_signals();
    close(ends[0]);
    task(data, reply);
    _exit(!write_all(ends[1], reply, size));
  }
  close(ends[1]);
  *why = "the compiler's process ended without a result";
  bool answered = child > 0 && read_all(ends[0], reply, size);
  close(ends[0]);
  while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
  return answered;
}
