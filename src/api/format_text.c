/* SPDX-License-Identifier: MIT */
/* Formatting, for hosts: atled_format over src/format. Nothing is checked or run, and no import is read. */
#include "api/vm.h"
#include "format/format.h"
#include <string.h>

typedef struct FormatCall {
  const char *name, *source, **text;
} FormatCall;

static AtledStatus format_body(AtledVM *vm, void *arg) {
  const FormatCall *c = arg;
  size_t len = strlen(c->source);
  if (!modules_may_read(vm, len))
    return report_error(vm, ATLED_COMPILE_ERROR, "source-limit", "`%s` has more than %zu bytes (source_limit)", c->name,
                        vm->config.source_limit);
  uint32_t id = sources_add(&vm->sources, c->name, c->source, len);
  const char *text = format_source(vm->lexer, &vm->scratch, &vm->syms, &vm->diags, id, &len);
  bool incomplete = vm->diags.incomplete;
  if (report_diags(vm) || !text) return incomplete ? ATLED_INCOMPLETE : ATLED_COMPILE_ERROR;
  *c->text = text;
  return ATLED_OK;
}

AtledStatus atled_format(AtledVM *vm, const char *name, const char *source, const char **text) {
  if (!source || !text) return vm_reject_null(vm, source ? "the place for the text" : "the source");
  FormatCall c = {name ? name : "<format>", source, text};
  *text = NULL;
  return vm_call(vm, format_body, &c);
}
