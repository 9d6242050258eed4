/* SPDX-License-Identifier: MIT */
/* The functions of kernel_bodies.h of one number for processors without fused multiplication and addition: to be
 * compiled with -ffp-contract=off. */
#include "support/kernels.h"

#define FUSING
#define MUL_ADD(a, b, c)  ((a) * (b) + (c))
#define RESIDUAL(a, q, d) kernel_residual(a, q, d)
#include "support/kernel_numbers.h"

double kernels_plain_exp(double x) { return kernel_exp(x); }
double kernels_plain_log(double x) { return kernel_log(x); }
double kernels_plain_tanh(double x) { return kernel_tanh(x); }
double kernels_plain_erf(double x) { return kernel_erf(x); }
