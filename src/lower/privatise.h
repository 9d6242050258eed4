/* SPDX-License-Identifier: MIT */
/* Array privatisation: what privatise.c and private_copy.c share. */
#ifndef ATLED_PRIVATISE_H
#define ATLED_PRIVATISE_H
#include "lower/lower_internal.h"

/* What a register of the body that holds a pointer or raw data belongs to. */
enum { NO_ARRAY = -1, SEVERAL_ARRAYS = -2 };
typedef struct Privatiser {
  Fn *fn;
  const PrivateLoop *l;
  LModule module;      /* as far as it exists: for lir_roles */
  const LInstr *body;  /* n instructions, of one iteration */
  int n, nregs;        /* registers of the function before the copy */
  int *defined;        /* by register: definitions in the body */
  const LInstr **only; /* by register: its definition in the body, if that is the only one */
  int *reads;          /* by register: in the body */
  bool *varying;       /* by register: may iterations differ? */
  int *array;          /* by raw register: the array that it is the data of */
  int *copy;           /* by register: that of the copy; -1 */
  int *labels;         /* by label, of the copy; -1 */
  int *data;           /* by array register: the data of the reduction array that stands for it; -1 */
  int *slots;          /* by array register: numbers of an element; 0: nothing is added to it */
  bool *reduces;       /* by instruction of the body: is it part of an addition to a reduction array? */
  int *loads;          /* by STORE that is such a part: its LOAD */
  int *places;         /* by LOAD that is: where it reads, of the copy */
  int width;           /* numbers of an element that an iteration makes: LIMIT_LANES or LIMIT_TURN */
  int index, lane;     /* of the copy: the iteration's number, and that modulo width */
  int sum;             /* that modulo LIMIT_LANES: the number of a partial sum */
} Privatiser;

bool privatise_is_private(const Privatiser *p, int pointer); /* is the array made in the body? */
/* The chain of additions to the state's float that the body ends with, latest first: how many; -1: it is no sum. */
enum { PRIVATE_TERMS = 16 };
int privatise_sum(const Privatiser *p, const LInstr *move, const LInstr **chain);
/* Emits the copy and what surrounds it; false: the sizes of its arrays aren't known before the loop. */
bool privatise_emit(Privatiser *p);
#endif
