/* SPDX-License-Identifier: MIT */
/* The prompt. Each entry is evaluated as a part of one program; what it defines
 * or computes is shown as `name : type = value`. Input goes on over several
 * lines while the entry is unfinished; two empty lines end it all the same. After
 * a line that begins with `|`, a case of a match or of a type, more may come: lines
 * that begin so or are indented belong to the entry, up to an empty one. Tests are
 * run. Commands start with a colon.
 *
 * On a terminal lines come from readline, with history and completion; else
 * from standard input without prompts, so scripts and tests can drive it. An
 * interrupt clears the line that is being typed, or stops the evaluation. */
#include "commands.h"
#include "repl.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <readline/history.h>
#include <readline/readline.h>

typedef struct Repl {
  AtledVM *vm;
  Session *session;
  bool terminal;
  int entry;
  bool over;   /* an entry called `exit` */
  char *ahead; /* a line that was read and belongs to the next entry, or NULL */
} Repl;

/* ---- Reading ------------------------------------------------------------------------ */
/* readline's callbacks and signal handlers take no argument; there is one prompt in the process. */
static AtledVM *completion_vm;
static volatile sig_atomic_t line_interrupted;

static char *next_completion(const char *text, int state) {
  static const char *const *names;
  static int count, next;
  if (state == 0) {
    count = atled_names(completion_vm, text, &names);
    next = 0;
  }
  return next < count ? strdup(names[next++]) : NULL;
}

static char **complete(const char *text, int start, int end) {
  (void)start;
  (void)end;
  rl_attempted_completion_over = 1;
  return rl_completion_matches(text, next_completion);
}

static void on_interrupt(int signal) {
  (void)signal;
  line_interrupted = 1;
}

/* Called by readline while it waits for a key: ends the line that was interrupted. */
static int check_interrupt(void) {
  if (!line_interrupted) return 0;
  rl_replace_line("", 0);
  rl_done = 1;
  return 0;
}

static char *read_plain(void) {
  size_t n;
  char *line = input_take(true, &n);
  if (!line || n == 0) {
    free(line);
    return NULL;
  }
  if (line[n - 1] == '\n') line[--n] = '\0';
  return escape_zeros(line, n);
}

/* The next line, to be freed; NULL at the end. *interrupted: the line was given up. */
static char *read_line(Repl *r, bool first, bool *interrupted) {
  *interrupted = false;
  if (r->ahead) {
    char *line = r->ahead;
    r->ahead = NULL;
    return line;
  }
  if (!r->terminal) return read_plain();
  fflush(stdout);
  struct sigaction action = {.sa_handler = on_interrupt}, before;
  sigemptyset(&action.sa_mask);
  line_interrupted = 0;
  sigaction(SIGINT, &action, &before);
  char *line = readline(first ? "∇ " : "… ");
  sigaction(SIGINT, &before, NULL);
  if (!line_interrupted) return line;
  free(line);
  *interrupted = true;
  return NULL;
}

/* ---- Entries --------------------------------------------------------------------------- */
/* The entry with the line, indented if that is asked for. */
static char *join_lines(char *entry, const char *line, bool indent) {
  size_t have = entry ? strlen(entry) : 0, more = strlen(line);
  char *all = realloc(entry, have + more + 3);
  if (!all) {
    free(entry);
    return NULL;
  }
  if (indent) all[have++] = ' ';
  memcpy(all + have, line, more);
  memcpy(all + have + more, "\n", 2);
  return all;
}

static void show_errors(AtledVM *vm) {
  fflush(stdout);
  for (int i = 0; i < atled_diagnostic_count(vm); i++) {
    const AtledDiagnostic *d = atled_diagnostic(vm, i);
    bool told = strcmp(d->kind, "test") == 0 || (output_failed() && strcmp(d->kind, "output") == 0);
    if (!told) fputs(d->rendered, stderr);
  }
}

/* What can't be shown, as a value whose text takes too long for the user, ends it. */
static void show_results(AtledVM *vm) {
  AtledResult r;
  bool shown = true;
  interrupt_target(vm);
  for (int i = 0; i < atled_result_count(vm) && shown; i++) {
    if (!(shown = atled_result(vm, i, &r))) show_errors(vm);
    else if (r.name) printf("%s : %s = %s\n", r.name, r.type, r.value);
    else if (strcmp(r.type, "unit") != 0) printf("- : %s = %s\n", r.type, r.value);
  }
  interrupt_target(NULL);
}

static void report(Repl *r, AtledStatus status) {
  show_errors(r->vm);
  if (status == ATLED_OK) show_results(r->vm);
  r->over = status == ATLED_EXIT || ending_seen();
}

static void report_test(void *user, const char *test, int line, const char *message) {
  (void)user;
  (void)line;
  if (!message) printf("passed: \"%s\"\n", test);
  else printf("FAILED: \"%s\": %s%s", test, message, message[strlen(message) - 1] == '\n' ? "" : "\n");
}

static AtledStatus evaluate(Repl *r, const char *text) {
  char name[32];
  snprintf(name, sizeof name, "repl:%d", r->entry);
  atled_clear_interrupt(r->vm);
  interrupt_target(r->vm);
  bool test = strncmp(text, "test", 4) == 0 && strchr(" \t\n\"", text[4]);
  AtledStatus status = test ? atled_test(r->vm, name, text, report_test, NULL) : atled_eval(r->vm, name, text);
  interrupt_target(NULL);
  return status;
}

/* ---- Commands --------------------------------------------------------------------------- */
/* For commands: text as an entry. */
static void enter(void *prompt, const char *text) {
  Repl *r = prompt;
  r->entry++;
  AtledStatus status = evaluate(r, text);
  session_entered(r->session, text, status);
  report(r, status);
}

static void show(void *prompt, AtledStatus status) { report(prompt, status); }

static bool is_blank(const char *line) { return line[strspn(line, " \t")] == '\0'; }

/* `| p -> e` or `| C of t`, not an operator. */
static bool is_case(const char *line) {
  line += strspn(line, " \t");
  return line[0] == '|' && line[1] != '|' && line[1] != '>';
}

/* For those who leave out the colon of a command. */
static void hint_at_command(const char *entry) {
  static const char *const words[] = {"quit\n", "q\n", "help\n", "load\n"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(entry, words[i]) == 0) fputs("hint: commands begin with a colon; `:help` lists them\n", stderr);
}

/* Evaluates the entry, unless it is unfinished and may go on. False: read on. */
static bool finish(Repl *r, const char *entry, bool may_go_on) {
  AtledStatus status = evaluate(r, entry);
  if (status == ATLED_INCOMPLETE && may_go_on) return false;
  session_entered(r->session, entry, status);
  report(r, status);
  if (status == ATLED_COMPILE_ERROR) hint_at_command(entry);
  return true;
}

/* Whether a line behind cases belongs to their entry, as it would in a file. */
static bool goes_on(const char *line) {
  return strchr(" \t)]}", line[0]) || is_case(line) || strncmp(line, "and ", 4) == 0;
}

/* Runs the entry that begins with the line, which it frees. False at the end of the input. */
static bool run_lines(Repl *r, char *line) {
  char *entry = NULL;
  bool cases = false, done = false, end = false;
  int blanks = 0; /* in a row */
  while (!done) {
    bool interrupted = false;
    if (entry) line = read_line(r, false, &interrupted);
    if (interrupted) break;
    end = !line;
    blanks = !end && is_blank(line) ? blanks + 1 : 0;
    bool last = end || blanks > 0;
    if (!last && cases && !goes_on(line)) {
      r->ahead = line;
      line = NULL;
      last = true;
    }
    if (!last && r->terminal) add_history(line);
    if (line) {
      /* What an unfinished entry lacks need not be indented here: it can't be the next item. */
      entry = join_lines(entry, line, entry && !cases && !last && !is_case(line) && !strchr(" \t", line[0]));
      cases |= is_case(line);
    }
    free(line);
    if (!entry) break;
    /* Blank lines end no item, but two of them finish also an entry that seems to want more. */
    done = (last || !cases) && finish(r, entry, !last || blanks == 1);
  }
  free(entry);
  return !end;
}

/* Reads and runs one entry. False at the end of the input. */
static bool run_entry(Repl *r) {
  bool interrupted;
  r->entry++;
  char *line = read_line(r, true, &interrupted);
  if (!line) return interrupted;
  if (is_blank(line)) {
    free(line);
    return true;
  }
  if (line[0] != ':') return run_lines(r, line);
  if (r->terminal) add_history(line);
  bool goes_on = command_run(r->session, line);
  free(line);
  return goes_on;
}

/* ---- Session ------------------------------------------------------------------------------ */
static char *history_path(void) {
  const char *given = getenv("ATLED_HISTORY"), *home = getenv("HOME");
  if (given) return strdup(given);
  if (!home) return NULL;
  size_t n = strlen(home) + sizeof "/.atled_history";
  char *path = malloc(n);
  if (path) snprintf(path, n, "%s/.atled_history", home);
  return path;
}

AtledStatus repl_run(AtledVM *vm, AtledJit jit) {
  Repl r = {.vm = vm, .terminal = isatty(STDIN_FILENO)};
  r.session = session_new(&(PromptHost){vm, jit, &r, r.terminal, enter, show});
  if (!r.session) return ATLED_NO_MEMORY;
  char *history = r.terminal ? history_path() : NULL;
  if (r.terminal) {
    completion_vm = vm;
    rl_catch_signals = 0;
    rl_outstream = output_terminal();
    rl_event_hook = check_interrupt;
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = " \t\n\"'`@$><=;|&{(+-*/%^[,";
    if (history) read_history(history);
    printf("Atled %s. `:help` for help.\n", atled_version());
  }
  while (!r.over && run_entry(&r)) {
    fflush(stdout);
    if (output_failed()) break;
  }
  if (history) write_history(history);
  free(history);
  session_free(r.session);
  return r.over ? ATLED_EXIT : ATLED_OK;
}
