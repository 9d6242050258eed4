/* SPDX-License-Identifier: MIT */
/* Folders of intermediate files. Each is locked by its maker as long as that process lives. A lock that another
 * process can take says that the maker is gone, perhaps killed; then whoever starts next removes the folder. */
#define _GNU_SOURCE
#include "jit/toolchain/folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "atled-work-";
enum { ENDING = 6, DEEPEST = 4, ATTEMPTS = 8 };

/* Removes what is in the folder; takes fd. */
static void empty(int fd, int depth) {
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(d), e->d_name, 0) == 0 || depth == DEEPEST) continue;
    int inner = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) empty(inner, depth + 1);
    unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
  }
  closedir(d);
}

/* -1 with errno EWOULDBLOCK where somebody has it, or has just removed it. */
static int lock(const char *path) {
  struct stat mine, there;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (locked && fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino) return fd;
  int why = locked ? EWOULDBLOCK : errno;
  close(fd);
  errno = why;
  return -1;
}

bool folder_make(Folder *f, const char *parent) {
  f->lock = -1;
  for (int k = 0; k < ATTEMPTS; k++) {
    int n = snprintf(f->path, sizeof f->path, "%s/%sXXXXXX", parent, prefix);
    if (n < 0 || (size_t)n >= sizeof f->path || !mkdtemp(f->path)) break;
    f->lock = lock(f->path); /* somebody may have come between and removed it */
    if (f->lock >= 0) return true;
  }
  f->path[0] = 0;
  return false;
}

bool folder_claim(Folder *f, const char *parent, const char *name) {
  int n = snprintf(f->path, sizeof f->path, "%s/%s%s", parent, prefix, name);
  bool there = n > 0 && (size_t)n < sizeof f->path && (mkdir(f->path, 0700) == 0 || errno == EEXIST);
  f->lock = there ? lock(f->path) : -1;
  if (f->lock >= 0) return true;
  f->path[0] = 0;
  return !there || (errno != EWOULDBLOCK && errno != ENOENT);
}

void folder_leave(Folder *f) {
  if (f->path[0]) close(f->lock);
  f->path[0] = 0;
}

bool folder_adopt(Folder *f, const char *path) {
  enum { LOOKS = 100, LOOK_US = 10000 };
  *f = (Folder){.lock = -1};
  for (int k = 0; k < LOOKS && strlen(path) < sizeof f->path; k++) {
    if ((f->lock = lock(path)) >= 0) {
      strcpy(f->path, path);
      return true;
    }
    if (errno != EWOULDBLOCK) break;
    usleep(LOOK_US);
  }
  return false;
}

void folder_remove(Folder *f) {
  if (!f->path[0]) return;
  int fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) empty(fd, 0);
  rmdir(f->path);
  close(f->lock);
  f->path[0] = 0;
}

static void remove_abandoned(int parent, const char *parent_path, const char *name) {
  Folder f;
  struct stat st;
  if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid()) return;
  int n = snprintf(f.path, sizeof f.path, "%s/%s", parent_path, name);
  if (n < 0 || (size_t)n >= sizeof f.path || (f.lock = lock(f.path)) < 0) return;
  folder_remove(&f);
}

void folder_sweep(const char *parent) {
  DIR *d = opendir(parent);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));)
    if (strncmp(e->d_name, prefix, sizeof prefix - 1) == 0 && strlen(e->d_name) >= sizeof prefix - 1 + ENDING)
      remove_abandoned(dirfd(d), parent, e->d_name);
  closedir(d);
}
