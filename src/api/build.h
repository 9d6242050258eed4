/* SPDX-License-Identifier: MIT */
/* Libraries that are built ahead of time: what the files about them share.
 *
 *   atled_build (build_ahead.c) ─┬─ build_functions.c  which functions, and what they look like in C
 *                          ├─ build_data.c       their data and stubs, as assembly text
 *                          ├─ build_header.c     the header
 *                          └─ jit/toolchain/link.c  the library, of these, machine code and libatled_rt.a */
#ifndef ATLED_BUILD_H
#define ATLED_BUILD_H
#include "api/handles.h"
#include "built/built.h"

typedef enum BuildForm { BUILD_VALUE, BUILD_GRADIENT, BUILD_PULLBACK } BuildForm;

/* A slot of parameters or results, and what C passes for it. */
typedef struct BuildPart {
  BuiltPart part;
  int width;        /* of an array: numbers in each element */
  bool floats;      /* of an array: they are floats; else ints */
  const char *name; /* in C */
  const char *doc;  /* "p.beta : float" */
} BuildPart;
typedef Vec(BuildPart) BuildParts;

typedef struct BuildFunction {
  const char *name;   /* in the program */
  const char *wanted; /* as it was asked for: "grad:f" */
  BuildForm form;
  const char *c_name;
  const char *type;       /* that it is looked up at; NULL: the one that it has */
  const char *text, *doc; /* the function's type and documentation; NULL: there is none */
  const char **names;     /* of its parameters; NULL where there is none */
  int arity;
  bool *differentiated; /* of its parameters: those that consist of floats */
  AtledFunction *plain, *handle;
  BuildParts params, results;
} BuildFunction;

/* A public function that nobody asked for by name, and that can't be built. */
typedef struct BuildLeft {
  const char *name, *why;
} BuildLeft;

typedef struct Build {
  AtledVM *vm;
  Arena arena;
  AtledBuild what;
  const char *prefix; /* of all names in C: "model" */
  Vec(BuildFunction *) functions;
  Vec(BuildLeft) left;
  bool named; /* functions were asked for by name */
  int cpu;
  Pin *pin;
  Slot *closures; /* of the functions, frozen */
  Str assembly, header;
} Build;

/* ---- build_functions.c ---- */
/* What is wanted, by names alone. Within a call. */
AtledStatus build_list(Build *b);
/* Texts that last as long as the build. */
void build_leave_out(Build *b, const char *name, const char *why);
/* The expression of the function itself; NULL in a form other than BUILD_VALUE: of its derivative, when `plain` is
 * known. */
const char *build_expression(Build *b, BuildFunction *f, bool plain);
/* From the handle of the function itself. */
AtledStatus build_look(Build *b, BuildFunction *f);
/* From the handle that is to be built: the parts in C. */
AtledStatus build_parts(Build *b, BuildFunction *f);

/* ---- build_data.c, build_header.c ---- */
void build_data(Build *b);
void build_header(Build *b);
/* How C declares what is passed for a part, "double x"; calls add for each. */
typedef void (*BuildDeclare)(void *user, const char *type, const char *name);
void build_declarations(const BuildFunction *f, Arena *arena, BuildDeclare add, void *user);
#endif
