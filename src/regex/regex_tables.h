/* SPDX-License-Identifier: MIT */
/* Regular expressions as deterministic automata that find what PCRE2 finds (leftmost, first alternative).
 *
 * A pattern in PCRE2's syntax, which PCRE2 has accepted, is parsed (regex_parse.c), compiled to a program of sets,
 * branches and assertions (regex_program.c), and that to tables by the construction of ordered subsets
 * (regex_subsets.c). The forward automaton tells where the first match ends, the backward one where it starts, unless
 * that is known (regex_starts.c). Both read a text byte by byte (regex_run.c). Not everything is regular, or known of
 * ASCII alone: then there are no tables, or a text is left to PCRE2 (REGEX_BAILED).
 *
 * Options are those of runtime/regex.c: texts are valid UTF-8, `$` also matches before a final newline, `.` matches all
 * but a newline, classes and boundaries are Unicode's. */
#ifndef ATLED_REGEX_TABLES_H
#define ATLED_REGEX_TABLES_H
#include "support/support.h"

/* What stands beside a place in a text. */
typedef enum RegexSide {
  SIDE_EDGE,  /* begin or end of the text */
  SIDE_FINAL, /* the newline that ends the text, on the right */
  SIDE_WORD,  /* a letter, digit or underscore of ASCII */
  SIDE_OTHER,
  SIDE_HIGH, /* a character outside ASCII */
  NSIDES
} RegexSide;

/* States: 0 is dead, 1 leaves the text to PCRE2; those from 2 up to `matched` say that a match ends (forward) or starts
 * (backward) before the symbol that led to them. The symbols are classes of bytes, the final newline and the edge; each
 * has a column of the table, so that finding it doesn't depend on the state: next[column + state]. */
enum { REGEX_DEAD, REGEX_BAIL, REGEX_FIRST };
enum { REGEX_RARE = 3 };
typedef struct RegexAutomaton {
  int nstates, nclasses, matched;
  int idle;                     /* the state in which nothing has begun: the first behind `matched` if there is one */
  bool fresh;                   /* a match that is found behind an idle place doesn't start before it, */
  bool starts_known;            /* but at the last one (regex_starts.c) */
  int nrare;                    /* how many bytes lead out of the idle state, if few do, else 0, */
  uint8_t rare[REGEX_RARE];     /* and which */
  uint8_t start[NSIDES];        /* by what stands behind the first symbol, in the direction of reading */
  uint16_t column[256];         /* of bytes, */
  uint16_t final_newline, edge; /* and of what is no byte */
  bool loops[256];              /* does the byte lead from the idle state there? */
  uint8_t *next;                /* nclasses * nstates */
  uint16_t pair_column[256];    /* of two bytes at once: pairs[pair_column[first] + column[second] + state], */
  uint8_t *pairs;               /* nclasses * nclasses * nstates; NULL: too large */
} RegexAutomaton;
typedef struct RegexTables {
  RegexAutomaton forward, backward; /* backward: not made where starts are known */
} RegexTables;

typedef enum RegexVerdict { REGEX_MADE, REGEX_NOT_REGULAR, REGEX_TOO_LARGE, REGEX_NO_MEMORY } RegexVerdict;

/* The tables of a pattern, which PCRE2 accepts; NULL, and why. The caller frees them. */
RegexTables *regex_tables(Heap *heap, const char *pattern, size_t length, RegexVerdict *why);
void regex_tables_free(Heap *heap, RegexTables *t);

/* How many groups the pattern has; -1: PCRE2 doesn't accept it, or has no memory. */
int regex_groups(const char *pattern, size_t length);

/* Places in the array that says whether a text has a match: the columns of bytes, those of pairs by their first byte,
 * the columns of the final newline and of the edge, the state at the start of a text, the first state that says nothing
 * of a match, and the tables. In these, t[column of a byte + state] and t[column of the first of two + column of the
 * second + state] are the next state: 0 dead, 1 the text is left to PCRE2, further ones: there is a match. They lead to
 * themselves. */
enum {
  SEARCH_SECOND,
  SEARCH_FIRST = 256,
  SEARCH_FINAL_NEWLINE = 512,
  SEARCH_EDGE,
  SEARCH_START,
  SEARCH_UNMATCHED,
  SEARCH_COLUMNS
};
/* Fills t, which has room for LIMIT_REGEX_TABLE numbers; how many there are. 0: too many. */
int regex_search_table(const RegexTables *tables, int64_t *t);

/* Places in the array of an automaton by which a match is found: the columns of bytes, the states at a start behind
 * each byte (in the direction of reading), the columns of the final newline and of the edge, the states at a start at
 * the edge and behind the final newline, the first state that says nothing of a match, the idle state if it is fresh,
 * else -1, and the table. State 0 is dead and 1 bails, and they lead to themselves. */
enum {
  FIND_BYTE,
  FIND_BEHIND = 256,
  FIND_FINAL_NEWLINE = 512,
  FIND_EDGE,
  FIND_BEHIND_EDGE,
  FIND_BEHIND_FINAL,
  FIND_UNMATCHED,
  FIND_IDLE,
  FIND_COLUMNS
};
/* As regex_search_table. */
int regex_find_table(const RegexAutomaton *a, int64_t *t);

/* A search under way, which can be interrupted. */
typedef struct RegexRun {
  const char *text;
  size_t length, from; /* of the text; where the search starts */
  size_t begun;        /* the match doesn't start before this place */
  size_t at;           /* the next byte forward, the last one backward */
  size_t end, start;   /* of the match, once found */
  uint8_t state;
  bool backward, matched;
} RegexRun;
typedef enum RegexResult { REGEX_UNDER_WAY, REGEX_NONE, REGEX_FOUND, REGEX_BAILED } RegexResult;

/* Begins a search from byte `from` on, where a character starts. */
RegexRun regex_begin(const RegexTables *t, const char *text, size_t length, size_t from);
/* Goes on for about `bytes` bytes. REGEX_FOUND: `start` and `end` are those of the first match; with `any` the search
 * ends as soon as there is a match, and tells neither. */
RegexResult regex_run(const RegexTables *t, RegexRun *r, size_t bytes, bool any);

/* Whether there is a match in a short text: nothing is skipped, and it can't be interrupted. */
RegexResult regex_test(const RegexTables *t, const char *text, size_t length);

/* Matches one behind the other, by their first bytes and those behind their last. */
enum { REGEX_SPANS = 256 };
typedef struct RegexSpan {
  int64_t start, end;
} RegexSpan;
typedef struct RegexSpans {
  RegexSpan all[REGEX_SPANS];
  size_t n;
  bool ends_at_empty; /* are no more added behind an empty match? */
} RegexSpans;
/* Adds matches from where the run begins; the next one is searched from the end of the one before, or from a character
 * behind an empty one. Goes on for some `bytes` bytes, or until there is no more room (REGEX_UNDER_WAY): r tells where.
 * REGEX_FOUND: the last match is empty, and ends_at_empty. REGEX_NONE: there are no more. REGEX_BAILED: the next one is
 * left to PCRE2, from r->from. */
RegexResult regex_run_all(const RegexTables *t, RegexRun *r, size_t bytes, RegexSpans *spans);
/* How many bytes the character at a place has; 1 at the end of the text. */
size_t regex_character(const char *text, size_t length, size_t at);
#endif
