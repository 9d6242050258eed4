/* SPDX-License-Identifier: MIT */
/* Follows an input through a function, by evaluating its graph over what is known of values instead of values:
 *
 *   live   the value depends on the input on a path that derivatives follow
 *   cuts   a set: where other paths from the input to it were cut (a MARK, or a function without a derivative)
 *
 *   mark "int" x                live = false, cuts = cuts of x, and this mark if x is live
 *   switch c … (arms)           that of the arms; where that isn't live, the cuts of c, too: the choice is all there is
 *   loop                        until what is known of its state doesn't change
 *   call f, recursive           until what is known of its arguments and result doesn't change
 *
 * Tuples are followed by component, an array is as its elements, and a variant as all that it holds. A closure is known
 * with what it has captured; applied, its graph is evaluated. An unknown function passes on what it is given. The
 * search is bounded by LIMIT_CUT_NODES and LIMIT_CUT_DEPTH; beyond, too, things are passed on. */
#include "facts/gradient_paths.h"
#include "graph/graph.h"

typedef struct Val Val;
typedef struct Closures {
  const Node *node; /* CLOSURE */
  Val **caps;
  struct Closures *next;
} Closures;
struct Val {
  bool live;
  uint64_t cuts;
  int n; /* > 0: a tuple of so many parts, and the two above are unused */
  Val **parts;
  Closures *fns; /* of a function: what it may be */
};
/* A call under way. */
typedef struct Active {
  const Func *f;
  Val **args;
  Val *result;
  bool changed;
  struct Active *outer;
} Active;

typedef struct Walk {
  World *w;
  Arena *a;
  GradientPaths *out;
  Active *active;
  Val *nothing; /* it doesn't depend on the input */
  int left, depth;
} Walk;

static Val *eval(Walk *s, const Graph *g, Val **args);

/* ---- Values ------------------------------------------------------------------------------------------------------ */
static Val *new_val(Walk *s, bool live, uint64_t cuts) {
  Val *v = NEW(s->a, Val);
  *v = (Val){.live = live, .cuts = cuts};
  return v;
}

/* All that is known of any part. */
static Val flat(const Val *v) {
  Val out = {.live = v->live, .cuts = v->cuts};
  for (int i = 0; i < v->n; i++) {
    Val part = flat(v->parts[i]);
    out.live |= part.live, out.cuts |= part.cuts;
  }
  for (const Closures *c = v->fns; c; c = c->next)
    for (int i = 0; i < c->node->nops; i++) {
      Val cap = flat(c->caps[i]);
      out.live |= cap.live, out.cuts |= cap.cuts;
    }
  return out;
}

static bool same(const Val *a, const Val *b) {
  if (a == b) return true;
  if (a->live != b->live || a->cuts != b->cuts || a->n != b->n || a->fns != b->fns) return false;
  for (int i = 0; i < a->n; i++)
    if (!same(a->parts[i], b->parts[i])) return false;
  return true;
}

static Val *join(Walk *s, Val *a, Val *b);

/* The closures of both, or those of a where they are the same or too many. */
static Closures *join_closures(Walk *s, Closures *a, const Closures *b) {
  int n = 0;
  for (const Closures *c = a; c; c = c->next) n++;
  for (; b && n < LIMIT_CUT_CLOSURES; b = b->next) {
    Closures *found = a;
    while (found && found->node != b->node) found = found->next;
    if (found) {
      for (int i = 0; i < b->node->nops; i++) found->caps[i] = join(s, found->caps[i], b->caps[i]);
      continue;
    }
    Closures *c = NEW(s->a, Closures);
    *c = *b;
    c->next = a;
    a = c, n++;
  }
  return a;
}

static Val *join(Walk *s, Val *a, Val *b) {
  if (a == b || b == s->nothing) return a;
  if (a == s->nothing) return b;
  if (a->n != b->n) {
    Val x = flat(a), y = flat(b);
    return new_val(s, x.live || y.live, x.cuts | y.cuts);
  }
  Val *v = new_val(s, a->live || b->live, a->cuts | b->cuts);
  v->n = a->n;
  v->parts = NEW_ARRAY(s->a, Val *, a->n + 1);
  for (int i = 0; i < a->n; i++) v->parts[i] = join(s, a->parts[i], b->parts[i]);
  v->fns = join_closures(s, a->fns, b->fns);
  return v;
}

/* v, whose parts that aren't live depend on what was cut, too. */
static Val *with_cuts(Walk *s, Val *v, uint64_t cuts) {
  if (!cuts) return v;
  if (!v->n) return v->live ? v : new_val(s, false, v->cuts | cuts);
  Val *out = new_val(s, false, 0);
  out->n = v->n;
  out->parts = NEW_ARRAY(s->a, Val *, v->n);
  for (int i = 0; i < v->n; i++) out->parts[i] = with_cuts(s, v->parts[i], cuts);
  return out;
}

static Val *tuple(Walk *s, Val **parts, int n) {
  Val *v = new_val(s, false, 0);
  v->n = n;
  v->parts = parts;
  return v;
}

static Val *get(Val *v, int k) { return v->n > k ? v->parts[k] : v; }

static Val *join_all(Walk *s, Val **vs, int n) {
  Val all = {0};
  for (int i = 0; i < n; i++) {
    Val one = flat(vs[i]);
    all.live |= one.live, all.cuts |= one.cuts;
  }
  return new_val(s, all.live, all.cuts);
}

/* ---- Cuts -------------------------------------------------------------------------------------------------------- */
static uint64_t cut_here(Walk *s, Sym what, Site at, bool missing) {
  GradientPaths *p = s->out;
  for (int i = 0; i < p->cuts.len; i++)
    if (p->cuts.data[i].what == what && p->cuts.data[i].at == at) return (uint64_t)1 << i;
  if (p->cuts.len == LIMIT_CUTS) {
    p->complete = false;
    return 0;
  }
  vec_push(s->a, p->cuts, ((Cut){what, at, missing}));
  return (uint64_t)1 << (p->cuts.len - 1);
}

static Val *cut(Walk *s, Val *v, Sym what, Site at, bool missing) {
  Val x = flat(v);
  return new_val(s, false, x.cuts | (x.live ? cut_here(s, what, at, missing) : 0));
}

/* ---- Control ----------------------------------------------------------------------------------------------------- */
static Val *eval_switch(Walk *s, const Node *n, Val **ops) {
  Val *out = s->nothing;
  for (int k = 0; k < n->ngraphs; k++) out = join(s, out, eval(s, n->graphs[k], ops + 1));
  return with_cuts(s, out, flat(ops[0]).cuts);
}

/* Values of the parameters of a loop's body or condition. */
static Val **loop_args(Walk *s, const Node *n, int graph, Val **ops) {
  Val **args = NEW_ARRAY(s->a, Val *, n->graphs[graph]->nparams + 1);
  args[0] = s->nothing;
  for (int k = loop_first(n->loop); k < n->nops; k++) {
    int p = ir_inner_param(n, graph, k);
    if (p >= 0) args[p] = ops[k];
  }
  return args;
}

static Val *eval_loop(Walk *s, const Node *n, Val **given) {
  const LoopInfo *l = n->loop;
  int first = loop_first(l), slots = loop_slots(l), last = n->type->n - 1;
  Val **ops = NEW_ARRAY(s->a, Val *, n->nops + 1), *once = s->nothing;
  for (int k = 0; k < n->nops; k++) ops[k] = given[k];
  for (int round = 0, changed = 1; changed && round < LIMIT_CUT_ROUNDS; round++) {
    changed = 0;
    once = eval(s, n->graphs[0], loop_args(s, n, 0, ops));
    for (int k = 0; k < slots; k++) {
      Val *next = join(s, ops[first + k], get(once, k));
      changed |= !same(next, ops[first + k]);
      ops[first + k] = next;
    }
  }
  uint64_t asked = l->has_cond ? flat(eval(s, n->graphs[1], loop_args(s, n, 1, ops))).cuts : flat(ops[0]).cuts;
  Val **parts = NEW_ARRAY(s->a, Val *, n->type->n + 1);
  for (int k = 0; k < last; k++) parts[k] = with_cuts(s, k < slots ? ops[first + k] : get(once, k), asked);
  parts[last] = new_val(s, false, asked);
  return tuple(s, parts, n->type->n);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static Val *eval_again(Walk *s, Active *call, Val **args, int n) {
  for (int k = 0; k < n; k++) {
    Val *all = join(s, call->args[k], args[k]);
    call->changed |= !same(all, call->args[k]);
    call->args[k] = all;
  }
  return call->result;
}

static Val *eval_func(Walk *s, const Func *f, Val **args) {
  for (Active *c = s->active; c; c = c->outer)
    if (c->f == f) return eval_again(s, c, args, f->nparams);
  Active here = {f, NEW_ARRAY(s->a, Val *, f->nparams + 1), s->nothing, true, s->active};
  for (int k = 0; k < f->nparams; k++) here.args[k] = args[k];
  s->active = &here;
  for (int round = 0; here.changed && round < LIMIT_CUT_ROUNDS; round++) {
    here.changed = false;
    Val *result = join(s, here.result, eval(s, f->graph, here.args));
    here.changed |= f->recursive && !same(result, here.result);
    here.result = result;
  }
  s->active = here.outer;
  return here.result;
}

static Val *eval_call(Walk *s, const Node *n, Val **ops) {
  const Func *f = n->attr.func;
  if (f->pullback || f->tangent) return join_all(s, ops, n->nops);
  if (!f->graph) return cut(s, join_all(s, ops, n->nops), f->name, n->site, true);
  return eval_func(s, f, ops);
}

/* A function applied to own arguments: what closures it may be yield. */
static Val *eval_apply(Walk *s, Val *f, Val **own, int nown) {
  Val *out = s->nothing;
  if (!f->fns) {
    s->out->complete = false;
    Val all = flat(f), *given = join_all(s, own, nown);
    return new_val(s, all.live || given->live, all.cuts | given->cuts);
  }
  for (const Closures *c = f->fns; c; c = c->next) {
    const Graph *g = c->node->graphs[0];
    Val **args = NEW_ARRAY(s->a, Val *, g->nparams + 1);
    for (int k = 0; k < g->nparams; k++)
      args[k] =
          k < g->nparams - c->node->nops ? (k < nown ? own[k] : s->nothing) : c->caps[k - (g->nparams - c->node->nops)];
    out = join(s, out, eval(s, g, args));
  }
  return out;
}

static Val *eval_closure(Walk *s, const Node *n, Val **ops) {
  Val *v = new_val(s, false, 0);
  v->fns = NEW(s->a, Closures);
  *v->fns = (Closures){n, ops, NULL};
  return v;
}

/* Of the primitives that get functions, attempts and forks call them without an argument. */
static Val *eval_rt(Walk *s, const Node *n, Val **ops) {
  Val **all = NEW_ARRAY(s->a, Val *, n->nops + 1);
  for (int k = 0; k < n->nops; k++) all[k] = ops[k]->fns ? eval_apply(s, ops[k], NULL, 0) : ops[k];
  if (ir_is_fork(n) && n->nops >= 2) return tuple(s, all, 2);
  Val *given = join_all(s, all, n->nops);
  bool derives = ir_accumulator(s->w, n->type)->kind != T_UNIT;
  if (derives || ir_is_attempt(n)) return given;
  return cut(s, given, sym_of(s->w->syms, n->attr.rt->name), n->site, false);
}

/* ---- Other nodes ------------------------------------------------------------------------------------------------- */
/* An array read or written at indices, which only choose. */
static Val *eval_element(Walk *s, const Node *n, Val **ops) {
  int places = n->op == OP_UPDATE ? n->nops - 1 : n->nops;
  uint64_t chosen = 0;
  for (int k = 1; k < places; k++) chosen |= flat(ops[k]).cuts;
  Val *v = n->op == OP_UPDATE ? join(s, ops[0], ops[n->nops - 1]) : ops[0];
  return with_cuts(s, v, chosen);
}

/* Operations on numbers, and all others: what is known of any operand. A whole number has no derivative. */
static Val *eval_other(Walk *s, const Node *n, Val **ops) {
  Val *v = join_all(s, ops, n->nops);
  if (ir_accumulator(s->w, n->type)->kind == T_UNIT) v->live = false;
  return v;
}

static Val *eval_node(Walk *s, const Node *n, Val **ops) {
  if (n->type->kind == T_TOKEN) return s->nothing; /* that an effect comes first is no path */
  switch (n->op) {
  case OP_TUPLE: return tuple(s, ops, n->nops);
  case OP_GET: return get(ops[0], (int)n->attr.i);
  case OP_MARK: return cut(s, ops[0], n->attr.text, n->site, false);
  case OP_STOP: return eval_other(s, n, (Val *[]){new_val(s, false, flat(ops[0]).cuts)});
  case OP_AFTER:
  case OP_SLICE:
  case OP_RESHAPE:
  case OP_TO_BAG: return ops[0];
  case OP_ZEROS: return s->nothing;
  case OP_ARRAY: {
    Val *v = s->nothing;
    for (int k = 0; k < n->nops; k++) v = join(s, v, ops[k]);
    return v;
  }
  case OP_INDEX:
  case OP_UPDATE: return eval_element(s, n, ops);
  case OP_SELECT: return with_cuts(s, join(s, ops[1], ops[2]), flat(ops[0]).cuts);
  case OP_SWITCH: return eval_switch(s, n, ops);
  case OP_LOOP: return eval_loop(s, n, ops);
  case OP_CLOSURE: return eval_closure(s, n, ops);
  case OP_APPLY:
  case OP_CHECKPOINT: return eval_apply(s, ops[0], ops + 1, n->nops - 1);
  case OP_CALL: return eval_call(s, n, ops);
  case OP_RT: return eval_rt(s, n, ops);
  default: return eval_other(s, n, ops);
  }
}

/* The result of g. Beyond the limits it is what any argument is. */
static Val *eval(Walk *s, const Graph *g, Val **args) {
  if (s->depth == LIMIT_CUT_DEPTH || s->left <= 0) {
    s->out->complete = false;
    return join_all(s, args, g->nparams);
  }
  Node **nodes;
  Map place;
  int n = ir_order(s->a, g, &nodes);
  Val **vals = NEW_ARRAY(s->a, Val *, n + 1);
  s->depth++;
  s->left -= n;
  map_init(&place, s->a);
  for (int i = 0; i < n; i++) {
    const Node *x = nodes[i];
    Val **ops = NEW_ARRAY(s->a, Val *, x->nops + 1);
    for (int k = 0; k < x->nops; k++) ops[k] = vals[(uintptr_t)map_get(&place, x->ops[k]) - 1];
    vals[i] = x->op == OP_PARAM ? args[x->attr.i] : eval_node(s, x, ops);
    map_put(&place, x, (void *)(uintptr_t)(i + 1));
  }
  s->depth--;
  return vals[n - 1];
}

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */
int facts_gradient_leaves(World *w, const IrType *t) {
  int n = 0;
  if (t->kind != T_TUPLE) return ir_accumulator(w, (IrType *)(uintptr_t)t)->kind != T_UNIT;
  for (int i = 0; i < t->n; i++) n += facts_gradient_leaves(w, t->args[i]);
  return n;
}

/* A value of the type of which leaf *leaf is live; counts that down. */
static Val *input(Walk *s, const IrType *t, int *leaf) {
  if (t->kind != T_TUPLE)
    return facts_gradient_leaves(s->w, t) && (*leaf)-- == 0 ? new_val(s, true, 0) : new_val(s, false, 0);
  Val **parts = NEW_ARRAY(s->a, Val *, t->n + 1);
  for (int i = 0; i < t->n; i++) parts[i] = input(s, t->args[i], leaf);
  return tuple(s, parts, t->n);
}

/* What closure f has captured: functions, or what doesn't depend on the input. */
static Val *captured(Walk *s, const Node *f) {
  if (f->op != OP_CLOSURE) return s->nothing;
  Val **caps = NEW_ARRAY(s->a, Val *, f->nops + 1);
  for (int k = 0; k < f->nops; k++) caps[k] = captured(s, f->ops[k]);
  return eval_closure(s, f, caps);
}

GradientPaths facts_gradient_paths(World *w, const Node *f, int leaf) {
  GradientPaths out = {.complete = true};
  Walk s = {.w = w, .a = w->temp, .out = &out, .left = LIMIT_CUT_NODES};
  s.nothing = new_val(&s, false, 0);
  Val *x = input(&s, f->graphs[0]->params[0], &leaf);
  Val all = flat(eval_apply(&s, captured(&s, f), &x, 1));
  Cut *kept = out.cuts.data;
  int n = 0;
  for (int i = 0; i < out.cuts.len; i++)
    if (all.cuts >> i & 1) kept[n++] = out.cuts.data[i];
  out.cuts.len = n;
  out.live = all.live;
  return out;
}
