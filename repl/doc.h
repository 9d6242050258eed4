/* SPDX-License-Identifier: MIT */
/* `atled doc`: what its files share. Definitions come from atled_definitions. */
#ifndef ATLED_DOC_H
#define ATLED_DOC_H
#include "repl.h"
#include <sys/stat.h>

/* A definition under its name; type: that it is a part of, or itself. */
typedef struct DocName {
  const AtledDefinition *definition, *type;
} DocName;

typedef struct DocModule {
  const char *title; /* the file as messages call it, or the module's name */
  char *page;        /* the name of its page */
  AtledVM *vm;       /* whose last call gave the definitions */
  const AtledDefinition *const *all;
  int n;
  DocName *names; /* of public definitions and their parts, sorted: nnames */
  int nnames;
  char *intro; /* the comment at the head of the source; "": none */
  bool has_file;
  dev_t device; /* of the file, if it has one */
  ino_t inode;
} DocModule;

typedef struct Docs {
  DocModule *modules;
  int n;
  bool library;
  AtledVM *parts; /* for the parts of examples */
} Docs;

/* ---- doc_items.c ---- */
/* The next public definition after number i (0: the first), without constructors and fields; -1: there is none. */
int doc_next(const DocModule *m, int i);
/* Is it a constructor or a field of the type before it? */
bool doc_is_part(const AtledDefinition *d);
/* A place in the text of a source. */
typedef struct DocCursor {
  const char *at;
  int line;
} DocCursor;
DocCursor doc_start(const DocModule *m);
/* The text of the last heading `# ---- Title ---` between the cursor and a line, to which that moves; NULL: there is
 * none. */
const char *doc_heading(DocCursor *c, int before, size_t *n);
/* The comment at the head of a source, if an empty line follows it, without its licence, to be freed; NULL: there is no
 * memory. paragraph: the first one alone. */
char *doc_intro(const char *text, bool paragraph);

typedef enum DocBlockKind { DOC_PARAGRAPH, DOC_BULLET, DOC_CODE } DocBlockKind;
/* Lines of a comment: [start, end). */
typedef struct DocBlock {
  DocBlockKind kind;
  const char *start, *end;
  size_t indent; /* DOC_CODE: blanks at the beginning of each line that aren't part of it */
} DocBlock;
/* The next block from *at on, which moves behind it. False: there is none. */
bool doc_block(const char **at, DocBlock *out);

/* The first sentence of a comment: its bytes from *start on; 0: it doesn't begin with one. */
size_t doc_summary(const char *comment, const char **start);

/* Sorts the names of a module, to be freed. False: there is no memory. */
bool doc_sort_names(DocModule *m);
/* A definition that a name means. */
typedef struct DocTarget {
  const DocModule *module;
  const AtledDefinition *definition, *type; /* type: of a constructor */
} DocTarget;
typedef enum DocSpace { DOC_VALUE, DOC_TYPE } DocSpace;
/* What `name`, of n bytes, means in the module m, perhaps behind `Module.`. False: nothing that is documented. */
bool doc_find(const Docs *d, const DocModule *m, const char *name, size_t n, DocSpace space, DocTarget *out);

/* What is documented of the file that m imports under this name, or of the library's module; NULL: nothing is. */
const DocModule *doc_imported(const Docs *d, const DocModule *m, const char *name, size_t n);

/* ---- doc_text.c ---- */
void doc_text(const Docs *d, FILE *f); /* all modules */

/* ---- doc_escape.c ---- */
/* Text of any bytes: what is no UTF-8, or a control character other than tab and line end, becomes U+FFFD. */
void doc_plain(FILE *f, const char *text, size_t n);
void doc_html(FILE *f, const char *text, size_t n); /* for elements and quoted attributes */
void doc_json(FILE *f, const char *text, size_t n); /* as a string in a script of a page */
void doc_fragment(FILE *f, const char *text);       /* as a part of a URL */

/* ---- doc_comment.c ---- */
/* A comment as HTML; examples are highlighted, and names that are documented are links. */
void doc_comment(const Docs *d, const DocModule *m, FILE *f, const char *comment);
/* n bytes of a comment of the module m for the index: words, and code in backquotes. */
void doc_words(const Docs *d, const DocModule *m, FILE *f, const char *text, size_t n);
/* An example, a type, likewise. */
void doc_code(const Docs *d, const DocModule *m, FILE *f, const char *text, size_t n);
void doc_type(const Docs *d, const DocModule *m, FILE *f, const char *text);
/* The id of a definition on its page; type: of a constructor or field. And a link to it from a page; NULL: from
 * the index. */
void doc_id(FILE *f, const AtledDefinition *d, const AtledDefinition *type);
void doc_href(const DocModule *from, FILE *f, const DocTarget *t);

/* ---- doc_pages.c ---- */
void doc_page(const Docs *d, const DocModule *m, FILE *f);
void doc_index(const Docs *d, FILE *f);
#endif
