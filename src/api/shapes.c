/* SPDX-License-Identifier: MIT */
/* Where arrays whose sizes can't agree were made. A failed check knows only the place of its operation and two numbers.
 * So the operation is looked up in the typed syntax tree, and its operands are followed to what they are bound to:
 *
 *   let m = zeros [3, 4]
 *   let v = ones 3
 *   print (m @ v)             →   m is made by `zeros [3, 4]`, and has the shape [3, 4]
 *
 * The shape of an operand is that of its graph, which is elaborated for the purpose, if it needs no local variable. The
 * notes are for a reader: where nothing is found, the message stands alone. */
#include "api/foreseen.h"
#include <string.h>

/* ---- The operation ------------------------------------------------------------------------------ */
static bool same_span(Span a, Span b) { return a.source == b.source && a.start == b.start && a.end == b.end; }

static bool within(Span outer, Span inner) {
  return outer.source == inner.source && outer.start <= inner.start && inner.end <= outer.end;
}

typedef struct Finder {
  bool (*is)(void *user, Expr *e); /* what is looked for */
  void *user;
  Expr *found;
} Finder;

static void find(Finder *f, Expr *e);

static void find_parts(Finder *f, Expr *e) {
  for (int i = 0; i < e->nargs; i++) find(f, e->args[i]);
  for (int i = 0; e->kind == E_LET && i < e->nlets; i++) find(f, e->lets[i].value);
  for (int i = 0; e->kind == E_MATCH && i < e->ncases; i++) {
    find(f, e->cases[i].guard);
    find(f, e->cases[i].body);
  }
  for (int i = 0; e->kind == E_COMPREHENSION && i < e->ngens; i++) find(f, e->gens[i].bound);
  for (int i = 0; e->kind == E_INDEX && i < e->nsubs; i++) {
    find(f, e->subs[i].lo);
    find(f, e->subs[i].hi);
  }
  for (int i = 0; e->kind == E_INTERP && i < e->nparts; i++) find(f, e->parts[i].hole);
}

/* Nested as deep as the parser lets it be. */
static void find(Finder *f, Expr *e) {
  if (!e || f->found) return;
  if (f->is(f->user, e)) f->found = e;
  else find_parts(f, e);
}

static bool is_at(void *user, Expr *e) { return same_span(*(const Span *)user, e->span); }

static Expr *find_in_item(Item *item, Span at) {
  Finder f = {.is = is_at, .user = &at};
  if (item->kind == I_LET)
    for (int i = 0; i < item->nlets; i++) find(&f, item->lets[i].value);
  else if (item->kind != I_TYPE) find(&f, item->expr);
  return f.found;
}

static Expr *find_operation(const AtledVM *vm, Span at) {
  for (int m = 0; m <= vm->modules.len; m++) {
    const Module *in = m < vm->modules.len ? vm->modules.data[m] : vm->main;
    for (int i = 0; i < in->items.len; i++)
      if (within(in->items.data[i]->span, at)) return find_in_item(in->items.data[i], at);
  }
  return NULL;
}

static bool is_array(const Expr *e) { return e->type && type_repr(e->type)->kind == TY_ARRAY; }

typedef struct Operands {
  Expr *all[2];
  int n;
} Operands;

static void add_operands(Operands *o, Expr *e, int first) {
  for (int k = first; k < e->nargs; k++)
    if (is_array(e->args[k]) && o->n < 2) o->all[o->n++] = e->args[k];
}

/* The first two arrays that the operation gets, also by `|>` and `<|`. */
static Operands operands_of(Expr *e) {
  Operands o = {.n = 0};
  bool right = e->kind == E_BINARY && e->op == BIN_PIPE, left = e->kind == E_BINARY && e->op == BIN_PIPE_LEFT;
  Expr *f = right ? e->args[1] : left ? e->args[0] : NULL;
  if (f && f->kind == E_APPLY) add_operands(&o, f, 1);
  if (e->kind == E_APPLY) add_operands(&o, e, 1);
  else if (e->kind == E_BINARY) add_operands(&o, e, 0);
  return o;
}

/* ---- Where an operand comes from ----------------------------------------------------------------- */
/* The expression whose value it is, through variables that are bound to it. */
static Expr *origin(Expr *e) {
  for (int steps = 0; steps < LIMIT_ORIGIN; steps++) {
    const LetBinding *l = e->kind == E_VAR && e->binding ? e->binding->let : NULL;
    if (e->kind == E_ANNOT || e->kind == E_LET) e = e->args[0];
    else if (e->kind == E_SEQ) e = e->args[1];
    else if (l && l->pat->kind == P_VAR && !l->mut && l->value->kind != E_FUN) e = l->value;
    else break;
  }
  return e;
}

static bool is_local_from_outside(void *user, Expr *e) {
  const Binding *b = e->kind == E_VAR || e->kind == E_ASSIGN ? e->binding : NULL;
  bool local = b && (b->kind == BIND_LOCAL || b->kind == BIND_MUT);
  return local && !within(*(const Span *)user, b->span);
}

/* The value of an expression without local variables, as a node; NULL if it has some, or an effect. */
static Node *value_of(AtledVM *vm, Expr *e) {
  Finder f = {.is = is_local_from_outside, .user = &e->span};
  find(&f, e);
  if (f.found || type_has_variables(e->type)) return NULL;
  Item *item = NEW(&vm->scratch, Item);
  *item = (Item){.kind = I_EXPR, .span = e->span, .expr = e};
  Diags none;
  diags_init(&none, &vm->scratch, &vm->sources);
  ElabItem out;
  if (!elab_item(vm->elab, vm->main, item, &none, &out) || !out.graph || out.effect) return NULL;
  return out.graph->result;
}

/* "[3, 4]", or NULL. */
static const char *shape_of(AtledVM *vm, Expr *e) {
  const Node *x = value_of(vm, e);
  Str out = {.arena = &vm->scratch};
  int rank = x ? ir_rank(x->type) : 0, known = 0;
  for (int d = 0; d < rank; d++) {
    const Node *n = ir_len(vm->world, (Node *)(uintptr_t)x, d);
    known += n->op == OP_INT;
    str_puts(&out, d ? ", " : "[");
    if (n->op == OP_INT) str_printf(&out, "%lld", (long long)n->attr.i);
    else str_puts(&out, "…");
  }
  str_addc(&out, ']');
  return known ? out.data : NULL;
}

static const char *label_of(AtledVM *vm, Expr *e) {
  const char *shape = shape_of(vm, e);
  return shape ? arena_printf(&vm->scratch, "this array has the shape %s", shape) : "this is one of the arrays";
}

static Span place_of(Expr *e) {
  const Binding *b = e->kind == E_VAR ? e->binding : NULL;
  return b && b->kind == BIND_LOCAL ? b->span : e->span;
}

void shapes_note(AtledVM *vm, Span operation, Diag *d) {
  Expr *e = find_operation(vm, operation);
  Operands o = e ? operands_of(e) : (Operands){.n = 0};
  if (o.n < 2) return;
  Expr *a = origin(o.all[0]), *b = origin(o.all[1]);
  d->also = place_of(a);
  d->also_label = label_of(vm, a);
  d->third = place_of(b);
  d->third_label = label_of(vm, b);
}
