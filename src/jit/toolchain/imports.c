/* SPDX-License-Identifier: MIT */
/* Replaces imported functions of a loaded ELF object, by writing other addresses into its slots.
 *
 * An object reaches each function that it imports through a slot, which the loader has filled with the function's
 * address. The object's relocations say which function a slot belongs to: those of kind GLOB_DAT (the address is
 * taken) and JUMP_SLOT (the function is called). */
#define _GNU_SOURCE
#include "jit/toolchain/imports.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __x86_64__
enum { KNOWN = 1, ADDRESS_SLOT = R_X86_64_GLOB_DAT, CALL_SLOT = R_X86_64_JUMP_SLOT };
#elif defined __aarch64__
enum { KNOWN = 1, ADDRESS_SLOT = R_AARCH64_GLOB_DAT, CALL_SLOT = R_AARCH64_JUMP_SLOT };
#else
enum { KNOWN = 0, ADDRESS_SLOT = 0, CALL_SLOT = 0 };
#endif

/* The parts of the dynamic section that matter. */
typedef struct Tables {
  const char *strings;
  const Elf64_Sym *symbols;
  const Elf64_Rela *relocations[2]; /* of data, of calls */
  size_t sizes[2];                  /* in bytes */
} Tables;

/* Some loaders leave the section as it is in the file: relative to where the object was loaded. */
static const void *address(const struct link_map *object, const Elf64_Dyn *entry) {
  uintptr_t value = (uintptr_t)entry->d_un.d_ptr;
  return (const void *)(value < object->l_addr ? value + object->l_addr : value);
}

static Tables find_tables(const struct link_map *object) {
  Tables t = {0};
  for (const Elf64_Dyn *d = object->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_STRTAB) t.strings = address(object, d);
    if (d->d_tag == DT_SYMTAB) t.symbols = address(object, d);
    if (d->d_tag == DT_RELA) t.relocations[0] = address(object, d);
    if (d->d_tag == DT_RELASZ) t.sizes[0] = d->d_un.d_val;
    if (d->d_tag == DT_JMPREL) t.relocations[1] = address(object, d);
    if (d->d_tag == DT_PLTRELSZ) t.sizes[1] = d->d_un.d_val;
  }
  return t;
}

static const Import *find_row(const Import *rows, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

/* The loader may have made the slot read-only. */
static bool set_slot(void *slot, void *value) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)slot & ~(page - 1);
  if (mprotect((void *)start, page, PROT_READ | PROT_WRITE) != 0) return false;
  memcpy(slot, &value, sizeof value);
  return true;
}

bool imports_redirect(void *handle, const Import *rows, size_t n) {
  struct link_map *object;
  if (!KNOWN || dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) return false;
  Tables t = find_tables(object);
  if (!t.strings || !t.symbols) return false;
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < t.sizes[k] / sizeof(Elf64_Rela); i++) {
      const Elf64_Rela *r = &t.relocations[k][i];
      if (ELF64_R_TYPE(r->r_info) != ADDRESS_SLOT && ELF64_R_TYPE(r->r_info) != CALL_SLOT) continue;
      const Import *row = find_row(rows, n, t.strings + t.symbols[ELF64_R_SYM(r->r_info)].st_name);
      if (row && !set_slot((char *)object->l_addr + r->r_offset, row->instead)) return false;
    }
  }
  return true;
}
