// Names, refusals and the exact bias of the chips.
#include "softamp/chips/chip_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "softamp/names/names.h"
#include "softamp/numerics/convert.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

std::string refusal(Chip chip, const FloatFormat& f, ChipOverflow o = ChipOverflow::kUsual, int bits = 0) {
  return test::refusal<std::invalid_argument>([&] { require_chip_rounding(chip, f, o, bits); });
}

// tests: N310
TEST(ChipTable, Names) {
  EXPECT_EQ(chip_facts().size(), size_t{kChipCount});
  for (size_t i = 0; i < chip_facts().size(); ++i) {
    const ChipFacts& f = chip_facts()[i];
    EXPECT_EQ(f.chip, static_cast<Chip>(i)) << f.name;
    EXPECT_EQ(chip_from_name(f.name), f.chip);
    EXPECT_EQ(name_of(f.chip), f.name);
    EXPECT_FALSE(f.evidence.empty()) << f.name;
    for (const FloatFormat& to : f.formats) EXPECT_TRUE(chip_rounding(f.chip, to).exists) << f.name;
  }
  EXPECT_EQ(chip_from_name("AMD_CDNA3"), Chip::kAmdCdna3);
}

TEST(ChipTable, UnknownChipsAreNamedWithTheNearest) {
  const auto message = [](const char* name) { return test::refusal<UnknownName>([&] { chip_from_name(name); }); };
  const std::string known =
      "; known: ipu, nvidia_sm100 (sm_100a, b200), nvidia_sm103 (sm_103a, b300), amd_cdna3 (cdna3), amd_cdna4 (cdna4), "
      "intel_xe, tenstorrent_wh (wormhole), p3109_fastest, p3109_fast, p3109_rne, p3109_odd, exact";
  EXPECT_EQ(message("nvidia_sm10"), "unknown chip 'nvidia_sm10'; nearest: nvidia_sm100" + known);
  for (const char* closed : {"trainium", "Trainium2", "gaudi", "intel_gaudi2", "TPU", "tpu_v5"}) {
    EXPECT_EQ(message(closed).rfind("no preset for chip '" + std::string(closed) + "': ", 0), 0u) << message(closed);
    EXPECT_NE(message(closed).find("not"), std::string::npos);
    EXPECT_NE(message(closed).find(known), std::string::npos);
  }
}

TEST(ChipTable, WhatAChipHasNotIsRefused) {
  EXPECT_EQ(refusal(Chip::kAmdCdna3, kFp16), "chip amd_cdna3 does not round to fp16: expected f143 or f152");
  EXPECT_EQ(refusal(Chip::kNvidiaSm100, kTf32),
            "chip nvidia_sm100 does not round to tf32: expected fp16, bf16, e4m3 or e5m2");
  EXPECT_EQ(refusal(Chip::kNvidiaSm100, kE4m3, ChipOverflow::kSpecial),
            "chip nvidia_sm100 to e4m3 has no other form than the saturating one");
  EXPECT_EQ(refusal(Chip::kIntelXe, kFp16, ChipOverflow::kSaturating),
            "chip intel_xe to fp16 has no saturating form that is public: expected its usual one");
  EXPECT_EQ(refusal(Chip::kNvidiaSm100, kFp16, ChipOverflow::kUsual, 8),
            "chip nvidia_sm100 rounds to fp16 by 13 random bits: expected no other number than that");
  EXPECT_EQ(refusal(Chip::kP3109Rne, kFp16, ChipOverflow::kUsual, 33),
            "chip p3109_rne: 33 random bits: expected 1..32");
  EXPECT_EQ(refusal(Chip::kP3109Rne, kFp16, ChipOverflow::kSaturating, 5), "");
}

/// Mean of result minus exact value over every field that can be discarded and every R, by converting them all.
Dyadic counted_bias(Chip chip, const FloatFormat& to, int lift, int bits) {
  const ChipRounding c = chip_rounding(chip, to, bits);
  const Semantics s = chip_semantics(chip, to, ChipOverflow::kUsual, bits);
  const int r = c.policy().random_bits;
  const int discarded = c.from.mantissa_bits() - to.mantissa_bits() + lift;
  // 1 normally, else the least value of its binade: an even multiple of the quantum, with room for the field below.
  const int exponent = lift == 0 ? 0 : to.min_exponent() - lift;
  const uint64_t base = static_cast<uint64_t>(exponent + c.from.bias) << c.from.mantissa_bits();
  const uint64_t lower = fp::convert(c.from, to, base, Semantics::ieee()).code;
  int64_t ups = 0;
  for (uint64_t k = 0; k < uint64_t{1} << discarded; ++k)
    for (uint32_t random = 0; random < uint32_t{1} << r; ++random)
      ups += fp::convert(c.from, to, base + k, s, random).code != lower;
  Dyadic bias{2 * ups - (((int64_t{1} << discarded) - 1) << r), discarded + r + 1};
  while (bias.numerator != 0 && bias.numerator % 2 == 0) bias = {bias.numerator / 2, bias.exponent - 1};
  return bias.numerator == 0 ? Dyadic{0, 0} : bias;
}

/// Formats with few discarded bits, that all may be counted: fp32 to precisions of 18 to 21 bits, for r below, at and
/// above the number discarded; and Intel's bf8, which comes from fp16.
TEST(ChipTable, BiasIsThatOfAllCases) {
  for (const Chip chip : {Chip::kP3109Fastest, Chip::kP3109Fast, Chip::kP3109Rne, Chip::kP3109Odd})
    for (const int bits : {1, 2, 3, 5, 7})
      for (const int precision : {19, 21})
        for (const int lift : {0, 1, 2}) {
          const FloatFormat to = FloatFormat::ieee(5, precision);
          EXPECT_EQ(dyadic_text(chip_bias(chip_rounding(chip, to, bits), lift)),
                    dyadic_text(counted_bias(chip, to, lift, bits)))
              << name_of(chip) << " bits " << bits << " precision " << precision << " lift " << lift;
        }
  EXPECT_EQ(dyadic_text(counted_bias(Chip::kIntelXe, kE5m2, 0, 0)), "0");
  EXPECT_EQ(dyadic_text(chip_bias(chip_rounding(Chip::kIntelXe, kE5m2))), "0");
}

/// The policies of Intel and Tenstorrent at numbers of bits that can be counted.
TEST(ChipTable, BiasOfTheOtherPolicies) {
  for (const int r : {3, 4, 6}) {
    for (const int lift : {0, 1, 2}) {
      ChipRounding c = chip_rounding(Chip::kIntelXe, kFp16);
      c.to = FloatFormat::ieee(5, 24 - r);
      c.special.random_bits = r;
      Semantics s = Semantics::ieee(c.special);
      const int discarded = r + lift;
      const uint32_t base = static_cast<uint32_t>(127 + (lift ? -14 - lift : 0)) << 23;
      const uint64_t lower = fp::convert(kFp32, c.to, base, Semantics::ieee()).code;
      int64_t ups = 0, least = 0;
      c.special.variant = StochasticVariant::kAtLeast;
      const Semantics at_least = [&c] {
        RoundingPolicy p = c.special;
        p.alignment = RandomAlignment::kTopOfDiscarded;
        return Semantics::ieee(p);
      }();
      for (uint32_t k = 0; k < 1u << discarded; ++k)
        for (uint32_t random = 0; random < 1u << r; ++random) {
          ups += fp::convert(kFp32, c.to, base + k, s, random).code != lower;
          least += fp::convert(kFp32, c.to, base + k, at_least, random).code != lower;
        }
      const auto as_double = [](const Dyadic& d) { return std::ldexp(static_cast<double>(d.numerator), -d.exponent); };
      const double mean_d = 0.5 - std::ldexp(0.5, -discarded);
      c.special = s.narrow;
      EXPECT_EQ(as_double(chip_bias(c, lift)), std::ldexp(static_cast<double>(ups), -discarded - r) - mean_d)
          << r << ' ' << lift;
      c.special = at_least.narrow;
      EXPECT_EQ(as_double(chip_bias(c, lift)), std::ldexp(static_cast<double>(least), -discarded - r) - mean_d)
          << r << ' ' << lift;
    }
  }
}

// tests: N322
TEST(ChipTable, RowsAsTheDocumentsHaveThem) {
  const auto row = [](Chip chip, const FloatFormat& to) {
    for (const ChipRow& r : chip_rows(chip))
      if (r.to == to)
        return std::to_string(r.bits) + "|" + r.slice + "|" + r.variant + "|" + r.alignment + "|" + r.subnormals + "|" +
               r.overflow + "|" + r.infinity + "|" + r.nan + "|" + r.minus_zero + "|" + dyadic_text(r.bias) + "|" +
               dyadic_text(r.subnormal_bias) + "|" + name_of(r.evidence);
    return std::string("no such row");
  };
  EXPECT_EQ(row(Chip::kNvidiaSm100, kFp16),
            "13|low bits of half i|carry|top|kept|inf or max|inf or max|0x7fff|-0|0|-1/2^15|hash-verified in part");
  EXPECT_EQ(row(Chip::kNvidiaSm103, kE4m3),
            "8|byte 1,0r,3,2r|carry|top|kept|max|max|0x7f|-0|-4095/2^21|-8191/2^22|third party");
  EXPECT_EQ(row(Chip::kAmdCdna3, kF143), "20|top bits|carry|top|kept|nan or max|nan|0x80|+0|0|-1/2^22|vendor model");
  EXPECT_EQ(row(Chip::kAmdCdna4, kFp16), "13|top bits|carry|top|kept|inf or max|inf|0x7e00|-0|0|-1/2^15|third party");
  EXPECT_EQ(row(Chip::kIntelXe, kFp16), "13|low bits|carry|source|kept|inf|inf|0x7e00|-0|0|-1/2^2|vendor document");
  EXPECT_EQ(row(Chip::kTenstorrentWh, kBf16),
            "23|low bits|at-least|top|to +0|inf|inf|0x7f80|+0|1/2^23|1/2^23|third party");
  EXPECT_EQ(row(Chip::kIpu, kFp16), "16|low bits of half i|carry|top|kept|max or nan|nan|0x7e00|-0|0|0|assumed");
}

}  // namespace
}  // namespace softamp
