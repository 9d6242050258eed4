/* SPDX-License-Identifier: MIT */
/* Hosts that were compiled with an older or newer atled.h: their structures are shorter or longer than the library's.
 *
 * A structure lies at the end of a block of its own size, with a byte beyond it that must stay, so that valgrind and
 * sanitizers see what goes too far, and so does the byte. */
#include "check.h"
#include <atled.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a, LONGER = 24 };

/* A block for a structure of so many bytes, filled with what no function leaves. */
static void *new_block(size_t size) {
  char *block = malloc(size + 1);
  if (block) memset(block, GUARD, size + 1);
  return block;
}

static bool guarded(const void *block, size_t size) { return ((const char *)block)[size] == GUARD; }

static bool is_zero(const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (bytes[i]) return false;
  return true;
}

/* What a function left in a block of `size` bytes is what it leaves in the library's own structure, cut or continued by
 * zeros. */
static bool same_start(const void *block, size_t size, const void *whole, size_t whole_size) {
  size_t both = size < whole_size ? size : whole_size;
  return guarded(block, size) && memcmp(block, whole, both) == 0 && is_zero((const char *)block + both, size - both);
}

/* ---- Configs ----------------------------------------------------------------------------------------------------- */
static void test_config_sizes(void) {
  for (size_t size = sizeof(size_t); size <= sizeof(AtledConfig) + LONGER; size++) {
    AtledConfig *config = new_block(size);
    atled_config_init_sized(config, size);
    CHECK(config->struct_size == size && guarded(config, size));
    AtledVM *vm = atled_new(config);
    CHECK(vm && guarded(config, size) && atled_eval(vm, "t", "1 + 1") == ATLED_OK);
    atled_free(vm);
    free(config);
  }
}

/* AtledConfig in a header in which memory_limit was the last field. */
typedef struct OldConfig {
  size_t struct_size;
  AtledAllocate allocate;
  size_t memory_limit;
} OldConfig;

static void test_old_config(void) {
  OldConfig *config = new_block(sizeof *config);
  AtledConfig *as_new = (AtledConfig *)(void *)config;
  atled_config_init_sized(as_new, sizeof *config);
  config->memory_limit = 40 << 20;
  AtledVM *vm = atled_new(as_new);
  free(config);
  CHECK(vm && atled_eval(vm, "t", "let a = [ float i | i < 1000000 ]") == ATLED_OK);
  CHECK(atled_eval(vm, "t", "let b = [ float i | i < 10000000 ]") == ATLED_NO_MEMORY);
  CHECK(atled_memory_used(vm) < 40 << 20);
  atled_free(vm);
}

/* The host of a later header: what it doesn't set is zero; what it sets can't be granted. */
static void test_new_config(void) {
  size_t size = sizeof(AtledConfig) + LONGER;
  char *block = new_block(size);
  AtledConfig *config = (AtledConfig *)(void *)block;
  atled_config_init_sized(config, size);
  AtledVM *vm = atled_new(config);
  CHECK(vm);
  atled_free(vm);
  for (size_t i = sizeof *config; i < size; i++) {
    block[i] = 1;
    CHECK(!atled_new(config));
    block[i] = 0;
  }
  free(block);
}

static void test_wrong_configs(void) {
  static const size_t wrong[] = {0, 1, sizeof(size_t) - 1, (1 << 16) + 1, SIZE_MAX};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    AtledConfig config;
    atled_config_init(&config);
    CHECK(config.struct_size == sizeof config);
    config.struct_size = wrong[k];
    CHECK(!atled_new(&config));
  }
}

/* ---- What the library fills -------------------------------------------------------------------------------------- */
static AtledVM *look_vm(void) {
  AtledConfig config;
  atled_config_init(&config);
  config.phases = true;
  AtledVM *vm = atled_new(&config);
  CHECK(vm && atled_eval(vm, "t", "# Doubles.\nlet twice x = x * 2.0\n[1.0, 2.0]") == ATLED_OK);
  return vm;
}

/* Each function, with a structure of `size` bytes. Strings are made anew in each call, so texts are compared. */
static void fill_all(AtledVM *vm, size_t size) {
  AtledPhase phase;
  AtledPass pass;
  AtledCache cache;
  void *block = new_block(size);
  CHECK(atled_phase(vm, 1, &phase) && atled_phase_sized(vm, 1, block, size));
  if (size <= offsetof(AtledPhase, elsewhere)) CHECK(same_start(block, size, &phase, sizeof phase));
  CHECK(guarded(block, size));
  CHECK(atled_pass(NULL, 0, &pass) && atled_pass_sized(NULL, 0, block, size));
  CHECK(guarded(block, size) && memcmp(block, pass.name, size < 5 ? size : 5) == 0);
  CHECK(atled_cache(vm, &cache) == ATLED_OK && atled_cache_sized(vm, block, size) == ATLED_OK && guarded(block, size));
  CHECK(atled_about_sized(vm, "twice", block, size) == ATLED_OK && guarded(block, size));
  if (size >= sizeof(AtledAbout)) CHECK_STR(((AtledAbout *)block)->doc, "Doubles.\n");
  if (size >= sizeof(AtledAbout)) CHECK(is_zero((char *)block + sizeof(AtledAbout), size - sizeof(AtledAbout)));
  CHECK(atled_about_sized(vm, "nobody", block, size) == ATLED_BAD_ARGUMENT && same_start(block, size, "", 0));
  free(block);
}

static void fill_results(AtledVM *vm, size_t size) {
  AtledResult *r = new_block(size);
  CHECK(atled_result_sized(vm, 1, r, size) && guarded(r, size));
  if (size >= sizeof *r) CHECK_STR(r->value, "[1.0, 2.0]");
  if (size >= sizeof *r) CHECK(is_zero((char *)(r + 1), size - sizeof *r));
  CHECK(atled_result_view_sized(vm, 1, NULL, 0, r, size) && guarded(r, size));
  free(r);
}

/* A view of whose fields the host knows only the first, or more than the library does. */
static void test_views(AtledVM *vm) {
  char block[sizeof(AtledView) + LONGER] = {0};
  AtledView *view = (AtledView *)(void *)block;
  AtledResult narrow, r;
  CHECK(atled_eval(vm, "t", "[ float i / 7.0 | i < 100 ]") == ATLED_OK);
  *view = (AtledView){.columns = 30, .lines = 5, .digits = 3};
  CHECK(atled_result_view(vm, 0, view, &narrow));
  CHECK(atled_result_view_sized(vm, 0, view, sizeof view->columns, &r, sizeof r) && strcmp(r.value, narrow.value) != 0);
  CHECK(atled_result_view_sized(vm, 0, view, sizeof block, &r, sizeof r));
  CHECK_STR(r.value, narrow.value);
  block[sizeof block - 1] = 1;
  CHECK(!atled_result_view_sized(vm, 0, view, sizeof block, &r, sizeof r));
}

int main(void) {
  test_config_sizes();
  test_old_config();
  test_new_config();
  test_wrong_configs();
  AtledVM *vm = look_vm();
  for (size_t size = 0; size <= sizeof(AtledPass) + LONGER; size++) fill_results(vm, size);
  for (size_t size = 0; size <= sizeof(AtledPass) + LONGER; size++) fill_all(vm, size);
  test_views(vm);
  atled_free(vm);
  CHECK(atled_version_number() == ATLED_VERSION_NUMBER);
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", ATLED_VERSION_MAJOR, ATLED_VERSION_MINOR, ATLED_VERSION_PATCH);
  CHECK_STR(atled_version(), text);
  return check_result();
}
