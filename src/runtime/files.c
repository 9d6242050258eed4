/* SPDX-License-Identifier: MIT */
/* Reading and writing files of UTF-8 text. Whatever the system refuses is an error with its reason; text that isn't
 * UTF-8 is an error with the line. */
#define _GNU_SOURCE
#include "runtime/internal.h"
#include <errno.h>
#include <string.h>

static Status io_error(Rt *rt, const char *what, const StringObj *path, uint32_t site) {
  char reason[128] = "";
  const char *text = strerror_r(errno, reason, sizeof reason);
  return rt_error(rt, ERR_IO, site, "can't %s \"%s\": %s", what, path->bytes, text);
}

Status rt_read_text(Rt *rt, const StringObj *path, Buf *out, uint32_t site) {
  rt->had_effect = true;
  FILE *f = fopen(path->bytes, "rb");
  if (!f) return io_error(rt, "read", path, site);
  char chunk[8192];
  size_t n;
  while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && !out->failed) buf_add(out, chunk, n);
  Status status = out->failed;
  if (!status && ferror(f)) status = io_error(rt, "read", path, site);
  fclose(f);
  size_t bad;
  if (!status && !utf8_valid(out->data, out->len, &bad)) {
    size_t line = 1;
    for (size_t i = 0; i < bad; i++) line += out->data[i] == '\n';
    status = rt_error(rt, ERR_TEXT, site, "\"%s\" is not valid UTF-8 in line %zu", path->bytes, line);
  }
  return status;
}

PRIM(prim_read_file) {
  PRIM_UNUSED;
  Buf b = {.rt = rt};
  if (rt_read_text(rt, slot_string(&args[0]), &b, site)) {
    buf_free(&b);
    return 1;
  }
  return buf_string(&b, &res->p);
}

/* The lines, without their ends (\n or \r\n), go to `out` (NULL: only counted). */
static Status cut_lines(Rt *rt, const Buf *b, ArrayObj *out, int64_t *count) {
  *count = 0;
  for (size_t i = 0; i < b->len; ++*count) {
    const char *start = b->data + i, *end = memchr(start, '\n', b->len - i);
    size_t n = end ? (size_t)(end - start) : b->len - i;
    i += n + 1;
    if (n && start[n - 1] == '\r') n--;
    if (out && !(out->data[*count].p = rt_new_string(rt, start, n))) return 1;
  }
  return 0;
}

PRIM(prim_read_lines) {
  PRIM_UNUSED;
  Buf b = {.rt = rt};
  ArrayObj *lines = NULL;
  int64_t n = 0;
  Status status = rt_read_text(rt, slot_string(&args[0]), &b, site);
  if (!status) {
    cut_lines(rt, &b, NULL, &n);
    lines = rt_new_strings(rt, n);
    status = lines ? cut_lines(rt, &b, lines, &n) : 1;
  }
  buf_free(&b);
  if (status) rt_release(rt, lines ? &lines->h : NULL);
  else res->p = &lines->h;
  return status;
}

static Status write_text(Rt *rt, const Slot *args, const char *mode, uint32_t site) {
  const StringObj *path = slot_string(&args[0]), *text = slot_string(&args[1]);
  rt->had_effect = true;
  FILE *f = fopen(path->bytes, mode);
  if (!f) return io_error(rt, "write", path, site);
  bool whole = fwrite(text->bytes, 1, (size_t)text->len, f) == (size_t)text->len;
  int reason = errno;
  bool closed = fclose(f) == 0;
  if (whole && closed) return 0;
  if (!whole) errno = reason;
  return io_error(rt, "write", path, site);
}

PRIM(prim_write_file) {
  PRIM_UNUSED;
  return write_text(rt, args, "wb", site);
}

PRIM(prim_append_file) {
  PRIM_UNUSED;
  return write_text(rt, args, "ab", site);
}
