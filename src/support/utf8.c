/* SPDX-License-Identifier: MIT */
/* UTF-8: decoding that accepts exactly the well-formed sequences (no overlong
 * forms, no surrogates, nothing over U+10FFFF), encoding, and the number of
 * terminal columns a text takes. The two width tables are short on purpose:
 * they place the underlines of error messages, and cover the combining marks
 * and the East Asian wide and emoji blocks. */
#include "support/support.h"

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

int utf8_sequence(const char *s, size_t n, uint32_t *codepoint) {
  if (n == 0) return 0;
  unsigned char b = (unsigned char)s[0];
  if (b < 0x80) {
    if (codepoint) *codepoint = b;
    return 1;
  }
  int len = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
  if (b < 0xc2 || b > 0xf4 || (size_t)len > n) return 0;
  uint32_t c = b & (0xffu >> (len + 1));
  for (int i = 1; i < len; i++) {
    if (!is_continuation(s[i])) return 0;
    c = c << 6 | ((unsigned char)s[i] & 0x3fu);
  }
  bool overlong = (len == 3 && c < 0x800) || (len == 4 && c < 0x10000);
  if (overlong || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return 0;
  if (codepoint) *codepoint = c;
  return len;
}

bool utf8_valid(const char *s, size_t n, size_t *bad_offset) {
  for (size_t i = 0; i < n;) {
    int len = utf8_sequence(s + i, n - i, NULL);
    if (!len) {
      if (bad_offset) *bad_offset = i;
      return false;
    }
    i += (size_t)len;
  }
  return true;
}

int utf8_encode(uint32_t c, char out[4]) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  if (c < 0x800) {
    out[0] = (char)(0xc0 | c >> 6);
    out[1] = (char)(0x80 | (c & 0x3f));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 0x3f));
    out[2] = (char)(0x80 | (c & 0x3f));
    return 3;
  }
  out[0] = (char)(0xf0 | c >> 18);
  out[1] = (char)(0x80 | (c >> 12 & 0x3f));
  out[2] = (char)(0x80 | (c >> 6 & 0x3f));
  out[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

typedef struct Range {
  uint32_t first, last;
} Range;

static bool in_ranges(const Range *r, int n, uint32_t c) {
  for (int i = 0; i < n && r[i].first <= c; i++)
    if (c <= r[i].last) return true;
  return false;
}

static int codepoint_width(uint32_t c) {
  static const Range combining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                    {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
  static const Range wide[] = {{0x1100, 0x115f},  {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                               {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                               {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                               {0x20000, 0x3fffd}};
  if (c < 0x300) return 1;
  if (in_ranges(combining, (int)(sizeof combining / sizeof *combining), c)) return 0;
  return in_ranges(wide, (int)(sizeof wide / sizeof *wide), c) ? 2 : 1;
}

int utf8_width(const char *s, size_t n) {
  int width = 0;
  for (size_t i = 0; i < n;) {
    uint32_t c = 0;
    int len = utf8_sequence(s + i, n - i, &c);
    width += len ? codepoint_width(c) : 1;
    i += len ? (size_t)len : 1;
  }
  return width;
}
