// What the tests of the bulk engine share: dense edge cases, the scalar reference over arrays, and the comparison.
#pragma once

#include <gtest/gtest.h>
#include <cmath>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/bulk.h"
#include "softamp/tensor/tensor.h"
#include "tests/mixer.h"

namespace softamp::test {

using bulk::BulkOptions;
using bulk::InstructionSet;

/// The sets that machine and build have.
inline std::vector<InstructionSet> usable_sets() {
  const std::span<const InstructionSet> sets = bulk::instruction_sets();
  return {sets.begin(), sets.end()};
}

/// fp32 or binary64 values dense in what rounding to `f` can get wrong: codes of f, midpoints, quarters, the same plus
/// and minus one ulp, random exponents, subnormals, infinities, NaNs of both kinds, both signs.
template <class T>
std::vector<T> edge_values(const FloatFormat& f, size_t n, uint64_t seed) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr Word kSign = Word{1} << (8 * sizeof(T) - 1);
  Mixer mix(seed);
  std::vector<T> values(n);
  for (T& v : values) {
    Word bits = static_cast<Word>(mix());
    const uint64_t choice = mix() % 16;
    if (choice < 10) {
      // Near a code of f, or a fraction of the way to the next.
      const uint64_t code = mix() % (f.max_finite_code() + 1);
      const double low = fp::to_double(f, code);
      const double quantum = std::max(low - fp::to_double(f, code ? code - 1 : 0), fp::to_double(f, 1));
      const double fractions[] = {0, 0.5, 0.25, 0.75, 1, static_cast<double>(mix() % 65536) / 65536};
      const T at = static_cast<T>(low + quantum * fractions[mix() % 6]);
      bits = std::bit_cast<Word>(at) + static_cast<Word>(mix() % 3) - 1;
      if (mix() & 1) bits ^= kSign;
    } else if (choice == 10) {
      bits &= (Word{1} << kMantissa) - 1;  // zero and subnormal
      if (mix() % 4 == 0) bits = 0;
      if (mix() & 1) bits |= kSign;
    } else if (choice == 11) {
      const Word infinity = std::bit_cast<Word>(static_cast<T>(INFINITY));
      bits = infinity | (mix() & 1 ? kSign : 0);
      const Word payload = static_cast<Word>(mix()) & ((Word{1} << kMantissa) - 1);
      if (mix() % 3) bits |= payload >> (mix() % kMantissa);
    } else if (choice == 12) {
      bits &= ~((Word{1} << (mix() % kMantissa)) - 1);  // short significands
    }
    v = std::bit_cast<T>(bits);
  }
  return values;
}

/// An array, behind which there is nothing that may be touched (guarded_new.cpp). A large one, whose results may go
/// around the caches, stays where it is: at the start of a cache line.
class BareBytes {
 public:
  BareBytes(const void* there, size_t bytes) : there_(static_cast<char*>(const_cast<void*>(there))) {
    if (bytes < size_t{1} << 20) own_.assign(there_, there_ + bytes);
  }
  explicit BareBytes(const Tensor& t) : BareBytes(t.data(), t.bytes()) {}
  void* data() { return own_.empty() ? there_ : own_.data(); }
  void copy_back() const { std::copy(own_.begin(), own_.end(), there_); }

 private:
  char* there_;
  std::vector<char> own_;
};

inline std::string hex(uint64_t x) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

inline std::string describe(const RoundingPolicy& p) {
  static const char* const modes[] = {"nearest-even", "nearest-away", "zero", "up", "down", "stochastic", "odd"};
  static const char* const variants[] = {"carry", "half", "rne", "odd", "at-least"};
  std::string text = modes[static_cast<int>(p.mode)];
  if (p.stochastic())
    text += std::string(" ") + variants[static_cast<int>(p.variant)] + " r=" + std::to_string(p.random_bits);
  if (p.alignment == RandomAlignment::kAsIfNormal) text += " as if normal";
  if (!p.signed_zeros) text += " unsigned zeros";
  if (p.tininess == Tininess::kBeforeRounding) text += " tiny before";
  return text + " overflow " + std::to_string(static_cast<int>(p.overflow)) + " rule " +
         std::to_string(static_cast<int>(p.overflow_rule)) + " subnormals " +
         std::to_string(static_cast<int>(p.subnormals)) + " nan " + std::to_string(static_cast<int>(p.nan));
}
inline std::string describe(const FloatFormat& f) {
  return "e" + std::to_string(f.exponent_bits) + "p" + std::to_string(f.precision) + " bias " + std::to_string(f.bias);
}

/// Calls `act(policy, mode, flush, infinity)` with policies that no preset has: every mode, way with subnormals and
/// result that is infinite.
template <class Act>
void for_each_policy(const Act& act) {
  for (int mode = 0; mode < 7; ++mode)
    for (int flush = 0; flush < 3; ++flush)
      for (int infinity = 0; infinity < 3; ++infinity) {
        RoundingPolicy p;
        p.mode = static_cast<RoundingMode>(mode);
        p.subnormals = static_cast<Subnormals>(flush);
        p.infinity = static_cast<InfinityResult>(infinity);
        p.infinity_flags = kOverflow;
        p.tininess = static_cast<Tininess>((mode + flush) % 2);
        act(p, mode, flush, infinity);
      }
}

/// Stochastic roundings as other chips do them, each with the format that it is for (docs/CHIPS.md).
struct ChipRounding {
  const char* name;
  FloatFormat to;
  Semantics semantics;
};
inline std::vector<ChipRounding> chip_roundings() {
  std::vector<ChipRounding> all;
  const auto add = [&](const char* name, const FloatFormat& to, RoundingPolicy p, bool saturate = false) {
    if (saturate) p.overflow = Overflow::kSaturate, p.infinity = InfinityResult::kSaturate;
    all.push_back({name, to, Semantics::ieee(p)});
  };
  const auto carry = [](int r) { return RoundingPolicy::stochastic_carry(r); };
  for (const bool saturate : {false, true}) {
    add("nvidia", kFp16, carry(13), saturate);
    add("nvidia", kBf16, carry(16), saturate);
    add("amd", kFp16, carry(13), saturate);
    add("amd", kBf16, carry(16), saturate);
    for (const FloatFormat& f : {kE4m3, kF143}) add("amd", f, carry(20), saturate);
    for (const FloatFormat& f : {kE5m2, kF152}) add("amd", f, carry(21), saturate);
  }
  for (const FloatFormat& f : {kE4m3, kE5m2}) add("nvidia", f, carry(8), true);
  for (RoundingPolicy p : {carry(13), carry(8)}) {
    p.alignment = RandomAlignment::kAsIfNormal;
    add("intel", p.random_bits == 13 ? kFp16 : kE5m2, p);
  }
  RoundingPolicy tenstorrent = carry(23);
  tenstorrent.variant = StochasticVariant::kAtLeast;
  tenstorrent.subnormals = Subnormals::kFlushToPositive;
  tenstorrent.nan = NanPattern::kInfinity;
  tenstorrent.signed_zeros = false;
  for (const FloatFormat& f : {kTf32, kBf16, kFp16}) {
    add("tenstorrent", f, tenstorrent);
    Semantics flushed = Semantics::ieee(tenstorrent);
    flushed.wide_operands_flushed = true;
    flushed.operand_flush_sign = FlushSign::kPositive;
    all.push_back({"tenstorrent, operands flushed", f, flushed});
  }
  for (const StochasticVariant variant :
       {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne, StochasticVariant::kOdd})
    for (const FloatFormat& f : {kFp16, kBf16, kE4m3, kE5m2})
      for (const int r : {8, 13}) {
        RoundingPolicy p = carry(r);
        p.variant = variant;
        add("p3109", f, p);
      }
  return all;
}

/// The random word of element i.
inline uint32_t word_of(const BulkOptions& o, size_t i, const RoundingPolicy& p) {
  if (!p.stochastic()) return 0;
  if (o.random.words) return o.random.words[i];
  const RandomBits bits{o.random.seed, o.random.engine == RandomEngine::kPhilox7 ? 7 : 10, o.random.replica};
  return bits.bits(o.random.step, o.random.operation, o.random.first_index + i, p.random_bits);
}

/// What the scalar reference gives: all instruction sets are held against it, so it is computed once for them.
struct Expected {
  std::vector<uint64_t> codes;
  FpStatus status;
};
/// one(i, word) gives element i.
template <class One>
Expected reference(size_t n, const RoundingPolicy& p, const BulkOptions& o, const One& one) {
  Expected expected{std::vector<uint64_t>(n), {}};
  for (size_t i = 0; i < n; ++i) {
    const Rounded r = one(i, word_of(o, i, p));
    expected.codes[i] = r.code;
    expected.status.raise(r.flags, i);
  }
  return expected;
}

inline std::string show(const FpStatus& s) {
  std::string text = "flags " + hex(s.flags) + " at";
  for (const uint64_t i : s.first_index) text += i == FpStatus::kNever ? " never" : " " + std::to_string(i);
  return text;
}

/// Compares `got` with `expected`; on a difference prints what() and the first one.
template <class T>
void expect_equal(const std::vector<uint64_t>& expected, const T* got, const auto& what, const std::string& inputs,
                  const auto& input_of) {
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    uint64_t code = 0;
    std::memcpy(&code, got + i, sizeof(T));
    if (code != expected[i] && wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  uint64_t code = 0;
  std::memcpy(&code, got + first, sizeof(T));
  ADD_FAILURE() << what() << ": " << wrong << " of " << expected.size() << " differ, first element " << first << " "
                << inputs << " " << input_of(first) << ": got " << hex(code) << ", reference " << hex(expected[first]);
}

}  // namespace softamp::test
