// The fp16 oracle's idea of rounding: every fp16 value is an integer times 2^-24, so rounding is looking up a sorted
// table of integers and comparing with the middle of a gap. Nothing is unpacked, normalised, shifted or jammed.
#pragma once

#include <array>
#include <cstdint>

#include "softamp/numerics/rounding.h"
#include "softamp/numerics/status.h"

namespace oracle {

using softamp::RoundingMode;
__extension__ typedef unsigned __int128 Wide;

inline constexpr uint32_t kSign = 0x8000, kInfinity = 0x7C00, kMaxFinite = 0x7BFF, kNan = 0x7E00;
inline constexpr uint32_t kMinNormal = 0x0400;

/// Entry c is the magnitude of code c in units of 2^-24, made by counting: each run of 1024 codes steps by twice the
/// step of the run before, except that the first two (subnormals and the first binade) step by one.
/// Entry 0x7C00, 65536, is the value that would follow 65504 if the exponent had no upper bound.
struct Fp16Table {
  std::array<uint64_t, kInfinity + 1> value{};

  constexpr Fp16Table() {
    uint64_t v = 0, step = 1;
    for (uint32_t c = 0; c <= kInfinity; ++c) {
      value[c] = v;
      if (c % 1024 == 0 && c >= 2048) step *= 2;
      v += step;
    }
  }
};
inline constexpr Fp16Table kTable;

constexpr uint64_t magnitude(uint32_t code) { return kTable.value[code & 0x7FFF]; }
constexpr bool is_negative(uint32_t code) { return (code & kSign) != 0; }
constexpr bool is_nan(uint32_t code) { return (code & 0x7FFF) > kInfinity; }
constexpr bool is_signaling(uint32_t code) { return is_nan(code) && (code & 0x0200) == 0; }
constexpr bool is_infinite(uint32_t code) { return (code & 0x7FFF) == kInfinity; }
constexpr bool is_finite(uint32_t code) { return (code & 0x7FFF) < kInfinity; }
constexpr bool is_zero(uint32_t code) { return (code & 0x7FFF) == 0; }
/// A finite code's value in units of 2^-24.
constexpr int64_t signed_value(uint32_t code) {
  const auto m = static_cast<int64_t>(magnitude(code));
  return is_negative(code) ? -m : m;
}

/// Where a number lies in the gap above its lower neighbour.
enum class Gap : uint8_t { kOn, kBelowMiddle, kMiddle, kAboveMiddle };

constexpr Gap gap(Wide twice_x, Wide lower, Wide upper) {
  if (twice_x == 2 * lower) return Gap::kOn;
  const Wide sum = lower + upper;
  return twice_x < sum ? Gap::kBelowMiddle : twice_x == sum ? Gap::kMiddle : Gap::kAboveMiddle;
}

/// Where an exact magnitude lies among the fp16 values.
struct Place {
  uint32_t lower;  ///< the greatest table entry that is not above it; 0x7C00 for everything from 65536 up
  Gap where;       ///< its place in the gap above `lower`
  /// IEEE 754 calls a result tiny if, rounded with an unbounded exponent, it lies below 2^-14. That finer grid has
  /// one more value, 2^-14 - 2^-25, between the last subnormal and 2^-14; `fine` is the place in the gap above it,
  /// and kOn for everything not above it.
  Gap fine;
};

/// Finds the place of the magnitude numerator / denominator (in units of 2^-24), moving from a first guess: cheap
/// when a caller walks through magnitudes in order. Needs numerator < 2^120, denominator < 2^84.
inline Place place_near(uint32_t guess, Wide numerator, Wide denominator) {
  uint32_t k = guess;
  while (kTable.value[k] * denominator > numerator) --k;
  while (k < kInfinity && kTable.value[k + 1] * denominator <= numerator) ++k;
  if (k == kInfinity) return {k, kTable.value[k] * denominator == numerator ? Gap::kOn : Gap::kAboveMiddle, Gap::kOn};
  Place p{k, gap(2 * numerator, kTable.value[k] * denominator, kTable.value[k + 1] * denominator), Gap::kOn};
  if (k == kMinNormal - 1 && p.where == Gap::kAboveMiddle)  // in units of 2^-25: 2047 < x < 2048
    p.fine = gap(4 * numerator, 2047 * denominator, 2048 * denominator);
  return p;
}

/// The same by bisection, for single cases.
inline Place place(Wide numerator, Wide denominator) {
  uint32_t low = 0, high = kInfinity + 1;  // value[low] <= x < value[high], the latter if it exists
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (kTable.value[middle] * denominator <= numerator ? low : high) = middle;
  }
  return place_near(low, numerator, denominator);
}

/// The definition of the six deterministic modes, for a number of this sign in this place of its gap.
constexpr bool goes_away(RoundingMode mode, bool negative, Gap where, bool lower_is_odd) {
  switch (mode) {
    case RoundingMode::kNearestEven: return where == Gap::kAboveMiddle || (where == Gap::kMiddle && lower_is_odd);
    case RoundingMode::kNearestAway: return where == Gap::kAboveMiddle || where == Gap::kMiddle;
    case RoundingMode::kUp: return where != Gap::kOn && !negative;
    case RoundingMode::kDown: return where != Gap::kOn && negative;
    case RoundingMode::kOdd: return where != Gap::kOn && !lower_is_odd;
    default: return false;  // toward zero
  }
}

/// A code with the flags raised on the way to it.
struct Outcome {
  uint32_t code;
  uint32_t flags;
  constexpr bool operator==(const Outcome&) const = default;
};

/// IEEE 754: rounds the number of this sign at this place.
constexpr Outcome ieee_outcome(const Place& p, bool negative, RoundingMode mode,
                               softamp::Overflow overflow = softamp::Overflow::kInfinity) {
  const uint32_t sign = negative ? kSign : 0;
  const uint32_t rounded = p.lower + goes_away(mode, negative, p.where, p.lower & 1);
  if (rounded >= kInfinity) {
    const uint32_t flags = softamp::kOverflow | softamp::kInexact;
    if (overflow == softamp::Overflow::kNan) return {kNan, flags};
    // 754, 7.4: the directed modes that point at zero here stop at the largest finite number.
    const bool stops = mode == RoundingMode::kTowardZero || mode == RoundingMode::kOdd ||
                       (mode == RoundingMode::kUp && negative) || (mode == RoundingMode::kDown && !negative) ||
                       overflow == softamp::Overflow::kSaturate;
    return {sign | (stops ? kMaxFinite : kInfinity), flags};
  }
  uint32_t flags = 0;
  if (p.where != Gap::kOn) {
    const bool below = p.lower < kMinNormal;
    const bool reaches_normal = p.fine != Gap::kOn && goes_away(mode, negative, p.fine, true);
    flags = softamp::kInexact;
    if (below && !reaches_normal) flags |= softamp::kUnderflow;
  }
  return {sign | rounded, flags};
}

/// The IPU, nearest even: a rounded magnitude beyond 65504 saturates, or is NaN under nanoo (N49).
constexpr Outcome ipu_outcome(const Place& p, bool negative, bool nanoo) {
  const uint32_t rounded = p.lower + goes_away(RoundingMode::kNearestEven, negative, p.where, p.lower & 1);
  if (rounded <= kMaxFinite) return {(negative ? kSign : 0) | rounded, 0};
  if (nanoo) return {kNan, softamp::kOverflow | softamp::kInvalid};
  return {(negative ? kSign : 0) | kMaxFinite, softamp::kOverflow};
}

}  // namespace oracle
