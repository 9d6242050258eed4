/* SPDX-License-Identifier: MIT */
/* Tests of the cache's folder alone, with files that hold anything: what is stored is found whole, what was used
 * longest ago goes first, its size stays within the limit also when eight processes fill it at once, what isn't the
 * cache's is left alone, and why a folder isn't used. */
#include "check.h"
#include "jit/toolchain/cache.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 10000, ON_DISK = 12288 /* with the trailer, in whole blocks */ };
static Heap heap;
static char folder[64];

static Cache cache_of(int entries) {
  Cache c;
  cache_init(&c, &heap, folder, (uint64_t)entries * ON_DISK);
  return c;
}

static void empty(void) {
  char command[200];
  snprintf(command, sizeof command, "rm -rf %s && mkdir -m 700 %s", folder, folder);
  CHECK(system(command) == 0);
}

/* A file of n bytes, all of them of one kind, under the key. */
static bool store(Cache *c, uint64_t key, size_t n) {
  static char bytes[1 << 20];
  char path[4096], file[4200];
  if (!cache_workplace(c, path, sizeof path)) return false;
  snprintf(file, sizeof file, "%s/%d", path, (int)getpid());
  FILE *f = fopen(file, "wb");
  if (!f) return false;
  memset(bytes, (int)key & 0xff, n);
  bool ok = fwrite(bytes, 1, n, f) == n;
  fclose(f);
  cache_store(c, key, file);
  unlink(file);
  return ok && !c->why[0];
}

static bool find(const Cache *c, uint64_t key) {
  char path[4096];
  return cache_find(c, key, path, sizeof path);
}

/* The entry was last used so many seconds ago. */
static void age(uint64_t key, int seconds) {
  char command[200];
  snprintf(command, sizeof command, "touch -d '%d seconds ago' %s/%016llx.so", seconds, folder,
           (unsigned long long)key);
  CHECK(system(command) == 0);
}

static void test_entries(void) {
  empty();
  Cache a = cache_of(100), b = cache_of(100);
  CHECK(!find(&a, 7) && store(&a, 7, BYTES) && find(&b, 7) && !find(&b, 8));
  CHECK(store(&b, 7, 1) && find(&a, 7) && cache_usage(&a).bytes == 33); /* in the place of the other */
  CHECK(store(&a, 0xfedcba9876543210, BYTES) && find(&b, 0xfedcba9876543210) && cache_usage(&b).entries == 2);
  cache_forget(&a, 7);
  cache_forget(&b, 7);
  CHECK(!find(&a, 7) && cache_usage(&a).entries == 1);
}

static void test_damage(void) {
  static const char *const ways[] = {"printf x | dd of=%s bs=1 seek=600 conv=notrunc status=none",
                                     "truncate -s 9000 %s", "truncate -s 0 %s", "echo >> %s", "chmod 777 %s"};
  for (int k = 0; k < 5; k++) {
    char path[100], command[300];
    empty();
    Cache c = cache_of(100);
    CHECK(store(&c, 7, BYTES) && find(&c, 7));
    snprintf(path, sizeof path, "%s/%016x.so", folder, 7);
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof command, ways[k], path);
    CHECK(system(command) == 0 && !find(&c, 7) && access(path, F_OK) != 0);
  }
}

static void test_limit(void) {
  empty();
  Cache c = cache_of(8);
  for (uint64_t k = 1; k <= 8; k++) {
    CHECK(store(&c, k, BYTES));
    age(k, (int)(100 - k));
  }
  CHECK(cache_usage(&c).entries == 8 && find(&c, 2)); /* which is a use */
  CHECK(store(&c, 9, BYTES));                         /* one too many: six are left */
  CHECK(find(&c, 2) && find(&c, 9) && !find(&c, 1) && !find(&c, 3) && !find(&c, 4) && find(&c, 5));
  CHECK(cache_usage(&c).entries == 6);
  CHECK(store(&c, 10, BYTES) && store(&c, 11, BYTES) && cache_usage(&c).entries == 8);
  CHECK(store(&c, 12, 7 * ON_DISK) && !find(&c, 12) && cache_usage(&c).entries == 8); /* too large to be kept */
  Cache less = cache_of(4);
  CHECK(store(&less, 13, BYTES) && cache_usage(&c).entries == 3 && find(&c, 13));
}

/* The count is lost: it is made again. */
static void test_lost_count(void) {
  char command[200];
  empty();
  Cache c = cache_of(8);
  snprintf(command, sizeof command, "rm %s/size", folder);
  for (uint64_t k = 1; k <= 30; k++) {
    CHECK(store(&c, k, BYTES) && cache_usage(&c).entries <= 8);
    if (k % 5 == 0) CHECK(system(command) == 0);
  }
}

/* Eight processes store, use and trim; whatever they find is whole, and nothing is an error. */
static void test_processes(void) {
  enum { PROCESSES = 8, ROUNDS = 200, KEYS = 40 };
  empty();
  pid_t pids[PROCESSES];
  for (int p = 0; p < PROCESSES; p++) {
    pids[p] = fork();
    if (pids[p]) continue;
    Cache c = cache_of(16);
    bool ok = true;
    for (int k = 0; k < ROUNDS && ok; k++) {
      uint64_t key = (uint64_t)(k * (p + 3)) % KEYS;
      if (!find(&c, key)) ok = store(&c, key, BYTES);
    }
    _exit(!ok);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status = -1;
    CHECK(waitpid(pids[p], &status, 0) == pids[p] && status == 0);
  }
  Cache c = cache_of(16);
  CHECK(cache_usage(&c).entries <= 16 + PROCESSES); /* those that were on their way while others trimmed */
  CHECK(store(&c, 1000, BYTES) && find(&c, 1000));
  for (int k = 0; k < 16; k++) CHECK(store(&c, 2000 + (uint64_t)k, BYTES));
  CHECK(cache_usage(&c).entries <= 16);
}

static void test_clear(void) {
  char command[400];
  empty();
  Cache c = cache_of(100);
  CHECK(store(&c, 7, BYTES) && store(&c, 8, BYTES));
  snprintf(command, sizeof command,
           "cd %s && echo x > mine.so && echo x > 7.so && ln -s /etc/hostname 00000000000000aa.so && "
           "mkdir 00000000000000ab.so && echo x > 00000000000000AC.so",
           folder);
  CHECK(system(command) == 0 && cache_usage(&c).entries == 2 && cache_usage(&c).bytes == 2 * (BYTES + 32));
  cache_clear(&c);
  CHECK(cache_usage(&c).entries == 0 && cache_usage(&c).oldest == 0 && !find(&c, 7));
  snprintf(command, sizeof command,
           "cd %s && test -e mine.so -a -e 7.so -a -h 00000000000000aa.so -a -d 00000000000000ab.so && "
           "test -e 00000000000000AC.so -a ! -e size",
           folder);
  CHECK(system(command) == 0);
  CHECK(store(&c, 9, BYTES) && cache_usage(&c).entries == 1);
}

static void test_refused(void) {
  Cache c;
  empty();
  CHECK(chmod(folder, 0755) == 0);
  c = cache_of(1);
  CHECK(!c.dir[0] && strstr(c.why, "others can get into") && strstr(c.why, folder) && !store(&c, 1, BYTES));
  CHECK(chmod(folder, 0700) == 0);
  cache_init(&c, &heap, "/proc/nowhere", 0);
  CHECK(!c.dir[0] && strstr(c.why, "can't be made: No such file"));
  cache_init(&c, &heap, "/etc/hostname", 0);
  CHECK(!c.dir[0] && strstr(c.why, "/etc/hostname isn't a folder"));
  cache_init(&c, &heap, "", 0);
  CHECK(!c.dir[0] && !c.why[0] && cache_usage(&c).entries == 0);
  cache_clear(&c);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  unsetenv("ATLED_CACHE");
  cache_init(&c, &heap, NULL, 0);
  CHECK(!c.dir[0] && strstr(c.why, "neither XDG_CACHE_HOME nor HOME"));
}

/* Removed while a process has it open: made again, unless others could have. */
static void test_removed(void) {
  empty();
  Cache c = cache_of(100);
  char command[200];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(store(&c, 1, BYTES) && system(command) == 0 && !find(&c, 1));
  CHECK(store(&c, 2, BYTES) && find(&c, 2) && system(command) == 0 && mkdir(folder, 0777) == 0);
  CHECK(chmod(folder, 0777) == 0 && !store(&c, 3, BYTES) && strstr(c.why, "others can get into") && !c.dir[0]);
}

int main(void) {
  heap_init(&heap);
  strcpy(folder, "/tmp/atled-test-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  test_entries();
  test_damage();
  test_limit();
  test_lost_count();
  test_processes();
  test_clear();
  test_refused();
  test_removed();
  empty();
  rmdir(folder);
  CHECK(heap.bytes == 0);
  return check_result();
}
