/* SPDX-License-Identifier: MIT */
/* Structures that cross the border to a host whose header may be older or newer. See structs.c. */
#ifndef ATLED_STRUCTS_H
#define ATLED_STRUCTS_H
#include <stdbool.h>
#include <stddef.h>

/* Copies what a host's structure of `room` bytes holds of ours; the rest of it becomes zero. */
void struct_give(void *host, size_t room, const void *ours, size_t size);
/* Overwrites the beginning of ours by a host's structure of `given` bytes. What that has beyond ours is to be zero:
 * false if it isn't, and ours is unchanged. */
bool struct_take(void *ours, size_t size, const void *host, size_t given);
#endif
