/* SPDX-License-Identifier: MIT */
/* `atled doc`: what is documented of a source, and what names in it mean.
 *
 * The definitions of a module stand in their order, the first being the source itself; constructors and fields stand
 * behind their type. Headings and the introduction are read from the source's text; a comment is a sequence of blocks:
 * paragraphs, list items (`- `), and examples, which are fenced or indented by four blanks. */
#include "doc.h"
#include <stdlib.h>
#include <string.h>

/* ---- Definitions --------------------------------------------------------------------------------- */
bool doc_is_part(const AtledDefinition *d) {
  return strcmp(d->kind, "constructor") == 0 || strcmp(d->kind, "field") == 0;
}

static bool is_public(const AtledDefinition *d) { return d->name[0] != '_' && !doc_is_part(d); }

int doc_next(const DocModule *m, int i) {
  for (i++; i < m->n; i++)
    if (is_public(m->all[i])) return i;
  return -1;
}

/* ---- Lines --------------------------------------------------------------------------------------- */
static const char *line_end(const char *line) { return line + strcspn(line, "\n"); }

static const char *next_line(const char *line) {
  const char *end = line_end(line);
  return *end ? end + 1 : end;
}

static bool begins_with(const char *line, const char *word) { return strncmp(line, word, strlen(word)) == 0; }

static bool is_blank(const char *line) { return !line[strspn(line, " \t\r")] || line[strspn(line, " \t\r")] == '\n'; }

/* The title in `# ---- Title ---`; NULL: the line is no heading. */
static const char *title_in(const char *line, size_t *n) {
  if (!begins_with(line, "# ----")) return NULL;
  const char *start = line + strspn(line, "# -"), *end = line_end(line);
  while (end > start && strchr("- \t\r", end[-1])) end--;
  *n = (size_t)(end - start);
  return *n ? start : NULL;
}

DocCursor doc_start(const DocModule *m) { return (DocCursor){m->all[0]->source, 1}; }

const char *doc_heading(DocCursor *c, int before, size_t *n) {
  const char *found = NULL;
  size_t len;
  for (; *c->at && c->line < before; c->line++, c->at = next_line(c->at)) {
    const char *title = title_in(c->at, &len);
    if (title) found = title, *n = len;
  }
  return found;
}

/* ---- The introduction ---------------------------------------------------------------------------- */
static bool is_licence(const char *line) { return begins_with(line, "SPDX-License-Identifier:"); }

/* A comment line without its marks. */
static const char *commented(const char *line) {
  line += strspn(line, "#");
  return line + (*line == ' ');
}

char *doc_intro(const char *text, bool paragraph) {
  char *out = malloc(strlen(text) + 2), *to = out;
  const char *line = begins_with(text, "#!") ? next_line(text) : text;
  bool over = false;
  if (!out) return NULL;
  for (; *line == '#' && !begins_with(line, "# ----"); line = next_line(line)) {
    const char *from = commented(line);
    size_t n = (size_t)(line_end(from) - from);
    if (is_licence(from)) continue;
    over |= paragraph && n == 0 && to > out;
    if (over) continue;
    memcpy(to, from, n);
    to += n;
    *to++ = '\n';
  }
  if (!is_blank(line)) to = out; /* it is the comment of what is below */
  *to = '\0';
  return out;
}

/* ---- Blocks of a comment ------------------------------------------------------------------------- */
static bool is_fence(const char *line) { return begins_with(line + strspn(line, " "), "```"); }
static bool is_bullet(const char *line) {
  return begins_with(line + strspn(line, " "), "- ") || begins_with(line + strspn(line, " "), "* ");
}
static bool is_indented(const char *line) { return *line == '\t' || begins_with(line, "    "); }
static bool is_example(const char *line) { return begins_with(line, "Example:"); }
/* What isn't shown: blank lines, the licence, rules between parts of the source. */
static bool is_left_out(const char *line) { return is_blank(line) || is_licence(line) || begins_with(line, "----"); }

static bool take_fence(const char **at, DocBlock *out) {
  const char *fence = *at, *line = next_line(fence);
  *out = (DocBlock){DOC_CODE, line, line, strspn(fence, " ")};
  while (*line && !is_fence(line)) line = next_line(line);
  out->end = line;
  *at = next_line(line);
  return true;
}

/* Indented lines, and blank ones between them. */
static bool take_indented(const char **at, DocBlock *out) {
  *out = (DocBlock){DOC_CODE, *at, *at, **at == '\t' ? 1 : 4};
  for (const char *line = *at; *line && (is_indented(line) || is_blank(line)); line = next_line(line))
    if (!is_blank(line)) out->end = next_line(line);
  *at = out->end;
  return true;
}

/* Lines up to what begins something else, a line `Example:` too; those of a list item may be indented. */
static bool take_lines(const char **at, DocBlock *out) {
  bool bullet = is_bullet(*at);
  const char *line = next_line(*at);
  *out = (DocBlock){bullet ? DOC_BULLET : DOC_PARAGRAPH, *at, line, 0};
  if (bullet) out->start += strspn(out->start, " ") + 2;
  while (*line && !is_left_out(line) && !is_fence(line) && !is_bullet(line) && !is_example(line) &&
         (bullet || !is_indented(line)))
    line = next_line(line);
  out->end = *at = line;
  return true;
}

bool doc_block(const char **at, DocBlock *out) {
  while (**at && is_left_out(*at)) *at = next_line(*at);
  if (!**at) return false;
  if (is_fence(*at)) return take_fence(at, out);
  if (is_indented(*at)) return take_indented(at, out);
  return take_lines(at, out);
}

size_t doc_summary(const char *comment, const char **start) {
  DocBlock b;
  if (!doc_block(&comment, &b) || b.kind != DOC_PARAGRAPH) return 0;
  *start = b.start;
  for (const char *s = b.start; s < b.end; s++)
    if (*s == '.' && (s + 1 == b.end || strchr(" \n", s[1]))) return (size_t)(s + 1 - b.start);
  return (size_t)(b.end - b.start);
}

/* ---- What names mean ----------------------------------------------------------------------------- */
static bool is_named(const char *text, const char *name, size_t n) {
  return strncmp(text, name, n) == 0 && text[n] == '\0';
}

static bool is_in(const AtledDefinition *d, DocSpace space) {
  bool type = strcmp(d->kind, "type") == 0;
  bool value = strcmp(d->kind, "value") == 0 || strcmp(d->kind, "constructor") == 0;
  return space == DOC_TYPE ? type : value;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const DocName *)a)->definition->name, ((const DocName *)b)->definition->name);
}

bool doc_sort_names(DocModule *m) {
  const AtledDefinition *type = NULL;
  m->names = calloc((size_t)m->n + 1, sizeof *m->names);
  if (!m->names) return false;
  for (int i = 1; i < m->n; i++) {
    if (!doc_is_part(m->all[i])) type = m->all[i];
    if (type->name[0] != '_') m->names[m->nnames++] = (DocName){m->all[i], type};
  }
  qsort(m->names, (size_t)m->nnames, sizeof *m->names, by_name);
  return true;
}

/* The place of the first of the sorted names that isn't before this one. A name stands before those that it begins. */
static int place_of(const DocModule *m, const char *name, size_t n) {
  int low = 0, high = m->nnames;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (strncmp(m->names[middle].definition->name, name, n) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool find_in(const DocModule *m, const char *name, size_t n, DocSpace space, DocTarget *out) {
  for (int i = place_of(m, name, n); i < m->nnames && is_named(m->names[i].definition->name, name, n); i++) {
    if (!is_in(m->names[i].definition, space)) continue;
    *out = (DocTarget){m, m->names[i].definition, m->names[i].type};
    return true;
  }
  return false;
}

const DocModule *doc_imported(const Docs *d, const DocModule *m, const char *name, size_t n) {
  struct stat st;
  const char *file = NULL;
  for (int i = 1; i < m->n; i++)
    if (strcmp(m->all[i]->kind, "import") == 0 && is_named(m->all[i]->name, name, n)) file = m->all[i]->file;
  bool found = file && stat(file, &st) == 0;
  for (int i = 0; i < d->n; i++) {
    const DocModule *other = &d->modules[i];
    if (d->library && is_named(other->title, name, n)) return other;
    if (found && other->has_file && other->device == st.st_dev && other->inode == st.st_ino) return other;
  }
  return NULL;
}

bool doc_find(const Docs *d, const DocModule *m, const char *name, size_t n, DocSpace space, DocTarget *out) {
  const char *point = memchr(name, '.', n);
  if (point) {
    const DocModule *other = doc_imported(d, m, name, (size_t)(point - name));
    size_t rest = n - (size_t)(point + 1 - name);
    return other && rest && find_in(other, point + 1, rest, space, out);
  }
  if (find_in(m, name, n, space, out)) return true;
  return d->library && find_in(&d->modules[0], name, n, space, out); /* the prelude */
}
