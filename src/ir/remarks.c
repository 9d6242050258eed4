/* SPDX-License-Identifier: MIT */
/* What passes say of what they leave as it is. A pass that looks at a place again says the same again: once is kept. */
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
