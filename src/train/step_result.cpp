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

/// Added by a pass over a finished graph, wherever it stands: "gradients/dense/MatMul_grad/MatMul-0-CastToFp32".
bool is_cast_of_pass(std::string_view name) {
  for (const char* word : {"-CastToFp16", "-CastToBf16", "-CastToFp32"})
    if (name.find(word, name.rfind('/') + 1) != std::string_view::npos) return true;
  return false;
}

/// Added while the network is built: "kernel_cast", "kernel_cast_1".
bool is_cast_of_layer(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string_view::npos && last + 1 < name.size() && name[last] == '_') name = name.substr(0, last);
  constexpr std::string_view kEnd = "_cast";
  return name.size() >= kEnd.size() && name.substr(name.size() - kEnd.size()) == kEnd;
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

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
  if (is_cast_of_pass(name)) return "cast";
  if (begins(name, "gradients/") || begins(name, "accumulate/")) return "backward";
  if (begins(name, "scale/")) return "scale";
  if (begins(name, "unscale/")) return "unscale";
  if (begins(name, "update/") || begins(name, "clip/") || begins(name, "learning_rate/")) return "update";
  if (begins(name, "loss_fn/") || name == "loss") return "loss";
  if (is_cast_of_layer(name)) return "cast";
  return "forward";
}

}  // namespace softamp
