/* Calls the functions of model.atl, built ahead of time, and compares with closed forms. */
#include "model.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      if (failures++ < 20) printf("line %d: %s (last error: %s)\n", __LINE__, #condition, model_last_error());         \
    }                                                                                                                  \
  } while (0)

static int says(const char *text) { return strstr(model_last_error(), text) != NULL; }

static void scalars(void) {
  double beta, gamma, y;
  int64_t n;
  int flag;
  CHECK(model_double(1.5, 4.0, &beta, &gamma) == MODEL_OK && beta == 3.0 && gamma == 4.0);
  CHECK(model_double(1.5, 4.0, NULL, &gamma) == MODEL_OK && gamma == 4.0);
  CHECK(model_fib(20, &n) == MODEL_OK && n == 6765);
  CHECK(model_positive(-1.0, &flag) == MODEL_OK && flag == 0);
  CHECK(model_positive(1e-300, &flag) == MODEL_OK && flag == 1);
  CHECK(model_opposite(256, &flag) == MODEL_OK && flag == 0);
  CHECK(model_opposite(0, &flag) == MODEL_OK && flag == 1);
  CHECK(model_nine(1, 2, 3, 4, 5, 6, 7, 8, 9, 1000, &y) == MODEL_OK && y == 1285.0);
  CHECK(model_scaled(0, 5.0, &y) == MODEL_OK && y == 10.0); /* closures in a global array */
  CHECK(model_scaled(1, 5.0, &y) == MODEL_OK && y == 7.0);
}

static void arrays(void) {
  double w[] = {1.0, 2.0, 3.0}, a[] = {1, 2, 3, 4, 5, 6}, y, b[6] = {0};
  int64_t ints[] = {7, 8, 9}, n, m;
  size_t dims[2] = {0};
  CHECK(model_loss(w, 3, &y) == MODEL_OK && y == 14.0);
  CHECK(model_loss(NULL, 0, &y) == MODEL_OK && y == 0.0);
  CHECK(model_weigh(w, 3, &y) == MODEL_OK && y == 9.5);
  CHECK(model_pick(ints, 3, 2, &n) == MODEL_OK && n == 9);
  CHECK(model_scale(a, 2, 3, 10.0, b, 6, dims) == MODEL_OK && b[5] == 60.0 && dims[0] == 2 && dims[1] == 3);
  CHECK(model_scale(a, 2, 3, 10.0, a, 6, NULL) == MODEL_OK && a[0] == 10.0 && a[5] == 60.0);
  CHECK(model_scale(a, 2, 3, 1.0, NULL, 0, dims) == MODEL_OK && dims[0] == 2 && dims[1] == 3);
  CHECK(model_same(w, 3, b, 6, dims) == MODEL_OK && dims[0] == 3 && b[0] == 1.0 && b[2] == 3.0);
  CHECK(model_both(w, 3, w, 3, NULL, b, 6, dims, NULL, 0, NULL) == MODEL_OK && w[0] == 2.0 &&
        w[2] == 6.0); /* in place */
  CHECK(dims[0] == 3 && b[0] == 1.0 && b[2] == 3.0);
  w[0] = 1.0, w[1] = 2.0, w[2] = 3.0;
  CHECK(model_norm(w, 1, &y) == MODEL_OK && y == 5.0);
  CHECK(model_cube(a, 1, 2, 3, &n, &m, &y) == MODEL_OK && n == 1 && m == 2 && y == 210.0);
  CHECK(model_clash(1.0, w, 3, 0.5, &y) == MODEL_OK && y == 7.5);
}

static void derivatives(void) {
  double w[] = {1.0, 2.0, 3.0}, g[3] = {0}, y, beta, gamma, p[] = {1, 2, 3, 4}, pg[4];
  CHECK(model_loss_grad(w, 3, &y, g) == MODEL_OK && y == 14.0 && g[0] == 2.0 && g[1] == 4.0 && g[2] == 6.0);
  CHECK(model_loss_grad(w, 3, NULL, w) == MODEL_OK && w[0] == 2.0 && w[2] == 6.0);
  CHECK(model_norm_grad(p, 2, &y, pg) == MODEL_OK && y == 30.0 && pg[0] == 2.0 && pg[3] == 8.0);
  w[0] = 1.0, w[1] = 2.0, w[2] = 3.0;
  CHECK(model_params_loss_grad(2.0, 0.5, w, 3, 10, &y, &beta, &gamma, g) == MODEL_OK);
  CHECK(fabs(y - (120.0 + sin(0.5))) < 1e-13 && beta == 60.0 && fabs(gamma - cos(0.5)) < 1e-15 && g[1] == 20.0);
  double x[] = {2, 3}, c[] = {1, 0, 0, 0, 0, 5}, out[6], xg[2], yg[3];
  size_t dims[2];
  CHECK(model_outer_vjp(x, 2, w, 3, c, 2, 3, out, 6, dims, xg, yg) == MODEL_OK);
  CHECK(out[0] == 2.0 && out[5] == 9.0 && dims[0] == 2 && dims[1] == 3);
  CHECK(xg[0] == 1.0 && xg[1] == 15.0 && yg[0] == 2.0 && yg[1] == 0.0 && yg[2] == 15.0);
}

static void errors(void) {
  double w[] = {1, 2, 3, 4}, y = -1.0, b[4] = {-1};
  int64_t ints[] = {7}, n = -1;
  size_t dims[1] = {0};
  CHECK(model_pick(ints, 1, 5, &n) == MODEL_FAILED && n == -1);
  CHECK(says("model_pick: ") && says("model.atl:17:38: index 5 is out of bounds for an array of length 1"));
  CHECK(model_weigh(w, 4, &y) == MODEL_FAILED && y == -1.0 && says("index 3 is out of bounds"));
  CHECK(model_refuse(1.5, &y) == MODEL_FAILED && y == -1.0 && says("x is 1.5, above 1"));
  CHECK(model_refuse(0.5, &y) == MODEL_OK && y == 0.5);
  CHECK(model_loss(NULL, 2, &y) == MODEL_BAD_ARGUMENT && says("`w` is NULL"));
  CHECK(model_loss(w, (size_t)1 << 62, &y) == MODEL_BAD_ARGUMENT && says("too many elements"));
  CHECK(model_scale(w, (size_t)1 << 40, (size_t)1 << 40, 1.0, b, 4, NULL) == MODEL_BAD_ARGUMENT);
  CHECK(model_same(w, 4, b, 3, dims) == MODEL_BAD_ROOM && dims[0] == 4 && b[0] == -1.0);
  CHECK(says("`result` needs room for 4 elements, not 3"));
  CHECK(model_big((int64_t)1 << 44, b, 4, dims) == MODEL_NO_MEMORY && says("out of memory"));
  CHECK(model_big(3, b, 4, dims) == MODEL_OK && dims[0] == 3 && b[2] == 2.0);
  CHECK(model_deep(0.0, 1000, &y) == MODEL_OK && y == 1000.0);
  CHECK(model_deep(0.0, 100000000, &y) == MODEL_FAILED && says("stack overflow"));
  CHECK(model_deep(0.5, 10, &y) == MODEL_OK && y == 10.5);
}

static void *work(void *number) {
  double w[100], g[100], y;
  int id = *(int *)number;
  for (int k = 0; k < 100; k++) w[k] = id + k;
  for (int i = 0; i < 2000; i++) {
    CHECK(model_loss_grad(w, 100, &y, g) == MODEL_OK && g[99] == 2.0 * w[99]);
    CHECK(model_refuse(id + 2.0, &y) == MODEL_FAILED);
    char text[64];
    snprintf(text, sizeof text, "x is %d.0", id + 2);
    CHECK(says(text));
  }
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  int numbers[4];
  for (int k = 0; k < 4; k++) {
    numbers[k] = k;
    pthread_create(&all[k], NULL, work, &numbers[k]);
  }
  for (int k = 0; k < 4; k++) pthread_join(all[k], NULL);
}

int main(void) {
  CHECK(strcmp(model_last_error(), "") == 0);
  scalars();
  arrays();
  derivatives();
  errors();
  threads();
  puts(failures ? "failed" : "passed");
  return failures != 0;
}
