/* SPDX-License-Identifier: MIT */
/* Private to src/jit: the state of a translation from LIR to libgccjit, and the vocabulary for building code. */
#ifndef ATLED_EMIT_H
#define ATLED_EMIT_H
#include "jit/toolchain/guard.h"
#include "jit/rt_table.h"
#include "lir/lanes.h"

typedef gcc_jit_rvalue Rv;
typedef gcc_jit_lvalue Lv;
typedef gcc_jit_block Block;
typedef gcc_jit_type Type;

/* How a function gives back its result; parameters are by value after Mod*.
 *
 *   VALUE    double f(Mod *, double)            can't fail, one result
 *   VOID     void f(Mod *, double, Slot *out)   can't fail; no result, or several
 *   UNWIND   double f(Mod *, double)            fails by a stack overflow or an interrupt alone: emit_calls.c
 *   PAIR     {status, result} f(Mod *, double)  in two machine registers
 *   TWO      {a, b} f(Mod *, double)            in two machine registers; if it fails, Rt.failed is set
 *   STATUS   int f(Mod *, double, Slot *out)    all else */
typedef enum Convention { CONV_VALUE, CONV_VOID, CONV_UNWIND, CONV_PAIR, CONV_TWO, CONV_STATUS } Convention;
typedef struct FuncInfo {
  gcc_jit_function *fn;
  Convention conv;
  bool leaves; /* may return RT_TAIL: trampolines.c */
} FuncInfo;

/* Small functions of the module that every use inlines, made when first used. */
/* clang-format off */
typedef enum Helper { H_RETAIN, H_RELEASE, H_UNIQUE, H_IDIV, H_IREM, H_ISUBS, H_INT_OF_FLOAT, H_FMIN, H_FMAX, H_SIGN, H_TAG, H_COUNT } Helper;
/* clang-format on */

typedef struct Emit {
  const GccApi *g;
  gcc_jit_context *ctx;
  Arena *arena;
  const LModule *m;
  const char *error; /* first thing that can't be translated */
  Type *t_void, *t_bool, *t_u8, *t_i32, *t_u32, *t_i64, *t_u64, *t_f64, *t_ptr;
  Type *pair[3]; /* by SlotKind */
  gcc_jit_field *pair_status[3], *pair_value[3];
  Type *two[3][3]; /* two results, by SlotKind */
  gcc_jit_field *two_value[3][3][2];
  FuncInfo *funcs;
  gcc_jit_function *helpers[H_COUNT];
  gcc_jit_function *expect, *prefetch;
  Map opaque; /* name of a libm function that GCC doesn't know (a literal) -> the function */
  Map guards; /* FunctionName + 1 -> the function that guards it (scalar.c) */
  Type *table_types[TF_COUNT];
  Lv *foreigns; /* exported array of addresses, filled in after loading */
  bool uses_libm;
  bool fuses;       /* the CPU has products and sums in one operation */
  int width;        /* numbers of a vector; 0: loops run one iteration at a time */
  Type *vectors[9]; /* of floats, by their number: libgccjit takes each that it makes for a type of its own */
  Type *vectors_of_ints;
  /* Begins all exported names. NULL: code for a VM, whose names begin with nothing, and which reaches the runtime
   * through Mod.table; else it names what it calls, for the linker */
  const char *prefix;
  Map named; /* name of a function of the runtime (a literal) -> the function */
} Emit;

/* A name that the code exports: the pattern's, for function `index`. */
enum { EXPORT_SIZE = 80 };
#define EXPORT_NAME(e, name, pattern, index)                                                                           \
  snprintf((name), EXPORT_SIZE, "%s" pattern, (e)->prefix ? (e)->prefix : "", (index))
/* The exported name of the array of foreign addresses, by the rows of the module's table. */
#define JIT_FOREIGNS "atled_foreigns"
#define JIT_ENTRY    "atled_entry_%d"
#define JIT_DIRECT   "atled_direct_%d"
#define JIT_POINTER  "atled_pointer_%d"

/* Owned registers that may hold a reference, as a bit set of `words` words; see flow.c. If only r4 and r7 are owned,
 * they have the indices 0 and 1, and the set {r7} is 0b10. */
typedef struct Flow {
  Arena *arena;
  const LFunc *f;
  const LModule *m;
  int nowned, words;
  int *owned_of;       /* register -> index, or -1 */
  int *reg_of;         /* index -> register */
  uint64_t **at_label; /* NULL: not reachable */
  uint64_t *now;       /* state before the current instruction */
  bool reachable;      /* so is the current instruction */
} Flow;
void flow_init(Flow *w, Arena *a, const LModule *m, const LFunc *f);
void flow_restart(Flow *w);
/* Advances over one instruction; false if nothing that was known about a label had to change. */
bool flow_step(Flow *w, const LInstr *i);
bool has_loops(const LFunc *f);
/* What the function has to release if instruction i fails in the current state; into out[words]. */
void flow_on_failure(const Flow *w, const LInstr *i, uint64_t *out);

/* The block that releases this set of owned registers; next: another one of the same hash. That of {r4, r7} releases
 * r4 and goes on at that of {r7}. */
typedef struct Cleanup {
  uint64_t *set;
  Block *block;
  struct Cleanup *next;
} Cleanup;
typedef struct Fn {
  Emit *e;
  const LFunc *f;
  FuncInfo *info;
  gcc_jit_function *fn;
  Rv *mod, *out; /* parameters: module, where results go (or NULL) */
  Lv **regs;
  Block *cur; /* NULL after an instruction that doesn't go on */
  Block **labels;
  Lv *args, *res; /* slot buffers for calls of the runtime */
  Lv *status;
  Lv *pointer; /* its address is handed out */
  Lv *made;    /* an object under construction */
  Lv *rt;      /* in a function with loops the module's Rt, loaded on entry: stores into arrays might change it
                         for all GCC knows. NULL in others: frames of deep recursions should be small */
  Lv *pair[3];
  const LInstr *leaving; /* a RETURN that stands behind a call that was left */
  Flow flow;
  Map cleanups;            /* hash of a set -> Cleanup */
  const uint8_t *products; /* by register, see products.c */
  const uint8_t *sums;     /* by register, see sums.c */
  Lv *both;                /* a sine and a cosine: scalar.c; NULL as long as nothing needs it */
  Map waves;               /* the later one of the two (LInstr) -> where its value is */
  Map partial;             /* the first register of partial sums, + 1 -> the array that they are in: partial_sums.c */
  Map wide_sums;           /* those arrays that a loop on vectors adds to */
  Map vector_sums;         /* those that are only added to in vectors -> Wide */
  Map lane_loops;          /* the LABEL of a loop that runs several iterations at once -> anything */
  LaneFacts *lanes;        /* NULL: no loop runs several iterations at once */
} Fn;
Rv *k_site(const Fn *k, uint32_t site); /* the VM's number of a site of the module */

/* ---- gcc_build.c: vocabulary ------------------------------------------------------------------------------------ */
void build_init(Emit *e);
Type *type_of_kind(const Emit *e, int reg_kind);
SlotKind slot_kind(int reg_kind);
Rv *k_i64(const Emit *e, int64_t v);
Rv *k_i32(const Emit *e, int32_t v);
static inline Rv *k_u32(const Emit *e, uint32_t v) {
  return e->g->context_new_rvalue_from_long(e->ctx, e->t_u32, (long)v);
}
Rv *k_f64(const Emit *e, double v);
Rv *k_null(const Emit *e);
Rv *rv(const Emit *e, Lv *v);
Rv *cast(const Emit *e, Rv *v, Type *t);
Rv *binary(const Emit *e, unsigned op, Type *t, Rv *a, Rv *b);
Rv *compare(const Emit *e, unsigned op, Rv *a, Rv *b);
/* The object of type t `offset` bytes after the pointer p. */
Lv *place(const Emit *e, Rv *p, size_t offset, Type *t);
Rv *load(const Emit *e, Rv *p, size_t offset, Type *t);
/* Pointer p plus an int64 count of slots, as a place of type t. */
Lv *slot_at(const Emit *e, Rv *p, Rv *index, Type *t);
Rv *address(const Emit *e, Lv *v);   /* as t_ptr */
Rv *is_object(const Emit *e, Rv *p); /* bool: neither NULL nor an immediate; p without side effects */
Rv *likely(Emit *e, Rv *condition, bool outcome);
Rv *fetch_ahead(Emit *e, Rv *p); /* has the memory at p, which needn't be an address, brought near */
Rv *call(const Emit *e, gcc_jit_function *f, int n, Rv **args);
Rv *call_helper(Emit *e, Helper h, Rv *a, Rv *b);
/* A libm function by its C name. */
Rv *call_libm(Emit *e, const char *name, int n, Rv **args);
/* A function of the runtime table; the arguments have the signature's types. */
Rv *call_table(Emit *e, Rv *mod, RtTableFn f, int n, Rv **args);
/* A primitive, by its row of rt.def. */
Rv *call_prim(Emit *e, Rv *mod, uint32_t prim, int n, Rv **args);
Rv *load_rt(const Emit *e, Rv *mod);
Rv *load_func(const Emit *e, Rv *mod, int64_t k);
Rv *load_func_id(const Emit *e, Rv *mod, int64_t k);
Rv *load_desc(const Emit *e, Rv *mod, int64_t k);
void fail_emit(Emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define CALL_TABLE(e, mod, name, ...)                                                                                  \
  call_table((e), (mod), TF_##name, (int)(sizeof((Rv *[]){__VA_ARGS__}) / sizeof(Rv *)), (Rv *[]){__VA_ARGS__})

/* ---- helpers.c, scalar.c, instr.c, emit_objects.c, emit_bags.c, emit.c ----------------------------------------- */
/* double guarded (f, x…): the result of f, of n numbers, or of libm's function where that one is lost. */
gcc_jit_function *make_guard(Emit *e, const char *libm, Type *function, int n, FunctionLost lost);
gcc_jit_function *make_helper(Emit *e, Helper h);
void emit_scalar(Fn *k, const LInstr *i);
void emit_instr(Fn *k, const LInstr *i);
/* The next cosine (sine) of the number whose sine (cosine) instruction i computes, later in its basic block; NULL. */
const LInstr *wave_partner(const LFunc *f, const LInstr *i);
Rv *load_functions(Fn *k); /* const Functions * */
/* partial_sums.c */
/* Makes the arrays of the function's partial sums, whose registers are elements of them. */
void open_partial_sums(Fn *k);
void emit_lane_open(Fn *k, const LInstr *i);
void emit_lane_add(Fn *k, const LInstr *i);
void emit_lane_sum(Fn *k, const LInstr *i);
/* emit_lanes.c */
/* Decides which loops of the function run several iterations at once. */
void find_lane_loops(Fn *k);
/* Before the loop whose label, instruction `head`, was just placed: the same for several iterations at once, if it can
 * be done. The last instruction that needs no code any more. */
int emit_lanes(Fn *k, int head);
/* products.c: the product of floats, and what has to be known, by register, to emit it. */
Rv *emit_product(Fn *k, const LInstr *i, Rv *a, Rv *b);
Rv *emit_negation(Fn *k, const LInstr *i, Rv *a);
const uint8_t *plan_products(Arena *a, const LFunc *f);
Rv *flip_sign(const Emit *e, Rv *a); /* -a, which GCC takes for an operation on bits */
/* sums.c: the same of sums of floats. */
Rv *emit_sum(Fn *k, const LInstr *i, Rv *a, Rv *b);
const uint8_t *plan_sums(Arena *a, const LFunc *f);
/* emit_objects.c */
void emit_new(Fn *k, const LInstr *i);
void emit_refill(Fn *k, const LInstr *i);
void emit_open(Fn *k, const LInstr *i);
void emit_empty(Fn *k, const LInstr *i);
/* emit_bags.c */
void emit_acc_at(Fn *k, const LInstr *i);
void emit_acc_sub(Fn *k, const LInstr *i);
void emit_bag_set(Fn *k, const LInstr *i);
void emit_bag_set_sub(Fn *k, const LInstr *i);
void emit_bag_take(Fn *k, const LInstr *i);
void emit_bag_take_sub(Fn *k, const LInstr *i);
void emit_bag_get(Fn *k, const LInstr *i);
void emit_bag_sub(Fn *k, const LInstr *i);
void emit_bag_fill(Fn *k, const LInstr *i);
void emit_cadd(Fn *k, const LInstr *i);
bool acc_in_registers(const Emit *e, const LInstr *acc_at);
bool takes_only_numbers(const LForeign *f); /* and gives one: machine code calls it by its address */
/* registers.c */
Lv *load_rt_once(Fn *k);
Rv *reg(const Fn *k, int r);
Rv *rt_of(Fn *k); /* the module's Rt, in a local */
Block *new_block(const Fn *k);
void assign(const Fn *k, Lv *to, Rv *v);
void assign_reg(const Fn *k, int r, Rv *v); /* converts int32 and bool to the register's type; r < 0: evaluates */
void evaluate(const Fn *k, Rv *v);
/* Goes on if ok holds; else to the failure block, which the caller fills and which becomes current only there. */
Block *branch_unless(Fn *k, Rv *ok);
/* From the block, a failed instruction: releases what is owned and leaves. */
void leave_failed(Fn *k, Block *b, const LInstr *i);
/* Ends block b by returning a status that isn't 0, without results. */
void end_with_status(Fn *k, Block *b, Status status);
/* Leaves if the status (an integer or boolean) is not 0. `trace`: what failed doesn't know its site, so i's is
 * added. */
void check_status(Fn *k, const LInstr *i, Rv *status, bool trace);
/* Stores registers to the buffer of arguments, returns its address as t_ptr (NULL for none). */
Rv *pass_slots(Fn *k, const int32_t *regs, int n);
Rv *results_buffer(Fn *k);
void take_results(Fn *k, const LInstr *i);
/* ---- emit_calls.c ---- */
bool func_fallible(const LFunc *f);
void choose_conventions(Emit *e);
/* Which instructions check_stack has to stand before. A function without loops has no jump back. */
const bool *plan_stack_checks(const Emit *e, const LFunc *f, bool *on_entry);
void check_stack(Fn *k);
void emit_call(Fn *k, const LInstr *i);
Rv *end_unwinding(Emit *e, Rv *mod);
/* Of CONV_TWO: the status of the call that has just ended. And the end of this news. */
Rv *two_failed(const Emit *e, Rv *mod);
void set_two_failed(const Emit *e, Block *b, Rv *mod, Status status);
/* Result r of f, which uses CONV_TWO, in the place `two`. */
Lv *result_of_two(const Emit *e, const LFunc *f, Lv *two, int r);
Type *type_of_two(const Emit *e, const LFunc *f);
/* Do the results go through a buffer, the last parameter? */
bool results_through_memory(const Emit *e, const LFunc *f);
/* ---- trampolines.c ---- */
void find_left_calls(Emit *e);
/* An APPLY that is left to the caller; false if it isn't. */
bool emit_left_apply(Fn *k, const LInstr *i);
/* After a call of a function that may leave one: from block `cold`, where the status isn't 0, to `failed`, or back
 * when the call that was left has been made. */
void emit_left_call(Fn *k, const LInstr *i, Block *cold, Block *failed);
/* ---- abi.c ---- */
/* After emit_module: code that a host calls by a pointer, of functions of floats that neither allocate nor fail. */
void emit_pointers(Emit *e);
/* Translates the module in a fresh context. False: e->error says why not. */
bool emit_module(Emit *e);
#endif
