/* SPDX-License-Identifier: MIT */
/* The formatter's driver.
 *
 *   source ── parser ──► tokens, comments, constructs
 *          ── outline.c ──► nodes and gaps
 *          ── break_points.c ──► the source's line breaks that stay
 *          ── wide_lines.c ──► line by line: columns (indents.c, spaces.c), further breaks where a line is too wide
 *          ── comments.c ──► text
 *          ── parser ──► the same tokens, comments and constructs, or an error
 *
 * Tokens are laid out rather than the tree printed: the tree lacks comments, and has other nodes where the parser reads
 * an abbreviation as what it stands for. So nothing can be lost or changed but blanks and line ends, and the last step
 * makes sure of it. What must be the same there are the bytes of tokens and comments, and which tokens the constructs
 * hold, items among them.
 *
 * Where lines are broken depends on the breaks of the source, of which comments of several lines may leave new ones. So
 * the result is laid out again until it is its own result. */
#include "format/format_internal.h"
#include <string.h>

typedef struct Side { /* of a comparison */
  const char *text;
  Structure structure;
} Side;

static bool same_bytes(const Side *a, uint32_t a_start, uint32_t a_end, const Side *b, uint32_t b_start,
                       uint32_t b_end) {
  return a_end - a_start == b_end - b_start && memcmp(a->text + a_start, b->text + b_start, a_end - a_start) == 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }

/* Steps over blanks before a line end, or the end of all. */
static uint32_t skip_trailing(const char *text, uint32_t at, uint32_t end) {
  uint32_t behind = at;
  while (behind < end && is_blank(text[behind])) behind++;
  return behind == end || text[behind] == '\n' ? behind : at;
}

/* Comments are the same but for blanks at the ends of lines. */
static bool same_comment(const Side *a, Comment ca, const Side *b, Comment cb) {
  for (;;) {
    ca.start = skip_trailing(a->text, ca.start, ca.end);
    cb.start = skip_trailing(b->text, cb.start, cb.end);
    if (ca.start == ca.end || cb.start == cb.end) return ca.start == ca.end && cb.start == cb.end;
    if (a->text[ca.start++] != b->text[cb.start++]) return false;
  }
}

static bool same_tokens(Heap *heap, const Side *a, const Side *b) {
  const Tokens *ta = &a->structure.tokens, *tb = &b->structure.tokens;
  if (ta->len != tb->len) return false;
  for (int i = 0; i < ta->len; i++) {
    const Token *x = &ta->data[i], *y = &tb->data[i];
    heap_look_at(heap, (uint32_t)i);
    if (x->kind != y->kind || !same_bytes(a, x->start, x->end, b, y->start, y->end)) return false;
  }
  return true;
}

static bool same_constructs(Heap *heap, const Side *a, const Side *b) {
  const Constructs *ca = &a->structure.constructs, *cb = &b->structure.constructs;
  if (ca->len != cb->len) return false;
  for (int i = 0; i < ca->len; i++) {
    const Construct *x = &ca->data[i], *y = &cb->data[i];
    heap_look_at(heap, (uint32_t)i);
    if (x->kind != y->kind || x->level != y->level || x->first != y->first || x->end != y->end) return false;
  }
  return true;
}

static bool same_comments(Heap *heap, const Side *a, const Side *b) {
  const Comments *ca = &a->structure.comments, *cb = &b->structure.comments;
  if (ca->len != cb->len) return false;
  for (int i = 0; i < ca->len; i++) {
    heap_look(heap);
    if (!same_comment(a, ca->data[i], b, cb->data[i])) return false;
  }
  return true;
}

static bool is_same_program(Heap *heap, const Side *a, const Side *b) {
  return same_tokens(heap, a, b) && same_constructs(heap, a, b) && same_comments(heap, a, b);
}

static void lay_out(Arena *arena, const Side *side, Str *out) {
  bool marked = strncmp(side->text, "\xef\xbb\xbf", 3) == 0;
  Formatter f = {.heap = arena->heap, .arena = arena, .text = side->text, .text_start = marked ? 3 : 0};
  outline_make(&f, &side->structure);
  breaks_of_source(&f);
  for (int i = 0; i < f.n;) i = lay_line(&f, i);
  write_text(&f, out);
}

/* The result, of *len bytes, which is source *id, too; NULL: there are errors. */
static const char *format_once(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, size_t *len,
                               uint32_t *id) {
  Side before = {.text = sources_get(diags->sources, source)->text}, after;
  int errors = diags->errors;
  parse_structure(lx, arena, syms, diags, source, &before.structure);
  if (diags->errors > errors) return NULL;
  Str out = {.arena = arena};
  lay_out(arena, &before, &out);
  after.text = out.data ? out.data : "";
  *len = out.len;
  *id = sources_add(diags->sources, "<formatted>", after.text, out.len);
  Diags unseen;
  diags_init(&unseen, arena, diags->sources);
  parse_structure(lx, arena, syms, &unseen, *id, &after.structure);
  if (unseen.errors == 0 && is_same_program(arena->heap, &before, &after)) return after.text;
  diag_error(diags, (Span){source, 0, 0}, "format", "the formatter would change this program")->hint =
      "this is an error of the formatter; the text stays as it is";
  return NULL;
}

const char *format_source(Lexer *lx, Arena *arena, SymTable *syms, Diags *diags, uint32_t source, size_t *len) {
  const char *text = NULL;
  bool settled = false;
  for (int round = 0; round < LIMIT_FORMAT_ROUNDS && !settled; round++) {
    const Source *before = sources_get(diags->sources, source);
    text = format_once(lx, arena, syms, diags, source, len, &source);
    if (!text) return NULL;
    settled = *len == before->len && memcmp(text, before->text, *len) == 0;
  }
  return text;
}
