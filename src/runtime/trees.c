/* SPDX-License-Identifier: MIT */
/* Types declared `as "…"`: binary trees that are shown as the sequence of what lies between their subtrees, in
 * order. */
#include "runtime/runtime_internal.h"

/* The payload that has subtrees: the other constructor has none. */
static const Desc *payload(const Desc *tree) { return tree->args[0]->kind == D_UNIT ? tree->args[1] : tree->args[0]; }

/* Of the payload: the first and the last component that are trees themselves, and the slots before them. */
typedef struct Subtrees {
  int left, right, left_slot, right_slot;
} Subtrees;

static Subtrees subtrees(const Desc *tree) {
  const Desc *p = payload(tree);
  Subtrees s = {-1, -1, 0, 0};
  for (int i = 0, at = 0; i < p->n; at += p->args[i++]->nslots) {
    if (p->args[i] != tree) continue;
    if (s.left < 0) s.left = i, s.left_slot = at;
    s.right = i, s.right_slot = at;
  }
  return s;
}

TreeEntry rt_tree_entry(const Desc *tree) {
  Subtrees s = subtrees(tree);
  return (TreeEntry){payload(tree), s.left + 1, s.right};
}

typedef struct Rows {
  const Slot **data;
  int64_t n, cap;
} Rows;

static Status add(Rt *rt, Rows *rows, const Slot *v) {
  Status status = rt_reserve(rt, &rows->data, &rows->cap, rows->n + 1, sizeof *rows->data) ? 0 : 1;
  if (status == 0) rows->data[rows->n++] = v;
  return status;
}

static void free_rows(Rt *rt, Rows *rows) {
  heap_realloc(rt->heap, rows->data, (size_t)rows->cap * sizeof *rows->data, 0);
}

Status rt_tree_entries(Rt *rt, const Desc *tree, const Obj *root, TreeEntries *out) {
  Subtrees s = subtrees(tree);
  int64_t before = s.left_slot + tree->nslots;
  Rows all = {0}, path = {0};
  Status status = 0;
  for (const Obj *at = root; status == 0 && (rt_is_object(at) || path.n);) {
    if (rt_is_object(at)) {
      const Slot *fields = ((const BoxObj *)at)->fields;
      status = add(rt, &path, fields);
      at = fields[s.left_slot].p;
      continue;
    }
    const Slot *fields = path.data[--path.n];
    status = rt_look_at(rt, all.n) ? 1 : add(rt, &all, fields + before);
    at = fields[s.right_slot].p;
  }
  free_rows(rt, &path);
  if (status) free_rows(rt, &all);
  else *out = (TreeEntries){all.data, all.n, all.cap};
  return status;
}

void rt_tree_entries_free(Rt *rt, TreeEntries *e) { heap_realloc(rt->heap, e->at, (size_t)e->cap * sizeof *e->at, 0); }
