/* SPDX-License-Identifier: MIT */
/* The manual in all its forms, made of the rows of options.def and commands.def: `--help`, the man page, completions
 * for bash, zsh and fish, and the page of the documentation. Each form is one function, which goes through the tables;
 * what it has to escape is written by a function beside it. */
#include "options.h"
#include <stdio.h>
#include <string.h>

typedef struct Row {
  const char *name, *value, *verbs, *help;
} Row;

static const Row verbs[] = {
#define VERB(id, word, arguments, completes, help) {word, arguments, completes, help},
#include "options.def"
};
static const Row options[] = {
#define OPTION(id, name, value, verbs, help) {name, value, verbs, help},
#include "options.def"
};
static const Row variables[] = {
#define VARIABLE(name, values, meaning) {name, values, NULL, meaning},
#include "options.def"
};
static const struct {
  int number;
  const char *meaning;
} statuses[] = {
#define EXIT_STATUS(number, meaning) {number, meaning},
#include "options.def"
};
static const Row commands[] = {
#define COMMAND(function, name, arguments, completes, help) {name, arguments, completes, help},
#include "commands.def"
};
static const struct {
  const char *name, *values;
  int initial;
  const char *help;
} settings[] = {
#define SETTING(id, name, values, initial, help) {name, values, initial, help},
#include "commands.def"
};
#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

/* ---- Text ----------------------------------------------------------------------------------- */
enum { PAGE_WIDTH = 80, COLUMN = 28 };

int manual_width(const char *text) {
  int n = 0;
  for (; *text; text++) n += (*text & 0xc0) != 0x80;
  return n;
}

void manual_wrap(const char *text, int at, int indent) {
  printf("%*s", at < indent ? indent - at : 0, "");
  if (at > indent - 1) printf("\n%*s", indent, "");
  for (int column = indent; *text;) {
    char word[256];
    int n = (int)strcspn(text, " ");
    snprintf(word, sizeof word, "%.*s", n, text);
    bool fits = column == indent || column + 1 + manual_width(word) <= PAGE_WIDTH;
    if (!fits) printf("\n%*s", indent, ""), column = indent;
    column += printf("%s", column == indent ? "" : " ") + manual_width(word);
    fputs(word, stdout);
    text += n + (text[n] == ' ');
  }
  putchar('\n');
}

/* What stands between an option and its value: `name=value`, `name value` for one of one letter, `name[=value]`. */
static const char *joint(const char *name, const char *value) {
  if (!value || *value == '[') return "";
  return name[0] == '-' && name[1] == '-' ? "=" : " ";
}

static void option_text(const Row *o, char *text, size_t n) {
  snprintf(text, n, "%s%s%s", o->name, joint(o->name, o->value), o->value ? o->value : "");
}

static void help_row(const char *left, const char *help) {
  printf("  %s", left);
  manual_wrap(help, 2 + manual_width(left), COLUMN);
}

void manual_help(void) {
  char text[160];
  for (int i = 0; i < COUNT(verbs); i++) {
    const Row *v = &verbs[i];
    snprintf(text, sizeof text, "atled [OPTIONS] %s%s%s", v->name, *v->name && *v->value ? " " : "", v->value);
    printf("%s %s", i ? "      " : "usage:", text);
    manual_wrap(v->help, 7 + manual_width(text), 41);
  }
  puts("options:");
  for (int i = 0; i < COUNT(options); i++) {
    option_text(&options[i], text, sizeof text);
    help_row(text, options[i].help);
  }
  puts("exit status:");
  for (int i = 0; i < COUNT(statuses); i++) {
    snprintf(text, sizeof text, "%d", statuses[i].number);
    help_row(text, statuses[i].meaning);
  }
  puts("`man atled` and docs/command-line.md have variables of the environment and the prompt's commands.");
}

/* ---- The man page ------------------------------------------------------------------------------- */
/* Backquotes become bold; what troff would read is escaped, and what it can't read written in ASCII. */
static void man_text(const char *text) {
  static const char dots[] = "…";
  bool bold = false;
  for (; *text; text++) {
    if (strncmp(text, dots, sizeof dots - 1) == 0) fputs("...", stdout), text += sizeof dots - 1;
    if (!*text) return;
    if (*text == '`') fputs((bold = !bold) ? "\\fB" : "\\fR", stdout);
    else if (*text == '-') fputs("\\-", stdout);
    else if (*text == '\\') fputs("\\e", stdout);
    else if (*text == '\'') fputs("\\(aq", stdout);
    else putchar(*text);
  }
}

static void man_row(const char *name, const char *value, const char *help) {
  fputs(".TP\n\\fB", stdout);
  man_text(name);
  fputs("\\fR", stdout);
  if (value && *value) {
    fputs(joint(name, value), stdout);
    fputs("\\fI", stdout);
    man_text(value);
    fputs("\\fR", stdout);
  }
  putchar('\n');
  man_text(help);
  putchar('\n');
}

static void generate_man(void) {
  char name[160];
  printf(".TH ATLED 1 \"\" \"Atled %s\" \"User Commands\"\n.SH NAME\natled \\- a small ML whose gradients are compiled "
         "natively\n.SH SYNOPSIS\n",
         atled_version());
  for (int i = 0; i < COUNT(verbs); i++) {
    snprintf(name, sizeof name, "%s%s%s", verbs[i].name, *verbs[i].name && *verbs[i].value ? " " : "", verbs[i].value);
    fputs(i ? ".br\n.B atled\n[OPTIONS] " : ".B atled\n[OPTIONS] ", stdout);
    man_text(name);
    putchar('\n');
  }
  puts(".SH DESCRIPTION");
  for (int i = 0; i < COUNT(verbs); i++) {
    snprintf(name, sizeof name, "atled%s%s", *verbs[i].name ? " " : "", verbs[i].name);
    man_row(name, verbs[i].value, verbs[i].help);
  }
  puts(".SH OPTIONS");
  for (int i = 0; i < COUNT(options); i++) man_row(options[i].name, options[i].value, options[i].help);
  puts(".SH EXIT STATUS");
  for (int i = 0; i < COUNT(statuses); i++) {
    snprintf(name, sizeof name, "%d", statuses[i].number);
    man_row(name, NULL, statuses[i].meaning);
  }
  puts(".SH ENVIRONMENT");
  for (int i = 0; i < COUNT(variables); i++) man_row(variables[i].name, variables[i].value, variables[i].help);
  puts(".SH COMMANDS OF THE PROMPT");
  for (int i = 0; i < COUNT(commands); i++) {
    snprintf(name, sizeof name, ":%s", commands[i].name);
    man_row(name, commands[i].value, commands[i].help);
  }
  puts(".SH SETTINGS OF THE PROMPT");
  for (int i = 0; i < COUNT(settings); i++) {
    snprintf(name, sizeof name, ":set %s", settings[i].name);
    man_row(name, settings[i].values, settings[i].help);
  }
}

/* ---- The documentation ------------------------------------------------------------------------------ */
/* In a cell of a table `|` is escaped, within code too. */
static void cell(const char *text) {
  for (; *text; text++) printf(*text == '|' ? "\\|" : "%c", *text);
}

static void markdown_row(const char *name, const char *value, const char *between, const char *help) {
  fputs("| `", stdout);
  cell(name);
  if (value && *value) {
    fputs(between, stdout);
    cell(value);
  }
  fputs("` | ", stdout);
  cell(help);
  puts(" |");
}

static void markdown_head(const char *title) { printf("\n## %s\n\n| | |\n|---|---|\n", title); }

static void generate_markdown(void) {
  char name[160];
  markdown_head("What the program does");
  for (int i = 0; i < COUNT(verbs); i++) {
    snprintf(name, sizeof name, "atled%s%s", *verbs[i].name ? " " : "", verbs[i].name);
    markdown_row(name, verbs[i].value, " ", verbs[i].help);
  }
  markdown_head("Options");
  for (int i = 0; i < COUNT(options); i++) {
    char help[400];
    bool any = strcmp(options[i].verbs, "any") == 0 || strncmp(options[i].verbs, "run", 3) == 0;
    snprintf(help, sizeof help, "%s%s%s%s", any ? "" : "(`", any ? "" : options[i].verbs, any ? "" : "`) ",
             options[i].help);
    markdown_row(options[i].name, options[i].value, joint(options[i].name, options[i].value), help);
  }
  markdown_head("Exit status");
  for (int i = 0; i < COUNT(statuses); i++) {
    snprintf(name, sizeof name, "%d", statuses[i].number);
    markdown_row(name, NULL, "", statuses[i].meaning);
  }
  markdown_head("Variables of the environment");
  for (int i = 0; i < COUNT(variables); i++)
    markdown_row(variables[i].name, variables[i].value, "=", variables[i].help);
  markdown_head("Commands of the prompt");
  for (int i = 0; i < COUNT(commands); i++) {
    snprintf(name, sizeof name, ":%s", commands[i].name);
    markdown_row(name, commands[i].value, " ", commands[i].help);
  }
  markdown_head("Settings of the prompt");
  for (int i = 0; i < COUNT(settings); i++) {
    snprintf(name, sizeof name, ":set %s", settings[i].name);
    markdown_row(name, settings[i].values, " ", settings[i].help);
  }
}

/* ---- Completions ----------------------------------------------------------------------------------- */
static bool is_listed(const Row *o) { return o->value && strchr(o->value, '|'); }

/* "a|b" as "a b". */
static void print_choices(const char *choices) {
  for (; *choices; choices++) putchar(*choices == '|' ? ' ' : *choices);
}

static void print_verbs(void) {
  for (int i = 0; i < COUNT(verbs); i++)
    if (*verbs[i].name) printf(" %s", verbs[i].name);
}

static void generate_bash(void) {
  puts("# Completion of atled for bash; made by `atled --generate=bash`.\n"
       "_atled() {\n"
       "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
       "  if [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
       "  case $prev in");
  for (int i = 0; i < COUNT(options); i++)
    if (is_listed(&options[i])) {
      printf("  %s) COMPREPLY=($(compgen -W '", options[i].name);
      print_choices(options[i].value);
      puts("' -- \"$cur\")); return ;;");
    }
  puts("  cache) COMPREPLY=($(compgen -W clear -- \"$cur\")); return ;;\n"
       "  -e) return ;;\n"
       "  esac\n"
       "  case $cur in");
  printf("  -*) COMPREPLY=($(compgen -W '");
  for (int i = 0; i < COUNT(options); i++) printf("%s%s", i ? " " : "", options[i].name);
  puts("' -- \"$cur\")); return ;;\n"
       "  esac");
  printf("  [ \"$COMP_CWORD\" -eq 1 ] && COMPREPLY=($(compgen -W '");
  print_verbs();
  puts("' -- \"$cur\"))\n"
       "  COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
       "}\n"
       "complete -o filenames -F _atled atled");
}

/* Within single quotes, and where `:`, `[` and `]` mean something. */
static void zsh_text(const char *text) {
  for (; *text; text++) {
    if (*text == '\'') fputs("'\\''", stdout);
    else if (strchr(":[]", *text)) printf("\\%c", *text);
    else putchar(*text);
  }
}

static void generate_zsh(void) {
  puts("#compdef atled\n"
       "# Completion of atled for zsh; made by `atled --generate=zsh`.\n"
       "_atled_first() {\n"
       "  local -a verbs=(");
  for (int i = 0; i < COUNT(verbs); i++) {
    if (!*verbs[i].name) continue;
    printf("    '%s:", verbs[i].name);
    zsh_text(verbs[i].help);
    puts("'");
  }
  puts("  )\n"
       "  _describe command verbs\n"
       "  _files\n"
       "}\n"
       "_arguments -s \\");
  for (int i = 0; i < COUNT(options); i++) {
    const Row *o = &options[i];
    bool takes = o->value && *o->value != '[';
    printf("  '%s%s[", o->name, takes && o->name[1] == '-' ? "=" : "");
    zsh_text(o->help);
    printf("]%s", takes ? ":value:" : "");
    if (is_listed(o)) putchar('('), print_choices(o->value), putchar(')');
    puts("' \\");
  }
  puts("  '1: :_atled_first' '*:file:_files'");
}

static void fish_text(const char *text) {
  putchar('\'');
  for (; *text; text++) printf(strchr("'\\", *text) ? "\\%c" : "%c", *text);
  putchar('\'');
}

static void generate_fish(void) {
  puts("# Completion of atled for fish; made by `atled --generate=fish`.");
  for (int i = 0; i < COUNT(verbs); i++) {
    if (!*verbs[i].name) continue;
    printf("complete -c atled -n __fish_use_subcommand -a %s -d ", verbs[i].name);
    fish_text(verbs[i].help);
    putchar('\n');
  }
  puts("complete -c atled -n '__fish_seen_subcommand_from cache' -f -a clear");
  for (int i = 0; i < COUNT(options); i++) {
    const Row *o = &options[i];
    bool is_long = o->name[1] == '-';
    printf("complete -c atled %s %s%s", is_long ? "-l" : "-s", o->name + (is_long ? 2 : 1),
           o->value && *o->value != '[' ? " -x" : "");
    if (is_listed(o)) fputs(" -a '", stdout), print_choices(o->value), putchar('\'');
    fputs(" -d ", stdout);
    fish_text(o->help);
    putchar('\n');
  }
}

void manual_generate(const char *what) {
  if (strcmp(what, "man") == 0) generate_man();
  else if (strcmp(what, "bash") == 0) generate_bash();
  else if (strcmp(what, "zsh") == 0) generate_zsh();
  else if (strcmp(what, "fish") == 0) generate_fish();
  else generate_markdown();
}
