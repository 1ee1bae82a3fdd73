// The import of a GraphDef: which nodes are needed, in which order, what becomes of each, and what is said at the end.
#include "src/precision/graph_def/import.h"

#include <algorithm>

#include "softamp/graph/operation.h"
#include "softamp/machine/float_environment.h"
#include "src/precision/graph_def/op_facts.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/shortened_list.h"

namespace softamp {
namespace graph_def_detail {
namespace {

using files::excerpt;
using graph_def::NodeDef;
using Kind = ImportedValue::Kind;

constexpr int kDeepestCall = 64;
constexpr int64_t kMostExpanded = int64_t{1} << 28;  // bytes

/// The port of "<name>:<index>" among a node's outputs; -1: it has none of this name.
int port_of(const FunctionLibrary& library, const NodeDef& node, std::string_view name, int index) {
  const auto run = output_run(library, node, name);
  return run ? run->first + index : -1;
}

/// Of operations that are run for their effect alone, or bring values in: no result that a fetch means.
bool is_no_result(const NodeDef& node) {
  static const Translations kNone = [] {
    Translations all;
    for (const std::string_view op :
         words_of("Assert Const ControlTrigger HistogramSummary IsVariableInitialized MergeSummary NoOp Placeholder "
                  "PlaceholderV2 PlaceholderWithDefault Print PrintV2 ReadVariableOp Restore RestoreV2 Save SaveV2 "
                  "ScalarSummary ShardedFilename StringJoin VarHandleOp VarIsInitializedOp Variable VariableV2 _Arg"))
      all.emplace(op, Translation{});
    return all;
  }();
  if (kNone.contains(node.op())) return true;
  for (const char* name : {"T", "dtype"})
    if (const graph_def::AttrValue* type = find_attribute(node, name))
      if (type->type() == graph_def::DT_STRING || type->type() == graph_def::DT_RESOURCE) return true;
  const auto known = translations().find(node.op());
  return known != translations().end() && known->second.writes && node.op() != "StatefulPartitionedCall" &&
         node.op() != "If" && node.op() != "Case" && node.op() != "While";
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

const Translations& translations() {
  static const Translations kAll = [] {
    Translations all;
    add_plain_translations(all);
    add_source_translations(all);
    add_structure_translations(all);
    add_neural_translations(all);
    add_variable_translations(all);
    add_optimizer_translations(all);
    add_control_translations(all);
    return all;
  }();
  return kAll;
}

std::string Importer::allowed_name(std::string_view name) {
  std::string allowed(name);
  const auto letter = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  for (char& c : allowed)
    if (!letter(c) && c != '.' && c != '_' && c != '/' && c != '-') c = '_';
  if (allowed.empty() || (!letter(allowed[0]) && allowed[0] != '.')) allowed.insert(0, ".");
  return allowed;
}

std::string Importer::helper_name(const std::string& name) const {
  std::string free = name;
  while (names_.contains(free)) free += '_';
  return free;
}

void Importer::count_expanded(int64_t bytes) {
  expanded_ += bytes;
  if (expanded_ > kMostExpanded)
    throw GraphError("constants that the file does not hold element by element take more than 2^28 bytes");
}

Port Importer::materialise(ImportedValue& value) {
  if (value.kind == Kind::kPort) return value.port;
  if (value.kind == Kind::kVariable) return read(value.variable);
  if (value.kind != Kind::kKnown)
    throw GraphError(value.kind == Kind::kOpaque
                         ? "it is no tensor here: a text, a handle or a number of no dtype of ours"
                         : "there is no such output");
  KnownTensor& k = *value.known;
  if (k.port.node >= 0) return k.port;
  Tensor tensor = k.tensor.clone();
  const DType t = tensor.dtype();
  if (t == DType::kInt64 || t == DType::kUint8) tensor = tensor_of(DType::kInt32, tensor.shape(), integers_of(tensor));
  k.port = builder_.constant(std::move(tensor), k.name);
  return k.port;
}

FrameEdge Importer::edge(const ImportFrame& frame, const NodeDef& node, std::string_view text) const {
  FrameEdge e;
  if (!frame.function) {
    const InputName input = parse_input(text);
    return {frame.numbers.at(input.node), input.port, input.control, {}};
  }
  e.control = text.starts_with('^');
  const std::string_view rest = text.substr(e.control ? 1 : 0);
  const size_t first = rest.find(':');
  const std::string_view name = rest.substr(0, first);
  if (const auto at = frame.numbers.find(name); at != frame.numbers.end()) {
    e.node = at->second;
    if (first == std::string_view::npos) return e;
    const size_t second = rest.find(':', first + 1);
    int index = 0;
    if (second != std::string_view::npos)
      for (const char c : rest.substr(second + 1)) {
        if (c < '0' || c > '9' || index > 65535) fail_node(held_.place, node, "input '" + excerpt(text) + "'");
        index = index * 10 + (c - '0');
      }
    const std::string_view output =
        rest.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
    e.port = port_of(library_, frame.nodes->Get(e.node), output, index);
    if (e.port < 0) fail_node(held_.place, node, "input '" + excerpt(text) + "' names no output");
    return e;
  }
  if (!frame.arguments.contains(name))
    fail_node(held_.place, node,
              "input '" + excerpt(text) + "' names no node and no argument of function '" +
                  excerpt(frame.function->signature().name()) + "'");
  e.argument = name;
  return e;
}

ImportedValue Importer::value_of(const ImportFrame& frame, const FrameEdge& e) const {
  if (e.node < 0) return frame.arguments.at(e.argument);
  const ImportFrame::Done& done = frame.done[static_cast<size_t>(e.node)];
  if (done.failed) return ImportedValue::of(Kind::kFailed);
  if (done.dead) return ImportedValue::of(Kind::kDead);
  if (static_cast<size_t>(e.port) >= done.outputs.size()) return {};
  return done.outputs[static_cast<size_t>(e.port)];
}

void Importer::note_fault(const NodeDef& node, const std::string& what) {
  if (!fault_.empty()) return;
  try {
    fail_node(held_.place, node, what);
  } catch (const GraphDefError& e) {
    fault_ = e.what();
  }
}

void Importer::unknown(const NodeDef& node, const std::string& name) {
  Unknown& u = unknown_[node.op()];
  if (u.count++ == 0) u.node = name;
}

void Importer::translate(ImportFrame& frame, int number) {
  const NodeDef& node = frame.nodes->Get(number);
  ImportFrame::Done& done = frame.done[static_cast<size_t>(number)];
  const std::string name =
      frame.round.empty() ? frame.prefix + node.name() : helper_name(frame.prefix + node.name() + frame.round);
  done.reached = true;
  bool failed = false, dead = false, missing = false;
  std::vector<ImportedValue> inputs;
  for (const FrameEdge& e : frame.edges[static_cast<size_t>(number)]) {
    if (e.control) {
      dead = dead || (e.node >= 0 && frame.done[static_cast<size_t>(e.node)].dead);
      continue;
    }
    inputs.push_back(input_of(frame, number, e));
    failed = failed || inputs.back().kind == Kind::kFailed;
    missing = missing || inputs.back().kind == Kind::kNone;
    dead = dead || inputs.back().kind == Kind::kDead;
  }
  const bool is_function = held_.functions.contains(node.op());
  const auto known = is_function ? translations().end() : translations().find(node.op());
  const bool takes_dead = known != translations().end() && known->second.takes_dead;
  done.dead = takes_dead ? !inputs.empty() && std::all_of(inputs.begin(), inputs.end(),
                                                          [](const ImportedValue& v) { return v.kind == Kind::kDead; })
                         : dead;
  if (done.dead) return;
  if (!is_function && known == translations().end()) unknown(node, name);
  done.failed = failed || (!is_function && known == translations().end());
  if (done.failed) return;
  NodeImport n(*this, frame, node, name, std::move(inputs), done.outputs);
  try {
    if (missing) n.fail("an input names an output that its node does not have");
    if (is_function) {
      done.outputs = call(n, node.op(), node.attr(), n.inputs, name + "/");
    } else if (!fold(n)) {
      known->second.translate(n);
    }
  } catch (const GraphDefError& e) {
    if (fault_.empty()) fault_ = e.what();
    done.failed = true;
  } catch (const std::invalid_argument& e) {
    note_fault(node, e.what());
    done.failed = true;
  }
}

std::vector<ImportedValue> Importer::call(const NodeImport& caller, const std::string& function,
                                          const GraphDefAttributes& attributes, std::vector<ImportedValue> arguments,
                                          const std::string& prefix) {
  const graph_def::FunctionDef* found = library_.find(function);
  if (!found) caller.fail("there is no function '" + excerpt(function) + "' in the library of the graph");
  if (depth_ >= kDeepestCall)
    caller.fail("function '" + excerpt(function) + "' is called more than " + std::to_string(kDeepestCall) +
                " deep; expected no recursion");
  const graph_def::OpDef& signature = found->signature();
  if (static_cast<size_t>(signature.input_arg_size()) != arguments.size())
    caller.fail("function '" + excerpt(function) + "' takes " + std::to_string(signature.input_arg_size()) +
                " arguments, but " + std::to_string(arguments.size()) + " are given");
  ImportFrame frame;
  frame.nodes = &found->node_def();
  frame.function = found;
  frame.attributes = &attributes;
  frame.prefix = prefix;
  for (int i = 0; i < signature.input_arg_size(); ++i)
    frame.arguments.emplace(signature.input_arg(i).name(), arguments[static_cast<size_t>(i)]);
  std::vector<int> roots;
  for (int n = 0; n < frame.nodes->size(); ++n) {
    const NodeDef& node = frame.nodes->Get(n);
    frame.numbers.emplace(node.name(), n);
    const auto known = translations().find(node.op());
    if (known != translations().end() && known->second.writes) roots.push_back(n);
  }
  std::vector<FrameEdge> results;
  for (const graph_def::OpDef::ArgDef& output : signature.output_arg()) {
    const auto ret = found->ret().find(output.name());
    if (ret == found->ret().end())
      caller.fail("function '" + excerpt(function) + "' does not say what its output '" + excerpt(output.name()) +
                  "' is");
    results.push_back(edge(frame, caller.node, ret->second));
    if (results.back().node >= 0) roots.push_back(results.back().node);
  }
  for (const auto& [name, node] : found->control_ret())
    if (const auto it = frame.numbers.find(node); it != frame.numbers.end()) roots.push_back(it->second);
  std::sort(roots.begin(), roots.end());
  ++depth_;
  try {
    process(frame, roots);
  } catch (...) {
    --depth_;
    throw;
  }
  --depth_;
  std::vector<ImportedValue> values;
  for (const FrameEdge& e : results) values.push_back(value_of(frame, e));
  return values;
}

void Importer::complain() const {
  if (!unknown_.empty()) {
    files::ShortenedList list(40);
    for (const auto& [op, u] : unknown_) {
      graph_detail::Nearest nearest(op);
      if (list.has_room())
        for (const std::string& name : importable_operations()) nearest.offer(name);
      list.add("'" + excerpt(op) + "' (" + (u.count > 1 ? std::to_string(u.count) + " nodes, first '" : "node '") +
               excerpt(u.node) + "'" + nearest.text() + ")");
    }
    const bool one = unknown_.size() == 1;
    throw GraphDefError(held_.place + ": " + std::to_string(unknown_.size()) +
                        (one ? " operation is" : " operations are") + " not run here: " + list.text());
  }
  if (!fault_.empty()) throw GraphDefError(fault_);
}

std::vector<std::string> Importer::unread() const {
  std::vector<char> read(static_cast<size_t>(held_.graph.node_size()), 0);
  for (const NodeDef& node : held_.graph.node())
    for (const std::string& text : node.input())
      if (const InputName input = parse_input(text); !input.control)
        read[static_cast<size_t>(held_.numbers.at(input.node))] = 1;
  std::vector<std::string> names;
  for (int n = 0; n < held_.graph.node_size(); ++n)
    if (!read[static_cast<size_t>(n)] && !is_no_result(held_.graph.node(n)))
      names.push_back(held_.graph.node(n).name());
  if (names.empty())
    throw GraphDefError(held_.place + ": no tensor is left unread; expected names of what is to be fetched");
  return names;
}

void Importer::check_given() const {
  static const auto kGiven =
      words_of("Placeholder PlaceholderV2 PlaceholderWithDefault VarHandleOp Variable VariableV2");
  const auto is_given = [](const NodeDef& n) {
    return std::find(kGiven.begin(), kGiven.end(), n.op()) != kGiven.end();
  };
  for (const auto& [name, shape] : options_.shapes) {
    const auto it = held_.numbers.find(name);
    if (it != held_.numbers.end() && is_given(held_.graph.node(it->second))) continue;
    graph_detail::Nearest nearest(name);
    for (const NodeDef& n : held_.graph.node())
      if (is_given(n)) nearest.offer(n.name());
    throw GraphDefError(held_.place + ": '" + excerpt(name) + "' is given a value, but it is " +
                        (it == held_.numbers.end() ? "no node" : "a " + excerpt(held_.graph.node(it->second).op())) +
                        "; expected a placeholder or a variable" + nearest.text());
  }
}

ImportedGraph Importer::run() {
  check_given();
  builder_.set_preset(Preset::kIeee);
  top_.nodes = &held_.graph.node();
  top_.numbers = held_.numbers;
  for (const NodeDef& node : held_.graph.node()) names_.insert(allowed_name(node.name()));
  result_.fetches = options_.fetches.empty() ? unread() : options_.fetches;
  std::vector<int> roots;
  for (const std::string& fetch : result_.fetches) {
    const InputName name = parse_input(fetch);
    const auto it = held_.numbers.find(name.node);
    if (it == held_.numbers.end() || name.control) {
      throw GraphDefError(held_.place + ": '" + excerpt(fetch) +
                          "' is to be fetched, but there is no such node; expected \"name\" or \"name:port\"" +
                          graph_detail::nearest_of(name.node, held_.graph.node(), &NodeDef::name));
    }
    roots.push_back(it->second);
  }
  process(top_, roots);
  if (!tolerant_) complain();
  std::map<std::string, Port> ports;
  for (const std::string& fetch : result_.fetches) {
    const InputName name = parse_input(fetch);
    const int number = held_.numbers.at(name.node);
    const NodeDef& node = held_.graph.node(number);
    ImportedValue value = value_of(top_, {number, name.port, false, {}});
    if (tolerant_ && value.kind != Kind::kPort && value.kind != Kind::kKnown) continue;
    if (value.kind == Kind::kNone && top_.done[static_cast<size_t>(number)].outputs.empty() && name.port == 0)
      continue;  // run for its effect
    if (value.kind == Kind::kDead) fail_node(held_.place, node, "it is fetched, but on a branch that is not taken");
    if (value.kind == Kind::kNone)
      fail_node(held_.place, node,
                "'" + excerpt(fetch) + "' is fetched, but it has " +
                    std::to_string(top_.done[static_cast<size_t>(number)].outputs.size()) + " outputs");
    try {
      ports.emplace(fetch, materialise(value));
    } catch (const std::invalid_argument& e) {
      fail_node(held_.place, node, std::string("it is fetched, but ") + e.what());
    }
  }
  assign_variables();
  try {
    result_.graph = builder_.build();
  } catch (const GraphError& e) {
    throw GraphDefError(held_.place + ": " + e.what());
  }
  for (const auto& [fetch, port] : ports) result_.ports.emplace(fetch, result_.graph.port_name(port));
  if (!tolerant_) find_initial_values();
  return std::move(result_);
}

/// A variable's first value is what an Assign outside of the fetched part gives it: that named "<variable>/Assign", as
/// TensorFlow names it, else the first in the file whose value can be computed.
void Importer::find_initial_values() {
  std::map<int, std::vector<std::string>> candidates;  // by variable
  std::unordered_map<std::string_view, int> by_name;
  for (size_t v = 0; v < variables_.size(); ++v) by_name.emplace(variables_[v].name, static_cast<int>(v));
  for (int n = 0; n < held_.graph.node_size(); ++n) {
    const NodeDef& node = held_.graph.node(n);
    if ((node.op() != "Assign" && node.op() != "AssignVariableOp") || node.input_size() < 2) continue;
    if (top_.done[static_cast<size_t>(n)].reached) continue;
    const auto it = by_name.find(parse_input(node.input(0)).node);
    if (it == by_name.end()) continue;
    auto& of = candidates[it->second];
    if (node.name() == std::string(it->first) + "/Assign")
      of.insert(of.begin(), node.input(1));
    else
      of.push_back(node.input(1));
  }
  GraphDefImportOptions options;
  for (size_t v = 0; v < variables_.size(); ++v)
    if (!given(variables_[v].name))
      for (const std::string& value : candidates[static_cast<int>(v)]) options.fetches.push_back(value);
  Importer values(held_, options);
  values.tolerant_ = true;
  ImportedGraph initial;
  if (!options.fetches.empty()) initial = values.run();
  // Values that stand on variables or placeholders are none before the first step.
  std::vector<char> begins(static_cast<size_t>(initial.graph.size()), 1);
  for (int n = 0; n < initial.graph.size(); ++n) {
    const Node& node = initial.graph.node(n);
    bool fits = node.op != "VariableV2" && node.op != "Placeholder";
    for (const Port& p : node.inputs) fits = fits && begins[static_cast<size_t>(p.node)];
    begins[static_cast<size_t>(n)] = fits;
  }
  for (size_t v = 0; v < variables_.size(); ++v) {
    const ImportedVariable& variable = variables_[v];
    if (given(variable.name) || variable.now.node < 0) continue;
    std::string& why = result_.without_value[variable.name];
    const auto& of = candidates[static_cast<int>(v)];
    why = of.empty() ? "nothing in the graph assigns it a value"
                     : "what the graph assigns to it needs other values, or operations that are not run here";
    for (const std::string& value : of) {
      const auto port = initial.ports.find(value);
      if (port == initial.ports.end()) continue;
      const Port p = initial.graph.port(port->second);
      const TensorType& type = initial.graph.type(p);
      if (!begins[static_cast<size_t>(p.node)] || type != TensorType{variable.dtype, *variable.shape}) continue;
      result_.initial_values.emplace(variable.ref, port->second);
      result_.without_value.erase(variable.name);
      break;
    }
  }
  result_.initial = std::move(initial.graph);
}

}  // namespace graph_def_detail

ImportedGraph import_graph(const GraphDefFile& file, const GraphDefImportOptions& options) {
  const engine::DefaultEnvironment guard;
  return graph_def_detail::Importer(*file.impl_, options).run();
}

std::vector<std::string> importable_operations() {
  std::vector<std::string> names;
  for (const auto& [name, translation] : graph_def_detail::translations()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace softamp
