// Stochastic rounding of fp32 by integers, any variant and alignment: the bits that a format drops, and the random
// number aligned to them, carry by themselves.
//
// Let W be the bits of fp32 below the result's last. A rest f of W bits goes up iff f + A >= 2^W, with (N12, N13)
//   carry     A = R 2^(W-r)                                half      A = (2R + 1) 2^(W-r-1)
//   at-least  A = (2^r - R) 2^(W-r)                        rne, odd  A = (2R + 1) 2^(W-r-1), less 1 where the tie, at
//                                                                    f = 2^W - A, does not go up: R odd, R even
// and A rounded down where W is too small, which loses nothing: f has no bits there.
//   kEight   formats with fp32's exponents (bf16, tf32): code = (bits of |x| + A) >> W, subnormals included.
//   others   the significand is moved kAlignedGuard bits up, so that W leaves room for R, and, where the result is
//            subnormal, down by `lift`: first, so that R counts from the top of what is dropped (bits that are lost,
//            jammed for rne and odd, lie below all that A has), or (kSource) at the end.
//            The general kernel handles overflow, infinity and NaN, and the inexact and underflow flags.
#pragma once

#include "emu/bulk/general_body.h"

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

/// kCarry: the variant is carry, and zeros are left unchanged, which saves much of the work.
template <AlignedForm kForm, Random kRandom, bool kCarry>
class AlignedRounder {
  static constexpr size_t kLanes = sizeof(U32) / 4;

 public:
  SOFTAMP_LANES explicit AlignedRounder(const RoundPlan& plan)
      : p_(plan),
        a_(plan, kForm == AlignedForm::kEight),
        below_(a_.below),
        left_(a_.left),
        right_(a_.right),
        mantissa_(plan.precision - 1),
        sign_shift_(static_cast<int>(plan.sign_shift)) {}

  static bool serves(const RoundPlan& p) {
    return p.half == 0 && p.has_negative_zero && p.flush_below == 0 && p.operand_flush_below == 0;
  }

  /// Rounds the kGroup values at `in`; false: some need the general kernel. `look`: so do results below the normal
  /// range.
  SOFTAMP_LANES bool group(const char* in, const char* numbers, bool look, uint32_t* codes) const {
    U32 greatest = {}, tiny = {};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 u = load<U32>(in + 4 * i), magnitude = u & 0x7FFFFFFFu;
      const U32 sign = sign_shift_.right(u & 0x80000000u);
      U32 code = rounded(magnitude, number_at(numbers, i));
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
  static SOFTAMP_LANES U32 number_at(const char* numbers, size_t i) {
    return kRandom == Random::k32 ? Lanes32::random32(numbers + 4 * i) : Lanes32::random16(numbers + 2 * i);
  }
  SOFTAMP_LANES U32 addend(U32 number) const {
    const U32 unaligned = kCarry ? number : (number ^ a_.flip) + a_.one;
    const U32 aligned = a_.right ? right_.right(unaligned) : left_.left(unaligned);
    return kCarry ? aligned : aligned + a_.base - ((number ^ a_.tie_parity) & a_.tie);
  }
  /// Codes of magnitudes.
  SOFTAMP_LANES U32 rounded(U32 magnitude, U32 number) const {
    const U32 add = addend(number);
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
  Count below_, left_, right_, mantissa_, sign_shift_;
};

/// Writes a group that has been computed at `results`, bypassing the caches.
SOFTAMP_LANES void stream_group([[maybe_unused]] const char* results, [[maybe_unused]] char* out,
                                [[maybe_unused]] size_t bytes) {
#if defined(__AVX512F__)
  for (size_t b = 0; b < bytes; b += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + b), load<__m512i>(results + b));
#endif
}
#if defined(__AVX512F__)
constexpr bool kStreams = true;
#else
constexpr bool kStreams = false;
#endif

template <AlignedForm kForm, Random kRandom, bool kCarry>
[[gnu::noinline]] uint8_t round_aligned_groups(const RoundPlan& plan, const RandomPlan& random, Element to,
                                               const Slice& slice, uint8_t wanted) {
  const AlignedRounder<kForm, kRandom, kCarry> aligned(plan);
  Rounder<Lanes32, kRandom> general(plan, wanted);
  Widener values(plan.values);
  const bool seek_underflow = (wanted & plan.on_underflow) != 0, stream = kStreams && slice.stream;
  for_groups<kRandom>(random, slice, plan.random_bits, [&](size_t i, const void* numbers) {
    alignas(64) uint32_t codes[kGroup];
    const char* const source = static_cast<const char*>(slice.in[0]) + 4 * i;
    if (!aligned.group(source, static_cast<const char*>(numbers), seek_underflow, codes)) [[unlikely]]
      general.group(source, numbers, codes);
    if (!stream) return emit(codes, to, values, slice.out, i);
    alignas(64) char results[kGroup * 4];
    emit(codes, to, values, results, 0);
    stream_group(results, static_cast<char*>(slice.out) + i * size_of(to), kGroup * size_of(to));
  });
  return general.flags();
}

template <AlignedForm kForm, bool kCarry = false>
uint8_t round_aligned_by(const RoundPlan& plan, const RandomPlan& random, Element to, const Slice& slice,
                         uint8_t wanted) {
  constexpr bool kChoice = !kCarry && (kForm == AlignedForm::kEight || kForm == AlignedForm::kTop);
  if constexpr (kChoice)
    if (AlignedRounder<kForm, Random::k16, true>::serves(plan))
      return round_aligned_by<kForm, true>(plan, random, to, slice, wanted);
  return (plan.random_bits > 16 ? round_aligned_groups<kForm, Random::k32, kCarry>
                                : round_aligned_groups<kForm, Random::k16, kCarry>)(plan, random, to, slice, wanted);
}

uint8_t round_aligned(const RoundPlan& plan, const RandomPlan& random, Element from, Element to, const Slice& slice,
                      uint8_t wanted) {
  if (wanted & plan.on_inexact) return round_general(plan, random, from, to, slice, wanted);
  if (plan.min_exponent == -126) return round_aligned_by<AlignedForm::kEight>(plan, random, to, slice, wanted);
  if (plan.with_source) return round_aligned_by<AlignedForm::kSource>(plan, random, to, slice, wanted);
  if (plan.odd_step != 0) return round_aligned_by<AlignedForm::kTopJammed>(plan, random, to, slice, wanted);
  return round_aligned_by<AlignedForm::kTop>(plan, random, to, slice, wanted);
}

}  // namespace
}  // namespace softamp::emu
