// StepResult as JSON.
#include <nlohmann/json.hpp>

#include <cmath>

#include "softamp/machine/float_environment.h"
#include "softamp/names/names.h"
#include "softamp/numerics/status.h"
#include "softamp/train/trainer.h"
#include "src/train/json_number.h"

namespace softamp {
namespace {

using Json = nlohmann::ordered_json;
using train_detail::json_number;

}  // namespace

std::string StepResult::json() const {
  const engine::DefaultEnvironment guard;
  Json j{{"step", step},
         {"loss", json_number(loss)},
         {"applied", applied},
         {"scale_before", scale_before},
         {"scale_after", scale_after},
         {"status", flag_names(status)},
         {"nonfinite", nonfinite},
         {"learning_rate", json_number(learning_rate)}};
  if (gradient_norm) j["gradient_norm"] = json_number(*gradient_norm);
  for (const auto& [name, count] : nonfinite_by_variable) j["nonfinite_by_variable"][name] = count;
  for (const LostUpdates& l : lost_updates)
    j["lost_updates"][l.variable] = {{"moving", l.moving}, {"lost", l.lost}, {"stochastic", l.stochastic}};
  if (replica_drift)
    j["replica_drift"] = {{"distance", json_number(replica_drift->distance)},
                          {"variable", replica_drift->variable},
                          {"replica", replica_drift->replica},
                          {"element", replica_drift->element}};
  if (!weight_hashes.empty()) j["weight_hashes"] = weight_hashes;
  return j.dump();
}

}  // namespace softamp
