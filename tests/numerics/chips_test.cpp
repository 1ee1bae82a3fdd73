// Each chip's preset against a slow transcription of its document; the vectors that others published; the packed forms.
#include "softamp/numerics/chips.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/cvt_rs.h"
#include "tests/mixer.h"
#include "tests/oracle/chip_transcripts.h"

namespace {

using namespace softamp;
namespace slow = oracle::chips;

/// fp32 codes dense in what can go wrong on the way to `to`: specials; codes of `to`, their midpoints and quarters,
/// each with its neighbours; subnormals and what lies below; the edges of overflow; fp32's own subnormals; anything.
/// fewer (1 ..): divides their number.
std::vector<uint32_t> sources(const FloatFormat& to, uint64_t seed, int fewer) {
  std::vector<uint32_t> all = {0,          1,          0x007FFFFF, 0x00800000, 0x7F7FFFFF,
                               0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF};
  test::Mixer mix{seed};
  const auto around = [&all](double value) {
    const auto bits = static_cast<uint32_t>(fp::from_double(kFp32, value));
    for (uint32_t step = 0; step < 5; ++step)
      if (bits + step >= 2) all.push_back(bits + step - 2);
  };
  const uint64_t codes = to.max_finite_code() + 1;
  for (int i = 0; i < 400 / fewer; ++i) {
    const uint64_t at = codes <= 256 ? static_cast<uint64_t>(i) % codes : mix() % codes;
    const uint64_t code = i % 8 == 0 ? mix() % (2 * to.min_normal_code()) : i % 8 == 1 ? codes - 1 - mix() % 4 : at;
    const double low = fp::to_double(to, code);
    const double high = code + 1 < codes ? fp::to_double(to, code + 1) : 2 * low - fp::to_double(to, code - 1);
    for (const double share : {0.0, 0.25, 0.5, 0.75}) around(low + share * (high - low));
    around(high);
  }
  for (int i = 0; i < 40; ++i) around(std::ldexp(1.0, to.min_quantum() - i / 2) * (1 + i % 2 * 0.5));
  for (int i = 0; i < 3000 / fewer; ++i) all.push_back(static_cast<uint32_t>(mix()) & 0x7FFFFFFF);
  for (int i = 0; i < 300; ++i) all.push_back(static_cast<uint32_t>(mix()) & 0x007FFFFF);
  const size_t positive = all.size();
  for (size_t i = 0; i < positive; ++i) all.push_back(all[i] | 0x80000000);
  return all;
}

/// Random numbers of r bits for source x: the ends, anything, and those at which the carry of x just comes or not,
/// wherever its discarded bits begin.
std::vector<uint32_t> numbers(uint32_t x, const FloatFormat& to, int r, test::Mixer& mix) {
  const uint32_t mask = ~uint32_t{0} >> (32 - r);
  std::vector<uint32_t> all = {0, 1, mask, mask - 1, static_cast<uint32_t>(mix()) & mask};
  const double v = std::fabs(fp::to_double(kFp32, x));
  if (v > 0 && v < 1e39) {
    int e;
    std::frexp(v, &e);
    const double quanta = std::ldexp(v, -std::max(e - to.precision, to.min_quantum()));
    const auto part = static_cast<uint32_t>(std::ldexp(quanta - std::floor(quanta), r));
    for (uint32_t step = 0; step < 3; ++step) {
      all.push_back((mask + 2 - step - part) & mask);
      all.push_back((part + step - 1) & mask);
    }
  }
  return all;
}

/// Every source and number, policy against transcription; expected(x, R) -> code.
template <class Expected>
void compare(Chip chip, const FloatFormat& to, ChipOverflow overflow, int bits, Expected expected, int fewer = 1) {
  const ChipRounding c = chip_rounding(chip, to, bits);
  ASSERT_TRUE(c.exists && c.has(overflow));
  const Semantics s = chip_semantics(chip, to, overflow, bits);
  const int r = c.policy(overflow).random_bits;
  test::Mixer mix{7};
  size_t wrong = 0;
  for (const uint32_t x : sources(to, 3, fewer))
    for (const uint32_t random : numbers(x, to, r, mix)) {
      const uint64_t found = fp::convert(kFp32, to, x, s, random).code;
      const uint32_t wanted = expected(x, random);
      if (found != wanted && wrong++ < 5)
        ADD_FAILURE() << std::hex << "x " << x << " R " << random << ": " << found << ", the document: " << wanted;
    }
  EXPECT_EQ(wrong, 0u);
}

constexpr ChipOverflow kSpecial = ChipOverflow::kSpecial, kSaturating = ChipOverflow::kSaturating;

struct Place {
  FloatFormat format;
  slow::Target target;
};
constexpr Place kF16Place{kFp16, slow::kF16}, kBf16Place{kBf16, slow::kBf16}, kTf32Place{kTf32, slow::kTf32},
    kE4m3Place{kE4m3, slow::kE4m3}, kE5m2Place{kE5m2, slow::kE5m2}, kF143Place{kF143, slow::kF143},
    kF152Place{kF152, slow::kF152};

// tests: N316, N323
TEST(Chips, NvidiaAsItsDocumentHasIt) {
  for (const Chip chip : {Chip::kNvidiaSm100, Chip::kNvidiaSm103})
    for (const Place& p : {kF16Place, kBf16Place, kE4m3Place, kE5m2Place})
      for (const ChipOverflow overflow : {kSpecial, kSaturating}) {
        if (overflow == kSpecial && p.format.storage_bits() == 8) continue;
        const uint32_t bits = p.format == kFp16 ? 13 : p.format == kBf16 ? 16 : 8;
        compare(chip, p.format, overflow, 0, [&](uint32_t x, uint32_t random) {
          return slow::nvidia(p.target, x, random, bits, overflow == kSaturating);
        });
      }
  compare(Chip::kNvidiaSm100, kBf16, kSaturating, 0, slow::nvidia_bf16_satfinite);
}

// tests: N317
TEST(Chips, AmdAsItsDocumentHasIt) {
  const auto check = [](Chip chip, const Place& p, ChipOverflow overflow, uint32_t infinite) {
    const ChipRounding c = chip_rounding(chip, p.format);
    compare(chip, p.format, overflow, 0, [&](uint32_t x, uint32_t random) {
      const uint32_t seed = random << (9 + p.target.mantissa) | 0x155;  // what stands below does not matter
      EXPECT_EQ(chip_random(c, seed), random);
      return slow::amd(p.target, x, seed, overflow == kSaturating, infinite);
    });
  };
  check(Chip::kAmdCdna4, kE4m3Place, kSpecial, 0x7F);
  check(Chip::kAmdCdna4, kE4m3Place, kSaturating, 0x7E);
  check(Chip::kAmdCdna4, kE5m2Place, kSpecial, 0x7C);
  check(Chip::kAmdCdna4, kE5m2Place, kSaturating, 0x7B);
  check(Chip::kAmdCdna4, kF16Place, kSpecial, 0x7C00);
  check(Chip::kAmdCdna4, kF16Place, kSaturating, 0x7C00);
  check(Chip::kAmdCdna4, kBf16Place, kSpecial, 0x7F80);
  for (const Place& p : {kF143Place, kF152Place}) {
    check(Chip::kAmdCdna3, p, kSpecial, 0x80);
    check(Chip::kAmdCdna3, p, kSaturating, 0x80);
  }
}

// tests: N313, N318
TEST(Chips, IntelAsItsDocumentHasIt) {
  compare(Chip::kIntelXe, kFp16, kSpecial, 0, slow::intel_to_f16);
  const Semantics s = chip_semantics(Chip::kIntelXe, kE5m2);
  ASSERT_TRUE(chip_rounding(Chip::kIntelXe, kE5m2).from == kFp16);
  test::Mixer mix{11};
  for (uint32_t half = 0; half < 0x10000; ++half)
    for (const uint32_t random :
         {0u, 1u, 0x7Fu, 0xFFu, (0x100 - half) & 0xFF, (0xFF - half) & 0xFF, static_cast<uint32_t>(mix()) & 0xFF})
      ASSERT_EQ(fp::convert(kFp16, kE5m2, half, s, random).code, slow::intel_to_bf8(half, random))
          << std::hex << half << ' ' << random;
}

/// Its subnormal results hardly ever round up, those of the others in half of the cases: 1.5 times 2^-24.
// tests: N313
TEST(Chips, IntelsSubnormalsTellItFromTheOthers) {
  constexpr uint32_t kX = 0x33C00000;
  const auto rounds_up = [](Chip chip) {
    const Semantics s = chip_semantics(chip, kFp16);
    int up = 0;
    for (uint32_t random = 0; random < 8192; ++random) up += fp::convert(kFp32, kFp16, kX, s, random).code == 2;
    return up;
  };
  EXPECT_EQ(rounds_up(Chip::kNvidiaSm100), 4096);
  EXPECT_EQ(rounds_up(Chip::kAmdCdna4), 4096);
  EXPECT_EQ(rounds_up(Chip::kIntelXe), 0);
}

// tests: N18, N315
TEST(Chips, TenstorrentAsItsModelHasIt) {
  for (const bool seven : {false, true}) {
    const int cut = seven ? 16 : 13;
    compare(Chip::kTenstorrentWh, seven ? kBf16 : kTf32, kSpecial, 0, [&](uint32_t x, uint32_t random) {
      const uint32_t result = slow::tenstorrent(x, random, seven);
      EXPECT_EQ(result & ((1u << cut) - 1), 0u);
      return result >> cut;
    });
  }
  // R = 0 moves exact values, but zeros; -0 and subnormals become +0, NaNs infinities.
  const Semantics s = chip_semantics(Chip::kTenstorrentWh, kBf16);
  const auto to_bf16 = [&s](uint32_t x, uint32_t random) { return fp::convert(kFp32, kBf16, x, s, random).code; };
  EXPECT_EQ(to_bf16(0x3F800000, 0), 0x3F81u);
  EXPECT_EQ(to_bf16(0x3F800000, 1), 0x3F80u);
  EXPECT_EQ(to_bf16(0x80000000, 0), 0u);
  EXPECT_EQ(to_bf16(0x807FFFFF, 0), 0u);
  EXPECT_EQ(to_bf16(0xFFC00000, 5), 0xFF80u);
}

// tests: N319
TEST(Chips, P3109AsGfloatHasIt) {
  const std::pair<Chip, slow::P3109> modes[] = {{Chip::kP3109Fastest, slow::P3109::kFastest},
                                                {Chip::kP3109Fast, slow::P3109::kFast},
                                                {Chip::kP3109Rne, slow::P3109::kRne},
                                                {Chip::kP3109Odd, slow::P3109::kOdd}};
  for (const auto& mode : modes)
    for (const int bits : {1, 3, 8, 13})
      for (const Place& p : {kF16Place, kE4m3Place, kF152Place})
        for (const ChipOverflow overflow : {kSpecial, kSaturating})
          compare(
              mode.first, p.format, overflow, bits,
              [&](uint32_t x, uint32_t random) {
                return slow::p3109(p.target, x, mode.second, random, bits, overflow == kSaturating);
              },
              4);
  EXPECT_EQ(chip_rounding(Chip::kP3109Rne, kFp16).policy().random_bits, 8);
}

// tests: N319
TEST(Chips, ExactSeesAllThatAFloatDiscards) {
  for (const Place& p : {kF16Place, kBf16Place, kTf32Place, kE4m3Place, kE5m2Place, kF143Place})
    compare(Chip::kExact, p.format, kSpecial, 0, [&](uint32_t x, uint32_t random) {
      return slow::p3109(p.target, x, slow::P3109::kFastest, random, 23, false);
    });
}

TEST(Chips, IpuAsItsPatentHasIt) {
  for (const Place& p : {kF16Place, kF143Place, kF152Place})
    for (const ChipOverflow overflow : {kSpecial, kSaturating})
      compare(Chip::kIpu, p.format, overflow, 0,
              [&](uint32_t x, uint32_t random) { return slow::ipu(p.target, x, random, overflow == kSpecial); });
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = true;
  EXPECT_TRUE(chip_semantics(Chip::kIpu, kFp16) ==
              Semantics::ipu(behaviour, {}, RandomEngine::kXoroshiro128aox));  // the preset `ipu`, wholly
}

/// Which formats each has; what it has not, it has not silently.
// tests: N310
TEST(Chips, Formats) {
  const auto has = [](Chip chip) {
    std::string text;
    for (const FloatFormat& f : {kFp16, kBf16, kTf32, kFp32, kE4m3, kE5m2, kF143, kF152, kBinary64})
      text += chip_rounding(chip, f).exists ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(has(Chip::kIpu), "x.....xx.");
  EXPECT_EQ(has(Chip::kNvidiaSm100), "xx..xx...");
  EXPECT_EQ(has(Chip::kNvidiaSm103), "xx..xx...");
  EXPECT_EQ(has(Chip::kAmdCdna3), "......xx.");
  EXPECT_EQ(has(Chip::kAmdCdna4), "xx..xx...");
  EXPECT_EQ(has(Chip::kIntelXe), "x....x...");
  EXPECT_EQ(has(Chip::kTenstorrentWh), ".xx......");
  EXPECT_EQ(has(Chip::kP3109Odd), "xxxxxxxx.");
  EXPECT_EQ(has(Chip::kExact), "xxxxxxxx.");
  for (const int bits : {-1, 33}) EXPECT_FALSE(chip_rounding(Chip::kP3109Rne, kFp16, bits).exists) << bits;
  EXPECT_FALSE(chip_rounding(Chip::kNvidiaSm100, kE4m3).has(kSpecial));
  EXPECT_FALSE(chip_rounding(Chip::kIntelXe, kFp16).has(kSaturating));
}

// ---- where R stands in the word

// tests: N311, N323
TEST(Chips, SlicesOfTheRandomWord) {
  constexpr uint32_t kWord = 0x89ABCDEF;
  const auto slices = [](Chip chip, const FloatFormat& f) {
    const ChipRounding c = chip_rounding(chip, f);
    std::vector<uint32_t> all;
    for (int lane = 0; lane < c.lanes(); ++lane) all.push_back(chip_random(c, kWord, lane));
    return all;
  };
  using List = std::vector<uint32_t>;
  EXPECT_EQ(slices(Chip::kNvidiaSm100, kFp16), (List{0x0DEF, 0x09AB}));
  EXPECT_EQ(slices(Chip::kNvidiaSm103, kFp16), (List{0x0DEF, 0x09AB}));
  EXPECT_EQ(slices(Chip::kNvidiaSm100, kBf16), (List{0xCDEF, 0x89AB}));
  EXPECT_EQ(slices(Chip::kNvidiaSm100, kE4m3), (List{0xEF, 0xCD, 0xAB, 0x89}));
  // bytes 1, 0, 3, 2; 0xEF = 11101111 and 0xAB = 10101011 reversed
  EXPECT_EQ(slices(Chip::kNvidiaSm103, kE4m3), (List{0xCD, 0xF7, 0x89, 0xD5}));
  EXPECT_EQ(slices(Chip::kNvidiaSm103, kE5m2), (List{0xCD, 0xF7, 0x89, 0xD5}));
  EXPECT_EQ(slices(Chip::kAmdCdna3, kF143), (List{0x89ABC}));
  EXPECT_EQ(slices(Chip::kAmdCdna4, kE5m2), (List{0x89ABCDEF >> 11}));
  EXPECT_EQ(slices(Chip::kAmdCdna4, kFp16), (List{0x89ABCDEF >> 19}));
  EXPECT_EQ(slices(Chip::kIntelXe, kFp16), (List{0x0DEF}));
  EXPECT_EQ(slices(Chip::kIntelXe, kE5m2), (List{0xEF}));
  EXPECT_EQ(slices(Chip::kTenstorrentWh, kBf16), (List{0x2BCDEF}));
  EXPECT_EQ(slices(Chip::kIpu, kFp16), (List{0xCDEF, 0x89AB}));
}

/// first_bit() and last_bit(): each bit between them changes value 0's number, no other does.
TEST(Chips, BitsThatValueZeroReads) {
  for (int i = 0; i < kChipCount; ++i)
    for (const FloatFormat& f : {kFp16, kBf16, kE4m3, kE5m2, kF143, kF152}) {
      const ChipRounding c = chip_rounding(static_cast<Chip>(i), f);
      if (!c.exists) continue;
      for (int bit = 0; bit < 32; ++bit)
        EXPECT_EQ(chip_random(c, uint32_t{1} << bit) != 0, bit >= c.first_bit() && bit <= c.last_bit())
            << "chip " << i << " bit " << bit;
    }
}

// ---- the packed conversion

uint32_t packed(Chip chip, const CvtRs& form, const std::vector<uint32_t>& sources, uint32_t word) {
  return cvt_rs(chip, form, sources.data(), word);
}

/// N344: reported from a B200.
// tests: N321, N344
TEST(CvtRs, SingleValuesOfAB200) {
  const CvtRs plain{CvtRsType::kF16x2, true, false}, relu{CvtRsType::kF16x2, true, true};
  for (const Chip chip : {Chip::kNvidiaSm100, Chip::kNvidiaSm103}) {
    EXPECT_EQ(packed(chip, plain, {0x33C00001, 0x33C00000}, 0x00001FFF), 0x00010002u);
    EXPECT_EQ(packed(chip, plain, {0x33C00001, 0x33C00000}, 0x1FFF1FFF), 0x00020002u);
    EXPECT_EQ(packed(chip, plain, {0x338003FF, 0x33800400}, 0x1FFF1FFF), 0x00010002u);
    EXPECT_EQ(packed(chip, relu, {0x38761FFF, 0x00021002}, 0x00000FFE), 0x03D80000u);
  }
}

/// N343's checkpoints: A, and d for f16x2 and bf16x2, B = deadbeef, rbits = 1fff1fff.
// tests: N321, N343
TEST(CvtRs, CheckpointsOfTheDumps) {
  const uint32_t rows[][3] = {{0x33000000, 0x0001FBFF, 0x3300DEAD}, {0x337FFFFF, 0x0001FBFF, 0x3380DEAD},
                              {0x338003FF, 0x0001FBFF, 0x3380DEAD}, {0x33800400, 0x0002FBFF, 0x3380DEAD},
                              {0x33FFFFFF, 0x0002FBFF, 0x3400DEAD}, {0x34800000, 0x0004FBFF, 0x3480DEAD}};
  for (const auto& row : rows) {
    EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kF16x2, true}, {row[0], 0xDEADBEEF}, 0x1FFF1FFF), row[1]);
    EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kBf16x2, true}, {row[0], 0xDEADBEEF}, 0x1FFF1FFF), row[2]);
  }
}

/// N346 under sm_100a's policy; without .satfinite to infinity.
// tests: N321, N346
TEST(CvtRs, SingleCarries) {
  const uint32_t rows[][4] = {
      {0x3f800000, 0x1fff, 0x3c00, 0x3c00}, {0x3f800001, 0x1fff, 0x3c01, 0x3c01}, {0x3f801000, 0x0fff, 0x3c00, 0x3c00},
      {0x3f801000, 0x1000, 0x3c01, 0x3c01}, {0xbf801000, 0x1000, 0xbc01, 0xbc01}, {0x477fe000, 0x1fff, 0x7bff, 0x7bff},
      {0x477fe001, 0x1fff, 0x7c00, 0x7bff}, {0x477fffff, 0x0000, 0x7bff, 0x7bff}, {0x477fffff, 0x0001, 0x7c00, 0x7bff},
      {0x33800000, 0x1fff, 0x0001, 0x0001}, {0x33000000, 0x0fff, 0x0000, 0x0000}, {0x33000000, 0x1000, 0x0001, 0x0001},
      {0x387fffff, 0x0001, 0x0400, 0x0400}, {0x00000001, 0x1fff, 0x0000, 0x0000}, {0x80000000, 0x1fff, 0x8000, 0x8000}};
  for (const auto& row : rows)
    for (const uint32_t ignored : {0u, 0xE000u}) {  // bits 13 to 15 of a half
      EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kF16x2, false}, {0, row[0]}, row[1] | ignored), row[2]);
      EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kF16x2, true}, {row[0], 0}, (row[1] | ignored) << 16),
                row[3] << 16);
    }
}

/// The first operand lands highest, each takes its own bits; NaN and relu.
// tests: N311, N312, N323
TEST(CvtRs, LanesOfFour) {
  const CvtRs form{CvtRsType::kE4m3x4, true, false};
  // 1 + 1/16, half a quantum above 1 (38): up where the lane's 8 bits reach 0x80.
  const std::vector<uint32_t> ties(4, 0x3F880000);
  EXPECT_EQ(packed(Chip::kNvidiaSm100, form, ties, 0x00000080), 0x38383839u);
  EXPECT_EQ(packed(Chip::kNvidiaSm100, form, ties, 0x80000000), 0x39383838u);
  EXPECT_EQ(packed(Chip::kNvidiaSm103, form, ties, 0x00000080), 0x38383838u);  // byte 0 is value 1's, reversed: 0x01
  EXPECT_EQ(packed(Chip::kNvidiaSm103, form, ties, 0x00000001), 0x38383938u);
  EXPECT_EQ(packed(Chip::kNvidiaSm103, form, ties, 0x00008000), 0x38383839u);  // byte 1 is value 0's, straight
  EXPECT_EQ(packed(Chip::kNvidiaSm103, form, ties, 0x80000000), 0x38393838u);  // byte 3 is value 2's
  EXPECT_EQ(packed(Chip::kNvidiaSm103, form, ties, 0x00010000), 0x39383838u);  // byte 2 is value 3's, reversed
  const std::vector<uint32_t> specials = {0x7FC00000, 0xFF800000, 0xBF800000, 0x80000000};  // NaN, -inf, -1, -0
  EXPECT_EQ(packed(Chip::kNvidiaSm100, form, specials, 0), 0x7FFEB880u);
  EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kE4m3x4, true, true}, specials, 0), 0x7F000000u);
  EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kE5m2x4, true, false}, specials, 0), 0x7FFBBC80u);
  EXPECT_EQ(packed(Chip::kNvidiaSm100, {CvtRsType::kBf16x2, false, true}, {0xFFC00000, 0xBF800000}, 0), 0x7FFF0000u);
}

}  // namespace
