/* SPDX-License-Identifier: MIT */
/* JSON texts (RFC 8259): to values of stdlib/Json.atl's type t, and arrays of numbers back to text.
 *
 * The parser shifts finished values onto a stack of its own, with a frame for each bracket that is open; a closing
 * bracket makes an array or object of those above its frame. An array of numbers alone may become one block of floats:
 * it is tried first, and where something else is met the array is begun again. */
#include "runtime/json_tags.h"
#include "runtime/runtime_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Frame {
  bool object;   /* its values come in pairs: key, value */
  int64_t first; /* of its values */
} Frame;

typedef struct Parser {
  Rt *rt;
  const Desc *type;
  bool packed;
  const char *text, *p, *end; /* all of it; what comes next; a NUL stands at the end */
  Slot *values;
  int64_t len, cap;
  double *numbers; /* of the array that is being packed */
  int64_t numbers_cap;
  Frame frames[LIMIT_JSON_DEPTH];
  int depth;
  const char *wrong; /* where the text is no JSON */
  bool too_deep;
  int64_t turns;
} Parser;

/* Every function that reads gives false if that failed: in the text (p->wrong is set), or with an error of rt. */
static bool unexpected(Parser *p, const char *at) {
  p->wrong = at;
  return false;
}

static void skip_blanks(Parser *p) {
  while (*p->p == ' ' || *p->p == '\n' || *p->p == '\r' || *p->p == '\t') p->p++;
}

static bool look(Parser *p) { return !rt_look_at(p->rt, ++p->turns); }

static bool push(Parser *p, Slot v) {
  if (!rt_reserve(p->rt, &p->values, &p->cap, p->len + 1, sizeof v)) return false;
  p->values[p->len++] = v;
  return true;
}

/* Pushes what may be an object, which is the caller's no longer. */
static bool push_object(Parser *p, Obj *o) {
  if (!o || !push(p, (Slot){.p = o})) {
    rt_release(p->rt, o);
    return false;
  }
  return true;
}

/* Pushes a value with this payload, which is taken. */
static bool push_value(Parser *p, JsonTag tag, Slot payload, bool counted) {
  BoxObj *b = rt_new_box(p->rt, p->type, tag);
  if (b) b->fields[0] = payload;
  else if (counted) rt_release(p->rt, payload.p);
  return b && push_object(p, &b->h);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A decimal number, so far: its digits as an integer, and the power of ten that it is multiplied by. */
typedef struct Decimal {
  uint64_t digits;
  int64_t exponent;
  bool exact; /* no digit was left out */
} Decimal;

static const char *read_digits(const char *s, Decimal *d, int scale) {
  for (; is_digit(*s); s++) {
    if (d->digits > (UINT64_MAX - 9) / 10) {
      d->exact = false;
      continue;
    }
    d->digits = 10 * d->digits + (uint64_t)(*s - '0');
    d->exponent += scale;
  }
  return s;
}

/* Both factors are floats, so the result is the nearest one. */
static bool small_product(const Decimal *d, double *x) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!d->exact || d->digits > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22) return false;
  double digits = (double)d->digits;
  *x = d->exponent < 0 ? digits / powers[-d->exponent] : digits * powers[d->exponent];
  return true;
}

/* number = ["-"] ("0" | digit1-9 digits) ["." digits] [("e" | "E") ["+" | "-"] digits] */
static bool read_number(Parser *p, double *x) {
  const char *start = p->p, *s = start + (*start == '-'), *whole = s;
  Decimal d = {.exact = true};
  s = read_digits(s, &d, 0);
  if (s == whole) return unexpected(p, s);
  if (*whole == '0' && s > whole + 1) return unexpected(p, whole + 1);
  if (*s == '.') {
    const char *fraction = s + 1;
    s = read_digits(fraction, &d, -1);
    if (s == fraction) return unexpected(p, s);
  }
  if (*s == 'e' || *s == 'E') {
    const char *digits = s + 1 + (s[1] == '+' || s[1] == '-');
    Decimal e = {.exact = true};
    bool negative = s[1] == '-';
    s = read_digits(digits, &e, 0);
    if (s == digits) return unexpected(p, s);
    if (!e.exact || e.digits > 100000) d.exact = false;
    else d.exponent += negative ? -(int64_t)e.digits : (int64_t)e.digits;
  }
  if (!small_product(&d, x)) *x = strtod(start, NULL);
  else if (*start == '-') *x = -*x;
  p->p = s;
  return true;
}

static bool number(Parser *p) {
  double x;
  return read_number(p, &x) && push_value(p, J_NUMBER, (Slot){.f = x}, false);
}

static bool begins_number(char c) { return c == '-' || is_digit(c); }

/* The array of numbers whose first element comes next, or p as it was and *packed false. */
static bool numbers(Parser *p, bool *packed) {
  const char *start = p->p;
  int64_t n = 0;
  *packed = true;
  while (begins_number(*p->p)) {
    if (!look(p) || !rt_reserve(p->rt, &p->numbers, &p->numbers_cap, n + 1, sizeof(double))) return false;
    if (!read_number(p, &p->numbers[n++])) break;
    skip_blanks(p);
    if (*p->p == ']') {
      p->p++;
      ArrayObj *a = rt_new_array(p->rt, p->type->args[J_NUMBERS], &n, false);
      if (a) memcpy(a->data, p->numbers, (size_t)n * sizeof(double));
      return a && push_value(p, J_NUMBERS, (Slot){.p = &a->h}, true);
    }
    if (*p->p != ',') break;
    p->p++;
    skip_blanks(p);
  }
  *packed = false;
  p->wrong = NULL;
  p->p = start;
  return true;
}

/* ---- Strings ----------------------------------------------------------------------------------------------------- */
/* The code unit of the four hexadecimal digits at s, or -1. */
static int hex4(const char *s) {
  int value = 0;
  for (int k = 0; k < 4; k++) {
    char c = s[k];
    int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return value;
}

/* The code point of the \u escape at *s, which is moved behind it; surrogates come in pairs, else it is -1. */
static int32_t code_point(const char **s) {
  int high = hex4(*s + 2);
  *s += high < 0 ? 0 : 6;
  if (high < 0xd800 || high > 0xdfff) return high;
  if (high > 0xdbff || (*s)[0] != '\\' || (*s)[1] != 'u') return -1;
  int low = hex4(*s + 2);
  if (low < 0xdc00 || low > 0xdfff) return -1;
  *s += 6;
  return 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
}

static char *add_utf8(char *out, int32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
  } else if (c < 0x800) {
    *out++ = (char)(0xc0 + c / 64);
    *out++ = (char)(0x80 + c % 64);
  } else {
    if (c < 0x10000) {
      *out++ = (char)(0xe0 + c / 4096);
    } else {
      *out++ = (char)(0xf0 + c / 262144);
      *out++ = (char)(0x80 + c / 4096 % 64);
    }
    *out++ = (char)(0x80 + c / 64 % 64);
    *out++ = (char)(0x80 + c % 64);
  }
  return out;
}

/* What an escape stands for, but for \u; 0 if it is none. */
static char escaped(char c) {
  switch (c) {
  case '"':
  case '/':
  case '\\': return c;
  case 'b': return '\b';
  case 'f': return '\f';
  case 'n': return '\n';
  case 'r': return '\r';
  case 't': return '\t';
  default: return 0;
  }
}

/* The quote that ends the string whose text starts at s, or the end of the text. */
static const char *closing_quote(const Parser *p, const char *s) {
  while (s < p->end && *s != '"') s += *s == '\\' ? 2 : 1;
  return s < p->end ? s : p->end;
}

/* Fills in what stands from p->p to stop; *end is behind it. */
static bool unescape(Parser *p, const char *stop, char *out, char **end) {
  for (const char *s = p->p; s < stop;) {
    const char *at = s;
    if ((unsigned char)*s < ' ') return unexpected(p, s);
    if (*s != '\\') {
      *out++ = *s++;
    } else if (s[1] == 'u') {
      int32_t c = code_point(&s);
      if (c < 0) return unexpected(p, at);
      out = add_utf8(out, c);
    } else {
      char c = escaped(s[1]);
      if (!c) return unexpected(p, at);
      *out++ = c;
      s += 2;
    }
  }
  *end = out;
  return true;
}

/* Pushes a bare string, whose opening quote comes next. No escape is shorter than what it stands for. */
static bool string(Parser *p) {
  const char *stop = closing_quote(p, ++p->p);
  if (stop == p->end) return unexpected(p, stop);
  if (!memchr(p->p, '\\', (size_t)(stop - p->p))) {
    for (const char *s = p->p; s < stop; s++)
      if ((unsigned char)*s < ' ') return unexpected(p, s);
    if (!push_object(p, rt_new_string(p->rt, p->p, (size_t)(stop - p->p)))) return false;
  } else {
    char *room = heap_realloc(p->rt->heap, NULL, 0, (size_t)(stop - p->p)), *end = room;
    if (!room) return rt_out_of_memory(p->rt), false;
    bool good = unescape(p, stop, room, &end) && push_object(p, rt_new_string(p->rt, room, (size_t)(end - room)));
    heap_realloc(p->rt->heap, room, (size_t)(stop - p->p), 0);
    if (!good) return false;
  }
  p->p = stop + 1;
  return true;
}

static bool string_value(Parser *p) { return string(p) && push_value(p, J_STRING, p->values[--p->len], true); }

/* ---- Arrays and objects ------------------------------------------------------------------------------------------ */
/* Makes a value of all above the frame on top, which is closed. */
static bool close_frame(Parser *p) {
  const Frame *f = &p->frames[--p->depth];
  int64_t slots = p->len - f->first, n = f->object ? slots / 2 : slots;
  JsonTag tag = f->object ? J_OBJECT : J_ARRAY;
  ArrayObj *a = rt_new_array(p->rt, p->type->args[tag], &n, false);
  if (!a) return false;
  if (slots) memcpy(a->data, p->values + f->first, (size_t)slots * sizeof(Slot));
  p->len = f->first;
  return push_value(p, tag, (Slot){.p = &a->h}, true);
}

/* A member's key and colon. */
static bool key(Parser *p) {
  skip_blanks(p);
  if (*p->p != '"') return unexpected(p, p->p);
  if (!string(p)) return false;
  skip_blanks(p);
  if (*p->p != ':') return unexpected(p, p->p);
  p->p++;
  return true;
}

/* A bracket and what follows it up to the first element; *done if there is none, or the array was packed. */
static bool open_frame(Parser *p, bool *done) {
  if (p->depth == LIMIT_JSON_DEPTH) {
    p->too_deep = true;
    return unexpected(p, p->p);
  }
  bool object = *p->p++ == '{';
  *done = false;
  skip_blanks(p);
  if (!object && p->packed && begins_number(*p->p)) {
    if (!numbers(p, done)) return false;
    if (*done) return true;
  }
  p->frames[p->depth++] = (Frame){object, p->len};
  *done = *p->p == (object ? '}' : ']');
  if (*done) p->p++;
  return *done ? close_frame(p) : !object || key(p);
}

static bool word(Parser *p, const char *w, Slot value, bool boxed, JsonTag tag) {
  size_t n = strlen(w);
  if ((size_t)(p->end - p->p) < n || memcmp(p->p, w, n) != 0) return unexpected(p, p->p);
  p->p += n;
  return boxed ? push_value(p, tag, value, false) : push(p, value);
}

/* A value, or its beginning: then *done is false, and an element comes next. */
static bool value(Parser *p, bool *done) {
  *done = true;
  skip_blanks(p);
  switch (*p->p) {
  case 'n': return word(p, "null", (Slot){.i = J_NULL << 1 | 1}, false, J_NULL);
  case 't': return word(p, "true", (Slot){.i = 1}, true, J_BOOL);
  case 'f': return word(p, "false", (Slot){.i = 0}, true, J_BOOL);
  case '"': return string_value(p);
  case '[':
  case '{': return open_frame(p, done);
  default: return number(p);
  }
}

/* What stands behind a value: closes frames, up to one that has a further element. */
static bool after_value(Parser *p) {
  while (p->depth > 0) {
    bool object = p->frames[p->depth - 1].object;
    skip_blanks(p);
    if (*p->p == ',') {
      p->p++;
      return !object || key(p);
    }
    if (*p->p != (object ? '}' : ']')) return unexpected(p, p->p);
    p->p++;
    if (!close_frame(p)) return false;
  }
  return true;
}

static bool whole_text(Parser *p) {
  bool done;
  do {
    if (!look(p) || !value(p, &done) || (done && !after_value(p))) return false;
  } while (!done || p->depth > 0);
  skip_blanks(p);
  return p->p == p->end || unexpected(p, p->p);
}

static Obj *what_is_wrong(const Parser *p) {
  char text[80];
  int n = 0;
  long long at = (long long)(p->wrong - p->text);
  if (p->too_deep) n = snprintf(text, sizeof text, "JSON: nested deeper than %d at byte %lld", LIMIT_JSON_DEPTH, at);
  else if (p->wrong >= p->end) n = snprintf(text, sizeof text, "JSON: the text ends too early");
  else if (p->wrong) n = snprintf(text, sizeof text, "JSON: unexpected character at byte %lld", at);
  return rt_new_string(p->rt, text, (size_t)n);
}

/* The value, or null and a message. */
PRIM(prim_json_parse) {
  PRIM_UNUSED;
  const StringObj *text = slot_string(&args[1]);
  Parser p = {.rt = rt, .type = type, .packed = args[2].i, .text = text->bytes, .p = text->bytes};
  p.end = p.text + text->len;
  bool good = whole_text(&p), failed = !good && !p.wrong;
  Slot result = good ? p.values[--p.len] : (Slot){.i = J_NULL << 1 | 1};
  while (p.len > 0) rt_release(rt, p.values[--p.len].p);
  heap_realloc(rt->heap, p.values, (size_t)p.cap * sizeof(Slot), 0);
  heap_realloc(rt->heap, p.numbers, (size_t)p.numbers_cap * sizeof(double), 0);
  Obj *message = failed ? NULL : good ? rt_new_string(rt, "", 0) : what_is_wrong(&p);
  if (!message) {
    rt_release(rt, result.p);
    return 1;
  }
  res[0] = result;
  res[1].p = message;
  return 0;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */
/* 3, not 3.0. What isn't finite becomes null. */
static void add_number(Buf *b, double x) {
  char text[40];
  if (!isfinite(x)) {
    buf_puts(b, "null");
  } else if (x == floor(x) && fabs(x) < 1e15 && !(x == 0 && signbit(x))) {
    buf_add(b, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)x));
  } else {
    buf_add(b, text, (size_t)rt_format_double(x, text));
  }
}

PRIM(prim_json_numbers) {
  PRIM_UNUSED;
  const ArrayObj *a = slot_array(&args[0]);
  Buf b = {.rt = rt};
  buf_addc(&b, '[');
  for (int64_t i = 0; i < a->dims[0] && !b.failed; i++) {
    if (i) buf_puts(&b, ", ");
    add_number(&b, a->data[i].f);
    if (rt_look_at(rt, i)) b.failed = true;
  }
  buf_addc(&b, ']');
  return buf_string(&b, &res->p);
}
