/* SPDX-License-Identifier: MIT */
/* Diagnostics and run-time errors as the host sees them.
 *
 * Compiler stages leave Diags; running code leaves an RtError with sites. Both
 * become AtledDiagnostics, rendered once, kept for the length of a call in the
 * scratch arena and handed to the host's callback.
 *
 * The place of a run-time error is the innermost one that the user wrote: a
 * site is a chain of (place, inlined at), the trace adds the chains of the
 * calls that were left, and places in the standard library are passed over. */
#include "api/vm.h"
#include <string.h>

/* A call that an error left, and the function where it stands. */
typedef struct Frame {
  Span at;
  Sym function;
} Frame;

enum { FRAMES_KEPT = 4 * LIMIT_TRACE };

typedef struct Frames {
  Frame all[FRAMES_KEPT];
  int n;
  int64_t omitted; /* calls of which nothing but their number is known; from RT_DEPTH_UNKNOWN / 2 on: not even that */
} Frames;

void report_forget(AtledVM *vm) {
  memset(&vm->reports, 0, sizeof vm->reports);
  vm->first_error = -1;
  vm->out_of_memory = false;
}

void report_reset(AtledVM *vm) {
  run_drop_results(vm);
  report_forget(vm);
  memset(&vm->files, 0, sizeof vm->files);
  memset(&vm->imported, 0, sizeof vm->imported);
  arena_free(&vm->scratch);
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
}

static void add_report(AtledVM *vm, AtledDiagnostic d) {
  vec_push(&vm->scratch, vm->reports, d);
  if (d.severity == ATLED_ERROR && vm->first_error < 0) vm->first_error = vm->reports.len - 1;
  if (vm->config.diagnostic) vm->config.diagnostic(vm->config.user, &vm->reports.data[vm->reports.len - 1]);
}

/* A text of its own for the report: what the compiler made goes with this call. NULL stays. */
static const char *keep_text(AtledVM *vm, const char *text) {
  return text ? arena_strndup(&vm->scratch, text, strlen(text)) : NULL;
}

static void span_end(const AtledVM *vm, Span at, int *line, int *column) {
  span_position(&vm->sources, (Span){at.source, at.end, at.end}, line, column);
}

static const char *file_of(AtledVM *vm, Span at) { return keep_text(vm, sources_get(&vm->sources, at.source)->name); }

static const AtledNote *new_note(AtledVM *vm, Span at, const char *label) {
  AtledNote *note = NEW(&vm->scratch, AtledNote);
  note->file = file_of(vm, at);
  note->message = keep_text(vm, label ? label : "see also");
  span_position(&vm->sources, at, &note->line, &note->column);
  span_end(vm, at, &note->end_line, &note->end_column);
  return note;
}

/* The further places of the diagnostic as a list of notes. */
static void set_notes(AtledVM *vm, const Diag *d, AtledDiagnostic *r) {
  const AtledNote **list = NEW_ARRAY(&vm->scratch, const AtledNote *, 2);
  if (d->also.source) list[r->note_count++] = new_note(vm, d->also, d->also_label);
  if (d->third.source) list[r->note_count++] = new_note(vm, d->third, d->third_label);
  if (r->note_count) r->notes = list;
}

static AtledFrame *new_frame(AtledVM *vm, const Frame *f) {
  AtledFrame *frame = NEW(&vm->scratch, AtledFrame);
  frame->function = keep_text(vm, f->function);
  frame->file = file_of(vm, f->at);
  span_position(&vm->sources, f->at, &frame->line, &frame->column);
  span_end(vm, f->at, &frame->end_line, &frame->end_column);
  return frame;
}

static void set_frames(AtledVM *vm, const Frames *frames, AtledDiagnostic *r) {
  if (!frames || !frames->n) return;
  const AtledFrame **list = NEW_ARRAY(&vm->scratch, const AtledFrame *, frames->n);
  for (int i = 0; i < frames->n; i++) list[i] = new_frame(vm, &frames->all[i]);
  r->frames = list;
  r->frame_count = frames->n;
  r->frames_omitted = frames->omitted >= RT_DEPTH_UNKNOWN / 2 ? -1 : frames->omitted;
}

/* A diagnostic with its text, which ends with `after` (or NULL); with the calls of a run-time error, or NULL. */
static void add_diag(AtledVM *vm, const Diag *d, const char *after, const Frames *frames) {
  Str text = {.arena = &vm->scratch};
  diag_render(d, &vm->sources, vm->config.colour, &text);
  if (text.len && text.data[text.len - 1] != '\n') str_addc(&text, '\n');
  if (after) str_puts(&text, after);
  Str below = {.arena = &vm->scratch};
  if (d->at.source) diag_render_below(d, &vm->sources, vm->config.colour, &below);
  if (d->at.source && after) str_puts(&below, after);
  AtledDiagnostic r = {.severity = d->severity == SEV_ERROR ? ATLED_ERROR : ATLED_WARNING,
                       .kind = d->code,
                       .message = keep_text(vm, d->message),
                       .rendered = text.data,
                       .below = below.data,
                       .label = keep_text(vm, d->label),
                       .hint = keep_text(vm, d->hint)};
  if (d->at.source) {
    r.file = file_of(vm, d->at);
    span_position(&vm->sources, d->at, &r.line, &r.column);
    span_end(vm, d->at, &r.end_line, &r.end_column);
  }
  set_notes(vm, d, &r);
  set_frames(vm, frames, &r);
  add_report(vm, r);
}

bool report_diags(AtledVM *vm) {
  bool failed = vm->diags.errors > 0;
  for (int i = 0; i < vm->diags.all.len; i++) {
    Diag *d = &vm->diags.all.data[i];
    /* Where the library defines a name is nothing the user can look at. */
    if (sources_get(&vm->sources, d->also.source)->library) d->also = (Span){0};
    if (sources_get(&vm->sources, d->third.source)->library) d->third = (Span){0};
    add_diag(vm, d, NULL, NULL);
  }
  diags_init(&vm->diags, &vm->scratch, &vm->sources);
  return failed;
}

static void add_plain(AtledVM *vm, Severity severity, const char *kind, const char *fmt, va_list ap) {
  char message[1024];
  vsnprintf(message, sizeof message, fmt, ap);
  Diag d = {.severity = severity, .code = kind, .message = message};
  add_diag(vm, &d, NULL, NULL);
}

AtledStatus report_error(AtledVM *vm, AtledStatus status, const char *kind, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add_plain(vm, SEV_ERROR, kind, fmt, ap);
  va_end(ap);
  return status;
}

AtledStatus report_bad_argument(AtledVM *vm, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add_plain(vm, SEV_ERROR, "bad-argument", fmt, ap);
  va_end(ap);
  return ATLED_BAD_ARGUMENT;
}

void report_warning(AtledVM *vm, const char *kind, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  add_plain(vm, SEV_WARNING, kind, fmt, ap);
  va_end(ap);
}

/* ---- Run-time errors ------------------------------------------------------------ */
/* clang-format off */
static const char *const kind_names[] = {
    [ERR_NONE] = "none",         [ERR_FAIL] = "fail",           [ERR_ASSERT] = "assert",
    [ERR_INDEX] = "index",       [ERR_SLICE] = "slice",         [ERR_SHAPE] = "shape",
    [ERR_IRREGULAR] = "irregular", [ERR_DIVISION] = "division", [ERR_RANGE] = "range",
    [ERR_MATCH] = "match",       [ERR_STACK] = "stack",         [ERR_MEMORY] = "memory",
    [ERR_INTERRUPT] = "interrupt", [ERR_TIME] = "time",
    [ERR_IO] = "io",             [ERR_FORMAT] = "format",       [ERR_TEXT] = "text",
    [ERR_CSV] = "csv",           [ERR_REGEX] = "regex",         [ERR_REGEX_LIMIT] = "regex-limit",
    [ERR_FOREIGN] = "foreign",   [ERR_HOST] = "host",   [ERR_RULE] = "rule",        [ERR_EFFECT] = "rule",
    [ERR_OUTPUT] = "output",     [ERR_DENIED] = "denied",     [ERR_OUTPUT_LIMIT] = "output-limit",
    [ERR_NAN] = "nan", [ERR_INFINITY] = "infinity"};
/* clang-format on */

const char *report_kind(ErrorKind kind) {
  return (size_t)kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : "error";
}

static bool same_place(const Frame *a, const Frame *b) {
  return a->at.source == b->at.source && a->at.start == b->at.start;
}

/* Adds a frame; a place that repeats its predecessor is one. */
static void add_frame(Frames *out, Frame f) {
  if (out->n == FRAMES_KEPT || (out->n && same_place(&out->all[out->n - 1], &f))) return;
  out->all[out->n++] = f;
}

/* Adds the user's places of a site of the unit, innermost first. What was inlined into the call of this site ends with
 * the same places as it does: they are shown once. `chain` is for use within. */
static void add_unit_frames(AtledVM *vm, Frames *out, Frames *chain, const Unit *u, uint32_t number) {
  chain->n = 0;
  for (; u && number; number = u->sites[number].parent) {
    const LSite *info = &u->sites[number];
    if (info->at.source && !sources_get(&vm->sources, info->at.source)->library)
      add_frame(chain, (Frame){info->at, info->function});
  }
  int shared = 0;
  while (shared < chain->n && shared + 1 < out->n &&
         same_place(&out->all[out->n - 1 - shared], &chain->all[chain->n - 1 - shared]))
    shared++;
  out->n -= shared;
  for (int i = 0; i < chain->n; i++) add_frame(out, chain->all[i]);
}

static void add_frames(AtledVM *vm, Frames *out, Frames *chain, Site site) {
  uint32_t number = 0;
  const Unit *u = run_unit_of_site(vm, site, &number);
  add_unit_frames(vm, out, chain, u, number);
}

static void print_frames(AtledVM *vm, const Frames *frames, Str *out) {
  for (int i = 1; i < frames->n && i <= LIMIT_TRACE_SHOWN; i++) {
    const Frame *f = &frames->all[i];
    int line, column;
    span_position(&vm->sources, f->at, &line, &column);
    str_printf(out, "  called from %s:%d:%d", sources_get(&vm->sources, f->at.source)->name, line, column);
    if (f->function) str_printf(out, " in %s", f->function);
    str_addc(out, '\n');
  }
  int64_t more = frames->omitted + (frames->n > LIMIT_TRACE_SHOWN + 1 ? frames->n - LIMIT_TRACE_SHOWN - 1 : 0);
  if (more >= RT_DEPTH_UNKNOWN / 2) str_printf(out, "  … and many more calls\n");
  else if (more > 0) str_printf(out, "  … and %lld more calls\n", (long long)more);
}

static bool within(Span outer, Span inner) {
  return outer.source == inner.source && outer.start <= inner.start && inner.end <= outer.end;
}

/* Is one of the first n places in the item? */
static bool reaches_item(const Frames *frames, int n, Span item) {
  for (int i = 0; i < frames->n && i < n; i++)
    if (within(item, frames->all[i].at)) return true;
  return false;
}

/* Calls that were inlined into each other, or made by the library, may have lost the outermost places: the item that
 * runs is known in any case. */
static void add_item(Frames *frames, const RtError *e, Span item) {
  if (!item.source || e->kind == ERR_FOREIGN || e->kind == ERR_IO || e->kind == ERR_DENIED ||
      frames->n == FRAMES_KEPT || (e->kind == ERR_STACK && frames->n))
    return;
  if (reaches_item(frames, frames->n, item)) return;
  frames->all[frames->n++] = (Frame){.at = item};
}

/* A stack overflow has so many calls that the trace may not reach the item: it comes last. */
static void print_item(AtledVM *vm, const Frames *frames, Span item, Str *out) {
  if (reaches_item(frames, LIMIT_TRACE_SHOWN + 1, item)) return;
  int line, column;
  span_position(&vm->sources, item, &line, &column);
  str_printf(out, "  called from %s:%d:%d\n", sources_get(&vm->sources, item.source)->name, line, column);
}

static const char *runtime_hint(ErrorKind kind) {
  switch (kind) {
  case ERR_STACK: return "does the recursion end? a call whose result is the function's own needs no stack";
  case ERR_IRREGULAR: return "all rows of an array have one length; rows of any length stand in a list";
  default: return NULL;
  }
}

/* Where in a literal's source the byte `at` of its text stands: known where it has no escapes; else all of it. */
static Span within_literal(const AtledVM *vm, Span literal, const char *text, int length, int at) {
  const char *source = sources_get(&vm->sources, literal.source)->text;
  uint32_t first = literal.start;
  while (source[first] != '"') first++;
  first++;
  if (literal.end - first != (uint32_t)length + 1 || memcmp(source + first, text, (size_t)length) != 0) return literal;
  Span place = {literal.source, first + (uint32_t)at, first + (uint32_t)at + 1};
  while (place.end < literal.end && (source[place.end] & 0xc0) == 0x80) place.end++;
  return place;
}

/* What is wrong with a text that the message quotes is shown in the text, if that is a literal of the call. */
Span report_quoted_place(AtledVM *vm, const RtError *e, Span call) {
  if (!e->quote.length || !call.source) return call;
  const char *text = e->message + e->quote.start;
  Diags none;
  diags_init(&none, &vm->scratch, &vm->sources);
  Tokens tokens = lex(vm->lexer, &vm->scratch, &vm->syms, &none, call.source, call.start, call.end);
  for (int i = 0; i < tokens.len; i++) {
    const Token *t = &tokens.data[i];
    if (t->kind != TOK_STRING || sym_len(t->text) != (size_t)e->quote.length) continue;
    if (memcmp(t->text, text, (size_t)e->quote.length) == 0)
      return within_literal(vm, (Span){call.source, t->start, t->end}, text, e->quote.length, e->quote.at);
  }
  return call;
}

/* What a trap found in a function of the library is shown there, too. */
static void note_library_place(AtledVM *vm, const RtError *e, Diag *d) {
  uint32_t number = 0;
  const Unit *u = e->kind == ERR_NAN || e->kind == ERR_INFINITY ? run_unit_of_site(vm, e->site, &number) : NULL;
  const LSite *info = u && number ? &u->sites[number] : NULL;
  if (!info || !info->at.source || !sources_get(&vm->sources, info->at.source)->library) return;
  d->also = info->at;
  d->also_label = arena_printf(&vm->scratch, "in `%s` of the library", info->function ? info->function : "let");
}

AtledStatus report_runtime_error(AtledVM *vm, Span item) {
  const RtError *e = &vm->rt.error;
  if (e->kind == ERR_EXIT) {
    rt_clear_error(&vm->rt);
    return ATLED_EXIT;
  }
  AtledStatus status = e->kind == ERR_MEMORY ? ATLED_NO_MEMORY : ATLED_RUNTIME_ERROR;
  Frames *frames = NEW(&vm->scratch, Frames), *chain = NEW(&vm->scratch, Frames);
  add_frames(vm, frames, chain, e->site);
  for (int i = 0; i < e->ntrace; i++) add_frames(vm, frames, chain, e->trace[i]);
  add_item(frames, e, item);
  Diag d = {.severity = SEV_ERROR,
            .code = report_kind(e->kind),
            .message = e->message,
            .hint = runtime_hint(e->kind),
            .at = frames->n ? report_quoted_place(vm, e, frames->all[0].at) : (Span){0}};
  Str trace = {.arena = &vm->scratch};
  frames->omitted = e->depth > e->ntrace ? e->depth - e->ntrace : 0;
  note_library_place(vm, e, &d);
  print_frames(vm, frames, &trace);
  if (e->kind == ERR_STACK && item.source && frames->n) {
    print_item(vm, frames, item, &trace);
    if (frames->n == FRAMES_KEPT) frames->n--;
    if (!reaches_item(frames, frames->n, item)) add_frame(frames, (Frame){.at = item});
  }
  add_diag(vm, &d, trace.data, frames);
  rt_clear_error(&vm->rt);
  return status;
}

const char report_underivable_hint[] =
    "`stop_gradient` of its argument makes that a constant; a function without an effect may have a `pullback`";

void report_underivable(AtledVM *vm, const Unit *u, uint32_t site, const char *message) {
  Frames *frames = NEW(&vm->scratch, Frames), *chain = NEW(&vm->scratch, Frames);
  add_unit_frames(vm, frames, chain, u, site);
  Diag d = {.severity = SEV_ERROR,
            .code = kind_names[ERR_EFFECT],
            .message = message,
            .hint = report_underivable_hint,
            .at = frames->n ? frames->all[0].at : (Span){0}};
  Str trace = {.arena = &vm->scratch};
  print_frames(vm, frames, &trace);
  add_diag(vm, &d, trace.data, NULL);
}

/* ---- Public --------------------------------------------------------------------- */
const AtledDiagnostic *atled_error(const AtledVM *vm) {
  if (!vm) return NULL;
  if (vm->refused) return &vm->no_call;
  if (vm->out_of_memory) return &vm->no_memory;
  return vm->first_error < 0 ? NULL : &vm->reports.data[vm->first_error];
}

int atled_diagnostic_count(const AtledVM *vm) { return !vm ? 0 : vm->out_of_memory ? 1 : vm->reports.len; }

const AtledDiagnostic *atled_diagnostic(const AtledVM *vm, int index) {
  if (index < 0 || index >= atled_diagnostic_count(vm)) return NULL;
  return vm->out_of_memory ? &vm->no_memory : &vm->reports.data[index];
}
