/* SPDX-License-Identifier: MIT */
/* From a source to optimised graphs: the steps that evaluate.c, which runs the program, shares with inspect.c and
 * handles.c. */
#include "api/foreseen.h"
#include <string.h>

/* ---- Names and results ----------------------------------------------------------- */
/* Each variable of a pattern; both sides of an or-pattern bind the same ones. */
static void each_variable(const Pat *p, PatFn fn, void *user) {
  if (p->kind == P_VAR || p->kind == P_AS) fn(user, p);
  int n = p->kind == P_OR ? 1 : p->nargs;
  for (int i = 0; i < n; i++) each_variable(p->args[i], fn, user);
}

void plan_each_variable(const Item *item, PatFn fn, void *user) {
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++) each_variable(item->lets[i].pat, fn, user);
}

/* ---- Front ------------------------------------------------------------------------- */
typedef struct Remember {
  AtledVM *vm;
  Plan *plan;
} Remember;

static void remember_name(const Remember *r, Sym name) {
  OldName old = {name, map_get(&r->vm->main->values, name)};
  vec_push(&r->vm->scratch, r->plan->old, old);
}
static void remember_variable(void *user, const Pat *p) { remember_name(user, p->name.name); }

static void remember_names(AtledVM *vm, Plan *plan) {
  Remember r = {vm, plan};
  for (int i = 0; i < plan->program->items.len; i++) {
    const Item *item = plan->program->items.data[i];
    plan_each_variable(item, remember_variable, &r);
    if (item->kind == I_FOREIGN) remember_name(&r, item->name.name);
  }
}

static void define_variable(void *user, const Pat *p) {
  Module *m = user;
  map_put(&m->values, p->name.name, p->binding);
}

void plan_take_back(AtledVM *vm, Plan *plan, int item) {
  Module *m = vm->main;
  for (int i = 0; i < plan->old.len; i++) map_put(&m->values, plan->old.data[i].name, plan->old.data[i].binding);
  for (int i = plan->first_item; i < item; i++) {
    plan_each_variable(m->items.data[i], define_variable, m);
    if (m->items.data[i]->kind == I_FOREIGN)
      map_put(&m->values, m->items.data[i]->name.name, m->items.data[i]->binding);
  }
  for (int i = item; i < m->items.len; i++)
    if (m->items.data[i]->kind == I_RULE) rewrite_rule_take_back(vm->checker, m->items.data[i]->rewrite);
  m->items.len = item;
}

static AtledStatus refuse_source(AtledVM *vm, const char *name) {
  return report_error(vm, ATLED_COMPILE_ERROR, "source-limit", "`%s` has more than %zu bytes (source_limit)", name,
                      vm->config.source_limit);
}

static void parse_main(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan) {
  Module *m = vm->main;
  uint32_t id = sources_add(&vm->sources, name, source, len);
  m->path = sources_get(&vm->sources, id)->name;
  m->source = id;
  plan->first_item = m->items.len;
  plan->nmodules = vm->modules.len;
  plan->program = parse_program(vm->lexer, &vm->arena, &vm->syms, &vm->diags, id);
  remember_names(vm, plan);
  undo_remember(vm, plan);
}

/* Main stands among the modules while it is checked, so that an import of it closes a cycle. */
static void check_main(AtledVM *vm, const Plan *plan) {
  Module *m = vm->main;
  vec_push(&vm->arena, vm->modules, m);
  vec_push(&vm->arena, vm->loading, m);
  m->loading = true;
  check_program(vm->checker, m, plan->program, &vm->diags);
  m->loading = false;
  vm->loading.len = 0;
  modules_forget(vm, m);
}

AtledStatus plan_look(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan) {
  memset(plan, 0, sizeof *plan);
  if (!modules_may_read(vm, len)) return refuse_source(vm, name);
  parse_main(vm, name, source, len, plan);
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  check_main(vm, plan);
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  return ATLED_OK;
}

void plan_forget(AtledVM *vm, Plan *plan) {
  plan_take_back(vm, plan, plan->first_item);
  undo_take_back(vm, plan);
}

AtledStatus plan_front(AtledVM *vm, const char *name, const char *source, size_t len, Plan *plan) {
  memset(plan, 0, sizeof *plan);
  if (!modules_may_read(vm, len)) return refuse_source(vm, name);
  parse_main(vm, name, source, len, plan);
  bool incomplete = vm->diags.incomplete;
  /* What an item with a syntax error would define is missing, so later phases would only complain about that. */
  if (!incomplete && !vm->diags.errors) check_main(vm, plan);
  if (!report_diags(vm)) return ATLED_OK;
  plan_take_back(vm, plan, plan->first_item);
  return incomplete ? ATLED_INCOMPLETE : ATLED_COMPILE_ERROR;
}

/* ---- Values of expressions --------------------------------------------------------- */
static bool has_known_type(const Item *item) {
  const Type *t = item->kind == I_EXPR ? type_repr(item->expr->type) : NULL;
  return t && t->kind != TY_UNIT && t->kind != TY_ERROR && !item->shown && !type_has_variables(item->expr->type);
}

static void name_value(AtledVM *vm, Item *item, Sym name) {
  Expr *e = item->expr;
  Pat *p = NEW(&vm->arena, Pat);
  Binding *b = NEW(&vm->arena, Binding);
  item->kind = I_LET;
  item->lets = NEW(&vm->arena, LetBinding);
  item->nlets = 1;
  item->rec = false;
  *p = (Pat){.kind = P_VAR, .span = e->span, .type = e->type, .binding = b};
  p->name.name = name;
  item->lets[0] = (LetBinding){.pat = p, .value = e, .span = e->span};
  *b = (Binding){.kind = BIND_TOP, .name = name, .type = e->type, .span = e->span, .module = vm->main, .item = item};
  b->let = &item->lets[0];
}

/* Its binding has just the type of the expression, which was checked already: nothing of it is open. */
void plan_name_values(AtledVM *vm, Plan *plan) {
  Module *m = vm->main;
  Sym it = sym_of(&vm->syms, "it");
  Remember r = {vm, plan};
  bool remembered = false;
  for (int i = 0; i < plan->old.len; i++) remembered |= plan->old.data[i].name == it;
  for (int i = plan->first_item; i < m->items.len; i++) {
    Item *item = m->items.data[i];
    if (!has_known_type(item)) continue;
    if (!remembered) remember_name(&r, it);
    remembered = true;
    name_value(vm, item, it);
    map_put(&m->values, it, item->lets[0].pat->binding);
  }
}

/* ---- Middle ------------------------------------------------------------------------- */
/* Gives the item's place to diagnostics from `first` on that have none, and keeps one of them. */
static void place_diags(AtledVM *vm, int first, Span item) {
  bool placed = false;
  int kept = first;
  for (int i = first; i < vm->diags.all.len; i++) {
    Diag d = vm->diags.all.data[i];
    if (!d.at.source && placed) continue;
    placed |= !d.at.source;
    if (!d.at.source) d.at = item;
    vm->diags.all.data[kept++] = d;
  }
  vm->diags.all.len = kept;
}

/* Is it a test or benchmark that isn't reported on? */
static bool is_left_out(ItemKind kind, Reported reported) {
  return (kind == I_TEST && !(reported & REPORT_TESTS)) || (kind == I_BENCH && !(reported & REPORT_BENCHES));
}

void plan_add_graph(AtledVM *vm, Plan *plan, Graph *g) {
  Step s = {.elab.graph = g, .nrules = elab_rules_held(vm->elab)};
  vec_push(&vm->scratch, plan->steps, s);
}

/* What an item's graph tells of the globals that it makes; later ones rely on it. */
static void learn_globals(World *w, const ElabItem *e, Node *result) {
  Node *values = e->effect ? ir_get(w, result, 0) : result;
  for (int k = 0; k < e->nglobals; k++) ir_learn_global(w, e->globals[k], ir_get(w, values, k));
}

static void elaborate_items(AtledVM *vm, Plan *plan, Module *m, int first, Reported reported) {
  for (int i = first; i < m->items.len; i++) {
    Step step = {.item = m->items.data[i], .module = m};
    if (is_left_out(step.item->kind, reported)) continue;
    int before = vm->diags.all.len;
    bool made = elab_item(vm->elab, m, step.item, &vm->diags, &step.elab);
    step.nrules = step.item->kind == I_RULE ? 0 : elab_rules_held(vm->elab); /* a rule is tested without rules */
    if (made && step.elab.graph) {
      vec_push(&vm->scratch, plan->steps, step);
      if (plan->learns) learn_globals(vm->world, &step.elab, step.elab.graph->result);
    }
    place_diags(vm, before, step.item->span);
  }
}

AtledStatus plan_elaborate(AtledVM *vm, Plan *plan, Reported reported) {
  int rules = elab_rules_held(vm->elab);
  for (int i = 0; i < vm->fresh.len; i++) elaborate_items(vm, plan, vm->fresh.data[i], 0, REPORT_NONE);
  elaborate_items(vm, plan, vm->main, plan->first_item, reported);
  if (!vm->diags.errors) elab_check_rules(vm->elab, rules, &vm->diags);
  if (!report_diags(vm)) return ATLED_OK;
  plan_take_back(vm, plan, plan->first_item);
  return ATLED_COMPILE_ERROR;
}

/* In builds for testing: each run of a pass was looked over, and the stages that come from elsewhere are. */
static AtledStatus verify_stages(AtledVM *vm, const OptStages *s) {
  const Watched *v = &vm->watched;
  if (!v->verify) return ATLED_OK;
  Graph *const graphs[] = {s->built, s->differentiated, s->final};
  static const char *const names[] = {"built", "differentiated", "final"};
  if (v->wrong[0]) return report_error(vm, ATLED_COMPILE_ERROR, "verifier", "%s", v->wrong);
  for (int i = 0; i < 3; i++) {
    const char *wrong = graphs[i] ? ir_verify(vm->world, graphs[i]) : NULL;
    if (wrong) return report_error(vm, ATLED_COMPILE_ERROR, "verifier", "%s graph: %s", names[i], wrong);
  }
  return ATLED_OK;
}

/* Once for a program. */
static void warn_of_endless_rule(AtledVM *vm, Plan *plan, const OptStages *s) {
  const IrRule *r = s->endless_rule;
  if (!r || plan->endless_rule) return;
  plan->endless_rule = true;
  diag_warning(&vm->diags, r->at, "rewrite-rule", "the rule `%s` would be applied without end: rules stopped after %d",
               r->name, LIMIT_RULE_COUNT)
      ->hint = "what a rule makes should be smaller than what it matches, or no rule's left side should match it again";
}

void plan_begin_step(AtledVM *vm, Plan *plan, OptStages *stages, int i) {
  const ElabItem *e = &plan->steps.data[i].elab;
  stages[i] = (OptStages){.built = e->graph, .globals = e->globals, .nglobals = e->nglobals};
  stages[i].nrules = plan->steps.data[i].nrules;
  opt_before_derivatives(vm->world, &stages[i]);
  warn_of_endless_rule(vm, plan, &stages[i]);
  learn_globals(vm->world, e, stages[i].optimised->result);
}

void plan_begin_steps(AtledVM *vm, Plan *plan, OptStages *stages) {
  for (int i = 0; i < plan->steps.len; i++) plan_begin_step(vm, plan, stages, i);
}

AtledStatus plan_finish_graph(AtledVM *vm, Plan *plan, OptStages *stages, int i) {
  OptStages *s = &stages[i];
  s->rules = elab_rules(vm->elab, s->optimised, s->pool);
  opt_derivatives_and_after(vm->world, s);
  warn_of_endless_rule(vm, plan, s);
  plan->steps.data[i].final = s->final;
  plan->steps.data[i].pool = s->pool;
  return verify_stages(vm, s);
}

AtledStatus plan_finish_step(AtledVM *vm, Plan *plan, OptStages *stages, int i) {
  AtledStatus status = plan_finish_graph(vm, plan, stages, i);
  const OptStages *s = &stages[i];
  if (status != ATLED_OK || s->differentiated == s->optimised || !foreseen_missing_rules(vm, s->final)) return status;
  report_diags(vm);
  return ATLED_COMPILE_ERROR;
}

AtledStatus plan_finish_again(AtledVM *vm, Plan *plan, OptStages *stages, int first) {
  AtledStatus status = ATLED_OK;
  for (int i = first; i < plan->steps.len && status == ATLED_OK; i++)
    if (ir_pool_grew(vm->world, stages[i].pool)) status = plan_finish_step(vm, plan, stages, i);
  return status;
}

AtledStatus plan_optimise(AtledVM *vm, Plan *plan, OptStages *stages) {
  AtledStatus status = ATLED_OK;
  if (!stages) stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  plan_begin_steps(vm, plan, stages);
  for (int i = 0; i < plan->steps.len && status == ATLED_OK; i++) status = plan_finish_step(vm, plan, stages, i);
  return status == ATLED_OK ? plan_finish_again(vm, plan, stages, 0) : status;
}
