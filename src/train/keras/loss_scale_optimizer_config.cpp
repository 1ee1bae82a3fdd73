// The configuration of Keras' LossScaleOptimizer, to and from JSON.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/train/keras/loss_scale_optimizer.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

using Json = nlohmann::ordered_json;

struct Field {
  const char* name;
  double OptimizerOptions::*member;
};
constexpr std::array kFields = {Field{"learning_rate", &OptimizerOptions::learning_rate},
                                Field{"momentum", &OptimizerOptions::momentum},
                                Field{"rho", &OptimizerOptions::rho},
                                Field{"beta_1", &OptimizerOptions::beta1},
                                Field{"beta_2", &OptimizerOptions::beta2},
                                Field{"epsilon", &OptimizerOptions::epsilon},
                                Field{"weight_decay", &OptimizerOptions::weight_decay}};

[[noreturn]] void refuse_config(const std::string& text) { throw std::invalid_argument("LossScaleOptimizer: " + text); }

std::string shown(const Json& value) {
  return files::excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

KerasOptimizer inner_of(const Json& json) {
  const auto kind = json.is_object() ? json.find("class_name") : json.end();
  const auto config = json.is_object() ? json.find("config") : json.end();
  if (!json.is_object() || json.size() != 2 || kind == json.end() || config == json.end() || !kind->is_string() ||
      !config->is_object() || *kind == KerasFamily::kWrapper)
    throw std::invalid_argument("\"inner_optimizer\" must be an instance of OptimizerV2, but got: " + shown(json));
  KerasOptimizer inner{OptimizerOptions::of(parse_optimizer(kind->get_ref<const std::string&>()))};
  for (const auto& [key, value] : config->items()) {
    const Field* field = nullptr;
    for (const Field& f : kFields)
      if (key == f.name) field = &f;
    if (!field)
      refuse_config("inner_optimizer has no hyperparameter '" + files::excerpt(key) + "'" +
                    graph_detail::nearest_of(key, kFields, &Field::name));
    if (!value.is_number()) refuse_config("inner_optimizer: " + key + " is " + shown(value) + "; expected a number");
    inner.options.*field->member = value.get<double>();
  }
  return inner;
}

}  // namespace

std::string LossScaleOptimizer::get_config() const {
  const engine::DefaultEnvironment guard;
  const OptimizerOptions& o = inner_optimizer().options;
  Json inner = Json::object();
  for (const Field& field : kFields) inner[field.name] = o.*field.member;
  const LossScaleOptions& scale = loss_scale().options();
  if (scale.rule)
    refuse_config("the loss scale '" + scale.name +
                  "' moves by a rule of the user's own, which no configuration holds; expected one of Keras'");
  const Json json{{"inner_optimizer", {{"class_name", name_of(o.kind)}, {"config", inner}}},
                  {"dynamic", scale.dynamic},
                  {"initial_scale", scale.initial},
                  {"dynamic_growth_steps", scale.dynamic ? Json(scale.window) : Json()}};
  return json.dump();
}

LossScaleOptimizer LossScaleOptimizer::from_config(std::string_view text) {
  const engine::DefaultEnvironment guard;
  constexpr int kDeepest = 16;
  const Json json = read_json(text, "LossScaleOptimizer", {kMostWrittenBytes, kDeepest});
  if (!json.is_object()) refuse_config("the configuration is " + shown(json) + "; expected an object");
  static const std::array<const char*, 4> kKeys = {"inner_optimizer", "dynamic", "initial_scale",
                                                   "dynamic_growth_steps"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      refuse_config("unknown key '" + files::excerpt(key) + "'" + graph_detail::nearest_of(key, kKeys));
  }
  const KerasOptimizer inner = inner_of(json.contains("inner_optimizer") ? json["inner_optimizer"] : Json());
  KerasLossScale arguments;
  if (json.contains("dynamic")) {
    const Json& dynamic = json["dynamic"];
    if (!dynamic.is_boolean())
      throw std::invalid_argument("\"dynamic\" argument to LossScaleOptimizer.__init__ must be a bool, but got: " +
                                  shown(dynamic));
    arguments.dynamic = dynamic.get<bool>();
  }
  if (json.contains("initial_scale") && !json["initial_scale"].is_null()) {
    const Json& scale = json["initial_scale"];
    if (!scale.is_number()) refuse_config("initial_scale is " + shown(scale) + "; expected a number or null");
    arguments.initial_scale = scale.get<double>();
  }
  if (json.contains("dynamic_growth_steps") && !json["dynamic_growth_steps"].is_null()) {
    const Json& steps = json["dynamic_growth_steps"];
    const auto number = whole_number_in<int64_t>(steps);
    if (!number) refuse_config("dynamic_growth_steps is " + shown(steps) + "; expected an integer or null");
    arguments.dynamic_growth_steps = *number;
  }
  return LossScaleOptimizer(inner, arguments);
}

}  // namespace softamp
