/* SPDX-License-Identifier: MIT */
/* Whether PCRE2 accepts a pattern, under the options of runtime/regex.c, and how many groups it has. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex_tables.h"
#include <pcre2.h>

int regex_groups(const char *pattern, size_t length) {
  int error;
  uint32_t groups;
  PCRE2_SIZE offset;
  pcre2_compile_context *context = pcre2_compile_context_create(NULL);
  if (!context) return -1;
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, length, options, &error, &offset, context);
  bool known = code && pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups) == 0;
  pcre2_compile_context_free(context);
  pcre2_code_free(code);
  return known ? (int)groups : -1;
}
