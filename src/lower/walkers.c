/* SPDX-License-Identifier: MIT */
/* Parameters that a function owns or borrows.
 *
 * A function owns a parameter that it puts somewhere: into an object, its result, an owned parameter of what it
 * calls. A loop that goes down a list or a tree puts it into a variable, and then what it finds in that. Such
 * variables, which only ever hold parts of borrowed parameters, are walkers: the caller keeps all of it alive, so
 * they needn't be counted.
 *
 * Where every caller is done with its argument, the function owns the parameter all the same, and frees what it has
 * walked past: a list needn't be there as a whole when another one is made of it. Where one needs it afterwards,
 * nothing could be freed. */
#include "lower/lower_internal.h"

/* ---- Walkers ----------------------------------------------------------------------------------------------------- */
typedef struct DefScan {
  const LInstr *in;
  bool *walker, changed;
} DefScan;

static void scan_def(void *user, int32_t *reg, Role role) {
  DefScan *d = user;
  if (role == ROLE_READ || role == ROLE_TAKE || !d->walker[*reg]) return;
  bool part = (d->in->op == LOP_MOVE || d->in->op == LOP_FIELD) && d->walker[d->in->a];
  if (part || lir_never_counted(d->in->op)) return;
  d->walker[*reg] = false;
  d->changed = true;
}

static bool borrows(const LFunc *f, int r) { return r < f->nparams && f->regs[r].kind == R_PTR && !f->regs[r].owned; }

/* Does it put a borrowed parameter into a variable? Most functions don't. */
static bool may_walk(const LFunc *f) {
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_MOVE && borrows(f, f->code[i].a)) return true;
  return false;
}

bool *own_walkers(const LModule *m, LFunc *f) {
  if (!may_walk(f)) return NULL;
  DefScan d = {.walker = NEW_ARRAY(m->arena, bool, f->nregs + 1), .changed = true};
  for (int r = 0; r < f->nregs; r++) d.walker[r] = f->regs[r].kind == R_PTR && !(r < f->nparams && f->regs[r].owned);
  while (d.changed) {
    d.changed = false;
    for (int i = 0; i < f->ncode; i++) {
      d.in = &f->code[i];
      lir_roles(m, &f->code[i], scan_def, &d);
    }
  }
  return d.walker;
}

/* ---- What is owned ----------------------------------------------------------------------------------------------- */
typedef struct ParamScan {
  LFunc *f;
  const LInstr *in;
  const bool *walker;
  bool changed;
} ParamScan;

static bool is_step(const LInstr *in, const bool *walker) { return walker && in->op == LOP_MOVE && walker[in->dst]; }

static void scan_param(void *user, int32_t *reg, Role role) {
  ParamScan *p = user;
  if (*reg >= p->f->nparams || role == ROLE_READ || p->f->regs[*reg].kind != R_PTR || p->f->regs[*reg].owned) return;
  if (p->walker && p->walker[*reg] && (role != ROLE_TAKE || is_step(p->in, p->walker))) return;
  p->f->regs[*reg].owned = p->changed = true;
}

bool own_params(const LModule *m, LFunc *f) {
  ParamScan p = {.f = f, .walker = own_walkers(m, f)};
  for (int i = 0; i < f->ncode; i++) {
    p.in = &f->code[i];
    lir_roles(m, &f->code[i], scan_param, &p);
  }
  return p.changed;
}

/* ---- What could be borrowed -------------------------------------------------------------------------------------- */
/* Per function, then per parameter: walked over, and needed by another function that calls it afterwards? */
typedef enum Walk { NO_WALK, WALK, WALK_NEEDED } Walk;
typedef struct Votes {
  Walk **walks;
  int caller;
} Votes;

static Walk *find_walks(const LModule *m, LFunc *f) {
  Walk *walks = NULL;
  const bool *walker = own_walkers(m, f);
  for (int i = 0; walker && i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (!is_step(in, walker) || !borrows(f, in->a)) continue;
    if (!walks) walks = NEW_ARRAY(m->arena, Walk, f->nparams + 1);
    walks[in->a] = f->is_entry ? WALK_NEEDED : WALK; /* its other callers keep what they hand over */
  }
  return walks;
}

static void vote(void *user, const LInstr *call, int k) {
  const Votes *v = user;
  Walk *walks = v->walks[call->imm.i];
  if (walks && walks[k] == WALK && call->imm.i != v->caller) walks[k] = WALK_NEEDED;
}

static bool calls_walk(const Votes *v, const LFunc *f) {
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_CALL && f->code[i].imm.i != f->index && v->walks[f->code[i].imm.i]) return true;
  return false;
}

bool own_walked_params(Lower *m) {
  bool changed = false, any = false;
  Votes v = {.walks = NEW_ARRAY(m->arena, Walk *, m->funcs.len + 1)};
  for (int i = 0; i < m->funcs.len; i++) any |= (v.walks[i] = find_walks(m->mod, m->funcs.data[i])) != NULL;
  for (int i = 0; any && i < m->fns.len; i++) {
    v.caller = m->fns.data[i]->f->index;
    if (calls_walk(&v, m->fns.data[i]->f)) own_kept_arguments(m->fns.data[i], vote, &v);
  }
  for (int i = 0; any && i < m->funcs.len; i++)
    for (int k = 0; v.walks[i] && k < m->funcs.data[i]->nparams; k++)
      if (v.walks[i][k] == WALK) m->funcs.data[i]->regs[k].owned = changed = true;
  return changed;
}
