/* SPDX-License-Identifier: MIT */
/* The tables of the module that is being lowered: descriptors, strings, boxes of constants, globals, C functions, and
 * the functions, which are found or entered by what they are made of. A function's body isn't lowered here but when its
 * turn comes in the queue (lower_module.c), so whoever lowers code may refer to any. */
#include "lower/lower_internal.h"
#include "support/host_library.h"
#include <string.h>

void lower_error(Lower *m, const char *fmt, ...) {
  if (m->error) return;
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  m->error = arena_printf(m->arena, "lowering: %s", text);
}

/* ---- Rows ---- */
static int find_index(const Map *m, const void *key) { return (int)(uintptr_t)map_get(m, key) - 1; }
static void put_index(Map *m, const void *key, int i) { map_put(m, key, (void *)(uintptr_t)(i + 1)); }

int lower_desc_index(Lower *m, IrType *t) {
  int i = find_index(&m->desc_index, t);
  if (i >= 0) return i;
  vec_push(m->arena, m->descs, lower_desc(m->w, t));
  put_index(&m->desc_index, t, m->descs.len - 1);
  return m->descs.len - 1;
}

int lower_string_index(Lower *m, Sym s) {
  int i = find_index(&m->string_index, s);
  if (i >= 0) return i;
  LText text = {s, sym_len(s)};
  vec_push(m->arena, m->strings, text);
  put_index(&m->string_index, s, m->strings.len - 1);
  return m->strings.len - 1;
}

static void add_field(LBox *b, LFieldKind kind, int64_t value) {
  b->kinds[b->nfields] = kind;
  b->fields[b->nfields++].i = value;
}

/* Appends the slots of x, which is data. Boxes in it have their index already: so deep data takes no stack here. */
static void constant_slots(Lower *m, const Node *x, LBox *b) {
  switch (x->op) {
  case OP_INT:
  case OP_BOOL: add_field(b, LFIELD_PLAIN, x->attr.i); return;
  case OP_FLOAT: add_field(b, LFIELD_PLAIN, ((Slot){.f = x->attr.f}).i); return;
  case OP_STRING: add_field(b, LFIELD_STRING, lower_string_index(m, x->attr.text)); return;
  case OP_ZERO:
    for (int k = lower_slots(m->w, x->type); k > 0; k--) add_field(b, LFIELD_PLAIN, 0);
    return;
  case OP_DATA:
  case OP_INJ: {
    int box = lower_box_index(m, x);
    if (box >= 0) add_field(b, LFIELD_BOX, box);
    else add_field(b, LFIELD_PLAIN, x->type->nullable && x->attr.i == 0 ? 0 : (int64_t)((uint64_t)x->attr.i << 1 | 1));
    return;
  }
  case OP_TUPLE:
    for (int k = 0; k < x->nops; k++) constant_slots(m, x->ops[k], b);
    return;
  default: return;
  }
}

/* Elements that are no numbers take the place of the zeros in the block, in order. */
static void array_slots(Lower *m, const Node *x, LBox *b) {
  const ArrayData *d = x->attr.data;
  const Layout *base = lower_layout(m->w, ir_base((IrType *)x->type));
  b->dims = d->dims;
  if (!x->nops) {
    if (d->nslots) memcpy(b->fields, d->slots, sizeof *d->slots * (size_t)d->nslots);
    b->nfields = d->nslots;
    return;
  }
  b->kinds = NEW_ARRAY(m->arena, uint8_t, d->nslots);
  for (int64_t i = 0, op = 0; i < d->nslots; i++) {
    if (base->kinds[i % base->n] == R_PTR) constant_slots(m, x->ops[op++], b);
    else add_field(b, LFIELD_PLAIN, d->slots[i]);
  }
}

int lower_box_index(Lower *m, const Node *x) {
  int i = find_index(&m->box_index, x);
  if (i >= 0) return i;
  bool array = x->op == OP_DATA;
  int64_t n = array ? x->attr.data->nslots : lower_slots(m->w, x->ops[0]->type);
  if ((x->flags & NODE_VARIES) || (!array && n == 0)) return -1;
  if (!array && x->attr.i > LIMIT_TAG) lower_error(m, "a variant of more than %d constructors", LIMIT_TAG);
  LBox b = {.tag = array ? 0 : (int)x->attr.i, .fields = NEW_ARRAY(m->arena, Slot, n + 1)};
  if (array) {
    array_slots(m, x, &b);
  } else {
    b.kinds = NEW_ARRAY(m->arena, uint8_t, n);
    constant_slots(m, x->ops[0], &b);
  }
  b.desc = lower_desc_index(m, x->type);
  vec_push(m->arena, m->boxes, b);
  put_index(&m->box_index, x, m->boxes.len - 1);
  return m->boxes.len - 1;
}

int lower_empty_array_index(Lower *m, IrType *t) {
  int i = find_index(&m->box_index, t);
  if (i >= 0) return i;
  LBox b = {.desc = lower_desc_index(m, t), .dims = NEW_ARRAY(m->arena, int64_t, ir_rank(t))};
  vec_push(m->arena, m->boxes, b);
  put_index(&m->box_index, t, m->boxes.len - 1);
  return m->boxes.len - 1;
}

int lower_global_index(Lower *m, int global) {
  const void *key = (const void *)(uintptr_t)(global + 1);
  int i = find_index(&m->global_index, key);
  if (i >= 0) return i;
  vec_push(m->arena, m->globals, global);
  put_index(&m->global_index, key, m->globals.len - 1);
  return m->globals.len - 1;
}

const IrType *lower_foreign_result(const Func *f) {
  return f->result->kind == T_TUPLE && f->result->n ? f->result->args[0] : f->result;
}

int lower_foreign(Lower *m, Func *f) {
  int i = find_index(&m->func_foreign, f);
  if (i >= 0) return i;
  LForeign fo = {.library = f->foreign.library, .symbol = f->foreign.symbol};
  const IrType *t = lower_foreign_result(f);
  fo.sized = t->kind == T_ARRAY && !host_library(fo.library);
  const Layout *result = lower_layout(m->w, fo.sized ? t->args[0] : f->result);
  for (int k = 0; k < f->nparams; k++) fo.nargs += lower_slots(m->w, f->params[k]);
  fo.kinds = NEW_ARRAY(m->arena, uint8_t, fo.nargs + 1);
  for (int k = 0, at = 0; k < f->nparams; k++) {
    const Layout *l = lower_layout(m->w, f->params[k]);
    for (int s = 0; s < l->n; s++) fo.kinds[at++] = l->kinds[s];
  }
  fo.result = result->n ? result->kinds[0] : R_RAW;
  vec_push(m->arena, m->foreigns, fo);
  put_index(&m->func_foreign, f, m->foreigns.len - 1);
  return m->foreigns.len - 1;
}

/* ---- Functions ---- */
static LFunc *new_func(Lower *m, const void *key, const char *name, Graph *g, Func *source) {
  LFunc *f = NEW(m->arena, LFunc);
  const Layout *result = lower_layout(m->w, g->result->type);
  f->name = name ? name : "function";
  f->index = m->funcs.len;
  f->nresults = result->n;
  f->result_kinds = result->kinds;
  for (int k = 0; k < g->nparams; k++) f->nparams += lower_slots(m->w, g->params[k]);
  vec_push(m->arena, m->funcs, f);
  vec_push(m->arena, m->pending, ((Pending){f, g, source}));
  map_put(&m->graph_funcs, key, f);
  return f;
}

/* The slots of the environment that accumulates for the captures of a closure. */
static void describe_env(Lower *m, LFunc *f, Graph *g, int own) {
  for (int k = own; k < g->nparams; k++) f->nacc += lower_slots(m->w, ir_accumulator(m->w, g->params[k]));
  f->acc_kinds = NEW_ARRAY(m->arena, uint8_t, f->nacc + 1);
  f->acc_descs = NEW_ARRAY(m->arena, const Desc *, f->nacc + 1);
  for (int k = own, at = 0; k < g->nparams; k++) {
    IrType *t = ir_accumulator(m->w, g->params[k]);
    const Desc *d = lower_desc(m->w, t);
    if (d->nslots) memcpy(f->acc_kinds + at, d->slots, (size_t)d->nslots);
    if (d->nslots) memcpy(f->acc_descs + at, d->slot_descs, sizeof *d->slot_descs * (size_t)d->nslots);
    at += d->nslots;
  }
}

LFunc *lower_graph_func(Lower *m, Graph *g, bool closure) {
  LFunc *f = map_get(&m->graph_funcs, g);
  if (!f) {
    f = new_func(m, g, g->name, g, NULL);
    f->is_entry = true;
    f->id = g->identity ? g->identity : ir_hash(m->w, g);
  }
  if (!closure || f->acc_kinds) return f;
  int own = g->nparams > 1 && g->params[1]->kind == T_TOKEN ? 2 : 1;
  f->ncaps = 0;
  for (int k = own; k < g->nparams; k++) f->ncaps += lower_slots(m->w, g->params[k]);
  describe_env(m, f, g, own);
  return f;
}

LFunc *lower_func(Lower *m, Func *f) {
  LFunc *known = map_get(&m->graph_funcs, f);
  return known ? known : new_func(m, f, f->name, f->graph, f);
}
