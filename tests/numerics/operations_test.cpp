// Scalar operations of every format and preset against exact rational arithmetic, and fp32 against the processor.
#include "softamp/numerics/operations.h"

#include <gtest/gtest.h>

#include "tests/oracle/cases.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/host_unit.h"

namespace {

using namespace softamp;
using oracle::Cases;
namespace exact = oracle::exact;

constexpr int kOperationCount = 9;
constexpr const char* kOperationNames[] = {
    "add", "sub", "mul", "div", "rem", "fma", "sqrt", "reciprocal", "reciprocal_sqrt"};

Rounded ours(int operation, const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s,
             uint32_t random) {
  switch (operation) {
    case 0: return fp::add(f, a, b, s, random);
    case 1: return fp::sub(f, a, b, s, random);
    case 2: return fp::mul(f, a, b, s, random);
    case 3: return fp::div(f, a, b, s, random);
    case 4: return fp::rem(f, a, b, s, random);
    case 5: return fp::fma(f, a, b, c, s, random);
    case 6: return fp::sqrt(f, a, s, random);
    case 7: return fp::reciprocal(f, a, s, random);
    default: return fp::reciprocal_sqrt(f, a, s, random);
  }
}
Rounded expected(int operation, const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, const Semantics& s,
                 uint32_t random) {
  switch (operation) {
    case 0: return exact::add(f, a, b, s, random);
    case 1: return exact::sub(f, a, b, s, random);
    case 2: return exact::mul(f, a, b, s, random);
    case 3: return exact::div(f, a, b, s, random);
    case 4: return exact::rem(f, a, b, s, random);
    case 5: return exact::fma(f, a, b, c, s, random);
    case 6: return exact::sqrt(f, a, s, random);
    case 7: return exact::reciprocal(f, a, s, random);
    default: return exact::reciprocal_sqrt(f, a, s, random);
  }
}

void check_all(const FloatFormat& f, const std::string& name, const Semantics& s, Cases& cases, int* wrong) {
  const uint64_t a = cases.code(f), b = cases.partner(f, a), c = cases.partner(f, a);
  const auto random = static_cast<uint32_t>(cases.word());
  for (int operation = 0; operation < kOperationCount; ++operation) {
    const Rounded x = ours(operation, f, a, b, c, s, random), y = expected(operation, f, a, b, c, s, random);
    if (x.code == y.code && x.flags == y.flags) continue;
    if (++*wrong > 12) return;
    ADD_FAILURE() << name << " " << kOperationNames[operation] << std::hex << " " << a << " " << b << " " << c
                  << " random " << random << " got " << x.code << "/" << int{x.flags} << " expected " << y.code << "/"
                  << int{y.flags} << " " << oracle::text_of(s.rounding(f));
  }
}

// tests: N10, N381
TEST(Operations, NamedFormatsUnderAnyPolicy) {
  Cases cases(11);
  int wrong = 0;
  for (int i = 0; i < 500; ++i)
    for (const auto& [name, format] : oracle::kNamedFormats)
      check_all(format, name, Semantics::ieee(oracle::any_policy(cases)), cases, &wrong);
}

// A zero has an exponent that says nothing: 0 times a great number, plus a small one, and a product beside a zero.
TEST(Operations, ZerosBesideNumbersOfAnySize) {
  for (const FloatFormat& f :
       {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, FloatFormat::ieee(8, 4), FloatFormat::ieee(7, 11)})
    for (int mode = 0; mode <= static_cast<int>(RoundingMode::kOdd); ++mode)
      for (const uint64_t great : {f.max_finite_code(), f.min_normal_code(), f.min_subnormal_code()})
        for (const uint64_t small : {f.min_subnormal_code(), f.min_normal_code() + 1, f.max_finite_code()})
          for (const uint64_t sign : {uint64_t{0}, f.sign_mask()}) {
            const Semantics s = Semantics::ieee(RoundingPolicy::ieee(static_cast<RoundingMode>(mode)));
            const Rounded sum = fp::fma(f, sign, great, small, s, 0), product = fp::fma(f, small, great, sign, s, 0),
                          alone = fp::mul(f, small, great, s, 0);
            EXPECT_EQ(sum.code, small) << f.exponent_bits << " " << f.precision << " mode " << mode;
            EXPECT_EQ(sum.flags, 0);
            EXPECT_EQ(product.code, alone.code) << f.exponent_bits << " " << f.precision << " mode " << mode;
            EXPECT_EQ(product.flags, alone.flags);
          }
}

// tests: N33, N35, N41
TEST(Operations, NamedFormatsUnderIeee) {
  Cases cases(12);
  int wrong = 0;
  for (int i = 0; i < 120; ++i)
    for (const auto& [name, format] : oracle::kNamedFormats)
      for (const RoundingMode mode : oracle::kDeterministicModes)
        check_all(format, name, Semantics::ieee(RoundingPolicy::ieee(mode)), cases, &wrong);
}

// tests: N41, N382, N384
TEST(Operations, EveryFormatUnderAnyPolicy) {
  Cases cases(13);
  int wrong = 0;
  for (int exponent_bits = 2; exponent_bits <= 8; ++exponent_bits)
    for (int precision = 2; precision <= 24; ++precision)
      for (int i = 0; i < 16; ++i)
        check_all(FloatFormat::ieee(exponent_bits, precision),
                  "(" + std::to_string(exponent_bits) + ", " + std::to_string(precision) + ")",
                  Semantics::ieee(oracle::any_policy(cases)), cases, &wrong);
}

/// The least random number with which a result is another than with 0, by halving: there, and with one less, every bit
/// that an operation hands on counts, the last one too, which says that more are not 0.
// tests: N10, N12, N13
TEST(Operations, TheLeastRandomNumberThatRoundsUpIsTheOracles) {
  Cases cases(17);
  int wrong = 0, found = 0;
  for (const auto& [f, count] : {std::pair(kFp32, 1200), std::pair(kFp16, 200), std::pair(kBf16, 200)})
    for (const StochasticVariant variant : oracle::kVariants)
      for (int i = 0; i < count; ++i) {
        RoundingPolicy p = RoundingPolicy::stochastic_carry(i % 4 ? 32 : static_cast<int>(1 + cases.below(32)));
        p.variant = variant;
        const Semantics s = Semantics::ieee(p);
        const uint64_t a = cases.code(f), b = cases.partner(f, a), c = cases.partner(f, a);
        for (int operation = 0; operation < kOperationCount; ++operation) {
          const uint64_t x = operation == 6 || operation == 8 ? a & ~f.sign_mask() : a;
          const auto code = [&](uint32_t random) { return ours(operation, f, x, b, c, s, random).code; };
          uint32_t low = 0, high = static_cast<uint32_t>((uint64_t{1} << p.random_bits) - 1);
          const uint64_t down = code(low);
          if (down == code(high)) continue;
          while (high - low > 1) {
            const uint32_t middle = low + (high - low) / 2;
            (code(middle) == down ? low : high) = middle;
          }
          ++found;
          for (const uint32_t random : {low, high}) {
            const Rounded is = ours(operation, f, x, b, c, s, random),
                          wanted = expected(operation, f, x, b, c, s, random);
            if (is.code == wanted.code && is.flags == wanted.flags) continue;
            if (++wrong > 12) return;
            ADD_FAILURE() << kOperationNames[operation] << std::hex << " " << x << " " << b << " " << c << " random "
                          << random << " got " << is.code << " expected " << wanted.code << " " << oracle::text_of(p);
          }
        }
      }
  EXPECT_GT(found, 20000);
}

TEST(Operations, IpuUnderEveryBehaviour) {
  Cases cases(14);
  int wrong = 0;
  for (int i = 0; i < 800; ++i) {
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.esr = (i & 1) != 0;
    b.nanoo = (i & 2) != 0;
    const Semantics s = Semantics::ipu(b, {}, i & 4 ? RandomEngine::kXoroshiro128aox : RandomEngine::kPhilox);
    for (const auto& [name, format] : oracle::kNamedFormats) check_all(format, name, s, cases, &wrong);
  }
}

/// Every unit switch at random, all together.
TEST(Operations, IpuUnderAnySwitches) {
  Cases cases(16);
  int wrong = 0;
  for (int i = 0; i < 1500; ++i) {
    IpuSwitches w;
    w.sr_bits = static_cast<int>(cases.below(33));
    w.sr_form = oracle::kVariants[cases.below(4)];
    w.overflow_rule = static_cast<OverflowRule>(cases.below(4));
    w.nan_pattern = static_cast<NanPattern>(cases.below(3));
    w.half_inf_operand = static_cast<InfinityOperand>(cases.below(4));
    w.inf_to_half_flags = static_cast<InfToHalfFlags>(cases.below(5));
    w.f32_overflow_result = static_cast<F32OverflowResult>(cases.below(3));
    w.oflo_with_nanoo = static_cast<OfloWithNanoo>(cases.below(2));
    w.pole_flag = static_cast<PoleFlag>(cases.below(3));
    w.f32_daz = cases.below(2) == 0;
    w.f32_ftz = cases.below(2) == 0;
    w.f32_flush_sign = static_cast<FlushSign>(cases.below(2));
    w.fp8_sr = cases.below(2) == 0;
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.esr = cases.below(2) == 0;
    b.nanoo = cases.below(2) == 0;
    const Semantics s = Semantics::ipu(b, w);
    for (const auto& [name, format] : oracle::kNamedFormats) check_all(format, name, s, cases, &wrong);
  }
}

/// Many more cases than rationals could judge; four modes, five flags.
TEST(Operations, Fp32EqualsTheProcessor) {
  if (!oracle::host::available()) GTEST_SKIP() << "no SSE";
  namespace host = oracle::host;
  Cases cases(15);
  int wrong = 0;
  const RoundingMode modes[] = {RoundingMode::kNearestEven, RoundingMode::kTowardZero, RoundingMode::kUp,
                                RoundingMode::kDown};
  for (int i = 0; i < 400000 && wrong < 12; ++i) {
    const RoundingMode mode = modes[i & 3];
    const Semantics s = Semantics::ieee(RoundingPolicy::ieee(mode));
    const uint64_t a = cases.code(kFp32), b = cases.partner(kFp32, a), c = cases.partner(kFp32, a);
    const host::Result theirs[] = {host::add(a, b, mode), host::sub(a, b, mode),
                                   host::mul(a, b, mode), host::div(a, b, mode),
                                   host::sqrt(a, mode),   host::has_fma() ? host::fma(a, b, c, mode) : host::Result{}};
    const int same_as[] = {0, 1, 2, 3, 6, 5};
    for (int k = 0; k < 6; ++k) {
      if (k == 5 && (!host::has_fma() || kFp32.is_nan(c))) continue;  // 0 Inf + NaN: x86 differs in the flag
      const Rounded x = ours(same_as[k], kFp32, a, b, c, s, 0);
      const uint64_t code = kFp32.is_nan(theirs[k].code) ? 0x7FC00000 : theirs[k].code;
      if (x.code == code && x.flags == theirs[k].flags) continue;
      ++wrong;
      ADD_FAILURE() << kOperationNames[same_as[k]] << std::hex << " " << a << " " << b << " " << c << " got " << x.code
                    << "/" << int{x.flags} << " processor " << theirs[k].code << "/" << int{theirs[k].flags} << " mode "
                    << static_cast<int>(mode);
    }
  }
}

/// Single cases of N46 to N57, as a person reads them.
// tests: N35, N46, N49, N52, N53
TEST(Operations, IpuTableRows) {
  const auto ipu = [](bool nanoo) {
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.nanoo = nanoo;
    return Semantics::ipu(b);
  };
  const auto same = [](const Rounded& r, uint64_t code, int flags, const char* what) {
    EXPECT_EQ(r.code, code) << what;
    EXPECT_EQ(int{r.flags}, flags) << what;
  };
  constexpr int kInv = kInvalid, kDiv0 = kDivideByZero, kOflo = kOverflow;
  for (const bool nanoo : {false, true}) {
    const Semantics s = ipu(nanoo);
    same(fp::add(kFp16, 0x7E00, 0x3C00, s), 0x7E00, kInv, "quiet NaN + 1");
    same(fp::sub(kFp16, 0x7C00, 0x7C00, s), 0x7E00, kInv, "Inf - Inf");
    same(fp::mul(kFp16, 0x0000, 0xFC00, s), 0x7E00, kInv, "0 Inf");
    same(fp::div(kFp16, 0x0000, 0x0000, s), 0x7E00, kInv, "0 / 0 is not div0");
    same(fp::rem(kFp16, 0x3C00, 0x0000, s), 0x7E00, kInv, "1 REM 0");
    same(fp::rem(kFp16, 0x7C00, 0x3C00, s), 0x7E00, kInv, "Inf REM 1");
    same(fp::sqrt(kFp16, 0xBC00, s), 0x7E00, kInv, "sqrt(-1)");
    same(fp::sqrt(kFp16, 0x8000, s), 0x8000, 0, "sqrt(-0)");
    same(fp::div(kFp32, 0x3F800000, 0x80000000, s), 0xFF800000, kDiv0, "fp32 1 / -0");
    same(fp::div(kFp32, 0x3F800000, 0x00000001, s), 0x7F800000, kDiv0, "fp32 1 / subnormal: it counts as zero");
    same(fp::mul(kFp32, 0x7149F2CA, 0x7149F2CA, s), 0x7F800000, kOflo, "fp32 1e30 * 1e30");
    same(fp::mul(kFp32, 0x00800000, 0xBF000000, s), 0x80000000, 0, "fp32 2^-126 * -0.5 is flushed");
    same(fp::div(kFp16, 0x70E2, 0x0000, s), 0x7E00, nanoo ? kDiv0 | kInv : kDiv0, "fp16 10000 / 0");
    same(fp::mul(kFp16, 0x70E2, 0xF0E2, s), nanoo ? 0x7E00 : 0xFBFF, nanoo ? kOflo | kInv : kOflo, "10000 * -10000");
    same(fp::add(kFp16, 0x7C00, 0x3C00, s), 0x7E00, nanoo ? kInv : 0, "Inf + 1");
    same(fp::reciprocal(kFp16, 0x8000, s), 0x7E00, nanoo ? kDiv0 | kInv : kDiv0, "1 / -0 in fp16");
    same(fp::reciprocal(kFp32, 0x80000000, s), 0xFF800000, kDiv0, "1 / -0 in fp32");
    same(fp::mul(kFp16, 0x0400, 0x3800, s), 0x0200, 0, "fp16 subnormals are exact");
    same(fp::mul(kFp16, 0x0001, 0x3800, s), 0x0000, 0, "there is no underflow flag");
    same(fp::add(kFp16, 0x3C00, 0x1000, s), 0x3C00, 0, "there is no inexact flag");
  }
}

}  // namespace
