/* SPDX-License-Identifier: MIT */
/* Files of programs that may use some folders only.
 *
 * A program with the right to read anywhere names files as the process does: its paths are opened as they are. The
 * paths of other programs are resolved by the kernel below a folder that the host has granted:
 *
 *   "../data/a/b.csv" → /srv/data/a/b.csv → folder /srv/data, rest a/b.csv → openat2(folder, "a", BENEATH), name b.csv
 *
 * The comparison of texts selects a folder, and nothing more. That a path stays below it is the kernel's decision: the
 * rest is opened relative to the folder's descriptor with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, and the last name by
 * O_NOFOLLOW. So neither `..` nor a symbolic link leads out, however others change the tree meanwhile. A kernel without
 * openat2 opens one component after the other with O_NOFOLLOW, which is the same: the rest has no `..` any more.
 *
 * In a confined place only regular files and folders are opened, and none of the kernel's own file systems, whose files
 * are doors to other processes and to this one's memory. */
#define _GNU_SOURCE
#include "runtime/places.h"
#include "support/paths.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- Which folder ------------------------------------------------------------------------------------------------ */
unsigned rt_rights(const Rt *rt) {
  unsigned rights = rt->rights;
  for (int i = 0; i < rt->nfolders; i++) rights |= rt->folders[i].rights;
  return rights;
}

bool place_absolute(const char *path, char *out) {
  size_t n = 0, len = strlen(path);
  if (*path != '/') {
    if (!getcwd(out, PATH_MAX)) return false;
    n = strlen(out);
    if (*out != '/') errno = ENOENT; /* the working directory can't be reached from the root */
    if (*out != '/') return false;
    out[n++] = '/';
  }
  if (n + len >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  memcpy(out + n, path, len + 1);
  return path_normalise(out);
}

/* The innermost folder with the right that the absolute path is in; *rest: the path below it. */
static const RtFolder *folder_of(const Rt *rt, Right right, const char *path, const char **rest) {
  const RtFolder *found = NULL;
  for (int i = 0; i < rt->nfolders; i++) {
    const RtFolder *f = &rt->folders[i];
    if (!(f->rights & right)) continue;
    const char *below = path_below(f->name, path);
    if (!below) below = path_below(f->real, path);
    if (!below || (found && strlen(below) >= strlen(*rest))) continue;
    found = f;
    *rest = below;
  }
  return found;
}

bool place_granted(const Rt *rt, Right right, const char *path) {
  char absolute[PATH_MAX];
  const char *rest;
  if (rt->rights & right) return true;
  return place_absolute(path, absolute) && folder_of(rt, right, absolute, &rest);
}

/* ---- Opening below it -------------------------------------------------------------------------------------------- */
static void close_keeping_errno(int fd) {
  int why = errno;
  close(fd);
  errno = why;
}

enum { FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };

/* One component after the other. The path is changed meanwhile. */
static int open_by_components(int top, char *path) {
  int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
  for (char *part = path, *slash; at >= 0 && part; part = slash) {
    slash = strchr(part, '/');
    if (slash) *slash = '\0';
    int next = openat(at, part, FOLDER_FLAGS | O_NOFOLLOW);
    close_keeping_errno(at);
    at = next;
    if (slash) *slash++ = '/';
  }
  return at;
}

/* A folder below `top` by its path. A container may refuse what it doesn't know of with EPERM. */
static int open_below(int top, char *path) {
  struct open_how how = {.flags = FOLDER_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
  long fd;
  do fd = syscall(SYS_openat2, top, path, &how, sizeof how);
  while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_by_components(top, path);
  return (int)fd;
}

/* Files of the kernel: of processes, devices and the kernel's own state. */
static bool is_of_kernel(int fd) {
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return true;
  switch (fs.f_type) {
  case PROC_SUPER_MAGIC:
  case SYSFS_MAGIC:
  case DEBUGFS_MAGIC:
  case TRACEFS_MAGIC:
  case SECURITYFS_MAGIC:
  case CGROUP_SUPER_MAGIC:
  case CGROUP2_SUPER_MAGIC:
  case BPF_FS_MAGIC: return true;
  default: return false;
  }
}

/* `rest` is the end of out->path. */
static PlaceFound find_below(const char *folder, char *rest, Place *out) {
  int top = open(folder, FOLDER_FLAGS);
  char *slash = strrchr(rest, '/');
  out->confined = true;
  out->name = *rest ? rest : ".";
  out->folder = top;
  if (top < 0) return PLACE_FAILED;
  if (!slash) return PLACE_FOUND;
  *slash = '\0';
  out->name = slash + 1;
  out->folder = open_below(top, rest);
  close_keeping_errno(top);
  return out->folder < 0 ? PLACE_FAILED : PLACE_FOUND;
}

PlaceFound place_find(const Rt *rt, Right right, const char *path, Place *out) {
  out->folder = AT_FDCWD;
  out->name = path;
  out->confined = false;
  if (rt->rights & right) return PLACE_FOUND;
  const char *rest = NULL;
  if (!place_absolute(path, out->path)) return PLACE_DENIED;
  const RtFolder *f = folder_of(rt, right, out->path, &rest);
  if (!f) return PLACE_DENIED;
  PlaceFound found = find_below(f->name, out->path + (rest - out->path), out);
  if (found != PLACE_FOUND || !is_of_kernel(out->folder)) return found;
  close(out->folder);
  errno = EACCES;
  return PLACE_FAILED;
}

void place_close(const Place *p) {
  if (p->confined) close(p->folder);
}

/* ---- What is there ----------------------------------------------------------------------------------------------- */
bool place_stat(const Place *p, struct stat *st) {
  return fstatat(p->folder, p->name, st, p->confined ? AT_SYMLINK_NOFOLLOW : 0) == 0;
}

/* errno: 0 where it is neither a regular file nor, if one is wanted, a folder. */
static bool is_plain(mode_t mode, int flags) {
  if (S_ISDIR(mode) && flags & O_DIRECTORY) return true;
  if (S_ISREG(mode)) return true;
  errno = S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : 0;
  return false;
}

/* It is looked at before, so that a pipe's other end or a device never sees that it was opened; and afterwards, because
 * it may have been replaced. */
static int open_confined(const Place *p, int flags) {
  struct stat st;
  if (place_stat(p, &st) && !is_plain(st.st_mode, flags)) return -1;
  int fd = openat(p->folder, p->name, flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
  if (fd < 0) return -1;
  bool good = fstat(fd, &st) == 0 && is_plain(st.st_mode, flags);
  if (good && is_of_kernel(fd)) good = false, errno = EACCES;
  if (good) return fd;
  close_keeping_errno(fd);
  return -1;
}

int place_open(const Place *p, int flags) {
  if (p->confined) return open_confined(p, flags);
  return openat(p->folder, p->name, flags | O_NONBLOCK | O_CLOEXEC, 0666);
}

const char *place_reason(int error, char *buffer, size_t n) {
  return error ? strerror_r(error, buffer, n) : "it isn't a regular file";
}
