/* SPDX-License-Identifier: MIT */
/* Sources in which somebody is typing: the item at the cursor rarely parses, but what may stand there has to be known
 * of its tree.
 *
 * A word that no program has takes the place of the one at the cursor. If the item doesn't parse then, what follows the
 * word is left out, and what is open before it is closed: brackets, and what each keyword still needs.
 *
 *     let f x = let y = g (x, if x.▮      let f x = let y = g (x, if x.word then ()) in ()
 */
#include "api/query.h"
#include <string.h>

const char unfinished_word[] = "unfinished_word'";

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '\'' ||
         (unsigned char)c >= 0x80;
}

/* ---- What is open -------------------------------------------------------------------------------------- */
typedef enum Open {
  OPEN_PAREN,
  OPEN_BRACKET,
  OPEN_BRACE,
  OPEN_HOLE, /* of a string */
  OPEN_IF,
  OPEN_MATCH,
  OPEN_CASE,   /* of a match: its pattern */
  OPEN_RESULT, /* … its value */
  OPEN_FUN,
  OPEN_LOOP,
  OPEN_BODY, /* of a loop */
  OPEN_LET,
  OPEN_VALUE,      /* of a let: behind its `=` */
  OPEN_DEFINITION, /* the item's own let */
  OPEN_ITEM        /* its value */
} Open;

static const char *const ends[] = {
    [OPEN_PAREN] = ")",      [OPEN_BRACKET] = "]",           [OPEN_BRACE] = "}",     [OPEN_HOLE] = "}\"",
    [OPEN_IF] = " then ()",  [OPEN_MATCH] = " with _ -> ()", [OPEN_CASE] = " -> ()", [OPEN_RESULT] = "",
    [OPEN_FUN] = " -> ()",   [OPEN_LOOP] = " do () done",    [OPEN_BODY] = " done",  [OPEN_LET] = " = () in ()",
    [OPEN_VALUE] = " in ()", [OPEN_DEFINITION] = " = ()",    [OPEN_ITEM] = ""};

typedef struct Stack {
  Arena *arena;
  Vec(Open) all;
} Stack;

static void open(Stack *s, Open what) { vec_push(s->arena, s->all, what); }

static bool is_top(const Stack *s, Open what) { return s->all.len && s->all.data[s->all.len - 1] == what; }

static bool replace_top(Stack *s, Open old, Open new) {
  if (is_top(s, old)) s->all.data[s->all.len - 1] = new;
  return is_top(s, new);
}

static bool close_top(Stack *s, Open what) {
  if (!is_top(s, what)) return false;
  s->all.len--;
  return true;
}

/* Closes the innermost of these, with all that is open in it. */
static void close_to(Stack *s, Open what, Open or_what) {
  for (int i = s->all.len; i--;)
    if (s->all.data[i] == what || s->all.data[i] == or_what) {
      s->all.len = i;
      return;
    }
}

/* A bar between cases ends the value before it; any other one is within brackets or a pattern. */
static void step_bar(Stack *s) {
  for (int i = s->all.len; i-- && s->all.data[i] > OPEN_HOLE;)
    if (s->all.data[i] == OPEN_RESULT) {
      s->all.len = i + 1;
      s->all.data[i] = OPEN_CASE;
      return;
    }
}

static void step(Stack *s, TokenKind kind, bool first) {
  switch (kind) {
  case TOK_LPAREN: open(s, OPEN_PAREN); return;
  case TOK_LBRACKET: open(s, OPEN_BRACKET); return;
  case TOK_LBRACE: open(s, OPEN_BRACE); return;
  case TOK_INTERP_BEGIN: open(s, OPEN_HOLE); return;
  case TOK_IF: open(s, OPEN_IF); return;
  case TOK_MATCH: open(s, OPEN_MATCH); return;
  case TOK_FUN: open(s, OPEN_FUN); return;
  case TOK_FOR:
  case TOK_WHILE: open(s, OPEN_LOOP); return;
  case TOK_LET: open(s, first ? OPEN_DEFINITION : OPEN_LET); return;
  case TOK_RPAREN: close_to(s, OPEN_PAREN, OPEN_PAREN); return;
  case TOK_RBRACKET: close_to(s, OPEN_BRACKET, OPEN_BRACKET); return;
  case TOK_RBRACE: close_to(s, OPEN_BRACE, OPEN_BRACE); return;
  case TOK_INTERP_END: close_to(s, OPEN_HOLE, OPEN_HOLE); return;
  case TOK_DONE: close_to(s, OPEN_BODY, OPEN_LOOP); return;
  case TOK_THEN: close_top(s, OPEN_IF); return;
  case TOK_WITH: replace_top(s, OPEN_MATCH, OPEN_CASE); return;
  case TOK_BAR: step_bar(s); return;
  case TOK_ARROW:
    if (!close_top(s, OPEN_FUN)) replace_top(s, OPEN_CASE, OPEN_RESULT);
    return;
  case TOK_DO: replace_top(s, OPEN_LOOP, OPEN_BODY); return;
  case TOK_EQ:
    if (!replace_top(s, OPEN_LET, OPEN_VALUE)) replace_top(s, OPEN_DEFINITION, OPEN_ITEM);
    return;
  case TOK_AND:
    if (!replace_top(s, OPEN_VALUE, OPEN_LET)) replace_top(s, OPEN_ITEM, OPEN_DEFINITION);
    return;
  case TOK_IN:
    while (close_top(s, OPEN_RESULT)) {}
    if (!close_top(s, OPEN_VALUE)) close_top(s, OPEN_ITEM);
    return;
  default: return;
  }
}

/* ---- The source ---------------------------------------------------------------------------------------- */
typedef struct Draft {
  AtledVM *vm;
  const char *text; /* with the word */
  uint32_t source;
  size_t word, item, item_end; /* bytes of it */
} Draft;

static Diags *own_diags(AtledVM *vm) {
  Diags *d = NEW(&vm->scratch, Diags);
  diags_init(d, &vm->scratch, &vm->sources);
  return d;
}

static bool find_item(Draft *d) {
  AtledVM *vm = d->vm;
  ItemRange *ranges;
  const Source *s = sources_get(&vm->sources, d->source);
  int n = split_items(vm->lexer, &vm->scratch, &vm->syms, s, &ranges);
  for (int i = n; i--;) {
    if (ranges[i].start > d->word) continue;
    d->item = ranges[i].start;
    d->item_end = i + 1 < n ? ranges[i + 1].start : s->len;
    return true;
  }
  return false;
}

/* Closes what is open before the word. False: the word is no token, but part of a comment or a string. */
static bool add_ends(Draft *d, Str *out) {
  AtledVM *vm = d->vm;
  Stack s = {.arena = &vm->scratch};
  Tokens tokens =
      lex(vm->lexer, &vm->scratch, &vm->syms, own_diags(vm), d->source, (uint32_t)d->item, (uint32_t)d->item_end);
  int i = 0;
  for (; tokens.data[i].kind != TOK_EOF && tokens.data[i].start < d->word; i++) step(&s, tokens.data[i].kind, i == 0);
  if (tokens.data[i].kind == TOK_EOF || tokens.data[i].start != d->word) return false;
  while (s.all.len) str_puts(out, ends[s.all.data[--s.all.len]]);
  return true;
}

static bool parses(const Draft *d) {
  Diags *diags = own_diags(d->vm);
  parse_range(d->vm->lexer, &d->vm->arena, &d->vm->syms, diags, d->source, (uint32_t)d->item, (uint32_t)d->item_end);
  return diags->errors == 0;
}

/* The source with the word, `after`, and what follows from byte `end` on. */
static void begin_draft(Draft *d, const char *source, const char *after, size_t end) {
  d->text = arena_printf(&d->vm->scratch, "%.*s%s%s%s", (int)d->word, source, unfinished_word, after, source + end);
  d->source = sources_add(&d->vm->sources, "<unfinished>", d->text, strlen(d->text));
}

/* Finds what is open before the word, which may stand in a hole of a string that isn't finished either. */
static bool find_ends(Draft *d, const char *source, size_t end, Str *out) {
  begin_draft(d, source, "", end);
  if (find_item(d) && add_ends(d, out)) return true;
  begin_draft(d, source, "}\"", end + strcspn(source + end, "\n"));
  return find_item(d) && add_ends(d, out);
}

const char *unfinished_source(AtledVM *vm, const char *source, size_t at, size_t *start) {
  size_t end = at;
  while (at && is_word_byte(source[at - 1])) at--;
  while (is_word_byte(source[end])) end++;
  *start = at;
  Draft d = {.vm = vm, .word = at};
  Str out = {.arena = &vm->scratch}, closing = {.arena = &vm->scratch};
  if (!find_ends(&d, source, end, &closing)) return NULL;
  if (parses(&d)) return d.text;
  str_add(&out, d.text, at + strlen(unfinished_word));
  if (closing.len) str_add(&out, closing.data, closing.len);
  str_addc(&out, '\n');
  str_puts(&out, d.text + d.item_end);
  return out.data;
}
