#include "src/program/graph_input.h"

#include <algorithm>
#include <set>

#include "src/files/known_file.h"
#include "src/text/nearest_name.h"
#include "src/text/printable.h"
#include "src/text/shortened_list.h"

namespace softamp::program {
namespace {

namespace fs = std::filesystem;

/// Integers that a GraphDef has in another width, as what runs has them.
Tensor as_int32(const Tensor& tensor, const std::string& name) {
  Tensor narrow(DType::kInt32, tensor.shape());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const int64_t v = tensor.dtype() == DType::kInt64
                          ? tensor.as<int64_t>()[static_cast<size_t>(i)]
                          : static_cast<int64_t>(tensor.as<uint8_t>()[static_cast<size_t>(i)]);
    if (v < INT32_MIN || v > INT32_MAX)
      throw UsageError("the value of '" + name + "': element " + std::to_string(i) + " is " + std::to_string(v) +
                       "; expected integers of 32 bits, in which they are computed with");
    narrow.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(v);
  }
  return narrow;
}

std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes.emplace(name, tensor.shape());
  return shapes;
}

/// The names of `given` that no node has, and that do not begin with "NODE/", as slots of optimizers do.
template <class IsNode>
std::vector<std::string> unused_names(const std::map<std::string, Tensor>& given, const IsNode& is_node) {
  std::vector<std::string> unused;
  for (const auto& [name, tensor] : given) {
    bool known = is_node(name);
    for (size_t at = name.rfind('/'); !known && at != std::string::npos && at > 0; at = name.rfind('/', at - 1))
      known = is_node(name.substr(0, at));
    if (!known) unused.push_back(name);
  }
  return unused;
}

bool is_variable_node(const Graph& graph, const std::string& name) {
  const int node = graph.find(name);
  return node >= 0 && graph.node(node).op == "VariableV2";
}

}  // namespace

bool is_graph_def(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  return name.ends_with(".pb") || name.ends_with(".pbtxt") || name.ends_with(".pb.txt");
}

GraphKind kind_of_graph(const std::string& place, const std::string& file) {
  if (file.ends_with(".json")) return GraphKind::kSoftamp;
  if (is_graph_def(file)) return GraphKind::kGraphDef;
  const std::string kind = files::known_kind_of(file);
  throw UsageError(place + "'" + file + "'" + (kind.empty() ? "" : " is " + kind) + (kind.empty() ? ": " : "; ") +
                   "expected a name that ends in .json, .pb, .pbtxt or .pb.txt");
}

GraphDefFile load_graph_def(const std::string& file) {
  GraphDefFile graph = GraphDefFile::load(file);
  std::error_code none;
  if (fs::is_regular_file(file, none) && fs::file_size(file, none) == 0)
    throw UsageError(file + ": the file is empty; expected a GraphDef");
  return graph;
}

std::map<std::string, std::string> given_to_names(const std::string& option, const std::vector<std::string>& texts,
                                                  const std::string& form) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError(option + ": '" + text + "': expected " + form);
    const std::string name = text.substr(0, equals);
    if (!values.emplace(name, text.substr(equals + 1)).second)
      throw UsageError(option + ": '" + name + "' is given twice");
  }
  return values;
}

std::map<std::string, Tensor> load_feeds(const Graph* graph, const std::map<std::string, std::string>& files) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, file] : files) {
    const int node = graph ? graph->find(name) : -1;
    const bool bfloat16 = !graph || (node >= 0 && graph->node(node).outputs[0].dtype == DType::kBFloat16);
    tensors.emplace(name, load_npy(file, bfloat16));
  }
  return tensors;
}

RunnableGraph runnable(Graph graph, std::vector<std::string> fetches, GivenValues values) {
  RunnableGraph r;
  r.graph = std::move(graph);
  r.fetches = std::move(fetches);
  for (const std::string& fetch : r.fetches) r.ports.emplace(fetch, fetch);
  r.unused = unused_names(values.variables, [&](const std::string& name) { return is_variable_node(r.graph, name); });
  for (auto& [name, tensor] : values.variables)
    if (is_variable_node(r.graph, name)) r.variables.insert_or_assign(name, std::move(tensor));
  for (auto& [name, tensor] : values.feeds)
    (is_variable_node(r.graph, name) ? r.variables : r.feeds).insert_or_assign(name, std::move(tensor));
  return r;
}

RunnableGraph runnable(const GraphDefFile& file, const std::vector<std::string>& fetches, const GivenValues& values,
                       const ExecutorOptions& options) {
  GraphDefImportOptions importing{fetches, shapes_of(values.feeds), shapes_of(values.variables), {}, values.batch};
  for (const auto& [name, value] : values.feeds)
    if (value.type() == TensorType{DType::kBool, Shape{}})
      importing.conditions.emplace(name, value.as<uint8_t>()[0] != 0);
  ImportedGraph imported = import_graph(file, importing);
  RunnableGraph r;
  r.graph = std::move(imported.graph);
  r.ports = std::move(imported.ports);
  for (const std::string& fetch : imported.fetches)
    if (r.ports.contains(fetch)) r.fetches.push_back(fetch);
  const auto take = [&](const std::map<std::string, Tensor>& tensors) {
    for (const auto& [name, tensor] : tensors) {
      const auto input = imported.inputs.find(name);
      if (input == imported.inputs.end()) continue;  // what is fetched does not need it
      const std::string& node = input->second;
      const bool wide = tensor.dtype() == DType::kInt64 || tensor.dtype() == DType::kUint8;
      const bool narrowed =
          std::find(imported.narrowed.begin(), imported.narrowed.end(), node) != imported.narrowed.end();
      Tensor value = wide && narrowed ? as_int32(tensor, name) : tensor.clone();
      (is_variable_node(r.graph, node) ? r.variables : r.feeds).insert_or_assign(node, std::move(value));
    }
  };
  take(values.variables);
  take(values.feeds);
  if (!imported.initial_values.empty()) {
    std::vector<std::string> wanted;
    for (const auto& [node, fetch] : imported.initial_values) wanted.push_back(fetch);
    ExecutorOptions once = options;
    once.observe = {};
    std::vector<Tensor> initial = std::move(make_executor(std::move(imported.initial), once)->run({}, wanted).values);
    size_t at = 0;
    for (const auto& [node, fetch] : imported.initial_values) r.variables.emplace(node, std::move(initial[at++]));
  }
  r.without_value = std::move(imported.without_value);
  if (!values.variables.empty()) {
    std::set<std::string> nodes;
    for (const OpNode& node : file.op_graph().nodes) nodes.insert(node.name);
    r.unused = unused_names(values.variables, [&](const std::string& name) { return nodes.contains(name); });
  }
  return r;
}

namespace {

constexpr size_t kNamed = 8;  // of a list of variables in an error

std::string named(const std::string& name) { return "'" + files::printable(name) + "'"; }

}  // namespace

void require_values(const RunnableGraph& graph) {
  if (graph.without_value.empty()) return;
  files::ShortenedList lacking(kNamed);
  for (const auto& [name, why] : graph.without_value) lacking.add(named(name) + " (" + why + ")");
  throw UsageError(std::to_string(lacking.count()) + (lacking.count() == 1 ? " variable has" : " variables have") +
                   " no value: " + lacking.text() +
                   "; expected --feed NAME=FILE.npy, or --variables FILE.npz with all of them");
}

void require_fitting_names(const RunnableGraph& graph, const std::string& file,
                           const std::vector<std::string>& needed) {
  files::ShortenedList unknown(kNamed), lacking(kNamed);
  for (const std::string& name : graph.unused) {
    graph_detail::Nearest nearest(name);
    for (const Node& node : graph.graph.nodes())
      if (unknown.has_room() && node.op == "VariableV2") nearest.offer(node.name);
    unknown.add(named(name) + (nearest.best().empty() ? "" : " (nearest: " + files::printable(nearest.best()) + ")"));
  }
  for (const std::string& name : needed)
    if (!graph.variables.contains(name)) lacking.add(named(name));
  if (unknown.count() + lacking.count() == 0) return;
  throw UsageError(
      "--variables: '" + file + "'" + (unknown.count() ? " has what the graph does not have: " + unknown.text() : "") +
      (unknown.count() && lacking.count() ? "; it" : "") +
      (lacking.count() ? " lacks variables of the graph: " + lacking.text() : "") + "; expected " +
      (needed.empty() ? "the names of its variables" : "an array for each variable, or --partial-variables"));
}

}  // namespace softamp::program
