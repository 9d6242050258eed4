/* SPDX-License-Identifier: MIT */
/* Where the host gives no functions for it: output to the C library's streams. What the program writes comes between
 * what the host prints, in order.
 *
 * A stream's own write waits for as long as nobody reads. So before something is written the descriptor is waited for,
 * with looks for interrupts and the time limit, and then written in pieces of PIPE_BUF bytes, which a pipe that is
 * ready takes whole. What fits into the stream's buffer is put there and costs nothing more. */
#define _GNU_SOURCE
#include "runtime/runtime_internal.h"
#include "support/quiet.h"
#include <limits.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/stat.h>

/* A file, or a stream of the host's own making, is written at once. */
static bool may_wait(FILE *f) {
  struct stat st;
  int fd = fileno(f);
  return fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
}

/* False: rt->error is set. */
static bool is_ready(Rt *rt, FILE *f) { return !may_wait(f) || rt_wait_for(rt, fileno(f), POLLOUT) == 0; }

static bool put(FILE *f, const char *text, size_t n) {
  Quiet q;
  quiet_begin(&q);
  bool ok = n ? fwrite(text, 1, n, f) == n : fflush(f) == 0;
  quiet_end(&q, ok);
  return ok;
}

bool rt_flush_stream(Rt *rt, FILE *f) { return __fpending(f) == 0 || (is_ready(rt, f) && put(f, NULL, 0)); }

/* Does it only go to the buffer, which doesn't get larger by it than a pipe takes? */
static bool fits(FILE *f, size_t n) {
  size_t sum = __fpending(f) + n;
  return !__flbf(f) && sum < __fbufsize(f) && sum <= PIPE_BUF;
}

bool rt_write_stream(Rt *rt, FILE *f, const char *text, size_t n) {
  if (n == 0) return true;
  if (fits(f, n)) return fwrite(text, 1, n, f) == n;
  if (!may_wait(f)) return put(f, text, n);
  for (size_t piece; n > 0; text += piece, n -= piece) {
    piece = n < PIPE_BUF ? n : PIPE_BUF;
    if (!rt_flush_stream(rt, f) || !is_ready(rt, f) || !put(f, text, piece)) return false;
  }
  return true;
}
