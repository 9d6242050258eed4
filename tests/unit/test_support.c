/* SPDX-License-Identifier: MIT */
/* Tests of src/support: accounting and injected failure of the heap, arenas,
 * symbols, maps, strings, UTF-8, positions, the text of diagnostics and
 * spelling suggestions. */
#include "check.h"
#include "support/support.h"
#include <stdlib.h>
#include <string.h>

static void test_heap(void) {
  Heap h;
  heap_init(&h);
  char *p = heap_realloc(&h, NULL, 0, 100);
  CHECK(p && h.bytes == 100);
  p = heap_realloc(&h, p, 100, 40);
  CHECK(p && h.bytes == 40 && h.peak == 100);
  h.limit = 50;
  CHECK(heap_realloc(&h, p, 40, 51) == NULL && h.bytes == 40);
  p = heap_realloc(&h, p, 40, 50);
  CHECK(p && h.bytes == 50);
  heap_realloc(&h, p, 50, 0);
  CHECK(h.bytes == 0);
  h.limit = 0;
  for (size_t n = 0; n < 300; n += 7) {
    char *q = heap_alloc_aligned(&h, n, false);
    CHECK(q && (uintptr_t)q % 64 == 0);
    memset(q, 1, n);
    heap_free_aligned(&h, q, n);
  }
  CHECK(h.bytes == 0);
  h.fail_at = 2;
  void *first = heap_realloc(&h, NULL, 0, 8);
  CHECK(first != NULL);
  CHECK(heap_realloc(&h, NULL, 0, 8) == NULL && h.fail_at == 0);
  heap_realloc(&h, first, 8, 0);
  CHECK(heap_alloc_aligned(&h, SIZE_MAX - 3, true) == NULL);
}

static void test_texts_with_holes(void) {
  char out[16];
  CHECK(text_fill(out, sizeof out, "%n, %m: %%", "12", "3") == 8 && strcmp(out, "12, 3: %") == 0);
  CHECK(text_fill(out, 6, "ab%nef", "cd", "") == 6 && strcmp(out, "abcde") == 0);
  CHECK(text_fill(NULL, 0, "%m%m%m", "1", "1234") == 12);
  CHECK(text_fill(out, sizeof out, "%", "1", "2") == 1 && strcmp(out, "%") == 0);
}

static void test_arena_and_oom(void) {
  Heap h;
  heap_init(&h);
  Arena a;
  arena_init(&a, &h);
  char *p = arena_alloc(&a, 3);
  CHECK((uintptr_t)p % 16 == 0 && p[0] == 0);
  memcpy(p, "abc", 3);
  char *q = arena_grow(&a, p, 3, 200);
  CHECK(q == p && memcmp(q, "abc", 3) == 0 && q[3] == 0 && q[199] == 0);
  arena_alloc(&a, 1);
  char *r = arena_grow(&a, q, 200, 100000);
  CHECK(r != q && memcmp(r, "abc", 3) == 0 && r[99999] == 0);
  CHECK_STR(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
  Vec(int) v = {0};
  for (int i = 0; i < 1000; i++) vec_push(&a, v, i);
  CHECK(v.len == 1000 && v.data[999] == 999);
  jmp_buf env;
  h.on_oom = &env;
  h.limit = h.bytes + 1000;
  volatile bool jumped = false;
  if (setjmp(env) == 0) arena_alloc(&a, 1 << 20);
  else jumped = true;
  CHECK(jumped);
  arena_free(&a);
  CHECK(h.bytes == 0);
}

static void test_tables(Arena *a) {
  SymTable t;
  symtable_init(&t, a);
  Sym x = sym_of(&t, "x");
  CHECK(x == sym_intern(&t, "xy", 1) && x != sym_of(&t, "xy"));
  CHECK(sym_len(sym_intern(&t, "a\0b", 3)) == 3 && sym_len(sym_of(&t, "")) == 0);
  Map m;
  map_init(&m, a);
  CHECK(map_get(&m, x) == NULL);
  for (int i = 0; i < 5000; i++) map_put(&m, sym_of(&t, arena_printf(a, "s%d", i)), (void *)(uintptr_t)(i + 1));
  for (int i = 0; i < 5000; i++)
    CHECK(map_get(&m, sym_of(&t, arena_printf(a, "s%d", i))) == (void *)(uintptr_t)(i + 1));
  map_put(&m, sym_of(&t, "s7"), a);
  CHECK(m.count == 5000 && map_get(&m, sym_of(&t, "s7")) == a && map_get(&m, x) == NULL);
}

static void test_text(Arena *a) {
  Str s = {.arena = a};
  str_puts(&s, "ab");
  for (int i = 0; i < 50; i++) str_printf(&s, "%d,", i);
  str_addc(&s, 'z');
  CHECK(s.len == 2 + 10 * 2 + 40 * 3 + 1 && strlen(s.data) == s.len);
  uint32_t c;
  CHECK(utf8_sequence("∂", 3, &c) == 3 && c == 0x2202);
  CHECK(utf8_sequence("\xc0\x80", 2, &c) == 0 && utf8_sequence("\xed\xa0\x80", 3, &c) == 0);
  CHECK(utf8_sequence("\xe2\x88", 2, &c) == 0 && utf8_sequence("\xf5\x80\x80\x80", 4, &c) == 0);
  size_t bad;
  CHECK(!utf8_valid("ok\xff", 3, &bad) && bad == 2);
  CHECK(utf8_width("日e\xcc\x81", 6) == 3);
  for (uint32_t p = 1; p < 0x110000; p += 97) {
    if (p >= 0xd800 && p <= 0xdfff) continue;
    char out[4];
    int n = utf8_encode(p, out);
    CHECK(utf8_sequence(out, (size_t)n, &c) == n && c == p);
  }
}

static const char *rendered(Diags *d, int i, Arena *a) {
  Str out = {.arena = a};
  diag_render(&d->all.data[i], d->sources, false, &out);
  return out.data;
}

static void test_diagnostics(Arena *a) {
  Sources s;
  sources_init(&s, a);
  const char *text = "let σ = 1\nlet f = velocty + σ\nprint 日 x\n\ty\x01z";
  uint32_t id = sources_add(&s, "file.atl", text, strlen(text));
  Diags d;
  diags_init(&d, a, &s);
  Diag *e = diag_error(&d, (Span){id, 19, 26}, "unbound-name", "there is no `%s`", "velocty");
  e->label = "not defined";
  e->hint = "did you mean `velocity`?";
  CHECK_STR(rendered(&d, 0, a), "file.atl:2:9: error: there is no `velocty`\n"
                                "   2 | let f = velocty + σ\n"
                                "     |         ^^^^^^^ not defined\n"
                                "hint: did you mean `velocity`?\n");
  diag_error(&d, (Span){id, 19, 26}, "other", "the same place");
  CHECK(d.errors == 1 && d.all.len == 1);
  uint32_t x = (uint32_t)(strstr(text, " x\n") + 1 - text);
  e = diag_warning(&d, (Span){id, x, x + 1}, "w", "a warning");
  e->also = (Span){id, 4, 6};
  e->also_label = "defined here";
  CHECK_STR(rendered(&d, 1, a), "file.atl:3:9: warning: a warning\n"
                                "   3 | print 日 x\n"
                                "     |          ^\n"
                                "file.atl:1:5: note: defined here\n"
                                "   1 | let σ = 1\n"
                                "     |     -\n");
  uint32_t end = (uint32_t)strlen(text);
  diag_error(&d, (Span){id, end, end}, "e", "at the end");
  CHECK_STR(rendered(&d, 2, a), "file.atl:4:5: error: at the end\n"
                                "   4 |  y\xef\xbf\xbdz\n"
                                "     |     ^\n");
  diag_error(&d, (Span){0, 0, 0}, "e", "no place");
  CHECK_STR(rendered(&d, 3, a), "error: no place\n");
  for (uint32_t i = 0; i < 300; i++) diag_error(&d, (Span){id, 0, i}, "e", "many");
  CHECK(d.errors == 100);
}

static void test_long_line(Arena *a) {
  Sources s;
  sources_init(&s, a);
  char text[1001];
  memset(text, 'a', 1000);
  text[500] = '!';
  text[1000] = 0;
  uint32_t id = sources_add(&s, "long", text, 1000);
  Diags d;
  diags_init(&d, a, &s);
  diag_error(&d, (Span){id, 500, 1000}, "e", "here");
  const char *out = rendered(&d, 0, a);
  CHECK(strlen(out) < 400);
  const char *mark = strchr(out, '!'), *line = strstr(out, " 1 | ") + 5;
  const char *under = strstr(out, "     | ") + 7;
  CHECK(utf8_width(line, (size_t)(mark - line)) == (int)strspn(under, " "));
}

static void test_spelling(Arena *a) {
  SymTable t;
  symtable_init(&t, a);
  Sym names[] = {sym_of(&t, "velocity"), sym_of(&t, "length"), sym_of(&t, "fold"), sym_of(&t, "x")};
  CHECK(nearest_name(sym_of(&t, "velocty"), names, 4) == names[0]);
  CHECK(nearest_name(sym_of(&t, "lenght"), names, 4) == names[1]);
  CHECK(nearest_name(sym_of(&t, "fodl"), names, 4) == names[2]);
  CHECK(nearest_name(sym_of(&t, "y"), names, 4) == NULL);
  CHECK(nearest_name(sym_of(&t, "something"), names, 4) == NULL);
}

int main(void) {
  test_heap();
  test_texts_with_holes();
  test_arena_and_oom();
  Heap h;
  heap_init(&h);
  Arena a;
  arena_init(&a, &h);
  test_tables(&a);
  test_text(&a);
  test_diagnostics(&a);
  test_long_line(&a);
  test_spelling(&a);
  arena_free(&a);
  CHECK(h.bytes == 0);
  return check_result();
}
