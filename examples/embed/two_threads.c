/* SPDX-License-Identifier: MIT */
/* Two VMs at once, one for each thread: VMs share nothing.
 *
 *   cc two_threads.c $(pkg-config --cflags --libs atled) -lpthread && ./a.out */
#include <atled.h>
#include <pthread.h>
#include <stdio.h>

typedef struct Job {
  double exponent, slope;
  AtledStatus status;
} Job;

static void *work(void *arg) {
  Job *job = arg;
  AtledVM *vm = atled_new(NULL);
  AtledFunction *f = NULL;
  job->status = vm ? ATLED_OK : ATLED_NO_MEMORY;
  if (job->status == ATLED_OK)
    job->status = atled_get(vm, "fun k x -> grad (fun x -> x ** k) x", "float -> float -> float", &f);
  for (int i = 0; i < 1000 && job->status == ATLED_OK; i++) {
    double args[2] = {job->exponent, 2.0};
    job->status = atled_call_double(f, args, 2, &job->slope);
  }
  atled_release(f);
  atled_free(vm);
  return NULL;
}

int main(void) {
  Job jobs[2] = {{.exponent = 3.0}, {.exponent = 4.0}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, &jobs[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++)
    printf("thread %d: the slope of x ** %g at 2 is %g\n", i, jobs[i].exponent, jobs[i].slope);
  return jobs[0].status != ATLED_OK || jobs[1].status != ATLED_OK;
}
