/* SPDX-License-Identifier: MIT */
/* The program `atled`: runs scripts and expressions, tests and checks files,
 * shows stages of the compiler, the cache of machine code, or starts the prompt (repl.c). A client of
 * atled.h alone. options.def has the command line and the exit statuses, which follow sysexits. */
#define _GNU_SOURCE /* asprintf */
#include "colours.h"
#include "options.h"
#include "repl.h"
#include "session.h"
#include "times.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Output ------------------------------------------------------------------------- */
static void print_diagnostic(void *user, const AtledDiagnostic *d) {
  (void)user;
  fflush(stdout);
  if (output_failed() && strcmp(d->kind, "output") == 0) return; /* it was said */
  if (ending_seen() && strcmp(d->kind, "interrupt") == 0) return;
  fputs(d->rendered, stderr);
}

int sequence_length(const unsigned char *s) {
  int n = s[0] < 0x80                   ? 1
          : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
          : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
          : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                        : 0;
  for (int i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
  return (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f) ? 0 : n;
}

/* Names of files may hold any bytes: those that are no UTF-8 become U+FFFD. */
static void print_json_string(FILE *f, const char *text) {
  putc('"', f);
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    int n = sequence_length(s);
    if (*s == '"' || *s == '\\') fprintf(f, "\\%c", *s);
    else if (*s < 0x20) fprintf(f, "\\u%04x", *s);
    else if (n) fwrite(s, 1, (size_t)n, f);
    else fputs("\\ufffd", f);
    s += n ? n : 1;
  }
  putc('"', f);
}

static void print_json_place(FILE *f, const char *file, int line, int column, const char *message) {
  fprintf(f, "\"file\": ");
  print_json_string(f, file ? file : "");
  fprintf(f, ", \"line\": %d, \"column\": %d, \"message\": ", line, column);
  print_json_string(f, message);
}

static void json_to(FILE *f, const AtledDiagnostic *d) {
  fprintf(f, "{\"severity\": \"%s\", \"kind\": ", d->severity == ATLED_ERROR ? "error" : "warning");
  print_json_string(f, d->kind);
  fputs(", ", f);
  print_json_place(f, d->file, d->line, d->column, d->message);
  for (int i = 0; i < d->note_count; i++) {
    const AtledNote *n = d->notes[i];
    fputs(i ? "}, {" : ", \"notes\": [{", f);
    print_json_place(f, n->file, n->line, n->column, n->message);
  }
  fputs(d->note_count ? "}]}\n" : "}\n", f);
}

static void print_json(void *user, const AtledDiagnostic *d) {
  (void)user;
  json_to(stdout, d);
}

static void print_json_error(void *user, const AtledDiagnostic *d) {
  (void)user;
  fflush(stdout);
  json_to(stderr, d);
}

/* A line on the terminal that says why nothing happens; it goes when something does. */
static void show_compiling(void *user, double seconds) {
  static long shown;
  (void)user;
  if (seconds < 0 && shown) fputs("\r\033[K", stderr);
  if (seconds >= 1 && (long)seconds > shown) fprintf(stderr, "\rcompiling … %ld s", (long)seconds);
  shown = seconds < 0 ? 0 : (long)seconds;
}

int exit_status(const AtledVM *vm, AtledStatus status) {
  switch (status) {
  case ATLED_EXIT: return atled_exit_status(vm);
  case ATLED_OK: return 0;
  case ATLED_COMPILE_ERROR:
  case ATLED_INCOMPLETE: return EXIT_DATA;
  case ATLED_BAD_ARGUMENT: return EXIT_USAGE;
  case ATLED_TEST_FAILURE: return 1;
  default: return EXIT_SOFTWARE;
  }
}

/* A signal that ends the process ends what the VM has started, too: its compiler finishes nothing then. */
static void free_vm(AtledVM *vm) {
  if (!ending_seen()) atled_free(vm);
}

/* ---- Times ------------------------------------------------------------------------------ */
static void print_phase(const AtledPhase *p) {
  fprintf(stderr, "%-14s%12.6f%10lld%10.1f MB%s\n", p->name, p->seconds, (long long)p->count, (double)p->memory / 1e6,
          p->elsewhere ? "  (CPU time of its process)" : "");
}

/* Of the optimiser's runs those that took a hundredth of the time of all, or more. */
static void print_passes(const AtledVM *vm) {
  AtledPass p;
  double all = 0;
  for (int k = 0; atled_pass(vm, k, &p); k++) all += p.seconds;
  if (all <= 0) return;
  fprintf(stderr, "%-14s%12s%10s\n", "optimise", "seconds", "count");
  for (int k = 0; atled_pass(vm, k, &p); k++)
    if (p.seconds >= 0.01 * all) fprintf(stderr, "%-14s%12.6f%10lld\n", p.name, p.seconds, (long long)p.count);
}

/* `reading`: what it took to read the program, which is the VM's first phase. */
static void print_times(const AtledVM *vm, double reading) {
  AtledPhase p, all = {.name = "total"};
  if (!atled_phase(vm, 0, &p)) return; /* nobody asked */
  for (int i = 0; atled_phase(vm, i, &p); i++) {
    if (i == 0) {
      fflush(stdout);
      p.seconds += reading;
      p.count += reading > 0;
      fprintf(stderr, "%-14s%12s%10s%13s\n", "phase", "seconds", "count", "memory");
    }
    if (p.elsewhere) print_phase(&all);
    print_phase(&p);
    all.seconds += p.seconds;
    all.count += p.count;
    if (p.memory > all.memory) all.memory = p.memory;
  }
  print_passes(vm);
}

int end_vm(AtledVM *vm, AtledStatus status) {
  print_times(vm, 0);
  int code = exit_status(vm, status);
  free_vm(vm);
  return code;
}

/* ---- Files ---------------------------------------------------------------------------- */
char *escape_zeros(char *text, size_t len) {
  size_t zeros = 0, n = 0;
  for (size_t i = 0; i < len; i++) zeros += text[i] == '\0';
  if (!zeros) return text;
  char *out = malloc(len + zeros + 1);
  for (size_t i = 0; out && i < len; i++) {
    if (text[i]) out[n++] = text[i];
    else memcpy(out + n, "\xc0\x80", 2), n += 2;
  }
  if (out) out[n] = '\0';
  free(text);
  return out;
}

char *slurp(const char *path) {
  size_t len = 0, cap = 16384;
  if (strcmp(path, "-") == 0) {
    char *input = input_take(false, &len);
    return input ? escape_zeros(input, len) : NULL;
  }
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  char *text = malloc(cap);
  while (text) {
    len += fread(text + len, 1, cap - len - 1, f);
    if (len < cap - 1) break;
    char *more = realloc(text, cap *= 2);
    if (!more) free(text);
    text = more;
  }
  int why = !text ? ENOMEM : ferror(f) ? errno : 0;
  fclose(f);
  if (why) {
    free(text);
    errno = why;
    return NULL;
  }
  text[len] = '\0';
  text = escape_zeros(text, len);
  if (!text) errno = ENOMEM;
  return text;
}

const char *shown_name(const char *path) { return strcmp(path, "-") == 0 ? "<stdin>" : path; }

int no_input(const char *path) {
  fprintf(stderr, "atled: can't read `%s`: %s\n", path, strerror(errno));
  return EXIT_NO_INPUT;
}

AtledVM *new_vm(const AtledConfig *config) {
  AtledVM *vm = atled_new(config);
  if (!vm) fputs("atled: out of memory\n", stderr);
  return vm;
}

/* ---- Commands ------------------------------------------------------------------------- */
static int run_file(Options *o) {
  const char *path = o->rest[0];
  o->config.args = (const char *const *)o->rest + 1;
  o->config.nargs = o->nrest - 1;
  double start = seconds_now();
  char *text = slurp(path);
  double reading = seconds_now() - start;
  if (!text) return no_input(path);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  interrupt_target(vm);
  AtledStatus status = atled_run(vm, shown_name(path), text);
  interrupt_target(NULL);
  print_times(vm, reading);
  int code = exit_status(vm, status);
  free_vm(vm);
  free(text);
  return code;
}

static int run_expression(Options *o) {
  o->config.args = (const char *const *)o->rest;
  o->config.nargs = o->nrest;
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  interrupt_target(vm);
  AtledStatus status = atled_eval(vm, "<expr>", o->expression);
  AtledResult r;
  int n = atled_result_count(vm);
  if (status == ATLED_OK && n && atled_result(vm, n - 1, &r) && !r.name && strcmp(r.type, "unit") != 0) puts(r.value);
  interrupt_target(NULL);
  return end_vm(vm, status);
}

typedef struct Tally {
  const char *file;
  int passed, failed;
} Tally;

static void report_test(void *user, const char *test, int line, const char *message) {
  Tally *t = user;
  if (!message) {
    t->passed++;
    return;
  }
  t->failed++;
  printf("FAILED %s:%d: \"%s\": %s%s", t->file, line, test, message, message[strlen(message) - 1] == '\n' ? "" : "\n");
}

static void print_only_warnings(void *user, const AtledDiagnostic *d) {
  if (d->severity == ATLED_WARNING) print_diagnostic(user, d);
}

/* The failures of tests and benchmarks are in their reports; other errors are printed. */
void print_errors(const AtledVM *vm, AtledStatus status) {
  for (int k = 0; status != ATLED_OK && status != ATLED_TEST_FAILURE && k < atled_diagnostic_count(vm); k++)
    if (atled_diagnostic(vm, k)->severity == ATLED_ERROR) print_diagnostic(NULL, atled_diagnostic(vm, k));
}

static int test_files(Options *o) {
  Tally tally = {0};
  int worst = 0;
  o->config.diagnostic = print_only_warnings;
  for (int i = 0; i < o->nrest; i++) {
    tally.file = o->rest[i];
    char *text = slurp(o->rest[i]);
    if (!text) return no_input(o->rest[i]);
    AtledVM *vm = new_vm(&o->config);
    if (!vm) return EXIT_SOFTWARE;
    interrupt_target(vm);
    AtledStatus status = atled_test(vm, shown_name(o->rest[i]), text, report_test, &tally);
    if (status == ATLED_EXIT) {
      printf("FAILED %s: the program called `exit`\n", shown_name(o->rest[i]));
      tally.failed++;
      status = ATLED_TEST_FAILURE;
    }
    print_errors(vm, status);
    interrupt_target(NULL);
    int code = end_vm(vm, status);
    if (code > worst) worst = code;
    free(text);
  }
  if (worst != EXIT_DATA || tally.passed || tally.failed) printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return worst;
}

static int no_input_to_check(const Options *o, const char *path) {
  if (!o->json) return no_input(path);
  char message[512];
  snprintf(message, sizeof message, "can't read this file: %s", strerror(errno));
  print_json(NULL, &(AtledDiagnostic){.severity = ATLED_ERROR, .kind = "no-input", .file = path, .message = message});
  return EXIT_NO_INPUT;
}

static int check_files(Options *o) {
  int worst = 0;
  if (o->json) o->config.diagnostic = print_json;
  for (int i = 0; i < o->nrest; i++) {
    char *text = slurp(o->rest[i]);
    int status = text ? 0 : no_input_to_check(o, o->rest[i]);
    AtledVM *vm = text ? new_vm(&o->config) : NULL;
    if (text && !vm) return EXIT_SOFTWARE;
    if (vm) status = end_vm(vm, atled_check(vm, shown_name(o->rest[i]), text));
    if (status > worst) worst = status;
    free(text);
  }
  return worst;
}

static int show_ir(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  char *text = slurp(o->rest[0]);
  if (!text) return no_input(o->rest[0]);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  const char *out;
  AtledStatus status = o->from_text ? atled_ir_text(vm, text, o->from, o->stage, o->dot, &out)
                                    : atled_ir(vm, shown_name(o->rest[0]), text, o->stage, o->dot, o->of, &out);
  fputs(out, stdout);
  free(text);
  return end_vm(vm, status);
}

static int show_derivative(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  if (!o->of) {
    fputs("atled: `grad` needs the name of a function: `--of=NAME`\n", stderr);
    return options_refuse(o->verb);
  }
  char *text = slurp(o->rest[0]);
  if (!text) return no_input(o->rest[0]);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  const char *out;
  AtledStatus status = atled_derivative_source(vm, shown_name(o->rest[0]), text, o->of, &out);
  fputs(out, stdout);
  free(text);
  return end_vm(vm, status);
}

static int build_library(Options *o) {
  if (o->nrest != 1) return options_refuse(o->verb);
  if (!o->build.output) {
    fputs("atled: `build` needs the name of the library: `-o LIBRARY`\n", stderr);
    return options_refuse(o->verb);
  }
  char *text = slurp(o->rest[0]);
  if (!text) return no_input(o->rest[0]);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  interrupt_target(vm);
  AtledStatus status = atled_eval(vm, shown_name(o->rest[0]), text);
  if (status == ATLED_OK) status = atled_build(vm, &o->build);
  interrupt_target(NULL);
  free(text);
  return end_vm(vm, status);
}

static const char *local_time(double seconds, char *text, size_t n) {
  time_t t = (time_t)seconds;
  struct tm tm;
  return localtime_r(&t, &tm) && strftime(text, n, "%Y-%m-%d %H:%M:%S", &tm) ? text : "?";
}

static int show_cache(AtledVM *vm) {
  AtledCache c;
  char oldest[40], newest[40];
  AtledStatus status = atled_cache(vm, &c);
  if (status != ATLED_OK) return exit_status(vm, status);
  if (!c.folder) {
    printf("machine code isn't kept%s%s\n", c.why ? ": " : "", c.why ? c.why : "");
    return 0;
  }
  const char *limit = c.bytes > c.limit ? " (the next compile makes room)" : "";
  printf("folder      %s\nentries     %lld\nbytes       %lld\nlimit       %lld%s\n", c.folder, (long long)c.entries,
         (long long)c.bytes, (long long)c.limit, limit);
  if (c.entries)
    printf("oldest use  %s\nnewest use  %s\n", local_time(c.oldest, oldest, sizeof oldest),
           local_time(c.newest, newest, sizeof newest));
  return 0;
}

static int run_cache(Options *o) {
  bool clear = o->nrest == 1 && strcmp(o->rest[0], "clear") == 0;
  if (o->nrest && !clear) return options_refuse(o->verb);
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  int status = clear ? exit_status(vm, atled_clear_cache(vm)) : show_cache(vm);
  atled_free(vm);
  return status;
}

/* The file that the prompt runs at its start, to be freed; NULL: none. */
static char *init_path(void) {
  const char *given = getenv("ATLED_INIT"), *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  char *path = NULL;
  if (given) return *given ? strdup(given) : NULL;
  if (config && *config == '/') return asprintf(&path, "%s/atled/init.atl", config) < 0 ? NULL : path;
  if (!home) return NULL;
  return asprintf(&path, "%s/.config/atled/init.atl", home) < 0 ? NULL : path;
}

/* Its errors are shown, and the prompt starts all the same; there need be none where nobody named it. */
static void run_init(AtledVM *vm) {
  char *path = init_path();
  if (path && (getenv("ATLED_INIT") || access(path, F_OK) == 0)) {
    interrupt_target(vm);
    AtledStatus status = atled_eval_file(vm, path);
    interrupt_target(NULL);
    for (int i = 0; i < atled_diagnostic_count(vm); i++) print_diagnostic(NULL, atled_diagnostic(vm, i));
    if (status != ATLED_OK) fprintf(stderr, "atled: the init file `%s` isn't in effect\n", path);
  }
  free(path);
}

static int run_prompt(Options *o) {
  o->config.diagnostic = NULL; /* an unfinished entry is no error there */
  o->config.compiling = progress_compiling;
  progress_start();
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  if (!o->no_init) run_init(vm);
  return end_vm(vm, repl_run(vm, o->config.jit, o->config.trap));
}

/* Machine code is what is to be measured, in one thread, unless the user says otherwise. */
static int run_bench(Options *o) {
  if (!o->jit_given && !getenv("ATLED_JIT")) o->config.jit = ATLED_JIT_ALWAYS;
  if (!o->threads_given && !getenv("ATLED_THREADS")) o->config.threads = 1; /* whose time is measured */
  o->config.diagnostic = print_only_warnings;
  return bench_files(o);
}

static int run_explain(const Options *o) {
  if (o->nrest == 0) explain_codes();
  for (int i = 0; i < o->nrest; i++) {
    if (explain(o->rest[i], NULL) || explain(NULL, o->rest[i])) continue;
    fprintf(stderr, "atled: nothing is explained under `%s`; `atled explain` lists the codes\n", o->rest[i]);
    return EXIT_USAGE;
  }
  return 0;
}

/* ---- Command line ------------------------------------------------------------------------ */
static int run_program(Options *o) {
  static char *standard_input[] = {"-"};
  if (o->expression) return run_expression(o);
  if (o->nrest == 0 && isatty(STDIN_FILENO)) return run_prompt(o);
  if (o->nrest == 0) o->rest = standard_input, o->nrest = 1;
  return run_file(o);
}

static int run_verb(Options *o) {
  bool files = o->verb == VERB_TEST || o->verb == VERB_BENCH || o->verb == VERB_CHECK || o->verb == VERB_FMT;
  if (files && o->nrest == 0) return options_refuse(o->verb);
  switch (o->verb) {
  case VERB_RUN: return run_program(o);
  case VERB_REPL: return run_prompt(o);
  case VERB_TEST: return test_files(o);
  case VERB_BENCH: return run_bench(o);
  case VERB_CHECK: return check_files(o);
  case VERB_FMT: return format_files(o);
  case VERB_DOC: return document(o);
  case VERB_LSP: return o->nrest ? options_refuse(o->verb) : language_server(o);
  case VERB_BUILD: return build_library(o);
  case VERB_IR: return show_ir(o);
  case VERB_GRAD: return show_derivative(o);
  case VERB_WHY: return explain_paths(o);
  case VERB_COST: return explain_cost(o);
  case VERB_CHECK_GRAD: return check_gradient(o);
  case VERB_CACHE: return run_cache(o);
  case VERB_EXPLAIN: return run_explain(o);
  case VERBS: break;
  }
  return EXIT_USAGE;
}

static int run_with(Options *o, int argc, char **argv) {
  atled_config_init(&o->config);
  o->config.threads = default_threads();
  o->config.output = output_write;
  o->config.flush = output_flush;
  o->config.input = input_read;
  o->config.diagnostic = print_diagnostic;
  if (!options_read(o, argc, argv)) return EXIT_USAGE;
  o->config.colour = colours_of(STDERR_FILENO);
  o->config.errors_on_terminal = isatty(STDERR_FILENO);
  if (o->json) o->config.diagnostic = print_json_error;
  if (o->config.jit == ATLED_JIT_ALWAYS && isatty(STDERR_FILENO)) o->config.compiling = show_compiling;
  if (o->version) printf("atled %s\n", atled_version());
  else if (o->help) manual_help();
  else if (o->generate) manual_generate(o->generate);
  else return o->watch ? watch(o, run_verb) : run_verb(o);
  return 0;
}

static int run(int argc, char **argv) {
  Options o = {.folders = calloc((size_t)argc + 1, sizeof(AtledFolder))};
  if (!o.folders) return EXIT_SOFTWARE;
  int status = run_with(&o, argc, argv);
  free(o.folders);
  return status;
}

int main(int argc, char **argv) {
  output_start();
  signals_start();
  int status = run(argc, argv);
  bool written = output_end();
  signals_end();
  return written ? status : EXIT_OUTPUT;
}
