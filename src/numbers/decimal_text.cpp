#include "src/numbers/decimal_text.h"

#include <cerrno>
#include <charconv>
#include <clocale>
#include <cstdlib>
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
  const auto [end, error] = read_double(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::from_chars_result read_double(const char* begin, const char* end, double& value) {
#if defined(__cpp_lib_to_chars) || !defined(_LIBCPP_VERSION)
  return std::from_chars(begin, end, value);
#else
  // strtod also takes blanks, a plus sign and hexadecimal numbers.
  const char* const first = begin + (begin != end && *begin == '-');
  const bool hexadecimal = end - first > 1 && *first == '0' && (first[1] | 0x20) == 'x';
  if (first == end || *first == '+' || *first == '-' || *first == ' ' || (*first >= '\t' && *first <= '\r'))
    return {begin, std::errc::invalid_argument};
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string text(begin, hexadecimal ? first + 1 : end);
  char* rest = nullptr;
  errno = 0;
  const double read = ::strtod_l(text.c_str(), &rest, plain);
  if (rest == text.c_str()) return {begin, std::errc::invalid_argument};
  const char* const after = begin + (rest - text.c_str());
  if (errno == ERANGE && (read == 0 || read - read != 0)) return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc{}};
#endif
}

}  // namespace softamp
