/* SPDX-License-Identifier: MIT */
/* String primitives. Strings are valid UTF-8 and never change; positions that a program sees count code points, except
 * where rt.def says bytes. Upper and lower case go by code point, with the host's tables for letters beyond ASCII where
 * the C library knows them. */
#define _GNU_SOURCE
#include "runtime/runtime_internal.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Characters and bytes ---------------------------------------------------------------------------------------- */
static bool begins(const char *p) { return ((unsigned char)*p & 0xc0) != 0x80; }

/* Where a stretch of work between two looks for interrupts ends. */
static size_t stride(size_t n, size_t from) { return n - from < RT_STRIDE ? n : from + RT_STRIDE; }

static bool is_ascii(const char *s, size_t n) {
  char all = 0;
  for (size_t i = 0; i < n; i++) all |= s[i];
  return !(all & 0x80);
}

static Status text_points(Rt *rt, StringObj *s, int64_t *points) {
  size_t n = (size_t)s->len;
  int64_t known = __atomic_load_n(&s->points, __ATOMIC_RELAXED), counted = 0;
  for (size_t from = 0, to; known < 0 && from < n; from = to) {
    if (rt_look(rt)) return 1;
    to = n - from < RT_STRIDE ? n : from + RT_STRIDE;
    for (size_t i = from; i < to; i++) counted += begins(s->bytes + i);
  }
  if (known < 0) __atomic_store_n(&s->points, counted, __ATOMIC_RELAXED);
  *points = known < 0 ? counted : known;
  return 0;
}

/* Takes p to the place whose point (or byte) is `target`: key points to that member of p. */
static Status walk(Rt *rt, const StringObj *s, TextPlace *p, const int64_t *key, int64_t target) {
  while (*key != target) {
    int64_t step = *key < target ? 1 : -1;
    if (rt_look_at(rt, p->point)) return 1;
    do p->byte += step;
    while (!begins(s->bytes + p->byte));
    p->point += step;
  }
  return 0;
}

static int64_t distance(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

/* The place with that point, or byte, found from the nearest one that is known, and kept in a string that no other
 * thread can reach. `points`: of the string. */
static Status find_place(Rt *rt, StringObj *s, int64_t points, bool by_byte, int64_t target, TextPlace *found) {
  TextPlace *kept = rt_is_shared(rt, &s->h) ? NULL : rt_string_place(s);
  TextPlace known[] = {{0, 0}, {points, s->len}, kept ? *kept : (TextPlace){0, 0}};
  *found = known[0];
  const int64_t *key = by_byte ? &found->byte : &found->point;
  for (int k = 1; k < 3; k++) {
    int64_t other = by_byte ? known[k].byte : known[k].point;
    if (distance(other, target) < distance(*key, target)) *found = known[k];
  }
  if (walk(rt, s, found, key, target)) return 1;
  if (kept) *kept = *found;
  return 0;
}

static Status text_place(Rt *rt, StringObj *s, int64_t point, int64_t *byte) {
  int64_t points;
  TextPlace p = {point, point};
  if (text_points(rt, s, &points) || (points != s->len && find_place(rt, s, points, false, point, &p))) return 1;
  *byte = p.byte;
  return 0;
}

/* ---- Searching --------------------------------------------------------------------------------------------------- */
/* *at is the first occurrence of part in s, NULL if there is none. */
static Status find(Rt *rt, const char *s, size_t n, const char *part, size_t m, const char **at) {
  enum { WINDOW = 1 << 20 };
  *at = m == 0 ? s : NULL;
  for (size_t from = 0; m && m <= n - from; from += WINDOW) {
    if (rt_look(rt)) return 1;
    size_t here = n - from < WINDOW + m - 1 ? n - from : WINDOW + m - 1;
    if ((*at = memmem(s + from, here, part, m)) || here == n - from) break;
  }
  return 0;
}

Status rt_check_text(Rt *rt, const char *s, size_t n, bool *valid, size_t *bad) {
  *valid = true;
  for (size_t from = 0, to; *valid && from < n; from = to) {
    if (rt_look(rt)) return 1;
    to = n - from < RT_STRIDE ? n : from + RT_STRIDE;
    /* to the start of a character */
    for (int k = 0; k < 3 && to < n && ((unsigned char)s[to] & 0xc0) == 0x80; k++) to--;
    *valid = utf8_valid(s + from, to - from, bad);
    if (!*valid) *bad += from;
  }
  return 0;
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
  int64_t n = parts->dims[0], points = 0; /* of all; -1: not known */
  for (int64_t i = 0; i < n; i++) {
    const StringObj *part = slot_string(&parts->data[i]);
    if (rt_look_at(rt, i)) return 1;
    total += (size_t)part->len + (i ? sep_len : 0);
    int64_t known = __atomic_load_n(&part->points, __ATOMIC_RELAXED);
    points = points < 0 || known < 0 ? -1 : points + known;
  }
  StringObj *s = rt_string_raw(rt, total);
  if (!s) return 1;
  if (points >= 0 && is_ascii(sep, sep_len)) s->points = points + (n > 1 ? (n - 1) * (int64_t)sep_len : 0);
  char *p = s->bytes;
  for (int64_t i = 0; i < n; i++) {
    const StringObj *part = slot_string(&parts->data[i]);
    if (rt_look(rt)) {
      rt_release(rt, &s->h);
      return 1;
    }
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
  return text_points(rt, (StringObj *)args[0].p, &res->i);
}

PRIM(prim_str_sub) {
  PRIM_UNUSED;
  StringObj *s = (StringObj *)args[0].p;
  int64_t start = args[1].i, count = args[2].i, length, from, to;
  if (text_points(rt, s, &length)) return 1;
  if (start < 0 || count < 0 || start > length || count > length - start)
    return rt_error(rt, ERR_SLICE, site, "%lld characters from %lld on are out of bounds for a string of length %lld",
                    (long long)count, (long long)start, (long long)length);
  if (text_place(rt, s, start, &from) || text_place(rt, s, start + count, &to)) return 1;
  if (give(rt, s->bytes + from, (size_t)(to - from), res)) return 1;
  ((StringObj *)res->p)->points = count;
  return 0;
}

PRIM(prim_str_part) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  int64_t from = args[1].i, to = args[2].i < s->len ? args[2].i : s->len;
  bool some = from >= 0 && from < to;
  return give(rt, s->bytes + (some ? from : 0), some ? (size_t)(to - from) : 0, res);
}

PRIM(prim_str_point) {
  PRIM_UNUSED;
  StringObj *s = (StringObj *)args[0].p;
  int64_t points;
  TextPlace p = {args[1].i, args[1].i};
  if (text_points(rt, s, &points) || (points != s->len && find_place(rt, s, points, true, args[1].i, &p))) return 1;
  res->i = p.point;
  return 0;
}

PRIM(prim_str_find) {
  PRIM_UNUSED;
  const StringObj *part = slot_string(&args[0]), *s = slot_string(&args[1]);
  int64_t from = args[2].i < 0 ? 0 : args[2].i;
  const char *at = NULL;
  if (from <= s->len && find(rt, s->bytes + from, (size_t)(s->len - from), part->bytes, (size_t)part->len, &at))
    return 1;
  res->i = at ? at - s->bytes : -1;
  return 0;
}

/* The next character that begins at p or behind it, or the NUL. */
static const char *skip_rest(const char *p) {
  while (!begins(p)) p++;
  return p;
}

/* The pieces between separators go to `out` (NULL: only counted). */
static Status split(Rt *rt, const StringObj *sep, const StringObj *s, ArrayObj *out, int64_t *count) {
  const char *p = s->bytes, *end = p + s->len;
  size_t m = (size_t)sep->len;
  for (*count = 0;;) {
    const char *at = NULL;
    if (rt_look(rt)) return 1;
    if (m && find(rt, p, (size_t)(end - p), sep->bytes, m, &at)) return 1;
    if (m == 0 && (at = p + 1) < end) at = skip_rest(at);
    if (m == 0 && at >= end) at = NULL;
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
  if ((sep->len || s->len) && split(rt, sep, s, NULL, &n)) return 1; /* the empty string has no characters */
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
  for (; p < end && is_blank(*p); p++)
    if (rt_look_at(rt, end - p)) return 1;
  for (; end > p && is_blank(end[-1]); end--)
    if (rt_look_at(rt, end - p)) return 1;
  return give(rt, p, (size_t)(end - p), res);
}

/* Letters of Latin-1, Greek and Cyrillic; others stay, whatever tables the C library has. */
static uint32_t change_case(uint32_t c, bool upper) {
  if (c < 0x80) return upper ? (c >= 'a' && c <= 'z' ? c - 32 : c) : (c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (upper) {
    if ((c >= 0xe0 && c <= 0xfe && c != 0xf7) || (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x44f))
      return c - 32;
    if (c >= 0x450 && c <= 0x45f) return c - 80;
    return c;
  }
  if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) || (c >= 0x410 && c <= 0x42f))
    return c + 32;
  if (c >= 0x400 && c <= 0x40f) return c + 80;
  return c;
}

static Status map_case(Rt *rt, const StringObj *s, bool upper, Slot *res) {
  Buf b = {.rt = rt};
  for (size_t i = 0, n = (size_t)s->len; i < n && !b.failed;) {
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
  const char *at;
  if (find(rt, s->bytes, (size_t)s->len, part->bytes, (size_t)part->len, &at)) return 1;
  res->i = at != NULL;
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
  const char *p = s->bytes, *end = p + s->len, *at = NULL;
  while (!b.failed && !(b.failed = find(rt, p, (size_t)(end - p), from->bytes, (size_t)from->len, &at)) && at) {
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
  size_t n = (size_t)s->len;
  ArrayObj *a = rt_new_array(rt, rt->desc_int_array, &s->len, false);
  if (!a) return 1;
  for (size_t from = 0, to; from < n; from = to) {
    if (rt_look(rt)) {
      rt_release(rt, &a->h);
      return 1;
    }
    to = stride(n, from);
    for (size_t i = from; i < to; i++) a->data[i].i = (unsigned char)s->bytes[i];
  }
  res->p = &a->h;
  return 0;
}

static bool is_byte(int64_t x) { return x >= 0 && x <= UCHAR_MAX; }

/* Fills n bytes at `to`; all of them are looked at together, and one by one only if there is one that is none. */
static Status fill_bytes(Rt *rt, char *to, const Slot *from, size_t n, uint32_t site) {
  uint64_t all = 0;
  for (size_t i = 0; i < n; i++) {
    all |= (uint64_t)from[i].i;
    to[i] = (char)from[i].i;
  }
  if (all <= UCHAR_MAX) return 0;
  while (is_byte(from->i)) from++;
  return rt_fail_byte(rt, from->i, site);
}

/* A new string must be UTF-8. If it is ASCII, its length in characters is known then. */
static Status check_utf8(Rt *rt, StringObj *s, uint32_t site) {
  size_t n = (size_t)s->len, from = 0, bad;
  bool valid;
  for (; from < n && is_ascii(s->bytes + from, stride(n, from) - from); from = stride(n, from))
    if (rt_look(rt)) return 1;
  if (from == n) s->points = s->len;
  if (from == n) return 0;
  if (rt_check_text(rt, s->bytes + from, n - from, &valid, &bad)) return 1;
  return valid ? 0 : rt_error(rt, ERR_TEXT, site, "the bytes are not valid UTF-8 at offset %zu", from + bad);
}

PRIM(prim_str_of_bytes) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[0]);
  size_t n = (size_t)a->dims[0];
  StringObj *s = rt_string_raw(rt, n);
  if (!s) return 1;
  Status status = 0;
  for (size_t from = 0, to; from < n && !status; from = to) {
    to = stride(n, from);
    status = rt_look(rt) || fill_bytes(rt, s->bytes + from, a->data + from, to - from, site);
  }
  status = status || check_utf8(rt, s, site);
  if (status) rt_release(rt, &s->h);
  else res->p = &s->h;
  return status;
}

PRIM(prim_str_blank) {
  PRIM_UNUSED;
  StringObj *s = rt_string_raw(rt, (size_t)args[0].i);
  if (!s) return 1;
  res->p = &s->h;
  return 0;
}

PRIM(prim_str_checked) {
  PRIM_UNUSED;
  if (check_utf8(rt, (StringObj *)args[0].p, site)) return 1;
  rt_retain(args[0].p);
  res->p = args[0].p;
  return 0;
}
