/* SPDX-License-Identifier: MIT */
/* Commands that show something of the program: types, documentation, stages of the compiler, explanations. */
#include "options.h"
#include "repl.h"
#include "session.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool lacks(const char *rest, const char *what, const char *usage) {
  if (!*rest) printf("%s is missing: `%s`\n", what, usage);
  return !*rest;
}

void command_type(Session *s, const char *rest) {
  const char *text;
  if (lacks(rest, "an expression", ":type EXPR")) return;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_type(s->host.vm, rest, &text);
  show_text(s, status, text);
}

/* ---- Names ------------------------------------------------------------------------------------------ */
/* What is known of the name; false after a message. */
static bool about(Session *s, const char *name, AtledAbout *out) {
  AtledStatus status = atled_about(s->host.vm, name, out);
  if (status != ATLED_OK) session_show(s, status);
  return status == ATLED_OK;
}

/* What `about` says, without the place. */
static void show_about(const char *name, const AtledAbout *a) {
  printf("%s %s%s%s\n", a->kind, name, a->type ? " : " : "", a->type ? a->type : "");
  if (a->doc) fputs(a->doc, stdout);
  if (strcmp(a->kind, "type") == 0 && a->source) fputs(a->source, stdout);
}

void command_doc(Session *s, const char *rest) {
  AtledAbout a;
  const char *text;
  if (lacks(rest, "a name", ":doc NAME") || !about(s, rest, &a)) return;
  if (strcmp(a.kind, "value") != 0) {
    show_about(rest, &a);
    if (strcmp(a.kind, "module") == 0) printf("`:browse %s` lists its names\n", rest);
    return;
  }
  AtledStatus status = atled_doc(s->host.vm, rest, &text);
  show_text(s, status, text);
}

void command_info(Session *s, const char *rest) {
  AtledAbout a;
  if (lacks(rest, "a name", ":info NAME") || !about(s, rest, &a)) return;
  show_about(rest, &a);
  if (a.line) printf("defined in %s, line %d\n", a.file, a.line);
  else if (a.file) printf("defined in %s\n", a.file);
}

void command_source(Session *s, const char *rest) {
  AtledAbout a;
  if (lacks(rest, "a name", ":source NAME") || !about(s, rest, &a)) return;
  if (!a.source) printf("`%s` is all of %s; `:browse %s` lists its names\n", rest, a.file, rest);
  else printf("# %s, line %d\n%s", a.file, a.line, a.source);
}

/* Copies of texts, which the next call on the VM would end. */
static char **copy_all(const char *const *texts, int n) {
  char **all = calloc((size_t)n + 1, sizeof *all);
  for (int i = 0; all && i < n; i++) all[i] = strdup(texts[i]);
  return all;
}

static void free_all(char **texts) {
  for (int i = 0; texts && texts[i]; i++) free(texts[i]);
  free(texts);
}

static void print_typed_names(Session *s, const char *const *names, int n, const char *module) {
  char **all = copy_all(names, n);
  for (int i = 0; all && all[i] && !interrupt_seen(); i++) {
    char full[256];
    AtledAbout a;
    snprintf(full, sizeof full, "%s%s%s", module, *module ? "." : "", all[i]);
    if (atled_about(s->host.vm, full, &a) != ATLED_OK) continue;
    if (a.type) printf("%s : %s\n", full, a.type);
    else printf("%s %s\n", a.kind, full);
  }
  free_all(all);
}

/* Definitions of the session, each once. */
static void browse_session(Session *s) {
  const char *const *names;
  int n = atled_names(s->host.vm, "", &names);
  char **all = copy_all(names, n);
  int found = 0;
  for (int i = 0; all && all[i]; i++) {
    AtledAbout a;
    bool known = atled_about(s->host.vm, all[i], &a) == ATLED_OK && a.file;
    if (!known || strcmp(a.file, "prelude.atl") == 0 || strcmp(a.kind, "module") == 0) continue;
    printf("%s : %s\n", all[i], a.type ? a.type : a.kind);
    found++;
  }
  free_all(all);
  size_t start;
  n = atled_complete(s->host.vm, "", &start, &names);
  fputs(found ? "modules:" : "nothing is defined yet; modules:", stdout);
  for (int i = 0; i < n; i++) {
    size_t len = strlen(names[i]);
    if (len && names[i][len - 1] == '.') printf(" %.*s", (int)len - 1, names[i]);
  }
  putchar('\n');
}

void command_browse(Session *s, const char *rest) {
  const char *const *names;
  AtledAbout a;
  size_t start;
  char path[256];
  if (!*rest) {
    browse_session(s);
    return;
  }
  if (!about(s, rest, &a)) return;
  if (strcmp(a.kind, "module") != 0) {
    printf("`%s` is no module, but a %s\n", rest, a.kind);
    return;
  }
  snprintf(path, sizeof path, "%s.", rest);
  int n = atled_complete(s->host.vm, path, &start, &names);
  interrupt_target(s->host.vm);
  print_typed_names(s, names, n, rest);
  interrupt_target(NULL);
}

void command_search(Session *s, const char *rest) {
  const char *const *names;
  int n;
  if (lacks(rest, "a word or a type", ":search float[] -> float")) return;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_search(s->host.vm, rest, &names, &n);
  if (status == ATLED_OK) print_typed_names(s, names, n, "");
  interrupt_target(NULL);
  if (status != ATLED_OK) session_show(s, status);
  else if (!n) puts("nothing was found");
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
  if ((int)stage < 0 || lacks(rest, "an expression", ":ir [--STAGE] EXPR")) return;
  bool graph = stage != ATLED_STAGE_PARSED && stage != ATLED_STAGE_TYPED;
  const char *of = graph && is_name(rest) ? rest : NULL;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_ir(s->host.vm, "<expression>", of ? "" : rest, stage, false, of, &text);
  show_text(s, status, text);
}

void command_grad(Session *s, const char *rest) {
  const char *text;
  if (lacks(rest, "a function", ":grad FUNCTION")) return;
  interrupt_target(s->host.vm);
  AtledStatus status = atled_derivative_source(s->host.vm, "<expression>", "", rest, &text);
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
