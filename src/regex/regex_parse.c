/* SPDX-License-Identifier: MIT */
/* The regular part of PCRE2's syntax, parsed to a tree of sets, sequences, alternatives and repetitions.
 *
 *   [a-c]+|\d  →  OR (REPEAT 1.. (SET abc)) (SET 0-9, bails)
 *
 * PCRE2 has accepted the pattern: what looks like nothing known here is left to it (REGEX_NOT_REGULAR). Whether a
 * character outside ASCII is a digit, space or letter, or a k or s in another case, isn't known here either: sets that
 * ask bail out at such a character. */
#define _GNU_SOURCE /* memmem */
#include "regex/regex_internal.h"
#include <string.h>

typedef struct Reader {
  RegexWork *w;
  const char *at, *end;
  int depth;
  bool caseless, dot_all;
} Reader;

static int unknown(Reader *r) { return regex_hindered(r->w, REGEX_NOT_REGULAR); }

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
static int make(RegexWork *w, RegexNode n) {
  if (w->nnodes == LIMIT_REGEX_NODES) return regex_hindered(w, REGEX_TOO_LARGE);
  w->nodes[w->nnodes] = n;
  return w->nnodes++;
}

/* The empty sequence is node 0. */
static int concat(RegexWork *w, int a, int b) {
  const RegexNode *x = &w->nodes[a], *y = &w->nodes[b];
  if (x->kind == NODE_EMPTY) return b;
  if (y->kind == NODE_EMPTY) return a;
  bool nullable = x->nullable && y->nullable, asserts = x->asserts || y->asserts;
  return make(w, (RegexNode){.kind = NODE_CONCAT, .a = a, .b = b, .nullable = nullable, .asserts = asserts});
}

static int either(RegexWork *w, int a, int b) {
  const RegexNode *x = &w->nodes[a], *y = &w->nodes[b];
  bool nullable = x->nullable || y->nullable, asserts = x->asserts || y->asserts;
  return make(w, (RegexNode){.kind = NODE_OR, .a = a, .b = b, .nullable = nullable, .asserts = asserts});
}

int regex_set(RegexWork *w, const ByteSet *s) {
  for (int i = 0; i < w->nsets; i++)
    if (!memcmp(&w->sets[i], s, sizeof *s)) return i;
  if (w->nsets == LIMIT_REGEX_SETS) return regex_hindered(w, REGEX_TOO_LARGE);
  w->sets[w->nsets] = *s;
  return w->nsets++;
}

static int set_node(RegexWork *w, const ByteSet *s) {
  return make(w, (RegexNode){.kind = NODE_SET, .a = regex_set(w, s)});
}

/* A character of the ASCII set s; `high`: or any other one. */
static int character(RegexWork *w, const ByteSet *s, bool high) {
  int ascii = set_node(w, s);
  return high && !s->bails ? either(w, ascii, make(w, (RegexNode){.kind = NODE_HIGH})) : ascii;
}

/* ---- Sets -------------------------------------------------------------------------------------------------------- */
static void add_range(ByteSet *s, int from, int to) {
  for (int c = from; c <= to; c++) set_add(s, c);
}

static void add_all(ByteSet *s, const char *chars) {
  for (; *chars; chars++) set_add(s, *chars);
}

/* The ASCII part of what isn't in s. */
static ByteSet complement(const ByteSet *s) { return (ByteSet){{~s->bits[0], ~s->bits[1]}, s->bails}; }

static void unite(ByteSet *s, const ByteSet *t) {
  for (int i = 0; i < 4; i++) s->bits[i] |= t->bits[i];
  s->bails |= t->bails;
}

/* Both cases of the letters; k and s have a third one outside ASCII. */
static void fold(ByteSet *s) {
  for (int c = 'a'; c <= 'z'; c++) {
    bool has = set_has(s, c) || set_has(s, c - 32);
    if (!has) continue;
    set_add(s, c);
    set_add(s, c - 32);
    s->bails |= c == 'k' || c == 's';
  }
}

/* \d \w \s and what negates them. */
static bool class_escape(char c, ByteSet *s) {
  *s = (ByteSet){.bails = true};
  switch (c | 32) {
  case 'd': add_range(s, '0', '9'); break;
  case 's': add_all(s, " \t\n\v\f\r"); break;
  case 'w':
    add_range(s, '0', '9');
    add_range(s, 'a', 'z');
    add_range(s, 'A', 'Z');
    set_add(s, '_');
    break;
  default: return false;
  }
  if (!(c & 32)) *s = complement(s);
  return true;
}

/* A class of POSIX. */
static bool named_class(const char *name, size_t n, ByteSet *s) {
  static const struct {
    const char *name, *ranges; /* pairs of bounds */
    bool ascii;
  } classes[] = {{"alpha", "azAZ", false},    {"lower", "az", false},
                 {"upper", "AZ", false},      {"alnum", "09azAZ", false},
                 {"digit", "09", false},      {"xdigit", "09afAF", true},
                 {"space", "\t\r  ", false},  {"blank", "\t\t  ", false},
                 {"word", "09azAZ__", false}, {"graph", "!~", false},
                 {"print", " ~", false},      {"punct", "!/:@[`{~", false},
                 {"ascii", "\x01\x7f", true}, {"cntrl", "\x01\x1f\x7f\x7f", false}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    if (strlen(classes[i].name) != n || memcmp(classes[i].name, name, n)) continue;
    *s = (ByteSet){.bails = !classes[i].ascii};
    for (const char *p = classes[i].ranges; *p; p += 2) add_range(s, p[0], p[1]);
    if (name[0] == 'c' || !memcmp(name, "ascii", n)) set_add(s, 0);
    return true;
  }
  return false;
}

/* ---- Escapes ----------------------------------------------------------------------------------------------------- */
static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  int letter = c | 32;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* The code point of \xhh or \x{h…}, behind the x; -1: it is none, or too large. */
static int hex_escape(Reader *r) {
  bool braces = r->at < r->end && *r->at == '{';
  int value = 0, digits = 0;
  r->at += braces;
  for (; r->at < r->end && hex_digit(*r->at) >= 0 && (braces || digits < 2); r->at++, digits++) {
    value = 16 * value + hex_digit(*r->at);
    if (value > 0x10ffff) return -1;
  }
  if (!braces) return value;
  if (!digits || r->at == r->end || *r->at != '}') return -1;
  r->at++;
  return value;
}

/* The code point that an escape stands for, behind the backslash; -1: not one. */
static int escaped(Reader *r) {
  if (r->at == r->end) return -1;
  char c = *r->at;
  static const char names[] = "ntrfea", codes[] = "\n\t\r\f\x1b\a";
  const char *named = strchr(names, c);
  bool alphanumeric = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  if (c & 0x80 || (alphanumeric && c != 'x' && !named)) return -1;
  r->at++;
  if (c == 'x') return hex_escape(r);
  return alphanumeric ? codes[named - names] : c;
}

/* ---- Characters -------------------------------------------------------------------------------------------------- */
static int literal_byte(RegexWork *w, int byte) {
  ByteSet s = {0};
  set_add(&s, byte);
  return set_node(w, &s);
}

static int literal(Reader *r, int codepoint) {
  if (codepoint < 0) return unknown(r);
  if (codepoint < 128) {
    ByteSet s = {0};
    set_add(&s, codepoint);
    if (r->caseless) fold(&s);
    return set_node(r->w, &s);
  }
  char bytes[4];
  int n = utf8_encode((uint32_t)codepoint, bytes);
  if (r->caseless || !n) return unknown(r);
  int node = 0;
  for (int i = 0; i < n; i++) node = concat(r->w, node, literal_byte(r->w, (unsigned char)bytes[i]));
  return node;
}

/* The next character as it stands; -1: it isn't valid. */
static int plain(Reader *r) {
  uint32_t codepoint;
  int n = utf8_sequence(r->at, (size_t)(r->end - r->at), &codepoint);
  if (!n) return -1;
  r->at += n;
  return (int)codepoint;
}

static int dot(RegexWork *w, bool all) {
  ByteSet s = {0};
  add_range(&s, 0, 127);
  if (!all) s.bits[0] &= ~((uint64_t)1 << '\n');
  return character(w, &s, true);
}

static int assertion(Reader *r, RegexAssertion which) {
  return make(r->w, (RegexNode){.kind = NODE_ASSERT, .a = (int)which, .nullable = true, .asserts = true});
}

/* What a backslash begins, behind it. */
static int escape(Reader *r) {
  if (r->at == r->end) return unknown(r);
  char c = *r->at;
  ByteSet s;
  if (class_escape(c, &s)) {
    r->at++;
    return character(r->w, &s, false);
  }
  static const char names[] = "AzZbBN";
  const char *name = c ? strchr(names, c) : NULL;
  if (!name) return literal(r, escaped(r));
  r->at++;
  switch (name - names) {
  case 0: return assertion(r, AT_BEGIN);
  case 1: return assertion(r, AT_END);
  case 2: return assertion(r, AT_LINE_END);
  case 3: return assertion(r, AT_BOUNDARY);
  case 4: return assertion(r, AT_NO_BOUNDARY);
  default: return r->at < r->end && *r->at == '{' ? unknown(r) : dot(r->w, false);
  }
}

/* ---- Classes in brackets ----------------------------------------------------------------------------------------- */
/* One end of a range, an ASCII character; -1: something else. */
static int bound(Reader *r) {
  if (r->at == r->end) return -1;
  if (*r->at != '\\') {
    int c = plain(r);
    return c < 128 ? c : -1;
  }
  r->at++;
  if (r->at < r->end && *r->at == 'b') return r->at++, '\b';
  int c = escaped(r);
  return c < 128 ? c : -1;
}

/* [:name:] or [:^name:], at its bracket. */
static bool posix(Reader *r, ByteSet *out) {
  const char *name = r->at + 2, *end = memmem(name, (size_t)(r->end - name), ":]", 2);
  if (!end) return false;
  bool negated = *name == '^';
  ByteSet s;
  name += negated;
  if (!named_class(name, (size_t)(end - name), &s)) return false;
  if (negated) s = complement(&s), s.bails = true;
  unite(out, &s);
  r->at = end + 2;
  return true;
}

/* One item of a class is added to `out`. */
static bool class_item(Reader *r, ByteSet *out) {
  ByteSet s;
  bool more = r->at + 1 < r->end;
  if (*r->at == '[' && more && r->at[1] == ':') return posix(r, out);
  if (*r->at == '[' && more && (r->at[1] == '.' || r->at[1] == '=')) return false;
  if (*r->at == '\\' && more && class_escape(r->at[1], &s)) {
    unite(out, &s);
    r->at += 2;
    return r->at == r->end || *r->at != '-' || (r->at + 1 < r->end && r->at[1] == ']');
  }
  int low = bound(r), high = low;
  if (low < 0) return false;
  if (r->at + 1 < r->end && *r->at == '-' && r->at[1] != ']') {
    r->at++;
    bool set = *r->at == '[' || (*r->at == '\\' && r->at + 1 < r->end && class_escape(r->at[1], &s));
    high = set ? -1 : bound(r);
  }
  if (high < low) return false;
  add_range(out, low, high);
  return true;
}

/* Behind the bracket. */
static int class_of(Reader *r) {
  ByteSet s = {0};
  bool negated = r->at < r->end && *r->at == '^';
  r->at += negated;
  for (bool first = true; r->at < r->end && (first || *r->at != ']'); first = false)
    if (!class_item(r, &s)) return unknown(r);
  if (r->at == r->end) return unknown(r);
  r->at++;
  if (r->caseless) fold(&s);
  if (negated) s = complement(&s);
  return character(r->w, &s, negated);
}

/* ---- Repetitions ------------------------------------------------------------------------------------------------- */
static bool number(Reader *r, int *n) {
  const char *first = r->at;
  for (*n = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *n <= LIMIT_REGEX_COPIES; r->at++)
    *n = 10 * *n + (*r->at - '0');
  return r->at > first;
}

/* {m}, {m,} or {m,n}, behind the brace. */
static bool counts(Reader *r, int *min, int *max) {
  if (!number(r, min) || r->at == r->end) return false;
  *max = *min;
  if (*r->at == ',') {
    r->at++;
    if (!number(r, max)) *max = -1;
  }
  return r->at < r->end && *r->at++ == '}';
}

/* Whether an iteration has read nothing isn't known to the automaton where an assertion stands between. */
static int repeated(Reader *r, int what) {
  RegexWork *w = r->w;
  int min = 0, max = -1;
  switch (*r->at++) {
  case '*': break;
  case '+': min = 1; break;
  case '?': max = 1; break;
  default:
    if (!counts(r, &min, &max)) return unknown(r);
  }
  bool more = r->at < r->end, lazy = more && *r->at == '?';
  const RegexNode *n = &w->nodes[what];
  bool unclear = n->nullable && n->asserts && (max < 0 || n->kind == NODE_ASSERT);
  if (unclear || (more && *r->at == '+')) return unknown(r);
  if (min > LIMIT_REGEX_COPIES || max > LIMIT_REGEX_COPIES) return regex_hindered(w, REGEX_TOO_LARGE);
  r->at += lazy;
  bool nullable = !min || n->nullable;
  return make(w, (RegexNode){NODE_REPEAT, what, 0, min, max, lazy, nullable, n->asserts});
}

static bool at_repetition(const Reader *r) { return r->at < r->end && memchr("*+?{", *r->at, 4) != NULL; }

/* ---- Groups and sequences ---------------------------------------------------------------------------------------- */
static int alternatives(Reader *r);

/* Options up to `:` or `)`, behind `(?`. *whole: they hold for the rest of the group around. */
static bool options(Reader *r, bool *whole) {
  bool on = true;
  for (; r->at < r->end; r->at++) {
    switch (*r->at) {
    case '-': on = false; break;
    case 'i': r->caseless = on; break;
    case 's': r->dot_all = on; break;
    case ':':
    case ')': *whole = *r->at++ == ')'; return true;
    default: return false;
    }
  }
  return false;
}

/* The name of a group, up to its end. */
static bool group_name(Reader *r) {
  const char *p = r->at;
  if (p + 1 < r->end && *p == 'P' && p[1] == '<') p++;
  if (p + 1 >= r->end || *p != '<' || p[1] == '=' || p[1] == '!') return false;
  const char *end = memchr(p, '>', (size_t)(r->end - p));
  if (end) r->at = end + 1;
  return end;
}

/* Behind a parenthesis. */
static int group(Reader *r) {
  bool caseless = r->caseless, dot_all = r->dot_all, whole = false;
  if (r->at < r->end && *r->at == '*') return unknown(r);
  if (r->at < r->end && *r->at == '?') {
    r->at++;
    if (!group_name(r) && !options(r, &whole)) return unknown(r);
  }
  if (whole) return make(r->w, (RegexNode){.kind = NODE_EMPTY, .nullable = true});
  int inside = alternatives(r);
  r->caseless = caseless;
  r->dot_all = dot_all;
  if (r->at == r->end || *r->at != ')') return unknown(r);
  r->at++;
  return inside;
}

static int atom(Reader *r) {
  char c = *r->at;
  if (c & 0x80) return literal(r, plain(r));
  r->at++;
  switch (c) {
  case '.': return dot(r->w, r->dot_all);
  case '^': return assertion(r, AT_BEGIN);
  case '$': return assertion(r, AT_LINE_END);
  case '[': return class_of(r);
  case '(': return group(r);
  case '\\': return escape(r);
  case '*':
  case '+':
  case '?':
  case '{': return unknown(r);
  default: return literal(r, c);
  }
}

static int sequence(Reader *r) {
  int all = 0;
  while (r->w->verdict == REGEX_MADE && r->at < r->end && *r->at != '|' && *r->at != ')') {
    int one = atom(r);
    while (r->w->verdict == REGEX_MADE && at_repetition(r)) one = repeated(r, one);
    all = concat(r->w, all, one);
  }
  return all;
}

/* Options that a group sets in one alternative hold in those behind it, as PCRE2 has it. */
static int alternatives(Reader *r) {
  if (++r->depth > LIMIT_REGEX_NESTING) return regex_hindered(r->w, REGEX_TOO_LARGE);
  int all = sequence(r);
  while (r->w->verdict == REGEX_MADE && r->at < r->end && *r->at == '|') {
    r->at++;
    all = either(r->w, all, sequence(r));
  }
  r->depth--;
  return all;
}

void regex_parse(RegexWork *w, const char *pattern, size_t n) {
  Reader r = {.w = w, .at = pattern, .end = pattern + n};
  make(w, (RegexNode){.kind = NODE_EMPTY, .nullable = true});
  w->root = alternatives(&r);
  if (r.at < r.end) unknown(&r);
}
