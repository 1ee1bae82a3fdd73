// IpuConfig as JSON: the tree of its attributes.
#include <nlohmann/json.hpp>

#include "softamp/graph/ipu_config.h"
#include "softamp/machine/float_environment.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

using OrderedJson = nlohmann::ordered_json;

void add_at(OrderedJson& tree, std::string_view name, OrderedJson value) {
  OrderedJson* node = &tree;
  for (size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1))
    node = &(*node)[std::string(name.substr(0, dot))];
  (*node)[std::string(name)] = std::move(value);
}

ConfigValue value_of(const std::string& name, const OrderedJson& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) {
    if (const auto number = whole_number_in<int64_t>(json)) return *number;
    throw std::invalid_argument(name + " is " + json.dump() + "; expected a whole number of 64 bits");
  }
  if (json.is_string()) return json.get<std::string>();
  PoplarOptions options;
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string())
        throw ConfigTypeError("Trying to set " + name + "['" + key + "'] to " + value.dump() +
                              ", but it must be of type str");
      options[key] = value.get<std::string>();
    }
    return options;
  }
  throw ConfigTypeError("Trying to set " + name + " to " + json.dump() + ", but it must be of type " +
                        IpuConfig::metadata(name).type);
}

void read_tree(IpuConfig& config, const std::string& name, const OrderedJson& json) {
  bool leaf = !json.is_object(), category = name.empty();
  for (const std::string& known : IpuConfig::names()) {
    leaf = leaf || known == name;
    category = category || known.starts_with(name + ".");
  }
  if (leaf) return config.set(name, value_of(name, json));
  if (!category) config.get(name);  // throws
  for (const auto& [key, value] : json.items()) read_tree(config, name.empty() ? key : name + "." + key, value);
}

}  // namespace

std::string IpuConfig::to_json() const {
  const engine::DefaultEnvironment guard;
  OrderedJson tree;
  for (const std::string& name : names())
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, StochasticRoundingBehaviour>)
            add_at(tree, name, name_of(v));
          else if constexpr (std::is_same_v<T, PoplarOptions>)
            add_at(tree, name, v.empty() ? OrderedJson::object() : OrderedJson(v));
          else
            add_at(tree, name, v);
        },
        get(name));
  return tree.dump(2);
}

IpuConfig IpuConfig::from_json(std::string_view text) {
  const engine::DefaultEnvironment guard;
  IpuConfig config;
  const OrderedJson tree = read_json(text, "config", {kMostWrittenBytes});
  if (!tree.is_object()) throw std::invalid_argument("config: expected a JSON object, got " + tree.dump());
  read_tree(config, "", tree);
  return config;
}

}  // namespace softamp
