/* SPDX-License-Identifier: MIT */
/* Programs without rights, or with rights for one folder, attack in the ways of sandbox.h: none reads, writes or starts
 * anything else, and none takes more than its limits.
 *
 * What is secret holds the word CANARY, which must reach neither output nor messages. Every attack fails, with the
 * error that the table names. Also: the same folder used as intended, a host's own modules, and machine code that is
 * kept apart. */
#define _GNU_SOURCE
#include "check.h"
#include "sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define COUNT(all) ((int)(sizeof(all) / sizeof *(all)))

static char base[] = "/tmp/atled-sandbox-XXXXXX";
static int attacks;

/* ---- The host ---------------------------------------------------------------------------------------------------- */
static size_t printed, printable; /* bytes so far, and at most */
static bool leaked;               /* something secret was seen */

static bool is_secret(const char *text) { return strstr(text, "CANARY") || strstr(text, "root:"); }

static bool take(void *user, AtledStream stream, const char *text, size_t n) {
  (void)user;
  (void)stream;
  char *copy = strndup(text, n);
  if (copy && is_secret(copy)) leaked = true;
  free(copy);
  printed += n;
  return printed <= printable;
}

static void look_at(void *user, const AtledDiagnostic *d) {
  (void)user;
  if (is_secret(d->rendered) || is_secret(d->message)) leaked = true;
}

static AtledConfig sandbox(AtledJit jit) {
  AtledConfig config;
  atled_sandbox_init(&config);
  config.jit = jit;
  config.output = take;
  config.diagnostic = look_at;
  config.time_limit = 300; /* of a busy machine; the bombs have their own */
  printed = 0;
  printable = 1 << 20;
  return config;
}

/* The text with `@` replaced by the folder, and `$` by `use`; to be freed. */
static char *expand(const char *text, const char *use) {
  size_t room = strlen(text) + 1;
  for (const char *at = text; *at; at++) room += *at == '@' ? sizeof base : *at == '$' && use ? strlen(use) : 0;
  char *out = malloc(room), *to = out;
  for (; out && *text; text++) {
    const char *part = *text == '@' ? base : *text == '$' ? use : NULL;
    if (part) to = stpcpy(to, part);
    else *to++ = *text;
  }
  if (out) *to = '\0';
  return out;
}

static bool has_kind(const AtledVM *vm, const char *kind) {
  for (int i = 0; i < atled_diagnostic_count(vm); i++)
    if (strcmp(atled_diagnostic(vm, i)->kind, kind) == 0) return true;
  return false;
}

/* One attack: it must have failed, and given nothing away. */
static void expect(bool failed, const char *what) {
  attacks++;
  CHECK(failed && !leaked);
  if (!failed || leaked) fprintf(stderr, "%s by: %s\n", leaked ? "a secret was seen" : "not refused", what);
  leaked = false;
}

/* ---- Names and items --------------------------------------------------------------------------------------------- */
static void refuse_source(AtledVM *vm, const char *source, const char *kind) {
  bool refused = atled_eval(vm, "main.atl", source) == ATLED_COMPILE_ERROR && has_kind(vm, kind);
  const AtledDiagnostic *d = atled_error(vm);
  if (!refused && d) fprintf(stderr, "%s: %s", d->kind, d->rendered);
  expect(refused && d->line > 0 && printed == 0, source);
}

static void test_names(void) {
  AtledConfig config = sandbox(ATLED_JIT_OFF);
  AtledVM *vm = atled_new(&config);
  AtledFunction *f;
  const char *type;
  for (int u = 0; u < COUNT(uses); u++) {
    for (int k = 0; k < COUNT(contexts); k++) {
      char *source = expand(contexts[k], uses[u]);
      refuse_source(vm, source, "denied");
      free(source);
    }
    expect(atled_get(vm, uses[u], "unit -> unit", &f) == ATLED_COMPILE_ERROR && has_kind(vm, "denied"), uses[u]);
    expect(atled_type(vm, uses[u], &type) == ATLED_COMPILE_ERROR, uses[u]);
    expect(atled_enter(vm, "prompt", uses[u]) == ATLED_COMPILE_ERROR, uses[u]);
  }
  CHECK(atled_eval(vm, "good", "print (sum [ sin x | x in [1.0, 2.0] ])") == ATLED_OK && printed > 0);
  atled_free(vm);
}

static void test_items(void) {
  AtledConfig config = sandbox(ATLED_JIT_OFF);
  AtledVM *vm = atled_new(&config);
  for (int i = 0; i < COUNT(items); i++) {
    char *source = expand(items[i].source, NULL);
    refuse_source(vm, source, items[i].kind);
    free(source);
  }
  atled_free(vm);
}

/* A name of the library that needs a right says so: these, and no others. */
static void test_library(void) {
  static const char expected[] =
      "Bench.elapsed Bench.time Bytes.read Csv.numbers Csv.read Csv.read_with Csv.table Csv.write Fit.load Fit.save "
      "Nn.load Nn.save Npy.array3 Npy.array4 Npy.header Npy.matrix Npy.read Npy.read_ints Npy.vector Npy.write "
      "Npy.write_as Npy.write_ints Plot.save Plot.show Progress.loop ";
  AtledConfig config = sandbox(ATLED_JIT_OFF);
  AtledVM *vm = atled_new(&config);
  const char *const *modules, *const *words;
  size_t start;
  char denied[1024] = "", text[256];
  char *names[64];
  int n = 0, seen = 0;
  for (int k = 0, all = atled_complete(vm, "", &start, &modules); k < all && n < 64; k++)
    if (modules[k][0] >= 'A' && modules[k][0] <= 'Z' && strchr(modules[k], '.')) names[n++] = strdup(modules[k]);
  for (int m = 0; m < n; m++) {
    char *members[512];
    int all = atled_complete(vm, names[m], &start, &words);
    for (int k = 0; k < all && k < 512; k++) members[k] = strdup(words[k]);
    for (int k = 0; k < all && k < 512; k++) {
      snprintf(text, sizeof text, "%s%s", names[m], members[k]);
      const char *type;
      seen++;
      if (atled_type(vm, text, &type) != ATLED_OK && has_kind(vm, "denied"))
        snprintf(denied + strlen(denied), sizeof denied - strlen(denied), "%s ", text);
      free(members[k]);
    }
    free(names[m]);
  }
  CHECK(n > 10 && seen > 200);
  CHECK_STR(denied, expected);
  atled_free(vm);
}

/* ---- Folders ----------------------------------------------------------------------------------------------------- */
static char *in_base(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", base, name);
  return path;
}

static void put(const char *name, const char *text) {
  FILE *f = fopen(in_base(name), "w");
  CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool holds(const char *name, const char *text) {
  char got[256] = "";
  FILE *f = fopen(in_base(name), "r");
  size_t n = f ? fread(got, 1, sizeof got - 1, f) : 0;
  if (f) fclose(f);
  got[n] = '\0';
  return f && strcmp(got, text) == 0;
}

static void link_to(const char *target, const char *name) { CHECK(symlink(target, in_base(name)) == 0); }

static void make_files(void) {
  static const char *const folders[] = {"granted", "granted/in", "granted2", "outside", "swap"};
  CHECK(mkdtemp(base) && chdir(base) == 0);
  for (int i = 0; i < COUNT(folders); i++) CHECK(mkdir(in_base(folders[i]), 0700) == 0);
  put("outside/secret.txt", "CANARY\n");
  put("outside/secret.atl", "let x = = CANARY\n");
  put("granted2/secret.txt", "CANARY\n");
  put("granted.txt", "CANARY\n");
  put("grante", "CANARY\n");
  put("secret.txt", "CANARY\n");
  put("granted/a.txt", "fine\n");
  put("granted/in/b.csv", "1,2\n3,4\n");
  put("granted/m.atl", "import \"in/n.atl\" as N\nlet y = N.x + 1\n");
  put("granted/in/n.atl", "let x = 41\n");
  put("granted/bad.atl", "import \"../outside/secret.atl\" as S\n");
  link_to("../outside/secret.txt", "granted/link.txt");
  link_to("../outside/secret.atl", "granted/link.atl");
  link_to("../outside", "granted/linked");
  link_to("..", "granted/up");
  link_to("..", "granted/in/up");
  link_to(base, "granted/absolute");
  link_to("/", "granted/root");
  link_to("/proc", "granted/proc");
  link_to("/proc/self", "granted/self");
  link_to("loop", "granted/loop");
  link_to("../outside/new.txt", "granted/dangling");
  CHECK(mkfifo(in_base("granted/fifo"), 0600) == 0);
}

static bool outside_is_unchanged(void) {
  return holds("outside/secret.txt", "CANARY\n") && holds("granted2/secret.txt", "CANARY\n") &&
         holds("granted.txt", "CANARY\n") && holds("secret.txt", "CANARY\n") &&
         access(in_base("outside/new.txt"), F_OK) != 0;
}

static AtledFolder granted_folders[1];

static AtledConfig with_folder(AtledJit jit, unsigned rights) {
  static char name[64];
  AtledConfig config = sandbox(jit);
  snprintf(name, sizeof name, "%s/granted", base);
  granted_folders[0] = (AtledFolder){name, rights};
  config.folders = granted_folders;
  config.nfolders = 1;
  return config;
}

/* All that opens a path, by a number; the result is what was found. */
static const char all_operations[] =
    "fun (op : int) (path : string) ->\n"
    "  if op = 0 then read_file path\n"
    "  else if op = 1 then Str.join \"\" (read_lines path)\n"
    "  else if op = 2 then show (Csv.numbers path)\n"
    "  else if op = 3 then show (Csv.read path)\n"
    "  else if op = 4 then (write_file path \"EVIL\"; \"\")\n"
    "  else if op = 5 then (append_file path \"EVIL\"; \"\")\n"
    "  else if op = 6 then show (list_dir path)\n"
    "  else if op = 7 then (if file_exists path then \"yes\" else fail \"no\")\n"
    "  else (match attempt (fun () -> read_file path) with Ok s -> s | Error e -> fail e.message)";
enum { OPERATIONS = 9, FIRST_TELLING = 6, EXISTS = 7 };

static AtledStatus operate(AtledFunction *f, int op, const char *path, AtledValue *result) {
  AtledValue args[2] = {atled_int(op), atled_string(path)};
  return atled_call(f, args, 2, result);
}

static void attack_paths(AtledJit jit) {
  AtledConfig config = with_folder(jit, ATLED_RIGHT_READ | ATLED_RIGHT_WRITE);
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  AtledValue result;
  CHECK(atled_get(vm, all_operations, "int -> string -> string", &f) == ATLED_OK);
  for (int p = 0; p < COUNT(paths); p++) {
    char *path = expand(paths[p].path, "$"), what[600];
    for (int op = 0; f && op < OPERATIONS; op++) {
      if (paths[p].inside && op == EXISTS) continue;
      AtledStatus status = operate(f, op, path, &result);
      if (status == ATLED_OK && is_secret(result.as.string)) leaked = true;
      /* a name that only looks like a way out is a file of the folder */
      bool made = status == ATLED_OK && paths[p].inside && op < FIRST_TELLING;
      snprintf(what, sizeof what, "operation %d on %s", op, path);
      expect(status == ATLED_RUNTIME_ERROR || (made && strchr(paths[p].path, '%')), what);
    }
    CHECK(outside_is_unchanged());
    free(path);
  }
  CHECK(f && operate(f, 0, "granted/a.txt", &result) == ATLED_OK);
  CHECK(f && strcmp(result.as.string, "fine\n") == 0);
  CHECK(f && operate(f, 2, "granted/in/../in/b.csv", &result) == ATLED_OK);
  CHECK(f && operate(f, 4, "granted/in/new.txt", &result) == ATLED_OK && holds("granted/in/new.txt", "EVIL"));
  CHECK(f && operate(f, 5, "granted/in/new.txt", &result) == ATLED_OK && holds("granted/in/new.txt", "EVILEVIL"));
  CHECK(f && operate(f, 6, "granted/in", &result) == ATLED_OK);
  CHECK(f && strcmp(result.as.string, "[\"b.csv\", \"n.atl\", \"new.txt\", \"up\"]") == 0);
  CHECK(f && operate(f, 7, "granted", &result) == ATLED_OK);
  CHECK(unlink(in_base("granted/in/new.txt")) == 0);
  atled_release(f);
  atled_free(vm);
}

/* The right to read isn't one to write, and the other way round. */
static void test_one_right(void) {
  AtledConfig config = with_folder(ATLED_JIT_OFF, ATLED_RIGHT_READ);
  AtledVM *vm = atled_new(&config);
  refuse_source(vm, "write_file \"granted/a.txt\" \"\"", "denied");
  refuse_source(vm, "append_file \"granted/a.txt\" \"\"", "denied");
  refuse_source(vm, "import \"granted/m.atl\" as M", "denied");
  atled_free(vm);
  config = with_folder(ATLED_JIT_OFF, ATLED_RIGHT_WRITE | ATLED_RIGHT_FOREIGN | ATLED_RIGHT_CLOCK);
  vm = atled_new(&config);
  refuse_source(vm, "read_file \"granted/a.txt\"", "denied");
  refuse_source(vm, "file_exists \"granted/a.txt\"", "denied");
  refuse_source(vm, "foreign \"m\" cbrt : float -> float", "denied"); /* no right of a folder */
  refuse_source(vm, "time ()", "denied");
  atled_free(vm);
}

static void test_imports(void) {
  AtledConfig config = with_folder(ATLED_JIT_OFF, ATLED_RIGHT_IMPORT);
  AtledVM *vm = atled_new(&config);
  char text[700];
  for (int p = 0; p < COUNT(paths); p++) {
    char *path = expand(paths[p].path, "$");
    snprintf(text, sizeof text, "import \"%s\" as M", path);
    expect(atled_eval(vm, "main.atl", text) == ATLED_COMPILE_ERROR, text);
    free(path);
  }
  expect(atled_eval(vm, "main.atl", "import \"granted/bad.atl\" as M") == ATLED_COMPILE_ERROR, "an import's import");
  expect(atled_eval(vm, "main.atl", "import \"granted/link.atl\" as M") == ATLED_COMPILE_ERROR, "a link");
  refuse_source(vm, "read_file \"granted/a.txt\"", "denied");
  CHECK(atled_eval(vm, "main.atl", "import \"granted/m.atl\" as M\nprint M.y") == ATLED_OK);
  CHECK(atled_eval(vm, "granted/main.atl", "import \"in/../m.atl\" as N\nprint N.y") == ATLED_OK);
  atled_free(vm);
}

/* A host that grants the root doesn't grant the kernel's own files. */
static void test_kernel_files(void) {
  AtledConfig config = with_folder(ATLED_JIT_OFF, ATLED_RIGHT_READ | ATLED_RIGHT_WRITE);
  granted_folders[0].path = "/";
  AtledVM *vm = atled_new(&config);
  static const char *const files[] = {"/proc/self/environ",         "/proc/self/mem", "/proc/1/cmdline",
                                      "/proc/self/root/etc/passwd", "/dev/zero",      "/proc/version",
                                      "/sys/kernel/notes"};
  char text[200];
  for (int i = 0; i < COUNT(files); i++) {
    snprintf(text, sizeof text, "print (read_file \"%s\")", files[i]);
    expect(atled_eval(vm, "t", text) == ATLED_RUNTIME_ERROR, text);
  }
  atled_free(vm);
}

/* ---- Races ------------------------------------------------------------------------------------------------------- */
static bool racing;

/* `granted/race` is by turns a folder and a link to the one outside. */
static void *exchange(void *unused) {
  char one[600], other[600];
  snprintf(one, sizeof one, "%s/granted/race", base);
  snprintf(other, sizeof other, "%s/swap/race", base);
  while (__atomic_load_n(&racing, __ATOMIC_RELAXED))
    syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2 /* RENAME_EXCHANGE */);
  return unused;
}

static void make_race(void) {
  CHECK(mkdir(in_base("granted/race"), 0700) == 0);
  put("granted/race/secret.txt", "fine\n");
  link_to("../outside", "swap/race");
}

static void test_races(void) {
  AtledConfig config = with_folder(ATLED_JIT_OFF, ATLED_RIGHT_READ | ATLED_RIGHT_WRITE);
  AtledVM *vm = atled_new(&config);
  AtledFunction *f = NULL;
  AtledValue result;
  pthread_t thread;
  int read = 0, refused = 0;
  CHECK(atled_get(vm, all_operations, "int -> string -> string", &f) == ATLED_OK);
  racing = true;
  CHECK(pthread_create(&thread, NULL, exchange, NULL) == 0);
  for (int i = 0; f && i < 20000; i++) {
    AtledStatus status = operate(f, i % 10 ? i % 2 : 4 + i % 20 / 10, "granted/race/secret.txt", &result);
    if (status == ATLED_OK && is_secret(result.as.string)) leaked = true;
    read += status == ATLED_OK;
    refused += status != ATLED_OK;
  }
  __atomic_store_n(&racing, false, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  expect(outside_is_unchanged(), "a race");
  CHECK(read > 0 && refused > 0);
  atled_release(f);
  atled_free(vm);
}

/* ---- Modules of the host ----------------------------------------------------------------------------------------- */
static char asked[1024];

static const char *give_module(void *user, const char *name, size_t *length) {
  static const char *const modules[][2] = {{"geometry.atl", "import \"lib/area.atl\" as A\nlet square x = A.area x x"},
                                           {"lib/area.atl", "import \"unit.atl\" as U\nlet area x y = U.one * x * y"},
                                           {"lib/unit.atl", "let one = 1.0"},
                                           {"cycle.atl", "import \"./lib/../cycle.atl\" as C"},
                                           {"denied.atl", "let f () = read_file \"/etc/passwd\""}};
  (void)user;
  snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "%s ", name);
  for (int i = 0; i < COUNT(modules); i++)
    if (strcmp(modules[i][0], name) == 0) {
      *length = strlen(modules[i][1]);
      return modules[i][1];
    }
  return NULL;
}

static void test_modules(void) {
  AtledConfig config = sandbox(ATLED_JIT_OFF);
  config.module = give_module;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "main", "import \"geometry.atl\" as G\nlet a = G.square 3.0") == ATLED_OK);
  CHECK_STR(asked, "geometry.atl lib/area.atl lib/unit.atl ");
  refuse_source(vm, "import \"cycle.atl\" as C", "import-cycle");
  refuse_source(vm, "import \"denied.atl\" as D", "denied");
  refuse_source(vm, "import \"../geometry.atl\" as D", "import-file");
  refuse_source(vm, "import \"lib/../../geometry.atl\" as D", "import-file");
  refuse_source(vm, "import \"granted/m.atl\" as D", "import-file");
  asked[0] = '\0';
  refuse_source(vm, "import \"/../etc/./passwd\" as D", "import-file");
  CHECK_STR(asked, "/etc/passwd ");
  atled_free(vm);
}

/* ---- Machine code ------------------------------------------------------------------------------------------------ */
static void test_cache(void) {
  static const char source[] = "let f x = x * x + 0.125\nprint (f 3.0)";
  char folder[600];
  AtledCache kept;
  AtledConfig config = sandbox(ATLED_JIT_ALWAYS);
  CHECK(setenv("ATLED_CACHE", in_base("cache"), 1) == 0);
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", source) == ATLED_OK && printed > 0);
  CHECK(atled_cache(vm, &kept) == ATLED_OK && !kept.folder);
  atled_free(vm);
  CHECK(access(in_base("cache"), F_OK) != 0);
  snprintf(folder, sizeof folder, "%s/own", base);
  config.cache_folder = folder;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", source) == ATLED_OK);
  CHECK(atled_cache(vm, &kept) == ATLED_OK && kept.folder && kept.entries > 0);
  atled_free(vm);
  CHECK(access(in_base("cache"), F_OK) != 0);
  CHECK(unsetenv("ATLED_CACHE") == 0);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */
static size_t held, most_held;

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  held += new_size - old_size;
  if (held > most_held) most_held = held;
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *bomb_text(const Bomb *b) {
  size_t room = strlen(b->before) + strlen(b->after) + (size_t)b->n * (strlen(b->repeated) + 24) + 1;
  char *text = malloc(room), *to = text ? stpcpy(text, b->before) : NULL;
  for (int k = 1; text && k <= b->n; k++)
    for (const char *s = b->repeated; *s; s++) {
      if (*s == '$') to += sprintf(to, "%d", k);
      else *to++ = *s;
    }
  if (text) strcpy(to, b->after);
  return text;
}

enum { COMPILED = 5 }; /* bombs that also run as machine code, if GCC is done in time */

/* Time is the caller's processor time: the machine may be busy. */
static void explode(const Bomb *b, AtledJit jit, bool figures) {
  enum { MEMORY = 64 << 20 };
  const double limit = 1.0, allowance = 0.05;
  AtledConfig config = sandbox(jit);
  config.allocate = allocate;
  config.memory_limit = MEMORY;
  config.stack_size = 16 << 20;
  config.time_limit = limit;
  held = most_held = 0;
  AtledVM *vm = atled_new(&config);
  char *text = bomb_text(b);
  double start = seconds();
  AtledStatus status = atled_eval(vm, "bomb", text);
  double took = seconds() - start;
  bool good = status != ATLED_OK && took <= 1.1 * limit + allowance && most_held <= MEMORY + MEMORY / 10 &&
              printed <= printable + (size_t)MEMORY;
  const AtledDiagnostic *e = atled_error(vm);
  if (figures || !good)
    printf("%-28s %-10s %.3f s %5.1f MB %zu bytes\n", b->name, e ? e->kind : "none", took, (double)most_held / 1048576,
           printed);
  expect(good, b->name);
  CHECK(atled_eval(vm, "after", "let x = 1 + 1") == ATLED_OK);
  atled_free(vm);
  free(text);
}

/* ---- Without openat2 --------------------------------------------------------------------------------------------- */
/* From here on openat2 fails with EPERM, as in containers that don't know of it; false: filters can't be had. */
static bool refuse_openat2(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = COUNT(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Folders are opened by their components then. */
static void test_components(void) {
  if (!refuse_openat2()) {
    printf("no filters of system calls: not tried without openat2\n");
    return;
  }
  CHECK(syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) < 0 && errno == EPERM);
  attack_paths(ATLED_JIT_OFF);
  test_one_right();
  test_imports();
  test_kernel_files();
  test_races();
}

int main(int argc, char **argv) {
  (void)argv;
  make_files();
  test_names();
  test_items();
  test_library();
  attack_paths(ATLED_JIT_OFF);
  attack_paths(ATLED_JIT_ALWAYS);
  test_one_right();
  test_imports();
  test_kernel_files();
  make_race();
  test_races();
  test_modules();
  test_cache();
  for (int i = 0; i < COUNT(bombs); i++) explode(&bombs[i], ATLED_JIT_OFF, argc > 1);
  for (int i = 0; i < COMPILED; i++) explode(&bombs[i], ATLED_JIT_ALWAYS, argc > 1);
  test_components();
  printf("%d attacks\n", attacks);
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s", base);
  CHECK(chdir("/") == 0 && system(command) == 0);
  return check_result();
}
