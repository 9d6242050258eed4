/* SPDX-License-Identifier: MIT */
/* Images of modules. Each program of the corpus is lowered; what is read from its image has the same text, is sound,
 * and has the same image again; so has what is read from its text. An image that is cut off or damaged is refused, also
 * one whose sums were mended.
 *
 * usage: test_image PROGRAM… */
#include "check.h"
#include "corpus.h"
#include "lir/image.h"
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */
/* The header as image.c has it: magic, size, room, start of the globals, hash of the code, sum of the rest. */
enum { SIZE = 1, ROOM, GLOBALS, HASH, SUM, HEADER };

static void mend_sums(char *image, size_t n) {
  uint64_t h[HEADER];
  memcpy(h, image, sizeof h);
  if (h[GLOBALS] < sizeof h || h[GLOBALS] > n) return;
  h[HASH] = hash_bytes(image + sizeof h, h[GLOBALS] - sizeof h, h[0]);
  h[SUM] = hash_mix(hash_mix(hash_mix(h[HASH], h[SIZE]), h[ROOM]), h[GLOBALS]);
  h[SUM] = hash_bytes(image + h[GLOBALS], n - h[GLOBALS], h[SUM]);
  memcpy(image, h, sizeof h);
}

/* At a few places of each image: of several hundred programs that is some ten thousand. */
static void damage(const char *path, const char *image, size_t n) {
  enum { CUTS = 10, CHANGES = 20 };
  Heap heap;
  heap_init(&heap);
  char *copy = malloc(n);
  const char *why = NULL;
  for (size_t cut = 0; cut < n; cut += 1 + n / CUTS) {
    memcpy(copy, image, n);
    if (image_load(&heap, copy, cut, &why) || !why) fprintf(stderr, "%s: cut at %zu\n", path, cut);
    CHECK(why != NULL);
  }
  for (int i = 0; i < CHANGES; i++) {
    memcpy(copy, image, n);
    copy[next_random() % n] ^= (char)(1 + next_random() % 255);
    why = NULL;
    CHECK(image_load(&heap, copy, n, &why) == NULL && why);
    mend_sums(copy, n);
    image_free(&heap, image_load(&heap, copy, n, &why)); /* a number may be another one: all that counts is bounds */
  }
  CHECK(heap.bytes == 0);
  free(copy);
}

/* ---- As text ----------------------------------------------------------------------------------------------------- */
/* The module that is read from the text of m has that text, and the image of m: so it runs as m does. */
static void reread(const char *path, const LModule *m, const Str *text, const Str *image, Arena *a) {
  Str text_again = {.arena = a}, image_again = {.arena = a};
  LModule *read = lir_read(a, text->data);
  CHECK_STR(read->error ? read->error : "fine", "fine");
  if (read->error || m->error) return;
  const char *wrong = lir_verify(read);
  CHECK_STR(wrong ? wrong : "fine", "fine");
  lir_print(read, &text_again);
  image_write(read, &image_again);
  bool same = text->len == text_again.len && memcmp(text->data, text_again.data, text->len) == 0;
  same = same && image->len == image_again.len && memcmp(image->data, image_again.data, image->len) == 0;
  if (!same) fprintf(stderr, "%s: another module is read\n", path);
  CHECK(same);
}

/* ---- There and back ---------------------------------------------------------------------------------------------- */
static void compare(const char *path, const LModule *m, Arena *a) {
  Heap heap;
  heap_init(&heap);
  Str image = {.arena = a}, again = {.arena = a}, text = {.arena = a}, text_again = {.arena = a};
  const char *why = NULL;
  image_write(m, &image);
  LModule *loaded = image_load(&heap, image.data, image.len, &why);
  CHECK_STR(why ? why : "fine", "fine");
  if (!loaded) return;
  loaded->arena = a;
  loaded->sites = m->sites; /* which stay with the VM */
  loaded->nsites = m->nsites;
  const char *wrong = lir_verify(loaded);
  CHECK_STR(wrong ? wrong : "fine", "fine");
  lir_print(m, &text);
  lir_print(loaded, &text_again);
  bool same = text.len == text_again.len && memcmp(text.data, text_again.data, text.len) == 0;
  image_write(loaded, &again);
  same = same && image.len == again.len && memcmp(image.data, again.data, image.len) == 0;
  if (!same) fprintf(stderr, "%s: another module comes back\n", path);
  CHECK(same);
  reread(path, m, &text, &image, a);
  CHECK(loaded->image_size == image.len && memcmp(loaded->image, image.data, image.len) == 0);
  image_free(&heap, loaded);
  CHECK(heap.bytes == 0);
  damage(path, image.data, image.len);
}

static AtledStatus lower_and_compare(AtledVM *vm, void *arg) {
  const Piece *s = arg;
  Plan plan;
  AtledStatus status = plan_front(vm, s->path, s->text, s->n, &plan);
  if (status == ATLED_OK) status = plan_elaborate(vm, &plan, true);
  if (status == ATLED_OK) status = plan_optimise(vm, &plan, NULL);
  if (status != ATLED_OK) return status;
  LowerEntry *entries = NEW_ARRAY(&vm->scratch, LowerEntry, plan.steps.len + 1);
  for (int i = 0; i < plan.steps.len; i++) entries[i] = (LowerEntry){.graph = plan.steps.data[i].final};
  compare(s->path, lower_module(vm->world, &vm->scratch, entries, plan.steps.len), &vm->scratch);
  return ATLED_OK;
}

/* Descriptors of equal types in two modules are one in the VM, whatever was loaded between. */
static void test_descriptors(void) {
  Heap heap;
  Rt rt;
  heap_init(&heap);
  rt_init(&rt, &heap);
  uint8_t pointer[] = {SLOT_PTR};
  Desc first[2] = {{.id = 11, .kind = D_VARIANT, .nslots = 1, .slots = pointer, .n = 1, .name = "list"},
                   {.id = 12, .kind = D_TUPLE, .nslots = 1, .slots = pointer, .n = 1}};
  const Desc *parts[] = {&first[1]}, *back[] = {&first[0]};
  const char *names[] = {"Cons"};
  first[0].args = parts;
  first[0].names = names;
  first[1].args = back;
  const Desc *list = rt_desc(&rt, &first[0]);
  memset(first + 1, 0xee, sizeof *first); /* of the original nothing is needed */
  CHECK(list && list != first && list->args[0]->args[0] == list && strcmp(list->names[0], "Cons") == 0);
  for (int i = 0; i < 1000; i++) {
    Desc other = {.id = 100 + (uint64_t)i, .kind = D_INT, .name = "int"};
    CHECK(rt_desc(&rt, &other)->id == other.id);
  }
  Desc same = {.id = 11};
  CHECK(rt_desc(&rt, &same) == list && rt_desc(&rt, rt.desc_float_array) == rt.desc_float_array);
  for (int n = 1; n < 5; n++) { /* without memory nothing half made stays */
    Desc more[2] = {{.id = 7001, .n = 1, .slots = pointer}, {.id = 7002, .n = 1, .slots = pointer}};
    const Desc *to[] = {&more[1]}, *fro[] = {&more[0]};
    more[0].args = to;
    more[1].args = fro;
    heap.fail_at = n;
    const Desc *made = rt_desc(&rt, &more[0]);
    heap.fail_at = -1;
    rt_clear_error(&rt);
    CHECK(!made || (made->args[0]->args[0] == made && made->args[0] != &more[1]));
    CHECK(made || n < 3);
  }
  rt_destroy(&rt);
  CHECK(heap.bytes == 0);
}

int main(int argc, char **argv) {
  test_descriptors();
  int read = 0;
  for (int i = 1; i < argc; i++) read += each_program(argv[i], lower_and_compare);
  printf("%d of %d files\n", read, argc - 1);
  CHECK(read >= (argc - 1) * 9 / 10); /* some are wrong on purpose */
  return check_result();
}
