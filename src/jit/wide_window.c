/* SPDX-License-Identifier: MIT */
/* Additions of several terms to neighbours, as the derivative of a stencil makes them, in registers (AVX-512).
 *
 *   a[i - 1] += x; a[i] += y; a[i + 1] += z        for i = b … b + 7
 *
 * change ten elements, a[b - 1] … a[b + 8]. Eight of them, `main`, are complete then and are stored; the next eight
 * iterations add to the two others, `rest`, which wait for them in a register: a vector that overlaps the one that was
 * just stored can't be loaded for some fifteen cycles.
 *
 *   main = a[b - 1 …], with the rest of before in its first two lanes;  rest = a[b + 7], a[b + 8]
 *   z by two lanes:   main += (-, -, z0 … z5),  rest += (z6, z7)
 *   y by one lane:    main += (-, y0 … y6),     rest += (y7)
 *   x:                main += (x0 … x7)
 *
 * A loop that counts down goes from the other end: `rest` are the elements below `main`. */
#include "jit/wide.h"

struct Window {
  Lv *rest, *mask; /* elements that wait, and which lanes hold some; none at first */
  Lv *at;          /* where they belong */
  Window *next;
};

static Rv *mask_of_lanes(const LaneEmit *x, int lanes) { return cast(x->k->e, k_i32(x->k->e, lanes & 255), x->mask); }

/* Lane k of the result is lane k + by, round the end. */
static Rv *rotated(const LaneEmit *x, Rv *v, int by) {
  static const char *const texts[LANES] = {NULL,
                                           "valignq $1, %1, %1, %0",
                                           "valignq $2, %1, %1, %0",
                                           "valignq $3, %1, %1, %0",
                                           "valignq $4, %1, %1, %0",
                                           "valignq $5, %1, %1, %0",
                                           "valignq $6, %1, %1, %0",
                                           "valignq $7, %1, %1, %0"};
  const GccApi *g = wide_api(x);
  if (!by) return v;
  Lv *in = wide_local(x, x->floats), *out = wide_local(x, x->floats);
  assign(x->k, in, v);
  Rv *from = rv(x->k->e, in);
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, texts[by]);
  g->extended_asm_add_output_operand(a, NULL, "=v", out);
  g->extended_asm_add_input_operand(a, NULL, "v", from);
  return rv(x->k->e, out);
}

/* sum = op (sum, in…) in the lanes of the mask. */
static void add_lanes_of(const LaneEmit *x, unsigned sub, Lv *sum, Rv **in, int lanes) {
  const GccApi *g = wide_api(x);
  Rv *old = rv(x->k->e, sum), *mask = mask_of_lanes(x, lanes);
  const char *text = sub == OP_FMA    ? "vfmadd231pd %4, %3, %0%{%2%}"
                     : sub == OP_FSUB ? "vsubpd %3, %0, %0%{%2%}"
                                      : "vaddpd %3, %0, %0%{%2%}";
  gcc_jit_extended_asm *a = g->block_add_extended_asm(x->k->cur, NULL, text);
  g->extended_asm_add_output_operand(a, NULL, "=v", sum);
  g->extended_asm_add_input_operand(a, NULL, "0", old);
  g->extended_asm_add_input_operand(a, NULL, "Yk", mask);
  g->extended_asm_add_input_operand(a, NULL, "v", in[0]);
  if (sub == OP_FMA) g->extended_asm_add_input_operand(a, NULL, "v", in[1]);
}

/* The term's vectors, rotated to where its lanes belong; how many. */
static void rotate_term(LaneEmit *x, const LaneTerm *t, int by, Rv **in) {
  const int32_t operands[] = {t->operation->a, t->operation->b, t->operation->c};
  int n = 0;
  for (int k = 0; k < 3; k++)
    if (k != t->self && operands[k] >= 0) in[n++] = rotated(x, float_part(x, operands[k], 0), by);
}

/* The term belongs `apart` elements behind the first of main (before, if the loop counts down). */
static void add_term(LaneEmit *x, const LaneTerm *t, int apart, Lv *main, Lv *rest) {
  Rv *in[2] = {NULL};
  rotate_term(x, t, x->l.down ? apart : (LANES - apart) % LANES, in);
  add_lanes_of(x, t->operation->sub, main, in, x->l.down ? 255 >> apart : 255 << apart);
  if (apart) add_lanes_of(x, t->operation->sub, rest, in, x->l.down ? 255 << (LANES - apart) : 255 >> (LANES - apart));
}

static Window *open_window(LaneEmit *x) {
  Emit *e = x->k->e;
  Window *w = NEW(e->arena, Window);
  *w = (Window){wide_local(x, x->floats), wide_local(x, x->mask), wide_local(x, e->t_ptr), x->windows};
  e->g->block_add_assignment(x->before, NULL, w->rest, splat(x, x->floats, k_f64(e, 0)));
  e->g->block_add_assignment(x->before, NULL, w->mask, mask_of_lanes(x, 0));
  e->g->block_add_assignment(x->before, NULL, w->at, k_null(e));
  x->windows = w;
  return w;
}

static Rv *bytes_from(const LaneEmit *x, Rv *p, int elements) {
  Emit *e = x->k->e;
  Type *bytes = e->g->type_get_pointer(e->g->context_get_type(e->ctx, GT_CHAR));
  Rv *offset = k_i64(e, elements * (int64_t)sizeof(Slot));
  return address(e, e->g->context_new_array_access(e->ctx, NULL, cast(e, p, bytes), offset));
}

void emit_window(LaneEmit *x, const LaneTerm *terms, const int *apart, int n, Lv *first) {
  Emit *e = x->k->e;
  Window *w = open_window(x);
  int most = apart[0];
  for (int k = 1; k < n; k++)
    if (apart[k] > most) most = apart[k];
  Lv *at = wide_local(x, e->t_ptr), *main = wide_local(x, x->floats), *rest = wide_local(x, x->floats);
  assign(x->k, at, address(e, first));
  Lv *memory =
      vector_from(e, x->floats, e->g->rvalue_dereference(cast(e, rv(e, at), e->g->type_get_pointer(e->t_f64)), NULL));
  assign(x->k, main, rv(e, memory));
  assign(x->k, main, blend(x, x->floats, rv(e, main), rv(e, w->rest), rv(e, w->mask)));
  Rv *waiting = mask_of_lanes(x, x->l.down ? 255 << (LANES - most) : 255 >> (LANES - most));
  Lv *rest_at = wide_local(x, e->t_ptr);
  assign(x->k, rest_at, bytes_from(x, rv(e, at), x->l.down ? -LANES : LANES));
  masked_access(x, W_MASKED_LOAD, rest, NULL, rv(e, rest_at), waiting);
  for (int k = 0; k < n; k++) add_term(x, &terms[k], apart[k], main, rest);
  assign(x->k, memory, rv(e, main));
  assign(x->k, w->rest, rv(e, rest));
  assign(x->k, w->mask, waiting);
  assign(x->k, w->at, rv(e, rest_at));
}

void close_windows(LaneEmit *x) {
  Emit *e = x->k->e;
  for (const Window *w = x->windows; w; w = w->next)
    masked_access(x, W_MASKED_STORE, NULL, rv(e, w->rest), rv(e, w->at), rv(e, w->mask));
}
