/* SPDX-License-Identifier: MIT */
/* A controller at 1 kHz: each tick turns the joints of an arm so that its hand follows a target. A script solves that;
 * the loop calls it by a native pointer, which allocates nothing.
 *
 *   cc inverse_kinematics.c $(pkg-config --cflags --libs atled) -lm && ./a.out */
#define _GNU_SOURCE
#include <atled.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { JOINTS = 3, TICKS = 1000, WARM_UP = 500, TICK = 1000000 /* nanoseconds */ };

static const char *const script = "let links = [ 1.0, 0.8, 0.5 ]\n"
                                  "# The hand's distance from the target, squared and halved.\n"
                                  "let miss target angles =\n"
                                  "  let mut x = -target.x in\n"
                                  "  let mut y = -target.y in\n"
                                  "  let mut angle = 0.0 in\n"
                                  "  for i = 0 to length links - 1 do\n"
                                  "    angle <- angle + angles[i];\n"
                                  "    x <- x + links[i] * cos angle;\n"
                                  "    y <- y + links[i] * sin angle\n"
                                  "  done;\n"
                                  "  0.5 * (x * x + y * y)\n"
                                  "let follow target angles =\n"
                                  "  let mut a = angles in\n"
                                  "  for step = 1 to 20 do a <- a - 0.2 * grad (miss target) a done;\n"
                                  "  (a, sqrt (2.0 * miss target a))\n";

/* What the VM asks for is counted. */
static void *allocate(void *count, void *block, size_t old_size, size_t new_size) {
  if (new_size > old_size) ++*(long *)count;
  if (new_size) return realloc(block, new_size);
  free(block);
  return NULL;
}

typedef struct Arm {
  AtledFunction *follow;
  AtledNative native;
  double angles[JOINTS], error;
} Arm;

/* The target goes round a circle in two seconds. */
static int32_t tick(Arm *arm, int k) {
  static const int64_t joints = JOINTS;
  double phase = acos(-1.0) * k / TICKS;
  AtledNativeArg args[] = {/* the record's fields, x and y */
                           {.as.number = 1.2 + 0.3 * cos(phase)},
                           {.as.number = 0.6 + 0.3 * sin(phase)},
                           {.as.data = arm->angles, .dims = &joints}};
  AtledNativeResult results[] = {{.as.data = arm->angles, .dims = &joints}, {.as.number = 0.0}};
  int32_t status = arm->native.general(arm->follow, args, 3, results, 2);
  arm->error = results[1].as.number;
  return status;
}

static double microseconds(struct timespec a, struct timespec b) {
  return 1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec);
}

static int control(Arm *arm, const long *allocations) {
  double worst = 0, sum = 0, error = 0;
  for (int k = 0; k < WARM_UP; k++)
    if (tick(arm, 0) != ATLED_OK) return 1;
  long before = *allocations;
  struct timespec next, start, end;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (int k = 0; k < TICKS; k++) {
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (tick(arm, k) != ATLED_OK) return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    worst = fmax(worst, microseconds(start, end));
    sum += microseconds(start, end);
    error = fmax(error, arm->error);
    next.tv_nsec += TICK;
    next.tv_sec += next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
  printf("%d ticks at 1 kHz: %ld allocations, %s\n", TICKS, *allocations - before,
         error < 1e-3 ? "the hand within 1 mm" : "the hand lost the target");
  printf("a call took %.1f us, the longest one %.1f us\n", sum / TICKS, worst);
  return 0;
}

int main(void) {
  long allocations = 0;
  Arm arm = {.angles = {0.3, 0.3, 0.3}};
  AtledConfig config;
  atled_config_init(&config);
  config.allocate = allocate;
  config.user = &allocations;
  AtledVM *vm = atled_new(&config);
  int failed =
      !vm || atled_eval(vm, "arm.atl", script) != ATLED_OK ||
      atled_get(vm, "follow", "{x : float, y : float} -> float[] -> float[] * float", &arm.follow) != ATLED_OK ||
      atled_native(arm.follow, ATLED_GENERAL, &arm.native) != ATLED_OK || control(&arm, &allocations);
  const AtledDiagnostic *e = atled_error(vm);
  if (failed && !e) e = atled_native_error(arm.follow);
  if (failed) fputs(e ? e->rendered : "no VM\n", stderr);
  atled_release(arm.follow);
  atled_free(vm);
  return failed;
}
