/* SPDX-License-Identifier: MIT */
/* The VM's own machine stack.
 *
 * Machine code, the evaluator and the compiler all run on a stack that the VM
 * reserves itself, so deep recursion of a program depends neither on the host's
 * stack size nor on the thread that calls. The pages are reserved, not
 * committed; below them lies a guard page, and well above that the limit which
 * recursive code compares its stack pointer with.
 *
 * Switching to that stack and back takes a few instructions on the processors that
 * have them here. Others use ucontext, and so do sanitizers, which have to see the
 * switch. ucontext makes three system calls for signal masks, which take longer than a
 * short program runs. */
#include "api/machine_stack.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static const size_t ADDRESSABLE = SIZE_MAX / 2;
enum { MARGIN = 512 * 1024, SMALLEST = STACK_SMALLEST, KEPT = 1024 * 1024 };

/* The address sanitizer has to be told where the stack is. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define LEAVING(save, base, size) __sanitizer_start_switch_fiber((save), (base), (size))
#define ARRIVED(save, base, size) __sanitizer_finish_switch_fiber((save), (base), (size))
#else
#define LEAVING(save, base, size) ((void)(save), (void)(base), (void)(size))
#define ARRIVED(save, base, size) ((void)(save), (void)(base), (void)(size))
#endif

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define CALLS_ON_STACK 1
#else
#define CALLS_ON_STACK 0
#endif

struct VmStack {
  char *base; /* the guard page */
  size_t size;
  size_t page;
  bool running;
#if !CALLS_ON_STACK
  ucontext_t host, own;
  const void *host_base; /* known to the sanitizer only */
  size_t host_size;
  void (*fn)(void *arg);
  void *arg;
#endif
};

VmStack *stack_new(size_t size) {
  VmStack *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->page = (size_t)sysconf(_SC_PAGESIZE);
  if (size > ADDRESSABLE) size = ADDRESSABLE; /* more than any address space: halved until it fits */
  size = (size + s->page - 1) / s->page * s->page;
  if (size < SMALLEST) size = SMALLEST;
  for (; size >= SMALLEST; size = size / 2 / s->page * s->page) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) continue;
    s->base = p;
    s->size = size;
    if (mprotect(p, s->page, PROT_NONE) == 0) return s;
    break;
  }
  stack_free(s);
  return NULL;
}

void stack_free(VmStack *s) {
  if (!s) return;
  if (s->base) munmap(s->base, s->size);
  free(s);
}

char *stack_limit(const VmStack *s) { return s->base + s->page + MARGIN; }

#if CALLS_ON_STACK
/* fn(arg) with the stack pointer at `top`. Unwinding ends here: no exception of a callback passes through the VM. */
void atled_call_on_stack(char *top, void (*fn)(void *arg), void *arg) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".globl atled_call_on_stack\n"
        ".hidden atled_call_on_stack\n"
        ".type atled_call_on_stack, @function\n"
        "atled_call_on_stack:\n"
        "  .cfi_startproc\n"
        "  .cfi_undefined %rip\n"
        "  pushq %rbp\n"
        "  movq %rsp, %rbp\n"
        "  movq %rdi, %rsp\n"
        "  movq %rdx, %rdi\n"
        "  callq *%rsi\n"
        "  leave\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size atled_call_on_stack, . - atled_call_on_stack\n"
        ".popsection\n");

static void switch_to(VmStack *s, void (*fn)(void *arg), void *arg) { atled_call_on_stack(s->base + s->size, fn, arg); }
#else
/* makecontext hands on ints only: the pointer comes in two halves. */
static void trampoline(unsigned high, unsigned low) {
  VmStack *s = (VmStack *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low);
  ARRIVED(NULL, &s->host_base, &s->host_size);
  s->fn(s->arg);
  LEAVING(NULL, s->host_base, s->host_size);
}

static void switch_to(VmStack *s, void (*fn)(void *arg), void *arg) {
  s->fn = fn;
  s->arg = arg;
  getcontext(&s->own);
  s->own.uc_stack.ss_sp = s->base + s->page;
  s->own.uc_stack.ss_size = s->size - s->page;
  s->own.uc_link = &s->host;
  uintptr_t self = (uintptr_t)s;
  makecontext(&s->own, (void (*)(void))trampoline, 2, (unsigned)(self >> 16 >> 16), (unsigned)self);
  void *fake = NULL;
  LEAVING(&fake, s->own.uc_stack.ss_sp, s->own.uc_stack.ss_size);
  swapcontext(&s->host, &s->own);
  ARRIVED(fake, NULL, NULL);
}
#endif

void stack_run(VmStack *s, void (*fn)(void *arg), void *arg) {
  if (s->running) {
    fn(arg);
    return;
  }
  s->running = true;
  switch_to(s, fn, arg);
  s->running = false;
}

void stack_trim(VmStack *s) {
  if (!s->running && s->size > KEPT + s->page) madvise(s->base + s->page, s->size - s->page - KEPT, MADV_DONTNEED);
}
