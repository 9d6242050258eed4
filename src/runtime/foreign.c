/* SPDX-License-Identifier: MIT */
/* C functions bound by `foreign`: found with dlopen and dlsym at their first call, called through libffi, which knows
 * how any mix of integers, floats and pointers is passed. Machine code calls those of numbers itself and asks here for
 * the address only. A library stays loaded: code of it may be running elsewhere. Functions of the host are bound in the
 * same way, and found in the VM: they get their slots as they are, and are called by the VM's own thread.
 *
 * The threads of a VM call one function at a time, except those of libraries that are declared with an `&`. A lock of
 * the VM's pool sees to that, and guards the tables of what has been found. It is recursive: a function may call the VM
 * it was called from. While a thread holds it, its forks offer nothing, since who took an arm could need the lock. */
#include "runtime/pool.h"
#include "runtime/runtime_internal.h"
#include "support/host_library.h"
#include <dlfcn.h>
#include <ffi.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Kinds of slots; the last stands for no result. */
enum { KIND_FLOAT = SLOT_FLOAT, KIND_PTR = SLOT_PTR, KIND_NONE = SLOT_PTR + 1 };

typedef struct ForeignCode {
  ffi_cif cif;
  void *address;
  const RtHost *host; /* instead of an address; else NULL */
  bool prepared;      /* cif is: the first call through libffi does that, which sees what are arrays */
  int n;              /* arguments as C counts them, at most */
  ffi_type *types[];
} ForeignCode;

/* Of the library's name. */
static size_t library_length(const char *library) { return strlen(library) - library_of_all_threads(library); }

static size_t code_size(int n) { return sizeof(ForeignCode) + (size_t)n * sizeof(ffi_type *); }

/* The loader would wait for a writer of a pipe, or read for ever. */
static const char *not_loadable(const char *library) {
  struct stat st;
  bool waits = strchr(library, '/') && stat(library, &st) == 0 && !S_ISREG(st.st_mode);
  return waits ? "it isn't a regular file" : NULL;
}

static ForeignCode *keep(Mod *m, int64_t k, ForeignCode found) {
  ForeignCode *c = heap_realloc(m->rt->heap, NULL, 0, code_size(found.n));
  if (!c) {
    rt_out_of_memory(m->rt);
    return NULL;
  }
  *c = found;
  return m->foreigns[k] = c;
}

static ForeignCode *find_host(Mod *m, int64_t k, uint32_t site) {
  const LForeign *f = &m->foreign_rows[k];
  const RtHost *host = m->rt->host ? m->rt->host(m->rt->user, host_library_number(f->library)) : NULL;
  if (host) return keep(m, k, (ForeignCode){.host = host});
  rt_error(m->rt, ERR_HOST, site, "the host has no function `%s`", f->symbol);
  return NULL;
}

static ForeignCode *find(Mod *m, int64_t k, uint32_t site) {
  if (m->foreigns[k]) return m->foreigns[k];
  Rt *rt = m->rt;
  const LForeign *f = &m->foreign_rows[k];
  if (host_library(f->library)) return find_host(m, k, site);
  if (!(rt->rights & RIGHT_FOREIGN)) {
    rt_deny(rt, RIGHT_FOREIGN, f->symbol, site);
    return NULL;
  }
  if (f->nargs > LIMIT_FOREIGN_ARGUMENTS) {
    rt_error(rt, ERR_FOREIGN, site, "a foreign function can have at most %d arguments", LIMIT_FOREIGN_ARGUMENTS);
    return NULL;
  }
  char library[PATH_MAX] = "";
  if (f->library) snprintf(library, sizeof library, "%.*s", (int)library_length(f->library), f->library);
  const char *why = not_loadable(library);
  if (why) {
    rt_fail_foreign(rt, library, f->symbol, why, site);
    return NULL;
  }
  void *handle = dlopen(*library ? library : NULL, RTLD_NOW | RTLD_LOCAL);
  void *address = handle ? dlsym(handle, f->symbol) : NULL;
  if (!address) {
    rt_fail_foreign(rt, library, f->symbol, handle ? NULL : dlerror(), site);
    return NULL;
  }
  return keep(m, k, (ForeignCode){.address = address, .n = 2 * f->nargs});
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */
void *rt_enter_foreign(Rt *rt) {
  pthread_mutex_t *lock = rt->foreign_lock;
  if (!lock) return NULL;
  if (pthread_mutex_trylock(lock) != 0) {
    if (pool_is_forked(rt->pool)) return NULL; /* a thread of the parent's has it */
    pthread_mutex_lock(lock);
  }
  rt->alone++;
  return lock;
}

void rt_leave_foreign(Rt *rt, void *lock) {
  if (!lock) return;
  rt->alone--;
  pthread_mutex_unlock(lock);
}

Status rt_leave_worker(Rt *rt) { return rt->worker ? rt_fail_ended(rt, ERR_ELSEWHERE) : 0; }

/* ---- For machine code -------------------------------------------------------------------------------------------- */
/* What a fragment calls its function k is the whole module's. */
static Mod *owner(Mod *m, int64_t *k) {
  if (!m->whole) return m;
  *k = m->whole_foreigns[*k];
  return m->whole;
}

void *rt_foreign_address(Mod *m, int64_t k, uint32_t site) {
  Rt *rt = m->rt;
  void *lock = rt_enter_foreign(rt);
  m = owner(m, &k);
  ForeignCode *c = find(m, k, site);
  rt_leave_foreign(rt, lock);
  return c ? c->address : NULL;
}

const RtHost *rt_foreign_host(Mod *m, int64_t k) {
  m = owner(m, &k);
  ForeignCode *c = host_library(m->foreign_rows[k].library) ? find(m, k, 0) : NULL;
  return c ? c->host : NULL;
}

/* ---- For the evaluator ------------------------------------------------------------------------------------------- */
void rt_foreigns_free(Mod *m, int n) {
  for (int k = 0; k < n; k++) {
    if (m->foreigns[k]) heap_realloc(m->rt->heap, m->foreigns[k], code_size(m->foreigns[k]->n), 0);
    m->foreigns[k] = NULL;
  }
}

static ffi_type *number_type(uint8_t kind) { return kind == KIND_FLOAT ? &ffi_type_double : &ffi_type_sint64; }

static bool is_array(uint8_t kind, const Slot *arg) { return kind == KIND_PTR && arg->p->desc->kind == D_ARRAY; }

static Status prepare(Rt *rt, ForeignCode *c, const LForeign *f, const Slot *args, uint32_t site) {
  unsigned n = 0;
  for (int k = 0; k < f->nargs; k++) {
    c->types[n++] = f->kinds[k] == KIND_PTR ? &ffi_type_pointer : number_type(f->kinds[k]);
    if (is_array(f->kinds[k], &args[k])) c->types[n++] = &ffi_type_sint64;
  }
  if (f->sized) {
    c->types[n - 1] = &ffi_type_pointer;
    c->types[n++] = &ffi_type_sint64;
  }
  ffi_type *result = f->sized || f->result == KIND_NONE ? &ffi_type_void
                     : f->result == KIND_PTR            ? &ffi_type_pointer
                                                        : number_type(f->result);
  if (ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, n, result, c->types) != FFI_OK)
    return rt_error(rt, ERR_FOREIGN, site, "\"%s\" can't be called with these arguments", f->symbol);
  c->prepared = true;
  return 0;
}

/* A copy of the text that C gives, whose own it stays. */
static Status take_text(Rt *rt, const LForeign *f, const char *text, Slot *res, uint32_t site) {
  bool valid;
  size_t bad;
  if (!text) return rt_error(rt, ERR_FOREIGN, site, "`%s` gave NULL, which is no string", f->symbol);
  if (rt_check_text(rt, text, strlen(text), &valid, &bad)) return 1;
  if (!valid)
    return rt_error(rt, ERR_TEXT, site, "`%s` gave bytes that are not valid UTF-8 at offset %zu", f->symbol, bad);
  res->p = rt_new_string(rt, text, strlen(text));
  return res->p ? 0 : 1;
}

/* The zeroed array of n elements that C fills. */
static Status make_array(Rt *rt, const LForeign *f, int64_t n, Slot *res, uint32_t site) {
  if (n < 0) return rt_error(rt, ERR_FOREIGN, site, "`%s` would give an array of length %lld", f->symbol, (long long)n);
  ArrayObj *a = rt_new_array(rt, f->result == KIND_FLOAT ? rt->desc_float_array : rt->desc_int_array, &n, true);
  if (a) res->p = &a->h;
  return a ? 0 : 1;
}

static Status call_c(Rt *rt, ForeignCode *c, const LForeign *f, const Slot *args, Slot *res, uint32_t site) {
  Slot values[2 * LIMIT_FOREIGN_ARGUMENTS], result = {0};
  void *pointers[2 * LIMIT_FOREIGN_ARGUMENTS];
  int n = 0;
  for (int i = 0; i < f->nargs; i++) {
    values[n] = args[i];
    if (is_array(f->kinds[i], &args[i])) {
      const ArrayObj *a = slot_array(&args[i]);
      values[n++].raw = a->data;
      values[n].i = a->dims[0];
    } else if (f->kinds[i] == KIND_PTR) {
      values[n].raw = (void *)(uintptr_t)slot_string(&args[i])->bytes;
    }
    n++;
  }
  if (f->sized) {
    if (make_array(rt, f, values[n - 1].i, res, site)) return 1;
    values[n] = values[n - 1];
    values[n++ - 1].raw = slot_array(res)->data;
  }
  for (int i = 0; i < n; i++) pointers[i] = &values[i];
  void (*fn)(void);
  memcpy(&fn, &c->address, sizeof fn);
  ffi_call(&c->cif, fn, &result, pointers);
  if (f->sized) return 0;
  if (f->result == KIND_PTR) return take_text(rt, f, result.raw, res, site);
  if (f->result != KIND_NONE) *res = result;
  return 0;
}

static Status call_host(Mod *m, int64_t k, const Slot *args, Slot *res, uint32_t site) {
  if (rt_leave_worker(m->rt)) return 1;
  ForeignCode *c = find(m, k, site);
  return c ? c->host->call(c->host, m->rt, args, res, site) : 1;
}

/* The function, ready to be called with these arguments; NULL after rt_error. */
static ForeignCode *find_prepared(Mod *m, int64_t k, const Slot *args, uint32_t site) {
  ForeignCode *c = find(m, k, site);
  return c && (c->prepared || !prepare(m->rt, c, &m->foreign_rows[k], args, site)) ? c : NULL;
}

Status rt_foreign_call(Mod *m, int64_t k, const Slot *args, Slot *res, uint32_t site) {
  Rt *rt = m->rt;
  m = owner(m, &k);
  const LForeign *f = &m->foreign_rows[k];
  if (host_library(f->library)) return call_host(m, k, args, res, site);
  void *lock = rt_enter_foreign(rt);
  ForeignCode *c = find_prepared(m, k, args, site);
  if (library_of_all_threads(f->library)) {
    rt_leave_foreign(rt, lock);
    lock = NULL;
  }
  Status status = c ? call_c(rt, c, f, args, res, site) : 1;
  rt_leave_foreign(rt, lock);
  return status;
}
