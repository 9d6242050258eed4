/* SPDX-License-Identifier: MIT */
/* Functions of our own, which replace SLEEF's of the family FUNCTIONS_FUSED (functions.h). Machine code has the same
 * for vectors, in line (jit/wide_kernels.c). On x86-64 the processor must have FMA. */
#ifndef ATLED_KERNELS_H
#define ATLED_KERNELS_H

double kernels_exp(double x);
double kernels_log(double x);
double kernels_tanh(double x);
double kernels_erf(double x);
#endif
