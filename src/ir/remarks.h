/* SPDX-License-Identifier: MIT */
/* Remarks: where a pass or differentiation left something as it is, or which way it chose, and why. They are kept only
 * where somebody asks (World.remarks), and cost a look at a NULL otherwise. */
#ifndef ATLED_REMARKS_H
#define ATLED_REMARKS_H
#include "ir/ir.h"

typedef struct Remark {
  const char *pass, *text; /* "dense", "not dense: size unknown" */
  Site at;
} Remark;
struct Remarks {
  Arena *arena;
  Vec(Remark) all;
};

void remark_add(Remarks *r, const char *pass, Site at, const char *text);
/* pass, text: literals, or as old as the world. */
static inline void ir_remark(const World *w, const char *pass, Site at, const char *text) {
  if (w->remarks) remark_add(w->remarks, pass, at, text);
}
#endif
