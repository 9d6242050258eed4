/* SPDX-License-Identifier: MIT */
/* The functions of kernel_bodies.h of one number, with fused multiplication and addition where
 * they say so and nowhere else: to be compiled with -ffp-contract=off. */
#include "support/kernels.h"

#if defined(__x86_64__)
#define FUSING __attribute__((target("fma")))
#else
#define FUSING
#endif
#define MUL_ADD(a, b, c)  __builtin_fma(a, b, c)
#define RESIDUAL(a, q, d) __builtin_fma(-(q), d, a)
#include "support/kernel_numbers.h"

FUSING double kernels_exp(double x) { return kernel_exp(x); }
FUSING double kernels_log(double x) { return kernel_log(x); }
FUSING double kernels_tanh(double x) { return kernel_tanh(x); }
FUSING double kernels_erf(double x) { return kernel_erf(x); }
