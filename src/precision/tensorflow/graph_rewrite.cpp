// TensorFlow's mixed-precision graph rewrite: its options, which nodes it may change, its passes in order, its
// messages. The passes themselves: rewrite_passes.h.
#include "softamp/precision/graph_rewrite.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <unordered_map>

#include "src/precision/counted_casts.h"
#include "src/precision/tensorflow/device_name.h"
#include "src/precision/tensorflow/rewrite_log.h"
#include "src/precision/tensorflow/rewrite_passes.h"
#include "src/text/lower_case.h"
#include "src/text/printable.h"

namespace softamp {
namespace {

using namespace precision_detail;

constexpr double kLeastCapability = 7.0;
constexpr const char* kPrefix = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_";

std::string variable(const char* name) {
  const char* value = std::getenv((std::string(kPrefix) + name).c_str());
  return value ? value : "";
}

/// Lists made for bfloat16 on CPUs: the pass then acts on CPUs, and needs no GPU.
bool is_mkl(const OpLists& lists) { return lists.name == "mkl"; }

std::vector<OpClass> classes_of(const OpGraph& graph, const OpLists& lists, RewriteLevel level) {
  std::unordered_map<std::string_view, OpClass> known;
  std::vector<OpClass> classes;
  classes.reserve(graph.nodes.size());
  for (const OpNode& node : graph.nodes) {
    auto it = known.find(node.op);
    if (it == known.end()) {
      OpClass c = lists.class_of(node.op);
      if (level == RewriteLevel::kTensorCoresOnly && c != OpClass::kAllow) c = OpClass::kUnlisted;
      it = known.emplace(node.op, c).first;
    }
    classes.push_back(it->second);
  }
  return classes;
}

std::vector<uint8_t> processable_nodes(const OpGraph& graph, const OpLists& lists, const RewriteOptions& options) {
  const char* kind = is_mkl(lists) ? "cpu" : "gpu";
  std::vector<uint8_t> processable;
  processable.reserve(graph.nodes.size());
  for (const OpNode& node : graph.nodes) {
    const bool there =
        options.device_filter ? options.device_filter(node) : node.device.empty() || is_on(node.device, kind);
    processable.push_back(there && !node.preserved);
  }
  return processable;
}

/// Steps as in TensorFlow; 0 (fused normalisations become V2) was done when the graph was read.
bool run(RewritePasses& passes) {
  if (!passes.allow_listed()) return false;
  passes.deny_forward();
  passes.match_tensor_lists();
  passes.allow_between();
  passes.allow_through_clear();
  passes.remove_without_kernel();
  passes.match_tensor_lists();
  passes.match_loops();
  passes.allow_casts();
  return true;
}

}  // namespace

RewriteOptions RewriteOptions::with_environment() const {
  RewriteOptions o = *this;
  const std::string asked = variable("LEVEL"), name = lower_case(asked);
  if (name == "tensor_cores_only")
    o.level = RewriteLevel::kTensorCoresOnly;
  else if (name == "unsafe_force_all")
    o.level = RewriteLevel::kUnsafeForceAll;
  else if (!name.empty())
    throw std::invalid_argument(std::string(kPrefix) + "LEVEL is '" + files::excerpt(asked) +
                                "'; expected nothing, TENSOR_CORES_ONLY or UNSAFE_FORCE_ALL");
  const std::string ignore = variable("IGNORE_PERFORMANCE"), word = lower_case(ignore);
  if (word == "1" || word == "true")
    o.ignore_performance = true;
  else if (word == "0" || word == "false")
    o.ignore_performance = false;
  else if (!word.empty())
    throw std::invalid_argument(std::string(kPrefix) + "IGNORE_PERFORMANCE is '" + files::excerpt(ignore) +
                                "'; expected 0, 1, false or true");
  if (const std::string path = variable("LOG_PATH"); !path.empty()) o.log_path = path;
  return o;
}

Colouring colour_tensorflow(const OpGraph& graph, const OpLists& lists, const RewriteOptions& options) {
  const bool mkl = is_mkl(lists);
  if (mkl && options.level == RewriteLevel::kUnsafeForceAll)
    throw std::invalid_argument(std::string(kPrefix) + "LEVEL cannot be set to UNSAFE_FORCE_ALL when MKL is used");
  lists.validate();
  if (lists.low != DType::kFloat16 && lists.low != DType::kBFloat16)
    throw std::invalid_argument("op lists '" + lists.name + "': low is " + name_of(lists.low) +
                                "; expected float16 or bfloat16");

  const std::string pass = mkl ? "auto_mixed_precision_mkl" : "auto_mixed_precision";
  const std::string low = name_of(lists.low);
  const std::vector<OpClass> classes = classes_of(graph, lists, options.level);
  Colouring colours = Colouring::nothing(graph, "tensorflow " + lists.name, lists.low);
  colours.cast_suffix = "-AutoMixedPrecision";
  for (int n = 0, u = 0; n < graph.size(); ++n)
    for (size_t i = 0; i < graph.nodes[static_cast<size_t>(n)].units.size(); ++i, ++u)
      colours.lists[static_cast<size_t>(u)] = name_of(classes[static_cast<size_t>(n)]);
  const auto leave_all = [&](const std::string& reason, std::string message) {
    colours.low_units.assign(colours.low_units.size(), 0);
    colours.reasons.assign(colours.reasons.size(), reason);
    colours.messages.push_back(std::move(message));
    return colours;
  };

  if (!mkl && !options.ignore_performance && !(options.gpu_capability.value_or(kLeastCapability) >= kLeastCapability))
    return leave_all("no GPU of capability 7.0 or above",
                     "WARNING No (suitable) GPUs detected, skipping " + pass + " graph optimizer");

  if (!options.log_path.empty()) log_before(options.log_path, graph, colours.messages);
  RewritePasses passes(graph, lists.low, classes, processable_nodes(graph, lists, options), mkl ? "CPU" : "GPU",
                       options.level == RewriteLevel::kUnsafeForceAll);
  try {
    if (!run(passes)) return leave_all("no allow-listed operation", "INFO No allowlist ops found, nothing to do");
  } catch (const std::runtime_error& e) {
    return leave_all("the pass failed", "WARNING " + pass + " graph optimizer FAILED: " + e.what());
  }
  for (int u = 0; u < graph.units(); ++u) {
    colours.low_units[static_cast<size_t>(u)] = passes.low(u);
    colours.reasons[static_cast<size_t>(u)] = passes.reason(u);
  }

  const bool logged = !options.log_path.empty();
  const CastPlan plan = logged ? plan_casts(graph, colours) : counted_casts(graph, colours);
  colours.messages.push_back("INFO Converted " + std::to_string(plan.retyped.size()) + "/" +
                             std::to_string(graph.size()) + " nodes to " + low + " precision using " +
                             std::to_string(plan.casts_to_low_counted()) + " cast(s) to " + low +
                             " (excluding Const and Variable casts)");
  if (logged) log_after(options.log_path, graph, plan, lists, colours.messages);
  return colours;
}

GraphRewrite rewrite(const Graph& graph, const OpLists& lists, ListView<std::string> fetches,
                     const RewriteOptions& options) {
  return rewrite_with(graph, fetches,
                      [&](const OpGraph& picture) { return colour_tensorflow(picture, lists, options); });
}

std::vector<std::string> shape_advice(std::span<const int64_t> dimensions) {
  constexpr int64_t kLarge = 256, kMultiple = 8;
  std::vector<std::string> lines;
  for (const int64_t d : dimensions) {
    const std::string begin = "dimension " + std::to_string(d) + ": expected ";
    if (d < 1) {
      lines.push_back(begin + "1 or more");
    } else if (d < kLarge) {
      int64_t power = 1;
      while (power < d) power *= 2;
      if (power != d) lines.push_back(begin + "a power of two, such as " + std::to_string(power));
    } else if (d % kMultiple != 0) {
      // If the multiple above exceeds 64 bits, the one below is used.
      const int64_t below = d - d % kMultiple;
      const int64_t near = below > INT64_MAX - kMultiple ? below : below + kMultiple;
      lines.push_back(begin + "a multiple of 8, such as " + std::to_string(near));
    }
  }
  return lines;
}

std::vector<std::string> shape_advice(const Graph& graph) {
  std::vector<int64_t> seen;
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes()) {
    const bool product = node.op == "MatMul" || node.op == "BatchMatMulV2";
    if (!product && node.op != "Conv2D") continue;
    const TensorType &a = graph.type(node.inputs[0]), &y = node.outputs[0];
    if (a.dtype != DType::kFloat16 && a.dtype != DType::kBFloat16) continue;
    const auto last = [](const Shape& shape, int from_end) { return shape[shape.rank() - from_end]; };
    const int64_t rows = product ? last(y.shape, 2) : y.shape[0];
    const int64_t depth = !product ? last(a.shape, 1) : rows == 0 ? 1 : last(a.shape, 1) * last(a.shape, 2) / rows;
    for (const int64_t d : {rows, depth, last(y.shape, 1)}) {
      if (d < 1 || std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
      seen.push_back(d);
      for (const std::string& line : shape_advice(std::span(&d, 1)))
        lines.push_back(line + " (first in '" + files::excerpt(node.name) + "')");
    }
  }
  return lines;
}

}  // namespace softamp
