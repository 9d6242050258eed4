/* SPDX-License-Identifier: MIT */
/* The name that a module has for a record type.
 *
 * Records are structural, so a type knows no name. Where the documentation of a module shows the types of its values,
 * records that are instances of one of the module's own record types are shown by name: the type that was declared is
 * matched with the one at hand, its parameters being bound. Effects play no part. */
#include "check/check_internal.h"
#include <string.h>

typedef struct Match {
  const TypeName *name; /* whose parameters are bound, or NULL */
  Type **args;
} Match;

static bool fits(const Match *m, Type *pattern, Type *t);

static Type **slot_of(const Match *m, const Type *pattern) {
  for (int i = 0; m->name && i < m->name->nparams; i++)
    if (type_repr(m->name->params[i]) == pattern) return &m->args[i];
  return NULL;
}

static bool parts_fit(const Match *m, const Type *pattern, const Type *t) {
  int n = t->kind == TY_FUN ? 2 : t->n;
  for (int i = 0; i < n; i++) {
    bool effect = t->kind == TY_DATA && t->data->params[i]->classes & CLASS_EFFECT;
    if (!effect && !fits(m, pattern->args[i], t->args[i])) return false;
  }
  return true;
}

static bool fits(const Match *m, Type *pattern, Type *t) {
  pattern = type_repr(pattern);
  t = type_repr(t);
  Type **slot = slot_of(m, pattern);
  if (slot && *slot) return fits(&(Match){0}, *slot, t);
  if (slot) {
    *slot = t;
    return true;
  }
  if (pattern == t) return true;
  if (pattern->kind != t->kind || pattern->n != t->n || t->kind == TY_VAR) return false;
  if (t->kind == TY_DATA && pattern->data != t->data) return false;
  for (int i = 0; t->kind == TY_RECORD && i < t->n; i++)
    if (pattern->names[i] != t->names[i]) return false;
  return parts_fit(m, pattern, t);
}

/* Of several the first in the alphabet, for their order may depend on what was used. */
const TypeName *tc_record_name(const Module *m, Type *record, Arena *arena, Type ***args) {
  const TypeName *found = NULL;
  for (const TypeName *t = m->latest_type; t; t = t->previous) {
    if (!t->alias || t->decl || t->name[0] == '_' || type_repr(t->alias)->kind != TY_RECORD) continue;
    if (found && strcmp(found->name, t->name) < 0) continue;
    Match match = {t, NEW_ARRAY(arena, Type *, t->nparams + 1)};
    if (!fits(&match, t->alias, record)) continue;
    found = t;
    *args = match.args;
  }
  return found;
}
