/* SPDX-License-Identifier: MIT */
/* The wording of errors in calls: what an argument that doesn't fit suggests that
 * was meant. Hints look at the function's name only where it is one of the
 * prelude's, and for the shapes of types otherwise. */
#include "check/check_internal.h"
#include <string.h>

/* Whether a new line begins between the two. */
static bool on_other_lines(Checker *c, const Expr *before, const Expr *after) {
  const char *text = sources_get(c->diags->sources, before->span.source)->text;
  uint32_t start = before->span.end, end = after->span.start;
  return before->span.source == after->span.source && start < end && memchr(text + start, '\n', end - start);
}

/* What the writer of a[0] as `a 0`, `a(0)` or `f a [0]` meant, or of `f g x`; or NULL. */
static const char *extra_argument_hint(const Expr *before, const Expr *extra) {
  Type *t = type_repr(before->type);
  if (t->kind == TY_ARRAY) return "an element is written a[i], without a space";
  if (t->kind == TY_FUN && extra) return "a call as an argument stands in parentheses: f (g x)";
  if (t->kind == TY_VAR && tc_is_scalar(t)) return "is an operator or a comma missing?";
  return NULL;
}

void tc_report_no_function(Checker *c, Expr *e, Type *t, int given) {
  const Expr *f = e->args[0];
  const char *name = f->kind == E_VAR || f->kind == E_CTOR ? f->name.name : NULL;
  for (int i = 1; i <= given + 1; i++)
    if (type_repr(e->args[i]->type)->kind == TY_ERROR) return; /* `5 mod 2`: what was meant isn't known */
  if (given == 0) {
    Diag *d = diag_error(c->diags, f->span, tc_diag_code(D_NOT_A_FUNCTION), "this is not a function: it is %s",
                         t->kind == TY_VAR ? "a number" : type_text(c, t));
    d->hint = f->kind == E_APPLY || f->kind == E_UNIT ? "is a `;` missing after it?" : extra_argument_hint(f, NULL);
    if (!d->hint) d->hint = "only functions are given arguments: is an operator missing after it?";
    return;
  }
  Diag *d = diag_error(c->diags, e->args[given + 1]->span, tc_diag_code(D_TOO_MANY_ARGUMENTS),
                       "%s%s%s takes %d argument%s, but is given %d", name ? "`" : "", name ? name : "this function",
                       name ? "`" : "", given, given == 1 ? "" : "s", e->nargs - 1);
  d->label = "too many arguments";
  d->hint = extra_argument_hint(e->args[given], e->args[given + 1]);
  if (f->kind == E_VAR && f->binding && tc_typed_by_rank(c, f->binding))
    d->hint = "several dimensions are one array: zeros [2, 3]";
  if (on_other_lines(c, e->args[given], e->args[given + 1]))
    d->hint = "is a `;` missing at the end of the line before?";
  if (f->kind == E_VAR && f->binding) {
    d->also = f->binding->span;
    d->also_label = "defined here";
  }
}

static bool is_data(Type *t) {
  t = type_repr(t);
  return t->kind != TY_FUN && t->kind != TY_ERROR && (t->kind != TY_VAR || t->classes & CLASS_NUM);
}

/* One tuple instead of several arguments, or the other way round. */
static const char *tuple_hint(Type *want, Type *got, Type *result, bool more) {
  want = type_repr(want);
  got = type_repr(got);
  if (want->kind == TY_FUN && got->kind == TY_FUN && is_data(want->args[1]) && type_repr(got->args[1])->kind == TY_FUN)
    return "a function of one argument is needed: fun (x, y) -> f x y is one, of a pair";
  if (want->kind == TY_FUN && got->kind == TY_FUN && type_repr(want->args[1])->kind == TY_FUN &&
      is_data(got->args[1]) && type_repr(got->args[0])->kind == TY_TUPLE)
    return "a function of several arguments is needed: fun a b -> …";
  if (want->kind == TY_TUPLE && got->kind != TY_TUPLE && more) return "the function takes one tuple: f (a, b)";
  if (got->kind == TY_TUPLE && want->kind != TY_TUPLE && type_repr(result)->kind == TY_FUN)
    return "arguments stand side by side, without commas: f a b";
  return NULL;
}

static Place argument_place(Checker *c, const Expr *f, const Expr *arg) {
  Place p = {.at = arg->span};
  if (f->kind == E_VAR && f->binding && f->binding->span.source) {
    p.also = f->binding->span;
    p.also_label = tc_format(c, "`%s` is defined here", f->name.name);
  } else {
    p.also = f->span;
    p.also_label = "the function it is given to";
  }
  return p;
}

/* ---- Arguments that don't fit --------------------------------------------------------- */
static bool is_prelude(const Checker *c, const Expr *f, const char *const *names) {
  if (f->kind != E_VAR || !f->binding || f->binding->module != c->prelude) return false;
  for (; *names; names++)
    if (!strcmp(f->name.name, *names)) return true;
  return false;
}

static Type *type_of(Checker *c, const Expr *call, int i) {
  if (i >= call->nargs) return NULL;
  Expr *arg = call->args[i];
  return type_repr(arg->type ? arg->type : tc_infer(c, arg));
}

/* Which derivative is meant, by what the function takes and gives. */
static const char *derivative_hint(Checker *c, const Expr *call) {
  static const char *const gradients[] = {"grad", "value_and_grad", "check_grad", "hvp", NULL};
  static const char *const others[] = {"jacobian", "jacfwd", "jacrev", "deriv", NULL};
  static const char *const hessian[] = {"hessian", NULL};
  bool gradient = is_prelude(c, call->args[0], gradients), second = is_prelude(c, call->args[0], hessian);
  if (!gradient && !second && !is_prelude(c, call->args[0], others)) return NULL;
  const Type *f = type_of(c, call, 1);
  Type *at = type_of(c, call, 2);
  if (f->kind != TY_FUN) return NULL;
  Type *to = type_repr(f->args[1]);
  const char *name = call->args[0]->name.name;
  if (to->kind == TY_FUN)
    return tc_format(
        c,
        "several variables are one tuple: %s (fun (x, y) -> f x y) (1.0, 2.0); by the last one alone: %s (f 1.0) 2.0",
        name, name);
  bool of_number = at ? tc_is_scalar(at) : tc_is_scalar(f->args[0]);
  bool of_array = at ? at->kind == TY_ARRAY : type_repr(f->args[0])->kind == TY_ARRAY;
  bool to_array = to->kind == TY_ARRAY, to_number = !to_array && to->kind != TY_TUPLE && to->kind != TY_RECORD;
  if (second && of_number) return "`deriv (deriv f) x` is the second derivative of a function of one float";
  if (second && !of_array) return "`hessian` is for functions of an array; `hvp f x v` is for any structure";
  if (of_number) return "`deriv f x` is the derivative of a function of one float";
  if (to_number) return gradient ? NULL : "`grad f x` is the gradient of a function to a float";
  if (of_array && to_array) return "`jacobian f x` is the derivative of a function from arrays to arrays";
  return "`jvp f x dx` and `vjp f x` are derivatives of any function";
}

static const char *largest_hint(Checker *c, const Expr *f, const Type *got) {
  static const char *const names[] = {"max", "min", NULL};
  if (got->kind != TY_ARRAY || !is_prelude(c, f, names)) return NULL;
  return f->name.name[1] == 'a' ? "`maximum a` is the largest element of an array, `max x y` the larger number"
                                : "`minimum a` is the least element of an array, `min x y` the smaller number";
}

/* map xs f */
static const char *swapped_hint(Checker *c, const Expr *call, int i, Type *want, const Type *got) {
  if (type_repr(want)->kind != TY_FUN || got->kind == TY_FUN || got->kind == TY_ERROR) return NULL;
  int j = i + 1;
  while (j < call->nargs && type_of(c, call, j)->kind != TY_FUN) j++;
  if (j == call->nargs) return NULL;
  const Expr *f = call->args[0];
  return tc_format(c, "the function comes first: %s %s %s", f->kind == E_VAR ? f->name.name : "g",
                   tc_short_text(c, call->args[j]->span, "f"),
                   j == 2 && j + 1 == call->nargs ? tc_short_text(c, call->args[i]->span, "a") : "…");
}

/* print f"…", where f is something else. */
static bool is_prefixed_string(const Expr *call, int i) {
  if (i + 1 >= call->nargs || call->args[i]->kind != E_VAR) return false;
  const Expr *text = call->args[i + 1];
  return text->kind == E_STRING && text->span.start == call->args[i]->span.end;
}

/* The function of lists that does what one of arrays does, if it is called otherwise. */
static const char *const of_lists[][2] = {{"reverse", "rev"}, {"any", "exists"}, {"all", "for_all"}};

static const char *name_for_lists(const char *name) {
  for (size_t i = 0; i < sizeof of_lists / sizeof *of_lists; i++)
    if (!strcmp(name, of_lists[i][0])) return of_lists[i][1];
  return name;
}

static const char *name_for_arrays(const char *name) {
  for (size_t i = 0; i < sizeof of_lists / sizeof *of_lists; i++)
    if (!strcmp(name, of_lists[i][1])) return of_lists[i][0];
  return name;
}

/* map f l, where l is a list; List.map f a, where a is an array. */
const char *tc_list_hint(Checker *c, const Expr *f, Type *want, Type *got) {
  while (f->kind == E_APPLY) f = f->args[0];
  if (f->kind != E_VAR || !f->binding) return NULL;
  want = type_repr(want);
  got = type_repr(got);
  const Name *name = &f->name;
  if (want->kind == TY_ARRAY && tc_is_predefined(c, got, "list") && f->binding->module == c->prelude) {
    Sym other = sym_of(c->syms, name_for_lists(name->name));
    if (tc_library_has(c, "List", other))
      return tc_format(c, "`List.%s` is for lists; `of_list l` makes an array of one", other);
  }
  if (tc_is_predefined(c, want, "list") && got->kind == TY_ARRAY && name->module && !strcmp(name->module, "List")) {
    Sym other = sym_of(c->syms, name_for_arrays(name->name));
    const Binding *b = tc_module_value(c, c->prelude, other);
    if (b && b->module == c->prelude) return tc_format(c, "`%s` is for arrays; `to_list a` makes a list of one", other);
  }
  return NULL;
}

/* sqrt xs */
static const char *elements_hint(Checker *c, const Expr *call, Type *want, const Type *got) {
  const Expr *f = call->args[0];
  if (call->nargs != 2 || f->kind != E_VAR || got->kind != TY_ARRAY || !tc_is_scalar(type_repr(want))) return NULL;
  if (!tc_is_scalar(type_repr(got->args[0]))) return NULL;
  return tc_format(c, "of each element it is: [ %s x | x in xs ]", f->name.name);
}

static const char *argument_hint(Checker *c, const Expr *call, int i, const Type *fun, Type *got) {
  const Expr *f = call->args[0];
  const char *hint = NULL;
  got = type_repr(got);
  if (f->kind == E_VAR && f->binding && tc_typed_by_rank(c, f->binding) && got->kind == TY_TUPLE)
    return tc_format(c, "several dimensions are an array: %s [2, 3]%s", f->name.name,
                     strcmp(f->name.name, "reshape") ? "" : " a");
  if (is_prefixed_string(call, i)) return "a string with values in it begins with `$`: $\"x is {x:.3f}\"";
  bool no_float = c->clash.kind == CLASH_CLASS && c->clash.cls == CLASS_DIFF;
  if (i <= 2 && !no_float) hint = derivative_hint(c, call);
  if (!hint) hint = largest_hint(c, f, got);
  if (!hint) hint = swapped_hint(c, call, i, fun->args[0], got);
  if (!hint) hint = tc_list_hint(c, f, fun->args[0], got);
  if (!hint) hint = elements_hint(c, call, fun->args[0], got);
  return hint;
}

/* The i-th argument of the call, of type `got`, given to a function of type `fun`. */
bool tc_expect_argument(Checker *c, const Expr *call, int i, const Type *fun, Type *got) {
  Place p = argument_place(c, call->args[0], call->args[i]);
  p.hint = tuple_hint(fun->args[0], got, fun->args[1], i + 1 < call->nargs);
  c->at = p.at;
  if (tc_unify(c, fun->args[0], got)) {
    tc_solve(c);
    return true;
  }
  Clash clash = c->clash;
  const char *hint = argument_hint(c, call, i, fun, got);
  c->clash = clash;
  if (hint) p.hint = hint;
  tc_report_clash(c, fun->args[0], got, p);
  for (i++; i < call->nargs; i++) type_of(c, call, i);
  return false;
}
