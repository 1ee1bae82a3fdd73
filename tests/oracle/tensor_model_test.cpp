// The model library's own arithmetic against numerics/, which tests/exhaustive/ proves: encodings, roundings, random
// bits, and ranges against the exact numbers that they must hold.
#include "tests/oracle/tensor_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/random.h"
#include "tests/oracle/exact_number.h"
#include "tests/oracle/tensor_order.h"

namespace oracle::model {
namespace {

using softamp::Semantics;

constexpr DType kTypes[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};

double any_double(std::mt19937_64& bits) {
  const double m = 1 + static_cast<double>(bits() >> 12) * 0x1p-52;
  return std::ldexp(bits() & 1 ? m : -m, static_cast<int>(bits() % 290) - 155);
}

TEST(TensorModel, Decodes) {
  std::mt19937_64 bits(1);
  for (const DType t : kTypes)
    for (uint64_t i = 0; i < 1 << 16; ++i) {
      const uint64_t code = t == DType::kFloat32 ? bits() & 0xFFFFFFFFu : i;
      const double expected = std::bit_cast<double>(
          softamp::fp::convert(softamp::format_of(t), softamp::kBinary64, code, Semantics::ieee()).code);
      const Real x = decode(t, code);
      ASSERT_TRUE(x == expected || (std::isnan(x) && std::isnan(expected))) << code;
      if (!std::isnan(expected)) {
        ASSERT_EQ(std::signbit(x), std::signbit(expected)) << code;
      }
    }
}

TEST(TensorModel, RoundsAsNumericsDo) {
  std::mt19937_64 bits(2);
  const softamp::RandomBits random{7};
  for (int i = 0; i < 200000; ++i) {
    const DType t = kTypes[i % 3];
    double x = any_double(bits);
    if (i % 5 == 0) x = static_cast<double>(nearest(t, x));                               // representable
    if (i % 5 == 1) x = static_cast<double>(nearest(t, x) + unit(t, nearest(t, x)) / 2);  // half-way
    for (const Mode& mode : kModes) {
      softamp::FloatingPointBehaviour b = softamp::FloatingPointBehaviour::all_off();
      b.esr = mode.stochastic;
      b.nanoo = mode.nanoo;
      const Semantics s = mode.ipu ? Semantics::ipu(b) : Semantics::ieee();
      const uint64_t index = bits() % 100000;
      const uint64_t code = softamp::fp::convert(softamp::kBinary64, softamp::format_of(t), std::bit_cast<uint64_t>(x),
                                                 s, random.bits(0, 5, index, 13))
                                .code;
      const Real r = order::rounded(t, x, mode, {7, 5}, index), got = decode(t, code);
      ASSERT_TRUE(r == got || (std::isnan(r) && std::isnan(got)))
          << x << " " << softamp::name_of(t) << " " << mode.name << " " << static_cast<double>(r);
      ASSERT_TRUE(admits(admitted(Range(static_cast<Real>(x)), t, mode), t, code)) << x << " " << mode.name;
      // And nothing else is: the next number on either side is refused.
      if (std::isfinite(got) && !mode.stochastic && std::fabs(got) < precision_of(t).greatest / 2 && got != 0) {
        ASSERT_FALSE(admits(admitted(Range(static_cast<Real>(x)), t, mode), t, code + 1)) << x;
        ASSERT_FALSE(admits(admitted(Range(static_cast<Real>(x)), t, mode), t, code - 1)) << x;
      }
    }
  }
}

/// A double as a dyadic number; of a long double, its two parts.
Dyadic exact_of(Real x) {
  int e = 0;
  const Real m = std::frexp(x, &e);
  const Real scaled = std::ldexp(std::fabs(m), 64);
  const Dyadic magnitude{Big{static_cast<uint64_t>(scaled)}, e - 64};
  return m < 0 ? -magnitude : magnitude;
}

TEST(TensorModel, RangesHoldTheExactResult) {
  std::mt19937_64 bits(3);
  for (int i = 0; i < 50000; ++i) {
    const Real x = any_double(bits), y = any_double(bits);
    const Dyadic dx = exact_of(x), dy = exact_of(y);
    const auto holds = [&](const Range& r, const Dyadic& exact) {
      return compare(exact_of(r.low), exact) <= 0 && compare(exact, exact_of(r.high)) <= 0;
    };
    ASSERT_TRUE(holds(Range(x) + Range(y), dx + dy)) << i;
    ASSERT_TRUE(holds(Range(x) - Range(y), dx - dy)) << i;
    ASSERT_TRUE(holds(Range(x) * Range(y), dx * dy)) << i;
    // q <= x / y as q y <= x, for y > 0.
    const Range q = Range(std::fabs(x)) / Range(std::fabs(y));
    ASSERT_LE(compare(exact_of(q.low) * dy.magnitude(), dx.magnitude()), 0) << i;
    ASSERT_GE(compare(exact_of(q.high) * dy.magnitude(), dx.magnitude()), 0) << i;
    const Range root = square_root(Range(std::fabs(x)));
    ASSERT_LE(compare(exact_of(root.low) * exact_of(root.low), dx.magnitude()), 0) << i;
    ASSERT_GE(compare(exact_of(root.high) * exact_of(root.high), dx.magnitude()), 0) << i;
  }
  EXPECT_TRUE((Range(3.0L) / Range(8.0L)).point());
  EXPECT_TRUE(square_root(Range(2.25L)).point());
  EXPECT_FALSE((Range(1.0L) / Range(3.0L)).point());
}

}  // namespace
}  // namespace oracle::model
