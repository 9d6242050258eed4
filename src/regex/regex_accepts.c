/* SPDX-License-Identifier: MIT */
/* Whether PCRE2 accepts a pattern, under the options of runtime/regex.c. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex_tables.h"
#include <pcre2.h>

bool regex_accepts(const char *pattern, size_t length) {
  int error;
  PCRE2_SIZE offset;
  pcre2_compile_context *context = pcre2_compile_context_create(NULL);
  if (!context) return false;
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, length, options, &error, &offset, context);
  pcre2_compile_context_free(context);
  pcre2_code_free(code);
  return code != NULL;
}
