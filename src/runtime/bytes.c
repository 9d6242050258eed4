/* SPDX-License-Identifier: MIT */
/* Numbers out of bytes, and bytes of numbers (stdlib/Bytes.atl). Bytes are an array of ints, eight in each as they lie
 * in memory.
 *
 * A format is an int: the size of a number in bytes, plus FLOAT, INT or UINT, plus BIG if its highest byte comes
 * first. A number is read from, or put into, the low bytes of a word of 64 bits; files of floats or ints as memory has
 * them are copied in one go. */
#include "runtime/runtime_internal.h"
#include <string.h>

enum { SIZE = 15, FLOAT = 16, INT = 32, UINT = 64, BIG = 128 };

typedef struct Numbers {
  int size;
  bool floats, sign, big;
} Numbers;

/* False: there is no such format. */
static bool format_of(int64_t code, Numbers *out) {
  int64_t kind = code & (FLOAT | INT | UINT), size = code & SIZE;
  *out = (Numbers){(int)size, kind == FLOAT, kind == INT, code & BIG};
  if (code < 0 || code >= 2 * BIG) return false;
  if (kind == FLOAT) return size == 4 || size == 8;
  return (kind == INT || kind == UINT) && size >= 1 && size <= 8;
}

static bool memory_is_big(void) {
  const uint16_t one = 1;
  return *(const unsigned char *)&one == 0;
}

/* Do slots have the format? */
static bool is_plain(const Numbers *f, bool floats) {
  return f->size == 8 && f->big == memory_is_big() && (floats ? f->floats : f->sign);
}

/* The bytes of a number as an unsigned integer. */
static inline uint64_t load(const unsigned char *from, int size, bool big) {
  uint64_t u = 0;
  for (int k = 0; k < size; k++) u |= (uint64_t)from[big ? size - 1 - k : k] << 8 * k;
  return u;
}

static inline void store(unsigned char *to, uint64_t u, int size, bool big) {
  for (int k = 0; k < size; k++) to[big ? size - 1 - k : k] = (unsigned char)(u >> 8 * k);
}

static inline int64_t with_sign(uint64_t u, int size) {
  int shift = 64 - 8 * size;
  return (int64_t)(u << shift) >> shift;
}

static inline double float_of(uint64_t u, int size) {
  double d;
  float f;
  uint32_t low = (uint32_t)u;
  if (size == 4) return memcpy(&f, &low, sizeof f), f;
  return memcpy(&d, &u, sizeof d), d;
}

static inline uint64_t bits_of(double x, int size) {
  uint64_t u;
  uint32_t low;
  float f = (float)x;
  if (size == 4) return memcpy(&low, &f, sizeof low), low;
  return memcpy(&u, &x, sizeof u), u;
}

/* ---- Out of bytes ------------------------------------------------------------------------------------------------ */
/* args: words, first byte, how many numbers, format. */
static Status find_numbers(Rt *rt, const Slot *args, Numbers *f, const unsigned char **from, uint32_t site) {
  const ArrayObj *words = slot_array(&args[0]);
  int64_t first = args[1].i, n = args[2].i, bytes = words->dims[0] * (int64_t)sizeof(Slot);
  if (!format_of(args[3].i, f)) return rt_error(rt, ERR_RANGE, site, "there are no numbers of this format");
  if (first < 0 || n < 0 || first > bytes || n > (bytes - first) / f->size)
    return rt_error(rt, ERR_RANGE, site, "%lld numbers of %d bytes from byte %lld on aren't within %lld bytes",
                    (long long)n, f->size, (long long)first, (long long)bytes);
  *from = (const unsigned char *)words->data + first;
  return 0;
}

static Slot number_of(const Numbers *f, uint64_t u, bool wanted_float) {
  Slot s;
  if (f->floats) return s.f = float_of(u, f->size), s;
  int64_t i = f->sign ? with_sign(u, f->size) : (int64_t)u;
  if (!wanted_float) return s.i = i, s;
  return s.f = f->sign ? (double)i : (double)u, s;
}

static Status read_numbers(Rt *rt, const Slot *args, Slot *res, bool floats, uint32_t site) {
  Numbers f;
  const unsigned char *from = NULL;
  int64_t n = args[2].i;
  if (find_numbers(rt, args, &f, &from, site)) return 1;
  ArrayObj *a = rt_new_array(rt, floats ? rt->desc_float_array : rt->desc_int_array, &n, false);
  if (!a) return 1;
  Status status = 0;
  if (is_plain(&f, floats) && n) memcpy(a->data, from, (size_t)n * sizeof(Slot));
  else
    for (int64_t i = 0; i < n && !status; i++, from += f.size) {
      uint64_t u = load(from, f.size, f.big);
      status = rt_look_at(rt, i);
      if (!floats && !f.floats && !f.sign && u > INT64_MAX)
        status =
            rt_error(rt, ERR_RANGE, site, "number %lld is %llu, which is no int", (long long)i, (unsigned long long)u);
      a->data[i] = number_of(&f, u, floats);
    }
  if (status) rt_release(rt, &a->h);
  else res->p = &a->h;
  return status;
}

PRIM(prim_floats_of_words) {
  PRIM_UNUSED;
  return read_numbers(rt, args, res, true, site);
}

PRIM(prim_ints_of_words) {
  PRIM_UNUSED;
  if (args[3].i & FLOAT) return rt_error(rt, ERR_RANGE, site, "floats are no ints");
  return read_numbers(rt, args, res, false, site);
}

/* ---- Into bytes -------------------------------------------------------------------------------------------------- */
static bool fits(const Numbers *f, int64_t i) {
  if (f->size == 8) return f->sign || i >= 0;
  int64_t end = (int64_t)1 << (8 * f->size - f->sign);
  return i < end && i >= (f->sign ? -end : 0);
}

static Status write_numbers(Rt *rt, const Slot *args, Slot *res, bool floats, uint32_t site) {
  const ArrayObj *from = slot_array(&args[0]);
  Numbers f;
  if (!format_of(args[1].i, &f) || f.floats != floats)
    return rt_error(rt, ERR_RANGE, site, "numbers aren't written in this format");
  int64_t n = from->dims[0], words = n / 8 * f.size + (n % 8 * f.size + 7) / 8;
  ArrayObj *a = rt_new_array(rt, rt->desc_int_array, &words, true);
  if (!a) return 1;
  unsigned char *to = (unsigned char *)a->data;
  Status status = 0;
  if (is_plain(&f, floats) && n) memcpy(to, from->data, (size_t)n * sizeof(Slot));
  else
    for (int64_t i = 0; i < n && !status; i++, to += f.size) {
      status = rt_look_at(rt, i);
      if (!floats && !fits(&f, from->data[i].i))
        status = rt_error(rt, ERR_RANGE, site, "element %lld is %lld, which doesn't fit into %d byte%s", (long long)i,
                          (long long)from->data[i].i, f.size, f.size == 1 ? "" : "s");
      store(to, floats ? bits_of(from->data[i].f, f.size) : (uint64_t)from->data[i].i, f.size, f.big);
    }
  if (status) rt_release(rt, &a->h);
  else res->p = &a->h;
  return status;
}

PRIM(prim_words_of_floats) {
  PRIM_UNUSED;
  return write_numbers(rt, args, res, true, site);
}

PRIM(prim_words_of_ints) {
  PRIM_UNUSED;
  return write_numbers(rt, args, res, false, site);
}
