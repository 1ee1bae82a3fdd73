// StepResult as JSON, and the phases of a step.
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

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }
bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
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

std::string_view phase_of(std::string_view name) {
  if (begins(name, "gradients/") || begins(name, "accumulate/")) return "backward";
  if (begins(name, "scale/")) return "scale";
  if (begins(name, "unscale/")) return "unscale";
  if (begins(name, "update/") || begins(name, "clip/") || begins(name, "learning_rate/")) return "update";
  if (begins(name, "loss_fn/") || name == "loss") return "loss";
  if (ends(name, "_cast")) return "cast";
  return "forward";
}

}  // namespace softamp
