/* SPDX-License-Identifier: MIT */
/* The table of lowered code's operations, its text form and its verifier: of each operation an instruction that has
 * all that its row allows is printed and read back; with any register of another kind, and with an operand too few or
 * too many, it is refused. A module written as text runs; texts that are wrong are refused with their line. */
#include "check.h"
#include "eval/eval.h"
#include <stdlib.h>
#include <string.h>

static Heap heap;
static Arena arena;

static const char *verdict(const LModule *m) {
  const char *wrong = m->error ? m->error : lir_verify(m);
  return wrong ? wrong : "fine";
}

static const char *print(const LModule *m) {
  Str s = {.arena = &arena};
  lir_print(m, &s);
  return s.data;
}

/* ---- Each operation ---------------------------------------------------------------------------------------------- */
/* Two of everything a module has; function 0 takes and gives what an instruction of function 1 has as arguments and
 * results. Registers 0 to 5 are i f p p! r p!. */
#define TABLES                                                                                                         \
  "module descs=2\n"                                                                                                   \
  "desc 0 float \"float\" id=1 slots=f link=-1 rank=0 cons=0 args ()\n"                                                \
  "desc 1 array \"array\" id=2 slots=p link=0 rank=2 cons=0 args (0) targets (1)\n"                                    \
  "string 0 \"a\\\"b\\\\ \\x00 \\x0a\"\nstring 1 \"\"\n"                                                               \
  "box 0 desc=1 tag=0 dims (1, 2) plain (0, -5)\nbox 1 desc=1 tag=0 dims (2, 1) (b0, s1)\n"                            \
  "foreign 0 _ \"sin\" (f) -> f\nforeign 1 \"libm.so\" \"ldexp\" (fi) -> f\nglobal 0 7\nglobal 1 3\n"                  \
  "site 1 3:10-20 \"f\" parent=0\nsite 2 4:4000000000-4000000001 _ parent=1\n"
#define CALLEE                                                                                                         \
  "func 0 \"f\" (i0, i1) -> (pp) id=0 caps=0 labels=0\n  regs iiP\n    p2! = NULLPTR\n    RETURN (p2!, "               \
  "p2!)\n"
#define HOST                                                                                                           \
  "func 1 \"g h\" (i0) -> (pp) fails entry id=fedcba9876543210 caps=0 labels=1\n  regs ifpPrP\n  acc (f, "             \
  "p1)\n"

static int32_t reg_holding(char holds) {
  switch (holds) {
  case 'i': return 0;
  case 'f': return 1;
  case 'r': return 4;
  default: return 3;
  }
}

/* An operand of the row: a register or number that it may be, or -1. */
static int32_t operand(LOp op, LOperand k) {
  char use = lir_use(op, k);
  return use == '-' ? -1 : use == '#' ? 1 : reg_holding(lir_holds(op, k));
}

static int list(LOp op, LOperand k, int32_t **out) {
  char use = lir_use(op, k);
  *out = NEW_ARRAY(&arena, int32_t, 2);
  for (int i = 0; i < 2; i++) {
    (*out)[i] = use == '#' ? 0 : reg_holding(lir_holds(op, k));
    if (use == 'c') (*out)[i] = 0;
  }
  return use == '-' ? 0 : 2;
}

static LInstr full_instr(LOp op) {
  LInstr in = {.op = op};
  int32_t *fields[] = {&in.dst, &in.a, &in.b, &in.c};
  for (LOperand k = LOPERAND_DST; k <= LOPERAND_C; k++) *fields[k] = operand(op, k);
  in.nargs = list(op, LOPERAND_ARGS, &in.args);
  in.nres = list(op, LOPERAND_RES, &in.res);
  if (lir_ops[op].imm == LIMM_FLOAT) in.imm.f = -0.1;
  else if (lir_ops[op].imm == LIMM_TEXT) in.imm.text = "a \"size\"";
  else if (lir_ops[op].imm != LIMM_NONE)
    in.imm.i = lir_ops[op].imm == LIMM_LABEL || lir_ops[op].imm == LIMM_FUNC ? 0 : 1;
  if (lir_ops[op].sub == LSUB_OP) in.sub = OP_SELECT;
  else if (lir_ops[op].sub != LSUB_NONE) in.sub = 1;
  if (lir_ops[op].fails != LFAILS_NEVER) in.site = 2;
  return in;
}

/* A module whose second function holds the instruction, and what makes it sound. */
static LModule *module_with(LInstr in) {
  LModule *m = lir_read(&arena, TABLES CALLEE HOST);
  LInstr label = {.op = LOP_LABEL, .dst = -1, .a = -1, .b = -1, .c = -1}, end = full_instr(LOP_RETURN);
  LInstr code[] = {label, in, end};
  LFunc *f = m->funcs[1];
  bool is_label = in.op == LOP_LABEL;
  f->ncode = is_label ? 2 : 3;
  f->code = NEW_ARRAY(&arena, LInstr, 3);
  memcpy(f->code, code + is_label, sizeof *code * (size_t)f->ncode);
  return m;
}

static bool same_list(const int32_t *a, int na, const int32_t *b, int nb) {
  return na == nb && (!na || memcmp(a, b, sizeof *a * (size_t)na) == 0);
}

static bool same_instr(const LInstr *a, const LInstr *b) {
  bool text = lir_ops[a->op].imm == LIMM_TEXT;
  return a->op == b->op && a->sub == b->sub && a->dst == b->dst && a->a == b->a && a->b == b->b && a->c == b->c &&
         a->site == b->site && (text ? strcmp(a->imm.text, b->imm.text) == 0 : a->imm.i == b->imm.i) &&
         same_list(a->args, a->nargs, b->args, b->nargs) && same_list(a->res, a->nres, b->res, b->nres);
}

static void test_text(LOp op) {
  LInstr in = full_instr(op);
  LModule *m = module_with(in);
  CHECK_STR(verdict(m), "fine");
  const char *text = print(m);
  LModule *again = lir_read(&arena, text);
  CHECK_STR(verdict(again), "fine");
  CHECK_STR(print(again), text);
  if (again->error) return;
  CHECK(same_instr(&again->funcs[1]->code[op != LOP_LABEL], &in));
}

/* The instruction with something else in one of its places is refused. */
static void expect_refused(LInstr in, const char *place) {
  LModule *m = module_with(in);
  const char *wrong = lir_verify(m);
  if (!wrong) fprintf(stderr, "%s is accepted with a wrong %s\n", lir_ops[in.op].name, place);
  CHECK(wrong != NULL);
}

static void test_refused(LOp op) {
  static const char *const places[] = {"dst", "a", "b", "c"};
  const LInstr good = full_instr(op);
  for (LOperand k = LOPERAND_DST; k <= LOPERAND_C; k++) {
    LInstr in = good;
    int32_t *fields[] = {&in.dst, &in.a, &in.b, &in.c};
    char use = lir_use(op, k), holds = lir_holds(op, k);
    if (use == '#' && holds != 'g') continue;
    *fields[k] = use == '-' ? 0 : 6;
    expect_refused(in, places[k]);
    if (use != 'o') *fields[k] = use == '-' ? 1 : -1, expect_refused(in, places[k]);
    if (holds != 'v' && holds != 'x') *fields[k] = holds == 'i' ? 1 : 0;
    else *fields[k] = 4;
    if (use != '#' && use != '-' && holds != 'x') expect_refused(in, places[k]);
  }
  LInstr in = good;
  in.site = good.site ? 0 : 5;
  if (in.site) expect_refused(in, "site");
  in.site = 99;
  expect_refused(in, "site");
  in = good;
  in.sub = lir_ops[op].sub == LSUB_NONE ? 1 : 9999;
  expect_refused(in, "sub");
  in = good;
  in.imm.i = lir_ops[op].imm == LIMM_NONE ? 1 : 9999;
  if (lir_ops[op].imm != LIMM_INT && lir_ops[op].imm != LIMM_FLOAT && lir_ops[op].imm != LIMM_TEXT)
    expect_refused(in, "immediate");
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */
static Slot *no_global(void *user, int index) {
  (void)index;
  return user;
}

/* sum i, i < n, as a text says it. */
static void test_run(void) {
  Rt rt;
  rt_init(&rt, &heap);
  LModule *m = lir_read(&arena, "module descs=0\n"
                                "func 0 \"sum\" (i0) -> (i) fails entry id=5 caps=0 labels=2\n"
                                "  regs iiiii\n"
                                "    i1 = INT 0   # the sum so far would be here, if this were a comment\n");
  CHECK_STR(verdict(m), "line 4:18: the end of the line expected");
  m = lir_read(&arena, "# a comment\n\nmodule descs=0\n"
                       "func 0 \"sum\" (i0) -> (i) fails entry id=5 caps=0 labels=2\n"
                       "  regs iiiii\n"
                       "    i1 = INT 0\n    i2 = INT 0\n    i4 = INT 1\n"
                       "  LABEL L0\n    LOOP_HEAD b=0\n"
                       "    i3 = <i a=i2 b=i0\n    BRANCH L1 a=i3\n"
                       "    i1 = +i a=i1 b=i2\n    i2 = +i a=i2 b=i4\n    POLL\n    JUMP L0\n"
                       "  LABEL L1\n    RETURN (i1)\n");
  CHECK_STR(verdict(m), "fine");
  Mod *mod = mod_new(&rt, m, no_global, NULL);
  Slot n = {.i = 101}, sum = {0};
  CHECK(eval_function(&rt, mod->funcs[0], &n, &sum) == 0 && sum.i == 5050);
  eval_forget(mod);
  mod_free(mod);
  eval_destroy(&rt);
  rt_destroy(&rt);
}

static void test_wrong_texts(void) {
  static const struct {
    const char *body, *wrong;
  } texts[] = {
      {"    i0 = FLY a=i0\n", "line 21:10: no operation FLY"},
      {"    i0 = INT\n", "line 21:13: expected a number"},
      {"    i0, i0 = INT 3\n", "line 21:14: a wrong number of registers before the operation"},
      {"    INT 3\n", "line 21:5: a wrong number of registers before the operation"},
      {"    i1 = MOVE a=f1\n", "line 21:6: register 1 is of another kind"},
      {"    p3 = MOVE a=p3!\n", "line 21:6: register 3 is of another kind"},
      {"    i0 = INT 3 a=i0 more\n", "line 21:21: the end of the line expected"},
      {"    SWITCH a=i0 (i0)\n", "line 21:18: expected a label"},
      {"    RT no_such_thing 1\n", "line 21:8: expected a number"},
      {"    RT 1 no_such_thing\n", "line 21:10: no such primitive"},
      {"    CHECK_NAT \"a size\n", "line 21:15: a text without end"},
      {"    f1 = FLOAT x\n", "line 21:16: expected a float"},
      {"    i0 = INT 3 b=i9\n    JUMP L0\n", "g h: an operand too many, at instruction 0"},
      {"    i0 = MOVE a=i9\n    JUMP L0\n", "g h: a register out of range, at instruction 0"},
      {"    JUMP L0\n    JUMP L7\n", "g h: a label out of range, at instruction 1"},
      {"    i0 = INT 3\n", "g h: the end is fallen off"},
      {"    JUMP L0\n", "g h: a jump to nowhere"},
      {"    p2 = STRING 2\n    RETURN (p2, p2)\n", "g h: a string out of range, at instruction 0"},
      {"string 3 \"\"\n", "line 21:8: row number 2 expected"},
      {"desc 2 int \"int\" id=3 slots=i link=-1 rank=0 cons=0 args (3)\n", "line 22:1: descriptor 3 is missing"},
      {"desc 2 int \"int\" id=3 slots=i link=-1 rank=0 cons=0 args (99999999)\n",
       "line 21:59: descriptor 99999999 can't be"},
      {"desc 2 thing\n", "line 21:8: expected a kind of descriptor"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    CHECK_STR(verdict(lir_read(&arena, arena_printf(&arena, "%s%s", TABLES CALLEE HOST, texts[i].body))),
              texts[i].wrong);
}

/* Whatever a text is cut down to, it is read to an end. */
static void test_cut_texts(void) {
  const char *text = print(module_with(full_instr(LOP_ACC_SUB)));
  for (size_t n = 0; n < strlen(text); n++) {
    LModule *m = lir_read(&arena, arena_strndup(&arena, text, n));
    if (!m->error) print(m);
    char *changed = arena_strndup(&arena, text, strlen(text));
    changed[n] ^= 1;
    lir_read(&arena, changed);
  }
}

int main(void) {
  heap_init(&heap);
  arena_init(&arena, &heap);
  for (int op = 0; op < LOP_COUNT; op++) {
    test_text((LOp)op);
    test_refused((LOp)op);
  }
  test_run();
  test_wrong_texts();
  test_cut_texts();
  arena_free(&arena);
  CHECK(heap.bytes == 0);
  return check_result();
}
