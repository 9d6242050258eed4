/* SPDX-License-Identifier: MIT */
/* Accumulators that differentiation left as such. One of an array is printed as that array, and as `[]` while
 * nothing was added to it; one of a variant is a variant with one constructor more; sums of both are functions of
 * the program.
 *
 * So the first addition costs as much as the array has elements. That is no more than the function's work where it
 * happens once, or where the array has a known length. What may happen again and again, in a loop that doesn't hand
 * the accumulator on, a recursion or a function value, has no source form: it would cost more than the derivative
 * does (`may_begin`). */
#include "source/source_internal.h"

static bool is_bag(const IrType *t) { return t->kind == T_BAG; }

static void refuse(Printer *p) {
  sp_no_source(p, "has an accumulator that must stay a log of its additions for the cost");
}

/* ---- Sums ------------------------------------------------------------------------------------------------------- */
static const char *sum_of(Printer *p, IrType *t, const char *x, const char *y);

static const char *record_sum(Printer *p, IrType *t, const char *x, const char *y) {
  Text *parts = NEW_ARRAY(p->arena, Text, t->n + 1);
  for (int k = 0; k < t->n; k++) {
    const char *a = arena_printf(p->arena, "a.%s", t->names[k]), *b = arena_printf(p->arena, "b.%s", t->names[k]);
    parts[k] = (Text){sum_of(p, t->args[k], a, b), L_SUM};
  }
  return arena_printf(p->arena, "(let a = %s in let b = %s in %s)", x, y,
                      sp_tuple_text(&(Block){.p = p}, t, parts, t->n).s);
}

static const char *tuple_sum(Printer *p, IrType *t, const char *x, const char *y) {
  Str xs = {.arena = p->arena}, ys = {.arena = p->arena};
  Text *parts = NEW_ARRAY(p->arena, Text, t->n + 1);
  for (int k = 0; k < t->n; k++) {
    const char *a = arena_printf(p->arena, "a%d", k + 1), *b = arena_printf(p->arena, "b%d", k + 1);
    str_printf(&xs, "%s%s", k ? ", " : "", a);
    str_printf(&ys, "%s%s", k ? ", " : "", b);
    parts[k] = (Text){sum_of(p, t->args[k], a, b), L_SUM};
  }
  if (t->n == 1) return arena_printf(p->arena, "(let a1 = %s in let b1 = %s in %s)", x, y, parts[0].s);
  return arena_printf(p->arena, "(let (%s) = %s in let (%s) = %s in %s)", xs.data, x, ys.data, y,
                      sp_tuple_text(&(Block){.p = p}, t, parts, t->n).s);
}

static const char *bag_adder(Printer *p, IrType *t, const char *name) {
  const char *type = sp_type_text(p, t), *elem = sum_of(p, t->args[0], "a[i]", "b[i]");
  return arena_printf(p->arena,
                      "%s (a : %s) (b : %s) : %s =\n  if length a = 0 then b else if length b = 0 then a\n"
                      "  else [ %s | i < length a ]\n",
                      name, type, type, type, elem);
}

static const char *variant_adder(Printer *p, IrType *t, const char *name) {
  const char *type = sp_type_text(p, t);
  Str s = {.arena = p->arena};
  str_printf(&s, "%s (a : %s) (b : %s) : %s =\n  match (a, b) with\n", name, type, type, type);
  str_printf(&s, "  | (%s, _) -> b\n  | (_, %s) -> a\n", sp_ctor_name(p, t, 0), sp_ctor_name(p, t, 0));
  for (int k = 1; k < t->nctors; k++) {
    const char *c = sp_ctor_name(p, t, k);
    if (t->ctors[k].payload->kind == T_UNIT) str_printf(&s, "  | (%s, %s) -> a\n", c, c);
    else str_printf(&s, "  | (%s p, %s q) -> %s %s\n", c, c, c, sum_of(p, t->ctors[k].payload, "p", "q"));
  }
  if (t->nctors > 2) str_puts(&s, "  | _ -> fail \"different constructors\"\n");
  return s.data;
}

static const char *adder_name(Printer *p, IrType *t) {
  const char *known = map_get(&p->adders, t);
  if (known) return known;
  known = sp_name_fresh(p, is_bag(t) ? "add_arrays" : arena_printf(p->arena, "add_%s", sp_variant_name(p, t)));
  map_put(&p->adders, t, (void *)(uintptr_t)known);
  const char *text = is_bag(t) ? bag_adder(p, t, known) : variant_adder(p, t, known);
  str_printf(&p->helpers, "%s %s", p->helpers.len ? "\nand" : "let rec", text);
  return known;
}

/* As an operand. */
static const char *sum_of(Printer *p, IrType *t, const char *x, const char *y) {
  switch (t->kind) {
  case T_FLOAT: return arena_printf(p->arena, "(%s + %s)", x, y);
  case T_UNIT: return "()";
  case T_TUPLE: return t->names ? record_sum(p, t, x, y) : tuple_sum(p, t, x, y);
  case T_BAG: return arena_printf(p->arena, "(%s %s %s)", adder_name(p, t), x, y);
  case T_VARIANT:
    if (t->nullable) return arena_printf(p->arena, "(%s %s %s)", adder_name(p, t), x, y);
    break;
  default: break;
  }
  sp_no_source(p, "adds up values of type `%s`", sp_type_text(p, t));
  return "()";
}

Text sp_sum_text(Block *b, const Node *n) {
  bool empty[] = {n->ops[0]->op == OP_ZERO, n->ops[1]->op == OP_ZERO};
  if (empty[0] || empty[1]) return sp_use(b, n->ops[empty[0] ? 1 : 0]);
  const char *x = sp_operand(b, n->ops[0], L_POSTFIX), *y = sp_operand(b, n->ops[1], L_POSTFIX);
  if (ir_rank(n->type) && ir_base(n->type)->kind == T_FLOAT && !is_bag(n->type))
    return sp_text_of(b->p, L_SUM, "%s + %s", x, y);
  return (Text){sum_of(b->p, n->type, x, y), L_ATOM};
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */
/* Is it surely as long as the array? */
static bool is_filled(const Node *n) {
  for (n = sp_root_of(n); n->op == OP_ACC_AT || n->op == OP_CUPDATE;) return true;
  return n->type->kind == T_ARRAY;
}

static const char *zeros_of(Block *b, IrType *elem, Node **dims, int n) {
  Printer *p = b->p;
  if (elem->kind == T_FLOAT && n == 1) return sp_text_of(p, L_APPLY, "zeros %s", sp_operand(b, dims[0], L_POSTFIX)).s;
  const char *x = sp_some_value(p, elem);
  if (!*x) refuse(p);
  for (int k = n - 1; k > 0; k--)
    x = sp_text_of(p, L_ATOM, "(replicate %s %s)", sp_operand(b, dims[k], L_POSTFIX), x).s;
  return sp_text_of(p, L_APPLY, "replicate %s %s", sp_operand(b, dims[0], L_POSTFIX), x).s;
}

/* Is the array that the first addition to the accumulator makes not made again and again? */
static bool may_begin(Block *b, const Node *n) {
  const Node *bag = sp_root_of(n->ops[0]);
  bool known = true, slot = bag->op == OP_PARAM && b->params[bag->attr.i].var;
  for (int k = 1; k <= ir_rank(n->ops[0]->type); k++)
    known &= n->ops[k]->op == OP_INT && n->ops[k]->attr.i <= LIMIT_SOURCE_ZEROS;
  return known || b->p->repeated == 0 || (b->p->repeated == 1 && slot) || is_filled(bag);
}

static Text zeros_like(Block *b, const Node *n, Node *bag) {
  return (Text){zeros_of(b, ir_base(bag->type), n->ops + 1, ir_rank(bag->type)), L_APPLY};
}

static Text filled(Block *b, const Node *n) {
  Node *bag = n->ops[0];
  if (bag->op == OP_ZERO) return zeros_like(b, n, bag);
  if (is_filled(bag)) return sp_use(b, bag);
  if (!sp_val_of(b, bag)) sp_define(b, bag);
  const char *x = sp_use(b, bag).s;
  Text zeros = zeros_like(b, n, bag);
  return sp_text_of(b->p, L_IF, "if length %s = 0 then %s else %s", x, zeros.s, x);
}

static const char *subscripts(Block *b, const Node *n, int from, int to) {
  Str s = {.arena = b->p->arena};
  for (int k = from; k < to; k++) str_printf(&s, "%s%s", k > from ? ", " : "", sp_operand(b, n->ops[k], L_IF));
  return s.data ? s.data : "";
}

static Text entry_text(Block *b, const Node *n) {
  Printer *p = b->p;
  Node *bag = n->ops[0];
  int rank = ir_rank(bag->type);
  const char *zero = is_bag(n->type) ? "[]" : sp_some_value(p, n->type);
  if (bag->op == OP_ZERO) return (Text){zero, L_ATOM};
  if (!is_filled(bag) && !sp_val_of(b, bag)) sp_define(b, bag);
  const char *x = sp_operand(b, bag, L_POSTFIX), *at = subscripts(b, n, 1 + rank, n->nops);
  if (is_filled(bag)) return sp_text_of(p, L_POSTFIX, "%s[%s]", x, at);
  return sp_text_of(p, L_IF, "if length %s = 0 then %s else %s[%s]", x, zero, x, at);
}

static Text part_text(Block *b, const Node *n) {
  Printer *p = b->p;
  Node *lo = n->ops[n->nops - 2], *count = n->ops[n->nops - 1];
  if (!may_begin(b, n)) refuse(p);
  const char *from = sp_operand(b, lo, L_SUM), *whole = sp_at_level(p, filled(b, n), L_POSTFIX);
  return sp_text_of(p, L_POSTFIX, "%s[%s..%s + %s]", whole, from, from, sp_operand(b, count, L_PRODUCT));
}

/* The same elements with other dimensions. */
static Text reshaped(Block *b, const Node *n) {
  int old = (int)n->attr.i;
  const char *dims = subscripts(b, n, 1 + old, n->nops);
  if (is_filled(n->ops[0]))
    return sp_text_of(b->p, L_APPLY, "reshape [%s] %s", dims, sp_operand(b, n->ops[0], L_POSTFIX));
  if (!sp_val_of(b, n->ops[0])) sp_define(b, n->ops[0]);
  const char *x = sp_operand(b, n->ops[0], L_POSTFIX);
  return sp_text_of(b->p, L_IF, "if length %s = 0 then [] else reshape [%s] %s", x, dims, x);
}

/* The accumulator of a slice as one of the whole. */
static Text shifted(Block *b, const Node *n) {
  Printer *p = b->p;
  Node *part = n->ops[0], *lo = n->ops[n->nops - 2];
  bool cheap = n->ops[1]->op == OP_INT && n->ops[1]->attr.i <= LIMIT_SOURCE_ZEROS;
  if (ir_rank(part->type) != 1 || (p->repeated && !cheap)) refuse(p);
  const char *zero = sp_some_value(p, part->type->args[0]);
  if (!*zero) refuse(p);
  if (!sp_val_of(b, part)) sp_define(b, part);
  if (!sp_val_of(b, lo) && !sp_is_literal(lo)) sp_define(b, lo);
  const char *x = sp_operand(b, part, L_POSTFIX), *from = sp_operand(b, lo, L_PRODUCT), *i = sp_name_index(p);
  sp_name_release(p, i);
  return sp_text_of(
      p, L_IF,
      "if length %s = 0 then [] else [ if %s >= %s && %s - %s < length %s then %s[%s - %s] else %s | %s < %s ]", x, i,
      from, i, from, x, x, i, from, zero, i, sp_operand(b, n->ops[1], L_APPEND));
}

/* ---- Taking entries out ---------------------------------------------------------------------------------------- */
static Node *part_of(Block *b, const Node *n, int k) {
  for (const NodeUse *u = uses_first(b->uses, n); u < uses_end(b->uses, n); u++) {
    if (u->user->op != OP_GET) sp_no_source(b->p, "takes an entry out of an accumulator in a private form");
    else if (u->user->attr.i == k) return u->user;
  }
  return NULL;
}

/* What stays in the place of an entry that is called `entry`. */
static const char *nothing(Printer *p, IrType *t, const char *entry) {
  if (!is_bag(t) && t->kind != T_ARRAY) return sp_some_value(p, t);
  if (ir_rank(t) > 1) return "";
  return ir_base(t)->kind == T_FLOAT ? arena_printf(p->arena, "zeros (length %s)", entry) : "";
}

/* TAKE: the array without that entry, and the entry. */
void sp_emit_take(Block *b, Node *u) {
  Printer *p = b->p;
  Node *array = u->ops[0], *rest = part_of(b, u, 0), *entry = part_of(b, u, 1);
  IrType *t = u->type->args[1];
  int first = is_bag(array->type) ? 1 + ir_rank(array->type) : 1;
  b->state[uses_position(b->uses, u)] |= ST_ACTIVE;
  for (int k = 0; k < u->nops; k++)
    if (!sp_is_inline(b, u->ops[k])) sp_ensure(b, u->ops[k]);
  Var *var = sp_take_var(b, u, 0, "d_v");
  const char *at = subscripts(b, u, first, u->nops), *name = sp_declare(b, entry ? sp_name_for(b, entry) : "entry");
  const char *place = arena_printf(p->arena, "%s[%s]", var->name, at), *zero = nothing(p, t, name);
  if (!*zero) refuse(p);
  if (is_filled(array)) {
    sp_add_let(b, name, (Text){place, L_POSTFIX});
    sp_add_statement(b, "%s <- %s", place, zero);
  } else {
    const char *none = is_bag(t) ? "[]" : sp_some_value(p, t);
    sp_add_let(b, name, sp_text_of(p, L_IF, "if length %s = 0 then %s else %s", var->name, none, place));
    sp_add_statement(b, "if length %s > 0 then %s <- %s", var->name, place, zero);
  }
  var->version = rest;
  sp_bind(b, u, (Val){.text = {"()", L_ATOM}});
  if (rest) sp_bind(b, rest, (Val){.text = {var->name, L_ATOM}, .var = var});
  if (entry) sp_bind(b, entry, (Val){.text = {name, L_ATOM}});
}

bool sp_is_bag_operation(const Node *n) {
  return n->op == OP_BAG_GET || n->op == OP_FILL || n->op == OP_BAG_SLICE || n->op == OP_SHIFT ||
         n->op == OP_FILL_LIKE || n->op == OP_BAG_RESHAPE;
}

Text sp_bag_text(Block *b, const Node *n) {
  switch (n->op) {
  case OP_BAG_GET: return entry_text(b, n);
  case OP_FILL: return filled(b, n);
  case OP_BAG_SLICE: return part_text(b, n);
  case OP_BAG_RESHAPE: return reshaped(b, n);
  case OP_SHIFT: return shifted(b, n);
  default: refuse(b->p); return (Text){"()", L_ATOM};
  }
}

/* `b[i] <- b[i] + v`, or, of CUPDATE, `b[i] <- v`. */
void sp_emit_addition(Block *b, Node *u) {
  Printer *p = b->p;
  Node *bag = u->ops[0], *v = u->ops[u->nops - 1];
  int rank = ir_rank(u->type);
  b->state[uses_position(b->uses, u)] |= ST_ACTIVE;
  for (int k = 0; k < u->nops; k++)
    if (!sp_is_inline(b, u->ops[k])) sp_ensure(b, u->ops[k]);
  if (!may_begin(b, u)) refuse(p);
  Text start = filled(b, u);
  Var *var = NULL;
  if (bag->op != OP_ZERO) var = sp_take_var(b, u, 0, "d_v");
  else {
    var = NEW(p->arena, Var);
    *var = (Var){sp_declare(b, "d_v"), b, NULL};
    sp_add_mut(b, var->name, start);
  }
  if (bag->op != OP_ZERO && !is_filled(bag)) sp_add_statement(b, "%s <- %s", var->name, sp_as_statement(p, start));
  const char *at = subscripts(b, u, 1 + rank, u->nops - 1), *place = arena_printf(p->arena, "%s[%s]", var->name, at);
  const char *sum =
      u->op == OP_CUPDATE ? sp_as_statement(p, sp_use(b, v)) : sum_of(p, v->type, place, sp_operand(b, v, L_POSTFIX));
  sp_add_statement(b, "%s <- %s", place, sum);
  var->version = u;
  sp_bind(b, u, (Val){.text = {var->name, L_ATOM}, .var = var});
}
