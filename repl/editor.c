/* SPDX-License-Identifier: MIT */
/* Loads readline (editor.h). */
#define EDITOR_LOADS
#include "editor.h"
#include <dlfcn.h>
#include <string.h>

Editor editor;

/* POSIX has dlsym return functions as pointers to data. */
static bool find(void *library, const char *name, void *to) {
  void *found = dlsym(library, name);
  memcpy(to, &found, sizeof found);
  return found;
}

bool editor_load(void) {
  void *library = dlopen(ATLED_READLINE, RTLD_NOW | RTLD_LOCAL);
  bool complete = library;
#define X(name) complete = complete && find(library, #name, &editor.name##_at);
  EDITOR_NAMES(X)
#undef X
  if (complete) return true;
  const char *reason = library ? "it lacks a function" : dlerror();
  fprintf(stderr, "atled: %s can't be used, so the prompt has no editing and no history: %s\n", ATLED_READLINE,
          reason ? reason : "out of memory");
  return false;
}
