/* SPDX-License-Identifier: MIT */
/* Sums of accumulators that are logs: neither reading one before it is added to another, nor who else holds it, changes
 * a digit. The terms are such that any other order of the additions gives another sum. */
#include "check.h"
#include "runtime/runtime_internal.h"

enum { N = 100000 };
static uint8_t kind_float[] = {SLOT_FLOAT}, kind_ptr[] = {SLOT_PTR};
static const Desc d_float = {.kind = D_FLOAT, .nslots = 1, .slots = kind_float};
static const Desc *floats[] = {&d_float};
static const Desc d_array = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = floats, .rank = 1};
static const Desc *bag_args[] = {&d_float, &d_array};
static const Desc d_bag = {.kind = D_BAG, .nslots = 1, .slots = kind_ptr, .n = 2, .args = bag_args, .rank = 1};
static const int64_t dims[] = {N};
static Rt rt;
static Heap heap;

static double get(Obj *bag, int64_t i) {
  Slot out;
  CHECK(rt_bag_get(&rt, &d_bag, bag, i, &out) == 0);
  return out.f;
}

static double term(double first, int k, int t) { return first / (7.0 * k + 3.0 * t + 1.0); }

/* A log of 3 * `rounds` terms for index 5, with others between them; read after each round if `read`. */
static Obj *log_of(double first, int rounds, bool read) {
  Obj *bag = NULL;
  for (int k = 0; k < rounds; k++) {
    for (int t = 0; t < 3; t++) {
      Slot v = {.f = term(first, k, t)}, other = {.f = 0.5};
      CHECK(rt_acc_at(&rt, &d_bag, &bag, dims, 5, &v) == 0);
      CHECK(rt_acc_at(&rt, &d_bag, &bag, dims, 6 + 3 * k + t, &other) == 0);
    }
    if (read) get(bag, 5);
  }
  return bag;
}

/* Index 5 of the sum of two logs, each read or not, and each held by another or not. */
static double sum_of(int rounds_a, int rounds_b, int bits) {
  Obj *a = log_of(1.0, rounds_a, bits & 1), *b = log_of(3.0, rounds_b, bits & 2), *sum = NULL;
  Obj *held[2] = {bits & 4 ? a : NULL, bits & 8 ? b : NULL};
  for (int k = 0; k < 2; k++)
    if (held[k]) rt_retain(held[k]);
  CHECK(rt_cadd(&rt, &d_bag, a, b, dims, &sum) == 0);
  double x = get(sum, 5);
  rt_release(&rt, sum);
  for (int k = 0; k < 2; k++) rt_release(&rt, held[k]);
  return x;
}

static void test_pair(int rounds_a, int rounds_b) {
  double want = sum_of(rounds_a, rounds_b, 0);
  for (int bits = 1; bits < 16; bits++) {
    double got = sum_of(rounds_a, rounds_b, bits);
    CHECK(memcmp(&got, &want, sizeof got) == 0);
  }
}

/* What a log is read as is the sum in the order of the additions. */
static void test_value(void) {
  for (int rounds = 1; rounds < 200; rounds = 3 * rounds) {
    Obj *a = log_of(1.0, rounds, false), *b = log_of(1.0, rounds, true);
    double want = 0;
    for (int k = 0; k < 3 * rounds; k++) want += term(1.0, k / 3, k % 3);
    CHECK(get(a, 5) == want);
    CHECK(get(b, 5) == want);
    CHECK(get(a, 6 + 3 * rounds) == 0.0);
    CHECK(get(a, 5 + 3 * rounds) == 0.5);
    rt_release(&rt, a);
    rt_release(&rt, b);
  }
}

int main(void) {
  heap_init(&heap);
  rt_init(&rt, &heap);
  test_value();
  for (int a = 1; a < 40; a = 3 * a)
    for (int b = 1; b < 40; b = 3 * b) test_pair(a, b);
  rt_destroy(&rt);
  CHECK(heap.bytes == 0);
  return check_result();
}
