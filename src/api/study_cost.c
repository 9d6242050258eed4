/* SPDX-License-Identifier: MIT */
/* `cost f` and `cost f x`: what f and its gradient cost, by line, before they run.
 *
 *   "f"    →  let f = f in fun it -> grad f it         elaborated, optimised, differentiated
 *   "f x"  →  the same, and x beside it
 *          ─ facts/cost.c: the function, its gradient, and the VJP, whose pullback keeps the tape
 *          ─ a table
 *
 * The three are programs of their own, without loops in blocks, since these depend on the number of cores. x isn't
 * run, either: values of the session are looked at, and what the expression makes of these is evaluated as the function
 * is. */
#include "api/pipeline.h"
#include "facts/cost.h"
#include "runtime/runtime.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A line of the program. */
typedef struct Place {
  uint32_t source;
  int line;
} Place;

typedef struct CostCall {
  AtledVM *vm;
  const char *expression;
  const char *function_text, *argument_text; /* the parts of the expression */
  bool given;                                /* an argument stands beside the function */
  bool scalar;                               /* the function yields a float */
  bool floats, differs;                      /* its argument holds some; so does what it yields */
  CostStudy study;
  uint32_t expression_source; /* of the first of the programs in which a line of the expression was met; 0: none */
  Vec(Place) places;          /* by number of a line, from 1 */
  Cost function, gradient, tape;
} CostCall;

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
static int number_of(CostCall *c, Place p) {
  for (int i = 0; i < c->places.len; i++)
    if (c->places.data[i].source == p.source && c->places.data[i].line == p.line) return i + 1;
  vec_push(&c->vm->scratch, c->places, p);
  return c->places.len;
}

/* The expression is what stands between the first and the last line of a program around it. */
static bool is_of_expression(const Source *study, Span at) {
  return at.start >= study->lines[1] && at.end < study->lines[study->nlines - 1];
}

/* The innermost place of the chain that is none of the library's, nor of the program around the function. */
static int line_of(void *user, Site s) {
  CostCall *c = user;
  const SiteInfo *x = ir_shown_place(c->vm->world, s);
  const Source *source = x->at.source ? sources_get(&c->vm->sources, x->at.source) : NULL;
  int line, column;
  if (!source || source->library || x->library) return 0;
  span_position(&c->vm->sources, x->at, &line, &column);
  if (strcmp(source->name, "<study>") != 0) return number_of(c, (Place){x->at.source, line});
  if (!is_of_expression(source, x->at)) return 0;
  if (!c->expression_source) c->expression_source = x->at.source;
  return number_of(c, (Place){c->expression_source, 2});
}

/* Of the place and the calls around it, but for those of the program around the function. */
static uint64_t chain_of(void *user, Site s) {
  const CostCall *c = user;
  uint64_t h = 0;
  for (; s; s = ir_site_info(c->vm->world, s)->parent) {
    Span at = ir_site_info(c->vm->world, s)->at;
    const Source *source = at.source ? sources_get(&c->vm->sources, at.source) : NULL;
    bool study = source && strcmp(source->name, "<study>") == 0;
    if (study && !is_of_expression(source, at)) continue;
    h = hash_mix(h, hash_mix(study ? 0 : at.source, (uint64_t)at.start << 32 | at.end));
  }
  return h;
}

/* ---- Values of the session --------------------------------------------------------------------------------------- */
static CostValue *import(CostCall *c, const IrType *t, const Slot *at);

static int slots_of(const IrType *t) {
  int n = 0;
  if (t->kind == T_UNIT || t->kind == T_TOKEN) return 0;
  if (t->kind != T_TUPLE) return 1;
  for (int k = 0; k < t->n; k++) n += slots_of(t->args[k]);
  return n;
}

static CostValue *import_array(CostCall *c, const IrType *t, const ArrayObj *a) {
  Arena *arena = &c->vm->scratch;
  IrType *base = ir_base((IrType *)(uintptr_t)t);
  int rank = ir_rank(t), slots = slots_of(base);
  int64_t count = 1;
  const Poly **dims = NEW_ARRAY(arena, const Poly *, rank + 1);
  for (int k = 0; k < rank; k++) {
    dims[k] = poly_constant(arena, (double)a->dims[k]);
    count *= a->dims[k];
  }
  bool known = count <= LIMIT_COST_ELEMENTS;
  CostValue **xs = known ? NEW_ARRAY(arena, CostValue *, count + 1) : NULL;
  for (int64_t i = 0; i < count && known; i++) xs[i] = import(c, base, a->data + i * slots);
  return cost_array(&c->study, t, dims, xs, (int)count, NULL);
}

static CostValue *import_text(CostCall *c, const StringObj *s) {
  return s ? cost_text(&c->study, s->bytes, s->len) : cost_unknown(&c->study);
}

static CostValue *import_choice(CostCall *c, const IrType *t, Obj *p) {
  if (!p || (uintptr_t)p & 1)
    return cost_choice(&c->study, t, p ? (int)((uintptr_t)p >> 1) : 0, cost_unknown(&c->study));
  if (p->tag < 0 || p->tag >= t->nctors) return cost_unknown(&c->study);
  return cost_choice(&c->study, t, p->tag, import(c, t->ctors[p->tag].payload, ((const BoxObj *)p)->fields));
}

static CostValue *import_tuple(CostCall *c, const IrType *t, const Slot *at) {
  CostValue **parts = NEW_ARRAY(&c->vm->scratch, CostValue *, t->n + 1);
  for (int k = 0; k < t->n; k++) {
    parts[k] = import(c, t->args[k], at);
    at += slots_of(t->args[k]);
  }
  return cost_tuple(&c->study, parts, t->n);
}

static CostValue *import(CostCall *c, const IrType *t, const Slot *at) {
  CostValue *v;
  switch (t->kind) {
  case T_INT:
  case T_BOOL: v = cost_int(&c->study, at->i); break;
  case T_FLOAT: v = cost_real(&c->study, at->f); break;
  case T_STRING: v = import_text(c, (const StringObj *)at->p); break;
  case T_TUPLE: v = import_tuple(c, t, at); break;
  case T_ARRAY: v = at->p ? import_array(c, t, (const ArrayObj *)at->p) : cost_unknown(&c->study); break;
  case T_VARIANT: v = t->ctors && t->nctors ? import_choice(c, t, at->p) : cost_unknown(&c->study); break;
  default: v = cost_unknown(&c->study);
  }
  v->given = true;
  return v;
}

static CostValue *global_value(void *user, int index) {
  CostCall *c = user;
  const Global *g = index < c->vm->globals.len ? c->vm->globals.data[index] : NULL;
  const IrType *t = c->vm->world->globals.data[index].type;
  CostValue *v = g && g->set ? import(c, t, g->slots) : cost_unknown(&c->study);
  v->given = true;
  return v;
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static PassWatch without_blocks(const AtledVM *vm) {
  PassWatch p = vm->watched.watch;
  p.timed = false;
  for (int k = 0; k < passes_count(); k++)
    if (strcmp(passes_get(k).name, "fork_loops") == 0) p.off |= (uint64_t)1 << k;
  return p;
}

/* The graph of a pair: the function of `it` that the text `of` makes of f, and the argument that is given, or unit. */
static AtledStatus compile(CostCall *c, const char *of, Graph **out) {
  AtledVM *vm = c->vm;
  const char *v = c->given ? arena_printf(&vm->scratch, "\n  in let v =\n  %s", c->argument_text) : "";
  const char *expression = arena_printf(&vm->scratch, "(let f =\n  %s%s", c->function_text, v);
  const char *it = c->given ? "(if true then it else v)" : "it";
  const char *source = arena_printf(&vm->scratch, "%s\n  in ((fun it -> let it = %s in %s), %s))", expression, it, of,
                                    c->given ? "v" : "()");
  PassWatch chosen = without_blocks(vm), *before = vm->world->watch;
  Plan plan;
  AtledStatus status = plan_front(vm, "<study>", source, strlen(source), &plan);
  if (status != ATLED_OK) return status;
  vm->world->traps = TRAP_PLACES;
  status = plan_elaborate(vm, &plan, REPORT_NONE);
  vm->world->watch = &chosen;
  if (status == ATLED_OK) status = plan_optimise(vm, &plan, NULL);
  vm->world->watch = before;
  vm->world->traps = (Trap)vm->config.trap;
  if (status == ATLED_OK) *out = plan.steps.data[plan.steps.len - 1].final;
  plan_take_back(vm, &plan, plan.first_item);
  return status;
}

/* The argument with its parts. */
static void mark_given(CostValue *v) {
  v->given = true;
  if (v->kind != COST_TUPLE && v->kind != COST_CHOICE && v->kind != COST_ARRAY) return;
  for (int k = 0; k < v->n; k++)
    if (!v->parts[k]->given) mark_given(v->parts[k]);
}

/* The closure that the program yields, and the argument that it is to be given. */
static AtledStatus load(CostCall *c, const char *of, CostValue **f, CostValue **x) {
  Graph *g;
  Cost ignored = {0};
  AtledStatus status = compile(c, of, &g);
  if (status != ATLED_OK) return status;
  if (ir_takes_token(g))
    return report_bad_argument(c->vm, "the argument has an effect: give it a name first, as in `let x = …`");
  CostValue *v = cost_eval(&c->study, g, NULL, &ignored);
  if (v->kind == COST_TUPLE && v->n == 1) v = v->parts[0];
  if (v->kind != COST_TUPLE || v->n < 1 || v->parts[0]->kind != COST_CLOSURE)
    return report_bad_argument(c->vm, "the function isn't known before the program runs");
  *f = v->parts[0];
  c->floats = ir_accumulator(c->vm->world, v->parts[0]->node->type->args[0])->kind != T_UNIT;
  c->differs = ir_accumulator(c->vm->world, v->parts[0]->node->type->args[1])->kind != T_UNIT;
  *x = c->given ? v->parts[1] : cost_argument(&c->study, v->parts[0]->node->type->args[0], "x");
  mark_given(*x);
  return ATLED_OK;
}

/* ---- The expression ---------------------------------------------------------------------------------------------- */
/* Is it a function whose result may be of several types, so that it may be a float? */
static bool yields_any(const Expr *e) {
  const Type *t = e->kind == E_VAR && e->binding && e->binding->nqvars ? type_repr(e->binding->type) : NULL;
  return t && t->kind == TY_FUN && type_repr(t->args[1])->kind == TY_VAR;
}

static const char *text_of(CostCall *c, Span at) {
  return arena_printf(&c->vm->scratch, "%.*s", (int)(at.end - at.start), c->expression + at.start);
}

static AtledStatus look_at_type(CostCall *c, const Expr *e) {
  const Type *t = type_repr(e->type);
  AtledStatus status = study_check(c->vm, c->expression, e);
  if (status != ATLED_OK) return status;
  c->given = t->kind != TY_FUN;
  c->function_text = c->given ? text_of(c, e->args[0]->span) : c->expression;
  c->argument_text = c->given ? text_of(c, e->args[1]->span) : NULL;
  const Type *result = c->given ? t : type_repr(t->args[1]);
  c->scalar = result->kind == TY_FLOAT || (!c->given && yields_any(e));
  return ATLED_OK;
}

static AtledStatus look(CostCall *c) {
  Plan plan;
  AtledStatus status = plan_front(c->vm, "<expression>", c->expression, strlen(c->expression), &plan);
  if (status != ATLED_OK) return status;
  const Item *item = plan.program->items.len == 1 ? plan.program->items.data[0] : NULL;
  status = item && item->kind == I_EXPR ? look_at_type(c, item->expr)
                                        : report_bad_argument(c->vm, "a function is asked for, as in `cost f`");
  plan_take_back(c->vm, &plan, plan.first_item);
  return status;
}

/* ---- Numbers and formulas ---------------------------------------------------------------------------------------- */
static void add_number(Str *out, double c) {
  if (c == floor(c) && fabs(c) < 1e15) str_printf(out, "%.0f", c);
  else str_printf(out, "%.4g", c);
}

static int degree(const PolyTerm *t) {
  int n = 0;
  for (int k = 0; k < POLY_SYMBOLS; k++) n += t->exponents[k];
  return n;
}

static int by_degree(const void *a, const void *b) {
  const PolyTerm *x = a, *y = b;
  if (degree(x) != degree(y)) return degree(x) > degree(y) ? -1 : 1;
  return -memcmp(x->exponents, y->exponents, sizeof x->exponents);
}

static void add_term(const CostCall *c, Str *out, const PolyTerm *t, bool first) {
  double size = fabs(t->c);
  if (!first) str_puts(out, t->c < 0 ? " - " : " + ");
  else if (t->c < 0) str_puts(out, "-");
  int n = degree(t);
  if (size != 1 || !n) add_number(out, size);
  for (int k = 0, written = size != 1; k < POLY_SYMBOLS; k++) {
    if (!t->exponents[k]) continue;
    str_printf(out, "%s%s", written++ ? " " : "", c->study.symbols[k].name);
    if (t->exponents[k] > 1) str_printf(out, "^%d", t->exponents[k]);
  }
}

static const char *formula(CostCall *c, const Poly *p) {
  Str out = {.arena = &c->vm->scratch};
  if (!p) return "?";
  PolyTerm *terms = NEW_ARRAY(&c->vm->scratch, PolyTerm, p->n + 1);
  memcpy(terms, p->terms, sizeof *terms * (size_t)p->n);
  qsort(terms, (size_t)p->n, sizeof *terms, by_degree);
  for (int i = 0; i < p->n; i++) add_term(c, &out, &terms[i], i == 0);
  return p->n ? out.data : "0";
}

/* p where all symbols are large. */
static double at_large(const Poly *p) {
  double all = 0;
  for (int i = 0; p && i < p->n; i++) all += p->terms[i].c * pow(1e4, degree(&p->terms[i]));
  return all;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */
enum { COLUMNS = 6, SOURCE_WIDTH = 50 };
typedef struct Row {
  const char *cells[COLUMNS];
  const char *text; /* the line of the source */
} Row;

static const CostLine *find_line(const Cost *c, int line) {
  for (int i = 0; i < c->lines.len; i++)
    if (c->lines.data[i].line == line) return &c->lines.data[i];
  return NULL;
}

static bool is_nothing(const CostLine *l) { return !l || (l->ops && !l->ops->n && l->bytes && !l->bytes->n); }

static const char *source_line(CostCall *c, Place p) {
  const Source *s = sources_get(&c->vm->sources, p.source);
  const char *at = p.source == c->expression_source && p.line == 2 ? c->expression : s->text + s->lines[p.line - 1];
  while (*at == ' ' || *at == '\t') at++;
  size_t n = strcspn(at, "\r\n"), shown = n;
  if (n > SOURCE_WIDTH)
    for (shown = SOURCE_WIDTH - 1; shown > 0 && ((unsigned char)at[shown] & 0xc0) == 0x80;) shown--;
  return arena_printf(&c->vm->scratch, "%.*s%s", (int)shown, at, shown < n ? "…" : "");
}

static const char *name_of(CostCall *c, int line) {
  if (!line) return "elsewhere";
  Place p = c->places.data[line - 1];
  if (p.source == c->expression_source) return "here";
  return arena_printf(&c->vm->scratch, "%s:%d", sources_get(&c->vm->sources, p.source)->name, p.line);
}

static Row row_of(CostCall *c, int line) {
  const CostLine *f = find_line(&c->function, line), *g = find_line(&c->gradient, line), *t = find_line(&c->tape, line);
  return (Row){{name_of(c, line), f ? formula(c, f->ops) : "0", f ? formula(c, f->bytes) : "0",
                g ? formula(c, g->ops) : "0", g ? formula(c, g->bytes) : "0", t ? formula(c, t->bytes) : "0"},
               line ? source_line(c, c->places.data[line - 1]) : ""};
}

static const Poly *total(CostCall *c, const Cost *of, bool ops) {
  const Poly *p = poly_constant(&c->vm->scratch, 0);
  for (int i = 0; i < of->lines.len; i++)
    p = poly_add(&c->vm->scratch, p, ops ? of->lines.data[i].ops : of->lines.data[i].bytes);
  return p;
}

static Row total_row(CostCall *c) {
  return (Row){{c->study.notes.len ? "counted" : "all", formula(c, total(c, &c->function, true)),
                formula(c, total(c, &c->function, false)), formula(c, total(c, &c->gradient, true)),
                formula(c, total(c, &c->gradient, false)), formula(c, total(c, &c->tape, false))},
               ""};
}

/* Numbers of the lines that cost something, in the order of the sources. */
static int costly_lines(CostCall *c, int **out) {
  int n = 0;
  *out = NEW_ARRAY(&c->vm->scratch, int, c->places.len + 1);
  for (int i = 0; i <= c->places.len; i++) {
    int line = i < c->places.len ? i + 1 : 0;
    if (is_nothing(find_line(&c->function, line)) && is_nothing(find_line(&c->gradient, line)) &&
        is_nothing(find_line(&c->tape, line)))
      continue;
    (*out)[n++] = line;
  }
  /* by source and line: insertion, there are few */
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && (*out)[k - 1] && (*out)[k]; k--) {
      Place a = c->places.data[(*out)[k - 1] - 1], b = c->places.data[(*out)[k] - 1];
      if (a.source < b.source || (a.source == b.source && a.line <= b.line)) break;
      int swap = (*out)[k];
      (*out)[k] = (*out)[k - 1];
      (*out)[k - 1] = swap;
    }
  return n;
}

static void add_row(const Row *r, const int *widths, Str *out) {
  str_printf(out, "%-*s", widths[0], r->cells[0]);
  for (int k = 1; k < COLUMNS; k++) str_printf(out, "  %*s", widths[k], r->cells[k]);
  if (*r->text) str_printf(out, "  %s", r->text);
  while (out->len && out->data[out->len - 1] == ' ') out->data[--out->len] = 0;
  str_puts(out, "\n");
}

static void add_table(CostCall *c, Str *out) {
  int *lines, n = costly_lines(c, &lines), widths[COLUMNS] = {0};
  Row *rows = NEW_ARRAY(&c->vm->scratch, Row, n + 3);
  rows[0] = (Row){{"", "function", "", "gradient", "", ""}, ""};
  rows[1] = (Row){{"line", "operations", "bytes", "operations", "bytes", "tape"}, ""};
  for (int i = 0; i < n; i++) rows[2 + i] = row_of(c, lines[i]);
  rows[2 + n] = total_row(c);
  for (int i = 0; i < n + 3; i++)
    for (int k = 0; k < COLUMNS; k++)
      if ((int)strlen(rows[i].cells[k]) > widths[k]) widths[k] = (int)strlen(rows[i].cells[k]);
  for (int i = 0; i < n + 3; i++) add_row(&rows[i], widths, out);
}

static bool counts_by(const Cost *cost, int symbol) {
  for (int i = 0; i < cost->lines.len; i++)
    if (poly_has(cost->lines.data[i].ops, symbol) || poly_has(cost->lines.data[i].bytes, symbol)) return true;
  return false;
}

static void add_symbols(CostCall *c, Str *out) {
  const CostSymbol *all = c->study.symbols;
  for (int k = 0; k < c->study.nsizes; k++) str_printf(out, "%s = %s\n", all[k].name, all[k].means);
  for (int k = COST_SIZES; k < COST_SIZES + c->study.nsteps; k++)
    if (counts_by(&c->function, k) || counts_by(&c->gradient, k) || counts_by(&c->tape, k))
      str_printf(out, "%s = steps of the loop of %s\n", all[k].name, name_of(c, all[k].line));
}

static void add_ratio(CostCall *c, Str *out) {
  const Poly *f = total(c, &c->function, true), *g = total(c, &c->gradient, true);
  double x, y, below = at_large(f);
  bool numbers = poly_is_constant(f, &x) && poly_is_constant(g, &y);
  if (!f || !g || below <= 0 || c->study.notes.len) return;
  str_printf(out, "gradient / function: %.3g%s\n", at_large(g) / below, numbers ? "" : ", where sizes are large");
}

static void add_notes(CostCall *c, Str *out) {
  if (c->function.at_most || c->gradient.at_most)
    str_puts(out, "at most: a branch that depends on numbers counts as the greater of its arms\n");
  for (int i = 0; i < c->study.notes.len; i++) {
    const CostNote *n = &c->study.notes.data[i];
    str_printf(out, "not counted: %s (%s)\n", n->text, name_of(c, n->line));
  }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
static AtledStatus run_study(CostCall *c, const char *of, Cost *out) {
  CostValue *f, *x;
  AtledStatus status = load(c, of, &f, &x);
  if (status == ATLED_OK) cost_apply(&c->study, f, x, out);
  return status;
}

static AtledStatus study_tape(CostCall *c) {
  CostValue *f, *x;
  Cost ignored = {0};
  AtledStatus status = load(c, "vjp f it", &f, &x);
  if (status != ATLED_OK) return status;
  CostValue *both = cost_apply(&c->study, f, x, &ignored);
  if (both->kind == COST_TUPLE && both->n == 2) cost_kept(&c->study, both->parts[1], &c->tape);
  return ATLED_OK;
}

AtledStatus study_cost(AtledVM *vm, const char *expression, Str *out) {
  CostCall c = {.vm = vm, .expression = expression};
  AtledStatus status = look(&c);
  if (status != ATLED_OK) return status;
  cost_open(&c.study, vm->world, &vm->scratch);
  c.study.line_of = line_of;
  c.study.chain_of = chain_of;
  c.study.global = global_value;
  c.study.user = &c;
  c.study.concrete = c.given;
  status = run_study(&c, c.scalar ? "(f it : float)" : "f it", &c.function);
  if (status == ATLED_OK && !(c.floats && c.differs))
    status = report_bad_argument(vm,
                                 "there is no float in the %s of `%s`, so there is no gradient; if its type is open, "
                                 "give the parameter one, as in `(x : float[])`",
                                 c.floats ? "result" : "argument", expression);
  if (status == ATLED_OK)
    status = run_study(&c, c.scalar ? "grad f it" : "(let (y, back) = vjp f it in (y, back y))", &c.gradient);
  if (status == ATLED_OK) status = study_tape(&c);
  if (status != ATLED_OK) return status;
  add_symbols(&c, out);
  add_table(&c, out);
  add_ratio(&c, out);
  add_notes(&c, out);
  return status;
}
