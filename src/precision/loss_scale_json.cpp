// LossScaleOptions as JSON.
#include <nlohmann/json.hpp>

#include "softamp/machine/float_environment.h"
#include "softamp/precision/loss_scale.h"

namespace softamp {
namespace {

constexpr const char* kUnscaleWords[] = {"divide", "reciprocal", "reciprocal_in_gradient_dtype", "folded_into_rate"};
constexpr const char* kOverflowWords[] = {"gradients", "status", "both"};

}  // namespace

std::string LossScaleOptions::to_json() const {
  const engine::DefaultEnvironment guard;
  validate();
  nlohmann::ordered_json json{{"name", name},
                              {"dynamic", dynamic},
                              {"initial", initial},
                              {"growth", growth},
                              {"backoff", backoff},
                              {"window", window},
                              {"min", min},
                              {"max", max},
                              {"clamp_at_max", clamp_at_max},
                              {"unbounded", unbounded},
                              {"max_consecutive", max_consecutive},
                              {"skip_overflowed", skip_overflowed},
                              {"count_skipped_steps", count_skipped_steps},
                              {"unscale", kUnscaleWords[static_cast<int>(unscale)]},
                              {"overflow_from", kOverflowWords[static_cast<int>(overflow_from)]},
                              {"histogram", histogram},
                              {"histogram_edge", histogram_edge},
                              {"histogram_threshold", histogram_threshold}};
  if (rule) json["rule"] = name;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace softamp
