/* SPDX-License-Identifier: MIT */
/* What the makers of automata share: the tree of a pattern, the program, and the room for both. All of it has fixed
 * sizes: a pattern that doesn't fit is left to PCRE2. */
#ifndef ATLED_REGEX_INTERNAL_H
#define ATLED_REGEX_INTERNAL_H
#include "regex/regex_tables.h"
#include "support/limits.h"

enum { NSYMBOLS = 258, FINAL_NEWLINE = 256, EDGE = 257 };

/* A set of bytes. `bails`: whether a character outside ASCII belongs to it only PCRE2 knows. */
typedef struct ByteSet {
  uint64_t bits[4];
  bool bails;
} ByteSet;
static inline bool set_has(const ByteSet *s, int byte) { return s->bits[byte >> 6] >> (byte & 63) & 1; }
static inline void set_add(ByteSet *s, int byte) { s->bits[byte >> 6] |= (uint64_t)1 << (byte & 63); }

typedef enum RegexAssertion { AT_BEGIN, AT_LINE_END, AT_END, AT_BOUNDARY, AT_NO_BOUNDARY } RegexAssertion;

typedef enum NodeKind {
  NODE_EMPTY,
  NODE_SET,  /* one byte of the set */
  NODE_HIGH, /* one character outside ASCII */
  NODE_ASSERT,
  NODE_CONCAT,
  NODE_OR, /* a before b */
  NODE_REPEAT
} NodeKind;
typedef struct RegexNode {
  NodeKind kind;
  int a, b;     /* operands; the set or assertion */
  int min, max; /* of a repetition; max -1: no end */
  bool lazy;
  bool nullable, asserts; /* may it read nothing; is there an assertion in it? */
} RegexNode;

typedef enum StepKind { STEP_SET, STEP_SPLIT, STEP_LOOP, STEP_ASSERT, STEP_MATCH } StepKind;
enum { LAZY = 1 };
/* STEP_SET reads a byte of set `of`, then goes on at x; STEP_SPLIT goes on at x or, with less priority, at y; so does
 * STEP_LOOP, of which one is the body and the other, x with LAZY in `of`, the exit. The other bits of `of` number loops
 * whose body may read nothing, from 1. */
typedef struct Step {
  uint8_t kind, of;
  uint16_t x, y;
} Step;
typedef struct Program {
  Step steps[LIMIT_REGEX_PROGRAM];
  int n, positions, start, loops;
  int skip; /* forward: the step that reads what stands before a match */
  bool has_boundaries;
} Program;

typedef struct RawState {
  int first, n; /* items: steps that read or assert, in the order of priority */
  uint8_t side; /* what stands behind, where that matters */
  bool matched;
  bool begun; /* may a match be under way that began before? */
} RawState;
typedef struct Subsets {
  int class_of[NSYMBOLS], symbol_of[NSYMBOLS], nclasses;
  RawState states[LIMIT_REGEX_RAW];
  uint16_t items[LIMIT_REGEX_ITEMS];
  int nstates, nitems;
  int16_t table[4 * LIMIT_REGEX_RAW]; /* state + 1 by hash */
  uint16_t next[LIMIT_REGEX_ENTRIES];
  int start[NSIDES];
  uint32_t seen[LIMIT_REGEX_PROGRAM], stamp; /* of the last list that met a step, */
  uint32_t open[LIMIT_REGEX_PROGRAM];        /* in which sets of open loops, as bits */
  uint16_t opened[LIMIT_REGEX_PROGRAM];      /* the items of a state once the next symbol is known */
  int nopened;
} Subsets;

typedef struct RegexWork {
  Heap *heap;
  ByteSet sets[LIMIT_REGEX_SETS];
  RegexNode nodes[LIMIT_REGEX_NODES];
  int nsets, nnodes, root;
  RegexVerdict verdict; /* REGEX_MADE as long as nothing hinders */
  Program program;
  Subsets subsets;
} RegexWork;

/* Something hinders: w->verdict, if it is the first. */
static inline int regex_hindered(RegexWork *w, RegexVerdict why) {
  if (w->verdict == REGEX_MADE) w->verdict = why;
  return 0;
}
static inline RegexSide regex_side_of(int symbol) {
  if (symbol == EDGE) return SIDE_EDGE;
  if (symbol == FINAL_NEWLINE) return SIDE_FINAL;
  if (symbol >= 128) return SIDE_HIGH;
  bool letter = (symbol | 32) >= 'a' && (symbol | 32) <= 'z';
  return letter || (symbol >= '0' && symbol <= '9') || symbol == '_' ? SIDE_WORD : SIDE_OTHER;
}
int regex_set(RegexWork *w, const ByteSet *s);
/* Do all matches start at the last place before their end where the automaton that searches was idle? `anchored` has
 * the same classes of symbols, and begins a match nowhere but at its first place. */
bool regex_starts_known(const RegexAutomaton *search, const RegexAutomaton *anchored);
void regex_parse(RegexWork *w, const char *pattern, size_t n);
/* Compiles the tree. A program that reads backward has everything in reverse; one that searches tries each place. */
void regex_compile(RegexWork *w, bool backward);
#endif
