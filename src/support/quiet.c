/* SPDX-License-Identifier: MIT */
/* Signals of failed writes: see quiet.h. Such a signal is sent to the thread that writes, so where it is blocked it is
 * pending there when the write returns, and sigtimedwait takes it without waiting. */
#define _GNU_SOURCE
#include "support/quiet.h"
#include <errno.h>
#include <time.h>

static const int signals[] = {SIGPIPE, SIGXFSZ};
enum { SIGNALS = sizeof signals / sizeof *signals };

void quiet_begin(Quiet *q) {
  sigset_t ours;
  bool blocked = false;
  sigemptyset(&ours);
  for (int k = 0; k < SIGNALS; k++) sigaddset(&ours, signals[k]);
  pthread_sigmask(SIG_BLOCK, &ours, &q->before);
  sigemptyset(&q->pending);
  for (int k = 0; k < SIGNALS; k++) blocked |= sigismember(&q->before, signals[k]) == 1;
  if (blocked) sigpending(&q->pending);
}

void quiet_end(const Quiet *q, bool ok) {
  const struct timespec now = {0};
  int why = errno;
  for (int k = 0; k < SIGNALS && !ok; k++) {
    if (sigismember(&q->pending, signals[k]) == 1) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signals[k]);
    while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR) {}
  }
  pthread_sigmask(SIG_SETMASK, &q->before, NULL);
  errno = why;
}
