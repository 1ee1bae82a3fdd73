// The general rounding, branch-free except for rare results: any format, mode, variant and overflow rule, as RoundPlan
// says.
//
// A lane splits its magnitude into what the target keeps and the rest, a fraction aligned to the top of the lane, whose
// bit 0 is sticky, and goes up iff the rest exceeds a threshold. 32-bit lanes take fp32 values and at most 30 random
// bits (the rest must hold one bit more than R, and the sticky bit below it); 64-bit lanes take binary64 values and
// support everything.
#pragma once

#include "emu/bulk/plan.h"
#include "emu/simd.h"

namespace softamp::emu {
namespace {

struct Lanes32 {
  using U = U32;
  using I = I32;
  using Word = uint32_t;
  static constexpr int kBits = 32, kMantissa = 23, kBias = 127;
  static constexpr uint32_t kInfinity = 0x7F800000u;
  static uint32_t overflow_from(const RoundPlan& p) { return p.overflow_from32; }
  static SOFTAMP_LANES U random16(const void* p) {
#if defined(__AVX512F__)
    return (U32)_mm512_cvtepu16_epi32(load<__m256i>(p));  // g++ 12 would go through halves
#else
    return __builtin_convertvector(load<U16of32>(p), U32);
#endif
  }
  static SOFTAMP_LANES U random32(const void* p) { return load<U32>(p); }
  static SOFTAMP_LANES void put(uint32_t* out, U codes) { store(out, codes); }
};

struct Lanes64 {
  using U = U64;
  using I = I64;
  using Word = uint64_t;
  static constexpr int kBits = 64, kMantissa = 52, kBias = 1023;
  static constexpr uint64_t kInfinity = 0x7FF0000000000000u;
  static uint64_t overflow_from(const RoundPlan& p) { return p.overflow_from64; }
  static SOFTAMP_LANES U random16(const void* p) { return load_u16_as_u64(p); }
  static SOFTAMP_LANES U random32(const void* p) { return widened(load<U32of64>(p)); }
  static SOFTAMP_LANES void put(uint32_t* out, U codes) { store(out, narrowed(codes)); }
};

enum class Random : uint8_t { kNone, k16, k32 };

/// One plan's constants in lanes, and the flags seen.
template <class L, Random kRandom>
class Rounder {
  using U = typename L::U;
  using I = typename L::I;
  using Word = typename L::Word;

 public:
  SOFTAMP_LANES Rounder(const RoundPlan& plan, uint8_t wanted)
      : p_(plan),
        wanted_(wanted),
        least_field_(plan.min_exponent + L::kBias),
        threshold_difference_(narrow(plan.threshold[0]) ^ narrow(plan.threshold[1])) {}

  /// Rounds the kGroup values at `in` (bit patterns) with the random numbers at `random` into `codes`. Not inlined:
  /// most callers have a faster way and need this for rare groups.
  [[gnu::noinline]] void group(const void* in, const void* random, uint32_t* codes) {
    constexpr size_t kLanes = sizeof(U) / sizeof(Word);
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const char* source = static_cast<const char*>(in) + i * sizeof(Word);
      const char* numbers = nullptr;
      if (kRandom != Random::kNone) numbers = static_cast<const char*>(random) + i * (kRandom == Random::k32 ? 4 : 2);
      L::put(codes + i, lanes(load<U>(source), numbers));
    }
  }

  uint8_t flags() const {
    uint8_t flags = rare_flags_;
    if (any(inexact_)) flags |= p_.on_inexact;
    if (any(tiny_)) flags |= p_.on_underflow;
    return flags;
  }

 private:
  static SOFTAMP_LANES Word narrow(uint64_t x) { return static_cast<Word>(x >> (64 - L::kBits)); }
  static SOFTAMP_LANES U all(Word x) { return splat<U>(x); }

  SOFTAMP_LANES U lanes(U u, const char* numbers) {
    const Word sign_bit = Word{1} << (L::kBits - 1);
    U magnitude = u & (sign_bit - 1);
    U sign = u & sign_bit;
    if (sizeof(Word) == 4 && p_.operand_flush_below) {
      const U flushed = (U)(magnitude - 1 < all(static_cast<Word>(p_.operand_flush_below - 1)));
      magnitude &= ~flushed;
      sign &= ~flushed | p_.operand_flush_sign;
    }

    // Significand with its leading bit on top, and the shift that leaves the kept bits.
    U field = magnitude >> L::kMantissa;
    const U without_hidden = (U)(field == 0);
    field -= without_hidden;  // a subnormal has the quantum of field 1
    const U significand =
        ((magnitude << (L::kBits - 1 - L::kMantissa)) & (sign_bit - 1)) | (~without_hidden & sign_bit);
    const I below = (I)(all(static_cast<Word>(least_field_)) - field);
    const U lift = (U)(below & (below > 0));
    const Word base_shift = static_cast<Word>(L::kBits - p_.precision);
    U shift = lift + base_shift;
    shift = shift > 2 * L::kBits ? all(2 * L::kBits) : shift;
    const U kept = shr(significand, shift);
    const U jam = (U)(shl(significand, 2 * L::kBits - shift) != 0) & 1;
    const U rest = shl(significand, L::kBits - shift) | shr(significand, shift - L::kBits) | jam;

    // unbounded: the threshold of a result that is normal.
    U threshold, unbounded;
    if constexpr (kRandom == Random::kNone) {
      unbounded = ((U)((I)u < 0) & threshold_difference_) ^ narrow(p_.threshold[0]);
      threshold = unbounded - (kept & static_cast<Word>(p_.parity));
    } else {
      const U number = kRandom == Random::k32 ? L::random32(numbers) : L::random16(numbers);
      unbounded = p_.at_least ? 0 - (((Word{1} << p_.random_bits) - number) << (L::kBits - p_.random_bits))
                              : threshold_of(number, twice(number) << (L::kBits - 1 - p_.random_bits));
      threshold = p_.with_source ? threshold_below(number, lift) : unbounded;
    }
    U up = (U)(rest > threshold);
    if (kRandom != Random::kNone && !p_.usual) {
      up |= (U)(rest == threshold) & spread(p_.at_least) & (U)(magnitude != 0);
      up &= ~((U)((I)(lift - p_.precision) > 0) & spread(p_.with_source));  // too far below for any R
    }
    U rounded = ((field + lift - static_cast<Word>(least_field_)) << (p_.precision - 1)) + kept - up;

    const U rare = (U)(rounded > widened(p_.overflow_above)) | (U)(magnitude >= L::overflow_from(p_));
    if (wanted_ & (kInexact | kUnderflow)) {
      const U inexact = ((U)(rest != 0) | up) & ~rare;
      inexact_ |= inexact;
      // Below the normal range, unless the rounding with an unbounded exponent reaches the smallest normal number.
      const U unbounded_kept = (kept << 1) | (rest >> (L::kBits - 1));
      const U reaches = (U)(unbounded_kept == (Word{1} << p_.precision) - 1) &
                        exceeds(rest << 1, unbounded - odd_parity()) & ~spread(p_.tiny_before);
      tiny_ |= inexact & (U)(magnitude < static_cast<Word>(least_field_) << L::kMantissa) & ~reaches;
    }
    rounded = rounded > p_.max_finite ? all(p_.max_finite) : rounded;
    if (p_.flush_below) {
      const U flushed = (U)(rounded < p_.flush_below) & (U)(magnitude != 0);
      rounded &= ~flushed;
      sign &= ~flushed | spread(p_.flush_sign);
    }
    U code = rounded | (sign >> (p_.sign_shift + L::kBits - 32));
    if (!p_.has_negative_zero) code &= (U)(rounded != 0);
    if (any(rare)) [[unlikely]]
      code = with_rare(code, rare, u, magnitude);
    return code;
  }

  /// Overflow, infinity and NaN.
  SOFTAMP_LANES U with_rare(U code, U rare, U u, U magnitude) {
    const U negative = (U)((I)u < 0);
    const U infinite = (U)(magnitude == L::kInfinity), nan = (U)(magnitude > L::kInfinity);
    const U overflow = rare & ~infinite & ~nan;
    code = overflow ? by_sign(p_.overflow, negative) : code;
    code = infinite ? by_sign(p_.infinity, negative) : code;
    U nans = all(p_.nan) | (negative & p_.nan_sign);
    if (p_.propagate_nan) {
      const U payload = magnitude & ((Word{1} << L::kMantissa) - 1);
      nans = (payload >> (L::kMantissa + 1 - p_.precision)) | p_.nan_head |
             ((u & (Word{1} << (L::kBits - 1))) >> (p_.sign_shift + L::kBits - 32));
    }
    code = nan ? nans : code;
    const U quiet = (U)((magnitude & (Word{1} << (L::kMantissa - 1))) != 0);
    if (any(overflow)) rare_flags_ |= p_.on_overflow;
    if (any(infinite)) rare_flags_ |= p_.on_infinity;
    if (any(nan & quiet)) rare_flags_ |= p_.on_quiet_nan;
    if (any(nan & ~quiet)) rare_flags_ |= p_.on_signaling_nan;
    return code;
  }

  // Stochastic: what a rest must exceed, or reach if the variant says so.
  SOFTAMP_LANES U twice(U number) const { return number + number + static_cast<Word>(p_.half); }
  SOFTAMP_LANES U threshold_of(U number, U placed) const {
    return static_cast<Word>(p_.start) - placed + (-(number & 1) & static_cast<Word>(p_.odd_step));
  }
  /// The same with R `lift` bits below the top; meaningless where no R matters any more.
  SOFTAMP_LANES U threshold_below(U number, U lift) const {
    const U shift = static_cast<Word>(L::kBits - p_.random_bits) - lift;
    if (p_.at_least) return 0 - shl((Word{1} << p_.random_bits) - number, shift);
    return threshold_of(number, shl(twice(number), shift - 1));
  }
  SOFTAMP_LANES U exceeds(U rest, U threshold) const {
    const U above = (U)(rest > threshold);
    return p_.at_least ? above | (U)(rest == threshold) : above;
  }

  static SOFTAMP_LANES U by_sign(const uint32_t (&results)[2], U negative) {
    return negative ? all(results[1]) : all(results[0]);
  }
  /// 32-bit data in a lane: ~0 stays all ones.
  static SOFTAMP_LANES U widened(uint32_t x) { return all(x == ~0u ? ~Word{0} : x); }
  static SOFTAMP_LANES U spread(uint32_t x) { return all(x ? ~Word{0} : 0); }
  SOFTAMP_LANES Word odd_parity() const { return kRandom == Random::kNone ? static_cast<Word>(p_.parity) : 0; }

  const RoundPlan& p_;
  uint8_t wanted_;
  int least_field_;
  Word threshold_difference_;
  U inexact_ = {}, tiny_ = {};
  uint8_t rare_flags_ = 0;
};

}  // namespace
}  // namespace softamp::emu
