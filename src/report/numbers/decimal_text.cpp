#include "src/report/numbers/decimal_text.h"

#include <charconv>
#include <system_error>

namespace softamp {
namespace {

constexpr int kRoom = 350;  // the largest double has 309 digits before the point

std::string with_places(double value, int count, std::chars_format form) {
  if (value != value) return "nan";
  std::string text(static_cast<size_t>(kRoom + count), '\0');
  text.resize(
      static_cast<size_t>(std::to_chars(text.data(), text.data() + text.size(), value, form, count).ptr - text.data()));
  return text;
}

}  // namespace

std::string significant_digits(double value, int count) {
  char text[kRoom];
  return {text, std::to_chars(text, text + kRoom, value, std::chars_format::general, count).ptr};
}

std::string fixed_places(double value, int count) { return with_places(value, count, std::chars_format::fixed); }

std::string scientific_places(double value, int count) {
  return with_places(value, count, std::chars_format::scientific);
}

std::string signed_places(double value, int count) {
  const std::string text = fixed_places(value, count);
  return text[0] == '-' ? text : "+" + text;
}

std::string round_trip_text(double value) {
  char text[kRoom];
  return {text, std::to_chars(text, text + kRoom, value).ptr};
}

std::optional<double> number_of_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace softamp
