/* SPDX-License-Identifier: MIT */
/* The world that tests of graphs make theirs in. */
#ifndef ATLED_TEST_WORLD_H
#define ATLED_TEST_WORLD_H
#include "ir/ir_internal.h"

static Heap heap;
static Arena arena;
static SymTable syms;
static World *w;

static void open_world(void) {
  heap_init(&heap);
  arena_init(&arena, &heap);
  symtable_init(&syms, &arena);
  w = world_new(&arena, &syms, false, false);
  compilation_begin(w);
}

static int close_world(void) {
  compilation_end(w);
  arena_free(&arena);
  return check_result();
}
#endif
