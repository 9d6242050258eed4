/* SPDX-License-Identifier: MIT */
/* A `case` for each check of ops.def (CHECKED): see scalar_cases.h. */
#define OP(NAME, text, signature, flags)
#define CHECKED(NAME, text, signature, flags) case OP_##NAME:
#include "ir/ops.def"
#undef OP
