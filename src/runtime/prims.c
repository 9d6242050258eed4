/* SPDX-License-Identifier: MIT */
/* The table of primitives, one entry for each row of src/prims/rt.def, and those that are too small for a file of
 * their own. A primitive borrows its arguments, and leaves its results alone if it fails. Those with an effect say
 * so in rt->had_effect before they do it, but for reading the clock and the environment, which does no harm twice. */
#include "runtime/runtime_internal.h"
#include <stdlib.h>
#include <string.h>

static Status show(Rt *rt, const Desc *type, const Slot *args, bool bare, Slot *res) {
  Buf b = {.rt = rt};
  rt_show_to(rt, type, args, bare, &b);
  return buf_string(&b, &res->p);
}

static PRIM(prim_show) {
  PRIM_UNUSED;
  return show(rt, type, args, false, res);
}

static PRIM(prim_display) {
  PRIM_UNUSED;
  return show(rt, type, args, true, res);
}

static PRIM(prim_print) {
  PRIM_UNUSED;
  Buf b = {.rt = rt};
  rt_show_to(rt, type, args, true, &b);
  buf_addc(&b, '\n');
  Status status = b.failed;
  if (!status) {
    rt->had_effect = true;
    if (rt->write) rt->write(rt->user, b.data, b.len);
  }
  buf_free(&b);
  return status;
}

static Status compare(Rt *rt, CompareMode mode, const Desc *type, const Slot *args, Slot *res) {
  int result;
  if (rt_compare_values(rt, mode, type, args, args + type->nslots, &result)) return 1;
  res->i = result;
  return 0;
}

static PRIM(prim_equal) {
  PRIM_UNUSED;
  return compare(rt, MODE_EQUAL, type, args, res);
}

static PRIM(prim_compare) {
  PRIM_UNUSED;
  return compare(rt, MODE_COMPARE, type, args, res);
}

static PRIM(prim_close) {
  PRIM_UNUSED;
  return compare(rt, MODE_CLOSE, type, args, res);
}

/* The type is the array's or its element's: a matrix's rows count as elements. */
static PRIM(prim_argsort) {
  PRIM_UNUSED;
  ArrayObj *a = slot_array(&args[0]), *order;
  if (rt_argsort(rt, a->h.desc, a, &order)) return 1;
  res->p = &order->h;
  return 0;
}

static PRIM(prim_args) {
  PRIM_UNUSED;
  ArrayObj *a = rt_new_strings(rt, rt->nargs);
  for (int i = 0; a && i < rt->nargs; i++) {
    a->data[i].p = rt_new_string(rt, rt->args[i], strlen(rt->args[i]));
    if (!a->data[i].p) {
      rt_release(rt, &a->h);
      a = NULL;
    }
  }
  if (!a) return 1;
  res->p = &a->h;
  return 0;
}

static PRIM(prim_env) {
  PRIM_UNUSED;
  const char *value = getenv(slot_string(&args[0])->bytes);
  bool usable = value && utf8_valid(value, strlen(value), NULL);
  Obj *s = rt_new_string(rt, usable ? value : "", usable ? strlen(value) : 0);
  if (!s) return 1;
  res[0].i = usable;
  res[1].p = s;
  return 0;
}

static PRIM(prim_time) {
  PRIM_UNUSED;
  res->f = rt_now();
  return 0;
}

const RtPrimFn rt_prims[RTP_COUNT] = {
    [RTP_SHOW] = prim_show,
    [RTP_DISPLAY] = prim_display,
    [RTP_PRINT] = prim_print,
    [RTP_EQUAL] = prim_equal,
    [RTP_COMPARE] = prim_compare,
    [RTP_CLOSE] = prim_close,
    [RTP_FORMAT_FLOAT] = prim_format_float,
    [RTP_FORMAT_INT] = prim_format_int,
    [RTP_FORMAT_STRING] = prim_format_string,
    [RTP_CONCAT_STRINGS] = prim_concat_strings,
    [RTP_CONCAT_STRING] = prim_concat_string,
    [RTP_FLOAT_OF_STRING] = prim_float_of_string,
    [RTP_INT_OF_STRING] = prim_int_of_string,
    [RTP_ARGSORT] = prim_argsort,
    [RTP_STR_LENGTH] = prim_str_length,
    [RTP_STR_SUB] = prim_str_sub,
    [RTP_STR_FIND] = prim_str_find,
    [RTP_STR_SPLIT] = prim_str_split,
    [RTP_STR_JOIN] = prim_str_join,
    [RTP_STR_TRIM] = prim_str_trim,
    [RTP_STR_UPPER] = prim_str_upper,
    [RTP_STR_LOWER] = prim_str_lower,
    [RTP_STR_CONTAINS] = prim_str_contains,
    [RTP_STR_STARTS_WITH] = prim_str_starts_with,
    [RTP_STR_ENDS_WITH] = prim_str_ends_with,
    [RTP_STR_REPLACE] = prim_str_replace,
    [RTP_REGEX_TEST] = prim_regex_test,
    [RTP_REGEX_FIND] = prim_regex_find,
    [RTP_REGEX_REPLACE] = prim_regex_replace,
    [RTP_REGEX_SPLIT] = prim_regex_split,
    [RTP_READ_FILE] = prim_read_file,
    [RTP_READ_LINES] = prim_read_lines,
    [RTP_WRITE_FILE] = prim_write_file,
    [RTP_APPEND_FILE] = prim_append_file,
    [RTP_CSV_READ] = prim_csv_read,
    [RTP_CSV_NUMBERS] = prim_csv_numbers,
    [RTP_ARGS] = prim_args,
    [RTP_ENV] = prim_env,
    [RTP_TIME] = prim_time,
    [RTP_MATMUL] = prim_matmul,
    [RTP_RANDOM_BITS] = prim_random_bits,
    [RTP_STR_BYTES] = prim_str_bytes,
    [RTP_STR_OF_BYTES] = prim_str_of_bytes,
};
