/* SPDX-License-Identifier: MIT */
/* Pattern matching: decision trees after Maranget ("Compiling pattern matching to good decision trees").
 *
 * The cases are rows of a matrix of patterns over *occurrences*, the parts of the value that is matched. `build`
 * makes the tree: it takes the first row's first column that needs a test, and splits the rows by what can stand
 * there. No test is made twice on a path. `emit` turns the tree into switches.
 *
 * A case that several leaves reach (an or-pattern, a default below several tests) must not have its body copied for
 * each of them, unless that is a mere constant or variable. In such a match the tree only chooses: its leaves give
 * TUPLE(number of the case, values of all pattern variables), and a second switch on the number holds the bodies. A
 * `let` with a pattern that can fail is the same with one case.
 *
 * A field is read where its record is. The payload of a constructor or an element of an array
 * exists only where the test has succeeded, so such an occurrence is set when that arm is entered. */
#include "elab/elab_internal.h"
#include <stdlib.h>
#include <string.h>

typedef enum OccKind { OCC_ROOT, OCC_FIELD, OCC_PART } OccKind;
typedef struct Occ Occ;
struct Occ {
  OccKind kind;
  Occ *parent;
  int k;
  IrType *type;
  Var at; /* of OCC_ROOT and OCC_PART: where it is now */
  Vec(Occ *) kids;
};

typedef struct Bound {
  Binding *binding;
  Occ *occ;
  struct Bound *next;
} Bound;
typedef struct Row {
  Pat **pats;
  Bound *bound;
  int index;
} Row;
typedef struct Columns {
  Occ **occs;
  int n;
} Columns;

typedef enum TreeKind { TREE_FAIL, TREE_LEAF, TREE_GUARD, TREE_TEST } TreeKind;
typedef struct Tree Tree;
typedef struct Branch {
  Pat *head;
  Tree *tree;
} Branch; /* head: a pattern that shows what stands there */
struct Tree {
  TreeKind kind;
  int index; /* of the case */
  Bound *bound;
  Occ *occ;
  Branch *branches;
  int nbranches;
  Tree *rest; /* where no branch fits (NULL: can't be), or the guard is false */
};

typedef struct Match {
  Ctx *c;
  Arena *arena;
  MatchCase *cases;
  int ncases;
  int *leaves; /* of each case */
  Occ *root;
  IrType *type;
  Span at;
  bool choosing;  /* leaves give the case's number and variables */
  IrType *choice; /* type of that */
  Binding **vars; /* its variables, in order */
  int nvars;
  int64_t work; /* left for the tree, about a pattern copied */
  bool too_large;
} Match;

/* ---- Occurrences -------------------------------------------------------------------- */

static Occ *occ_child(Match *m, Occ *o, OccKind kind, int k, IrType *t) {
  for (int i = 0; i < o->kids.len; i++)
    if (o->kids.data[i]->k == k && o->kids.data[i]->type == t) return o->kids.data[i];
  Occ *x = NEW(m->arena, Occ);
  x->kind = kind;
  x->parent = o;
  x->k = k;
  x->type = t;
  vec_push(m->arena, o->kids, x);
  return x;
}

static Var occ_var(Match *m, Occ *o) {
  if (o->kind != OCC_FIELD) return o->at;
  Var p = occ_var(m, o->parent);
  return (Var){ir_get(m->c->w, p.node, o->k), p.region, NULL};
}

static Node *occ_read(Match *m, Occ *o) {
  Var v = occ_var(m, o);
  return el_read(m->c, &v);
}

/* ---- Building the tree ------------------------------------------------------------------ */

static void row_bind(Match *m, Row *r, Binding *b, Occ *o) {
  Bound *x = NEW(m->arena, Bound);
  *x = (Bound){b, o, r->bound};
  r->bound = x;
}

/* What is left of a pattern when names and annotations are taken off; NULL: fits anything. */
static Pat *simplify(Match *m, Row *r, Pat *p, Occ *o) {
  for (; p; p = p->args[0]) {
    if (p->kind == P_VAR) row_bind(m, r, p->binding, o);
    if (p->kind == P_AS) row_bind(m, r, p->binding, o);
    if (p->kind == P_WILD || p->kind == P_VAR || p->kind == P_UNIT) return NULL;
    if (p->kind != P_AS && p->kind != P_ANNOT) return p;
  }
  return NULL;
}

typedef Vec(Row) RowList;
static Tree *build(Match *m, Row *rows, int nrows, Columns cols);

static Tree *tree_new(Match *m, TreeKind kind) {
  Tree *t = NEW(m->arena, Tree);
  t->kind = kind;
  return t;
}

static Tree *build_leaf(Match *m, Row *rows, int nrows, Columns cols) {
  MatchCase *k = &m->cases[rows[0].index];
  m->leaves[rows[0].index]++;
  Tree *t = tree_new(m, k->guard ? TREE_GUARD : TREE_LEAF);
  t->index = rows[0].index;
  t->bound = rows[0].bound;
  if (!k->guard) return t;
  int same = 1; /* the first side of an or-pattern that fits is the one: the guard doesn't look for another */
  while (same < nrows && rows[same].index == t->index) same++;
  t->rest = build(m, rows + same, nrows - same, cols);
  return t;
}

static Row row_copy(Match *m, const Row *r, int n) {
  Row x = *r;
  x.pats = NEW_ARRAY(m->arena, Pat *, n + 1);
  memcpy(x.pats, r->pats, sizeof(Pat *) * (size_t)n);
  return x;
}

/* Replaces rows with an or-pattern in the column by one row for each side, in place. */
static void add_expanded(Match *m, RowList *out, Row r, int col, Columns cols) {
  r.pats[col] = simplify(m, &r, r.pats[col], cols.occs[col]);
  Pat *p = r.pats[col];
  if (!p || p->kind != P_OR) {
    vec_push(m->arena, *out, r);
    return;
  }
  for (int i = 0; i < 2; i++) {
    Row side = row_copy(m, &r, cols.n);
    side.pats[col] = p->args[i];
    add_expanded(m, out, side, col, cols);
  }
}

/* The columns with `col` replaced by its parts. */
static Columns split_columns(Match *m, Columns cols, int col, Occ **parts, int nparts) {
  Columns out = {NEW_ARRAY(m->arena, Occ *, cols.n + nparts), 0};
  for (int i = 0; i < nparts; i++) out.occs[out.n++] = parts[i];
  for (int i = 0; i < cols.n; i++)
    if (i != col) out.occs[out.n++] = cols.occs[i];
  return out;
}

static Pat *sub_pattern(const Pat *p, const IrType *t, int k) {
  if (!p) return NULL;
  if (p->kind != P_RECORD) return k < p->nargs ? p->args[k] : NULL;
  for (int i = 0; i < p->nargs; i++)
    if (p->fields[i] == t->names[k]) return p->args[i];
  return NULL;
}

static Row split_row(Match *m, const Row *r, Columns cols, int col, int nparts) {
  const Pat *p = r->pats[col];
  Row x = *r;
  int n = 0;
  x.pats = NEW_ARRAY(m->arena, Pat *, cols.n + nparts);
  for (int i = 0; i < nparts; i++) x.pats[n++] = sub_pattern(p, cols.occs[col]->type, i);
  for (int i = 0; i < cols.n; i++)
    if (i != col) x.pats[n++] = r->pats[i];
  return x;
}

/* Tuples and records need no test. */
static Tree *build_product(Match *m, RowList rows, Columns cols, int col) {
  Occ *o = cols.occs[col];
  int n = o->type->n;
  Occ **parts = NEW_ARRAY(m->arena, Occ *, n + 1);
  for (int i = 0; i < n; i++) parts[i] = occ_child(m, o, OCC_FIELD, i, o->type->args[i]);
  Row *out = NEW_ARRAY(m->arena, Row, rows.len + 1);
  for (int i = 0; i < rows.len; i++) out[i] = split_row(m, &rows.data[i], cols, col, n);
  return build(m, out, rows.len, split_columns(m, cols, col, parts, n));
}

/* Whether two patterns of one column ask for the same thing. */
static bool same_head(const Pat *a, const Pat *b) {
  if (b->kind == P_FLOAT) return a->f == b->f; /* an integer pattern typed float has both */
  switch (a->kind) {
  case P_CTOR: return a->ctor->tag == b->ctor->tag;
  case P_ARRAY: return a->nargs == b->nargs;
  case P_STRING: return a->text == b->text;
  case P_FLOAT: return a->f == b->f;
  default: return a->i == b->i;
  }
}

static int head_parts(const Pat *h, Occ *o, Match *m, Occ **parts) {
  if (h->kind == P_CTOR && h->nargs) {
    parts[0] = occ_child(m, o, OCC_PART, h->ctor->tag, o->type->ctors[h->ctor->tag].payload);
    return 1;
  }
  if (h->kind != P_ARRAY) return 0;
  for (int i = 0; i < h->nargs; i++) parts[i] = occ_child(m, o, OCC_PART, i, o->type->args[0]);
  return h->nargs;
}

/* The rows that ask for one head, by number, and the heads of equal hash. */
typedef struct Group {
  Vec(int) rows;
  int branch;
  struct Group *next;
} Group;

static const void *hash_head(const Occ *o, const Pat *p) {
  double f = p->f == 0 ? 0 : p->f;
  uint64_t x = (uint64_t)p->i;
  if (p->kind == P_CTOR) x = (uint64_t)p->ctor->tag;
  if (p->kind == P_ARRAY) x = (uint64_t)p->nargs;
  if (p->kind == P_STRING) x = (uint64_t)(uintptr_t)p->text;
  if (o->type->kind == T_FLOAT) memcpy(&x, &f, sizeof x);
  return (const void *)(uintptr_t)(hash_mix(x, 1) | 1);
}

/* The group of a row that has a head; a new one is a new branch. */
static Group *find_group(Match *m, Map *groups, Tree *t, Pat *p) {
  const void *hash = hash_head(t->occ, p);
  Group *first = map_get(groups, hash);
  for (Group *g = first; g; g = g->next)
    if (same_head(t->branches[g->branch].head, p)) return g;
  Group *g = NEW(m->arena, Group);
  g->branch = t->nbranches++;
  g->next = first;
  t->branches[g->branch].head = p;
  map_put(groups, hash, g);
  return g;
}

/* `open` are the rows that fit any head: they come in between, in the order of the cases. */
static Tree *build_branch(Match *m, RowList rows, Columns cols, int col, const Group *g, const int *open, int nopen) {
  const Pat *head = rows.data[g->rows.data[0]].pats[col];
  Occ **parts = NEW_ARRAY(m->arena, Occ *, head->nargs + 1);
  int n = head_parts(head, cols.occs[col], m, parts), k = 0, i = 0, j = 0;
  Row *out = NEW_ARRAY(m->arena, Row, g->rows.len + nopen + 1);
  while (i < g->rows.len || j < nopen) {
    bool own = j == nopen || (i < g->rows.len && g->rows.data[i] < open[j]);
    out[k++] = split_row(m, &rows.data[own ? g->rows.data[i++] : open[j++]], cols, col, n);
  }
  return build(m, out, k, split_columns(m, cols, col, parts, n));
}

static bool complete(const Tree *t) {
  const IrType *type = t->occ->type;
  if (type->kind == T_VARIANT) return t->nbranches == type->nctors;
  return type->kind == T_BOOL && t->nbranches == 2;
}

static Tree *build_test(Match *m, RowList rows, Columns cols, int col) {
  Tree *t = tree_new(m, TREE_TEST);
  t->occ = cols.occs[col];
  t->branches = NEW_ARRAY(m->arena, Branch, rows.len);
  Row *others = NEW_ARRAY(m->arena, Row, rows.len + 1);
  Group **groups = NEW_ARRAY(m->arena, Group *, rows.len + 1);
  int *open = NEW_ARRAY(m->arena, int, rows.len + 1), nopen = 0;
  Map by_head;
  map_init(&by_head, m->arena);
  for (int i = 0; i < rows.len; i++) {
    Pat *p = rows.data[i].pats[col];
    if (p) {
      Group *g = find_group(m, &by_head, t, p);
      groups[g->branch] = g;
      vec_push(m->arena, g->rows, i);
    } else {
      others[nopen] = split_row(m, &rows.data[i], cols, col, 0);
      open[nopen++] = i;
    }
  }
  for (int k = 0; k < t->nbranches; k++) t->branches[k].tree = build_branch(m, rows, cols, col, groups[k], open, nopen);
  if (!complete(t)) t->rest = build(m, others, nopen, split_columns(m, cols, col, NULL, 0));
  return t;
}

/* Alternatives in several places at once, and cases that overlap in many ways, can make a tree far larger than the
 * match. */
enum { TEST_WORK = 30 };

static bool is_too_large(Match *m, int64_t work) {
  m->work -= work;
  if (m->work >= 0) return false;
  if (!m->too_large)
    el_error(m->c, m->at, m->c->e->t_unit, "match-too-large",
             "this match is too large: its cases combine in too many ways");
  return m->too_large = true;
}

static Tree *build(Match *m, Row *rows, int nrows, Columns cols) {
  if (!nrows || is_too_large(m, TEST_WORK)) return tree_new(m, TREE_FAIL);
  if (el_deep(m->c, m->at)) return tree_new(m, TREE_FAIL);
  int col = -1;
  for (int i = 0; i < cols.n; i++) {
    rows[0].pats[i] = simplify(m, &rows[0], rows[0].pats[i], cols.occs[i]);
    if (rows[0].pats[i] && col < 0) col = i;
  }
  if (col < 0) return build_leaf(m, rows, nrows, cols);
  if (is_too_large(m, (int64_t)nrows * (cols.n + 1))) return tree_new(m, TREE_FAIL);
  RowList all = {0};
  for (int i = 0; i < nrows; i++) add_expanded(m, &all, row_copy(m, &rows[i], cols.n), col, cols);
  if (cols.occs[col]->type->kind == T_TUPLE) return build_product(m, all, cols, col);
  if (!all.data[0].pats[col]) return build(m, all.data, all.len, cols); /* an or-pattern that fits anything */
  return build_test(m, all, cols, col);
}

/* ---- Emitting switches -------------------------------------------------------------------- */

static Node *emit(Match *m, Tree *t);

static IrType *emit_type(const Match *m) { return m->choosing ? m->choice : m->type; }

static void bind_row(Match *m, const Bound *b) {
  for (; b; b = b->next) el_bind(m->c, b->binding, occ_read(m, b->occ));
}

static Node *choice_value(Match *m, const Tree *t) {
  Node **parts = NEW_ARRAY(m->arena, Node *, m->nvars + 1);
  parts[0] = ir_int(m->c->w, t->index);
  for (int i = 0; i < m->nvars; i++) parts[i + 1] = ir_zero(m->c->w, m->choice->args[i + 1]);
  for (const Bound *b = t->bound; b; b = b->next)
    for (int i = 0; i < m->nvars; i++)
      if (m->vars[i] == b->binding) parts[i + 1] = occ_read(m, b->occ);
  return ir_tuple(m->c->w, m->choice, parts);
}

static Node *emit_leaf(Match *m, Tree *t) {
  if (m->choosing) return choice_value(m, t);
  bind_row(m, t->bound);
  return el_expr(m->c, m->cases[t->index].body);
}

/* Functions can't be shown. */
static Node *emit_fail(Match *m) {
  Ctx *c = m->c;
  Node *message = ir_string(c->w, sym_of(c->e->syms, "no case matches"));
  if (!(el_leaves(c->e, m->root->type) & LEAF_FUN)) {
    Node *x = occ_read(m, m->root), *parts[2];
    parts[0] = ir_string(c->w, sym_of(c->e->syms, "no case matches "));
    parts[1] = el_rt(c, "show", c->e->t_string, x->type, &x, 1, m->at);
    message = el_rt(c, "concat_string", c->e->t_string, NULL, parts, 2, m->at);
  }
  return ir_fail(c->w, FAIL_MATCH, emit_type(m), message, el_site(c, m->at));
}

static Node *emit_guard(Match *m, Tree *t) {
  bind_row(m, t->bound);
  const Node *mark = el_mark(m->c);
  Node *cond = el_expr(m->c, m->cases[t->index].guard);
  cond = el_behind(m->c, mark, cond);
  Join j;
  join_open(m->c, &j, 2);
  join_arm(m->c, &j, 0);
  join_end(m->c, &j, emit(m, t->rest));
  join_arm(m->c, &j, 1);
  join_end(m->c, &j, emit_leaf(m, t));
  return join_close(m->c, &j, cond, emit_type(m), NULL, 0);
}

/* Entering an arm makes the parts that its test has shown to exist. */
static void set_parts(Match *m, Occ *o, const Pat *head) {
  Ctx *c = m->c;
  Node *x = occ_read(m, o);
  for (int i = 0; i < o->kids.len; i++) {
    Occ *k = o->kids.data[i];
    if (head->kind == P_CTOR && k->k == head->ctor->tag) k->at = el_var(c, ir_uninj(c->w, x, k->k));
    if (head->kind != P_ARRAY || k->k >= head->nargs) continue;
    Node *at = ir_int(c->w, k->k);
    k->at = el_var(c, ir_index(c->w, x, &at, 1));
  }
}

static Node *emit_branch(Match *m, Tree *t, int k) {
  set_parts(m, t->occ, t->branches[k].head);
  return emit(m, t->branches[k].tree);
}

/* One arm for each branch and one for the rest; map[selector] is the arm. */
static Node *emit_switch(Match *m, Tree *t, Node *selector, const int *map, int n) {
  Ctx *c = m->c;
  int narms = t->nbranches + (t->rest != NULL);
  Join j;
  join_open(c, &j, narms);
  for (int k = 0; k < narms; k++) {
    join_arm(c, &j, k);
    join_end(c, &j, k < t->nbranches ? emit_branch(m, t, k) : emit(m, t->rest));
  }
  return join_close(c, &j, selector, emit_type(m), map, n);
}

/* The tag of x, recorded where a study of a point asks for that and x may depend on what a derivative is taken by. */
static Node *recorded_tag(Match *m, Node *x) {
  Ctx *c = m->c;
  Node *tag = ir_tag(c->w, x);
  Site site = c->w->traps == TRAP_POINT && el_leaves(c->e, x->type) & LEAF_FLOAT ? el_site(c, m->at) : 0;
  if (!site || ir_site_info(c->w, site)->library) return tag;
  const char *text = "?match";
  for (int k = 0; k < x->type->nctors; k++)
    text = arena_printf(c->w->temp, "%s %s", text, x->type->ctors[k].cons ? "::" : x->type->ctors[k].name);
  Node *ops[] = {ir_op1(c->w, OP_FLOAT_OF_INT, tag), x};
  return ir_op1(c->w, OP_INT_OF_FLOAT, ir_trap(c->w, OP_TRAP_NAN, sym_of(c->e->syms, text), ops, 2, site));
}

static Node *emit_tags(Match *m, Tree *t) {
  int n = t->occ->type->nctors;
  if (n == 1) return emit_branch(m, t, 0);
  int *map = NEW_ARRAY(m->arena, int, n);
  for (int i = 0; i < n; i++) map[i] = t->nbranches;
  for (int k = 0; k < t->nbranches; k++) map[t->branches[k].head->ctor->tag] = k;
  return emit_switch(m, t, recorded_tag(m, occ_read(m, t->occ)), map, n);
}

/* LIMIT_TABLE_INTS ints or more that lie close together, one in LIMIT_MATCH_SPREAD: NULL if these don't. A selector
 * out of range takes the last arm, which is the rest. */
static Node *emit_dense(Match *m, Tree *t) {
  if (t->occ->type->kind != T_INT || t->nbranches < LIMIT_TABLE_INTS || !t->rest) return NULL;
  int64_t lo = t->branches[0].head->i, hi = lo;
  for (int k = 0; k < t->nbranches; k++) {
    int64_t i = t->branches[k].head->i;
    lo = i < lo ? i : lo;
    hi = i > hi ? i : hi;
  }
  uint64_t span = (uint64_t)hi - (uint64_t)lo;
  if (span >= (uint64_t)LIMIT_MATCH_SPREAD * (uint64_t)t->nbranches) {
    limit_reached(m->arena, AT_MATCH_SPREAD);
    return NULL;
  }
  int n = (int)span + 2, *map = NEW_ARRAY(m->arena, int, n);
  for (int i = 0; i < n; i++) map[i] = t->nbranches;
  for (int k = 0; k < t->nbranches; k++) map[(uint64_t)t->branches[k].head->i - (uint64_t)lo] = k;
  World *w = m->c->w;
  return emit_switch(m, t, ir_op2(w, OP_ISUB, occ_read(m, t->occ), ir_int(w, lo)), map, n);
}

static int compare_branches(const void *a, const void *b) {
  const Pat *x = (*(const Branch *const *)a)->head, *y = (*(const Branch *const *)b)->head;
  if (x->kind != P_STRING) return (x->i > y->i) - (x->i < y->i);
  return strcmp(x->text, y->text);
}

/* Strings, or ints far apart, that are looked up in a sorted array by bisection: NULL if they are few. What isn't found
 * has the position behind the last one, which is the rest's. */
static Node *emit_sorted(Match *m, Tree *t) {
  Ctx *c = m->c;
  bool strings = t->occ->type->kind == T_STRING;
  int n = t->nbranches;
  if (!strings && t->occ->type->kind != T_INT) return NULL;
  if (n < (strings ? LIMIT_SORTED_STRINGS : LIMIT_SORTED_INTS) || !t->rest) return NULL;
  const Branch **sorted = NEW_ARRAY(m->arena, const Branch *, n);
  Node **heads = NEW_ARRAY(m->arena, Node *, n);
  int *map = NEW_ARRAY(m->arena, int, n + 1);
  for (int k = 0; k < n; k++) sorted[k] = &t->branches[k];
  qsort(sorted, (size_t)n, sizeof *sorted, compare_branches);
  for (int k = 0; k < n; k++) {
    const Pat *h = sorted[k]->head;
    heads[k] = strings ? ir_string(c->w, h->text) : ir_int(c->w, h->i);
    map[k] = (int)(sorted[k] - t->branches);
  }
  map[n] = n;
  Node *args[2] = {occ_read(m, t->occ), ir_array(c->w, t->occ->type, heads, n, 0)};
  return emit_switch(m, t, el_rt(c, "position", c->e->t_int, t->occ->type, args, 2, m->at), map, n + 1);
}

static Node *head_test(Match *m, const Occ *o, Node *x, const Pat *h) {
  Ctx *c = m->c;
  World *w = c->w;
  switch (o->type->kind) {
  case T_INT: return ir_op2(w, OP_IEQ, x, ir_int(w, h->i));
  case T_FLOAT: return ir_op2(w, OP_FEQ, x, ir_float(w, h->f));
  case T_BOOL: return h->i ? x : ir_op1(w, OP_NOT, x);
  case T_ARRAY: return ir_op2(w, OP_IEQ, ir_len(w, x, 0), ir_int(w, h->nargs));
  default: return el_equal(c, x, ir_string(w, h->text));
  }
}

/* Constants and lengths are tested one after the other, from branch k on. */
static Node *emit_chain(Match *m, Tree *t, int k) {
  Ctx *c = m->c;
  if (k == t->nbranches) return emit(m, t->rest);
  if (k + 1 == t->nbranches && !t->rest) return emit_branch(m, t, k);
  Node *cond = head_test(m, t->occ, occ_read(m, t->occ), t->branches[k].head);
  Join j;
  join_open(c, &j, 2);
  join_arm(c, &j, 0);
  join_end(c, &j, emit_chain(m, t, k + 1));
  join_arm(c, &j, 1);
  join_end(c, &j, emit_branch(m, t, k));
  return join_close(c, &j, cond, emit_type(m), NULL, 0);
}

static Node *emit(Match *m, Tree *t) {
  if (el_deep(m->c, m->at)) return ir_zero(m->c->w, emit_type(m));
  switch (t->kind) {
  case TREE_FAIL: return emit_fail(m);
  case TREE_LEAF: return emit_leaf(m, t);
  case TREE_GUARD: return emit_guard(m, t);
  case TREE_TEST: break;
  }
  if (t->occ->type->kind == T_VARIANT) return emit_tags(m, t);
  Node *table = emit_dense(m, t);
  if (!table) table = emit_sorted(m, t);
  return table ? table : emit_chain(m, t, 0);
}

/* ---- Choosing first ------------------------------------------------------------------------- */

typedef Vec(Binding *) BindingList;

static void collect_vars(Match *m, BindingList *out, const Pat *p) {
  bool known = !p->binding;
  for (int i = 0; i < out->len; i++) known |= out->data[i] == p->binding;
  if (!known) vec_push(m->arena, *out, p->binding);
  for (int i = 0; i < p->nargs; i++) collect_vars(m, out, p->args[i]);
}

static void choose_first(Match *m) {
  BindingList vars = {0};
  for (int i = 0; i < m->ncases; i++) collect_vars(m, &vars, m->cases[i].pat);
  m->choosing = true;
  m->vars = vars.data;
  m->nvars = vars.len;
  IrType **types = NEW_ARRAY(m->arena, IrType *, vars.len + 1);
  types[0] = m->c->e->t_int;
  for (int i = 0; i < vars.len; i++) types[i + 1] = el_type(m->c, vars.data[i]->type);
  m->choice = ir_tuple_type(m->c->w, types, NULL, vars.len + 1);
}

static void bind_choice(Match *m, const Var *choice, const Pat *only) {
  for (int i = 0; i < m->nvars; i++) {
    BindingList in_case = {0};
    if (only) collect_vars(m, &in_case, only);
    bool wanted = !only;
    for (int k = 0; k < in_case.len; k++) wanted |= in_case.data[k] == m->vars[i];
    if (!wanted) continue;
    Var v = {ir_get(m->c->w, choice->node, i + 1), choice->region, NULL};
    el_bind(m->c, m->vars[i], el_read(m->c, &v));
  }
}

static Node *emit_bodies(Match *m, Node *choice) {
  Ctx *c = m->c;
  Var v = el_var(c, choice);
  Join j;
  join_open(c, &j, m->ncases);
  for (int i = 0; i < m->ncases; i++) {
    join_arm(c, &j, i);
    bind_choice(m, &v, m->cases[i].pat);
    join_end(c, &j, el_expr(c, m->cases[i].body));
  }
  return join_close(c, &j, ir_get(c->w, choice, 0), m->type, NULL, 0);
}

static bool is_atom(const Expr *e) {
  while (e->kind == E_ANNOT || e->kind == E_NEGATE) e = e->args[0];
  return e->kind <= E_UNIT || e->kind == E_VAR || (e->kind == E_CTOR && !e->ctor->arg);
}

static Tree *match_tree(Match *m, Ctx *c, MatchCase *cases, int n, Node *x, IrType *type, Span at) {
  Arena *a = c->e->arena;
  *m = (Match){.c = c, .arena = a, .cases = cases, .ncases = n, .type = type, .at = at, .work = LIMIT_MATCH_WORK};
  m->leaves = NEW_ARRAY(a, int, n);
  m->root = NEW(a, Occ);
  m->root->type = x->type;
  m->root->at = el_var(c, x);
  Row *rows = NEW_ARRAY(a, Row, n);
  for (int i = 0; i < n; i++) {
    rows[i] = (Row){NEW_ARRAY(a, Pat *, 1), NULL, i};
    rows[i].pats[0] = cases[i].pat;
  }
  return build(m, rows, n, (Columns){&m->root, 1});
}

Node *el_match(Ctx *c, Expr *e) {
  Match m;
  const Node *mark = el_mark(c);
  Node *x = el_expr(c, e->args[0]);
  x = el_behind(c, mark, x);
  Tree *t = match_tree(&m, c, e->cases, e->ncases, x, el_type(c, e->type), e->span);
  if (m.too_large) return ir_zero(c->w, m.type);
  bool shared = false;
  for (int i = 0; i < m.ncases; i++) shared |= m.leaves[i] > 1 && !is_atom(m.cases[i].body);
  if (!shared) return emit(&m, t);
  choose_first(&m);
  return emit_bodies(&m, emit(&m, t));
}

/* ---- Patterns of let and parameters ---------------------------------------------------------------- */

static bool bind_plain(Ctx *c, Pat *p, Node *x);

/* The length is checked as that of an operand is: it takes no branch. */
static bool bind_elements(Ctx *c, Pat *p, Node *x) {
  Node *n = ir_check(c->w, OP_CHECK_SIZE, ir_len(c->w, x, 0), ir_int(c->w, p->nargs), NULL, el_site(c, p->span));
  x = el_after(c, x, n);
  for (int i = 0; i < p->nargs; i++) {
    Node *at = ir_int(c->w, i);
    if (!bind_plain(c, p->args[i], ir_index(c->w, x, &at, 1))) return false;
  }
  return true;
}

/* Binds what needs no test, but of an array's length; false (and nothing bound beyond that point) where one is
 * needed. */
static bool bind_plain(Ctx *c, Pat *p, Node *x) {
  switch (p->kind) {
  case P_WILD:
  case P_UNIT: return true;
  case P_VAR: el_bind(c, p->binding, x); return true;
  case P_AS: el_bind(c, p->binding, x); return bind_plain(c, p->args[0], x);
  case P_ANNOT: return bind_plain(c, p->args[0], x);
  case P_TUPLE:
  case P_RECORD:
    for (int i = 0; i < p->nargs; i++) {
      int k = p->kind == P_TUPLE ? i : el_field(x->type, p->fields[i]);
      if (!bind_plain(c, p->args[i], ir_get(c->w, x, k))) return false;
    }
    return true;
  case P_ARRAY: return bind_elements(c, p, x);
  default: return false;
  }
}

void el_bind_pattern(Ctx *c, Pat *p, Node *x, Span at) {
  if (bind_plain(c, p, x)) return;
  MatchCase only = {.pat = p, .span = at};
  Match m;
  Tree *t = match_tree(&m, c, &only, 1, x, x->type, at);
  choose_first(&m);
  Var choice = el_var(c, m.too_large ? ir_zero(c->w, m.choice) : emit(&m, t));
  bind_choice(&m, &choice, NULL);
}

Node *el_if(Ctx *c, Node *cond, Node *(*arm)(Ctx *, void *, bool), void *user, IrType *t) {
  Join j;
  join_open(c, &j, 2);
  for (int k = 0; k < 2; k++) {
    join_arm(c, &j, k);
    join_end(c, &j, arm(c, user, k == 1));
  }
  return join_close(c, &j, cond, t, NULL, 0);
}
