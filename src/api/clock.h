/* SPDX-License-Identifier: MIT */
/* The alarm of time limits: sets the flag that running code tests once a deadline has passed. */
#ifndef ATLED_CLOCK_H
#define ATLED_CLOCK_H
#include "runtime/runtime.h"

typedef struct Clock Clock;
double clock_now(void);    /* monotonic seconds */
Clock *clock_new(Rt *rt);  /* NULL when no thread can be had */
void clock_free(Clock *c); /* NULL is allowed */
/* The deadline may be any number. In a child that was forked: with a new thread. False: none can be had. */
bool clock_start(Clock *c, double deadline);
void clock_stop(Clock *c);
#endif
