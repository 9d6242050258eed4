/* SPDX-License-Identifier: MIT */
/* A simulator's right-hand side in C, with its derivative, as a function of an Atled program: that integrates it, and
 * the host gets the gradient of a loss of the trajectory.
 *
 *   cc host_function.c $(pkg-config --cflags --libs atled) && ./a.out */
#include <atled.h>
#include <stdio.h>

/* Prey and predators: y' = (a y0 - b y0 y1, c y0 y1 - d y1), with the parameters p = [a, b, c, d]. */
static void rhs(AtledCall *c) {
  const double *y = c->args[0].as.floats, *p = c->args[1].as.floats;
  if (c->args[0].length != 2 || c->args[1].length != 4) {
    atled_fail(c, "rhs needs 2 populations and 4 parameters");
    return;
  }
  double slope[] = {p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]};
  atled_return(c, atled_floats(slope, 2));
}

/* Of y, p, the slope and its cotangent: the cotangents of y and p, by the transposed Jacobian. */
static void rhs_pullback(AtledCall *c) {
  const double *y = c->args[0].as.floats, *p = c->args[1].as.floats, *d = c->args[3].as.floats;
  double by_y[] = {d[0] * (p[0] - p[1] * y[1]) + d[1] * p[2] * y[1], -d[0] * p[1] * y[0] + d[1] * (p[2] * y[0] - p[3])};
  double by_p[] = {d[0] * y[0], -d[0] * y[0] * y[1], d[1] * y[0] * y[1], -d[1] * y[1]};
  AtledValue both[] = {atled_floats(by_y, 2), atled_floats(by_p, 4)};
  atled_return(c, atled_tuple(both, 2));
}

static const char model[] = "# A step of the classical Runge-Kutta method.\n"
                            "let step p h y =\n"
                            "  let k1 = rhs y p in\n"
                            "  let k2 = rhs (y + 0.5 * h * k1) p in\n"
                            "  let k3 = rhs (y + 0.5 * h * k2) p in\n"
                            "  let k4 = rhs (y + h * k3) p in\n"
                            "  y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)\n"
                            "let final p =\n"
                            "  let mut y = [10.0, 5.0] in\n"
                            "  for i = 1 to 100 do y <- step p 0.02 y done;\n"
                            "  y\n"
                            "let loss p = let y = final p in (y[0] - 8.0) ^ 2 + (y[1] - 6.0) ^ 2\n";

static int fail(AtledVM *vm) {
  const AtledDiagnostic *e = atled_error(vm);
  fputs(e ? e->rendered : "error\n", stderr);
  return 1;
}

int main(void) {
  AtledVM *vm = atled_new(NULL);
  if (!vm) return 1;
  static const AtledRule pullback = {.call = rhs_pullback};
  AtledHostFunction f = {.name = "rhs",
                         .type = "float[] -> float[] -> float[]",
                         .doc = "The slopes of the populations, for the parameters.",
                         .call = rhs,
                         .pullback = &pullback,
                         .flags = ATLED_PURE | ATLED_THREAD_SAFE};
  AtledFunction *slope;
  if (atled_define(vm, &f) != ATLED_OK || atled_eval(vm, "model.atl", model) != ATLED_OK ||
      atled_get(vm, "value_and_grad loss", "float[] -> float * float[]", &slope) != ATLED_OK)
    return fail(vm);
  double p[] = {1.1, 0.4, 0.1, 0.4};
  AtledValue arg = atled_floats(p, 4), result;
  if (atled_call(slope, &arg, 1, &result) != ATLED_OK) return fail(vm);
  const double *g = result.as.items[1].as.floats;
  printf("loss %.6f gradient %.6f %.6f %.6f %.6f\n", result.as.items[0].as.number, g[0], g[1], g[2], g[3]);
  atled_release(slope);
  atled_free(vm);
  return 0;
}
