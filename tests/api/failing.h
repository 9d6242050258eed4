/* SPDX-License-Identifier: MIT */
/* A host's allocator that fails, for sweeps over failing allocations. */
#ifndef ATLED_TEST_FAILING_H
#define ATLED_TEST_FAILING_H
#include <atled.h>
#include <stdlib.h>

/* How allocations fail: one of the VM's own, one that the host is asked for, or all that it is asked for from one
 * on. */
typedef enum Way { OWN, HOSTS, STICKY, WAYS } Way;
static const char *const way_names[] = {"one", "one of the host's", "all of the host's"};

typedef struct Failing {
  int64_t granted;
  int64_t left; /* allocations that are granted before one fails; < 0: all */
  bool sticky;
  size_t bytes;
} Failing;

/* AtledConfig.allocate; user: a Failing. */
static inline void *failing_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Failing *h = user;
  if (new_size > old_size && h->left >= 0) {
    if (h->left == 0) {
      if (!h->sticky) h->left = -1;
      return NULL;
    }
    h->left--;
  }
  h->granted += new_size > old_size;
  void *p = NULL;
  if (new_size == 0) free(block);
  else p = realloc(block, new_size);
  if (p || new_size == 0) h->bytes += new_size - old_size;
  return p;
}

/* The n-th allocation from now fails; 0: none. */
static inline void failing_at(Failing *h, AtledVM *vm, Way way, int64_t n) {
  h->sticky = way == STICKY;
  if (way == OWN) atled_fail_allocation(vm, n);
  else h->left = n > 0 ? n - 1 : -1;
}
#endif
