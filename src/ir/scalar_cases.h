/* SPDX-License-Identifier: MIT */
/* A `case` for each scalar operation of ops.def, to be included within a switch over Op. So a switch that treats them
 * alike names the other operations only, and the compiler complains of one that it lacks. */
#define OP(NAME, text, signature, flags)
#define SCALAR(NAME, text, signature, flags) case OP_##NAME:
#include "ir/ops.def"
#undef OP
