/* SPDX-License-Identifier: MIT */
/* Definitions of the host's functions.
 *
 * A function is bound like a C function, and so are its rules, by a source that is made here and checked like any
 * other. With a pullback `f : int -> float -> float` becomes
 *
 *   foreign "host:0" f'pullback : (int) -> (float) -> (float) -> (float) -> (int) * (float)
 *   foreign "host:1" f : (int) -> (float) -> (float)
 *   pullback f x0 x1 = let y = f x0 x1 in (y, fun d -> f'pullback x0 x1 y d)
 *
 * Rules may have rules, which are made in the same way. Their names are taken back when all has been checked. The
 * number is a row of vm->hosts: of functions that have one name each has its own, so what was made with the older one
 * keeps calling that.
 *
 * A function `Sim.step` belongs to a module that all of the program knows, as it does the library's. */
#include "api/hosts.h"
#include "api/handles.h"
#include "support/host_library.h"
#include <string.h>

/* ---- The source ------------------------------------------------------------------------------------------------- */
typedef struct Definition {
  AtledVM *vm;
  Module *module;
  AtledHostFunction f;
  Str source;
  const char **params; /* texts of types, in brackets */
  const char *result;
  int nparams;
  Vec(HostFunction) made; /* in the order of the source */
} Definition;

/* A function or one of its rules. */
typedef struct Bound {
  const char *name;
  const char **params, *result;
  int nparams;
  AtledCallback call;
  const AtledRule *pullback, *tangent;
  int order; /* of its derivative */
} Bound;

static bool bind(Definition *d, const Bound *b);

static void add_names(Str *out, const char *prefix, int n) {
  for (int i = 0; i < n; i++) str_printf(out, " %s%d", prefix, i);
}

/* The types of a tuple of one for each argument. */
static const char *of_arguments(Arena *a, const Bound *b) {
  if (b->nparams == 1) return b->params[0];
  Str out = {.arena = a};
  for (int i = 0; i < b->nparams; i++) str_printf(&out, "%s%s", i ? " * " : "(", b->params[i]);
  str_puts(&out, ")");
  return out.data;
}

static Bound rule_of(Definition *d, const Bound *b, const AtledRule *rule, bool pullback) {
  Arena *a = &d->vm->scratch;
  int n = b->nparams;
  const char **params = NEW_ARRAY(a, const char *, 2 * n + 2);
  memcpy(params, b->params, sizeof *params * (size_t)n);
  if (pullback) params[n] = params[n + 1] = b->result;
  else memcpy(params + n, b->params, sizeof *params * (size_t)n);
  return (Bound){.name = arena_printf(a, "%s'%s", b->name, pullback ? "pullback" : "tangent"),
                 .params = params,
                 .result = pullback ? of_arguments(a, b) : b->result,
                 .nparams = pullback ? n + 2 : 2 * n,
                 .call = rule->call,
                 .pullback = rule->pullback,
                 .tangent = rule->tangent,
                 .order = b->order + 1};
}

static void write_pullback(Definition *d, const Bound *b, const Bound *rule) {
  Str *s = &d->source;
  str_printf(s, "pullback %s", b->name);
  add_names(s, "x", b->nparams);
  str_printf(s, " = let y = %s", b->name);
  add_names(s, "x", b->nparams);
  str_printf(s, " in (y, fun d -> %s", rule->name);
  add_names(s, "x", b->nparams);
  str_puts(s, " y d)\n");
}

static void write_tangent(Definition *d, const Bound *b, const Bound *rule) {
  Str *s = &d->source;
  str_printf(s, "tangent %s", b->name);
  add_names(s, "x", b->nparams);
  add_names(s, "d", b->nparams);
  str_printf(s, " = (%s", b->name);
  add_names(s, "x", b->nparams);
  str_printf(s, ", %s", rule->name);
  add_names(s, "x", b->nparams);
  add_names(s, "d", b->nparams);
  str_puts(s, ")\n");
}

static void write_doc(Definition *d) {
  const char *doc = d->f.doc;
  while (doc && *doc) {
    size_t n = strcspn(doc, "\n");
    str_printf(&d->source, n ? "# %.*s\n" : "#\n", (int)n, doc);
    doc += n + (doc[n] != 0);
  }
}

static void write_binding(Definition *d, const Bound *b) {
  bool effect = !(d->f.flags & ATLED_PURE);
  if (!b->order) write_doc(d);
  str_printf(&d->source, "foreign \"" HOST_LIBRARY "%d%s\" %s : ", d->vm->hosts.len + d->made.len, effect ? "!" : "",
             b->name);
  for (int i = 0; i < b->nparams; i++) str_printf(&d->source, "%s -> ", b->params[i]);
  str_printf(&d->source, "%s\n", b->result);
  HostFunction made = {.run.call = host_call,
                       .name = b->name,
                       .call = b->call,
                       .user = d->f.user,
                       .nargs = b->nparams,
                       .pure = d->f.flags & ATLED_PURE,
                       .thread_safe = d->f.flags & ATLED_THREAD_SAFE,
                       .rule = b->order > 0};
  vec_push(&d->vm->scratch, d->made, made);
}

/* Writes the rules first, which the function's item then refers to. False after a report. */
static bool bind(Definition *d, const Bound *b) {
  if (!b->call || b->order > LIMIT_HOST_RULES) {
    if (b->call) report_bad_argument(d->vm, "the rules of `%s` are nested deeper than %d", d->f.name, LIMIT_HOST_RULES);
    else report_bad_argument(d->vm, "the callback of `%s` is NULL", b->name);
    return false;
  }
  Bound pullback, tangent;
  if (b->pullback) pullback = rule_of(d, b, b->pullback, true);
  if (b->tangent) tangent = rule_of(d, b, b->tangent, false);
  if ((b->pullback && !bind(d, &pullback)) || (b->tangent && !bind(d, &tangent))) return false;
  write_binding(d, b);
  if (b->pullback) write_pullback(d, b, &pullback);
  if (b->tangent) write_tangent(d, b, &tangent);
  return true;
}

/* ---- Names and modules ------------------------------------------------------------------------------------------- */
static Tokens tokens_of(AtledVM *vm, const char *text) {
  uint32_t source = sources_add(&vm->sources, "<name>", text, strlen(text));
  Tokens t = lex(vm->lexer, &vm->scratch, &vm->syms, &vm->diags, source, 0, (uint32_t)strlen(text));
  if (vm->diags.errors) t.len = 0;
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  return t;
}

/* Splits `name` or `Module.name`, without anything else. False: it is neither. */
static bool split_name(AtledVM *vm, const char *text, Sym *module, const char **name) {
  Tokens t = tokens_of(vm, text);
  bool plain = t.len == 2 && t.data[0].kind == TOK_IDENT;
  bool qualified =
      t.len == 4 && t.data[0].kind == TOK_UPPER && t.data[1].kind == TOK_DOT && t.data[2].kind == TOK_IDENT;
  if (!plain && !qualified) return false;
  size_t n = 0;
  for (int i = 0; i < t.len - 1; i++) n += t.data[i].end - t.data[i].start;
  *module = plain ? NULL : t.data[0].text;
  *name = text + t.data[t.len - 2].start;
  return n == strlen(text);
}

/* The module of that name; NULL: the library has one. */
static Module *host_module(AtledVM *vm, Sym name) {
  if (!name) return vm->main;
  ModuleLoader loader = modules_loader(vm);
  Module *m = loader.library(loader.user, name);
  if (m) return m->library ? NULL : m;
  m = checker_new_module(vm->checker, name, NULL, sources_add(&vm->sources, "<host>", "", 0));
  map_put(&vm->libraries, name, m);
  return m;
}

/* Finds the module of what is to be defined, and its name there. */
static AtledStatus find_place(AtledVM *vm, const char *text, const char *what, Module **m, const char **name) {
  Sym module;
  if (!split_name(vm, text, &module, name)) return report_bad_argument(vm, "a %s can't be named `%s`", what, text);
  *m = host_module(vm, module);
  return *m ? ATLED_OK : report_bad_argument(vm, "`%s` is a module of the library", module);
}

/* Checks a source that binds functions of the host. Its items stand in the module from *first on. */
static AtledStatus check_source(AtledVM *vm, Module *m, const char *source, int *first) {
  uint32_t id = sources_add(&vm->sources, "<host>", source, strlen(source));
  sources_get(&vm->sources, id)->host = true;
  SAVE(&vm->arena, *m);
  *first = m->items.len;
  Program *p = parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, id);
  if (!vm->diags.errors) check_program(vm->checker, m, p, &vm->diags);
  return report_diags(vm) ? ATLED_COMPILE_ERROR : ATLED_OK;
}

/* ---- What the host gives ----------------------------------------------------------------------------------------- */
static AtledStatus check_parts(AtledVM *vm, const AtledHostFunction *f) {
  size_t bad;
  if (!f->name || !f->type) return report_bad_argument(vm, "the %s of the function is NULL", f->name ? "type" : "name");
  if (f->doc && (!utf8_valid(f->doc, strlen(f->doc), &bad) || strchr(f->doc, '\r')))
    return report_bad_argument(vm, "the documentation of `%s` isn't lines of UTF-8", f->name);
  if (f->flags & ~(unsigned)(ATLED_PURE | ATLED_THREAD_SAFE))
    return report_bad_argument(vm, "`%s` has flags that aren't known: %u", f->name, f->flags);
  if ((f->pullback || f->tangent) && !(f->flags & ATLED_PURE))
    return report_bad_argument(vm, "`%s` has a derivative rule, so it must be ATLED_PURE", f->name);
  return ATLED_OK;
}

/* The text of a part of the type, in brackets. */
static const char *type_part(AtledVM *vm, const char *source, Span at) {
  return arena_printf(&vm->scratch, "(%.*s)", (int)(at.end - at.start), source + at.start);
}

/* Splits the type, which is one, at its arrows. */
static AtledStatus split_type(Definition *d) {
  AtledVM *vm = d->vm;
  const char *text = arena_printf(&vm->scratch, "foreign \"\" f :\n %s", d->f.type);
  uint32_t source = sources_add(&vm->sources, "<type>", text, strlen(text));
  const Program *p = parse_program(vm->lexer, &vm->scratch, &vm->syms, &vm->diags, source);
  const TypeExpr *t = p->items.data[0]->annot;
  int n = 0;
  for (const TypeExpr *e = t; e->kind == TE_FUN; e = e->args[1]) n++;
  if (!n)
    return report_bad_argument(vm, "`%s` is to be a function, and its type `%s` isn't that of one", d->f.name,
                               d->f.type);
  if (n > LIMIT_HOST_ARGUMENTS)
    return report_bad_argument(vm, "`%s` has more than %d arguments", d->f.name, LIMIT_HOST_ARGUMENTS);
  d->params = NEW_ARRAY(&vm->scratch, const char *, n);
  for (; t->kind == TE_FUN; t = t->args[1]) d->params[d->nparams++] = type_part(vm, text, t->args[0]->span);
  d->result = type_part(vm, text, t->span);
  return ATLED_OK;
}

static AtledStatus read_type(Definition *d) {
  AtledVM *vm = d->vm;
  Type *t = checker_parse_type(vm->checker, d->module, &vm->diags, vm->lexer, d->f.type);
  if (report_diags(vm) || !t) return ATLED_COMPILE_ERROR;
  if (type_has_variables(t))
    return report_bad_argument(vm, "the type of a host's function has no type variables, as `%s` has", d->f.type);
  return split_type(d);
}

/* ---- Types of values --------------------------------------------------------------------------------------------- */
/* Is it data that a host can read and make? */
static bool crosses(const Desc *d, Map *seen, Arena *a) {
  if (map_get(seen, d)) return true;
  map_put(seen, d, (void *)(uintptr_t)d);
  if (value_kind(d) == ATLED_OTHER) return false;
  for (int i = 0; i < d->n && d->kind != D_STRING; i++)
    if (!crosses(d->args[i], seen, a)) return false;
  return true;
}

static const Desc *desc_of(AtledVM *vm, Type *t) {
  const Desc *d = rt_desc(&vm->rt, lower_desc(vm->world, elab_ir_type(vm->elab, t)));
  if (!d) heap_out_of_memory(&vm->heap);
  return d;
}

static AtledStatus describe(AtledVM *vm, HostFunction *f, Type *t) {
  Map seen;
  map_init(&seen, &vm->scratch);
  f->params = NEW_ARRAY(&vm->arena, const Desc *, f->nargs);
  bool fine = true;
  for (int i = 0; i < f->nargs; i++) {
    t = type_repr(t);
    f->params[i] = desc_of(vm, t->args[0]);
    fine &= crosses(f->params[i], &seen, &vm->scratch);
    t = t->args[1];
  }
  f->result = desc_of(vm, t);
  if (fine && crosses(f->result, &seen, &vm->scratch)) return ATLED_OK;
  return report_bad_argument(vm,
                             "`%s` can't have this type: what crosses to a host has no functions in it, and arrays "
                             "of at most %d dimensions",
                             f->name, ATLED_MAX_RANK);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static AtledStatus add_functions(Definition *d, int first) {
  AtledVM *vm = d->vm;
  int k = 0;
  for (int i = first; i < d->module->items.len; i++) {
    const Item *item = d->module->items.data[i];
    if (item->kind != I_FOREIGN) continue;
    HostFunction *f = NEW(&vm->arena, HostFunction);
    *f = d->made.data[k++];
    f->name = item->name.name;
    AtledStatus status = describe(vm, f, item->binding->type);
    if (status != ATLED_OK) return status;
    vec_push(&vm->arena, vm->hosts, f);
  }
  return ATLED_OK;
}

/* Makes the source of the function and its rules, of which the program sees no names. */
static AtledStatus bind_all(Definition *d) {
  AtledVM *vm = d->vm;
  Map *values = &d->module->values;
  Bound function = {.name = d->f.name,
                    .params = d->params,
                    .result = d->result,
                    .nparams = d->nparams,
                    .call = d->f.call,
                    .pullback = d->f.pullback,
                    .tangent = d->f.tangent};
  if (!bind(d, &function)) return ATLED_BAD_ARGUMENT;
  int n = d->made.len - 1, first; /* the function is the last */
  Sym *names = NEW_ARRAY(&vm->scratch, Sym, n + 1);
  void **before = NEW_ARRAY(&vm->scratch, void *, n + 1);
  for (int i = 0; i < n; i++) before[i] = map_get(values, names[i] = sym_of(&vm->syms, d->made.data[i].name));
  AtledStatus status = check_source(vm, d->module, d->source.data, &first);
  if (status == ATLED_OK) status = add_functions(d, first);
  for (int i = 0; i < n; i++) map_put(values, names[i], before[i]);
  return status;
}

static AtledStatus define_body(AtledVM *vm, void *arg) {
  Definition d = {.vm = vm, .f = *(const AtledHostFunction *)arg, .source.arena = &vm->scratch};
  AtledStatus status = check_parts(vm, &d.f);
  if (status == ATLED_OK) status = find_place(vm, d.f.name, "function", &d.module, &d.f.name);
  if (status == ATLED_OK) status = read_type(&d);
  if (status == ATLED_OK) status = bind_all(&d);
  vm->defined = status == ATLED_OK;
  return status;
}

static AtledStatus define_type_body(AtledVM *vm, void *arg) {
  Module *m;
  const char *name;
  int first;
  AtledStatus status = find_place(vm, arg, "type", &m, &name);
  if (status == ATLED_OK) status = check_source(vm, m, arena_printf(&vm->scratch, "type %s\n", name), &first);
  vm->defined = status == ATLED_OK;
  return status;
}

AtledStatus atled_define_type(AtledVM *vm, const char *name) {
  return name ? vm_call(vm, define_type_body, (void *)(uintptr_t)name) : vm_reject_null(vm, "the name of the type");
}

static AtledStatus refuse_fields(AtledVM *vm, void *unused) {
  (void)unused;
  return report_bad_argument(vm, "the function has a field that this library doesn't know");
}

AtledStatus atled_define_sized(AtledVM *vm, const AtledHostFunction *function, size_t size) {
  AtledHostFunction own = {0};
  if (!function) return vm_reject_null(vm, "the function");
  if (!struct_take(&own, sizeof own, function, size)) return vm_call_unlimited(vm, refuse_fields, NULL);
  return vm_call(vm, define_body, &own);
}
