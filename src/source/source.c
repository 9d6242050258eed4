/* SPDX-License-Identifier: MIT */
/* A program of a graph: types, the functions that it calls, each behind those that it calls itself, and the function of
 * the graph. source_blocks.c prints one graph; source_internal.h lists what the other files do. */
#include "source/source_internal.h"
#include <stdarg.h>
#include <string.h>

void sp_no_source(Printer *p, const char *why, ...) {
  if (p->why) return;
  va_list args;
  char s[200];
  va_start(args, why);
  vsnprintf(s, sizeof s, why, args);
  va_end(args);
  p->why = arena_printf(p->arena, "%s", s);
}

const char *sp_func_name(Printer *p, Func *f) {
  const char *known = map_get(&p->func_names, f);
  if (known) return known;
  if (!f->graph) sp_no_source(p, "calls `%s`, a function of C", f->name ? f->name : "_");
  Str s = {.arena = p->arena};
  const char *given = !f->name ? "f" : strcmp(f->name, "public") == 0 ? "cotangent" : f->name;
  for (const char *c = given; *c; c++)
    if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_') str_addc(&s, *c);
  const char *base =
      s.data && s.data[0] >= 'a' && s.data[0] <= 'z' ? s.data : arena_printf(p->arena, "f%s", s.data ? s.data : "");
  /* A second function of the name is its backward pass. */
  bool again = map_get(&p->taken, sym_of(p->w->syms, base)) != NULL;
  known = sp_name_fresh(p, again ? arena_printf(p->arena, "d_%s", base) : base);
  map_put(&p->func_names, f, (void *)(uintptr_t)known);
  vec_push(p->arena, p->funcs, f);
  return known;
}

/* ---- One function ----------------------------------------------------------------------------------------------- */
/* The first parameter as a pattern, where the graph reads its components alone. NULL: it gets a name. */
static const char *tuple_pattern(Block *b, const char *const *parts, int nparts) {
  Printer *p = b->p;
  IrType *t = b->g->params[0];
  Node *param = ir_param(p->w, 0, t);
  if (t->kind != T_TUPLE || t->names || t->n < 2 || b->g->result == param) return NULL;
  for (const NodeUse *u = uses_first(b->uses, param); u < uses_end(b->uses, param); u++)
    if (u->user->op != OP_GET) return NULL;
  Str s = {.arena = p->arena};
  for (int k = 0; k < t->n; k++) {
    const char *base = k < nparts && parts[k] ? parts[k] : t->args[k]->kind == T_ARRAY ? "v" : "x";
    const char *name = sp_declare(b, base);
    sp_bind(b, ir_get(p->w, param, k), (Val){.text = {name, L_ATOM}});
    str_printf(&s, "%s%s", k ? ", " : "(", name);
  }
  str_addc(&s, ')');
  return s.data;
}

static const char *parameter_name(Printer *p, IrType *t) {
  return sp_name_fresh(p, t->kind == T_FLOAT ? "x" : t->kind == T_INT ? "n" : sp_name_by_type(p, t));
}

/* No line of an item begins in column 0. */
static void add_indented(Str *out, const char *text) {
  for (size_t n; *text; text += n) {
    n = strcspn(text, "\n");
    n += text[n] == '\n';
    str_puts(out, "  ");
    str_add(out, text, n);
  }
  str_addc(out, '\n');
}

/* `NAME (x : T) … : R = BODY`. request: what its first parameter is called, or NULL. */
static const char *function_text(Printer *p, const char *name, Graph *g, const SourceRequest *request) {
  Str s = {.arena = p->arena};
  Val *params = NEW_ARRAY(p->arena, Val, g->nparams + 1);
  Block *b = sp_block_open(p, g, params);
  str_puts(&s, name);
  const char *pattern = request && g->nparams ? tuple_pattern(b, request->parts, request->nparts) : NULL;
  for (int k = 0; k < g->nparams; k++) {
    bool named = request && k == 0 && request->parameter;
    const char *x = k == 0 && pattern ? pattern
                    : named           ? sp_name_fresh(p, request->parameter)
                                      : parameter_name(p, g->params[k]);
    params[k] = (Val){.text = {x, L_ATOM}};
    str_printf(&s, " (%s : %s)", x, sp_type_text(p, g->params[k]));
  }
  if (!g->nparams) str_puts(&s, " ()");
  p->repeated += !request;
  sp_block_run(b);
  Text body = sp_block_close(b, sp_use(b, g->result));
  p->repeated -= !request;
  IrType *t = g->result->type;
  str_printf(&s, " : %s =", t->kind == T_FUN ? sp_type_operand(p, t) : sp_type_text(p, t));
  if (strchr(body.s, '\n')) {
    str_addc(&s, '\n');
    add_indented(&s, body.s);
  } else {
    str_printf(&s, " %s\n", body.s);
  }
  for (int k = 0; k < g->nparams; k++) sp_name_release(p, params[k].text.s);
  return s.data;
}

/* ---- Their order ------------------------------------------------------------------------------------------------ */
typedef struct Order {
  Printer *p;
  const char **texts; /* of p->funcs */
  Map at;             /* function -> its place + 1 */
  int *number, *low, *stack, top, met;
  bool *open;
  Str out;
} Order;

static int place_of(Order *o, const Func *f) { return (int)(uintptr_t)map_get(&o->at, f) - 1; }

static void visit_func(Order *o, int at);

static void visit_calls(Order *o, int from, Graph *g) {
  Uses *uses = graph_uses(o->p->w, g);
  for (int i = 0; i < uses->n; i++) {
    const Node *n = uses->nodes[i];
    for (int k = 0; k < n->ngraphs; k++) visit_calls(o, from, n->graphs[k]);
    int to = n->op == OP_CALL ? place_of(o, n->attr.func) : -1;
    if (to < 0) continue;
    if (!o->number[to]) visit_func(o, to);
    if (o->open[to] && o->low[to] < o->low[from]) o->low[from] = o->low[to];
  }
}

static void close_group(Order *o, int root) {
  bool recursive = o->stack[o->top - 1] != root || o->p->funcs.data[root]->recursive;
  for (bool first = true, more = true; more; first = false) {
    int at = o->stack[--o->top];
    o->open[at] = false;
    str_printf(&o->out, "%s%s\n", !first ? "and " : recursive ? "let rec " : "let ", o->texts[at]);
    more = at != root;
  }
}

/* Strongly connected functions are defined together (Tarjan). */
static void visit_func(Order *o, int at) {
  if (++o->p->depth > LIMIT_SOURCE_CALLS) sp_no_source(o->p, "has calls that are nested too deeply");
  o->number[at] = o->low[at] = ++o->met;
  o->stack[o->top++] = at;
  o->open[at] = true;
  if (!o->p->why) visit_calls(o, at, o->p->funcs.data[at]->graph);
  if (o->low[at] == o->number[at]) close_group(o, at);
  o->p->depth--;
}

static const char *functions_in_order(Printer *p, const char **texts) {
  int n = p->funcs.len;
  Order o = {.p = p, .texts = texts, .out = {.arena = p->arena}};
  map_init(&o.at, p->arena);
  o.number = NEW_ARRAY(p->arena, int, n + 1);
  o.low = NEW_ARRAY(p->arena, int, n + 1);
  o.stack = NEW_ARRAY(p->arena, int, n + 1);
  o.open = NEW_ARRAY(p->arena, bool, n + 1);
  for (int i = 0; i < n; i++) map_put(&o.at, p->funcs.data[i], (void *)(uintptr_t)(i + 1));
  for (int i = 0; i < n; i++)
    if (!o.number[i]) visit_func(&o, i);
  return o.out.data ? o.out.data : "";
}

/* ---- The program ------------------------------------------------------------------------------------------------ */
/* Gives the value of n, part of the derivative, a name, and so what it is made of in place. */
static void hint(Printer *p, Node *n, const char *name, int left) {
  if (n->op == OP_PARAM || sp_is_literal(n) || !left) return;
  if (n->type->kind == T_ARRAY) map_put(&p->hints, n, (void *)(uintptr_t)name);
  if (n->op == OP_AFTER || n->op == OP_UPDATE || n->op == OP_TO_BAG) hint(p, n->ops[0], name, left - 1);
  if (n->op != OP_GET || n->ops[0]->op != OP_LOOP) return;
  map_put(&p->hints, n, (void *)(uintptr_t)name);
  const Node *loop = n->ops[0];
  if (n->attr.i < loop_slots(loop->loop)) hint(p, loop->ops[loop_first(loop->loop) + n->attr.i], name, left - 1);
}

static void hint_results(Printer *p, const Graph *g) {
  const SourceRequest *r = p->request;
  const IrType *t = g->result->type;
  if (r->parameter) hint(p, g->result, arena_printf(p->arena, "d_%s", r->parameter), 50);
  for (int k = 0; g->result->op == OP_TUPLE && k < g->result->nops; k++) {
    const char *of = t->names ? t->names[k] : k < r->nparts && r->parts[k] ? r->parts[k] : NULL;
    if (of) hint(p, g->result->ops[k], arena_printf(p->arena, "d_%s", of), 50);
  }
}

bool source_print(World *w, Graph *g, const SourceRequest *request, Str *out, const char **why) {
  Printer p = {.w = w,
               .arena = out->arena,
               .request = request,
               .types = {.arena = out->arena},
               .helpers = {.arena = out->arena},
               .uses = {.arena = out->arena}};
  Map *maps[] = {&p.type_names, &p.ctor_names, &p.taken,  &p.taken_types, &p.seen_types, &p.boxes,
                 &p.func_names, &p.hints,      &p.adders, &p.globals,     &p.given_types};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_init(maps[i], p.arena);
  ir_walk_graphs(w, g, sp_find_boxes, &p);
  const char *name = sp_name_fresh(&p, request->function);
  hint_results(&p, g);
  const char *top = function_text(&p, name, g, request);
  Vec(const char *) texts = {0};
  for (int i = 0; i < p.funcs.len && !p.why; i++)
    vec_push(p.arena, texts, function_text(&p, sp_func_name(&p, p.funcs.data[i]), p.funcs.data[i]->graph, NULL));
  const char *functions = p.why ? "" : functions_in_order(&p, texts.data);
  *why = p.why;
  if (p.why) return false;
  if (p.uses.len) str_printf(out, "# With %s of the program.\n", p.uses.data);
  if (p.types.len) str_printf(out, "%s\n", p.types.data);
  if (p.helpers.len) str_printf(out, "%s\n", p.helpers.data);
  str_printf(out, "%slet %s", functions, top);
  return true;
}
