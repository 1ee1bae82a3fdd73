// Numbers of any format as text: exact, shortest, hexadecimal, and their codes.
#pragma once

#include "softamp/numerics/decimal.h"
#include "softamp/numerics/format.h"

#include <cstdint>
#include <string>

namespace softamp {

/// Reads a number as parse_number does. Throws std::invalid_argument otherwise: "'1.2.3' is not a number: expected
/// decimal (1.5e-3), hexadecimal (0x1.8p-10), inf or nan".
ParsedNumber number_from_text(const std::string& text);

/// The value to its last digit: 0x3555 of fp16 is "0.333251953125". "inf", "-inf", "nan", "-0" where it is one.
std::string exact_decimal(const FloatFormat& format, uint64_t code);

/// The shortest decimal that rounds (to nearest even) to this code, the closest among equally short ones: "0.3333".
/// Written plainly from 1e-4 up to 1e17, else with an exponent. A whole number below 1e17 is written exactly.
std::string shortest_decimal(const FloatFormat& format, uint64_t code);
inline std::string shortest_decimal(double value) {
  return shortest_decimal(kBinary64, __builtin_bit_cast(uint64_t, value));
}

/// The value in C's hexadecimal notation: "0x1.554p-2".
std::string hex_float(const FloatFormat& format, uint64_t code);

/// The value as a double, which holds every format exactly.
double value_of(const FloatFormat& format, uint64_t code);

/// The code in hexadecimal, as many digits as the format's width takes: "0x3555".
std::string code_text(const FloatFormat& format, uint64_t code);

/// The code's fields in binary: "0 01101 0101010101".
std::string code_fields(const FloatFormat& format, uint64_t code);

}  // namespace softamp
