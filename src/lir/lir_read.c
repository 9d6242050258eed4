/* SPDX-License-Identifier: MIT */
/* Reads a lowered module from its text form, whose grammar is in lir_print.c. Tests use it: a module that was
 * printed and read back has the same image and behaves alike.
 *
 * The reader goes through the text once. Each function below reads what its name says, and leaves the position after
 * it. At the first error the text counts as ended, and the line is in the module's `error`. Rows of tables are in
 * order. Numbers of registers, labels and rows are taken as they are: lir_verify checks them. Only descriptors
 * become pointers; they are made when they are first referred to. */
#include "lir/lir_internal.h"
#include "support/scan.h"
#include <ctype.h>
#include <string.h>

typedef Vec(int32_t) Numbers;
typedef struct Reader {
  Scan *s;
  LModule *m;
  int ndescs; /* rows that were there */
  Vec(Desc *) descs;
  Vec(LText) strings;
  Vec(LBox) boxes;
  Vec(LForeign) foreigns;
  Vec(int) globals;
  Vec(LSite) sites;
  Vec(LFunc *) funcs;
  Vec(LInstr) code; /* of the last function */
} Reader;

/* ---- Words ------------------------------------------------------------------------------------------------------- */
/* NULL for _. */
static const char *text(Reader *r) { return scan_took(r->s, "_") ? NULL : scan_quoted(r->s).data; }

static uint8_t kind(Reader *r) {
  const char *letter = scan_next(r->s) ? strchr(LIR_LETTERS, scan_next(r->s)) : NULL;
  if (letter) r->s->at++;
  else scan_wrong(r->s, "expected the letter of a kind");
  return letter ? (uint8_t)(letter - LIR_LETTERS) : 0;
}

/* Letters of kinds without blanks between them. */
static uint8_t *kinds(Reader *r, int *n) {
  Vec(uint8_t) list = {0};
  while (r->s->at < r->s->end && *r->s->at && strchr(LIR_LETTERS, *r->s->at)) vec_push(r->s->arena, list, kind(r));
  *n = list.len;
  return list.data ? list.data : NEW_ARRAY(r->s->arena, uint8_t, 1);
}

/* A row's number, which is how many there are already. */
static void row_number(Reader *r, int expected) {
  if (scan_int(r->s) != expected) scan_wrong_word(r->s, "row number %d expected", expected);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */
static Desc *desc_at(Reader *r, int n) {
  if (n < 0 || n >= r->s->end - r->s->at + r->descs.len + 1) {
    scan_wrong_word(r->s, "descriptor %d can't be", n);
    n = 0;
  }
  while (r->descs.len <= n) vec_push(r->s->arena, r->descs, NEW(r->s->arena, Desc));
  return r->descs.data[n];
}

static const Desc **desc_list(Reader *r, int *n) {
  Vec(const Desc *) list = {0};
  scan_expect(r->s, "(");
  while (scan_another(r->s, list.len)) {
    const Desc *d = scan_took(r->s, "_") ? NULL : desc_at(r, scan_int(r->s));
    vec_push(r->s->arena, list, d);
  }
  *n = list.len;
  return list.data ? list.data : NEW(r->s->arena, const Desc *);
}

static const char **desc_names(Reader *r, int *n) {
  Vec(const char *) list = {0};
  scan_expect(r->s, "(");
  while (scan_another(r->s, list.len)) vec_push(r->s->arena, list, scan_quoted(r->s).data);
  *n = list.len;
  return list.data ? list.data : NEW(r->s->arena, const char *);
}

/* What a descriptor refers to, after its numbers. */
static void desc_parts(Reader *r, Desc *d) {
  int n = 0;
  d->pointers = scan_took(r->s, "pointers");
  if (scan_took(r->s, "as")) d->shown_as = scan_quoted(r->s).data;
  scan_expect(r->s, "args");
  d->args = desc_list(r, &d->n);
  for (int k = 0; k < d->n; k++)
    if (!d->args[k]) scan_wrong_word(r->s, "a part is missing");
  if (scan_took(r->s, "names")) d->names = desc_names(r, &n);
  if (d->names && n != d->n) scan_wrong(r->s, "%d names expected", d->n);
  if (scan_took(r->s, "targets")) d->slot_descs = desc_list(r, &n);
  if (d->slot_descs && n != d->nslots) scan_wrong(r->s, "%d targets expected", d->nslots);
}

static void read_desc(Reader *r) {
  row_number(r, r->ndescs);
  Desc *d = desc_at(r, r->ndescs++);
  int k = 0;
  while (k <= D_OPAQUE && !scan_took(r->s, lir_desc_kinds[k])) k++;
  if (k > D_OPAQUE) scan_wrong(r->s, "expected a kind of descriptor");
  d->kind = (DescKind)k;
  d->name = text(r);
  scan_expect(r->s, "id=");
  d->id = scan_bits(r->s);
  scan_expect(r->s, "slots=");
  d->slots = kinds(r, &d->nslots);
  scan_expect(r->s, "link=");
  d->link = scan_int(r->s);
  scan_expect(r->s, "rank=");
  d->rank = scan_int(r->s);
  scan_expect(r->s, "cons=");
  d->cons = scan_int(r->s);
  desc_parts(r, d);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void read_fields(Reader *r, LBox *b, bool plain) {
  Vec(Slot) fields = {0};
  Vec(uint8_t) kinds = {0};
  scan_expect(r->s, "(");
  while (scan_another(r->s, fields.len)) {
    LFieldKind k = scan_next(r->s) == 's' ? LFIELD_STRING : scan_next(r->s) == 'b' ? LFIELD_BOX : LFIELD_PLAIN;
    if (k != LFIELD_PLAIN) r->s->at++;
    Slot value = {.i = scan_number(r->s)};
    vec_push(r->s->arena, fields, value);
    vec_push(r->s->arena, kinds, (uint8_t)k);
    if (plain && k != LFIELD_PLAIN) scan_wrong_word(r->s, "a field that isn't plain");
  }
  b->nfields = fields.len;
  b->fields = fields.data ? fields.data : NEW(r->s->arena, Slot);
  if (!plain) b->kinds = kinds.data ? kinds.data : NEW(r->s->arena, uint8_t);
}

static void read_box(Reader *r) {
  LBox b = {0};
  row_number(r, r->boxes.len);
  scan_expect(r->s, "desc=");
  b.desc = scan_int(r->s);
  scan_expect(r->s, "tag=");
  b.tag = scan_int(r->s);
  if (scan_took(r->s, "dims")) {
    Vec(int64_t) dims = {0};
    scan_expect(r->s, "(");
    while (scan_another(r->s, dims.len)) vec_push(r->s->arena, dims, scan_number(r->s));
    b.dims = dims.data;
  }
  read_fields(r, &b, scan_took(r->s, "plain"));
  vec_push(r->s->arena, r->boxes, b);
}

static void read_foreign(Reader *r) {
  LForeign f = {0};
  row_number(r, r->foreigns.len);
  f.library = text(r);
  f.symbol = text(r);
  scan_expect(r->s, "(");
  f.kinds = kinds(r, &f.nargs);
  scan_expect(r->s, ")");
  scan_expect(r->s, "->");
  f.result = kind(r);
  f.sized = scan_took(r->s, "[");
  if (f.sized) scan_expect(r->s, "]");
  vec_push(r->s->arena, r->foreigns, f);
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
/* i3, p5! and the like: the number, of which the letters tell what the function's line of registers says anyway. */
static bool is_reg(Reader *r) {
  return scan_next(r->s) && strchr(LIR_LETTERS "_", scan_next(r->s)) &&
         (*r->s->at == '_' || isdigit((unsigned char)r->s->at[1]));
}

static int32_t reg(Reader *r) {
  const LFunc *f = r->funcs.data[r->funcs.len - 1];
  if (scan_took(r->s, "_")) return -1;
  uint8_t k = kind(r);
  int32_t n = scan_int(r->s);
  bool owned = r->s->at < r->s->end && *r->s->at == '!';
  r->s->at += owned;
  if (n >= 0 && n < f->nregs && (f->regs[n].kind != k || f->regs[n].owned != owned))
    scan_wrong_word(r->s, "register %d is of another kind", n);
  return n;
}

static int32_t label(Reader *r) {
  if (scan_next(r->s) == 'L') r->s->at++;
  else scan_wrong(r->s, "expected a label");
  return scan_int(r->s);
}

/* Registers before an equals sign, if such come next. */
static Numbers results(Reader *r) {
  Numbers list = {0};
  if (!is_reg(r)) return list;
  do vec_push(r->s->arena, list, reg(r));
  while (scan_took(r->s, ","));
  scan_expect(r->s, "=");
  return list;
}

static bool find_scalar(const char *name, LInstr *in) {
  for (uint32_t op = 0; op < OP_COUNT; op++)
    if ((op_flags[op] & OPF_S) && strcmp(op_names[op], name) == 0) {
      in->op = LOP_SCALAR;
      in->sub = op;
      return true;
    }
  return false;
}

static void operation(Reader *r, LInstr *in) {
  const char *name = scan_word(r->s);
  for (int op = 0; op < LOP_COUNT; op++)
    if (lir_ops[op].sub != LSUB_OP && strcmp(lir_ops[op].name, name) == 0) {
      in->op = (LOp)op;
      return;
    }
  if (!find_scalar(name, in)) scan_wrong_word(r->s, "no operation %s", name);
}

static void immediate(Reader *r, LInstr *in) {
  switch (lir_ops[in->op].imm) {
  case LIMM_NONE: break;
  case LIMM_FLOAT: in->imm.f = scan_float(r->s); break;
  case LIMM_TEXT: in->imm.text = text(r); break;
  case LIMM_LABEL: in->imm.i = label(r); break;
  case LIMM_INT:
  case LIMM_STRING:
  case LIMM_BOX:
  case LIMM_FUNC:
  case LIMM_FOREIGN:
  case LIMM_DESC:
  case LIMM_OPT_DESC: in->imm.i = scan_number(r->s); break;
  }
}

static void sub(Reader *r, LInstr *in) {
  const RtPrim *prim;
  switch (lir_ops[in->op].sub) {
  case LSUB_NONE:
  case LSUB_OP: break; /* its name was the instruction's */
  case LSUB_PRIM:
    prim = ir_rt_find(scan_word(r->s));
    if (prim) in->sub = (uint32_t)ir_rt_id(prim);
    else scan_wrong_word(r->s, "no such primitive");
    break;
  case LSUB_DESC:
  case LSUB_TAKE:
    if (scan_took(r->s, "sub=")) in->sub = (uint32_t)scan_int(r->s);
  }
}

static void operands(Reader *r, LInstr *in) {
  int32_t *fields[] = {&in->dst, &in->a, &in->b, &in->c};
  for (LOperand k = LOPERAND_A; k <= LOPERAND_C; k++)
    if (scan_took(r->s, ((const char *[]){"", "a=", "b=", "c="})[k]))
      *fields[k] = lir_use(in->op, k) == '#' ? scan_int(r->s) : reg(r);
}

static void arguments(Reader *r, LInstr *in) {
  Numbers list = {0};
  bool labels = lir_holds(in->op, LOPERAND_ARGS) == 'l';
  if (!scan_took(r->s, "(")) return;
  while (scan_another(r->s, list.len)) { vec_push(r->s->arena, list, labels ? label(r) : reg(r)); }
  in->args = list.data;
  in->nargs = list.len;
}

static void read_instr(Reader *r) {
  LInstr in = {.dst = -1, .a = -1, .b = -1, .c = -1};
  Numbers first = results(r), second = results(r);
  operation(r, &in);
  if (r->s->error) return;
  bool has_dst = lir_use(in.op, LOPERAND_DST) != '-';
  if (has_dst && first.len == 1) in.dst = first.data[0];
  else if (has_dst || second.len) scan_wrong_word(r->s, "a wrong number of registers before the operation");
  in.res = has_dst ? second.data : first.data;
  in.nres = has_dst ? second.len : first.len;
  immediate(r, &in);
  sub(r, &in);
  operands(r, &in);
  arguments(r, &in);
  if (scan_took(r->s, "@")) in.site = scan_unsigned(r->s);
  vec_push(r->s->arena, r->code, in);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static void close_func(Reader *r) {
  if (!r->funcs.len) return;
  LFunc *f = r->funcs.data[r->funcs.len - 1];
  f->code = r->code.data;
  f->ncode = r->code.len;
  memset(&r->code, 0, sizeof r->code);
}

static void read_func(Reader *r) {
  LFunc *f = NEW(r->s->arena, LFunc);
  close_func(r);
  row_number(r, r->funcs.len);
  vec_push(r->s->arena, r->funcs, f);
  f->index = r->funcs.len - 1;
  f->name = text(r);
  scan_expect(r->s, "(");
  for (; scan_another(r->s, f->nparams); f->nparams++) reg(r);
  scan_expect(r->s, "->");
  scan_expect(r->s, "(");
  f->result_kinds = kinds(r, &f->nresults);
  scan_expect(r->s, ")");
  f->may_fail = scan_took(r->s, "fails");
  f->recursive = scan_took(r->s, "recursive");
  f->is_entry = scan_took(r->s, "entry");
  scan_expect(r->s, "id=");
  f->id = scan_bits(r->s);
  scan_expect(r->s, "caps=");
  f->ncaps = scan_int(r->s);
  scan_expect(r->s, "labels=");
  f->nlabels = scan_int(r->s);
}

static void read_regs(Reader *r, LFunc *f) {
  Vec(LReg) regs = {0};
  while (scan_next(r->s)) {
    bool owned = *r->s->at == 'P';
    LReg one = {owned ? R_PTR : 0, owned};
    if (owned) r->s->at++;
    else one.kind = kind(r);
    vec_push(r->s->arena, regs, one);
  }
  f->regs = regs.data;
  f->nregs = regs.len;
  if (f->nregs < f->nparams) scan_wrong(r->s, "fewer registers than parameters");
}

static void read_acc(Reader *r, LFunc *f) {
  Vec(uint8_t) slots = {0};
  Vec(const Desc *) descs = {0};
  scan_expect(r->s, "(");
  while (scan_another(r->s, slots.len)) {
    vec_push(r->s->arena, slots, kind(r));
    const Desc *d = isdigit((unsigned char)scan_next(r->s)) ? desc_at(r, scan_int(r->s)) : NULL;
    vec_push(r->s->arena, descs, d);
  }
  f->nacc = slots.len;
  f->acc_kinds = slots.data ? slots.data : NEW(r->s->arena, uint8_t);
  f->acc_descs = descs.data ? descs.data : NEW(r->s->arena, const Desc *);
}

/* ---- The module -------------------------------------------------------------------------------------------------- */
static void read_module(Reader *r) {
  r->m->strict = scan_took(r->s, "strict");
  scan_expect(r->s, "descs=");
  r->m->ndescs = scan_int(r->s);
}

static void read_string(Reader *r) {
  row_number(r, r->strings.len);
  Str text = scan_quoted(r->s);
  vec_push(r->s->arena, r->strings, ((LText){text.data, text.len}));
}

static void read_global(Reader *r) {
  row_number(r, r->globals.len);
  vec_push(r->s->arena, r->globals, scan_int(r->s));
}

static void read_site(Reader *r) {
  LSite s = {0};
  row_number(r, r->sites.len);
  s.at.source = scan_unsigned(r->s);
  scan_expect(r->s, ":");
  s.at.start = scan_unsigned(r->s);
  scan_expect(r->s, "-");
  s.at.end = scan_unsigned(r->s);
  s.function = text(r);
  scan_expect(r->s, "parent=");
  s.parent = scan_unsigned(r->s);
  vec_push(r->s->arena, r->sites, s);
}

static void read_line(Reader *r) {
  LFunc *f = r->funcs.len ? r->funcs.data[r->funcs.len - 1] : NULL;
  if (scan_took(r->s, "module")) read_module(r);
  else if (scan_took(r->s, "desc")) read_desc(r);
  else if (scan_took(r->s, "string")) read_string(r);
  else if (scan_took(r->s, "box")) read_box(r);
  else if (scan_took(r->s, "foreign")) read_foreign(r);
  else if (scan_took(r->s, "global")) read_global(r);
  else if (scan_took(r->s, "site")) read_site(r);
  else if (scan_took(r->s, "func")) read_func(r);
  else if (!f) scan_wrong(r->s, "expected a function");
  else if (scan_took(r->s, "regs")) read_regs(r, f);
  else if (scan_took(r->s, "acc")) read_acc(r, f);
  else read_instr(r);
}

static void publish(Reader *r) {
  LModule *m = r->m;
  if (r->ndescs < r->descs.len) scan_wrong(r->s, "descriptor %d is missing", r->ndescs);
  if (m->ndescs < 0 || m->ndescs > r->ndescs) scan_wrong(r->s, "the module has too few descriptors");
  m->descs = (const Desc **)(void *)r->descs.data;
  m->strings = r->strings.data;
  m->nstrings = r->strings.len;
  m->boxes = r->boxes.data;
  m->nboxes = r->boxes.len;
  m->foreigns = r->foreigns.data;
  m->nforeigns = r->foreigns.len;
  m->globals = r->globals.data;
  m->nglobals = r->globals.len;
  m->sites = r->sites.data;
  m->nsites = r->sites.len;
  m->funcs = r->funcs.data;
  m->nfuncs = r->funcs.len;
}

LModule *lir_read(Arena *arena, const char *text) {
  Reader r = {.s = &(Scan){0}, .m = NEW(arena, LModule)};
  scan_init(r.s, arena, text);
  r.m->arena = arena;
  vec_push(arena, r.sites, (LSite){0}); /* number 0 is none */
  while (scan_line(r.s)) read_line(&r);
  close_func(&r);
  publish(&r);
  r.m->error = r.s->error;
  return r.m;
}
