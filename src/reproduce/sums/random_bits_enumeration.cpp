// Bias of stochastic rounding with few random bits, counted over every position and every random number.
//
// A position d = m 2^-D between two fp16 neighbours is an exact fp32 number; the emulated unit converts it under each
// R = 0 .. 2^r - 1, and how often it goes up is counted. The mean of (rounded - exact) is that count over 2^(D+r) less
// the mean position, (2^D - 1) / 2^(D+1): a rational number, without sampling and without an error.
#include "softamp/numerics/operations.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/random_bits_parts.h"

#include <cmath>
#include <numeric>

namespace softamp::reproduce::few_bits {
namespace {

/// The base of a position: k quanta of 2^exponent.
struct Place {
  bool negative;
  uint64_t k;
  int exponent;
};

/// How often the unit rounds up at one place.
int64_t times_up(const Place& place, const Semantics& semantics, int position_bits, int random_bits) {
  const uint64_t sign = place.negative ? kFp16.sign_mask() : 0;
  int64_t up = 0;
  for (uint64_t m = 0; m < uint64_t{1} << position_bits; ++m) {
    const double magnitude =
        std::ldexp(static_cast<double>(place.k << position_bits | m), place.exponent - position_bits);
    const uint64_t source = fp::from_double(kFp32, place.negative ? -magnitude : magnitude);  // exact
    const uint64_t below = sign | fp::from_double(kFp16, std::ldexp(static_cast<double>(place.k), place.exponent));
    for (uint32_t random = 0; random < uint32_t{1} << random_bits; ++random)
      up += static_cast<int64_t>(fp::convert(kFp32, kFp16, source, semantics, random).code - below);
  }
  return up;
}

}  // namespace

double Bias::value() const { return std::ldexp(static_cast<double>(numerator), -(position_bits + random_bits + 1)); }

std::string Bias::text() const {
  if (numerator == 0) return "0";
  const int64_t whole = int64_t{1} << (position_bits + random_bits + 1);
  const int64_t common = std::gcd(numerator, whole);
  return std::to_string(numerator / common) + "/" + std::to_string(whole / common);
}

Bias bias_of(StochasticVariant variant, int position_bits, int random_bits) {
  Semantics semantics = experiment_semantics(RoundingMode::kStochastic, random_bits);
  semantics.narrow.variant = variant;
  const int64_t positions = int64_t{1} << position_bits;
  const auto numerator = [&](const Place& place) {
    const int64_t up = times_up(place, semantics, position_bits, random_bits);
    return 2 * up - (positions - 1) * (int64_t{1} << random_bits);
  };
  Bias bias{variant, position_bits, random_bits, numerator({false, 1024, -10}), true};
  if (position_bits == 8)  // the other places only once: they take as long
    for (const Place& place : {Place{false, 1025, -10}, Place{true, 1536, 3}, Place{false, 5, -24}})
      bias.everywhere = bias.everywhere && numerator(place) == bias.numerator;
  return bias;
}

std::optional<int64_t> published_bias(const Bias& b) {
  const int64_t position = int64_t{1} << b.random_bits;  // 2^-(D+1)
  const int64_t random = int64_t{1} << b.position_bits;  // 2^-(r+1)
  switch (b.variant) {
    case StochasticVariant::kCarry:
      if (b.position_bits >= b.random_bits) return position - random;
      break;
    case StochasticVariant::kHalf:
      if (b.position_bits >= b.random_bits + 1) return position;
      break;
    case StochasticVariant::kRne: return 0;
    case StochasticVariant::kOdd:
    case StochasticVariant::kAtLeast: break;
  }
  return std::nullopt;
}

}  // namespace softamp::reproduce::few_bits
