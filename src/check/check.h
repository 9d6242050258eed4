/* SPDX-License-Identifier: MIT */
/* Types, bindings, modules, and the checker.
 *
 * The checker annotates the syntax tree in place: every Expr and Pat gets a type; every E_VAR its binding and,
 * when that binding is generalised, the types its quantified variables take here (`inst`). Elaboration
 * (src/elab) then needs no inference: with a substitution for the quantified variables of the definition it is
 * working on, each annotation is a monomorphic type.
 *
 * Effects: TY_FUN has a third argument, its effect: a TY_VAR (defaults to pure), TY_PURE or TY_EFFECT. A function
 * body's calls are unified with the function's own effect variable, so effects are inferred by unification. */
#ifndef ATLED_CHECK_H
#define ATLED_CHECK_H
#include "parser/parser.h"

typedef enum TypeKind {
  TY_VAR,
  TY_INT,
  TY_FLOAT,
  TY_BOOL,
  TY_STRING,
  TY_UNIT,
  TY_TUPLE,  /* args */
  TY_RECORD, /* args with names, sorted by name */
  TY_ARRAY,  /* args[0] */
  TY_FUN,    /* args = {parameter, result, effect} */
  TY_DATA,   /* data, args */
  TY_PURE,
  TY_EFFECT, /* effects */
  TY_ERROR   /* of what has been reported already; never in a program without errors */
} TypeKind;

typedef enum TypeClass { /* bits of TY_VAR.classes */
                         CLASS_NUM = 1,
                         CLASS_SCALAR = 2,
                         CLASS_ORD = 4,
                         CLASS_EQ = 8,
                         CLASS_SHOW = 16,
                         CLASS_DIFF = 32,
                         CLASS_EFFECT = 64, /* the variable stands for an effect */
                         CLASS_RECORD = 128 /* a field was used of it: it is a record */
} TypeClass;

typedef struct DataDecl DataDecl;
typedef struct AliasUse AliasUse;
struct Type {
  TypeKind kind;
  int n;
  union {
    struct {
      Type **args;
      Sym *names; /* TY_RECORD */
      union {
        DataDecl *data;        /* TY_DATA */
        const AliasUse *alias; /* TY_RECORD: the declared name that it was written by, or NULL; of no meaning */
      };
    };
    struct {        /* TY_VAR */
      Type *link;   /* what it is bound to, or NULL */
      bool settled; /* the item is checked that it was bound in: from then on the link stays as it is */
      int level;    /* LEVEL_GENERIC once quantified */
      uint32_t id;
      unsigned classes;
    };
  };
  Sym user_name; /* TY_VAR: from an annotation, or NULL */
  void *pending; /* TY_VAR: the checker's; else NULL */
};
#define LEVEL_GENERIC 1000000000
/* A name for a record, with its arguments. */
struct AliasUse {
  const struct TypeName *name; /* the checker's */
  Type **args;
  int nargs;
};
/* What t stands for. Shortens the chain of variables on the way, which would else grow with the item. */
static inline Type *type_repr(Type *t) {
  while (t->kind == TY_VAR && t->link) {
    Type *next = t->link;
    if (next->kind == TY_VAR && next->link && !t->settled) t->link = next->link;
    t = next;
  }
  return t;
}

/* What holds no leaves: components made of parameters marked `key`, and ints of types that have such parameters. */
typedef enum CtorPart { PART_LEAVES, PART_KEY, PART_COUNT } CtorPart;

struct Ctor {
  Sym name;
  int tag;   /* position in the declaration */
  Type *arg; /* over data->params, or NULL */
  DataDecl *data;
  Span span;
  bool cons; /* declared as `(::)`: its argument is a pair of an element and a value of the type itself */
  /* A CtorPart for each component of a tuple or record that is its argument (the first: for the whole of any other
   * argument); NULL: all are PART_LEAVES. */
  uint8_t *keys;
};
struct DataDecl {
  Sym name;
  Type **params; /* generic TY_VARs; when it holds functions the last one is a CLASS_EFFECT, their effect */
  int nparams;
  bool *keys;   /* which parameters are marked `key`: nparams */
  Sym shown_as; /* in front of the array of what its trees hold: `as "…"`; NULL: values are shown by constructors */
  Ctor **ctors;
  int nctors;
  Module *module;
  Span span, name_span;
};
/* The type of a constructor's argument for given type arguments; NULL when it takes none. */
Type *ctor_arg_type(Arena *a, const Ctor *c, Type *const *data_args);

typedef enum BindingKind {
  BIND_LOCAL,  /* parameter, pattern variable, local let */
  BIND_MUT,    /* let mut */
  BIND_TOP,    /* top-level let */
  BIND_PRIM,   /* foreign "prim" / "prim!" / "prim of pure": a primitive of the runtime; the second has an effect */
  BIND_FOREIGN /* a C function */
} BindingKind;

/* A call of a function on the left side of a rewrite rule: with what types in place of its quantified variables; NULL:
 * they are effects, of none. */
typedef struct RuleUse {
  Binding *function;
  Type **inst;
  Span at;
} RuleUse;

/* A rewrite rule that was checked: see check/rewrite_rules.c. */
struct RewriteRule {
  Item *item; /* its binding has the quantified variables */
  RuleUse *uses;
  int nuses;
  int number;                   /* elaboration's: in the order in which rules began to hold; 0: it doesn't yet */
  bool ended;                   /* another one was declared in its place, or it was taken back */
  bool off;                     /* it has ended, or doesn't hold yet */
  struct RewriteRule *replaces; /* the one that ended by its declaration, or NULL */
  void *elab;                   /* elaboration's: the types that there are patterns for */
};

/* The rules on whose left sides a function is called, in the order of their declarations. */
typedef struct RuleList {
  RewriteRule *rule;
  struct RuleList *next;
} RuleList;

struct Binding {
  BindingKind kind;
  int nqvars;
  Sym name;
  Type *type;
  Type **qvars; /* quantified variables (types and effects), generic TY_VARs: nqvars */
  Span span;
  int ngroup;
  Module *module;           /* BIND_TOP, BIND_PRIM, BIND_FOREIGN */
  Item *item;               /* the same */
  LetBinding *let;          /* top-level and local lets: the definition; NULL otherwise */
  Binding **group;          /* members of its `let rec … and …`, itself included: ngroup; NULL when not rec */
  Item *pullback, *tangent; /* the function's own derivative rules, checked against its type, or NULL */
  RuleList *rewrites;
  void *scheme;     /* the checker's: relations between the quantified variables */
  void *elab;       /* elaboration's: instances, globals */
  int depth, loops; /* the checker's: nesting of functions and comprehensions, for the rules of mut variables */
  bool rec;
  bool captured; /* a `mut` variable of which that has been reported */
};

struct Module {
  Sym name; /* "Model", "List"; NULL for the main program and for the prelude */
  const char *path;
  uint32_t source;
  bool library;
  Map values;  /* Sym -> Binding, latest */
  Map types;   /* Sym -> TypeName (checker's) */
  Map ctors;   /* Sym -> Ctor */
  Map modules; /* Sym -> Module: imports */
  Vec(Module *) opened;
  Vec(Item *) items;  /* checked, in order of evaluation */
  bool loading;       /* for cycles */
  Span imported_at;   /* the import that began to check it */
  bool replaced;      /* its file, or one that it imports, was changed since: imports read it again */
  uint32_t looked_at; /* the entry in which that was found out */
  bool failed;        /* stands for a file with errors: nothing is reported of its names */
  void *lazy;         /* library modules: items not yet parsed */
  void *latest_type;  /* the checker's: the last TypeName declared */
};

/* What it is bound to when that is an E_FUN, and bound to a plain name; else NULL. A definition with quantified
 * variables that isn't a function is a syntactic value: elaborated again at each use. */
static inline Expr *binding_fun(const Binding *b) {
  return b->let && b->let->pat->kind == P_VAR && b->let->value->kind == E_FUN ? b->let->value : NULL;
}

/* How the checker gets at other modules. Returns NULL after reporting an error. */
typedef struct ModuleLoader {
  void *user;
  Module *(*import)(void *user, Module *from, Sym path, Span at); /* `import "path"` */
  /* `List.map`; NULL without error if there is none */
  Module *(*library)(void *user, Sym name);
  Sym (*library_name)(void *user, int i); /* the i-th name that `library` knows; NULL after the last */
} ModuleLoader;

/* What programs may use (support/rights.h). */
typedef struct RightsGiven {
  unsigned granted;
  unsigned (*needed)(const char *primitive); /* the rights that a primitive of the runtime needs; NULL: none does */
} RightsGiven;

typedef struct Checker Checker;
/* One per VM. Checked definitions live as long as `arena`; what is in `temp`, the texts of diagnostics among it, is
 * needed until the call ends that checks. */
Checker *checker_new(Arena *arena, Arena *temp, SymTable *syms, Sources *sources, ModuleLoader loader);
/* For arena_roll_back; m: the module that the next program is part of. */
void checker_save(Checker *c, Module *m);
/* A library module whose source is parsed and checked item by item when a name of it is first used (its
 * top-level values must be functions, prims or syntactic values). The prelude is one: names not found elsewhere
 * are looked up in it, and so are the predefined types and constructors. The index, of that source, is borrowed. */
Module *checker_lazy_module(Checker *c, Lexer *lx, Sym name, uint32_t source, const ItemIndex *index);
int checker_items_read(const Checker *c); /* items of library modules, so far */
void checker_set_prelude(Checker *c, Module *prelude);
/* From now on a program's use of what needs a right that isn't granted is an error. Until then all are. */
void checker_set_rights(Checker *c, RightsGiven rights);
Module *checker_new_module(Checker *c, Sym name, const char *path, uint32_t source);
/* Checks items in order and appends the good ones to m->items. Reports all independent errors. On error, names
 * the failed items would have defined are bound to an error type so that later items don't complain; checker_save and
 * arena_roll_back put the module back to what it was. Returns false on errors. */
bool check_program(Checker *c, Module *m, Program *p, Diags *diags);
bool tc_foreign_effect(const Item *item); /* of a `foreign` item: is its library written with a `!`? */
/* A binding of the module, its opened modules or the prelude, by name (for look-ups by hosts and `--of`). */
Binding *checker_lookup(Checker *c, Module *m, Sym name);
/* Are rewrite rules of the program to be tested? */
void checker_test_rules(Checker *c, bool on);
/* The rule holds no more, and the one that ended by its declaration does again. */
void rewrite_rule_take_back(Checker *c, RewriteRule *rule);
/* Where a type, or else a constructor, of that name is declared that the module sees. */
typedef struct Declared {
  Span span;
  Type *constructor; /* its type, or NULL for a type */
} Declared;
bool checker_declared(Checker *c, Module *m, Sym name, Declared *out);
/* Of a constructor as a value: a function, if it takes something. */
Type *checker_constructor_type(Checker *c, const Ctor *k);
/* Makes the type's variables stand for themselves alone; then: can `b` be used at it? */
void checker_make_rigid(Checker *c, Type *t);
bool checker_fits(Checker *c, Binding *b, Type *t);
/* A name that no source has, put where a word is to be completed: what is in scope where the checker looks it up. */
typedef struct Hole {
  Sym name;
  bool met, of_type; /* looked up at all; as a type */
  Sym module;        /* in which: `Module.hole`; or NULL */
  Vec(Binding *) locals;
} Hole;
/* From now on the name is the hole's; NULL: none is. */
void checker_set_hole(Checker *c, Hole *hole);
/* Where a record's declared name, or a variant, is declared: the name there. False: the type has no such name. */
bool type_declared_at(const Type *t, Span *name);
/* The names visible in a module (for completion). */
int checker_visible_names(Checker *c, Module *m, Sym **out, Arena *a);
/* Those that others may use of a module m; a library module's without reading its items. */
int checker_module_names(Checker *c, const Module *m, Sym **out, Arena *a);
/* Does the monomorphic type hold a float / a function? */
bool type_holds_float(Type *t);
bool type_has_variables(Type *t); /* of types; effects may be open */
/* Is the binding's type open in a record of which only some fields are known, {b : 'a, ..}? Variables that nothing
 * decides have defaults, such records haven't. */
bool binding_has_open_record(const Binding *b);
/* Are there relations between its variables, as between those of `x * y`? Then defaults need not fit each other. */
bool binding_has_relations(const Binding *b);

/* A copy of the type in another arena, names of fields interned in syms, or as mere texts if that is NULL. Types that
 * are there always and what declares variants are shared. NULL: it has variables, or is large. */
Type *type_move(Arena *a, SymTable *syms, Type *t);

/* "num 'a => 'a -> 'a[]" of a binding; of a type. Declared types are called as module `from` calls them; NULL: variants
 * by their plain names, and records are written out. */
void binding_type_print(const Checker *c, const Module *from, const Binding *b, Str *out);
void type_print(const Checker *c, const Module *from, Type *t, Str *out);
void typed_print(const Checker *c, const Module *m, const Program *p,
                 Str *out); /* `name : type` lines, for --stage=typed */
/* Parses and resolves a type given by a host, e.g. "float[] -> float". NULL with a diagnostic on error. */
Type *checker_parse_type(Checker *c, Module *m, Diags *diags, Lexer *lx, const char *text);
/* Whether `b` can be used at monomorphic type `t`; fills inst (b->nqvars types). */
bool checker_instantiate_at(Checker *c, Binding *b, Type *t, Type **inst);
#endif
