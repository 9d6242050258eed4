/* SPDX-License-Identifier: MIT */
/* Many VMs in one process, and many entries in one VM: neither memory nor mappings nor descriptors grow. VMs are made
 * by eight threads at once, and by two copies of the library that are loaded and unloaded.
 *
 * usage: api_vms LIBATLED.SO [VMS [ENTRIES]]     (10,000 and 100,000, say; with figures) */
#define _GNU_SOURCE
#include "check.h"
#include "growth.h"
#include <atled.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VMS = 1000, ENTRIES = 1000, THREADS = 8, COPIES = 2, RELOADS = 5 };

/* ---- What is done often ----------------------------------------------------------------- */
static void make_vm(void *unused, int i) {
  (void)unused;
  (void)i;
  AtledVM *vm = atled_new(NULL);
  CHECK(vm != NULL);
  atled_free(vm);
}

static void evaluate(void *vm, int i) {
  char text[64], expected[64];
  snprintf(text, sizeof text, "let k = %d in k * 2 + length table", i);
  snprintf(expected, sizeof expected, "%d", 2 * i + 3);
  AtledResult r = {0};
  CHECK(atled_eval(vm, "entry", text) == ATLED_OK && atled_result(vm, 0, &r));
  CHECK_STR(r.value, expected);
}

static void look_up(void *vm, int i) {
  AtledFunction *f = NULL;
  double x = i, y = 0;
  CHECK(atled_get(vm, "cube", "float -> float", &f) == ATLED_OK);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y == x * x * x);
  atled_release(f);
}

static void reject(void *vm, int i) {
  char text[64];
  snprintf(text, sizeof text, i % 2 ? "let wrong = cube \"%d\"" : "let broken = (%d", i);
  CHECK(atled_eval(vm, "entry", text) == (i % 2 ? ATLED_COMPILE_ERROR : ATLED_INCOMPLETE));
}

static void check_one_vm(int n, bool show) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "setup", "let cube (x : float) = x * x * x\nlet table = [1, 2, 3]") == ATLED_OK);
  check_growth("evaluation", evaluate, vm, n, show);
  check_growth("look-up", look_up, vm, n, show);
  check_growth("rejected entry", reject, vm, n, show);
  atled_free(vm);
}

/* ---- Threads ---------------------------------------------------------------------------- */
static pthread_barrier_t together;

static void *make_vms(void *right) {
  for (int i = 0; i < 20; i++) {
    pthread_barrier_wait(&together);
    AtledVM *vm = atled_new(NULL);
    AtledResult r;
    bool *all_right = right;
    if (!vm || atled_eval(vm, "entry", "sum [1.0, 2.0]") != ATLED_OK || !atled_result(vm, 0, &r) ||
        strcmp(r.value, "3.0") != 0)
      *all_right = false;
    atled_free(vm);
  }
  return NULL;
}

static void check_threads(void) {
  pthread_t threads[THREADS];
  bool right[THREADS];
  pthread_barrier_init(&together, NULL, THREADS);
  for (int k = 0; k < THREADS; k++) {
    right[k] = true;
    CHECK(pthread_create(&threads[k], NULL, make_vms, &right[k]) == 0);
  }
  for (int k = 0; k < THREADS; k++) CHECK(pthread_join(threads[k], NULL) == 0 && right[k]);
  pthread_barrier_destroy(&together);
}

/* ---- Copies of the library -------------------------------------------------------------- */
typedef struct Copy {
  void *library;
  AtledVM *vm;
  AtledVM *(*new)(const AtledConfig *config);
  AtledStatus (*eval)(AtledVM *vm, const char *name, const char *source);
  void (*free)(AtledVM *vm);
} Copy;

static void copy_file(const char *from, const char *to) {
  char bytes[1 << 16];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  CHECK(in && out);
  for (size_t n; in && out && (n = fread(bytes, 1, sizeof bytes, in)) > 0;) CHECK(fwrite(bytes, 1, n, out) == n);
  if (in) fclose(in);
  if (out) CHECK(fclose(out) == 0);
}

static void set_function(void *library, const char *name, void *to) {
  void *symbol = dlsym(library, name);
  CHECK(symbol != NULL);
  memcpy(to, &symbol, sizeof symbol);
}

static void load(Copy *c, const char *path) {
  c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!c->library) fprintf(stderr, "%s\n", dlerror());
  set_function(c->library, "atled_new", &c->new);
  set_function(c->library, "atled_eval", &c->eval);
  set_function(c->library, "atled_free", &c->free);
}

/* Both copies have a VM at the same time; afterwards neither has left a mapping. */
static void use_copies(void *paths, int i) {
  (void)i;
  Copy copies[COPIES];
  for (int k = 0; k < COPIES; k++) {
    load(&copies[k], ((char **)paths)[k]);
    CHECK((copies[k].vm = copies[k].new(NULL)) != NULL);
  }
  for (int k = 0; k < COPIES; k++) CHECK(copies[k].eval(copies[k].vm, "entry", "let x = abs (-3.0)") == ATLED_OK);
  for (int k = 0; k < COPIES; k++) {
    copies[k].free(copies[k].vm);
    CHECK(dlclose(copies[k].library) == 0);
  }
}

static void check_copies(const char *library, bool show) {
  char folder[] = "/tmp/atled-copy-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/libatled.so", folder);
  copy_file(library, path);
  const char *paths[COPIES] = {library, path};
  check_growth("copies", use_copies, paths, RELOADS, show);
  unlink(path);
  rmdir(folder);
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: %s LIBATLED.SO [VMS [ENTRIES]]\n", argv[0]), 1;
  bool show = argc > 2;
  check_growth("VM", make_vm, NULL, argc > 2 ? atoi(argv[2]) : VMS, show);
  check_one_vm(argc > 3 ? atoi(argv[3]) : ENTRIES, show);
  check_threads();
  check_copies(argv[1], show);
  return check_result();
}
