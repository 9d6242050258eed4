/* SPDX-License-Identifier: MIT */
/* A VM for a test: as atled_config_init makes it, but for the mode. */
#ifndef ATLED_TEST_NEW_VM_H
#define ATLED_TEST_NEW_VM_H
#include "check.h"
#include <atled.h>

static inline AtledVM *new_vm(AtledJit jit) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  AtledVM *vm = atled_new(&config);
  CHECK(vm != NULL);
  return vm;
}
#endif
