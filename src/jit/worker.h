/* SPDX-License-Identifier: MIT */
/* A piece of work done by a child process, so that whatever it does to its process ends with it. */
#ifndef ATLED_JIT_WORKER_H
#define ATLED_JIT_WORKER_H
#include <stdbool.h>
#include <stddef.h>

/* Runs task(data, reply) in a copy of this process, which ends right after it, and fills reply[0 … size) with what the
 * task left there; everything else that it wrote to memory is gone. Signals that interrupt the process end the copy.
 * False: there is no reply, and *why (static text) says so. */
bool worker_run(void (*task)(void *data, void *reply), void *data, void *reply, size_t size, const char **why);
#endif
