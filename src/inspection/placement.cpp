#include "src/inspection/placement.h"

#include <algorithm>
#include <cmath>

#include "src/numbers/decimal_text.h"

namespace softamp::detail {
namespace {

constexpr uint64_t kHalf = uint64_t{1} << 63;
constexpr uint64_t kJamFrom = uint64_t{1} << 58;  ///< of a significand whose bit 0 may stand for a tail (Exact)
constexpr int kFarOut = 2000;                     ///< the power of two that parsing puts in the place of such a number

}  // namespace

Placement::Placement(const FloatFormat& f, const Exact& x) : format(f), value(x) {
  const int zeros = countl_zero(x.significand);
  const int top = x.exponent - zeros + 63;  // 2^top <= |x| < 2^(top + 1)
  quantum = std::max(f.min_quantum(), top - f.mantissa_bits());
  split = split_at(x.significand << zeros, quantum - (x.exponent - zeros));
}

bool Placement::representable() const { return split.rest == 0 && !out_of_range() && !above_the_largest(); }

bool Placement::out_of_range() const {
  return quantum + format.mantissa_bits() > format.max_exponent() && (split.kept >> format.mantissa_bits()) != 0;
}

bool Placement::above_the_largest() const {
  if (out_of_range() || quantum + format.mantissa_bits() != format.max_exponent()) return false;
  const uint64_t largest = (format.max_finite_code() & format.mantissa_mask()) | format.min_normal_code();
  return split.kept > largest || (split.kept == largest && split.rest != 0);
}

bool Placement::far_out() const { return value.significand == 1 && std::abs(value.exponent) == kFarOut; }

std::string Placement::fraction() const {
  if (split.rest == 0) return "0";
  // The value's last bit weighs 2^last quanta, and may stand for a tail: then d is known to less than 2 of them.
  const int last = value.exponent - quantum;
  const bool tail = value.significand > kJamFrom && (value.significand & 1) != 0;
  const int zeros = __builtin_ctzll(split.rest);
  if (!tail && zeros >= 48)
    return std::to_string(split.rest >> zeros) + "/" + std::to_string(uint64_t{1} << (64 - zeros));
  const double d = split.kept == 0 ? std::ldexp(static_cast<double>(value.significand), last)
                                   : std::ldexp(static_cast<double>(split.rest), -64);
  if (far_out() || d < 0x1p-1000) return "less than 2^-1000";
  const int digits = tail && split.kept != 0 ? std::clamp(static_cast<int>((-last - 1) * 0.30103), 1, 10) : 10;
  const std::string text = significant_digits(d, digits);
  if (text != "0.5" && text != "1") return text;
  const bool one = text == "1", more = split.rest > kHalf && !one;
  const uint64_t distance = one ? 0 - split.rest : more ? split.rest - kHalf : kHalf - split.rest;
  const double off = std::ldexp(static_cast<double>(distance), -64), known = tail ? std::ldexp(2.0, last) : 0;
  return std::string(one ? "1" : "1/2") + (more ? " + " : " - ") +
         (off < 16 * known ? "less than " + significant_digits(off + known, 2) : significant_digits(off, 2));
}

std::string Placement::reason(const RoundingPolicy& policy) const {
  if (rounded(policy).flags & kOverflow) {
    switch (policy.mode) {
      case RoundingMode::kNearestEven:
      case RoundingMode::kNearestAway: return "overflow: at least half a quantum above the largest number";
      case RoundingMode::kTowardZero:
      case RoundingMode::kOdd: return "overflow: at least a quantum above the largest number, cut back to it";
      case RoundingMode::kUp:
      case RoundingMode::kDown:
        return (policy.mode == RoundingMode::kDown) == value.negative
                   ? "overflow: above the largest number"
                   : "overflow: at least a quantum above the largest number, cut back to it";
      case RoundingMode::kStochastic: return "overflow";
    }
  }
  const bool even = (split.kept & 1) == 0;
  switch (policy.mode) {
    case RoundingMode::kNearestEven:
      if (split.rest == kHalf) return even ? "a tie; k is even: stays" : "a tie; k is odd: goes up";
      return split.rest > kHalf ? "d > 1/2: goes up" : "d < 1/2: stays";
    case RoundingMode::kNearestAway:
      if (split.rest == kHalf) return "a tie: goes up";
      return split.rest > kHalf ? "d > 1/2: goes up" : "d < 1/2: stays";
    case RoundingMode::kTowardZero: return "d is dropped";
    case RoundingMode::kUp: return value.negative ? "negative: d is dropped" : "positive: d > 0 goes up";
    case RoundingMode::kDown: return value.negative ? "negative: d > 0 goes up in magnitude" : "positive: d is dropped";
    case RoundingMode::kOdd: return even ? "k is even: goes up" : "k is odd: stays";
    case RoundingMode::kStochastic: break;
  }
  return "by chance";
}

uint64_t Placement::ups(const RoundingPolicy& policy) const {
  // A larger random number never rounds up less (at-least: never more): the least one that does (does not) is found by
  // halving.
  const bool at_least = policy.variant == StochasticVariant::kAtLeast;
  const uint64_t numbers = uint64_t{1} << policy.random_bits;
  uint64_t low = 0, high = numbers;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (rounds_up(split, value.negative, policy, static_cast<uint32_t>(middle)) != at_least)
      high = middle;
    else
      low = middle + 1;
  }
  return at_least ? low : numbers - low;
}

}  // namespace softamp::detail
