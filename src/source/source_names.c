/* SPDX-License-Identifier: MIT */
/* Names for values: from the names of what they are made of where there are some, else from what they are. No name is
 * used for two things at one time, and none hides one of the prelude. */
#include "source/source_internal.h"
#include <ctype.h>
#include <string.h>

static const char *const keywords[] = {
    "and",   "as",   "do",   "done",   "downto",  "else",     "false",   "for",    "fun",   "if",   "in",   "let",
    "match", "mut",  "not",  "of",     "open",    "rec",      "then",    "to",     "true",  "type", "when", "with",
    "while", "test", "rule", "import", "foreign", "pullback", "tangent", "static", "break", "bench"};

static bool is_free(Printer *p, const char *name) {
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strcmp(name, keywords[i]) == 0) return false;
  return !map_get(&p->taken, sym_of(p->w->syms, name)) && !p->request->is_taken(p->request->user, name);
}

const char *sp_name_fresh(Printer *p, const char *base) {
  const char *name = base;
  for (int k = 2; !is_free(p, name); k++) {
    bool digit = isdigit((unsigned char)base[strlen(base) - 1]) != 0;
    name = arena_printf(p->arena, digit ? "%s_%d" : "%s%d", base, k);
  }
  Sym sym = sym_of(p->w->syms, name);
  map_put(&p->taken, sym, p);
  return sym;
}

const char *sp_name_type(Printer *p, const char *base) {
  static const char *const known[] = {"int", "float", "bool", "string", "unit", "list", "option", "result"};
  bool is_known = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) is_known |= strcmp(base, known[i]) == 0;
  const char *name = is_known ? arena_printf(p->arena, "my_%s", base) : base;
  for (int k = 2; map_get(&p->taken_types, sym_of(p->w->syms, name)); k++)
    name = arena_printf(p->arena, "%s%d", base, k);
  map_put(&p->taken_types, sym_of(p->w->syms, name), p);
  return name;
}

const char *sp_name_index(Printer *p) {
  static const char *const names[] = {"i", "j", "k", "l"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (is_free(p, names[k])) return sp_name_fresh(p, names[k]);
  return sp_name_fresh(p, "i");
}

void sp_name_release(Printer *p, const char *name) { map_put(&p->taken, sym_of(p->w->syms, name), NULL); }

/* Short enough to be a part of another name. */
static const char *short_name(Block *b, Node *n) {
  const Val *v = n->op == OP_PARAM ? &b->params[n->attr.i] : sp_val_of(b, n);
  if (!v || v->text.level != L_ATOM || !isalpha((unsigned char)*v->text.s) || strlen(v->text.s) > 6) return NULL;
  return v->text.s;
}

const char *sp_name_of_element(Printer *p, const char *array) {
  size_t n = strlen(array);
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)array[i]) && array[i] != '_') return "x";
  if (n > 1 && array[n - 1] == 's') return arena_printf(p->arena, "%.*s", (int)n - 1, array);
  return n <= 8 ? arena_printf(p->arena, "%s_i", array) : "x";
}

const char *sp_name_by_type(Printer *p, const IrType *t) {
  switch (t->kind) {
  case T_INT: return "k";
  case T_FLOAT: return "t";
  case T_BOOL: return "c";
  case T_STRING: return "text";
  case T_ARRAY: return ir_rank(t) > 1 ? "m" : "v";
  case T_FUN: return "f";
  case T_VARIANT: return sp_variant_name(p, t);
  default: return "p";
  }
}

/* Of functions of one number that the prelude has: `sin_x`. */
static const char *name_by_function(Block *b, Node *n) {
  bool named = n->nops == 1 && n->op >= OP_ABS && n->op <= OP_TRIGAMMA;
  const char *of = named ? short_name(b, n->ops[0]) : NULL;
  return of ? arena_printf(b->p->arena, "%s_%s", op_names[n->op], of) : NULL;
}

const char *sp_name_for(Block *b, Node *n) {
  const char *hint = map_get(&b->p->hints, n), *name = name_by_function(b, n);
  if (hint) return hint;
  if (name) return name;
  if (n->op == OP_LEN) return "n";
  if (n->op == OP_INDEX && short_name(b, n->ops[0]) && n->type->kind != T_ARRAY)
    return sp_name_of_element(b->p, short_name(b, n->ops[0]));
  return sp_name_by_type(b->p, n->type);
}
