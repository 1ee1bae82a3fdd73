// StepResult as JSON.
#include <nlohmann/json.hpp>

#include <cmath>

#include "softamp/numerics/status.h"
#include "softamp/report/names.h"
#include "softamp/train/trainer.h"

namespace softamp {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinities; they are written as words.
Json number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

}  // namespace

std::string StepResult::json() const {
  Json j{{"step", step},
         {"loss", number(loss)},
         {"applied", applied},
         {"scale_before", scale_before},
         {"scale_after", scale_after},
         {"status", flag_names(status)},
         {"nonfinite", nonfinite},
         {"learning_rate", number(learning_rate)}};
  for (const auto& [name, count] : nonfinite_by_variable) j["nonfinite_by_variable"][name] = count;
  if (!weight_hashes.empty()) j["weight_hashes"] = weight_hashes;
  return j.dump();
}

}  // namespace softamp
