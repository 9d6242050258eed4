/* SPDX-License-Identifier: MIT */
/* The tabulator key: completes names, members of modules, fields and constructors as the library knows them
 * (atled_complete), and names of files in strings and after `:load`. */
#include "completion.h"
#include <stdlib.h>
#include <string.h>
#include <readline/readline.h>

static AtledVM *completion_vm;
static char code_breaks[] = " \t\n\"\\`@$><=;|&{}()[]+-*/%^,.:!?#~", string_breaks[] = "\"", word_breaks[] = " \t\n";

typedef enum Context { IN_CODE, IN_STRING, IN_FILE } Context;

/* Where in the text that is n bytes long something is to be completed. */
static Context context_of(const char *text, size_t n) {
  bool string = false;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '\\' && string) i++;
    else if (text[i] == '"') string = !string;
  }
  if (string) return IN_STRING;
  return strncmp(text, ":load ", 6) == 0 ? IN_FILE : IN_CODE;
}

/* Called by readline before it looks for the beginning of the word. */
static char *breaks(void) {
  switch (context_of(rl_line_buffer, (size_t)rl_point)) {
  case IN_STRING: return string_breaks;
  case IN_FILE: return word_breaks;
  case IN_CODE: break;
  }
  return code_breaks;
}

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
  rl_attempted_completion_over = 1;
  return noffered && at == (size_t)start ? rl_completion_matches(text, next_offered) : NULL;
}

static char **complete(const char *text, int start, int end) {
  Context context = context_of(rl_line_buffer, (size_t)start);
  if (context == IN_CODE) return complete_code(text, start, end);
  rl_completion_append_character = context == IN_STRING ? '"' : ' ';
  rl_attempted_completion_over = 1;
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
