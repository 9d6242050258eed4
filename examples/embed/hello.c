/* SPDX-License-Identifier: MIT */
/* The shortest host: prints the gradient of a function of three floats.
 *   cc hello.c $(pkg-config --cflags --libs atled) && ./a.out */
#include <atled.h>
#include <stdio.h>

int main(void) {
  AtledVM *vm = atled_new(NULL);
  AtledFunction *gradient;
  AtledValue x = atled_floats((double[]){1.0, 2.0, 3.0}, 3), g;
  if (atled_eval(vm, "hello", "let f x = x[0] * x[1] + x[2] ^ 2") != ATLED_OK ||
      atled_get(vm, "grad f", "float[] -> float[]", &gradient) != ATLED_OK ||
      atled_call(gradient, &x, 1, &g) != ATLED_OK) {
    fputs(vm ? atled_error(vm)->rendered : "out of memory\n", stderr);
    return 1;
  }
  printf("gradient %g %g %g\n", g.as.floats[0], g.as.floats[1], g.as.floats[2]);
  atled_release(gradient);
  atled_free(vm);
  return 0;
}
