/* SPDX-License-Identifier: MIT */
/* The one loader of modules: from lowered code to what runs in a VM, by the evaluator or by machine code. Objects that
 * running code makes point to descriptors of the VM and functions of the module here, and into nothing else: a module
 * may go when no closure of it is left, and what lowering made is needed by nobody. */
#include "lir/lir.h"
#include "lir/fragment.h"
#include "runtime/pool.h"
#include <string.h>

static bool find_descs(Rt *rt, const Desc *const *from, const Desc **to, int n) {
  for (int k = 0; k < n; k++)
    if (from[k] && !(to[k] = rt_desc(rt, from[k]))) return false;
  return true;
}

static void free_func(Rt *rt, RtFunc *f) {
  if (!f) return;
  rt_give_back(rt, f->param_kinds, (size_t)f->nparams, 1);
  rt_give_back(rt, f->taken, (size_t)f->nparams, sizeof *f->taken);
  rt_give_back(rt, f->acc_descs, (size_t)f->nacc, sizeof *f->acc_descs);
  rt_give_back(rt, f, 1, sizeof *f);
}

static bool is_plain(const LFunc *f) {
  bool plain = !f->may_fail && !f->recursive;
  for (int k = 0; k < f->nparams; k++) plain &= f->regs[k].kind != R_PTR;
  for (int k = 0; k < f->nresults; k++) plain &= f->result_kinds[k] != R_PTR;
  return plain;
}

static RtFunc *new_func(Rt *rt, Mod *m, LFunc *code) {
  RtFunc *f = rt_zeroed(rt, 1, sizeof *f);
  if (!f) return NULL;
  *f = (RtFunc){.mod = m,
                .code = code,
                .id = code->id,
                .nparams = code->nparams,
                .nresults = code->nresults,
                .ncaps = code->ncaps,
                .acc_kinds = code->acc_kinds,
                .nacc = code->nacc,
                .plain = is_plain(code)};
  f->param_kinds = rt_zeroed(rt, (size_t)f->nparams, 1);
  f->taken = rt_zeroed(rt, (size_t)f->nparams, sizeof *f->taken);
  f->acc_descs = rt_zeroed(rt, (size_t)f->nacc, sizeof *f->acc_descs);
  if (!f->param_kinds || !f->taken || !f->acc_descs || !find_descs(rt, code->acc_descs, f->acc_descs, f->nacc)) {
    free_func(rt, f);
    return NULL;
  }
  for (int k = 0; k < f->nparams; k++) {
    f->param_kinds[k] = code->regs[k].kind;
    f->taken[k] = code->regs[k].owned && code->regs[k].kind == R_PTR;
  }
  return f;
}

/* The module's own objects: no reference to them is counted. */
static void make_immortal(Rt *rt, Obj *o) {
  o->rc = RT_IMMORTAL;
  rt->live--;
}

/* Later boxes hold earlier ones, and go first. */
static void free_immortals(Rt *rt, Obj **objects, int n) {
  for (int k = n - 1; objects && k >= 0; k--)
    if (objects[k]) {
      objects[k]->rc = 1;
      rt->live++;
      rt_release(rt, objects[k]);
    }
  rt_give_back(rt, objects, (size_t)n, sizeof *objects);
}

/* Constant k of the module, which may refer to those before it. */
static Status make_box(Mod *m, int k) {
  const LBox *b = &m->code->boxes[k];
  const Desc *desc = m->descs[b->desc];
  Slot *fields;
  if (b->dims) {
    ArrayObj *a = rt_new_array(m->rt, desc, b->dims, false);
    if (!a) return 1;
    m->boxes[k] = &a->h;
    fields = a->data;
  } else {
    BoxObj *box = rt_new_box(m->rt, desc, b->tag);
    if (!box) return 1;
    m->boxes[k] = &box->h;
    fields = box->fields;
  }
  if (!b->kinds && b->nfields) memcpy(fields, b->fields, (size_t)b->nfields * sizeof *fields);
  for (int64_t i = 0; b->kinds && i < b->nfields; i++) {
    int64_t value = b->fields[i].i;
    if (b->kinds[i] == LFIELD_STRING) fields[i].p = m->strings[value];
    else if (b->kinds[i] == LFIELD_BOX) fields[i].p = m->boxes[value];
    else fields[i].i = value;
  }
  make_immortal(m->rt, m->boxes[k]);
  return 0;
}

static Status fill_module(Mod *m, Slot *(*global)(void *user, int index), void *user) {
  Rt *rt = m->rt;
  if (!find_descs(rt, m->code->descs, m->descs, m->ndescs)) return 1;
  for (int k = 0; k < m->nfuncs; k++)
    if (!(m->funcs[k] = new_func(rt, m, m->code->funcs[k]))) return 1;
  for (int k = 0; k < m->nstrings; k++) {
    const LText *s = &m->code->strings[k];
    if (!(m->strings[k] = rt_new_string(rt, s->text, s->length))) return 1;
    make_immortal(rt, m->strings[k]);
  }
  for (int k = 0; k < m->nboxes; k++)
    if (make_box(m, k)) return 1;
  for (int k = 0; k < m->nglobals; k++) m->globals[k] = global(user, m->code->globals[k]);
  return 0;
}

/* ---- As the threads of a pool see it ----------------------------------------------------------------------------- */
static void alone(Mod *m) {
  m->self = m;
  m->peers = &m->self;
  m->npeers = 1;
}

static void free_peers(Mod *m) {
  if (m->peers == &m->self) return;
  size_t n = (size_t)m->npeers;
  for (size_t k = 1; k < n && m->peers[k]; k++) {
    if (m->decoded) rt_give_back(m->rt, m->peers[k]->decoded, (size_t)m->nfuncs, sizeof *m->decoded);
    rt_give_back(m->rt, m->peers[k], 1, sizeof *m);
  }
  rt_give_back(m->rt, m->peers, n, sizeof *m->peers);
  alone(m);
}

static Mod *new_peer(const Mod *m, Rt *rt) {
  Mod *peer = rt_zeroed(m->rt, 1, sizeof *peer);
  if (!peer) return NULL;
  *peer = *m;
  peer->rt = rt;
  if (!m->decoded || (peer->decoded = rt_zeroed(m->rt, (size_t)m->nfuncs, sizeof *m->decoded))) return peer;
  rt_give_back(m->rt, peer, 1, sizeof *peer);
  return NULL;
}

static void renew_peer(const Mod *m, Mod *peer) {
  Mod before = *peer;
  *peer = *m;
  peer->rt = before.rt;
  peer->decoded = before.decoded;
}

bool mod_join(Mod *m, Pool *p) {
  int n = pool_size(p);
  if (m->npeers == n) {
    for (int k = 1; k < n; k++) renew_peer(m, m->peers[k]);
    return true;
  }
  Mod **peers = rt_zeroed(m->rt, (size_t)n, sizeof *peers);
  if (!peers) return false;
  m->peers = peers;
  m->npeers = n;
  peers[0] = m;
  for (int k = 1; k < n; k++)
    if (!(peers[k] = new_peer(m, pool_rt(p, k)))) {
      free_peers(m);
      return false;
    }
  return true;
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
/* Empty tables for what the code refers to; false: some aren't there. */
static bool make_tables(Mod *m, Rt *rt, const LModule *code) {
  *m = (Mod){.rt = rt,
             .ndescs = code->ndescs,
             .nfuncs = code->nfuncs,
             .nstrings = code->nstrings,
             .nboxes = code->nboxes,
             .nglobals = code->nglobals};
  alone(m);
  m->descs = rt_zeroed(rt, (size_t)m->ndescs, sizeof *m->descs);
  m->funcs = rt_zeroed(rt, (size_t)m->nfuncs, sizeof *m->funcs);
  m->strings = rt_zeroed(rt, (size_t)m->nstrings, sizeof *m->strings);
  m->boxes = rt_zeroed(rt, (size_t)m->nboxes, sizeof *m->boxes);
  m->globals = rt_zeroed(rt, (size_t)m->nglobals, sizeof *m->globals);
  return m->descs && m->funcs && m->strings && m->boxes && m->globals;
}

/* All tables but those of strings and boxes. */
static void free_tables(Mod *m) {
  rt_give_back(m->rt, m->descs, (size_t)m->ndescs, sizeof *m->descs);
  rt_give_back(m->rt, m->funcs, (size_t)m->nfuncs, sizeof *m->funcs);
  rt_give_back(m->rt, m->globals, (size_t)m->nglobals, sizeof *m->globals);
}

Mod *mod_new(Rt *rt, LModule *code, Slot *(*global)(void *user, int index), void *user) {
  Mod *m = rt_zeroed(rt, 1, sizeof *m);
  if (!m) return NULL;
  bool fine = make_tables(m, rt, code);
  m->code = code;
  m->foreign_rows = code->foreigns;
  m->decoded = rt_zeroed(rt, (size_t)m->nfuncs, sizeof *m->decoded);
  m->foreigns = rt_zeroed(rt, (size_t)code->nforeigns, sizeof *m->foreigns);
  if (fine && m->decoded && m->foreigns && fill_module(m, global, user) == 0) return m;
  mod_free(m);
  return NULL;
}

void mod_strip(Mod *m) {
  Rt *rt = m->rt;
  free_peers(m);
  for (int k = 0; m->funcs && k < m->nfuncs; k++) free_func(rt, m->funcs[k]);
  free_tables(m);
  rt_give_back(rt, m->decoded, (size_t)m->nfuncs, sizeof *m->decoded);
  if (m->code) rt_give_back(rt, m->foreigns, (size_t)m->code->nforeigns, sizeof *m->foreigns);
  *m = (Mod){.rt = rt,
             .site_base = m->site_base,
             .strings = m->strings,
             .nstrings = m->nstrings,
             .boxes = m->boxes,
             .nboxes = m->nboxes};
  alone(m);
}

void mod_free(Mod *m) {
  if (!m) return;
  Rt *rt = m->rt;
  mod_strip(m);
  free_immortals(rt, m->boxes, m->nboxes);
  free_immortals(rt, m->strings, m->nstrings);
  rt_give_back(rt, m, 1, sizeof *m);
}

/* ---- Fragments --------------------------------------------------------------------------------------------------- */
Mod *mod_new_fragment(Mod *whole, const LFragment *p) {
  Rt *rt = whole->rt;
  const LModule *code = p->module;
  Mod *m = rt_zeroed(rt, 1, sizeof *m);
  if (!m) return NULL;
  bool fine = make_tables(m, rt, code);
  m->nsites = code->nsites;
  m->sites = rt_zeroed(rt, (size_t)m->nsites, sizeof *m->sites);
  m->whole = whole;
  m->nforeigns = code->nforeigns;
  m->whole_foreigns = rt_zeroed(rt, (size_t)m->nforeigns, sizeof *m->whole_foreigns);
  if (!fine || !m->sites || !m->whole_foreigns) {
    mod_free_fragment(m);
    return NULL;
  }
  for (int k = 0; k < m->ndescs; k++) m->descs[k] = whole->descs[p->descs[k]];
  for (int k = 0; k < m->nfuncs; k++) m->funcs[k] = whole->funcs[p->funcs[k]];
  for (int k = 0; k < m->nstrings; k++) m->strings[k] = whole->strings[p->strings[k]];
  for (int k = 0; k < m->nboxes; k++) m->boxes[k] = whole->boxes[p->boxes[k]];
  for (int k = 0; k < m->nglobals; k++) m->globals[k] = whole->globals[p->globals[k]];
  for (int k = 0; k < m->nforeigns; k++) m->whole_foreigns[k] = p->foreigns[k];
  for (int k = 0; k < m->nsites; k++) m->sites[k] = mod_site(whole, (uint32_t)p->sites[k]);
  return m;
}

void mod_free_fragment(Mod *m) {
  Rt *rt = m->rt;
  free_peers(m);
  free_tables(m);
  rt_give_back(rt, m->strings, (size_t)m->nstrings, sizeof *m->strings);
  rt_give_back(rt, m->boxes, (size_t)m->nboxes, sizeof *m->boxes);
  rt_give_back(rt, m->sites, (size_t)m->nsites, sizeof *m->sites);
  rt_give_back(rt, m->whole_foreigns, (size_t)m->nforeigns, sizeof *m->whole_foreigns);
  rt_give_back(rt, m, 1, sizeof *m);
}
