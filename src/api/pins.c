/* SPDX-License-Identifier: MIT */
/* Pins: a closure with copies of all that it may run and read, for native pointers.
 *
 *   closure ──► module copied, its constants made, compiled ──► globals and captures frozen ──► closures among them …
 *
 * A pin depends on nothing of the VM but its descriptors, so definitions, roll-backs and other calls don't touch it.
 * Its modules have numbers: a context has a Mod for each, which differs in its Rt alone. What a pin may not hold is
 * refused here, before it is compiled: effects, C functions, functions of the host's that aren't thread-safe, and text
 * in which places are noted. */
#include "api/hosts.h"
#include "api/native.h"
#include "lir/image.h"
#include "support/host_library.h"
#include <string.h>

Pin *pin_new(AtledVM *vm, const char *purpose) {
  Pin *p = heap_realloc(&vm->heap, NULL, 0, sizeof *p);
  if (!p) return NULL;
  *p = (Pin){.vm = vm, .purpose = purpose};
  arena_init(&p->arena, &vm->heap);
  map_init(&p->globals, &p->arena);
  return p;
}

void pin_free(Pin *p) {
  if (!p) return;
  AtledVM *vm = p->vm;
  freezer_free(&p->frozen);
  for (int k = 0; k < p->nmodules; k++) {
    PinModule *m = &p->modules[k];
    if (m->mod) jit_unload(m->mod);
    if (m->mod) rt_foreigns_free(m->mod, m->code->nforeigns);
    mod_free(m->mod);
    image_free(&vm->heap, m->code);
  }
  arena_free(&p->arena);
  heap_realloc(&vm->heap, p, sizeof *p, 0);
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
static Slot *global_slots(const Pin *p, int index) {
  return map_get(&p->globals, (const void *)(uintptr_t)(index + 1));
}

const Slot *pin_global(const Pin *p, int index) { return global_slots(p, index); }

/* For mod_new, which must not be left by a jump: all are there. */
static Slot *find_global(void *pin, int index) { return global_slots(pin, index); }

/* Slots for the globals that the code names, with their values. */
static void take_globals(Pin *p, const LModule *code) {
  for (int k = 0; k < code->nglobals; k++) {
    int index = code->globals[k];
    if (global_slots(p, index)) continue;
    const Slot *value = run_global(p->vm, index);
    int n = p->vm->globals.data[index]->desc->nslots;
    Slot *slots = NEW_ARRAY(&p->arena, Slot, n + 1);
    memcpy(slots, value, sizeof *slots * (size_t)n);
    map_put(&p->globals, (const void *)(uintptr_t)(index + 1), slots);
  }
}

/* The innermost place that is the user's. */
static PinPlace place_of(const Pin *p, const Unit *u, uint32_t site) {
  for (; site; site = u->sites[site].parent) {
    Span at = u->sites[site].at;
    const Source *source = at.source ? sources_get(&p->vm->sources, at.source) : NULL;
    if (!source || source->library) continue;
    PinPlace place = {.file = source->name};
    span_position(&p->vm->sources, at, &place.line, &place.column);
    return place;
  }
  return (PinPlace){0};
}

static void take_places(Pin *p, PinModule *m, const Unit *u) {
  m->nsites = u ? (uint32_t)u->nsites : 0;
  m->places = NEW_ARRAY(&p->arena, PinPlace, (int)m->nsites + 1);
  Map names;
  map_init(&names, &p->arena);
  for (uint32_t k = 1; k < m->nsites; k++) {
    heap_look_at(&p->vm->heap, k);
    PinPlace *place = &m->places[k];
    *place = place_of(p, u, k);
    if (!place->file) continue;
    const char *name = map_get(&names, place->file);
    if (!name)
      map_put(&names, place->file, (void *)(name = arena_strndup(&p->arena, place->file, strlen(place->file))));
    place->file = name;
  }
}

static LModule *load_code(AtledVM *vm, const void *image, size_t size) {
  const char *why;
  LModule *code = image_load(&vm->heap, image, size, &why);
  if (!code) heap_out_of_memory(&vm->heap);
  return code;
}

/* The module gets a copy of the code in which function `pointer` is called by a pointer; -1: none is. */
static void copy_code(AtledVM *vm, PinModule *m, const LModule *code, int pointer) {
  m->code = load_code(vm, code->image, code->image_size);
  if (pointer < 0) return;
  m->code->funcs[pointer]->is_pointer = true;
  Str image = {.arena = &vm->lowering};
  image_write(m->code, &image);
  image_free(&vm->heap, m->code);
  m->code = NULL; /* while a jump may leave this */
  m->code = load_code(vm, image.data, image.len);
  arena_free(&vm->lowering);
}

static PinModule *new_module(Pin *p) {
  if (p->nmodules == p->room) {
    int room = p->room ? 2 * p->room : 2;
    p->modules =
        arena_grow(&p->arena, p->modules, sizeof *p->modules * (size_t)p->room, sizeof *p->modules * (size_t)room);
    p->room = room;
  }
  PinModule *m = &p->modules[p->nmodules];
  *m = (PinModule){0};
  return m;
}

/* The pin's copy of the module; NULL after an error. */
static Mod *pinned(Pin *p, const Mod *of, int pointer) {
  AtledVM *vm = p->vm;
  for (int k = 0; k < p->nmodules; k++)
    if (p->modules[k].of == of) return p->modules[k].mod;
  PinModule *m = new_module(p);
  m->of = of;
  if (!of->code) {
    rt_error(&vm->rt, ERR_RULE, 0, "the code of a function that a native pointer may call is gone");
    return NULL;
  }
  take_globals(p, of->code);
  take_places(p, m, run_unit_of(vm, of));
  p->nmodules++; /* from here on pin_free knows it */
  copy_code(vm, m, of->code, pointer);
  m->mod = mod_new(&vm->rt, m->code, find_global, p);
  if (!m->mod) return NULL;
  m->mod->number = p->nmodules - 1;
  m->mod->site_base = p->nsites;
  p->nsites += m->nsites;
  for (int k = 0; k < m->mod->nfuncs; k++) m->mod->funcs[k]->native = m->mod;
  return m->mod;
}

/* Freezer.function. */
static RtFunc *pinned_function(void *pin, const RtFunc *f) {
  Mod *m = pinned(pin, f->mod, -1);
  return m ? m->funcs[f->code->index] : NULL;
}

static bool freeze_all(Pin *p, Slot *closures, int n) {
  AtledVM *vm = p->vm;
  static const uint8_t pointer = SLOT_PTR;
  for (int k = 0; k < n; k++)
    if (!freeze(&p->frozen, &pointer, 1, &closures[k])) return false;
  for (int k = 0; k < p->nmodules; k++) /* closures among the values add modules */
    for (int g = 0; g < p->modules[k].code->nglobals; g++) {
      int index = p->modules[k].code->globals[g];
      const Desc *d = vm->globals.data[index]->desc;
      if (!freeze(&p->frozen, d->slots, d->nslots, global_slots(p, index))) return false;
    }
  return true;
}

/* ---- What may not be there --------------------------------------------------------------------------------------- */
/* The host's functions are found here, so that threads only read where they are. */
static const char *foreign_misdeed(const Pin *p, Mod *m, int64_t k) {
  if (!host_library(m->foreign_rows[k].library)) return "calls a C function";
  if (p->ahead) return "calls a function of the host's";
  const HostFunction *f = (const HostFunction *)rt_foreign_host(m, k);
  if (f && f->pure && f->thread_safe) return NULL;
  return f && !f->pure ? "has an effect" : "calls a function of the host's that isn't ATLED_THREAD_SAFE";
}

/* What the instruction does that a native pointer can't; NULL: nothing. */
static const char *misdeed(const Pin *p, Mod *m, const LInstr *i) {
  if (i->op == LOP_FOREIGN) return foreign_misdeed(p, m, i->imm.i);
  if (i->op != LOP_RT) return NULL;
  const RtPrim *row = ir_rt_row((int)i->sub);
  if (row->effect || row->clock || i->sub == RTP_WATCHED) return "has an effect";
  return strstr(row->type, "string") && !row->makes_text ? "works on text" : NULL;
}

static void mark_called(const LModule *m, const LFunc *f, bool *reached, bool *changed) {
  for (int c = 0; c < f->ncode; c++) {
    const LInstr *i = &f->code[c];
    if (lir_ops[i->op].imm != LIMM_FUNC || reached[i->imm.i]) continue;
    reached[m->funcs[i->imm.i]->index] = *changed = true;
  }
}

/* The functions of module k that the pin may call. */
static const bool *reached_functions(const Pin *p, int k) {
  const PinModule *m = &p->modules[k];
  bool *reached = NEW_ARRAY(&p->vm->scratch, bool, m->code->nfuncs + 1), changed = true;
  for (int i = 0; i < p->frozen.objects.len; i++) {
    const Obj *o = p->frozen.objects.data[i];
    const RtFunc *f = o->desc->kind == D_FUN ? ((const ClosureObj *)o)->fn : NULL;
    if (f && f->mod == m->mod) reached[f->code->index] = true;
  }
  while (changed) {
    changed = false;
    for (int f = 0; f < m->code->nfuncs; f++)
      if (reached[f]) mark_called(m->code, m->code->funcs[f], reached, &changed);
  }
  return reached;
}

static AtledStatus refuse(const Pin *p, const PinModule *m, const LInstr *i) {
  const char *name = i->op == LOP_RT ? ir_rt_name((int)i->sub) : m->code->foreigns[i->imm.i].symbol;
  PinPlace at = i->site < m->nsites ? m->places[i->site] : (PinPlace){0};
  if (!at.file) return report_bad_argument(p->vm, "a function %s %s (`%s`)", p->purpose, misdeed(p, m->mod, i), name);
  return report_bad_argument(p->vm, "%s:%d:%d: a function %s %s (`%s`)", at.file, at.line, at.column, p->purpose,
                             misdeed(p, m->mod, i), name);
}

static AtledStatus check(const Pin *p) {
  for (int k = 0; k < p->nmodules; k++) {
    const PinModule *m = &p->modules[k];
    const bool *reached = reached_functions(p, k);
    for (int f = 0; f < m->code->nfuncs; f++)
      for (int c = 0; reached[f] && c < m->code->funcs[f]->ncode; c++)
        if (misdeed(p, m->mod, &m->code->funcs[f]->code[c])) return refuse(p, m, &m->code->funcs[f]->code[c]);
  }
  return ATLED_OK;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */
static bool compile_all(Pin *p) {
  for (int k = 0; k < p->nmodules; k++)
    if (!run_compile_module(p->vm, p->modules[k].mod)) return false;
  return true;
}

/* pointer: the function is called by one. */
static AtledStatus take(Pin *p, Slot *closures, int n, bool pointer) {
  freezer_init(&p->frozen, p->vm, &p->arena, pinned_function, p);
  for (int k = 0; k < n; k++) {
    const RtFunc *f = ((ClosureObj *)closures[k].p)->fn;
    if (!pinned(p, f->mod, pointer ? f->code->index : -1)) return report_runtime_error(p->vm, (Span){0});
  }
  return freeze_all(p, closures, n) ? check(p) : report_runtime_error(p->vm, (Span){0});
}

AtledStatus pin_take(Pin *p, Slot *closures, int n) {
  p->ahead = true;
  return take(p, closures, n, false);
}

AtledStatus pin_fill(Pin *p, Obj *closure) {
  AtledVM *vm = p->vm;
  const RtFunc *f = ((ClosureObj *)closure)->fn;
  p->number = ++vm->callers->pins;
  p->closure.p = closure;
  AtledStatus status = take(p, &p->closure, 1, true);
  if (status != ATLED_OK) return status;
  if (!compile_all(p)) return report_runtime_error(vm, (Span){0});
  p->table = rt_table;
  p->table.rt_new_array = rt_new_array_or_gift;
  const ClosureObj *root = (const ClosureObj *)p->closure.p;
  p->code.mod = root->fn->mod;
  p->code.captures = root->caps;
  p->code.code = jit_pointer(root->fn->mod, root->fn->code->index);
  p->entry = root->fn->ncaps ? NULL : root->fn->entry;
  p->nargs = (size_t)(f->nparams - f->ncaps);
  p->nresults = f->nresults;
  return ATLED_OK;
}
