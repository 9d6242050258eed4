/* SPDX-License-Identifier: MIT */
/* Fragments: hot functions and loops, cut out of a module to be compiled by themselves.
 *
 * A fragment is a module. Its tables hold only what its code refers to, numbered in the order of the references.
 * They hold neither the contents of constants nor anything else that the code doesn't depend on; LFragment says
 * which rows of the original they come from. So its key doesn't depend on the rest of the file. Functions outside of
 * it are there without code: machine code calls them through the runtime, and their callers may fail.
 *
 * A loop becomes a function. Its parameters are the registers that are live at its head; at each exit it returns the
 * exit's number and the registers that are live there. References that the loop touches are owned parameters, so an
 * error releases them as in any function; what the loop doesn't touch stays with the frame. A parameter that only
 * one instruction of the original function sets, to a constant, is that constant again. */
#include "lir/fragment.h"
#include "lir/loops.h"
#include <string.h>

typedef Vec(int) Rows;
typedef struct Table {
  Map numbers; /* row of the whole + 1 -> row of the fragment + 1 */
  Rows rows;
} Table;
typedef struct Cut {
  Arena *a;
  const LModule *whole;
  LModule *m;
  LFragment *p;
  const bool *called;
  Table descs, funcs, strings, boxes, globals, foreigns, sites;
  Vec(LFunc *) made;
  Vec(bool) wanted; /* of made: its code is needed */
} Cut;

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static int number(const Cut *c, Table *t, int64_t row) {
  const void *key = (const void *)(uintptr_t)(row + 1);
  int known = (int)(uintptr_t)map_get(&t->numbers, key);
  if (known) return known - 1;
  vec_push(c->a, t->rows, (int)row);
  map_put(&t->numbers, key, (void *)(uintptr_t)t->rows.len);
  return t->rows.len - 1;
}

/* A function as it is seen from outside is the next one of the fragment. */
static void declare(Cut *c, const LFunc *f, bool wanted) {
  LFunc *copy = NEW(c->a, LFunc);
  *copy = *f;
  copy->name = "";
  copy->index = c->made.len;
  copy->code = NULL;
  copy->ncode = copy->nlabels = 0;
  copy->nregs = f->nparams;
  copy->may_fail = true;
  copy->is_entry = false;
  vec_push(c->a, c->made, copy);
  vec_push(c->a, c->wanted, wanted);
}

static int number_func(Cut *c, int func) {
  int k = number(c, &c->funcs, func);
  if (k == c->made.len) declare(c, c->whole->funcs[func], false);
  return k;
}

/* The instruction with its rows numbered as the fragment's. */
static LInstr renumber(Cut *c, const LInstr *in) {
  LInstr copy = *in;
  switch (lir_ops[in->op].imm) {
  case LIMM_STRING: copy.imm.i = number(c, &c->strings, in->imm.i); break;
  case LIMM_BOX: copy.imm.i = number(c, &c->boxes, in->imm.i); break;
  case LIMM_FOREIGN: copy.imm.i = number(c, &c->foreigns, in->imm.i); break;
  case LIMM_FUNC:
    copy.imm.i = number_func(c, (int)in->imm.i);
    if (in->op == LOP_CALL && c->called[in->imm.i]) c->wanted.data[copy.imm.i] = true;
    break;
  case LIMM_DESC:
  case LIMM_OPT_DESC:
    if (in->imm.i >= 0) copy.imm.i = number(c, &c->descs, in->imm.i);
    break;
  case LIMM_NONE:
  case LIMM_INT:
  case LIMM_FLOAT:
  case LIMM_TEXT:
  case LIMM_LABEL: break;
  }
  if (lir_ops[in->op].sub == LSUB_DESC) copy.sub = (uint32_t)number(c, &c->descs, in->sub);
  if (lir_holds(in->op, LOPERAND_A) == 'g') copy.a = number(c, &c->globals, in->a);
  if (in->site) copy.site = (uint32_t)number(c, &c->sites, in->site);
  return copy;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
typedef struct Loop {
  Cut *c;
  const LFunc *f;
  int head;
  const bool *body;
  const uint64_t *const *live;
  LFragmentLoop part;
  int32_t *regs;            /* of the function -> of the fragment + 1 */
  const LInstr **constants; /* by register: the instruction that alone sets it, once and for all */
  int32_t *labels;          /* of the function -> of the fragment + 1 */
  int *exit_of;             /* by instruction: 1 + number of the exit there */
  Rows exits, in, out, taken;
  uint64_t *touched; /* owned registers that the loop changes */
  Vec(LReg) made;
  Vec(LInstr) code;
  int nlabels;
} Loop;

static int32_t new_reg(Loop *l, int kind, bool owned) {
  vec_push(l->c->a, l->made, ((LReg){(uint8_t)kind, owned}));
  return l->made.len - 1;
}

static int32_t reg_of(Loop *l, int32_t reg) {
  if (reg < 0) return reg;
  if (!l->regs[reg]) {
    LReg r = l->f->regs[reg];
    l->regs[reg] = new_reg(l, r.kind, r.owned && bit_is_set(l->touched, reg)) + 1;
  }
  return l->regs[reg] - 1;
}

static LInstr *emit(Loop *l, LOp op, int32_t dst, int64_t imm) {
  vec_push(l->c->a, l->code, ((LInstr){.op = op, .dst = dst, .a = -1, .b = -1, .c = -1, .imm.i = imm}));
  return &l->code.data[l->code.len - 1];
}

/* The instruction after i is outside: an exit. */
static void find_exit(Loop *l, int at) {
  if (l->body[at] || l->exit_of[at]) return;
  vec_push(l->c->a, l->exits, at);
  l->exit_of[at] = l->exits.len;
}

static void find_exits(Loop *l) {
  const LFunc *f = l->f;
  int *at = NEW_ARRAY(l->c->a, int, f->nlabels + 1);
  l->exit_of = NEW_ARRAY(l->c->a, int, f->ncode + 1);
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_LABEL) at[f->code[i].imm.i] = i;
  for (int i = 0; i < f->ncode; i++) {
    if (!l->body[i]) continue;
    LFlow flow = lir_ops[f->code[i].op].flow;
    if (flow == LFLOW_NEXT || flow == LFLOW_BRANCH) find_exit(l, i + 1);
    for (int64_t k = 0, label; (label = lir_target(&f->code[i], (int)k)) >= 0; k++) find_exit(l, at[label]);
  }
  bool *wanted = NEW_ARRAY(l->c->a, bool, f->ncode + 1);
  wanted[l->head] = true;
  for (int k = 0; k < l->exits.len; k++) wanted[l->exits.data[k]] = true;
  l->live = loop_live(l->c->a, l->c->whole, f, wanted);
}

/* ---- What goes in and comes out ---- */
static bool is_owned(const Loop *l, int32_t reg) { return l->f->regs[reg].kind == R_PTR && l->f->regs[reg].owned; }

static void touch(void *user, int32_t *reg, Role role) {
  Loop *l = user;
  if (role != ROLE_READ && is_owned(l, *reg)) set_bit(l->touched, *reg);
}

static void count_definition(void *user, int32_t *reg, Role role) {
  int *n = user;
  if (role == ROLE_DEF || role == ROLE_DEF_BORROWED || role == ROLE_INOUT) n[*reg]++;
}

static bool is_constant(LOp op) {
  return op == LOP_INT || op == LOP_FLOAT || op == LOP_STRING || op == LOP_BOX || op == LOP_IMMEDIATE ||
         op == LOP_NULLPTR;
}

static void find_constants(Loop *l) {
  const LFunc *f = l->f;
  int *n = NEW_ARRAY(l->c->a, int, f->nregs + 1);
  l->constants = NEW_ARRAY(l->c->a, const LInstr *, f->nregs + 1);
  for (int r = 0; r < f->nparams; r++) n[r] = 1;
  for (int i = 0; i < f->ncode; i++) lir_roles(l->c->whole, &f->code[i], count_definition, n);
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (is_constant(in->op) && n[in->dst] == 1 && !is_owned(l, in->dst) && !l->body[i]) l->constants[in->dst] = in;
  }
}

/* Meets the registers of the loop in the order of its code: parameters get their numbers. */
static void meet(void *user, int32_t *reg, Role role) {
  Loop *l = user;
  (void)role;
  if (l->regs[*reg] || l->constants[*reg] || !bit_is_set(l->live[l->head], *reg)) return;
  reg_of(l, *reg);
  vec_push(l->c->a, l->in, *reg);
  if (bit_is_set(l->touched, *reg)) vec_push(l->c->a, l->taken, *reg);
}

/* What the loop defines is handed back where it is live, and all owned registers that it may have changed, as it
 * leaves them. */
typedef struct Outcome {
  Loop *l;
  bool *seen;
} Outcome;

static void meet_result(void *user, int32_t *reg, Role role) {
  const Outcome *o = user;
  Loop *l = o->l;
  if (role == ROLE_READ || o->seen[*reg]) return;
  bool back = bit_is_set(l->touched, *reg);
  for (int k = 0; k < l->exits.len && !back; k++) back = bit_is_set(l->live[l->exits.data[k]], *reg);
  if (role == ROLE_TAKE && !bit_is_set(l->touched, *reg)) return;
  o->seen[*reg] = true;
  if (back) vec_push(l->c->a, l->out, *reg);
}

static void each_role(const Loop *l, RoleFn fn, void *user) {
  for (int i = 0; i < l->f->ncode; i++)
    if (l->body[i]) lir_roles(l->c->whole, &l->f->code[i], fn, user);
}

static void find_interface(Loop *l) {
  l->touched = NEW_ARRAY(l->c->a, uint64_t, loop_words(l->f) + 1);
  each_role(l, touch, l);
  find_constants(l);
  each_role(l, meet, l);
  each_role(l, meet_result, &(Outcome){l, NEW_ARRAY(l->c->a, bool, l->f->nregs + 1)});
  l->part = (LFragmentLoop){l->in.data,    l->out.data,  l->in.len,     l->out.len,
                            l->taken.data, l->taken.len, l->exits.data, l->exits.len};
}

/* ---- Code ---- */
static int32_t label_of(Loop *l, int64_t label) {
  if (!l->labels[label]) l->labels[label] = ++l->nlabels;
  return l->labels[label] - 1;
}

static int32_t *regs_of(Loop *l, const int32_t *regs, int n) {
  int32_t *copy = NEW_ARRAY(l->c->a, int32_t, n + 1);
  for (int k = 0; k < n; k++) copy[k] = reg_of(l, regs[k]);
  return copy;
}

static bool is_register(LOp op, LOperand k) { return lir_use(op, k) != '-' && lir_use(op, k) != '#'; }

static void copy_instr(Loop *l, const LInstr *in) {
  LInstr copy = renumber(l->c, in);
  if (is_register(in->op, LOPERAND_DST)) copy.dst = reg_of(l, in->dst);
  if (is_register(in->op, LOPERAND_A)) copy.a = reg_of(l, in->a);
  if (is_register(in->op, LOPERAND_B)) copy.b = reg_of(l, in->b);
  if (is_register(in->op, LOPERAND_C)) copy.c = reg_of(l, in->c);
  if (is_register(in->op, LOPERAND_ARGS)) copy.args = regs_of(l, in->args, in->nargs);
  if (is_register(in->op, LOPERAND_RES)) copy.res = regs_of(l, in->res, in->nres);
  if (lir_ops[in->op].imm == LIMM_LABEL) copy.imm.i = label_of(l, in->imm.i);
  if (lir_ops[in->op].flow == LFLOW_SWITCH) {
    copy.args = NEW_ARRAY(l->c->a, int32_t, in->nargs + 1);
    for (int k = 0; k < in->nargs; k++) copy.args[k] = label_of(l, in->args[k]);
  }
  vec_push(l->c->a, l->code, copy);
}

/* A register with nothing in it, for what isn't live at an exit. */
static int32_t nothing(Loop *l, int kind, int32_t *made) {
  if (made[kind] >= 0) return made[kind];
  made[kind] = new_reg(l, kind, false);
  static const LOp ops[] = {[R_INT] = LOP_INT, [R_FLOAT] = LOP_FLOAT, [R_PTR] = LOP_NULLPTR};
  emit(l, ops[kind], made[kind], 0);
  return made[kind];
}

/* Exit k: at its labels, or where the code before falls through to it. */
static void emit_exit(Loop *l, int k, int32_t label) {
  int32_t made[] = {-1, -1, -1, -1}, *args = NEW_ARRAY(l->c->a, int32_t, l->out.len + 1);
  const uint64_t *live = l->live[l->exits.data[k]];
  emit(l, LOP_LABEL, -1, label);
  args[0] = new_reg(l, R_INT, false);
  emit(l, LOP_INT, args[0], k);
  for (int o = 0; o < l->out.len; o++) {
    int32_t reg = l->out.data[o];
    int kind = l->f->regs[reg].kind;
    bool there = bit_is_set(live, reg) || bit_is_set(l->touched, reg) || kind == R_RAW;
    args[1 + o] = there ? reg_of(l, reg) : nothing(l, kind, made);
  }
  LInstr *in = emit(l, LOP_RETURN, -1, 0);
  in->args = args;
  in->nargs = l->out.len + 1;
}

static void emit_body(Loop *l) {
  const LFunc *f = l->f;
  int32_t *falls = NEW_ARRAY(l->c->a, int32_t, l->exits.len + 1); /* 1 + label for falling through to the exit */
  for (int r = 0; r < f->nregs; r++)
    if (l->constants[r] && bit_is_set(l->live[l->head], r)) copy_instr(l, l->constants[r]);
  emit(l, LOP_JUMP, -1, label_of(l, f->code[l->head].imm.i));
  for (int i = 0; i < f->ncode; i++) {
    if (!l->body[i]) continue;
    copy_instr(l, &f->code[i]);
    LFlow flow = lir_ops[f->code[i].op].flow;
    if ((flow != LFLOW_NEXT && flow != LFLOW_BRANCH) || l->body[i + 1]) continue;
    int k = l->exit_of[i + 1] - 1;
    if (!falls[k]) falls[k] = f->code[i + 1].op == LOP_LABEL ? label_of(l, f->code[i + 1].imm.i) + 1 : ++l->nlabels;
    emit(l, LOP_JUMP, -1, falls[k] - 1);
  }
  for (int k = 0; k < l->exits.len; k++) {
    const LInstr *at = &f->code[l->exits.data[k]];
    emit_exit(l, k, at->op == LOP_LABEL ? label_of(l, at->imm.i) : falls[k] - 1);
  }
}

static LFunc *loop_function(Loop *l) {
  Cut *c = l->c;
  LFunc *f = NEW(c->a, LFunc);
  *f = (LFunc){.name = "", .nparams = l->in.len, .nresults = l->out.len + 1};
  f->result_kinds = NEW_ARRAY(c->a, uint8_t, f->nresults);
  f->result_kinds[0] = R_INT;
  for (int k = 0; k < l->out.len; k++) f->result_kinds[1 + k] = l->f->regs[l->out.data[k]].kind;
  f->regs = l->made.data;
  f->nregs = l->made.len;
  f->code = l->code.data;
  f->ncode = l->code.len;
  f->nlabels = l->nlabels;
  return f;
}

static LFunc *cut_loop(Cut *c, LFragmentRoot *root) {
  Loop *l = NEW(c->a, Loop);
  *l = (Loop){.c = c, .f = c->whole->funcs[root->func], .head = root->head};
  l->body = loop_body(c->a, l->f, l->head);
  if (!l->body) return NULL;
  l->regs = NEW_ARRAY(c->a, int32_t, l->f->nregs + 1);
  l->labels = NEW_ARRAY(c->a, int32_t, l->f->nlabels + 1);
  find_exits(l);
  find_interface(l);
  emit_body(l);
  root->loop = l->part;
  return loop_function(l);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static void cut_function(Cut *c, int k) {
  const LFunc *f = c->whole->funcs[c->funcs.rows.data[k]];
  LFunc *made = c->made.data[k];
  made->code = NEW_ARRAY(c->a, LInstr, f->ncode + 1);
  for (int i = 0; i < f->ncode; i++) made->code[i] = renumber(c, &f->code[i]);
  made->ncode = f->ncode;
  made->nlabels = f->nlabels;
  made->nregs = f->nregs;
  made->may_fail = f->may_fail;
}

/* Whoever calls what may fail may fail. */
static void find_failing(const LModule *m) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < m->nfuncs; k++) {
      LFunc *f = m->funcs[k];
      for (int i = 0; i < f->ncode && !f->may_fail; i++) changed |= f->may_fail = lir_fails(m, &f->code[i]);
    }
  }
}

/* The roots first: a loop stands in the table of functions for the one it is part of. */
static bool cut_roots(Cut *c) {
  LFragment *p = c->p;
  for (int k = 0; k < p->nroots; k++) {
    declare(c, c->whole->funcs[p->roots[k].func], p->roots[k].head < 0);
    vec_push(c->a, c->funcs.rows, p->roots[k].func);
    if (p->roots[k].head < 0)
      map_put(&c->funcs.numbers, (const void *)(uintptr_t)(p->roots[k].func + 1), (void *)(uintptr_t)(k + 1));
  }
  for (int k = 0; k < p->nroots; k++) {
    if (p->roots[k].head < 0) continue;
    LFunc *made = cut_loop(c, &p->roots[k]);
    if (!made) return false;
    made->index = k;
    c->made.data[k] = made;
  }
  for (bool more = true; more;) {
    more = false;
    for (int k = 0; k < c->made.len; k++) {
      if (!c->wanted.data[k] || c->made.data[k]->ncode) continue;
      cut_function(c, k);
      more = true;
    }
  }
  for (int k = 0; k < p->nroots; k++) {
    c->made.data[k]->is_entry = true;
    c->made.data[k]->is_root = p->roots[k].head < 0;
  }
  return true;
}

static void publish(const Cut *c) {
  LModule *m = c->m;
  LFragment *p = c->p;
  m->funcs = c->made.data;
  m->nfuncs = c->made.len;
  m->ndescs = c->descs.rows.len;
  m->descs = NEW_ARRAY(c->a, const Desc *, m->ndescs + 1);
  for (int k = 0; k < m->ndescs; k++) m->descs[k] = c->whole->descs[c->descs.rows.data[k]];
  m->nforeigns = c->foreigns.rows.len;
  m->foreigns = NEW_ARRAY(c->a, LForeign, m->nforeigns + 1);
  for (int k = 0; k < m->nforeigns; k++) m->foreigns[k] = c->whole->foreigns[c->foreigns.rows.data[k]];
  m->nstrings = c->strings.rows.len;
  m->strings = NEW_ARRAY(c->a, LText, m->nstrings + 1);
  for (int k = 0; k < m->nstrings; k++) m->strings[k] = (LText){"", 0};
  m->nboxes = c->boxes.rows.len;
  m->boxes = NEW_ARRAY(c->a, LBox, m->nboxes + 1);
  for (int k = 0; k < m->nboxes; k++) m->boxes[k] = (LBox){.desc = -1};
  m->nglobals = c->globals.rows.len;
  m->globals = NEW_ARRAY(c->a, int, m->nglobals + 1);
  m->nsites = c->sites.rows.len;
  p->descs = c->descs.rows.data;
  p->funcs = c->funcs.rows.data;
  p->strings = c->strings.rows.data;
  p->boxes = c->boxes.rows.data;
  p->globals = c->globals.rows.data;
  p->foreigns = c->foreigns.rows.data;
  p->sites = c->sites.rows.data;
}

LFragment *fragment_make(Arena *a, const LModule *whole, const LFragmentRoot *roots, int nroots, const bool *called) {
  Cut c = {.a = a, .whole = whole, .called = called, .m = NEW(a, LModule), .p = NEW(a, LFragment)};
  Table *tables[] = {&c.descs, &c.funcs, &c.strings, &c.boxes, &c.globals, &c.foreigns, &c.sites};
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) map_init(&tables[k]->numbers, a);
  vec_push(a, c.sites.rows, 0); /* 0 is none */
  *c.p = (LFragment){.module = c.m, .whole = whole, .nroots = nroots, .roots = NEW_ARRAY(a, LFragmentRoot, nroots + 1)};
  memcpy(c.p->roots, roots, sizeof *roots * (size_t)nroots);
  *c.m = (LModule){.arena = a, .strict = whole->strict, .fragment = true};
  if (!cut_roots(&c)) return NULL;
  publish(&c);
  find_failing(c.m);
  return c.p;
}
