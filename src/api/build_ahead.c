/* SPDX-License-Identifier: MIT */
/* atled_build: functions of the program as a library and a header, for programs without Atled.
 *
 *   list ──► a handle of each function, or of its derivative ──► all of them in one pin: what they run and read
 *        ──► machine code of each module │ data and stubs │ header ──► ld ──► renamed into place
 *
 * Looking up is a call on the VM for each function, and everything else is done in calls of its own (vm_call); between
 * them what is known is in the Build. Library and header are made beside the places where they are to be: a build that
 * fails leaves nothing there, and what stood there stays. */
#define _GNU_SOURCE
#include "api/build.h"
#include "jit/toolchain/folder.h"
#include "jit/toolchain/guard.h"
#include "jit/toolchain/link.h"
#include "support/quiet.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Functions --------------------------------------------------------------------------------------------------- */
typedef struct FunctionCall {
  Build *b;
  BuildFunction *f;
  const char *expression;
} FunctionCall;

static AtledStatus list_body(AtledVM *vm, void *build) {
  (void)vm;
  return build_list(build);
}

static AtledStatus expression_body(AtledVM *vm, void *arg) {
  FunctionCall *c = arg;
  (void)vm;
  AtledStatus status = c->f->plain ? build_look(c->b, c->f) : ATLED_OK;
  if (status == ATLED_OK) c->expression = build_expression(c->b, c->f, !c->f->plain);
  return status;
}

/* What it is in C, and whether it may be built. */
static AtledStatus parts_body(AtledVM *vm, void *arg) {
  FunctionCall *c = arg;
  AtledStatus status = build_parts(c->b, c->f);
  if (status != ATLED_OK) return status;
  const char *purpose = arena_printf(&c->b->arena, "of `%s`, which is built ahead of time,", c->f->wanted);
  if (!(c->b->pin = pin_new(vm, purpose))) heap_out_of_memory(&vm->heap);
  Slot closure = c->f->handle->value;
  return pin_take(c->b->pin, &closure, 1);
}

static void drop_pin(Build *b) {
  pin_free(b->pin);
  b->pin = NULL;
}

static AtledStatus look_up(Build *b, BuildFunction *f) {
  FunctionCall c = {b, f, NULL};
  AtledStatus status = vm_call(b->vm, expression_body, &c);
  if (status == ATLED_OK) status = atled_get(b->vm, c.expression, f->type, &f->plain);
  if (status == ATLED_OK) status = vm_call(b->vm, expression_body, &c);
  if (status != ATLED_OK) return status;
  if (c.expression) status = atled_get(b->vm, c.expression, NULL, &f->handle);
  else f->handle = f->plain;
  if (status == ATLED_OK) status = vm_call(b->vm, parts_body, &c);
  drop_pin(b);
  return status;
}

static void release(BuildFunction *f) {
  if (f->handle != f->plain) atled_release(f->handle);
  atled_release(f->plain);
  f->plain = f->handle = NULL;
}

static AtledStatus leave_out_body(AtledVM *vm, void *arg) {
  const FunctionCall *c = arg;
  (void)vm;
  build_leave_out(c->b, c->f->name, arena_strndup(&c->b->arena, c->expression, strlen(c->expression)));
  return ATLED_OK;
}

/* The last error is why. */
static AtledStatus leave_out(Build *b, BuildFunction *f) {
  const AtledDiagnostic *d = atled_error(b->vm);
  char why[512];
  snprintf(why, sizeof why, "%s", d ? d->message : "it can't be built");
  FunctionCall c = {b, f, why};
  return vm_call(b->vm, leave_out_body, &c);
}

/* Functions that nobody named, and that can't be built, are left out; the header says why. */
static AtledStatus look_up_each(Build *b) {
  int n = 0;
  for (int k = 0; k < b->functions.len; k++) {
    BuildFunction *f = b->functions.data[k];
    AtledStatus status = look_up(b, f);
    bool refused = status == ATLED_COMPILE_ERROR || status == ATLED_BAD_ARGUMENT;
    if (status == ATLED_OK) {
      b->functions.data[k] = b->functions.data[n];
      b->functions.data[n++] = f;
    } else if (b->named || !refused || (status = leave_out(b, f)) != ATLED_OK) {
      return status;
    }
  }
  for (int k = n; k < b->functions.len; k++) release(b->functions.data[k]);
  b->functions.len = n;
  return ATLED_OK;
}

/* Why functions are left out isn't an error of the host's call. */
static AtledStatus look_up_all(Build *b) {
  AtledVM *vm = b->vm;
  void (*diagnostic)(void *, const AtledDiagnostic *) = vm->config.diagnostic;
  if (!b->named) vm->config.diagnostic = NULL;
  AtledStatus status = look_up_each(b);
  vm->config.diagnostic = diagnostic;
  if (status != ATLED_OK && !b->named && diagnostic) diagnostic(vm->config.user, atled_error(vm));
  return status;
}

/* ---- Machine code ------------------------------------------------------------------------------------------------ */
typedef struct MakeCall {
  Build *b;
  const char *folder, *library; /* where the library is made */
} MakeCall;

static AtledStatus report_build(Build *b, const char *why) {
  return report_error(b->vm, ATLED_RUNTIME_ERROR, "build", "the library can't be built: %s",
                      why ? why : "out of memory");
}

static bool write_file(const char *path, const Str *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return false;
  size_t at = 0;
  while (at < text->len) {
    ssize_t n = write(fd, text->data + at, text->len - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += (size_t)n;
  }
  int why = errno;
  bool ok = close(fd) == 0 && at == text->len;
  if (at < text->len) errno = why;
  return ok;
}

static AtledStatus compile_modules(const MakeCall *c) {
  Build *b = c->b;
  AtledVM *vm = b->vm;
  if (!run_jit(vm)) heap_out_of_memory(&vm->heap);
  for (int k = 0; k < b->pin->nmodules; k++) {
    const char *why = NULL, *object = arena_printf(&vm->scratch, "%s/m%d.o", c->folder, k);
    bool ok = jit_build(vm->jit, b->pin->modules[k].mod, arena_printf(&vm->scratch, "m%d_", k), object, &why);
    if (vm->config.compiling) vm->config.compiling(vm->config.user, -1);
    if (ok) continue;
    if (alarm_rings(vm) && rt_poll(&vm->rt)) return report_runtime_error(vm, (Span){0});
    if (jit_lost_memory(vm->jit)) heap_out_of_memory(&vm->heap);
    return report_build(b, why);
  }
  return ATLED_OK;
}

/* data.o */
static bool assemble(const MakeCall *c, char *why, size_t n) {
  AtledVM *vm = c->b->vm;
  Tools tools;
  const char *lacking = tools_find(&tools), *text = arena_printf(&vm->scratch, "%s/m.s", c->folder);
  if (lacking) snprintf(why, n, "the program `%s` isn't on PATH", lacking);
  else if (!write_file(text, &c->b->assembly)) snprintf(why, n, "the folder of temporary files can't be written");
  return !lacking && access(text, R_OK) == 0 &&
         tools_assemble(&tools, c->folder, arena_printf(&vm->scratch, "%s/data.o", c->folder), why, n);
}

static bool link_all(const MakeCall *c, char *why, size_t n) {
  Build *b = c->b;
  const char *slash = strrchr(b->what.output, '/');
  const char **exports = NEW_ARRAY(&b->vm->scratch, const char *, b->functions.len + 1);
  for (int k = 0; k < b->functions.len; k++) exports[k] = b->functions.data[k]->c_name;
  exports[b->functions.len] = arena_printf(&b->vm->scratch, "%s_last_error", b->prefix);
  LinkOrder order = {.folder = c->folder,
                     .out = c->library,
                     .soname = slash ? slash + 1 : b->what.output,
                     .exports = exports,
                     .nexports = b->functions.len + 1,
                     .nobjects = b->pin->nmodules,
                     .archive = b->what.archive};
  return link_library(&order, why, n);
}

static AtledStatus make_body(AtledVM *vm, void *arg) {
  const MakeCall *c = arg;
  Build *b = c->b;
  char why[512] = "";
  if (!(b->pin = pin_new(vm, "of the library"))) heap_out_of_memory(&vm->heap);
  b->closures = NEW_ARRAY(&b->arena, Slot, b->functions.len + 1);
  for (int k = 0; k < b->functions.len; k++) b->closures[k] = b->functions.data[k]->handle->value;
  AtledStatus status = pin_take(b->pin, b->closures, b->functions.len);
  if (status == ATLED_OK) status = compile_modules(c);
  if (status != ATLED_OK) return status;
  build_data(b);
  build_header(b);
  Quiet q;
  quiet_begin(&q);
  bool ok = assemble(c, why, sizeof why) && link_all(c, why, sizeof why);
  quiet_end(&q, false);
  return ok ? ATLED_OK : report_build(b, why);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */
/* A name beside the path that is this process's alone. */
static void beside(const char *path, char *out, size_t n) {
  const char *slash = strrchr(path, '/');
  int folder = slash ? (int)(slash + 1 - path) : 0;
  snprintf(out, n, "%.*s.%s.%ld", folder, path, path + folder, (long)getpid());
}

static AtledStatus report_path(AtledVM *vm, const char *path, int why) {
  return report_error(vm, ATLED_BAD_ARGUMENT, "argument", "can't write `%s`: %s", path, strerror(why));
}

typedef struct PathCall {
  const char *path;
  int why;
} PathCall;

static AtledStatus path_body(AtledVM *vm, void *arg) {
  const PathCall *c = arg;
  return report_path(vm, c->path, c->why);
}

static AtledStatus refuse_path(Build *b, const char *path, int why) {
  PathCall c = {path, why};
  return vm_call_unlimited(b->vm, path_body, &c);
}

enum { PATHS = 4096 };

/* What is made before it is renamed; empty: nothing is. */
typedef struct BuildPaths {
  char library[PATHS], header[PATHS];
} BuildPaths;

/* Before anything is compiled: a file can be made beside the path. */
static AtledStatus try_path(Build *b, const char *path, char *made) {
  struct stat st;
  if (strlen(path) >= PATHS - 32) return refuse_path(b, path, ENAMETOOLONG);
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return refuse_path(b, path, EISDIR);
  beside(path, made, PATHS);
  int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) {
    int why = errno;
    *made = 0;
    return refuse_path(b, path, why);
  }
  close(fd);
  unlink(made);
  return ATLED_OK;
}

static AtledStatus try_paths(Build *b, BuildPaths *p) {
  AtledStatus status = try_path(b, b->what.output, p->library);
  return status == ATLED_OK && b->what.header ? try_path(b, b->what.header, p->header) : status;
}

static AtledStatus put_in_place(Build *b, BuildPaths *p) {
  if (*p->header && !write_file(p->header, &b->header)) return refuse_path(b, b->what.header, errno);
  if (rename(p->library, b->what.output) != 0) return refuse_path(b, b->what.output, errno);
  *p->library = 0;
  if (*p->header && rename(p->header, b->what.header) != 0) return refuse_path(b, b->what.header, errno);
  *p->header = 0;
  return ATLED_OK;
}

static AtledStatus make_library(Build *b, BuildPaths *p) {
  Folder folder;
  if (!folder_make(&folder, guard_temporary_folder())) return refuse_path(b, guard_temporary_folder(), errno);
  MakeCall c = {b, folder.path, p->library};
  AtledStatus status = vm_call(b->vm, make_body, &c);
  drop_pin(b);
  folder_remove(&folder);
  return status == ATLED_OK ? put_in_place(b, p) : status;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */
static AtledStatus nothing_body(AtledVM *vm, void *build) {
  const Build *b = build;
  if (!b->left.len) return report_bad_argument(vm, "the program has no function that could be built");
  return report_bad_argument(vm, "the program has no function that can be built; `%s`: %s", b->left.data[0].name,
                             b->left.data[0].why);
}

static AtledStatus other_machine_body(AtledVM *vm, void *unused) {
  (void)unused;
  return report_bad_argument(vm, "libraries are built ahead of time for x86-64 alone");
}

static AtledStatus build(Build *b, BuildPaths *p) {
  if (!b->cpu) return vm_call(b->vm, other_machine_body, NULL);
  AtledStatus status = vm_call(b->vm, list_body, b);
  if (status == ATLED_OK) status = try_paths(b, p);
  if (status == ATLED_OK) status = look_up_all(b);
  if (status == ATLED_OK && !b->functions.len) status = vm_call(b->vm, nothing_body, b);
  return status == ATLED_OK ? make_library(b, p) : status;
}

static AtledStatus unknown_body(AtledVM *vm, void *unused) {
  (void)unused;
  return report_bad_argument(vm, "the build sets a field that this library doesn't know");
}

AtledStatus atled_build_sized(AtledVM *vm, const AtledBuild *what, size_t size) {
  if (!vm) return ATLED_BAD_ARGUMENT;
  if (vm->running) return vm_refuse(vm);
  if (!what) return vm_reject_null(vm, "what is to be built");
  Build b = {.vm = vm, .cpu = jit_cpu(vm->config.cpu)};
  BuildPaths paths = {0};
  if (!struct_take(&b.what, sizeof b.what, what, size)) return vm_call(vm, unknown_body, NULL);
  if (!b.what.output) return vm_reject_null(vm, "the path of the library");
  arena_init(&b.arena, &vm->heap);
  AtledStatus status = build(&b, &paths);
  for (int k = 0; k < b.functions.len; k++) release(b.functions.data[k]);
  if (*paths.library) unlink(paths.library);
  if (*paths.header) unlink(paths.header);
  drop_pin(&b);
  arena_free(&b.arena);
  return status;
}
