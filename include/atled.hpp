/* SPDX-License-Identifier: MIT */
/* Atled for C++17 and later, over atled.h, which says what each call promises. The header is all there is.
 *
 *   struct Params { double beta, sigma, gamma; };
 *   ATLED_RECORD(Params, beta, sigma, gamma)
 *
 *   atled::VM vm;
 *   vm.eval("model.atl", source);
 *   auto loss = vm.function<double(Params)>("loss");
 *   Params slope = loss.gradient()({0.3, 1.0, 0.1});
 *
 * Errors are exceptions, derived from atled::Error. Exceptions of the host's callbacks come out of the call that called
 * them; none passes through the library. A VM lives as long as any of what was made from it: functions, native
 * pointers, kept results. What was moved from may be destroyed and assigned to; a call of it is a BadArgument.
 *
 * Threads: as in atled.h. A VM with all that was made from it is used by one thread at a time, but for VM::interrupt
 * and the calls of native pointers.
 *
 * Types, in both directions:
 *
 *   double, float               float        std::vector, std::array    'a[], of vectors in vectors 'a[][], …
 *   bool                        bool         std::span, Range           the same, without owning it
 *   int64_t and other integers  int          std::tuple, std::pair      'a * 'b
 *   std::string, string_view    string       std::optional              'a option
 *   std::monostate              unit         structs (ATLED_RECORD)     records
 *   std::list                   'a list      std::variant               variants (ATLED_VARIANT)
 *
 * Numbers that don't fit (an int in a result that is too large for the host's type) are a BadArgument. Arrays of
 * double, int64_t, and std::arrays of them, aren't copied on their way in. A result that is a span, a Range or a
 * string_view is where the VM has it, until the next call of the function: Function::keep makes it last. */
#ifndef ATLED_HPP
#define ATLED_HPP
#include "atled.h"
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace atled {

/* ---- Errors ------------------------------------------------------------------------------------------------------ */
struct Note {
  std::string file, message;
  int line = 0, column = 0, end_line = 0, end_column = 0;
};
struct Frame {
  std::string function, file; /* function: empty if it has no name */
  int line = 0, column = 0, end_line = 0, end_column = 0;
};
/* As AtledDiagnostic; empty strings where that has NULL. */
struct Details {
  AtledStatus status = ATLED_OK;
  std::string kind, message, file, rendered, label, hint;
  int line = 0, column = 0, end_line = 0, end_column = 0;
  std::vector<Note> notes;
  std::vector<Frame> frames;
  int exit_status = 0; /* of Exit */
  std::size_t set = 0; /* of Function::many: the number of the set that failed, from 0 */
};

/* The call failed. what() is the message. */
class Error : public std::runtime_error {
public:
  explicit Error(std::shared_ptr<const Details> details)
      : std::runtime_error(details->message), details_(std::move(details)) {}
  AtledStatus status() const noexcept { return details_->status; }
  const std::string &kind() const noexcept { return details_->kind; }
  const std::string &file() const noexcept { return details_->file; } /* empty: the error has no place */
  int line() const noexcept { return details_->line; }
  int column() const noexcept { return details_->column; }
  const std::string &hint() const noexcept { return details_->hint; }
  const std::string &rendered() const noexcept { return details_->rendered; } /* for a person, with source lines */
  const Details &details() const noexcept { return *details_; }

private:
  std::shared_ptr<const Details> details_;
};
class CompileError : public Error {
  using Error::Error;
};
class RuntimeError : public Error {
  using Error::Error;
};
class TimeLimit : public RuntimeError {
  using RuntimeError::RuntimeError;
};
class Interrupted : public RuntimeError {
  using RuntimeError::RuntimeError;
};
class MemoryError : public Error {
  using Error::Error;
};
class BadArgument : public Error {
  using Error::Error;
};
class TestFailure : public Error {
  using Error::Error;
};
/* The program called `exit`. */
class Exit : public Error {
public:
  using Error::Error;
  int exit_status() const noexcept { return details().exit_status; }
};

namespace detail {
inline std::string text_or_empty(const char *s) { return s ? std::string(s) : std::string(); }

inline Details details_of(AtledStatus status, const AtledDiagnostic &d) {
  Details to;
  to.status = status;
  to.kind = text_or_empty(d.kind);
  to.message = text_or_empty(d.message);
  to.file = text_or_empty(d.file);
  to.rendered = text_or_empty(d.rendered);
  to.label = text_or_empty(d.label);
  to.hint = text_or_empty(d.hint);
  to.line = d.line;
  to.column = d.column;
  to.end_line = d.end_line;
  to.end_column = d.end_column;
  for (int i = 0; i < d.note_count; i++) {
    const AtledNote &n = *d.notes[i];
    to.notes.push_back({text_or_empty(n.file), text_or_empty(n.message), n.line, n.column, n.end_line, n.end_column});
  }
  for (int i = 0; i < d.frame_count; i++) {
    const AtledFrame &f = *d.frames[i];
    to.frames.push_back({text_or_empty(f.function), text_or_empty(f.file), f.line, f.column, f.end_line, f.end_column});
  }
  return to;
}

[[noreturn]] inline void raise(Details d) {
  auto shared = std::make_shared<const Details>(std::move(d));
  switch (shared->status) {
  case ATLED_COMPILE_ERROR:
  case ATLED_INCOMPLETE: throw CompileError(shared);
  case ATLED_RUNTIME_ERROR:
    if (shared->kind == "time") throw TimeLimit(shared);
    if (shared->kind == "interrupt") throw Interrupted(shared);
    throw RuntimeError(shared);
  case ATLED_NO_MEMORY: throw MemoryError(shared);
  case ATLED_TEST_FAILURE: throw TestFailure(shared);
  case ATLED_EXIT: throw Exit(shared);
  default: throw BadArgument(shared);
  }
}

/* An error of this header's own. */
[[noreturn]] inline void refuse(const std::string &message, AtledStatus status = ATLED_BAD_ARGUMENT) {
  Details d;
  d.status = status;
  d.kind = status == ATLED_NO_MEMORY ? "memory" : "bad-argument";
  d.message = message;
  d.rendered = "error: " + message + "\n";
  raise(std::move(d));
}
} // namespace detail

/* ---- Ranges ------------------------------------------------------------------------------------------------------ */
/* Elements that lie one after the other, of whatever owns them: std::span for C++17. */
template <class T> class Range {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  Range() noexcept = default;
  Range(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <class C, class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<C &>().data()), T *> &&
                                              !std::is_same_v<std::remove_cv_t<std::remove_reference_t<C>>, Range>>>
  Range(C &&owner) noexcept : data_(owner.data()), size_(owner.size()) {}
  template <std::size_t N> Range(T (&owner)[N]) noexcept : data_(owner), size_(N) {}
  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

/* ---- Types ------------------------------------------------------------------------------------------------------- */
/* How a type of the host's crosses the border. A specialisation has
 *   name(out, atom)     appends the type as source writes it; atom: in brackets unless it is one word
 *   Store               what put() needs beside the value, until the call
 *   put(x, store)       an argument, which may point to x and to the store
 *   get(v)              a result. It was looked up at the type `name`, so its kind is known */
template <class T, class = void> struct Type;

namespace detail {
template <class T> using Bare = std::remove_cv_t<std::remove_reference_t<T>>;
/* A Store of nothing. `owns`: results may point to what the Store holds. */
struct Empty {
  static constexpr bool owns = false;
};

template <class T> struct is_character : std::false_type {};
template <> struct is_character<char> : std::true_type {};
template <> struct is_character<wchar_t> : std::true_type {};
template <> struct is_character<char16_t> : std::true_type {};
template <> struct is_character<char32_t> : std::true_type {};
#ifdef __cpp_char8_t
template <> struct is_character<char8_t> : std::true_type {};
#endif
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>::value;
template <class T> inline constexpr bool is_floating = std::is_same_v<T, double> || std::is_same_v<T, float>;

template <class T> std::int64_t widen(T x) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
    if (x > static_cast<T>(std::numeric_limits<std::int64_t>::max())) refuse("an integer is too large for an int");
  return static_cast<std::int64_t>(x);
}

template <class T> T narrow(std::int64_t i) {
  if (static_cast<std::int64_t>(static_cast<T>(i)) != i || (std::is_unsigned_v<T> && i < 0))
    refuse("the int " + std::to_string(i) + " doesn't fit the host's type");
  return static_cast<T>(i);
}

inline AtledValue value_of(AtledKind kind) {
  AtledValue v{};
  v.kind = kind;
  return v;
}

inline void expect(bool holds, const char *what) {
  if (!holds) refuse(what);
}
} // namespace detail

template <> struct Type<std::monostate> {
  using Store = detail::Empty;
  static void name(std::string &out, bool) { out += "unit"; }
  static AtledValue put(std::monostate, Store &) { return detail::value_of(ATLED_UNIT); }
  static std::monostate get(const AtledValue &) { return {}; }
};
template <> struct Type<bool> {
  using Store = detail::Empty;
  static void name(std::string &out, bool) { out += "bool"; }
  static AtledValue put(bool b, Store &) { return atled_bool(b); }
  static bool get(const AtledValue &v) { return v.as.boolean; }
};
template <class T> struct Type<T, std::enable_if_t<detail::is_integer<T>>> {
  using Store = detail::Empty;
  static void name(std::string &out, bool) { out += "int"; }
  static AtledValue put(T i, Store &) { return atled_int(detail::widen(i)); }
  static T get(const AtledValue &v) { return detail::narrow<T>(v.as.integer); }
};
template <class T> struct Type<T, std::enable_if_t<detail::is_floating<T>>> {
  using Store = detail::Empty;
  static void name(std::string &out, bool) { out += "float"; }
  static AtledValue put(T x, Store &) { return atled_float(static_cast<double>(x)); }
  static T get(const AtledValue &v) { return static_cast<T>(v.as.number); }
};
template <> struct Type<std::string_view> {
  using Store = detail::Empty;
  static void name(std::string &out, bool) { out += "string"; }
  static AtledValue put(std::string_view s, Store &) {
    AtledValue v = detail::value_of(ATLED_STRING);
    v.as.string = s.data() ? s.data() : "";
    v.length = s.size();
    return v;
  }
  static std::string_view get(const AtledValue &v) { return {v.as.string, v.length}; }
};
template <> struct Type<std::string> : Type<std::string_view> {
  static std::string get(const AtledValue &v) { return {v.as.string, v.length}; }
};
/* Arguments only. */
template <> struct Type<const char *> : Type<std::string_view> {};

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */
namespace detail {
template <class T> struct Sequence { static constexpr bool value = false, is_view = false; };
template <class E, class A> struct Sequence<std::vector<E, A>> {
  static constexpr bool value = true, is_view = false, grows = true;
  using Element = E;
};
template <class E, std::size_t N> struct Sequence<std::array<E, N>> {
  static constexpr bool value = true, is_view = false, grows = false;
  using Element = E;
};
template <class E> struct Sequence<Range<E>> {
  static constexpr bool value = true, is_view = true, grows = false;
  using Element = std::remove_cv_t<E>;
};
#if __cplusplus >= 202002L
template <class E> struct Sequence<std::span<E>> {
  static constexpr bool value = true, is_view = true, grows = false;
  using Element = std::remove_cv_t<E>;
};
#endif

/* The elements below all sequences, and how many of these there are. */
template <class T, class = void> struct Nest {
  using Base = T;
  static constexpr int rank = 0;
};
template <class T> struct Nest<T, std::enable_if_t<Sequence<T>::value>> {
  using Inner = Nest<typename Sequence<T>::Element>;
  using Base = typename Inner::Base;
  static constexpr int rank = Inner::rank + 1;
};

/* A type of which n values lie as the VM's numbers and bools do. */
template <class T> struct Flat {
  static constexpr bool value = std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                                (is_integer<T> && std::is_signed_v<T> && sizeof(T) == sizeof(std::int64_t));
  static void dims(std::int64_t *) {}
};
template <class E, std::size_t N> struct Flat<std::array<E, N>> {
  static constexpr bool value = N > 0 && Flat<E>::value && sizeof(std::array<E, N>) == N * sizeof(E);
  static void dims(std::int64_t *to) {
    *to = static_cast<std::int64_t>(N);
    Flat<E>::dims(to + 1);
  }
};

template <class T> constexpr AtledKind element_kind() {
  if (is_floating<T>) return ATLED_FLOAT;
  if (std::is_same_v<T, bool>) return ATLED_BOOL;
  if (is_integer<T>) return ATLED_INT;
  if (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) return ATLED_STRING;
  return ATLED_TUPLE; /* of any AtledValues */
}

/* Elements that were copied, as the C interface has them. */
template <class T> struct Values {
  static constexpr bool owns = true;
  std::vector<AtledValue> all;
  std::list<typename Type<T>::Store> stores;
  void add(const T &x) {
    stores.emplace_back();
    all.push_back(Type<T>::put(x, stores.back()));
  }
};
template <class T, class = void> struct Copies : Values<T> {
  static T get(const AtledValue &v, std::size_t i) { return Type<T>::get(v.as.items[i]); }
};
template <class T> struct Copies<T, std::enable_if_t<is_floating<T>>> {
  static constexpr bool owns = true;
  std::vector<double> all;
  void add(T x) { all.push_back(static_cast<double>(x)); }
  static T get(const AtledValue &v, std::size_t i) { return static_cast<T>(v.as.floats[i]); }
};
template <class T> struct Copies<T, std::enable_if_t<is_integer<T>>> {
  static constexpr bool owns = true;
  std::vector<std::int64_t> all;
  void add(T x) { all.push_back(widen(x)); }
  static T get(const AtledValue &v, std::size_t i) { return narrow<T>(v.as.ints[i]); }
};
template <> struct Copies<bool> {
  static constexpr bool owns = true;
  std::vector<unsigned char> all;
  void add(bool x) { all.push_back(x); }
  static bool get(const AtledValue &v, std::size_t i) { return v.as.bools[i]; }
};
template <class T>
struct Copies<T, std::enable_if_t<std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>>> {
  static constexpr bool owns = true;
  std::vector<AtledText> all;
  void add(const T &x) { all.push_back({x.data(), x.size()}); }
  static T get(const AtledValue &v, std::size_t i) { return T(v.as.texts[i].bytes, v.as.texts[i].length); }
};

template <class T> void measure(const T &x, std::int64_t *dims) {
  if constexpr (Sequence<T>::value) {
    *dims = static_cast<std::int64_t>(x.size());
    if constexpr (Nest<T>::rank > 1)
      if (x.size() > 0) measure(static_cast<const typename Sequence<T>::Element &>(x[0]), dims + 1);
  }
}

template <class T, class C> void copy_elements(const T &x, const std::int64_t *dims, C &to) {
  if constexpr (Sequence<T>::value) {
    if (static_cast<std::int64_t>(x.size()) != *dims)
      refuse("the rows of an array have different lengths: " + std::to_string(*dims) + " and " +
             std::to_string(x.size()));
    for (std::size_t i = 0; i < x.size(); i++) copy_elements<typename Sequence<T>::Element>(x[i], dims + 1, to);
  } else {
    to.add(x);
  }
}

inline void resize(std::int64_t needed, std::size_t has) {
  if (static_cast<std::size_t>(needed) != has)
    refuse("the result has " + std::to_string(needed) + " elements, and the host's array " + std::to_string(has));
}

/* Fills x with elements of the result from `at` on. */
template <class T> void fill(T &x, const AtledValue &v, const std::int64_t *dims, std::size_t &at) {
  if constexpr (Sequence<T>::value) {
    const auto n = static_cast<std::size_t>(*dims);
    if constexpr (std::is_same_v<T, std::vector<bool>>) {
      x.resize(n);
      for (std::size_t i = 0; i < n; i++) x[i] = v.as.bools[at++];
      return;
    } else {
      if constexpr (Sequence<T>::grows) x.resize(n);
      else resize(*dims, x.size());
      for (std::size_t i = 0; i < n; i++) fill(x[i], v, dims + 1, at);
    }
  } else {
    x = Copies<T>::get(v, at++);
  }
}
} // namespace detail

template <class T> struct Type<T, std::enable_if_t<detail::Sequence<T>::value>> {
  using Element = typename detail::Sequence<T>::Element;
  using Base = typename detail::Nest<T>::Base;
  static constexpr int rank = detail::Nest<T>::rank;
  static constexpr bool shared = detail::Flat<Element>::value && !std::is_same_v<T, std::vector<bool>>;
  static_assert(rank <= ATLED_MAX_RANK, "an array of more dimensions than a host may have");
  using Store = std::conditional_t<shared, detail::Empty, detail::Copies<Base>>;

  static void name(std::string &out, bool) {
    Type<Base>::name(out, true);
    for (int i = 0; i < rank; i++) out += "[]";
  }

  /* Over the host's own memory. */
  static AtledValue over(const void *data, std::size_t n) {
    std::int64_t dims[ATLED_MAX_RANK] = {static_cast<std::int64_t>(n)};
    detail::Flat<Element>::dims(dims + 1);
    return atled_array(detail::element_kind<Base>(), data, rank, dims, nullptr);
  }

  static AtledValue put(const T &x, [[maybe_unused]] Store &store) {
    if constexpr (shared) {
      return over(x.data(), x.size());
    } else {
      std::int64_t dims[ATLED_MAX_RANK] = {0};
      detail::measure(x, dims);
      detail::copy_elements(x, dims, store);
      return atled_array(detail::element_kind<Base>(), store.all.data(), rank, dims, nullptr);
    }
  }

  static T get(const AtledValue &v) {
    if constexpr (detail::Sequence<T>::is_view) {
      static_assert(shared,
                    "a view of a result has elements as the VM has them: double, int64_t, bool, arrays of them");
      static_assert(std::is_const_v<typename T::element_type>,
                    "a result is read only: its view is one of const elements");
      std::int64_t dims[ATLED_MAX_RANK] = {v.dims[0]};
      detail::Flat<Element>::dims(dims + 1);
      for (int i = 1; i < rank; i++) detail::resize(v.dims[i], static_cast<std::size_t>(dims[i]));
      return T(static_cast<const Element *>(v.as.data), static_cast<std::size_t>(v.dims[0]));
    } else {
      T x{};
      if constexpr (shared && rank == 1 && std::is_same_v<T, std::vector<Element>>) {
        if (v.length)
          x.assign(static_cast<const Element *>(v.as.data), static_cast<const Element *>(v.as.data) + v.length);
      } else {
        std::size_t at = 0;
        detail::fill(x, v, v.dims, at);
      }
      return x;
    }
  }
};

/* ---- Tuples ------------------------------------------------------------------------------------------------------ */
namespace detail {
template <class... T> struct Items {
  static constexpr bool owns = (Type<T>::Store::owns || ...);
  std::tuple<typename Type<T>::Store...> stores;
  std::array<AtledValue, sizeof...(T)> items;
};

template <class Tuple, class... T> struct TupleType {
  static_assert(sizeof...(T) >= 2, "a tuple has two items or more");
  using Store = Items<T...>;
  static void name(std::string &out, bool atom) {
    bool first = true;
    if (atom) out += "(";
    ((out += first ? "" : " * ", first = false, Type<T>::name(out, true)), ...);
    if (atom) out += ")";
  }
  static AtledValue put(const Tuple &x, Store &s) { return put_items(x, s, std::index_sequence_for<T...>()); }
  static Tuple get(const AtledValue &v) { return get_items(v, std::index_sequence_for<T...>()); }

private:
  template <std::size_t... I> static AtledValue put_items(const Tuple &x, Store &s, std::index_sequence<I...>) {
    ((s.items[I] = Type<T>::put(std::get<I>(x), std::get<I>(s.stores))), ...);
    return atled_tuple(s.items.data(), s.items.size());
  }
  template <std::size_t... I> static Tuple get_items(const AtledValue &v, std::index_sequence<I...>) {
    return Tuple(Type<T>::get(v.as.items[I])...);
  }
};
} // namespace detail
template <class... T> struct Type<std::tuple<T...>> : detail::TupleType<std::tuple<T...>, T...> {};
template <class A, class B> struct Type<std::pair<A, B>> : detail::TupleType<std::pair<A, B>, A, B> {};

/* ---- Records ----------------------------------------------------------------------------------------------------- */
namespace detail {
template <class S, class M> struct Field {
  using Member = M;
  std::string_view name;
  M S::*member;
};
template <class S, class M> constexpr Field<S, M> field(std::string_view name, M S::*member) { return {name, member}; }

template <class T, class = void> struct is_record : std::false_type {};
template <class T>
struct is_record<T, std::void_t<decltype(atled_fields(static_cast<const T *>(nullptr)))>> : std::true_type {};

/* Position i holds the index of the field that is i-th in alphabetical order. */
template <class... F> constexpr std::array<std::size_t, sizeof...(F)> in_order(const std::tuple<F...> &fields) {
  std::array<std::size_t, sizeof...(F)> order{};
  std::array<std::string_view, sizeof...(F)> names =
      std::apply([](const auto &...f) { return std::array<std::string_view, sizeof...(F)>{f.name...}; }, fields);
  for (std::size_t i = 0; i < names.size(); i++) {
    std::size_t at = i;
    for (; at > 0 && names[i] < names[order[at - 1]]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  return order;
}

/* The fields of a structure, each with its place in the alphabetical order, in which values have them. */
template <class T> struct Fields {
  static constexpr auto all = atled_fields(static_cast<const T *>(nullptr));
  static constexpr std::size_t count = std::tuple_size_v<std::remove_const_t<decltype(all)>>;
  static constexpr auto order = in_order(all);
  static constexpr std::size_t place_of(std::size_t k) {
    std::size_t i = 0;
    while (order[i] != k) i++;
    return i;
  }
  template <std::size_t K> static constexpr auto member = std::get<K>(all).member;
  template <std::size_t K> using Member = typename std::tuple_element_t<K, std::remove_const_t<decltype(all)>>::Member;
  static std::string_view name(std::size_t k) {
    return std::apply([k](const auto &...f) { return std::array<std::string_view, count>{f.name...}[k]; }, all);
  }
};

template <class T, class Index> struct RecordStore;
template <class T, std::size_t... K>
struct RecordStore<T, std::index_sequence<K...>> : Items<typename Fields<T>::template Member<K>...> {};
} // namespace detail

template <class T> struct Type<T, std::enable_if_t<detail::is_record<T>::value>> {
  using Fields = detail::Fields<T>;
  using Index = std::make_index_sequence<Fields::count>;
  using Store = detail::RecordStore<T, Index>;
  static void name(std::string &out, bool) {
    out += "{";
    name_fields(out, Index());
    out += "}";
  }
  static AtledValue put(const T &x, Store &s) { return put_fields(x, s, Index()); }
  static T get(const AtledValue &v) {
    T x{};
    get_fields(x, v, Index());
    return x;
  }

private:
  template <std::size_t... K> static void name_fields(std::string &out, std::index_sequence<K...>) {
    ((out += K ? ", " : "", out += Fields::name(K), out += " : ",
      Type<typename Fields::template Member<K>>::name(out, false)),
     ...);
  }
  template <std::size_t... K> static AtledValue put_fields(const T &x, Store &s, std::index_sequence<K...>) {
    ((s.items[Fields::place_of(K)] =
          Type<typename Fields::template Member<K>>::put(x.*Fields::template member<K>, std::get<K>(s.stores))),
     ...);
    return atled_tuple(s.items.data(), s.items.size());
  }
  template <std::size_t... K> static void get_fields(T &x, const AtledValue &v, std::index_sequence<K...>) {
    ((x.*Fields::template member<K> = Type<typename Fields::template Member<K>>::get(v.as.items[Fields::place_of(K)])),
     ...);
  }
};

/* ---- Options, lists, variants ------------------------------------------------------------------------------------ */
template <class T> struct Type<std::optional<T>> {
  struct Store {
    static constexpr bool owns = Type<T>::Store::owns;
    typename Type<T>::Store store;
    AtledValue item;
  };
  static void name(std::string &out, bool) {
    Type<T>::name(out, true);
    out += " option";
  }
  static AtledValue put(const std::optional<T> &x, Store &s) {
    if (!x) return atled_variant("None", nullptr);
    s.item = Type<T>::put(*x, s.store);
    return atled_variant("Some", &s.item);
  }
  static std::optional<T> get(const AtledValue &v) {
    if (v.length == 0) return std::nullopt;
    return Type<T>::get(*v.as.items);
  }
};

template <class T> struct Type<std::list<T>> {
  using Store = detail::Values<T>;
  static void name(std::string &out, bool) {
    Type<T>::name(out, true);
    out += " list";
  }
  static AtledValue put(const std::list<T> &x, Store &s) {
    for (const T &item : x) s.add(item);
    return atled_list(s.all.data(), s.all.size());
  }
  static std::list<T> get(const AtledValue &v) {
    std::list<T> x;
    for (std::size_t i = 0; i < v.length; i++) x.push_back(Type<T>::get(v.as.items[i]));
    return x;
  }
};

namespace detail {
/* What a constructor holds: nothing, its only field's value, or a record. */
template <class T, std::size_t N = Fields<T>::count> struct Payload {
  using Held = T;
  static const T &of(const T &x) { return x; }
  static T make(const AtledValue &v) { return Type<T>::get(*v.as.items); }
};
template <class T> struct Payload<T, 1> {
  using Held = typename Fields<T>::template Member<0>;
  static const Held &of(const T &x) { return x.*Fields<T>::template member<0>; }
  static T make(const AtledValue &v) {
    T x{};
    x.*Fields<T>::template member<0> = Type<Held>::get(*v.as.items);
    return x;
  }
};
template <class T> struct Payload<T, 0> {
  using Held = std::monostate;
  static Held of(const T &) { return {}; }
  static T make(const AtledValue &) { return T{}; }
};
template <class T> std::string_view constructor_name() { return atled_constructor(static_cast<const T *>(nullptr)); }
} // namespace detail

template <class... T> struct Type<std::variant<T...>> {
  using Variant = std::variant<T...>;
  struct Store {
    static constexpr bool owns = (Type<typename detail::Payload<T>::Held>::Store::owns || ...);
    std::tuple<typename Type<typename detail::Payload<T>::Held>::Store...> stores;
    AtledValue item;
  };
  static void name(std::string &out, bool) { out += atled_variant_name(static_cast<const Variant *>(nullptr)); }
  static AtledValue put(const Variant &x, Store &s) { return put_case(x, s, std::index_sequence_for<T...>()); }
  static Variant get(const AtledValue &v) {
    std::optional<Variant> x;
    const std::string_view given = v.name;
    (void)((given == detail::constructor_name<T>() && (x = detail::Payload<T>::make(v), true)) || ...);
    if (!x) detail::refuse("the host's variant has no constructor `" + std::string(given) + "`");
    return *std::move(x);
  }

private:
  template <std::size_t... I> static AtledValue put_case(const Variant &x, Store &s, std::index_sequence<I...>) {
    AtledValue v = detail::value_of(ATLED_VARIANT);
    (void)((x.index() == I && (put_held<I>(v, *std::get_if<I>(&x), s), true)) || ...);
    return v;
  }
  template <std::size_t I, class A> static void put_held(AtledValue &v, const A &x, Store &s) {
    using Payload = detail::Payload<A>;
    s.item = Type<typename Payload::Held>::put(Payload::of(x), std::get<I>(s.stores));
    const bool nothing = std::is_same_v<typename Payload::Held, std::monostate>;
    v = atled_variant(detail::constructor_name<A>().data(), nothing ? nullptr : &s.item);
  }
};

/* ---- Columns ----------------------------------------------------------------------------------------------------- */
namespace detail {
/* What columns point to, until the call. */
struct Room {
  std::list<std::array<std::int64_t, ATLED_MAX_RANK>> strides;
  std::list<std::vector<AtledValue>> values;
  std::list<std::shared_ptr<void>> others;
};

template <class T> constexpr AtledKind item_kind() {
  if (Sequence<T>::value) return ATLED_ARRAY;
  return element_kind<T>();
}
template <class T> struct KindOfItem { static constexpr AtledKind kind = item_kind<T>(); };
template <class T> struct KindOfItem<std::optional<T>> { static constexpr AtledKind kind = ATLED_VARIANT; };
template <class... T> struct KindOfItem<std::variant<T...>> { static constexpr AtledKind kind = ATLED_VARIANT; };
template <class T> struct KindOfItem<std::list<T>> { static constexpr AtledKind kind = ATLED_LIST; };

template <class T> const T *next(const T *x, std::int64_t bytes) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(x) + bytes);
}

/* n values that lie so many bytes apart, as atled_call_many has them. `direct`: nothing is copied, and they can be
 * written. */
template <class T, class = void> struct Column {
  static constexpr bool direct = Flat<T>::value;
  static AtledValue of(const T *first, std::int64_t stride, std::size_t n, Room &room) {
    std::int64_t dims[ATLED_MAX_RANK] = {static_cast<std::int64_t>(n)};
    if constexpr (direct) {
      constexpr int rank = Nest<T>::rank + 1;
      using Base = typename Nest<T>::Base;
      Flat<T>::dims(dims + 1);
      auto &strides = room.strides.emplace_back();
      strides[0] = stride;
      std::int64_t step = sizeof(Base);
      for (int i = rank - 1; i > 0; i--) {
        strides[static_cast<std::size_t>(i)] = step;
        step *= dims[i];
      }
      return atled_array(element_kind<Base>(), first, rank, dims, strides.data());
    } else {
      using Copy = std::conditional_t<Sequence<T>::value, Values<T>, Copies<T>>;
      auto copies = std::make_shared<Copy>();
      for (std::size_t k = 0; k < n; k++) copies->add(*next(first, static_cast<std::int64_t>(k) * stride));
      AtledValue v = atled_array(KindOfItem<T>::kind, copies->all.data(), 1, dims, nullptr);
      room.others.push_back(std::move(copies));
      return v;
    }
  }
};
template <class Tuple, class... T> struct TupleColumn {
  static constexpr bool direct = (Column<T>::direct && ...);
  static AtledValue of(const Tuple *first, std::int64_t stride, std::size_t n, Room &room) {
    return std::apply(
        [&](const T &...x) {
          auto &items = room.values.emplace_back();
          (items.push_back(Column<T>::of(&x, stride, n, room)), ...);
          return atled_tuple(items.data(), items.size());
        },
        *first);
  }
};
template <class... T> struct Column<std::tuple<T...>> : TupleColumn<std::tuple<T...>, T...> {};
template <class A, class B> struct Column<std::pair<A, B>> : TupleColumn<std::pair<A, B>, A, B> {};
template <class T> struct Column<T, std::enable_if_t<is_record<T>::value>> {
  using Index = std::make_index_sequence<Fields<T>::count>;
  template <std::size_t... K> static constexpr bool all_direct(std::index_sequence<K...>) {
    return (Column<typename Fields<T>::template Member<K>>::direct && ...);
  }
  static constexpr bool direct = all_direct(Index());
  static AtledValue of(const T *first, std::int64_t stride, std::size_t n, Room &room) {
    return add(first, stride, n, room, Index());
  }

private:
  template <std::size_t... K>
  static AtledValue add(const T *first, std::int64_t stride, std::size_t n, Room &room, std::index_sequence<K...>) {
    auto &items = room.values.emplace_back(sizeof...(K));
    ((items[Fields<T>::place_of(K)] = Column<typename Fields<T>::template Member<K>>::of(
          &(first->*Fields<T>::template member<K>), stride, n, room)),
     ...);
    return atled_tuple(items.data(), items.size());
  }
};
} // namespace detail

/* An argument of Function::many that all sets share. */
template <class T> struct Same { const T &value; };
template <class T> Same<T> same(const T &value) { return {value}; }

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */
namespace detail {
/* Results in place, for Function::into: `of` gives what atled_call_into writes to, `take` reads scalars back. */
template <class T, class = void> struct Buffer {
  static AtledValue of(T &, Room &) { return value_of(ATLED_UNIT); }
  static void take(T &x, const AtledValue &v) { x = Type<T>::get(v); }
};
template <class T> struct Buffer<T, std::enable_if_t<Sequence<T>::value>> {
  static_assert(Type<T>::shared, "a buffer has elements as the VM has them: double, int64_t, bool, arrays of them");
  static AtledValue of(T &x, Room &) { return Type<T>::over(x.data(), x.size()); }
  static void take(T &, const AtledValue &) {}
};
template <class Tuple, class... T> struct TupleBuffer {
  static AtledValue of(Tuple &x, Room &room) {
    return std::apply(
        [&](T &...item) {
          auto &items = room.values.emplace_back();
          (items.push_back(Buffer<T>::of(item, room)), ...);
          return atled_tuple(items.data(), items.size());
        },
        x);
  }
  static void take(Tuple &x, const AtledValue &v) {
    std::size_t i = 0;
    std::apply([&](T &...item) { (Buffer<T>::take(item, v.as.items[i++]), ...); }, x);
  }
};
template <class... T> struct Buffer<std::tuple<T...>> : TupleBuffer<std::tuple<T...>, T...> {};
template <class A, class B> struct Buffer<std::pair<A, B>> : TupleBuffer<std::pair<A, B>, A, B> {};
template <class T> struct Buffer<T, std::enable_if_t<is_record<T>::value>> {
  using Index = std::make_index_sequence<Fields<T>::count>;
  static AtledValue of(T &x, Room &room) { return add(x, room, Index()); }
  static void take(T &x, const AtledValue &v) { take_all(x, v, Index()); }

private:
  template <std::size_t K> using Member = typename Fields<T>::template Member<K>;
  template <std::size_t... K> static AtledValue add(T &x, Room &room, std::index_sequence<K...>) {
    auto &items = room.values.emplace_back(sizeof...(K));
    ((items[Fields<T>::place_of(K)] = Buffer<Member<K>>::of(x.*Fields<T>::template member<K>, room)), ...);
    return atled_tuple(items.data(), items.size());
  }
  template <std::size_t... K> static void take_all(T &x, const AtledValue &v, std::index_sequence<K...>) {
    (Buffer<Member<K>>::take(x.*Fields<T>::template member<K>, v.as.items[Fields<T>::place_of(K)]), ...);
  }
};
} // namespace detail

/* ---- Configurations ---------------------------------------------------------------------------------------------- */
namespace detail {
struct Callbacks {
  std::function<bool(AtledStream, std::string_view)> output;
  std::function<bool(const AtledDisplay &)> display;
  std::function<bool()> flush;
  std::function<std::size_t(char *, std::size_t)> input;
  std::function<void(const AtledDiagnostic &)> diagnostic;
  std::function<void(double)> compiling;
  std::function<std::optional<std::string>(const std::string &)> module;
};
struct FolderRight {
  std::string path;
  unsigned rights;
};
} // namespace detail

/* What a VM is made with: AtledConfig, whose comments say what each setting means. */
class Config {
public:
  Config() { atled_config_init(&raw_); }
  /* For programs that aren't trusted: no rights, and limits. */
  static Config sandbox() {
    Config c;
    atled_sandbox_init(&c.raw_);
    return c;
  }
  Config &memory_limit(std::size_t bytes) { return raw_.memory_limit = bytes, *this; }
  Config &stack_size(std::size_t bytes) { return raw_.stack_size = bytes, *this; }
  Config &time_limit(double seconds) { return raw_.time_limit = seconds, *this; }
  Config &source_limit(std::size_t bytes) { return raw_.source_limit = bytes, *this; }
  Config &output_limit(std::size_t bytes) { return raw_.output_limit = bytes, *this; }
  Config &jit(AtledJit mode) { return raw_.jit = mode, *this; }
  Config &jit_limits(std::size_t memory, double seconds) {
    raw_.jit_memory = memory;
    raw_.jit_time = seconds;
    return *this;
  }
  Config &threads(int n) { return raw_.threads = n, *this; }
  Config &strict(bool on = true) { return raw_.strict = on, *this; }
  Config &trap(AtledTrap what) { return raw_.trap = what, *this; }
  Config &colour(bool on = true) { return raw_.colour = on, *this; }
  Config &cache_folder(std::string path) { return cache_folder_ = std::move(path), *this; }
  Config &cache_size(std::int64_t bytes) { return raw_.cache_size = bytes, *this; }
  Config &args(std::vector<std::string> all) { return args_ = std::move(all), *this; }
  /* Grants rights (a sum of AtledRight) anywhere, or below a folder. */
  Config &allow(unsigned rights) { return raw_.rights |= rights, *this; }
  Config &allow(unsigned rights, std::string folder) {
    folders_.push_back({std::move(folder), rights});
    return *this;
  }
  /* Functions of the host's. They may throw: the call during which they do ends, and throws the same. */
  Config &output(std::function<bool(AtledStream, std::string_view)> f) {
    return callbacks_.output = std::move(f), *this;
  }
  /* Takes what is more than text, as the picture of `Plot.show`. */
  Config &display(std::function<bool(const AtledDisplay &)> f) { return callbacks_.display = std::move(f), *this; }
  Config &flush(std::function<bool()> f) { return callbacks_.flush = std::move(f), *this; }
  /* Puts at least one byte into the buffer of this size; returns their number, 0 at the end. */
  Config &input(std::function<std::size_t(char *, std::size_t)> f) { return callbacks_.input = std::move(f), *this; }
  Config &diagnostic(std::function<void(const AtledDiagnostic &)> f) {
    return callbacks_.diagnostic = std::move(f), *this;
  }
  Config &compiling(std::function<void(double)> f) { return callbacks_.compiling = std::move(f), *this; }
  /* The source of a module that is imported. */
  Config &module(std::function<std::optional<std::string>(const std::string &)> f) {
    return callbacks_.module = std::move(f), *this;
  }
  /* Settings that have no function here. Callbacks of this C structure and those above don't go together: they share
   * `user`, and these set it. */
  AtledConfig &raw() { return raw_; }

private:
  friend class VM;
  AtledConfig raw_;
  detail::Callbacks callbacks_;
  std::vector<std::string> args_;
  std::vector<detail::FolderRight> folders_;
  std::string cache_folder_;
};

/* ---- VMs --------------------------------------------------------------------------------------------------------- */
namespace detail {
/* A VM with what its callbacks need, shared by all that was made of it. */
struct Core {
  AtledVM *vm = nullptr;
  Callbacks callbacks;
  std::string cache_folder, module_text;
  std::vector<std::string> args;
  std::vector<const char *> arg_pointers;
  std::exception_ptr pending; /* what a callback threw in the call that is under way */
  bool busy = false;
  std::vector<AtledFunction *> released; /* in a callback, where that can't be done */
  std::vector<AtledKept *> dropped;

  Core() = default;
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;
  ~Core() {
    tidy();
    atled_free(vm);
  }

  void tidy() noexcept {
    for (AtledFunction *f : released) atled_release(f);
    for (AtledKept *k : dropped) atled_drop(k);
    released.clear();
    dropped.clear();
  }

  /* Runs a callback. */
  template <class R, class F> R guard(R otherwise, F &&f) noexcept {
    try {
      return f();
    } catch (...) {
      if (!pending) pending = std::current_exception();
      return otherwise;
    }
  }

  /* Calls the library, and throws what went wrong. */
  template <class F> void call(F &&f, const std::size_t *set = nullptr) {
    const bool inner = busy;
    busy = true;
    const AtledStatus status = f();
    busy = inner;
    if (status != ATLED_OK || pending || !released.empty() || !dropped.empty()) end_badly(status, inner, set);
  }

  void end_badly(AtledStatus status, bool inner, const std::size_t *set) {
    if (inner) { /* from within a callback: refused */
      fail(status, set);
      return;
    }
    if (pending) {
      std::exception_ptr thrown = std::exchange(pending, nullptr);
      atled_clear_interrupt(vm);
      tidy();
      std::rethrow_exception(thrown);
    }
    if (status != ATLED_OK) {
      Details d = details(status);
      if (set) d.set = *set;
      tidy();
      raise(std::move(d));
    }
    tidy();
  }

  void fail(AtledStatus status, const std::size_t *set) const {
    if (status == ATLED_OK) return;
    Details d = details(status);
    if (set) d.set = *set;
    raise(std::move(d));
  }

  Details details(AtledStatus status) const {
    const AtledDiagnostic *e = atled_error(vm);
    Details d;
    if (e) d = details_of(status, *e);
    d.status = status;
    d.exit_status = atled_exit_status(vm);
    if (status == ATLED_EXIT) d.message = "the program called `exit " + std::to_string(d.exit_status) + "`";
    return d;
  }

  static Core &of(void *user) { return *static_cast<Core *>(user); }
  static bool output(void *user, AtledStream stream, const char *text, std::size_t n) noexcept {
    Core &c = of(user);
    return c.guard(false, [&] { return c.callbacks.output(stream, std::string_view(text, n)); });
  }
  static bool display(void *user, const AtledDisplay *shown) noexcept {
    Core &c = of(user);
    return c.guard(false, [&] { return c.callbacks.display(*shown); });
  }
  static bool flush(void *user) noexcept {
    Core &c = of(user);
    return c.guard(false, [&] { return c.callbacks.flush(); });
  }
  static std::ptrdiff_t input(void *user, char *buffer, std::size_t size) noexcept {
    Core &c = of(user);
    return c.guard(std::ptrdiff_t{-1}, [&] { return static_cast<std::ptrdiff_t>(c.callbacks.input(buffer, size)); });
  }
  static void diagnostic(void *user, const AtledDiagnostic *d) noexcept {
    Core &c = of(user);
    c.guard(0, [&] { return c.callbacks.diagnostic(*d), 0; });
  }
  static void compiling(void *user, double seconds) noexcept {
    Core &c = of(user);
    c.guard(0, [&] { return c.callbacks.compiling(seconds), 0; });
    if (c.pending) atled_interrupt(c.vm);
  }
  static const char *module(void *user, const char *name, std::size_t *length) noexcept {
    Core &c = of(user);
    return c.guard(static_cast<const char *>(nullptr), [&]() -> const char * {
      std::optional<std::string> text = c.callbacks.module(name);
      if (!text) return nullptr;
      c.module_text = *std::move(text);
      *length = c.module_text.size();
      return c.module_text.c_str();
    });
  }
};

/* A handle; what is shared by a Function, its copies and its native pointers. */
struct Handle {
  std::shared_ptr<Core> core;
  std::string expression;
  AtledFunction *f = nullptr;
  std::shared_ptr<void> arguments; /* copies that the last result may point to */

  Handle(std::shared_ptr<Core> c, std::string text) : core(std::move(c)), expression(std::move(text)) {}
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle() {
    if (!f) return;
    if (core->busy) core->released.push_back(f);
    else atled_release(f);
  }
  void look_up(const std::string &type) {
    core->call([&] { return atled_get(core->vm, expression.c_str(), type.c_str(), &f); });
  }
};

template <class R> struct Result { using Of = Type<Bare<R>>; };
template <> struct Result<void> { using Of = Type<std::monostate>; };

/* "{a : float} -> int -> float"; a function without parameters takes unit. */
template <class R, class... A> std::string arrow_type() {
  std::string out;
  ((Type<Bare<A>>::name(out, false), out += " -> "), ...);
  if (sizeof...(A) == 0) out += "unit -> ";
  Result<R>::Of::name(out, false);
  return out;
}

/* The derivative with respect to a view owns its elements. */
template <class T> struct Gradient { using type = T; };
template <class E> struct Gradient<Range<E>> { using type = std::vector<std::remove_cv_t<E>>; };
#if __cplusplus >= 202002L
template <class E> struct Gradient<std::span<E>> { using type = std::vector<std::remove_cv_t<E>>; };
#endif
} // namespace detail

/* ---- Kept results ------------------------------------------------------------------------------------------------ */
/* A result that outlives the next call of its function. Arrays among the arguments that weren't copied must last as
 * long, where the result may be a part of them. */
template <class R> class Kept {
public:
  Kept(Kept &&other) noexcept
      : core_(std::move(other.core_)), arguments_(std::move(other.arguments_)),
        kept_(std::exchange(other.kept_, nullptr)), value_(other.value_) {}
  Kept &operator=(Kept &&other) noexcept {
    std::swap(core_, other.core_);
    std::swap(arguments_, other.arguments_);
    std::swap(kept_, other.kept_);
    std::swap(value_, other.value_);
    return *this;
  }
  ~Kept() {
    if (!kept_) return;
    if (core_->busy) core_->dropped.push_back(kept_);
    else atled_drop(kept_);
  }
  /* Views are valid as long as this is. */
  R get() const {
    detail::expect(kept_, "the kept result was moved from");
    return Type<R>::get(value_);
  }
  const AtledValue &value() const noexcept { return value_; }

private:
  template <class> friend class Function;
  Kept(const detail::Handle &h, AtledKept *kept, const AtledValue &value)
      : core_(h.core), arguments_(h.arguments), kept_(kept), value_(value) {}
  std::shared_ptr<detail::Core> core_;
  std::shared_ptr<void> arguments_;
  AtledKept *kept_ = nullptr;
  AtledValue value_{};
};

/* ---- Native pointers --------------------------------------------------------------------------------------------- */
/* Machine code that any number of threads may call at the same time (atled_native). It throws what a call raises. The
 * last copy goes while no other thread uses the VM. */
class Native {
public:
  using Pointer = double (*)(AtledFunction *, const double *, std::size_t);
  double operator()(Range<const double> x) const {
    detail::expect(handle_ != nullptr, "the native pointer was moved from");
    const double y = pointer_(handle_->f, x.data(), x.size());
    if (std::isnan(y)) throw_error(handle_->f);
    return y;
  }
  /* For minimisers and solvers: the plain function, and what it takes as its first argument. They report no errors. */
  Pointer pointer() const noexcept { return pointer_; }
  AtledFunction *self() const noexcept { return handle_ ? handle_->f : nullptr; }

private:
  template <class> friend class Function;
  friend class NativeGradient;
  static void throw_error(const AtledFunction *f) {
    const AtledDiagnostic *e = atled_native_error(f);
    if (!e) return;
    const bool memory = std::strcmp(e->kind, "memory") == 0;
    detail::raise(detail::details_of(memory ? ATLED_NO_MEMORY : ATLED_RUNTIME_ERROR, *e));
  }
  Native(std::shared_ptr<detail::Handle> handle, Pointer p) : handle_(std::move(handle)), pointer_(p) {}
  std::shared_ptr<detail::Handle> handle_;
  Pointer pointer_;
};

/* The same with the gradient, which goes to g; g may be x's own memory. */
class NativeGradient {
public:
  using Pointer = double (*)(AtledFunction *, const double *, std::size_t, double *);
  double operator()(Range<const double> x, Range<double> g) const {
    detail::expect(handle_ != nullptr, "the native pointer was moved from");
    detail::expect(x.size() == g.size(), "the gradient has as many elements as the argument");
    const double y = pointer_(handle_->f, x.data(), x.size(), g.data());
    if (std::isnan(y)) Native::throw_error(handle_->f);
    return y;
  }
  Pointer pointer() const noexcept { return pointer_; }
  AtledFunction *self() const noexcept { return handle_ ? handle_->f : nullptr; }

private:
  template <class> friend class Function;
  NativeGradient(std::shared_ptr<detail::Handle> handle, Pointer p) : handle_(std::move(handle)), pointer_(p) {}
  std::shared_ptr<detail::Handle> handle_;
  Pointer pointer_;
};

/* ---- Functions --------------------------------------------------------------------------------------------------- */
template <class Signature> class Function;

/* A function of the program's. Copies are the same handle. */
template <class R, class... A> class Function<R(A...)> {
public:
  Function() = default;
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  R operator()(const detail::Bare<A> &...args) const {
    if constexpr (all_floats) {
      double x[] = {args...}, y = 0.0;
      detail::Handle &h = handle();
      h.core->call([&] { return atled_call_double(h.f, x, static_cast<int>(sizeof...(A)), &y); });
      return y;
    } else if constexpr (result_may_point_to_copies) {
      return Type<R>::get(call(args...));
    } else {
      Stores stores;
      const AtledValue result = call_with(stores, args...);
      if constexpr (!std::is_void_v<R>) return Type<R>::get(result);
    }
  }

  /* The result goes to memory that is there: numbers, arrays of the right sizes, records and tuples of them. */
  template <class Out> void into(Out &&out, const detail::Bare<A> &...args) const {
    using B = detail::Buffer<detail::Bare<Out>>;
    detail::Handle &h = handle();
    detail::Room room;
    Stores stores;
    Values values = put(stores, args...);
    AtledValue v = B::of(out, room);
    h.core->call([&] { return atled_call_into(h.f, values.data(), static_cast<int>(values.size()), &v); });
    B::take(out, v);
  }

  /* The result outlives the next call. */
  Kept<R> keep(const detail::Bare<A> &...args) const {
    const AtledValue value = call(args...);
    detail::Handle &h = handle();
    AtledKept *kept = nullptr;
    h.core->call([&] { return atled_keep(h.f, &kept); });
    return Kept<R>(h, kept, value);
  }

  /* One result for each set of arguments: each argument is a range of them, or atled::same(x). Structures stay as they
   * lie. What an error's details().set says is the set that failed. */
  template <class... C> std::vector<R> many(const C &...args) const {
    if constexpr (std::is_same_v<R, bool>) {
      const std::size_t n = count(args...);
      std::unique_ptr<bool[]> all(new bool[n]());
      many_into(Range<bool>(all.get(), n), args...);
      return std::vector<bool>(all.get(), all.get() + n);
    } else {
      std::vector<R> out(count(args...));
      many_into(Range<R>(out), args...);
      return out;
    }
  }
  /* The same, to memory that is there. */
  template <class... C> void many_into(Range<R> out, const C &...args) const {
    static_assert(sizeof...(C) == sizeof...(A), "one range, or same(x), for each parameter");
    static_assert(detail::Column<R>::direct, "results of many sets are numbers, std::arrays, and records of these");
    detail::Handle &h = handle();
    const std::size_t n = count(args...);
    detail::expect(n == out.size(), "there are as many results as sets");
    if (n == 0) return;
    detail::Room room;
    Stores stores;
    const Values values = columns(room, stores, n, std::index_sequence_for<A...>(), args...);
    const AtledValue to = detail::Column<R>::of(out.data(), sizeof(R), n, room);
    std::size_t done = 0;
    h.core->call([&] { return atled_call_many(h.f, values.data(), static_cast<int>(values.size()), n, &to, &done); },
                 &done);
  }

  /* The derivative with respect to parameter I. */
  template <std::size_t I = 0> auto gradient() const {
    static_assert(std::is_same_v<R, double> || std::is_same_v<R, float>, "a gradient is that of a function to a float");
    using G = typename detail::Gradient<Parameter<I>>::type;
    return derivative<G, I>("grad");
  }
  /* The function's value with it. */
  template <std::size_t I = 0> auto value_and_gradient() const {
    static_assert(std::is_same_v<R, double> || std::is_same_v<R, float>, "a gradient is that of a function to a float");
    using G = typename detail::Gradient<Parameter<I>>::type;
    return derivative<std::pair<R, G>, I>("value_and_grad");
  }

  /* Of floats, or of one array of floats, to a float. */
  Native native() const {
    auto h = as_tuple("");
    AtledNative p;
    h->core->call([&] { return atled_native(h->f, ATLED_VALUE, &p); });
    return Native(std::move(h), p.value);
  }
  NativeGradient native_gradient() const {
    auto h = as_tuple("value_and_grad");
    AtledNative p;
    h->core->call([&] { return atled_native(h->f, ATLED_GRADIENT, &p); });
    return NativeGradient(std::move(h), p.gradient);
  }

  const std::string &expression() const { return handle().expression; }
  AtledFunction *get() const noexcept { return handle_ ? handle_->f : nullptr; }

private:
  friend class VM;
  template <class> friend class Function;
  static constexpr bool all_floats = std::is_same_v<R, double> && sizeof...(A) > 0 &&
                                     (std::is_same_v<detail::Bare<A>, double> && ...);
  using Stores = std::tuple<typename Type<detail::Bare<A>>::Store...>;
  static constexpr bool result_may_point_to_copies =
      !std::is_void_v<R> && !std::is_arithmetic_v<R> && (Type<detail::Bare<A>>::Store::owns || ...);
  using Values = std::array<AtledValue, sizeof...(A) ? sizeof...(A) : 1>;
  template <std::size_t I> using Parameter = detail::Bare<std::tuple_element_t<I, std::tuple<A...>>>;

  explicit Function(std::shared_ptr<detail::Handle> handle) : handle_(std::move(handle)) {}

  static Function make(const std::shared_ptr<detail::Core> &core, std::string expression) {
    auto h = std::make_shared<detail::Handle>(core, std::move(expression));
    h->look_up(detail::arrow_type<R, A...>());
    return Function(std::move(h));
  }

  detail::Handle &handle() const {
    detail::expect(handle_ != nullptr, "the function is empty, or was moved from");
    return *handle_;
  }

  static Values put([[maybe_unused]] Stores &stores, const detail::Bare<A> &...args) {
    return put_each(stores, std::index_sequence_for<A...>(), args...);
  }
  template <std::size_t... I>
  static Values put_each([[maybe_unused]] Stores &stores, std::index_sequence<I...>, const detail::Bare<A> &...args) {
    if constexpr (sizeof...(A) == 0) return {detail::value_of(ATLED_UNIT)};
    else return {Type<detail::Bare<A>>::put(args, std::get<I>(stores))...};
  }

  AtledValue call_with(Stores &stores, const detail::Bare<A> &...args) const {
    detail::Handle &h = handle();
    const Values values = put(stores, args...);
    AtledValue result;
    h.core->call([&] { return atled_call(h.f, values.data(), static_cast<int>(values.size()), &result); });
    return result;
  }
  /* What the result may point to lasts as long as the result. */
  AtledValue call(const detail::Bare<A> &...args) const {
    auto stores = std::make_shared<Stores>();
    const AtledValue result = call_with(*stores, args...);
    handle().arguments = std::move(stores);
    return result;
  }

  template <class C> static void count_one(const C &range, std::size_t &n, bool &known) {
    const std::size_t size = range.size();
    detail::expect(!known || n == size, "the ranges of arguments have different lengths");
    n = size;
    known = true;
  }
  template <class T> static void count_one(const Same<T> &, std::size_t &, bool &) {}
  template <class... C> static std::size_t count(const C &...args) {
    std::size_t n = 0;
    bool known = false;
    (count_one(args, n, known), ...);
    detail::expect(known, "one of the arguments is a range, whose length is the number of sets");
    return n;
  }

  template <class P, class S, class C>
  static AtledValue column(detail::Room &room, S &, std::size_t n, const C &range) {
    const Range<const P> all(range);
    return detail::Column<P>::of(all.data(), sizeof(P), n, room);
  }
  template <class P, class S, class T>
  static AtledValue column(detail::Room &, S &store, std::size_t, const Same<T> &shared) {
    return Type<P>::put(shared.value, store);
  }
  template <std::size_t... I, class... C>
  static Values columns(detail::Room &room, Stores &stores, std::size_t n, std::index_sequence<I...>,
                        const C &...args) {
    return {column<detail::Bare<A>>(room, std::get<I>(stores), n, args)...};
  }

  /* "fun a0 a1 -> grad (fun x -> (f) a0 x) a1" */
  template <class D, std::size_t I> Function<D(A...)> derivative(const std::string &operation) const {
    const detail::Handle &h = handle();
    std::string text = "(" + h.expression + "\n)", all, inner = text;
    if (sizeof...(A) == 1) return Function<D(A...)>::make(h.core, operation + " " + text);
    for (std::size_t i = 0; i < sizeof...(A); i++) {
      all += " a" + std::to_string(i);
      inner += i == I ? " x" : " a" + std::to_string(i);
    }
    return Function<D(A...)>::make(h.core, "fun" + all + " -> " + operation + " (fun x -> " + inner + ") a" +
                                               std::to_string(I));
  }

  /* The function, or what an operation makes of it, of one argument: an array, or a tuple of floats. */
  std::shared_ptr<detail::Handle> as_tuple(const std::string &operation) const {
    static_assert(std::is_same_v<R, double> && sizeof...(A) > 0, "a native pointer is that of a function to a double");
    constexpr bool floats = all_floats && sizeof...(A) > 1;
    static_assert(all_floats || sizeof...(A) == 1, "a native pointer takes doubles, or one array of doubles");
    const detail::Handle &h = handle();
    std::string text = "(" + h.expression + "\n)", parameters, type;
    for (std::size_t i = 0; floats && i < sizeof...(A); i++) {
      parameters += (i ? ", a" : "a") + std::to_string(i);
      text += " a" + std::to_string(i);
      type += i ? " * float" : "float";
    }
    if (floats) text = "(fun (" + parameters + ") -> " + text + ")";
    else (Type<detail::Bare<A>>::name(type, false), ...);
    type += operation.empty() ? " -> float" : " -> float * (" + type + ")";
    auto made = std::make_shared<detail::Handle>(h.core, operation + text);
    made->look_up(type);
    return made;
  }

  std::shared_ptr<detail::Handle> handle_;
};

/* ---- VMs --------------------------------------------------------------------------------------------------------- */
class VM {
public:
  explicit VM(const Config &config = Config()) : core_(std::make_shared<detail::Core>()) {
    detail::Core &c = *core_;
    AtledConfig raw = config.raw_;
    c.callbacks = config.callbacks_;
    c.cache_folder = config.cache_folder_;
    c.args = config.args_;
    for (const std::string &arg : c.args) c.arg_pointers.push_back(arg.c_str());
    std::vector<AtledFolder> folders;
    for (const detail::FolderRight &f : config.folders_) folders.push_back({f.path.c_str(), f.rights});
    set_pointers(raw, folders);
    c.vm = atled_new(&raw);
    if (!c.vm) detail::refuse("there is no memory for a VM, or the library doesn't know its config", ATLED_NO_MEMORY);
  }

  /* Evaluates a source; `name` is how messages call it, a path where imports are found beside it. */
  void eval(const std::string &name, const std::string &source) {
    core().call([&] { return atled_eval(core_->vm, name.c_str(), source.c_str()); });
  }
  void eval_file(const std::string &path) {
    core().call([&] { return atled_eval_file(core_->vm, path.c_str()); });
  }
  /* Checks and elaborates, and runs nothing: see atled_check. */
  void check(const std::string &name, const std::string &source) {
    core().call([&] { return atled_check(core_->vm, name.c_str(), source.c_str()); });
  }

  /* Looks up an expression at the type of a C++ function. CompileError: it has another type; the message shows both. */
  template <class Signature> Function<Signature> function(const std::string &expression) {
    core();
    return Function<Signature>::make(core_, expression);
  }
  /* The value of an expression. */
  template <class T> T value(const std::string &expression) {
    core();
    std::string type;
    Type<T>::name(type, false);
    detail::Handle h(core_, expression);
    h.look_up(type);
    AtledValue v;
    core_->call([&] { return atled_call(h.f, nullptr, 0, &v); });
    static_assert(!detail::Sequence<T>::is_view && !std::is_same_v<T, std::string_view>, "a value is no view");
    return Type<T>::get(v);
  }
  /* The type of an expression, and the documentation of a name, as text. */
  std::string type(const std::string &expression) {
    const char *text = nullptr;
    core().call([&] { return atled_type(core_->vm, expression.c_str(), &text); });
    return text;
  }
  std::string doc(const std::string &name) {
    const char *text = nullptr;
    core().call([&] { return atled_doc(core_->vm, name.c_str(), &text); });
    return text;
  }

  /* Ends the call that is under way, or the next one, with Interrupted. From any thread and any signal handler. */
  void interrupt() noexcept {
    if (core_) atled_interrupt(core_->vm);
  }
  void clear_interrupt() noexcept {
    if (core_) atled_clear_interrupt(core_->vm);
  }
  void set_jit(AtledJit mode) {
    core().call([&] { return atled_set_jit(core_->vm, mode); });
  }
  AtledVM *get() const noexcept { return core_ ? core_->vm : nullptr; }

private:
  detail::Core &core() const {
    detail::expect(core_ != nullptr, "the VM was moved from");
    return *core_;
  }

  void set_pointers(AtledConfig &raw, const std::vector<AtledFolder> &folders) {
    using detail::Core;
    const detail::Callbacks &f = core_->callbacks;
    bool any = f.output || f.display || f.flush || f.input || f.diagnostic || f.compiling || f.module;
    if (any) raw.user = core_.get();
    if (f.output) raw.output = Core::output;
    if (f.display) raw.display = Core::display;
    if (f.flush) raw.flush = Core::flush;
    if (f.input) raw.input = Core::input;
    if (f.diagnostic) raw.diagnostic = Core::diagnostic;
    if (f.compiling) raw.compiling = Core::compiling;
    if (f.module) raw.module = Core::module;
    if (!core_->cache_folder.empty()) raw.cache_folder = core_->cache_folder.c_str();
    if (!core_->args.empty()) {
      raw.args = core_->arg_pointers.data();
      raw.nargs = static_cast<int>(core_->arg_pointers.size());
    }
    if (!folders.empty()) {
      raw.folders = folders.data();
      raw.nfolders = static_cast<int>(folders.size());
    }
  }

  std::shared_ptr<detail::Core> core_;
};

} // namespace atled

/* ---- Records and variants ---------------------------------------------------------------------------------------- */
/* Makes a structure a record of these fields (32 at most), whose names are the program's too. Stands in the
 * structure's namespace:
 *   ATLED_RECORD(Params, beta, sigma, gamma) */
#define ATLED_RECORD(T, ...)                                                                                           \
  [[maybe_unused]] constexpr auto atled_fields(const T *) {                                                            \
    return ::std::make_tuple(ATLED_EACH_(ATLED_COUNT_(__VA_ARGS__), T, __VA_ARGS__));                                  \
  }
/* Makes a std::variant a variant of the program's: each alternative is a constructor of its own name, which holds
 * nothing, the value of the only field, or a record of the fields.
 *   struct Dot {};
 *   struct Circle { double radius; };
 *   using Shape = std::variant<Dot, Circle>;
 *   ATLED_CONSTANT(Dot)
 *   ATLED_CONSTRUCTOR(Circle, radius)
 *   ATLED_VARIANT(Shape, "shape") */
#define ATLED_CONSTANT(T)                                                                                              \
  [[maybe_unused]] constexpr ::std::tuple<> atled_fields(const T *) { return {}; }                                     \
  [[maybe_unused]] constexpr const char *atled_constructor(const T *) { return #T; }
#define ATLED_CONSTRUCTOR(T, ...)                                                                                      \
  ATLED_RECORD(T, __VA_ARGS__)                                                                                         \
  [[maybe_unused]] constexpr const char *atled_constructor(const T *) { return #T; }
#define ATLED_VARIANT(T, name)                                                                                         \
  [[maybe_unused]] constexpr const char *atled_variant_name(const T *) { return name; }

#define ATLED_FIELD_(T, f) ::atled::detail::field(#f, &T::f)
#define ATLED_COUNT_(...)                                                                                              \
  ATLED_COUNT_OF_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
                  10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define ATLED_COUNT_OF_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,     \
                        a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...)                            \
  n
#define ATLED_EACH_(n, ...)      ATLED_EACH_N_(n, __VA_ARGS__)
#define ATLED_EACH_N_(n, ...)    ATLED_EACH_##n(__VA_ARGS__)
#define ATLED_EACH_1(T, f)       ATLED_FIELD_(T, f)
#define ATLED_EACH_2(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_1(T, __VA_ARGS__)
#define ATLED_EACH_3(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_2(T, __VA_ARGS__)
#define ATLED_EACH_4(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_3(T, __VA_ARGS__)
#define ATLED_EACH_5(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_4(T, __VA_ARGS__)
#define ATLED_EACH_6(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_5(T, __VA_ARGS__)
#define ATLED_EACH_7(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_6(T, __VA_ARGS__)
#define ATLED_EACH_8(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_7(T, __VA_ARGS__)
#define ATLED_EACH_9(T, f, ...)  ATLED_FIELD_(T, f), ATLED_EACH_8(T, __VA_ARGS__)
#define ATLED_EACH_10(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_9(T, __VA_ARGS__)
#define ATLED_EACH_11(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_10(T, __VA_ARGS__)
#define ATLED_EACH_12(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_11(T, __VA_ARGS__)
#define ATLED_EACH_13(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_12(T, __VA_ARGS__)
#define ATLED_EACH_14(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_13(T, __VA_ARGS__)
#define ATLED_EACH_15(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_14(T, __VA_ARGS__)
#define ATLED_EACH_16(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_15(T, __VA_ARGS__)
#define ATLED_EACH_17(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_16(T, __VA_ARGS__)
#define ATLED_EACH_18(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_17(T, __VA_ARGS__)
#define ATLED_EACH_19(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_18(T, __VA_ARGS__)
#define ATLED_EACH_20(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_19(T, __VA_ARGS__)
#define ATLED_EACH_21(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_20(T, __VA_ARGS__)
#define ATLED_EACH_22(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_21(T, __VA_ARGS__)
#define ATLED_EACH_23(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_22(T, __VA_ARGS__)
#define ATLED_EACH_24(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_23(T, __VA_ARGS__)
#define ATLED_EACH_25(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_24(T, __VA_ARGS__)
#define ATLED_EACH_26(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_25(T, __VA_ARGS__)
#define ATLED_EACH_27(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_26(T, __VA_ARGS__)
#define ATLED_EACH_28(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_27(T, __VA_ARGS__)
#define ATLED_EACH_29(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_28(T, __VA_ARGS__)
#define ATLED_EACH_30(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_29(T, __VA_ARGS__)
#define ATLED_EACH_31(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_30(T, __VA_ARGS__)
#define ATLED_EACH_32(T, f, ...) ATLED_FIELD_(T, f), ATLED_EACH_31(T, __VA_ARGS__)

#endif
