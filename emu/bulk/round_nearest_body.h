// fp32 to nearest even: any format with gradual underflow whose numbers fp32 has, to codes or to values.
//
// With W = 24 - precision, the bits of fp32 below the result's last:
//   kEight    formats with fp32's exponents (bf16, tf32): bits of |x| + 2^(W-1) - 1 + the last bit that is kept; the
//             upper bits are the code, subnormals included.
//   kShifted  |x| + s in fp32, s = 2^W max(2^e, the least normal number) where 2^e <= |x| < 2^(e+1): the last bit of
//             the sum is the quantum of the result, so the processor's own rounding is the one that is wanted.
//   kHalf     fp16 by the conversions of F16C or NEON.
// A result is inexact iff its value is not |x|; tiny, after rounding, iff |x| is less than half a quantum of the binade
// below the normal numbers away from them. Groups with magnitudes above the greatest number go to the general kernel.
#pragma once

#include "emu/bulk/general_body.h"
#include "emu/bulk/stream_body.h"

namespace softamp::emu {
namespace {

enum class NearestForm : uint8_t { kEight, kShifted, kHalf };

/// The constants of a plan that `nearest_serves` (choose.cpp) accepts.
template <NearestForm kForm>
class NearestRounder {
 public:
  struct Result {
    U32 value, code;  ///< the magnitude's; kHalf has no code
  };

  SOFTAMP_LANES explicit NearestRounder(const RoundPlan& p)
      : below_(24 - p.precision),
        sign_shift_(static_cast<int>(p.sign_shift)),
        least_(static_cast<uint32_t>(p.min_exponent + 127) << 23),
        shift_(static_cast<uint32_t>(below_) << 23),
        start_(shift_ + (least_ >> below_)),
        dropped_((1u << below_) - 1),
        greatest_((p.max_finite << below_) + (static_cast<uint32_t>(p.min_exponent + 126) << 23)),
        tiny_below_(least_ - (1u << (below_ - (kForm == NearestForm::kEight ? 2 : 1)))),
        keeps_signs_(p.has_negative_zero ? ~0u : 0) {}

  /// Whether all kGroup magnitudes at `in` are at most the greatest number's.
  SOFTAMP_LANES bool in_range(const char* in) const {
    U32 greatest = {};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 m = load<U32>(in + 4 * i) & kMagnitude;
      greatest = m > greatest ? m : greatest;
    }
    return !any((U32)(greatest > greatest_));
  }

  /// kGroup codes at `in` to `out`; false: some are wrong, as in_range says. Codes never lie where the operands do, so
  /// one pass does both.
  SOFTAMP_LANES bool put_codes(const char* in, Element to, char* out) const {
    U32 greatest = {};
    const auto seen = [&](size_t i) {
      const U32 u = load<U32>(in + 4 * i), m = u & kMagnitude;
      greatest = m > greatest ? m : greatest;
      return u;
    };
    if constexpr (kForm == NearestForm::kHalf) {
#if defined(SOFTAMP_CONVERTS_HALVES)
      for (size_t i = 0; i < kGroup; i += 2 * kLanes) {
        const U16of32 low = nearest_halves((F32)seen(i));
        store(out + 2 * i, joined(low, nearest_halves((F32)seen(i + kLanes))));
      }
#endif
    } else if (to == Element::kU16) {
      for (size_t i = 0; i < kGroup; i += 4 * kLanes) {
        U32 c[4];
        for (size_t v = 0; v < 4; ++v) c[v] = code(seen(i + v * kLanes));
        store_u16(out + 2 * i, c[0], c[1], c[2], c[3]);
      }
    } else {
      alignas(64) uint32_t codes[kGroup];
      for (size_t i = 0; i < kGroup; i += kLanes) store(codes + i, code(seen(i)));
      store_codes(codes, to, out);
    }
    return !any((U32)(greatest > greatest_));
  }

  SOFTAMP_LANES U32 value(U32 u) const {
    const U32 v = rounded(u & kMagnitude).value;
    return v | signs(u, v);
  }
  SOFTAMP_LANES U32 code(U32 u) const {
    if (kForm == NearestForm::kEight && keeps_signs_) return (u + ((u >> below_) & 1) + (dropped_ >> 1)) >> below_;
    const U32 c = rounded(u & kMagnitude).code;
    return c | (signs(u, c) >> sign_shift_);
  }

  /// Whether a group has tiny operands, zeros aside: the only ones that can underflow.
  SOFTAMP_LANES bool has_tiny(const char* in) const {
    U32 least = ~U32{};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 m = (load<U32>(in + 4 * i) & kMagnitude) - 1;
      least = m < least ? m : least;
    }
    return any((U32)(least < splat<U32>(tiny_below_ - 1)));
  }

  /// Which of a group's results are inexact, and which of them tiny: some bits set.
  SOFTAMP_LANES void look(const char* in, bool& inexact, bool& tiny) const {
    U32 inexact_ones = {}, tiny_ones = {};
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const U32 m = load<U32>(in + 4 * i) & kMagnitude;
      const U32 difference = kForm == NearestForm::kEight ? m & dropped_ : m ^ rounded(m).value;
      inexact_ones |= difference;
      tiny_ones |= difference & (U32)(m < splat<U32>(tiny_below_));
    }
    inexact = any(inexact_ones);
    tiny = any(tiny_ones);
  }

 private:
  static constexpr size_t kLanes = sizeof(U32) / 4;
  static constexpr uint32_t kMagnitude = 0x7FFFFFFFu, kExponent = 0x7F800000u;

  SOFTAMP_LANES U32 signs(U32 u, U32 rounded) const {
    const U32 sign = u & ~kMagnitude;
    if (kForm == NearestForm::kHalf) return sign;
    return sign & ((U32)(rounded != 0) | keeps_signs_);
  }
  SOFTAMP_LANES Result rounded(U32 m) const {
    if constexpr (kForm == NearestForm::kEight) {
      const U32 carried = m + ((m >> below_) & 1) + (dropped_ >> 1);
      return {carried & ~dropped_, carried >> below_};
    } else if constexpr (kForm == NearestForm::kShifted) {
      const I32 power = (I32)(m & kExponent), least = splat<I32>(static_cast<int32_t>(least_));
      const U32 binade = (U32)(power > least ? power : least), shifter = binade + shift_;
      const F32 sum = (F32)m + (F32)shifter;
      return {(U32)(sum - (F32)shifter), (U32)sum + (binade >> below_) - binade - start_};
    } else {
#if defined(SOFTAMP_CONVERTS_HALVES)
      return {(U32)halves_values(nearest_halves((F32)m)), U32{}};
#else
      return {m, m};
#endif
    }
  }

  int below_, sign_shift_;
  uint32_t least_, shift_, start_, dropped_, greatest_, tiny_below_;
  uint32_t keeps_signs_;  ///< of zeros: 0 or all
};

template <NearestForm kForm>
[[gnu::noinline]] uint8_t round_nearest_groups(const RoundPlan& plan, Element to, const Slice& slice, uint8_t wanted) {
  constexpr size_t kLanes = sizeof(U32) / 4;
  const NearestRounder<kForm> nearest(plan);
  Rounder<Lanes32, Random::kNone> general(plan, wanted);
  Widener values(plan.values);
  uint8_t sought = wanted & (plan.on_inexact | plan.on_underflow), flags = 0;
  const bool stream = kStreams && slice.stream;
  const size_t bytes = size_of(to);
  for (size_t i = 0; i < slice.count; i += kGroup) {
    alignas(64) uint32_t codes[kGroup];
    alignas(64) char results[kGroup * 4];
    const char* const in = static_cast<const char*>(slice.in[0]) + 4 * i;
    char* const target = static_cast<char*>(slice.out) + i * bytes;
    char* const out = stream ? results : target;
    if (stream) fetch_ahead(in, 4 * kGroup);
    if (to == Element::kF32 ? !nearest.in_range(in) : !nearest.put_codes(in, to, out)) [[unlikely]] {
      general.group(in, nullptr, codes);
      emit(codes, to, values, out, 0);
    } else {
      if ((sought & plan.on_inexact) != 0 || (sought != 0 && nearest.has_tiny(in))) {
        bool inexact, tiny;
        nearest.look(in, inexact, tiny);
        if (inexact) flags |= plan.on_inexact;
        if (tiny) flags |= plan.on_underflow;
        sought = static_cast<uint8_t>(sought & ~flags);
      }
      if (to == Element::kF32)
        for (size_t l = 0; l < kGroup; l += kLanes) store(out + 4 * l, nearest.value(load<U32>(in + 4 * l)));
    }
    if (stream) stream_group(results, target, kGroup * bytes);
  }
  return flags | general.flags();
}

uint8_t round_nearest(const RoundPlan& plan, const RandomPlan&, Element, Element to, const Slice& slice,
                      uint8_t wanted) {
  if (plan.min_exponent == -126) return round_nearest_groups<NearestForm::kEight>(plan, to, slice, wanted);
#if defined(SOFTAMP_CONVERTS_HALVES)
  if (plan.format == kFp16 && plan.has_negative_zero && (to == Element::kU16 || to == Element::kF32))
    return round_nearest_groups<NearestForm::kHalf>(plan, to, slice, wanted);
#endif
  return round_nearest_groups<NearestForm::kShifted>(plan, to, slice, wanted);
}

}  // namespace
}  // namespace softamp::emu
