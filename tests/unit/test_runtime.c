/* SPDX-License-Identifier: MIT */
/* Tests of src/runtime: every primitive, text of values and numbers, comparison, arrays, bags against a naive model,
 * release of long lists, and failure of every allocation. After each group no object is left. */
#include "check.h"
#include "runtime/runtime_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint8_t kind_int[] = {SLOT_INT}, kind_float[] = {SLOT_FLOAT}, kind_ptr[] = {SLOT_PTR};
static const Desc d_int = {.kind = D_INT, .nslots = 1, .slots = kind_int, .name = "int"};
static const Desc d_float = {.kind = D_FLOAT, .nslots = 1, .slots = kind_float, .name = "float"};
static const Desc d_bool = {.kind = D_BOOL, .nslots = 1, .slots = kind_int, .name = "bool"};
static const Desc d_unit = {.kind = D_UNIT, .name = "unit"};
static const Desc d_string = {.kind = D_STRING, .nslots = 1, .slots = kind_ptr, .name = "string"};

/* 'a list of ints: Nil | int :: list */
static uint8_t cons_kinds[] = {SLOT_INT, SLOT_PTR};
static Desc d_list;
static const Desc *cons_args[] = {&d_int, &d_list};
static Desc d_cons = {.kind = D_TUPLE, .nslots = 2, .slots = cons_kinds, .n = 2, .args = cons_args};
static const Desc *list_args[] = {&d_unit, &d_cons};
static const char *list_names[] = {"Nil", "::"};
static Desc d_list = {.kind = D_VARIANT,
                      .nslots = 1,
                      .slots = kind_ptr,
                      .n = 2,
                      .args = list_args,
                      .names = list_names,
                      .cons = 2,
                      .name = "list"};

/* its cotangent, were the heads floats: null | cell of (float, cotangent); and one more constructor, of two parts */
static uint8_t acc_kinds[] = {SLOT_FLOAT, SLOT_PTR}, fork_kinds[] = {SLOT_PTR, SLOT_FLOAT, SLOT_PTR};
static Desc d_cot;
static const Desc *cot_cell_args[] = {&d_float, &d_cot}, *cot_cell_descs[] = {NULL, &d_cot};
static Desc d_cot_cell = {.kind = D_TUPLE,
                          .nslots = 2,
                          .slots = acc_kinds,
                          .slot_descs = cot_cell_descs,
                          .link = 1,
                          .n = 2,
                          .args = cot_cell_args};
static const Desc *cot_fork_args[] = {&d_cot, &d_float, &d_cot}, *cot_fork_descs[] = {&d_cot, NULL, &d_cot};
static Desc d_cot_fork = {.kind = D_TUPLE,
                          .nslots = 3,
                          .slots = fork_kinds,
                          .slot_descs = cot_fork_descs,
                          .link = -1,
                          .n = 3,
                          .args = cot_fork_args};
static const Desc *cot_args[] = {&d_unit, &d_cot_cell, &d_cot_fork};
static const char *cot_names[] = {"Null", "Cell", "Fork"};
static const Desc *cot_descs[] = {&d_cot};
static Desc d_cot = {.kind = D_VARIANT,
                     .nslots = 1,
                     .slots = kind_ptr,
                     .slot_descs = cot_descs,
                     .n = 3,
                     .args = cot_args,
                     .names = cot_names,
                     .name = "cot"};

static const Desc *float_args[] = {&d_float};
static const Desc d_floats = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = float_args, .rank = 1};
static const Desc d_matrix = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = float_args, .rank = 2};
static const Desc *bag_args[] = {&d_float, &d_floats};
static const Desc d_bag;
static const Desc *d_bag_descs[] = {&d_bag};
static const Desc d_bag = {
    .kind = D_BAG, .nslots = 1, .slots = kind_ptr, .slot_descs = d_bag_descs, .n = 2, .args = bag_args, .rank = 1};
static const Desc *row_args[] = {&d_bag};
static const Desc d_rows = {
    .kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = row_args, .rank = 1, .pointers = true};
static const Desc *bags_args[] = {&d_bag, &d_rows};
static const Desc d_bags = {
    .kind = D_BAG, .nslots = 1, .slots = kind_ptr, .n = 2, .args = bags_args, .rank = 1, .pointers = true};

static Heap heap;
static Rt rt;
static char printed[4096];
static size_t printed_len;

static bool on_write(void *user, RtStream to, const char *text, size_t n) {
  (void)user, (void)to;
  if (printed_len + n < sizeof printed) memcpy(printed + printed_len, text, n);
  printed_len += n;
  printed[printed_len < sizeof printed ? printed_len : sizeof printed - 1] = 0;
  return true;
}

static Obj *str(const char *s) { return rt_new_string(&rt, s, strlen(s)); }

static Obj *cons(int64_t x, Obj *tail) {
  BoxObj *b = rt_new_box(&rt, &d_list, 1);
  if (!b) return NULL;
  b->fields[0].i = x;
  b->fields[1].p = tail;
  return &b->h;
}

static void clean(const char *where) {
  if (rt.live) fprintf(stderr, "%s: %lld objects left\n", where, (long long)rt.live);
  CHECK(rt.live == 0);
  rt_clear_error(&rt);
}

/* Calls a primitive; its object arguments are released. The first result as a C string, when it is one. */
static Slot result[8];
static Status prim(RtPrimId id, const Desc *type, int n, const Slot *args) {
  Status s = rt_prims[id](&rt, type, args, result, 7);
  (void)n;
  return s;
}
static const char *text_of(const Slot *s) { return ((StringObj *)s->p)->bytes; }

static Slot P(const char *s) { return (Slot){.p = str(s)}; }
static Slot I(int64_t i) { return (Slot){.i = i}; }
static Slot F(double f) { return (Slot){.f = f}; }

static char last[4096];
/* A primitive of up to three string or scalar arguments with a string result. */
static const char *run3(RtPrimId id, const Desc *type, const char *kinds, Slot a, Slot b, Slot c) {
  Slot args[3] = {a, b, c};
  Status s = prim(id, type, 3, args);
  if (s) snprintf(last, sizeof last, "error: %s", rt.error.message);
  else {
    snprintf(last, sizeof last, "%s", text_of(&result[0]));
    rt_release(&rt, result[0].p);
  }
  for (int k = 0; kinds[k]; k++)
    if (kinds[k] == 'p') rt_release(&rt, args[k].p);
  rt_clear_error(&rt);
  return last;
}
static int64_t int3(RtPrimId id, const char *kinds, Slot a, Slot b, Slot c) {
  Slot args[3] = {a, b, c};
  Status s = prim(id, NULL, 3, args);
  for (int k = 0; kinds[k]; k++)
    if (kinds[k] == 'p') rt_release(&rt, args[k].p);
  rt_clear_error(&rt);
  return s ? -999 : result[0].i;
}
/* string[] as "a|b|c" */
static const char *joined(Obj *o) {
  ArrayObj *a = (ArrayObj *)o;
  int at = 0;
  last[0] = 0;
  for (int64_t i = 0; i < a->dims[0]; i++)
    at += snprintf(last + at, sizeof last - (size_t)at, "%s%s", i ? "|" : "", text_of(&a->data[i]));
  rt_release(&rt, o);
  return last;
}
static const char *strings2(RtPrimId id, const char *a, const char *b) {
  Slot args[2] = {P(a), P(b)};
  Status s = prim(id, NULL, 2, args);
  rt_release(&rt, args[0].p);
  rt_release(&rt, args[1].p);
  if (s) snprintf(last, sizeof last, "error: %s", rt.error.message);
  rt_clear_error(&rt);
  return s ? last : joined(result[0].p);
}
static const char *shown(const Desc *d, Slot v) {
  return run3(RTP_SHOW, d, d->slots && d->slots[0] == SLOT_PTR ? "p" : "", v, I(0), I(0));
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
static void check_repr(double x, const char *want) {
  char text[40];
  int n = rt_format_double(x, text);
  CHECK(n == (int)strlen(text));
  CHECK_STR(text, want);
  if (x == x) CHECK(strtod(text, NULL) == x);
}

static void test_numbers(void) {
  check_repr(3, "3.0");
  check_repr(1e-5, "1e-05");
  check_repr(0.0001, "0.0001");
  check_repr(1e16, "1e+16");
  check_repr(123456789012345680.0, "1.2345678901234568e+17");
  check_repr(1e15, "1000000000000000.0");
  check_repr(0.1, "0.1");
  check_repr(5e-324, "5e-324");
  check_repr(1.7976931348623157e308, "1.7976931348623157e+308");
  check_repr(-0.0, "-0.0");
  check_repr(INFINITY, "inf");
  check_repr(-INFINITY, "-inf");
  check_repr(NAN, "nan");
  check_repr(0x1p-44, "5.684341886080802e-14");
  check_repr(9007199254740993.0, "9007199254740992.0");
  check_repr(100.5, "100.5");
  static const struct {
    const char *format;
    double x;
    const char *want;
  } floats[] = {{".4f", 3.14159, "3.1416"},
                {"8.2f", 3.14159, "    3.14"},
                {"<8.2f", 3.14159, "3.14    "},
                {"^9.2f", 3.14159, "  3.14   "},
                {"+.1f", 2, "+2.0"},
                {"e", 12345.678, "1.234568e+04"},
                {"g", 0.0001, "0.0001"},
                {"g", 1e10, "1e+10"},
                {"", 3, "3.0"},
                {"08.3f", -3.14159, "-003.142"},
                {",.2f", 1234567.891, "1,234,567.89"},
                {".1%", 0.256, "25.6%"},
                {"*>8", 1.5, "*****1.5"},
                {".3", 3.14159, "3.14"},
                {".2", 100, "1e+02"},
                {".3", 10, "10.0"},
                {"f", NAN, "nan"},
                {"6.1f", -INFINITY, "  -inf"},
                {"x", 1, "error: \"x\" is not a format for a float"},
                {".f", 1, "error: \".f\" is not a format for a float"}};
  for (size_t k = 0; k < sizeof floats / sizeof *floats; k++)
    CHECK_STR(run3(RTP_FORMAT_FLOAT, NULL, "p", P(floats[k].format), F(floats[k].x), I(0)), floats[k].want);
  static const struct {
    const char *format;
    int64_t x;
    const char *want;
  } ints[] = {{"d", 42, "42"},
              {">8", 42, "      42"},
              {"08", -42, "-0000042"},
              {"x", 255, "ff"},
              {"#X", 255, "0XFF"},
              {"b", 10, "1010"},
              {"o", 8, "10"},
              {",", 1234567, "1,234,567"},
              {"+", 5, "+5"},
              {"", INT64_MIN, "-9223372036854775808"},
              {".2f", 3, "3.00"},
              {"^7", 42, "  42   "},
              {"s", 1, "error: \"s\" is not a format for an int"}};
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++)
    CHECK_STR(run3(RTP_FORMAT_INT, NULL, "p", P(ints[k].format), I(ints[k].x), I(0)), ints[k].want);
  CHECK_STR(run3(RTP_FORMAT_STRING, NULL, "pp", P(">6"), P("σx"), I(0)), "    σx");
  CHECK_STR(run3(RTP_FORMAT_STRING, NULL, "pp", P(".2s"), P("σxy"), I(0)), "σx");
  CHECK_STR(run3(RTP_FORMAT_STRING, NULL, "pp", P("σ^5"), P("a"), I(0)), "σσaσσ");
  CHECK(int3(RTP_FLOAT_OF_STRING, "p", P(" 1e-3 "), I(0), I(0)) == 1 && result[1].f == 1e-3);
  CHECK(int3(RTP_FLOAT_OF_STRING, "p", P("1x"), I(0), I(0)) == 0 && isnan(result[1].f));
  CHECK(int3(RTP_FLOAT_OF_STRING, "p", P("-inf"), I(0), I(0)) == 1 && result[1].f == -INFINITY);
  CHECK(int3(RTP_FLOAT_OF_STRING, "p", P("0x10"), I(0), I(0)) == 0);
  CHECK(int3(RTP_INT_OF_STRING, "p", P("-9223372036854775808"), I(0), I(0)) == 1 && result[1].i == INT64_MIN);
  CHECK(int3(RTP_INT_OF_STRING, "p", P("9223372036854775808"), I(0), I(0)) == 0);
  CHECK(int3(RTP_INT_OF_STRING, "p", P("0xff"), I(0), I(0)) == 1 && result[1].i == 255);
  CHECK(int3(RTP_INT_OF_STRING, "p", P(""), I(0), I(0)) == 0);
  clean("numbers");
}

/* The absolute part is for where long double is no wider than double. */
static bool near(double x, double y) { return fabs(x - y) <= 2e-15 * fmax(1, fabs(y)); }

static void test_scalars(void) {
  /* mpmath, 20 digits */
  CHECK(near(rt_digamma(1), -0.57721566490153286061));
  CHECK(near(rt_digamma(0.1), -10.42375494041107679517));
  CHECK(near(rt_digamma(100), 4.6001618527380874002));
  CHECK(near(rt_digamma(-0.5), 0.036489973978576520559));
  CHECK(near(rt_digamma(1e10), 23.025850929890456840));
  CHECK(near(rt_trigamma(1), 1.6449340668482264365));
  CHECK(near(rt_trigamma(0.1), 101.43329915079275882));
  CHECK(near(rt_trigamma(-0.5), 8.9348022005446793094));
  CHECK(near(rt_trigamma(50), 0.020201333226697125806));
  CHECK(isnan(rt_digamma(-2)) && rt_trigamma(-2) == INFINITY && rt_digamma(0) == -INFINITY);
  CHECK(rt_powi(&functions_of_libm, 2, 10) == 1024 && rt_powi(&functions_of_libm, -1, INT64_MAX) == -1 &&
        rt_powi(&functions_of_libm, 0, 0) == 1 && rt_powi(&functions_of_libm, 2, -2) == 0.25 &&
        rt_powi(&functions_of_libm, -2, 3) == -8);
  CHECK(rt_powi(&functions_of_libm, -0.0, -1) == -INFINITY && rt_powi(&functions_of_libm, -3, 5) == -243 &&
        rt_powi(&functions_of_libm, -3, 4) == 81);
  CHECK(rt_ipow(3, 4) == 81 && rt_ipow(2, 64) == 0 && rt_ipow(-1, 3) == -1);
  CHECK(rt_int_of_float(NAN) == 0 && rt_int_of_float(1e30) == INT64_MAX && rt_int_of_float(-1e30) == INT64_MIN &&
        rt_int_of_float(-1.9) == -1);
  CHECK(isnan(rt_fmin(NAN, 1)) && isnan(rt_fmax(1, NAN)) && rt_fmin(1, 2) == 1 && rt_fmax(1, 2) == 2);
  CHECK(signbit(rt_fmax(-0.0, 0.0)) && !signbit(rt_fmin(0.0, -0.0)));
  CHECK(rt_round(0.5) == 1 && rt_round(-2.5) == -3 && rt_sign(-3) == -1 && isnan(rt_sign(NAN)));
}

static void test_random(void) {
  /* Random123's kat_vectors */
  uint64_t second;
  CHECK(rt_threefry(0, 0, 0, 0, &second) == 0xc2b6e3a8c2c69865u && second == 0x6f81ed42f350084du);
  uint64_t ones = UINT64_MAX;
  CHECK(rt_threefry(ones, ones, ones, ones, &second) == 0xe02cb7c4d95d277au && second == 0xd06633d0893b8b68u);
  CHECK(rt_threefry(0xa4093822299f31d0u, 0x082efa98ec4e6c89u, 0x243f6a8885a308d3u, 0x13198a2e03707344u, &second) ==
            0x263c7d30bb0f0af1u &&
        second == 0x56be8361d3311526u);
  CHECK(int3(RTP_RANDOM_BITS, "", I(0), I(0), I(0)) == (int64_t)0xc2b6e3a8c2c69865u);
}

/* ---- Strings, regular expressions, files ------------------------------------------------------------------------- */
static void test_strings(void) {
  CHECK(int3(RTP_STR_LENGTH, "p", P("aσ∂"), I(0), I(0)) == 3);
  CHECK_STR(run3(RTP_STR_SUB, NULL, "p", P("aσ∂x"), I(1), I(2)), "σ∂");
  CHECK_STR(run3(RTP_STR_SUB, NULL, "p", P("abc"), I(3), I(0)), "");
  CHECK_STR(run3(RTP_STR_SUB, NULL, "p", P("abc"), I(2), I(2)),
            "error: 2 characters from 2 on are out of bounds for a string of length 3");
  CHECK(int3(RTP_STR_FIND, "pp", P("b"), P("abab"), I(2)) == 3);
  CHECK(int3(RTP_STR_FIND, "pp", P("z"), P("abab"), I(0)) == -1);
  CHECK(int3(RTP_STR_FIND, "pp", P(""), P("ab"), I(9)) == -1);
  CHECK_STR(strings2(RTP_STR_SPLIT, ",", "a,,b,"), "a||b|");
  CHECK_STR(strings2(RTP_STR_SPLIT, "", "aσb"), "a|σ|b");
  CHECK_STR(strings2(RTP_STR_SPLIT, ",", ""), "");
  CHECK_STR(run3(RTP_STR_TRIM, NULL, "p", P(" \t a b\n"), I(0), I(0)), "a b");
  CHECK_STR(run3(RTP_STR_UPPER, NULL, "p", P("aσéя"), I(0), I(0)), "AΣÉЯ");
  CHECK_STR(run3(RTP_STR_LOWER, NULL, "p", P("AΣÉЯ"), I(0), I(0)), "aσéя");
  CHECK(int3(RTP_STR_CONTAINS, "pp", P("bc"), P("abcd"), I(0)) == 1);
  CHECK(int3(RTP_STR_STARTS_WITH, "pp", P("ab"), P("abcd"), I(0)) == 1);
  CHECK(int3(RTP_STR_ENDS_WITH, "pp", P("cd"), P("abcd"), I(0)) == 1);
  CHECK(int3(RTP_STR_ENDS_WITH, "pp", P("abcde"), P("cde"), I(0)) == 0);
  CHECK_STR(run3(RTP_STR_REPLACE, NULL, "ppp", P("a"), P("xx"), P("banana")), "bxxnxxnxx");
  CHECK_STR(run3(RTP_STR_REPLACE, NULL, "ppp", P(""), P("x"), P("b")), "error: the text to replace can't be empty");
  CHECK_STR(run3(RTP_CONCAT_STRING, NULL, "pp", P("ab"), P("cd"), I(0)), "abcd");
  Slot split[2] = {P(","), P("x,y,z")};
  prim(RTP_STR_SPLIT, NULL, 2, split);
  Slot parts = result[0];
  rt_retain(parts.p);
  CHECK_STR(run3(RTP_CONCAT_STRINGS, NULL, "p", parts, I(0), I(0)), "xyz");
  CHECK_STR(run3(RTP_STR_JOIN, NULL, "pp", P("--"), parts, I(0)), "x--y--z");
  rt_release(&rt, split[0].p);
  rt_release(&rt, split[1].p);
  Slot bytes[1] = {P("aσ")};
  prim(RTP_STR_BYTES, NULL, 1, bytes);
  rt_release(&rt, bytes[0].p);
  Slot raw = result[0];
  CHECK(((ArrayObj *)raw.p)->dims[0] == 3);
  rt_retain(raw.p);
  CHECK_STR(run3(RTP_STR_OF_BYTES, NULL, "p", raw, I(0), I(0)), "aσ");
  ((ArrayObj *)raw.p)->data[1].i = 'b';
  CHECK_STR(run3(RTP_STR_OF_BYTES, NULL, "p", raw, I(0), I(0)), "error: the bytes are not valid UTF-8 at offset 2");
  clean("strings");
}

/* How many numbers a match has, and those of the first `most` matches. */
static const char *spans(const char *re, const char *s, int64_t most) {
  Slot args[3] = {P(re), P(s), I(most)};
  Status status = prim(RTP_REGEX_SPANS, NULL, 3, args);
  rt_release(&rt, args[0].p);
  rt_release(&rt, args[1].p);
  static char out[4200];
  if (status) {
    snprintf(out, sizeof out, "error: %s", rt.error.message);
    rt_clear_error(&rt);
    return out;
  }
  const ArrayObj *a = (const ArrayObj *)result[1].p;
  int n = snprintf(out, sizeof out, "%d:", (int)result[0].i);
  for (int64_t k = 0; k < a->dims[0]; k++) n += snprintf(out + n, sizeof out - (size_t)n, " %d", (int)a->data[k].i);
  rt_release(&rt, result[1].p);
  return out;
}

/* Where the matches start and end. */
static const char *places(const char *re, const char *s, int64_t pieces) {
  Slot args[3] = {P(re), P(s), I(pieces)};
  Status status = prim(RTP_REGEX_PLACES, NULL, 3, args);
  rt_release(&rt, args[0].p);
  rt_release(&rt, args[1].p);
  static char out[4200];
  if (status) return "error";
  const ArrayObj *a = (const ArrayObj *)result[0].p;
  out[0] = 0;
  for (int64_t k = 0, n = 0; k < a->dims[0]; k++)
    n += snprintf(out + n, sizeof out - (size_t)n, "%s%d %d", k ? ", " : "", (int)a->data[2 * k].i,
                  (int)a->data[2 * k + 1].i);
  rt_release(&rt, result[0].p);
  return out;
}

static void test_regex(void) {
  CHECK(int3(RTP_REGEX_TEST, "pp", P("^a+b$"), P("aaab"), I(0)) == 1);
  CHECK(int3(RTP_REGEX_TEST, "pp", P("^a+b$"), P("aaac"), I(0)) == 0);
  CHECK_STR(spans("(\\d+)-(\\w)?", "σσ 12-x 34-", 9), "6: 5 9 5 7 8 9 10 13 10 12 -1 -1");
  CHECK_STR(spans("(\\d+)-(\\w)?", "σσ 12-x 34-", 1), "6: 5 9 5 7 8 9");
  CHECK_STR(spans("z", "abc", 9), "2:");
  CHECK_STR(spans("x*", "σx", 9), "2: 0 0 2 3 3 3");
  CHECK_STR(spans("b", "abab", 0), "2:");
  CHECK_STR(spans("a(b", "abc", 9), "error: bad pattern \"a(b\" at offset 3: missing closing parenthesis");
  CHECK_STR(run3(RTP_REGEX_REPLACE, NULL, "ppp", P("(\\w)(\\d)"), P("$2$1$$"), P("a1 b2")), "1a$ 2b$");
  CHECK_STR(run3(RTP_REGEX_REPLACE, NULL, "ppp", P("x*"), P("-"), P("axb")), "-a--b-");
  CHECK_STR(run3(RTP_REGEX_REPLACE, NULL, "ppp", P("a"), P("$3"), P("a")),
            "error: the template uses $3, but the pattern's last group is $0");
  CHECK_STR(run3(RTP_REGEX_REPLACE, NULL, "ppp", P("(a)"), P("[${1}]"), P("bab")), "b[a]b");
  CHECK_STR(places(",\\s*", "a, b,c", 1), "1 3, 4 5");
  CHECK_STR(places("", "aσ", 1), "0 0, 1 1, 3 3");
  CHECK_STR(places("x*", "axb", 0), "0 0, 1 2, 2 2, 3 3");
  CHECK_STR(places("x*?", "axb", 0), "0 0, 1 1, 2 2, 3 3");
  CHECK_STR(places("x*?", "axb", 1), "0 0, 1 1, 1 2, 2 2, 3 3");
  CHECK_STR(places("(z)", "abc", 0), "");
  char many[400] = "";
  for (int k = 0; k < 60; k++) strcat(many, "aaaa");
  CHECK_STR(spans("^(a+)+$", strcat(many, "!"), 1), "4:");
  CHECK_STR(spans("^(?=a)(a+)+$", many, 1), "error: matching the pattern failed: it takes too many steps on this text");
  for (int k = 0; k < 200; k++) {
    char re[20];
    snprintf(re, sizeof re, "x%d$", k);
    CHECK(int3(RTP_REGEX_TEST, "pp", P(re), P("ax7"), I(0)) == (k == 7));
  }
  clean("regex");
}

static void put_file(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  fputs(text, f);
  fclose(f);
}

static const char *csv(RtPrimId id, const char *path, const char *text) {
  put_file(path, text);
  Slot args[4] = {P(path), P(","), P(""), I(0)};
  Status s = prim(id, NULL, id == RTP_CSV_READ ? 4 : 1, args);
  for (int i = 0; i < 3; i++) rt_release(&rt, args[i].p);
  if (!s && id == RTP_CSV_READ) rt_release(&rt, result[1].p);
  if (!s) return shown(id == RTP_CSV_NUMBERS ? &d_matrix : rt.desc_string_matrix, result[0]);
  snprintf(last, sizeof last, "error: %s", rt.error.message);
  rt_clear_error(&rt);
  return last;
}

static void test_files(void) {
  char dir[] = "/tmp/atled-test-XXXXXX", path[64], want[200];
  CHECK(mkdtemp(dir) != NULL);
  snprintf(path, sizeof path, "%s/f.csv", dir);
  snprintf(want, sizeof want, "error: can't read \"%s\": No such file or directory", path);
  CHECK_STR(run3(RTP_READ_FILE, NULL, "p", P(path), I(0), I(0)), want);
  CHECK(int3(RTP_WRITE_FILE, "pp", P(path), P("a\r\nb\n"), I(0)) != -999);
  CHECK(int3(RTP_APPEND_FILE, "pp", P(path), P("c"), I(0)) != -999);
  CHECK_STR(run3(RTP_READ_FILE, NULL, "p", P(path), I(0), I(0)), "a\r\nb\nc");
  Slot args[1] = {P(path)};
  CHECK(prim(RTP_READ_LINES, NULL, 1, args) == 0);
  CHECK_STR(joined(result[0].p), "a|b|c");
  rt_release(&rt, args[0].p);
  put_file(path, "ok\n\xff");
  snprintf(want, sizeof want, "error: \"%s\" is not valid UTF-8 in line 2", path);
  CHECK_STR(run3(RTP_READ_FILE, NULL, "p", P(path), I(0), I(0)), want);
  CHECK_STR(csv(RTP_CSV_READ, path, "a,\"b \"\"q\"\", c\"\r\n\n1,\"x\ny\"\n"),
            "[[\"a\", \"b \\\"q\\\", c\"], [\"1\", \"x\\ny\"]]");
  CHECK_STR(csv(RTP_CSV_NUMBERS, path, "x,y\n1,2\n3,-4e1"), "[[1.0, 2.0], [3.0, -40.0]]");
  CHECK_STR(csv(RTP_CSV_NUMBERS, path, "1,2\n3,4\n"), "[[1.0, 2.0], [3.0, 4.0]]");
  CHECK_STR(csv(RTP_CSV_NUMBERS, path, ""), "[]");
  snprintf(want, sizeof want, "error: \"%s\": line 3, column 2: \"z\" is not a number", path);
  CHECK_STR(csv(RTP_CSV_NUMBERS, path, "x,y\n1,2\n3,z\n"), want);
  snprintf(want, sizeof want, "error: \"%s\": line 2 has too few cells: 1, where the first row has 2", path);
  CHECK_STR(csv(RTP_CSV_READ, path, "1,2\n3\n"), want);
  snprintf(want, sizeof want, "error: \"%s\": line 2 has too many cells: the first row has 2", path);
  CHECK_STR(csv(RTP_CSV_READ, path, "1,2\n3,4,5\n"), want);
  snprintf(want, sizeof want, "error: \"%s\": the quote opened in line 2 is never closed", path);
  CHECK_STR(csv(RTP_CSV_READ, path, "1\n\"2\n"), want);
  remove(path);
  remove(dir);
  clean("files");
}

static void test_environment(void) {
  static const char *const args[] = {"one", "two"};
  rt.args = args;
  rt.nargs = 2;
  CHECK(prim(RTP_ARGS, NULL, 0, NULL) == 0);
  CHECK_STR(joined(result[0].p), "one|two");
  setenv("ATLED_TEST_VARIABLE", "value", 1);
  Slot name[1] = {P("ATLED_TEST_VARIABLE")};
  CHECK(prim(RTP_ENV, NULL, 1, name) == 0 && result[0].i == 1);
  CHECK_STR(text_of(&result[1]), "value");
  rt_release(&rt, result[1].p);
  rt_release(&rt, name[0].p);
  CHECK(prim(RTP_TIME, NULL, 0, NULL) == 0 && result[0].f > 0);
  Slot printed_value[1] = {P("bare")};
  CHECK(prim(RTP_PRINT, &d_string, 1, printed_value) == 0);
  rt_release(&rt, printed_value[0].p);
  CHECK_STR(printed, "bare\n");
  clean("environment");
}

/* ---- Show, compare, arrays --------------------------------------------------------------------------------------- */
static ArrayObj *floats(int64_t n, const double *xs) {
  ArrayObj *a = rt_new_array(&rt, &d_floats, &n, true);
  for (int64_t i = 0; i < n && xs; i++) a->data[i].f = xs[i];
  return a;
}

static void test_show(void) {
  CHECK_STR(shown(&d_int, I(-3)), "-3");
  CHECK_STR(shown(&d_float, F(1e-5)), "1e-05");
  CHECK_STR(shown(&d_bool, I(1)), "true");
  CHECK_STR(shown(&d_string, P("a\"\n\x01σ")), "\"a\\\"\\n\\x01σ\"");
  CHECK_STR(run3(RTP_DISPLAY, &d_string, "p", P("a\"b"), I(0), I(0)), "a\"b");
  CHECK_STR(shown(&d_list, (Slot){.p = cons(1, cons(-2, rt_immediate(0)))}), "1 :: -2 :: Nil");
  CHECK_STR(shown(&d_list, (Slot){.p = rt_immediate(0)}), "Nil");
  const double xs[] = {1, 2.5};
  CHECK_STR(shown(&d_floats, (Slot){.p = &floats(2, xs)->h}), "[1.0, 2.5]");
  CHECK_STR(shown(&d_floats, (Slot){.p = &floats(1001, NULL)->h}), "[0.0, 0.0, 0.0, ..., 0.0, 0.0, 0.0]");
  int64_t dims[2] = {2, 0};
  CHECK_STR(shown(&d_matrix, (Slot){.p = &rt_new_array(&rt, &d_matrix, dims, true)->h}), "[[], []]");
  static const Desc *ctor_args[] = {&d_unit, &d_float, &d_list};
  static const char *ctor_names[] = {"None", "Circle", "Chain"};
  static const Desc variant = {
      .kind = D_VARIANT, .nslots = 1, .slots = kind_ptr, .n = 3, .args = ctor_args, .names = ctor_names};
  BoxObj *circle = rt_new_box(&rt, &variant, 1), *chain = rt_new_box(&rt, &variant, 2);
  circle->fields[0].f = -1;
  chain->fields[0].p = cons(1, rt_immediate(0));
  CHECK_STR(shown(&variant, (Slot){.p = &circle->h}), "Circle (-1.0)");
  CHECK_STR(shown(&variant, (Slot){.p = &chain->h}), "Chain (1 :: Nil)");
  CHECK_STR(shown(&variant, (Slot){.p = rt_immediate(0)}), "None");
  static uint8_t two[] = {SLOT_INT, SLOT_FLOAT};
  static const Desc *pair_args[] = {&d_int, &d_unit, &d_float};
  static const char *fields[] = {"x", "y", "z"};
  static const Desc record = {.kind = D_TUPLE, .nslots = 2, .slots = two, .n = 3, .args = pair_args, .names = fields};
  static const Desc tuple = {.kind = D_TUPLE, .nslots = 2, .slots = two, .n = 3, .args = pair_args};
  Slot v[2] = {I(1), F(2)};
  CHECK_STR(run3(RTP_SHOW, &record, "", v[0], v[1], I(0)), "{x = 1, y = (), z = 2.0}");
  CHECK_STR(run3(RTP_SHOW, &tuple, "", v[0], v[1], I(0)), "(1, (), 2.0)");
  clean("show");
}

static int compared(RtPrimId id, const Desc *d, Obj *a, Obj *b) {
  Slot args[2] = {{.p = a}, {.p = b}};
  Status s = prim(id, d, 2, args);
  rt_release(&rt, a);
  rt_release(&rt, b);
  return s ? -9 : (int)result[0].i;
}

static void test_compare(void) {
  const double a[] = {1, 2}, b[] = {1, 3, 0}, n[] = {1, NAN}, c[] = {1, 2 + 1e-10};
#define FL(x) (&floats((int64_t)(sizeof x / sizeof *x), x)->h)
  CHECK(compared(RTP_COMPARE, &d_floats, FL(a), FL(b)) == -1);
  CHECK(compared(RTP_COMPARE, &d_floats, FL(b), FL(a)) == 1);
  CHECK(compared(RTP_COMPARE, &d_floats, FL(a), FL(n)) == 2);
  CHECK(compared(RTP_EQUAL, &d_floats, FL(n), FL(n)) == 0);
  CHECK(compared(RTP_EQUAL, &d_floats, FL(a), FL(a)) == 1);
  CHECK(compared(RTP_CLOSE, &d_floats, FL(a), FL(c)) == 1);
  CHECK(compared(RTP_EQUAL, &d_floats, FL(a), FL(c)) == 0);
  CHECK(compared(RTP_CLOSE, &d_floats, FL(a), FL(b)) == 0);
  CHECK(compared(RTP_COMPARE, &d_string, str("ab"), str("abc")) == -1);
  CHECK(compared(RTP_COMPARE, &d_string, str("b"), str("abc")) == 1);
  CHECK(compared(RTP_COMPARE, &d_list, cons(1, rt_immediate(0)), rt_immediate(0)) == 1);
  int64_t d1[] = {2, 2}, d2[] = {3, 1}, d3[] = {0, 5}, d4[] = {0, 7};
  CHECK(compared(RTP_COMPARE, &d_matrix, &rt_new_array(&rt, &d_matrix, d1, true)->h,
                 &rt_new_array(&rt, &d_matrix, d2, true)->h) == 1);
  CHECK(compared(RTP_EQUAL, &d_matrix, &rt_new_array(&rt, &d_matrix, d3, true)->h,
                 &rt_new_array(&rt, &d_matrix, d4, true)->h) == 1);
  const double unsorted[] = {3, NAN, 1, 2, 1};
  Slot args[1] = {{.p = FL(unsorted)}};
  CHECK(prim(RTP_ARGSORT, &d_floats, 1, args) == 0);
  static const int64_t order[] = {2, 4, 3, 0, 1};
  for (int k = 0; k < 5; k++) CHECK(((ArrayObj *)result[0].p)->data[k].i == order[k]);
  rt_release(&rt, result[0].p);
  rt_release(&rt, args[0].p);
  ArrayObj *m = rt_new_array(&rt, &d_matrix, d2, true);
  m->data[0].f = 2;
  m->data[2].f = 1;
  args[0].p = &m->h;
  CHECK(prim(RTP_ARGSORT, &d_matrix, 1, args) == 0);
  CHECK(((ArrayObj *)result[0].p)->data[0].i == 1 && ((ArrayObj *)result[0].p)->data[2].i == 0);
  rt_release(&rt, result[0].p);
  rt_release(&rt, args[0].p);
  clean("compare");
}

static void test_long_lists(void) {
  Obj *a = rt_immediate(0), *b = rt_immediate(0);
  for (int k = 0; k < 1000000; k++) a = cons(k, a), b = cons(k, b);
  Slot args[2] = {{.p = a}, {.p = b}};
  CHECK(prim(RTP_EQUAL, &d_list, 2, args) == 0 && result[0].i == 1);
  CHECK(prim(RTP_COMPARE, &d_list, 2, args) == 0 && result[0].i == 0);
  CHECK(prim(RTP_SHOW, &d_list, 1, args) == 0 && ((StringObj *)result[0].p)->len > 5000000);
  rt_release(&rt, result[0].p);
  rt_release(&rt, b);
  size_t before = heap.bytes;
  for (int k = 0; k < 9000000; k++) a = cons(k, a);
  size_t peak = heap.peak;
  rt_release(&rt, a);
  CHECK(heap.peak == peak && peak > before);
  clean("long lists");
}

static void test_arrays(void) {
  int64_t dims[2] = {3, 4};
  ArrayObj *m = rt_new_array(&rt, &d_matrix, dims, true);
  CHECK((uintptr_t)m->data % 64 == 0 && rt_array_length(m) == 12);
  ArrayObj *v = rt_view(&rt, &d_floats, m, 4, &dims[1]), *vv = rt_view(&rt, &d_floats, v, 0, &dims[1]);
  CHECK(vv->owner == &m->h && v->data == m->data + 4);
  ArrayObj *u = rt_unique(&rt, v);
  CHECK(u != v && u->h.rc == 1 && u->dims[0] == 4);
  CHECK(rt_unique(&rt, u) == u);
  rt_retain(&u->h);
  ArrayObj *w = rt_unique(&rt, u);
  CHECK(w != u && u->h.rc == 1);
  rt_release(&rt, &u->h);
  rt_release(&rt, &w->h);
  rt_release(&rt, &vv->h);
  rt_release(&rt, &m->h);
  int64_t zero = 0;
  ArrayObj *g = rt_new_array(&rt, rt.desc_string_array, &zero, false);
  for (int64_t i = 0; i < 100; i++) {
    g = rt_grow(&rt, g, i, 1);
    g->data[i].p = str("x");
  }
  g->dims[0] = 100;
  rt_release(&rt, &g->h);
  clean("arrays");
  int64_t huge[2] = {INT64_MAX / 8, 16};
  CHECK(rt_new_array(&rt, &d_matrix, huge, true) == NULL && rt.error.kind == ERR_MEMORY);
  CHECK_STR(rt.error.message, "out of memory for an array of 1152921504606846975 x 16 elements");
  rt_clear_error(&rt);
  heap.limit = heap.bytes + 10000;
  int64_t n = (int64_t)heap.bytes; /* more than what blocks are kept for */
  CHECK(rt_new_array(&rt, &d_floats, &n, true) == NULL && rt.error.kind == ERR_MEMORY);
  heap.limit = 0;
  clean("array limits");
  CHECK(rt_fail_index(&rt, 7, 3, 1) == 1);
  CHECK_STR(rt.error.message, "index 7 is out of bounds for an array of length 3");
  clean("errors");
}

/* A matrix of small whole numbers and halves, whose products and sums are exact. */
static ArrayObj *made_matrix(int64_t rows, int64_t columns, int period) {
  int64_t dims[2] = {rows, columns};
  ArrayObj *a = rt_new_array(&rt, &d_matrix, dims, true);
  for (int64_t k = 0; k < rows * columns; k++) a->data[k].f = (double)(k % period) * 0.5 - 3;
  return a;
}

static double element(const ArrayObj *a, bool transposed, int64_t i, int64_t j) {
  return a->data[transposed ? j * a->dims[1] + i : i * a->dims[1] + j].f;
}

/* a b, or with transposed operands, by each kind of code, beside the definition. */
static void check_product(int64_t rows, int64_t depth, int64_t columns, bool ta, bool tb) {
  ArrayObj *a = ta ? made_matrix(depth, rows, 17) : made_matrix(rows, depth, 17);
  ArrayObj *b = tb ? made_matrix(columns, depth, 13) : made_matrix(depth, columns, 13);
  Slot args[4] = {{.i = ta}, {.i = tb}, {.p = &a->h}, {.p = &b->h}};
  for (int kind = 0; rt_matmul_has_kind(kind); kind++) {
    int64_t wrong = 0;
    CHECK(rt_matmul(&rt, kind, args, result, 0) == 0);
    const ArrayObj *c = (ArrayObj *)result[0].p;
    CHECK(c->dims[0] == rows && c->dims[1] == columns);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++) sum += element(a, ta, i, k) * element(b, tb, k, j);
        wrong += c->data[i * columns + j].f != sum;
      }
    CHECK(wrong == 0);
    rt_release(&rt, result[0].p);
  }
  rt_release(&rt, &a->h);
  rt_release(&rt, &b->h);
}

/* Strict mode rounds each product: (1 + e)² - (1 + 2e) is 0, where a sum that is rounded once gives e². */
static void test_strict_matmul(void) {
  double e = 0x1p-30;
  ArrayObj *a = made_matrix(9, 20, 1), *b = made_matrix(20, 9, 1);
  for (int k = 0; k < 180; k++) a->data[k].f = b->data[k].f = 0;
  a->data[0].f = -1 - 2 * e, b->data[0].f = 1;
  a->data[1].f = b->data[9].f = 1 + e;
  Slot args[4] = {{.i = 0}, {.i = 0}, {.p = &a->h}, {.p = &b->h}};
  rt.strict = 1;
  for (int kind = 0; rt_matmul_has_kind(kind); kind++) {
    CHECK(rt_matmul(&rt, kind, args, result, 0) == 0);
    CHECK(((ArrayObj *)result[0].p)->data[0].f == 0);
    rt_release(&rt, result[0].p);
  }
  rt.strict = 0;
  rt_release(&rt, &a->h);
  rt_release(&rt, &b->h);
}

/* Sizes around those of tiles, panels and stripes. */
static void test_matmul(void) {
  static const int64_t sizes[][3] = {{5, 7, 300}, {1, 1, 1}, {3, 2, 4}, {8, 16, 16},    {9, 17, 17},    {7, 300, 9},
                                     {2, 5, 33},  {0, 3, 2}, {3, 0, 2}, {130, 260, 11}, {131, 12, 270}, {15, 10, 24}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (int t = 0; t < 4; t++) check_product(sizes[k][0], sizes[k][1], sizes[k][2], t & 1, t & 2);
  test_strict_matmul();
  ArrayObj *a = made_matrix(5, 7, 3), *b = made_matrix(7, 300, 3);
  Slot args[4] = {{.i = 0}, {.i = 0}, {.p = &b->h}, {.p = &a->h}};
  CHECK(prim(RTP_MATMUL, NULL, 4, args) == 1);
  CHECK_STR(rt.error.message, "a 7 x 300 matrix can't be multiplied by a 5 x 7 one");
  rt_release(&rt, &a->h);
  rt_release(&rt, &b->h);
  clean("matmul");
}

/* ---- Bags: random operations against a naive model --------------------------------------------------------------- */
enum { N = 20, BAGS = 5, INNER = 4 }; /* a log of N entries is read by its table */
typedef struct Model {
  Obj *bag;
  double x[N];
} Model;

static uint32_t seed = 12345;
static int dice(int n) { return (int)((seed = seed * 1664525u + 1013904223u) >> 8) % n; }

static bool agrees(const Model *m) {
  for (int i = 0; i < N; i++) {
    Slot s;
    if (rt_bag_get(&rt, &d_bag, m->bag, i, &s)) return false;
    if (fabs(s.f - m->x[i]) > 1e-9) return false;
  }
  return true;
}

/* One random operation; false if an allocation failed: then the model is as before, only the bag's value may differ. */
static bool random_step(Model *m) {
  int64_t n = N, three = 3;
  Model *a = &m[dice(BAGS)], *b = &m[dice(BAGS)];
  int i = dice(N), lo = dice(N - 2);
  double v = dice(100) - 50;
  Slot s = F(v), out;
  Obj *part;
  switch (dice(10)) {
  case 0:
  case 1:
  case 2:
  case 3:
    if (rt_acc_at(&rt, &d_bag, &a->bag, &n, i, &s)) return false;
    a->x[i] += v;
    return true;
  case 4: { /* the sum, a copy of b staying where it is */
    rt_retain(b->bag);
    Obj *sum;
    if (rt_cadd(&rt, &d_bag, a->bag, b->bag, dice(2) ? &n : NULL, &sum)) {
      rt_release(&rt, b->bag);
      return false;
    }
    a->bag = sum;
    for (int k = 0; k < N; k++) a->x[k] += b->x[k];
    return true;
  }
  case 5: /* share */
    rt_retain(b->bag);
    rt_release(&rt, a->bag);
    *a = *b;
    return true;
  case 6:
    if (rt_bag_take(&rt, &d_bag, &a->bag, &n, i, &out)) return false;
    CHECK(fabs(out.f - a->x[i]) < 1e-9);
    a->x[i] = 0;
    return true;
  case 7:
    if (rt_bag_set(&rt, &d_bag, &a->bag, &n, i, &s)) return false;
    a->x[i] = v;
    return true;
  case 8: { /* a += a part of b, shifted */
    if (rt_bag_sub(&rt, &d_bag, b->bag, lo, 3, &three, &part)) return false;
    double copy[3] = {b->x[lo], b->x[lo + 1], b->x[lo + 2]};
    int to = dice(N - 2);
    if (rt_acc_sub(&rt, &d_bag, &a->bag, &n, to, 3, part)) {
      rt_release(&rt, part);
      return false;
    }
    for (int k = 0; k < 3; k++) a->x[to + k] += copy[k];
    return true;
  }
  default: {
    if (rt_bag_take_sub(&rt, &d_bag, &a->bag, &n, lo, 3, &three, &part)) return false;
    double copy[3];
    for (int k = 0; k < 3; k++) copy[k] = a->x[lo + k], a->x[lo + k] = 0;
    int to = dice(N - 2);
    if (rt_bag_set_sub(&rt, &d_bag, &b->bag, &n, to, 3, part)) {
      rt_release(&rt, part);
      return false;
    }
    for (int k = 0; k < 3; k++) b->x[to + k] = copy[k];
    return true;
  }
  }
}

static void test_bags(void) {
  for (int run = 0; run < 300; run++) {
    Model m[BAGS] = {0};
    for (int step = 0; step < 60; step++) {
      CHECK(random_step(m));
      for (int k = 0; k < BAGS; k++) CHECK(agrees(&m[k]));
    }
    int64_t n = N;
    for (int k = 0; k < BAGS; k++) {
      Obj *filled;
      CHECK(rt_bag_fill(&rt, &d_floats, m[k].bag, &n, &filled) == 0);
      for (int i = 0; i < N; i++) CHECK(fabs(((ArrayObj *)filled)->data[i].f - m[k].x[i]) < 1e-9);
      rt_release(&rt, filled);
    }
    CHECK(rt.live == 0);
  }
  clean("bags");
}

static void test_bag_failures(void) {
  for (int run = 0; run < 400; run++) {
    Model m[BAGS] = {0};
    seed = (uint32_t)run;
    heap.fail_at = 1 + run % 40;
    bool failed = false;
    for (int step = 0; step < 80 && !failed; step++) {
      failed = !random_step(m);
      if (failed) CHECK(rt.error.kind == ERR_MEMORY);
      else CHECK(agrees(&m[step % BAGS])); /* also without memory for a log's table */
    }
    heap.fail_at = -1;
    rt_clear_error(&rt);
    for (int k = 0; k < BAGS; k++) rt_release(&rt, m[k].bag);
    CHECK(rt.live == 0);
  }
  clean("bag failures");
}

/* Bags of bags: rows of INNER floats. */
static bool nested_step(Obj **bags, double model[BAGS][N][INNER]) {
  int64_t n = N, inner = INNER;
  int a = dice(BAGS), b = dice(BAGS), i = dice(N), j = dice(INNER);
  Slot v = F(dice(20)), row = {.p = NULL};
  if (dice(3)) {
    for (int k = 0; k < 3; k++)
      if (rt_acc_at(&rt, &d_bag, &row.p, &inner, j, &v)) {
        rt_release(&rt, row.p);
        return false;
      }
    if (dice(2)) rt_retain(row.p);
    bool shared = row.p->rc == 2;
    if (rt_acc_at(&rt, &d_bags, &bags[a], &n, i, &row)) {
      rt_release(&rt, row.p);
      if (shared) rt_release(&rt, row.p);
      return false;
    }
    if (shared) rt_release(&rt, row.p);
    model[a][i][j] += 3 * v.f;
    return true;
  }
  rt_retain(bags[b]);
  Obj *sum;
  if (rt_cadd(&rt, &d_bags, bags[a], bags[b], &n, &sum)) {
    rt_release(&rt, bags[b]);
    return false;
  }
  bags[a] = sum;
  for (int x = 0; x < N; x++)
    for (int y = 0; y < INNER; y++) model[a][x][y] += model[b][x][y];
  return true;
}

static void test_nested_bags(bool failing) {
  for (int run = 0; run < 300; run++) {
    Obj *bags[BAGS] = {0};
    static double model[BAGS][N][INNER];
    memset(model, 0, sizeof model);
    seed = (uint32_t)run * 7919u;
    heap.fail_at = failing ? 1 + run % 100 : -1;
    bool going = true;
    for (int step = 0; step < 25 && going; step++) going = nested_step(bags, model);
    heap.fail_at = -1;
    CHECK(going || failing);
    rt_clear_error(&rt);
    for (int a = 0; a < BAGS; a++) {
      for (int i = 0; i < N && going; i++) {
        Slot row, x;
        CHECK(rt_bag_get(&rt, &d_bags, bags[a], i, &row) == 0);
        for (int j = 0; j < INNER; j++) {
          CHECK(rt_bag_get(&rt, &d_bag, row.p, j, &x) == 0);
          CHECK(fabs(x.f - model[a][i][j]) <= 1e-9 * fabs(x.f));
        }
        rt_release(&rt, row.p);
      }
      rt_release(&rt, bags[a]);
    }
    CHECK(rt.live == 0);
  }
  clean("nested bags");
}

static Obj *cotangent_list(int n, double x) {
  Obj *l = NULL;
  for (int k = 0; k < n; k++) {
    BoxObj *b = rt_new_box(&rt, &d_cot, 1);
    b->fields[0].f = x;
    b->fields[1].p = l;
    l = &b->h;
  }
  return l;
}

static void test_cotangents(void) {
  Obj *a = cotangent_list(1000000, 1), *b = cotangent_list(999999, 2), *sum;
  rt_retain(b);
  CHECK(rt_cadd(&rt, &d_cot, a, b, NULL, &sum) == 0);
  CHECK(((BoxObj *)b)->fields[0].f == 2);
  rt_release(&rt, b);
  double total = 0;
  int cells = 0;
  for (Obj *p = sum; p; p = ((BoxObj *)p)->fields[1].p, cells++) total += ((BoxObj *)p)->fields[0].f;
  CHECK(cells == 1000000 && total == 1000000 + 2 * 999999.0);
  rt_release(&rt, sum);
  CHECK(rt_cadd(&rt, &d_cot, NULL, NULL, NULL, &sum) == 0 && sum == NULL);
  static uint8_t env_kinds[] = {SLOT_FLOAT, SLOT_PTR};
  static const Desc *env_descs[] = {NULL, &d_bag};
  static const Desc d_env = {.kind = D_ENV, .nslots = 1, .slots = kind_ptr};
  RtFunc fn = {.acc_kinds = env_kinds, .nacc = 2, .acc_descs = env_descs};
  EnvObj *e = rt_new_env(&rt, &fn), *f = rt_new_env(&rt, &fn);
  int64_t n = 3;
  Slot v = F(4);
  e->caps[0].f = 1;
  f->caps[0].f = 2;
  CHECK(rt_acc_at(&rt, &d_bag, &f->caps[1].p, &n, 1, &v) == 0);
  rt_retain(&e->h);
  CHECK(rt_cadd(&rt, &d_env, &e->h, &f->h, NULL, &sum) == 0);
  CHECK(e->caps[0].f == 1 && ((EnvObj *)sum)->caps[0].f == 3);
  Slot got;
  CHECK(rt_bag_get(&rt, &d_bag, ((EnvObj *)sum)->caps[1].p, 1, &got) == 0 && got.f == 4);
  rt_release(&rt, &e->h);
  rt_release(&rt, sum);
  clean("cotangents");
}

/* ---- Sums of cotangents with shared parts: any box may be held several times, by its neighbours or from outside -- */
enum { DEPTH = 7 };
/* By paths: bit k of a path says which part was taken at depth k. What a cotangent is, independent of how it is
 * shared. */
typedef struct Flat {
  double value[1 << DEPTH];
  int tag[1 << DEPTH];
} Flat;

static void flatten(const Obj *p, int depth, int at, Flat *f) {
  if (!p) return;
  const BoxObj *b = (const BoxObj *)p;
  f->tag[at] = b->h.tag;
  f->value[at] = b->fields[b->h.tag == 1 ? 0 : 1].f;
  if (depth + 1 >= DEPTH) return;
  flatten(b->h.tag == 1 ? b->fields[1].p : b->fields[0].p, depth + 1, 2 * at, f);
  if (b->h.tag == 2) flatten(b->fields[2].p, depth + 1, 2 * at + 1, f);
}

/* The constructor at each depth is the same in all, or there would be no sum: a cell where the depth is odd, else a
 * fork. */
static Obj *random_cotangent(Obj **pool, int depth) {
  if (depth == DEPTH || dice(8) == 0) return NULL;
  if (dice(4) == 0 && pool[depth]) {
    rt_retain(pool[depth]);
    return pool[depth];
  }
  BoxObj *b = rt_new_box(&rt, &d_cot, depth % 2 ? 1 : 2);
  b->fields[depth % 2 ? 0 : 1].f = dice(100);
  b->fields[depth % 2 ? 1 : 0].p = random_cotangent(pool, depth + 1);
  if (depth % 2 == 0) b->fields[2].p = random_cotangent(pool, depth + 1);
  if (dice(4) == 0) {
    rt_release(&rt, pool[depth]);
    rt_retain(&b->h);
    pool[depth] = &b->h;
  }
  return &b->h;
}

static bool same_flat(const Flat *a, const Flat *b) { return memcmp(a, b, sizeof *a) == 0; }

static void test_shared_cotangents(bool failing) {
  for (int run = 0; run < 3000; run++) {
    static Flat fa, fb, sum, got, kept[DEPTH], now;
    Obj *pool[DEPTH] = {0}, *s;
    seed = (uint32_t)run * 7919u;
    Obj *a = random_cotangent(pool, 0), *b = random_cotangent(pool, 0);
    memset(&fa, 0, sizeof fa);
    memset(&fb, 0, sizeof fb);
    memset(kept, 0, sizeof kept);
    flatten(a, 0, 1, &fa);
    flatten(b, 0, 1, &fb);
    for (int k = 0; k < DEPTH; k++) flatten(pool[k], k, 1, &kept[k]);
    for (int k = 0; k < 1 << DEPTH; k++) {
      sum.value[k] = fa.value[k] + fb.value[k];
      sum.tag[k] = fa.tag[k] ? fa.tag[k] : fb.tag[k];
    }
    heap.fail_at = failing ? 1 + run % 3 : -1;
    bool failed = rt_cadd(&rt, &d_cot, a, b, NULL, &s);
    heap.fail_at = -1;
    CHECK(failing || !failed);
    rt_clear_error(&rt);
    if (failed) {
      rt_release(&rt, a);
      rt_release(&rt, b);
    } else {
      memset(&got, 0, sizeof got);
      flatten(s, 0, 1, &got);
      CHECK(same_flat(&got, &sum));
      rt_release(&rt, s);
    }
    for (int k = 0; k < DEPTH; k++) {
      memset(&now, 0, sizeof now);
      flatten(pool[k], k, 1, &now);
      CHECK(same_flat(&now, &kept[k]));
      rt_release(&rt, pool[k]);
    }
    CHECK(rt.live == 0);
  }
  clean("shared cotangents");
}

/* Forks whose first parts lead on, and whose other parts are forks too. */
static Obj *comb(int n) {
  Obj *c = NULL;
  for (int k = 0; k < n; k++) {
    BoxObj *b = rt_new_box(&rt, &d_cot, 2), *tooth = rt_new_box(&rt, &d_cot, 2);
    b->fields[0].p = c;
    b->fields[1].f = k;
    b->fields[2].p = &tooth->h;
    c = &b->h;
  }
  return c;
}

/* Two unshared lists are added in the room of one; the worklist can't grow at any of its sizes. */
static void test_sums_in_place(void) {
  for (int k = 1; k < 6; k++) {
    Obj *a = comb(60), *b = comb(60), *sum;
    heap.fail_at = k;
    bool failed = rt_cadd(&rt, &d_cot, a, b, NULL, &sum);
    CHECK(failed == (k < 4)); /* rooms for 16, 32, 64 */
    heap.fail_at = -1;
    rt_clear_error(&rt);
    rt_release(&rt, failed ? b : NULL);
    rt_release(&rt, a);
    CHECK(rt.live == 0);
  }
  Obj *a = cotangent_list(100000, 1), *b = cotangent_list(100000, 2), *sum;
  size_t before = heap.bytes;
  heap.fail_at = 1;
  CHECK(rt_cadd(&rt, &d_cot, a, b, NULL, &sum) == 1); /* the worklist's first item */
  heap.fail_at = -1;
  rt_clear_error(&rt);
  CHECK(rt_cadd(&rt, &d_cot, a, b, NULL, &sum) == 0 && sum == a);
  CHECK(rt.live == 100000 && heap.bytes <= before);
  rt_release(&rt, sum);
  clean("sums in place");
}

/* Each allocation of a few primitives fails in turn. */
/* Blocks of many sizes: each is its owner's alone, and what one size no longer needs serves another or goes back. */
static void test_blocks(void) {
  enum { BLOCKS = 40000 };
  static unsigned char *blocks[BLOCKS];
  heap.reclaim(&rt);
  size_t peak = 0;
  for (int round = 0; round < 4; round++) {
    for (int k = 0; k < BLOCKS; k++) {
      size_t size = 8 + (size_t)(k * 7 + round * 40) % 300;
      CHECK((blocks[k] = rt_block_new(&rt, size)) && (uintptr_t)blocks[k] % 8 == 0);
      memset(blocks[k], k & 255, size);
    }
    if (round == 0) peak = heap.bytes;
    CHECK(heap.bytes <= peak + peak / 8);
    for (int k = 0; k < BLOCKS; k++) {
      int at = (int)((long)k * 7919 % BLOCKS);
      size_t size = 8 + (size_t)(at * 7 + round * 40) % 300;
      for (size_t b = 0; b < size; b++)
        if (blocks[at][b] != (at & 255)) {
          CHECK(!"a block was given out twice");
          return;
        }
      rt_block_free(&rt, blocks[at], size);
    }
    CHECK(heap.bytes <= peak); /* kept for the next round */
  }
}

/* Blocks are kept for later, but not for ever, and where they are, a large request has their memory. */
static void test_kept_blocks(void) {
  enum { BLOCKS = 100000 };
  static void *blocks[BLOCKS];
  heap.reclaim(&rt);
  size_t before = heap.bytes, size = (size_t)BLOCKS * 200;
  for (int k = 0; k < BLOCKS; k++) CHECK((blocks[k] = rt_block_new(&rt, 200)));
  for (int k = 0; k < BLOCKS; k++) rt_block_free(&rt, blocks[k], 200);
#ifndef __SANITIZE_ADDRESS__ /* which sees each block as it is freed */
  CHECK(heap.bytes > before + size / 2);
#endif
  for (int round = 0; round < 2000; round++) {
    for (int k = 0; k < 1000; k++) CHECK((blocks[k] = rt_block_new(&rt, 200)));
    for (int k = 0; k < 1000; k++) rt_block_free(&rt, blocks[k], 200);
  }
  CHECK(heap.bytes < before + size / 2);
  for (int k = 0; k < BLOCKS; k++) CHECK((blocks[k] = rt_block_new(&rt, 200)));
  for (int k = 0; k < BLOCKS; k++) rt_block_free(&rt, blocks[k], 200);
  heap.limit = before + size + size / 2;
  void *p = heap_realloc(&heap, NULL, 0, size), *q = heap_realloc(&heap, NULL, 0, size);
  CHECK(p && !q);
  heap_realloc(&heap, p, size, 0);
  CHECK((p = heap_alloc_aligned(&heap, size, true)));
  heap_free_aligned(&heap, p, size);
  heap.limit = 0;
}

/* Arrays of some pages are kept likewise: those of another run take their blocks, other sizes get rid of them. */
static void test_kept_arrays(void) {
  enum { ARRAYS = 3000, SIZES = 10 };
  static ArrayObj *arrays[ARRAYS];
  heap.reclaim(&rt);
  size_t before = heap.bytes, peak = 0;
  for (int round = 0; round < 3; round++) {
    int64_t n = 1000;
    for (int k = 0; k < ARRAYS; k++) CHECK((arrays[k] = rt_new_array(&rt, &d_floats, &n, k % 2)));
    for (int k = 0; k < ARRAYS; k++) CHECK(arrays[k]->dims[0] == n && (k % 2 == 0 || arrays[k]->data[n - 1].f == 0));
    if (round == 0) peak = heap.bytes;
    CHECK(heap.bytes == peak);
    for (int k = 0; k < ARRAYS; k++) arrays[k]->data[n - 1].f = 1, rt_release(&rt, &arrays[k]->h);
  }
#ifndef __SANITIZE_ADDRESS__
  CHECK(heap.bytes == peak);
#endif
  for (int64_t n = 1200; n < 1200 + SIZES * 8; n += 8) {
    for (int k = 0; k < ARRAYS; k++) CHECK((arrays[k] = rt_new_array(&rt, &d_floats, &n, false)));
    for (int k = 0; k < ARRAYS; k++) rt_release(&rt, &arrays[k]->h);
  }
  CHECK(heap.bytes - before < 4 * (peak - before));
  heap.reclaim(&rt);
  CHECK(heap.bytes <= before);
}

static void test_allocation_failures(void) {
  Slot split[3] = {P(","), P("a,b,c"), I(0)}, re[3] = {P("(b)(,)?"), P("abc"), I(9)};
  Obj *list = cons(1, cons(2, rt_immediate(0)));
  Slot shown_list[1] = {{.p = list}};
  int64_t live = rt.live;
  static const RtPrimId ids[] = {RTP_STR_SPLIT, RTP_REGEX_PLACES, RTP_REGEX_SPANS, RTP_SHOW, RTP_ARGS};
  for (size_t p = 0; p < sizeof ids / sizeof *ids; p++)
    for (int n = 1; n < 60; n++) {
      rt_regexes_free(&rt);
      heap.fail_at = n;
      RtPrimId id = ids[p];
      Status s = prim(id, &d_list, 3,
                      id == RTP_REGEX_SPANS || id == RTP_REGEX_PLACES ? re
                      : id == RTP_SHOW                                ? shown_list
                                                                      : split);
      heap.fail_at = -1;
      if (s) CHECK(rt.error.kind == ERR_MEMORY);
      rt_clear_error(&rt);
      if (!s && id == RTP_REGEX_SPANS) rt_release(&rt, result[1].p);
      else if (!s) rt_release(&rt, result[0].p);
      CHECK(rt.live == live);
    }
  for (int k = 0; k < 2; k++) rt_release(&rt, split[k].p), rt_release(&rt, re[k].p);
  rt_release(&rt, list);
  clean("allocation failures");
}

int main(void) {
  heap_init(&heap);
  rt_init(&rt, &heap);
  rt.write = on_write;
  test_numbers();
  test_scalars();
  test_random();
  test_strings();
  test_regex();
  test_files();
  test_environment();
  test_show();
  test_compare();
  test_long_lists();
  test_arrays();
  test_matmul();
  test_bags();
  test_bag_failures();
  test_nested_bags(false);
  test_nested_bags(true);
  test_cotangents();
  test_shared_cotangents(false);
  test_shared_cotangents(true);
  test_sums_in_place();
  test_blocks();
  test_kept_blocks();
  test_kept_arrays();
  test_allocation_failures();
  rt_destroy(&rt);
  CHECK(heap.bytes == 0);
  return check_result();
}
