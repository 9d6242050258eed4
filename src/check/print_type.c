/* SPDX-License-Identifier: MIT */
/* Types as text, in the notation of annotations.
 *
 * Variables are called 'a, 'b, … in the order they are met; effects and the
 * hidden effect parameter of variants aren't shown. Very large types end in
 * `…`. Before a binding's type stand its constraints, without those that
 * follow from others. */
#include "check/check_internal.h"

static void print_var(Namer *n, Type *t, Str *out) {
  int i = 0;
  while (i < n->vars.len && n->vars.data[i] != t) i++;
  if (i == n->vars.len) vec_push(n->arena, n->vars, t);
  str_printf(out, "'%c", 'a' + i % 26);
  if (i >= 26) str_printf(out, "%d", i / 26);
}

enum { ANY, NO_FUN, ATOM }; /* what may stand without parentheses */

static void print(Namer *n, Type *t, int place, Str *out);

static void print_list(Namer *n, Type *t, int count, const char *separator, int place, Str *out) {
  for (int i = 0; i < count; i++) {
    if (i) str_puts(out, separator);
    if (t->kind == TY_RECORD) str_printf(out, "%s : ", t->names[i]);
    print(n, t->args[i], place, out);
  }
}

static void print_data(Namer *n, Type *t, Str *out) {
  int shown = t->n;
  if (shown && t->data->params[shown - 1]->classes & CLASS_EFFECT) shown--;
  if (shown > 1) str_addc(out, '(');
  print_list(n, t, shown, ", ", shown > 1 ? ANY : ATOM, out);
  if (shown > 1) str_addc(out, ')');
  if (shown) str_addc(out, ' ');
  str_puts(out, t->data->name);
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
  case TY_RECORD:
    str_addc(out, '{');
    print_list(n, t, t->n, ", ", ANY, out);
    str_addc(out, '}');
    break;
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

static void type_print_with(Namer *n, Type *t, Str *out) { print(n, t, ANY, out); }

void type_print(Type *t, Str *out) {
  Namer n = {.arena = out->arena, .budget = LIMIT_TYPE_SHOWN};
  type_print_with(&n, t, out);
}

/* For messages: shorter. */
const char *type_text(Checker *c, Type *t) {
  Str out = {.arena = c->temp};
  Namer n = {.arena = c->temp, .budget = LIMIT_TYPE_IN_MESSAGE};
  type_print_with(&n, t, &out);
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

static bool in_relation(const Namer *n, const Scheme *s, Type *v) {
  int budget = LIMIT_TYPE_SHOWN;
  for (int i = 0; s && i < s->n; i++)
    for (int j = 0; shown(n, &s->relations[i]) && s->relations[i].kind != C_LEAF && j < s->relations[i].n; j++)
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
    if (!shown(n, k)) continue;
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

void binding_type_print(const Binding *b, Str *out) {
  Namer n = {.arena = out->arena, .budget = LIMIT_TYPE_SHOWN};
  Str body = {.arena = out->arena};
  print(&n, b->type, ANY, &body); /* names the variables in the order of the type */
  const Scheme *s = b->scheme;
  int in_type = n.vars.len;
  Str relations = {.arena = out->arena};
  print_relations(&n, s, &relations);
  for (int i = 0; i < in_type; i++) {
    Type *v = n.vars.data[i];
    unsigned classes = v->classes;
    if (in_relation(&n, s, v)) classes &= ~(unsigned)CLASS_NUM;
    print_classes(&n, v, classes, out);
  }
  if (relations.len) str_add(out, relations.data, relations.len);
  str_add(out, body.data, body.len);
}

static void print_pattern_types(const Pat *p, Str *out) {
  if (p->binding && (p->kind == P_VAR || p->kind == P_AS)) {
    str_printf(out, "%s : ", p->binding->name);
    binding_type_print(p->binding, out);
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
      binding_type_print(item->binding, out);
      str_addc(out, '\n');
    }
    if (item->kind == I_EXPR && item->expr->type) {
      str_puts(out, "_ : ");
      type_print(item->expr->type, out);
      str_addc(out, '\n');
    }
  }
}
