// Flags and the place of each, in a line.
#pragma once

#include <string>

#include "softamp/numerics/status.h"

namespace softamp::test {

inline std::string flags_text(const FpStatus& s) {
  std::string text;
  for (int b = 0; b < kFlagCount; ++b)
    if (s.flags >> b & 1) text += std::to_string(b) + " at " + std::to_string(s.first_index[b]) + "; ";
  return text;
}

}  // namespace softamp::test
