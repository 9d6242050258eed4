/* SPDX-License-Identifier: MIT */
/* Diagnostics as data: where a place ends, further places, hints, and the calls of run-time errors, in both tiers. The
 * expected places are counted by hand in the sources here. */
#include "check.h"
#include <atled.h>
#include <string.h>

static AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.stack_size = 8 << 20;
  return atled_new(&config);
}

static const AtledDiagnostic *error_of(AtledVM *vm, const char *source) {
  static const AtledDiagnostic none;
  CHECK(atled_eval(vm, "t.atl", source) != ATLED_OK);
  const AtledDiagnostic *d = atled_error(vm);
  CHECK(d);
  return d ? d : &none;
}

static bool at(const AtledDiagnostic *d, int line, int column, int end_line, int end_column) {
  return d->line == line && d->column == column && d->end_line == end_line && d->end_column == end_column;
}

static void test_places(AtledVM *vm) {
  CHECK(at(error_of(vm, "let x = 1\nlet αx = velocty + 1.0"), 2, 10, 2, 17));
  CHECK(at(error_of(vm, "let s = 1 + \"αβ\""), 1, 13, 1, 17));
  CHECK(at(error_of(vm, "let f x ="), 1, 10, 1, 10)); /* the end of the input is an empty place */
  CHECK(at(error_of(vm, "match Some 1 with\n| None -> 2"), 1, 1, 2, 12));
  CHECK(atled_eval(vm, NULL, "1") == ATLED_BAD_ARGUMENT);
  const AtledDiagnostic *d = atled_error(vm);
  CHECK(at(d, 0, 0, 0, 0) && !d->file && !d->hint && !d->label && !d->notes && !d->note_count && !d->frame_count);
}

static void test_notes(AtledVM *vm) {
  const AtledDiagnostic *d = error_of(vm, "let b = 1 +\n  \"a\"");
  CHECK(at(d, 2, 3, 2, 6) && d->note_count == 1);
  const AtledNote *note = d->notes[0];
  CHECK_STR(note->file, "t.atl");
  CHECK_STR(note->message, "the other operand");
  CHECK(note->line == 1 && note->column == 9 && note->end_line == 1 && note->end_column == 10);
  CHECK_STR(error_of(vm, "let velocity = 1.0\nvelocty")->hint, "did you mean `velocity`?");
}

typedef struct Wanted {
  const char *function;
  int line, column, end_column;
} Wanted;

static void check_frames(const AtledDiagnostic *d, const Wanted *wanted, int n) {
  CHECK(d->frame_count == n && d->frames_omitted == 0);
  for (int i = 0; i < n && i < d->frame_count; i++) {
    const AtledFrame *f = d->frames[i];
    CHECK_STR(f->file, "t.atl");
    CHECK(f->function ? wanted[i].function && strcmp(f->function, wanted[i].function) == 0 : !wanted[i].function);
    CHECK(f->line == wanted[i].line && f->column == wanted[i].column);
    CHECK(f->end_line == wanted[i].line && f->end_column == wanted[i].end_column);
  }
}

static void test_frames(AtledVM *vm) {
  static const Wanted inlined[] = {{"h", 1, 25, 34}, {"g", 2, 15, 24}, {"f", 3, 11, 14}, {NULL, 4, 1, 4}};
  const char *source = "let h x = if x > 2 then fail \"no\" else x\nlet g x = 1 + h (x * 2)\nlet f x = g x + 1\nf 5";
  check_frames(error_of(vm, source), inlined, 4);
  /* Calls that stay calls; the same place twice in a row is one. */
  static const Wanted called[] = {{"depth", 3, 13, 19}, {"depth", 6, 5, 14}, {NULL, 7, 1, 45}};
  source = "type tree = Leaf of int | Node of tree * tree\nlet rec depth t = match t with\n| Leaf n -> 10 / n\n"
           "| Node (a, b) ->\n  max (depth b)\n    (depth a) + 1\ndepth (Node (Node (Leaf 0, Leaf 1), Leaf 1))";
  check_frames(error_of(vm, source), called, 3);
}

/* The last frame is the item that ran. */
static void test_overflow(AtledVM *vm) {
  const AtledDiagnostic *d = error_of(vm, "type tree = Leaf | Node of tree * tree\nlet rec build n =\n"
                                          "  if n < 0 then Leaf else\n  Node (build (n + 1), build (n + 2))\n"
                                          "let go n = build n\n\ngo 1");
  CHECK_STR(d->kind, "stack");
  CHECK(d->hint && d->frame_count == 2 && d->frames_omitted != 0);
  CHECK_STR(d->frames[0]->function, "build");
  CHECK(d->frames[0]->line == 4 && d->frames[1]->line == 7 && !d->frames[1]->function);
}

/* The callback sees what atled_diagnostic gives. */
static void count_frames(void *user, const AtledDiagnostic *d) { *(int *)user += d->frame_count; }

static void test_callback(void) {
  int frames = 0;
  AtledConfig config;
  atled_config_init(&config);
  config.diagnostic = count_frames;
  config.user = &frames;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "t", "let f x = 1 / x\nf 0") == ATLED_RUNTIME_ERROR && frames == 2);
  atled_free(vm);
}

int main(void) {
  for (AtledJit jit = ATLED_JIT_OFF; jit <= ATLED_JIT_ALWAYS; jit++) {
    AtledVM *vm = new_vm(jit);
    test_places(vm);
    test_notes(vm);
    test_frames(vm);
    test_overflow(vm);
    atled_free(vm);
  }
  test_callback();
  return check_result();
}
