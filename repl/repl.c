/* SPDX-License-Identifier: MIT */
/* The prompt. An entry (entry.c says where it ends, line.c reads it) is a command, or items, which are evaluated one
 * after the other as parts of one program; what each defines or computes is shown as `name : type = value` (display.c),
 * tests are run. What follows an item that failed isn't evaluated. The value of the last expression is `it`. */
#include "colours.h"
#include "commands.h"
#include "display.h"
#include "entry.h"
#include "editor.h"
#include "history.h"
#include "line.h"
#include "repl.h"
#include "times.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Repl {
  AtledVM *vm;
  Session *session;
  bool terminal;
  bool colour;
  int entry;
  bool over;   /* the session ends */
  bool exited; /* because the program called `exit`, or the process is to end */
  char *last;  /* the item evaluated before, with its rules, if it is a definition; else NULL */
  int before;  /* display_errors: of the entry that is evaluated */
} Repl;

/* ---- Showing ------------------------------------------------------------------------------- */
static bool has_colour(const Repl *r) { return r->colour && session_setting(r->session, SETTING_COLOUR); }

static Look look_of(const Repl *r) {
  const Session *s = r->session;
  Look look = {.digits = session_setting(s, SETTING_DIGITS)};
  display_window(&look.columns, &look.lines);
  if (session_setting(s, SETTING_WIDTH)) look.columns = session_setting(s, SETTING_WIDTH);
  if (session_setting(s, SETTING_HEIGHT)) look.lines = session_setting(s, SETTING_HEIGHT);
  look.colour = has_colour(r);
  return look;
}

/* A value whose text takes too long for the user is ended by an interrupt. */
static void report(Repl *r, AtledStatus status) {
  Look look = look_of(r);
  bool below = !output_seen() && !interrupt_seen();
  if (r->terminal && interrupt_seen() && !ending_seen()) putchar('\n'); /* behind the `^C` that the terminal shows */
  display_errors(r->vm, below ? r->before : -1);
  interrupt_target(r->vm);
  bool shown = status != ATLED_OK || display_results(r->vm, &look);
  interrupt_target(NULL);
  if (!shown) display_errors(r->vm, -1);
  r->exited |= status == ATLED_EXIT || ending_seen();
  r->over |= r->exited;
}

static void report_test(void *user, const char *test, int line, const char *message) {
  (void)user;
  (void)line;
  if (!message) printf("passed: \"%s\"\n", test);
  else printf("FAILED: \"%s\": %s%s", test, message, message[strlen(message) - 1] == '\n' ? "" : "\n");
}

static void report_bench(void *user, const AtledBench *b) {
  char median[32];
  (void)user;
  if (b->message) printf("FAILED: \"%s\": %s", b->name, b->message);
  else printf("\"%s\": %s\n", b->name, seconds_text(b->median, median, sizeof median));
}

/* ---- Evaluating ------------------------------------------------------------------------------ */
/* `word "name" = …`, where the word is `test` or `bench`. */
static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  text += strspn(text, "\n");
  return strncmp(text, word, n) == 0 && text[n + strspn(text + n, " \t\n")] == '"';
}

static AtledStatus evaluate_item(Repl *r, const char *name, const char *text) {
  if (begins_with(text, "test")) return atled_test(r->vm, name, text, report_test, NULL);
  if (begins_with(text, "bench")) return atled_bench(r->vm, name, text, report_bench, NULL);
  return atled_enter(r->vm, name, text);
}

/* `typed`: what of it is the entry's own. */
static AtledStatus evaluate(Repl *r, const char *text, const char *typed) {
  char name[32];
  snprintf(name, sizeof name, "repl:%d", r->entry);
  output_forget();
  atled_clear_interrupt(r->vm);
  interrupt_target(r->vm);
  AtledStatus status = evaluate_item(r, name, text);
  interrupt_target(NULL);
  session_entered(r->session, typed + strspn(typed, "\n"), status);
  report(r, status);
  return status;
}

/* A rule stands directly after its function: that is defined again, with the rule. */
static char *with_function(const Repl *r, const char *rule) {
  size_t n = strlen(r->last);
  char *both = malloc(n + strlen(rule) + 2);
  if (!both) return NULL;
  memcpy(both, r->last, n);
  both[n] = '\n';
  strcpy(both + n + 1, rule + strspn(rule, "\n"));
  return both;
}

static AtledStatus evaluate_in_turn(Repl *r, const char *text) {
  char *both = r->last && entry_is_rule(text) ? with_function(r, text) : NULL;
  if (both) r->before = -1;
  AtledStatus status = evaluate(r, both ? both : text, text);
  if (status != ATLED_OK && both) {
    free(both);
    return status;
  }
  bool defined = status == ATLED_OK && entry_is_definition(text);
  free(r->last);
  r->last = both ? both : defined ? strdup(text + strspn(text, "\n")) : NULL;
  return status;
}

/* For those who leave out the colon of a command. */
static void hint_at_command(const char *entry) {
  static const char *const words[] = {"quit", "q", "help", "load", "exit"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(entry, words[i]) == 0) fputs("hint: commands begin with a colon; `:help` lists them\n", stderr);
}

/* All items up to the first that fails. */
static void evaluate_pieces(Repl *r, Pieces p) {
  AtledStatus status = ATLED_OK;
  int done = 0;
  for (; done < p.n && !r->over && (status == ATLED_OK || status == ATLED_TEST_FAILURE); done++)
    status = evaluate_in_turn(r, p.texts[done]);
  if (status == ATLED_COMPILE_ERROR && p.n == 1) hint_at_command(p.texts[0]);
  int left = p.n - done;
  if (left && !r->over)
    fprintf(stderr, "%d item%s behind the error %s evaluated\n", left, left > 1 ? "s" : "",
            left > 1 ? "weren't" : "wasn't");
}

/* A command is a line; the others are an entry again. */
static const char *run_commands(Repl *r, const char *text) {
  while (text[0] == ':' && !r->over) {
    size_t n = strcspn(text, "\n");
    char *line = strndup(text, n);
    r->before = -1;
    r->over = line && !command_run(r->session, line);
    free(line);
    text += n;
    text += strspn(text, "\n");
  }
  return text;
}

/* Runs an entry. What of it is the beginning of the next one, to be freed; NULL: nothing. */
static char *run_entry(Repl *r, const char *text, bool typed) {
  char *rest = NULL;
  text = run_commands(r, text);
  if (r->over || entry_is_blank(text)) return NULL;
  Pieces p = entry_split(r->vm, text, typed, &rest);
  int columns, lines;
  display_window(&columns, &lines);
  bool above = r->terminal && isatty(STDERR_FILENO) && !strchr(text, '\n') &&
               strlen(text) + LINE_PROMPT_COLUMNS < (size_t)columns;
  r->before = above ? LINE_PROMPT_COLUMNS : -1;
  evaluate_pieces(r, p);
  entry_free(p);
  return rest;
}

/* For commands: text as an entry. */
static void enter(void *prompt, const char *text) {
  Repl *r = prompt;
  r->entry++;
  r->before = -1;
  free(run_entry(r, text, false));
}

static void show(void *prompt, AtledStatus status) { report(prompt, status); }

/* ---- Session ------------------------------------------------------------------------------ */
/* The text without the ends of lines behind it. */
static void strip(char *text) {
  size_t n = strlen(text);
  while (n && strchr(" \t\n", text[n - 1])) text[--n] = '\0';
}

/* Reads and runs one entry. False at the end of the input. */
static bool read_and_run(Repl *r, char **rest) {
  Entry e = line_read(*rest, has_colour(r));
  *rest = NULL;
  if (!e.text) {
    if (!e.interrupted) putchar('\n');
    return e.interrupted;
  }
  bool blank = entry_is_blank(e.text), ended = entry_is_blank(entry_last_line(e.text));
  strip(e.text);
  if (!blank) {
    r->entry++;
    if (r->terminal) history_enter(e.text);
    *rest = run_entry(r, e.text, e.typed && !ended);
  }
  free(e.text);
  return true;
}

AtledStatus repl_run(AtledVM *vm, AtledJit jit, AtledTrap trap) {
  Repl r = {
      .vm = vm, .terminal = isatty(STDIN_FILENO) && editor_load(), .colour = colours_of(STDOUT_FILENO), .before = -1};
  char *rest = NULL;
  r.session = session_new(&(PromptHost){vm, jit, trap, &r, r.terminal, enter, show});
  if (!r.session) return ATLED_NO_MEMORY;
  line_begin(vm, r.terminal);
  if (r.terminal) {
    printf("Atled %s. `:help` for help.\n", atled_version());
    history_begin();
  }
  while (!r.over && read_and_run(&r, &rest)) {
    fflush(stdout);
    if (output_failed()) break;
  }
  free(rest);
  free(r.last);
  session_free(r.session);
  return r.exited ? ATLED_EXIT : ATLED_OK;
}
