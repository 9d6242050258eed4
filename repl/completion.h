/* SPDX-License-Identifier: MIT */
/* The tabulator key at the prompt. */
#ifndef ATLED_COMPLETION_H
#define ATLED_COMPLETION_H
#include "atled.h"

void completion_begin(AtledVM *vm);
#endif
