/* SPDX-License-Identifier: MIT */
/* The header of a library that is built ahead of time: C99 and C++. */
#include "api/build.h"
#include <ctype.h>
#include <string.h>

/* ---- Declarations ------------------------------------------------------------------------------------------------ */
static const char *scalar_type(const BuildPart *p) {
  switch (p->part.kind) {
  case BUILT_INT: return "int64_t";
  case BUILT_BOOL: return "int";
  case BUILT_FLOAT: return "double";
  default: return p->floats ? "double" : "int64_t";
  }
}

static void declare_sizes(const BuildPart *p, Arena *arena, BuildDeclare add, void *user) {
  for (int k = 0; k < p->part.rank; k++)
    add(user, "size_t ",
        p->part.rank > 1 ? arena_printf(arena, "%s_n%d", p->name, k) : arena_printf(arena, "%s_n", p->name));
}

void build_declarations(const BuildFunction *f, Arena *arena, BuildDeclare add, void *user) {
  for (int k = 0; k < f->params.len; k++) {
    const BuildPart *p = &f->params.data[k];
    bool array = p->part.kind == BUILT_ARRAY;
    add(user, arena_printf(arena, array ? "const %s *" : "%s ", scalar_type(p)), p->name);
    if (array) declare_sizes(p, arena, add, user);
  }
  for (int k = 0; k < f->results.len; k++) {
    const BuildPart *p = &f->results.data[k];
    add(user, arena_printf(arena, "%s *", scalar_type(p)), p->name);
    if (p->part.kind != BUILT_ARRAY || p->part.like >= 0) continue;
    add(user, "size_t ", arena_printf(arena, "%s_room", p->name));
    add(user, "size_t *", arena_printf(arena, "%s_dims", p->name));
  }
}

typedef struct Declaration {
  Str *out;
  int n, column;
} Declaration;

static void add_declaration(void *user, const char *type, const char *name) {
  enum { WIDTH = 100, INDENT = 4 };
  Declaration *d = user;
  int width = (int)(strlen(type) + strlen(name)) + 2;
  if (d->n++) str_puts(d->out, ",");
  if (d->column + width > WIDTH) {
    str_printf(d->out, "\n%*s", INDENT, "");
    d->column = INDENT;
  } else if (d->n > 1) {
    str_puts(d->out, " ");
  }
  str_printf(d->out, "%s%s", type, name);
  d->column += width;
}

/* ---- Comments ---------------------------------------------------------------------------------------------------- */
/* Text of the program's, which may hold the end of a comment. */
static void add_text(Str *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '\n' && c[1]) str_puts(out, "\n * ");
    else if (*c == '/' && c > text && c[-1] == '*') str_puts(out, " /");
    else if (*c == '*' && c > text && c[-1] == '/') str_puts(out, " *");
    else if (*c != '\n') str_addc(out, *c);
  }
}

static const char *upper(Arena *arena, const char *s) {
  char *copy = arena_strndup(arena, s, strlen(s));
  for (char *c = copy; *c; c++) *c = (char)toupper((unsigned char)*c);
  return copy;
}

/* "double[x_n0][x_n1]", of the sizes that the parameter has, or that the result is told. */
static void describe_array(Str *out, const BuildPart *p, const char *sizes_of, bool told) {
  str_puts(out, scalar_type(p));
  for (int k = 0; k < p->part.rank; k++) {
    if (told) str_printf(out, "[%s_dims[%d]]", sizes_of, k);
    else if (p->part.rank > 1) str_printf(out, "[%s_n%d]", sizes_of, k);
    else str_printf(out, "[%s_n]", sizes_of);
  }
  if (p->width > 1) str_printf(out, "[%d]", p->width);
}

/* What the program calls it, where that is something else. */
static void describe_origin(Str *out, const BuildPart *p, const char *between) {
  if (strcmp(p->doc, p->name) == 0) return;
  str_puts(out, between);
  add_text(out, p->doc);
}

static void describe_parameter(Str *out, const BuildPart *p) {
  bool array = p->part.kind == BUILT_ARRAY, flag = p->part.kind == BUILT_BOOL;
  if (!array && !flag && strcmp(p->doc, p->name) == 0) return;
  str_printf(out, " *   %s: ", p->name);
  if (array) describe_array(out, p, p->name, false);
  if (flag) str_puts(out, "true unless 0");
  describe_origin(out, p, array || flag ? ", " : "");
  str_puts(out, "\n");
}

static void describe_result(Str *out, const BuildFunction *f, const BuildPart *p) {
  bool array = p->part.kind == BUILT_ARRAY;
  str_printf(out, " *   %s: ", p->name);
  if (array && p->part.like >= 0) describe_array(out, p, f->params.data[p->part.like].name, false);
  else if (array) describe_array(out, p, p->name, true);
  if (array && p->part.like < 0) str_printf(out, ", room for %s_room elements", p->name);
  if (array) str_puts(out, ", ");
  add_text(out, p->doc);
  if (p->part.kind == BUILT_BOOL) str_puts(out, ", 0 or 1");
  str_puts(out, "\n");
}

static void describe(Build *b, const BuildFunction *f) {
  Str *out = &b->header;
  str_puts(out, "\n/* ");
  add_text(out, f->wanted);
  if (f->form) {
    str_puts(out, f->form == BUILD_GRADIENT ? ", value and gradient of " : ", value and pullback of ");
    add_text(out, f->name);
  }
  str_puts(out, " : ");
  add_text(out, f->text);
  if (f->doc && *f->doc) {
    str_puts(out, "\n * ");
    add_text(out, f->doc);
  }
  str_puts(out, "\n");
  for (int k = 0; k < f->params.len; k++) describe_parameter(out, &f->params.data[k]);
  str_puts(out, " * Gives\n");
  for (int k = 0; k < f->results.len; k++) describe_result(out, f, &f->results.data[k]);
  str_puts(out, " */\n");
}

/* ---- The header -------------------------------------------------------------------------------------------------- */
static void declare(Build *b, const BuildFunction *f) {
  Declaration d = {.out = &b->header};
  int from = (int)b->header.len;
  str_printf(&b->header, "int %s(", f->c_name);
  d.column = (int)b->header.len - from;
  build_declarations(f, &b->arena, add_declaration, &d);
  str_puts(&b->header, ");\n");
}

static void head(Build *b) {
  static const char *const levels[] = {"any processor", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const char *p = b->prefix, *u = upper(&b->arena, b->prefix);
  Str *out = &b->header;
  str_printf(out, "/* Made by atled %s ahead of time, for %s.\n *\n", atled_version(), levels[b->cpu]);
  str_printf(
      out,
      " * Each function returns a status, %s_OK or why it failed; %s_last_error says more. After a failure no\n"
      " * result was written.\n"
      " * Arrays: elements lie one after the other in row-major order, and sizes count elements. Those that\n"
      " * are passed are read during the call and never changed. NULL is allowed for none.\n"
      " * Results go to the caller's memory; NULL: not wanted. A result may overwrite an argument. Of an array whose\n"
      " * size the header doesn't give, x_dims gets the sizes also where x is NULL, or x_room too little\n"
      " * (%s_BAD_ROOM).\n"
      " * Any thread may call, several at the same time. Each has memory of its own, which it keeps until it ends.\n"
      " * The caller's stack is used, 256 KB at most, and the caller's rounding mode. Don't call from a signal\n"
      " * handler, nor across dlclose. A forked child may call. No limit of time and no interrupt ends a call. */\n",
      u, p, u);
  str_printf(out,
             "#ifndef %s_H\n#define %s_H\n#include <stddef.h>\n#include <stdint.h>\n\n"
             "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
             "enum {\n  %s_OK = 0,\n  %s_BAD_ARGUMENT = 1, /* NULL for elements, or too many of them */\n"
             "  %s_BAD_ROOM = 2,     /* a result has more elements than there is room for */\n"
             "  %s_FAILED = 3,       /* an error of the program: an index, a size, `fail`, too deep a recursion */\n"
             "  %s_NO_MEMORY = 4,\n  %s_WRONG_CPU = 5,    /* this processor lacks instructions that are needed */\n"
             "  %s_NO_FUNCTIONS = 6  /* SLEEF, whose `exp`, `sin` and others are called, isn't installed */\n};\n\n"
             "/* The message of this thread's last call that failed, with its place in the program; \"\" if none has.\n"
             " * Valid until the thread's next call. */\nconst char *%s_last_error(void);\n",
             u, u, u, u, u, u, u, u, u, p);
}

static void add_left(Build *b) {
  if (!b->left.len) return;
  str_puts(&b->header, "\n/* Not here:\n");
  for (int k = 0; k < b->left.len; k++) {
    str_puts(&b->header, " *   ");
    add_text(&b->header, b->left.data[k].name);
    str_puts(&b->header, ": ");
    add_text(&b->header, b->left.data[k].why);
    str_puts(&b->header, "\n");
  }
  str_puts(&b->header, " */\n");
}

void build_header(Build *b) {
  b->header = (Str){.arena = &b->arena};
  head(b);
  for (int k = 0; k < b->functions.len; k++) {
    describe(b, b->functions.data[k]);
    declare(b, b->functions.data[k]);
  }
  add_left(b);
  str_puts(&b->header, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
