#include "src/train/settings/idle_settings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "softamp/machine/float_environment.h"
#include "softamp/precision/bias_start.h"
#include "src/graph/graph_use.h"
#include "src/train/run/run_data.h"

namespace softamp::train_detail {
namespace {

using graph_detail::ProductUse;

bool is_narrow(const std::optional<std::string>& dtype) {
  const std::optional<DType> known = dtype ? parse_dtype(*dtype) : std::nullopt;
  return known && size_of(*known) == 2;
}

bool computes_narrow(const TrainSettings& s) {
  const Precision p = s.precision_value();
  return size_of(p.compute) == 2 || size_of(p.parameters) == 2 || size_of(s.mechanism_value().low_dtype()) == 2;
}
bool has_narrow(const TrainSettings& s) {
  return computes_narrow(s) || is_narrow(s.optimizer_state) || is_narrow(s.accumulation_dtype);
}
/// Whose variables nothing rounds but to nearest (N441).
bool is_float64(const TrainSettings& s) {
  return s.precision_value().parameters == DType::kFloat64 || s.mechanism_value().low_dtype() == DType::kFloat64;
}
bool rounds(const TrainSettings& s) { return s.stochastic_rounding != "off" && has_narrow(s); }
/// Weights of float32 are updated stochastically with the usual number of bits (N246).
bool draws(const TrainSettings& s) {
  const bool narrow_weights =
      size_of(s.precision_value().parameters) == 2 || size_of(s.mechanism_value().low_dtype()) == 2;
  return rounds(s) || (s.weight_update == "stochastic" && narrow_weights);
}
bool has_replicas(const TrainSettings& s) { return s.replicas > 1; }
bool accumulates(const TrainSettings& s) { return s.accumulation > 1; }
bool has_state(const TrainSettings& s) {
  const OptimizerKind kind = parse_optimizer(s.optimizer);
  return kind != OptimizerKind::kSgd || s.weight_update == "kahan";
}

/// A setting that others may leave without effect.
struct Row {
  const char* key;
  bool (*asked)(const TrainSettings&);
  bool (*used)(const TrainSettings&);
  const char *why, *expected;
};
constexpr const char* kNoDraw = "no rounding is stochastic";
constexpr const char* kDraw = "'stochastic_rounding' on, or 'weight_update' stochastic, with 16 bits";
constexpr Row kRows[] = {
    {"validation_split", [](const TrainSettings& s) { return s.validation_split != TrainSettings().validation_split; },
     [](const TrainSettings& s) { return !s.generated; }, "generated images are made in two parts", "none"},
    {"stochastic_rounding", [](const TrainSettings& s) { return s.stochastic_rounding != "off"; }, has_narrow,
     "nothing has 16 bits", "a precision, or a mechanism, of 16 bits"},
    {"weight_update", [](const TrainSettings& s) { return s.weight_update == "stochastic"; },
     [](const TrainSettings& s) { return !is_float64(s); }, "float64 is rounded to nearest alone", "another precision"},
    {"separate_roundings", [](const TrainSettings& s) { return s.separate_roundings; },
     [](const TrainSettings& s) { return !is_float64(s); }, "float64 is rounded at every operation anyway",
     "another precision"},
    {"random_bits", [](const TrainSettings& s) { return s.random_bits != 0; }, draws, kNoDraw, kDraw},
    {"rounding_variant", [](const TrainSettings& s) { return s.rounding_variant != "carry"; }, draws, kNoDraw, kDraw},
    {"loss_in_float32", [](const TrainSettings& s) { return !s.loss_in_float32; }, computes_narrow,
     "the outputs have no 16 bits", "true, or a precision of 16 bits"},
    {"optimizer_state", [](const TrainSettings& s) { return s.optimizer_state.has_value(); }, has_state,
     "sgd keeps no state", "none, or another optimizer"},
    {"accumulation_dtype", [](const TrainSettings& s) { return s.accumulation_dtype.has_value(); }, accumulates,
     "an update has one micro-batch", "'accumulation' 2 or more"},
    {"accumulation_reduction", [](const TrainSettings& s) { return s.accumulation_reduction != "sum"; }, accumulates,
     "an update has one micro-batch", "'accumulation' 2 or more"},
    {"replica_reduction", [](const TrainSettings& s) { return s.replica_reduction != "mean"; },
     [](const TrainSettings& s) { return s.replicas > 1 || s.replica_invariant > 1; }, "there is one replica",
     "'replicas' 2 or more"},
    {"replica_drift", [](const TrainSettings& s) { return s.replica_drift; }, has_replicas, "there is one replica",
     "'replicas' 2 or more"},
    {"evaluate_every", [](const TrainSettings& s) { return s.evaluate_every != 0; },
     [](const TrainSettings& s) { return s.evaluate; }, "nothing is evaluated", "'evaluate' true"},
};

/// What of a network settings act on.
struct NetworkUse {
  std::vector<ProductUse> products;
  bool norms = false, biases = false;  ///< biases: that products may begin with
};

size_t count_of(const Graph& graph, std::string_view op) {
  size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op == op;
  return count;
}

std::optional<NetworkUse> use_of(const TrainSettings& settings) {
  TrainSettings one = settings;
  one.batch_size = 1;  // no operation depends on it
  NetworkUse use;
  try {
    const Model model = model_of(one, find_network(one.network));
    use.products = graph_detail::use_of(model.graph, one.trainer_options().executor).products;
    for (const Node& node : model.graph.nodes()) use.norms |= node.op.find("Norm") != std::string::npos;
    const Graph begun = start_with_bias(model.graph, std::vector<std::string>{model.logits, model.loss});
    use.biases = count_of(begun, "BiasAdd") != count_of(model.graph, "BiasAdd");
  } catch (const std::exception&) {  // the run says what is wrong
    return std::nullopt;
  }
  // A pass makes what it converts of 16 bits, and products of 8 bits sum in their own way.
  const Mechanism mechanism = settings.mechanism_value();
  if (mechanism.rewrites() && mechanism.low_dtype() == DType::kFloat16)
    for (ProductUse& p : use.products) {
      p.takes_half = true;
      p.half_partials = p.convolution ? settings.convolution_partials.value_or(settings.partials) == "half"
                                      : settings.matmul_partials.value_or(settings.partials) == "half";
    }
  return use;
}

/// The names under which settings have what graph/idle_products.h knows.
std::string key_of(std::string_view key) { return key == "block" ? "amp_block" : std::string(key); }

bool asks(const TrainSettings& s, std::string_view key) {
  const auto differs = [&](const std::optional<std::string>& own) { return own && *own != s.partials; };
  if (key == "accumulator") return s.accumulator != "ipu_model_a";
  if (key == "tensor_core_operands") return s.tensor_core_operands != "own";
  if (key == "partials") return s.partials != "float";
  if (key == "matmul_partials") return differs(s.matmul_partials);
  if (key == "convolution_partials") return differs(s.convolution_partials);
  return key == "block" && s.amp_block != 16;
}

/// The networks of cases, each made when it is asked for.
class Networks {
 public:
  explicit Networks(std::span<const TrainSettings> cases) : cases_(cases), known_(cases.size()) {}

  /// Those of the cases that ask for something; none where one of them cannot be made.
  template <typename Asks>
  std::optional<std::vector<NetworkUse>> of(Asks asks) {
    std::vector<NetworkUse> all;
    for (size_t i = 0; i < cases_.size(); ++i) {
      if (!asks(cases_[i])) continue;
      if (!known_[i]) known_[i] = use_of(cases_[i]);
      if (!*known_[i]) return std::nullopt;
      all.push_back(**known_[i]);
    }
    return all;
  }

 private:
  std::span<const TrainSettings> cases_;
  std::vector<std::optional<std::optional<NetworkUse>>> known_;
};

SettingFault fault_of(const std::string& key, std::string_view why) {
  return {key, "has no effect: " + std::string(why)};
}

SettingFault first_idle_of_network(std::span<const TrainSettings> cases) {
  Networks networks(cases);
  const auto spelled = [](std::string_view name, std::string_view value) {
    return name == "inner" ? std::string() : "'" + key_of(name) + "' " + std::string(value);
  };
  for (const std::string_view key :
       {"accumulator", "tensor_core_operands", "partials", "matmul_partials", "convolution_partials", "block"}) {
    const auto uses = networks.of([&](const TrainSettings& s) { return asks(s, key); });
    if (!uses || uses->empty()) continue;
    std::vector<ProductUse> products;
    for (const NetworkUse& use : *uses) products.insert(products.end(), use.products.begin(), use.products.end());
    const auto asked = [&](std::string_view name) { return name == key ? key_of(name) : std::string(); };
    if (const auto message = graph_detail::idle_product_setting({asked, spelled}, products))
      return fault_of(key_of(key), std::string_view(*message).substr(key_of(key).size() + 2));
  }
  for (const auto& [key, asked, used, why] :
       {std::tuple{"use_stable_statistics", &TrainSettings::use_stable_statistics, &NetworkUse::norms,
                   "the network has no norms; expected one of them"},
        {"bias_in_accumulator", &TrainSettings::bias_in_accumulator, &NetworkUse::biases,
         "no product of the network has a bias after it, in at most 32 bits; expected one"}}) {
    const auto uses = networks.of([member = asked](const TrainSettings& s) { return s.*member; });
    if (uses && !uses->empty() && std::ranges::none_of(*uses, used)) return fault_of(key, why);
  }
  return {};
}

}  // namespace

SettingFault first_idle_setting(std::span<const TrainSettings> cases) {
  const engine::DefaultEnvironment guard;
  for (const Row& row : kRows)
    if (std::ranges::any_of(cases, row.asked) &&
        std::ranges::none_of(cases, [&](const TrainSettings& s) { return row.asked(s) && row.used(s); }))
      return fault_of(row.key, std::string(row.why) + "; expected " + row.expected);
  return first_idle_of_network(cases);
}

}  // namespace softamp::train_detail
