/* SPDX-License-Identifier: MIT */
/* A C program that gets a model and its gradient from Atled.
 *
 *   cc gradient.c $(pkg-config --cflags --libs atled) && ./a.out */
#include <atled.h>
#include <stdio.h>

static int fail(AtledVM *vm) {
  const AtledDiagnostic *e = atled_error(vm);
  fputs(e ? e->rendered : "error\n", stderr);
  return 1;
}

int main(void) {
  AtledVM *vm = atled_new(NULL);
  if (!vm) return 1;
  const char *model = "let loss w xs = mean [ (w[0] * x + w[1] - 2.0 * x) ^ 2 | x in xs ]";
  if (atled_eval(vm, "model.atl", model) != ATLED_OK) return fail(vm);

  AtledFunction *step;
  if (atled_get(vm, "fun w xs -> value_and_grad (fun w -> loss w xs) w", "float[] -> float[] -> float * float[]",
                &step) != ATLED_OK)
    return fail(vm);

  double w[2] = {0.0, 1.0}, xs[3] = {1.0, 2.0, 3.0};
  for (int i = 0; i < 1000; i++) {
    AtledValue args[2] = {atled_floats(w, 2), atled_floats(xs, 3)}, result;
    if (atled_call(step, args, 2, &result) != ATLED_OK) return fail(vm);
    const double *slope = result.as.items[1].as.floats;
    w[0] -= 0.1 * slope[0];
    w[1] -= 0.1 * slope[1];
  }
  printf("slope %.3f intercept %.3f\n", w[0], w[1]);
  atled_release(step);
  atled_free(vm);
  return 0;
}
