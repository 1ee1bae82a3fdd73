// Assertions for GoogleTest: about floating-point exceptions, flags, and distances in units in the last place. The one
// header that needs a package, GoogleTest 1.10 or later; softamp.h leaves it out.
//
//   EXPECT_FP_EXCEPTION(statement, kOverflow)   the statement throws a FloatingPointError, of just these kinds
//   EXPECT_NO_FP_EXCEPTION(statement)           it throws none
//   EXPECT_FP_FLAGS(flags, kOverflow | kInexact)   flags of a result, a unit or a run are just these
//   EXPECT_ULPS(found, expected, 1)             two numbers or tensors are at most so far apart (numerics/ulp.h); any
//   NaN
//                                               agrees with any NaN
//   EXPECT_SAME_BITS(found, expected)           two numbers or tensors are the same to the last bit, NaNs and -0, too
//
// Each has an ASSERT_ form, which ends the test. Numbers: Half, BFloat16, float, double, both of one type. Other
// exceptions of a statement go on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "softamp/findings/exception.h"
#include "softamp/findings/tensor_difference.h"
#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/half.h"
#include "softamp/numerics/status.h"
#include "softamp/numerics/ulp.h"

namespace softamp::gtest_detail {

using ::testing::AssertionFailure, ::testing::AssertionResult, ::testing::AssertionSuccess;

inline std::string names_or_none(uint8_t flags) { return flags ? flag_names(flags) : "none"; }

template <class Statement>
AssertionResult raises(const char*, const char* lambda, uint8_t kinds, const Statement& run) {
  std::string statement = lambda;  // "[&] { statement; }"
  statement = statement.substr(6, statement.size() - 9);
  try {
    run();
  } catch (const FloatingPointError& e) {
    if (e.kinds() == kinds) return AssertionSuccess();
    return AssertionFailure() << statement << "\nraises " << names_or_none(e.kinds()) << ", expected "
                              << names_or_none(kinds) << "\n"
                              << e.what();
  }
  if (kinds == 0) return AssertionSuccess();
  return AssertionFailure() << statement << "\nraises no floating-point exception, expected " << names_or_none(kinds);
}

template <class Found, class Expected>
AssertionResult has_flags(const char* expression, const char*, Found found, Expected expected) {
  const auto f = static_cast<uint8_t>(found), e = static_cast<uint8_t>(expected);
  if (f == e) return AssertionSuccess();
  return AssertionFailure() << expression << "\nare the flags " << names_or_none(f) << ", expected "
                            << names_or_none(e);
}

/// The dtype of a number.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, Half>)
    return DType::kFloat16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBFloat16;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else {
    static_assert(std::is_same_v<T, double>, "expected a Tensor, or two numbers of Half, BFloat16, float or double");
    return DType::kFloat64;
  }
}

inline const Tensor& as_tensor(const Tensor& t) { return t; }
template <class T>
Tensor as_tensor(const T& number) {
  Tensor t(dtype_of<T>(), {});
  *t.as<T>().data() = number;
  return t;
}

template <class T>
AssertionResult differ(const char* found, const char* expected, const T& a, const T& b, std::optional<uint64_t> ulps) {
  const std::string text = difference_text(as_tensor(a), as_tensor(b), ulps);
  if (text.empty()) return AssertionSuccess();
  AssertionResult failure = AssertionFailure() << found << "\nis not " << expected;
  if (ulps) failure << " within " << *ulps << (*ulps == 1 ? " ulp" : " ulps");
  return failure << ": " << text;
}

template <class T>
AssertionResult within(const char* found, const char* expected, const char*, const T& a, const T& b, uint64_t ulps) {
  return differ(found, expected, a, b, ulps);
}

template <class T>
AssertionResult same(const char* found, const char* expected, const T& a, const T& b) {
  return differ(found, expected, a, b, {});
}

}  // namespace softamp::gtest_detail

#define EXPECT_FP_EXCEPTION(statement, kinds) \
  EXPECT_PRED_FORMAT2(::softamp::gtest_detail::raises, static_cast<uint8_t>(kinds), [&] { statement; })
#define ASSERT_FP_EXCEPTION(statement, kinds) \
  ASSERT_PRED_FORMAT2(::softamp::gtest_detail::raises, static_cast<uint8_t>(kinds), [&] { statement; })
#define EXPECT_NO_FP_EXCEPTION(statement) EXPECT_FP_EXCEPTION(statement, 0)
#define ASSERT_NO_FP_EXCEPTION(statement) ASSERT_FP_EXCEPTION(statement, 0)
#define EXPECT_FP_FLAGS(found, expected) EXPECT_PRED_FORMAT2(::softamp::gtest_detail::has_flags, found, expected)
#define ASSERT_FP_FLAGS(found, expected) ASSERT_PRED_FORMAT2(::softamp::gtest_detail::has_flags, found, expected)
#define EXPECT_ULPS(found, expected, ulps) EXPECT_PRED_FORMAT3(::softamp::gtest_detail::within, found, expected, ulps)
#define ASSERT_ULPS(found, expected, ulps) ASSERT_PRED_FORMAT3(::softamp::gtest_detail::within, found, expected, ulps)
#define EXPECT_SAME_BITS(found, expected) EXPECT_PRED_FORMAT2(::softamp::gtest_detail::same, found, expected)
#define ASSERT_SAME_BITS(found, expected) ASSERT_PRED_FORMAT2(::softamp::gtest_detail::same, found, expected)
