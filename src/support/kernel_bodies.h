/* SPDX-License-Identifier: MIT */
/* exp, log, tanh and erf, for numbers and for vectors of them: one text, so the digits are the same.
 *
 * Who includes this says what a number is and how it is computed with:
 *
 *   KERNEL                       what each function begins with: static, and attributes
 *   NUMBER                       double, or the value of a vector in machine code
 *   CONTEXT, PASS                a parameter of all functions with its comma, and how it is passed on; may be empty
 *   CONSTANT (v), BITS (b)       the number v; the number whose bits are b
 *   ADD SUB MUL DIV (a, b)       rounded once
 *   MUL_ADD (a, b, c)            a b + c, rounded once where processors have an operation for it, else twice
 *   RESIDUAL (a, q, d)           a - q d where q is about a / d, so that little is left
 *   LESS EQUAL (a, b)            a condition; CHOOSE (condition, yes, no)
 *   NEGATIVE (a)                 - a
 *   LOWER (a, b)                 a < b ? a : b;   HIGHER (a, b): a > b ? a : b
 *   SIGN_OF (a), WITH_SIGN (a, sign), MAGNITUDE (a)   the bit of the sign, a with that set, a without
 *   LONG_ADD LONG_SUB (a, b), UP_52, DOWN_52 (a), LONG_OR (a, b)   bits as integers: sums, shifts
 *   LEADING (a)                  a without all but the 26 leading bits of its significand
 *   SCALE (a, n)                 a 2^n, rounded once: 0.5 < a < 2, n is a whole number between -1100 and 1100
 *
 * So each function has two versions: for processors with fused multiplication and addition, and for others. Neither
 * needs MUL_ADD to round once.
 *
 * Coefficients are interpolated at Chebyshev points with 110 digits (bench/functions/coefficients.py). Errors, in units
 * in the last place, are measured by `./dev bench functions`. */

/* 1.5 2^52: added to a number and subtracted it leaves the nearest whole number. */
#define TO_WHOLE 0x1.8p52

/* (exp r - 1 - r) / r^2 for |r| <= log 2 / 2, error 2^-62 of exp r. */
KERNEL NUMBER kernel_exp_tail(CONTEXT NUMBER r, NUMBER r2) {
  NUMBER r4 = MUL(r2, r2), r8 = MUL(r4, r4);
  NUMBER p01 = MUL_ADD(CONSTANT(0x1.5555555555557p-3), r, CONSTANT(0.5));
  NUMBER p23 = MUL_ADD(CONSTANT(0x1.11111111100dcp-7), r, CONSTANT(0x1.5555555555556p-5));
  NUMBER p45 = MUL_ADD(CONSTANT(0x1.a01a01abe7fe1p-13), r, CONSTANT(0x1.6c16c16c162d4p-10));
  NUMBER p67 = MUL_ADD(CONSTANT(0x1.71de0231960ebp-19), r, CONSTANT(0x1.a01a01a6d889cp-16));
  NUMBER p89 = MUL_ADD(CONSTANT(0x1.af4de97ca4194p-26), r, CONSTANT(0x1.27e4db646b17ep-22));
  NUMBER low = MUL_ADD(p23, r2, p01), middle = MUL_ADD(p67, r2, p45);
  NUMBER high = MUL_ADD(CONSTANT(0x1.1f730349868cep-29), r2, p89);
  return MUL_ADD(high, r8, MUL_ADD(middle, r4, low));
}

/* x = n log 2 + r; log 2 in two parts, the first of which times n is exact. */
KERNEL NUMBER kernel_reduce(CONTEXT NUMBER x, NUMBER n) {
  NUMBER r = MUL_ADD(n, CONSTANT(-0x1.62e42fee00000p-1), x);
  return MUL_ADD(n, CONSTANT(-0x1.a39ef35793c76p-33), r);
}

/* exp x = 2^n (1 + r + r^2 tail (r)); what rounding 1 + r loses is added to the rest. */
KERNEL NUMBER kernel_exp(CONTEXT NUMBER x) {
  NUMBER inside = HIGHER(CONSTANT(-746), LOWER(CONSTANT(710), x)); /* NaN stays */
  NUMBER whole = MUL_ADD(inside, CONSTANT(0x1.71547652b82fep0), CONSTANT(TO_WHOLE));
  NUMBER n = SUB(whole, CONSTANT(TO_WHOLE));
  NUMBER r = kernel_reduce(PASS inside, n);
  NUMBER r2 = MUL(r, r);
  NUMBER first = ADD(CONSTANT(1), r);
  NUMBER lost = SUB(r, SUB(first, CONSTANT(1)));
  NUMBER tail = kernel_exp_tail(PASS r, r2);
  NUMBER significand = ADD(first, MUL_ADD(tail, r2, lost));
  return SCALE(significand, n);
}

/* (log ((1 + s) / (1 - s)) - 2 s) / s for z = s^2 <= (3 - 2 sqrt 2)^2, error 2^-58 of the logarithm. */
KERNEL NUMBER kernel_log_tail(CONTEXT NUMBER z) {
  NUMBER z2 = MUL(z, z), z4 = MUL(z2, z2);
  NUMBER p01 = MUL_ADD(CONSTANT(0.39999999999899505), z, CONSTANT(0.666666666666667));
  NUMBER p23 = MUL_ADD(CONSTANT(0.2222221113479508), z, CONSTANT(0.28571428625975487));
  NUMBER p45 = MUL_ADD(CONSTANT(0.15331721600556042), z, CONSTANT(0.18182889125261723));
  NUMBER low = MUL_ADD(p23, z2, p01), high = MUL_ADD(CONSTANT(0.14616449685043406), z2, p45);
  return MUL(z, MUL_ADD(high, z4, low));
}

/* x = 2^k m, sqrt 2 / 2 <= m < sqrt 2, f = m - 1, s = f / (2 + f):
 * log m = f - (f^2 / 2 - s (f^2 / 2 + tail (s^2))), as in fdlibm's log. */
KERNEL NUMBER kernel_log(CONTEXT NUMBER x) {
  NUMBER scaled = MUL(x, CONSTANT(0x1p54));
  CONDITION subnormal = LESS(x, CONSTANT(0x1p-1022));
  NUMBER normal = CHOOSE(subnormal, scaled, x);
  NUMBER exponent = DOWN_52(LONG_ADD(normal, BITS(0x4000000000000000 - 0x3fe6a09e667f3bcd))); /* k + 1024 */
  NUMBER bias = CHOOSE(subnormal, CONSTANT(0x1p52 + 1024 + 54), CONSTANT(0x1p52 + 1024));
  NUMBER k = SUB(LONG_OR(exponent, BITS(0x4330000000000000)), bias);
  NUMBER m = LONG_SUB(normal, LONG_SUB(UP_52(exponent), BITS(0x4000000000000000)));
  NUMBER f = SUB(m, CONSTANT(1));
  NUMBER s = DIV(f, ADD(CONSTANT(2), f));
  NUMBER half = MUL(MUL(CONSTANT(0.5), f), f);
  NUMBER tail = kernel_log_tail(PASS MUL(s, s));
  NUMBER low = MUL_ADD(s, ADD(half, tail), MUL(k, CONSTANT(0x1.a39ef35793c76p-33)));
  NUMBER rest = SUB(half, low);
  NUMBER result = MUL_ADD(k, CONSTANT(0x1.62e42fee00000p-1), SUB(f, rest));
  NUMBER edge = CHOOSE(LESS(x, CONSTANT(0)), CONSTANT(NAN), ADD(x, x)); /* infinity, NaN */
  NUMBER small = CHOOSE(EQUAL(x, CONSTANT(0)), CONSTANT(-INFINITY), edge);
  CONDITION finite = LESS(x, CONSTANT(INFINITY));
  return CHOOSE(LESS(CONSTANT(0), x), CHOOSE(finite, result, edge), small);
}

/* a - q d without fused operations: by parts of q and d, whose products are exact (Dekker 1971). */
KERNEL NUMBER kernel_residual(CONTEXT NUMBER a, NUMBER q, NUMBER d) {
  NUMBER q_high = LEADING(q), d_high = LEADING(d);
  NUMBER q_low = SUB(q, q_high), d_low = SUB(d, d_high);
  NUMBER most = SUB(a, MUL(q_high, d_high));
  NUMBER rest = SUB(SUB(most, MUL(q_high, d_low)), MUL(q_low, d_high));
  return SUB(rest, MUL(q_low, d_low));
}

/* tanh |x| = e / (e + 2), e = exp (2 |x|) - 1 = 2^n (exp r - 1) + 2^n - 1; from 20 on that is 1. What each step loses
 * is kept: e + lost, d + small, quotient + correction. */
KERNEL NUMBER kernel_tanh(CONTEXT NUMBER x) {
  NUMBER magnitude = LOWER(CONSTANT(20), MAGNITUDE(x)); /* NaN stays */
  NUMBER twice = ADD(magnitude, magnitude);
  NUMBER whole = MUL_ADD(twice, CONSTANT(0x1.71547652b82fep0), CONSTANT(TO_WHOLE));
  NUMBER n = SUB(whole, CONSTANT(TO_WHOLE));
  NUMBER high = MUL_ADD(n, CONSTANT(-0x1.62e42fee00000p-1), twice);
  NUMBER r = MUL_ADD(n, CONSTANT(-0x1.a39ef35793c76p-33), high);
  NUMBER r_lost = MUL_ADD(n, CONSTANT(-0x1.a39ef35793c76p-33), SUB(high, r));
  NUMBER r2 = MUL(r, r);
  NUMBER square = MUL(kernel_exp_tail(PASS r, r2), r2);
  NUMBER below = ADD(r, square);
  NUMBER below_lost = ADD(ADD(SUB(r, below), square), r_lost);
  NUMBER power = SCALE(CONSTANT(1), n);
  NUMBER base = SUB(power, CONSTANT(1));
  NUMBER part = MUL(power, below);
  NUMBER e = ADD(base, part);
  NUMBER lost = MUL_ADD(power, below_lost, ADD(SUB(base, e), part));
  NUMBER d = ADD(e, CONSTANT(2));
  NUMBER small = SUB(e, SUB(d, CONSTANT(2)));
  NUMBER inverse = DIV(CONSTANT(1), d);
  NUMBER quotient = MUL(e, inverse);
  NUMBER left = RESIDUAL(e, quotient, d);
  NUMBER correction = ADD(MUL_ADD(NEGATIVE(quotient), ADD(small, lost), left), lost);
  return WITH_SIGN(MUL_ADD(correction, inverse, quotient), SIGN_OF(x));
}
/* erf x / x - 1 for z = x^2 <= 1, error 2^-56 of erf x. */
KERNEL NUMBER kernel_erf_near(CONTEXT NUMBER z) {
  NUMBER z2 = MUL(z, z), z4 = MUL(z2, z2), z8 = MUL(z4, z4);
  NUMBER p01 = MUL_ADD(CONSTANT(-0.3761263890318375), z, CONSTANT(0.1283791670955126));
  NUMBER p23 = MUL_ADD(CONSTANT(-0.026866170645076792), z, CONSTANT(0.11283791670954879));
  NUMBER p45 = MUL_ADD(CONSTANT(-0.000854832698083379), z, CONSTANT(0.0052239776248180145));
  NUMBER p67 = MUL_ADD(CONSTANT(-1.4925595266831182e-05), z, CONSTANT(0.0001205533111164271));
  NUMBER p89 = MUL_ADD(CONSTANT(-1.6350312701054695e-07), z, CONSTANT(1.6461000484121368e-06));
  NUMBER pab = MUL_ADD(CONSTANT(-1.1372848856791674e-09), z, CONSTANT(1.4659775274047436e-08));
  NUMBER pc = CONSTANT(5.957176147748911e-11);
  NUMBER low = MUL_ADD(MUL_ADD(p67, z2, p45), z4, MUL_ADD(p23, z2, p01));
  NUMBER high = MUL_ADD(pc, z4, MUL_ADD(pab, z2, p89));
  return MUL_ADD(high, z8, low);
}

/* exp (x^2) (1 - erf x) for t = (x - 2.5) / (x + 2.5), 1 <= x <= 6, error 2^-55 of erf x. */
KERNEL NUMBER kernel_erf_tail(CONTEXT NUMBER t) {
  NUMBER t2 = MUL(t, t), t4 = MUL(t2, t2), t8 = MUL(t4, t4);
  NUMBER p01 = MUL_ADD(CONSTANT(-0.3717367339489732), t, CONSTANT(0.21080636406114356));
  NUMBER p23 = MUL_ADD(CONSTANT(-0.12503305237885554), t, CONSTANT(0.251713193217456));
  NUMBER p45 = MUL_ADD(CONSTANT(-0.0039937011641469865), t, CONSTANT(0.0399225390747838));
  NUMBER p67 = MUL_ADD(CONSTANT(0.0008759154019168855), t, CONSTANT(-0.002642365927759658));
  NUMBER p89 = MUL_ADD(CONSTANT(-0.00012887649615317198), t, CONSTANT(0.00022837955896605415));
  NUMBER pab = MUL_ADD(CONSTANT(1.8609712314617464e-05), t, CONSTANT(-3.4172229273553035e-05));
  NUMBER pcd = MUL_ADD(CONSTANT(-2.2842173094341345e-06), t, CONSTANT(7.48480117852628e-06));
  NUMBER pef = MUL_ADD(CONSTANT(8.134380709229634e-08), t, CONSTANT(-1.5625258507743158e-06));
  NUMBER low = MUL_ADD(MUL_ADD(p67, t2, p45), t4, MUL_ADD(p23, t2, p01));
  NUMBER high = MUL_ADD(MUL_ADD(pef, t2, pcd), t4, MUL_ADD(pab, t2, p89));
  return MUL_ADD(high, t8, low);
}

/* erf |x| = |x| + |x| (erf x / x - 1), or from 1 on 1 - exp (- x^2) tail; from 6 on that is 1. */
KERNEL NUMBER kernel_erf(CONTEXT NUMBER x) {
  NUMBER magnitude = LOWER(CONSTANT(6), MAGNITUDE(x)); /* NaN stays */
  NUMBER square = MUL(magnitude, magnitude);
  NUMBER near = MUL_ADD(magnitude, kernel_erf_near(PASS square), magnitude);
  NUMBER t = DIV(SUB(magnitude, CONSTANT(2.5)), ADD(magnitude, CONSTANT(2.5)));
  NUMBER power = kernel_exp(PASS NEGATIVE(square));
  NUMBER far = MUL_ADD(NEGATIVE(power), kernel_erf_tail(PASS t), CONSTANT(1));
  return WITH_SIGN(CHOOSE(LESS(magnitude, CONSTANT(1)), near, far), SIGN_OF(x));
}
#undef TO_WHOLE
