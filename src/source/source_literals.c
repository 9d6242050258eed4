/* SPDX-License-Identifier: MIT */
/* Constants as source: numbers in the fewest digits that read back the same, texts, arrays. */
#include "source/source_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Text float_text(Printer *p, double x) {
  char s[40];
  if (isnan(x)) return (Text){"nan", L_ATOM};
  if (isinf(x)) return x > 0 ? (Text){"inf", L_ATOM} : (Text){"(-inf)", L_ATOM};
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(s, sizeof s, "%.*g", digits, x);
    if (strtod(s, NULL) == x) break;
  }
  if (strchr(s, 'e') && fabs(x) >= 1 && fabs(x) < 1e16) snprintf(s, sizeof s, "%.1f", x);
  const char *point = strpbrk(s, ".e") ? "" : ".0";
  return signbit(x) ? sp_text_of(p, L_ATOM, "(%s%s)", s, point) : sp_text_of(p, L_ATOM, "%s%s", s, point);
}

static Text int_text(Printer *p, int64_t x) {
  if (x == INT64_MIN) return (Text){"(-9223372036854775807 - 1)", L_ATOM};
  return x < 0 ? sp_text_of(p, L_ATOM, "(%lld)", (long long)x) : sp_text_of(p, L_ATOM, "%lld", (long long)x);
}

static Text string_text(Printer *p, Sym text) {
  Str s = {.arena = p->arena};
  str_addc(&s, '"');
  for (const char *c = text; c < text + sym_len(text); c++) {
    if (*c == '"' || *c == '\\') str_printf(&s, "\\%c", *c);
    else if (*c == '\n') str_puts(&s, "\\n");
    else if (*c == '\t') str_puts(&s, "\\t");
    else if ((unsigned char)*c < 32) sp_no_source(p, "has a text with a control character");
    else str_addc(&s, *c);
  }
  str_addc(&s, '"');
  return (Text){s.data, L_ATOM};
}

static Text data_text(Printer *p, Node *n) {
  const ArrayData *d = n->attr.data;
  if (d->nslots > LIMIT_SOURCE_ELEMENTS) {
    sp_no_source(p, "holds a table of %lld numbers", (long long)d->nslots);
    return (Text){"[]", L_ATOM};
  }
  Str s = {.arena = p->arena};
  str_addc(&s, '[');
  for (int64_t i = 0; i < d->dims[0]; i++) {
    Node *at = ir_int(p->w, i);
    str_printf(&s, "%s%s", i ? ", " : "", sp_literal(p, ir_index(p->w, n, &at, 1)).s);
  }
  str_addc(&s, ']');
  p->made += s.len;
  return (Text){s.data, L_ATOM};
}

static Text constructor_text(Printer *p, Node *n) {
  const char *name = sp_ctor_name(p, n->type, (int)n->attr.i);
  if (n->type->ctors[n->attr.i].payload->kind == T_UNIT) return sp_text_of(p, L_ATOM, "%s", name);
  Text payload = sp_literal(p, n->ops[0]);
  return sp_text_of(p, L_APPLY, "%s %s", name, sp_at_level(p, payload, L_POSTFIX));
}

bool sp_is_literal(const Node *n) {
  return n->op == OP_INT || n->op == OP_FLOAT || n->op == OP_BOOL || n->op == OP_STRING || n->op == OP_UNIT ||
         n->op == OP_DATA || n->op == OP_ZERO;
}

Text sp_literal(Printer *p, Node *n) {
  switch (n->op) {
  case OP_INT: return int_text(p, n->attr.i);
  case OP_FLOAT: return float_text(p, n->attr.f);
  case OP_BOOL: return n->attr.i ? (Text){"true", L_ATOM} : (Text){"false", L_ATOM};
  case OP_STRING: return string_text(p, n->attr.text);
  case OP_UNIT: return (Text){"()", L_ATOM};
  case OP_DATA: return data_text(p, n);
  case OP_INJ: return constructor_text(p, n);
  case OP_TUPLE: {
    Text *parts = NEW_ARRAY(p->arena, Text, n->nops + 1);
    for (int k = 0; k < n->nops; k++) parts[k] = sp_literal(p, n->ops[k]);
    return sp_tuple_text(&(Block){.p = p}, n->type, parts, n->nops);
  }
  case OP_ZERO: {
    const char *zero = sp_some_value(p, n->type);
    if (!*zero) sp_no_source(p, "has a value of type `%s` that is never read", sp_type_text(p, n->type));
    return (Text){zero, L_ATOM};
  }
  default: sp_no_source(p, "has a constant of type `%s`", sp_type_text(p, n->type)); return (Text){"()", L_ATOM};
  }
}

static const char *some_tuple(Printer *p, IrType *t) {
  Text *parts = NEW_ARRAY(p->arena, Text, t->n + 1);
  for (int k = 0; k < t->n; k++) {
    parts[k] = (Text){sp_some_value(p, t->args[k]), L_ATOM};
    if (!*parts[k].s) return "";
  }
  return sp_tuple_text(&(Block){.p = p}, t, parts, t->n).s;
}

static const char *some_constructor(Printer *p, IrType *t) {
  for (int k = 0; k < t->nctors; k++)
    if (t->ctors[k].payload->kind == T_UNIT) return sp_ctor_name(p, t, k);
  if (sp_needs_empty(t)) return sp_ctor_name(p, t, t->nctors);
  if (p->filling >= LIMIT_SOURCE_VALUE) return "";
  p->filling++;
  const char *found = "";
  for (int k = 0; k < t->nctors && !*found; k++) {
    const char *payload = sp_some_value(p, t->ctors[k].payload), *name = sp_ctor_name(p, t, k);
    if (*payload && strcmp(name, "::") != 0) found = arena_printf(p->arena, "(%s %s)", name, payload);
  }
  p->filling--;
  return found;
}

const char *sp_some_value(Printer *p, IrType *t) {
  switch (t->kind) {
  case T_INT: return "0";
  case T_FLOAT: return "0.0";
  case T_BOOL: return "false";
  case T_STRING: return "\"\"";
  case T_UNIT: return "()";
  case T_TUPLE: return some_tuple(p, t);
  case T_ARRAY:
  case T_BAG: return "[]";
  case T_VARIANT: return some_constructor(p, t);
  default: return "";
  }
}
