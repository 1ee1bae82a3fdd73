#include "softamp/precision/policy.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

constexpr std::string_view kInferPolicy = "_infer";

/// A dtype under the names that TensorFlow's as_dtype takes: its own, and half, float, double.
std::optional<DType> tensorflow_dtype(std::string_view name) {
  const auto dtype = parse_dtype(name);
  if (dtype && (name == name_of(*dtype) || name == "half" || name == "float" || name == "double")) return dtype;
  return std::nullopt;
}

/// Dtypes of TensorFlow that softamp has no tensors of.
bool is_other_dtype(std::string_view name) {
  for (const std::string_view other :
       {"int8", "int16", "uint16", "uint32", "uint64", "int4", "uint4", "complex64", "complex128", "qint8", "qint16",
        "qint32", "quint8", "quint16", "float8_e4m3fn", "float8_e5m2", "resource", "variant"})
    if (name == other) return true;
  return false;
}

[[noreturn]] void refuse_removed(std::string_view name) {
  std::string text = "Policies ending in '_float32_vars' have been removed from TensorFlow.";
  if (name == "infer_float32_vars" || name == "infer_with_float32_vars")
    text += " Please use the 'mixed_float16' or 'mixed_bfloat16' policy instead.";
  else if (name == "float16_with_float32_vars")
    text += " Please use the 'mixed_float16' policy instead.";
  else if (name == "bfloat16_with_float32_vars")
    text += " Please use the 'mixed_bfloat16' policy instead.";
  throw std::invalid_argument(text + " Got policy name: '" + files::excerpt(name) + "'");
}

[[noreturn]] void refuse_json(const std::string& message) { throw std::invalid_argument("dtype policy: " + message); }

/// No configuration nests deeper than a few objects.
constexpr int kDeepest = 16;

Policy policy_of(const nlohmann::json& value, const char* place) {
  if (!value.is_string()) refuse_json(std::string(place) + " is " + value.type_name() + "; expected a string");
  return Policy(value.get_ref<const std::string&>());
}

}  // namespace

Policy::Policy(std::string_view name) : name_(name) {
  using enum DType;
  if (name.ends_with("_float32_vars")) refuse_removed(name);
  if (name == kInferPolicy) return;
  if (name == "mixed_float16" || name == "mixed_bfloat16") {
    compute_ = name == "mixed_float16" ? kFloat16 : kBFloat16;
    variable_ = kFloat32;
    return;
  }
  compute_ = variable_ = tensorflow_dtype(name);
  if (!compute_ && is_other_dtype(name))
    throw std::invalid_argument("policy " + name_ +
                                ": softamp has no tensors of this dtype of TensorFlow's; expected float16, bfloat16, "
                                "float32, float64, mixed_float16 or mixed_bfloat16");
  if (!compute_)
    throw std::invalid_argument("Cannot convert value " + files::excerpt(name) +
                                " to a mixed precision Policy. Valid policies include 'mixed_float16', "
                                "'mixed_bfloat16', and the name of any dtype such as 'float32'.");
}

Policy::Policy(DType dtype) : Policy(name_of(dtype)) {}

std::string Policy::to_json() const {
  if (!compute_) return "null";
  const std::string name = '"' + name_ + '"';  // an accepted name needs no escapes
  return is_mixed() ? R"({"class_name":"Policy","config":{"name":)" + name + "}}" : name;
}

Policy Policy::from_json(std::string_view text) {
  const auto json = read_json<nlohmann::json>(text, "dtype policy", {kMostWrittenBytes, kDeepest});
  if (json.is_null()) return Policy(kInferPolicy);
  if (json.is_string()) return policy_of(json, "it");
  if (!json.is_object()) refuse_json(std::string("it is ") + json.type_name() + "; expected a string, null or object");
  for (const auto& [key, value] : json.items())
    if (key != "class_name" && key != "config")
      refuse_json("unknown key '" + files::excerpt(key) + "'; expected class_name and config");
  const auto kind = json.find("class_name"), config = json.find("config");
  if (kind == json.end()) refuse_json("no class_name; expected \"Policy\"");
  if (*kind != "Policy" && *kind != "PolicyV1")
    refuse_json("class_name is " + files::excerpt(kind->dump(-1, ' ', true)) + "; expected \"Policy\"");
  if (config == json.end() || !config->is_object()) refuse_json("no object config; expected {\"name\": ...}");
  for (const auto& [key, value] : config->items())
    if (key != "name" && key != "loss_scale")
      refuse_json("unknown key config." + files::excerpt(key) + "; expected name");
  const auto name = config->find("name");
  if (name == config->end()) refuse_json("no config.name; expected a string");
  return policy_of(*name, "config.name");
}

LayerRule Policy::layer_rule() const {
  if (!compute_ || !is_floating(*compute_))
    throw std::invalid_argument("policy " + name_ +
                                " does not say what layers compute in; expected a mixed policy or a floating dtype");
  LayerPrecision all;
  all.compute = *compute_;
  all.variables = *variable_;
  all.reason = "policy " + name_;
  LayerPrecision batch_norm = all;
  if (*variable_ == DType::kFloat16 || *variable_ == DType::kBFloat16) {
    batch_norm.variables = DType::kFloat32;
    batch_norm.reason += ": variables of BatchNorm stay float32";
  }
  return [all, batch_norm](std::string_view kind, std::string_view) { return kind == "batch_norm" ? batch_norm : all; };
}

std::ostream& operator<<(std::ostream& out, const Policy& policy) { return out << text(policy); }

std::string text(const Policy& policy) { return "<Policy \"" + policy.name() + "\">"; }

}  // namespace softamp
