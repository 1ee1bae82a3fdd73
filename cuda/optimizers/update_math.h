// Arithmetic of updates, besides kernel/optimizers.h's formulas: binary64 numbers, their sums rounded to odd, and the
// values from which a rounding to a tensor's dtype may start.
//
// A sum rounded to odd in 53 bits can replace the exact value in every rounding that reads fewer bits (N403): to fp32's
// nearest even; to 24 bits toward zero, if a stochastic carry reads no further (N402); to 24 bits rounded to odd, from
// which a half can be rounded to nearest even.
#pragma once

#include "cuda/fast_round.h"
#include "softamp/kernel/optimizers.h"

namespace softamp::cuda {

/// A binary64 number for the formulas of kernel::update.
struct UpdateLane {
  double v;

  friend SOFTAMP_PRIMITIVE UpdateLane operator+(UpdateLane a, UpdateLane b) {
    return {(math::Double(a.v) + math::Double(b.v)).value};
  }
  friend SOFTAMP_PRIMITIVE UpdateLane operator*(UpdateLane a, UpdateLane b) {
    return {(math::Double(a.v) * math::Double(b.v)).value};
  }
  friend SOFTAMP_PRIMITIVE UpdateLane operator/(UpdateLane a, UpdateLane b) {
    return {(math::Double(a.v) / math::Double(b.v)).value};
  }
  friend SOFTAMP_PRIMITIVE UpdateLane operator-(UpdateLane a) {
    return {__builtin_bit_cast(double, __builtin_bit_cast(uint64_t, a.v) ^ 0x8000000000000000u)};
  }
  friend SOFTAMP_PRIMITIVE UpdateLane root(UpdateLane a) {
#if defined(__CUDA_ARCH__)
    return {__dsqrt_rn(a.v)};
#else
    return {__builtin_sqrt(a.v)};
#endif
  }
};

/// a + b rounded to odd; exact cancellation gives +0.
SOFTAMP_PRIMITIVE double sum_to_odd(double a, double b) {
#if defined(__CUDA_ARCH__)
  const double down = __dadd_rd(a, b), up = __dadd_ru(a, b);
  return __builtin_bit_cast(uint64_t, down) & 1 ? down : up;
#else
  return detail::odd_sum(a, b);
#endif
}

/// How a sum is converted to the fp32 value that FastRound takes.
enum class SumLeaves : uint8_t { kNearest, kTruncated, kOdd };

SOFTAMP_PRIMITIVE float left_of(double odd, SumLeaves leaves) {
#if defined(__CUDA_ARCH__)
  if (leaves == SumLeaves::kNearest) return __double2float_rn(odd);
  const float truncated = __double2float_rz(odd);
#else
  if (leaves == SumLeaves::kNearest) return static_cast<float>(odd);
  const float truncated = detail::directed<detail::Toward::kZero>(odd);
#endif
  if (leaves == SumLeaves::kTruncated) return truncated;
  const bool inexact = (static_cast<double>(truncated) < odd) | (static_cast<double>(truncated) > odd);
  return from_bits(bits_of(truncated) | inexact);
}

/// The rounding of one site: from the exact sum to a code.
struct FastSite {
  FastRound round;
  SumLeaves leaves = SumLeaves::kNearest;
  bool usable = false;

  static FastSite of(const FloatFormat& f, const Semantics& s, bool status_wanted) {
    FastSite site;
    site.round = FastRound::of(f, s, status_wanted);
    const RoundingPolicy& p = s.rounding(f);
    if (f != FloatFormat::fp32())
      site.leaves = p.mode == RoundingMode::kNearestEven ? SumLeaves::kOdd : SumLeaves::kTruncated;
    const int read = f.precision + site.round.random_bits + (p.stochastic() && p.variant == StochasticVariant::kHalf);
    site.usable = site.round.usable && read <= 24;
    return site;
  }
  SOFTAMP_PRIMITIVE uint32_t code(const kernel::update::Sum<UpdateLane>& sum, uint32_t random, bool& rare) const {
    return round(left_of(sum_to_odd(sum.a.v, sum.b.v), leaves), random, rare);
  }
};

}  // namespace softamp::cuda
