/* SPDX-License-Identifier: MIT */
/* Loops. Independent iterations that make an array are a comprehension. In any other loop carried values and
 * accumulators are `mut` variables, which are assigned at the end of the body: each only when nobody needs the old
 * value any more. Stacked results are arrays that are filled, or lists where their length or an element to begin
 * with isn't known. */
#include "source/source_internal.h"
#include <string.h>

typedef struct Loop {
  Block *b, *body;
  Node *n;
  const LoopInfo *l;
  Node **ops;               /* without the trip count */
  const char *index;        /* the name of the counter */
  const char *count;        /* the number of iterations, or NULL: there is a condition */
  const char *first, *last; /* the counter goes from … to …: other bounds; NULL */
  bool counts;              /* `while`: the counter is a variable */
  Var **slots;              /* of the block around; NULL for units */
  const char **stacks;      /* names of arrays or lists */
  bool *lists;
  Val *params; /* of the body */
} Loop;

static Loop loop_of(Block *b, Node *n) {
  Arena *a = b->p->arena;
  int slots = loop_slots(n->loop);
  Loop x = {.b = b, .n = n, .l = n->loop, .ops = n->ops + loop_first(n->loop)};
  x.slots = NEW_ARRAY(a, Var *, slots + 1);
  x.stacks = NEW_ARRAY(a, const char *, n->loop->nstacked + 1);
  x.lists = NEW_ARRAY(a, bool, n->loop->nstacked + 1);
  x.params = NEW_ARRAY(a, Val, n->graphs[0]->nparams + 1);
  return x;
}

static IrType *stacked_type(const Loop *x, int k) { return x->n->type->args[loop_slots(x->l) + k]; }

/* How often parameter k of the body, or of the condition, is read there. */
static int reads(const Loop *x, int graph, int k) {
  Printer *p = x->b->p;
  Graph *g = x->n->graphs[graph];
  Node *param = ir_param(p->w, k, g->params[k]);
  return uses_count(graph_uses(p->w, g), param);
}

static Node *result_get(const Loop *x, int k) {
  for (const NodeUse *u = uses_first(x->b->uses, x->n); u < uses_end(x->b->uses, x->n); u++)
    if (u->user->op == OP_GET && u->user->attr.i == k) return u->user;
  return NULL;
}

static Node *trips_get(const Loop *x) { return result_get(x, x->n->type->n - 1); }

/* Is the number of iterations read, but to wait for the end? */
static bool needs_trips(const Loop *x) {
  const Node *trips = trips_get(x);
  if (!trips) return x->b->g->result == x->n;
  for (const NodeUse *u = uses_first(x->b->uses, trips); u < uses_end(x->b->uses, trips); u++)
    if (u->user->op != OP_AFTER || u->operand != 1) return true;
  return x->b->g->result == trips;
}

/* ---- What the body reads ---------------------------------------------------------------------------------------- */
static void set_captures(Loop *x) {
  int first = loop_slots(x->l);
  for (int k = first; k < loop_inputs(x->l); k++) x->params[1 + k] = sp_capture(x->b, x->ops[k]);
}

/* Element `index` of sliced array k: where it is read once, or else by a definition at the beginning of the body. */
static void open_slices(Loop *x, Block *body) {
  Printer *p = x->b->p;
  for (int k = loop_slots(x->l); k < loop_captures(x->l); k++) {
    Val *v = &x->params[1 + k];
    const char *array = v->text.s;
    Node *param = ir_param(p->w, 1 + k, x->n->graphs[0]->params[1 + k]);
    const NodeUse *use = uses_first(body->uses, param);
    int count = uses_count(body->uses, param);
    v->text = sp_text_of(p, L_POSTFIX, "%s[%s]", array, x->index);
    if (count < 2 && !(count == 1 && use < uses_end(body->uses, param) && sp_is_captured(use))) continue;
    const char *name = sp_declare(body, sp_name_of_element(p, array));
    sp_add_let(body, name, v->text);
    *v = (Val){.text = {name, L_ATOM}};
  }
}

/* ---- Comprehensions --------------------------------------------------------------------------------------------- */
static bool is_map(const Node *loop) { return !loop->loop->has_cond && loop_slots(loop->loop) == 0; }

static bool is_comprehension(const Node *loop) { return is_map(loop) && loop->loop->nstacked == 1; }

/* The parameter of the body that is an array of which each iteration reads its own element alone; -1. */
static int walked_param(const Loop *x) {
  Printer *p = x->b->p;
  Graph *g = x->n->graphs[0];
  Uses *uses = graph_uses(p->w, g);
  const Node *index = ir_param(p->w, 0, g->params[0]), *count = sp_root_of(x->n->ops[0]);
  const Node *array = NULL;
  if (count->op != OP_LEN || count->attr.i != 0 || x->l->nsliced) return -1;
  for (const NodeUse *u = uses_first(uses, index); u < uses_end(uses, index); u++) {
    if (u->user->op != OP_INDEX || u->operand != 1 || u->user->nops != 2) return -1;
    if (array && array != u->user->ops[0]) return -1;
    array = u->user->ops[0];
  }
  if (!array || array->op != OP_PARAM || g->result == index || uses_count(uses, array) != uses_count(uses, index))
    return -1;
  return sp_root_of(x->ops[array->attr.i - 1]) == sp_root_of(count->ops[0]) ? (int)array->attr.i : -1;
}

/* `x in xs`, where that says it all. NULL: it doesn't. */
static const char *walk_array(Loop *x, Block *body) {
  Printer *p = x->b->p;
  int k = x->l->nsliced == 1 && reads(x, 0, 0) == 0 ? 1 + loop_slots(x->l) : walked_param(x);
  if (k < 0) return NULL;
  const char *array = x->params[k].text.s, *name = sp_declare(body, sp_name_of_element(p, array));
  const Val element = {.text = {name, L_ATOM}};
  if (x->l->nsliced) {
    x->params[k] = element;
  } else {
    Node *index = ir_param(p->w, 0, x->n->graphs[0]->params[0]);
    for (const NodeUse *u = uses_first(body->uses, index); u < uses_end(body->uses, index); u++)
      sp_bind(body, u->user, element);
  }
  return arena_printf(p->arena, "%s in %s", name, array);
}

static Text map_text(Loop *x) {
  Printer *p = x->b->p;
  set_captures(x);
  Block *body = sp_block_open(p, x->n->graphs[0], x->params);
  const char *generator = walk_array(x, body);
  if (!generator) {
    x->index = sp_name_index(p);
    vec_push(p->arena, body->declared, x->index);
    x->params[0] = (Val){.text = {x->index, L_ATOM}};
    generator = arena_printf(p->arena, "%s < %s", x->index, sp_operand(x->b, x->n->ops[0], L_APPEND));
    open_slices(x, body);
  }
  if (++p->depth > LIMIT_SOURCE_NESTING) sp_no_source(p, "is nested too deeply");
  p->repeated++;
  sp_block_run(body);
  p->depth--;
  int n = x->l->nstacked;
  Node **nodes = NEW_ARRAY(p->arena, Node *, n + 1);
  Text *parts = sp_result_parts(body, n, nodes);
  for (int k = 0; k < n; k++)
    if (nodes[k]) parts[k] = sp_use(body, nodes[k]);
  p->repeated--;
  Text element = sp_block_close(body, n == 1 ? parts[0] : sp_tuple_text(body, &(IrType){.kind = T_TUPLE}, parts, n));
  const char *in = strstr(generator, " in ");
  if (in && strlen(element.s) == (size_t)(in - generator) && strncmp(generator, element.s, strlen(element.s)) == 0)
    return (Text){in + 4, L_ATOM}; /* each element as it is */
  return sp_text_of(p, L_ATOM, "[ %s | %s ]", sp_at_level(p, element, L_IF), generator);
}

Text sp_comprehension_text(Block *b, Node *loop) {
  Loop x = loop_of(b, loop);
  return map_text(&x);
}

/* The trip count as a name or number, which can be read again. */
static const char *count_name(Loop *x) {
  Node *n = x->n->ops[0];
  if (!sp_val_of(x->b, n) && !sp_is_literal(n)) sp_define(x->b, n);
  return sp_use(x->b, n).s;
}

static void bind_trips(Loop *x) {
  Node *trips = trips_get(x);
  if (!trips) return;
  const char *s = x->l->has_cond ? x->index : count_name(x);
  sp_bind(x->b, trips, (Val){.text = {s, L_ATOM}, .is_mut = x->l->has_cond});
}

static void emit_pairs(Loop *x) {
  Text t = sp_text_of(x->b->p, L_APPLY, "unzip %s", map_text(x).s);
  const char *names[2];
  for (int k = 0; k < 2; k++) {
    Node *get = result_get(x, k);
    names[k] = get ? sp_declare(x->b, sp_name_for(x->b, get)) : "_";
    if (get) sp_bind(x->b, get, (Val){.text = {names[k], L_ATOM}});
  }
  sp_add_let(x->b, arena_printf(x->b->p->arena, "(%s, %s)", names[0], names[1]), t);
}

/* A limit of the number of iterations, which the condition checks: as an assertion in the body. NULL: there is none. */
static Node *depth_check(const Loop *x) {
  if (!x->l->has_cond || x->n->graphs[1]->result->op != OP_AFTER) return NULL;
  Node *check = x->n->graphs[1]->result->ops[1];
  bool counts = check->op == OP_CHECK_DEPTH && check->ops[0]->op == OP_PARAM && check->ops[0]->attr.i == 0;
  return counts && check->ops[1]->op == OP_INT ? check : NULL;
}

/* ---- Before the loop -------------------------------------------------------------------------------------------- */
static const char *slot_name(const Loop *x, int k) {
  Node *get = result_get(x, k);
  const char *hint = get ? map_get(&x->b->p->hints, get) : NULL;
  const IrType *t = x->ops[k]->type;
  if (hint) return hint;
  if (x->l->down && t->kind != T_INT) return t->kind == T_ARRAY ? "d_v" : "d_s";
  return t->kind == T_FLOAT ? "s" : get ? sp_name_for(x->b, get) : sp_name_for(x->b, x->ops[k]);
}

static void open_slots(Loop *x) {
  for (int k = 0; k < loop_slots(x->l); k++) {
    if (x->ops[k]->type->kind == T_UNIT) {
      x->params[1 + k] = (Val){.text = {"()", L_ATOM}};
      continue;
    }
    x->slots[k] = sp_take_var(x->b, x->n, loop_first(x->l) + k, slot_name(x, k));
    Var *inside = NEW(x->b->p->arena, Var);
    *inside = (Var){x->slots[k]->name, NULL, NULL};
    x->params[1 + k] = (Val){.text = {inside->name, L_ATOM}, .var = inside, .is_mut = true};
  }
}

/* An array of elements that can be written before the loop; else a list. */
static void open_stack(Loop *x, int k) {
  Printer *p = x->b->p;
  IrType *t = stacked_type(x, k), *elem = t->args[0];
  Node *get = result_get(x, loop_slots(x->l) + k);
  const char *hint = get ? map_get(&p->hints, get) : NULL, *name = hint ? hint : "tape",
             *zero = elem->kind == T_ARRAY ? "" : sp_some_value(p, elem);
  x->lists[k] = x->l->has_cond || !*zero;
  Text start = x->lists[k]             ? (Text){"Nil", L_ATOM}
               : elem->kind == T_FLOAT ? sp_text_of(p, L_APPLY, "zeros %s", count_name(x))
                                       : sp_text_of(p, L_APPLY, "replicate %s %s", count_name(x), zero);
  x->stacks[k] = sp_declare(x->b, x->lists[k] ? arena_printf(p->arena, "%s_list", name) : name);
  sp_add_mut(x->b, x->stacks[k], start);
}

/* max 0 (to - below) iterations whose counter is only read as i + below + 1: the counter begins there. */
static bool shift_counter(Loop *x) {
  Printer *p = x->b->p;
  Node *n = x->n->ops[0];
  const Node *count = sp_root_of(n);
  if (sp_val_of(x->b, n) || x->l->down || x->l->nsliced || x->l->nstacked || trips_get(x)) return false;
  if (count->op != OP_IMAX || count->ops[0]->op != OP_ISUBS || count->ops[1]->op != OP_INT || count->ops[1]->attr.i)
    return false;
  Node *to = count->ops[0]->ops[0];
  const Node *below = count->ops[0]->ops[1];
  if (below->op != OP_INT || below->attr.i < 0 || below->attr.i > 1000000000) return false;
  Node *index = ir_param(p->w, 0, x->n->graphs[0]->params[0]);
  Uses *uses = graph_uses(p->w, x->n->graphs[0]);
  for (const NodeUse *u = uses_first(uses, index); u < uses_end(uses, index); u++) {
    const Node *add = u->user;
    if (add->op != OP_IADD || add->ops[1 - u->operand]->op != OP_INT ||
        add->ops[1 - u->operand]->attr.i != below->attr.i + 1)
      return false;
  }
  x->first = arena_printf(p->arena, "%lld", (long long)below->attr.i + 1);
  x->last = sp_operand(x->b, to, L_SUM);
  return true;
}

static void bind_shifted(Loop *x) {
  Node *index = ir_param(x->b->p->w, 0, x->n->graphs[0]->params[0]);
  if (!x->first) return;
  for (const NodeUse *u = uses_first(x->body->uses, index); u < uses_end(x->body->uses, index); u++)
    sp_bind(x->body, u->user, x->params[0]);
}

static void open_counter(Loop *x) {
  if (x->l->has_cond) {
    x->counts = needs_trips(x) || reads(x, 0, 0) || reads(x, 1, 0) || x->l->nsliced;
    x->index = sp_name_index(x->b->p);
    vec_push(x->b->p->arena, x->b->declared, x->index);
    if (x->counts) sp_add_mut(x->b, x->index, (Text){"0", L_ATOM});
  } else {
    shift_counter(x);
    if (!x->first) x->count = sp_operand(x->b, x->n->ops[0], L_SUM);
  }
}

/* ---- The end of the body ---------------------------------------------------------------------------------------- */
static void push_stacks(Loop *x, Node **nodes, Text *parts) {
  for (int k = 0; k < x->l->nstacked; k++) {
    int at = loop_slots(x->l) + k;
    Text t = nodes[at] ? sp_use(x->body, nodes[at]) : parts[at];
    const char *name = x->stacks[k];
    if (x->lists[k]) sp_add_statement(x->body, "%s <- %s :: %s", name, sp_at_level(x->b->p, t, L_APPEND), name);
    else sp_add_statement(x->body, "%s[%s] <- %s", name, x->index, sp_as_statement(x->b->p, t));
  }
}

static bool is_assigned(const Loop *x, int k, Node *next) {
  const Val *v = next ? sp_val_of(x->body, next) : NULL;
  const Var *var = x->params[1 + k].var;
  return !var || (v && v->var == var && var->version == sp_root_of(next));
}

/* May variable k be assigned, since no other value that is still to be assigned reads it? */
static bool is_free_to_assign(const Loop *x, int k, Node **nodes, const bool *pending) {
  for (int j = 0; j < loop_slots(x->l); j++)
    if (j != k && pending[j] && nodes[j] && sp_reads_var(x->body, nodes[j], x->params[1 + k].var)) return false;
  return true;
}

static void assign_slots(Loop *x, Node **nodes, Text *parts) {
  Printer *p = x->b->p;
  int n = loop_slots(x->l), left = 0;
  bool *pending = NEW_ARRAY(p->arena, bool, n + 1);
  for (int k = 0; k < n; k++) left += pending[k] = !is_assigned(x, k, nodes[k]);
  while (left > 0) {
    int at = -1, any = -1;
    for (int k = 0; k < n && at < 0; k++) {
      if (!pending[k]) continue;
      if (nodes[k]) any = k;
      if (is_free_to_assign(x, k, nodes, pending)) at = k;
    }
    Text t = nodes[at < 0 ? any : at] ? sp_use(x->body, nodes[at < 0 ? any : at]) : parts[at < 0 ? any : at];
    if (at >= 0) {
      sp_add_statement(x->body, "%s <- %s", x->slots[at]->name, sp_as_statement(p, t));
      pending[at] = false;
      left--;
    } else {
      parts[any] = (Text){sp_declare(x->body, "next"), L_ATOM};
      sp_add_let(x->body, parts[any].s, t);
      nodes[any] = NULL;
    }
  }
}

/* ---- The loop --------------------------------------------------------------------------------------------------- */
static void run_body(Loop *x) {
  Printer *p = x->b->p;
  Graph *g = x->n->graphs[0];
  x->params[0] = (Val){.text = {x->index, L_ATOM}, .is_mut = x->l->has_cond};
  x->body = sp_block_open(p, g, x->params);
  for (int k = 0; k < loop_slots(x->l); k++)
    if (x->params[1 + k].var) x->params[1 + k].var->home = x->body;
  bind_shifted(x);
  const Node *check = depth_check(x);
  if (check) sp_add_statement(x->body, "assert (%s < %lld)", x->index, (long long)check->ops[1]->attr.i);
  open_slices(x, x->body);
  if (++p->depth > LIMIT_SOURCE_NESTING) sp_no_source(p, "is nested too deeply");
  p->repeated++;
  sp_block_run(x->body);
  p->depth--;
  int n = loop_slots(x->l) + x->l->nstacked;
  Node **nodes = NEW_ARRAY(p->arena, Node *, n + 1);
  Text *parts = sp_result_parts(x->body, n, nodes);
  push_stacks(x, nodes, parts);
  assign_slots(x, nodes, parts);
  p->repeated--;
  if (x->counts) sp_add_statement(x->body, "%s <- %s + 1", x->index, x->index);
}

static const char *condition_text(Loop *x) {
  Printer *p = x->b->p;
  Graph *g = x->n->graphs[1];
  Val *params = NEW_ARRAY(p->arena, Val, g->nparams + 1);
  params[0] = (Val){.text = {x->index, L_ATOM}, .is_mut = true};
  for (int k = 1; k < g->nparams; k++) {
    params[k] = x->params[1 + loop_cond_input(x->l, k)];
    params[k].var = NULL;
  }
  Block *b = sp_block_open(p, g, params);
  Node *check = depth_check(x);
  if (check) sp_bind(b, check, params[0]);
  sp_block_run(b);
  return sp_at_level(p, sp_block_close(b, sp_use(b, g->result)), L_IF);
}

/* max 0 (length - c) iterations: the last one is number length - c - 1. NULL: n isn't of that form. */
static const char *last_of_difference(const Loop *x, const Node *n) {
  Block *b = x->b;
  if (n->op != OP_IMAX || sp_val_of(b, n)) return NULL;
  const Node *e = n->ops[n->ops[0]->op == OP_INT], *zero = n->ops[n->ops[0]->op != OP_INT];
  if (zero->op != OP_INT || zero->attr.i || e->op != OP_IADD || sp_val_of(b, e)) return NULL;
  Node *len = e->ops[e->ops[0]->op == OP_INT];
  const Node *c = e->ops[e->ops[0]->op != OP_INT];
  bool small = c->op == OP_INT && c->attr.i < 0 && c->attr.i > -1000000;
  if (len->op != OP_LEN || !small) return NULL;
  return arena_printf(b->p->arena, "%s - %lld", sp_operand(b, len, L_SUM), 1 - (long long)c->attr.i);
}

static const char *head_text(Loop *x) {
  Arena *a = x->b->p->arena;
  if (x->l->has_cond) return arena_printf(a, "while %s do", condition_text(x));
  if (x->first) return arena_printf(a, "for %s = %s to %s do", x->index, x->first, x->last);
  const Node *n = x->n->ops[0];
  const char *last = last_of_difference(x, n);
  if (!last)
    last = n->op == OP_INT ? arena_printf(a, "%lld", (long long)n->attr.i - 1) : arena_printf(a, "%s - 1", x->count);
  if (x->l->down) return arena_printf(a, "for %s = %s downto 0 do", x->index, last);
  return arena_printf(a, "for %s = 0 to %s do", x->index, last);
}

static void bind_results(Loop *x) {
  Printer *p = x->b->p;
  for (int k = 0; k < loop_slots(x->l); k++) {
    Node *get = result_get(x, k);
    if (x->slots[k]) x->slots[k]->version = get;
    if (get && x->slots[k]) sp_bind(x->b, get, (Val){.text = {x->slots[k]->name, L_ATOM}, .var = x->slots[k]});
    else if (get) sp_bind(x->b, get, (Val){.text = {"()", L_ATOM}});
  }
  for (int k = 0; k < x->l->nstacked; k++) {
    Node *get = result_get(x, loop_slots(x->l) + k);
    if (!get) continue;
    Var *var = NEW(p->arena, Var);
    *var = (Var){x->stacks[k], x->b, get};
    if (x->lists[k]) {
      const char *name = sp_declare(x->b, sp_name_for(x->b, get));
      sp_add_let(x->b, name, sp_text_of(p, L_APPLY, "reverse (of_list %s)", x->stacks[k]));
      sp_bind(x->b, get, (Val){.text = {name, L_ATOM}});
    } else {
      sp_bind(x->b, get, (Val){.text = {x->stacks[k], L_ATOM}, .var = var});
    }
  }
  bind_trips(x);
}

static bool is_taken_apart(const Loop *x) {
  for (const NodeUse *u = uses_first(x->b->uses, x->n); u < uses_end(x->b->uses, x->n); u++)
    if (u->user->op != OP_GET) return false;
  return x->b->g->result != x->n;
}

/* All of its results, where it is read as a whole. */
static void bind_whole(Loop *x) {
  Printer *p = x->b->p;
  int n = x->n->type->n;
  Text *parts = NEW_ARRAY(p->arena, Text, n + 1);
  bool mut = false;
  for (int k = 0; k < n; k++) {
    if (k < loop_slots(x->l)) parts[k] = (Text){x->slots[k] ? x->slots[k]->name : "()", L_ATOM}, mut = true;
    else if (k == n - 1) parts[k] = (Text){x->l->has_cond ? x->index : count_name(x), L_ATOM};
    else parts[k] = (Text){x->stacks[k - loop_slots(x->l)], L_ATOM};
    if (k < n - 1 && k >= loop_slots(x->l) && x->lists[k - loop_slots(x->l)])
      parts[k] = sp_text_of(p, L_APPLY, "reverse (of_list %s)", parts[k].s);
  }
  sp_bind(x->b, x->n, (Val){.text = sp_tuple_text(x->b, x->n->type, parts, n), .is_mut = mut});
}

void sp_emit_loop(Block *b, Node *n) {
  Loop x = loop_of(b, n);
  bool apart = is_taken_apart(&x);
  if (apart && is_comprehension(n)) {
    bind_trips(&x);
    return;
  }
  b->state[uses_position(b->uses, n)] |= ST_ACTIVE;
  if (apart && is_map(n) && n->loop->nstacked == 2) {
    bind_trips(&x);
    emit_pairs(&x);
    sp_bind(b, n, (Val){.text = {"()", L_ATOM}});
    return;
  }
  open_slots(&x);
  set_captures(&x);
  for (int k = 0; k < n->loop->nstacked; k++) open_stack(&x, k);
  open_counter(&x);
  if (!x.index) x.index = sp_name_index(b->p);
  run_body(&x);
  const char *head = head_text(&x);
  sp_add_statement(b, "%s\n%s\ndone", head, sp_block_close_unit(x.body).s);
  if (!n->loop->has_cond) sp_name_release(b->p, x.index);
  sp_bind(b, n, (Val){.text = {"()", L_ATOM}});
  bind_results(&x);
  if (!apart) bind_whole(&x);
}
