/* SPDX-License-Identifier: MIT */
/* Signals that end what the command does. SIGINT stops the program that runs, which is an error. SIGTERM and SIGHUP
 * stop it too, so that what it printed is written, and then end the process as they usually do; where nothing runs, or
 * the program doesn't stop in time, or at the second one, at once. */
#include "repl.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 2 };
static AtledVM *volatile target;
static volatile sig_atomic_t seen, ending;
static volatile pid_t child;

static void stop(void) {
  seen = 1;
  if (target) atled_interrupt(target);
}

static void on_interrupt(int unused) {
  (void)unused;
  stop();
}

/* As the signal would have done without a handler. */
static void end_by(int number) {
  sigset_t one;
  signal(number, SIG_DFL);
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void on_patience(int unused) {
  (void)unused;
  end_by(ending);
}

static void on_end(int number) {
  if (child > 0) kill(child, number);
  if (ending || !target) {
    end_by(number);
    return;
  }
  ending = number;
  signal(SIGALRM, on_patience);
  alarm(PATIENCE_SECONDS);
  stop();
}

void signals_child(pid_t started) { child = started; }

bool interrupt_seen(void) { return seen; }

bool ending_seen(void) { return ending; }

void interrupt_target(AtledVM *vm) {
  target = vm;
  if (vm && !ending) seen = 0;
  if (vm && ending) atled_interrupt(vm);
  progress_run(vm != NULL);
  struct sigaction action = {.sa_handler = on_interrupt};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

void signals_start(void) {
  static const int ends[] = {SIGTERM, SIGHUP};
  for (int k = 0; k < 2; k++) {
    struct sigaction action;
    if (sigaction(ends[k], NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue; /* as nohup has it */
    memset(&action, 0, sizeof action);
    action.sa_handler = on_end;
    sigemptyset(&action.sa_mask);
    sigaction(ends[k], &action, NULL);
  }
}

void signals_end(void) {
  alarm(0);
  if (ending) end_by(ending);
}
