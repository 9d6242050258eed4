/* SPDX-License-Identifier: MIT */
/* Messages of the language server: each is a header, of which only `Content-Length` counts, an empty line, and so many
 * bytes of JSON.
 *
 * A thread reads them and puts them into a queue, so that a message that arrives while a program is elaborated can
 * interrupt that. `$/cancelRequest` marks a request that waits in the queue, or interrupts the one that is being
 * answered; of another it means nothing. What is no header is skipped up to the next one. A message that is too long
 * is read over; the server answers that it was. */
#define _GNU_SOURCE
#include "lsp.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 256 << 20, LONGEST_LINE = 4096 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  Message *first, **last;
  bool ended;
  AtledVM *interrupted; /* by a message that arrives; or NULL */
  Message *answered;    /* the one for which an answer is being made, or NULL */
  AtledVM *answering;   /* by that VM */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER, .last = &queue.first};

/* ---- The thread that reads ------------------------------------------------------------------------------ */
/* The lock is held. */
static void cancel(json_t *id) {
  Message *m = queue.first;
  if (queue.answered && message_is_request(queue.answered, id)) {
    queue.answered->cancelled = true;
    atled_interrupt(queue.answering);
    return;
  }
  while (m && !message_is_request(m, id)) m = m->next;
  if (m) m->cancelled = true;
}

static void put(Message *m, bool ends) {
  json_t *id = m ? message_cancels(m) : NULL;
  pthread_mutex_lock(&queue.lock);
  if (id) cancel(id);
  if (m) {
    *queue.last = m;
    queue.last = &m->next;
  }
  queue.ended |= ends;
  if (queue.interrupted) atled_interrupt(queue.interrupted);
  pthread_cond_signal(&queue.arrived);
  pthread_mutex_unlock(&queue.lock);
}

/* The next line without its end, cut where it is long. False: there is none. */
static bool read_line(char *line) {
  size_t n = 0;
  int c;
  while ((c = getchar_unlocked()) != EOF && c != '\n')
    if (n < LONGEST_LINE - 1) line[n++] = (char)c;
  if (n && line[n - 1] == '\r') n--;
  line[n] = '\0';
  return c != EOF;
}

/* The number of a `Content-Length`; -1: it is none, or another line. */
static long long length_in(const char *line) {
  static const char name[] = "Content-Length:";
  if (strncasecmp(line, name, sizeof name - 1) != 0) return -1;
  line += sizeof name - 1;
  line += strspn(line, " \t");
  size_t digits = strspn(line, "0123456789");
  if (!digits || line[digits + strspn(line + digits, " \t")]) return -1;
  return digits > 18 ? 999999999999999999 : atoll(line);
}

/* Reads a header to its empty line. False: there is no more. */
static bool read_header(long long *length) {
  char line[LONGEST_LINE];
  *length = -1;
  while (read_line(line)) {
    long long n = length_in(line);
    if (n >= 0) *length = n;
    else if (!*line && *length >= 0) return true;
  }
  return false;
}

static bool skip(long long n) {
  while (n > 0 && getchar_unlocked() != EOF) n--;
  return n == 0;
}

/* False: the input ends. */
static bool read_message(void) {
  long long length;
  if (!read_header(&length)) return false;
  char *text = length <= LONGEST ? malloc((size_t)length + 1) : NULL;
  if (!text) {
    put(message_problem(INVALID_REQUEST, "the message is too long"), false);
    return skip(length);
  }
  if (fread(text, 1, (size_t)length, stdin) != (size_t)length) {
    free(text);
    return false;
  }
  text[length] = '\0';
  put(message_parse(text, (size_t)length), false);
  free(text);
  return true;
}

static void *read_all(void *unused) {
  (void)unused;
  while (read_message()) {}
  put(NULL, true);
  return NULL;
}

bool stream_start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, read_all, NULL) != 0) return false;
  pthread_detach(thread);
  return true;
}

/* ---- The thread that answers ---------------------------------------------------------------------------- */
Message *stream_take(bool wait) {
  pthread_mutex_lock(&queue.lock);
  while (wait && !queue.first && !queue.ended) pthread_cond_wait(&queue.arrived, &queue.lock);
  Message *m = queue.first;
  if (m) queue.first = m->next;
  if (!queue.first) queue.last = &queue.first;
  pthread_mutex_unlock(&queue.lock);
  return m;
}

bool stream_begin_idle(AtledVM *vm) {
  pthread_mutex_lock(&queue.lock);
  bool idle = !queue.first && !queue.ended;
  queue.interrupted = idle ? vm : NULL;
  pthread_mutex_unlock(&queue.lock);
  return idle;
}

void stream_end_idle(AtledVM *vm) {
  pthread_mutex_lock(&queue.lock);
  queue.interrupted = NULL;
  atled_clear_interrupt(vm);
  pthread_mutex_unlock(&queue.lock);
}

void stream_begin_answer(AtledVM *vm, Message *m) {
  pthread_mutex_lock(&queue.lock);
  queue.answered = m;
  queue.answering = vm;
  pthread_mutex_unlock(&queue.lock);
}

bool stream_cancelled(void) {
  pthread_mutex_lock(&queue.lock);
  bool cancelled = queue.answered && queue.answered->cancelled;
  pthread_mutex_unlock(&queue.lock);
  return cancelled;
}

bool stream_end_answer(AtledVM *vm) {
  bool cancelled = stream_cancelled();
  stream_begin_answer(NULL, NULL);
  if (cancelled) atled_clear_interrupt(vm);
  return cancelled;
}

/* A client that is gone takes nothing: the end of the input says so. */
static void write_all(const char *bytes, size_t n) {
  while (n) {
    ssize_t k = write(STDOUT_FILENO, bytes, n);
    if (k < 0 && errno != EINTR) return;
    if (k > 0) bytes += k, n -= (size_t)k;
  }
}

bool stream_send(json_t *message) {
  char header[64];
  char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
  json_decref(message);
  if (!text) return false;
  size_t n = strlen(text);
  int k = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", n);
  write_all(header, (size_t)k);
  write_all(text, n);
  free(text);
  return true;
}
