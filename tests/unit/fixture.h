/* SPDX-License-Identifier: MIT */
/* What tests of text need: memory, symbols, sources, messages, a lexer. */
#ifndef ATLED_TEST_FIXTURE_H
#define ATLED_TEST_FIXTURE_H
#include "lexer/lexer.h"
#include <setjmp.h>
#include <string.h>

typedef struct Fixture {
  Heap heap;
  Arena arena;
  jmp_buf oom;
  SymTable syms;
  Sources sources;
  Diags diags;
  Lexer *lx;
} Fixture;

/* All but the lexer, which may serve for several texts. */
static inline void fixture_begin(Fixture *f) {
  arena_init(&f->arena, &f->heap);
  symtable_init(&f->syms, &f->arena);
  sources_init(&f->sources, &f->arena);
  diags_init(&f->diags, &f->arena, &f->sources);
}

static inline void fixture_open(Fixture *f) {
  memset(f, 0, sizeof *f);
  heap_init(&f->heap);
  f->lx = lexer_new(&f->heap, 0);
  fixture_begin(f);
}

static inline void fixture_close(Fixture *f) {
  lexer_free(f->lx);
  arena_free(&f->arena);
  CHECK(f->heap.bytes == 0);
}
#endif
