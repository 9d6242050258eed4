/* SPDX-License-Identifier: MIT */
/* Files that are replaced as a whole: what was there stays until the new text is on the disk, so neither a full disk
 * nor a signal leaves a part of it. And programs that are started: the editor. */
#define _GNU_SOURCE
#include "files.h"
#include "repl.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Replacing ------------------------------------------------------------------------------------- */
static bool give_up(Replacement *r) {
  if (r->temporary) unlink(r->temporary);
  free(r->temporary);
  free(r->path);
  errno = r->error;
  return false;
}

/* Owner, where the system lets us, and rights of the file that is there; of a new one those that the process gives. */
static void give_rights(int fd, const char *path) {
  struct stat st;
  if (stat(path, &st) == 0) {
    if (fchown(fd, st.st_uid, st.st_gid) != 0) errno = 0;
    fchmod(fd, st.st_mode & 07777);
    return;
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
}

FILE *replacement_begin(Replacement *r, const char *path) {
  *r = (Replacement){0};
  /* A link stays one: what it leads to is replaced. */
  r->path = realpath(path, NULL);
  if (!r->path) r->path = strdup(path);
  if (!r->path || asprintf(&r->temporary, "%s.XXXXXX", r->path) < 0) r->temporary = NULL;
  struct stat st;
  bool special = r->path && stat(r->path, &st) == 0 && !S_ISREG(st.st_mode);
  int fd = special ? (errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL, -1) : r->temporary ? mkstemp(r->temporary) : -1;
  if (fd < 0) {
    r->error = errno;
    free(r->temporary);
    r->temporary = NULL;
    return NULL;
  }
  give_rights(fd, r->path);
  r->file = fdopen(fd, "w");
  if (!r->file) r->error = errno, close(fd);
  return r->file;
}

bool replacement_end(Replacement *r) {
  if (!r->file) return give_up(r);
  if (fflush(r->file) != 0 || ferror(r->file) || fsync(fileno(r->file)) != 0) r->error = errno;
  if (fclose(r->file) != 0 && !r->error) r->error = errno;
  if (!r->error && rename(r->temporary, r->path) != 0) r->error = errno;
  if (r->error) return give_up(r);
  free(r->temporary);
  free(r->path);
  return true;
}

/* ---- Children -------------------------------------------------------------------------------------- */
int child_run(const char *const *words) {
  struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGINT, &ignore, &interrupt);
  sigaction(SIGQUIT, &ignore, &quit);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
  }
  signals_child(child);
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  signals_child(0);
  sigaction(SIGINT, &interrupt, NULL);
  sigaction(SIGQUIT, &quit, NULL);
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
