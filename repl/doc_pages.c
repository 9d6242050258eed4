/* SPDX-License-Identifier: MIT */
/* `atled doc` as HTML: a page for each module, and the index.
 *
 * Pages stand alone: style and script (doc.css, doc.js) are in them, links lead to places in them and to pages beside
 * them, and a policy forbids all else. Without scripts the index lists all names; with them it has a search box. The
 * ids of definitions have a point in them (doc_id), those of headings a hyphen. */
#include "doc.h"
#include "texts.h"
#include <string.h>

static void put(FILE *f, const char *text) { doc_html(f, text, strlen(text)); }

static bool is_kind(const AtledDefinition *d, const char *kind) { return strcmp(d->kind, kind) == 0; }

/* ---- Around a page ------------------------------------------------------------------------------- */
static void begin_page(FILE *f, const char *title) {
  fputs("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n<title>",
        f);
  put(f, title);
  fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", (const char *)doc_style);
}

static void end_page(FILE *f) { fputs("</main>\n</body>\n</html>\n", f); }

static void put_link(FILE *f, const DocModule *from, const DocTarget *t) {
  fputs("<a href=\"", f);
  doc_href(from, f, t);
  fputs("\">", f);
  put(f, t->definition->name);
  fputs("</a>", f);
}

/* ---- Definitions --------------------------------------------------------------------------------- */
static void put_value_head(const Docs *d, const DocModule *m, FILE *f, const AtledDefinition *v) {
  fputs("<b>", f);
  put(f, v->name);
  fputs("</b>", f);
  for (int i = 0; i < v->parameter_count; i++) {
    fputs(" <i>", f);
    put(f, v->parameters[i]);
    fputs("</i>", f);
  }
  fputs(" : ", f);
  doc_type(d, m, f, v->type);
}

static void put_import_head(const Docs *d, const DocModule *m, FILE *f, const AtledDefinition *v) {
  const DocModule *other = doc_imported(d, m, v->name, strlen(v->name));
  fputs("import ", f);
  if (other) {
    fputs("<a href=\"", f);
    doc_fragment(f, other->page);
    fputs("\">", f);
  }
  put(f, v->file ? v->file : v->name);
  fprintf(f, "%s as <b>", other ? "</a>" : "");
  put(f, v->name);
  fputs("</b>", f);
}

static void put_head(const Docs *d, const DocModule *m, FILE *f, const AtledDefinition *v) {
  fputs("<h3><code>", f);
  if (is_kind(v, "type")) {
    fputs("type <b>", f);
    put(f, v->name);
    fputs("</b>", f);
  } else if (is_kind(v, "import")) {
    put_import_head(d, m, f, v);
  } else {
    put_value_head(d, m, f, v);
  }
  fprintf(f, "</code> <small>line %d</small></h3>\n", v->line);
}

/* The constructors or fields behind type number i. */
static void put_parts(const Docs *d, const DocModule *m, FILE *f, int i) {
  const AtledDefinition *type = m->all[i];
  int k = i + 1;
  for (; k < m->n && doc_is_part(m->all[k]); k++) {
    fputs(k == i + 1 ? "<ul class=\"parts\">\n<li id=\"" : "<li id=\"", f);
    doc_id(f, m->all[k], type);
    fputs("\"><code><b>", f);
    put(f, m->all[k]->name);
    fputs("</b> : ", f);
    doc_type(d, m, f, m->all[k]->type);
    fputs("</code></li>\n", f);
  }
  if (k > i + 1) fputs("</ul>\n", f);
}

static void put_definition(const Docs *d, const DocModule *m, FILE *f, int i) {
  const AtledDefinition *v = m->all[i];
  fputs("<section id=\"", f);
  doc_id(f, v, NULL);
  fputs("\">\n", f);
  put_head(d, m, f, v);
  if (is_kind(v, "type")) {
    fputs("<pre><code>", f);
    doc_code(d, m, f, v->source, strlen(v->source));
    fputs("</code></pre>\n", f);
  }
  if (v->doc) doc_comment(d, m, f, v->doc);
  if (is_kind(v, "type")) put_parts(d, m, f, i);
  fputs("</section>\n", f);
}

/* ---- A module ------------------------------------------------------------------------------------ */
static void put_contents(const DocModule *m, FILE *f) {
  fputs("<nav>\n<p><a href=\"index.html\">Index</a></p>\n<ul>\n", f);
  for (int i = doc_next(m, 0); i > 0; i = doc_next(m, i)) {
    fputs("<li>", f);
    put_link(f, m, &(DocTarget){m, m->all[i], NULL});
    fputs("</li>\n", f);
  }
  fputs("</ul>\n</nav>\n<main>\n", f);
}

void doc_page(const Docs *d, const DocModule *m, FILE *f) {
  DocCursor cursor = doc_start(m);
  int sections = 0;
  begin_page(f, m->title);
  put_contents(m, f);
  fputs("<h1>", f);
  put(f, m->title);
  fputs("</h1>\n", f);
  doc_comment(d, m, f, m->intro);
  for (int i = doc_next(m, 0); i > 0; i = doc_next(m, i)) {
    size_t n;
    const char *title = doc_heading(&cursor, m->all[i]->line, &n);
    if (title) {
      fprintf(f, "<h2 id=\"section-%d\">", ++sections);
      doc_html(f, title, n);
      fputs("</h2>\n", f);
    }
    put_definition(d, m, f, i);
  }
  end_page(f);
}

/* ---- The index ----------------------------------------------------------------------------------- */
typedef void PutEntry(FILE *f, const DocTarget *t, bool first);

/* Calls the function for all public definitions but imports, with the parts of types. */
static void each_entry(const Docs *d, FILE *f, PutEntry *put_entry) {
  bool first = true;
  for (int j = 0; j < d->n; j++) {
    const DocModule *m = &d->modules[j];
    for (int i = doc_next(m, 0); i > 0; i = doc_next(m, i)) {
      if (is_kind(m->all[i], "import")) continue;
      put_entry(f, &(DocTarget){m, m->all[i], NULL}, first);
      first = false;
      for (int k = i + 1; k < m->n && doc_is_part(m->all[k]); k++)
        put_entry(f, &(DocTarget){m, m->all[k], m->all[i]}, false);
    }
  }
}

/* [name, kind, type, module, link, summary] */
static void put_search_entry(FILE *f, const DocTarget *t, bool first) {
  const AtledDefinition *v = t->definition;
  const char *texts[] = {v->name, v->kind, v->type ? v->type : "", t->module->title}, *summary = "";
  size_t n = v->doc ? doc_summary(v->doc, &summary) : 0;
  fputs(first ? "\n[" : ",\n[", f);
  for (int i = 0; i < 4; i++) {
    doc_json(f, texts[i], strlen(texts[i]));
    fputs(", ", f);
  }
  fputs("\"", f);
  doc_href(NULL, f, t);
  fputs("\", ", f);
  doc_json(f, summary, n);
  putc(']', f);
}

static void put_listed(FILE *f, const DocTarget *t, bool first) {
  (void)first;
  fputs("<li><code>", f);
  put_link(f, NULL, t);
  if (t->definition->type) fputs(" : ", f);
  put(f, t->definition->type ? t->definition->type : "");
  fprintf(f, "</code> <small>%s in ", t->definition->kind);
  put(f, t->module->title);
  fputs("</small></li>\n", f);
}

static void put_modules(const Docs *d, FILE *f) {
  fputs("<ul>\n", f);
  for (int i = 0; i < d->n; i++) {
    const char *summary;
    size_t n = doc_summary(d->modules[i].intro, &summary);
    fputs("<li><a href=\"", f);
    doc_fragment(f, d->modules[i].page);
    fputs("\">", f);
    put(f, d->modules[i].title);
    fputs(n ? "</a>: " : "</a>", f);
    if (n) doc_words(d, &d->modules[i], f, summary, n);
    fputs("</li>\n", f);
  }
  fputs("</ul>\n", f);
}

void doc_index(const Docs *d, FILE *f) {
  begin_page(f, d->library ? "The standard library" : "Index");
  fprintf(f, "<main>\n<h1>%s</h1>\n", d->library ? "The standard library" : "Index");
  fputs("<p id=\"search\" hidden><input id=\"query\" type=\"search\" placeholder=\"Search (/)\" "
        "aria-label=\"Search names, types and comments\" autocomplete=\"off\"></p>\n"
        "<ol id=\"results\" hidden></ol>\n<div id=\"everything\">\n<h2 id=\"modules\">Modules</h2>\n",
        f);
  put_modules(d, f);
  fputs("<h2 id=\"names\">Names</h2>\n<ul class=\"names\">\n", f);
  each_entry(d, f, put_listed);
  fputs("</ul>\n</div>\n<script>\nconst entries = [", f);
  each_entry(d, f, put_search_entry);
  fprintf(f, "];\n%s</script>\n", (const char *)doc_script);
  end_page(f);
}
