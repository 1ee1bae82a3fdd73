#include "softamp/report/number_text.h"

#include "softamp/numerics/operand.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace softamp {

ParsedNumber number_from_text(const std::string& text) {
  const ParsedNumber number = parse_number(text);
  if (number.kind == ParsedNumber::Kind::kMalformed)
    throw std::invalid_argument("'" + text +
                                "' is not a number: expected decimal (1.5e-3), hexadecimal "
                                "(0x1.8p-10), inf or nan");
  return number;
}

double value_of(const FloatFormat& format, uint64_t code) {
  if (format.is_nan(code)) return std::nan("");
  const double sign = code & format.sign_mask() ? -1.0 : 1.0;
  if (format.is_infinity(code)) return sign * HUGE_VAL;
  if (format.is_zero(code)) return sign * 0.0;
  const Exact x = detail::unpack_finite(format, code);
  return sign * std::ldexp(static_cast<double>(x.significand), x.exponent);
}

std::string hex_float(const FloatFormat& format, uint64_t code) {
  const double value = value_of(format, code);
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(text, end);
}

std::string code_text(const FloatFormat& format, uint64_t code) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*llx", (format.storage_bits() + 3) / 4, static_cast<unsigned long long>(code));
  return text;
}

std::string code_fields(const FloatFormat& format, uint64_t code) {
  std::string text;
  for (int bit = format.storage_bits(); bit-- > 0;) {
    text += code >> bit & 1 ? '1' : '0';
    if (bit == format.storage_bits() - 1 || bit == format.mantissa_bits()) text += ' ';
  }
  return text;
}

}  // namespace softamp
