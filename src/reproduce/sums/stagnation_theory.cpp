#include "src/reproduce/sums/stagnation_theory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operand.h"

namespace softamp::reproduce {
namespace {

/// Sums as multiples of the addend's quantum.
class Whole {
 public:
  Whole(const FloatFormat& f, RoundingMode mode, uint64_t addend) : precision_(f.precision), mode_(mode), a_(addend) {}

  /// Bits that the sum of n and the addend discards.
  int discarded(uint64_t n) const { return std::max(0, static_cast<int>(std::bit_width(n + a_)) - precision_); }
  uint64_t add(uint64_t n) const {
    const int d = discarded(n);
    const uint64_t exact = n + a_, quantum = uint64_t{1} << d, rest = exact & (quantum - 1), kept = exact >> d;
    return (kept + goes_up(kept, rest, quantum)) << d;
  }
  /// The sums whose addition discards as much as that of n end below this.
  uint64_t end_of_binade(uint64_t n) const { return (uint64_t{1} << (precision_ + discarded(n))) - a_; }

 private:
  bool goes_up(uint64_t kept, uint64_t rest, uint64_t quantum) const {
    switch (mode_) {
      case RoundingMode::kNearestEven: return 2 * rest > quantum || (2 * rest == quantum && kept % 2 != 0);
      case RoundingMode::kNearestAway: return rest != 0 && 2 * rest >= quantum;
      case RoundingMode::kOdd: return rest != 0 && kept % 2 == 0;
      default: return false;
    }
  }
  int precision_;
  RoundingMode mode_;
  uint64_t a_;
};

}  // namespace

Stop predicted_stop(const FloatFormat& format, RoundingMode mode, uint64_t addend, uint64_t start) {
  if (mode == RoundingMode::kUp || mode == RoundingMode::kStochastic)
    throw std::invalid_argument(
        "rounding " + name_of(mode) +
        " in stagnation: expected nearest, nearest-away, zero, down or odd; others need not stop");
  Stop stop;
  if (format.is_zero(addend)) {
    stop.sum = value_of(format, start);
    return stop;
  }
  const Exact a = detail::unpack_finite(format, addend), s = detail::unpack_finite(format, start);
  const Whole whole(format, mode, a.significand);
  const double quantum = std::ldexp(1.0, a.exponent), most = value_of(format, format.max_finite_code());
  uint64_t n = s.significand == 0 ? 0 : s.significand << (s.exponent - a.exponent);
  int alike = 0;  // additions so far that discard as many bits as the one before
  for (;;) {
    const uint64_t next = whole.add(n);
    if (next == n) {
      stop.sum = static_cast<double>(n) * quantum;
      stop.share = static_cast<double>(a.significand) * std::ldexp(1.0, -whole.discarded(n));
      return stop;
    }
    ++stop.additions;
    if (static_cast<double>(next) * quantum > most) {
      const bool nearest = mode == RoundingMode::kNearestEven || mode == RoundingMode::kNearestAway;
      if (nearest) {
        stop.overflows = true;
      } else {  // the other modes cut it back to the largest number
        stop.at_limit = true;
        stop.sum = most;
        stop.additions -= static_cast<double>(n) * quantum == most;
      }
      return stop;
    }
    alike = whole.discarded(next) == whole.discarded(n) ? alike + 1 : 0;
    n = next;
    // The first sum may be no multiple of the quantum yet, the second may be odd; from the third on, where ties have
    // made it even, all steps to the end of the binade are the same.
    if (alike < 3) continue;
    const uint64_t step = whole.add(n) - n, end = whole.end_of_binade(n);
    if (step == 0 || n >= end) continue;
    const uint64_t same = (end - 1 - n) / step;
    const double left = std::clamp(most / quantum - static_cast<double>(n), 0.0, 0x1p62);
    const uint64_t room = static_cast<uint64_t>(left) / step;
    n += std::min(same, room) * step;
    stop.additions += std::min(same, room);
  }
}

double stop_formula(const FloatFormat& format, uint64_t addend) {
  if (format.is_zero(addend)) return 0;
  const double a = value_of(format, addend);
  const double sum = std::ldexp(std::exp2(std::ceil(std::log2(a))), format.precision);
  return sum > value_of(format, format.max_finite_code()) ? std::numeric_limits<double>::infinity() : sum;
}

double stochastic_stop_formula(const FloatFormat& format, uint64_t addend, int random_bits) {
  if (format.is_zero(addend)) return 0;
  const double reach = std::ldexp(value_of(format, addend), random_bits);
  const double sum = std::ldexp(std::exp2(std::floor(std::log2(reach)) + 1), format.precision - 1);
  return sum > value_of(format, format.max_finite_code()) ? std::numeric_limits<double>::infinity() : sum;
}

}  // namespace softamp::reproduce
