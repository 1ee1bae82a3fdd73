#include "softamp/train/keras/layer_value.h"

#include <utility>

#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {

LayerValue LayerValue::list(List values) {
  LayerValue value{Port{}};
  value.held_ = std::make_shared<const List>(std::move(values));
  return value;
}

LayerValue LayerValue::map(Map values) {
  LayerValue value{Port{}};
  value.held_ = std::make_shared<const Map>(std::move(values));
  return value;
}

Port LayerValue::port() const {
  if (const Port* port = std::get_if<Port>(&held_)) return *port;
  throw GraphError(std::string("a value of a layer is a ") + (is_list() ? "list" : "map") + " of " +
                   std::to_string(size()) + "; expected one output of a node");
}

size_t LayerValue::size() const {
  if (is_list()) return std::get<1>(held_)->size();
  return is_map() ? std::get<2>(held_)->size() : 1;
}

const LayerValue& LayerValue::operator[](size_t index) const {
  if (!is_list())
    throw GraphError(std::string("a value of a layer is ") + (is_map() ? "a map" : "one output") +
                     "; expected a list, to take its element " + std::to_string(index));
  if (index >= size())
    throw GraphError("a list of " + std::to_string(size()) + " has no element " + std::to_string(index));
  return (*std::get<1>(held_))[index];
}

const LayerValue& LayerValue::operator[](std::string_view key) const {
  if (!is_map())
    throw GraphError(std::string("a value of a layer is ") + (is_list() ? "a list" : "one output") +
                     "; expected a map, to take '" + files::excerpt(key) + "'");
  const Map& map = *std::get<2>(held_);
  if (const auto found = map.find(key); found != map.end()) return found->second;
  throw GraphError("a map of " + std::to_string(map.size()) + " has no '" + files::excerpt(key) + "'" +
                   graph_detail::nearest_of(key, map, [](const auto& named) { return named.first; }));
}

std::vector<Port> LayerValue::ports() const {
  std::vector<Port> all;
  transformed([&](Port port) {
    all.push_back(port);
    return port;
  });
  return all;
}

LayerValue LayerValue::transformed(const std::function<Port(Port)>& change) const {
  if (const Port* port = std::get_if<Port>(&held_)) return change(*port);
  if (is_list()) {
    List values;
    for (const LayerValue& value : *std::get<1>(held_)) values.push_back(value.transformed(change));
    return list(std::move(values));
  }
  Map values;
  for (const auto& [key, value] : *std::get<2>(held_)) values.emplace(key, value.transformed(change));
  return map(std::move(values));
}

}  // namespace softamp
