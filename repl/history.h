/* SPDX-License-Identifier: MIT */
/* The entries of earlier sessions and of this one. */
#ifndef ATLED_HISTORY_H
#define ATLED_HISTORY_H

/* Reads what earlier sessions have kept, and says on standard error why nothing will be kept, if so. */
void history_begin(void);
/* An entry, of any number of lines: it can be recalled from now on, and by later sessions. */
void history_enter(const char *entry);
#endif
