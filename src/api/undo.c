/* SPDX-License-Identifier: MIT */
/* Taking back what the last entry defined: its names mean again what they did before.
 *
 * Before an entry is checked the meaning of each name that it will define is looked up. When it has run these are kept,
 * in a chain of records, one for each entry that defined something. A value may be moved meanwhile (keep.c), and with
 * it the entry's symbols: so its names are put aside as texts. What older entries made is never moved. */
#include "api/pipeline.h"
#include <string.h>

typedef Vec(UndoName) UndoList;

static void remember(AtledVM *vm, UndoList *all, Map *map, Sym name) {
  UndoName u = {map, name, map_get(map, name)};
  vec_push(&vm->scratch, *all, u);
}

static Undo *new_undo(Arena *a, int n) {
  Undo *u = arena_alloc(a, sizeof *u + sizeof *u->names * (size_t)n);
  *u = (Undo){.n = n};
  return u;
}

void undo_remember(AtledVM *vm, Plan *plan) {
  Module *m = vm->main;
  UndoList all = {0};
  for (int i = 0; i < plan->program->items.len; i++) {
    const Item *item = plan->program->items.data[i];
    for (int k = 0; item->kind == I_TYPE && k < item->ntypes; k++) {
      remember(vm, &all, &m->types, item->types[k].name);
      for (int j = 0; j < item->types[k].nctors; j++) remember(vm, &all, &m->ctors, item->types[k].ctors[j].name);
    }
    if (item->kind == I_IMPORT) remember(vm, &all, &m->modules, item->name.name);
  }
  plan->undo = new_undo(&vm->scratch, all.len);
  plan->undo->opened = m->opened.len;
  plan->undo->latest_type = m->latest_type;
  if (all.len) memcpy(plan->undo->names, all.data, sizeof *all.data * (size_t)all.len);
}

static void put_back(AtledVM *vm, const Undo *u) {
  for (int i = u->n - 1; i >= 0; i--) map_put(u->names[i].map, u->names[i].name, u->names[i].old);
  vm->main->opened.len = u->opened;
  vm->main->latest_type = u->latest_type;
}

void undo_take_back(AtledVM *vm, const Plan *plan) { put_back(vm, plan->undo); }

void undo_put_aside(AtledVM *vm, Plan *plan) {
  const Undo *before = plan->undo;
  int n = before->n, values = plan->old.len;
  Undo *u = plan->undo = new_undo(&vm->scratch, n + values);
  u->opened = before->opened;
  u->latest_type = before->latest_type;
  for (int i = 0; i < n; i++) u->names[i] = before->names[i];
  for (int i = 0; i < values; i++)
    u->names[n + i] = (UndoName){&vm->main->values, plan->old.data[i].name, plan->old.data[i].binding};
  for (int i = 0; i < u->n; i++)
    u->names[i].name = arena_strndup(&vm->scratch, u->names[i].name, strlen(u->names[i].name));
}

void undo_keep(AtledVM *vm, const Plan *plan) {
  const Undo *aside = plan->undo;
  if (!aside->n && aside->opened == vm->main->opened.len) return;
  Undo *u = new_undo(&vm->arena, aside->n);
  u->before = vm->undo;
  u->opened = aside->opened;
  u->latest_type = aside->latest_type;
  for (int i = 0; i < u->n; i++) {
    u->names[i] = aside->names[i];
    u->names[i].name = sym_of(&vm->syms, u->names[i].name);
  }
  vm->undo = u;
}

/* ---- Public -------------------------------------------------------------------------------------------- */
typedef struct UndoCall {
  const char **names;
  int n;
} UndoCall;

static AtledStatus undo_body(AtledVM *vm, void *arg) {
  UndoCall *c = arg;
  const Undo *u = vm->undo;
  if (!u) return ATLED_OK;
  c->names = NEW_ARRAY(&vm->scratch, const char *, u->n + 1);
  for (int i = u->n - 1; i >= 0; i--) {
    bool again = false;
    for (int k = 0; k < c->n; k++) again |= c->names[k] == u->names[i].name;
    if (!again) c->names[c->n++] = u->names[i].name;
  }
  put_back(vm, u);
  vm->undo = u->before;
  vm->defined = true;
  return ATLED_OK;
}

int atled_undo(AtledVM *vm, const char *const **names) {
  UndoCall c = {0};
  int entries = 0;
  if (!vm) return 0;
  for (const Undo *u = vm->undo; u && !names && !vm->running; u = u->before) entries++;
  if (!names) return entries;
  if (vm_call_unlimited(vm, undo_body, &c) != ATLED_OK) c.n = 0;
  *names = c.names;
  return c.n;
}
