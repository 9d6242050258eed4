/* SPDX-License-Identifier: MIT */
/* Standard input. The prompt and the programs that it runs read from one buffer, a program no more than a line at a
 * time: so `read_line ()` at the prompt takes the line after it, and what comes then is the prompt's again. */
#include "repl.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE_MS = 100 };
static char buffer[1 << 16];
static size_t first, last; /* what was read and not handed on */

/* Fills the empty buffer. Its length; 0 at the end; -1 with errno, EINTR after an interrupt where one ends the wait. */
static ptrdiff_t fill(bool stoppable) {
  struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
  while (!(stoppable && interrupt_seen())) {
    int ready = poll(&p, 1, SLICE_MS);
    ssize_t n = ready > 0 || (ready < 0 && errno != EINTR) ? read(STDIN_FILENO, buffer, sizeof buffer) : -1;
    if (n < 0 && (ready <= 0 || errno == EINTR || errno == EAGAIN)) continue;
    first = 0;
    last = n > 0 ? (size_t)n : 0;
    return n;
  }
  errno = EINTR;
  return -1;
}

/* How much of the buffer belongs to the line at its beginning. */
static size_t line_length(void) {
  const char *end = memchr(buffer + first, '\n', last - first);
  return end ? (size_t)(end - buffer) + 1 - first : last - first;
}

ptrdiff_t input_read(void *unused, char *to, size_t size) {
  (void)unused;
  if (first == last) {
    ptrdiff_t n = fill(true);
    if (n <= 0) return n;
  }
  size_t n = line_length();
  if (n > size) n = size;
  memcpy(to, buffer + first, n);
  first += n;
  return (ptrdiff_t)n;
}

char *input_take(bool line, size_t *len) {
  size_t cap = 0;
  char *text = NULL;
  *len = 0;
  for (;;) {
    ptrdiff_t got = first == last ? fill(false) : 1;
    size_t n = got <= 0 ? 0 : line ? line_length() : last - first;
    if (got < 0 || *len + n + 1 > cap) {
      char *more = got < 0 ? NULL : realloc(text, cap = 2 * (*len + n + 1));
      if (!more) {
        free(text);
        return NULL;
      }
      text = more;
    }
    if (n) memcpy(text + *len, buffer + first, n);
    first += n;
    text[ *len += n] = '\0';
    if (!n || (line && text[*len - 1] == '\n')) return text;
  }
}
