/* SPDX-License-Identifier: MIT */
/* The cache of compiled modules: <folder>/<key in hex>.so.
 *
 * The folder must belong to this user and be closed to others (0700), because what is
 * in it gets executed. An entry is a shared object with a trailer of 32 bytes after
 * it, which the loader ignores: magic, key, size and a hash of the object. It is checked
 * before each load; what doesn't fit is removed and compiled again. Objects are made
 * beside the entries, in <folder>/new, and renamed into place when they are whole: processes that
 * race leave one entry, and an object that is mapped stays as it was.
 *
 * Use renews an entry's modification time; what has not been used for longest goes when the limit is
 * reached. Whether it is, isn't looked up by walking the folder: the file `size` has as many
 * bytes as the entries have blocks, and each store appends its own, which needs no lock. Removed
 * entries leave that too high until the next walk, which is also the next trimming. Others may
 * use and trim the folder at any time: a file that is gone is no error. */
#define _GNU_SOURCE
#include "jit/toolchain/cache.h"
#include "jit/toolchain/folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Trailer {
  uint64_t magic, key, size, hash;
} Trailer;
static const uint64_t magic = 0x31646573656c7461u; /* "atlesed1" */
enum { BLOCK = 4096, KEY_DIGITS = 16, MOST_BLOCKS = 1 << 16 };

/* ---- The folder ----------------------------------------------------------------------------------------------- */
/* 0, or why the first one that isn't there can't be made. */
static int make_folders(char *path) {
  int why = 0;
  for (char *p = path + 1;; p++) {
    char end = *p;
    if (end && end != '/') continue;
    *p = 0;
    if (mkdir(path, 0700) != 0 && errno != EEXIST && !why) why = errno;
    *p = end;
    if (!end) return why;
  }
}

static void refuse(Cache *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void refuse(Cache *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->why, sizeof c->why, fmt, ap);
  va_end(ap);
}

/* Makes the folder if it isn't there. */
static bool is_usable(Cache *c, char *dir) {
  struct stat st;
  bool there = lstat(dir, &st) == 0;
  int why = there ? 0 : make_folders(dir);
  if (!there && lstat(dir, &st) != 0) refuse(c, "the folder %s can't be made: %s", dir, strerror(why ? why : errno));
  else if (!S_ISDIR(st.st_mode)) refuse(c, "%s isn't a folder", dir);
  else if (st.st_uid != geteuid() || (st.st_mode & 077))
    refuse(c, "others can get into the folder %s (it must be yours; then `chmod 700`)", dir);
  else if (access(dir, W_OK | X_OK) != 0) refuse(c, "the folder %s can't be written: %s", dir, strerror(errno));
  return !c->why[0];
}

/* Where the environment wants it, in path[n]: empty where it wants none; false where it doesn't say. */
static bool wanted_folder(const char *dir, char *path, size_t n) {
  const char *base = "";
  if (!dir) dir = secure_getenv("ATLED_CACHE");
  if (!dir) {
    base = secure_getenv("XDG_CACHE_HOME");
    dir = "/atled";
    if (!base || *base != '/') {
      base = secure_getenv("HOME");
      dir = "/.cache/atled";
    }
    if (!base || !*base) return false;
  }
  int len = snprintf(path, n, "%s%s", base, dir);
  return len >= 0 && (size_t)len < n;
}

void cache_init(Cache *c, Heap *heap, const char *dir, uint64_t limit) {
  char path[PATH_MAX]; /* absolute: processes with other working directories use it too */
  *c = (Cache){.heap = heap, .limit = limit ? limit : (uint64_t)LIMIT_CACHE_BYTES};
  if (!wanted_folder(dir, c->dir, sizeof c->dir)) {
    refuse(c, "neither XDG_CACHE_HOME nor HOME names a folder for it");
    c->dir[0] = 0;
  }
  if (!c->dir[0]) return;
  bool usable = is_usable(c, c->dir) && realpath(c->dir, path) && strlen(path) < sizeof c->dir;
  strcpy(c->dir, usable ? path : "");
}

static bool entry_path(const Cache *c, uint64_t key, char *path, size_t n) {
  int len = snprintf(path, n, "%s/%016llx.so", c->dir, (unsigned long long)key);
  return len > 0 && (size_t)len < n;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */
/* Hash of the first size bytes of the file. */
static bool hash_file(int fd, size_t size, uint64_t *hash) {
  void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return false;
  *hash = hash_bytes(p, size, magic);
  munmap(p, size);
  return true;
}

/* Of an entry that only this user can have written. */
static bool is_own(int fd, struct stat *st) {
  return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

static bool is_whole(int fd, uint64_t key) {
  struct stat st;
  Trailer t;
  uint64_t hash;
  if (!is_own(fd, &st) || (size_t)st.st_size <= sizeof t) return false;
  size_t size = (size_t)st.st_size - sizeof t;
  return pread(fd, &t, sizeof t, (off_t)size) == (ssize_t)sizeof t && t.magic == magic && t.key == key &&
         t.size == size && hash_file(fd, size, &hash) && hash == t.hash;
}

/* Of the file's bytes those before the trailer; 0: they aren't whole. */
static size_t whole_bytes(const char *bytes, size_t n, uint64_t key) {
  Trailer t;
  if (n <= sizeof t) return 0;
  size_t size = n - sizeof t;
  memcpy(&t, bytes + size, sizeof t);
  bool whole = t.magic == magic && t.key == key && t.size == size && hash_bytes(bytes, size, magic) == t.hash;
  return whole ? size : 0;
}

static size_t read_entry(int fd, uint64_t key, char *to, size_t room) {
  struct stat st;
  size_t size = is_own(fd, &st) && st.st_size > 0 ? (size_t)st.st_size : 0;
  if (!size || size > room || pread(fd, to, size, 0) != (ssize_t)size) return 0;
  return whole_bytes(to, size, key);
}

size_t cache_room(const Cache *c, uint64_t key) {
  char path[PATH_MAX];
  struct stat st;
  bool there = c->dir[0] && entry_path(c, key, path, sizeof path) && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
  return there && st.st_size > 0 ? (size_t)st.st_size : 0;
}

size_t cache_read(const Cache *c, uint64_t key, char *to, size_t room) {
  char path[PATH_MAX];
  if (!c->dir[0] || !entry_path(c, key, path, sizeof path)) return 0;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return 0;
  size_t n = read_entry(fd, key, to, room);
  if (n) futimens(fd, NULL);
  close(fd);
  return n;
}

bool cache_find(const Cache *c, uint64_t key, char *path, size_t n) {
  if (!c->dir[0] || !entry_path(c, key, path, n)) return false;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool whole = is_whole(fd, key);
  if (whole) futimens(fd, NULL);
  else unlink(path);
  close(fd);
  return whole;
}

bool cache_workplace(Cache *c, char *path, size_t n) {
  int len = c->dir[0] ? snprintf(path, n, "%s/new", c->dir) : -1;
  if (len < 0 || (size_t)len >= n) return false;
  if (is_usable(c, c->dir) && is_usable(c, path)) return true; /* it may have been removed */
  c->dir[0] = 0;
  return false;
}

/* *size: of all of the file. */
static bool seal(const char *path, uint64_t key, uint64_t *size) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  Trailer t = {.magic = magic, .key = key};
  bool ok = fchmod(fd, 0700) == 0 && fstat(fd, &st) == 0 && st.st_size > 0;
  if (ok) {
    t.size = (uint64_t)st.st_size;
    ok = hash_file(fd, t.size, &t.hash) && pwrite(fd, &t, sizeof t, st.st_size) == (ssize_t)sizeof t;
    *size = t.size + sizeof t;
  }
  close(fd);
  return ok;
}

void cache_forget(const Cache *c, uint64_t key) {
  char path[4096];
  if (c->dir[0] && entry_path(c, key, path, sizeof path)) unlink(path);
}

/* ---- All entries ------------------------------------------------------------------------------------------------- */
typedef struct Entry {
  uint64_t key;
  int64_t used; /* nanoseconds */
  uint64_t size;
} Entry;
typedef struct Entries {
  Entry *all;
  size_t n, cap;
  uint64_t size;
} Entries;

/* Is it the name of an entry? Other files in the folder are none of the cache's business. */
static bool key_of(const char *name, uint64_t *key) {
  char *end, again[KEY_DIGITS + 4];
  *key = strtoull(name, &end, 16);
  snprintf(again, sizeof again, "%016llx.so", (unsigned long long)*key);
  return strcmp(name, again) == 0;
}

static uint64_t blocks(uint64_t size) { return (size + BLOCK - 1) / BLOCK; }

static bool add_entry(Heap *heap, Entries *e, Entry entry) {
  if (e->n == e->cap) {
    size_t more = e->cap ? 2 * e->cap : 256;
    Entry *grown = heap_realloc(heap, e->all, e->cap * sizeof(Entry), more * sizeof(Entry));
    if (!grown) return false;
    e->all = grown;
    e->cap = more;
  }
  e->all[e->n++] = entry;
  e->size += blocks(entry.size) * BLOCK;
  return true;
}

/* To be freed with free_entries. Links aren't followed. */
static Entries list_entries(const Cache *c) {
  Entries e = {0};
  DIR *d = opendir(c->dir);
  if (!d) return e;
  bool room = true;
  for (struct dirent *f; room && (f = readdir(d));) {
    struct stat st;
    uint64_t key;
    if (!key_of(f->d_name, &key) || fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      continue;
    int64_t used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    room = add_entry(c->heap, &e, (Entry){key, used, (uint64_t)st.st_size});
  }
  closedir(d);
  return e;
}

static void free_entries(const Cache *c, Entries *e) { heap_realloc(c->heap, e->all, e->cap * sizeof(Entry), 0); }

/* ---- Size limit -------------------------------------------------------------------------------------------------- */
static int older_first(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  return (x->used > y->used) - (x->used < y->used);
}

/* -1: there is none, and what stands in its place, a pipe perhaps, can't be removed. */
static int open_count(const Cache *c) {
  char path[PATH_MAX];
  struct stat st;
  int len = snprintf(path, sizeof path, "%s/size", c->dir);
  for (int k = 0; k < 2 && len > 0 && (size_t)len < sizeof path; k++) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) return fd;
    if (fd >= 0) close(fd);
    unlink(path);
  }
  return -1;
}

/* Makes room for `more` bytes: the entries used longest ago go until the others and that are three quarters of the
 * limit. What the folder holds then is the new count. */
static void trim(const Cache *c, int count, uint64_t more) {
  Entries e = list_entries(c);
  if (e.size + more > c->limit) {
    qsort(e.all, e.n, sizeof *e.all, older_first);
    for (size_t i = 0; i < e.n && e.size + more > c->limit / 4 * 3; i++) {
      cache_forget(c, e.all[i].key);
      e.size -= blocks(e.all[i].size) * BLOCK;
    }
  }
  if (count >= 0 && ftruncate(count, (off_t)blocks(e.size + more)) != 0) {
  } /* a wrong count is a walk too many or too late */
  free_entries(c, &e);
}

/* Counts an entry of that size, and makes room for it if that may be needed; also if the count has only begun. */
static void make_room(const Cache *c, uint64_t size) {
  static const char zeros[MOST_BLOCKS];
  struct stat st;
  uint64_t n = blocks(size);
  int count = open_count(c);
  bool known = count >= 0 && n <= MOST_BLOCKS && write(count, zeros, n) == (ssize_t)n && fstat(count, &st) == 0;
  if (!known || (uint64_t)st.st_size <= n || (uint64_t)st.st_size * BLOCK > c->limit) trim(c, count, n * BLOCK);
  if (count >= 0) close(count);
}

void cache_store(Cache *c, uint64_t key, const char *path) {
  char final[PATH_MAX];
  uint64_t size;
  if (!seal(path, key, &size)) {
    refuse(c, "the folder %s can't be written: %s", c->dir, strerror(errno));
    return;
  }
  if (size > c->limit / 4 * 3 || !entry_path(c, key, final, sizeof final)) return;
  make_room(c, size);
  if (rename(path, final) != 0) refuse(c, "the folder %s can't be written: %s", c->dir, strerror(errno));
}

/* ---- For people -------------------------------------------------------------------------------------------------- */
CacheUsage cache_usage(const Cache *c) {
  CacheUsage u = {0};
  Entries e = c->dir[0] ? list_entries(c) : (Entries){0};
  u.entries = (int64_t)e.n;
  for (size_t i = 0; i < e.n; i++) {
    u.bytes += e.all[i].size;
    if (i == 0 || e.all[i].used < u.oldest) u.oldest = e.all[i].used;
    if (e.all[i].used > u.newest) u.newest = e.all[i].used;
  }
  free_entries(c, &e);
  return u;
}

void cache_clear(const Cache *c) {
  char path[PATH_MAX];
  if (!c->dir[0]) return;
  Entries e = list_entries(c);
  for (size_t i = 0; i < e.n; i++) cache_forget(c, e.all[i].key);
  free_entries(c, &e);
  int len = snprintf(path, sizeof path, "%s/size", c->dir);
  if (len > 0 && (size_t)len < sizeof path) unlink(path);
  len = snprintf(path, sizeof path, "%s/new", c->dir);
  if (len > 0 && (size_t)len < sizeof path) folder_sweep(path);
}
