#include "softamp/precision/kernel_select.h"

#include <map>
#include <optional>
#include <stdexcept>

#include "softamp/graph/operation.h"
#include "src/text/joined.h"

namespace softamp::cells {
namespace {

std::string list_of(std::span<const DType> types) {
  return "(" + joined(types, ", ", [](DType t) { return name_of(t); }) + ")";
}

/// float16 and bfloat16 1, float32 2, float64 3; 0: a dtype that only fits itself.
int width(DType t) {
  switch (t) {
    case DType::kFloat16:
    case DType::kBFloat16: return 1;
    case DType::kFloat32: return 2;
    case DType::kFloat64: return 3;
    default: return 0;
  }
}

/// Steps of width from a to b, upwards or downwards; empty if b is on the other side or of another kind.
std::optional<int> steps(DType a, DType b, bool up) {
  if (a == b) return 0;
  const int from = width(a), to = width(b);
  if (!from || !to || from == to || (to > from) != up) return {};
  return up ? to - from : from - to;
}

// implements: N294
std::optional<int> distance(const KernelInfo& wanted, const KernelInfo& kernel, bool up) {
  int sum = 0;
  const auto add = [&](std::span<const DType> a, std::span<const DType> b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      const std::optional<int> s = steps(a[i], b[i], up);
      if (!s) return false;
      sum += *s;
    }
    return true;
  };
  if (wanted.op != kernel.op || !add(wanted.inputs, kernel.inputs) || !add(wanted.outputs, kernel.outputs)) return {};
  return sum;
}

/// Names of the casts around one node that neither the graph nor the nodes so far have.
class CastNames {
 public:
  CastNames(const Graph& graph, const GraphBuilder& builder) : graph_(graph), builder_(builder) {}

  std::string next(const std::string& wanted) {
    for (int& i = tried_[wanted];;) {
      const std::string name = i == 0 ? wanted : wanted + "_" + std::to_string(i);
      ++i;
      if (graph_.find(name) < 0 && builder_.graph().find(name) < 0) return name;
    }
  }

 private:
  const Graph& graph_;
  const GraphBuilder& builder_;
  std::map<std::string, int> tried_;
};

/// Adds a node of `graph` in the dtypes of a kernel, with casts around it; returns the port that replaces each of its
/// outputs.
std::vector<Port> add_in(const Graph& graph, GraphBuilder& b, const Node& node, std::vector<Port> inputs,
                         const KernelInfo& kernel) {
  const Operation& op = operation(node.op);
  Attributes attributes = node.attributes;
  const auto retype = [&](const std::vector<PortSpec>& ports, std::span<const DType> types) {
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string& type = ports[std::min(i, ports.size() - 1)].type;
      if (attributes.contains(type)) attributes[type] = types[i];
    }
  };
  CastNames names(graph, b);
  retype(op.inputs, kernel.inputs);
  retype(op.outputs, kernel.outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const DType to = kernel.inputs[i]; b.type(inputs[i]).dtype != to)
      inputs[i] = b.add_named(names.next(node.name + "/to_" + name_of(to)), "Cast", {inputs[i]}, {{"DstT", to}});
  const Port first = b.add_named(node.name, node.op, std::move(inputs), std::move(attributes));
  std::vector<Port> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Port p{first.node, static_cast<int>(i)};
    if (const DType now = b.type(p).dtype; now != node.outputs[i].dtype)
      p = b.add_named(names.next(node.name + "/from_" + name_of(now)), "Cast", {p}, {{"DstT", node.outputs[i].dtype}});
    outputs.push_back(p);
  }
  return outputs;
}

}  // namespace

std::string text(const KernelInfo& kernel) {
  return kernel.op + list_of(kernel.inputs) + " -> " + list_of(kernel.outputs);
}

std::vector<KernelInfo> product_kernels(DType dtype) {
  std::vector<KernelInfo> kernels;
  for (const char* op :
       {"MatMul", "BatchMatMulV2", "Einsum", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter",
        "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"})
    kernels.push_back({op, {dtype, dtype}, {dtype}});
  return kernels;
}

// implements: N294
KernelChoice select_kernel(std::string_view node, const KernelInfo& wanted, std::span<const KernelInfo> kernels,
                           bool enable_reduce_precision, const LogSink& log) {
  for (const bool up : {true, false}) {
    if (!up && !enable_reduce_precision) continue;
    std::optional<size_t> best;
    int least = 0;
    for (size_t k = 0; k < kernels.size(); ++k)
      if (const std::optional<int> d = distance(wanted, kernels[k], up); d && (!best || *d < least)) {
        best = k;
        least = *d;
      }
    if (!best) continue;
    if (least == 0) return {*best, KernelChoice::How::kExact};
    if (log)
      log(LogLevel::kInfo, wanted.op + " '" + std::string(node) + "'" + (up ? " Raise" : " Reduce") +
                               " precision, node datatype: " + list_of(wanted.inputs) + " -> " +
                               list_of(wanted.outputs) + ", select kernel: " + text(kernels[*best]));
    return {*best, up ? KernelChoice::How::kRaised : KernelChoice::How::kReduced};
  }
  std::string there;
  for (const KernelInfo& k : kernels)
    if (k.op == wanted.op) there += (there.empty() ? "" : ", ") + text(k);
  throw std::invalid_argument(wanted.op + " '" + std::string(node) + "': no kernel for " + list_of(wanted.inputs) +
                              " -> " + list_of(wanted.outputs) + "; expected one of " +
                              (there.empty() ? "none" : there) +
                              (enable_reduce_precision ? "" : " (reducing precision is not allowed)"));
}

Graph select_kernels(const Graph& graph, std::span<const KernelInfo> kernels, bool enable_reduce_precision,
                     const LogSink& log) {
  std::map<std::string, std::vector<KernelInfo>, std::less<>> by_op;
  for (const KernelInfo& k : kernels) by_op[k.op].push_back(k);
  GraphBuilder b;
  b.set_preset(graph.preset());
  std::vector<std::vector<Port>> now(static_cast<size_t>(graph.size()));
  for (int n = 0; n < graph.size(); ++n) {
    const Node& node = graph.node(n);
    std::vector<Port> inputs;
    KernelInfo wanted{node.op, {}, {}};
    for (const Port& p : node.inputs) {
      inputs.push_back(now[static_cast<size_t>(p.node)][static_cast<size_t>(p.port)]);
      wanted.inputs.push_back(graph.type(p).dtype);
    }
    for (const TensorType& t : node.outputs) wanted.outputs.push_back(t.dtype);
    const auto listed = by_op.find(node.op);
    KernelInfo chosen = wanted;
    if (listed != by_op.end() && !inputs.empty() && node.op != "Cast" && node.op != "Identity")
      chosen = listed->second[select_kernel(node.name, wanted, listed->second, enable_reduce_precision, log).number];
    now[static_cast<size_t>(n)] = add_in(graph, b, node, std::move(inputs), chosen);
  }
  return b.build();
}

LogSink LogLines::sink() {
  return [this](LogLevel level, const std::string& message) { lines_.emplace_back(level, message); };
}

int64_t LogLines::count(std::string_view pattern, LogLevel least) const {
  int64_t n = 0;
  for (const auto& [level, line] : lines_) n += level >= least && line.find(pattern) != std::string::npos;
  return n;
}

}  // namespace softamp::cells
