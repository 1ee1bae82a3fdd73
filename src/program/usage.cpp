#include "src/program/usage.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "src/numbers/decimal_text.h"

namespace softamp::program {

uint64_t parse_whole(const std::string& place, const std::string& text, uint64_t least, uint64_t greatest) {
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char* const first = text.data() + (hexadecimal ? 2 : 0);
  const char* const last = text.data() + text.size();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != last || value < least || value > greatest)
    throw UsageError(place + ": '" + text + "': expected a whole number in " + std::to_string(least) + ".." +
                     std::to_string(greatest));
  return value;
}

double parse_nonnegative(const std::string& place, const std::string& text) {
  const std::optional<double> value = number_of_decimal(text);
  if (!value || !(*value >= 0) || std::isinf(*value))
    throw UsageError(place + ": '" + text + "': expected a number, 0 or more");
  return *value;
}

}  // namespace softamp::program
