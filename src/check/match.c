/* SPDX-License-Identifier: MIT */
/* Missing and redundant cases, by Maranget's method ("Warnings for pattern
 * matching", 2007).
 *
 * Patterns are first made simple (Simple): a wildcard, a constructor with
 * arguments, or an or-pattern. A match is a matrix of rows of such patterns.
 * missing() looks for a row of values that no row of the matrix matches, column
 * by column: when the constructors in the first column are all there are, it
 * tries each (specialise); otherwise only rows with a wildcard there matter.
 * useful() asks whether a row matches something that the rows before don't. The
 * worst case is exponential; beyond a budget of steps nothing is reported. */
#include "check/check_internal.h"
#include <string.h>

typedef struct Simple {
  enum { S_WILD, S_CON, S_OR } kind;
  uint64_t key; /* S_CON: which constructor, number, length… of the type */
  int n;
  struct Simple **args; /* S_OR: the two sides */
  Sym text;             /* of a string */
} Simple;

/* Or-patterns that stand for one of their sides, innermost first. */
typedef struct Narrowed {
  const Pat *alternatives;
  int side;
  const struct Narrowed *outer;
} Narrowed;

/* What stands for an open record: one of the fields that the patterns of the match name. */
typedef struct Open {
  Type *var, *record;
} Open;

typedef struct Matcher {
  Checker *c;
  Simple *wild;
  Vec(Open) open;
  const Narrowed *narrowed;
  int budget, depth;
  int for_sides; /* what is left to spend on or-patterns */
  bool lengths;  /* those of arrays are let pass: a pattern that stands alone is no choice between them */
} Matcher;

typedef Vec(Simple **) Rows;

static uint64_t float_key(double f) {
  uint64_t key;
  memcpy(&key, &f, sizeof key);
  return key;
}

static Simple *con(Matcher *m, uint64_t key, int n) {
  Simple *s = NEW(m->c->temp, Simple);
  s->kind = S_CON;
  s->key = key;
  s->n = n;
  s->args = NEW_ARRAY(m->c->temp, Simple *, n ? n : 1);
  for (int i = 0; i < n; i++) s->args[i] = m->wild;
  return s;
}

static Simple *simplify(Matcher *m, const Pat *p);

/* type_repr, but for open records. */
static Type *known(const Matcher *m, Type *t) {
  t = type_repr(t);
  for (int i = 0; t->kind == TY_VAR && i < m->open.len; i++)
    if (m->open.data[i].var == t) return m->open.data[i].record;
  return t;
}

static bool is_open(const Matcher *m, const Type *record) {
  for (int i = 0; i < m->open.len; i++)
    if (m->open.data[i].record == record) return true;
  return false;
}

static void add_field(Matcher *m, Type *record, Sym name, Type *type) {
  Arena *a = m->c->temp;
  for (int i = 0; i < record->n; i++)
    if (record->names[i] == name) return;
  size_t old = (size_t)record->n;
  Sym *names = NEW_ARRAY(a, Sym, record->n + 1);
  Type **args = NEW_ARRAY(a, Type *, record->n + 1);
  if (old) memcpy(names, record->names, sizeof *names * old), memcpy(args, record->args, sizeof(Type *) * old);
  int at = record->n++;
  for (; at > 0 && strcmp(name, names[at - 1]) < 0; at--) names[at] = names[at - 1], args[at] = args[at - 1];
  names[at] = name;
  args[at] = type;
  record->names = names;
  record->args = args;
}

/* Notes the fields of open records that p names. */
static void note_open(Matcher *m, const Pat *p) {
  for (int i = 0; i < p->nargs; i++) note_open(m, p->args[i]);
  if (p->kind != P_RECORD || type_repr(p->type)->kind == TY_RECORD) return;
  Type *record = known(m, p->type);
  if (record->kind == TY_VAR) {
    Open o = {record, type_new(m->c, TY_RECORD, 0)};
    vec_push(m->c->temp, m->open, o);
    record = o.record;
  }
  for (int i = 0; record->kind == TY_RECORD && i < p->nargs; i++) add_field(m, record, p->fields[i], p->args[i]->type);
}

static Simple *simplify_record(Matcher *m, const Pat *p) {
  const Type *t = known(m, p->type);
  if (t->kind != TY_RECORD) return con(m, (uint64_t)(uintptr_t)p, 0); /* of a wrong type: like no other pattern */
  Simple *s = con(m, 0, t->n);
  for (int i = 0; i < t->n; i++)
    for (int j = 0; j < p->nargs; j++)
      if (p->fields[j] == t->names[i]) s->args[i] = simplify(m, p->args[j]);
  return s;
}

static Simple *simplify_args(Matcher *m, uint64_t key, const Pat *p) {
  Simple *s = con(m, key, p->nargs);
  for (int i = 0; i < p->nargs; i++) s->args[i] = simplify(m, p->args[i]);
  return s;
}

static Simple *simplify(Matcher *m, const Pat *p) {
  if (m->narrowed) m->budget--;
  switch (p->kind) {
  case P_WILD:
  case P_VAR: return m->wild;
  case P_AS:
  case P_ANNOT: return simplify(m, p->args[0]);
  case P_INT: return con(m, type_repr(p->type)->kind == TY_FLOAT ? float_key(p->f) : (uint64_t)p->i, 0);
  case P_FLOAT: return con(m, float_key(p->f), 0);
  case P_BOOL: return con(m, (uint64_t)p->i, 0);
  case P_UNIT: return con(m, 0, 0);
  case P_TUPLE: return simplify_args(m, 0, p);
  case P_ARRAY: return simplify_args(m, (uint64_t)p->nargs, p);
  case P_CTOR: return p->ctor ? simplify_args(m, (uint64_t)p->ctor->tag, p) : m->wild;
  case P_RECORD: return simplify_record(m, p);
  case P_STRING: {
    Simple *s = con(m, (uint64_t)(uintptr_t)p->text, 0);
    s->text = p->text;
    return s;
  }
  case P_OR: {
    for (const Narrowed *n = m->narrowed; n; n = n->outer, m->budget--)
      if (n->alternatives == p) return simplify(m, p->args[n->side]);
    Simple *s = simplify_args(m, 0, p);
    s->kind = S_OR;
    return s;
  }
  }
  return m->wild;
}

/* ---- Constructors of a type ------------------------------------------------------- */
/* How many there are; 0: not finite. */
static int signature(const Matcher *m, const Type *t) {
  switch (t->kind) {
  case TY_DATA: return t->data->nctors;
  case TY_BOOL: return 2;
  case TY_UNIT:
  case TY_TUPLE:
  case TY_RECORD: return 1;
  case TY_ARRAY: return m->lengths;
  default: return 0;
  }
}

static int arity(const Type *t, uint64_t key) {
  switch (t->kind) {
  case TY_DATA: return t->data->ctors[key]->arg != NULL;
  case TY_TUPLE:
  case TY_RECORD: return t->n;
  case TY_ARRAY: return (int)key;
  default: return 0;
  }
}

/* What a wrong definition's value consists of is as unknown as its type, whatever patterns it is matched with. */
static Type *arg_type(Matcher *m, Type *t, uint64_t key, int i) {
  if (t->kind == TY_ERROR) return t;
  if (t->kind == TY_DATA) return ctor_arg_type(m->c->temp, t->data->ctors[key], t->args);
  return t->kind == TY_ARRAY ? t->args[0] : t->args[i];
}

/* ---- Matrices ------------------------------------------------------------------------ */
/* Adds the row with its first column replaced by `with` (n patterns). */
static void add_row(Matcher *m, Rows *out, Simple *const *with, int n, Simple *const *row, int width) {
  Simple **new = NEW_ARRAY(m->c->temp, Simple *, n + width + 1);
  for (int i = 0; i < n; i++) new[i] = with[i];
  for (int i = 1; i < width; i++) new[n + i - 1] = row[i];
  vec_push(m->c->temp, *out, new);
}

/* The rows with or-patterns in the first column split. */
static Rows split_ors(Matcher *m, const Rows *rows, int width) {
  Rows out = {0};
  for (int i = 0; i < rows->len; i++) {
    Vec(Simple *) todo = {0};
    vec_push(m->c->temp, todo, rows->data[i][0]);
    while (todo.len) {
      Simple *s = todo.data[--todo.len];
      if (s->kind == S_OR) {
        vec_push(m->c->temp, todo, s->args[1]);
        vec_push(m->c->temp, todo, s->args[0]);
      } else {
        add_row(m, &out, &s, 1, rows->data[i], width);
      }
    }
  }
  return out;
}

/* What is left to match of the rows when the first value is the constructor `key`. */
static Rows specialise(Matcher *m, const Rows *rows, uint64_t key, int n, int width) {
  Rows out = {0};
  Simple **wilds = con(m, 0, n)->args;
  for (int i = 0; i < rows->len; i++) {
    const Simple *s = rows->data[i][0];
    if (s->kind == S_WILD) add_row(m, &out, wilds, n, rows->data[i], width);
    else if (s->key == key && s->n == n) add_row(m, &out, s->args, n, rows->data[i], width);
  }
  return out;
}

static Rows wild_rows(Matcher *m, const Rows *rows, int width) {
  Rows out = {0};
  for (int i = 0; i < rows->len; i++)
    if (rows->data[i][0]->kind == S_WILD) add_row(m, &out, NULL, 0, rows->data[i], width);
  return out;
}

typedef Vec(Simple *) Heads;

static bool has_head(const Heads *h, uint64_t key) {
  for (int i = 0; i < h->len; i++)
    if (h->data[i]->key == key) return true;
  return false;
}

/* Each constructor of the first column once. */
static Heads heads_of(Matcher *m, const Rows *rows) {
  Heads h = {0};
  for (int i = 0; i < rows->len && m->budget > 0; i++) {
    Simple *s = rows->data[i][0];
    if (s->kind == S_CON && !has_head(&h, s->key)) vec_push(m->c->temp, h, s);
    m->budget -= h.len;
  }
  return h;
}

static bool exhausted(Matcher *m, int rows) {
  if (m->budget > 0) m->budget -= rows + 1;
  return m->budget <= 0 || (m->depth > LIMIT_MATCH_DEPTH && limit_reached(m->c->arena, AT_MATCH_DEPTH));
}

/* The shortest of "", "a", "aa", … that isn't among the heads. */
static Simple *other_string(Matcher *m, const Heads *h) {
  Str text = {.arena = m->c->temp};
  str_puts(&text, "");
  Sym sym = sym_of(m->c->syms, text.data);
  while (has_head(h, (uint64_t)(uintptr_t)sym)) {
    str_addc(&text, 'a');
    sym = sym_of(m->c->syms, text.data);
  }
  Simple *s = con(m, (uint64_t)(uintptr_t)sym, 0);
  s->text = sym;
  return s;
}

/* A constructor that isn't among the heads. The type of an integer pattern may still be open. */
static Simple *other_head(Matcher *m, const Type *t, const Heads *h) {
  if (!h->len) return m->wild;
  switch (t->kind) {
  case TY_INT:
  case TY_ARRAY:
  case TY_DATA:
  case TY_BOOL:
  case TY_FLOAT:
  case TY_VAR: {
    uint64_t k = 0;
    while (has_head(h, t->kind == TY_FLOAT ? float_key((double)k) : k)) k++;
    return con(m, t->kind == TY_FLOAT ? float_key((double)k) : k, arity(t, k));
  }
  case TY_STRING: return other_string(m, h);
  default: return m->wild;
  }
}

static Type **types_after(Matcher *m, Type *t, uint64_t key, int n, Type **types, int width) {
  Type **out = NEW_ARRAY(m->c->temp, Type *, n + width + 1);
  for (int i = 0; i < n; i++) out[i] = arg_type(m, t, key, i);
  for (int i = 1; i < width; i++) out[n + i - 1] = types[i];
  return out;
}

/* Values that no row matches, or NULL if there are none, or if nothing is known of them because of an error. */
static Simple **missing(Matcher *m, const Rows *given, Type **types, int width) {
  if (exhausted(m, given->len)) return NULL;
  if (!width) return given->len ? NULL : NEW_ARRAY(m->c->temp, Simple *, 1);
  Type *t = known(m, types[0]);
  if (t->kind == TY_ERROR) return NULL;
  m->depth++;
  Rows rows = split_ors(m, given, width);
  Heads h = heads_of(m, &rows);
  Simple **found = NULL;
  if (!h.len || h.len != signature(m, t)) {
    Rows rest = wild_rows(m, &rows, width);
    Simple **values = missing(m, &rest, types + 1, width - 1);
    if (values) {
      found = NEW_ARRAY(m->c->temp, Simple *, width);
      found[0] = other_head(m, t, &h);
      memcpy(found + 1, values, sizeof(Simple *) * (size_t)(width - 1));
    }
  } else {
    for (int i = 0; i < h.len && !found; i++) {
      uint64_t key = h.data[i]->key;
      int n = h.data[i]->n;
      Rows rest = specialise(m, &rows, key, n, width);
      Simple **values = missing(m, &rest, types_after(m, t, key, n, types, width), n + width - 1);
      if (!values) continue;
      found = NEW_ARRAY(m->c->temp, Simple *, width);
      found[0] = con(m, key, n);
      memcpy(found[0]->args, values, sizeof(Simple *) * (size_t)n);
      memcpy(found + 1, values + n, sizeof(Simple *) * (size_t)(width - 1));
    }
  }
  m->depth--;
  return found;
}

static bool useful(Matcher *m, const Rows *given, Simple **row, Type **types, int width);

static bool useful_con(Matcher *m, const Rows *rows, Simple **row, const Simple *as, Type **types, int width) {
  Type *t = known(m, types[0]);
  Rows rest = specialise(m, rows, as->key, as->n, width), one = {0};
  Simple *const *args = row[0]->kind == S_CON ? row[0]->args : con(m, 0, as->n)->args;
  add_row(m, &one, args, as->n, row, width);
  return useful(m, &rest, one.data[0], types_after(m, t, as->key, as->n, types, width), as->n + width - 1);
}

/* Whether the row matches something that no row of the matrix does. */
static bool useful(Matcher *m, const Rows *given, Simple **row, Type **types, int width) {
  if (exhausted(m, given->len)) return true;
  if (!width || !given->len) return !given->len;
  m->depth++;
  bool result = false;
  Rows rows = split_ors(m, given, width);
  if (row[0]->kind == S_OR) {
    for (int i = 0; i < 2 && !result; i++) {
      Rows one = {0};
      add_row(m, &one, &row[0]->args[i], 1, row, width);
      result = useful(m, &rows, one.data[0], types, width);
    }
  } else if (row[0]->kind == S_CON) {
    result = useful_con(m, &rows, row, row[0], types, width);
  } else {
    Heads h = heads_of(m, &rows);
    if (h.len && h.len == signature(m, known(m, types[0]))) {
      for (int i = 0; i < h.len && !result; i++) result = useful_con(m, &rows, row, h.data[i], types, width);
    } else {
      Rows rest = wild_rows(m, &rows, width);
      result = useful(m, &rest, row + 1, types + 1, width - 1);
    }
  }
  m->depth--;
  return result;
}

/* ---- Showing a missing value ----------------------------------------------------------- */
static void show(Matcher *m, const Simple *s, Type *t, bool atom, Str *out);

static void show_args(Matcher *m, const Simple *s, Type *t, Str *out) {
  for (int i = 0; i < s->n; i++) {
    if (i) str_puts(out, ", ");
    if (t->kind == TY_RECORD) str_printf(out, "%s = ", t->names[i]);
    show(m, s->args[i], arg_type(m, t, s->key, i), false, out);
  }
  if (is_open(m, t)) str_puts(out, ", ..");
}

static void show_data(Matcher *m, const Simple *s, Type *t, bool atom, Str *out) {
  const Ctor *k = t->data->ctors[s->key];
  if (!s->n) {
    str_puts(out, k->name);
    return;
  }
  Type *arg = known(m, arg_type(m, t, s->key, 0));
  bool cons = k->cons;
  if (atom) str_addc(out, '(');
  if (cons && s->args[0]->kind == S_CON) {
    show(m, s->args[0]->args[0], arg->args[0], true, out);
    str_puts(out, " :: ");
    show(m, s->args[0]->args[1], arg->args[1], false, out);
  } else {
    str_puts(out, cons ? "_ :: _" : k->name);
    if (!cons) str_addc(out, ' ');
    if (!cons) show(m, s->args[0], arg, true, out);
  }
  if (atom) str_addc(out, ')');
}

static void show(Matcher *m, const Simple *s, Type *t, bool atom, Str *out) {
  t = known(m, t);
  if (s->kind != S_CON || out->len > LIMIT_CASE_SHOWN) {
    str_puts(out, s->kind == S_CON ? "…" : "_");
    return;
  }
  switch (t->kind) {
  case TY_DATA: show_data(m, s, t, atom, out); return;
  case TY_BOOL: str_puts(out, s->key ? "true" : "false"); return;
  case TY_UNIT: str_puts(out, "()"); return;
  case TY_STRING: str_printf(out, "\"%s\"", s->text); return;
  case TY_INT:
  case TY_VAR: str_printf(out, "%lld", (long long)s->key); return;
  case TY_FLOAT: {
    double f;
    memcpy(&f, &s->key, sizeof f);
    str_printf(out, "%.1f", f);
    return;
  }
  case TY_TUPLE:
  case TY_RECORD:
  case TY_ARRAY:
    str_addc(out, t->kind == TY_TUPLE ? '(' : t->kind == TY_RECORD ? '{' : '[');
    show_args(m, s, t, out);
    str_addc(out, t->kind == TY_TUPLE ? ')' : t->kind == TY_RECORD ? '}' : ']');
    return;
  default: str_addc(out, '_'); return;
  }
}

/* ---- Checking ------------------------------------------------------------------------------ */
static void report_missing(Matcher *m, const MatchCheck *k, const Rows *rows) {
  Type *types[1] = {k->scrutinee};
  Simple **found = missing(m, rows, types, 1);
  if (!found || m->budget <= 0) return;
  Str value = {.arena = m->c->temp};
  show(m, found[0], k->scrutinee, false, &value);
  Diag *d = diag_warning(m->c->diags, k->at, tc_diag_code(D_INEXHAUSTIVE),
                         k->cases ? "this match misses a case: %s" : "this pattern misses a case: %s", value.data);
  if (k->cases) d->hint = tc_format(m->c, "add a case `| %s -> …`, or `| _ -> …` for all that are missing", value.data);
}

static Simple **row_of(Matcher *m, const Pat *p, const Narrowed *narrowed) {
  m->narrowed = narrowed;
  Simple *s = simplify(m, p);
  Rows one = {0};
  add_row(m, &one, &s, 1, NULL, 0);
  return one.data[0];
}

static void check_parts(Matcher *m, const MatchCheck *k, const Pat *whole, const Pat *p, const Narrowed *path,
                        Rows *rows);

/* One side of an or-pattern. Its row is added to the others if it is the left one. */
static void check_side(Matcher *m, const MatchCheck *k, const Pat *whole, const Narrowed *path, Rows *rows) {
  Type *types[1] = {k->scrutinee};
  const Pat *p = path->alternatives->args[path->side];
  Simple **row = row_of(m, whole, path);
  if (useful(m, rows, row, types, 1)) check_parts(m, k, whole, p, path, rows);
  else
    diag_warning(m->c->diags, p->span, tc_diag_code(D_REDUNDANT),
                 "this alternative is never reached: what stands before it matches all it does");
  if (path->side == 0) vec_push(m->c->temp, *rows, row);
}

/* Warns of sides of or-patterns within p, a part of `whole`, that match nothing new: the rows before match all of
 * it, or the sides to their left do. */
static void check_parts(Matcher *m, const MatchCheck *k, const Pat *whole, const Pat *p, const Narrowed *path,
                        Rows *rows) {
  int before = rows->len;
  for (int i = 0; i < p->nargs && m->budget > 0; i++) {
    Narrowed side = {p, i, path};
    if (p->kind == P_OR) check_side(m, k, whole, &side, rows);
    else check_parts(m, k, whole, p->args[i], path, rows);
  }
  rows->len = before;
}

static void check_alternatives(Matcher *m, const MatchCheck *k, const Pat *p, Rows *rows) {
  int left = m->budget;
  m->budget = m->for_sides;
  check_parts(m, k, p, p, NULL, rows);
  m->for_sides = m->budget;
  m->budget = left;
}

static void check_match(Checker *c, const MatchCheck *k) {
  Simple wild = {.kind = S_WILD};
  Matcher m = {
      .c = c, .wild = &wild, .budget = LIMIT_MATCH_STEPS, .for_sides = LIMIT_MATCH_STEPS, .lengths = !k->cases};
  Type *types[1] = {k->scrutinee};
  Rows rows = {0};
  if (k->pat) note_open(&m, k->pat);
  for (int i = 0; i < k->n; i++) note_open(&m, k->cases[i].pat);
  if (!k->cases) {
    check_alternatives(&m, k, k->pat, &rows);
    vec_push(c->temp, rows, row_of(&m, k->pat, NULL));
  }
  for (int i = 0; i < k->n; i++) {
    const Pat *p = k->cases[i].pat;
    Simple **row = row_of(&m, p, NULL);
    if (useful(&m, &rows, row, types, 1)) check_alternatives(&m, k, p, &rows);
    else
      diag_warning(c->diags, p->span, tc_diag_code(D_REDUNDANT),
                   "this case is never reached: the cases before match all it does");
    if (!k->cases[i].guard) vec_push(c->temp, rows, row);
  }
  report_missing(&m, k, &rows);
  if (m.budget <= 0 || m.for_sides <= 0) limit_reached(c->arena, AT_MATCH_STEPS);
}

void tc_check_matches(Checker *c) {
  for (int i = 0; i < c->s.matches.len; i++) check_match(c, &c->s.matches.data[i]);
}
