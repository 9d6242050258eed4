/* SPDX-License-Identifier: MIT */
/* `--watch`: runs a program in a child, again whenever its file or one that it imports is changed.
 *
 * Which files these are is what a check of the program reads, before it runs: so a program that never ends is watched
 * like any other. A file is looked at ten times a second; it is changed when its time, size or inode is another. */
#include "options.h"
#include "repl.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_MS = 100 };

/* A file as it was when it was looked at; all zero: there was none. */
typedef struct Watched {
  char *path;
  struct timespec changed;
  off_t size;
  ino_t inode;
} Watched;

typedef struct Watch {
  Watched *files;
  int n;
} Watch;

static Watched look_at(const char *path) {
  struct stat st;
  Watched w = {.path = strdup(path)};
  if (stat(path, &st) == 0) w.changed = st.st_mtim, w.size = st.st_size, w.inode = st.st_ino;
  return w;
}

static bool is_changed(const Watched *old) {
  Watched now = look_at(old->path ? old->path : "");
  bool same = now.changed.tv_sec == old->changed.tv_sec && now.changed.tv_nsec == old->changed.tv_nsec &&
              now.size == old->size && now.inode == old->inode;
  free(now.path);
  return !same;
}

static void watch_add(Watch *w, const char *path) {
  Watched *more = realloc(w->files, (size_t)(w->n + 1) * sizeof *more);
  if (!more) return;
  w->files = more;
  w->files[w->n++] = look_at(path);
}

static void watch_free(Watch *w) {
  for (int i = 0; i < w->n; i++) free(w->files[i].path);
  free(w->files);
  *w = (Watch){0};
}

/* The files of the command and what they import now; its errors are the child's to say. */
static void watch_all(Watch *w, const Options *o, int nfiles) {
  AtledConfig config = o->config;
  config.diagnostic = NULL;
  for (int i = 0; i < nfiles; i++) {
    watch_add(w, o->rest[i]);
    char *text = slurp(o->rest[i]);
    AtledVM *vm = text ? atled_new(&config) : NULL;
    const char *const *paths;
    if (vm) atled_check(vm, o->rest[i], text);
    for (int k = 0, n = vm ? atled_files(vm, &paths) : 0; k < n; k++) watch_add(w, paths[k]);
    atled_free(vm);
    free(text);
  }
}

static const char *changed_file(const Watch *w) {
  for (int i = 0; i < w->n; i++)
    if (is_changed(&w->files[i])) return w->files[i].path;
  return NULL;
}

static void say_end(int status) {
  if (WIFSIGNALED(status)) fprintf(stderr, "-- ended by signal %d; waiting for a change\n", WTERMSIG(status));
  else fprintf(stderr, "-- ended with status %d; waiting for a change\n", WEXITSTATUS(status));
}

/* Waits until a file is changed, which ends the child, or an interrupt, which gives NULL. */
static const char *wait_for_change(const Watch *w, pid_t child) {
  const struct timespec slice = {.tv_nsec = SLICE_MS * 1000000};
  const char *path = NULL;
  int status;
  bool running = true;
  while (!interrupt_seen() && !(path = changed_file(w))) {
    if (running && waitpid(child, &status, WNOHANG) == child) {
      running = false;
      signals_child(0);
      if (!interrupt_seen()) say_end(status);
    }
    nanosleep(&slice, NULL);
  }
  if (running) {
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    signals_child(0);
  }
  return path;
}

int watch(Options *o, int (*run)(Options *o)) {
  int nfiles = o->verb == VERB_RUN ? 1 : o->nrest;
  if (!o->nrest || o->expression || strcmp(o->rest[0], "-") == 0) {
    fputs("atled: `--watch` needs a file\n", stderr);
    return EXIT_USAGE;
  }
  for (;;) {
    Watch w = {0};
    watch_all(&w, o, nfiles);
    interrupt_target(NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) return run(o);
    if (child < 0) {
      perror("atled");
      return EXIT_SOFTWARE;
    }
    signals_child(child);
    const char *path = wait_for_change(&w, child);
    if (path) fprintf(stderr, "-- %s was changed\n", path);
    watch_free(&w);
    if (!path) return EXIT_SOFTWARE;
  }
}
