#include "softamp/graph/graph.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "src/graph/name_hash.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

// implements: N90
std::string mismatch(const std::string& op, const std::string& input, DType type, const std::string& argument,
                     DType expected) {
  const std::string start =
      "Input '" + input + "' of '" + op + "' Op has type " + name_of(type) + " that does not match ";
  return argument.empty() ? start + "expected type of " + name_of(expected) + "."
                          : start + "type " + name_of(expected) + " of argument '" + argument + "'.";
}

}  // namespace

DtypeMismatchError::DtypeMismatchError(std::string of_op, std::string of_input, DType found, std::string than_argument,
                                       DType wanted, std::string at_node, const std::string& prefix)
    : GraphError(prefix + mismatch(of_op, of_input, found, than_argument, wanted)),
      op(std::move(of_op)),
      input(std::move(of_input)),
      argument(std::move(than_argument)),
      type(found),
      expected(wanted),
      node(std::move(at_node)) {}

Graph Graph::with_preset(std::optional<Preset> preset) const {
  Graph same = *this;
  same.preset_ = preset;
  return same;
}

Graph::Place& Graph::place_of(std::string_view name, uint32_t hash) {
  const size_t mask = places_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Place& p = places_[i];
    if (p.node < 0 || (p.hash == hash && nodes_[static_cast<size_t>(p.node)].name == name)) return p;
  }
}

void Graph::reserve(size_t nodes) {
  if (nodes > nodes_.capacity()) nodes_.reserve(nodes);
  const size_t wanted = std::bit_ceil(2 * std::max<size_t>(nodes, 8));
  if (wanted <= places_.size()) return;
  std::vector<Place> old(wanted);
  old.swap(places_);
  for (const Place& p : old) {
    if (p.node < 0) continue;
    size_t i = p.hash & (wanted - 1);
    while (places_[i].node >= 0) i = (i + 1) & (wanted - 1);
    places_[i] = p;
  }
}

int Graph::find(std::string_view name) const {
  // Only reads: a place is found, or one that is free.
  return places_.empty() ? -1 : const_cast<Graph*>(this)->place_of(name, graph_detail::hash_of(name)).node;
}

Port Graph::port(std::string_view text) const {
  const size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  Port port{find(name), 0};
  if (port.node < 0) {
    throw GraphError("the graph has no node '" + files::excerpt(name) + "'" +
                     graph_detail::nearest_of(name, nodes_, &Node::name));
  }
  const size_t outputs = nodes_[static_cast<size_t>(port.node)].outputs.size();
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port.port);
    if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) port.port = -1;
  }
  if (port.port < 0 || static_cast<size_t>(port.port) >= outputs)
    throw GraphError("'" + files::excerpt(text) + "': node '" + std::string(name) + "' has " + std::to_string(outputs) +
                     (outputs == 1 ? " output" : " outputs") +
                     "; expected \"name\" or \"name:port\" with a port from 0");
  return port;
}

std::string Graph::port_name(Port p) const {
  const std::string& name = node(p.node).name;
  return p.port == 0 ? name : name + ":" + std::to_string(p.port);
}

bool equal(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const double* x = std::get_if<double>(&a))
    return __builtin_bit_cast(uint64_t, *x) == __builtin_bit_cast(uint64_t, std::get<double>(b));
  if (const auto* x = std::get_if<std::shared_ptr<const Tensor>>(&a)) {
    const auto& y = std::get<std::shared_ptr<const Tensor>>(b);
    return *x == y || (*x && y && (*x)->same_bits(*y));
  }
  return a == b;
}

bool Graph::operator==(const Graph& other) const {
  if (nodes_.size() != other.nodes_.size()) return false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &a = nodes_[i], &b = other.nodes_[i];
    if (a.name != b.name || a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs ||
        a.operation_id != b.operation_id || a.attributes.size() != b.attributes.size())
      return false;
    for (auto x = a.attributes.begin(), y = b.attributes.begin(); x != a.attributes.end(); ++x, ++y)
      if (x->first != y->first || !equal(x->second, y->second)) return false;
  }
  return true;
}

}  // namespace softamp
