/* SPDX-License-Identifier: MIT */
/* String primitives. Strings are valid UTF-8 and never change; positions that a program sees count code points, except
 * where rt.def says bytes. Upper and lower case go by code point, with the host's tables for letters beyond ASCII where
 * the C library knows them. */
#define _GNU_SOURCE
#include "runtime/internal.h"
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

static int64_t count_points(const char *s, size_t n) {
  int64_t points = 0;
  for (size_t i = 0; i < n; i++) points += ((unsigned char)s[i] & 0xc0) != 0x80;
  return points;
}

/* Byte offset of the code point number `points` counted from s; n if there are fewer. */
static size_t skip_points(const char *s, size_t n, int64_t points) {
  size_t i = 0;
  while (i < n && points-- > 0) {
    int len = utf8_sequence(s + i, n - i, NULL);
    i += len ? (size_t)len : 1;
  }
  return i;
}

/* The first occurrence of part in s at or after `from`; NULL if none. */
static const char *find(const char *s, size_t n, const char *part, size_t m) {
  return m == 0 ? s : memmem(s, n, part, m);
}

static Status give(Rt *rt, const char *s, size_t n, Slot *res) {
  Obj *o = rt_new_string(rt, s, n);
  if (!o) return 1;
  res->p = o;
  return 0;
}

PRIM(prim_concat_string) {
  PRIM_UNUSED;
  const StringObj *a = slot_string(&args[0]), *b = slot_string(&args[1]);
  StringObj *s = rt_string_raw(rt, (size_t)a->len + (size_t)b->len);
  if (!s) return 1;
  memcpy(s->bytes, a->bytes, (size_t)a->len);
  memcpy(s->bytes + a->len, b->bytes, (size_t)b->len);
  res->p = &s->h;
  return 0;
}

static Status join(Rt *rt, const char *sep, size_t sep_len, const ArrayObj *parts, Slot *res) {
  size_t total = 0;
  int64_t n = parts->dims[0];
  for (int64_t i = 0; i < n; i++) total += (size_t)slot_string(&parts->data[i])->len + (i ? sep_len : 0);
  StringObj *s = rt_string_raw(rt, total);
  if (!s) return 1;
  char *p = s->bytes;
  for (int64_t i = 0; i < n; i++) {
    const StringObj *part = slot_string(&parts->data[i]);
    if (i) p = (char *)memcpy(p, sep, sep_len) + sep_len;
    p = (char *)memcpy(p, part->bytes, (size_t)part->len) + part->len;
  }
  res->p = &s->h;
  return 0;
}

PRIM(prim_concat_strings) {
  PRIM_UNUSED;
  return join(rt, "", 0, slot_array(&args[0]), res);
}

PRIM(prim_str_join) {
  PRIM_UNUSED;
  const StringObj *sep = slot_string(&args[0]);
  return join(rt, sep->bytes, (size_t)sep->len, slot_array(&args[1]), res);
}

PRIM(prim_str_length) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  res->i = count_points(s->bytes, (size_t)s->len);
  return 0;
}

PRIM(prim_str_sub) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  size_t n = (size_t)s->len;
  int64_t start = args[1].i, count = args[2].i, length = count_points(s->bytes, n);
  if (start < 0 || count < 0 || start > length || count > length - start)
    return rt_error(rt, ERR_SLICE, site, "%lld characters from %lld on are out of bounds for a string of length %lld",
                    (long long)count, (long long)start, (long long)length);
  size_t from = skip_points(s->bytes, n, start);
  return give(rt, s->bytes + from, skip_points(s->bytes + from, n - from, count), res);
}

PRIM(prim_str_find) {
  PRIM_UNUSED;
  const StringObj *part = slot_string(&args[0]), *s = slot_string(&args[1]);
  int64_t from = args[2].i < 0 ? 0 : args[2].i;
  res->i = -1;
  if (from > s->len) return 0;
  const char *at = find(s->bytes + from, (size_t)(s->len - from), part->bytes, (size_t)part->len);
  if (at) res->i = at - s->bytes;
  return 0;
}

/* The pieces between separators go to `out` (NULL: only counted). */
static Status split(Rt *rt, const StringObj *sep, const StringObj *s, ArrayObj *out, int64_t *count) {
  const char *p = s->bytes, *end = p + s->len;
  size_t m = (size_t)sep->len;
  for (*count = 0;;) {
    const char *at;
    if (m) at = find(p, (size_t)(end - p), sep->bytes, m);
    else at = end - p > 1 ? p + skip_points(p, (size_t)(end - p), 1) : NULL;
    if (m == 0 && at == end) at = NULL;
    if (out && give(rt, p, (size_t)((at ? at : end) - p), &out->data[*count])) return 1;
    ++*count;
    if (!at) return 0;
    p = at + m;
  }
}

PRIM(prim_str_split) {
  PRIM_UNUSED;
  const StringObj *sep = slot_string(&args[0]), *s = slot_string(&args[1]);
  int64_t n = 0;
  if (sep->len || s->len) split(rt, sep, s, NULL, &n); /* the empty string has no characters */
  ArrayObj *out = rt_new_strings(rt, n);
  if (!out) return 1;
  if (n && split(rt, sep, s, out, &n)) {
    rt_release(rt, &out->h);
    return 1;
  }
  res->p = &out->h;
  return 0;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

PRIM(prim_str_trim) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  const char *p = s->bytes, *end = p + s->len;
  while (p < end && is_blank(*p)) p++;
  while (end > p && is_blank(end[-1])) end--;
  return give(rt, p, (size_t)(end - p), res);
}

/* Letters of Latin-1, Greek and Cyrillic by rule, whatever the host's locale; others by the C library. */
static uint32_t change_case(uint32_t c, bool upper) {
  if (c < 0x80) return upper ? (c >= 'a' && c <= 'z' ? c - 32 : c) : (c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (upper) {
    if ((c >= 0xe0 && c <= 0xfe && c != 0xf7) || (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x44f)) return c - 32;
    if (c >= 0x450 && c <= 0x45f) return c - 80;
    return (uint32_t)towupper((wint_t)c);
  }
  if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || (c >= 0x410 && c <= 0x42f)) return c + 32;
  if (c >= 0x400 && c <= 0x40f) return c + 80;
  return (uint32_t)towlower((wint_t)c);
}

static Status map_case(Rt *rt, const StringObj *s, bool upper, Slot *res) {
  Buf b = {.rt = rt};
  for (size_t i = 0, n = (size_t)s->len; i < n;) {
    uint32_t c = 0;
    int len = utf8_sequence(s->bytes + i, n - i, &c);
    char out[4];
    if (len) buf_add(&b, out, (size_t)utf8_encode(change_case(c, upper), out));
    i += len ? (size_t)len : 1;
  }
  return buf_string(&b, &res->p);
}

PRIM(prim_str_upper) {
  PRIM_UNUSED;
  return map_case(rt, slot_string(&args[0]), true, res);
}

PRIM(prim_str_lower) {
  PRIM_UNUSED;
  return map_case(rt, slot_string(&args[0]), false, res);
}

PRIM(prim_str_contains) {
  PRIM_UNUSED;
  const StringObj *part = slot_string(&args[0]), *s = slot_string(&args[1]);
  res->i = find(s->bytes, (size_t)s->len, part->bytes, (size_t)part->len) != NULL;
  return 0;
}

PRIM(prim_str_starts_with) {
  PRIM_UNUSED;
  const StringObj *part = slot_string(&args[0]), *s = slot_string(&args[1]);
  res->i = part->len <= s->len && memcmp(s->bytes, part->bytes, (size_t)part->len) == 0;
  return 0;
}

PRIM(prim_str_ends_with) {
  PRIM_UNUSED;
  const StringObj *part = slot_string(&args[0]), *s = slot_string(&args[1]);
  res->i = part->len <= s->len && memcmp(s->bytes + (s->len - part->len), part->bytes, (size_t)part->len) == 0;
  return 0;
}

PRIM(prim_str_replace) {
  PRIM_UNUSED;
  const StringObj *from = slot_string(&args[0]), *to = slot_string(&args[1]), *s = slot_string(&args[2]);
  if (from->len == 0) return rt_error(rt, ERR_RANGE, site, "the text to replace can't be empty");
  Buf b = {.rt = rt};
  const char *p = s->bytes, *end = p + s->len, *at;
  while ((at = find(p, (size_t)(end - p), from->bytes, (size_t)from->len))) {
    buf_add(&b, p, (size_t)(at - p));
    buf_add(&b, to->bytes, (size_t)to->len);
    p = at + from->len;
  }
  buf_add(&b, p, (size_t)(end - p));
  return buf_string(&b, &res->p);
}

PRIM(prim_str_bytes) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  ArrayObj *a = rt_new_array(rt, rt->desc_int_array, &s->len, false);
  if (!a) return 1;
  for (int64_t i = 0; i < s->len; i++) a->data[i].i = (unsigned char)s->bytes[i];
  res->p = &a->h;
  return 0;
}

PRIM(prim_str_of_bytes) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[0]);
  StringObj *s = rt_string_raw(rt, (size_t)a->dims[0]);
  if (!s) return 1;
  Status status = 0;
  for (int64_t i = 0; i < s->len; i++) {
    if (a->data[i].i < 0 || a->data[i].i > 255)
      status = rt_error(rt, ERR_TEXT, site, "%lld is not a byte", (long long)a->data[i].i);
    s->bytes[i] = (char)a->data[i].i;
  }
  size_t bad;
  if (!status && !utf8_valid(s->bytes, (size_t)s->len, &bad))
    status = rt_error(rt, ERR_TEXT, site, "the bytes are not valid UTF-8 at offset %zu", bad);
  if (status) rt_release(rt, &s->h);
  else res->p = &s->h;
  return status;
}
