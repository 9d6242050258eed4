/* SPDX-License-Identifier: MIT */
/* Graphs as source text: a program in Atled that computes what a graph does, operation by operation.
 *
 * docs/architecture/source-printer.md says how each operation is written, and what has no source form. */
#ifndef ATLED_SOURCE_H
#define ATLED_SOURCE_H
#include "ir/ir.h"

typedef struct SourceRequest {
  const char *function;     /* what the function is to be called */
  const char *parameter;    /* the name of its first parameter, or NULL */
  const char *const *parts; /* or those of that tuple's components: nparts of them; an entry may be NULL */
  int nparts;
  /* Is the name one that the text must leave alone? */
  bool (*is_taken)(void *user, const char *name);
  /* Is it the name of a value of the program, which the text may read? */
  bool (*is_value)(void *user, const char *name);
  void *user;
} SourceRequest;

/* Adds to `out` the definitions that g needs and `let FUNCTION … = …`, not yet laid out. False if something of g has no
 * source form: *why says what, as the end of a sentence that begins with "it". A compilation is under way. */
bool source_print(World *w, Graph *g, const SourceRequest *request, Str *out, const char **why);
#endif
