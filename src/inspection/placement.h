// The position of an exact value among a format's numbers, and the result of each rounding, with the reason.
#pragma once

#include "softamp/numerics/round.h"

#include <string>

namespace softamp::detail {

/// A finite value that is not zero, as a rounding to `format` sees it: |x| = (kept + rest / 2^64) * 2^quantum.
struct Placement {
  FloatFormat format;
  Exact value;
  int quantum;
  Split split;

  Placement(const FloatFormat& format, const Exact& value);

  /// The value is a number of the format.
  bool representable() const;
  /// |x| >= 2^(max_exponent + 1): beyond every number of the format, under any rounding.
  bool out_of_range() const;
  /// |x| lies above the largest number, in the same binade.
  bool above_the_largest() const;
  /// `value` stands for any number so large, or so small, that formats and roundings make no difference: parsing keeps
  /// no digits of those (parse_number). |x| > 2^1300, or < 2^-1300.
  bool far_out() const;
  /// d as a fraction if it is short ("3/4"), else in decimal, as many digits as are known; never so that it seems to be
  /// 1/2 or 1 and is not ("1/2 + 1.2e-07").
  std::string fraction() const;

  /// The outcome under `policy`, a deterministic one.
  Rounded rounded(const RoundingPolicy& policy) const { return round_and_pack(format, value, policy); }
  /// Why: "d > 1/2", "a tie, and the lower is even", "overflows: ...".
  std::string reason(const RoundingPolicy& policy) const;

  /// How many of the 2^random_bits random numbers make a stochastic `policy` round away from zero.
  uint64_t ups(const RoundingPolicy& policy) const;
};

}  // namespace softamp::detail
