// Convolutions, pooling, norms, reductions. Ours have the channels last: where a GraphDef has them second,
// transpositions stand around the operation.
#include <algorithm>
#include <numeric>

#include "softamp/graph/operation.h"
#include "src/precision/graph_def/import.h"

namespace softamp::graph_def_detail {
namespace {

using Ints = std::vector<int64_t>;

bool channels_second(const NodeImport& n) {
  const std::string format = n.text("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW")
    n.fail("attribute 'data_format' is '" + format + "'; expected NHWC or NCHW");
  return format == "NCHW";
}

/// [0, 2, 3, 1] of four axes.
Ints to_last(int rank) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (rank > 2) std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}
Ints to_second(int rank) {
  Ints perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (rank > 2) std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return perm;
}

/// Numbers to the four axes, channels last.
Ints four(const NodeImport& n, Ints numbers, bool second, const char* what) {
  if (numbers.size() != 4)
    n.fail(std::string(what) + " has " + std::to_string(numbers.size()) + " numbers; expected 4");
  if (second) std::rotate(numbers.begin() + 1, numbers.begin() + 2, numbers.end());
  return numbers;
}

Port channels_last(NodeImport& n, size_t input, bool second) {
  const Port p = n.port(input);
  const int rank = n.importer.type(p).shape.rank();
  if (!second || rank <= 2) return p;
  return n.helper("input" + std::to_string(input) + "_NHWC", "Transpose", {p}, {{"perm", to_last(rank)}});
}

/// The node of ours; its output 0 has its channels where the GraphDef has them.
Port add_channels_last(NodeImport& n, std::string_view op, std::vector<Port> from, Attributes attributes, bool second,
                       int rank = 4) {
  if (!second || rank <= 2) return n.add(op, std::move(from), std::move(attributes));
  const Port inner = n.helper("NHWC", op, std::move(from), std::move(attributes));
  n.add("Transpose", {inner}, {{"perm", to_second(rank)}});
  return inner;
}

Attributes windows(const NodeImport& n, bool second, bool dilated) {
  Attributes all{{"strides", four(n, n.list("strides"), second, "attribute 'strides'")},
                 {"padding", n.text("padding", "")}};
  if (dilated) all["dilations"] = four(n, n.list("dilations", {1, 1, 1, 1}), second, "attribute 'dilations'");
  return all;
}

void forward_convolution(NodeImport& n) {
  n.expect_inputs(2);
  const bool second = channels_second(n);
  Attributes attributes = windows(n, second, true);
  Port input = channels_last(n, 0, second);
  if (n.text("padding", "") == "EXPLICIT") {
    Ints p = n.list("explicit_paddings");
    if (p.size() != 8) n.fail("attribute 'explicit_paddings' has " + std::to_string(p.size()) + " numbers; expected 8");
    if (second) std::rotate(p.begin() + 2, p.begin() + 4, p.end());
    input = n.helper("padded", "Pad", {input}, {{"paddings", p}});
    attributes["padding"] = std::string("VALID");
  }
  add_channels_last(n, n.node.op(), {input, n.port(1)}, attributes, second);
}

void input_convolution(NodeImport& n) {
  n.expect_inputs(3);
  const bool second = channels_second(n);
  Attributes attributes = windows(n, second, true);
  attributes["input_sizes"] = four(n, n.ints(0, "the input's shape"), second, "the input's shape");
  add_channels_last(n, n.node.op(), {n.port(1), channels_last(n, 2, second)}, attributes, second);
}

void filter_convolution(NodeImport& n) {
  n.expect_inputs(3);
  const bool second = channels_second(n);
  Attributes attributes = windows(n, second, true);
  attributes["filter_sizes"] = n.ints(1, "the filter's shape");
  n.add(n.node.op(), {channels_last(n, 0, second), channels_last(n, 2, second)}, attributes);
}

Attributes pool_windows(const NodeImport& n, bool second) {
  Attributes all = windows(n, second, false);
  all["ksize"] = four(n, n.list("ksize"), second, "attribute 'ksize'");
  return all;
}

void pool(NodeImport& n) {
  n.expect_inputs(1);
  const bool second = channels_second(n);
  add_channels_last(n, n.node.op(), {channels_last(n, 0, second)}, pool_windows(n, second), second);
}

void max_pool_grad(NodeImport& n) {
  n.expect_inputs(3);
  const bool second = channels_second(n);
  add_channels_last(n, "MaxPoolGrad",
                    {channels_last(n, 0, second), channels_last(n, 1, second), channels_last(n, 2, second)},
                    pool_windows(n, second), second);
}

void average_pool_grad(NodeImport& n) {
  n.expect_inputs(2);
  const bool second = channels_second(n);
  Attributes attributes = pool_windows(n, second);
  attributes["orig_input_shape"] = four(n, n.ints(0, "the input's shape"), second, "the input's shape");
  add_channels_last(n, "AvgPoolGrad", {channels_last(n, 1, second)}, attributes, second);
}

void bias_add(NodeImport& n) {
  n.expect_inputs(2);
  const bool second = channels_second(n);
  add_channels_last(n, "BiasAdd", {channels_last(n, 0, second), n.port(1)}, {}, second, n.type(0).shape.rank());
}

void bias_add_grad(NodeImport& n) {
  n.expect_inputs(1);
  const Port gradient = channels_last(n, 0, channels_second(n));
  const TensorType type = n.importer.type(gradient);
  if (type.dtype != DType::kFloat64) {
    n.add("BiasAddGrad", {gradient});
    return;
  }
  Ints axes(static_cast<size_t>(std::max(type.shape.rank() - 1, 0)));
  std::iota(axes.begin(), axes.end(), 0);
  n.add("Sum", {gradient}, {{"axes", axes}});
}

Attributes norm_attributes(const NodeImport& n) {
  return {{"epsilon", n.real("epsilon", static_cast<double>(1e-4f))}, {"is_training", n.flag("is_training", true)}};
}

void batch_norm(NodeImport& n) {
  n.expect_inputs(5);
  const bool second = channels_second(n);
  Attributes attributes = norm_attributes(n);
  if (n.node.op() == "FusedBatchNormV3") attributes["exponential_avg_factor"] = n.real("exponential_avg_factor", 1);
  std::vector<Port> from = n.ports(0, 5);
  from[0] = channels_last(n, 0, second);
  const Port norm = add_channels_last(n, "FusedBatchNormV3", from, attributes, second, n.type(0).shape.rank());
  for (int i = 1; i < 5; ++i) n.set(static_cast<size_t>(i), Port{norm.node, i});
  // What cuDNN keeps for itself.
  if (n.node.op() == "FusedBatchNormV3") n.set_known(5, Tensor(DType::kFloat32, Shape{0}));
}

void batch_norm_grad(NodeImport& n) {
  if (n.inputs.size() != 6) n.expect_inputs(5);
  const bool second = channels_second(n);
  std::vector<Port> from = n.ports(0, 5);
  from[0] = channels_last(n, 0, second);
  from[1] = channels_last(n, 1, second);
  const Port norm =
      add_channels_last(n, "FusedBatchNormGradV3", from, norm_attributes(n), second, n.type(1).shape.rank());
  for (int i = 1; i < 3; ++i) n.set(static_cast<size_t>(i), Port{norm.node, i});
  for (size_t i = 3; i < 5; ++i) n.set_known(i, Tensor(DType::kFloat32, Shape{0}));
}

/// No axes: TensorFlow reduces nothing, ours reduces all.
void reduce(NodeImport& n) {
  n.expect_inputs(2);
  const Ints axes = n.ints(1, "the axes");
  if (axes.empty())
    n.add("Identity", {n.port(0)});
  else
    n.add(n.node.op(), {n.port(0)}, {{"axes", axes}, {"keep_dims", n.flag("keep_dims", false)}});
}

void place(NodeImport& n) {
  n.expect_inputs(2);
  n.add(n.node.op(), {n.port(0)}, {{"axis", n.one_int(1, "the axis")}});
}

}  // namespace

void add_neural_translations(Translations& all) {
  all["Conv2D"] = all["DepthwiseConv2dNative"] = {forward_convolution};
  all["Conv2DBackpropInput"] = all["DepthwiseConv2dNativeBackpropInput"] = {input_convolution};
  all["Conv2DBackpropFilter"] = all["DepthwiseConv2dNativeBackpropFilter"] = {filter_convolution};
  all["MaxPool"] = all["AvgPool"] = {pool};
  all["MaxPoolGrad"] = {max_pool_grad};
  all["AvgPoolGrad"] = {average_pool_grad};
  all["BiasAdd"] = all["BiasAddV1"] = {bias_add};
  all["BiasAddGrad"] = {bias_add_grad};
  all["FusedBatchNorm"] = all["FusedBatchNormV2"] = all["FusedBatchNormV3"] = {batch_norm};
  all["FusedBatchNormGrad"] = all["FusedBatchNormGradV2"] = all["FusedBatchNormGradV3"] = {batch_norm_grad};
  all["Sum"] = all["Mean"] = all["Max"] = all["Min"] = {reduce};
  all["ArgMax"] = all["ArgMin"] = {place};
}

}  // namespace softamp::graph_def_detail
