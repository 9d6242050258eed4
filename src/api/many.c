/* SPDX-License-Identifier: MIT */
/* One call over many sets of arguments.
 *
 * Where a type needs a value the host may give one for each set: an array of one dimension more. Such a part is a
 * column. The arguments are gone through once: what all sets have in common is put into its slots, and what isn't
 * becomes a list of columns. Then each set costs a copy to a slot for each column of scalars, and a pointer for each
 * column of arrays that needn't be copied. Results go the same way, into buffers of one dimension more.
 *
 *   args ──value_put_argument──► slots, columns       into ──► columns
 *   set k: columns ──► slots ──run_closure──► slots ──► columns */
#include "api/handles.h"
#include "api/pipeline.h"
#include <string.h>

typedef struct Column {
  const Desc *d;
  int slot; /* of the arguments, or of the result */
  const ValuePlace *at;
  const char *data; /* of set 0 */
  int64_t stride;   /* bytes to the next set's */
  AtledValue row;   /* what one set has, if that is an array; its data is set for each set */
  bool items;       /* an AtledValue for each set */
} Column;

/* A column of floats or ints: nothing of it has to be checked or converted. */
typedef struct Numbers {
  char *data; /* of set 0 */
  int64_t stride;
  Slot *slot;
} Numbers;

struct Columns {
  ValueReports to;
  Arena arena; /* of the columns and their places */
  size_t n;    /* sets */
  ValuePlace set;
  Slot *args, *result;
  Vec(Numbers) numbers_in, numbers_out;
  Vec(Column) in, out; /* all others */
};

/* ---- Which parts are columns -------------------------------------------------------------------------- */
/* Its elements are AtledValues, one for each set. */
static bool has_items(const Desc *d, const AtledValue *v) {
  AtledKind kind = value_kind(d);
  if (v->rank != 1 || kind < ATLED_ARRAY || kind == ATLED_OTHER) return false;
  return v->element == kind || (kind == ATLED_RECORD && v->element == ATLED_TUPLE);
}

bool column_fits(const Desc *d, const AtledValue *v) {
  AtledKind kind = value_kind(d);
  if (v->kind != ATLED_ARRAY || kind == ATLED_UNIT) return false;
  if (kind < ATLED_ARRAY) return v->rank == 1 && v->element == kind;
  return has_items(d, v) || (kind == ATLED_ARRAY && v->rank == d->rank + 1 && v->rank <= ATLED_MAX_RANK);
}

/* ---- Making them -------------------------------------------------------------------------------------- */
/* Places stand on the stack of who goes through the value. */
static const ValuePlace *keep_place(Columns *c, const ValuePlace *at) {
  if (at == &c->set) return at;
  ValuePlace *copy = NEW(&c->arena, ValuePlace);
  *copy = *at;
  copy->outer = keep_place(c, at->outer);
  return copy;
}

static AtledStatus check_sets(const Columns *c, const ValuePlace *at, const AtledValue *v) {
  int64_t count = value_count(v->rank, v->dims);
  if (count < 0) return value_report(&c->to, at, "the array's dimensions are negative or too large");
  if ((size_t)v->dims[0] != c->n)
    return value_report(&c->to, at, "%zu sets are needed, not %lld", c->n, (long long)v->dims[0]);
  if (v->length && v->length != (size_t)count)
    return value_report(&c->to, at, "the array's length is %zu, and its dimensions make %lld elements", v->length,
                        (long long)count);
  return count && !v->as.data ? value_report(&c->to, at, "the array's elements are NULL") : ATLED_OK;
}

/* Without the first dimension. */
static void set_row(Column *column, const AtledValue *v) {
  AtledValue *row = &column->row;
  *row = *v;
  row->rank--;
  row->length = 0;
  row->strides = v->strides ? v->strides + 1 : NULL;
  memmove(row->dims, v->dims + 1, sizeof *row->dims * (size_t)row->rank);
}

static Column new_column(Columns *c, const ValuePlace *at, const Desc *d, const AtledValue *v) {
  Column new = {.d = d, .at = keep_place(c, at), .data = v->as.data};
  new.items = has_items(d, v);
  new.stride = (int64_t)value_element_size(v->element);
  for (int i = 1; i < v->rank; i++) new.stride *= v->dims[i];
  if (v->strides) new.stride = v->strides[0];
  if (d->kind == D_ARRAY && !new.items) set_row(&new, v);
  return new;
}

static Numbers numbers_of(const Column *column, Slot *slot) {
  return (Numbers){(char *)(uintptr_t)column->data, column->stride, slot};
}

static bool is_number(const Desc *d) { return d->kind == D_FLOAT || d->kind == D_INT; }

AtledStatus column_add(Columns *c, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out) {
  AtledStatus status = check_sets(c, at, v);
  if (status != ATLED_OK) return status;
  Column new = new_column(c, at, d, v);
  new.slot = (int)(out - c->args);
  if (is_number(d)) vec_push(&c->arena, c->numbers_in, numbers_of(&new, out));
  else vec_push(&c->arena, c->in, new);
  return ATLED_OK;
}

static AtledStatus add_buffers(Columns *c, const ValuePlace *at, const Desc *d, const AtledValue *v, int slot);

static AtledStatus add_item_buffers(Columns *c, const ValuePlace *at, const Desc *d, const AtledValue *v, int slot) {
  AtledStatus status = value_check_items(&c->to, at, d, v);
  for (int i = 0; i < d->n && status == ATLED_OK; slot += d->args[i++]->nslots) {
    ValuePlace here = value_item_place(at, d, i);
    status = add_buffers(c, &here, d->args[i], &v->as.items[value_item_for(d, v, i)], slot);
  }
  return status;
}

static AtledStatus add_buffers(Columns *c, const ValuePlace *at, const Desc *d, const AtledValue *v, int slot) {
  if (d->kind == D_UNIT) return ATLED_OK;
  if (d->kind == D_TUPLE) return add_item_buffers(c, at, d, v, slot);
  AtledKind kind = value_kind(d), element = value_has_buffer(d) ? value_kind(d->args[0]) : kind;
  int rank = value_has_buffer(d) ? d->rank + 1 : 1;
  if ((kind >= ATLED_STRING && !value_has_buffer(d)) || rank > ATLED_MAX_RANK) return value_no_buffer(&c->to, at);
  if (v->kind != ATLED_ARRAY || v->element != element || v->rank != rank)
    return value_report(&c->to, at, "a buffer of %d dimension%s is needed, whose first one is that of the sets", rank,
                        rank == 1 ? "" : "s");
  AtledStatus status = check_sets(c, at, v);
  if (status != ATLED_OK) return status;
  Column new = new_column(c, at, d, v);
  new.slot = slot;
  if (is_number(d)) vec_push(&c->arena, c->numbers_out, numbers_of(&new, c->result + slot));
  else vec_push(&c->arena, c->out, new);
  return ATLED_OK;
}

/* ---- A set -------------------------------------------------------------------------------------------- */
/* The header that the set before had, if nothing else has it: over the host's elements, not a result's. */
static bool points_elsewhere(const Column *column, Obj *p, const char *data) {
  if (column->items || !p || p->rc != 1 || p->tag != RT_OWN) return false;
  ArrayObj *a = (ArrayObj *)(void *)p;
  const char *before = data - column->stride;
  if (a->owner || (const char *)a->data != before || (uintptr_t)data % _Alignof(Slot) != 0) return false;
  a->data = (Slot *)(uintptr_t)data;
  return true;
}

/* A value that isn't a scalar. */
static AtledStatus put_value(AtledFunction *f, const Column *column, const char *data, Slot *out) {
  const AtledValue *v = (const AtledValue *)(const void *)data;
  AtledValue row = column->row;
  AtledText text;
  if (column->d->kind == D_ARRAY && points_elsewhere(column, out->p, data)) return ATLED_OK;
  rt_release(&f->vm->rt, out->p);
  out->p = NULL;
  if (column->d->kind == D_STRING) {
    memcpy(&text, data, sizeof text);
    row = (AtledValue){.kind = ATLED_STRING, .length = text.length, .as.string = text.length ? text.bytes : ""};
  } else {
    row.as.data = data;
  }
  return value_put_argument(f, NULL, column->at, column->d, column->items ? v : &row, out);
}

static AtledStatus put_set(AtledFunction *f, const Columns *c, size_t k) {
  AtledStatus status = ATLED_OK;
  for (int i = 0; i < c->numbers_in.len; i++) {
    const Numbers *all = &c->numbers_in.data[i];
    memcpy(all->slot, all->data + (int64_t)k * all->stride, sizeof *all->slot);
  }
  for (int i = 0; i < c->in.len && status == ATLED_OK; i++) {
    const Column *column = &c->in.data[i];
    const char *data = column->data + (int64_t)k * column->stride;
    Slot *out = f->args + column->slot;
    switch (column->d->kind) {
    case D_BOOL: out->i = *(const unsigned char *)data != 0; break;
    case D_TUPLE:
      run_release_slots(f->vm, column->d, out);
      status = value_put_argument(f, NULL, column->at, column->d, (const AtledValue *)(const void *)data, out);
      break;
    default: status = put_value(f, column, data, out);
    }
  }
  return status;
}

static AtledStatus check_result(Columns *c, const Slot *s) {
  AtledStatus status = ATLED_OK;
  for (int i = 0; i < c->out.len && status == ATLED_OK; i++) {
    Column *column = &c->out.data[i];
    if (column->d->kind != D_ARRAY) continue;
    column->row.as.data = column->data + (int64_t)c->set.index * column->stride;
    status = value_check_buffer(&c->to, column->at, column->d, s + column->slot, &column->row);
  }
  return status;
}

static void write_result(const Columns *c, const Slot *s) {
  for (int i = 0; i < c->numbers_out.len; i++) {
    const Numbers *all = &c->numbers_out.data[i];
    memcpy(all->data + c->set.index * all->stride, all->slot, sizeof *all->slot);
  }
  for (int i = 0; i < c->out.len; i++) {
    const Column *column = &c->out.data[i];
    char *to = (char *)(uintptr_t)column->data + c->set.index * column->stride;
    const Slot *from = s + column->slot;
    if (column->d->kind == D_ARRAY) value_write_array(column->d, from, &column->row);
    else *(bool *)to = from->i != 0;
  }
}

static AtledStatus run_set(AtledVM *vm, AtledFunction *f, Columns *c, size_t k) {
  Slot *result = f->next->slots;
  c->set.index = (int64_t)k;
  AtledStatus status = put_set(f, c, k);
  if (status != ATLED_OK) return status;
  if ((rt_interrupted(&vm->rt) && rt_poll(&vm->rt)) ||
      run_closure(vm, f->unit, f->value.p, f->args, NULL, f->param->nslots, result) != 0)
    return report_runtime_error(vm, f->place);
  f->next->filled = true;
  status = check_result(c, result);
  if (status == ATLED_OK) write_result(c, result);
  if (f->result_pointers) run_release_slots(vm, f->result, result);
  f->next->filled = false;
  return status;
}

/* ---- The call ----------------------------------------------------------------------------------------- */
typedef struct ManyCall {
  AtledFunction *f;
  const AtledValue *args, *into;
  int nargs;
  size_t done;
  Columns columns;
} ManyCall;

static AtledStatus put_arguments(ManyCall *c) {
  AtledFunction *f = c->f;
  AtledStatus status = ATLED_OK;
  for (int i = 0, at = 0; i < f->arity && status == ATLED_OK; i++) {
    const Desc *d = f->arity > 1 ? f->param->args[i] : f->param;
    ValuePlace here = {&c->columns.set, PLACE_ARGUMENT, 0, i, NULL, NULL};
    status = value_put_argument(f, &c->columns, &here, d, &c->args[i], f->args + at);
    at += d->nslots;
  }
  return status;
}

static AtledStatus check_call(AtledVM *vm, const ManyCall *c) {
  if (!c->f->arity) return report_bad_argument(vm, "this is no function, and has no sets of arguments");
  if (c->nargs != c->f->arity) return handle_wrong_arity(c->f, c->nargs);
  if (!c->args) return report_bad_argument(vm, "the array of arguments is NULL");
  return c->columns.n > (size_t)LIMIT_ELEMENTS ? report_bad_argument(vm, "there are too many sets") : ATLED_OK;
}

static AtledStatus many_body(AtledVM *vm, void *arg) {
  ManyCall *c = arg;
  alarm_set(vm);
  if (vm->reports.len || vm->out_of_memory) report_reset(vm);
  AtledStatus status = check_call(vm, c);
  if (status == ATLED_OK) status = put_arguments(c);
  ValuePlace result = {&c->columns.set, PLACE_RESULT, 0, 0, NULL, NULL};
  if (status == ATLED_OK && c->into) status = add_buffers(&c->columns, &result, c->f->result, c->into, 0);
  if (status == ATLED_OK && run_begin(vm) != 0) status = report_runtime_error(vm, c->f->place);
  while (status == ATLED_OK && c->done < c->columns.n) {
    status = run_set(vm, c->f, &c->columns, c->done);
    c->done += status == ATLED_OK;
  }
  return status;
}

AtledStatus atled_call_many(AtledFunction *f, const AtledValue *args, int nargs, size_t n, const AtledValue *into,
                            size_t *done) {
  if (done) *done = 0;
  if (!f) return ATLED_BAD_ARGUMENT;
  AtledVM *vm = f->vm;
  if (vm->closing) return ATLED_BAD_ARGUMENT;
  if (vm->running) return vm_refuse(vm);
  ManyCall c = {.f = f, .args = args, .into = into, .nargs = nargs};
  c.columns.to = (ValueReports){.vm = vm, .texts = &vm->scratch};
  c.columns.n = n;
  c.columns.set = (ValuePlace){NULL, PLACE_SET, 0, -1, NULL, NULL};
  c.columns.args = f->args;
  c.columns.result = f->next->slots;
  arena_init(&c.columns.arena, &vm->heap);
  if (f->pointers) memset(f->args, 0, sizeof *f->args * (size_t)f->param->nslots);
  AtledStatus status = vm_call_quick(vm, many_body, &c);
  if (f->pointers) run_release_slots(vm, f->param, f->args);
  if (f->arity) handle_drop_outcome(f, f->next);
  arena_free(&c.columns.arena);
  if (done) *done = c.done;
  return status;
}
