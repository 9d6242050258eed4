/* SPDX-License-Identifier: MIT */
/* The syntax tree. The parser makes it; the checker (src/check) fills the fields
 * marked [T] in place; elaboration reads both. All nodes live in one arena. */
#ifndef ATLED_AST_H
#define ATLED_AST_H
#include "support/support.h"

typedef struct Type Type;               /* check/check.h */
typedef struct Binding Binding;         /* check/check.h */
typedef struct Ctor Ctor;               /* check/check.h */
typedef struct Module Module;           /* check/check.h */
typedef struct RewriteRule RewriteRule; /* check/check.h */
typedef struct Expr Expr;
typedef struct Pat Pat;
typedef struct TypeExpr TypeExpr;

/* A possibly qualified name: `loss`, `Model.loss`. */
typedef struct Name {
  Sym module; /* NULL if not qualified */
  Sym name;
  Span span;
} Name;

/* ---- Type expressions ------------------------------------------------------ */
typedef enum { TE_VAR, TE_NAME, TE_FUN, TE_TUPLE, TE_RECORD, TE_ARRAY, TE_AS } TypeExprKind;
typedef struct Constraint_ {
  Sym cls;
  Sym var;
  Span span;
} ConstraintExpr; /* `num 'a =>` */
struct TypeExpr {
  TypeExprKind kind;
  Span span;
  Name name;       /* TE_VAR and TE_AS (with its quote stripped), TE_NAME (int, float, 'a list, Model.t) */
  TypeExpr **args; /* TE_NAME arguments; TE_FUN {param, result}; TE_TUPLE, TE_RECORD; TE_ARRAY {elem}; TE_AS {named} */
  Sym *fields;     /* TE_RECORD, in source order */
  int nargs;
  Span declared;               /* [T] TE_NAME: the name where the type is declared, or no place */
  bool open;                   /* TE_RECORD ends with `..` */
  ConstraintExpr *constraints; /* on an outermost type expression: `num 'a => ord 'b => …` */
  int nconstraints;
};

/* ---- Patterns --------------------------------------------------------------- */
typedef enum {
  /* clang-format off */
  P_WILD, P_VAR, P_INT, P_FLOAT, P_BOOL, P_STRING, P_UNIT,
  P_TUPLE, P_RECORD, P_CTOR, P_ARRAY, P_OR, P_AS, P_ANNOT
  /* clang-format on */
} PatKind;
/* As with Expr, what only some kinds have shares its place. */
struct Pat {
  PatKind kind;
  Span span;
  Type *type;       /* [T] */
  Binding *binding; /* [T] P_VAR, P_AS. In an or-pattern both sides share the left side's binding */
  Pat **args;       /* P_TUPLE, P_RECORD, P_ARRAY; P_CTOR (0 or 1); P_OR {l, r}; P_AS {p}; P_ANNOT {p} */
  int nargs;
  bool open;  /* P_RECORD ends with `..` */
  bool field; /* P_VAR: a lone name in a record, which is that of the field, too */
  union {
    struct {
      Name name;  /* P_VAR, P_CTOR (`::` is the constructor "::" with a P_TUPLE argument of two), P_AS */
      Ctor *ctor; /* [T] P_CTOR */
    };
    struct {
      int64_t i; /* P_INT, P_BOOL (0/1) */
      double f;  /* P_FLOAT; also the float value of a P_INT that was typed float */
    };
    Sym text;        /* P_STRING */
    Sym *fields;     /* P_RECORD */
    TypeExpr *annot; /* P_ANNOT */
  };
};

/* ---- Expressions -------------------------------------------------------------- */
typedef enum {
  /* clang-format off */
  E_INT, E_FLOAT, E_BOOL, E_STRING, E_UNIT,
  E_INTERP,   /* parts: alternating text and holes */
  E_VAR, E_CTOR,
  E_OPERATOR, /* `(+)`: op as a curried function of two */
  E_TUPLE, E_RECORD, E_WITH, E_FIELD,
  E_ARRAY, E_COMPREHENSION, E_INDEX,
  E_APPLY,    /* args[0] applied to args[1..] */
  E_FUN, E_LET, E_IF, E_MATCH, E_SEQ,
  E_BINARY, E_NEGATE, E_AND, E_OR,
  E_ASSIGN, E_FOR, E_WHILE,
  E_ELEMENTS, /* of an array or, as an array, of a list: what `for x in` goes over */
  E_ANNOT,
  E_ERROR     /* stands where the parser recovered */
  /* clang-format on */
} ExprKind;

typedef enum {
  /* clang-format off */
  BIN_ADD, BIN_SUB, BIN_MUL, BIN_DIV, BIN_REM, BIN_POW_INT /* ^ */, BIN_POW /* ** */,
  BIN_MATMUL /* @ */, BIN_CONCAT /* ++ */, BIN_CONS /* :: */,
  BIN_EQ, BIN_NE, BIN_LT, BIN_LE, BIN_GT, BIN_GE, BIN_CLOSE /* ~= */,
  BIN_PIPE /* |> */, BIN_COMPOSE /* >> */, BIN_PIPE_LEFT /* <| */
  /* clang-format on */
} BinOp;
const char *binop_text(BinOp op);

typedef struct LetBinding {
  Pat *pat;         /* a P_VAR for functions */
  TypeExpr *result; /* `let f x : float = …`, or NULL */
  Expr *value;      /* the right side as written; with parameters the E_FUN that the parser makes of it */
  Span span;
  bool has_params; /* `let f p q = …` */
  bool mut;        /* let mut */
} LetBinding;

typedef struct MatchCase {
  Pat *pat;
  Expr *guard;
  Expr *body;
  Span span;
} MatchCase;

typedef struct Generator {
  bool is_range; /* i < n; otherwise p in xs */
  Pat *pat;      /* P_VAR for a range */
  Expr *bound;   /* n, or xs */
  Span span;
} Generator;

typedef struct Subscript {
  bool is_slice;
  Expr *lo, *hi; /* an index is `lo`; either end of a slice may be NULL */
  Span span;
} Subscript;

typedef struct InterpPart {
  Sym text;
  Expr *hole;
  Sym format;
} InterpPart; /* hole NULL: text */

/* What only some kinds have shares its place: read it of those kinds alone. */
struct Expr {
  ExprKind kind;
  Span span;
  Type *type;  /* [T] */
  Expr **args; /* operands, elements, record values, E_SEQ's two, E_IF's 2 or 3, E_FIELD {record},
                       E_WITH {record, values…}, E_INDEX {array}, E_ANNOT {e}, E_FUN {body}, E_LET {body},
                       E_MATCH {scrutinee}, E_COMPREHENSION {head}, E_FOR {from, to, body}, E_WHILE {cond, body},
                       E_ELEMENTS {xs}, and of_list if the checker found a list,
                       E_ASSIGN {place, value}: place is E_VAR | E_FIELD place | E_INDEX place */
  int nargs;
  bool paren; /* stood in parentheses */
  bool field; /* E_VAR: a lone name in a record, which is that of the field, too */
  union {
    Sym text;         /* E_STRING (may hold NUL bytes: sym_len), E_FIELD's field */
    Binding *binding; /* [T] E_VAR; E_ASSIGN's root variable */
    Ctor *ctor;       /* [T] E_CTOR; E_BINARY of `::` */
  };
  union {
    struct {     /* E_INT, E_BOOL, E_FLOAT */
      int64_t i; /* E_INT, E_BOOL. An integer literal typed float keeps kind E_INT, its type says float */
      double f;  /* E_FLOAT, and E_INT as a float */
    };
    struct { /* E_VAR, E_CTOR */
      Name name;
      Type **inst; /* [T] E_VAR: types of binding->qvars at this use, binding->nqvars of them */
    };
    struct { /* E_BINARY, E_OPERATOR, E_NEGATE, E_AND, E_OR, E_ASSIGN, E_FIELD */
      BinOp op;
      Span op_span;
      bool compound; /* E_ASSIGN: += -= *= /= with `op` */
    };
    struct { /* E_FUN */
      Pat **params;
      int nparams;
    };
    struct { /* E_LET */
      LetBinding *lets;
      int nlets;
      bool rec;
    };
    struct { /* E_MATCH */
      MatchCase *cases;
      int ncases;
    };
    struct { /* E_COMPREHENSION */
      Generator *gens;
      int ngens;
    };
    struct { /* E_INDEX */
      Subscript *subs;
      int nsubs;
    };
    struct { /* E_INTERP */
      InterpPart *parts;
      int nparts;
    };
    struct {     /* E_FOR */
      Pat *var;  /* P_VAR */
      bool down; /* downto */
    };
    Sym *fields;     /* E_RECORD, E_WITH (nargs - 1 of them) */
    TypeExpr *annot; /* E_ANNOT */
  };
};

/* ---- Items ----------------------------------------------------------------------- */
typedef enum {
  I_LET,
  I_TYPE,
  I_EXPR,
  I_IMPORT,
  I_OPEN,
  I_FOREIGN,
  I_TEST,
  I_BENCH,
  I_PULLBACK,
  I_TANGENT,
  I_RULE,
  I_ERROR
} ItemKind;

typedef struct CtorDecl {
  Sym name;
  Span span;
  TypeExpr *arg;
} CtorDecl;
typedef struct TypeDecl {
  Sym name;
  Span span, name_span;
  Sym *params; /* 'a without the quote */
  bool *keys;  /* which of them are marked `key` */
  int nparams;
  Sym shown_as; /* `as "…"`, or NULL */
  Span shown_span;
  TypeExpr *alias; /* an alias, or NULL for a variant */
  CtorDecl *ctors;
  int nctors;
} TypeDecl;

typedef struct Item {
  ItemKind kind;
  Span span;
  const char *doc; /* the comment directly above, `#` stripped, or NULL */
  bool doubtful;   /* [T] it uses names whose definition has an error: its own types may not be known */
  unsigned rights; /* [T] those that using what it defines may need (support/rights.h) */
  union {
    struct { /* I_LET */
      LetBinding *lets;
      int nlets;
      bool rec;
    };
    struct { /* I_TYPE */
      TypeDecl *types;
      int ntypes;
    };
    struct {             /* the others */
      Expr *expr;        /* I_EXPR, I_TEST, I_BENCH; I_PULLBACK/I_TANGENT: the rule as an E_FUN over all its parameters;
                     I_RULE: both sides, an E_TUPLE in an E_FUN over the parameters, if there are any;
                     I_FOREIGN: so the length of the array that it gives, or NULL */
      Sym text;          /* I_TEST and I_BENCH name; I_IMPORT path; I_FOREIGN library */
      Name name;         /* I_IMPORT alias; I_OPEN module; I_FOREIGN, I_PULLBACK, I_TANGENT function; I_RULE */
      Binding *binding;  /* [T] I_FOREIGN: the new one; I_PULLBACK, I_TANGENT: the function; I_RULE: one of its own;
                     else NULL */
      TypeExpr *annot;   /* I_FOREIGN */
      Expr *run;         /* [T] I_TEST, I_BENCH, I_RULE: what is evaluated for the report instead of expr, or NULL */
      Expr *again;       /* I_RULE: `expr` once more, for `run` */
      const char *shown; /* [T] I_EXPR: its type, if that has variables which nothing decides; else NULL */
      Name *known;       /* I_RULE: parameters that have to be constants */
      int nknown;
      RewriteRule *rewrite; /* [T] I_RULE */
    };
  };
} Item;

typedef struct Program {
  uint32_t source;
  Vec(Item *) items;
} Program;
#endif
