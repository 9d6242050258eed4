/* SPDX-License-Identifier: MIT */
/* What names mean.
 *
 * A plain name is looked for among the locals, in the module, in the modules it
 * opened (the latest first), and in the prelude. Locals are a map from names to
 * their innermost binding and a stack that says what to put back.
 *
 * Library modules are lazy: of an item only the names are known (index_items)
 * until one of them is looked up; then the item is parsed and checked in a
 * state of its own, whatever was being checked at that moment. */
#include "check/check_internal.h"
#include "support/phases.h"
#include <ctype.h>
#include <string.h>

/* ---- Locals -------------------------------------------------------------------- */
void tc_local_push(Checker *c, Binding *b) {
  LocalUndo u = {b->name, map_get(&c->s.locals, b->name)};
  vec_push(c->temp, c->s.undo, u);
  map_put(&c->s.locals, b->name, b);
}

void tc_local_pop_to(Checker *c, int mark) {
  while (c->s.undo.len > mark) {
    LocalUndo u = c->s.undo.data[--c->s.undo.len];
    map_put(&c->s.locals, u.name, u.previous);
  }
}

/* ---- Modules read on demand ------------------------------------------------------ */
static void check_lazy_item(Checker *c, Module *m, LazyItem *item) {
  const Lazy *lazy = m->lazy;
  const IndexItem *range = &lazy->index->items[item - lazy->items];
  State saved = c->s;
  Span at = c->at;
  Phase before = phase_enter(c->arena->heap, PHASE_CHECK);
  SAVE(c->arena, *m);
  SAVE(c->arena, *item);
  tc_state_begin(c, m, item);
  item->state = LAZY_CHECKING;
  Program *p = parse_range(lazy->lx, c->arena, c->syms, c->diags, m->source, range->start, range->end);
  for (int i = 0; i < p->items.len;) i = tc_check_items(c, m, p->items.data, i, p->items.len);
  item->state = LAZY_DONE;
  c->items_read++;
  c->s = saved;
  c->at = at;
  phase_leave(c->arena->heap, before);
}

typedef enum NameSpace { NS_VALUE, NS_TYPE, NS_CTOR } NameSpace;

static LazyItem *find_item(const Lazy *lazy, IndexSpace space, Sym name) {
  int i = index_find(lazy->index, space, name);
  return i < 0 ? NULL : &lazy->items[i];
}

/* Checks the item that defines the name, if there is one. */
static void force(Checker *c, Module *m, NameSpace ns, Sym name) {
  const Lazy *lazy = m->lazy;
  LazyItem *item = lazy ? find_item(lazy, ns == NS_TYPE ? INDEX_TYPE : INDEX_VALUE, name) : NULL;
  LazyItem *astray = item && ns == NS_VALUE ? find_item(lazy, INDEX_RULE, name) : NULL;
  if (astray && astray->state == LAZY_UNCHECKED) check_lazy_item(c, m, astray);
  if (!item || item->state == LAZY_DONE || item == c->s.lazy_item) return;
  if (item->state == LAZY_UNCHECKED) {
    check_lazy_item(c, m, item);
    return;
  }
  uint32_t start = lazy->index->items[item - lazy->items].start;
  Span at = {m->source, start, start + 1};
  diag_error(c->diags, at, tc_diag_code(D_CYCLE), "the definition of `%s` needs itself", name);
}

/* ---- Looking up -------------------------------------------------------------------- */
static const Map *names_of(const Module *m, NameSpace ns) {
  return ns == NS_VALUE ? &m->values : ns == NS_TYPE ? &m->types : &m->ctors;
}

static void *module_find(Checker *c, Module *m, NameSpace ns, Sym name) {
  void *found = map_get(names_of(m, ns), name);
  if (found || !m->lazy) return found;
  force(c, m, ns, name);
  return map_get(names_of(m, ns), name);
}

/* Is the value defined behind the item that is being checked? A module that is read at once doesn't know it yet. */
static bool is_defined_later(const Checker *c, const Module *m, NameSpace ns, Sym name) {
  if (ns != NS_VALUE || !m->lazy || !c->s.lazy_item || c->s.module != m) return false;
  const LazyItem *item = find_item(m->lazy, INDEX_VALUE, name);
  return item && item > c->s.lazy_item;
}

/* In the module, then in the ones it opened, then in the prelude; what a library module defines later comes last. */
static void *scope_find(Checker *c, Module *m, NameSpace ns, Sym name) {
  bool later = is_defined_later(c, m, ns, name);
  void *found = later ? NULL : module_find(c, m, ns, name);
  bool private = name[0] == '_';
  for (int i = m->opened.len - 1; !found && !private && i >= 0; i--)
    found = module_find(c, m->opened.data[i], ns, name);
  if (!found && c->prelude && c->prelude != m && (!private || m->library)) found = module_find(c, c->prelude, ns, name);
  return found || !later ? found : module_find(c, m, ns, name);
}

Binding *tc_module_value(Checker *c, Module *m, Sym name) { return scope_find(c, m, NS_VALUE, name); }

typedef Vec(Sym) Names;

static void add_names(Checker *c, Names *out, const Map *m) {
  for (size_t i = 0; i < m->cap; i++)
    if (m->keys[i] && m->vals[i]) vec_push(c->temp, *out, (Sym)m->keys[i]);
}

int tc_indexed_names(Checker *c, const Module *m, Sym **out, Arena *a) {
  const Lazy *lazy = m->lazy;
  Vec(Sym) names = {0};
  for (int i = 0; lazy && i < lazy->index->nnames; i++) {
    const IndexName *n = &lazy->index->names[i];
    if (n->is_exported) vec_push(a, names, sym_of(c->syms, lazy->index->pool + n->text));
  }
  *out = names.data;
  return names.len;
}

static void add_module_names(Checker *c, Names *out, const Module *m, NameSpace ns) {
  add_names(c, out, names_of(m, ns));
  Sym *indexed;
  int n = tc_indexed_names(c, m, &indexed, c->temp);
  for (int i = 0; i < n; i++) {
    bool capital = indexed[i][0] >= 'A' && indexed[i][0] <= 'Z';
    if (capital == (ns == NS_CTOR)) vec_push(c->temp, *out, indexed[i]);
  }
}

/* The names that other modules see. */
static void add_public_names(Checker *c, Names *out, const Module *m, NameSpace ns) {
  Names all = {0};
  add_module_names(c, &all, m, ns);
  for (int i = 0; i < all.len; i++)
    if (all.data[i][0] != '_') vec_push(c->temp, *out, all.data[i]);
}

/* `prelude`, which no program can write, is what the parser calls that one. */
static Module *find_module(Checker *c, Sym name) {
  if (!strcmp(name, "prelude")) return c->prelude ? c->prelude : c->s.module;
  Module *m = map_get(&c->s.module->modules, name);
  if (!m && c->loader.library) m = c->loader.library(c->loader.user, name);
  return m;
}

/* A name of three letters or more that begins this one; NULL if there is none. */
static Sym beginning_of(Sym name, const Names *names) {
  for (int i = 0; i < names->len; i++)
    if (sym_len(names->data[i]) > 2 && !strncmp(name, names->data[i], sym_len(names->data[i]))) return names->data[i];
  return NULL;
}

/* A module whose name is near, or begins this one: `String` for `Str`. */
static Sym nearest_module(Checker *c, Sym name) {
  Names names = {0};
  add_names(c, &names, &c->s.module->modules);
  Sym known;
  for (int i = 0; (known = c->loader.library_name(c->loader.user, i)); i++) vec_push(c->temp, names, known);
  Sym near = nearest_name(name, names.data, names.len);
  return near ? near : beginning_of(name, &names);
}

/* The module's name that is this one, or else nearest to it; NULL if none is near. */
static Sym nearest_in(Checker *c, const Module *m, NameSpace ns, Sym name) {
  Names names = {0}, public = {0};
  add_module_names(c, &names, m, ns);
  for (int i = 0; i < names.len; i++)
    if (names.data[i] == name) return name;
  add_public_names(c, &public, m, ns);
  return nearest_name(name, public.data, public.len);
}

/* `Module.name` of the library for a name (whose first letter is right) that was written without its module, or with
 * another one; NULL if there is none. `exact`: no other spelling. */
static const char *library_hint(Checker *c, Sym name, NameSpace ns, bool exact) {
  const char *hint = NULL;
  Sym module;
  for (int i = 0; name[0] != '_' && (module = c->loader.library_name(c->loader.user, i)); i++) {
    Module *m = find_module(c, module);
    Sym found = m && m != c->s.module ? nearest_in(c, m, ns, name) : NULL;
    if (!found || found[0] != name[0] || !module_find(c, m, ns, found)) continue;
    if (found == name) return tc_format(c, "did you mean `%s.%s`?", module, found);
    if (!hint && !exact && sym_len(name) > 3) hint = tc_format(c, "did you mean `%s.%s`?", module, found);
  }
  return hint;
}

/* The modules of the library that have just this name: the one, or a list of some; NULL if there is none. */
static const char *holders_hint(Checker *c, Sym name, NameSpace ns) {
  Names holders = {0};
  Sym module;
  for (int i = 0; name[0] != '_' && (module = c->loader.library_name(c->loader.user, i)); i++) {
    const Module *m = find_module(c, module);
    if (m && m != c->s.module && nearest_in(c, m, ns, name) == name) vec_push(c->temp, holders, module);
  }
  if (holders.len == 0 || holders.len > LIMIT_HOLDERS) return NULL;
  if (holders.len == 1) return tc_format(c, "did you mean `%s.%s`?", holders.data[0], name);
  Str out = {.arena = c->temp};
  for (int i = 0; i < holders.len; i++)
    str_printf(&out, "%s`%s.%s`", i == 0 ? "" : i + 1 < holders.len ? ", " : " or ", holders.data[i], name);
  return tc_format(c, "did you mean one of %s?", out.data);
}

/* A name that the prelude has, and the module a shorter one: `List.rev` for `List.reverse`. */
static const char *shorter_hint(Checker *c, Name name, NameSpace ns) {
  const Module *m = find_module(c, name.module);
  if (!m || !c->prelude || !module_find(c, c->prelude, ns, name.name)) return NULL;
  Names names = {0};
  add_public_names(c, &names, m, ns);
  Sym near = beginning_of(name.name, &names);
  return near ? tc_format(c, "did you mean `%s.%s`?", name.module, near) : NULL;
}

/* Where a name is that its module lacks: in the prelude, as for `Math.sin`, or in other modules. */
static const char *elsewhere_hint(Checker *c, Sym name, NameSpace ns) {
  bool bare = c->prelude && module_find(c, c->prelude, ns, name);
  return bare ? tc_format(c, "`%s` is known without a module", name) : holders_hint(c, name, ns);
}

/* What was meant by `name.what`, of a module that there isn't; what: NULL if only the module is named. */
static const char *module_hint(Checker *c, Sym name, NameSpace ns, Sym what) {
  Sym near = nearest_module(c, name);
  const Module *m = near && what ? find_module(c, near) : NULL;
  Sym found = m ? nearest_in(c, m, ns, what) : NULL;
  if (found) return tc_format(c, "did you mean `%s.%s`?", near, found);
  const char *hint = what ? elsewhere_hint(c, what, ns) : NULL;
  if (!hint && near) hint = tc_format(c, "did you mean `%s`?", near);
  return hint ? hint : habit_of_word(name);
}

static void report_module(Checker *c, Sym name, Span at, NameSpace ns, Sym what) {
  Diag *d = diag_error(c->diags, at, tc_diag_code(D_UNBOUND_MODULE), "there is no module `%s`", name);
  d->hint = module_hint(c, name, ns, what);
  if (!d->hint) d->hint = tc_format(c, "a file is made a module by: import \"file.atl\" as %s", name);
}

Module *tc_lookup_module(Checker *c, Sym name, Span at) {
  Module *m = find_module(c, name);
  if (!m) report_module(c, name, at, NS_VALUE, NULL);
  return m;
}

static void *qualified(Checker *c, Name name, NameSpace ns, bool *reported) {
  Module *m = find_module(c, name.module);
  if (!m) report_module(c, name.module, name.span, ns, name.name);
  *reported = !m || m->failed;
  c->s.doubtful |= *reported;
  if (*reported) return NULL;
  if (name.name[0] == '_' && !c->s.module->library) {
    diag_error(c->diags, name.span, tc_diag_code(D_PRIVATE_NAME), "`%s` is private to its module", name.name)->hint =
        "names that begin with `_` can't be used from outside";
    *reported = true;
    return NULL;
  }
  return module_find(c, m, ns, name.name);
}

bool tc_library_has(Checker *c, const char *module, Sym name) {
  Module *m = find_module(c, sym_of(c->syms, module));
  return m && module_find(c, m, NS_VALUE, name);
}

/* ---- Hints --------------------------------------------------------------------------- */
static Sym text_of(Checker *c, const char *s) { return sym_of(c->syms, s); }

/* The shortest name that begins with this one, of three letters at least: `inverse` for `inv`. */
static Sym longer_name(Sym name, const Names *names) {
  Sym found = NULL;
  size_t n = sym_len(name);
  for (int i = 0; n > 2 && i < names->len; i++) {
    Sym other = names->data[i];
    if (sym_len(other) <= n || strncmp(other, name, n)) continue;
    bool better =
        !found || sym_len(other) < sym_len(found) || (sym_len(other) == sym_len(found) && strcmp(other, found) < 0);
    if (better) found = other;
  }
  return found;
}

static const char *near_hint(Checker *c, Name name, NameSpace ns) {
  Names names = {0};
  Module *m = name.module ? find_module(c, name.module) : c->s.module;
  if (!m) return NULL;
  if (!name.module && ns == NS_VALUE) add_names(c, &names, &c->s.locals);
  add_module_names(c, &names, m, ns);
  static const char *const builtin[] = {"int", "float", "bool", "string", "unit"};
  for (int i = 0; !name.module && ns == NS_TYPE && i < 5; i++) vec_push(c->temp, names, text_of(c, builtin[i]));
  for (int i = 0; !name.module && i < m->opened.len; i++) add_public_names(c, &names, m->opened.data[i], ns);
  if (!name.module && c->prelude && c->prelude != m) add_public_names(c, &names, c->prelude, ns);
  Sym near = name.module ? longer_name(name.name, &names) : NULL;
  if (!near) near = nearest_name(name.name, names.data, names.len);
  if (!near || near == name.name) return NULL;
  return tc_format(c, "did you mean `%s%s%s`?", name.module ? name.module : "", name.module ? "." : "", near);
}

/* The name is that of a definition around, which isn't recursive. */
static const char *unfinished_hint(Checker *c, Sym name, NameSpace ns) {
  for (const Unfinished *u = c->s.unfinished; u && ns == NS_VALUE; u = u->outer)
    if (u->name == name) return tc_format(c, "a function that calls itself is defined by: let rec %s …", name);
  return NULL;
}

/* The item further down that defines the name. */
static const Item *later_definition(const Checker *c, Name name, NameSpace ns) {
  for (int i = 0; i < c->s.nlater && ns == NS_VALUE && !name.module; i++)
    if (tc_defines(c->s.later[i], name.name)) return c->s.later[i];
  return NULL;
}

/* f"…", as Python writes it. */
static const char *prefixed_string_hint(Checker *c, Name name) {
  const char *text = sources_get(c->diags->sources, name.span.source)->text;
  if (!name.span.source || text[name.span.end] != '"' || strlen(name.name) > 2) return NULL;
  return "a string with values in it begins with `$`: $\"x is {x:.3f}\"";
}

/* `np.linspace`, or `np.linalg.solve`, of a name that is nothing here: the last part may be one. */
static const char *dotted_hint(Checker *c, Name name, NameSpace ns) {
  const char *text = sources_get(c->diags->sources, name.span.source)->text + name.span.end, *part = NULL;
  if (ns != NS_VALUE || !name.span.source) return NULL;
  size_t length = 0;
  for (; *text == '.' && islower((unsigned char)text[1]); text = part + length) {
    part = text + 1;
    length = strspn(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_'");
  }
  if (!part) return NULL;
  Sym last = sym_intern(c->syms, part, length);
  bool bare = c->prelude && module_find(c, c->prelude, ns, last);
  if (bare) return tc_format(c, "`%s` is known without a module", last);
  const char *hint = library_hint(c, last, ns, true);
  return hint ? hint : habit_of_word(last);
}

/* A transposed matrix, as in Julia. */
static const char *transpose_hint(Checker *c, Name name, NameSpace ns) {
  size_t n = sym_len(name.name);
  if (ns != NS_VALUE || n < 2 || name.name[n - 1] != '\'') return NULL;
  Sym base = sym_intern(c->syms, name.name, n - 1);
  bool known = map_get(&c->s.locals, base) || tc_module_value(c, c->s.module, base);
  return known ? tc_format(c, "the transpose of a matrix is `transpose %s`", base) : NULL;
}

/* `tol=1e-3` among arguments. */
static const char *keyword_hint(Checker *c, Name name, NameSpace ns) {
  const char *text = sources_get(c->diags->sources, name.span.source)->text, *before = text + name.span.start;
  const char *after = text + name.span.end;
  if (ns != NS_VALUE || !name.span.source || after[0] != '=' || strchr(" \n=", after[1])) return NULL;
  while (before > text && before[-1] == ' ') before--;
  if (before == text || !(isalnum((unsigned char)before[-1]) || strchr("_'),(]}\"", before[-1]))) return NULL;
  const char *word = before;
  while (word > text && isalpha((unsigned char)word[-1])) word--;
  static const char *const keywords[] = {"if", "when", "while", "then", "else", "in", "do", "with"};
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if ((size_t)(before - word) == strlen(keywords[i]) && !strncmp(word, keywords[i], strlen(keywords[i]))) return NULL;
  return "arguments have no names: they stand in their order; options are a record";
}

/* `y = e` at the beginning of a line within an item. */
static const char *definition_hint(Checker *c, Name name, NameSpace ns) {
  const char *text = sources_get(c->diags->sources, name.span.source)->text, *before = text + name.span.start;
  const char *after = text + name.span.end;
  if (ns != NS_VALUE || !name.span.source) return NULL;
  while (before > text && before[-1] == ' ') before--;
  while (*after == ' ') after++;
  if (before > text && before[-1] == '\n' && *after == '=')
    return tc_format(c, "a local definition is: let %s = e in …", name.name);
  return NULL;
}

/* The name of a type where a value is needed, as where types are constructors. */
static const char *type_hint(Checker *c, Name name, NameSpace ns) {
  if (ns != NS_VALUE || !scope_find(c, c->s.module, NS_TYPE, name.name)) return NULL;
  return tc_format(c, "`%s` is a type: records are written {x = 1}, without its name, and variants by a constructor",
                   name.name);
}

static void report_unbound(Checker *c, Name name, NameSpace ns, DiagId id, const char *what) {
  const char *hint = name.module ? NULL : unfinished_hint(c, name.name, ns);
  const Item *later = hint ? NULL : later_definition(c, name, ns);
  if (later)
    hint = "a name is known below its definition: move it up; functions that call each other are joined by `and`";
  if (!hint && !name.module) hint = prefixed_string_hint(c, name);
  if (!hint && !name.module) hint = habit_of_word(name.name);
  if (!hint && !name.module) hint = definition_hint(c, name, ns);
  if (!hint && !name.module) hint = dotted_hint(c, name, ns);
  if (!hint && !name.module) hint = keyword_hint(c, name, ns);
  if (!hint && !name.module) hint = transpose_hint(c, name, ns);
  if (!hint && !name.module) hint = library_hint(c, name.name, ns, true);
  if (!hint && !name.module) hint = type_hint(c, name, ns);
  if (!hint) hint = near_hint(c, name, ns);
  if (!hint && name.module) hint = habit_of_word(name.name);
  if (!hint && name.module) hint = shorter_hint(c, name, ns);
  if (!hint && name.module) hint = elsewhere_hint(c, name.name, ns);
  if (!hint && !name.module) hint = library_hint(c, name.name, ns, false);
  if (!hint && ns == NS_CTOR && !name.module)
    hint = "a name that begins with a capital is a constructor; variables begin with a small letter";
  Diag *d = name.module ? diag_error(c->diags, name.span, tc_diag_code(id), "there is no %s`%s` in the module `%s`",
                                     what, name.name, name.module)
                        : diag_error(c->diags, name.span, tc_diag_code(id), "there is no %s`%s`", what, name.name);
  d->hint = hint;
  if (!later) return;
  d->message = tc_format(c, "there is no `%s` yet", name.name);
  d->also = tc_place_defined(later, name.name);
  d->also_label = "it is defined here";
}

/* Notes the scope where the name is looked up, if it is the hole. */
static void meet_hole(Checker *c, Name name, NameSpace ns) {
  Hole *hole = c->hole;
  if (!hole || hole->met || name.name != hole->name) return;
  hole->met = true;
  hole->of_type = ns == NS_TYPE;
  hole->module = name.module;
  for (size_t i = 0; i < c->s.locals.cap; i++)
    if (c->s.locals.keys[i] && c->s.locals.vals[i]) vec_push(c->temp, hole->locals, c->s.locals.vals[i]);
}

Binding *tc_lookup_value(Checker *c, Name name) {
  bool reported = false;
  Binding *b = NULL;
  meet_hole(c, name, NS_VALUE);
  if (name.module) b = qualified(c, name, NS_VALUE, &reported);
  else {
    b = map_get(&c->s.locals, name.name);
    if (!b) b = tc_module_value(c, c->s.module, name.name);
  }
  if (!b && !reported) report_unbound(c, name, NS_VALUE, D_UNBOUND_NAME, "");
  return b;
}

Ctor *tc_lookup_ctor(Checker *c, Name name) {
  bool reported = false;
  Ctor *k = name.module ? qualified(c, name, NS_CTOR, &reported) : scope_find(c, c->s.module, NS_CTOR, name.name);
  if (!k && c->prelude && name.name == text_of(c, "::")) {
    module_find(c, c->prelude, NS_TYPE, text_of(c, "list")); /* declares it */
    k = map_get(&c->prelude->ctors, name.name);
  }
  if (!k && !reported) report_unbound(c, name, NS_CTOR, D_UNBOUND_CTOR, "constructor ");
  return k;
}

Ctor *tc_find_ctor(Checker *c, Module *m, Sym name) { return scope_find(c, m, NS_CTOR, name); }

TypeName *tc_find_type(Checker *c, Name name) {
  if (!name.module) return scope_find(c, c->s.module, NS_TYPE, name.name);
  Module *m = find_module(c, name.module);
  return m ? module_find(c, m, NS_TYPE, name.name) : NULL;
}

TypeName *tc_lookup_type(Checker *c, Name name) {
  bool reported = false;
  meet_hole(c, name, NS_TYPE);
  TypeName *t = name.module ? qualified(c, name, NS_TYPE, &reported) : tc_find_type(c, name);
  if (!t && !reported) report_unbound(c, name, NS_TYPE, D_UNBOUND_TYPE, "type ");
  return t;
}

static bool has_fields(const Type *t, const Sym *fields, int n) {
  for (int i = 0; i < n; i++) {
    bool found = false;
    for (int j = 0; j < t->n; j++) found |= t->names[j] == fields[i];
    if (!found) return false;
  }
  return true;
}

/* exactly: without other fields. */
static TypeName *latest_record(const Module *m, const Sym *fields, int n, bool exactly) {
  for (TypeName *t = m->latest_type; t; t = t->previous) {
    Type *record = t->alias ? type_repr(t->alias) : NULL;
    bool is_record = record && record->kind == TY_RECORD && (!exactly || record->n == n);
    if (is_record && has_fields(record, fields, n)) return t;
  }
  return NULL;
}

static TypeName *latest_record_in_scope(Checker *c, const Sym *fields, int n, bool exactly) {
  Module *m = c->s.module;
  TypeName *t = latest_record(m, fields, n, exactly);
  for (int i = m->opened.len - 1; !t && i >= 0; i--) t = latest_record(m->opened.data[i], fields, n, exactly);
  if (!t && c->prelude && c->prelude != m) t = latest_record(c->prelude, fields, n, exactly);
  return t;
}

/* The latest type in scope that is a record with all these fields, or NULL. */
TypeName *tc_record_type_with(Checker *c, const Sym *fields, int n) {
  return latest_record_in_scope(c, fields, n, false);
}

/* The latest type in scope that is a record with just the fields of this one, or NULL. */
TypeName *tc_record_type_of(Checker *c, const Type *record) {
  return latest_record_in_scope(c, record->names, record->n, true);
}

bool tc_is_prelude_prim(const Checker *c, const Binding *b, const char *name) {
  return b->kind == BIND_PRIM && b->module == c->prelude && b->name == sym_of(c->syms, name);
}
