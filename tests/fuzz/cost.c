/* SPDX-License-Identifier: MIT */
/* What functions cost, in a measure that is the same in every run: the bytes that the VM asks for, and those of the
 * arrays that are made, wherever their memory comes from, while the evaluator carries them out. A copy of a whole array
 * at each step, which no comparison of values shows, makes a sum that is quadratic in the size.
 *
 * usage: fuzz_cost FILE NAME[:SIZE]…: evaluates the file, then calls these functions, each of type int -> float, and
 * prints for each its name, the size (1 if there is none), its value and the bytes. */
#include "api/vm.h"
#include "atled.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *count(void *user, void *block, size_t old_size, size_t new_size) {
  if (new_size > old_size) *(unsigned long long *)user += new_size - old_size;
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}

static int report(AtledVM *vm, const char *what) {
  const AtledDiagnostic *d = atled_error(vm);
  fprintf(stderr, "%s: %s\n", what, d ? d->rendered : "failed");
  return 1;
}

static int measure(AtledVM *vm, const char *spec, const unsigned long long *bytes) {
  char name[100];
  const char *colon = strchr(spec, ':');
  snprintf(name, sizeof name, "%.*s", (int)(colon ? colon - spec : (long)strlen(spec)), spec);
  AtledFunction *f = NULL;
  AtledValue n = atled_int(colon ? atol(colon + 1) : 1), one = atled_int(1), y;
  if (atled_get(vm, name, "int -> float", &f) != ATLED_OK) return report(vm, spec);
  bool fails = atled_call(f, &one, 1, &y) != ATLED_OK; /* what the first call makes once and for all isn't counted */
  unsigned long long before = *bytes;
  int64_t arrays = vm->rt.array_bytes;
  fails = fails || atled_call(f, &n, 1, &y) != ATLED_OK;
  if (fails) report(vm, spec);
  else
    printf("%s %lld %.17g %llu\n", name, (long long)n.as.integer, y.as.number,
           *bytes - before + (unsigned long long)(vm->rt.array_bytes - arrays));
  atled_release(f);
  return fails;
}

int main(int argc, char **argv) {
  AtledConfig config;
  unsigned long long bytes = 0;
  if (argc < 2) return 2;
  atled_config_init(&config);
  config.allocate = count;
  config.user = &bytes;
  config.jit = ATLED_JIT_OFF;
  config.threads = 1;
  AtledVM *vm = atled_new(&config);
  if (!vm) return 2;
  int failed = atled_eval_file(vm, argv[1]) == ATLED_OK ? 0 : report(vm, argv[1]);
  for (int i = 2; !failed && i < argc; i++) failed = measure(vm, argv[i], &bytes);
  atled_free(vm);
  return failed;
}
