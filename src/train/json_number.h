// Numbers in the logs of training. JSON has neither NaN nor infinities; they are written as words.
#pragma once

#include <cmath>

#include <nlohmann/json.hpp>

namespace softamp::train_detail {

inline nlohmann::ordered_json json_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

}  // namespace softamp::train_detail
