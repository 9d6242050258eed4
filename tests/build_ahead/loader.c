/* Loads two libraries, calls them in several threads, and unloads them, again and again: what they took is given back.
 *
 * usage: loader FIRST.so SECOND.so; both have NAME_weigh and NAME_last_error */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef int (*Weigh)(const double *x, size_t n, double *result);
typedef const char *(*LastError)(void);
typedef struct Library {
  void *dl;
  Weigh weigh;
  LastError last_error;
} Library;

static int load(Library *l, const char *path, const char *name) {
  char symbol[64];
  l->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!l->dl) return printf("%s\n", dlerror());
  snprintf(symbol, sizeof symbol, "%s_weigh", name);
  *(void **)&l->weigh = dlsym(l->dl, symbol);
  snprintf(symbol, sizeof symbol, "%s_last_error", name);
  *(void **)&l->last_error = dlsym(l->dl, symbol);
  return !l->weigh || !l->last_error;
}

/* Errors of one library aren't the other's. */
static void *work(void *libraries) {
  const Library *l = libraries;
  double x[] = {1, 2, 3, 4}, y[2];
  for (int i = 0; i < 20; i++) {
    if (l[0].weigh(x, 3, &y[0]) || l[1].weigh(x, 3, &y[1]) || y[0] != 9.5 || y[1] != 9.5) return "a value";
    if (l[0].weigh(x, 4, &y[0]) != 3 || l[1].last_error()[0]) return "an error";
    if (!strstr(l[0].last_error(), "index 3 is out of bounds")) return "a message";
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  for (int round = 0; round < 5; round++) {
    Library l[2];
    pthread_t threads[3];
    if (load(&l[0], argv[1], "first") || load(&l[1], argv[2], "second")) return 1;
    for (int k = 0; k < 3; k++) pthread_create(&threads[k], NULL, work, l);
    const char *wrong = work(l);
    for (int k = 0; k < 3; k++) {
      void *also;
      pthread_join(threads[k], &also);
      if (also) wrong = also;
    }
    if (wrong) return printf("%s is wrong\n", wrong);
    dlclose(l[0].dl);
    dlclose(l[1].dl);
  }
  puts("passed");
  return 0;
}
