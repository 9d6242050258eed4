/* SPDX-License-Identifier: MIT */
/* What the prompt shows: values cut to the window, and errors below what was typed. */
#ifndef ATLED_DISPLAY_H
#define ATLED_DISPLAY_H
#include "atled.h"

typedef struct Look {
  int columns, lines; /* of the window */
  int digits;         /* of floats in arrays */
  bool colour;        /* of values */
} Look;

/* The window of standard output; 80 columns of 24 lines where that is none. */
void display_window(int *columns, int *lines);
/* Results of the last evaluation: `name : type = value` each. False: one can't be shown, and the VM has its error. */
bool display_results(AtledVM *vm, const Look *look);
/* Errors and warnings of the VM's last call, on standard error. `before`: columns to the left of the line that was
 * typed and stands right above, all of the source; -1: it doesn't. */
void display_errors(AtledVM *vm, int before);
#endif
