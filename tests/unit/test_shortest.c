/* SPDX-License-Identifier: MIT */
/* The shortest decimals of floats against the C library: the digits are the fewest that strtod reads back, of those the
 * nearest, found by trying one precision after the other.
 *
 * usage: test_shortest [N]
 * N random floats (default 100,000), besides powers of two, small subnormals and short decimals. */
#include "check.h"
#include "support/shortest.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "d.ddde±xx" with its last digit raised by one unit: just above a power of two the floats below are closer than those
 * above, so 16 digits rounded to nearest may not read back and the next ones do. */
static void raise_last(char *text) {
  char *p = strchr(text, 'e') - 1;
  for (; *p == '9' || *p == '.'; p--)
    if (*p == '9') *p = '0';
  ++*p;
}

static void slow_decimal(double x, char text[40]) {
  for (int precision = x < DBL_MIN ? 0 : DBL_DIG - 1; precision < 17; precision++) {
    snprintf(text, 40, "%.*e", precision, x);
    if (precision == 16 || strtod(text, NULL) == x) return;
    if (precision < 15) continue;
    raise_last(text);
    if (strtod(text, NULL) == x) return;
  }
}

static void check_one(double x) {
  if (!(x > 0) || isinf(x)) return;
  char slow[40], fast[40], digits[24];
  int e, n = decimal_digits(shortest_decimal(x, &e), digits);
  slow_decimal(x, slow);
  char *end = strchr(slow, 'e');
  int exponent = atoi(end + 1);
  while (end[-1] == '0') end--;
  if (end[-1] == '.') end--;
  snprintf(end, 8, "e%d", exponent);
  snprintf(fast, sizeof fast, n > 1 ? "%.1s.%.*se%d" : "%.1s%.*se%d", digits, n - 1, digits + 1, e + n - 1);
  if (strcmp(slow, fast) != 0) fprintf(stderr, "%a: %s, not %s\n", x, fast, slow);
  CHECK(!strcmp(slow, fast));
}

static void check_around(double x) {
  check_one(x);
  check_one(nextafter(x, 0));
  check_one(nextafter(x, INFINITY));
}

int main(int argc, char **argv) {
  long random = argc > 1 ? atol(argv[1]) : 100000;
  for (int e = -1074; e < 1024; e++) check_around(ldexp(1, e));
  for (int k = 1; k < 3000; k++) check_around(k * 0x1p-1074), check_one(k), check_one(k * 1e15), check_one(k / 1000.0);
  for (int e = -323; e < 309; e++)
    for (int d = 1; d < 100; d += 3) {
      char text[16];
      snprintf(text, sizeof text, "%de%d", d, e);
      check_around(strtod(text, NULL));
    }
  uint64_t bits = 88172645463325252U; /* xorshift */
  for (long k = 0; k < random; k++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    uint64_t subnormal = bits & 0xfffffffffffff, any = bits & 0x7fffffffffffffff;
    double x;
    memcpy(&x, k % 4 ? &any : &subnormal, sizeof x);
    check_one(x);
  }
  return check_result();
}
