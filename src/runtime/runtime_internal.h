/* SPDX-License-Identifier: MIT */
/* What the files of src/runtime share with each other and with the evaluator: blocks, rows of slots, a growing byte
 * buffer that fails by status, and the primitives' C functions, gathered in prims.c. */
#ifndef ATLED_RUNTIME_INTERNAL_H
#define ATLED_RUNTIME_INTERNAL_H
#include "runtime/runtime.h"
#include <string.h>

/* ---- Interrupts -------------------------------------------------------------------------------------------------- */
/* Every loop whose length is the program's looks at this, at least once in RT_STRIDE turns of a few nanoseconds, and
 * ends with an error if it isn't 0. It is one load where nothing was asked for. Where an array is gone through, `i`
 * is the index. */
enum { RT_STRIDE = 4096 };
static inline Status rt_look(Rt *rt) { return rt_interrupted(rt) ? rt_poll(rt) : 0; }
static inline Status rt_look_at(Rt *rt, int64_t i) { return i % RT_STRIDE == 0 ? rt_look(rt) : 0; }

/* Can several threads reach the object? Constants can be reached by all threads that there are. */
static inline bool rt_is_shared(const Rt *rt, const Obj *p) {
  int32_t count = __atomic_load_n(&p->rc, __ATOMIC_RELAXED);
  return count <= 0 && (rt->pool || rt->mods || count > RT_IMMORTAL);
}

/* ---- Logs by index (logs.c) -------------------------------------------------------------------------------------- */
/* Makes the sums of all entries, by index; false: the log is short, or can't have them, and is read as it is. */
bool rt_log_enter(Rt *rt, LogObj *l);
/* The sum of index i of a log after rt_log_enter; NULL: there is none. */
const Slot *rt_log_entry(const LogObj *l, int64_t i);
void rt_log_drop_table(Rt *rt, LogObj *l);

/* ---- Blocks of memory: uncounted, small ones recycled ------------------------------------------------------------ */
void *rt_block_new(Rt *rt, size_t size); /* NULL after rt_error(ERR_MEMORY) */
static inline bool rt_block_is_small(size_t size) {
  return RT_RECYCLE && size > 0 && size <= RT_BLOCK_GRAIN * RT_BLOCK_CLASSES;
}
/* Is this the VM's own thread, and no arm of a fork under way in another one? */
static inline bool rt_is_quiet(const Rt *rt) { return rt->worker == 0 && rt->offered == 0; }
void rt_block_give_back(Rt *rt, BlockPage *p, Obj *block); /* p isn't current, or another thread's */
static inline BlockPage *rt_page_of(const void *block) {
  return (BlockPage *)((uintptr_t)block & ~(uintptr_t)(RT_PAGE_BYTES - 1));
}
static inline void rt_block_free(Rt *rt, void *block, size_t size) {
  if (!rt_block_is_small(size)) {
    heap_realloc(rt->heap, block, size, 0);
    return;
  }
  BlockPage *p = rt_page_of(block);
  if (__builtin_expect(__atomic_load_n(&p->current, __ATOMIC_RELAXED) != rt, 0)) {
    rt_block_give_back(rt, p, block);
    return;
  }
  int class = rt_block_class(size);
  *(Obj **)block = rt->free_list[class];
  rt->free_list[class] = block;
}
/* The same for blocks of arrays, aligned to 64, zero if wanted; size is a multiple of 64. No error is set. */
void *rt_array_block_new(Rt *rt, size_t size, bool zero);
void rt_array_block_free(Rt *rt, void *p, size_t size);

enum {
  RT_SMALL_ARRAY = 1 << 10,
  RT_LISTED_ARRAY = sizeof((Rt *)0)->free_arrays / sizeof(Obj *) * 64,
  RT_KEPT_ARRAYS = 64 << 20
}; /* bytes */

/* A block of this size that was kept; NULL if there is none. */
static inline void *rt_recycled_array(Rt *rt, size_t size) {
  if (!RT_RECYCLE || size > RT_LISTED_ARRAY) return NULL;
  bool paged = rt_block_is_small(size);
  Obj **list = paged ? &rt->free_list[rt_block_class(size)] : &rt->free_arrays[size / 64 - 1];
  void *p = *list;
  if (!p) return NULL;
  memcpy(list, p, sizeof *list);
  if (!paged) rt->free_array_bytes -= size;
  return p;
}

/* Keeps the block; false if it is too large, or so much is kept that all of it should go first. */
static inline bool rt_recycle_array(Rt *rt, void *p, size_t size) {
  if (rt_block_is_small(size)) {
    rt_block_free(rt, p, size);
    return true;
  }
  if (!RT_RECYCLE || size > RT_LISTED_ARRAY || rt->free_array_bytes + size > RT_KEPT_ARRAYS) return false;
  rt->free_array_bytes += size;
  memcpy(p, &rt->free_arrays[size / 64 - 1], sizeof(Obj *));
  rt->free_arrays[size / 64 - 1] = p;
  return true;
}

void rt_descs_free(Rt *rt);
void rt_keep_blocks(Rt *rt); /* from then on the heap can have back what is only kept */
bool rt_give_kept(Rt *rt);   /* gives that back; false: there was none */
/* Room for at least `need` items of `item` bytes in a worklist; false after rt_error. */
bool rt_reserve(Rt *rt, void *array_pointer, int64_t *cap, int64_t need, size_t item);

/* ---- Rows of slots ----------------------------------------------------------------------------------------------- */
void rt_retain_slots(const uint8_t *kinds, int n, const Slot *s);
void rt_release_slots(Rt *rt, const uint8_t *kinds, int n, Slot *s);
int64_t rt_array_length(const ArrayObj *a); /* base elements */
/* The desc of the array that a bag of this desc is when dense. */
static inline const Desc *rt_dense_desc(const Desc *d) { return d->kind == D_BAG ? d->args[1] : d; }
EnvObj *rt_new_env(Rt *rt, RtFunc *fn);
StringObj *rt_string_raw(Rt *rt, size_t n); /* bytes to be filled in by the caller at once */
TextPlace *rt_string_place(StringObj *s);   /* NULL in a short one */
/* An array of strings of one dimension, all NULL. */
ArrayObj *rt_new_strings(Rt *rt, int64_t n);
double rt_now(void); /* monotonic seconds */

/* Raises the error that the program lacks the right. `what`: a primitive, or a C function. */
Status rt_deny(Rt *rt, Right right, const char *what, uint32_t site);

/* Waits until the file is ready, or for an interrupt, by which alone it fails; whether it is its next call tells. */
Status rt_wait_for(Rt *rt, int fd, short events);
/* A text for standard error, behind all output, which leaves a line under way as it is. */
Status rt_put_error(Rt *rt, const char *text, size_t n, uint32_t site);
int rt_terminal_columns(const Rt *rt);
size_t rt_line_length(const char *line, size_t n); /* without its end, \n or \r\n, if it has one */
Status rt_lines(Rt *rt, const char *text, size_t n, ArrayObj **out);

/* Like utf8_valid; *valid is the answer. Fails by interrupts alone. */
Status rt_check_text(Rt *rt, const char *s, size_t n, bool *valid, size_t *bad);

/* ---- Byte buffers ------------------------------------------------------------------------------------------------ */
typedef struct Buf {
  Rt *rt;
  char *data;
  size_t len, cap;
  bool failed;
} Buf;
void buf_add(Buf *b, const char *s, size_t n); /* sets failed after rt_error: no memory, or an interrupt */
void buf_reserve(Buf *b, size_t n);            /* makes room for n more bytes; sets failed after rt_error: no memory */
void buf_puts(Buf *b, const char *z);
void buf_addc(Buf *b, char c);
void buf_free(Buf *b);
/* Frees the buffer; the string of its bytes goes to *out. */
Status buf_string(Buf *b, Obj **out);
void rt_format_float(Buf *out, const Format *f, double x);
void rt_format_int(Buf *out, const Format *f, int64_t x);
/* As rt_show_to, with the format for the leaves of one kind, D_FLOAT or D_INT. */
Status rt_show_formatted(Rt *rt, const Desc *type, const Slot *value, DescKind leaves, const Format *f, Buf *out);
Status rt_show_to(Rt *rt, const Desc *type, const Slot *value, bool bare, Buf *out);
/* The beginning of it for a person, in one line. */
typedef struct Short {
  size_t limit;    /* bytes, about */
  int64_t longest; /* elements of an array that isn't cut in the middle */
  int digits;      /* of floats in arrays; 0: all */
  bool element;    /* the value itself is in one */
} Short;
Status rt_show_short(Rt *rt, const Desc *type, const Slot *value, Short how, Buf *out);

typedef enum CompareMode { MODE_EQUAL, MODE_COMPARE, MODE_ORDER, MODE_CLOSE } CompareMode;
/* MODE_COMPARE: -1, 0, 1, or 2 (unordered); MODE_ORDER: -1, 0, 1; else 1 (alike) or 0. */
Status rt_compare_values(Rt *rt, CompareMode mode, const Desc *d, const Slot *a, const Slot *b, int *result);
/* The same for values that MODE_ORDER finds alike, on every machine. Functions count for nothing. */
Status rt_hash_value(Rt *rt, const Desc *d, const Slot *a, uint64_t *hash);
Status rt_argsort(Rt *rt, const Desc *array, const ArrayObj *a, ArrayObj **out);

/* ---- Primitives -------------------------------------------------------------------------------------------------- */
/* The primitive `matrix_product` by the code for the kind-th best kind of processor that this one can stand for. */
Status rt_matmul(Rt *rt, int kind, const Slot *args, Slot *res, uint32_t site);
bool rt_matmul_has_kind(int kind);

#define PRIM(name)  Status name(Rt *rt, const Desc *type, const Slot *args, Slot *res, uint32_t site)
#define PRIM_UNUSED ((void)rt, (void)type, (void)args, (void)res, (void)site)
static inline const StringObj *slot_string(const Slot *s) { return (const StringObj *)s->p; }
static inline ArrayObj *slot_array(const Slot *s) { return (ArrayObj *)s->p; }
/* What the host gave; NULL also where there is no value. */
static inline uintptr_t slot_opaque(const Slot *s) { return s->p ? (uintptr_t)((const OpaqueObj *)s->p)->pointer : 0; }
#define RT(NAME, function, name, type, flags, right) PRIM(function);
#include "prims/rt.def"
#undef RT
void rt_regexes_free(Rt *rt);
Status rt_read_text(Rt *rt, const StringObj *path, Buf *out, uint32_t site); /* the file's valid UTF-8 text */
uint64_t rt_threefry(uint64_t key0, uint64_t key1, uint64_t counter0, uint64_t counter1, uint64_t *second);
/* A number that fills the whole text, blanks around it allowed. */
bool rt_parse_float(const char *s, size_t n, double *out);
#endif
