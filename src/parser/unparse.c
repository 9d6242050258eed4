/* SPDX-License-Identifier: MIT */
/* The syntax tree as S-expressions, one item per line, for looking at what the
 * parser made of a text.
 *
 * Trees of long chains are as deep as the chain is long, so nothing recurses:
 * a worklist holds what is still to be written. To write a node is to replace
 * it by its parts: they are listed in order, then the list is turned over so
 * that the first comes off the stack first. */
#include "parser/parser.h"
#include <string.h>

typedef enum { TODO_TEXT, TODO_EXPR, TODO_PAT, TODO_TYPE } TodoKind;

typedef struct Todo {
  TodoKind kind;
  const void *what;
} Todo;

typedef struct Printer {
  Arena *arena;
  Str *out;
  Vec(Todo) todo;
} Printer;

static void text(Printer *pr, const char *s) { vec_push(pr->arena, pr->todo, ((Todo){TODO_TEXT, s})); }
static void expr(Printer *pr, const Expr *e) {
  text(pr, " ");
  vec_push(pr->arena, pr->todo, ((Todo){TODO_EXPR, e}));
}
static void pat(Printer *pr, const Pat *p) {
  text(pr, " ");
  vec_push(pr->arena, pr->todo, ((Todo){TODO_PAT, p}));
}
static void type(Printer *pr, const TypeExpr *t) {
  text(pr, " ");
  vec_push(pr->arena, pr->todo, ((Todo){TODO_TYPE, t}));
}

static const char *name_text(Printer *pr, Name n) {
  return n.module ? arena_printf(pr->arena, "%s.%s", n.module, n.name) : n.name;
}

static const char *quoted(Printer *pr, Sym s) {
  Str out = {.arena = pr->arena};
  str_addc(&out, '"');
  for (size_t i = 0; i < sym_len(s); i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '"' || c == '\\') str_printf(&out, "\\%c", c);
    else if (c == '\n') str_puts(&out, "\\n");
    else if (c < 0x20) str_printf(&out, "\\x%02x", c);
    else str_addc(&out, (char)c);
  }
  str_addc(&out, '"');
  return out.data;
}

static const char *integer(Printer *pr, int64_t i) { return arena_printf(pr->arena, "%lld", (long long)i); }

/* Floats always with a point or exponent, to tell them from integers. */
static const char *floating(Printer *pr, double f) {
  char *s = arena_printf(pr->arena, "%.17g", f);
  return strpbrk(s, ".en") ? s : arena_printf(pr->arena, "%s.", s);
}

/* ---- Types and patterns ---------------------------------------------------------- */

static void list_type(Printer *pr, const TypeExpr *t) {
  /* clang-format off */
  static const char *const heads[] = {[TE_VAR] = "'", [TE_NAME] = "", [TE_FUN] = "->", [TE_TUPLE] = "*",
                                      [TE_RECORD] = "record", [TE_ARRAY] = "array", [TE_AS] = "as '"};
  /* clang-format on */
  bool leaf = t->nargs == 0 && t->nconstraints == 0;
  if (!leaf) text(pr, "(");
  for (int i = 0; i < t->nconstraints; i++)
    text(pr, arena_printf(pr->arena, "(%s '%s) ", t->constraints[i].cls, t->constraints[i].var));
  text(pr, heads[t->kind]);
  if (t->kind == TE_VAR || t->kind == TE_NAME || t->kind == TE_AS) text(pr, name_text(pr, t->name));
  for (int i = 0; i < t->nargs; i++) {
    if (t->kind == TE_RECORD) text(pr, arena_printf(pr->arena, " %s:", t->fields[i]));
    type(pr, t->args[i]);
  }
  if (t->open) text(pr, " ..");
  if (!leaf) text(pr, ")");
}

static void list_pat_args(Printer *pr, const char *head, const Pat *p) {
  text(pr, "(");
  text(pr, head);
  for (int i = 0; i < p->nargs; i++) {
    if (p->kind == P_RECORD) text(pr, arena_printf(pr->arena, " %s:", p->fields[i]));
    pat(pr, p->args[i]);
  }
  if (p->open) text(pr, " ..");
  if (p->kind == P_ANNOT) type(pr, p->annot);
  text(pr, ")");
}

static void list_pat(Printer *pr, const Pat *p) {
  switch (p->kind) {
  case P_WILD: text(pr, "_"); break;
  case P_VAR: text(pr, name_text(pr, p->name)); break;
  case P_INT: text(pr, integer(pr, p->i)); break;
  case P_FLOAT: text(pr, floating(pr, p->f)); break;
  case P_BOOL: text(pr, p->i ? "true" : "false"); break;
  case P_STRING: text(pr, quoted(pr, p->text)); break;
  case P_UNIT: text(pr, "()"); break;
  case P_TUPLE: list_pat_args(pr, "tuple", p); break;
  case P_RECORD: list_pat_args(pr, "record", p); break;
  case P_CTOR:
    if (p->nargs) list_pat_args(pr, name_text(pr, p->name), p);
    else text(pr, name_text(pr, p->name));
    break;
  case P_ARRAY: list_pat_args(pr, "array", p); break;
  case P_OR: list_pat_args(pr, "|", p); break;
  case P_AS: list_pat_args(pr, arena_printf(pr->arena, "as %s", p->name.name), p); break;
  case P_ANNOT: list_pat_args(pr, ":", p); break;
  }
}

/* ---- Expressions ------------------------------------------------------------------- */

static const char *head_of(Printer *pr, const Expr *e) {
  static const char *const heads[] = {[E_INTERP] = "interp",
                                      [E_TUPLE] = "tuple",
                                      [E_RECORD] = "record",
                                      [E_WITH] = "with",
                                      [E_FIELD] = "field",
                                      [E_ARRAY] = "array",
                                      [E_COMPREHENSION] = "comprehension",
                                      [E_INDEX] = "index",
                                      [E_APPLY] = "apply",
                                      [E_FUN] = "fun",
                                      [E_LET] = "let",
                                      [E_IF] = "if",
                                      [E_MATCH] = "match",
                                      [E_SEQ] = "seq",
                                      [E_NEGATE] = "negate",
                                      [E_AND] = "&&",
                                      [E_OR] = "||",
                                      [E_FOR] = "for",
                                      [E_WHILE] = "while",
                                      [E_ELEMENTS] = "elements",
                                      [E_ANNOT] = ":",
                                      [E_ERROR] = "error"};
  if (e->kind == E_BINARY) return binop_text(e->op);
  if (e->kind == E_ASSIGN) return e->compound ? arena_printf(pr->arena, "%s=", binop_text(e->op)) : "<-";
  if (e->kind == E_LET && e->rec) return "let rec";
  if (e->kind == E_FOR && e->down) return "for down";
  return heads[e->kind];
}

static void list_bindings(Printer *pr, const LetBinding *lets, int n) {
  for (int i = 0; i < n; i++) {
    text(pr, lets[i].mut ? " (mut" : " (");
    pat(pr, lets[i].pat);
    if (lets[i].result) {
      text(pr, " :");
      type(pr, lets[i].result);
    }
    expr(pr, lets[i].value);
    text(pr, ")");
  }
}

static void list_cases(Printer *pr, const Expr *e) {
  for (int i = 0; i < e->ncases; i++) {
    text(pr, " (");
    pat(pr, e->cases[i].pat);
    if (e->cases[i].guard) {
      text(pr, " when");
      expr(pr, e->cases[i].guard);
    }
    expr(pr, e->cases[i].body);
    text(pr, ")");
  }
}

static void list_subscripts(Printer *pr, const Expr *e) {
  for (int i = 0; i < e->nsubs; i++) {
    const Subscript *s = &e->subs[i];
    if (s->is_slice) text(pr, " (..");
    if (s->lo) expr(pr, s->lo);
    else text(pr, " _");
    if (s->is_slice && s->hi) expr(pr, s->hi);
    else if (s->is_slice) text(pr, " _");
    if (s->is_slice) text(pr, ")");
  }
}

static void list_parts(Printer *pr, const Expr *e) {
  for (int i = 0; i < e->nparts; i++) {
    text(pr, " ");
    if (!e->parts[i].hole) {
      text(pr, quoted(pr, e->parts[i].text));
      continue;
    }
    text(pr, "{");
    expr(pr, e->parts[i].hole);
    if (e->parts[i].format) text(pr, arena_printf(pr->arena, " :%s", e->parts[i].format));
    text(pr, "}");
  }
}

static void list_params(Printer *pr, const Expr *e) {
  text(pr, " (");
  for (int i = 0; i < e->nparams; i++) pat(pr, e->params[i]);
  text(pr, ")");
}

/* What stands between the head of a compound expression and its args. */
static void list_details(Printer *pr, const Expr *e) {
  switch (e->kind) {
  case E_FIELD: text(pr, arena_printf(pr->arena, " .%s", e->text)); break;
  case E_FUN: list_params(pr, e); break;
  case E_LET: list_bindings(pr, e->lets, e->nlets); break;
  case E_FOR: pat(pr, e->var); break;
  case E_INTERP: list_parts(pr, e); break;
  case E_COMPREHENSION:
    for (int i = 0; i < e->ngens; i++) {
      text(pr, e->gens[i].is_range ? " (<" : " (in");
      pat(pr, e->gens[i].pat);
      expr(pr, e->gens[i].bound);
      text(pr, ")");
    }
    break;
  default: break;
  }
}

static void list_compound(Printer *pr, const Expr *e) {
  text(pr, "(");
  text(pr, head_of(pr, e));
  list_details(pr, e);
  bool named = e->kind == E_RECORD || e->kind == E_WITH;
  int unnamed = e->kind == E_WITH ? 1 : 0;
  for (int i = 0; i < e->nargs; i++) {
    if (named && i >= unnamed) text(pr, arena_printf(pr->arena, " %s:", e->fields[i - unnamed]));
    expr(pr, e->args[i]);
  }
  if (e->kind == E_MATCH) list_cases(pr, e);
  if (e->kind == E_INDEX) list_subscripts(pr, e);
  if (e->kind == E_ANNOT) type(pr, e->annot);
  text(pr, ")");
}

static void list_expr(Printer *pr, const Expr *e) {
  switch (e->kind) {
  case E_INT: text(pr, integer(pr, e->i)); break;
  case E_FLOAT: text(pr, floating(pr, e->f)); break;
  case E_BOOL: text(pr, e->i ? "true" : "false"); break;
  case E_STRING: text(pr, quoted(pr, e->text)); break;
  case E_UNIT: text(pr, "()"); break;
  case E_VAR:
  case E_CTOR: text(pr, name_text(pr, e->name)); break;
  case E_OPERATOR: text(pr, arena_printf(pr->arena, "(operator %s)", binop_text(e->op))); break;
  default: list_compound(pr, e);
  }
}

/* ---- Driver --------------------------------------------------------------------------- */

static void reverse_from(Printer *pr, int mark) {
  for (int i = mark, j = pr->todo.len - 1; i < j; i++, j--) {
    Todo t = pr->todo.data[i];
    pr->todo.data[i] = pr->todo.data[j];
    pr->todo.data[j] = t;
  }
}

static void run(Printer *pr) {
  reverse_from(pr, 0);
  while (pr->todo.len) {
    Todo t = pr->todo.data[--pr->todo.len];
    int mark = pr->todo.len;
    switch (t.kind) {
    case TODO_TEXT: str_puts(pr->out, t.what); break;
    case TODO_EXPR: list_expr(pr, t.what); break;
    case TODO_PAT: list_pat(pr, t.what); break;
    case TODO_TYPE: list_type(pr, t.what); break;
    }
    reverse_from(pr, mark);
  }
}

static void list_decl(Printer *pr, const TypeDecl *d) {
  text(pr, " (");
  text(pr, d->name);
  for (int i = 0; i < d->nparams; i++)
    text(pr, arena_printf(pr->arena, " %s'%s", d->keys[i] ? "key " : "", d->params[i]));
  if (d->shown_as) text(pr, arena_printf(pr->arena, " as \"%s\"", d->shown_as));
  if (d->alias) {
    text(pr, " =");
    type(pr, d->alias);
  }
  for (int i = 0; i < d->nctors; i++) {
    text(pr, " | ");
    text(pr, d->ctors[i].name);
    if (d->ctors[i].arg) type(pr, d->ctors[i].arg);
  }
  text(pr, ")");
}

/* Of an item that is neither a let nor a declaration of types. */
static void list_named(Printer *pr, const Item *item) {
  if (item->text) text(pr, arena_printf(pr->arena, " %s", quoted(pr, item->text)));
  if (item->name.name) text(pr, arena_printf(pr->arena, " %s", item->name.name));
  if (item->expr) expr(pr, item->expr);
  if (item->annot) type(pr, item->annot);
  for (int i = 0; i < item->nknown; i++) text(pr, arena_printf(pr->arena, " known %s", item->known[i].name));
}

static void list_item(Printer *pr, const Item *item) {
  static const char *const heads[] = {
      [I_LET] = "let",         [I_TYPE] = "type",       [I_EXPR] = "do",   [I_IMPORT] = "import",
      [I_OPEN] = "open",       [I_FOREIGN] = "foreign", [I_TEST] = "test", [I_PULLBACK] = "pullback",
      [I_TANGENT] = "tangent", [I_BENCH] = "bench",     [I_RULE] = "rule", [I_ERROR] = "error"};
  text(pr, "(");
  text(pr, heads[item->kind]);
  if (item->kind == I_LET) {
    if (item->rec) text(pr, " rec");
    list_bindings(pr, item->lets, item->nlets);
  } else if (item->kind == I_TYPE) {
    for (int i = 0; i < item->ntypes; i++) list_decl(pr, &item->types[i]);
  } else {
    list_named(pr, item);
  }
  text(pr, ")\n");
}

void ast_print(const Program *p, Str *out) {
  Printer pr = {.arena = out->arena, .out = out};
  for (int i = 0; i < p->items.len; i++) {
    list_item(&pr, p->items.data[i]);
    run(&pr);
  }
}
