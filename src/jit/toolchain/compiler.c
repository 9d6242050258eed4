/* SPDX-License-Identifier: MIT */
/* The host's side of the compiler's process.
 *
 * It is started by posix_spawn: nothing of the host is copied, and no handler of pthread_atfork runs. What is started
 * starts the process proper and ends at once, so that isn't a child of the host, which need not reap it, and may ignore
 * or collect its children as it likes. Process 1 is the exception, since it gets all orphans back: there the starter,
 * which is small, stays until it is reaped here. The only tie is a socket: where it closes, whichever side died, the
 * other one knows. It is written to without SIGPIPE, and closed in whatever else the host starts.
 *
 * Nothing here waits for the program: it greets when it is there, and one that doesn't in START_SECONDS, as another
 * program wouldn't, is ended.
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
#include <time.h>
#include <unistd.h>

extern char **environ;
enum { LOOK_MS = 10, START_SECONDS = 20, REAP_US = 1000, REAP_LOOKS = 1000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

/* The one that the environment names; beside the file that holds this code, a library or a program; beside the program
 * that runs; where it is to be installed. */
static bool find_program(char *path, size_t n) {
  const char *wish = secure_getenv("ATLED_COMPILER");
  if (wish && *wish && usable(path, n, snprintf(path, n, "%s", wish))) return true;
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

bool compiler_find_beside(const char *name, char *path, size_t n) {
  char program[FILE_NAME_SIZE];
  if (!find_program(program, sizeof program)) return false;
  int folder = (int)(strrchr(program, '/') ? strrchr(program, '/') + 1 - program : 0);
  int made = snprintf(path, n, "%.*s%s", folder, program, name);
  return made > 0 && (size_t)made < n && access(path, R_OK) == 0;
}

/* ---- Starting it ------------------------------------------------------------------------------------------------- */
/* With the socket as its standard input: its number, or 0. */
static pid_t spawn(const char *path, const Compiler *c, int socket) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, all;
  pid_t pid;
  char number[20];
  char *argv[] = {(char *)path, number, c->stays ? COMPILER_STAY : NULL, NULL};
  snprintf(number, sizeof number, "%llx", (unsigned long long)c->version);
  if (posix_spawn_file_actions_init(&files) != 0) return 0;
  if (posix_spawnattr_init(&attr) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return 0;
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
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&files);
  return ok ? pid : 0;
}

static CompilerEnd start(Compiler *c) {
  char path[FILE_NAME_SIZE];
  int ends[2];
  if (!find_program(path, sizeof path)) return COMPILER_NONE;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return COMPILER_REFUSED;
  c->stays = getpid() == 1;
  c->starter = spawn(path, c, ends[1]);
  close(ends[1]);
  if (!c->starter) {
    close(ends[0]);
    return COMPILER_REFUSED;
  }
  c->socket = ends[0] + 1;
  c->since = now();
  c->status = -1;
  c->greeted = false;
  return COMPILER_WORKING;
}

/* The starter's status, if it has ended by now. The host may have reaped it, which is as good. */
static void reap(Compiler *c) {
  int status;
  if (!c->starter) return;
  pid_t done = waitpid(c->starter, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR)) return;
  if (done > 0) c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  c->starter = 0;
}

/* The same of one that is about to end; ended if it doesn't. */
static void reap_soon(Compiler *c) {
  for (int k = 0; c->starter && k < REAP_LOOKS; k++) {
    reap(c);
    if (c->starter) usleep(REAP_US);
  }
  if (!c->starter || (c->stays && c->greeted)) return;
  kill(c->starter, SIGKILL);
  while (waitpid(c->starter, NULL, 0) < 0 && errno == EINTR) {}
  c->starter = 0;
}

/* Why the socket was closed at the other end. */
static CompilerEnd cause_of_loss(Compiler *c) {
  if (c->greeted) return COMPILER_LOST;
  reap_soon(c);
  return c->status == COMPILER_OTHER_VERSION ? COMPILER_NONE : c->status > 0 ? COMPILER_REFUSED : COMPILER_LOST;
}

/* Is the process there? */
static CompilerEnd meet(Compiler *c) {
  char byte;
  while (!c->greeted) {
    ssize_t got = recv(c->socket - 1, &byte, 1, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return now() > c->since + START_SECONDS ? COMPILER_REFUSED : COMPILER_WORKING;
    if (got == 1 && byte != COMPILER_GREETING) return COMPILER_REFUSED;
    if (got <= 0) return cause_of_loss(c);
    c->greeted = true;
  }
  if (!c->stays) reap(c);
  return COMPILER_REPLIED;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */
void compiler_add_usage(Usage *all, const Usage *one) {
  all->seconds += one->seconds;
  if (one->memory > all->memory) all->memory = one->memory;
  all->orders += one->orders;
}

static bool is_sent(const Compiler *c) { return c->order && c->sent == sizeof *c->order + c->order->size; }

void compiler_forget(Compiler *c) {
  if (c->socket) close(c->socket - 1);
  c->socket = 0;
  c->starter = 0;
  c->order = NULL;
}

bool compiler_stop(Compiler *c, bool finish) {
  const char farewell = COMPILER_FAREWELL;
  if (!c->socket) return false;
  finish = finish && is_sent(c) && !c->stays && send(c->socket - 1, &farewell, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
  pid_t starter = c->starter;
  compiler_forget(c);
  c->starter = starter;
  reap_soon(c);
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
  CompilerEnd end = meet(c);
  if (end == COMPILER_REPLIED) end = send_part(c, c->order, 0, sizeof *c->order);
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
  CompilerEnd end = c->again ? COMPILER_WORKING : start(c);
  if (end != COMPILER_WORKING) return end;
  c->order = order;
  c->image = image;
  c->sent = c->got = 0;
  return COMPILER_WORKING;
}

CompilerEnd compiler_look(Compiler *c, Result *result) {
  const Order *order = c->order;
  const void *image = c->image;
  CompilerEnd end = go_on(c);
  if (end == COMPILER_LOST || end == COMPILER_REFUSED || end == COMPILER_NONE) {
    compiler_stop(c, false);
    return c->again ? compiler_begin(c, order, image) : end;
  }
  if (end == COMPILER_REPLIED) {
    *result = c->result;
    result->used.orders = 1;
    compiler_add_usage(&c->used, &result->used);
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
    struct pollfd look = {.fd = c->socket - 1, .events = is_sent(c) || !c->greeted ? POLLIN : POLLOUT};
    poll(&look, 1, LOOK_MS);
  }
}

bool compiler_leave(Compiler *c) {
  if (!is_sent(c)) return false;
  c->image = NULL;
  c->again = false;
  return true;
}
