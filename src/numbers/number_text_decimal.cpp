// Decimal digits of numbers, exactly and shortest, by integers without limits.
#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"

#include "src/numbers/dyadic.h"

#include <charconv>
#include <cmath>

namespace softamp {
namespace {

using boost::multiprecision::cpp_int;

cpp_int power_of_ten(int n) { return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(n)); }

/// The digits of n >= 0. (cpp_int's own text has separators if the global locale has.)
std::string digits_of(cpp_int n) {
  constexpr size_t kBlock = 18;
  static const cpp_int kBelow = power_of_ten(kBlock);
  std::string text;
  for (;;) {
    const std::string block = std::to_string(static_cast<uint64_t>(cpp_int(n % kBelow)));
    n /= kBelow;
    if (n == 0) return block + text;
    text.insert(0, std::string(kBlock - block.size(), '0') + block);
  }
}

/// digits * 10^-places, places >= 0, written plainly without trailing zeros.
std::string write_plain(std::string digits, int places) {
  const size_t width = static_cast<size_t>(places);
  if (digits.size() <= width) digits.insert(0, width + 1 - digits.size(), '0');
  std::string fraction = digits.substr(digits.size() - width);
  digits.resize(digits.size() - width);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return fraction.empty() ? digits : digits + "." + fraction;
}

/// digits * 10^-places as d.ddde+xx; the digits are the fewest, so the last is not 0.
std::string write_scientific(std::string digits, int places) {
  const int exponent = static_cast<int>(digits.size()) - 1 - places;
  if (digits.size() > 1) digits.insert(1, ".");
  return digits + "e" + (exponent < 0 ? "-" : "+") + (std::abs(exponent) < 10 ? "0" : "") +
         std::to_string(std::abs(exponent));
}

/// The positive numbers that round to one code to nearest even: from low to high, in quarters of 2^exponent.
struct Basin {
  cpp_int value, low, high;  ///< in units of 2^(exponent - 2)
  int exponent;
  bool closed;  ///< the ends belong to it

  Basin(const FloatFormat& format, const Exact& x) : exponent(x.exponent), closed((x.significand & 1) == 0) {
    value = cpp_int(x.significand) * 4;
    high = value + 2;
    const bool binade_edge = x.significand == format.min_normal_code() && x.exponent > format.min_quantum();
    low = value - (binade_edge ? 1 : 2);
  }

  /// The whole number closest to value * 10^places that, divided by 10^places, still lies inside; 0 if none does.
  cpp_int closest(int places) const {
    cpp_int up = 1, down = 1;  // value * up / down counts units of 10^-places
    (places >= 0 ? up : down) = power_of_ten(std::abs(places));
    const int shift = exponent - 2;
    (shift >= 0 ? up : down) <<= std::abs(shift);
    const cpp_int target = value * up, floor = target / down;
    const cpp_int twice_rest = 2 * (target - floor * down);
    const cpp_int nearer = floor + (twice_rest > down || (twice_rest == down && floor % 2 != 0) ? 1 : 0);
    const cpp_int other = nearer == floor ? cpp_int(floor + 1) : floor;
    for (const cpp_int& candidate : {nearer, other}) {
      const cpp_int scaled = candidate * down, least = low * up, most = high * up;
      if (closed ? scaled >= least && scaled <= most : scaled > least && scaled < most) return candidate;
    }
    return 0;
  }
};

std::string shortest_positive(const FloatFormat& format, const Exact& x) {
  const double approximate = std::ldexp(static_cast<double>(x.significand), x.exponent);
  const bool written_plainly = approximate >= 1e-4 && approximate < 1e17;
  const Basin basin(format, x);
  int places = written_plainly ? 0 : -static_cast<int>(std::floor(std::log10(approximate))) - 1;
  cpp_int digits = basin.closest(places);
  while (digits == 0) digits = basin.closest(++places);
  return written_plainly ? write_plain(digits_of(digits), places) : write_scientific(digits_of(digits), places);
}

/// The text of a code that is no number, or of a zero; empty for others.
std::string special(const FloatFormat& format, uint64_t code) {
  if (format.is_nan(code)) return "nan";
  const std::string sign = code & format.sign_mask() ? "-" : "";
  if (format.is_infinity(code)) return sign + "inf";
  return format.is_zero(code) ? sign + "0" : "";
}

}  // namespace

std::string detail::Dyadic::decimal() const {
  const std::string sign = number < 0 ? "-" : "";
  const cpp_int magnitude = abs(number);
  if (exponent >= 0) return sign + digits_of(magnitude << exponent);
  // n / 2^k = n 5^k / 10^k
  return sign + write_plain(digits_of(magnitude * pow(cpp_int(5), static_cast<unsigned>(-exponent))), -exponent);
}

double detail::Dyadic::to_double() const {
  const engine::DefaultEnvironment guard;
  const std::string text = decimal();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Beyond double's range from_chars does not change the value.
  if (error == std::errc::result_out_of_range) return number < 0 ? -HUGE_VAL : HUGE_VAL;
  return value;
}

std::string exact_decimal(const FloatFormat& format, uint64_t code) {
  const std::string text = special(format, code);
  return text.empty() ? detail::Dyadic::of(format, code).decimal() : text;
}

std::string shortest_decimal(const FloatFormat& format, uint64_t code) {
  const engine::DefaultEnvironment guard;
  const std::string text = special(format, code);
  if (!text.empty()) return text;
  const Exact x = detail::unpack_finite(format, code);
  return (x.negative ? "-" : "") + shortest_positive(format, x);
}

}  // namespace softamp
