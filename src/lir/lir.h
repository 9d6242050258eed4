/* SPDX-License-Identifier: MIT */
/* Lowered code: what the evaluator runs and what the JIT translates, one source for both.
 *
 * A module holds functions of linear register code. Registers are typed slots (int64, double, object pointer, or raw
 * pointer to slots) and not SSA: lowering assigns loop variables by MOVE. All tuples are scattered over registers;
 * all ownership is explicit in RETAIN and RELEASE.
 *
 * Clean-up after errors: pointer registers are NULL at function entry; every instruction that moves the reference of
 * a register elsewhere is followed (in lowered code) by CLEAR of it unless it is dead by overwriting; so on failure
 * the function releases all pointer registers that have `owned` set in LReg and returns non-zero. Owned parameters
 * are such registers too; borrowed ones aren't. Before the error leaves a function that made the failing call,
 * rt_trace(site) is called. An instruction that fails leaves its destinations unchanged (or NULL) and, unless said
 * otherwise, its operands too. */
#ifndef ATLED_LIR_H
#define ATLED_LIR_H
#include "ir/ir.h"
#include "runtime/runtime.h"

typedef enum LRegKind { R_INT, R_FLOAT, R_PTR, R_RAW } LRegKind;
typedef struct LReg {
  uint8_t kind;
  bool owned;
} LReg;

/* L(NAME): operands are registers unless said otherwise. A list of registers is args[0..nargs), results
 * res[0..nres). */
#define LIR_OPS(L)                                                                                                     \
  L(SCALAR)        /* dst = sub(a, b, c); sub is an IR Op flagged S without F; bools are 0/1 ints. No failure */       \
  L(MOVE)          /* dst = a, bit copy, no counting */                                                                \
  L(INT)           /* dst = imm.i */                                                                                   \
  L(FLOAT)         /* dst = imm.f */                                                                                   \
  L(STRING)        /* dst = mod->strings[imm.i]; borrowed, immortal */                                                 \
  L(NULLPTR)       /* dst = NULL (also CLEAR: forget a moved reference) */                                             \
  L(IMMEDIATE)     /* dst (R_PTR) = constructor without payload: tag imm.i */                                          \
  L(GLOBAL)        /* dst = mod->globals[a][b]  (a, b plain numbers), borrowed */                                      \
  L(LABEL)         /* imm.i = label number */                                                                          \
  L(JUMP)          /* to label imm.i */                                                                                \
  L(BRANCH)        /* if a is 0 to label imm.i */                                                                      \
  L(SWITCH)        /* by integer a: labels args[0..nargs); out of range: the last */                                   \
  L(LOOP_HEAD)     /* marks the head of a loop, directly after its LABEL; b: 1 if innermost and free of calls */       \
  L(POLL)          /* interrupt and budget; at back edges, or between chunks of iterations. May fail */                \
  L(CHECK_INDEX)   /* fails unless 0 <= a < b */                                                                       \
  L(CHECK_SLICE)   /* fails unless 0 <= a <= b <= c */                                                                 \
  L(CHECK_SIZE)    /* fails unless a = b */                                                                            \
  L(CHECK_ROW)     /* irregular: fails unless a = b (first, other) */                                                  \
  L(CHECK_NONZERO) /* fails if a is 0 */                                                                               \
  L(CHECK_DEPTH)   /* stack overflow: fails unless a <= b */                                                           \
  L(CHECK_NAT)     /* fails if a < 0; imm.text says what */                                                            \
  L(ASSERT)        /* fails with message string b if a is 0 */                                                         \
  L(FAIL)          /* fails with message string a and ErrorKind imm.i */                                               \
  L(CALL)        /* res = mod->code->funcs[imm.i](args). Owned parameters of the callee are taken (also on failure) */ \
  L(FOREIGN)     /* res[0] = C function imm.i of the module's foreigns (args: ints and floats) */                      \
  L(APPLY)       /* res = closure a (args), args borrowed */                                                           \
  L(RT)          /* res = rt_prims[sub](type descs[imm.i] or none if < 0; args), args borrowed. May fail */            \
  L(RETAIN)      /* a */                                                                                               \
  L(RELEASE)     /* a, which is NULL afterwards */                                                                     \
  L(NEW_ARRAY)   /* dst = array of descs[imm.i], dims args; b: 1 zeroed */                                             \
  L(GROW)        /* dst = dst with room for row a of b slots (growable stack; dst taken) */                            \
  L(SET_DIM)     /* dims[imm.i] of array a = b (a just made, or a finished stack) */                                   \
  L(DIM)         /* dst = dims[imm.i] of array a */                                                                    \
  L(DATA)        /* dst (R_RAW) = data of array a */                                                                   \
  L(LOAD)        /* dst = a[b * imm.i + c]: a R_RAW, b a register or -1 (0), c a plain number */                       \
  L(STORE)       /* a[b * imm.i + c] = dst */                                                                          \
  L(VIEW)        /* dst = view of array a from slot b, dims args, descs[imm.i] */                                      \
  L(UNIQUE)      /* dst = a made unshared; a is taken (dst may be a) */                                                \
  L(COPY)        /* dst = a copy of a: UNIQUE of an array that is needed afterwards; by ownership.c */                 \
  L(BOX)         /* dst = boxes[imm.i] of the module: a box or array of constants */                                   \
  L(NEW_BOX)     /* dst = variant of descs[imm.i], tag b (plain number), fields args, taken */                         \
  L(TAG)         /* dst = tag of variant a; 0 for NULL */                                                              \
  L(FIELD)       /* dst = field b (plain number) of box a, borrowed; c: 1 if it is better fetched ahead */             \
  L(FIELD_AT)    /* dst (R_RAW) = address of field b (plain number) of box a */                                        \
  L(OPEN)        /* res = the fields of box a, which is taken */                                                       \
  L(NEW_CLOSURE) /* dst = closure of funcs[imm.i], captures args, taken */                                             \
  L(CAPTURE)     /* dst = capture b (plain number) of closure a, borrowed */                                           \
  L(CLOSURE_ID)  /* dst = a's function id */                                                                           \
  L(FUNC_ID)     /* dst = id of funcs[imm.i] */                                                                        \
  /* accumulators; bag registers are taken and replaced in place (dst). dims of the whole: args[0..rank) */            \
  L(ACC_AT)       /* dst bag of descs[imm.i]: += value slots res[0..nres) (taken) at flat index a */                   \
  L(ACC_SUB)      /* dst bag += bag c (taken) at elements a … a + b */                                               \
  L(BAG_GET)      /* res[0..nres) = entry a of bag b of descs[imm.i], owned */                                         \
  L(BAG_SUB)      /* dst = part of bag c: elements a, count b; its desc descs[imm.i], its dims args; owned */          \
  L(BAG_TAKE)     /* dst bag; res = entry a */                                                                         \
  L(BAG_TAKE_SUB) /* dst bag of descs[sub]; res[0] = part a, count b, of descs[imm.i] with its dims args[rank…) */   \
  L(BAG_SET)      /* dst bag; entry a = res[0..nres), taken */                                                         \
  L(BAG_SET_SUB)  /* dst bag; elements a, count b = bag c, taken */                                                    \
  L(BAG_FILL)     /* dst = array of descs[imm.i] from bag a (taken), dims args */                                      \
  L(CADD)         /* dst = a + b, two accumulators of descs[imm.i], pointers, both taken */                            \
  L(NEW_ENV)      /* dst = environment of funcs[imm.i], slots args, taken */                                           \
  L(ENV_FIELD)    /* dst = slot b (plain number) of env a (not NULL), borrowed */                                      \
  L(IS_NULL)      /* dst = a is NULL */                                                                                \
  L(RETURN)       /* args are the results, moved out; all other owned registers have been released */

typedef enum LOp {
#define L(NAME) LOP_##NAME,
  LIR_OPS(L)
#undef L
      LOP_COUNT
} LOp;

typedef struct LInstr {
  uint32_t op, sub;
  int32_t dst, a, b, c; /* registers, -1 none */
  union {
    int64_t i;
    double f;
    const char *text;
  } imm;
  int32_t *args, *res;
  int32_t nargs, nres;
  Site site;
} LInstr;

struct LFunc {
  const char *name;
  int index;             /* in the module */
  int nparams, nresults; /* slots; parameters are registers 0 … nparams-1 */
  int ncaps;             /* closures: the last ncaps parameter slots are captures */
  int nregs;
  LReg *regs;
  uint8_t *result_kinds; /* LRegKind */
  LInstr *code;
  int ncode;
  int nlabels;
  bool may_fail; /* else its status is always 0 */
  bool recursive;
  int last_repeat;        /* the last instruction that may run again, or calls what takes long: a back edge, a call of
                             a function with loops or recursion; -1 none */
  bool is_entry;          /* has run-time identity (closure code or entry): needs an RtFunc and an entry thunk.
                             The thunk borrows all arguments and retains those whose register is owned */
  uint64_t id;            /* hash of its graph: closure identity */
  const Desc **acc_descs; /* closures: slots of the accumulators for its captures (EnvObj): Desc for pointers */
  uint8_t *acc_kinds;
  int nacc;
  Sym library, symbol; /* foreign function of ints/floats instead of code, else NULL */
};
typedef struct LForeign {
  Sym library, symbol;
  int nargs;
  uint8_t *kinds;
  uint8_t result;
} LForeign;
/* A box or (dims not NULL) array whose fields or elements are constants: numbers, immediates, NULL, strings of the
 * module and boxes that stand before it. kinds says what a field is, NULL that all are plain; that of a string or
 * box holds its index. */
typedef enum LFieldKind { LFIELD_PLAIN, LFIELD_STRING, LFIELD_BOX } LFieldKind;
typedef struct LBox {
  int desc;
  int tag;
  Slot *fields;
  uint8_t *kinds;
  int64_t nfields;
  const int64_t *dims;
} LBox;
struct LModule {
  Arena *arena;
  LFunc **funcs;
  int nfuncs;
  const Desc **descs;
  int ndescs;
  Sym *strings;
  int nstrings;
  LBox *boxes;
  int nboxes;
  int *globals;
  int nglobals; /* indices in World.globals */
  LForeign *foreigns;
  int nforeigns;
  bool strict;
  uint64_t hash; /* of everything that machine code depends on: cache key */
  /* NULL, or why lowering failed (an internal error): nothing else may be used then */
  const char *error;
};

/* ---- lower.c ------------------------------------------------------------------------------------------------ */
typedef struct LowerEntry {
  Graph *graph;
  Sym name;
  LFunc *func; /* out */
} LowerEntry;
/* Lowers the entries (closed graphs: no parameters, or a token; or with parameters when a host calls them) and
 * everything reachable into one module. `memo` keeps Descs over modules of a VM. */
LModule *lower_module(World *w, Arena *arena, LowerEntry *entries, int n);
const Desc *lower_desc(World *w, IrType *t); /* cached in the type */
void lir_print(const LModule *m, Str *out);
const char *lir_verify(const LModule *m);           /* NULL, or what is wrong */
bool lir_fails(const LModule *m, const LInstr *in); /* may the instruction fail? */
/* Does the CALL take the reference that reg, an argument for an owned parameter, holds? (Else it was given another
 * one.) */
bool lir_moves_argument(const LFunc *f, const LInstr *call, int32_t reg);

/* ---- eval/eval.c ---------------------------------------------------------------------------------------------- */
Status eval_function(Rt *rt, RtFunc *f, const Slot *args, Slot *res); /* Rt.evaluate */
void eval_destroy(Rt *rt);
/* Instantiates a module in a VM: resolves strings, globals, functions. Machine code may be attached later. */
Mod *mod_new(Rt *rt, LModule *code, Slot *(*global)(void *user, int index), void *user); /* NULL: out of memory */
void mod_free(Mod *m);
#endif
