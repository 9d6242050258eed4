/* SPDX-License-Identifier: MIT */
/* Remarks: why a pass or differentiation left something as it is, or which strategy it chose. They are kept only
 * where a host asks for them (World.remarks); otherwise a remark costs a test for NULL. */
#ifndef ATLED_REMARKS_H
#define ATLED_REMARKS_H
#include "ir/ir.h"

typedef struct Remark {
  const char *pass, *text; /* "dense", "not dense: its size isn't known" */
  Site at;
} Remark;
struct Remarks {
  Arena *arena;
  Vec(Remark) all;
  int kept; /* of them those that stay whatever later rounds of a pass find */
};

/* pass, text: literals. */
void remark_add(Remarks *r, const char *pass, Site at, const char *text);
/* Drops what earlier rounds of the pass that runs now have said of the graph under way. round: from 0. */
void remark_round(Remarks *r, int round);

static inline void ir_remark(const World *w, const char *pass, Site at, const char *text) {
  if (w->remarks) remark_add(w->remarks, pass, at, text);
}
#endif
