/* SPDX-License-Identifier: MIT */
/* Files that are imported again after they were edited: they are read again, also where the edited file is imported
 * by the one that is named. What used the old module goes on with it, errors in the new text leave the VM as it was,
 * and a file that didn't change runs once. Also: the same for files that are evaluated again. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/atled-modules-XXXXXX";
static char output[4096];

static void keep(void *user, const char *text, size_t n) {
  (void)user;
  size_t used = strlen(output);
  if (used + n < sizeof output) memcpy(output + used, text, n), output[used + n] = '\0';
}

static char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_text(const char *name, const char *text) {
  FILE *f = fopen(path_of(name), "w");
  CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static AtledVM *new_vm(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = ATLED_JIT_OFF;
  config.write = keep;
  return atled_new(&config);
}

/* The status of the source, as if it stood in the folder, and whether it printed the text. */
static bool gives(AtledVM *vm, const char *source, AtledStatus status, const char *printed) {
  char name[256];
  output[0] = '\0';
  snprintf(name, sizeof name, "%s/main.atl", folder);
  AtledStatus got = atled_eval(vm, name, source);
  bool good = got == status && !strcmp(output, printed);
  if (!good)
    fprintf(stderr, "%s: status %d, printed %s%s", source, (int)got, output, got ? atled_error(vm)->rendered : "");
  return good;
}

static void an_edited_file_is_read_again(void) {
  AtledVM *vm = new_vm();
  write_text("model.atl", "print \"read\"\nlet k = 2\nlet f x = x * k\n");
  CHECK(gives(vm, "import \"model.atl\" as M\nprint (M.f 10)", ATLED_OK, "read\n20\n"));
  CHECK(gives(vm, "import \"model.atl\" as M\nprint (M.f 10)", ATLED_OK, "20\n")); /* unchanged: it ran */
  CHECK(gives(vm, "let old x = M.f x", ATLED_OK, ""));
  write_text("model.atl", "print \"read\"\nlet k = 3\nlet f x = x * k\n"); /* as long, at once */
  CHECK(gives(vm, "print (M.f 10)", ATLED_OK, "20\n"));
  CHECK(gives(vm, "import \"model.atl\" as M\nprint (M.f 10, old 10)", ATLED_OK, "read\n(30, 20)\n"));
  CHECK(gives(vm, "import \"model.atl\" as N\nprint (N.f 10)", ATLED_OK, "30\n"));
  atled_free(vm);
}

static void an_edited_import_of_an_import_too(void) {
  AtledVM *vm = new_vm();
  write_text("base.atl", "let k = 2\n");
  write_text("middle.atl", "import \"base.atl\" as Base\nlet g x = x * Base.k\n");
  write_text("other.atl", "import \"base.atl\" as Base\nlet h x = x + Base.k\n");
  const char *both = "import \"middle.atl\" as M\nimport \"other.atl\" as O\nprint (M.g 10, O.h 10)";
  CHECK(gives(vm, both, ATLED_OK, "(20, 12)\n"));
  write_text("base.atl", "let k = 5\n");
  CHECK(gives(vm, both, ATLED_OK, "(50, 15)\n"));
  CHECK(gives(vm, both, ATLED_OK, "(50, 15)\n"));
  atled_free(vm);
}

static void errors_leave_the_old_one(void) {
  AtledVM *vm = new_vm();
  const char *use = "import \"model.atl\" as M\nprint M.k";
  write_text("model.atl", "let k = 2\n");
  CHECK(gives(vm, use, ATLED_OK, "2\n"));
  write_text("model.atl", "let k = \n");
  CHECK(gives(vm, use, ATLED_COMPILE_ERROR, ""));
  CHECK(gives(vm, "print M.k", ATLED_OK, "2\n"));
  write_text("model.atl", "let k = [1][3]\n");
  CHECK(gives(vm, use, ATLED_RUNTIME_ERROR, ""));
  write_text("model.atl", "let k = 4\n");
  CHECK(gives(vm, use, ATLED_OK, "4\n"));
  CHECK(unlink(path_of("model.atl")) == 0);
  CHECK(gives(vm, use, ATLED_COMPILE_ERROR, ""));
  CHECK(strstr(atled_error(vm)->message, "can't read"));
  CHECK(gives(vm, "print M.k", ATLED_OK, "4\n"));
  atled_free(vm);
}

static void a_file_evaluated_again_sees_edits(void) {
  AtledVM *vm = new_vm();
  write_text("model.atl", "let k = 2\n");
  write_text("main.atl", "import \"model.atl\" as M\nprint M.k\n");
  output[0] = '\0';
  CHECK(atled_eval_file(vm, path_of("main.atl")) == ATLED_OK);
  write_text("model.atl", "let k = 3\n");
  CHECK(atled_eval_file(vm, path_of("main.atl")) == ATLED_OK);
  CHECK(!strcmp(output, "2\n3\n"));
  atled_free(vm);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  an_edited_file_is_read_again();
  an_edited_import_of_an_import_too();
  errors_leave_the_old_one();
  a_file_evaluated_again_sees_edits();
  const char *const names[] = {"model.atl", "base.atl", "middle.atl", "other.atl", "main.atl"};
  for (int i = 0; i < 5; i++) unlink(path_of(names[i]));
  rmdir(folder);
  return check_result();
}
