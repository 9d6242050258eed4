/* SPDX-License-Identifier: MIT */
/* The program atled-compiler: the compiler's process of a host, which src/jit/toolchain/compiler.c starts with a socket
 * as standard input. Orders come in, each with the image of a module; a shared object is made, and a result goes back.
 *
 *   host ──spawn──► starter ──fork──► this process ──fork──► compile: image.c, translate.c
 *
 * The starter ends at once, so the host has no child; where the host is process 1, and would get the orphan, it stays
 * between the two, and starts this process when there is something to do. Each order is carried out by a process of
 * its own, a copy of this one, in which libgccjit is loaded but was never used: what a compile leaves behind, or
 * takes too much of, ends with it. This process has one thread and does nothing but wait, for the first of: the
 * result, the end of time, the end of the host. It ends when no order has come for a while; the host starts another
 * one then. */
#define _GNU_SOURCE
#include "jit/toolchain/cache.h"
#include "jit/toolchain/folder.h"
#include "jit/toolchain/guard.h"
#include "jit/toolchain/turns.h"
#include "jit/translate.h"
#include "lir/image.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOST = 0, IDLE_MS = 10000, LOW = 10, LOWEST = 19, FAREWELL_SECONDS = 30, LOOK_SECONDS = 3600 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(Result *r, const char *why) { snprintf(r->why, sizeof r->why, "%s", why); }

/* ---- The process of one order ------------------------------------------------------------------------------------ */
/* Sanitizers take more address space than any limit leaves. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { CAN_LIMIT = 0 };
#else
enum { CAN_LIMIT = 1 };
#endif

static void limit_memory(uint64_t bytes) {
  struct rlimit limit;
  if (!CAN_LIMIT || !bytes || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur <= bytes) return;
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
}

static void carry_out(const Order *order, const void *image, const char *folder, Result *result) {
  Tools tools;
  Heap heap;
  Arena arena;
  const char *why = NULL;
  heap_init(&heap);
  arena_init(&arena, &heap);
  const char *lacking = tools_find(&tools);
  LModule *m = lacking ? NULL : image_load(&heap, image, order->size, &why);
  if (lacking) {
    snprintf(result->why, sizeof result->why, "the program `%s` isn't on PATH", lacking);
  } else if (m) {
    m->arena = &arena;
    translate_module(order, m, &tools, folder, true, &heap, result);
  } else {
    result->no_memory = !why;
    say(result, why ? why : "out of memory");
  }
}

static void add_usage(int who, Usage *used) {
  struct rusage r;
  if (getrusage(who, &r) != 0) return;
  used->seconds +=
      (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + 1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  if ((uint64_t)r.ru_maxrss * 1024 > used->memory) used->memory = (uint64_t)r.ru_maxrss * 1024;
}

/* On which this process, and the host that started it, may run. */
static int cores(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Whoever works meanwhile goes first where there is one core only: the compile would take its time from the host alone,
 * and all of it in vain where that ends soon. With more cores it has the host's priority also if all are busy: what
 * is compiled will run many times as fast, and it is other programs rather than the host that wait. */
static void step_back(const Order *order) {
  if (order->background && cores() < 2) setpriority(PRIO_PROCESS, 0, LOW);
}

static _Noreturn void run_order(const Order *order, const void *image, const char *folder, int out, pid_t parent) {
  Result result = {0};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  limit_memory(order->memory);
  step_back(order);
  carry_out(order, image, folder, &result);
  add_usage(RUSAGE_SELF, &result.used);
  add_usage(RUSAGE_CHILDREN, &result.used);
  _exit(write(out, &result, sizeof result) != sizeof result);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */
/* The host, from which nothing is to come now, says that it ends but wants the result to be kept. */
static bool says_farewell(void) {
  char byte;
  return recv(HOST, &byte, 1, MSG_DONTWAIT) == 1 && byte == COMPILER_FAREWELL;
}

/* What the host left to this process. */
typedef struct Legacy {
  bool any;
  Folder object, claim;
  Heap heap;
  Cache cache;
} Legacy;

static bool never(void *user) {
  (void)user;
  return false;
}

static void inherit(const Order *order, Legacy *l) {
  char path[FILE_NAME_SIZE];
  l->any = true;
  heap_init(&l->heap);
  l->cache = (Cache){.heap = &l->heap, .limit = order->cache_limit};
  strcpy(l->cache.dir, order->cache_dir);
  snprintf(path, sizeof path, "%.*s", (int)(strrchr(order->so, '/') - order->so), order->so);
  /* nothing is made again that was removed meanwhile */
  if (folder_adopt(&l->object, path)) turn_take(&l->cache, order->key, &l->claim, 1, never, NULL);
}

static void put_away(const Order *order, const Result *result, Legacy *l) {
  if (result->ok) cache_store(&l->cache, order->key, order->so);
  folder_remove(&l->object);
  turn_end(&l->claim);
}

/* Until the result is there, or can't come any more. False: the host is gone. */
static bool await(int in, pid_t child, const Order *order, Result *result, Legacy *legacy) {
  double end = order->seconds > 0 ? now() + order->seconds : HUGE_VAL;
  for (;;) {
    double left = end - now();
    if (left <= 0) {
      snprintf(result->why, sizeof result->why, "compiling takes longer than %g seconds", order->seconds);
      return true;
    }
    struct pollfd ends[] = {{.fd = in, .events = POLLIN},
                            {.fd = legacy->any ? -1 : HOST, .events = POLLIN | POLLRDHUP}};
    if (poll(ends, 2, (int)(fmin(left, LOOK_SECONDS) * 1000) + 1) < 0 && errno != EINTR) return true;
    if (ends[1].revents && !says_farewell()) return false;
    if (ends[1].revents) {
      inherit(order, legacy);
      setpriority(PRIO_PROCESS, (id_t)child, LOWEST);
      end = fmin(end, now() + FAREWELL_SECONDS);
    }
    if (!ends[0].revents) continue;
    Result r;
    if (read(in, &r, sizeof r) == sizeof r) *result = r; /* smaller than what a pipe takes at once */
    else say(result, "the compiler ended itself, or was killed for want of memory");
    return true;
  }
}

static bool reply(const Result *result) {
  return send(HOST, result, sizeof *result, MSG_NOSIGNAL) == (ssize_t)sizeof *result;
}

/* Ends the process of the order, with assembler and linker, which become children of this one. */
static void end_order(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {}
}

/* Starts the process of the order; the end of a pipe that its result comes from, or -1. */
static int start(const Order *order, const void *image, const char *folder, pid_t *child) {
  int ends[2];
  pid_t self = getpid();
  if (pipe(ends) != 0) return -1;
  *child = fork();
  if (*child == 0) run_order(order, image, folder, ends[1], self);
  close(ends[1]);
  if (*child > 0) setpgid(*child, *child); /* whichever of the two comes first */
  if (*child > 0) return ends[0];
  close(ends[0]);
  return -1;
}

/* The host gets its result at once; putting away takes longer. False: it is gone. */
static bool serve(const Order *order, const void *image) {
  Folder folder;
  Result result = {0};
  Legacy legacy = {0};
  pid_t child;
  if (!folder_make(&folder, guard_temporary_folder())) {
    say(&result, "no folder for temporary files can be made");
    return reply(&result);
  }
  int in = start(order, image, folder.path, &child);
  if (in < 0) {
    say(&result, "no process for the compiler can be started");
    folder_remove(&folder);
    return reply(&result);
  }
  bool there = await(in, child, order, &result, &legacy);
  if (legacy.any) put_away(order, &result, &legacy);
  else there = there && reply(&result);
  close(in);
  end_order(child);
  folder_remove(&folder);
  return there;
}

/* ---- Orders ------------------------------------------------------------------------------------------------------ */
static bool receive(void *p, size_t n) { return recv(HOST, p, n, MSG_WAITALL) == (ssize_t)n; }

static bool receive_image(char *image, size_t n) {
  enum { PIECE = 1 << 20 };
  for (size_t part; n > 0; image += part, n -= part)
    if (!receive(image, part = n < PIECE ? n : PIECE)) return false;
  return true;
}

/* One order. False: the host is gone. */
static bool next_order(Order *order) {
  if (!receive(order, sizeof *order)) return false;
  char *image = malloc(order->size ? order->size : 1);
  bool ok = image && receive_image(image, order->size) && serve(order, image);
  free(image);
  return ok;
}

/* False: none came for so long (< 0: however long it takes), or none will. */
static bool wait_for_order(int ms) {
  struct pollfd host = {.fd = HOST, .events = POLLIN};
  char byte;
  int n;
  do n = poll(&host, 1, ms);
  while (n < 0 && errno == EINTR);
  return n > 0 && recv(HOST, &byte, 1, MSG_PEEK) == 1;
}

/* ---- The three processes ----------------------------------------------------------------------------------------- */
static int serve_host(void) {
  const char *why;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Guard *g = guard_enter(&why); /* loads libgccjit, while the first order is written */
  if (g) guard_leave(g);
  static Order order;
  while (wait_for_order(IDLE_MS) && next_order(&order)) {}
  return 0;
}

/* The starter as the host's child. A process that fails may have lost an order: the host has to know. */
static int serve_process_1(void) {
  while (wait_for_order(-1)) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      return serve_host();
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) return 1;
  }
  return 0;
}

static bool greet(void) {
  const char greeting = COMPILER_GREETING;
  return send(HOST, &greeting, 1, MSG_NOSIGNAL) == 1;
}

int main(int argc, char **argv) {
  if (argc < 2 || strtoull(argv[1], NULL, 16) != translate_version()) return COMPILER_OTHER_VERSION;
  close_range(3, ~0U, 0); /* what the host forgot to close */
  if (chdir("/") != 0) return 1;
  if (argc > 2 && strcmp(argv[2], COMPILER_STAY) == 0) return greet() ? serve_process_1() : 1;
  pid_t self = fork();
  if (self != 0) return self < 0;
  return greet() ? serve_host() : 1;
}
