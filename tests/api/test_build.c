/* SPDX-License-Identifier: MIT */
/* atled_build where memory runs out: an error, no file, and the VM builds afterwards. */
#include "atled.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      failures++;                                                                                                      \
      printf("line %d: %s\n", __LINE__, #condition);                                                                   \
    }                                                                                                                  \
  } while (0)

static const char source[] = "let weights = [1.0, 2.0, 3.0]\n"
                             "let f (x : float[]) = sum [ weights[i] * x[i] ^ 2 | i < length x ]\n";

/* One allocation fails, the n-th from its begin on. Only some n: what comes before GCC is tried costs little, and all
 * that comes after it would be compiled each time. */
int main(void) {
  char folder[] = "/tmp/atled-build-XXXXXX", library[64];
  if (!mkdtemp(folder)) return 1;
  snprintf(library, sizeof library, "%s/libf.so", folder);
  AtledVM *vm = atled_new(NULL);
  AtledBuild b = {.output = library, .functions = "f,grad:f"};
  CHECK(atled_eval(vm, "model", source) == ATLED_OK);
  int64_t live = atled_live_objects(vm), n = 1, failed = 0;
  AtledStatus status = ATLED_NO_MEMORY;
  for (; status != ATLED_OK && n < 100000; n += 1 + n / 6) {
    atled_fail_allocation(vm, n);
    status = atled_build(vm, &b);
    atled_fail_allocation(vm, 0);
    if (status == ATLED_OK) break;
    failed++;
    CHECK(status == ATLED_NO_MEMORY && atled_error(vm) && strcmp(atled_error(vm)->kind, "memory") == 0);
    CHECK(access(library, F_OK) != 0 && atled_live_objects(vm) == live);
  }
  CHECK(status == ATLED_OK && failed > 10 && access(library, R_OK) == 0 && atled_live_objects(vm) == live);
  double y = 0, x[] = {1.0, 1.0, 1.0};
  AtledValue arg = atled_floats(x, 3), result;
  AtledFunction *f;
  CHECK(atled_get(vm, "f", "float[] -> float", &f) == ATLED_OK && atled_call(f, &arg, 1, &result) == ATLED_OK);
  y = result.as.number;
  CHECK(y == 6.0);
  atled_release(f);
  atled_free(vm);
  unlink(library);
  CHECK(rmdir(folder) == 0); /* nothing else is left */
  puts(failures ? "failed" : "passed");
  return failures != 0;
}
