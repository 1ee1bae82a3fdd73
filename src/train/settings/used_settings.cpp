#include "src/train/settings/used_settings.h"

#include <nlohmann/json.hpp>

#include "softamp/machine/float_environment.h"
#include "softamp/precision/loss_scale.h"
#include "src/text/read_json.h"
#include "src/train/json_number.h"
#include "src/train/run/run_data.h"

namespace softamp::train_detail {

namespace {
using Json = nlohmann::ordered_json;
}  // namespace

std::set<DType> trained_dtypes(const TrainSettings& settings) {
  TrainSettings one = settings;
  one.batch_size = 1;  // no variable depends on it
  std::set<DType> dtypes;
  for (const VariableSpec& v : model_of(one, find_network(one.network)).variables)
    if (v.trainable) dtypes.insert(v.type.dtype);
  return dtypes;
}

std::string used_settings(const TrainSettings& settings, const std::set<DType>& variables) {
  const engine::DefaultEnvironment guard;
  TrainerOptions options = settings.trainer_options();
  options.optimizer.strict = false;  // what strictness refuses, the run itself says
  const Optimizer optimizer(options.optimizer);
  const bool folded = options.loss_scale.unscale == Unscale::kFoldedIntoRate;
  const double divisor = folded ? LossScale(options.loss_scale).scale() : 1.0;
  Json all = Json::array();
  for (const DType dtype : variables) {
    const DType rounded_to = options.optimizer.hyperparameters.value_or(dtype);
    Json used;
    used["variables"] = name_of(dtype);
    const auto slots = optimizer.slots({"", {dtype, {}}, {}, true});
    if (slots.size() > (options.optimizer.weight_update == WeightUpdate::kKahan ? 1 : 0))
      used["optimizer_state"] = name_of(slots[0].type.dtype);
    used["hyperparameters"] = name_of(rounded_to);
    if (options.accumulation > 1 && !options.replica_invariant)
      used["accumulation_dtype"] = settings.accumulation_dtype.value_or(name_of(dtype));
    used["learning_rate"] =
        json_number(check_hyperparameter("learning_rate", optimizer.rate(1, divisor), rounded_to).got);
    if (options.optimizer.schedule.varies() || settings.learning_rate_schedule != "constant") {
      used["highest_learning_rate"] =
          json_number(check_hyperparameter("learning_rate", options.optimizer.learning_rate / divisor, rounded_to).got);
      used["learning_rate_schedule"] = settings.learning_rate_schedule;
    }
    for (const HyperparameterCheck& c : optimizer.check(dtype, divisor))
      if (c.name != "learning_rate" && c.of == CheckedQuantity::kHyperparameter) used[c.name] = json_number(c.got);
    all.push_back(used);
  }
  return all.dump();
}

std::string used_settings(const TrainSettings& settings) { return used_settings(settings, trained_dtypes(settings)); }

std::string changed_settings(const TrainSettings& settings) {
  TrainSettings usual;  // what null stands for follows from these
  usual.network = settings.network;
  usual.precision = settings.precision;
  usual.optimizer = settings.optimizer;
  usual.mechanism = settings.mechanism;
  usual.chip = settings.chip;
  const Json all = read_json(settings.to_json()), defaults = read_json(TrainSettings{}.to_json());
  const Json spelled_out = read_json(usual.spelled_out().to_json()), chosen = read_json(usual.to_json());
  const auto is = [](const Json& object, const std::string& key, const Json& value) {
    return object.contains(key) && object[key] == value;
  };
  std::string text;
  for (const auto& [key, value] : all.items()) {
    const bool chooses = chosen.contains(key) && !is(defaults, key, chosen[key]);
    if (key == "program" || is(defaults, key, value) || (!chooses && is(spelled_out, key, value))) continue;
    text += (text.empty() ? "" : ", ") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text.empty() ? "the defaults" : text;
}

}  // namespace softamp::train_detail
