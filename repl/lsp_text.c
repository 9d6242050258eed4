/* SPDX-License-Identifier: MIT */
/* Texts of documents, and the three ways to name a place: bytes, which is what the library takes; lines and UTF-16
 * units, which is what clients mean; lines and characters, as diagnostics have them.
 *
 * Texts are UTF-8 but for files that aren't, where each byte that is none counts as one character. A zero byte is
 * C0 80, which counts as one, too. */
#define _GNU_SOURCE
#include "lsp.h"
#include "repl.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Lines ---------------------------------------------------------------------------------------------- */
void text_set(Text *t, char *bytes) {
  text_free(t);
  t->bytes = bytes;
  t->length = bytes ? strlen(bytes) : 0;
}

void text_free(Text *t) {
  free(t->bytes);
  free(t->lines);
  *t = (Text){0};
}

static size_t line_end(const Text *t, size_t at) { return at + strcspn(t->bytes + at, "\r\n"); }

static size_t next_line(const Text *t, size_t at) {
  size_t end = line_end(t, at);
  if (t->bytes[end] == '\r' && t->bytes[end + 1] == '\n') return end + 2;
  return end + (t->bytes[end] != '\0');
}

/* Finds the beginnings of lines. False: no memory. */
static bool index_lines(Text *t) {
  size_t room = 64, n = 0;
  if (t->nlines) return true;
  size_t *lines = malloc(room * sizeof *lines);
  for (size_t at = 0; lines; at = next_line(t, at)) {
    if (n == room) {
      size_t *more = realloc(lines, 2 * room * sizeof *lines);
      if (!more) free(lines);
      lines = more;
      room *= 2;
      if (!lines) break;
    }
    lines[n++] = at;
    if (!t->bytes[line_end(t, at)]) break;
  }
  t->lines = lines;
  t->nlines = lines ? n : 0;
  return lines;
}

/* ---- Characters ----------------------------------------------------------------------------------------- */
/* Bytes of the character at s; what is no UTF-8 counts byte by byte. */
static size_t character_length(const char *s) {
  if ((unsigned char)s[0] == 0xc0 && (unsigned char)s[1] == 0x80) return 2;
  int n = sequence_length((const unsigned char *)s);
  return n ? (size_t)n : 1;
}

static json_int_t units_of(size_t length) { return length == 4 ? 2 : 1; }

size_t text_offset(Text *t, Place p) {
  if (!index_lines(t) || p.line < 0) return 0;
  if ((size_t)p.line >= t->nlines) return t->length;
  size_t at = t->lines[p.line], end = line_end(t, at);
  for (json_int_t units = 0; at < end;) {
    size_t n = character_length(t->bytes + at);
    units += units_of(n);
    if (units > p.character) break;
    at += n;
  }
  return at;
}

Place text_place(Text *t, size_t offset) {
  if (!index_lines(t)) return (Place){0};
  if (offset > t->length) offset = t->length;
  size_t low = 0, high = t->nlines;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (t->lines[middle] <= offset) low = middle;
    else high = middle;
  }
  Place p = {.line = (json_int_t)low};
  size_t at = t->lines[low];
  if (t->last.line == p.line && at <= t->last_offset && t->last_offset <= offset) p = t->last, at = t->last_offset;
  while (at < offset) {
    size_t n = character_length(t->bytes + at);
    if (at + n > offset) return p; /* within a character */
    p.character += units_of(n);
    at += n;
  }
  t->last = p;
  t->last_offset = at;
  return p;
}

size_t text_offset_of(const Text *t, int line, int column) {
  const char *s = t->bytes;
  for (; line > 1 && s; line--) {
    s = strchr(s, '\n');
    if (s) s++;
  }
  if (!s) return t->length;
  for (; column > 1 && *s && *s != '\n'; column--) {
    int n = sequence_length((const unsigned char *)s); /* a zero byte counts as two there */
    s += n ? n : 1;
  }
  return (size_t)(s - t->bytes);
}

bool text_replace(Text *t, size_t start, size_t end, const char *by, size_t n) {
  char *bytes = malloc(t->length - (end - start) + n + 1);
  if (!bytes) return false;
  memcpy(bytes, t->bytes, start);
  if (n) memcpy(bytes + start, by, n);
  memcpy(bytes + start + n, t->bytes + end, t->length - end + 1);
  text_set(t, bytes);
  return true;
}

json_t *text_position(Text *t, size_t offset) {
  Place p = text_place(t, offset);
  return json_pack("{s:I,s:I}", "line", p.line, "character", p.character);
}

json_t *text_range(Text *t, size_t start, size_t end) {
  json_t *first = text_position(t, start);
  return json_pack("{s:o,s:o}", "start", first, "end", text_position(t, end));
}

json_t *text_json(const char *bytes, size_t n) {
  char *out = malloc(3 * n + 1), *to = out;
  for (size_t i = 0; out && i < n;) {
    size_t k = character_length(bytes + i);
    if ((unsigned char)bytes[i] == 0xc0 && k == 2) *to++ = '\0';
    else if (k == 1 && (unsigned char)bytes[i] >= 0x80) to = stpcpy(to, "\xef\xbf\xbd");
    else memcpy(to, bytes + i, k), to += k;
    i += k;
  }
  json_t *text = out ? json_stringn(out, (size_t)(to - out)) : NULL;
  free(out);
  return text;
}

/* ---- Files ---------------------------------------------------------------------------------------------- */
/* Only of a regular file: a pipe would hold the server up. */
static bool is_regular(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool text_read(Text *t, const char *path) {
  text_set(t, is_regular(path) ? slurp(path) : NULL);
  return t->bytes;
}

/* ---- Names of files ------------------------------------------------------------------------------------- */
static int digit(char c) {
  static const char digits[] = "0123456789abcdef";
  const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
  return at ? (int)(at - digits) : -1;
}

static void decode(char *s) {
  char *to = s;
  for (; *s; s++) {
    int high = *s == '%' ? digit(s[1]) : -1, low = high >= 0 ? digit(s[2]) : -1;
    bool escape = low >= 0 && high + low > 0;
    *to++ = escape ? (char)(16 * high + low) : *s;
    if (escape) s += 2;
  }
  *to = '\0';
}

/* Without empty parts, `.` and `..`, as the library names what is imported. */
static void normalise(char *path) {
  char *to = path;
  for (const char *at = path; *at;) {
    size_t skipped = strspn(at, "/"), n = strcspn(at + skipped, "/");
    const char *part = at + skipped;
    at = part + n;
    if (n == 0 || (n == 1 && part[0] == '.')) continue;
    if (n == 2 && part[0] == '.' && part[1] == '.') {
      while (to > path && *--to != '/') {}
      continue;
    }
    *to++ = '/';
    memmove(to, part, n);
    to += n;
  }
  if (to == path) *to++ = '/';
  *to = '\0';
}

char *path_of_uri(const char *uri) {
  bool file = strncasecmp(uri, "file://", 7) == 0;
  const char *path = file ? strchr(uri + 7, '/') : NULL;
  char *copy = strdup(path ? path : uri);
  if (copy && path) {
    decode(copy);
    normalise(copy);
  }
  return copy;
}

char *uri_of_path(const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  char *uri = malloc(3 * strlen(path) + 8);
  if (!uri) return NULL;
  if (*path != '/') return strcpy(uri, path);
  char *to = stpcpy(uri, "file://");
  for (; *path; path++)
    if (strchr(plain, *path)) *to++ = *path;
    else to += sprintf(to, "%%%02X", (unsigned char)*path);
  *to = '\0';
  return uri;
}
