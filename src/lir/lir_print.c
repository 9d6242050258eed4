/* SPDX-License-Identifier: MIT */
/* Lowered code as text, for `atled ir --stage=lowered` and for tests; lir_read.c makes the module from it again.
 *
 *   module [strict] descs=N                the first N descriptors are the module's table, the others their parts
 *   desc 0 KIND "NAME" id=… slots=SLOTS link=… rank=… cons=…
 *       [pointers] [as "…"] args (0, …) [names ("…", …)] [targets (0, …)]       on the same line
 *   string 0 "…"
 *   box 0 desc=… tag=… [dims (…)] [plain] (5, s0, b0, …)      numbers (bit patterns), strings, boxes
 *   foreign 0 "LIBRARY" "SYMBOL" (SLOTS) -> SLOT [ "[]" ]
 *   global 0 NUMBER
 *   site 1 SOURCE:START-END "FUNCTION" parent=0      a place in a source, in bytes
 *   func 0 "NAME" (p0!, i1) -> (SLOTS) [fails] [recursive] [entry] id=… caps=… labels=… repeat=…
 *     regs REGS                            the kinds of all registers; P: an owned pointer
 *     acc (f, p2, …)                       a closure's accumulators: kind and descriptor of each slot
 *     …                                    instructions
 *   # what begins so is a comment
 *
 * An instruction has its destination, results, operation, immediate, sub, operands a, b and c, arguments and site, as
 * far as its row in lir.def knows them. Registers are written with their kind: i3 integer, f4 float, p5 pointer (p5!
 * owned), r6 raw; _ is none. SLOTS are letters of kinds too: i, f, p. */
#include "lir/lanes.h"
#include "lir/lir_internal.h"
#include <string.h>

const char *const lir_desc_kinds[D_OPAQUE + 1] = {"int",   "float",    "bool",    "string", "unit", "tuple",
                                                  "array", "function", "variant", "bag",    "env",  "opaque"};

/* ---- Words ------------------------------------------------------------------------------------------------------- */
/* ` "text"`, or ` _` for NULL. */
static void print_text(const char *text, Str *out) {
  str_addc(out, ' ');
  if (text) str_quoted(out, text, strlen(text));
  else str_addc(out, '_');
}

/* Of kinds of registers or slots, which have the same numbers. */
static void print_kinds(const uint8_t *kinds, int n, Str *out) {
  for (int i = 0; i < n; i++) str_addc(out, LIR_LETTERS[kinds[i]]);
}

static void print_reg(const LFunc *f, int r, Str *out) {
  if (r < 0) str_addc(out, '_');
  else if (r >= f->nregs) str_printf(out, "#%d", r);
  else str_printf(out, "%c%d%s", LIR_LETTERS[f->regs[r].kind], r, f->regs[r].owned ? "!" : "");
}

static void print_regs(const LFunc *f, const int32_t *r, int n, Str *out) {
  for (int i = 0; i < n; i++) {
    if (i) str_puts(out, ", ");
    print_reg(f, r[i], out);
  }
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */
/* All that the module reaches: its table, then their parts as they are met. */
typedef struct Descs {
  Arena *arena;
  Map numbers; /* -> number + 1 */
  Vec(const Desc *) all;
} Descs;

static int desc_number(Descs *d, const Desc *x) {
  if (!map_get(&d->numbers, x)) {
    vec_push(d->arena, d->all, x);
    map_put(&d->numbers, x, (void *)(uintptr_t)d->all.len);
  }
  return (int)(uintptr_t)map_get(&d->numbers, x) - 1;
}

static void find_descs(Descs *d, const LModule *m, Arena *arena) {
  d->arena = arena;
  map_init(&d->numbers, arena);
  for (int i = 0; i < m->ndescs; i++) desc_number(d, m->descs[i]);
  for (int i = 0; i < m->nfuncs; i++)
    for (int k = 0; k < m->funcs[i]->nacc; k++)
      if (m->funcs[i]->acc_descs[k]) desc_number(d, m->funcs[i]->acc_descs[k]);
  for (int i = 0; i < d->all.len; i++) {
    const Desc *x = d->all.data[i];
    for (int k = 0; k < x->n; k++) desc_number(d, x->args[k]);
    for (int k = 0; x->slot_descs && k < x->nslots; k++)
      if (x->slot_descs[k]) desc_number(d, x->slot_descs[k]);
  }
}

static void print_desc_list(Descs *d, const char *word, const Desc *const *list, int n, Str *out) {
  str_printf(out, " %s (", word);
  for (int k = 0; k < n; k++) {
    if (k) str_puts(out, ", ");
    if (list[k]) str_printf(out, "%d", desc_number(d, list[k]));
    else str_addc(out, '_');
  }
  str_addc(out, ')');
}

static void print_desc(Descs *d, int number, Str *out) {
  const Desc *x = d->all.data[number];
  str_printf(out, "desc %d %s", number, lir_desc_kinds[x->kind]);
  print_text(x->name, out);
  str_printf(out, " id=%llx slots=", (unsigned long long)x->id);
  print_kinds(x->slots, x->nslots, out);
  str_printf(out, " link=%d rank=%d cons=%d%s", x->link, x->rank, x->cons, x->pointers ? " pointers" : "");
  if (x->shown_as) {
    str_puts(out, " as ");
    str_quoted(out, x->shown_as, strlen(x->shown_as));
  }
  print_desc_list(d, "args", x->args, x->n, out);
  if (x->names) {
    str_puts(out, " names (");
    for (int k = 0; k < x->n; k++) {
      if (k) str_puts(out, ", ");
      str_quoted(out, x->names[k], strlen(x->names[k]));
    }
    str_addc(out, ')');
  }
  if (x->slot_descs) print_desc_list(d, "targets", x->slot_descs, x->nslots, out);
  str_addc(out, '\n');
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void print_box(const LModule *m, int number, Str *out) {
  const LBox *b = &m->boxes[number];
  str_printf(out, "box %d desc=%d tag=%d", number, b->desc, b->tag);
  if (b->dims) {
    str_puts(out, " dims (");
    for (int k = 0; k < m->descs[b->desc]->rank; k++) str_printf(out, "%s%lld", k ? ", " : "", (long long)b->dims[k]);
    str_addc(out, ')');
  }
  str_puts(out, b->kinds ? " (" : " plain (");
  for (int64_t k = 0; k < b->nfields; k++) {
    static const char *const prefixes[] = {[LFIELD_PLAIN] = "", [LFIELD_STRING] = "s", [LFIELD_BOX] = "b"};
    str_printf(out, "%s%s%lld", k ? ", " : "", b->kinds ? prefixes[b->kinds[k]] : "", (long long)b->fields[k].i);
  }
  str_puts(out, ")\n");
}

static void print_foreign(const LForeign *f, int number, Str *out) {
  str_printf(out, "foreign %d", number);
  print_text(f->library, out);
  print_text(f->symbol, out);
  str_puts(out, " (");
  print_kinds(f->kinds, f->nargs, out);
  str_puts(out, ") -> ");
  print_kinds(&f->result, 1, out);
  str_puts(out, f->sized ? "[]\n" : "\n");
}

static void print_site(const LSite *s, int number, Str *out) {
  str_printf(out, "site %d %u:%u-%u", number, s->at.source, s->at.start, s->at.end);
  print_text(s->function, out);
  str_printf(out, " parent=%u\n", s->parent);
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
static void print_float(double f, Str *out) {
  Slot bits = {.f = f};
  if (f == f) str_printf(out, " %.17g", f);
  else str_printf(out, " nan:%llx", (unsigned long long)bits.i);
}

static void print_immediate(const LInstr *in, Str *out) {
  switch (lir_ops[in->op].imm) {
  case LIMM_NONE: break;
  case LIMM_FLOAT: print_float(in->imm.f, out); break;
  case LIMM_TEXT: print_text(in->imm.text, out); break;
  case LIMM_LABEL: str_printf(out, " L%lld", (long long)in->imm.i); break;
  case LIMM_INT:
  case LIMM_STRING:
  case LIMM_BOX:
  case LIMM_FUNC:
  case LIMM_FOREIGN:
  case LIMM_DESC:
  case LIMM_OPT_DESC: str_printf(out, " %lld", (long long)in->imm.i); break;
  }
}

static void print_sub(const LInstr *in, Str *out) {
  switch (lir_ops[in->op].sub) {
  case LSUB_NONE:
  case LSUB_OP: break; /* its name is the instruction's */
  case LSUB_PRIM: str_printf(out, " %s", ir_rt_name((int)in->sub)); break;
  case LSUB_DESC:
  case LSUB_TAKE:
    if (in->sub) str_printf(out, " sub=%u", in->sub);
  }
}

static void print_operands(const LFunc *f, const LInstr *in, Str *out) {
  const int32_t fields[] = {in->dst, in->a, in->b, in->c};
  for (LOperand k = LOPERAND_A; k <= LOPERAND_C; k++) {
    if (fields[k] < 0) continue;
    str_printf(out, " %c=", "dabc"[k]);
    if (lir_use(in->op, k) == '#') str_printf(out, "%d", fields[k]);
    else print_reg(f, fields[k], out);
  }
}

static void print_args(const LFunc *f, const LInstr *in, Str *out) {
  if (!in->nargs) return;
  str_puts(out, " (");
  if (lir_holds(in->op, LOPERAND_ARGS) != 'l') print_regs(f, in->args, in->nargs, out);
  else
    for (int i = 0; i < in->nargs; i++) str_printf(out, "%sL%d", i ? ", " : "", in->args[i]);
  str_addc(out, ')');
}

/* A function, and what was decided about its loops for the widest vectors. */
typedef struct Printed {
  const LFunc *f;
  LaneFacts *facts;
  const LaneChoice *loops;
  int nloops;
} Printed;

/* In a line behind the head of a loop: whether it has lanes. */
static void print_lanes(const Printed *p, int label, Str *out) {
  for (int k = 0; k < p->nloops; k++) {
    LaneLoop l;
    if (p->loops[k].loop.head != label || !lanes_find(p->facts, label, &l)) continue;
    str_puts(out, "    # ");
    if (p->loops[k].verdict == LANES_WITHIN) str_puts(out, "no lanes: the loop around it has them");
    else if (p->loops[k].verdict == LANES_DEARER) str_puts(out, "no lanes: they would take longer");
    else lanes_describe(p->facts, &l, out);
    str_addc(out, '\n');
  }
}

static void print_instr(const Printed *p, const LInstr *in, Str *out) {
  const LFunc *f = p->f;
  str_puts(out, in->op == LOP_LABEL ? "  " : "    ");
  if (in->dst >= 0) {
    print_reg(f, in->dst, out);
    str_puts(out, " = ");
  }
  print_regs(f, in->res, in->nres, out);
  if (in->nres) str_puts(out, " = ");
  str_puts(out, lir_ops[in->op].sub == LSUB_OP ? op_names[in->sub] : lir_ops[in->op].name);
  print_immediate(in, out);
  print_sub(in, out);
  print_operands(f, in, out);
  print_args(f, in, out);
  if (in->site) str_printf(out, " @%u", in->site);
  str_addc(out, '\n');
  if (in->op == LOP_LOOP_HEAD) print_lanes(p, (int)(in - f->code) - 1, out);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */
static void print_head(const LFunc *f, int number, Str *out) {
  str_printf(out, "func %d", number);
  print_text(f->name, out);
  str_puts(out, " (");
  for (int k = 0; k < f->nparams; k++) {
    if (k) str_puts(out, ", ");
    print_reg(f, k, out);
  }
  str_puts(out, ") -> (");
  print_kinds(f->result_kinds, f->nresults, out);
  str_printf(out, ")%s%s%s", f->may_fail ? " fails" : "", f->recursive ? " recursive" : "",
             f->is_entry ? " entry" : "");
  str_printf(out, " id=%llx caps=%d labels=%d\n", (unsigned long long)f->id, f->ncaps, f->nlabels);
}

static void print_func(Descs *d, const LModule *m, const LFunc *f, int number, Str *out) {
  print_head(f, number, out);
  str_puts(out, "  regs ");
  for (int r = 0; r < f->nregs; r++) str_addc(out, f->regs[r].owned ? 'P' : LIR_LETTERS[f->regs[r].kind]);
  str_addc(out, '\n');
  if (f->acc_kinds) {
    str_puts(out, "  acc (");
    for (int k = 0; k < f->nacc; k++) {
      str_printf(out, "%s%c", k ? ", " : "", LIR_LETTERS[f->acc_kinds[k]]);
      if (f->acc_descs[k]) str_printf(out, "%d", desc_number(d, f->acc_descs[k]));
    }
    str_puts(out, ")\n");
  }
  Printed p = {.f = f, .facts = lanes_facts(out->arena, m, f)};
  p.loops = lanes_choose(out->arena, p.facts, f, LIMIT_LANES, &p.nloops);
  for (int k = 0; k < f->ncode; k++) print_instr(&p, &f->code[k], out);
}

void lir_print(const LModule *m, Str *out) {
  int left = 0;
  Descs d = {0};
  if (m->error) {
    str_printf(out, "# error: %s\n", m->error);
    return;
  }
  find_descs(&d, m, out->arena);
  str_printf(out, "module%s descs=%d\n", m->strict ? " strict" : "", m->ndescs);
  for (int i = 0; i < d.all.len; i++) print_desc(&d, i, out);
  for (int i = 0; i < m->nstrings; i++) {
    str_printf(out, "string %d ", i);
    str_quoted(out, m->strings[i].text, m->strings[i].length);
    str_addc(out, '\n');
  }
  for (int i = 0; i < m->nboxes; i++) print_box(m, i, out);
  for (int i = 0; i < m->nforeigns; i++) print_foreign(&m->foreigns[i], i, out);
  for (int i = 0; i < m->nglobals; i++) str_printf(out, "global %d %d\n", i, m->globals[i]);
  for (int i = 1; i < m->nsites; i++) print_site(&m->sites[i], i, out);
  for (int i = 0; i < m->nfuncs; i++) {
    print_func(&d, m, m->funcs[i], i, out);
    left += !m->funcs[i]->ncode;
  }
  /* a module is compiled whole: what has no code here is all that could be left to the evaluator */
  str_printf(out, "# %d functions, %d calls into the evaluator when compiled\n", m->nfuncs, left);
}
