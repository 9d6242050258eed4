// SPDX-License-Identifier: MIT
// atled.hpp: every type in both directions, records and variants, derivatives, many sets, buffers, views and kept
// results, native pointers, exceptions with their place, configurations whose callbacks throw, and objects that were
// moved from. Compiled as C++17, 20 and 23.
#include "check.h"
#include <atled.hpp>
#include <cstdlib>
#include <new>
#include <thread>

static std::size_t allocations; // so far

// Not inlined, or GCC sees a pointer of `new` go to `free`.
__attribute__((noinline)) void *operator new(std::size_t n) {
  allocations++;
  if (void *p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void *p, std::size_t) noexcept { std::free(p); }

// The expression throws this, and the message contains the text.
#define CHECK_THROWS(E, expression, text)                                                                              \
  do {                                                                                                                 \
    check_count++;                                                                                                     \
    try {                                                                                                              \
      (void)(expression);                                                                                              \
      check_failures++;                                                                                                \
      std::fprintf(stderr, "%s:%d: nothing is thrown: %s\n", __FILE__, __LINE__, #expression);                         \
    } catch (const E &e) {                                                                                             \
      if (std::string(e.what()).find(text) == std::string::npos) {                                                     \
        check_failures++;                                                                                              \
        std::fprintf(stderr, "%s:%d: message: %s\n", __FILE__, __LINE__, e.what());                                    \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

namespace model {
// Fields in another order than the alphabetical one, some of which sort before others by capitals and underscores.
struct Params {
  double sigma, beta;
  std::vector<double> w;
  int steps;
  double b_1, bZ;
};
ATLED_RECORD(Params, sigma, beta, w, steps, b_1, bZ)

struct Point {
  double x, y;
};
ATLED_RECORD(Point, x, y)
struct Line {
  Point start, stop;
  std::string name;
};
ATLED_RECORD(Line, start, stop, name)

struct Dot {};
struct Circle {
  double radius;
};
struct Box {
  double w, h;
};
using Shape = std::variant<Dot, Circle, Box>;
ATLED_CONSTANT(Dot)
ATLED_CONSTRUCTOR(Circle, radius)
ATLED_CONSTRUCTOR(Box, w, h)
ATLED_VARIANT(Shape, "shape")

struct Other {};
using Wrong = std::variant<Dot, Other>;
ATLED_CONSTANT(Other)
ATLED_VARIANT(Wrong, "shape")

struct Body {
  char id;
  double mass;
  std::array<double, 3> at;
  std::int64_t kind;
};
ATLED_RECORD(Body, mass, at, kind)
struct Named {
  std::string name;
  float mass;
};
ATLED_RECORD(Named, name, mass)
} // namespace model
using namespace model;

static const char *const source =
    "type shape = Dot | Circle of float | Box of {w : float, h : float}\n"
    "# The loss.\n"
    "let loss w = sum [ x * x | x in w ]\n"
    "let area s = match s with Dot -> 0.0 | Circle r -> 3.0 * r * r | Box b -> b.w * b.h\n"
    "let pick (xs : float[]) k = xs[k]\n"
    "let rec spin k = if k > 0 then spin k else k\n";

static atled::VM new_vm() {
  atled::VM vm(atled::Config().jit(ATLED_JIT_OFF));
  vm.eval("model.atl", source);
  return vm;
}

template <class T> static T round_trip(atled::VM &vm, const T &x) { return vm.function<T(T)>("fun x -> x")(x); }

// ---- Types ----------------------------------------------------------------------------------------------------------
static void test_scalars() {
  atled::VM vm = new_vm();
  CHECK(vm.function<double(double, double)>("fun x y -> x * y")(3.0, 4.0) == 12.0);
  CHECK(round_trip(vm, 2.5F) == 2.5F && round_trip(vm, true) && round_trip(vm, std::int8_t{-7}) == -7);
  CHECK(round_trip(vm, std::uint64_t{5}) == 5 && round_trip(vm, 7LL) == 7 && round_trip(vm, std::size_t{9}) == 9);
  CHECK(round_trip(vm, std::string("a∇")) == "a∇" && round_trip(vm, std::string()) == "");
  CHECK(vm.function<int(std::string_view)>("Str.length")("abc") == 3);
  CHECK(vm.function<std::string(const char *)>("fun s -> s ++ \"!\"")("abc") == "abc!");
  CHECK_THROWS(atled::BadArgument, round_trip(vm, ~std::uint64_t{0}), "too large for an int");
  CHECK_THROWS(atled::BadArgument, vm.value<std::int8_t>("128"), "the int 128 doesn't fit the host's type");
  CHECK_THROWS(atled::BadArgument, vm.value<std::uint64_t>("-1"), "the int -1 doesn't fit");
  CHECK(vm.value<std::int8_t>("-128") == -128 && vm.value<std::uint32_t>("4294967295") == 4294967295U);
  CHECK(vm.function<int()>("fun () -> 41 + 1")() == 42);
  vm.function<void(int)>("fun n -> ()")(3);
  CHECK(vm.value<double>("loss [1.0, 2.0]") == 5.0);
}

static void test_arrays() {
  atled::VM vm = new_vm();
  const std::vector<double> w{1.0, 2.0, 3.0};
  CHECK(vm.function<double(std::vector<double>)>("loss")(w) == 14.0);
  CHECK(vm.function<double(std::array<double, 2>)>("loss")({3.0, 4.0}) == 25.0);
  CHECK(vm.function<double(atled::Range<const double>)>("loss")(w) == 14.0);
  CHECK(round_trip(vm, w) == w && round_trip(vm, std::vector<double>()).empty());
  const std::array<double, 2> a2 = round_trip(vm, std::array<double, 2>{1.0, 2.0});
  CHECK(a2[1] == 2.0);
  CHECK((round_trip(vm, std::vector<int>{1, -2}) == std::vector<int>{1, -2}));
  CHECK((round_trip(vm, std::vector<std::int64_t>{1, -2}) == std::vector<std::int64_t>{1, -2}));
  CHECK((round_trip(vm, std::vector<float>{0.5F}) == std::vector<float>{0.5F}));
  CHECK((round_trip(vm, std::vector<bool>{true, false, true}) == std::vector<bool>{true, false, true}));
  CHECK((round_trip(vm, std::array<bool, 2>{true, false}) == std::array<bool, 2>{true, false}));
  CHECK((round_trip(vm, std::vector<std::string>{"a", "", "cd"}) == std::vector<std::string>{"a", "", "cd"}));
  using Matrix = std::vector<std::vector<double>>;
  CHECK((round_trip(vm, Matrix{{1, 2}, {3, 4}, {5, 6}}) == Matrix{{1, 2}, {3, 4}, {5, 6}}));
  CHECK(round_trip(vm, Matrix()).empty() && round_trip(vm, Matrix{{}, {}}).size() == 2);
  CHECK_THROWS(atled::BadArgument, round_trip(vm, Matrix{{1, 2}, {3}}), "different lengths: 2 and 1");
  using Rows = std::vector<std::array<double, 2>>; // which lie as a matrix does
  auto flat = vm.function<atled::Range<const std::array<double, 2>>(Rows)>("fun (m : float[][]) -> m");
  const Rows rows{{1, 2}, {3, 4}};
  CHECK(flat(rows).data() == rows.data() && flat(rows)[1][0] == 3.0);
  CHECK((round_trip(vm, rows) == rows && vm.function<double(Rows)>("fun m -> m[1][0]")(rows) == 3.0));
  CHECK_THROWS(atled::BadArgument, (vm.value<std::array<double, 2>>("[1.0, 2.0, 3.0]")), "has 3 elements");
  CHECK_THROWS(atled::BadArgument, (vm.value<std::vector<std::array<double, 2>>>("[[1.0]]")), "the host's array 2");
  using Boxes = std::vector<std::tuple<int, std::vector<double>>>;
  CHECK((round_trip(vm, Boxes{{1, {2.0}}, {3, {}}}) == Boxes{{1, {2.0}}, {3, {}}}));
  using Cube = std::array<std::array<std::array<std::int64_t, 2>, 1>, 2>;
  const Cube cube{{{{{{1, 2}}}}, {{{{3, 4}}}}}};
  CHECK((round_trip(vm, cube) == cube && vm.function<int(Cube)>("fun c -> c[1][0][1]")(cube) == 4));
}

static void test_data() {
  atled::VM vm = new_vm();
  const Params p{1.0, 2.0, {3.0, 4.0}, 5, 6.0, 7.0};
  const Params q = vm.function<Params(Params)>("fun p -> {p with beta = p.sigma + p.w[1] + float p.steps}")(p);
  CHECK(q.beta == 10.0 && q.sigma == 1.0 && q.w == p.w && q.steps == 5 && q.b_1 == 6.0 && q.bZ == 7.0);
  const Line line{{1, 2}, {3, 4}, "l"};
  auto turn = vm.function<Line(Line)>("fun l -> {start = l.stop, stop = l.start, name = l.name ++ l.name}");
  CHECK(turn(line).start.x == 3.0 && turn(line).stop.y == 2.0 && turn(line).name == "ll");
  const std::vector<Point> points{{1, 2}, {3, 4}};
  CHECK(
      vm.function<std::vector<Point>(std::vector<Point>)>("fun ps -> [ {x = p.y, y = p.x} | p in ps ]")(points)[1].x ==
      4.0);
  using Pair = std::pair<int, std::tuple<double, std::string>>;
  CHECK((round_trip(vm, Pair{1, {2.0, "x"}}) == Pair{1, {2.0, "x"}}));
  using Option = std::optional<std::vector<double>>;
  CHECK((round_trip(vm, Option{{1.0}}) == Option{{1.0}} && !round_trip(vm, Option())));
  CHECK((round_trip(vm, std::optional<std::optional<int>>{std::optional<int>()}) ==
         std::optional<std::optional<int>>(std::optional<int>())));
  CHECK(
      (round_trip(vm, std::list<double>{1, 2}) == std::list<double>{1, 2} && round_trip(vm, std::list<int>()).empty()));
  auto area = vm.function<double(Shape)>("area");
  CHECK(area(Dot{}) == 0.0 && area(Circle{2.0}) == 12.0 && area(Box{3.0, 4.0}) == 12.0);
  CHECK(std::get<Circle>(round_trip(vm, Shape(Circle{2.0}))).radius == 2.0 &&
        round_trip(vm, Shape(Dot{})).index() == 0);
  CHECK(std::get<Box>(round_trip(vm, Shape(Box{3.0, 4.0}))).h == 4.0);
  const std::vector<Shape> shapes{Dot{}, Circle{1.0}};
  CHECK(vm.function<double(std::vector<Shape>)>("fun s -> sum (map area s)")(shapes) == 3.0);
  CHECK_THROWS(atled::BadArgument, vm.value<Wrong>("Circle 1.0"), "has no constructor `Circle`");
  CHECK_THROWS(atled::BadArgument, vm.function<double(Wrong)>("area")(Other{}),
               "has no constructor `Other`, but `Dot`");
}

#if __cplusplus >= 202002L
static void test_spans() {
  atled::VM vm = new_vm();
  const std::vector<double> w{1.0, 2.0};
  auto identity = vm.function<std::span<const double>(std::span<const double>)>("fun (w : float[]) -> w");
  CHECK(identity(w).data() == w.data());
  std::vector<double> g = vm.function<double(std::span<const double>)>("loss").gradient()(w);
  CHECK(g[1] == 4.0);
  std::array<double, 2> to{};
  identity.into(std::span<double>(to), w);
  CHECK(to[1] == 2.0);
}
#else
static void test_spans() {}
#endif

// ---- Calls ----------------------------------------------------------------------------------------------------------
static void test_gradients() {
  atled::VM vm = new_vm();
  auto f = vm.function<double(Params)>("fun p -> p.sigma * p.beta + sum p.w * p.b_1");
  auto df = f.gradient();
  const Params g = df({2.0, 3.0, {1.0, 1.0}, 4, 5.0, 6.0});
  CHECK(g.sigma == 3.0 && g.beta == 2.0 && g.w[0] == 5.0 && g.w.size() == 2 && g.b_1 == 2.0 && g.bZ == 0.0);
  CHECK(df.expression().find("grad") == 0);
  auto [value, slope] = f.value_and_gradient()({2.0, 3.0, {1.0}, 4, 5.0, 6.0});
  CHECK(value == 11.0 && slope.sigma == 3.0);
  auto h = vm.function<double(double, std::vector<double>, int)>("fun k w n -> k * loss w + float n");
  CHECK(h.gradient()(2.0, {1.0, 2.0}, 3) == 5.0 && h.gradient<1>()(2.0, {1.0, 2.0}, 3)[1] == 8.0);
  CHECK(h.value_and_gradient<1>()(2.0, {1.0}, 3).first == 5.0);
  CHECK(vm.function<double(double)>("fun x -> x * x # squared").gradient().gradient()(5.0) == 2.0);
}

static void test_many() {
  atled::VM vm = new_vm();
  std::vector<Body> bodies{{'a', 1.0, {1, 2, 3}, 4}, {'b', 2.0, {5, 6, 7}, 8}, {'c', 3.0, {0, 0, 1}, 0}};
  auto f = vm.function<double(Body, double)>("fun b k -> k * b.mass * sum b.at + float b.kind");
  CHECK((f.many(bodies, atled::same(10.0)) == std::vector<double>{64.0, 368.0, 30.0}));
  CHECK((f.many(bodies, std::vector<double>{1, 2, 3}) == std::vector<double>{10.0, 80.0, 9.0}));
  std::vector<Body> slopes = f.gradient().many(bodies, atled::same(2.0));
  CHECK(slopes[1].mass == 36.0 && slopes[1].at[2] == 4.0 && slopes[1].id == 0);
  CHECK_THROWS(atled::BadArgument, f.many(bodies, std::vector<double>{1, 2}), "different lengths");
  CHECK_THROWS(atled::BadArgument, f.many(atled::same(bodies[0]), atled::same(1.0)), "one of the arguments is a range");
  CHECK(f.many(std::vector<Body>(), std::vector<double>()).empty());
  auto g = vm.function<std::tuple<bool, double>(Named, std::vector<double>)>(
      "fun n w -> (Str.length n.name > 1, n.mass + sum w)");
  const std::vector<Named> named{{"ab", 0.5F}, {"c", 1.5F}};
  const std::vector<std::vector<double>> ragged{{1, 2}, {}};
  const auto both = g.many(named, ragged);
  CHECK(std::get<0>(both[0]) && std::get<1>(both[0]) == 3.5 && !std::get<0>(both[1]) && std::get<1>(both[1]) == 1.5);
  CHECK((vm.function<bool(int)>("fun n -> n > 1").many(std::vector<int>{1, 2}) == std::vector<bool>{false, true}));
  const std::vector<std::optional<int>> options{1, std::nullopt};
  auto or_seven = vm.function<std::int64_t(std::optional<int>)>("fun o -> match o with Some n -> n | None -> 7");
  CHECK((or_seven.many(options) == std::vector<std::int64_t>{1, 7}));
  std::array<double, 2> out{};
  vm.function<double(double)>("fun x -> 2.0 * x").many_into(out, std::array<double, 2>{3, 4});
  CHECK(out[1] == 8.0);
  auto pick = vm.function<double(std::array<double, 2>, std::int64_t)>("pick");
  try {
    pick.many(std::vector<std::array<double, 2>>(3), std::vector<std::int64_t>{0, 1, 2});
    CHECK(false);
  } catch (const atled::RuntimeError &e) { CHECK(e.details().set == 2 && e.kind() == "index"); }
}

struct Fit {
  double value;
  std::array<double, 2> g;
  std::vector<std::int64_t> rounds;
};
ATLED_RECORD(Fit, value, g, rounds)

static void test_places() {
  atled::VM vm = new_vm();
  auto f = vm.function<std::pair<double, std::vector<double>>(std::vector<double>)>("value_and_grad loss");
  std::pair<double, std::vector<double>> to{0.0, std::vector<double>(3)};
  const std::vector<double> w{1.0, 2.0, 3.0};
  const double *before = to.second.data();
  f.into(to, w);
  CHECK(to.first == 14.0 && to.second[2] == 6.0 && to.second.data() == before);
  to.second.resize(2);
  CHECK_THROWS(atled::BadArgument, f.into(to, w), "the result, item 1: a buffer of 3 elements is needed, not of 2");
  Fit fit{0.0, {}, {0, 0}};
  vm.function<Fit(double)>("fun x -> {value = x, g = [x, 2.0 * x], rounds = [1, 2]}").into(fit, 3.0);
  CHECK(fit.value == 3.0 && fit.g[1] == 6.0 && fit.rounds[1] == 2);
  // Views last until the next call, and a kept result as long as its object.
  auto view = vm.function<atled::Range<const double>(std::vector<double>)>("grad loss");
  auto kept = view.keep(w);
  CHECK(view(std::vector<double>{5.0})[0] == 10.0 && kept.get()[2] == 6.0);
  auto moved = std::move(kept);
  CHECK(moved.get().size() == 3);
  CHECK_THROWS(atled::BadArgument, kept.get(), "moved from");
  view = {};
  CHECK(moved.get()[1] == 4.0);
}

static void test_no_allocations() {
  atled::VM vm = new_vm();
  auto f = vm.function<double(Line)>("fun l -> l.start.x + l.stop.y");
  auto g = vm.function<atled::Range<const double>(std::vector<double>)>("fun (w : float[]) -> w");
  const Line line{{1, 2}, {3, 4}, "l"};
  const std::vector<double> w(1000000, 1.0);
  f(line);
  const std::size_t before = allocations;
  for (int i = 0; i < 100; i++) CHECK(f(line) == 5.0 && g(w).data() == w.data());
  CHECK(allocations == before);
}

static void test_native() {
  atled::VM vm(atled::Config().jit(ATLED_JIT_ALWAYS));
  vm.eval("model.atl", source);
  auto loss = vm.function<double(std::vector<double>)>("loss");
  atled::Native f = loss.native();
  atled::NativeGradient df = loss.native_gradient();
  double x[] = {1.0, 2.0}, g[2];
  CHECK(f(x) == 5.0 && df(x, g) == 5.0 && g[1] == 4.0);
  CHECK(f.pointer()(f.self(), x, 2) == 5.0 && df.pointer()(df.self(), x, 2, g) == 5.0);
  CHECK_THROWS(atled::BadArgument, df(x, atled::Range<double>(g, 1)), "as many elements");
  atled::Native product = vm.function<double(double, double)>("fun x y -> x * y").native();
  CHECK(product(std::array<double, 2>{3.0, 4.0}) == 12.0);
  vm.function<double(double, double)>("fun x y -> x * y").native_gradient()(x, g);
  CHECK(g[0] == 2.0 && g[1] == 1.0);
  atled::Native bad = vm.function<double(std::vector<double>)>("fun w -> pick w 5").native();
  CHECK_THROWS(atled::RuntimeError, bad(x), "5");
  CHECK(std::isnan(vm.function<double(std::vector<double>)>("fun w -> w[0] - w[0] + nan").native()(x)));
  atled::Native copy = f; // all keep the VM alive
  vm = atled::VM(atled::Config().jit(ATLED_JIT_OFF));
  loss = {};
  int wrong = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; i++) wrong += copy(x) != 5.0;
  });
  for (int i = 0; i < 1000; i++) CHECK(f(x) == 5.0);
  other.join();
  CHECK(wrong == 0);
  atled::Native moved = std::move(f);
  CHECK_THROWS(atled::BadArgument, f(x), "moved from");
  CHECK(moved(x) == 5.0 && !f.self());
}

// ---- Errors ---------------------------------------------------------------------------------------------------------
static void test_errors() {
  atled::VM vm = new_vm();
  try {
    vm.eval("bad.atl", "let x = 1\nlet y = x +. 2");
    CHECK(false);
  } catch (const atled::CompileError &e) {
    CHECK(e.file() == "bad.atl" && e.line() == 2 && e.column() > 1 && e.status() == ATLED_COMPILE_ERROR);
    CHECK(e.rendered().find("let y = x +. 2") != std::string::npos && !e.hint().empty() && !e.kind().empty());
    const atled::Error copy = e;
    CHECK(copy.line() == 2 && std::string(copy.what()) == e.what());
  }
  try {
    vm.eval("run.atl", "let go xs = pick xs 7\nprint (go [1.0])");
    CHECK(false);
  } catch (const atled::RuntimeError &e) {
    CHECK(e.kind() == "index" && e.details().frames.size() == 3 && e.details().frames[1].function == "go");
  }
  CHECK_THROWS(atled::CompileError, vm.eval("x", "let"), "");
  // A look-up at another type shows both.
  CHECK_THROWS(atled::CompileError, vm.function<double(std::string)>("loss"), "string");
  CHECK_THROWS(atled::CompileError, vm.function<double(std::string)>("loss"), "float");
  CHECK_THROWS(atled::CompileError, vm.function<double(Point)>("fun p -> p.z"), "z");
  CHECK_THROWS(atled::BadArgument, vm.eval_file("/no/such/file"), "/no/such/file");
  CHECK_THROWS(atled::Exit, vm.eval("x", "exit 3"), "exit 3");
  try {
    vm.eval("x", "exit 3");
  } catch (const atled::Exit &e) { CHECK(e.exit_status() == 3 && e.status() == ATLED_EXIT); }
  vm.interrupt();
  CHECK_THROWS(atled::Interrupted, vm.eval("x", "print 1"), "");
  vm.interrupt();
  vm.clear_interrupt();
  CHECK(vm.type("area") == "shape -> float" && vm.doc("loss").find("The loss.") != std::string::npos);
  vm.check("x", "let unseen = 1");
  CHECK_THROWS(atled::CompileError, vm.type("unseen"), "unseen");
  atled::VM late(atled::Config().jit(ATLED_JIT_OFF).time_limit(0.05));
  late.eval("model.atl", source);
  CHECK_THROWS(atled::TimeLimit, late.function<int(int)>("spin")(1), "time limit");
  atled::VM small(atled::Config().jit(ATLED_JIT_OFF).memory_limit(std::size_t{16} << 20));
  CHECK_THROWS(atled::MemoryError, small.value<double>("sum (map float (sort [ i | i < 100000000 ]))"), "memory");
  CHECK(small.value<int>("1 + 1") == 2);
  CHECK_THROWS(atled::Error, atled::VM(atled::Config().memory_limit(1)), "no memory");
}

static void test_callbacks() {
  std::string out;
  int imports = 0;
  atled::Config config = atled::Config::sandbox()
                             .jit(ATLED_JIT_OFF)
                             .allow(ATLED_RIGHT_INPUT | ATLED_RIGHT_ENVIRONMENT)
                             .args({"one", "two"})
                             .output([&](AtledStream, std::string_view text) {
                               if (text.find("throw") != std::string_view::npos) throw std::out_of_range("mine");
                               out += text;
                               return true;
                             })
                             .display([&](const AtledDisplay &d) {
                               out += d.media_type;
                               return true;
                             })
                             .input([](char *buffer, std::size_t size) -> std::size_t {
                               if (size < 4) throw std::length_error("short");
                               std::memcpy(buffer, "line", 4);
                               return 4;
                             })
                             .module([&](const std::string &name) -> std::optional<std::string> {
                               imports++;
                               if (name == "bad.atl") throw std::out_of_range("no module");
                               if (name != "m.atl") return std::nullopt;
                               return "let x = 3";
                             });
  atled::VM vm(config);
  vm.eval("a.atl", "import \"m.atl\" as M\nprint (M.x, args)");
  CHECK(out == "(3, [\"one\", \"two\"])\n" && imports == 1);
  CHECK_THROWS(std::out_of_range, vm.eval("b.atl", "print \"throw\""), "mine");
  CHECK_THROWS(std::out_of_range, vm.eval("b.atl", "import \"bad.atl\" as M\nprint M.x"), "no module");
  CHECK_THROWS(atled::CompileError, vm.eval("b.atl", "import \"none.atl\" as M\nprint M.x"), "none.atl");
  CHECK_THROWS(atled::CompileError, vm.eval("b.atl", "print (read_file \"x\")"), "right");
  vm.eval("c.atl", "print 4");
  CHECK(out == "(3, [\"one\", \"two\"])\n4\n");
  vm.eval("c.atl", "Plot.show Plot.empty");
  CHECK(out == "(3, [\"one\", \"two\"])\n4\nimage/svg+xml");
  // A diagnostic's callback may throw, and a callback's own calls on the VM are refused.
  atled::Function<double(double)> f;
  atled::VM *self = nullptr;
  std::string refused;
  atled::VM other(atled::Config()
                      .jit(ATLED_JIT_OFF)
                      .output([&](AtledStream, std::string_view) {
                        try {
                          f(1.0);
                        } catch (const atled::BadArgument &e) { refused = e.what(); }
                        f = {}; // is released after the call
                        return true;
                      })
                      .diagnostic([](const AtledDiagnostic &d) {
                        if (d.severity == ATLED_ERROR) throw std::out_of_range("seen");
                      }));
  self = &other;
  f = self->function<double(double)>("fun x -> x + 1.0");
  CHECK(f(1.0) == 2.0);
  other.eval("x", "print 1");
  CHECK(!refused.empty() && !f);
  CHECK_THROWS(std::out_of_range, other.eval("x", "let x = 1 + true"), "seen");
  CHECK(other.value<int>("1 + 2") == 3 && atled_live_objects(other.get()) == 0);
}

static void test_moves() {
  atled::VM vm = new_vm();
  auto f = vm.function<double(double)>("fun x -> 2.0 * x");
  atled::VM taken = std::move(vm);
  CHECK_THROWS(atled::BadArgument, vm.eval("x", "1"), "moved from");
  CHECK_THROWS(atled::BadArgument, vm.function<int(int)>("fun x -> x"), "moved from");
  CHECK_THROWS(atled::BadArgument, vm.value<int>("1"), "moved from");
  vm.interrupt();
  CHECK(!vm.get() && f(2.0) == 4.0);
  auto g = std::move(f);
  CHECK_THROWS(atled::BadArgument, f(1.0), "moved from");
  CHECK_THROWS(atled::BadArgument, f.gradient(), "moved from");
  CHECK(!f.get() && !f && g(3.0) == 6.0);
  f = g;
  vm = std::move(taken);
  vm = new_vm();
  CHECK(f(1.0) == 2.0 && g(1.0) == 2.0); // their VM is alive
  atled::Function<double(double)> none;
  CHECK_THROWS(atled::BadArgument, none(1.0), "empty");
}

int main() {
  try {
    test_scalars();
    test_arrays();
    test_data();
    test_spans();
    test_gradients();
    test_many();
    test_places();
    test_no_allocations();
    test_native();
    test_errors();
    test_callbacks();
    test_moves();
  } catch (const atled::Error &e) {
    std::fprintf(stderr, "%s", e.rendered().c_str());
    return 1;
  }
  return check_result();
}
