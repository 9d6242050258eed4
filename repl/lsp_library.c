/* SPDX-License-Identifier: MIT */
/* The library's definitions as places that an editor can open.
 *
 * The library is part of the program, so its modules have no files. When a definition of one is asked for, the module's
 * text is written to a folder of the user's cache, read only, and that is the place. What is opened of that folder gets
 * no diagnostics: only the library itself may bind primitives. */
#define _GNU_SOURCE
#include "files.h"
#include "lsp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* To be freed; NULL: there is none. */
static char *library_folder(void) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char *folder = NULL;
  int n = -1;
  if (cache && *cache == '/') n = asprintf(&folder, "%s/atled-library-%s", cache, atled_version());
  else if (home && *home == '/') n = asprintf(&folder, "%s/.cache/atled-library-%s", home, atled_version());
  return n < 0 ? NULL : folder;
}

bool is_library_path(const char *path) {
  char *folder = library_folder();
  size_t n = folder ? strlen(folder) : 0;
  bool is = n && strncmp(path, folder, n) == 0 && path[n] == '/';
  free(folder);
  return is;
}

/* Makes it, with the folder around it. */
static bool make_folder(const char *folder) {
  char *around = strdup(folder), *slash = around ? strrchr(around, '/') : NULL;
  if (slash) *slash = '\0';
  if (around) mkdir(around, 0777);
  free(around);
  return mkdir(folder, 0777) == 0 || errno == EEXIST;
}

static bool has_text(const char *path, const char *text) {
  Text now = {0};
  bool same = text_read(&now, path) && strcmp(now.bytes, text) == 0;
  text_free(&now);
  return same;
}

static bool write_text(const char *path, const char *text) {
  if (has_text(path, text)) return true;
  Replacement r;
  FILE *f = replacement_begin(&r, path);
  if (f) {
    fputs(text, f);
    fchmod(fileno(f), 0444);
  }
  return replacement_end(&r);
}

char *library_file(Server *s, const char *module) {
  const AtledDefinition *const *d;
  int n;
  char *folder = library_folder(), *path = NULL;
  bool made = folder && make_folder(folder) && asprintf(&path, "%s/%s.atl", folder, module) >= 0;
  bool known = made && atled_definitions(s->vm, module, NULL, &d, &n) == ATLED_OK && n > 0;
  bool good = known && write_text(path, d[0]->source);
  free(folder);
  if (!good) free(path);
  return good ? path : NULL;
}
