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

typedef enum LOp {
#define L(name, ...) LOP_##name,
#include "lir/lir.def"
#undef L
  LOP_COUNT
} LOp;

typedef struct LInstr {
  LOp op;
  uint32_t sub;
  int32_t dst, a, b, c; /* registers (or what the row of lir.def says), -1 none */
  union {
    int64_t i;
    double f;
    const char *text;
  } imm;
  int32_t *args, *res;
  int32_t nargs, nres;
  uint32_t site; /* number of an LSite of the module; 0: none */
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
  bool is_entry;          /* has run-time identity (closure code or entry): needs an entry thunk, which takes the
                             arguments whose register is owned */
  bool is_root;           /* function of a fragment that code outside of it calls: needs a direct entry, too */
  bool is_pointer;        /* a host calls it by a pointer: gets code for that, if it can (jit/abi.c) */
  uint64_t id;            /* hash of its graph: closure identity */
  const Desc **acc_descs; /* closures: slots of the accumulators for its captures (EnvObj): Desc for pointers */
  uint8_t *acc_kinds;
  int nacc;
};
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
/* A source place, and the site of the call that it was inlined at. */
typedef struct LSite {
  Span at;
  const char *function; /* NULL: none */
  uint32_t parent;
} LSite;
typedef struct LText {
  const char *text; /* zero-terminated, and may hold zeros */
  size_t length;
} LText;
struct LModule {
  Arena *arena; /* of what lowering and tests make; NULL in a module that image_load made */
  LFunc **funcs;
  int nfuncs;
  const Desc **descs;
  int ndescs;
  LText *strings;
  int nstrings;
  LBox *boxes;
  int nboxes;
  int *globals;
  int nglobals; /* indices in World.globals */
  LForeign *foreigns;
  int nforeigns;
  bool strict;
  bool fragment; /* of another module, see fragment.h: functions may have no code, constants no contents */
  LSite *sites;  /* from 1 on; NULL in a module that image_load made */
  int nsites;    /* with number 0 */
  /* of a module that image_load made: its image, and the hash of everything that machine code depends on */
  uint64_t hash;
  const void *image;
  size_t image_size;
  /* NULL, or why lowering failed (an internal error): nothing else may be used then */
  const char *error;
};

/* ---- lir_ops.c: the rows of lir.def, and what follows from them -------------------------------------------------- */
typedef enum LImm {
  LIMM_NONE,
  LIMM_INT,
  LIMM_FLOAT,
  LIMM_TEXT,
  LIMM_LABEL,
  LIMM_STRING,
  LIMM_BOX,
  LIMM_FUNC,
  LIMM_FOREIGN,
  LIMM_DESC,
  LIMM_OPT_DESC
} LImm;
typedef enum LSub { LSUB_NONE, LSUB_OP, LSUB_PRIM, LSUB_DESC, LSUB_TAKE } LSub;
typedef enum LFails { LFAILS_NEVER, LFAILS_MAY, LFAILS_CALLEE } LFails;
typedef enum LFlow { LFLOW_NEXT, LFLOW_JUMP, LFLOW_BRANCH, LFLOW_SWITCH, LFLOW_RETURN, LFLOW_FAIL } LFlow;
typedef enum LSimple { LSIMPLE_NO, LSIMPLE_YES, LSIMPLE_NUMBERS } LSimple;
typedef enum LOperand { LOPERAND_DST, LOPERAND_A, LOPERAND_B, LOPERAND_C, LOPERAND_ARGS, LOPERAND_RES } LOperand;
typedef struct LirOp {
  const char *name, *operands;
  LImm imm;
  LSub sub;
  LFails fails;
  LFlow flow;
  LSimple simple;
} LirOp;
extern const LirOp lir_ops[LOP_COUNT];
/* The letters of lir.def: what becomes of the operand's registers, and what they hold. */
static inline char lir_use(LOp op, LOperand k) { return lir_ops[op].operands[3 * k]; }
static inline char lir_holds(LOp op, LOperand k) { return lir_ops[op].operands[3 * k + 1]; }

/* ROLE_READ looks at a value, ROLE_TAKE consumes the reference, ROLE_INOUT replaces it in place, ROLE_DEF defines a
 * register with a reference of its own, ROLE_DEF_BORROWED with one that belongs to a container. The roles of
 * numbers are the same, without consequences. */
typedef enum Role { ROLE_READ, ROLE_TAKE, ROLE_INOUT, ROLE_DEF, ROLE_DEF_BORROWED } Role;
typedef void (*RoleFn)(void *user, int32_t *reg, Role role);
/* Calls fn for each register operand, uses before definitions. */
void lir_roles(const LModule *m, LInstr *in, RoleFn fn, void *user);
/* The function of support/functions.def that the instruction is; FN_COUNT: none. */
FunctionName lir_function(const LInstr *in);
/* Is it one, or calls one? */
bool lir_calls_function(const LInstr *in);
bool lir_calls_functions(const LModule *m); /* does an instruction? */
static inline bool lir_is_trap(LOp op) { return op == LOP_TRAP_NAN || op == LOP_TRAP_INF; }
bool lir_defines_dst(LOp op);                       /* its dst is a register that it writes */
bool lir_defines_results(LOp op);                   /* likewise its res */
bool lir_never_counted(LOp op);                     /* what it defines needs no counting */
bool lir_fails(const LModule *m, const LInstr *in); /* may the instruction fail? */
/* May it stand in an innermost loop that isn't interrupted? dst: what kind its dst is of. */
bool lir_simple(const LInstr *in, LRegKind dst);
/* Where the instruction may lead, apart from the next one: label number k, -1 past the last. */
int64_t lir_target(const LInstr *in, int k);

/* ---- lir_moves.c, lir_print.c, lir_read.c, lir_verify.c ---------------------------------------------------------- */
/* Does the CALL take the reference that reg, an argument for an owned parameter, holds? (Else it was given another
 * one.) */
bool lir_moves_argument(const LFunc *f, const LInstr *call, int32_t reg);
void lir_print(const LModule *m, Str *out);
/* The module of such a text, in the arena; its `error` says what is wrong with the text, and in which line. */
LModule *lir_read(Arena *arena, const char *text);
const char *lir_verify(const LModule *m); /* NULL, or what is wrong */

/* ---- module.c -------------------------------------------------------------------------------------------------- */
/* Instantiates a module in a VM: makes its strings, boxes and functions, finds descriptors and globals. The evaluator
 * can run it, machine code may be attached. NULL after rt_error: out of memory. `code` must outlive it. */
Mod *mod_new(Rt *rt, LModule *code, Slot *(*global)(void *user, int index), void *user);
/* Both after the back ends have forgotten it: eval_forget, jit_unload. The first gives back all but the constants,
 * when no closure of it is left. */
void mod_strip(Mod *m);
void mod_free(Mod *m);
/* Makes, or renews, what the threads of the pool see of the module (Mod.peers); none of them may be running. False
 * after rt_error: out of memory. */
bool mod_join(Mod *m, Pool *p);
/* What the machine code of a fragment of a module refers to, all of which belongs to that module. NULL: out of
 * memory. */
struct LFragment;
Mod *mod_new_fragment(Mod *whole, const struct LFragment *p);
void mod_free_fragment(Mod *m);
#endif
