/* SPDX-License-Identifier: MIT */
/* Links a library that is built ahead of time.
 *
 *   shared   ld -shared --gc-sections, with a version script that hides all but the exports
 *   static   ld -r --gc-sections from the exports on, objcopy makes all other symbols local, ar
 *
 * In both the runtime's functions that nothing uses go, and those that stay can't be seen by anything else: several
 * such libraries in one program don't know of each other. Lists of names and objects, which may be long, go to the
 * tools by files. */
#include "jit/toolchain/link.h"
#include "jit/toolchain/compiler.h"
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096, ARGUMENTS = 40 };

typedef struct Link {
  const LinkOrder *order;
  char *why;
  size_t room;
  char runtime[PATH_SIZE];
  char *argv[ARGUMENTS];
  int argc;
} Link;

static bool fail(Link *l, const char *why) {
  snprintf(l->why, l->room, "%s", why);
  return false;
}

static void add(Link *l, const char *argument) { l->argv[l->argc++] = (char *)argument; }
static void start(Link *l) { l->argc = 1; }

static bool run(Link *l, const char *name) {
  char path[1024];
  add(l, NULL);
  if (!tools_find_program(name, path, sizeof path)) {
    snprintf(l->why, l->room, "the program `%s` isn't on PATH", name);
    return false;
  }
  l->argv[0] = path;
  return tools_run(name, l->argv, l->order->folder, l->why, l->room);
}

/* ---- Files for the tools ----------------------------------------------------------------------------------------- */
/* Its path, as an argument with `before` in front of it, goes to text[PATH_SIZE]. */
static FILE *new_file(Link *l, const char *name, const char *before, char *text) {
  size_t skip = strlen(before);
  snprintf(text, PATH_SIZE, "%s%s/%s", before, l->order->folder, name);
  FILE *f = fopen(text + skip, "we");
  if (!f) fail(l, "no file can be written in the folder of temporary files");
  return f;
}

static bool end_file(Link *l, FILE *f) {
  bool ok = !ferror(f);
  return (fclose(f) == 0 && ok) || fail(l, "the folder of temporary files is full");
}

/* In a file of arguments. */
static void write_argument(FILE *f, const char *text) {
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', f);
    fputc(*text, f);
  }
  fputs("\"\n", f);
}

/* Objects and the runtime, as an argument of ld's; the exports are wanted. */
static bool write_objects(Link *l, char *argument) {
  const LinkOrder *o = l->order;
  char path[PATH_SIZE];
  FILE *f = new_file(l, "objects", "@", argument);
  if (!f) return false;
  for (int k = 0; k < o->nexports; k++) fprintf(f, "-u\n%s\n", o->exports[k]);
  for (int k = -1; k < o->nobjects; k++) {
    if (k < 0) snprintf(path, sizeof path, "%s/data.o", o->folder);
    else snprintf(path, sizeof path, "%s/m%d.o", o->folder, k);
    write_argument(f, path);
  }
  write_argument(f, l->runtime);
  return end_file(l, f);
}

static bool write_exports(Link *l, const char *before, const char *behind_each, const char *after, const char *option,
                          char *argument) {
  FILE *f = new_file(l, "exports", option, argument);
  if (!f) return false;
  fputs(before, f);
  for (int k = 0; k < l->order->nexports; k++) fprintf(f, "%s%s", l->order->exports[k], behind_each);
  fputs(after, f);
  return end_file(l, f);
}

/* ---- Linking ----------------------------------------------------------------------------------------------------- */
static bool link_shared(Link *l) {
  static const char *const options[] = {"-shared",
                                        "--gc-sections",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "-O1",
                                        "-z",
                                        "relro",
                                        "-z",
                                        "now",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        "defs",
                                        "-z",
                                        "noseparate-code"};
  char exports[PATH_SIZE], objects[PATH_SIZE];
  if (!write_exports(l, "{ global:\n", ";\n", "local: *; };\n", "--version-script=", exports) ||
      !write_objects(l, objects))
    return false;
  start(l);
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) add(l, options[k]);
  add(l, exports);
  add(l, "-soname");
  add(l, l->order->soname);
  add(l, "-o");
  add(l, l->order->out);
  add(l, objects);
  add(l, "--as-needed");
  add(l, "-l:libm.so.6");
  add(l, "-l:libc.so.6");
  return run(l, "ld");
}

/* One object of all, in which the exports alone are global. */
static bool link_static(Link *l) {
  char exports[PATH_SIZE], objects[PATH_SIZE], whole[PATH_SIZE];
  snprintf(whole, sizeof whole, "%s/%s.o", l->order->folder, l->order->soname);
  if (!write_objects(l, objects) || !write_exports(l, "", "\n", "", "--keep-global-symbols=", exports)) return false;
  start(l);
  add(l, "-r");
  add(l, "--gc-sections");
  add(l, "-o");
  add(l, whole);
  add(l, objects);
  if (!run(l, "ld")) return false;
  start(l);
  add(l, exports);
  add(l, whole);
  if (!run(l, "objcopy")) return false;
  start(l);
  add(l, "rcsD");
  add(l, l->order->out);
  add(l, whole);
  return run(l, "ar");
}

bool link_library(const LinkOrder *order, char *text, size_t n) {
  Link l;
  l.order = order;
  l.why = text;
  l.room = n;
  if (!compiler_find_beside("libatled_rt.a", l.runtime, sizeof l.runtime))
    return fail(&l, "libatled_rt.a isn't found beside the program atled-compiler");
  return order->archive ? link_static(&l) : link_shared(&l);
}
