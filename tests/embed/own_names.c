/* SPDX-License-Identifier: MIT */
/* A host whose own functions have names that the library uses within: each must stay what it is. */
#include <atled.h>
#include <stdio.h>

double load(double x);
int call(int x);
const char *map_put(void);
int rt_poll(void);
void *simplify(void *p);

double load(double x) { return x + 1; }
int call(int x) { return 2 * x; }
const char *map_put(void) { return "map"; }
int rt_poll(void) { return 1; }
void *simplify(void *p) { return p; }

int main(void) {
  AtledVM *vm = atled_new(NULL);
  AtledFunction *f;
  double x = 3, y = 0;
  if (!vm || atled_get(vm, "grad (fun x -> x * x)", "float -> float", &f) != ATLED_OK ||
      atled_call_double(f, &x, 1, &y) != ATLED_OK) {
    fputs(vm ? atled_error(vm)->rendered : "out of memory\n", stderr);
    return 1;
  }
  atled_release(f);
  atled_free(vm);
  printf("slope %g, own %g %d %s %d %d\n", y, load(1), call(2), map_put(), rt_poll(), simplify(&x) == &x);
  return 0;
}
