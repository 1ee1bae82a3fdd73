#include "src/precision/graph_def/op_facts.h"

#include <algorithm>

namespace softamp::graph_def_detail {
namespace {

using graph_def::AttrValue;
using graph_def::FunctionDef;
using graph_def::NodeDef;

/// An output as the table has it.
struct NamedOutput {
  std::string_view name;
  std::string_view count, types;  ///< the attribute that counts its ports; "": one port
};

std::vector<std::string_view> cut_at(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

NamedOutput named_output(std::string_view text) {
  if (const size_t at = text.find('*'); at != std::string_view::npos)
    return {text.substr(0, at), text.substr(at + 1), {}};
  if (const size_t at = text.find("[]"); at != std::string_view::npos)
    return {text.substr(0, at), {}, text.substr(at + 2)};
  return {text, {}, {}};
}

using NamedOutputs = std::unordered_map<std::string_view, std::vector<NamedOutput>>;

const NamedOutputs& named_outputs() {
  static const NamedOutputs kAll = [] {
    NamedOutputs all;
    for (const std::string_view entry : cut_at(output_name_table(), ";")) {
      const auto words = cut_at(entry, " \n");
      if (words.empty()) continue;
      auto& outputs = all[words[0]];
      for (size_t w = 1; w < words.size(); ++w) outputs.push_back(named_output(words[w]));
    }
    return all;
  }();
  return kAll;
}

int ports_of_output(const NodeDef& node, std::string_view count, std::string_view types) {
  constexpr int64_t kMost = 65535;
  if (!count.empty()) {
    const AttrValue* value = find_attribute(node, count);
    return value && value->value_case() == AttrValue::kI ? static_cast<int>(std::clamp<int64_t>(value->i(), 0, kMost))
                                                         : 1;
  }
  if (types.empty()) return 1;
  const AttrValue* value = find_attribute(node, types);
  return value ? value->list().type_size() : 1;
}

}  // namespace

std::optional<OutputRun> output_run(const FunctionLibrary& library, const NodeDef& node, std::string_view name) {
  OutputRun run;
  const auto search = [&](std::string_view output, std::string_view count, std::string_view types) {
    run.count = ports_of_output(node, count, types);
    if (output == name) return true;
    run.first += run.count;
    return false;
  };
  if (const FunctionDef* function = library.find(node.op())) {
    for (const graph_def::OpDef::ArgDef& output : function->signature().output_arg())
      if (search(output.name(), output.number_attr(), output.type_list_attr())) return run;
    return std::nullopt;
  }
  const auto known = named_outputs().find(node.op());
  if (known == named_outputs().end()) return run;
  for (const NamedOutput& output : known->second)
    if (search(output.name, output.count, output.types)) return run;
  return std::nullopt;
}

bool knows_outputs(const FunctionLibrary& library, std::string_view op) {
  return library.find(op) || named_outputs().contains(op);
}

bool is_stateful(const FunctionLibrary& library, std::string_view op) {
  if (const FunctionDef* function = library.find(op)) return function->signature().is_stateful();
  static const std::unordered_set<std::string_view> kStateful = [] {
    const auto names = cut_at(stateful_operations(), " \n");
    return std::unordered_set<std::string_view>(names.begin(), names.end());
  }();
  return kStateful.contains(op);
}

bool may_be_lost(std::string_view op) {
  static const std::unordered_set<std::string_view> kNames = [] {
    const auto names = cut_at(
        "CollectiveGather CollectiveReduce CollectiveBcastSend CollectiveBcastRecv CollectiveBcastSendV2 "
        "CollectiveBcastRecvV2 NcclAllReduce Send Recv CollectiveAssignGroupsV2 CollectiveInitializeCommunicator "
        "RandomUniform RandomUniformInt RandomStandardNormal ParameterizedTruncatedNormal TruncatedNormal "
        "RandomShuffle Multinomial RandomGamma RandomGammaGrad RandomPoisson RandomPoissonV2 ReadVariableOp CudnnRNN "
        "CudnnRNNBackprop CudnnRNNV2 CudnnRNNV3 CudnnRNNBackpropV2 CudnnRNNBackpropV3 "
        "EnqueueTPUEmbeddingSparseBatch EnqueueTPUEmbeddingIntegerBatch EnqueueTPUEmbeddingSparseTensorBatch "
        "EnqueueTPUEmbeddingRaggedTensorBatch EnqueueTPUEmbeddingArbitraryTensorBatch SaveV2 RestoreV2 InfeedEnqueue "
        "InfeedEnqueueTuple",
        " ");
    return std::unordered_set<std::string_view>(names.begin(), names.end());
  }();
  return kNames.contains(op);
}

}  // namespace softamp::graph_def_detail
