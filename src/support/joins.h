/* SPDX-License-Identifier: MIT */
/* How the accumulators of a loop in blocks are put together, which opt/fork_loops.c tells runtime/fork_blocks.c: one
 * number, with two bits for each accumulator from the first on, and 0 behind the last. */
#ifndef ATLED_JOINS_H
#define ATLED_JOINS_H
/* Of floats or ints, JOIN_SUM also of arrays of floats. A tie of extremes goes to the earlier block. */
typedef enum Join { JOIN_NONE, JOIN_SUM, JOIN_MAX, JOIN_MIN } Join;
enum { JOIN_BITS = 2, JOINS = 31 };
#endif
