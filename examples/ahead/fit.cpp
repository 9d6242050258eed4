// The same in C++: arrays are vectors, and a status that isn't 0 becomes an exception.
//
//   atled build decay.atl -o libdecay.so --header decay.h --functions decay,loss,grad:loss
//   c++ fit.cpp libdecay.so -Wl,-rpath,. && ./a.out
#include "decay.h"
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

struct Params {
  double amplitude, rate;
};

static void check(int status) {
  if (status != DECAY_OK) throw std::runtime_error(decay_last_error());
}

// The loss, and its gradient in g.
static double loss(const Params &p, const std::vector<double> &times, const std::vector<double> &values, Params &g) {
  double y;
  check(decay_loss_grad(p.amplitude, p.rate, times.data(), times.size(), values.data(), values.size(), &y, &g.amplitude,
                        &g.rate, nullptr, nullptr));
  return y;
}

int main() {
  std::vector<double> times, values;
  for (int i = 0; i < 20; i++) {
    times.push_back(0.25 * i);
    values.push_back(2.0 * std::exp(-0.5 * times.back()));
  }
  Params p{1.0, 1.0}, g;
  for (int step = 0; step < 5000; step++) {
    loss(p, times, values, g);
    p.amplitude -= 0.5 * g.amplitude;
    p.rate -= 0.5 * g.rate;
  }
  std::printf("amplitude %.6f, rate %.6f, loss %.1e\n", p.amplitude, p.rate, loss(p, times, values, g));
  try {
    values.pop_back();
    loss(p, times, values, g);
  } catch (const std::exception &e) { std::printf("as expected: %s\n", e.what()); }
}
