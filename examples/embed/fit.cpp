// SPDX-License-Identifier: MIT
// A C++ program that fits a model to data by descending along its gradient. Structures are records of the model, and
// the gradient is a structure of the same type.
//
//   g++ -std=c++17 fit.cpp $(pkg-config --cflags --libs atled) && ./a.out
#include <atled.hpp>
#include <cstdio>

struct Params {
  double amplitude, decay, offset;
};
ATLED_RECORD(Params, amplitude, decay, offset)

struct Data {
  std::vector<double> times, values;
};
ATLED_RECORD(Data, times, values)

static const char *const source = R"(
type params = {amplitude : float, decay : float, offset : float}

let predict (p : params) t = p.amplitude * exp (-p.decay * t) + p.offset

# The mean of the squared residuals.
let loss p data = mean [ (predict p data.times[i] - data.values[i]) ^ 2 | i < length data.times ]
)";

static Params step(const Params &p, const Params &slope, double rate) {
  return {p.amplitude - rate * slope.amplitude, p.decay - rate * slope.decay, p.offset - rate * slope.offset};
}

static void fit() {
  atled::VM vm;
  vm.eval("model.atl", source);
  auto predict = vm.function<double(Params, double)>("predict");
  auto loss = vm.function<double(Params, Data)>("loss");
  auto descend = loss.value_and_gradient(); // with respect to the first parameter

  Data data;
  for (int i = 0; i < 20; i++) data.times.push_back(0.25 * i);
  data.values = predict.many(atled::same(Params{2.0, 0.7, 0.5}), data.times);

  Params p{1.0, 1.0, 0.0};
  double rate = 1.0;
  for (int i = 0; i < 5000; i++) {
    auto [before, slope] = descend(p, data);
    while (rate > 1e-9 && !(loss(step(p, slope, rate), data) < before)) rate /= 2;
    p = step(p, slope, rate);
    rate *= 1.5;
  }
  std::printf("amplitude %.3f decay %.3f offset %.3f\n", p.amplitude, p.decay, p.offset);

  try {
    vm.function<double(Data)>("predict");
  } catch (const atled::CompileError &e) { std::printf("%s\n", e.what()); }
}

int main() {
  try {
    fit();
  } catch (const atled::Error &e) {
    std::fputs(e.rendered().c_str(), stderr);
    return 1;
  }
}
