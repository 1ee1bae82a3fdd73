// Numbers in hexadecimal.
#pragma once

#include <cstdint>
#include <string>

namespace softamp {

/// In lower case, with zeros in front to at least `digits` digits: "003c".
inline std::string hexadecimal(uint64_t value, int digits) {
  std::string text;
  for (; value != 0 || digits > 0; value >>= 4, --digits) text.insert(text.begin(), "0123456789abcdef"[value & 15]);
  return text;
}

}  // namespace softamp
