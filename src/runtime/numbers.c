/* SPDX-License-Identifier: MIT */
/* Numbers: shortest text of a float, the format mini-language of interpolation (Python's), parsing, and the scalar
 * functions that C lacks. Evaluator and machine code call the same functions, so they agree to the last bit. */
#include "runtime/runtime_internal.h"
#include "support/shortest.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shortest text ----------------------------------------------------------------------------------------------- */
static char *put_zeros(char *p, int n) {
  memset(p, '0', (size_t)n);
  return p + n;
}

static char *put_digits(char *p, const char *digits, int n) {
  memcpy(p, digits, (size_t)n);
  return p + n;
}

/* d.ddde±xx: at least two digits behind the e. */
static char *put_scientific(char *p, const char *digits, int n, int e) {
  *p++ = digits[0];
  if (n > 1) *p++ = '.';
  p = put_digits(p, digits + 1, n - 1);
  *p++ = 'e';
  *p++ = e < 0 ? '-' : '+';
  int magnitude = e < 0 ? -e : e;
  if (magnitude < 10) *p++ = '0';
  return p + decimal_digits((uint64_t)magnitude, p);
}

/* The first digit counts 10^e. */
static char *put_plain(char *p, const char *digits, int n, int e) {
  if (e < 0) {
    p = put_digits(p, "0.", 2);
    return put_digits(put_zeros(p, -e - 1), digits, n);
  }
  int whole = n < e + 1 ? n : e + 1;
  p = put_zeros(put_digits(p, digits, whole), e + 1 - whole);
  *p++ = '.';
  if (whole == n) *p++ = '0';
  return put_digits(p, digits + whole, n - whole);
}

int rt_format_double(double x, char out[40]) {
  char *p = out;
  if (signbit(x) && !isnan(x)) *p++ = '-';
  x = fabs(x);
  if (isnan(x) || isinf(x)) p = put_digits(p, isnan(x) ? "nan" : "inf", 3);
  else if (x == 0) p = put_digits(p, "0.0", 3);
  else {
    char digits[20];
    int e, n = decimal_digits(shortest_decimal(x, &e), digits);
    e += n - 1;
    p = e < -4 || e >= 16 ? put_scientific(p, digits, n, e) : put_plain(p, digits, n, e);
  }
  *p = 0;
  return (int)(p - out);
}

/* ---- Formats ----------------------------------------------------------------------------------------------------- */
static bool parse_format(const StringObj *s, FormatOf of, Format *out) {
  return format_parse(s->bytes, (size_t)s->len, of, out);
}

static Status bad_format(Rt *rt, const Slot *format, const char *what, uint32_t site) {
  return rt_error(rt, ERR_FORMAT, site, "\"%s\" is not a format for %s", slot_string(format)->bytes, what);
}

static void repeat(Buf *out, const Format *f, int n) {
  for (; n > 0; n--) buf_add(out, f->fill, (size_t)f->fill_bytes);
}

/* `n` digits behind so many zeros, with a separator between groups of three. */
static void add_grouped(Buf *out, const char *digits, int n, int zeros, char separator) {
  for (int k = 0, left = n + zeros; left > 0; k++, left--) {
    buf_add(out, k < zeros ? "0" : digits + k - zeros, 1);
    if (left % 3 == 1 && left > 1) buf_add(out, &separator, 1);
  }
}

static int grouped_columns(int digits) { return digits + (digits > 0 ? (digits - 1) / 3 : 0); }

/* sign and body, padded to the width; `columns` is the body's length in characters. Zeros between sign and digits are
 * digits: they are grouped too, and none of them is a separator at the very front. */
static void pad(Buf *out, const Format *f, const char *sign, const char *body, size_t bytes, int columns, char align) {
  if (f->align) align = f->align;
  int digits = f->comma ? (int)strspn(body, "0123456789") : 0, zeros = 0;
  int others = (int)strlen(sign) + columns - digits;
  if (digits && align == '=' && f->fill[0] == '0')
    while (grouped_columns(digits + zeros) + others < f->width) zeros++;
  int room = f->width - others - grouped_columns(digits + zeros);
  if (room < 0) room = 0;
  int left = align == '>' ? room : align == '^' ? room / 2 : 0;
  repeat(out, f, left);
  buf_puts(out, sign);
  if (align == '=') repeat(out, f, room);
  add_grouped(out, body, digits, zeros, f->comma);
  buf_add(out, body + digits, bytes - (size_t)digits);
  if (align == '<' || align == '^') repeat(out, f, room - left);
}

static const char *sign_text(const Format *f, bool negative) {
  return negative ? "-" : f->sign == '+' ? "+" : f->sign == ' ' ? " " : "";
}

/* As %g, but with a point: what Python does for a precision without a type. */
static int general_with_point(char *text, size_t size, int precision, double x) {
  int n = snprintf(text, size, "%.*g", precision ? precision : 1, x);
  if (strpbrk(text, ".en")) return n;
  int digits = n;
  if (digits >= (precision ? precision : 1)) {
    n = snprintf(text, size, "%.*e", precision > 0 ? precision - 1 : 0, x);
    return n;
  }
  memcpy(text + n, ".0", 3);
  return n + 2;
}

void rt_format_float(Buf *out, const Format *f, double x) {
  char text[2000];
  double magnitude = fabs(x);
  int n, precision = f->precision < 0 ? 6 : f->precision;
  const char *hash = f->alternate ? "#" : "";
  char spec[8];
  if (isnan(x) || isinf(x))
    n = snprintf(text, sizeof text, "%s%s", isnan(x) ? "nan" : "inf", f->type == '%' ? "%" : "");
  else if (!f->type && f->precision < 0) n = rt_format_double(magnitude, text);
  else if (!f->type) n = general_with_point(text, sizeof text, f->precision, magnitude);
  else if (f->type == '%') n = snprintf(text, sizeof text, "%.*f%%", precision, 100 * magnitude);
  else {
    snprintf(spec, sizeof spec, "%%%s.*%c", hash, f->type);
    n = snprintf(text, sizeof text, spec, precision, magnitude);
  }
  pad(out, f, sign_text(f, signbit(x) && !isnan(x)), text, (size_t)n, n, '>');
}

void rt_format_int(Buf *out, const Format *f, int64_t x) {
  if (f->type && strchr("eEfFgG%", f->type)) {
    rt_format_float(out, f, (double)x);
    return;
  }
  bool negative = x < 0;
  uint64_t u = negative ? 0 - (uint64_t)x : (uint64_t)x;
  char text[120], sign[8];
  int n = 0;
  if (f->type == 'b') {
    int bits = u ? 64 - __builtin_clzll(u) : 1;
    while (n < bits) text[n] = (char)('0' + (u >> (bits - 1 - n) & 1)), n++;
    text[n] = 0;
  } else {
    const char *spec = f->type == 'x' ? "%llx" : f->type == 'X' ? "%llX" : f->type == 'o' ? "%llo" : "%llu";
    n = snprintf(text, sizeof text, spec, (unsigned long long)u);
  }
  bool prefix = f->alternate && f->type && f->type != 'd';
  snprintf(sign, sizeof sign, "%s%s%c", sign_text(f, negative), prefix ? "0" : "", prefix ? f->type : 0);
  pad(out, f, sign, text, (size_t)n, n, '>');
}

PRIM(prim_format_float) {
  PRIM_UNUSED;
  Format f;
  if (!parse_format(slot_string(&args[0]), FORMAT_FLOAT, &f)) return bad_format(rt, &args[0], "a float", site);
  Buf b = {.rt = rt};
  rt_format_float(&b, &f, args[1].f);
  return buf_string(&b, &res->p);
}

PRIM(prim_format_int) {
  PRIM_UNUSED;
  Format f;
  if (!parse_format(slot_string(&args[0]), FORMAT_INT, &f)) return bad_format(rt, &args[0], "an int", site);
  Buf b = {.rt = rt};
  rt_format_int(&b, &f, args[1].i);
  return buf_string(&b, &res->p);
}

/* Behind the value: the format, and whether it is for the floats in it, else for the ints. */
PRIM(prim_format_each) {
  PRIM_UNUSED;
  Format f;
  const Slot *format = &args[type->nslots];
  bool floats = args[type->nslots + 1].i != 0;
  if (!parse_format(slot_string(format), floats ? FORMAT_FLOAT : FORMAT_INT, &f))
    return bad_format(rt, format, floats ? "a float" : "an int", site);
  Buf b = {.rt = rt};
  rt_show_formatted(rt, type, args, floats ? D_FLOAT : D_INT, &f, &b);
  return buf_string(&b, &res->p);
}

PRIM(prim_format_string) {
  PRIM_UNUSED;
  Format f;
  const StringObj *s = slot_string(&args[1]);
  if (!parse_format(slot_string(&args[0]), FORMAT_TEXT, &f)) return bad_format(rt, &args[0], "a string", site);
  int columns = 0;
  size_t bytes = 0, len = (size_t)s->len;
  while (bytes < len && (f.precision < 0 || columns < f.precision)) {
    int n = utf8_sequence(s->bytes + bytes, len - bytes, NULL);
    bytes += n ? (size_t)n : 1;
    columns++;
  }
  Buf b = {.rt = rt};
  pad(&b, &f, "", s->bytes, bytes, columns, '<');
  return buf_string(&b, &res->p);
}

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */
static void trim(const char **s, size_t *n) {
  while (*n && isspace((unsigned char)**s)) ++*s, --*n;
  while (*n && isspace((unsigned char)(*s)[*n - 1])) --*n;
}

bool rt_parse_float(const char *s, size_t n, double *out) {
  char few[64], *end;
  trim(&s, &n);
  if (n == 0 || n >= LIMIT_NUMBER_TEXT) return false;
  char *copy = few, many[LIMIT_NUMBER_TEXT];
  if (n >= sizeof few) copy = many;
  memcpy(copy, s, n);
  copy[n] = 0;
  /* Words strtod knows and source doesn't; hexadecimal floats among them. */
  const char *digits = copy + (*copy == '-' || *copy == '+');
  if (strpbrk(copy, "xXpP(") || (isalpha((unsigned char)*digits) && strcmp(digits, "inf") && strcmp(digits, "nan")))
    return false;
  *out = strtod(copy, &end);
  return end == copy + n;
}

PRIM(prim_float_of_string) {
  PRIM_UNUSED;
  double x = NAN;
  const StringObj *s = slot_string(&args[0]);
  res[0].i = rt_parse_float(s->bytes, (size_t)s->len, &x);
  res[1].f = res[0].i ? x : NAN;
  return 0;
}

static bool parse_whole(const char *s, size_t n, int64_t *out) {
  trim(&s, &n);
  bool negative = n && *s == '-';
  if (n && (*s == '-' || *s == '+')) s++, n--;
  uint64_t u = 0, base = 10;
  if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) base = 16, s += 2, n -= 2;
  if (n == 0) return false;
  for (size_t i = 0; i < n; i++) {
    int c = tolower((unsigned char)s[i]), digit = isdigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
    if ((uint64_t)digit >= base) return false;
    if (__builtin_mul_overflow(u, base, &u) || __builtin_add_overflow(u, (uint64_t)digit, &u)) return false;
  }
  if (u > (uint64_t)INT64_MAX + negative) return false;
  *out = (int64_t)(negative ? 0 - u : u);
  return true;
}

PRIM(prim_int_of_string) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  res[1].i = 0;
  res[0].i = parse_whole(s->bytes, (size_t)s->len, &res[1].i);
  return 0;
}

/* ---- Scalar functions -------------------------------------------------------------------------------------------- */
int64_t rt_ipow(int64_t x, int64_t n) {
  uint64_t base = (uint64_t)x, result = 1;
  for (uint64_t e = n < 0 ? 0 : (uint64_t)n; e; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return (int64_t)result;
}

void rt_mend(int32_t name, const double *x, const double *y, double *r, int32_t n) {
  functions_mend((FunctionName)name, x, y, r, n);
}

/* pow is exact to within an ulp, which repeated squaring is not; but its exponent is a double, which above 2^53
 * can't say whether n is odd. */
double rt_powi(const Functions *f, double x, int64_t n) {
  switch (n) {
  case -1: return 1 / x;
  case 0: return 1;
  case 1: return x;
  case 2: return x * x;
  case 3: return x * x * x;
  default: break;
  }
  double magnitude = functions_FPOW(f, fabs(x), (double)n);
  return n % 2 && signbit(x) ? -magnitude : magnitude;
}

int64_t rt_int_of_float(double x) {
  if (x != x) return 0;
  if (x >= 0x1p63) return INT64_MAX;
  if (x < -0x1p63) return INT64_MIN;
  return (int64_t)x;
}

double rt_fmin(double a, double b) { return a != a ? a : b != b ? b : b < a ? b : a; }
double rt_fmax(double a, double b) { return a != a ? a : b != b ? b : b > a ? b : a; }
double rt_sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double rt_round(double x) { return round(x); }

static const long double pi = 3.14159265358979323846264338327950288L;

/* Bernoulli numbers B2, B4, … of the asymptotic series: Abramowitz and Stegun 6.3.18 and 6.4.12. */
static const long double bernoulli[] = {1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,    5.0L / 66,
                                        -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798};
enum { TERMS = sizeof bernoulli / sizeof *bernoulli, ASYMPTOTIC = 16 };

static long double digamma_positive(long double x) {
  long double sum = 0;
  for (; x < ASYMPTOTIC; x++) sum -= 1 / x;
  long double inverse = 1 / (x * x), power = inverse, series = 0;
  for (int k = 0; k < TERMS; k++, power *= inverse) series += bernoulli[k] * power / (2 * (k + 1));
  return sum + logl(x) - 1 / (2 * x) - series;
}

/* How far x is from the nearest whole number: exact, so that the reflection formulas are right next to a pole. */
static long double from_whole(double x) { return (long double)(x - round(x)); }

/* Taylor's series at its positive root, psi^(k)(root) / k! from k = 1: the sum above loses all digits there. The root
 * is the sum of two numbers, so the distance to it is exact enough. */
static const long double digamma_at_root[] = {
    0.9676722454476211704274L,    -0.4427631689835921060929L,   0.2584997609556510106244L,
    -0.1639427054424065275043L,   0.1078240506912623657572L,    -0.07219956125645471092612L,
    0.04880428816414310722509L,   -0.03316112647484735929226L,  0.02259764823221810465962L,
    -0.0154247659049489591388L,   0.01053879161661217538812L,   -0.00720453438635686824097L,
    0.004926781395729853446354L,  -0.003369801655439328082793L, 0.002305126326734927836938L,
    -0.001576936771430197259271L, 0.001078825201916296580692L,  -0.000738070938996005129566L,
    0.0005049532658346020351774L};
enum { ROOT_TERMS = sizeof digamma_at_root / sizeof *digamma_at_root };

static bool is_near_digamma_root(double x) { return fabs(x - 1.4616321449683622) < 0.125; }

static long double digamma_near_root(double x) {
  long double t = (long double)(x - 0x1.762d86356be3fp+0) - 9.549995429965697715184e-17L, sum = 0;
  for (int k = ROOT_TERMS - 1; k >= 0; k--) sum = (sum + digamma_at_root[k]) * t;
  return sum;
}

double rt_digamma(double x) {
  if (isnan(x) || x == INFINITY) return x;
  if (x == 0) return signbit(x) ? INFINITY : -INFINITY;
  if (is_near_digamma_root(x)) return (double)digamma_near_root(x);
  if (x > 0) return (double)digamma_positive(x);
  if (x == floor(x)) return NAN; /* a pole with different limits on its sides */
  return (double)(digamma_positive(1 - (long double)x) - pi / tanl(pi * from_whole(x)));
}

static long double trigamma_positive(long double x) {
  long double sum = 0;
  for (; x < ASYMPTOTIC; x++) sum += 1 / (x * x);
  long double inverse = 1 / (x * x), power = inverse / x, series = 0;
  for (int k = 0; k < TERMS; k++, power *= inverse) series += bernoulli[k] * power;
  return sum + 1 / x + inverse / 2 + series;
}

double rt_trigamma(double x) {
  if (isnan(x)) return x;
  if (x == INFINITY) return 0;
  if (x > 0) return (double)trigamma_positive(x);
  if (x == floor(x)) return INFINITY;
  long double s = sinl(pi * from_whole(x)) / pi;
  return (double)(1 / (s * s) - trigamma_positive(1 - (long double)x));
}
