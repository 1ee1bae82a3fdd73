// The shortest decimal of a number without integers of any length: tries C's digits until they read back as the number.
// The same text as the library's, except at some lower edges of binades: there a decimal on the other side may be
// shorter or closer, and only the library tries both sides.
#pragma once

#include <charconv>
#include <string>

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/decimal.h"

namespace softamp::minimal {

/// For a positive finite number.
inline std::string shortest_positive(const FloatFormat& format, uint64_t code) {
  const double value = value_of(format, code);
  const bool plain = value >= 1e-4 && value < 1e17;
  char room[400];
  for (int places = 0;; ++places) {
    const auto how = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const std::string text(room, std::to_chars(room, room + sizeof room, value, how, places).ptr);
    if (to_code(format, parse_number(text)).code == code) return text;
  }
}

}  // namespace softamp::minimal
