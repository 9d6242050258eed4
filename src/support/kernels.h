/* SPDX-License-Identifier: MIT */
/* Functions of our own, which replace SLEEF's (functions.h). Machine code has the same for vectors, in line
 * (jit/wide_kernels.c). */
#ifndef ATLED_KERNELS_H
#define ATLED_KERNELS_H

/* Of the family FUNCTIONS_FUSED: on x86-64 the processor must have FMA. */
double kernels_exp(double x);
double kernels_log(double x);
double kernels_tanh(double x);
double kernels_erf(double x);
/* Of the family FUNCTIONS_PLAIN. */
double kernels_plain_exp(double x);
double kernels_plain_log(double x);
double kernels_plain_tanh(double x);
double kernels_plain_erf(double x);
#endif
