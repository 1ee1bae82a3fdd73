// Numbers of things in sentences: "1 bit", "2 bits".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace softamp {

inline std::string counted(int64_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

}  // namespace softamp
