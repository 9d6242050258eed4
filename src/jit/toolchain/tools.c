/* SPDX-License-Identifier: MIT */
/* From assembly text to a shared object: `as`, then `ld -shared`, by posix_spawn.
 *
 * Running the two directly takes 4 to 5 ms, about half of what GCC's driver takes
 * for the same, and a tool that is missing or fails is an error to report here
 * where the driver would end the process. What the tools write goes to a file
 * beside the object; its first line becomes part of the message. */
#define _GNU_SOURCE
#include "jit/toolchain/tools.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { PATH_SIZE = 4096 };

bool tools_find_program(const char *name, char *path, size_t n) {
  const char *dirs = secure_getenv("PATH");
  if (!dirs) dirs = "/usr/bin:/bin";
  while (*dirs) {
    size_t len = strcspn(dirs, ":");
    struct stat st;
    int made = snprintf(path, n, "%.*s/%s", (int)len, dirs, name);
    if (len && made > 0 && (size_t)made < n && access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
      return true;
    dirs += len;
    if (*dirs) dirs++;
  }
  return false;
}

const char *tools_find(Tools *t) {
  if (!tools_find_program("as", t->as, sizeof t->as)) return "as";
  if (!tools_find_program("ld", t->ld, sizeof t->ld)) return "ld";
  return NULL;
}

/* Runs the program to its end with default signals; its exit status, or -1. */
static int run(char *const *argv, const char *log) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t none, all;
  if (posix_spawn_file_actions_init(&files) != 0) return -1;
  if (posix_spawnattr_init(&attr) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return -1;
  }
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, argv[0], &files, &attr, argv, environ) == 0)
    while (waitpid(pid, &status, 0) < 0)
      if (errno != EINTR) { /* the host reaps all its children itself: the result will tell */
        status = 0;
        break;
      }
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&files);
  return status;
}

static bool explain(const char *tool, const char *log, char *text, size_t n) {
  char line[200] = "";
  FILE *f = fopen(log, "re");
  if (f) {
    if (!fgets(line, sizeof line, f)) line[0] = 0;
    fclose(f);
  }
  line[strcspn(line, "\n")] = 0;
  snprintf(text, n, "%s failed%s%s", tool, line[0] ? ": " : "", line);
  return false;
}

static bool not_empty(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && st.st_size > 0;
}

bool tools_run(const char *name, char *const *argv, const char *dir, char *text, size_t n) {
  char log[PATH_SIZE];
  snprintf(log, sizeof log, "%s/log", dir);
  bool ok = run(argv, log) == 0;
  if (!ok) explain(name, log, text, n);
  unlink(log);
  return ok;
}

/* The same of a program that makes a file. */
static bool make(const char *name, char *const *argv, const char *dir, const char *made, char *text, size_t n) {
  if (!tools_run(name, argv, dir, text, n)) return false;
  if (not_empty(made)) return true;
  snprintf(text, n, "%s failed", name);
  return false;
}

bool tools_assemble(const Tools *t, const char *dir, const char *object, char *text, size_t n) {
  char assembly[PATH_SIZE];
  snprintf(assembly, sizeof assembly, "%s/m.s", dir);
  char *as[] = {(char *)t->as, "-o", (char *)object, assembly, NULL};
  return make("the assembler", as, dir, object, text, n);
}

bool tools_make(const Tools *t, const char *dir, const char *so, bool libm, char *text, size_t n) {
  char object[PATH_SIZE];
  snprintf(object, sizeof object, "%s/m.o", dir);
  /* One segment mapping less and no build id: the object is small and loads fast. */
  char *ld[] = {(char *)t->ld,
                "-shared",
                "--build-id=none",
                "--hash-style=gnu",
                "-z",
                "noseparate-code",
                "-o",
                (char *)so,
                object,
                libm ? "-l:libm.so.6" : NULL,
                NULL};
  bool ok = tools_assemble(t, dir, object, text, n) && make("the linker", ld, dir, so, text, n);
  unlink(object);
  return ok;
}
