/* SPDX-License-Identifier: MIT */
/* The shortest decimal that reads back as a float, by the algorithm of R. Giulietti, "The Schubfach way to render
 * doubles" (2021, https://drive.google.com/file/d/1IEeATSVnEE6TkrHlCYNY2GjaraBjOT4f).
 *
 * What rounds to x = c * 2^q are the numbers between its left and right boundary, each half way to its neighbour; the
 * boundaries themselves do if c is even. k is the largest integer for which 10^k isn't above the distance of the
 * boundaries. So a multiple of 10^k lies between them, and at most one of 10^(k + 1): that one is the shortest, and
 * else the nearest of the two multiples of 10^k beside x. All is compared in quarters of 10^k: x and its boundaries,
 * divided by that, need a product with a power of ten each, of which 128 bits are in a table. These products are
 * rounded to odd, to the next odd integer unless they are whole, which no comparison with an even number notices. */
#include "support/shortest.h"
#include <stdbool.h>
#include <string.h>

__extension__ typedef unsigned __int128 Wide;

typedef struct Power {
  uint64_t high, low;
} Power;

enum { LEAST_POWER = -292, MANTISSA_BITS = 52, LEAST_EXPONENT = -1074 };

static const Power powers[] = {
#define POWER(k, high, low) [(k)-LEAST_POWER] = {high, low},
#include "support/powers_of_ten.def"
#undef POWER
};

/* floor(log10(2^e)), floor(log10(3/4 * 2^e)), floor(log2(10^e)); make_powers_of_ten.py checks them. */
static int log10_of_two(int e) { return (e * 1262611) >> 22; }
static int log10_of_three_quarters(int e) { return (e * 1262611 - 524031) >> 22; }
static int log2_of_ten(int e) { return (e * 1741647) >> 19; }

/* n * power / 2^128, rounded to odd. The power may be above the true one by one unit, hence the `> 1`. */
static uint64_t scaled(Power power, uint64_t n) {
  Wide low = (Wide)power.low * n, high = (Wide)power.high * n;
  high += (uint64_t)(low >> 64);
  return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* x = c * 2^q. A power of two has a nearer neighbour below (`uneven`). */
static uint64_t shortest_multiple(uint64_t c, int q, bool uneven, int *exponent) {
  int k = uneven ? log10_of_three_quarters(q) : log10_of_two(q);
  int shift = q + log2_of_ten(-k) + 1;
  Power power = powers[-k - LEAST_POWER];
  uint64_t open = c & 1;
  uint64_t left = scaled(power, (4 * c - 2 + uneven) << shift) + open;
  uint64_t middle = scaled(power, 4 * c << shift), right = scaled(power, (4 * c + 2) << shift) - open;
  uint64_t below = middle / 4, ten_below = below / 10;
  bool ten_left = left <= 40 * ten_below, ten_right = 40 * ten_below + 40 <= right;
  *exponent = k + 1;
  if (below >= 10 && ten_left != ten_right) return ten_below + ten_right;
  *exponent = k;
  bool is_left = left <= 4 * below, is_right = 4 * below + 4 <= right;
  if (is_left != is_right) return below + is_right;
  uint64_t half = 4 * below + 2;
  return below + (middle > half || (middle == half && below % 2 == 1));
}

uint64_t shortest_decimal(double x, int *exponent) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint64_t fraction = bits & (((uint64_t)1 << MANTISSA_BITS) - 1);
  int e = (int)(bits >> MANTISSA_BITS);
  uint64_t c = e ? fraction | (uint64_t)1 << MANTISSA_BITS : fraction;
  int q = e ? e - 1 + LEAST_EXPONENT : LEAST_EXPONENT;
  uint64_t n = shortest_multiple(c, q, fraction == 0 && e > 1, exponent);
  for (; n % 10 == 0; n /= 10) ++*exponent;
  return n;
}

int decimal_digits(uint64_t n, char *out) {
  char digits[20];
  int at = sizeof digits;
  for (; n >= 100; n /= 100) {
    int two = (int)(n % 100);
    digits[--at] = (char)('0' + two % 10);
    digits[--at] = (char)('0' + two / 10);
  }
  if (n >= 10) digits[--at] = (char)('0' + n % 10), n /= 10;
  digits[--at] = (char)('0' + n);
  int count = (int)sizeof digits - at;
  memcpy(out, digits + at, (size_t)count);
  return count;
}
