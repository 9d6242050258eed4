/* SPDX-License-Identifier: MIT */
/* The one instance of the runtime table, and what the emitter must know of its rows.
 *
 * Machine code loads Mod.table and calls through a member of it. The shared object
 * with that code may outlive this process in the disk cache; it stays valid as long
 * as every row has the same place and type, hence the version: a hash of the text
 * of all rows and of the object layouts that machine code reads by itself. */
#include "jit/rt_table.h"
#include "jit/jit.h"

const RtTable rt_table = {
    rt_prims,
#define F(name, signature, result, params) name,
#include "jit/rt_table.def"
#undef F
};

const char *const rt_table_signatures[TF_COUNT] = {
#define F(name, signature, result, params) signature,
#include "jit/rt_table.def"
#undef F
};

const char *const rt_table_names[TF_COUNT] = {
#define F(name, signature, result, params) #name,
#include "jit/rt_table.def"
#undef F
};

const char *const rt_prim_names[RTP_COUNT] = {
#define RT(NAME, function, name, type, flags, right) #function,
#include "prims/rt.def"
#undef RT
};

const size_t rt_table_offsets[TF_COUNT] = {
#define F(name, signature, result, params) offsetof(RtTable, name),
#include "jit/rt_table.def"
#undef F
};

uint64_t rt_table_version(void) {
  static const char rows[] =
#define F(name, signature, result, params) #name signature
#include "jit/rt_table.def"
#undef F
      ;
  /* clang-format off */
  static const size_t layout[] = {
      offsetof(Rt, entry_limit), offsetof(Rt, interrupt), offsetof(Rt, unwinding), offsetof(Rt, failed), offsetof(Mod, rt), offsetof(Mod, descs), offsetof(Mod, funcs),
      offsetof(Mod, strings), offsetof(Mod, boxes), offsetof(Mod, globals), offsetof(Mod, table), offsetof(Mod, sites), offsetof(ArrayObj, data), offsetof(ArrayObj, dims), offsetof(ArrayObj, owner), RT_OWN, RT_LOG,
      offsetof(Obj, tag), offsetof(Rt, free_list), offsetof(Rt, live), offsetof(BlockPage, current), RT_PAGE_BYTES,
      offsetof(Rt, desc_closure), offsetof(Rt, desc_env), offsetof(Obj, rc), offsetof(Obj, desc), offsetof(BoxObj, fields), offsetof(ClosureObj, fn), offsetof(ClosureObj, caps),
      offsetof(EnvObj, caps), offsetof(RtFunc, id), offsetof(RtFunc, native), offsetof(RtFunc, direct), offsetof(Mod, peers), offsetof(Rt, worker), offsetof(Rt, foreign_lock), offsetof(JitPin, mod), offsetof(JitPin, captures), RTP_COUNT};
  /* clang-format on */
  return hash_bytes(layout, sizeof layout, hash_bytes(rows, sizeof rows, 0));
}
