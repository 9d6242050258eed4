/* SPDX-License-Identifier: MIT */
/* Commands that show something of the program: types, documentation, stages of the compiler, explanations. */
#include "options.h"
#include "repl.h"
#include "session.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Shows the text that a call gave, or its errors. */
static void show_text(Session *s, AtledStatus status, const char *text) {
  interrupt_target(NULL);
  if (status != ATLED_OK) {
    session_show(s, status);
    return;
  }
  fputs(text, stdout);
  if (!*text || text[strlen(text) - 1] != '\n') putchar('\n');
}

static bool lacks(const char *rest, const char *what) {
  if (!*rest) printf("%s is missing\n", what);
  return !*rest;
}

void command_type(Session *s, const char *rest) {
  const char *text;
  if (lacks(rest, "an expression: `:type EXPR`")) return;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_type(s->host.vm, rest, &text);
  show_text(s, status, text);
}

void command_doc(Session *s, const char *rest) {
  const char *text;
  if (lacks(rest, "a name: `:doc NAME`")) return;
  AtledStatus status = atled_doc(s->host.vm, rest, &text);
  show_text(s, status, text);
}

/* ---- Stages ----------------------------------------------------------------------------------------- */
static bool is_name(const char *text) {
  return (isalpha((unsigned char)*text) || *text == '_') &&
         !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'")];
}

/* Takes `--stage=STAGE` or `--STAGE` from the beginning; -1 after a message. */
static AtledStage take_stage(const char **rest) {
  char word[32];
  const char *at = *rest;
  if (strncmp(at, "--", 2) != 0) return ATLED_STAGE_FINAL;
  at += 2;
  if (strncmp(at, "stage=", 6) == 0) at += 6;
  size_t n = strcspn(at, " \t");
  snprintf(word, sizeof word, "%.*s", (int)n, at);
  AtledStage stage = stage_of(word);
  if ((int)stage < 0) printf("no stage `%s`; `:help ir` lists them\n", word);
  *rest = at + n + strspn(at + n, " \t");
  return stage;
}

/* A name alone means its function's graph, which no item of a program that only uses it would show. */
void command_ir(Session *s, const char *rest) {
  const char *text;
  AtledStage stage = take_stage(&rest);
  if ((int)stage < 0 || lacks(rest, "an expression: `:ir [--STAGE] EXPR`")) return;
  bool graph = stage != ATLED_STAGE_PARSED && stage != ATLED_STAGE_TYPED;
  const char *of = graph && is_name(rest) ? rest : NULL;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_ir(s->host.vm, "<expression>", of ? "" : rest, stage, false, of, &text);
  show_text(s, status, text);
}

/* ---- Explanations ------------------------------------------------------------------------------------- */
void command_explain(Session *s, const char *rest) {
  if (*rest) {
    if (!explain(rest, NULL) && !explain(NULL, rest))
      printf("nothing is explained under `%s`; `atled explain` lists the codes\n", rest);
  } else if (!s->error_code) {
    puts("there was no error yet; `:explain CODE` explains one by its code");
  } else if (!explain(s->error_code, s->error_message) && !explain(NULL, s->error_message)) {
    printf("the documentation has no section for `%s`\n", s->error_code);
  }
}
