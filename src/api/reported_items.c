/* SPDX-License-Identifier: MIT */
/* Tests, rewrite rules and benchmarks: items that are run to be reported on.
 *
 * A test's value is a bool, or, where its expression is a comparison, that and both sides (check/reported.c), which are
 * shown if it is false. A rule's is a text: what is wrong with it. A benchmark's value is a
 * record of Bench.timing. What goes wrong in one of them is reported as its own failure, and the run goes on, unless
 * somebody stopped it. */
#include "api/pipeline.h"
#include <string.h>

/* ---- Sides of a comparison ------------------------------------------------------------------------- */

/* The value's text, cut where it is long; NULL if there is none. */
static const char *shown(AtledVM *vm, const Desc *desc, const Slot *slots) {
  Str text = {.arena = &vm->scratch};
  if (rt_show(&vm->rt, desc, slots, false, &text) != 0) {
    rt_clear_error(&vm->rt);
    return NULL;
  }
  size_t n = text.data ? strlen(text.data) : 0, cut = LIMIT_SIDE_SHOWN;
  if (n <= LIMIT_SIDE_SHOWN) return n ? text.data : "";
  while ((text.data[cut] & 0xc0) == 0x80) cut--;
  return arena_printf(&vm->scratch, "%.*s …", (int)cut, text.data);
}

/* What is said of a test that is false. `value`: of its step, of that type. */
static const char *failure(AtledVM *vm, const Item *item, const Desc *desc, const Slot *value) {
  if (!item->run) return "is false";
  const Desc *left = desc->args[1], *right = desc->args[2];
  const char *l = shown(vm, left, value + 1), *r = shown(vm, right, value + 1 + left->nslots);
  if (!l || !r) return "is false";
  const char *op = binop_text(item->expr->op);
  bool one_line = strlen(l) + strlen(r) <= LIMIT_SIDES_BESIDE && !strchr(l, '\n') && !strchr(r, '\n');
  return arena_printf(&vm->scratch, one_line ? "is false: %s %s %s" : "is false:\n    %s\n  %s\n    %s", l, op, r);
}

static const char *name_of(AtledVM *vm, const Item *item) {
  return item->kind == I_RULE ? arena_printf(&vm->scratch, "rule %s", item->name.name) : item->text;
}

/* What is wrong with a test or rule whose value this is; NULL: nothing. */
static const char *wrong(AtledVM *vm, const Step *s, const Desc *desc, const Slot *value) {
  if (s->item->kind == I_BENCH) return NULL;
  if (s->item->kind == I_TEST) return value[0].i ? NULL : failure(vm, s->item, desc, value);
  const StringObj *text = (const StringObj *)value[0].p;
  return text->len ? arena_strndup(&vm->scratch, text->bytes, (size_t)text->len) : NULL;
}

/* ---- Reports --------------------------------------------------------------------------------------- */
/* message: NULL if all went well; value: of the step then. */
static void report(AtledVM *vm, const Step *s, Reports *r, const char *message, const Slot *value) {
  int line, column;
  span_position(&vm->sources, s->item->span, &line, &column);
  r->failed += message != NULL;
  if (s->item->kind != I_BENCH) {
    if (r->test) r->test(r->user, name_of(vm, s->item), line, message);
    return;
  }
  AtledBench b = {.name = s->item->text, .line = line, .message = message};
  if (!message) { /* the fields of Bench.timing in alphabetical order */
    b.best = value[0].f;
    b.median = value[1].f;
    b.runs = value[2].i;
    b.spread = value[3].f;
  }
  if (r->bench) r->bench(r->user, &b);
}

static bool ends_the_run(ErrorKind kind) {
  return kind == ERR_EXIT || kind == ERR_OUTPUT || kind == ERR_OUTPUT_LIMIT || kind == ERR_INTERRUPT ||
         kind == ERR_TIME;
}

bool reports_run(AtledVM *vm, Unit *unit, const Step *s, const LFunc *f, Reports *r) {
  Slot *res = NEW_ARRAY(&vm->scratch, Slot, f->nresults + 1);
  const Desc *desc = step_value_desc(vm, s);
  if (run_function(vm, unit, f, NULL, res) == 0) {
    report(vm, s, r, wrong(vm, s, desc, res), res);
    run_release_slots(vm, desc, res);
    return true;
  }
  if (ends_the_run(vm->rt.error.kind)) return false;
  int before = vm->reports.len;
  report_runtime_error(vm, s->item->span);
  report(vm, s, r, vm->reports.data[before].rendered, NULL);
  return true;
}
