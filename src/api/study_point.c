/* SPDX-License-Identifier: MIT */
/* `why f x`, as far as it depends on x: where the derivative vanishes or is infinite at x, where two values are equal
 * that are compared, and which way branches went.
 *
 *   "f x"  →  (fun (y, back) -> back (map_floats (fun _ -> 1.0) y)) (vjp f x)     elaborated with TRAP_POINT
 *          →  f x                                  the same: a gradient may compute a branch twice, this counts it once
 *          ─  both run in the evaluator, in which traps record what operations are given and yield (record)
 *          ─  one Finding for each place and operation
 *          ─  a note for each that has something to say
 *
 * The records are those of src/ir/traps.c: "</ 1" and "{/ 1" of what an operation adds to the cotangent of an operand, and
 * "?<" of a comparison, and "?match A B" of a `match`; with '!' where the derivative goes through what they choose by. */
#include "api/pipeline.h"
#include "runtime/runtime.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Range {
  double least, greatest;
} Range;
/* Numbers of what was seen, and the operands where it was seen. */
typedef struct Seen {
  int64_t n;
  int operands;
  Range of[2];
} Seen;
typedef struct Finding {
  Span at;
  const char *what, *function; /* "tanh"; the library's function that it stands in, or NULL */
  bool branch, decides;        /* a choice; which is the condition of an `if` */
  bool active;                 /* a choice by what the derivative goes through */
  bool two;                    /* its operands are told apart: below by their numbers */
  int64_t n[2];                /* records */
  int64_t holds;               /* of these, comparisons that are true */
  int64_t *takes;              /* of a `match`: by constructor; NULL */
  Seen zero[2], tiny[2], infinite[2], tie[2];
} Finding;
typedef struct Point {
  AtledVM *vm;
  Arena *arena;
  Vec(Finding) found;
  bool complete;
  bool primal;    /* f x runs, and not its gradient */
  bool recursion; /* recursive functions become loops, so that they take no stack */
  bool again;     /* there is no stack for it without that */
  bool stopped;   /* it failed */
} Point;

/* ---- Records ----------------------------------------------------------------------------------------------------- */
static bool in_library(const AtledVM *vm, Span at) {
  return !at.source || sources_get(&vm->sources, at.source)->library;
}

/* The innermost place that is none of the library's; *function: that of the library which was called from there. */
static Span shown_at(const AtledVM *vm, uint32_t site, const char **function) {
  uint32_t number = 0;
  const Unit *u = run_unit_of_site(vm, site, &number);
  *function = NULL;
  for (; u && number; number = u->sites[number].parent) {
    const LSite *info = &u->sites[number];
    if (!in_library(vm, info->at)) return info->at;
    *function = info->function;
  }
  return (Span){0};
}

static bool is_one_of(const char *what, const char *const *words) {
  for (; *words; words++)
    if (strcmp(what, *words) == 0) return true;
  return false;
}

static bool decides_if(const char *text) { return strchr("!?", *text) && strncmp(text + 1, "if ", 3) == 0; }

static bool names_operand(const char *text) {
  size_t n = strlen(text);
  return !strchr("!?", *text) && n > 3 && text[n - 2] == ' ';
}

/* The operation in a record's text. */
static const char *operation(Arena *a, const char *text) {
  if (decides_if(text)) return text + 4;
  if (!names_operand(text)) return text + 1;
  return arena_printf(a, "%.*s", (int)strlen(text) - 3, text + 1);
}

/* Both programs have the expression at the same place. */
static bool same_source(const AtledVM *vm, uint32_t a, uint32_t b) {
  return a == b || (strcmp(sources_get(&vm->sources, a)->name, "<expression>") == 0 &&
                    strcmp(sources_get(&vm->sources, b)->name, "<expression>") == 0);
}

static Finding *finding_at(Point *p, const char *text, uint32_t site) {
  const char *function, *what = operation(p->vm->world->temp, text);
  Span at = shown_at(p->vm, site, &function);
  bool branch = strchr("!?", *text), decides = decides_if(text);
  if (!at.source || (branch && function)) return NULL;
  for (int i = 0; i < p->found.len; i++) {
    Finding *f = &p->found.data[i];
    if (same_source(p->vm, f->at.source, at.source) && f->at.start == at.start && f->at.end == at.end &&
        f->branch == branch && strcmp(f->what, what) == 0)
      return f;
  }
  if (p->found.len == LIMIT_POINT_PLACES) {
    p->complete = false;
    return NULL;
  }
  vec_push(p->arena, p->found,
           ((Finding){.at = at,
                      .what = arena_printf(p->arena, "%s", what),
                      .function = function,
                      .branch = branch,
                      .decides = decides,
                      .two = names_operand(text)}));
  return &p->found.data[p->found.len - 1];
}

static void see(Seen *s, const Slot *operands, int n) {
  s->operands = n < 2 ? n : 2;
  for (int k = 0; k < s->operands; k++) {
    double x = operands[k].f;
    if (!s->n || x < s->of[k].least) s->of[k].least = x;
    if (!s->n || x > s->of[k].greatest) s->of[k].greatest = x;
  }
  s->n++;
}

static bool is_tie(double a, double b) {
  const double ulps = 4 * 2.220446049250313e-16;
  return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= ulps * fmax(fabs(a), fabs(b)));
}

static bool chooses(const char *what) { return is_one_of(what, (const char *const[]){"max", "min", NULL}); }

/* Does its derivative change with the unit of what it is given, so that a small one says nothing? */
static bool has_scale(const char *what) {
  return is_one_of(what, (const char *const[]){"*", "/", "^", "**", "sqrt", "cbrt", "log", "log1p", "log2", "log10",
                                               "hypot", "asinh", "acosh", "lgamma", "digamma", NULL});
}

static bool is_match(const char *what) { return strncmp(what, "match ", 6) == 0; }

static int constructors(const char *what) {
  int n = 0;
  for (; (what = strchr(what, ' ')); what++) n++;
  return n;
}

static void record_match(Point *p, Finding *f, double tag) {
  int n = constructors(f->what);
  if (!f->takes) {
    f->takes = NEW_ARRAY(p->arena, int64_t, n + 1);
    memset(f->takes, 0, sizeof *f->takes * (size_t)(n + 1));
  }
  if (tag >= 0 && tag < n) f->takes[(int)tag]++;
}

static void record_comparison(Finding *f, const Slot *args) {
  f->holds += args[0].f > 0;
  if (is_tie(args[1].f, args[2].f)) see(&f->tie[0], args + 1, 2);
}

/* What `max` or `min` gives to the operand that it doesn't take is 0. */
static void record_choice(Finding *f, int operand, const Slot *operands, double factor) {
  if (is_tie(operands[0].f, operands[1].f)) see(&f->tie[operand], operands, 2);
  else if (factor == 0) see(&f->zero[operand], operands, 2);
}

/* factor: what the operation adds to the cotangent of an operand, for a cotangent of 1. */
static void record_factor(Finding *f, int operand, const Slot *operands, int n, double factor) {
  const double tiny = 1e-8;
  if (strcmp(f->what, "abs") == 0) {
    if (operands[0].f == 0) see(&f->tie[0], operands, n);
  } else if (factor == 0) {
    see(&f->zero[operand], operands, n);
  } else if (isinf(factor)) {
    see(&f->infinite[operand], operands, n);
  } else if (fabs(factor) < tiny && !has_scale(f->what)) {
    see(&f->tiny[operand], operands, n);
  }
}

/* What is multiplied by a cotangent that has almost vanished may be 0 since that is the next number. */
static void record_derivative(Finding *f, const char *text, const Slot *args, int n) {
  const double underflowing = 1e-290;
  int operands = n - 2 - (*text == '{'), operand = f->two && text[strlen(text) - 1] == '2';
  double cotangent = operands > 0 ? args[1 + operands].f : 0, factor = args[0].f / cotangent;
  f->n[operand]++;
  if (fabs(cotangent) < underflowing || !isfinite(cotangent) || isnan(factor)) return;
  if (chooses(f->what) && operands == 2) record_choice(f, operand, args + 1, factor);
  else record_factor(f, operand, args + 1, operands, factor);
}

static void record_choice_made(Point *p, Finding *f, const Slot *args, int n) {
  f->n[0]++;
  if (is_match(f->what)) record_match(p, f, args[0].f);
  else if (n > 2) record_comparison(f, args);
}

/* Rt.record */
static void record(void *recorder, const char *text, const Slot *args, int n, uint32_t site) {
  Point *p = recorder;
  bool derivative = strchr("<{", *text);
  if (!text[1] || (p->primal ? *text != '?' : *text != '!' && !derivative)) return;
  Finding *f = finding_at(p, text, site);
  if (!f) return;
  if (derivative) record_derivative(f, text, args, n);
  else if (p->primal) record_choice_made(p, f, args, n);
  else f->active = true;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */
static const char *number(Arena *a, double x) {
  char text[40];
  rt_format_double(x, text);
  return arena_printf(a, "%s", text);
}

static const char *range(Arena *a, const Range *r) {
  if (r->least == r->greatest) return number(a, r->least);
  return arena_printf(a, "%s … %s", number(a, r->least), number(a, r->greatest));
}

/* "-2.0 and 0.0", "20.0 … 40.0" */
static const char *operands(Arena *a, const Seen *s) {
  if (s->operands < 2) return range(a, &s->of[0]);
  return arena_printf(a, "%s and %s", range(a, &s->of[0]), range(a, &s->of[1]));
}

static const char *named(Arena *a, const Finding *f) {
  if (!f->function || strcmp(f->function, f->what) == 0) return arena_printf(a, "`%s`", f->what);
  return arena_printf(a, "`%s` in `%s`", f->what, f->function);
}

static const char *share(Arena *a, int64_t k, int64_t n) {
  if (n == 1) return "";
  return arena_printf(a, " (%lld of %lld times)", (long long)k, (long long)n);
}

static const char *times(Arena *a, long long n) { return n == 1 ? "once" : arena_printf(a, "%lld times", n); }

typedef Vec(Diag) NoteList;

static void note(Point *p, NoteList *out, const Finding *f, const char *message) {
  vec_push(p->arena, *out, ((Diag){.severity = SEV_NOTE, .at = f->at, .message = message}));
}

static void note_seen(Point *p, NoteList *out, const Finding *f, const Seen *s, int64_t n, const char *that) {
  Arena *a = p->arena;
  if (!s->n) return;
  note(p, out, f, arena_printf(a, "%s of %s: %s%s", named(a, f), operands(a, s), that, share(a, s->n, n)));
}

/* "`match` takes `::` 3 times, `Nil`" */
static void note_match(Point *p, NoteList *out, const Finding *f) {
  Str text = {.arena = p->arena};
  str_puts(&text, "`match` takes");
  const char *name = f->what + 5;
  for (int k = 0, shown = 0; *name; k++) {
    int length = (int)strcspn(++name, " ");
    if (f->takes[k]) str_printf(&text, "%s `%.*s`", shown++ ? "," : "", length, name);
    if (f->takes[k] && f->n[0] > 1) str_printf(&text, " %s", times(p->arena, f->takes[k]));
    name += length;
  }
  note(p, out, f, text.data);
}

static void note_branch(Point *p, NoteList *out, const Finding *f) {
  Arena *a = p->arena;
  long long yes = f->holds, no = f->n[0] - f->holds;
  note_seen(p, out, f, &f->tie[0], f->n[0], "a tie, so that the next larger or smaller number may go another way");
  const char *ways[] = {f->decides ? "the `if` takes `then`" : "is true", f->decides ? "`else`" : "false"};
  const char *only = yes ? ways[0] : f->decides ? "the `if` takes `else`" : "is false";
  const char *took = yes && no      ? arena_printf(a, "%s %s, %s %s", ways[0], times(a, yes), ways[1], times(a, no))
                     : yes + no > 1 ? arena_printf(a, "%s all %lld times", only, yes + no)
                                    : only;
  note(p, out, f, arena_printf(a, "`%s`%s %s", f->what, f->decides ? ":" : "", took));
}

/* What was seen of the derivative by one operand. */
static void note_operand(Point *p, NoteList *out, const Finding *f, int k) {
  static const char *const by[] = {" by the first", " by the second"},
                           *const choices[] = {"takes the second, so the first gets no derivative",
                                               "takes the first, so the second gets no derivative"};
  const char *which = f->two ? by[k] : "";
  Arena *a = p->arena;
  note_seen(p, out, f, &f->zero[k], f->n[k],
            chooses(f->what) ? choices[k] : arena_printf(a, "its derivative%s is 0", which));
  note_seen(p, out, f, &f->tiny[k], f->n[k], arena_printf(a, "its derivative%s is below 1e-8", which));
  note_seen(p, out, f, &f->infinite[k], f->n[k], arena_printf(a, "its derivative%s is infinite", which));
}

static void note_finding(Point *p, NoteList *out, const Finding *f) {
  if (f->branch && (!f->active || !f->n[0])) return;
  if (f->branch) {
    if (f->takes) note_match(p, out, f);
    else note_branch(p, out, f);
    return;
  }
  for (int k = 0; k < 2; k++) note_operand(p, out, f, k);
  int k = !f->tie[0].n;
  note_seen(p, out, f, &f->tie[k], f->n[k],
            chooses(f->what) ? "a tie; the derivative goes to the first"
                             : "a kink, where its derivative is taken to be 0");
}

static int by_place(const void *a, const void *b) {
  const Diag *x = a, *y = b;
  if (x->at.source != y->at.source) return x->at.source < y->at.source ? -1 : 1;
  if (x->at.start != y->at.start) return x->at.start < y->at.start ? -1 : 1;
  return strcmp(x->message, y->message);
}

static void add_notes(Point *p, Str *out) {
  AtledVM *vm = p->vm;
  NoteList notes = {0};
  for (int i = 0; i < p->found.len; i++) note_finding(p, &notes, &p->found.data[i]);
  if (!notes.len) return;
  qsort(notes.data, (size_t)notes.len, sizeof *notes.data, by_place);
  str_puts(out, "at this point:\n");
  for (int i = 0; i < notes.len; i++) diag_render(&notes.data[i], &vm->sources, vm->config.colour, out);
  if (!p->complete) str_puts(out, "(only the first places are listed)\n");
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* Without the passes that move comparisons out of loops, or make several of one; `recursion` makes conditions of loops
 * of them, which no derivative goes through. */
static PassWatch chosen_passes(const AtledVM *vm, bool recursion) {
  static const char *const moving[] = {"invariants", "interchange",  "peel",       "hoist", "unswitch",
                                       "if_convert", "choose_forks", "fork_loops", NULL};
  PassWatch p = vm->watched.watch;
  p.timed = false;
  for (int k = 0; k < passes_count(); k++)
    if (is_one_of(passes_get(k).name, moving) || (!recursion && strcmp(passes_get(k).name, "recursion") == 0))
      p.off |= (uint64_t)1 << k;
  return p;
}

static Status run_recorded(Point *p, Unit *u, const LFunc *f, Slot *res) {
  AtledVM *vm = p->vm;
  vm->rt.record = record;
  vm->rt.recorder = p;
  Status status = run_evaluated(vm, u, f, -1, NULL, res);
  vm->rt.record = NULL;
  vm->rt.recorder = NULL;
  return status;
}

/* Is it the program's error, and no limit's? */
static bool is_error_of_program(ErrorKind kind) {
  return kind != ERR_MEMORY && kind != ERR_INTERRUPT && kind != ERR_TIME && kind != ERR_EXIT && kind != ERR_OUTPUT &&
         kind != ERR_OUTPUT_LIMIT;
}

/* Is a NaN in the value? What is nested deeper than the limit isn't looked at. */
static bool holds_nan(const Desc *d, const Slot *at, int depth);

static bool array_holds_nan(const ArrayObj *a, int depth) {
  const Desc *base = a->h.desc->args[0];
  int64_t n = 1;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k];
  for (int64_t i = 0; i < n; i++)
    if (holds_nan(base, a->data + i * base->nslots, depth)) return true;
  return false;
}

static bool holds_nan(const Desc *d, const Slot *at, int depth) {
  if (d->kind == D_FLOAT) return isnan(at->f);
  if (depth == LIMIT_CUT_DEPTH) return false;
  if (d->kind == D_ARRAY) return array_holds_nan((const ArrayObj *)at->p, depth + 1);
  if (d->kind == D_VARIANT && rt_is_object(at->p))
    return holds_nan(d->args[rt_tag(at->p)], ((const BoxObj *)at->p)->fields, depth + 1);
  for (int k = 0; k < d->n && d->kind == D_TUPLE; at += d->args[k++]->nslots)
    if (holds_nan(d->args[k], at, depth + 1)) return true;
  return false;
}

static void note_value(const Point *p, const Desc *d, const Slot *value, Str *out) {
  if (!p->primal && holds_nan(d, value, 0))
    str_puts(out,
             "(the derivative is NaN at this point: `--trap-nan`, at the prompt `:trap nan`, stops where it begins)\n");
}

static AtledStatus run(Point *p, Plan *plan, Str *out) {
  AtledVM *vm = p->vm;
  LowerEntry entry;
  Unit *unit;
  if (plan->steps.len != 1) return ATLED_OK;
  const Step *s = &plan->steps.data[0];
  if (s->elab.effect) {
    str_puts(out, "(it has an effect, so it isn't run: what happens at this point isn't known)\n");
    return ATLED_OK;
  }
  AtledStatus status = batches_lower(vm, plan, &entry, &unit);
  if (status != ATLED_OK) return status;
  if (run_begin(vm) != 0) return report_runtime_error(vm, s->item->span);
  Slot *res = NEW_ARRAY(&vm->scratch, Slot, entry.func->nresults + 1);
  if (run_recorded(p, unit, entry.func, res) == 0) {
    note_value(p, step_value_desc(vm, s), res, out);
    run_release_slots(vm, step_value_desc(vm, s), res);
  } else if (vm->rt.error.kind == ERR_STACK && !p->recursion) {
    p->again = true;
    rt_clear_error(&vm->rt);
    return ATLED_OK;
  } else if (is_error_of_program((ErrorKind)vm->rt.error.kind)) {
    p->stopped = true;
    str_printf(out, "(at this point there is no derivative: %s)\n", vm->rt.error.message);
    rt_clear_error(&vm->rt);
  } else {
    return report_runtime_error(vm, s->item->span);
  }
  return ATLED_OK;
}

/* The program of the gradient, or of the function, with the expression at the same place. */
static const char *program(const Point *p, const char *expression) {
  static const char gradient[] = "(fun (y, back) -> back (map_floats (fun _ -> 1.0) y)) (vjp";
  return arena_printf(p->arena, "%-*s\n    %s\n  )", (int)sizeof gradient - 1, p->primal ? "(" : gradient, expression);
}

static AtledStatus study(Point *p, const char *expression, Str *out) {
  AtledVM *vm = p->vm;
  const char *source = program(p, expression);
  PassWatch chosen = chosen_passes(vm, p->recursion), *before = vm->world->watch;
  Plan plan;
  AtledStatus status = plan_front(vm, "<expression>", source, strlen(source), &plan);
  if (status != ATLED_OK) return status;
  vm->world->traps = TRAP_POINT;
  status = plan_elaborate(vm, &plan, REPORT_NONE);
  vm->world->watch = &chosen;
  if (status == ATLED_OK) status = run(p, &plan, out);
  vm->world->watch = before;
  vm->world->traps = (Trap)vm->config.trap;
  plan_take_back(vm, &plan, plan.first_item);
  return status;
}

static bool has_choices(const Point *p) {
  for (int i = 0; i < p->found.len; i++)
    if (p->found.data[i].active) return true;
  return false;
}

static AtledStatus study_both(Point *p, const char *expression, Str *out) {
  AtledStatus status = study(p, expression, out);
  p->primal = true;
  if (status == ATLED_OK && !p->again && !p->stopped && has_choices(p)) status = study(p, expression, out);
  if (status == ATLED_OK && !p->again) add_notes(p, out);
  return status;
}

/* Does the name that the program of the gradient uses mean the library's function? */
static bool has_map_floats(AtledVM *vm) {
  const Binding *b = names_value(vm, "map_floats");
  return b && b->module && b->module->library;
}

AtledStatus study_point(AtledVM *vm, const char *expression, Str *out) {
  if (!has_map_floats(vm)) {
    str_puts(out, "(it isn't run at this point: that needs the library's `map_floats`)\n");
    return ATLED_OK;
  }
  Point p = {.vm = vm, .arena = &vm->scratch, .complete = true};
  AtledStatus status = study_both(&p, expression, out);
  if (!p.again) return status;
  Point looped = {.vm = vm, .arena = &vm->scratch, .complete = true, .recursion = true};
  return study_both(&looped, expression, out);
}
