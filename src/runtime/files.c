/* SPDX-License-Identifier: MIT */
/* Reading and writing files of UTF-8 text, and of bytes (stdlib/Bytes.atl). Whatever the system refuses is an error
 * with its reason; text that isn't UTF-8 is an error with the line. */
#define _GNU_SOURCE
#include "runtime/places.h"
#include "runtime/runtime_internal.h"
#include "support/quiet.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static Status io_error(Rt *rt, const char *what, const StringObj *path, uint32_t site) {
  char reason[128] = "";
  return rt_error(rt, ERR_IO, site, "can't %s \"%s\": %s", what, path->bytes,
                  place_reason(errno, reason, sizeof reason));
}

/* The place of the path, to be closed when this succeeds. */
static Status find_place(Rt *rt, Right right, const char *what, const StringObj *path, Place *out, uint32_t site) {
  switch (place_find(rt, right, path->bytes, out)) {
  case PLACE_FOUND: return 0;
  case PLACE_FAILED: return io_error(rt, what, path, site);
  case PLACE_DENIED: break;
  }
  return rt_error(rt, ERR_DENIED, site, "can't %s \"%s\": the right to %s is granted for other folders only", what,
                  path->bytes, right_does(right));
}

/* ---- Files that may wait: pipes and terminals. Nothing blocks longer than WAIT_MS without a look for interrupts. */
enum { WAIT_MS = 50, CHUNK = 1 << 16 };

Status rt_wait_for(Rt *rt, int fd, short events) {
  struct pollfd p = {.fd = fd, .events = events};
  for (;;) {
    if (rt_look(rt)) return 1;
    int n = poll(&p, 1, WAIT_MS);
    if (n > 0 || (n < 0 && errno != EINTR)) return 0;
  }
}

/* Opens the file without waiting for the other end of a pipe: a reader finds out in wait_for, a writer asks again. */
static Status open_place(Rt *rt, const char *what, const Place *p, const StringObj *path, int flags, int *fd,
                         uint32_t site) {
  struct stat st;
  while ((*fd = place_open(p, flags)) < 0) {
    bool no_reader = errno == ENXIO && place_stat(p, &st) && S_ISFIFO(st.st_mode);
    if (!no_reader && errno != EINTR) return io_error(rt, what, path, site);
    if (rt_look(rt)) return 1;
    if (no_reader) nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
  }
  return 0;
}

static Status read_all(Rt *rt, int fd, const StringObj *path, Buf *out, uint32_t site) {
  char chunk[CHUNK];
  for (;;) {
    if (rt_wait_for(rt, fd, POLLIN)) return 1;
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n == 0) return 0;
    if (n > 0) buf_add(out, chunk, (size_t)n);
    else if (errno != EINTR && errno != EAGAIN) return io_error(rt, "read", path, site);
    if (out->failed) return 1;
  }
}

/* What a file is to hold, or to get. */
typedef struct Content {
  const StringObj *path;
  const char *bytes;
  int64_t len;
} Content;

static Content content_of(const Slot *args) {
  const StringObj *text = slot_string(&args[1]);
  return (Content){slot_string(&args[0]), text->bytes, text->len};
}

static Status write_all(Rt *rt, int fd, const Content *c, uint32_t site) {
  for (int64_t done = 0; done < c->len;) {
    if (rt_wait_for(rt, fd, POLLOUT)) return 1;
    int64_t left = c->len - done;
    ssize_t n = write(fd, c->bytes + done, left < CHUNK ? (size_t)left : CHUNK);
    if (n > 0) done += n;
    else if (n < 0 && errno != EINTR && errno != EAGAIN) return io_error(rt, "write", c->path, site);
  }
  return 0;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
Status rt_read_text(Rt *rt, const StringObj *path, Buf *out, uint32_t site) {
  int fd;
  Place p;
  if (find_place(rt, RIGHT_READ, "read", path, &p, site)) return 1;
  Status status = open_place(rt, "read", &p, path, O_RDONLY, &fd, site);
  place_close(&p);
  if (status) return 1;
  status = read_all(rt, fd, path, out, site);
  close(fd);
  size_t bad = 0;
  bool valid = true;
  if (!status) status = rt_check_text(rt, out->data, out->len, &valid, &bad);
  if (!valid) {
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

size_t rt_line_length(const char *line, size_t n) {
  if (n && line[n - 1] == '\n') n--;
  return n && line[n - 1] == '\r' ? n - 1 : n;
}

/* The lines go to `out` (NULL: only counted). */
static Status cut_lines(Rt *rt, const char *text, size_t len, ArrayObj *out, int64_t *count) {
  *count = 0;
  for (size_t i = 0; i < len; ++*count) {
    if (rt_look(rt)) return 1;
    const char *start = text + i, *end = memchr(start, '\n', len - i);
    size_t n = end ? (size_t)(end - start) + 1 : len - i;
    i += n;
    if (out && !(out->data[*count].p = rt_new_string(rt, start, rt_line_length(start, n)))) return 1;
  }
  return 0;
}

Status rt_lines(Rt *rt, const char *text, size_t n, ArrayObj **out) {
  int64_t count;
  if (cut_lines(rt, text, n, NULL, &count) || !(*out = rt_new_strings(rt, count))) return 1;
  if (cut_lines(rt, text, n, *out, &count) == 0) return 0;
  rt_release(rt, &(*out)->h);
  return 1;
}

PRIM(prim_read_lines) {
  PRIM_UNUSED;
  Buf b = {.rt = rt};
  ArrayObj *lines = NULL;
  Status status = rt_read_text(rt, slot_string(&args[0]), &b, site) || rt_lines(rt, b.data, b.len, &lines);
  buf_free(&b);
  if (!status) res->p = &lines->h;
  return status;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */
/* A file is written under another name in its folder, and then renamed: no reader meets half of it, and none is left
 * by whatever ends the process. Written in place are pipes and devices, and what a new file couldn't stand for: one
 * with other links, of another owner, or in a folder that takes no new file. */
static Status write_in_place(Rt *rt, const Content *c, const Place *p, int flags, uint32_t site) {
  Quiet q;
  int fd;
  struct stat before = {0}, after;
  if (open_place(rt, "write", p, c->path, O_WRONLY | O_CREAT | flags, &fd, site)) return 1;
  bool appends = flags & O_APPEND && fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
  quiet_begin(&q);
  Status status = write_all(rt, fd, c, site);
  /* what was added in part goes, unless others added to it */
  if (status && appends && fstat(fd, &after) == 0 && after.st_size - before.st_size < c->len)
    if (ftruncate(fd, before.st_size) != 0) status = 1;
  quiet_end(&q, !status);
  if (close(fd) != 0 && errno != EINTR && !status) status = io_error(rt, "write", c->path, site);
  return status;
}

/* The file that stands there may be replaced by a new one; `st` is its state if it exists. */
static bool is_replaceable(const Place *p, bool exists, const struct stat *st) {
  if (!strncmp(p->name, "/dev/", 5) || !strncmp(p->name, "/proc/", 6)) return false; /* others have these open */
  return !exists || (S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid());
}

/* A new file in the folder of the place; its name, of the same folder's, goes to `name`, PATH_MAX bytes. -1: there
 * can't be one. */
static int open_beside(const Place *p, char *name) {
  const char *slash = strrchr(p->name, '/');
  int folder = slash ? (int)(slash - p->name) + 1 : 0, fd = -1;
  errno = EEXIST;
  for (int k = 0; fd < 0 && errno == EEXIST && k < LIMIT_FILE_NAMES; k++) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int n = snprintf(name, PATH_MAX, "%.*s.atled-%ld-%ld", folder, p->name, (long)getpid(), now.tv_nsec);
    if (n < 0 || n >= PATH_MAX) return -1;
    fd = openat(p->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  return fd;
}

/* Writes the new file `name`, open as fd, and puts it in the place. */
static Status write_and_rename(Rt *rt, const Content *c, int fd, const char *name, const Place *p, uint32_t site) {
  Quiet q;
  quiet_begin(&q);
  Status status = write_all(rt, fd, c, site);
  quiet_end(&q, !status);
  if (close(fd) != 0 && errno != EINTR && !status) status = io_error(rt, "write", c->path, site);
  if (!status && renameat(p->folder, name, p->folder, p->name) != 0) status = io_error(rt, "write", c->path, site);
  if (status) unlinkat(p->folder, name, 0);
  return status;
}

/* A link's target stands for the link. False: it can't be replaced. */
static bool follow_links(Place *p) {
  if (p->confined) return true;
  if (!realpath(p->name, p->path)) return false;
  p->name = p->path;
  return true;
}

static Status write_at(Rt *rt, const Content *c, Place *p, uint32_t site) {
  char name[PATH_MAX];
  struct stat st, link;
  bool exists = place_stat(p, &st);
  if (!exists && (errno != ENOENT || fstatat(p->folder, p->name, &link, AT_SYMLINK_NOFOLLOW) == 0))
    return write_in_place(rt, c, p, O_TRUNC, site);
  if (!is_replaceable(p, exists, &st) || (exists && !follow_links(p))) return write_in_place(rt, c, p, O_TRUNC, site);
  bool writable = !exists || faccessat(p->folder, p->name, W_OK, 0) == 0;
  int fd = writable ? open_beside(p, name) : -1;
  if (fd >= 0 && exists && (fchown(fd, (uid_t)-1, st.st_gid) != 0 || fchmod(fd, st.st_mode & 07777) != 0)) {
    close(fd);
    unlinkat(p->folder, name, 0);
    fd = -1;
  }
  if (fd < 0) return write_in_place(rt, c, p, O_TRUNC, site);
  return write_and_rename(rt, c, fd, name, p, site);
}

static Status write_content(Rt *rt, const Content *c, uint32_t site) {
  Place p;
  if (find_place(rt, RIGHT_WRITE, "write", c->path, &p, site)) return 1;
  Status status = write_at(rt, c, &p, site);
  place_close(&p);
  return status;
}

PRIM(prim_write_file) {
  PRIM_UNUSED;
  Content c = content_of(args);
  return write_content(rt, &c, site);
}

PRIM(prim_append_file) {
  PRIM_UNUSED;
  Place p;
  if (find_place(rt, RIGHT_WRITE, "write", slot_string(&args[0]), &p, site)) return 1;
  Content c = content_of(args);
  Status status = write_in_place(rt, &c, &p, O_APPEND, site);
  place_close(&p);
  return status;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */
/* Goes to the offset. A regular file must hold `count` bytes from there on. */
static Status seek_bytes(Rt *rt, int fd, const StringObj *path, int64_t offset, int64_t count, uint32_t site) {
  struct stat st;
  bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  if (regular && (offset > st.st_size || count > st.st_size - offset))
    return rt_error(rt, ERR_IO, site, "can't read %lld bytes from byte %lld of \"%s\", which has %lld",
                    (long long)count, (long long)offset, path->bytes, (long long)st.st_size);
  return offset && lseek(fd, offset, SEEK_SET) < 0 ? io_error(rt, "read", path, site) : 0;
}

static Status fill_bytes(Rt *rt, int fd, const StringObj *path, char *to, int64_t count, uint32_t site) {
  for (int64_t done = 0; done < count;) {
    if (rt_wait_for(rt, fd, POLLIN)) return 1;
    int64_t left = count - done;
    ssize_t n = read(fd, to + done, left < CHUNK ? (size_t)left : CHUNK);
    if (n > 0) done += n;
    else if (n == 0)
      return rt_error(rt, ERR_IO, site, "\"%s\" ends after %lld of the %lld bytes that are to be read", path->bytes,
                      (long long)done, (long long)count);
    else if (errno != EINTR && errno != EAGAIN) return io_error(rt, "read", path, site);
  }
  return 0;
}

/* The bytes, eight to an int, the rest of the last one zero. */
static Status read_words(Rt *rt, int fd, const Slot *args, Slot *res, uint32_t site) {
  const StringObj *path = slot_string(&args[0]);
  int64_t count = args[2].i, words = count / 8 + (count % 8 != 0);
  if (seek_bytes(rt, fd, path, args[1].i, count, site)) return 1;
  ArrayObj *a = rt_new_array(rt, rt->desc_int_array, &words, true);
  if (!a) return 1;
  if (fill_bytes(rt, fd, path, (char *)a->data, count, site)) {
    rt_release(rt, &a->h);
    return 1;
  }
  res->p = &a->h;
  return 0;
}

PRIM(prim_read_words) {
  PRIM_UNUSED;
  const StringObj *path = slot_string(&args[0]);
  int fd;
  Place p;
  if (args[1].i < 0 || args[2].i < 0)
    return rt_error(rt, ERR_RANGE, site, "can't read %lld bytes from byte %lld of \"%s\"", (long long)args[2].i,
                    (long long)args[1].i, path->bytes);
  if (find_place(rt, RIGHT_READ, "read", path, &p, site)) return 1;
  Status status = open_place(rt, "read", &p, path, O_RDONLY, &fd, site);
  place_close(&p);
  if (status) return 1;
  status = read_words(rt, fd, args, res, site);
  close(fd);
  return status;
}

PRIM(prim_write_words) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[1]);
  if (args[2].i < 0 || args[2].i / 8 > a->dims[0] || (args[2].i + 7) / 8 > a->dims[0])
    return rt_error(rt, ERR_RANGE, site, "%lld ints don't hold %lld bytes", (long long)a->dims[0],
                    (long long)args[2].i);
  Content c = {slot_string(&args[0]), (const char *)a->data, args[2].i};
  return write_content(rt, &c, site);
}

PRIM(prim_file_size) {
  PRIM_UNUSED;
  struct stat st;
  Place p;
  const StringObj *path = slot_string(&args[0]);
  if (find_place(rt, RIGHT_READ, "read", path, &p, site)) return 1;
  Status status = place_stat(&p, &st) ? 0 : io_error(rt, "read", path, site);
  place_close(&p);
  if (status) return 1;
  if (!S_ISREG(st.st_mode)) return rt_error(rt, ERR_IO, site, "\"%s\" isn't a regular file", path->bytes);
  res->i = st.st_size;
  return 0;
}

/* ---- Folders ----------------------------------------------------------------------------------------------------- */
PRIM(prim_file_exists) {
  PRIM_UNUSED;
  struct stat st;
  Place p;
  const StringObj *path = slot_string(&args[0]);
  PlaceFound found = place_find(rt, RIGHT_READ, path->bytes, &p);
  if (found == PLACE_DENIED) return find_place(rt, RIGHT_READ, "look for", path, &p, site);
  res->i = found == PLACE_FOUND && place_stat(&p, &st) && !(p.confined && S_ISLNK(st.st_mode));
  if (found == PLACE_FOUND) place_close(&p);
  return 0;
}

static int compare_names(const void *a, const void *b) {
  const StringObj *x = slot_string(a), *y = slot_string(b);
  return strcmp(x->bytes, y->bytes);
}

/* The names of a folder, as counted strings. */
typedef struct Names {
  Slot *data;
  int64_t len, cap;
} Names;

static Status add_name(Rt *rt, Names *names, const char *name, const StringObj *path, uint32_t site) {
  if (!strcmp(name, ".") || !strcmp(name, "..")) return rt_look(rt);
  if (!utf8_valid(name, strlen(name), NULL))
    return rt_error(rt, ERR_TEXT, site, "\"%s\" holds a name that is not valid UTF-8", path->bytes);
  if (!rt_reserve(rt, &names->data, &names->cap, names->len + 1, sizeof(Slot))) return 1;
  Obj *s = rt_new_string(rt, name, strlen(name));
  if (s) names->data[names->len++].p = s;
  return s ? rt_look(rt) : 1;
}

static Status open_folder(Rt *rt, const StringObj *path, DIR **out, uint32_t site) {
  Place p;
  if (find_place(rt, RIGHT_READ, "list", path, &p, site)) return 1;
  int fd = place_open(&p, O_RDONLY | O_DIRECTORY);
  Status status = fd < 0 ? io_error(rt, "list", path, site) : 0;
  place_close(&p);
  if (status) return 1;
  *out = fdopendir(fd);
  if (*out) return 0;
  status = io_error(rt, "list", path, site);
  close(fd);
  return status;
}

static Status read_folder(Rt *rt, Names *names, const StringObj *path, uint32_t site) {
  DIR *folder;
  if (open_folder(rt, path, &folder, site)) return 1;
  Status status = 0;
  const struct dirent *entry;
  for (errno = 0; !status && (entry = readdir(folder)); errno = 0)
    status = add_name(rt, names, entry->d_name, path, site);
  if (!status && errno) status = io_error(rt, "list", path, site);
  closedir(folder);
  return status;
}

PRIM(prim_list_dir) {
  PRIM_UNUSED;
  Names names = {0};
  Status status = read_folder(rt, &names, slot_string(&args[0]), site);
  if (names.len) qsort(names.data, (size_t)names.len, sizeof *names.data, compare_names);
  ArrayObj *a = status ? NULL : rt_new_strings(rt, names.len);
  if (a && names.len) memcpy(a->data, names.data, (size_t)names.len * sizeof *names.data);
  for (int64_t i = 0; !a && i < names.len; i++) rt_release(rt, names.data[i].p);
  heap_realloc(rt->heap, names.data, (size_t)names.cap * sizeof *names.data, 0);
  if (a) res->p = &a->h;
  return a ? 0 : 1;
}
