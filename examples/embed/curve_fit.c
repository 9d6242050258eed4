/* SPDX-License-Identifier: MIT */
/* Curve fitting: NLopt minimises a loss of a script, whose values and gradients it gets by a native pointer.
 *
 *   cc curve_fit.c $(pkg-config --cflags --libs atled nlopt) -lm && ./a.out */
#if !__has_include(<nlopt.h>)
#error "this example needs NLopt (Debian: libnlopt-dev)"
#endif
#include <atled.h>
#include <nlopt.h>
#include <stdio.h>

static const char *const script = "let ts = [ 0.5 * float i | i < 20 ]\n"
                                  "let model p t = p[0] * exp (-p[1] * t) + p[2]\n"
                                  "let ys = [ model [ 2.0, 0.5, 1.0 ] t | t in ts ]\n"
                                  "let loss p = sum [ (model p ts[i] - ys[i]) ^ 2 | i < length ts ]\n";

typedef struct Loss {
  AtledFunction *f;
  AtledNative native;
  int calls;
} Loss;

/* As NLopt calls it; grad may be NULL. */
static double evaluate(unsigned n, const double *p, double *grad, void *user) {
  Loss *loss = user;
  loss->calls++;
  return loss->native.gradient(loss->f, p, n, grad);
}

static int fit(Loss *loss) {
  double p[3] = {1.0, 1.0, 0.0}, smallest = 0.0;
  nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, 3);
  if (!opt) return 1;
  nlopt_set_min_objective(opt, evaluate, loss);
  nlopt_set_xtol_rel(opt, 1e-10);
  nlopt_set_maxeval(opt, 1000);
  nlopt_result result = nlopt_optimize(opt, p, &smallest);
  nlopt_destroy(opt);
  /* NLOPT_FAILURE: no smaller value can be told from this one */
  printf("%.4f exp (-%.4f t) + %.4f\n", p[0], p[1], p[2]);
  printf("%d gradients, loss %.1e\n", loss->calls, smallest);
  return result < 0 && result != NLOPT_FAILURE;
}

int main(void) {
  Loss loss = {NULL};
  AtledVM *vm = atled_new(NULL);
  int failed = !vm || atled_eval(vm, "fit.atl", script) != ATLED_OK ||
               atled_get(vm, "value_and_grad loss", "float[] -> float * float[]", &loss.f) != ATLED_OK ||
               atled_native(loss.f, ATLED_GRADIENT, &loss.native) != ATLED_OK || fit(&loss);
  if (failed && atled_error(vm)) fputs(atled_error(vm)->rendered, stderr);
  atled_release(loss.f);
  atled_free(vm);
  return failed;
}
