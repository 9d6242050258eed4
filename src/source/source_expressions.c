/* SPDX-License-Identifier: MIT */
/* The text of one operation. `forms` lists those that are an operator or a function of the prelude; the others, which
 * need more than their operands' texts, are cases of `sp_expression`. */
#include "runtime/runtime.h"
#include "source/source_internal.h"
#include <stdarg.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------------------------------------------------ */
Text sp_text_of(Printer *p, Level level, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *s = arena_alloc(p->arena, (size_t)n + 1);
  vsnprintf(s, (size_t)n + 1, format, again);
  va_end(again);
  va_end(args);
  p->made += (size_t)n;
  return (Text){s, level};
}

const char *sp_at_level(Printer *p, Text t, Level least) {
  return t.level < least ? sp_text_of(p, L_ATOM, "(%s)", t.s).s : t.s;
}

const char *sp_operand(Block *b, Node *n, Level least) { return sp_at_level(b->p, sp_use(b, n), least); }

static const char *arguments(Block *b, Node **xs, int n) {
  Str s = {.arena = b->p->arena};
  for (int k = 0; k < n; k++) str_printf(&s, " %s", sp_operand(b, xs[k], L_POSTFIX));
  if (!n) str_puts(&s, " ()");
  return s.data;
}

Text sp_tuple_text(Block *b, IrType *t, Text *parts, int n) {
  Printer *p = b->p;
  Str s = {.arena = p->arena};
  if (!n) return (Text){"()", L_ATOM};
  if (n == 1 && sp_is_bare(p, t)) return parts[0];
  if (n == 1 && !t->names) return sp_text_of(p, L_ATOM, "(%s, ())", sp_at_level(p, parts[0], L_IF));
  for (int k = 0; k < n; k++) {
    str_puts(&s, k ? ", " : t->names ? "{" : "(");
    if (t->names) str_printf(&s, "%s = ", t->names[k]);
    str_puts(&s, sp_at_level(p, parts[k], L_IF));
  }
  str_addc(&s, t->names ? '}' : ')');
  p->made += s.len;
  return (Text){s.data, L_ATOM};
}

/* The text of n as one that can be written twice. */
static const char *repeated(Block *b, Node *n, Level least) {
  if (!sp_val_of(b, n) && !sp_is_literal(n)) sp_define(b, n);
  return sp_operand(b, n, least);
}

/* ---- Operators and functions ------------------------------------------------------------------------------------ */
typedef enum Form { F_NONE, F_INFIX, F_FUNCTION, F_PREFIX } Form;
typedef struct OpForm {
  Form form;
  Level level;
  const char *text;
} OpForm;

#define INFIX(level, text)                                                                                             \
  { F_INFIX, level, text }
#define FUNCTION(text)                                                                                                 \
  { F_FUNCTION, L_APPLY, text }
static const OpForm forms[OP_COUNT] = {
    [OP_IADD] = INFIX(L_SUM, "+"),
    [OP_ISUB] = INFIX(L_SUM, "-"),
    [OP_IMUL] = INFIX(L_PRODUCT, "*"),
    [OP_IDIV] = INFIX(L_PRODUCT, "/"),
    [OP_IREM] = INFIX(L_PRODUCT, "%"),
    [OP_INEG] = {F_PREFIX, L_MINUS, "-"},
    [OP_IPOW] = INFIX(L_POWER, "^"),
    [OP_BYTES] = FUNCTION("Str.byte_length"),
    [OP_BYTE] = FUNCTION("Str.byte"),
    [OP_IMIN] = FUNCTION("min"),
    [OP_IMAX] = FUNCTION("max"),
    [OP_IAND] = FUNCTION("bit_and"),
    [OP_IOR] = FUNCTION("bit_or"),
    [OP_IXOR] = FUNCTION("bit_xor"),
    [OP_ISHL] = FUNCTION("shift_left"),
    [OP_ISHR] = FUNCTION("shift_right"),
    [OP_IEQ] = INFIX(L_COMPARE, "="),
    [OP_INE] = INFIX(L_COMPARE, "<>"),
    [OP_ILT] = INFIX(L_COMPARE, "<"),
    [OP_ILE] = INFIX(L_COMPARE, "<="),
    [OP_FADD] = INFIX(L_SUM, "+"),
    [OP_FSUB] = INFIX(L_SUM, "-"),
    [OP_FMUL] = INFIX(L_PRODUCT, "*"),
    [OP_FDIV] = INFIX(L_PRODUCT, "/"),
    [OP_FNEG] = {F_PREFIX, L_MINUS, "-"},
    [OP_FPOWI] = INFIX(L_POWER, "^"),
    [OP_FPOW] = INFIX(L_POWER, "**"),
    [OP_FMIN] = FUNCTION("min"),
    [OP_FMAX] = FUNCTION("max"),
    [OP_FEQ] = INFIX(L_COMPARE, "="),
    [OP_FNE] = INFIX(L_COMPARE, "<>"),
    [OP_FLT] = INFIX(L_COMPARE, "<"),
    [OP_FLE] = INFIX(L_COMPARE, "<="),
    [OP_ABS] = FUNCTION("abs"),
    [OP_SIGN] = FUNCTION("sign"),
    [OP_FLOOR] = FUNCTION("floor"),
    [OP_CEIL] = FUNCTION("ceil"),
    [OP_ROUND] = FUNCTION("round"),
    [OP_TRUNC] = FUNCTION("trunc"),
    [OP_SQRT] = FUNCTION("sqrt"),
    [OP_CBRT] = FUNCTION("cbrt"),
    [OP_EXP] = FUNCTION("exp"),
    [OP_EXPM1] = FUNCTION("expm1"),
    [OP_LOG] = FUNCTION("log"),
    [OP_LOG1P] = FUNCTION("log1p"),
    [OP_LOG2] = FUNCTION("log2"),
    [OP_LOG10] = FUNCTION("log10"),
    [OP_SIN] = FUNCTION("sin"),
    [OP_COS] = FUNCTION("cos"),
    [OP_TAN] = FUNCTION("tan"),
    [OP_ASIN] = FUNCTION("asin"),
    [OP_ACOS] = FUNCTION("acos"),
    [OP_ATAN] = FUNCTION("atan"),
    [OP_ATAN2] = FUNCTION("atan2"),
    [OP_SINH] = FUNCTION("sinh"),
    [OP_COSH] = FUNCTION("cosh"),
    [OP_TANH] = FUNCTION("tanh"),
    [OP_ASINH] = FUNCTION("asinh"),
    [OP_ACOSH] = FUNCTION("acosh"),
    [OP_ATANH] = FUNCTION("atanh"),
    [OP_HYPOT] = FUNCTION("hypot"),
    [OP_ERF] = FUNCTION("erf"),
    [OP_ERFC] = FUNCTION("erfc"),
    [OP_TGAMMA] = FUNCTION("gamma"),
    [OP_LGAMMA] = FUNCTION("lgamma"),
    [OP_DIGAMMA] = FUNCTION("digamma"),
    [OP_TRIGAMMA] = FUNCTION("trigamma"),
    [OP_IS_NAN] = FUNCTION("is_nan"),
    [OP_FLOAT_OF_INT] = FUNCTION("float"),
    [OP_INT_OF_FLOAT] = FUNCTION("int"),
    [OP_NOT] = FUNCTION("not"),
    [OP_AND] = INFIX(L_AND, "&&"),
    [OP_OR] = INFIX(L_OR, "||"),
    [OP_BEQ] = INFIX(L_COMPARE, "="),
};

/* Operators associate to the left, but for powers and those whose order of brackets makes no difference. */
static Text infix(Block *b, const Node *n, OpForm f) {
  bool right = f.level == L_POWER || f.level == L_AND || f.level == L_OR;
  Level left_least = f.level == L_COMPARE || f.level == L_POWER ? f.level + 1 : f.level;
  Level right_least = right ? f.level : f.level + 1;
  const char *x = sp_operand(b, n->ops[0], left_least), *y = sp_operand(b, n->ops[1], right_least);
  return sp_text_of(b->p, f.level, "%s %s %s", x, f.text, y);
}

/* `not (x < y)` of ints, and what says that a value differs, in an operator. */
static Text not_text(Block *b, const Node *n) {
  const Node *c = n->ops[0];
  const char *op = c->op == OP_IEQ || c->op == OP_FEQ ? "<>" : c->op == OP_ILT ? ">=" : c->op == OP_ILE ? ">" : NULL;
  if (op && !sp_val_of(b, c)) return infix(b, c, (OpForm){F_INFIX, L_COMPARE, op});
  return sp_text_of(b->p, L_APPLY, "not%s", arguments(b, n->ops, 1));
}

/* x + y · (-1), and x + (-3). */
static Text int_sum_text(Block *b, const Node *n) {
  for (int k = 0; k < 2; k++) {
    const Node *y = n->ops[k];
    if (y->op == OP_INT && y->attr.i < 0 && y->attr.i > INT64_MIN)
      return sp_text_of(b->p, L_SUM, "%s - %lld", sp_operand(b, n->ops[1 - k], L_SUM), -(long long)y->attr.i);
    if (y->op != OP_IMUL || sp_val_of(b, y)) continue;
    for (int j = 0; j < 2; j++)
      if (y->ops[j]->op == OP_INT && y->ops[j]->attr.i == -1)
        return sp_text_of(b->p, L_SUM, "%s - %s", sp_operand(b, n->ops[1 - k], L_SUM),
                          sp_operand(b, y->ops[1 - j], L_PRODUCT));
  }
  return infix(b, n, forms[OP_IADD]);
}

static Text by_form(Block *b, const Node *n) {
  OpForm f = forms[n->op];
  switch (f.form) {
  case F_INFIX: return infix(b, n, f);
  case F_FUNCTION: return sp_text_of(b->p, L_APPLY, "%s%s", f.text, arguments(b, n->ops, n->nops));
  case F_PREFIX: return sp_text_of(b->p, L_MINUS, "-%s", sp_operand(b, n->ops[0], L_POWER));
  default: sp_no_source(b->p, "needs the operation `%s`", op_names[n->op]); return (Text){"()", L_ATOM};
  }
}

/* max 0 (a - b), a - b being the nearest number where it would wrap. */
static Text count_text(Block *b, const Node *n) {
  const Node *difference = n->ops[0]->op == OP_ISUBS ? n->ops[0] : n->ops[1];
  const char *x = repeated(b, difference->ops[0], L_SUM), *y = repeated(b, difference->ops[1], L_PRODUCT);
  if (strcmp(y, "(-1)") == 0) return sp_text_of(b->p, L_IF, "if %s >= 0 then %s + 1 else 0", x, x);
  return sp_text_of(b->p, L_IF, "if %s > %s then %s - %s else 0", x, y, x, y);
}

static bool is_count(const Node *n) {
  int k = n->op != OP_IMAX ? -1 : n->ops[0]->op == OP_ISUBS ? 1 : n->ops[1]->op == OP_ISUBS ? 0 : -1;
  return k >= 0 && n->ops[k]->op == OP_INT && n->ops[k]->attr.i == 0;
}

static int known_bool(const Node *n) {
  n = sp_root_of(n);
  if (n->op == OP_BOOL) return n->attr.i != 0;
  const Node *x = n->nops > 0 ? sp_root_of(n->ops[0]) : NULL, *y = n->nops > 1 ? sp_root_of(n->ops[1]) : NULL;
  if (n->op == OP_FEQ && x->op == OP_FLOAT && y->op == OP_FLOAT) return x->attr.f == y->attr.f;
  if (n->op != OP_AND) return -1;
  int left = known_bool(x), right = known_bool(y);
  return left == 0 || right == 0 ? 0 : left == 1 && right == 1 ? 1 : -1;
}

static Text select_text(Block *b, const Node *n) {
  int known = known_bool(n->ops[0]);
  if (known >= 0) return sp_use(b, n->ops[2 - known]);
  return sp_text_of(b->p, L_IF, "if %s then %s else %s", sp_operand(b, n->ops[0], L_IF), sp_operand(b, n->ops[1], L_OR),
                    sp_operand(b, n->ops[2], L_IF));
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */
static const char *list_text(Block *b, Node **xs, int n) {
  Str s = {.arena = b->p->arena};
  for (int k = 0; k < n; k++) str_printf(&s, "%s%s", k ? ", " : "", sp_operand(b, xs[k], L_IF));
  b->p->made += s.len;
  return s.data ? s.data : "";
}

static Text length_text(Block *b, const Node *n) {
  const char *a = sp_operand(b, n->ops[0], L_POSTFIX);
  if (n->attr.i == 0) return sp_text_of(b->p, L_APPLY, "length %s", a);
  return sp_text_of(b->p, L_POSTFIX, "(shape %s)[%d]", a, (int)n->attr.i);
}

static Text slice_text(Block *b, const Node *n) {
  const char *a = sp_operand(b, n->ops[0], L_POSTFIX);
  const Node *count = n->ops[2];
  if (count->op == OP_ISUB && sp_root_of(count->ops[1]) == sp_root_of(n->ops[1]))
    return sp_text_of(b->p, L_POSTFIX, "%s[%s..%s]", a, sp_operand(b, n->ops[1], L_SUM),
                      sp_operand(b, count->ops[0], L_SUM));
  const Node *low = sp_root_of(n->ops[1]);
  if (low->op == OP_INT && low->attr.i == 0)
    return sp_text_of(b->p, L_POSTFIX, "%s[..%s]", a, sp_operand(b, n->ops[2], L_SUM));
  const char *from = sp_operand(b, n->ops[1], L_SUM);
  return sp_text_of(b->p, L_POSTFIX, "%s[%s..%s + %s]", a, from, from, sp_operand(b, n->ops[2], L_PRODUCT));
}

static Text replicated(Block *b, Node **dims, int n, IrType *elem) {
  const char *x = sp_some_value(b->p, elem);
  if (!*x) sp_no_source(b->p, "begins with an array of `%s` that has no elements yet", sp_type_text(b->p, elem));
  for (int k = n - 1; k > 0; k--)
    x = sp_text_of(b->p, L_ATOM, "(replicate %s %s)", sp_operand(b, dims[k], L_POSTFIX), x).s;
  return sp_text_of(b->p, L_APPLY, "replicate %s %s", sp_operand(b, dims[0], L_POSTFIX), x);
}

static Text zeros_text(Block *b, const Node *n) {
  IrType *elem = ir_base(n->type);
  if (elem->kind != T_FLOAT) return replicated(b, n->ops, n->nops, elem);
  if (n->nops == 1) return sp_text_of(b->p, L_APPLY, "zeros %s", sp_operand(b, n->ops[0], L_POSTFIX));
  return sp_text_of(b->p, L_APPLY, "zeros [%s]", list_text(b, n->ops, n->nops));
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */
typedef struct PrimForm {
  RtPrimId id;
  const char *text; /* a function; an operator where it begins with a blank */
} PrimForm;
static const PrimForm prims[] = {
    {RTP_SHOW, "show"},
    {RTP_ATTEMPT, "attempt"},
    {RTP_FORK, "par"},
    {RTP_CONCAT_STRING, " ++ "},
    {RTP_CONCAT_STRINGS, "Str.join \"\""},
    {RTP_EQUAL, " = "},
    {RTP_HASH, "hash"},
    {RTP_ARGSORT, "argsort"},
    {RTP_STR_LENGTH, "Str.length"},
    {RTP_STR_TRIM, "Str.trim"},
    {RTP_STR_UPPER, "Str.upper"},
    {RTP_STR_LOWER, "Str.lower"},
    {RTP_STR_SPLIT, "Str.split"},
    {RTP_STR_JOIN, "Str.join"},
    {RTP_STR_CONTAINS, "Str.contains"},
    {RTP_STR_STARTS_WITH, "Str.starts_with"},
    {RTP_STR_ENDS_WITH, "Str.ends_with"},
    {RTP_STR_REPLACE, "Str.replace"},
    {RTP_STR_BYTES, "Str.bytes"},
};

static const char *matrix_operand(Block *b, const Node *transposed, Node *m, Level least) {
  if (!transposed->attr.i) return sp_operand(b, m, least);
  Text t = sp_text_of(b->p, L_APPLY, "transpose %s", sp_operand(b, m, L_POSTFIX));
  return sp_at_level(b->p, t, least);
}

static Text product_text(Block *b, const Node *n) {
  if (n->ops[0]->op != OP_BOOL || n->ops[1]->op != OP_BOOL) sp_no_source(b->p, "multiplies matrices in a private form");
  return sp_text_of(b->p, L_PRODUCT, "%s @ %s", matrix_operand(b, n->ops[0], n->ops[2], L_PRODUCT),
                    matrix_operand(b, n->ops[1], n->ops[3], L_MINUS));
}

/* A value in an interpolated string, with the format of a number if there is one. */
static Text hole_text(Block *b, Node *x, const Node *format) {
  if (format && format->op != OP_STRING) sp_no_source(b->p, "makes the format of a number when it runs");
  const char *hole = repeated(b, x, L_IF), *how = format && format->op == OP_STRING ? format->attr.text : "";
  return sp_text_of(b->p, L_ATOM, "$\"{%s%s%s}\"", hole, *how ? ":" : "", how);
}

static void add_plain(Str *out, Sym text) {
  for (const char *c = text; c < text + sym_len(text); c++) {
    if (*c == '{' || *c == '}') str_addc(out, *c);
    if (*c == '"' || *c == '\\') str_addc(out, '\\');
    if (*c == '\n') str_puts(out, "\\n");
    else str_addc(out, *c);
  }
}

const char *sp_filled_text(Block *b, Sym text, const char *n, const char *m) {
  Arena *a = b->p->arena;
  Str s = {.arena = a};
  str_puts(&s, "$\"");
  add_plain(&s, text);
  str_addc(&s, '"');
  n = arena_printf(a, "{%s}", n), m = arena_printf(a, "{%s}", m);
  size_t size = text_fill(NULL, 0, s.data, n, m) + 1;
  char *filled = arena_alloc(a, size);
  text_fill(filled, size, s.data, n, m);
  return filled;
}

/* Texts put together, as an interpolated string. */
static Text interpolated(Block *b, const Node *array) {
  Str s = {.arena = b->p->arena};
  str_puts(&s, "$\"");
  for (int k = 0; k < array->nops; k++) {
    Node *x = array->ops[k];
    if (x->op == OP_STRING) {
      add_plain(&s, x->attr.text);
      continue;
    }
    Text t = sp_use(b, x);
    size_t n = strlen(t.s);
    bool hole = strncmp(t.s, "$\"{", 3) == 0 && n > 4;
    if (hole) str_add(&s, t.s + 2, n - 3);
    else str_printf(&s, "{%s}", sp_at_level(b->p, t, L_IF));
  }
  str_addc(&s, '"');
  return (Text){s.data, L_ATOM};
}

static Text prim_text(Block *b, const Node *n) {
  RtPrimId id = (RtPrimId)ir_rt_id(n->attr.rt);
  if (id == RTP_DISPLAY) return hole_text(b, n->ops[0], NULL);
  if (id == RTP_FORMAT_FLOAT || id == RTP_FORMAT_INT || id == RTP_FORMAT_STRING)
    return hole_text(b, n->ops[1], n->ops[0]);
  if (id == RTP_MATMUL) return product_text(b, n);
  if (id == RTP_CONCAT_STRINGS && n->ops[0]->op == OP_ARRAY && !sp_val_of(b, n->ops[0]))
    return interpolated(b, n->ops[0]);
  for (size_t i = 0; i < sizeof prims / sizeof *prims; i++) {
    if (prims[i].id != id) continue;
    const char *name = prims[i].text;
    if (*name != ' ') return sp_text_of(b->p, L_APPLY, "%s%s", name, arguments(b, n->ops, n->nops));
    return sp_text_of(b->p, L_COMPARE, "%s%s%s", sp_operand(b, n->ops[0], L_SUM), name,
                      sp_operand(b, n->ops[1], L_SUM));
  }
  sp_no_source(b->p, "calls the private primitive `%s`", n->attr.rt->name);
  return (Text){"()", L_ATOM};
}

static Text fail_text(Block *b, const Node *n) {
  if (n->attr.i != FAIL_USER && n->attr.i != FAIL_MATCH && n->attr.i != FAIL_SHAPE)
    sp_no_source(b->p, "takes a derivative that doesn't exist");
  const Node *message = n->nops ? n->ops[0] : NULL;
  if (!message || message->type->kind != T_STRING) return (Text){"fail \"no case of the match fits\"", L_APPLY};
  return sp_text_of(b->p, L_APPLY, "fail %s", sp_operand(b, n->ops[0], L_POSTFIX));
}

static Text closure_text(Block *b, Node *n) {
  Printer *p = b->p;
  const Graph *g = n->graphs[0];
  if (n->type->effect) sp_no_source(p, "has functions with effects");
  Val *params = NEW_ARRAY(p->arena, Val, g->nparams + 1);
  const char *x = sp_name_fresh(p, g->params[0]->kind == T_UNIT ? "u" : g->params[0]->kind == T_INT ? "k" : "x");
  params[0] = (Val){.text = {x, L_ATOM}};
  for (int k = 0; k < n->nops; k++) {
    params[k + 1] = sp_capture(b, n->ops[k]);
    if (!params[k + 1].is_mut) continue;
    const char *fixed = sp_declare(b, params[k + 1].text.s);
    sp_add_let(b, fixed, params[k + 1].text);
    params[k + 1] = (Val){.text = {fixed, L_ATOM}};
  }
  p->repeated++;
  Text body = sp_block_text(b, n->graphs[0], params);
  p->repeated--;
  sp_name_release(p, x);
  return sp_text_of(p, L_BLOCK, "fun (%s : %s) -> %s", x, sp_type_text(p, g->params[0]), body.s);
}

static Text global_text(Block *b, const Node *n) {
  Printer *p = b->p;
  Sym name = p->w->globals.data[n->attr.global].name;
  bool named = name && p->request->is_value(p->request->user, name);
  if (!named) sp_no_source(p, "reads a value that has no name in the program");
  else if (!map_get(&p->globals, name)) {
    map_put(&p->globals, name, (void *)(uintptr_t)name);
    str_printf(&p->uses, "%s`%s`", p->uses.len ? ", " : "", name);
  }
  return sp_text_of(p, L_ATOM, "%s", name ? name : "_");
}

/* ---- Parts ------------------------------------------------------------------------------------------------------ */
/* What `attempt` tells of an error, {message, place}: assertions have messages and places of their own. */
static bool is_error(const IrType *t) {
  return t->names && t->n == 2 && strcmp(t->names[0], "message") == 0 && strcmp(t->names[1], "place") == 0;
}

static Text get_text(Block *b, const Node *n) {
  Printer *p = b->p;
  const IrType *t = n->ops[0]->type;
  if (is_error(t)) sp_no_source(p, "reads the message of an error");
  if (t->kind != T_TUPLE) sp_no_source(p, "takes apart a value of type `%s`", sp_type_text(p, n->ops[0]->type));
  if (t->n == 1 && sp_is_bare(p, t)) return sp_use(b, n->ops[0]);
  const char *x = sp_operand(b, n->ops[0], L_POSTFIX);
  if (t->names) return sp_text_of(p, L_POSTFIX, "%s.%s", x, t->names[n->attr.i]);
  if (t->n <= 2) return sp_text_of(p, L_APPLY, "%s %s", n->attr.i ? "snd" : "fst", x);
  Str s = {.arena = p->arena};
  for (int k = 0; k < t->n; k++) str_printf(&s, "%s%s", k ? ", " : "", k == n->attr.i ? "part" : "_");
  return sp_text_of(p, L_BLOCK, "let (%s) = %s in part", s.data, x);
}

static Text inj_text(Block *b, const Node *n) {
  Printer *p = b->p;
  if (n->type->kind != T_VARIANT) {
    sp_no_source(p, "adds up derivatives of functions that are chosen when it runs");
    return (Text){"()", L_ATOM};
  }
  const char *name = sp_ctor_name(p, n->type, (int)n->attr.i);
  if (n->type->ctors[n->attr.i].payload->kind == T_UNIT) return sp_text_of(p, L_ATOM, "%s", name);
  bool cons = strcmp(name, "::") == 0, parts = n->ops[0]->op == OP_TUPLE && !sp_val_of(b, n->ops[0]);
  if (cons && !parts)
    return sp_text_of(p, L_BLOCK, "let (head, tail) = %s in head :: tail", sp_operand(b, n->ops[0], L_IF));
  if (cons)
    return sp_text_of(p, L_CONS, "%s :: %s", sp_operand(b, n->ops[0]->ops[0], L_APPEND),
                      sp_operand(b, n->ops[0]->ops[1], L_CONS));
  return sp_text_of(p, L_APPLY, "%s %s", name, sp_operand(b, n->ops[0], L_POSTFIX));
}

static Text node_tuple_text(Block *b, const Node *n) {
  Text *parts = NEW_ARRAY(b->p->arena, Text, n->nops + 1);
  for (int k = 0; k < n->nops; k++) parts[k] = sp_use(b, n->ops[k]);
  return sp_tuple_text(b, n->type, parts, n->nops);
}

Text sp_expression(Block *b, Node *n) {
  Printer *p = b->p;
  if (sp_is_literal(n)) return sp_literal(p, n);
  switch ((Op)n->op) {
  case OP_GLOBAL: return global_text(b, n);
  case OP_TUPLE: return node_tuple_text(b, n);
  case OP_GET:
    if (n->ops[0]->op == OP_LOOP) return sp_comprehension_text(b, n->ops[0]);
    return sp_is_payload(n) ? sp_payload_text(b, n) : get_text(b, n);
  case OP_INJ: return inj_text(b, n);
  case OP_UNINJ: return sp_payload_text(b, n);
  case OP_CLOSURE: return closure_text(b, n);
  case OP_APPLY: return sp_text_of(p, L_APPLY, "%s%s", sp_operand(b, n->ops[0], L_APPLY), arguments(b, n->ops + 1, 1));
  case OP_CALL: {
    const char *given = arguments(b, n->ops, n->nops);
    return sp_text_of(p, L_APPLY, "%s%s", sp_func_name(p, n->attr.func), given);
  }
  case OP_SWITCH: return sp_branch_text(b, n);
  case OP_FAIL: return fail_text(b, n);
  case OP_CADD: return n->type->kind == T_FLOAT ? infix(b, n, (OpForm)INFIX(L_SUM, "+")) : sp_sum_text(b, n);
  case OP_SELECT: return select_text(b, n);
  case OP_ARRAY: return sp_text_of(p, L_ATOM, "[%s]", list_text(b, n->ops, n->nops));
  case OP_LEN: return length_text(b, n);
  case OP_INDEX:
    return sp_text_of(p, L_POSTFIX, "%s[%s]", sp_operand(b, n->ops[0], L_POSTFIX),
                      list_text(b, n->ops + 1, n->nops - 1));
  case OP_SLICE: return slice_text(b, n);
  case OP_ZEROS: return zeros_text(b, n);
  case OP_RESHAPE:
    return sp_text_of(p, L_APPLY, "reshape [%s] %s", list_text(b, n->ops + 1, n->nops - 1),
                      sp_operand(b, n->ops[0], L_POSTFIX));
  case OP_NOT: return not_text(b, n);
  case OP_IADD: return int_sum_text(b, n);
  case OP_IEQ: return sp_is_tag_test(n) ? sp_tag_test(b, n) : by_form(b, n);
  case OP_TAG: return sp_tag_text(b, n);
  case OP_IMAX: return is_count(n) ? count_text(b, n) : by_form(b, n);
  case OP_ISUBS: sp_no_source(p, "counts iterations in a private form"); return (Text){"0", L_ATOM};
  case OP_CLOSURE_ID:
  case OP_GRAPH_ID:
  case OP_CLOSURE_CAP:
    sp_no_source(p, "takes the derivative of a function that is chosen when it runs");
    return (Text){"0", L_ATOM};
  case OP_FMA: sp_no_source(p, "rounds a product and a sum once"); return (Text){"0.0", L_ATOM};
  case OP_RT: return prim_text(b, n);
  case OP_VJP:
  case OP_JVP:
  case OP_CHECKPOINT: sp_no_source(p, "holds a derivative"); return (Text){"()", L_ATOM};
  default: break;
  }
  return sp_is_bag_operation(n) ? sp_bag_text(b, n) : by_form(b, n);
}
