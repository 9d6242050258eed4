/* SPDX-License-Identifier: MIT */
/* `check`: elaborates a program and looks for what is known to fail, without running anything.
 *
 *   items       elaborated as for a run; each graph tells the next ones what is known of its globals
 *   functions   likewise, each by itself; generic ones at types at which they fail only where they do at all
 *   both        optimised up to derivatives, as long as that is little work; later ones are looked at as they are
 *   suspects    what is known to fail, or may need a rule that isn't there, is compiled to the end; only what the final
 *               graph confirms is reported, since later passes may drop what nobody needs
 *
 * An item that fails is an error, a function that fails in each call a warning, a derivative without a rule always an
 * error. After an item that may end the program by `exit` errors are warnings. What is met within an `attempt` of the
 * program is never reported of functions. A run warns of its first item that fails in the same way, and goes on. */
#include "api/foreseen.h"
#include "facts/sure_failures.h"
#include "ir/compilation.h"

typedef struct StaticCheck {
  AtledVM *vm;
  Plan *plan;
  OptStages *stages; /* one for each step */
  int nitems;        /* the steps from here on are functions */
  uint32_t nodes;    /* the latest node when functions began */
  int64_t work;      /* nodes that may still be optimised */
  bool exits;        /* something in the program may exit */
  bool lacks_rules;  /* … or has no rule */
  Map met;           /* what is known of functions */
  Map told;          /* places that have a report, then also those that the program may attempt */
} StaticCheck;

/* ---- Functions ----------------------------------------------------------------------------------- */
/* A type for a quantified variable at which nothing fails that doesn't at all others: an array, of which no size is
 * known, or of numbers a float, by which nothing fails that doesn't by an int. */
static Type *sample_type(AtledVM *vm, const Type *variable, Diags *own) {
  return checker_parse_type(vm->checker, vm->main, own, vm->lexer,
                            variable->classes & CLASS_SCALAR ? "float" : "float[]");
}

/* The types at which a definition is looked at; effects stay what they are. NULL: there are none that stand for all. */
static Type **sample_types(AtledVM *vm, const Binding *b, Diags *own) {
  Type **inst = NEW_ARRAY(&vm->scratch, Type *, b->nqvars + 1);
  if (binding_has_open_record(b) || binding_has_relations(b)) return NULL;
  for (int k = 0; k < b->nqvars; k++) {
    inst[k] = b->qvars[k]->classes & CLASS_EFFECT ? b->qvars[k] : sample_type(vm, b->qvars[k], own);
    if (!inst[k]) return NULL;
  }
  return inst;
}

static void add_function(StaticCheck *c, Item *item, Binding *b) {
  AtledVM *vm = c->vm;
  Diags own; /* of a choice of types that nobody has made */
  diags_init(&own, &vm->scratch, &vm->sources);
  if (!binding_fun(b) || vm->world->next_id - c->nodes > LIMIT_CHECKED_NODES) return;
  Type **inst = sample_types(vm, b, &own);
  const Func *f = inst ? elab_function(vm->elab, b, inst, 0, &own) : NULL;
  Step s = {.item = item, .module = vm->main, .nrules = elab_rules_held(vm->elab), .elab.graph = f ? f->graph : NULL};
  if (s.elab.graph) vec_push(&vm->scratch, c->plan->steps, s);
}

static void add_functions(StaticCheck *c) {
  const Module *m = c->vm->main;
  c->nodes = c->vm->world->next_id;
  for (int i = c->plan->first_item; i < m->items.len; i++) {
    Item *item = m->items.data[i];
    for (int k = 0; item->kind == I_LET && k < item->nlets; k++)
      if (item->lets[k].pat->binding) add_function(c, item, item->lets[k].pat->binding);
  }
}

/* ---- Exits --------------------------------------------------------------------------------------- */
static bool ends(void *user, const Node *n) {
  (void)user;
  return n->attr.rt->ends;
}

/* Does each run of g fail or leave by `exit`? */
static bool leaves(AtledVM *vm, Graph *g) {
  SureFailures s = {.w = vm->world, .refused = ends};
  compilation_begin(vm->world);
  bool sure = facts_surely_fails(&s, g);
  compilation_end(vm->world);
  return sure;
}

static bool may_exit(AtledVM *vm, Graph *const *graphs, int n) {
  compilation_begin(vm->world);
  bool may = facts_may_exit(vm->world, graphs, n);
  compilation_end(vm->world);
  return may;
}

typedef enum Arrival { ARRIVES, ARRIVES_PERHAPS, NEVER_ARRIVES } Arrival;

/* Is step i run, as far as `exit` says? Of one that may itself exit it isn't known what of it is run. */
static Arrival arrival_at(AtledVM *vm, const OptStages *stages, int i) {
  Arrival r = may_exit(vm, &stages[i].optimised, 1) ? NEVER_ARRIVES : ARRIVES;
  for (int k = 0; k < i && r != NEVER_ARRIVES; k++) {
    Graph *g = stages[k].optimised;
    if (may_exit(vm, &g, 1)) r = leaves(vm, g) ? NEVER_ARRIVES : ARRIVES_PERHAPS;
  }
  return r;
}

/* ---- Steps --------------------------------------------------------------------------------------- */
static void add_size(void *user, Graph *g) { *(int64_t *)user += g->size; }

static int64_t work_of(AtledVM *vm, Graph *g) {
  int64_t all = 0;
  compilation_begin(vm->world);
  ir_walk_graphs(vm->world, g, add_size, &all);
  compilation_end(vm->world);
  return all;
}

/* Optimises step i, unless that is too much work. */
static void begin_step(StaticCheck *c, int i) {
  Graph *built = c->plan->steps.data[i].elab.graph;
  if (c->work > 0) c->work -= work_of(c->vm, built);
  if (c->work > 0) plan_begin_step(c->vm, c->plan, c->stages, i);
  else c->stages[i] = (OptStages){.built = built, .optimised = built};
}

static void find_derivatives(void *user, Graph *g) {
  if (g->flags & NODE_AD) *(bool *)user = true;
}

static bool takes_derivatives(AtledVM *vm, Graph *g) {
  bool any = false;
  compilation_begin(vm->world);
  ir_walk_graphs(vm->world, g, find_derivatives, &any);
  compilation_end(vm->world);
  return any;
}

static bool is_function(const StaticCheck *c, int i) { return i >= c->nitems; }

/* Reports what fails in a graph before derivatives, as far as it is left in the final one. */
static void report_confirmed(AtledVM *vm, const OptStages *s, ForeseenIn in) {
  Map places;
  map_init(&places, &vm->scratch);
  foreseen_places(vm, s->final, &places);
  if (!foreseen_fails(vm, s->final, NULL)) in.kept = &places;
  foreseen_report(vm, s->optimised, &in);
}

static Arrival arrival_at_step(StaticCheck *c, int i) {
  if (!c->exits) return ARRIVES;
  if (!is_function(c, i)) return arrival_at(c->vm, c->stages, i);
  return may_exit(c->vm, &c->stages[i].optimised, 1) ? NEVER_ARRIVES : ARRIVES;
}

static void report_step(StaticCheck *c, int i) {
  Arrival to = arrival_at_step(c, i);
  ForeseenIn in = {.severity = is_function(c, i) || to != ARRIVES ? SEV_WARNING : SEV_ERROR,
                   .item = c->plan->steps.data[i].item,
                   .function = is_function(c, i),
                   .reported = &c->told};
  if (to != NEVER_ARRIVES) report_confirmed(c->vm, &c->stages[i], in);
}

/* Reports what fails in step i. */
static AtledStatus check_step(StaticCheck *c, int i) {
  AtledVM *vm = c->vm;
  OptStages *s = &c->stages[i];
  bool fails = foreseen_fails(vm, s->optimised, &c->met), full = vm->diags.all.len >= LIMIT_ERRORS;
  bool suspect = fails || (c->lacks_rules && takes_derivatives(vm, s->optimised));
  if (!suspect || full) return ATLED_OK;
  if (!s->pool) plan_begin_step(vm, c->plan, c->stages, i);
  AtledStatus status = plan_finish_graph(vm, c->plan, c->stages, i);
  if (status != ATLED_OK) return status;
  if (s->differentiated != s->optimised) foreseen_missing_rules(vm, s->final);
  if (fails) report_step(c, i);
  return ATLED_OK;
}

static AtledStatus check_steps(StaticCheck *c) {
  AtledVM *vm = c->vm;
  AtledStatus status = ATLED_OK;
  int n = c->plan->steps.len;
  Graph **graphs = NEW_ARRAY(&vm->scratch, Graph *, n + 1);
  for (int i = 0; i < n; i++) begin_step(c, i);
  for (int i = 0; i < n; i++) graphs[i] = c->stages[i].optimised;
  c->exits = may_exit(vm, graphs, n); /* mostly nothing does, and no item has to be asked */
  c->lacks_rules = foreseen_lacks_rules(vm);
  for (int i = 0; i < c->nitems && status == ATLED_OK; i++) status = check_step(c, i);
  foreseen_attempted(vm, graphs, n, &c->told);
  for (int i = c->nitems; i < n && status == ATLED_OK; i++) status = check_step(c, i);
  return status;
}

/* ---- The whole ----------------------------------------------------------------------------------- */
static bool comes_before(const Diag *a, const Diag *b) {
  return a->at.source == b->at.source && a->at.start < b->at.start;
}

/* In the order of the source, which those of functions break. */
static void sort_diags(Diags *d) {
  for (int i = 1; i < d->all.len; i++) {
    Diag moved = d->all.data[i];
    int k = i;
    for (; k > 0 && comes_before(&moved, &d->all.data[k - 1]); k--) d->all.data[k] = d->all.data[k - 1];
    d->all.data[k] = moved;
  }
}

static AtledStatus check_plan(AtledVM *vm, Plan *plan) {
  plan->learns = true;
  AtledStatus status = plan_elaborate(vm, plan, REPORT_TESTS | REPORT_BENCHES);
  if (status != ATLED_OK) return status;
  StaticCheck c = {.vm = vm, .plan = plan, .nitems = plan->steps.len, .work = LIMIT_CHECKED_NODES};
  map_init(&c.met, &vm->scratch);
  map_init(&c.told, &vm->scratch);
  add_functions(&c);
  c.stages = NEW_ARRAY(&vm->scratch, OptStages, plan->steps.len + 1);
  status = check_steps(&c);
  sort_diags(&vm->diags);
  if (report_diags(vm) && status == ATLED_OK) status = ATLED_COMPILE_ERROR;
  return status;
}

AtledStatus check_foresee(AtledVM *vm, Plan *plan) {
  vm_mark(vm);
  AtledStatus status = check_plan(vm, plan);
  return vm_roll_back(vm) ? status : ATLED_COMPILE_ERROR;
}

void check_warn_of_step(AtledVM *vm, Plan *plan, const OptStages *stages, int i) {
  if (!plan->warns || !foreseen_fails(vm, stages[i].optimised, NULL)) return;
  plan->warns = false; /* later ones aren't run */
  ForeseenIn in = {.severity = SEV_WARNING, .item = plan->steps.data[i].item};
  if (arrival_at(vm, stages, i) == ARRIVES) report_confirmed(vm, &stages[i], in);
}
