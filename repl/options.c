/* SPDX-License-Identifier: MIT */
/* Reads the command line by the rows of options.def: which options there are, which verbs take them, and what their
 * values may be. Only what an option sets is written here, in `apply`. */
#include "options.h"
#include "colours.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum OptionId {
#define OPTION(id, name, value, verbs, help) OPTION_##id,
#include "options.def"
  OPTIONS
} OptionId;

static const struct {
  const char *name, *value, *verbs;
} options[] = {
#define OPTION(id, name, value, verbs, help) {name, value, verbs},
#include "options.def"
};

static const struct {
  const char *word, *arguments;
} verbs[] = {
#define VERB(id, word, arguments, completes, help) {word, arguments},
#include "options.def"
};

/* Is the word the choice, of so many bytes? Of "after:PASS" all behind the colon is free. */
static bool is_choice(const char *choice, size_t len, const char *word) {
  const char *colon = memchr(choice, ':', len);
  size_t fixed = colon ? (size_t)(colon + 1 - choice) : len;
  return strncmp(choice, word, fixed) == 0 && (colon ? word[fixed] != '\0' : word[fixed] == '\0');
}

int choice_of(const char *choices, const char *word) {
  for (int i = 0;; i++) {
    size_t len = strcspn(choices, "|");
    if (is_choice(choices, len, word)) return i;
    if (!choices[len]) return -1;
    choices += len + 1;
  }
}

/* After the run of this name, or the first one of the pass of this name; -1: there is none. */
static AtledStage run_of(const char *name) {
  size_t n = strlen(name);
  AtledPass p;
  for (int k = 0; atled_pass(NULL, k, &p); k++)
    if (strncmp(p.name, name, n) == 0 && (!p.name[n] || strcmp(p.name + n, ".1") == 0))
      return (AtledStage)(ATLED_STAGE_RUN + k);
  return (AtledStage)-1;
}

AtledStage stage_of(const char *name) {
  static const AtledStage stages[] = {ATLED_STAGE_PARSED,    ATLED_STAGE_TYPED,          ATLED_STAGE_BUILT,
                                      ATLED_STAGE_OPTIMISED, ATLED_STAGE_DIFFERENTIATED, ATLED_STAGE_FINAL,
                                      ATLED_STAGE_LOWERED,   ATLED_STAGE_LIMITS,         ATLED_STAGE_REMARKS};
  int k = choice_of(options[OPTION_STAGE].value, name);
  if (k < (int)(sizeof stages / sizeof *stages)) return k < 0 ? (AtledStage)-1 : stages[k];
  return run_of(name + strlen("after:"));
}

int options_refuse(Verb verb) {
  const char *word = verbs[verb].word;
  const char *arguments = verbs[verb].arguments;
  fprintf(stderr, "usage: atled %s%s[OPTIONS]%s%s\n`atled --help` lists all options\n", word, *word ? " " : "",
          *arguments ? " " : "", arguments);
  return EXIT_USAGE;
}

/* Is `word` among the words of the text? */
static bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += n)
    if ((at == text || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
  return false;
}

static bool takes(Verb verb, OptionId id) {
  const char *word = verb == VERB_RUN ? "run" : verbs[verb].word;
  return has_word(options[id].verbs, "any") || has_word(options[id].verbs, word);
}

static const int cpu_levels[] = {0, 2, 3, 4};
static const AtledJit jit_modes[] = {ATLED_JIT_AUTO, ATLED_JIT_OFF, ATLED_JIT_ALWAYS};

/* The first of the options of a sandbox takes all rights away. */
static void confine(Options *o) {
  if (!o->sandbox) o->config.rights = 0;
  o->sandbox = true;
}

static void allow_folder(Options *o, const char *path, unsigned rights) {
  confine(o);
  o->folders[o->config.nfolders++] = (AtledFolder){path, rights};
  o->config.folders = o->folders;
}

/* choice: the value's place among the choices, if there are some. */
static void apply(Options *o, OptionId id, const char *value, int choice) {
  switch (id) {
  case OPTION_EXPRESSION: o->expression = value; return;
  case OPTION_JIT: o->config.jit = jit_modes[choice], o->jit_given = true; return;
  case OPTION_COLOUR: colours_choose((ColourMode)choice); return;
  case OPTION_THREADS: return; /* read_threads */
  case OPTION_STRICT: o->config.strict = true; return;
  case OPTION_TRAP: o->config.trap = value ? ATLED_TRAP_INFINITY : ATLED_TRAP_NAN; return;
  case OPTION_FLUSH: o->config.flush_subnormals = true; return;
  case OPTION_SANDBOX: confine(o); return;
  case OPTION_ALLOW_READ: allow_folder(o, value, ATLED_RIGHT_READ); return;
  case OPTION_ALLOW_WRITE: allow_folder(o, value, ATLED_RIGHT_WRITE); return;
  case OPTION_ALLOW_IMPORT: allow_folder(o, value, ATLED_RIGHT_IMPORT); return;
  case OPTION_ALLOW: confine(o), o->config.rights |= 1u << choice; return;
  case OPTION_TIME: o->config.phases = true; return;
  case OPTION_JSON: o->json = true; return;
  case OPTION_UNFORMATTED: o->check = true; return;
  case OPTION_STAGE: o->stage = stage_of(value); return;
  case OPTION_FROM: o->from = stage_of(value), o->from_text = true; return;
  case OPTION_WATCH: o->watch = true; return;
  case OPTION_NO_INIT: o->no_init = true; return;
  case OPTION_SAVE: o->save = value; return;
  case OPTION_COMPARE: o->compare = value; return;
  case OPTION_OF: o->of = value; return;
  case OPTION_AT: o->at = value; return;
  case OPTION_DOT: o->dot = true; return;
  case OPTION_OUTPUT: o->build.output = value; return;
  case OPTION_TEXT: o->text = true; return;
  case OPTION_LIBRARY: o->library = true; return;
  case OPTION_HEADER: o->build.header = value; return;
  case OPTION_FUNCTIONS: o->build.functions = value; return;
  case OPTION_STATIC: o->build.archive = true; return;
  case OPTION_CPU: o->config.cpu = cpu_levels[choice]; return;
  case OPTION_GENERATE: o->generate = value; return;
  case OPTION_STDIO: return;
  case OPTION_VERSION: o->version = true; return;
  case OPTION_HELP: o->help = true; return;
  case OPTIONS: return;
  }
}

/* The option that the word is or begins, up to a `=`; OPTIONS if there is none. */
static OptionId option_of(const char *word) {
  size_t n = strcspn(word, "=");
  if (strcmp(word, "-h") == 0) return OPTION_HELP;
  for (int id = 0; id < OPTIONS; id++)
    if (strlen(options[id].name) == n && strncmp(options[id].name, word, n) == 0) return (OptionId)id;
  return OPTIONS;
}

static bool refuse_option(const char *word, OptionId id) {
  if (id == OPTIONS) fprintf(stderr, "atled: unknown option `%s`\n", word);
  else fprintf(stderr, "atled: `%s` is an option of `%s`\n", options[id].name, options[id].verbs);
  return false;
}

static bool refuse_pass(const char *value) {
  fprintf(stderr, "atled: no pass has a run `%s`; the runs are", value + strlen("after:"));
  AtledPass p;
  for (int k = 0; atled_pass(NULL, k, &p); k++) fprintf(stderr, "%s %s", k ? "," : "", p.name);
  fputc('\n', stderr);
  return false;
}

/* The number of threads that the text says; less than 0: as many as there are processors; 0: it makes no sense. */
static int threads_in(const char *text) {
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  if (strcmp(text, "auto") == 0) return -1;
  return *text >= '0' && *text <= '9' && !*end && !errno && n <= 1000000000 ? (int)n : 0;
}

int default_threads(void) {
  const char *text = getenv("ATLED_THREADS");
  int n = text ? threads_in(text) : 0;
  return n ? n : -1;
}

static bool read_threads(Options *o, const char *value) {
  o->config.threads = threads_in(value);
  o->threads_given = true;
  if (o->config.threads) return true;
  fprintf(stderr, "atled: `--threads` is a number from 1 to 1000000000, or `auto`, not `%s`\n", value);
  return false;
}

/* An option that may have one value, "[=inf]", or none. */
static bool read_optional(Options *o, OptionId id, const char *value) {
  const char *allowed = options[id].value + 2;
  size_t n = strcspn(allowed, "]");
  if (value && (strlen(value) != n || strncmp(value, allowed, n) != 0)) {
    fprintf(stderr, "atled: `%s%s` makes no sense with `%s`\n", options[id].name, options[id].value, value);
    return false;
  }
  apply(o, id, value, 0);
  return true;
}

/* One option. *used: the number of words it took. False after a message. */
static bool read_option(Options *o, char **words, int n, int *used) {
  OptionId id = option_of(words[0]);
  if (id == OPTIONS || !takes(o->verb, id)) return refuse_option(words[0], id);
  const char *choices = options[id].value, *equals = strchr(words[0], '='), *value = equals ? equals + 1 : NULL;
  *used = 1;
  if (choices && *choices == '[') return read_optional(o, id, value);
  if (choices && !value && n > 1) value = words[(*used)++];
  if (!choices != !value) {
    fprintf(stderr, "atled: `%s` %s\n", options[id].name, choices ? "lacks its value" : "takes no value");
    return false;
  }
  bool listed = choices && strchr(choices, '|');
  int choice = listed ? choice_of(choices, value) : 0;
  if (choice < 0) {
    fprintf(stderr, "atled: `%s` is one of %s, not `%s`\n", options[id].name, choices, value);
    return false;
  }
  if (id == OPTION_THREADS) return read_threads(o, value);
  apply(o, id, value, choice);
  return (int)o->stage >= 0 && (int)o->from >= 0 ? true : refuse_pass(value);
}

/* Where a program is run the words after its file are its own. */
static bool read_words(Options *o, int argc, char **argv) {
  bool own = o->verb == VERB_RUN, over = false;
  o->rest = argv;
  for (int i = 0; i < argc;) {
    int used = 1;
    bool dashes = !over && strcmp(argv[i], "--") == 0;
    bool option = !over && !dashes && argv[i][0] == '-' && argv[i][1];
    if (option && !read_option(o, argv + i, argc - i, &used)) return false;
    if (!option && !dashes) {
      if (own && !o->expression) over = true, own = false, o->rest = argv + i, o->nrest = 0;
      o->rest[o->nrest++] = argv[i];
    }
    over |= dashes;
    i += used;
  }
  return true;
}

bool options_read(Options *o, int argc, char **argv) {
  o->stage = ATLED_STAGE_FINAL;
  o->verb = VERB_RUN;
  for (int v = 0; v < VERBS && argc > 1; v++)
    if (*verbs[v].word && strcmp(argv[1], verbs[v].word) == 0) o->verb = (Verb)v;
  int skip = argc > 1 && o->verb != VERB_RUN ? 2 : argc > 0;
  bool read = read_words(o, argc - skip, argv + skip), apart = !(o->config.flush_subnormals && o->config.strict);
  if (read && !apart) fprintf(stderr, "atled: strict floating point keeps subnormal numbers, so it can't flush them\n");
  if (read && apart) return true;
  options_refuse(o->verb);
  return false;
}
