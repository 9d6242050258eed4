/* SPDX-License-Identifier: MIT */
/* Questions of editors about a source: atled_query.
 *
 * Each call parses and checks the source anew, whatever errors it has, and looks at its tree; then names mean again
 * what they did. Five thousand lines take some 15 ms, so nothing is kept between calls that an edit would have to
 * change. */
#include "api/query.h"
#include <string.h>

/* ---- Uses ---------------------------------------------------------------------------------------------- */
typedef struct UseSearch {
  Ask *ask;
  Span target;
  const Module *module; /* of the library, which is defined in no file; or NULL */
} UseSearch;

static bool is_target(const UseSearch *u, const NamePlace *p) {
  const AtledQuery *q = &u->ask->query;
  Span at = p->target;
  if (!q->file && u->module) return p->module == u->module;
  if (!q->file) return same_target(u->target, at);
  return at.source && at.start == q->at && strcmp(sources_get(&u->ask->vm->sources, at.source)->name, q->file) == 0;
}

static void add_use(void *user, const NamePlace *p) {
  const UseSearch *u = user;
  Str *out = &u->ask->out;
  if (p->what == NAME_FIELD || !is_target(u, p)) return;
  json_next(out, NULL);
  str_addc(out, '{');
  json_number(out, "start", p->at.start);
  json_number(out, "end", p->at.end);
  json_flag(out, "defines", same_target(p->at, p->target));
  json_flag(out, "field", p->field);
  str_addc(out, '}');
}

static void ask_uses(Ask *a) {
  UseSearch u = {.ask = a};
  NamePlace name;
  if (!a->query.file && ask_name(a, &name)) {
    u.target = name.target;
    u.module = name.what == NAME_MODULE && !name.target.source ? name.module : NULL;
  }
  str_addc(&a->out, '[');
  name_places(a->vm, a->plan.program, add_use, &u);
  str_addc(&a->out, ']');
}

/* ---- Outline ------------------------------------------------------------------------------------------- */
static void begin_symbol(Ask *a, const char *name, const char *what, Span all, Span at) {
  json_next(&a->out, NULL);
  str_addc(&a->out, '{');
  json_text(&a->out, "name", name);
  json_text(&a->out, "what", what);
  json_number(&a->out, "start", all.start);
  json_number(&a->out, "end", all.end);
  json_number(&a->out, "name_start", at.start);
  json_number(&a->out, "name_end", at.end);
}

static void add_symbol(Ask *a, const char *name, const char *what, Span all, Span at) {
  begin_symbol(a, name, what, all, at);
  str_addc(&a->out, '}');
}

static void add_type_of(Ask *a, const Binding *b) {
  Str text = {.arena = &a->vm->scratch};
  if (!b || type_repr(b->type)->kind == TY_ERROR) return;
  binding_type_print(a->vm->checker, a->vm->main, b, &text);
  json_text(&a->out, "type", text.data);
}

static void add_variables(Ask *a, const Pat *p, Span all, bool function) {
  if (p->kind == P_VAR || p->kind == P_AS) {
    begin_symbol(a, p->name.name, function ? "function" : "value", all, p->name.span.source ? p->name.span : p->span);
    add_type_of(a, p->binding);
    str_addc(&a->out, '}');
  }
  int n = p->kind == P_OR ? 1 : p->nargs;
  for (int i = 0; i < n; i++) add_variables(a, p->args[i], all, false);
}

static void add_types(Ask *a, const Item *item) {
  for (int i = 0; i < item->ntypes; i++) {
    const TypeDecl *t = &item->types[i];
    begin_symbol(a, t->name, "type", t->span, t->name_span);
    json_next(&a->out, "parts");
    str_addc(&a->out, '[');
    for (int k = 0; k < t->nctors; k++) {
      Span at = t->ctors[k].span;
      at.end = at.start + (uint32_t)sym_len(t->ctors[k].name);
      add_symbol(a, t->ctors[k].name, "constructor", at, at);
    }
    str_puts(&a->out, "]}");
  }
}

static void add_item(Ask *a, const Item *item) {
  switch (item->kind) {
  case I_LET:
    for (int i = 0; i < item->nlets; i++) {
      const LetBinding *let = &item->lets[i];
      Span all = item->nlets == 1 ? item->span : span_join(let->pat->span, let->span);
      add_variables(a, let->pat, all, let->value->kind == E_FUN);
    }
    return;
  case I_TYPE: add_types(a, item); return;
  case I_FOREIGN: add_symbol(a, item->name.name, "function", item->span, item->name.span); return;
  case I_IMPORT: add_symbol(a, item->name.name, "module", item->span, item->name.span); return;
  case I_RULE: add_symbol(a, item->name.name, "rule", item->span, item->name.span); return;
  case I_TEST:
  case I_BENCH: add_symbol(a, item->text, item->kind == I_TEST ? "test" : "bench", item->span, item->span); return;
  default: return;
  }
}

static void ask_outline(Ask *a) {
  str_addc(&a->out, '[');
  for (int i = 0; i < a->plan.program->items.len; i++) add_item(a, a->plan.program->items.data[i]);
  str_addc(&a->out, ']');
}

/* ---- Types --------------------------------------------------------------------------------------------- */
static void add_inlay(Ask *a, const Pat *p) {
  Span at = p->name.span.source ? p->name.span : p->span;
  bool inside = at.source == a->plan.program->source && at.end >= a->query.at && at.end <= a->query.to;
  if (!inside || !p->binding || at.end - at.start != sym_len(p->name.name)) return;
  if (!name_stands(a->vm, at, p->name.name) || type_repr(p->binding->type)->kind == TY_ERROR) return;
  json_next(&a->out, NULL);
  str_addc(&a->out, '{');
  json_number(&a->out, "at", at.end);
  add_type_of(a, p->binding);
  str_addc(&a->out, '}');
}

static void add_inlays(Ask *a, const Pat *p) {
  if (p->kind == P_ANNOT) return;
  if (p->kind == P_VAR || p->kind == P_AS) add_inlay(a, p);
  int n = p->kind == P_OR ? 1 : p->nargs;
  for (int i = 0; i < n; i++) add_inlays(a, p->args[i]);
}

static void look_at_let(void *user, AstNode n) {
  if (n.kind == AST_LET && !n.let->result && !n.let->has_params) add_inlays(user, n.let->pat);
}

static void ask_types(Ask *a) {
  str_addc(&a->out, '[');
  for (int i = 0; i < a->plan.program->items.len; i++) {
    const Item *item = a->plan.program->items.data[i];
    bool inside = item->span.start <= a->query.to && item->span.end >= a->query.at;
    if (inside && item->kind != I_IMPORT && item->kind != I_OPEN) ast_walk(item, &a->vm->scratch, look_at_let, a);
  }
  str_addc(&a->out, ']');
}

/* ---- The call ------------------------------------------------------------------------------------------ */
static void answer(Ask *a) {
  switch (a->query.question) {
  case ATLED_ASK_PLACE: ask_place(a); return;
  case ATLED_ASK_USES: ask_uses(a); return;
  case ATLED_ASK_OUTLINE: ask_outline(a); return;
  case ATLED_ASK_NAMES: ask_names(a); return;
  default: ask_types(a); return;
  }
}

static AtledStatus query_body(AtledVM *vm, void *arg) {
  Ask *a = arg;
  AtledQuestion question = a->query.question;
  a->out.arena = &vm->scratch;
  if (question == ATLED_ASK_WORDS) return ask_words(a);
  if (question == ATLED_ASK_CALL) return ask_call(a);
  if ((unsigned)question > ATLED_ASK_NAMES) return report_bad_argument(vm, "there is no question %d", (int)question);
  AtledStatus status = plan_look(vm, a->query.name, a->query.source, a->len, &a->plan);
  if (status != ATLED_OK) return status;
  answer(a);
  plan_forget(vm, &a->plan);
  return ATLED_OK;
}

static AtledStatus unknown_body(AtledVM *vm, void *unused) {
  (void)unused;
  return report_bad_argument(vm, "the query has a field that this version doesn't know");
}

AtledStatus atled_query_sized(AtledVM *vm, const AtledQuery *query, size_t size, const char **json) {
  Ask a = {.vm = vm};
  if (json) *json = NULL;
  if (!query || !json) return vm_reject_null(vm, query ? "the place for the answer" : "the query");
  if (!struct_take(&a.query, sizeof a.query, query, size)) return vm_call_unlimited(vm, unknown_body, NULL);
  if (!a.query.name || !a.query.source) return vm_reject_null(vm, a.query.name ? "the source" : "the source's name");
  a.len = strlen(a.query.source);
  if (a.query.at > a.len && !a.query.file) a.query.at = a.len;
  if (a.query.to > a.len) a.query.to = a.len;
  AtledStatus status = vm_call(vm, query_body, &a);
  if (status == ATLED_OK) *json = a.out.data;
  return status;
}
