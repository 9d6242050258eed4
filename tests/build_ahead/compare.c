/* The gradient of a Gaussian mixture, built ahead of time and by a VM: the same to the last bit? There are so few
 * points that no loop is cut into blocks, whose number depends on an estimate of the work.
 *
 * usage: compare MODEL.atl LEVEL [built|vm N]
 *
 * LEVEL: of AtledConfig.cpu; N: calls of one of the two, to be measured */
#include "gmm.h"
#include <atled.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 50, D = 10, K = 25, ICF = D * (D + 1) / 2 };
static double x[POINTS][D], alpha[K], mu[K][D], icf[K][ICF];
static double alpha_grad[K], mu_grad[K][D], icf_grad[K][ICF], value;

static void fill(double *to, int n, double scale) {
  static int k;
  for (int i = 0; i < n; i++) to[i] = scale * sin(0.7 * k++);
}

static int built(void) {
  return gmm_objective_grad(1.0, 0, x[0], POINTS, D, alpha, K, icf[0], K, ICF, mu[0], K, D, &value, alpha_grad,
                            icf_grad[0], mu_grad[0]);
}

static AtledValue matrix(const double *data, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return atled_array(ATLED_FLOAT, data, 2, dims, NULL);
}

static int differs(const AtledValue *v, const double *own, size_t n) {
  return memcmp(v->as.floats, own, n * sizeof *own) != 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  fill(x[0], POINTS * D, 1.0);
  fill(alpha, K, 0.3);
  fill(mu[0], K * D, 1.0);
  fill(icf[0], K * ICF, 0.2);
  int calls = argc > 4 ? atoi(argv[4]) : 1, status = 0;
  for (int i = 0; argc > 4 && strcmp(argv[3], "built") == 0 && i < calls; i++) status |= built();
  if (argc > 4 && strcmp(argv[3], "built") == 0) return status;
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_ALWAYS;
  config.cpu = atoi(argv[2]);
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  AtledValue args[] = {atled_float(1.0),       atled_int(0),           matrix(x[0], POINTS, D),
                       atled_floats(alpha, K), matrix(icf[0], K, ICF), matrix(mu[0], K, D)},
             r;
  if (atled_eval_file(vm, argv[1]) != ATLED_OK ||
      atled_get(vm, "fun gamma m x alpha icf mu -> value_and_grad (objective {gamma, m, x}) {alpha, icf, mu}",
                "float -> int -> float[][] -> float[] -> float[][] -> float[][] -> float * mixture", &f) != ATLED_OK) {
    puts(atled_error(vm)->message);
    return 1;
  }
  for (int i = 0; i < calls; i++) status |= atled_call(f, args, 6, &r) != ATLED_OK;
  if (built() != GMM_OK || status) {
    puts(gmm_last_error());
    return 1;
  }
  const AtledValue *g = r.as.items + 1, *parts = g->as.items;
  int wrong = r.as.items[0].as.number != value || differs(&parts[0], alpha_grad, K) ||
              differs(&parts[1], icf_grad[0], K * ICF) || differs(&parts[2], mu_grad[0], K * D);
  printf("%s %.17g %.17g\n", wrong ? "different" : "same", value, mu_grad[K - 1][D - 1]);
  atled_release(f);
  atled_free(vm);
  return wrong;
}
