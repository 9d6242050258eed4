/* SPDX-License-Identifier: MIT */
/* Vocabulary of the emitter: constants, casts, loads at byte offsets, calls.
 *
 * All pointers have one type (char*), and objects of the runtime are read at byte
 * offsets that come from offsetof: so no struct is declared a second time. One
 * trap of libgccjit shows here: pointers and integers convert by bitcast only.
 * Rvalues are trees that are evaluated where they are put; a tree that is used
 * twice is evaluated twice. */
#include "jit/emit.h"
#include <stdarg.h>
#include <string.h>

enum { MAX_PARAMS = 10 };

void fail_emit(Emit *e, const char *fmt, ...) {
  if (e->error) return;
  Str s = {.arena = e->arena};
  char text[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  str_puts(&s, text);
  e->error = s.data;
}

static Type *type_of_letter(const Emit *e, char c) {
  switch (c) {
  case 'v': return e->t_void;
  case 'b': return e->t_bool;
  case 'i': return e->t_i32;
  case 'u': return e->t_u32;
  case 'l': return e->t_i64;
  case 'd': return e->t_f64;
  case 'r': return e->pair[SLOT_PTR];
  default: return e->t_ptr;
  }
}

static Type *pointer_to_function(const Emit *e, const char *signature) {
  Type *params[MAX_PARAMS];
  int n = 0;
  for (const char *p = signature + 2; *p; p++) params[n++] = type_of_letter(e, *p);
  return e->g->context_new_function_ptr_type(e->ctx, NULL, type_of_letter(e, signature[0]), n, params, 0);
}

void build_init(Emit *e) {
  const GccApi *g = e->g;
  e->t_void = g->context_get_type(e->ctx, GT_VOID);
  e->t_bool = g->context_get_type(e->ctx, GT_BOOL);
  e->t_u8 = g->context_get_type(e->ctx, GT_UCHAR);
  e->t_i32 = g->context_get_type(e->ctx, GT_INT);
  e->t_u32 = g->context_get_type(e->ctx, GT_UINT);
  e->t_i64 = g->context_get_type(e->ctx, GT_LONG);
  e->t_u64 = g->context_get_type(e->ctx, GT_ULONG);
  e->t_f64 = g->context_get_type(e->ctx, GT_DOUBLE);
  e->t_ptr = g->type_get_pointer(g->context_get_type(e->ctx, GT_CHAR));
  static const char *const names[] = {"pair_int", "pair_float", "pair_ptr"};
  Type *values[] = {e->t_i64, e->t_f64, e->t_ptr};
  for (int k = 0; k < 3; k++) {
    e->pair_status[k] = g->context_new_field(e->ctx, NULL, e->t_i64, "status");
    e->pair_value[k] = g->context_new_field(e->ctx, NULL, values[k], "value");
    gcc_jit_field *fields[] = {e->pair_status[k], e->pair_value[k]};
    e->pair[k] = g->struct_as_type(g->context_new_struct_type(e->ctx, NULL, names[k], 2, fields));
  }
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      gcc_jit_field **fields = e->two_value[a][b];
      fields[0] = g->context_new_field(e->ctx, NULL, values[a], "first");
      fields[1] = g->context_new_field(e->ctx, NULL, values[b], "second");
      e->two[a][b] = g->struct_as_type(g->context_new_struct_type(e->ctx, NULL, "two", 2, fields));
    }
  map_init(&e->opaque, e->arena);
  map_init(&e->named, e->arena);
  map_init(&e->guards, e->arena);
  e->expect = g->context_get_builtin_function(e->ctx, "__builtin_expect");
  e->prefetch = g->context_get_builtin_function(e->ctx, "__builtin_prefetch");
}

Type *type_of_kind(const Emit *e, int reg_kind) {
  return reg_kind == R_INT ? e->t_i64 : reg_kind == R_FLOAT ? e->t_f64 : e->t_ptr;
}
SlotKind slot_kind(int reg_kind) { return reg_kind == R_INT ? SLOT_INT : reg_kind == R_FLOAT ? SLOT_FLOAT : SLOT_PTR; }

Rv *k_i64(const Emit *e, int64_t v) { return e->g->context_new_rvalue_from_long(e->ctx, e->t_i64, v); }
Rv *k_i32(const Emit *e, int32_t v) { return e->g->context_new_rvalue_from_long(e->ctx, e->t_i32, v); }
Rv *k_f64(const Emit *e, double v) { return e->g->context_new_rvalue_from_double(e->ctx, e->t_f64, v); }
Rv *k_null(const Emit *e) { return e->g->context_null(e->ctx, e->t_ptr); }
Rv *rv(const Emit *e, Lv *v) { return e->g->lvalue_as_rvalue(v); }
Rv *cast(const Emit *e, Rv *v, Type *t) { return e->g->context_new_cast(e->ctx, NULL, v, t); }
Rv *binary(const Emit *e, unsigned op, Type *t, Rv *a, Rv *b) {
  return e->g->context_new_binary_op(e->ctx, NULL, op, t, a, b);
}
Rv *compare(const Emit *e, unsigned op, Rv *a, Rv *b) { return e->g->context_new_comparison(e->ctx, NULL, op, a, b); }

Lv *place(const Emit *e, Rv *p, size_t offset, Type *t) {
  Lv *byte = e->g->context_new_array_access(e->ctx, NULL, p, k_i64(e, (int64_t)offset));
  Rv *typed = cast(e, e->g->lvalue_get_address(byte, NULL), e->g->type_get_pointer(t));
  return e->g->rvalue_dereference(typed, NULL);
}
Rv *load(const Emit *e, Rv *p, size_t offset, Type *t) { return rv(e, place(e, p, offset, t)); }

Lv *slot_at(const Emit *e, Rv *p, Rv *index, Type *t) {
  return e->g->context_new_array_access(e->ctx, NULL, cast(e, p, e->g->type_get_pointer(t)), index);
}

Rv *address(const Emit *e, Lv *v) { return cast(e, e->g->lvalue_get_address(v, NULL), e->t_ptr); }

Rv *is_object(const Emit *e, Rv *p) {
  Rv *bits = e->g->context_new_bitcast(e->ctx, NULL, p, e->t_i64);
  Rv *even = compare(e, GC_EQ, binary(e, GB_AND, e->t_i64, bits, k_i64(e, 1)), k_i64(e, 0));
  return binary(e, GB_LOGICAL_AND, e->t_bool, compare(e, GC_NE, p, k_null(e)), even);
}

Rv *likely(Emit *e, Rv *condition, bool outcome) {
  Rv *args[] = {cast(e, condition, e->t_i64), k_i64(e, outcome)};
  return compare(e, GC_NE, call(e, e->expect, 2, args), k_i64(e, 0));
}

Rv *fetch_ahead(Emit *e, Rv *p) {
  Rv *anywhere = cast(e, p, e->g->type_get_pointer(e->g->type_get_const(e->t_void)));
  return call(e, e->prefetch, 1, &anywhere);
}

Rv *call(const Emit *e, gcc_jit_function *f, int n, Rv **args) {
  return e->g->context_new_call(e->ctx, NULL, f, n, args);
}

Rv *call_helper(Emit *e, Helper h, Rv *a, Rv *b) {
  if (!e->helpers[h]) e->helpers[h] = make_helper(e, h);
  Rv *args[] = {a, b};
  return call(e, e->helpers[h], b ? 2 : 1, args);
}

/* GCC makes instructions of these, or their results are exact. */
static bool is_exact(const char *name) {
  static const char *const names[] = {"fabs", "floor", "ceil",     "trunc", "round",
                                      "rint", "sqrt",  "copysign", "fmod",  "fma"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(names[k], name) == 0) return true;
  return false;
}

/* What the others compute GCC must not know: scalar.c. */
static gcc_jit_function *opaque_libm(Emit *e, const char *name, int n) {
  gcc_jit_function *known = map_get(&e->opaque, name);
  if (known) return known;
  gcc_jit_param *params[4];
  for (int k = 0; k < n; k++) params[k] = e->g->context_new_param(e->ctx, NULL, e->t_f64, "x");
  gcc_jit_function *f = e->g->context_new_function(e->ctx, NULL, GF_IMPORTED, e->t_f64, name, n, params, 0);
  map_put(&e->opaque, name, f);
  return f;
}

Rv *call_libm(Emit *e, const char *name, int n, Rv **args) {
  e->uses_libm = true;
  bool known = is_exact(name);
  return call(e, known ? e->g->context_get_builtin_function(e->ctx, name) : opaque_libm(e, name, n), n, args);
}

/* A function of the runtime by its name, which the linker finds. */
static gcc_jit_function *named(Emit *e, const char *name, const char *signature) {
  gcc_jit_function *known = map_get(&e->named, name);
  if (known) return known;
  gcc_jit_param *params[MAX_PARAMS];
  int n = 0;
  for (const char *p = signature + 2; *p; p++)
    params[n++] = e->g->context_new_param(e->ctx, NULL, type_of_letter(e, *p), "x");
  Type *result = type_of_letter(e, signature[0]);
  gcc_jit_function *f = e->g->context_new_function(e->ctx, NULL, GF_IMPORTED, result, name, n, params, 0);
  map_put(&e->named, name, f);
  return f;
}

Rv *call_prim(Emit *e, Rv *mod, uint32_t prim, int n, Rv **args) {
  static const char signature[] = "i:ppppu"; /* RtPrimFn */
  if (e->prefix) return call(e, named(e, rt_prim_names[prim], signature), n, args);
  Rv *prims = load(e, load(e, mod, offsetof(Mod, table), e->t_ptr), offsetof(RtTable, prims), e->t_ptr);
  Rv *target = load(e, prims, (size_t)prim * sizeof(RtPrimFn), pointer_to_function(e, signature));
  return e->g->context_new_call_through_ptr(e->ctx, NULL, target, n, args);
}

Rv *call_table(Emit *e, Rv *mod, RtTableFn f, int n, Rv **args) {
  if (e->prefix) return call(e, named(e, rt_table_names[f], rt_table_signatures[f]), n, args);
  if (!e->table_types[f]) e->table_types[f] = pointer_to_function(e, rt_table_signatures[f]);
  Rv *table = load(e, mod, offsetof(Mod, table), e->t_ptr);
  Rv *target = load(e, table, rt_table_offsets[f], e->table_types[f]);
  return e->g->context_new_call_through_ptr(e->ctx, NULL, target, n, args);
}

Rv *load_rt(const Emit *e, Rv *mod) { return load(e, mod, offsetof(Mod, rt), e->t_ptr); }

Rv *load_func(const Emit *e, Rv *mod, int64_t k) {
  return load(e, load(e, mod, offsetof(Mod, funcs), e->t_ptr), (size_t)k * sizeof(RtFunc *), e->t_ptr);
}

/* A number of the VM's, which code doesn't hold. */
Rv *load_func_id(const Emit *e, Rv *mod, int64_t k) {
  return load(e, load_func(e, mod, k), offsetof(RtFunc, id), e->t_i64);
}

Rv *k_site(const Fn *k, uint32_t site) {
  const Emit *e = k->e;
  if (!site) return k_u32(e, 0);
  if (e->m->fragment)
    return load(e, load(e, k->mod, offsetof(Mod, sites), e->t_ptr), site * sizeof(uint32_t), e->t_u32);
  return binary(e, GB_PLUS, e->t_u32, load(e, k->mod, offsetof(Mod, site_base), e->t_u32), k_u32(e, site));
}

Rv *load_desc(const Emit *e, Rv *mod, int64_t k) {
  if (k < 0) return k_null(e);
  return load(e, load(e, mod, offsetof(Mod, descs), e->t_ptr), (size_t)k * sizeof(Desc *), e->t_ptr);
}
