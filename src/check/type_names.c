/* SPDX-License-Identifier: MIT */
/* What a declared type is called where it is looked at: its plain name if that means it there, else with a module's.
 *
 *   t        of the module itself, one that it opened, or the prelude
 *   Map.t    of a module that is known by that name there: imported, or the library's
 *   t/1      a variant that can't be named any more, for a later `t` has taken its place: its number among those
 *
 * Nothing is read for this: items of library modules that aren't known yet declare no type that is met. */
#include "check/check_internal.h"
#include <string.h>

typedef struct Declaration {
  const Module *module;
  Sym name;
  const void *what; /* a DataDecl, or the TypeName of an alias */
} Declaration;

static bool is_latest(const Declaration *d) {
  const TypeName *t = map_get(&d->module->types, d->name);
  return t && (t->data ? (const void *)t->data : t) == d->what;
}

static bool declares(const Module *m, Sym name) {
  const Lazy *lazy = m->lazy;
  return map_get(&m->types, name) || (lazy && index_find(lazy->index, INDEX_TYPE, name) >= 0);
}

/* The module whose type the plain name means; as scope.c looks it up. */
static const Module *module_of_plain(const Checker *c, const Module *from, Sym name) {
  bool private = name[0] == '_';
  if (declares(from, name)) return from;
  for (int i = from->opened.len - 1; !private && i >= 0; i--)
    if (declares(from->opened.data[i], name)) return from->opened.data[i];
  return !private || from->library ? c->prelude : NULL;
}

/* The name by which `from` knows the module, of several the first in the alphabet; NULL: by none. */
static Sym name_of_module(const Module *from, const Module *m) {
  Sym name = NULL;
  for (size_t i = 0; i < from->modules.cap; i++) {
    Sym key = (Sym)from->modules.keys[i];
    if (key && from->modules.vals[i] == m && (!name || strcmp(key, name) < 0)) name = key;
  }
  return name ? name : m->library && m->name && !map_get(&from->modules, m->name) ? m->name : NULL;
}

/* The place among the types that had this name in the module, from 1. */
static int number_of(const Declaration *d) {
  int number = 0;
  bool found = false;
  for (const TypeName *t = d->module->latest_type; t; t = t->previous) {
    found |= t->data == d->what;
    number += found && t->name == d->name;
  }
  return number ? number : 1;
}

static bool print_name(const Checker *c, const Module *from, const Declaration *d, Str *out) {
  bool latest = is_latest(d);
  if (latest && module_of_plain(c, from, d->name) == d->module) {
    str_puts(out, d->name);
    return true;
  }
  Sym module = latest && (d->name[0] != '_' || from->library) ? name_of_module(from, d->module) : NULL;
  if (module) str_printf(out, "%s.%s", module, d->name);
  return module != NULL;
}

bool tc_print_alias_name(const Checker *c, const Module *from, const TypeName *t, Str *out) {
  return print_name(c, from, &(Declaration){t->module, t->name, t}, out);
}

void tc_print_data_name(const Checker *c, const Module *from, const DataDecl *data, Str *out) {
  Declaration d = {data->module, data->name, data};
  if (print_name(c, from, &d, out)) return;
  Sym module = d.module != from ? d.module->name : NULL;
  if (module) str_printf(out, "%s.", module);
  str_puts(out, d.name);
  if (!is_latest(&d) || (module && map_get(&from->modules, module))) str_printf(out, "/%d", number_of(&d));
}
