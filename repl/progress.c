/* SPDX-License-Identifier: MIT */
/* A line on the terminal that says what takes longer than a second; it goes when something else is written, and at the
 * end. A thread of its own writes it, which sleeps while nothing runs, and to which no signal is delivered. Nothing is
 * written into a line that the program has begun. */
#include "repl.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_SECONDS = 1, NARROW = 40 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t begun;
  bool started; /* there is the thread */
  bool off;     /* the user wants none */
  bool running, compiling;
  bool shown;    /* the line stands on the terminal */
  bool mid_line; /* what the program wrote last is no whole line */
  time_t since;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static time_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

static void put(const char *text) {
  ssize_t unused = write(STDERR_FILENO, text, strlen(text));
  (void)unused;
}

static void erase(void) {
  if (progress.shown) put("\r\033[K");
  progress.shown = false;
}

static bool is_wide(void) {
  struct winsize w;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_col >= NARROW;
}

static void show(void) {
  char line[80];
  long seconds = (long)(now() - progress.since);
  if (seconds < FIRST_SECONDS || progress.mid_line || progress.off || !is_wide()) return;
  snprintf(line, sizeof line, "\r\033[K%s … %ld s (Ctrl-C stops it)", progress.compiling ? "compiling" : "running",
           seconds);
  put(line);
  progress.shown = true;
}

static void *watch_time(void *unused) {
  (void)unused;
  pthread_mutex_lock(&progress.lock);
  for (;;) {
    if (!progress.running) {
      pthread_cond_wait(&progress.begun, &progress.lock);
    } else {
      struct timespec next;
      clock_gettime(CLOCK_REALTIME, &next);
      next.tv_sec++;
      pthread_cond_timedwait(&progress.begun, &progress.lock, &next);
      if (progress.running) show();
    }
  }
  return NULL;
}

void progress_start(void) {
  sigset_t all, before;
  pthread_t thread;
  if (!isatty(STDERR_FILENO) || pthread_cond_init(&progress.begun, NULL) != 0) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  progress.started = pthread_create(&thread, NULL, watch_time, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (progress.started) pthread_detach(thread);
}

void progress_switch(bool on) { progress.off = !on; }

void progress_run(bool running) {
  if (!progress.started) return;
  pthread_mutex_lock(&progress.lock);
  erase();
  progress.running = running;
  progress.compiling = progress.mid_line = false;
  progress.since = now();
  if (running) pthread_cond_signal(&progress.begun);
  pthread_mutex_unlock(&progress.lock);
}

void progress_compiling(void *unused, double seconds) {
  (void)unused;
  pthread_mutex_lock(&progress.lock);
  progress.compiling = seconds >= 0;
  pthread_mutex_unlock(&progress.lock);
}

void progress_output(const char *text, size_t n) {
  if (!progress.started || !n) return;
  pthread_mutex_lock(&progress.lock);
  erase();
  progress.mid_line = text[n - 1] != '\n';
  pthread_mutex_unlock(&progress.lock);
}
