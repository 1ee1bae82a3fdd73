// TensorStatistics as JSON.
#include <nlohmann/json.hpp>

#include "softamp/findings/statistics.h"
#include "softamp/machine/float_environment.h"

namespace softamp {

std::string TensorStatistics::json() const {
  const engine::DefaultEnvironment guard;
  nlohmann::ordered_json out;
  out["elements"] = elements;
  // JSON has no infinities: those are text.
  const auto number = [](double x) -> nlohmann::ordered_json {
    if (x - x == 0) return x;
    return x > 0 ? "inf" : "-inf";
  };
  out["minimum"] = number(minimum);
  out["maximum"] = number(maximum);
  out["zeros"] = zeros;
  out["subnormals"] = subnormals;
  out["saturated"] = saturated;
  out["infinities"] = infinities;
  out["nans"] = nans;
  nlohmann::ordered_json histogram = nlohmann::ordered_json::object();
  for (const auto& [exponent, count] : exponents) histogram[std::to_string(exponent)] = count;
  out["exponents"] = std::move(histogram);
  return out.dump();
}

}  // namespace softamp
