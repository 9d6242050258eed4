/* SPDX-License-Identifier: MIT */
/* The session, for the files of commands alone. */
#ifndef ATLED_SESSION_H
#define ATLED_SESSION_H
#include "commands.h"

/* What was evaluated without an error, oldest first. */
typedef struct Accepted {
  char *text; /* of the entry, or of the file as it was then */
  char *path; /* of the file that was loaded; NULL: it was typed */
  int undo;   /* how many entries could be taken back after it */
} Accepted;

struct Session {
  PromptHost host;
  Accepted *entries;
  int nentries, room;
  int settings[SETTINGS];
  AtledJit jit;                     /* the mode of the VM */
  AtledTrap trap;                   /* what it traps */
  char *error_code, *error_message; /* of the last error, or NULL */
  int first_undo;                   /* how many entries could be taken back at the start */
  bool over;                        /* the session ends */
};

/* Takes `text` and `path`, both to be freed. */
void session_add(Session *s, char *text, char *path);
/* A copy of the text without white space at its ends; NULL when there is no memory. */
char *trimmed(const char *text, size_t n);

/* Remembers the error of the VM's last call. */
void session_failed(Session *s);
/* Shows what the VM's last call came to, and remembers its error. */
void session_show(Session *s, AtledStatus status);

/* ---- The functions of commands.def ---- */
#define COMMAND(function, name, arguments, completes, help) void command_##function(Session *s, const char *rest);
#include "commands.def"

/* ---- explain.c ---- */
/* Prints what docs/diagnostics.md says of a code, or of the words of a message; false: nothing. */
bool explain(const char *code, const char *message);
void explain_codes(void);
#endif
