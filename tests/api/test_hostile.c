/* SPDX-License-Identifier: MIT */
/* A hostile host: every function of atled.h with arguments that make no sense, NULL, numbers that are none or too
 * large, ranks and dimensions that don't fit, limits of any size, text that breaks out of its place, and from within
 * callbacks.
 *
 * Each call returns, and where it fails atled_error has a message. CALL checks both. Files and descriptors that wait
 * are test_waiting.c's. */
#include "check.h"
#include <atled.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static AtledConfig config_of(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  return config;
}

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config = config_of(jit);
  return atled_new(&config);
}

/* The status of a call on the VM, whose error is there exactly if it failed. */
static AtledStatus checked(const AtledVM *vm, AtledStatus status, int line) {
  const AtledDiagnostic *d = atled_error(vm);
  bool failed = status != ATLED_OK && status != ATLED_EXIT;
  bool told = d && d->severity == ATLED_ERROR && d->kind && d->message && d->rendered &&
              (*d->message || strcmp(d->kind, "fail") == 0);
  check_count++;
  if (failed == (d != NULL) && (!d || told) && (!d || strcmp(d->kind, "internal") != 0)) return status;
  check_failures++;
  fprintf(stderr, "%s:%d: status %d, error: %s\n", __FILE__, line, status, d && d->rendered ? d->rendered : "none");
  return status;
}
#define CALL(vm, call) checked((vm), (call), __LINE__)

#define COUNT(all) (sizeof(all) / sizeof *(all))

static const double numbers[] = {0.0, -0.0, -1.0, NAN, INFINITY, -INFINITY, 1e300, 1e18, 9.3e18, 1e9, 0x1p-1074};
static const size_t sizes[] = {1, 4095, (size_t)1 << 31, (size_t)1 << 47, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX};
static const int64_t counts[] = {1, -1, INT64_MAX, INT64_MIN};

/* ---- Text -------------------------------------------------------------------------------------------------------- */
/* Each as source, expression, type, name, and path. */
static const char *const texts[] = {
    "",
    " ",
    "\n",
    "int",
    "int\nprint 3",
    "int\n",
    "float -> float\nlet x = 1",
    "int)\nlet x = (3",
    "1)\nlet x = (2",
    "1\n2",
    "1 : int",
    "(",
    ")",
    "\"",
    "#",
    "fun",
    "\xff",
    "\xc0\x80",
    "\x1b[2J",
    "let",
    "let x = 1",
    "type t = A | B",
    "import \"/\" as M",
    "import \"\" as M",
    "test \"t\" = false",
    "test \"t\" = fail \"x\"",
    "foreign \"\" f : int",
    "grad",
    "'a",
    "1 +",
    "fail \"\"",
    "exit 3",
    "assert false",
    "[1][7]",
    "/",
    "..",
    "/dev/null",
    "/dev/zero/x",
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* A question about each place of the text, and places beyond it. */
static void ask_everywhere(AtledVM *vm, const char *text, AtledQuestion question) {
  const char *json;
  size_t step = strlen(text) / 8 + 1;
  for (size_t at = 0; at <= strlen(text) + step; at += step) {
    AtledQuery q = {.question = question, .name = text, .source = text, .at = at, .to = at + 1};
    bool good = CALL(vm, atled_query(vm, &q, &json)) == ATLED_OK;
    CHECK(good == (json != NULL) && (!good || strchr("{[n", json[0])));
  }
}

static void each_text(AtledVM *vm, const char *text) {
  AtledFunction *f;
  const char *out;
  const char *const *names;
  AtledResult result;
  AtledAbout about;
  int n;
  for (int i = 0; i < TEXTS; i++)
    if (CALL(vm, atled_get(vm, text, texts[i], &f)) == ATLED_OK) atled_release(f);
  CALL(vm, atled_eval(vm, text, text));
  for (int i = -1; i <= atled_result_count(vm); i++)
    CHECK(atled_result(vm, i, &result) == (i >= 0 && i < atled_result_count(vm)));
  CALL(vm, atled_check(vm, text, text));
  CALL(vm, atled_check_types(vm, text, text));
  for (int q = -1; q <= ATLED_ASK_NAMES + 1; q++) ask_everywhere(vm, text, (AtledQuestion)q);
  CALL(vm, atled_test(vm, text, text, NULL, NULL));
  CALL(vm, atled_bench(vm, text, text, NULL, NULL));
  CALL(vm, atled_eval_file(vm, text));
  CALL(vm, atled_type(vm, text, &out));
  CALL(vm, atled_doc(vm, text, &out));
  CALL(vm, atled_run(vm, text, text));
  CALL(vm, atled_derivative_source(vm, text, text, text, &out));
  CALL(vm, atled_derivative_source(vm, text, "", text, &out));
  for (int s = -1; s <= ATLED_STAGE_RUN + 2; s++) {
    CALL(vm, atled_ir(vm, text, text, (AtledStage)s, false, text, &out));
    CALL(vm, atled_ir(vm, text, text, (AtledStage)s, true, NULL, &out));
    CALL(vm, atled_ir_text(vm, text, (AtledStage)s, ATLED_STAGE_FINAL, false, &out));
    CALL(vm, atled_ir_text(vm, text, ATLED_STAGE_BUILT, (AtledStage)s, true, &out));
  }
  CHECK(atled_names(vm, text, &names) >= 0);
  CALL(vm, atled_about(vm, text, &about));
  CALL(vm, atled_search(vm, text, &names, &n));
  CHECK(atled_files(vm, &names) >= 0);
  CALL(vm, atled_enter(vm, text, text));
  for (int i = -1; i <= atled_result_count(vm); i++)
    CHECK(atled_result_view(vm, i, NULL, &result) == (i >= 0 && i < atled_result_count(vm)));
  const size_t *starts;
  size_t start;
  CALL(vm, atled_items(vm, text, &starts, &n));
  for (int i = 0; i < n; i++) CHECK(starts[i] <= strlen(text) && (i == 0 || starts[i - 1] < starts[i]));
  const AtledDefinition *const *definitions;
  for (int i = 0; i < 2; i++) {
    CALL(vm, atled_definitions(vm, text, i ? NULL : text, &definitions, &n));
    for (int k = 0; k < n; k++) CHECK(definitions[k]->line >= 1 && (strcmp(definitions[k]->kind, "source") == 0) == !k);
  }
  const AtledPart *parts;
  CALL(vm, atled_parts(vm, text, &parts, &n));
  for (int i = 0; i < n; i++)
    CHECK(parts[i].start < parts[i].end && parts[i].end <= strlen(text) &&
          (i == 0 || parts[i - 1].end <= parts[i].start));
  if (CALL(vm, atled_format(vm, text, text, &out)) == ATLED_OK) {
    char *formatted = strdup(out);
    CHECK(formatted && CALL(vm, atled_format(vm, text, formatted, &out)) == ATLED_OK && strcmp(out, formatted) == 0);
    free(formatted);
  }
  CHECK(atled_complete(vm, text, &start, &names) >= 0 && start <= strlen(text));
  for (int i = -1; i <= atled_diagnostic_count(vm); i++)
    CHECK(!atled_diagnostic(vm, i) == (i < 0 || i == atled_diagnostic_count(vm)));
}

static void ignore_text(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
}

/* A sandbox with folders that make no sense: it has no more rights by them, and its calls return. */
static void test_sandboxes(void) {
  static const AtledFolder folders[] = {{NULL, 255}, {"", ~0u}, {"/dev/null", 255}, {"/no/where", 7}, {"..", 0}};
  AtledConfig old;
  atled_config_init(NULL);
  atled_sandbox_init(NULL);
  for (size_t size = 0; size < sizeof old; size += 8) { /* without room for the rights there is no VM */
    memset(&old, 0, sizeof old);
    atled_sandbox_init_sized(&old, size);
    CHECK(size >= offsetof(AtledConfig, cache_folder) + sizeof old.cache_folder || !atled_new(&old));
  }
  for (int n = -1; n <= (int)COUNT(folders); n++) {
    AtledConfig config;
    atled_sandbox_init(&config);
    config.jit = ATLED_JIT_OFF;
    config.write = ignore_text;
    config.folders = n == 0 ? NULL : folders;
    config.nfolders = n == 0 ? 7 : n;
    config.rights = n == 2 ? ~(unsigned)ATLED_RIGHT_READ : 0;
    AtledVM *vm = atled_new(&config);
    for (int i = 0; i < TEXTS; i++) CALL(vm, atled_eval(vm, texts[i], texts[i]));
    CALL(vm, atled_eval(vm, "t", "print (attempt (fun () -> read_file \"/etc/passwd\"))"));
    atled_free(vm);
  }
}

static void test_texts(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  for (int i = 0; i < TEXTS; i++) each_text(vm, texts[i]);
  CHECK(CALL(vm, atled_eval(vm, "t", "1 + 1")) == ATLED_OK);
  const char *const *names;
  for (int left; (left = atled_undo(vm, NULL));) {
    atled_undo(vm, &names);
    CHECK(atled_undo(vm, NULL) == left - 1);
  }
  CHECK(atled_undo(vm, &names) == 0 && atled_undo(NULL, &names) == 0 && atled_files(NULL, &names) == 0);
  atled_free(vm);
}

/* A type is one type: neither an item nor anything else comes after it. */
static void test_types(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f;
  CHECK(CALL(vm, atled_get(vm, "1", "int\nprint 3", &f)) == ATLED_COMPILE_ERROR && !f);
  CHECK_STR(atled_error(vm)->message, "a type is needed, and nothing after it");
  CHECK(CALL(vm, atled_get(vm, "1", "int\n", &f)) == ATLED_OK);
  atled_release(f);
  CHECK(CALL(vm, atled_test(vm, "t", "test \"a\" = false\ntest \"b\" = false", NULL, NULL)) == ATLED_TEST_FAILURE);
  CHECK_STR(atled_error(vm)->message, "tests failed: 2");
  CHECK(CALL(vm, atled_bench(vm, "t", "bench \"a\" = fail \"no\"", NULL, NULL)) == ATLED_TEST_FAILURE);
  CHECK_STR(atled_error(vm)->message, "no");
  CHECK(CALL(vm, atled_set_jit(vm, (AtledJit)-1)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_set_jit(vm, (AtledJit)3)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_set_jit(vm, ATLED_JIT_OFF)) == ATLED_OK);
  const char *study;
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_WHY, "sin 1.0", &study)) == ATLED_OK);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_WHY, "sin", NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_WHY, NULL, &study)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_study(vm, (AtledStudy)7, "sin 1.0", &study)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_WHY, "sin (", &study)) != ATLED_OK);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_WHY, "1.0 )", &study)) == ATLED_COMPILE_ERROR);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_COST, "sin", &study)) == ATLED_OK);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_COST, "sin >> cos # both", &study)) == ATLED_OK);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_COST, "sum [1.0, 2.0]", &study)) == ATLED_OK);
  static const char *const no_functions[] = {"1.0",    "",        "let x = 1", "hypot", "hypot 1.0 2.0",
                                             "length", "int 1.0", "(1.0)",     "f"};
  for (size_t i = 0; i < sizeof no_functions / sizeof *no_functions; i++) {
    AtledStatus status = CALL(vm, atled_study(vm, ATLED_STUDY_COST, no_functions[i], &study));
    CHECK(status == ATLED_BAD_ARGUMENT || status == ATLED_COMPILE_ERROR);
  }
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_COST, "sin (", &study)) == ATLED_INCOMPLETE);
  CHECK(CALL(vm, atled_study(vm, ATLED_STUDY_COST, "sin) 1.0", &study)) == ATLED_COMPILE_ERROR);
  CHECK(CALL(vm, atled_set_trap(vm, (AtledTrap)-1)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_set_trap(vm, (AtledTrap)3)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_set_trap(vm, ATLED_TRAP_NOTHING)) == ATLED_OK);
  atled_free(vm);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
/* Each kind with members that make no sense, where each kind is wanted. */
static void test_arguments(AtledJit jit) {
  static const char *const types[] = {"unit",        "bool",         "int",           "float",
                                      "string",      "float[]",      "int[][]",       "float[][][][][][][][][]",
                                      "int * float", "float option", "float -> float"};
  static const int ranks[] = {0, 1, 2, 8, 9, 1000000, -1};
  static const int64_t dims[] = {0, 1, 2, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 47};
  static const size_t lengths[] = {0, 1, 2, SIZE_MAX};
  static const double data[2] = {1.0, 2.0};
  AtledVM *vm = new_vm(jit);
  int taken = 0;
  for (size_t t = 0; t < COUNT(types); t++) {
    char type[64];
    AtledFunction *f;
    snprintf(type, sizeof type, "(%s) -> int", types[t]);
    CHECK(CALL(vm, atled_get(vm, "fun x -> 1", type, &f)) == ATLED_OK);
    for (int kind = -1; kind <= ATLED_OTHER + 1; kind++)
      for (size_t k = 0; k < COUNT(ranks) * COUNT(dims) * COUNT(lengths); k++) {
        struct {
          AtledValue v;
          int64_t beyond; /* dims[8] lies in the value, dims[9] here */
        } a = {.beyond = -77};
        a.v = (AtledValue){.kind = (AtledKind)kind,
                           .element = (AtledKind)(k % (ATLED_OTHER + 3) - 1),
                           .rank = ranks[k % COUNT(ranks)],
                           .length = lengths[k / COUNT(ranks) / COUNT(dims)],
                           .as.floats = k % 3 ? NULL : data};
        for (int i = 0; i < ATLED_MAX_RANK; i++) a.v.dims[i] = dims[k / COUNT(ranks) % COUNT(dims)];
        if (a.v.length > 2 && kind == ATLED_STRING) continue; /* a lie that nobody can find out */
        if (a.v.length && kind == ATLED_TUPLE) continue;      /* the same: the items are floats */
        if (kind == ATLED_STRING && a.v.as.floats && a.v.length > 1) continue;
        taken += CALL(vm, atled_call(f, &a.v, 1, NULL)) == ATLED_OK;
      }
    for (int n = -1; n < 3; n++) CALL(vm, atled_call(f, NULL, n, NULL));
    double y;
    CALL(vm, atled_call_double(f, data, 1, &y));
    atled_release(f);
  }
  CHECK(taken > 0 && atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* What can't be built: paths, names and lists that make no sense. Nothing is written. */
static void test_builds(void) {
  static const char *const lists[] = {"",    ",",  "f,", "f,,f", "grad:", "g",     "jvp:f",  "f:f", "grad:grad:f",
                                      "f,f", "f'", "s",  "n",    "\xff",  "vjp:s", " f , f "};
  static const char *const paths[] = {"",     "/",        "/nowhere/libm.so", "/dev/null/libm.so",
                                      "/tmp", "/tmp/.so", "/tmp/2.so",        "/tmp/int.so"};
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  CHECK(atled_eval(vm, "model", "let f (x : float) = x\nlet f' = f\nlet n = 3\nlet s (x : string) = x") == ATLED_OK);
  AtledBuild b = {.output = "/tmp/libm.so", .header = "/nowhere/m.h"};
  CHECK(atled_build(NULL, &b) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_build(vm, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_build(vm, &b)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_build(vm, &(AtledBuild){.functions = "f"})) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_build_sized(vm, &(AtledBuild){.output = "x"}, 0)) == ATLED_BAD_ARGUMENT);
  b.header = NULL;
  for (size_t k = 0; k < COUNT(lists); k++) {
    b.functions = lists[k];
    CHECK(CALL(vm, atled_build(vm, &b)) == ATLED_BAD_ARGUMENT);
  }
  b.functions = "f";
  for (size_t k = 0; k < COUNT(paths); k++) {
    b.output = paths[k];
    CHECK(CALL(vm, atled_build(vm, &b)) == ATLED_BAD_ARGUMENT);
  }
  CHECK(access("/tmp/libm.so", F_OK) != 0);
  atled_free(vm);
}

/* Forms that there aren't, or that the type doesn't have, and calls with numbers of arguments that make no sense. */
static void test_pointers(void) {
  static const char *const types[] = {"int -> float",       "float",         "float -> float", "float[] -> float",
                                      "float[][] -> float", "unit -> float", "string -> float"};
  double x[2] = {1.0, 2.0};
  AtledVM *vm = new_vm(ATLED_JIT_AUTO);
  AtledNative p;
  int made = 0;
  CHECK(atled_native(NULL, ATLED_VALUE, &p) == ATLED_BAD_ARGUMENT && !atled_native_error(NULL));
  for (size_t t = 0; t < COUNT(types); t++) {
    AtledFunction *f;
    CHECK(CALL(vm, atled_get(vm, strstr(types[t], "->") ? "fun x -> 1.0" : "1.0", types[t], &f)) == ATLED_OK);
    CHECK(CALL(vm, atled_native(f, ATLED_VALUE, NULL)) == ATLED_BAD_ARGUMENT && !atled_native_error(f));
    for (int form = ATLED_GRADIENT; form < 9; form++)
      CHECK(CALL(vm, atled_native(f, (AtledForm)(form - 4 * (form > 5)), &p)) == ATLED_OK || !p.value);
    if (CALL(vm, atled_native(f, ATLED_GENERAL, &p)) == ATLED_OK) {
      AtledNativeArg none = {{0}, NULL};
      AtledNativeResult result = {{0}, NULL};
      for (size_t n = 0; n < 4; n++)
        CHECK(p.general(f, n == 2 ? NULL : &none, n % 2, n == 3 ? NULL : &result, 1) == ATLED_OK ||
              atled_native_error(f));
    }
    if (CALL(vm, atled_native(f, ATLED_VALUE, &p)) == ATLED_OK) {
      made++;
      for (size_t k = 0; k < COUNT(sizes); k++)
        CHECK(p.value(f, sizes[k] == 1 ? NULL : x, sizes[k] == 1 ? 1 : 3 + sizes[k] / 2 * 2) == 1.0 ||
              atled_native_error(f));
    }
    atled_release(f);
  }
  CHECK(made == 3);
  atled_free(vm);
}

static void test_rank_9(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f;
  double x = 1.0;
  AtledValue v = {.kind = ATLED_ARRAY,
                  .element = ATLED_FLOAT,
                  .rank = 9,
                  .dims = {1, 1, 1, 1, 1, 1, 1, 1},
                  .as.floats = &x},
             r;
  CHECK(CALL(vm, atled_get(vm, "fun x -> length x", "float[][][][][][][][][] -> int", &f)) == ATLED_OK);
  CHECK(CALL(vm, atled_call(f, &v, 1, &r)) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message,
            "argument 1: an array of 9 dimensions is needed, and a host's arrays have at most 8");
  atled_release(f);
  CHECK(CALL(vm, atled_get(vm, "[[[[[[[[[1.0]]]]]]]]]", "float[][][][][][][][][]", &f)) == ATLED_OK);
  CHECK(CALL(vm, atled_call(f, NULL, 0, &r)) == ATLED_OK && r.kind == ATLED_OTHER);
  atled_release(f);
  atled_free(vm);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
static int descriptors(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}

/* Memory that runs out anywhere on the way of a file leaves no descriptor. */
static void test_descriptors(void) {
  char path[] = "/tmp/atled-test-XXXXXX", text[100];
  FILE *file = fdopen(mkstemp(path), "w");
  for (int k = 0; file && k < 20000; k++) fprintf(file, "# a line\n");
  CHECK(file && fclose(file) == 0);
  snprintf(text, sizeof text, "import \"%s\" as M", path);
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  int before = descriptors(), met = 0;
  for (int n = 1; n < 60; n++)
    for (int k = 0; k < 2; k++) {
      atled_fail_allocation(vm, n);
      met += CALL(vm, k ? atled_eval(vm, "t", text) : atled_eval_file(vm, path)) == ATLED_NO_MEMORY;
    }
  atled_fail_allocation(vm, 0);
  CHECK(met > 20 && descriptors() == before);
  atled_free(vm);
  unlink(path);
}

/* An error as a value has its place, or the call has no memory. */
static void test_attempt(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  CHECK(
      atled_eval(vm, "t", "let place x = match attempt (fun () -> [1.0][x]) with Ok _ -> \"\" | Error e -> e.place") ==
      ATLED_OK);
  int ok = 0;
  for (int n = 1; n < 40; n++) {
    AtledFunction *f;
    AtledValue x = atled_int(7), y;
    CHECK(CALL(vm, atled_get(vm, "place", "int -> string", &f)) == ATLED_OK);
    atled_fail_allocation(vm, n);
    AtledStatus status = CALL(vm, atled_call(f, &x, 1, &y));
    atled_fail_allocation(vm, 0);
    CHECK(status == ATLED_NO_MEMORY || (status == ATLED_OK && y.length == 6 && memcmp(y.as.string, "t:1:46", 6) == 0));
    ok += status == ATLED_OK;
    atled_release(f);
  }
  CHECK(ok > 0 && ok < 39 && atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- What only looks --------------------------------------------------------------------------------------------- */
static const int indices[] = {-1, 0, 1, 1000000, INT_MAX, INT_MIN};

static void test_looks(void) {
  AtledVM *vms[] = {NULL, new_vm(ATLED_JIT_OFF)};
  for (int v = 0; v < 2; v++) {
    AtledVM *vm = vms[v];
    AtledPhase phase;
    AtledPass pass;
    AtledResult result;
    for (size_t k = 0; k < COUNT(indices); k++) {
      CHECK(!atled_phase(vm, indices[k], &phase) && !atled_phase(vm, indices[k], NULL));
      CHECK(atled_pass(vm, indices[k], &pass) == (indices[k] == 0 || indices[k] == 1) &&
            !atled_pass(vm, indices[k], NULL));
      CHECK(!atled_result(vm, indices[k], &result) && !atled_result(vm, indices[k], NULL));
      CHECK(!atled_diagnostic(vm, indices[k]));
    }
    CHECK(atled_result_count(vm) == 0 && atled_diagnostic_count(vm) == 0 && atled_exit_status(vm) == 0);
    CHECK(atled_live_objects(vm) == 0 && atled_evaluator_calls(vm) == 0 && (atled_memory_used(vm) > 0) == (vm != NULL));
    atled_interrupt(vm);
    atled_clear_interrupt(vm);
    for (int n = -1; n < 2; n++) atled_fail_allocation(vm, -n);
    atled_fail_allocation(vm, INT64_MIN);
    atled_fail_allocation(vm, INT64_MAX);
    atled_fail_allocation(vm, 0);
  }
  CHECK(CALL(vms[1], atled_eval(vms[1], "t", "exit 7")) == ATLED_EXIT && atled_exit_status(vms[1]) == 7);
  CHECK(atled_arity(NULL) == 0 && atled_version() && atled_version_number() && !atled_error(NULL));
  const AtledSignature *signature;
  AtledKept *kept;
  AtledValue value;
  CHECK(atled_call(NULL, NULL, 0, NULL) == ATLED_BAD_ARGUMENT && atled_call_into(NULL, NULL, 0, &value) != ATLED_OK);
  CHECK(atled_signature(NULL, &signature) == ATLED_BAD_ARGUMENT && !signature);
  CHECK(atled_keep(NULL, &kept) == ATLED_BAD_ARGUMENT);
  atled_drop(NULL);
  atled_config_init(NULL);
  atled_release(NULL);
  atled_free(NULL);
  atled_free(vms[1]);
}

/* Structures of sizes that no header has: the functions behind the macros. */
static void call_sized(AtledVM *vm, size_t size) {
  char block[3] = {1, 1, 1};
  void *at = block;
  atled_config_init_sized(at, size);
  CHECK(atled_result_sized(vm, 0, at, size) == (vm != NULL) && !atled_result_sized(vm, 0, NULL, size));
  CHECK(atled_result_view_sized(vm, 0, at, 0, at, size) == (vm != NULL));
  CHECK(!atled_result_view_sized(vm, 0, NULL, size, NULL, size));
  CHECK(atled_pass_sized(vm, 0, at, size) && !atled_pass_sized(vm, 0, NULL, size));
  CHECK(!atled_phase_sized(vm, 0, at, size) && !atled_phase_sized(vm, 0, NULL, size));
  CHECK((atled_cache_sized(vm, at, size) == ATLED_OK) == (vm != NULL));
  CHECK((atled_about_sized(vm, "map", at, size) == ATLED_OK) == (vm != NULL));
  CHECK(atled_about_sized(vm, "map", NULL, size) == ATLED_BAD_ARGUMENT);
  CHECK(atled_cache_sized(vm, NULL, size) == ATLED_BAD_ARGUMENT);
  for (size_t i = size; i < sizeof block; i++) CHECK(block[i] == 1);
}

static void test_structures(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  for (size_t size = 0; size < 3; size++) {
    CHECK(CALL(vm, atled_eval(vm, "t", "1")) == ATLED_OK);
    call_sized(vm, size);
    call_sized(NULL, size);
  }
  atled_config_init_sized(NULL, SIZE_MAX);
  atled_sandbox_init_sized(NULL, SIZE_MAX);
  atled_free(vm);
}

/* A window of any size, for values of all kinds. */
static void test_views(void) {
  static const int widths[] = {INT_MIN, -1, 0, 1, 2, 20, 79, INT_MAX};
  static const char *const sources[] = {"1.0",
                                        "[1.5, 22.25, 0.3333333333]",
                                        "[ float i / 7.0 | i < 1000 ]",
                                        "[ [ float (i * j) / 7.0 | j < 50 ] | i < 50 ]",
                                        "[ [ [ i + j + k | k < 3 ] | j < 3 ] | i < 3 ]",
                                        "[ [] | i < 3 ]",
                                        "[ {name = \"ab\\nc\", long_name_of_a_field = nan, y = i} | i < 40 ]",
                                        "{a = [ float i | i < 1000 ], b = \"x\", c = Some (1 :: 2 :: Nil)}",
                                        "to_list (range 0 10000)",
                                        "Str.join \"∂\" (replicate 5000 \"x\")",
                                        "[ \"日本\" | i < 100 ]",
                                        "[(1, true)]",
                                        "()",
                                        "fun x -> x"};
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  for (size_t k = 0; k < COUNT(sources); k++) {
    CHECK(CALL(vm, atled_enter(vm, "t", sources[k])) == ATLED_OK);
    for (size_t i = 0; i < COUNT(widths) * COUNT(widths); i++) {
      int w = widths[i % COUNT(widths)], h = widths[i / COUNT(widths)];
      AtledView view = {.columns = w, .lines = h, .used = h, .digits = w};
      AtledResult r;
      CHECK(atled_result_view(vm, 0, &view, &r) && strlen(r.value) < 1 << 20);
      CHECK(!atled_result_view(vm, 1, &view, &r) && !atled_result_view(vm, 0, &view, NULL));
    }
  }
  CHECK(!atled_result_view(NULL, 0, NULL, NULL) && atled_complete(NULL, NULL, NULL, NULL) == 0);
  CHECK(CALL(vm, atled_enter(vm, NULL, "1")) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_enter(vm, "t", NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_items(vm, NULL, NULL, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_items(vm, "1", NULL, NULL)) == ATLED_BAD_ARGUMENT);
  const AtledDefinition *const *definitions;
  int count;
  CHECK(CALL(vm, atled_definitions(vm, NULL, "1", &definitions, &count)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_definitions(vm, "a", "1", NULL, &count)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_definitions(vm, "a", "1", &definitions, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_definitions(vm, "Nowhere", NULL, &definitions, &count)) == ATLED_BAD_ARGUMENT && count == 0);
  CHECK(CALL(vm, atled_check_types(vm, NULL, "1")) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_check_types(vm, "a", NULL)) == ATLED_BAD_ARGUMENT);
  const char *json = "";
  AtledQuery q = {.question = ATLED_ASK_PLACE, .name = "a", .source = "1", .at = SIZE_MAX, .to = SIZE_MAX};
  CHECK(CALL(vm, atled_query(vm, &q, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_query(vm, &q, &json)) == ATLED_OK && strcmp(json, "null") == 0);
  CHECK(CALL(vm, atled_query_sized(vm, NULL, sizeof q, &json)) == ATLED_BAD_ARGUMENT && !json);
  CHECK(CALL(vm, atled_query_sized(vm, &q, 0, &json)) == ATLED_BAD_ARGUMENT);
  q.question = (AtledQuestion)99;
  CHECK(CALL(vm, atled_query(vm, &q, &json)) == ATLED_BAD_ARGUMENT && !json);
  q = (AtledQuery){.question = ATLED_ASK_USES, .name = "a", .source = "1", .at = SIZE_MAX, .file = "nowhere"};
  CHECK(CALL(vm, atled_query(vm, &q, &json)) == ATLED_OK && strcmp(json, "[]") == 0);
  q.source = NULL;
  CHECK(CALL(vm, atled_query(vm, &q, &json)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_parts(vm, NULL, NULL, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_parts(vm, "1", NULL, NULL)) == ATLED_BAD_ARGUMENT);
  const char *out;
  CHECK(CALL(vm, atled_format(vm, NULL, NULL, &out)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_format(vm, NULL, "1", NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_format(vm, NULL, "1", &out)) == ATLED_OK && strcmp(out, "1\n") == 0);
  CHECK(CALL(vm, atled_format(vm, NULL, "1 +", &out)) == ATLED_INCOMPLETE && !out);
  CHECK(CALL(vm, atled_format(vm, NULL, ")", &out)) == ATLED_COMPILE_ERROR && !out);
  atled_free(vm);
}

/* What makes values takes anything: it is the call that finds out. */
static void test_makers(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f;
  CHECK(CALL(vm, atled_get(vm, "fun x -> sum (flatten x)", "float[][] -> float", &f)) == ATLED_OK);
  for (size_t k = 0; k < COUNT(sizes); k++) {
    int64_t dims[] = {(int64_t)sizes[k], -1}, strides[] = {INT64_MIN, INT64_MAX};
    AtledValue vs[] = {atled_array(ATLED_FLOAT, NULL, 2, dims, strides),
                       atled_array((AtledKind)99, &dims, 2, NULL, NULL),
                       atled_array(ATLED_STRING, NULL, INT32_MAX, NULL, NULL),
                       atled_array(ATLED_OTHER, NULL, INT32_MIN, dims, NULL),
                       atled_record(NULL, NULL, sizes[k]),
                       atled_variant(NULL, NULL),
                       atled_list(NULL, sizes[k]),
                       atled_floats(NULL, sizes[k]),
                       atled_matrix(NULL, sizes[k], sizes[k]),
                       atled_tuple(NULL, sizes[k]),
                       atled_string(NULL),
                       atled_bool((bool)sizes[k]),
                       atled_int(INT64_MIN),
                       atled_float(NAN)};
    for (size_t i = 0; i < COUNT(vs); i++) CHECK(CALL(vm, atled_call(f, &vs[i], 1, NULL)) == ATLED_BAD_ARGUMENT);
  }
  atled_release(f);
  atled_free(vm);
}

/* Results that make no sense as places, and fields of what has none. */
static void test_places(void) {
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledFunction *f;
  const AtledSignature *signature;
  AtledKept *kept;
  CHECK(CALL(vm, atled_get(vm, "fun n -> ([ float i | i < n ], {a = n})", NULL, &f)) == ATLED_OK);
  for (int kind = -1; kind <= ATLED_OTHER + 1; kind++)
    for (size_t k = 0; k < COUNT(counts); k++) {
      AtledValue n = atled_int(3), into = {.kind = (AtledKind)kind, .rank = (int)counts[k], .length = 2};
      CHECK(CALL(vm, atled_call_into(f, &n, 1, &into)) == ATLED_BAD_ARGUMENT);
      CHECK(!atled_field(&into, "a") && !atled_field(&into, NULL));
    }
  for (int kind = -1; kind <= ATLED_OTHER + 1; kind++)
    for (size_t k = 0; k < COUNT(counts); k++) {
      int64_t three[] = {3, 1}, odd = counts[k];
      AtledValue n = atled_array(ATLED_INT, counts, 1, three, NULL), into = {.kind = (AtledKind)kind};
      CHECK(CALL(vm, atled_call_many(f, &n, 1, 3, &into, NULL)) == ATLED_BAD_ARGUMENT);
      n = atled_array((AtledKind)kind, counts, 1, &odd, NULL);
      CHECK(CALL(vm, atled_call_many(f, &n, 1, (size_t)odd, NULL, NULL)) != ATLED_NO_MEMORY || odd == 1);
      n = atled_array(ATLED_INT, NULL, (int)odd, three, NULL);
      CHECK(CALL(vm, atled_call_many(f, &n, 1, 3, NULL, NULL)) == ATLED_BAD_ARGUMENT);
    }
  CHECK(CALL(vm, atled_call_many(f, NULL, 1, 1, NULL, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_call_many(f, NULL, INT_MIN, SIZE_MAX, NULL, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_call_into(f, NULL, 1, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_keep(f, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_keep(f, &kept)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_signature(f, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_replace(f, NULL)) == ATLED_BAD_ARGUMENT && atled_replace(NULL, "1") == ATLED_BAD_ARGUMENT);
  for (size_t k = 0; k < COUNT(texts); k++) CHECK(CALL(vm, atled_replace(f, texts[k])) != ATLED_OK);
  atled_free(vm);
  CHECK(atled_replace(f, "1") == ATLED_BAD_ARGUMENT);
  CHECK(atled_keep(f, &kept) == ATLED_BAD_ARGUMENT && !kept);
  CHECK(atled_signature(f, &signature) == ATLED_BAD_ARGUMENT && !signature);
  CHECK(atled_call_into(f, NULL, 0, &(AtledValue){0}) == ATLED_BAD_ARGUMENT);
  CHECK(atled_call_many(f, NULL, 0, 0, NULL, NULL) == ATLED_BAD_ARGUMENT);
  atled_release(f);
}

/* ---- Functions of the host's ------------------------------------------------------------------------------------- */
/* Goes on after a failure. */
static void give_twice(AtledCall *c) {
  const AtledValue *v = c->user;
  CHECK(!atled_buffer(c, SIZE_MAX));
  for (int i = 0; i < 2; i++) CHECK(atled_return(c, *v) == ATLED_NO_MEMORY);
  CHECK(!atled_buffer(c, 1));
  atled_fail(c, NULL);
}

static void give(AtledCall *c) {
  const AtledValue *v = c->user;
  CHECK(atled_return(c, *v) == ATLED_BAD_ARGUMENT);
}

static void test_definitions(void) {
  static const AtledRule endless = {.call = give, .pullback = &endless};
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  AtledHostFunction f = {.name = "f", .type = "unit -> float[]", .call = give}, nothing = {0};
  CHECK(atled_define(NULL, &f) == ATLED_BAD_ARGUMENT && CALL(vm, atled_define(vm, NULL)) == ATLED_BAD_ARGUMENT);
  CHECK(CALL(vm, atled_define(vm, &nothing)) == ATLED_BAD_ARGUMENT);
  CHECK(atled_return(NULL, atled_int(1)) == ATLED_BAD_ARGUMENT && !atled_buffer(NULL, 1));
  atled_fail(NULL, "nobody");
  AtledValue v = atled_opaque(NULL, NULL, &f, NULL);
  CHECK(v.kind == ATLED_UNIT && !atled_opaque_get(&v, "t") && !atled_opaque_get(NULL, NULL));
  for (size_t i = 0; i < COUNT(texts); i++) {
    AtledHostFunction g = f;
    g.name = texts[i];
    CALL(vm, atled_define(vm, &g));
    CALL(vm, atled_define_type(vm, texts[i]));
    g = f;
    g.type = texts[i];
    CHECK(CALL(vm, atled_define(vm, &g)) != ATLED_OK || strstr(texts[i], "->"));
    g = f;
    g.doc = texts[i];
    CALL(vm, atled_define(vm, &g));
  }
  f.flags = ~0u;
  CHECK(CALL(vm, atled_define(vm, &f)) == ATLED_BAD_ARGUMENT);
  f.flags = ATLED_PURE;
  f.pullback = &endless;
  CHECK(CALL(vm, atled_define(vm, &f)) == ATLED_BAD_ARGUMENT);
  f.pullback = NULL;
  for (int kind = -1; kind <= ATLED_OPAQUE + 1; kind++)
    for (size_t k = 0; k < COUNT(counts); k++) {
      v = (AtledValue){.kind = (AtledKind)kind, .rank = (int)counts[k], .length = 2, .dims = {counts[k]}};
      f.user = &v;
      f.call = k % 2 ? give : give_twice;
      CHECK(CALL(vm, atled_define(vm, &f)) == ATLED_OK);
      CHECK(CALL(vm, atled_eval(vm, "t", "print (f ())")) == (k % 2 ? ATLED_RUNTIME_ERROR : ATLED_NO_MEMORY));
    }
  atled_free(vm);
}

/* ---- From within callbacks --------------------------------------------------------------------------------------- */
typedef struct Inside {
  AtledVM *vm;
  AtledFunction *f;
  AtledKept *kept;
  int calls;
} Inside;

static void refused(Inside *in, AtledStatus status, int line) {
  CHECK(checked(in->vm, status, line) == ATLED_BAD_ARGUMENT);
  const AtledDiagnostic *d = atled_error(in->vm);
  CHECK_STR(d ? d->message : NULL, "a callback can't call the VM that runs it");
}
#define REFUSED(call) refused(in, (call), __LINE__)

static void call_all(void *user, const char *text, size_t n) {
  Inside *in = user;
  AtledVM *vm = in->vm;
  AtledFunction *f;
  AtledCache cache;
  AtledNative native;
  AtledValue x = atled_float(1.0);
  double y;
  const char *out;
  const char *const *names;
  AtledAbout about;
  int count;
  (void)text;
  (void)n;
  in->calls++;
  REFUSED(atled_eval(vm, "a", "1"));
  REFUSED(atled_eval(vm, NULL, NULL));
  AtledHostFunction function = {.name = "f", .type = "unit -> unit"};
  REFUSED(atled_define(vm, &function));
  REFUSED(atled_define_sized(vm, NULL, 0));
  REFUSED(atled_define_type(vm, "t"));
  REFUSED(atled_define_type(vm, NULL));
  REFUSED(atled_eval_file(vm, "/dev/null"));
  REFUSED(atled_check(vm, "a", "1"));
  REFUSED(atled_test(vm, "a", "1", NULL, NULL));
  REFUSED(atled_bench(vm, "a", "1", NULL, NULL));
  const char *study;
  REFUSED(atled_study(vm, ATLED_STUDY_WHY, "sin 1.0", &study));
  REFUSED(atled_set_jit(vm, ATLED_JIT_OFF));
  REFUSED(atled_set_trap(vm, ATLED_TRAP_NAN));
  REFUSED(atled_set_colour(vm, true));
  REFUSED(atled_about(vm, "map", &about));
  REFUSED(atled_search(vm, "map", &names, &count));
  CHECK(atled_undo(vm, NULL) == 0 && atled_undo(vm, &names) == 0);
  REFUSED(atled_get(vm, "1", "int", &f));
  REFUSED(atled_get(vm, NULL, NULL, NULL));
  REFUSED(atled_call(in->f, &x, 1, NULL));
  REFUSED(atled_call_double(in->f, &y, 1, &y));
  REFUSED(atled_build(vm, &(AtledBuild){.output = "/tmp/libm.so"}));
  REFUSED(atled_native(in->f, ATLED_VALUE, &native));
  REFUSED(atled_replace(in->f, "fun x -> x"));
  REFUSED(atled_call_into(in->f, &x, 1, &x));
  REFUSED(atled_call_many(in->f, &x, 1, 1, NULL, NULL));
  AtledKept *kept;
  const AtledSignature *signature;
  REFUSED(atled_keep(in->f, &kept));
  REFUSED(atled_signature(in->f, &signature));
  atled_drop(in->kept);
  REFUSED(atled_ir(vm, "a", "1", ATLED_STAGE_FINAL, false, NULL, &out));
  REFUSED(atled_ir_text(vm, "graph g()\n  return 1\n", ATLED_STAGE_BUILT, ATLED_STAGE_FINAL, false, &out));
  REFUSED(atled_run(vm, "a", "1"));
  REFUSED(atled_derivative_source(vm, "a", "", "sin", &out));
  REFUSED(atled_type(vm, "1", &out));
  REFUSED(atled_doc(vm, "map", &out));
  REFUSED(atled_cache(vm, &cache));
  REFUSED(atled_clear_cache(vm));
  CHECK(atled_names(vm, "m", &names) == 0);
  const size_t *starts;
  size_t start;
  AtledResult result;
  REFUSED(atled_enter(vm, "a", "1"));
  REFUSED(atled_items(vm, "1", &starts, &count));
  const AtledPart *parts;
  REFUSED(atled_parts(vm, "1", &parts, &count));
  const AtledDefinition *const *definitions;
  REFUSED(atled_definitions(vm, "a", "1", &definitions, &count));
  REFUSED(atled_format(vm, "a", "1", &out));
  CHECK(atled_complete(vm, "m", &start, &names) == 0 && !atled_result_view(vm, 0, NULL, &result));
  atled_release(in->f);
  atled_free(vm);
}

static void test_callbacks(void) {
  Inside in = {0};
  AtledConfig config = config_of(ATLED_JIT_OFF);
  config.write = call_all;
  config.user = &in;
  in.vm = atled_new(&config);
  CHECK(atled_get(in.vm, "fun x -> x * 2.0", "float -> float", &in.f) == ATLED_OK);
  AtledValue x = atled_float(1.0), y;
  CHECK(atled_call(in.f, &x, 1, &y) == ATLED_OK && CALL(in.vm, atled_keep(in.f, &in.kept)) == ATLED_OK);
  CHECK(CALL(in.vm, atled_eval(in.vm, "t", "print 1")) == ATLED_OK && in.calls == 1);
  CHECK(CALL(in.vm, atled_eval(in.vm, "t", "print 1\nfail \"own\"")) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(in.vm)->message, "own");
  atled_release(in.f);
  atled_drop(in.kept);
  atled_free(in.vm);
}

/* ---- Configurations ---------------------------------------------------------------------------------------------- */
/* Defines, calls and frees. True if all of it went well. */
static bool works(const AtledConfig *config) {
  AtledVM *vm = atled_new(config);
  AtledFunction *f = NULL;
  AtledValue x = atled_float(3.0), y = {0};
  if (!vm) return false;
  bool ok = CALL(vm, atled_eval(vm, "t", "let rec f n = if n < 1 then 0.0 else f (n - 1) + 1.0\nf 100")) == ATLED_OK &&
            CALL(vm, atled_get(vm, "fun x -> x * f 20", "float -> float", &f)) == ATLED_OK &&
            CALL(vm, atled_call(f, &x, 1, &y)) == ATLED_OK && y.as.number == 60.0;
  atled_release(f);
  atled_free(vm);
  return ok;
}

/* A time limit that is no number, or none that ever passes, is none; the smallest one may be. */
static void test_time_limits(AtledJit jit) {
  for (size_t k = 0; k < COUNT(numbers); k++) {
    AtledConfig config = config_of(jit);
    config.time_limit = numbers[k];
    CHECK(works(&config) || numbers[k] == 0x1p-1074);
  }
}

static void test_sizes(AtledJit jit) {
  for (size_t k = 0; k < COUNT(sizes); k++) {
    AtledConfig config = config_of(jit);
    config.stack_size = sizes[k];
    CHECK(works(&config));
    config = config_of(jit);
    config.memory_limit = sizes[k];
    CHECK(works(&config) == (sizes[k] > 1 << 20));
    config = config_of(jit);
    config.jit_memory = sizes[k];
    CHECK(works(&config) || sizes[k] < 1 << 30);
  }
  for (size_t k = 0; k < COUNT(counts); k++) {
    AtledConfig config = config_of(jit);
    config.cache_size = counts[k];
    CHECK(works(&config));
    config = config_of(jit);
    config.nargs = (int)counts[k];
    CHECK(works(&config));
  }
}

static void test_compile_times(void) {
  for (size_t k = 0; k < COUNT(numbers); k++) {
    AtledConfig config = config_of(ATLED_JIT_ALWAYS);
    config.jit_time = numbers[k];
    config.cache_size = -1;
    CHECK(works(&config) == (numbers[k] != 0x1p-1074));
  }
}

int main(void) {
  alarm(300); /* what hangs fails */
  test_time_limits(ATLED_JIT_OFF);
  test_time_limits(ATLED_JIT_ALWAYS);
  test_sizes(ATLED_JIT_OFF);
  test_sizes(ATLED_JIT_ALWAYS);
  test_compile_times();
  test_arguments(ATLED_JIT_OFF);
  test_arguments(ATLED_JIT_ALWAYS);
  test_pointers();
  test_builds();
  test_rank_9();
  test_descriptors();
  test_attempt(ATLED_JIT_OFF);
  test_attempt(ATLED_JIT_ALWAYS);
  test_looks();
  test_structures();
  test_makers();
  test_places();
  test_views();
  test_texts();
  test_sandboxes();
  test_types();
  test_definitions();
  test_callbacks();
  return check_result();
}
