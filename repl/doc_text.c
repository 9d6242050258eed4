/* SPDX-License-Identifier: MIT */
/* `atled doc` as text: of each file its introduction, then its public definitions, each with its line, and the comment
 * indented below. */
#include "doc.h"
#include <string.h>

static void put_text(FILE *f, const char *text) { doc_plain(f, text, strlen(text)); }

static void put_indented(FILE *f, const char *text, const char *indent) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    if (n) fputs(indent, f);
    doc_plain(f, text, n);
    putc('\n', f);
    text += n + (text[n] == '\n');
  }
}

static void put_comment(FILE *f, const char *comment, const char *indent) {
  DocBlockKind before = DOC_CODE;
  bool first = true;
  for (DocBlock b; doc_block(&comment, &b); before = b.kind, first = false) {
    const char *start = b.start;
    bool bullet = b.kind == DOC_BULLET;
    if (!first && !(bullet && before == DOC_BULLET)) putc('\n', f);
    if (bullet) start -= 2;
    for (size_t n; start < b.end; start += n + (start[n] == '\n')) {
      n = strcspn(start, "\n");
      size_t skipped = 0;
      while (skipped < b.indent && skipped < n && (start[skipped] == ' ' || start[skipped] == '\t')) skipped++;
      if (n > skipped) fprintf(f, "%s%s", indent, b.kind == DOC_CODE ? "    " : "");
      doc_plain(f, start + skipped, n - skipped);
      putc('\n', f);
    }
  }
}

static void put_value(FILE *f, const AtledDefinition *d) {
  put_text(f, d->name);
  for (int i = 0; i < d->parameter_count; i++) {
    putc(' ', f);
    put_text(f, d->parameters[i]);
  }
  fputs(" : ", f);
  put_text(f, d->type);
  fprintf(f, "    (line %d)\n", d->line);
}

/* The definition as written, then the types of its constructors. */
static void put_type(FILE *f, const DocModule *m, int i) {
  fputs("type ", f);
  put_text(f, m->all[i]->name);
  fprintf(f, "    (line %d)\n", m->all[i]->line);
  put_indented(f, m->all[i]->source, "    ");
  for (int k = i + 1; k < m->n && doc_is_part(m->all[k]); k++) {
    fputs(k == i + 1 ? "\n    " : "    ", f);
    put_text(f, m->all[k]->name);
    fputs(" : ", f);
    put_text(f, m->all[k]->type);
    putc('\n', f);
  }
}

static void put_definition(FILE *f, const DocModule *m, int i) {
  const AtledDefinition *d = m->all[i];
  putc('\n', f);
  if (strcmp(d->kind, "import") == 0) put_indented(f, d->source, "");
  else if (strcmp(d->kind, "type") == 0) put_type(f, m, i);
  else put_value(f, d);
  if (d->doc && strcmp(d->kind, "type") == 0) putc('\n', f);
  if (d->doc) put_comment(f, d->doc, "    ");
}

static void put_module(FILE *f, const DocModule *m) {
  put_text(f, m->title);
  putc('\n', f);
  if (*m->intro) putc('\n', f);
  put_comment(f, m->intro, "");
  DocCursor cursor = doc_start(m);
  for (int i = doc_next(m, 0); i > 0; i = doc_next(m, i)) {
    size_t n;
    const char *title = doc_heading(&cursor, m->all[i]->line, &n);
    if (title) {
      fputs("\n---- ", f);
      doc_plain(f, title, n);
      fputs(" ----\n", f);
    }
    put_definition(f, m, i);
  }
}

void doc_text(const Docs *d, FILE *f) {
  for (int i = 0; i < d->n; i++) {
    if (i) fputs("\n\n", f);
    put_module(f, &d->modules[i]);
  }
}
