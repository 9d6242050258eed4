/* SPDX-License-Identifier: MIT */
/* A piece of work done by a child process, so that whatever it does to its process ends with it. */
#ifndef ATLED_WORKER_H
#define ATLED_WORKER_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Worker {
  pid_t child;
  int answer; /* the end of the pipe that the reply comes from */
} Worker;

/* Starts task(data, reply) in a copy of this process, which ends right after it; whatever it writes to memory is its
 * own. Of the other threads the copy has only the locks they held: the task must call nothing that takes one of
 * these. Signals that interrupt the process end the copy, and so does the end of this process. */
bool worker_start(Worker *w, void (*task)(void *data, void *reply), void *data, void *reply, size_t size);
/* Waits for the copy's end; reply[0 … size) is what the task left there. False if there is no reply. */
bool worker_finish(Worker *w, void *reply, size_t size);
#endif
