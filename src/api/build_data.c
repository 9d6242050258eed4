/* SPDX-License-Identifier: MIT */
/* The data of a library that is built ahead of time, and its stubs, as assembly text.
 *
 * Everything that machine code reaches through a Mod (descriptors, functions, strings, constants, globals with the
 * values they have now) becomes a static object, found by its address and written once. A structure is copied as it is
 * in memory, word by word; its pointers are replaced by labels. Objects wait in a worklist, so data may be deep. All
 * counts are immortal: nothing of this is ever written to, and threads may share it. */
#include "api/build.h"
#include <string.h>

typedef enum ThingKind { THING_DESC, THING_FUNC, THING_OBJECT } ThingKind;
/* What is still to be written. */
typedef struct Thing {
  ThingKind kind;
  const void *of;
  const char *label;
} Thing;

/* A pointer in a structure: a label stands where `at` points to. */
typedef struct Ref {
  size_t offset;
  const char *label; /* NULL: a null pointer */
} Ref;

typedef struct Data {
  Build *b;
  Arena *arena;
  Str *out;
  Map labels; /* address → label */
  Vec(Thing) things;
  int done, numbers;
} Data;

/* ---- Text -------------------------------------------------------------------------------------------------------- */
static const char *new_label(Data *d) { return arena_printf(d->arena, ".L%d", d->numbers++); }

static void word(Data *d, uint64_t value) { str_printf(d->out, "\t.quad\t%llu\n", (unsigned long long)value); }
static void address(Data *d, const char *label) { str_printf(d->out, "\t.quad\t%s\n", label ? label : "0"); }

static void begin(Data *d, const char *section, const char *label, int alignment) {
  str_printf(d->out, "\t.section\t%s\n\t.balign\t%d\n%s:\n", section, alignment, label);
}
static void begin_pointers(Data *d, const char *label) { begin(d, ".data.rel.ro,\"aw\"", label, 16); }

/* A structure of whole words, with labels for its pointers; refs are in the order of their offsets. */
static void structure(Data *d, const void *bytes, size_t size, const Ref *refs, int nrefs) {
  for (size_t at = 0, k = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t value = 0;
    memcpy(&value, (const char *)bytes + at, size - at < sizeof value ? size - at : sizeof value);
    if (k < (size_t)nrefs && refs[k].offset == at) address(d, refs[k++].label);
    else word(d, value);
  }
}

static void bytes_of(Data *d, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < n; i++) str_printf(d->out, i % 16 ? ",%u" : "\n\t.byte\t%u", p[i]);
  str_addc(d->out, '\n');
}

/* A row of bytes by itself; NULL for none. */
static const char *row(Data *d, const void *bytes, size_t n) {
  if (!bytes) return NULL;
  const char *label = new_label(d);
  begin(d, ".rodata", label, 8);
  bytes_of(d, bytes, n);
  return label;
}

static const char *text(Data *d, const char *s) { return s ? row(d, s, strlen(s) + 1) : NULL; }

/* A row of pointers. */
static const char *addresses(Data *d, const char *const *labels, int n) {
  const char *label = new_label(d);
  begin_pointers(d, label);
  for (int k = 0; k < n; k++) address(d, labels[k]);
  return label;
}

/* ---- Things ------------------------------------------------------------------------------------------------------ */
static const char *thing(Data *d, ThingKind kind, const void *of) {
  if (!of) return NULL;
  const char *label = map_get(&d->labels, of);
  if (label) return label;
  label = new_label(d);
  map_put(&d->labels, of, (void *)(uintptr_t)label);
  Thing t = {kind, of, label};
  vec_push(d->arena, d->things, t);
  return label;
}

static const char *descs(Data *d, const Desc *const *all, int n) {
  if (!all) return NULL;
  const char **labels = NEW_ARRAY(d->arena, const char *, n + 1);
  for (int k = 0; k < n; k++) labels[k] = thing(d, THING_DESC, all[k]);
  return addresses(d, labels, n);
}

static const char *objects(Data *d, Obj *const *all, int n) {
  const char **labels = NEW_ARRAY(d->arena, const char *, n + 1);
  for (int k = 0; k < n; k++) labels[k] = thing(d, THING_OBJECT, all[k]);
  return addresses(d, labels, n);
}

static void write_desc(Data *d, const Desc *t, const char *label) {
  const char **names = NEW_ARRAY(d->arena, const char *, t->n + 1);
  for (int k = 0; t->names && k < t->n; k++) names[k] = text(d, t->names[k]);
  Ref refs[] = {{offsetof(Desc, slots), row(d, t->slots, (size_t)t->nslots)},
                {offsetof(Desc, slot_descs), descs(d, t->slot_descs, t->nslots)},
                {offsetof(Desc, args), descs(d, t->args, t->n)},
                {offsetof(Desc, names), t->names ? addresses(d, names, t->n) : NULL},
                {offsetof(Desc, name), text(d, t->name)},
                {offsetof(Desc, shown_as), text(d, t->shown_as)}};
  begin_pointers(d, label);
  structure(d, t, sizeof *t, refs, sizeof refs / sizeof *refs);
}

static const char *mod_label(const Data *d, int number) {
  return arena_printf(d->arena, ".Lmods+%zu", (size_t)number * sizeof(Mod));
}

static void write_func(Data *d, const RtFunc *f, const char *label) {
  RtFunc copy = *f;
  copy.code = NULL;
  const char *entry =
      f->code->is_entry ? arena_printf(d->arena, "m%d_atled_entry_%d", f->mod->number, f->code->index) : NULL;
  const char *mod = mod_label(d, f->mod->number);
  Ref refs[] = {{offsetof(RtFunc, entry), entry},
                {offsetof(RtFunc, native), mod},
                {offsetof(RtFunc, direct), NULL},
                {offsetof(RtFunc, mod), mod},
                {offsetof(RtFunc, code), NULL},
                {offsetof(RtFunc, param_kinds), row(d, f->param_kinds, (size_t)f->nparams)},
                {offsetof(RtFunc, taken), row(d, f->taken, (size_t)f->nparams * sizeof *f->taken)},
                {offsetof(RtFunc, acc_kinds), row(d, f->acc_kinds, (size_t)f->nacc)},
                {offsetof(RtFunc, acc_descs), descs(d, f->acc_descs, f->nacc)}};
  begin_pointers(d, label);
  structure(d, &copy, sizeof copy, refs, sizeof refs / sizeof *refs);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */
/* Labels for the pointers among n slots, whose kinds repeat; NULL for those that aren't one. */
static const char **slot_labels(Data *d, const uint8_t *kinds, int period, int64_t n, const Slot *slots) {
  const char **labels = NEW_ARRAY(d->arena, const char *, n + 1);
  for (int64_t k = 0; k < n; k++)
    if (kinds[k % period] == SLOT_PTR && rt_is_object(slots[k].p)) labels[k] = thing(d, THING_OBJECT, slots[k].p);
  return labels;
}

static void slots(Data *d, const char *const *labels, int64_t n, const Slot *all) {
  for (int64_t k = 0; k < n; k++)
    if (labels[k]) address(d, labels[k]);
    else word(d, (uint64_t)all[k].i);
}

static void header(Data *d, const Obj *o, const char *desc) {
  Obj copy = {.rc = RT_IMMORTAL, .tag = o->tag};
  Ref ref = {offsetof(Obj, desc), desc};
  structure(d, &copy, sizeof copy, &ref, 1);
}

static void write_array(Data *d, const ArrayObj *a, const char *label, const char *desc) {
  const Desc *elem = a->h.desc->args[0];
  int64_t n = elem->nslots;
  for (int k = 0; k < a->h.desc->rank; k++) n *= a->dims[k];
  const char *data = new_label(d);
  bool pointers = a->h.desc->pointers;
  const char **labels = pointers ? slot_labels(d, elem->slots, elem->nslots, n, a->data) : NULL;
  begin(d, pointers ? ".data.rel.ro,\"aw\"" : ".rodata", data, 64);
  if (pointers) slots(d, labels, n, a->data);
  for (int64_t k = 0; !pointers && k < n; k++)
    str_printf(d->out, k % 4 ? ",%lld" : "\n\t.quad\t%lld", (long long)a->data[k].i);
  str_addc(d->out, '\n');
  begin_pointers(d, label);
  header(d, &a->h, desc);
  ArrayObj copy = {.cap = n};
  size_t from = offsetof(ArrayObj, data);
  Ref ref = {0, data};
  structure(d, (const char *)&copy + from, offsetof(ArrayObj, dims) - from, &ref, 1);
  for (int k = 0; k < a->h.desc->rank; k++) word(d, (uint64_t)a->dims[k]);
}

static void write_string(Data *d, const StringObj *s, const char *label, const char *desc) {
  begin_pointers(d, label);
  header(d, &s->h, desc);
  word(d, (uint64_t)s->len);
  word(d, (uint64_t)s->points);
  bytes_of(d, s->bytes, (size_t)s->len + 1);
  str_puts(d->out, "\t.balign\t8\n");
  word(d, 0); /* a TextPlace */
  word(d, 0);
}

/* A box or closure: fields behind a header, and the function of a closure between the two. */
static void write_fields(Data *d, const Obj *o, const char *label, const char *desc, const char *func,
                         const uint8_t *kinds, int n, const Slot *fields) {
  const char **labels = slot_labels(d, kinds, n ? n : 1, n, fields);
  begin_pointers(d, label);
  header(d, o, desc);
  if (func) address(d, func);
  slots(d, labels, n, fields);
}

static void write_object(Data *d, const Obj *o, const char *label) {
  const char *desc = thing(d, THING_DESC, o->desc);
  if (o->desc->kind == D_STRING) {
    write_string(d, (const StringObj *)(const void *)o, label, desc);
  } else if (o->desc->kind == D_ARRAY) {
    write_array(d, (const ArrayObj *)(const void *)o, label, desc);
  } else if (o->desc->kind == D_FUN) {
    const ClosureObj *c = (const ClosureObj *)(const void *)o;
    const RtFunc *f = c->fn;
    write_fields(d, o, label, desc, thing(d, THING_FUNC, f), f->param_kinds + (f->nparams - f->ncaps), f->ncaps,
                 c->caps);
  } else {
    const Desc *payload = o->desc->args[o->tag];
    write_fields(d, o, label, desc, NULL, payload->slots, payload->nslots, ((const BoxObj *)(const void *)o)->fields);
  }
}

/* All that anything written refers to. */
static void write_things(Data *d) {
  for (; d->done < d->things.len; d->done++) {
    heap_look_at(&d->b->vm->heap, (uint32_t)d->done);
    Thing t = d->things.data[d->done];
    if (t.kind == THING_DESC) write_desc(d, t.of, t.label);
    else if (t.kind == THING_FUNC) write_func(d, t.of, t.label);
    else write_object(d, t.of, t.label);
  }
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
static const char *global(Data *d, int index) {
  const Desc *t = d->b->vm->globals.data[index]->desc;
  const Slot *value = pin_global(d->b->pin, index);
  const char *known = map_get(&d->labels, value), *label = known ? known : new_label(d);
  if (known) return label;
  map_put(&d->labels, value, (void *)(uintptr_t)label);
  const char **labels = slot_labels(d, t->slots, t->nslots ? t->nslots : 1, t->nslots, value);
  begin_pointers(d, label);
  slots(d, labels, t->nslots, value);
  return label;
}

static const char *globals(Data *d, const LModule *code) {
  const char **labels = NEW_ARRAY(d->arena, const char *, code->nglobals + 1);
  for (int k = 0; k < code->nglobals; k++) labels[k] = global(d, code->globals[k]);
  return addresses(d, labels, code->nglobals);
}

static const char *functions(Data *d, const Mod *m) {
  const char **labels = NEW_ARRAY(d->arena, const char *, m->nfuncs + 1);
  for (int k = 0; k < m->nfuncs; k++) labels[k] = thing(d, THING_FUNC, m->funcs[k]);
  return addresses(d, labels, m->nfuncs);
}

typedef struct ModLabels {
  const char *descs, *funcs, *strings, *boxes, *globals;
} ModLabels;

static void write_mods(Data *d) {
  const Pin *p = d->b->pin;
  ModLabels *all = NEW_ARRAY(d->arena, ModLabels, p->nmodules);
  for (int k = 0; k < p->nmodules; k++) {
    const Mod *m = p->modules[k].mod;
    all[k] = (ModLabels){descs(d, m->descs, m->ndescs), functions(d, m), objects(d, m->strings, m->nstrings),
                         objects(d, m->boxes, m->nboxes), globals(d, p->modules[k].code)};
  }
  begin_pointers(d, ".Lmods");
  for (int k = 0; k < p->nmodules; k++) {
    const Mod *m = p->modules[k].mod;
    Mod copy = {.site_base = m->site_base, .number = m->number};
    Ref refs[] = {{offsetof(Mod, descs), all[k].descs},
                  {offsetof(Mod, funcs), all[k].funcs},
                  {offsetof(Mod, strings), all[k].strings},
                  {offsetof(Mod, boxes), all[k].boxes},
                  {offsetof(Mod, globals), all[k].globals}};
    structure(d, &copy, sizeof copy, refs, sizeof refs / sizeof *refs);
  }
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
/* Which sites of the module its code names. */
static bool *used_sites(Data *d, const PinModule *m) {
  bool *used = NEW_ARRAY(d->arena, bool, m->nsites + 1);
  for (int f = 0; f < m->code->nfuncs; f++)
    for (int c = 0; c < m->code->funcs[f]->ncode; c++) {
      uint32_t site = m->code->funcs[f]->code[c].site;
      if (site < m->nsites) used[site] = true;
    }
  return used;
}

static const char *write_places(Data *d, int64_t *n, const char **file_labels) {
  const Pin *p = d->b->pin;
  const char *label = new_label(d);
  Vec(const char *) files = {0}, labels = {0};
  Vec(BuiltPlace) places = {0};
  for (int k = 0; k < p->nmodules; k++) {
    const PinModule *m = &p->modules[k];
    const bool *used = used_sites(d, m);
    for (uint32_t site = 1; site < m->nsites; site++) {
      const PinPlace *at = &m->places[site];
      if (!used[site] || !at->file) continue;
      int file = 0;
      while (file < files.len && strcmp(files.data[file], at->file) != 0) file++;
      if (file == files.len) vec_push(d->arena, files, at->file);
      BuiltPlace place = {m->mod->site_base + site, (uint32_t)at->line, (uint32_t)at->column, (uint32_t)file};
      vec_push(d->arena, places, place);
    }
  }
  for (int k = 0; k < files.len; k++) vec_push(d->arena, labels, text(d, files.data[k]));
  *file_labels = addresses(d, labels.data, labels.len);
  begin(d, ".rodata", label, 8);
  structure(d, places.data, sizeof *places.data * (size_t)places.len, NULL, 0);
  *n = places.len;
  return label;
}

/* ---- The library and its functions ------------------------------------------------------------------------------- */
static int64_t headers_of(const BuildFunction *f) {
  int64_t n = 0;
  for (int k = 0; k < f->params.len; k++)
    if (f->params.data[k].part.kind == BUILT_ARRAY)
      n += (int64_t)sizeof(ArrayObj) + 8 * (int64_t)f->params.data[k].part.rank;
  return n;
}

/* BuiltLibrary.functions */
static int64_t family_of(const Build *b) {
  for (int k = 0; k < b->pin->nmodules; k++)
    if (lir_calls_functions(b->pin->modules[k].code)) return 1 + (int64_t)b->vm->functions.family;
  return 0;
}

static void write_library(Data *d) {
  const Build *b = d->b;
  const char *files;
  BuiltLibrary l = {
      .nmods = b->pin->nmodules, .cpu = b->cpu, .strict = b->vm->config.strict, .functions = family_of(b)};
  for (int k = 0; k < b->functions.len; k++) {
    const BuildFunction *f = b->functions.data[k];
    const RtFunc *code = ((const ClosureObj *)(const void *)b->closures[k].p)->fn;
    int64_t n = code->nparams + code->nresults, headers = headers_of(f);
    if (n > l.slots) l.slots = n;
    if (headers > l.headers) l.headers = headers;
  }
  const char *places = write_places(d, &l.nplaces, &files);
  Ref refs[] = {{offsetof(BuiltLibrary, mods), ".Lmods"},
                {offsetof(BuiltLibrary, places), places},
                {offsetof(BuiltLibrary, files), files}};
  begin_pointers(d, ".Llibrary");
  structure(d, &l, sizeof l, refs, sizeof refs / sizeof *refs);
}

static const char *write_parts(Data *d, const BuildParts *parts) {
  const char **names = NEW_ARRAY(d->arena, const char *, parts->len + 1), *label = new_label(d);
  for (int k = 0; k < parts->len; k++) names[k] = text(d, parts->data[k].name);
  begin_pointers(d, label);
  for (int k = 0; k < parts->len; k++) {
    const BuiltPart *p = &parts->data[k].part;
    Ref refs[] = {{offsetof(BuiltPart, desc), thing(d, THING_DESC, p->desc)}, {offsetof(BuiltPart, name), names[k]}};
    structure(d, p, sizeof *p, refs, 2);
  }
  return label;
}

static void write_function(Data *d, int number) {
  const BuildFunction *f = d->b->functions.data[number];
  const Obj *closure = d->b->closures[number].p;
  const RtFunc *code = ((const ClosureObj *)(const void *)closure)->fn;
  BuiltFunction out = {
      .ncaptures = code->ncaps, .module = code->mod->number, .nparams = f->params.len, .nresults = f->results.len};
  const char *object = thing(d, THING_OBJECT, closure);
  Ref refs[] = {
      {offsetof(BuiltFunction, library), ".Llibrary"},
      {offsetof(BuiltFunction, name), text(d, f->c_name)},
      {offsetof(BuiltFunction, entry),
       arena_printf(d->arena, "m%d_atled_entry_%d", code->mod->number, code->code->index)},
      {offsetof(BuiltFunction, captures), arena_printf(d->arena, "%s+%zu", object, offsetof(ClosureObj, caps))},
      {offsetof(BuiltFunction, params), write_parts(d, &f->params)},
      {offsetof(BuiltFunction, results), write_parts(d, &f->results)}};
  begin_pointers(d, arena_printf(d->arena, ".Lfunction%d", number));
  structure(d, &out, sizeof out, refs, sizeof refs / sizeof *refs);
}

/* ---- Stubs ------------------------------------------------------------------------------------------------------- */
/* Which arguments are doubles, in the order of the C function's parameters. */
typedef struct Passed {
  Arena *arena;
  Vec(bool) doubles;
} Passed;

static void add_passed(void *user, const char *type, const char *name) {
  Passed *p = user;
  (void)name;
  vec_push(p->arena, p->doubles, strcmp(type, "double ") == 0);
}

/* Stores the arguments in order, and calls built_call: the calling convention of System V for x86-64. */
static void write_stub(Data *d, int number) {
  static const char *const registers[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};
  enum { GENERAL = 6, VECTOR = 8, FRAME = 16 };
  const BuildFunction *f = d->b->functions.data[number];
  Passed p = {.arena = d->arena};
  build_declarations(f, d->arena, add_passed, &p);
  int size = (8 * p.doubles.len + 15) / 16 * 16, general = 0, vector = 0, stack = 0;
  str_printf(d->out,
             "\t.section\t.text.%s,\"ax\",@progbits\n\t.globl\t%s\n\t.type\t%s, @function\n%s:\n\t.cfi_startproc\n"
             "\tpushq\t%%rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 6, -16\n\tmovq\t%%rsp, %%rbp\n"
             "\t.cfi_def_cfa_register 6\n\tsubq\t$%d, %%rsp\n",
             f->c_name, f->c_name, f->c_name, f->c_name, size);
  for (int k = 0; k < p.doubles.len; k++) {
    if (p.doubles.data[k] && vector < VECTOR) {
      str_printf(d->out, "\tmovsd\t%%xmm%d, %d(%%rsp)\n", vector++, 8 * k);
    } else if (!p.doubles.data[k] && general < GENERAL) {
      str_printf(d->out, "\tmovq\t%s, %d(%%rsp)\n", registers[general++], 8 * k);
    } else {
      str_printf(d->out, "\tmovq\t%d(%%rbp), %%rax\n\tmovq\t%%rax, %d(%%rsp)\n", FRAME + 8 * stack++, 8 * k);
    }
  }
  str_printf(d->out,
             "\tmovq\t%%rsp, %%rsi\n\tleaq\t.Lfunction%d(%%rip), %%rdi\n\tcall\tbuilt_call\n\tleave\n"
             "\t.cfi_def_cfa 7, 8\n\tret\n\t.cfi_endproc\n\t.size\t%s, .-%s\n",
             number, f->c_name, f->c_name);
}

static void write_error_stub(Data *d) {
  const char *p = d->b->prefix;
  str_printf(d->out,
             "\t.section\t.text.%s_last_error,\"ax\",@progbits\n\t.globl\t%s_last_error\n"
             "\t.type\t%s_last_error, @function\n%s_last_error:\n\tleaq\t.Llibrary(%%rip), %%rdi\n\tjmp\tbuilt_error\n"
             "\t.size\t%s_last_error, .-%s_last_error\n",
             p, p, p, p, p, p);
}

void build_data(Build *b) {
  Data d = {.b = b, .arena = &b->arena, .out = &b->assembly};
  b->assembly = (Str){.arena = &b->arena};
  map_init(&d.labels, d.arena);
  str_puts(d.out, "\t.hidden\tbuilt_call\n\t.hidden\tbuilt_error\n");
  write_mods(&d);
  write_library(&d);
  for (int k = 0; k < b->functions.len; k++) write_function(&d, k);
  write_things(&d);
  for (int k = 0; k < b->functions.len; k++) write_stub(&d, k);
  write_error_stub(&d);
  str_puts(d.out, "\t.section\t.note.GNU-stack,\"\",@progbits\n");
}
