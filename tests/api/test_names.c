/* SPDX-License-Identifier: MIT */
/* The names that atled_names and atled_search give are the host's until the next call, also those of library items that
 * nothing else uses. The VM's memory is overwritten when it is freed. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  enum { FREED = 0xa5 };
  (void)user;
  void *new = new_size ? malloc(new_size) : NULL;
  if (new &&block) memcpy(new, block, old_size < new_size ? old_size : new_size);
  if (block && (new || !new_size)) {
    memset(block, FREED, old_size);
    __asm__ volatile("" : : "r"(block) : "memory"); /* else GCC leaves out what is written */
    free(block);
  }
  return new;
}

static bool is_name(const char *text) {
  size_t n = strlen(text);
  return n && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'.:") == n;
}

int main(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = allocate;
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  const char *const *names;
  CHECK(atled_eval(vm, "m", "let scaled (x : float[]) (k : float) = [ k * v | v in x ]\nlet other x = x + 1\n") ==
        ATLED_OK);
  for (int k = 0; k < 8; k++) {
    int n = atled_names(vm, "", &names);
    CHECK(n > 100);
    for (int i = 0; i < n; i++) CHECK(is_name(names[i]));
    CHECK(atled_search(vm, "float -> float", &names, &n) == ATLED_OK && n > 10);
    for (int i = 0; i < n; i++) CHECK(is_name(names[i]));
  }
  atled_free(vm);
  return check_result();
}
