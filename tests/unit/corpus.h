/* SPDX-License-Identifier: MIT */
/* The programs that tests of the compiler's insides go through: those of the files given, which hold several, one of
 * them between two lines of dashes. */
#ifndef ATLED_TEST_CORPUS_H
#define ATLED_TEST_CORPUS_H
#include "api/pipeline.h"
#include <stdio.h>
#include <string.h>

typedef struct Piece {
  const char *path, *text;
  size_t n;
} Piece;

/* Calls fn with each program of a file in a VM of its own; whether one of them was right. */
static inline bool each_program(const char *path, AtledStatus (*fn)(AtledVM *vm, void *piece)) {
  static char text[1 << 20];
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  bool right = false;
  if (f) fclose(f);
  text[n] = 0;
  for (char *at = text, *end; at; at = end) {
    end = strstr(at + 1, "\n# ---");
    Piece p = {path, at, end ? (size_t)(end - at) : strlen(at)};
    AtledConfig config;
    atled_config_init(&config);
    config.jit = ATLED_JIT_OFF;
    AtledVM *vm = atled_new(&config);
    right |= vm_call(vm, fn, &p) == ATLED_OK;
    atled_free(vm);
  }
  return right;
}
#endif
