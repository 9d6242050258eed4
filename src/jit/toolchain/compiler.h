/* SPDX-License-Identifier: MIT */
/* The compiler's process: the program atled-compiler, which gets orders with images of modules through a socket and
 * makes shared objects of them. This is the side of the host; compiler/main.c is the other one. */
#ifndef ATLED_COMPILER_H
#define ATLED_COMPILER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEXT_SIZE = 512, FILE_NAME_SIZE = 4096, COMPILER_OTHER_VERSION = 2 /* its status */, COMPILER_PROTOCOL = 4 };

/* What is to be compiled, and how. */
typedef struct Order {
  uint64_t size;   /* of the image, which follows */
  uint64_t key;    /* of the module: names of files for people */
  uint64_t memory; /* bytes of address space that the compiler may have; 0: no limit */
  double seconds;  /* that it may take; 0: no limit */
  int32_t opt_level;
  int32_t cpu; /* the x86-64 level that the code is for */
  bool strict;
  bool lanes; /* loops may run several iterations at once */
  /* Of code that is built ahead of time: what its exported names begin with; `so` is the object file then, which isn't
   * linked yet. Empty: code for a VM */
  char prefix[16];
  bool background;         /* somebody works meanwhile */
  char so[FILE_NAME_SIZE]; /* the shared object; an absolute path */
  /* where it is put if the host is gone by then; empty: nowhere */
  char cache_dir[3072];
  uint64_t cache_limit;
  char dump_dir[1024]; /* for people; empty: none */
} Order;
/* What compiles took of the machine, in a process of their own. */
typedef struct Usage {
  double seconds;  /* of CPU time, with assembler and linker */
  uint64_t memory; /* the most at once, in bytes */
  int64_t orders;
} Usage;
typedef struct Result {
  bool ok;
  bool no_memory;
  bool missing; /* what compiling needs isn't there: it is of no use to try again */
  Usage used;   /* zero where the compiler was ended */
  char why[TEXT_SIZE];
} Result;

typedef struct Compiler {
  uint64_t version; /* of orders: the program must be of the same */
  int socket;       /* + 1; 0: no process */
  Usage used;       /* by all orders */
  /* its start */
  double since;  /* monotonic seconds */
  pid_t starter; /* the host's child, to be reaped; 0: it has been */
  int status;    /* that it ended with; -1: it hasn't, or nobody knows */
  bool stays;    /* it ends with the process, as the host's child */
  bool greeted;  /* the process is there */
  /* the order that is under way */
  const Order *order;
  const void *image;
  size_t sent, got; /* bytes of order and image, and of the result */
  Result result;
  bool again; /* the process may have been gone before */
} Compiler;
typedef enum CompilerEnd {
  COMPILER_REPLIED, /* the result is there */
  COMPILER_WORKING, /* not yet */
  COMPILER_LOST,    /* the process ended in the middle */
  COMPILER_STOPPED, /* the waiting: stop said so */
  COMPILER_REFUSED, /* no process can be started, or the program isn't the compiler's */
  COMPILER_NONE     /* there is no such program, or only of another version */
} CompilerEnd;

/* Has the order carried out. Starts the process if there is none (left); it stays for the next order, and ends by
 * itself when none comes, or at the latest with this process. Nothing of it is seen by a host that waits for its
 * children, or has handlers for signals. Order and image stay where they are until the answer is another one than
 * COMPILER_WORKING, which it also is when the order has begun. */
CompilerEnd compiler_begin(Compiler *c, const Order *order, const void *image);
/* How far it is. */
CompilerEnd compiler_look(Compiler *c, Result *result);
/* Waits for its end; stop(user) is asked again and again, and ends the waiting: the process goes on. */
CompilerEnd compiler_wait(Compiler *c, Result *result, bool (*stop)(void *user), void *user);
/* The image isn't needed any more, though the process is still at it; false if it is. */
bool compiler_leave(Compiler *c);
/* The path of a file that lies beside the program atled-compiler. False: there is none. */
bool compiler_find_beside(const char *name, char *path, size_t n);
void compiler_add_usage(Usage *all, const Usage *more);
/* Knows of no process any more: of a child's copy, whose process is the parent's. */
void compiler_forget(Compiler *c);
/* Lets the process end. With `finish` it still does what it was asked for without waiting, and then has the folder of
 * the object: true if it has been told so. */
bool compiler_stop(Compiler *c, bool finish);
enum { COMPILER_FAREWELL = 'f' }; /* the byte that says so */
enum { COMPILER_GREETING = 'g' }; /* the one that the process sends first */
#define COMPILER_STAY "stay"      /* the program's second argument, for a child of the host that stays */
#endif
