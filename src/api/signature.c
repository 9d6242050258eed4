/* SPDX-License-Identifier: MIT */
/* A handle's types, names and documentation, for bindings to other languages.
 *
 * Texts and names come from the look-up, while its syntax and types are there (signature_note). The trees are made of
 * the types' Descs when a host asks first: one node for each Desc, entered before its parts are made, since a type may
 * be part of itself. */
#include "api/handles.h"
#include <string.h>

/* ---- What the look-up knows ------------------------------------------------------------------------ */
static const char *keep_text(AtledFunction *f, const char *text) {
  return text ? arena_strndup(&f->arena, text, strlen(text)) : NULL;
}

static const char *type_text(AtledFunction *f, Type *t) {
  Str out = {.arena = &f->vm->scratch};
  type_print(f->vm->checker, f->vm->main, t, &out);
  return keep_text(f, out.data);
}

static const char *name_of(const Pat *p) {
  while (p->kind == P_ANNOT) p = p->args[0];
  return p->kind == P_VAR || p->kind == P_AS ? p->name.name : NULL;
}

/* Of a function that is written out, or of the definition that a name means. */
static void note_names(AtledFunction *f, const Expr *e) {
  int n = 0;
  if (e->kind == E_VAR) e = binding_fun(e->binding);
  while (e && e->kind == E_FUN) {
    for (int i = 0; i < e->nparams && n < f->arity; i++) f->parts.names[n++] = keep_text(f, name_of(e->params[i]));
    e = e->args[0];
  }
}

void signature_note(AtledFunction *f, Type *type, const Expr *e) {
  SignatureParts *p = &f->parts;
  p->names = NEW_ARRAY(&f->arena, const char *, f->arity + 1);
  p->types = NEW_ARRAY(&f->arena, const char *, f->arity + 1);
  p->text = type_text(f, type);
  for (int i = 0; i < f->arity; i++) {
    type = type_repr(type);
    p->types[i] = type_text(f, type->args[0]);
    type = type->args[1];
  }
  p->types[f->arity] = type_text(f, type);
  note_names(f, e);
  const Item *item = e->kind == E_VAR ? e->binding->item : NULL;
  p->doc = keep_text(f, item ? item->doc : NULL);
}

/* ---- Trees ------------------------------------------------------------------------------------------- */
typedef struct Trees {
  Arena *arena;
  Map made; /* Desc -> AtledTypeTree */
} Trees;

static AtledTypeTree *tree(Trees *t, const Desc *d);

static void add_parts(Trees *t, AtledTypeTree *to, const Desc *const *descs, int n) {
  const AtledTypeTree **parts = NEW_ARRAY(t->arena, const AtledTypeTree *, n + 1);
  for (int i = 0; i < n; i++) parts[i] = tree(t, descs[i]);
  to->parts = parts;
  to->count = n;
}

static AtledTypeTree *new_tree(Trees *t, AtledKind kind) {
  AtledTypeTree *new = NEW(t->arena, AtledTypeTree);
  new->kind = kind;
  return new;
}

static void set_only_part(Trees *t, AtledTypeTree *to, const AtledTypeTree *part) {
  const AtledTypeTree **parts = NEW(t->arena, const AtledTypeTree *);
  *parts = part;
  to->parts = parts;
  to->count = 1;
}

/* An array of what stands between the subtrees. */
static void add_entries(Trees *t, AtledTypeTree *to, const Desc *d) {
  TreeEntry e = rt_tree_entry(d);
  AtledTypeTree *array = new_tree(t, ATLED_ARRAY), *entry = new_tree(t, ATLED_TUPLE);
  array->rank = 1;
  to->shown_as = d->shown_as;
  add_parts(t, entry, e.payload->args + e.first, e.end - e.first);
  set_only_part(t, array, entry->count == 1 ? entry->parts[0] : entry);
  set_only_part(t, to, array);
}

static AtledTypeTree *tree(Trees *t, const Desc *d) {
  AtledTypeTree *to = map_get(&t->made, d);
  if (to) return to;
  to = new_tree(t, d->kind == D_ARRAY ? ATLED_ARRAY : value_kind(d));
  map_put(&t->made, d, to);
  if (d->kind == D_VARIANT || d->kind == D_OPAQUE) to->name = d->name;
  if (d->shown_as) {
    add_entries(t, to, d);
  } else if (to->kind == ATLED_LIST) {
    add_parts(t, to, d->args[d->cons - 1]->args, 1);
  } else {
    to->rank = d->rank;
    to->names = d->names;
    if (to->kind != ATLED_OTHER) add_parts(t, to, d->args, d->n);
  }
  return to;
}

/* ---- Asking ------------------------------------------------------------------------------------------ */
static AtledStatus signature_body(AtledVM *vm, void *arg) {
  AtledFunction *f = arg;
  Trees t = {.arena = &f->arena};
  report_reset(vm);
  if (f->signature) return ATLED_OK;
  map_init(&t.made, &vm->scratch);
  AtledParameter *all = NEW_ARRAY(&f->arena, AtledParameter, f->arity + 1);
  for (int i = 0; i < f->arity; i++)
    all[i] = (AtledParameter){.name = f->parts.names[i],
                              .text = f->parts.types[i],
                              .type = tree(&t, f->arity > 1 ? f->param->args[i] : f->param)};
  AtledSignature *s = NEW(&f->arena, AtledSignature);
  *s = (AtledSignature){.text = f->parts.text, .doc = f->parts.doc, .arity = f->arity, .parameters = all};
  s->result = (AtledParameter){.text = f->parts.types[f->arity], .type = tree(&t, f->result)};
  f->signature = s;
  return ATLED_OK;
}

AtledStatus atled_signature(AtledFunction *f, const AtledSignature **out) {
  if (out) *out = NULL;
  if (!f || f->vm->closing) return ATLED_BAD_ARGUMENT;
  if (f->vm->running) return vm_refuse(f->vm);
  if (!out) return vm_reject_null(f->vm, "the place for the signature");
  AtledStatus status = vm_call_quick(f->vm, signature_body, f);
  *out = f->signature;
  return status;
}
