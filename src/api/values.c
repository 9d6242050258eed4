/* SPDX-License-Identifier: MIT */
/* Values as a host makes them, and what is said of them: kinds, places, what a type needs.
 *
 * The makers fill in a structure and check nothing: the call that gets the value does. A message names the way from the
 * argument to the part that doesn't fit: "argument 1, field `w`, item 2: a float is needed, not an int". */
#include "api/handles.h"
#include <stdarg.h>
#include <string.h>

/* ---- Makers ---------------------------------------------------------------------------------- */
AtledValue atled_bool(bool b) { return (AtledValue){.kind = ATLED_BOOL, .as.boolean = b}; }
AtledValue atled_int(int64_t i) { return (AtledValue){.kind = ATLED_INT, .as.integer = i}; }
AtledValue atled_float(double x) { return (AtledValue){.kind = ATLED_FLOAT, .as.number = x}; }

AtledValue atled_string(const char *s) {
  return (AtledValue){.kind = ATLED_STRING, .length = s ? strlen(s) : 0, .as.string = s};
}

AtledValue atled_floats(const double *data, size_t n) {
  return (AtledValue){
      .kind = ATLED_ARRAY, .element = ATLED_FLOAT, .rank = 1, .dims = {(int64_t)n}, .length = n, .as.floats = data};
}

AtledValue atled_matrix(const double *data, size_t rows, size_t columns) {
  return (AtledValue){.kind = ATLED_ARRAY,
                      .element = ATLED_FLOAT,
                      .rank = 2,
                      .dims = {(int64_t)rows, (int64_t)columns},
                      .length = rows * columns,
                      .as.floats = data};
}

AtledValue atled_array(AtledKind element, const void *data, int rank, const int64_t *dims, const int64_t *strides) {
  AtledValue v = {.kind = ATLED_ARRAY, .element = element, .rank = rank, .as.data = data, .strides = strides};
  for (int i = 0; i < rank && i < ATLED_MAX_RANK; i++) v.dims[i] = dims ? dims[i] : -1;
  return v;
}

AtledValue atled_tuple(const AtledValue *items, size_t n) {
  return (AtledValue){.kind = ATLED_TUPLE, .length = n, .as.items = items};
}

AtledValue atled_record(const char *const *names, const AtledValue *items, size_t n) {
  return (AtledValue){.kind = ATLED_RECORD, .length = n, .as.items = items, .names = names};
}

AtledValue atled_variant(const char *constructor, const AtledValue *payload) {
  return (AtledValue){.kind = ATLED_VARIANT, .length = payload != NULL, .as.items = payload, .name = constructor};
}

AtledValue atled_list(const AtledValue *items, size_t n) {
  return (AtledValue){.kind = ATLED_LIST, .length = n, .as.items = items};
}

/* ---- Fields ------------------------------------------------------------------------------------ */
static bool is_named(const AtledValue *v, size_t k, const char *name) {
  return v->names[k] && strcmp(v->names[k], name) == 0;
}

int value_find_field(const AtledValue *v, const char *name, int guess) {
  if (guess >= 0 && (size_t)guess < v->length && is_named(v, (size_t)guess, name)) return guess;
  for (size_t k = 0; k < v->length; k++)
    if (is_named(v, k, name)) return (int)k;
  return -1;
}

const AtledValue *atled_field(const AtledValue *record, const char *name) {
  if (!record || !name || record->kind != ATLED_RECORD || !record->names || !record->as.items) return NULL;
  int k = value_find_field(record, name, -1);
  return k < 0 ? NULL : &record->as.items[k];
}

/* ---- Kinds and sizes --------------------------------------------------------------------------- */
/* Two constructors, `::` and one that holds nothing. */
bool value_is_list(const Desc *d) {
  return d->kind == D_VARIANT && d->cons && !d->shown_as && d->n == 2 && d->args[2 - d->cons]->kind == D_UNIT;
}

AtledKind value_kind(const Desc *d) {
  switch (d->kind) {
  case D_UNIT: return ATLED_UNIT;
  case D_BOOL: return ATLED_BOOL;
  case D_INT: return ATLED_INT;
  case D_FLOAT: return ATLED_FLOAT;
  case D_STRING: return ATLED_STRING;
  case D_TUPLE: return d->names ? ATLED_RECORD : ATLED_TUPLE;
  case D_ARRAY: return d->rank <= ATLED_MAX_RANK ? ATLED_ARRAY : ATLED_OTHER;
  case D_VARIANT: return value_is_list(d) ? ATLED_LIST : ATLED_VARIANT;
  case D_OPAQUE: return ATLED_OPAQUE;
  default: return ATLED_OTHER;
  }
}

bool value_is_simple(const Desc *d) {
  AtledKind kind = value_kind(d), element = kind == ATLED_ARRAY ? value_kind(d->args[0]) : kind;
  return kind <= ATLED_STRING || kind == ATLED_OPAQUE ||
         (kind == ATLED_ARRAY && (element == ATLED_FLOAT || element == ATLED_INT));
}

int64_t value_count(int rank, const int64_t *dims) {
  if (rank == 1) return dims[0] < 0 ? -1 : dims[0] > LIMIT_ELEMENTS ? -2 : dims[0];
  bool empty = false;
  int64_t n = 1;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return -1;
    if (dims[i] && (__builtin_mul_overflow(n, dims[i], &n) || n > LIMIT_ELEMENTS)) return -2;
    empty |= dims[i] == 0;
  }
  return empty ? 0 : n;
}

size_t value_element_size(AtledKind element) {
  switch (element) {
  case ATLED_FLOAT: return sizeof(double);
  case ATLED_INT: return sizeof(int64_t);
  case ATLED_BOOL: return sizeof(bool);
  case ATLED_STRING: return sizeof(AtledText);
  case ATLED_UNIT: return 0;
  default: return sizeof(AtledValue);
  }
}

bool value_is_contiguous(const AtledValue *v) {
  int64_t step = (int64_t)value_element_size(v->element);
  for (int i = v->rank - 1; v->strides && i >= 0; i--) {
    if (v->dims[i] > 1 && v->strides[i] != step) return false;
    step *= v->dims[i];
  }
  return true;
}

/* ---- Messages ---------------------------------------------------------------------------------- */
/* "3", "[1, 0]" */
static void add_index(Str *out, const ValuePlace *at) {
  for (int64_t i = 0; i < at->index; i++)
    str_printf(out, "%s%lld", i ? ", " : at->index > 1 ? "[" : "", (long long)at->indices[i]);
  if (at->index > 1) str_addc(out, ']');
}

static void add_place(Str *out, const ValuePlace *at) {
  if (out->len) str_puts(out, ", ");
  switch (at->kind) {
  case PLACE_SET:
    if (at->index >= 0) str_printf(out, "set %lld", (long long)at->index);
    break;
  case PLACE_ARGUMENT: str_printf(out, "argument %lld", (long long)at->index + 1); break;
  case PLACE_RESULT: str_puts(out, "the result"); break;
  case PLACE_ITEM: str_printf(out, "item %lld", (long long)at->index); break;
  case PLACE_ELEMENT:
    str_puts(out, "element ");
    add_index(out, at);
    break;
  case PLACE_FIELD: str_printf(out, "field `%s`", at->name); break;
  case PLACE_PAYLOAD: str_printf(out, "`%s`", at->name); break;
  }
}

/* Of a way of many steps: the first one, and the last ones. */
static const char *place_text(Arena *a, const ValuePlace *at) {
  enum { SHOWN = 12 };
  const ValuePlace *last[SHOWN];
  Str out = {.arena = a};
  int n = 0;
  for (; at && n < SHOWN; at = at->outer) last[n++] = at;
  if (at) {
    while (at->outer) at = at->outer;
    add_place(&out, at);
    str_puts(&out, out.len ? ", …" : "…");
  }
  while (n--) add_place(&out, last[n]);
  return out.data;
}

AtledStatus value_report(const ValueReports *to, const ValuePlace *at, const char *fmt, ...) {
  char message[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  const char *place = place_text(to->texts, at);
  if (to->vm) return report_bad_argument(to->vm, "%s: %s", place, message);
  rt_error(to->rt, ERR_HOST, to->site, "%s of the host's function `%s`: %s", place, to->function, message);
  return ATLED_BAD_ARGUMENT;
}

static const char *const kind_texts[] = {"unit",
                                         "a bool",
                                         "an int",
                                         "a float",
                                         "a string",
                                         "an array",
                                         "a tuple",
                                         "a record",
                                         "a variant",
                                         "a list",
                                         "text of another kind",
                                         "a value of the host's"};
static const char *const element_texts[] = {"units",    "bools",  "ints",         "floats",
                                            "strings",  "arrays", "tuples",       "records",
                                            "variants", "lists",  "other values", "values of the host's"};
enum { KINDS = sizeof kind_texts / sizeof *kind_texts };

static const char *text_of(const char *const *texts, AtledKind kind) {
  return (unsigned)kind < KINDS ? texts[kind] : "something of no kind";
}

const char *value_names_text(Arena *a, const Desc *d) {
  Str out = {.arena = a};
  int i = 0;
  for (; i < d->n && out.len < LIMIT_TYPE_IN_MESSAGE; i++) str_printf(&out, "%s`%s`", i ? ", " : "", d->names[i]);
  if (i < d->n) str_puts(&out, ", …");
  return out.data;
}

const char *value_shape_text(Arena *a, int rank, const int64_t *dims) {
  Str out = {.arena = a};
  for (int i = 0; i < rank; i++) str_printf(&out, "%s%lld", i ? " x " : "", (long long)dims[i]);
  return out.data;
}

/* What the type needs. */
static const char *needed_text(Arena *a, const Desc *d) {
  Str out = {.arena = a};
  AtledKind kind = value_kind(d);
  if (kind == ATLED_ARRAY) {
    str_printf(&out, "an array of %s of %d dimension%s", text_of(element_texts, value_kind(d->args[0])), d->rank,
               d->rank == 1 ? "" : "s");
  } else if (kind == ATLED_TUPLE) {
    str_printf(&out, "a tuple of %d items", d->n);
  } else if (kind == ATLED_RECORD) {
    str_printf(&out, "a record of %s", value_names_text(a, d));
  } else if (kind == ATLED_VARIANT) {
    str_printf(&out, "a variant of the type `%s`", d->name);
  } else if (kind == ATLED_OPAQUE) {
    str_printf(&out, "a value of the host's type `%s`", d->name);
  } else {
    str_puts(&out, text_of(kind_texts, kind));
  }
  return out.data;
}

/* ", 2 x 3", of more dimensions than one. */
static const char *sizes_text(Arena *a, const AtledValue *v) {
  if (v->rank < 2 || v->rank > ATLED_MAX_RANK) return "";
  return arena_printf(a, ", %s", value_shape_text(a, v->rank, v->dims));
}

static const char *given_text(Arena *a, const AtledValue *v) {
  if (v->kind == ATLED_ARRAY)
    return arena_printf(a, "an array of %s of %d dimension%s%s", text_of(element_texts, v->element), v->rank,
                        v->rank == 1 ? "" : "s", sizes_text(a, v));
  if (v->kind == ATLED_TUPLE || v->kind == ATLED_RECORD)
    return arena_printf(a, "%s of %zu items", text_of(kind_texts, v->kind), v->length);
  if (v->kind == ATLED_OPAQUE && v->name) return arena_printf(a, "one of the type `%s`", v->name);
  return text_of(kind_texts, v->kind);
}

AtledStatus value_misfit(const ValueReports *to, const ValuePlace *at, const Desc *d, const AtledValue *v) {
  return value_report(to, at, "%s is needed, not %s", needed_text(to->texts, d), given_text(to->texts, v));
}
