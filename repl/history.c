/* SPDX-License-Identifier: MIT */
/* The history of entries: readline's list, and a file in the XDG state folder, `$XDG_STATE_HOME/atled/history`, for
 * which ATLED_HISTORY may name another place, or none. In the file each entry is a line; its own ends of lines are
 * written `\n`, its backslashes `\\`. An entry is appended when it is entered, so sessions side by side lose nothing;
 * the beginning of a session cuts a file that has become long. A file that can't be read or written is told once. */
#include "history.h"
#include "editor.h"
#include "repl.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT = 5000 /* entries */, LONGEST = 1 << 16 /* bytes of an entry that is kept */ };
static char *path; /* NULL: nothing is kept */

static void give_up(const char *where, const char *why) {
  fprintf(stderr, "the history isn't kept: %s%s%s\n", where, *where ? ": " : "", why);
  free(path);
  path = NULL;
}

/* ---- The place --------------------------------------------------------------------------------- */
static char *join(const char *a, const char *b) {
  char *all = malloc(strlen(a) + strlen(b) + 1);
  if (all) strcat(strcpy(all, a), b);
  return all;
}

static char *find_path(void) {
  const char *given = getenv("ATLED_HISTORY"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (given) return strdup(given);
  if (state && *state == '/') return join(state, "/atled/history");
  return home && *home ? join(home, "/.local/state/atled/history") : NULL;
}

/* Makes the folders above the file. */
static void make_folders(char *file) {
  for (char *slash = strchr(file + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(file, 0700);
    *slash = '/';
  }
}

/* ---- Lines of the file -------------------------------------------------------------------------- */
static char *escaped(const char *entry) {
  char *line = malloc(2 * strlen(entry) + 2), *to = line;
  if (!line) return NULL;
  for (; *entry; entry++) {
    if (*entry == '\n' || *entry == '\\') *to++ = '\\';
    *to++ = *entry == '\n' ? 'n' : *entry;
  }
  memcpy(to, "\n", 2);
  return line;
}

static void unescape(char *line) {
  char *to = line;
  for (; *line; line++) {
    if (*line == '\\' && line[1]) *to++ = *++line == 'n' ? '\n' : *line;
    else *to++ = *line;
  }
  *to = '\0';
}

/* Writes the entries that are in the list, under another name first. */
static void shorten(void) {
  char *fresh = join(path, ".new");
  FILE *f = fresh ? fopen(fresh, "w") : NULL;
  HIST_ENTRY **all = history_list();
  for (int i = 0; f && all && all[i]; i++) {
    char *line = escaped(all[i]->line);
    if (line) fputs(line, f);
    free(line);
  }
  if (f && (fclose(f) != 0 || rename(fresh, path) != 0)) unlink(fresh);
  free(fresh);
}

static void read_entries(FILE *f) {
  char *line = NULL;
  size_t room = 0;
  int n = 0;
  for (ssize_t len; (len = getline(&line, &room, f)) > 0; n++) {
    if (line[len - 1] == '\n') line[len - 1] = '\0';
    unescape(line);
    if (*line) add_history(line);
  }
  free(line);
  if (n > 2 * KEPT) shorten();
}

static bool is_regular(FILE *f) {
  struct stat st;
  return fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
}

void history_begin(void) {
  using_history();
  stifle_history(KEPT);
  path = find_path();
  if (path && !*path) {
    free(path);
    path = NULL;
    return;
  }
  if (!path) {
    give_up("", "neither XDG_STATE_HOME nor HOME is set");
    return;
  }
  make_folders(path);
  int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
  if (f && is_regular(f)) read_entries(f);
  else if (f) give_up(path, "it isn't a regular file");
  else give_up(path, strerror(errno));
  if (f) fclose(f);
}

/* ---- Entries ------------------------------------------------------------------------------------- */
static void append(const char *entry) {
  char *line = escaped(entry);
  if (!line) return;
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  size_t n = strlen(line);
  ssize_t done = fd < 0 ? -1 : write(fd, line, n);
  if (done != (ssize_t)n) give_up(path, done < 0 ? strerror(errno) : "it can't be written to the end");
  if (fd >= 0) close(fd);
  free(line);
}

void history_enter(const char *entry) {
  const HIST_ENTRY *last = history_length ? history_get(history_base + history_length - 1) : NULL;
  if (!*entry || (last && strcmp(last->line, entry) == 0)) return;
  add_history(entry);
  if (path && strlen(entry) <= LONGEST) append(entry);
}
