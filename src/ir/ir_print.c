/* SPDX-License-Identifier: MIT */
/* Graphs as text, for `atled ir` and for tests; ir_read.c makes them from it again.
 *
 *   graph NAME(p0 : TYPE, …) [identity=1]
 *     %1 : TYPE = OP ATTRIBUTES OPERANDS [@1]     @1: the place in the source
 *         graph …                               its nested graphs
 *     return OPERAND
 *
 *   function NAME [recursive] [opaque] [outlined] [pullback NAME] [tangent NAME] [foreign "LIBRARY" "SYMBOL"] : (TYPE, …) -> TYPE
 *   graph …                                     each function that is called, and the rules for its derivatives
 *   type TYPE = [once] CONSTRUCTOR [cons] [of TYPE] | …
 *   type tree' = accumulator of tree
 *   site 1 = SOURCE:START-END in NAME definition 1 [from 2]
 *   # what begins so is a comment
 *
 * Operands are %1, p0, 3, 0.5, true, (), "text" and (zero : TYPE). Types are int, (int * float), {x : float}, float[],
 * float bag, (a -> b), (a =>! b) with an effect, (a -> b) env, tree, int list, (int, string) map. What has the name of
 * something else before it gets a number, f~2.
 *
 * All numbers are given in the order of the text, so that it doesn't depend on what was built before. */
#include "ir/ir_internal.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Numbers { /* of what has none of its own, in the order it is met */
  Map of;
  int n;
} Numbers;
typedef struct Names { /* as written, unique */
  Map of, taken;
} Names;
typedef struct Text {
  World *w;
  Str *out;
  Names functions, globals, types;
  Numbers identities, sources, definitions, sites;
  Vec(Func *) funcs;
  Vec(IrType *) variants;
  Vec(Site) places;
} Text;

static void names_init(World *w, Names *n) {
  map_init(&n->of, w->arena);
  map_init(&n->taken, w->arena);
}

static Text text_open(World *w, Str *out) {
  Text t = {.w = w, .out = out};
  names_init(w, &t.functions);
  names_init(w, &t.globals);
  names_init(w, &t.types);
  Numbers *numbers[] = {&t.identities, &t.sources, &t.definitions, &t.sites};
  for (int i = 0; i < 4; i++) map_init(&numbers[i]->of, w->arena);
  return t;
}

/* x isn't 0. */
static int number_of(Numbers *n, uint64_t x) {
  const void *key = (const void *)(uintptr_t)x;
  if (!map_get(&n->of, key)) map_put(&n->of, key, (void *)(uintptr_t)++n->n);
  return (int)(uintptr_t)map_get(&n->of, key);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */
/* Quoted if it doesn't look like a name, or is a word of the text. */
static const char *spelled(World *w, Sym name) {
  static const char *const words[] = {"int", "float", "bool", "string", "unit", "token",
                                      "bag", "env",   "cons", "of",     "once", "accumulator"};
  Str s = {.arena = w->arena};
  bool plain = isalpha((unsigned char)*name) || *name == '_';
  for (const char *c = name; *c; c++) plain &= isalnum((unsigned char)*c) || *c == '_' || *c == '\'' || *c == '.';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) plain &= strcmp(name, words[i]) != 0;
  if (plain && strcmp(name, "_") != 0) return name;
  str_quoted(&s, name, strlen(name));
  return s.data;
}

/* What x is called here: its name, and a number if something else is called so. `is_new`: it is asked for first. */
static const char *name_of(Text *t, Names *names, const void *x, Sym name, bool *is_new) {
  const char *known = map_get(&names->of, x);
  *is_new = !known;
  if (known) return known;
  known = name ? spelled(t->w, name) : "_";
  Sym key = sym_of(t->w->syms, known);
  uintptr_t before = (uintptr_t)map_get(&names->taken, key);
  map_put(&names->taken, key, (void *)(before + 1));
  if (before) known = arena_printf(t->w->arena, "%s~%d", known, (int)before + 1);
  map_put(&names->of, x, (void *)(uintptr_t)known);
  return known;
}

static const char *func_name(Text *t, Func *f) {
  bool is_new;
  const char *name = name_of(t, &t->functions, f, f->name, &is_new);
  if (is_new) vec_push(t->w->arena, t->funcs, f);
  return name;
}

static const char *global_name(Text *t, int global) {
  bool is_new;
  return name_of(t, &t->globals, (void *)(uintptr_t)(global + 1), t->w->globals.data[global].name, &is_new);
}

static void print_text(Sym text, Str *out) { str_quoted(out, text, sym_len(text)); }

/* The shortest that is this number, and looks like a float. */
static void print_float(double f, Str *out) {
  char s[40];
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (isnan(f)) {
    str_printf(out, "nan:%llx", (unsigned long long)bits);
    return;
  }
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(s, sizeof s, "%.*g", precision, f);
    if (strtod(s, NULL) == f) break;
  }
  str_printf(out, "%s%s", s, strpbrk(s, ".en") ? "" : ".0");
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */
static void print_type(Text *t, IrType *x);

/* The types, with something between them. */
static void print_types(Text *t, IrType *const *xs, int n, const char *between) {
  str_addc(t->out, '(');
  for (int i = 0; i < n; i++) {
    if (i) str_puts(t->out, between);
    print_type(t, xs[i]);
  }
  str_addc(t->out, ')');
}

static void print_record(Text *t, const IrType *x) {
  for (int i = 0; i < x->n; i++) {
    str_printf(t->out, "%s%s : ", i ? ", " : "{", spelled(t->w, x->names[i]));
    print_type(t, x->args[i]);
  }
  str_addc(t->out, '}');
}

/* Types of one declaration have one name. */
static void print_variant(Text *t, IrType *x) {
  bool is_new;
  Sym name = x->nullable ? arena_printf(t->w->arena, "%s'", x->name) : x->name;
  const char *known = name_of(t, &t->types, x->key, name, &is_new);
  if (x->n == 1) print_type(t, x->args[0]);
  else if (x->n) print_types(t, x->args, x->n, ", ");
  str_printf(t->out, "%s%s", x->n ? " " : "", known);
  for (int i = 0; i < t->variants.len; i++)
    if (t->variants.data[i] == x) return;
  vec_push(t->w->arena, t->variants, x);
}

static void print_type(Text *t, IrType *x) {
  static const char *const names[] = {"int", "float", "bool", "string", "unit", "token"};
  switch (x->kind) {
  case T_TUPLE:
    if (x->names) print_record(t, x);
    else print_types(t, x->args, x->n, " * ");
    break;
  case T_FUN: print_types(t, x->args, 2, x->effect ? " =>! " : " -> "); break;
  case T_ARRAY:
  case T_BAG:
  case T_ENV:
    print_type(t, x->args[0]);
    str_puts(t->out, x->kind == T_ARRAY ? "[]" : x->kind == T_BAG ? " bag" : " env");
    break;
  case T_VARIANT: print_variant(t, x); break;
  default: str_puts(t->out, names[x->kind]);
  }
}

static void print_keys(Str *out, const IrCtor *c) {
  if (!c->keys) return;
  str_puts(out, " keys");
  for (int i = 0; i < (c->payload->kind == T_TUPLE ? c->payload->n : 1); i++) str_printf(out, " %d", c->keys[i]);
}

static void print_declaration(Text *t, IrType *x) {
  Str *out = t->out;
  str_puts(out, "type ");
  print_type(t, x);
  if (x->nullable) {
    str_puts(out, " = accumulator of ");
    print_type(t, (IrType *)(uintptr_t)x->key);
  }
  for (int i = 0; i < x->nctors && !x->nullable; i++) {
    str_printf(out, " %s %s", i ? "|" : x->once ? "= once" : "=", spelled(t->w, x->ctors[i].name));
    if (x->ctors[i].cons) str_puts(out, " cons");
    if (x->ctors[i].payload->kind == T_UNIT) continue;
    print_keys(out, &x->ctors[i]);
    str_puts(out, " of ");
    print_type(t, x->ctors[i].payload);
  }
  str_addc(out, '\n');
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
const char *const ir_fail_kinds[] = {[FAIL_USER] = "user", [FAIL_MATCH] = "match",   [FAIL_SHAPE] = "shape",
                                     [FAIL_RULE] = "rule", [FAIL_EFFECT] = "effect", [FAIL_NO_RULE] = "no_rule"};
const char *const ir_loop_counts[IR_LOOP_COUNTS] = {"carried", "accs", "sliced", "stacked"};

int *ir_loop_count(LoopInfo *l, int k) {
  int *const counts[] = {&l->ncarried, &l->naccs, &l->nsliced, &l->nstacked};
  return counts[k];
}

static void print_loop(const LoopInfo *l, Str *out) {
  LoopInfo copy = *l;
  for (int k = 0; k < IR_LOOP_COUNTS; k++)
    if (*ir_loop_count(&copy, k)) str_printf(out, " %s %d", ir_loop_counts[k], *ir_loop_count(&copy, k));
  str_printf(out, "%s%s", l->has_cond ? " while" : "", l->down ? " down" : "");
  for (int k = 0; k < l->nstacked; k++)
    if (loop_is_sized(l, k)) str_printf(out, " sized %d", k);
}

/* Dimensions, and the scalars of all elements; _ for those that are operands. */
static void print_data(Text *t, const Node *n) {
  const ArrayData *d = n->attr.data;
  int width;
  const IrKind *kinds = ir_data_kinds(t->w, n->type, &width);
  for (int k = 0; k < ir_rank(n->type); k++) str_printf(t->out, "%s%lld", k ? "x" : " ", (long long)d->dims[k]);
  str_addc(t->out, ':');
  for (int64_t i = 0; i < d->nslots; i++) {
    double f;
    memcpy(&f, &d->slots[i], sizeof f);
    str_addc(t->out, ' ');
    switch (kinds[i % width]) {
    case T_INT: str_printf(t->out, "%lld", (long long)d->slots[i]); break;
    case T_BOOL: str_puts(t->out, d->slots[i] ? "true" : "false"); break;
    case T_FLOAT: print_float(f, t->out); break;
    default: str_addc(t->out, '_');
    }
  }
}

static void print_attr(Text *t, const Node *n) {
  Str *out = t->out;
  switch (n->op) {
  case OP_GET:
  case OP_INJ:
  case OP_UNINJ:
  case OP_LEN:
  case OP_BAG_RESHAPE:
  case OP_CLOSURE_CAP: str_printf(out, " %lld", (long long)n->attr.i); break;
  case OP_AFTER: str_puts(out, n->attr.i == WAITS_END ? " wait" : n->attr.i == WAITS_ERROR ? " fails" : ""); break;
  case OP_FADD:
  case OP_FSUB: str_puts(out, n->attr.i ? " apart" : ""); break;
  case OP_FAIL: str_printf(out, " %s", ir_fail_kinds[n->attr.i]); break;
  case OP_CHECK_NAT:
  case OP_CHECK_SIZE:
  case OP_TRAP_NAN:
  case OP_TRAP_INF:
  case OP_MARK:
    if (n->attr.text) str_addc(out, ' '), print_text(n->attr.text, out);
    break;
  case OP_DATA: print_data(t, n); break;
  case OP_GLOBAL: str_printf(out, " %s", global_name(t, n->attr.global)); break;
  case OP_CALL: str_printf(out, " %s", func_name(t, n->attr.func)); break;
  case OP_RT:
    str_printf(out, " %s", n->attr.rt->name);
    if (n->type_arg) {
      str_puts(out, " <");
      print_type(t, n->type_arg);
      str_addc(out, '>');
    }
    break;
  case OP_LOOP: print_loop(n->loop, out); break;
  default: break;
  }
}

/* Does it stand among the operands of what reads it? */
static bool is_leaf(const Node *n) {
  return n->op == OP_PARAM || (ir_is_constant(n) && n->op != OP_GRAPH_ID && n->op != OP_DATA);
}

static void print_leaf(Text *t, const Node *n) {
  Str *out = t->out;
  switch (n->op) {
  case OP_PARAM: str_printf(out, "p%lld", (long long)n->attr.i); break;
  case OP_INT: str_printf(out, "%lld", (long long)n->attr.i); break;
  case OP_FLOAT: print_float(n->attr.f, out); break;
  case OP_BOOL: str_puts(out, n->attr.i ? "true" : "false"); break;
  case OP_STRING: print_text(n->attr.text, out); break;
  case OP_UNIT: str_puts(out, "()"); break;
  default:
    str_puts(out, "(zero : ");
    print_type(t, n->type);
    str_addc(out, ')');
  }
}

static void print_operand(Text *t, const Node *n, const Map *pos) {
  str_addc(t->out, ' ');
  if (is_leaf(n)) print_leaf(t, n);
  else str_printf(t->out, "%%%d", (int)(uintptr_t)map_get(pos, n));
}

static void print_site(Text *t, Site s) {
  int before = t->sites.n;
  str_printf(t->out, " @%d", number_of(&t->sites, s));
  if (t->sites.n > before) vec_push(t->w->arena, t->places, s);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */
static void indent(Str *out, int depth) {
  for (int i = 0; i < depth; i++) str_puts(out, "  ");
}

static void print_header(Text *t, const Graph *g) {
  str_printf(t->out, "graph %s(", g->name ? spelled(t->w, g->name) : "");
  for (int i = 0; i < g->nparams; i++) {
    str_printf(t->out, "%sp%d : ", i ? ", " : "", i);
    print_type(t, g->params[i]);
  }
  str_addc(t->out, ')');
  if (g->identity) str_printf(t->out, " identity=%d", number_of(&t->identities, g->identity));
  str_addc(t->out, '\n');
}

static void print_graph(Text *t, Graph *g, int depth) {
  GraphBody *b = graph_body(t->w, g);
  Str *out = t->out;
  Map pos;
  int number = 0;
  map_init(&pos, t->w->arena);
  indent(out, depth);
  print_header(t, g);
  for (int i = 0; i < b->n; i++) {
    const Node *n = b->nodes[i];
    if (is_leaf(n)) continue;
    map_put(&pos, n, (void *)(uintptr_t)++number);
    indent(out, depth + 1);
    str_printf(out, "%%%d : ", number);
    print_type(t, n->type);
    str_printf(out, " = %s", op_names[n->op]);
    print_attr(t, n);
    for (int k = 0; k < n->nops; k++) print_operand(t, n->ops[k], &pos);
    if (n->site) print_site(t, n->site);
    str_addc(out, '\n');
    for (int k = 0; k < n->ngraphs; k++) print_graph(t, n->graphs[k], depth + 2);
  }
  indent(out, depth + 1);
  str_puts(out, "return");
  print_operand(t, g->result, &pos);
  str_addc(out, '\n');
}

static void print_function(Text *t, Func *f) {
  Str *out = t->out;
  str_printf(out, "\nfunction %s%s%s", func_name(t, f), f->recursive ? " recursive" : "", f->opaque ? " opaque" : "");
  if (f->outlined) str_printf(out, " outlined");
  if (f->pullback) str_printf(out, " pullback %s", func_name(t, f->pullback));
  if (f->tangent) str_printf(out, " tangent %s", func_name(t, f->tangent));
  if (f->foreign.library) {
    str_puts(out, " foreign ");
    print_text(f->foreign.library, out);
    str_addc(out, ' ');
    print_text(f->foreign.symbol, out);
  }
  str_puts(out, " : ");
  print_types(t, f->params, f->nparams, ", ");
  str_puts(out, " -> ");
  print_type(t, f->result);
  str_addc(out, '\n');
  if (f->graph) print_graph(t, f->graph, 0);
}

static void print_place(Text *t, Site s) {
  SiteInfo x = *ir_site_info(t->w, s);
  str_printf(t->out, "site %d = %d:%u-%u", number_of(&t->sites, s), number_of(&t->sources, x.at.source), x.at.start,
             x.at.end);
  if (x.function) str_printf(t->out, " in %s", spelled(t->w, x.function));
  if (x.definition) str_printf(t->out, " definition %d", number_of(&t->definitions, x.definition));
  if (x.parent) {
    str_puts(t->out, " from");
    print_site(t, x.parent);
  }
  str_addc(t->out, '\n');
}

/* Each of these may name more of its own kind, and of those after it. */
void ir_print(World *w, const Graph *g, Str *out) {
  Text t = text_open(w, out);
  print_graph(&t, (Graph *)g, 0);
  for (int i = 0; i < t.funcs.len; i++) print_function(&t, t.funcs.data[i]);
  if (t.variants.len + t.places.len) str_addc(out, '\n');
  for (int i = 0; i < t.variants.len; i++) print_declaration(&t, t.variants.data[i]);
  for (int i = 0; i < t.places.len; i++) print_place(&t, t.places.data[i]);
}

/* ---- Graphviz ---------------------------------------------------------------------------------------------------- */

static void dot_node(Text *t, const Node *n, Str *out) {
  Str label = {.arena = t->w->arena};
  t->out = &label;
  str_puts(&label, op_names[n->op]);
  if (is_leaf(n)) str_addc(&label, ' '), print_leaf(t, n);
  else print_attr(t, n);
  str_printf(out, "[shape=%s,label=\"", n->op == OP_PARAM ? "ellipse" : ir_is_constant(n) ? "plaintext" : "box");
  for (size_t i = 0; i < label.len && i < LIMIT_LABEL_SHOWN; i++) {
    if (label.data[i] == '"' || label.data[i] == '\\') str_addc(out, '\\');
    str_addc(out, label.data[i]);
  }
  str_puts(out, label.len > LIMIT_LABEL_SHOWN ? "…\"" : "\"");
}

static void dot_graph(Text *t, Graph *g, int *number, Str *out) {
  GraphBody *b = graph_body(t->w, g);
  int me = (*number)++;
  str_printf(out, "subgraph cluster_%d { label=\"%s\"; style=rounded; color=gray;\n", me, g->name ? g->name : "");
  for (int i = 0; i < b->n; i++) {
    str_printf(out, "n%d_%d ", me, i);
    dot_node(t, b->nodes[i], out);
    str_printf(out, "%s];\n", b->nodes[i] == g->result ? ",peripheries=2" : "");
  }
  const int *ops = b->operands;
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->nops; k++) str_printf(out, "n%d_%d -> n%d_%d;\n", me, *ops++, me, i);
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < b->nodes[i]->ngraphs; k++) {
      str_printf(out, "n%d_%d -> n%d_0 [style=dashed,arrowhead=none];\n", me, i, *number);
      dot_graph(t, b->nodes[i]->graphs[k], number, out);
    }
  str_puts(out, "}\n");
}

void ir_print_dot(World *w, const Graph *g, Str *out) {
  str_puts(out, "digraph atled { rankdir=TB; node [fontname=\"monospace\",fontsize=10];\n");
  int number = 0;
  Text t = text_open(w, NULL);
  dot_graph(&t, (Graph *)g, &number, out);
  str_puts(out, "}\n");
}
