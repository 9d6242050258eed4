/* SPDX-License-Identifier: MIT */
/* Studies of an expression, which is elaborated for that and not run. `why f x`: on which paths the argument's floats
 * reach the result of f, and where these are cut off from the derivative.
 *
 * `cost` is study_cost.c.
 *
 * The text is that of the last arguments of `vjp`: "f x" becomes the item `vjp f x`, elaborated with marks where values
 * lose their derivative (TRAP_CUTS). facts/gradient_paths.c follows each float leaf through the closure of the VJP.
 * What is only seen at x is study_point.c. */
#include "api/pipeline.h"
#include "facts/gradient_paths.h"
#include <stdlib.h>
#include <string.h>

typedef struct StudyCall {
  AtledStudy study;
  const char *expression;
  Str out;
} StudyCall;

/* ---- The function ------------------------------------------------------------------------------------------------ */
typedef struct Search {
  World *w;
  const Node *found; /* the closure that the first VJP differentiates */
} Search;

static void look(void *user, Graph *g) {
  Search *s = user;
  Node **nodes;
  int n = ir_order(s->w->temp, g, &nodes);
  for (int i = 0; i < n && !s->found; i++)
    if (nodes[i]->op == OP_VJP && nodes[i]->ops[0]->op == OP_CLOSURE) s->found = nodes[i]->ops[0];
}

static const Node *studied_function(AtledVM *vm, const Plan *plan) {
  Search s = {.w = vm->world};
  if (plan->steps.len) look(&s, plan->steps.data[plan->steps.len - 1].elab.graph);
  if (plan->steps.len && !s.found)
    ir_walk_graphs(vm->world, plan->steps.data[plan->steps.len - 1].elab.graph, look, &s);
  return s.found;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
/* Adds the path of float leaf *leaf of a parameter: ".w", " (item 2)"; counts that down. True once it is found. */
static bool add_path(World *w, const IrType *t, int *leaf, Str *out) {
  if (t->kind != T_TUPLE) return facts_gradient_leaves(w, t) && (*leaf)-- == 0;
  for (int i = 0; i < t->n; i++) {
    size_t before = out->len;
    if (t->names) str_printf(out, ".%s", t->names[i]);
    else str_printf(out, " (item %d)", i + 1);
    if (add_path(w, t->args[i], leaf, out)) return true;
    out->len = before;
    if (out->data) out->data[before] = 0;
  }
  return false;
}

static const char *what_it_does(Arena *a, const Cut *c) {
  static const char *const steps[] = {"floor", "ceil", "round", "trunc", "sign"};
  static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">=", "~="};
  if (c->missing) return arena_printf(a, "`%s` has no derivative rule: a derivative is an error", c->what);
  for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
    if (strcmp(c->what, steps[k]) == 0) return arena_printf(a, "`%s` is a step: its derivative is 0", c->what);
  for (size_t k = 0; k < sizeof comparisons / sizeof *comparisons; k++)
    if (strcmp(c->what, comparisons[k]) == 0)
      return arena_printf(a, "`%s` yields a bool: what only chooses between values has no part in a derivative",
                          c->what);
  if (strcmp(c->what, "stop_gradient") == 0) return "`stop_gradient` makes a constant of it";
  if (strcmp(c->what, "int") == 0) return "`int` yields an int, which has no derivative";
  return arena_printf(a, "`%s` yields what has no derivative", c->what);
}

static Span shown_at(const World *w, Site s) { return ir_shown_place(w, s)->at; }

static int by_span(const void *a, const void *b) {
  const Diag *x = a, *y = b;
  if (x->at.source != y->at.source) return x->at.source < y->at.source ? -1 : 1;
  return x->at.start != y->at.start ? (x->at.start < y->at.start ? -1 : 1) : strcmp(x->message, y->message);
}

static void add_cuts(AtledVM *vm, const GradientPaths *p, Str *out) {
  Diag *all = NEW_ARRAY(&vm->scratch, Diag, p->cuts.len + 1);
  for (int i = 0; i < p->cuts.len; i++)
    all[i] = (Diag){.severity = SEV_NOTE,
                    .at = shown_at(vm->world, p->cuts.data[i].at),
                    .message = what_it_does(&vm->scratch, &p->cuts.data[i])};
  qsort(all, (size_t)p->cuts.len, sizeof *all, by_span);
  for (int i = 0; i < p->cuts.len; i++)
    if (i == 0 || by_span(&all[i - 1], &all[i]) != 0) diag_render(&all[i], &vm->sources, vm->config.colour, out);
}

/* Where a path is left, what the library's functions compare and round within isn't of interest. */
static void drop_cuts_of_library(const World *w, GradientPaths *p) {
  int n = 0;
  for (int i = 0; i < p->cuts.len; i++)
    if (p->cuts.data[i].missing || !ir_site_info(w, p->cuts.data[i].at)->library) p->cuts.data[n++] = p->cuts.data[i];
  p->cuts.len = n;
}

static void add_leaf(AtledVM *vm, const Node *f, int leaf, Str *out) {
  GradientPaths p = facts_gradient_paths(vm->world, f, leaf);
  if (p.live) drop_cuts_of_library(vm->world, &p);
  int left = leaf;
  str_puts(out, "x");
  add_path(vm->world, f->graphs[0]->params[0], &left, out);
  if (p.live && !p.cuts.len) str_puts(out, ": its derivative is cut off nowhere\n");
  else if (p.live) str_puts(out, ": its derivative has a part, but not on these paths:\n");
  else if (p.cuts.len) str_puts(out, ": its derivative is zero: it reaches the result only through\n");
  else str_puts(out, ": its derivative is zero: the result doesn't depend on it\n");
  add_cuts(vm, &p, out);
  if (!p.complete)
    str_puts(out, "(what is only known when the program runs, or too large, was taken to pass derivatives on)\n");
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static AtledStatus why(AtledVM *vm, Plan *plan, StudyCall *c) {
  const Node *f = studied_function(vm, plan);
  if (!f) return report_bad_argument(vm, "the function isn't known before the program runs");
  int n = facts_gradient_leaves(vm->world, f->graphs[0]->params[0]);
  for (int leaf = 0; leaf < n; leaf++) add_leaf(vm, f, leaf, &c->out);
  return ATLED_OK;
}

/* Is the expression a function and its argument, and not the function alone? */
static bool has_argument(const Plan *plan) {
  const Item *item = plan->program->items.len == 1 ? plan->program->items.data[0] : NULL;
  return item && item->kind == I_EXPR && type_repr(item->expr->type)->kind == TY_TUPLE;
}

AtledStatus study_check(AtledVM *vm, const char *expression, const Expr *e) {
  const Type *t = type_repr(e->type);
  bool given = t->kind != TY_FUN;
  if (given && e->kind != E_APPLY) return report_bad_argument(vm, "`%s` is no function", expression);
  if (given && e->nargs != 2)
    return report_bad_argument(vm, "there is more than one argument: what the function takes before it stands with it "
                                   "in parentheses, as in `(f a) x`");
  if (given || type_repr(t->args[1])->kind != TY_FUN) return ATLED_OK;
  return report_bad_argument(vm,
                             "`%s` takes more than one argument, and a gradient is one of a function of one: "
                             "write `(fun x -> …)`",
                             expression);
}

/* Errors of the expression are reported as it was written, without the `vjp` that is put before it. */
static AtledStatus check_expression(AtledVM *vm, const char *expression, bool *given) {
  Plan plan;
  AtledStatus status = plan_front(vm, "<expression>", expression, strlen(expression), &plan);
  if (status != ATLED_OK) return status;
  const Item *item = plan.program->items.len == 1 ? plan.program->items.data[0] : NULL;
  status = item && item->kind == I_EXPR ? study_check(vm, expression, item->expr)
                                        : report_bad_argument(vm, "a function is asked for, as in `why f`");
  *given = status == ATLED_OK && type_repr(item->expr->type)->kind != TY_FUN;
  plan_take_back(vm, &plan, plan.first_item);
  return status;
}

static AtledStatus study_body(AtledVM *vm, void *arg) {
  StudyCall *c = arg;
  c->out.arena = &vm->scratch;
  if (c->study == ATLED_STUDY_COST) return study_cost(vm, c->expression, &c->out);
  if (c->study != ATLED_STUDY_WHY) return report_bad_argument(vm, "there is no study %d", (int)c->study);
  bool given = false;
  Plan plan;
  AtledStatus status = check_expression(vm, c->expression, &given);
  const char *source = arena_printf(&vm->scratch, given ? "(vjp\n    %s\n  )" : "(vjp (\n    %s\n  ))", c->expression);
  if (status == ATLED_OK) status = plan_front(vm, "<expression>", source, strlen(source), &plan);
  if (status != ATLED_OK) return status;
  vm->world->traps = TRAP_CUTS;
  status = plan_elaborate(vm, &plan, REPORT_NONE);
  if (status == ATLED_OK) status = why(vm, &plan, c);
  vm->world->traps = (Trap)vm->config.trap;
  bool at_point = status == ATLED_OK && has_argument(&plan);
  plan_take_back(vm, &plan, plan.first_item);
  return at_point ? study_point(vm, c->expression, &c->out) : status;
}

AtledStatus atled_study(AtledVM *vm, AtledStudy study, const char *expression, const char **text) {
  if (!text) return vm_reject_null(vm, "the place for the text");
  *text = "";
  if (!expression) return vm_reject_null(vm, "the expression");
  StudyCall c = {.study = study, .expression = expression};
  AtledStatus status = vm_call(vm, study_body, &c);
  *text = status == ATLED_OK && c.out.data ? c.out.data : "";
  return status;
}
