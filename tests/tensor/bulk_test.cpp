// Bulk operations as a caller sees them: threads, sizes, alignment, starting index, words, status, MXCSR, refusals.
#include "softamp/tensor/bulk.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/emu/bulk_check.h"
#include "tests/refusal.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace softamp::test {
namespace {

Semantics stochastic(int r) { return Semantics::ieee(RoundingPolicy::stochastic_carry(r)); }

std::vector<float> values(size_t n, uint64_t seed) {
  Mixer mix(seed);
  std::vector<float> v(n);
  for (float& x : v)
    x = std::ldexp(static_cast<float>(mix() % 16777216) - 8388608.0f, static_cast<int>(mix() % 30) - 38);
  return v;
}

std::vector<uint16_t> rounded(const std::vector<float>& in, const Semantics& s, const BulkOptions& o) {
  std::vector<uint16_t> out(in.size());
  bulk::round(in, kFp16, std::span<uint16_t>(out), s, o);
  return out;
}

// tests: G11
TEST(Bulk, ThreadCountsAgree) {
  // TUTORIAL G11
  auto in = values(700001, 1);
  in[650000] = 1e9f;
  in[690001] = NAN;
  for (const Semantics& s :
       {Semantics::ieee(), stochastic(13), stochastic(24), Semantics::ipu(FloatingPointBehaviour{})}) {
    std::vector<uint16_t> first;
    FpStatus first_status;
    for (const int threads : {1, 2, 3, 8, 0}) {
      FpStatus status;
      BulkOptions o;
      o.threads = threads;
      o.status = &status;
      o.random.seed = 5;
      o.random.first_index = 3;
      const auto out = rounded(in, s, o);
      if (first.empty()) {
        first = out;
        first_status = status;
      }
      EXPECT_EQ(first, out) << threads << " threads";
      EXPECT_EQ(show(first_status), show(status)) << threads << " threads";
      EXPECT_EQ(650000u, status.first_index[2]);
    }
  }
}

// Every size around a group, every alignment, starting indices in and across draw blocks and across block 2^32.
TEST(Bulk, SizesOffsetsAndStartingIndices) {
  const auto in = values(400, 2);
  std::vector<uint16_t> buffer(500);
  Mixer mix(7);
  for (const InstructionSet set : usable_sets())
    for (const int r : {0, 13, 16, 20})
      for (size_t n = 0; n <= 330; n += n < 140 ? 1 : 37) {
        const size_t in_offset = mix() % 40, out_offset = mix() % 40;
        constexpr uint64_t kStarts[] = {
            0, 1, 7, 8, 12345, (uint64_t{1} << 35) - 100, (uint64_t{1} << 34) - 3, ~uint64_t{0} - 1000};
        BulkOptions o;
        o.isa = set;
        o.random.first_index = kStarts[mix() % 8];
        o.random.seed = mix();
        o.random.engine = mix() & 1 ? RandomEngine::kPhilox7 : RandomEngine::kPhilox;
        const Semantics s = r ? stochastic(r) : Semantics::ieee();
        std::fill(buffer.begin(), buffer.end(), uint16_t{0xABCD});
        bulk::round(std::span(in).subspan(in_offset, n), kFp16, std::span(buffer).subspan(out_offset, n), s, o);
        for (size_t i = 0; i < buffer.size(); ++i) {
          const bool inside = i >= out_offset && i < out_offset + n;
          const size_t e = i - out_offset;
          const uint64_t expected =
              inside ? fp::convert(kFp32, kFp16, std::bit_cast<uint32_t>(in[in_offset + e]), s, word_of(o, e, s.narrow))
                           .code
                     : 0xABCD;
          ASSERT_EQ(expected, buffer[i]) << bulk::name(set) << " r " << r << " size " << n << " place " << i
                                         << " first index " << o.random.first_index;
        }
      }
}

TEST(Bulk, WordsTakeTheGeneratorsPlace) {
  const auto in = values(1000, 3);
  Mixer mix(8);
  std::vector<uint32_t> words(in.size());
  for (uint32_t& w : words) w = static_cast<uint32_t>(mix());
  for (const InstructionSet set : usable_sets())
    for (const int r : {1, 13, 16, 23, 32}) {
      BulkOptions o;
      o.isa = set;
      o.random.words = words.data();
      o.random.first_index = 5;  // has no say
      const Semantics s = stochastic(r);
      const auto out = rounded(in, s, o);
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(fp::convert(kFp32, kFp16, std::bit_cast<uint32_t>(in[i]), s, words[i]).code, out[i])
            << bulk::name(set) << " r " << r << " element " << i;
    }
}

// Large enough for streaming stores, which arrays that fit the caches do not get.
TEST(Bulk, StreamingStores) {
  const size_t n = 5000017;
  const auto in = values(n, 4);
  std::vector<uint16_t> a(n), b(n), sum(n);
  BulkOptions portable;
  portable.isa = InstructionSet::kPortable;
  for (const Semantics& s : {Semantics::ieee(), stochastic(13)}) {
    bulk::round(in, kFp16, std::span<uint16_t>(a), s, portable);
    bulk::round(in, kFp16, std::span<uint16_t>(b), s);
    EXPECT_EQ(a, b);
    std::vector<uint16_t> shifted(n);
    std::copy(a.begin() + 1, a.end(), shifted.begin());
    bulk::add(a, shifted, sum, s, portable);
    bulk::add(a, shifted, b, s);
    EXPECT_EQ(sum, b);
  }
}

// Other chips' roundings: ends of arrays, alignments, starting indices, words, threads, streaming stores.
template <class Out>
void check_chip(const ChipRounding& chip, const std::vector<float>& in, InstructionSet set, Mixer& mix) {
  const RoundingPolicy& p = chip.semantics.rounding(chip.to);
  std::vector<uint32_t> words(in.size());
  for (uint32_t& w : words) w = static_cast<uint32_t>(mix());
  std::vector<Out> buffer(in.size() + 80);
  for (const size_t n : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{255}, in.size()}) {
    const size_t offset = mix() % 40;
    BulkOptions o;
    o.isa = set;
    o.random.seed = mix();
    o.random.first_index = mix() % 3 ? mix() % 20 : (uint64_t{1} << 34) - 3;
    if (mix() % 3 == 0) o.random.words = words.data();
    std::fill(buffer.begin(), buffer.end(), Out{0xAB});
    bulk::round(std::span(in).first(n), chip.to, std::span(buffer).subspan(offset, n), chip.semantics, o);
    for (size_t i = 0; i < buffer.size(); ++i) {
      uint64_t expected = 0xAB;
      if (i >= offset && i < offset + n) {
        const size_t e = i - offset;
        expected = fp::convert(kFp32, chip.to, std::bit_cast<uint32_t>(in[e]), chip.semantics, word_of(o, e, p)).code;
      }
      ASSERT_EQ(expected, buffer[i]) << bulk::name(set) << " " << chip.name << " " << describe(chip.to) << " "
                                     << describe(p) << " size " << n << " place " << i;
    }
  }
}
TEST(Bulk, ChipsAtTheEndsOfArrays) {
  Mixer mix(9);
  const auto in = values(330, 10);
  for (const InstructionSet set : usable_sets())
    for (const ChipRounding& chip : chip_roundings()) {
      const int bits = chip.to.storage_bits();
      bits <= 8    ? check_chip<uint8_t>(chip, in, set, mix)
      : bits <= 16 ? check_chip<uint16_t>(chip, in, set, mix)
                   : check_chip<uint32_t>(chip, in, set, mix);
    }
}
TEST(Bulk, ChipsByThreadsAndStreamingStores) {
  const size_t n = 5000017;
  const auto in = values(n, 11);
  std::vector<uint8_t> bytes(n), other_bytes(n);
  std::vector<uint16_t> halves(n), other_halves(n);
  BulkOptions plain;
  plain.isa = InstructionSet::kPortable;
  for (const ChipRounding& chip : chip_roundings()) {
    const std::string name = chip.name;
    if (name == "p3109" || chip.semantics.rounding(chip.to).overflow == Overflow::kSaturate) continue;
    if (chip.to == kE5m2) {
      bulk::round(in, chip.to, std::span(bytes), chip.semantics, plain);
      bulk::round(in, chip.to, std::span(other_bytes), chip.semantics);
      EXPECT_TRUE(bytes == other_bytes) << name;
    } else if (chip.to == kBf16) {
      bulk::round(in, chip.to, std::span(halves), chip.semantics, plain);
      bulk::round(in, chip.to, std::span(other_halves), chip.semantics);
      EXPECT_TRUE(halves == other_halves) << name;
    }
  }
}

TEST(Bulk, InPlaceWithStatus) {
  for (const InstructionSet set : usable_sets())
    for (const Semantics& s : {Semantics::ieee(), stochastic(13), stochastic(32)}) {
      const auto in = edge_values<float>(kBf16, 20000, 6);
      for (const FloatFormat& f : {kFp16, kBf16}) {
        BulkOptions o;
        o.isa = set;
        FpStatus beside, inside;
        std::vector<float> out(in.size()), data = in;
        o.status = &beside;
        bulk::round_values(in, f, out, s, o);
        o.status = &inside;
        bulk::round_values(data, f, data, s, o);
        EXPECT_EQ(0, std::memcmp(out.data(), data.data(), 4 * data.size())) << bulk::name(set);
        EXPECT_EQ(show(beside), show(inside)) << bulk::name(set);
      }
    }
}

// Each flag alone, deep inside an array that raises nothing else, is found at its place.
// tests: N37
TEST(Bulk, LowestIndexOfEachFlag) {
  struct Case {
    float value;
    int bit;
  };
  for (const InstructionSet set : usable_sets())
    for (const Semantics& s : {Semantics::ieee(), stochastic(13)})
      for (const Case c : {Case{1.0f + 0x1p-20f, 0}, Case{0x1p-24f * 1.3f, 1}, Case{1e6f, 2},
                           Case{std::bit_cast<float>(0x7F800001u), 4}})
        for (const size_t at : {size_t{0}, size_t{63}, size_t{64}, size_t{9999}, size_t{39999}}) {
          std::vector<float> in(40000, 1.5f);
          in[at] = c.value;
          if (at + 7 < in.size()) in[at + 7] = c.value;
          FpStatus status;
          BulkOptions o;
          o.isa = set;
          o.status = &status;
          o.threads = 2;
          rounded(in, s, o);
          EXPECT_EQ(at, status.first_index[c.bit]) << bulk::name(set) << " flag " << c.bit;
        }
}

TEST(Bulk, StatusIsMergedIntoWhatItHolds) {
  FpStatus status;
  status.raise(kDivideByZero, 3);
  status.raise(kInexact, 0);
  BulkOptions o;
  o.status = &status;
  rounded({1.0f, 1e9f}, Semantics::ieee(), o);
  EXPECT_EQ(kDivideByZero | kInexact | kOverflow, status.flags);
  EXPECT_EQ(0u, status.first_index[0]);
  EXPECT_EQ(1u, status.first_index[2]);
  EXPECT_EQ(3u, status.first_index[3]);
}

#if defined(__SSE2__)
// Any MXCSR of the caller gives the same bits, and is left as found: rounding up, down, flushing, sticky bits set.
TEST(Bulk, CallersMxcsr) {
  auto in = edge_values<float>(kFp16, 50000, 9);
  const auto tiny = edge_values<float>(kBf16, 50000, 10);
  std::vector<uint16_t> a(in.size()), b(in.size());
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint16_t>(i * 77), b[i] = static_cast<uint16_t>(i * 991);
  const unsigned saved = _mm_getcsr();
  for (const InstructionSet set : usable_sets())
    for (const Semantics& s : {Semantics::ieee(), stochastic(13), stochastic(16), stochastic(32),
                               Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp))})
      for (const int threads : {1, 2}) {
        std::vector<std::vector<uint16_t>> first;
        std::string first_status;
        for (const unsigned csr : {0x1F80u, 0x5F80u, 0x3F80u, 0x9FC0u, 0x1FBFu, 0xFFFFu}) {
          std::vector<std::vector<uint16_t>> got(5, std::vector<uint16_t>(in.size()));
          std::vector<float> wide(in.size());
          FpStatus status;
          BulkOptions o;
          o.isa = set;
          o.threads = threads;
          o.status = &status;
          _mm_setcsr(csr);
          bulk::round(in, kFp16, std::span<uint16_t>(got[0]), s, o);
          bulk::round(tiny, kBf16, std::span<uint16_t>(got[1]), s, o);
          bulk::add(a, b, got[2], s, o);
          bulk::div(a, b, got[3], s, o);
          bulk::fma(a, b, a, got[4], s, o);
          bulk::widen(got[1], kBf16, std::span<float>(wide), s, o);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(saved);
          EXPECT_EQ(csr, after) << bulk::name(set);
          got.emplace_back(2 * wide.size());
          std::memcpy(got.back().data(), wide.data(), 4 * wide.size());
          if (first.empty()) {
            first = got;
            first_status = show(status);
          }
          EXPECT_TRUE(first == got) << bulk::name(set) << " " << describe(s.narrow) << " MXCSR " << hex(csr);
          EXPECT_EQ(first_status, show(status)) << bulk::name(set);
        }
      }
}
#endif

template <class Call>
void expect_refused(const Call& call, const std::vector<std::string>& parts) {
  const std::string words = refusal<std::invalid_argument>(call);
  for (const std::string& part : parts) EXPECT_NE(std::string::npos, words.find(part)) << words;
}

TEST(Bulk, Refusals) {
  std::vector<float> in(100);
  std::vector<uint16_t> out(99), codes(100);
  std::vector<uint8_t> bytes(100);
  const Semantics ieee = Semantics::ieee();
  const auto to_halves = [&](const Semantics& s, const BulkOptions& o) {
    bulk::round(in, kFp16, std::span<uint16_t>(codes), s, o);
  };
  expect_refused([&] { bulk::round(in, kFp16, std::span<uint16_t>(out), ieee); }, {"bulk::round", "100", "99"});
  expect_refused([&] { bulk::round(in, kFp16, std::span<uint8_t>(bytes), ieee); }, {"16 bits", "8"});
  expect_refused([&] { bulk::round(in, FloatFormat::ieee(9, 4), std::span<uint16_t>(codes), ieee); },
                 {"exponent_bits 9"});
  expect_refused([&] { bulk::round(in, kFp16, std::span(reinterpret_cast<uint16_t*>(in.data()) + 3, 100), ieee); },
                 {"overlaps"});
  expect_refused([&] { bulk::round_values(std::span(in).first(50), kFp16, std::span(in).subspan(10, 50), ieee); },
                 {"overlaps"});
  expect_refused([&] { bulk::add(codes, codes, codes, ieee); }, {"bulk::add", "overlaps"});
  expect_refused([&] { bulk::fma(codes, codes, out, std::span<uint16_t>(out), ieee); }, {"bulk::fma", "100", "99"});
  BulkOptions o;
  o.threads = -1;
  expect_refused([&] { to_halves(ieee, o); }, {"threads", "-1"});
  o = {};
  o.random.operation = 1u << 24;
  expect_refused([&] { to_halves(stochastic(13), o); }, {"operation", "16777216"});
  to_halves(ieee, o);  // no random numbers, no complaint
  o = {};
  o.random.engine = RandomEngine::kXoroshiro128aox;
  expect_refused([&] { to_halves(stochastic(13), o); }, {"xoroshiro128aox", "words"});
  expect_refused([&] { to_halves(stochastic(33), {}); }, {"random_bits", "33"});
  expect_refused([&] { to_halves(stochastic(0), {}); }, {"random_bits", "0"});
}

TEST(Bulk, BestSetIsUsableAndOthersAreRefusedOrUsable) {
  EXPECT_NE(InstructionSet::kAuto, bulk::best_instruction_set());
  EXPECT_EQ(bulk::best_instruction_set(), usable_sets().back());
  std::vector<float> in(3, 1.0f);
  EXPECT_EQ((std::vector<uint16_t>{0x3C00, 0x3C00, 0x3C00}), rounded(in, Semantics::ieee(), {}));
}

TEST(Bulk, EmptyArraysDoNothing) {
  FpStatus status;
  BulkOptions o;
  o.status = &status;
  bulk::round(std::span<const float>(), kFp16, std::span<uint16_t>(), stochastic(13), o);
  bulk::widen(std::span<const uint16_t>(), kFp16, std::span<double>(), Semantics::ieee(), o);
  EXPECT_EQ(0, status.flags);
}

}  // namespace
}  // namespace softamp::test
