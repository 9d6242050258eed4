/* SPDX-License-Identifier: MIT */
/* Reference counting on finished code: RETAIN, RELEASE and CLEAR are put in from the roles of instructions and from
 * liveness, and from nothing else.
 *
 * A pointer register is of one class for the whole function:
 *   OWNED      holds a reference of its own while it is live. A taking use that is the last use moves it, an earlier
 *              one takes a retained copy. When it dies otherwise it is released: after its last use, or on the edge
 *              where it dies.
 *   BORROWED   belongs to a container (the object it was read from, an array, a global, the caller's argument). Its
 *              uses count as uses of the container, which so outlives it. Or it only ever holds parts of the caller's
 *              arguments (walkers.c), which outlive everything.
 *   UNCOUNTED  strings and boxes of the module, immediates, NULL.
 * What is read from a container is borrowed unless the container may change while it is live.
 *
 * The steps: class of registers (find_classes), liveness by blocks (solve), what can't be borrowed (find_killed),
 * liveness again, and the new code (rewrite), each block from its end. */
#include "lower/lower_internal.h"
#include <string.h>

typedef enum Class { NOT_COUNTED, OWNED, BORROWED } Class;
typedef struct Block {
  int start, end; /* instructions */
  int npreds;
  uint64_t *in, *out;     /* live at start and end */
  int *release, nrelease; /* registers to release at the start, after the label */
  int *fall, nfall;       /* registers to release where a branch isn't taken */
} Block;
typedef struct Link {
  int reg, next;
} Link;

typedef struct Own {
  Fn *fn;
  Arena *arena;
  const LModule *mod;
  LFunc *f;
  int nregs;  /* before copies are added */
  int *index; /* bit of a pointer register, -1 for others */
  int *reg_of;
  int nptrs, words;
  uint8_t *cls;
  int *parent;     /* container of a candidate or raw register, -1 none */
  bool *candidate; /* borrowed from its parent */
  bool *walker;    /* borrowed from a parameter; NULL: none is */
  int *defs, *counted_defs;
  int *below; /* first Link (1-based) to candidates under a register */
  Vec(Link) links;
  Vec(int) elements; /* candidates read from arrays */
  Block *blocks;
  int nblocks, *label_block;
  uint64_t *live;              /* while walking */
  int *targets, *first_target; /* successors of all blocks */
  Vec(LInstr) reversed, out, stubs;
  Spares *spares; /* NULL: there are none */
} Own;

static bool is_ptr(const Own *o, int r) { return o->fn->regs.data[r].kind == R_PTR; }
static bool is_walker(const Own *o, int r) { return o->walker && r < o->nregs && o->walker[r]; }
static bool live(const Own *o, int r) { return bit_is_set(o->live, o->index[r]); }

/* ---- Classes ---- */
typedef struct DefScan {
  Own *o;
  LInstr *in;
} DefScan;

static void scan_def(void *user, int32_t *reg, Role role) {
  DefScan *d = user;
  Own *o = d->o;
  int r = *reg;
  if (role == ROLE_READ || role == ROLE_TAKE) return;
  o->defs[r]++;
  if (!is_ptr(o, r)) {
    if (d->in->op == LOP_DATA) o->parent[r] = d->in->a;
    return;
  }
  if (!lir_never_counted(d->in->op)) {
    o->cls[r] = OWNED;
    o->counted_defs[r]++;
  }
  if (role != ROLE_DEF_BORROWED) return;
  o->candidate[r] = true;
  if (d->in->op != LOP_GLOBAL) o->parent[r] = d->in->a;
}

/* May r, read from its parent, stay borrowed? Also where it is null on other ways, provided that the parent is there
 * on all of them. */
static bool may_borrow(const Own *o, int r) {
  if (o->counted_defs[r] > 1) return false;
  int p = o->parent[r];
  return o->defs[r] == 1 || (p >= 0 && p < o->f->nparams && o->defs[p] == 1);
}

static void find_classes(Own *o) {
  for (int i = 0; i < o->f->nparams; i++) {
    o->defs[i] = 1;
    if (is_ptr(o, i)) o->cls[i] = o->f->regs[i].owned ? OWNED : BORROWED;
  }
  for (int i = 0; i < o->f->ncode; i++) {
    DefScan d = {o, &o->f->code[i]};
    lir_roles(o->mod, d.in, scan_def, &d);
  }
  for (int r = 0; r < o->nregs; r++) {
    if (!is_ptr(o, r)) continue;
    if (is_walker(o, r)) {
      if (o->cls[r] == OWNED) o->cls[r] = BORROWED;
      o->candidate[r] = false;
      o->parent[r] = -1;
    }
    o->candidate[r] &= may_borrow(o, r);
    o->index[r] = o->nptrs;
    o->reg_of[o->nptrs++] = r;
  }
  o->words = (o->nptrs + 63) / 64;
  o->live = NEW_ARRAY(o->arena, uint64_t, o->words + 1);
}

/* The register whose life r's uses prolong, -1 if none. */
static int container(const Own *o, int r) { return !is_ptr(o, r) || o->candidate[r] ? o->parent[r] : -1; }

/* ---- Blocks ---- */
/* What stands after a FAIL defines registers for what would follow: it is looked at as if it were reached. */
static LFlow flow_of(const LInstr *in) {
  LFlow flow = lir_ops[in->op].flow;
  return flow == LFLOW_FAIL ? LFLOW_NEXT : flow;
}

static void find_blocks(Own *o) {
  LInstr *code = o->f->code;
  int n = o->f->ncode;
  Vec(Block) bs = {0};
  o->label_block = NEW_ARRAY(o->arena, int, o->fn->nlabels + 1);
  for (int i = 0; i < n;) {
    Block b = {.start = i};
    if (code[i].op == LOP_LABEL) o->label_block[code[i].imm.i] = bs.len;
    for (i++; i < n && code[i].op != LOP_LABEL && flow_of(&code[i - 1]) == LFLOW_NEXT; i++) continue;
    b.end = i;
    b.in = NEW_ARRAY(o->arena, uint64_t, o->words + 1);
    b.out = NEW_ARRAY(o->arena, uint64_t, o->words + 1);
    vec_push(o->arena, bs, b);
  }
  o->blocks = bs.data;
  o->nblocks = bs.len;
}

/* Successor number k of block b, -1 past the last. */
static int successor(const Own *o, int b, int k) {
  const LInstr *last = &o->f->code[o->blocks[b].end - 1];
  LFlow flow = flow_of(last);
  if (flow == LFLOW_NEXT || flow == LFLOW_BRANCH) {
    if (k == 0) return b + 1 < o->nblocks ? b + 1 : -1;
    k--;
  }
  int64_t label = lir_target(last, k);
  return label < 0 ? -1 : o->label_block[label];
}

/* ---- Liveness ---- */
static void use(Own *o, int r) {
  for (; r >= 0; r = container(o, r))
    if (is_ptr(o, r)) set_bit(o->live, o->index[r]);
}

static void step_defs(void *user, int32_t *reg, Role role) {
  Own *o = user;
  if ((role == ROLE_DEF || role == ROLE_DEF_BORROWED) && is_ptr(o, *reg)) clear_bit(o->live, o->index[*reg]);
}
static void step_uses(void *user, int32_t *reg, Role role) {
  if (role != ROLE_DEF && role != ROLE_DEF_BORROWED) use(user, *reg);
}
static void step(Own *o, LInstr *in) {
  lir_roles(o->mod, in, step_defs, o);
  lir_roles(o->mod, in, step_uses, o);
}

static bool solve_block(Own *o, int b) {
  Block *bl = &o->blocks[b];
  for (int k = 0, s; (s = successor(o, b, k)) >= 0; k++)
    for (int w = 0; w < o->words; w++) bl->out[w] |= o->blocks[s].in[w];
  memcpy(o->live, bl->out, sizeof(uint64_t) * (size_t)o->words);
  for (int i = bl->end - 1; i >= bl->start; i--) step(o, &o->f->code[i]);
  if (memcmp(o->live, bl->in, sizeof(uint64_t) * (size_t)o->words) == 0) return false;
  memcpy(bl->in, o->live, sizeof(uint64_t) * (size_t)o->words);
  return true;
}

static void solve(Own *o) {
  for (int b = 0; b < o->nblocks; b++) {
    memset(o->blocks[b].in, 0, sizeof(uint64_t) * (size_t)o->words);
    memset(o->blocks[b].out, 0, sizeof(uint64_t) * (size_t)o->words);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int b = o->nblocks - 1; b >= 0; b--) {
      heap_look(o->arena->heap);
      changed |= solve_block(o, b);
    }
  }
}

/* ---- What can't stay borrowed ---- */
static void link_candidates(Own *o) {
  for (int r = 0; r < o->nregs; r++) {
    if (!o->candidate[r]) continue;
    heap_look(o->arena->heap);
    bool element = false;
    for (int a = o->parent[r]; a >= 0; a = container(o, a)) {
      element |= !is_ptr(o, a);
      vec_push(o->arena, o->links, ((Link){r, o->below[a]}));
      o->below[a] = o->links.len;
    }
    if (element) vec_push(o->arena, o->elements, r);
  }
}

typedef struct KillScan {
  Own *o;
  LInstr *in;
  int want;
  bool found;
} KillScan;

static void scan_use(void *user, int32_t *reg, Role role) {
  KillScan *k = user;
  if (*reg == k->want && (role == ROLE_READ || role == ROLE_TAKE)) k->found = true;
}

/* Candidate r is needed at or after this instruction, which changes what it was read from. */
static void kill_if_needed(KillScan *k, int r) {
  KillScan u = {k->o, k->in, r, false};
  lir_roles(k->o->mod, k->in, scan_use, &u);
  if (u.found || live(k->o, r)) k->o->candidate[r] = false;
}

static void scan_kill(void *user, int32_t *reg, Role role) {
  KillScan *k = user;
  bool changes = role == ROLE_INOUT || role == ROLE_DEF || role == ROLE_DEF_BORROWED ||
                 (role == ROLE_TAKE && k->in->op == LOP_UNIQUE);
  if (!changes || !is_ptr(k->o, *reg)) return;
  for (int l = k->o->below[*reg]; l; l = k->o->links.data[l - 1].next) kill_if_needed(k, k->o->links.data[l - 1].reg);
}

static void find_killed(Own *o) {
  link_candidates(o);
  if (!o->links.len) return;
  for (int b = 0; b < o->nblocks; b++) {
    memcpy(o->live, o->blocks[b].out, sizeof(uint64_t) * (size_t)o->words);
    for (int i = o->blocks[b].end - 1; i >= o->blocks[b].start; i--) {
      KillScan k = {o, &o->f->code[i], -1, false};
      lir_roles(o->mod, k.in, scan_kill, &k);
      if (k.in->op == LOP_LOAD && k.in->sub) /* an element is about to be overwritten */
        for (int e = 0; e < o->elements.len; e++) kill_if_needed(&k, o->elements.data[e]);
      step(o, k.in);
    }
  }
}

/* ---- New code: one instruction with what goes before and after it ---- */
typedef struct Edit {
  int32_t *slot;
  int reg;
} Edit;
typedef struct Group {
  Own *o;
  LInstr *in;
  Vec(int) reads, moved;
  Vec(Edit) edits; /* registers that copies replace, once liveness has passed the instruction */
  Vec(LInstr) before, after;
  bool quiet; /* nothing fails between here and the return */
} Group;

static LInstr plain(LOp op, int dst, int a) { return (LInstr){.op = op, .dst = dst, .a = a, .b = -1, .c = -1}; }
static void put_before(Group *g, LOp op, int dst, int a) { vec_push(g->o->arena, g->before, plain(op, dst, a)); }
static void put_after(Group *g, LOp op, int dst, int a) { vec_push(g->o->arena, g->after, plain(op, dst, a)); }

/* Gives up what r holds, where those are live: to a spare that is one of them. */
static LInstr giving_up(const Own *o, int r, const uint64_t *live_then) {
  for (int k = 0, spare; (k = spares_next(o->spares, r, k, &spare));)
    if (bit_is_set(live_then, o->index[spare])) return spares_keep(o->spares, k, r);
  return plain(LOP_RELEASE, -1, r);
}

static bool contains(const int *xs, int n, int x) {
  for (int i = 0; i < n; i++)
    if (xs[i] == x) return true;
  return false;
}

/* Values that must outlive the instruction: what it reads, and the containers of what it uses. */
static void note_reads(void *user, int32_t *reg, Role role) {
  Group *g = user;
  if (role != ROLE_READ && role != ROLE_TAKE) return;
  for (int r = role == ROLE_READ ? *reg : container(g->o, *reg); r >= 0; r = container(g->o, r))
    if (is_ptr(g->o, r) && g->o->cls[r] == OWNED && !contains(g->reads.data, g->reads.len, r))
      vec_push(g->o->arena, g->reads, r);
}

/* Does register r, which the instruction takes, need its reference afterwards? */
static bool is_kept(const Group *g, int r) {
  return g->o->cls[r] == BORROWED || live(g->o, r) || contains(g->reads.data, g->reads.len, r) ||
         contains(g->moved.data, g->moved.len, r);
}

static void take(void *user, int32_t *reg, Role role) {
  Group *g = user;
  Own *o = g->o;
  int r = *reg;
  if (role != ROLE_TAKE || !is_ptr(o, r) || o->cls[r] == NOT_COUNTED) return;
  if (g->in->op == LOP_MOVE && is_walker(o, g->in->dst)) return;
  bool keeps = is_kept(g, r);
  if (keeps && g->in->op == LOP_UNIQUE) {
    g->in->op = LOP_COPY;
  } else if (keeps && g->in->op == LOP_MOVE) {
    put_after(g, LOP_RETAIN, -1, g->in->dst);
  } else if (keeps && g->in->op == LOP_RETURN) {
    put_before(g, LOP_RETAIN, -1, r);
  } else if (keeps) {
    int copy = fn_reg(o->fn, R_PTR);
    o->fn->regs.data[copy].owned = true;
    put_before(g, LOP_MOVE, copy, r);
    put_before(g, LOP_RETAIN, -1, copy);
    vec_push(o->arena, g->edits, ((Edit){reg, copy}));
    vec_push(o->arena, g->moved, copy);
  } else {
    vec_push(o->arena, g->moved, r);
  }
}

/* What a walker goes on to is mostly looked at later: behind a call for what else there is. */
static void mark_fetched(const Own *o) {
  for (int i = 0; o->walker && i < o->f->ncode; i++) {
    LInstr *in = &o->f->code[i];
    if (in->op == LOP_FIELD && is_ptr(o, in->dst) && is_walker(o, in->dst)) in->c = 1;
  }
}

static void define(void *user, int32_t *reg, Role role) {
  Group *g = user;
  int r = *reg;
  if (role == ROLE_READ || role == ROLE_TAKE || !is_ptr(g->o, r) || g->o->cls[r] != OWNED) return;
  if (role == ROLE_DEF_BORROWED && live(g->o, r)) put_after(g, LOP_RETAIN, -1, r);
  else if (role == ROLE_DEF_BORROWED) put_after(g, LOP_NULLPTR, r, -1);
  else if (!live(g->o, r) && !lir_never_counted(g->in->op))
    vec_push(g->o->arena, g->after, giving_up(g->o, r, g->o->live));
}

/* A call always says so, since it takes its arguments even if it fails (lir_moves_argument). */
static void clear_moved(Group *g) {
  if (g->in->op == LOP_RETURN || (g->quiet && g->in->op != LOP_CALL)) return;
  for (int i = 0; i < g->moved.len; i++) put_after(g, LOP_NULLPTR, g->moved.data[i], -1);
}

static void release_dead(Group *g) {
  bool returns = g->in->op == LOP_RETURN;
  for (int i = 0; i < g->reads.len; i++) {
    int r = g->reads.data[i];
    if (live(g->o, r)) continue;
    if (returns) put_before(g, LOP_RELEASE, -1, r);
    else vec_push(g->o->arena, g->after, giving_up(g->o, r, g->o->live));
  }
}

/* Pushes the instruction with its counting, last first. */
static void rewrite_instr(Own *o, LInstr *in, bool quiet) {
  Group g = {.o = o, .in = in, .quiet = quiet};
  lir_roles(o->mod, in, note_reads, &g);
  lir_roles(o->mod, in, take, &g);
  clear_moved(&g);
  lir_roles(o->mod, in, define, &g);
  release_dead(&g);
  step(o, in);
  for (int i = 0; i < g.edits.len; i++) *g.edits.data[i].slot = g.edits.data[i].reg;
  while (g.after.len) vec_push(o->arena, o->reversed, g.after.data[--g.after.len]);
  vec_push(o->arena, o->reversed, *in);
  while (g.before.len) vec_push(o->arena, o->reversed, g.before.data[--g.before.len]);
}

/* Was r found to be NULL by the test at the end of the block, where that holds? */
static bool found_null(const Own *o, const Block *bl, int r) {
  if (bl->end - bl->start < 2) return false;
  const LInstr *test = &o->f->code[bl->end - 2], *branch = test + 1;
  return test->op == LOP_IS_NULL && test->a == r && branch->op == LOP_BRANCH && branch->a == test->dst;
}

static void rewrite_block(Own *o, int b) {
  Block *bl = &o->blocks[b];
  LInstr *code = o->f->code;
  bool quiet = code[bl->end - 1].op == LOP_RETURN;
  memcpy(o->live, bl->out, sizeof(uint64_t) * (size_t)o->words);
  o->reversed.len = 0;
  for (int i = 0; i < bl->nfall; i++)
    if (!found_null(o, bl, bl->fall[i]))
      vec_push(o->arena, o->reversed, giving_up(o, bl->fall[i], o->blocks[b + 1].in));
  for (int i = bl->end - 1; i >= bl->start; i--) {
    for (int k = 0; i == bl->start && k < bl->nrelease; k++)
      vec_push(o->arena, o->reversed, giving_up(o, bl->release[k], bl->in));
    bool fails = lir_fails(o->mod, &code[i]);
    rewrite_instr(o, &code[i], quiet);
    quiet = quiet && !fails;
  }
  while (o->reversed.len) vec_push(o->arena, o->out, o->reversed.data[--o->reversed.len]);
}

/* ---- Edges on which values die ---- */
static int dying(Own *o, int from, int to, int **out) {
  int n = 0;
  for (int w = 0; w < o->words; w++) n += __builtin_popcountll(o->blocks[from].out[w] & ~o->blocks[to].in[w]);
  if (!n) return 0;
  *out = NEW_ARRAY(o->arena, int, n);
  n = 0;
  for (int i = 0; i < o->nptrs; i++)
    if (bit_is_set(o->blocks[from].out, i) && !bit_is_set(o->blocks[to].in, i) && o->cls[o->reg_of[i]] == OWNED)
      (*out)[n++] = o->reg_of[i];
  return n;
}

/* A block of its own for the edge; its label. */
static int split_edge(Own *o, const int *regs, int n, int64_t target) {
  const uint64_t *live_then = o->blocks[o->label_block[target]].in;
  int label = o->fn->nlabels++;
  LInstr in = plain(LOP_LABEL, -1, -1);
  in.imm.i = label;
  vec_push(o->arena, o->stubs, in);
  for (int i = 0; i < n; i++) vec_push(o->arena, o->stubs, giving_up(o, regs[i], live_then));
  in.op = LOP_JUMP;
  in.imm.i = target;
  vec_push(o->arena, o->stubs, in);
  return label;
}

static void place_releases(Own *o, int b) {
  Block *bl = &o->blocks[b];
  LInstr *last = &o->f->code[bl->end - 1];
  bool branch = flow_of(last) == LFLOW_BRANCH;
  if (!branch && flow_of(last) != LFLOW_SWITCH) return;
  int n = branch ? 2 : last->nargs, *regs;
  for (int k = 0; k < n; k++) {
    int to = o->targets[o->first_target[b] + k], count = dying(o, b, to, &regs);
    if (!count) continue;
    if (branch && k == 0) {
      bl->fall = regs;
      bl->nfall = count;
    } else if (o->blocks[to].npreds == 1) {
      o->blocks[to].release = regs;
      o->blocks[to].nrelease = count;
    } else if (branch) {
      last->imm.i = split_edge(o, regs, count, last->imm.i);
    } else {
      last->args[k] = split_edge(o, regs, count, last->args[k]);
    }
  }
}

static void release_on_edges(Own *o) {
  Vec(int) targets = {0};
  o->first_target = NEW_ARRAY(o->arena, int, o->nblocks + 1);
  for (int b = 0; b < o->nblocks; b++) {
    o->first_target[b] = targets.len;
    for (int k = 0, s; (s = successor(o, b, k)) >= 0; k++) {
      vec_push(o->arena, targets, s);
      o->blocks[s].npreds++;
    }
  }
  o->targets = targets.data;
  o->blocks[0].npreds++;
  for (int b = 0; b < o->nblocks; b++) place_releases(o, b);
}

static void rewrite(Own *o) {
  release_on_edges(o);
  for (int i = 0; i < o->f->nparams; i++)
    if (is_ptr(o, i) && o->cls[i] == OWNED && !bit_is_set(o->blocks[0].in, o->index[i]))
      vec_push(o->arena, o->out, plain(LOP_RELEASE, -1, i));
  for (int b = 0; b < o->nblocks; b++) rewrite_block(o, b);
  for (int i = 0; i < o->stubs.len; i++) vec_push(o->arena, o->out, o->stubs.data[i]);
  o->f->code = o->out.data;
  o->f->ncode = o->out.len;
}

static Own *begin(Fn *fn) {
  Arena *a = fn->m->arena;
  int n = fn->regs.len;
  Own *o = NEW(a, Own);
  *o = (Own){.fn = fn, .arena = a, .mod = fn->m->mod, .f = fn->f, .nregs = n};
  o->index = NEW_ARRAY(a, int, n + 1);
  o->reg_of = NEW_ARRAY(a, int, n + 1);
  o->cls = NEW_ARRAY(a, uint8_t, n + 1);
  o->parent = NEW_ARRAY(a, int, n + 1);
  o->candidate = NEW_ARRAY(a, bool, n + 1);
  o->defs = NEW_ARRAY(a, int, n + 1);
  o->counted_defs = NEW_ARRAY(a, int, n + 1);
  o->below = NEW_ARRAY(a, int, n + 1);
  o->walker = own_walkers(fn->m->mod, fn->f);
  for (int i = 0; i < n; i++) o->parent[i] = -1;
  find_classes(o);
  find_blocks(o);
  return o;
}

static Own *analyse(Fn *fn) {
  Own *o = begin(fn);
  int n = o->nregs;
  solve(o);
  find_killed(o);
  for (int r = 0; r < n; r++)
    if (o->candidate[r]) o->cls[r] = BORROWED;
  solve(o);
  return o;
}

void own_insert(Fn *fn) {
  Spares *spares = spares_plan(fn);
  fn_publish_regs(fn);
  Own *o = analyse(fn);
  o->spares = spares;
  for (int r = 0; r < o->nregs; r++) fn->regs.data[r].owned = is_ptr(o, r) && o->cls[r] == OWNED;
  mark_fetched(o);
  rewrite(o);
  if (spares) spares_finish(spares);
}

void own_kept_arguments(Fn *fn, ArgumentFn tell, void *user) {
  Own *o = analyse(fn);
  for (int b = 0; b < o->nblocks; b++) {
    memcpy(o->live, o->blocks[b].out, sizeof(uint64_t) * (size_t)o->words);
    for (int i = o->blocks[b].end - 1; i >= o->blocks[b].start; i--) {
      LInstr *in = &o->f->code[i];
      Group g = {.o = o, .in = in};
      for (int k = 0; in->op == LOP_CALL && k < in->nargs; k++)
        if (is_ptr(o, in->args[k]) && is_kept(&g, in->args[k])) tell(user, in, k);
      step(o, in);
    }
  }
}

void own_last_reads(Fn *fn, PlaceFn tell, void *user) {
  Own *o = begin(fn);
  for (int r = 0; r < o->nregs; r++) o->candidate[r] = false; /* uses of fields are no uses of the box */
  solve(o);
  for (int b = 0; b < o->nblocks; b++) {
    memcpy(o->live, o->blocks[b].out, sizeof(uint64_t) * (size_t)o->words);
    for (int i = o->blocks[b].end - 1; i >= o->blocks[b].start; i--) {
      LInstr *in = &o->f->code[i];
      if (in->op == LOP_FIELD && !live(o, in->a)) tell(user, i);
      step(o, in);
    }
  }
}
