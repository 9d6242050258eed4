/* SPDX-License-Identifier: MIT */
/* A `case` for each constant of ops.def (LEAF): see scalar_cases.h. */
#define OP(NAME, text, signature, flags)
#define LEAF(NAME, text, signature, flags) case OP_##NAME:
#include "ir/ops.def"
#undef OP
