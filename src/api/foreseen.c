/* SPDX-License-Identifier: MIT */
/* Reports what is known to fail before it runs.
 *
 *   facts/sure_failures.c   which nodes of an item's or a function's graph fail in each run
 *   here                    the messages, as a run would give them, and their places in the program
 *   shapes.c                where the arrays were made whose sizes can't agree
 *   static_check.c          `check` asks about all items and functions, a run about the items that it compiles
 *
 * `fail` and `assert` of the program itself are left out: they say what the program wants. Those of the library stand
 * for its functions' demands. */
#include "api/foreseen.h"
#include "facts/sure_failures.h"
#include "ir/compilation.h"
#include <string.h>

/* ---- Places ------------------------------------------------------------------------------------ */
/* The innermost place of the chain that the user wrote; source 0: there is none. */
static Span user_place(const AtledVM *vm, Site site) {
  for (; site; site = ir_site_info(vm->world, site)->parent) {
    const SiteInfo *x = ir_site_info(vm->world, site);
    if (x->at.source && !x->library) return x->at;
  }
  return (Span){0};
}

static bool is_of_library(const AtledVM *vm, Site site) { return site && ir_site_info(vm->world, site)->library; }

static bool is_wanted(const AtledVM *vm, const Node *n) {
  bool of_program = n->op == OP_FAIL ? n->attr.i == FAIL_USER : n->op == OP_CHECK_SIZE && n->attr.text;
  if (of_program) return is_of_library(vm, n->site);
  if (n->op == OP_FAIL) return n->attr.i == FAIL_MATCH || n->attr.i == FAIL_SHAPE;
  return n->op != OP_CHECK || is_of_library(vm, n->site);
}

/* ---- Messages ---------------------------------------------------------------------------------- */
static const char *const unknown = "…"; /* in place of a number or text that only a run knows */

/* A text as far as it is known: of constants, numbers that are shown, and such texts put together. */
static void add_text(AtledVM *vm, const Node *x, bool quoted, Str *out, int depth) {
  if (depth > LIMIT_SURE_DEPTH) return;
  int rt = x->op == OP_RT ? ir_rt_id(x->attr.rt) : -1;
  bool parts = rt == RTP_CONCAT_STRINGS || rt == RTP_CONCAT_STRING || x->op == OP_ARRAY || x->op == OP_DATA;
  if (x->op == OP_AFTER || rt == RTP_DISPLAY || rt == RTP_SHOW)
    add_text(vm, x->ops[0], rt == RTP_SHOW || (quoted && rt < 0), out, depth + 1);
  else if (x->op == OP_STRING) str_printf(out, quoted ? "\"%s\"" : "%s", x->attr.text);
  else if (x->op == OP_INT) str_printf(out, "%lld", (long long)x->attr.i);
  else if (!parts) str_puts(out, unknown);
  for (int k = 0; parts && k < x->nops; k++) add_text(vm, x->ops[k], false, out, depth + 1);
}

static const char *text_of(AtledVM *vm, const Node *x) {
  Str out = {.arena = &vm->scratch};
  add_text(vm, x, false, &out, 0);
  return out.data ? out.data : "";
}

static const char *number(AtledVM *vm, const SureFailure *f, int k) {
  return f->known[k] ? arena_printf(&vm->scratch, "%lld", (long long)f->values[k]) : unknown;
}

static Foreseen sizes_differ(AtledVM *vm, const SureFailure *f) {
  const char *n = number(vm, f, 0), *m = number(vm, f, 1), *text = f->node->attr.text;
  if (!text)
    return (Foreseen){ERR_SHAPE, arena_printf(&vm->scratch, "different shapes: length %s and length %s", n, m)};
  size_t size = text_fill(NULL, 0, text, n, m) + 1;
  char *message = arena_alloc(&vm->scratch, size);
  text_fill(message, size, text, n, m);
  return (Foreseen){ERR_FAIL, message};
}

static const char *index_message(AtledVM *vm, const SureFailure *f) {
  const char *i = number(vm, f, 0);
  if (!f->known[0] && !f->known[1]) return "an index is out of bounds, whatever the array's length is";
  if (f->known[1] && f->values[1] == 0)
    return arena_printf(&vm->scratch, "index %s is out of bounds for an empty array", i);
  return arena_printf(&vm->scratch, "index %s is out of bounds for an array of length %s", i, number(vm, f, 1));
}

static const char *rows_message(AtledVM *vm, const Node *x) {
  for (int k = 1; k < x->nops; k++) {
    Node *first = ir_len(vm->world, x->ops[0], 0), *other = ir_len(vm->world, x->ops[k], 0);
    if (first->op != OP_INT || other->op != OP_INT || first == other) continue;
    return arena_printf(&vm->scratch, "irregular array: its first row has length %lld, another one length %lld",
                        (long long)first->attr.i, (long long)other->attr.i);
  }
  return "irregular array";
}

static const char *counts_message(AtledVM *vm, const Node *x) {
  Node *before = ir_product(vm->world, ir_dims(vm->world, x->ops[0]), ir_rank(x->ops[0]->type));
  Node *after = ir_product(vm->world, x->ops + 1, x->nops - 1);
  return arena_printf(&vm->scratch, "different shapes: length %lld and length %lld", (long long)before->attr.i,
                      (long long)after->attr.i);
}

static Foreseen kind_of(AtledVM *vm, const SureFailure *f) {
  const Node *n = f->node;
  Arena *a = &vm->scratch;
  switch (n->op) {
  case OP_CHECK_INDEX: return (Foreseen){ERR_INDEX, index_message(vm, f)};
  case OP_CHECK_SLICE:
    return (Foreseen){ERR_SLICE, arena_printf(a, "slice %s..%s is out of bounds for an array of length %s",
                                              number(vm, f, 0), number(vm, f, 1), number(vm, f, 2))};
  case OP_CHECK_SIZE: return sizes_differ(vm, f);
  case OP_CHECK_NONZERO: return (Foreseen){ERR_DIVISION, "division by zero"};
  case OP_CHECK_DEPTH: return (Foreseen){ERR_STACK, "stack overflow: too many calls inside each other"};
  case OP_CHECK_NAT:
    return (Foreseen){ERR_RANGE, arena_printf(a, "%s can't be negative, but it is %s",
                                              n->attr.text ? n->attr.text : "a size", number(vm, f, 0))};
  case OP_ARRAY: return (Foreseen){ERR_IRREGULAR, rows_message(vm, n)};
  case OP_RESHAPE: return (Foreseen){ERR_SHAPE, counts_message(vm, n)};
  case OP_FAIL:
    return (Foreseen){n->attr.i == FAIL_MATCH   ? ERR_MATCH
                      : n->attr.i == FAIL_SHAPE ? ERR_SHAPE
                                                : ERR_FAIL,
                      text_of(vm, n->ops[0])};
  default: return (Foreseen){ERR_ASSERT, text_of(vm, n->ops[1])};
  }
}

/* ---- Patterns ---------------------------------------------------------------------------------- */
/* Is it a call with a constant text that is no regular expression? Then rt.error says what is wrong with that. */
static bool has_bad_pattern(AtledVM *vm, const Node *n) {
  if (!n->attr.rt->pattern || n->ops[0]->op != OP_STRING) return false;
  Sym text = n->ops[0]->attr.text;
  bool bad = rt_try_pattern(&vm->rt, text, sym_len(text)) != 0;
  if (bad && vm->rt.error.kind == ERR_MEMORY) heap_out_of_memory(&vm->heap);
  return bad && vm->rt.error.kind == ERR_REGEX;
}

/* ---- Matrices ---------------------------------------------------------------------------------- */
/* The numbers of rows and columns of operand k of a product of matrices, as its flag k - 2 has it transposed. False:
 * they aren't known. */
static bool matrix_shape(AtledVM *vm, const Node *n, int k, int64_t shape[2]) {
  if (n->ops[k - 2]->op != OP_BOOL) return false;
  bool transposed = n->ops[k - 2]->attr.i != 0;
  for (int d = 0; d < 2; d++) {
    const Node *length = ir_len(vm->world, n->ops[k], d ^ transposed);
    if (length->op != OP_INT) return false;
    shape[d] = length->attr.i;
  }
  return true;
}

static bool has_bad_matrices(AtledVM *vm, const Node *n) {
  int64_t a[2], b[2];
  if (ir_rt_id(n->attr.rt) != RTP_MATMUL) return false;
  return matrix_shape(vm, n, 2, a) && matrix_shape(vm, n, 3, b) && a[0] && a[1] != b[0];
}

static Foreseen bad_matrices(AtledVM *vm, const Node *n) {
  int64_t a[2] = {0}, b[2] = {0};
  matrix_shape(vm, n, 2, a);
  matrix_shape(vm, n, 3, b);
  return (Foreseen){ERR_SHAPE,
                    arena_printf(&vm->scratch, "a %lld x %lld matrix can't be multiplied by a %lld x %lld one",
                                 (long long)a[0], (long long)a[1], (long long)b[0], (long long)b[1])};
}

static bool is_refused(void *user, const Node *n) {
  AtledVM *vm = user;
  if (has_bad_matrices(vm, n)) return true;
  bool bad = has_bad_pattern(vm, n);
  rt_clear_error(&vm->rt);
  return bad;
}

static Foreseen bad_pattern(AtledVM *vm, const Node *n, Span *at) {
  Foreseen f = {ERR_REGEX, "bad pattern"};
  if (has_bad_pattern(vm, n)) {
    *at = report_quoted_place(vm, &vm->rt.error, *at);
    f.message = arena_printf(&vm->scratch, "%s", vm->rt.error.message);
  }
  rt_clear_error(&vm->rt);
  return f;
}

/* ---- Reports ----------------------------------------------------------------------------------- */
/* A place as the key of a map. Two places seldom have the same. */
static const void *key_of(Span at) {
  uint64_t key = ((uint64_t)at.source * 1000003u + at.start) * 1000003u + at.end;
  return (const void *)(uintptr_t)(key << 1 | 1);
}

static bool within(Span outer, Span inner) {
  return outer.source == inner.source && outer.start <= inner.start && inner.end <= outer.end;
}

/* The outermost place of a failure that lies in the item. */
static Span place_in_item(const AtledVM *vm, Site site, const Item *item) {
  Span found = item->span;
  for (; site; site = ir_site_info(vm->world, site)->parent) {
    Span at = ir_site_info(vm->world, site)->at;
    if (within(item->span, at)) found = at;
  }
  return found;
}

static Diag *new_diag(AtledVM *vm, Severity severity, Span at, const Foreseen *f) {
  const char *code = report_kind(f->kind);
  return severity == SEV_ERROR ? diag_error(&vm->diags, at, code, "%s", f->message)
                               : diag_warning(&vm->diags, at, code, "%s", f->message);
}

static void report_failure(AtledVM *vm, const SureFailure *f, const ForeseenIn *in) {
  Span place = user_place(vm, f->node->site), at = place;
  if (!at.source) at = place = in->item->span;
  if (in->kept && !map_get(in->kept, key_of(place))) return;
  if (in->reported && map_get(in->reported, key_of(place))) return;
  if (in->reported) map_put(in->reported, key_of(place), vm);
  Foreseen found = f->node->op != OP_RT            ? kind_of(vm, f)
                   : has_bad_matrices(vm, f->node) ? bad_matrices(vm, f->node)
                                                   : bad_pattern(vm, f->node, &at);
  Diag *d = new_diag(vm, in->severity, at, &found);
  d->label = in->function && within(in->item->span, at) ? "each call fails here" : "this is sure to fail";
  bool of_arrays = found.kind == ERR_SHAPE || found.kind == ERR_FAIL;
  if (of_arrays && f->node->op != OP_RESHAPE) shapes_note(vm, place, d);
  if (d->also.source || within(in->item->span, at)) return;
  d->also = place_in_item(vm, f->node->site, in->item);
  d->also_label = "it is run from here";
}

bool foreseen_fails(AtledVM *vm, Graph *g, Map *met) {
  if (!(g->flags & NODE_FAILS)) return false;
  SureFailures s = {.w = vm->world, .refused = is_refused, .user = vm, .met = met};
  compilation_begin(vm->world);
  bool fails = facts_surely_fails(&s, g);
  compilation_end(vm->world);
  return fails;
}

void foreseen_report(AtledVM *vm, Graph *g, const ForeseenIn *in) {
  SureFailures s = {.w = vm->world, .refused = is_refused, .user = vm};
  compilation_begin(vm->world);
  facts_surely_fails(&s, g);
  for (int i = 0; i < s.found.len; i++)
    if (is_wanted(vm, s.found.data[i].node)) report_failure(vm, &s.found.data[i], in);
  compilation_end(vm->world);
}

static void add_places(AtledVM *vm, const FoundNodes *found, Map *places) {
  for (int i = 0; i < found->len; i++) {
    Span at = user_place(vm, found->data[i]->site);
    if (at.source) map_put(places, key_of(at), places);
  }
}

void foreseen_places(AtledVM *vm, Graph *g, Map *places) {
  FoundNodes found = {0};
  compilation_begin(vm->world);
  facts_find_failing(vm->world, g, &found);
  add_places(vm, &found, places);
  compilation_end(vm->world);
}

void foreseen_attempted(AtledVM *vm, Graph *const *graphs, int n, Map *places) {
  FoundNodes found = {0};
  compilation_begin(vm->world);
  facts_find_attempted(vm->world, graphs, n, &found);
  add_places(vm, &found, places);
  compilation_end(vm->world);
}

/* ---- Derivative rules -------------------------------------------------------------------------- */
bool foreseen_lacks_rules(const AtledVM *vm) {
  for (int i = 0; i < vm->world->funcs.len; i++) {
    const Func *f = vm->world->funcs.data[i];
    if (f->foreign.symbol && !f->pullback && !f->tangent) return true;
  }
  return false;
}

static void report_missing(AtledVM *vm, const Node *fail) {
  Span at = user_place(vm, fail->site);
  Diag *d = diag_error(&vm->diags, at, report_kind(ERR_RULE), "%s", text_of(vm, fail->ops[0]));
  d->hint = fail->attr.i == FAIL_NO_RULE
                ? "a `pullback` or `tangent` behind its declaration is its derivative; `stop_gradient` of its argument "
                  "makes that a constant"
                : report_underivable_hint;
}

bool foreseen_missing_rules(AtledVM *vm, Graph *g) {
  FoundNodes found = {0};
  compilation_begin(vm->world);
  facts_find_fails(vm->world, g, FAIL_NO_RULE, &found);
  facts_find_fails(vm->world, g, FAIL_EFFECT, &found);
  for (int i = 0; i < found.len; i++) report_missing(vm, found.data[i]);
  compilation_end(vm->world);
  return found.len > 0;
}
