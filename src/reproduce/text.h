// Numbers as the checks and tables of the experiments write them.
#pragma once

#include <cstdio>
#include <string>

namespace softamp::reproduce::text {

/// `count` (1 .. 17) significant digits, without trailing zeros: "0.0123457" of six.
inline std::string digits(double value, int count) {
  char out[64];
  std::snprintf(out, sizeof out, "%.*g", count, value);
  return out;
}

/// `count` (0 .. 17) places after the point: "1.50" of two; for values below 10^40.
inline std::string decimals(double value, int count) {
  char out[64];
  std::snprintf(out, sizeof out, "%.*f", count, value);
  return out;
}

}  // namespace softamp::reproduce::text
