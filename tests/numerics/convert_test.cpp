// Conversions: every pair of formats against exact arithmetic, int32 in all modes, fp8 lines of N352.
#include "softamp/numerics/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/oracle/cases.h"
#include "tests/oracle/exact_operations.h"
#include "tests/oracle/host_unit.h"

namespace {

using namespace softamp;
using oracle::Cases;
namespace exact = oracle::exact;

constexpr oracle::NamedFormat kNine[] = {{"fp16", kFp16}, {"bf16", kBf16}, {"tf32", kTf32},
                                         {"fp32", kFp32}, {"e4m3", kE4m3}, {"e5m2", kE5m2},
                                         {"f143", kF143}, {"f152", kF152}, {"binary64", kBinary64}};

void expect_same(const Rounded& got, const Rounded& expected, const std::string& what) {
  EXPECT_TRUE(got.code == expected.code && got.flags == expected.flags)
      << what << std::hex << " got " << got.code << "/" << int{got.flags} << " expected " << expected.code << "/"
      << int{expected.flags};
}

TEST(Convert, EveryPairUnderAnyPolicy) {
  Cases cases(21);
  for (const auto& from : kNine)
    for (const auto& to : kNine)
      for (int i = 0; i < 250 && !HasFailure(); ++i) {
        const RoundingPolicy p = oracle::any_policy(cases);
        const uint64_t code = cases.code(from.format);
        const auto random = static_cast<uint32_t>(cases.word());
        const Semantics s = Semantics::ieee(p);
        expect_same(fp::convert(from.format, to.format, code, s, random),
                    exact::convert(from.format, to.format, code, s, random),
                    std::string(from.name) + " to " + to.name + " " + oracle::hexadecimal(code) + " random " +
                        oracle::hexadecimal(random) + " " + oracle::text_of(p));
      }
}

TEST(Convert, EveryPairUnderTheIpu) {
  Cases cases(22);
  for (const auto& from : kNine)
    for (const auto& to : kNine)
      for (int i = 0; i < 60 && !HasFailure(); ++i) {
        FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
        b.esr = (i & 1) != 0;
        b.nanoo = (i & 2) != 0;
        const Semantics s = Semantics::ipu(b);
        const uint64_t code = cases.code(from.format);
        const auto random = static_cast<uint32_t>(cases.word());
        expect_same(fp::convert(from.format, to.format, code, s, random),
                    exact::convert(from.format, to.format, code, s, random),
                    std::string(from.name) + " to " + to.name + " " + oracle::hexadecimal(code) +
                        (b.esr ? " esr" : "") + (b.nanoo ? " nanoo" : ""));
      }
}

/// All codes of up to 16 bits survive a round trip through every wider format that holds them, flags silent.
TEST(Convert, WideningIsExactAndNarrowingUndoesIt) {
  for (const auto& narrow : kNine)
    for (const auto& wide : {kNine[3], kNine[8]}) {
      if (narrow.format.storage_bits() > 16) continue;
      for (uint64_t code = 0; code <= narrow.format.code_mask(); ++code) {
        if (narrow.format.is_nan(code)) continue;
        const Rounded up = fp::convert(narrow.format, wide.format, code, Semantics::ieee());
        const Rounded down = fp::convert(wide.format, narrow.format, up.code, Semantics::ieee());
        ASSERT_EQ(down.code, code) << narrow.name << " by " << wide.name;
        ASSERT_EQ(up.flags | down.flags, 0) << narrow.name << " by " << wide.name << " code " << code;
      }
    }
}

TEST(Convert, DoubleToFloatEqualsTheProcessor) {
  if (!oracle::host::available()) GTEST_SKIP() << "no SSE";
  Cases cases(23);
  const RoundingMode modes[] = {RoundingMode::kNearestEven, RoundingMode::kTowardZero, RoundingMode::kUp,
                                RoundingMode::kDown};
  for (int i = 0; i < 400000; ++i) {
    // three in four in the range of fp32, its subnormals included
    uint64_t code = cases.code(kBinary64);
    if (i % 16 >= 4) code = (code & ~(uint64_t{0x7FF} << 52)) | (uint64_t{1023 - 152} + cases.below(282)) << 52;
    const RoundingMode mode = modes[i & 3];
    oracle::host::Result h = oracle::host::double_to_float(code, mode);
    if (kFp32.is_nan(h.code)) h.code = 0x7FC00000;
    const Rounded got = fp::convert(kBinary64, kFp32, code, Semantics::ieee(RoundingPolicy::ieee(mode)));
    ASSERT_TRUE(got.code == h.code && got.flags == h.flags)
        << std::hex << code << " got " << got.code << "/" << int{got.flags} << " processor " << h.code << "/"
        << int{h.flags};
  }
}

TEST(Convert, HostNumbers) {
  EXPECT_EQ(fp::to_double(kFp16, 0x3555), 0x1.554p-2);
  EXPECT_EQ(fp::to_float(kBf16, 0xC049), -3.140625f);
  EXPECT_EQ(fp::to_double(kF152, 0x7F), 57344.0);
  EXPECT_TRUE(std::isnan(fp::to_double(kF143, 0x80)));
  EXPECT_TRUE(std::signbit(fp::to_float(kFp16, 0x8000)));
  EXPECT_EQ(fp::to_float(kFp32, 0x00000001), 0x1p-149f);
  EXPECT_EQ(fp::from_double(kFp16, 65520.0), 0x7C00u);
  EXPECT_EQ(fp::from_double(kFp16, 65519.996), 0x7BFFu);
  EXPECT_EQ(fp::from_double(kFp16, 0.0001), 0x068Eu);
  EXPECT_EQ(fp::from_float(kFp16, 0.001f), 0x1419u);
  EXPECT_EQ(fp::from_double(kFp16, 1e-320), 0x0000u);
}

/// Codes of a row x, x + step, ... converted to `to`.
std::vector<uint64_t> line(const FloatFormat& to, std::vector<double> values, const Semantics& s) {
  std::vector<uint64_t> codes;
  for (const double v : values) codes.push_back(fp::convert(kBinary64, to, __builtin_bit_cast(uint64_t, v), s).code);
  return codes;
}

// tests: N6, N54, N352
TEST(Convert, KnownQuarterLines) {
  const Semantics s = Semantics::ipu();
  EXPECT_EQ(line(kF143, {7.0, 7.25, 7.5, 7.75, 8.0, 8.5, 9.0, 9.5}, s),
            (std::vector<uint64_t>{0x56, 0x56, 0x57, 0x58, 0x58, 0x58, 0x59, 0x5A}));
  // one rounding; by way of fp16 it would be 8.5, a tie, and 0x58
  EXPECT_EQ(line(kF143, {8.503906250, 8.50006103515625}, s), (std::vector<uint64_t>{0x59, 0x59}));
  EXPECT_EQ(line(kF143, {240, 247.9, 0x1p-10, 0x1p-7, -0.0, 0x1p-12, -0x1p-12}, s),
            (std::vector<uint64_t>{0x7F, 0x7F, 0x01, 0x08, 0x00, 0x00, 0x00}));
  EXPECT_EQ(line(kF152, {57344, 0x1p-17, 0x1p-15, -57344}, s), (std::vector<uint64_t>{0x7F, 0x01, 0x04, 0xFF}));
}

TEST(Convert, QuarterRowsOfTheIpuTable) {
  constexpr int kInv = kInvalid, kOflo = kOverflow;
  for (const bool nanoo : {false, true}) {
    FloatingPointBehaviour b = FloatingPointBehaviour::all_off();
    b.nanoo = nanoo;
    const Semantics s = Semantics::ipu(b);
    const int overflow = nanoo ? kOflo | kInv : kOflo;
    expect_same(fp::convert(kFp32, kF143, 0x43F00000, s), {nanoo ? 0x80u : 0x7Fu, static_cast<uint8_t>(overflow)},
                "480");
    expect_same(fp::convert(kFp32, kF143, 0xC3F00000, s), {nanoo ? 0x80u : 0xFFu, static_cast<uint8_t>(overflow)},
                "-480");
    expect_same(fp::convert(kFp32, kF152, 0xC7800000, s), {nanoo ? 0x80u : 0xFFu, static_cast<uint8_t>(overflow)},
                "-65536");
    expect_same(fp::convert(kFp32, kF143, 0x7F800000, s), {0x80, static_cast<uint8_t>(nanoo ? kInv : 0)}, "Inf");
    expect_same(fp::convert(kFp32, kF152, 0xFF800000, s), {0x80, static_cast<uint8_t>(nanoo ? kInv : 0)}, "-Inf");
    expect_same(fp::convert(kFp16, kF143, 0x7E00, s), {0x80, kInvalid}, "NaN");
    expect_same(fp::convert(kF143, kFp16, 0x80, s), {0x7E00, kInvalid}, "quarter NaN");
    expect_same(fp::convert(kF152, kFp16, 0x7F, s), {0x7B00, 0}, "57344");
  }
}

/// OCP OFP8: e4m3 has no infinity and 448 as its largest number, e5m2 is IEEE-like with 57344.
TEST(Convert, OcpFp8) {
  const Semantics s = Semantics::ieee();
  EXPECT_EQ(line(kE4m3, {448, 464, 464.5, 0x1p-9, 0x1p-10, -0.0, 1.0, -448}, s),
            (std::vector<uint64_t>{0x7E, 0x7E, 0x7F, 0x01, 0x00, 0x80, 0x38, 0xFE}));
  EXPECT_EQ(line(kE5m2, {57344, 61439, 61440, 0x1p-16, 1.0, -INFINITY}, s),
            (std::vector<uint64_t>{0x7B, 0x7B, 0x7C, 0x01, 0x3C, 0xFC}));
  RoundingPolicy saturating = RoundingPolicy::ieee();
  saturating.overflow = Overflow::kSaturate;
  saturating.infinity = InfinityResult::kSaturate;
  EXPECT_EQ(line(kE4m3, {1e9, -1e9, INFINITY}, Semantics::ieee(saturating)), (std::vector<uint64_t>{0x7E, 0xFE, 0x7E}));
  EXPECT_EQ(line(kE5m2, {1e9, -1e9, -INFINITY}, Semantics::ieee(saturating)),
            (std::vector<uint64_t>{0x7B, 0xFB, 0xFB}));
}

/// N23: the NaN of every format.
// tests: N5, N23
TEST(Convert, NanCodes) {
  const std::pair<oracle::NamedFormat, uint64_t> rows[] = {
      {kNine[0], 0x7E00}, {kNine[1], 0x7FC0}, {kNine[3], 0x7FC00000}, {kNine[4], 0x7F},
      {kNine[5], 0x7E},   {kNine[6], 0x80},   {kNine[7], 0x80},       {kNine[8], 0x7FF8000000000000}};
  for (const auto& [format, nan] : rows) {
    EXPECT_EQ(fp::convert(kFp32, format.format, 0xFFC12345, Semantics::ieee()).code, nan) << format.name;
    EXPECT_EQ(int{fp::convert(kFp32, format.format, 0xFFC12345, Semantics::ieee()).flags}, 0) << format.name;
    EXPECT_EQ(int{fp::convert(kFp32, format.format, 0x7F800001, Semantics::ieee()).flags}, int{kInvalid})
        << format.name;
  }
}

// tests: N36, N44
TEST(Convert, ToInt32InEveryMode) {
  Cases cases(24);
  for (int i = 0; i < 40000 && !HasFailure(); ++i) {
    const auto& from = kNine[cases.below(9)];
    RoundingPolicy p = RoundingPolicy::stochastic_carry(static_cast<int>(1 + cases.below(32)));
    p.mode = static_cast<RoundingMode>(cases.below(7));
    p.variant = oracle::kVariants[cases.below(4)];
    Semantics s = cases.below(4) == 0 ? Semantics::ipu() : Semantics::ieee(p);
    s.integer_range = static_cast<IntegerRange>(cases.below(3));
    uint64_t code = cases.code(from.format);
    if (cases.below(2) == 0)  // a number of about the size of the int32 range, or near an integer
      code = fp::from_double(from.format,
                             static_cast<double>(static_cast<int64_t>(cases.word()) >> (30 + cases.below(33))) / 8);
    const bool exactly = cases.below(2) == 0;
    const auto random = static_cast<uint32_t>(cases.word());
    const std::string what = std::string(from.name) + " " + oracle::hexadecimal(code) + " " + oracle::text_of(s.wide);
    expect_same(fp::to_int32(from.format, code, s, exactly, random),
                exact::to_int32(from.format, code, s, exactly, random), "to_int32 " + what);
    expect_same(fp::round_to_integral(from.format, code, s, exactly, random),
                exact::round_to_integral(from.format, code, s, exactly, random), "round_to_integral " + what);
  }
}

TEST(Convert, FromInt32InEveryMode) {
  Cases cases(25);
  for (int i = 0; i < 10000 && !HasFailure(); ++i) {
    const auto& to = kNine[cases.below(9)];
    const RoundingPolicy p = oracle::any_policy(cases);
    const auto value = static_cast<int32_t>(static_cast<int64_t>(cases.word()) >> (32 + cases.below(32)));
    const auto random = static_cast<uint32_t>(cases.word());
    expect_same(fp::from_int32(value, to.format, Semantics::ieee(p), random),
                exact::from_int32(value, to.format, Semantics::ieee(p), random),
                "from_int32 " + std::to_string(value) + " to " + to.name + " " + oracle::text_of(p));
  }
  EXPECT_EQ(fp::from_int32(INT32_MIN, kFp32, Semantics::ieee()).code, 0xCF000000u);
  EXPECT_EQ(fp::from_int32(INT32_MIN, kFp16, Semantics::ipu()).code, 0xFBFFu);
}

TEST(Convert, IntegerRowsByHand) {
  const Semantics s = Semantics::ieee();
  const auto integer = [&](double x, RoundingMode mode) {
    return static_cast<int32_t>(
        fp::to_int32(kFp32, fp::from_double(kFp32, x), Semantics::ieee(RoundingPolicy::ieee(mode))).code);
  };
  EXPECT_EQ(integer(2.5, RoundingMode::kNearestEven), 2);
  EXPECT_EQ(integer(-2.5, RoundingMode::kNearestAway), -3);
  EXPECT_EQ(integer(-2.5, RoundingMode::kTowardZero), -2);
  EXPECT_EQ(integer(2.25, RoundingMode::kUp), 3);
  EXPECT_EQ(integer(-2.25, RoundingMode::kDown), -3);
  EXPECT_EQ(int{fp::to_int32(kFp16, 0x3E00, s).flags}, 0);  // 1.5, not asked for inexact
  EXPECT_EQ(int{fp::to_int32(kFp16, 0x3E00, s, true).flags}, 1);
  EXPECT_EQ(fp::to_int32(kFp16, 0x7E00, s).code, 0x80000000u);
  EXPECT_EQ(int{fp::to_int32(kFp16, 0x7E00, s).flags}, int{kInvalid});
  EXPECT_EQ(fp::round_to_integral(kFp16, 0x8001, s).code, 0x8000u);  // a zero keeps the sign
  EXPECT_EQ(fp::round_to_integral(kFp16, 0x7BFF, s, true).code, 0x7BFFu);
}

}  // namespace
