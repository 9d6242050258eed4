/* SPDX-License-Identifier: MIT */
/* What a library that was built ahead of time consists of, besides machine code and runtime.
 *
 *   model_f (stub) ──► built_call (built.c) ──► machine code ──► functions of src/runtime, by their names
 *         BuiltFunction ── parts: what C passes     └── Mod: descriptors, functions, constants, globals
 *
 * All of it is static data, which the system's loader puts in place: nothing is made at run time, so there is nothing
 * to synchronise. src/api/build_data.c writes it. A stub stores its arguments in order, eight bytes each. */
#ifndef ATLED_BUILT_H
#define ATLED_BUILT_H
#include "runtime/runtime.h"

typedef enum BuiltKind { BUILT_INT, BUILT_FLOAT, BUILT_BOOL, BUILT_ARRAY } BuiltKind;
/* A slot of the function's parameters or results, and what C passes for it:
 *
 *   parameter       its value: int64_t, double, int    array: const T *, then `rank` sizes
 *   result          a pointer, or NULL                 array: T *, room in elements, size_t *dims; `like` >= 0: T * */
typedef struct BuiltPart {
  int32_t kind; /* BuiltKind */
  int32_t rank; /* of an array */
  int32_t like; /* of a result: the parameter that has its dimensions; -1: none */
  int32_t unused;
  const Desc *desc; /* of an array */
  const char *name; /* as the header calls it */
} BuiltPart;

/* The place of a site of machine code. */
typedef struct BuiltPlace {
  uint32_t site, line, column, file;
} BuiltPlace;

typedef struct BuiltLibrary {
  const Mod *mods; /* contexts have copies, which differ in their Rt alone */
  int64_t nmods;
  const BuiltPlace *places; /* by site */
  int64_t nplaces;
  const char *const *files;
  int64_t slots, headers; /* that calls need: of parameters, captures and results; bytes of arrays' headers */
  int32_t cpu;            /* x86-64 level of its machine code */
  int32_t strict;
  int64_t functions; /* 1 + the FunctionFamily that its code calls (support/functions.h); 0: none */
} BuiltLibrary;

typedef struct BuiltFunction {
  const BuiltLibrary *library;
  const char *name; /* in C */
  Status (*entry)(Mod *mod, const Slot *args, Slot *results);
  const Slot *captures;
  int64_t ncaptures, module;
  const BuiltPart *params, *results;
  int64_t nparams, nresults;
} BuiltFunction;

/* What functions of the library return; the header has the same names with the library's prefix. */
typedef enum BuiltStatus {
  BUILT_OK,
  BUILT_BAD_ARGUMENT, /* NULL, or too many elements; nothing has run */
  BUILT_BAD_ROOM,     /* a result is larger than its buffer */
  BUILT_FAILED,       /* by an error of the program */
  BUILT_NO_MEMORY,
  BUILT_WRONG_CPU,
  BUILT_NO_FUNCTIONS /* SLEEF can't be used */
} BuiltStatus;

/* Called by stubs: the function with the arguments that the caller passed. */
int32_t built_call(const BuiltFunction *f, const Slot *passed);
/* The message of this thread's last call that failed; "" if none has. */
const char *built_error(const BuiltLibrary *library);
#endif
