/* SPDX-License-Identifier: MIT */
/* The table through which machine code reaches the runtime, so that compiled code holds no address. */
#ifndef ATLED_RT_TABLE_H
#define ATLED_RT_TABLE_H
#include "runtime/runtime.h"

typedef struct RtTable {
  const RtPrimFn *prims;
#define F(name, signature, result, params) result(*name) params;
#include "jit/rt_table.def"
#undef F
} RtTable;
extern const RtTable rt_table;

typedef enum RtTableFn {
#define F(name, signature, result, params) TF_##name,
#include "jit/rt_table.def"
#undef F
  TF_COUNT
} RtTableFn;
extern const char *const rt_table_signatures[TF_COUNT];
extern const size_t rt_table_offsets[TF_COUNT];
/* What the linker calls them: code that is built ahead of time names what it uses. */
extern const char *const rt_table_names[TF_COUNT];
extern const char *const rt_prim_names[RTP_COUNT];
/* Changes when a row does; part of the key of compiled code. */
uint64_t rt_table_version(void);
#endif
