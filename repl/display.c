/* SPDX-License-Identifier: MIT */
/* What the prompt shows. The library lays values out for a window (atled_result_view) and knows how an error reads for
 * somebody who sees the line right above; this file has the window, and what is told elsewhere. */
#include "display.h"
#include "repl.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- The window ------------------------------------------------------------------------------- */
void display_window(int *columns, int *lines) {
  struct winsize w;
  *columns = 80;
  *lines = 24;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0) return;
  if (w.ws_col) *columns = w.ws_col;
  if (w.ws_row) *lines = w.ws_row;
}

/* ---- Values ------------------------------------------------------------------------------------- */
static void put_result(const AtledResult *r, bool colour) {
  static const char *const plain[] = {"", "", ""}, *const colours[] = {"\033[1m", "\033[36m", "\033[0m"};
  const char *const *c = colour ? colours : plain;
  const char *name = r->name ? r->name : "-";
  printf("%s%s%s : %s%s%s =%s%s\n", c[0], name, c[2], c[1], r->type, c[2], r->value[0] == '\n' ? "" : " ", r->value);
}

bool display_results(AtledVM *vm, const Look *look) {
  AtledView view = {.columns = look->columns, .lines = look->lines, .digits = look->digits};
  for (int i = 0; i < atled_result_count(vm); i++) {
    AtledResult r;
    if (!atled_result_view(vm, i, &view, &r)) return false;
    if (r.name || strcmp(r.type, "unit") != 0) put_result(&r, look->colour);
  }
  return true;
}

/* ---- Errors --------------------------------------------------------------------------------------- */
void display_errors(AtledVM *vm, int before) {
  fflush(stdout);
  for (int i = 0; i < atled_diagnostic_count(vm); i++) {
    const AtledDiagnostic *d = atled_diagnostic(vm, i);
    if (strcmp(d->kind, "test") == 0 || (output_failed() && strcmp(d->kind, "output") == 0)) continue; /* it was told */
    if (before >= 0 && d->below && d->line == 1) fprintf(stderr, "%*s%s", before, "", d->below);
    else fputs(d->rendered, stderr);
    before = -1;
  }
}
