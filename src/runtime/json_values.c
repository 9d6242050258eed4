/* SPDX-License-Identifier: MIT */
/* Values of any type as JSON, and back: `Json.of_value` and `Json.to_value`, between values of stdlib/Json.atl's type t
 * and what a descriptor says.
 *
 *   int, float     a number; a string where JSON has no such number: "nan", "inf", "-inf", ints beyond 2^53
 *   bool, string   the same; unit is null
 *   tuple, array   an array; also a list; a record is an object
 *   option         null, or the value itself; [ the value ] where that may be null
 *   variant        the constructor's name, or an object of one member, {"name": argument}
 *   Json.t         as it is
 *
 * Both directions recurse over the type's structure, as deep as JSON may be nested; lists are gone through by loops.
 * Where reading goes is a chain of steps on the machine stack, from which a message's path is made. What was made
 * before a failure hangs in the result, whose other pointers are NULL. */
#include "runtime/json_tags.h"
#include "runtime/runtime_internal.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53: below it each int is a float */

typedef struct Conversion {
  Rt *rt;
  const Desc *json; /* Json.t */
  uint32_t site;
  int depth;
  int64_t turns;
} Conversion;

static bool is_option(const Desc *d) {
  return d->kind == D_VARIANT && d->n == 2 && !strcmp(d->names[0], "None") && !strcmp(d->names[1], "Some") &&
         d->args[0]->kind == D_UNIT;
}

/* Made of two constructors: one without an argument, and the one shown as head :: tail. */
static bool is_list(const Desc *d) {
  return d->kind == D_VARIANT && d->n == 2 && d->cons && d->args[2 - d->cons]->kind == D_UNIT;
}

/* May the JSON of a value be null? */
static bool may_be_null(const Conversion *c, const Desc *d) {
  return d->kind == D_UNIT || is_option(d) || d == c->json;
}

static Slot constant(int64_t tag) { return (Slot){.i = tag << 1 | 1}; }

/* Steps into a part, with a look for interrupts; fails where it is too deep. */
static Status enter(Conversion *c) {
  if (rt_look_at(c->rt, ++c->turns)) return 1;
  if (++c->depth <= LIMIT_JSON_DEPTH) return 0;
  c->depth--;
  return rt_error(c->rt, ERR_FAIL, c->site, "JSON: nested deeper than %d", LIMIT_JSON_DEPTH);
}

/* ---- To JSON ----------------------------------------------------------------------------------------------------- */
static Status to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out);

/* A value with this payload, which is taken, also when this fails. */
static Status box(Conversion *c, JsonTag tag, Slot payload, Slot *out) {
  BoxObj *b = rt_new_box(c->rt, c->json, tag);
  if (b) {
    b->fields[0] = payload;
    out->p = &b->h;
  } else if (tag >= J_STRING) {
    rt_release(c->rt, payload.p);
  }
  return b ? 0 : 1;
}

static Status string(Conversion *c, const char *text, Slot *out) {
  Slot s = {.p = rt_new_string(c->rt, text, strlen(text))};
  return s.p ? box(c, J_STRING, s, out) : 1;
}

static Status number(Conversion *c, double x, Slot *out) {
  if (isfinite(x)) return box(c, J_NUMBER, (Slot){.f = x}, out);
  return string(c, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf", out);
}

static Status integer(Conversion *c, int64_t n, Slot *out) {
  char text[32];
  if (llabs(n) <= (int64_t)EXACT && n != INT64_MIN) return box(c, J_NUMBER, (Slot){.f = (double)n}, out);
  snprintf(text, sizeof text, "%lld", (long long)n);
  return string(c, text, out);
}

/* An array that is the payload of *out: its n elements are null, and to be filled in. NULL: there is no memory. */
static ArrayObj *new_array(Conversion *c, int64_t n, Slot *out) {
  ArrayObj *a = rt_new_array(c->rt, c->json->args[J_ARRAY], &n, true);
  if (!a) return NULL;
  for (int64_t k = 0; k < n; k++) a->data[k] = constant(J_NULL);
  return box(c, J_ARRAY, (Slot){.p = &a->h}, out) ? NULL : a;
}

/* An object that is the payload of *out, of n members: pairs of slots, NULL and null. */
static ArrayObj *new_object(Conversion *c, int64_t n, Slot *out) {
  ArrayObj *a = rt_new_array(c->rt, c->json->args[J_OBJECT], &n, true);
  if (!a) return NULL;
  for (int64_t k = 0; k < n; k++) a->data[2 * k + 1] = constant(J_NULL);
  return box(c, J_OBJECT, (Slot){.p = &a->h}, out) ? NULL : a;
}

static Status member(Conversion *c, const char *key, const Desc *d, const Slot *v, Slot *pair) {
  pair[0].p = rt_new_string(c->rt, key, strlen(key));
  return pair[0].p ? to_json(c, d, v, &pair[1]) : 1;
}

static Status tuple_to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  ArrayObj *a = d->names ? new_object(c, d->n, out) : new_array(c, d->n, out);
  Status status = a ? 0 : 1;
  for (int k = 0; k < d->n && !status; v += d->args[k++]->nslots)
    status = d->names ? member(c, d->names[k], d->args[k], v, &a->data[2 * k]) : to_json(c, d->args[k], v, &a->data[k]);
  return status;
}

static bool all_finite(const Slot *v, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (!isfinite(v[k].f)) return false;
  return true;
}

static Status packed(Conversion *c, const Slot *v, int64_t n, Slot *out) {
  ArrayObj *a = rt_new_array(c->rt, c->json->args[J_NUMBERS], &n, false);
  if (!a) return 1;
  memcpy(a->data, v, (size_t)n * sizeof *v);
  return box(c, J_NUMBERS, (Slot){.p = &a->h}, out);
}

/* The elements of an array from its dimension `level` on, which stand at v. */
static Status array_to_json(Conversion *c, const ArrayObj *from, int level, const Slot *v, Slot *out) {
  const Desc *d = from->h.desc, *element = d->args[0];
  int64_t n = from->dims[level], stride = element->nslots;
  bool innermost = level + 1 == d->rank;
  if (innermost && element->kind == D_FLOAT && n && all_finite(v, n)) return packed(c, v, n, out);
  ArrayObj *a = new_array(c, n, out);
  if (!a || enter(c)) return 1;
  for (int k = level + 1; k < d->rank; k++) stride *= from->dims[k];
  Status status = 0;
  for (int64_t k = 0; k < n && !status; k++, v += stride)
    status = innermost ? to_json(c, element, v, &a->data[k]) : array_to_json(c, from, level + 1, v, &a->data[k]);
  c->depth--;
  return status;
}

static Status list_to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  const Desc *head = d->args[d->cons - 1]->args[0];
  int64_t n = 0;
  for (const Obj *p = v->p; rt_is_object(p); p = ((const BoxObj *)p)->fields[head->nslots].p)
    if (rt_look_at(c->rt, n++)) return 1;
  ArrayObj *a = new_array(c, n, out);
  const Slot *cell = v;
  for (int64_t k = 0; a && k < n; k++) {
    const BoxObj *b = (const BoxObj *)cell->p;
    if (to_json(c, head, b->fields, &a->data[k])) return 1;
    cell = &b->fields[head->nslots];
  }
  return a ? 0 : 1;
}

static Status option_to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  if (rt_tag(v->p) == 0) return 0;
  const Slot *value = rt_is_object(v->p) ? ((const BoxObj *)v->p)->fields : NULL; /* NULL: of a unit */
  if (!may_be_null(c, d->args[1])) return to_json(c, d->args[1], value, out);
  ArrayObj *a = new_array(c, 1, out);
  return a ? to_json(c, d->args[1], value, a->data) : 1;
}

static Status variant_to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  if (d == c->json) {
    *out = *v;
    rt_retain(v->p);
    return 0;
  }
  if (is_option(d)) return option_to_json(c, d, v, out);
  if (is_list(d)) return list_to_json(c, d, v, out);
  int64_t tag = rt_tag(v->p);
  if (!rt_is_object(v->p)) return string(c, d->names[tag], out);
  ArrayObj *a = new_object(c, 1, out);
  return a ? member(c, d->names[tag], d->args[tag], ((const BoxObj *)v->p)->fields, a->data) : 1;
}

static Status part_to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  switch (d->kind) {
  case D_INT: return integer(c, v->i, out);
  case D_FLOAT: return number(c, v->f, out);
  case D_BOOL: return box(c, J_BOOL, *v, out);
  case D_STRING: rt_retain(v->p); return box(c, J_STRING, *v, out);
  case D_UNIT: return 0;
  case D_TUPLE: return tuple_to_json(c, d, v, out);
  case D_ARRAY: return array_to_json(c, slot_array(v), 0, slot_array(v)->data, out);
  case D_VARIANT: return variant_to_json(c, d, v, out);
  default: return rt_error(c->rt, ERR_FAIL, c->site, "JSON: a value of the type %s can't be saved", d->name);
  }
}

/* *out is null, or what is made so far, when this fails. */
static Status to_json(Conversion *c, const Desc *d, const Slot *v, Slot *out) {
  *out = constant(J_NULL);
  if (enter(c)) return 1;
  Status status = part_to_json(c, d, v, out);
  c->depth--;
  return status;
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */
/* A value of Json.t. */
typedef struct Json {
  JsonTag tag;
  Slot payload;
  Obj *whole; /* borrowed; NULL: a number of an array that is packed */
} Json;

/* From the value to its part: a member, or an element. */
typedef struct Step {
  const struct Step *from;
  const char *key; /* NULL: index */
  int64_t index;
} Step;

static void add_path(Buf *out, const Step *s) {
  const Step *steps[LIMIT_JSON_DEPTH + 1];
  int n = 0;
  for (; s && s->from && n <= LIMIT_JSON_DEPTH; s = s->from)
    steps[n++] = s; /* not the first: the array of the one value */
  bool first = true;
  if (n) buf_puts(out, "at ");
  while (n-- > 0) {
    char text[32];
    if (steps[n]->key && !first) buf_addc(out, '.');
    if (!steps[n]->key) snprintf(text, sizeof text, "[%lld]", (long long)steps[n]->index);
    buf_puts(out, steps[n]->key ? steps[n]->key : text);
    first = false;
    if (n == 0) buf_puts(out, ": ");
  }
}

static Status wrong(Conversion *c, const Step *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static Status wrong(Conversion *c, const Step *at, const char *fmt, ...) {
  char text[400];
  Buf path = {.rt = c->rt};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  add_path(&path, at);
  if (!path.failed)
    rt_error(c->rt, ERR_FAIL, c->site, "JSON: %.*s%s", path.data ? (int)path.len : 0, path.data ? path.data : "", text);
  buf_free(&path);
  return 1;
}

static Status mismatch(Conversion *c, const Step *at, const char *what, Json j) {
  static const char *const kinds[] = {"null", "a bool", "a number", "a string", "an array", "an object", "an array"};
  return wrong(c, at, "%s was expected, but this is %s", what, kinds[j.tag]);
}

/* ---- From JSON --------------------------------------------------------------------------------------------------- */
static Status from_json(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out);

static Json json_of(Slot s) {
  Json j = {.tag = (JsonTag)rt_tag(s.p), .whole = s.p};
  if (rt_is_object(s.p)) j.payload = ((const BoxObj *)s.p)->fields[0];
  return j;
}

static bool is_array(Json j) { return j.tag == J_ARRAY || j.tag == J_NUMBERS; }
static int64_t length_of(Json j) { return slot_array(&j.payload)->dims[0]; }
static Json element_of(Json j, int64_t k) {
  Slot s = slot_array(&j.payload)->data[k];
  return j.tag == J_NUMBERS ? (Json){J_NUMBER, s, NULL} : json_of(s);
}
static bool has_text(Json j, const char *text) {
  return j.tag == J_STRING && !strcmp(slot_string(&j.payload)->bytes, text);
}

static Status read_int(Conversion *c, Json j, const Step *at, Slot *out) {
  char *end = NULL;
  if (j.tag == J_STRING) {
    const StringObj *s = slot_string(&j.payload);
    errno = 0;
    out->i = strtoll(s->bytes, &end, 10);
    bool blank = s->len == 0 || s->bytes[0] == ' ';
    if (!blank && errno == 0 && end == s->bytes + s->len) return 0;
  }
  if (j.tag != J_NUMBER) return mismatch(c, at, "an integer", j);
  double x = j.payload.f;
  if (x != floor(x) || fabs(x) > EXACT) return wrong(c, at, "an integer was expected, but this is %.17g", x);
  out->i = (int64_t)x;
  return 0;
}

static Status read_float(Conversion *c, Json j, const Step *at, Slot *out) {
  if (j.tag == J_NUMBER) out->f = j.payload.f;
  else if (has_text(j, "nan")) out->f = NAN;
  else if (has_text(j, "inf")) out->f = INFINITY;
  else if (has_text(j, "-inf")) out->f = -INFINITY;
  else return mismatch(c, at, "a number", j);
  return 0;
}

/* The object's last member of this key; false if there is none. */
static bool find_member(Json j, const char *key, Json *out) {
  const ArrayObj *a = slot_array(&j.payload);
  for (int64_t k = a->dims[0]; k-- > 0;)
    if (!strcmp(slot_string(&a->data[2 * k])->bytes, key)) return *out = json_of(a->data[2 * k + 1]), true;
  return false;
}

static Status read_record(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  if (j.tag != J_OBJECT) return mismatch(c, at, "an object", j);
  for (int k = 0; k < d->n; out += d->args[k++]->nslots) {
    Step step = {at, d->names[k], 0};
    Json part = {.tag = J_NULL, .whole = constant(J_NULL).p};
    if (!find_member(j, d->names[k], &part) && !is_option(d->args[k]))
      return wrong(c, at, "the object has no member %s", d->names[k]);
    if (from_json(c, d->args[k], part, &step, out)) return 1;
  }
  return 0;
}

static Status read_tuple(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  if (d->names) return read_record(c, d, j, at, out);
  if (!is_array(j)) return mismatch(c, at, "an array", j);
  if (length_of(j) != d->n)
    return wrong(c, at, "an array of %d elements was expected, but this has %lld", d->n, (long long)length_of(j));
  for (int k = 0; k < d->n; out += d->args[k++]->nslots) {
    Step step = {at, NULL, k};
    if (from_json(c, d->args[k], element_of(j, k), &step, out)) return 1;
  }
  return 0;
}

/* The elements from the dimension `level` on, which go to `to`. */
static Status fill_array(Conversion *c, const ArrayObj *a, int level, Json j, const Step *at, Slot *to) {
  const Desc *d = a->h.desc, *element = d->args[0];
  if (!is_array(j)) return mismatch(c, at, "an array", j);
  int64_t n = a->dims[level], stride = element->nslots;
  if (length_of(j) != n)
    return wrong(c, at, "this row has %lld elements, the first one %lld", (long long)length_of(j), (long long)n);
  bool innermost = level + 1 == d->rank;
  if (innermost && element->kind == D_FLOAT && j.tag == J_NUMBERS && n) {
    memcpy(to, slot_array(&j.payload)->data, (size_t)n * sizeof *to);
    return 0;
  }
  for (int k = level + 1; k < d->rank; k++) stride *= a->dims[k];
  for (int64_t k = 0; k < n; k++, to += stride) {
    Step step = {at, NULL, k};
    Json part = element_of(j, k);
    if (innermost ? from_json(c, element, part, &step, to) : fill_array(c, a, level + 1, part, &step, to)) return 1;
  }
  return 0;
}

static Status read_array(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  int64_t dims[4 * LIMIT_RANK] = {0};
  Json row = j;
  for (int k = 0; k < d->rank; k++) {
    if (!is_array(row)) break; /* fill_array says so */
    dims[k] = length_of(row);
    if (dims[k] == 0) break;
    row = element_of(row, 0);
  }
  ArrayObj *a = rt_new_array(c->rt, d, dims, true);
  if (!a) return 1;
  out->p = &a->h;
  return fill_array(c, a, 0, j, at, a->data);
}

/* A box in *out, whose fields are 0. */
static BoxObj *new_box(Conversion *c, const Desc *d, int tag, Slot *out) {
  BoxObj *b = rt_new_box(c->rt, d, tag);
  if (b) out->p = &b->h;
  return b;
}

static Status read_list(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  const Desc *head = d->args[d->cons - 1]->args[0];
  if (!is_array(j)) return mismatch(c, at, "an array", j);
  int64_t n = length_of(j);
  for (int64_t k = 0; k < n; k++) {
    Step step = {at, NULL, k};
    BoxObj *b = new_box(c, d, d->cons - 1, out);
    if (!b) return 1;
    out = &b->fields[head->nslots];
    *out = constant(2 - d->cons);
    if (from_json(c, head, element_of(j, k), &step, b->fields)) return 1;
  }
  *out = constant(2 - d->cons);
  return 0;
}

static Status read_option(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  *out = constant(0);
  if (j.tag == J_NULL) return 0;
  Step step = {at, NULL, 0};
  if (may_be_null(c, d->args[1])) {
    if (!is_array(j) || length_of(j) != 1) return mismatch(c, at, "an array of one element", j);
    j = element_of(j, 0);
    at = &step;
  }
  if (d->args[1]->kind == D_UNIT) return *out = constant(1), from_json(c, d->args[1], j, at, NULL);
  BoxObj *b = new_box(c, d, 1, out);
  return b ? from_json(c, d->args[1], j, at, b->fields) : 1;
}

static int constructor_named(const Desc *d, const char *name, bool constant) {
  for (int k = 0; k < d->n; k++)
    if (!strcmp(d->names[k], name) && (d->args[k]->kind == D_UNIT) == constant) return k;
  return -1;
}

static Status read_variant(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  bool is_constant = j.tag == J_STRING;
  if (!is_constant && (j.tag != J_OBJECT || length_of(j) != 1))
    return mismatch(c, at, "a constructor's name, or an object of one member,", j);
  const Slot *pair = slot_array(&j.payload)->data;
  const char *name = is_constant ? slot_string(&j.payload)->bytes : slot_string(&pair[0])->bytes;
  int tag = constructor_named(d, name, is_constant);
  if (tag < 0)
    return wrong(c, at, "%.100s is no constructor with%s an argument of the type %s", name, is_constant ? "out" : "",
                 d->name);
  Step step = {at, d->names[tag], 0};
  if (is_constant) return *out = constant(tag), 0;
  BoxObj *b = new_box(c, d, tag, out);
  return b ? from_json(c, d->args[tag], json_of(pair[1]), &step, b->fields) : 1;
}

static Status keep_json(Conversion *c, Json j, Slot *out) {
  if (!j.whole) return box(c, J_NUMBER, j.payload, out);
  out->p = j.whole;
  rt_retain(j.whole);
  return 0;
}

static Status read_part(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  switch (d->kind) {
  case D_INT: return read_int(c, j, at, out);
  case D_FLOAT: return read_float(c, j, at, out);
  case D_BOOL: return j.tag == J_BOOL ? (*out = j.payload, 0) : mismatch(c, at, "a bool", j);
  case D_UNIT: return j.tag == J_NULL ? 0 : mismatch(c, at, "null", j);
  case D_TUPLE: return read_tuple(c, d, j, at, out);
  case D_ARRAY: return read_array(c, d, j, at, out);
  case D_VARIANT:
    return d == c->json   ? keep_json(c, j, out)
           : is_option(d) ? read_option(c, d, j, at, out)
           : is_list(d)   ? read_list(c, d, j, at, out)
                          : read_variant(c, d, j, at, out);
  case D_STRING:
    if (j.tag != J_STRING) return mismatch(c, at, "a string", j);
    *out = j.payload;
    rt_retain(out->p);
    return 0;
  default: return wrong(c, at, "a value of the type %s can't be read", d->name);
  }
}

/* Fills in the slots of `out`, which are 0 before. */
static Status from_json(Conversion *c, const Desc *d, Json j, const Step *at, Slot *out) {
  if (enter(c)) return 1;
  Status status = read_part(c, d, j, at, out);
  c->depth--;
  return status;
}

/* ---- Primitives -------------------------------------------------------------------------------------------------- */
/* The type is that of a pair, Json.t and an array of values: (null, values) to (the array of their JSON, values). */
PRIM(prim_json_of) {
  PRIM_UNUSED;
  Conversion c = {.rt = rt, .json = type->args[0], .site = site};
  Slot json;
  if (to_json(&c, type->args[1], &args[1], &json)) {
    rt_release(rt, json.p);
    return 1;
  }
  res[0] = json;
  res[1] = args[1];
  rt_retain(args[1].p);
  return 0;
}

/* Of the same type: (an array of JSON, []) to (it, their values). */
PRIM(prim_json_to) {
  PRIM_UNUSED;
  Conversion c = {.rt = rt, .json = type->args[0], .site = site};
  Slot values = {0};
  if (from_json(&c, type->args[1], json_of(args[0]), NULL, &values)) {
    rt_release(rt, values.p);
    return 1;
  }
  res[0] = args[0];
  rt_retain(args[0].p);
  res[1] = values;
  return 0;
}
