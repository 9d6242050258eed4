/* SPDX-License-Identifier: MIT */
/* From text to tokens: the first stage of the compiler.
 *
 * match_token.c says which token begins at a place and where it ends, by the
 * table tokens.def. Read lex() first; around it stand skipping blanks, nested
 * comments, values of literals, the stack of open interpolated strings, and the
 * complaints about bytes that can't be read. A complaint never stops the lexer:
 * the bytes are left out. */
#define _GNU_SOURCE
#include "lexer/lexer_internal.h"
#include <stdlib.h>
#include <string.h>

Lexer *lexer_new(Heap *heap, int nesting) {
  Lexer *lx = heap_realloc(heap, NULL, 0, sizeof *lx);
  if (!lx) return NULL;
  memset(lx, 0, sizeof *lx);
  lx->heap = heap;
  lx->nesting = nesting < 1 || nesting > LIMIT_NESTING ? LIMIT_NESTING : nesting;
  arena_init(&lx->temp, heap);
  lx->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!lx->c_locale) {
    lexer_free(lx);
    return NULL;
  }
  match_prepare(lx);
  return lx;
}

int lexer_nesting(const Lexer *lx) { return lx->nesting; }

void lexer_free(Lexer *lx) {
  if (!lx) return;
  arena_free(&lx->temp);
  if (lx->c_locale) freelocale(lx->c_locale);
  heap_realloc(lx->heap, lx, sizeof *lx, 0);
}

Arena *lexer_temp(Lexer *lx) {
  arena_free(&lx->temp);
  return &lx->temp;
}

/* ---- A run ---------------------------------------------------------------------- */

typedef struct OpenInterp {
  uint32_t start;    /* of `$"` */
  int depth, braces; /* brackets open inside the hole; of these, braces */
} OpenInterp;

typedef struct Run {
  Lexer *lx;
  Arena *arena;
  SymTable *syms;
  Diags *diags;
  uint32_t source;
  const char *text;
  uint32_t pos, end;
  uint32_t doc_start, doc_end; /* comments that may document the next item; equal: none */
  bool trivia;                 /* blanks or a comment since the last token */
  Comments *comments;          /* NULL: dropped */
  Vec(Token) tokens;
  Vec(OpenInterp) interps;
} Run;

static Diag *complain(Run *r, uint32_t start, uint32_t end, const char *code, const char *message) {
  return diag_error(r->diags, (Span){r->source, start, end}, code, "%s", message);
}

/* Reports bytes that are no text at all; the tokens around them are still read. What takes zero-terminated text gets a
 * NUL as C0 80, which is no UTF-8 otherwise. */
static void check_bytes(Run *r) {
  int reported = 0;
  for (uint32_t i = r->pos, turns = 0; i < r->end && reported < LIMIT_BAD_BYTES; turns++) {
    heap_look_at(r->lx->heap, turns);
    unsigned char c = (unsigned char)r->text[i];
    int len = c && c < 0x80 ? 1 : utf8_sequence(r->text + i, r->end - i, NULL);
    if (c && len) {
      i += (uint32_t)len;
      continue;
    }
    bool escaped = c == 0xc0 && i + 1 < r->end && (unsigned char)r->text[i + 1] == 0x80;
    bool nul = c == 0 || escaped;
    uint32_t end = i + 1 + escaped;
    complain(r, i, end, "bad-byte", nul ? "a NUL byte in the source" : "this is not valid UTF-8")->hint =
        nul ? "remove it: in a string it is written \\0" : "save the file as UTF-8";
    reported++;
    i = end;
  }
}

/* The open strings or comments that the end of the text cuts off. */
static void unfinished(Run *r, uint32_t start, uint32_t end, const char *message, const char *hint) {
  complain(r, start, end, "unfinished", message)->hint = hint;
  r->diags->incomplete = true;
  r->pos = r->end;
}

/* ---- Comments ------------------------------------------------------------------- */

static bool at_line_start(const Run *r, uint32_t pos) {
  return pos == 0 || r->text[pos - 1] == '\n' || (pos == 3 && memcmp(r->text, "\xef\xbb\xbf", 3) == 0);
}

/* Moves over blanks; a blank line parts a comment from the item below. */
static void skip_blanks(Run *r) {
  int newlines = 0;
  uint32_t start = r->pos;
  for (; r->pos < r->end; r->pos++) {
    heap_look_at(r->lx->heap, r->pos);
    char c = r->text[r->pos];
    if (c == '\n') newlines++;
    else if (c != ' ' && c != '\t' && c != '\r' && c != '\f') break;
  }
  if (r->pos > start) r->trivia = true;
  if (newlines > 1) r->doc_start = r->doc_end = 0;
}

static void note_comment(Run *r, uint32_t start, uint32_t end) {
  bool shebang = start == 0 && end > 1 && r->text[1] == '!';
  r->trivia = true;
  r->pos = end;
  if (r->comments) vec_push(r->arena, *r->comments, ((Comment){start, end}));
  if (!at_line_start(r, start) || shebang) return;
  if (r->doc_start == r->doc_end) r->doc_start = start;
  r->doc_end = end;
}

/* `(*` stands at pos. Comments nest; nothing else inside them is looked at. */
static void block_comment(Run *r) {
  uint32_t start = r->pos, i = start + 2;
  for (int depth = 1; depth > 0; i++) {
    heap_look_at(r->lx->heap, i);
    if (i + 1 >= r->end) {
      unfinished(r, start, start + 2, "this comment is never closed",
                 "`(*` opens a comment, `*)` closes it; the operator in brackets is written `( * )`");
      return;
    }
    if (r->text[i] == '(' && r->text[i + 1] == '*') depth++, i++;
    else if (r->text[i] == '*' && r->text[i + 1] == ')') depth--, i++;
  }
  note_comment(r, start, i);
}

static void add_trimmed(Str *out, const char *s, const char *end) {
  while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  str_add(out, s, (size_t)(end - s));
}

/* The comments between doc_start and doc_end without their marks. */
static const char *take_doc(Run *r) {
  if (r->doc_start == r->doc_end) return NULL;
  Str out = {.arena = r->arena};
  const char *s = r->text + r->doc_start, *stop = r->text + r->doc_end;
  while (s < stop) {
    heap_look(r->lx->heap);
    const char *line = memchr(s, '\n', (size_t)(stop - s));
    if (!line) line = stop;
    const char *end = line;
    if (*s == '#') {
      while (s < end && *s == '#') s++;
    } else {
      while (s < end && (*s == ' ' || *s == '\t')) s++;
      if (end - s >= 2 && s[0] == '(' && s[1] == '*') s += 2;
      if (end - s >= 2 && end[-1] == ')' && end[-2] == '*') end -= 2;
    }
    if (s < end && *s == ' ') s++;
    if (out.len) str_addc(&out, '\n');
    add_trimmed(&out, s, end);
    s = line + 1;
  }
  return out.data;
}

/* ---- Literals ------------------------------------------------------------------- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* The code point of `\xHH` or `\u{…}` whose letter stands at *i; *i moves to its last byte. */
static bool hex_escape(const Run *r, uint32_t *i, uint32_t end, uint32_t *value) {
  bool braces = r->text[*i] == 'u';
  uint32_t at = *i + 1, digits = 0, v = 0;
  if (braces && (at >= end || r->text[at++] != '{')) return false;
  for (; at < end && digits < (braces ? 6u : 2u) && hex_digit(r->text[at]) >= 0; at++, digits++)
    v = 16 * v + (uint32_t)hex_digit(r->text[at]);
  if (digits == 0 || (!braces && digits < 2)) return false;
  if (braces && (at >= end || r->text[at++] != '}')) return false;
  if (v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return false;
  *i = at - 1;
  *value = v;
  return true;
}

/* The escape whose letter stands at *i, after the backslash. */
static void add_escape(Run *r, Str *out, uint32_t *i, uint32_t end) {
  static const char letters[] = "ntr0\\\"'", values[] = "\n\t\r\0\\\"'";
  char c = r->text[*i];
  const char *known = c ? memchr(letters, c, sizeof letters - 1) : NULL;
  if (known) {
    str_addc(out, values[known - letters]);
    return;
  }
  uint32_t start = *i - 1, value;
  if ((c == 'x' || c == 'u') && hex_escape(r, i, end, &value)) {
    char bytes[4];
    str_add(out, bytes, (size_t)utf8_encode(value, bytes));
    return;
  }
  int len = utf8_sequence(r->text + *i, end - *i, NULL);
  complain(r, start, *i + (len ? (uint32_t)len : 1), "bad-escape", "there is no such escape in a string")->hint =
      "the escapes are \\n \\t \\r \\0 \\\\ \\\" \\xHH \\u{H…}; r\"…\" takes backslashes as they are";
}

/* The text between start and end, escapes resolved; in an interpolated string doubled braces too. */
static Sym string_value(Run *r, uint32_t start, uint32_t end, bool interp) {
  const char *s = r->text + start;
  size_t n = end - start;
  if (!memchr(s, '\\', n) && !(interp && (memchr(s, '{', n) || memchr(s, '}', n)))) return sym_intern(r->syms, s, n);
  Str out = {.arena = r->arena};
  for (uint32_t i = start; i < end; i++) {
    heap_look_at(r->lx->heap, i);
    char c = r->text[i];
    if (c == '\\' && i + 1 < end) {
      i++;
      add_escape(r, &out, &i, end);
      continue;
    }
    str_addc(&out, c);
    bool doubled = interp && (c == '{' || c == '}') && i + 1 < end && r->text[i + 1] == c;
    if (doubled) i++;
  }
  return sym_intern(r->syms, out.data ? out.data : "", out.len);
}

static void int_value(Run *r, Token *t) {
  bool hex = t->kind == TOK_HEX, overflow = false;
  uint64_t v = 0, base = hex ? 16 : 10;
  for (uint32_t i = t->start + (hex ? 2 : 0); i < t->end; i++) {
    int digit = hex_digit(r->text[i]);
    if (digit < 0) continue; /* an underscore */
    overflow |= __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (uint64_t)digit, &v);
  }
  bool negated = r->tokens.len && r->tokens.data[r->tokens.len - 1].kind == TOK_MINUS;
  uint64_t largest = hex ? UINT64_MAX : (uint64_t)INT64_MAX + negated;
  if (overflow || v > largest)
    complain(r, t->start, t->end, "int-overflow", "this integer does not fit into 64 bits")->hint =
        hex ? NULL : "write it with a point, as a float";
  t->kind = TOK_INT;
  t->i = (int64_t)v;
  t->f = hex ? (double)t->i : (double)v;
}

static void float_value(Run *r, Token *t) {
  char small[64];
  size_t n = t->end - t->start, len = 0;
  char *digits = n < sizeof small ? small : arena_alloc(r->arena, n + 1);
  for (uint32_t i = t->start; i < t->end; i++)
    if (r->text[i] != '_') digits[len++] = r->text[i];
  digits[len] = 0;
  t->f = strtod_l(digits, NULL, r->lx->c_locale);
}

/* ---- Names ---------------------------------------------------------------------- */

/* Letters, digits, marks, and the few symbols that mathematics uses as names. */
static bool may_stand_in_name(uint32_t c) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {{0x00aa, 0x00aa},   {0x00b2, 0x00b3},  {0x00b5, 0x00b5}, {0x00b9, 0x00ba}, {0x00c0, 0x00d6},
                {0x00d8, 0x00f6},   {0x00f8, 0x1fff},  {0x2070, 0x209f}, {0x2100, 0x214f}, {0x2202, 0x2202},
                {0x2206, 0x2207},   {0x221e, 0x221e},  {0x2c00, 0x2dff}, {0x3005, 0x3007}, {0x3040, 0xd7ff},
                {0xf900, 0xfdff},   {0xfe70, 0xfefc},  {0xff10, 0xff19}, {0xff21, 0xff3a}, {0xff41, 0xff5a},
                {0x10000, 0x1efff}, {0x20000, 0x3fffd}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges && ranges[i].first <= c; i++)
    if (c <= ranges[i].last) return true;
  return false;
}

/* The length of the name at s (n bytes) up to the first character that no name may hold. */
static uint32_t name_length(const char *s, uint32_t n) {
  for (uint32_t i = 0; i < n;) {
    if ((unsigned char)s[i] < 0x80) {
      i++;
      continue;
    }
    uint32_t c;
    int len = utf8_sequence(s + i, n - i, &c);
    if (!len || !may_stand_in_name(c)) return i;
    i += (uint32_t)len;
  }
  return n;
}

/* Characters that are met in programs copied from elsewhere, and what is meant. */
static const struct CharacterHint {
  uint32_t first, last;
  const char *hint;
} character_hints[] = {
    {0, 0x1f, "remove it: in a string it is written \\xHH"},
    {'!', '!', "negation is `not`, inequality is `<>`"},
    {'&', '&', "the logical operator is `&&`"},
    {'\'', '\'', "a string stands in double quotes, also one of a single character"},
    {'?', '?', "a choice is written `if c then a else b`"},
    {'\\', '\\', "a function is written `fun x -> …`; `Linalg.solve a b` solves equations"},
    {0x7f, 0x7f, "remove it: in a string it is written \\xHH"},
    {0xb2, 0xb3, "a power is written `x ^ 2`"},
    {0xd7, 0xd7, "multiplication is `*`"},
    {0xf7, 0xf7, "division is `/`"},
    {0x2010, 0x2015, "the minus sign is `-`"},
    {0x2018, 0x201f, "strings stand in plain quotes: \"…\""},
    {0x2190, 0x2190, "assignment is written `<-`"},
    {0x2192, 0x2192, "the arrow is `->`"},
    {0x2212, 0x2212, "the minus sign is `-`"},
    {0x22c5, 0x22c5, "multiplication is `*`"},
    {0x2260, 0x2260, "inequality is `<>`"},
    {0x2264, 0x2264, "it is written `<=`"},
    {0x2265, 0x2265, "it is written `>=`"},
};

static const char *character_hint(uint32_t c) {
  for (size_t i = 0; i < sizeof character_hints / sizeof *character_hints; i++)
    if (c >= character_hints[i].first && c <= character_hints[i].last) return character_hints[i].hint;
  return NULL;
}

/* Blanks that aren't the space, and what has no width. */
static bool is_invisible(uint32_t c) {
  return c == 0xa0 || c == 0xad || c == 0x1680 || (c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) ||
         (c >= 0x205f && c <= 0x206f) || c == 0x3000 || c == 0xfeff;
}

/* A character that begins no token is reported and left out. */
static void bad_character(Run *r) {
  uint32_t c = 0;
  int len = utf8_sequence(r->text + r->pos, r->end - r->pos, &c);
  Span at = {r->source, r->pos, r->pos + (len ? (uint32_t)len : 1)};
  r->pos = at.end;
  r->trivia = true;
  if (!len || c == 0) return; /* reported by check_bytes */
  bool control = c < 0x20 || c == 0x7f;
  if (is_invisible(c)) {
    diag_error(r->diags, at, "bad-character", "an invisible character (U+%04X)", c)->hint =
        "remove it, or put a plain space there";
    return;
  }
  Diag *d = control ? diag_error(r->diags, at, "bad-character", "a control character (U+%04X)", c)
                    : diag_error(r->diags, at, "bad-character", "the character `%.*s` means nothing here", len,
                                 r->text + at.start);
  d->hint = character_hint(c);
}

/* ---- Tokens --------------------------------------------------------------------- */

static OpenInterp *innermost(Run *r) { return r->interps.len ? &r->interps.data[r->interps.len - 1] : NULL; }

/* Keeps count of the brackets inside a hole, so that its end is known. */
static void count_brackets(Run *r, TokenKind kind) {
  OpenInterp *open = innermost(r);
  if (!open) return;
  if (kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE) open->depth++;
  if ((kind == TOK_RPAREN || kind == TOK_RBRACKET || kind == TOK_RBRACE) && open->depth > 0) open->depth--;
  if (kind == TOK_LBRACE) open->braces++;
  if (kind == TOK_RBRACE) open->braces--;
}

/* May the hole end here? A brace that closes none ends it though a bracket is open, which the parser reports. */
static bool hole_ends(const Run *r, const OpenInterp *open) {
  return open->depth == 0 || (open->braces == 0 && r->text[r->pos] == '}');
}

/* Fills in the value of a token of class kind; false when it was reported and is left out. */
static bool finish_token(Run *r, Token *t) {
  const char *s = r->text + t->start;
  uint32_t n = t->end - t->start;
  switch (t->kind) {
  case TOK_IDENT:
  case TOK_UPPER: {
    uint32_t good = name_length(s, n);
    if (good == 0) {
      bad_character(r);
      return false;
    }
    t->end = t->start + good;
    if (t->kind == TOK_IDENT) t->kind = match_word(r->lx, s, good);
    t->text = sym_intern(r->syms, s, good);
    return true;
  }
  case TOK_TYVAR: t->text = sym_intern(r->syms, s + 1, n - 1); return true;
  case TOK_INT:
  case TOK_HEX: int_value(r, t); return true;
  case TOK_FLOAT: float_value(r, t); return true;
  case TOK_BAD_NUMBER:
    if (name_length(s, n) < n) {
      size_t len = 0;
      t->kind = match_token(r->lx, s, name_length(s, n), false, &len);
      t->end = t->start + (uint32_t)len;
      return finish_token(r, t);
    }
    t->kind = TOK_INT;
    if (!utf8_valid(s, n, &(size_t){0})) return true; /* reported by check_bytes */
    diag_error(r->diags, (Span){r->source, t->start, t->end}, "bad-number", "`%.*s` is not a number", (int)n, s)->hint =
        "numbers are 12, 1_000, 0xff, 1.5, 2e-3; names begin with a letter";
    return true;
  case TOK_STRING: t->text = string_value(r, t->start + 1, t->end - 1, false); return true;
  case TOK_RAW_STRING:
    t->kind = TOK_STRING;
    t->text = sym_intern(r->syms, s + 2, n - 3);
    return true;
  case TOK_INTERP_PLAIN:
    t->kind = TOK_STRING;
    t->text = string_value(r, t->start + 2, t->end - 1, true);
    return true;
  case TOK_INTERP_BEGIN:
    t->text = string_value(r, t->start + 2, t->end - 1, true);
    vec_push(r->arena, r->interps, ((OpenInterp){t->start, 0, 0}));
    return true;
  case TOK_INTERP_MID:
    t->text = string_value(r, t->start + 1, t->end - 1, true);
    innermost(r)->depth = 0;
    return true;
  case TOK_INTERP_END:
    t->text = string_value(r, t->start + 1, t->end - 1, true);
    r->interps.len--;
    return true;
  case TOK_INTERP_FORMAT: t->text = sym_intern(r->syms, s + 1, n - 1); return true;
  default: count_brackets(r, t->kind); return true;
  }
}

static void push_token(Run *r, Token t) {
  vec_push(r->arena, r->tokens, t);
  r->trivia = false;
  r->doc_start = r->doc_end = 0;
}

static const char hole_hint[] = "a hole `{e}` ends with a brace, the string with a quote; a brace as text is `{{`";
static const char string_hint[] = "a string ends with `\"`; a quote inside it is `\\\"`";

static void next_token(Run *r) {
  size_t len = 0;
  OpenInterp *open = innermost(r);
  bool hole_can_end = open && hole_ends(r, open);
  TokenKind kind = match_token(r->lx, r->text + r->pos, r->end - r->pos, hole_can_end, &len);
  Token t = {.kind = kind, .start = r->pos, .end = r->pos + (uint32_t)len, .space_before = r->trivia};
  switch (kind) {
  case TOK_COUNT:
    bad_character(r);
    if (r->text[t.start] != '&' && r->text[t.start] != '\\') return;
    t.kind = r->text[t.start] == '&' ? TOK_ANDAND : TOK_FUN; /* as what is meant, so that nothing follows from it */
    t.end = r->pos;
    push_token(r, t);
    return;
  case TOK_LINE_COMMENT: note_comment(r, t.start, t.end); return;
  case TOK_BLOCK_COMMENT: block_comment(r); return;
  case TOK_OPEN_STRING:
  case TOK_OPEN_RAW:
    if (open) unfinished(r, open->start, open->start + 2, "this string is never closed", hole_hint);
    else unfinished(r, t.start, t.end, "this string is never closed", string_hint);
    return;
  default: break;
  }
  if (kind == TOK_RBRACE && hole_can_end) {
    unfinished(r, open->start, open->start + 2, "this string is never closed", string_hint);
    return;
  }
  t.column0 = !open && at_line_start(r, t.start);
  if (!finish_token(r, &t)) return;
  if (t.column0) t.doc = take_doc(r);
  r->pos = t.end;
  push_token(r, t);
}

/* Of usual programs, without comments; where there are more, the block of tokens grows. */
enum { BYTES_PER_TOKEN = 5, FIRST_TOKENS = 1 << 16 };

Tokens lex(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start, uint32_t end) {
  return lex_with_comments(lx, arena, syms, diags, source, start, end, NULL);
}

Tokens lex_with_comments(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, uint32_t start,
                         uint32_t end, Comments *comments) {
  const Source *src = sources_get(diags->sources, source);
  if (end > src->len) end = (uint32_t)src->len;
  if (start > end) start = end;
  Run r = {.lx = lx,
           .arena = arena,
           .syms = syms,
           .diags = diags,
           .source = source,
           .text = src->text,
           .pos = start,
           .end = end,
           .comments = comments};
  if (start == 0 && end >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0) r.pos = 3;
  check_bytes(&r);
  r.tokens.cap = (int)((end - r.pos) / BYTES_PER_TOKEN) + 8;
  if (r.tokens.cap > FIRST_TOKENS) r.tokens.cap = FIRST_TOKENS;
  r.tokens.data = NEW_ARRAY(arena, Token, r.tokens.cap);
  for (;;) {
    heap_look(lx->heap);
    skip_blanks(&r);
    if (r.pos >= r.end) break;
    if (r.tokens.len >= LIMIT_TOKENS) { /* the tree of so much text would take gigabytes */
      complain(&r, r.pos, r.pos + 1, "too-large", "this item is too long")->hint =
          "keep large data in a file, and read it with `Csv` or `Json`";
      r.interps.len = r.tokens.len = 0;
      break;
    }
    next_token(&r);
  }
  OpenInterp *open = innermost(&r);
  if (open && !diags->incomplete)
    unfinished(&r, open->start, open->start + 2, "this string is never closed", hole_hint);
  push_token(&r, (Token){.kind = TOK_EOF, .start = end, .end = end, .column0 = true, .space_before = true});
  return (Tokens){r.tokens.data, r.tokens.len};
}
