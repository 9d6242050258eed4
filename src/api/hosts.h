/* SPDX-License-Identifier: MIT */
/* Functions of the host's: hosts.c defines them, host_calls.c calls them. */
#ifndef ATLED_HOSTS_H
#define ATLED_HOSTS_H
#include "api/vm.h"

/* Lives as long as the VM's definitions. */
struct HostFunction {
  RtHost run; /* first */
  const char *name;
  AtledCallback call;
  void *user;
  int nargs;
  const Desc **params; /* nargs */
  const Desc *result;
  bool pure, thread_safe;
  bool rule; /* it gives a derivative, in which a unit may stand for what has none */
};

Status host_call(const RtHost *h, Rt *rt, const Slot *args, Slot *res, uint32_t site); /* RtHost.call */
#endif
