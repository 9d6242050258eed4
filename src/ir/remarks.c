/* SPDX-License-Identifier: MIT */
/* Collects remarks (remarks.h). A pass that visits a place again makes the same remark again: it is kept once. */
#include "ir/remarks.h"
#include <string.h>

void remark_add(Remarks *r, const char *pass, Site at, const char *text) {
  for (int i = 0; i < r->all.len; i++) {
    const Remark *x = &r->all.data[i];
    if (x->at == at && strcmp(x->pass, pass) == 0 && strcmp(x->text, text) == 0) return;
  }
  vec_push(r->arena, r->all, ((Remark){pass, text, at}));
}

void remark_round(Remarks *r, int round) {
  if (round == 0) r->kept = r->all.len;
  r->all.len = r->kept;
}
