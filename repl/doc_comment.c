/* SPDX-License-Identifier: MIT */
/* `atled doc`: comments, examples and types as HTML.
 *
 * Examples have the parts that the prompt colours (atled_parts), as spans with a class. Names between these that are
 * documented become links, as do those in backquotes and in types. */
#include "doc.h"
#include <stdlib.h>
#include <string.h>

/* ---- Places of definitions ----------------------------------------------------------------------- */
/* Each has a point, which no name and no other id of a page has. */
void doc_id(FILE *f, const AtledDefinition *d, const AtledDefinition *type) {
  bool part = doc_is_part(d);
  fputs(part ? "type." : d->kind, f);
  if (part) doc_html(f, type->name, strlen(type->name));
  putc('.', f);
  doc_html(f, d->name, strlen(d->name));
}

void doc_href(const DocModule *from, FILE *f, const DocTarget *t) {
  bool part = doc_is_part(t->definition);
  if (t->module != from) doc_fragment(f, t->module->page);
  putc('#', f);
  fputs(part ? "type." : t->definition->kind, f);
  if (part) doc_fragment(f, t->type->name);
  putc('.', f);
  doc_fragment(f, t->definition->name);
}

/* ---- Names --------------------------------------------------------------------------------------- */
typedef struct Place {
  const Docs *docs;
  const DocModule *module; /* what names mean */
  const DocModule *page;   /* the page that has the text; NULL: the index */
  FILE *file;
} Place;

static bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9') || c == '\''; }

/* Bytes of the name at s, with `Module.` before it. */
static size_t name_length(const char *s, size_t n) {
  size_t len = 0;
  while (len < n && is_in_name(s[len])) len++;
  bool module = *s >= 'A' && *s <= 'Z' && len + 1 < n && s[len] == '.' && begins_name(s[len + 1]);
  return module ? len + 1 + name_length(s + len + 1, n - len - 1) : len;
}

/* In a comment they mostly mean the type, of which there is no page. */
static bool is_built_in(const char *name, size_t n) {
  static const char *const types[] = {"int", "float", "bool", "string", "unit"};
  for (int i = 0; i < 5; i++)
    if (strlen(types[i]) == n && memcmp(types[i], name, n) == 0) return true;
  return false;
}

static void put_name(const Place *p, const char *name, size_t n, DocSpace space) {
  DocTarget t;
  bool known = !is_built_in(name, n) && doc_find(p->docs, p->module, name, n, space, &t);
  const DocModule *other = known ? NULL : doc_imported(p->docs, p->module, name, n);
  if (known || other) fputs("<a href=\"", p->file);
  if (known) doc_href(p->page, p->file, &t);
  if (other) doc_fragment(p->file, other->page);
  if (known || other) fputs("\">", p->file);
  doc_html(p->file, name, n);
  if (known || other) fputs("</a>", p->file);
}

/* Text whose names are links. A variable `'a` and what is behind a point are none. */
static void put_names(const Place *p, const char *text, size_t n, DocSpace space) {
  for (size_t i = 0, len; i < n; i += len) {
    bool own = i == 0 || (text[i - 1] != '\'' && text[i - 1] != '.');
    len = begins_name(text[i]) ? name_length(text + i, n - i) : 1;
    if (begins_name(text[i]) && own) {
      put_name(p, text + i, len, space);
      continue;
    }
    while (i + len < n && !begins_name(text[i + len])) len++;
    doc_html(p->file, text + i, len);
  }
}

/* ---- Code ---------------------------------------------------------------------------------------- */
static const char *const classes[] = {
    [ATLED_PART_KEYWORD] = "keyword", [ATLED_PART_STRING] = "string", [ATLED_PART_NUMBER] = "number",
    [ATLED_PART_COMMENT] = "comment", [ATLED_PART_TYPE] = "type",     [ATLED_PART_ERROR] = NULL,
};

static void put_part(const Place *p, const char *text, size_t n, AtledPartKind kind) {
  if (!classes[kind]) {
    put_names(p, text, n, DOC_VALUE);
    return;
  }
  fprintf(p->file, "<span class=\"%s\">", classes[kind]);
  if (kind == ATLED_PART_TYPE) put_names(p, text, n, DOC_TYPE);
  else doc_html(p->file, text, n);
  fputs("</span>", p->file);
}

static void put_code(const Place *p, const char *text, size_t n) {
  const AtledPart *parts;
  int nparts = 0;
  size_t done = 0;
  char *source = strndup(text, n);
  if (source && atled_parts(p->docs->parts, source, &parts, &nparts) != ATLED_OK) nparts = 0;
  for (int i = 0; i < nparts; i++) {
    put_names(p, text + done, parts[i].start - done, DOC_VALUE);
    put_part(p, text + parts[i].start, parts[i].end - parts[i].start, parts[i].kind);
    done = parts[i].end;
  }
  put_names(p, text + done, n - done, DOC_VALUE);
  free(source);
}

void doc_code(const Docs *d, const DocModule *m, FILE *f, const char *text, size_t n) {
  put_code(&(Place){d, m, m, f}, text, n);
}

void doc_type(const Docs *d, const DocModule *m, FILE *f, const char *text) {
  put_names(&(Place){d, m, m, f}, text, strlen(text), DOC_TYPE);
}

/* ---- Comments ------------------------------------------------------------------------------------ */
/* Words, and code in backquotes. */
static void put_words(const Place *p, const char *text, size_t n) {
  const char *end = text + n, *quote, *close;
  while ((quote = memchr(text, '`', (size_t)(end - text))) &&
         (close = memchr(quote + 1, '`', (size_t)(end - quote - 1)))) {
    doc_html(p->file, text, (size_t)(quote - text));
    fputs("<code>", p->file);
    put_code(p, quote + 1, (size_t)(close - quote - 1));
    fputs("</code>", p->file);
    text = close + 1;
  }
  doc_html(p->file, text, (size_t)(end - text));
}

/* Copies the lines without their indentation. Returns the number of bytes. */
static size_t unindent(const DocBlock *b, char *to) {
  size_t n = 0;
  for (const char *line = b->start, *end; line < b->end; line = end) {
    const char *stop = memchr(line, '\n', (size_t)(b->end - line));
    end = stop ? stop + 1 : b->end;
    for (size_t k = 0; k < b->indent && line < end && (*line == ' ' || *line == '\t'); k++) line++;
    memcpy(to + n, line, (size_t)(end - line));
    n += (size_t)(end - line);
  }
  return n;
}

static void put_example(const Place *p, const DocBlock *b) {
  char *text = malloc((size_t)(b->end - b->start) + 1);
  size_t n = text ? unindent(b, text) : 0;
  fputs("<pre><code>", p->file);
  put_code(p, text ? text : "", n);
  fputs("</code></pre>\n", p->file);
  free(text);
}

void doc_words(const Docs *d, const DocModule *m, FILE *f, const char *text, size_t n) {
  put_words(&(Place){d, m, NULL, f}, text, n);
}

void doc_comment(const Docs *d, const DocModule *m, FILE *f, const char *comment) {
  Place p = {d, m, m, f};
  bool list = false;
  for (DocBlock b; doc_block(&comment, &b);) {
    bool bullet = b.kind == DOC_BULLET;
    if (bullet != list) fputs(bullet ? "<ul>\n" : "</ul>\n", f);
    list = bullet;
    if (b.kind == DOC_CODE) {
      put_example(&p, &b);
      continue;
    }
    fputs(bullet ? "<li>" : "<p>", f);
    put_words(&p, b.start, (size_t)(b.end - b.start));
    fputs(bullet ? "</li>\n" : "</p>\n", f);
  }
  if (list) fputs("</ul>\n", f);
}
