/* SPDX-License-Identifier: MIT */
/* Foundations shared by every stage: the accounting allocator, arenas, symbols,
 * vectors, hash maps, growing strings, source spans and diagnostics.
 *
 * Memory has two regimes. Run-time values are counted and freed one by one
 * (src/runtime). Everything a compiler stage makes lives in an Arena and goes
 * with it. Both draw on a Heap, which counts bytes, honours the VM's limit and
 * can be told to fail at the n-th allocation. Arena allocation never returns
 * NULL: when memory is gone it jumps to heap->on_oom, which the API sets around
 * each call into the compiler. The same jump ends a compilation whose time is up.
 * No counted value is live in compiler frames, so nothing leaks by that jump.
 * Run-time code never uses arenas. */
#ifndef ATLED_SUPPORT_H
#define ATLED_SUPPORT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "support/limits.h"
#include <stdio.h>

/* ---- Heap ---------------------------------------------------------------- */
typedef void *(*HeapFn)(void *user, void *p, size_t old_size, size_t new_size);

typedef struct Phases Phases;
typedef struct Heap {
  HeapFn fn; /* NULL: the C library's */
  void *user;
  size_t bytes; /* in use */
  size_t peak;
  size_t limit;    /* 0: none */
  int64_t fail_at; /* fails the allocation that counts this down to 0; < 0: never */
  /* gives back memory that is only kept for later, before a request fails; was there any? */
  bool (*reclaim)(void *user);
  void *reclaim_user;
  jmp_buf *on_oom; /* where arena allocation goes when memory is gone */
  /* Set by other threads when stops(stops_user) may have become true: then work leaves by on_oom, see heap_look. NULL:
   * nothing ends it */
  const int32_t *alarm;
  bool (*stops)(void *user);
  void *stops_user;
  Phases *phases;     /* where time goes, see phases.h; NULL: nobody wants to know */
  struct Heap *whole; /* whose limit counts what this one holds too; only its counters are touched. NULL: none */
  uint32_t *reached;  /* of each limit, how often it gave something up: the compilation's; or NULL */
} Heap;

void heap_init(Heap *h);
/* In use now, by whatever thread. */
static inline size_t heap_bytes(const Heap *h) { return __atomic_load_n(&h->bytes, __ATOMIC_RELAXED); }
/* As realloc, with the old size; new_size 0 frees. NULL when memory is gone (never when shrinking). */
void *heap_realloc(Heap *h, void *p, size_t old_size, size_t new_size);
/* n bytes aligned to 64, zero if wanted, free with heap_free_aligned and the same n. NULL when memory is gone. */
/* Of a block just allocated: mapped by large pages if that is worth it. */
void heap_prefer_large_pages(const Heap *h, void *base, size_t n);
void *heap_alloc_aligned(Heap *h, size_t n, bool zero);
void heap_free_aligned(Heap *h, void *p, size_t n);
/* Goes to on_oom. */
_Noreturn void heap_out_of_memory(Heap *h);
/* Is the alarm set, and rightly so? */
static inline bool heap_must_stop(const Heap *h) {
  return h->alarm && __atomic_load_n(h->alarm, __ATOMIC_RELAXED) && h->stops(h->stops_user);
}
/* If so, goes to on_oom. Each phase of the compiler calls it at least once in a
 * millisecond: arenas do when a block is added, and loops that take no memory do it themselves, by heap_look_at at
 * their i-th turn where a turn is short. */
static inline void heap_look(Heap *h) {
  if (heap_must_stop(h)) heap_out_of_memory(h);
}
static inline void heap_look_at(Heap *h, uint32_t i) {
  if (i % 1024 == 0) heap_look(h);
}

/* ---- Arena --------------------------------------------------------------- */
typedef struct ArenaBlock ArenaBlock;
typedef struct Journal Journal;
typedef struct Arena {
  Heap *heap;
  ArenaBlock *blocks;
  char *cur, *end;
  uint32_t epoch;   /* number of the latest mark; 0: there was none */
  Journal *journal; /* what the memory before the mark held, while a mark stands */
} Arena;

void arena_init(Arena *a, Heap *h);
void arena_free(Arena *a);
void *arena_alloc(Arena *a, size_t n); /* zeroed, aligned to 16 */
/* Grows a block made by arena_alloc: new zeroed tail; in place when it was the last one. */
void *arena_grow(Arena *a, void *p, size_t old_size, size_t new_size);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))

/* Mark and roll back: work that memory or anything else cuts short leaves nothing behind. From arena_mark on,
 * whoever changes something that may be older than the mark says so before, by arena_save; containers do it by
 * themselves. arena_roll_back puts all that back and frees what was allocated since; arena_commit keeps it. Marks
 * nest: both end the latest one, and what is kept then is part of the one around it. Without one arena_save does
 * nothing. What is made anew each time it is read (numbers of walks, say)
 * needs no saving. */
void arena_mark(Arena *a);
void arena_save(Arena *a, void *p, size_t n);
void arena_commit(Arena *a);
void arena_roll_back(Arena *a);
uint32_t arena_marked(const Arena *a); /* number of the latest mark that stands; 0: none does */
#define SAVE(arena, lvalue) arena_save((arena), &(lvalue), sizeof(lvalue))
#ifdef ATLED_VERIFY
/* In builds for testing: a copy of the memory as it is, and the first word of that which has changed since, or NULL. */
typedef struct ArenaCopy ArenaCopy;
ArenaCopy *arena_copy(const Arena *a);
const void *arena_difference(const Arena *a, const ArenaCopy *copy);
void arena_copy_free(ArenaCopy *copy);
#endif
/* A limit that is COUNTED gives something up. True. */
static inline bool limit_reached(const Arena *a, Limit which) {
  if (a->heap->reached) a->heap->reached[which]++;
  return true;
}
#define NEW_ARRAY(arena, T, n) ((T *)arena_alloc((arena), sizeof(T) * (size_t)(n)))

/* ---- Vectors: `Vec(int) v = {0}; vec_push(arena, v, 3); v.data[0]; v.len` ---- */
#define Vec(T)                                                                                                         \
  struct {                                                                                                             \
    T *data;                                                                                                           \
    int len, cap;                                                                                                      \
  }
#define vec_push(arena, v, x)                                                                                          \
  do {                                                                                                                 \
    if ((v).len == (v).cap) {                                                                                          \
      int cap_ = (v).cap ? 2 * (v).cap : 8;                                                                            \
      (v).data = arena_grow((arena), (v).data, sizeof(*(v).data) * (size_t)(v).cap, sizeof(*(v).data) * (size_t)cap_); \
      (v).cap = cap_;                                                                                                  \
    }                                                                                                                  \
    vec_note((arena), (v).data[(v).len]);                                                                              \
    (v).data[(v).len++] = (x);                                                                                         \
  } while (0)
/* For arena_roll_back it is enough to save the header of a vector: nobody reads what stands behind its end. Only where
 * memory is compared that is put back too. */
#ifdef ATLED_VERIFY
#define vec_note(arena, place) SAVE(arena, place)
#else
#define vec_note(arena, place) ((void)0)
#endif

/* ---- Symbols: interned strings, equal when the pointers are ---------------- */
typedef const char *Sym; /* NUL-terminated UTF-8; owned by the table */
typedef struct SymTable {
  Arena *arena;
  Sym *slots;
  size_t cap, count;
  uint32_t made; /* the arena's epoch when the slots were allocated */
} SymTable;
void symtable_init(SymTable *t, Arena *a);
Sym sym_intern(SymTable *t, const char *s, size_t n);
Sym sym_of(SymTable *t, const char *zero_terminated);
size_t sym_len(Sym s); /* O(1) */

/* ---- Hash map from pointer (or uintptr_t) to pointer, arena-backed ---------- */
typedef struct Map {
  Arena *arena;
  const void **keys;
  void **vals;
  size_t cap, count;
  uint32_t saved, made; /* the arena's epochs when this header was saved last, and when the arrays were allocated */
} Map;
void map_init(Map *m, Arena *a);
void *map_get(const Map *m, const void *key);     /* NULL when absent */
void map_put(Map *m, const void *key, void *val); /* key not NULL; replaces */
uint64_t hash_mix(uint64_t h, uint64_t x);        /* combine */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* ---- Growing strings --------------------------------------------------------- */
typedef struct Str {
  Arena *arena;
  char *data; /* always NUL-terminated once written to; NULL when empty */
  size_t len, cap;
} Str;
void str_add(Str *s, const char *bytes, size_t n);
void str_addc(Str *s, char c);
void str_puts(Str *s, const char *z);
void str_printf(Str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Between quotes, for scan_quoted; a text may hold any bytes. */
void str_quoted(Str *s, const char *text, size_t n);
/* Writes `text` to out, n for each `%n` in it, m for `%m` and % for `%%`: cut and terminated as by snprintf, and that
 * many bytes are returned. */
size_t text_fill(char *out, size_t size, const char *text, const char *n, const char *m);

/* ---- UTF-8 ------------------------------------------------------------------- */
/* Length in bytes of the valid sequence at s (of n bytes), 0 if there is none. */
int utf8_sequence(const char *s, size_t n, uint32_t *codepoint);
bool utf8_valid(const char *s, size_t n, size_t *bad_offset);
/* Columns a terminal shows for the bytes (wide and combining characters considered). */
int utf8_width(const char *s, size_t n);
int utf8_encode(uint32_t codepoint, char out[4]);

/* ---- Formats of interpolated strings ---------------------------------------------------- */
typedef struct Format {
  char fill[4];
  int fill_bytes;
  char align; /* < > = ^ or 0 */
  char sign, comma, type;
  bool alternate;
  int width, precision; /* precision -1: none */
} Format;
typedef enum FormatOf { FORMAT_INT, FORMAT_FLOAT, FORMAT_TEXT } FormatOf;
/* False where the text is not a format for such a value. */
bool format_parse(const char *text, size_t n, FormatOf of, Format *out);

/* ---- Sources and spans ------------------------------------------------------- */
typedef struct Span {
  uint32_t source;     /* index in Sources; 0 is "no place" */
  uint32_t start, end; /* byte offsets, end excluded */
} Span;
typedef struct Source {
  const char *name; /* as shown: file name, "<stdin>", "<expr>", "repl:3" */
  const char *text; /* NUL-terminated */
  size_t len;
  const uint32_t *lines; /* offsets of line starts */
  int nlines;
  bool library;  /* part of stdlib: call sites in it are left out of traces */
  bool constant; /* text and lines are constants of the program, else copies in the arena */
  bool host;     /* binds functions of the host */
} Source;
/* Copies of sources that may outlive the others: each belongs to whoever lent it, until it is taken back. */
typedef struct SourceLoans {
  Heap *heap;
  const Source **all; /* NULL: free */
  uint32_t n;
} SourceLoans;
typedef struct Sources {
  Arena *arena;
  Vec(Source *) all;        /* all.data[0] is a dummy for "no place" */
  const SourceLoans *loans; /* or NULL */
} Sources;
void sources_init(Sources *s, Arena *a);
uint32_t sources_add(Sources *s, const char *name, const char *text, size_t len);
/* The same without a copy: name, text and lines, as in Source, are constants of the program. */
uint32_t sources_add_constant(Sources *s, const char *name, const char *text, size_t len, const uint32_t *lines,
                              int nlines);
Source *sources_get(const Sources *s, uint32_t id);
/* A copy in the arena of the source with this id, its own id. Memory that is gone ends in heap_out_of_memory. */
uint32_t sources_lend(SourceLoans *l, const Sources *s, uint32_t id, Arena *arena);
void sources_take_back(SourceLoans *l, uint32_t id);
void sources_loans_free(SourceLoans *l);
/* 1-based line and column (column in characters). */
void span_position(const Sources *s, Span at, int *line, int *column);
/* Sets as words of bits. */
static inline bool bit_is_set(const uint64_t *set, int i) { return set[i / 64] >> (i % 64) & 1; }
static inline void set_bit(uint64_t *set, int i) { set[i / 64] |= (uint64_t)1 << (i % 64); }
static inline void clear_bit(uint64_t *set, int i) { set[i / 64] &= ~((uint64_t)1 << (i % 64)); }

static inline Span span_join(Span a, Span b) {
  if (!a.source) return b;
  if (!b.source) return a;
  return (Span){a.source, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}

/* ---- Diagnostics --------------------------------------------------------------- */
typedef enum Severity { SEV_ERROR, SEV_WARNING, SEV_NOTE } Severity;
typedef struct Diag {
  Severity severity;
  const char *code; /* stable short name from diagnostics.def, e.g. "type-mismatch" */
  Span at;
  const char *message; /* one line, no trailing period */
  const char *label;   /* under the underline, or NULL */
  Span also;           /* a second place, source 0 if none */
  const char *also_label;
  Span third; /* likewise */
  const char *third_label;
  const char *hint; /* or NULL */
} Diag;
typedef struct Diags {
  Arena *arena;
  Sources *sources;
  Vec(Diag) all;
  int errors;
  bool incomplete; /* the source ended where more is needed: the REPL asks for another line */
} Diags;
void diags_init(Diags *d, Arena *a, Sources *s);
/* No more errors are kept: what finds them may stop. */
bool diags_full(const Diags *d);
/* Adds a diagnostic and returns it, valid until the next one is added; label, also, hint may be set on it.
 * Message as printf. At most 100 errors are kept. A second error at the very same place is dropped. */
Diag *diag_error(Diags *d, Span at, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
Diag *diag_warning(Diags *d, Span at, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The whole text for a terminal:
 *   file.atl:4:7: error: message
 *      4 | let f = velocty + 1.0
 *        |         ^^^^^^^ label
 *   hint: did you mean `velocity`?
 * `colour` adds ANSI escapes. Long lines are cut around the place. */
void diag_render(const Diag *d, const Sources *s, bool colour, Str *out);
/* The same for who shows the line of its place right above: begins with the underline, without the line and its
 * place. */
void diag_render_below(const Diag *d, const Sources *s, bool colour, Str *out);
/* The candidate nearest in spelling, or NULL when none is near (Damerau–Levenshtein, a third of the length). */
Sym nearest_name(Sym wanted, const Sym *candidates, int n);
#endif
