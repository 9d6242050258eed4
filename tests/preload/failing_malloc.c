/* SPDX-License-Identifier: MIT */
/* A malloc that fails when it is told to, for LD_PRELOAD: also what the C library and others allocate fails then.
 * tests/api/test_system_memory.c finds failing_malloc_left by its name. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define SHOWN __attribute__((visibility("default")))
SHOWN void *malloc(size_t size);
SHOWN void *calloc(size_t n, size_t size);
SHOWN void *realloc(void *block, size_t size);
SHOWN void *memalign(size_t alignment, size_t size);
SHOWN void *aligned_alloc(size_t alignment, size_t size);
SHOWN int posix_memalign(void **block, size_t alignment, size_t size);

/* Allocations that are granted before one fails; < 0: all are. Those after it fail too, if `sticky`. */
SHOWN int64_t failing_malloc_left = -1;
SHOWN int32_t failing_malloc_sticky;
SHOWN int64_t failing_malloc_asked; /* so far */

static bool fails(void) {
  __atomic_add_fetch(&failing_malloc_asked, 1, __ATOMIC_RELAXED);
  int64_t left = __atomic_load_n(&failing_malloc_left, __ATOMIC_RELAXED);
  if (left < 0) return false;
  if (left > 0 || !failing_malloc_sticky) __atomic_store_n(&failing_malloc_left, left - 1, __ATOMIC_RELAXED);
  if (left > 0) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *block, size_t size) { return size && fails() ? NULL : __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
