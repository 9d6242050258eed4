/* SPDX-License-Identifier: MIT */
/* What the environment's variables set, for hosts that don't say otherwise, and for people who look inside.
 *
 * One that makes no sense is ignored, which is said once for each VM, when it runs something. A new variable is a row
 * of the table, and who needs its value asks setting(). */
#define _GNU_SOURCE
#include "api/settings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What makes sense -------------------------------------------------------------------------------------------- */
static const char *const modes[] = {[ATLED_JIT_AUTO] = "auto", [ATLED_JIT_OFF] = "off", [ATLED_JIT_ALWAYS] = "always"};
enum { MODES = sizeof modes / sizeof *modes };

/* The mode's number, or MODES. */
static int mode_of(const char *text) {
  int k = 0;
  while (k < MODES && strcmp(text, modes[k]) != 0) k++;
  return k;
}

static bool is_mode(const char *text) { return mode_of(text) < MODES; }
static bool is_switch(const char *text) { return strcmp(text, "0") == 0 || strcmp(text, "1") == 0; }
static bool is_on_or_off(const char *text) { return strcmp(text, "on") == 0 || strcmp(text, "off") == 0; }
static bool is_level(const char *text) { return *text >= '0' && *text <= '3' && !text[1]; }

static bool is_program(const char *text) { return access(text, X_OK) == 0; }

static bool is_folder(const char *text) {
  struct stat st;
  return stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Bytes, of a number that K, M or G may follow; -1 where it is none. */
static int64_t size_of(const char *text) {
  static const char units[] = "KMG";
  int64_t n = 0;
  if (*text < '0' || *text > '9') return -1;
  for (; *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *text - '0', &n)) return -1;
  const char *unit = *text ? strchr(units, *text) : NULL;
  for (const char *u = units; unit && u <= unit; u++)
    if (__builtin_mul_overflow(n, 1024, &n)) return -1;
  return *text && (!unit || text[1]) ? -1 : n;
}

static bool is_size(const char *text) { return size_of(text) >= 0; }

/* The number of threads that the text says; -1: as many as there are processors; 0: it makes no sense. */
static int threads_in(const char *text) {
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  if (!strcmp(text, "auto")) return -1;
  return *text >= '0' && *text <= '9' && !*end && !errno && n <= 1000000000 ? (int)n : 0;
}

static bool is_count(const char *text) { return threads_in(text) != 0; }
static bool is_passes(const char *text) { return passes_read(text, NULL); }

static const struct {
  const char *name;
  bool (*good)(const char *text);
  const char *wanted;
} settings[] = {
    {"ATLED_JIT", is_mode, "auto, off or always"},
    {"ATLED_STRICT_FP", is_switch, "0 or 1"},
    {"ATLED_OPT", is_level, "0, 1, 2 or 3"},
    {"ATLED_LANES", is_on_or_off, "on or off"},
    {"ATLED_CACHE_SIZE", is_size, "a number of bytes, as in 100M or 2G"},
    {"ATLED_DUMP_JIT", is_folder, "a folder"},
    {"ATLED_COMPILER", is_program, "the program atled-compiler"},
    {"ATLED_COIN", is_size, "a number"},
    {"ATLED_PASSES", is_passes, "-PASS or stop=N, with commas between"},
    {"ATLED_RULES", is_on_or_off, "on or off"},
    {"ATLED_STEAL", is_size, "a number"},
    {"ATLED_THREADS", is_count, "a number from 1 to 1000000000, or auto"},
};
enum { CONFIG_BYTES = 1 << 16 }; /* bytes: a size beyond it is none that atled_config_init has set */
enum { SETTINGS = sizeof settings / sizeof *settings };

/* The variable's value; NULL where it isn't set, is empty, or makes no sense (*bad). */
static const char *value_of(int row, bool *bad) {
  const char *text = secure_getenv(settings[row].name);
  if (!text || !*text) return NULL;
  *bad = !settings[row].good(text);
  return *bad ? NULL : text;
}

static const char *setting(const char *name) {
  bool bad;
  int row = 0;
  while (strcmp(settings[row].name, name) != 0) row++;
  return value_of(row, &bad);
}

void settings_check(AtledVM *vm) {
  if (vm->checked_settings) return;
  vm->checked_settings = true;
  for (int row = 0; row < SETTINGS; row++) {
    bool bad = false;
    if (value_of(row, &bad) || !bad) continue;
    report_warning(vm, "setting", "the environment variable %s is `%s`, which is ignored: it should be %s",
                   settings[row].name, secure_getenv(settings[row].name), settings[row].wanted);
  }
}

/* ---- What they set ----------------------------------------------------------------------------------------------- */
static AtledConfig defaults(void) {
  AtledConfig config = {.struct_size = sizeof config, .rights = ATLED_RIGHTS_ALL};
  const char *jit = setting("ATLED_JIT"), *strict = setting("ATLED_STRICT_FP");
  const char *size = setting("ATLED_CACHE_SIZE");
  if (jit) config.jit = (AtledJit)mode_of(jit);
  config.strict = strict && *strict == '1';
  if (size) config.cache_size = size_of(size) ? size_of(size) : -1;
  return config;
}

void atled_config_init_sized(AtledConfig *config, size_t size) {
  AtledConfig own = defaults();
  own.struct_size = size;
  if (config) struct_give(config, size, &own, sizeof own);
}

/* A host whose `allocate` is called by its own thread alone may have written it for that. */
static int threads_unasked(const AtledConfig *config) {
  const char *threads = setting("ATLED_THREADS");
  return threads && !config->allocate ? threads_in(threads) : 0;
}

bool settings_config(AtledConfig *own, const AtledConfig *host) {
  *own = defaults();
  bool initialised = !host || (host->struct_size >= sizeof host->struct_size && host->struct_size <= CONFIG_BYTES);
  if (!initialised || (host && !struct_take(own, sizeof *own, host, host->struct_size))) return false;
  if (!own->threads) own->threads = threads_unasked(own);
  if (own->cpu < 2 || own->cpu > 4) own->cpu = 0;
  if (jit_cpu(0) < own->cpu) own->jit = ATLED_JIT_OFF;
  if ((unsigned)own->trap > ATLED_TRAP_INFINITY) own->trap = ATLED_TRAP_NOTHING;
  if (own->strict) own->flush_subnormals = false;
  return true;
}

/* A host whose structure ends before `rights` would get all of them in atled_new. */
void atled_sandbox_init_sized(AtledConfig *config, size_t size) {
  AtledConfig own = defaults();
  own.struct_size = size < offsetof(AtledConfig, cache_folder) + sizeof own.cache_folder ? 0 : size;
  own.rights = 0;
  own.memory_limit = (size_t)LIMIT_SANDBOX_MEMORY;
  own.stack_size = (size_t)LIMIT_SANDBOX_STACK;
  own.time_limit = LIMIT_SANDBOX_SECONDS;
  own.jit_memory = (size_t)LIMIT_SANDBOX_COMPILER_MEMORY;
  own.jit_time = LIMIT_SANDBOX_COMPILER_SECONDS;
  own.nesting_limit = LIMIT_SANDBOX_NESTING;
  own.compile_time = LIMIT_SANDBOX_FRONT_SECONDS;
  if (config) struct_give(config, size, &own, sizeof own);
}

static bool has_all_rights(const AtledVM *vm) { return (vm->config.rights & RIGHTS_ALL) == RIGHTS_ALL; }

JitOptions settings_jit(AtledVM *vm) {
  const AtledConfig *c = &vm->config;
  const char *level = setting("ATLED_OPT");
  JitOptions options = jit_default_options();
  options.strict = c->strict;
  options.cpu = c->cpu;
  options.in_process = c->jit_in_process;
  options.never_here = !has_all_rights(vm) && !c->jit_in_process;
  options.memory = c->jit_memory ? c->jit_memory : (size_t)LIMIT_COMPILER_MEMORY;
  options.seconds = c->jit_time > 0 ? c->jit_time : LIMIT_COMPILER_SECONDS;
  options.stop = alarm_while_compiling;
  options.user = vm;
  options.dump_dir = setting("ATLED_DUMP_JIT");
  options.cache_dir = settings_cache_folder(vm);
  options.cache_limit = settings_cache_limit(vm);
  const char *lanes = setting("ATLED_LANES");
  options.no_lanes = lanes && strcmp(lanes, "off") == 0;
  if (level) options.opt_level = *level - '0';
  return options;
}

bool settings_passes(PassWatch *watch) {
  const char *passes = setting("ATLED_PASSES");
  return passes && passes_read(passes, watch);
}

bool settings_rules(void) {
  const char *rules = setting("ATLED_RULES");
  return !rules || strcmp(rules, "off") != 0;
}

int64_t settings_coin(void) {
  const char *coin = setting("ATLED_COIN");
  return coin ? size_of(coin) : -1;
}

uint64_t settings_steal(void) {
  const char *steal = setting("ATLED_STEAL");
  return steal ? 2 * (uint64_t)size_of(steal) + 1 : 0;
}

/* A program without all rights shares no folder with others unless the host names it: what is in it gets executed, and
 * that it is there tells what others have compiled. */
const char *settings_cache_folder(const AtledVM *vm) {
  if (vm->config.cache_size < 0) return "";
  if (vm->config.cache_folder) return vm->config.cache_folder;
  return has_all_rights(vm) ? NULL : "";
}

uint64_t settings_cache_limit(const AtledVM *vm) {
  return vm->config.cache_size > 0 ? (uint64_t)vm->config.cache_size : 0;
}
