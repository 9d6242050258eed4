/* SPDX-License-Identifier: MIT */
/* The VM's own machine stack: large address space, of which only touched pages cost memory. */
#ifndef ATLED_MACHINE_STACK_H
#define ATLED_MACHINE_STACK_H
#include <stdbool.h>
#include <stddef.h>

typedef struct VmStack VmStack;
enum { STACK_SMALLEST = 4 * 1024 * 1024 }; /* bytes: what is asked for less is given that */
/* Reserves `size` bytes of address space, or less where the system grants less. NULL when there is none. */
VmStack *stack_new(size_t size);
void stack_free(VmStack *s);
/* Runs fn(arg) on the stack and returns when it does. A call from code that runs there already is a plain call. */
void stack_run(VmStack *s, void (*fn)(void *arg), void *arg);
/* The lowest address that code may reach, with room left for C functions and error handling. */
char *stack_limit(const VmStack *s);
/* Gives pages that a deep recursion touched back to the system. */
void stack_trim(VmStack *s);
#endif
