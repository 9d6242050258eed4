/* SPDX-License-Identifier: MIT */
/* Standard output, as a stream whose writing is this file's: so whichever printf or flush meets a failure, it is
 * noticed and said once, and the program that runs is told at its next output. Where the reader of a pipe is gone
 * nothing is said: at the end the process ends as SIGPIPE ends it, also where that is ignored. */
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
static bool failed, reader_gone, on_terminal, seen;
static FILE *terminal;

static void fail(int reason) {
  if (failed) return;
  failed = true;
  reader_gone = reason == EPIPE;
  if (!reader_gone) fprintf(stderr, "atled: can't write the output: %s\n", strerror(reason));
}

/* Waits until something can be written. After an interrupt a reader that takes nothing is given up soon: what it
 * doesn't take is lost. */
static bool ready(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  for (int given_up = 0; given_up < PATIENCE;) {
    int n = poll(&p, 1, SLICE_MS);
    if (n > 0 || (n < 0 && errno != EINTR)) return true;
    given_up += interrupt_seen();
  }
  return false;
}

/* Pieces that a pipe takes whole don't block. */
static void put(int fd, const char *text, size_t n) {
  for (size_t done = 0; done < n && !failed && ready(fd);) {
    ssize_t k = write(fd, text + done, n - done < PIPE_BUF ? n - done : PIPE_BUF);
    if (k >= 0) done += (size_t)k;
    else if (errno != EINTR && errno != EAGAIN) fail(errno);
  }
}

/* All is taken, whatever becomes of it: a failure isn't the caller's. */
static ssize_t take(void *unused, const char *text, size_t n) {
  (void)unused;
  put(STDOUT_FILENO, text, n);
  return (ssize_t)n;
}

bool output_write(void *unused, AtledStream stream, const char *text, size_t n) {
  (void)unused;
  progress_output(text, n);
  seen |= n > 0;
  if (stream == ATLED_ERRORS) put(STDERR_FILENO, text, n);
  else fwrite(text, 1, n, stdout);
  if (on_terminal) fflush(stdout);
  return !failed;
}

bool output_flush(void *unused) {
  (void)unused;
  fflush(stdout);
  return !failed;
}

/* What is opened later must not be taken for a standard stream that is closed. */
static void occupy_closed(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return;
}

/* The write fails, which is enough. Not ignored: programs that this one starts shall find the signals as they were. */
static void on_failed_write(int unused) { (void)unused; }

void output_start(void) {
  static char buffer[1 << 16];
  struct sigaction action = {.sa_handler = on_failed_write, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGPIPE, &action, NULL);
  sigaction(SIGXFSZ, &action, NULL);
  occupy_closed();
  on_terminal = isatty(STDOUT_FILENO);
  terminal = stdout;
  FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
  if (stream) stdout = stream;
  setvbuf(stdout, buffer, on_terminal ? _IOLBF : _IOFBF, sizeof buffer);
}

FILE *output_terminal(void) { return terminal; }

bool output_seen(void) { return seen; }

void output_forget(void) { seen = false; }

bool output_failed(void) { return failed; }

static void end_by_signal(void) {
  sigset_t all;
  sigemptyset(&all);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &all, NULL);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);
}

bool output_end(void) {
  fflush(stdout);
  if (reader_gone) end_by_signal();
  return !failed;
}
