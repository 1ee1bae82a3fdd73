// The picture of a GraphDef: ports and units by the table of signatures, and what can be inferred for other operations.
#include <string>

#include "src/precision/graph_def/graph_def_impl.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using files::excerpt;
using graph_def::AttrValue;
using graph_def::NodeDef;
using graph_def_detail::fail_node;
using graph_def_detail::find_attribute;
using graph_def_detail::HeldGraph;
using graph_def_detail::InputName;
using graph_def_detail::NodeUnits;
using graph_def_detail::parse_input;

constexpr int64_t kMostPorts = 65536;               // of a node
constexpr int64_t kMostOutputs = int64_t{1} << 24;  // of a graph: a few bytes in a file can demand many

ElementType plain(ElementType t) {
  constexpr int kReference = 100;
  const int code = static_cast<int>(t);
  return code > kReference ? static_cast<ElementType>(code - kReference) : t;
}

ElementType reference_to(ElementType t) {
  constexpr int kReference = 100;
  const int code = static_cast<int>(t);
  return code < kReference ? static_cast<ElementType>(code + kReference) : t;
}

/// Ports of one side of a node.
struct Ports {
  ShortList<int16_t, 4> units;
  ShortList<ElementType, 8> types;
};

class Picture {
 public:
  explicit Picture(const HeldGraph& held)
      : held_(held), graph_(held.graph), numbers_(held.numbers), place_(held.place) {}

  OpGraph make(std::span<const std::string> fetches) {
    const auto count = static_cast<size_t>(graph_.node_size());
    picture_.nodes.resize(count);
    taken_.resize(count);
    for (int n = 0; n < graph_.node_size(); ++n) add(n);
    guess_outputs();
    guess_inputs();
    for (int n = 0; n < graph_.node_size(); ++n) check_edges(n);
    for (const std::string& fetch : fetches) preserve(fetch);
    picture_.number_units();
    return std::move(picture_);
  }

 private:
  OpNode& node_of(int n) { return picture_.nodes[static_cast<size_t>(n)]; }
  ShortList<ElementType, 8>& taken(int n) { return taken_[static_cast<size_t>(n)]; }

  void add(int number) {
    const NodeDef& node = graph_.node(number);
    OpNode& n = node_of(number);
    n.name = node.name();
    n.op = node.op();
    n.device = node.device();
    for (const char* name : {"layer", "_layer"})
      if (const AttrValue* value = find_attribute(node, name);
          value && value->value_case() == AttrValue::kS && n.layer.empty())
        n.layer = value->s();
    if (n.layer.empty()) n.layer = scope_of(n.name);
    for (const std::string& text : node.input())
      if (const InputName input = parse_input(text); !input.control)
        n.inputs.push_back({numbers_.at(input.node), input.port});
      else
        n.waits = true;
    if (const AttrValue* cut = find_attribute(node, "Truncate"); n.op == "Cast" && cut) n.truncates = cut->b();
    const OpSignature* signature = held_.signature(node);
    NodeUnits units = graph_def_detail::units_of(node, signature, place_);
    n.units = std::move(units.units);
    n.known = signature != nullptr;
    if (signature)
      add_known(number, *signature, units.first);
    else
      add_opaque(number, held_.functions.contains(n.op));
  }

  void add_known(int number, const OpSignature& signature, const std::vector<int>& first) {
    const NodeDef& node = graph_.node(number);
    OpNode& n = node_of(number);
    n.preserved = signature.kept;
    n.stateful = signature.stateful;
    n.random = signature.random;
    Ports inputs = ports(number, signature, signature.inputs, first, n.inputs.size());
    if (inputs.units.size() != n.inputs.size())
      fail_node(place_, node,
                std::to_string(n.inputs.size()) + " inputs; expected " + std::to_string(inputs.units.size()));
    n.input_units = std::move(inputs.units);
    taken(number) = std::move(inputs.types);
    Ports outputs = ports(number, signature, signature.outputs, first, kMostPorts);
    count_outputs(number, outputs.units.size());
    n.output_units = std::move(outputs.units);
    n.output_types = std::move(outputs.types);
  }

  void count_outputs(int number, size_t more) {
    outputs_ += static_cast<int64_t>(more);
    if (outputs_ > kMostOutputs)
      fail_node(place_, graph_.node(number),
                "nodes up to this one have more than " + std::to_string(kMostOutputs) + " outputs together");
  }

  /// The ports that a signature gives this node; fails if there are more than `most`.
  Ports ports(int number, const OpSignature& signature, const std::vector<SignaturePort>& side,
              const std::vector<int>& first, size_t most) {
    const OpNode& n = node_of(number);
    Ports all;
    for (const SignaturePort& port : side) {
      const bool list = port.attribute >= 0 && signature.attributes[static_cast<size_t>(port.attribute)].list;
      const int unit = port.attribute >= 0 ? first[static_cast<size_t>(port.attribute)] : OpNode::kNoUnit;
      const int64_t count = list ? list_size(n, unit, port, signature) : count_of(number, port);
      if (count > static_cast<int64_t>(most) - static_cast<int64_t>(all.units.size()))
        fail_node(place_, graph_.node(number),
                  "its attributes say " + std::to_string(all.units.size()) + " + " + std::to_string(count) +
                      (&side == &signature.inputs ? " inputs or more, but it has " + std::to_string(n.inputs.size())
                                                  : " outputs; expected at most " + std::to_string(kMostPorts)));
      for (int i = 0; i < static_cast<int>(count); ++i) {
        const int u = list ? unit + i : unit;
        const ElementType type = u >= 0 ? n.units[static_cast<size_t>(u)].type : port.type;
        all.units.push_back(static_cast<int16_t>(u));
        all.types.push_back(port.reference ? reference_to(type) : type);
      }
    }
    return all;
  }

  /// How many units a list attribute gave: up to the next attribute's first.
  static int64_t list_size(const OpNode& n, int first_unit, const SignaturePort& port, const OpSignature& signature) {
    const std::string prefix = std::string(signature.attributes[static_cast<size_t>(port.attribute)].name) + "[";
    int64_t count = 0;
    for (size_t u = static_cast<size_t>(first_unit); u < n.units.size() && n.units[u].attribute.starts_with(prefix);
         ++u)
      ++count;
    return count;
  }

  int64_t count_of(int number, const SignaturePort& port) const {
    if (port.count_attribute.empty()) return port.count;
    const NodeDef& node = graph_.node(number);
    const std::string name(port.count_attribute);
    const AttrValue* value = find_attribute(node, name);
    if (!value && port.count >= 0) return port.count;
    if (!value || value->value_case() != AttrValue::kI || value->i() < 0)
      fail_node(place_, node,
                "attribute '" + name + "' is " +
                    (!value                                 ? "missing"
                     : value->value_case() == AttrValue::kI ? std::to_string(value->i())
                                                            : graph_def_detail::kind_of(*value)) +
                    "; expected an int from 0, the number of ports");
    return value->i();
  }

  /// The ports of an unknown operation are those that are read; their types come from the other ends of the edges.
  void add_opaque(int number, bool function) {
    OpNode& n = node_of(number);
    n.stateful = is_variable(n.op);
    if (has_plain_type(n) && !function) n.units[0].float16 = n.units[0].bfloat16 = true;
    n.input_units.assign(n.inputs.size(), OpNode::kNoUnit);
    taken(number).assign(n.inputs.size(), ElementType::kUnknown);
  }

  static bool has_plain_type(const OpNode& n) { return !n.known && n.units.size() == 1 && n.units[0].attribute == "T"; }

  void guess_outputs() {
    for (int reader = 0; reader < graph_.node_size(); ++reader) {
      const OpNode& r = node_of(reader);
      for (size_t i = 0; i < r.inputs.size(); ++i) {
        OpNode& n = node_of(r.inputs[i].node);
        const auto port = static_cast<size_t>(r.inputs[i].port);
        if (n.known) continue;
        if (port >= n.output_types.size()) {
          count_outputs(r.inputs[i].node, port + 1 - n.output_types.size());
          n.output_types.resize(port + 1, ElementType::kUnknown);
          n.output_units.resize(port + 1, OpNode::kNoUnit);
        }
        if (r.known && n.output_types[port] == ElementType::kUnknown) n.output_types[port] = plain(taken(reader)[i]);
      }
    }
    // Between two unknown operations, both of one type T: that type.
    for (int reader = 0; reader < graph_.node_size(); ++reader) {
      const OpNode& r = node_of(reader);
      if (!has_plain_type(r)) continue;
      for (const OpEdge& e : r.inputs) {
        OpNode& n = node_of(e.node);
        ElementType* type = n.known ? nullptr : &n.output_types[static_cast<size_t>(e.port)];
        if (type && *type == ElementType::kUnknown && has_plain_type(n) && n.units[0].type == r.units[0].type)
          *type = r.units[0].type;
      }
    }
    for (OpNode& n : picture_.nodes)
      if (has_plain_type(n))
        for (size_t p = 0; p < n.output_types.size(); ++p)
          if (n.output_types[p] == n.units[0].type) n.output_units[p] = 0;
  }

  void guess_inputs() {
    for (OpNode& n : picture_.nodes) {
      if (!has_plain_type(n)) continue;
      for (size_t i = 0; i < n.inputs.size(); ++i)
        if (plain(picture_.type(n.inputs[i])) == n.units[0].type) n.input_units[i] = 0;
    }
  }

  /// Checks that known ends of an edge have the same type.
  void check_edges(int reader) {
    const OpNode& r = node_of(reader);
    for (size_t i = 0; i < r.inputs.size(); ++i) {
      const OpEdge& e = r.inputs[i];
      const OpNode& n = node_of(e.node);
      const auto where = [&] {
        return "input " + std::to_string(i) + " reads '" + excerpt(graph_def_detail::output_name(n.name, e.port)) +
               "' (" + excerpt(n.op) + ")";
      };
      if (static_cast<size_t>(e.port) >= n.output_types.size())
        fail_node(place_, graph_.node(reader),
                  where() + ", which has " + std::to_string(n.output_types.size()) + " outputs");
      const ElementType given = plain(picture_.type(e)), wanted = plain(taken(reader)[i]);
      if (given != wanted && given != ElementType::kUnknown && wanted != ElementType::kUnknown)
        fail_node(place_, graph_.node(reader),
                  where() + ", which is " + name_of(given) + "; expected " + name_of(wanted));
    }
  }

  void preserve(const std::string& fetch) {
    const InputName name = parse_input(fetch);
    const auto it = numbers_.find(name.node);
    if (it == numbers_.end() || name.control) {
      throw GraphDefError(std::string(place_) + ": '" + excerpt(fetch) +
                          "' is to be fetched, but there is no such node; expected \"name\" or \"name:port\"" +
                          graph_detail::nearest_of(name.node, picture_.nodes, &OpNode::name));
    }
    OpNode& n = node_of(it->second);
    if (n.known && name.port > 0 && static_cast<size_t>(name.port) >= n.output_types.size())
      fail_node(place_, graph_.node(it->second),
                "'" + excerpt(fetch) + "' is to be fetched, but it has " + std::to_string(n.output_types.size()) +
                    " outputs");
    n.preserved = true;
  }

  const HeldGraph& held_;
  const graph_def::GraphDef& graph_;
  const std::unordered_map<std::string_view, int>& numbers_;
  std::string_view place_;
  OpGraph picture_;
  int64_t outputs_ = 0;
  std::vector<ShortList<ElementType, 8>> taken_;  // per node: the types that its inputs take
};

}  // namespace

OpGraph GraphDefFile::op_graph(ListView<std::string> fetches) const { return Picture(*impl_).make(fetches); }

}  // namespace softamp
