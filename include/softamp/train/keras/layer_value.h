// What layers take and give: a node's output, or a list or map of such values, nested at will (MIXED_PRECISION K08).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softamp/graph/graph.h"

namespace softamp {

/// A value; copies share what they hold, which never changes.
class LayerValue {
 public:
  using List = std::vector<LayerValue>;
  using Map = std::map<std::string, LayerValue, std::less<>>;

  LayerValue(Port port) : held_(port) {}  // NOLINT: a port is a value, so that layer(x) reads as it should
  static LayerValue list(List values);
  static LayerValue map(Map values);

  bool is_port() const { return std::holds_alternative<Port>(held_); }
  bool is_list() const { return std::holds_alternative<std::shared_ptr<const List>>(held_); }
  bool is_map() const { return std::holds_alternative<std::shared_ptr<const Map>>(held_); }

  /// The one output that this is. Throws GraphError for a list or map.
  Port port() const;
  operator Port() const { return port(); }
  /// Of a list or map; 1 for a port.
  size_t size() const;
  /// Throw GraphError: another kind of value; an index or key that is not there, with what there is.
  const LayerValue& operator[](size_t index) const;
  const LayerValue& operator[](std::string_view key) const;
  const LayerValue& operator[](int index) const { return (*this)[static_cast<size_t>(index)]; }

  /// All outputs, lists in their order, maps in the order of their keys.
  std::vector<Port> ports() const;
  /// The same structure of other outputs.
  LayerValue transformed(const std::function<Port(Port)>& change) const;

 private:
  std::variant<Port, std::shared_ptr<const List>, std::shared_ptr<const Map>> held_;
};

}  // namespace softamp
