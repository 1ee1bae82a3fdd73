// Casts as specifications name them: published codes of special values and of numbers too large.
#include "softamp/numerics/convert.h"

#include <gtest/gtest.h>

#include "softamp/numerics/chips.h"

namespace softamp {
namespace {

using enum CastProfile;

/// Codes of NaN, -NaN, infinity, -infinity, a number too large, and the like below zero.
struct Line {
  CastProfile cast;
  FloatFormat to;
  uint32_t codes[6];
};

TEST(CastProfiles, SpecialValuesAndOverflow) {
  const uint32_t given[] = {0x7FC00001, 0xFFA12345, 0x7F800000, 0xFF800000, 0x4E6E6B28 /* 1e9 */, 0xCE6E6B28};
  const Line lines[] = {
      {kOcp, kE4m3, {0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F}},
      {kOcp, kE5m2, {0x7E, 0x7E, 0x7C, 0xFC, 0x7C, 0xFC}},
      {kOcpSaturate, kE4m3, {0x7F, 0x7F, 0x7E, 0xFE, 0x7E, 0xFE}},
      {kOcpSaturate, kE5m2, {0x7E, 0x7E, 0x7B, 0xFB, 0x7B, 0xFB}},
      // As ONNX 1.23's reference and ml_dtypes 0.6 give them.
      {kOnnx, kE4m3, {0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF}},
      {kOnnx, kE5m2, {0x7E, 0xFE, 0x7C, 0xFC, 0x7C, 0xFC}},
      {kOnnx, kF143, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
      {kOnnx, kF152, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
      {kOnnxSaturate, kE4m3, {0x7F, 0xFF, 0x7E, 0xFE, 0x7E, 0xFE}},
      {kOnnxSaturate, kE5m2, {0x7E, 0xFE, 0x7B, 0xFB, 0x7B, 0xFB}},
      {kOnnxSaturate, kF143, {0x80, 0x80, 0x7F, 0xFF, 0x7F, 0xFF}},
      {kOnnxSaturate, kF152, {0x80, 0x80, 0x7F, 0xFF, 0x7F, 0xFF}},
      {kMlDtypes, kE4m3, {0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF}},
      {kMlDtypes, kF152, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
      {kMlDtypes, kBf16, {0x7FC0, 0xFFC0, 0x7F80, 0xFF80, 0x4E6E, 0xCE6E}},
      // As cuda_fp8.h of CUDA 13.0 gives them.
      {kNvidiaSatfinite, kE4m3, {0x7F, 0x7F, 0x7E, 0xFE, 0x7E, 0xFE}},
      {kNvidiaSatfinite, kE5m2, {0x7F, 0x7F, 0x7B, 0xFB, 0x7B, 0xFB}},
      {kAmd, kE4m3, {0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF}},
      {kAmd, kE5m2, {0x7E, 0xFE, 0x7C, 0xFC, 0x7C, 0xFC}},
      {kAmdSaturate, kE4m3, {0x7F, 0xFF, 0x7E, 0xFE, 0x7E, 0xFE}},
      {kAmdSaturate, kE5m2, {0x7E, 0xFE, 0x7B, 0xFB, 0x7B, 0xFB}},
  };
  for (const Line& line : lines) {
    ASSERT_TRUE(has_cast(line.cast, line.to)) << name_of(line.cast);
    const Semantics s = Semantics::ieee(cast_policy(line.cast));
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(fp::convert(kFp32, line.to, given[i], s).code, line.codes[i])
          << name_of(line.cast) << " e" << line.to.exponent_bits << " of " << std::hex << given[i];
  }
}

TEST(CastProfiles, WhichFormatsTheyHave) {
  for (int i = 0; i < kCastProfiles; ++i) {
    const auto cast = static_cast<CastProfile>(i);
    const bool onnx = cast == kOnnx || cast == kOnnxSaturate;
    for (const FloatFormat& f : {kE4m3, kE5m2}) EXPECT_TRUE(has_cast(cast, f));
    for (const FloatFormat& f : {kF143, kF152}) EXPECT_EQ(has_cast(cast, f), onnx || cast == kMlDtypes);
    EXPECT_EQ(has_cast(cast, kBf16), cast == kMlDtypes);
    for (const FloatFormat& f : {kFp16, kFp32, kE2m1, kE2m3}) EXPECT_FALSE(has_cast(cast, f));
  }
}

/// What CDNA4's stochastic conversions make of special values is what its conversions to nearest do.
TEST(CastProfiles, ThoseOfAmdAreTheChips) {
  for (const FloatFormat& f : {kE4m3, kE5m2})
    for (const uint32_t code : {0x7FC00000u, 0xFFC00000u, 0x7F800000u, 0xFF800000u, 0x7F000000u, 0xFF000000u})
      for (const bool saturates : {false, true}) {
        const Semantics chip =
            chip_semantics(Chip::kAmdCdna4, f, saturates ? ChipOverflow::kSaturating : ChipOverflow::kSpecial);
        const Semantics cast = Semantics::ieee(cast_policy(saturates ? kAmdSaturate : kAmd));
        EXPECT_EQ(fp::convert(kFp32, f, code, chip).code, fp::convert(kFp32, f, code, cast).code) << std::hex << code;
      }
}

}  // namespace
}  // namespace softamp
