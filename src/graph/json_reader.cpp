// Graph JSON in: parsed under limits, ordered, and built node by node.
#include <algorithm>
#include <filesystem>
#include <queue>
#include <system_error>
#include <unordered_map>

#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "src/files/input_file.h"
#include "src/graph/json_tensor.h"
#include "src/graph/node_check.h"
#include "src/machine/machine_memory.h"
#include "src/text/nearest_name.h"
#include "src/text/newer_file.h"
#include "src/text/printable.h"
#include "src/text/read_json.h"

namespace softamp {
namespace {

using files::excerpt;
using graph_detail::fail_at;
using graph_detail::found;
using graph_detail::Json;
using graph_detail::nearest_of;

/// A node as in the text; nodes are numbered by their position in the text's list. Words are those of the parsed text.
struct NodeEntry {
  std::string_view name, op;
  std::vector<Port> inputs;
  const Json* attributes = nullptr;
};

Json parse(std::string_view text, const JsonOptions& o) {
  try {
    return read_json<Json>(text, o.source, {o.most_bytes, o.deepest});
  } catch (const JsonError& e) {
    throw GraphError(e.what());
  }
}

void check_fields(const Json& object, std::initializer_list<const char*> known, const std::string& place) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail_at(place, "unknown field '" + excerpt(key) + "'" + nearest_of(key, known));
  }
}

const std::string& text_field(const Json& object, const char* name, const std::string& place) {
  const auto it = object.find(name);
  if (it == object.end()) fail_at(place, std::string("the field '") + name + "' is missing");
  if (!it->is_string()) fail_at(place, std::string("'") + name + "': expected a string, found " + found(*it));
  return it->get_ref<const std::string&>();
}

/// Splits "name:port"; port -1 if it is malformed.
std::pair<std::string_view, int> split_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, 0};
  int port = 0;
  const std::string_view digits = text.substr(colon + 1);
  if (digits.empty() || digits.size() > 5) return {text, -1};
  for (const char c : digits) {
    if (c < '0' || c > '9') return {text, -1};
    port = 10 * port + (c - '0');
  }
  return {text.substr(0, colon), port};
}

std::vector<NodeEntry> read_entries(const Json& nodes, const JsonOptions& o) {
  std::vector<NodeEntry> entries;
  entries.reserve(nodes.size());
  std::unordered_map<std::string_view, int> numbers;
  numbers.reserve(nodes.size());
  std::string place, named;  // room for all nodes: most have nothing to say
  for (const Json& node : nodes) {
    place.assign(o.source).append(": nodes[").append(std::to_string(entries.size())).append("]: ");
    if (!node.is_object()) fail_at(place, "expected an object, found " + found(node));
    NodeEntry e;
    const std::string& name = text_field(node, "name", place);
    e.name = name;
    try {
      graph_detail::check_name(name);
    } catch (const GraphError& error) {
      fail_at(place, error.what());
    }
    named.assign(o.source).append(": node '");
    named.append(name.size() > 80 ? excerpt(name) : name).append("': ");  // well-formed: else only cut where long
    check_fields(node, {"name", "op", "inputs", "attributes"}, named);
    e.op = text_field(node, "op", named);
    if (!find_operation(e.op)) try {
        operation(e.op);
      } catch (const GraphError& error) {
        fail_at(named, error.what());
      }
    if (const auto it = node.find("attributes"); it != node.end()) {
      if (!it->is_object()) fail_at(named, "'attributes': expected an object, found " + found(*it));
      e.attributes = &*it;
    }
    const int number = static_cast<int>(entries.size());
    const auto [first, fresh] = numbers.emplace(e.name, number);
    if (!fresh)
      fail_at(named, "the name is taken by nodes[" + std::to_string(first->second) + "]; expected a name of its own");
    entries.push_back(std::move(e));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto node = [&] { return o.source + ": node '" + std::string(entries[i].name) + "': "; };
    const auto inputs = nodes[i].find("inputs");
    if (inputs == nodes[i].end()) continue;
    if (!inputs->is_array()) fail_at(node(), "'inputs': expected a list of names, found " + found(*inputs));
    entries[i].inputs.reserve(inputs->size());
    for (const Json& input : *inputs) {
      const auto at = [&] { return node() + "input " + std::to_string(entries[i].inputs.size()) + ": "; };
      if (!input.is_string()) fail_at(at(), "expected \"name\" or \"name:port\", found " + found(input));
      const auto [name, port] = split_port(input.get_ref<const std::string&>());
      if (port < 0)
        fail_at(at(), "'" + excerpt(input.get_ref<const std::string&>()) + "': expected \"name\" or \"name:port\"");
      const auto it = numbers.find(name);
      if (it == numbers.end()) {
        fail_at(at(), "the graph has no node '" + excerpt(name) + "'" + nearest_of(name, entries, &NodeEntry::name));
      }
      entries[i].inputs.push_back({it->second, port});
    }
  }
  return entries;
}

/// Names the nodes of one cycle among those that were left over.
[[noreturn]] void fail_cycle(const std::vector<NodeEntry>& entries, const std::vector<int>& missing,
                             const JsonOptions& o) {
  int at = 0;
  while (missing[static_cast<size_t>(at)] == 0) ++at;
  const auto back = [&](int node) {  // every node left over has an input that was left over
    for (const Port p : entries[static_cast<size_t>(node)].inputs)
      if (missing[static_cast<size_t>(p.node)] > 0) return p.node;
    return node;
  };
  for (size_t i = 0; i < entries.size(); ++i) at = back(at);  // now on a cycle
  std::vector<int> cycle{at};
  for (int node = back(at); node != at; node = back(node)) cycle.push_back(node);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  std::string names;
  constexpr size_t kMostShown = 20;
  for (size_t i = 0; i < cycle.size() && i < kMostShown; ++i)
    names += "'" + excerpt(entries[static_cast<size_t>(cycle[i])].name) + "' reads ";
  if (cycle.size() > kMostShown) names += "... reads ";
  fail_at(o.source + ": ",
          "the nodes form a cycle: " + names + "'" + excerpt(entries[static_cast<size_t>(cycle[0])].name) + "'");
}

/// Positions in the text, inputs before readers; among nodes that are ready, the first in the text comes first.
std::vector<int> ordered(const std::vector<NodeEntry>& entries, const JsonOptions& o) {
  // The readers of node n: begin[n] .. begin[n + 1] of `readers`.
  std::vector<size_t> begin(entries.size() + 1, 0);
  for (const NodeEntry& e : entries)
    for (const Port p : e.inputs) ++begin[static_cast<size_t>(p.node) + 1];
  for (size_t n = 1; n < begin.size(); ++n) begin[n] += begin[n - 1];
  std::vector<int> readers(begin.back()), missing(entries.size(), 0), order;
  order.reserve(entries.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const Port p : entries[i].inputs) readers[next[static_cast<size_t>(p.node)]++] = static_cast<int>(i);
    missing[i] = static_cast<int>(entries[i].inputs.size());
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    const auto n = static_cast<size_t>(i);
    for (size_t r = begin[n]; r < begin[n + 1]; ++r)
      if (--missing[static_cast<size_t>(readers[r])] == 0) ready.push(readers[r]);
  }
  if (order.size() != entries.size()) fail_cycle(entries, missing, o);
  return order;
}

int64_t read_int(const Json& value, const std::string& place) {
  if (const auto number = whole_number_in<int64_t>(value)) return *number;
  fail_at(place, "expected an integer of 64 bits, found " + found(value));
}

Attribute read_attribute(AttributeKind kind, const Json& value, const JsonOptions& o, uint64_t& budget,
                         const std::string& place) {
  switch (kind) {
    case AttributeKind::kBool:
      if (!value.is_boolean()) fail_at(place, "expected true or false, found " + found(value));
      return value.get<bool>();
    case AttributeKind::kInt: return read_int(value, place);
    case AttributeKind::kFloat: return graph_detail::read_float(value, place);
    case AttributeKind::kString:
      if (!value.is_string()) fail_at(place, "expected a string, found " + found(value));
      return value.get<std::string>();
    case AttributeKind::kType: return graph_detail::read_dtype(value, place);
    case AttributeKind::kShape: return graph_detail::read_shape(value, place);
    case AttributeKind::kInts: {
      if (!value.is_array()) fail_at(place, "expected a list of integers, found " + found(value));
      std::vector<int64_t> numbers;
      for (const Json& number : value) numbers.push_back(read_int(number, place));
      return numbers;
    }
    case AttributeKind::kTensor: break;
  }
  return std::make_shared<const Tensor>(graph_detail::read_tensor(value, o, budget, place));
}

Attributes read_attributes(const NodeEntry& e, const JsonOptions& o, uint64_t& budget, const std::string& place) {
  Attributes attributes;
  if (!e.attributes || e.attributes->empty()) return attributes;
  const Operation& op = operation(e.op);
  std::string at = place;
  for (const auto& [name, value] : e.attributes->items()) {
    const bool count = name == "N" && !op.inputs.empty() && op.inputs.back().variadic;
    std::optional<AttributeKind> kind = count ? std::optional(AttributeKind::kInt) : std::nullopt;
    if (graph_detail::is_placement(name)) kind = AttributeKind::kString;
    for (const AttributeSpec& spec : op.attributes)
      if (spec.name == name) kind = spec.kind;
    if (!kind) {
      fail_at(place, "unknown attribute '" + excerpt(name) + "' of " + std::string(e.op) +
                         nearest_of(name, op.attributes, &AttributeSpec::name));
    }
    at.resize(place.size());
    at.append("attribute '").append(name).append("': ");
    attributes.emplace(name, read_attribute(*kind, value, o, budget, at));
  }
  return attributes;
}

std::optional<Preset> read_preset(const Json& json, const std::string& start) {
  const auto found_one = json.find("preset");
  if (found_one == json.end()) return std::nullopt;
  const std::string place = start + "'preset': ";
  if (!found_one->is_string()) fail_at(place, "expected \"ieee\" or \"ipu\", found " + found(*found_one));
  try {
    return preset_from_name(found_one->get_ref<const std::string&>());
  } catch (const UnknownName& error) {
    fail_at(place, error.what());
  }
}

}  // namespace

GraphFile read_graph_file(std::string_view text, const JsonOptions& o) {
  const engine::DefaultEnvironment guard;
  const std::string start = o.source + ": ";
  const Json json = parse(text, o);
  if (!json.is_object()) fail_at(start, "expected an object with the field 'softamp_graph', found " + found(json));
  check_fields(json, {"softamp_graph", "preset", "nodes", "outputs"}, start);
  if (!json.contains("softamp_graph")) fail_at(start, "the field 'softamp_graph' is missing; expected 1");
  if (const std::string newer = newer_file(json, "softamp_graph", 1); !newer.empty()) fail_at(start, newer);
  if (json["softamp_graph"] != 1) fail_at(start, "'softamp_graph': expected 1, found " + found(json["softamp_graph"]));
  if (!json.contains("nodes")) fail_at(start, "the field 'nodes' is missing; expected a list");
  const Json& nodes = json["nodes"];
  if (!nodes.is_array()) fail_at(start, "'nodes': expected a list, found " + found(nodes));
  if (nodes.size() > o.most_nodes)
    fail_at(start, std::to_string(nodes.size()) + " nodes; expected at most " + std::to_string(o.most_nodes));

  const std::vector<NodeEntry> entries = read_entries(nodes, o);
  const std::vector<int> order = ordered(entries, o);
  std::vector<int> built(entries.size(), -1);
  GraphBuilder builder;
  builder.set_preset(read_preset(json, start));
  builder.reserve(entries.size());
  uint64_t budget = o.most_constant_bytes;
  // A few characters can ask for a Split into 65,536 outputs, so outputs are limited as well as nodes.
  size_t outputs_left = 2 * std::max<size_t>(o.most_nodes, 65536);
  std::string place;
  for (const int i : order) {
    const NodeEntry& e = entries[static_cast<size_t>(i)];
    place.assign(start).append("node '").append(e.name).append("': ");
    std::vector<Port> inputs = e.inputs;
    for (size_t j = 0; j < inputs.size(); ++j) {
      Port& p = inputs[j];
      const std::string_view source = entries[static_cast<size_t>(p.node)].name;
      p.node = built[static_cast<size_t>(p.node)];
      const size_t outputs = builder.graph().node(p.node).outputs.size();
      if (static_cast<size_t>(p.port) >= outputs)
        fail_at(place, "input " + std::to_string(j) + ": node '" + std::string(source) + "' has " +
                           std::to_string(outputs) + " outputs; port " + std::to_string(p.port) + " is not among them");
    }
    Attributes attributes = read_attributes(e, o, budget, place);
    try {
      built[static_cast<size_t>(i)] =
          builder.add_named(std::string(e.name), e.op, std::move(inputs), std::move(attributes)).node;
    } catch (const DtypeMismatchError& error) {
      throw DtypeMismatchError(error.op, error.input, error.type, error.argument, error.expected, error.node, place);
    } catch (const GraphError& error) {
      fail_at(start, error.what());
    }
    const size_t outputs = builder.graph().nodes().back().outputs.size();
    if (outputs > outputs_left) fail_at(place, "the graph has too many outputs; expected at most two to a node");
    outputs_left -= outputs;
  }
  GraphFile file;
  try {
    file.graph = builder.build();
    if (const auto outputs = json.find("outputs"); outputs != json.end()) {
      if (!outputs->is_array()) fail_at("", "'outputs': expected a list of names, found " + found(*outputs));
      for (const Json& output : *outputs) {
        if (!output.is_string()) fail_at("", "'outputs': expected \"name\" or \"name:port\", found " + found(output));
        file.graph.port(output.get_ref<const std::string&>());
        file.outputs.push_back(output.get<std::string>());
      }
    }
  } catch (const GraphError& error) {
    fail_at(start, error.what());
  }
  return file;
}

Graph read_graph_json(std::string_view text, const JsonOptions& options) {
  return read_graph_file(text, options).graph;
}

namespace {

/// The text alone must fit; what is made of it takes more.
void check_size(const std::filesystem::path& path, const JsonOptions& o) {
  std::error_code error;  // of a pipe, or of no file: told when it is read
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > o.most_bytes) return;
  if (const engine::MachineMemory there = engine::machine_memory(); bytes > there.bytes)
    throw GraphError(o.source + ": " + std::to_string(bytes) + " bytes, and this process gets at most " + there.text() +
                     "; expected a smaller graph");
}

}  // namespace

GraphFile load_graph(const std::filesystem::path& path, JsonOptions options) {
  if (options.source == JsonOptions{}.source) options.source = path.string();
  if (options.folder.empty()) options.folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  check_size(path, options);
  std::string text;
  try {
    text = files::read_input(path, "graph JSON", options.most_bytes, options.source);
  } catch (const files::InputError& e) {
    throw GraphError(e.what());
  }
  return read_graph_file(text, options);
}

}  // namespace softamp
