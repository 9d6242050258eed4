/* SPDX-License-Identifier: MIT */
/* `atled doc`: documents files, or the library, as text or as a folder of pages.
 *
 *   collect     each file is checked in a VM of its own (errors are printed as by `check`), then asked for its
 *               definitions in another one, which keeps them
 *   deliver     only if all files are good: doc_text.c writes text, doc_pages.c pages, each replaced as a whole
 *
 * Nothing of the files is run. Names of pages are those of the files; where two are equal the second has a number. */
#define _GNU_SOURCE /* asprintf */
#include "doc.h"
#include "files.h"
#include "options.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int no_memory(void) {
  fputs("atled: out of memory\n", stderr);
  return EXIT_SOFTWARE;
}

static int not_written(const char *path) {
  fprintf(stderr, "atled: can't write `%s`: %s\n", path, strerror(errno));
  return EXIT_OUTPUT;
}

/* ---- Names of pages ------------------------------------------------------------------------------ */
/* Whether an earlier page, or the index, has the name; on some systems capital letters don't tell names apart. */
static bool is_taken(const Docs *d, const DocModule *m, const char *page) {
  if (strcasecmp(page, "index.html") == 0) return true;
  for (const DocModule *other = d->modules; other < m; other++)
    if (strcasecmp(other->page, page) == 0) return true;
  return false;
}

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* The name of the file without folder and `.atl`, of letters that every system and URL has. */
static char *plain_name(const char *path) {
  const char *slash = strrchr(path, '/');
  char *name = strdup(slash ? slash + 1 : path);
  if (!name) return NULL;
  char *suffix = strrchr(name, '.');
  if (suffix && suffix > name) *suffix = '\0';
  if (strlen(name) > 100) name[100] = '\0';
  for (char *s = name; *s; s++)
    if (!is_plain(*s)) *s = '_';
  return name;
}

static bool name_page(const Docs *d, DocModule *m) {
  char *name = plain_name(m->title);
  for (int k = 1; name; k++) {
    free(m->page);
    int n = k == 1 ? asprintf(&m->page, "%s.html", name) : asprintf(&m->page, "%s-%d.html", name, k);
    if (n < 0) m->page = NULL;
    if (!m->page || !is_taken(d, m, m->page)) break;
  }
  free(name);
  return m->page != NULL;
}

/* ---- Collecting ---------------------------------------------------------------------------------- */
/* Asks for the definitions of a source, or of a module of the library (NULL). The exit status. */
static int collect(const Options *o, Docs *d, DocModule *m, const char *source) {
  AtledConfig config = o->config;
  config.diagnostic = NULL; /* the check has printed them */
  m->vm = new_vm(&config);
  if (!m->vm) return EXIT_SOFTWARE;
  interrupt_target(m->vm);
  AtledStatus status = atled_definitions(m->vm, m->title, source, &m->all, &m->n);
  interrupt_target(NULL);
  print_errors(m->vm, status);
  if (status != ATLED_OK) return exit_status(m->vm, status);
  m->intro = doc_intro(m->all[0]->source, d->library);
  return m->intro && doc_sort_names(m) && name_page(d, m) ? 0 : no_memory();
}

static int check(const Options *o, const char *name, const char *text) {
  AtledVM *vm = new_vm(&o->config);
  if (!vm) return EXIT_SOFTWARE;
  interrupt_target(vm);
  AtledStatus status = atled_check(vm, name, text);
  interrupt_target(NULL);
  return end_vm(vm, status);
}

static bool is_utf8(const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  for (int n; *s; s += n)
    if (!(n = sequence_length(s))) return false;
  return true;
}

static int collect_file(const Options *o, Docs *d, const char *path) {
  char *text = slurp(path);
  if (!text) return no_input(path);
  int status = check(o, shown_name(path), text);
  if (status == 0 && !is_utf8(text)) {
    fprintf(stderr, "atled: `%s` isn't UTF-8\n", shown_name(path));
    status = EXIT_DATA;
  }
  if (status == 0) {
    DocModule *m = &d->modules[d->n++];
    struct stat st;
    m->title = shown_name(path);
    m->has_file = stat(path, &st) == 0;
    if (m->has_file) m->device = st.st_dev, m->inode = st.st_ino;
    status = collect(o, d, m, text);
  }
  free(text);
  return status;
}

static int collect_files(const Options *o, Docs *d) {
  int worst = 0;
  d->modules = calloc((size_t)o->nrest, sizeof *d->modules);
  if (!d->modules) return no_memory();
  for (int i = 0; i < o->nrest && !interrupt_seen() && !ending_seen(); i++) {
    int status = collect_file(o, d, o->rest[i]);
    if (status > worst) worst = status;
  }
  return worst || d->n == o->nrest ? worst : EXIT_SOFTWARE; /* a signal came */
}

/* The prelude, which is the first, and all modules. */
static int collect_library(const Options *o, Docs *d, char **names) {
  int worst = 0;
  for (; names[d->n] && !worst && !interrupt_seen(); d->n++) {
    d->modules[d->n].title = names[d->n];
    worst = collect(o, d, &d->modules[d->n], NULL);
  }
  return worst || !names[d->n] ? worst : EXIT_SOFTWARE; /* a signal came */
}

/* The names of the library's modules, to be freed, as each of them; NULL: there is no memory. */
static char **library_names(AtledVM *vm) {
  const char *const *words;
  size_t start;
  int n = atled_complete(vm, "", &start, &words), found = 1;
  char **names = calloc((size_t)n + 2, sizeof *names);
  if (names) names[0] = strdup("prelude");
  for (int i = 0; names && i < n; i++) {
    size_t len = strlen(words[i]);
    if (len && words[i][len - 1] == '.') names[found++] = strndup(words[i], len - 1);
  }
  return names;
}

/* ---- Delivering ---------------------------------------------------------------------------------- */
/* Writes the page of a module, or the index (NULL), into the folder. */
static int write_page(const Docs *d, const DocModule *m, const char *folder) {
  char *path;
  Replacement r;
  if (asprintf(&path, "%s/%s", folder, m ? m->page : "index.html") < 0) return no_memory();
  FILE *f = replacement_begin(&r, path);
  if (f && m) doc_page(d, m, f);
  else if (f) doc_index(d, f);
  int status = replacement_end(&r) ? 0 : not_written(path);
  free(path);
  return status;
}

static int write_pages(const Docs *d, const char *folder) {
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) return not_written(folder);
  int status = 0;
  for (int i = 0; i < d->n && status == 0; i++) status = write_page(d, &d->modules[i], folder);
  return status ? status : write_page(d, NULL, folder);
}

static int deliver(const Options *o, Docs *d) {
  if (o->build.output) return write_pages(d, o->build.output);
  doc_text(d, stdout);
  return 0;
}

/* ---- The command --------------------------------------------------------------------------------- */
static int document_library(const Options *o, Docs *d) {
  char **names = library_names(d->parts);
  int n = 0;
  while (names && names[n]) n++;
  d->modules = calloc((size_t)n + 1, sizeof *d->modules);
  int status = names && d->modules ? collect_library(o, d, names) : no_memory();
  if (status == 0) status = deliver(o, d);
  for (int i = 0; i < n; i++) free(names[i]);
  free(names);
  return status;
}

static int document_files(const Options *o, Docs *d) {
  int status = collect_files(o, d);
  return status ? status : deliver(o, d);
}

static void free_docs(Docs *d) {
  for (int i = 0; i < d->n; i++) {
    atled_free(d->modules[i].vm);
    free(d->modules[i].page);
    free(d->modules[i].names);
    free(d->modules[i].intro);
  }
  free(d->modules);
  atled_free(d->parts);
}

int document(Options *o) {
  bool both = o->text && o->build.output;
  if (both || o->library == (o->nrest > 0)) return options_refuse(o->verb);
  AtledConfig config = o->config;
  config.diagnostic = NULL;
  Docs d = {.library = o->library, .parts = new_vm(&config)};
  if (!d.parts) return EXIT_SOFTWARE;
  int status = o->library ? document_library(o, &d) : document_files(o, &d);
  free_docs(&d);
  return status;
}
