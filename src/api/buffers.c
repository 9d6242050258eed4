/* SPDX-License-Identifier: MIT */
/* Results in buffers of the host.
 *
 * The host's value says where everything goes: arrays are buffers, tuples and records have items, which themselves are
 * written. It is gone through twice, side by side with the result: first to see whether all fits, then to write, so
 * that a call that fails has written nothing. */
#include "api/handles.h"
#include <string.h>

/* The host gives these for writing, as its contract says. */
static AtledValue *items_of(const AtledValue *v) { return (AtledValue *)(uintptr_t)v->as.items; }

/* Item of the host's value for component i: by name in a record; -1. */
int value_item_for(const Desc *d, const AtledValue *v, int i) {
  return v->kind == ATLED_RECORD ? value_find_field(v, d->names[i], i) : i;
}

ValuePlace value_item_place(const ValuePlace *outer, const Desc *d, int i) {
  if (d->names) return (ValuePlace){outer, PLACE_FIELD, outer->depth + 1, i, d->names[i], NULL};
  return (ValuePlace){outer, PLACE_ITEM, outer->depth + 1, i, NULL, NULL};
}

/* ---- Does it fit? ---------------------------------------------------------------------------------- */
static AtledStatus check(const ValueReports *to, const ValuePlace *at, const Desc *d, const Slot *s,
                         const AtledValue *v);

AtledStatus value_check_buffer(const ValueReports *to, const ValuePlace *at, const Desc *d, const Slot *s,
                               const AtledValue *v) {
  const ArrayObj *a = (const ArrayObj *)(const void *)s->p;
  if (v->kind != ATLED_ARRAY || v->rank != d->rank || v->element != value_kind(d->args[0]))
    return value_misfit(to, at, d, v);
  if (memcmp(v->dims, a->dims, sizeof *a->dims * (size_t)d->rank) != 0)
    return value_report(to, at, "a buffer of %s elements is needed, not of %s",
                        value_shape_text(to->texts, d->rank, a->dims), value_shape_text(to->texts, v->rank, v->dims));
  if (value_count(d->rank, a->dims) && !v->as.data) return value_report(to, at, "the buffer is NULL");
  return ATLED_OK;
}

AtledStatus value_check_items(const ValueReports *to, const ValuePlace *at, const Desc *d, const AtledValue *v) {
  bool named = d->names && v->kind == ATLED_RECORD;
  if ((v->kind != ATLED_TUPLE && !named) || v->length != (size_t)d->n) return value_misfit(to, at, d, v);
  if (!v->as.items || (named && !v->names)) return value_report(to, at, "the items or their names are NULL");
  for (int i = 0; i < d->n; i++)
    if (value_item_for(d, v, i) < 0) return value_report(to, at, "the field `%s` is missing", d->names[i]);
  return ATLED_OK;
}

static AtledStatus check_tuple(const ValueReports *to, const ValuePlace *at, const Desc *d, const Slot *s,
                               const AtledValue *v) {
  AtledStatus status = value_check_items(to, at, d, v);
  for (int i = 0; i < d->n && status == ATLED_OK; s += d->args[i++]->nslots) {
    ValuePlace here = value_item_place(at, d, i);
    status = check(to, &here, d->args[i], s, &v->as.items[value_item_for(d, v, i)]);
  }
  return status;
}

bool value_has_buffer(const Desc *d) {
  if (value_kind(d) != ATLED_ARRAY) return false;
  AtledKind element = value_kind(d->args[0]);
  return element == ATLED_FLOAT || element == ATLED_INT || element == ATLED_BOOL;
}

AtledStatus value_no_buffer(const ValueReports *to, const ValuePlace *at) {
  return value_report(to, at, "there are no buffers for a part of this type: atled_call gives it");
}

static AtledStatus check(const ValueReports *to, const ValuePlace *at, const Desc *d, const Slot *s,
                         const AtledValue *v) {
  if (d->kind == D_TUPLE) return check_tuple(to, at, d, s, v);
  if (value_has_buffer(d)) return value_check_buffer(to, at, d, s, v);
  return value_kind(d) < ATLED_STRING ? ATLED_OK : value_no_buffer(to, at);
}

/* ---- Writing --------------------------------------------------------------------------------------- */
static void write_rows(const AtledValue *v, int dimension, const Slot **from, char *to) {
  if (dimension == v->rank) {
    if (v->element == ATLED_BOOL) *(bool *)to = (*from)->i != 0;
    else memcpy(to, *from, sizeof **from);
    ++*from;
    return;
  }
  int64_t step = (int64_t)value_element_size(v->element);
  for (int i = dimension + 1; i < v->rank && !v->strides; i++) step *= v->dims[i];
  if (v->strides) step = v->strides[dimension];
  for (int64_t i = 0; i < v->dims[dimension]; i++) write_rows(v, dimension + 1, from, to + i * step);
}

void value_write_array(const Desc *d, const Slot *s, const AtledValue *v) {
  const ArrayObj *a = (const ArrayObj *)(const void *)s->p;
  const Slot *from = a->data;
  int64_t count = value_count(d->rank, a->dims);
  char *to = (char *)(uintptr_t)v->as.data;
  if (count == 0) return;
  if (v->element != ATLED_BOOL && value_is_contiguous(v)) memmove(to, from, sizeof *from * (size_t)count);
  else write_rows(v, 0, &from, to);
}

static void write(const Desc *d, const Slot *s, AtledValue *v) {
  switch (d->kind) {
  case D_UNIT: *v = (AtledValue){0}; return;
  case D_BOOL: *v = atled_bool(s->i != 0); return;
  case D_INT: *v = atled_int(s->i); return;
  case D_FLOAT: *v = atled_float(s->f); return;
  case D_ARRAY:
    value_write_array(d, s, v);
    v->length = (size_t)value_count(v->rank, v->dims);
    return;
  default: break;
  }
  for (int i = 0; i < d->n; s += d->args[i++]->nslots) write(d->args[i], s, &items_of(v)[value_item_for(d, v, i)]);
}

AtledStatus value_write(AtledVM *vm, const Desc *d, const Slot *s, AtledValue *into) {
  ValuePlace at = {NULL, PLACE_RESULT, 0, 0, NULL, NULL};
  ValueReports to = {.vm = vm, .texts = &vm->scratch};
  AtledStatus status = check(&to, &at, d, s, into);
  if (status == ATLED_OK) write(d, s, into);
  return status;
}
