/* SPDX-License-Identifier: MIT */
/* Standard output, as a stream whose writing is this file's: so whichever printf or flush meets a failure, it is
 * noticed, said once, and stops the program that runs. A closed pipe ends the process as SIGPIPE does, also where
 * that is ignored. */
#define _GNU_SOURCE /* fopencookie */
#include "repl.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLICE_MS = 100, PATIENCE = 10 /* slices */ };
static bool failed;
static FILE *terminal;

static void end_by_signal(void) {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);
}

static void fail(int reason) {
  if (failed) return;
  failed = true;
  fprintf(stderr, "atled: can't write the output: %s\n", strerror(reason));
  stop_program();
}

/* Waits until something can be written. After an interrupt a reader that takes nothing is given up soon: what it
 * doesn't take is lost. */
static bool ready(void) {
  struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
  for (int given_up = 0; given_up < PATIENCE;) {
    int n = poll(&p, 1, SLICE_MS);
    if (n > 0 || (n < 0 && errno != EINTR)) return true;
    given_up += interrupt_seen();
  }
  return false;
}

/* All is taken, whatever becomes of it: a failure isn't the caller's. Pieces that a pipe takes whole don't block. */
static ssize_t take(void *unused, const char *text, size_t n) {
  (void)unused;
  for (size_t done = 0; done < n && !failed && ready();) {
    ssize_t k = write(STDOUT_FILENO, text + done, n - done < PIPE_BUF ? n - done : PIPE_BUF);
    if (k >= 0) done += (size_t)k;
    else if (errno == EPIPE) end_by_signal();
    else if (errno != EINTR && errno != EAGAIN) fail(errno);
  }
  return (ssize_t)n;
}

/* What is opened later must not be taken for a standard stream that is closed. */
static void occupy_closed(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
}

void output_start(void) {
  static char buffer[1 << 16];
  occupy_closed();
  terminal = stdout;
  FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
  if (stream) stdout = stream;
  setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof buffer);
}

FILE *output_terminal(void) { return terminal; }

bool output_failed(void) { return failed; }

bool output_end(void) {
  fflush(stdout);
  return !failed;
}
