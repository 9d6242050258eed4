/* SPDX-License-Identifier: MIT */
/* The host's side of the compiler's process.
 *
 * It is started by posix_spawn: nothing of the host is copied, and no handler of pthread_atfork runs. What is started
 * starts the process proper and ends at once, so that isn't a child of the host, which need not reap it, and may ignore
 * or collect its children as it likes. The only tie is a socket: where it closes, whichever side died, the other one
 * knows. It is written to without SIGPIPE, and closed in whatever else the host starts.
 *
 * The process has a group of its own: what a terminal sends to the host's isn't meant for it. */
#define _GNU_SOURCE
#include "jit/toolchain/compiler.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { LOOK_MS = 50 };

/* ---- Finding the program ----------------------------------------------------------------------------------------- */
static bool usable(char *path, size_t n, int made) { return made > 0 && (size_t)made < n && access(path, X_OK) == 0; }

/* From bin, lib, or lib/MACHINE to libexec/atled. */
static bool beside(const char *file, char *path, size_t n) {
  const char *slash = strrchr(file, '/');
  static const char *const up[] = {"..", "../.."};
  for (int k = 0; slash && k < 2; k++)
    if (usable(path, n, snprintf(path, n, "%.*s/%s/libexec/atled/atled-compiler", (int)(slash - file), file, up[k])))
      return true;
  return false;
}

/* The file that holds this code, a library or a program; the program that runs; where it is to be installed. */
static bool find_program(char *path, size_t n) {
  const char *wish = getenv("ATLED_COMPILER");
  if (wish) return usable(path, n, snprintf(path, n, "%s", wish));
  Dl_info info;
  char self[FILE_NAME_SIZE];
  static const char here = 0;
  if (dladdr(&here, &info) && info.dli_fname && beside(info.dli_fname, path, n)) return true;
  ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
  if (len > 0) {
    self[len] = 0;
    if (beside(self, path, n)) return true;
  }
  return usable(path, n, snprintf(path, n, "%s/atled-compiler", ATLED_LIBEXEC));
}

/* ---- Starting it ------------------------------------------------------------------------------------------------- */
/* With the socket as its standard input. */
static CompilerEnd spawn(const char *path, uint64_t version, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, all;
  pid_t pid;
  int status = 0;
  char number[20];
  char *argv[] = {(char *)path, number, NULL};
  snprintf(number, sizeof number, "%llx", (unsigned long long)version);
  if (posix_spawn_file_actions_init(&files) != 0) return COMPILER_REFUSED;
  if (posix_spawnattr_init(&attr) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return COMPILER_REFUSED;
  }
  posix_spawn_file_actions_adddup2(&files, socket, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  bool ok = posix_spawn(&pid, path, &files, &attr, argv, environ) == 0;
  while (ok && waitpid(pid, &status, 0) < 0 && errno == EINTR) {} /* or the host has reaped it, which is as good */
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&files);
  if (ok && WIFEXITED(status) && WEXITSTATUS(status) == COMPILER_OTHER_VERSION) return COMPILER_NONE;
  return ok && status == 0 ? COMPILER_REPLIED : COMPILER_REFUSED;
}

static CompilerEnd start(Compiler *c) {
  char path[FILE_NAME_SIZE];
  int ends[2];
  if (!find_program(path, sizeof path)) return COMPILER_NONE;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return COMPILER_REFUSED;
  CompilerEnd end = spawn(path, c->version, ends[1]);
  close(ends[1]);
  if (end == COMPILER_REPLIED) c->socket = ends[0] + 1;
  else close(ends[0]);
  return end;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */
static void add_usage(Usage *all, const Usage *one) {
  all->seconds += one->seconds;
  if (one->memory > all->memory) all->memory = one->memory;
  all->orders++;
}

static bool is_sent(const Compiler *c) { return c->order && c->sent == sizeof *c->order + c->order->size; }

bool compiler_stop(Compiler *c, bool finish) {
  const char farewell = COMPILER_FAREWELL;
  if (!c->socket) return false;
  finish = finish && is_sent(c) && send(c->socket - 1, &farewell, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
  close(c->socket - 1);
  c->socket = 0;
  c->order = NULL;
  return finish;
}

/* Sends what is left from place *at on of n bytes, which follow `before` others. */
static CompilerEnd send_part(Compiler *c, const void *bytes, size_t before, size_t n) {
  while (c->sent < before + n) {
    const char *from = (const char *)bytes + (c->sent - before);
    ssize_t done = send(c->socket - 1, from, before + n - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) return COMPILER_WORKING;
    if (done <= 0) return COMPILER_LOST;
    c->sent += (size_t)done;
  }
  return COMPILER_REPLIED;
}

static CompilerEnd go_on(Compiler *c) {
  CompilerEnd end = send_part(c, c->order, 0, sizeof *c->order);
  if (end == COMPILER_REPLIED) end = send_part(c, c->image, sizeof *c->order, c->order->size);
  while (end == COMPILER_REPLIED && c->got < sizeof c->result) {
    ssize_t done = recv(c->socket - 1, (char *)&c->result + c->got, sizeof c->result - c->got, MSG_DONTWAIT);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) return COMPILER_WORKING;
    if (done <= 0) return COMPILER_LOST;
    c->got += (size_t)done;
  }
  return end;
}

CompilerEnd compiler_begin(Compiler *c, const Order *order, const void *image) {
  c->again = c->socket != 0;
  CompilerEnd end = c->again ? COMPILER_REPLIED : start(c);
  if (end != COMPILER_REPLIED) return end;
  c->order = order;
  c->image = image;
  c->sent = c->got = 0;
  return COMPILER_WORKING;
}

CompilerEnd compiler_look(Compiler *c, Result *result) {
  const Order *order = c->order;
  const void *image = c->image;
  CompilerEnd end = go_on(c);
  if (end == COMPILER_LOST) {
    compiler_stop(c, false);
    return c->again ? compiler_begin(c, order, image) : end;
  }
  if (end == COMPILER_REPLIED) {
    *result = c->result;
    add_usage(&c->used, &result->used);
    c->order = NULL;
  }
  return end;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */
CompilerEnd compiler_wait(Compiler *c, Result *result, bool (*stop)(void *user), void *user) {
  for (;;) {
    CompilerEnd end = compiler_look(c, result);
    if (end != COMPILER_WORKING) return end;
    if (stop(user)) return COMPILER_STOPPED;
    struct pollfd look = {.fd = c->socket - 1, .events = is_sent(c) ? POLLIN : POLLOUT};
    poll(&look, 1, LOOK_MS);
  }
}

bool compiler_leave(Compiler *c) {
  if (!is_sent(c)) return false;
  c->image = NULL;
  c->again = false;
  return true;
}
