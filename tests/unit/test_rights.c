/* SPDX-License-Identifier: MIT */
/* The column of rt.def that names a primitive's right, and the error at run time where the checker didn't see the use:
 * in the evaluator, in machine code, in a call of a C function. */
#include "api/vm.h"
#include "check.h"
#include "support/paths.h"
#include <string.h>

/* ---- The column -------------------------------------------------------------------------------------------------- */
enum { E = 4, F = 0, T = 0, C = 0, M = 0, N = 0, P = 0, K = 0, H = 0 }; /* flags of rt.def */
/* clang-format off */
static const struct {
  const char *name;
  Right right;
  bool effect;
} rows[] = {
#define RT(NAME, function, name, type, flags, right) {name, RIGHT_##right, ((flags) & E) != 0},
#include "prims/rt.def"
#undef RT
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

/* Primitives with an effect that need no right, because the host takes what they write, or they stay in the VM. A new
 * one comes here, or gets its right. */
static const char *const free_effects[] = {"print",          "eprint", "write",       "flush",
                                           "attempt_effect", "exit",   "update_line", "errors_on_terminal",
                                           "arrays_made",    "opaque", "show_data"};

static void test_column(void) {
  Heap heap;
  Rt rt;
  heap_init(&heap);
  rt_init(&rt, &heap);
  rt.rights = RIGHT_NONE;
  for (int i = 0; i < ROWS; i++) {
    bool known = false;
    for (size_t k = 0; k < sizeof free_effects / sizeof *free_effects; k++)
      known |= strcmp(free_effects[k], rows[i].name) == 0;
    CHECK(rows[i].right != RIGHT_NONE || !rows[i].effect || known);
    if (rows[i].right == RIGHT_NONE && rows[i].effect && !known)
      fprintf(stderr, "the primitive `%s` has an effect, and needs no right\n", rows[i].name);
    if (rows[i].right == RIGHT_NONE) continue;
    CHECK(rt_prims[i](&rt, NULL, NULL, NULL, 0) != 0 && rt.error.kind == ERR_DENIED);
    rt_clear_error(&rt);
  }
  rt_destroy(&rt);
}

/* ---- Calls that the checker let pass ----------------------------------------------------------------------------- */
static const char program[] = "foreign \"m\" cbrt : float -> float\n"
                              "foreign \"c\" strlen : string -> int\n"
                              "let use (k : int) (path : string) =\n"
                              "  if k = 0 then read_file path\n"
                              "  else if k = 1 then show (Csv.numbers path)\n"
                              "  else if k = 2 then (write_file path \"\"; \"\")\n"
                              "  else if k = 3 then show (time ())\n"
                              "  else if k = 4 then show (env path)\n"
                              "  else if k = 5 then show (read_line ())\n"
                              "  else if k = 6 then show (cbrt (float (Str.length path)))\n"
                              "  else if k = 7 then show (strlen path)\n"
                              "  else if k = 8 then show (file_exists path, terminal_width ())\n"
                              "  else if k = 9 then (sleep 0.001; date ())\n"
                              "  else if k = 10 then show (attempt (fun () -> read_file path))\n"
                              "  else \"free\"";
enum { USES = 10, CAUGHT = 10, FREE = 11 };

static AtledStatus use(AtledFunction *f, int k) {
  AtledValue args[2] = {atled_int(k), atled_string("/nowhere/at all")};
  return atled_call(f, args, 2, NULL);
}

static void test_calls(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  CHECK(atled_eval(vm, "t", program) == ATLED_OK);
  CHECK(atled_get(vm, "use", "int -> string -> string", &f) == ATLED_OK);
  vm->rt.rights = RIGHT_NONE;
  for (int k = 0; f && k < USES; k++) {
    bool denied = use(f, k) == ATLED_RUNTIME_ERROR && strcmp(atled_error(vm)->kind, "denied") == 0;
    CHECK(denied && atled_error(vm)->line > 0);
    if (!denied) fprintf(stderr, "use %d isn't denied\n", k);
  }
  CHECK(f && use(f, CAUGHT) == ATLED_OK && use(f, FREE) == ATLED_OK);
  atled_release(f);
  atled_free(vm);
}

/* ---- Texts of paths ---------------------------------------------------------------------------------------------- */
static void check_normal(const char *path, const char *expected) {
  char text[100];
  strcpy(text, path);
  bool ok = path_normalise(text);
  CHECK(ok == (expected != NULL));
  if (ok) CHECK_STR(text, expected);
}

static void test_paths(void) {
  check_normal("/", "/");
  check_normal("/..", "/");
  check_normal("/a/../../b", "/b");
  check_normal("//a///b/.//c/", "/a/b/c");
  check_normal("/a/b/../../c/..", "/");
  check_normal("a/./b/../c", "a/c");
  check_normal("a/..", "");
  check_normal("", "");
  check_normal(".", "");
  check_normal("..", NULL);
  check_normal("a/../..", NULL);
  check_normal("a/../../b", NULL);
  check_normal("/...", "/...");
  check_normal("a/..b/c..", "a/..b/c..");
  CHECK_STR(path_below("/a/b", "/a/b/c/d"), "c/d");
  CHECK_STR(path_below("/a/b", "/a/b"), "");
  CHECK_STR(path_below("/", "/a/b"), "a/b");
  CHECK_STR(path_below("/", "/"), "");
  CHECK(!path_below("/a/b", "/a/bc") && !path_below("/a/b", "/a") && !path_below("/a/b", "/x"));
}

int main(void) {
  test_column();
  test_calls(ATLED_JIT_OFF);
  test_calls(ATLED_JIT_ALWAYS);
  test_paths();
  return check_result();
}
