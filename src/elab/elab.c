/* SPDX-License-Identifier: MIT */
/* Elaboration's interface: items, and what hosts and later stages ask for. See elab.h for what comes out,
 * elab_internal.h for the files behind it.
 *
 * An item's graph is made in a context of its own. Elaborating it pulls in, one inside the other, the instances of
 * whatever functions it uses. */
#include "elab/elab_internal.h"
#include <string.h>

Elab *elab_new(Arena *arena, World *w, SymTable *syms, Sources *sources) {
  Elab *e = NEW(arena, Elab);
  e->arena = arena;
  e->w = w;
  e->syms = syms;
  e->sources = sources;
  map_init(&e->leaves, arena);
  e->t_int = ir_type(w, T_INT);
  e->t_float = ir_type(w, T_FLOAT);
  e->t_bool = ir_type(w, T_BOOL);
  e->t_string = ir_type(w, T_STRING);
  e->t_unit = ir_type(w, T_UNIT);
  e->t_token = ir_type(w, T_TOKEN);
  return e;
}

void elab_set_prelude(Elab *e, Checker *checker, Module *prelude) {
  e->checker = checker;
  e->prelude = prelude;
}

void elab_save(Elab *e) { SAVE(e->arena, *e); }

int elab_rules_held(const Elab *e) { return e->w->nrules; }

int elab_functions_made(const Elab *e) { return e->functions_made; }

Entry el_enter(Elab *e, Diags *diags) {
  char here;
  Entry saved = {e->diags, e->failed, e->stack_base, phase_enter(e->arena->heap, PHASE_ELABORATE)};
  e->diags = diags;
  e->failed = false;
  if (!e->stack_base) e->stack_base = (uintptr_t)&here;
  return saved;
}

/* Rules are tried after elaboration, so their patterns are made at its end. Making them may make instances. */
static void make_patterns(Elab *e) {
  while (e->renewed.len) el_rewrites(e, e->renewed.data[--e->renewed.len]);
}

bool el_leave(Elab *e, Entry saved) {
  bool ok = !e->failed;
  if (!saved.stack_base && ok) make_patterns(e);
  if (!saved.stack_base) e->renewed.len = 0;
  for (int i = 0; i < e->unfit.len && !saved.stack_base; i++) e->unfit.data[i]->ctors = NULL;
  if (!saved.stack_base) e->unfit.len = 0;
  e->diags = saved.diags;
  e->failed = saved.failed;
  e->stack_base = saved.stack_base;
  phase_leave(e->arena->heap, saved.phase);
  return ok;
}

int elab_global(const Binding *b) { return b->elab ? ((const BindingInfo *)b->elab)->global - 1 : -1; }

/* ---- Items ----------------------------------------------------------------------------- */

typedef Vec(Binding *) BindingList;

static void pattern_globals(Elab *e, const Pat *p, BindingList *out) {
  if (p->binding && el_is_global(p->binding)) vec_push(e->arena, *out, p->binding);
  for (int i = 0; i < p->nargs; i++) pattern_globals(e, p->args[i], out);
}

static bool holds_binding(const Pat *p) {
  if (p->binding) return true;
  for (int i = 0; i < p->nargs; i++)
    if (holds_binding(p->args[i])) return true;
  return false;
}

/* `let _ = e` and `let () = e` name nothing, but are run. */
static bool is_computed(Elab *e, const LetBinding *l) {
  BindingList bs = {0};
  pattern_globals(e, l->pat, &bs);
  return bs.len || !holds_binding(l->pat);
}

/* Of an item that is no definition: the expression whose value it is. */
static Expr *item_expr(const Item *item) { return item->run ? item->run : item->expr; }

static bool item_effect(Ctx *c, Item *item) {
  if (item->kind != I_LET) return scan_effect(c, item_expr(item));
  bool effect = false;
  for (int i = 0; i < item->nlets; i++)
    effect |= is_computed(c->e, &item->lets[i]) && scan_effect(c, item->lets[i].value);
  return effect;
}

static Node *let_values(Ctx *c, Item *item, ElabItem *out) {
  BindingList bs = {0};
  Node *checks = ir_unit(c->w);
  for (int i = 0; i < item->nlets; i++) {
    LetBinding *l = &item->lets[i];
    if (!is_computed(c->e, l)) continue;
    Node *x = el_settle(c, el_expr(c, l->value));
    if (x->type->kind == T_UNIT) checks = el_after(c, x, checks);
    el_bind_pattern(c, l->pat, x, l->pat->span);
    pattern_globals(c->e, l->pat, &bs);
  }
  Node **values = NEW_ARRAY(c->e->arena, Node *, bs.len + 1);
  IrType **types = NEW_ARRAY(c->e->arena, IrType *, bs.len + 1);
  for (int i = 0; i < bs.len; i++) {
    values[i] = el_read(c, map_get(&c->vars, bs.data[i]));
    types[i] = values[i]->type;
  }
  out->bindings = bs.data;
  out->nglobals = bs.len;
  Node *all = bs.len ? ir_tuple(c->w, ir_tuple_type(c->w, types, NULL, bs.len), values) : ir_unit(c->w);
  return el_after(c, all, checks);
}

static int define_global(Elab *e, Binding *b, IrType *t) {
  vec_push(e->w->arena, e->w->globals, ((GlobalInfo){b->name, t, NULL, NULL}));
  BindingInfo *info = el_info(e, b);
  SAVE(e->arena, info->global);
  info->global = e->w->globals.len;
  return e->w->globals.len - 1;
}

static void define_globals(Elab *e, ElabItem *out, const IrType *values) {
  out->globals = NEW_ARRAY(e->arena, int, out->nglobals + 1);
  for (int i = 0; i < out->nglobals; i++) out->globals[i] = define_global(e, out->bindings[i], values->args[i]);
}

/* The type as the IR has it; open variables take their defaults. */
static IrType *elab_type(Elab *e, Type *t) { return el_ir_type(e, NULL, t); }

bool elab_is_plain(Elab *e, const ElabItem *item) {
  for (int i = 0; i < item->nglobals; i++)
    if (elab_type(e, item->bindings[i]->type) != e->w->globals.data[item->globals[i]].type) return false;
  return true;
}

bool elab_holds_functions(Elab *e, const ElabItem *item) {
  for (int i = 0; i < item->nglobals; i++)
    if (el_leaves(e, e->w->globals.data[item->globals[i]].type) & LEAF_FUN) return true;
  return false;
}

int elab_define_global(Elab *e, Binding *b) { return define_global(e, b, elab_type(e, b->type)); }

static bool has_value(Elab *e, const Item *item) {
  if (item->kind == I_EXPR || item->kind == I_TEST || item->kind == I_BENCH) return true;
  bool any = item->kind == I_RULE && item->run;
  for (int i = 0; item->kind == I_LET && i < item->nlets; i++) any |= is_computed(e, &item->lets[i]);
  return any;
}

bool elab_item(Elab *e, Module *m, Item *item, Diags *diags, ElabItem *out) {
  (void)m;
  *out = (ElabItem){0};
  if (item->kind == I_RULE && !el_rewrite_rule(e, item, diags)) return false;
  if (!has_value(e, item)) return true;
  Entry saved = el_enter(e, diags);
  Ctx c;
  el_init_ctx(&c, e, NULL, item->span, NULL, NULL);
  bool effect = item_effect(&c, item);
  if (effect) c.token = el_var(&c, region_param(c.region, e->t_token));
  Node *value = item->kind == I_LET ? let_values(&c, item, out) : el_expr(&c, item_expr(item));
  IrType *type = value->type;
  if (effect) value = el_with_token(&c, value);
  bool named = item->kind != I_LET && item->kind != I_RULE;
  Graph *g = region_close(c.region, value, named ? item->text : NULL);
  if (!el_leave(e, saved)) {
    *out = (ElabItem){0};
    return false;
  }
  define_globals(e, out, type);
  out->graph = g;
  out->effect = effect;
  return true;
}

/* ---- Looking names up ---------------------------------------------------------------------- */

/* A use of the binding at its own variables, as an expression would be. */
static Expr *use_of(Elab *e, Binding *b) {
  Expr *x = NEW(e->arena, Expr);
  x->kind = E_VAR;
  x->span = b->span;
  x->binding = b;
  x->type = b->type;
  return x;
}

static IrType **inst_types(Elab *e, Binding *b, Type *const *inst) {
  IrType **out = NEW_ARRAY(e->arena, IrType *, b->nqvars + 1);
  for (int i = 0; i < b->nqvars; i++) out[i] = el_ir_type(e, NULL, inst ? inst[i] : b->qvars[i]);
  return out;
}

static Func *call_with(Elab *e, Binding *b, const Subst *s, int nargs) {
  Ctx c;
  el_init_ctx(&c, e, NULL, b->span, b->name, s);
  IrType *type = el_type(&c, b->type), *t = type;
  bool effect = el_arrow_effect(type, nargs);
  IrType **params = NEW_ARRAY(e->arena, IrType *, nargs + 1);
  Arg *args = NEW_ARRAY(e->arena, Arg, nargs + 1);
  for (int i = 0; i < nargs; i++, t = t->args[1]) {
    params[i] = t->args[0];
    args[i].node = region_param(c.region, params[i]);
  }
  params[nargs] = e->t_token;
  if (effect) c.token = el_var(&c, region_param(c.region, e->t_token));
  Node *value = el_apply(&c, use_of(e, b), args, nargs, el_mark(&c), b->span);
  if (effect) value = el_with_token(&c, value);
  Func *f = ir_func(e->w, b->name, params, nargs + effect, value->type);
  f->span = b->span;
  ir_func_finish(e->w, f, value);
  return f;
}

Func *elab_function(Elab *e, Binding *b, Type *const *inst, int nargs, Diags *diags) {
  Entry saved = el_enter(e, diags);
  IrType **types = inst_types(e, b, inst);
  Subst s = {b->qvars, types, b->nqvars, NULL};
  IrType *type = el_ir_type(e, &s, b->type);
  Func *f = NULL;
  if (el_is_function(b) && b->kind != BIND_PRIM) {
    Instance *in = el_instance(e, b, types, b->span);
    if (!nargs || nargs == in->arity) f = in->func;
  }
  if (!nargs) nargs = el_count_arrows(type);
  if (!f && nargs && nargs <= el_count_arrows(type)) f = call_with(e, b, &s, nargs);
  return el_leave(e, saved) ? f : NULL;
}

Graph *elab_value(Elab *e, Binding *b, Type *const *inst, Diags *diags) {
  Entry saved = el_enter(e, diags);
  Subst s = {b->qvars, inst_types(e, b, inst), b->nqvars, NULL};
  Ctx c;
  el_init_ctx(&c, e, NULL, b->span, b->name, &s);
  Graph *g = region_close(c.region, el_variable(&c, use_of(e, b)), b->name);
  return el_leave(e, saved) ? g : NULL;
}
