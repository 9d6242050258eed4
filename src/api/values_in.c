/* SPDX-License-Identifier: MIT */
/* Arguments: values of the host to slots, as their type's Desc lays them out.
 *
 * put() goes through type and value side by side. What it makes is entered into its slots at once, with NULL for what
 * isn't there yet, so that whatever ends it early (an error, memory that runs out) the caller releases the slots and
 * nothing is left.
 *
 * Arrays of floats and ints aren't copied where they lie as the VM's do. An array of the handle's last result is
 * that array again, a part of it is a view; anything else gets a header whose data pointer is the host's.
 *
 * A call over many sets (many.c) notes where a part has a value for each set, instead of a value. */
#include "api/handles.h"
#include <stdlib.h>
#include <string.h>

typedef struct In {
  Rt *rt;
  const ValueSource *from;
  Columns *columns; /* NULL: each part has one value */
} In;

static AtledStatus put(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out);

/* A whole argument, or a part of one by way of tuples and records alone. */
static AtledStatus put_part(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  if (in->columns && column_fits(d, v)) return column_add(in->columns, at, d, v, out);
  return put(in, at, d, v, out);
}

/* The error is in in->rt. */
static AtledStatus no_object(const In *in) {
  AtledVM *vm = in->from->to.vm;
  return vm ? report_runtime_error(vm, (Span){0}) : ATLED_RUNTIME_ERROR;
}

/* ---- Arrays of the last result --------------------------------------------------------------------- */
static bool shares_numbers(const Desc *d) {
  return d->kind == D_ARRAY && d->rank <= ATLED_MAX_RANK && (d->args[0]->kind == D_FLOAT || d->args[0]->kind == D_INT);
}

static bool lies_within(const ArrayObj *a, int64_t slots, const Slot *data, int64_t count) {
  uintptr_t first = (uintptr_t)a->data, start = (uintptr_t)data;
  return start >= first && start + sizeof *data * (size_t)count <= first + sizeof *data * (size_t)slots &&
         (start - first) % sizeof *data == 0;
}

/* The array among a result's own that these elements are part of, or NULL. */
ArrayObj *value_array_around(const Desc *d, const Slot *s, const Slot *data, int64_t count) {
  if (shares_numbers(d)) {
    ArrayObj *a = (ArrayObj *)(void *)s->p;
    return a && lies_within(a, value_count(d->rank, a->dims), data, count) ? a : NULL;
  }
  ArrayObj *found = NULL;
  for (int i = 0; d->kind == D_TUPLE && i < d->n && !found; i++) {
    found = value_array_around(d->args[i], s, data, count);
    s += d->args[i]->nslots;
  }
  return found;
}

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)(*(ArrayObj *const *)a)->data, y = (uintptr_t)(*(ArrayObj *const *)b)->data;
  return (x > y) - (x < y);
}

/* The same among the blocks that stand within variants, lists and arrays. Blocks don't overlap. */
static ArrayObj *block_around(Outcome *o, const Slot *data, int64_t count) {
  if (!o->sorted && o->blocks.len) qsort(o->blocks.data, (size_t)o->blocks.len, sizeof(ArrayObj *), by_address);
  o->sorted = true;
  int low = 0, high = o->blocks.len;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if ((uintptr_t)o->blocks.data[middle]->data <= (uintptr_t)data) low = middle + 1;
    else high = middle;
  }
  ArrayObj *a = low ? o->blocks.data[low - 1] : NULL;
  return a && lies_within(a, a->cap, data, count) ? a : NULL;
}

static ArrayObj *last_array(void *handle, const Slot *data, int64_t count) {
  AtledFunction *f = handle;
  if (!f->last->filled) return NULL;
  ArrayObj *a = value_array_around(f->result, f->last->slots, data, count);
  return a ? a : block_around(f->last, data, count);
}

/* ---- Arrays ---------------------------------------------------------------------------------------- */
/* Rank, dimensions, number of elements: so few that sizes can't overflow. */
static AtledStatus check_shape(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, int64_t *count) {
  if (d->rank > ATLED_MAX_RANK)
    return value_report(&in->from->to, at, "an array of %d dimensions is needed, and a host's arrays have at most %d",
                        d->rank, ATLED_MAX_RANK);
  if (v->kind != ATLED_ARRAY || v->rank != d->rank) return value_misfit(&in->from->to, at, d, v);
  *count = value_count(v->rank, v->dims);
  for (int i = 0; i < v->rank; i++)
    if (v->dims[i] < 0)
      return value_report(&in->from->to, at, "dimension %d of the array is %lld", i, (long long)v->dims[i]);
  if (*count < 0) return value_report(&in->from->to, at, "the array's dimensions are too large");
  if (v->length && v->length != (size_t)*count)
    return value_report(&in->from->to, at, "the array's length is %zu, and its dimensions make %lld elements",
                        v->length, (long long)*count);
  if (*count && !v->as.data && d->args[0]->kind != D_UNIT)
    return value_report(&in->from->to, at, "the array's elements are NULL");
  return ATLED_OK;
}

static bool element_fits(const Desc *base, AtledKind element) {
  AtledKind needed = value_kind(base);
  if (needed < ATLED_ARRAY || element < ATLED_ARRAY) return needed == element;
  return needed != ATLED_OTHER && element != ATLED_OTHER && element <= ATLED_OPAQUE; /* each item is looked at */
}

/* The array's elements as they are: itself, a view, or a header over the host's. */
static AtledStatus put_shared(In *in, const Desc *d, const AtledValue *v, ArrayObj *around, Slot *out) {
  Rt *rt = in->rt;
  const Slot *data = v->as.data;
  bool whole = around && around->h.desc == d && around->data == data &&
               memcmp(around->dims, v->dims, sizeof *v->dims * (size_t)d->rank) == 0;
  if (whole) {
    rt_retain(&around->h);
    out->p = &around->h;
    return ATLED_OK;
  }
  static const int64_t none[ATLED_MAX_RANK];
  ArrayObj *a = around ? rt_view(rt, d, around, data - around->data, v->dims) : rt_new_array(rt, d, none, false);
  if (!a) return no_object(in);
  out->p = &a->h;
  if (around) return ATLED_OK;
  memcpy(a->dims, v->dims, sizeof *v->dims * (size_t)d->rank);
  a->data = (Slot *)(uintptr_t)data;
  return ATLED_OK;
}

static AtledStatus put_text(In *in, const ValuePlace *at, const char *bytes, size_t length, Slot *out) {
  size_t bad;
  if (!bytes && length) return value_report(&in->from->to, at, "the string is NULL");
  if (!utf8_valid(bytes ? bytes : "", length, &bad))
    return value_report(&in->from->to, at, "the string isn't UTF-8: byte %zu", bad);
  out->p = rt_new_string(in->rt, bytes ? bytes : "", length);
  return out->p ? ATLED_OK : no_object(in);
}

static AtledStatus put_element(In *in, const ValuePlace *at, const Desc *base, const void *from, Slot *out) {
  AtledText text;
  switch (base->kind) {
  case D_UNIT: return ATLED_OK;
  case D_FLOAT:
  case D_INT: memcpy(out, from, sizeof *out); return ATLED_OK;
  case D_BOOL: out->i = *(const unsigned char *)from != 0; return ATLED_OK;
  case D_STRING: memcpy(&text, from, sizeof text); return put_text(in, at, text.bytes, text.length, out);
  default: return put(in, at, base, from, out);
  }
}

/* Goes to the next index, the last dimension first; the element's address moves along. */
static const char *next_element(const AtledValue *v, const int64_t *strides, int64_t *index, const char *from) {
  for (int i = v->rank - 1; i >= 0; i--) {
    from += strides[i];
    if (++index[i] < v->dims[i]) return from;
    from -= strides[i] * v->dims[i];
    index[i] = 0;
  }
  return from;
}

/* Bytes between neighbours. */
static void find_strides(const AtledValue *v, int64_t *strides) {
  int64_t step = (int64_t)value_element_size(v->element);
  for (int i = v->rank - 1; i >= 0; i--) {
    strides[i] = v->strides ? v->strides[i] : step;
    step *= v->dims[i];
  }
}

static AtledStatus put_copied(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, int64_t count,
                              Slot *out) {
  const Desc *base = d->args[0];
  int64_t strides[ATLED_MAX_RANK], index[ATLED_MAX_RANK] = {0};
  ArrayObj *a = rt_new_array(in->rt, d, v->dims, false);
  if (!a) return no_object(in);
  out->p = &a->h;
  find_strides(v, strides);
  const char *from = v->as.data;
  Slot *to = a->data;
  for (int64_t k = 0; k < count; k++, to += base->nslots) {
    ValuePlace here = {at, PLACE_ELEMENT, at->depth + 1, v->rank, NULL, index};
    AtledStatus status = put_element(in, &here, base, from, to);
    if (status != ATLED_OK) return status;
    if (rt_interrupted(in->rt) && rt_poll(in->rt)) return no_object(in);
    from = next_element(v, strides, index, from);
  }
  return ATLED_OK;
}

static AtledStatus put_array(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  int64_t count = 0;
  AtledStatus status = check_shape(in, at, d, v, &count);
  if (status != ATLED_OK) return status;
  if (!element_fits(d->args[0], v->element)) return value_misfit(&in->from->to, at, d, v);
  bool aligned = (uintptr_t)v->as.data % _Alignof(Slot) == 0;
  if (!shares_numbers(d) || !aligned || !value_is_contiguous(v)) return put_copied(in, at, d, v, count, out);
  const ValueSource *from = in->from;
  ArrayObj *around = count ? from->around(from->user, v->as.data, count) : NULL;
  if (around || from->lasting) return put_shared(in, d, v, around, out);
  return put_copied(in, at, d, v, count, out);
}

/* ---- Tuples, records, lists, variants ---------------------------------------------------------------- */
static AtledStatus check_items(In *in, const ValuePlace *at, const AtledValue *v) {
  return v->length && !v->as.items ? value_report(&in->from->to, at, "the items are NULL") : ATLED_OK;
}

static AtledStatus put_tuple(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  if (v->kind != ATLED_TUPLE || v->length != (size_t)d->n) return value_misfit(&in->from->to, at, d, v);
  AtledStatus status = check_items(in, at, v);
  for (int i = 0; i < d->n && status == ATLED_OK; out += d->args[i++]->nslots) {
    ValuePlace here = {at, PLACE_ITEM, at->depth + 1, i, NULL, NULL};
    if (d->names) here = (ValuePlace){at, PLACE_FIELD, at->depth + 1, i, d->names[i], NULL};
    status = put_part(in, &here, d->args[i], &v->as.items[i], out);
  }
  return status;
}

static bool has_field(const Desc *d, const char *name) {
  for (int i = 0; i < d->n; i++)
    if (strcmp(d->names[i], name) == 0) return true;
  return false;
}

static AtledStatus no_field(In *in, const ValuePlace *at, const Desc *d, const char *name) {
  const ValueReports *to = &in->from->to;
  return value_report(to, at, "the type has no field `%s`, but %s", name ? name : "NULL",
                      value_names_text(to->texts, d));
}

/* The field that stands at two places. */
static const char *given_twice(const AtledValue *v) {
  for (size_t k = 0; k < v->length; k++)
    if (value_find_field(v, v->names[k], -1) != (int)k) return v->names[k];
  return "";
}

/* The names are those of the type: as many of them, and each of its own is found. */
static AtledStatus check_names(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v) {
  const ValueReports *to = &in->from->to;
  if (v->length && !v->names) return value_report(to, at, "the names of the fields are NULL");
  for (size_t k = 0; k < v->length; k++)
    if (!v->names[k] || !has_field(d, v->names[k])) return no_field(in, at, d, v->names[k]);
  for (int i = 0; i < d->n; i++)
    if (value_find_field(v, d->names[i], i) < 0)
      return value_report(to, at, "the field `%s` is missing: %d field%s needed, not %zu", d->names[i], d->n,
                          d->n == 1 ? " is" : "s are", v->length);
  if (v->length == (size_t)d->n) return ATLED_OK;
  return value_report(to, at, "the field `%s` is given twice", given_twice(v));
}

static AtledStatus put_record(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  if (v->kind == ATLED_TUPLE) return put_tuple(in, at, d, v, out);
  if (v->kind != ATLED_RECORD) return value_misfit(&in->from->to, at, d, v);
  AtledStatus status = check_items(in, at, v);
  if (status == ATLED_OK) status = check_names(in, at, d, v);
  for (int i = 0; i < d->n && status == ATLED_OK; out += d->args[i++]->nslots) {
    ValuePlace here = {at, PLACE_FIELD, at->depth + 1, i, d->names[i], NULL};
    status = put_part(in, &here, d->args[i], &v->as.items[value_find_field(v, d->names[i], i)], out);
  }
  return status;
}

/* From the end: each cell is entered with the rest of the list before its head is made. */
static AtledStatus put_list(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  if (v->kind != ATLED_LIST) return value_misfit(&in->from->to, at, d, v);
  AtledStatus status = check_items(in, at, v);
  if (status == ATLED_OK) out->p = rt_immediate(2 - d->cons);
  const Desc *head = d->args[d->cons - 1]->args[0];
  for (size_t k = v->length; k-- && status == ATLED_OK;) {
    ValuePlace here = {at, PLACE_ITEM, at->depth + 1, (int64_t)k, NULL, NULL};
    BoxObj *cell = rt_new_box(in->rt, d, d->cons - 1);
    if (!cell) return no_object(in);
    cell->fields[head->nslots].p = out->p;
    out->p = &cell->h;
    status = put(in, &here, head, &v->as.items[k], cell->fields);
    if (rt_interrupted(in->rt) && rt_poll(in->rt)) return no_object(in);
  }
  return status;
}

static AtledStatus no_constructor(In *in, const ValuePlace *at, const Desc *d, const char *name) {
  const ValueReports *to = &in->from->to;
  return value_report(to, at, "the type `%s` has no constructor `%s`, but %s", d->name, name ? name : "NULL",
                      value_names_text(to->texts, d));
}

static AtledStatus put_variant(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  if (d->shown_as)
    return value_report(&in->from->to, at, "a host can't make this value: give `%s` its array", d->shown_as);
  if (v->kind != ATLED_VARIANT) return value_misfit(&in->from->to, at, d, v);
  int tag = 0;
  while (tag < d->n && (!v->name || strcmp(d->names[tag], v->name) != 0)) tag++;
  if (tag == d->n) return no_constructor(in, at, d, v->name);
  const Desc *payload = d->args[tag];
  size_t needed = payload->kind != D_UNIT;
  if (v->length != needed)
    return value_report(&in->from->to, at, "the constructor `%s` holds %s", v->name, needed ? "one value" : "nothing");
  out->p = rt_immediate(tag);
  if (!needed) return ATLED_OK;
  AtledStatus status = check_items(in, at, v);
  if (status != ATLED_OK) return status;
  BoxObj *box = rt_new_box(in->rt, d, tag);
  if (!box) return no_object(in);
  out->p = &box->h;
  ValuePlace here = {at, PLACE_PAYLOAD, at->depth + 1, 0, d->names[tag], NULL};
  return put(in, &here, payload, v->as.items, box->fields);
}

/* ---- Values of the host's ----------------------------------------------------------------------------- */
/* One that was just made gets its type here. */
static AtledStatus put_opaque(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  OpaqueObj *x = v->kind == ATLED_OPAQUE ? v->reserved[0] : NULL;
  bool made = x && x->h.desc == &rt_desc_of_no_type;
  if (!x || (made ? !v->name || strcmp(v->name, d->name) != 0 : x->h.desc != d))
    return value_misfit(&in->from->to, at, d, v);
  x->h.desc = d;
  rt_retain(out->p = &x->h);
  return ATLED_OK;
}

/* ---- Nothing ----------------------------------------------------------------------------------------- */
static bool has_none(const Desc *d) {
  const Desc *element = d->kind == D_ARRAY ? d->args[0] : d;
  return element->kind == D_INT || element->kind == D_BOOL || element->kind == D_STRING;
}

/* For a part without a derivative, whose value nobody reads. */
static AtledStatus put_none(In *in, const Desc *d, Slot *out) {
  static const int64_t none[LIMIT_RANK];
  ArrayObj *a = NULL;
  if (d->kind == D_STRING) out->p = rt_new_string(in->rt, "", 0);
  if (d->kind == D_ARRAY) a = rt_new_array(in->rt, d, none, false);
  if (a) out->p = &a->h;
  return d->nslots && d->slots[0] == SLOT_PTR && !out->p ? no_object(in) : ATLED_OK;
}

/* ---- Any value --------------------------------------------------------------------------------------- */
static AtledStatus put(In *in, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  In alone = {in->rt, in->from, NULL};
  if (at->depth > LIMIT_VALUE_DEPTH)
    return value_report(&in->from->to, at, "the value is nested deeper than %d", LIMIT_VALUE_DEPTH);
  if (in->from->unit_for_none && v->kind == ATLED_UNIT && has_none(d)) return put_none(in, d, out);
  switch (d->kind) {
  case D_UNIT: return v->kind == ATLED_UNIT ? ATLED_OK : value_misfit(&in->from->to, at, d, v);
  case D_BOOL:
    if (v->kind != ATLED_BOOL) return value_misfit(&in->from->to, at, d, v);
    out->i = v->as.boolean;
    return ATLED_OK;
  case D_INT:
    if (v->kind != ATLED_INT) return value_misfit(&in->from->to, at, d, v);
    out->i = v->as.integer;
    return ATLED_OK;
  case D_FLOAT:
    if (v->kind != ATLED_FLOAT) return value_misfit(&in->from->to, at, d, v);
    out->f = v->as.number;
    return ATLED_OK;
  case D_STRING:
    if (v->kind != ATLED_STRING) return value_misfit(&in->from->to, at, d, v);
    if (!v->as.string) return value_report(&in->from->to, at, "the string is NULL");
    return put_text(in, at, v->as.string, v->length, out);
  case D_ARRAY: return put_array(&alone, at, d, v, out);
  case D_TUPLE: return d->names ? put_record(in, at, d, v, out) : put_tuple(in, at, d, v, out);
  case D_OPAQUE: return put_opaque(in, at, d, v, out);
  case D_VARIANT: return value_is_list(d) ? put_list(&alone, at, d, v, out) : put_variant(&alone, at, d, v, out);
  default: return value_report(&in->from->to, at, "a host can't make a function");
  }
}

AtledStatus value_put(const ValueSource *from, Rt *rt, const ValuePlace *at, const Desc *d, const AtledValue *v,
                      Slot *out) {
  In in = {rt, from, NULL};
  return put(&in, at, d, v, out);
}

AtledStatus value_put_argument(AtledFunction *f, Columns *columns, const ValuePlace *at, const Desc *d,
                               const AtledValue *v, Slot *out) {
  AtledVM *vm = f->vm;
  ValueSource from = {.to = {.vm = vm, .texts = &vm->scratch}, .around = last_array, .user = f, .lasting = true};
  In in = {&vm->rt, &from, columns};
  return put_part(&in, at, d, v, out);
}
