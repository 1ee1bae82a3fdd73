#include "softamp/train/layers.h"

#include <utility>

#include "softamp/graph/operation.h"
#include "softamp/numbers/number_text.h"
#include "src/train/layers/layer_input.h"
#include "src/train/layers/layer_precision.h"

namespace softamp::layers {
namespace {

using layers_detail::Check;
using layers_detail::LayerCasts;

}  // namespace

Port conv2d(VariableStore& store, Port x, int64_t filters, const Conv2DOptions& options, std::string_view name) {
  const Check check(store, "conv2d", name);
  check.at_least_one("filters", filters);
  check.at_least_one("kernel", options.kernel);
  check.at_least_one("stride", options.stride);
  const TensorType type = check.image(x);
  const int64_t channels = type.shape[3];
  const auto scope = store.layer_scope(name, "conv2d");
  const LayerCasts casts(store, "conv2d", type.dtype);
  GraphBuilder& builder = store.builder();
  x = casts.input(x);
  const Port kernel =
      casts.variable("kernel", {options.kernel, options.kernel, channels, filters}, options.kernel_initializer);
  Port y = builder.add("Conv2D", {x, kernel},
                       {{"strides", std::vector<int64_t>{1, options.stride, options.stride, 1}},
                        {"padding", options.padding.empty() ? "SAME" : options.padding},
                        {"partialsType", options.partials}});
  if (options.use_bias) y = builder.add("BiasAdd", {y, casts.variable("bias", {filters}, options.bias_initializer)});
  return casts.output(options.relu ? builder.add("Relu", {y}) : y);
}

Port depthwise_conv2d(VariableStore& store, Port x, const DepthwiseConv2DOptions& options, std::string_view name) {
  const Check check(store, "depthwise_conv2d", name);
  check.at_least_one("kernel", options.kernel);
  check.at_least_one("stride", options.stride);
  check.at_least_one("multiplier", options.multiplier);
  const TensorType type = check.image(x);
  const int64_t channels = type.shape[3];
  const auto scope = store.layer_scope(name, "depthwise_conv2d");
  const LayerCasts casts(store, "conv2d", type.dtype);
  GraphBuilder& builder = store.builder();
  x = casts.input(x);
  const Port kernel = casts.variable("kernel", {options.kernel, options.kernel, channels, options.multiplier},
                                     options.kernel_initializer);
  Port y = builder.add("DepthwiseConv2dNative", {x, kernel},
                       {{"strides", std::vector<int64_t>{1, options.stride, options.stride, 1}},
                        {"padding", options.padding},
                        {"partialsType", options.partials}});
  if (options.use_bias)
    y = builder.add("BiasAdd", {y, casts.variable("bias", {builder.type(y).shape[3]}, options.bias_initializer)});
  return casts.output(y);
}

Port dense(VariableStore& store, Port x, int64_t units, const DenseOptions& options, std::string_view name) {
  const Check check(store, "dense", name);
  check.at_least_one("units", units);
  const TensorType type = check.rows(x);
  const auto scope = store.layer_scope(name, "dense");
  const LayerCasts casts(store, "dense", type.dtype);
  GraphBuilder& builder = store.builder();
  x = casts.input(x);
  const int last = type.shape.rank() - 1;
  const int64_t in = type.shape[last];
  std::vector<int64_t> extents(type.shape.extents().begin(), type.shape.extents().end());
  if (last > 1) {
    int64_t rows = 1;
    for (int axis = 0; axis < last; ++axis) rows *= type.shape[axis];
    x = builder.add("Reshape", {x}, {{"shape", std::vector<int64_t>{rows, in}}});
  }
  const Port kernel = casts.variable("kernel", {in, units}, options.kernel_initializer);
  Port y = builder.add("MatMul", {x, kernel}, {{"partialsType", options.partials}});
  if (options.use_bias) y = builder.add("BiasAdd", {y, casts.variable("bias", {units}, options.bias_initializer)});
  if (options.relu) y = builder.add("Relu", {y});
  extents.back() = units;
  return casts.output(last > 1 ? builder.add("Reshape", {y}, {{"shape", extents}}) : y);
}

// implements: N270
Port dense_column(VariableStore& store, Port x, int64_t units, std::string_view name) {
  const Check check(store, "dense_column", name);
  check.at_least_one("units", units);
  const TensorType type = check.ranked(x, 1, 2, "[batch, in] or [in]");
  const bool single = type.shape.rank() == 1;
  const int64_t in = type.shape[type.shape.rank() - 1];
  const auto scope = store.layer_scope(name, "dense");
  const LayerCasts casts(store, "dense", type.dtype);
  GraphBuilder& builder = store.builder();
  x = casts.input(x);
  const Port weights = casts.variable("weights", {units, in}, Initializer::glorot_uniform());
  const Port biases = casts.variable("biases", {units, 1}, Initializer::glorot_uniform());
  const auto reshape = [&](Port value, std::vector<int64_t> shape) {
    return builder.add("Reshape", {value}, {{"shape", std::move(shape)}});
  };
  if (single) {
    const Port product = builder.add("MatMul", {weights, reshape(x, {in, 1})});
    return casts.output(reshape(builder.add("AddV2", {product, biases}), {units}));
  }
  const Port product = builder.add("MatMul", {x, weights}, {{"transpose_b", true}});
  return casts.output(builder.add("BiasAdd", {product, reshape(biases, {units})}));
}

namespace {

/// Norms take variables only of float16 and float32, of float64 alone beside float64. other: dtype of the layer's other
/// variables.
// implements: N269
DType norm_dtype(const Check& check, std::optional<DType> wanted, DType other) {
  const DType dtype = wanted.value_or(other == DType::kFloat16 ? DType::kFloat16 : wide_dtype(other));
  if (other == DType::kFloat64 ? dtype != other : dtype != DType::kFloat16 && dtype != DType::kFloat32)
    check.fail(std::string("dtype of the variables is ") + name_of(dtype) + "; expected " +
               (other == DType::kFloat64 ? "float64, as of x" : "float16 or float32"));
  return dtype;
}

/// A variable that batch normalisation reads.
struct Average {
  Port now;  ///< what it holds once the layer's calls before this one have moved it
  std::string name{};
};

/// known: nodes before the layer. A variable among them is one of a layer that was called before.
// implements: N271
Average average_of(const Check& check, const GraphBuilder& builder, Port variable, int known, bool moves) {
  if (!moves) return {variable};
  const Graph& graph = builder.graph();
  const Node& node = graph.node(variable.node);
  if (node.op != "VariableV2")
    check.fail("a moving average is read through '" + node.name + "' (" + node.op +
               "); expected the variable itself, to which the new one is assigned");
  Average average{variable, node.name};
  for (int i = variable.node; variable.node < known && i < known; ++i)
    if (graph.node(i).op == "Assign" && attribute<std::string>(graph.node(i), "ref") == average.name)
      average.now = graph.node(i).inputs[0];
  return average;
}

}  // namespace

// implements: N271
Port batch_norm(VariableStore& store, Port x, const BatchNormOptions& options, std::string_view name) {
  const Check check(store, "batch_norm", name);
  if (!(options.momentum >= 0 && options.momentum <= 1))
    check.fail("momentum is " + shortest_decimal(options.momentum) + "; expected 0 .. 1");
  const TensorType type = check.ranked(x, 2, Shape::kMaxRank, "a rank of at least 2, channels last,");
  norm_dtype(check, options.dtype, type.dtype);
  const Shape channels{type.shape[type.shape.rank() - 1]};
  const int known = store.builder().graph().size();
  const auto scope = store.layer_scope(name, "batch_normalization");
  const LayerCasts casts(store, "batch_norm", type.dtype);
  x = casts.input(x);
  const DType dtype = norm_dtype(check, options.dtype, casts.variables());
  const Port gamma = casts.kept("gamma", channels, dtype, Initializer::ones());
  const Port beta = casts.kept("beta", channels, dtype, Initializer::zeros());
  const Port mean = casts.kept("moving_mean", channels, dtype, Initializer::zeros(), false);
  const Port variance = casts.kept("moving_variance", channels, dtype, Initializer::ones(), false);
  const bool training = options.training && (!options.moving_averages.value_or(false) || store.training());
  const bool moves = options.moving_averages.value_or(false) && training;
  GraphBuilder& builder = store.builder();
  const Average averages[] = {average_of(check, builder, mean, known, moves),
                              average_of(check, builder, variance, known, moves)};
  const Port y = builder.add("FusedBatchNormV3", {x, gamma, beta, averages[0].now, averages[1].now},
                             {{"epsilon", options.epsilon},
                              {"is_training", training},
                              {"exponential_avg_factor", training ? 1 - options.momentum : 1.0}});
  if (moves)
    for (const int port : {1, 2})
      builder.add("Assign", {{y.node, port}}, {{"ref", averages[port - 1].name}}, "AssignMovingAvg");
  return casts.output(y);
}

Port group_norm(VariableStore& store, Port x, const GroupNormOptions& options, std::string_view name) {
  const Check check(store, "group_norm", name);
  const TensorType type = check.ranked(x, 2, Shape::kMaxRank, "a rank of at least 2, channels last,");
  norm_dtype(check, options.dtype, type.dtype);
  const Shape channels{type.shape[type.shape.rank() - 1]};
  const auto scope = store.layer_scope(name, "group_norm");
  const LayerCasts casts(store, "group_norm", type.dtype);
  x = casts.input(x);
  const DType dtype = norm_dtype(check, options.dtype, casts.variables());
  const Port gamma = casts.kept("gamma", channels, dtype, Initializer::ones());
  const Port beta = casts.kept("beta", channels, dtype, Initializer::zeros());
  return casts.output(
      store.builder().add("GroupNorm", {x, gamma, beta}, {{"groups", options.groups}, {"epsilon", options.epsilon}}));
}

Port layer_norm(VariableStore& store, Port x, const LayerNormOptions& options, std::string_view name) {
  const Check check(store, "layer_norm", name);
  const TensorType type = check.ranked(x, 2, Shape::kMaxRank, "a rank of at least 2, features last,");
  norm_dtype(check, options.dtype, type.dtype);
  const Shape features{type.shape[type.shape.rank() - 1]};
  const auto scope = store.layer_scope(name, "layer_norm");
  const LayerCasts casts(store, "layer_norm", type.dtype);
  x = casts.input(x);
  const DType dtype = norm_dtype(check, options.dtype, casts.variables());
  const Port gamma = casts.kept("gamma", features, dtype, Initializer::ones());
  const Port beta = casts.kept("beta", features, dtype, Initializer::zeros());
  return casts.output(store.builder().add("LayerNorm", {x, gamma, beta}, {{"epsilon", options.epsilon}}));
}

Port relu(VariableStore& store, Port x) { return store.builder().add("Relu", {x}); }

namespace {

Port pool(VariableStore& store, const char* layer, const char* op, Port x, int64_t size, int64_t stride,
          std::string_view padding) {
  const Check check(store, layer, op);
  check.at_least_one("size", size);
  check.at_least_one("stride", stride);
  check.image(x);
  return store.builder().add(op, {x},
                             {{"ksize", std::vector<int64_t>{1, size, size, 1}},
                              {"strides", std::vector<int64_t>{1, stride, stride, 1}},
                              {"padding", std::string(padding)}});
}

}  // namespace

Port max_pool(VariableStore& store, Port x, int64_t size, int64_t stride, std::string_view padding) {
  return pool(store, "max_pool", "MaxPool", x, size, stride, padding);
}

Port average_pool(VariableStore& store, Port x, int64_t size, int64_t stride, std::string_view padding) {
  return pool(store, "average_pool", "AvgPool", x, size, stride, padding);
}

Port global_average_pool(VariableStore& store, Port x) {
  Check(store, "global_average_pool", "Mean").image(x);
  return store.builder().add("Mean", {x}, {{"axes", std::vector<int64_t>{1, 2}}});
}

Port flatten(VariableStore& store, Port x) {
  const Shape& shape = store.builder().type(x).shape;
  if (shape.rank() < 1) Check(store, "flatten", "Reshape").fail("x is a scalar; expected [batch, ...]");
  int64_t rest = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) rest *= shape[axis];
  return store.builder().add("Reshape", {x}, {{"shape", std::vector<int64_t>{shape[0], rest}}});
}

}  // namespace softamp::layers
