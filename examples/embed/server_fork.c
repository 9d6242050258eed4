/* SPDX-License-Identifier: MIT */
/* A server that forks: the parent evaluates the model once, and each request is answered by a child, which has the VM
 * with all of it. What a request does to the VM, or to the process, is gone with the child.
 *
 *   cc server_fork.c $(pkg-config --cflags --libs atled) && ./a.out */
#include <atled.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char model[] = "let table = [ 0.5 * float i | i < 1000 ]\n"
                            "let total scale = scale * sum table\n";

/* In the child: the answer goes to the pipe. */
static void answer(AtledVM *vm, const char *source, int to) {
  char text[200];
  AtledResult r;
  if (atled_eval(vm, "request", source) == ATLED_OK && atled_result(vm, atled_result_count(vm) - 1, &r))
    snprintf(text, sizeof text, "%s", r.value);
  else snprintf(text, sizeof text, "%s: %s", atled_error(vm)->kind, atled_error(vm)->message);
  if (write(to, text, strlen(text)) < 0) perror("write");
}

static void serve(AtledVM *vm, int number, const char *source) {
  int ends[2], status;
  char text[200];
  if (pipe(ends) != 0) return;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (strcmp(source, "crash") == 0) raise(SIGKILL);
    answer(vm, source, ends[1]);
    atled_free(vm); /* allowed, and not needed: the process ends */
    _exit(0);
  }
  close(ends[1]);
  ssize_t n = read(ends[0], text, sizeof text);
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || n <= 0)
    printf("%d no answer\n", number);
  else printf("%d %.*s\n", number, (int)n, text);
}

int main(void) {
  AtledConfig config;
  atled_sandbox_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.time_limit = 1.0;
  AtledVM *vm = atled_new(&config);
  if (!vm || atled_eval(vm, "model.atl", model) != ATLED_OK) return 1;
  const char *requests[] = {"total 2.0",
                            "let total scale = 0.0\ntotal 2.0",
                            "total 2.0",
                            "grad total 5.0",
                            "while true do () done",
                            "crash",
                            "length table"};
  int count = sizeof requests / sizeof *requests;
  for (int i = 0; i < count; i++) serve(vm, i + 1, requests[i]);
  atled_free(vm);
  return 0;
}
