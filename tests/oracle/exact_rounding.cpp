#include "tests/oracle/exact_rounding.h"

namespace oracle {
namespace {

/// floor(d 2^bits), d the fraction of the gap below x.
Big floor_of_fraction(const Gapped& g, const Real& x, int bits) {
  Big n = 0;
  for (int b = bits - 1; b >= 0; --b) {
    const Big candidate = n + (Big{1} << b);
    if (x(point(g, candidate, bits)) >= 0) n = candidate;
  }
  return n;
}

/// kAsIfNormal: `quantum` of 2^-r is what R counts, added to |x|, of which then the multiples of the gap are kept.
bool goes_up_with_source(const Gapped& g, const Real& x, const Dyadic& quantum, const RoundingPolicy& p,
                         uint32_t random) {
  const Big one = Big{1} << p.random_bits, number = Big{random} % one;
  const auto against = [&](const Big& added, int bits) { return x(g.high - quantum * Dyadic{added, -bits}); };
  switch (p.variant) {
    case StochasticVariant::kCarry: return against(number, p.random_bits) >= 0;
    case StochasticVariant::kAtLeast: return against(one - number, p.random_bits) >= 0;
    case StochasticVariant::kHalf: return against(2 * number + 1, p.random_bits + 1) >= 0;
    default: break;
  }
  // Between 2^n - R - 1 and 2^n - R units of R lies the tie, the latter as even as R.
  const int tie = against(2 * number + 1, p.random_bits + 1);
  return tie > 0 || (tie == 0 && number % 2 == (p.variant == StochasticVariant::kRne ? 0 : 1));
}

bool overflows(const FloatFormat& f, const Real& x, const Big& rounded, OverflowRule rule) {
  const Big greatest = greatest_code(f);
  const Dyadic most = magnitude_at(f, greatest), next = magnitude_at(f, greatest + 1);
  switch (rule) {
    case OverflowRule::kAfterRounding: return rounded > greatest;
    case OverflowRule::kExact: return x(most) > 0;
    case OverflowRule::kHalfway: return x((most + next) * Dyadic{1, -1}) >= 0;
    case OverflowRule::kPower: break;
  }
  int e = -400;
  while (compare({1, e}, most) <= 0) ++e;  // the first power of two above
  return x({1, e}) >= 0;
}

}  // namespace

uint64_t nan_of(const FloatFormat& f, NanPattern pattern) {
  const int sign_bit = f.exponent_bits + f.precision - 1;
  if (f.specials == Specials::kNegativeZeroNan) return uint64_t{1} << sign_bit;
  const uint64_t sign = uint64_t{pattern == NanPattern::kNegativeQuiet} << sign_bit;
  const uint64_t ones = (uint64_t{1} << sign_bit) - 1;
  if (f.specials == Specials::kIeee && pattern == NanPattern::kInfinity)
    return ones - ((uint64_t{1} << (f.precision - 1)) - 1);  // the exponent alone
  if (f.specials == Specials::kNone) return sign | ones;     // the largest number in its place
  if (f.specials == Specials::kNanOnly || pattern == NanPattern::kAllOnes) return sign | ones;
  return sign | (ones - ((uint64_t{1} << (f.precision - 2)) - 1));  // exponent and first fraction bit
}

Gapped neighbours(const FloatFormat& f, const Real& x) {
  Big below = 0, above = 1;
  while (x(magnitude_at(f, above)) >= 0) above *= 2;
  while (above - below > 1) {
    const Big middle = (below + above) / 2;
    (x(magnitude_at(f, middle)) >= 0 ? below : above) = middle;
  }
  const Dyadic low = magnitude_at(f, below);
  return {below, low, magnitude_at(f, above), x(low) == 0};
}

Dyadic point(const Gapped& g, const Big& numerator, int bits) {
  return g.low + (g.high - g.low) * Dyadic{numerator, -bits};
}

bool goes_up(const Gapped& g, const Real& x, bool negative, const RoundingPolicy& p, uint32_t random) {
  const bool at_least = p.stochastic() && p.variant == StochasticVariant::kAtLeast;
  if (g.on) return at_least && g.lower != 0 && Big{random} % (Big{1} << p.random_bits) == 0;
  const int against_middle = x(point(g, 1, 1));
  switch (p.mode) {
    case RoundingMode::kNearestEven: return against_middle > 0 || (against_middle == 0 && g.lower % 2 == 1);
    case RoundingMode::kNearestAway: return against_middle >= 0;
    case RoundingMode::kTowardZero: return false;
    case RoundingMode::kUp: return !negative;
    case RoundingMode::kDown: return negative;
    case RoundingMode::kOdd: return g.lower % 2 == 0;
    case RoundingMode::kStochastic: break;
  }
  const int r = p.random_bits;
  const Big one = Big{1} << r, number = Big{random} % one;
  if (p.variant == StochasticVariant::kHalf) return floor_of_fraction(g, x, r + 1) + 2 * number + 1 >= 2 * one;
  Big scaled = floor_of_fraction(g, x, r);
  if (p.variant == StochasticVariant::kAtLeast) return scaled >= number;
  if (p.variant != StochasticVariant::kCarry) {
    const int against_half = x(point(g, 2 * scaled + 1, r + 1));
    const int tie_moves_if = p.variant == StochasticVariant::kRne ? 1 : 0;  // parity from which a tie goes up
    if (against_half > 0 || (against_half == 0 && scaled % 2 == tie_moves_if)) ++scaled;
  }
  return scaled + number >= one;
}

/// The NaN of what overflows.
uint64_t nan_of_overflow(const FloatFormat& f, bool negative, const RoundingPolicy& p) {
  const bool keeps_sign = p.nan == NanPattern::kSigned && f.specials != Specials::kNegativeZeroNan;
  return keeps_sign ? with_sign(f, negative, nan_of(f, p.nan)) : nan_of(f, p.nan);
}

Rounded infinity_under(const FloatFormat& f, bool negative, const RoundingPolicy& p) {
  const bool kept = p.infinity == softamp::InfinityResult::kKeep;
  if (kept && f.specials == Specials::kIeee) return {with_sign(f, negative, greatest_code(f) + 1), 0};
  const auto flags = static_cast<uint8_t>(p.infinity_flags & p.flags);
  if (p.infinity == softamp::InfinityResult::kSaturate || f.specials == Specials::kNone)
    return {with_sign(f, negative, greatest_code(f)), flags};
  return {nan_of_overflow(f, negative, p), flags};
}

Rounded round_real(const FloatFormat& f, const Real& x, bool negative, const RoundingPolicy& p, uint32_t random) {
  const Gapped g = neighbours(f, x);
  FloatFormat unbounded = f;
  unbounded.bias += 5000;
  bool up;
  if (p.stochastic() && p.alignment == softamp::RandomAlignment::kAsIfNormal) {
    const Gapped fine = neighbours(unbounded, x);
    up = goes_up_with_source(g, x, fine.high - fine.low, p, random);
  } else {
    up = goes_up(g, x, negative, p, random);
  }
  Big rounded = g.lower + (up ? 1 : 0);
  if (overflows(f, x, rounded, p.overflow_rule)) {
    const auto flags = static_cast<uint8_t>(p.overflow_flags & p.flags);
    if (f.specials == Specials::kNone) return {with_sign(f, negative, greatest_code(f)), flags};
    if (p.overflow == Overflow::kNan) return {nan_of_overflow(f, negative, p), flags};
    const bool stops = p.mode == RoundingMode::kTowardZero || p.mode == RoundingMode::kOdd ||
                       (p.mode == RoundingMode::kUp && negative) || (p.mode == RoundingMode::kDown && !negative);
    if (stops || p.overflow == Overflow::kSaturate) return {with_sign(f, negative, greatest_code(f)), flags};
    if (f.specials == Specials::kIeee) return {with_sign(f, negative, greatest_code(f) + 1), flags};
    return {nan_of_overflow(f, negative, p), flags};
  }
  if (rounded > greatest_code(f)) rounded = greatest_code(f);  // a rule that looks at the exact value let it pass

  uint8_t flags = 0;
  const Dyadic least_normal{1, 1 - f.bias};
  if (!g.on || up) {
    flags = softamp::kInexact;
    if (x(least_normal) < 0) {  // tiny unless it rounds to the least normal number with an unbounded exponent
      const Gapped fine = neighbours(unbounded, x);
      const bool fine_up = goes_up(fine, x, negative, p, random);
      const bool before = p.tininess == softamp::Tininess::kBeforeRounding;
      if (before || compare(fine_up ? fine.high : fine.low, least_normal) < 0) flags |= softamp::kUnderflow;
    }
  }
  flags &= p.flags;
  if (p.subnormals != softamp::Subnormals::kKeep && compare(magnitude_at(f, rounded), least_normal) < 0)
    return {with_sign(f, negative && p.signed_zeros && p.subnormals == softamp::Subnormals::kFlush, 0), flags};
  return {with_sign(f, negative && (p.signed_zeros || rounded != 0), static_cast<uint64_t>(rounded)), flags};
}

Rounded round_value(const FloatFormat& f, const Dyadic& x, const RoundingPolicy& p, uint32_t random,
                    bool zero_negative) {
  if (x.sign() == 0) return {with_sign(f, zero_negative && p.signed_zeros, 0), 0};
  return round_real(f, exactly(x.magnitude()), x.sign() < 0, p, random);
}

}  // namespace oracle
