/* SPDX-License-Identifier: MIT */
/* What the files of the formatter share.
 *
 * A gap stands before each token, and one at the end: gap i before token i. It holds comments, and is broken if its
 * token begins a line. A node is a construct of the parser; a chain of operators of one level is one node. */
#ifndef ATLED_FORMAT_INTERNAL_H
#define ATLED_FORMAT_INTERNAL_H
#include "format/format.h"

enum { COLUMNS = 100, INDENT = 2, NO_NODE = -1 };

typedef struct Node {
  ConstructKind kind;
  int level;
  int first, end;    /* tokens [first, end) */
  int parent, depth; /* of an outermost one NO_NODE and 0 */
  int next;          /* another one that begins at the same token, within this one */
  bool in_string;    /* stands in a hole of an interpolated string */
  /* Of the layout, from when its first token has been placed. */
  int own;        /* where its first token would stand if it began a line */
  int column;     /* brackets: of the opening one */
  int base;       /* brackets: what the lines in them are indented from, unless they are aligned */
  int line;       /* brackets: the base where they end their line */
  int content;    /* brackets: where what stands in them begins a line */
  int outer_base; /* brackets: Formatter.base before them */
} Node;

typedef struct Remark { /* a comment */
  uint32_t start, end;
  int newlines; /* before it: 0, 1, or 2 for more */
  bool block;
} Remark;

typedef struct Gap {
  int comment, ncomments; /* its first one, and how many */
  int node;               /* the innermost one around the gap */
  int step;               /* in a BLOCK: heads `fun … ->` before it, of which several in a row are one */
  uint8_t newlines;       /* before the token, behind the comments: 0, 1, or 2 for more */
  bool item;              /* its token begins an item, or is the end */
  bool broken;            /* its token begins a line */
  bool blank;             /* behind an empty one */
} Gap;

typedef struct Formatter {
  Heap *heap;
  Arena *arena;
  const char *text;
  uint32_t text_start; /* behind a byte order mark */
  const Token *tokens;
  int n;
  Remark *comments;
  int ncomments;
  Gap *gaps; /* n + 1 */
  Node *nodes;
  int nnodes;
  int *first_node; /* of each token: the outermost node that begins there */
  int *owner;      /* of each token: the innermost node that holds it */
  int *columns;    /* where each token was placed, and where it ends */
  int *ends;
  int base; /* what the content of brackets that the line leaves open is indented from */
  int line; /* the base at the beginning of the line */
} Formatter;

static inline TokenKind kind_at(const Formatter *f, int i) { return i >= 0 && i < f->n ? f->tokens[i].kind : TOK_EOF; }
/* Is token i of that kind, and the node's own, not a part's? */
static inline bool is_own(const Formatter *f, int node, int i, TokenKind kind) {
  return i >= 0 && i < f->n && f->tokens[i].kind == kind && f->owner[i] == node;
}
static inline bool opens_brackets(TokenKind kind) {
  return kind == TOK_LPAREN || kind == TOK_LBRACKET || kind == TOK_LBRACE;
}
static inline bool has_brackets(const Node *node) {
  return node->kind == CONSTRUCT_GROUP || node->kind == CONSTRUCT_INDEX || node->kind == CONSTRUCT_COMPREHENSION;
}

/* ---- outline.c ---- */
/* Fills in gaps, comments and nodes. */
void outline_make(Formatter *f, const Structure *structure);
/* Is token i an operator of the CHAIN that the gap before or behind it is in? */
bool is_operator(const Formatter *f, int node, int i);

/* ---- spaces.c ---- */
/* Does a space part tokens i - 1 and i where they stand on one line? */
bool space_before(const Formatter *f, int i);

/* ---- break_points.c ---- */
typedef enum BreakKind {
  BREAK_NEVER,
  BREAK_KEPT, /* where the user broke the line */
  BREAK_FILL, /* where the line gets too long */
  BREAK_ALL   /* at all gaps of the node and rank, if at one */
} BreakKind;
typedef struct Break {
  BreakKind kind;
  int rank; /* in its node: smaller ones first */
} Break;
/* What may become of gap i. */
Break break_at(const Formatter *f, int i);
/* Settles which gaps are broken, from the line breaks of the source. */
void breaks_of_source(Formatter *f);

/* ---- indents.c ---- */
/* The column of token i where it begins a line. */
int indent_at(const Formatter *f, int i);
/* Notes that token i stands in that column: what follows is indented by it. */
void place_token(Formatter *f, int i, int column);

/* ---- wide_lines.c ---- */
/* Places the tokens of the line that begins with token i, breaks it where it is too wide, and returns the token that
 * begins the next line. */
int lay_line(Formatter *f, int i);

/* ---- comments.c ---- */
/* Columns of the text [start, end), which begins in `column`; of its last line. */
int column_behind(const char *text, uint32_t start, uint32_t end, int column);
/* The comment of gap i behind which the token's line begins; the gap's number of comments if it is the line before. */
int comments_above(const Formatter *f, int i);
/* Writes all of it. */
void write_text(Formatter *f, Str *out);
#endif
