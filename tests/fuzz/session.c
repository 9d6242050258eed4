/* SPDX-License-Identifier: MIT */
/* Evaluates sources one after the other in one VM, as a host or the prompt does, and looks for what no source may do
 * to it: end the process, keep the compiler busy without end, or break the VM for what comes next.
 *
 *   fuzz_session [--jit=off|auto|always] [--seconds N] FILE...
 *
 * Each file is a session with a VM of its own: its sources are parted by lines `#---`. A source is checked, then
 * evaluated; what it defines is shown, and looked up as hosts do. Afterwards the VM has to compute something.
 * Calls are interrupted soon, and made again with more time: so they are stopped in all phases, and must leave the VM
 * as it was. Running code ends then for good, so what takes N seconds of processor time (10) is the compiler, or
 * doesn't look for interrupts. Prints where it is. Exit status 3: a defect, named on standard error; a crash ends the
 * process. tests/fuzz.py makes the sessions, and makes those that fail smaller. */
#include <atled.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { EXIT_DEFECT = 3, MEMORY_LIMIT = 1 << 30 };
static const double run_seconds = 0.5;

/* One per process: signal handlers take no argument. */
static char under_way[512];
static AtledVM *interrupted;

static void on_alarm(int signal) {
  (void)signal;
  atled_interrupt(interrupted);
}

/* Interrupts the VM after that many seconds, again and again; 0: not any more. */
static void interrupt_after(AtledVM *vm, double seconds) {
  struct timeval t = {(time_t)seconds, (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds))};
  struct itimerval timer = {t, t};
  interrupted = vm;
  setitimer(ITIMER_REAL, &timer, NULL);
  if (seconds == 0) atled_clear_interrupt(vm);
}

static void on_time(int signal) {
  (void)signal;
  static const char message[] = "defect: no end of ";
  if (write(2, message, sizeof message - 1) && write(2, under_way, strlen(under_way)) && write(2, "\n", 1))
    _exit(EXIT_DEFECT);
  _exit(EXIT_DEFECT);
}

static void defect(const char *what, const char *detail) {
  fprintf(stderr, "defect: %s in %s: %s\n", what, under_way, detail);
  fflush(stderr);
  _exit(EXIT_DEFECT);
}

/* Notes what is done next, and that it may take some time. */
static void begin(const char *file, int source, const char *what, int seconds) {
  snprintf(under_way, sizeof under_way, "%s %s %d", what, file, source);
  puts(under_way);
  fflush(stdout);
  struct itimerval timer = {.it_value = {.tv_sec = seconds}};
  setitimer(ITIMER_PROF, &timer, NULL);
}

static void drop_output(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
}

/* What only a fault of the compiler leads to: see NOT_SHOWN in tests/check_diagnostics.py. */
static void look_at(void *user, const AtledDiagnostic *d) {
  (void)user;
  bool guard = strcmp(d->kind, "unsupported") == 0 && !strstr(d->message, "can have an effect");
  if (guard || strcmp(d->kind, "verifier") == 0 || strcmp(d->kind, "unusable") == 0)
    defect("a diagnostic of the compiler's own", d->rendered);
}

typedef AtledStatus (*SourceFn)(AtledVM *vm, const char *name, const char *source);

/* Does it with a little time, and with four times as much if it is interrupted: for ever if it isn't running. */
static AtledStatus interrupt_often(AtledVM *vm, SourceFn call, const char *source) {
  enum { FIRST = 16 };
  for (double seconds = 1e-3 * (double)(1 + strlen(source) % FIRST);; seconds *= 4) {
    interrupt_after(vm, seconds);
    AtledStatus status = call(vm, "session", source);
    interrupt_after(vm, 0);
    const AtledDiagnostic *e = atled_error(vm);
    bool stopped = e && strcmp(e->kind, "interrupt") == 0, runs = stopped && e->file;
    if (!stopped || (runs && seconds >= run_seconds)) return status;
  }
}

/* Looks a result up by name and type. */
static void get(AtledVM *vm, const char *name, const char *type) {
  AtledFunction *f = NULL;
  if (atled_get(vm, name, type, &f) == ATLED_OK) {
    double numbers[4] = {0.5, 1.5, 2.5, 3.5}, y;
    if (atled_arity(f) <= 4) atled_call_double(f, numbers, atled_arity(f), &y);
  }
  atled_release(f);
}

static void use_results(AtledVM *vm) {
  enum { MOST = 16 };
  char *names[MOST] = {0}, *types[MOST] = {0};
  int n = 0;
  for (int i = 0; i < atled_result_count(vm) && n < MOST; i++) {
    AtledResult r;
    if (!atled_result(vm, i, &r) || !r.name) continue;
    names[n] = strdup(r.name);
    types[n++] = strdup(r.type);
  }
  for (int i = 0; i < n; i++) {
    get(vm, names[i], types[i]);
    free(names[i]);
    free(types[i]);
  }
}

/* With nothing but syntax: any name may have become another one. */
static void check_alive(AtledVM *vm) {
  AtledResult r;
  AtledStatus status = atled_eval(vm, "end", "let rec twice n = if n = 0 then 0 else 2 + twice (n - 1)\ntwice 21\n");
  bool good =
      status == ATLED_OK && atled_result_count(vm) == 2 && atled_result(vm, 1, &r) && strcmp(r.value, "42") == 0;
  if (!good) defect("the VM is broken", atled_error(vm) ? atled_error(vm)->rendered : "a wrong result");
}

static void run_session(const char *file, char *text, AtledJit jit, int seconds) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.memory_limit = MEMORY_LIMIT;
  config.write = drop_output;
  config.diagnostic = look_at;
  AtledVM *vm = atled_new(&config);
  if (!vm) defect("no VM", "out of memory");
  bool memory = true;
  int n = 0;
  for (char *source = text; source && memory; n++) {
    char *end = strstr(source, "#---\n");
    if (end) *end = '\0';
    begin(file, n, "check", seconds);
    memory = interrupt_often(vm, atled_check, source) != ATLED_NO_MEMORY;
    begin(file, n, "eval", seconds);
    AtledStatus status = interrupt_often(vm, atled_eval, source);
    memory &= status != ATLED_NO_MEMORY;
    begin(file, n, "use", 3 * seconds);
    interrupt_after(vm, run_seconds);
    if (status == ATLED_OK) use_results(vm);
    interrupt_after(vm, 0);
    source = end ? end + 5 : NULL;
  }
  begin(file, n, "end", seconds);
  if (memory) check_alive(vm);
  atled_free(vm);
}

static char *read_all(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t cap = 1 << 20, len = 0, n;
  char *text = malloc(cap + 1);
  while (text && (n = fread(text + len, 1, cap - len, f)) > 0) {
    len += n;
    if (len < cap) continue;
    char *more = realloc(text, (cap *= 2) + 1);
    if (!more) free(text);
    text = more;
  }
  fclose(f);
  if (text) text[len] = '\0';
  return text;
}

int main(int argc, char **argv) {
  AtledJit jit = ATLED_JIT_OFF;
  int seconds = 10;
  struct sigaction action = {.sa_handler = on_time};
  sigaction(SIGPROF, &action, NULL);
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, NULL);
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--jit=", 6) == 0) {
      jit = strcmp(argv[i] + 6, "always") == 0 ? ATLED_JIT_ALWAYS
            : strcmp(argv[i] + 6, "auto") == 0 ? ATLED_JIT_AUTO
                                               : ATLED_JIT_OFF;
    } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = atoi(argv[++i]);
    } else {
      char *text = read_all(argv[i]);
      if (!text) {
        fprintf(stderr, "can't read %s\n", argv[i]);
        return 2;
      }
      run_session(argv[i], text, jit, seconds);
      free(text);
    }
  }
  return 0;
}
