// Compiled instead of src/numbers/number_text_decimal.cpp if Boost is missing.
#include "softamp/machine/float_environment.h"
#include "src/minimal/shortest_decimal.h"

namespace softamp {

std::string shortest_decimal(const FloatFormat& format, uint64_t code) {
  const engine::DefaultEnvironment guard;
  if (format.is_nan(code)) return "nan";
  const std::string sign = code & format.sign_mask() ? "-" : "";
  if (format.is_infinity(code)) return sign + "inf";
  return sign + (format.is_zero(code) ? "0" : minimal::shortest_positive(format, code & ~format.sign_mask()));
}

}  // namespace softamp
