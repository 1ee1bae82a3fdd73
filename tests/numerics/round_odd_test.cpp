// Round to odd (N38): its definition on every code of small formats, and why it is there: a second rounding is
// innocent.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "softamp/numerics/operations.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/exact_operations.h"

namespace softamp {
namespace {

using oracle::Cases;

const RoundingPolicy kToOdd = RoundingPolicy::ieee(RoundingMode::kOdd);

/// The values of `fine`, all of them, in `coarse`: exact ones stay, others take the neighbour with the odd code.
TEST(RoundOdd, TheDefinitionOnEveryHalf) {
  for (const FloatFormat& coarse : {kE4m3, kE5m2, kF143, kF152, FloatFormat::ieee(3, 4), FloatFormat::ieee(5, 2)})
    for (uint64_t code = 0; code <= kFp16.code_mask(); ++code) {
      if (!kFp16.is_finite(code)) continue;
      const double x = fp::to_double(kFp16, code);
      const Rounded r = fp::convert(kFp16, coarse, code, Semantics::ieee(kToOdd));
      const uint64_t magnitude = r.code & coarse.magnitude_mask();
      if (r.flags & kOverflow) {
        EXPECT_EQ(magnitude, coarse.max_finite_code()) << x;
        EXPECT_GT(std::abs(x), fp::to_double(coarse, magnitude)) << x;
        continue;
      }
      ASSERT_TRUE(coarse.is_finite(r.code)) << x;
      const double y = fp::to_double(coarse, r.code);
      ASSERT_EQ(r.flags & kInexact, x == y ? 0 : kInexact) << x;
      if (x == y) continue;
      ASSERT_EQ(magnitude & 1, 1u) << x;
      // No number of the format lies between.
      const double low = fp::to_double(coarse, magnitude - 1);
      const double high =
          magnitude == coarse.max_finite_code() ? 2 * std::abs(y) - low : fp::to_double(coarse, magnitude + 1);
      ASSERT_TRUE(low < std::abs(x) && std::abs(x) < high) << x;
      ASSERT_EQ(std::signbit(x), (r.code & coarse.sign_mask()) != 0) << x;
    }
}

/// A finite, non-zero number that an operation on fp32 codes gives, and its sign; empty for others.
struct Judged {
  oracle::Real real;
  bool negative;
};
std::optional<Judged> exact_result(int operation, uint64_t a, uint64_t b, uint64_t c) {
  for (const uint64_t code : {a, b, c})
    if (!kFp32.is_finite(code) || kFp32.is_zero(code)) return std::nullopt;
  const oracle::Dyadic x = oracle::decode(kFp32, a).value(), y = oracle::decode(kFp32, b).value(),
                       z = oracle::decode(kFp32, c).value();
  const bool unlike = x.sign() != y.sign();
  if (operation == 2) return Judged{oracle::quotient_of(x.magnitude(), y.magnitude()), unlike};
  if (operation == 3) return Judged{oracle::root_of(x.magnitude()), false};
  const oracle::Dyadic result = operation == 0 ? x + y : operation == 1 ? x * y : x * y + z;
  if (result.sign() == 0) return std::nullopt;
  return Judged{oracle::exactly(result.magnitude()), result.sign() < 0};
}

Rounded in_fp32(int operation, uint64_t a, uint64_t b, uint64_t c, const Semantics& s) {
  switch (operation) {
    case 0: return fp::add(kFp32, a, b, s);
    case 1: return fp::mul(kFp32, a, b, s);
    case 2: return fp::div(kFp32, a, b, s);
    case 3: return fp::sqrt(kFp32, a & kFp32.magnitude_mask(), s);
    default: return fp::fma(kFp32, a, b, c, s);
  }
}

/// Sums, products, quotients, roots and fused sums of floats, rounded to odd to fp32 first, then in every mode to fewer
/// bits, those that a stochastic rounding reads among them: code and flags as if rounded once. Rounded to nearest first
/// they are not: the same cases show it.
// tests: N38, N405
TEST(RoundOdd, ASecondRoundingIsInnocent) {
  Cases cases(61);
  uint64_t guilty = 0, judged = 0;
  const Semantics odd = Semantics::ieee(kToOdd);
  for (int i = 0; i < 40000 && !HasFailure(); ++i) {
    const uint64_t a = cases.code(kFp32), b = cases.partner(kFp32, a), c = cases.partner(kFp32, a);
    const FloatFormat formats[] = {kFp16, kBf16, kE5m2, kE4m3,
                                   FloatFormat::ieee(8, 2 + static_cast<int>(cases.below(20)))};
    const FloatFormat f = formats[cases.below(5)];
    RoundingPolicy p = RoundingPolicy::ieee(static_cast<RoundingMode>(cases.below(7)));
    p.random_bits = 1 + static_cast<int>(cases.below(8));
    p.variant = static_cast<StochasticVariant>(cases.below(4));
    const auto random = static_cast<uint32_t>(cases.word());
    const int operation = static_cast<int>(cases.below(5));
    const auto exact = exact_result(operation, a, b, c);
    if (!exact || (p.stochastic() && f.precision + p.random_bits + 3 > 24)) continue;
    const Rounded wide = in_fp32(operation, a, b, c, odd);
    if (wide.flags & kOverflow) continue;
    const Rounded twice = fp::convert(kFp32, f, wide.code, Semantics::ieee(p), random);
    const Rounded once = oracle::round_real(f, exact->real, exact->negative, p, random);
    const std::string what = std::to_string(operation) + " " + oracle::hexadecimal(a) + " " + oracle::hexadecimal(b) +
                             " " + oracle::hexadecimal(c) + " " + oracle::text_of(p);
    EXPECT_EQ(twice.code, once.code) << what;
    EXPECT_EQ(int{twice.flags}, int{once.flags}) << what;
    const Rounded nearest = in_fp32(operation, a, b, c, Semantics::ieee());
    guilty += fp::convert(kFp32, f, nearest.code, Semantics::ieee(p), random).code != once.code;
    ++judged;
  }
  EXPECT_GT(judged, 10000u);
  EXPECT_GT(guilty, 100u);
}

/// Beyond the largest number, and just above it where that is even (e4m3: 448 = 0x7E, the odd neighbour would be NaN).
TEST(RoundOdd, Overflow) {
  const auto at = [](const FloatFormat& f, double x) {
    return fp::convert(kBinary64, f, __builtin_bit_cast(uint64_t, x), Semantics::ieee(kToOdd));
  };
  const auto expect = [](const Rounded& r, uint64_t code, int flags) {
    EXPECT_EQ(r.code, code);
    EXPECT_EQ(int{r.flags}, flags);
  };
  constexpr int kBeyond = kOverflow | kInexact;
  expect(at(kFp16, 65504), 0x7BFF, 0);
  expect(at(kFp16, 65535), 0x7BFF, kInexact);
  expect(at(kFp16, 65536), 0x7BFF, kBeyond);
  expect(at(kFp16, -1e300), 0xFBFF, kBeyond);
  expect(at(kFp16, std::numeric_limits<double>::infinity()), 0x7C00, 0);
  expect(at(kE4m3, 447), 0x7D, kInexact);
  expect(at(kE4m3, 449), 0x7E, kBeyond);
  expect(at(kE4m3, 1e9), 0x7E, kBeyond);
  expect(at(kF143, 241), 0x7F, kInexact);
  expect(at(kF143, 256), 0x7F, kBeyond);
}

}  // namespace
}  // namespace softamp
