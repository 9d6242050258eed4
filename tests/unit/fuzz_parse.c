/* SPDX-License-Identifier: MIT */
/* Feeds mutated programs to the lexer, parser, printer, splitter and the
 * renderer of diagnostics. Any text must end without a crash, with a tree or
 * with errors placed inside the text.
 *
 *   fuzz_parse [count [seed]]
 *
 * The same count and seed give the same texts. Build it with the sanitizers;
 * what it checks itself is that nothing is leaked, that an empty tree comes
 * with an error, and that splitting finds as many items as parsing. */
#define _GNU_SOURCE
#include "check.h"
#include "parser/parser.h"
#include <stdlib.h>
#include <string.h>

static const char *const seeds[] = {
    "let square x = x * x\nlet f (x : float) : float = sin x + square x ^ 2\nprint (grad f 0.5)\n",
    "type params = {w : float[], b : float}\nlet loss p xs ys = mean [ (dot p.w x - ys[i]) ^ 2 | i < length xs, x in "
    "xs ]\n",
    "let rec descend p n =\n  if n = 0 then p\n  else\n    let (l, g) = value_and_grad (fun p -> loss p) p in\n    "
    "descend (p - 0.1 * g) (n - 1)\n",
    "type 'a tree = Leaf | Node of 'a tree * 'a * 'a tree\nlet rec sum t = match t with | Leaf -> 0 | Node (l, x, r) "
    "when x > -1 -> sum l + x | _ :: y as z -> 1\n",
    "let f n =\n  let mut s = 0.0 in\n  for i = 0 to n - 1 do s += a[i, j]; p.b[i..] <- {q with w = 1, b = 2.}; "
    "done;\n  while s < 3.0 do s <- s + 1e-3 done; s\n",
    "print $\"loss {l:.4f} after {n + $\"{x}\" :: y} {{}} \\u{2202}\" (* c (* d *) *) # e\ntest \"t\" = r\"\\d\" ~= "
    "0xff\n",
    "import \"m.atl\" as M\nopen M\nforeign \"m\" h : num 'a => 'a list -> (int, float) result\npullback h x y = (M.f "
    "x, fun dy -> (dy, dy))\n",
    "let x = [1, 2] |> map (+) <| y >> z ++ a @ b % c ** d && e || not f <> g\nlet ∂f' = () ; true\nand q {w, b = _, "
    "..} = (-1)\n",
};
enum { SEEDS = sizeof seeds / sizeof *seeds, MAX_TEXT = 4096 };

static uint64_t next_random(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u;
  return hash_mix(0, *state);
}

static size_t pick(uint64_t *state, size_t n) { return n ? (size_t)(next_random(state) % n) : 0; }

/* Replaces text[at, at + cut) by n bytes; the length afterwards. */
static size_t splice(char *text, size_t len, size_t at, size_t cut, const char *with, size_t n) {
  if (len - cut + n > MAX_TEXT) return len;
  memmove(text + at + n, text + at + cut, len - at - cut);
  memcpy(text + at, with, n);
  return len - cut + n;
}

static size_t mutate(char *text, size_t len, uint64_t *state) {
  static const char *const tokens[] = {
      "(",    ")",   "[",  "]",    "{",    "}",  "let ", " in ",   "\n",     "\"",   "$\"{",   "(*",     "*)",
      "::",   " = ", "|",  "->",   ";",    "..", "fun ", "match ", " with ", "if ",  " then ", " else ", "type ",
      "and ", "'a",  "1.", "mut ", "rec ", "#",  "\\",   ",",      "<-",     "done", "\xff",   ":"};
  size_t at = pick(state, len + 1), rest = len - at;
  char byte = (char)next_random(state);
  const char *token = tokens[pick(state, sizeof tokens / sizeof *tokens)];
  const char *other = seeds[pick(state, SEEDS)];
  size_t from = pick(state, strlen(other)), cut = pick(state, rest < 12 ? rest + 1 : 12);
  switch (pick(state, 6)) {
  case 0: return splice(text, len, at, cut, "", 0);
  case 1: return splice(text, len, at, 0, &byte, 1);
  case 2: return splice(text, len, at, rest ? 1 : 0, &byte, 1);
  case 3: return splice(text, len, at, cut, token, strlen(token));
  case 4: return splice(text, len, at, 0, token, strlen(token));
  default: return splice(text, len, at, 0, other + from, pick(state, strlen(other) - from) + 1);
  }
}

static void try_text(Lexer *lx, Heap *heap, const char *text, size_t len) {
  Arena arena;
  SymTable syms;
  Sources sources;
  Diags diags;
  arena_init(&arena, heap);
  symtable_init(&syms, &arena);
  sources_init(&sources, &arena);
  diags_init(&diags, &arena, &sources);
  uint32_t id = sources_add(&sources, "fuzz", text, len);
  Program *p = parse_program(lx, &arena, &syms, &diags, id);
  Str out = {.arena = &arena};
  ast_print(p, &out);
  for (int i = 0; i < diags.all.len; i++) {
    CHECK(diags.all.data[i].at.end <= len && diags.all.data[i].at.start <= diags.all.data[i].at.end);
    diag_render(&diags.all.data[i], &sources, i & 1, &out);
  }
  ItemRange *items;
  int n = split_items(lx, &arena, &syms, sources_get(&sources, id), &items);
  bool starts_in_column0 = len && !strchr(" \t\n\r\f#(", text[0]);
  bool holes = memmem(text, len, "$\"", 2); /* a line break in one can part them: not followed when splitting */
  if (diags.errors == 0 && starts_in_column0 && !holes && n != p->items.len) {
    CHECK(n == p->items.len);
    fwrite(text, 1, len, stderr);
  }
  arena_free(&arena);
}

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 10000;
  uint64_t state = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
  Heap heap;
  heap_init(&heap);
  Lexer *lx = lexer_new(&heap, 0);
  size_t base = heap.bytes;
  for (long i = 0; i < count; i++) {
    char text[MAX_TEXT];
    const char *seed = seeds[pick(&state, SEEDS)];
    size_t len = strlen(seed);
    memcpy(text, seed, len);
    for (size_t k = pick(&state, 8) + 1; k > 0; k--) len = mutate(text, len, &state);
    try_text(lx, &heap, text, len);
    CHECK(heap.bytes == base);
  }
  lexer_free(lx);
  return check_result();
}
