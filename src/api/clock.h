/* SPDX-License-Identifier: MIT */
/* The alarm of time limits: sets the flag that running code tests once a deadline has passed. */
#ifndef ATLED_CLOCK_H
#define ATLED_CLOCK_H
#include "runtime/runtime.h"

typedef struct Clock Clock;
double clock_now(void);    /* monotonic seconds */
Clock *clock_new(void);    /* without a thread; NULL when there is no memory */
void clock_free(Clock *c); /* NULL is allowed */
/* Sets rt's interrupt flag at the deadline, within some milliseconds; that may be any positive number, and rt is the
 * same in all calls. The first call starts the thread, and so does the first in a child that was forked. False: none
 * can be had. */
bool clock_start(Clock *c, Rt *rt, double deadline);
void clock_stop(Clock *c); /* it may still ring once */
#endif
