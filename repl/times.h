/* SPDX-License-Identifier: MIT */
/* Times, and benchmarks: what they took now and in a stored run. */
#ifndef ATLED_TIMES_H
#define ATLED_TIMES_H
#include "options.h"

double seconds_now(void); /* of a clock that never goes back */
/* "12.3 µs", in a buffer of n bytes. Returns the buffer. */
const char *seconds_text(double seconds, char *buffer, size_t n);

/* Runs the `bench` items of the files and prints what they took. The exit status. */
int bench_files(Options *o);
#endif
