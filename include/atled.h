/* SPDX-License-Identifier: MIT */
/* Atled: a small ML whose gradients are compiled natively. The public C API.
 *
 * A host makes a VM, evaluates source in it, looks functions up by an expression
 * and a type, and calls them:
 *
 *   AtledVM *vm = atled_new(NULL);
 *   AtledFunction *df;
 *   if (atled_eval(vm, "model", "let f x = sin x * x") == ATLED_OK &&
 *       atled_get(vm, "grad f", "float -> float", &df) == ATLED_OK) {
 *     double x = 0.5, slope;
 *     atled_call_double(df, &x, 1, &slope);
 *     atled_release(df);
 *   }
 *   atled_free(vm);
 *
 * Errors are values: a call returns a status, and atled_error says what happened.
 * Nothing here prints, exits, aborts or jumps; after an error the VM goes on, with
 * all earlier definitions intact.
 *
 * Contracts. The comment of each function ends with its kind, from which follows what the comment doesn't say:
 *
 *   [call]    Works in the VM. Threads: one at a time. In a callback of the VM: refused. Child of a fork: may call it,
 *             if no other thread was using the VM then. NULL where something is needed: refused. Refused means
 *             ATLED_BAD_ARGUMENT, false or 0, and nothing has changed.
 *   [read]    Reads what is there. The same, but also in a callback. NULL: NULL, false or 0.
 *   [any]     From any thread, in any callback, in any child, also while the VM is in use.
 *   [signal]  The same, and in a signal handler.
 *   [free]    Gives something back. As [call], but NULL is allowed, and in a callback nothing is done.
 *   [host]    Within a call of a host's function, by the thread that it runs in.
 *
 * What a function gives by pointer belongs to the VM, the handle or the host as its comment says, and else to the VM,
 * until the next call on it.
 *
 * Callbacks. A callback returns: it neither throws nor jumps out. atled_error in it says which call was refused.
 *
 * Threads. VMs share nothing. Different VMs may be used from different threads at once; one VM by one thread at a time,
 * and not always by the same. atled_interrupt alone may be called on a VM that another thread is using, and alone in a
 * signal handler. A VM with a time limit has a thread of its own, which sleeps; one with several threads
 * (AtledConfig.threads) has those, which run functions of `par`. To none of them a signal is delivered. All other
 * machine code, and callbacks, run in the thread that calls.
 *
 * Signals. No handler is ever set, and no signal sent, but to a program in place of GCC's that doesn't answer. The
 * program's output to a closed pipe, or beyond the limit of a file's size, is an error of kind "output" or "io":
 * SIGPIPE and SIGXFSZ are blocked in the thread during such a write alone, and taken back. A handler of the host's that
 * interrupts a call may return; whatever was waiting goes on. The starter of GCC's process is a child for some
 * milliseconds, which the VM reaps, so a host may see a SIGCHLD; it may also ignore that signal or reap all children.
 *
 * Processes. A child that was forked has all VMs that no other thread was using then, and may do everything with them,
 * atled_free included. Nothing of it is seen by the parent: the thread of time limits is made anew, from the child's
 * next call on, and GCC gets a process of the child's own. In a call that was under way, as of a callback that forks,
 * machine code of the child isn't stopped by the time limit. Whatever this library opens is closed by exec. In process
 * 1, which gets all orphans, GCC's process is a child until the VM is freed, and the VM reaps it.
 *
 * Memory. When memory runs out in a call that compiles, the VM is what it was before it. So it is after a source that
 * doesn't compile, and after calls that only look. An expression and a handle that was released leave nothing. A source
 * of definitions alone leaves their values, and of functions some KB of syntax and types; one of definitions and
 * expressions, or whose values hold functions, also what was compiled of it. All of that stays until the VM is freed,
 * also if a name is defined again: what is called often is looked up once.
 *
 * Files. Sources, modules, C libraries and the cache are read from regular files only, so no pipe holds a call up. What
 * the program itself reads and writes may be anything: the time limit and atled_interrupt end its waiting. So they do
 * where stdout or stderr is a pipe that nobody reads, but for more than 4 KB that the host itself has left in the
 * buffer.
 *
 * Structures. A host may be older or newer than the library that it runs with. Where a host hands over a structure, the
 * function is a macro that adds the structure's size as the host was compiled with it; AtledConfig keeps that size in
 * struct_size. A later version adds fields at the end alone. Of a structure that it fills, the library writes no more
 * than that size; fields that the library doesn't know become zero. Of a structure that it reads, fields that the host
 * doesn't know have their defaults; a field that the library doesn't know, and that isn't zero, is refused. A program
 * in another language passes its size to the function itself, whose name ends with _sized. Structures that the library
 * makes (AtledDiagnostic, AtledBench) grow in the same way: a host that reads a field that an older library may lack
 * asks atled_version_number first. AtledPart, AtledText, AtledValue and AtledParameter never grow. Within one SONAME no
 * function, structure or constant changes otherwise; the version of a symbol (ATLED_0.3) says which release added the
 * function.
 *
 * Strings are UTF-8. What a function returns by pointer belongs to the VM and is
 * valid until the next call on the same VM, unless said otherwise. */
#ifndef ATLED_H
#define ATLED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header; atled_version_number is that of the library. A number compares: 0.3.1 is 301. */
#define ATLED_VERSION_MAJOR  0
#define ATLED_VERSION_MINOR  3
#define ATLED_VERSION_PATCH  0
#define ATLED_VERSION_NUMBER (ATLED_VERSION_MAJOR * 10000 + ATLED_VERSION_MINOR * 100 + ATLED_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ATLED_BUILDING) && defined(__GNUC__)
#define ATLED_API __attribute__((visibility("default")))
#else
#define ATLED_API
#endif

typedef struct AtledVM AtledVM;
typedef struct AtledFunction AtledFunction; /* a handle; keeps the function alive until atled_release */

typedef enum AtledStatus {
  ATLED_OK = 0,
  ATLED_COMPILE_ERROR, /* syntax, names, types, imports */
  ATLED_RUNTIME_ERROR, /* the program failed while running, or was stopped */
  ATLED_INCOMPLETE,    /* a compile error whose only cause is that the source ends too early */
  ATLED_BAD_ARGUMENT,  /* the host's call doesn't fit: kinds or number of arguments, no such file */
  ATLED_NO_MEMORY,     /* the memory limit, or the allocator gave NULL */
  ATLED_TEST_FAILURE,  /* atled_test: at least one test failed */
  ATLED_EXIT           /* the program called `exit`: see atled_exit_status */
} AtledStatus;

/* ---- VMs --------------------------------------------------------------------------- */
typedef enum AtledJit {
  ATLED_JIT_AUTO,  /* evaluate, and have machine code made of what is hot meanwhile: nothing waits for it */
  ATLED_JIT_OFF,   /* evaluate always; needs no compiler on the machine */
  ATLED_JIT_ALWAYS /* compile before running; an error where that is impossible */
} AtledJit;

/* Which numbers end the evaluation where an operation yields them, of the program or of a derivative. */
typedef enum AtledTrap {
  ATLED_TRAP_NOTHING,
  ATLED_TRAP_NAN,     /* NaN, of operands that aren't NaN: an error of kind "nan" */
  ATLED_TRAP_INFINITY /* the same of finite operands, and infinities, of finite operands: of kind "infinity" */
} AtledTrap;

typedef enum AtledSeverity { ATLED_ERROR, ATLED_WARNING } AtledSeverity;

/* A further place that belongs to a diagnostic, and what is to be said of it. */
typedef struct AtledNote {
  const char *file;
  int line, column;         /* as in AtledDiagnostic */
  int end_line, end_column; /* the same */
  const char *message;      /* one line: "the other operand" */
} AtledNote;

/* A call that was under way when a run-time error arose. */
typedef struct AtledFrame {
  const char *function; /* in which the place stands; NULL: in none, or in one without a name */
  const char *file;
  int line, column;         /* of the call; in the innermost frame, of what failed */
  int end_line, end_column; /* as in AtledDiagnostic */
} AtledFrame;

/* An error or warning. What it points to is valid as long as the diagnostic is: until the next call on the VM; in the
 * callback `diagnostic`, until it returns. */
typedef struct AtledDiagnostic {
  AtledSeverity severity;
  const char *kind;         /* a stable short name: "type-mismatch", "index", "interrupt", … */
  const char *message;      /* one line */
  const char *file;         /* as given to atled_eval; NULL when there is no place */
  int line, column;         /* counted from 1, columns in characters; 0 when there is no place */
  const char *rendered;     /* the whole text for a person, with source lines; ends with a newline */
  const char *below;        /* the same for a person who sees the line right above: begins with the underline, in the
                         * line's own columns, and has neither the line nor its place. NULL when there is no place */
  int end_line, end_column; /* right after the place's last character; 0 when there is no place */
  const char *label;        /* what stands below the underline, or NULL */
  const char *hint;         /* what may help, a sentence; or NULL */
  const AtledNote *const *notes; /* further places; NULL when there are none */
  int note_count;
  /* The calls of a run-time error, innermost first, 256 at most, in the evaluator and machine code alike, those that
   * were inlined too. Left out are places in the library, tail calls, calls of a recursion that became a loop, and a
   * place that is the same as in the frame before it. A stack overflow has the innermost calls, in machine code perhaps
   * one alone, and the item of the source that ran is the last frame. NULL where there are none. */
  const AtledFrame *const *frames;
  int frame_count;
  int64_t frames_omitted; /* further calls, of a deep recursion; -1: many, which nobody counted */
} AtledDiagnostic;

/* As realloc, with the old size; new_size 0 frees. Returns NULL when there is no memory. */
typedef void *(*AtledAllocate)(void *user, void *block, size_t old_size, size_t new_size);

typedef enum AtledStream { ATLED_OUTPUT, ATLED_ERRORS } AtledStream;

/* What a program shows that is more than text, as a picture. Only the library makes these: later versions may have more
 * fields at the end. Valid until the callback returns. */
typedef struct AtledDisplay {
  const char *media_type; /* of the data: "image/svg+xml" */
  const char *data;
  size_t length;    /* in bytes; a zero follows */
  const char *text; /* the same as lines of text, for hosts that can't show the data; they end without a newline */
  size_t text_length;
} AtledDisplay;

/* What a program may do beside computing and printing: bits of AtledConfig.rights. */
typedef enum AtledRight {
  ATLED_RIGHT_READ = 1,         /* read files and list folders */
  ATLED_RIGHT_WRITE = 2,        /* write files */
  ATLED_RIGHT_IMPORT = 4,       /* import files; messages show lines of them */
  ATLED_RIGHT_FOREIGN = 8,      /* call C functions by `foreign`: these may do anything */
  ATLED_RIGHT_ENVIRONMENT = 16, /* see its arguments, the environment, the terminal's width */
  ATLED_RIGHT_CLOCK = 32,       /* read clocks and the date, and wait */
  ATLED_RIGHT_INPUT = 64,       /* read standard input, or what AtledConfig.input gives */
  ATLED_RIGHT_PROCESSES = 128,  /* start processes. No function of the library does so yet */
  ATLED_RIGHTS_ALL = 255
} AtledRight;

/* A folder, and which of ATLED_RIGHT_READ, WRITE and IMPORT the program has for what is in it, at any depth. */
typedef struct AtledFolder {
  const char *path;
  unsigned rights;
} AtledFolder;

typedef struct AtledConfig {
  size_t struct_size;     /* set by atled_config_init */
  AtledAllocate allocate; /* NULL: the C library's */
  /* bytes that the VM may hold, for compiling and running; 0: no limit. Not counted: the machine stack, machine code,
   * GCC within this process, GCC's process */
  size_t memory_limit;
  /* bytes of address space for the VM's stack, at least 4 MB; 0: 1 GB, of which only what is used costs memory. Where
   * the system grants less: the largest half, quarter, … that it does */
  size_t stack_size;
  /* Seconds for each call: from its beginning on, whatever it does (reads, checks, compiles, waits for GCC, runs).
   * 0, less, NaN, infinity: no limit. The call ends some milliseconds after it, and gives back what it held. It doesn't
   * count for atled_names, atled_cache, atled_clear_cache, and calls that are refused, which take no time. GCC in this
   * process (jit_in_process) isn't stopped: the call ends when it is done. */
  double time_limit;
  /* What `print` and `write` write; NULL: stdout. No right is needed for output. */
  void (*write)(void *user, const char *text, size_t length);
  /* The same, and what `eprint` writes, if it isn't NULL; `write` isn't called then. False: no more is taken, and the
   * evaluation ends with an error of kind "output". NULL: `eprint` writes to stderr, and a failure of stdout or stderr
   * is such an error. */
  bool (*output)(void *user, AtledStream stream, const char *text, size_t length);
  /* What `output` gets as ATLED_ERRORS goes to a terminal: what says how far the program is may begin with a carriage
   * return, and so take the place of what it said before. Its line is ended before other output and at the end of the
   * call. Where `output` is NULL: whether stderr is a terminal. */
  bool errors_on_terminal;
  /* `flush ()`; also called before something is read, and before `eprint` writes. What it gives is as for `output`.
   * NULL: stdout is flushed, if that is where output goes. */
  bool (*flush)(void *user);
  /* Standard input: waits, and puts into the buffer at least one byte, up to `size`, of what comes next. Gives their
   * number; 0 at the end; -1 for a failure, with errno (EINTR: asked again, unless atled_interrupt was called).
   * What was read stays with the VM until the program takes it. NULL: file descriptor 0, where interrupts end
   * the wait. */
  ptrdiff_t (*input)(void *user, char *buffer, size_t size);
  /* Called for each error and warning, in order; NULL: they are only kept for atled_error and atled_diagnostic. */
  void (*diagnostic)(void *user, const AtledDiagnostic *d);
  /* Called up to a hundred times a second while GCC works and the program waits for it, with the seconds that it has
   * taken, and at the end with -1. NULL: nobody wants to know. */
  void (*compiling)(void *user, double seconds);
  void *user; /* handed to the callbacks */
  AtledJit jit;
  /* GCC runs in a process of its own, of the program atled-compiler, which ends with the VM: what GCC takes, some 30 MB
   * and more, never becomes this process's own, and it can't harm it. True, or where that program isn't to be found:
   * within this process */
  bool jit_in_process;
  size_t jit_memory;       /* bytes of address space that GCC's process may have; 0: 8 GB */
  double jit_time;         /* seconds that it may take for each piece of the program; 0, less, NaN: 600 */
  int64_t cache_size;      /* bytes on disk that kept machine code may take; 0: 256 MB; less: none is kept */
  bool strict;             /* strict floating point: bit-identical results on every machine and in every mode */
  bool no_stdlib;          /* no prelude and no library modules: only what the language itself defines */
  bool phases;             /* measure where time goes, for atled_phase */
  bool colour;             /* rendered diagnostics have ANSI colours */
  const char *const *args; /* what `args` is in the program; kept by pointer */
  int nargs;               /* how many; a NULL among them ends them */
  /* Rights (docs/security.md). Using what needs a right that isn't granted is a compile error of kind "denied" at the
   * use, and a run-time error of that kind if the call comes about in another way. */
  const AtledFolder *folders; /* what the program may do below these folders; copied, relative ones made absolute */
  int nfolders;
  unsigned rights; /* sum of AtledRight: what it may do anywhere */
  /* The source of the module that an `import` names, *length bytes, which are copied before the next call; NULL: there
   * is none. In a module "lib/a.atl" `import "b.atl"` names "lib/b.atl"; no name begins with "../". Imported again in
   * a later evaluation, a module is asked for again. NULL: imports read files, with ATLED_RIGHT_IMPORT. */
  const char *(*module)(void *user, const char *name, size_t *length);
  /* Where machine code is kept; copied when code is first compiled. NULL: the folder that the environment names, or,
   * for a program without all rights, nowhere. The environment doesn't name one for such a program. */
  const char *cache_folder;
  /* Bytes that one source may have: each text that is evaluated, checked, looked up or imported. One that has more is
   * an error of kind "source-limit", and isn't parsed. 0: no limit */
  size_t source_limit;
  /* Bytes that one call may write, to output and standard error together. What would exceed it isn't written, and the
   * program ends with an error of kind "output-limit", which no program catches. 0: no limit */
  size_t output_limit;
  /* The x86-64 level of the processors that code is for: 2, 3 or 4; 0: this one's. Products and sums are rounded as
   * such processors round them, whoever computes. Code for a higher level than this processor's is made by atled_build
   * alone: everything is evaluated then. Other values are as 0. */
  int cpu;
  /* Limits of reading, checking and compiling, GCC's work aside, for each call. One that would exceed a limit ends with
   * an error of kind "compile-limit" that names it, and defines nothing. What the running program has compiled has the
   * same limits by itself, and is evaluated beyond them. */
  int nesting_limit;     /* how deep a source may be nested ("nesting"); 0, less, or over 1500: 1500 */
  size_t node_limit;     /* nodes of the intermediate representation that may be made; 0: no limit */
  double compile_time;   /* seconds; 0, less, NaN, infinity: no limit */
  size_t compile_memory; /* bytes beyond those that the VM held when the call began; 0: no limit */
  /* How many threads run functions of `par` that are independent, and long loops: the one that calls, and others,
   * which the VM starts when they have something to do, and ends with itself. Results don't depend on it. 1: the
   * calling one alone; 0: as many as the environment's ATLED_THREADS says, if it is set and `allocate` isn't, else one;
   * less: as many as there are processors; more than 256: 256, and fewer where the system refuses them. They block all
   * signals. Callbacks are called by the calling thread alone, except `allocate`, which all of them call. C functions
   * (`foreign`) are called by all of them, one at a time if their declaration has no `&`. After a fork of the process
   * the child has the calling thread alone. */
  int threads;
  /* Floats below 2.3e-308 count as 0 where they are operands, and become 0 where they are results (x86-64; nothing is
   * changed elsewhere, and nothing with `strict`): they make arithmetic many times slower. So it is in callbacks, too.
   * Native pointers (atled_native) keep the caller's mode instead, and libraries of atled_build do. */
  bool flush_subnormals;
  /* Takes what a program shows that is more than text: `Plot.show` gives its picture as SVG. It comes in order with the
   * output, and counts for output_limit. False: no more is taken, as for `output`. NULL: `Plot.show` writes the plot as
   * text to the output. No right is needed. */
  bool (*display)(void *user, const AtledDisplay *shown);
  /* What is trapped. The error names the operation, its operands, its place in the program, and for a derivative the
   * mode; no program catches it. Sums are added in order then, and loops don't run on vectors: for finding an error.
   * Other values are as ATLED_TRAP_NOTHING. */
  AtledTrap trap;
} AtledConfig;

/* All rights, and else all zero but for struct_size, and what the environment sets: ATLED_JIT=auto|off|always,
 * ATLED_STRICT_FP=1, and ATLED_CACHE_SIZE, a number that K, M or G may follow; 0: no cache. One that makes no sense is
 * ignored, with a warning when code runs. NULL is allowed. [any] */
ATLED_API void atled_config_init_sized(AtledConfig *config, size_t size);
#define atled_config_init(config) atled_config_init_sized(config, sizeof(AtledConfig))
/* The same for programs that aren't trusted: no rights, GCC in a process of its own or not at all, and limits that a
 * host sets higher or lower: memory_limit 256 MB, stack_size 64 MB, time_limit 10 s, jit_memory 1 GB, jit_time 60 s,
 * nesting_limit 500, compile_time 5 s.
 * Where `size` has no room for the rights no VM can be made of the config. NULL is allowed. [any] */
ATLED_API void atled_sandbox_init_sized(AtledConfig *config, size_t size);
#define atled_sandbox_init(config) atled_sandbox_init_sized(config, sizeof(AtledConfig))
/* A new VM; config NULL means the one of atled_config_init. It is copied; what it points to isn't, but for folders.
 * NULL when there is no memory, when atled_config_init or atled_sandbox_init didn't make the config, and when it sets a
 * field that this library doesn't know. [any] */
ATLED_API AtledVM *atled_new(const AtledConfig *config);
/* Frees the VM and all it holds. While a function handle of its isn't released that waits for the last release, and
 * calls of the handle are refused; nothing else may be done with the VM. NULL is allowed. [free] */
ATLED_API void atled_free(AtledVM *vm);

/* ---- Evaluating ------------------------------------------------------------------------ */
/* Evaluates `source` (zero-terminated; a NUL byte in it is written C0 80, and is an error) as a part of the VM's
 * main program: its definitions are visible to what is evaluated later. `name` is how messages call it; a path, when
 * imports are to be found beside it. Nothing runs and nothing is defined unless all of it passes the checker. [call] */
ATLED_API AtledStatus atled_eval(AtledVM *vm, const char *name, const char *source);
/* The same for a file. ATLED_BAD_ARGUMENT when it can't be read. [call] */
ATLED_API AtledStatus atled_eval_file(AtledVM *vm, const char *path);
/* Evaluates a whole program, as atled_eval does, in a VM of which nothing is wanted afterwards: whether later calls see
 * what it defined, or its values, isn't specified. So it needn't be compiled again while its text, the files that it
 * imports, the config and this library stay the same: where the VM has done nothing else before and machine code is
 * kept on disk, the lowered program is, too. [call] */
ATLED_API AtledStatus atled_run(AtledVM *vm, const char *name, const char *source);
/* Checks and elaborates, and runs nothing. Definitions stay undefined. ATLED_COMPILE_ERROR where atled_eval would give
 * it, and also where a derivative in the source lacks a rule, or an item is sure to fail when it runs: the `kind` is
 * that of the run-time error ("index", "shape", "regex", …), and `notes` tell where arrays whose sizes can't agree were
 * made. Functions that fail in each call are warnings. [call] */
ATLED_API AtledStatus atled_check(AtledVM *vm, const char *name, const char *source);

/* The same without elaborating: syntax, names, types and imports alone, in a quarter of the time. Where it gives an
 * error atled_check gives the same errors and no others. [call] */
ATLED_API AtledStatus atled_check_types(AtledVM *vm, const char *name, const char *source);

/* What the last atled_eval defined or evaluated, in source order. */
typedef struct AtledResult {
  const char *name;  /* NULL: the value of a top-level expression */
  const char *type;  /* "num 'a => 'a -> 'a" */
  const char *value; /* as source would write it; "<fun>" for functions */
} AtledResult;
/* How many they are. [read] */
ATLED_API int atled_result_count(const AtledVM *vm);
/* False: there is none of this index. [call] */
ATLED_API bool atled_result_sized(AtledVM *vm, int index, AtledResult *out, size_t size);
#define atled_result(vm, index, out) atled_result_sized(vm, index, out, sizeof(AtledResult))

/* ---- Prompts ----------------------------------------------------------------------------- */
/* As atled_eval; but the value of each expression gets the name `it`, as if `let it = …` had been written, if its type
 * is known and isn't unit. The result has that name. [call] */
ATLED_API AtledStatus atled_enter(AtledVM *vm, const char *name, const char *source);
/* Parses only: ATLED_OK, ATLED_INCOMPLETE or ATLED_COMPILE_ERROR as atled_eval would for the syntax alone. *starts: the
 * byte at which each item begins, with the comment lines right above it, also where there are errors; their number is
 * *count. [call] */
ATLED_API AtledStatus atled_items(AtledVM *vm, const char *source, const size_t **starts, int *count);
/* What a part of a source is, for its colours. An error is one of the syntax: where a message would underline it. */
typedef enum AtledPartKind {
  ATLED_PART_KEYWORD,
  ATLED_PART_STRING,
  ATLED_PART_NUMBER,
  ATLED_PART_COMMENT,
  ATLED_PART_TYPE,
  ATLED_PART_ERROR
} AtledPartKind;
typedef struct AtledPart {
  AtledPartKind kind;
  size_t start, end; /* bytes of the source */
} AtledPart;
/* The parts of a source that aren't plain, in order; *count: their number. Parses only; the text may have errors.
 * [call] */
ATLED_API AtledStatus atled_parts(AtledVM *vm, const char *source, const AtledPart **parts, int *count);
/* What a source defines, for documentation and outlines. Only the library makes these: later versions may have more
 * fields at the end. */
typedef struct AtledDefinition {
  /* "source": the whole, always the first; "import", "value", "type"; behind its type "constructor" or "field" */
  const char *kind;
  const char *name; /* of the source: as messages call it */
  const char *type; /* of a value, a constructor or a field, else NULL */
  const char *doc;  /* the comment directly above, each line with its end; or NULL */
  const char *file; /* of an import: its file, as messages call it; else NULL */
  /* The text without the comment: of the source all of it; of definitions that one item makes the item's. NULL of a
   * constructor or a field */
  const char *source;
  const char *const *parameters; /* of a function that is written with some: their names, or patterns as written */
  int parameter_count;
  int line; /* from 1 */
} AtledDefinition;
/* The definitions of a source in their order, private ones among them, but for those that a later one of the same name
 * hides. Checks types as atled_check does, and reads imports; nothing is run, and afterwards nothing more is defined.
 *
 * name: what messages call the source. source NULL: the library's module of that name ("Linalg"; "prelude": what needs
 * no module). *definitions: valid like other texts of the VM; their number is *count.
 *
 * Errors: of syntax and types, as atled_check reports them, ATLED_COMPILE_ERROR or ATLED_INCOMPLETE.
 * ATLED_BAD_ARGUMENT: the library has no such module. Limits of time, memory and source hold. [call] */
ATLED_API AtledStatus atled_definitions(AtledVM *vm, const char *name, const char *source,
                                        const AtledDefinition *const **definitions, int *count);
/* The source in the one layout of the language, which has no options. The tokens and comments are the same, in the same
 * order; blanks and line ends change. Lines that can be broken have at most 100 columns; other line breaks of the
 * source, and single empty lines, stay where they make sense. A text that was formatted is its own result. Parses only:
 * names and types may be wrong, and no import is read.
 *
 * name: what messages call the source; NULL: `<format>`. *text: the result, zero-terminated, empty or ending with a
 * line end; NULL unless the call returns ATLED_OK.
 *
 * Errors: of the syntax, as atled_check reports them: ATLED_COMPILE_ERROR, or ATLED_INCOMPLETE where the source only
 * ends too early. Of kind "format", ATLED_COMPILE_ERROR: an error of the formatter's own, whose result would be another
 * program. Limits of time, memory and source hold. [call] */
ATLED_API AtledStatus atled_format(AtledVM *vm, const char *name, const char *source, const char **text);
/* The window in which a value is shown. Numbers of 0 or less mean 80 columns, 24 lines, all digits. */
typedef struct AtledView {
  int columns, lines;
  int used;   /* columns of the first line that are taken: before the name */
  int digits; /* significant ones of floats in arrays; 17 and more: all */
} AtledView;
/* As atled_result, with a value laid out for a person, in the window: arrays with their shape, cut where they are
 * longer; matrices with aligned columns; arrays of records as tables; other long values cut. `name : type = value` is
 * what is shown: a value of several lines begins with the rest of the first one. NULL for the view: all of it 0.
 * [call] */
ATLED_API bool atled_result_view_sized(AtledVM *vm, int index, const AtledView *view, size_t view_size,
                                       AtledResult *out, size_t size);
#define atled_result_view(vm, index, view, out)                                                                        \
  atled_result_view_sized(vm, index, view, sizeof(AtledView), out, sizeof(AtledResult))
/* What may stand instead of the last word of `text`, the beginning of a source: visible names and constructors, and
 * modules, which end with a point; members after `Module.`, fields after `value.`. In alphabetical order; *start: the
 * byte at which the word begins. Nothing is run. Returns their number. [call] */
ATLED_API int atled_complete(AtledVM *vm, const char *text, size_t *start, const char *const **words);

/* ---- Editors ----------------------------------------------------------------------------- */
/* What is asked about a source, which may have errors, and the answer: JSON (RFC 8259) in UTF-8. Places are bytes of
 * the source that they are in, counted from 0; `end` is right after the last one. Members that aren't known are left
 * out. */
typedef enum AtledQuestion {
  /* What stands at `at`: null, or {"start", "end", "what", "name", "type", "foreign", "here", "doc", "source",
   * "definition"}.
   * what: "value", "constructor", "type", "field", "module", or "expression" (without a name) or "pattern". type: of the
   * definition; here: that of this use, where it is another; foreign: a C function; source: a type's declaration. definition: {"file",
   * "start", "end"}, of the name there; of the library instead of "file": "module" ("prelude" what needs no module) */
  ATLED_ASK_PLACE,
  /* Where names mean what the one at `at` does, its definition among them if it is in the source; or, if `file` isn't
   * NULL, what the definition means whose name begins at byte `at` of that file. [{"start", "end", "defines", "field"}]
   * defines: it is the definition; field: a record's field has its name from it, {x} */
  ATLED_ASK_USES,
  /* The definitions: [{"name", "what", "type", "start", "end", "name_start", "name_end", "parts"}]. what: as above,
   * also "function", "test", "bench". parts: constructors of a type, likewise */
  ATLED_ASK_OUTLINE,
  /* The types of names bound by `let` without an annotation, from byte `at` on up to `to`: [{"at", "type"}]. at: behind
   * the name */
  ATLED_ASK_TYPES,
  /* What may stand instead of the word that ends at `at`: {"start", "words": [{"name", "what", "type", "doc", "module"}]}.
   * start: where it begins; module: whose it is. what: also "local" and "keyword". Types of the library aren't
   * given: atled_about does */
  ATLED_ASK_WORDS,
  /* The innermost call around `at`: null, or {"function", "parameters", "result", "active", "type", "doc"}.
   * parameters: texts, "x : float"; active: the number of the one at `at` */
  ATLED_ASK_CALL,
  /* What the names are that stand from byte `at` on up to `to`, in the order of the text: [{"start", "end", "what",
   * "defines", "mutable", "library"}]. what: "function", "parameter" (also of a function type), "value", "constructor",
   * "type", "field", "module". defines: it is the definition; mutable: a `mut` variable; library: the library defines
   * it */
  ATLED_ASK_NAMES
} AtledQuestion;
typedef struct AtledQuery {
  AtledQuestion question;
  const char *name;   /* what messages call the source; a path, when imports are to be found beside it */
  const char *source; /* as for atled_check */
  size_t at, to;      /* bytes of it; beyond its end: the end */
  const char *file;   /* of ATLED_ASK_USES, or NULL */
} AtledQuery;
/* Answers the question. Items whose syntax has no error are checked for it as far as they can be; nothing is reported,
 * run or defined. Where a word or a call is asked for, the rest of an item that isn't finished is thought up. *json:
 * zero-terminated, NULL unless the call returns ATLED_OK.
 *
 * ATLED_BAD_ARGUMENT: there is no such question. Limits of time, memory and source hold. [call] */
ATLED_API AtledStatus atled_query_sized(AtledVM *vm, const AtledQuery *query, size_t size, const char **json);
#define atled_query(vm, query, json) atled_query_sized(vm, query, sizeof(AtledQuery), json)

/* ---- Tests and benchmarks ---------------------------------------------------------------- */
/* Runs the items of a source, then its `test` items, and tries its `rule` items (named "rule NAME"), and reports each of
 * these: message NULL when it passed. If some failed, and
 * no error was raised, the call's error is of kind "test". */
typedef void (*AtledTestReport)(void *user, const char *test, int line, const char *message);
/* report may be NULL. [call] */
ATLED_API AtledStatus atled_test(AtledVM *vm, const char *name, const char *source, AtledTestReport report, void *user);

/* What was measured of a `bench` item: processor seconds of one computation, over batches of computations. */
typedef struct AtledBench {
  const char *name;
  int line;
  double best, median, spread; /* spread: between the first and the third quartile */
  int64_t runs;                /* computations that were measured */
  const char *message;         /* NULL; else an error ended it, and the figures are 0 */
} AtledBench;
/* Runs the items of a source, its `bench` items among them, not its tests, and reports each. Failures are as for
 * atled_test, the error of kind "bench". What is evaluated (AtledConfig.jit) is measured in the evaluator. */
typedef void (*AtledBenchReport)(void *user, const AtledBench *bench);
/* The same. [call] */
ATLED_API AtledStatus atled_bench(AtledVM *vm, const char *name, const char *source, AtledBenchReport report,
                                  void *user);

/* ---- Errors ---------------------------------------------------------------------------- */
/* The first error of the last call on this VM; NULL if that succeeded or ended with ATLED_EXIT, never if it failed. In
 * a callback whose call on the VM was refused: an error that says so. [read] */
ATLED_API const AtledDiagnostic *atled_error(const AtledVM *vm);
/* All errors and warnings of the last call. [read] */
ATLED_API int atled_diagnostic_count(const AtledVM *vm);
/* NULL: there is none of this index. [read] */
ATLED_API const AtledDiagnostic *atled_diagnostic(const AtledVM *vm, int index);
/* What the program gave `exit`, 0 to 255, in the last call that ended with ATLED_EXIT. Such a call leaves no error;
 * what was defined before stays. [read] */
ATLED_API int atled_exit_status(const AtledVM *vm);
/* Stops what the VM is doing, as its time limit would: that call ends with a run-time error of kind "interrupt". What
 * it had defined before the item that was stopped stays if it was running; if it was compiling nothing is defined. May
 * be called at any time, from any thread and from a signal handler. Without a running call the next one to which the
 * limit applies is stopped. [signal] */
ATLED_API void atled_interrupt(AtledVM *vm);
/* How code is run from the next call on; AtledConfig.jit until then. ATLED_BAD_ARGUMENT: there is no such mode.
 * [call] */
ATLED_API AtledStatus atled_set_jit(AtledVM *vm, AtledJit jit);
/* What is trapped, of functions that are compiled from the next call on; AtledConfig.trap until then. Values of
 * functions that the program holds, and handles, stay as they are. ATLED_BAD_ARGUMENT: there is no such value.
 * [call] */
ATLED_API AtledStatus atled_set_trap(AtledVM *vm, AtledTrap trap);
/* Whether diagnostics are rendered with colours from the next call on; AtledConfig.colour until then. [call] */
ATLED_API AtledStatus atled_set_colour(AtledVM *vm, bool colour);
/* Takes back an interrupt that hasn't been seen yet. [read] */
ATLED_API void atled_clear_interrupt(AtledVM *vm);

/* ---- Values -----------------------------------------------------------------------------
 * A value that crosses the border. A host reads any data without functions in it; what it makes are arguments.
 *
 * Arguments. Arrays of floats and ints whose elements lie in row-major order without gaps, aligned to 8 bytes, aren't
 * copied: `data` must stay valid and unchanged until the call returns and its result has been replaced or its handle
 * released. Everything else is copied when the call begins, and the makers below keep pointers only: what they are
 * given must stay valid until the call. A value nested deeper than 5,000 is refused, so also one that contains itself.
 * A host that fills in a structure by itself sets all other members to zero.
 *
 * Results. What a result points to belongs to the handle, is read only, and is valid until the handle's next call of
 * atled_call that succeeds, or its release; atled_keep makes it last longer. In that call it may be an argument, whole
 * or in part, as in `w = step(w)`: what of it the new result refers to stays. Results of another handle, and what
 * atled_keep keeps, are like the host's own memory: they must last as long as what was made of them. */
typedef enum AtledKind {
  ATLED_UNIT,
  ATLED_BOOL,
  ATLED_INT,
  ATLED_FLOAT,
  ATLED_STRING,
  ATLED_ARRAY, /* float[], int[][], … : `rank` dimensions of `element` */
  ATLED_TUPLE,
  ATLED_RECORD,
  ATLED_VARIANT, /* a constructor, and what it holds: `Some 1.0`, `None`, those of the program's own types */
  ATLED_LIST,
  ATLED_OTHER, /* only in results, as text: a function; an array of more than 8 dimensions */
  ATLED_OPAQUE /* a value of the host's: atled_opaque makes it, atled_opaque_get tells what it holds */
} AtledKind;

/* An element of an array of strings. */
typedef struct AtledText {
  const char *bytes; /* UTF-8, no zero at the end needed */
  size_t length;
} AtledText;

enum { ATLED_MAX_RANK = 8 };
typedef struct AtledValue {
  AtledKind kind;
  AtledKind element; /* ATLED_ARRAY: of its elements */
  int rank;          /* ATLED_ARRAY: how many dimensions, 1 to ATLED_MAX_RANK */
  int tag;           /* ATLED_VARIANT, in results: the constructor's position in the declaration, from 0 */
  /* ATLED_STRING, ATLED_OTHER: bytes. ATLED_TUPLE, ATLED_RECORD, ATLED_LIST: items. ATLED_VARIANT: 1 if it holds
   * something, else 0. ATLED_ARRAY: all elements (as argument also 0: as dims say) */
  size_t length;
  union {
    bool boolean;
    int64_t integer;
    double number;
    const char *string;             /* in results zero-terminated */
    const double *floats;           /* ATLED_ARRAY of ATLED_FLOAT */
    const int64_t *ints;            /* … of ATLED_INT */
    const bool *bools;              /* … of ATLED_BOOL */
    const AtledText *texts;         /* … of ATLED_STRING */
    const struct AtledValue *items; /* … of anything else; ATLED_TUPLE, ATLED_RECORD, ATLED_LIST, ATLED_VARIANT */
    const void *data;
  } as;
  const char *name;         /* ATLED_VARIANT: the constructor; ATLED_OPAQUE: the type */
  const char *const *names; /* ATLED_RECORD: of the items; in results in alphabetical order */
  /* ATLED_ARRAY, as argument: how many bytes lie between neighbours of each dimension; may be 0 or less. NULL, as in
   * results: row-major, without gaps */
  const int64_t *strides;
  int64_t dims[ATLED_MAX_RANK]; /* 0 or more, with at most 2^46 elements in all, not counting those that are 0 */
  void *reserved[3];            /* NULL; in ATLED_OPAQUE the library's */
} AtledValue;

/* Makers. None fails: the call that gets the value says what is wrong with it. [any] */
ATLED_API AtledValue atled_bool(bool b);
ATLED_API AtledValue atled_int(int64_t i);
ATLED_API AtledValue atled_float(double x);
ATLED_API AtledValue atled_string(const char *zero_terminated);
ATLED_API AtledValue atled_floats(const double *data, size_t n);                    /* a vector */
ATLED_API AtledValue atled_matrix(const double *data, size_t rows, size_t columns); /* row-major */
/* Of ATLED_FLOAT (double), ATLED_INT (int64_t), ATLED_BOOL (bool), ATLED_STRING (AtledText), or of tuples, records,
 * variants, lists (AtledValue). dims: `rank` numbers, which are copied. strides: as many, kept by pointer; or NULL.
 * [any] */
ATLED_API AtledValue atled_array(AtledKind element, const void *data, int rank, const int64_t *dims,
                                 const int64_t *strides);
ATLED_API AtledValue atled_tuple(const AtledValue *items, size_t n);
/* names: of all fields of the type, in any order. A tuple of the fields in alphabetical order is taken as well.
 * [any] */
ATLED_API AtledValue atled_record(const char *const *names, const AtledValue *items, size_t n);
/* payload: what the constructor holds, several things as a tuple; NULL: nothing. [any] */
ATLED_API AtledValue atled_variant(const char *constructor, const AtledValue *payload);
ATLED_API AtledValue atled_list(const AtledValue *items, size_t n);
/* The field of a record that is a result or was made; belongs to it. NULL: it has none of that name, is no record, or
 * is NULL. May be called from anywhere. [any] */
ATLED_API const AtledValue *atled_field(const AtledValue *record, const char *name);

/* ---- Functions -------------------------------------------------------------------------- */

/* Looks up the value of an expression ("loss", "Model.loss", "grad loss", "fun x -> f x 2.0") at a type without type
 * variables ("float[] -> float"). All arrows of the type's spine are arguments: "a -> b -> c" is called with two. A
 * type that is no function gives a handle without arguments, whose value was computed once, here. The code is
 * optimised as a whole, so a handle of `grad f` costs what a gradient written by hand would.
 *
 * type NULL: the type that the expression has; numbers whose type is open are ints, or floats where a derivative is
 * taken of them, as in a definition. ATLED_BAD_ARGUMENT, with that type, if other type variables are left. An
 * expression of another type than the given one is ATLED_COMPILE_ERROR, whose message shows both. [call] */
ATLED_API AtledStatus atled_get(AtledVM *vm, const char *expression, const char *type, AtledFunction **out);
/* Does nothing with NULL, and in a callback of its VM. [free] */
ATLED_API void atled_release(AtledFunction *f);
/* Looks the expression up at the handle's type, by what names mean now, and puts the result in the handle's place: its
 * calls, and native pointers that it has, run that from then on. If anything fails (the expression doesn't compile or
 * has another type, a type was defined anew, it can't have the native pointer that the handle has, memory or time is
 * over), the handle is what it was. The last result and what atled_keep keeps stay valid; what atled_signature gave
 * doesn't. Other threads may call native pointers of the handle meanwhile: each call is wholly of the old function or
 * of the new one, and of the new one if it begins after this function's return. What the old one needed is freed when
 * no call is in it: here, or in a later call of atled_replace, atled_release or atled_free on the VM. [call] */
ATLED_API AtledStatus atled_replace(AtledFunction *f, const char *expression);
/* How many arguments it takes. [read] */
ATLED_API int atled_arity(const AtledFunction *f);
/* Calls the function, in the VM: a handle is for one thread at a time, as its VM is, in every mode; native pointers
 * (below) are for several. `result` may be NULL, and be one of the arguments. ATLED_BAD_ARGUMENT when the arguments
 * don't fit its type: their number, kinds, fields or dimensions, or text that isn't UTF-8; the message says where and
 * what is needed. Nothing has run then.
 *
 * Where `result` is the place of an argument, the host gives that up: an array in it that is one of the handle's last
 * result, and that nothing else holds, is updated in place. If the function has taken such an array and then fails,
 * *result is ATLED_UNIT. After any other failure `result` and the last result are what they were. [call] */
ATLED_API AtledStatus atled_call(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *result);
/* The short form for functions of n floats to a float. [call] */
ATLED_API AtledStatus atled_call_double(AtledFunction *f, const double *args, int nargs, double *result);
/* The same, with the result in the host's memory: `into` is a value as the function gives it, whose arrays of floats,
 * ints and bools are buffers that may be written (by strides, if it has some), and tuples and records have items that
 * may. Scalars are set, whatever stood there; dimensions must be right before the call. ATLED_BAD_ARGUMENT, with what
 * is needed, if the buffers don't fit, and for a result with other parts than scalars, arrays of these three, tuples
 * and records; nothing is written then, nor after any other failure. The handle's last result stays valid: this one
 * isn't the handle's. Buffers may be arguments as well. [call] */
ATLED_API AtledStatus atled_call_into(AtledFunction *f, const AtledValue *args, int nargs, AtledValue *into);

/* Calls the function for n sets of arguments, as n calls of atled_call_into do, at a small part of their cost.
 *
 * Where the type of an argument, or of a component of a tuple or record in one, needs a value, the host gives either
 * one value, which all sets share, or an array of one dimension more, whose first dimension is n: for a float an array
 * of n floats, for a float[] a matrix of n rows. For strings that is an array of n texts; for records, variants, lists,
 * and for arrays of different lengths (`element` ATLED_ARRAY then) one of n AtledValues. Strides are allowed: n
 * structures are columns whose strides are the structure's size. Arrays of floats and ints whose rows lie in row-major
 * order without gaps, aligned to 8 bytes, aren't copied.
 *
 * `into` is a value as the function gives it, whose floats, ints, bools and arrays of them are buffers of one dimension
 * more, as above; nothing is written to it but to these. NULL: the results aren't wanted. A buffer overlaps no other
 * one and no argument. The handle's last result stays valid.
 *
 * The sets are independent: a function without effects may be called for them in any order, and for several at the same
 * time. Effects happen in order. *done (may be NULL) is the number of the first set that failed, so sets before it are
 * complete, and what the buffers hold of later ones is unspecified; after success it is n. Where arguments or buffers
 * don't fit, the message says which set, if it isn't all of them. The limits of time and output are those of one call.
 [call] */
ATLED_API AtledStatus atled_call_many(AtledFunction *f, const AtledValue *args, int nargs, size_t n,
                                      const AtledValue *into, size_t *done);

/* A result that outlives the handle's next call. */
typedef struct AtledKept AtledKept;
/* Keeps what the last atled_call gave, until atled_drop: all that the host was given of it stays valid and unchanged,
 * also after the handle's release. Costs no copy of it. ATLED_BAD_ARGUMENT if there is none, it is kept already, or it
 * was given up in a call that failed. For atled_free a kept result counts like a handle. [call] */
ATLED_API AtledStatus atled_keep(AtledFunction *f, AtledKept **out);
/* Does nothing with NULL, and in a callback of its VM. [free] */
ATLED_API void atled_drop(AtledKept *kept);

/* A type as a tree. */
typedef struct AtledTypeTree {
  AtledKind kind; /* ATLED_OTHER: a function */
  int rank;       /* ATLED_ARRAY; may be more than ATLED_MAX_RANK */
  int count;      /* of the parts */
  /* ATLED_ARRAY, ATLED_LIST: of the elements; ATLED_TUPLE, ATLED_RECORD: of the items; ATLED_VARIANT: what each
   * constructor holds, ATLED_UNIT for nothing. A type that is part of itself is found below itself. */
  const struct AtledTypeTree *const *parts;
  const char *const *names; /* ATLED_RECORD: of fields, in alphabetical order; ATLED_VARIANT: of constructors */
  const char *name;         /* ATLED_VARIANT, ATLED_LIST: of the type, without its arguments */
  /* ATLED_VARIANT: values are given as this name and an array of what they hold, as for a Map; NULL: as constructors */
  const char *shown_as;
} AtledTypeTree;
typedef struct AtledParameter {
  const char *name; /* NULL: it has none, or it isn't known */
  const char *text; /* the type as source writes it, by its declared name */
  const AtledTypeTree *type;
  void *reserved[2]; /* NULL */
} AtledParameter;
typedef struct AtledSignature {
  const char *text; /* the whole type as source writes it */
  const char *doc;  /* the comment above the definition, if the expression is a name; else NULL */
  int arity;
  const AtledParameter *parameters; /* arity of them */
  AtledParameter result;            /* without a name */
} AtledSignature;
/* The types, names and documentation of a handle. *out belongs to the handle, and is valid until its release or
 * atled_replace. [call] */
ATLED_API AtledStatus atled_signature(AtledFunction *f, const AtledSignature **out);

/* ---- Host functions --------------------------------------------------------------------------
 * A function of the host's that programs call like their own: with values of any type but functions, and derivatives by
 * rules that the host gives. */

/* A call of a host function, made by the library. Valid until the callback returns. */
typedef struct AtledCall {
  void *user; /* AtledHostFunction.user */
  /* The arguments, `unit` among them: nothing is copied but trees. Read only, valid until the callback returns. */
  const AtledValue *args;
  int nargs;
} AtledCall;

/* Runs in the thread that calls the VM, with at least 64 KB of stack, and returns: it neither throws nor jumps out. It
 * gives its result by atled_return or ends the program's call by atled_fail. All calls on its VM are refused, but for
 * atled_interrupt, which ends the program when the callback has returned; so does the time limit. Other VMs may be
 * used. */
typedef void (*AtledCallback)(AtledCall *call);

/* A rule for derivatives of f x y …, a function too:
 *   pullback  its arguments are x, y, …, the value of f, and a cotangent c of the value; it gives that of the argument:
 *             c times the derivative; of several arguments a tuple of one for each
 *   tangent   its arguments are x, y, … and as many tangents; it gives the tangent of the value
 * Cotangents and tangents have the type of what they belong to. In what a rule gives, ATLED_UNIT may stand for a bool,
 * an int, a string and an array of these, which have no derivative. Where a program takes a second derivative, as by
 * `hvp`, a rule is called whose derivative is needed in turn: `hvp` needs the tangent of the pullback. */
typedef struct AtledRule {
  AtledCallback call;
  const struct AtledRule *pullback, *tangent; /* its own; NULL: none */
} AtledRule;

typedef enum AtledHostFlag {
  /* The same arguments give the same result, and nothing else happens: calls may be merged, left out, made earlier, and
   * made again by derivatives. Without it a function is called each time, in order, and can't be used where effects
   * can't, as in `pmap`. One with a rule must have it. */
  ATLED_PURE = 1,
  /* The callback, those of its rules and their user data may be used by several threads at the same time: native
   * pointers may call it, if it is pure. */
  ATLED_THREAD_SAFE = 2
} AtledHostFlag;

typedef struct AtledHostFunction {
  const char *name; /* as a `let` may have; or of a module of the host's: "Sim.step" */
  const char *type; /* of the arguments and the result: "float[] -> float -> {x : float, n : int}". No type variables */
  const char *doc;  /* lines for `:doc` and atled_doc; NULL: none */
  AtledCallback call;
  void *user;                          /* for each AtledCall */
  const AtledRule *pullback, *tangent; /* NULL: none. A derivative that needs one is an error when it is compiled */
  unsigned flags;                      /* sum of AtledHostFlag */
} AtledHostFunction;
/* Defines the function in the main program, as `let` would, or in a module that the main program and all it imports
 * know, where the type's names are those of that module: what was defined before with that name stays what it was where
 * it is used, in handles too. All is copied; callbacks and `user` must last as long as the VM. No right is needed
 * to call it: what a program in a sandbox may do by it the host decides. ATLED_BAD_ARGUMENT: the name is none, the type
 * has functions or isn't that of a function, a callback is missing, a flag isn't known. ATLED_COMPILE_ERROR: the type
 * can't be read. [call] */
ATLED_API AtledStatus atled_define_sized(AtledVM *vm, const AtledHostFunction *function, size_t size);
#define atled_define(vm, function) atled_define_sized(vm, function, sizeof(AtledHostFunction))

/* In a callback, of its call. Gives the result, of which nothing is needed afterwards; of several the last counts. A
 * function that gives unit need not. ATLED_BAD_ARGUMENT: it isn't of the function's type; the call fails then, and says
 * so. ATLED_NO_MEMORY. [host] */
ATLED_API AtledStatus atled_return(AtledCall *call, AtledValue result);
/* In a callback, of its call: n zeroed numbers, floats or ints, for an array in the result, which is then not copied:
 * as atled_return(call, atled_floats(buffer, n)). Valid until the callback returns. NULL without memory; the call fails
 * then. [host] */
ATLED_API void *atled_buffer(AtledCall *call, size_t n);
/* In a callback, of its call: ends it with a run-time error of kind "host" at the place of the call in the program,
 * whatever atled_return was given. `attempt` catches it as any other. The message is UTF-8; what isn't is shown as "?",
 * and what is longer than 1,000 bytes is cut. The first call counts. [host] */
ATLED_API void atled_fail(AtledCall *call, const char *message);

/* Declares a type of the host's in the main program, or a module ("Sim.state"), of values that programs hold, pass, compare, and put into records,
 * lists and arrays, but can't look into. Its name is one of a type, as `simulator`; one that was there is hidden. Two
 * values are equal if the host's pointers are; their order is any. `show` gives "<simulator>". ATLED_BAD_ARGUMENT: the
 * name is none. [call] */
ATLED_API AtledStatus atled_define_type(AtledVM *vm, const char *name);
/* In a callback, of its call: a value of that type, for atled_return. From now on the pointer is the VM's: the
 * finaliser is called with it once, when the program refers to the value no more; without one nothing happens then.
 * That is in the thread that uses the VM, or a native pointer; for values that are left, in atled_free. If the callback
 * doesn't return the value, or there is no memory, that is at once or when the callback has returned. The finaliser may
 * not use the VM. [host] */
ATLED_API AtledValue atled_opaque(AtledCall *call, const char *type, void *pointer, void (*finaliser)(void *pointer));
/* The pointer in a value of that type: an argument of a callback, or a result, as long as that is valid. NULL if it is
 * of another type, none of the host's, or NULL itself. [any] */
ATLED_API void *atled_opaque_get(const AtledValue *value, const char *type);

/* ---- Native pointers ------------------------------------------------------------------------
 * A plain C function of a handle, as minimisers, solvers of equations and game loops call it: without a lock, without
 * an allocation of the host's, in nanoseconds. The handle is its first argument, as the `void *params` of such
 * libraries.
 *
 * Who: any thread, several at the same time, also while another thread uses the VM for something else. Not from a
 * callback of the VM. While it runs, the function keeps the caller's rounding mode and locale, and uses up to 256 KB
 * of the stack below the caller's frame.
 * How long: until the handle is released, or the VM freed. No call may be under way then, in no thread.
 * What: the function as it was when atled_native or atled_replace was called, with the values that definitions had; all
 * of it is compiled then. The allocator (AtledConfig.allocate) gets calls from all threads that call; memory counts for
 * memory_limit. Fork: the child may call it.
 * Failure: the result is NaN, or the status of the general form, and atled_native_error says why. atled_interrupt ends
 * calls under way, in all threads. time_limit holds in the general form: a thread of the library's sleeps for each
 * thread that calls then. In the others none holds. */
typedef enum AtledForm {
  /* AtledNative.value: functions of n floats to a float, "float -> float -> float", or "float * float -> float"; or
   * "float[] -> float" */
  ATLED_VALUE,
  /* AtledNative.gradient: functions that give as many floats besides, as `value_and_grad f` does:
   * "float * float -> float * (float * float)", "float[] -> float * float[]" */
  ATLED_GRADIENT,
  /* AtledNative.general: functions of ints, floats, bools, arrays of ints or floats, and tuples and records of these,
   * to the same. Elements of arrays may also be tuples and records of ints and floats */
  ATLED_GENERAL
} AtledForm;
/* An argument or a result of the general form: a scalar or an array. Arguments are in order, in tuples by their items,
 * in records by their fields in alphabetical order (as atled_signature has them), and so on within these; results are
 * too. unit is none. An array's elements are int64_t or double, row-major, without gaps, aligned to 8 bytes; of a tuple
 * or record as element, its numbers one after the other, in the same order. These structures never grow. */
typedef struct AtledNativeArg {
  union {
    double number;
    int64_t integer; /* of a bool: 0 is false */
    const void *data;
  } as;
  const int64_t *dims; /* of an array: as many as it has dimensions; else unused */
} AtledNativeArg;
typedef struct AtledNativeResult {
  union {
    double number;
    int64_t integer; /* of a bool: 0 or 1 */
    void *data;      /* a buffer, which the call fills; NULL: the array isn't wanted */
  } as;
  const int64_t *dims; /* the buffer's, which must be the array's */
} AtledNativeResult;
typedef union AtledNative {
  /* x: the n arguments, or the elements of the only one. Read only. */
  double (*value)(AtledFunction *self, const double *x, size_t n);
  /* g: n places for the other results, which may be x; NULL: these aren't wanted. After a failure they hold
   * anything. */
  double (*gradient)(AtledFunction *self, const double *x, size_t n, double *g);
  /* nargs, nresults: how many of both, as the type has them. Nothing is copied but arrays of results to their buffers,
   * which may be arguments, but don't overlap each other. Takes no memory of the host's allocator once a thread's calls
   * have had arrays of these sizes. An AtledStatus; after ATLED_BAD_ARGUMENT, for numbers, dimensions or buffers that
   * don't fit, and any other failure, results are what they were. */
  int32_t (*general)(AtledFunction *self, const AtledNativeArg *args, size_t nargs, AtledNativeResult *results,
                     size_t nresults);
} AtledNative;
/* Makes a pointer of this form. ATLED_BAD_ARGUMENT: the function's type doesn't have the form; the mode is
 * ATLED_JIT_OFF; or the function has an effect, calls a C function or one of the host's that isn't ATLED_THREAD_SAFE,
 * or looks into text, which the message names. [call] */
ATLED_API AtledStatus atled_native(AtledFunction *f, AtledForm form, AtledNative *out);
/* Why this thread's last call that failed did, of a pointer of the handle's VM; each failure is told once. NULL: no
 * call has failed since. Without source lines. Valid until the thread's next call of such a pointer. Any thread.
 * [any] */
ATLED_API const AtledDiagnostic *atled_native_error(const AtledFunction *f);

/* ---- Ahead of time --------------------------------------------------------------------------
 * Functions of the program as a library, for programs in C that neither link nor ship Atled. */
typedef struct AtledBuild {
  /* The path of the library, "libmodel.so": its functions are called model_f in C. */
  const char *output;
  const char *header; /* the path of its header, for C99 and C++; NULL: none */
  /* "f,grad:f,vjp:g": f as model_f, its value and gradient as model_f_grad, value and pullback of g as model_g_vjp.
   * NULL: all functions of the main program without a `_` in front whose type C has, and that may be built; the header
   * says which are left out, and why. */
  const char *functions;
  bool archive; /* a static library, "libmodel.a" */
} AtledBuild;
/* Builds it, for processors of the config's level (AtledConfig.cpu), with the values that definitions have now. What
 * its functions take and give, the header says. Functions must have no effect, call no C function and not look into
 * text; parameters and results consist of numbers, bools, and arrays of floats or of ints, in tuples and records.
 *
 * ATLED_BAD_ARGUMENT: such a function, which the message names with the place; a name that isn't defined, or that C
 * doesn't have, or has twice; a path that can't be written. ATLED_RUNTIME_ERROR, of kind "build": a program or file
 * that building needs is missing, or fails. Files are written beside their places and renamed: after a failure these
 * are what they were. The strings aren't kept. Compiles in the
 * process of atled-compiler, whatever `jit` is, and starts as, ld, and for an archive objcopy and ar. [call] */
ATLED_API AtledStatus atled_build_sized(AtledVM *vm, const AtledBuild *build, size_t size);
#define atled_build(vm, build) atled_build_sized(vm, build, sizeof(AtledBuild))

/* ---- Looking inside ------------------------------------------------------------------------ */
typedef enum AtledStage {
  ATLED_STAGE_PARSED,
  ATLED_STAGE_TYPED,
  ATLED_STAGE_BUILT,
  ATLED_STAGE_OPTIMISED,
  ATLED_STAGE_DIFFERENTIATED,
  ATLED_STAGE_LOWERED,
  ATLED_STAGE_FINAL,
  ATLED_STAGE_LIMITS,  /* no stage: the compiler's limits, and how often each gave something up */
  ATLED_STAGE_REMARKS, /* no stage either: where the optimiser left something as it is, and why */
  ATLED_STAGE_RUN      /* ATLED_STAGE_RUN + k: after run k of the optimiser's passes (atled_pass) */
} AtledStage;
/* The program after a stage of the compiler, as text or (`dot`) a Graphviz picture; nothing is run. `of` limits it
 * to one top-level name, or is NULL. [call] */
ATLED_API AtledStatus atled_ir(AtledVM *vm, const char *name, const char *source, AtledStage stage, bool dot,
                               const char *of, const char **text);
/* Takes a graph's text, as atled_ir gives it of one name, through the compiler from stage `from` on (ATLED_STAGE_BUILT,
 * OPTIMISED, DIFFERENTIATED, or after a run), and gives it as it is at a later one, to study the optimiser. A text that
 * isn't well-formed is ATLED_BAD_ARGUMENT, and atled_error says why. [call] */
ATLED_API AtledStatus atled_ir_text(AtledVM *vm, const char *graph, AtledStage from, AtledStage to, bool dot,
                                    const char **text);
/* The gradient of a function as source text: a program of its own that computes, operation by operation, what
 * `grad FUNCTION` does, and holds no derivative. `function` is an expression of one parameter; `source` is a program
 * whose names it may use ("": those of the VM alone), which isn't run. What has no source form is ATLED_BAD_ARGUMENT,
 * and atled_error says what that is. Where the VM is strict about floating point, the program's results have the bits
 * of the gradient's, signs of zero aside. [call] */
ATLED_API AtledStatus atled_derivative_source(AtledVM *vm, const char *name, const char *source, const char *function,
                                              const char **text);
/* One run of a pass of the optimiser. */
typedef struct AtledPass {
  char name[32];    /* "prune.2": with the number of the run, where the pass runs several times */
  const char *does; /* a sentence without a subject */
  bool before;      /* before derivatives are taken */
  double seconds;   /* in all calls on the VM so far; 0 where nothing is measured */
  int64_t count;
} AtledPass;
/* Run `index`, from 0, in their order. vm may be NULL: without times. False after the last one. [read] */
ATLED_API bool atled_pass_sized(const AtledVM *vm, int index, AtledPass *out, size_t size);
#define atled_pass(vm, index, out) atled_pass_sized(vm, index, out, sizeof(AtledPass))
typedef enum AtledStudy {
  ATLED_STUDY_WHY, /* "f x": by which paths the floats of x reach f x, and what cuts these off from the derivative;
                      where derivatives vanish or are infinite at x, ties, and the ways of branches. "f": the former */
  ATLED_STUDY_COST /* "f" or "f x": operations, bytes and tape of f and its gradient by line, as formulas in the sizes of
                      an argument, or as numbers for x */
} AtledStudy;
/* What is to be said of a derivative, as text for a person. The expression is a function and its argument, as they
 * stand behind `vjp`. ATLED_STUDY_WHY runs "f x" and its pullback, unless they have an effect; else nothing is run.
 * An error of the program there is part of the text, limits end the study as they end a run. ATLED_BAD_ARGUMENT: there
 * is no such study, or no such function for it, or which function it is is only known when the program runs. [call] */
ATLED_API AtledStatus atled_study(AtledVM *vm, AtledStudy study, const char *expression, const char **text);
/* The type of an expression, without running it. [call] */
ATLED_API AtledStatus atled_type(AtledVM *vm, const char *expression, const char **text);
/* The documentation of a name: its type and the comment above its definition. [call] */
ATLED_API AtledStatus atled_doc(AtledVM *vm, const char *name, const char **text);
/* What a name means to the main program: `f`, `Module.f`, a constructor, a type, a module. */
typedef struct AtledAbout {
  const char *kind;   /* "value", "constructor", "type", "module" */
  const char *type;   /* of a value or constructor, else NULL */
  const char *doc;    /* the comment above the definition, each line with its end; or NULL */
  const char *file;   /* where it is defined, as messages call it */
  int line;           /* there; 0: a module, which is all of the file */
  const char *source; /* the definition's lines; NULL for a module */
} AtledAbout;
/* ATLED_BAD_ARGUMENT: the name means nothing. [call] */
ATLED_API AtledStatus atled_about_sized(AtledVM *vm, const char *name, AtledAbout *out, size_t size);
#define atled_about(vm, name, out) atled_about_sized(vm, name, out, sizeof(AtledAbout))
/* Modules, and values of the main program, of its modules and of the library, of which a part of the name is `query`,
 * capital letters or small; where there are none, those with the word in their documentation. Or, if `query` is no
 * name, values that can be used at the type that it is: "float[] -> float", "('a -> 'b) -> 'a list -> 'b list". In
 * alphabetical order, modules, and values of just that type, first. Library modules are read. [call] */
ATLED_API AtledStatus atled_search(AtledVM *vm, const char *query, const char *const **names, int *count);
/* Names that the last entry defined which defined some (of atled_eval, atled_enter, atled_eval_file), mean again what
 * they did before it: values, types, constructors, modules. Values and types that were made stay where they are used;
 * effects stay. Returns the number of these names, 0 for an `open`, or where there is no such entry. names NULL:
 * nothing is taken back, and the number is that of such entries. [call] */
ATLED_API int atled_undo(AtledVM *vm, const char *const **names);
/* The files that the last call imported, or tried to. Returns their number. [read] */
ATLED_API int atled_files(const AtledVM *vm, const char *const **paths);
/* The names visible to the main program that start with `prefix`, in alphabetical order. [call] */
ATLED_API int atled_names(AtledVM *vm, const char *prefix, const char *const **names);
/* Where the time of all calls on the VM so far went, if its config wanted to know (phases). What a phase does within
 * another one, as elaborating while something is checked, counts for it alone. */
typedef struct AtledPhase {
  const char *name; /* "read", "parse", "check", …, "compile", "run", "other"; "compiler": see elsewhere */
  double seconds;
  int64_t count;  /* how often it was entered */
  size_t memory;  /* the most bytes that the VM held meanwhile */
  bool elsewhere; /* of the compiler's process: CPU seconds, orders, its memory; it works while this one waits or not */
} AtledPhase;
/* False after the last one, and where nothing was measured. [read] */
ATLED_API bool atled_phase_sized(const AtledVM *vm, int index, AtledPhase *out, size_t size);
#define atled_phase(vm, index, out) atled_phase_sized(vm, index, out, sizeof(AtledPhase))
/* The folder where machine code is kept. Entries that were used longest ago go when its limit is reached. */
typedef struct AtledCache {
  const char *folder;    /* NULL: nothing is kept */
  const char *why;       /* why not, where it should be; else NULL */
  int64_t entries;       /* pieces of code */
  int64_t bytes, limit;  /* their size, and what it may be */
  double oldest, newest; /* last uses of entries, in seconds since 1970; 0: there are none */
} AtledCache;
/* What is in the folder now. [call] */
ATLED_API AtledStatus atled_cache_sized(AtledVM *vm, AtledCache *out, size_t size);
#define atled_cache(vm, out) atled_cache_sized(vm, out, sizeof(AtledCache))
/* Empties it. Code that is in use isn't affected. [call] */
ATLED_API AtledStatus atled_clear_cache(AtledVM *vm);
/* Objects that the program's values hold now: unchanged by any failed call. [read] */
ATLED_API int64_t atled_live_objects(const AtledVM *vm);
/* Calls that the evaluator has carried out, from the host or from machine code: none in mode ATLED_JIT_ALWAYS.
 * [read] */
ATLED_API int64_t atled_evaluator_calls(const AtledVM *vm);
/* Bytes the VM holds now. [read] */
ATLED_API size_t atled_memory_used(const AtledVM *vm);
/* The n-th allocation from now fails (n > 0); 0 switches that off. For tests. [read] */
ATLED_API void atled_fail_allocation(AtledVM *vm, int64_t n);
/* The library's version, "0.3.0", and as a number that compares with ATLED_VERSION_NUMBER. From any thread. [any] */
ATLED_API const char *atled_version(void);
ATLED_API int atled_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
