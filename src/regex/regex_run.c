/* SPDX-License-Identifier: MIT */
/* Searches by the tables of regex_subsets.c: forward to the end of the first match, then backward from there to its
 * start, where that isn't known.
 *
 * The last byte of a text, if it is a newline, is a symbol of its own, and so is the edge of the text: the loops over
 * bytes end before both. */
#include "regex/regex_internal.h"
#include <string.h>

/* What a run consists of is written into both loops that make runs: their state stays in registers. */
#define PART static inline __attribute__((always_inline))

/* ---- Forward ----------------------------------------------------------------------------------------------------- */
PART RegexSide side_before(const RegexRun *r) {
  return r->from ? regex_side_of((unsigned char)r->text[r->from - 1]) : SIDE_EDGE;
}

PART RegexRun begin(const RegexTables *t, const char *text, size_t length, size_t from) {
  RegexRun r = {.text = text, .length = length, .from = from, .at = from, .begun = from};
  r.state = t->forward.start[side_before(&r)];
  return r;
}

RegexRun regex_begin(const RegexTables *t, const char *text, size_t length, size_t from) {
  return begin(t, text, length, from);
}

/* Where the bytes end that are symbols of themselves. */
PART size_t plain_end(const RegexRun *r) { return r->length - (r->length > r->from && r->text[r->length - 1] == '\n'); }

/* Sixteen bytes at once, where few bytes lead out of the idle state. */
typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint64_t Halves __attribute__((vector_size(16)));

static size_t skip_common(const RegexAutomaton *a, const char *text, size_t i, size_t stop) {
  Bytes x = (Bytes){0} + a->rare[0], y = (Bytes){0} + a->rare[1], z = (Bytes){0} + a->rare[2];
  for (; i + sizeof x <= stop; i += sizeof x) {
    Bytes here;
    memcpy(&here, text + i, sizeof here);
    Halves found = (Halves)((here == x) | (here == y) | (here == z));
    if (found[0] | found[1]) break;
  }
  return i;
}

/* The first byte from i on that leads out of the idle state. A few are looked at one by one first. */
static size_t skip_idle(const RegexAutomaton *a, const char *text, size_t i, size_t stop) {
  enum { FEW = 8 };
  size_t few = stop - i < FEW ? stop : i + FEW;
  while (i < few && a->loops[(unsigned char)text[i]]) i++;
  if (i == few && a->nrare) i = skip_common(a, text, i, stop);
  while (i < stop && a->loops[(unsigned char)text[i]]) i++;
  return i;
}

/* Goes over pairs of bytes as long as they needn't be read one by one, or there are matches and any is enough. */
PART uint8_t forward_pairs(const RegexAutomaton *a, RegexRun *r, uint8_t state, size_t *at, size_t stop, bool any) {
  const unsigned char *text = (const unsigned char *)r->text;
  const uint8_t *pairs = a->pairs;
  size_t i = *at, now = state, idle = (size_t)a->idle, few = (size_t)a->matched + (a->idle == a->matched);
  for (; i + 1 < stop; i += 2) {
    const uint8_t *column = pairs + a->pair_column[text[i]] + a->column[text[i + 1]]; /* beside the chain of states */
    size_t next = column[now];
    if (next < few) {
      if (next < REGEX_FIRST) break;
      now = next;
      if (next == idle) {
        i += 2;
        break;
      }
      r->matched = true;
      r->end = i + 1;
      if (any) break;
    }
    now = next;
  }
  *at = i;
  return (uint8_t)now;
}

/* Goes over bytes up to `stop`. False: the run is at its end, or bails. */
PART bool forward_bytes(const RegexAutomaton *a, RegexRun *r, size_t stop, bool any) {
  const unsigned char *text = (const unsigned char *)r->text;
  uint8_t state = r->state;
  size_t i = r->at;
  while (i < stop && state >= REGEX_FIRST) {
    if (state == a->idle) {
      i = skip_idle(a, r->text, i, stop);
      if (a->fresh && !r->matched) r->begun = i;
    }
    if (a->pairs) state = forward_pairs(a, r, state, &i, stop, any);
    if (i == stop || (any && r->matched)) break;
    if (state == a->idle && a->fresh && !r->matched) r->begun = i;
    state = a->next[a->column[text[i]] + state];
    if (state < REGEX_FIRST) break;
    if (state < a->matched) {
      r->matched = true;
      r->end = i;
      if (any) break;
    }
    i++;
  }
  r->at = i;
  r->state = state;
  return i == stop;
}

/* A symbol that is no byte, by its column, at place `at`. */
PART void forward_symbol(const RegexAutomaton *a, RegexRun *r, int column, size_t at) {
  if (r->state < REGEX_FIRST) return;
  if (r->state == a->idle && a->fresh && !r->matched) r->begun = at;
  r->state = a->next[column + r->state];
  if (r->state < REGEX_FIRST || r->state >= a->matched) return;
  r->matched = true;
  r->end = at;
}

/* ---- Backward ---------------------------------------------------------------------------------------------------- */
PART RegexSide side_behind(const RegexRun *r) {
  if (r->end == r->length) return SIDE_EDGE;
  bool final = r->end + 1 == r->length && r->text[r->end] == '\n';
  return final ? SIDE_FINAL : regex_side_of((unsigned char)r->text[r->end]);
}

PART void turn_round(const RegexAutomaton *a, RegexRun *r) {
  r->backward = true;
  r->at = r->end;
  r->state = a->start[side_behind(r)];
}

/* The column of the symbol before place `at`. */
PART int column_before(const RegexAutomaton *a, const RegexRun *r, size_t at) {
  if (!at) return a->edge;
  bool final = at == r->length && r->text[at - 1] == '\n';
  return final ? a->final_newline : a->column[(unsigned char)r->text[at - 1]];
}

/* Goes over bytes down to `stop`, and one further symbol if that is where the search begins. */
PART bool backward_bytes(const RegexAutomaton *a, RegexRun *r, size_t stop) {
  for (;;) {
    r->state = a->next[column_before(a, r, r->at) + r->state];
    if (r->state < REGEX_FIRST) return false;
    if (r->state < a->matched) r->start = r->at;
    if (r->at == r->begun) return false;
    r->at--;
    if (r->at <= stop && r->at > r->begun) return true;
  }
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */
PART RegexResult run_backward(const RegexTables *t, RegexRun *r, size_t bytes) {
  size_t stop = r->at - r->begun > bytes ? r->at - bytes : r->begun;
  if (backward_bytes(&t->backward, r, stop)) return REGEX_UNDER_WAY;
  return r->state == REGEX_BAIL ? REGEX_BAILED : REGEX_FOUND;
}

PART RegexResult run(const RegexTables *t, RegexRun *r, size_t bytes, bool any) {
  const RegexAutomaton *a = &t->forward;
  if (r->backward) return run_backward(t, r, bytes);
  size_t end = plain_end(r), stop = end - r->at > bytes ? r->at + bytes : end;
  bool on = forward_bytes(a, r, stop, any);
  if (on && stop < end) return REGEX_UNDER_WAY;
  if (on && end < r->length) forward_symbol(a, r, a->final_newline, end);
  if (on) forward_symbol(a, r, a->edge, r->length);
  if (r->state == REGEX_BAIL) return REGEX_BAILED;
  if (!r->matched) return REGEX_NONE;
  if (any) return REGEX_FOUND;
  if (a->starts_known) {
    r->start = r->begun;
    return REGEX_FOUND;
  }
  turn_round(&t->backward, r);
  return run_backward(t, r, bytes);
}

RegexResult regex_run(const RegexTables *t, RegexRun *r, size_t bytes, bool any) { return run(t, r, bytes, any); }

RegexResult regex_test(const RegexTables *t, const char *text, size_t length) {
  const RegexAutomaton *a = &t->forward;
  const unsigned char *s = (const unsigned char *)text;
  size_t n = length - (length && s[length - 1] == '\n'), matched = (size_t)a->matched, i = 0;
  size_t state = a->start[SIDE_EDGE];
  for (; a->pairs && i + 1 < n; i += 2) {
    size_t next = a->pairs[a->pair_column[s[i]] + a->column[s[i + 1]] + state];
    if (next < matched) break; /* the end, which the next two bytes tell */
    state = next;
  }
  for (; i < n && state >= matched; i++) state = a->next[a->column[s[i]] + state];
  if (n < length && state >= matched) state = a->next[a->final_newline + state];
  if (state >= matched) state = a->next[a->edge + state];
  return state == REGEX_BAIL ? REGEX_BAILED : state == REGEX_DEAD || state >= matched ? REGEX_NONE : REGEX_FOUND;
}

size_t regex_character(const char *text, size_t length, size_t at) {
  int n = utf8_sequence(text + at, length - at, NULL);
  return n ? (size_t)n : 1;
}

RegexResult regex_run_all(const RegexTables *t, RegexRun *r, size_t bytes, RegexSpans *spans) {
  RegexRun now = *r;
  RegexResult result = REGEX_UNDER_WAY;
  size_t first = now.from;
  while (spans->n < REGEX_SPANS && now.from - first <= bytes) {
    result = run(t, &now, bytes, false);
    if (result != REGEX_FOUND) break;
    spans->all[spans->n++] = (RegexSpan){(int64_t)now.start, (int64_t)now.end};
    bool empty = now.start == now.end;
    if (empty && spans->ends_at_empty) break;
    size_t next = now.end + (empty ? regex_character(now.text, now.length, now.end) : 0);
    result = next > now.length ? REGEX_NONE : REGEX_UNDER_WAY;
    if (result == REGEX_NONE) break;
    now = begin(t, now.text, now.length, next);
  }
  *r = now;
  return result;
}
