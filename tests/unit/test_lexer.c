/* SPDX-License-Identifier: MIT */
/* Tests of src/lexer: each class of token, literals and their values, the flags
 * that layout and indexing need, interpolated strings, documentation comments,
 * and that bad input gives a diagnostic at its place. */
#include "check.h"
#include "fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Tokens run(Fixture *f, const char *text, size_t len) {
  diags_init(&f->diags, &f->arena, &f->sources);
  uint32_t id = sources_add(&f->sources, "t", text, len);
  return lex(f->lx, &f->arena, &f->syms, &f->diags, id, 0, (uint32_t)len);
}

/* The tokens in one line: spellings, and values of literals; `^` before one in column 0, `~` for one
 * with nothing before it. */
static const char *shown(Fixture *f, const char *text) {
  Tokens t = run(f, text, strlen(text));
  Str out = {.arena = &f->arena};
  for (int i = 0; i < t.len - 1; i++) {
    Token *k = &t.data[i];
    if (i) str_addc(&out, ' ');
    if (k->column0) str_addc(&out, '^');
    else if (!k->space_before) str_addc(&out, '~');
    switch (k->kind) {
    case TOK_INT: str_printf(&out, "%lld", (long long)k->i); break;
    case TOK_FLOAT: str_printf(&out, "%gf", k->f); break;
    case TOK_IDENT: str_puts(&out, k->text); break;
    case TOK_UPPER: str_printf(&out, "C:%s", k->text); break;
    case TOK_TYVAR: str_printf(&out, "'%s", k->text); break;
    case TOK_STRING: str_printf(&out, "\"%s\"", k->text); break;
    case TOK_INTERP_BEGIN: str_printf(&out, "<%s|", k->text); break;
    case TOK_INTERP_MID: str_printf(&out, "|%s|", k->text); break;
    case TOK_INTERP_END: str_printf(&out, "|%s>", k->text); break;
    case TOK_INTERP_FORMAT: str_printf(&out, ":%s:", k->text); break;
    default: str_puts(&out, token_text(k->kind)); break;
    }
  }
  CHECK(t.data[t.len - 1].kind == TOK_EOF);
  return out.data ? out.data : "";
}

static void test_words_and_symbols(Fixture *f) {
  CHECK_STR(shown(f, "let f x' = x'+1"), "^let f x' = x' ~+ ~1");
  CHECK_STR(shown(f, "∂ _a _ Some 'a letx σ2"), "^∂ _a _ C:Some 'a letx σ2");
  CHECK_STR(shown(f, "a<-b |> c <| >> :: : .. . ** ++ += -= *= /= -> => ~= <> <= >= && ||"),
            "^a ~<- ~b |> c <| >> :: : .. . ** ++ += -= *= /= -> => ~= <> <= >= && ||");
  CHECK_STR(shown(f, "( * ) (+)"), "^( * ) ( ~+ ~)");
  CHECK_STR(shown(f, "== !="), "^== !=");
  CHECK_STR(shown(f, "a\nb\n c"), "^a ^b c");
  CHECK(f->diags.errors == 0);
}

/* Each row of tokens.def whose text is its spelling is read as itself, before a blank and before any other row. */
static void test_table(Fixture *f) {
  for (int k = 0; k < TOK_COUNT; k++) {
    const char *text = token_text((TokenKind)k);
    CHECK(text[0] != 0);
    if (!token_is_fixed((TokenKind)k)) continue;
    Tokens t = run(f, text, strlen(text));
    CHECK(t.len == 2 && t.data[0].kind == (TokenKind)k && t.data[0].end == strlen(text));
    CHECK(token_is_keyword((TokenKind)k) == (text[0] >= 'a' && text[0] <= 'z'));
    t = run(f, arena_printf(&f->arena, "%sx", text), strlen(text) + 1);
    CHECK(t.data[0].kind == (token_is_keyword((TokenKind)k) || k == TOK_UNDERSCORE ? TOK_IDENT : (TokenKind)k));
  }
}

static void test_numbers(Fixture *f) {
  CHECK_STR(shown(f, "42 1_000 0xff 3.14 1e-3 2. 1..3 2.5e2"), "^42 1000 255 3.14f 0.001f 2f 1 ~.. ~3 250f");
  CHECK_STR(shown(f, "a[2..] 9223372036854775807 -9223372036854775808"),
            "^a ~[ ~2 ~.. ~] 9223372036854775807 - ~-9223372036854775808");
  CHECK(f->diags.errors == 0);
  shown(f, "9223372036854775808");
  CHECK(f->diags.errors == 1 && strcmp(f->diags.all.data[0].code, "int-overflow") == 0);
  shown(f, "x 12ab");
  CHECK(f->diags.errors == 1 && f->diags.all.data[0].at.start == 2 && f->diags.all.data[0].at.end == 6);
  CHECK_STR(shown(f, "1_.5_0e+1_0 7E2 0x1_f 0xg"), "^1.5e+10f 700f 31 0");
  CHECK(f->diags.errors == 1 && f->diags.all.data[0].at.start == 22 && f->diags.all.data[0].at.end == 25);
  CHECK_STR(shown(f, "1.5x 1e+ 2e"), "^1 ~. ~0 0 ~+ 0"); /* a number that a letter follows has no point */
  CHECK(f->diags.errors == 3);
  Tokens t = run(f, "0.1 123456789012345678901234567890.5", 36);
  CHECK(t.data[0].f == 0.1 && t.data[1].f == 123456789012345678901234567890.5);
}

static void test_strings(Fixture *f) {
  CHECK_STR(shown(f, "\"a\\n\\t\\\"\\\\\\x41\\u{2202}\" r\"\\d+\""), "^\"a\n\t\"\\A∂\" \"\\d+\"");
  Tokens t = run(f, "\"a\\0b\"", 6);
  CHECK(sym_len(t.data[0].text) == 3);
  CHECK_STR(shown(f, "$\"loss {l:.4f} after {n} steps\""), "^<loss | ~l ~:.4f: ~| after | ~n ~| steps>");
  CHECK_STR(shown(f, "$\"{f {x = 1} :: [a : t]:g}\""), "^<| ~f { ~x = 1 ~} :: [ ~a : t ~] ~:g: ~|>");
  CHECK_STR(shown(f, "$\"a{$\"b{\"c}\"}d\"}e\""), "^<a| ~<b| ~\"c}\" ~|d> ~|e>");
  CHECK_STR(shown(f, "$\"{{}} {x}}}\""), "^<{} | ~x ~|}>");
  CHECK_STR(shown(f, "$\"plain {{\""), "^\"plain {\"");
  CHECK_STR(shown(f, "$\"{\nx\n}\" y"), "^<| x |> y");
  CHECK_STR(shown(f, "$\"\\u{41}{{{x}}}\" r\"\\\""), "^<A{| ~x ~|}> \"\\\"");
  CHECK(f->diags.errors == 0 && !f->diags.incomplete);
  shown(f, "let x = \"abc\\q\"");
  CHECK(f->diags.errors == 1 && f->diags.all.data[0].at.start == 12 && f->diags.all.data[0].at.end == 14);
  shown(f, "let x = \"abc");
  CHECK(f->diags.errors == 1 && f->diags.incomplete && f->diags.all.data[0].at.start == 8);
  shown(f, "let x = $\"abc {y ");
  CHECK(f->diags.errors == 1 && f->diags.incomplete && f->diags.all.data[0].at.start == 8);
  shown(f, "let x = $\"abc {y} z");
  CHECK(f->diags.errors == 1 && f->diags.incomplete && f->diags.all.data[0].at.start == 8);
}

static void test_comments(Fixture *f) {
  CHECK_STR(shown(f, "#!/usr/bin/env atled\nlet (* a (* b *) c *) x # y\n= 1"), "^let x ^= 1");
  CHECK_STR(shown(f, "a(*)*)b"), "^a b");
  const char *text = "# One.\n#  Two.\nlet x = 1 # no\nlet y\n# far\n\nlet z\n(* block\n   end *)\nlet w";
  Tokens t = run(f, text, strlen(text));
  const char *want[] = {"One.\n Two.", NULL, NULL, "block\nend"};
  for (int i = 0, n = 0; i < t.len; i++) {
    if (t.data[i].kind != TOK_LET) continue;
    if (want[n]) CHECK_STR(t.data[i].doc, want[n]);
    else CHECK(t.data[i].doc == NULL);
    n++;
  }
  shown(f, "a (* b (* c *)");
  CHECK(f->diags.errors == 1 && f->diags.incomplete && f->diags.all.data[0].at.start == 2);
  shown(f, "a (*");
  CHECK(f->diags.errors == 1 && f->diags.incomplete);
}

static void test_bad_bytes(Fixture *f) {
  run(f, "let \xff x", 7);
  CHECK(f->diags.errors == 1 && f->diags.all.data[0].at.start == 4);
  run(f, "a\0b", 3);
  CHECK(f->diags.errors == 1 && f->diags.all.data[0].at.start == 1);
  CHECK_STR(shown(f, "x “y” ? 1"), "^x y 1");
  CHECK(f->diags.errors == 3);
  CHECK_STR(shown(f, "\xef\xbb\xbflet x"), "^let x");
  CHECK(f->diags.errors == 0);
  srand(7);
  for (int i = 0; i < 2000; i++) {
    char bytes[64];
    for (size_t j = 0; j < sizeof bytes; j++) bytes[j] = (char)(rand() >> 5);
    Tokens t = run(f, bytes, (size_t)(rand() % 64));
    CHECK(t.len > 0 && t.data[t.len - 1].kind == TOK_EOF);
  }
}

static void test_long_and_fast(Fixture *f) {
  size_t n = 1 << 20;
  char *big = arena_alloc(&f->arena, n + 1);
  memset(big, 'x', n);
  big[0] = '"';
  for (size_t i = 5; i + 5 < n; i += 64) memcpy(big + i, "\\n", 2);
  big[n - 1] = '"';
  Tokens t = run(f, big, n);
  CHECK(f->diags.errors == 0 && t.len == 2 && sym_len(t.data[0].text) > 1000000);
  for (size_t i = 0; i + 20 <= n; i += 20) memcpy(big + i, "let f x1 = (x +2.5)\n", 20);
  clock_t start = clock();
  t = run(f, big, n - n % 20);
  double ms = 1000.0 * (double)(clock() - start) / CLOCKS_PER_SEC;
  CHECK(f->diags.errors == 0 && t.len > 450000);
  printf("%d tokens in %.1f ms\n", t.len, ms);
  start = clock();
  Lexer *lx = lexer_new(&f->heap, 0);
  printf("lexer_new: %.2f ms\n", 1000.0 * (double)(clock() - start) / CLOCKS_PER_SEC);
  lexer_free(lx);
}

static void test_out_of_memory(void) {
  for (int64_t n = 1; n < 100; n++) {
    Heap h;
    heap_init(&h);
    h.fail_at = n;
    Lexer *lx = lexer_new(&h, 0);
    bool failed = h.fail_at == 0;
    CHECK((lx != NULL) == !failed);
    lexer_free(lx);
    CHECK(h.bytes == 0);
    if (!failed) return;
  }
}

int main(void) {
  Fixture f;
  fixture_open(&f);
  CHECK(f.lx != NULL);
  test_words_and_symbols(&f);
  test_table(&f);
  test_numbers(&f);
  test_strings(&f);
  test_comments(&f);
  test_bad_bytes(&f);
  test_long_and_fast(&f);
  fixture_close(&f);
  test_out_of_memory();
  return check_result();
}
