/* SPDX-License-Identifier: MIT */
/* Types as text, in the notation of annotations.
 *
 * Variables are called 'a, 'b, … in the order they are met; effects and the
 * hidden effect parameter of variants aren't shown. Very large types end in
 * `…`. Before a binding's type stand its constraints, without those that
 * follow from others.
 *
 * A variable with fields is shown as an open record, {w : float, ..}, where it
 * stands but once, else as ({w : float, ..} as 'r) and then 'r. So where there
 * are such, the text is made twice: the first time to count. */
#include "check/check_internal.h"
#include <string.h>

enum { ANY, NO_FUN, ATOM }; /* what may stand without parentheses */

static void print(Namer *n, Type *t, int place, Str *out);

/* ---- Variables ------------------------------------------------------------------ */
typedef struct OpenField {
  Sym name;
  Type *type;
} OpenField;
typedef Vec(OpenField) OpenFields;

/* The field that the relation says the open record has goes to its place in the alphabet. */
static void add_field(const Namer *n, const Constraint *k, const Type *record, OpenFields *out) {
  if (k->kind != C_FIELD || type_repr(k->t[0]) != record) return;
  for (int i = 0; i < out->len; i++)
    if (out->data[i].name == k->field) return;
  OpenField f = {k->field, k->t[1]};
  vec_push(n->arena, *out, f);
  int i = out->len - 1;
  for (; i > 0 && strcmp(f.name, out->data[i - 1].name) < 0; i--) out->data[i] = out->data[i - 1];
  out->data[i] = f;
}

static OpenFields fields_of(const Namer *n, const Type *record) {
  OpenFields fields = {0};
  for (int i = 0; n->scheme && i < n->scheme->n; i++) add_field(n, &n->scheme->relations[i], record, &fields);
  for (int i = 0; n->c && i < n->c->s.relations.len; i++)
    if (!n->c->s.relations.data[i]->done) add_field(n, n->c->s.relations.data[i], record, &fields);
  return fields;
}

static OpenRecord *find_record(const OpenRecords *rs, const Type *t) {
  for (int i = 0; i < rs->len; i++)
    if (rs->data[i].var == t) return &rs->data[i];
  return NULL;
}

static void print_record_name(const OpenRecord *r, Str *out) {
  str_puts(out, "'r");
  if (r->number > 1) str_printf(out, "%d", r->number - 1);
}

static void print_open_record(Namer *n, Type *t, Str *out) {
  OpenRecord *met = find_record(&n->records, t);
  if (met) {
    met->uses++;
    print_record_name(met, out);
    return;
  }
  const OpenRecord *counted = n->counted ? find_record(n->counted, t) : NULL;
  OpenRecord r = {t, 1, counted && counted->uses > 1 ? ++n->named : 0};
  vec_push(n->arena, n->records, r);
  OpenFields fields = fields_of(n, t);
  str_puts(out, r.number ? "({" : "{");
  for (int i = 0; i < fields.len; i++) {
    str_printf(out, "%s : ", fields.data[i].name);
    print(n, fields.data[i].type, ANY, out);
    str_puts(out, ", ");
  }
  str_puts(out, "..}");
  if (!r.number) return;
  str_puts(out, " as ");
  print_record_name(&r, out);
  str_addc(out, ')');
}

/* 'r is for open records. */
static void print_var(Namer *n, Type *t, Str *out) {
  static const char letters[] = "abcdefghijklmnopqstuvwxyz";
  const int count = (int)sizeof letters - 1;
  int i = 0;
  if (t->classes & CLASS_RECORD) {
    print_open_record(n, t, out);
    return;
  }
  if (n->c && t->classes & CLASS_SCALAR && t->level != LEVEL_GENERIC) { /* a literal, so far */
    str_puts(out, "int");
    return;
  }
  while (i < n->vars.len && n->vars.data[i] != t) i++;
  if (i == n->vars.len) vec_push(n->arena, n->vars, t);
  str_printf(out, "'%c", letters[i % count]);
  if (i >= count) str_printf(out, "%d", i / count);
}

/* ---- Types ------------------------------------------------------------------------ */

static void print_list(Namer *n, Type *t, int count, const char *separator, int place, Str *out) {
  for (int i = 0; i < count; i++) {
    if (i) str_puts(out, separator);
    if (t->kind == TY_RECORD) str_printf(out, "%s : ", t->names[i]);
    print(n, t->args[i], place, out);
  }
}

/* A name with its arguments before it: float t, (int, float) t */
static void print_applied(Namer *n, Type **args, int nargs, Sym module, Sym name, Str *out) {
  if (nargs > 1) str_addc(out, '(');
  for (int i = 0; i < nargs; i++) {
    if (i) str_puts(out, ", ");
    print(n, args[i], nargs > 1 ? ANY : ATOM, out);
  }
  if (nargs > 1) str_addc(out, ')');
  if (nargs) str_addc(out, ' ');
  if (module) str_printf(out, "%s.", module);
  str_puts(out, name);
}

/* A type of a library module is shown as programs write it, but where the module itself is the subject. */
static Sym library_name(const Namer *n, const Module *m) {
  bool own = m && (m == n->module || (n->c && m == n->c->s.module));
  return m && m->library && !own ? m->name : NULL;
}

static void print_data(Namer *n, Type *t, Str *out) {
  int shown = t->n;
  if (shown && t->data->params[shown - 1]->classes & CLASS_EFFECT) shown--;
  print_applied(n, t->args, shown, library_name(n, t->data->module), t->data->name, out);
}

static void print_record(Namer *n, Type *t, Str *out) {
  Type **args;
  const TypeName *name = n->module ? tc_record_name(n->module, t, n->arena, &args) : NULL;
  if (name) {
    print_applied(n, args, name->nparams, NULL, name->name, out);
    return;
  }
  str_addc(out, '{');
  print_list(n, t, t->n, ", ", ANY, out);
  str_addc(out, '}');
}

static void print_fun(Namer *n, Type *t, Str *out) {
  for (;; t = type_repr(t->args[1])) {
    if (t->kind != TY_FUN || n->budget <= 0) break;
    print(n, t->args[0], NO_FUN, out);
    str_puts(out, " -> ");
  }
  print(n, t, ANY, out);
}

static void print(Namer *n, Type *t, int place, Str *out) {
  t = type_repr(t);
  if (n->budget-- <= 0) {
    str_puts(out, "…");
    return;
  }
  bool parentheses = (t->kind == TY_FUN && place > ANY) || (t->kind == TY_TUPLE && place == ATOM);
  if (parentheses) str_addc(out, '(');
  switch (t->kind) {
  case TY_VAR: print_var(n, t, out); break;
  case TY_INT: str_puts(out, "int"); break;
  case TY_FLOAT: str_puts(out, "float"); break;
  case TY_BOOL: str_puts(out, "bool"); break;
  case TY_STRING: str_puts(out, "string"); break;
  case TY_UNIT: str_puts(out, "unit"); break;
  case TY_TUPLE: print_list(n, t, t->n, " * ", ATOM, out); break;
  case TY_FUN: print_fun(n, t, out); break;
  case TY_DATA: print_data(n, t, out); break;
  case TY_RECORD: print_record(n, t, out); break;
  case TY_ARRAY:
    print(n, t->args[0], ATOM, out);
    str_puts(out, "[]");
    break;
  case TY_PURE:
  case TY_EFFECT:
  case TY_ERROR: str_addc(out, '_'); break;
  }
  if (parentheses) str_addc(out, ')');
}

void type_print(Type *t, Str *out) {
  Namer n = {.arena = out->arena, .budget = LIMIT_TYPE_SHOWN};
  print(&n, t, ANY, out);
}

/* For messages: shorter. */
const char *type_text(Checker *c, Type *t) {
  Str out = {.arena = c->temp};
  Namer n = {.arena = c->temp, .budget = LIMIT_TYPE_IN_MESSAGE, .c = c};
  print(&n, t, ANY, &out);
  if (!n.records.len) return out.data;
  Namer again = {.arena = c->temp, .budget = LIMIT_TYPE_IN_MESSAGE, .c = c, .counted = &n.records};
  out = (Str){.arena = c->temp};
  print(&again, t, ANY, &out);
  return out.data;
}

/* ---- Bindings ------------------------------------------------------------------- */
/* The types of an operator's relation in the order shown, operands before the result, and their number; 0 for
 * others. */
static int operator_parts(const Constraint *k, Type *parts[3]) {
  switch (k->kind) {
  case C_MUL:
  case C_MATMUL: parts[0] = k->t[1], parts[1] = k->t[2], parts[2] = k->t[0]; return 3;
  case C_DIVISOR: parts[0] = k->t[0], parts[1] = k->t[1], parts[2] = k->t[0]; return 3;
  case C_SCALE: parts[0] = k->t[0], parts[1] = k->t[1], parts[2] = k->t[1]; return 3;
  case C_LEAF: parts[0] = k->t[1], parts[1] = k->t[0]; return 2;
  case C_CONCAT: parts[0] = k->t[0]; return 1;
  default: return 0;
  }
}

static bool known(const Namer *n, Type *t) {
  t = type_repr(t);
  for (int i = 0; i < n->vars.len; i++)
    if (n->vars.data[i] == t) return true;
  return t->kind != TY_VAR;
}

/* A scalar that stands nowhere in the type comes from a literal: it isn't shown. */
static bool shown(const Namer *n, const Constraint *k) { return k->kind != C_SCALE || known(n, k->t[0]); }

static bool occurs_in(Type *v, Type *t, int depth, int *budget) {
  t = type_repr(t);
  if (t == v) return true;
  for (int i = 0; depth < LIMIT_TYPE_SHOWN_DEPTH && --*budget > 0 && i < t->n; i++)
    if (occurs_in(v, t->args[i], depth + 1, budget)) return true;
  return false;
}

/* Whether a relation that is shown says of its types that they hold numbers. */
static bool counts(const Namer *n, const Constraint *k) {
  return shown(n, k) && k->kind != C_LEAF && k->kind != C_FIELD;
}

static bool in_relation(const Namer *n, const Scheme *s, Type *v) {
  int budget = LIMIT_TYPE_SHOWN;
  for (int i = 0; s && i < s->n; i++)
    for (int j = 0; counts(n, &s->relations[i]) && j < s->relations[i].n; j++)
      if (occurs_in(v, s->relations[i].t[j], 0, &budget)) return true;
  return false;
}

static void print_classes(Namer *n, Type *v, unsigned classes, Str *out) {
  static const struct {
    unsigned cls;
    const char *name;
    unsigned implied_by;
  } rows[] = {{CLASS_NUM, "num", CLASS_SCALAR | CLASS_DIFF},
              {CLASS_SCALAR, "scalar", 0},
              {CLASS_ORD, "ord", CLASS_SCALAR},
              {CLASS_EQ, "eq", CLASS_SCALAR | CLASS_ORD},
              {CLASS_SHOW, "show", CLASS_SCALAR},
              {CLASS_DIFF, "diff", 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!(classes & rows[i].cls) || classes & rows[i].implied_by) continue;
    str_printf(out, "%s ", rows[i].name);
    print(n, v, ATOM, out);
    str_puts(out, " => ");
  }
}

static void print_relations(Namer *n, const Scheme *s, Str *out) {
  for (int i = 0; s && i < s->n; i++) {
    const Constraint *k = &s->relations[i];
    Type *parts[3];
    if (!shown(n, k) || k->kind == C_FIELD) continue;
    int nparts = operator_parts(k, parts);
    if (nparts) {
      static const char *const names[] = {[C_MATMUL] = "matmul", [C_LEAF] = "leaf", [C_CONCAT] = "concat"};
      str_puts(out, k->kind <= C_SCALE ? k->divides ? "div" : "mul" : names[k->kind]);
      for (int j = 0; j < nparts; j++) {
        str_addc(out, ' ');
        print(n, parts[j], ATOM, out);
      }
      str_puts(out, " => ");
    } else {
      print_classes(n, k->t[0], k->classes, out);
    }
  }
}

/* A field says already that the record holds a float. */
static bool field_holds_float(const Namer *n, const Type *record) {
  OpenFields fields = fields_of(n, record);
  for (int i = 0; i < fields.len; i++)
    if (type_holds_float(fields.data[i].type)) return true;
  return false;
}

static void print_class_list(Namer *n, Type *v, Str *out) {
  unsigned classes = v->classes;
  if (in_relation(n, n->scheme, v)) classes &= ~(unsigned)CLASS_NUM;
  if (classes & CLASS_RECORD && field_holds_float(n, v)) classes &= ~(unsigned)(CLASS_NUM | CLASS_DIFF);
  print_classes(n, v, classes, out);
}

static void print_binding(Namer *n, const Binding *b, Str *out) {
  Str body = {.arena = n->arena}, relations = {.arena = n->arena};
  print(n, b->type, ANY, &body); /* names the variables in the order of the type */
  int in_type = n->vars.len, records = n->records.len;
  print_relations(n, n->scheme, &relations);
  for (int i = 0; i < in_type; i++) print_class_list(n, n->vars.data[i], out);
  for (int i = 0; i < records; i++) print_class_list(n, n->records.data[i].var, out);
  if (relations.len) str_add(out, relations.data, relations.len);
  str_add(out, body.data, body.len);
}

void binding_type_print(const Binding *b, const Module *names, Str *out) {
  Str first = {.arena = out->arena};
  Namer n = {.arena = out->arena, .budget = LIMIT_TYPE_SHOWN, .scheme = b->scheme, .module = names};
  print_binding(&n, b, &first);
  if (n.records.len) {
    Namer again = {
        .arena = n.arena, .budget = LIMIT_TYPE_SHOWN, .scheme = n.scheme, .counted = &n.records, .module = names};
    print_binding(&again, b, out);
  } else {
    str_add(out, first.data, first.len);
  }
}

static void print_pattern_types(const Pat *p, Str *out) {
  if (p->binding && (p->kind == P_VAR || p->kind == P_AS)) {
    str_printf(out, "%s : ", p->binding->name);
    binding_type_print(p->binding, NULL, out);
    str_addc(out, '\n');
  }
  for (int i = 0; i < p->nargs; i++) print_pattern_types(p->args[i], out);
}

void typed_print(const Module *m, const Program *p, Str *out) {
  (void)m;
  for (int i = 0; i < p->items.len; i++) {
    const Item *item = p->items.data[i];
    for (int j = 0; item->kind == I_LET && j < item->nlets; j++) print_pattern_types(item->lets[j].pat, out);
    if (item->kind == I_FOREIGN && item->binding) {
      str_printf(out, "%s : ", item->binding->name);
      binding_type_print(item->binding, NULL, out);
      str_addc(out, '\n');
    }
    if (item->kind == I_EXPR && item->expr->type) {
      str_puts(out, "_ : ");
      type_print(item->expr->type, out);
      str_addc(out, '\n');
    }
  }
}
