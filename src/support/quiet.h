/* SPDX-License-Identifier: MIT */
/* Writing without the signals by which the system ends a process whose reader is gone (SIGPIPE) or whose file is too
 * large (SIGXFSZ): the write fails by EPIPE or EFBIG alone. The signals are blocked in this thread and taken back; no
 * handler is set, and other threads aren't touched. */
#ifndef ATLED_QUIET_H
#define ATLED_QUIET_H
#include <signal.h>
#include <stdbool.h>

typedef struct Quiet {
  sigset_t before;  /* the thread's mask */
  sigset_t pending; /* what was blocked and came before: it stays */
} Quiet;

void quiet_begin(Quiet *q);
/* ok: all writes succeeded, so there is nothing to be taken back. Keeps errno. */
void quiet_end(const Quiet *q, bool ok);
#endif
