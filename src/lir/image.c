/* SPDX-License-Identifier: MIT */
/* The image of a module: all of it in one block without pointers.
 *
 *   header │ strict │ counts │ descriptors │ strings │ boxes │ foreigns │ functions │ globals │ ids of functions
 *
 * Each part is written and read by one function that goes through its fields (`Codec`), so the two can't differ.
 * What is a number stands there as it is in memory, rows of numbers aligned to 8: a reader points into its copy of
 * the image and makes only what has pointers, in room whose size the writer has counted. Descriptors, which form a
 * graph with cycles, are numbered as they are met, breadth first; 0 is none.
 *
 * The hash in the header is of all but the globals and ids of functions, whose numbers are the VM's: it is what
 * machine code depends on, and the key of the cache. A second one covers the rest, so a damaged image is noticed;
 * counts, references and lengths are checked even so, for an image may be of another version, or made to deceive. */
#include "lir/image.h"
#include <string.h>

typedef struct Header {
  uint64_t magic, size, room; /* room: bytes that the reader makes besides its copy */
  uint64_t globals;           /* where the part begins that isn't hashed */
  uint64_t hash, sum;
} Header;
static const uint64_t magic = 0x31656c75646f6d61u; /* "amodule1" */
static const uint64_t NO_TEXT = UINT64_MAX;

typedef struct Codec {
  Str *out;     /* where to write; NULL: reading */
  size_t start; /* of the image in out */
  size_t room;  /* counted by the writer, left to the reader */
  char *image, *next_room;
  size_t at, size;
  const char *wrong;
  Map numbers; /* writing: descriptor -> 1 + its number */
  Vec(const Desc *) queue;
  Desc *descs; /* reading */
  int ndescs;
} Codec;

/* ---- Numbers, rows, texts ---------------------------------------------------------------------------------------- */
static bool fail(Codec *c, const char *why) {
  if (!c->wrong) c->wrong = why;
  return false;
}

static bool expect(Codec *c, bool holds) { return holds || fail(c, "the image of a module is damaged"); }

/* The next n bytes of the image; NULL if they aren't there. */
static char *take(Codec *c, size_t n) {
  if (c->wrong || !expect(c, n <= c->size - c->at)) return NULL;
  char *p = c->image + c->at;
  c->at += n;
  return p;
}

static void raw(Codec *c, void *p, size_t n) {
  if (c->out) {
    str_add(c->out, p, n);
    return;
  }
  const char *from = take(c, n);
  if (from) memcpy(p, from, n);
  else memset(p, 0, n);
}
#define FIELD(c, lvalue) raw((c), &(lvalue), sizeof(lvalue))

static void align(Codec *c) {
  static const char zeros[8] = {0};
  size_t at = c->out ? c->out->len - c->start : c->at, pad = (8 - at % 8) % 8;
  if (c->out) str_add(c->out, zeros, pad);
  else take(c, pad);
}

/* A row of n plain numbers; *pointer will point into the image. */
static void row(Codec *c, void *pointer, int64_t n, size_t size) {
  char *p = NULL;
  align(c);
  if (c->out) {
    memcpy(&p, pointer, sizeof p);
    if (n) str_add(c->out, p, (size_t)n * size);
    return;
  }
  if (!c->wrong && expect(c, n >= 0 && (uint64_t)n <= (c->size - c->at) / size)) p = take(c, (size_t)n * size);
  memcpy(pointer, &p, sizeof p);
}

/* A row of n things with pointers, made zeroed. */
static void make(Codec *c, void *pointer, int64_t n, size_t size) {
  size_t bytes = ((size_t)n * size + 15) / 16 * 16;
  if (c->out) {
    c->room += bytes;
    return;
  }
  char *p = NULL;
  if (!c->wrong && expect(c, n >= 0 && (uint64_t)n <= c->room / size && bytes <= c->room)) {
    p = c->next_room;
    c->next_room += bytes;
    c->room -= bytes;
    memset(p, 0, bytes);
  }
  memcpy(pointer, &p, sizeof p);
}

/* How many of what follows; each takes a byte of the image at least. */
static void count(Codec *c, int *n) {
  FIELD(c, *n);
  if (!c->out && !expect(c, *n >= 0 && (size_t)*n <= c->size - c->at)) *n = 0;
}

/* With a zero after it; may be NULL. */
static void text(Codec *c, LText *s) {
  uint64_t n = s->text ? s->length : NO_TEXT;
  FIELD(c, n);
  if (c->out) {
    if (s->text) str_add(c->out, s->text, s->length + 1);
    return;
  }
  const char *p = n == NO_TEXT || c->wrong || !expect(c, n < c->size - c->at) ? NULL : take(c, n + 1);
  if (p && expect(c, p[n] == 0)) *s = (LText){p, n};
}

static void zero_terminated(Codec *c, const char **s) {
  LText t = {NULL, 0};
  if (c->out && *s) t = (LText){*s, strlen(*s)};
  text(c, &t);
  *s = t.text;
}

static bool each_below(const uint8_t *row, int64_t n, int end) {
  for (int64_t i = 0; i < n; i++)
    if (row[i] >= end) return false;
  return true;
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */
static void number_desc(Codec *c, const Desc *d) {
  if (!d || map_get(&c->numbers, d)) return;
  vec_push(c->out->arena, c->queue, d);
  map_put(&c->numbers, d, (void *)(uintptr_t)c->queue.len);
}

/* Finds all that the module refers to. */
static void number_descs(Codec *c, const LModule *m) {
  map_init(&c->numbers, c->out->arena);
  for (int i = 0; i < m->ndescs; i++) number_desc(c, m->descs[i]);
  for (int i = 0; i < m->nfuncs; i++)
    for (int k = 0; k < m->funcs[i]->nacc; k++) number_desc(c, m->funcs[i]->acc_descs[k]);
  for (int i = 0; i < c->queue.len; i++) {
    const Desc *d = c->queue.data[i];
    for (int k = 0; k < d->n; k++) number_desc(c, d->args[k]);
    for (int k = 0; d->slot_descs && k < d->nslots; k++) number_desc(c, d->slot_descs[k]);
  }
  c->ndescs = c->queue.len;
}

static void desc_refs(Codec *c, const Desc ***refs, int n, bool may_lack) {
  make(c, refs, n, sizeof **refs);
  for (int k = 0; k < n && !c->wrong; k++) {
    int32_t number = c->out ? (int32_t)(uintptr_t)map_get(&c->numbers, (*refs)[k]) : 0;
    FIELD(c, number);
    if (c->out || !expect(c, number >= !may_lack && number <= c->ndescs)) continue;
    (*refs)[k] = number ? &c->descs[number - 1] : NULL;
  }
}

/* What the parts of the kinds are for: arrays and bags have a base element, bags the array that they are when dense. */
static bool sound_desc(const Desc *d) {
  int parts = d->kind == D_BAG ? 2 : d->kind == D_ARRAY ? 1 : 0;
  return d->kind <= D_OPAQUE && d->n >= parts && d->rank >= 0 && d->rank < 256 && d->cons >= 0 && d->cons <= d->n &&
         d->link >= -1 && d->link < d->nslots && each_below(d->slots, d->nslots, SLOT_PTR + 1);
}

static void desc(Codec *c, Desc *d) {
  int32_t kind = (int32_t)d->kind;
  uint8_t flags = (uint8_t)(d->pointers | (d->names != NULL) << 1 | (d->slot_descs != NULL) << 2);
  FIELD(c, d->id);
  FIELD(c, kind);
  FIELD(c, flags);
  count(c, &d->nslots);
  row(c, &d->slots, d->nslots, 1);
  FIELD(c, d->link);
  FIELD(c, d->rank);
  FIELD(c, d->cons);
  zero_terminated(c, &d->name);
  zero_terminated(c, &d->shown_as);
  count(c, &d->n);
  d->kind = (DescKind)kind;
  d->pointers = flags & 1;
  desc_refs(c, &d->args, d->n, false);
  if (flags & 2) make(c, &d->names, d->n, sizeof *d->names);
  for (int k = 0; (flags & 2) && k < d->n && !c->wrong; k++) zero_terminated(c, &d->names[k]);
  if (flags & 4) desc_refs(c, &d->slot_descs, d->nslots, true);
  if (!c->out && !c->wrong) expect(c, sound_desc(d));
}

static void descs(Codec *c, LModule *m) {
  count(c, &c->ndescs);
  make(c, &c->descs, c->ndescs, sizeof *c->descs);
  for (int i = 0; i < c->ndescs && !c->wrong; i++) {
    Desc copy = c->out ? *c->queue.data[i] : (Desc){0};
    desc(c, c->out ? &copy : &c->descs[i]);
  }
  count(c, &m->ndescs);
  desc_refs(c, &m->descs, m->ndescs, false);
}

/* ---- Strings, boxes, foreign functions --------------------------------------------------------------------------- */
static void strings(Codec *c, LModule *m) {
  count(c, &m->nstrings);
  make(c, &m->strings, m->nstrings, sizeof *m->strings);
  for (int i = 0; i < m->nstrings && !c->wrong; i++) {
    text(c, &m->strings[i]);
    expect(c, c->out || m->strings[i].text);
  }
}

static bool product(const int64_t *dims, int n, int64_t *out) {
  for (int i = 0; i < n; i++)
    if (dims[i] < 0 || __builtin_mul_overflow(*out, dims[i], out)) return false;
  return true;
}

/* Are the box's fields what an object of its descriptor has, and the things that they refer to there? */
static bool sound_box(const LModule *m, const LBox *b, int index) {
  const Desc *d = m->descs[b->desc];
  int64_t n = 1;
  if (b->dims) {
    if (d->kind != D_ARRAY || !product(b->dims, d->rank, &n) || __builtin_mul_overflow(n, d->args[0]->nslots, &n))
      return false;
  } else {
    if (d->kind != D_VARIANT || b->tag < 0 || b->tag >= d->n) return false;
    n = d->args[b->tag]->nslots;
  }
  if (n != b->nfields || (b->kinds && !each_below(b->kinds, n, LFIELD_BOX + 1))) return false;
  for (int64_t i = 0; b->kinds && i < n; i++) {
    int end = b->kinds[i] == LFIELD_STRING ? m->nstrings : index;
    if (b->kinds[i] != LFIELD_PLAIN && (b->fields[i].i < 0 || b->fields[i].i >= end)) return false;
  }
  return true;
}

static void box(Codec *c, LModule *m, int index) {
  LBox *b = &m->boxes[index];
  uint8_t has_kinds = b->kinds != NULL, has_dims = b->dims != NULL;
  FIELD(c, b->desc);
  FIELD(c, b->tag);
  FIELD(c, has_kinds);
  FIELD(c, has_dims);
  FIELD(c, b->nfields);
  if (c->wrong || (m->fragment && b->desc == -1) || !expect(c, b->desc >= 0 && b->desc < m->ndescs)) return;
  row(c, &b->fields, b->nfields, sizeof *b->fields);
  if (has_kinds) row(c, &b->kinds, b->nfields, 1);
  if (has_dims) row(c, &b->dims, m->descs[b->desc]->rank, sizeof *b->dims);
  if (!c->out && !c->wrong) expect(c, sound_box(m, b, index));
}

static void boxes(Codec *c, LModule *m) {
  count(c, &m->nboxes);
  make(c, &m->boxes, m->nboxes, sizeof *m->boxes);
  for (int i = 0; i < m->nboxes && !c->wrong; i++) box(c, m, i);
}

static void foreigns(Codec *c, LModule *m) {
  count(c, &m->nforeigns);
  make(c, &m->foreigns, m->nforeigns, sizeof *m->foreigns);
  for (int i = 0; i < m->nforeigns && !c->wrong; i++) {
    LForeign *f = &m->foreigns[i];
    zero_terminated(c, &f->library);
    zero_terminated(c, &f->symbol);
    FIELD(c, f->result);
    FIELD(c, f->sized);
    count(c, &f->nargs);
    row(c, &f->kinds, f->nargs, 1);
    if (!c->out && !c->wrong) expect(c, f->symbol && f->result <= R_RAW && each_below(f->kinds, f->nargs, R_RAW + 1));
  }
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
/* An instruction as it stands in the image; its registers, args then res, are the next of the function's list. */
typedef struct Packed {
  uint32_t op, sub;
  int32_t dst, a, b, c, nargs, nres;
  uint32_t site, unused;
  int64_t imm;
} Packed;

/* Is imm a text? It stands behind the list then. */
static bool has_text(uint32_t op) { return lir_ops[op].imm == LIMM_TEXT; }

static void write_code(Codec *c, const LFunc *f) {
  int nlist = 0;
  for (int i = 0; i < f->ncode; i++) nlist += f->code[i].nargs + f->code[i].nres;
  FIELD(c, nlist);
  align(c);
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    Packed p = {.op = in->op,
                .sub = in->sub,
                .dst = in->dst,
                .a = in->a,
                .b = in->b,
                .c = in->c,
                .nargs = in->nargs,
                .nres = in->nres,
                .site = in->site,
                .imm = has_text(in->op) ? 0 : in->imm.i};
    FIELD(c, p);
  }
  for (int i = 0; i < f->ncode; i++) {
    const LInstr *in = &f->code[i];
    if (in->nargs) raw(c, in->args, sizeof *in->args * (size_t)in->nargs);
    if (in->nres) raw(c, in->res, sizeof *in->res * (size_t)in->nres);
  }
}

static void read_code(Codec *c, LFunc *f) {
  const Packed *packed;
  int32_t *list;
  int nlist;
  FIELD(c, nlist);
  row(c, &packed, f->ncode, sizeof *packed);
  row(c, &list, nlist, sizeof *list);
  for (int i = 0; i < f->ncode && !c->wrong; i++) {
    const Packed *p = &packed[i];
    if (!expect(c,
                p->op < LOP_COUNT && p->nargs >= 0 && p->nres >= 0 && p->nargs <= nlist && p->nres <= nlist - p->nargs))
      return;
    f->code[i] = (LInstr){.op = (LOp)p->op,
                          .sub = p->sub,
                          .dst = p->dst,
                          .a = p->a,
                          .b = p->b,
                          .c = p->c,
                          .imm.i = p->imm,
                          .args = list,
                          .res = list + p->nargs,
                          .nargs = p->nargs,
                          .nres = p->nres,
                          .site = p->site};
    list += p->nargs + p->nres;
    nlist -= p->nargs + p->nres;
  }
}

static void code(Codec *c, LFunc *f) {
  count(c, &f->ncode);
  make(c, &f->code, f->ncode, sizeof *f->code);
  if (c->out) write_code(c, f);
  else read_code(c, f);
  for (int i = 0; i < f->ncode && !c->wrong; i++)
    if (has_text(f->code[i].op)) zero_terminated(c, &f->code[i].imm.text);
}

static bool sound_func(const LFunc *f, int index) {
  const uint8_t *regs = (const uint8_t *)f->regs; /* a bool that is neither 0 nor 1 mustn't be read as one */
  for (int i = 0; i < f->nregs; i++)
    if (regs[2 * i] > R_RAW || regs[2 * i + 1] > 1) return false;
  return f->name && f->index == index && f->nparams <= f->nregs && f->ncaps >= 0 && f->ncaps <= f->nparams &&
         f->nlabels >= 0 && f->nlabels <= f->ncode && each_below(f->result_kinds, f->nresults, R_RAW + 1) &&
         each_below(f->acc_kinds, f->nacc, SLOT_PTR + 1);
}

static void function(Codec *c, LFunc *f, int index) {
  _Static_assert(sizeof(LReg) == 2 && offsetof(LReg, owned) == 1, "sound_func reads registers as pairs of bytes");
  uint8_t flags = (uint8_t)(f->may_fail | f->recursive << 1 | f->is_entry << 2 | (f->acc_kinds != NULL) << 3 |
                            f->is_root << 4 | f->is_pointer << 5);
  zero_terminated(c, &f->name);
  FIELD(c, f->index);
  FIELD(c, f->ncaps);
  FIELD(c, f->nlabels);
  FIELD(c, flags);
  count(c, &f->nparams);
  count(c, &f->nregs);
  row(c, &f->regs, f->nregs, sizeof *f->regs);
  count(c, &f->nresults);
  row(c, &f->result_kinds, f->nresults, 1);
  count(c, &f->nacc);
  if (flags & 8) row(c, &f->acc_kinds, f->nacc, 1);
  if (flags & 8) desc_refs(c, &f->acc_descs, f->nacc, true);
  f->may_fail = flags & 1;
  f->recursive = flags >> 1 & 1;
  f->is_entry = flags >> 2 & 1;
  f->is_root = flags >> 4 & 1;
  f->is_pointer = flags >> 5 & 1;
  code(c, f);
  if (!c->out && !c->wrong) expect(c, (flags & 8 || !f->nacc) && sound_func(f, index));
}

static void functions(Codec *c, LModule *m) {
  LFunc *block = NULL;
  count(c, &m->nfuncs);
  make(c, &m->funcs, m->nfuncs, sizeof *m->funcs);
  make(c, &block, m->nfuncs, sizeof *block);
  for (int i = 0; i < m->nfuncs && !c->wrong; i++) {
    LFunc copy = c->out ? *m->funcs[i] : (LFunc){0};
    if (!c->out) m->funcs[i] = &block[i];
    function(c, c->out ? &copy : m->funcs[i], i);
  }
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */
/* All but the globals. */
static void parts(Codec *c, LModule *m) {
  uint8_t flags = (uint8_t)(m->strict | m->fragment << 1);
  FIELD(c, flags);
  m->strict = flags & 1;
  m->fragment = flags >> 1 & 1;
  descs(c, m);
  strings(c, m);
  boxes(c, m);
  foreigns(c, m);
  functions(c, m);
  FIELD(c, m->nglobals);
  align(c);
}

/* Of what the hash of the code doesn't cover. */
static uint64_t sum_of(const char *image, const Header *h) {
  uint64_t sum = hash_mix(hash_mix(hash_mix(h->hash, h->size), h->room), h->globals);
  return hash_bytes(image + h->globals, h->size - h->globals, sum);
}

/* What is numbered by the VM. */
static void numbers(Codec *c, LModule *m) {
  uint64_t *ids = c->out ? NEW_ARRAY(c->out->arena, uint64_t, m->nfuncs + 1) : NULL;
  for (int i = 0; c->out && i < m->nfuncs; i++) ids[i] = m->funcs[i]->id;
  row(c, &m->globals, m->nglobals, sizeof *m->globals);
  row(c, &ids, m->nfuncs, sizeof *ids);
  for (int i = 0; !c->out && !c->wrong && i < m->nfuncs; i++) m->funcs[i]->id = ids[i];
}

void image_write(const LModule *m, Str *out) {
  Codec c = {.out = out, .start = out->len};
  Header h = {.magic = magic};
  LModule copy = *m;
  LModule *made = NULL;
  raw(&c, &h, sizeof h);
  make(&c, &made, 1, sizeof *made);
  number_descs(&c, m);
  parts(&c, &copy);
  h.globals = out->len - c.start;
  numbers(&c, &copy);
  align(&c);
  char *image = out->data + c.start;
  h.size = out->len - c.start;
  h.room = c.room;
  h.hash = hash_bytes(image + sizeof h, h.globals - sizeof h, magic);
  h.sum = sum_of(image, &h);
  memcpy(image, &h, sizeof h);
}

static const char *check_header(const char *bytes, size_t n, Header *h) {
  if (n < sizeof *h) return "the image of a module is cut off";
  memcpy(h, bytes, sizeof *h);
  if (h->magic != magic) return "no image of a module of this version";
  if (h->size != n || n % 8 || h->room % 16) return "the image of a module is cut off";
  bool fits = h->globals >= sizeof *h && h->globals <= n && h->room <= LIMIT_IMAGE_ROOM * (n + sizeof(LModule));
  if (!fits || hash_bytes(bytes + sizeof *h, h->globals - sizeof *h, magic) != h->hash || sum_of(bytes, h) != h->sum)
    return "the image of a module is damaged";
  return NULL;
}

LModule *image_load(Heap *heap, const void *bytes, size_t n, const char **why) {
  Header h;
  if ((*why = check_header(bytes, n, &h))) return NULL;
  char *block = heap_realloc(heap, NULL, 0, h.room + n);
  if (!block) return NULL;
  Codec c = {.image = block + h.room, .next_room = block, .at = sizeof h, .room = h.room, .size = h.globals};
  memcpy(c.image, bytes, n);
  LModule *m = NULL;
  make(&c, &m, 1, sizeof *m);
  if (m) parts(&c, m);
  expect(&c, c.wrong || (c.at == h.globals && c.room == 0));
  c.size = n;
  if (m) numbers(&c, m);
  if (c.wrong) {
    heap_realloc(heap, block, h.room + n, 0);
    *why = c.wrong;
    return NULL;
  }
  m->hash = h.hash;
  m->image = c.image;
  m->image_size = n;
  return m;
}

uint64_t image_hash(const void *image) {
  Header h;
  memcpy(&h, image, sizeof h);
  return h.hash;
}

void image_free(Heap *heap, LModule *m) {
  /* the module is the first thing in its block */
  if (m) heap_realloc(heap, m, (size_t)((const char *)m->image - (const char *)m) + m->image_size, 0);
}
