/* SPDX-License-Identifier: MIT */
/* Words of the text forms of programs, for their readers: scan.c. */
#ifndef ATLED_SCAN_H
#define ATLED_SCAN_H
#include "support/support.h"

typedef struct Scan {
  Arena *arena;
  const char *text, *at, *end;
  const char *word;  /* where begins what was taken last */
  const char *error; /* what is wrong first, with its line and column; NULL */
} Scan;
void scan_init(Scan *s, Arena *a, const char *text);
/* Keeps the error, if it is the first one, for the place where the scan is or where the latest word begins, and goes to
 * the end. */
void scan_wrong(Scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scan_wrong_word(Scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Goes to the next line that holds something, from the end of one or from the beginning of the text: false at the end
 * of the text. Lines that begin with # are comments. */
bool scan_line(Scan *s);
char scan_next(Scan *s); /* the next character on the line that isn't blank, 0 at its end */
/* Takes the text if it comes next, and as a whole word if it ends as one. */
bool scan_took(Scan *s, const char *text);
void scan_expect(Scan *s, const char *text);
/* Is there another element in a list, whose bracket was taken? `n` have been read. */
bool scan_another(Scan *s, int64_t n);
int64_t scan_number(Scan *s);
int32_t scan_int(Scan *s);
uint32_t scan_unsigned(Scan *s);
uint64_t scan_bits(Scan *s);    /* hexadecimal */
double scan_float(Scan *s);     /* nan:BITS for what isn't a number */
Str scan_quoted(Scan *s);       /* its data isn't NULL */
const char *scan_word(Scan *s); /* up to the next blank */
#endif
