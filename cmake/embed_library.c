/* SPDX-License-Identifier: MIT */
/* Run when Atled is built: makes the modules of stdlib/ a part of the library.
 *
 * usage: embed_library OUTPUT FILE.atl…
 *
 * Writes a C file that defines stdlib_files (src/api/stdlib_files.h): of each file its text, where its lines begin,
 * and the index of its items, all of them constants without pointers among them. So a VM finds an item by its name
 * without reading the others, and processes share the pages. The compiler's own lexer and splitter find the items. */
#include "parser/parser.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void stop(const char *what, const char *path) {
  fprintf(stderr, "embed_library: %s %s\n", what, path);
  exit(1);
}

static char *read_file(Arena *arena, const char *path, size_t *len) {
  Str text = {.arena = arena};
  char bytes[4096];
  FILE *f = fopen(path, "rb");
  if (!f) stop("can't open", path);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0;) str_add(&text, bytes, n);
  if (ferror(f)) stop("can't read", path);
  fclose(f);
  *len = text.len;
  return text.data;
}

/* "stdlib/Linalg.atl" → "Linalg" */
static const char *module_name(Arena *arena, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  return arena_strndup(arena, name, dot ? (size_t)(dot - name) : strlen(name));
}

/* ---- Arrays ------------------------------------------------------------------------ */

/* The k-th element of an array, as a C initialiser. */
typedef void WriteElement(FILE *out, const void *array, int k);

static void write_byte(FILE *out, const void *bytes, int k) { fprintf(out, "%d", ((const unsigned char *)bytes)[k]); }

static void write_offset(FILE *out, const void *offsets, int k) { fprintf(out, "%u", ((const uint32_t *)offsets)[k]); }

static void write_number(FILE *out, const void *numbers, int k) { fprintf(out, "%d", ((const uint16_t *)numbers)[k]); }

static void write_item(FILE *out, const void *items, int k) {
  const IndexItem *item = (const IndexItem *)items + k;
  fprintf(out, "{%u, %u}", item->start, item->end);
}

static void write_name(FILE *out, const void *names, int k) {
  const IndexName *n = (const IndexName *)names + k;
  fprintf(out, "{%u, %d, %d, %d}", n->text, n->item, n->space, n->is_exported);
}

/* With a last element that is zero: so none is empty, and a text has its NUL. */
static void write_array(FILE *out, const char *type, const char *module, const char *what, WriteElement *write,
                        const void *array, int n) {
  fprintf(out, "static const %s %s_%s[] = {", type, module, what);
  for (int k = 0; k < n; k++) {
    fputs(k % 16 == 0 ? "\n" : "", out);
    write(out, array, k);
    fputc(',', out);
  }
  fprintf(out, "%s};\n", strncmp(type, "Index", 5) == 0 ? "{0}" : "0");
}

/* ---- Files ------------------------------------------------------------------------- */

static int pool_size(const ItemIndex *x) {
  const IndexName *last = x->names + x->nnames - 1;
  return x->nnames ? (int)(last->text + strlen(x->pool + last->text) + 1) : 0;
}

static void write_module(FILE *out, const char *module, const Source *src, const ItemIndex *x) {
  write_array(out, "unsigned char", module, "text", write_byte, src->text, (int)src->len);
  write_array(out, "uint32_t", module, "lines", write_offset, src->lines, src->nlines);
  write_array(out, "IndexItem", module, "items", write_item, x->items, x->nitems);
  write_array(out, "IndexName", module, "names", write_name, x->names, x->nnames);
  write_array(out, "uint16_t", module, "sorted", write_number, x->sorted, x->nsorted);
  write_array(out, "unsigned char", module, "pool", write_byte, x->pool, pool_size(x));
}

static void write_row(FILE *out, const char *module, const Source *src, const ItemIndex *x) {
  fprintf(out, "  {\"%s\", \"%s.atl\", (const char *)%s_text, %zu, %s_lines, %d,\n", module, module, module, src->len,
          module, src->nlines);
  fprintf(out, "   {%s_items, %d, %s_names, %d, %s_sorted, %d, (const char *)%s_pool}},\n", module, x->nitems, module,
          x->nnames, module, x->nsorted, module);
}

static void embed(FILE *out, Arena *arena, Lexer *lx, int n, char **paths) {
  SymTable syms;
  Sources sources;
  symtable_init(&syms, arena);
  sources_init(&sources, arena);
  ItemIndex **indices = NEW_ARRAY(arena, ItemIndex *, n);
  fputs("/* Made from stdlib/ by cmake/embed_library.c. */\n#include \"api/stdlib_files.h\"\n", out);
  for (int i = 0; i < n; i++) {
    size_t len = 0;
    char *text = read_file(arena, paths[i], &len);
    const Source *src = sources_get(&sources, sources_add(&sources, paths[i], text ? text : "", len));
    indices[i] = index_items(lx, arena, &syms, src);
    write_module(out, module_name(arena, paths[i]), src, indices[i]);
  }
  fputs("const StdlibFile stdlib_files[] = {\n", out);
  for (int i = 0; i < n; i++)
    write_row(out, module_name(arena, paths[i]), sources_get(&sources, (uint32_t)i + 1), indices[i]);
  fputs("  {0}};\n", out);
}

int main(int argc, char **argv) {
  if (argc < 2) stop("usage: embed_library", "OUTPUT FILE.atl…");
  Heap heap;
  Arena arena;
  jmp_buf no_memory;
  heap_init(&heap);
  arena_init(&arena, &heap);
  heap.on_oom = &no_memory;
  if (setjmp(no_memory)) stop("no memory for", argv[1]);
  Lexer *lx = lexer_new(&heap, 0);
  FILE *out = fopen(argv[1], "wb");
  if (!lx || !out) stop("can't write", argv[1]);
  embed(out, &arena, lx, argc - 2, argv + 2);
  if (fflush(out) != 0 || ferror(out) || fclose(out) != 0) {
    remove(argv[1]);
    stop("can't write", argv[1]);
  }
  lexer_free(lx);
  arena_free(&arena);
  return 0;
}
