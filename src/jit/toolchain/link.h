/* SPDX-License-Identifier: MIT */
/* Libraries for other programs, of objects and the runtime's archive. */
#ifndef ATLED_LINK_H
#define ATLED_LINK_H
#include "jit/toolchain/tools.h"

typedef struct LinkOrder {
  const char *folder;         /* of the objects m0.o, m1.o, … and data.o, and of intermediate files */
  const char *out;            /* the library */
  const char *soname;         /* of a shared one */
  const char *const *exports; /* names that it shows */
  int nobjects, nexports;
  bool archive; /* a static library */
} LinkOrder;
/* Finds libatled_rt.a beside the compiler, and makes the library. False: *why, in text[n]. */
bool link_library(const LinkOrder *order, char *text, size_t n);
#endif
