// The kernel of bulk::round_as (cuda/casts/cvt_rs.h), run on the host, against the CPU engine: codes and flags.
#include "softamp/tensor/chip_round.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "softamp/chips/chip_table.h"
#include "softamp/names/names.h"

#define cuda serial_grid  // as the library of this folder has it
#include "cuda/casts/cvt_rs.h"
#include "cuda/engine.h"
#undef cuda
#include "tests/serial_grid/flags_text.h"

namespace softamp {
namespace {

using bulk::ChipConversion;

std::vector<ChipConversion> conversions() {
  std::vector<ChipConversion> all;
  for (const Chip chip : {Chip::kNvidiaSm100, Chip::kNvidiaSm103})
    for (const FloatFormat& to : {kFp16, kBf16, kE4m3, kE5m2})
      for (const ChipOverflow overflow : {ChipOverflow::kSpecial, ChipOverflow::kSaturating})
        if (chip_rounding(chip, to).has(overflow)) all.push_back({chip, to, overflow, 0});
  return all;
}

template <class Code>
void compare_rounds(const ChipConversion& c, std::span<const float> in, const bulk::RandomSource& random, bool flags) {
  FpStatus here, there;
  bulk::BulkOptions o;
  o.random = random;
  o.status = flags ? &here : nullptr;
  std::vector<Code> expected(in.size()), found(in.size() + 1, 0x5A);
  bulk::round_as(c, in, std::span<Code>(expected), o);
  serial_grid::round_as(c, in, found.data(), random, flags ? &there : nullptr);
  EXPECT_EQ(found.back(), 0x5A);
  found.pop_back();
  ASSERT_EQ(found, expected) << name_of(c.chip) << " " << format_name(c.to) << ", " << in.size() << " elements from "
                             << random.first_index << (random.words ? ", words given" : "");
  EXPECT_EQ(test::flags_text(there), test::flags_text(here));
}

void compare_rounds(const ChipConversion& c, std::span<const float> in, const bulk::RandomSource& random, bool flags) {
  if (c.to.storage_bits() == 8)
    compare_rounds<uint8_t>(c, in, random, flags);
  else
    compare_rounds<uint16_t>(c, in, random, flags);
}

// tests: N330
TEST(ChipRoundKernel, IsTheCpus) {
  std::mt19937_64 random(1);
  std::vector<float> in(3000);
  std::vector<uint32_t> words(in.size());
  for (const ChipConversion& c : conversions()) {
    const uint32_t low = std::bit_cast<uint32_t>(c.to == kBf16 ? 0x1p-30f : 0x1p-26f), range = 44u << 23;
    for (float& x : in) {
      // A third are any; the others lie in the format's range or little above it.
      const uint32_t bits = static_cast<uint32_t>(random());
      x = std::bit_cast<float>(random() % 3 == 0 ? bits : (bits & 0x80000000u) | (low + bits % range));
    }
    for (uint32_t& w : words) w = static_cast<uint32_t>(random());
    for (int turn = 0; turn < 40; ++turn) {
      bulk::RandomSource r{random() & 1 ? RandomEngine::kPhilox : RandomEngine::kPhilox7, random(), 5, 2};
      if (turn % 2) r.first_index = random() % 40 + (turn % 4 == 1 ? 0 : (uint64_t{1} << 36) - 20);
      if (turn % 5 == 0) r.words = words.data();
      const size_t n = turn == 0 ? 0 : turn < 30 ? random() % 60 : in.size() - random() % 20;
      compare_rounds(c, std::span(in).first(n), r, turn % 3 == 0);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Tame numbers: whole groups take the fast way, which must see no element as rare.
TEST(ChipRoundKernel, TameNumbersToo) {
  std::vector<float> in(4096);
  std::mt19937_64 random(2);
  for (float& x : in)
    x = std::bit_cast<float>((static_cast<uint32_t>(random()) & 0x80FFFFFFu) + 0x3B000000u);  // 2^-9 .. 2^-7
  for (const ChipConversion& c : conversions()) compare_rounds(c, in, {RandomEngine::kPhilox, 77}, false);
  for (const FloatFormat& to : {kFp16, kBf16})
    EXPECT_TRUE(serial_grid::FastRound::of(to, chip_semantics(Chip::kNvidiaSm100, to), false, true).usable);
}

/// More than the device takes at a time: places, words and flags go on.
TEST(ChipRoundKernel, LongArrays) {
  std::vector<float> in((size_t{1} << 22) + 99, 1 + 0x1p-11f);
  in[in.size() - 7] = 1e30f;
  std::vector<uint32_t> words(in.size() / 2 + 1);
  std::mt19937_64 random(3);
  for (uint32_t& w : words) w = static_cast<uint32_t>(random());
  bulk::RandomSource r;
  r.first_index = 5;
  compare_rounds({Chip::kNvidiaSm100, kFp16, ChipOverflow::kSpecial, 0}, in, r, true);
  r.words = words.data();
  compare_rounds({Chip::kNvidiaSm100, kBf16, ChipOverflow::kSpecial, 0}, in, r, false);
}

/// A last group that is not whole is not written whole: what lies behind the array is not the kernel's.
TEST(ChipRoundKernel, WritesNothingBehindItsEnd) {
  alignas(16) const float in[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  for (uint64_t size = 0; size <= 13; ++size) {
    alignas(16) uint16_t out[32] = {};
    auto kernel = serial_grid::PackedRounding<CvtRsType::kF16x2>::of(Chip::kNvidiaSm100, ChipOverflow::kUsual);
    kernel.in = in;
    kernel.out = out;
    kernel.random = {1, 10, 0};
    kernel.size = size;
    kernel.vectors = true;
    const serial_grid::Grid grid{1, 2, 0};
    std::vector<unsigned char> shared;
    serial_grid::SerialBlock block(grid, 0, false, shared);
    kernel(block);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i] != 0, i < size) << i << " of " << size;
  }
}

/// A part of the two dumps of a B200 (N343), whose digests the CPU engine gives: A lands high, B low.
TEST(ChipRoundKernel, TheDumpsOfAB200) {
  std::vector<float> in;
  for (uint32_t a = 0x33000000; a <= 0x34800000; a += 997)
    in.push_back(std::bit_cast<float>(0xDEADBEEFu)), in.push_back(std::bit_cast<float>(a));
  const std::vector<uint32_t> words(in.size() / 2, 0x1FFF1FFF);
  bulk::RandomSource r;
  r.words = words.data();
  for (const FloatFormat& to : {kFp16, kBf16})
    compare_rounds({Chip::kNvidiaSm100, to, ChipOverflow::kSaturating, 0}, in, r, false);
}

}  // namespace
}  // namespace softamp
