/* SPDX-License-Identifier: MIT */
/* What an error means: sections of docs/diagnostics.md, which is a part of the program.
 *
 * A section begins with `### title`; a line "Code: `…`" says of which code it is. Its blocks are the program that is
 * wrong, its message, and the program mended. Several sections may have one code: that whose message has the most words
 * in common with the given one is shown, or all titles. */
#include "options.h"
#include "texts.h"
#include "session.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct Section {
  const char *text; /* from its title on */
  size_t len;
} Section;

static const char *text_of_index(void) { return (const char *)diagnostics_text; }

/* The next section from *at on, which moves behind it. */
static bool next_section(const char **at, Section *out) {
  static const char head[] = "\n### ";
  const char *start = strstr(*at, head);
  if (!start) return false;
  start += sizeof head - 1;
  const char *end = strstr(start, "\n##");
  *out = (Section){start, end ? (size_t)(end - start) : strlen(start)};
  *at = end ? end : start + out->len;
  return true;
}

static bool has_code(const Section *s, const char *code, size_t n) {
  static const char label[] = "Code: `";
  const char *line = strstr(s->text, label);
  if (!line || line >= s->text + s->len) return false;
  line += sizeof label - 1;
  return strncmp(line, code, n) == 0 && line[n] == '`';
}

/* ---- Choosing --------------------------------------------------------------------------------------- */
static const char *next_word(const char *text, size_t *n) {
  while (*text && !isalnum((unsigned char)*text)) text++;
  *n = 0;
  while (isalnum((unsigned char)text[*n]) || (text[*n] == '\'' && *n)) ++*n;
  return text;
}

static bool section_has_word(const Section *s, const char *word, size_t n) {
  for (const char *at = s->text; at + n <= s->text + s->len; at++) {
    bool begins = at == s->text || !isalnum((unsigned char)at[-1]);
    if (begins && strncasecmp(at, word, n) == 0 && !isalnum((unsigned char)at[n])) return true;
  }
  return false;
}

/* How many words of the message are in the section, those of quoted names not counted. */
static int common_words(const Section *s, const char *message) {
  int count = 0;
  size_t n;
  for (const char *at = message; *(at = next_word(at, &n)); at += n) {
    if (at > message && at[-1] == '`') continue;
    count += n > 2 && section_has_word(s, at, n);
  }
  return count;
}

/* ---- Showing ---------------------------------------------------------------------------------------- */
/* Blocks are indented, and told apart by what stands above them. */
static void print_section(const Section *s) {
  bool block = false;
  for (const char *line = s->text, *end; line < s->text + s->len; line = end + 1) {
    end = memchr(line, '\n', (size_t)(s->text + s->len - line));
    if (!end) end = s->text + s->len;
    int n = (int)(end - line);
    if (n >= 3 && strncmp(line, "```", 3) == 0) {
      block = !block;
      const char *what = memchr(line, ' ', (size_t)n);
      if (block && what && strncmp(what, " text", 5) != 0 && strncmp(what, " status", 7) != 0)
        printf("%.*s:\n", (int)(end - what - 1), what + 1);
    } else {
      printf("%s%.*s\n", block ? "    " : "", n, line);
    }
  }
}

static void print_title(const Section *s) { printf("  %.*s\n", (int)strcspn(s->text, "\n"), s->text); }

bool explain(const char *code, const char *message) {
  const char *at = text_of_index();
  Section s, best = {0};
  int most = -1, sections = 0;
  for (size_t n = code ? strlen(code) : 0; next_section(&at, &s);) {
    if (code && !has_code(&s, code, n)) continue;
    int common = message ? common_words(&s, message) : 0;
    sections++;
    if (common > most) best = s, most = common;
  }
  if (!sections || (!code && most < 1)) return false;
  print_section(&best);
  if (!code || message || sections == 1) return true;
  printf("\n`%s` is the code of %d entries, of which that is the first:\n", code, sections);
  for (at = text_of_index(); next_section(&at, &s);)
    if (has_code(&s, code, strlen(code))) print_title(&s);
  return true;
}

void explain_codes(void) {
  const char *at = text_of_index();
  for (Section s; next_section(&at, &s);) {
    const char *line = strstr(s.text, "Code: `");
    if (!line || line >= s.text + s.len) continue;
    printf("%-26.*s%.*s\n", (int)strcspn(line + 7, "`"), line + 7, (int)strcspn(s.text, "\n"), s.text);
  }
}
