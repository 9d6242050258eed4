/* SPDX-License-Identifier: MIT */
/* Modules as blocks of bytes that can be kept, sent to another process and read there. See image.c. */
#ifndef ATLED_IMAGE_H
#define ATLED_IMAGE_H
#include "lir/lir.h"

/* Appends the module's image. Equal modules have equal images, but for the numbers of their globals. */
void image_write(const LModule *m, Str *out);
/* The module of an image, in memory of its own: one block, which holds a copy of the image too. The descriptors are a
 * graph of its own (rt_desc finds the VM's). NULL and *why (a literal) if the bytes are no whole image, or memory is
 * gone: then *why is NULL. What has no image can't be reached from it: every index is within bounds; whether the code
 * is sound lir_verify can tell. */
LModule *image_load(Heap *heap, const void *bytes, size_t n, const char **why);
uint64_t image_hash(const void *image);  /* of everything that machine code depends on */
void image_free(Heap *heap, LModule *m); /* NULL is allowed */
#endif
