/* SPDX-License-Identifier: MIT */
/* Primitives: calls into the runtime (prims/rt.def). */
#include "facts/cost_internal.h"
#include "graph/graph.h"
#include <string.h>

static CostValue *matrix_product(CostStudy *s, const Node *n, CostValue **ops) {
  const CostValue *a = ops[2], *b = ops[3];
  if (a->kind != COST_ARRAY || b->kind != COST_ARRAY || ops[0]->kind != COST_INT || ops[1]->kind != COST_INT) {
    cost_note(s, "a matrix product whose sizes are only known when the program runs");
    return cost_unknown_array(s, n->type);
  }
  const Poly **dims = NEW_ARRAY(s->a, const Poly *, 2), *inner = a->dims[ops[0]->i ? 0 : 1];
  dims[0] = a->dims[ops[0]->i ? 1 : 0];
  dims[1] = b->dims[ops[1]->i ? 0 : 1];
  CostValue *v = cost_made(s, cost_array(s, n->type, dims, NULL, 0, NULL), 0);
  const Poly *count = cost_count_of(s, v);
  cost_add_many(s, 2, 0, count && inner ? poly_mul(s->a, count, inner) : NULL);
  return v;
}

/* Primitives whose work isn't counted, and what they are called; a name that ends in _ stands for all that begin so,
 * and %s in the text for the rest of theirs. Others work on a few ints, read a clock or only hand on what they get. */
typedef struct Uncounted {
  const char *name, *text;
} Uncounted;
static const Uncounted uncounted[] = {
    {"close", "comparing structures (`~=`)"},
    {"hash", "the hash of a structure"},
    {"argsort", "the comparisons of a sort"},
    {"position", "the comparisons of a search"},
    {"show", "making text (`show`)"},
    {"show_data", "output"},
    {"display", "making text"},
    {"format_", "making text"},
    {"concat_", "joining text"},
    {"float_of_string_or_nan", "reading a number from text"},
    {"int_of_string_or_zero", "reading a number from text"},
    {"str_", "`Str.%s`"},
    {"regex_", "`Regex.%s`"},
    {"json_", "reading or writing JSON"},
    {"csv_", "reading a table"},
    {"read_", "reading a file or the input"},
    {"stdin_lines", "reading the input"},
    {"write", "output"},
    {"write_file", "writing a file"},
    {"append_file", "writing a file"},
    {"list_dir", "reading a folder"},
    {"print", "output"},
    {"eprint", "output"},
};

static void note_uncounted(CostStudy *s, const char *name) {
  for (size_t k = 0; k < sizeof uncounted / sizeof *uncounted; k++) {
    const Uncounted *u = &uncounted[k];
    size_t n = strlen(u->name);
    if (u->name[n - 1] == '_' ? strncmp(name, u->name, n) != 0 : strcmp(name, u->name) != 0) continue;
    const char *hole = strstr(u->text, "%s");
    cost_note(s, hole ? arena_printf(s->a, "%.*s%s%s", (int)(hole - u->text), u->text, name + n, hole + 2) : u->text);
    return;
  }
}

static CostValue *fork_both(CostStudy *s, const Node *n, CostValue **ops) {
  CostValue **both = NEW_ARRAY(s->a, CostValue *, 2);
  for (int k = 0; k < 2; k++) both[k] = cost_apply_closure(s, n->type->args[k], ops[k], NULL, 0);
  return cost_tuple(s, both, 2);
}

CostValue *cost_rt(CostStudy *s, const Node *n, CostValue **ops) {
  const char *name = n->attr.rt->name;
  if (strcmp(name, "matrix_product") == 0) return matrix_product(s, n, ops);
  if (ir_is_static(n) || strcmp(name, "watched") == 0 || strcmp(name, "detached") == 0 || strcmp(name, "opaque") == 0)
    return ops[0];
  if (strcmp(name, "compare") == 0 || strcmp(name, "order") == 0) return cost_compare(s, n, ops, false);
  if (strcmp(name, "equal") == 0) return cost_compare(s, n, ops, true);
  if (ir_is_fork(n) && n->nops >= 2) return fork_both(s, n, ops);
  for (int k = 0; k < n->nops; k++)
    if (n->ops[k]->type->kind == T_FUN) cost_apply_closure(s, n->type, ops[k], NULL, 0);
  note_uncounted(s, name);
  if (strcmp(name, "argsort") != 0) return cost_typed_unknown(s, n->type);
  CostValue *v = cost_unknown_array(s, n->type);
  if (ops[0]->kind == COST_ARRAY) v->dims[0] = ops[0]->dims[0];
  return cost_made(s, v, 0);
}
