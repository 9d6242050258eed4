/* SPDX-License-Identifier: MIT */
/* Lowering of a module: from entry graphs to register code for them and for all they reach.
 *
 *   collect    every graph that becomes a function (entries, closures, called Funcs) gets an LFunc when it is first met
 *   lower      each is lowered once, from a queue: lower_node.c, lower_array.c, lower_control.c, lower_loop.c
 *   facts      which functions recurse, which can fail, which parameters are owned: fixpoints over calls
 *   ownership  reference counting                                        ownership.c
 *
 * Nothing here recurses over calls; nested graphs are lowered inline, so C recursion is as deep as their nesting. */
#include "lower/lower_internal.h"
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

/* ---- Tables of the module ---- */
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
  if (!array && x->attr.i > RT_MAX_TAG) lower_error(m, "a variant of more than %d constructors", RT_MAX_TAG);
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

int lower_global_index(Lower *m, int global) {
  const void *key = (const void *)(uintptr_t)(global + 1);
  int i = find_index(&m->global_index, key);
  if (i >= 0) return i;
  vec_push(m->arena, m->globals, global);
  put_index(&m->global_index, key, m->globals.len - 1);
  return m->globals.len - 1;
}

int lower_foreign(Lower *m, Func *f) {
  int i = find_index(&m->func_foreign, f);
  if (i >= 0) return i;
  LForeign fo = {.library = f->foreign.library, .symbol = f->foreign.symbol};
  const Layout *result = lower_layout(m->w, f->result);
  for (int k = 0; k < f->nparams; k++) fo.nargs += lower_slots(m->w, f->params[k]);
  fo.kinds = NEW_ARRAY(m->arena, uint8_t, fo.nargs + 1);
  for (int k = 0, at = 0; k < f->nparams; k++) {
    const Layout *l = lower_layout(m->w, f->params[k]);
    for (int s = 0; s < l->n; s++) fo.kinds[at++] = l->kinds[s];
  }
  if (result->n != 1) lower_error(m, "foreign function %s must return one number", f->foreign.symbol);
  else fo.result = result->kinds[0];
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

/* The function may be re-entered by tail calls: its parameters move to registers that those may assign. */
static void open_start(Fn *fn, Func *self) {
  TailTarget t = {self, fn_label(fn), NEW_ARRAY(fn->m->arena, int, fn->f->nparams + 1)};
  for (int r = 0; r < fn->f->nparams; r++) {
    t.regs[r] = r;
    if (fn->regs.data[r].kind != R_PTR) continue;
    t.regs[r] = fn_reg(fn, R_PTR);
    fn_move(fn, t.regs[r], r, false);
  }
  fn->loop_depth = 1;
  vec_push(fn->m->arena, fn->targets, t);
}

static void lower_target(Fn *fn, TailTarget t) {
  Row *params = NEW_ARRAY(fn->m->arena, Row, t.func->nparams + 1);
  for (int k = 0, at = 0; k < t.func->nparams; k++) {
    params[k] = (Row){t.regs + at, lower_slots(fn->m->w, t.func->params[k])};
    at += params[k].n;
  }
  int scope = fn_scope(fn);
  fn->here = t.func;
  fn_place(fn, t.label);
  fn_emit(fn, LOP_LOOP_HEAD, -1, -1, 0, -1);
  lower_body(fn, t.func->graph, params);
  fn_leave(fn, scope);
}

static void finish_code(Fn *fn) {
  Arena *a = fn->m->arena;
  LFunc *f = fn->f;
  f->ncode = fn->consts.len + fn->code.len;
  f->code = NEW_ARRAY(a, LInstr, f->ncode + 1);
  if (fn->consts.len) memcpy(f->code, fn->consts.data, sizeof(LInstr) * (size_t)fn->consts.len);
  if (fn->code.len) memcpy(f->code + fn->consts.len, fn->code.data, sizeof(LInstr) * (size_t)fn->code.len);
  f->regs = fn->regs.data;
  f->nregs = fn->regs.len;
  f->nlabels = fn->nlabels;
}

static void lower_function(Lower *m, Pending p) {
  Fn *fn = NEW(m->arena, Fn);
  fn->m = m;
  fn->f = p.func;
  fn->root = -1;
  map_init(&fn->const_rows, m->arena);
  Row *params = NEW_ARRAY(m->arena, Row, p.graph->nparams + 1);
  for (int k = 0; k < p.graph->nparams; k++) {
    const Layout *l = lower_layout(m->w, p.graph->params[k]);
    params[k] = (Row){fn_regs(fn, l), l->n};
  }
  bool conses = false;
  if (p.source && lower_tail_reaches(m, p.source, p.source, &conses)) {
    if (conses) lower_cons_open(fn);
    open_start(fn, p.source);
    for (int i = 0; i < fn->targets.len; i++) lower_target(fn, fn->targets.data[i]);
  } else {
    lower_body(fn, p.graph, params);
  }
  finish_code(fn);
  vec_push(m->arena, m->fns, fn);
}

/* ---- Facts ---- */
/* A function recurses if a chain of calls leads back to it (found for one function of each cycle, which is enough to
 * guard the stack), or if it calls something unknown. Depth first, without C recursion. */
static void find_recursive(Lower *m) {
  enum { WHITE, GREY, BLACK };
  int n = m->funcs.len, *next = NEW_ARRAY(m->arena, int, n + 1), *stack = NEW_ARRAY(m->arena, int, n + 1);
  uint8_t *colour = NEW_ARRAY(m->arena, uint8_t, n + 1);
  for (int root = 0; root < n; root++) {
    int depth = 0;
    if (colour[root] == WHITE) stack[depth++] = root;
    while (depth) {
      int at = stack[depth - 1];
      LFunc *f = m->funcs.data[at];
      colour[at] = GREY;
      if (next[at] == f->ncode) {
        colour[at] = BLACK;
        depth--;
        continue;
      }
      const LInstr *in = &f->code[next[at]++];
      if (in->op == LOP_APPLY) f->recursive = true;
      if (in->op != LOP_CALL) continue;
      if (colour[in->imm.i] == GREY) m->funcs.data[in->imm.i]->recursive = true;
      if (colour[in->imm.i] == WHITE) stack[depth++] = (int)in->imm.i;
    }
  }
}

static bool function_fails(const LModule *mod, const LFunc *f) {
  if (f->recursive) return true;
  for (int i = 0; i < f->ncode; i++)
    if (lir_fails(mod, &f->code[i])) return true;
  return false;
}

static void find_facts(Lower *m) {
  find_recursive(m);
  for (bool changed = true; changed; changed = changed || own_walked_params(m)) {
    changed = false;
    for (int i = 0; i < m->funcs.len; i++) {
      LFunc *f = m->funcs.data[i];
      if (!f->may_fail && function_fails(m->mod, f)) f->may_fail = changed = true;
      changed |= own_params(m->mod, f);
    }
  }
}

/* A function with a loop takes long, so does one that calls such a one. */
static bool find_last_repeat(const LModule *mod, LFunc *f) {
  for (int i = f->ncode - 1; i > f->last_repeat; i--) {
    const LInstr *in = &f->code[i];
    bool call = in->op == LOP_CALL && (mod->funcs[in->imm.i]->recursive || mod->funcs[in->imm.i]->last_repeat >= 0);
    if (!call && in->op != LOP_POLL && in->op != LOP_LOOP_HEAD) continue;
    f->last_repeat = i;
    return true;
  }
  return false;
}

static void find_repeats(Lower *m) {
  for (int i = 0; i < m->funcs.len; i++) m->funcs.data[i]->last_repeat = -1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < m->funcs.len; i++) changed |= find_last_repeat(m->mod, m->funcs.data[i]);
  }
}

/* ---- The module ---- */
static void publish_tables(Lower *m) {
  LModule *mod = m->mod;
  mod->funcs = m->funcs.data;
  mod->nfuncs = m->funcs.len;
  mod->descs = m->descs.data;
  mod->ndescs = m->descs.len;
  mod->strings = m->strings.data;
  mod->nstrings = m->strings.len;
  mod->boxes = m->boxes.data;
  mod->nboxes = m->boxes.len;
  mod->globals = m->globals.data;
  mod->nglobals = m->globals.len;
  mod->foreigns = m->foreigns.data;
  mod->nforeigns = m->foreigns.len;
  mod->strict = m->w->strict;
  mod->error = m->error;
}

LModule *lower_module(World *w, Arena *arena, LowerEntry *entries, int n) {
  Lower *m = NEW(arena, Lower);
  m->w = w;
  m->arena = arena;
  m->mod = NEW(arena, LModule);
  m->mod->arena = arena;
  Map *maps[] = {&m->scheds,       &m->consumed,  &m->graph_funcs,  &m->desc_index,
                 &m->string_index, &m->box_index, &m->global_index, &m->func_foreign};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_init(maps[i], arena);
  for (int i = 0; i < n; i++) {
    entries[i].func = lower_graph_func(m, entries[i].graph, false);
    if (entries[i].name) entries[i].func->name = entries[i].name;
  }
  for (int i = 0; i < m->pending.len && !m->error; i++) lower_function(m, m->pending.data[i]);
  publish_tables(m);
  if (m->error) return m->mod;
  find_facts(m);
  for (int i = 0; i < m->fns.len; i++) {
    own_insert(m->fns.data[i]);
    m->fns.data[i]->f->regs = m->fns.data[i]->regs.data;
    m->fns.data[i]->f->nregs = m->fns.data[i]->regs.len;
    m->fns.data[i]->f->nlabels = m->fns.data[i]->nlabels;
  }
  find_repeats(m);
  return m->mod;
}
