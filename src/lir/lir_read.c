/* SPDX-License-Identifier: MIT */
/* Lowered code from its text form, which stands over lir_print.c. Tests use it: what is printed is all there is to a
 * module, so one that was read back has the same image and runs alike.
 *
 * The reader goes through the text once. Each function below reads what its name says and leaves the position after it;
 * at the first thing that isn't as it should be, the text counts as ended and its line is in the module's `error`. Rows
 * of tables stand in order. Numbers of registers, labels and rows are taken as they are: lir_verify looks at them. Only
 * descriptors become pointers, made when they are first referred to. */
#include "lir/lir_internal.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef Vec(int32_t) Numbers;
typedef struct Reader {
  Arena *arena;
  LModule *m;
  const char *at, *end;
  int line;
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
__attribute__((format(printf, 2, 3))) static void wrong(Reader *r, const char *fmt, ...) {
  char text[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!r->m->error) r->m->error = arena_printf(r->arena, "line %d: %s", r->line, text);
  r->at = r->end;
}

/* The next character on the line, 0 at its end. */
static char next(Reader *r) {
  while (r->at < r->end && *r->at == ' ') r->at++;
  return r->at < r->end && *r->at != '\n' ? *r->at : 0;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Takes the text if it comes next, and as a whole word if it ends as one. */
static bool took(Reader *r, const char *text) {
  size_t n = strlen(text);
  next(r);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
  if (in_word(text[n - 1]) && in_word(r->at[n])) return false;
  r->at += n;
  return true;
}

static void expect(Reader *r, const char *text) {
  if (!took(r, text)) wrong(r, "expected %s", text);
}

static int64_t number(Reader *r) {
  char c = next(r), *end;
  if (c != '-' && !isdigit((unsigned char)c)) wrong(r, "expected a number");
  if (r->m->error) return 0;
  int64_t n = strtoll(r->at, &end, 10);
  r->at = end;
  return n;
}

static int32_t small(Reader *r) {
  int64_t n = number(r);
  if (n < INT32_MIN || n > INT32_MAX) wrong(r, "a number that is too large");
  return (int32_t)n;
}

static uint32_t unsigned_number(Reader *r) {
  int64_t n = number(r);
  if (n < 0 || n > UINT32_MAX) wrong(r, "a number that is too large");
  return (uint32_t)n;
}

static uint64_t bits(Reader *r) {
  char *end;
  if (!isxdigit((unsigned char)next(r))) wrong(r, "expected a hexadecimal number");
  if (r->m->error) return 0;
  uint64_t n = strtoull(r->at, &end, 16);
  r->at = end;
  return n;
}

/* One character of a quoted text: itself, or what stands behind a backslash, of which \\x has two digits. */
static char quoted_char(Reader *r) {
  char c = *r->at++;
  if (c != '\\' || r->at == r->end) return c;
  c = *r->at++;
  if (c != 'x' || r->end - r->at < 2) return c;
  char digits[3] = {r->at[0], r->at[1], 0};
  r->at += 2;
  return (char)strtol(digits, NULL, 16);
}

static LText quoted(Reader *r) {
  Str s = {.arena = r->arena};
  expect(r, "\"");
  while (r->at < r->end && *r->at != '"' && *r->at != '\n') {
    char c = quoted_char(r);
    str_add(&s, &c, 1);
  }
  if (r->at < r->end && *r->at == '"') r->at++;
  else wrong(r, "a text without end");
  return (LText){s.data ? s.data : "", s.len};
}

/* NULL for _. */
static const char *text(Reader *r) { return took(r, "_") ? NULL : quoted(r).text; }

static uint8_t kind(Reader *r) {
  const char *letter = next(r) ? strchr(LIR_LETTERS, next(r)) : NULL;
  if (letter) r->at++;
  else wrong(r, "expected the letter of a kind");
  return letter ? (uint8_t)(letter - LIR_LETTERS) : 0;
}

/* Letters of kinds without blanks between them. */
static uint8_t *kinds(Reader *r, int *n) {
  Vec(uint8_t) list = {0};
  while (r->at < r->end && *r->at && strchr(LIR_LETTERS, *r->at)) vec_push(r->arena, list, kind(r));
  *n = list.len;
  return list.data ? list.data : NEW_ARRAY(r->arena, uint8_t, 1);
}

/* Is there another element in a list, whose bracket was taken? `n` have been read. */
static bool another(Reader *r, int64_t n) {
  if (took(r, ")")) return false;
  if (n) expect(r, ",");
  return !r->m->error;
}

/* A row's number, which is how many there are already. */
static void row_number(Reader *r, int expected) {
  if (small(r) != expected) wrong(r, "row number %d expected", expected);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */
static Desc *desc_at(Reader *r, int n) {
  if (n < 0 || n >= r->end - r->at + r->descs.len + 1) {
    wrong(r, "descriptor %d can't be", n);
    n = 0;
  }
  while (r->descs.len <= n) vec_push(r->arena, r->descs, NEW(r->arena, Desc));
  return r->descs.data[n];
}

static const Desc **desc_list(Reader *r, int *n) {
  Vec(const Desc *) list = {0};
  expect(r, "(");
  while (another(r, list.len)) {
    const Desc *d = took(r, "_") ? NULL : desc_at(r, small(r));
    vec_push(r->arena, list, d);
  }
  *n = list.len;
  return list.data ? list.data : NEW(r->arena, const Desc *);
}

static const char **desc_names(Reader *r, int *n) {
  Vec(const char *) list = {0};
  expect(r, "(");
  while (another(r, list.len)) vec_push(r->arena, list, quoted(r).text);
  *n = list.len;
  return list.data ? list.data : NEW(r->arena, const char *);
}

/* What a descriptor refers to, after its numbers. */
static void desc_parts(Reader *r, Desc *d) {
  int n = 0;
  d->pointers = took(r, "pointers");
  expect(r, "args");
  d->args = desc_list(r, &d->n);
  for (int k = 0; k < d->n; k++)
    if (!d->args[k]) wrong(r, "a part is missing");
  if (took(r, "names")) d->names = desc_names(r, &n);
  if (d->names && n != d->n) wrong(r, "%d names expected", d->n);
  if (took(r, "targets")) d->slot_descs = desc_list(r, &n);
  if (d->slot_descs && n != d->nslots) wrong(r, "%d targets expected", d->nslots);
}

static void read_desc(Reader *r) {
  row_number(r, r->ndescs);
  Desc *d = desc_at(r, r->ndescs++);
  int k = 0;
  while (k <= D_ENV && !took(r, lir_desc_kinds[k])) k++;
  if (k > D_ENV) wrong(r, "expected a kind of descriptor");
  d->kind = (DescKind)k;
  d->name = text(r);
  expect(r, "id=");
  d->id = bits(r);
  expect(r, "slots=");
  d->slots = kinds(r, &d->nslots);
  expect(r, "link=");
  d->link = small(r);
  expect(r, "rank=");
  d->rank = small(r);
  expect(r, "cons=");
  d->cons = small(r);
  desc_parts(r, d);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void read_fields(Reader *r, LBox *b, bool plain) {
  Vec(Slot) fields = {0};
  Vec(uint8_t) kinds = {0};
  expect(r, "(");
  while (another(r, fields.len)) {
    LFieldKind k = next(r) == 's' ? LFIELD_STRING : next(r) == 'b' ? LFIELD_BOX : LFIELD_PLAIN;
    if (k != LFIELD_PLAIN) r->at++;
    Slot value = {.i = number(r)};
    vec_push(r->arena, fields, value);
    vec_push(r->arena, kinds, (uint8_t)k);
    if (plain && k != LFIELD_PLAIN) wrong(r, "a field that isn't plain");
  }
  b->nfields = fields.len;
  b->fields = fields.data ? fields.data : NEW(r->arena, Slot);
  if (!plain) b->kinds = kinds.data ? kinds.data : NEW(r->arena, uint8_t);
}

static void read_box(Reader *r) {
  LBox b = {0};
  row_number(r, r->boxes.len);
  expect(r, "desc=");
  b.desc = small(r);
  expect(r, "tag=");
  b.tag = small(r);
  if (took(r, "dims")) {
    Vec(int64_t) dims = {0};
    expect(r, "(");
    while (another(r, dims.len)) vec_push(r->arena, dims, number(r));
    b.dims = dims.data;
  }
  read_fields(r, &b, took(r, "plain"));
  vec_push(r->arena, r->boxes, b);
}

static void read_foreign(Reader *r) {
  LForeign f = {0};
  row_number(r, r->foreigns.len);
  f.library = text(r);
  f.symbol = text(r);
  expect(r, "(");
  f.kinds = kinds(r, &f.nargs);
  expect(r, ")");
  expect(r, "->");
  f.result = kind(r);
  vec_push(r->arena, r->foreigns, f);
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
/* i3, p5! and the like: the number, of which the letters tell what the function's line of registers says anyway. */
static bool is_reg(Reader *r) {
  return next(r) && strchr(LIR_LETTERS "_", next(r)) && (*r->at == '_' || isdigit((unsigned char)r->at[1]));
}

static int32_t reg(Reader *r) {
  const LFunc *f = r->funcs.data[r->funcs.len - 1];
  if (took(r, "_")) return -1;
  uint8_t k = kind(r);
  int32_t n = small(r);
  bool owned = r->at < r->end && *r->at == '!';
  r->at += owned;
  if (n >= 0 && n < f->nregs && (f->regs[n].kind != k || f->regs[n].owned != owned))
    wrong(r, "register %d is of another kind", n);
  return n;
}

static int32_t label(Reader *r) {
  if (next(r) == 'L') r->at++;
  else wrong(r, "expected a label");
  return small(r);
}

/* Registers before an equals sign, if such come next. */
static Numbers results(Reader *r) {
  Numbers list = {0};
  if (!is_reg(r)) return list;
  do vec_push(r->arena, list, reg(r));
  while (took(r, ","));
  expect(r, "=");
  return list;
}

/* Up to the next blank. */
static const char *word(Reader *r) {
  next(r);
  const char *start = r->at;
  while (r->at < r->end && !isspace((unsigned char)*r->at)) r->at++;
  return arena_strndup(r->arena, start, (size_t)(r->at - start));
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
  const char *name = word(r);
  for (int op = 0; op < LOP_COUNT; op++)
    if (lir_ops[op].sub != LSUB_OP && strcmp(lir_ops[op].name, name) == 0) {
      in->op = (LOp)op;
      return;
    }
  if (!find_scalar(name, in)) wrong(r, "no operation %s", name);
}

static void immediate(Reader *r, LInstr *in) {
  char *end;
  switch (lir_ops[in->op].imm) {
  case LIMM_NONE: break;
  case LIMM_FLOAT:
    if (took(r, "nan:")) {
      in->imm.i = (int64_t)bits(r);
      break;
    }
    in->imm.f = next(r) ? strtod(r->at, &end) : 0;
    if (!next(r) || end == r->at) wrong(r, "expected a float");
    else r->at = end;
    break;
  case LIMM_TEXT: in->imm.text = text(r); break;
  case LIMM_LABEL: in->imm.i = label(r); break;
  case LIMM_INT:
  case LIMM_STRING:
  case LIMM_BOX:
  case LIMM_FUNC:
  case LIMM_FOREIGN:
  case LIMM_DESC:
  case LIMM_OPT_DESC: in->imm.i = number(r); break;
  }
}

static void sub(Reader *r, LInstr *in) {
  const RtPrim *prim;
  switch (lir_ops[in->op].sub) {
  case LSUB_NONE:
  case LSUB_OP: break; /* its name was the instruction's */
  case LSUB_PRIM:
    prim = ir_rt_find(word(r));
    if (prim) in->sub = (uint32_t)ir_rt_id(prim);
    else wrong(r, "no such primitive");
    break;
  case LSUB_DESC:
  case LSUB_TAKE:
    if (took(r, "sub=")) in->sub = (uint32_t)small(r);
  }
}

static void operands(Reader *r, LInstr *in) {
  int32_t *fields[] = {&in->dst, &in->a, &in->b, &in->c};
  for (LOperand k = LOPERAND_A; k <= LOPERAND_C; k++)
    if (took(r, ((const char *[]){"", "a=", "b=", "c="})[k]))
      *fields[k] = lir_use(in->op, k) == '#' ? small(r) : reg(r);
}

static void arguments(Reader *r, LInstr *in) {
  Numbers list = {0};
  bool labels = lir_holds(in->op, LOPERAND_ARGS) == 'l';
  if (!took(r, "(")) return;
  while (another(r, list.len)) { vec_push(r->arena, list, labels ? label(r) : reg(r)); }
  in->args = list.data;
  in->nargs = list.len;
}

static void read_instr(Reader *r) {
  LInstr in = {.dst = -1, .a = -1, .b = -1, .c = -1};
  Numbers first = results(r), second = results(r);
  operation(r, &in);
  if (r->m->error) return;
  bool has_dst = lir_use(in.op, LOPERAND_DST) != '-';
  if (has_dst && first.len == 1) in.dst = first.data[0];
  else if (has_dst || second.len) wrong(r, "a wrong number of registers before the operation");
  in.res = has_dst ? second.data : first.data;
  in.nres = has_dst ? second.len : first.len;
  immediate(r, &in);
  sub(r, &in);
  operands(r, &in);
  arguments(r, &in);
  if (took(r, "@")) in.site = unsigned_number(r);
  vec_push(r->arena, r->code, in);
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
  LFunc *f = NEW(r->arena, LFunc);
  close_func(r);
  row_number(r, r->funcs.len);
  vec_push(r->arena, r->funcs, f);
  f->index = r->funcs.len - 1;
  f->name = text(r);
  expect(r, "(");
  for (; another(r, f->nparams); f->nparams++) reg(r);
  expect(r, "->");
  expect(r, "(");
  f->result_kinds = kinds(r, &f->nresults);
  expect(r, ")");
  f->may_fail = took(r, "fails");
  f->recursive = took(r, "recursive");
  f->is_entry = took(r, "entry");
  expect(r, "id=");
  f->id = bits(r);
  expect(r, "caps=");
  f->ncaps = small(r);
  expect(r, "labels=");
  f->nlabels = small(r);
  expect(r, "repeat=");
  f->last_repeat = small(r);
}

static void read_regs(Reader *r, LFunc *f) {
  Vec(LReg) regs = {0};
  while (next(r)) {
    bool owned = *r->at == 'P';
    LReg one = {owned ? R_PTR : 0, owned};
    if (owned) r->at++;
    else one.kind = kind(r);
    vec_push(r->arena, regs, one);
  }
  f->regs = regs.data;
  f->nregs = regs.len;
  if (f->nregs < f->nparams) wrong(r, "fewer registers than parameters");
}

static void read_acc(Reader *r, LFunc *f) {
  Vec(uint8_t) slots = {0};
  Vec(const Desc *) descs = {0};
  expect(r, "(");
  while (another(r, slots.len)) {
    vec_push(r->arena, slots, kind(r));
    const Desc *d = isdigit((unsigned char)next(r)) ? desc_at(r, small(r)) : NULL;
    vec_push(r->arena, descs, d);
  }
  f->nacc = slots.len;
  f->acc_kinds = slots.data ? slots.data : NEW(r->arena, uint8_t);
  f->acc_descs = descs.data ? descs.data : NEW(r->arena, const Desc *);
}

/* ---- The module -------------------------------------------------------------------------------------------------- */
static void read_module(Reader *r) {
  r->m->strict = took(r, "strict");
  expect(r, "descs=");
  r->m->ndescs = small(r);
}

static void read_string(Reader *r) {
  row_number(r, r->strings.len);
  vec_push(r->arena, r->strings, quoted(r));
}

static void read_global(Reader *r) {
  row_number(r, r->globals.len);
  vec_push(r->arena, r->globals, small(r));
}

static void read_site(Reader *r) {
  LSite s = {0};
  row_number(r, r->sites.len);
  s.at.source = unsigned_number(r);
  expect(r, ":");
  s.at.start = unsigned_number(r);
  expect(r, "-");
  s.at.end = unsigned_number(r);
  s.function = text(r);
  expect(r, "parent=");
  s.parent = unsigned_number(r);
  vec_push(r->arena, r->sites, s);
}

static void read_line(Reader *r) {
  LFunc *f = r->funcs.len ? r->funcs.data[r->funcs.len - 1] : NULL;
  if (took(r, "module")) read_module(r);
  else if (took(r, "desc")) read_desc(r);
  else if (took(r, "string")) read_string(r);
  else if (took(r, "box")) read_box(r);
  else if (took(r, "foreign")) read_foreign(r);
  else if (took(r, "global")) read_global(r);
  else if (took(r, "site")) read_site(r);
  else if (took(r, "func")) read_func(r);
  else if (!f) wrong(r, "expected a function");
  else if (took(r, "regs")) read_regs(r, f);
  else if (took(r, "acc")) read_acc(r, f);
  else read_instr(r);
}

static void publish(Reader *r) {
  LModule *m = r->m;
  if (r->ndescs < r->descs.len) wrong(r, "descriptor %d is missing", r->ndescs);
  if (m->ndescs < 0 || m->ndescs > r->ndescs) wrong(r, "the module has too few descriptors");
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
  Reader r = {.arena = arena, .at = text, .end = text + strlen(text), .line = 1};
  r.m = NEW(arena, LModule);
  r.m->arena = arena;
  vec_push(arena, r.sites, (LSite){0}); /* number 0 is none */
  while (r.at < r.end) {
    if (next(&r) == '#') r.at = strchr(r.at, '\n') ? strchr(r.at, '\n') : r.end;
    if (next(&r)) read_line(&r);
    if (next(&r)) wrong(&r, "the end of the line expected");
    if (r.at < r.end) r.at++;
    r.line++;
  }
  close_func(&r);
  publish(&r);
  return r.m;
}
