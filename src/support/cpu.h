/* SPDX-License-Identifier: MIT */
/* What the processor has, and the system lets programs use: CPU_HAS (AVX2, "avx2"), by the name in glibc's header and
 * the one of GCC. x86 alone.
 *
 * glibc has asked the processor when the process began. GCC's __builtin_cpu_supports asks again, before main, and in a
 * virtual machine each of some ten questions takes microseconds. */
#ifndef ATLED_CPU_H
#define ATLED_CPU_H
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#include <stdbool.h>

/* CPU_FEATURE_ACTIVE, which in glibc 2.36 shifts 1 into the sign of an int. A leaf has four words of bits. */
static inline bool cpu_has(unsigned feature) {
  const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);
  return leaf->active_array[feature % 128 / 32] >> (feature % 32) & 1;
}
#define CPU_HAS(NAME, name) cpu_has(x86_cpu_##NAME)
#else
#define CPU_HAS(NAME, name) __builtin_cpu_supports(name)
#endif
#endif
