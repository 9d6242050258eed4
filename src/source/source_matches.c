/* SPDX-License-Identifier: MIT */
/* Branches: `if` on a bool, `match` on an int or on a variant. The parts of a constructor's payload get names in the
 * pattern of the case that reads them (`Opened`). A variant is known again by the text of its name, since names are
 * never hidden. */
#include "source/source_internal.h"
#include <string.h>

bool sp_is_payload(const Node *n) {
  if (n->op == OP_GET && !n->ops[0]->type->names) n = n->ops[0];
  return n->op == OP_UNINJ && n->type->kind != T_ENV && n->ops[0]->type->kind == T_VARIANT;
}

static Node *uninj_of(const Node *n) { return n->op == OP_GET ? n->ops[0] : (Node *)n; }

static Opened *find_opened(Block *b, const Node *n) {
  const Node *u = uninj_of(n);
  const Val *v = sp_val_of(b, u->ops[0]);
  if (!v) return NULL;
  for (int i = b->p->opened.len - 1; i >= 0; i--) {
    Opened *o = b->p->opened.data[i];
    if (o->tag == (int)u->attr.i && strcmp(o->variant, v->text.s) == 0) return o;
  }
  return NULL;
}

bool sp_is_opened(Block *b, const Node *n) { return sp_is_payload(n) && find_opened(b, n); }

/* ---- Payloads --------------------------------------------------------------------------------------------------- */
static int parts_of(const IrType *payload) { return payload->kind == T_TUPLE && !payload->names ? payload->n : 1; }

static const char *part_name(Printer *p, Opened *o, const IrType *payload, int k) {
  const IrType *t = parts_of(payload) > 1 ? payload->args[k] : payload;
  const char *base = t->kind == T_FLOAT ? "x" : sp_name_by_type(p, t);
  if (!o->parts[k]) o->parts[k] = sp_name_fresh(p, base);
  return o->parts[k];
}

static Text tuple_of_names(Block *b, Opened *o, const IrType *payload) {
  if (o->nparts == 1) return (Text){part_name(b->p, o, payload, 0), L_ATOM};
  if (!o->whole) o->whole = sp_name_fresh(b->p, "p");
  return (Text){o->whole, L_ATOM};
}

/* Where no match around has opened it, though it is known to be of this constructor. An accumulator that nothing was
 * added to has zeros. */
static const char *other_case(Printer *p, const IrType *variant, IrType *payload) {
  if (variant->nullable || sp_needs_empty(variant)) return sp_some_value(p, payload);
  return ir_is_number(payload) ? sp_some_value(p, payload) : "fail \"another case\"";
}

static Text opened_here(Block *b, Node *u) {
  Printer *p = b->p;
  IrType *t = u->ops[0]->type;
  const char *x = sp_operand(b, u->ops[0], L_IF), *name = sp_ctor_name(p, t, (int)u->attr.i);
  if (t->nctors == 1 && !sp_needs_empty(t)) return sp_text_of(p, L_MATCH, "match %s with | %s part -> part", x, name);
  const char *other = other_case(p, t, u->type);
  if (!*other) sp_no_source(p, "takes apart an empty `%s`", sp_type_text(p, u->type));
  if (strcmp(name, "::") == 0)
    return sp_text_of(p, L_MATCH, "match %s with\n| x :: rest -> (x, rest)\n| _ -> %s", x, other);
  return sp_text_of(p, L_MATCH, "match %s with\n| %s part -> part\n| _ -> %s", x, name, other);
}

Text sp_payload_text(Block *b, Node *n) {
  Printer *p = b->p;
  Opened *o = find_opened(b, n);
  Node *u = uninj_of(n);
  bool single = n->op == OP_GET && u->type->n == 1 && !u->type->names;
  if (o && single && !sp_is_bare(p, u->type)) return sp_text_of(p, L_APPLY, "fst %s", tuple_of_names(b, o, u->type).s);
  if (o && (single || n->op == OP_UNINJ)) return tuple_of_names(b, o, u->type);
  if (o) return (Text){part_name(p, o, u->type, (int)n->attr.i), L_ATOM};
  if (n->op == OP_UNINJ) return opened_here(b, n);
  const Val *v = sp_val_of(b, u);
  Text whole = v ? v->text : opened_here(b, u);
  if (single)
    return sp_is_bare(p, u->type) ? whole : sp_text_of(p, L_APPLY, "fst %s", sp_at_level(p, whole, L_POSTFIX));
  Str s = {.arena = p->arena};
  for (int k = 0; k < u->type->n; k++) str_printf(&s, "%s%s", k ? ", " : "", k == n->attr.i ? "part" : "_");
  return sp_text_of(p, L_BLOCK, "let (%s) = %s in part", s.data, whole.s);
}

static const char *pattern_text(Printer *p, const Opened *o, const IrCtor *c, const char *name) {
  if (c->payload->kind == T_UNIT) return name;
  Str s = {.arena = p->arena};
  bool any = false, cons = c->cons && strcmp(name, "::") == 0;
  for (int k = 0; k < o->nparts; k++) {
    any |= o->parts[k] != NULL;
    str_printf(&s, "%s%s", k ? (cons ? " :: " : ", ") : "", o->parts[k] ? o->parts[k] : "_");
  }
  if (cons) return o->whole ? arena_printf(p->arena, "%s as %s", s.data, o->whole) : s.data;
  if (o->whole && any) return arena_printf(p->arena, "%s ((%s) as %s)", name, s.data, o->whole);
  if (o->whole || !any) return arena_printf(p->arena, "%s %s", name, o->whole ? o->whole : "_");
  return arena_printf(p->arena, o->nparts > 1 ? "%s (%s)" : "%s %s", name, s.data);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------ */
typedef struct Branch {
  Block *b;
  Node *n, *variant; /* variant: what a match is on; NULL */
  bool effect;       /* written for what may fail in it */
} Branch;

static Val arm_param(Block *b, Node *x) {
  if (!sp_is_payload(x) || sp_val_of(b, x)) return sp_capture(b, x);
  return (Val){.text = {sp_at_level(b->p, sp_payload_text(b, x), L_POSTFIX), L_POSTFIX}};
}

/* The value of an arm, or, of what is written for its failure, (). */
static Text arm_text(const Branch *br, Graph *g, const Opened *o) {
  Block *b = br->b;
  Val *params = NEW_ARRAY(b->p->arena, Val, g->nparams + 1);
  for (int k = 0; k < g->nparams; k++) {
    Node *x = br->n->ops[k + 1];
    bool other = sp_is_payload(x) && !sp_val_of(b, x) && !(o && find_opened(b, x)) && br->variant &&
                 uninj_of(x)->ops[0] == br->variant;
    params[k] = other ? (Val){.text = {"()", L_ATOM}} : arm_param(b, x);
  }
  if (!br->effect) return sp_block_text(b, g, params);
  if (++b->p->depth > LIMIT_SOURCE_NESTING) sp_no_source(b->p, "is nested too deeply");
  Block *arm = sp_block_open(b->p, g, params);
  sp_block_run(arm);
  sp_emit_wait(arm, g->result);
  b->p->depth--;
  return sp_block_close_unit(arm);
}

static Text if_text(const Branch *br, const char *condition) {
  Printer *p = br->b->p;
  Text yes = arm_text(br, br->n->graphs[1], NULL), no = arm_text(br, br->n->graphs[0], NULL);
  if (br->effect && strcmp(no.s, "()") == 0)
    return sp_text_of(p, L_IF, "if %s then %s", condition, sp_at_level(p, yes, L_IF));
  const char *otherwise = sp_at_level(p, no, L_BLOCK);
  Level level = no.level < L_BLOCK || no.level >= L_IF ? L_IF : L_BLOCK;
  const char *line = strchr(yes.s, '\n') || strchr(otherwise, '\n') ? "\n" : " ";
  return sp_text_of(p, level, "if %s then%s%s%selse%s%s", condition, line, sp_at_level(p, yes, L_BLOCK), line,
                    strncmp(otherwise, "if ", 3) == 0 ? " " : line, otherwise);
}

static const char *case_text(const Branch *br, IrType *t, int tag, int arm, bool rest) {
  Block *b = br->b;
  Printer *p = b->p;
  const IrCtor *c = &t->ctors[tag];
  Opened *o = NEW(p->arena, Opened);
  *o = (Opened){sp_use(b, br->variant).s, tag, parts_of(c->payload),
                NEW_ARRAY(p->arena, const char *, parts_of(c->payload) + 1), NULL};
  if (!rest) vec_push(p->arena, p->opened, o);
  Text body = arm_text(br, br->n->graphs[arm], rest ? NULL : o);
  if (!rest) p->opened.len--;
  const char *pattern = rest ? "_" : pattern_text(p, o, c, sp_ctor_name(p, t, tag));
  for (int k = 0; k < o->nparts; k++)
    if (o->parts[k]) sp_name_release(p, o->parts[k]);
  if (o->whole) sp_name_release(p, o->whole);
  return sp_text_of(p, L_ATOM, "\n| %s -> %s", pattern, sp_at_level(p, body, L_SEQUENCE)).s;
}

/* A match on the tag: the last arm is that of all tags from there on. */
static Text variant_text(Branch *br, Node *variant) {
  Printer *p = br->b->p;
  IrType *t = variant->type;
  Str s = {.arena = p->arena};
  br->variant = variant;
  int n = br->n->ngraphs;
  str_printf(&s, "match %s with", sp_operand(br->b, variant, L_IF));
  for (int k = 0; k < n; k++) str_puts(&s, case_text(br, t, k, k, k == n - 1 && n < t->nctors));
  return (Text){s.data, L_MATCH};
}

/* `if tag x = k`, as a match. */
static Text one_tag_text(Branch *br, Node *variant, int tag) {
  Printer *p = br->b->p;
  IrType *t = variant->type;
  Str s = {.arena = p->arena};
  br->variant = variant;
  str_printf(&s, "match %s with", sp_operand(br->b, variant, L_IF));
  for (int k = 0; k < t->nctors; k++)
    if (k == tag || t->nctors == 2) str_puts(&s, case_text(br, t, k, k == tag, false));
  if (t->nctors > 2) str_puts(&s, case_text(br, t, tag, 0, true));
  return (Text){s.data, L_MATCH};
}

static Text int_match_text(const Branch *br) {
  Printer *p = br->b->p;
  Str s = {.arena = p->arena};
  int n = br->n->ngraphs;
  str_printf(&s, "match %s with", sp_operand(br->b, br->n->ops[0], L_IF));
  for (int k = 0; k < n; k++) {
    Text body = arm_text(br, br->n->graphs[k], NULL);
    const char *number = k == n - 1 ? "_" : arena_printf(p->arena, "%d", k);
    str_printf(&s, "\n| %s -> %s", number, sp_at_level(p, body, L_SEQUENCE));
  }
  return (Text){s.data, L_MATCH};
}

static bool is_variant_tag(const Node *n) { return n->op == OP_TAG && n->ops[0]->type->kind == T_VARIANT; }

bool sp_is_tag_test(const Node *n) {
  return n->op == OP_IEQ && ((is_variant_tag(n->ops[0]) && n->ops[1]->op == OP_INT) ||
                             (is_variant_tag(n->ops[1]) && n->ops[0]->op == OP_INT));
}

Text sp_tag_test(Block *b, const Node *n) {
  int k = is_variant_tag(n->ops[0]) ? 0 : 1;
  const Node *variant = n->ops[k]->ops[0];
  int tag = (int)n->ops[1 - k]->attr.i;
  const char *name = sp_ctor_name(b->p, variant->type, tag), *x = sp_operand(b, n->ops[k]->ops[0], L_IF);
  bool bare = variant->type->ctors[tag].payload->kind == T_UNIT;
  const char *pattern = strcmp(name, "::") == 0 ? "_ :: _" : arena_printf(b->p->arena, "%s%s", name, bare ? "" : " _");
  return sp_text_of(b->p, L_MATCH, "match %s with\n| %s -> true\n| _ -> false", x, pattern);
}

static Text text_of_branch(Branch *br) {
  Node *of = br->n->ops[0];
  if (is_variant_tag(of)) return variant_text(br, of->ops[0]);
  if (sp_is_tag_test(of) && !sp_val_of(br->b, of)) {
    int tag = is_variant_tag(of->ops[0]) ? 0 : 1;
    return one_tag_text(br, of->ops[tag]->ops[0], (int)of->ops[1 - tag]->attr.i);
  }
  if (of->type->kind == T_BOOL) return if_text(br, sp_operand(br->b, of, L_OR));
  return int_match_text(br);
}

/* The number of its constructor. */
Text sp_tag_text(Block *b, const Node *n) {
  Printer *p = b->p;
  IrType *t = n->ops[0]->type;
  Str s = {.arena = p->arena};
  str_printf(&s, "match %s with", sp_operand(b, n->ops[0], L_IF));
  for (int k = 0; k < t->nctors; k++) {
    const char *name = sp_ctor_name(p, t, k);
    const char *payload = t->ctors[k].payload->kind == T_UNIT ? "" : " _";
    if (k == t->nctors - 1) str_printf(&s, "\n| _ -> %d", k);
    else if (strcmp(name, "::") == 0) str_printf(&s, "\n| _ :: _ -> %d", k);
    else str_printf(&s, "\n| %s%s -> %d", name, payload, k);
  }
  return (Text){s.data, L_MATCH};
}

Text sp_branch_text(Block *b, Node *n) { return text_of_branch(&(Branch){.b = b, .n = n}); }

void sp_emit_branch_effect(Block *b, Node *n) {
  for (int k = 0; k < n->nops; k++)
    if (!sp_is_inline(b, n->ops[k])) sp_ensure(b, n->ops[k]);
  Text t = text_of_branch(&(Branch){.b = b, .n = n, .effect = true});
  sp_add_statement(b, "%s", sp_as_statement(b->p, t));
  sp_bind(b, n, (Val){.text = {"()", L_ATOM}});
}
