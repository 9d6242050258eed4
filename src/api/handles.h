/* SPDX-License-Identifier: MIT */
/* Handles, and the values that cross the border: what the files about them share.
 *
 *   handles.c     looking up, calling, releasing
 *   values.c      what a host makes
 *   values_in.c   arguments to slots
 *   values_out.c  slots to results
 *   buffers.c     slots to the host's buffers
 *   many.c        one call over many argument sets
 *   kept.c        results that outlive the handle's next call
 *   replace.c     another function in a handle's place
 *   signature.c   a handle's types, names and documentation */
#ifndef ATLED_HANDLES_H
#define ATLED_HANDLES_H
#include "api/native.h"
#include "api/vm.h"

/* A result as the host has it. */
typedef struct Outcome {
  Slot *slots;
  bool filled; /* they hold references */
  bool kept;   /* by an AtledKept, which has its trees */
  bool lost;   /* a part of it was given up in a call that failed */
  Arena trees; /* what AtledValues of it point to */
  /* Blocks of arrays of numbers within variants, lists and arrays, of which the host has the addresses; in the trees.
   * Sorted by address when one is looked for first. */
  Vec(ArrayObj *) blocks;
  bool sorted;
  TreeEntries entries; /* of a tree whose values are being made; else none */
  Unit *unit;          /* NULL, or the code of a function that was replaced, whose constants the slots may refer to */
} Outcome;

/* A source that the handle has a copy of. */
typedef struct Loan {
  uint32_t of, as; /* ids; as 0: it wasn't made, for want of memory */
} Loan;

/* What atled_signature says, as far as the look-up finds it; texts are the handle's. */
typedef struct SignatureParts {
  const char *text, *doc;
  const char **names; /* of parameters, NULL where there is none; f->arity */
  const char **types; /* of parameters, and of the result: f->arity + 1 */
} SignatureParts;

struct AtledFunction {
  Native native; /* first */
  AtledVM *vm;
  Unit *unit;
  Slot value; /* the closure; arity 0: none, its value is last */
  int arity;
  const Desc *param;    /* a D_TUPLE when arity > 1 */
  bool pointers;        /* the parameter has slots that are references */
  bool result_pointers; /* so has the result */
  const Desc *result;
  Slot *args;
  bool *moved;          /* of args: the function is to take the reference, which the last result gave up */
  int *homes;           /* the slot of the last result that it comes from */
  Outcome *last, *next; /* the host's result; the one of the call that is running */
  Outcome outcomes[2];
  bool simple_result;    /* its value is made without memory */
  AtledKind *scalars;    /* of all arguments and, last, of the result, where all are numbers or bools; else NULL */
  Span place;            /* of the expression */
  Arena arena;           /* of the handle */
  uint32_t first_source; /* of the entry that made it */
  Vec(Loan) loans;
  SignatureParts parts;      /* text: also what atled_replace looks up at */
  AtledSignature *signature; /* NULL until it was asked for */
};

/* Where a part of an argument or result stands, from the outside in, for messages. */
typedef enum PlaceKind {
  PLACE_SET,
  PLACE_ARGUMENT,
  PLACE_RESULT,
  PLACE_ITEM,
  PLACE_ELEMENT,
  PLACE_FIELD,
  PLACE_PAYLOAD
} PlaceKind;
typedef struct ValuePlace {
  const struct ValuePlace *outer;
  PlaceKind kind;
  int depth;
  /* From 0. PLACE_SET: -1: no set is meant. PLACE_ELEMENT: how many `indices` there are */
  int64_t index;
  const char *name; /* of a field or constructor */
  const int64_t *indices;
} ValuePlace;

/* ---- plain_calls.c ---- */
AtledKind *plain_kinds(AtledFunction *f); /* for f->scalars, of the handle's arena */
/* The call, if the function is plain machine code over numbers and bools, and nothing is to be done beside it: in the
 * host's own surroundings, on its stack, without limits, none of which such code can tell. False: nothing was done. */
bool plain_call(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *result);
bool plain_call_floats(AtledFunction *f, const double *args, int nargs, double *result);

/* ---- values.c ---- */
bool value_is_list(const Desc *d);                  /* values are given as ATLED_LIST */
AtledKind value_kind(const Desc *d);                /* of values of this type */
bool value_is_simple(const Desc *d);                /* they are made without memory, and their making doesn't fail */
int64_t value_count(int rank, const int64_t *dims); /* elements; -1: a dimension is negative, -2: too many */
size_t value_element_size(AtledKind element);       /* bytes, as the host has them */
/* Do the elements of these dimensions lie one after the other in row-major order? */
bool value_is_contiguous(const AtledValue *v);
/* Index of a record's item by the name, tried at `guess` first; -1. */
int value_find_field(const AtledValue *v, const char *name, int guess);
/* What becomes of a complaint about a value: an error of the host's call on this VM; or, if that is NULL, the error of
 * a call of the host's function, in rt. */
typedef struct ValueReports {
  AtledVM *vm;
  Rt *rt;
  const char *function;
  uint32_t site;
  Arena *texts; /* for parts of the message */
} ValueReports;
/* "argument 1, field `w`: " and a message. Not ATLED_OK. */
AtledStatus value_report(const ValueReports *to, const ValuePlace *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "a float is needed, not an int": what the type needs, and what the value is. */
AtledStatus value_misfit(const ValueReports *to, const ValuePlace *at, const Desc *d, const AtledValue *v);

const char *value_names_text(Arena *a, const Desc *d); /* of fields or constructors */
const char *value_shape_text(Arena *a, int rank, const int64_t *dims);

/* ---- values_in.c ---- */
/* Where values come from. */
typedef struct ValueSource {
  ValueReports to;
  /* An array that the VM has, of which these `count` elements of the value are a part, or NULL. */
  ArrayObj *(*around)(void *user, const Slot *data, int64_t count);
  void *user;
  bool lasting;       /* the host's arrays last as long as the VM needs them: they aren't copied */
  bool unit_for_none; /* a unit may stand for what has no derivative: an empty array, an empty string, 0 */
} ValueSource;
/* Puts a value into zeroed slots of its type. What they hold when it fails is the caller's too. Leaves by
 * rt->heap->on_oom without memory for a message. */
AtledStatus value_put(const ValueSource *from, Rt *rt, const ValuePlace *at, const Desc *d, const AtledValue *v,
                      Slot *out);
/* Who takes parts of an argument that aren't values of their type. */
typedef struct PartTaker PartTaker;
struct PartTaker {
  bool (*takes)(const Desc *d, const AtledValue *v);
  AtledStatus (*take)(PartTaker *self, const ValuePlace *at, const Desc *d, const AtledValue *v, Slot *out);
};
/* The same for an argument of a handle's call, but for those parts of its tuples and records that the taker takes.
 * NULL: it takes none. */
AtledStatus value_put_argument(AtledFunction *f, PartTaker *taker, const ValuePlace *at, const Desc *d,
                               const AtledValue *v, Slot *out);
/* The array of numbers among the parts of a tuple, or the value itself, that has these elements; or NULL. */
ArrayObj *value_array_around(const Desc *d, const Slot *s, const Slot *data, int64_t count);

/* ---- values_out.c ---- */
/* A value of this type as the host gets it; o: what it may point to, which holds the slots; working: an empty arena,
 * which it is again afterwards. False: rt->error is set. */
bool value_get(Rt *rt, Outcome *o, Arena *working, const Desc *d, const Slot *s, AtledValue *v);

/* ---- buffers.c ---- */
/* Writes the slots of a result into the host's buffers, all or nothing. */
AtledStatus value_write(AtledVM *vm, const Desc *d, const Slot *s, AtledValue *into);
/* Are results of this type arrays that can be written to buffers? */
bool value_has_buffer(const Desc *d);
AtledStatus value_no_buffer(const ValueReports *to, const ValuePlace *at);
/* The tuple or record has items, by which names, for each component of the type. */
AtledStatus value_check_items(const ValueReports *to, const ValuePlace *at, const Desc *d, const AtledValue *v);
int value_item_for(const Desc *d, const AtledValue *v, int i); /* which of them is component i; -1 */
ValuePlace value_item_place(const ValuePlace *outer, const Desc *d, int i);
/* One array: whether it fits the host's buffer; its elements into that. */
AtledStatus value_check_buffer(const ValueReports *to, const ValuePlace *at, const Desc *d, const Slot *s,
                               const AtledValue *v);
void value_write_array(const Desc *d, const Slot *s, const AtledValue *v);

/* ---- handles.c ---- */
/* Ends a call for which there is no memory before it has begun. */
AtledStatus handle_no_memory(AtledVM *vm);
AtledStatus handle_wrong_arity(const AtledFunction *f, int nargs);
/* What it holds goes. */
void handle_drop_outcome(AtledFunction *f, Outcome *o);
/* A handle of nothing yet. NULL: no memory. */
AtledFunction *handle_new(AtledVM *vm);
/* Makes it one of the expression's value; type NULL: the one that this has. Within a call. */
AtledStatus handle_look_up(AtledFunction *f, const char *expression, const char *type);
void handle_free(AtledFunction *f); /* no native pointer is left */

/* ---- inspect.c ---- */
/* The type of an expression, where numbers may be open; an error if other type variables are left. */
AtledStatus inspect_type(AtledVM *vm, const char *expression, Type **type);

/* ---- signature.c ---- */
/* While a look-up runs: the texts of its type, and the names and documentation of its expression. */
void signature_note(AtledFunction *f, Type *type, const Expr *e);

#endif
