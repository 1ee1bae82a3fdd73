// What the generator of mutants writes into a source. Each place has a number and does what it says, unless the
// environment's SOFTAMP_MUTANT is that number: so all mutants are compiled once, and a run changes one of them.
//
//   a + mutant::Binary<17, mutant::kMinus>{} + b    a + b, or a - b; the operators' ranks hold
//   mutant::value<17>(3, 4)                         3, or 4
//   mutant::turned<17>(condition)                   the condition, or its opposite
//   mutant::either<17>(x, y)                        x, or y, which has the same type
//   if (mutant::keeps<17>()) statement              the statement, or nothing
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>

namespace mutant {

inline constexpr int kPlaces = 1 << 15;

inline const char* setting(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

inline int chosen = std::atoi(setting("SOFTAMP_MUTANT"));
inline unsigned char seen[kPlaces];  ///< whether a place was come to

/// Appends a line of the places that were come to, behind `head`, to the file of SOFTAMP_MUTANTS_SEEN, and forgets
/// them.
inline void tell(std::string line) {
  const char* file = setting("SOFTAMP_MUTANTS_SEEN");
  if (*file == '\0') return;
  for (int place = 0; place < kPlaces; ++place)
    if (std::exchange(seen[place], 0)) line += ' ' + std::to_string(place);
  line += '\n';
  const int out = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(out, line.data(), line.size());
  ::close(out);
}

/// A command that a test runs tells at its end.
inline struct AtTheEnd {
  ~AtTheEnd() { tell("-"); }
} at_the_end;

/// The section .mutants lists the places that are decided at run time: others are constants of the compiler.
template <int kPlace>
[[gnu::always_inline]] inline bool is() {
  asm volatile(".pushsection .mutants,\"\",@progbits\n\t.long %c0\n\t.popsection" : : "i"(kPlace));
  seen[kPlace] = 1;
  return chosen == kPlace;
}

template <int kPlace>
[[gnu::always_inline]] constexpr bool changes() {
  return std::is_constant_evaluated() ? false : is<kPlace>();
}

template <int kPlace>
[[gnu::always_inline]] constexpr bool keeps() {
  return !changes<kPlace>();
}

template <int kPlace, class T>
[[gnu::always_inline]] constexpr T value(T here, std::type_identity_t<T> other) {
  return changes<kPlace>() ? other : here;
}

template <int kPlace, class T>
[[gnu::always_inline]] constexpr bool turned(T&& condition) {
  return static_cast<bool>(std::forward<T>(condition)) != changes<kPlace>();
}

template <int kPlace, class T, class U>
[[gnu::always_inline]] constexpr T&& either(T&& here, U&& other) {
  static_assert(std::is_same_v<T, U>, "mutant: it has another type");
  return changes<kPlace>() ? static_cast<T&&>(other) : static_cast<T&&>(here);
}

enum Operator {
  kPlus,
  kMinus,
  kTimes,
  kOver,
  kLeft,
  kRight,
  kAnd,
  kOr,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kUnequal
};

template <int kPlace, Operator kOther>
struct Binary {};

/// The left operand, which waits for the right one.
template <int kPlace, Operator kOther, class T>
struct Left {
  T&& value;
};

template <Operator kOther, class A, class B>
requires(kOther == kPlus || kOther == kMinus || kOther == kTimes || kOther == kOver)
    [[gnu::always_inline]] constexpr auto applied(A&& a, B&& b) {
  if constexpr (kOther == kPlus) return a + b;
  if constexpr (kOther == kMinus) return a - b;
  if constexpr (kOther == kTimes) return a * b;
  if constexpr (kOther == kOver) return a / b;
}

template <Operator kOther, class A, class B>
requires(kOther == kLeft || kOther == kRight || kOther == kAnd || kOther == kOr)
    [[gnu::always_inline]] constexpr auto applied(A&& a, B&& b) {
  if constexpr (kOther == kLeft) return a << b;
  if constexpr (kOther == kRight) return a >> b;
  if constexpr (kOther == kAnd) return a & b;
  if constexpr (kOther == kOr) return a | b;
}

template <Operator kOther, class A, class B>
requires(kOther >= kLess) [[gnu::always_inline]] constexpr auto applied(A&& a, B&& b) {
  if constexpr (kOther == kLess) return a < b;
  if constexpr (kOther == kLessEqual) return a <= b;
  if constexpr (kOther == kGreater) return a > b;
  if constexpr (kOther == kGreaterEqual) return a >= b;
  if constexpr (kOther == kEqual) return a == b;
  if constexpr (kOther == kUnequal) return a != b;
}

#define MUTANT_OPERATOR(op)                                                                                \
  template <class T, int kPlace, Operator kOther>                                                          \
  [[gnu::always_inline]] constexpr Left<kPlace, kOther, T> operator op(T&& left, Binary<kPlace, kOther>) { \
    return {static_cast<T&&>(left)};                                                                       \
  }                                                                                                        \
  template <int kPlace, Operator kOther, class T, class U>                                                 \
  [[gnu::always_inline]] constexpr auto operator op(Left<kPlace, kOther, T> left, U&& right) {             \
    using Result = std::decay_t<decltype(static_cast<T&&>(left.value) op static_cast<U&&>(right))>;        \
    if (changes<kPlace>()) return static_cast<Result>(applied<kOther>(left.value, right));                 \
    return static_cast<Result>(static_cast<T&&>(left.value) op static_cast<U&&>(right));                   \
  }
MUTANT_OPERATOR(+)
MUTANT_OPERATOR(-)
MUTANT_OPERATOR(*)
MUTANT_OPERATOR(/)
MUTANT_OPERATOR(%)
MUTANT_OPERATOR(<<)
MUTANT_OPERATOR(>>)
MUTANT_OPERATOR(&)
MUTANT_OPERATOR(|)
MUTANT_OPERATOR(^)
MUTANT_OPERATOR(<)
MUTANT_OPERATOR(<=)
MUTANT_OPERATOR(>)
MUTANT_OPERATOR(>=)
MUTANT_OPERATOR(==)
MUTANT_OPERATOR(!=)
#undef MUTANT_OPERATOR

}  // namespace mutant
