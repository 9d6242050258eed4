/* SPDX-License-Identifier: MIT */
/* Commands of the prompt: a line that begins with a colon is looked up in the table commands.def, and the function of
 * its row gets the rest of the line. This file has the session, the table and the commands about the prompt itself;
 * command_look.c those that show something of a program, command_files.c those of files, command_measure.c those that
 * take times. */
#include "colours.h"
#include "options.h"
#include "repl.h"
#include "session.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct {
  const char *name, *arguments, *completes, *help;
  void (*run)(Session *s, const char *rest);
} commands[] = {
#define COMMAND(function, name, arguments, completes, help) {name, arguments, completes, help, command_##function},
#include "commands.def"
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct {
  const char *name, *values;
  int initial;
  const char *help;
} settings[] = {
#define SETTING(id, name, values, initial, help) {name, values, initial, help},
#include "commands.def"
};

bool command_row(int i, const char **name, const char **completes) {
  if (i < 0 || i >= COMMANDS) return false;
  *name = commands[i].name;
  *completes = commands[i].completes;
  return true;
}

bool setting_row(int i, const char **name, const char **values) {
  if (i < 0 || i >= SETTINGS) return false;
  *name = settings[i].name;
  *values = settings[i].values;
  return true;
}

/* ---- The session ------------------------------------------------------------------------------ */
Session *session_new(const PromptHost *host) {
  Session *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->host = *host;
  s->jit = host->jit;
  s->trap = host->trap;
  s->first_undo = atled_undo(host->vm, NULL);
  for (int i = 0; i < SETTINGS; i++) s->settings[i] = settings[i].initial;
  return s;
}

static void drop_last(Session *s) {
  Accepted *last = &s->entries[--s->nentries];
  free(last->text);
  free(last->path);
}

void session_free(Session *s) {
  if (!s) return;
  while (s->nentries) drop_last(s);
  free(s->entries);
  free(s->error_code);
  free(s->error_message);
  free(s);
}

void session_add(Session *s, char *text, char *path) {
  if (s->nentries == s->room) {
    int room = 2 * s->room + 16;
    Accepted *more = realloc(s->entries, (size_t)room * sizeof *more);
    if (more) s->entries = more, s->room = room;
  }
  if (text && s->nentries < s->room) {
    s->entries[s->nentries++] = (Accepted){text, path, atled_undo(s->host.vm, NULL)};
    return;
  }
  free(text);
  free(path);
}

void session_failed(Session *s) {
  const AtledDiagnostic *d = atled_error(s->host.vm);
  if (!d) return;
  free(s->error_code);
  free(s->error_message);
  s->error_code = strdup(d->kind);
  s->error_message = strdup(d->message);
}

void session_entered(Session *s, const char *text, AtledStatus status) {
  if (status == ATLED_OK) session_add(s, strdup(text), NULL);
  else session_failed(s);
}

void session_show(Session *s, AtledStatus status) {
  if (status != ATLED_OK) session_failed(s);
  s->host.show(s->host.prompt, status);
}

int session_setting(const Session *s, Setting id) { return s->settings[id]; }

char *trimmed(const char *text, size_t n) {
  while (n && isspace((unsigned char)*text)) text++, n--;
  while (n && isspace((unsigned char)text[n - 1])) n--;
  return strndup(text, n);
}

/* ---- Finding a command --------------------------------------------------------------------------- */
/* The command that the word is, or alone begins with it; COMMANDS: none; -1: several. `:q` quits, `:t` is `:type`: of
 * several the first in the table that has a name of its own for it. */
static int find_command(const char *word) {
  static const struct {
    const char *alias, *name;
  } aliases[] = {{"q", "quit"},   {"exit", "quit"}, {"t", "type"}, {"h", "help"},   {"?", "help"}, {"l", "load"},
                 {"r", "reload"}, {"e", "edit"},    {"i", "info"}, {"b", "browse"}, {"d", "doc"},  {"s", "search"}};
  int found = COMMANDS;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i].alias, word) == 0) word = aliases[i].name;
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(commands[i].name, word) == 0) return i;
    if (strncmp(commands[i].name, word, strlen(word)) == 0) found = found == COMMANDS ? i : -1;
  }
  return found;
}

static void no_command(const char *word, int found) {
  printf(found < 0 ? "`:%s` may be" : "no command `:%s`; `:help` lists them\n", word);
  const char *joint = " ";
  for (int i = 0; found < 0 && i < COMMANDS; i++)
    if (strncmp(commands[i].name, word, strlen(word)) == 0) printf("%s`:%s`", joint, commands[i].name), joint = ", ";
  if (found < 0) putchar('\n');
}

bool command_run(Session *s, const char *line) {
  char word[32];
  line += strspn(line, " \t") + 1;
  size_t n = strcspn(line, " \t\n");
  snprintf(word, sizeof word, "%.*s", (int)n, line);
  char *rest = trimmed(line + n, strlen(line + n));
  int found = n && n < sizeof word ? find_command(word) : COMMANDS;
  if (found >= 0 && found < COMMANDS && rest) commands[found].run(s, rest);
  else no_command(word, found);
  free(rest);
  fflush(stdout);
  return !s->over;
}

/* ---- Help ---------------------------------------------------------------------------------------- */
static void command_help_row(int i) {
  char left[80];
  snprintf(left, sizeof left, "  :%s %s", commands[i].name, commands[i].arguments);
  fputs(left, stdout);
  manual_wrap(commands[i].help, manual_width(left), 28);
}

static void setting_help_row(int i) {
  printf("  :set %s %s", settings[i].name, settings[i].values);
  manual_wrap(settings[i].help, 8 + manual_width(settings[i].name) + manual_width(settings[i].values), 28);
}

static void help_all(void) {
  puts("An entry is a definition or an expression; it may go on over several lines. Commands begin with a colon, and\n"
       "may be shortened.");
  for (int i = 0; i < COMMANDS; i++) command_help_row(i);
}

static int find_setting(const char *word, size_t n) {
  if (n == 6 && strncmp(word, "colour", n) == 0) return SETTING_COLOUR;
  for (int i = 0; i < SETTINGS; i++)
    if (strlen(settings[i].name) == n && strncmp(settings[i].name, word, n) == 0) return i;
  return SETTINGS;
}

void command_help(Session *s, const char *rest) {
  const char *word = rest + (*rest == ':');
  int command = *word ? find_command(word) : COMMANDS, setting = find_setting(rest, strlen(rest));
  if (!*rest) help_all();
  else if (command >= 0 && command < COMMANDS) command_help_row(command);
  else if (setting < SETTINGS) setting_help_row(setting);
  else command_doc(s, rest);
}

void command_quit(Session *s, const char *rest) {
  (void)rest;
  s->over = true;
}

/* ---- Settings -------------------------------------------------------------------------------------- */
static void show_setting(const Session *s, int i) {
  bool words = !isupper((unsigned char)*settings[i].values);
  int at = printf("%-9s ", settings[i].name);
  at += words ? printf("%s", s->settings[i] ? "on" : "off") : printf("%d", s->settings[i]);
  manual_wrap(settings[i].help, at, 16);
}

/* The value that the word stands for, or -1. */
static int setting_value(int i, const char *word) {
  if (!isupper((unsigned char)*settings[i].values)) return choice_of(settings[i].values, word);
  char *end;
  long n = strtol(word, &end, 10);
  return *word && !*end && n >= 0 && n <= 1000000 ? (int)n : -1;
}

void command_set(Session *s, const char *rest) {
  size_t n = strcspn(rest, " \t=");
  const char *value = rest + n + strspn(rest + n, " \t=");
  int i = find_setting(rest, n);
  if (!*rest) {
    for (int k = 0; k < SETTINGS; k++) show_setting(s, k);
  } else if (i == SETTINGS) {
    printf("no setting `%.*s`; `:set` lists them\n", (int)n, rest);
  } else if (!*value) {
    show_setting(s, i);
  } else {
    int v = setting_value(i, value);
    if (v < 0)
      printf("`%s` is %s, not `%s`\n", settings[i].name,
             isupper((unsigned char)*settings[i].values) ? "a number, 0 or more" : settings[i].values, value);
    else s->settings[i] = v;
    progress_switch(s->settings[SETTING_PROGRESS]);
    atled_set_colour(s->host.vm, s->settings[SETTING_COLOUR] && colours_of(STDERR_FILENO));
  }
}

/* ---- Taking back ------------------------------------------------------------------------------------ */
/* Entries that can't be taken back any more go, and those behind them that defined nothing. */
static void forget_entries(Session *s) {
  int left = atled_undo(s->host.vm, NULL);
  while (s->nentries && s->entries[s->nentries - 1].undo > left) drop_last(s);
}

void command_undo(Session *s, const char *rest) {
  const char *const *names;
  (void)rest;
  if (atled_undo(s->host.vm, NULL) <= s->first_undo) {
    puts("there is nothing to take back");
    return;
  }
  int n = atled_undo(s->host.vm, &names);
  for (int i = n - 1; i >= 0; i--) printf("%s`%s`", i == n - 1 ? "taken back: " : i ? ", " : " and ", names[i]);
  puts(n ? "" : "taken back");
  forget_entries(s);
}

void command_clear(Session *s, const char *rest) {
  const char *const *names;
  if (strcmp(rest, "all") == 0) {
    while (atled_undo(s->host.vm, NULL) > s->first_undo) atled_undo(s->host.vm, &names);
    while (s->nentries) drop_last(s);
  } else if (*rest) {
    printf("`:clear` takes `all` or nothing, not `%s`\n", rest);
  } else if (s->host.terminal) {
    fputs("\033[H\033[2J\033[3J", stdout);
  }
}
