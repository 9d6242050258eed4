/* SPDX-License-Identifier: MIT */
/* The shortest decimal of a float. */
#ifndef ATLED_SHORTEST_H
#define ATLED_SHORTEST_H
#include <stdint.h>

/* The decimal digits * 10^*exponent with the fewest digits that reads back as x (> 0, finite), of several the nearest
 * to x. Its last digit isn't 0. */
uint64_t shortest_decimal(double x, int *exponent);

/* Writes n as decimal digits to `out`, without an end; at most 20. How many there are. */
int decimal_digits(uint64_t n, char *out);
#endif
