/* SPDX-License-Identifier: MIT */
/* Private to src/lir: the words of the text form, which lir_print.c writes and lir_read.c reads. */
#ifndef ATLED_LIR_INTERNAL_H
#define ATLED_LIR_INTERNAL_H
#include "lir/lir.h"

#define LIR_LETTERS "ifpr"                             /* of a register's LRegKind, and of a SlotKind */
extern const char *const lir_desc_kinds[D_OPAQUE + 1]; /* words for DescKind */
#endif
