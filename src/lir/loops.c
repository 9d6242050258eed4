/* SPDX-License-Identifier: MIT */
/* What a loop of lowered code consists of, and which registers are live: what a fragment of machine code needs to
 * know of the function that it is cut from (fragment.c).
 *
 * The loop of a head is natural: all that leads to a jump back to the head without passing it. Such a jump comes from
 * where one can only get through the head, so nothing enters the loop elsewhere. */
#include "lir/loops.h"
#include <string.h>

typedef Vec(int) Places;

static int *find_labels(Arena *a, const LFunc *f) {
  int *at = NEW_ARRAY(a, int, f->nlabels + 1);
  for (int i = 0; i < f->ncode; i++)
    if (f->code[i].op == LOP_LABEL) at[f->code[i].imm.i] = i;
  return at;
}

static bool goes_on(const LInstr *in) {
  LFlow flow = lir_ops[in->op].flow;
  return flow == LFLOW_NEXT || flow == LFLOW_BRANCH;
}

/* Index of what may follow instruction i, number k; -1 past the last. */
static int successor(const LFunc *f, const int *labels, int i, int k) {
  const LInstr *in = &f->code[i];
  if (goes_on(in) && k-- == 0) return i + 1;
  int64_t label = lir_target(in, k);
  return label < 0 ? -1 : labels[label];
}

/* Flags what can be reached from `start` without leaving `wall`. */
static bool *reached(Arena *a, const LFunc *f, const int *labels, int start, int wall) {
  bool *seen = NEW_ARRAY(a, bool, f->ncode + 1);
  Places todo = {0};
  seen[start] = true;
  vec_push(a, todo, start);
  while (todo.len) {
    int i = todo.data[--todo.len];
    if (i == wall) continue;
    for (int k = 0, s; (s = successor(f, labels, i, k)) >= 0; k++) {
      if (seen[s]) continue;
      seen[s] = true;
      vec_push(a, todo, s);
    }
  }
  return seen;
}

static bool leads_to(const LFunc *f, const int *labels, int i, const bool *body) {
  for (int k = 0, s; (s = successor(f, labels, i, k)) >= 0; k++)
    if (body[s]) return true;
  return false;
}

const bool *loop_body(Arena *a, const LFunc *f, int head) {
  const int *labels = find_labels(a, f);
  const bool *outside = reached(a, f, labels, 0, head), *after = reached(a, f, labels, head, -1);
  bool *body = NEW_ARRAY(a, bool, f->ncode + 1), any = false;
  body[head] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = f->ncode - 1; i >= 0; i--)
      if (!body[i] && after[i] && !outside[i] && leads_to(f, labels, i, body)) body[i] = changed = any = true;
  }
  return any ? body : NULL;
}

/* ---- Live registers ---------------------------------------------------------------------------------------------- */
typedef struct Live {
  uint64_t *now;
  bool defining; /* else reading */
} Live;

static void note(void *user, int32_t *reg, Role role) {
  const Live *l = user;
  bool defines = role == ROLE_DEF || role == ROLE_DEF_BORROWED;
  if (l->defining && defines) clear_bit(l->now, *reg);
  if (!l->defining && !defines) set_bit(l->now, *reg);
}

typedef struct LiveSets {
  const LModule *m;
  const LFunc *f;
  uint64_t **at_label, *now;
  size_t size;
} LiveSets;

/* Goes backwards over instruction i. True if the set of a label grew. */
static bool step_back(const LiveSets *w, int i) {
  LInstr *in = &w->f->code[i];
  int words = loop_words(w->f);
  if (in->op == LOP_LABEL) {
    uint64_t *there = w->at_label[in->imm.i];
    bool news = memcmp(there, w->now, w->size) != 0;
    memcpy(there, w->now, w->size);
    return news;
  }
  if (!goes_on(in)) memset(w->now, 0, w->size);
  for (int64_t k = 0, l; (l = lir_target(in, (int)k)) >= 0; k++)
    for (int word = 0; word < words; word++) w->now[word] |= w->at_label[l][word];
  Live l = {w->now, true};
  lir_roles(w->m, in, note, &l);
  l.defining = false;
  lir_roles(w->m, in, note, &l);
  return false;
}

const uint64_t *const *loop_live(Arena *a, const LModule *m, const LFunc *f, const bool *wanted) {
  int words = loop_words(f);
  const uint64_t **before = NEW_ARRAY(a, const uint64_t *, f->ncode + 1);
  LiveSets w = {m, f, NEW_ARRAY(a, uint64_t *, f->nlabels + 1), NEW_ARRAY(a, uint64_t, words + 1),
                sizeof(uint64_t) * (size_t)words};
  for (int l = 0; l < f->nlabels; l++) w.at_label[l] = NEW_ARRAY(a, uint64_t, words + 1);
  for (bool again = true; again;) {
    again = false;
    memset(w.now, 0, w.size);
    for (int i = f->ncode - 1; i >= 0; i--) again |= step_back(&w, i);
  }
  for (int i = f->ncode - 1; i >= 0; i--) {
    step_back(&w, i);
    if (!wanted[i]) continue;
    uint64_t *copy = NEW_ARRAY(a, uint64_t, words + 1);
    memcpy(copy, w.now, w.size);
    before[i] = copy;
  }
  return before;
}
