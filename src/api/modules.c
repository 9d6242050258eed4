/* SPDX-License-Identifier: MIT */
/* Modules: files that programs import, and the standard library.
 *
 * `import "path"` is taken relative to the folder of the importing file. A file
 * is one module however often and by whatever spelling it is imported. Its
 * items are checked when it is first met, which puts it before its importer in
 * vm->fresh, the order in which modules are evaluated. A module met again
 * while it is still being checked closes a cycle. One met again in a later
 * entry whose text, or that of a module it imports, was changed meanwhile is
 * read, checked and evaluated again; what uses the old one goes on using it.
 *
 * A host may give the sources of modules itself (AtledConfig.module): then no file is opened. Else the program needs
 * the right to import, for the folder perhaps, and a path without it is refused before anything of it is looked at:
 * messages show lines of what was read.
 *
 * Library modules are constants of the program, an index of their items with
 * them; the checker parses these one by one when they are first named. */
#include "api/stdlib_files.h"
#include "api/vm.h"
#include "runtime/places.h"
#include "support/paths.h"
#include "support/rights.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ----------------------------------------------------------------------------------------------------- */
/* Reads up to n bytes: their number; -1 with errno; with errno 0 where it is no regular file. */
static ssize_t read_bytes(int fd, char *to, size_t n) {
  struct stat st;
  size_t done = 0;
  if (fstat(fd, &st) != 0) return -1;
  if (!S_ISREG(st.st_mode)) {
    errno = S_ISDIR(st.st_mode) ? EISDIR : 0;
    return -1;
  }
  while (done < n) {
    ssize_t got = read(fd, to + done, n - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

/* The same of the file, without waiting for one that is a pipe. right: that the program needs; NONE: the host names the
 * file. */
static ssize_t read_start(const AtledVM *vm, Right right, const char *path, char *to, size_t n) {
  Place p = {.folder = AT_FDCWD, .name = path};
  int fd;
  if (right && place_find(&vm->rt, right, path, &p) != PLACE_FOUND) return -1;
  do fd = place_open(&p, O_RDONLY | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  int failed = errno;
  place_close(&p);
  errno = failed;
  if (fd < 0) return -1;
  ssize_t got = read_bytes(fd, to, n);
  int why = errno;
  close(fd);
  errno = why;
  return got;
}

bool modules_may_read(const AtledVM *vm, size_t len) {
  return !vm->config.source_limit || len <= vm->config.source_limit;
}

/* Memory is taken while no file is open: the jump when there is none would leave it so. */
static char *read_file(AtledVM *vm, Right right, const char *path, size_t *len) {
  enum { FIRST = 16384 };
  Phase before = phase_enter(&vm->heap, PHASE_READ);
  char *text;
  ssize_t n;
  size_t room = FIRST / 2;
  do text = arena_alloc(&vm->scratch, (room *= 2) + 1);
  while ((n = read_start(vm, right, path, text, room)) == (ssize_t)room && modules_may_read(vm, room));
  phase_leave(&vm->heap, before);
  if (n < 0) return NULL;
  text[n] = 0;
  *len = (size_t)n;
  return text;
}

char *modules_read_file(AtledVM *vm, const char *path, size_t *len) { return read_file(vm, RIGHT_NONE, path, len); }

const char *modules_read_error(void) { return errno ? strerror(errno) : "it isn't a regular file"; }

/* ---- Importing --------------------------------------------------------------------------------------------------- */
/* The path to open, or the name for the host: relative ones start at the importer's folder. */
static char *resolve(AtledVM *vm, const char *importer, const char *path) {
  const char *slash = importer ? strrchr(importer, '/') : NULL;
  if (path[0] == '/' || !slash) return arena_printf(&vm->arena, "%s", path);
  return arena_printf(&vm->arena, "%.*s%s", (int)(slash - importer + 1), importer, path);
}

/* A copy of the text that the host gives for the module, in the scratch arena. NULL with errno: there is none. */
static char *ask_host(AtledVM *vm, const char *name, size_t *len) {
  *len = 0;
  const char *text = vm->config.module(vm->config.user, name, len);
  errno = ENOENT;
  return text ? arena_strndup(&vm->scratch, text, *len) : NULL;
}

static char *read_module(AtledVM *vm, const char *file, size_t *len) {
  return vm->config.module ? ask_host(vm, file, len) : read_file(vm, RIGHT_IMPORT, file, len);
}

/* One spelling for each file. Where the program may import some files only, found without looking at them. */
static Sym canonical(AtledVM *vm, const char *path) {
  char text[PATH_MAX];
  if (vm->config.module) return sym_of(&vm->syms, path);
  if (!(vm->rt.rights & RIGHT_IMPORT)) return sym_of(&vm->syms, place_absolute(path, text) ? text : path);
  char *real = realpath(path, NULL);
  Sym key = sym_of(&vm->syms, real ? real : path);
  free(real);
  return key;
}

static void report_cycle(AtledVM *vm, const Module *again, Span at) {
  Str chain = {.arena = &vm->scratch};
  bool inside = false;
  for (int i = 0; i < vm->loading.len; i++) {
    inside |= vm->loading.data[i] == again;
    if (inside) str_printf(&chain, "%s imports ", sources_get(&vm->sources, vm->loading.data[i]->source)->name);
  }
  str_puts(&chain, sources_get(&vm->sources, again->source)->name);
  Diag *d = diag_error(&vm->diags, at, "import-cycle", "this import closes a cycle: %s", chain.data);
  if (vm->loading.len < 2) return;
  d->also = vm->loading.data[1]->imported_at;
  d->also_label = "the program's import that leads there";
}

void modules_forget(AtledVM *vm, const Module *m) {
  int kept = 0;
  for (int i = 0; i < vm->modules.len; i++)
    if (vm->modules.data[i] != m) vm->modules.data[kept++] = vm->modules.data[i];
  vm->modules.len = kept;
}

static bool has_other_text(AtledVM *vm, const Module *m) {
  const Source *old = sources_get(&vm->sources, m->source);
  size_t len = 0;
  const char *text = read_module(vm, m->path, &len);
  return !text || len != old->len || memcmp(text, old->text, len) != 0;
}

/* Whether the module's file, or that of one it imports, was changed since it was read. All files are looked at once
 * an entry, so a program is made of one state of each. */
static bool was_edited(AtledVM *vm, Module *m) {
  uint32_t entry = vm->arena.epoch;
  if (m->library || m->looked_at == entry) return m->replaced;
  SAVE(&vm->arena, m->looked_at);
  SAVE(&vm->arena, m->replaced);
  m->looked_at = entry;
  bool edited = has_other_text(vm, m);
  for (size_t i = 0; i < m->modules.cap; i++)
    if (m->modules.keys[i] && m->modules.vals[i] && was_edited(vm, m->modules.vals[i])) edited = true;
  m->replaced = edited;
  return edited;
}

/* May the program import that? Reports if not. A name for the host is normalised. */
static bool may_import(AtledVM *vm, char *file, Span at) {
  if (vm->config.module) {
    if (path_normalise(file)) return true;
    diag_error(&vm->diags, at, "import-file", "this import leads out of the host's modules");
    return false;
  }
  unsigned rights = rt_rights(&vm->rt);
  if (place_granted(&vm->rt, RIGHT_IMPORT, file)) return true;
  if (rights & RIGHT_IMPORT)
    diag_error(&vm->diags, at, "denied", "`%s` can't be imported: the right to %s is granted for other folders only",
               file, right_does(RIGHT_IMPORT));
  else
    diag_error(&vm->diags, at, "denied", "`import` needs the right to %s, which isn't granted",
               right_does(RIGHT_IMPORT))
        ->hint = right_grant_hint(RIGHT_IMPORT);
  return false;
}

static void note_import(AtledVM *vm, const char *path, Sym real, const Module *m) {
  Imported i = {arena_strndup(&vm->scratch, path, strlen(path)), arena_strndup(&vm->scratch, real, strlen(real)),
                m->source};
  vec_push(&vm->scratch, vm->imported, i);
}

bool modules_are_same(AtledVM *vm, const Imported *i, const char *text, size_t len) {
  size_t n = 0;
  if (strcmp(canonical(vm, i->path), i->real) != 0) return false;
  const char *now = read_module(vm, i->path, &n);
  return now && n == len && memcmp(now, text, n) == 0;
}

static Module *import(void *user, Module *from, Sym path, Span at) {
  AtledVM *vm = user;
  char *file = resolve(vm, from->path, path);
  if (!may_import(vm, file, at)) return NULL;
  Sym key = canonical(vm, file);
  for (int i = 0; i < vm->modules.len; i++) {
    Module *m = vm->modules.data[i];
    if (m->replaced || canonical(vm, m->path) != key) continue;
    if (!m->loading && was_edited(vm, m)) continue;
    if (!m->loading) {
      note_import(vm, file, key, m);
      return m;
    }
    report_cycle(vm, m, at);
    return NULL;
  }
  size_t len = 0;
  vec_push(&vm->scratch, vm->files, arena_strndup(&vm->scratch, file, strlen(file)));
  char *text = read_module(vm, file, &len);
  if (!text) {
    diag_error(&vm->diags, at, "import-file", "can't read `%s`: %s", file, modules_read_error());
    return NULL;
  }
  if (!modules_may_read(vm, len)) {
    diag_error(&vm->diags, at, "source-limit", "`%s` has more than %zu bytes (source_limit)", file,
               vm->config.source_limit);
    return NULL;
  }
  uint32_t source = sources_add(&vm->sources, file, text, len);
  Module *m = checker_new_module(vm->checker, NULL, file, source);
  vec_push(&vm->arena, vm->modules, m);
  vec_push(&vm->arena, vm->loading, m);
  int errors = vm->diags.errors;
  m->loading = true;
  m->looked_at = vm->arena.epoch;
  m->imported_at = at;
  Program *p = parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, source);
  bool good = vm->diags.errors == errors && check_program(vm->checker, m, p, &vm->diags);
  m->loading = false;
  vm->loading.len--;
  if (!good) {
    modules_forget(vm, m);
    return NULL;
  }
  vec_push(&vm->arena, vm->fresh, m);
  note_import(vm, file, key, m);
  return m;
}

static uint32_t add_source(AtledVM *vm, const StdlibFile *file) {
  uint32_t source = sources_add_constant(&vm->sources, file->path, file->text, file->len, file->lines, file->nlines);
  sources_get(&vm->sources, source)->library = true;
  return source;
}

uint32_t modules_add_library_source(AtledVM *vm, const char *path) {
  for (const StdlibFile *f = stdlib_files; f->name; f++)
    if (strcmp(f->path, path) == 0) return add_source(vm, f);
  return 0;
}

/* The lazily loaded module made from an embedded file. */
static Module *embedded(AtledVM *vm, const StdlibFile *file, Sym name) {
  uint32_t source = add_source(vm, file);
  Module *m = checker_lazy_module(vm->checker, vm->lexer, name, source, &file->index);
  m->library = true;
  return m;
}

static Module *library(void *user, Sym name) {
  AtledVM *vm = user;
  Module *m = map_get(&vm->libraries, name);
  for (const StdlibFile *f = stdlib_files; f->name && !m && !vm->config.no_stdlib; f++)
    if (strcmp(f->name, name) == 0 && strcmp(f->name, "prelude") != 0)
      map_put(&vm->libraries, name, m = embedded(vm, f, name));
  return m;
}

/* The i-th of them, and behind them of the modules in which the host defines something. */
static Sym library_name(void *user, int i) {
  AtledVM *vm = user;
  const Map *made = &vm->libraries;
  for (const StdlibFile *f = stdlib_files; f->name && !vm->config.no_stdlib; f++)
    if (strcmp(f->name, "prelude") != 0 && i-- == 0) return sym_of(&vm->syms, f->name);
  for (size_t k = 0; k < made->cap; k++) {
    const Module *m = made->keys[k] ? made->vals[k] : NULL;
    if (m && !m->library && i-- == 0) return (Sym)made->keys[k];
  }
  return NULL;
}

int atled_files(const AtledVM *vm, const char *const **paths) {
  if (!vm || !paths) return 0;
  *paths = vm->files.data;
  return vm->files.len;
}

ModuleLoader modules_loader(AtledVM *vm) { return (ModuleLoader){vm, import, library, library_name}; }

bool modules_load_prelude(AtledVM *vm) {
  for (const StdlibFile *f = stdlib_files; f->name; f++) {
    if (strcmp(f->name, "prelude") != 0) continue;
    vm->prelude = embedded(vm, f, NULL);
    checker_set_prelude(vm->checker, vm->prelude);
    return true;
  }
  return false;
}
