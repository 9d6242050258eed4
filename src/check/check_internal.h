/* SPDX-License-Identifier: MIT */
/* What the files of the checker share.
 *
 *   types.c       making, copying and scanning types
 *   unify.c       equality of types, classes of variables
 *   solver.c      relations that wait until types are known: `*`, `/`, `@`, `++`, fields
 *   generalise.c  let-polymorphism, defaults at the end of an item
 *   fit.c         whether what is left open can be decided at all
 *   resolve.c     type expressions and type declarations
 *   scope.c       names: locals, modules, library modules read on demand
 *   infer_pat.c   patterns
 *   infer_expr.c  expressions; infer_op.c: operators and application
 *   check_items.c top-level items, derivative rules; checker.c: the interface
 *   reported.c    what is evaluated of tests and benchmarks
 *   match.c       missing and redundant cases
 *   print_type.c  types as text; type_names.c: what declared types are called
 *   type_errors.c the wording of type errors; call_errors.c: in calls; messages.c: what both are made of
 *
 * All of an item's inference state is in State, so that an item of a library can be checked in the
 * middle of another one: the state is put aside and restored. */
#ifndef ATLED_CHECK_INTERNAL_H
#define ATLED_CHECK_INTERNAL_H
#include "check/check.h"

typedef enum DiagId {
#define DIAG(name, code) D_##name,
#include "check/diagnostics.def"
#undef DIAG
  D_COUNT
} DiagId;
const char *tc_diag_code(DiagId id);

/* ---- Relations --------------------------------------------------------------- */
typedef enum ConstraintKind {
  C_MUL,     /* t = {result, left, right} of `*` */
  C_DIVISOR, /* t = {structure, other}: the other is the same, or a scalar that scales the structure */
  C_SCALE,   /* t = {scalar, structure}: float if the structure holds floats, else int */
  C_HOLDS,   /* t = {structure}: has a leaf of `classes` (num, diff) */
  C_MATMUL,  /* t = {result, left, right} of `@` */
  C_LEAF,    /* t = {leaf, type}: the type, or what it has for elements if it is an array of any rank */
  C_CONCAT,  /* t = {type}: a string, list or array */
  C_FIELD    /* t = {record, field's type} */
} ConstraintKind;

/* The functions by whose use a relation came to a place, the outermost first. */
typedef struct Via {
  Sym function;
  const struct Via *inner; /* what that one uses; NULL: the relation arose in it */
} Via;

typedef struct Constraint {
  ConstraintKind kind;
  int n;
  Type *t[3];
  Sym field;
  unsigned classes;
  bool divides; /* comes from `/`: for printing */
  bool done, queued;
  Span at;
  Span origin;    /* C_FIELD: where the field is used */
  const Via *via; /* how it came to `at`; NULL: it arose there */
} Constraint;

typedef struct Waiting {
  Constraint *k;
  struct Waiting *next;
  int n;   /* from here on */
} Waiting; /* Type.pending */

typedef struct Scheme {
  Constraint *relations;
  int n;
} Scheme; /* Binding.scheme */

/* ---- Names ------------------------------------------------------------------- */
/* What Module.types maps to. */
typedef struct TypeName {
  Sym name;
  Module *module;
  DataDecl *data; /* a variant, or NULL */
  Type *alias;    /* over params and effects */
  Type **params;
  int nparams;
  Type **effects; /* effect variables inside an alias, fresh at each use */
  int neffects;
  Span span, name_span;
  TypeDecl *decl; /* of an alias that isn't resolved yet, else NULL */
  bool resolving;
  struct TypeName *previous; /* declared before it in the module */
} TypeName;

typedef enum LazyState { LAZY_UNCHECKED, LAZY_CHECKING, LAZY_DONE } LazyState;
typedef struct LazyItem {
  unsigned char state; /* LazyState */
} LazyItem;
typedef struct Lazy { /* Module.lazy */
  Lexer *lx;
  const ItemIndex *index;
  LazyItem *items; /* in step with index->items */
} Lazy;

typedef struct LocalUndo {
  Sym name;
  Binding *previous;
} LocalUndo;
typedef struct RecUse {
  Expr *use;
  Binding *binding;
} RecUse;
typedef struct TypeVarName {
  Sym name;
  Type *type;
} TypeVarName;
typedef Vec(TypeVarName) VarNames;
typedef Vec(Type *) Types;
typedef struct MatchCheck { /* looked at when the item's types are settled */
  Type *scrutinee;
  MatchCase *cases;
  int n;
  Pat *pat; /* a single pattern that has to match, when cases is NULL */
  Span at;
} MatchCheck;

typedef struct Unfinished { /* a definition that isn't `rec`, while its value is checked */
  Sym name;
  const struct Unfinished *outer;
} Unfinished;

typedef struct Lacking {
  const Type *record;
  Sym field;
} Lacking;

typedef struct RankUse { /* a variable whose type was decided by its use as the dimensions of an array */
  Sym variable, function;
  Span at;
} RankUse;

typedef struct EffectUse { /* a call: its effect, perhaps not known yet */
  Type *effect;
  Span at;
} EffectUse;

typedef struct State {
  Module *module;
  const Unfinished *unfinished;
  const Expr *inner_match; /* the value of a case that is itself a match, without parentheses */
  LazyItem *lazy_item;
  Item **later; /* of the source, behind the item */
  int nlater;
  int errors;      /* reported before the item */
  bool doubtful;   /* the item uses a name whose definition, or module, has an error that was reported */
  unsigned rights; /* that the item needs */
  int level;
  Type *shown;                 /* of an expression between other items that is a function, or NULL */
  Type *effect;                /* of the function body being checked */
  Types used;                  /* effects of calls in it, see tc_use_effect */
  bool in_rule;                /* within a derivative rule */
  Vec(EffectUse) rule_effects; /* of all calls in the item's derivative rules */
  int depth;                   /* functions around */
  int loops;                   /* comprehensions around */
  Map locals;                  /* Sym -> Binding */
  Vec(LocalUndo) undo;
  Types vars;                  /* open variables, oldest first */
  Types bound;                 /* in this item */
  Vec(Constraint *) relations; /* open relations, oldest first */
  Vec(Constraint *) ready;
  Vec(RecUse) rec_uses;
  Vec(Lacking) lacking; /* what was reported */
  VarNames type_vars;   /* 'a in annotations of the item */
  Vec(MatchCheck) matches;
  Vec(Span) sums; /* calls of the prelude's `sum` that give arrays: for hints */
  Vec(RankUse) rank_uses;
  const Expr *assigned;      /* the variable that the assignment around changes; NULL outside one */
  Vec(Expr *) discarded;     /* left sides of `;` */
  Vec(InterpPart *) formats; /* holes with a format */
} State;

typedef enum ClashKind { CLASH_TYPES, CLASH_INFINITE, CLASH_SIZE, CLASH_CLASS, CLASH_EFFECT } ClashKind;
typedef struct Clash { /* why the last unify failed: the innermost pair */
  ClashKind kind;
  Type *a, *b;
  unsigned cls;
} Clash;

typedef struct Leaves { /* of a structure: see scan_leaves */
  bool has_float, has_int, has_fun;
  Type *open[64];
  int nopen;
  int budget;
} Leaves;

struct Checker {
  Arena *arena, *temp; /* of definitions; of the inference of an item */
  SymTable *syms;
  Sources *sources;
  ModuleLoader loader;
  RightsGiven rights;
  Module *prelude;
  Diags *diags; /* where errors go: the program's, or own_diags when none is checked */
  Diags own_diags;
  Type *t_int, *t_float, *t_bool, *t_string, *t_unit, *t_pure, *t_effect, *t_error;
  uint32_t next_id;
  Map data_leaves; /* DataDecl -> DataLeaves */
  Clash clash;
  Span at;    /* what is being unified */
  Hole *hole; /* or NULL */
  int steps;  /* left for the walk under way */
  int items_read;
  Binding
      *matmul; /* the prelude's function that `@` of two matrices calls; NULL: not looked up yet, or there is none */
  bool tests_rules; /* the program's own are tested */
  State s;
};

/* ---- types.c ----------------------------------------------------------------- */
Type *type_new(Checker *c, TypeKind kind, int n);
Type *type_var(Checker *c, unsigned classes);
Type *type_effect_var(Checker *c);
Type *type_fun(Checker *c, Type *param, Type *result, Type *effect);
Type *type_array(Checker *c, Type *elem);
Type *type_tuple(Checker *c, Type **parts, int n);
Type *type_data(Checker *c, DataDecl *d, Type **args);
/* Copies t with vars[i] replaced by with[i]; parts without such a variable are shared. */
Type *type_subst(Arena *a, Type *t, Type *const *vars, Type *const *with, int n);
/* A copy of t at a use of a monomorphic binding: what is known to be pure may be used where an effect is allowed. */
Type *type_loosen(Checker *c, Type *t);
void tc_scan_leaves(Checker *c, Type *t, Leaves *out);

/* key_params.c */
void tc_find_keys(Checker *c, Ctor *k); /* sets k->keys; reports components that mix keys and leaves */
void tc_check_shown_as(Checker *c, const TypeDecl *decl, const DataDecl *d);
void tc_check_alias_marks(Checker *c, const TypeDecl *d); /* reports marks on what is no variant */
bool tc_is_open(Checker *c, Type *t);
/* Whether t, written out, has no more parts than c->steps, which it takes from there; depth is that of t in what is
 * measured. */
bool tc_within_size(Checker *c, Type *t, int depth);
bool tc_is_scalar(Type *t); /* int, float, or a variable that will be one */
const char *tc_list_hint(Checker *c, const Expr *f, Type *want,
                         Type *got); /* f takes arrays and got a list, or so; NULL */
bool tc_is_predefined(const Checker *c, const Type *t, const char *name); /* the list or option of the prelude */

/* ---- unify.c ----------------------------------------------------------------- */
/* Makes a and b equal. On failure c->clash says why. */
bool tc_unify(Checker *c, Type *a, Type *b);
/* t must have the classes. On failure c->clash says why. */
bool tc_require(Checker *c, Type *t, unsigned classes);
void tc_lower_levels(Checker *c, Type *t, int level);

/* ---- solver.c ---------------------------------------------------------------- */
Constraint *tc_relation_new(Checker *c, ConstraintKind kind, Span at, Type *t0, Type *t1, Type *t2);
void tc_relation_wake(Checker *c, Type *var);
/* v was bound to t. */
void tc_relation_merge(Checker *c, Type *v, Type *t);
void tc_solve(Checker *c);
/* What becomes of an open record for which there is no declared type. */
typedef enum Leftover {
  LEFT_CLOSED, /* it has just the fields used: a function that is only shown takes it */
  LEFT_USED,   /* the same, if only functions that are used make it a record; else an error */
  LEFT_ERROR   /* it is part of what the item defines */
} Leftover;
/* Decides an open relation by its default. */
void tc_relation_settle(Checker *c, Constraint *k, Leftover record);
void tc_relation_holds(Checker *c, Type *t, unsigned classes);
void tc_relation_field(Checker *c, Span at, Type *record, Sym field, Type *type);
/* Of a use of the function: k is a relation of its scheme. */
void tc_relation_used(Checker *c, const Constraint *k, Sym function, Span at, Type *const args[3]);
/* The record of the relation, whose field it is, would be a part of itself. */
void tc_report_endless_record(Checker *c, Constraint *k);

/* ---- fit.c ----------------------------------------------------------------------- */
/* Whether some types satisfy all of the relations that aren't done, as far as that is found out with bounded effort. If
 * not, *at is the place of one that contradicts others. */
bool tc_relations_fit(Checker *c, Constraint *const *relations, int n, Span *at);

/* ---- generalise.c -------------------------------------------------------------- */
typedef struct Marks {
  int vars, relations, rec_uses;
} Marks;
typedef enum Generality { GEN_NONE, GEN_VALUE, GEN_FUNCTION } Generality;
Marks tc_enter_level(Checker *c);
/* Leaves the level entered at m. With GEN_NONE the bindings stay monomorphic. */
void tc_leave_level(Checker *c, Marks m, Binding **bindings, int n, Generality g);
/* The same for an expression of type t. What nothing decides becomes unit; the text of t with variables for that, or
 * NULL if there is none. */
const char *tc_leave_expression(Checker *c, Marks m, Type *t);
Type *tc_instantiate(Checker *c, Binding *b, Span at, Type ***inst);
bool tc_is_value(Checker *c, const Expr *e);

/* ---- resolve.c ----------------------------------------------------------------- */
Type *tc_resolve_annotation(Checker *c, TypeExpr *te);
Type *tc_resolve_foreign(Checker *c, Item *item, bool effect, bool pure);
void tc_declare_types(Checker *c, Item *item);
Type *tc_instantiate_alias(Checker *c, const TypeName *t, Type **args);
/* A copy whose arguments may be changed. */
AliasUse *type_alias_use(Arena *a, const AliasUse *of);
Type *type_record(Checker *c, const Sym *fields, Type *const *types, int n, Span at);
int tc_count_arrows(const TypeExpr *te);

/* ---- scope.c ------------------------------------------------------------------- */
/* What a library module defines for others, read or not, by its index; nothing of other modules. */
int tc_indexed_names(Checker *c, const Module *m, Sym **out, Arena *a);
void tc_local_push(Checker *c, Binding *b);
void tc_local_pop_to(Checker *c, int mark);
Binding *tc_lookup_value(Checker *c, Name name);     /* reports; NULL */
Ctor *tc_lookup_ctor(Checker *c, Name name);         /* reports; NULL */
TypeName *tc_lookup_type(Checker *c, Name name);     /* reports; NULL */
TypeName *tc_find_type(Checker *c, Name name);       /* does not report */
Ctor *tc_find_ctor(Checker *c, Module *m, Sym name); /* the same of a constructor; NULL */
Module *tc_lookup_module(Checker *c, Sym name, Span at);
Binding *tc_module_value(Checker *c, Module *m, Sym name);
bool tc_library_has(Checker *c, const char *module, Sym name); /* has that module a value of that name? */
TypeName *tc_record_type_with(Checker *c, const Sym *fields, int n);
TypeName *tc_record_type_of(Checker *c, const Type *record);
bool tc_is_prelude_prim(const Checker *c, const Binding *b, const char *name);

/* ---- infer ----------------------------------------------------------------------- */
typedef Vec(Binding *) Bindings;
Type *tc_infer(Checker *c, Expr *e);
/* A use of `name`, or the declaration of it, needs the rights. Reports those that aren't granted, but for uses within
 * the library: they are reported where a program uses what needs them. */
void tc_need_rights(Checker *c, unsigned rights, Name name, Span at);
Type *tc_infer_pat(Checker *c, Pat *p, Bindings *out, BindingKind kind);
Type *tc_ctor_type(Checker *c, Ctor *k, Type **arg);
void tc_push_bindings(Checker *c, const Bindings *b);
Type *tc_infer_binary(Checker *c, Expr *e);
Type *tc_infer_operator(Checker *c, Expr *e);
Type *tc_arithmetic(Checker *c, BinOp op, Type *l, Type *r, const Expr *le, const Expr *re, Span at);
void tc_use_effect(Checker *c, Type *effect, Span at);
/* Around a function's body: what it calls has its effect. */
typedef struct Body {
  Type *outer;
  int used;
} Body;
Body tc_begin_body(Checker *c);
Type *tc_end_body(Checker *c, Body b); /* the body's effect */
void tc_check_let_group(Checker *c, LetBinding *lets, int n, bool rec, Item *item, Item **rules, int nrules);
void tc_must_match(Checker *c, Pat *p);

/* ---- check_items.c --------------------------------------------------------------------- */
void tc_check_rule(Checker *c, Item *rule, Binding *f);
/* Says that the relations of the rule contradict those of its function. */
void tc_report_unfit_rule(Checker *c, const Item *rule, const Binding *f);
/* Does the item define a value of that name? */
bool tc_defines(const Item *item, Sym name);
Span tc_place_defined(const Item *item, Sym name); /* where it does */
/* Checks the items from i on that belong together; returns the index after them. */
int tc_check_items(Checker *c, Module *m, Item **items, int i, int n);
/* ---- rewrite_rules.c --------------------------------------------------------------------- */
/* Its sides have been inferred without errors. Sets item->rewrite if nothing is wrong. */
void tc_check_rewrite_rule(Checker *c, Module *m, Item *item);
/* ---- reported.c ------------------------------------------------------------------------ */
/* The test of a rewrite rule, whose value is a text; NULL: functions can't be compared. */
Expr *tc_rule_test(Checker *c, const Item *rule);
/* What is evaluated for the report on a test or benchmark instead of its expression, unchecked; NULL: that itself. */
Expr *tc_reported_expr(Checker *c, const Item *item);
void tc_state_begin(Checker *c, Module *m, LazyItem *lazy);
void tc_module_put(Checker *c, Module *m, Binding *b);

/* ---- match.c --------------------------------------------------------------------- */
void tc_check_matches(Checker *c);

/* ---- print_type.c --------------------------------------------------------------------- */
typedef struct OpenRecord {
  Type *var;
  int uses, number; /* number: of its name, from 1; 0: it needs none */
} OpenRecord;
typedef Vec(OpenRecord) OpenRecords;
typedef struct Namer {
  Arena *arena;
  Vec(Type *) vars;
  int budget;
  OpenRecords records;        /* met */
  const OpenRecords *counted; /* the same after all of the text was made once: those used more than once get names */
  int named;
  const Scheme *scheme; /* where fields of open records are found, or NULL */
  const Checker *c;     /* the same, of types under way */
  const Checker *names; /* whose prelude `from` sees */
  const Module *from;   /* where names of types mean something, or NULL */
} Namer;
const char *type_text(Checker *c, Type *t);
/* ---- type_names.c: what a type is called in module `from` */
void tc_print_data_name(const Checker *c, const Module *from, const DataDecl *data, Str *out);
bool tc_print_alias_name(const Checker *c, const Module *from, const TypeName *t, Str *out); /* false: it has no name */

/* ---- type_errors.c -------------------------------------------------------------------- */
typedef struct Place { /* where a type was wanted, and why */
  Span at;
  const char *label; /* under `at`, or NULL */
  Span also;
  const char *also_label;
  const char *hint; /* for a clash here, or NULL: what the types suggest */
} Place;
/* Unifies; on failure says that `want` was expected and `got` found. */
bool tc_expect_type(Checker *c, Type *want, Type *got, Place p);
void tc_report_clash(Checker *c, Type *want, Type *got, Place p);
/* The source text at a place where it is short, else `otherwise`. */
const char *tc_short_text(Checker *c, Span at, const char *otherwise);
/* The type, or "a number" for one that is to be found out. */
const char *tc_kind_text(Checker *c, Type *t);
bool tc_expect_class(Checker *c, Type *t, unsigned classes, Span at);
void tc_report_class(Checker *c, Place p);
/* Whether the item under way has no error so far: else what is unknown at its end may follow from that. */
bool tc_no_errors(const Checker *c);
/* Notes a call that hints for clashes later in the item look at. */
void tc_note_call(Checker *c, const Expr *call, Type *result);
const char *tc_format(Checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- call_errors.c -------------------------------------------------------------------- */
/* The i-th argument of the call has the type `got`; the function that it is given to, `fun`. Reports if it doesn't fit,
 * and infers the arguments behind it then. */
bool tc_expect_argument(Checker *c, const Expr *call, int i, const Type *fun, Type *got);
/* What the call's function gives, applied to the first `given` arguments, is of type t, which is no function. */
void tc_report_no_function(Checker *c, Expr *call, Type *t, int given);
bool tc_typed_by_rank(const Checker *c, const Binding *b);
#endif
