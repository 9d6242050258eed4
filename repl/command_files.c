/* SPDX-License-Identifier: MIT */
/* Commands of files: `:load`, `:reload`, `:edit`, `:save`. */
#define _GNU_SOURCE
#include "files.h"
#include "repl.h"
#include "session.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rest of a line as a path, which may stand in quotes and begin with `~/`; to be freed. NULL after a message. */
static char *path_of(const char *rest, const char *usage) {
  size_t n = strlen(rest);
  if (n > 1 && rest[0] == '"' && rest[n - 1] == '"') rest++, n -= 2;
  const char *home = n > 1 && rest[0] == '~' && rest[1] == '/' ? getenv("HOME") : NULL;
  char *path = NULL;
  if (!n) printf("the path of a file is missing: `%s`\n", usage);
  else if (asprintf(&path, "%s%.*s", home ? home : "", (int)(n - (home != NULL)), rest + (home != NULL)) < 0)
    return NULL;
  return path;
}

/* ---- Loading ------------------------------------------------------------------------------------- */
/* Evaluates the file; true if all of it was. */
static bool load(Session *s, const char *path) {
  interrupt_target(s->host.vm);
  AtledStatus status = atled_eval_file(s->host.vm, path);
  interrupt_target(NULL);
  session_show(s, status);
  if (status == ATLED_OK) session_add(s, slurp(path), strdup(path));
  return status == ATLED_OK;
}

void command_load(Session *s, const char *rest) {
  char *path = path_of(rest, ":load FILE");
  if (path) load(s, path);
  free(path);
}

static bool loaded_before(const Session *s, int i) {
  for (int k = 0; k < i; k++)
    if (s->entries[k].path && strcmp(s->entries[k].path, s->entries[i].path) == 0) return true;
  return false;
}

static bool imports(const char *entry) { return strncmp(entry, "import", 6) == 0 && strchr(" \t\"", entry[6]); }

/* In the order in which they came first; an import whose file is as it was costs nothing. */
void command_reload(Session *s, const char *rest) {
  (void)rest;
  int n = s->nentries, done = 0;
  for (int i = 0; i < n; i++) {
    if (s->entries[i].path) {
      if (loaded_before(s, i)) continue;
      char *path = strdup(s->entries[i].path);
      if (!path || !load(s, path)) i = n;
      free(path);
    } else if (imports(s->entries[i].text)) {
      char *text = strdup(s->entries[i].text);
      if (text) s->host.enter(s->host.prompt, text);
      free(text);
    } else {
      continue;
    }
    done++;
  }
  if (!done) puts("nothing was loaded or imported");
}

/* ---- Saving -------------------------------------------------------------------------------------- */
static void write_entry(FILE *f, const Accepted *e) {
  size_t n = strlen(e->text);
  if (e->path) fprintf(f, "# %s\n", e->path);
  fputs(e->text, f);
  if (n && e->text[n - 1] != '\n') fputc('\n', f);
}

void command_save(Session *s, const char *rest) {
  char *path = path_of(rest, ":save FILE");
  if (!path) return;
  Replacement r;
  FILE *f = replacement_begin(&r, path);
  for (int i = 0; f && i < s->nentries; i++) write_entry(f, &s->entries[i]);
  if (replacement_end(&r)) printf("%d %s written to %s\n", s->nentries, s->nentries == 1 ? "entry" : "entries", path);
  else printf("can't write `%s`: %s\n", path, strerror(errno));
  free(path);
}

/* ---- Editing ------------------------------------------------------------------------------------- */
static const char *editor(void) {
  const char *visual = getenv("VISUAL"), *plain = getenv("EDITOR");
  return visual && *visual ? visual : plain && *plain ? plain : "vi";
}

/* Runs the editor, a command of the shell, on the file, and waits for it. It alone gets the terminal's signals; those
 * that end this process end it too. */
static bool run_editor(const char *path) {
  char *command;
  if (asprintf(&command, "%s \"$1\"", editor()) < 0) return false;
  fflush(stdout);
  int status = child_run((const char *const[]){"/bin/sh", "-c", command, "sh", path, NULL});
  if (status != 0) printf("the editor `%s` failed\n", editor());
  free(command);
  return status == 0;
}

static void edit_entry(Session *s) {
  const char *folder = getenv("TMPDIR");
  char *path;
  if (asprintf(&path, "%s/atled-XXXXXX.atl", folder && *folder ? folder : "/tmp") < 0) return;
  int fd = mkstemps(path, 4);
  FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (f && s->nentries) write_entry(f, &(Accepted){.text = s->entries[s->nentries - 1].text});
  bool good = f && fclose(f) == 0;
  if (!good) printf("can't write `%s`: %s\n", path, strerror(errno));
  char *text = good && run_editor(path) ? slurp(path) : NULL;
  if (fd >= 0) unlink(path);
  if (text && text[strspn(text, " \t\n")]) s->host.enter(s->host.prompt, text);
  free(text);
  free(path);
}

void command_edit(Session *s, const char *rest) {
  if (!*rest) {
    edit_entry(s);
    return;
  }
  char *path = path_of(rest, ":edit FILE");
  if (path && run_editor(path)) load(s, path);
  free(path);
}
