/* SPDX-License-Identifier: MIT */
/* Deforestation of arrays (loop fusion): those made only to be read in order, `sum [ e | i < n ]`, `map f (map g a)`.
 *
 * The producer is a counted loop with independent iterations whose stacked outputs go to one other loop alone. Where
 * that loop, the consumer, runs as often and reads each of them at its own index only, its body computes the
 * elements itself. At most one of the two may fail: else another of two failures might be reported. Traps may be
 * reported in another order.
 *
 * What else reads single elements, as the smallest of  minimum [ e | i < n ] = xs[k] , where a loop finds k, computes
 * these once more if that takes little (LIMIT_ELEMENT): without the array, and backwards for them alone. Else nothing
 * is computed twice.
 *
 * An array that the consumer reads in one place, at its index plus or minus what doesn't change, is computed there too
 * (fuse_reads.c): `f a ++ g b` is one loop. */
#include "opt/fuse.h"
#include "facts/ir_loop_facts.h"
#include "ir/remarks.h"

typedef struct Frame {
  World *w;
  Uses *uses;
  Map again; /* output of a loop -> are elements of it computed once more? YES or NO, once that is asked */
} Frame;
enum { YES = 1, NO = 2 };

static void *find_uses(void *user, Graph *g) {
  World *w = user;
  Frame *f = NEW(w->temp, Frame);
  *f = (Frame){.w = w, .uses = graph_uses(w, g)};
  map_init(&f->again, w->temp);
  return f;
}

/* How often one element of x is read. */
static int elements_read(const Frame *f, const Node *x) {
  int n = 0;
  FOR_USES (use, f->uses, x) n += fuse_is_element(use);
  return n;
}

static bool is_map(const Node *loop) {
  const LoopInfo *l = loop->loop;
  return loop->op == OP_LOOP && !l->has_cond && loop_slots(l) == 0;
}

/* ---- The consumer's side ----------------------------------------------------------------------- */
/* Does a use read the length of rows of a matrix? */
static bool is_row_length(const NodeUse *use) { return use->user->op == OP_LEN && use->user->attr.i > 0; }

void fuse_put_elements(World *w, Graph *body, int p, Node *element, Map *over) {
  FOR_USES (use, graph_uses(w, body), ir_param(w, p, body->params[p]))
    if (fact_is_own_element(use->user, p)) map_put(over, use->user, element);
    else if (is_row_length(use)) map_put(over, use->user, ir_len(w, element, (int)use->user->attr.i - 1));
}

static bool holds_numbers(const IrType *t) {
  if (t->kind != T_TUPLE) return ir_is_number(t) || t->kind == T_ARRAY;
  for (int i = 0; i < t->n; i++)
    if (!holds_numbers(t->args[i])) return false;
  return true;
}

bool fuse_is_fusible(const IrType *t) { return t->kind == T_ARRAY && holds_numbers(t->args[0]); }

/* Rows of a matrix must be of one length, which making it checks; arrays in tuples needn't. */
static bool has_equal_rows(const Fusion *f, const Node *x) {
  return x->type->args[0]->kind != T_ARRAY || !ir_rows_may_differ(f->w, x->ops[0], (int)x->attr.i);
}

/* Does the producer make what the consumer reads, element by element? Where numbers of iterations differ, all elements
 * that are read exist. But that may be what a check has found that is scheduled after a failure of the producer. */
static bool makes_enough(const Fusion *f, const Node *producer) {
  Graph *body = producer->graphs[0];
  return producer->ops[0] == f->n || !(body->flags & NODE_ENDLESS || ir_fails_beyond_traps(f->w, body));
}

/* Does the body read of array p elements at the loop's index, and of a matrix lengths of rows, and nothing else? */
static bool is_read_in_order(const Fusion *f, int p) {
  if (f->body->result->op == OP_PARAM) return false;
  FOR_USES (use, graph_uses(f->w, f->body), ir_param(f->w, p, f->body->params[p]))
    if (!is_row_length(use) && !(use->operand == 0 && fact_is_own_element(use->user, p))) return false;
  return true;
}

static int made_again(Frame *u, const Node *x);

/* Which operands the consumer can compute; false if some use of the producer's isn't of that kind. */
static bool find_fused(Fusion *f, Frame *u) {
  const Node *before = NULL;
  int outputs = 0;
  for (int k = f->slots; k < f->slots + f->l->nsliced + f->l->ncaps; k++) {
    const Node *old = f->olds[k], *x = f->ops[k];
    if (!old || x->op != OP_GET || !is_map(x->ops[0]) || old->op != OP_GET || old->ops[0]->op != OP_LOOP) continue;
    if (!makes_enough(f, x->ops[0]) || !has_equal_rows(f, x) ||
        (before && (x->ops[0] != f->producer || old->ops[0] != before)))
      continue;
    if (uses_count(u->uses, old) - made_again(u, old) != 1 || !fuse_is_fusible(x->type)) continue;
    if (k >= f->slots + f->l->nsliced && !is_read_in_order(f, 1 + k)) continue;
    f->producer = x->ops[0];
    before = old->ops[0];
    f->fused[k] = true;
    outputs++;
  }
  return before && uses_count(u->uses, before) == outputs;
}

/* The array whose memory x is a part of, or has taken over. */
static const Node *memory_of(const Node *x) {
  while (x->op == OP_INDEX || x->op == OP_SLICE || x->op == OP_RESHAPE || x->op == OP_UPDATE || x->op == OP_AFTER)
    x = x->ops[0];
  return x;
}

bool fuse_changes_what_is_read(const Node *loop, const Node *by) {
  for (int s = 0; s < loop_slots(loop->loop); s++)
    for (int k = 1; k < by->nops; k++)
      if (by->ops[k]->type->kind == T_ARRAY && memory_of(by->ops[k]) == memory_of(loop->ops[1 + s])) return true;
  return false;
}

static bool reads_state(const Fusion *f) { return fuse_changes_what_is_read(f->loop, f->producer); }

static bool both_fail(const Fusion *f) {
  if (!(f->body->flags & f->producer->graphs[0]->flags & NODE_FAILS)) return false;
  return ir_fails_beyond_traps(f->w, f->body) || ir_fails_beyond_traps(f->w, f->producer->graphs[0]);
}

static bool can_fuse(Fusion *f, Frame *u) { return find_fused(f, u) && !reads_state(f) && !both_fail(f); }

/* Says why a loop whose producer was found isn't fused with it. */
static void remark(const Fusion *f, Site at) {
  if (!f->producer) return;
  if (reads_state(f)) ir_remark(f->w, "fuse", at, "not fused: the loop changes an array that the other one reads");
  else if (both_fail(f)) ir_remark(f->w, "fuse", at, "not fused with the loop that makes its array: both may fail");
}

static Fusion fusion_of(World *w, Node *loop, Node **olds) {
  const LoopInfo *l = loop->loop;
  return (Fusion){.w = w,
                  .loop = loop,
                  .n = loop->ops[0],
                  .ops = loop->ops + 1,
                  .olds = olds,
                  .l = l,
                  .body = loop->graphs[0],
                  .fused = NEW_ARRAY(w->temp, bool, loop->nops + 1),
                  .slots = loop_slots(l)};
}

/* ---- Single elements ----------------------------------------------------------------------------- */
/* Is x, an output of a loop, read by another loop that takes in the first, and else element by element? */
static bool has_light_elements(Frame *u, const Node *x) {
  const Node *loop = x->ops[0];
  Node *reader = NULL;
  int elements = elements_read(u, x);
  FOR_USES (use, u->uses, x)
    if (!fuse_is_element(use)) reader = use->user;
  if (!reader || reader->op != OP_LOOP || reader->loop->has_cond) return false;
  if (uses_count(u->uses, loop) != 1 || uses_count(u->uses, x) != elements + 1) return false;
  OpCounts body = ir_count(u->w, loop->graphs[0]);
  if (body.calls || body.applies) return false;
  if (body.total * elements > LIMIT_ELEMENT) return !limit_reached(u->w->arena, AT_ELEMENT);
  Fusion f = fusion_of(u->w, reader, reader->ops + 1);
  return can_fuse(&f, u) && f.producer == loop;
}

/* How many single elements of x are computed once more. */
static int made_again(Frame *u, const Node *x) {
  int elements = elements_read(u, x);
  if (!elements || x->op != OP_GET || !is_map(x->ops[0])) return 0;
  if (!map_get(&u->again, x)) {
    map_put(&u->again, x, (void *)(uintptr_t)YES); /* as has_light_elements supposes */
    map_put(&u->again, x, (void *)(uintptr_t)(has_light_elements(u, x) ? YES : NO));
  }
  return (uintptr_t)map_get(&u->again, x) == YES ? elements : 0;
}

Node *fuse_element(World *w, const Node *loop, int output, Node **ops, Node *i) {
  return ir_get(w, edit_iteration(w, loop->loop, loop->graphs[0], ops, i), output);
}

/* Index i, waiting for what the loop's trip count waits for: checks of what it reads. */
static Node *waiting(World *w, Node *i, const Node *loop) {
  for (const Node *n = loop->ops[0]; n->op == OP_AFTER; n = n->ops[0]) i = ir_op2(w, OP_AFTER, i, n->ops[1]);
  return i;
}

static Node *element(World *w, Frame *u, const Node *n, Node **ops) {
  const Node *x = ops[0];
  bool output = n->nops == 2 && x->op == OP_GET && is_map(x->ops[0]);
  if (!output || !made_again(u, n->ops[0])) return NULL;
  const Node *loop = x->ops[0];
  return fuse_element(w, loop, (int)x->attr.i, loop->ops + 1, waiting(w, ops[1], loop));
}

/* ---- The new loop ----------------------------------------------------------------------------------- */
Node *fuse_count(const Fusion *f) {
  Node *n = f->producer->ops[0];
  bool waits = f->n == n || (f->n->op == OP_CHECK_SIZE && (f->n->ops[0] == n || f->n->ops[1] == n));
  return waits ? f->n : ir_op2(f->w, OP_AFTER, f->n, n);
}

/* Is number x made of a length of rows that the producer leaves out where there are none? */
static bool hangs_on_unsized(const Fusion *f, const Node *x, int depth) {
  const LoopInfo *made = f->producer->loop;
  if (x->op == OP_LEN && x->ops[0]->op == OP_GET && x->ops[0]->ops[0] == f->producer)
    return x->attr.i > 0 && !loop_is_sized(made, (int)x->ops[0]->attr.i - loop_slots(made));
  for (int k = 0; depth && k < x->nops; k++)
    if (hangs_on_unsized(f, x->ops[k], depth - 1)) return true;
  return false;
}

/* The consumer's LoopInfo, where the sizes that its rows have are those that they had before: where there are no rows
 * of an array that it reads, their length is 0, unless the array keeps it. */
static const LoopInfo *with_old_sizes(const Fusion *f) {
  LoopInfo *l = NEW(f->w->temp, LoopInfo);
  *l = *f->l;
  for (int k = 0; k < l->nstacked; k++)
    for (int d = 1; loop_is_sized(l, k) && d < ir_rank(f->loop->type->args[f->slots + k]); d++) {
      Node *n = ir_row_length(f->w, l, f->ops, f->loop->graphs[0], k, d);
      if (n && hangs_on_unsized(f, n, LIMIT_LENGTH_SUM)) l->sized &= ~((uint64_t)1 << k);
    }
  return l;
}

/* The consumer with the producer's operands, whose body computes the elements that it reads. */
static Node *fused_loop(const Fusion *f) {
  World *w = f->w;
  const LoopInfo *made = f->producer->loop;
  LoopEdit *e = edit_loop(w, f->loop, f->loop->ops, f->loop->graphs);
  if (f->l->sized) e->l = with_old_sizes(f);
  LoopEdit *p = edit_loop_into(w, e->b, f->producer, f->producer->ops, f->producer->graphs);
  for (LoopPart part = LOOP_CARRIED; part <= LOOP_CAPTURED; part++) { /* each part's the consumer's first */
    for (int k = 0; k < loop_inputs(f->l); k++)
      if (loop_part(f->l, k) == part && !f->fused[k]) edit_input(e, k);
    for (int k = 0; k < loop_inputs(made); k++)
      if (loop_part(made, k) == part) edit_input(p, k);
  }
  edit_body(p, NULL, NULL, 0);
  for (int k = f->slots; k < loop_inputs(f->l); k++) {
    if (!f->fused[k]) continue;
    Node *x = p->next[f->ops[k]->attr.i];
    bool sliced = loop_part(f->l, k) == LOOP_SLICED;
    e->args[1 + k] = sliced ? x : ir_zero(w, f->body->params[1 + k]);
    if (!sliced) fuse_put_elements(w, f->body, 1 + k, x, &e->over);
  }
  e->count = fuse_count(f);
  return edit_value(e);
}

/* ---- What is read at another index --------------------------------------------------------------------- */
/* Is operand k an array that only this loop has, and that can be made element by element? */
static bool is_read_here(const Fusion *f, const Frame *u, int k) {
  const Node *old = f->olds[k], *x = f->ops[k];
  if (!old || x->op != OP_GET || !is_map(x->ops[0]) || old->op != OP_GET || old->ops[0]->op != OP_LOOP) return false;
  const LoopInfo *made = x->ops[0]->loop;
  if (made->nstacked != 1 || x->attr.i != 0 || (x->ops[0]->graphs[0]->flags & NODE_FAILS)) return false;
  return uses_count(u->uses, old) == 1 && uses_count(u->uses, old->ops[0]) == 1 && fuse_is_fusible(x->type);
}

static Node *fuse_one_read(Fusion *f, const Frame *u) {
  Node *made = NULL;
  int first = f->slots + f->l->nsliced;
  for (int k = first; !made && k < first + f->l->ncaps; k++) {
    if (!is_read_here(f, u, k)) continue;
    f->producer = f->ops[k]->ops[0];
    if (!reads_state(f)) made = fuse_read(f, k);
  }
  return made;
}

/* What the operands of the new loop were before the pass, NULL for the producer's: its normal form may have left some
 * out. */
static Node **olds_of(const Fusion *f, const Node *made) {
  if (made->op != OP_LOOP) return NULL;
  Node **olds = NEW_ARRAY(f->w->arena, Node *, made->nops);
  for (int k = 0; k + 1 < made->nops; k++) {
    for (int i = 0; i < loop_inputs(f->l); i++)
      if (f->ops[i] == made->ops[1 + k]) olds[k] = f->olds[i];
    for (int i = 1; i < f->producer->nops; i++)
      if (f->producer->ops[i] == made->ops[1 + k]) olds[k] = NULL;
  }
  return olds;
}

/* Consumer `loop` with a producer inside; NULL if it has none. `olds` become those of its operands. */
static Node *fuse_one(World *w, Frame *u, Node *loop, Node ***olds) {
  Fusion f = fusion_of(w, loop, *olds);
  bool fuses = can_fuse(&f, u);
  if (!fuses) remark(&f, loop->site);
  Node *made = fuses ? fused_loop(&f) : fuse_one_read(&f, u);
  if (made) *olds = olds_of(&f, made);
  return made;
}

static Node *fuse(void *user, Rewriter *r, void *frame, Node *n, Node **ops, Graph **graphs) {
  if (n->op == OP_INDEX) return element(user, frame, n, ops);
  if (n->op != OP_LOOP || n->loop->has_cond) return NULL;
  Node *loop = rewrite_node(r, n, ops, graphs), **olds = n->ops + 1;
  bool as_it_was = loop->op == OP_LOOP && loop->nops == n->nops;
  for (int k = 0; as_it_was && k < n->nops; k++) as_it_was = loop->ops[k] == ops[k];
  if (!as_it_was) return loop;
  for (Node *made = loop; made && olds;) {
    made = fuse_one(user, frame, loop, &olds);
    if (made) loop = made;
  }
  return loop;
}

Graph *opt_fuse(World *w, Graph *g) {
  return ir_rewrite(w, g, (RewritePass){.user = w, .begin = find_uses, .node = fuse});
}
