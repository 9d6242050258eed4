/* SPDX-License-Identifier: MIT */
/* A server's workers: threads that answer requests of clients, each with a VM of its own. A request is an expression
 * that the server didn't write; it is stopped after a second, and the worker takes the next one.
 *
 *   cc server_threads.c $(pkg-config --cflags --libs atled) -lpthread && ./a.out */
#include <atled.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 3, ANSWER = 120 };

typedef struct Request {
  const char *expression; /* "float" is the type that it must have */
  char answer[ANSWER];
} Request;

typedef struct Queue {
  pthread_mutex_t lock;
  Request *all;
  int count, next;
} Queue;

static const char model[] = "let price rate years = 100.0 * exp (-rate * years)\n"
                            "let rec forever x = forever (x + 1.0)\n";

static Request *take(Queue *q) {
  pthread_mutex_lock(&q->lock);
  Request *r = q->next < q->count ? &q->all[q->next++] : NULL;
  pthread_mutex_unlock(&q->lock);
  return r;
}

static void answer(AtledVM *vm, Request *r) {
  AtledFunction *f = NULL;
  AtledValue value;
  if (atled_get(vm, r->expression, "float", &f) == ATLED_OK && atled_call(f, NULL, 0, &value) == ATLED_OK)
    snprintf(r->answer, ANSWER, "%.4f", value.as.number);
  else snprintf(r->answer, ANSWER, "%s: %s", atled_error(vm)->kind, atled_error(vm)->message);
  atled_release(f);
}

static void *work(void *queue) {
  AtledConfig config;
  atled_sandbox_init(&config);
  config.jit = ATLED_JIT_OFF; /* requests are short and all different */
  config.time_limit = 1.0;
  AtledVM *vm = atled_new(&config);
  if (!vm || atled_eval(vm, "model.atl", model) != ATLED_OK) {
    atled_free(vm);
    return NULL;
  }
  for (Request *r = take(queue); r; r = take(queue)) answer(vm, r);
  atled_free(vm);
  return NULL;
}

int main(void) {
  Request requests[] = {{.expression = "price 0.05 10.0"},
                        {.expression = "grad (fun r -> price r 10.0) 0.05"},
                        {.expression = "forever 0.0"},
                        {.expression = "price true"},
                        {.expression = "float (length (read_file \"/etc/passwd\"))"},
                        {.expression = "sum [ price 0.05 (float k) | k < 10 ]"}};
  Queue queue = {.all = requests, .count = sizeof requests / sizeof *requests};
  pthread_mutex_init(&queue.lock, NULL);
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, work, &queue);
  for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
  pthread_mutex_destroy(&queue.lock);
  for (int i = 0; i < queue.count; i++) printf("%d %s\n", i + 1, requests[i].answer);
  return 0;
}
