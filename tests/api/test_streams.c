/* SPDX-License-Identifier: MIT */
/* Standard streams and `exit` in a host: its own functions read and write, may stop the output, and learn the
 * status. */
#include "check.h"
#include <atled.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Host {
  char out[4096], err[4096];
  const char *in;   /* what is left of the input */
  size_t piece;     /* bytes for each read */
  size_t room;      /* the output takes so many bytes */
  int flushes;      /* calls */
  int seen;         /* bytes of the output at the last flush */
  int failing;      /* errno of the next read, once */
  AtledVM *stopped; /* by the next read */
} Host;

static bool take(void *user, AtledStream stream, const char *text, size_t n) {
  Host *h = user;
  char *to = stream == ATLED_ERRORS ? h->err : h->out;
  size_t len = strlen(to);
  if (stream == ATLED_OUTPUT && len + n > h->room) return false;
  memcpy(to + len, text, n);
  to[len + n] = '\0';
  return true;
}

static bool flush(void *user) {
  Host *h = user;
  h->flushes++;
  h->seen = (int)strlen(h->out);
  return true;
}

static ptrdiff_t give(void *user, char *buffer, size_t size) {
  Host *h = user;
  if (h->stopped) {
    atled_interrupt(h->stopped);
    h->stopped = NULL;
    errno = EINTR;
    return -1;
  }
  if (h->failing) {
    errno = h->failing;
    h->failing = 0;
    return -1;
  }
  size_t n = strlen(h->in);
  if (n > h->piece) n = h->piece;
  if (n > size) n = size;
  memcpy(buffer, h->in, n);
  h->in += n;
  return (ptrdiff_t)n;
}

/* A picture is a word in the output. */
static bool show(void *user, const AtledDisplay *d) {
  CHECK(d->data[d->length] == '\0' && strlen(d->data) == d->length && d->text[d->text_length] == '\0');
  CHECK(strncmp(d->data, "<svg", 4) == 0 && strstr(d->text, "┤") != NULL);
  return take(user, ATLED_OUTPUT, d->media_type, strlen(d->media_type));
}

static AtledVM *make_on(bool terminal, AtledJit jit, Host *h, const char *input) {
  AtledConfig config;
  atled_config_init(&config);
  config.jit = jit;
  config.output = take;
  config.flush = flush;
  config.input = give;
  config.user = h;
  config.errors_on_terminal = terminal;
  *h = (Host){.in = input, .piece = 3, .room = 4096};
  return atled_new(&config);
}

static AtledVM *make(AtledJit jit, Host *h, const char *input) { return make_on(false, jit, h, input); }

static void test_reading(AtledJit jit) {
  Host h;
  AtledVM *vm = make(jit, &h, "first\nsecond line\n\nlast");
  CHECK(atled_eval(vm, "a", "print (read_line ())") == ATLED_OK);
  CHECK(atled_eval(vm, "b", "print (read_line ())\nprint (stdin_lines ())\nprint (read_line ())") == ATLED_OK);
  CHECK_STR(h.out, "Some \"first\"\nSome \"second line\"\n[\"\", \"last\"]\nNone\n");
  AtledFunction *f;
  AtledValue unit = {.kind = ATLED_UNIT}, line;
  h.in = "from a call\n";
  const char *next = "fun () -> (match read_line () with | Some l -> l | None -> \"\")";
  CHECK(atled_get(vm, next, "unit -> string", &f) == ATLED_OK);
  CHECK(atled_call(f, &unit, 1, &line) == ATLED_OK);
  CHECK_STR(line.as.string, "from a call");
  atled_release(f);
  atled_free(vm);
}

/* What was read before a failure or an interrupt is there afterwards. */
static void test_failed_reads(AtledJit jit) {
  Host h;
  AtledVM *vm = make(jit, &h, "ab");
  CHECK(atled_eval(vm, "a", "read_all () |> Str.length |> print") == ATLED_OK);
  h.in = "abcdef\n";
  h.failing = EIO;
  CHECK(atled_eval(vm, "a", "print (read_line ())") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "io");
  CHECK(strstr(atled_error(vm)->message, "can't read standard input: Input/output error") != NULL);
  h.stopped = vm;
  CHECK(atled_eval(vm, "a", "print (read_line ())") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "interrupt");
  h.failing = EINTR; /* by itself no reason to end */
  CHECK(atled_eval(vm, "a", "print (read_line ())") == ATLED_OK);
  CHECK_STR(h.out, "2\nSome \"abcdef\"\n");
  atled_free(vm);
}

static void test_writing(AtledJit jit) {
  Host h;
  AtledVM *vm = make(jit, &h, "");
  CHECK(atled_eval(vm, "a", "write \"a\"; print 1; flush ()") == ATLED_OK);
  CHECK_STR(h.out, "a1\n");
  CHECK(h.flushes == 1 && h.seen == 3);
  CHECK(atled_eval(vm, "a", "write \"b\"; eprint \"c\"") == ATLED_OK);
  CHECK_STR(h.err, "c\n");
  CHECK(h.flushes == 2 && h.seen == 4);
  CHECK(atled_eval(vm, "a", "write \"d\"; ignore (read_line ())") == ATLED_OK);
  CHECK(h.flushes == 3 && h.seen == 5);
  h.room = 10;
  CHECK(atled_eval(vm, "a", "let x = 7\nlet rec go n = write \"more\"; go (n + 1)\ngo 1") == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "output");
  CHECK_STR(h.out, "a1\nbdmore");
  CHECK(atled_eval(vm, "a", "let y = x + 1") == ATLED_OK);
  atled_free(vm);
}

static void test_exit(AtledJit jit) {
  Host h;
  AtledVM *vm = make(jit, &h, "");
  CHECK(atled_eval(vm, "a", "let x = 20\nprint 1\nexit 7\nprint 2") == ATLED_EXIT);
  CHECK(atled_exit_status(vm) == 7 && atled_error(vm) == NULL && atled_diagnostic_count(vm) == 0);
  CHECK(atled_eval(vm, "b", "print x") == ATLED_OK);
  CHECK_STR(h.out, "1\n20\n");
  AtledFunction *f;
  double arg = 3.0, result;
  CHECK(atled_get(vm, "fun x -> if x > 2.0 then exit (int x) else x", "float -> float", &f) == ATLED_OK);
  CHECK(atled_call_double(f, &arg, 1, &result) == ATLED_EXIT && atled_exit_status(vm) == 3);
  arg = 1.0;
  CHECK(atled_call_double(f, &arg, 1, &result) == ATLED_OK && result == 1.0);
  CHECK(atled_get(vm, "exit 4", "float", &(AtledFunction *){NULL}) == ATLED_EXIT && atled_exit_status(vm) == 4);
  atled_release(f);
  CHECK(atled_live_objects(vm) == 0);
  atled_free(vm);
}

/* The host's errors are a terminal or not; each text is what comes to them. */
static void test_progress(AtledJit jit) {
  static const char *const texts[][3] = {
      {"let line i = Progress.line \"a b\" {iteration = i, value = float i, gradient_norm = 1.0} in\n"
       "  ignore (line 0); ignore (line 3); ignore (line 10)",
       "a b: step 0, value 0, gradient norm 1.0e+00\na b: step 10, value 10, gradient norm 1.0e+00\n",
       "\ra b: step 0, value \ra b: step 3, value \ra b: step 10, value\n"},
      {"let line name = ignore (Progress.line name {iteration = 1, value = 1.0, gradient_norm = 1.0}) in\n"
       "  line \"\\n日本日本日本日本日本\"; line \"x\"; print 1; line \"y\"; eprint 2; line \"z\"; print (read_line "
       "()); line \"v\"; fail \"no\"",
       "\n日本日本日本日本日本: step 1, value 1, gradient norm 1.0e+00\nx: step 1, value 1, gradient norm 1.0e+00\n"
       "y: step 1, value 1, gradient norm 1.0e+00\n2\nz: step 1, value 1, gradient norm 1.0e+00\n"
       "v: step 1, value 1, gradient norm 1.0e+00\n",
       "\r 日本日本日本日本日\rx: step 1, value 1,\n\ry: step 1, value 1,\n2\n\rz: step 1, value 1,\n\rv: step 1, "
       "value 1,\n"},
      {"ignore (Progress.loop \"f\" 1 (fun i x -> x) ()); write \"a\"; ignore (Progress.loop \"g\" 1 (fun i x -> x) "
       "())",
       "f: 1 of 1, 0.0 s, 0.0 s left\ng: 1 of 1, 0.0 s, 0.0 s left\n",
       "\rf: 1 of 1, 0.0 s, 0\n\n\rg: 1 of 1, 0.0 s, 0\n"}};
  setenv("COLUMNS", "20", 1);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (int terminal = 0; terminal < 2; terminal++) {
      Host h;
      AtledVM *vm = make_on(terminal, jit, &h, "line\n");
      AtledStatus status = atled_eval(vm, "a", texts[i][0]);
      CHECK(status == (strstr(texts[i][0], "fail") ? ATLED_RUNTIME_ERROR : ATLED_OK));
      CHECK_STR(h.err, texts[i][1 + terminal]);
      atled_free(vm);
    }
}

/* A plot is a picture for a host that shows some, in order with the output, and else text. */
static void test_display(void) {
  static const char plot[] = "write \"a\"; Plot.show (Plot.line \"\" [0.0, 1.0] [2.0, 3.0] Plot.empty); write \"b\"";
  Host h = {.room = 4096};
  AtledConfig config;
  atled_sandbox_init(&config);
  config.rights = ATLED_RIGHT_ENVIRONMENT;     /* of the terminal's width */
  config.compile_time = config.time_limit = 0; /* slow with sanitizers */
  config.output = take;
  config.flush = flush;
  config.user = &h;
  config.output_limit = 2500;
  AtledVM *vm = atled_new(&config);
  CHECK(atled_eval(vm, "a", plot) == ATLED_OK);
  CHECK(strstr(h.out, "┤") != NULL && h.out[0] == 'a' && h.out[strlen(h.out) - 1] == 'b');
  atled_free(vm);
  config.display = show;
  config.output_limit = 0;
  h.out[0] = '\0';
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "a", plot) == ATLED_OK);
  CHECK_STR(h.out, "aimage/svg+xmlb");
  CHECK(h.flushes == 1 && h.seen == 1);
  h.room = strlen(h.out) + 3;
  CHECK(atled_eval(vm, "a", plot) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "output");
  CHECK_STR(h.out, "aimage/svg+xmlba");
  atled_free(vm);
  config.output_limit = 1000; /* the picture has more */
  h.room = 4096;
  vm = atled_new(&config);
  CHECK(atled_eval(vm, "a", plot) == ATLED_RUNTIME_ERROR);
  CHECK_STR(atled_error(vm)->kind, "output-limit");
  CHECK_STR(h.out, "aimage/svg+xmlbaa");
  atled_free(vm);
}

int main(void) {
  test_display();
  for (AtledJit jit = ATLED_JIT_AUTO; jit <= ATLED_JIT_ALWAYS; jit++) {
    test_reading(jit);
    test_failed_reads(jit);
    test_writing(jit);
    test_exit(jit);
    test_progress(jit);
  }
  return check_result();
}
