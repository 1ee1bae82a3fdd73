// The kinds of layers that a network file may name: one row each, with its options and the function that adds it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/train/variable.h"

namespace softamp::network_detail {

/// The largest extent or count: no network that fits a machine has a larger one.
inline constexpr double kMostExtent = 1 << 24;

struct LayerSpec;
using Layers = std::vector<LayerSpec>;
/// Of an option; the last two hold the layers of a path, and those of several.
using Value = std::variant<int64_t, double, bool, std::string, Initializer, Layers, std::vector<Layers>>;

struct LayerType;
/// A layer of a file, with all its options: those left out have their usual values.
struct LayerSpec {
  const LayerType* type = nullptr;
  std::string place;  ///< "net.json: layers[3]"
  std::string name;   ///< "": the layer's default name
  std::map<std::string, Value, std::less<>> values;

  int64_t whole(std::string_view option) const { return std::get<int64_t>(value(option)); }
  double number(std::string_view option) const { return std::get<double>(value(option)); }
  bool truth(std::string_view option) const { return std::get<bool>(value(option)); }
  const std::string& word(std::string_view option) const { return std::get<std::string>(value(option)); }
  const Initializer& initializer(std::string_view option) const { return std::get<Initializer>(value(option)); }
  const Layers& layers(std::string_view option) const { return std::get<Layers>(value(option)); }
  const std::vector<Layers>& branches(std::string_view option) const {
    return std::get<std::vector<Layers>>(value(option));
  }

 private:
  const Value& value(std::string_view option) const { return values.find(option)->second; }
};

enum class OptionKind : uint8_t { kWhole, kNumber, kTruth, kWord, kInitializer, kLayers, kBranches };

struct OptionType {
  std::string name;
  OptionKind kind = OptionKind::kWhole;
  double least = 0, most = 0;        ///< of numbers, both included
  bool below_most = false;           ///< `most` itself is out of range
  std::vector<std::string> words{};  ///< that a text may be; none: any
  bool required = true;
  Value usual{};  ///< where it is not required
};

/// What building knows of where it is.
struct Place {
  int64_t repetition = 0;  ///< of the innermost `repeat`; names may hold it as {i}
};

struct LayerType {
  std::string name;
  bool named = true;  ///< has a scope, and so may have a `name`
  std::vector<OptionType> options;
  std::function<Port(VariableStore&, Port, const LayerSpec&, const Place&)> add;
};

/// In the order in which pages list them.
const std::vector<LayerType>& layer_types();

/// One after the other. Throws GraphError that begins with the place of the layer.
Port add_layers(VariableStore& store, Port x, const Layers& layers, const Place& place);

/// The text with {i} replaced by the repetition.
std::string numbered(std::string text, const Place& place);

}  // namespace softamp::network_detail
