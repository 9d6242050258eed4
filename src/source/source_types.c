/* SPDX-License-Identifier: MIT */
/* Types as source. A variant that the prelude doesn't have is declared, with the constructors that it has here:
 * types of a program, and those that differentiation makes for accumulators and for what calls keep. */
#include "source/source_internal.h"
#include <ctype.h>
#include <string.h>

static bool is_prelude_variant(const IrType *t) {
  static const struct {
    const char *name, *first;
    int n;
  } known[] = {{"list", "Nil", 2}, {"option", "None", 2}, {"result", "Ok", 2}};
  if (t->nullable) return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(t->name, known[i].name) == 0 && t->nctors == known[i].n &&
        (strcmp(t->ctors[0].name, known[i].first) == 0 || strcmp(t->ctors[1].name, known[i].first) == 0))
      return true;
  return false;
}

/* A name of letters, digits and underscores that begins like `first`. */
static const char *plain(Printer *p, const char *name, char first) {
  Str s = {.arena = p->arena};
  if (!isalpha((unsigned char)*name)) str_addc(&s, first);
  for (const char *c = name; *c; c++)
    if (isalnum((unsigned char)*c) || *c == '_') str_addc(&s, *c);
  if (!s.data) str_addc(&s, first);
  s.data[0] =
      (char)(isupper((unsigned char)first) ? toupper((unsigned char)s.data[0]) : tolower((unsigned char)s.data[0]));
  return s.data;
}

/* Is there a value of the type that is made of less than `depth` constructors within each other? */
static bool has_value(const IrType *t, int depth) {
  if (t->kind == T_FUN || t->kind == T_ENV || t->kind == T_BAG) return false;
  if (t->kind == T_TUPLE)
    for (int k = 0; k < t->n; k++)
      if (!has_value(t->args[k], depth)) return false;
  if (t->kind != T_VARIANT) return true;
  for (int k = 0; k < t->nctors && depth > 0; k++)
    if (has_value(t->ctors[k].payload, depth - 1)) return true;
  return false;
}

bool sp_needs_empty(const IrType *t) { return !has_value(t, 5); }

static void name_constructors(Printer *p, IrType *t) {
  const char **names = NEW_ARRAY(p->arena, const char *, t->nctors + 2);
  bool builtin = is_prelude_variant(t);
  for (int k = 0; k < t->nctors; k++) {
    const char *name = t->ctors[k].name ? t->ctors[k].name : "Case";
    if (builtin) {
      names[k] = name;
      continue;
    }
    if (strcmp(name, "::") == 0) name = "Cons";
    if (t->nullable && k == 0) names[k] = sp_name_fresh(p, arena_printf(p->arena, "No_%s", plain(p, t->name, 't')));
    else if (t->nullable) names[k] = sp_name_fresh(p, arena_printf(p->arena, "D_%s", plain(p, name, 'C')));
    else names[k] = sp_name_fresh(p, plain(p, name, 'C'));
  }
  if (sp_needs_empty(t))
    names[t->nctors] = sp_name_fresh(p, arena_printf(p->arena, "No_%s", plain(p, t->name ? t->name : "kept", 't')));
  map_put(&p->ctor_names, t, (void *)names);
}

/* ---- Types of the program --------------------------------------------------------------------------------------- */
static void find_given(Printer *p, IrType *t) {
  if (map_get(&p->given_types, t)) return;
  map_put(&p->given_types, t, t);
  for (int k = 0; k < t->n; k++) find_given(p, t->args[k]);
  for (int k = 0; t->kind == T_VARIANT && k < t->nctors; k++) find_given(p, t->ctors[k].payload);
}

/* A type keeps its names, or there is no source. */
static void use_given(Printer *p, IrType *t) {
  name_constructors(p, t);
  bool same = strcmp(map_get(&p->type_names, t), t->name) == 0 && !sp_needs_empty(t);
  for (int k = 0; k < t->nctors; k++) same &= strcmp(sp_ctor_name(p, t, k), t->ctors[k].name) == 0;
  if (!same) sp_no_source(p, "reads a value of the type `%s`, whose names have another meaning in it", t->name);
}

static void declare_variant(Printer *p, IrType *t) {
  Str s = {.arena = p->arena};
  name_constructors(p, t);
  str_printf(&s, "%s =", (const char *)map_get(&p->type_names, t));
  for (int k = 0; k < t->nctors; k++) {
    str_printf(&s, " %s%s", k ? "| " : "", sp_ctor_name(p, t, k));
    if (t->ctors[k].keys) sp_no_source(p, "uses `%s`, a type with keys", t->name);
    if (t->ctors[k].payload->kind != T_UNIT) str_printf(&s, " of %s", sp_type_text(p, t->ctors[k].payload));
  }
  if (sp_needs_empty(t)) str_printf(&s, " | %s", sp_ctor_name(p, t, t->nctors));
  str_printf(&p->types, "%s %s\n", p->types.len ? "and" : "type", s.data);
}

static const char *declared_variant(Printer *p, IrType *t) {
  const char *known = map_get(&p->type_names, t);
  if (known) return known;
  known = sp_name_type(p, sp_variant_name(p, t));
  map_put(&p->type_names, t, (void *)(uintptr_t)known);
  if (++p->depth > LIMIT_SOURCE_TYPES) sp_no_source(p, "has types that are nested too deeply");
  else if (map_get(&p->given_types, t)) use_given(p, t);
  else declare_variant(p, t);
  p->depth--;
  return known;
}

const char *sp_variant_name(Printer *p, const IrType *t) {
  if (is_prelude_variant(t)) return strcmp(t->name, "list") == 0 ? "xs" : "r";
  return t->nullable ? arena_printf(p->arena, "d_%s", plain(p, t->name, 't'))
                     : plain(p, t->name ? t->name : "kept", 't');
}

static const char *variant_text(Printer *p, IrType *t) {
  bool prelude = is_prelude_variant(t);
  const char *name = prelude ? t->name : declared_variant(p, t);
  if (!prelude && !map_get(&p->given_types, t)) return name;
  if (!map_get(&p->ctor_names, t)) name_constructors(p, t);
  if (!t->n) return name;
  if (t->n == 1) return arena_printf(p->arena, "%s %s", sp_type_operand(p, t->args[0]), name);
  Str s = {.arena = p->arena};
  for (int k = 0; k < t->n; k++) str_printf(&s, "%s%s", k ? ", " : "(", sp_type_text(p, t->args[k]));
  return arena_printf(p->arena, "%s) %s", s.data, name);
}

/* ---- Tuples of one component ------------------------------------------------------------------------------------ */
/* Source has none: they are written as their component. But where such a tuple is what lets rows of an array differ in
 * length, it becomes a pair with (). */
bool sp_is_bare(const Printer *p, const IrType *t) { return t->n == 1 && !t->names && !map_get(&p->boxes, t); }

static void find_boxes(Printer *p, IrType *t) {
  if (map_get(&p->seen_types, t)) return;
  map_put(&p->seen_types, t, t);
  bool array = t->kind == T_ARRAY || t->kind == T_BAG;
  if (array && t->args[0]->kind == T_TUPLE && t->args[0]->n == 1 && ir_holds_arrays(p->w, t->args[0]))
    map_put(&p->boxes, t->args[0], t);
  for (int k = 0; k < t->n; k++) find_boxes(p, t->args[k]);
  for (int k = 0; t->kind == T_VARIANT && k < t->nctors; k++) find_boxes(p, t->ctors[k].payload);
}

void sp_find_boxes(void *user, Graph *g) {
  Printer *p = user;
  Uses *uses = graph_uses(p->w, g);
  for (int k = 0; k < g->nparams; k++) find_boxes(p, g->params[k]);
  for (int k = 0; k < uses->n; k++) {
    find_boxes(p, uses->nodes[k]->type);
    if (uses->nodes[k]->op == OP_GLOBAL) find_given(p, uses->nodes[k]->type);
  }
}

static const char *tuple_type_text(Printer *p, IrType *t) {
  Str s = {.arena = p->arena};
  if (t->n == 1 && sp_is_bare(p, t)) return sp_type_text(p, t->args[0]);
  if (!t->names && t->n == 1) return arena_printf(p->arena, "%s * unit", sp_type_operand(p, t->args[0]));
  if (t->names) str_addc(&s, '{');
  for (int k = 0; k < t->n; k++) {
    if (k) str_puts(&s, t->names ? ", " : " * ");
    if (t->names) str_printf(&s, "%s : ", t->names[k]);
    str_puts(&s, t->names ? sp_type_text(p, t->args[k]) : sp_type_operand(p, t->args[k]));
  }
  if (t->names) str_addc(&s, '}');
  return s.data;
}

const char *sp_type_text(Printer *p, IrType *t) {
  switch (t->kind) {
  case T_INT: return "int";
  case T_FLOAT: return "float";
  case T_BOOL: return "bool";
  case T_STRING: return "string";
  case T_UNIT: return "unit";
  case T_TUPLE: return tuple_type_text(p, t);
  case T_ARRAY:
  case T_BAG: return arena_printf(p->arena, "%s[]", sp_type_operand(p, t->args[0]));
  case T_FUN:
    if (t->effect) sp_no_source(p, "has functions with effects");
    return arena_printf(p->arena, "%s -> %s", sp_type_operand(p, t->args[0]), sp_type_text(p, t->args[1]));
  case T_VARIANT: return variant_text(p, t);
  case T_TOKEN: sp_no_source(p, "has effects"); return "unit";
  case T_ENV: sp_no_source(p, "adds up derivatives of functions that are chosen when it runs"); return "unit";
  }
  return "unit";
}

const char *sp_type_operand(Printer *p, IrType *t) {
  const char *s = sp_type_text(p, t);
  bool open = t->kind == T_FUN || (t->kind == T_TUPLE && !t->names && !(t->n == 1 && sp_is_bare(p, t)));
  return open ? arena_printf(p->arena, "(%s)", s) : s;
}

const char *sp_ctor_name(Printer *p, IrType *variant, int tag) {
  if (!map_get(&p->ctor_names, variant)) sp_type_text(p, variant);
  const char **names = map_get(&p->ctor_names, variant);
  return names ? names[tag] : "Unknown";
}
