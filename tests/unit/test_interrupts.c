/* SPDX-License-Identifier: MIT */
/* Whatever takes long in the runtime can be interrupted: each primitive is called with work for many turns of its
 * loops, first while an interrupt is pending, then with one that comes at its n-th request for memory, for each n;
 * it ends soon, with that error, and leaves nothing behind. Pipes nobody writes to, or reads from, are waited for in
 * the same way. */
#include "check.h"
#include "runtime/runtime_internal.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 5 * RT_STRIDE };

static uint8_t kind_int[] = {SLOT_INT}, kind_float[] = {SLOT_FLOAT}, kind_ptr[] = {SLOT_PTR},
               cell_kinds[] = {SLOT_FLOAT, SLOT_PTR};
static const Desc d_int = {.kind = D_INT, .nslots = 1, .slots = kind_int}, d_unit = {.kind = D_UNIT};
static const Desc d_float = {.kind = D_FLOAT, .nslots = 1, .slots = kind_float};
static const Desc d_string = {.kind = D_STRING, .nslots = 1, .slots = kind_ptr};
static Desc d_list;
static const Desc *cell_args[] = {&d_float, &d_list}, *cell_descs[] = {NULL, &d_list};
static Desc d_cell = {
    .kind = D_TUPLE, .nslots = 2, .slots = cell_kinds, .slot_descs = cell_descs, .link = 1, .n = 2, .args = cell_args};
static const Desc *list_args[] = {&d_unit, &d_cell}, *list_descs[] = {&d_list};
static const char *list_names[] = {"Nil", "::"};
static Desc d_list = {.kind = D_VARIANT,
                      .nslots = 1,
                      .slots = kind_ptr,
                      .slot_descs = list_descs,
                      .n = 2,
                      .args = list_args,
                      .names = list_names,
                      .cons = 2,
                      .name = "list"};
static const Desc *float_args[] = {&d_float}, *int_args[] = {&d_int}, *string_args[] = {&d_string};
static const Desc d_floats = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = float_args, .rank = 1};
static const Desc d_ints = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = int_args, .rank = 1};
static const Desc d_strings = {
    .kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = string_args, .rank = 1, .pointers = true};
static const Desc d_matrix = {.kind = D_ARRAY, .nslots = 1, .slots = kind_ptr, .n = 1, .args = float_args, .rank = 2};
static const Desc *bag_args[] = {&d_float, &d_floats};
static const Desc d_bag = {.kind = D_BAG, .nslots = 1, .slots = kind_ptr, .n = 2, .args = bag_args, .rank = 1};

/* ---- An allocator that interrupts -------------------------------------------------------------------------------- */
static Heap heap;
static Rt rt;
static int64_t requests, interrupt_at; /* 0: never */

static void *allocate(void *user, void *p, size_t old_size, size_t new_size) {
  (void)user, (void)old_size;
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  if (++requests == interrupt_at) rt_interrupt(&rt, RT_INTERRUPTED);
  return realloc(p, new_size);
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */
static char folder[] = "/tmp/atled-test-XXXXXX", path[64], csv_path[64], fifo_path[64];

static Obj *text(const char *s) { return rt_new_string(&rt, s, strlen(s)); }

static Obj *long_text(const char *part, int64_t n) {
  size_t m = strlen(part);
  StringObj *s = rt_string_raw(&rt, m * (size_t)n);
  for (int64_t i = 0; i < n; i++) memcpy(s->bytes + (size_t)i * m, part, m);
  return &s->h;
}

static Obj *list(int64_t n) {
  Obj *l = (Obj *)(uintptr_t)1;
  for (int64_t i = 0; i < n; i++) {
    BoxObj *b = rt_new_box(&rt, &d_list, 1);
    b->fields[0].f = 1;
    b->fields[1].p = l;
    l = &b->h;
  }
  return l;
}

static Obj *array(const Desc *d, int64_t n, int64_t columns) {
  ArrayObj *a = rt_new_array(&rt, d, (int64_t[]){n, columns}, true);
  int64_t length = rt_array_length(a);
  for (int64_t i = 0; i < length; i++) {
    if (d->pointers) a->data[i].p = text(i % 2 ? "abc" : "abd");
    else if (d->args[0] == &d_int) a->data[i].i = 'a' + i % 7;
    else a->data[i].f = (double)((i * 7919) % 10007);
  }
  return &a->h;
}

/* ---- Primitives -------------------------------------------------------------------------------------------------- */
typedef struct Case {
  RtPrimId id;
  const Desc *type;
  const char *args; /* how each is made, see `make` */
} Case;

static Slot make(char what) {
  switch (what) {
  case 'l': return (Slot){.p = list(MANY)};
  case 'f': return (Slot){.p = array(&d_floats, MANY, 0)};
  case 'i': return (Slot){.p = array(&d_ints, MANY, 0)};
  case 's': return (Slot){.p = array(&d_strings, MANY, 0)};
  case 'm': return (Slot){.p = array(&d_matrix, 400, 400)};
  case 't': return (Slot){.p = long_text("ab cdé ", MANY)};
  case 'b': return (Slot){.p = long_text(" ", MANY)};
  case ',': return (Slot){.p = text("c")};
  case 'e': return (Slot){.p = text("")};
  case 'd': return (Slot){.p = text("d")};
  case 'z': return (Slot){.p = text("zz")};
  case 'r': return (Slot){.p = text("(a b)+c")};
  case 'G': return (Slot){.p = text("\\Gq|(*COMMIT)(a|b|c)+z")};
  case 'w': return (Slot){.p = text("[a-z]")};
  case 'P': return (Slot){.p = text(path)};
  case 'C': return (Slot){.p = text(csv_path)};
  case '1': return (Slot){.i = MANY};
  case 'F': return (Slot){.i = 16 + 4}; /* formats of bytes.c: floats and unsigned ints of four bytes */
  case 'U': return (Slot){.i = 64 + 4};
  default: return (Slot){.i = 0};
  }
}

static bool is_object(char what) { return !strchr("01FU", what); }

static const Case cases[] = {
    {RTP_SUMS_PRODUCT, NULL, "00mm"},  {RTP_SHOW, &d_list, "l"},          {RTP_SHOW, &d_string, "t"},
    {RTP_SHOW, &d_strings, "s"},       {RTP_FORMAT_EACH, &d_list, "ld0"}, {RTP_DISPLAY, &d_list, "l"},
    {RTP_PRINT, &d_list, "l"},         {RTP_EQUAL, &d_list, "ll"},        {RTP_WATCHED, &d_list, "lz"},
    {RTP_EQUAL, &d_floats, "ff"},      {RTP_COMPARE, &d_list, "ll"},      {RTP_ORDER, &d_list, "ll"},
    {RTP_HASH, &d_list, "l"},          {RTP_HASH, &d_strings, "s"},       {RTP_COMPARE, &d_strings, "ss"},
    {RTP_CLOSE, &d_floats, "ff"},      {RTP_CONCAT_STRINGS, NULL, "s"},   {RTP_STR_JOIN, NULL, ",s"},
    {RTP_ARGSORT, &d_floats, "f"},     {RTP_ARGSORT, &d_ints, "i"},       {RTP_ARGSORT, &d_strings, "s"},
    {RTP_ARGSORT, &d_matrix, "m"},     {RTP_STR_LENGTH, NULL, "t"},       {RTP_STR_SUB, NULL, "t01"},
    {RTP_STR_FIND, NULL, "zt0"},       {RTP_STR_POINT, NULL, "t1"},       {RTP_STR_SPLIT, NULL, ",t"},
    {RTP_STR_SPLIT, NULL, "et"},       {RTP_STR_TRIM, NULL, "b"},         {RTP_STR_UPPER, NULL, "t"},
    {RTP_STR_LOWER, NULL, "t"},        {RTP_STR_CONTAINS, NULL, "zt"},    {RTP_STR_REPLACE, NULL, ",,t"},
    {RTP_STR_BYTES, NULL, "t"},        {RTP_STR_OF_BYTES, NULL, "i"},     {RTP_STR_CHECKED, NULL, "t"},
    {RTP_REGEX_TEST, NULL, "rt"},      {RTP_REGEX_TEST, NULL, "Gt"},      {RTP_REGEX_SPANS, NULL, "rt1"},
    {RTP_REGEX_REPLACE, NULL, "wzt"},  {RTP_REGEX_PLACES, NULL, "wt0"},   {RTP_READ_FILE, NULL, "P"},
    {RTP_READ_LINES, NULL, "P"},       {RTP_WRITE_FILE, NULL, "Pt"},      {RTP_APPEND_FILE, NULL, "Pt"},
    {RTP_CSV_READ, NULL, "C,e0"},      {RTP_CSV_NUMBERS, NULL, "C"},      {RTP_MATMUL, NULL, "00mm"},
    {RTP_EPRINT, &d_list, "l"},        {RTP_READ_LINE, NULL, ""},         {RTP_READ_ALL, NULL, ""},
    {RTP_STDIN_LINES, NULL, ""},       {RTP_STR_BYTES, NULL, "t"},        {RTP_STR_OF_BYTES, NULL, "i"},
    {RTP_READ_WORDS, NULL, "P01"},     {RTP_WRITE_WORDS, NULL, "Pi1"},    {RTP_FLOATS_OF_WORDS, NULL, "i01F"},
    {RTP_INTS_OF_WORDS, NULL, "i01U"}, {RTP_WORDS_OF_INTS, NULL, "iU"},   {RTP_WORDS_OF_FLOATS, NULL, "fF"},
};

/* Those whose work is bounded, or a pass or two over one string at the speed of memory. A new primitive belongs here
 * or above. */
static const RtPrimId bounded[] = {
    RTP_FORMAT_FLOAT,
    RTP_FORMAT_INT,
    RTP_FORMAT_STRING,
    RTP_CONCAT_STRING,
    RTP_FLOAT_OF_STRING,
    RTP_INT_OF_STRING,
    RTP_REGEX_TABLES,
    RTP_STR_PART,
    RTP_STR_SPLICED,
    RTP_STR_BLANK,
    RTP_STR_STARTS_WITH,
    RTP_STR_ENDS_WITH,
    RTP_ARGS,
    RTP_ENV,
    RTP_TIME,
    RTP_RANDOM_BITS,
    RTP_CPU_TIME,
    RTP_ARRAYS_MADE,
    RTP_OPAQUE,
    RTP_STATIC,
    RTP_POSITION,
    RTP_FILE_EXISTS,
    RTP_LIST_DIR,
    RTP_SLEEP,
    RTP_DATE,
    RTP_JSON_PARSE,
    RTP_JSON_NUMBERS,
    RTP_WRITE,
    RTP_FLUSH,
    RTP_EXIT,
    RTP_ATTEMPT,
    RTP_ATTEMPT_EFFECT,
    RTP_FORK,
    RTP_FORK_BLOCKS,
    RTP_FORK_HERE,
    RTP_NANOSECONDS,
    RTP_TERMINAL_WIDTH,
    RTP_UPDATE_LINE,
    RTP_ERRORS_ON_TERMINAL,
    RTP_DETACHED,
    RTP_DISPLAYS,
    RTP_SHOW_DATA,
    RTP_EVALUATED,
    RTP_COMPILING,
    RTP_FILE_SIZE,
    RTP_JSON_OF,
    RTP_JSON_TO,
    RTP_ARBITRARY,
};

static bool write_nothing(void *user, RtStream to, const char *s, size_t n) {
  (void)user, (void)to, (void)s, (void)n;
  return true;
}

/* Lines in many pieces, and their end; then more of them. */
static int64_t read_lines(void *user, char *to, size_t n) {
  static int pieces;
  (void)user;
  if (++pieces % 50 == 0) return 0;
  if (n > 1000) n = 1000;
  memset(to, '\n', n);
  return (int64_t)n;
}

/* Slots of results that are objects. */
static void release_results(const Case *c, Slot *res) {
  switch (c->id) {
  case RTP_PRINT:
  case RTP_EPRINT:
  case RTP_EQUAL:
  case RTP_COMPARE:
  case RTP_ORDER:
  case RTP_HASH:
  case RTP_CLOSE:
  case RTP_STR_LENGTH:
  case RTP_STR_POINT:
  case RTP_STR_FIND:
  case RTP_STR_CONTAINS:
  case RTP_REGEX_TEST:
  case RTP_WRITE_FILE:
  case RTP_WRITE_WORDS:
  case RTP_APPEND_FILE: break;
  case RTP_REGEX_SPANS:
  case RTP_READ_LINE: rt_release(&rt, res[1].p); break;
  case RTP_CSV_READ:
    rt_release(&rt, res[0].p);
    rt_release(&rt, res[1].p);
    break;
  default: rt_release(&rt, res[0].p);
  }
}

/* Lengths are counted again. */
static void forget_lengths(const Case *c, const Slot *args) {
  for (size_t k = 0; k < strlen(c->args); k++) {
    if (is_object(c->args[k]) && args[k].p->desc == rt.desc_string) ((StringObj *)args[k].p)->points = -1;
  }
}

/* Calls with the interrupt coming at request `at`, or pending (-1). How many requests came after it; -1: the call
 * got through. */
static int64_t interrupted_call(const Case *c, const Slot *args, int64_t at) {
  Slot res[8] = {{0}};
  int64_t live = rt.live;
  forget_lengths(c, args);
  requests = 0;
  interrupt_at = at > 0 ? at : 0;
  if (at < 0) rt_interrupt(&rt, RT_INTERRUPTED);
  Status status = rt_prims[c->id](&rt, c->type, args, res, 1);
  int64_t after = requests - (at > 0 ? at : 0);
  interrupt_at = 0;
  CHECK(status == 0 || rt.error.kind == ERR_INTERRUPT);
  if (status == 0) release_results(c, res);
  CHECK(rt.live == live);
  rt_clear_interrupt(&rt);
  rt_clear_error(&rt);
  return status ? after : -1;
}

static void test_case(const Case *c) {
  Slot args[4];
  bool object[4];
  int n = (int)strlen(c->args);
  for (int k = 0; k < n; k++) {
    args[k] = make(c->args[k]);
    object[k] = is_object(c->args[k]);
  }
  CHECK(interrupted_call(c, args, 0) == -1);
  int64_t all = requests, step = all / 40 + 1;
  bool stopped = interrupted_call(c, args, -1) >= 0;
  CHECK(stopped);
  if (!stopped) fprintf(stderr, "primitive %d of `%s` isn't interrupted\n", c->id, c->args);
  for (int64_t at = 1; at <= all; at += step) {
    int64_t after = interrupted_call(c, args, at);
    CHECK(after <= 8); /* a few blocks before the next look */
    if (after > 8)
      fprintf(stderr, "primitive %d of `%s`: %lld requests after an interrupt\n", c->id, c->args, (long long)after);
  }
  for (int k = 0; k < n; k++)
    if (object[k]) rt_release(&rt, args[k].p);
  CHECK(rt.live == 0);
}

static void test_all_known(void) {
  bool known[RTP_COUNT] = {false};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) known[cases[k].id] = true;
  for (size_t k = 0; k < sizeof bounded / sizeof *bounded; k++) known[bounded[k]] = true;
  for (int id = 0; id < RTP_COUNT; id++) {
    CHECK(known[id]);
    if (!known[id]) fprintf(stderr, "primitive %d: can it be interrupted?\n", id);
  }
}

/* ---- Sums of accumulators ---------------------------------------------------------------------------------------- */
static Obj *log_of(int64_t n, int64_t entries) {
  Obj *bag = NULL;
  for (int64_t i = 0; i < entries; i++) rt_acc_at(&rt, &d_bag, &bag, &n, i, &(Slot){.f = 1});
  return bag;
}

static void check_sum(const Desc *d, Obj *a, Obj *b) {
  Obj *sum = NULL;
  rt_interrupt(&rt, RT_INTERRUPTED);
  Status status = rt_cadd(&rt, d, a, b, NULL, &sum);
  CHECK(status != 0 && rt.error.kind == ERR_INTERRUPT);
  rt_release(&rt, status ? a : sum); /* after a failure the operands are the caller's */
  if (status) rt_release(&rt, b);
  CHECK(rt.live == 0);
  rt_clear_interrupt(&rt);
  rt_clear_error(&rt);
}

static void test_sums(void) {
  check_sum(&d_list, list(MANY), list(MANY));
  check_sum(&d_bag, array(&d_floats, MANY, 0), array(&d_floats, MANY, 0));
  check_sum(&d_bag, array(&d_floats, MANY, 0), log_of(MANY, 100));
  Obj *bag = log_of(MANY, 100);
  Slot out;
  rt_interrupt(&rt, RT_INTERRUPTED);
  CHECK(rt_bag_get(&rt, &d_bag, bag, 1, &out) != 0 && rt.error.kind == ERR_INTERRUPT);
  rt_clear_error(&rt);
  rt_release(&rt, bag);
  CHECK(rt.live == 0);
}

/* ---- Pipes ------------------------------------------------------------------------------------------------------- */
static void *interrupt_soon(void *unused) {
  usleep(100000);
  rt_interrupt(&rt, RT_INTERRUPTED);
  return unused;
}

/* A call that would wait for ever. */
static void check_wait(RtPrimId id, Obj *file, Obj *what) {
  Slot args[2] = {{.p = file}, {.p = what}}, res[2];
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, interrupt_soon, NULL) == 0);
  CHECK(rt_prims[id](&rt, NULL, args, res, 1) != 0 && rt.error.kind == ERR_INTERRUPT);
  pthread_join(thread, NULL);
  rt_clear_error(&rt);
  rt_release(&rt, file);
  rt_release(&rt, what);
  CHECK(rt.live == 0);
}

static void *write_late(void *unused) {
  usleep(100000);
  FILE *f = fopen(fifo_path, "w");
  fputs("first\n", f);
  fflush(f);
  usleep(100000);
  fputs("second\n", f);
  fclose(f);
  return unused;
}

static void test_pipes(void) {
  CHECK(mkfifo(fifo_path, 0600) == 0);
  check_wait(RTP_READ_FILE, text(fifo_path), NULL);               /* nobody writes */
  check_wait(RTP_WRITE_FILE, text(fifo_path), text("something")); /* nobody reads */
  FILE *both = fopen(fifo_path, "r+");
  check_wait(RTP_READ_FILE, text(fifo_path), NULL);                             /* somebody might write */
  check_wait(RTP_APPEND_FILE, text(fifo_path), long_text("something", 100000)); /* more than a pipe holds */
  fclose(both);
  pthread_t thread;
  pthread_create(&thread, NULL, write_late, NULL);
  Slot file = {.p = text(fifo_path)}, res;
  CHECK(rt_prims[RTP_READ_FILE](&rt, NULL, &file, &res, 1) == 0);
  CHECK_STR(((StringObj *)res.p)->bytes, "first\nsecond\n");
  pthread_join(thread, NULL);
  rt_release(&rt, res.p);
  rt_release(&rt, file.p);
  unlink(fifo_path);
}

static void write_files(void) {
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/text", folder);
  snprintf(csv_path, sizeof csv_path, "%s/data.csv", folder);
  snprintf(fifo_path, sizeof fifo_path, "%s/pipe", folder);
  FILE *f = fopen(path, "w"), *g = fopen(csv_path, "w");
  for (int i = 0; f && g && i < MANY; i++) {
    fprintf(f, "line %d\n", i);
    fprintf(g, "%d,%d\n", i, 2 * i);
  }
  CHECK(f && g && fclose(f) == 0 && fclose(g) == 0);
}

int main(void) {
  heap_init(&heap);
  heap.fn = allocate;
  rt_init(&rt, &heap);
  rt.write = write_nothing;
  rt.read = read_lines;
  write_files();
  test_all_known();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) test_case(&cases[k]);
  test_sums();
  test_pipes();
  unlink(path);
  unlink(csv_path);
  rmdir(folder);
  rt_destroy(&rt);
  CHECK(heap.bytes == 0);
  return check_result();
}
