/* SPDX-License-Identifier: MIT */
/* What stays of a program that only defines, so that an old VM is no larger than its definitions.
 *
 *   the entry defines                   what stays
 *   values without functions            the values, with names, types and documentation; all else is freed
 *   functions and types, too            what the checker made: syntax and types; what computed the values is freed
 *   closures, or values with closures   the same and their code, if such closures existed before, or not even the code
 *                                       if it stays from then; otherwise everything, since differentiating an
 *                                       unknown function needs their graphs
 *
 * What is freed is rolled back. What stays is moved meanwhile: values among the results, which own them, texts and
 * types to the scratch arena. Each value has one owner at any time. */
#include "api/pipeline.h"
#include <string.h>

bool keep_mark(AtledVM *vm, const Plan *plan) {
  for (int i = plan->first_item; i < vm->main->items.len; i++)
    if (vm->main->items.data[i]->kind != I_LET && vm->main->items.data[i]->kind != I_TYPE) return false;
  if (vm->modules.len != plan->nmodules || vm->fresh.len) return false;
  vm_mark(vm);
  return true;
}

/* ---- Values ---------------------------------------------------------------------------------- */
/* Moves a global's value to the results. */
static void take_value(AtledVM *vm, Binding *b, int global) {
  const Global *g = vm->globals.data[global];
  Result r = {.binding = b, .desc = rt_desc(&vm->rt, g->desc), .since = vm->entry->epoch - 1};
  if (!r.desc) heap_out_of_memory(&vm->heap);
  Slot *slots = NEW_ARRAY(&vm->scratch, Slot, r.desc->nslots + 1);
  vec_push(&vm->scratch, vm->results, r);
  memcpy(slots, g->slots, sizeof *slots * (size_t)r.desc->nslots);
  vm->results.data[vm->results.len - 1].owned = slots;
  vm->globals.data[global]->set = false;
}

static void take_values(AtledVM *vm, const Plan *plan) {
  for (int i = 0; i < plan->steps.len; i++) {
    const ElabItem *e = &plan->steps.data[i].elab;
    for (int k = 0; k < e->nglobals; k++) take_value(vm, e->bindings[k], e->globals[k]);
  }
}

/* To a new global of the binding; pool: what function values in it may be, or NULL. */
static void put_value(AtledVM *vm, Binding *b, Result *r, const Pool *pool) {
  int global = elab_define_global(vm->elab, b);
  if (pool) ir_pool_again(vm->world, pool, global);
  r->slots = run_global(vm, global);
  memcpy(vm->globals.data[global]->slots, r->owned, sizeof *r->owned * (size_t)r->desc->nslots);
  vm->globals.data[global]->set = true;
  run_learn_dims(vm, global);
  r->owned = NULL;
}

/* Of the code that computed them nothing is needed any more. */
static void strip_units(AtledVM *vm) {
  for (Unit *u = vm->units; u && u->number > vm->entry->unit; u = u->next)
    if (u->code) run_unit_strip(vm, u);
}

/* ---- Closures -------------------------------------------------------------------------------- */
/* The function of a unit that stays for good which was made of the same graph as f, or NULL. */
static RtFunc *lasting_function(const AtledVM *vm, const RtFunc *f) {
  for (const Unit *u = vm->units; u; u = u->next) {
    if (u->number > vm->entry->unit || u->held || !u->code) continue;
    for (int k = 0; k < u->mod->nfuncs; k++) {
      RtFunc *same = u->mod->funcs[k];
      if (same->id == f->id && same->nparams == f->nparams && same->ncaps == f->ncaps) return same;
    }
  }
  return NULL;
}

/* Makes a closure that captures numbers alone one of such a function; false if x still needs code of module m. */
static bool share_code(const AtledVM *vm, const Mod *m, Obj *x) {
  if (!rt_is_object(x) || x->desc->kind == D_STRING) return true;
  if (x->desc->kind == D_ARRAY) return !x->desc->pointers;
  if (x->desc->kind != D_FUN) return false;
  ClosureObj *c = (ClosureObj *)x;
  const RtFunc *f = c->fn;
  if (f->mod != m) return true; /* an older one */
  for (int k = f->nparams - f->ncaps; k < f->nparams; k++)
    if (f->param_kinds[k] == SLOT_PTR) return false;
  RtFunc *same = lasting_function(vm, f);
  if (same) c->fn = same;
  return same != NULL;
}

/* Can the code of the latest unit go, though there are closures among the values? */
static bool share_all_code(const AtledVM *vm) {
  bool all = true;
  for (int i = 0; i < vm->results.len; i++) {
    const Result *r = &vm->results.data[i];
    for (int k = 0; k < r->desc->nslots && all; k++)
      if (r->desc->slots[k] == SLOT_PTR) all = share_code(vm, vm->units->mod, r->owned[k].p);
  }
  return all;
}

/* ---- All but the values goes ------------------------------------------------------------------- */
/* Bindings as they are in the scratch arena, their names texts. */
typedef struct Names {
  AtledVM *vm;
  Vec(Binding) all;
  Vec(const char *) docs;
  bool fit; /* to be made anew */
} Names;

static void put_aside(void *user, const Pat *p) {
  Names *names = user;
  Arena *a = &names->vm->scratch;
  const Binding *b = p->binding;
  Binding copy = {.kind = b->kind, .name = arena_strndup(a, b->name, strlen(b->name)), .span = b->span};
  copy.type = type_move(a, NULL, b->type);
  copy.module = b->module;
  const char *doc = b->item->doc;
  vec_push(a, names->all, copy);
  vec_push(a, names->docs, doc ? arena_strndup(a, doc, strlen(doc)) : NULL);
  names->fit &= copy.type && elab_global(b) >= 0;
}

static Names names_of(AtledVM *vm, const Plan *plan) {
  Names names = {.vm = vm, .fit = true};
  for (int i = plan->first_item; i < vm->main->items.len; i++) {
    names.fit &= vm->main->items.data[i]->kind == I_LET;
    plan_each_variable(vm->main->items.data[i], put_aside, &names);
  }
  return names;
}

static Binding *define_again(AtledVM *vm, const Binding *aside, const char *doc) {
  Binding *b = NEW(&vm->arena, Binding);
  *b = *aside;
  b->name = sym_of(&vm->syms, aside->name);
  b->type = type_move(&vm->arena, &vm->syms, aside->type);
  if (doc) {
    b->item = NEW(&vm->arena, Item);
    *b->item = (Item){.kind = I_LET, .span = b->span, .doc = arena_strndup(&vm->arena, doc, strlen(doc))};
  }
  map_put(&vm->main->values, b->name, b);
  return b;
}

/* The places of the bindings are in it. */
static void add_source_again(AtledVM *vm, const Source *aside) {
  vm->main->source = sources_add(&vm->sources, aside->name, aside->text, aside->len);
  vm->main->path = sources_get(&vm->sources, vm->main->source)->name;
}

static bool keep_values_alone(AtledVM *vm, const Plan *plan, const Names *names, const Pool *pool) {
  Source s = *sources_get(&vm->sources, vm->main->source);
  s.name = arena_strndup(&vm->scratch, s.name, strlen(s.name));
  s.text = arena_strndup(&vm->scratch, s.text, s.len);
  take_values(vm, plan);
  if (pool && !share_all_code(vm)) vm->units->held = true;
  else strip_units(vm);
  if (!vm_begin_again(vm)) return false;
  for (int i = 0; i < vm->results.len; i++) vm->results.data[i].since = vm->entry->epoch;
  add_source_again(vm, &s);
  for (int i = 0; i < vm->results.len; i++) {
    Binding *b = define_again(vm, &names->all.data[i], names->docs.data[i]);
    Result *r = &vm->results.data[i];
    r->name = b->name;
    r->binding = b;
    put_value(vm, b, r, pool);
  }
  return true;
}

/* ---- What the checker made stays too -------------------------------------------------------------- */
static bool keep_syntax(AtledVM *vm, const Plan *plan) {
  take_values(vm, plan);
  strip_units(vm);
  if (!vm_roll_back(vm)) return false;
  for (int i = 0; i < vm->results.len; i++) {
    Result *r = &vm->results.data[i];
    put_value(vm, (Binding *)(uintptr_t)r->binding, r, NULL);
  }
  vm->results.len = 0;
  return true;
}

/* What function values of the program may be, put aside; NULL if it can't be made again. */
static const Pool *known_pool(AtledVM *vm, const Plan *plan) {
  const Pool *p = plan->steps.len == 1 ? plan->steps.data[0].pool : NULL;
  return p && ir_pool_is_known(vm->world, p) ? ir_pool_copy(p, &vm->scratch) : NULL;
}

bool keep_definitions(AtledVM *vm, const Plan *plan, bool *moved) {
  bool plain = !vm_has_learnt(vm, &vm->inner), functions = false;
  int nvalues = 0;
  for (int i = 0; i < plan->steps.len && plain; i++) {
    plain = elab_is_plain(vm->elab, &plan->steps.data[i].elab);
    functions |= elab_holds_functions(vm->elab, &plan->steps.data[i].elab);
    nvalues += plan->steps.data[i].elab.nglobals;
  }
  Names names = names_of(vm, plan);
  const Pool *pool = functions ? known_pool(vm, plan) : NULL;
  *moved = plain && names.fit && names.all.len == nvalues && !vm_has_learnt(vm, vm->entry) && (pool || !functions);
  if (*moved) return keep_values_alone(vm, plan, &names, pool);
  if (plain && !functions) return keep_syntax(vm, plan);
  vm_commit(vm);
  return true;
}
