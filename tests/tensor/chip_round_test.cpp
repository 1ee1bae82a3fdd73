// Arrays as chips convert them (tensor/chip_round.h), against the definition: fp::convert of each element, with the
// part of its word that chip_random takes.
#include "softamp/tensor/chip_round.h"

#include <cmath>

#include "softamp/chips/chip_table.h"
#include "softamp/names/names.h"
#include "tests/emu/bulk_check.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using bulk::ChipConversion;

/// Every conversion from fp32, under either answer to overflow.
std::vector<ChipConversion> conversions() {
  std::vector<ChipConversion> all;
  for (const ChipFacts& chip : chip_facts())
    for (const FloatFormat& to : chip.formats)
      for (const ChipOverflow overflow : {ChipOverflow::kSpecial, ChipOverflow::kSaturating}) {
        const softamp::ChipRounding c = chip_rounding(chip.chip, to);
        if (c.from == kFp32 && c.has(overflow)) all.push_back({chip.chip, to, overflow, 0});
      }
  return all;
}

std::string title(const ChipConversion& c) { return name_of(c.chip) + " " + format_name(c.to); }

/// The result of element i, and its flags.
Rounded chip_result(const ChipConversion& c, const std::vector<float>& in, size_t i, const bulk::RandomSource& r) {
  const softamp::ChipRounding rounding = chip_rounding(c.chip, c.to, c.bits);
  const uint64_t lanes = static_cast<uint64_t>(rounding.lanes()), j = r.words ? i : r.first_index + i;
  const RandomBits source{r.seed, r.engine == RandomEngine::kPhilox7 ? 7 : 10};
  const uint32_t word = r.words ? r.words[j / lanes] : source.bits(r.step, r.operation, j / lanes, 32);
  return fp::convert(kFp32, c.to, std::bit_cast<uint32_t>(in[i]), chip_semantics(c.chip, c.to, c.overflow, c.bits),
                     chip_random(rounding, word, static_cast<int>(j % lanes)));
}

/// All sizes and places that `turns` turns take, in codes of type Code.
template <class Code>
void compare_chip(const ChipConversion& c, InstructionSet set, int turns, Mixer& mix) {
  const std::vector<float> in = edge_values<float>(c.to, 300, mix());
  std::vector<uint32_t> words(300);
  for (uint32_t& w : words) w = static_cast<uint32_t>(mix());
  for (int turn = 0; turn < turns; ++turn) {
    const size_t n = turn < 3 ? static_cast<size_t>(turn) : mix() % in.size();
    BulkOptions o;
    FpStatus status, known;
    o.isa = set;
    o.random = {mix() & 1 ? RandomEngine::kPhilox : RandomEngine::kPhilox7, mix(), 7, 3, mix() % 70};
    if (mix() % 3 == 0) o.random.first_index += (uint64_t{1} << 34) - 35;
    if (mix() % 3 == 0) o.random.words = words.data();
    if (mix() & 1) o.status = &status;
    std::vector<Code> codes(n);
    bulk::round_as(c, std::span(in).first(n), std::span<Code>(codes), o);
    for (size_t i = 0; i < n; ++i) {
      const Rounded r = chip_result(c, in, i, o.random);
      known.raise(r.flags, i);
      ASSERT_EQ(codes[i], r.code) << title(c) << " " << bulk::name(set) << " element " << i << " of " << n << " from "
                                  << o.random.first_index << (o.random.words ? ", words given" : "");
    }
    if (o.status) {
      EXPECT_EQ(show(known), show(status)) << title(c) << " " << bulk::name(set);
    }
  }
}

TEST(ChipRound, EveryConversionAsItsDefinitionHasIt) {
  Mixer mix(1);
  for (const InstructionSet set : usable_sets())
    for (const ChipConversion& c : conversions()) {
      const int bits = c.to.storage_bits();
      if (bits <= 8) compare_chip<uint8_t>(c, set, 12, mix);
      if (bits <= 16) compare_chip<uint16_t>(c, set, 4, mix);
      compare_chip<uint32_t>(c, set, bits > 16 ? 12 : 2, mix);
      if (HasFatalFailure()) return;
    }
}

/// Long enough for several threads, strips of numbers and streaming stores.
TEST(ChipRound, ThreadsAgreeOnLongArrays) {
  const size_t n = 4200001;
  const std::vector<float> some = edge_values<float>(kE4m3, 4099, 5);
  std::vector<float> in(n);
  for (size_t i = 0; i < n; ++i) in[i] = some[i % some.size()];
  for (const ChipConversion& c : {ChipConversion{Chip::kNvidiaSm103, kE4m3, ChipOverflow::kUsual, 0},
                                  ChipConversion{Chip::kAmdCdna4, kE4m3, ChipOverflow::kSpecial, 0}}) {
    std::vector<uint8_t> one(n), many(n);
    FpStatus status;
    BulkOptions o;
    o.threads = 1;
    o.random.first_index = 6;
    bulk::round_as(c, in, std::span<uint8_t>(one), o);
    for (size_t i = 0; i < n; i += 997) ASSERT_EQ(one[i], chip_result(c, in, i, o.random).code) << title(c) << " " << i;
    o.threads = 3;
    o.status = &status;
    bulk::round_as(c, in, std::span<uint8_t>(many), o);
    EXPECT_EQ(one, many) << title(c);
    EXPECT_NE(status.flags & kOverflow, 0);
  }
}

/// Where a word's halves serve two neighbours, its numbers are those that the elements have without slices (N329).
// tests: N329
TEST(ChipRound, HalvesAreTheElementsOwnNumbers) {
  const std::vector<float> in = edge_values<float>(kFp16, 1000, 9);
  for (const FloatFormat& to : {kFp16, kBf16}) {
    std::vector<uint16_t> packed(in.size()), plain(in.size());
    BulkOptions o;
    o.random.seed = 11;
    o.random.first_index = 3;
    bulk::round_as({Chip::kNvidiaSm100, to, ChipOverflow::kUsual, 0}, in, std::span<uint16_t>(packed), o);
    bulk::round(in, to, std::span<uint16_t>(plain), chip_semantics(Chip::kNvidiaSm100, to), o);
    EXPECT_EQ(packed, plain);
  }
}

/// RandomSource::slice serves every function: values, binary64, arithmetic.
TEST(ChipRound, SlicesServeValuesAndArithmeticToo) {
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(8));
  const std::vector<double> in = edge_values<double>(kE5m2, 333, 12);
  std::vector<float> values(in.size());
  std::vector<uint16_t> a(333), b(333), products(333);
  Mixer mix(13);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint16_t>(mix()), b[i] = static_cast<uint16_t>(mix());
  for (const InstructionSet set : usable_sets()) {
    BulkOptions o;
    o.isa = set;
    o.random.first_index = 2;
    o.random.slice = RandomSlice::kBytes;
    bulk::round_values(in, kE5m2, values, s, o);
    bulk::mul(a, b, products, s, o);
    for (size_t i = 0; i < in.size(); ++i) {
      const uint32_t number =
          slice_of(RandomSlice::kBytes, 8, RandomBits{}.bits(0, 0, (2 + i) / 4, 32), static_cast<int>((2 + i) % 4));
      const uint64_t code = fp::convert(kBinary64, kE5m2, std::bit_cast<uint64_t>(in[i]), s, number).code;
      ASSERT_EQ(std::bit_cast<uint32_t>(fp::to_float(kE5m2, code)), std::bit_cast<uint32_t>(values[i])) << i;
      ASSERT_EQ(fp::mul(kFp16, a[i], b[i], s, number).code, products[i]) << bulk::name(set) << " " << i;
    }
  }
}

TEST(ChipRound, Refusals) {
  const std::vector<float> in(10, 1.5f);
  std::vector<uint8_t> bytes(10);
  std::vector<uint16_t> halves(10), short_one(9);
  std::vector<uint32_t> words(10);
  const auto as = [&](ChipConversion c, auto& out, const char* backend = "emu", BulkOptions o = {}) {
    return refusal<std::invalid_argument>([&] { bulk::round_as(c, in, std::span(out), o, backend); });
  };
  const ChipConversion half{Chip::kNvidiaSm100, kFp16, ChipOverflow::kUsual, 0};
  EXPECT_EQ(as({Chip::kAmdCdna3, kFp16, ChipOverflow::kUsual, 0}, halves),
            "chip amd_cdna3 does not round to fp16: expected f143 or f152");
  EXPECT_EQ(as({Chip::kIntelXe, kE5m2, ChipOverflow::kUsual, 0}, bytes),
            "bulk::round_as: chip intel_xe makes e5m2 from fp16, not from fp32");
  EXPECT_EQ(as(half, short_one), "bulk::round: the input has 10 elements and the output 9");
  EXPECT_EQ(as(half, short_one, "cuda"), "bulk::round_as: the input has 10 elements and the output 9");
  EXPECT_EQ(as(half, words, "gpu"),
            "bulk::round_as: the backend cuda writes codes of 16 bits, the array's elements have 32");
  EXPECT_EQ(as({Chip::kAmdCdna4, kFp16, ChipOverflow::kUsual, 0}, halves, "cuda"),
            "bulk::round_as: the backend cuda has no conversion of chip amd_cdna4; expected nvidia_sm100 or "
            "nvidia_sm103, or the backend emu");
  EXPECT_EQ(as(half, halves, "cudda").rfind("unknown backend 'cudda'; nearest: cuda", 0), 0u);
  BulkOptions o;
  o.isa = InstructionSet::kPortable;
  EXPECT_EQ(as(half, halves, "cuda", o), "bulk::round_as: portable is an instruction set of the CPU");
  o = {};
  o.random.operation = 1u << 24;
  EXPECT_EQ(as(half, halves, "cuda", o), "bulk::round: random operation is below 2^24, not 16777216");
  const auto sliced = [&](RandomSlice slice, int bits) {
    BulkOptions options;
    options.random.slice = slice;
    return refusal<std::invalid_argument>([&] {
      bulk::round(in, kFp16, std::span(halves), Semantics::ieee(RoundingPolicy::stochastic_carry(bits)), options);
    });
  };
  EXPECT_EQ(sliced(RandomSlice::kBytes, 13), "bulk::round: a slice of the word has 1..8 random_bits, the policy 13");
  EXPECT_EQ(sliced(RandomSlice::kPermutedBytes, 7),
            "bulk::round: a slice of the word has 8..8 random_bits, the policy 7");
  EXPECT_EQ(sliced(RandomSlice::kHalves, 17), "bulk::round: a slice of the word has 1..16 random_bits, the policy 17");
}

}  // namespace
}  // namespace softamp::test
