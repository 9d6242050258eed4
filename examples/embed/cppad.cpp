/* SPDX-License-Identifier: MIT */
/* A simulator's right-hand side in C++, of which CppAD makes the derivatives: an Atled program integrates it, and the
 * host gets the gradient of a loss of the trajectory, and a Hessian-vector product. Needs CppAD's headers and library.
 *
 *   c++ -std=c++20 cppad.cpp $(pkg-config --cflags --libs atled) -lcppad_lib && ./a.out */
#include <atled.h>
#include <cppad/cppad.hpp>
#include <cstdio>
#include <vector>

using Vector = std::vector<double>;

/* Prey and predators: y' = (a y0 - b y0 y1, c y0 y1 - d y1), of x = [y0, y1, a, b, c, d]. */
template <class Scalar> std::vector<Scalar> rhs(const std::vector<Scalar> &x) {
  return {x[2] * x[0] - x[3] * x[0] * x[1], x[4] * x[0] * x[1] - x[5] * x[1]};
}

static CppAD::ADFun<double> record() {
  std::vector<CppAD::AD<double>> x(6, 1.0);
  CppAD::Independent(x);
  return {x, rhs(x)};
}

static CppAD::ADFun<double> &tape(AtledCall *c) { return *static_cast<CppAD::ADFun<double> *>(c->user); }

/* Two arguments, y and p, as one vector. */
static Vector joined(AtledCall *c, int first) {
  Vector all;
  for (int k = first; k < first + 2; k++)
    all.insert(all.end(), c->args[k].as.floats, c->args[k].as.floats + c->args[k].length);
  return all;
}

static void give(AtledCall *c, const Vector &y) { atled_return(c, atled_floats(y.data(), y.size())); }

static void give_pair(AtledCall *c, const Vector &x) {
  AtledValue both[] = {atled_floats(x.data(), 2), atled_floats(x.data() + 2, x.size() - 2)};
  atled_return(c, atled_tuple(both, 2));
}

/* No exception may leave a callback. */
template <class Body> static void guarded(AtledCall *c, Body body) {
  try {
    if (c->args[0].length == 2 && c->args[1].length == 4) body();
    else atled_fail(c, "rhs needs 2 populations and 4 parameters");
  } catch (const std::exception &e) { atled_fail(c, e.what()); }
}

static void call(AtledCall *c) {
  guarded(c, [&] { give(c, tape(c).Forward(0, joined(c, 0))); });
}

/* Of y, p and their tangents. */
static void tangent(AtledCall *c) {
  guarded(c, [&] {
    tape(c).Forward(0, joined(c, 0));
    give(c, tape(c).Forward(1, joined(c, 2)));
  });
}

static Vector cotangent(AtledCall *c, int k) {
  return Vector(c->args[k].as.floats, c->args[k].as.floats + c->args[k].length);
}

/* Of y, p, the value and its cotangent. */
static void pullback(AtledCall *c) {
  guarded(c, [&] {
    tape(c).Forward(0, joined(c, 0));
    give_pair(c, tape(c).Reverse(1, cotangent(c, 3)));
  });
}

/* Of these four and the tangent of each: the pullback's own derivative. */
static void pullback_tangent(AtledCall *c) {
  guarded(c, [&] {
    tape(c).Forward(0, joined(c, 0));
    Vector by_cotangent = tape(c).Reverse(1, cotangent(c, 7));
    tape(c).Forward(1, joined(c, 4));
    Vector second = tape(c).Reverse(2, cotangent(c, 3)), x(6); /* by pairs: first, second order */
    for (size_t i = 0; i < x.size(); i++) x[i] = by_cotangent[i] + second[2 * i + 1];
    give_pair(c, x);
  });
}

static const char model[] = R"(
# A step of the classical Runge-Kutta method.
let step p h y =
  let k1 = rhs y p in
  let k2 = rhs (y + 0.5 * h * k1) p in
  let k3 = rhs (y + 0.5 * h * k2) p in
  let k4 = rhs (y + h * k3) p in
  y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
let final p =
  let mut y = [10.0, 5.0] in
  for i = 1 to 100 do y <- step p 0.02 y done;
  y
let loss p = let y = final p in (y[0] - 8.0) ^ 2 + (y[1] - 6.0) ^ 2
let along_first p = hvp loss p [1.0, 0.0, 0.0, 0.0]
)";

static int fail(AtledVM *vm) {
  const AtledDiagnostic *e = atled_error(vm);
  std::fputs(e ? e->rendered : "error\n", stderr);
  return 1;
}

int main() {
  AtledVM *vm = atled_new(nullptr);
  if (!vm) return 1;
  CppAD::ADFun<double> f = record();
  const AtledRule second = {pullback_tangent, nullptr, nullptr};
  const AtledRule back = {pullback, nullptr, &second}, forward = {tangent, nullptr, nullptr};
  AtledHostFunction function = {};
  function.name = "rhs";
  function.type = "float[] -> float[] -> float[]";
  function.call = call;
  function.user = &f;
  function.pullback = &back;
  function.tangent = &forward;
  function.flags = ATLED_PURE;
  AtledFunction *slope, *curvature;
  if (atled_define(vm, &function) != ATLED_OK || atled_eval(vm, "model.atl", model) != ATLED_OK ||
      atled_get(vm, "grad loss", "float[] -> float[]", &slope) != ATLED_OK ||
      atled_get(vm, "along_first", "float[] -> float[]", &curvature) != ATLED_OK)
    return fail(vm);
  const double p[] = {1.1, 0.4, 0.1, 0.4};
  AtledValue arg = atled_floats(p, 4), g, h;
  if (atled_call(slope, &arg, 1, &g) != ATLED_OK || atled_call(curvature, &arg, 1, &h) != ATLED_OK) return fail(vm);
  const double *a = g.as.floats, *b = h.as.floats;
  std::printf("gradient %.6f %.6f %.6f %.6f\n", a[0], a[1], a[2], a[3]);
  std::printf("Hessian times [1, 0, 0, 0] %.5f %.5f %.5f %.5f\n", b[0], b[1], b[2], b[3]);
  atled_release(slope);
  atled_release(curvature);
  atled_free(vm);
}
