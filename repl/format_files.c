/* SPDX-License-Identifier: MIT */
/* `atled fmt`: formats files in place, over atled_format; or says which would change.
 *
 * A folder stands for the files `.atl` in it and in its folders, without hidden ones and links. A file is replaced as
 * a whole (files.c), and only if its text changes; one that has errors, or can't be written, stays as it is, and the
 * others are formatted all the same. */
#include "files.h"
#include "options.h"
#include "repl.h"
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int not_written(const char *path) {
  fprintf(stderr, "atled: can't write `%s`: %s\n", path, strerror(errno));
  return EXIT_OUTPUT;
}

static int replace(const char *path, const char *text) {
  if (access(path, W_OK) != 0) return not_written(path);
  Replacement r;
  FILE *f = replacement_begin(&r, path);
  if (f) fputs(text, f);
  return replacement_end(&r) ? 0 : not_written(path);
}

/* What becomes of a file whose text is `old`. */
static int deliver(const Options *o, const char *path, const char *old, const char *text) {
  bool changed = strcmp(old, text) != 0;
  if (o->check) {
    if (changed) puts(shown_name(path));
    return changed;
  }
  if (strcmp(path, "-") == 0) fputs(text, stdout);
  else if (changed) return replace(path, text);
  return 0;
}

static int format_file(const Options *o, const char *path) {
  char *old = slurp(path);
  if (!old) return no_input(path);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) {
    free(old);
    return EXIT_SOFTWARE;
  }
  const char *text;
  interrupt_target(vm);
  AtledStatus status = atled_format(vm, shown_name(path), old, &text);
  interrupt_target(NULL);
  int delivered = status == ATLED_OK ? deliver(o, path, old, text) : 0;
  int code = end_vm(vm, status);
  free(old);
  return code ? code : delivered;
}

static int by_name(const FTSENT **a, const FTSENT **b) { return strcmp((*a)->fts_name, (*b)->fts_name); }

static bool is_program(const FTSENT *e) {
  return e->fts_namelen > 4 && strcmp(e->fts_name + e->fts_namelen - 4, ".atl") == 0;
}

static int visit(const Options *o, FTS *walk, FTSENT *e) {
  bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';
  switch (e->fts_info) {
  case FTS_D:
    if (hidden) fts_set(walk, e, FTS_SKIP);
    return 0;
  case FTS_F: return e->fts_level == 0 || (!hidden && is_program(e)) ? format_file(o, e->fts_path) : 0;
  case FTS_DEFAULT: return e->fts_level == 0 ? format_file(o, e->fts_path) : 0;
  case FTS_DNR:
  case FTS_ERR:
  case FTS_NS: errno = e->fts_errno; return no_input(e->fts_path);
  default: return 0;
  }
}

/* A file, or all in a folder. */
static int format_path(const Options *o, char *path) {
  if (strcmp(path, "-") == 0) return format_file(o, path);
  char *paths[] = {path, NULL};
  FTS *walk = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, by_name);
  if (!walk) return no_input(path);
  int worst = 0;
  for (FTSENT *e; (e = fts_read(walk)) && !interrupt_seen();) {
    int status = visit(o, walk, e);
    if (status > worst) worst = status;
  }
  fts_close(walk);
  return worst;
}

int format_files(const Options *o) {
  int worst = 0;
  for (int i = 0; i < o->nrest && !interrupt_seen() && !ending_seen(); i++) {
    int status = format_path(o, o->rest[i]);
    if (status > worst) worst = status;
  }
  return worst;
}
