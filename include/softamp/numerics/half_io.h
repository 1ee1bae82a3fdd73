// Streams for Half and BFloat16, apart from half.h so that device code and small units need no <iostream>.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "softamp/numerics/half.h"

namespace softamp {

/// Prints the value with the stream's format flags and precision; with std::setprecision(5) different halves print
/// differently.
template <FloatFormat F>
std::ostream& operator<<(std::ostream& out, ShortFloat<F> x) {
  return out << static_cast<float>(x);
}

/// Reads one blank-delimited number as `parse_number` does, rounded once to nearest even. Anything else sets failbit
/// and leaves `x` as it was.
template <FloatFormat F>
std::istream& operator>>(std::istream& in, ShortFloat<F>& x) {
  std::string text;
  if (!(in >> text)) return in;
  const ParsedNumber number = parse_number(text);
  if (number.kind == ParsedNumber::Kind::kMalformed)
    in.setstate(std::ios::failbit);
  else
    x = ShortFloat<F>::from_bits(static_cast<uint16_t>(to_code(F, number).code));
  return in;
}

}  // namespace softamp
