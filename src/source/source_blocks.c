/* SPDX-License-Identifier: MIT */
/* One graph as a block: definitions and statements, then the result.
 *
 * Nodes are looked at in dependency order (`visit`). One that is used once, in an expression that isn't wide yet,
 * is written where it is used (`sp_is_inline`); every other gets a name by `let`. What nested graphs capture has a
 * name, since they may read it many times. Nodes that differ from another by a check alone share its name
 * (`sp_root_of`). */
#include "source/source_internal.h"
#include <stdarg.h>
#include <string.h>

enum { WIDEST = 9 /* operations in one expression */, WIDE = 40 /* what is always too many */ };

/* ---- Text ------------------------------------------------------------------------------------------------------- */
const char *sp_declare(Block *b, const char *base) {
  const char *name = sp_name_fresh(b->p, base);
  vec_push(b->p->arena, b->declared, name);
  return name;
}

static void note_line(Block *b, bool statement) {
  if (!b->lines.len) b->begins_with_statement = statement;
  b->ends_with_statement = statement;
  b->nlines++;
}

void sp_add_let(Block *b, const char *pattern, Text t) {
  note_line(b, false);
  str_printf(&b->lines, "let %s = %s in\n", pattern, t.s);
}

void sp_add_mut(Block *b, const char *name, Text t) {
  note_line(b, false);
  str_printf(&b->lines, "let mut %s = %s in\n", name, t.s);
}

void sp_add_statement(Block *b, const char *format, ...) {
  va_list args;
  char *s;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  s = arena_alloc(b->p->arena, (size_t)n + 1);
  va_start(args, format);
  vsnprintf(s, (size_t)n + 1, format, args);
  va_end(args);
  note_line(b, true);
  str_printf(&b->lines, "%s;\n", s);
}

const char *sp_as_statement(Printer *p, Text t) { return sp_at_level(p, t, L_IF); }

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */
static bool is_one(const Node *n) {
  n = sp_root_of(n);
  return n->op == OP_FLOAT && n->attr.f == 1;
}

/* The operand that n is another name of; -1: it is a value of its own. */
static int alias_operand(const Node *n) {
  if (n->op == OP_AFTER || n->op == OP_STOP || n->op == OP_TO_BAG) return 0;
  return n->op != OP_FMUL ? -1 : is_one(n->ops[1]) ? 0 : is_one(n->ops[0]) ? 1 : -1;
}

static bool is_alias(const Node *n) { return alias_operand(n) >= 0; }

const Node *sp_root_of(const Node *n) {
  for (int k; (k = op_flags[n->op] & OPF_V ? 0 : alias_operand(n)) >= 0;) n = n->ops[k];
  return n;
}

Val *sp_val_of(Block *b, const Node *n) {
  if (n->op == OP_PARAM && b->params) return &b->params[n->attr.i];
  return b->g ? map_get(&b->vals, n) : NULL;
}

static void mark(Block *b, const Node *n, int state) {
  int at = b->g ? uses_position(b->uses, n) : -1;
  if (at >= 0) b->state[at] |= (uint8_t)state;
}

static int state_of(Block *b, const Node *n) {
  int at = uses_position(b->uses, n);
  return at < 0 ? 0 : b->state[at];
}

bool sp_is_done(Block *b, const Node *n) { return sp_val_of(b, n) || sp_is_literal(n) || state_of(b, n) & ST_DONE; }

void sp_bind(Block *b, const Node *n, Val v) {
  Val *place = NEW(b->p->arena, Val);
  *place = v;
  map_put(&b->vals, n, place);
  mark(b, n, ST_DONE);
}

Text sp_use(Block *b, Node *n) {
  const Val *v = sp_val_of(b, n);
  if (v) return v->text;
  if (n->type->kind == T_UNIT && !(n->flags & NODE_FAILS)) return (Text){"()", L_ATOM};
  if (b->p->why || ++b->p->depth > LIMIT_SOURCE_DEPTH) {
    sp_no_source(b->p, "is nested too deeply");
    return (Text){"()", L_ATOM};
  }
  int alias = alias_operand(n);
  Text t = alias >= 0 ? sp_use(b, n->ops[alias]) : sp_expression(b, n);
  b->p->depth--;
  mark(b, n, ST_DONE);
  return t;
}

bool sp_reads_var(Block *b, Node *n, const Var *var) {
  const Val *v = sp_val_of(b, n);
  if (v) return var ? v->var == var || (v->is_mut && strcmp(v->text.s, var->name) == 0) : v->var || v->is_mut;
  if (n->op == OP_PARAM || sp_is_literal(n)) return false;
  for (int k = 0; k < n->nops; k++)
    if (sp_reads_var(b, n->ops[k], var)) return true;
  return false;
}

/* ---- What is written where it is used --------------------------------------------------------------------------- */
bool sp_is_captured(const NodeUse *use) {
  const Node *n = use->user;
  switch (n->op) {
  case OP_SWITCH: return use->operand > 0;
  case OP_CLOSURE: return true;
  case OP_LOOP: return use->operand >= loop_first(n->loop) + loop_slots(n->loop);
  default: return false;
  }
}

static bool is_array_slot(const NodeUse *use) {
  return use->user->op == OP_LOOP && use->operand >= loop_first(use->user->loop) &&
         use->user->ops[use->operand]->type->kind == T_ARRAY;
}

/* Is the tag read by branches alone, which are written as matches on the variant? */
static bool is_selector(Block *b, const Node *tag) {
  for (const NodeUse *u = uses_first(b->uses, tag); u < uses_end(b->uses, tag); u++) {
    const Node *user = u->user;
    if (user->op == OP_IEQ && user->ops[1 - u->operand]->op == OP_INT) continue;
    if (user->op != OP_SWITCH || u->operand > 0) return false;
  }
  return tag != b->g->result;
}

static bool is_always_inline(Block *b, Node *n) {
  switch (n->op) {
  case OP_GLOBAL:
  case OP_ISUBS: return true;
  case OP_TAG: return is_selector(b, n);
  case OP_INJ: return n->type->kind == T_VARIANT && n->type->ctors[n->attr.i].payload->kind == T_UNIT;
  case OP_GET:
    if (n->ops[0]->op == OP_LOOP || sp_is_payload(n)) return false;
    return n->ops[0]->type->names && sp_val_of(b, n->ops[0]) && !sp_reads_var(b, n->ops[0], NULL);
  default: return false;
  }
}

static int weight_of(Block *b, const Node *n) {
  int at = uses_position(b->uses, n);
  return at < 0 ? 1 : b->weight[at];
}

static int own_weight(const Node *n) {
  switch (n->op) {
  case OP_SWITCH:
  case OP_LOOP:
  case OP_CLOSURE:
  case OP_RESHAPE: return WIDE;
  case OP_CALL:
  case OP_SELECT: return 3;
  case OP_GET: return n->ops[0]->op == OP_LOOP ? WIDE : 1;
  default: return is_alias(n) ? 0 : 1;
  }
}

/* n is the payload of a variant, or a component of it. Is `user`, which reads n, a GET or a SWITCH on that variant's
 * tag? */
static bool is_matched(const Node *n, const Node *user) {
  const Node *variant = n->op == OP_GET ? n->ops[0]->ops[0] : n->ops[0];
  if (user->op != OP_SWITCH) return user->op == OP_GET;
  const Node *of = user->ops[0];
  for (int k = 0; k < of->nops; k++) {
    const Node *tag = of->op == OP_TAG ? of : of->ops[k];
    if (tag->op == OP_TAG && tag->ops[0] == variant) return true;
  }
  return false;
}

static bool is_payload_inline(Block *b, Node *n) {
  if (sp_is_opened(b, n)) return true;
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++) {
    bool part = sp_is_payload(u->user) && is_payload_inline(b, u->user);
    if ((!sp_is_captured(u) && !part) || !is_matched(n, u->user)) return false;
  }
  return true;
}

bool sp_is_inline(Block *b, Node *n) {
  if (sp_is_literal(n) || n->op == OP_PARAM || n->type->kind == T_UNIT) return true;
  if (state_of(b, n) & ST_BOUND) return false;
  if (sp_is_payload(n)) return is_payload_inline(b, n);
  if (is_always_inline(b, n)) return true;
  bool result = b->g->result == n;
  if (uses_count(b->uses, n) != 1) return false;
  if (result) return true;
  const NodeUse *u = uses_first(b->uses, n);
  if (sp_is_captured(u)) return false;
  if (alias_operand(u->user) == u->operand) return sp_is_inline(b, u->user);
  if (u->user == b->g->result && u->user->op == OP_TUPLE) return true;
  if (n->op == OP_TUPLE && u->user->op != OP_CADD) return true;
  if (n->op == OP_ARRAY && u->user->op == OP_RT && n->type->args[0]->kind == T_STRING) return true;
  if (is_array_slot(u) && weight_of(b, n) < WIDE) return true;
  return weight_of(b, n) <= WIDEST;
}

static void weigh(Block *b) {
  for (int i = 0; i < b->uses->n; i++) {
    Node *n = b->uses->nodes[i];
    int sum = own_weight(n);
    for (int k = 0; k < n->nops; k++)
      if (sp_is_inline(b, n->ops[k])) sum += weight_of(b, n->ops[k]);
    b->weight[i] = sum > WIDE ? WIDE : sum;
  }
}

/* ---- Definitions ------------------------------------------------------------------------------------------------ */
static bool is_taken_apart(Block *b, const Node *n) {
  if (n->type->kind != T_TUPLE || n->type->names || n == b->g->result) return false;
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++)
    if (u->user->op != OP_GET) return false;
  return true;
}

static const char *pattern_text(Printer *p, const IrType *t, const char **names) {
  if (sp_is_bare(p, t)) return names[0] ? names[0] : "_";
  Str s = {.arena = p->arena};
  for (int k = 0; k < t->n; k++) str_printf(&s, "%s%s", k ? ", " : "(", names[k] ? names[k] : "_");
  str_puts(&s, t->n == 1 ? ", _)" : ")");
  return s.data;
}

static const char *pattern_of(Block *b, Node *n, const char *name) {
  int count = n->type->n;
  const char **names = NEW_ARRAY(b->p->arena, const char *, count + 1);
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++) {
    const Node *get = u->user;
    if (get->op != OP_GET || sp_val_of(b, get)) continue;
    if (!names[get->attr.i]) names[get->attr.i] = sp_declare(b, name ? name : sp_name_for(b, u->user));
    sp_bind(b, get, (Val){.text = {names[get->attr.i], L_ATOM}});
  }
  return pattern_text(b->p, n->type, names);
}

void sp_define(Block *b, Node *n) {
  mark(b, n, ST_ACTIVE | ST_BOUND);
  Text t = sp_use(b, n);
  if (is_taken_apart(b, n)) {
    sp_add_let(b, pattern_of(b, n, NULL), t);
    mark(b, n, ST_DONE);
    return;
  }
  const char *name = sp_declare(b, sp_name_for(b, n));
  Val v = {.text = {name, L_ATOM}};
  if (sp_is_updated(b, n)) {
    v.var = NEW(b->p->arena, Var);
    *v.var = (Var){name, b, n};
    sp_add_mut(b, name, t);
  } else {
    sp_add_let(b, name, t);
  }
  sp_bind(b, n, v);
}

/* A node that is another one, whose failure it waits for or not. */
static void emit_alias(Block *b, Node *n) {
  Node *x = n->ops[alias_operand(n)];
  if (n->op == OP_AFTER) sp_emit_wait(b, n->ops[1]);
  const Val *v = sp_val_of(b, x);
  if (!v && !sp_is_literal(x) && !sp_is_inline(b, x)) sp_ensure(b, x), v = sp_val_of(b, x);
  if (!v && !sp_is_literal(x) && !sp_is_inline(b, n)) {
    sp_define(b, x);
    v = sp_val_of(b, x);
  }
  if (v) sp_bind(b, n, *v);
  else if (sp_is_literal(x)) sp_bind(b, n, (Val){.text = sp_literal(b->p, x)});
}

static void visit(Block *b, Node *n) {
  if (sp_is_done(b, n) || n->op == OP_PARAM || b->p->why) return;
  heap_look(b->p->arena->heap);
  if (sp_is_check(n)) sp_emit_check(b, n);
  else if (is_alias(n)) emit_alias(b, n);
  else if (n->op == OP_LOOP) sp_emit_loop(b, n);
  else if (n->op == OP_TAKE) sp_emit_take(b, n);
  else if (n->op == OP_UPDATE) sp_emit_update(b, n);
  else if (n->op == OP_ACC_AT || n->op == OP_CUPDATE) sp_emit_addition(b, n);
  else if (!sp_is_inline(b, n) && !sp_is_for_failure(b, n)) sp_define(b, n);
}

void sp_ensure(Block *b, Node *n) {
  if (sp_is_done(b, n) || n->op == OP_PARAM || state_of(b, n) & ST_ACTIVE || b->p->why) return;
  if (++b->p->depth > LIMIT_SOURCE_DEPTH) sp_no_source(b->p, "is nested too deeply");
  for (int k = 0; k < n->nops; k++) sp_ensure(b, n->ops[k]);
  visit(b, n);
  b->p->depth--;
}

Val sp_capture(Block *b, Node *n) {
  const Val *v = sp_val_of(b, n);
  if (!v && !sp_is_inline(b, n)) sp_ensure(b, n), v = sp_val_of(b, n);
  if (v) return (Val){.text = v->text, .is_mut = v->is_mut || v->var};
  return (Val){.text = {sp_at_level(b->p, sp_use(b, n), L_POSTFIX), L_POSTFIX}, .is_mut = sp_reads_var(b, n, NULL)};
}

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */
Block *sp_block_open(Printer *p, Graph *g, Val *params) {
  Block *b = NEW(p->arena, Block);
  *b = (Block){.p = p, .g = g, .uses = graph_uses(p->w, g), .params = params};
  b->lines.arena = p->arena;
  b->state = NEW_ARRAY(p->arena, uint8_t, b->uses->n + 1);
  b->weight = NEW_ARRAY(p->arena, int, b->uses->n + 1);
  map_init(&b->vals, p->arena);
  for (int k = 0; k < g->nparams; k++)
    if (params[k].var) params[k].var->version = ir_param(p->w, k, g->params[k]);
  weigh(b);
  return b;
}

void sp_block_run(Block *b) {
  for (int i = 0; i < b->uses->n; i++) visit(b, b->uses->nodes[i]);
}

static Level least(Level a, Level b) { return a < b ? a : b; }

Text sp_block_close(Block *b, Text result) {
  for (int i = 0; i < b->declared.len; i++) sp_name_release(b->p, b->declared.data[i]);
  if (!b->lines.len) return result;
  b->p->made += b->lines.len;
  if (b->p->made > LIMIT_SOURCE_TEXT) sp_no_source(b->p, "would be more than 4 MB of text");
  Level level = least(result.level, b->begins_with_statement ? L_SEQUENCE : L_BLOCK);
  return sp_text_of(b->p, level, "%s%s", b->lines.data, result.s);
}

Text sp_block_close_unit(Block *b) {
  if (!b->lines.len || !b->ends_with_statement) return sp_block_close(b, (Text){"()", L_ATOM});
  b->lines.data[b->lines.len -= 2] = '\0'; /* the last semicolon */
  bool one = b->nlines == 1;
  Text t = sp_block_close(b, (Text){"", L_ATOM});
  return one ? (Text){t.s, L_APPLY} : t;
}

Text sp_block_text(Block *outer, Graph *g, Val *params) {
  Printer *p = outer->p;
  if (++p->depth > LIMIT_SOURCE_NESTING) sp_no_source(p, "is nested too deeply");
  Block *b = sp_block_open(p, g, params);
  sp_block_run(b);
  Text result = sp_use(b, g->result);
  p->depth--;
  return sp_block_close(b, result);
}

Text *sp_result_parts(Block *b, int n, Node **nodes) {
  Node *r = b->g->result;
  Text *parts = NEW_ARRAY(b->p->arena, Text, n + 1);
  for (int k = 0; k < n; k++) nodes[k] = r->op == OP_TUPLE ? r->ops[k] : NULL;
  if (r->op == OP_TUPLE || !n) return parts;
  Text whole = sp_use(b, r);
  const char **names = NEW_ARRAY(b->p->arena, const char *, n + 1);
  for (int k = 0; k < n; k++) {
    names[k] = sp_declare(b, sp_name_for(b, r));
    parts[k] = (Text){names[k], L_ATOM};
  }
  sp_add_let(b, pattern_text(b->p, r->type, names), whole);
  return parts;
}
