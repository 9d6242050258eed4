/* SPDX-License-Identifier: MIT */
/* An old VM is no bigger than its definitions: what it grows by with each entry that defines something, with each
 * that defines nothing or is rejected, with each look-up; and what a process grows by with each VM that compiles.
 * And what stays of definitions is all that can be asked of them later.
 * `api_entries N` takes N entries of each kind (10,000, say) and prints the figures. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory comes in blocks of at most 1 MB. */
enum { FEW = 2000, MOST_KEPT = 2 << 10, BLOCK = 1 << 20, VMS = 20 };

static void write_nothing(void *user, const char *text, size_t n) {
  (void)user;
  (void)text;
  (void)n;
}

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.write = write_nothing;
  return atled_new(&config);
}

/* ---- Entries of a kind, the i-th different from the others -------------------------------------------- */
typedef void (*EntryFn)(AtledVM *vm, int i);

static void eval(AtledVM *vm, AtledStatus expected, const char *format, int i) {
  char text[512];
  snprintf(text, sizeof text, format, i, i, i);
  AtledStatus status = atled_eval(vm, "entry", text);
  CHECK(status == expected);
  if (status != expected) fprintf(stderr, "%s\n", text);
  AtledResult r;
  for (int k = 0; k < atled_result_count(vm); k++) CHECK(atled_result(vm, k, &r));
}

static void of_number(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let number%d = %d.5 * k", i); }
static void of_constant(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let constant%d = %d", i); }
static void of_array(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let array%d = [%d.0, k]", i); }
static void of_string(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let text%d = \"number %d\" ++ \"!\"", i); }
static void of_function(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let f%d x = x * %d.0 + k", i); }
static void of_generic(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let pair%d a = (a, %d)", i); }
static void of_record(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let record%d = {x = %d.0, y = k}", i); }
static void of_tuple_pattern(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let (a%d, b%d) = (%d.0, k)", i); }
static void of_list(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let list%d = %d :: Nil", i); }
static void of_gradient(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let slope%d = grad cube (%d.0 * k)", i); }
static void of_record_type(AtledVM *vm, int i) { eval(vm, ATLED_OK, "type point%d = {x%d : float, y : int}", i); }
static void of_variant_type(AtledVM *vm, int i) { eval(vm, ATLED_OK, "type shape%d = Ball%d of float | Box%d", i); }
static void of_used(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let used%d = let g x = x * k in g %d.0", i); }
static void of_closure(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let g%d = scale (%d.0 + k)", i); }
static void again(AtledVM *vm, int i) { eval(vm, ATLED_OK, "let same = [%d.0, k, %d.0]", i); }

static void print_sum(AtledVM *vm, int i) { eval(vm, ATLED_OK, "print (%d.25 + k)", i); }
static void expression(AtledVM *vm, int i) { eval(vm, ATLED_OK, "[%d.0, k * 2.0]", i); }
static void call(AtledVM *vm, int i) { eval(vm, ATLED_OK, "cube %d.5", i); }
static void gradient(AtledVM *vm, int i) { eval(vm, ATLED_OK, "grad (fun x -> cube (sin x) * %d.0) k", i); }
static void closure(AtledVM *vm, int i) { eval(vm, ATLED_OK, "fun x -> x * %d.0 + k", i); }
static void map_over(AtledVM *vm, int i) { eval(vm, ATLED_OK, "sum (map (fun x -> cube x + %d.0) table)", i); }
static void of_tuple(AtledVM *vm, int i) { eval(vm, ATLED_OK, "(%d, \"a\", {field%d = k})", i); }

static void syntax_error(AtledVM *vm, int i) { eval(vm, ATLED_COMPILE_ERROR, "let broken%d = (%d +* 3)", i); }
static void type_error(AtledVM *vm, int i) { eval(vm, ATLED_COMPILE_ERROR, "let wrong%d = %d + \"a\"", i); }
static void unknown_name(AtledVM *vm, int i) { eval(vm, ATLED_COMPILE_ERROR, "print nowhere%d", i); }
static void bad_index(AtledVM *vm, int i) { eval(vm, ATLED_RUNTIME_ERROR, "let past%d = table[%d + 7]", i); }
static void unfinished(AtledVM *vm, int i) { eval(vm, ATLED_INCOMPLETE, "let open%d = (%d +", i); }

static void look_up(AtledVM *vm, const char *format, int i, double expected) {
  char text[128];
  snprintf(text, sizeof text, format, i);
  AtledFunction *f = NULL;
  double x = 2, y = 0;
  CHECK(atled_get(vm, text, "float -> float", &f) == ATLED_OK);
  CHECK(atled_call_double(f, &x, 1, &y) == ATLED_OK && y == expected);
  atled_release(f);
}
static void get_same(AtledVM *vm, int i) {
  (void)i;
  look_up(vm, "grad cube", i, 12);
}
static void get_other(AtledVM *vm, int i) { look_up(vm, "fun x -> cube x + %d.0", i, 8.0 + i); }
static void get_wrong(AtledVM *vm, int i) {
  AtledFunction *f = NULL;
  char text[64];
  snprintf(text, sizeof text, "cube %d", i);
  CHECK(atled_get(vm, text, "float -> float", &f) == ATLED_COMPILE_ERROR);
}
static void look_type(AtledVM *vm, int i) {
  char text[64];
  const char *type;
  snprintf(text, sizeof text, "fun x -> cube x + %d.0", i);
  CHECK(atled_type(vm, text, &type) == ATLED_OK);
  CHECK_STR(type, "float -> float");
}
static void look_doc(AtledVM *vm, int i) {
  const char *text;
  (void)i;
  CHECK(atled_doc(vm, "sum", &text) == ATLED_OK);
}
static void check_only(AtledVM *vm, int i) {
  char text[64];
  snprintf(text, sizeof text, "let checked%d x = x + %d", i, i);
  CHECK(atled_check(vm, "entry", text) == ATLED_OK);
}
static void show_ir(AtledVM *vm, int i) {
  const char *text;
  char source[64];
  snprintf(source, sizeof source, "let shown%d = grad cube %d.0", i, i);
  CHECK(atled_ir(vm, "entry", source, ATLED_STAGE_FINAL, false, NULL, &text) == ATLED_OK);
}
static void look_names(AtledVM *vm, int i) {
  const char *const *names;
  (void)i;
  CHECK(atled_names(vm, "cu", &names) >= 1);
}

static void ask(AtledVM *vm, AtledQuestion question, int i) {
  const char *json;
  char source[160];
  snprintf(source, sizeof source,
           "type asked%d = A of float\nlet wrong = 1 + true\nlet f%d x = cube x + k\nlet g = (f%d (A 1.0", i, i, i);
  AtledQuery q = {question, "entry", source, strlen(source), strlen(source), NULL};
  CHECK(atled_query(vm, &q, &json) == ATLED_OK);
}
static void ask_place(AtledVM *vm, int i) { ask(vm, ATLED_ASK_PLACE, i); }
static void ask_words(AtledVM *vm, int i) { ask(vm, ATLED_ASK_WORDS, i); }
static void ask_call(AtledVM *vm, int i) { ask(vm, ATLED_ASK_CALL, i); }
static void ask_names(AtledVM *vm, int i) { ask(vm, ATLED_ASK_NAMES, i); }

static const struct {
  const char *name;
  EntryFn make;
  size_t most; /* bytes for each */
} kinds[] = {{"let number", of_number, MOST_KEPT},
             {"let constant", of_constant, MOST_KEPT},
             {"let array", of_array, MOST_KEPT},
             {"let string", of_string, MOST_KEPT},
             {"let function", of_function, MOST_KEPT},
             {"let generic function", of_generic, MOST_KEPT},
             {"let record", of_record, MOST_KEPT},
             {"let of two names", of_tuple_pattern, MOST_KEPT},
             {"let list", of_list, MOST_KEPT},
             {"let gradient", of_gradient, MOST_KEPT},
             {"let with a local function", of_used, MOST_KEPT},
             {"let closure", of_closure, MOST_KEPT},
             {"record type", of_record_type, MOST_KEPT},
             {"variant type", of_variant_type, MOST_KEPT},
             {"let of a name again", again, MOST_KEPT},
             {"print", print_sum, 0},
             {"expression", expression, 0},
             {"call", call, 0},
             {"gradient", gradient, 0},
             {"closure", closure, 0},
             {"map", map_over, 0},
             {"tuple", of_tuple, 0},
             {"syntax error", syntax_error, 0},
             {"type error", type_error, 0},
             {"unknown name", unknown_name, 0},
             {"run-time error", bad_index, 0},
             {"incomplete", unfinished, 0},
             {"get and release, the same", get_same, 0},
             {"get and release, others", get_other, 0},
             {"get of a wrong type", get_wrong, 0},
             {"type", look_type, 0},
             {"documentation", look_doc, 0},
             {"check", check_only, 0},
             {"ir", show_ir, 0},
             {"names", look_names, 0},
             {"question about a place", ask_place, 0},
             {"question about words", ask_words, 0},
             {"question about a call", ask_call, 0},
             {"question about names", ask_names, 0}};

static const char setup[] = "let k = sqrt 2.0\nlet cube x = x * x * x\nlet table = [1.0, 2.0, k]\n"
                            "let scale a = fun x -> a * x\n";

/* All entries of a kind have the same length but for the digits of their number, which are as many. */
static void measure(int entries, bool show) {
  for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
    AtledVM *vm = new_vm(ATLED_JIT_OFF);
    CHECK(atled_eval(vm, "setup", setup) == ATLED_OK);
    for (int i = 0; i < 50; i++) kinds[n].make(vm, 10000 + i);
    size_t before = atled_memory_used(vm);
    for (int i = 50; i < 50 + entries; i++) kinds[n].make(vm, 10000 + i);
    size_t after = atled_memory_used(vm), each = after > before ? (after - before) / (size_t)entries : 0;
    if (show) printf("%-28s %7zu bytes each\n", kinds[n].name, each);
    bool small = kinds[n].most ? after - before < kinds[n].most * (size_t)entries + BLOCK : after <= before;
    if (!small) fprintf(stderr, "%s: %zu bytes each\n", kinds[n].name, each);
    CHECK(small);
    atled_free(vm);
  }
}

/* ---- Handles whose entry is gone --------------------------------------------------------------------------- */
/* Their errors are shown in their own sources, whatever was evaluated and released since. */
static void check_errors_of_handles(AtledJit jit) {
  static const char *const expressions[] = {"fun i -> table[i] + 1.0",
                                            "fun (index : int) -> (pick (index + 1) : float)"};
  static const char *const shown[] = {"fun i -> table[i]", "called from <expression>:1:24"};
  AtledVM *vm = new_vm(jit);
  AtledFunction *f[2] = {NULL, NULL};
  CHECK(atled_eval(vm, "setup", setup) == ATLED_OK && atled_eval(vm, "pick", "let pick i = table[i]") == ATLED_OK);
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 2; k++) {
      atled_release(f[k]);
      CHECK(atled_get(vm, expressions[k], "int -> float", &f[k]) == ATLED_OK);
      for (int i = 0; i < 5; i++) {
        print_sum(vm, i);
        type_error(vm, i);
        of_number(vm, 100 * round + 10 * k + i);
      }
    }
    for (int k = 0; k < 2; k++) {
      AtledValue i = atled_int(7), y;
      CHECK(atled_call(f[k], &i, 1, &y) == ATLED_RUNTIME_ERROR);
      const AtledDiagnostic *e = atled_error(vm);
      CHECK(e && strcmp(e->kind, "index") == 0 && strstr(e->rendered, shown[k]));
      if (e && !strstr(e->rendered, shown[k])) fputs(e->rendered, stderr);
      i = atled_int(1);
      CHECK(atled_call(f[k], &i, 1, &y) == ATLED_OK);
    }
  }
  atled_release(f[1]);
  atled_release(f[0]);
  atled_free(vm);
}

/* ---- What can be asked of definitions later ------------------------------------------------------------------ */
static void check_type(AtledVM *vm, const char *expression, const char *expected) {
  const char *type = "";
  CHECK(atled_type(vm, expression, &type) == ATLED_OK);
  CHECK_STR(type, expected);
}

static void check_float(AtledVM *vm, const char *expression, double expected) {
  AtledFunction *f = NULL;
  char text[128];
  double x = 0, y = 0;
  snprintf(text, sizeof text, "fun (_ : float) -> %s", expression);
  CHECK(atled_get(vm, text, "float -> float", &f) == ATLED_OK);
  CHECK(f && atled_call_double(f, &x, 1, &y) == ATLED_OK && y == expected);
  atled_release(f);
}

static void check_results(AtledVM *vm) {
  AtledResult r;
  CHECK(atled_eval(vm, "pairs", "let (one, two) = (1.0, \"two\")\nlet one = {value = one + 1.0}") == ATLED_OK);
  CHECK(atled_result_count(vm) == 3);
  CHECK(atled_result(vm, 0, &r) && strcmp(r.name, "one") == 0 && strcmp(r.value, "1.0") == 0);
  CHECK(atled_result(vm, 1, &r) && strcmp(r.name, "two") == 0 && strcmp(r.type, "string") == 0);
  CHECK(atled_result(vm, 2, &r) && strcmp(r.value, "{value = 2.0}") == 0);
}

/* Of values stay only these, their types, documentation and source; of what defines more, syntax too. */
static void check_what_stays(AtledJit jit) {
  AtledVM *vm = new_vm(jit);
  CHECK(atled_eval(vm, "setup", setup) == ATLED_OK);
  CHECK(atled_eval(vm, "values", "# The middle.\nlet centre = {x = k * k, y = 3.0}\nlet names = [\"a\", show k]") ==
        ATLED_OK);
  CHECK(atled_eval(vm, "mixed",
                   "type tree = Leaf | Node of tree * float * tree\n"
                   "let tip = Node (Leaf, 2.0 * k * k, Leaf)\n"
                   "let rec total t = match t with Leaf -> 0.0 | Node (l, x, r) -> total l + x + total r") == ATLED_OK);
  check_results(vm);
  CHECK(atled_eval(vm, "closures", "let first = scale 2.0") == ATLED_OK);
  CHECK(atled_eval(vm, "closures", "let lines = [scale 3.0, scale k, first]") == ATLED_OK);
  CHECK(atled_eval(vm, "closures", "let picked = {f = lines[1], name = \"a line\"}") == ATLED_OK);
  CHECK(atled_eval(vm, "closures", "let curve = let c = k * k in fun x -> c * x * x") == ATLED_OK);
  for (int i = 0; i < 50; i++) {
    of_closure(vm, i);
    of_number(vm, i);
    expression(vm, i);
    type_error(vm, i);
    of_string(vm, i);
  }
  check_type(vm, "centre", "{x : float, y : float}");
  check_type(vm, "names", "string[]");
  check_type(vm, "one", "{value : float}");
  check_float(vm, "round (centre.x + centre.y)", 5);
  check_float(vm, "round (grad (fun c -> c.x * c.x * c.y) centre).x", 12);
  check_float(vm, "round (total tip)", 4);
  check_float(vm, "(match grad total tip with Node (_, d, _) -> d | Leaf -> 0.0)", 1);
  check_float(vm, "one.value", 2);
  check_float(vm, "lines[0] 4.0 + lines[2] 4.0", 20);
  check_float(vm, "grad (fun x -> lines[0] x * first x) 2.0", 24);
  check_float(vm, "round (grad (fun x -> picked.f (picked.f x)) 5.0)", 2);
  check_float(vm, "round (grad (fun x -> curve (first x)) 1.0)", 16);
  check_float(vm, "grad (fun x -> sum [ f x | f in lines ] - picked.f x) 7.0", 5);
  const char *doc = NULL;
  CHECK(atled_doc(vm, "centre", &doc) == ATLED_OK &&
        strcmp(doc, "centre : {x : float, y : float}\nThe middle.\n") == 0);
  CHECK(atled_eval(vm, "wrong", "let f () = (centre <- centre)") == ATLED_COMPILE_ERROR);
  const AtledDiagnostic *e = atled_error(vm);
  CHECK(e && strstr(e->rendered, "let centre = {x = k * k"));
  atled_free(vm);
}

/* ---- VMs that compile ------------------------------------------------------------------------------------ */
static long resident(void) {
  long all, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f) fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

static int mappings(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; f && (c = fgetc(f)) != EOF;) lines += c == '\n';
  if (f) fclose(f);
  return lines;
}

static void compile(int i) {
  AtledVM *vm = new_vm(ATLED_JIT_ALWAYS);
  CHECK(atled_eval(vm, "setup", setup) == ATLED_OK);
  look_up(vm, "grad (fun x -> cube x * 1.0)", i, 12);
  atled_free(vm);
}

static void measure_vms(int vms, bool show) {
  for (int i = 0; i < 5; i++) compile(i);
  long memory = resident();
  int maps = mappings();
  for (int i = 0; i < vms; i++) compile(i);
  long grown = (resident() - memory) / vms;
  int more = mappings() - maps;
  if (show) printf("%-28s %7ld bytes each, %d mappings more\n", "VM that compiles", grown, more);
  CHECK(more <= 2);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which keep what is freed */
  CHECK(grown < 4096);
#endif
}

/* ---- Many derivatives in one source ------------------------------------------------------------------- */
enum { DERIVATIVES = 30, DERIVATIVES_MB = 180 };

static const char derivative[] =
    "let loss%d (w : float[][], b : float[], v : float[]) = sum [ (let h = [ tanh (dot w[k] xs[i] + b[k]) | k < 6 ] in "
    "let y = sigmoid (dot h v) in (if i %% 2 = 0 then -log y else -log (1.0 - y)) + %d.0 * norm v) | i < n ]\n"
    "let g%d = hvp loss%d p p\n";

/* What an item's derivative needed while it was compiled goes before the next one's is. */
static void check_source_of_derivatives(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.memory_limit = (size_t)DERIVATIVES_MB << 20;
  AtledVM *vm = atled_new(&config);
  size_t size = DERIVATIVES * (sizeof derivative + 20) + 1000, used = 0;
  char *text = malloc(size);
  used += (size_t)snprintf(text, size,
                           "let n = 20\nlet xs = [ [sin (float (i * j)) | j < 4] | i < n ]\n"
                           "let p = ([ [0.1 | j < 4] | k < 6 ], zeros 6, ones 6)\n");
  for (int i = 0; i < DERIVATIVES; i++) used += (size_t)snprintf(text + used, size - used, derivative, i, i, i, i);
  CHECK(atled_eval(vm, "derivatives", text) == ATLED_OK);
  free(text);
  atled_free(vm);
}

int main(int argc, char **argv) {
  int entries = argc > 1 ? atoi(argv[1]) : FEW;
  measure(entries, argc > 1);
  check_what_stays(ATLED_JIT_OFF);
  check_what_stays(ATLED_JIT_ALWAYS);
  check_errors_of_handles(ATLED_JIT_OFF);
  check_errors_of_handles(ATLED_JIT_ALWAYS);
  check_source_of_derivatives();
  measure_vms(argc > 2 ? atoi(argv[2]) : VMS, argc > 1);
  return check_result();
}
