/* SPDX-License-Identifier: MIT */
/* C functions bound by `foreign`: found with dlopen and dlsym, called through libffi, which knows how any mix of
 * integers and floats is passed. A library stays loaded: code of it may be running elsewhere. */
#include "eval/eval_internal.h"
#include <dlfcn.h>
#include <ffi.h>
#include <string.h>

struct Foreign {
  ffi_cif cif;
  void (*fn)(void);
  int n;
  ffi_type *types[];
};
static ffi_type *ffi_type_of(uint8_t kind) { return kind == SLOT_FLOAT ? &ffi_type_double : &ffi_type_sint64; }

static size_t foreign_size(int n) { return sizeof(Foreign) + (size_t)n * sizeof(ffi_type *); }

Foreign *foreign_new(Rt *rt, Sym library, Sym symbol, const uint8_t *kinds, int n, uint8_t result, uint32_t site) {
  if (n > LIMIT_FOREIGN_ARGUMENTS) {
    rt_error(rt, ERR_FOREIGN, site, "a foreign function can have at most %d arguments", LIMIT_FOREIGN_ARGUMENTS);
    return NULL;
  }
  void *handle = dlopen(library && *library ? library : NULL, RTLD_NOW | RTLD_LOCAL);
  void *address = handle ? dlsym(handle, symbol) : NULL;
  if (!address) {
    rt_fail_foreign(rt, library ? library : "", symbol, handle ? NULL : dlerror(), site);
    return NULL;
  }
  Foreign *f = heap_realloc(rt->heap, NULL, 0, foreign_size(n));
  if (!f) {
    rt_out_of_memory(rt);
    return NULL;
  }
  f->n = n;
  memcpy(&f->fn, &address, sizeof address);
  for (int k = 0; k < n; k++) f->types[k] = ffi_type_of(kinds[k]);
  if (ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, (unsigned)n, ffi_type_of(result), f->types) != FFI_OK) {
    foreign_free(rt, f);
    rt_error(rt, ERR_FOREIGN, site, "\"%s\" can't be called with these arguments", symbol);
    return NULL;
  }
  return f;
}

void foreign_free(Rt *rt, Foreign *f) {
  if (f) heap_realloc(rt->heap, f, foreign_size(f->n), 0);
}

void foreign_call(const Foreign *f, const Slot *args, Slot *res) {
  void *pointers[LIMIT_FOREIGN_ARGUMENTS];
  for (int k = 0; k < f->n; k++) pointers[k] = (void *)&args[k];
  ffi_cif cif = f->cif; /* libffi takes it without const */
  ffi_call(&cif, f->fn, res, pointers);
}
