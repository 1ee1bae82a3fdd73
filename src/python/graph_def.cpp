#include "src/python/graph_def.h"

#include <algorithm>

#include "softamp/precision/graph_def_import.h"
#include "src/graph/graph_use.h"
#include "src/python/errors.h"
#include "src/python/tensors.h"

namespace softamp::python {
namespace {

/// Integers that a GraphDef has in another width, as what runs has them.
Tensor narrowed(Tensor wide, const std::string& name) {
  if (wide.dtype() != DType::kInt64 && wide.dtype() != DType::kUint8) return wide;
  Tensor narrow(DType::kInt32, wide.shape());
  for (int64_t i = 0; i < wide.elements(); ++i) {
    const double value = wide.value(i);
    if (value < INT32_MIN || value > INT32_MAX)
      throw nb::value_error(
          ("feeds: '" + name + "': element " + std::to_string(i) + " has no place in 32 bits").c_str());
    narrow.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(value);
  }
  return narrow;
}

void set_initial_values(RunnableGraphDef& r, ImportedGraph& imported, const ExecutorOptions& options) {
  if (imported.initial_values.empty()) return;
  r.begins_by_drawing = graph_detail::use_of(imported.initial, options).draws;
  std::vector<std::string> wanted;
  for (const auto& [node, fetch] : imported.initial_values) wanted.push_back(fetch);
  std::vector<Tensor> values = std::move(make_executor(std::move(imported.initial), options)->run({}, wanted).values);
  size_t at = 0;
  for (const auto& [node, fetch] : imported.initial_values) r.variables.emplace(node, std::move(values[at++]));
}

}  // namespace

RunnableGraphDef runnable_graph_def(const std::string& path, nb::dict feeds, nb::handle fetches,
                                    const ExecutorOptions& options) {
  std::map<std::string, Tensor> given;
  GraphDefImportOptions importing;
  for (const auto& [key, value] : feeds) {
    const std::string name(word(key, "feeds"));
    Tensor tensor = tensor_from(value, name.c_str(), DType::kBFloat16);
    importing.shapes.emplace(name, tensor.shape());
    if (tensor.type() == TensorType{DType::kBool, Shape{}})
      importing.conditions.emplace(name, tensor.as<uint8_t>()[0] != 0);
    given.emplace(name, std::move(tensor));
  }
  if (!fetches.is_none())
    for (const nb::handle fetch : fetches) importing.fetches.emplace_back(word(fetch, "fetches"));
  ImportedGraph imported = import_graph(GraphDefFile::load(path), importing);
  RunnableGraphDef r;
  r.ports = imported.ports;
  for (const std::string& fetch : imported.fetches)
    if (r.ports.contains(fetch)) r.fetches.push_back(fetch);
  for (auto& [name, tensor] : given) {
    const auto input = imported.inputs.find(name);
    if (input == imported.inputs.end()) continue;  // what is fetched does not need it
    const std::string& node = input->second;
    const bool narrow = std::find(imported.narrowed.begin(), imported.narrowed.end(), node) != imported.narrowed.end();
    const bool variable = imported.graph.node(imported.graph.find(node)).op == "VariableV2";
    (variable ? r.variables : r.feeds).emplace(node, narrow ? narrowed(std::move(tensor), name) : std::move(tensor));
  }
  if (!imported.without_value.empty()) {
    const auto& [name, why] = *imported.without_value.begin();
    throw GraphDefError(path + ": the variable '" + name + "' has no value (" + why + "); expected one in feeds");
  }
  set_initial_values(r, imported, options);
  r.graph = std::move(imported.graph);
  return r;
}

}  // namespace softamp::python
