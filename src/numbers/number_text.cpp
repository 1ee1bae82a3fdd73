#include "softamp/numbers/number_text.h"

#include "softamp/numerics/convert.h"

#include <cstdlib>
#include <stdexcept>

#include "src/text/hexadecimal.h"

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
  return format.is_nan(code) ? __builtin_nan("") : fp::to_double(format, code);
}

std::string hex_float(const FloatFormat& format, uint64_t code) {
  if (format.is_nan(code)) return "nan";
  const std::string sign = code & format.sign_mask() ? "-" : "";
  if (format.is_infinity(code)) return sign + "inf";
  if (format.is_zero(code)) return sign + "0x0p+0";
  // As C's "%a" writes the double, but with a point in every locale.
  const uint64_t bits = __builtin_bit_cast(uint64_t, value_of(format, code));
  const int field = static_cast<int>(bits >> 52 & 0x7FF), exponent = field ? field - 1023 : -1022;
  std::string digits;
  for (uint64_t rest = bits << 12; rest != 0; rest <<= 4) digits += "0123456789abcdef"[rest >> 60];
  return sign + (field ? "0x1" : "0x0") + (digits.empty() ? "" : "." + digits) + "p" + (exponent < 0 ? "-" : "+") +
         std::to_string(std::abs(exponent));
}

std::string code_text(const FloatFormat& format, uint64_t code) {
  return "0x" + hexadecimal(code, (format.storage_bits() + 3) / 4);
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
