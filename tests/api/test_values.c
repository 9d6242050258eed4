/* SPDX-License-Identifier: MIT */
/* Values across the border: every kind of data in and out, arrays of all scalars and with strides, fields by name,
 * results in the host's buffers, results that are kept, arrays that are updated in place, signatures, and what is said
 * of values that don't fit. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  return atled_new(&config);
}

/* At a type; NULL: the inferred one. */
static AtledFunction *get(AtledVM *vm, const char *expression, const char *type) {
  AtledFunction *f = NULL;
  CHECK(atled_get(vm, expression, type, &f) == ATLED_OK);
  if (!f) fprintf(stderr, "%s: %s\n", expression, atled_error(vm)->message);
  return f;
}

static bool is_text(const AtledValue *v, const char *text) {
  return v && v->kind == ATLED_STRING && v->length == strlen(text) && memcmp(v->as.string, text, v->length) == 0;
}

static bool is_float(const AtledValue *v, double x) { return v && v->kind == ATLED_FLOAT && v->as.number == x; }
static bool is_int(const AtledValue *v, int64_t i) { return v && v->kind == ATLED_INT && v->as.integer == i; }

/* ---- Results ------------------------------------------------------------------------------------- */
static const char *const model = "type params = {beta : float, gamma : float, steps : int}\n"
                                 "type shape = Dot | Circle of float | Box of {w : float, h : float}\n"
                                 "type tree = Leaf of float | Node of tree * tree\n"
                                 "let rec total t = match t with Leaf x -> x | Node (l, r) -> total l + total r\n"
                                 "let rec chain n = if n = 0 then Leaf 1.0 else Node (chain (n - 1), Leaf 1.0)\n"
                                 "# How far it is.\n"
                                 "let area s = match s with Dot -> 0.0 | Circle r -> r * r | Box b -> b.w * b.h\n"
                                 "let bump (w : float[]) k = let mut b = w in b[k] <- b[k] + 1.0; b\n";

static AtledVM *with_model(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  CHECK(atled_eval(vm, "model", model) == ATLED_OK);
  return vm;
}

/* The value of an expression; belongs to the handle. */
static AtledValue value_of(AtledVM *vm, const char *expression, AtledFunction **f) {
  AtledValue v = {0};
  *f = get(vm, expression, NULL);
  CHECK(*f && atled_call(*f, NULL, 0, &v) == ATLED_OK);
  return v;
}

static void test_scalars_and_arrays(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f;
  AtledValue v = value_of(vm, "(1, 2.5, true, \"a∇\", ())", &f);
  CHECK(v.kind == ATLED_TUPLE && v.length == 5 && is_int(&v.as.items[0], 1) && is_float(&v.as.items[1], 2.5));
  CHECK(v.as.items[2].kind == ATLED_BOOL && v.as.items[2].as.boolean && is_text(&v.as.items[3], "a∇"));
  CHECK(v.as.items[4].kind == ATLED_UNIT && !v.names);
  atled_release(f);
  v = value_of(vm, "[[true, false, true], [false, false, true]]", &f);
  CHECK(v.kind == ATLED_ARRAY && v.element == ATLED_BOOL && v.rank == 2 && v.dims[0] == 2 && v.dims[1] == 3);
  CHECK(v.length == 6 && v.as.bools[0] && !v.as.bools[1] && !v.as.bools[4] && v.as.bools[5]);
  atled_release(f);
  v = value_of(vm, "[\"a\", \"\", \"long enough\"]", &f);
  CHECK(v.element == ATLED_STRING && v.as.texts[1].length == 0 && v.as.texts[2].length == 11);
  CHECK_STR(v.as.texts[2].bytes, "long enough");
  atled_release(f);
  v = value_of(vm, "[(1, [2.0]), (3, [4.0, 5.0])]", &f);
  CHECK(v.element == ATLED_TUPLE && v.length == 2 && v.as.items[1].as.items[1].as.floats[1] == 5.0);
  atled_release(f);
  v = value_of(vm, "[ ([] : int[]) | i < 3 ]", &f);
  CHECK(v.element == ATLED_INT && v.rank == 2 && v.dims[0] == 3 && v.dims[1] == 0 && v.length == 0);
  atled_release(f);
  v = value_of(vm, "[(), ()]", &f);
  CHECK(v.element == ATLED_UNIT && v.length == 2);
  atled_release(f);
  v = value_of(vm, "([sin, cos], 7)", &f);
  CHECK(v.as.items[0].element == ATLED_OTHER && v.as.items[0].as.items[1].kind == ATLED_OTHER);
  CHECK_STR(v.as.items[0].as.items[0].as.string, "<fun>");
  atled_release(f);
  atled_free(vm);
}

static void test_records_and_variants(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f;
  AtledValue v = value_of(vm, "[{steps = 3, beta = 0.5, gamma = 0.25}]", &f);
  const AtledValue *r = v.as.items;
  CHECK(v.element == ATLED_RECORD && r->kind == ATLED_RECORD && r->length == 3);
  CHECK_STR(r->names[0], "beta");
  CHECK(is_float(atled_field(r, "gamma"), 0.25) && is_int(atled_field(r, "steps"), 3));
  CHECK(!atled_field(r, "step") && !atled_field(r, NULL) && !atled_field(NULL, "steps") && !atled_field(&v, "steps"));
  atled_release(f);
  v = value_of(vm, "[Dot, Circle 2.0, Box {w = 3.0, h = 4.0}]", &f);
  const AtledValue *s = v.as.items;
  CHECK(v.element == ATLED_VARIANT && s[0].tag == 0 && s[0].length == 0 && s[1].tag == 1 && s[2].tag == 2);
  CHECK_STR(s[0].name, "Dot");
  CHECK(is_float(s[1].as.items, 2.0) && is_float(atled_field(s[2].as.items, "h"), 4.0));
  atled_release(f);
  v = value_of(vm, "(Some 1, if area Dot > 0.0 then Some 2 else None)", &f);
  CHECK_STR(v.as.items[0].name, "Some");
  CHECK_STR(v.as.items[1].name, "None");
  CHECK(is_int(v.as.items[0].as.items, 1) && v.as.items[1].length == 0);
  atled_release(f);
  v = value_of(vm, "(1 :: Nil) :: Nil :: (2 :: 3 :: Nil) :: Nil", &f);
  CHECK(v.kind == ATLED_LIST && v.length == 3 && v.as.items[1].kind == ATLED_LIST && v.as.items[1].length == 0);
  CHECK(is_int(&v.as.items[2].as.items[1], 3));
  atled_release(f);
  v = value_of(vm, "Map.of_array [(\"b\", 2.0), (\"a\", 1.0)]", &f);
  CHECK(v.kind == ATLED_VARIANT && v.as.items->length == 2 && is_text(&v.as.items->as.items[0].as.items[0], "a"));
  CHECK_STR(v.name, "Map.of_array");
  atled_release(f);
  v = value_of(vm, "Set.of_array [3, 1, 2]", &f);
  CHECK(v.as.items->element == ATLED_INT && v.as.items->as.ints[2] == 3);
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* As deep as memory allows: nothing here recurses. */
static void test_deep_results(AtledJit jit) {
  enum { DEPTH = 200000 };
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "chain", "int -> tree");
  AtledValue n = atled_int(DEPTH), v;
  CHECK(atled_call(f, &n, 1, &v) == ATLED_OK);
  int depth = 0;
  const AtledValue *at = &v;
  for (; at->length && at->as.items->kind == ATLED_TUPLE; at = at->as.items->as.items) depth++;
  CHECK(depth == DEPTH && is_float(at->as.items, 1.0));
  AtledFunction *total = get(vm, "total", "tree -> float");
  CHECK(atled_call(total, &v, 1, NULL) == ATLED_BAD_ARGUMENT);
  CHECK(strstr(atled_error(vm)->message, "argument 1, …, ") && strstr(atled_error(vm)->message, "nested deeper than"));
  atled_release(f);
  atled_release(total);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- Arguments ----------------------------------------------------------------------------------- */
static void test_arrays_in(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "fun (a : float[][]) -> a", NULL);
  /* The columns of a structure of structures, backwards, and every second of a row again and again. */
  struct Point {
    float unused;
    double x[4];
  } points[3] = {{0, {1, 2, 3, 4}}, {0, {5, 6, 7, 8}}, {0, {9, 10, 11, 12}}};
  int64_t dims[] = {3, 2}, strides[] = {sizeof(struct Point), 2 * sizeof(double)};
  AtledValue v = atled_array(ATLED_FLOAT, points[0].x, 2, dims, strides), r;
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.as.floats[1] == 3 && r.as.floats[2] == 5 && r.as.floats[5] == 11);
  int64_t back[] = {-(int64_t)sizeof(struct Point), 0};
  v = atled_array(ATLED_FLOAT, points[2].x, 2, dims, back);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.as.floats[0] == 9 && r.as.floats[1] == 9 && r.as.floats[5] == 1);
  /* Without gaps nothing is copied, whatever the strides of a dimension of one are. */
  double plain[] = {1, 2};
  int64_t one[] = {1, 2}, any[] = {77, sizeof(double)};
  v = atled_array(ATLED_FLOAT, plain, 2, one, any);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.as.floats == plain);
  v = atled_array(ATLED_FLOAT, plain, 2, one, NULL);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.as.floats == plain);
  /* Addresses that aren't a double's. */
  char bytes[24] = {0};
  memcpy(bytes + 1, plain, sizeof plain);
  v = atled_array(ATLED_FLOAT, bytes + 1, 2, one, NULL);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.as.floats[1] == 2.0);
  atled_release(f);
  atled_free(vm);
}

static void test_other_arrays_in(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "fun (a : bool[]) -> length (filter (fun b -> b) a)", NULL);
  bool flags[] = {true, false, true, true};
  int64_t four = 4, two = 2, step = 2;
  AtledValue v = atled_array(ATLED_BOOL, flags, 1, &four, NULL), r;
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_int(&r, 3));
  v = atled_array(ATLED_BOOL, flags, 1, &two, &step);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_int(&r, 2));
  atled_release(f);
  f = get(vm, "fun (a : string[]) -> Str.join \"-\" a", NULL);
  AtledText texts[] = {{"ab", 1}, {NULL, 0}, {"c", 1}};
  int64_t three = 3;
  v = atled_array(ATLED_STRING, texts, 1, &three, NULL);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_text(&r, "a--c"));
  atled_release(f);
  f = get(vm, "fun (a : shape[]) -> sum (map area a)", NULL);
  AtledValue two_floats[] = {atled_float(3.0), atled_float(5.0)}, r2 = atled_float(2.0);
  const char *names[] = {"w", "h"};
  AtledValue box = atled_record(names, two_floats, 2);
  AtledValue shapes[] = {atled_variant("Dot", NULL), atled_variant("Circle", &r2), atled_variant("Box", &box)};
  v = atled_array(ATLED_VARIANT, shapes, 1, &three, NULL);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_float(&r, 19.0));
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

static void test_records_in(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "fun (p : params) -> {p with steps = p.steps + 1}", NULL);
  const char *names[] = {"steps", "gamma", "beta"};
  AtledValue items[] = {atled_int(7), atled_float(0.5), atled_float(0.25)}, v = atled_record(names, items, 3), r;
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_int(atled_field(&r, "steps"), 8));
  CHECK(is_float(atled_field(&r, "beta"), 0.25));
  CHECK(atled_call(f, &r, 1, &r) == ATLED_OK && is_int(atled_field(&r, "steps"), 9));
  AtledValue in_order[] = {atled_float(0.25), atled_float(0.5), atled_int(7)};
  v = atled_tuple(in_order, 3);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_int(atled_field(&r, "steps"), 8));
  atled_release(f);
  f = get(vm, "fun (l : float[] list) -> List.map (fun a -> sum a) l", NULL);
  double x[] = {1, 2, 3};
  AtledValue cells[] = {atled_floats(x, 1), atled_floats(x, 0), atled_floats(x, 3)};
  v = atled_list(cells, 3);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.length == 3 && is_float(&r.as.items[2], 6.0));
  v = atled_list(NULL, 0);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && r.kind == ATLED_LIST && r.length == 0);
  atled_release(f);
  f = get(vm, "total", NULL);
  AtledValue leaves[] = {atled_float(1.0), atled_float(2.0)};
  AtledValue pair[] = {atled_variant("Leaf", &leaves[0]), atled_variant("Leaf", &leaves[1])},
             both = atled_tuple(pair, 2);
  v = atled_variant("Node", &both);
  CHECK(atled_call(f, &v, 1, &r) == ATLED_OK && is_float(&r, 3.0));
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* What a handle gave goes back to it, also from within variants and lists: what of it the new result refers to
 * stays. */
static void test_round_trips(AtledJit jit) {
  static const char *const types[] = {
      "float[] option", "(int, float[]) Map.t option", "float[] list",
      "shape list",     "{a : float[], b : string}[]", "(float[] * bool)[] option list"};
  AtledVM *vm = with_model(jit);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    char type[100];
    snprintf(type, sizeof type, "%s -> %s", types[i], types[i]);
    AtledFunction *f = get(vm, "fun x -> x", type);
    atled_release(f);
  }
  AtledFunction *f = get(vm, "fun (l : (float[] * int) list) -> List.map (fun (a, k) -> (a, k + 1)) l", NULL);
  double x[] = {1, 2}, y[] = {3};
  AtledValue one[] = {atled_floats(x, 2), atled_int(0)}, two[] = {atled_floats(y, 1), atled_int(5)};
  AtledValue cells[] = {atled_tuple(one, 2), atled_tuple(two, 2)}, v = atled_list(cells, 2);
  for (int i = 0; i < 10; i++) CHECK(atled_call(f, &v, 1, &v) == ATLED_OK);
  CHECK(v.as.items[0].as.items[0].as.floats == x && is_int(&v.as.items[1].as.items[1], 15));
  atled_release(f);
  f = get(vm, "fun o -> match o with Some (a : float[]) -> Some (a[1..]) | None -> Some [ float i | i < 1000 ]", NULL);
  v = atled_variant("None", NULL);
  for (int i = 0; i < 100; i++) CHECK(atled_call(f, &v, 1, &v) == ATLED_OK);
  CHECK(v.as.items->length == 901 && v.as.items->as.floats[0] == 99.0 && v.as.items->as.floats[900] == 999.0);
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- In place ------------------------------------------------------------------------------------ */
enum { MANY = 1000000 };

static void test_in_place(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  double *start = calloc(MANY, sizeof *start);
  AtledFunction *f = get(vm, "bump", NULL);
  AtledValue args[2] = {atled_floats(start, MANY), atled_int(7)};
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && start[7] == 0.0 && args[0].as.floats != start);
  const double *block = args[0].as.floats;
  for (int i = 0; i < 100; i++) CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && args[0].as.floats == block);
  CHECK(block[7] == 101.0 && block[8] == 0.0 && args[0].length == MANY);
  /* Not where the host doesn't give the argument up, nor where something else holds it. */
  AtledValue r;
  CHECK(atled_call(f, args, 2, &r) == ATLED_OK && r.as.floats != block && r.as.floats[7] == 102.0);
  args[0] = r;
  AtledKept *kept;
  CHECK(atled_keep(f, &kept) == ATLED_OK);
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && args[0].as.floats[7] == 103.0 && r.as.floats[7] == 102.0);
  atled_drop(kept);
  /* An error before the function has it leaves it; one afterwards takes it. */
  args[1] = atled_float(1.0);
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_BAD_ARGUMENT && args[0].as.floats[7] == 103.0);
  args[1] = atled_int(-1);
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_RUNTIME_ERROR && args[0].kind == ATLED_UNIT);
  CHECK(atled_keep(f, &kept) == ATLED_BAD_ARGUMENT && !kept);
  CHECK_STR(atled_error(vm)->message, "the result was given up in a call that failed");
  args[0] = atled_floats(start, MANY);
  args[1] = atled_int(1);
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && args[0].as.floats[1] == 1.0 && start[1] == 0.0);
  args[1] = atled_int(-1);
  CHECK(atled_call(f, args, 2, &r) == ATLED_RUNTIME_ERROR && args[0].as.floats[1] == 1.0);
  atled_release(f);
  f = get(vm, "fun (w : float[]) -> w", NULL);
  args[0] = atled_floats(start, MANY);
  for (int i = 0; i < 3; i++) CHECK(atled_call(f, args, 1, &args[0]) == ATLED_OK && args[0].as.floats == start);
  atled_release(f);
  free(start);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* The host's own memory is never written, though the handle alone may hold the header over it. Nor is what stands twice
 * in a result, or in two arguments. */
static void test_not_in_place(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  double start[3] = {0};
  AtledFunction *f = get(vm, "fun (w : float[]) b -> if b then bump w 0 else w", NULL);
  AtledValue args[2] = {atled_floats(start, 3), atled_bool(false)};
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && args[0].as.floats == start);
  args[1] = atled_bool(true);
  CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && start[0] == 0.0 && args[0].as.floats[0] == 1.0);
  atled_release(f);
  f = get(vm, "fun ((a : float[]), (b : float[])) -> (let c = bump a 0 in (c, c))", NULL);
  AtledValue two[] = {atled_floats(start, 3), atled_floats(start, 3)}, p = atled_tuple(two, 2);
  for (int i = 1; i < 5; i++) {
    CHECK(atled_call(f, &p, 1, &p) == ATLED_OK);
    CHECK(p.as.items[0].as.floats[0] == i && p.as.items[1].as.floats[0] == i && start[0] == 0.0);
  }
  atled_release(f);
  f = get(vm, "fun (a : float[]) (b : float[]) -> (bump a 0)[0] - b[0]", NULL);
  AtledFunction *g = get(vm, "fun (w : float[]) (v : float[]) -> let c = bump w 0 in [c[0], v[0], c[0] - v[0]]", NULL);
  AtledValue w[2] = {atled_floats(start, 3), atled_floats(start, 3)};
  for (int i = 0; i < 3; i++) {
    CHECK(atled_call(g, w, 2, &w[0]) == ATLED_OK && w[0].as.floats[2] == 1.0);
    w[1] = w[0];
  }
  atled_release(f);
  atled_release(g);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- Kept results -------------------------------------------------------------------------------- */
static void test_keep(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "fun n -> (Some [ float i | i < n ], show n)", NULL);
  AtledKept *kept[3], *none;
  AtledValue r[3];
  CHECK(atled_keep(f, &none) == ATLED_BAD_ARGUMENT && !none);
  CHECK_STR(atled_error(vm)->message, "there is no result to keep: the handle wasn't called");
  for (int i = 0; i < 3; i++) {
    AtledValue n = atled_int(i + 2);
    CHECK(atled_call(f, &n, 1, &r[i]) == ATLED_OK && atled_keep(f, &kept[i]) == ATLED_OK);
  }
  CHECK(atled_keep(f, &none) == ATLED_BAD_ARGUMENT && !none);
  CHECK_STR(atled_error(vm)->message, "the result is kept already");
  atled_drop(kept[1]);
  atled_release(f);
  CHECK(r[0].as.items[0].as.items->length == 2 && r[2].as.items[0].as.items->as.floats[3] == 3.0);
  CHECK(is_text(&r[0].as.items[1], "2") && is_text(&r[2].as.items[1], "4"));
  f = get(vm, "Some [1.0, 2.0]", NULL);
  CHECK(atled_call(f, NULL, 0, &r[1]) == ATLED_OK && atled_keep(f, &kept[1]) == ATLED_OK);
  CHECK(atled_call(f, NULL, 0, NULL) == ATLED_OK && r[1].as.items->as.floats[1] == 2.0);
  atled_release(f);
  atled_drop(kept[0]);
  atled_free(vm); /* which waits for the kept results */
  CHECK(r[1].as.items->as.floats[1] == 2.0 && r[2].as.items[0].as.items->as.floats[3] == 3.0);
  atled_drop(kept[1]);
  atled_drop(kept[2]);
  atled_drop(NULL);
}

/* ---- Buffers ------------------------------------------------------------------------------------- */
static void test_into(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(vm, "fun w -> value_and_grad (fun (w : float[]) -> dot w w) w", NULL);
  double w[] = {1, 2, 3}, g[3] = {0};
  AtledValue arg = atled_floats(w, 3), out[2] = {{0}, atled_floats(g, 3)}, into = atled_tuple(out, 2);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_OK && is_float(&out[0], 14.0) && g[0] == 2 && g[2] == 6);
  out[1] = atled_floats(w, 3); /* the argument's own memory */
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_OK && w[2] == 6.0);
  out[1] = atled_floats(g, 2);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT && is_float(&out[0], 14.0));
  CHECK_STR(atled_error(vm)->message, "the result, item 1: a buffer of 3 elements is needed, not of 2");
  out[1] = atled_matrix(g, 1, 3);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message,
            "the result, item 1: an array of floats of 1 dimension is needed, not an array of floats of 2 dimensions, "
            "1 x 3");
  out[1] = atled_floats(NULL, 3);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the result, item 1: the buffer is NULL");
  CHECK(atled_call_into(f, &arg, 1, NULL) == ATLED_BAD_ARGUMENT && atled_call_into(NULL, &arg, 1, &into) != ATLED_OK);
  atled_release(f);
  f = get(vm, "fun n -> {m = [ [ float (i * 3 + j) | j < 3 ] | i < n ], ok = [ i % 2 = 0 | i < n ], n = n}", NULL);
  double m[9] = {0};
  bool ok[2] = {false, true};
  int64_t dims[] = {2, 3}, columns[] = {sizeof *m, 3 * sizeof *m}, two = 2;
  const char *names[] = {"n", "ok", "m"};
  AtledValue fields[] = {
      {0}, atled_array(ATLED_BOOL, ok, 1, &two, NULL), atled_array(ATLED_FLOAT, m, 2, dims, columns)};
  into = atled_record(names, fields, 3);
  arg = atled_int(2);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_OK && is_int(&fields[0], 2) && ok[0] && !ok[1]);
  CHECK(m[0] == 0 && m[3] == 1 && m[6] == 2 && m[1] == 3 && m[4] == 4 && m[7] == 5 && m[2] == 0);
  names[0] = "k";
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the result: the field `n` is missing");
  atled_release(f);
  f = get(vm, "fun (n : int) -> (n, show n)", NULL);
  into = atled_tuple(out, 2);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message,
            "the result, item 1: there are no buffers for a part of this type: atled_call gives it");
  AtledValue last;
  CHECK(atled_call(f, &arg, 1, &last) == ATLED_OK);
  CHECK(atled_call_into(f, &arg, 1, &into) == ATLED_BAD_ARGUMENT && is_text(&last.as.items[1], "2"));
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* ---- Signatures ---------------------------------------------------------------------------------- */
static void test_signature(void) {
  AtledVM *vm = with_model(ATLED_JIT_OFF);
  AtledFunction *f = get(vm, "area", NULL);
  const AtledSignature *s;
  CHECK(atled_signature(f, &s) == ATLED_OK && s->arity == 1);
  CHECK_STR(s->text, "shape -> float");
  CHECK_STR(s->doc, "How far it is.");
  CHECK_STR(s->parameters[0].name, "s");
  CHECK_STR(s->parameters[0].text, "shape");
  const AtledTypeTree *t = s->parameters[0].type;
  CHECK(t->kind == ATLED_VARIANT && t->count == 3 && t->parts[0]->kind == ATLED_UNIT);
  CHECK_STR(t->name, "shape");
  CHECK_STR(t->names[2], "Box");
  CHECK(t->parts[2]->kind == ATLED_RECORD && t->parts[2]->parts[1]->kind == ATLED_FLOAT);
  CHECK_STR(t->parts[2]->names[0], "h");
  CHECK(s->result.type->kind == ATLED_FLOAT && !s->result.name);
  const AtledSignature *again;
  CHECK(atled_signature(f, &again) == ATLED_OK && again == s);
  CHECK(atled_signature(f, NULL) == ATLED_BAD_ARGUMENT && atled_signature(NULL, &s) == ATLED_BAD_ARGUMENT && !s);
  atled_release(f);
  f = get(vm, "fun (p : params) ((_ : int), (k : float)) -> [ [ (p.beta * k, 1 :: Nil) | i < p.steps ] ]", NULL);
  CHECK(atled_signature(f, &s) == ATLED_OK && s->arity == 2 && !s->doc && !s->parameters[1].name);
  CHECK_STR(s->parameters[0].name, "p");
  CHECK_STR(s->parameters[0].text, "params");
  CHECK(s->parameters[0].type->kind == ATLED_RECORD && s->parameters[1].type->kind == ATLED_TUPLE);
  CHECK_STR(s->result.text, "(float * int list)[][]");
  t = s->result.type;
  CHECK(t->kind == ATLED_ARRAY && t->rank == 2 && t->parts[0]->parts[1]->kind == ATLED_LIST);
  CHECK(t->parts[0]->parts[1]->parts[0]->kind == ATLED_INT);
  atled_release(f);
  f = get(vm, "total", NULL);
  CHECK(atled_signature(f, &s) == ATLED_OK);
  t = s->parameters[0].type;
  CHECK(t->parts[1]->kind == ATLED_TUPLE && t->parts[1]->parts[0] == t); /* a tree's parts are trees */
  atled_release(f);
  f = get(vm, "map", "(float -> float) -> float[] -> float[]");
  CHECK(atled_signature(f, &s) == ATLED_OK && s->parameters[0].type->kind == ATLED_OTHER && s->doc);
  CHECK_STR(s->parameters[0].text, "float -> float");
  atled_release(f);
  f = get(vm, "Map.of_array [(\"a\", 1)]", NULL);
  CHECK(atled_signature(f, &s) == ATLED_OK && s->arity == 0 && s->result.type->parts[0]->kind == ATLED_ARRAY);
  CHECK_STR(s->result.type->shown_as, "Map.of_array");
  CHECK(s->result.type->parts[0]->parts[0]->kind == ATLED_TUPLE);
  atled_release(f);
  atled_free(vm);
}

static void test_inferred(void) {
  static const struct {
    const char *expression, *type; /* NULL: an error */
  } cases[] = {{"fun x -> x + x", "int -> int"},
               {"fun x -> grad (fun y -> y * x) x", "float -> float"},
               {"3", "int"},
               {"(fun x -> x)", NULL},
               {"Nil", NULL},
               {"fun r -> r.a", NULL},
               {"fun x -> (x : 'looked_up)", NULL},
               {"1\nlet x = 3", NULL},
               {"1) + (2", NULL},
               {"", NULL}};
  AtledVM *vm = new_vm(ATLED_JIT_OFF);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    AtledFunction *f;
    const AtledSignature *s;
    AtledStatus status = atled_get(vm, cases[i].expression, NULL, &f);
    CHECK((status == ATLED_OK) == (cases[i].type != NULL) && (status == ATLED_OK) == (f != NULL));
    if (f && atled_signature(f, &s) == ATLED_OK) CHECK_STR(s->text, cases[i].type);
    atled_release(f);
  }
  AtledFunction *f;
  CHECK(atled_get(vm, "fun x -> x", NULL, &f) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message,
            "a look-up without a type needs one that is known, and `fun x -> x` has the type `'a -> 'a`");
  CHECK(atled_get(vm, "sin", "float -> string", &f) == ATLED_COMPILE_ERROR);
  CHECK_STR(atled_error(vm)->message, "expected float -> string, found float -> float");
  atled_free(vm);
}

/* ---- What doesn't fit ---------------------------------------------------------------------------- */
static void rejected(AtledVM *vm, const char *type, AtledValue v, const char *message) {
  char whole[200];
  AtledFunction *f;
  snprintf(whole, sizeof whole, "int -> (%s) -> int", type);
  CHECK(atled_get(vm, "fun k x -> k", whole, &f) == ATLED_OK);
  AtledValue args[] = {atled_int(1), v};
  CHECK(atled_call(f, args, 2, NULL) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm) ? atled_error(vm)->message : NULL, message);
  atled_release(f);
}

static void test_messages(void) {
  AtledVM *vm = with_model(ATLED_JIT_OFF);
  double x[4] = {0};
  const char *names[] = {"beta", "gamma", "steps", "more"};
  AtledValue items[] = {atled_float(1), atled_int(2), atled_int(3), atled_int(4)}, p = atled_record(names, items, 3);
  rejected(vm, "params", p, "argument 2, field `gamma`: a float is needed, not an int");
  rejected(vm, "params", atled_record(names, items, 2),
           "argument 2: the field `steps` is missing: 3 fields are needed, not 2");
  rejected(vm, "params", atled_record(names, items, 4),
           "argument 2: the type has no field `more`, but `beta`, `gamma`, `steps`");
  names[3] = "beta";
  rejected(vm, "params", atled_record(names, items, 4), "argument 2: the field `beta` is given twice");
  names[0] = NULL;
  rejected(vm, "params", atled_record(names, items, 3),
           "argument 2: the type has no field `NULL`, but `beta`, `gamma`, `steps`");
  rejected(vm, "params", atled_record(NULL, items, 3), "argument 2: the names of the fields are NULL");
  rejected(vm, "params", atled_record(names, NULL, 3), "argument 2: the items are NULL");
  rejected(vm, "params", atled_tuple(items, 2),
           "argument 2: a record of `beta`, `gamma`, `steps` is needed, not a tuple of 2 items");
  rejected(vm, "params list", atled_list(&p, 1),
           "argument 2, item 0: the type has no field `NULL`, but `beta`, `gamma`, `steps`");
  rejected(vm, "int * (float * bool)", atled_tuple(items, 3),
           "argument 2: a tuple of 2 items is needed, not a tuple of 3 items");
  AtledValue inner[] = {atled_int(1), atled_tuple(items, 2)};
  rejected(vm, "int * (float * bool)", atled_tuple(inner, 2),
           "argument 2, item 1, item 1: a bool is needed, not an int");
  rejected(vm, "shape", atled_variant("Ring", NULL),
           "argument 2: the type `shape` has no constructor `Ring`, but `Dot`, `Circle`, `Box`");
  rejected(vm, "shape", atled_variant(NULL, NULL),
           "argument 2: the type `shape` has no constructor `NULL`, but `Dot`, `Circle`, `Box`");
  rejected(vm, "shape", atled_variant("Circle", NULL), "argument 2: the constructor `Circle` holds one value");
  rejected(vm, "shape", atled_variant("Dot", items), "argument 2: the constructor `Dot` holds nothing");
  rejected(vm, "shape", atled_variant("Circle", items + 1), "argument 2, `Circle`: a float is needed, not an int");
  rejected(vm, "shape", atled_int(1), "argument 2: a variant of the type `shape` is needed, not an int");
  rejected(vm, "int list", atled_floats(x, 2), "argument 2: a list is needed, not an array of floats of 1 dimension");
  rejected(vm, "int[][]", atled_matrix(x, 2, 2),
           "argument 2: an array of ints of 2 dimensions is needed, not an array of floats of 2 dimensions, 2 x 2");
  rejected(vm, "float -> float", atled_float(1), "argument 2: a host can't make a function");
  rejected(vm, "(int, int) Map.t", atled_variant("Empty", NULL),
           "argument 2: a host can't make this value: give `Map.of_array` its array");
  AtledText texts[] = {{"a", 1}, {"\xff", 1}};
  int64_t two = 2;
  rejected(vm, "string[]", atled_array(ATLED_STRING, texts, 1, &two, NULL),
           "argument 2, element 1: the string isn't UTF-8: byte 0");
  int64_t square[] = {2, 2};
  AtledValue pairs[4], good[] = {atled_int(1), atled_float(2)};
  for (int k = 0; k < 4; k++) pairs[k] = atled_tuple(k == 2 ? items : good, 2);
  rejected(vm, "(int * float)[][]", atled_array(ATLED_TUPLE, pairs, 2, square, NULL),
           "argument 2, element [1, 0], item 0: an int is needed, not a float");
  rejected(vm, "float[]", atled_array(ATLED_FLOAT, x, 1, NULL, NULL), "argument 2: dimension 0 of the array is -1");
  AtledFunction *f = get(vm, "fun x y -> x + y + 1", NULL);
  CHECK(atled_call(f, items, 1, NULL) == ATLED_BAD_ARGUMENT);
  CHECK_STR(atled_error(vm)->message, "the function takes 2 arguments, not 1");
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* A value that contains itself. */
static void test_endless_value(void) {
  AtledVM *vm = with_model(ATLED_JIT_OFF);
  AtledFunction *f = get(vm, "total", NULL);
  AtledValue both[2], pair = atled_tuple(both, 2), one = atled_float(1.0);
  both[0] = atled_variant("Node", &pair);
  both[1] = atled_variant("Leaf", &one);
  int64_t live = atled_live_objects(vm);
  CHECK(atled_call(f, &both[0], 1, NULL) == ATLED_BAD_ARGUMENT && atled_live_objects(vm) == live);
  atled_release(f);
  atled_free(vm);
}

/* ---- Without memory ------------------------------------------------------------------------------- */
/* Each allocation of a call fails in turn: the status says so, the last result stays, nothing is lost. */
static void sweep_call(AtledVM *vm, AtledFunction *f, AtledValue arg, AtledValue *into) {
  int failed = 0;
  AtledValue r = {0};
  int64_t live = atled_live_objects(vm);
  for (int n = 1; n < 10000; n++) {
    atled_fail_allocation(vm, n);
    AtledStatus status = into ? atled_call_into(f, &arg, 1, into) : atled_call(f, &arg, 1, &r);
    atled_fail_allocation(vm, 0);
    if (status == ATLED_OK) break;
    failed++;
    CHECK(status == ATLED_NO_MEMORY || status == ATLED_RUNTIME_ERROR);
    CHECK_STR(atled_error(vm)->kind, "memory");
    CHECK(atled_live_objects(vm) == live);
  }
  CHECK(failed > 0);
}

static void test_without_memory(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(
      vm, "fun (l : (string * shape * bool[] * float[]) list) -> (l, Map.of_array [ (i, show i) | i < 50 ], [Some l])",
      NULL);
  bool flags[40] = {true};
  double x[40] = {0};
  int64_t n = 40, step = 0;
  AtledValue r = atled_float(1.0), cells[20];
  AtledValue item[] = {atled_string("text"), atled_variant("Circle", &r), atled_array(ATLED_BOOL, flags, 1, &n, NULL),
                       atled_array(ATLED_FLOAT, x, 1, &n, &step)};
  for (int i = 0; i < 20; i++) cells[i] = atled_tuple(item, 4);
  sweep_call(vm, f, atled_list(cells, 20), NULL);
  atled_release(f);
  f = get(vm, "fun n -> [ float i | i < n ]", NULL);
  double buffer[5000];
  AtledValue into = atled_floats(buffer, 5000);
  sweep_call(vm, f, atled_int(5000), &into);
  AtledKept *kept = NULL;
  AtledValue arg = atled_int(5);
  const AtledSignature *s = NULL;
  CHECK(atled_call(f, &arg, 1, &r) == ATLED_OK);
  for (int k = 1; !s && k < 100; k++) {
    atled_fail_allocation(vm, k);
    AtledStatus status = atled_signature(f, &s);
    CHECK(status == ATLED_OK || (status == ATLED_NO_MEMORY && !s));
    atled_fail_allocation(vm, k);
    if (!kept) CHECK(atled_keep(f, &kept) == (kept ? ATLED_OK : ATLED_NO_MEMORY));
    atled_fail_allocation(vm, 0);
  }
  CHECK(s && kept && r.as.floats[4] == 4.0);
  atled_drop(kept);
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* In a call in place too: what was given up is gone exactly where the function had got it. */
static void test_in_place_without_memory(AtledJit jit) {
  AtledVM *vm = with_model(jit);
  AtledFunction *f = get(
      vm, "fun (w : float[]) n -> let b = bump w 0 in (let t = show [ i | i < n ] in bump b (Str.length t - 3))", NULL);
  double start[100] = {0};
  for (int n = 1, ok = 0; n < 200 && !ok; n++) {
    AtledValue args[] = {atled_floats(start, 100), atled_int(1)};
    CHECK(atled_call(f, args, 2, &args[0]) == ATLED_OK && args[0].as.floats[0] == 2.0);
    args[1] = atled_int(20);
    atled_fail_allocation(vm, n);
    AtledStatus status = atled_call(f, args, 2, &args[0]);
    atled_fail_allocation(vm, 0);
    ok = status == ATLED_OK;
    CHECK(ok || args[0].kind == ATLED_UNIT || args[0].as.floats[0] == 2.0);
  }
  CHECK(start[0] == 0.0);
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

int main(void) {
  static const AtledJit modes[] = {ATLED_JIT_OFF, ATLED_JIT_AUTO, ATLED_JIT_ALWAYS};
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    AtledJit jit = modes[i];
    test_scalars_and_arrays(jit);
    test_records_and_variants(jit);
    test_deep_results(jit);
    test_arrays_in(jit);
    test_other_arrays_in(jit);
    test_records_in(jit);
    test_round_trips(jit);
    test_in_place(jit);
    test_not_in_place(jit);
    test_keep(jit);
    test_into(jit);
    test_without_memory(jit);
    test_in_place_without_memory(jit);
  }
  test_signature();
  test_inferred();
  test_messages();
  test_endless_value();
  return check_result();
}
