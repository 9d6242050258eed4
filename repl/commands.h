/* SPDX-License-Identifier: MIT */
/* The commands of the prompt, as commands.def lists them, and the session that they look at and change: its accepted
 * entries, its settings. The prompt itself (repl.c) reads entries, evaluates them and shows their values. */
#ifndef ATLED_COMMANDS_H
#define ATLED_COMMANDS_H
#include "atled.h"

typedef enum Setting {
#define SETTING(id, name, values, initial, help) SETTING_##id,
#include "commands.def"
  SETTINGS
} Setting;

/* What commands need of the prompt; `prompt` is handed to the functions. */
typedef struct PromptHost {
  AtledVM *vm;
  AtledJit jit;   /* its mode */
  AtledTrap trap; /* what it traps */
  void *prompt;
  bool terminal; /* input comes from one */
  /* Evaluates text as if it had been typed: it becomes an entry, and what it gives is shown. */
  void (*enter)(void *prompt, const char *text);
  /* Shows what the VM's last call came to: errors and warnings; the results where the status is ATLED_OK. */
  void (*show)(void *prompt, AtledStatus status);
} PromptHost;

typedef struct Session Session;
/* NULL when there is no memory. */
Session *session_new(const PromptHost *host);
void session_free(Session *s);
/* An entry was evaluated, as the VM's last call, whose status that is: `:save`, `:edit` and `:undo` are about those
 * without an error, `:explain` is about the last error. */
void session_entered(Session *s, const char *text, AtledStatus status);
int session_setting(const Session *s, Setting id);
/* Runs a line that begins with a colon. False: the session ends. */
bool command_run(Session *s, const char *line);
/* For completion: the i-th command's name and what it completes (see commands.def); false after the last. */
bool command_row(int i, const char **name, const char **completes);
bool setting_row(int i, const char **name, const char **values);
#endif
