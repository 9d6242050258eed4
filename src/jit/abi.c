/* SPDX-License-Identifier: MIT */
/* Code with a C function's own parameters and results, which a host calls by a pointer.
 *
 *   double atled_pointer_<k>(self, const double *x, size_t n, double *g, const JitPin *pin)
 *
 * Only a function of floats that neither allocates nor fails gets such code: it needs no Rt, so it takes no context.
 * The caller has compared n. Parameters are read from x, and captures from the pin; the first result is returned, and
 * the others go to g. Every other function is called by its entry, from C (src/api/native.c). */
#include "jit/emit.h"
#include "jit/jit.h"

static bool fits(const Emit *e, const LFunc *f) {
  Convention conv = e->funcs[f->index].conv;
  if (func_fallible(f) || conv == CONV_PAIR || conv == CONV_STATUS || conv == CONV_UNWIND) return false;
  for (int r = 0; r < f->nparams - f->ncaps; r++)
    if (f->regs[r].kind != R_FLOAT) return false;
  for (int r = 0; r < f->nresults; r++)
    if (f->result_kinds[r] != R_FLOAT) return false;
  return f->nresults > 0;
}

/* Code under construction. */
typedef struct Abi {
  Emit *e;
  const LFunc *f;
  gcc_jit_function *fn;
  Rv *params[5];
} Abi;
enum { SELF, X, N, G, PIN };

static Rv *slot(const Abi *a, Rv *slots, int k, int kind) {
  return load(a->e, slots, (size_t)k * sizeof(Slot), type_of_kind(a->e, kind));
}

/* Calls the function, and gives back its results. */
static void call_and_return(const Abi *a, Block *b) {
  Emit *e = a->e;
  const LFunc *f = a->f;
  const FuncInfo *info = &e->funcs[f->index];
  Rv **args = NEW_ARRAY(e->arena, Rv *, f->nparams + 2);
  int n = 0, own = f->nparams - f->ncaps;
  Type *floats = e->g->context_new_array_type(e->ctx, NULL, e->t_f64, f->nresults);
  Lv *results = e->g->function_new_local(a->fn, NULL, floats, "results"), *two = NULL;
  Rv *captures = load(e, a->params[PIN], offsetof(JitPin, captures), e->t_ptr);
  args[n++] = load(e, a->params[PIN], offsetof(JitPin, mod), e->t_ptr);
  for (int r = 0; r < f->nparams; r++)
    args[n++] = r < own ? slot(a, a->params[X], r, R_FLOAT) : slot(a, captures, r - own, f->regs[r].kind);
  if (results_through_memory(e, f)) args[n++] = address(e, results);
  Rv *result = call(e, info->fn, n, args);
  if (info->conv == CONV_VALUE) {
    e->g->block_end_with_return(b, NULL, result);
    return;
  }
  if (info->conv == CONV_TWO) {
    two = e->g->function_new_local(a->fn, NULL, type_of_two(e, f), "two");
    e->g->block_add_assignment(b, NULL, two, result);
  } else {
    e->g->block_add_eval(b, NULL, result);
  }
  for (int r = 1; r < f->nresults; r++) {
    Rv *value = two ? rv(e, result_of_two(e, f, two, r)) : slot(a, address(e, results), r, R_FLOAT);
    e->g->block_add_assignment(b, NULL, place(e, a->params[G], (size_t)(r - 1) * sizeof(Slot), e->t_f64), value);
  }
  e->g->block_end_with_return(b, NULL,
                              two ? rv(e, result_of_two(e, f, two, 0)) : slot(a, address(e, results), 0, R_FLOAT));
}

static void define_pointer(Emit *e, const LFunc *f) {
  static const char *const names[] = {"self", "x", "n", "g", "pin"};
  Abi a = {.e = e, .f = f};
  gcc_jit_param *params[5];
  char name[EXPORT_SIZE];
  EXPORT_NAME(e, name, JIT_POINTER, f->index);
  for (int k = 0; k < 5; k++) {
    params[k] = e->g->context_new_param(e->ctx, NULL, k == N ? e->t_u64 : e->t_ptr, names[k]);
    a.params[k] = e->g->param_as_rvalue(params[k]);
  }
  a.fn = e->g->context_new_function(e->ctx, NULL, GF_EXPORTED, e->t_f64, name, 5, params, 0);
  Block *b = e->g->function_new_block(a.fn, NULL);
  call_and_return(&a, b);
}

void emit_pointers(Emit *e) {
  for (int k = 0; k < e->m->nfuncs; k++)
    if (e->m->funcs[k]->is_pointer && fits(e, e->m->funcs[k])) define_pointer(e, e->m->funcs[k]);
}
