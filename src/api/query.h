/* SPDX-License-Identifier: MIT */
/* What the files of atled_query share.
 *
 *   query.c        the call; ASK_USES, ASK_OUTLINE, ASK_TYPES
 *   query_place.c  what stands at a place
 *   query_names.c  what each name of a text is
 *   query_words.c  how a word may go on; the call around a place
 *   query_fields.c fields that a word may become
 *   name_places.c  where names stand in a source, and what they mean
 *   unfinished.c   the rest of an item that isn't finished
 *   json_text.c    the answers' text */
#ifndef ATLED_QUERY_H
#define ATLED_QUERY_H
#include "api/pipeline.h"

typedef struct Ask {
  AtledVM *vm;
  AtledQuery query;
  size_t len; /* of the source */
  Plan plan;  /* of the source, or of one that is made of it */
  Str out;
} Ask;

/* ---- json_text.c ---- */
/* What isn't UTF-8 becomes U+FFFD. */
void json_string(Str *out, const char *text, size_t n);
/* The beginning of a member or an element: a comma where one is needed, and the name if it isn't NULL. */
void json_next(Str *out, const char *name);
void json_text(Str *out, const char *name, const char *text); /* nothing if that is NULL */
void json_number(Str *out, const char *name, size_t n);
void json_flag(Str *out, const char *name, bool value); /* nothing if it is false */

/* ---- name_places.c ---- */
typedef enum NameWhat { NAME_VALUE, NAME_CONSTRUCTOR, NAME_TYPE, NAME_FIELD, NAME_MODULE } NameWhat;
extern const char *const name_whats[];
typedef struct NamePlace {
  NameWhat what;
  Sym name;
  Span at;                /* of the name alone, without a module */
  Span target;            /* the name in its definition; source 0: it isn't known */
  bool field;             /* a lone name in a record: the field's, too */
  bool parameter;         /* NAME_VALUE: of a function, part of a pattern or not */
  Type *type;             /* of what it stands for here, or NULL */
  const Binding *binding; /* NAME_VALUE: or NULL */
  const Ctor *ctor;       /* NAME_CONSTRUCTOR: or NULL */
  const Module *module;   /* NAME_MODULE: or NULL */
} NamePlace;
typedef void (*NamePlaceFn)(void *user, const NamePlace *p);
/* Each name in the text of a program that was checked, as far as its items have no error of the syntax. */
void name_places(AtledVM *vm, const Program *p, NamePlaceFn fn, void *user);
/* Does that text stand at the place, at its beginning? */
bool name_stands(AtledVM *vm, Span at, Sym name);
/* The module that the main program calls so; NULL if there is none. */
Module *name_module(AtledVM *vm, Sym name);
bool same_target(Span a, Span b);

/* ---- query_place.c ---- */
void ask_place(Ask *a);
/* The name at the query's place. False: there is none. */
bool ask_name(Ask *a, NamePlace *out);

/* ---- query_names.c ---- */
void ask_names(Ask *a);

/* ---- query_words.c ---- */
typedef struct Words {
  Ask *ask;
  const char *prefix;
  size_t n;
  size_t start; /* of the word */
  Hole hole;
  const Expr *record; /* of value.word, or {value with word}; or NULL */
  const Sym *written; /* fields of a record, or of its pattern, that is being written, the word among them; or NULL */
  int nwritten;
  Map seen;
} Words;
/* The item of the query's program that holds the byte; NULL: none does. */
const Item *item_at(const Ask *a, size_t at);
AtledStatus ask_words(Ask *a);
AtledStatus ask_call(Ask *a);

/* ---- query_fields.c ---- */
/* Notes in *w whether the word is a field, and of what. */
void find_fields(Words *w);
void offer_fields(Words *w); /* of w->record */
/* Of records that are declared here, or in what is imported, and have what is written: their other fields. */
void offer_other_fields(Words *w);

/* ---- unfinished.c ---- */
/* What stands for the word that is to be completed. */
extern const char unfinished_word[];
/* The source with that word in place of the one that ends at byte `at`, and an end of its item where the item isn't
 * finished. In the scratch arena; *start: where the word begins. */
const char *unfinished_source(AtledVM *vm, const char *source, size_t at, size_t *start);
bool is_word_byte(char c);

/* ---- names.c ---- */
const char *names_definition(AtledVM *vm, Span at);         /* the lines of the definition at that place */
const char *names_comment_above(AtledVM *vm, Span at);      /* the comment above it, or NULL */
const char *names_comment_of(AtledVM *vm, const Module *m); /* at the head of its file */
#endif
