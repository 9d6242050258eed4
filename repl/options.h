/* SPDX-License-Identifier: MIT */
/* The command line as options.def describes it. */
#ifndef ATLED_OPTIONS_H
#define ATLED_OPTIONS_H
#include "atled.h"

typedef enum Verb {
#define VERB(id, word, arguments, completes, help) VERB_##id,
#include "options.def"
  VERBS
} Verb;

enum { EXIT_USAGE = 2, EXIT_DATA = 65, EXIT_NO_INPUT = 66, EXIT_SOFTWARE = 70, EXIT_OUTPUT = 74 };

/* What the user asked for. Texts are the command line's. */
typedef struct Options {
  AtledConfig config;
  Verb verb;
  const char *expression;     /* of -e, or NULL */
  const char *of, *at;        /* --of, --at, or NULL */
  const char *generate;       /* what --generate shall make, or NULL */
  const char *save, *compare; /* files of --save and --compare, or NULL */
  AtledBuild build;           /* -o, --header, --functions, --static */
  AtledStage stage, from;     /* --stage, --from */
  bool from_text;             /* --from was given */
  bool check;                 /* of fmt */
  bool text, library;         /* of doc */
  bool dot, json, watch, no_init, jit_given, threads_given, help, version, sandbox;
  AtledFolder *folders; /* of the sandbox: room for as many as there are words */
  char **rest;          /* what is no option: nrest words */
  int nrest;
} Options;

/* Reads the command line into *o, whose config is set up already. False after a message: it makes no sense. */
int default_threads(void); /* what ATLED_THREADS says; -1, all processors, if that makes no sense or isn't set */
bool options_read(Options *o, int argc, char **argv);
/* Says how the verb is used. Returns EXIT_USAGE. */
int options_refuse(Verb verb);
/* The position of `word` among "a|b|c"; -1 if it is none of them. */
int choice_of(const char *choices, const char *word);
AtledStage stage_of(const char *name); /* of a stage's name; -1 if there is none */

/* ---- format_files.c ---- */
int format_files(const Options *o); /* the exit status */

/* ---- studies.c ---- */
int explain_paths(Options *o);  /* the exit status */
int explain_cost(Options *o);   /* likewise */
int check_gradient(Options *o); /* likewise */

/* ---- doc_files.c ---- */
int document(Options *o); /* the exit status */

/* ---- lsp.c ---- */
int language_server(const Options *o); /* the exit status */

/* ---- watch.c ---- */
/* Runs the command in a child, again whenever one of its files is changed. The exit status; in the child, run's. */
int watch(Options *o, int (*run)(Options *o));

/* ---- manual.c ---- */
void manual_help(void);
/* "man", "bash", "zsh", "fish" or "markdown": prints it. */
void manual_generate(const char *what);
/* Prints text from column `at` on, in lines of 80 columns that begin at `indent`. */
void manual_wrap(const char *text, int at, int indent);
int manual_width(const char *text); /* in characters */
#endif
