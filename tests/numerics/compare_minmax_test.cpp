// Comparisons, minimum and maximum: every pair of fp8 codes, landmarks and random pairs of the others.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "softamp/numerics/compare.h"
#include "softamp/numerics/convert.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/exact_number.h"

namespace {

using namespace softamp;

double exact_value(const FloatFormat& f, uint64_t code) {
  const oracle::Decoded d = oracle::decode(f, code);
  if (d.nan()) return std::nan("");
  const double magnitude =
      d.infinite() ? INFINITY : std::ldexp(static_cast<double>(d.magnitude.significand), d.magnitude.exponent);
  return d.negative ? -magnitude : magnitude;
}

void check_comparison(const FloatFormat& f, const char* name, uint64_t a, uint64_t b) {
  const double x = exact_value(f, a), y = exact_value(f, b);
  const bool nan = std::isnan(x) || std::isnan(y);
  const bool signaling = oracle::decode(f, a).signaling || oracle::decode(f, b).signaling;
  for (const bool ipu : {false, true}) {
    if (ipu && f.storage_bits() > 16) continue;  // fp32 operands are flushed there: see switches_test
    const Semantics s = ipu ? Semantics::ipu() : Semantics::ieee();
    const int quiet = signaling || (ipu && nan) ? kInvalid : 0, loud = nan ? kInvalid : 0;
    const auto same = [&](const fp::Compared& c, bool truth, int flags, const char* relation) {
      ASSERT_TRUE(c.value == truth && c.flags == flags)
          << name << " " << relation << std::hex << " " << a << " " << b << (ipu ? " ipu" : " ieee") << " got "
          << c.value << "/" << int{c.flags} << " expected " << truth << "/" << flags;
    };
    same(fp::equal(f, a, b, s), x == y, quiet, "eq");
    same(fp::equal_signaling(f, a, b, s), x == y, loud, "eq_signaling");
    same(fp::less(f, a, b, s), x < y, loud, "lt");
    same(fp::less_quiet(f, a, b, s), x < y, quiet, "lt_quiet");
    same(fp::less_equal(f, a, b, s), x <= y, loud, "le");
    same(fp::less_equal_quiet(f, a, b, s), x <= y, quiet, "le_quiet");

    for (const bool greatest : {false, true}) {
      const Rounded got = greatest ? fp::maximum(f, a, b, s) : fp::minimum(f, a, b, s);
      uint64_t expected;
      if (nan) {
        expected = fp::convert(kBinary64, f, uint64_t{0x7FF8} << 48, Semantics::ieee()).code;
      } else {
        // -0 below +0: where the numbers are equal the signs order them
        const bool a_less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
        expected = a_less == greatest ? b : a;
        if (ipu && std::isinf(exact_value(f, expected))) expected = kFp16 == f ? 0x7E00 : fp::from_double(f, NAN);
      }
      ASSERT_EQ(got.code, expected) << name << (greatest ? " max" : " min") << std::hex << " " << a << " " << b;
      ASSERT_EQ(int{got.flags}, nan ? quiet : 0) << name << std::hex << " " << a << " " << b;
    }
  }
}

// tests: N33, N43, N413
TEST(CompareMinMax, EveryPairOfSmallCodes) {
  for (const auto& [name, f] : oracle::kNamedFormats) {
    if (f.storage_bits() > 8) continue;
    for (uint64_t a = 0; a <= f.code_mask() && !HasFailure(); ++a)
      for (uint64_t b = 0; b <= f.code_mask(); ++b) check_comparison(f, name, a, b);
  }
}

// tests: N43
TEST(CompareMinMax, LandmarksOfEveryFormat) {
  for (const auto& [name, f] : oracle::kNamedFormats) {
    std::vector<uint64_t> codes;
    for (const uint64_t magnitude :
         {uint64_t{0}, uint64_t{1}, f.min_normal_code() - 1, f.min_normal_code(), f.max_finite_code(),
          f.magnitude_mask(), f.magnitude_mask() - f.mantissa_mask(), f.magnitude_mask() - f.mantissa_mask() + 1})
      for (const uint64_t sign : {uint64_t{0}, f.sign_mask()}) codes.push_back(magnitude | sign);
    for (const uint64_t a : codes)
      for (const uint64_t b : codes) check_comparison(f, name, a, b);
  }
}

// tests: N43
TEST(CompareMinMax, RandomPairs) {
  oracle::Cases cases(41);
  for (int i = 0; i < 4000 && !HasFailure(); ++i)
    for (const auto& [name, f] : oracle::kNamedFormats) {
      const uint64_t a = cases.code(f);
      check_comparison(f, name, a, cases.below(4) == 0 ? a ^ (cases.word() & f.sign_mask()) : cases.partner(f, a));
    }
}

}  // namespace
