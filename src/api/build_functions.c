/* SPDX-License-Identifier: MIT */
/* Which functions a library has, and what they look like in C.
 *
 *   f        f : a -> b            model_f       parameters of f, results of f
 *   grad:f   f : a -> float        model_f_grad  parameters of f; value, gradient by each parameter of floats
 *   vjp:f    f : a -> b            model_f_vjp   parameters of f, a cotangent of the result; results of f, gradients
 *
 * Tuples and records are flattened in the order of their slots: a part for each number or array. */
#include "api/build.h"
#include <string.h>

/* ---- Names in C -------------------------------------------------------------------------------------------------- */
/* In C, C++, or by the headers that ours includes. */
static bool is_reserved(const char *word) {
  static const char words[] =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t"
      " char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr"
      " constinit continue decltype default delete do double dynamic_cast else enum explicit export extern"
      " false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr"
      " operator or or_eq private protected public register reinterpret_cast requires restrict return short"
      " signed sizeof static static_assert static_cast struct switch template this thread_local throw true"
      " try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor"
      " xor_eq size_t int64_t NULL main ";
  size_t n = strlen(word);
  for (const char *at = words; (at = strstr(at, word)); at++)
    if (at[-1] == ' ' && at[n] == ' ') return true;
  return false;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_word(const char *s) {
  if (!is_letter(*s)) return false;
  while (is_letter(*s) || is_digit(*s)) s++;
  return !*s;
}

/* A name in C that isn't reserved, in C++ neither. */
static bool is_identifier(const char *word) { return is_word(word) && word[0] != '_' && !is_reserved(word); }

/* From the path of the library: "libmodel.so" → "model". NULL after a report. */
static const char *find_prefix(Build *b) {
  const char *path = b->what.output, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (strncmp(name, "lib", 3) == 0 && name[3] && name[3] != '.') name += 3;
  char *prefix = arena_strndup(&b->arena, name, strcspn(name, "."));
  for (char *c = prefix; *c; c++)
    if (*c == '-' || *c == '+') *c = '_';
  if (is_identifier(prefix)) return prefix;
  report_bad_argument(b->vm, "names in C begin with the library's, and `%s` is none: call it as in `libmodel.so`",
                      prefix);
  return NULL;
}

/* ---- What is wanted ---------------------------------------------------------------------------------------------- */
static const char *const form_prefixes[] = {"", "grad:", "vjp:"};
static const char *const form_endings[] = {"", "_grad", "_vjp"};

static BuildFunction *add_function(Build *b, BuildForm form, const char *name) {
  BuildFunction *f = NEW(&b->arena, BuildFunction);
  f->form = form;
  f->name = name;
  f->wanted = arena_printf(&b->arena, "%s%s", form_prefixes[form], name);
  vec_push(&b->arena, b->functions, f);
  return f;
}

void build_leave_out(Build *b, const char *name, const char *why) {
  BuildLeft left = {name, why};
  vec_push(&b->arena, b->left, left);
}

/* "Linalg.solve" → "model_Linalg_solve". NULL: the name has characters that C hasn't. */
static const char *c_name_of(Build *b, const BuildFunction *f) {
  char *name = arena_printf(&b->arena, "%s_%s%s", b->prefix, f->name, form_endings[f->form]);
  for (char *c = name; *c; c++)
    if (*c == '.') *c = '_';
  return is_word(name) ? name : NULL;
}

static bool is_taken(const Build *b, const BuildFunction *f, const char *c_name) {
  if (strcmp(c_name + strlen(b->prefix), "_last_error") == 0) return true;
  for (int k = 0; k < b->functions.len && b->functions.data[k] != f; k++)
    if (strcmp(b->functions.data[k]->c_name, c_name) == 0) return true;
  return false;
}

static AtledStatus name_function(Build *b, BuildFunction *f) {
  f->c_name = c_name_of(b, f);
  if (!f->c_name)
    return report_bad_argument(b->vm, "`%s` can't be called so in C, where names consist of a to z, digits and _",
                               f->name);
  if (is_taken(b, f, f->c_name))
    return report_bad_argument(b->vm, "`%s`: there is another function `%s` in the library", f->wanted, f->c_name);
  return ATLED_OK;
}

static AtledStatus want(Build *b, const char *entry) {
  BuildForm form = BUILD_VALUE;
  const char *name = entry, *colon = strchr(entry, ':');
  if (strncmp(entry, "grad:", 5) == 0) form = BUILD_GRADIENT;
  if (strncmp(entry, "vjp:", 4) == 0) form = BUILD_PULLBACK;
  if (form) name = colon + 1;
  else if (colon) return report_bad_argument(b->vm, "`%s`: a function is named `f`, `grad:f` or `vjp:f`", entry);
  if (!*name) return report_bad_argument(b->vm, "a name is missing in the list of functions `%s`", b->what.functions);
  const Binding *binding = names_value(b->vm, name);
  if (!binding) return report_bad_argument(b->vm, "nothing is named `%s`", name);
  return name_function(b, add_function(b, form, name));
}

static AtledStatus want_all(Build *b) {
  for (const char *at = b->what.functions;; at++) {
    size_t n = strcspn(at, ",");
    size_t first = strspn(at, " "), last = n;
    if (first > n) first = n;
    while (last > first && at[last - 1] == ' ') last--;
    AtledStatus status = want(b, arena_strndup(&b->arena, at + first, last - first));
    if (status != ATLED_OK) return status;
    at += n;
    if (!*at) return ATLED_OK;
  }
}

static bool is_function(const Binding *x) { return type_repr(x->type)->kind == TY_FUN; }

static bool stands_before(Span a, Span b) { return a.source < b.source || (a.source == b.source && a.start < b.start); }

/* In the order of their definitions. */
static void sort_bindings(const Binding **all, int n) {
  for (int k = 1; k < n; k++) {
    const Binding *x = all[k];
    int i = k;
    for (; i > 0 && stands_before(x->span, all[i - 1]->span); i--) all[i] = all[i - 1];
    all[i] = x;
  }
}

/* The functions of the main program whose names don't begin with `_`. */
static int find_public(Build *b, const Binding ***out) {
  AtledVM *vm = b->vm;
  Sym *names;
  int n = checker_module_names(vm->checker, vm->main, &names, &vm->scratch), found = 0;
  *out = NEW_ARRAY(&vm->scratch, const Binding *, n + 1);
  for (int k = 0; k < n; k++) {
    const Binding *x = checker_lookup(vm->checker, vm->main, names[k]);
    if (x && x->module == vm->main && x->item && names[k][0] != '_' && is_function(x)) (*out)[found++] = x;
  }
  sort_bindings(*out, found);
  return found;
}

static void want_public(Build *b) {
  const Binding **all;
  int n = find_public(b, &all);
  for (int k = 0; k < n; k++) {
    const char *name = arena_strndup(&b->arena, all[k]->name, strlen(all[k]->name));
    BuildFunction *f = add_function(b, BUILD_VALUE, name);
    f->c_name = c_name_of(b, f);
    if (f->c_name && !is_taken(b, f, f->c_name)) continue;
    b->functions.len--;
    build_leave_out(b, name, "it can't be called so in C");
  }
}

AtledStatus build_list(Build *b) {
  if (!(b->prefix = find_prefix(b))) return ATLED_BAD_ARGUMENT;
  b->named = b->what.functions != NULL;
  if (b->named) return want_all(b);
  want_public(b);
  return ATLED_OK;
}

/* ---- Expressions ------------------------------------------------------------------------------------------------- */
/* "a0 a1", or those that are differentiated, or not, with commas. */
static void add_arguments(Str *s, const BuildFunction *f, bool differentiated, const char *between) {
  bool first = true;
  for (int k = 0; k < f->arity; k++) {
    if (differentiated && !f->differentiated[k]) continue;
    str_printf(s, "%sa%d", first ? "" : between, k);
    first = false;
  }
}

/* The type with float for each of its variables: "num 'a => 'a[] -> 'a" → "float[] -> float". */
static const char *with_floats(Build *b, const char *type) {
  Str out = {.arena = &b->arena};
  const char *at = strstr(type, "=> ");
  for (at = at ? at + 3 : type; *at;) {
    if (*at != '\'') {
      str_addc(&out, *at++);
      continue;
    }
    str_puts(&out, "float");
    for (at++; is_letter(*at) || is_digit(*at); at++) {}
  }
  return out.data;
}

/* C has no functions of any number: those become functions of floats. NULL: nothing is open but effects, or something
 * else than numbers is. */
static const char *type_of_floats(Build *b, const char *name) {
  const Binding *x = names_value(b->vm, name);
  bool numbers = false;
  for (int k = 0; x && k < x->nqvars; k++) {
    unsigned classes = x->qvars[k]->classes;
    if (classes & CLASS_EFFECT) continue;
    if (!(classes & (CLASS_NUM | CLASS_SCALAR | CLASS_DIFF))) return NULL;
    numbers = true;
  }
  if (!numbers) return NULL;
  Str text = {.arena = &b->arena};
  binding_type_print(b->vm->checker, b->vm->main, x, &text);
  return with_floats(b, text.data);
}

const char *build_expression(Build *b, BuildFunction *f, bool plain) {
  if (plain) {
    f->type = type_of_floats(b, f->name);
    return f->name;
  }
  if (f->form == BUILD_VALUE) return NULL;
  Str all = {.arena = &b->arena}, own = {.arena = &b->arena}, s = {.arena = &b->arena};
  const char *name = f->type ? arena_printf(&b->arena, "(%s : %s)", f->name, f->type) : f->name;
  add_arguments(&all, f, false, " ");
  add_arguments(&own, f, true, ", ");
  if (f->form == BUILD_GRADIENT)
    str_printf(&s, "fun %s -> value_and_grad (fun (%s) -> %s %s) (%s)", all.data, own.data, name, all.data, own.data);
  else
    str_printf(&s, "fun %s c -> let (y, back) = vjp (fun (%s) -> %s %s) (%s) in (y, back c)", all.data, own.data, name,
               all.data, own.data);
  return s.data;
}

/* ---- The function itself ----------------------------------------------------------------------------------------- */
static bool consists_of_floats(const Desc *d) {
  if (d->kind == D_FLOAT) return true;
  if (d->kind == D_ARRAY) return consists_of_floats(d->args[0]);
  if (d->kind != D_TUPLE || !d->n) return false;
  for (int k = 0; k < d->n; k++)
    if (!consists_of_floats(d->args[k])) return false;
  return true;
}

static const Desc *parameter(const AtledFunction *h, int k) { return h->arity > 1 ? h->param->args[k] : h->param; }

static const char *keep(Build *b, const char *text) {
  return text ? arena_strndup(&b->arena, text, strlen(text)) : NULL;
}

AtledStatus build_look(Build *b, BuildFunction *f) {
  const AtledFunction *h = f->plain;
  if (!h->arity) return report_bad_argument(b->vm, "`%s` is no function", f->name);
  f->arity = h->arity;
  f->text = keep(b, h->parts.text);
  f->doc = keep(b, h->parts.doc);
  f->names = NEW_ARRAY(&b->arena, const char *, f->arity);
  f->differentiated = NEW_ARRAY(&b->arena, bool, f->arity);
  bool any = f->form == BUILD_VALUE;
  for (int k = 0; k < f->arity; k++) {
    f->names[k] = keep(b, h->parts.names[k]);
    any |= f->differentiated[k] = consists_of_floats(parameter(h, k));
  }
  if (!any)
    return report_bad_argument(b->vm, "`%s`: no parameter of `%s : %s` consists of floats", f->wanted, f->name,
                               f->text);
  if (f->form == BUILD_GRADIENT && h->result->kind != D_FLOAT)
    return report_bad_argument(b->vm, "`%s`: `%s : %s` doesn't give a float", f->wanted, f->name, f->text);
  return ATLED_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */
typedef struct Flattening {
  Build *b;
  BuildFunction *f;
  BuildParts *to;
  const char *why; /* what can't be passed; NULL: nothing */
} Flattening;

static bool is_named(const BuildParts *parts, const char *name) {
  for (int k = 0; k < parts->len; k++)
    if (strcmp(parts->data[k].name, name) == 0) return true;
  return false;
}

/* Does it end as the names of sizes do: x_n, x_n0, x_room, x_dims? */
static bool is_size_name(const char *name) {
  const char *end = strrchr(name, '_');
  if (!end) return false;
  return strcmp(end, "_room") == 0 || strcmp(end, "_dims") == 0 ||
         (end[1] == 'n' && strspn(end + 2, "0123456789") == strlen(end + 2));
}

/* A name in C that nothing else in the function's declaration has. */
static const char *unique_name(const Flattening *z, const char *wish) {
  Arena *arena = &z->b->arena;
  bool usable = is_identifier(wish) && !is_size_name(wish);
  const char *name = usable ? wish : arena_printf(arena, "%s_", *wish == '_' ? arena_printf(arena, "x%s", wish) : wish);
  const char *base = name;
  for (int k = 2; is_named(&z->f->params, name) || is_named(&z->f->results, name); k++)
    name = arena_printf(arena, "%s_%d", base, k);
  return name;
}

/* Are the slots of an array's element all floats (*floats), or all ints? */
static bool is_plain_element(const Desc *d, bool *floats) {
  *floats = d->nslots > 0 && d->slots[0] == SLOT_FLOAT;
  if (d->kind == D_INT || d->kind == D_FLOAT) return true;
  if (d->kind != D_TUPLE || !d->n) return false;
  for (int k = 0; k < d->n; k++) {
    bool same;
    if (!is_plain_element(d->args[k], &same) || same != *floats) return false;
  }
  return true;
}

static const char *misfit(const Desc *d) {
  switch (d->kind) {
  case D_STRING: return "a string";
  case D_FUN: return "a function";
  case D_VARIANT: return value_is_list(d) ? "a list" : "a variant";
  case D_ARRAY: return "an array whose elements don't consist of floats or of ints alone";
  default: return "such a value";
  }
}

static void add_part(Flattening *z, const Desc *d, BuiltKind kind, const char *name, const char *doc) {
  name = unique_name(z, name);
  BuildPart p = {.part = {.kind = (int32_t)kind, .like = -1, .name = name}, .width = 1, .name = name, .doc = doc};
  if (kind == BUILT_ARRAY) {
    p.part.rank = d->rank;
    p.part.desc = d;
    p.width = d->args[0]->nslots;
    is_plain_element(d->args[0], &p.floats);
  }
  vec_push(&z->b->arena, *z->to, p);
}

/* Adds the parts of a value: `name` is what they are called in C, `doc` in the program. */
static void flatten(Flattening *z, const Desc *d, const char *name, const char *doc) {
  Arena *arena = &z->b->arena;
  bool floats;
  if (z->why) return;
  if (d->kind == D_TUPLE) {
    for (int k = 0; k < d->n; k++) {
      const char *item = d->names ? d->names[k] : arena_printf(arena, "%d", k + 1);
      const char *part = is_word(item) || !d->names ? item : arena_printf(arena, "%d", k + 1);
      flatten(z, d->args[k], arena_printf(arena, "%s_%s", name, part), arena_printf(arena, "%s.%s", doc, item));
    }
  } else if (d->kind == D_INT) {
    add_part(z, d, BUILT_INT, name, doc);
  } else if (d->kind == D_FLOAT) {
    add_part(z, d, BUILT_FLOAT, name, doc);
  } else if (d->kind == D_BOOL) {
    add_part(z, d, BUILT_BOOL, name, doc);
  } else if (d->kind == D_ARRAY && is_plain_element(d->args[0], &floats)) {
    add_part(z, d, BUILT_ARRAY, name, doc);
  } else if (d->kind != D_UNIT) {
    z->why = arena_printf(arena, "`%s` is %s, which isn't passed to C", doc, misfit(d));
  }
}

/* The results from `first` on are gradients by the parameters with the numbers `of`: arrays have their dimensions. */
static void set_like(BuildFunction *f, int first, const int *of, int n) {
  for (int k = 0; k < n && first + k < f->results.len; k++) {
    BuiltPart *g = &f->results.data[first + k].part;
    const BuiltPart *p = &f->params.data[of[k]].part;
    if (g->kind == BUILT_ARRAY && p->kind == BUILT_ARRAY && g->rank == p->rank) g->like = of[k];
  }
}

static const char *parameter_name(const Build *b, const BuildFunction *f, int k) {
  const char *name = f->names[k];
  return name && is_word(name) ? name : arena_printf((Arena *)&b->arena, f->arity > 1 ? "x%d" : "x", k + 1);
}

/* The gradient has a part for each parameter that is differentiated. */
static void flatten_gradient(Flattening *z, const Desc *gradient, const int *of, int n) {
  BuildFunction *f = z->f;
  Arena *arena = &z->b->arena;
  int first = f->results.len, ndiff = 0, item = 0;
  for (int k = 0; k < f->arity; k++) ndiff += f->differentiated[k];
  for (int k = 0; k < f->arity; k++) {
    if (!f->differentiated[k]) continue;
    const char *name = parameter_name(z->b, f, k);
    const Desc *d = ndiff > 1 ? gradient->args[item++] : gradient;
    flatten(z, d, arena_printf(arena, "%s_grad", name), arena_printf(arena, "gradient by %s", name));
  }
  set_like(f, first, of, n);
}

AtledStatus build_parts(Build *b, BuildFunction *f) {
  const AtledFunction *h = f->handle;
  Flattening z = {.b = b, .f = f, .to = &f->params};
  Vec(int) of = {0}; /* parts of parameters that are differentiated */
  for (int k = 0; k < f->arity; k++) {
    int first = f->params.len;
    const char *name = parameter_name(b, f, k);
    flatten(&z, parameter(h, k), name, name);
    for (int i = first; i < f->params.len && f->differentiated[k]; i++) vec_push(&b->arena, of, i);
  }
  if (f->form == BUILD_PULLBACK) flatten(&z, parameter(h, f->arity), "cotangent", "cotangent of the result");
  z.to = &f->results;
  if (f->form == BUILD_VALUE) {
    flatten(&z, h->result, "result", "result");
  } else {
    flatten(&z, h->result->args[0], f->form == BUILD_GRADIENT ? "value" : "result", "result");
    flatten_gradient(&z, h->result->args[1], of.data, of.len);
  }
  if (z.why) return report_bad_argument(b->vm, "`%s : %s`: %s", f->wanted, f->text, z.why);
  if (!f->results.len) return report_bad_argument(b->vm, "`%s : %s` has no result", f->wanted, f->text);
  return ATLED_OK;
}
