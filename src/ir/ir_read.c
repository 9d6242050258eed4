/* SPDX-License-Identifier: MIT */
/* Reads a graph from its text form, whose grammar is in ir_print.c. Tests of passes use it: a graph that was printed
 * and read back has the same text.
 *
 * The first pass over the text notes its rows: functions, types, places. The second one reads the graph; where it
 * names a function or type that hasn't been read, the reader goes to that row and comes back. So functions are
 * finished before their callers, unless they are recursive, as in elaboration. Each function below reads what its
 * name says, and leaves the position after it. At the first error the text counts as ended (scan.h). Nodes are made
 * as written, without normalisation; ir_verify checks whether they fit together. */
#include "ir/ir_internal.h"
#include "support/scan.h"
#include <ctype.h>
#include <string.h>

typedef struct Row {
  const char *at; /* in the text, after the word that it begins with; of a type, later: after the equals sign */
  bool begun;     /* is it being read, or was it? */
  Func *func;
  IrType *type;
  Site site;
} Row;
typedef struct Reader {
  World *w;
  Scan *s;
  const char *main;
  Map functions, accumulators, sites; /* by name or number -> Row */
  Map globals;                        /* by name -> 1 + number */
  Map identities;
  Vec(Row *) types, funcs;
  bool declaring; /* types: constructors come later */
  bool again;     /* types whose arguments are accumulators: those of the others are known by now */
  int depth;
} Reader;

/* What is known in a graph: its nodes by their numbers. */
typedef struct Scope {
  Vec(IrType *) params;
  Map nodes;
} Scope;

static const void *number_key(int32_t k) { return (const void *)((uintptr_t)(uint32_t)k + 1); }
static void *by_number(const Map *m, int32_t k) { return map_get(m, number_key(k)); }
static void put_number(Map *m, int32_t k, void *x) { map_put(m, number_key(k), x); }

/* Goes to a row; go_back returns. */
static const char *go_to(Reader *r, const char *at) {
  const char *from = r->s->at;
  if (!r->s->error) r->s->at = at;
  return from;
}

static void go_back(Reader *r, const char *from) {
  if (scan_next(r->s)) scan_wrong(r->s, "the end of the line expected");
  if (!r->s->error) r->s->at = from;
}

static bool enter(Reader *r) {
  if (++r->depth > LIMIT_TEXT_DEPTH) scan_wrong(r->s, "too deep");
  return r->depth <= LIMIT_TEXT_DEPTH;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */
typedef struct Name {
  Sym key;  /* as written, with the number */
  Sym name; /* NULL for _ */
} Name;

static bool begins_name(char c) { return isalpha((unsigned char)c) || c == '_' || c == '"'; }
static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '\'' || c == '.'; }

static Name name(Reader *r) {
  Scan *s = r->s;
  Name n = {.name = NULL};
  if (!begins_name(scan_next(s))) scan_wrong(s, "expected a name");
  const char *start = s->at;
  if (scan_next(s) == '"') {
    Str text = scan_quoted(s);
    n.name = sym_intern(r->w->syms, text.data, text.len);
  } else {
    while (s->at < s->end && in_name(*s->at)) s->at++;
    n.name = sym_intern(r->w->syms, start, (size_t)(s->at - start));
    if (strcmp(n.name, "_") == 0) n.name = NULL;
  }
  if (s->at < s->end && *s->at == '~') s->at++, scan_int(s);
  s->word = start;
  n.key = s->error ? "" : sym_intern(r->w->syms, start, (size_t)(s->at - start));
  return n;
}

/* ---- Types ------------------------------------------------------------------------------------------------------- */
static IrType *type(Reader *r);

/* A number for each component of the payload. */
static int read_keys(Reader *r, IrCtor *c) {
  Vec(uint8_t) keys = {0};
  while (!r->s->error && isdigit((unsigned char)scan_next(r->s))) vec_push(r->w->arena, keys, (uint8_t)scan_int(r->s));
  c->keys = keys.data;
  return keys.len;
}

static void read_ctors(Reader *r, IrType *t) {
  Vec(IrCtor) ctors = {0};
  t->once = scan_took(r->s, "once");
  do {
    IrCtor c = {.name = name(r).name, .payload = ir_type(r->w, T_UNIT)};
    c.cons = scan_took(r->s, "cons");
    int nkeys = scan_took(r->s, "keys") ? read_keys(r, &c) : 0;
    if (scan_took(r->s, "of")) c.payload = type(r);
    int parts = c.payload->kind == T_TUPLE ? c.payload->n : 1;
    if (c.keys && nkeys != parts) scan_wrong(r->s, "%d numbers of keys expected", parts);
    vec_push(r->w->arena, ctors, c);
  } while (scan_took(r->s, "|"));
  t->ctors = ctors.data;
  t->nctors = ctors.len;
}

/* Reads the constructors of t, unless they are known. */
static void complete(Reader *r, IrType *t) {
  if (t->ctors || r->declaring) return;
  Row *row = NULL;
  for (int i = 0; i < r->types.len && !row; i++)
    if (r->types.data[i]->type == t) row = r->types.data[i];
  if (!row) scan_wrong_word(r->s, "type %s isn't declared", t->name);
  if (!row || row->begun) return;
  row->begun = true;
  const char *from = go_to(r, row->at);
  read_ctors(r, t);
  go_back(r, from);
}

static IrType *accumulator(Reader *r, Row *row) {
  if (!row->type && row->begun) scan_wrong_word(r->s, "an accumulator of itself");
  if (!row->type && !row->begun) {
    row->begun = true;
    const char *from = go_to(r, row->at);
    row->type = ir_accumulator(r->w, type(r));
    go_back(r, from);
  }
  return row->type ? row->type : ir_type(r->w, T_UNIT);
}

static IrType *variant(Reader *r, IrType **args, int n) {
  Name of = name(r);
  if (r->s->error) return ir_type(r->w, T_UNIT);
  Row *row = map_get(&r->accumulators, of.key);
  if (row && (!r->declaring || r->again)) {
    bool declaring = r->declaring;
    r->declaring = false;
    IrType *t = accumulator(r, row);
    r->declaring = declaring;
    return t;
  }
  IrType *t = ir_variant_type(r->w, of.name, of.key, args, n);
  complete(r, t);
  return t;
}

static IrType *record(Reader *r) {
  Vec(IrType *) types = {0};
  Vec(Sym) names = {0};
  do {
    Sym field = name(r).name;
    scan_expect(r->s, ":");
    vec_push(r->w->arena, names, field);
    vec_push(r->w->arena, types, type(r));
  } while (scan_took(r->s, ","));
  scan_expect(r->s, "}");
  return ir_tuple_type(r->w, types.data, names.data, types.len);
}

/* What follows a bracket: a tuple, a function, or arguments of a type that is named after them. */
static IrType *bracketed(Reader *r) {
  Vec(IrType *) ts = {0};
  vec_push(r->w->arena, ts, type(r));
  bool effect = scan_took(r->s, "=>!");
  bool function = effect || scan_took(r->s, "->");
  const char *between = scan_next(r->s) == ',' ? "," : "*";
  if (function) vec_push(r->w->arena, ts, type(r));
  while (!function && scan_took(r->s, between)) vec_push(r->w->arena, ts, type(r));
  scan_expect(r->s, ")");
  if (function) return ir_fun_type(r->w, ts.data[0], ts.data[1], effect);
  return *between == ',' ? variant(r, ts.data, ts.len) : ir_tuple_type(r->w, ts.data, NULL, ts.len);
}

static IrType *first_type(Reader *r) {
  static const char *const names[] = {"int", "float", "bool", "string", "unit", "token"};
  if (scan_took(r->s, "(")) return bracketed(r);
  if (scan_took(r->s, "{")) return record(r);
  for (IrKind k = T_INT; k <= T_TOKEN; k++)
    if (scan_took(r->s, names[k])) return ir_type(r->w, k);
  return variant(r, NULL, 0);
}

static IrType *type(Reader *r) {
  World *w = r->w;
  if (!enter(r)) return ir_type(w, T_UNIT);
  IrType *t = first_type(r);
  for (bool more = true; more && !r->s->error;) {
    if (scan_took(r->s, "[]")) t = ir_array_type(w, t);
    else if (scan_took(r->s, "bag")) t = ir_bag_type(w, t);
    else if (scan_took(r->s, "env")) t = ir_env_type(w, t);
    else if (begins_name(scan_next(r->s))) t = variant(r, &t, 1);
    else more = false;
  }
  r->depth--;
  return t;
}

/* May the declared type have accumulators, as tape', among its arguments? */
static bool names_accumulators(const Row *row) {
  size_t head = strcspn(row->at, "=\n");
  return memchr(row->at, '\'', head) != NULL;
}

/* Is it the row of an accumulator's type? These have no arguments. */
static bool find_accumulator(Reader *r, Row *row) {
  static const char words[] = " = accumulator of ";
  const char *end = strchr(row->at, '\n'), *found = strstr(row->at, words);
  if (!found || (end && found > end)) return false;
  const char *from = go_to(r, row->at);
  map_put(&r->accumulators, name(r).key, row);
  row->at = found + strlen(words);
  if (!r->s->error) r->s->at = from;
  return true;
}

static void declare_type(Reader *r, Row *row) {
  const char *from = go_to(r, row->at);
  scan_next(r->s);
  const char *head = r->s->at;
  r->declaring = true;
  row->type = type(r);
  r->declaring = false;
  scan_expect(r->s, "=");
  row->at = r->s->at;
  r->s->word = head;
  if (row->type->kind != T_VARIANT) scan_wrong_word(r->s, "this type needs no declaration");
  if (!r->s->error) r->s->at = from;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
/* The place with this number: what its row says, or, without one, a place that differs from all others. */
static Site site(Reader *r) {
  Scan *s = r->s;
  scan_expect(s, "@");
  int32_t k = scan_int(s);
  Row *row = by_number(&r->sites, k);
  SiteInfo p = {.at = {1, (uint32_t)k, (uint32_t)k}, .definition = 1};
  if (k <= 0) scan_wrong_word(s, "places are numbered from 1 on");
  if (!row) put_number(&r->sites, k, row = NEW(r->w->arena, Row));
  if (row->begun && !row->site) scan_wrong_word(s, "a place that was inlined at itself");
  if (row->begun) return row->site;
  row->begun = true;
  if (row->at && enter(r)) {
    const char *from = go_to(r, row->at);
    scan_expect(s, "=");
    p.at.source = scan_unsigned(s);
    scan_expect(s, ":");
    p.at.start = scan_unsigned(s);
    scan_expect(s, "-");
    p.at.end = scan_unsigned(s);
    p.function = scan_took(s, "in") ? name(r).name : NULL;
    p.definition = scan_took(s, "definition") ? scan_unsigned(s) : 0;
    p.parent = scan_took(s, "from") ? site(r) : 0;
    go_back(r, from);
    r->depth--;
  }
  return row->site = ir_site_of(r->w, p);
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */
static Node *number(Reader *r) {
  Scan *s = r->s;
  const char *end = s->at;
  while (end < s->end && !isspace((unsigned char)*end) && !strchr(".en", *end)) end++;
  bool is_float = end < s->end && !isspace((unsigned char)*end);
  return is_float ? ir_float(r->w, scan_float(s)) : ir_int(r->w, scan_number(s));
}

static Node *param(Reader *r, const Scope *in) {
  int k = scan_int(r->s);
  if (k >= 0 && k < in->params.len) return ir_param(r->w, k, in->params.data[k]);
  scan_wrong_word(r->s, "there is no parameter %d", k);
  return ir_unit(r->w);
}

static Node *made_before(Reader *r, const Scope *in) {
  int k = scan_int(r->s);
  Node *n = by_number(&in->nodes, k);
  if (!n) scan_wrong_word(r->s, "there is no node %d before this one", k);
  return n ? n : ir_unit(r->w);
}

static Node *zero(Reader *r) {
  scan_expect(r->s, ":");
  Node *n = ir_zero(r->w, type(r));
  scan_expect(r->s, ")");
  return n;
}

static Node *operand(Reader *r, const Scope *in) {
  Scan *s = r->s;
  char c = scan_next(s);
  if (scan_took(s, "%")) return made_before(r, in);
  if (scan_took(s, "true")) return ir_bool(r->w, true);
  if (scan_took(s, "false")) return ir_bool(r->w, false);
  if (scan_took(s, "()")) return ir_unit(r->w);
  if (scan_took(s, "(zero")) return zero(r);
  if (c == '"') {
    Str text = scan_quoted(s);
    return ir_string(r->w, sym_intern(r->w->syms, text.data, text.len));
  }
  if (c == 'p') {
    s->at++;
    return param(r, in);
  }
  if (!c || !strchr("-0123456789in", c)) scan_wrong(s, "expected an operand");
  return number(r);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
static Row *declare(Reader *r);
static void finish(Reader *r, Row *row);
static Graph *graph(Reader *r);

static Func *called(Reader *r) {
  Row *row = declare(r);
  if (row) finish(r, row);
  return row ? row->func : NULL;
}

static int global(Reader *r, IrType *t) {
  Name of = name(r);
  int known = (int)(uintptr_t)map_get(&r->globals, of.key);
  if (known) return known - 1;
  vec_push(r->w->arena, r->w->globals, ((GlobalInfo){of.name, t, NULL, NULL}));
  map_put(&r->globals, of.key, (void *)(uintptr_t)r->w->globals.len);
  return r->w->globals.len - 1;
}

static const RtPrim *primitive(Reader *r, IrType **type_arg) {
  const RtPrim *p = ir_rt_find(scan_word(r->s));
  if (!p) scan_wrong_word(r->s, "no such primitive");
  if (scan_took(r->s, "<")) {
    *type_arg = type(r);
    scan_expect(r->s, ">");
  }
  return p ? p : ir_rt_find("show");
}

static FailKind fail_kind(Reader *r) {
  for (FailKind k = FAIL_USER; k <= FAIL_NO_RULE; k++)
    if (scan_took(r->s, ir_fail_kinds[k])) return k;
  scan_wrong(r->s, "expected what is reported: user, match, shape, rule, effect or no_rule");
  return FAIL_USER;
}

static LoopInfo *loop(Reader *r) {
  LoopInfo *l = NEW(r->w->arena, LoopInfo);
  for (int k = 0; k < IR_LOOP_COUNTS; k++)
    if (scan_took(r->s, ir_loop_counts[k])) {
      int n = scan_int(r->s);
      if (n < 0 || n > r->s->end - r->s->text) scan_wrong_word(r->s, "this many can't be");
      *ir_loop_count(l, k) = r->s->error ? 0 : n;
    }
  l->has_cond = scan_took(r->s, "while");
  l->down = scan_took(r->s, "down");
  while (scan_took(r->s, "sized")) {
    int k = scan_int(r->s);
    if (k < 0 || k >= l->nstacked || k >= 64) scan_wrong_word(r->s, "no stacked result has this number");
    else l->sized |= (uint64_t)1 << k;
  }
  return l;
}

/* The dimensions of a constant array; how many scalars it has, of which the text must have room for each. */
static int64_t *dimensions(Reader *r, IrType *t, int width, int64_t *count) {
  int rank = ir_rank(t);
  int64_t *dims = NEW_ARRAY(r->w->arena, int64_t, rank + 1);
  bool fits = t->kind == T_ARRAY;
  *count = width;
  for (int k = 0; k < rank && fits; k++) {
    if (k) fits = scan_next(r->s) == 'x' && *r->s->at++;
    dims[k] = scan_number(r->s);
    fits = fits && dims[k] >= 0 && !__builtin_mul_overflow(*count, dims[k], count) && *count <= r->s->end - r->s->at;
  }
  if (!fits) scan_wrong_word(r->s, "no such constant array can be");
  scan_expect(r->s, ":");
  return dims;
}

static int64_t scalar(Reader *r, IrKind kind) {
  double f;
  int64_t bits;
  switch (kind) {
  case T_INT: return scan_number(r->s);
  case T_FLOAT:
    f = scan_float(r->s);
    memcpy(&bits, &f, sizeof bits);
    return bits;
  case T_BOOL:
    if (scan_took(r->s, "true")) return 1;
    scan_expect(r->s, "false");
    return 0;
  default: scan_expect(r->s, "_"); return 0;
  }
}

static ArrayData data(Reader *r, IrType *t) {
  int width;
  ArrayData d = {0};
  const IrKind *kinds = ir_data_kinds(r->w, t, &width);
  d.dims = dimensions(r, t, width, &d.nslots);
  if (r->s->error) return (ArrayData){.dims = d.dims};
  int64_t *slots = NEW_ARRAY(r->w->arena, int64_t, d.nslots + 1);
  for (int64_t i = 0; i < d.nslots; i++) slots[i] = scalar(r, kinds[i % width]);
  d.slots = slots;
  return d;
}

/* What stands between the operation and the operands. */
static void attribute(Reader *r, Node *n) {
  Scan *s = r->s;
  switch (n->op) {
  case OP_GET:
  case OP_INJ:
  case OP_UNINJ:
  case OP_LEN:
  case OP_BAG_RESHAPE:
  case OP_CLOSURE_CAP: n->attr.i = scan_number(s); break;
  case OP_AFTER: n->attr.i = scan_took(s, "wait") ? WAITS_END : scan_took(s, "fails") ? WAITS_ERROR : WAITS_SEEN; break;
  case OP_FADD:
  case OP_FSUB: n->attr.i = scan_took(s, "apart"); break;
  case OP_FAIL: n->attr.i = fail_kind(r); break;
  case OP_CHECK_NAT:
  case OP_CHECK_SIZE:
  case OP_TRAP_NAN:
  case OP_TRAP_INF:
  case OP_MARK:
    if (scan_next(s) == '"') n->attr.text = name(r).name;
    break;
  case OP_GLOBAL: n->attr.i = global(r, n->type); break;
  case OP_CALL: n->attr.func = called(r); break;
  case OP_RT:
    n->attr.rt = primitive(r, &n->type_arg);
    r->w->has_statics |= ir_is_static(n);
    break;
  case OP_LOOP: n->loop = loop(r); break;
  default: break;
  }
}

static Op operation(Reader *r) {
  const char *word = scan_word(r->s);
  for (int op = 0; op < OP_COUNT; op++) {
    bool leaf = op == OP_PARAM || ((op_flags[op] & OPF_K) && op != OP_GRAPH_ID && op != OP_DATA);
    if (!leaf && strcmp(op_names[op], word) == 0) return (Op)op;
  }
  scan_wrong_word(r->s, "no operation %s", word);
  return OP_TUPLE;
}

/* The nested graphs of a node, which stand below it. */
static void nested(Reader *r, Node *n) {
  Vec(Graph *) graphs = {0};
  const char *end = r->s->at;
  for (; scan_line(r->s) && scan_took(r->s, "graph"); end = r->s->at) vec_push(r->w->arena, graphs, graph(r));
  if (!r->s->error) r->s->at = end;
  n->graphs = graphs.data;
  n->ngraphs = graphs.len;
}

/* %1 : TYPE = …, of which the percent sign was taken. */
static void read_node(Reader *r, Scope *in) {
  Scan *s = r->s;
  Nodes ops = {0};
  ArrayData d;
  int number = scan_int(s);
  if (number < 0 || by_number(&in->nodes, number)) scan_wrong_word(s, "another number expected");
  scan_expect(s, ":");
  Node n = {.type = type(r)};
  scan_expect(s, "=");
  n.op = (uint16_t)operation(r);
  if (n.op == OP_DATA) d = data(r, n.type);
  else attribute(r, &n);
  while (scan_next(s) && scan_next(s) != '@') vec_push(r->w->arena, ops, operand(r, in));
  if (scan_next(s)) n.site = site(r);
  nested(r, &n);
  if (s->error) return;
  n.ops = ops.data;
  n.nops = ops.len;
  if (n.loop) n.loop->ncaps = n.nops - loop_first(n.loop) - loop_captures(n.loop);
  put_number(&in->nodes, number, n.op == OP_DATA ? ir_data_of(r->w, n.type, d, n.ops, n.nops) : ir_intern(r->w, &n));
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */
/* Numbers of graphs that are told apart are the world's: those in the text stand for new ones. */
static uint64_t identity(Reader *r) {
  int32_t k = scan_int(r->s);
  uintptr_t known = (uintptr_t)by_number(&r->identities, k);
  if (!known) put_number(&r->identities, k, (void *)(known = (uintptr_t)++r->w->identities));
  return known;
}

static void read_params(Reader *r, Scope *in) {
  scan_expect(r->s, "(");
  while (scan_another(r->s, in->params.len)) {
    char expected[16];
    snprintf(expected, sizeof expected, "p%d", in->params.len);
    scan_expect(r->s, expected);
    scan_expect(r->s, ":");
    vec_push(r->w->arena, in->params, type(r));
  }
}

static Graph *graph(Reader *r) {
  World *w = r->w;
  Scan *s = r->s;
  Scope in = {.params = {0}};
  map_init(&in.nodes, w->arena);
  Sym of = scan_next(s) == '(' ? NULL : name(r).name;
  read_params(r, &in);
  uint64_t id = scan_took(s, "identity=") ? identity(r) : 0;
  enter(r);
  while (scan_line(s) && scan_took(s, "%")) read_node(r, &in);
  scan_expect(s, "return");
  Node *result = operand(r, &in);
  r->depth--;
  return ir_identified(w, ir_graph(w, in.params.data, in.params.len, result, of), id);
}

/* After a graph that stands in no other one. */
static void expect_row(Reader *r) {
  if (scan_line(r->s) && r->s->at[-1] != '\n') scan_wrong(r->s, "expected a row, without indentation");
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
/* Makes a function with what its row says, without its graph. */
static void make_func(Reader *r, Row *row) {
  Scan *s = r->s;
  Func head = {0};
  Vec(IrType *) params = {0};
  const char *from = go_to(r, row->at);
  row->begun = true;
  Sym of = name(r).name;
  head.recursive = scan_took(s, "recursive");
  head.opaque = scan_took(s, "opaque");
  head.outlined = scan_took(s, "outlined");
  Row *pullback = scan_took(s, "pullback") ? declare(r) : NULL, *tangent = scan_took(s, "tangent") ? declare(r) : NULL;
  if (scan_took(s, "foreign")) {
    head.foreign.library = name(r).name;
    head.foreign.symbol = name(r).name;
  }
  scan_expect(s, ":");
  scan_expect(s, "(");
  while (scan_another(s, params.len)) vec_push(r->w->arena, params, type(r));
  scan_expect(s, "->");
  row->func = ir_func(r->w, of, params.data, params.len, type(r));
  row->func->recursive = head.recursive;
  row->func->opaque = head.opaque;
  row->func->outlined = head.outlined;
  row->func->pullback = pullback ? pullback->func : NULL;
  row->func->tangent = tangent ? tangent->func : NULL;
  row->func->foreign = head.foreign;
  row->at = s->at;
  row->begun = false;
  go_back(r, from);
}

/* The function that is named next. */
static Row *declare(Reader *r) {
  Row *row = map_get(&r->functions, name(r).key);
  if (!row) scan_wrong_word(r->s, "there is no such function");
  else if (!row->func && row->begun) scan_wrong_word(r->s, "a function that is a rule of itself");
  else if (!row->func) make_func(r, row);
  return row && row->func ? row : NULL;
}

static bool same_types(IrType *const *a, IrType *const *b, int n) { return !n || !memcmp(a, b, sizeof *a * (size_t)n); }

/* Reads its graph, unless that was done or is under way. */
static void finish(Reader *r, Row *row) {
  Func *f = row->func;
  if (row->begun) return;
  row->begun = true;
  const char *from = go_to(r, row->at);
  if (scan_line(r->s) && scan_took(r->s, "graph")) {
    Graph *g = graph(r);
    bool fits = g->nparams == f->nparams && same_types(g->params, f->params, g->nparams);
    if (!fits || g->result->type != f->result) scan_wrong(r->s, "the graph isn't of its function's type");
    f->graph = g;
    expect_row(r);
  }
  if (!r->s->error) r->s->at = from;
}

/* ---- The text ---------------------------------------------------------------------------------------------------- */
static Row *new_row(Reader *r) {
  Row *row = NEW(r->w->arena, Row);
  row->at = r->s->at;
  return row;
}

/* Notes the row that begins here; `in_function`: was the last one a function's, to which a graph belongs then? */
static void note_row(Reader *r, bool *in_function) {
  Scan *s = r->s;
  bool after_function = *in_function;
  *in_function = scan_took(s, "function");
  if (*in_function) {
    Row *row = new_row(r);
    vec_push(r->w->arena, r->funcs, row);
    map_put(&r->functions, name(r).key, row);
  } else if (scan_took(s, "graph")) {
    if (r->main && !after_function) scan_wrong_word(s, "a second graph");
    if (!after_function) r->main = s->at;
  } else if (scan_took(s, "type")) {
    vec_push(r->w->arena, r->types, new_row(r));
  } else {
    scan_expect(s, "site");
    int32_t k = scan_int(s);
    put_number(&r->sites, k, new_row(r));
  }
}

static void note_rows(Reader *r) {
  Scan *s = r->s;
  bool in_function = false;
  while (scan_line(s)) {
    if (s->at == s->text || s->at[-1] == '\n') note_row(r, &in_function);
    while (s->at < s->end && *s->at != '\n') s->at++;
  }
  if (!r->main) scan_wrong(s, "expected a graph");
}

static void declare_types(Reader *r) {
  int kept = 0;
  for (int i = 0; i < r->types.len; i++)
    if (!find_accumulator(r, r->types.data[i])) r->types.data[kept++] = r->types.data[i];
  r->types.len = kept;
  bool *later = NEW_ARRAY(r->w->temp, bool, kept + 1);
  for (int i = 0; i < kept; i++) later[i] = names_accumulators(r->types.data[i]);
  for (int round = 0; round < 2; round++) {
    r->again = round > 0;
    for (int i = 0; i < kept; i++)
      if (later[i] == r->again) declare_type(r, r->types.data[i]);
  }
}

/* What nobody refers to must be right, too. */
static void finish_all(Reader *r) {
  for (int i = 0; i < r->types.len && !r->s->error; i++) complete(r, r->types.data[i]->type);
  for (int i = 0; i < r->funcs.len && !r->s->error; i++) {
    Row *row = r->funcs.data[i];
    if (!row->func) make_func(r, row);
    if (!r->s->error) finish(r, row);
  }
}

Graph *ir_read(World *w, const char *text, const char **wrong) {
  Reader r = {.w = w, .s = &(Scan){0}};
  Map *const maps[] = {&r.functions, &r.accumulators, &r.sites, &r.globals, &r.identities};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_init(maps[i], w->arena);
  scan_init(r.s, w->arena, text);
  note_rows(&r);
  if (!r.s->error) r.s->at = text;
  declare_types(&r);
  go_to(&r, r.main);
  Graph *g = r.s->error ? NULL : graph(&r);
  if (g) expect_row(&r);
  finish_all(&r);
  *wrong = r.s->error;
  return r.s->error ? NULL : g;
}
