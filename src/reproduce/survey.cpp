#include "src/reproduce/survey.h"

#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace softamp::reproduce::survey {

std::vector<FloatFormat> narrow_formats(const Request& request, const std::string& experiment,
                                        const std::vector<FloatFormat>& usual, int exponent) {
  const std::vector<FloatFormat>& formats = request.formats.empty() ? usual : request.formats;
  for (const FloatFormat& f : formats) {
    if (!f.valid() || f.storage_bits() > 16)
      throw std::invalid_argument(experiment + ": format " + format_name(f) + ": expected one of at most 16 bits");
    if (f.max_exponent() < exponent)
      throw std::invalid_argument(experiment + ": format " + format_name(f) + ": expected one whose numbers reach 2^" +
                                  std::to_string(exponent) + ", which the sums need");
  }
  return formats;
}

int random_bits_of(const Request& request, const std::string& experiment, int usual) {
  const int bits = request.bits.value_or(usual);
  if (bits < 1 || bits > 32)
    throw std::invalid_argument(experiment + ": " + std::to_string(bits) + " random bits: expected 1..32");
  return bits;
}

Json names_of(const std::vector<FloatFormat>& formats) {
  Json names = Json::array();
  for (const FloatFormat& f : formats) names.push_back(format_name(f));
  return names;
}

uint32_t operation_of(const FloatFormat& format, uint32_t kind) {
  const uint32_t shape = static_cast<uint32_t>(format.exponent_bits) << 5 | static_cast<uint32_t>(format.precision);
  return shape << 8 | static_cast<uint32_t>(format.specials) << 4 | kind;
}

std::vector<uint64_t> log_spaced(double from, double to, int count) {
  std::vector<uint64_t> places;
  for (int i = 0; i < count; ++i)
    places.push_back(static_cast<uint64_t>(std::llround(from * std::pow(to / from, i / (count - 1.0)))));
  return places;
}

double nearest_roundoff(const FloatFormat& format) { return std::ldexp(1.0, -format.precision); }
double stochastic_roundoff(const FloatFormat& format) { return std::ldexp(1.0, 1 - format.precision); }

double deterministic_bound(double n, double u) { return bound_tells(n, u) ? n * u / (1 - n * u) : 1; }
bool bound_tells(double n, double u) { return n * u < 0.5; }
double root_bound(double n, double u) { return std::min(1.0, std::sqrt(n) * u); }
double lambda_for(double n, double chance) { return std::sqrt(2 * std::log(2 * n / chance)); }

double quantum_at(const FloatFormat& format, double x) {
  const int top = x == 0 ? format.min_exponent() : std::max(std::ilogb(std::abs(x)), format.min_exponent());
  return std::ldexp(1.0, top - format.mantissa_bits());
}

double RoundingVariance::operator()(double exact) const {
  if (exact == 0) return 0;
  const double quantum = quantum_at(format_, exact), below = std::fmod(exact, quantum);
  return below * (quantum - below);
}

std::string six_digits(double value) { return significant_digits(value, 6); }

Json cell(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Check judged(std::string what, Against against, std::string ours, std::string theirs, bool agrees) {
  return {std::move(what), against, std::move(ours), std::move(theirs), agrees};
}

}  // namespace softamp::reproduce::survey
