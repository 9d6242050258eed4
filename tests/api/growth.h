/* SPDX-License-Identifier: MIT */
/* What is done often leaves neither memory nor mappings nor descriptors. After check.h. */
#ifndef ATLED_TEST_GROWTH_H
#define ATLED_TEST_GROWTH_H
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 50 };
enum { NOISE = 512 << 10 }; /* bytes that the C library may keep */

/* What a process has. */
typedef struct Use {
  long bytes; /* resident */
  int mappings, descriptors;
} Use;

static inline int lines_of(const char *path) {
  FILE *f = fopen(path, "r");
  int lines = 0;
  for (int c; f && (c = fgetc(f)) != EOF;) lines += c == '\n';
  if (f) fclose(f);
  return lines;
}

static inline int open_descriptors(void) {
  DIR *d = opendir("/proc/self/fd");
  int n = 0;
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}

static inline Use in_use(void) {
  Use u = {0, lines_of("/proc/self/maps"), open_descriptors()};
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*d %ld", &u.bytes) != 1) u.bytes = 0;
  if (f) fclose(f);
  u.bytes *= sysconf(_SC_PAGESIZE);
  return u;
}

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does something n times, after some times that may leave something behind. */
static inline void check_growth(const char *what, void (*act)(void *arg, int i), void *arg, int n, bool show) {
  for (int i = 0; i < WARM; i++) act(arg, i);
  Use before = in_use();
  double start = seconds();
  for (int i = 0; i < n; i++) act(arg, WARM + i);
  double each = (seconds() - start) / n;
  Use after = in_use();
  if (show)
    printf("%-20s %7d times, %8.1f us each: %+ld bytes, %+d mappings, %+d descriptors\n", what, n, 1e6 * each,
           after.bytes - before.bytes, after.mappings - before.mappings, after.descriptors - before.descriptors);
  CHECK(after.mappings <= before.mappings + 2);
  CHECK(after.descriptors == before.descriptors);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which keep what is freed */
  CHECK(after.bytes <= before.bytes + NOISE);
#endif
}
#endif
