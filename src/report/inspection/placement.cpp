#include "src/report/inspection/placement.h"

#include <algorithm>
#include <cmath>

#include "src/report/numbers/decimal_text.h"

namespace softamp::detail {
namespace {

constexpr uint64_t kHalf = uint64_t{1} << 63;

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

std::string Placement::fraction() const {
  if (split.rest == 0) return "0";
  const int zeros = __builtin_ctzll(split.rest);
  if (zeros >= 48) return std::to_string(split.rest >> zeros) + "/" + std::to_string(uint64_t{1} << (64 - zeros));
  return significant_digits(std::ldexp(static_cast<double>(split.rest), -64), 10);
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
