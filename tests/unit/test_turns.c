/* SPDX-License-Identifier: MIT */
/* Tests of who makes an entry of the cache: one process at a time, the next when that dies, and nobody waits for longer
 * than it wants to. */
#include "check.h"
#include "jit/toolchain/turns.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static Heap heap;
static char folder[64];
static Cache cache;

static bool never(void *user) {
  (void)user;
  return false;
}

static bool soon(void *looks) { return ++*(int *)looks == 3; }

static bool store(uint64_t key) {
  char path[4096], file[4200];
  if (!cache_workplace(&cache, path, sizeof path)) return false;
  snprintf(file, sizeof file, "%s/%d", path, (int)getpid());
  FILE *f = fopen(file, "wb");
  if (!f) return false;
  fputs("an object", f);
  fclose(f);
  cache_store(&cache, key, file);
  return !cache.why[0];
}

/* A process that has the turn, and writes a byte once it does. */
static pid_t holder(uint64_t key, int out) {
  pid_t p = fork();
  if (p) return p;
  Folder claim;
  if (turn_take(&cache, key, &claim, 0, never, NULL) != TURN_MINE || write(out, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

static void test_one(void) {
  Folder a, b;
  CHECK(turn_take(&cache, 1, &a, 0, never, NULL) == TURN_MINE);
  CHECK(turn_take(&cache, 1, &b, 0, never, NULL) == TURN_TAKEN); /* threads of one process too */
  CHECK(turn_take(&cache, 1, &b, 0.05, never, NULL) == TURN_TAKEN);
  int looks = 0;
  CHECK(turn_take(&cache, 1, &b, 1000, soon, &looks) == TURN_STOPPED && looks == 3);
  CHECK(turn_take(&cache, 2, &b, 0, never, NULL) == TURN_MINE);
  turn_end(&b);
  turn_end(&a);
  CHECK(turn_take(&cache, 1, &b, 0, never, NULL) == TURN_MINE && store(1));
  CHECK(turn_take(&cache, 1, &a, 0, never, NULL) == TURN_THERE);
  turn_end(&b);
  CHECK(turn_take(&cache, 1, &a, 0, never, NULL) == TURN_THERE);
  Cache none = {.heap = &heap};
  CHECK(turn_take(&none, 1, &a, 0, never, NULL) == TURN_MINE);
  turn_end(&a);
}

static void test_death(void) {
  int ends[2], status;
  char byte;
  Folder claim;
  CHECK(pipe(ends) == 0);
  pid_t p = holder(3, ends[1]);
  CHECK(read(ends[0], &byte, 1) == 1 && turn_take(&cache, 3, &claim, 0, never, NULL) == TURN_TAKEN);
  CHECK(kill(p, SIGKILL) == 0 && waitpid(p, &status, 0) == p);
  CHECK(turn_take(&cache, 3, &claim, 0, never, NULL) == TURN_MINE);
  turn_end(&claim);
  p = holder(4, ends[1]);
  CHECK(read(ends[0], &byte, 1) == 1 && kill(p, SIGKILL) == 0 && waitpid(p, &status, 0) == p);
  char path[4096], command[4200];
  CHECK(cache_workplace(&cache, path, sizeof path));
  folder_sweep(path);
  snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", path);
  CHECK(system(command) == 0);
}

/* Many want the same three entries; each is made once. */
static void test_many(void) {
  enum { PROCESSES = 40, KEYS = 3 };
  int ends[2], made[KEYS] = {0};
  char byte;
  CHECK(pipe(ends) == 0);
  for (int p = 0; p < PROCESSES; p++) {
    if (fork()) continue;
    bool ok = true;
    for (int k = 0; k < KEYS && ok; k++) {
      Folder claim;
      uint64_t key = 100 + (uint64_t)((p + k) % KEYS);
      Turn turn = turn_take(&cache, key, &claim, 60, never, NULL);
      ok = turn == TURN_THERE || turn == TURN_MINE;
      if (turn != TURN_MINE) continue;
      usleep(20000);
      byte = (char)(key - 100);
      ok = store(key) && write(ends[1], &byte, 1) == 1;
      turn_end(&claim);
    }
    _exit(!ok);
  }
  close(ends[1]);
  for (int p = 0, status; p < PROCESSES; p++) CHECK(wait(&status) > 0 && status == 0);
  while (read(ends[0], &byte, 1) == 1) made[(int)byte]++;
  CHECK(made[0] == 1 && made[1] == 1 && made[2] == 1);
}

int main(void) {
  char command[100];
  heap_init(&heap);
  strcpy(folder, "/tmp/atled-test-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  cache_init(&cache, &heap, folder, 0);
  test_one();
  test_death();
  test_many();
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
  return check_result();
}
