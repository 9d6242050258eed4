/* SPDX-License-Identifier: MIT */
/* Standard streams and `exit`. All writing and reading goes through the host's functions (Rt.write, flush, read).
 * Where the host gave none to read with, descriptor 0 is read, and never blocks for longer than interrupts may be
 * delayed.
 *
 * Input is collected in Rt.input until a line, or all of it, is complete. So after an interrupt, a failure or text
 * that isn't UTF-8 the input is still there for the next read. */
#define _GNU_SOURCE
#include "runtime/runtime_internal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16, KEPT = 1 << 20 /* of an empty buffer */ };

/* ---- Writing ----------------------------------------------------------------------------------------------------- */
/* The first error stays, an interrupt of the waiting or a limit perhaps; it gets this place if it has none. */
static Status no_output(Rt *rt, uint32_t site) {
  if (rt->error.kind != ERR_NONE && !rt->error.site) rt->error.site = site;
  return rt_error(rt, ERR_OUTPUT, site, "the output isn't taken");
}

static Status write_to(Rt *rt, RtStream to, const char *text, size_t n, uint32_t site) {
  if (rt_leave_worker(rt)) return 1;
  if (!rt->write) return 0;
  if (to == RT_OUT && n) rt->line.output_begun = text[n - 1] != '\n';
  if (rt_end_line(rt) && rt->write(rt->user, to, text, n)) return 0;
  return no_output(rt, site);
}

static Status flush(Rt *rt, uint32_t site) {
  if (!rt->flush || rt->flush(rt->user)) return 0;
  return no_output(rt, site);
}

static Status write_line(Rt *rt, RtStream to, const Desc *type, const Slot *args, uint32_t site) {
  Buf b = {.rt = rt};
  rt_show_to(rt, type, args, true, &b);
  buf_addc(&b, '\n');
  Status status = b.failed ? 1 : write_to(rt, to, b.data, b.len, site);
  buf_free(&b);
  return status;
}

Status rt_put_error(Rt *rt, const char *text, size_t n, uint32_t site) {
  if (rt_leave_worker(rt) || flush(rt, site)) return 1;
  return !rt->write || rt->write(rt->user, RT_ERR, text, n) ? 0 : no_output(rt, site);
}

PRIM(prim_print) {
  PRIM_UNUSED;
  return write_line(rt, RT_OUT, type, args, site);
}

PRIM(prim_eprint) {
  PRIM_UNUSED;
  return flush(rt, site) || write_line(rt, RT_ERR, type, args, site);
}

/* `name: value`; the value is the result. */
PRIM(prim_watched) {
  PRIM_UNUSED;
  const StringObj *name = slot_string(&args[type->nslots]);
  Buf b = {.rt = rt};
  buf_add(&b, name->bytes, (size_t)name->len);
  buf_add(&b, ": ", 2);
  rt_show_to(rt, type, args, true, &b);
  buf_addc(&b, '\n');
  Status status = flush(rt, site) || b.failed || write_to(rt, RT_ERR, b.data, b.len, site);
  buf_free(&b);
  if (status) return status;
  memcpy(res, args, sizeof *res * (size_t)type->nslots);
  rt_retain_slots(type->slots, type->nslots, res);
  return 0;
}

PRIM(prim_write) {
  PRIM_UNUSED;
  const StringObj *s = slot_string(&args[0]);
  return s->len ? write_to(rt, RT_OUT, s->bytes, (size_t)s->len, site) : 0;
}

PRIM(prim_flush) {
  PRIM_UNUSED;
  return flush(rt, site);
}

PRIM(prim_displays) {
  PRIM_UNUSED;
  res->i = rt->display != NULL;
  return 0;
}

PRIM(prim_show_data) {
  PRIM_UNUSED;
  if (rt_leave_worker(rt) || flush(rt, site)) return 1;
  const StringObj *kind = slot_string(&args[0]), *data = slot_string(&args[1]), *text = slot_string(&args[2]);
  if (!rt->display || (rt_end_line(rt) && rt->display(rt->user, kind->bytes, data, text))) return 0;
  return no_output(rt, site);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */
static Status room_for_piece(Rt *rt) {
  RtInput *in = &rt->input;
  if (in->cap - in->last >= PIECE) return 0;
  if (in->first) {
    memmove(in->data, in->data + in->first, in->last - in->first);
    in->last -= in->first;
    in->first = 0;
  }
  if (in->cap - in->last >= PIECE) return 0;
  size_t cap = in->cap ? 2 * in->cap : 2 * PIECE;
  char *data = heap_realloc(rt->heap, in->data, in->cap, cap);
  if (!data) return rt_out_of_memory(rt);
  in->data = data;
  in->cap = cap;
  return 0;
}

static ssize_t read_descriptor(Rt *rt, char *to, size_t n) {
  if (rt_wait_for(rt, STDIN_FILENO, POLLIN)) return -1;
  return read(STDIN_FILENO, to, n);
}

/* Appends what there is; *end if nothing is left. */
static Status read_piece(Rt *rt, bool *end, uint32_t site) {
  RtInput *in = &rt->input;
  if (!rt_end_line(rt)) return no_output(rt, site);
  if (room_for_piece(rt) || flush(rt, site)) return 1;
  for (;;) {
    if (rt_look(rt)) return 1;
    char *to = in->data + in->last;
    errno = 0;
    ssize_t n = rt->read ? (ssize_t)rt->read(rt->user, to, PIECE) : read_descriptor(rt, to, PIECE);
    if (n > PIECE)
      return rt_error(rt, ERR_IO, site, "the host's input gave %lld bytes where %d were asked for", (long long)n,
                      PIECE);
    if (n >= 0) {
      *end = n == 0;
      in->last += (size_t)n;
      return 0;
    }
    int why = errno;
    char reason[128] = "";
    if (rt->error.kind != ERR_NONE || rt_look(rt)) return 1;
    if (why != EINTR && why != EAGAIN)
      return rt_error(rt, ERR_IO, site, "can't read standard input: %s", strerror_r(why, reason, sizeof reason));
  }
}

/* What has been read goes, up to there. */
static void consume(Rt *rt, size_t n, int64_t lines) {
  RtInput *in = &rt->input;
  in->first += n;
  in->lines += lines;
  if (in->first < in->last) return;
  in->first = in->last = 0;
  if (in->cap <= KEPT) return;
  heap_realloc(rt->heap, in->data, in->cap, 0);
  in->data = NULL;
  in->cap = 0;
}

/* Reads until there is a whole line, of n bytes with its end; 0 at the end of the input. */
static Status fetch_line(Rt *rt, size_t *n, uint32_t site) {
  RtInput *in = &rt->input;
  bool end = false;
  size_t seen = 0;
  for (;;) {
    size_t have = in->last - in->first;
    const char *stop = have > seen ? memchr(in->data + in->first + seen, '\n', have - seen) : NULL;
    *n = stop ? (size_t)(stop - in->data) + 1 - in->first : have;
    if (stop || end) return 0;
    seen = have;
    if (read_piece(rt, &end, site)) return 1;
  }
}

static Status fetch_all(Rt *rt, uint32_t site) {
  for (bool end = false; !end;)
    if (read_piece(rt, &end, site)) return 1;
  return 0;
}

/* The next n bytes must be text. If they aren't, they go, up to the end of the line that is none. */
static Status check_input(Rt *rt, size_t n, uint32_t site) {
  RtInput *in = &rt->input;
  const char *text = in->data + in->first;
  bool valid;
  size_t bad = 0;
  if (rt_check_text(rt, text, n, &valid, &bad)) return 1;
  if (valid) return 0;
  int64_t line = 1;
  for (size_t i = 0; i < bad; i++) line += text[i] == '\n';
  const char *stop = memchr(text + bad, '\n', n - bad);
  int64_t number = in->lines + line;
  consume(rt, stop ? (size_t)(stop - text) + 1 : n, line);
  return rt_error(rt, ERR_TEXT, site, "standard input is not valid UTF-8 in line %lld", (long long)number);
}

PRIM(prim_read_line) {
  PRIM_UNUSED;
  size_t n;
  if (fetch_line(rt, &n, site) || check_input(rt, n, site)) return 1;
  const char *line = n ? rt->input.data + rt->input.first : "";
  Obj *s = rt_new_string(rt, line, rt_line_length(line, n));
  if (!s) return 1;
  res[0].i = n > 0;
  res[1].p = s;
  consume(rt, n, 1);
  return 0;
}

PRIM(prim_read_all) {
  PRIM_UNUSED;
  if (fetch_all(rt, site)) return 1;
  size_t n = rt->input.last - rt->input.first;
  if (check_input(rt, n, site)) return 1;
  const char *text = n ? rt->input.data + rt->input.first : "";
  res->p = rt_new_string(rt, text, n);
  if (!res->p) return 1;
  int64_t lines = 0;
  for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
  consume(rt, n, lines);
  return 0;
}

PRIM(prim_stdin_lines) {
  PRIM_UNUSED;
  if (fetch_all(rt, site)) return 1;
  size_t n = rt->input.last - rt->input.first;
  ArrayObj *lines;
  if (check_input(rt, n, site) || rt_lines(rt, n ? rt->input.data + rt->input.first : "", n, &lines)) return 1;
  res->p = &lines->h;
  consume(rt, n, lines->dims[0]);
  return 0;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */
PRIM(prim_exit) {
  PRIM_UNUSED;
  int64_t status = args[0].i;
  if (status < 0 || status > 255)
    return rt_error(rt, ERR_RANGE, site, "an exit status is 0 to 255, but it is %lld", (long long)status);
  rt->exit_status = (int)status;
  return rt_error(rt, ERR_EXIT, site, "exit");
}
