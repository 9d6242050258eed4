/* SPDX-License-Identifier: MIT */
/* Lowering of a module: from entry graphs to register code for them and for all they reach.
 *
 *   collect    every graph that becomes a function (entries, closures, called Funcs) gets an LFunc when it is first
 *              met: lower_tables.c
 *   lower      each is lowered once, from a queue: lower_node.c, lower_array.c, lower_control.c, lower_loop.c
 *   equal      functions of one code are one: lower_equal.c
 *   facts      which functions recurse, which can fail, which parameters are owned: fixpoints over calls
 *   ownership  reference counting                                        ownership.c
 *
 * Nothing here recurses over calls; nested graphs are lowered inline, so C recursion is as deep as their nesting. */
#include "lower/lower_internal.h"
#include <string.h>

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
  fn_publish_regs(fn);
  f->nlabels = fn->nlabels;
}

static void lower_function(Lower *m, Pending p) {
  Fn *fn = NEW(m->arena, Fn);
  fn->m = m;
  fn->f = p.func;
  fn->root = -1;
  fn->guard = -1;
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
  for (int i = 0; i < m->fns.len; i++) openings_find(m->fns.data[i]);
  for (bool changed = true; changed; changed = changed || own_walked_params(m)) {
    changed = false;
    for (int i = 0; i < m->funcs.len; i++) {
      LFunc *f = m->funcs.data[i];
      if (!f->may_fail && function_fails(m->mod, f)) f->may_fail = changed = true;
      changed |= own_params(m->mod, f);
    }
    for (int i = 0; i < m->fns.len; i++) changed |= openings_move(m->fns.data[i]);
  }
}

/* ---- Source places ---- */
/* Numbered as they are met in the code, each before what it was inlined at: so the code doesn't depend on what the VM
 * has read before. */
static uint32_t module_site(Lower *m, Site s) {
  if (!s) return 0;
  const void *key = (const void *)(uintptr_t)s;
  uint32_t number = (uint32_t)(uintptr_t)map_get(&m->site_index, key);
  if (number) return number;
  const SiteInfo *info = ir_site_info(m->w, s);
  number = (uint32_t)m->sites.len;
  vec_push(m->arena, m->sites, ((LSite){info->at, info->function, 0}));
  map_put(&m->site_index, key, (void *)(uintptr_t)number);
  uint32_t parent = module_site(m, info->parent);
  m->sites.data[number].parent = parent;
  return number;
}

static void number_sites(Lower *m) {
  vec_push(m->arena, m->sites, ((LSite){0}));
  for (int k = 0; k < m->funcs.len; k++)
    for (int i = 0; i < m->funcs.data[k]->ncode; i++) {
      LInstr *in = &m->funcs.data[k]->code[i];
      in->site = module_site(m, in->site);
    }
  m->mod->sites = m->sites.data;
  m->mod->nsites = m->sites.len;
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
  Map *maps[] = {&m->scheds,    &m->graph_funcs,  &m->desc_index,   &m->string_index,
                 &m->box_index, &m->global_index, &m->func_foreign, &m->site_index};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_init(maps[i], arena);
  for (int i = 0; i < n; i++) {
    entries[i].func = lower_graph_func(m, entries[i].graph, false);
    if (entries[i].name) entries[i].func->name = entries[i].name;
  }
  for (int i = 0; i < m->pending.len && !m->error; i++) lower_function(m, m->pending.data[i]);
  if (!m->error) lower_share_equal(m);
  publish_tables(m);
  if (m->error) return m->mod;
  find_facts(m);
  for (int i = 0; i < m->fns.len; i++) {
    openings_reuse(m->fns.data[i]);
    own_insert(m->fns.data[i]);
    fn_publish_regs(m->fns.data[i]);
    m->fns.data[i]->f->nlabels = m->fns.data[i]->nlabels;
  }
  number_sites(m);
  return m->mod;
}
