/* SPDX-License-Identifier: MIT */
/* What the program may do: from the host's AtledConfig to the checker, which reports a use of what isn't granted at its
 * place, and to the runtime, which refuses the call however it came about. Neither changes while the VM lives. */
#include "api/vm.h"
#include "runtime/places.h"
#include <stdlib.h>
#include <string.h>

#define RIGHT(NAME, bit, does, option)                                                                                 \
  _Static_assert((int)ATLED_RIGHT_##NAME == (int)RIGHT_##NAME, "atled.h has the bits of rights.def");
#include "support/rights.def"
#undef RIGHT
_Static_assert((int)ATLED_RIGHTS_ALL == (int)RIGHTS_ALL, "all rights of rights.def");

static unsigned needed_by(const char *primitive) {
  const RtPrim *p = ir_rt_find(primitive);
  return p ? p->right : RIGHT_NONE;
}

enum { FOLDER_RIGHTS = RIGHT_READ | RIGHT_WRITE | RIGHT_IMPORT };

/* The folder is named from the working directory of this moment. False: its path is too long. */
static bool add_folder(AtledVM *vm, const AtledFolder *given, RtFolder *out) {
  char path[PATH_MAX], real[PATH_MAX];
  if (!place_absolute(given->path, path)) return false;
  const char *name = arena_strndup(&vm->arena, path, strlen(path));
  const char *other = realpath(path, real) ? arena_strndup(&vm->arena, real, strlen(real)) : name;
  *out = (RtFolder){name, other, given->rights & FOLDER_RIGHTS};
  return true;
}

void rights_begin(AtledVM *vm) {
  const AtledConfig *config = &vm->config;
  int n = config->folders && config->nfolders > 0 ? config->nfolders : 0;
  RtFolder *folders = NEW_ARRAY(&vm->arena, RtFolder, n + 1);
  vm->rt.rights = config->rights & RIGHTS_ALL;
  for (int i = 0; i < n; i++)
    if (config->folders[i].path && add_folder(vm, &config->folders[i], &folders[vm->rt.nfolders])) vm->rt.nfolders++;
  vm->rt.folders = folders;
  checker_set_rights(vm->checker, (RightsGiven){rt_rights(&vm->rt), needed_by});
}
