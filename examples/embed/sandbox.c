/* SPDX-License-Identifier: MIT */
/* A C program that runs programs which it doesn't trust: no files but those of one folder, limits of time, memory and
 * output, and modules that the host gives.
 *
 *   cc sandbox.c $(pkg-config --cflags --libs atled) && ./a.out */
#include <atled.h>
#include <stdio.h>
#include <string.h>

static size_t left = 10000; /* bytes of output that are still taken */

static bool take_output(void *user, AtledStream stream, const char *text, size_t length) {
  (void)user;
  if (length > left) return false;
  left -= length;
  return fwrite(text, 1, length, stream == ATLED_ERRORS ? stderr : stdout) == length;
}

static const char *find_module(void *user, const char *name, size_t *length) {
  static const char shapes[] = "let area r = 3.0 * r * r";
  (void)user;
  if (strcmp(name, "shapes.atl") != 0) return NULL;
  *length = strlen(shapes);
  return shapes;
}

static void run(AtledVM *vm, const char *source) {
  AtledStatus status = atled_eval(vm, "guest.atl", source);
  if (status != ATLED_OK) printf("refused (%s): %s\n", atled_error(vm)->kind, atled_error(vm)->message);
}

int main(void) {
  const AtledFolder folders[] = {{"/usr/share", ATLED_RIGHT_READ}};
  AtledConfig config;
  atled_sandbox_init(&config); /* no rights, and limits */
  config.jit = ATLED_JIT_OFF;
  config.memory_limit = (size_t)64 << 20;
  config.time_limit = 1.0;
  config.output = take_output;
  config.module = find_module;
  config.folders = folders;
  config.nfolders = 1;
  AtledVM *vm = atled_new(&config);
  if (!vm) return 1;
  run(vm, "import \"shapes.atl\" as Shapes\nprint (grad Shapes.area 2.0)");
  run(vm, "print (read_file \"/usr/share/../../etc/passwd\")");
  run(vm, "write_file \"/usr/share/x\" \"\"");
  run(vm, "foreign \"c\" system : string -> int\nprint (system \"id\")");
  run(vm, "while true do () done");
  run(vm, "print (sort [ i | i < 1000000000 ])");
  run(vm, "while true do print \"again\" done");
  atled_free(vm);
  return 0;
}
