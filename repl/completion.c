/* SPDX-License-Identifier: MIT */
/* The tabulator key: completes names, members of modules, fields and constructors as the library knows them
 * (atled_complete), commands and their arguments as commands.def has them, and names of files in strings and where a
 * command wants one. */
#include "completion.h"
#include "commands.h"
#include "editor.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static AtledVM *completion_vm;
static char code_breaks[] = " \t\n\"\\`@$><=;|&{}()[]+-*/%^,.:!?#~", string_breaks[] = "\"", word_breaks[] = " \t\n";

/* ---- Where -------------------------------------------------------------------------------------- */
typedef enum Context { IN_CODE, IN_STRING, IN_FILE, IN_COMMAND, IN_WORDS } Context;

/* What the command completes whose name is the n bytes; "" if there is none. */
static const char *completes_of(const char *name, size_t n) {
  const char *full, *completes;
  for (int i = 0; command_row(i, &full, &completes); i++)
    if (strlen(full) == n && strncmp(full, name, n) == 0) return completes;
  return "";
}

/* In a line that begins with a colon. */
static Context command_context(const char *text, size_t n) {
  size_t name = strcspn(text + 1, " \t");
  const char *completes = completes_of(text + 1, name);
  if (name + 1 >= n) return IN_COMMAND;
  if (strcmp(completes, "file") == 0) return IN_FILE;
  return strcmp(completes, "code") == 0 || strcmp(completes, "name") == 0 ? IN_CODE : IN_WORDS;
}

/* Where in the text that is n bytes long something is to be completed. */
static Context context_of(const char *text, size_t n) {
  bool string = false;
  Context command = text[0] == ':' ? command_context(text, n) : IN_CODE;
  if (command != IN_CODE) return command;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\\' && string) i++;
    else if (text[i] == '"') string = !string;
  }
  return string ? IN_STRING : IN_CODE;
}

/* Called by readline before it looks for the beginning of the word. */
static char *breaks(void) {
  switch (context_of(rl_line_buffer, (size_t)rl_point)) {
  case IN_STRING: return string_breaks;
  case IN_FILE:
  case IN_WORDS: return word_breaks;
  case IN_COMMAND:
  case IN_CODE: break;
  }
  return code_breaks;
}

/* ---- What --------------------------------------------------------------------------------------- */
static const char *const *offered;
static int noffered;

static char *next_offered(const char *text, int state) {
  static int next;
  (void)text;
  if (state == 0) next = 0;
  return next < noffered ? strdup(offered[next++]) : NULL;
}

static char **complete_code(const char *text, int start, int end) {
  char *before = strndup(rl_line_buffer, (size_t)end);
  size_t at = 0;
  noffered = before ? atled_complete(completion_vm, before, &at, &offered) : 0;
  free(before);
  rl_completion_append_character = '\0';
  return noffered && at == (size_t)start ? rl_completion_matches(text, next_offered) : NULL;
}

static char *next_command(const char *text, int state) {
  static int next;
  const char *name, *completes;
  if (state == 0) next = 0;
  while (command_row(next++, &name, &completes))
    if (strncmp(name, text, strlen(text)) == 0) return strdup(name);
  return NULL;
}

static char *next_setting(const char *text, int state) {
  static int next;
  const char *name, *values;
  if (state == 0) next = 0;
  while (setting_row(next++, &name, &values))
    if (strncmp(name, text, strlen(text)) == 0) return strdup(name);
  return NULL;
}

/* Of the words "a|b|c", NULL: none. */
static const char *choices;

static char *next_choice(const char *text, int state) {
  static const char *next;
  if (state == 0) next = choices;
  while (next && *next) {
    const char *word = next;
    size_t n = strcspn(word, "|");
    next = word[n] ? word + n + 1 : word + n;
    if (n >= strlen(text) && strncmp(word, text, strlen(text)) == 0) return strndup(word, n);
  }
  return NULL;
}

/* The values of the setting that is named before the last word of `:set NAME VALUE`; NULL: there is no name yet. */
static const char *values_of_setting(const char *line, int start) {
  const char *name, *values, *word = line + 1 + strcspn(line + 1, " \t");
  word += strspn(word, " \t");
  size_t n = strcspn(word, " \t");
  if (word + n >= line + start) return NULL;
  for (int i = 0; setting_row(i, &name, &values); i++)
    if (strlen(name) == n && strncmp(name, word, n) == 0) return strchr(values, '|') ? values : "";
  return "";
}

static char **complete_words(const char *text, int start) {
  const char *line = rl_line_buffer, *completes = completes_of(line + 1, strcspn(line + 1, " \t"));
  choices = strchr(completes, '|') ? completes : "";
  if (strcmp(completes, "command") == 0) return rl_completion_matches(text, next_command);
  if (strcmp(completes, "setting") != 0) return rl_completion_matches(text, next_choice);
  const char *values = values_of_setting(line, start);
  if (!values) return rl_completion_matches(text, next_setting);
  choices = values;
  return rl_completion_matches(text, next_choice);
}

static char **complete(const char *text, int start, int end) {
  Context context = context_of(rl_line_buffer, (size_t)start);
  rl_attempted_completion_over = 1;
  rl_completion_append_character = context == IN_STRING ? '"' : ' ';
  switch (context) {
  case IN_CODE: return complete_code(text, start, end);
  case IN_COMMAND: return rl_completion_matches(text, next_command);
  case IN_WORDS: return complete_words(text, start);
  case IN_STRING:
  case IN_FILE: break;
  }
  rl_filename_completion_desired = 1;
  return rl_completion_matches(text, rl_filename_completion_function);
}

void completion_begin(AtledVM *vm) {
  completion_vm = vm;
  rl_attempted_completion_function = complete;
  rl_completion_word_break_hook = breaks;
  rl_basic_word_break_characters = code_breaks;
  rl_completer_quote_characters = "";
  rl_basic_quote_characters = "";
}
