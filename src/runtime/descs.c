/* SPDX-License-Identifier: MIT */
/* The descriptors of a VM's objects. Objects outlive the modules whose code made them, so their descriptors belong to
 * the VM: one for each type, found by its id. A descriptor is copied with all descriptors that it reaches. While
 * that goes on, finished copies refer to originals whose copies aren't made yet; they are redirected afterwards. */
#include "runtime/runtime_internal.h"

struct DescTable {
  Desc **all; /* in the order in which they were made */
  int64_t n, cap;
  int32_t *index; /* by id, open: 1 + a number in `all`, or 0 */
  int64_t slots;
};

static int64_t find(const DescTable *t, uint64_t id) {
  int64_t i = (int64_t)(id & (uint64_t)(t->slots - 1));
  while (t->index[i] && t->all[t->index[i] - 1]->id != id) i = (i + 1) & (t->slots - 1);
  return i;
}

/* Makes the index anew, of a size that n more fit in. */
static bool reindex(Rt *rt, DescTable *t, int64_t n) {
  int64_t slots = t->slots ? t->slots : 64;
  while (slots < 2 * (t->n + n)) slots *= 2;
  if (slots != t->slots) {
    int32_t *index = heap_realloc(rt->heap, t->index, sizeof *index * (size_t)t->slots, sizeof *index * (size_t)slots);
    if (!index) return false;
    t->index = index;
    t->slots = slots;
  }
  memset(t->index, 0, sizeof *t->index * (size_t)slots);
  for (int64_t k = 0; k < t->n; k++) t->index[find(t, t->all[k]->id)] = (int32_t)k + 1;
  return true;
}

static size_t name_size(const char *s) { return s ? strlen(s) + 1 : 0; }

/* Of the block that holds a descriptor, its rows and its names. */
static size_t size_of(const Desc *d) {
  size_t size =
      sizeof *d + sizeof(void *) * ((size_t)d->n * (d->names ? 2 : 1) + (d->slot_descs ? (size_t)d->nslots : 0));
  for (int k = 0; d->names && k < d->n; k++) size += name_size(d->names[k]);
  return size + (size_t)d->nslots + name_size(d->name) + name_size(d->shown_as);
}

static char *copy(char **to, const void *from, size_t n) {
  char *here = *to;
  if (n) memcpy(here, from, n);
  *to += n;
  return here;
}

static Desc *copy_desc(Rt *rt, const Desc *d) {
  Desc *new = heap_realloc(rt->heap, NULL, 0, size_of(d));
  if (!new) return NULL;
  char *at = (char *)(new + 1);
  size_t n = (size_t)d->n * sizeof(void *), nslots = (size_t)d->nslots;
  *new = *d;
  new->args = (const Desc **)(void *)copy(&at, d->args, n);
  if (d->slot_descs) new->slot_descs = (const Desc **)(void *)copy(&at, d->slot_descs, nslots * sizeof(void *));
  if (d->names) new->names = (const char **)(void *)copy(&at, d->names, n);
  for (int k = 0; d->names && k < d->n; k++) new->names[k] = copy(&at, d->names[k], name_size(d->names[k]));
  if (d->name) new->name = copy(&at, d->name, name_size(d->name));
  if (d->shown_as) new->shown_as = copy(&at, d->shown_as, name_size(d->shown_as));
  new->slots = (uint8_t *)copy(&at, d->slots, nslots);
  return new;
}

/* The table's own, or a new one whose parts are the original's; NULL if memory is gone. */
static const Desc *find_or_copy(Rt *rt, DescTable *t, const Desc *d) {
  if (!d || !d->id) return d;
  if (2 * (t->n + 1) > t->slots && !reindex(rt, t, 1)) return NULL;
  int64_t i = find(t, d->id);
  if (t->index[i]) return t->all[t->index[i] - 1];
  if (!rt_reserve(rt, &t->all, &t->cap, t->n + 1, sizeof *t->all)) return NULL;
  Desc *new = copy_desc(rt, d);
  if (!new) return NULL;
  t->all[t->n++] = new;
  t->index[i] = (int32_t)t->n;
  return new;
}

static bool replace(Rt *rt, DescTable *t, const Desc **parts, int n) {
  for (int k = 0; parts && k < n; k++) {
    const Desc *own = find_or_copy(rt, t, parts[k]);
    if (!own && parts[k]) return false;
    parts[k] = own;
  }
  return true;
}

static void forget_from(Rt *rt, DescTable *t, int64_t first) {
  for (int64_t k = first; k < t->n; k++) heap_realloc(rt->heap, t->all[k], size_of(t->all[k]), 0);
  t->n = first;
}

static const Desc *no_memory(Rt *rt) {
  rt_out_of_memory(rt);
  return NULL;
}

const Desc *rt_desc(Rt *rt, const Desc *d) {
  DescTable *t = rt->descs;
  if (!d->id) return d;
  if (!t) {
    if (!(t = heap_realloc(rt->heap, NULL, 0, sizeof *t))) return no_memory(rt);
    *t = (DescTable){0};
    rt->descs = t;
  }
  int64_t first = t->n;
  const Desc *own = find_or_copy(rt, t, d);
  bool fine = own != NULL;
  for (int64_t k = first; fine && k < t->n; k++) {
    Desc *new = t->all[k];
    fine = replace(rt, t, new->args, new->n) && replace(rt, t, new->slot_descs, new->nslots);
  }
  if (fine) return own;
  forget_from(rt, t, first);
  reindex(rt, t, 0);
  return no_memory(rt);
}

void rt_descs_free(Rt *rt) {
  DescTable *t = rt->descs;
  if (!t) return;
  forget_from(rt, t, 0);
  heap_realloc(rt->heap, t->all, sizeof *t->all * (size_t)t->cap, 0);
  heap_realloc(rt->heap, t->index, sizeof *t->index * (size_t)t->slots, 0);
  heap_realloc(rt->heap, t, sizeof *t, 0);
  rt->descs = NULL;
}
