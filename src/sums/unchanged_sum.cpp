#include "src/sums/unchanged_sum.h"

#include <algorithm>
#include <cmath>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "src/numbers/decimal_text.h"

namespace softamp::detail {
namespace {

constexpr int kSpacingDigits = 3, kTermDigits = 6;

/// From the sum to its neighbour on the side of the term; beyond the largest number, as far as below it.
double spacing_at(const FloatFormat& f, uint64_t sum, double term) {
  const uint64_t magnitude = sum & f.magnitude_mask();
  const bool away = magnitude == 0 || std::signbit(term) == ((sum & f.sign_mask()) != 0);
  const uint64_t above = away && magnitude != f.max_finite_code() ? magnitude + 1 : magnitude;
  return value_of(f, above) - value_of(f, above - 1);
}

/// A power of two: whole ones to the last digit.
std::string spacing_text(double spacing) {
  return spacing < 1 ? significant_digits(spacing, kSpacingDigits) : shortest_decimal(spacing);
}

std::string term_text(const FloatFormat& f, double term) {
  const uint64_t code = fp::from_double(f, term);
  return value_of(f, code) == term ? shortest_decimal(f, code) : significant_digits(term, kTermDigits);
}

}  // namespace

std::string why_unchanged(const FloatFormat& f, const Semantics& semantics, uint64_t sum, double term) {
  const RoundingPolicy& p = semantics.rounding(f);
  const std::string what = term_text(f, term), at = shortest_decimal(f, sum);
  const double spacing = spacing_at(f, sum, term), size = std::abs(term);
  const std::string of_spacing = " the spacing " + spacing_text(spacing) + " at " + at;
  const uint64_t magnitude = sum & f.magnitude_mask();
  const bool grows = magnitude == 0 || std::signbit(term) == ((sum & f.sign_mask()) != 0);
  const bool at_limit = grows && magnitude == f.max_finite_code();
  const bool nearest = p.mode == RoundingMode::kNearestEven || p.mode == RoundingMode::kNearestAway;
  if (at_limit && (nearest ? size >= spacing / 2 : p.overflow == Overflow::kSaturate || size >= spacing))
    return at + " is the largest number of " + format_name(f) + ", where sums stay";
  switch (p.mode) {
    case RoundingMode::kNearestEven:
    case RoundingMode::kNearestAway:
      if (size < spacing / 2) return what + " is below half" + of_spacing;
      if (size == spacing / 2)
        return what + " is half" + of_spacing + ", and the tie goes to " + at +
               (p.mode == RoundingMode::kNearestEven ? ", which is even" : ", away from zero");
      break;
    case RoundingMode::kStochastic:
      if (grows && p.variant == StochasticVariant::kCarry && size < std::ldexp(spacing, -p.random_bits))
        return what + " is below 2^-" + std::to_string(p.random_bits) + " of" + of_spacing + ", too little for " +
               std::to_string(p.random_bits) + " random bits";
      if (size < spacing) return what + " is below" + of_spacing + ", and the random bits did not carry it";
      break;
    default:
      if (size < spacing) return what + " is below" + of_spacing + ", and rounding " + name_of(p.mode) + " cuts it off";
  }
  // An operand or a result that the preset flushes.
  return at + " + " + what + " becomes " + at;
}

}  // namespace softamp::detail
