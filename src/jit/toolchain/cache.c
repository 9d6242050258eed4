/* SPDX-License-Identifier: MIT */
/* The cache of compiled modules: <folder>/<key in hex>.so.
 *
 * The folder must belong to this user and be closed to others (0700), because what is
 * in it gets executed. An entry is a shared object with a trailer of 32 bytes after
 * it, which the loader ignores: magic, key, size and a hash of the object. It is checked
 * before each load; what doesn't fit is removed and compiled again. New entries are
 * written under a private name and renamed into place, never overwritten: processes that
 * race leave one whole entry, and an object that is mapped stays as it was. Use renews
 * the modification time; now and then the oldest entries beyond the size limit go. */
#include "jit/toolchain/cache.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct Trailer {
  uint64_t magic, key, size, hash;
} Trailer;
static const uint64_t magic = 0x31646573656c7461u; /* "atlesed1" */
enum { PRUNE_EVERY = 32, STALE_SECONDS = 3600 };

/* ---- The folder ----------------------------------------------------------------------------------------------- */
static bool make_folders(char *path) {
  for (char *p = path + 1; *p; p++)
    if (*p == '/') {
      *p = 0;
      mkdir(path, 0700);
      *p = '/';
    }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool is_private(const char *dir) {
  struct stat st;
  return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
         access(dir, W_OK | X_OK) == 0;
}

void cache_init(Cache *c, Heap *heap, const char *dir, size_t limit) {
  *c = (Cache){.heap = heap, .limit = limit ? limit : (size_t)256 << 20};
  const char *base = "";
  if (!dir) dir = getenv("ATLED_CACHE");
  if (!dir) {
    base = getenv("XDG_CACHE_HOME");
    dir = "/atled";
    if (!base || *base != '/') {
      base = getenv("HOME");
      dir = "/.cache/atled";
    }
    if (!base || !*base) return;
  }
  if (!*dir) return;
  int n = snprintf(c->dir, sizeof c->dir, "%s%s", base, dir);
  char path[PATH_MAX]; /* absolute: processes with other working directories use it too */
  bool fits = n >= 0 && (size_t)n < sizeof c->dir && make_folders(c->dir) && is_private(c->dir) &&
              realpath(c->dir, path) && strlen(path) < sizeof c->dir;
  strcpy(c->dir, fits ? path : "");
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

static bool is_whole(int fd, uint64_t key) {
  struct stat st;
  Trailer t;
  uint64_t hash;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) return false;
  if ((size_t)st.st_size <= sizeof t) return false;
  size_t size = (size_t)st.st_size - sizeof t;
  return pread(fd, &t, sizeof t, (off_t)size) == (ssize_t)sizeof t && t.magic == magic && t.key == key &&
         t.size == size && hash_file(fd, size, &hash) && hash == t.hash;
}

bool cache_find(const Cache *c, uint64_t key, char *path, size_t n) {
  if (!c->dir[0] || !entry_path(c, key, path, n)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool whole = is_whole(fd, key);
  if (whole) futimens(fd, NULL);
  else unlink(path);
  close(fd);
  return whole;
}

bool cache_new_file(const Cache *c, char *path, size_t n) {
  if (!c->dir[0]) return false;
  int len = snprintf(path, n, "%s/.new-XXXXXX", c->dir);
  if (len < 0 || (size_t)len >= n) return false;
  int fd = mkstemp(path);
  if (fd < 0) return false;
  close(fd);
  return true;
}

static bool seal(const char *path, uint64_t key) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  Trailer t = {.magic = magic, .key = key};
  bool ok = fchmod(fd, 0700) == 0 && fstat(fd, &st) == 0 && st.st_size > 0;
  if (ok) {
    t.size = (uint64_t)st.st_size;
    ok = hash_file(fd, t.size, &t.hash) && pwrite(fd, &t, sizeof t, st.st_size) == (ssize_t)sizeof t;
  }
  close(fd);
  return ok;
}

void cache_forget(const Cache *c, uint64_t key) {
  char path[4096];
  if (c->dir[0] && entry_path(c, key, path, sizeof path)) unlink(path);
}

/* ---- Size limit -------------------------------------------------------------------------------------------------- */
typedef struct Entry {
  char name[32];
  int64_t used;
  size_t size;
} Entry; /* used: nanoseconds */

static int older_first(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  return (x->used > y->used) - (x->used < y->used);
}

/* The entries of the folder, into a block of *cap; files left behind by processes that died are removed. */
static size_t list_entries(Heap *heap, DIR *d, Entry **entries, size_t *cap) {
  size_t n = 0;
  for (struct dirent *f; (f = readdir(d));) {
    struct stat st;
    if (f->d_name[0] == '.' && strncmp(f->d_name, ".new-", 5) != 0) continue;
    if (strlen(f->d_name) >= sizeof((*entries)->name)) continue;
    if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    if (f->d_name[0] == '.') {
      if (st.st_mtime + STALE_SECONDS < time(NULL)) unlinkat(dirfd(d), f->d_name, 0);
      continue;
    }
    if (n == *cap) {
      size_t more = *cap ? 2 * *cap : 256;
      Entry *grown = heap_realloc(heap, *entries, *cap * sizeof(Entry), more * sizeof(Entry));
      if (!grown) break;
      *entries = grown;
      *cap = more;
    }
    Entry *e = &(*entries)[n++];
    strcpy(e->name, f->d_name);
    e->used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    e->size = (size_t)st.st_size;
  }
  return n;
}

/* Removes the oldest entries until three quarters of the limit are left. */
static void prune(const Cache *c) {
  DIR *d = opendir(c->dir);
  if (!d) return;
  Entry *entries = NULL;
  size_t cap = 0, n = list_entries(c->heap, d, &entries, &cap), total = 0;
  for (size_t i = 0; i < n; i++) total += entries[i].size;
  if (total > c->limit) {
    qsort(entries, n, sizeof *entries, older_first);
    for (size_t i = 0; i < n && total > c->limit / 4 * 3; i++) {
      unlinkat(dirfd(d), entries[i].name, 0);
      total -= entries[i].size;
    }
  }
  if (entries) heap_realloc(c->heap, entries, cap * sizeof(Entry), 0);
  closedir(d);
}

bool cache_store(Cache *c, uint64_t key, char *path, size_t n) {
  char final[4096];
  if (c->stores++ % PRUNE_EVERY == 0) prune(c);
  if (seal(path, key) && entry_path(c, key, final, sizeof final) && strlen(final) < n && rename(path, final) == 0) {
    strcpy(path, final);
    return true;
  }
  unlink(path);
  return false;
}
