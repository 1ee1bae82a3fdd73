// Stochastic rounding of fp32 by integers, any variant and alignment, to codes or to values: the bits that a format
// drops, and the random number aligned to them, carry by themselves.
//
// Let W be the bits of fp32 below the result's last. A rest f of W bits goes up iff f + A >= 2^W, with (N12, N13)
//   carry     A = R 2^(W-r)                                half      A = (2R + 1) 2^(W-r-1)
//   at-least  A = (2^r - R) 2^(W-r)                        rne, odd  A = (2R + 1) 2^(W-r-1), less 1 where the tie, at
//                                                                    f = 2^W - A, does not go up: R odd, R even
// and A rounded down where W is too small, which loses nothing: f has no bits there. While no number of a group is
// above the greatest of the format or below its normal ones, bits of |x| + A are those of the result, with W bits to
// be cut off; F16C's conversion toward zero cuts them off for fp16. Other groups:
//   kEight   formats with fp32's exponents (bf16, tf32): code = (bits of |x| + A) >> W, subnormals included.
//   others   the significand is moved kAlignedGuard bits up, so that W leaves room for R, and, where the result is
//            subnormal, down by `lift`: first, so that R counts from the top of what is dropped (bits that are lost,
//            jammed for rne and odd, lie below all that A has), or (kSource) at the end.
//            The general kernel handles overflow, infinity and NaN, and the inexact and underflow flags.
#pragma once

#include "emu/bulk/general_body.h"
#include "emu/bulk/stream_body.h"

namespace softamp::emu {
namespace {

enum class AlignedForm : uint8_t { kEight, kTop, kTopJammed, kSource };

/// The same shift for every lane: by a vector of counts if that instruction is faster.
class Count {
 public:
  explicit Count(int n) : lanes_(splat<U32>(n)), n_(n) {}
#if defined(__AVX2__)
  SOFTAMP_LANES U32 right(U32 x) const { return shr(x, lanes_); }
  SOFTAMP_LANES U32 left(U32 x) const { return shl(x, lanes_); }
#else
  SOFTAMP_LANES U32 right(U32 x) const { return x >> n_; }
  SOFTAMP_LANES U32 left(U32 x) const { return x << n_; }
#endif

 private:
  U32 lanes_;
  [[maybe_unused]] int n_;
};

/// The constants of a plan that `aligned_serves` (choose.cpp) accepts.
struct Alignment {
  int below;                     ///< W
  int left, right;               ///< shift of the number, one of them 0
  uint32_t flip, one, base;      ///< A = ((R ^ flip) + one) shifted, + base
  uint32_t tie, tie_parity;      ///<     - ((R ^ tie_parity) & tie)
  uint32_t least_field;          ///< of fp32, of a normal result
  uint32_t lowest, lowest_code;  ///< magnitudes and codes below are zeros
  bool drops_signs;              ///< of zeros

  explicit Alignment(const RoundPlan& p, bool eight) {
    const int r = p.random_bits;
    below = 24 - p.precision + (eight ? 0 : kAlignedGuard);
    left = below > r ? below - r : 0;
    right = below > r ? 0 : r - below;
    flip = p.at_least ? static_cast<uint32_t>((uint64_t{1} << r) - 1) : 0;
    one = p.at_least ? 1 : 0;
    const bool middle = p.half != 0 && !p.at_least && below > r;
    base = middle ? 1u << (below - r - 1) : 0;
    tie = middle && p.odd_step != 0 ? 1 : 0;
    tie_parity = p.variant == StochasticVariant::kOdd ? 1 : 0;
    least_field = static_cast<uint32_t>(p.min_exponent + 127);
    lowest = p.operand_flush_below ? p.operand_flush_below : 1;
    lowest_code = p.flush_below ? p.flush_below : 1;
    drops_signs = !p.has_negative_zero;
  }
};

template <Random kRandom>
SOFTAMP_LANES U32 number_at(const char* numbers, size_t i) {
  return kRandom == Random::k32 ? Lanes32::random32(numbers + 4 * i) : Lanes32::random16(numbers + 2 * i);
}

/// A (above) of the numbers R. kCarry: the variant is carry.
template <bool kCarry>
class Addend {
 public:
  SOFTAMP_LANES explicit Addend(const Alignment& a) : a_(a), left_(a.left), right_(a.right) {}
  SOFTAMP_LANES U32 operator()(U32 number) const {
    const U32 unaligned = kCarry ? number : (number ^ a_.flip) + a_.one;
    const U32 aligned = a_.right ? right_.right(unaligned) : a_.left ? left_.left(unaligned) : unaligned;
    return kCarry ? aligned : aligned + a_.base - ((number ^ a_.tie_parity) & a_.tie);
  }

 private:
  const Alignment& a_;
  Count left_, right_;
};

/// kCarry: the variant is carry, and zeros are left unchanged, which saves much of the work.
template <AlignedForm kForm, Random kRandom, bool kCarry>
class AlignedRounder {
  static constexpr size_t kLanes = sizeof(U32) / 4;

 public:
  SOFTAMP_LANES explicit AlignedRounder(const RoundPlan& plan)
      : p_(plan),
        a_(plan, kForm == AlignedForm::kEight),
        addend_(a_),
        below_(a_.below),
        mantissa_(plan.precision - 1),
        sign_shift_(static_cast<int>(plan.sign_shift)) {}

  /// Rounds the kGroup values at `in`; false: some need the general kernel. `look`: so do results below the normal
  /// range.
  SOFTAMP_LANES bool group(const char* in, const char* numbers, bool look, uint32_t* codes) const {
    U32 greatest = {}, tiny = {};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 u = load<U32>(in + 4 * i), magnitude = u & 0x7FFFFFFFu;
      const U32 sign = sign_shift_.right(u & 0x80000000u);
      U32 code = rounded(magnitude, number_at<kRandom>(numbers, i));
      if (!kCarry) code &= (U32)(magnitude >= splat<U32>(a_.lowest));
      greatest = code > greatest ? code : greatest;
      if (look) tiny |= (U32)(magnitude - 1 < splat<U32>((a_.least_field << 23) - 1));
      if constexpr (kCarry) {
        code |= sign;
      } else {
        const U32 kept = (U32)(code >= splat<U32>(a_.lowest_code));
        code = a_.drops_signs ? (code | sign) & kept : (code & kept) | sign;
      }
      store(codes + i, code);
    }
    return !any((U32)(greatest > splat<U32>(p_.max_finite)) | tiny);
  }

 private:
  /// Codes of magnitudes.
  SOFTAMP_LANES U32 rounded(U32 magnitude, U32 number) const {
    const U32 add = addend_(number);
    if constexpr (kForm == AlignedForm::kEight) return below_.right(magnitude + add);
    constexpr int kGuard = kAlignedGuard;
    const U32 least = splat<U32>(a_.least_field), field = magnitude >> 23;
    const U32 reached = field > least ? field : least, lift = reached - field;
    const U32 significand = ((magnitude << kGuard) & (0x7FFFFFu << kGuard)) | (0x800000u << kGuard);
    U32 kept;
    if constexpr (kForm == AlignedForm::kSource) {
      kept = shr(significand + add, lift + static_cast<uint32_t>(a_.below));
    } else {
      U32 lowered = shr(significand, lift);
      if (kForm == AlignedForm::kTopJammed) lowered |= (U32)(shl(lowered, lift) != significand) & 1;
      kept = below_.right(lowered + add);
    }
    return kept + mantissa_.left(reached - least);
  }

  const RoundPlan& p_;
  Alignment a_;
  Addend<kCarry> addend_;
  Count below_, mantissa_, sign_shift_;
};

/// What does groups whose results need not be normal numbers: an AlignedRounder, and its `group`.
struct AlignedGroup {
  const void* rounder;
  bool (*group)(const void* rounder, const char* in, const char* numbers, bool look, uint32_t* codes);

  template <AlignedForm kForm, Random kRandom, bool kCarry>
  static AlignedGroup of(const AlignedRounder<kForm, kRandom, kCarry>& rounder) {
    return {&rounder, [](const void* r, const char* in, const char* numbers, bool look, uint32_t* codes) {
              return static_cast<const AlignedRounder<kForm, kRandom, kCarry>*>(r)->group(in, numbers, look, codes);
            }};
  }
};

/// Groups whose results are all normal numbers.
template <Random kRandom, bool kCarry>
class NormalRounder {
  static constexpr size_t kLanes = sizeof(U32) / 4;

 public:
  /// kTopBits: the code is the upper bits of fp32's; kHalves: F16C converts.
  enum class Way : uint8_t { kCodes, kTopBits, kHalves, kValues };

  SOFTAMP_LANES NormalRounder(const RoundPlan& p, Element to)
      : a_(p, true), addend_(a_), below_(a_.below), sign_shift_(static_cast<int>(p.sign_shift)) {
    const bool eight = p.min_exponent == -126;
    rebase_ = static_cast<uint32_t>(p.min_exponent + 126) << (p.precision - 1);
    // Zeros and subnormal numbers need no care where fp32 has the same and the variant leaves them alone.
    least_ = eight && kCarry && (p.on_underflow == 0) ? 0 : a_.least_field << 23;
    // At-least moves exact values, too: the greatest number would overflow.
    span_ = ((p.max_finite - (p.at_least ? 1 : 0)) << a_.below) + (static_cast<uint32_t>(p.min_exponent + 126) << 23) -
            least_;
    way_ = to == Element::kF32 ? Way::kValues : eight ? Way::kTopBits : Way::kCodes;
#if defined(__F16C__) && !defined(__AVX512F__)
    if (p.format == kFp16 && to == Element::kU16) way_ = Way::kHalves;
#endif
  }

  SOFTAMP_LANES bool serves(const char* in) const {
    U32 farthest = {};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 above = (load<U32>(in + 4 * i) & 0x7FFFFFFFu) - least_;
      farthest = above > farthest ? above : farthest;
    }
    return !any((U32)(farthest > span_));
  }
  SOFTAMP_LANES bool inexact(const char* in) const {
    U32 ones = {};
    for (size_t i = 0; i < kGroup; i += kLanes) ones |= load<U32>(in + 4 * i);
    return any(ones & ((1u << a_.below) - 1));
  }

  SOFTAMP_LANES void group(const char* in, const char* numbers, Element to, char* out) const {
    const auto sum = [&](size_t i) { return load<U32>(in + 4 * i) + addend_(number_at<kRandom>(numbers, i)); };
    alignas(64) uint32_t codes[kGroup];
    switch (way_) {
#if defined(__F16C__) && !defined(__AVX512F__)
      case Way::kHalves: {
        const auto half = [&](size_t i) { return _mm256_cvtps_ph((__m256)sum(i), _MM_FROUND_TO_ZERO); };
        for (size_t i = 0; i < kGroup; i += 16) store(out + 2 * i, _mm256_set_m128i(half(i + 8), half(i)));
        return;
      }
#endif
      case Way::kValues: {
        const uint32_t kept = ~((1u << a_.below) - 1);
        for (size_t i = 0; i < kGroup; i += kLanes) store(out + 4 * i, sum(i) & kept);
        return;
      }
      case Way::kTopBits:
        for (size_t i = 0; i < kGroup; i += kLanes) store(codes + i, below_.right(sum(i)));
        break;
      default:
        for (size_t i = 0; i < kGroup; i += kLanes) {
          const U32 s = sum(i);
          store(codes + i, (below_.right(s & 0x7FFFFFFFu) - rebase_) | sign_shift_.right(s & 0x80000000u));
        }
    }
    store_codes(codes, to, out);
  }

 private:
  Alignment a_;
  Addend<kCarry> addend_;
  Count below_, sign_shift_;
  uint32_t rebase_, least_, span_;
  Way way_;
};

template <Random kRandom, bool kCarry>
[[gnu::noinline]] uint8_t round_aligned_groups(const RoundPlan& plan, const RandomPlan& random, Element to,
                                               const Slice& slice, uint8_t wanted, const AlignedGroup& other) {
  const NormalRounder<kRandom, kCarry> normal(plan, to);
  Rounder<Lanes32, kRandom> general(plan, wanted);
  Widener values(plan.values);
  const bool seek_underflow = (wanted & plan.on_underflow) != 0, stream = kStreams && slice.stream;
  bool seek_inexact = (wanted & plan.on_inexact) != 0;
  uint8_t flags = 0;
  const size_t bytes = size_of(to);
  for_groups<kRandom>(random, slice, plan.random_bits, [&](size_t i, const void* drawn) {
    alignas(64) uint32_t codes[kGroup];
    alignas(64) char results[kGroup * 4];
    const char* const in = static_cast<const char*>(slice.in[0]) + 4 * i;
    const char* const numbers = static_cast<const char*>(drawn);
    char* const target = static_cast<char*>(slice.out) + i * bytes;
    char* const out = stream ? results : target;
    if (stream) fetch_ahead(in, 4 * kGroup);
    if (!(seek_inexact && plan.at_least) && normal.serves(in)) [[likely]] {
      if (seek_inexact && normal.inexact(in)) flags |= plan.on_inexact, seek_inexact = false;
      normal.group(in, numbers, to, out);
    } else {
      if (seek_inexact || !other.group(other.rounder, in, numbers, seek_underflow, codes))
        general.group(in, numbers, codes);
      emit(codes, to, values, out, 0);
    }
    if (stream) stream_group(results, target, kGroup * bytes);
  });
  return flags | general.flags();
}

template <AlignedForm kForm, Random kRandom, bool kCarry>
uint8_t round_aligned_as(const RoundPlan& plan, const RandomPlan& random, Element to, const Slice& slice,
                         uint8_t wanted) {
  const AlignedRounder<kForm, kRandom, kCarry> other(plan);
  return round_aligned_groups<kRandom, kCarry>(plan, random, to, slice, wanted, AlignedGroup::of(other));
}

template <AlignedForm kForm>
uint8_t round_aligned_by(const RoundPlan& plan, const RandomPlan& random, Element to, const Slice& slice,
                         uint8_t wanted) {
  const bool plain = plan.half == 0 && plan.has_negative_zero && plan.flush_below == 0 && plan.operand_flush_below == 0;
  const bool wide = plan.random_bits > 16;
  // kTopJammed is for the variants with ties, which are never plain.
  if constexpr (kForm != AlignedForm::kTopJammed)
    if (plain)
      return (wide ? round_aligned_as<kForm, Random::k32, true>
                   : round_aligned_as<kForm, Random::k16, true>)(plan, random, to, slice, wanted);
  return (wide ? round_aligned_as<kForm, Random::k32, false>
               : round_aligned_as<kForm, Random::k16, false>)(plan, random, to, slice, wanted);
}

uint8_t round_aligned(const RoundPlan& plan, const RandomPlan& random, Element, Element to, const Slice& slice,
                      uint8_t wanted) {
  if (plan.min_exponent == -126) return round_aligned_by<AlignedForm::kEight>(plan, random, to, slice, wanted);
  if (plan.with_source) return round_aligned_by<AlignedForm::kSource>(plan, random, to, slice, wanted);
  if (plan.odd_step != 0) return round_aligned_by<AlignedForm::kTopJammed>(plan, random, to, slice, wanted);
  return round_aligned_by<AlignedForm::kTop>(plan, random, to, slice, wanted);
}

}  // namespace
}  // namespace softamp::emu
