// Doubles as decimal text with so many digits, as reports, notes and messages write them; in no locale but C's. The
// exact and the shortest decimals of any format are in number_text.h.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace softamp {

/// As printf's "%.*g", `count` significant digits (1 .. 17) without trailing zeros: "0.0123457" of six.
std::string significant_digits(double value, int count);

/// As "%.*f", `count` places (0 or more) after the point: "1.50" of two; a NaN of either sign is "nan".
std::string fixed_places(double value, int count);

/// "12.5 %".
inline std::string percent_text(double share) { return fixed_places(100 * share, 1) + " %"; }

/// "2^-24".
inline std::string power_of_two(int exponent) { return "2^" + std::to_string(exponent); }

/// As "%.*e": "1.50e-02" of two.
std::string scientific_places(double value, int count);

/// As fixed_places, with a sign before every number: "+1.50".
std::string signed_places(double value, int count);

/// The shortest text that reads back as the same double, with an exponent where that is shorter: "0.1", "1e+22".
std::string round_trip_text(double value);

/// The double that is nearest to a decimal number: "0.1", "-1e+22", and "inf", "-inf", "nan", as round_trip_text writes
/// them. None for another text, and for a number that is beyond double's range or rounds to 0.
std::optional<double> number_of_decimal(std::string_view text);

/// std::from_chars of a double, which libc++ has from version 20 on.
std::from_chars_result read_double(const char* begin, const char* end, double& value);

}  // namespace softamp
