/* SPDX-License-Identifier: MIT */
/* Run-time values and what compiled code and the evaluator call.
 *
 * Every value is a row of 8-byte slots, known from its type: int, bool: one integer slot; float: one float slot;
 * string, array, variant, function, bag: one pointer slot; unit, token: none; tuples and records: their components'
 * slots in order. Tuples are never objects. Pointers to objects may be NULL (an empty accumulator, or "no value") or
 * an immediate (bit 0 set: a constructor without payload, tag << 1 | 1); rt_retain and rt_release accept both.
 *
 * Ownership is counted: an object is freed when its last reference is released. Objects with rc <= RT_IMMORTAL
 * belong to a module and are never freed by counts. Release, equality, show are iterative.
 *
 * Fallible functions return a status: 0, or non-zero with the error in rt->error. Nothing here prints, exits,
 * aborts or jumps; allocation goes through rt->heap. */
#ifndef ATLED_RUNTIME_H
#define ATLED_RUNTIME_H
#include "support/functions.h"
#include "support/rights.h"
#include "support/support.h"

typedef struct Rt Rt;
typedef struct Mod Mod;
typedef struct Obj Obj;
typedef struct Desc Desc;
typedef struct RtFunc RtFunc;
typedef struct LFunc LFunc; /* lower/lir.h */
typedef struct LModule LModule;
typedef struct BlockPage BlockPage; /* runtime/blocks.c */
typedef struct Segment Segment;
typedef struct DescTable DescTable; /* runtime/descs.c */
typedef struct RtHost RtHost;
typedef struct Pool Pool; /* runtime/pool.h */
typedef union Slot {
  int64_t i;
  double f;
  Obj *p;
  void *raw;
} Slot;
typedef enum SlotKind { SLOT_INT, SLOT_FLOAT, SLOT_PTR } SlotKind;
typedef int32_t Status;

/* ---- Types at run time (one Desc per IR type, made by lowering, shared by all modules of a VM) ------- */
/* clang-format off */
typedef enum DescKind { D_INT, D_FLOAT, D_BOOL, D_STRING, D_UNIT, D_TUPLE, D_ARRAY, D_FUN, D_VARIANT, D_BAG, D_ENV, D_OPAQUE } DescKind;
/* clang-format on */
struct Desc {
  uint64_t id; /* a hash of all that it consists of: types that are equal at run time have the same. 0: unknown */
  DescKind kind;
  int nslots;
  uint8_t *slots;          /* SlotKind of each */
  const Desc **slot_descs; /* made by lowering: for pointer slots the Desc of what they point to, else NULL */
  int link;                /* the slot of its only pointer, if all others are floats; else -1 */
  int n;
  /* tuple components; ctor payloads (D_UNIT: none); array, bag: [0] is the base element; bag: [1] is the array it is
   * when dense */
  const Desc **args;
  const char **names; /* record fields; constructors; NULL for a plain tuple */
  int rank;           /* array, bag */
  bool pointers;      /* array, bag: its base element has pointer slots */
  int cons;           /* variant: 1 + the constructor that is shown as head :: tail; its payload is a pair, the tail of
                            the type itself. 0: none */
  const char *name;
  const char *shown_as; /* variant: a tree, shown as this and the array of what lies between its subtrees; NULL */
};

/* ---- Objects ------------------------------------------------------------------------------------------ */
/* Counts: n > 0 is n references, all in one thread. A negative one above RT_IMMORTAL is that of an object that several
 * threads can reach: -n is n references, and it is changed atomically (shared.c). A count that runs over becomes
 * immortal. The tag is a box's: of its constructor. */
struct Obj {
  int32_t rc, tag;
  const Desc *desc;
};
#define RT_IMMORTAL (INT32_MIN / 2)
#define RT_OWN      0 /* the tag of arrays, which tells them from logs */
#define RT_LOG      1
/* Bytes of UTF-8, a NUL, and in a long string, aligned, a TextPlace: a place that was looked for before, from which the
 * next one is found (strings.c). */
typedef struct StringObj {
  Obj h;
  int64_t len;
  int64_t points; /* how many characters; -1: not counted yet */
  char bytes[];
} StringObj;
typedef struct TextPlace {
  int64_t point, byte; /* the character that begins at this byte */
} TextPlace;
/* Array, also a dense bag. One block of product(dims) * base-element slots, 64-byte aligned. */
typedef struct ArrayObj {
  Obj h;
  Slot *data;
  Obj *owner;     /* whose block it is, if this is a view; NULL: inline after the header */
  size_t bytes;   /* of the allocation, header included */
  int64_t cap;    /* slots allocated (growable stacks) */
  int64_t dims[]; /* desc->rank */
} ArrayObj;
typedef struct BoxObj {
  Obj h;
  Slot fields[];
} BoxObj; /* a variant with a payload */
/* A value of the host's: D_OPAQUE, of a variant type without constructors. */
typedef struct OpaqueObj {
  Obj h;
  void *pointer;
  void (*finalise)(void *pointer); /* NULL: nothing happens when it is freed */
  Obj *owner;                      /* of a copy: the original, which has the finaliser; else NULL */
} OpaqueObj;
typedef struct ClosureObj {
  Obj h;
  RtFunc *fn;
  Slot caps[];
} ClosureObj;
/* A bag that is not dense yet: entries (flat index of the base element, its slots). h.desc kind D_BAG.
 * A D_BAG pointer is NULL, a LogObj (h.desc->kind == D_BAG) or a dense ArrayObj (h.desc->kind == D_ARRAY). */
typedef struct LogObj {
  Obj h;
  int64_t n, len, cap;
  Slot *entries;
  /* For reading (logs.c): the sum of each index among the entries before `entered`, and sums by index; or NULL. */
  Slot *sums;
  int64_t *table, table_size, nsums, entered;
} LogObj;
typedef struct EnvObj {
  Obj h;
  RtFunc *fn;
  Slot caps[];
} EnvObj; /* accumulators for a closure's captures */

/* A function that has run-time identity: the code of a closure, or an entry. */
struct RtFunc {
  /* Machine code, called with `native`, or NULL: evaluate `code`. It takes the arguments that `taken` says, also when
   * it fails. */
  Status (*entry)(Mod *native, const Slot *args, Slot *res);
  Mod *native;  /* what its machine code refers to */
  void *direct; /* NULL, or the machine code as other fragments call it: arguments and results in registers. Set after
                   `native`, with which it is called */
  Mod *mod;
  LFunc *code;
  uint64_t id;           /* of its graph, stable between runs */
  int nparams, nresults; /* slots, captures included in nparams (own parameters first) */
  int ncaps;             /* capture slots */
  uint8_t *param_kinds;  /* SlotKind of all parameters; the last ncaps are the captures */
  bool *taken;           /* of all parameters: its code takes the reference, and borrows others */
  uint8_t *acc_kinds;    /* slots of its EnvObj */
  int nacc;
  const Desc **acc_descs; /* per EnvObj slot: for pointer slots its Desc, else NULL */
  bool plain;             /* numbers go in and come out, and nothing of it fails, takes memory, or asks for the time */
};

/* ---- Errors --------------------------------------------------------------------------------------------- */
typedef enum ErrorKind {
  /* clang-format off */
  ERR_NONE, ERR_FAIL, ERR_ASSERT, ERR_INDEX, ERR_SLICE, ERR_SHAPE, ERR_IRREGULAR, ERR_DIVISION, ERR_RANGE, ERR_MATCH,
  ERR_STACK, ERR_MEMORY, ERR_INTERRUPT, ERR_TIME, ERR_IO, ERR_FORMAT, ERR_TEXT, ERR_CSV, ERR_REGEX, ERR_REGEX_LIMIT, ERR_FOREIGN, ERR_HOST, ERR_RULE, ERR_EFFECT,
  ERR_OUTPUT, ERR_DENIED, ERR_EXIT, /* the host takes no more; the program ended itself: no error to anybody */
  ERR_STOPPED, ERR_ELSEWHERE, /* nobody sees them: an arm before this one failed; only the VM's own thread can do it */
  ERR_OUTPUT_LIMIT, /* more than a call may write */
  ERR_NAN, ERR_INFINITY /* where the program is to end there */
  /* clang-format on */
} ErrorKind;
typedef struct RtError {
  ErrorKind kind;
  uint32_t site;
  char message[1024];          /* complete: "index 7 is out of bounds for an array of length 3" */
  Obj *text;                   /* what the program gave `fail`, whole; else NULL */
  uint32_t trace[LIMIT_TRACE]; /* call sites, innermost first */
  int ntrace;
  int64_t depth; /* calls left, also those beyond the array; from RT_DEPTH_UNKNOWN on nobody knows */
  /* a text of the program in the message, and the byte in it that is wrong; length 0: none */
  struct {
    int start, length, at;
  } quote;
} RtError;
#define RT_DEPTH_UNKNOWN (INT64_MAX / 2)

/* A status, neither success nor failure: what was called has gone, and a call of a closure is left to be made, whose
 * results are its own (rt_leave_call). Whoever gets it makes the call (rt_make_call), or hands the status on. Of so
 * many arguments. */
enum { RT_TAIL = 2 };

typedef enum RtStream { RT_OUT, RT_ERR } RtStream; /* as AtledStream */
/* What was read and not consumed yet: bytes first to last. */
typedef struct RtInput {
  char *data;
  size_t first, last, cap;
  int64_t lines; /* consumed */
} RtInput;

/* A folder below which files may be used (places.c). */
typedef struct RtFolder {
  const char *name; /* absolute, as path_normalise leaves it */
  const char *real; /* the same without symbolic links; or `name` again */
  unsigned rights;  /* of RIGHT_READ, RIGHT_WRITE, RIGHT_IMPORT */
} RtFolder;

/* The line under way on standard error (status_line.c). */
typedef struct RtLine {
  bool under_way;
  bool output_begun; /* what was printed last is no whole line */
  int columns;       /* of the text that stands there */
} RtLine;

/* ---- The VM's run-time state; the first members are read by machine code: keep their order ------------------ */
enum { RT_INTERRUPTED = 1, RT_CLOCK = 2, RT_STOP = 3 };
enum { RT_BLOCK_GRAIN = 8, RT_BLOCK_CLASSES = 32 };
/* Size class of a block of `size` bytes, at most RT_BLOCK_GRAIN * RT_BLOCK_CLASSES. */
static inline int rt_block_class(size_t size) { return (int)((size - 1) / RT_BLOCK_GRAIN); }
#if defined(__SANITIZE_ADDRESS__)
enum { RT_RECYCLE = 0 };
#else
enum { RT_RECYCLE = 1 };
#endif
enum { RT_PAGE_BYTES = 1 << 15 };
/* The start of a page of blocks, which is aligned to its size: blocks.c. */
struct BlockPage {
  BlockPage *next, *prev; /* among its class's pages with free blocks, or among the spare pages */
  Obj *free;              /* blocks given back while the page wasn't current */
  Segment *segment;
  int32_t class, nfree; /* length of `free` */
  /* bytes from the start of the page: the first block that was never linked; the end of the last */
  int32_t linked, end;
  Rt *owner;   /* whose memory it is: other threads give blocks back by Rt.returned */
  Rt *current; /* the owner, if its free blocks are those of Rt.free_list; else NULL */
};
struct Rt {
  char *entry_limit; /* entries of recursive machine code below it look closer: stack_limit, or UINTPTR_MAX while
                            an interrupt is pending or all entries shall fail (see rt_interrupt, rt_unwind) */
  /* RT_INTERRUPTED; RT_CLOCK: look at the deadline; RT_STOP: at the fork that the job under way belongs to. Set by
   * other threads: see rt_interrupted */
  int32_t interrupt;
  int32_t strict;             /* strict floating point */
  const Functions *functions; /* rt_init: the C library's. Open where code is run that calls them */
  int32_t unwinding;          /* every entry of machine code fails */
  int32_t failed;             /* the call under way of a function with two results ends with an error */
  char *stack_limit;          /* machine stack must stay above: rt_set_stack_limit */
  Heap *heap;
  int64_t live; /* objects that counts will free */
  RtError error;
  /* What is printed, and where to; false: nothing more is taken. NULL: it goes nowhere. */
  bool (*write)(void *user, RtStream to, const char *text, size_t n);
  bool (*terminal)(void *user); /* do errors go to a terminal? NULL: no */
  bool (*flush)(void *user);    /* what was written shall be seen; NULL: nothing to do */
  /* Takes data of a media type, and the same as text; false: as for `write`. NULL: text alone can be shown. */
  bool (*display)(void *user, const char *type, const StringObj *data, const StringObj *text);
  /* Standard input: at least a byte of what comes next, 0 at its end, -1 with errno. NULL: descriptor 0 */
  int64_t (*read)(void *user, char *to, size_t n);
  const char *(*place)(void *user, uint32_t site); /* the program's own: "file:line:column", or ""; NULL: no memory */
  /* The host's function of this number, which lives as long as code that calls it; NULL: it has no host functions */
  const RtHost *(*host)(void *user, int number);
  RtInput input;
  RtLine line;
  int exit_status; /* after ERR_EXIT */
  void *user;
  const char *const *args; /* program arguments */
  int nargs;
  unsigned rights;         /* what the program may do anywhere; rt_init: everything */
  const RtFolder *folders; /* and below these folders */
  int nfolders;
  void *regexes;    /* cache of compiled patterns */
  DescTable *descs; /* those of all modules */
  const Desc *desc_closure, *desc_env;
  const Desc *desc_string, *desc_string_array, *desc_float_array, *desc_int_array, *desc_float_matrix,
      *desc_string_matrix, *desc_int_pairs;
  /* blocks for small objects by size class, linked by their first words: blocks.c */
  Obj *free_list[RT_BLOCK_CLASSES];
  BlockPage *current_page[RT_BLOCK_CLASSES], *pages[RT_BLOCK_CLASSES], *spare_pages;
  Obj *returned; /* blocks of its pages that other threads gave back, linked; changed atomically */
  Segment *segments;
  int npages, used_pages; /* pages of all segments; those that hold blocks */
  int peak, last_peak;    /* the most used_pages of this period and of the one before */
  int64_t given;          /* pages that became empty in this period */
  Obj *free_arrays[512];  /* recycled blocks of arrays, up to 32 KB, by their size in units of 64 */
  size_t free_array_bytes;
  struct LargeBlock {
    void *p;
    size_t size;
  } large[32]; /* large blocks of arrays that are kept for the next ones of their size, in turn */
  int large_next;
  size_t large_bytes;
  /* Evaluates a function, with the convention of RtFunc.entry; set by the API to src/eval's. */
  Status (*evaluate)(Rt *rt, RtFunc *f, const Slot *args, Slot *res);
  void *eval_stack; /* the evaluator's */
  int64_t budget;   /* evaluator instructions left until tick(ticker, frame) is called, which sets it; < 0: unlimited */
  void (*tick)(void *ticker, void *frame);
  void *ticker;
  int64_t *operations; /* for tests: where the evaluator counts those of src/eval/count.c in what it decodes; NULL */
  /* Of a study: gets what the traps that the evaluator meets see, which don't fail then (ir/traps.c). NULL */
  void (*record)(void *recorder, const char *text, const Slot *args, int n, uint32_t site);
  void *recorder;
  uint64_t coin;       /* for tests: whether machine code runs where there is some is up to chance. 0: it does */
  uint64_t steal;      /* for tests: state of the chance that decides which arm of a fork comes first. 0: the first */
  double deadline;     /* monotonic seconds, 0: none */
  int64_t arrays_made; /* blocks given to arrays, accumulators among them */
  int64_t array_bytes; /* of these, those given again and, by the evaluator, those made in another's place */
  int64_t evaluations; /* calls that went to the evaluator, from outside or from machine code */
  size_t eval_stack_limit; /* bytes of evaluator frames */
  struct {
    Obj *closure;
    int nargs;
    Slot args[LIMIT_TAIL_ARGUMENTS];
  } tail; /* the call that is left, after RT_TAIL */
  /* Of a context of native pointers: what machine code of module k refers to, see Mod.number. NULL in a VM's own */
  Mod *mods;
  /* An array in a host's memory, or NULL: see rt_new_array_or_gift. Its count is RT_IMMORTAL: nothing frees it. */
  ArrayObj *gift;
  void *foreign_lock; /* of the pool: rt_enter_foreign. NULL: there is none */
  void *shared_lock;  /* of the pool: rt_lock_shared. NULL: no other thread sees what this one does */
  Pool *pool;         /* whose thread this is; NULL: forks run here, or begin_pool makes it at the first one */
  void (*begin_pool)(void *user);
  int32_t worker;     /* its number there */
  int32_t alone;      /* forks under way that may not offer arms */
  int32_t ticks;      /* how often this thread ticked */
  int32_t attached;   /* of a worker: what it knows of tiers.c's count */
  bool compiling;     /* at the last tick machine code was being made; not in workers */
  int32_t fork_depth; /* forks that the function under way is in, in other threads too */
  int64_t offered;    /* arms that this thread offered, and that haven't ended */
  struct Job *job;    /* the arm of another fork that runs here, innermost; NULL: none */
};
/* A C function that a module names, with its slots: kinds as in lir.h; result R_RAW if it has none. A string is a
 * `const char *` to C, an array two arguments, `const T *` and `int64_t`. */
typedef struct LForeign {
  const char *library, *symbol;
  int nargs;
  uint8_t *kinds;
  uint8_t result;
  uint8_t sized; /* it gives an array of `result`s, whose length is the last argument: to C, one to fill */
} LForeign;
/* A function of the host's (support/host_library.h), which takes and gives slots of any types, as many as there are:
 * `result` says nothing of it. */
struct RtHost {
  /* args borrowed, res owned; may run in any thread with an rt of its own, if the host said so */
  Status (*call)(const RtHost *h, Rt *rt, const Slot *args, Slot *res, uint32_t site);
};
/* A module in a VM: what machine code reaches through its first argument. */
struct Mod {
  Rt *rt;
  const Desc **descs;
  RtFunc **funcs;
  Obj **strings;               /* immortal StringObj */
  Obj **boxes;                 /* immortal BoxObj */
  Slot **globals;              /* address of each global's first slot */
  const struct RtTable *table; /* functions below, by position: rt_table.def */
  void *dl;                    /* the shared object, if compiled */
  uint32_t site_base;          /* the VM's number of site k of the code is site_base + k */
  uint32_t *sites;             /* of a fragment: the VM's numbers of its sites; else NULL */
  LModule *code;
  struct JitFragment *fragments; /* machine code of parts of it: src/jit/fragments.c */
  int ndescs, nfuncs, nstrings, nboxes, nglobals, nsites;
  void **decoded;                /* the evaluator's form of each function, made on first use */
  const LForeign *foreign_rows;  /* C functions that it names */
  struct ForeignCode **foreigns; /* the same, found; made at their first calls */
  Mod *whole;                    /* of a fragment: the module it is of, which outlives it; its C functions are those */
  int *whole_foreigns, nforeigns;
  int number; /* of a module of native pointers: its row in Rt.mods */
  /* The module as each thread of the VM's pool sees it, by Rt.worker: copies with an Rt and a decoded form of their
   * own. Without a pool: this one. */
  Mod **peers, *self;
  int npeers;
};
/* What the thread of rt sees of the module. */
static inline Mod *mod_here(const Rt *rt, const Mod *m) { return m->peers[rt->worker]; }
/* Calls the module's C function k, which is found first if it hasn't been called yet. The result is the caller's. */
Status rt_foreign_call(Mod *m, int64_t k, const Slot *args, Slot *res, uint32_t site);
/* Around calls of C functions that threads call one at a time. The first one's result is the second one's argument. */
void *rt_enter_foreign(Rt *rt);
void rt_leave_foreign(Rt *rt, void *lock);
/* What the VM's own thread alone may do, in a worker's thread: an error by which the job ends, to be done by that one.
 * 0 in the own thread. */
Status rt_leave_worker(Rt *rt);
/* Its address; NULL after rt_error. */
void *rt_foreign_address(Mod *m, int64_t k, uint32_t site);
/* The host's function that it is, found now if it wasn't yet; NULL after rt_error, and for a C function. */
const RtHost *rt_foreign_host(Mod *m, int64_t k);
void rt_foreigns_free(Mod *m, int n); /* what was found */
static inline uint32_t mod_site(const Mod *m, uint32_t site) { return site ? m->site_base + site : 0; }
static inline bool rt_flip(Rt *rt) {
  if (__builtin_expect(rt->coin == 0, 1)) return true;
  rt->coin = rt->coin * 6364136223846793005u + 1442695040888963407u;
  return rt->coin >> 63;
}
void rt_init(Rt *rt, Heap *heap); /* registers the built-in descs too */
/* The rights that the program has anywhere or below a folder. */
unsigned rt_rights(const Rt *rt);
void rt_destroy(Rt *rt); /* frees caches; live objects are the caller's concern */
/* All that objects lie in: of a program without patterns, descriptors of its own and input that is all to be freed. */
void rt_blocks_free(Rt *rt);

/* The VM's descriptor of this type, which lives as long as the VM: a copy of d, of which nothing is needed afterwards,
 * or of an equal one. One without an id is its own. NULL after rt_error(ERR_MEMORY). */
const Desc *rt_desc(Rt *rt, const Desc *d);

/* Fails: fills rt->error with a formatted message, returns 1. The first error stays. */
Status rt_error(Rt *rt, ErrorKind kind, uint32_t site, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* a caller adds its call site while the error passes through; becomes the error's own site if it has none */
void rt_trace(Rt *rt, uint32_t site);
bool rt_end_line(Rt *rt); /* ends what Progress has begun on standard error; false: it isn't taken */
void rt_clear_error(Rt *rt);

/* ---- Streams of the C library, for hosts without functions for output ------------------------------------------- */
/* Nothing waits longer for a reader than interrupts and the time limit let it, and no signal comes of it. False: the
 * stream failed, or rt->error is set. */
bool rt_write_stream(Rt *rt, FILE *f, const char *text, size_t n);
bool rt_flush_stream(Rt *rt, FILE *f);

/* ---- Objects: constructors return NULL after rt_error(ERR_MEMORY) ----------------------------------------------- */
static inline bool rt_is_object(const Obj *p) { return p && !((uintptr_t)p & 1); }
/* Marks all objects that can be reached from it, or NULL, as ones that other threads may reach, too. False after
 * rt_error: some of them are. */
bool rt_share(Rt *rt, Obj *p);
/* The same for an object that another thread is to use, and this one, until then, isn't: what it alone holds stays as
 * it is. */
bool rt_hand_over(Rt *rt, Obj *p);
void rt_retain(Obj *p);
void rt_release(Rt *rt, Obj *p);
/* Is the caller's reference the only one? Then the object may be changed in place: it is no longer shared. */
bool rt_unshare(Obj *p);
static inline bool rt_alone(Obj *p) {
  int32_t count = __atomic_load_n(&p->rc, __ATOMIC_RELAXED);
  return count == 1 || (__builtin_expect(count == -1, 0) && rt_unshare(p));
}
Obj *rt_new_string(Rt *rt, const char *s, size_t n);
/* Is the text a regular expression? It stays compiled for a while. */
Status rt_try_pattern(Rt *rt, const char *text, size_t length);
/* desc: D_ARRAY or D_BAG's dense array desc; zeroed if `zero` or if elements hold pointers. */
ArrayObj *rt_new_array(Rt *rt, const Desc *desc, const int64_t *dims, bool zero);
/* The same, but the first array of the type and length of rt->gift, a vector, is that. */
ArrayObj *rt_new_array_or_gift(Rt *rt, const Desc *desc, const int64_t *dims, bool zero);
/* The same in the block of `spare` (or NULL), an array of this desc that is taken, if its size does. */
ArrayObj *rt_renew(Rt *rt, const Desc *desc, ArrayObj *spare, const int64_t *dims, bool zero);
/* Takes a (or NULL); what is kept from now on. That is `spare`, but instead of NULL it is a, if that is an array of
 * this desc, which has numbers, of at most RT_KEPT_SPARE bytes, and nobody else holds it. Else a is released. */
enum { RT_KEPT_SPARE = 1 << 15 };
Obj *rt_keep(Rt *rt, const Desc *desc, Obj *spare, Obj *a);
/* View on part of a: dims are the view's (rank of desc), starting at slot offset. Retains the block. */
ArrayObj *rt_view(Rt *rt, const Desc *desc, ArrayObj *a, int64_t slot_offset, const int64_t *dims);
/* Takes a reference; returns an unshared array with the same elements (a itself if its count is 1 and it is no
 * view). */
ArrayObj *rt_unique(Rt *rt, ArrayObj *a);
/* An unshared array with the same elements. */
ArrayObj *rt_copy(Rt *rt, const ArrayObj *a);
/* Makes room for index i in a growable stack of rows of row_slots slots each (dims[0] is set afterwards). */
ArrayObj *rt_grow(Rt *rt, ArrayObj *a, int64_t i, int64_t row_slots);
/* desc NULL: its type isn't known yet. Without memory nothing is finalised. */
OpaqueObj *rt_new_opaque(Rt *rt, const Desc *desc, void *pointer, void (*finalise)(void *pointer));
extern const Desc rt_desc_of_no_type;                         /* until then */
BoxObj *rt_new_box(Rt *rt, const Desc *variant, int64_t tag); /* fields to be filled in by the caller at once */
/* Takes a box whose fields have been read: from then on they hold references of their own. */
void rt_open_box(Rt *rt, BoxObj *b);
/* The same, but where nobody else holds it the box stays, with NULL for what its fields referred to; else NULL. */
BoxObj *rt_empty_box(Rt *rt, BoxObj *b);
/* Makes an emptied box one of another type or constructor, with as many slots; fields to be filled in at once. */
static inline void rt_retag_box(BoxObj *b, const Desc *variant, int64_t tag) {
  b->h.desc = variant;
  b->h.tag = (int32_t)tag;
}
ClosureObj *rt_new_closure(Rt *rt, RtFunc *fn);
EnvObj *rt_new_env(Rt *rt, RtFunc *fn); /* captures to be filled in by the caller at once */
/* Calls a closure: args are its own parameters' slots, borrowed; results are owned by the caller. */
Status rt_apply(Rt *rt, Obj *closure, const Slot *args, int nargs, Slot *res);
/* The same, but of an argument that is `moved` and that its code takes, the reference is given to it: that slot is NULL
 * afterwards, however the call ended. */
Status rt_apply_moving(Rt *rt, Obj *closure, Slot *args, const bool *moved, int nargs, Slot *res);
/* Does the closure's code take its k-th argument slot? */
bool rt_takes(const Obj *closure, int k);
/* Leaves such a call to the caller, who gets RT_TAIL: the closure and the arguments are kept until it has been made. */
void rt_leave_call(Rt *rt, Obj *closure, const Slot *args, int nargs);
/* Makes the call that was left, and those that are left by it, one after the other. */
Status rt_make_call(Rt *rt, Slot *res);
/* Calls any RtFunc with all its parameters, borrowed. */
Status rt_call(Rt *rt, RtFunc *f, const Slot *args, Slot *res);
/* The same where it takes what its code takes: by machine code, or by the evaluator. RT_TAIL is handed on. */
Status rt_enter(Rt *rt, RtFunc *f, const Slot *args, Slot *res);

/* Whatever an operation here would take stays the caller's when it fails; its contents may then be incomplete. */
/* ---- Bags. A bag argument is taken, the result is owned; elem is the Desc of an entry (desc->args[0]) ---------- */
/* All: desc is the D_BAG desc; total = number of base elements of the whole; i = flat base-element index. */
/* A status and a pointer, in two machine registers. */
typedef struct RtPair {
  int64_t status;
  Obj *value;
} RtPair;
/* v taken */
Status rt_acc_at(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, const Slot *v);
/* the same for a float and rank 1; bag taken, the new one given */
RtPair rt_acc_float(Rt *rt, const Desc *desc, Obj *bag, int64_t n, int64_t i, double v);
/* adds a bag for elements offset…; sub taken. Also SHIFT */
Status rt_acc_sub(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count, Obj *sub);
/* borrowed in, owned out; of a log the entries are put in order for this and later reads */
Status rt_bag_get(Rt *rt, const Desc *desc, Obj *bag, int64_t i, Slot *out);
/* BAG_SLICE, partial BAG_GET: view or null */
Status rt_bag_sub(Rt *rt, const Desc *sub_desc, Obj *bag, int64_t offset, int64_t count, const int64_t *sub_dims,
                  Obj **out);
Status rt_bag_take(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, Slot *out);
Status rt_bag_take_sub(Rt *rt, const Desc *sub_desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count,
                       const int64_t *sub_dims, Obj **out);
/* CUPDATE; v taken */
Status rt_bag_set(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t i, const Slot *v);
Status rt_bag_set_sub(Rt *rt, const Desc *desc, Obj **bag, const int64_t *dims, int64_t offset, int64_t count,
                      Obj *sub);
/* bag taken */
Status rt_bag_fill(Rt *rt, const Desc *array, Obj *bag, const int64_t *dims, Obj **out);
/* Sum of two accumulators of one pointer slot described by desc (D_BAG, D_VARIANT that is nullable, D_ENV); both
 * taken. */
Status rt_cadd(Rt *rt, const Desc *desc, Obj *a, Obj *b, const int64_t *dims_or_null, Obj **out);

Status rt_out_of_memory(Rt *rt);
/* n zeroed elements of the compiler's tables that running code uses, never NULL for n = 0; NULL: the error is raised.
 * They go back with the same numbers. */
void *rt_zeroed(Rt *rt, size_t n, size_t size);
void rt_give_back(Rt *rt, void *p, size_t n, size_t size); /* p NULL: nothing */
void rt_release_many(Rt *rt, const Slot *s, int n);
/* NULL is constructor 0 of a nullable variant. */
static inline int64_t rt_tag(const Obj *p) {
  if (!p) return 0;
  return (uintptr_t)p & 1 ? (int64_t)((uintptr_t)p >> 1) : p->tag;
}
static inline Obj *rt_immediate(int64_t tag) { return (Obj *)((uintptr_t)tag << 1 | 1); }

/* ---- The functions of src/prims/rt.def, by id -------------------------------------------------------------------- */
/* args borrowed, res owned */
typedef Status (*RtPrimFn)(Rt *rt, const Desc *type, const Slot *args, Slot *res, uint32_t site);
typedef enum RtPrimId {
#define RT(NAME, function, name, type, flags, right) RTP_##NAME,
#include "prims/rt.def"
#undef RT
  RTP_COUNT
} RtPrimId;
extern const RtPrimFn rt_prims[RTP_COUNT];

/* Scalar operations beyond C's own, shared by evaluator and machine code (called through the table). */
/* functions_mend */
void rt_mend(int32_t name, const double *x, const double *y, double *r, int32_t n);
double rt_powi(const Functions *f, double x, int64_t n);
int64_t rt_ipow(int64_t x, int64_t n);
int64_t rt_int_of_float(double x);
double rt_digamma(double x);
double rt_trigamma(double x);
double rt_fmin(double a, double b);
double rt_fmax(double a, double b);
double rt_sign(double x);  /* -1, 1, or x itself where it is 0 or NaN */
double rt_round(double x); /* half away from zero */

/* A value as source would write it. */
Status rt_show(Rt *rt, const Desc *type, const Slot *value, bool bare_strings, Str *out);
/* The same laid out for a person, and cut to a window: view.c. */
typedef struct View {
  int columns, lines; /* of the window */
  int used;           /* columns of the line that are taken already */
  int digits;         /* of floats in arrays; 0: all */
} View;
Status rt_present(Rt *rt, const Desc *type, const Slot *value, View view, Str *out);
int rt_format_double(double x, char out[40]); /* as Python's repr */
/* trees.c: types shown as arrays. What stands between the subtrees are components `first` to `end - 1` of the payload;
 * `at` has the slots of the first of them for each entry, in order. */
typedef struct TreeEntry {
  const Desc *payload;
  int first, end;
} TreeEntry;
typedef struct TreeEntries {
  const Slot **at;
  int64_t n, cap;
} TreeEntries;
TreeEntry rt_tree_entry(const Desc *tree);
Status rt_tree_entries(Rt *rt, const Desc *tree, const Obj *root, TreeEntries *out);
void rt_tree_entries_free(Rt *rt, TreeEntries *e);
/* The raising of failed checks, with the full message; site as in the node. Always returns 1. */
Status rt_fail_index(Rt *rt, int64_t i, int64_t n, uint32_t site);
Status rt_fail_byte(Rt *rt, int64_t x, uint32_t site);
Status rt_fail_slice(Rt *rt, int64_t lo, int64_t hi, int64_t n, uint32_t site);
/* message: NULL, or a text with holes (text_fill) that is the program's own */
Status rt_fail_size(Rt *rt, int64_t n, int64_t m, const char *message, uint32_t site);
Status rt_fail_nonzero(Rt *rt, uint32_t site);
/* The end of a program where an operation makes a NaN, or an infinity too: args[0] of the n - 1 others. 0 where one of
 * these isn't finite or, for a NaN, is NaN. text: which operation (ir/traps.c). */
Status rt_trap_nan(Rt *rt, const char *text, const Slot *args, int32_t n, uint32_t site);
Status rt_trap_inf(Rt *rt, const char *text, const Slot *args, int32_t n, uint32_t site);
Status rt_fail_nat(Rt *rt, int64_t n, const char *what, uint32_t site);
Status rt_fail_irregular(Rt *rt, int64_t first, int64_t other, uint32_t site);
Status rt_fail_user(Rt *rt, Obj *message, int32_t kind /* ErrorKind; machine code passes it */, uint32_t site);
Status rt_fail_stack(Rt *rt, uint32_t site);
/* The end of a run by an interrupt or its time limit; of an arm by the failure of one before it, or for what another
 * thread is to do. */
Status rt_fail_ended(Rt *rt, ErrorKind why);
Status rt_fail_depth(Rt *rt, int64_t depth, uint32_t site); /* the same, after so many calls */
/* A C function that can't be found; `why` the library can't be loaded, NULL if it can. */
Status rt_fail_foreign(Rt *rt, const char *library, const char *symbol, const char *why, uint32_t site);
void rt_set_stack_limit(Rt *rt, char *limit);
/* What was asked for: 0, RT_INTERRUPTED or RT_CLOCK. */
static inline int32_t rt_interrupted(const Rt *rt) { return __atomic_load_n(&rt->interrupt, __ATOMIC_RELAXED); }
/* Sets the interrupt flag, and lets the next entry of machine code see it. From any thread or signal handler. */
void rt_interrupt(Rt *rt, int32_t why);
void rt_clear_interrupt(Rt *rt);
/* Entry of a function of machine code, at `here` on the stack, that found itself below entry_limit. */
Status rt_entry(Rt *rt, const char *here);
/* The same in a function whose callers don't test its status: from an error on, every entry fails until rt_unwound. */
Status rt_unwind(Rt *rt, const char *here, uint32_t site);
Status rt_unwound(Rt *rt); /* ends that; 1 if there was an error */
Status rt_poll(Rt *rt);    /* interrupt, deadline */
#endif
