/* SPDX-License-Identifier: MIT */
/* libgccjit as the rest of src/jit sees it: a table of its functions, loaded at run time, and a bracket around each
 * compile. It does nothing to the host's process but take memory. Only guard.c includes libgccjit's own header; it
 * asserts that every declaration here agrees with that. */
#ifndef ATLED_GUARD_H
#define ATLED_GUARD_H
#include <stdbool.h>
#include <stddef.h>

typedef struct gcc_jit_context gcc_jit_context;
typedef struct gcc_jit_location gcc_jit_location;
typedef struct gcc_jit_type gcc_jit_type;
typedef struct gcc_jit_field gcc_jit_field;
typedef struct gcc_jit_struct gcc_jit_struct;
typedef struct gcc_jit_function gcc_jit_function;
typedef struct gcc_jit_block gcc_jit_block;
typedef struct gcc_jit_rvalue gcc_jit_rvalue;
typedef struct gcc_jit_lvalue gcc_jit_lvalue;
typedef struct gcc_jit_param gcc_jit_param;
typedef struct gcc_jit_case gcc_jit_case;
typedef struct gcc_jit_extended_asm gcc_jit_extended_asm;

/* G(result, name, parameters): gcc_jit_<name>. `unsigned` stands for the library's enumerations. */
#define GCC_API(G)                                                                                                     \
  G(gcc_jit_context *, context_acquire, (void))                                                                        \
  G(void, context_release, (gcc_jit_context *))                                                                        \
  G(void, context_set_int_option, (gcc_jit_context *, unsigned, int))                                                  \
  G(void, context_set_bool_print_errors_to_stderr, (gcc_jit_context *, int))                                           \
  G(void, context_add_command_line_option, (gcc_jit_context *, const char *))                                          \
  G(void, context_compile_to_file, (gcc_jit_context *, unsigned, const char *))                                        \
  G(void, context_dump_to_file, (gcc_jit_context *, const char *, int))                                                \
  G(void, context_dump_reproducer_to_file, (gcc_jit_context *, const char *))                                          \
  G(const char *, context_get_first_error, (gcc_jit_context *))                                                        \
  G(gcc_jit_type *, context_get_type, (gcc_jit_context *, unsigned))                                                   \
  G(gcc_jit_type *, type_get_pointer, (gcc_jit_type *))                                                                \
  G(gcc_jit_type *, type_get_const, (gcc_jit_type *))                                                                  \
  G(gcc_jit_type *, type_get_volatile, (gcc_jit_type *))                                                               \
  G(gcc_jit_type *, context_new_array_type, (gcc_jit_context *, gcc_jit_location *, gcc_jit_type *, int))              \
  G(gcc_jit_type *, type_get_vector, (gcc_jit_type *, size_t))                                                         \
  G(gcc_jit_type *, type_get_aligned, (gcc_jit_type *, size_t))                                                        \
  G(gcc_jit_field *, context_new_field, (gcc_jit_context *, gcc_jit_location *, gcc_jit_type *, const char *))         \
  G(gcc_jit_struct *, context_new_struct_type,                                                                         \
    (gcc_jit_context *, gcc_jit_location *, const char *, int, gcc_jit_field **))                                      \
  G(gcc_jit_type *, struct_as_type, (gcc_jit_struct *))                                                                \
  G(gcc_jit_type *, context_new_function_ptr_type,                                                                     \
    (gcc_jit_context *, gcc_jit_location *, gcc_jit_type *, int, gcc_jit_type **, int))                                \
  G(gcc_jit_param *, context_new_param, (gcc_jit_context *, gcc_jit_location *, gcc_jit_type *, const char *))         \
  G(gcc_jit_lvalue *, param_as_lvalue, (gcc_jit_param *))                                                              \
  G(gcc_jit_rvalue *, param_as_rvalue, (gcc_jit_param *))                                                              \
  G(gcc_jit_function *, context_new_function,                                                                          \
    (gcc_jit_context *, gcc_jit_location *, unsigned, gcc_jit_type *, const char *, int, gcc_jit_param **, int))       \
  G(gcc_jit_function *, context_get_builtin_function, (gcc_jit_context *, const char *))                               \
  G(gcc_jit_block *, function_new_block, (gcc_jit_function *, const char *))                                           \
  G(gcc_jit_lvalue *, function_new_local, (gcc_jit_function *, gcc_jit_location *, gcc_jit_type *, const char *))      \
  G(gcc_jit_lvalue *, context_new_global,                                                                              \
    (gcc_jit_context *, gcc_jit_location *, unsigned, gcc_jit_type *, const char *))                                   \
  G(gcc_jit_rvalue *, lvalue_as_rvalue, (gcc_jit_lvalue *))                                                            \
  G(gcc_jit_rvalue *, lvalue_get_address, (gcc_jit_lvalue *, gcc_jit_location *))                                      \
  G(gcc_jit_lvalue *, lvalue_access_field, (gcc_jit_lvalue *, gcc_jit_location *, gcc_jit_field *))                    \
  G(gcc_jit_lvalue *, rvalue_dereference, (gcc_jit_rvalue *, gcc_jit_location *))                                      \
  G(gcc_jit_lvalue *, context_new_array_access,                                                                        \
    (gcc_jit_context *, gcc_jit_location *, gcc_jit_rvalue *, gcc_jit_rvalue *))                                       \
  G(gcc_jit_rvalue *, context_new_rvalue_from_long, (gcc_jit_context *, gcc_jit_type *, long))                         \
  G(gcc_jit_rvalue *, context_new_rvalue_from_double, (gcc_jit_context *, gcc_jit_type *, double))                     \
  G(gcc_jit_rvalue *, context_null, (gcc_jit_context *, gcc_jit_type *))                                               \
  G(gcc_jit_rvalue *, context_new_string_literal, (gcc_jit_context *, const char *))                                   \
  G(gcc_jit_rvalue *, context_new_rvalue_from_vector,                                                                  \
    (gcc_jit_context *, gcc_jit_location *, gcc_jit_type *, size_t, gcc_jit_rvalue **))                                \
  G(gcc_jit_rvalue *, context_new_unary_op,                                                                            \
    (gcc_jit_context *, gcc_jit_location *, unsigned, gcc_jit_type *, gcc_jit_rvalue *))                               \
  G(gcc_jit_rvalue *, context_new_binary_op,                                                                           \
    (gcc_jit_context *, gcc_jit_location *, unsigned, gcc_jit_type *, gcc_jit_rvalue *, gcc_jit_rvalue *))             \
  G(gcc_jit_rvalue *, context_new_comparison,                                                                          \
    (gcc_jit_context *, gcc_jit_location *, unsigned, gcc_jit_rvalue *, gcc_jit_rvalue *))                             \
  G(gcc_jit_rvalue *, context_new_cast, (gcc_jit_context *, gcc_jit_location *, gcc_jit_rvalue *, gcc_jit_type *))     \
  G(gcc_jit_rvalue *, context_new_bitcast, (gcc_jit_context *, gcc_jit_location *, gcc_jit_rvalue *, gcc_jit_type *))  \
  G(gcc_jit_rvalue *, context_new_call,                                                                                \
    (gcc_jit_context *, gcc_jit_location *, gcc_jit_function *, int, gcc_jit_rvalue **))                               \
  G(gcc_jit_rvalue *, context_new_call_through_ptr,                                                                    \
    (gcc_jit_context *, gcc_jit_location *, gcc_jit_rvalue *, int, gcc_jit_rvalue **))                                 \
  G(void, block_add_eval, (gcc_jit_block *, gcc_jit_location *, gcc_jit_rvalue *))                                     \
  G(void, block_add_assignment, (gcc_jit_block *, gcc_jit_location *, gcc_jit_lvalue *, gcc_jit_rvalue *))             \
  G(void, block_end_with_conditional,                                                                                  \
    (gcc_jit_block *, gcc_jit_location *, gcc_jit_rvalue *, gcc_jit_block *, gcc_jit_block *))                         \
  G(void, block_end_with_jump, (gcc_jit_block *, gcc_jit_location *, gcc_jit_block *))                                 \
  G(void, block_end_with_return, (gcc_jit_block *, gcc_jit_location *, gcc_jit_rvalue *))                              \
  G(void, block_end_with_void_return, (gcc_jit_block *, gcc_jit_location *))                                           \
  G(gcc_jit_extended_asm *, block_add_extended_asm, (gcc_jit_block *, gcc_jit_location *, const char *))               \
  G(void, extended_asm_set_volatile_flag, (gcc_jit_extended_asm *, int))                                               \
  G(void, extended_asm_add_output_operand, (gcc_jit_extended_asm *, const char *, const char *, gcc_jit_lvalue *))     \
  G(void, extended_asm_add_input_operand, (gcc_jit_extended_asm *, const char *, const char *, gcc_jit_rvalue *))      \
  G(void, extended_asm_add_clobber, (gcc_jit_extended_asm *, const char *))                                            \
  G(gcc_jit_case *, context_new_case, (gcc_jit_context *, gcc_jit_rvalue *, gcc_jit_rvalue *, gcc_jit_block *))        \
  G(void, block_end_with_switch,                                                                                       \
    (gcc_jit_block *, gcc_jit_location *, gcc_jit_rvalue *, gcc_jit_block *, int, gcc_jit_case **))

typedef struct GccApi {
#define G(result, name, params) result(*name) params;
  GCC_API(G)
#undef G
} GccApi;

/* The library's enumerations, as far as they are used: C(our name, its name, value). */
/* clang-format off */
#define GCC_CONSTANTS(C)                                                                                               \
  C(GT_VOID, GCC_JIT_TYPE_VOID, 0) C(GT_VOID_PTR, GCC_JIT_TYPE_VOID_PTR, 1) C(GT_BOOL, GCC_JIT_TYPE_BOOL, 2)           \
  C(GT_CHAR, GCC_JIT_TYPE_CHAR, 3) C(GT_UCHAR, GCC_JIT_TYPE_UNSIGNED_CHAR, 5) C(GT_INT, GCC_JIT_TYPE_INT, 8) C(GT_UINT, GCC_JIT_TYPE_UNSIGNED_INT, 9)             \
  C(GT_LONG, GCC_JIT_TYPE_LONG, 10) C(GT_ULONG, GCC_JIT_TYPE_UNSIGNED_LONG, 11)                                        \
  C(GT_DOUBLE, GCC_JIT_TYPE_DOUBLE, 15) C(GT_SIZE, GCC_JIT_TYPE_SIZE_T, 18)                                            \
  C(GF_EXPORTED, GCC_JIT_FUNCTION_EXPORTED, 0) C(GF_INTERNAL, GCC_JIT_FUNCTION_INTERNAL, 1) C(GF_IMPORTED, GCC_JIT_FUNCTION_IMPORTED, 2)                            \
  C(GF_ALWAYS_INLINE, GCC_JIT_FUNCTION_ALWAYS_INLINE, 3) C(GG_EXPORTED, GCC_JIT_GLOBAL_EXPORTED, 0)                    \
  C(GU_MINUS, GCC_JIT_UNARY_OP_MINUS, 0)                                                                               \
  C(GB_PLUS, GCC_JIT_BINARY_OP_PLUS, 0) C(GB_MINUS, GCC_JIT_BINARY_OP_MINUS, 1)                                        \
  C(GB_MULT, GCC_JIT_BINARY_OP_MULT, 2) C(GB_DIVIDE, GCC_JIT_BINARY_OP_DIVIDE, 3)                                      \
  C(GB_MODULO, GCC_JIT_BINARY_OP_MODULO, 4) C(GB_AND, GCC_JIT_BINARY_OP_BITWISE_AND, 5)                                \
  C(GB_XOR, GCC_JIT_BINARY_OP_BITWISE_XOR, 6) C(GB_OR, GCC_JIT_BINARY_OP_BITWISE_OR, 7)                                \
  C(GB_LOGICAL_AND, GCC_JIT_BINARY_OP_LOGICAL_AND, 8)                                                                  \
  C(GB_LSHIFT, GCC_JIT_BINARY_OP_LSHIFT, 10) C(GB_RSHIFT, GCC_JIT_BINARY_OP_RSHIFT, 11)                                \
  C(GC_EQ, GCC_JIT_COMPARISON_EQ, 0) C(GC_NE, GCC_JIT_COMPARISON_NE, 1) C(GC_LT, GCC_JIT_COMPARISON_LT, 2)             \
  C(GC_LE, GCC_JIT_COMPARISON_LE, 3) C(GC_GT, GCC_JIT_COMPARISON_GT, 4) C(GC_GE, GCC_JIT_COMPARISON_GE, 5)             \
  C(GO_OPTIMIZATION_LEVEL, GCC_JIT_INT_OPTION_OPTIMIZATION_LEVEL, 0)                                                   \
  C(GK_ASSEMBLER, GCC_JIT_OUTPUT_KIND_ASSEMBLER, 0)
/* clang-format on */

enum {
#define C(ours, theirs, value) ours = value,
  GCC_CONSTANTS(C)
#undef C
};

/* Takes the process-wide lock; loads the library if that is still to be done. NULL and *why if the library can't be had
 * (the lock isn't held then). Between guard_enter and guard_leave the process may fork, and the child go on with the
 * guard as its own. */
typedef struct Guard Guard;
Guard *guard_enter(const char **why);
const GccApi *guard_api(const Guard *g);
/* Was anything compiled in this process, or in the one it was forked from before that? */
bool guard_used(const Guard *g);
/* Runs task(data), which may call the library, whose own temporary files go to the folder, which it asks for only
 * once in a process. False if the library ended itself there, as it does when memory is
 * gone: the task was left where it was, what it has of the library is not to be touched again, and this process
 * can't compile any more. */
bool guard_run(Guard *g, const char *folder, void (*task)(void *data), void *data);
void guard_leave(Guard *g);
/* A folder in memory if there is one, else the usual one: for intermediate files. */
const char *guard_temporary_folder(void);
#endif
