/* SPDX-License-Identifier: MIT */
/* Whole programs, kept as they were lowered: a later run of atled_run begins with running.
 *
 *   cold   parse … lower ──► program_keep: record ──► cache of machine code ──► run
 *   warm   program_run_kept: record ◄── cache; do texts, versions and options agree? ──► run
 *
 * The record (Record) has what the run needs and the compiler would make: images of the units, places of their
 * instructions, types of globals, and the order of the steps. It also has all that it was made from, and is used where
 * that is the same, byte by byte; the key is a hash of it, by which the record is found:
 *
 *   version   the build of Atled and the options that shape code (jit_version), options of the config, and the
 *             environment's variables
 *   sources   the texts of the program and of its imports; each import must lead to the same file. The library's texts
 *             are part of the build
 *   functions the builds of SLEEF and of the C library, where SLEEF was opened, which folding does
 *
 * A program that the compiler has something to say about isn't kept, so that it says it each time. Nor is one whose VM
 * has done anything before, lacks rights, or has functions or modules of the host's: numbers of sources and globals
 * are those of a new VM.
 *
 * The cache answers for ownership and whole bytes, image_load for the images; numbers and counts of the rest are
 * checked here. One function, `record`, goes through the fields to write and to read. */
#define _GNU_SOURCE /* environ */
#include "api/hosts.h"
#include "api/pipeline.h"
#include "api/settings.h"
#include "lir/image.h"
#include <string.h>
#include <unistd.h>

typedef struct Bytes {
  const char *at;
  size_t n;
} Bytes;

typedef struct RecordSource {
  Bytes name, text; /* of the library's no text */
  int64_t library;
} RecordSource;

typedef struct RecordImport {
  Bytes path, real;
  int64_t source;
} RecordImport;

typedef struct RecordGlobal {
  int64_t index, desc; /* in the world; in Record.descs */
} RecordGlobal;

typedef struct RecordUnit {
  Bytes image;
  LSite *sites;
  int64_t nsites;
} RecordUnit;

typedef struct RecordStep {
  Span item;
  int64_t unit, func;
  int64_t desc;  /* of its value in Record.descs, where it defines nothing; else -1 */
  Bytes globals; /* int32_t[]: that it defines, as indices of the world */
} RecordStep;

typedef struct Record {
  Bytes version;
  RecordSource *sources; /* from the first one on that isn't the prelude's: the program's own */
  RecordImport *imports;
  RecordGlobal *globals;
  RecordUnit *units;
  RecordStep *steps;
  int64_t nsources, nimports, nglobals, nunits, nsteps;
  Bytes descs;           /* the image of a module that has them */
  int64_t has_functions; /* SLEEF was opened */
  uint64_t functions;
} Record;

enum { FIRST_SOURCE = 2 }; /* after no place and the prelude */
static const int64_t RECORD_ROOM = 64 << 20;

/* ---- Writing and reading ----------------------------------------------------------------------------------------- */
typedef struct Codec {
  Str *out; /* NULL: reading */
  Arena *arena;
  const char *at, *end;
  bool wrong;
} Codec;

static const char *take(Codec *c, size_t n) {
  const char *p = c->at;
  c->wrong = c->wrong || n > (size_t)(c->end - c->at);
  if (c->wrong) return NULL;
  c->at += n;
  return p;
}

static void raw(Codec *c, void *p, size_t n) {
  const char *from = c->out ? NULL : take(c, n);
  if (c->out) str_add(c->out, p, n);
  else if (from) memcpy(p, from, n);
  else memset(p, 0, n);
}
#define FIELD(c, lvalue) raw((c), &(lvalue), sizeof(lvalue))

/* With a zero behind them. */
static void bytes(Codec *c, Bytes *b) {
  int64_t n = (int64_t)b->n;
  FIELD(c, n);
  if (c->out) {
    if (n) str_add(c->out, b->at, (size_t)n);
    str_addc(c->out, 0);
    return;
  }
  if (n < 0 || n > RECORD_ROOM) c->wrong = true, n = 0;
  const char *p = take(c, (size_t)n + 1);
  *b = p ? (Bytes){p, (size_t)n} : (Bytes){"", 0};
  c->wrong = c->wrong || b->at[b->n];
}

/* How many things of this size in memory follow, each of which takes eight bytes at least; they are made. */
static void *many(Codec *c, int64_t *n, void *old, size_t size) {
  FIELD(c, *n);
  if (c->out) return old;
  if (*n < 0 || *n > (c->end - c->at) / 8) c->wrong = true;
  if (c->wrong) *n = 0;
  return arena_alloc(c->arena, size * (size_t)(*n + 1));
}
#define MANY(c, n, row) ((row) = many((c), &(n), (row), sizeof *(row)))

static void span(Codec *c, Span *s) {
  FIELD(c, s->source);
  FIELD(c, s->start);
  FIELD(c, s->end);
}

static void site(Codec *c, LSite *s) {
  Bytes name = {s->function, c->out && s->function ? strlen(s->function) : 0};
  int64_t named = c->out ? s->function != NULL : 0;
  span(c, &s->at);
  FIELD(c, s->parent);
  FIELD(c, named);
  if (named) bytes(c, &name);
  s->function = named ? name.at : NULL;
}

static void unit(Codec *c, RecordUnit *u) {
  bytes(c, &u->image);
  MANY(c, u->nsites, u->sites);
  for (int64_t k = 0; k < u->nsites && !c->wrong; k++) site(c, &u->sites[k]);
}

static void step(Codec *c, RecordStep *s) {
  span(c, &s->item);
  FIELD(c, s->unit);
  FIELD(c, s->func);
  FIELD(c, s->desc);
  bytes(c, &s->globals);
}

static void sources(Codec *c, Record *r) {
  MANY(c, r->nsources, r->sources);
  for (int64_t k = 0; k < r->nsources && !c->wrong; k++) {
    bytes(c, &r->sources[k].name);
    bytes(c, &r->sources[k].text);
    FIELD(c, r->sources[k].library);
  }
  MANY(c, r->nimports, r->imports);
  for (int64_t k = 0; k < r->nimports && !c->wrong; k++) {
    bytes(c, &r->imports[k].path);
    bytes(c, &r->imports[k].real);
    FIELD(c, r->imports[k].source);
  }
}

static void record(Codec *c, Record *r) {
  bytes(c, &r->version);
  sources(c, r);
  FIELD(c, r->has_functions);
  FIELD(c, r->functions);
  bytes(c, &r->descs);
  MANY(c, r->nglobals, r->globals);
  for (int64_t k = 0; k < r->nglobals && !c->wrong; k++) {
    FIELD(c, r->globals[k].index);
    FIELD(c, r->globals[k].desc);
  }
  MANY(c, r->nunits, r->units);
  for (int64_t k = 0; k < r->nunits && !c->wrong; k++) unit(c, &r->units[k]);
  MANY(c, r->nsteps, r->steps);
  for (int64_t k = 0; k < r->nsteps && !c->wrong; k++) step(c, &r->steps[k]);
}

/* ---- The key ----------------------------------------------------------------------------------------------------- */
/* Has the VM done nothing yet, and may it use the cache for whole programs? A limit of compilations is tested each
 * time, and phases are measured. */
static bool is_new(const AtledVM *vm) {
  return vm->sources.all.len == FIRST_SOURCE && !vm->units && !vm->hosts.len && !vm->modules.len && !vm->globals.len &&
         !vm->world->globals.len && !vm->main->items.len && !vm->libraries.count;
}

static bool may_keep(const AtledVM *vm) {
  const AtledConfig *c = &vm->config;
  bool limited = c->node_limit || c->compile_time > 0 || c->compile_memory;
  return c->jit != ATLED_JIT_OFF && (c->rights & RIGHTS_ALL) == RIGHTS_ALL && !c->module && !c->phases && !limited;
}

/* Variables that say where things are, or only how code is run, are none of the compiler's business. */
static void add_environment(Str *out) {
  for (char **e = environ; e && *e; e++)
    if (strncmp(*e, "ATLED_", 6) == 0 && strncmp(*e, "ATLED_CACHE", 11) != 0) str_printf(out, "%s\n", *e);
}

static Bytes version_of(AtledVM *vm, Arena *arena) {
  const AtledConfig *c = &vm->config;
  Str out = {.arena = arena};
  str_printf(&out, "%s %016llx\n", ATLED_VERSION, (unsigned long long)jit_version(vm->jit));
  str_printf(&out, "jit %d strict %d no_stdlib %d flush %d trap %d cpu %d family %d width %d\n", (int)c->jit, c->strict,
             c->no_stdlib, c->flush_subnormals, (int)c->trap, jit_cpu(c->cpu), (int)vm->functions.family,
             vm->functions.width);
  str_printf(&out, "source_limit %zu nesting_limit %d\n", c->source_limit, c->nesting_limit);
  add_environment(&out);
  return (Bytes){out.data, out.len};
}

static uint64_t key_of(Bytes version, const char *name, const char *source, size_t len) {
  uint64_t h = hash_bytes(version.at, version.n, 'p');
  h = hash_bytes(name, strlen(name), h);
  return hash_bytes(source, len, h);
}

/* The builds of the files that the functions of an open table come from. */
static uint64_t functions_build(const Functions *f) {
  uintptr_t of_libm, of_library;
  memcpy(&of_libm, &functions_of_libm.of[FN_EXP], sizeof of_libm);
  memcpy(&of_library, &f->waves, sizeof of_library);
  return hash_mix(jit_build_of(of_libm), jit_build_of(of_library));
}

/* ---- Keeping ----------------------------------------------------------------------------------------------------- */
typedef struct Keeper {
  AtledVM *vm;
  Arena *arena;
  const Plan *plan;
  Record r;
  Vec(const Desc *) descs;
} Keeper;

static Bytes text_bytes(const char *text) { return (Bytes){text, strlen(text)}; }

static int64_t add_desc(Keeper *k, const Desc *d) {
  for (int i = 0; i < k->descs.len; i++)
    if (k->descs.data[i] == d) return i;
  vec_push(k->arena, k->descs, d);
  return k->descs.len - 1;
}

static void add_sources(Keeper *k) {
  const AtledVM *vm = k->vm;
  k->r.nsources = vm->sources.all.len - FIRST_SOURCE;
  k->r.sources = NEW_ARRAY(k->arena, RecordSource, (int)k->r.nsources + 1);
  for (int i = 0; i < k->r.nsources; i++) {
    const Source *s = vm->sources.all.data[i + FIRST_SOURCE];
    Bytes text = {s->text, s->library ? 0 : s->len};
    k->r.sources[i] = (RecordSource){text_bytes(s->name), text, s->library};
  }
  k->r.nimports = vm->imported.len;
  k->r.imports = NEW_ARRAY(k->arena, RecordImport, vm->imported.len + 1);
  for (int i = 0; i < vm->imported.len; i++) {
    const Imported *x = &vm->imported.data[i];
    k->r.imports[i] = (RecordImport){text_bytes(x->path), text_bytes(x->real), x->source};
  }
}

/* All that have a place: those that code refers to are among them. */
static void add_globals(Keeper *k) {
  const AtledVM *vm = k->vm;
  k->r.globals = NEW_ARRAY(k->arena, RecordGlobal, vm->globals.len + 1);
  for (int i = 0; i < vm->globals.len; i++)
    if (vm->globals.data[i]) k->r.globals[k->r.nglobals++] = (RecordGlobal){i, add_desc(k, vm->globals.data[i]->desc)};
}

static int64_t add_unit(Keeper *k, const Unit *u) {
  Bytes image = {u->code->image, u->code->image_size};
  for (int64_t i = 0; i < k->r.nunits; i++)
    if (k->r.units[i].image.at == image.at) return i;
  k->r.units[k->r.nunits] = (RecordUnit){image, u->sites, u->nsites};
  return k->r.nunits++;
}

static void add_steps(Keeper *k, const LowerEntry *entries, Unit *const *units) {
  int n = k->plan->steps.len;
  k->r.nsteps = n;
  k->r.steps = NEW_ARRAY(k->arena, RecordStep, n + 1);
  k->r.units = NEW_ARRAY(k->arena, RecordUnit, n + 1);
  for (int i = 0; i < n; i++) {
    const Step *s = &k->plan->steps.data[i];
    bool defines = s->item->kind == I_LET;
    RecordStep *to = &k->r.steps[i];
    *to = (RecordStep){.item = s->item->span, .unit = add_unit(k, units[i]), .func = entries[i].func->index};
    to->desc = defines ? -1 : add_desc(k, step_value_desc(k->vm, s));
    if (!defines) continue;
    for (int g = 0; g < s->elab.nglobals; g++) run_global(k->vm, s->elab.globals[g]);
    to->globals = (Bytes){(const char *)s->elab.globals, sizeof *s->elab.globals * (size_t)s->elab.nglobals};
  }
}

static Bytes image_of_descs(Keeper *k) {
  Str out = {.arena = k->arena};
  LModule m = {.descs = k->descs.data, .ndescs = k->descs.len};
  image_write(&m, &out);
  return (Bytes){out.data, out.len};
}

void program_keep(AtledVM *vm, const Plan *plan, const LowerEntry *entries, Unit *const *units) {
  const Source *main = sources_get(&vm->sources, vm->main->source);
  if (vm->reports.len || !run_jit(vm)) return;
  Keeper k = {.vm = vm, .arena = &vm->lowering, .plan = plan};
  k.r.version = version_of(vm, k.arena);
  add_sources(&k);
  add_steps(&k, entries, units);
  add_globals(&k);
  k.r.descs = image_of_descs(&k);
  k.r.has_functions = vm->functions.open;
  k.r.functions = vm->functions.open ? functions_build(&vm->functions) : 0;
  Str out = {.arena = k.arena};
  record(&(Codec){.out = &out}, &k.r);
  if ((int64_t)out.len < RECORD_ROOM)
    jit_keep_block(vm->jit, key_of(k.r.version, main->name, main->text, main->len), out.data, out.len);
  arena_free(&vm->lowering);
}

/* ---- Is it the same program? ------------------------------------------------------------------------------------- */
static bool are_equal(Bytes b, const char *at, size_t n) { return b.n == n && (!n || memcmp(b.at, at, n) == 0); }

static bool same_imports(AtledVM *vm, const Record *r) {
  for (int64_t k = 0; k < r->nimports; k++) {
    const RecordImport *i = &r->imports[k];
    int64_t source = i->source - FIRST_SOURCE;
    if (source < 0 || source >= r->nsources || r->sources[source].library) return false;
    const RecordSource *s = &r->sources[source];
    if (!modules_are_same(vm, &(Imported){.path = i->path.at, .real = i->real.at}, s->text.at, s->text.n)) return false;
  }
  return true;
}

/* The functions are opened where they were. */
static bool same_functions(AtledVM *vm, const Record *r) {
  char why[512];
  return !r->has_functions ||
         (functions_open(&vm->functions, why, sizeof why) && functions_build(&vm->functions) == r->functions);
}

static bool is_same(AtledVM *vm, const Record *r, Bytes version, const char *name, const char *source, size_t len) {
  return are_equal(r->version, version.at, version.n) && r->nsources > 0 && !r->sources[0].library &&
         are_equal(r->sources[0].name, name, strlen(name)) && are_equal(r->sources[0].text, source, len) &&
         same_imports(vm, r) && same_functions(vm, r);
}

/* ---- Is it sound? ------------------------------------------------------------------------------------------------ */
typedef struct Warm {
  AtledVM *vm;
  Arena *arena;
  Record r;
  Unit **units;
  const Desc **descs; /* the VM's */
  int64_t ndescs;
} Warm;

static bool sound_span(const Warm *w, Span s) {
  return !s.source || (s.source < FIRST_SOURCE + w->r.nsources && s.start <= s.end);
}

/* Does each chain of parents end? Each site is marked by the first walk that reaches it. */
static bool chains_end(const Warm *w, const RecordUnit *u) {
  uint32_t *marks = NEW_ARRAY(w->arena, uint32_t, (int)u->nsites + 1);
  for (uint32_t k = 1; k < u->nsites; k++) {
    uint32_t at = k;
    for (; at && !marks[at]; at = u->sites[at].parent) marks[at] = k;
    if (at && marks[at] == k) return false;
  }
  return true;
}

static bool sound_sites(const Warm *w, const RecordUnit *u) {
  for (int64_t k = 0; k < u->nsites; k++)
    if (!sound_span(w, u->sites[k].at) || u->sites[k].parent >= u->nsites) return false;
  return chains_end(w, u);
}

static const Global *global_of(const Warm *w, int64_t index) {
  return index >= 0 && index < w->vm->globals.len ? w->vm->globals.data[index] : NULL;
}

static int64_t slots_of_globals(const Warm *w, const RecordStep *s) {
  int64_t n = 0;
  for (size_t k = 0; k < s->globals.n / sizeof(int32_t); k++) {
    int32_t index;
    memcpy(&index, s->globals.at + k * sizeof index, sizeof index);
    const Global *g = global_of(w, index);
    if (!g) return -1;
    n += g->desc->nslots;
  }
  return n;
}

static bool sound_step(const Warm *w, const RecordStep *s) {
  if (s->unit < 0 || s->unit >= w->r.nunits || s->desc < -1 || s->desc >= w->ndescs || !sound_span(w, s->item))
    return false;
  const LModule *code = w->units[s->unit]->code;
  if (s->func < 0 || s->func >= code->nfuncs) return false;
  const LFunc *f = code->funcs[s->func];
  return f->is_entry && f->nresults == (s->desc < 0 ? slots_of_globals(w, s) : w->descs[s->desc]->nslots);
}

static bool is_sound(const Warm *w) {
  for (int64_t k = 0; k < w->r.nunits; k++) {
    const LModule *code = w->units[k]->code;
    if (!sound_sites(w, &w->r.units[k])) return false;
    for (int g = 0; g < code->nglobals; g++)
      if (!global_of(w, code->globals[g])) return false;
  }
  for (int64_t k = 0; k < w->r.nsteps; k++)
    if (!sound_step(w, &w->r.steps[k])) return false;
  return true;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
/* Their image has at least a byte for each. */
static bool load_descs(Warm *w) {
  const char *why;
  w->descs = NEW_ARRAY(w->arena, const Desc *, (int)w->r.descs.n + 1);
  LModule *m = image_load(&w->vm->heap, w->r.descs.at, w->r.descs.n, &why);
  if (!m) return false;
  bool fine = true;
  w->ndescs = m->ndescs;
  for (int k = 0; k < m->ndescs && fine; k++) fine = (w->descs[k] = rt_desc(&w->vm->rt, m->descs[k]));
  image_free(&w->vm->heap, m);
  return fine;
}

static bool make_globals(Warm *w) {
  AtledVM *vm = w->vm;
  for (int64_t k = 0; k < w->r.nglobals; k++) {
    const RecordGlobal *from = &w->r.globals[k];
    if (from->index < vm->globals.len || from->index > RECORD_ROOM || from->desc < 0 || from->desc >= w->ndescs)
      return false;
    while (vm->globals.len <= from->index) vec_push(&vm->arena, vm->globals, NULL);
    Global *g = NEW(&vm->arena, Global);
    g->desc = w->descs[from->desc];
    g->slots = NEW_ARRAY(&vm->arena, Slot, g->desc->nslots + 1);
    vm->globals.data[from->index] = g;
  }
  return true;
}

static bool load_units(Warm *w) {
  w->units = NEW_ARRAY(w->arena, Unit *, (int)w->r.nunits + 1);
  for (int64_t k = 0; k < w->r.nunits; k++)
    if (!(w->units[k] = run_unit_of_image(w->vm, w->r.units[k].image.at, w->r.units[k].image.n))) return false;
  return true;
}

/* Sources get the numbers that they had. */
static bool make_sources(Warm *w) {
  AtledVM *vm = w->vm;
  for (int64_t k = 0; k < w->r.nsources; k++) {
    const RecordSource *s = &w->r.sources[k];
    if (!s->library) sources_add(&vm->sources, s->name.at, s->text.at, s->text.n);
    else if (!modules_add_library_source(vm, s->name.at)) return false;
  }
  for (int64_t k = 0; k < w->r.nimports; k++) {
    const Bytes *path = &w->r.imports[k].path;
    vec_push(&vm->scratch, vm->files, arena_strndup(&vm->scratch, path->at, path->n));
  }
  return true;
}

static bool begin_units(Warm *w) {
  for (int64_t k = 0; k < w->r.nunits; k++)
    if (!run_unit_begin(w->vm, w->units[k], w->r.units[k].sites, (int)w->r.units[k].nsites)) return false;
  return true;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
static void store(const Warm *w, const RecordStep *s, Slot *results) {
  for (size_t k = 0; k < s->globals.n / sizeof(int32_t); k++) {
    int32_t index;
    memcpy(&index, s->globals.at + k * sizeof index, sizeof index);
    Global *g = w->vm->globals.data[index];
    if (g->set) run_release_slots(w->vm, g->desc, g->slots);
    memcpy(g->slots, results, sizeof *results * (size_t)g->desc->nslots);
    results += g->desc->nslots;
    g->set = true;
  }
}

static AtledStatus run_steps(const Warm *w) {
  AtledVM *vm = w->vm;
  for (int64_t k = 0; k < w->r.nsteps; k++) {
    const RecordStep *s = &w->r.steps[k];
    Unit *u = w->units[s->unit];
    const LFunc *f = u->code->funcs[s->func];
    Slot *results = NEW_ARRAY(&vm->scratch, Slot, f->nresults + 1);
    const Desc *value = s->desc < 0 ? NULL : w->descs[s->desc];
    if (run_function(vm, u, f, NULL, results) != 0) return report_runtime_error(vm, s->item);
    if (value) run_release_slots(vm, value, results);
    else store(w, s, results);
  }
  return ATLED_OK;
}

static AtledStatus run(const Warm *w) {
  AtledVM *vm = w->vm;
  settings_check(vm);
  bool may = run_begin(vm) == 0;
  for (int64_t k = 0; k < w->r.nunits && may; k++) may = run_compile(vm, w->units[k]);
  return may ? run_steps(w) : report_runtime_error(vm, w->r.nsteps ? w->r.steps[0].item : (Span){0});
}

/* The record of the program, in the scratch arena, if there is one that is made from the same. */
static bool find_record(AtledVM *vm, const char *name, const char *source, size_t len, Record *r) {
  Bytes version = version_of(vm, &vm->scratch);
  uint64_t key = key_of(version, name, source, len);
  size_t room = jit_block_room(vm->jit, key);
  if (!room || room > (size_t)RECORD_ROOM) return false;
  char *block = arena_alloc(&vm->scratch, room);
  size_t n = jit_read_block(vm->jit, key, block, room);
  Codec c = {.arena = &vm->scratch, .at = block, .end = block + n};
  record(&c, r);
  return !c.wrong && c.at == c.end && is_same(vm, r, version, name, source, len);
}

/* Back to a new VM. */
static void unload(const Warm *w) {
  run_free_units_since(w->vm, 0);
  w->vm->globals.len = 0;
  w->vm->sources.all.len = FIRST_SOURCE;
  rt_clear_error(&w->vm->rt);
}

/* All but what can fail by a report of its own. */
static bool load(Warm *w, const char *name, const char *source, size_t len) {
  AtledVM *vm = w->vm;
  Phase before = phase_enter(&vm->heap, PHASE_LOAD);
  bool found = run_jit(vm) && find_record(vm, name, source, len, &w->r);
  bool fine = found && load_descs(w) && make_globals(w) && load_units(w) && is_sound(w) && make_sources(w);
  if (found && !fine) unload(w);
  phase_leave(&vm->heap, before);
  return fine;
}

bool program_may_be_kept(const AtledVM *vm) { return is_new(vm) && may_keep(vm); }

bool program_run_kept(AtledVM *vm, const char *name, const char *source, size_t len, AtledStatus *status) {
  Warm w = {.vm = vm, .arena = &vm->scratch};
  if (!modules_may_read(vm, len) || !load(&w, name, source, len)) return false;
  *status = begin_units(&w) ? run(&w) : ATLED_COMPILE_ERROR;
  return true;
}
